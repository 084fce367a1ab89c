//! Every codec of `kumiki-wire`: no panic on any octets, and what was read and written again is read as the same.

use kumiki_wire::atm::cell::oam::Loopback;
use kumiki_wire::atm::cell::rm::Rm;
use kumiki_wire::atm::cell::{self, Interface};
use kumiki_wire::atm::{aal5, aal34, atm_arp};
use kumiki_wire::inet::icmpv6::option::Opts;
use kumiki_wire::inet::ipv6::extension::{Chain, Fragment};
use kumiki_wire::inet::llc_snap;
use kumiki_wire::inet::tcp::options::{Options, SackBlocks, items};
use kumiki_wire::inet::{arp, dhcp, ethernet, fddi, icmpv4, icmpv6, ipv4, ipv6, llc, rtp, tcp, udp};
use kumiki_wire::ppp::mapos::{self, Address, Subnet, Width};
use kumiki_wire::ppp::ppp;
use kumiki_wire::ppp::ppp::{chap, control, ipcp, ipv6cp, lcp, lqr, pap, protocol};
use kumiki_wire::xtp;

use crate::{Draw, Target};

pub(crate) const TARGET: Target = Target { name: "codecs", title: "every header: read, write, read again", run };

/// Reads, writes and reads again. `$parse` gives the header and its length for any octets.
macro_rules! again {
    ($octets:expr, $parse:expr) => {{
        let (octets, parse) = ($octets, $parse);
        parse(octets).ok().map(|(header, len)| {
            assert!(len <= octets.len(), "{len} of {} octets", octets.len());
            let _ = header.to_string();
            let mut out = vec![0; header.len()];
            header.emit(&mut out);
            let (same, written) = parse(&out).expect("what was written can be read");
            assert_eq!((&same, written), (&header, out.len()));
            (header, len)
        })
    }};
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let which = draw.below(19);
    let octets = draw.rest();
    let total = octets.len();
    match which {
        0 => ethernet(octets),
        1 => lan(octets),
        2 => drop(again!(octets, |it: &[u8]| arp::Header::parse(it))),
        3 => drop(again!(octets, |it: &[u8]| atm_arp::Header::parse(it))),
        4 => drop(again!(octets, |it: &[u8]| ipv4::Header::parse(it, 65_535))),
        5 => ipv4_quoted(octets),
        6 => drop(again!(octets, |it: &[u8]| icmpv4::Header::parse(it))),
        7 => ipv6(octets),
        8 => icmpv6(octets),
        9 => {
            again!(octets, |it: &[u8]| udp::Header::parse(it, 65_535));
            again!(octets, |it: &[u8]| rtp::Header::parse(it));
            dhcp(octets);
            xtp(octets);
        }
        10 => tcp(octets),
        11 => tcp_options(octets),
        12 => cell(octets),
        13 => aal5(octets),
        14 => aal34(octets),
        15 => oam(octets),
        16 => mapos(octets),
        17 => ppp(octets),
        // The total of a PDU that is not all there.
        _ => {
            for total in [0, total, total + 1, usize::MAX] {
                let _ = ethernet::Header::parse(octets, total);
                let _ = ipv4::Header::parse(octets, total);
                let _ = ipv6::Header::parse(octets, total);
                let _ = udp::Header::parse(octets, total);
                let _ = tcp::Header::parse(octets, total);
            }
        }
    }
}

/// As they are, and as the options of a message.
fn dhcp(octets: &[u8]) {
    again!(octets, |it: &[u8]| dhcp::Header::parse(it));
    let empty = dhcp::Header::default();
    let mut whole = vec![0; empty.len()];
    empty.emit(&mut whole);
    whole.truncate(dhcp::FIXED);
    whole.extend([dhcp::code::KIND, 1, 5]);
    whole.extend_from_slice(octets);
    again!(&whole[..], |it: &[u8]| dhcp::Header::parse(it));
}

