//! XTP 4.0b.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::xtp`] |
//! | Found | IP protocol 36, EtherType 0x817d, so behind SNAP too |
//! | Left out | what a stream says over several packets; what aborted spans mean; address formats other than null, IPv4 and IPv6 |

use kumiki_wire::Malformed;
use kumiki_wire::inet::ethernet::ethertype;
use kumiki_wire::xtp::{
    Address, BTAG_LEN, CHECK_OFFSET, Control, Diagnosis, Errors, First, Format, Header, Join, LEN, Options, Traffic,
    TrafficControl, covered, service,
};

use crate::key::{Ends, Key};
use crate::packet::{Value, in_words};
use crate::protocol::emitted;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(super) const DISSECTOR: Dissector = Dissector {
    name: "xtp",
    title: "XTP 4.0b",
    claims: &[Key::IpProtocol(36), Key::EtherType(ethertype::XTP)],
    dissect,
};

/// Octets of rseq, alloc and echo.
const CONTROL_LEN: usize = 20;
/// Octets of these, a reserved word and a key.
const FRONT_LEN: usize = 32;

fn dissect(reading: &mut Reading<'_>) {
    let Some(header) = header(reading) else {
        return;
    };
    reading.header_len(LEN);
    reading.summary(header);
    emitted!(reading, header);
    let key = Value::Hex(header.key.0, 16);
    reading.named("key", 0, 8, key, header.key);
    let options = Value::Hex(header.options.bits().into(), 6);
    reading.named("options", 8, 3, options, header.options);
    let command = reading.part(11, 1).first().copied().unwrap_or_default();
    reading.field("version", 11, 1, command >> 5);
    reading.named("format", 11, 1, command & 0x1f, header.format);
    reading.field("dlen", 12, 4, header.dlen);
    let total = reading.total();
    match covered(reading.octets(), total) {
        Some(len) => reading.checksum("check", CHECK_OFFSET, len, None),
        None => {
            let check = Value::Hex(header.check.into(), 4);
            reading.named("check", CHECK_OFFSET, 2, check, "not checked");
        }
    }
    reading.field("sort", 18, 2, header.sort);
    reading.field("sync", 20, 4, header.sync);
    reading.field("seq", 24, 8, Value::Number(header.seq));
    let dlen = usize::try_from(header.dlen).unwrap_or(usize::MAX);
    let end = LEN.saturating_add(dlen).min(total);
    let payload = reading.part(LEN, end - LEN);
    let read = match header.format {
        Format::Data => Ok(data(reading, header)),
        Format::First => first(reading, payload),
        Format::Cntl => Control::parse_whole(payload).map(|it| {
            control(reading, &it);
            CONTROL_LEN
        }),
        Format::Ecntl => errors(reading, payload),
        Format::Tcntl => traffic_control(reading, payload),
        Format::Jcntl => join(reading, payload),
        Format::Diag => diagnosis(reading, payload),
    };
    match read {
        Ok(len) => {
            reading.header_len(LEN + len);
            let rest = end.saturating_sub(LEN + len);
            reading.rest(LEN + len, rest, "user data");
        }
        Err(why) => reading.malformed_at(LEN, &why),
    }
    reading.padding(end);
}

