//! What Linux tells of a connection: `TCP_INFO`, `TCP_CC_INFO`, `SO_MEMINFO`, `TCP_MAXSEG`.
//!
//! | | |
//! |---|---|
//! | Specification | `struct tcp_info` of Linux, up to `tcpi_total_retrans` |
//! | Left out, and zero | times since the last segment, the receiver's side, all that is behind: rates, times by what held the connection back |
//!
//! packetdrill asks for these by the C library's own `getsockopt`, past the table of functions. So there is one of that
//! name here, too, which a process has in place of the library's where this is preloaded (`LD_PRELOAD`): of a
//! descriptor of ours it answers itself, all others go to the kernel.

#![expect(unsafe_code, reason = "a function that C finds by its name, and the system call that it stands for")]

use core::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use kumiki_graph::Duration;
use kumiki_net::host::{Connection, Recovering, Snapshot};
use rustix::io::Errno;

use crate::adapter::{Adapter, descriptor};
use crate::clock::World;
use crate::descriptor::State;
use crate::memory;

const TCP_CC_INFO: c_int = 26;
const SO_MEMINFO: c_int = 55;
/// Octets of an answer to `TCP_INFO`: more than any version of Linux has, of which who asks for fewer gets fewer.
const INFO: usize = 512;
/// Numbers of 32 bits in an answer to [`SO_MEMINFO`].
const MEMINFO: usize = 9;

/// As Linux shows a threshold that there is none of yet (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Duplicate acknowledgments that mean a loss, as long as nothing was seen of reordering (`tcp_reordering`).
const REORDERING: u32 = 3;

/// The answer to `name`; none where this is not one of those here.
pub(crate) fn of(world: &mut World, number: c_int, name: (c_int, c_int)) -> Option<Result<Vec<u8>, Errno>> {
    match name {
        (libc::IPPROTO_TCP, libc::TCP_INFO) => Some(info(world, number)),
        // CUBIC has nothing to tell.
        (libc::IPPROTO_TCP, TCP_CC_INFO) => Some(descriptor(world, number).map(|_| Vec::new())),
        (libc::SOL_SOCKET, SO_MEMINFO) => Some(descriptor(world, number).map(|_| vec![0; MEMINFO * size_of::<u32>()])),
        (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => Some(snapshot(world, number).map(|it| {
            let mss = it.map_or(536, |it| it.mss);
            mss.to_ne_bytes().to_vec()
        })),
        _ => None,
    }
}

/// How the connection of a descriptor stands; none where there is none, or none any more.
fn snapshot(world: &mut World, number: c_int) -> Result<Option<Snapshot>, Errno> {
    let pair = match &descriptor(world, number)?.state {
        State::Open(stream) => stream.local_addr().ok().zip(stream.peer_addr().ok()),
        State::Fresh(_) | State::Calling(_) | State::Listening(..) | State::Failed(_) => None,
        State::Epoll(_) | State::Between => return Err(Errno::NOTSOCK),
    };
    let is_it = |it: &Connection| Some((it.local, it.remote)) == pair;
    Ok(world.connections().into_iter().find(is_it).map(|it| it.snapshot))
}

/// The number of a state (`net/tcp_states.h`).
fn number_of(state: &str) -> u8 {
    let order = [
        "ESTABLISHED",
        "SYN-SENT",
        "SYN-RECEIVED",
        "FIN-WAIT-1",
        "FIN-WAIT-2",
        "TIME-WAIT",
        "CLOSED",
        "CLOSE-WAIT",
        "LAST-ACK",
        "LISTEN",
        "CLOSING",
    ];
    order.iter().zip(1..).find(|(name, _)| **name == state).map_or(7, |(_, number)| number)
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / 1000).unwrap_or(u32::MAX)
}

fn info(world: &mut World, number: c_int) -> Result<Vec<u8>, Errno> {
    let mut info = snapshot(world, number)?.map_or_else(|| vec![number_of("CLOSED")], |it| info_of(&it));
    info.resize(INFO, 0);
    Ok(info)
}

fn info_of(it: &Snapshot) -> Vec<u8> {
    let mss = it.mss.max(1);
    // Linux counts segments.
    let segments = |octets: u32| octets.div_ceil(mss);
    let windows = |octets: u64| u32::try_from(octets / u64::from(mss)).unwrap_or(u32::MAX);
    let phase = match it.recovering {
        Recovering::No if it.sacked > 0 => 1,
        Recovering::No => 0,
        Recovering::Fast => 3,
        Recovering::Timeout => 4,
    };
    let unanswered = u8::try_from(it.unanswered).unwrap_or(u8::MAX);
    let threshold = if it.ssthresh >= NO_THRESHOLD.into() { NO_THRESHOLD } else { windows(it.ssthresh) };
    // Retransmissions, probes, back-off; what was agreed on is not told.
    let first = [number_of(it.state), phase, unanswered, 0, unanswered, 0, 0, 0];
    let (srtt, rttvar) = (it.srtt.map_or(0, micros), it.rttvar.map_or(0, micros));
    let numbers = [
        // tcpi_rto, _ato, _snd_mss, _rcv_mss
        [micros(it.rto), 0, mss, mss],
        // tcpi_unacked, _sacked, _lost, _retrans
        [segments(it.flight), segments(it.sacked), segments(it.lost), segments(it.resent)],
        // tcpi_fackets, _last_data_sent, _last_ack_sent, _last_data_recv
        [0; 4],
        // tcpi_last_ack_recv, _pmtu, _rcv_ssthresh, _rtt
        [0, 0, 0, srtt],
        // tcpi_rttvar, _snd_ssthresh, _snd_cwnd, _advmss
        [rttvar, threshold, windows(it.cwnd), mss],
        // tcpi_reordering, _rcv_rtt, _rcv_space, _total_retrans
        [REORDERING, 0, 0, 0],
    ];
    let numbers = numbers.as_flattened().iter().flat_map(|it| it.to_ne_bytes());
    first.into_iter().chain(numbers).collect()
}

/// As the C library's: see the module.
#[unsafe(no_mangle)]
extern "C" fn getsockopt(number: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut c_void) -> c_int {
    let own = catch_unwind(AssertUnwindSafe(|| {
        Adapter::with_descriptor(number)?.option(number, (level, name), value, len).into()
    }));
    match own {
        Ok(Some(Ok(()))) => 0,
        Ok(Some(Err(why))) => {
            memory::set_errno(why);
            -1
        }
        Ok(None) => {
            // SAFETY: the kernel gets what its caller has given, and looks at both addresses before it uses them.
            let answer = unsafe { libc::syscall(libc::SYS_getsockopt, number, level, name, value, len) };
            c_int::try_from(answer).unwrap_or(-1)
        }
        Err(_) => {
            memory::set_errno(Errno::IO);
            -1
        }
    }
}