fn ethernet(octets: &[u8]) {
    // The length of a frame of IEEE 802.3 is checked against the whole.
    again!(octets, |it: &[u8]| ethernet::Header::parse(it, 2000));
}

fn lan(octets: &[u8]) {
    again!(octets, |it: &[u8]| llc_snap::Header::parse(it));
    again!(octets, |it: &[u8]| fddi::Header::parse(it));
    if let Some((header, len)) = again!(octets, |it: &[u8]| llc::Header::parse(it)) {
        // No bit of LLC is without a meaning.
        let mut out = vec![0; len];
        header.emit(&mut out);
        assert_eq!(out, octets[..len]);
    }
}

/// As `again`, for payloads: they end where the octets do, or their length is not asked for.
macro_rules! payload {
    ($octets:expr, $parse:expr) => {{
        let parse = $parse;
        if let Ok(found) = parse($octets) {
            let _ = found.to_string();
            let mut out = vec![0; found.len()];
            found.emit(&mut out);
            assert_eq!(parse(&out), Ok(found));
        }
    }};
}

fn xtp(octets: &[u8]) {
    again!(octets, |it: &[u8]| xtp::Header::parse(it, 1 << 17));
    again!(octets, |it: &[u8]| xtp::Control::parse(it));
    again!(octets, |it: &[u8]| xtp::Diagnosis::parse(it));
    payload!(octets, |it: &[u8]| xtp::First::parse(it).map(|(it, _)| it));
    payload!(octets, |it: &[u8]| xtp::Errors::parse(it));
    payload!(octets, |it: &[u8]| xtp::TrafficControl::parse(it));
    payload!(octets, |it: &[u8]| xtp::Join::parse(it));
    if let Some(covered) = xtp::covered(octets, octets.len()) {
        assert!((xtp::LEN..=octets.len()).contains(&covered));
    }
}

fn ipv4_quoted(octets: &[u8]) {
    let Some((header, _)) = again!(octets, |it: &[u8]| ipv4::Header::parse_quoted(it)) else {
        return;
    };
    for item in header.options.items() {
        let Ok(item) = item else { break };
        assert!(!item.octets.is_empty());
    }
    let mut out = vec![0; header.len()];
    header.emit_summed(&mut out);
    assert_eq!(ipv4::checksum(&out), header.checksum());
}

fn ipv6(octets: &[u8]) {
    again!(octets, |it: &[u8]| ipv6::Header::parse(it, 1 << 17));
    again!(octets, |it: &[u8]| Fragment::parse(it));
    let Ok((header, _)) = ipv6::Header::parse_quoted(octets) else {
        return;
    };
    let mut chain = Chain::new(&header, octets);
    let (mut at, mut seen) = (ipv6::LEN, 0);
    let mut whole = true;
    for extension in chain.by_ref() {
        let Ok(extension) = extension else {
            whole = false;
            break;
        };
        assert_eq!(extension.at, at);
        at += extension.octets.len();
        seen += 1;
        for option in extension.options() {
            let Ok(option) = option else { break };
            assert!(option.at >= extension.at && option.at + option.data.len() < at);
        }
    }
    assert!(seen <= ipv6::extension::MOST);
    let (next, upper, field) = chain.upper();
    if whole {
        assert!(upper == at && !Chain::knows(next));
    }
    assert!(field < upper && upper <= octets.len());
}

fn icmpv6(octets: &[u8]) {
    let Some((_, len)) = again!(octets, |it: &[u8]| icmpv6::Header::parse(it)) else {
        return;
    };
    let mut at = len;
    for option in Opts::new(&octets[len..]) {
        let Ok(option) = option else { break };
        let mut out = vec![0; option.len()];
        option.emit(&mut out);
        let same = Opts::new(&out).next().expect("one option").expect("right");
        assert_eq!(same, option);
        at += option.len();
    }
    assert!(at <= octets.len());
}

