//! The same world on one core and on several.

use kumiki_graph::{Below, DeviceId, Duration, Graph, Indication, Instant, Request, TimerSlot, Unit};
use kumiki_link::{
    Carrier, Codel, CodelConfig, DropTail, Element, Impaired, Impairment, LineChange, Loss, Rate, Serial, SerialConfig,
    Stepped,
};
use kumiki_octets::Message;
use proptest::prelude::*;

use crate::testing::{Builder, Event, Log, at, text, token, us};
use crate::world::{HostId, Plug, World};
use crate::{AdapterConfig, Commands, Host};

/// Says a word by a device of its choice at times of its choice, all on a grid so that much happens at once, and passes
/// on by another what comes, until that is ten octets long.
fn relay(number: u64, seed: u64, devices: usize, log: &Log) -> Host {
    let mut graph = Builder(Graph::new(seed, number));
    let names: Vec<String> = (0..devices).map(|device| format!("device {device}")).collect();
    for name in &names {
        graph.device(name);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (log, mut slot) = (log.clone(), TimerSlot::default());
    graph.actor("relay", &names, move |event, cx| {
        let by = Below(u16::try_from(cx.rng().below(devices as u64)).unwrap());
        let say = |cx: &mut kumiki_graph::Context<'_>, octets: &[u8]| {
            let unit = Unit { data: Message::from_octets(octets), ..Unit::default() };
            cx.down(by, Request::Unit(Box::new(unit)));
        };
        match event {
            Event::Start | Event::Expire => {
                for _ in 0..=cx.rng().below(3) {
                    let letter = b'a' + u8::try_from(cx.rng().below(26)).unwrap();
                    say(cx, &[letter]);
                }
                let later = cx.now() + us(10) * (1 + cx.rng().below(20));
                cx.set_timer(&mut slot, token(0), later);
            }
            Event::Pop(Indication::Unit(unit)) => {
                log.say(cx.now(), &text(&unit.data));
                let mut octets = unit.data.to_vec();
                if octets.len() < 10 {
                    octets.push(b'0' + u8::try_from(number).unwrap());
                    say(cx, &octets);
                }
            }
            Event::Pop(_) | Event::Push(_) | Event::Ready(_) | Event::Settle => {}
        }
    });
    graph.host(&format!("relay {number}"))
}

/// What a line of the test is like: its ends, its length in units of 30 us, which of four kinds of line, and whether
/// the first end is joined to it directly, by an impairment, or by another line.
type Drawn = (usize, usize, u64, u8, u8);

fn line((_, _, length, kind, _): Drawn) -> Box<dyn Element> {
    // An octet takes 5 us or nothing, so arrivals, too, are on the grid of all else.
    let rate = if kind == 2 { Rate::bits_per_second(u64::MAX) } else { Rate::bits_per_second(1_600_000) };
    let config = SerialConfig {
        carrier: Carrier::Plain { rate, overhead: 1 },
        propagation: us(30) * length,
        say_sent: kind == 1,
    };
    if kind == 1 {
        let codel =
            || Box::new(Codel::new(CodelConfig { target: us(20), interval: us(100), ..CodelConfig::default() }));
        return Box::new(Serial::with_disciplines(config, codel(), codel()));
    }
    let line = Serial::new(config, DropTail::frames(5));
    if kind == 3 {
        // In the second half it is longer, and can be had as two then.
        let longer = SerialConfig { propagation: config.propagation + us(30), ..config };
        return Box::new(Stepped::new(line, [(at(1_500), LineChange { config: [longer; 2], still_until: [None; 2] })]));
    }
    Box::new(line)
}

