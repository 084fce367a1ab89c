//! The path in virtual time, lines, ends, and the loop between devices in memory.

use std::collections::VecDeque;
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};

use kumiki_graph::Address;
use kumiki_io::{Arrival, Descriptors, ManualClock, Sent};
use kumiki_octets::Message;
use proptest::prelude::*;

use super::command::{Change, Directions};
use super::settings::{Loss, Queue, Reorder, Settings};
use super::*;
use kumiki_config::quantity::{Octets, Share};
use kumiki_media::Rule;

mod whole;

const fn us(n: u64) -> Instant {
    Instant::from_nanos(n * 1000)
}

/// What a line sets.
fn changes(line: &str) -> (Directions, Vec<Change>) {
    match Command::parse(line) {
        Ok(Command::Set(way, changes)) => (way, changes),
        other => panic!("{line}: {other:?}"),
    }
}

fn path(lines: &[&str]) -> Path {
    let mut path = Path::new(7);
    for line in lines {
        let (way, changes) = changes(line);
        path.set(Instant::ZERO, way, &changes);
    }
    path
}

fn unit(octets: usize, tag: u8) -> Message {
    Message::from_octets(&vec![tag; octets])
}

/// Takes what has left: due time in us, first octet.
fn left(path: &mut Path, from: usize) -> Vec<(u64, u8)> {
    std::iter::from_fn(|| path.take(from)).map(|unit| (unit.due.as_nanos() / 1000, unit.data.to_vec()[0])).collect()
}

#[test]
fn a_unit_is_put_on_the_line_first_and_delayed_then() {
    // 1000 octets at 8 Mb/s are 1 ms; each way has settings of its own.
    let mut path = path(&["a>b rate 8Mb/s delay 10ms", "b>a delay 3 ms"]);
    path.offer(us(0), 0, unit(1000, 1));
    path.offer(us(0), 0, unit(1000, 2));
    path.offer(us(0), 1, unit(1000, 3));
    path.run(us(100_000));
    assert_eq!(left(&mut path, 0), [(11_000, 1), (12_000, 2)]);
    assert_eq!(left(&mut path, 1), [(3_000, 3)]);
}

#[test]
fn what_comes_to_the_end_of_a_line_that_is_down_is_lost_until_it_is_up() {
    let mut path = path(&["both delay 10ms loss 0.0001%", "a>b state down"]);
    assert_eq!(path.settings(0).to_string(), "loss 1 ppm delay 10 ms state down");
    for from in [0, 1] {
        path.offer(us(0), from, unit(100, 1));
    }
    path.run(us(20_000));
    assert_eq!((left(&mut path, 0), left(&mut path, 1)), (vec![], vec![(10_000, 1)]));
    let (way, up) = changes("both state up");
    path.set(us(20_000), way, &up);
    path.offer(us(20_000), 0, unit(100, 2));
    path.run(us(40_000));
    assert_eq!(left(&mut path, 0), [(30_000, 2)]);
    assert_eq!(path.settings(0).to_string(), "loss 1 ppm delay 10 ms");
}

/// A bench has found units that left at once, since one had come while another was leaving the line.
#[test]
fn units_that_come_together_and_late_are_all_delayed() {
    let mut path = path(&["both delay 20ms"]);
    path.offer(us(500), 0, unit(100, 1));
    path.run(us(30_000));
    // Read late: they came before the last thing that happened.
    for (at, tag) in [(19_000, 2), (19_500, 3), (20_400, 4), (20_600, 5)] {
        path.offer(us(at), 0, unit(100, tag));
    }
    path.run(us(100_000));
    let due = [(20_500, 1), (40_500, 2), (40_500, 3), (40_500, 4), (40_600, 5)];
    assert_eq!(left(&mut path, 0), due);
}

