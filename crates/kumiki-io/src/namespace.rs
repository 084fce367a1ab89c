//! Namespaces of Linux: a network and mounts of one's own.
//!
//! | | |
//! |---|---|
//! | Specification | `unshare(2)`, `user_namespaces(7)`, `network_namespaces(7)` |
//! | Left out | every other kind, and entering one that is there |

use std::io;

use rustix::thread::UnshareFlags;

/// Leaves the host's network and its table of mounts; with `users` also its users, which takes no rights, and gives all
/// of them in the other two. Only what the calling thread does from here on is concerned, but for `users`, which a
/// process with several threads cannot leave.
///
/// # Errors
/// Those of `unshare(2)`: `EPERM` without the right or where it is forbidden, `ENOSPC` where there may be no more,
/// `EINVAL` where the kernel has none or there are several threads.
#[expect(unsafe_code, reason = "namespaces are of the whole thread")]
pub fn leave_host(users: bool) -> io::Result<()> {
    let own = UnshareFlags::NEWNET | UnshareFlags::NEWNS;
    let flags = if users { own | UnshareFlags::NEWUSER } else { own };
    // SAFETY: the table of descriptors stays shared: there is no `UnshareFlags::FILES`.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}
