//! What an error of ICMP means to a conversation that ends by it.
//!
//! What cannot be reached is told apart as Linux tells its programs. Linux ignores codes of ICMP beyond those of RFC
//! 1812, and fragments that a host could not put together in time; here either is a host that cannot be reached.

use std::net::IpAddr;

use kumiki_graph::{Problem, Reason};

use crate::internet;
use crate::ip::V4;
use crate::ipv6::V6;

/// Why a conversation with `peer` ends that ends by `problem`: a port that nobody has is a refusal, as a reset is. What
/// was too big ends none.
#[must_use]
pub fn reason_of(problem: Problem, peer: IpAddr) -> Option<Reason> {
    match peer {
        IpAddr::V4(_) => internet::reason_of::<V4>(problem),
        IpAddr::V6(_) => internet::reason_of::<V6>(problem),
    }
}
