#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use proptest::prelude::*;

use kumiki_graph::Address;
use kumiki_octets::Message;

use super::*;
use crate::{MarkFrom, Rate};

fn config(rate: Rate) -> SerialConfig {
    SerialConfig { carrier: Carrier::Plain { rate, overhead: 2 }, propagation: Duration::ZERO, say_sent: false }
}

fn frame(len: usize, tag: u8) -> Unit {
    Unit::Frame { data: Message::from_octets(&vec![tag; len]), address: Address::NONE }
}

fn counter(line: &Serial, name: &str) -> u64 {
    let found = line.counters().into_iter().find(|(n, _)| *n == name);
    found.unwrap().1
}

/// Runs the line until nothing is due; (time, port, first octet) of frames.
fn drain(line: &mut Serial) -> Vec<(u64, usize, u8)> {
    let mut seen = Vec::new();
    let mut out = Outlet::default();
    while let Some(at) = line.next_deadline() {
        line.poll(at, &mut out);
        for (port, unit) in out.drain() {
            if let Unit::Frame { data, .. } = unit {
                let tag = data.to_vec().first().copied().unwrap_or(0);
                seen.push((at.as_nanos(), port, tag));
            }
        }
    }
    seen
}

/// RFC 3168 section 5: marks in place of drops, where the sender allows it.
#[test]
fn a_long_queue_marks_those_that_may_be_marked() {
    let room = DropTail::frames(5);
    let marking = || MarkFrom { room, frames: 2 }.queue();
    let line = config(Rate::bits_per_second(8_000_000));
    let mut line = Serial::with_disciplines(line, marking(), marking());
    let mut out = Outlet::default();
    let offered = [2_u8, 2, 2, 2, 0, 1, 2];
    for class in offered {
        let header = kumiki_wire::inet::ipv4::Header {
            type_of_service: class,
            total_length: 20,
            ..kumiki_wire::inet::ipv4::Header::default()
        };
        let mut octets = [0; 20];
        header.emit_summed(&mut octets);
        let data = Message::from_octets(&octets);
        let address = Address::NONE;
        line.offer(Instant::ZERO, 0, Unit::Frame { data, address }, &mut out);
    }
    let mut classes = Vec::new();
    while let Some(at) = line.next_deadline() {
        line.poll(at, &mut out);
        for (_, unit) in out.drain() {
            if let Unit::Frame { data, .. } = unit {
                classes.push(data.to_vec()[1]);
            }
        }
    }
    // One on the line, then two that wait without a mark; the seventh finds no room.
    assert_eq!(classes, [2, 2, 2, 3, 0, 3]);
    assert_eq!((counter(&line, "a_marks"), counter(&line, "a_drops")), (2, 1));
}

#[test]
fn a_frame_takes_its_octets_then_its_propagation() {
    let mut line = Serial::new(
        SerialConfig { propagation: Duration::from_micros(100), ..config(Rate::bits_per_second(8_000_000)) },
        DropTail::UNLIMITED,
    );
    let mut out = Outlet::default();
    line.offer(Instant::from_nanos(500), 0, frame(8, 1), &mut out);
    line.offer(Instant::from_nanos(500), 1, frame(98, 2), &mut out);
    line.offer(Instant::from_nanos(700), 0, frame(8, 3), &mut out);
    assert_eq!(drain(&mut line), [(110_500, 1, 1), (120_500, 1, 3), (200_500, 0, 2)]);
    assert_eq!(counter(&line, "a_busy_ns"), 20_000);
}

#[test]
fn a_million_frames_end_exactly_where_they_should() {
    let mut line = Serial::new(config(Rate::OC3C), DropTail::UNLIMITED);
    let mut out = Outlet::default();
    // Each next frame is offered when the line falls free, as by a host that is told so.
    let mut now = Instant::ZERO;
    let data = Message::generated(kumiki_octets::Pattern::Zeros, 0, 1498);
    for _ in 0..1_000_000 {
        let unit = Unit::Frame { data: data.clone(), address: Address::NONE };
        line.offer(now, 0, unit, &mut out);
        now = line.next_deadline().unwrap();
        line.poll(now, &mut out);
        out.drain().for_each(drop);
    }
    // 1500 octets x 10^6 at 149.76 Mbit/s.
    assert_eq!(now.as_nanos(), (12_000_000_000_u128 * 1_000_000_000 / 149_760_000) as u64);
    assert_eq!(counter(&line, "a_busy_ns"), now.as_nanos());
}