/// What is written: of the blocks those that fit, of mistakes nothing.
fn as_written(options: Options) -> Options {
    let blocks = options.sack.as_slice();
    let room = blocks.len().min(options.sack_room());
    Options { sack: SackBlocks::from_slice(&blocks[..room]), illegal_length: false, ..options }
}

fn tcp(octets: &[u8]) {
    let Ok((header, len)) = tcp::Header::parse(octets, octets.len()) else {
        return;
    };
    assert!(len <= octets.len());
    let _ = header.to_string();
    let mut out = vec![0; header.len()];
    header.emit(&mut out);
    let (mut same, written) = tcp::Header::parse(&out, out.len()).expect("it was written");
    assert_eq!(written, out.len());
    // Of the user timeout the reserved zero is kept too.
    let header = tcp::Header { options: as_written(header.options), ..header };
    same.options = as_written(same.options);
    assert_eq!(same, header);
}

fn tcp_options(octets: &[u8]) {
    let octets = &octets[..octets.len().min(tcp::options::MAX_LEN)];
    let options = Options::parse(octets);
    let _ = options.to_string();
    let mut out = vec![0; options.len()];
    options.emit(&mut out);
    assert!(out.len() <= tcp::options::MAX_LEN && out.len().is_multiple_of(4));
    assert_eq!(Options::parse(&out), as_written(options));
    let mut left = octets.len();
    for item in items(octets) {
        let Ok(item) = item else { break };
        left -= item.data.len() + if item.kind == 1 { 1 } else { 2 };
    }
    let _ = left;
}

fn cell(octets: &[u8]) {
    for interface in [Interface::Uni, Interface::Nni] {
        let Ok((header, len)) = cell::Header::parse(interface, octets) else {
            continue;
        };
        let _ = header.to_string();
        assert_eq!(header.octets(interface)[..], octets[..len]);
    }
    if let Some(header) = octets.first_chunk()
        && let Some(right) = cell::correct(*header)
    {
        let changed: u32 = (0..5).map(|at| (right[at] ^ header[at]).count_ones()).sum();
        assert!(changed <= 1);
        assert_eq!(cell::syndrome(right), 0);
    }
}

fn aal5(octets: &[u8]) {
    let Ok(trailer) = aal5::Trailer::parse(octets) else {
        return;
    };
    let _ = trailer.to_string();
    let mut out = [0; aal5::LEN];
    trailer.emit(&mut out);
    assert_eq!(out[..], octets[octets.len() - aal5::LEN..]);
    for len in [octets.len(), octets.len() * 48, 65_568] {
        if let Ok(sdu) = trailer.check(len, trailer.crc) {
            assert!(sdu > 0 && sdu + aal5::LEN <= len && len.is_multiple_of(48));
        }
    }
}

fn aal34(octets: &[u8]) {
    use aal34::{cpcs, sar};
    let front = again!(octets, |it: &[u8]| cpcs::Header::parse(it));
    let Some((segment, _)) = again!(octets, |it: &[u8]| sar::Header::parse(it)) else {
        return;
    };
    let back = sar::Trailer::parse(octets).expect("two octets are enough");
    let _ = (segment.to_string(), back.to_string());
    if let Ok(len) = back.check(segment.segment_type, back.crc) {
        assert!((4..=sar::PAYLOAD_LEN).contains(&len));
    }
    let (Some((header, _)), Ok(trailer)) = (front, cpcs::Trailer::parse(octets)) else {
        return;
    };
    let _ = trailer.to_string();
    if let Ok(len) = trailer.check(&header, octets.len()) {
        assert_eq!(aal34::pdu_len(len), octets.len());
    }
}

