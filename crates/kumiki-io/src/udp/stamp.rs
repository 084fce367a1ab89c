//! When the kernel got what was read last from a socket.
//!
//! | | |
//! |---|---|
//! | Specification | Linux, `socket(7)`: `SIOCGSTAMPNS`, "the receive timestamp of the last packet passed to the user" |
//! | Left out | times that a network card notes (`SO_TIMESTAMPING`) |

use std::os::fd::BorrowedFd;

use kumiki_graph::Duration;
use rustix::ioctl::{Getter, Opcode, ioctl};
use rustix::time::{ClockId, clock_gettime};

/// `SIOCGSTAMPNS_NEW` of linux/sockios.h: `_IOR(SOCK_IOC_TYPE, 0x07, long long[2])` with the type 0x89.
const SIOCGSTAMPNS: Opcode = 0x8010_8907;

/// Nothing lies in a socket for longer that is read at all; more has been the clock being set.
const LONGEST: i128 = 1_000_000_000;

/// `struct __kernel_timespec`: seconds and nanoseconds of the real-time clock.
#[repr(C)]
struct Stamp {
    seconds: i64,
    nanos: i64,
}

/// How long ago the datagram came that was read last; `None` where that is not known, as at the first time of asking,
/// which makes the kernel note it from then on.
#[expect(unsafe_code, reason = "a request is a number and a place for the answer")]
pub(super) fn since_last_arrival(socket: BorrowedFd<'_>) -> Option<Duration> {
    // SAFETY: the request writes a `struct __kernel_timespec`, two integers of 64 bits, whose layout `Stamp` has and of
    // which every value is valid; it writes all of it wherever it does not fail.
    let stamp = unsafe { ioctl(socket, Getter::<SIOCGSTAMPNS, Stamp>::new()) }.ok()?;
    // The same clock, which is not monotonic: only the difference is used, and only where it makes sense.
    let now = clock_gettime(ClockId::Realtime);
    let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let since = nanos(now.tv_sec, now.tv_nsec) - nanos(stamp.seconds, stamp.nanos);
    let since = (0..LONGEST).contains(&since).then_some(since)?;
    u64::try_from(since).ok().map(Duration::from_nanos)
}
