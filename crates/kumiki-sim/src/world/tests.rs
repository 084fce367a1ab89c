mod cores;

use kumiki_graph::{Below, DeviceId, Duration, Graph, Indication, Instant, Prices, Request, TimerSlot, Unit, Work};
use kumiki_octets::Message;

use super::{HostId, Plug, Standstill, World};
use crate::testing::{Builder, Event, Line, Log, alone, at, send, text, token, unplugged, us};
use crate::{AdapterConfig, Commands, Host};

/// Says `first` at the start and sends everything that comes back, up to `limit` times.
fn echo(first: &'static [&'static str], mut limit: u64, log: &Log) -> Host {
    let (log, mut graph) = (log.clone(), Builder::new());
    graph.device("device");
    graph.actor("echo", &["device"], move |event, cx| match event {
        Event::Start => {
            for word in first {
                send(cx, word.as_bytes());
            }
        }
        Event::Pop(Indication::Unit(unit)) => {
            log.say(cx.now(), &text(&unit.data));
            if let Some(left) = limit.checked_sub(1) {
                limit = left;
                send(cx, &unit.data.to_vec());
            }
        }
        Event::Pop(_) | Event::Push(_) | Event::Expire | Event::Ready(_) | Event::Settle => {}
    });
    graph.host("echo")
}

/// Two hosts whose devices are plugged into each other.
fn face_to_face(one: Host, other: Host) -> (World, [HostId; 2]) {
    let mut world = World::new();
    let hosts = [world.add_host(one), world.add_host(other)];
    let [one, other] = hosts.map(|host| Plug::Device(host, DeviceId(0)));
    world.plug(one, other);
    world.start().unwrap();
    (world, hosts)
}

#[test]
fn where_nothing_costs_time_everything_happens_at_one_instant() {
    let log = Log::default();
    let words: &[&str] = &["x"; 100];
    let (mut world, _) = face_to_face(echo(words, 10_000, &log), echo(&[], 10_000, &log));
    world.run_until(Instant::ZERO);
    let log = log.take();
    assert_eq!(log.matches("0 x").count(), log.matches('x').count());
    assert_eq!(log.matches('x').count(), 20_000 + 100);
    assert_eq!((world.now(), world.standstill()), (Instant::ZERO, None));
}

#[test]
fn a_run_that_stops_at_each_event_goes_on_as_one_that_does_not() {
    let run = |stops: bool| {
        let log = Log::default();
        let words: &[&str] = &["a", "b", "c"];
        let (mut world, _) = face_to_face(echo(words, 50, &log), echo(&[], 50, &log));
        let mut count = 0;
        while world.run_until_or(at(7), || stops) {
            count += 1;
        }
        (log.take(), world.events(), world.now(), count)
    };
    let (whole, stopped) = (run(false), run(true));
    assert_eq!((&whole.0, whole.1, whole.2), (&stopped.0, stopped.1, stopped.2));
    assert_eq!((whole.3, stopped.3), (0, stopped.1));
    assert!(stopped.3 > 0);
}

#[test]
fn what_a_medium_tells_reaches_the_graph_above_its_device() {
    use kumiki_link::DropTail;
    use kumiki_link::sonet::{FaultInterval, Level, LineFault, Section, SectionConfig};
    let log = Log::default();
    let seen = log.clone();
    let mut graph = Builder::new();
    graph.device("device");
    graph.actor("ear", &["device"], move |event, cx| match event {
        Event::Pop(Indication::Report(report)) => {
            seen.say(cx.now(), &format!("{report:?}"));
        }
        Event::Pop(_) | Event::Push(_) | Event::Expire | Event::Ready(_) | Event::Settle | Event::Start => {}
    });
    let config = SectionConfig::ppp(Level::Sts3c);
    let mut section = Section::new(config, DropTail::UNLIMITED);
    let outage = FaultInterval { from: at(1_000), until: at(2_000), what: LineFault::NoSignal };
    section.spoil(1, 0.0, &[outage]);
    let mut world = World::new();
    let host = world.add_host(graph.host("ear"));
    let section = world.add_element("section", Box::new(section));
    world.plug(Plug::Device(host, DeviceId(0)), Plug::Port(section, 0));
    world.start().unwrap();
    world.run_until(at(1_000_000));
    // Each by the end of its frame of 125 us: silence for 25 us; two alignment words; three pointers in frames that are
    // in frame.
    assert_eq!(
        log.take(),
        "1125 Special(DefectReport { defect: Los, present: true }), 1125 Down, \
         2250 Special(DefectReport { defect: Los, present: false }), 2500 Up"
    );
}

