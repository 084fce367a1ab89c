//! Beyond the path: every connection and flow of the program becomes one of this host.
//!
//! | read | for |
//! |---|---|
//! | this file | the thread, and who serves what comes |
//! | `places.rs` | where an address of the program's network leads |
//! | `tcp.rs`, `udp.rs` | one connection, one flow |
//!
//! | | |
//! |---|---|
//! | TCP | a SYN is answered when the host's own connection stands, and refused as that was; either side may end its direction first; resets go through |
//! | UDP | a socket of the host for each pair of addresses, until nothing has come for two minutes (RFC 4787 section 4.3) |
//! | Names | queries to port 53 of the gateway go to the host's resolver, by UDP and TCP |
//! | Left out | protocols other than these; UDP from addresses to which the program has not sent; multicast; echo requests, which the gateway answers itself for every address |

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use kumiki_net::host::{Flow, Gateway, HostConfig, HostStack, RealDevice};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

mod places;
mod tcp;
mod udp;

pub(crate) use places::Places;

/// How many connections there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections(Arc<AtomicUsize>);

/// One of them.
struct Counted(Connections);

impl Connections {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    fn one_more(&self) -> Counted {
        self.0.fetch_add(1, Ordering::AcqRel);
        Counted(self.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The gateway, in a thread of its own until it is told to end.
pub(crate) struct Serving {
    ends: oneshot::Sender<()>,
    thread: JoinHandle<HostStack>,
    pub(crate) connections: Connections,
}

impl Serving {
    /// Starts it at `device`, the far end of the path. What goes wrong later it says with `say`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn start(
        device: Box<dyn RealDevice>,
        mtu: u16,
        places: Places,
        say: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let stack = HostStack::start(device, &HostConfig::gateway().mtu(mtu))?;
        let gateway = stack.gateway()?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let (ends, ended) = oneshot::channel();
        let connections = Connections::default();
        let counted = connections.clone();
        let thread = thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            let local = LocalSet::new();
            let places = Arc::new(places);
            let served = local.block_on(&runtime, async {
                tokio::select! {
                    served = serve(gateway, &places, &counted) => served,
                    _ = ended => Ok(()),
                }
            });
            if let Err(why) = served {
                say(&format!("the gateway has ended: {why}"));
            }
            stack
        })?;
        Ok(Self { ends, thread, connections })
    }

    /// Ends what is served. Returns the stack, which is the far end of the path until it is dropped.
    pub(crate) fn end(self) -> Option<HostStack> {
        // Where the thread has ended, nobody listens.
        let _ = self.ends.send(());
        self.thread.join().ok()
    }
}

/// Takes what comes until the stack fails.
async fn serve(mut gateway: Gateway, places: &Arc<Places>, connections: &Connections) -> io::Result<()> {
    loop {
        match gateway.accept_any().await? {
            Flow::Tcp(offer) => {
                let (places, counted) = (Arc::clone(places), connections.one_more());
                tokio::task::spawn_local(async move {
                    tcp::relay(offer, &places).await;
                    drop(counted);
                });
            }
            Flow::Udp(flow) => {
                let places = Arc::clone(places);
                tokio::task::spawn_local(async move { udp::relay(flow, &places).await });
            }
        }
    }
}
