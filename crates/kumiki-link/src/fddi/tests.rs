//! The ring against a plain model that follows the token from station to station, against figures worked out by hand,
//! and against the bounds that the literature gives.

use proptest::prelude::*;

use super::*;
use crate::testing::Bench;

const MAC: [MacAddr; 3] = [MacAddr([2, 0, 0, 0, 0, 0]), MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];

fn mac(number: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, u8::try_from(number).unwrap()])
}

/// A frame with `information` octets, the first of which name it.
fn frame(from: usize, destination: MacAddr, information: usize, id: u16) -> Unit {
    let header = Header { control: kumiki_wire::inet::fddi::Control::ASYNCHRONOUS, destination, source: mac(from) };
    let mut octets = vec![0; LEN + information.max(2)];
    header.emit(&mut octets[..LEN]);
    octets[LEN..LEN + 2].copy_from_slice(&id.to_be_bytes());
    Unit::Frame { data: Message::from_octets(&octets), address: Address::NONE }
}

fn station(number: usize, latency: u64, propagation: u64) -> StationConfig {
    StationConfig {
        address: Some(mac(number)),
        latency: Duration::from_nanos(latency),
        propagation: Duration::from_nanos(propagation),
        ttrt: Duration::from_millis(8),
    }
}

const fn ns(n: u64) -> Instant {
    Instant::from_nanos(n)
}

/// What a ring let out: when, by which port, and which frame it was; and when frames had left their stations.
#[derive(Default, PartialEq, Eq, Debug)]
struct RingOutput {
    frames: Vec<(u64, usize, u16)>,
    sent: Vec<(u64, usize, u64)>,
}

/// Runs `ring` with `offers` (when, where, what) and gives what came out.
fn run(mut ring: Fddi, offers: Vec<(u64, usize, Unit)>) -> (Fddi, RingOutput) {
    let mut out = Outlet::default();
    let mut seen = RingOutput::default();
    let mut offers = offers.into_iter().peekable();
    loop {
        let due = ring.next_deadline();
        let now = match (due, offers.peek()) {
            (due, Some((at, ..))) if due.is_none_or(|due| ns(*at) <= due) => {
                let (at, port, unit) = offers.next().unwrap();
                ring.offer(ns(at), port, unit, &mut out);
                at
            }
            (Some(due), _) => {
                ring.poll(due, &mut out);
                due.as_nanos()
            }
            (None, _) => break,
        };
        for (port, unit) in out.drain() {
            match &unit {
                Unit::Frame { data, .. } => {
                    let octets = data.to_vec();
                    let id = u16::from_be_bytes([octets[LEN], octets[LEN + 1]]);
                    seen.frames.push((now, port, id));
                }
                Unit::Sent { number, whole, .. } => {
                    assert!(*whole);
                    seen.sent.push((now, port, *number));
                }
                Unit::Cells(_) | Unit::Cut { .. } | Unit::Arriving { .. } | Unit::Report(_) | Unit::Circuit(_) => {
                    panic!("{unit:?}")
                }
            }
        }
    }
    (ring, seen)
}

fn counter(ring: &Fddi, name: &str) -> u64 {
    let counters = ring.counters();
    counters.iter().find(|(it, _)| *it == name).unwrap().1
}

/// Three stations of 600 ns, with 1 us of fibre to the next each. The token leaves station 0 at time zero and comes to
/// station 1 after 1 us; that has waited for it.
#[test]
fn a_frame_is_sent_when_the_token_comes_and_arrives_with_its_last_symbol() {
    let stations = [0, 1, 2].map(|number| station(number, 600, 1000));
    let ring = Fddi::new(&stations).unwrap();
    assert_eq!(ring.around().as_nanos(), 4800);
    // 100 octets of information: 8 preamble, 1 SD, 13, 100, 4 FCS, 2 ED and FS = 128 octets of 80 ns.
    let (ring, seen) = run(ring, vec![(0, 1, frame(1, MAC[0], 100, 7))]);
    let ends = 1000 + 128 * 80;
    assert_eq!(seen.sent, [(ends, 1, 0)]);
    // From 1 to 2 and, after 600 ns there, to 0.
    assert_eq!(seen.frames, [(ends + 1000 + 600 + 1000, 0, 7)]);
    assert_eq!((counter(&ring, "copied"), counter(&ring, "unknown")), (1, 0));
    assert_eq!(counter(&ring, "octets"), 128);
    assert_eq!(counter(&ring, "busy_ns"), 128 * 80);
}