#[test]
fn an_endless_exchange_between_hosts_at_one_instant_is_found() {
    let log = Log::default();
    let forever = u64::MAX;
    let (mut world, _) = face_to_face(echo(&["x"], forever, &log), echo(&[], forever, &log));
    world.set_rounds(1_000);
    assert!(!world.run_until_done(at(50), us(10), |_| false));
    let standstill = world.standstill().unwrap();
    let (at_start, node) = (Instant::ZERO, "echo".to_owned());
    let rounds = 1_000;
    assert_eq!(*standstill, Standstill::Rounds { at: at_start, rounds, node });
    assert!(standstill.to_string().contains("`echo`"));
    let events = world.events();
    world.run_until(at(100));
    assert_eq!((world.events(), world.now()), (events, Instant::ZERO));
}

#[test]
fn an_endless_exchange_between_layers_of_one_task_is_found_and_told_by_both_names() {
    let mut graph = Builder::new();
    let (task, _) = graph.node("below", &[], |event, cx| {
        if let Event::Push(Request::Unit(unit)) = event {
            cx.up(kumiki_graph::Above(0), Indication::Unit(unit));
        }
    });
    graph.node_in(task, "above", &["below"], |event, cx| match event {
        Event::Start => send(cx, b"x"),
        Event::Pop(Indication::Unit(unit)) => cx.down(Below(0), Request::Unit(unit)),
        Event::Pop(_) | Event::Push(_) | Event::Expire | Event::Ready(_) | Event::Settle => {}
    });
    let (mut world, _) = unplugged(graph.host("host"));
    world.run_until(at(1));
    let told = world.standstill().unwrap().to_string();
    for name in ["host `host`", "`above`", "`below`"] {
        assert!(told.contains(name), "{told}");
    }
    assert_eq!(world.now(), Instant::ZERO);
}

#[test]
fn an_endless_exchange_between_tasks_of_one_host_is_found() {
    let mut graph = Builder::new();
    graph.actor("below", &[], |event, cx| {
        if let Event::Push(Request::Unit(unit)) = event {
            cx.up(kumiki_graph::Above(0), Indication::Unit(unit));
        }
    });
    graph.actor("above", &["below"], |event, cx| match event {
        Event::Start => send(cx, b"x"),
        Event::Pop(Indication::Unit(unit)) => cx.down(Below(0), Request::Unit(unit)),
        Event::Pop(_) | Event::Push(_) | Event::Expire | Event::Ready(_) | Event::Settle => {}
    });
    let (mut world, _) = unplugged(graph.host("host"));
    world.set_rounds(1_000);
    world.run_until(at(1));
    assert!(world.standstill().is_some());
}

#[test]
fn rounds_are_counted_again_at_each_instant() {
    let log = Log::default();
    let mut world = World::new();
    let hosts = [echo(&["x"], u64::MAX, &log), echo(&[], u64::MAX, &log)];
    let line = world.add_element("line", Box::new(Line::new(us(1), &log)));
    for (port, host) in hosts.into_iter().enumerate() {
        let host = world.add_host(host);
        world.plug(Plug::Device(host, DeviceId(0)), Plug::Port(line, port));
    }
    world.start().unwrap();
    world.set_rounds(20);
    world.run_until(at(1_000));
    assert_eq!((world.standstill(), world.now()), (None, at(1_000)));
}

