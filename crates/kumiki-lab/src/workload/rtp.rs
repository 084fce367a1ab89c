//! Streams of RTP: what a sender puts in front of each packet, and what a receiver makes of those that come.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 3550: header 5.1, sequence numbers A.1 and A.3, interarrival jitter 6.4.1 and A.8; clocks of RFC 3551 |
//! | Above, Below | nothing: [`super::udp_source`] and [`super::udp_sink`] send and receive |
//! | Late | a packet is to be played as long after the first one as its timestamp says, and a playout delay after that came: one that comes later is late, though it counts as received |
//! | Left out | RTCP: what its reports would carry is counted here, and at an interval of 5 s a report tells a run of seconds nothing. Its part of the load would be 5 % at most (section 6.2). Probation of new sources, mixers, header extensions |

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::rtp::{Header, encoding};

/// Octets of the header that is sent.
pub const LEN: u32 = 12;

/// The clock of payload types that have no number of their own, which video uses.
const DYNAMIC_HZ: u32 = 90_000;

/// What a stream is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Media {
    /// The payload type, seven bits.
    pub payload_type: u8,
    /// Octets of a frame, whose packets leave one after the other and have one timestamp; each packet is one where
    /// `None`.
    pub frame: Option<u32>,
    /// How long after the first packet has come its content is played.
    pub playout: Duration,
}

impl Media {
    /// How fast timestamps grow, in Hz.
    #[must_use]
    pub fn clock(&self) -> u32 {
        encoding(self.payload_type).map_or(DYNAMIC_HZ, |(_, clock)| clock)
    }

    /// Where unit `number` is, of packets of `message` octets: the frame's number, the octets of all frames before it,
    /// and the packet's own.
    #[must_use]
    pub fn place(&self, number: u64, message: u32) -> Packet {
        let frame = self.frame.unwrap_or(message).max(1);
        let packets = u64::from(frame.div_ceil(message.max(1)));
        let (of_frame, place) = (number / packets, number % packets);
        let before = u32::try_from(place).unwrap_or(u32::MAX).saturating_mul(message);
        let is_last = place + 1 == packets;
        Packet {
            octets_before: of_frame.saturating_mul(frame.into()),
            octets: if is_last { frame.saturating_sub(before) } else { message },
            // Of sound, which is not silent here, only the first packet is marked.
            marker: if self.frame.is_some() { is_last } else { number == 0 },
        }
    }
}

/// A packet of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Octets of all frames before its own.
    pub octets_before: u64,
    /// Its octets, header included.
    pub octets: u32,
    /// Whether it is marked.
    pub marker: bool,
}

/// So many ticks of a clock of `hz` in `time`, as timestamps count them.
#[must_use]
pub fn ticks(time: Duration, hz: u32) -> u32 {
    let ticks = u128::from(time.as_nanos()) * u128::from(hz) / 1_000_000_000;
    #[expect(clippy::cast_possible_truncation, reason = "timestamps begin again at 2^32")]
    let stamp = ticks as u32;
    stamp
}

/// What a receiver knows of a stream.
#[derive(Clone, Debug)]
pub struct Reception {
    media: Media,
    /// When the first packet came.
    began: Instant,
    /// The timestamp that is furthest ahead, and how many ticks after the first packet's it is.
    newest: (u32, u64),
    base: u16,
    highest: u16,
    cycles: u64,
    received: u64,
    late: u64,
    transit: u32,
    /// In sixteenths of a tick.
    jitter: u32,
    /// What it was after each packet that was measured.
    jitters: Jitters,
}

/// The interarrival jitter after each of several packets.
#[derive(Clone, Copy, Default, Debug)]
struct Jitters {
    /// All together, in sixteenths of a tick.
    sum: u64,
    packets: u64,
    largest: u32,
}

impl Jitters {
    fn add(&mut self, jitter: u32) {
        self.sum = self.sum.saturating_add(jitter.into());
        self.packets += 1;
        self.largest = self.largest.max(jitter);
    }
}

/// How far apart packets of streams came beside how far apart they left: the interarrival jitter of RFC 3550 section
/// 6.4.1, which is estimated again with each packet, over the packets that were measured.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Jitter {
    /// The estimates of all packets together, in nanoseconds.
    sum: u128,
    /// How many they are.
    packets: u64,
    /// The largest of them.
    pub largest: Duration,
}

impl Jitter {
    /// Their mean; nothing where no packet came after another.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let mean = self.sum / u128::from(self.packets.max(1));
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// That of the packets of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            sum: self.sum.saturating_add(other.sum),
            packets: self.packets + other.packets,
            largest: self.largest.max(other.largest),
        }
    }
}

