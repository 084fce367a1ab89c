//! What an error of ICMP means to a conversation that ends by it.
//!
//! Networks and hosts that cannot be reached are told apart as Linux tells its programs, and so are those that ICMPv6 says to be prohibited.
//! Linux has numbers of its own for some codes (no such protocol, a source route that failed, something wrong in a header); here they are hosts
//! that cannot be reached, as they are for Linux where the time to live ran out.

use std::net::IpAddr;

use kumiki_graph::{Problem, Reason};

use crate::internet;
use crate::ip::V4;
use crate::ipv6::V6;

/// Why a conversation with `peer` ends that ends by `problem`: a port that nobody has is a refusal, as a reset is. What was too big ends none.
#[must_use]
pub fn reason_of(problem: Problem, peer: IpAddr) -> Option<Reason> {
    match peer {
        IpAddr::V4(_) => internet::reason_of::<V4>(problem),
        IpAddr::V6(_) => internet::reason_of::<V6>(problem),
    }
}
