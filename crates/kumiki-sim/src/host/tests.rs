use kumiki_graph::ledger::{HandOut, Ledger, Pages, WakeUp};
use kumiki_graph::{DeviceId, Indication, Pool, Prices, TimerSlot, Work};
use kumiki_octets::Message;

use crate::testing::{Builder, Event, Line, Log, alone, at, send, text, token, unplugged, us};
use crate::{AdapterConfig, Commands, CpuConfig, Notice, TaskConfig};

fn cpus(count: usize, switch_us: u64) -> Vec<CpuConfig> {
    let cpu = |number| CpuConfig { name: format!("cpu{number}"), switch: us(switch_us) };
    (0..count).map(cpu).collect()
}

/// A node that works for 10 us at the start.
fn worker(graph: &mut Builder, name: &'static str, log: &Log) -> kumiki_graph::TaskId {
    let log = log.clone();
    graph.actor(name, &[], move |event, cx| {
        if let Event::Start = event {
            log.say(cx.now(), name);
            cx.spend(us(10));
        }
    })
}

#[test]
fn tasks_on_one_cpu_run_by_priority() {
    let (log, mut graph) = (Log::default(), Builder::new());
    let tasks = ["low", "high", "middle"].map(|name| worker(&mut graph, name, &log));
    let mut host = graph.host("host");
    for (task, priority) in tasks.into_iter().zip([i32::MIN, i32::MAX, 0]) {
        host.set_task(task, TaskConfig { priority, ..TaskConfig::default() });
    }
    let (mut world, host) = unplugged(host);
    world.run_until(at(100));
    assert_eq!(log.take(), "0 high, 10 middle, 20 low");
    let times: Vec<_> = world.host(host).unwrap().task_times().collect();
    assert_eq!(times, [("low", us(10)), ("high", us(10)), ("middle", us(10))]);
}

#[test]
fn of_equal_priority_the_one_that_has_waited_longest_runs() {
    let (log, mut graph) = (Log::default(), Builder::new());
    for (name, due) in [("first", 5), ("second", 4), ("third", 3)] {
        let (log, mut slot) = (log.clone(), TimerSlot::default());
        graph.actor(name, &[], move |event, cx| match event {
            Event::Start => cx.set_timer(&mut slot, token(0), at(due)),
            Event::Expire => {
                log.say(cx.now(), name);
                cx.spend(us(10));
            }
            Event::Push(_) | Event::Pop(_) | Event::Ready(_) | Event::Settle => {}
        });
    }
    let (mut world, _) = unplugged(graph.host("host"));
    world.run_until(at(100));
    assert_eq!(log.take(), "3 third, 13 second, 23 first");
}

#[test]
fn two_cpus_work_at_the_same_time() {
    let (log, mut graph) = (Log::default(), Builder::new());
    let [_, other, _] = ["one", "other", "one again"].map(|name| worker(&mut graph, name, &log));
    let mut host = graph.host("host");
    host.set_cpus(cpus(2, 0));
    host.set_task(other, TaskConfig { cpu: 1, ..TaskConfig::default() });
    let (mut world, host) = unplugged(host);
    world.run_until(at(100));
    assert_eq!(log.take(), "0 one, 0 other, 10 one again");
    let busy: Vec<_> = world.host(host).unwrap().cpus().map(|(_, cpu)| cpu.busy).collect();
    assert_eq!(busy, [us(20), us(10)]);
}

#[test]
fn a_cpu_that_the_host_has_not_is_its_last() {
    let (log, mut graph) = (Log::default(), Builder::new());
    let [_, far] = ["near", "far"].map(|name| worker(&mut graph, name, &log));
    let mut host = graph.host("host");
    host.set_cpus(cpus(2, 0));
    host.set_task(far, TaskConfig { cpu: 9, ..TaskConfig::default() });
    let (mut world, host) = unplugged(host);
    world.run_until(at(100));
    assert_eq!(log.take(), "0 near, 0 far");
    assert_eq!(world.host(host).unwrap().cpus().last().unwrap().1.busy, us(10));
}

#[test]
fn a_switch_between_tasks_costs_and_is_counted() {
    let (log, mut graph) = (Log::default(), Builder::new());
    for name in ["a", "b"] {
        let (log, mut slots) = (log.clone(), [TimerSlot::default(); 2]);
        graph.actor(name, &[], move |event, cx| match event {
            Event::Start => {
                log.say(cx.now(), name);
                cx.spend(us(10));
                // Its own second run needs no switch where nobody ran between.
                if name == "b" {
                    for slot in &mut slots {
                        cx.set_timer(slot, token(0), at(20));
                    }
                }
            }
            Event::Expire => {
                log.say(cx.now(), name);
                cx.spend(us(10));
            }
            Event::Push(_) | Event::Pop(_) | Event::Ready(_) | Event::Settle => {}
        });
    }
    let mut host = graph.host("host");
    host.set_cpus(cpus(1, 3));
    let (mut world, host) = unplugged(host);
    world.run_until(at(100));
    assert_eq!(log.take(), "0 a, 13 b, 23 b, 33 b");
    let (_, cpu) = world.host(host).unwrap().cpus().next().unwrap();
    assert_eq!((cpu.switches, cpu.busy), (1, us(43)));
}