/// A host with a timer at each of these times, in microseconds.
fn ticking(name: &'static str, times: &'static [u64], log: &Log) -> Host {
    let (log, mut graph) = (log.clone(), Builder::new());
    let mut slots = vec![TimerSlot::default(); times.len()];
    graph.actor("clock", &[], move |event, cx| match event {
        Event::Start => {
            for (slot, time) in slots.iter_mut().zip(times) {
                cx.set_timer(slot, token(0), at(*time));
            }
        }
        Event::Expire => log.say(cx.now(), name),
        Event::Push(_) | Event::Pop(_) | Event::Ready(_) | Event::Settle => {}
    });
    graph.host(name)
}

#[test]
fn timers_of_several_hosts_at_one_time_expire_in_the_order_in_which_they_became_next() {
    let log = Log::default();
    let mut world = World::new();
    for (name, times) in [("a", &[10, 30][..]), ("b", &[30]), ("c", &[20, 30])] {
        world.add_host(ticking(name, times, &log));
    }
    world.start().unwrap();
    world.run_until(at(100));
    assert_eq!(log.take(), "10 a, 20 c, 30 b, 30 a, 30 c");
}

#[test]
fn a_run_takes_in_its_end_and_nothing_later() {
    let log = Log::default();
    let (mut world, _) = unplugged(ticking("x", &[10, 20], &log));
    world.run_until(Instant::from_nanos(9_999));
    assert_eq!((log.take().as_str(), world.now().as_nanos()), ("", 9_999));
    world.run_until(at(10));
    assert_eq!((log.take().as_str(), world.now()), ("10 x", at(10)));
    // Going back does nothing.
    world.run_until(at(5));
    assert_eq!(world.now(), at(10));
    world.run_until(at(1_000));
    assert_eq!((log.take().as_str(), world.now()), ("20 x", at(1_000)));
}

#[test]
fn a_run_until_done_ends_soon_after_and_always() {
    let log = Log::default();
    let (mut world, _) = unplugged(ticking("x", &[10, 20], &log));
    assert!(world.run_until_done(at(100), us(4), |world| world.now() >= at(10)));
    assert_eq!(world.now(), at(12));
    assert!(!world.run_until_done(at(13), Duration::ZERO, |_| false));
    assert_eq!(world.now(), at(13));
}

#[test]
fn a_medium_that_speaks_first_is_heard() {
    let log = Log::default();
    let (mut world, _) = alone(echo(&[], 0, &log), Line::generating(&[(7, "hello")], &log));
    world.run_until(at(10));
    assert_eq!(log.take(), "7 hello");
}

#[test]
fn what_is_put_into_a_host_between_runs_takes_effect_when_the_next_begins() {
    let log = Log::default();
    let (mut world, host) = unplugged(echo(&[], 0, &log));
    world.run_until(at(10));
    let unit = Unit { data: Message::from_octets(b"x"), ..Unit::default() };
    let graph = &mut world.host_mut(host).unwrap().graph;
    graph.input(at(10), DeviceId(0), Indication::Unit(Box::new(unit)));
    world.run_until(at(20));
    assert_eq!(log.take(), "10 x");
}

#[test]
fn an_adapter_with_no_medium_does_not_wait_for_one() {
    for commands in [Commands::Chained { fetch: us(2) }, Commands::Single { start: us(2) }] {
        let log = Log::default();
        let config = AdapterConfig { commands, ..AdapterConfig::default() };
        let talking = || {
            let mut host = echo(&["a", "b", "c"], 0, &log);
            host.set_adapter(DeviceId(0), config);
            host
        };
        let (mut world, host) = unplugged(talking());
        world.run_until(at(100));
        assert_eq!(world.host(host).unwrap().adapter(DeviceId(0)).sent, 3);
        assert_eq!(world.unplugged(), 3);
        let (mut world, [host, _]) = face_to_face(talking(), echo(&[], 0, &log));
        world.run_until(at(100));
        assert_eq!(world.host(host).unwrap().adapter(DeviceId(0)).sent, 3);
        let expected = match commands {
            Commands::Chained { .. } => "0 a, 2 b, 4 c",
            Commands::Single { .. } => "2 a, 4 b, 6 c",
        };
        assert_eq!((log.take().as_str(), world.unplugged()), (expected, 0));
    }
}

