use super::*;
use crate::TimerSlot;

const fn token(kind: u32) -> Token {
    Token { session: crate::Handle { index: 0, generation: 0 }, kind }
}

/// Sets its timer as the octet that comes up says, in units of 10 ns from the present; 0 clears it.
fn alarm(log: &Log) -> Box<Scripted> {
    let log = log.clone();
    let mut slot = TimerSlot::default();
    node(move |event, cx| match event {
        Event::Pop(_, indication) => match octet(indication.message()) {
            0 => cx.clear_timer(&mut slot),
            n => {
                let after = Duration::from_nanos(10 * u64::from(n));
                cx.set_timer(&mut slot, token(u32::from(n)), cx.now() + after);
            }
        },
        Event::Expire(token) => log.write(format!("{} at {}", token.kind, cx.now().as_nanos())),
        _ => {}
    })
}

fn at(graph: &mut Graph, task: TaskId, device: DeviceId, now: u64, octet: u8) {
    graph.input(ns(now), device, up(octet));
    graph.run(task, ns(now), 10);
}

#[test]
fn a_timer_expires_at_its_deadline_with_its_token() {
    let log = Log::default();
    let (mut graph, task, device) = stack(vec![("alarm", alarm(&log))]);
    at(&mut graph, task, device, 5, 3);
    assert_eq!(graph.next_timer(), Some(ns(35)));
    graph.fire(ns(34));
    assert_eq!(graph.waiting(task), None);
    graph.fire(ns(35));
    assert_eq!(graph.waiting(task), Some(ns(35)));
    graph.run(task, ns(35), 10);
    assert_eq!(log.take(), ["3 at 35"]);
    assert_eq!(graph.next_timer(), None);
    assert_eq!(graph.accounts().next().unwrap().1.timers, 1);
}

#[test]
fn a_timer_set_again_expires_only_once_and_a_cleared_one_never() {
    let log = Log::default();
    let (mut graph, task, device) = stack(vec![("alarm", alarm(&log))]);
    at(&mut graph, task, device, 0, 1);
    at(&mut graph, task, device, 0, 2);
    assert_eq!(graph.next_timer(), Some(ns(20)));
    at(&mut graph, task, device, 3, 0);
    assert_eq!(graph.next_timer(), None);
}

#[test]
fn a_timer_cleared_before_its_task_comes_to_it_does_not_expire() {
    let log = Log::default();
    let (mut graph, task, device) = stack(vec![("alarm", alarm(&log))]);
    at(&mut graph, task, device, 0, 2);
    // The executor comes late: an input before the deadline and the deadline itself are both due.
    graph.input(ns(19), device, up(0));
    graph.fire(ns(100));
    assert_eq!(graph.run(task, ns(100), 10).inputs, 2);
    assert!(log.take().is_empty());
    // Set again in that place, it expires at the new deadline.
    at(&mut graph, task, device, 200, 2);
    graph.input(ns(219), device, up(5));
    graph.fire(ns(300));
    graph.run(task, ns(300), 10);
    assert!(log.take().is_empty());
    graph.fire(ns(350));
    graph.run(task, ns(350), 10);
    assert_eq!(log.take(), ["5 at 350"]);
    assert_eq!(graph.accounts().next().unwrap().1.timers, 1, "void expiries are none");
}

#[test]
fn an_expiry_takes_its_place_among_inputs_by_its_deadline() {
    let log = Log::default();
    let (late, own) = (log.clone(), log.clone());
    let low = node(move |event, cx| match event {
        Event::Pop(..) => own.write("input"),
        Event::Start => {
            for n in [1, 2] {
                let mut slot = TimerSlot::default();
                cx.set_timer(&mut slot, token(n), ns(50));
            }
        }
        Event::Expire(token) => late.write(format!("timer {}", token.kind)),
        _ => {}
    });
    let (mut graph, task, device) = stack(vec![("low", low)]);
    graph.input(ns(49), device, up(1));
    graph.input(ns(50), device, up(1));
    graph.input(ns(51), device, up(1));
    graph.fire(ns(60));
    graph.run(task, ns(60), 10);
    assert_eq!(log.take(), ["input", "input", "timer 1", "timer 2", "input"]);
}

#[test]
fn an_output_leaves_at_the_start_plus_the_work_so_far() {
    let low = node(|event, cx| {
        if let Event::Pop(below, _) = event {
            cx.down(below, down(1));
            cx.spend(Duration::from_nanos(7));
            cx.charge(Work::Copy, 100);
            cx.down(below, down(2));
        }
    });
    let (mut graph, task, device) = stack(vec![("low", low)]);
    let mut prices = Prices::default();
    prices.set(Work::Pop, 1_000_000);
    prices.set(Work::Send, 10_000);
    prices.set(Work::Copy, 500);
    graph.set_prices(graph.node("low").unwrap(), prices);
    graph.input(ns(100), device, up(1));
    graph.input(ns(100), device, up(1));
    let ran = graph.run(task, ns(200), 10);
    assert_eq!(outputs(&mut graph), [(1_210, 1), (1_277, 2), (2_287, 1), (2_354, 2)]);
    assert_eq!(ran.took, Duration::from_nanos(2_154));
    let (_, account) = graph.accounts().next().unwrap();
    assert_eq!((account.busy, account.copied), (Duration::from_nanos(2_154), 200));
}

#[test]
fn fractions_of_a_nanosecond_add_up_over_runs() {
    let (mut graph, task, device) = stack(vec![("low", node(|_, _| {}))]);
    let mut prices = Prices::default();
    prices.set(Work::Pop, 400);
    graph.set_prices(graph.node("low").unwrap(), prices);
    let mut took = Vec::new();
    for _ in 0..5 {
        graph.input(ns(0), device, up(1));
        took.push(graph.run(task, ns(0), 1).took.as_nanos());
    }
    assert_eq!(took, [0, 0, 1, 0, 1]);
    assert_eq!(graph.accounts().next().unwrap().1.busy, Duration::from_nanos(2));
}
