#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use proptest::prelude::*;

use super::*;
use crate::testing::Bench;
use crate::{Carrier, DropTail, MarkFrom, Rate, Serial, SerialConfig};

fn station(n: u32) -> MacAddr {
    let [a, b, c, d] = n.to_be_bytes();
    MacAddr([2, 0, a, b, c, d])
}

/// A frame of `len` octets, its header among them.
fn frame(to: MacAddr, from: MacAddr, len: usize) -> Unit {
    let mut octets = vec![0; len.max(LEN)];
    octets[..6].copy_from_slice(&to.0);
    octets[6..12].copy_from_slice(&from.0);
    octets[12] = 8;
    octets.truncate(len);
    Unit::Frame { data: Message::from_octets(&octets), address: Address::NONE }
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// The ports by which a frame leaves at once that comes by `port`.
fn out(switch: &mut Switch, now: Instant, port: usize, unit: Unit) -> Vec<usize> {
    let mut out = Outlet::default();
    switch.offer(now, port, unit, &mut out);
    out.drain().map(|(port, _)| port).collect()
}

fn count(switch: &Switch, name: &str) -> u64 {
    let all = switch.counters();
    all.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no {name} in {all:?}")).1
}

#[test]
fn what_is_known_goes_one_way_and_all_else_everywhere_but_back() {
    let mut switch = Switch::new(SwitchConfig::new(4));
    let [a, b, c] = [1, 2, 3].map(station);
    assert_eq!(out(&mut switch, at(0), 0, frame(b, a, 60)), [1, 2, 3]);
    assert_eq!(out(&mut switch, at(0), 2, frame(a, b, 60)), [0]);
    assert_eq!(out(&mut switch, at(0), 0, frame(b, a, 60)), [2]);
    // A station behind another switch at the same port.
    assert_eq!(out(&mut switch, at(0), 2, frame(b, c, 60)), [0; 0]);
    assert_eq!(out(&mut switch, at(0), 0, frame(c, a, 60)), [2]);
    for group in [MacAddr::BROADCAST, MacAddr([1, 0, 0x5e, 0, 0, 5]), MacAddr([1, 0x80, 0xc2, 0, 0, 0x10])] {
        assert_eq!(out(&mut switch, at(0), 2, frame(group, b, 60)), [0, 1, 3]);
    }
    let counts =
        ["frames_in", "forwarded", "flooded", "filtered", "learned", "copies", "moved"].map(|n| count(&switch, n));
    assert_eq!(counts, [8, 3, 4, 1, 3, 15, 0]);
}

#[test]
fn a_station_that_moves_is_followed() {
    let mut switch = Switch::new(SwitchConfig::new(3));
    let [a, b] = [1, 2].map(station);
    out(&mut switch, at(0), 0, frame(b, a, 60));
    out(&mut switch, at(1), 2, frame(b, a, 60));
    assert_eq!(out(&mut switch, at(1), 1, frame(a, b, 60)), [2]);
    assert_eq!(["learned", "moved"].map(|n| count(&switch, n)), [2, 1]);
}

#[test]
fn what_is_for_the_switch_or_no_frame_goes_nowhere() {
    let mut switch = Switch::new(SwitchConfig { max_frame: 1514, ..SwitchConfig::new(3) });
    let [a, b] = [1, 2].map(station);
    for last in 0..=0x0f {
        let own = MacAddr([1, 0x80, 0xc2, 0, 0, last]);
        assert_eq!(out(&mut switch, at(0), 0, frame(own, a, 60)), [0; 0]);
    }
    for len in [0, 1, 13, 1515, 20_000] {
        assert_eq!(out(&mut switch, at(0), 1, frame(a, b, len)), [0; 0], "{len}");
    }
    for from in [MacAddr::BROADCAST, MacAddr([1, 0, 0x5e, 0, 0, 5]), MacAddr::default()] {
        assert_eq!(out(&mut switch, at(0), 1, frame(a, from, 60)), [0; 0]);
    }
    let counts = ["reserved", "short", "long", "no_station", "learned"].map(|n| count(&switch, n));
    assert_eq!(counts, [16, 3, 2, 3, 1]);
    // The shortest and the longest that there are.
    for len in [14, 1514] {
        assert_eq!(out(&mut switch, at(0), 1, frame(a, b, len)), [0]);
    }
    // A port that it has not, and what is no frame.
    assert_eq!(out(&mut switch, at(0), 3, frame(a, b, 60)), [0; 0]);
    assert_eq!(out(&mut switch, at(0), 0, Unit::Cut { id: 1, keep: 1 }), [0; 0]);
    assert_eq!(count(&switch, "strangers"), 2);
}

#[test]
fn a_station_that_is_silent_for_the_ageing_time_is_forgotten() {
    let mut switch = Switch::new(SwitchConfig { ageing: Duration::from_secs(10), ..SwitchConfig::new(3) });
    let [a, b, c] = [1, 2, 3].map(station);
    out(&mut switch, at(0), 0, frame(b, a, 60));
    out(&mut switch, at(0), 0, frame(b, c, 60));
    out(&mut switch, at(6), 0, frame(b, a, 60));
    let just_before = Instant::from_nanos(at(10).as_nanos() - 1);
    assert_eq!(switch.port_of(just_before, c), Some(0));
    assert_eq!(out(&mut switch, at(10), 1, frame(c, b, 60)), [0, 2]);
    assert_eq!(out(&mut switch, at(15), 1, frame(a, b, 60)), [0]);
    assert_eq!(out(&mut switch, at(16), 1, frame(a, b, 60)), [0, 2]);
    // It comes back at another port: that is no move, for it was not known.
    out(&mut switch, at(20), 2, frame(b, a, 60));
    assert_eq!(["learned", "moved", "aged"].map(|n| count(&switch, n)), [4, 0, 2]);
}

#[test]
fn a_storm_of_stations_fills_the_table_and_no_more() {
    let config = SwitchConfig { max_addresses: 100, ageing: Duration::from_secs(10), ..SwitchConfig::new(3) };
    let mut switch = Switch::new(config);
    let friend = station(0);
    out(&mut switch, at(0), 1, frame(MacAddr::BROADCAST, friend, 60));
    for n in 1..20_000 {
        out(&mut switch, at(1), 0, frame(friend, station(n), 60));
        assert!(switch.stations() <= 100);
    }
    assert_eq!(["learned", "table_full"].map(|n| count(&switch, n)), [100, 19_900]);
    // Those who are known stay so, and what goes to the others still arrives.
    assert_eq!(out(&mut switch, at(2), 2, frame(friend, station(50_000), 60)), [1]);
    assert_eq!(out(&mut switch, at(2), 1, frame(station(19_999), friend, 60)), [0, 2]);
    // When the storm has grown old there is room again, of which the known station keeps its part.
    for n in 30_000..30_200 {
        out(&mut switch, at(11), 2, frame(friend, station(n), 60));
    }
    assert_eq!(switch.port_of(at(11), friend), Some(1));
    assert_eq!(["learned", "aged", "moved"].map(|n| count(&switch, n)), [199, 99, 0]);
    assert_eq!(switch.stations(), 100);
}

#[test]
fn a_frame_leaves_after_the_latency() {
    let mut bench = Bench::default();
    let latency = Duration::from_micros(3);
    bench.add(Box::new(Switch::new(SwitchConfig { latency, ..SwitchConfig::new(2) })));
    for micro in [10, 11] {
        let now = Instant::ZERO + Duration::from_micros(micro);
        bench.offer(now, (0, 0), frame(station(2), station(1), 60));
    }
    bench.run();
    let times: Vec<u64> = bench.take().iter().map(|(at, ..)| at.as_nanos() / 1000).collect();
    assert_eq!(times, [13, 14]);
}

/// A line of 100 Mb/s without a length, whose end at the switch (port 1 of the line) has this queue.
fn line(queue: Box<dyn crate::Discipline>) -> Serial {
    let carrier = Carrier::Plain { rate: Rate::bits_per_second(100_000_000), overhead: 0 };
    let config = SerialConfig { carrier, propagation: Duration::ZERO, say_sent: true };
    Serial::with_disciplines(config, DropTail::UNLIMITED.queue(), queue)
}

#[test]
fn senders_to_one_port_share_its_line_and_its_queue() {
    let mut bench = Bench::default();
    let switch = bench.add(Box::new(Switch::new(SwitchConfig::new(4))));
    for port in 0..4 {
        let line = bench.add(Box::new(line(DropTail::frames(5).queue())));
        bench.plug((line, 1), (switch, port));
    }
    // Line n + 1 goes to port n. The receiver speaks first, so that it is known.
    bench.offer(Instant::ZERO, (4, 0), frame(station(1), station(4), 1250));
    let each = 20;
    for port in 0..3 {
        for _ in 0..each {
            bench.offer(
                Instant::ZERO + Duration::from_millis(1),
                (1 + port, 0),
                frame(station(4), station(port as u32), 1250),
            );
        }
    }
    bench.run();
    let received: Vec<Instant> =
        bench.take().into_iter().filter(|it| it.1 == 4 && matches!(it.2, Unit::Frame { .. })).map(|it| it.0).collect();
    // A frame takes 100 us. In each of 20 such times three come and one goes; five wait, and go in the end.
    assert_eq!(received.len(), 20 + 5);
    let micros = |at: &Instant| at.as_nanos() / 1000;
    assert_eq!(micros(&received[0]), 1200);
    assert!(received.windows(2).all(|pair| micros(&pair[1]) - micros(&pair[0]) == 100));
    let dropped = 3 * each - 25;
    assert_eq!((bench.counter(switch, "dropped"), bench.counter(4, "b_drops")), (dropped, dropped));
    assert_eq!(["forwarded", "flooded"].map(|n| bench.counter(switch, n)), [60, 1]);
    let queue = bench.queues(4).into_iter().find(|(name, _)| *name == "b").unwrap().1;
    assert_eq!(queue.quantile(1.0), 5);
}

#[test]
fn the_queue_of_a_port_marks_what_it_may() {
    let mut bench = Bench::default();
    let switch = bench.add(Box::new(Switch::new(SwitchConfig::new(2))));
    let marked = MarkFrom { room: DropTail::frames(50), frames: 3 };
    let line = bench.add(Box::new(line(marked.queue())));
    bench.plug((line, 1), (switch, 1));
    for n in 0..10 {
        let header = kumiki_wire::inet::ipv4::Header {
            type_of_service: u8::from(n != 9),
            total_length: 20,
            ..kumiki_wire::inet::ipv4::Header::default()
        };
        let mut packet = [0; 20];
        header.emit_summed(&mut packet);
        let Unit::Frame { mut data, address } = frame(station(2), station(1), LEN) else { panic!("no frame") };
        data.append_octets(&packet);
        bench.offer(Instant::ZERO, (switch, 0), Unit::Frame { data, address });
    }
    bench.run();
    // One is on the line and three wait when the fifth comes; the tenth may not be marked.
    assert_eq!(bench.counter(line, "b_marks"), 5);
}

/// Without a spanning tree frames go round between two switches that three lines join, and each round doubles them
/// until the queues are full.
#[test]
fn a_loop_fills_queues_and_no_more() {
    let mut bench = Bench::default();
    let [one, other] = [(); 2].map(|()| bench.add(Box::new(Switch::new(SwitchConfig::new(4)))));
    let both = || {
        Serial::new(
            SerialConfig {
                carrier: Carrier::Plain { rate: Rate::bits_per_second(100_000_000), overhead: 24 },
                propagation: Duration::from_micros(1),
                say_sent: true,
            },
            DropTail::frames(8),
        )
    };
    let lines: Vec<usize> = (0..3)
        .map(|port| {
            let line = bench.add(Box::new(both()));
            bench.plug((line, 0), (one, port));
            bench.plug((line, 1), (other, port));
            line
        })
        .collect();
    bench.offer(Instant::ZERO, (one, 3), frame(MacAddr::BROADCAST, station(1), 60));
    bench.run_until(Instant::ZERO + Duration::from_millis(20));
    for line in lines {
        for (_, queue) in bench.queues(line) {
            assert_eq!(queue.quantile(1.0), 8);
        }
        // 84 octets take 6.72 us: no more than that often a frame goes each way.
        assert!((2000..=2978).contains(&bench.counter(line, "a_frames")), "{}", bench.counter(line, "a_frames"));
    }
    assert!(bench.counter(one, "dropped") > 1000);
    assert!(bench.counter(one, "moved") > 1000);
    assert!(bench.events < 60_000, "{}", bench.events);
}

proptest! {
    #[test]
    fn every_frame_has_one_fate_and_none_goes_back(
        ports in 1..6_usize,
        frames in prop::collection::vec((0..8_u32, 0..8_u32, 0..6_usize, 0..40_u64, prop_oneof![Just(60), 0..2000_usize]), 0..100),
    ) {
        let config = SwitchConfig { max_addresses: 4, max_frame: 1514, ageing: Duration::from_secs(30), ..SwitchConfig::new(ports) };
        let mut switch = Switch::new(config);
        let mut now = 0;
        let mut copies = 0;
        for (to, from, port, later, len) in frames {
            now += later;
            let to = if to == 7 { MacAddr::BROADCAST } else { station(to) };
            let left = out(&mut switch, at(now), port, frame(to, station(from), len));
            prop_assert!(!left.contains(&port));
            prop_assert!(left.iter().all(|it| *it < ports) && left.is_sorted());
            prop_assert!(left.len() <= 1 || left.len() == ports - 1);
            copies += left.len() as u64;
        }
        let fates: u64 = ["forwarded", "flooded", "filtered", "reserved", "short", "long", "no_station"].iter().map(|n| count(&switch, n)).sum();
        prop_assert_eq!(fates, count(&switch, "frames_in"));
        prop_assert_eq!(copies, count(&switch, "copies"));
        let known = count(&switch, "learned") - count(&switch, "aged");
        prop_assert_eq!(known, switch.stations() as u64);
        prop_assert!(known <= 4);
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, port in 0..4_usize) {
        let mut switch = Switch::new(SwitchConfig::new(3));
        let data = Message::from_octets(&octets);
        out(&mut switch, at(0), port, Unit::Frame { data, address: Address::NONE });
    }
}