fn mapos(octets: &[u8]) {
    use mapos::{arp, nsp, ssp};
    again!(octets, |it: &[u8]| nsp::Header::parse(it));
    again!(octets, |it: &[u8]| arp::Header::parse(it));
    again!(octets, |it: &[u8]| ssp::Entry::parse(it));
    let total = octets.len();
    if let Ok((header, len)) = ssp::Header::parse(octets, total) {
        let mut out = vec![0; len];
        header.emit(&mut out);
        assert_eq!(ssp::Header::parse(&out, total), Ok((header, len)));
        let count = ssp::entries(&octets[len..]).count();
        assert_eq!(len + count * ssp::ENTRY_LEN, total);
    }
    for width in [Width::Eight, Width::Sixteen] {
        if let Some((header, _)) = again!(octets, |it: &[u8]| mapos::Header::parse(width, it)) {
            address(header.destination);
        }
        for entry in ssp::entries(octets) {
            if let Ok(route) = entry.route(width) {
                assert_eq!(ssp::Entry::from(route).route(width), Ok(route));
            }
        }
    }
}

fn address(address: Address) {
    assert_eq!(address.to_string().parse(), Ok(address));
    for bits in 0..=12 {
        let Some(subnet) = Subnet::new(address.width(), bits) else {
            break;
        };
        let meaning = subnet.meaning(address).expect("of the same width");
        let (switch, port) = match meaning {
            mapos::Meaning::LocalControl => (0, 1),
            mapos::Meaning::Control { switch } => (switch, 1),
            mapos::Meaning::Node { switch, port } => (switch, port),
            mapos::Meaning::Group(_) | mapos::Meaning::Broadcast => continue,
        };
        assert_eq!(subnet.address(switch, port), Some(address));
    }
}

fn oam(octets: &[u8]) {
    if let Some(payload) = octets.first_chunk()
        && let Ok(loopback) = Loopback::parse(payload)
    {
        let _ = loopback.to_string();
        assert_eq!(Loopback::parse(&loopback.octets()), Ok(loopback));
    }
    if let Some(payload) = octets.first_chunk()
        && let Ok(rm) = Rm::parse(payload)
    {
        let _ = rm.to_string();
        assert_eq!(Rm::parse(&rm.octets()), Ok(rm));
    }
}

fn ppp(octets: &[u8]) {
    again!(octets, |it: &[u8]| ppp::Header::parse(it));
    again!(octets, |it: &[u8]| lqr::Report::parse(it));
    macro_rules! borrowed {
        ($packet:ty) => {
            if let Ok((packet, len)) = <$packet>::parse(octets) {
                assert!(len <= octets.len());
                let _ = packet.to_string();
                let mut out = vec![0; packet.len()];
                packet.emit(&mut out);
                let (same, written) = <$packet>::parse(&out).expect("what was written can be read");
                assert_eq!((same, written), (packet, out.len()));
            }
        };
    }
    borrowed!(control::Packet<'_>);
    borrowed!(pap::Packet<'_>);
    borrowed!(chap::Packet<'_>);
    let Ok((packet, _)) = control::Packet::parse(octets) else {
        return;
    };
    for number in [protocol::LCP, protocol::IPCP, protocol::IPV6CP] {
        let line = packet.of(number).to_string();
        assert!(!line.contains(char::is_control), "{line:?}");
    }
    if let Ok(body) = lcp::Body::read(packet.code, packet.data) {
        let mut out = vec![0; body.len()];
        body.emit(&mut out);
        assert_eq!(out, packet.data);
    }
    let mut at = 0;
    for item in control::options(packet.data) {
        let Ok(item) = item else { break };
        let mut out = vec![0; item.len()];
        macro_rules! same {
            ($option:expr) => {
                let option = $option;
                assert_eq!(option.len(), item.len());
                out.fill(0);
                option.emit(&mut out);
                assert_eq!(out[..], packet.data[at..at + item.len()]);
            };
        }
        same!(item);
        same!(lcp::Opt::of(item));
        same!(ipcp::Opt::of(item));
        same!(ipv6cp::Opt::of(item));
        at += item.len();
    }
    assert!(at <= packet.data.len());
}
