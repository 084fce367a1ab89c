//! A line between caller and responder that breaks when it is told to, and counts what crosses it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::spawn;

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// By its ends.
    Never,
    /// For both ends, after so many octets both ways; what has crossed arrives.
    After(u64),
    /// For the caller alone: the responder hears nothing of it.
    Silently(u64),
    /// Nothing more crosses after so many octets, until [`Line::release`] cuts it.
    Stalled(u64),
    /// Nothing more crosses after so many octets, until [`Line::release`] lets it go on.
    Held(u64),
}

/// The line.
pub(crate) struct Line {
    pub(crate) at: String,
    crossed: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    released: Released,
    to: Arc<Mutex<String>>,
}

/// Whether what is stalled is cut.
type Released = Arc<(Mutex<bool>, Condvar)>;

impl Line {
    /// One to `to`, whose connections are cut so, one after the other; those behind are not.
    pub(crate) fn new(to: &str, cuts: &[Cut]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let (crossed, connections) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (counter, number) = (Arc::clone(&crossed), Arc::clone(&connections));
        let released = Released::default();
        let stalled = Arc::clone(&released);
        let to = Arc::new(Mutex::new(to.to_owned()));
        let leads = Arc::clone(&to);
        let cuts = cuts.to_vec();
        spawn(move || {
            // The responder's ends of what was cut silently.
            let mut kept = Vec::new();
            while let Ok((caller, _)) = listener.accept() {
                let index = number.fetch_add(1, Ordering::SeqCst);
                let cut = cuts.get(usize::try_from(index).unwrap());
                let cut = cut.copied().unwrap_or(Cut::Never);
                let to = leads.lock().unwrap().clone();
                let Ok(responder) = TcpStream::connect(to) else {
                    continue;
                };
                if matches!(cut, Cut::Silently(_)) {
                    kept.push(responder.try_clone().unwrap());
                }
                carry(caller, responder, cut, &counter, &stalled);
            }
        });
        Self { at, crossed, connections, released, to }
    }

    /// From here on it leads to another responder.
    pub(crate) fn lead(&self, to: &str) {
        to.clone_into(&mut self.to.lock().unwrap());
    }

    /// Cuts what is stalled, and lets go on what is held.
    pub(crate) fn release(&self) {
        *self.released.0.lock().unwrap() = true;
        self.released.1.notify_all();
    }

    pub(crate) fn url(&self, rest: &str) -> String {
        format!("ftam://{}/{rest}", self.at)
    }

    /// Octets that went into it, both ways, of all connections.
    pub(crate) fn crossed(&self) -> u64 {
        self.crossed.load(Ordering::SeqCst)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Carries octets both ways until one end is gone, or it is cut.
fn carry(caller: TcpStream, responder: TcpStream, cut: Cut, all: &Arc<AtomicU64>, released: &Released) {
    let most = match cut {
        Cut::Never => u64::MAX,
        Cut::After(most) | Cut::Silently(most) | Cut::Stalled(most) | Cut::Held(most) => most,
    };
    let of_this = Arc::<AtomicU64>::default();
    for (from, to) in [(&caller, &responder), (&responder, &caller)] {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let caller = caller.try_clone().unwrap();
        let responder = responder.try_clone().unwrap();
        let (of_this, all) = (Arc::clone(&of_this), Arc::clone(all));
        let released = Arc::clone(released);
        spawn(move || {
            let wait = || {
                let (lock, changed) = &*released;
                let waited = changed.wait_while(lock.lock().unwrap(), |it| !*it);
                drop(waited.unwrap());
            };
            let mut octets = vec![0; 4096];
            while let Ok(len) = from.read(&mut octets) {
                let read = octets.get(..len).unwrap();
                let crossed = of_this.fetch_add(len as u64, Ordering::SeqCst) + len as u64;
                all.fetch_add(len as u64, Ordering::SeqCst);
                let mut is_cut = crossed > most;
                if is_cut && matches!(cut, Cut::Held(_)) {
                    wait();
                    is_cut = false;
                }
                if len == 0 || is_cut || to.write_all(read).is_err() {
                    break;
                }
            }
            let is_cut = of_this.load(Ordering::SeqCst) > most;
            if is_cut && matches!(cut, Cut::Stalled(_)) {
                wait();
            }
            let ends = if is_cut && matches!(cut, Cut::After(_)) { Shutdown::Write } else { Shutdown::Both };
            let _ = caller.shutdown(ends);
            if !(is_cut && matches!(cut, Cut::Silently(_))) {
                let _ = responder.shutdown(ends);
            }
            // A socket that is closed with octets unread takes back what its peer has not read yet, and how much that
            // is depends on the machine.
            while ends == Shutdown::Write && from.read(&mut octets).is_ok_and(|len| len > 0) {}
        });
    }
}