#[test]
fn what_finds_no_room_is_dropped_and_said_so() {
    let mut line =
        Serial::new(SerialConfig { say_sent: true, ..config(Rate::bits_per_second(8_000_000)) }, DropTail::frames(1));
    let mut out = Outlet::default();
    for tag in 0..3 {
        line.offer(Instant::ZERO, 0, frame(8, tag), &mut out);
    }
    let said: Vec<_> = out.drain().collect();
    assert!(matches!(said.as_slice(), [(0, Unit::Sent { number: 2, whole: false, .. })]));
    assert_eq!(drain(&mut line), [(10_000, 1, 0), (20_000, 1, 1)]);
    assert_eq!(counter(&line, "a_drops"), 1);
}

#[test]
fn a_line_without_waiting_room_still_carries() {
    let mut line = Serial::new(config(Rate::OC3C), DropTail::frames(0));
    line.offer(Instant::ZERO, 0, frame(8, 7), &mut Outlet::default());
    assert_eq!(drain(&mut line).len(), 1);
}

proptest! {
    #[test]
    fn nothing_is_lost_or_overtakes(
        frames in prop::collection::vec((0..3_000_u64, 0..200_usize), 1..60),
        room in 0..5_u64, propagation in 0..50_000_u64)
    {
        let mut line = Serial::new(
            SerialConfig { propagation: Duration::from_nanos(propagation), ..config(Rate::bits_per_second(155_520_000)) },
            DropTail::frames(room),
        );
        let mut out = Outlet::default();
        let (mut now, mut seen) = (Instant::ZERO, Vec::new());
        let mut take = |at: Instant, out: &mut Outlet| {
            for (_, unit) in out.drain() {
                if let Unit::Frame { data, .. } = unit {
                    seen.push((at, data.to_vec()));
                }
            }
        };
        for (tag, (gap, len)) in frames.iter().enumerate() {
            let offer = now + Duration::from_nanos(*gap);
            while let Some(at) = line.next_deadline().filter(|at| *at <= offer) {
                line.poll(at, &mut out);
                take(at, &mut out);
            }
            now = offer;
            line.offer(now, 0, frame(len + 1, tag as u8), &mut out);
        }
        while let Some(at) = line.next_deadline() {
            line.poll(at, &mut out);
            take(at, &mut out);
        }
        prop_assert_eq!(seen.len() as u64 + counter(&line, "a_drops"), frames.len() as u64);
        prop_assert_eq!(seen.len() as u64, counter(&line, "a_frames"));
        prop_assert!(seen.is_sorted_by_key(|(at, data)| (*at, data[0])));
    }
}

mod sonet {
    use super::*;
    use crate::sonet::{Level, OctetClock};
    use kumiki_wire::ppp::hdlc::{FcsKind, Framing};

    fn pos(level: Level) -> (OctetClock, Serial) {
        let clock = OctetClock::new(level);
        let framing = Framing { fcs: FcsKind::Fcs32, ..Framing::default() };
        let config =
            SerialConfig { carrier: Carrier::Sonet { clock, framing }, propagation: Duration::ZERO, say_sent: false };
        (clock, Serial::new(config, DropTail::UNLIMITED))
    }

    #[test]
    fn frames_one_behind_the_other_take_the_octets_of_the_payload_in_turn() {
        let (clock, mut line) = pos(Level::Sts3c);
        let mut out = Outlet::default();
        for _ in 0..3 {
            // 100 octets of 0x7e are 200 on the line, then four of sequence, which may need an escape, and a flag.
            line.offer(Instant::ZERO, 0, frame(100, 0x7e), &mut out);
        }
        let Unit::Frame { data, .. } = frame(100, 0x7e) else { unreachable!() };
        let framing = Framing { fcs: FcsKind::Fcs32, ..Framing::default() };
        let each = framing.octets_of(&data);
        assert!((205..=209).contains(&each));
        let ends: Vec<u64> = drain(&mut line).iter().map(|(at, ..)| *at).collect();
        let expected = [1, 2, 3].map(|n| clock.ends(n * each - 1).as_nanos());
        assert_eq!(ends, expected);
    }

