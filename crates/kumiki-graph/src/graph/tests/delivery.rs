use super::*;

#[test]
fn primitives_arrive_in_the_order_in_which_they_were_handed_over() {
    let log = Log::default();
    let top = node(|event, cx| {
        if let Event::Pop(below, _) = event {
            for octet in 1..=5 {
                cx.down(below, down(octet));
            }
        }
    });
    let (mut graph, task, device) = stack(vec![("top", top), ("low", relay("low", &log))]);
    graph.input(ns(5), device, up(9));
    graph.run(task, ns(5), 1);
    assert_eq!(outputs(&mut graph), [(5, 1), (5, 2), (5, 3), (5, 4), (5, 5)]);
    assert_eq!(log.take().len(), 6);
}

#[test]
fn an_input_runs_through_its_task_before_the_next_one_starts() {
    let log = Log::default();
    let (mut graph, task, device) =
        stack(vec![("top", echo("top", &log)), ("mid", relay("mid", &log)), ("low", relay("low", &log))]);
    graph.input(ns(1), device, up(10));
    graph.input(ns(2), device, up(20));
    assert_eq!(graph.run(task, ns(2), 10).inputs, 2);
    let through = |a: u8| {
        let b = a + 1;
        [
            format!("low up {a}"),
            format!("mid up {a}"),
            format!("top up {a}"),
            format!("mid down {b}"),
            format!("low down {b}"),
        ]
    };
    assert_eq!(log.take(), [through(10), through(20)].concat());
    assert_eq!(outputs(&mut graph), [(2, 11), (2, 21)]);
}

#[test]
fn a_node_starts_after_those_that_it_stands_on() {
    let log = Log::default();
    let starting = |name: &'static str| {
        let log = log.clone();
        node(move |event, _| {
            if matches!(event, Event::Start) {
                log.write(name);
            }
        })
    };
    let (..) = stack(vec![("top", starting("top")), ("mid", starting("mid")), ("low", starting("low"))]);
    assert_eq!(log.take(), ["low", "mid", "top"]);
}

#[test]
fn a_node_that_answers_itself_is_not_entered_again_before_it_returns() {
    let log = Log::default();
    let own = log.clone();
    let mirror = node(|event, cx| {
        if let Event::Push(from, request) = event {
            cx.up(from, up(octet(request.message())));
        }
    });
    let top = node(move |event, cx| match event {
        Event::Start => {
            own.write("begin start");
            cx.down(Below(0), down(2));
            own.write("end start");
        }
        Event::Pop(below, indication) => {
            let left = octet(indication.message()) - 1;
            own.write(format!("begin {left}"));
            if left > 0 {
                cx.down(below, down(left));
            }
            own.write(format!("end {left}"));
        }
        _ => {}
    });
    let (..) = stack(vec![("top", top), ("mirror", mirror)]);
    assert_eq!(log.take(), ["begin start", "end start", "begin 1", "end 1", "begin 0", "end 0"]);
}

#[test]
fn only_what_is_visible_is_taken_and_the_earliest_first() {
    let log = Log::default();
    let (mut graph, task, device) = stack(vec![("top", echo("top", &log))]);
    for at in [30, 10, 20, 10] {
        graph.input(ns(u64::from(at)), device, up(at));
    }
    assert_eq!(graph.waiting(task), Some(ns(10)));
    assert_eq!(graph.run(task, ns(25), 10).inputs, 3);
    assert_eq!(log.take(), ["top up 10", "top up 10", "top up 20"]);
    assert_eq!(graph.waiting(task), Some(ns(30)));
    assert_eq!(graph.run(task, ns(29), 10).inputs, 0);
    assert_eq!(graph.run(task, ns(30), 10).inputs, 1);
    assert_eq!(graph.waiting(task), None);
}

