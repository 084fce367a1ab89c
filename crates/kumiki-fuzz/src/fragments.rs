//! Fragments of a few datagrams beside a model: what IP delivers is made of what came, and what came whole is
//! delivered.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Key};
use kumiki_testkit::bench::Bench;
use kumiki_wire::inet::ipv4;
use kumiki_wire::inet::ipv6 as wire6;
use kumiki_wire::inet::ipv6::extension::Fragment;
use kumiki_wire::numbering::IP_PROTOCOL;

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "fragments",
    title: "reassembly of IPv4 and IPv6: fragments in any order, overlapping, contradicting each other",
    run,
};

/// A protocol number for experiments (RFC 3692): nobody else is its user.
const PROTOCOL: u8 = 253;

/// What came of a datagram.
#[derive(Default)]
struct Datagram {
    /// By place.
    octets: BTreeMap<usize, u8>,
    ends: BTreeSet<usize>,
    /// No two fragments contradict each other about its end, nor overlap.
    honest: bool,
    delivered: usize,
}

/// The octet at a place of a datagram.
fn content(identification: u8, at: usize) -> u8 {
    (at * 7 + at / 256).to_le_bytes()[0] ^ identification
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let version_6 = draw.octet() & 1 != 0;
    within_mb(64.0, || exchange(&mut draw, version_6));
}

fn exchange(draw: &mut Draw<'_>, version_6: bool) {
    let own = if version_6 { IpAddr::V6("fd00::1".parse().unwrap()) } else { IpAddr::V4([10, 0, 0, 1].into()) };
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.boxed("layer", &["line"], crate::host::layer(own));
    let program = bench.user("program", "layer", &[Key::of(IP_PROTOCOL, PROTOCOL.into())]);
    bench.start();
    bench.sent();
    let mut datagrams: BTreeMap<u8, Datagram> = BTreeMap::new();
    for _ in 0..300 {
        if draw.is_empty() {
            break;
        }
        let what = draw.octet();
        let identification = what & 3;
        let start = 8 * if what & 0x80 == 0 { draw.below(32) } else { draw.below(8192) };
        let more = what & 4 == 0;
        let len = if what & 8 == 0 { 8 * draw.below(20) } else { draw.below(1400) };
        let data: Vec<u8> = (start..start + len).map(|at| content(identification, at)).collect();
        let packet = if version_6 {
            packet_6(identification, start, more, &data)
        } else {
            packet_4(identification, start, more, &data)
        };
        // A fragment that is not the last and has not whole words is refused; so is one that ends too far out. The last
        // one may be empty.
        let possible =
            (!more || len > 0 && len.is_multiple_of(8)) && start + len <= if version_6 { 65_535 } else { 65_515 };
        let datagram =
            datagrams.entry(identification).or_insert_with(|| Datagram { honest: true, ..Datagram::default() });
        let is_all = start == 0 && !more;
        if is_all {
            // It waits for nobody, and nobody for it.
        } else if possible {
            datagram.note(start, more, &data);
        } else {
            datagram.honest = false;
        }
        bench.octets(line, &packet);
        if what & 0x70 == 0x70 {
            bench.pass(Duration::from_secs(u64::from(draw.octet())));
            datagrams.values_mut().for_each(|it| it.honest = false);
        }
        for unit in bench.units(program) {
            let octets = unit.data.to_vec();
            if is_all {
                assert!(octets == data);
                continue;
            }
            let (identification, datagram) =
                datagrams.iter_mut().find(|(id, it)| it.is(**id, &octets)).expect("what is delivered is what came");
            assert!(octets.len() <= 65_535, "datagram {identification}");
            // From here on a new one may begin under the same number.
            *datagram = Datagram { delivered: datagram.delivered + 1, ..Datagram::default() };
        }
        for (identification, datagram) in &datagrams {
            assert!(!datagram.is_whole(), "datagram {identification} is whole and was not delivered");
        }
        // One for the fragment, and one for each datagram whose time is over.
        assert!(bench.sent().len() <= 8);
    }
    bench.pass(Duration::from_secs(120));
    assert!(bench.sent().len() <= 8);
    assert_eq!(bench.graph.next_timer(), None, "nothing waits after the time-out");
}

impl Datagram {
    fn note(&mut self, start: usize, more: bool, data: &[u8]) {
        let end = start + data.len();
        if (start..end).any(|at| self.octets.contains_key(&at)) {
            self.honest = false;
        }
        for (at, octet) in (start..).zip(data) {
            self.octets.insert(at, *octet);
        }
        if !more {
            self.ends.insert(end);
        }
        let reached = self.octets.keys().next_back().map_or(0, |at| at + 1);
        self.honest &= self.ends.len() <= 1 && self.ends.iter().all(|end| reached <= *end);
    }

    /// Whether it could be these octets.
    fn is(&self, identification: u8, octets: &[u8]) -> bool {
        self.ends.contains(&octets.len())
            && octets
                .iter()
                .enumerate()
                .all(|(at, octet)| self.octets.contains_key(&at) && *octet == content(identification, at))
    }

    fn is_whole(&self) -> bool {
        let end = self.ends.iter().next();
        self.honest && end.is_some_and(|end| self.octets.len() == *end)
    }
}

fn packet_4(identification: u8, start: usize, more: bool, data: &[u8]) -> Vec<u8> {
    let header = ipv4::Header {
        total_length: u16::try_from(20 + data.len()).unwrap(),
        identification: identification.into(),
        more_fragments: more,
        fragment_offset: u16::try_from(start / 8).unwrap(),
        protocol: PROTOCOL,
        source: [10, 0, 0, 2].into(),
        destination: [10, 0, 0, 1].into(),
        ..ipv4::Header::default()
    };
    let mut packet = vec![0; header.len()];
    header.emit_summed(&mut packet);
    packet.extend(data);
    packet
}

fn packet_6(identification: u8, start: usize, more: bool, data: &[u8]) -> Vec<u8> {
    let fragment = Fragment {
        next_header: PROTOCOL,
        offset: u16::try_from(start / 8).unwrap(),
        more,
        identification: identification.into(),
    };
    let header = wire6::Header {
        payload_length: u16::try_from(fragment.len() + data.len()).unwrap(),
        next_header: wire6::next_header::FRAGMENT,
        source: "fd00::2".parse().unwrap(),
        destination: "fd00::1".parse().unwrap(),
        ..wire6::Header::default()
    };
    let mut packet = vec![0; wire6::LEN + fragment.len()];
    header.emit(&mut packet[..wire6::LEN]);
    fragment.emit(&mut packet[wire6::LEN..]);
    packet.extend(data);
    packet
}
