use kumiki_graph::{DeviceId, Duration, TimerSlot};

use crate::testing::{Builder, Event, Line, Log, alone, at, send, token, us};
use crate::{AdapterConfig, AdapterCounters, Commands, World};

/// A host that says `words` at the start, each after `price` of work, on a line where a frame takes 10 us.
fn run(words: &'static [&'static str], price: Duration, config: AdapterConfig) -> (String, AdapterCounters, World) {
    let log = Log::default();
    let mut graph = Builder::new();
    let device = graph.device("device");
    graph.actor("talker", &["device"], move |event, cx| {
        if let Event::Start = event {
            for word in words {
                cx.spend(price);
                send(cx, word.as_bytes());
            }
        }
    });
    let mut host = graph.host("host");
    host.set_adapter(device, config);
    let (mut world, host) = alone(host, Line::new(us(10), &log));
    world.run_until(at(1_000));
    let counters = world.host(host).unwrap().adapter(DeviceId(0));
    (log.take(), counters, world)
}

fn single(start: Duration) -> AdapterConfig {
    AdapterConfig { commands: Commands::Single { start }, ..AdapterConfig::default() }
}

fn chained(fetch: Duration) -> AdapterConfig {
    AdapterConfig { commands: Commands::Chained { fetch }, ..AdapterConfig::default() }
}

#[test]
fn chained_commands_leave_exactly_the_fetch_between_two_pdus() {
    let (log, counters, _) = run(&["a", "b", "c"], Duration::ZERO, chained(us(2)));
    assert_eq!(log, "0 offered a, 12 offered b, 24 offered c");
    assert_eq!((counters.sent, counters.queue_high_water), (3, 2));
}

#[test]
fn an_idle_chained_engine_starts_at_once() {
    let (log, ..) = run(&["a", "b"], us(50), chained(us(2)));
    assert_eq!(log, "50 offered a, 100 offered b");
}

#[test]
fn without_a_fetch_the_medium_is_given_all_at_once() {
    let (log, ..) = run(&["a", "b", "c"], Duration::ZERO, chained(Duration::ZERO));
    assert_eq!(log, "0 offered a, 0 offered b, 0 offered c");
}

#[test]
fn single_commands_take_the_cpu_each_time() {
    // "a" is there at 10, in the middle of the batch, and "b" at 20, while "a" is on the line until 23.
    let (log, _, world) = run(&["a", "b"], us(10), single(us(3)));
    assert_eq!(log, "13 offered a, 26 offered b");
    let (_, cpu) = world.hosts().next().unwrap().cpus().next().unwrap();
    assert_eq!((cpu.interrupts, cpu.busy), (2, us(26)));
}

#[test]
fn what_finds_the_queue_full_when_it_leaves_the_graph_is_dropped_and_counted() {
    let config = AdapterConfig { queue: 2, ..chained(us(1)) };
    // One is sent, two wait, and all that at one instant.
    let (log, counters, _) = run(&["a", "b", "c", "d", "e"], Duration::ZERO, config);
    assert_eq!(log, "0 offered a, 11 offered b, 22 offered c");
    assert_eq!((counters.sent, counters.queue_full, counters.queue_high_water), (3, 2, 2));
}

#[test]
fn what_a_busy_engine_leaves_no_room_for_is_counted_at_once() {
    let mut graph = Builder::new();
    let device = graph.device("device");
    let mut timer = TimerSlot::default();
    graph.actor("talker", &["device"], move |event, cx| match event {
        Event::Start => {
            send(cx, b"a");
            cx.set_timer(&mut timer, token(0), at(5));
        }
        Event::Expire => (0..5).for_each(|_| send(cx, b"b")),
        Event::Push(_) | Event::Pop(_) | Event::Ready(_) | Event::Settle => {}
    });
    let mut host = graph.host("host");
    let config = AdapterConfig { queue: 2, ..chained(us(1)) };
    host.set_adapter(device, config);
    let (mut world, host) = alone(host, Line::new(us(10), &Log::default()));
    // The line has the first one until 10; nothing happens between 5 and then.
    world.run_until(at(6));
    let counters = world.host(host).unwrap().adapter(device);
    assert_eq!((counters.queue_full, counters.queue_high_water), (3, 2));
}

#[test]
fn a_batch_fills_the_queue_only_as_its_outputs_come_out() {
    let config = AdapterConfig { queue: 1, ..chained(us(1)) };
    // All three are known when the batch begins; each leaves after the one before it has been sent.
    let (log, counters, _) = run(&["a", "b", "c"], us(12), config);
    assert_eq!(log, "12 offered a, 24 offered b, 36 offered c");
    assert_eq!((counters.queue_full, counters.queue_high_water), (0, 1));
}

#[test]
fn a_second_notice_of_having_sent_starts_nothing() {
    use kumiki_graph::Address;
    use kumiki_octets::Message;

    use super::{Adapter, AdapterRequest};

    let mut adapter = Adapter::new(single(us(1)));
    adapter.submit(at(0), Message::from_octets(b"a"), Address::NONE);
    assert!(matches!(adapter.poll(at(0)), Some(AdapterRequest::Start(_))));
    adapter.sent(at(0));
    assert!(adapter.poll(at(5)).is_none() && adapter.next_deadline().is_none());
    adapter.started(at(6));
    assert_eq!(adapter.next_deadline(), Some(at(6)));
    assert!(matches!(adapter.poll(at(6)), Some(AdapterRequest::Offer(_))));
}
