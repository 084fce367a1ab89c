//! The programs: how much they write and read, and when they stop.

use kumiki_inet::tcp::congestion::Algorithm;

use super::case_rng::{CaseRng, ms, s, us};
use super::{AbortTime, End, Finish, Line, MOST_OCTETS, Reading, Writing, xtp};

/// How much goes in each direction, and in which pieces.
///
/// One direction in 32 is empty; one in 32 of the others has 1 to 64 MiB, the rest 1 octet to 1 MiB, every power of two
/// as likely. Then it is cut so that it takes at most 40,000 full segments, 4,000 windows, or 500 segments where
/// nothing controls congestion, and a slow writer or reader at most a few thousand steps.
pub(super) fn volume(dice: &mut CaseRng, ends: [&mut End; 2], line: &Line) {
    let [near, far] = ends;
    let one_way = dice.below(3);
    for number in 0..2 {
        let (from, to) = if number == 0 { (&mut *near, &mut *far) } else { (&mut *far, &mut *near) };
        let wanted = match dice.below(32) {
            0 => 0,
            1 => dice.spread(1 << 20, MOST_OCTETS),
            _ => dice.spread(1, 1 << 20),
        };
        let segment = u64::from(segment(from, to));
        let window = u64::from(from.send_buffer().min(to.receive_buffer()));
        let mut most = (40_000 * segment).min(4_000 * window);
        if from.xtp.is_some() {
            most = most.min(xtp::most(from, to, segment));
        } else if from.tcp.congestion == Algorithm::Fixed {
            most = most.min(500 * segment);
        }
        let rate = line.rates.iter().copied().min().unwrap_or(1);
        // A day and a half on the slowest lines.
        most = most.min(rate / 8 * 100_000);
        let total = if one_way == 1 + number { 0 } else { wanted.min(most.max(1)) };
        let least = (total / 4_000).max(1);
        let piece = dice.spread(least, 128 << 10);
        from.writing = Writing {
            total,
            piece: if dice.one_in(2) { (piece, piece) } else { (least, piece) },
            pause: dice.one_in(4).then(|| {
                let writes = total / piece.max(1);
                let every = dice.spread(1, 1_000).max(writes / 200);
                (u32::try_from(every).unwrap_or(u32::MAX), dice.time(us(1), s(3)))
            }),
            urgent: None,
            messages: true,
            tagged: None,
            stored: total <= 256 << 10 && dice.one_in(2),
        };
        let reading = match dice.below(8) {
            0 => Reading::Late(dice.time(us(1), s(2))),
            1 => Reading::Bits(dice.spread(1, 64 << 10).max(total / 1_000).max(1), dice.time(us(1), s(2))),
            2 => Reading::Pauses(dice.below(total + 1), dice.time(ms(1), s(200))),
            _ => Reading::AtOnce,
        };
        to.reading = reading;
    }
    // With few enough octets, memory can be modelled without ever being short of receive memory.
    if near.writing.total + far.writing.total <= 1 << 15 {
        for end in [near, far] {
            end.clusters = dice.one_in(3).then(|| u32::try_from(dice.spread(1, 64)).unwrap_or(1));
        }
    }
}

/// The largest text of a segment from one end to the other, or a little less.
pub(super) fn segment(from: &End, to: &End) -> u32 {
    if from.xtp.is_some() {
        return xtp::packet(from, to);
    }
    let cap = |end: &End| {
        let link = end.mtu.saturating_sub(40);
        link.min(end.tcp.mss.map_or(u32::MAX, u32::from))
    };
    cap(from).min(cap(to)).saturating_sub(12).max(1)
}

/// When an end stops, given what it writes and what the other one does.
pub(super) fn ending(dice: &mut CaseRng, end: &mut End, other: &End) {
    end.finish = match dice.below(8) {
        0..=1 => Finish::AfterPeer,
        2 => Finish::Later(dice.time(us(1), s(100))),
        3 => Finish::At(dice.time(us(1), s(30))),
        _ => Finish::Written,
    };
    if dice.one_in(5) {
        end.abort = Some(match dice.below(3) {
            0 => AbortTime::Written(dice.below(end.writing.total + 1)),
            1 => AbortTime::Received(dice.below(other.writing.total + 1)),
            _ => AbortTime::Time(dice.time(us(1), s(100))),
        });
    }
}
