//! What the layers that Kumiki knows take.

use kumiki_graph::Duration;
use kumiki_octets::text::counted;

use super::{Cost, Line, Overhead};

fn overhead(name: &str, cost: Cost, note: &str) -> Overhead {
    Overhead { name: name.to_owned(), cost, note: note.to_owned() }
}

/// A SONET line of `n` times 51.84 Mb/s: 3 for OC-3c.
#[must_use]
pub fn oc(n: u32) -> Line {
    Line { name: format!("SONET OC-{n}c line"), bits_per_second: 51_840_000 * u64::from(n) }
}

/// Section, line and path overhead and fixed stuff of a concatenated SONET line, OC-3c or a multiple of it: 10 of 270
/// columns.
#[must_use]
pub fn sonet() -> Overhead {
    let cost = Cost::Share { kept: 2340, of: 2430 };
    overhead("SONET overhead", cost, "10 of 270 columns of 9 octets")
}

/// Cells mapped straight into a DS-3 line: 84 of 85 bits (G.804).
#[must_use]
pub fn ds3() -> Overhead {
    let cost = Cost::Share { kept: 84, of: 85 };
    overhead("DS-3 overhead", cost, "one of 85 bits")
}

/// The PLCP on a DS-3 line: 96 000 cells of 53 octets a second out of 44.736 Mb/s.
#[must_use]
pub fn ds3_plcp() -> Overhead {
    let cost = Cost::Share { kept: 40_704, of: 44_736 };
    overhead("DS-3 and PLCP overhead", cost, "96 000 cells a second")
}

/// Cell headers (ITU-T I.361).
#[must_use]
pub fn cell_headers() -> Overhead {
    overhead("cell headers", Cost::Share { kept: 48, of: 53 }, "5 of 53 octets")
}

/// RM cells of a channel of available bit rate: one of `nrm` (ATM Forum, Traffic Management 4.0). Those that go back
/// for the other direction are not counted.
#[must_use]
pub fn rm_cells(nrm: u32) -> Overhead {
    overhead("RM cells", Cost::Share { kept: nrm.saturating_sub(1), of: nrm }, &format!("one of {nrm} cells"))
}

/// The padding of AAL5, to whole cells (ITU-T I.363.5).
#[must_use]
pub fn aal5_padding() -> Overhead {
    overhead("padding", Cost::Cells(48), "to whole cells of 48 octets")
}

/// The trailer of AAL5 (ITU-T I.363.5).
#[must_use]
pub fn aal5_trailer() -> Overhead {
    overhead("AAL5 trailer", Cost::Octets(8), "ITU-T I.363.5")
}

/// Header and trailer of AAL3/4 in each cell (ITU-T I.363.3).
#[must_use]
pub fn aal34_segments() -> Overhead {
    overhead("AAL3/4 segments", Cost::Share { kept: 44, of: 48 }, "4 of 48 octets, so 44 of 53 are left")
}

/// The padding of AAL3/4, to whole cells: first to a multiple of 4, in which the cells' 44 octets go up (ITU-T
/// I.363.3).
#[must_use]
pub fn aal34_padding() -> Overhead {
    overhead("padding", Cost::Cells(44), "to whole cells of 44 octets")
}

/// Header and trailer of AAL3/4's convergence sublayer (ITU-T I.363.3).
#[must_use]
pub fn aal34_frame() -> Overhead {
    overhead("AAL3/4 header and trailer", Cost::Octets(8), "ITU-T I.363.3")
}

/// The LLC and SNAP headers (RFC 2684).
#[must_use]
pub fn llc_snap() -> Overhead {
    overhead("LLC/SNAP", Cost::Octets(8), "RFC 2684 section 5.1")
}

/// The IPv4 header without options (RFC 791).
#[must_use]
pub fn ipv4() -> Overhead {
    overhead("IP", Cost::Octets(20), "RFC 791, no options")
}

/// The IPv6 header without extension headers (RFC 8200).
#[must_use]
pub fn ipv6() -> Overhead {
    overhead("IPv6", Cost::Octets(40), "RFC 8200, no extensions")
}

/// The Ethernet header; preamble, check sequence and gap are the line's.
#[must_use]
pub fn eth() -> Overhead {
    overhead("Ethernet", Cost::Octets(14), "Ethernet II, addresses and type")
}

/// An FDDI ring, in what its stations signal as data.
#[must_use]
pub fn fddi_ring() -> Line {
    Line { name: "FDDI ring".to_owned(), bits_per_second: 100_000_000 }
}