/// The header; where the codec refuses it for what can be got over, as it would be without that.
fn header(reading: &mut Reading<'_>) -> Option<Header> {
    let total = reading.total();
    let mut front: [u8; LEN] = match reading.octets().first_chunk() {
        Some(front) => *front,
        None => {
            if let Err(why) = Header::parse(reading.octets(), total) {
                reading.malformed(&why);
            }
            return None;
        }
    };
    // Options, sort and dlen can each be wrong once.
    for _ in 0..4 {
        let why = match Header::parse(&front, total) {
            Ok((header, _)) => return Some(header),
            Err(why) => why,
        };
        match why {
            Malformed::Field { field: "options", .. } => (front[8], front[10]) = (front[8] & 0x7f, 0),
            Malformed::Field { field: "sort", .. } => (front[18], front[19]) = (0, 0),
            Malformed::Length { most, found, .. } if found > most => {
                // What there is can be read, as far as it goes.
                let most = u32::try_from(most).unwrap_or(u32::MAX);
                [front[12], front[13], front[14], front[15]] = most.to_be_bytes();
            }
            Malformed::Field { .. }
            | Malformed::Length { .. }
            | Malformed::Short { .. }
            | Malformed::Checksum { .. }
            | Malformed::Ber { .. } => {
                reading.malformed(&why);
                return None;
            }
        }
        if reading.around.quoted {
            reading.note(in_words(&why));
        } else {
            reading.bad(in_words(&why));
        }
    }
    None
}

/// Octets in front of the user's data.
fn data(reading: &mut Reading<'_>, header: Header) -> usize {
    if !header.options.contains(Options::BTAG) {
        return 0;
    }
    if let Some(&tag) = reading.part(LEN, BTAG_LEN).first_chunk() {
        let tag = Value::Hex(u64::from_be_bytes(tag), 16);
        reading.field("btag", LEN, BTAG_LEN, tag);
    }
    BTAG_LEN
}

fn control(reading: &mut Reading<'_>, control: &Control) {
    reading.fields(LEN, control.fields());
    if control.alloc < control.rseq {
        reading.note("alloc is below rseq: more has come than may be sent");
    }
}

fn errors(reading: &mut Reading<'_>, payload: &[u8]) -> Result<usize, Malformed> {
    let errors = Errors::parse(payload)?;
    control(reading, &errors.control);
    reading.emitted_at(LEN, |out| errors.emit(out), errors.len());
    let count = u32::try_from(errors.spans.len()).unwrap_or(u32::MAX);
    reading.field("nspan", LEN + CONTROL_LEN, 4, count);
    let mut before = errors.control.rseq;
    for (number, span) in errors.spans.iter().enumerate() {
        let at = LEN + CONTROL_LEN + 4 + 16 * number;
        reading.fields(at, span.fields());
        let (left, right) = (span.left, span.right);
        if left >= right {
            reading.bad(format!("span {left} to {right} has no octets"));
        } else if left < before {
            reading
                .bad(format!("span {left} to {right} begins below {before}, where the one before it ends or rseq is"));
        }
        before = before.max(right);
    }
    Ok(errors.len())
}

fn front(reading: &mut Reading<'_>, it: &Control, xkey: kumiki_wire::xtp::Key) {
    control(reading, it);
    let reserved = reading.part(LEN + CONTROL_LEN, 4);
    if reserved.iter().any(|octet| *octet != 0) {
        reading.note("the reserved word is not zero");
    }
    let value = Value::Hex(xkey.0, 16);
    reading.named("xkey", LEN + CONTROL_LEN + 4, 8, value, xkey);
    if xkey.is_returned() {
        reading.bad("xkey has RTN set, and is the sender's own");
    }
}

fn traffic_control(reading: &mut Reading<'_>, payload: &[u8]) -> Result<usize, Malformed> {
    let it = TrafficControl::parse(payload)?;
    front(reading, &it.control, it.xkey);
    traffic(reading, LEN + FRONT_LEN, &it.traffic);
    reading.emitted_at(LEN, |out| it.emit(out), it.len());
    Ok(it.len())
}

fn join(reading: &mut Reading<'_>, payload: &[u8]) -> Result<usize, Malformed> {
    let it = Join::parse(payload)?;
    front(reading, &it.control, it.xkey);
    address(reading, LEN + FRONT_LEN, &it.address, true);
    traffic(reading, LEN + FRONT_LEN + it.address.len(), &it.traffic);
    reading.emitted_at(LEN, |out| it.emit(out), it.len());
    Ok(it.len())
}

