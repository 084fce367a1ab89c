#![allow(clippy::cast_possible_truncation, reason = "numbers in tests are small")]

mod addresses;
mod attacks;
mod buffers;
mod calls;
mod closing;
mod ecn;
mod limits;
mod loss;
mod opening;
mod pair;
mod path_mtu;
mod pending;
mod predicted;
mod random;
mod recovery;
mod refused;
mod small;
mod standard;
mod timeouts;
mod urgent;
mod windows;

/// The version of IP below the tests of this module.
const IPV6: bool = false;

#[expect(clippy::duplicate_mod, reason = "the same over the other version of IP")]
#[allow(dead_code, reason = "some of `pair` is for tests of IPv4 alone")]
mod over_ipv6;