    #[test]
    fn a_frame_waits_for_the_next_octet_of_payload() {
        let (clock, mut line) = pos(Level::Sts3c);
        let mut out = Outlet::default();
        // In the overhead of the second row: octets 270 to 279 of the frame.
        let at = Instant::from_nanos(14_000);
        line.offer(at, 0, frame(1, 0), &mut out);
        let found = drain(&mut line);
        assert_eq!(found[0].0, clock.ends(260 + 1 + 4 + 1 - 1).as_nanos());
    }

    proptest! {
        /// A line that never rests carries exactly its payload rate, whatever the lengths.
        #[test]
        fn a_busy_line_carries_its_payload_rate(
            level in prop::sample::select(Level::ALL.to_vec()), lens in prop::collection::vec(1..3000_usize, 1..60),
        ) {
            let (clock, mut line) = pos(level);
            let mut out = Outlet::default();
            for len in &lens {
                line.offer(Instant::ZERO, 0, frame(*len, 0x7e), &mut out);
            }
            let last = drain(&mut line).last().map(|(at, ..)| *at);
            let octets = counter(&line, "a_octets");
            prop_assert_eq!(last, Some(clock.ends(octets - 1).as_nanos()));
        }
    }
}

#[test]
fn a_rate_that_changes_meets_the_frames_that_wait_and_not_the_one_on_the_line() {
    // 8 octets with 2 of overhead: 10 us at a million octets a second, 20 us at half of it, nothing where there is no
    // rate.
    let mut line = Serial::new(config(Rate::bits_per_second(8_000_000)), DropTail::UNLIMITED);
    let mut out = Outlet::default();
    for tag in 1..=5 {
        line.offer(Instant::ZERO, 0, frame(8, tag), &mut out);
    }
    let now = Instant::from_nanos(15_000);
    line.poll(Instant::from_nanos(10_000), &mut out);
    line.poll(now, &mut out);
    line.set_config(0, config(Rate::bits_per_second(4_000_000)));
    assert_eq!(line.next_deadline(), Some(Instant::from_nanos(20_000)));
    line.poll(Instant::from_nanos(20_000), &mut out);
    line.poll(Instant::from_nanos(40_000), &mut out);
    assert_eq!(out.drain().count(), 3);
    line.set_config(0, config(Rate::bits_per_second(u64::MAX)));
    assert_eq!(drain(&mut line), [(60_000, 1, 4), (60_000, 1, 5)]);
}

#[test]
fn a_queue_that_shrinks_keeps_what_waits() {
    let mut line = Serial::new(config(Rate::bits_per_second(8_000_000)), DropTail::UNLIMITED);
    let mut out = Outlet::default();
    for tag in 1..=4 {
        line.offer(Instant::ZERO, 0, frame(8, tag), &mut out);
    }
    line.set_discipline(0, DropTail::frames(1).queue());
    line.offer(Instant::ZERO, 0, frame(8, 5), &mut out);
    assert_eq!(line.backlog(0).frames, 3);
    assert_eq!(counter(&line, "a_drops"), 1);
    assert_eq!(drain(&mut line).len(), 4);
}

/// Bits per second of the line below: a bit lasts a microsecond.
const MEGABIT: Rate = Rate::bits_per_second(1_000_000);

fn synchronous(opening_flag: bool) -> SerialConfig {
    let framing = kumiki_wire::ppp::hdlc::BitFraming { opening_flag, ..Default::default() };
    SerialConfig {
        carrier: Carrier::Synchronous { rate: MEGABIT, framing },
        propagation: Duration::ZERO,
        say_sent: false,
    }
}