#[test]
fn how_late_the_caller_is_changes_no_due_time() {
    let lines = [
        "both rate 10Mb/s queue 20 packets loss 5% duplicate 5% delay 5ms jitter 3ms normal",
        "b>a order free reorder 10% by 4ms",
    ];
    let run = |step: u64| {
        let mut path = path(&lines);
        let mut times: [Vec<(u64, u8)>; 2] = Default::default();
        for number in 0..2000_u64 {
            let from = usize::from(number % 3 == 0);
            path.offer(us(number * 400), from, unit(900, (number % 251) as u8));
            if number % step == 0 {
                path.run(us(number * 400));
                for (from, times) in times.iter_mut().enumerate() {
                    times.extend(left(&mut path, from));
                }
            }
        }
        path.run(us(10_000_000));
        for (from, times) in times.iter_mut().enumerate() {
            times.extend(left(&mut path, from));
        }
        assert_eq!(path.next_deadline(), None);
        times
    };
    let prompt = run(1);
    assert!(prompt[0].len() > 1000 && prompt[1].len() > 500);
    assert_eq!(run(7), prompt);
    assert_eq!(run(977), prompt);
}

#[test]
fn what_is_under_way_keeps_its_fate_when_settings_change() {
    let mut path = path(&["a>b rate 8Mb/s delay 10ms queue 2 packets"]);
    for tag in 1..=4 {
        // The first is on the line, two wait, and there is no room for the fourth.
        path.offer(us(0), 0, unit(1000, tag));
    }
    let (way, faster) = changes("a>b rate 80Mb/s delay 1ms loss 100% queue 1 packets");
    path.set(us(500), way, &faster);
    path.offer(us(500), 0, unit(1000, 5));
    path.run(us(999));
    assert!(left(&mut path, 0).is_empty());
    let (way, kind) = changes("a>b loss none");
    path.set(us(999), way, &kind);
    path.run(us(100_000));
    // On the line until 1 ms as at the beginning, then a tenth of that each; delay and loss are those at the end of the
    // line.
    assert_eq!(left(&mut path, 0), [(2_000, 1), (2_100, 2), (2_200, 3)]);
    let [statistics, _] = path.statistics();
    assert_eq!((statistics.packets_in, statistics.dropped), (5, 2));
    assert_eq!((statistics.lost, statistics.in_flight), (0, 0));
    assert_eq!(statistics.longest_queue, (2, 2000));
}

/// Hands over all that has left as it is due.
fn hand_over(path: &mut Path, late: Duration) {
    for from in [0, 1] {
        while let Some(unit) = path.take(from) {
            let at = unit.due + late;
            path.counted(from).went(&unit.ticket(), at);
        }
    }
}

#[test]
fn units_are_counted_by_what_became_of_them() {
    let mut path = path(&["a>b loss 10% duplicate 10% reorder 10% behind 2 delay 2ms corrupt 10%"]);
    for number in 0..10_000_u64 {
        path.offer(us(number * 10), 0, unit(100, 0));
    }
    path.run(us(100_000_000));
    let late = Duration::from_micros(30);
    hand_over(&mut path, late);
    let [a, b] = path.statistics();
    assert_eq!(a.packets_in, 10_000);
    assert_eq!(a.octets_in, 1_000_000);
    // Ten in a hundred, within five deviations (30 each).
    for count in [a.lost, a.duplicated * 10_000 / (10_000 - a.lost)] {
        assert!((850..1150).contains(&count), "{count}");
    }
    assert_eq!(a.packets_out, a.packets_in - a.lost + a.duplicated);
    assert!(a.reordered > 700 && a.reordered <= a.held, "{} of {}", a.reordered, a.held);
    assert!(a.corrupted > 800);
    assert_eq!(a.intended.least(), Duration::from_millis(2));
    assert_eq!(a.measured.least(), Duration::from_millis(2) + late);
    assert_eq!((a.late.least(), a.late.most()), (late, late));
    assert_eq!(b, Default::default());
    // From nothing again, and what comes then is counted alone.
    path.reset();
    assert_eq!(path.statistics()[0], Default::default());
    path.offer(us(100_000_000), 0, unit(10, 0));
    assert_eq!(path.statistics()[0].packets_in, 1);
}

#[test]
fn too_many_under_way_are_dropped_and_counted() {
    let mut path = path(&["both delay 1h"]);
    let one = unit(1, 0);
    for _ in 0..MOST_UNITS + 5 {
        path.offer(us(0), 0, one.clone());
    }
    let [a, _] = path.statistics();
    assert_eq!(a.no_room, 5);
    assert_eq!(a.in_flight, MOST_UNITS as u64);
}