/// All that can be seen of such a world that runs on so many cores, in slices of `every`, and in how many parts it was
/// run.
fn seen(lines: &[Drawn], seed: u64, cores: usize, every: Duration) -> (Vec<String>, usize) {
    let hosts = 1 + lines.iter().map(|(a, b, ..)| *a.max(b)).max().unwrap_or(0);
    let mut world = World::new();
    world.set_cores(cores);
    let mut devices = vec![0; hosts];
    let mut wires = Vec::new();
    for &drawn in lines {
        let full = |host: usize| devices.get(host) > Some(&2);
        if full(drawn.0) || full(drawn.1) {
            continue;
        }
        let element = world.add_element("line", line(drawn));
        let before: Option<Box<dyn Element>> = match drawn.4 {
            0 => None,
            1 => {
                let worse = || Impairment {
                    loss: Loss::Independent(0.1),
                    delay: us(10),
                    duplicate: 0.1,
                    ..Impairment::default()
                };
                Some(Box::new(Impaired::new(worse(), worse(), seed)))
            }
            _ => Some(line(drawn)),
        };
        let first = before.map_or(element, |before| {
            let before = world.add_element("before", before);
            wires.push((Plug::Port(before, 1), Plug::Port(element, 0)));
            before
        });
        for (host, port) in [(drawn.0, Plug::Port(first, 0)), (drawn.1, Plug::Port(element, 1))] {
            wires.push((Plug::Device(HostId(host), DeviceId(devices[host])), port));
            devices[host] += 1;
        }
    }
    let logs: Vec<Log> = (0..hosts).map(|_| Log::default()).collect();
    for (number, log) in logs.iter().enumerate() {
        // Who has no line has a device without one.
        let mut host = relay(number as u64, seed, devices[number].max(1), log);
        if number == 0 {
            let commands = Commands::Single { start: us(5) };
            host.set_adapter(DeviceId(0), AdapterConfig { commands, ..AdapterConfig::default() });
        }
        world.add_host(host);
    }
    for (device, port) in wires {
        world.plug(device, port);
    }
    world.start().unwrap();
    let mut seen = Vec::new();
    let mut parts = 1;
    while world.now() < at(3_000) {
        world.run_until((world.now() + every).min(at(3_000)));
        parts = parts.max(world.parts());
    }
    seen.extend(logs.iter().map(Log::take));
    seen.extend(world.media().map(|medium| format!("{medium:?}")));
    seen.extend(world.queues().map(|queue| format!("{queue:?}")));
    seen.extend(world.hosts().flat_map(Host::adapters).map(|adapter| format!("{adapter:?}")));
    seen.push(format!("{:?}", (world.now(), world.waiting(), world.lost(), world.unplugged(), world.standstill())));
    (seen, parts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// To the octet and the nanosecond, whatever of it happens at one instant.
    #[test]
    fn all_that_happens_is_the_same_on_any_number_of_cores(
        lines in prop::collection::vec((0_usize..6, 0_usize..6, 0_u64..4, 0_u8..4, 0_u8..3), 1..12),
        seed in any::<u64>(),
        every in 1_u64..900,
    ) {
        let (one, _) = seen(&lines, seed, 1, us(every));
        for cores in [2, 3, 7] {
            let (several, _) = seen(&lines, seed, cores, us(every));
            prop_assert_eq!(&several, &one, "{} cores", cores);
        }
        let (at_once, _) = seen(&lines, seed, 2, us(3_000));
        prop_assert_eq!(at_once, one);
    }
}

#[test]
fn a_world_is_divided_at_long_lines_and_where_there_are_none() {
    let parts = |lines: &[Drawn], cores| seen(lines, 1, cores, us(500)).1;
    let chain = |length, before| (0..5).map(|host| (host, host + 1, length, 0, before)).collect::<Vec<Drawn>>();
    for before in 0..3 {
        for (length, cores, divided) in [(3, 1, 1), (3, 2, 2), (3, 4, 4), (3, 100, 6), (0, 4, 1)] {
            assert_eq!(parts(&chain(length, before), cores), divided, "{before} {length} {cores}");
        }
    }
    // Two long lines are worth more than the short one between them.
    assert_eq!(parts(&[(0, 1, 3, 0, 0), (1, 2, 1, 0, 0), (2, 3, 3, 0, 0)], 3), 3);
    // When what changes has changed.
    let lines = [(0, 1, 3, 3, 0)];
    assert_eq!((seen(&lines, 1, 2, us(3_000)).1, seen(&lines, 1, 2, us(100)).1), (1, 2));
    // Pairs that have nothing to do with each other, on lines of any length.
    for length in [0, 3] {
        assert_eq!(parts(&[(0, 1, length, 0, 0), (2, 3, length, 0, 0)], 2), 2, "{length}");
    }
    // A long line between two media that are none.
    let mut world = World::new();
    world.set_cores(2);
    let logs = [Log::default(), Log::default()];
    let [near, far] = [0, 1].map(|side| {
        let host = world.add_host(relay(side as u64, 1, 1, &logs[side]));
        let medium =
            world.add_element("impaired", Box::new(Impaired::new(Impairment::default(), Impairment::default(), 1)));
        world.plug(Plug::Device(host, DeviceId(0)), Plug::Port(medium, 0));
        medium
    });
    let trunk = world.add_element("trunk", line((0, 1, 3, 0, 0)));
    world.plug(Plug::Port(near, 1), Plug::Port(trunk, 0));
    world.plug(Plug::Port(far, 1), Plug::Port(trunk, 1));
    world.start().unwrap();
    world.run_until(at(500));
    assert_eq!(world.parts(), 2);
}

/// A host that is changed, one that loses its power, a wire that is led elsewhere: each is as in one part.
#[test]
fn a_world_in_parts_can_be_changed_between_runs() {
    let run = |cores| {
        let logs = [Log::default(), Log::default(), Log::default()];
        let mut world = World::new();
        world.set_cores(cores);
        for (number, log) in logs.iter().enumerate() {
            world.add_host(relay(number as u64, 5, 1, log));
        }
        let line = world.add_element("line", line((0, 1, 2, 0, 0)));
        world.plug(Plug::Device(HostId(0), DeviceId(0)), Plug::Port(line, 0));
        world.plug(Plug::Device(HostId(1), DeviceId(0)), Plug::Port(line, 1));
        world.start().unwrap();
        world.run_until(at(400));
        let parts = world.parts();
        let unit = Box::new(Unit { data: Message::from_octets(b"from outside"), ..Unit::default() });
        let host = world.host_mut(HostId(1)).unwrap();
        host.graph.input(at(400), DeviceId(0), Indication::Unit(unit));
        world.set_clock_rate(HostId(0), 100_000);
        world.run_until(at(700));
        world.take_down(HostId(1));
        world.run_until(at(900));
        world.bring_back(HostId(1), relay(1, 6, 1, &logs[1])).unwrap();
        world.run_until(at(1_200));
        world.lead(Plug::Port(line, 1), Plug::Device(HostId(2), DeviceId(0)));
        assert_eq!(world.parts(), 1);
        world.run_until(at(2_000));
        let stopped = world.run_until_or(at(2_500), || true);
        world.run_until(at(3_000));
        let counts = (world.lost(), world.unplugged(), world.down_since(HostId(1)), stopped);
        let tapped: Vec<String> = world.media().map(|medium| format!("{medium:?}")).collect();
        (parts, (logs.map(|log| log.take()), counts, tapped, world.replaced().count()))
    };
    let (one, two) = (run(1), run(2));
    assert_eq!((one.0, two.0), (1, 2));
    assert!(one.1.0.iter().all(|log| !log.is_empty()));
    assert_eq!(one.1, two.1);
}

/// A layer that panics on another thread does so for whoever runs the world.
#[test]
#[should_panic(expected = "a layer's own fault")]
fn a_panic_of_a_layer_reaches_the_caller() {
    let mut world = World::new();
    world.set_cores(2);
    for number in 0..2 {
        let mut graph = Builder(Graph::new(1, number));
        graph.device("device");
        let mut slots: Vec<TimerSlot> = (0..300).map(|_| TimerSlot::default()).collect();
        graph.actor("clock", &["device"], move |event, cx| match event {
            Event::Start => {
                for (slot, time) in slots.iter_mut().zip(1..) {
                    cx.set_timer(slot, token(0), at(time));
                }
            }
            Event::Expire => assert!(number == 0 || cx.now() < at(250), "a layer's own fault"),
            Event::Push(_) | Event::Pop(_) | Event::Ready(_) | Event::Settle => {}
        });
        world.add_host(graph.host("clock"));
    }
    let line = world.add_element("line", line((0, 1, 7, 0, 0)));
    for (port, host) in [0, 1].into_iter().enumerate() {
        world.plug(Plug::Device(HostId(host), DeviceId(0)), Plug::Port(line, port));
    }
    world.start().unwrap();
    world.run_until(Instant::ZERO + us(300));
}
