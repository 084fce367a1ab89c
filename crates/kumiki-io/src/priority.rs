//! Running ahead of other programs.
//!
//! | | |
//! |---|---|
//! | Specification | POSIX's `SCHED_FIFO`; `sched(7)` of Linux |
//! | Who may | root (`CAP_SYS_NICE`), and users with a limit for it (`RLIMIT_RTPRIO`, `rtprio` in limits.conf) |
//! | Left out | memory that is locked, processors that are kept free |
//!
//! A thread that has waited is ready to run at its time, and on a machine where others want the processor too it then
//! waits for its turn, some milliseconds now and then. With a real-time priority it runs at once. The kernel leaves
//! other programs a part of each second all the same (`sched_rt_runtime_us`).

use std::io;

/// From now on the calling thread runs ahead of all programs without a real-time priority. Threads that it starts do so
/// too.
///
/// # Errors
/// Where this process may not do that, or elsewhere than on Linux.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a call of the C library with a structure")]
pub fn run_first() -> io::Result<()> {
    // SAFETY: a C structure of integers, of which other C libraries have more than one.
    let mut param: libc::sched_param = unsafe { core::mem::zeroed() };
    // The least of the real-time priorities: ahead of all that have none is enough.
    param.sched_priority = 1;
    // SAFETY: `pthread_self` always gives a thread that lives, the caller's; `param` is a whole `struct sched_param`
    // that is only read, during the call.
    let status = unsafe { libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_FIFO, &raw const param) };
    match status {
        0 => Ok(()),
        why => Err(io::Error::from_raw_os_error(why)),
    }
}

/// Elsewhere than on Linux nothing is tried.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn run_first() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