#[test]
fn what_is_under_way_has_a_bound_in_octets_too() {
    let mut path = Path::new(1).with_memory(10_000_000);
    let long = Message::from_octets(&[1; 60_000]);
    for line in ["both delay 1s", "a>b rate 1Mb/s queue none"] {
        let (way, changes) = changes(line);
        path.set(us(0), way, &changes);
    }
    // Those that wait for the line, those that are delayed, and those of the other direction have it together.
    for number in 0..1000 {
        path.offer(us(number), 0, long.clone());
        path.offer(us(number), 1, long.clone());
    }
    let [a, b] = path.statistics();
    let held = (a.in_flight + b.in_flight) * 120_512;
    assert!((9_700_000..=10_200_000).contains(&held), "{held}");
    assert!(a.no_room > 900 && b.no_room > 900);
    // One is on the line.
    assert_eq!((a.packets_in, a.no_room + a.in_flight), (1000, 999));
    // Whatever leaves makes room, also where nobody has taken it yet.
    path.run(us(1_500_000));
    path.offer(us(1_500_000), 1, long.clone());
    assert_eq!(path.statistics()[1].no_room, b.no_room + 1);
    while path.take(1).is_some() {}
    path.offer(us(1_500_001), 1, long);
    let [_, b] = path.statistics();
    assert_eq!(b.in_flight, 1);
}

/// Such a datagram comes in a page of 16 KiB.
#[test]
fn the_bound_is_one_of_memory() {
    let mut path = Path::new(1).with_memory(10_000_000);
    let (way, changes) = changes("both delay 1s");
    path.set(us(0), way, &changes);
    for number in 0..10_000 {
        path.offer(us(number), 0, Message::from_octets(&[1; 2049]));
    }
    path.run(us(2_000_000));
    let (mut units, mut held) = (0, 0);
    while let Some(unit) = path.take(0) {
        (units, held) = (units + 1, held + unit.data.held());
    }
    assert!(units > 2_000 && held < 10_000_000, "{units} {held}");
}

#[test]
fn lines_set_what_they_say() {
    let percent = |n: u64| Share::from_parts_per_trillion(n * 10_000_000_000);
    let of = |line: &str| {
        let mut settings = Settings::default();
        for change in changes(line).1 {
            change.apply(&mut settings);
        }
        settings
    };
    let all = of(
        "a>b delay 50ms jitter 5 ms pareto order free loss gilbert 1% 30 % duplicate 2% corrupt 3% reorder 4% behind 3 2s \
         rate 45Mb/s queue 64KiB overhead 38 B # and so on",
    );
    assert_eq!(all.delay, Duration::from_millis(50));
    assert_eq!((all.jitter, all.spread), (Duration::from_millis(5), kumiki_link::Spread::Pareto));
    let bursts = Loss::Gilbert { to_bad: percent(1), to_good: percent(30), bad: percent(100), good: percent(0) };
    assert_eq!((all.overtake, all.loss), (true, bursts));
    assert_eq!((all.duplicate, all.corrupt), (percent(2), percent(3)));
    let behind = Reorder::Behind(3, Duration::from_secs(2));
    assert_eq!(all.reorder, Some((percent(4), behind)));
    assert_eq!(all.queue, Queue::Octets(Octets::new(65_536)));
    assert_eq!(of("both queue 100 packets delay 0").queue, Queue::Packets(100));
    let managed = |line: &str| (of(line).rule, of(line).queue);
    assert_eq!(managed("up queue fq-codel"), (Rule::FqCodel, Queue::Packets(10_240)));
    assert_eq!(managed("down queue codel 64KiB"), (Rule::Codel, Queue::Octets(Octets::new(65_536))));
    assert_eq!(managed("both queue pie none loss 1%"), (Rule::Pie, Queue::Unlimited));
    assert_eq!(managed("both queue codel queue drop-tail"), (Rule::DropTail, Queue::Packets(1000)));
    assert_eq!(of("ab delay 5ms clear"), Settings::default());
    for (part, percent) in [("loss 0.01", "loss 1 %"), ("loss gilbert 0.001 0.2", "loss gilbert 0.1% 20%")] {
        let (part, percent) = (format!("both {part}"), format!("both {percent}"));
        assert_eq!(of(&part), of(&percent));
    }
    let time = Command::parse_timed("1.5 s both delay 1ms").unwrap().unwrap();
    assert_eq!(time.0, us(1_500_000));
    assert_eq!(Command::parse_timed("  # nothing"), Ok(None));
    assert_eq!(Command::parse("stats json"), Ok(Command::Stats { json: true }));
}