/// Two frames of 128 octets wait for the token until 1000 ns, and the second for the first, for 10,240 ns more.
#[test]
fn a_frame_waits_in_the_queue_of_its_station_until_it_is_sent() {
    let stations = [0, 1, 2].map(|number| station(number, 600, 1000));
    let ring = Fddi::new(&stations).unwrap().called(["a", "b", "c"].map(str::to_owned).to_vec());
    let (ring, _) = run(ring, (0..2).map(|id| (0, 1, frame(1, MAC[0], 100, id))).collect());
    let queues = ring.queues(ns(20_000));
    let held = |frames| queues[1].1.longer_in_all(frames).as_nanos();
    assert_eq!((queues[1].0.as_ref(), held(1), held(0)), ("b", 1000, 1000 + 128 * 80));
    assert_eq!(
        (queues[0].0.as_ref(), queues[0].1.quantile(1.0), queues[0].1.whole()),
        ("a", 0, Duration::from_micros(20))
    );
    let of_station = ring.port_counters();
    for (name, sent) in [("frames", 2), ("octets", 2 * 128), ("busy_ns", 2 * 128 * 80), ("drops", 0)] {
        let count = |number: usize| of_station[number].1.iter().find(|(it, _)| *it == name).unwrap().1;
        assert_eq!([0, 1, 2].map(count), [0, sent, 0], "{name}");
    }
}

/// A token that nobody wants goes round and round: it is at station 2 at 1000 + 600 + 1000 = 2600 ns, and every 4800 ns
/// again.
#[test]
fn an_idle_token_is_where_it_would_be() {
    let stations = [0, 1, 2].map(|number| station(number, 600, 1000));
    for (offered, taken) in [(2599, 2600), (2600, 2600), (2601, 7400), (1_000_000_000_000, 2600 + 4800 * 208_333_333)] {
        let ring = Fddi::new(&stations).unwrap();
        let (ring, seen) = run(ring, vec![(offered, 2, frame(2, MAC[0], 2, 1))]);
        assert_eq!(seen.sent, [(taken + 30 * 80, 2, 0)], "{offered}");
        assert!(counter(&ring, "longest_rotation_ns") <= 4800);
    }
}

#[test]
fn a_group_is_copied_by_all_others_and_a_stranger_by_none() {
    let stations = [0, 1, 2].map(|number| station(number, 600, 0));
    let ring = Fddi::new(&stations).unwrap();
    let offers = vec![
        (0, 0, frame(0, MacAddr::BROADCAST, 2, 1)),
        (0, 0, frame(0, MacAddr([2; 6]), 2, 2)),
        (0, 0, frame(0, MAC[0], 2, 3)),
    ];
    let (ring, seen) = run(ring, offers);
    let first = seen.sent[0].0;
    assert_eq!(seen.frames, [(first, 1, 1), (first + 600, 2, 1)]);
    assert_eq!((counter(&ring, "copied"), counter(&ring, "unknown")), (1, 2));
    // A station without an address copies all.
    let mut stations = stations;
    stations[2].address = None;
    let ring = Fddi::new(&stations).unwrap();
    let (_, seen) = run(ring, vec![(0, 0, frame(0, MAC[1], 2, 1))]);
    assert_eq!(seen.frames.len(), 2);
}