fn first(reading: &mut Reading<'_>, payload: &[u8]) -> Result<usize, Malformed> {
    let (it, len) = First::parse(payload)?;
    address(reading, LEN, &it.address, false);
    traffic(reading, LEN + it.address.len(), &it.traffic);
    reading.emitted_at(LEN, |out| it.emit(out), it.len());
    Ok(len)
}

/// The address segment. Where `joins`, it names the group, and the packet goes to one host.
fn address(reading: &mut Reading<'_>, at: usize, address: &Address, joins: bool) {
    let length = u32::try_from(address.len()).unwrap_or(u32::MAX);
    reading.field("alen", at, 2, length);
    match address {
        Address::Null => {
            reading.named("aformat", at + 3, 1, 0_u8, "null");
        }
        Address::Ip { domain, destination, source } => {
            reading.field("adomain", at + 2, 1, *domain);
            let (format, words, width) = if destination.is_ipv4() { (1_u8, "IPv4", 4) } else { (6, "IPv6", 16) };
            reading.named("aformat", at + 3, 1, format, words);
            let (there, here) = (Value::text(destination.ip()), Value::text(source.ip()));
            reading.field("dsthost", at + 4, width, there);
            reading.field("srchost", at + 4 + width, width, here);
            reading.field("dstport", at + 4 + 2 * width, 2, destination.port());
            reading.field("srcport", at + 6 + 2 * width, 2, source.port());
            let ends = Ends { source: source.ip(), destination: destination.ip() };
            match reading.around.ends {
                // On a LAN nothing else says who speaks.
                None => reading.ends(ends),
                Some(around) if around.source != ends.source || !joins && around.destination != ends.destination => {
                    reading.note("the addresses are not those of IP");
                }
                Some(_) => {}
            }
        }
        Address::Other { domain, format, octets } => {
            reading.field("adomain", at + 2, 1, *domain);
            let words = match format {
                2 => "ISO CLNP",
                3 => "Xerox",
                4 => "IPX",
                5 => "local",
                128.. => "private",
                _ => "",
            };
            reading.named("aformat", at + 3, 1, *format, words);
            reading.field("address", at + 4, octets.len(), octets.as_slice());
        }
    }
}

fn traffic(reading: &mut Reading<'_>, at: usize, traffic: &Traffic) {
    let length = u32::try_from(traffic.len()).unwrap_or(u32::MAX);
    reading.field("tlen", at, 2, length);
    let words = match traffic.service {
        service::UNSPECIFIED => "unspecified",
        service::UNACKNOWLEDGED_DATAGRAM => "unacknowledged datagram",
        service::ACKNOWLEDGED_DATAGRAM => "acknowledged datagram",
        service::TRANSACTION => "transaction",
        service::RELIABLE_STREAM => "reliable unicast stream",
        service::UNACKNOWLEDGED_MULTICAST => "unacknowledged multicast stream",
        service::RELIABLE_MULTICAST => "reliable multicast stream",
        _ => "",
    };
    reading.named("service", at + 2, 1, traffic.service, words);
    let Some(rates) = traffic.rates else {
        reading.field("tformat", at + 3, 1, 0_u8);
        return;
    };
    reading.field("tformat", at + 3, 1, 1_u8);
    reading.fields(at + 4, rates.fields());
}

fn diagnosis(reading: &mut Reading<'_>, payload: &[u8]) -> Result<usize, Malformed> {
    let (it, len) = Diagnosis::parse(payload)?;
    reading.fields(LEN, it.fields());
    reading.meaning("code", it.what());
    reading.meaning("val", it.why());
    reading.emitted_at(LEN, |out| it.emit(out), len);
    let text = payload.get(len..).unwrap_or_default();
    if !text.is_empty() {
        let words = String::from_utf8_lossy(text);
        let words = words.trim_end_matches('\0');
        reading.field("message", LEN + len, text.len(), Value::text(words));
    }
    Ok(payload.len())
}