#[test]
fn settings_are_printed_as_they_are_written() {
    for line in [
        "clear",
        "queue fq-codel 10240 packets",
        "queue codel 64 KiB delay 5 ms",
        "queue none",
        "rate 8 Mb/s queue pie 7 packets",
    ] {
        let mut settings = Settings::default();
        for change in changes(&format!("both {line}")).1 {
            change.apply(&mut settings);
        }
        assert_eq!(settings.to_string(), line);
    }
}

/// A queue that stands for a second is none of CoDel's: it drops though there is room, and a change of the delay does
/// not make it forget.
#[test]
fn a_managed_queue_gives_up_what_has_waited_for_too_long() {
    let dropped = |rule: &str| {
        let mut path = path(&[&format!("a>b rate 8Mb/s queue {rule} none")]);
        for number in 0..2000_u64 {
            path.offer(us(number * 500), 0, unit(1000, 1));
            if number % 100 == 0 {
                let (way, changes) = changes("a>b delay 1ms");
                path.set(us(number * 500), way, &changes);
            }
        }
        path.run(us(10_000_000));
        let [there, _] = path.statistics();
        assert_eq!(there.no_room, 0);
        there.dropped
    };
    assert_eq!(dropped("drop-tail"), 0);
    assert!(dropped("codel") > 10);
    assert!(dropped("fq-codel") > 10);
    assert!(dropped("pie") > 10);
}

#[test]
fn a_recording_takes_the_place_of_the_rate() {
    let mut path = path(&["a>b rate 1kb/s delay 10ms"]);
    path.follow(0, Arc::new(Opportunities::parse("5\n5\n20\n").unwrap()));
    for tag in 1..=4 {
        path.offer(us(0), 0, unit(1500, tag));
    }
    path.run(us(100_000));
    assert_eq!(left(&mut path, 0), [(15_000, 1), (15_000, 2), (30_000, 3), (35_000, 4)]);
    assert_eq!(path.told(0), "trace (1.8 Mb/s on average) delay 10 ms");
    let set = |path: &mut Path, line| {
        let (way, changes) = changes(line);
        path.set(us(100_000), way, &changes);
    };
    set(&mut path, "a>b delay 0");
    assert_eq!(path.told(0), "trace (1.8 Mb/s on average)");
    set(&mut path, "a>b rate 1Mb/s");
    assert_eq!(path.told(0), "rate 1 Mb/s");
}