/// The host, the nanosecond, whether downwards, the octets.
type Crossing = (usize, u64, bool, Vec<u8>);

/// Two hosts that throw random words at each other, one after a random time each, with work that takes a fraction of a
/// nanosecond to price: all that crossed their access points, and how many events that were.
fn chatter(seed: u64) -> (Vec<Crossing>, u64) {
    let log = Log::default();
    let mut world = World::new();
    let line = world.add_element("line", Box::new(Line::new(us(3), &log)));
    for (number, priority) in [(0, 0), (1, 5)] {
        let mut graph = Builder(Graph::new(seed, number));
        graph.device("device");
        let mut slot = TimerSlot::default();
        let (task, node) = graph.node("chatter", &["device"], move |event, cx| match event {
            Event::Start | Event::Expire => {
                let word = cx.rng().below(1 << 30);
                send(cx, &word.to_be_bytes());
                let later = cx.now() + Duration::from_nanos(cx.rng().below(20_000));
                cx.set_timer(&mut slot, token(0), later);
            }
            Event::Pop(Indication::Unit(unit)) if unit.data.len() < 40 => {
                let mut octets = unit.data.to_vec();
                octets.push(0);
                send(cx, &octets);
            }
            Event::Pop(_) | Event::Push(_) | Event::Ready(_) | Event::Settle => {}
        });
        let mut prices = Prices::default();
        for work in Work::ALL {
            prices.set(work, 333);
        }
        graph.0.set_prices(node, prices);
        let (edge, ..) = graph.0.access_points().next().unwrap();
        graph.0.tap(edge);
        let mut host = graph.host("host");
        host.set_task(task, crate::TaskConfig { priority, ..crate::TaskConfig::default() });
        let host = world.add_host(host);
        let port = usize::try_from(number).unwrap();
        world.plug(Plug::Device(host, DeviceId(0)), Plug::Port(line, port));
    }
    world.start().unwrap();
    world.run_until(at(2_000));
    let mut trace = Vec::new();
    for (host, tapped) in world.take_tapped() {
        for seen in tapped {
            trace.push((host.0, seen.at.as_nanos(), seen.down, seen.data.to_vec()));
        }
    }
    (trace, world.events())
}

#[test]
fn the_same_seed_gives_the_same_octets_at_the_same_times() {
    let (trace, events) = chatter(7);
    assert!(trace.len() > 1_000 && events > 1_000);
    assert_eq!((trace, events), chatter(7));
    assert_ne!(chatter(7).0, chatter(8).0);
}

/// A plug that nobody has, and one that is taken: both names are told, and half a wire is not laid.
#[test]
fn plugs_that_cannot_be_joined_are_named_when_the_world_starts() {
    let log = Log::default();
    let line = || Box::new(Line::new(us(1), &log));
    let one = || echo(&[], 0, &log);
    for (second, says) in [
        (
            Plug::Port(super::ElementId(0), 1),
            "device `device` of host `echo` cannot be joined to port 1 of `line`: \
             device `device` of host `echo` is joined to port 0 of `line` already",
        ),
        (
            Plug::Port(super::ElementId(7), 0),
            "device `device` of host `echo` cannot be joined to medium number 7: there is no medium number 7",
        ),
        (
            Plug::Device(HostId(9), DeviceId(0)),
            "device `device` of host `echo` cannot be joined to host number 9: there is no host number 9",
        ),
        (
            Plug::Device(HostId(1), DeviceId(4)),
            "device `device` of host `echo` cannot be joined to device `4` of host `echo`: \
             there is no device `4` of host `echo`",
        ),
    ] {
        let mut world = World::new();
        let hosts = [world.add_host(one()), world.add_host(one())];
        let line = world.add_element("line", line());
        let plug = Plug::Device(hosts[0], DeviceId(0));
        if second == Plug::Port(line, 1) {
            world.plug(plug, Plug::Port(line, 0));
        }
        world.plug(plug, second);
        let (_, graph_error) = world.start().unwrap_err();
        assert_eq!(graph_error.to_string(), says);
    }
}

