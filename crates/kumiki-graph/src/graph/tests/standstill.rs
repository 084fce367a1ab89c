//! Nodes that answer each other at once: found, told by both names, and the end of the graph.

use super::*;

/// Two nodes of which each sends the other what comes, and `wants` says which event of the upper one begins it.
fn mirrors(wants: fn(&Event) -> bool) -> (Graph, TaskId, DeviceId) {
    let upper = node(move |event, cx| {
        if wants(&event) || matches!(event, Event::Pop(..)) {
            cx.down(Below(0), down(1));
        }
    });
    let lower = node(|event, cx| {
        if let Event::Push(..) = event {
            cx.up(Above(0), up(1));
        }
    });
    unstarted(vec![("upper", upper), ("lower", lower)])
}

fn found(graph: &Graph) -> (u64, &str, &str) {
    let standstill = graph.standstill().unwrap();
    (standstill.steps, &standstill.from, &standstill.to)
}

#[test]
fn nodes_that_answer_each_other_within_an_input_stand_still() {
    let (mut graph, task, device) = mirrors(|event| matches!(event, Event::Start));
    graph.set_steps(100_000);
    graph.start(ns(5)).unwrap();
    graph.run(task, ns(5), usize::MAX);
    assert_eq!(found(&graph), (100_000, "lower", "upper"));
    assert_eq!(graph.standstill().unwrap().at, ns(5));
    let text = graph.standstill().unwrap().to_string();
    assert!(text.contains("from `lower` to `upper`"), "{text}");
    // It does nothing any more, and nobody waits for it.
    graph.input(ns(6), device, up(1));
    graph.wake(ns(6), NodeId(0), Token::default());
    graph.fire(ns(7));
    assert_eq!((graph.waiting(task), graph.next_timer()), (None, None));
    assert_eq!(graph.run(task, ns(7), usize::MAX).inputs, 0);
}

#[test]
fn nodes_that_answer_each_other_when_a_batch_settles_stand_still() {
    let (mut graph, task, _) = mirrors(|event| matches!(event, Event::Settle));
    graph.set_steps(1_001);
    graph.start(Instant::ZERO).unwrap();
    graph.run(task, Instant::ZERO, usize::MAX);
    assert_eq!(found(&graph), (1_001, "upper", "lower"));
}

/// Each touches the other as it settles, and neither answers anything.
#[test]
fn nodes_that_touch_each_other_by_settling_stand_still() {
    let upper = node(|event, cx| {
        if let Event::Settle = event {
            cx.down(Below(0), down(1));
        }
    });
    let lower = node(|event, cx| {
        if let Event::Settle = event {
            cx.up(Above(0), up(1));
        }
    });
    let (mut graph, task, _) = unstarted(vec![("upper", upper), ("lower", lower)]);
    graph.set_steps(1_000);
    graph.start(Instant::ZERO).unwrap();
    graph.run(task, Instant::ZERO, usize::MAX);
    let (steps, from, to) = found(&graph);
    assert_eq!(steps, 1_000);
    assert!([("upper", "lower"), ("lower", "upper")].contains(&(from, to)));
}

/// Each answer is two: what is in flight doubles, and is bounded long before the steps are.
#[test]
fn nodes_whose_answers_multiply_stand_still_before_memory_ends() {
    let upper = node(|event, cx| {
        if let Event::Start | Event::Pop(..) = event {
            (0..2).for_each(|_| cx.down(Below(0), down(1)));
        }
    });
    let lower = node(|event, cx| {
        if let Event::Push(..) = event {
            cx.up(Above(0), up(1));
        }
    });
    let (mut graph, task, _) = unstarted(vec![("upper", upper), ("lower", lower)]);
    graph.start(Instant::ZERO).unwrap();
    graph.run(task, Instant::ZERO, usize::MAX);
    assert!(found(&graph).0 < 20_000_000);
}

/// Others settle after those that were found; what they say goes nowhere, and the first names stay.
#[test]
fn who_settles_after_a_standstill_is_not_heard() {
    let said = Log::default();
    let heard = said.clone();
    let upper = node(|event, cx| {
        if let Event::Settle | Event::Pop(..) = event {
            (0..2).for_each(|_| cx.down(Below(0), down(1)));
        }
    });
    let lower = node(|event, cx| {
        if let Event::Push(..) | Event::Settle = event {
            cx.up(Above(0), up(1));
        }
    });
    let apart = node(move |event, cx| match event {
        Event::Settle => cx.down(Below(0), down(9)),
        Event::Pop(..) => heard.write("heard"),
        _ => {}
    });
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    for (name, node) in [("lower", lower), ("upper", upper), ("echo", echo("echo", &said)), ("apart", apart)] {
        graph.add_node(name, task, node).unwrap();
    }
    graph.connect("upper", "lower").unwrap();
    graph.connect("apart", "echo").unwrap();
    graph.set_steps(1_000);
    graph.start(Instant::ZERO).unwrap();
    graph.run(task, Instant::ZERO, usize::MAX);
    assert_eq!(found(&graph).0, 1_000);
    assert_ne!(found(&graph).2, "echo");
    assert_eq!(said.take(), [""; 0]);
}

#[test]
fn a_long_chain_that_ends_is_let_be() {
    let (mut left, bound) = (100_000, 200_000);
    let upper = node(move |event, cx| {
        if matches!(event, Event::Start | Event::Pop(..)) && left > 0 {
            left -= 1;
            cx.down(Below(0), down(1));
        }
    });
    let lower = node(|event, cx| {
        if let Event::Push(..) = event {
            cx.up(Above(0), up(1));
        }
    });
    let (mut graph, task, device) = unstarted(vec![("upper", upper), ("lower", lower)]);
    // One step more than it has, for each input again.
    graph.set_steps(bound + 1);
    graph.start(Instant::ZERO).unwrap();
    for _ in 0..2 {
        graph.run(task, Instant::ZERO, usize::MAX);
        graph.input(Instant::ZERO, device, up(1));
    }
    assert_eq!(graph.standstill(), None);
}