/// What `stations` that always have something to send can have of a ring at most, together: n (T - D) of each n T + D,
/// where the token is `away` for D as it goes around once and is retransmitted, and T is the `target` (TTRT) and a
/// `frame`, all in nanoseconds.
///
/// By the rules of the timed token a station sends for what is left of the target since the token came to it last.
/// Where nobody has sent in between that is T - D, and when the token is back then, T is over, and it has to be passed
/// on. So have all stations before it seen T go by. To the next one it comes D after the last time, and that sends for
/// T - D. From one turn to send to the next it is T and the step to the next station, and n of these steps are once
/// around, D. One alone is its own next one: its step is D.
///
/// A frame that is begun at the end of a turn is ended. What that takes beyond the turn counts against a later one, but
/// where this is too short for a frame and has one all the same nothing is paid back: a turn has up to a frame more
/// than the target leaves.
#[must_use]
pub fn token(away: u32, target: u32, frame: u32, stations: u32) -> Overhead {
    let [away_ns, target_ns, frame_ns, count] = [away, target, frame, stations.max(1)].map(u64::from);
    let turn = target_ns + frame_ns;
    let of = (count * turn).saturating_add(away_ns);
    let kept = count * turn.saturating_sub(away_ns);
    // No ring has so many stations that a share of so many nanoseconds would have to be exact.
    let too_many = of.ilog2().saturating_sub(u32::BITS - 1);
    let [kept, of] = [kept, of].map(|it| u32::try_from(it >> too_many).unwrap_or(u32::MAX));
    let by = counted(stations.max(1), "station");
    let [away, target] = [away_ns, target_ns].map(Duration::from_nanos);
    let note = format!("{by}; {away} around and of its own, in a target of {target} and a frame");
    overhead("token", Cost::Share { kept, of }, &note)
}

/// What is around a frame on an FDDI ring (ISO 9314): preamble, delimiters, check sequence and frame status.
#[must_use]
pub fn fddi_framing() -> Overhead {
    overhead("FDDI framing", Cost::Octets(15), "preamble 8, SD 1, FCS 4, ED and FS 2")
}

/// The FDDI header: frame control and two addresses.
#[must_use]
pub fn fddi() -> Overhead {
    overhead("FDDI", Cost::Octets(13), "frame control and addresses")
}

/// The header of LLC type 1 with SNAP, as users by EtherType have it (RFC 1042).
#[must_use]
pub fn llc() -> Overhead {
    overhead("LLC and SNAP", Cost::Octets(8), "RFC 1042")
}

/// The UDP header (RFC 768).
#[must_use]
pub fn udp() -> Overhead {
    overhead("UDP", Cost::Octets(8), "RFC 768")
}

/// The header of an XTP packet; what the first packet of an association has beside it is not counted.
#[must_use]
pub fn xtp() -> Overhead {
    overhead("XTP", Cost::Octets(32), "XTP 4.0b")
}

/// What TCP is called.
pub(super) const TCP: &str = "TCP";

/// The TCP header (RFC 9293), with or without timestamps (RFC 7323: 10 octets and 2 to align them).
#[must_use]
pub fn tcp(timestamps: bool) -> Overhead {
    if timestamps {
        overhead(TCP, Cost::Octets(32), "RFC 9293, with timestamps")
    } else {
        overhead(TCP, Cost::Octets(20), "RFC 9293, no options")
    }
}

/// Octets that a line adds to each frame.
#[must_use]
pub fn framing(octets: u32) -> Overhead {
    overhead("framing", Cost::Octets(octets), "of each frame on the line")
}

/// The PPP header: address, control and two octets of protocol (RFC 1662 section 3.1).
#[must_use]
pub fn ppp() -> Overhead {
    overhead("PPP", Cost::Octets(4), "RFC 1662 section 3.1")
}

/// The header of MAPOS: address, control and two octets of protocol, or in MAPOS 16 two octets each of address and
/// protocol (RFC 2171, RFC 2175).
#[must_use]
pub fn mapos() -> Overhead {
    overhead("MAPOS", Cost::Octets(4), "RFC 2171, RFC 2175")
}

/// HDLC-like framing (RFC 1662): a frame check sequence of `fcs` octets, and `flags` flags between two frames. The
/// stuffing is apart: [`stuffing`].
#[must_use]
pub fn hdlc(fcs: u32, flags: u32) -> Overhead {
    overhead("HDLC-like framing", Cost::Octets(fcs + flags), "RFC 1662: check sequence and flags")
}

/// Octet stuffing (RFC 1662 section 4.2): `added` octets for each `per` octets of user data, such as 86 for each write
/// of 4096 in ttcp's pattern, or 2 for each 256 random ones. What headers need is not counted.
#[must_use]
pub fn stuffing(added: u32, per: u32) -> Overhead {
    let cost = Cost::Among { added, per };
    overhead("octet stuffing", cost, "RFC 1662 section 4.2, on average")
}