#[test]
fn a_frame_on_a_synchronous_line_waits_for_the_end_of_a_flag() {
    let mut line = Serial::new(synchronous(false), DropTail::UNLIMITED);
    let mut out = Outlet::default();
    let zeros = || Unit::Frame { data: Message::from_octets(&[0; 10]), address: Address::NONE };
    let framing = kumiki_wire::ppp::hdlc::BitFraming::default();
    let bits = framing.bits_of(&Message::from_octets(&[0; 10]));
    // Ten octets, two of check sequence and a flag, and what the sequence is stuffed with.
    assert!((104..=106).contains(&bits), "{bits}");
    // Idle flags end every 8 us. The second frame follows on the flag that ends the first.
    line.offer(Instant::from_nanos(9_500), 0, zeros(), &mut out);
    line.offer(Instant::from_nanos(9_500), 0, zeros(), &mut out);
    let seen = drain(&mut line);
    let ends = [16 + bits, 16 + 2 * bits];
    assert_eq!(seen, ends.map(|end| (end * 1_000, 1, 0)).to_vec(), "{bits}");
    // The next flags are counted from there.
    let at = (ends[1] + 17) * 1_000;
    line.offer(Instant::from_nanos(at), 0, zeros(), &mut out);
    let end = (ends[1] + 24 + bits) * 1_000;
    assert_eq!(drain(&mut line), [(end, 1, 0)]);
    assert_eq!(counter(&line, "a_octets"), 3 * bits / 8);
}

proptest! {
    /// The line against the bits that would be on it.
    #[test]
    fn a_synchronous_line_takes_as_long_as_its_bits(
        frames in proptest::collection::vec((proptest::collection::vec(prop_oneof![any::<u8>(), Just(0xff)], 1..30), 0_u64..400_000), 1..8),
        opening_flag: bool,
    ) {
        let config = synchronous(opening_flag);
        let Carrier::Synchronous { framing, .. } = config.carrier else {
            unreachable!()
        };
        let mut line = Serial::new(config, DropTail::UNLIMITED);
        let mut out = Outlet::default();
        let mut bits = kumiki_octets::bit_stuffing::BitWriter::new();
        let (mut at, mut expected, mut seen) = (0, Vec::new(), Vec::new());
        for (octets, gap) in &frames {
            at += gap;
            let data = Message::from_octets(octets);
            while bits.bits() * 1_000 < at {
                bits.flag();
            }
            framing.emit(&data, &mut bits);
            expected.push(bits.bits() * 1_000);
            while let Some(due) = line.next_deadline().filter(|due| due.as_nanos() <= at) {
                line.poll(due, &mut out);
                seen.extend(out.drain().map(|_| due.as_nanos()));
            }
            line.offer(Instant::from_nanos(at), 0, Unit::Frame { data, address: Address::NONE }, &mut out);
        }
        seen.extend(drain(&mut line).into_iter().map(|(due, ..)| due));
        prop_assert_eq!(seen, expected);
        // What was written is read.
        let mut found = 0;
        kumiki_octets::bit_stuffing::BitReader::new(100).read(bits.octets(), |_| found += 1);
        prop_assert_eq!(found, frames.len() - usize::from(!opening_flag && frames[0].1 == 0));
    }
}

/// Two frames of 100 octets with 2 of overhead go one behind the other at 8 Mb/s, one octet a microsecond, and a third
/// comes later. What waits is told of with the time at which it went, though nobody asked the line then.
#[test]
fn who_watches_a_line_is_told_when_it_is_busy() {
    let mut line = Serial::new(config(Rate::bits_per_second(8_000_000)), DropTail::UNLIMITED);
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let teller = Arc::clone(&told);
    let is_told = line.watch_busy(0, Box::new(move |from, until| teller.lock().unwrap().push((from, until))));
    assert!(is_told);
    let us = |us: u64| Instant::from_nanos(us * 1000);
    let mut out = Outlet::default();
    line.offer(us(10), 0, frame(100, 1), &mut out);
    line.offer(us(20), 0, frame(100, 2), &mut out);
    line.offer(us(20), 1, frame(100, 3), &mut out);
    line.offer(us(400), 0, frame(100, 4), &mut out);
    assert_eq!(*told.lock().unwrap(), [(us(10), us(112)), (us(112), us(214)), (us(400), us(502))]);
}
