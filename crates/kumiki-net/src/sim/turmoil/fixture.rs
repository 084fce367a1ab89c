//! Networks for the usual tests.

use core::cell::RefCell;
use core::future::Future;
use core::net::IpAddr;
use core::time::Duration;

use super::{KernelConfig, Program, ToIpAddr};
use crate::sim::{Host, Net, SimError};

/// A network as that of turmoil-net: nothing takes time on the way unless a rule says so.
fn net(config: &KernelConfig) -> Net {
    let net = Net::new(0);
    net.set_latency(Duration::ZERO).set_tcp(config.tcp());
    net
}

fn host(net: &Net, written: &str, config: &KernelConfig) -> Host {
    let host = match written.parse::<IpAddr>() {
        Ok(ip) => done(net.host_at(written, [ip])),
        Err(_) => net.host(written),
    };
    host.stack().set_backlog(u32::try_from(config.backlog).unwrap_or(u32::MAX));
    host
}

/// What a run gives; a test that is not done has failed.
fn done<T>(result: Result<T, SimError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

/// Runs `future` on a host that is alone.
///
/// # Panics
/// Where `future` does, or never ends.
pub fn lo<F: Future + 'static>(future: F) -> F::Output {
    lo_with_config(KernelConfig::default(), future)
}

/// As [`lo`], on a host like this.
///
/// # Panics
/// As there.
#[expect(clippy::needless_pass_by_value, reason = "as turmoil-net's")]
pub fn lo_with_config<F: Future + 'static>(config: KernelConfig, future: F) -> F::Output {
    let host = host(&net(&config), "lo", &config);
    // Tasks of `tokio::spawn` are on it, too.
    let _on = host.enter();
    done(host.run(future))
}

/// Servers and a client, each on a host of its own.
#[derive(Default)]
pub struct ClientServer {
    config: KernelConfig,
    servers: Vec<(String, Program)>,
}

impl ClientServer {
    /// Without a server yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`ClientServer::new`], with hosts like this.
    #[must_use]
    pub const fn with_config(config: KernelConfig) -> Self {
        Self { config, servers: Vec::new() }
    }

    /// A server runs on the host of this name, or with this address.
    #[must_use]
    pub fn server(mut self, host: impl ToIpAddr, future: impl Future<Output = ()> + 'static) -> Self {
        self.servers.push((host.written(), Box::pin(future)));
        self
    }

    /// Runs `future` on the host of this name, or with this address, and all servers until it is done.
    ///
    /// # Panics
    /// Where one of them does, or `future` never ends.
    pub fn run<T: 'static>(self, client: impl ToIpAddr, future: impl Future<Output = T> + 'static) -> T {
        let net = net(&self.config);
        for (written, program) in self.servers {
            // It is run once.
            let program = RefCell::new(Some(program));
            host(&net, &written, &self.config).start(move || {
                let program = program.borrow_mut().take();
                async move {
                    if let Some(program) = program {
                        program.await;
                    }
                }
            });
        }
        let client = host(&net, &client.written(), &self.config);
        // Servers are there before it begins.
        match done(net.run(async { client.spawn(future).await })) {
            Ok(output) => output,
            Err(error) => panic!("{error}"),
        }
    }
}

impl core::fmt::Debug for ClientServer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names: Vec<&str> = self.servers.iter().map(|it| it.0.as_str()).collect();
        write!(f, "servers {names:?}")
    }
}