/// Flags and frame check sequence of HDLC on a bit-synchronous line, in octets.
#[must_use]
pub fn hdlc_bits(fcs: u32, flags: u32) -> Overhead {
    overhead("HDLC framing", Cost::Octets(fcs + flags), "ISO 3309: check sequence and flags")
}

/// Zero-bit stuffing: `added` bits for each `per` bits of user data, such as one for each 62 random ones. What headers
/// need is not counted.
#[must_use]
pub fn bit_stuffing(added: u32, per: u32) -> Overhead {
    let cost = Cost::Among { added, per };
    overhead("bit stuffing", cost, "ISO 3309, on average")
}

/// LAPB: address and control field.
#[must_use]
pub fn lapb(extended: bool) -> Overhead {
    let octets = if extended { 3 } else { 2 };
    overhead("LAPB", Cost::Octets(octets), "ISO 7776: address, control")
}

/// A value of FTAM-3: the header of one octet string of `octets` (X.690).
#[must_use]
pub fn value(octets: u32) -> Overhead {
    let note = "X.690: tag and length of an octet string";
    overhead("data value", Cost::Octets(header(octets)), note)
}

/// What presentation puts in front of a value of `octets`, its header among them: fully encoded data, a PDV-list, its
/// context, and a single ASN.1 type (X.226).
#[must_use]
pub fn presentation(octets: u32) -> Overhead {
    /// An integer of one octet.
    const CONTEXT: u32 = 3;
    let value = octets.saturating_add(header(octets));
    let list = value.saturating_add(CONTEXT);
    let list = list.saturating_add(header(list));
    let all = list.saturating_add(header(list));
    let note = "X.226: user data, PDV-list, context, single ASN.1 type";
    overhead("presentation", Cost::Octets(all.saturating_sub(octets)), note)
}

/// Tag and definite length of `octets`.
pub(super) const fn header(octets: u32) -> u32 {
    match octets {
        0..=0x7f => 2,
        0x80..=0xff => 3,
        0x100..=0xffff => 4,
        0x1_0000..=0xff_ffff => 5,
        0x100_0000..=u32::MAX => 6,
    }
}

/// Session: the SPDUs GIVE TOKENS and DATA TRANSFER, without parameters.
#[must_use]
pub fn session() -> Overhead {
    overhead("session", Cost::Octets(4), "X.225: GT and DT")
}

/// Transport class 0 cuts what is longer than a TPDU of `size` octets holds.
#[must_use]
pub fn tpdus(size: u32) -> Overhead {
    let note = format!("of {size} octets");
    let piece = size.saturating_sub(3).max(1);
    overhead("TPDUs", Cost::Pieces(piece), &note)
}

/// The header of a DT TPDU of class 0.
#[must_use]
pub fn tp0() -> Overhead {
    overhead("TP0", Cost::Octets(3), "X.224: DT")
}

/// X.25 cuts what is longer than a packet of `size` octets.
#[must_use]
pub fn x25_packets(size: u32) -> Overhead {
    let note = format!("of {size} octets, with M");
    overhead("packets", Cost::Pieces(size), &note)
}

/// X.25: the header of a data packet.
#[must_use]
pub fn x25(extended: bool) -> Overhead {
    let octets = if extended { 4 } else { 3 };
    overhead("X.25", Cost::Octets(octets), "header of a data packet")
}

/// What Linux's packet layer has in front of each packet on an interface.
#[must_use]
pub fn x25_iface() -> Overhead {
    overhead("interface", Cost::Octets(1), "x25-iface: data")
}

/// LAPB in Ethernet frames as Linux has it: the length in front of the frame.
#[must_use]
pub fn lapb_ether() -> Overhead {
    overhead("LAPB on Ethernet", Cost::Octets(2), "its length")
}

/// XOT: version and length in front of each packet.
#[must_use]
pub fn xot() -> Overhead {
    overhead("XOT", Cost::Octets(4), "RFC 1613: version, length")
}

/// TPKT: version and length in front of each TPDU.
#[must_use]
pub fn tpkt() -> Overhead {
    overhead("TPKT", Cost::Octets(4), "RFC 1006: version, length")
}

/// A message that goes by itself, since the next one waits for it, is cut into full segments of `size` octets and a
/// rest.
#[must_use]
pub fn alone(size: u32) -> Overhead {
    let note = format!("of {size} octets and a rest: the next message waits for this one");
    overhead("segments", Cost::Pieces(size), &note)
}

/// A stream cuts what comes one behind the other into segments of `size` octets.
#[must_use]
pub fn segments(size: u32) -> Overhead {
    let note = format!("of {size} octets, across messages");
    overhead("segments", Cost::Segments(size), &note)
}
