//! The facility field.

use kumiki_osi_service::x25::{Charging, Extension, Facilities, Facility, FastSelect, Marker, Nui, code, diagnostic};

use super::InvalidPacket;
use crate::{Malformed, put, put_slice};

/// The most octets of all facilities.
const MOST: usize = 255;

/// Reads the facilities in `octets`, all of which they are.
///
/// # Errors
/// The last of them is not all there.
pub fn parse_facilities(octets: &[u8]) -> Result<Facilities, InvalidPacket> {
    let mut found = Vec::new();
    let mut rest = octets;
    while let [code, more @ ..] = rest {
        let (len, more) = match (code >> 6, more) {
            (class @ 0..=2, _) => (usize::from(class) + 1, more),
            (_, [len, more @ ..]) => (usize::from(*len), more),
            (_, []) => return Err(cut(1, 0)),
        };
        let (value, more) = more.split_at_checked(len).ok_or_else(|| cut(len, more.len()))?;
        found.push(facility(*code, value));
        rest = more;
    }
    Ok(Facilities(found))
}

const fn cut(found: usize, most: usize) -> InvalidPacket {
    InvalidPacket {
        why: Malformed::Length { protocol: "X.25", field: "facility", found, least: 0, most },
        diagnostic: diagnostic::FACILITY_LENGTH,
    }
}

/// One facility; kept as octets where its value is not as its code has it.
fn facility(code: u8, value: &[u8]) -> Facility {
    let known = match (code, value) {
        (code::MARKER, &[which]) => Some(Facility::Marker(match which {
            0x00 => Marker::CallingNetwork,
            0xff => Marker::CalledNetwork,
            0x0f => Marker::Dte,
            other => Marker::Other(other),
        })),
        (code::CHARGING, &[octet]) => Some(Facility::Charging(charging(octet))),
        (code::THROUGHPUT, &[octet]) => Some(Facility::Throughput { called: octet >> 4, calling: octet & 15 }),
        (code::CLOSED_GROUP, &[group]) => Some(Facility::ClosedGroup(group)),
        (code::PACKET_SIZE, &[called, calling]) => Some(Facility::PacketSize { called, calling }),
        (code::WINDOW, &[called, calling]) => Some(Facility::Window { called, calling }),
        (code::TRANSIT_DELAY, &[a, b]) => Some(Facility::TransitDelay(u16::from_be_bytes([a, b]))),
        (code::USER, value) => Some(Facility::User(Nui::new(value))),
        (code::CALLED_EXTENSION, value) => extension(value).map(Facility::CalledExtension),
        (code::CALLING_EXTENSION, value) => extension(value).map(Facility::CallingExtension),
        (code::END_TO_END_DELAY, value) if matches!(value.len(), 2 | 4 | 6) => {
            let pairs = value.as_chunks::<2>().0.iter();
            let delays = pairs.map(|pair| u16::from_be_bytes(*pair));
            Some(Facility::EndToEndDelay(delays.collect()))
        }
        (code::PRIORITY, value) => Some(Facility::Priority(value.to_vec())),
        _ => None,
    };
    known.unwrap_or_else(|| Facility::Other { code, value: value.to_vec() })
}

const fn charging(octet: u8) -> Charging {
    let (fast_select, upper) = match octet >> 6 {
        0b10 => (FastSelect::Unrestricted, 0),
        0b11 => (FastSelect::Restricted, 0),
        _ => (FastSelect::None, octet & 0x40),
    };
    Charging { reverse: octet & 1 != 0, fast_select, other: octet & 0x3e | upper }
}

const fn charging_octet(charging: Charging) -> u8 {
    let upper = match charging.fast_select {
        FastSelect::None => charging.other & 0x40,
        FastSelect::Unrestricted => 0x80,
        FastSelect::Restricted => 0xc0,
    };
    upper | charging.other & 0x3e | charging.reverse as u8
}

fn extension(value: &[u8]) -> Option<Extension> {
    let (&first, packed) = value.split_first()?;
    let digits = first & 0x3f;
    (packed.len() == usize::from(digits).div_ceil(2)).then(|| Extension {
        usage: first >> 6,
        digits,
        packed: packed.to_vec(),
    })
}

/// Shows the code and the value of `facility` as they are written.
fn show<T>(facility: &Facility, see: impl FnOnce(u8, &[u8]) -> T) -> T {
    let extension = |it: &Extension| {
        let mut value = vec![it.usage << 6 | it.digits & 0x3f];
        value.extend_from_slice(&it.packed);
        value
    };
    match facility {
        Facility::Marker(marker) => {
            let which = match marker {
                Marker::CallingNetwork => 0x00,
                Marker::CalledNetwork => 0xff,
                Marker::Dte => 0x0f,
                Marker::Other(other) => *other,
            };
            see(code::MARKER, &[which])
        }
        Facility::Charging(charging) => see(code::CHARGING, &[charging_octet(*charging)]),
        Facility::Throughput { called, calling } => see(code::THROUGHPUT, &[called << 4 | calling & 15]),
        Facility::ClosedGroup(group) => see(code::CLOSED_GROUP, &[*group]),
        Facility::PacketSize { called, calling } => see(code::PACKET_SIZE, &[*called, *calling]),
        Facility::Window { called, calling } => see(code::WINDOW, &[*called, *calling]),
        Facility::TransitDelay(delay) => see(code::TRANSIT_DELAY, &delay.to_be_bytes()),
        Facility::User(value) => see(code::USER, value.octets()),
        Facility::CalledExtension(it) => see(code::CALLED_EXTENSION, &extension(it)),
        Facility::CallingExtension(it) => see(code::CALLING_EXTENSION, &extension(it)),
        Facility::EndToEndDelay(delays) => {
            let value: Vec<u8> = delays.iter().flat_map(|it| it.to_be_bytes()).collect();
            see(code::END_TO_END_DELAY, &value)
        }
        Facility::Priority(value) => see(code::PRIORITY, value),
        Facility::Other { code, value } => see(*code, value),
    }
}

/// Octets of one facility: those before the value, and the value as far as it is written.
fn parts(code: u8, value: &[u8]) -> (usize, usize) {
    match code >> 6 {
        class @ 0..=2 => (1, usize::from(class) + 1),
        _ => (2, value.len().min(MOST)),
    }
}

/// The facilities that fit.
fn fitting(facilities: &Facilities) -> impl Iterator<Item = (&Facility, usize)> {
    let mut room = MOST;
    facilities.0.iter().map_while(move |facility| {
        let (before, value) = show(facility, parts);
        room = room.checked_sub(before + value)?;
        Some((facility, before + value))
    })
}

/// Octets that [`emit_facilities`] writes.
#[must_use]
pub fn facilities_len(facilities: &Facilities) -> usize {
    fitting(facilities).map(|(_, len)| len).sum()
}

/// Writes the facilities, without their length. A value shorter than its code says is filled up with zeros.
pub fn emit_facilities(facilities: &Facilities, out: &mut &mut [u8]) {
    for (facility, _) in fitting(facilities) {
        show(facility, |code, value| {
            let (before, len) = parts(code, value);
            put(out, [code]);
            if before == 2 {
                put(out, [u8::try_from(len).unwrap_or(u8::MAX)]);
            }
            let value = value.get(..len).unwrap_or(value);
            put_slice(out, value);
            for _ in value.len()..len {
                put(out, [0]);
            }
        });
    }
}