/// At 5, three inputs of 10 us come to one task; at 7 one to a task of higher priority.
fn batches(batch: usize) -> String {
    let (log, mut graph) = (Log::default(), Builder::new());
    let (writing, mut slots) = (log.clone(), [TimerSlot::default(); 3]);
    let low = graph.actor("low", &[], move |event, cx| match event {
        Event::Start => {
            for slot in &mut slots {
                cx.set_timer(slot, token(0), at(5));
            }
        }
        Event::Expire => {
            writing.say(cx.now(), "low");
            cx.spend(us(10));
        }
        Event::Settle => writing.say(cx.now(), "settle"),
        Event::Push(_) | Event::Pop(_) | Event::Ready(_) => {}
    });
    let (writing, mut slot) = (log.clone(), TimerSlot::default());
    let high = graph.actor("high", &[], move |event, cx| match event {
        Event::Start => cx.set_timer(&mut slot, token(0), at(7)),
        Event::Expire => writing.say(cx.now(), "high"),
        Event::Push(_) | Event::Pop(_) | Event::Ready(_) | Event::Settle => {}
    });
    let mut host = graph.host("host");
    host.set_task(low, TaskConfig { batch, ..TaskConfig::default() });
    host.set_task(high, TaskConfig { priority: 1, ..TaskConfig::default() });
    let (mut world, _) = unplugged(host);
    world.run_until(at(100));
    log.take()
}

#[test]
fn a_batch_is_not_split_and_settles_once() {
    assert_eq!(batches(1), "0 settle, 5 low, 15 settle, 15 high, 15 low, 25 settle, 25 low, 35 settle");
    assert_eq!(batches(2), "0 settle, 5 low, 15 low, 25 settle, 25 high, 25 low, 35 settle");
    assert_eq!(batches(9), "0 settle, 5 low, 15 low, 25 low, 35 settle, 35 high");
}

/// A busy host to which a frame comes at 15: `first` works from 0 to 30 and `second` waits from the start.
fn notice(notice: Notice) -> (String, crate::CpuCounters) {
    let (log, mut graph) = (Log::default(), Builder::new());
    let device = graph.device("device");
    for (name, works) in [("first", 30), ("second", 10)] {
        let log = log.clone();
        graph.actor(name, &[], move |event, cx| {
            if let Event::Start = event {
                log.say(cx.now(), name);
                cx.spend(us(works));
            }
        });
    }
    let reading = log.clone();
    let reader = graph.actor("reader", &["device"], move |event, cx| {
        if let Event::Pop(Indication::Unit(unit)) = event {
            reading.say(cx.now(), &text(&unit.data));
        }
    });
    let mut host = graph.host("host");
    host.set_task(reader, TaskConfig { priority: -1, ..TaskConfig::default() });
    host.set_adapter(device, AdapterConfig { notice, ..AdapterConfig::default() });
    let (mut world, host) = alone(host, Line::generating(&[(15, "frame")], &log));
    world.run_until(at(100));
    (log.take(), world.host(host).unwrap().cpus().next().unwrap().1)
}

#[test]
fn an_interrupt_makes_the_batch_that_it_interrupts_end_later() {
    let (log, cpu) = notice(Notice::Interrupt { cost: us(4) });
    assert_eq!(log, "0 first, 34 second, 44 frame");
    assert_eq!((cpu.interrupts, cpu.busy), (1, us(44)));
}

#[test]
fn deferred_notice_costs_nothing() {
    let (log, cpu) = notice(Notice::Deferred);
    assert_eq!(log, "0 first, 30 second, 40 frame");
    assert_eq!((cpu.interrupts, cpu.busy), (0, us(40)));
}

