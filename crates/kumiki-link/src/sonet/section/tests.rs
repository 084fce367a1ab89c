#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use crate::sonet::Defect;
use crate::sonet::DefectReport;
use kumiki_graph::Report;
use kumiki_octets::Message;
use kumiki_wire::ppp::sdh::label;
use proptest::prelude::*;

use super::*;
use crate::Serial;

/// What left an element.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Left {
    Frame(Vec<u8>),
    Sent(u64, bool),
    Alarm(Defect, bool),
    Up,
    Down,
}

fn told(report: &Report) -> Left {
    match report {
        Report::Up => Left::Up,
        Report::Down => Left::Down,
        Report::Special(what) => {
            let DefectReport { defect, present } = what.get().expect("a defect");
            Left::Alarm(*defect, *present)
        }
        Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } => {
            panic!("{report:?}")
        }
    }
}

/// What left, when and where.
type Log = Vec<(u64, usize, Left)>;

/// Runs elements by hand: offers first, or what is due first, where both are at one instant.
struct Bench<E> {
    element: E,
    log: Log,
    offers_first: bool,
    events: u64,
}

impl<E: Element> Bench<E> {
    fn new(element: E) -> Self {
        Self { element, log: Vec::new(), offers_first: true, events: 0 }
    }

    fn take(&mut self, now: Instant, out: &mut Outlet) {
        for (port, unit) in out.drain() {
            let left = match unit {
                Unit::Frame { data, .. } => Left::Frame(data.to_vec()),
                Unit::Sent { number, whole, .. } => Left::Sent(number, whole),
                Unit::Report(report) => told(&report),
                Unit::Cells(_) | Unit::Cut { .. } | Unit::Arriving { .. } | Unit::Circuit(_) => {
                    panic!("cells")
                }
            };
            self.log.push((now.as_nanos(), port, left));
        }
    }

    /// Lets everything happen that is due before `end`, or at `end`.
    fn run(&mut self, end: Instant, and_at: bool) {
        let mut out = Outlet::default();
        while let Some(due) = self.element.next_deadline()
            && (due < end || and_at && due == end)
        {
            self.element.poll(due, &mut out);
            self.events += 1;
            self.take(due, &mut out);
            assert!(self.element.next_deadline() > Some(due) || self.element.next_deadline().is_none());
        }
    }

    fn offer(&mut self, at: Instant, port: usize, octets: &[u8]) {
        self.run(at, !self.offers_first);
        let mut out = Outlet::default();
        let data = Message::from_octets(octets);
        let address = Address::NONE;
        self.element.offer(at, port, Unit::Frame { data, address }, &mut out);
        self.take(at, &mut out);
    }

    fn counter(&self, name: &str) -> u64 {
        let all = self.element.counters();
        all.iter().find(|(n, _)| *n == name).unwrap().1
    }

    /// What left by a port, but for when.
    fn told(&self, port: usize) -> Vec<Left> {
        let by = self.log.iter().filter(|(_, by, _)| *by == port);
        by.map(|(.., left)| left.clone()).collect()
    }
}

fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

