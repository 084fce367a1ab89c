//! Processes, ports and folders of one test.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

pub(crate) use kumiki_watchdog::process::{Folder, ProcessOutput, Running};
use serde_json::Value;

/// An address of the loopback interface that goes with the number of this process: what is at it is ours alone, whoever
/// runs the same tests.
fn own() -> Ipv4Addr {
    if !cfg!(target_os = "linux") {
        // There it has this address alone.
        return Ipv4Addr::LOCALHOST;
    }
    // Linux has processes up to 2^22. The first of all these addresses are others'.
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, high + 1, middle, low)
}

/// Two sockets that nobody has, of even ports: the odd ones of SimEther are not for stations. Each host must know that
/// of the other one before either runs, so it is not the kernel that gives them; no two tests have one of them.
pub(crate) fn sockets() -> [SocketAddrV4; 2] {
    static USED: AtomicU16 = AtomicU16::new(0);
    let next = || {
        let number = USED.fetch_add(2, Ordering::Relaxed);
        assert!(number < 10_000, "no port is free");
        SocketAddrV4::new(own(), 10_000 + number)
    };
    [(); 2].map(|()| {
        // Whoever is at this port of all addresses is at it here too.
        let mut all = std::iter::repeat_with(next);
        all.find(|it| UdpSocket::bind(it).is_ok()).unwrap()
    })
}

/// The only event of this kind that a process has told of.
pub(crate) fn event(ran: &ProcessOutput, kind: &str) -> Value {
    let events = ran.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut all = events.filter(|event| event["event"] == kind);
    let (one, another) = (all.next(), all.next());
    assert!(another.is_none(), "{ran:?}");
    one.unwrap_or_else(|| panic!("no {kind}: {ran:?}"))
}