impl Reception {
    /// What is known when the first packet, with this header, has come at `now`.
    #[must_use]
    pub fn new(media: Media, now: Instant, header: &Header) -> Self {
        let Header { sequence, timestamp, .. } = *header;
        let transit = ticks(now.saturating_since(Instant::ZERO), media.clock()).wrapping_sub(timestamp);
        Self {
            media,
            began: now,
            newest: (timestamp, 0),
            base: sequence,
            highest: sequence,
            cycles: 0,
            received: 1,
            late: 0,
            transit,
            jitter: 0,
            jitters: Jitters::default(),
        }
    }

    /// The jitter so far is not measured. Its estimate goes on.
    pub(super) fn begin_measurement(&mut self) {
        self.jitters = Jitters::default();
    }

    /// Another packet has come, of which none has come before.
    pub fn came(&mut self, now: Instant, header: &Header) {
        let Header { sequence, timestamp, .. } = *header;
        let hz = self.media.clock();
        self.received += 1;
        // A.1: ahead by less than half of all numbers, or behind.
        if sequence.wrapping_sub(self.highest) < 0x8000 {
            self.cycles += u64::from(sequence < self.highest);
            self.highest = sequence;
        }
        // A.8.
        let transit = ticks(now.saturating_since(Instant::ZERO), hz).wrapping_sub(timestamp);
        let moved = transit.wrapping_sub(self.transit);
        self.transit = transit;
        let moved = moved.min(moved.wrapping_neg());
        self.jitter = self.jitter.saturating_add(moved) - (self.jitter.saturating_add(8) >> 4);
        self.jitters.add(self.jitter);
        let plays = self.plays(timestamp, hz);
        self.late += u64::from(now > plays);
    }

    /// When what has this timestamp is to be played.
    ///
    /// Timestamps are extended as A.1 extends sequence numbers: ahead by less than half of all, or behind.
    fn plays(&mut self, timestamp: u32, hz: u32) -> Instant {
        let (newest, after) = self.newest;
        let (ahead, behind) = (timestamp.wrapping_sub(newest), newest.wrapping_sub(timestamp));
        let time = |ticks: u64| {
            let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(hz.max(1));
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        let playout = self.began + self.media.playout;
        if ahead < 0x8000_0000 {
            let after = after.saturating_add(ahead.into());
            self.newest = (timestamp, after);
            playout + time(after)
        } else if let Some(after) = after.checked_sub(behind.into()) {
            playout + time(after)
        } else {
            // It was sent before the first that came.
            let before = time(u64::from(behind) - after);
            Instant::from_nanos(playout.as_nanos().saturating_sub(before.as_nanos()))
        }
    }

    /// Packets that came.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Packets that should have come (A.3): from the first that came to the highest.
    #[must_use]
    pub fn expected(&self) -> u64 {
        let highest = self.cycles * 0x1_0000 + u64::from(self.highest);
        (highest + 1).saturating_sub(self.base.into())
    }

    /// Packets that should have come less those that did; never less than nothing. It is no count: what was overtaken
    /// is lost until it comes.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.expected().saturating_sub(self.received)
    }