fn frame(len: usize, tag: u64) -> Vec<u8> {
    let octet = |at: usize| {
        let mixed = (at as u64 + 1).wrapping_mul(tag | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // One in eight means something on the line.
        match (mixed >> 40) % 16 {
            0 => 0x7e,
            1 => 0x7d,
            _ => (mixed >> 56) as u8,
        }
    };
    (0..len).map(octet).collect()
}

#[derive(Clone, Debug)]
struct Offer {
    gap: u64,
    port: usize,
    len: usize,
}

fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let gap = prop_oneof![
        3 => Just(0),
        3 => 0..2_000_u64,
        3 => 0..300_000_u64,
        1 => 0..20_000_000_u64,
        1 => (0..40_u64).prop_map(|frames| frames * 125_000),
    ];
    let len = prop_oneof![4 => 2..120_usize, 2 => 2..1600_usize, 1 => 2..9200_usize];
    let offer = (gap, 0..2_usize, len).prop_map(|(gap, port, len)| Offer { gap, port, len });
    prop::collection::vec(offer, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The fast path, which only counts octets, and the octets themselves.
    #[test]
    fn octets_and_their_count_give_the_same_deliveries_at_the_same_nanoseconds(
        level in prop_oneof![
            4 => Just(Level::Sts3c), 2 => Just(Level::Sts12c), 1 => Just(Level::Sts48c), 1 => Just(Level::Sts192c)
        ],
        offers in offers(), propagation in prop_oneof![Just(0), 0..500_000_u64], room in prop_oneof![Just(u64::MAX), 0..5_u64],
        pointer in prop_oneof![2 => Just(522), 1 => 0..783_u16], ppb in prop_oneof![2 => Just(0), 1 => -300_000..=300_000],
        say_sent in any::<bool>(), opening_flag in any::<bool>(), long in any::<bool>(), offers_first in any::<bool>(), seed in any::<u64>(),
    ) {
        let clock = OctetClock::new(level).with_pointer(pointer).with_offset(ppb);
        let framing = Framing {
            fcs: if long { FcsKind::Fcs32 } else { FcsKind::Fcs16 },
            opening_flag,
            ..Framing::default()
        };
        let propagation = Duration::from_nanos(propagation);
        let queue = if room == u64::MAX { DropTail::UNLIMITED } else { DropTail::frames(room) };
        let carrier = Carrier::Sonet { clock, framing };
        let counting = Serial::new(SerialConfig { carrier, propagation, say_sent }, queue);
        let config = SectionConfig { clock, framing, propagation, say_sent, seed, ..SectionConfig::ppp(level) };
        let mut counting = Bench::new(counting);
        let mut exact = Bench::new(Section::new(config, queue));
        counting.offers_first = offers_first;
        exact.offers_first = offers_first;
        let mut now = Instant::ZERO;
        for (number, offer) in offers.iter().enumerate() {
            now += Duration::from_nanos(offer.gap);
            let octets = frame(offer.len, number as u64);
            counting.offer(now, offer.port, &octets);
            exact.offer(now, offer.port, &octets);
        }
        let end = now + Duration::from_secs(1);
        counting.run(end, true);
        exact.run(end, true);
        prop_assert_eq!(counting.log.len(), exact.log.len());
        for (counted, made) in counting.log.iter().zip(&exact.log) {
            prop_assert_eq!(counted, made);
        }
        for (name, count) in counting.element.counters() {
            prop_assert_eq!((name, count), (name, exact.counter(name)));
        }
        // A line that rests costs nothing.
        prop_assert_eq!(counting.events, exact.events);
        for name in ["a_b1_errors", "a_b2_errors", "a_b3_errors", "b_bad_fcs", "b_runts", "b_alarms", "a_out_of_frame"] {
            prop_assert_eq!((name, exact.counter(name)), (name, 0));
        }
    }
}

#[test]
fn a_line_that_rests_counts_the_frames_it_passes_over() {
    let mut line = Bench::new(Section::new(SectionConfig::ppp(Level::Sts3c), DropTail::UNLIMITED));
    line.offer(ms(1_000_000), 0, &frame(100, 1));
    line.run(ms(1_000_001), true);
    // A thousand seconds of 8000 frames.
    assert_eq!(line.counter("a_line_frames"), 8_000_000);
    assert_eq!(line.counter("b_line_frames"), 8_000_000);
    assert_eq!(line.events, 1);
}

fn outage(from: Instant, until: Instant) -> FaultInterval {
    FaultInterval { from, until, what: LineFault::NoSignal }
}

#[test]
fn an_outage_is_told_at_both_ends_and_passes() {
    let config = SectionConfig { propagation: Duration::from_millis(2), ..SectionConfig::ppp(Level::Sts3c) };
    let mut section = Section::new(config, DropTail::UNLIMITED);
    section.spoil(0, 0.0, &[outage(ms(10), ms(20))]);
    let mut line = Bench::new(section);
    line.offer(ms(15), 0, &frame(100, 1));
    line.offer(ms(15), 1, &frame(100, 2));
    line.offer(ms(30), 0, &frame(100, 3));
    line.run(ms(2000), true);
    assert_eq!(
        line.told(1),
        [
            Left::Alarm(Defect::Los, true),
            Left::Down,
            Left::Alarm(Defect::Los, false),
            Left::Up,
            Left::Frame(frame(100, 3)),
        ]
    );
    // The end that sends is told by the other that it is not heard, and goes on receiving.
    assert_eq!(
        line.told(0),
        [
            Left::Alarm(Defect::PathRdi, true),
            Left::Alarm(Defect::MsRdi, true),
            Left::Frame(frame(100, 2)),
            Left::Alarm(Defect::PathRdi, false),
            Left::Alarm(Defect::MsRdi, false),
        ]
    );
    let time = |port, left: Left| {
        let at = line.log.iter().find(|(_, by, what)| *by == port && *what == left);
        at.unwrap().0 / 1000
    };
    // 25 us of silence behind the propagation, told by the end of the frame.
    assert_eq!(time(1, Left::Down), 12_125);
    // Two frames to be in frame, three for the pointer.
    assert!((22_250..22_750).contains(&time(1, Left::Up)), "{}", time(1, Left::Up));
    // Back over the line, and five frames until it is believed.
    let back = time(0, Left::Alarm(Defect::MsRdi, true));
    assert!((14_500..15_000).contains(&back), "{back}");
    // Nobody looks any more once everything is as it should be.
    assert!(line.events < 200, "{}", line.events);
}

#[test]
fn alarms_are_told_and_taken_back() {
    for (alarm, defects) in [
        (Alarm::Line, vec![Defect::PathAis, Defect::MsAis]),
        (Alarm::Path, vec![Defect::PathAis]),
        (Alarm::Unequipped, vec![Defect::Unequipped]),
    ] {
        let mut section = Section::new(SectionConfig::ppp(Level::Sts12c), DropTail::UNLIMITED);
        let trouble = FaultInterval { from: ms(5), until: ms(10), what: LineFault::Alarm(alarm) };
        section.spoil(1, 0.0, &[trouble]);
        let mut line = Bench::new(section);
        line.run(ms(100), true);
        let told = line.told(0);
        for defect in &defects {
            assert!(told.contains(&Left::Alarm(*defect, true)), "{told:?}");
            assert!(told.contains(&Left::Alarm(*defect, false)), "{told:?}");
        }
        let turns = told.iter().filter(|left| matches!(left, Left::Up | Left::Down));
        assert_eq!(turns.collect::<Vec<_>>(), [&Left::Down, &Left::Up]);
        assert!(line.told(1).contains(&Left::Alarm(Defect::PathRdi, false)));
        assert_eq!(line.element.next_deadline(), None);
    }
}

#[test]
fn ends_that_disagree_about_the_scrambler_are_down_from_the_beginning() {
    let mut config = SectionConfig::ppp(Level::Sts3c);
    config.ends[1] = LineConfig::ppp(Level::Sts3c, false);
    let mut line = Bench::new(Section::new(config, DropTail::UNLIMITED));
    line.offer(ms(1), 0, &frame(100, 1));
    line.run(ms(5), true);
    for port in [0, 1] {
        assert_eq!(line.told(port), [Left::Alarm(Defect::PayloadMismatch, true), Left::Down]);
    }
    config.ends[1].label = label::PPP_SCRAMBLED;
    let mut line = Bench::new(Section::new(config, DropTail::UNLIMITED));
    line.offer(ms(1), 0, &frame(100, 1));
    line.run(ms(5), true);
    // With the right label and the wrong scrambler nothing is said, and nothing arrives.
    assert_eq!(line.told(1), []);
}

/// Sends small frames over a line with wrong bits; how many arrived, and nothing but what was sent did.
fn over_noise(rate: f64, frames: u64, seed: u64) -> u64 {
    let config = SectionConfig { seed, ..SectionConfig::ppp(Level::Sts3c) };
    let mut section = Section::new(config, DropTail::UNLIMITED);
    section.spoil(0, rate, &[]);
    let mut line = Bench::new(section);
    // 24 octets with their number in front, which is 40 or so on the line: 2 us.
    let numbered = |number: u64| {
        let mut octets = frame(24, number);
        octets[..8].copy_from_slice(&number.to_be_bytes());
        octets
    };
    let mut next = 0;
    let mut arrived = 0;
    let mut look = |log: &mut Log| {
        for (_, port, left) in log.drain(..) {
            if let (1, Left::Frame(octets)) = (port, left) {
                let number = u64::from_be_bytes(octets[..8].try_into().unwrap());
                assert!(number >= next && octets == numbered(number), "{octets:02x?}");
                next = number + 1;
                arrived += 1;
            }
        }
    };
    for number in 0..frames {
        line.offer(Instant::from_nanos(number * 3_000), 0, &numbered(number));
        if number % 1024 == 0 {
            look(&mut line.log);
        }
    }
    line.run(Instant::from_nanos(frames * 3_000 + 10_000_000), true);
    look(&mut line.log);
    let counter = |name| line.counter(name);
    println!(
        "{rate}: {arrived} of {frames}; wrong bits {}, B1 {}, B2 {}, B3 {}, REI {} and {}, bad FCS {}, aborts {}, runts {}, out of frame {}, alarms {}",
        counter("a_wrong_bits"),
        counter("a_b1_errors"),
        counter("a_b2_errors"),
        counter("a_b3_errors"),
        counter("b_line_rei"),
        counter("b_path_rei"),
        counter("a_bad_fcs"),
        counter("a_aborts"),
        counter("a_runts"),
        counter("a_out_of_frame"),
        counter("a_alarms"),
    );
    // What one end counts the other is told, but for what the last frames have found.
    let (found, told) = (counter("a_b2_errors"), counter("b_line_rei"));
    assert!((told..=told + 48).contains(&found), "{found} {told}");
    let (found, told) = (counter("a_b3_errors"), counter("b_path_rei"));
    assert!((told..=told + 16).contains(&found), "{found} {told}");
    arrived
}

#[test]
fn no_wrong_frame_is_delivered_over_wrong_bits() {
    assert_eq!(over_noise(1e-9, 20_000, 1), 20_000);
    for (rate, least) in [(1e-5, 19_700), (1e-4, 18_000), (1e-3, 8_000)] {
        let arrived = over_noise(rate, 20_000, 1);
        assert!((least..20_000).contains(&arrived), "{rate}: {arrived}");
    }
}

#[test]
#[ignore = "seven million frames take a minute"]
fn no_wrong_frame_is_delivered_over_wrong_bits_in_a_million_frames_of_each_rate() {
    for (rate, seed) in [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3].into_iter().zip(1..) {
        over_noise(rate, 1_000_000, seed);
    }
}

/// ITU-T G.783 (recalled): in frame after two good alignment words; then the pointer, three of which are needed after a
/// loss of signal; RFC 1662 section 3: then the next flag.
#[test]
fn frames_arrive_again_within_the_time_that_alignment_and_pointer_take() {
    for start in 0..40_u64 {
        let from = Instant::from_nanos(3_000_000 + start * 31_337);
        let until = from + Duration::from_micros(600);
        let mut section = Section::new(SectionConfig::ppp(Level::Sts3c), DropTail::UNLIMITED);
        section.spoil(0, 0.0, &[outage(from, until)]);
        let mut line = Bench::new(section);
        for number in 0..2000 {
            line.offer(Instant::from_nanos(number * 5_000), 0, &frame(40, number));
        }
        line.run(ms(50), true);
        let arrivals = line
            .log
            .iter()
            .filter_map(|(at, port, left)| (*port == 1 && matches!(left, Left::Frame(_))).then_some(*at));
        let after = arrivals.into_iter().find(|at| *at > until.as_nanos()).unwrap();
        // One frame until an alignment word passes, one until the next, up to three for pointers, and a frame of 40
        // octets.
        let took = after - until.as_nanos();
        assert!(took <= 5 * 125_000 + 10_000, "{took}");
    }
}