#[test]
fn primitives_to_another_task_wait_in_its_inbox_by_time() {
    let log = Log::default();
    let mut graph = Graph::new(1, 1);
    let (low, high) = (graph.add_task("low"), graph.add_task("high"));
    let device = graph.add_device("dev", Service::FRAME).unwrap();
    let other = graph.add_device("other", Service::FRAME).unwrap();
    let relay_node = graph.add_node("relay", low, relay("relay", &log)).unwrap();
    graph.add_node("top", high, echo("top", &log)).unwrap();
    graph.connect("relay", "dev").unwrap();
    graph.connect("top", "relay").unwrap();
    graph.connect("top", "other").unwrap();
    let mut prices = Prices::default();
    prices.set(Work::Pop, 100_000);
    graph.set_prices(relay_node, prices);

    graph.input(ns(10), device, up(1));
    graph.input(ns(10), device, up(2));
    assert_eq!(graph.run(low, ns(10), 10).took, Duration::from_nanos(200));
    // Handed over at 110 and at 210; this comes between them, though the graph hears of it last.
    graph.input(ns(150), other, up(3));
    assert_eq!(log.take(), ["relay up 1", "relay up 2"]);
    assert_eq!(graph.waiting(high), Some(ns(110)));
    graph.run(high, ns(300), 10);
    assert_eq!(log.take(), ["top up 1", "top up 3", "top up 2"]);
    // The answers go back through the inbox of the lower task.
    assert_eq!(graph.waiting(low), Some(ns(300)));
}

#[test]
fn each_touched_node_settles_once_after_the_batch() {
    let log = Log::default();
    let settling = |name: &'static str, log: &Log| {
        let log = log.clone();
        node(move |event, cx| match event {
            Event::Pop(_, indication) => {
                log.write(format!("{name} pop"));
                cx.up(Above(0), indication);
            }
            Event::Settle => log.write(format!("{name} settle")),
            _ => {}
        })
    };
    let (mut graph, task, device) = stack(vec![("top", settling("top", &log)), ("low", settling("low", &log))]);
    log.take();
    for at in 1..=3 {
        graph.input(ns(at), device, up(1));
    }
    graph.run(task, ns(3), 2);
    assert_eq!(log.take(), ["low pop", "top pop", "low pop", "top pop", "low settle", "top settle"]);
    graph.run(task, ns(3), 2);
    assert_eq!(log.take(), ["low pop", "top pop", "low settle", "top settle"]);
    graph.run(task, ns(9), 2);
    assert!(log.take().is_empty(), "nothing was touched");
}

#[test]
fn a_node_that_a_settling_one_gives_work_settles_after_that_work() {
    let log = Log::default();
    let (above, below) = (log.clone(), log.clone());
    let mut owed = false;
    let top = node(move |event, cx| match event {
        Event::Pop(..) => owed = true,
        Event::Settle if core::mem::take(&mut owed) => {
            above.write("top settles");
            cx.down(Below(0), down(7));
        }
        _ => {}
    });
    let low = node(move |event, cx| match event {
        Event::Pop(_, indication) => cx.up(Above(0), indication),
        Event::Push(_, request) => {
            below.write("low sends");
            cx.down(Below(0), request);
        }
        Event::Settle => below.write("low settles"),
        _ => {}
    });
    let (mut graph, task, device) = stack(vec![("top", top), ("low", low)]);
    log.take();
    graph.input(ns(4), device, up(1));
    graph.run(task, ns(4), 10);
    assert_eq!(log.take(), ["low settles", "top settles", "low sends", "low settles"]);
    assert_eq!(outputs(&mut graph), [(4, 7)]);
}

#[test]
fn all_nodes_on_a_device_get_what_it_received() {
    let log = Log::default();
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    let device = graph.add_device("dev", Service::FRAME).unwrap();
    for name in ["proper", "raw"] {
        graph.add_node(name, task, echo(name, &log)).unwrap();
        graph.connect(name, "dev").unwrap();
    }
    graph.input(ns(1), device, up(5));
    graph.run(task, ns(1), 10);
    assert_eq!(log.take(), ["proper up 5", "raw up 5"]);
    assert_eq!(outputs(&mut graph), [(1, 6), (1, 6)]);
}