#[test]
fn mistakes_are_answered_with_what_would_be_right() {
    for (line, part) in [
        ("delay 50ms", "there are a>b, b>a, both"),
        ("stat", "try stats"),
        ("stats now", "`now` is too much"),
        ("a>b", "a setting follows the direction"),
        ("a>b dely 50ms", "try delay"),
        ("a>b delay", "delay: a time is missing"),
        ("a>b delay 50", "no unit"),
        ("a>b delay 50ms 60ms", "`60ms` is no setting"),
        ("a>b delay 2h", "3600 s is the most"),
        ("a>b loss 101%", "100 % is the most"),
        ("a>b loss much", "gilbert TO_BAD TO_GOOD"),
        ("a>b loss gilbert 1%", "loss: a share is missing"),
        ("a>b rate 0b/s", "loss 100%"),
        ("a>b rate 5MB/s", "try Mb/s"),
        ("a>b queue 100", "100 packets"),
        ("a>b jitter 5ms gauss", "`gauss` is no setting, and no way to spread; there are uniform, normal"),
        ("a>b jitter 5ms noraml", "try normal"),
        ("a>b jitter 5ms dely 5ms", "try delay"),
        ("a>b queue fq_codel", "try fq-codel"),
        ("a>b queue", "a length is missing"),
        ("a>b loss 1", "\"1\": no unit; write 1% or 100%"),
        ("a>b loss 5", "\"5\": no unit; write 5%"),
        ("a>b loss 500", "\"500\": no unit; try"),
        ("a>b duplicate 1.0", "\"1.0\": no unit; write 1% or 100%"),
        ("a>b loss gilbert 0.1% 1", "write 1% or 100%"),
        ("a>b reorder 1 by 5ms", "write 1% or 100%"),
        ("a>b order random", "kept or free"),
        ("a>b reorder 1%", "by 5ms"),
        ("a>b reorder 1% behind 0", "behind one other"),
        ("a>b overhead 1MiB", "65535 B"),
    ] {
        let said = Command::parse(line).unwrap_err();
        assert!(said.contains(part), "{line}: {said}");
    }
    let ways = ["up", "down"];
    let said = Command::parse_as("downs rate 1Mb/s", ways).unwrap_err();
    assert!(said.contains("there are up, down, both, stats") && said.ends_with("try down"), "{said}");
    let said = Command::parse_timed_as("1s down", ways).unwrap_err();
    assert!(said.contains("as in up delay 50ms"), "{said}");
    let said = Change::parse_value("rate", "fast").unwrap_err();
    assert!(said.starts_with("\"fast\": "), "{said}");
    let said = Change::parse_all("# nothing").unwrap_err();
    assert!(said.contains("as in 'delay 50ms'"), "{said}");
    assert_eq!(Change::parse_value("loss", "0 delay 5ms").unwrap().len(), 2);
    let said = Command::parse_timed("10s").unwrap_err();
    assert!(said.contains("10s both delay 100ms"), "{said}");
    for (end, part) in [
        ("eth0", "tun:NAME"),
        ("ton:d0", "`ton` is no kind of end"),
        ("udp:", "is no address of a socket"),
        ("udp:5001,localhost:5002", "such as 5001"),
        ("udp:5001,[::1]:5002", "different versions"),
        ("udp:5001,0", "port 0 is no remote port"),
        ("tun:d0,mtu=20", "from 68"),
        ("tap:d0,speed=9", "mtu=9000"),
    ] {
        let said = end.parse::<End>().unwrap_err();
        assert!(said.contains(part), "{end}: {said}");
    }
}

#[test]
fn ends_are_printed_as_they_are_written() {
    for end in [
        "tun:d0",
        "tap:d0,mtu=9000,up",
        "tun:d0,mtu=1400,addr=10.9.0.1/24",
        "udp:127.0.0.1:5001",
        "udp:[::1]:5001,[::1]:5002",
    ] {
        assert_eq!(end.parse::<End>().unwrap().to_string(), end);
    }
    let beyond: End = "udp:5001,10.0.0.1:9".parse().unwrap();
    assert!(beyond.keep_to_loopback().unwrap_err().contains("10.0.0.1:9"));
    let near: End = "udp:[::1]:5001".parse().unwrap();
    assert_eq!(near.keep_to_loopback(), Ok(()));
}

proptest! {
    #[test]
    fn any_line_is_read_or_refused_with_a_sentence(line in "(a>b|both)? ?([a-z0-9%. ]|delay |loss |queue |reorder |jitter |rate |gilbert |behind ){0,12}") {
        match Command::parse(&line) {
            Ok(Command::Set(_, all)) => {
                // What is printed is read as the same.
                let mut settings = Settings::default();
                for change in all {
                    change.apply(&mut settings);
                }
                let mut again = Settings::default();
                for change in changes(&format!("both {settings}")).1 {
                    change.apply(&mut again);
                }
                // Without jitter its spread is not printed.
                again.spread = settings.spread;
                prop_assert_eq!(again, settings);
            }
            Ok(_) => {}
            Err(why) => prop_assert!(!why.is_empty()),
        }
    }
}

/// A device in memory: what it gives and when, and what it got.
#[derive(Clone, Default)]
struct MemoryDevice(Arc<Mutex<Stock>>);

#[derive(Default)]
struct Stock {
    gives: VecDeque<Arrival>,
    got: Vec<Message>,
    room: usize,
    takes_super_segments: bool,
}