/// What frames cost that come to a reader, where those of fewer octets than `below` are free: an interrupt 4 us, a
/// switch 3 us, an indication 5 us, an octet of its sum 1 us. At 0 and 30 another task works for no time. With the
/// CPU's counters, and how many frames and octets the reader counted.
fn priced(below: u32, frames: &[(u64, &str)]) -> (String, crate::CpuCounters, [u64; 2]) {
    let (log, mut graph) = (Log::default(), Builder::new());
    let device = graph.device("device");
    let reading = log.clone();
    let (_, reader) = graph.node("reader", &["device"], move |event, cx| {
        if let Event::Pop(Indication::Unit(unit)) = event {
            reading.say(cx.now(), &text(&unit.data));
            cx.charge(Work::Sum, unit.data.len() as u64);
            reading.say(cx.now(), "summed");
        }
    });
    let (working, mut slot) = (log.clone(), TimerSlot::default());
    graph.actor("other", &[], move |event, cx| match event {
        Event::Start => cx.set_timer(&mut slot, token(0), at(30)),
        Event::Expire => working.say(cx.now(), "other"),
        Event::Push(_) | Event::Pop(_) | Event::Ready(_) | Event::Settle => {}
    });
    let mut prices = Prices::default();
    prices.set(Work::Pop, 5_000_000);
    prices.set(Work::Sum, 1_000_000);
    graph.0.set_prices(reader, prices);
    graph.0.set_free_below(below);
    let mut host = graph.host("host");
    host.set_cpus(cpus(1, 3));
    host.set_adapter(device, AdapterConfig { notice: Notice::Interrupt { cost: us(4) }, ..AdapterConfig::default() });
    let (mut world, id) = alone(host, Line::generating(frames, &log));
    world.run_until(at(200));
    let host = world.host(id).unwrap();
    let (_, reader) = host.graph.accounts().next().unwrap();
    let (_, cpu) = host.cpus().next().unwrap();
    (log.take(), cpu, [reader.up.messages, reader.summed])
}

#[test]
fn a_free_message_takes_no_time_and_leaves_none_to_others() {
    let (short, long) = ((20, "abc"), (50, "abcd"));
    let (log, with, counted) = priced(4, &[short, long]);
    // Interrupt, switch and price for the long one.
    assert_eq!(log, "20 abc, 20 summed, 30 other, 62 abcd, 66 summed");
    assert_eq!((with.interrupts, counted), (2, [2, 7]));

    let (log, without, counted) = priced(4, &[long]);
    assert_eq!(log, "30 other, 62 abcd, 66 summed");
    assert_eq!((without.interrupts, counted), (1, [1, 4]));
    assert_eq!((with.busy, with.switches), (without.busy, without.switches));

    let (log, priced, counted) = priced(0, &[short, long]);
    assert_eq!(log, "32 abc, 35 summed, 38 other, 62 abcd, 66 summed");
    assert_eq!((priced.interrupts, counted), (2, [2, 7]));
    assert_eq!(priced.switches, with.switches + 2);
}

#[test]
fn what_is_put_out_leaves_when_the_work_before_it_is_done() {
    let (log, mut graph) = (Log::default(), Builder::new());
    graph.device("device");
    graph.actor("talker", &["device"], |event, cx| {
        if let Event::Start = event {
            for word in ["a", "b", "c"] {
                cx.spend(us(3));
                send(cx, word.as_bytes());
            }
        }
    });
    let (mut world, _) = alone(graph.host("host"), Line::new(us(1), &log));
    world.run_until(at(100));
    assert_eq!(log.take(), "3 offered a, 6 offered b, 9 offered c");
}

#[test]
fn what_two_cpus_put_out_leaves_in_order_of_time() {
    let (log, mut graph) = (Log::default(), Builder::new());
    graph.device("device");
    let mut tasks = Vec::new();
    for (name, step) in [("a", 4), ("b", 3)] {
        tasks.push(graph.actor(name, &["device"], move |event, cx| {
            if let Event::Start = event {
                for _ in 0..2 {
                    cx.spend(us(step));
                    send(cx, name.as_bytes());
                }
            }
        }));
    }
    let mut host = graph.host("host");
    host.set_cpus(cpus(2, 0));
    host.set_task(tasks[1], TaskConfig { cpu: 1, ..TaskConfig::default() });
    let (mut world, _) = alone(host, Line::new(us(1), &log));
    world.run_until(at(100));
    assert_eq!(log.take(), "3 offered b, 4 offered a, 6 offered b, 8 offered a");
}

fn pages(clusters: u32, wake_up: WakeUp) -> Ledger {
    Ledger::new(Pages { page: 4096, cluster: 1, clusters, hand_out: HandOut::Free, wake_up, share_percent: None })
}