#[test]
fn accounts_count_calls_messages_octets_work_and_drops() {
    let log = Log::default();
    let low = node(|event, cx| match event {
        Event::Pop(_, indication) => {
            cx.charge(Work::Sum, 20);
            cx.up(Above(0), indication);
            cx.up(Above(7), up(0));
        }
        Event::Push(_, request) => {
            cx.charge(Work::Copy, 5);
            cx.down(Below(0), request);
            cx.down(Below(3), down(0));
            cx.drop("tired");
        }
        _ => {}
    });
    let (mut graph, task, device) = stack(vec![("top", echo("top", &log)), ("low", low)]);
    for _ in 0..2 {
        graph.input(ns(1), device, up(1));
    }
    graph.input(ns(1), device, Indication::Report(Box::new(crate::Report::Up)));
    graph.run(task, ns(1), 10);
    let accounts: Vec<_> = graph.accounts().collect();
    let [("top", top), ("low", low)] = accounts.as_slice() else {
        panic!("{accounts:?}");
    };
    // The report has no message, but the relay passes it on, and the top answers it.
    assert_eq!((low.up.calls, low.up.messages, low.up.octets), (3, 2, 2));
    assert_eq!((low.down.calls, low.down.messages, low.down.octets), (3, 3, 3));
    assert_eq!((low.summed, low.copied, low.timers), (60, 15, 0));
    assert_eq!((top.up.calls, top.up.messages, top.down.calls), (3, 2, 0));
    let drops: Vec<_> = low.drops.iter().map(|(why, n)| (*why, *n)).collect();
    assert_eq!(drops, [("no layer below", 3), ("no such user", 3), ("tired", 3)]);
}

#[test]
fn a_tap_sees_both_directions_with_their_times_and_addresses() {
    let log = Log::default();
    let (mut graph, task, device) = stack(vec![("top", echo("top", &log)), ("low", relay("low", &log))]);
    let (between, ..) = graph.access_points().next().unwrap();
    graph.tap(between);
    let from = Address::from(core::net::Ipv4Addr::new(10, 0, 0, 32));
    graph.input(ns(3), device, Indication::Unit(Box::new(Unit { source: from, ..unit(1) })));
    graph.input(ns(3), device, Indication::Report(Box::new(crate::Report::Up)));
    graph.run(task, ns(4), 10);
    let seen: Vec<_> = graph
        .take_tapped()
        .into_iter()
        .map(|seen| {
            assert_eq!(seen.access_point, between);
            (seen.at.as_nanos(), seen.down, seen.source, octet(Some(&seen.data)))
        })
        .collect();
    assert_eq!(
        seen,
        [(4, false, from, 1), (4, true, Address::NONE, 2), (4, true, Address::NONE, 1)],
        "what carries no message is not a frame of a capture"
    );
    assert!(graph.take_tapped().is_empty());
}

#[test]
fn a_drop_is_noted_where_the_message_was_last_seen() {
    // Answers 1, and throws 3 away; what it hands down for 5 is thrown away by the layer below.
    let top = node(|event, cx| match event {
        Event::Pop(from, indication) => match octet(indication.message()) {
            1 => cx.down(from, down(2)),
            3 => cx.drop("tired"),
            _ => cx.down(from, down(6)),
        },
        Event::Settle => cx.drop("settling"),
        _ => {}
    });
    let low = node(|event, cx| match event {
        Event::Push(_, request) if octet(request.message()) == 6 => cx.drop("no way"),
        Event::Push(_, request) => cx.down(Below(0), request),
        Event::Pop(_, indication) => cx.up(Above(0), indication),
        _ => {}
    });
    let (mut graph, task, device) = stack(vec![("top", top), ("low", low)]);
    let points: Vec<AccessPoint> = graph.access_points().map(|(point, ..)| point).collect();
    let mut seen = |points: &[AccessPoint]| {
        points.iter().for_each(|point| graph.tap(*point));
        for octet in [1, 3, 5] {
            graph.input(ns(1), device, up(octet));
        }
        graph.run(task, ns(1), 10);
        let tapped = graph.take_tapped().into_iter();
        tapped.map(|seen| (octet(Some(&seen.data)), seen.dropped)).collect::<Vec<_>>()
    };
    let (between, below) = (points[0], points[1]);
    // What 5 led to was not seen going down, and is not 5.
    assert_eq!(seen(&[below]), [(1, None), (3, Some("tired")), (5, None), (2, None)]);
    assert_eq!(
        seen(&[between]),
        [
            // At the device, as they came.
            (1, None),
            (3, None),
            (5, None),
            // Between the layers.
            (1, None),
            (2, None),
            (2, None),
            (3, Some("tired")),
            (5, None),
            (6, Some("no way")),
        ]
    );
}