#[test]
fn what_is_no_frame_is_refused_and_said_so() {
    let stations = [0, 1].map(|number| station(number, 600, 0));
    let mut ring = Fddi::new(&stations).unwrap();
    let mut out = Outlet::default();
    for len in [LEN - 1, LEN + MAX_INFORMATION + 1] {
        let data = Message::from_octets(&vec![0x50; len]);
        let address = Address::NONE;
        ring.offer(ns(0), 0, Unit::Frame { data, address }, &mut out);
    }
    let sent: Vec<(usize, Unit)> = out.drain().collect();
    assert!(matches!(
        sent[..],
        [(0, Unit::Sent { number: 0, whole: false, .. }), (0, Unit::Sent { number: 1, whole: false, .. })]
    ));
    assert_eq!((counter(&ring, "strangers"), counter(&ring, "drops")), (2, 2));
    assert_eq!(ring.next_deadline(), None);
}

#[test]
fn a_full_queue_drops_what_comes_and_lets_one_wait_for_the_token() {
    let stations = [0, 1].map(|number| station(number, 600, 0));
    let disciplines = [0, 1].map(|_| DropTail::frames(1).queue());
    let mut ring = Fddi::with_disciplines(&stations, disciplines.into()).unwrap();
    let mut out = Outlet::default();
    for id in 0..3 {
        ring.offer(ns(0), 1, frame(1, MAC[0], 2, id), &mut out);
    }
    assert_eq!(counter(&ring, "drops"), 2);
    assert_eq!(ring.backlog(1).frames, 1);
}

#[test]
fn the_lowest_bid_is_the_target_and_the_ring_must_have_room_for_a_frame() {
    let mut stations = [0, 1].map(|number| station(number, 600, 0));
    stations[1].ttrt = Duration::from_millis(4);
    let ring = Fddi::new(&stations).unwrap();
    assert_eq!(ring.ttrt(), Duration::from_millis(4));
    // Who bade it lets the token go: here it comes to its owner only after a turn.
    let (_, seen) = run(ring, vec![(0, 1, frame(1, MAC[0], 2, 1))]);
    assert_eq!(seen.sent, [(600 + 30 * 80, 1, 0)]);
    assert_eq!(Fddi::new(&stations[..1]).err(), Some(FddiError::Stations(1)));
    // 4506 octets with a whole preamble, the way around and a token.
    let least = Duration::from_nanos(4506 * 80 + 1200 + 880);
    stations[1].ttrt = least - Duration::from_nanos(1);
    let found = stations[1].ttrt;
    assert_eq!(Fddi::new(&stations).err(), Some(FddiError::Target { found, least }));
    stations[1].ttrt = least;
    assert!(Fddi::new(&stations).is_ok());
    stations[1].latency = Duration::from_nanos(39);
    assert!(matches!(Fddi::new(&stations).err(), Some(FddiError::Latency(_))));
}

/// The same ring, one visit of the token after the other.
fn followed(stations: &[StationConfig], ttrt: u64, offers: &[(u64, usize, usize, u16)]) -> RingOutput {
    let mut seen = RingOutput::default();
    let count = stations.len();
    let mut queues: Vec<Vec<(u64, usize, u16)>> = vec![Vec::new(); count];
    for &(at, port, information, id) in offers {
        queues[port].push((at, information, id));
    }
    let mut timers = vec![ttrt; count];
    let mut taken = vec![0; count];
    let bids = stations.iter().map(|it| it.ttrt);
    let mut number = bids.clone().position(|it| Some(it) == bids.clone().min()).unwrap();
    let mut left = 0;
    let next = |number: usize| (number + 1) % count;
    while queues.iter().any(|queue| !queue.is_empty()) {
        // From where it left to the next station.
        let now = left + stations[number].propagation.as_nanos();
        number = next(number);
        let mut at = now;
        let late = now >= timers[number];
        let until = timers[number];
        if late {
            while timers[number] <= now {
                timers[number] += ttrt;
            }
        } else {
            timers[number] = now + ttrt;
        }
        // What is left of the target counts from now on.
        let until = now + until.saturating_sub(now);
        let mut sent = false;
        while let Some(&(since, information, id)) = queues[number].first() {
            if late || since > at || at >= until {
                break;
            }
            sent = true;
            queues[number].remove(0);
            at += 80 * (28 + information.max(2) as u64);
            seen.sent.push((at, number, taken[number]));
            taken[number] += 1;
            // To every other station, which copies it if it is for all or for it: here by the id.
            let (mut there, mut passed) = (at, number);
            while next(passed) != number {
                there += stations[passed].propagation.as_nanos();
                passed = next(passed);
                if usize::from(id) % count == passed {
                    seen.frames.push((there, passed, id));
                }
                there += stations[passed].latency.as_nanos();
            }
        }
        left = if sent { at + 880 } else { now + stations[number].latency.as_nanos() };
    }
    seen.frames.sort_unstable();
    seen
}

