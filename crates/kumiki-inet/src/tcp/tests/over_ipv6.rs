//! The same files once more, over IPv6. What is left out is about addresses and options of IPv4, or is long and the
//! same.

#[path = "attacks.rs"]
mod attacks;
#[path = "buffers.rs"]
mod buffers;
#[path = "calls.rs"]
mod calls;
#[path = "closing.rs"]
mod closing;
#[path = "limits.rs"]
mod limits;
#[path = "loss.rs"]
mod loss;
#[path = "opening.rs"]
mod opening;
#[path = "pair.rs"]
mod pair;
#[path = "path_mtu.rs"]
mod path_mtu;
#[path = "recovery.rs"]
mod recovery;
#[path = "small.rs"]
mod small;
#[path = "timeouts.rs"]
mod timeouts;
#[path = "urgent.rs"]
mod urgent;
#[path = "windows.rs"]
mod windows;

/// The version of IP below the tests of this module.
const IPV6: bool = true;