#[test]
fn what_is_sent_past_a_layer_comes_to_the_one_below_as_though_from_it() {
    let log = Log::default();
    let mut bypass = None;
    let top = node(move |event, cx| match event {
        Event::Start => cx.down(
            Below(0),
            Request::Manage(Box::new(crate::Manage::Route { to: Address::from(core::net::Ipv4Addr::from([2; 4])) })),
        ),
        Event::Pop(_, Indication::Report(report)) => {
            if let crate::Report::Route { bypass: past, .. } = *report {
                bypass = past;
            }
        }
        Event::Pop(..) => match bypass {
            Some(past) => cx.down_past(past, down(8)),
            None => cx.down(Below(0), down(9)),
        },
        _ => {}
    });
    let own = log.clone();
    let aside = node(move |event, cx| match event {
        Event::Push(from, Request::Manage(_)) => {
            let route = crate::Report::Route {
                to: Address::from(core::net::Ipv4Addr::from([2; 4])),
                source: Address::NONE,
                unit: 1500,
                burst: 1,
                bypass: cx.access_point(Below(0)),
            };
            cx.up(from, Indication::Report(Box::new(route)));
        }
        Event::Push(..) => own.write("in the path"),
        Event::Pop(_, indication) => cx.up(Above(0), indication),
        _ => {}
    });
    let low = relay("low", &log);
    let (mut graph, task, device) = stack(vec![("top", top), ("aside", aside), ("low", low)]);
    graph.input(ns(1), device, up(1));
    graph.run(task, ns(1), 10);
    assert_eq!(log.take(), ["low up 1", "low down 8"]);
    assert_eq!(outputs(&mut graph), [(1, 8)]);
}

#[test]
fn one_seed_gives_the_same_random_numbers_and_another_does_not() {
    let draw = |seed, stream| {
        let log = Log::default();
        let mut graph = Graph::new(seed, stream);
        let task = graph.add_task("cpu");
        for name in ["a", "b"] {
            let log = log.clone();
            let drawing = node(move |event, cx| {
                if matches!(event, Event::Start) {
                    log.write(format!("{:x}", cx.rng().next_u64()));
                }
            });
            graph.add_node(name, task, drawing).unwrap();
        }
        graph.start(ns(0)).unwrap();
        graph.run(task, ns(0), 10);
        log.take()
    };
    let numbers = draw(1, 1);
    assert_eq!(numbers, draw(1, 1));
    assert_ne!(numbers[0], numbers[1], "each node has its own");
    for other in [draw(2, 1), draw(1, 2)] {
        assert!(numbers.iter().all(|number| !other.contains(number)));
    }
}

#[test]
fn what_may_still_be_thrown_away_is_not_settled() {
    let top = node(|event, cx| {
        if let Event::Pop(_, indication) = event
            && octet(indication.message()) == 3
        {
            cx.drop("tired");
        }
    });
    let (mut graph, task, device) = stack(vec![("top", top)]);
    let (below, ..) = graph.access_points().next().unwrap();
    graph.tap(below);
    let settled = |graph: &mut Graph| {
        let seen = graph.take_settled().into_iter();
        seen.map(|seen| (octet(Some(&seen.data)), seen.dropped)).collect::<Vec<_>>()
    };
    graph.input(ns(1), device, up(1));
    graph.run(task, ns(1), 10);
    graph.input(ns(2), device, up(3));
    graph.input(ns(3), device, up(5));
    // 3 and 5 wait for the task.
    assert_eq!(settled(&mut graph), [(1, None)]);
    assert_eq!(graph.first_tapped(), Some(ns(2)));
    graph.run(task, ns(4), 1);
    assert_eq!(settled(&mut graph), [(3, Some("tired"))]);
    graph.run(task, ns(5), 10);
    assert_eq!(settled(&mut graph), [(5, None)]);
    assert_eq!(graph.first_tapped(), None);
}