fn any_station() -> impl Strategy<Value = (u64, u64, u64)> {
    (40..2000_u64, 0..20_000_u64, 500..2000_u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// To the nanosecond, and no turn takes twice the target.
    #[test]
    fn the_ring_is_the_one_that_is_followed_visit_by_visit(
        parts in prop::collection::vec(any_station(), 2..6),
        offers in prop::collection::vec((0..3_000_000_u64, any::<prop::sample::Index>(), 2..4000_usize), 1..60),
    ) {
        let stations: Vec<StationConfig> = parts.iter().enumerate().map(|(number, &(latency, propagation, ttrt))| StationConfig {
            ttrt: Duration::from_micros(ttrt),
            ..station(number, latency, propagation)
        }).collect();
        let Ok(ring) = Fddi::new(&stations) else { return Ok(()) };
        let ttrt = ring.ttrt().as_nanos();
        let mut offers: Vec<(u64, usize, usize)> = offers.into_iter()
            .map(|(at, port, len)| (at, port.index(stations.len()), len)).collect();
        offers.sort_unstable();
        let offers: Vec<(u64, usize, usize, u16)> = offers.into_iter().enumerate().map(|(id, (at, port, len))| {
            (at, port, len, u16::try_from(id).unwrap())
        }).collect();
        let units = offers.iter().map(|&(at, port, len, id)| {
            (at, port, frame(port, mac(usize::from(id) % stations.len()), len, id))
        }).collect();
        let (ring, mut seen) = run(ring, units);
        seen.frames.sort_unstable();
        prop_assert_eq!(seen, followed(&stations, ttrt, &offers));
        let longest = counter(&ring, "longest_rotation_ns");
        prop_assert!(longest < 2 * ttrt, "{longest} of {ttrt}");
        // The tighter bound: the target, one frame, the way around and a token at each station.
        let bound = ttrt + 80 * 4506 + ring.around().as_nanos() + 880 * stations.len() as u64;
        prop_assert!(longest <= bound, "{longest} of {bound}");
    }
}

/// Stations that always have frames, for `millis` of time: what each has sent, and the ring.
fn loaded(count: usize, busy: usize, information: usize, ttrt: Duration, millis: u64) -> Fddi {
    let stations: Vec<StationConfig> =
        (0..count).map(|number| StationConfig { ttrt, ..station(number, 600, 5_000) }).collect();
    let mut ring = Fddi::new(&stations).unwrap();
    let mut out = Outlet::default();
    for port in 0..busy {
        for id in 0..2 {
            ring.offer(ns(0), port, frame(port, mac(count), information, id), &mut out);
        }
    }
    while let Some(at) = ring.next_deadline().filter(|at| at.as_nanos() < millis * 1_000_000) {
        ring.poll(at, &mut out);
        let sent: Vec<usize> = out.drain().map(|(port, _)| port).collect();
        for port in sent {
            ring.offer(at, port, frame(port, mac(count), information, 0), &mut out);
        }
    }
    ring
}

/// What n loaded stations get of a ring with the target T and the latency D is n (T - D) / (n T + D) (R. Jain,
/// "Performance Analysis of FDDI Token Ring Networks", SIGCOMM 1990). D is the way around and the tokens of those that
/// send. Frames that are begun are ended, so short ones come near it.
#[test]
fn loaded_stations_get_what_the_analysis_says() {
    for (count, busy, micros) in [(3, 1, 2000), (3, 2, 2000), (10, 10, 1000), (40, 20, 4000)] {
        let ttrt = Duration::from_micros(micros);
        let ring = loaded(count, busy, 72, ttrt, 400);
        let measured = counter(&ring, "busy_ns") as f64 / 400e6;
        let n = busy as f64;
        let t = micros as f64 * 1e3;
        let d = ring.around().as_nanos() as f64 + n * 880.0;
        let expected = n * (t - d) / (n * t + d);
        assert!(
            (measured / expected - 1.0).abs() < 0.01,
            "{count} stations, {busy} busy: {measured:.4}, expected {expected:.4}"
        );
    }
}

#[test]
fn loaded_stations_share_alike() {
    let ring = loaded(8, 8, 4000, Duration::from_millis(4), 1000);
    let octets: Vec<u64> = (0..8).map(|number| ring.tally(number).octets).collect();
    let (least, most) = (octets.iter().min().unwrap(), octets.iter().max().unwrap());
    // Jain's index, and nobody beyond a twentieth of his part.
    assert!(most * 100 <= least * 105, "{octets:?}");
    let longest = counter(&ring, "longest_rotation_ns");
    assert!(longest < 8_000_000 && longest > 4_000_000);
}

/// The bench offers at a port and carries what leaves it: the ring fits to where other elements do.
#[test]
fn a_ring_is_an_element_like_others() {
    let mut bench = Bench::default();
    let stations = [0, 1].map(|number| station(number, 600, 0));
    let ring = bench.add(Box::new(Fddi::new(&stations).unwrap()));
    let wire = bench.add(Box::new(crate::Wire::new(Duration::from_nanos(5))));
    bench.plug((ring, 1), (wire, 0));
    bench.offer(ns(0), (ring, 0), frame(0, MAC[1], 2, 1));
    bench.run();
    let left = bench.take();
    let times: Vec<u64> = left.iter().map(|(at, ..)| at.as_nanos()).collect();
    // Sent said at port 0; through the wire, Sent of nobody aside, the frame.
    assert_eq!(times.len(), 2);
    assert_eq!(times[1], times[0] + 5);
    assert_eq!(bench.counter(ring, "frames"), 1);
}

/// While a station waits for the token the ring is not idle, be it that nothing is sent.
#[test]
fn a_ring_is_busy_as_long_as_somebody_has_something_to_send() {
    let stations: Vec<StationConfig> = (0..3).map(|number| station(number, 600, 100_000)).collect();
    let mut ring = Fddi::new(&stations).unwrap();
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::<(Instant, Instant)>::new()));
    let teller = std::sync::Arc::clone(&told);
    let is_told = ring.watch_busy(0, Box::new(move |from, until| teller.lock().unwrap().push((from, until))));
    assert!(is_told);
    let (ring, seen) = run(ring, vec![(10_000, 1, frame(1, MAC[2], 1000, 1)), (10_000, 2, frame(2, MAC[0], 1000, 2))]);
    let told = told.lock().unwrap();
    assert_eq!(told.first().map(|(from, _)| *from), Some(ns(10_000)));
    assert!(told.windows(2).all(|pair| pair[0].1 == pair[1].0), "{told:?}");
    // Until the last of the two has left; much longer than the two frames take.
    let last =
        seen.sent.iter().map(|(at, ..)| *at).max().unwrap_or_else(|| seen.frames.iter().map(|it| it.0).min().unwrap());
    let busy = told.iter().fold(Duration::ZERO, |sum, (from, until)| sum + until.saturating_since(*from));
    assert!(told.last().unwrap().1 <= ns(last), "{told:?} {seen:?}");
    let sent = ring.counters().into_iter().find(|(name, _)| *name == "busy_ns").unwrap().1;
    assert!(busy.as_nanos() > sent + 90_000, "{busy:?} {sent}");
}
