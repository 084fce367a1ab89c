//! Where octets of payload are on the line when the envelope begins anywhere, or moves.
//!
//! The envelope is 9 rows of `87 N` octets, each with `N / 3` octets of path overhead and fixed stuff in front; its
//! octets fill the places of the line behind the overhead one after the other. A pointer of 522 lets it begin where a
//! frame's first row does. A negative justification gives it N places more in a frame, those of H3; a positive one
//! takes N places away, those behind H3.

use kumiki_wire::ppp::sdh::{Justification, POINTERS};

use super::{Level, OctetClock};

/// Octets of a row of the envelope.
const fn row(level: Level) -> u64 {
    87 * level.n()
}

/// Places for the envelope in a frame in which it does not move.
const fn places(level: Level) -> u64 {
    9 * row(level)
}

/// Places of a frame before the one behind H3, in which it can move.
const fn places_before(level: Level) -> u64 {
    3 * row(level)
}

/// How many octets of the envelope there are before the one that comes first in a frame, where the pointer is this.
pub(super) const fn phase(level: Level, pointer: u16) -> u64 {
    let pointers = POINTERS as u64;
    (522 + pointers - pointer as u64) % pointers * level.n()
}

/// How many octets of payload are among the first `octets` of the envelope.
const fn payload_before(level: Level, octets: u64) -> u64 {
    let (rows, rest) = (octets / row(level), octets % row(level));
    rows * level.payload_row() + rest.saturating_sub(level.path_overhead())
}

/// Moves before frame `frame`: how often the envelope has got N places more, less how often it has lost them.
pub(super) const fn moves_before(clock: &OctetClock, frame: u64) -> i64 {
    let ppb = clock.offset_ppb();
    if ppb == 0 {
        return 0;
    }
    let units = POINTERS as u128 * ppb.unsigned_abs() as u128 * frame as u128 / 1_000_000_000;
    // Less than a quarter of the frames that 2^64 ns have.
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^46")]
    let moves = units as i64;
    if ppb > 0 { moves } else { -moves }
}

/// How the envelope moves in frame `frame`.
const fn move_in(clock: &OctetClock, frame: u64) -> Option<Justification> {
    let moves = moves_before(clock, frame.saturating_add(1)) - moves_before(clock, frame);
    match moves {
        0 => None,
        1.. => Some(Justification::Negative),
        _ => Some(Justification::Positive),
    }
}

/// Octets of the envelope before frame `frame`, since time 0.
const fn carried_before(clock: &OctetClock, frame: u64) -> u64 {
    let level = clock.level();
    let all = places(level).saturating_mul(frame);
    let moved = moves_before(clock, frame);
    let octets = moved.unsigned_abs().saturating_mul(level.n());
    if moved >= 0 { all.saturating_add(octets) } else { all.saturating_sub(octets) }
}

/// As [`OctetClock::place`].
pub(super) const fn place(clock: &OctetClock, n: u64) -> (u64, u64) {
    let level = clock.level();
    let phase = phase(level, clock.pointer());
    let n = n.saturating_add(payload_before(level, phase));
    let (rows, column) = (n / level.payload_row(), n % level.payload_row());
    let octet = rows.saturating_mul(row(level)).saturating_add(level.path_overhead() + column).saturating_sub(phase);
    // The clocks differ by less than one in a thousand: the guess is off by less than that, and is mended by as much.
    let mut frame = octet / places(level);
    loop {
        let first = carried_before(clock, frame);
        if octet < first {
            let behind = (first - octet).div_ceil(places(level) + level.n());
            frame = frame.saturating_sub(behind);
            continue;
        }
        let ahead = (octet - first) / (places(level) + level.n());
        if ahead > 0 {
            frame += ahead;
            continue;
        }
        if octet >= carried_before(clock, frame + 1) {
            frame += 1;
            continue;
        }
        return (frame, place_in_frame(clock, frame, octet - first));
    }
}

/// Where octet `octet` of the envelope, counted from the first in frame `frame`, is in that frame.
const fn place_in_frame(clock: &OctetClock, frame: u64, octet: u64) -> u64 {
    let level = clock.level();
    let (before, n) = (places_before(level), level.n());
    let octet = if octet < before {
        octet
    } else {
        match move_in(clock, frame) {
            None => octet,
            Some(Justification::Positive) => octet + n,
            Some(Justification::Negative) if octet < before + n => {
                return 3 * level.row() + 2 * n + (octet - before);
            }
            Some(Justification::Negative) => octet - n,
        }
    };
    octet / row(level) * level.row() + level.transport_overhead() + octet % row(level)
}

/// How many octets of the envelope are in frame `frame` before `octets` octets of that frame have passed.
const fn carried_in_frame(clock: &OctetClock, frame: u64, octets: u64) -> u64 {
    let level = clock.level();
    let n = level.n();
    let (rows, column) = (octets / level.row(), octets % level.row());
    let plain = rows * row(level) + column.saturating_sub(level.transport_overhead());
    // The places that come or go are in the fourth row: those of H3, then those behind them.
    let in_fourth = octets.saturating_sub(3 * level.row());
    match move_in(clock, frame) {
        None => plain,
        Some(Justification::Negative) => {
            let more = in_fourth.saturating_sub(2 * n);
            plain + if more < n { more } else { n }
        }
        Some(Justification::Positive) => {
            let fewer = in_fourth.saturating_sub(3 * n);
            plain - if fewer < n { fewer } else { n }
        }
    }
}

/// The first payload octet that is in frame `frame` behind `octets` octets of that frame, or later.
pub(super) const fn payload_at_or_after(clock: &OctetClock, frame: u64, octets: u64) -> u64 {
    let level = clock.level();
    let phase = phase(level, clock.pointer());
    let carried = carried_before(clock, frame) + carried_in_frame(clock, frame, octets);
    payload_before(level, phase + carried) - payload_before(level, phase)
}