    /// Packets that came too late to be played.
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.late
    }

    /// The interarrival jitter over what was measured.
    #[must_use]
    pub fn jitter(&self) -> Jitter {
        let nanos =
            |sixteenths: u64| u128::from(sixteenths) * 1_000_000_000 / 16 / u128::from(self.media.clock().max(1));
        let largest = Duration::from_nanos(u64::try_from(nanos(self.jitters.largest.into())).unwrap_or(u64::MAX));
        Jitter { sum: nanos(self.jitters.sum), packets: self.jitters.packets, largest }
    }

    /// The interarrival jitter as a report would have it now, in microseconds.
    #[must_use]
    pub fn jitter_us(&self) -> u64 {
        u64::from(self.jitter >> 4) * 1_000_000 / u64::from(self.media.clock().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUDIO: Media = Media { payload_type: 0, frame: None, playout: Duration::from_millis(50) };

    const fn at_ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Packets of 20 ms, number `k` of which came at the given times.
    fn heard(base: u16, packets: &[(u16, u64)]) -> Reception {
        let header = |number: u16| Header {
            sequence: base.wrapping_add(number),
            timestamp: u32::MAX.wrapping_add(u32::from(number) * 160),
            ..Header::default()
        };
        let (first, rest) = packets.split_first().unwrap();
        let mut reception = Reception::new(AUDIO, at_ms(first.1), &header(first.0));
        for (number, ms) in rest {
            reception.came(at_ms(*ms), &header(*number));
        }
        reception
    }

    #[test]
    fn what_comes_after_its_time_is_late_and_not_lost() {
        // Played at 60, 80, 100 and so on: number 2 comes at 100, number 3 at 121 ms, number 5 not.
        let reception = heard(65_533, &[(0, 10), (1, 30), (2, 100), (3, 121), (4, 122), (6, 131)]);
        assert_eq!((reception.received(), reception.lost(), reception.late()), (6, 1, 1));
        // What overtook the first one is to be played before it.
        let reception = heard(0, &[(1, 30), (0, 31), (2, 50)]);
        assert_eq!((reception.received(), reception.lost(), reception.late()), (3, 0, 0));
        assert_eq!(heard(0, &[(1, 30), (0, 61)]).late(), 1);
    }

    #[test]
    fn what_comes_in_time_is_in_time_after_any_number_of_ticks() {
        let video = Media { payload_type: 33, frame: None, playout: Duration::from_millis(50) };
        // 90 ticks to a millisecond: in 20 hours, at one packet an hour, timestamps begin again once and pass half of
        // all three times.
        let header = |hour: u32| Header {
            sequence: u16::try_from(hour).unwrap(),
            timestamp: 0xf000_0000_u32.wrapping_add(hour.wrapping_mul(90 * 3_600_000)),
            ..Header::default()
        };
        let at = |hour: u32, ms: u64| at_ms(u64::from(hour) * 3_600_000 + ms);
        let mut reception = Reception::new(video, at(0, 10), &header(0));
        for hour in (1..=20).filter(|hour| *hour != 15) {
            reception.came(at(hour, 60), &header(hour));
            assert_eq!(reception.late(), 0, "hour {hour}");
        }
        // And one that was overtaken, hours ago.
        reception.came(at(15, 61), &header(15));
        assert_eq!((reception.late(), reception.lost()), (1, 0));
        reception.came(at(21, 61), &header(21));
        assert_eq!(reception.late(), 2);
    }

    #[test]
    fn jitter_is_a_sixteenth_of_what_is_new() {
        // A.8 by hand, in ticks of 1/8 ms: differences of 0, 80, 80 give 0, 80, 80 + 80 - (88 >> 4), in sixteenths.
        let reception = heard(0, &[(0, 0), (1, 20)]);
        assert_eq!(reception.jitter_us(), 0);
        assert_eq!(heard(0, &[(0, 0), (1, 20), (2, 50)]).jitter, 80);
        let reception = heard(0, &[(0, 0), (1, 20), (2, 50), (3, 60)]);
        assert_eq!((reception.jitter, reception.jitter_us()), (155, 9 * 125));
    }

    #[test]
    fn of_the_jitter_of_what_is_measured_there_are_a_mean_and_the_largest() {
        // 0, 80 and 155 sixteenths of 1/8 ms, as above.
        let mut reception = heard(0, &[(0, 0), (1, 20), (2, 50), (3, 60)]);
        let (mean, largest) = (235.0 / 3.0 * 125.0 / 16.0, 155.0 * 125.0 / 16.0);
        let is = |jitter: Jitter, expected: [f64; 2]| {
            let found = [jitter.mean(), jitter.largest].map(|it| it.as_secs_f64() * 1e6);
            assert!(
                found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 0.01),
                "{found:?} {expected:?}"
            );
        };
        is(reception.jitter(), [mean, largest]);
        let twice = reception.jitter().with(reception.jitter());
        is(twice, [mean, largest]);
        // The next is on time again: 155 - (163 >> 4) + 80 is left.
        reception.begin_measurement();
        assert_eq!(reception.jitter().mean(), Duration::ZERO);
        let header = Header { sequence: 4, timestamp: u32::MAX.wrapping_add(4 * 160), ..Header::default() };
        reception.came(at_ms(80), &header);
        let now = f64::from(reception.jitter) * 125.0 / 16.0;
        assert!(now < largest, "{now}");
        is(reception.jitter(), [now, now]);
    }

    #[test]
    fn frames_are_cut_into_packets_and_the_last_is_marked() {
        let video = Media { payload_type: 33, frame: Some(2500), playout: Duration::ZERO };
        let packets: Vec<(u64, u32, bool)> =
            (0..6).map(|number| video.place(number, 1000)).map(|it| (it.octets_before, it.octets, it.marker)).collect();
        let frame = |before| [(before, 1000, false), (before, 1000, false), (before, 500, true)];
        assert_eq!(packets, [frame(0), frame(2500)].concat());
        assert_eq!(video.clock(), 90_000);
        let sound: Vec<(u64, u32, bool)> =
            (0..2).map(|number| AUDIO.place(number, 172)).map(|it| (it.octets_before, it.octets, it.marker)).collect();
        assert_eq!(sound, [(0, 172, true), (172, 172, false)]);
        assert_eq!(Media { payload_type: 96, ..AUDIO }.clock(), 90_000);
        assert_eq!(ticks(Duration::from_millis(20), 8000), 160);
    }
}
