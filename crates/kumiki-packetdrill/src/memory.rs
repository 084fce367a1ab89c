//! The caller's memory, and its `errno`.
//!
//! A script may hand over an address at which there is nothing, and expect `EFAULT`. So nothing is read from or written
//! to an address of the caller's but by the kernel, which looks first: by `process_vm_readv` and `process_vm_writev` on
//! this process itself.

#![expect(unsafe_code, reason = "system calls on addresses that come from outside, and errno")]

use core::ffi::{c_int, c_void};

use rustix::io::Errno;

/// At most so much is taken in one call, as Linux's own bound is (`MAX_RW_COUNT`), but smaller.
pub(crate) const MOST: usize = 1 << 26;

/// The longest text that is taken: that of a command line's argument (`MAX_ARG_STRLEN`).
const LONGEST: usize = 128 * 1024;

fn own() -> libc::pid_t {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn all(moved: isize, octets: usize) -> Result<(), Errno> {
    // A part means that the rest is not there; a refusal, that nobody may look.
    if usize::try_from(moved) == Ok(octets) { Ok(()) } else { Err(Errno::FAULT) }
}

/// The `octets` at `from`.
pub(crate) fn read(from: *const c_void, octets: usize) -> Result<Vec<u8>, Errno> {
    if octets > MOST {
        return Err(Errno::INVAL);
    }
    if octets == 0 {
        return Ok(Vec::new());
    }
    let mut found = vec![0; octets];
    let here = libc::iovec { iov_base: found.as_mut_ptr().cast(), iov_len: octets };
    let there = libc::iovec { iov_base: from.cast_mut(), iov_len: octets };
    // SAFETY: both lists have one entry and live longer than the call; the kernel writes at most `octets` to `found`,
    // which has as many, and only reads at `from`, after it has looked whether that can be read.
    let moved = unsafe { libc::process_vm_readv(own(), &raw const here, 1, &raw const there, 1, 0) };
    all(moved, octets)?;
    Ok(found)
}

/// Puts `octets` at `to`.
pub(crate) fn write(to: *mut c_void, octets: &[u8]) -> Result<(), Errno> {
    if octets.is_empty() {
        return Ok(());
    }
    let here = libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    let there = libc::iovec { iov_base: to, iov_len: octets.len() };
    // SAFETY: both lists have one entry and live longer than the call; the kernel only reads `octets`. It writes to
    // memory that the caller has named for just that, by the contract of each call, after it has looked whether that
    // can be written.
    let moved = unsafe { libc::process_vm_writev(own(), &raw const here, 1, &raw const there, 1, 0) };
    all(moved, octets.len())
}

/// The text at `from`, up to its zero octet; none where `from` is null.
pub(crate) fn text(from: *const c_void) -> Result<Option<String>, Errno> {
    let mut found = Vec::new();
    if from.is_null() {
        return Ok(None);
    }
    while found.len() < LONGEST {
        match read(from.wrapping_byte_add(found.len()), 1)?.first() {
            Some(0) | None => return Ok(Some(String::from_utf8_lossy(&found).into_owned())),
            Some(octet) => found.push(*octet),
        }
    }
    Err(Errno::NAMETOOLONG)
}

/// The number at `from`.
pub(crate) fn number(from: *const c_void) -> Result<c_int, Errno> {
    let octets = read(from, size_of::<c_int>())?;
    octets.try_into().map(c_int::from_ne_bytes).map_err(|_| Errno::FAULT)
}

/// Why a call has failed, for who made it.
pub(crate) fn set_errno(errno: Errno) {
    // SAFETY: the place of this thread's own errno, which is there as long as the thread.
    unsafe { *libc::__errno_location() = errno.raw_os_error() };
}
