//! Super-segments: what becomes of each packet does not depend on who has put it together with others.

use kumiki_link::offload;
use kumiki_octets::{Checksum, Meta};

use super::*;
use crate::statistics::Statistics;

const HEADERS: usize = 40;
const SIZE: usize = 1000;

/// A super-segment of IPv4 and TCP with `text` octets behind it, its checksum yet to be written.
fn whole(seq: u32, text: usize) -> Message {
    let total = u16::try_from(HEADERS + text).unwrap();
    let mut octets = vec![0x45, 0, 0, 0, 0, 7, 0, 0, 64, 6, 0, 0, 198, 18, 0, 2, 192, 0, 2, 1];
    octets[2..4].copy_from_slice(&total.to_be_bytes());
    octets.extend([0x10, 0, 0, 80]);
    octets.extend(seq.to_be_bytes());
    octets.extend([0, 0, 0, 9, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    octets.extend((0..text).map(|at| u8::try_from(at % 251).unwrap()));
    let mut message = Message::from_octets(&octets);
    let checksum = Checksum::Partial { start: 20, field: 16 };
    let (segment_size, header_len) = if text > SIZE { (SIZE, HEADERS) } else { (0, 0) };
    *message.meta_mut() = Meta {
        segment_size: u16::try_from(segment_size).unwrap(),
        header_len: u16::try_from(header_len).unwrap(),
        ace: false,
        checksum,
    };
    message
}

/// The packets that it is.
fn packets(whole: &Message) -> Vec<Message> {
    let mut packets = Vec::new();
    assert!(offload::cut(whole.clone(), |packet| packets.push(packet)));
    packets
}

/// What has left, as packets: when, and the octets.
fn left_as_packets(path: &mut Path, from: usize) -> Vec<(Instant, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(unit) = path.take(from) {
        path.counted(from).went(&unit.ticket(), unit.due);
        all.extend(packets(&unit.data).iter().map(|packet| (unit.due, packet.to_vec())));
    }
    all
}

/// Offers super-segments of 1 to 20 packets and single packets, as they are or as packets. Returns what has left, and
/// what was counted.
fn crossed(lines: &[&str], takes: bool, apart: bool) -> (Vec<(Instant, Vec<u8>)>, Statistics, usize) {
    let mut path = path(lines);
    path.leave_whole(0, takes);
    let mut left = Vec::new();
    for number in 0..300_u32 {
        let text = usize::try_from(number * 7919 % 20_000).unwrap() + 1;
        let (unit, at) = (whole(number << 16, text), us(u64::from(number) * 4000));
        if apart {
            for packet in packets(&unit) {
                path.offer(at, 0, packet);
            }
        } else {
            path.offer(at, 0, unit);
        }
        left.extend(left_as_packets(&mut path, 0));
    }
    path.run(us(100_000_000));
    let mut units = 0;
    let mut rest = Vec::new();
    while let Some(unit) = path.take(0) {
        units += 1;
        path.counted(0).went(&unit.ticket(), unit.due);
        rest.extend(packets(&unit.data).iter().map(|packet| (unit.due, packet.to_vec())));
    }
    left.extend(rest);
    let [statistics, _] = path.statistics();
    (left, statistics, units)
}

#[test]
fn packets_that_came_as_one_meet_the_fates_of_packets_that_came_apart() {
    for line in [
        "a>b delay 2s",
        "a>b loss 10% delay 3ms",
        "a>b loss gilbert 5% 30% duplicate 5% jitter 2ms normal",
        "a>b rate 20Mb/s queue 30 packets",
        "a>b rate 20Mb/s queue codel delay 4ms",
        "a>b rate 20Mb/s queue fq-codel 40 packets corrupt 10%",
        "a>b rate 20Mb/s queue pie none",
        "a>b queue pie loss 1%",
        "a>b reorder 5% behind 3 duplicate 3%",
        "a>b jitter 20ms order free",
    ] {
        let apart = crossed(&[line], false, true);
        assert!(apart.0.len() > 1000, "{line}: {}", apart.0.len());
        for takes in [false, true] {
            let (left, statistics, _) = crossed(&[line], takes, false);
            assert_eq!(left, apart.0, "{line}");
            assert_eq!(statistics, apart.1, "{line}");
        }
    }
}

#[test]
fn a_path_that_only_delays_leaves_super_segments_whole_where_they_are_taken() {
    let (_, _, units) = crossed(&["a>b delay 2s queue 3 packets order free"], true, false);
    assert_eq!(units, 300);
    for line in ["a>b delay 2s loss 0.001%", "a>b delay 2s queue pie", "a>b delay 2s rate 900Mb/s queue none"] {
        let (_, statistics, units) = crossed(&[line], true, false);
        assert_eq!(u64::try_from(units).unwrap(), statistics.packets_out, "{line}");
    }
    let (_, statistics, units) = crossed(&["a>b delay 2s"], false, false);
    assert_eq!(u64::try_from(units).unwrap(), statistics.packets_out);
    // A checksum that is yet to be written is for one alone who takes such.
    for (takes, line, complete) in
        [(true, "a>b delay 1ms", false), (false, "a>b delay 1ms", true), (true, "a>b corrupt 100%", true)]
    {
        let mut path = path(&[line]);
        path.leave_whole(0, takes);
        path.offer(us(0), 0, whole(1, 100));
        path.run(us(1000));
        let unit = path.take(0).unwrap();
        assert_eq!(offload::is_packet(&unit.data), complete, "{line}");
    }
}

#[test]
fn a_super_segment_is_cut_from_when_the_path_does_more() {
    let mut path = path(&["a>b delay 10ms"]);
    path.leave_whole(0, true);
    let set = |path: &mut Path, at, line| {
        let (way, changes) = changes(line);
        path.set(us(at), way, &changes);
    };
    let units = |path: &mut Path, until| {
        path.run(us(until));
        std::iter::from_fn(|| path.take(0)).map(|unit| unit.due.as_nanos() / 1000).collect::<Vec<u64>>()
    };
    path.offer(us(0), 0, whole(0, 3000));
    assert_eq!(path.statistics()[0].in_flight, 3);
    set(&mut path, 1, "a>b loss 100%");
    path.offer(us(1), 0, whole(3000, 3000));
    // What has come keeps its fate.
    assert_eq!(units(&mut path, 20_000), [10_000]);
    assert_eq!(path.statistics()[0].lost, 3);
    // As long as a unit is on the line, it is a line with a rate: 1040 octets at 8 Mb/s take 1.04 ms.
    set(&mut path, 20_000, "a>b loss none delay 0 rate 8Mb/s");
    path.offer(us(20_000), 0, whole(6000, 1000));
    set(&mut path, 20_001, "a>b rate none");
    path.offer(us(20_001), 0, whole(7000, 2000));
    path.offer(us(21_041), 0, whole(9000, 2000));
    assert_eq!(units(&mut path, 21_041), [21_040, 21_040, 21_040, 21_041]);
    // A recording is a line too.
    path.follow(0, Arc::new(Opportunities::parse("1\n").unwrap()));
    path.offer(us(30_000), 0, whole(11_000, 2000));
    assert_eq!(units(&mut path, 90_000).len(), 2);
    set(&mut path, 90_000, "a>b rate none");
    path.offer(us(90_000), 0, whole(13_000, 2000));
    assert_eq!(units(&mut path, 90_000), [90_000]);
    // One that waits for three others to pass counts packets.
    set(&mut path, 90_000, "a>b reorder 100% behind 3");
    path.offer(us(90_000), 0, whole(15_000, 1000));
    set(&mut path, 90_000, "a>b reorder none delay 1ms");
    path.offer(us(90_000), 0, whole(16_000, 2000));
    path.offer(us(90_000), 0, whole(18_000, 2000));
    path.offer(us(90_000), 0, whole(20_000, 2000));
    assert_eq!(units(&mut path, 95_000), [91_000; 6]);
}

/// A device that takes super-segments.
struct Taker(MemoryDevice);

impl RealDevice for Taker {
    fn descriptors(&self) -> Descriptors<'_> {
        self.0.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        self.0.receive()
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        self.0.send(packet, to)
    }

    fn takes_super_segments(&self) -> bool {
        true
    }
}

#[test]
fn the_loop_hands_super_segments_to_devices_that_take_them() {
    let (a, b) = (MemoryDevice::with(0, 99), MemoryDevice::with(0, 99));
    for shelf in [&a, &b] {
        shelf.0.lock().unwrap().gives.push_back(Arrival::of(whole(0, 3000)));
    }
    let devices: [Box<dyn RealDevice>; 2] = [Box::new(a.clone()), Box::new(Taker(b.clone()))];
    let mut engine = Engine::new(ManualClock::default(), devices, path(&["both delay 1ms"]), Vec::new()).unwrap();
    engine.run(Some(us(2000)), || false).unwrap();
    let lengths = |shelf: &MemoryDevice| shelf.0.lock().unwrap().got.iter().map(Message::len).collect::<Vec<usize>>();
    assert_eq!((lengths(&a), lengths(&b)), (vec![1040; 3], vec![3040]));
    let [there, back] = engine.path().statistics();
    assert_eq!((there.packets_out, there.octets_out), (3, 3120));
    assert_eq!(there, back);
}

/// What the far end of a path is handed that loses some packets, of two connections in turn, and what was counted.
fn handed(takes_super_segments: bool) -> (Vec<Message>, Statistics) {
    let (a, b) = (MemoryDevice::with(0, 9), MemoryDevice::with(0, 9999));
    b.0.lock().unwrap().takes_super_segments = takes_super_segments;
    let other = |message: &Message| {
        let mut octets = message.to_vec();
        octets[20] = 0x20;
        let mut other = Message::from_octets(&octets);
        *other.meta_mut() = *message.meta();
        other
    };
    for number in 0..40 {
        let unit = whole(number * 15_500, 15_500);
        let mut stock = a.0.lock().unwrap();
        stock.gives.push_back(Arrival::of(other(&unit)));
        stock.gives.push_back(Arrival::of(unit));
    }
    let mut engine = engine(&a, &b, &["a>b delay 5ms loss 4% corrupt 2%"], &[]);
    engine.run(Some(us(30_000)), || false).unwrap();
    let got = core::mem::take(&mut b.0.lock().unwrap().got);
    let [statistics, _] = engine.path().statistics();
    (got, statistics)
}

#[test]
fn what_leaves_at_once_is_put_together_for_who_takes_it() {
    let (alone, counted) = handed(false);
    assert!(alone.iter().all(|unit| unit.meta().segment_size == 0) && alone.len() > 1000, "{}", alone.len());
    let (together, also) = handed(true);
    assert!(also == counted, "each packet is counted by itself");
    // Around what was lost or corrupted.
    assert!((80..500).contains(&together.len()), "{}", together.len());
    let octets = |messages: &[Message]| -> Vec<Vec<u8>> {
        messages.iter().flat_map(packets).map(|packet| packet.to_vec()).collect()
    };
    assert!(octets(&together) == octets(&alone), "the packets, and in their order");
    let sums = together.iter().filter(|unit| unit.meta().segment_size != 0).map(|unit| unit.meta().checksum);
    assert!(
        sums.clone().count() > 50
            && sums.into_iter().all(|sum| matches!(sum, Checksum::Partial { start: 20, field: 16 }))
    );
}
