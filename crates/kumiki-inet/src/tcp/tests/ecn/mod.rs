//! Explicit congestion notification, in virtual time: RFC 3168, RFC 8511 and RFC 9768.

use kumiki_wire::inet::EcnUse;
use kumiki_wire::inet::ipv4::Ecn as Codepoint;

use super::pair::*;
use super::recovery::prompt;
use crate::tcp::Config;

mod counting;
mod handshake;
mod response;

fn with(ecn: EcnUse) -> Config {
    Config { ecn, trace: true, ..prompt() }
}

fn between(a: EcnUse, b: EcnUse) -> Pair {
    Pair::new(with(a), with(b), ms(10))
}

/// AE, CWR and ECE, as a number.
fn ace(packet: &Packet) -> u16 {
    packet.header.flags.bits() >> 6 & 7
}

/// Marks the segments of A with text whose first octets are these, when they are sent for the first time with ECT.
fn marks(octets: &'static [u32]) -> impl FnMut(&mut Packet) {
    move |packet| {
        let first = packet.seq.wrapping_sub(1);
        if packet.from == A && packet.len() > 0 && octets.contains(&first) && packet.ecn != Codepoint::NotEct {
            packet.ecn = Codepoint::Ce;
        }
    }
}

/// What `pick` finds in the segments from `from`, since the `skip`th of both sides.
fn seen<T>(pair: &Pair, from: usize, skip: usize, pick: impl Fn(&Packet) -> T) -> Vec<T> {
    let log = pair.log.iter().skip(skip);
    log.filter(|packet| packet.from == from).map(pick).collect()
}

fn modes(pair: &Pair, host: usize) -> (u64, u64) {
    let counters = pair.counters(host);
    (counters.ecn_classic, counters.ecn_accurate)
}