impl MemoryDevice {
    fn with(units: u8, room: usize) -> Self {
        let gives = (0..units).map(|tag| Arrival::of(unit(10, tag))).collect();
        let got = Vec::new();
        Self(Arc::new(Mutex::new(Stock { gives, got, room, takes_super_segments: false })))
    }

    fn got(&self) -> Vec<u8> {
        let stock = self.0.lock().unwrap();
        stock.got.iter().map(|unit| unit.to_vec()[0]).collect()
    }
}

impl RealDevice for MemoryDevice {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::default()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        Ok(self.0.lock().unwrap().gives.pop_front())
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        let mut stock = self.0.lock().unwrap();
        if packet.to_vec()[0] == 66 {
            return Ok(Sent::Refused);
        }
        if stock.room == 0 {
            return Ok(Sent::Full);
        }
        stock.room -= 1;
        stock.got.push(packet.clone());
        Ok(Sent::Taken)
    }

    fn takes_super_segments(&self) -> bool {
        self.0.lock().unwrap().takes_super_segments
    }
}

fn engine(a: &MemoryDevice, b: &MemoryDevice, lines: &[&str], schedule: &[&str]) -> Engine<ManualClock> {
    let devices: [Box<dyn RealDevice>; 2] = [Box::new(a.clone()), Box::new(b.clone())];
    let schedule = schedule.iter().filter_map(|line| Command::parse_timed(line).unwrap()).collect();
    Engine::new(ManualClock::default(), devices, path(lines), schedule).unwrap()
}

#[test]
fn the_loop_carries_both_ways_at_the_due_times() {
    let (a, b) = (MemoryDevice::with(100, 99), MemoryDevice::with(3, 99));
    let mut engine = engine(&a, &b, &["a>b delay 20ms", "b>a delay 5ms"], &[]);
    let ended = engine.run(Some(us(19_999)), || false).unwrap();
    assert_eq!(ended, EngineEnd::TimedOut);
    assert_eq!((a.got(), b.got()), (vec![0, 1, 2], vec![]));
    engine.run(Some(us(30_000)), || false).unwrap();
    // One is refused, as a device does that is down.
    let [to_b, to_a] = engine.path().statistics();
    assert_eq!((to_b.packets_out, to_b.refused, to_a.packets_out), (99, 1, 3));
    // The clock of the test is never late.
    assert_eq!(to_b.intended.most(), Duration::from_millis(20));
    assert_eq!(to_b.late.most(), Duration::ZERO);
}

#[test]
fn what_finds_no_room_in_a_full_device_waits_and_then_is_dropped_and_counted() {
    let (a, b) = (MemoryDevice::with(0, 9), MemoryDevice::with(0, 0));
    let offer = |len, many: usize| {
        let mut stock = a.0.lock().unwrap();
        stock.gives.extend((0..many).map(|_| Arrival::of(unit(len, 1))));
    };
    let mut engine = engine(&a, &b, &[], &[]);
    let passes = |engine: &mut Engine<ManualClock>| while engine.pass().unwrap() {};
    // 258 of 65,000 octets leave 7216 of 16 MiB: the next does not fit, and a short one behind it does.
    offer(65_000, 257);
    passes(&mut engine);
    offer(65_000, 2);
    offer(100, 1);
    passes(&mut engine);
    let [to_b, _] = engine.path().statistics();
    assert_eq!((to_b.overflowed, to_b.packets_out), (1, 0));
    // 1000 may wait.
    offer(1, 800);
    passes(&mut engine);
    let [to_b, _] = engine.path().statistics();
    assert_eq!((to_b.overflowed, to_b.packets_out), (60, 0));
    b.0.lock().unwrap().room = 2000;
    passes(&mut engine);
    let [to_b, _] = engine.path().statistics();
    assert_eq!((to_b.overflowed, to_b.packets_out), (60, 1000));
    assert_eq!(b.0.lock().unwrap().got.iter().filter(|one| one.len() == 65_000).count(), 258);
}

#[test]
fn a_schedule_may_end_it() {
    let (a, b) = (MemoryDevice::with(1, 9), MemoryDevice::with(0, 9));
    let mut engine = engine(&a, &b, &[], &["5ms quit", "7ms a>b loss 100%"]);
    assert_eq!(engine.run(Some(us(100_000)), || false).unwrap(), EngineEnd::Quit);
    assert_eq!(engine.path().settings(0).to_string(), "clear");
}