#[test]
fn without_a_receive_page_a_frame_is_dropped_and_pages_come_back_when_the_program_lets_go() {
    let (log, mut graph) = (Log::default(), Builder::new());
    graph.device("device");
    let (reading, mut held, mut slot) = (log.clone(), Vec::<Message>::new(), TimerSlot::default());
    graph.actor("reader", &["device"], move |event, cx| match event {
        Event::Start => cx.set_timer(&mut slot, token(0), at(40)),
        Event::Pop(Indication::Unit(unit)) => {
            reading.say(cx.now(), &text(&unit.data));
            held.push(unit.data);
        }
        Event::Expire => held.clear(),
        Event::Pop(_) | Event::Push(_) | Event::Ready(_) | Event::Settle => {}
    });
    let mut host = graph.host("host");
    host.graph.set_ledger(Pool::Receive, pages(2, WakeUp::One));
    let frames = [(10, "a"), (20, "b"), (30, "c"), (50, "d")];
    let (mut world, id) = alone(host, Line::generating(&frames, &log));
    world.run_until(at(35));
    let host = world.host_mut(id).unwrap();
    assert_eq!(host.graph.ledger(Pool::Receive).unwrap().in_use(), 2);
    world.run_until(at(100));
    assert_eq!(log.take(), "10 a, 20 b, 50 d");
    let counters = world.host(id).unwrap().adapter(DeviceId(0));
    assert_eq!((counters.received, counters.no_page), (3, 1));
    let host = world.host_mut(id).unwrap();
    assert_eq!(host.graph.ledger(Pool::Receive).unwrap().in_use(), 1);
}

/// Three sessions send one message each; there is one cluster, and a message keeps it until the line takes it.
fn waiting(wake_up: WakeUp) -> (String, u64) {
    let (log, mut graph) = (Log::default(), Builder::new());
    let device = graph.device("device");
    let writing = log.clone();
    graph.actor("writer", &["device"], move |event, cx| {
        let asking = match event {
            Event::Start => vec![0, 1, 2],
            Event::Ready(session) => vec![session],
            Event::Push(_) | Event::Pop(_) | Event::Expire | Event::Settle => return,
        };
        for session in asking {
            match cx.lease(Pool::Send, token(session)) {
                Ok(lease) => {
                    let mut data = Message::from_octets(format!("{session}").as_bytes());
                    data.set_lease(lease.as_ref());
                    let unit = kumiki_graph::Unit { data, ..kumiki_graph::Unit::default() };
                    cx.down(kumiki_graph::Below(0), kumiki_graph::Request::Unit(Box::new(unit)));
                }
                Err(_) => writing.say(cx.now(), &format!("{session} waits")),
            }
        }
    });
    let mut host = graph.host("host");
    let fetch = us(2);
    let commands = Commands::Chained { fetch };
    host.set_adapter(device, AdapterConfig { commands, ..AdapterConfig::default() });
    host.graph.set_ledger(Pool::Send, pages(1, wake_up));
    let (mut world, id) = alone(host, Line::new(us(10), &log));
    world.run_until(at(100));
    let host = world.host_mut(id).unwrap();
    let refusals = host.graph.ledger(Pool::Send).unwrap().refusals;
    (log.take(), refusals)
}

#[test]
fn a_page_that_comes_free_wakes_the_one_that_has_waited_longest() {
    let (log, refusals) = waiting(WakeUp::One);
    // The second takes the page that the first gave back when it was put on the line; it keeps it until 12.
    assert_eq!(log, "0 1 waits, 0 2 waits, 0 offered 0, 12 offered 1, 24 offered 2");
    assert_eq!(refusals, 2);
}

#[test]
fn or_everybody_and_most_find_nothing() {
    let (log, refusals) = waiting(WakeUp::All);
    assert_eq!(log, "0 1 waits, 0 2 waits, 0 2 waits, 0 offered 0, 12 offered 1, 24 offered 2");
    assert_eq!(refusals, 3);
}

#[test]
fn a_message_dropped_for_want_of_room_gives_its_page_back_at_once() {
    let (log, mut graph) = (Log::default(), Builder::new());
    let device = graph.device("device");
    let writing = log.clone();
    graph.actor("writer", &["device"], move |event, cx| match event {
        Event::Start => {
            for word in ["a", "b", "c"] {
                let lease = cx.lease(Pool::Send, token(0)).unwrap();
                let mut data = Message::from_octets(word.as_bytes());
                data.set_lease(lease.as_ref());
                let unit = kumiki_graph::Unit { data, ..kumiki_graph::Unit::default() };
                cx.spend(us(1));
                cx.down(kumiki_graph::Below(0), kumiki_graph::Request::Unit(Box::new(unit)));
            }
            // One on the line, one in the queue, one about to find no room.
            assert!(cx.lease(Pool::Send, token(0)).is_err());
            assert!(cx.lease(Pool::Send, token(1)).is_err());
        }
        Event::Ready(session) => writing.say(cx.now(), &format!("ready {session}")),
        Event::Push(_) | Event::Pop(_) | Event::Expire | Event::Settle => {}
    });
    let mut host = graph.host("host");
    let commands = Commands::Chained { fetch: us(2) };
    host.set_adapter(device, AdapterConfig { commands, queue: 1, ..AdapterConfig::default() });
    host.graph.set_ledger(Pool::Send, pages(3, WakeUp::One));
    let (mut world, _) = alone(host, Line::new(us(10), &log));
    world.run_until(at(100));
    assert_eq!(log.take(), "1 offered a, 3 ready 0, 3 ready 1, 13 offered b");
}
