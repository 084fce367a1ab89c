//! TCP: one segment. Connections are followed by those whose PDUs lie across segments: [`crate::protocol::framing`].
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::tcp`] |
//! | Found | IP protocol 6 |
//! | Left out | relative sequence numbers and what an earlier segment said, such as the window's shift count |

use kumiki_octets::text::counted;
use kumiki_wire::Malformed;
use kumiki_wire::inet::tcp::accecn::Order;
use kumiki_wire::inet::tcp::options::{items, kind};
use kumiki_wire::inet::tcp::{CHECKSUM_OFFSET, Flags, Header, MIN_LEN};
use kumiki_wire::osi::cotp;

use crate::key::{Endpoint, Key, Stream};
use crate::packet::{Value, in_words};
use crate::protocol::emitted;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "tcp", title: "TCP segments", claims: &[Key::IpProtocol(6)], dissect };

/// Where the octet is that has the length of the header.
const DATA_OFFSET: usize = 12;

fn dissect(reading: &mut Reading<'_>) {
    let total = reading.total();
    let (header, len) = match Header::parse(reading.octets(), total) {
        Ok(found) => found,
        Err(why) => return cut(reading, &why),
    };
    reading.header_len(len);
    reading.summary(header);
    emitted!(reading, header);
    let Header { source_port, destination_port, .. } = header;
    fields(reading, &header, len);
    if reading.part(12, 1).iter().any(|octet| octet & 0x0e != 0) {
        reading.note("reserved bits are set");
    }
    let urgent = header.flags.contains(Flags::URG);
    if header.urgent_pointer != 0 && !urgent && !reading.around.quoted {
        reading.note("the urgent pointer is set without URG");
    }
    if let Some(ends) = reading.around.ends {
        let stream = Stream {
            interface: reading.around.interface,
            source: Endpoint::Port(ends.source, source_port),
            destination: Endpoint::Port(ends.destination, destination_port),
        };
        if header.flags.contains(Flags::SYN) && !reading.around.quoted {
            reading.state.streams.begin(stream);
        }
        reading.around.stream = Some(stream);
    }
    // SYN takes a number of its own, in front of the data.
    let syn = u32::from(header.flags.contains(Flags::SYN));
    reading.around.seq = header.seq.0.wrapping_add(syn);
    let ports = [destination_port, source_port];
    let mut keys = match reading.state.at_ports(ports) {
        Some(name) => vec![Key::Named(name)],
        None => ports.map(Key::TcpPort).to_vec(),
    };
    // Who claims a port comes first.
    if is_tpkt(reading, len) {
        keys.push(Key::Named("tpkt"));
    }
    reading.follow(&keys, len, total.saturating_sub(len));
}

/// Whether what TCP carries from `at` on is TPKT wherever it goes: responders are on many ports. A CR, a CC or a DT of
/// class 0 in its packet is no accident.
fn is_tpkt(reading: &mut Reading<'_>, at: usize) -> bool {
    let Some(stream) = reading.around.stream.filter(|_| !reading.around.quoted) else {
        return false;
    };
    let packet = reading.around.packet;
    let begins = match *reading.part(at, usize::MAX) {
        [3, 0, high, low, ref tpdu @ ..] => {
            let length = usize::from(u16::from_be_bytes([high, low])).saturating_sub(4);
            let code = tpdu.get(1).map(|code| cotp::Code::of(*code));
            let is_one = match code {
                Some(cotp::Code::Cr | cotp::Code::Cc) => true,
                Some(cotp::Code::Dt) => tpdu.first() == Some(&2),
                Some(cotp::Code::Dr | cotp::Code::Er | cotp::Code::Other(_)) | None => false,
            };
            is_one && cotp::is_begun(tpdu, length)
        }
        _ => false,
    };
    if begins {
        reading.state.streams.take_for_tpkt(stream, packet);
    }
    begins || reading.state.streams.is_tpkt(stream)
}

/// What a header of `len` octets says, as far as it was recorded.
fn fields(reading: &mut Reading<'_>, header: &Header, len: usize) {
    reading.field("source port", 0, 2, header.source_port);
    reading.field("destination port", 2, 2, header.destination_port);
    reading.field("sequence number", 4, 4, header.seq.0);
    reading.field("acknowledgment number", 8, 4, header.ack.0);
    let words = u32::try_from(len / 4).unwrap_or_default();
    reading.named("data offset", 12, 1, words, counted(len, "octet").to_string());
    let flags = Value::Hex(header.flags.bits().into(), 3);
    reading.named("control bits", 12, 2, flags, header.flags);
    reading.field("window", 14, 2, header.window);
    reading.transport_checksum(CHECKSUM_OFFSET, 6);
    reading.field("urgent pointer", 18, 2, header.urgent_pointer);
    options(reading, len);
}

/// The header without its options, and the length that it gives itself, where a capture ends within the options.
fn without_options(reading: &Reading<'_>) -> Option<(Header, usize)> {
    let mut fixed = *reading.octets().first_chunk::<MIN_LEN>()?;
    let len = 4 * usize::from(fixed[DATA_OFFSET] >> 4);
    fixed[DATA_OFFSET] = fixed[DATA_OFFSET] & 0x0f | 0x50;
    let (header, _) = Header::parse(&fixed, MIN_LEN).ok()?;
    (reading.octets().len() < len && len <= reading.total()).then_some((header, len))
}

/// What an error message quotes ends after 8 octets, and these say which connection it is about; a capture may end
/// within the options.
fn cut(reading: &mut Reading<'_>, why: &Malformed) {
    if let Some((header, len)) = without_options(reading) {
        let recorded = reading.octets().len();
        reading.header_len(recorded);
        reading.summary(format!("{header}, cut"));
        fields(reading, &header, len);
        return reading.malformed_at(recorded, why);
    }
    if let Some(&[s0, s1, d0, d1, q0, q1, q2, q3]) = reading.octets().first_chunk::<8>()
        && reading.octets().len() < MIN_LEN
    {
        let (source, destination) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        let seq = u32::from_be_bytes([q0, q1, q2, q3]);
        reading.header_len(8);
        reading.summary(format!("TCP {source} > {destination} seq {seq}, cut"));
        reading.field("source port", 0, 2, source);
        reading.field("destination port", 2, 2, destination);
        reading.field("sequence number", 4, 4, seq);
        return reading.malformed_at(8, why);
    }
    reading.malformed(why);
}

fn options(reading: &mut Reading<'_>, len: usize) {
    let octets = reading.part(MIN_LEN, len.saturating_sub(MIN_LEN));
    let mut at = MIN_LEN;
    for item in items(octets) {
        let item = match item {
            Ok(item) => item,
            // What the capture left out is told once, and is nobody's mistake.
            Err(_) if reading.octets().len() < len => return,
            Err(why) => return reading.bad(format!("option at octet {at}: {}", in_words(&why))),
        };
        if item.kind == kind::NOP {
            at += 1;
            continue;
        }
        let option_len = item.data.len() + 2;
        let number = |data: &[u8]| data.iter().fold(0_u64, |number, octet| number << 8 | u64::from(*octet));
        match (item.kind, item.data) {
            (kind::MSS, data @ [_, _]) => {
                reading.field("maximum segment size", at, option_len, Value::Number(number(data)));
            }
            (kind::WINDOW_SCALE, data @ [shift]) => {
                reading.field("window scale", at, option_len, Value::Number(number(data)));
                if *shift > 14 {
                    reading.bad(format!("window scale is {shift}, at most 14 is right"));
                }
            }
            (kind::SACK_PERMITTED, []) => reading.field("sack permitted", at, option_len, true),
            (kind::TIMESTAMPS, data) if data.len() == 8 => {
                let (ts_val, ts_ecr) = data.split_at_checked(4).unwrap_or_default();
                let text = format!("TSval {} TSecr {}", number(ts_val), number(ts_ecr));
                reading.field("timestamps", at, option_len, Value::Text(text));
            }
            (kind::SACK, data) if !data.is_empty() && data.len().is_multiple_of(8) => {
                let blocks: Vec<String> = data
                    .chunks(8)
                    .map(|block| {
                        let (left, right) = block.split_at_checked(4).unwrap_or_default();
                        format!("{}-{}", number(left), number(right))
                    })
                    .collect();
                reading.field("sack", at, option_len, Value::Text(blocks.join(" ")));
            }
            (kind::USER_TIMEOUT, &[high, low]) => {
                let bits = u16::from_be_bytes([high, low]);
                let unit = if bits & 0x8000 == 0 { "s" } else { "min" };
                let text = format!("{} {unit}", bits & 0x7fff);
                reading.field("user timeout", at, option_len, Value::Text(text));
            }
            (kind::ACCECN0, data) => accecn(reading, at, Order::Zero, data),
            (kind::ACCECN1, data) => accecn(reading, at, Order::One, data),
            (
                kind::MSS
                | kind::WINDOW_SCALE
                | kind::SACK_PERMITTED
                | kind::TIMESTAMPS
                | kind::USER_TIMEOUT
                | kind::SACK,
                _,
            ) => {
                reading.named("option", at, option_len, item.data, option_name(item.kind));
                reading.bad(format!("option {} at octet {at} has the illegal length {option_len}", item.kind));
            }
            (other, data) => {
                let name = option_name(other);
                let name = match (other, data) {
                    // RFC 6994: the first two octets say whose experiment it is.
                    (253 | 254, [high, low, ..]) => {
                        format!("kind {other}, {name} {high:02x}{low:02x}")
                    }
                    _ if name.is_empty() => format!("kind {other}"),
                    _ => format!("kind {other}, {name}"),
                };
                reading.named("option", at, option_len, data, name);
            }
        }
        at += option_len;
    }
}

/// RFC 9768 section 3.2.3: of a length that is none of its own, the whole fields count.
fn accecn(reading: &mut Reading<'_>, at: usize, order: Order, data: &[u8]) {
    let (number, names) = match order {
        Order::Zero => (0_u8, ["EE0B", "ECEB", "EE1B"]),
        Order::One => (1, ["EE1B", "ECEB", "EE0B"]),
    };
    let length = data.len() + 2;
    reading.named("accurate ECN", at, length, number, format!("order {number}"));
    let (counters, rest) = data.as_chunks::<3>();
    for (n, (name, &[high, middle, low])) in names.into_iter().zip(counters).enumerate() {
        let counter = u32::from_be_bytes([0, high, middle, low]);
        reading.field(name, at + 2 + 3 * n, 3, counter);
    }
    if !rest.is_empty() || counters.len() > names.len() {
        reading.note(format!(
            "an accurate ECN option of {octets}; 2, 5, 8 or 11 is right",
            octets = counted(length, "octet")
        ));
    }
}

/// Options of the registry of TCP parameters, but for those that were never used.
fn option_name(number: u8) -> &'static str {
    match number {
        kind::MSS => "maximum segment size",
        kind::WINDOW_SCALE => "window scale",
        kind::SACK_PERMITTED => "sack permitted",
        kind::SACK => "sack",
        kind::TIMESTAMPS => "timestamps",
        kind::USER_TIMEOUT => "user timeout",
        6 => "echo (obsolete)",
        7 => "echo reply (obsolete)",
        14 => "alternate checksum request (obsolete)",
        15 => "alternate checksum data (obsolete)",
        19 => "MD5 signature (obsolete)",
        27 => "quick-start response",
        29 => "authentication",
        30 => "multipath TCP",
        34 => "fast open cookie",
        69 => "encryption negotiation",
        172 => "accurate ECN order 0",
        174 => "accurate ECN order 1",
        253 | 254 => "experiment",
        _ => "",
    }
}