#[test]
fn answers_to_lines_of_a_schedule_are_told() {
    let (a, b) = (MemoryDevice::with(0, 9), MemoryDevice::with(0, 9));
    let schedule = ["1ms a>b delay 7ms", "2ms settings", "3ms stats"];
    for json in [false, true] {
        let told = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&told);
        let engine = engine(&a, &b, &[], &schedule);
        let mut engine = engine.telling(json, move |text| into.lock().unwrap().push(text.to_owned()));
        engine.run(Some(us(5000)), || false).unwrap();
        let told = told.lock().unwrap();
        let settings = if json {
            r#"{"a>b":"delay 7 ms","b>a":"clear","changed_seconds":0.001,"event":"settings"}"#
        } else {
            "a>b delay 7 ms\nb>a clear"
        };
        assert_eq!(told[0], settings);
        assert!(told.len() == 2 && told[1].contains("a>b"), "{told:?}");
    }
}

#[test]
fn what_finds_no_room_waits_in_order() {
    let (a, b) = (MemoryDevice::with(20, 0), MemoryDevice::with(0, 5));
    let mut engine = engine(&a, &b, &[], &[]);
    engine.run(Some(us(1000)), || false).unwrap();
    assert_eq!(b.got(), [0, 1, 2, 3, 4]);
    b.0.lock().unwrap().room = 100;
    engine.run(Some(us(2000)), || false).unwrap();
    assert_eq!(b.got(), (0..20).collect::<Vec<u8>>());
    // They had been due before.
    assert_eq!(engine.path().statistics()[0].late.most(), Duration::from_millis(1));
}

#[test]
fn the_schedule_changes_the_path_at_its_times_and_ends_nothing_that_waits() {
    let (a, b) = (MemoryDevice::with(1, 99), MemoryDevice::with(0, 99));
    let schedule = ["20ms a>b delay 1ms", "10ms a>b delay 30ms", "15ms b>a loss 5%"];
    let mut engine = engine(&a, &b, &["a>b delay 25ms"], &schedule);
    engine.run(Some(us(12_000)), || false).unwrap();
    assert_eq!(engine.path().settings(0).delay, Duration::from_millis(30));
    engine.run(Some(us(24_000)), || false).unwrap();
    assert_eq!(engine.path().settings(0).delay, Duration::from_millis(1));
    assert_eq!(engine.path().settings(1).to_string(), "loss 5 %");
    assert!(b.got().is_empty());
    engine.run(Some(us(26_000)), || false).unwrap();
    assert_eq!(b.got(), [0]);
    assert_eq!(engine.path().statistics()[0].measured.most(), Duration::from_millis(25));
}

#[test]
fn lines_from_a_socket_are_carried_out_and_answered() {
    kumiki_watchdog::minute();
    let place = std::env::temp_dir().join(format!("kumiki-delay-{}", std::process::id()));
    let (a, b) = (MemoryDevice::with(1, 9), MemoryDevice::with(0, 9));
    let devices: [Box<dyn RealDevice>; 2] = [Box::new(a), Box::new(b.clone())];
    let mut engine = Engine::new(RealClock::start(), devices, Path::new(1), Vec::new()).unwrap();
    let mut control = Control::listen(&place).unwrap();
    control.begin(engine.asking());
    let taken = Control::listen(&place).unwrap_err();
    assert!(taken.to_string().contains("another program listens there"), "{taken}");
    let asking = place.clone();
    let asker = std::thread::spawn(move || {
        ["a>b delay 7ms", "settings", "stats json", "a>b dely 1ms", "quit"]
            .map(|line| send(&asking, line).map_err(|why| why.why))
    });
    let ended = engine.run(None, || false).unwrap();
    assert_eq!(ended, EngineEnd::Quit);
    let [set, settings, stats, wrong, quit] = asker.join().unwrap();
    assert_eq!((set, quit), (Ok(String::new()), Ok(String::new())));
    assert_eq!(settings.unwrap(), "a>b delay 7 ms\nb>a clear\n");
    let stats: serde_json::Value = serde_json::from_str(&stats.unwrap()).unwrap();
    assert_eq!(stats["a>b"]["packets_in"], 1);
    assert!(wrong.unwrap_err().contains("try delay"));
    drop(control);
    let gone = send(&place, "stats").unwrap_err().to_string();
    assert!(gone.contains("--control"), "{gone}");
    // What an earlier run has left is replaced; what is no socket is not.
    drop(UnixDatagram::bind(&place).unwrap());
    drop(Control::listen(&place).unwrap());
    std::fs::write(&place, "text").unwrap();
    let other = Control::listen(&place).unwrap_err();
    assert!(other.to_string().contains("no socket"), "{other}");
    std::fs::remove_file(&place).unwrap();
}