/// What leaves by a way out is kept with its time, and what comes by it is there at the present time.
#[test]
fn a_world_has_ways_out() {
    let log = Log::default();
    let mut world = World::new();
    let host = world.add_host(echo(&["first"], 2, &log));
    world.plug(Plug::Device(host, DeviceId(0)), Plug::Outside(3));
    world.start().unwrap();
    let left = |world: &mut World| {
        let frame = |(way, at, unit)| {
            let kumiki_link::Unit::Frame { data, .. } = unit else { panic!("{unit:?}") };
            (way, at, text(&data))
        };
        core::iter::from_fn(|| world.take_left()).map(frame).collect::<Vec<_>>()
    };
    let come = |world: &mut World, way, word: &str| {
        let data = Message::from_octets(word.as_bytes());
        world.arrive(way, kumiki_link::Unit::Frame { data, address: kumiki_graph::Address::NONE });
    };
    world.run_until(at(5));
    assert_eq!(left(&mut world), [(3, Instant::ZERO, "first".to_owned())]);
    world.run_until(at(7_000));
    come(&mut world, 3, "second");
    world.run_until(at(8_000));
    assert_eq!(left(&mut world), [(3, at(7_000), "second".to_owned())]);
    assert_eq!(log.take(), "7000 second");
    // By a way to which nothing is joined it goes nowhere.
    come(&mut world, 0, "lost");
    come(&mut world, 9, "lost");
    assert_eq!((world.unplugged(), left(&mut world).len()), (2, 0));
}

/// Says how often its clock has struck, every 10 us, and what has come.
fn clock(log: &Log) -> Host {
    let (log, mut graph, mut timer, mut count) = (log.clone(), Builder::new(), TimerSlot::default(), 0_u64);
    graph.device("device");
    graph.actor("clock", &["device"], move |event, cx| match event {
        Event::Start | Event::Expire => {
            log.say(cx.now(), &count.to_string());
            count += 1;
            let next = cx.now() + us(10);
            cx.set_timer(&mut timer, token(0), next);
        }
        Event::Pop(Indication::Unit(unit)) => log.say(cx.now(), &text(&unit.data)),
        Event::Pop(_) | Event::Push(_) | Event::Ready(_) | Event::Settle => {}
    });
    graph.host("clock")
}

#[test]
fn a_host_without_power_hears_nothing_and_begins_again_when_that_is_back() {
    let (log, line) = (Log::default(), Log::default());
    let frames = [(5, "a"), (25, "b"), (45, "c")];
    let (mut world, host) = alone(clock(&log), Line::generating(&frames, &line));
    world.run_until(at(22));
    world.take_down(host);
    world.run_until(at(32));
    assert_eq!((log.take().as_str(), world.lost()), ("0 0, 5 a, 10 1, 20 2", 1));
    assert_eq!(world.down_since(host), Some(at(22)));
    // What somebody looks at is not woken by that.
    assert_eq!(world.host_mut(host).map(|host| host.name.clone()).as_deref(), Some("clock"));
    world.run_until(at(38));
    assert_eq!(log.take(), "");
    world.bring_back(host, clock(&log)).unwrap();
    assert_eq!(world.down_since(host), None);
    world.run_until(at(50));
    assert_eq!((log.take().as_str(), world.lost()), ("38 0, 45 c, 48 1", 1));
    assert_eq!(world.replaced().map(|host| host.adapters().map(|(_, it)| it.received).sum::<u64>()).sum::<u64>(), 1);
    assert_eq!(world.host(host).map(|host| host.adapter(DeviceId(0)).received), Some(1));
}