#[test]
fn lines_of_an_input_are_answered_as_text_or_as_json() {
    kumiki_watchdog::minute();
    let (a, b) = (MemoryDevice::default(), MemoryDevice::default());
    let mut engine = engine(&a, &b, &[], &[]);
    let asking = engine.asking();
    let server = std::thread::spawn(move || {
        let lines = "both delay 5ms\n\nboth\nsettings";
        [OutputFormat::Text, OutputFormat::Json].map(|form| {
            let mut said = Vec::new();
            control::serve(lines.as_bytes(), &asking, form, |text| {
                said.push(text.to_owned());
            });
            let _ = asking.ask(Command::Nothing, false);
            said
        })
    });
    while !server.is_finished() {
        engine.run(Some(Instant::ZERO), || false).unwrap();
    }
    let [text, json] = server.join().unwrap();
    assert_eq!(text[..2], ["ok", "ok"]);
    assert!(text[2].starts_with("error: a setting follows"), "{}", text[2]);
    assert_eq!(text[3], "a>b delay 5 ms\nb>a delay 5 ms\nok");
    assert_eq!(json[0], r#"{"event":"done","line":"both delay 5ms"}"#);
    assert!(json[2].starts_with(r#"{"event":"error""#), "{}", json[2]);
    assert!(json[3].contains(r#""a>b":"delay 5 ms""#), "{}", json[3]);
    let long = "x".repeat(5000);
    let mut said = Vec::new();
    control::serve(long.as_bytes(), &engine.asking(), OutputFormat::Text, |text| {
        said.push(text.to_owned());
    });
    assert!(said[0].contains("4096 octets at most"), "{said:?}");
}

#[test]
fn datagrams_cross_between_two_sockets() {
    kumiki_watchdog::minute();
    let open = |far| kumiki_io::Udp::open("127.0.0.1:0".parse().unwrap(), far).unwrap();
    let peers = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let mut near = open(kumiki_io::RemoteEnd::First);
    near.tell_waits();
    let far = open(kumiki_io::RemoteEnd::Given(peers[1].local_addr().unwrap()));
    let (at, back) = (near.local(), far.local());
    let devices: [Box<dyn RealDevice>; 2] = [Box::new(near), Box::new(far)];
    let path = path(&["both delay 3ms"]);
    let mut engine = Engine::new(RealClock::start(), devices, path, Vec::new()).unwrap();
    let asking = engine.asking();
    let talk = std::thread::spawn(move || {
        let mut octets = [0; 2000];
        for number in 0..50_u8 {
            peers[0].send_to(&[number; 1500], at).unwrap();
            assert_eq!(peers[1].recv_from(&mut octets).unwrap(), (1500, back));
            assert_eq!(octets[..1500], [number; 1500]);
            peers[1].send_to(&[number], back).unwrap();
            assert_eq!(peers[0].recv_from(&mut octets).unwrap(), (1, at));
        }
        asking.ask(Command::Quit, false).unwrap().unwrap();
    });
    assert_eq!(engine.run(None, || false).unwrap(), EngineEnd::Quit);
    talk.join().unwrap();
    for way in engine.path().statistics() {
        assert_eq!((way.packets_in, way.packets_out, way.in_flight), (50, 50, 0));
        // Never early, however late.
        assert_eq!(way.intended.least(), Duration::from_millis(3));
        assert!(way.measured.least() >= Duration::from_millis(3));
    }
}
