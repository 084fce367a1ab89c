//! Apart from what `settle` decides, a trace does not depend on the batch size.

use kumiki_octets::Lease;
use proptest::prelude::*;

use super::*;
use crate::ledger::{HandOut, Pages, WakeUp};
use crate::{Handle, TimerSlot};

fn pause(octet: u8) -> Duration {
    Duration::from_nanos(1_000_003 * (1 + u64::from(octet)))
}

fn token(kind: u8) -> Token {
    Token { session: Handle::default(), kind: u32::from(kind) }
}

/// Takes a cluster for each unit and passes it up, in order; lets all go when told to. While it waits for one, the rest
/// waits.
fn leasing(log: &Log) -> Box<Scripted> {
    let log = log.clone();
    let mut held = Vec::<Option<Lease>>::new();
    let (mut queue, mut waits) = (VecDeque::new(), false);
    node(move |event, cx| {
        match event {
            Event::Pop(_, indication) => {
                let octet = octet(indication.message());
                queue.push_back(octet);
                if octet.is_multiple_of(4) {
                    held.clear();
                }
            }
            Event::Push(_, request) => cx.down(Below(0), request),
            Event::Ready(_) => waits = false,
            _ => return,
        }
        while let Some(&next) = queue.front()
            && !waits
        {
            match cx.lease(Pool::Receive, token(next)) {
                Ok(lease) => held.push(lease),
                Err(_) => {
                    waits = true;
                    break;
                }
            }
            queue.pop_front();
            log.write(format!("leasing {next} {:?}", cx.now()));
            cx.up(Above(0), up(next));
        }
    })
}

/// Sets, moves and clears four timers; passes on what is odd, and answers some of it.
fn timing(log: &Log) -> Box<Scripted> {
    let log = log.clone();
    let mut slots = [TimerSlot::default(); 4];
    node(move |event, cx| match event {
        Event::Pop(below, indication) => {
            let octet = octet(indication.message());
            log.write(format!("timing {octet} {:?}", cx.now()));
            let slot = &mut slots[usize::from(octet % 4)];
            match octet / 4 % 3 {
                0 => cx.clear_timer(slot),
                _ => cx.set_timer(slot, token(octet), cx.now() + pause(octet)),
            }
            if octet % 2 == 1 {
                cx.charge(Work::Copy, u64::from(octet));
                cx.up(Above(0), indication);
            }
            if octet.is_multiple_of(3) {
                cx.down(below, down(octet));
            }
        }
        Event::Push(_, request) => cx.down(Below(0), request),
        Event::Expire(token) => {
            log.write(format!("timing expire {} {:?}", token.kind, cx.now()));
            cx.down(Below(0), down(u8::try_from(token.kind).unwrap()));
        }
        _ => {}
    })
}

/// Answers at random, at once and later.
fn answering(log: &Log) -> Box<Scripted> {
    let log = log.clone();
    let mut slot = TimerSlot::default();
    node(move |event, cx| match event {
        Event::Pop(below, indication) => {
            let octet = octet(indication.message());
            log.write(format!("answering {octet} {:?}", cx.now()));
            if cx.rng().chance(0.7) {
                cx.down(below, down(octet ^ 0x80));
            }
            if cx.rng().chance(0.5) {
                cx.set_timer(&mut slot, token(octet), cx.now() + pause(octet));
            }
        }
        Event::Expire(token) => {
            log.write(format!("answering expire {} {:?}", token.kind, cx.now()));
            cx.down(Below(0), Request::Manage(Box::new(crate::Manage::Limits)));
        }
        _ => {}
    })
}

#[derive(Clone, Debug)]
struct Case {
    /// When, and what: nanoseconds and an octet.
    inputs: Vec<(u64, u8)>,
    /// Of each of the three nodes, in picoseconds, in the order of [`Work::ALL`].
    prices: [[u64; 8]; 3],
    /// Whether the top node runs on a CPU of its own.
    two_tasks: bool,
    /// Whether the host has three clusters, or its memory is not modelled.
    modelled: bool,
}

/// All that can be seen of the graph: what each node logged, what left, what was tapped, and the accounts.
type Trace = Vec<String>;

/// A host in virtual time; `limits` are the batch limits that its tasks have, in turn.
fn trace(case: &Case, limits: &[usize]) -> Trace {
    let logs: [Log; 3] = Default::default();
    let mut graph = Graph::new(7, 3);
    let mut tasks = vec![graph.add_task("lower")];
    if case.two_tasks {
        tasks.push(graph.add_task("upper"));
    }
    let device = graph.add_device("dev", Service::FRAME).unwrap();
    let protocols: [Box<Scripted>; 3] = [answering(&logs[0]), timing(&logs[1]), leasing(&logs[2])];
    let names = ["top", "mid", "low", "dev"];
    for (number, protocol) in protocols.into_iter().enumerate() {
        let task = if number == 0 { *tasks.last().unwrap() } else { tasks[0] };
        let node = graph.add_node(names[number], task, protocol).unwrap();
        let mut prices = Prices::default();
        for (work, price) in Work::ALL.into_iter().zip(case.prices[number]) {
            prices.set(work, price);
        }
        graph.set_prices(node, prices);
    }
    for pair in names.windows(2) {
        let access_point = graph.connect(pair[0], pair[1]).unwrap().unwrap();
        graph.tap(access_point);
    }
    if case.modelled {
        graph.set_ledger(
            Pool::Receive,
            Ledger::new(Pages {
                page: 4096,
                cluster: 1,
                clusters: 3,
                hand_out: HandOut::Free,
                wake_up: WakeUp::One,
                share_percent: None,
            }),
        );
    }
    graph.start(Instant::ZERO).unwrap();

    let mut inputs: VecDeque<(u64, u8)> = case.inputs.clone().into();
    inputs.make_contiguous().sort_unstable();
    let mut free_at = vec![Instant::ZERO; tasks.len()];
    let mut limits = limits.iter().copied().cycle();
    let mut trace = Trace::new();
    for _ in 0..100_000 {
        let input = inputs.front().map(|&(at, _)| ns(at));
        let ready = tasks.iter().zip(&free_at).filter_map(|(&task, &free)| Some(graph.waiting(task)?.max(free))).min();
        let Some(now) = [input, ready, graph.next_timer()].into_iter().flatten().min() else {
            trace.extend(logs.iter().flat_map(Log::take));
            let mut tapped = graph.take_tapped();
            tapped.sort_by_key(|seen| (seen.access_point, seen.down));
            trace.extend(tapped.iter().map(|seen| format!("{seen:?}")));
            trace.extend(graph.accounts().map(|(name, account)| format!("{name} {account:?}")));
            return trace;
        };
        while let Some((at, octet)) = inputs.pop_front_if(|&mut (at, _)| ns(at) <= now) {
            graph.input(ns(at), device, up(octet));
        }
        graph.fire(now);
        for (&task, free) in tasks.iter().zip(&mut free_at) {
            if *free <= now && graph.waiting(task).is_some_and(|at| at <= now) {
                *free = now + graph.run(task, now, limits.next().unwrap()).took;
            }
        }
        while let Some(output) = graph.output() {
            trace.push(format!("{:?} {:?}", output.at, output.request));
        }
    }
    panic!("it does not come to rest");
}

fn prices(most_ps: u64) -> impl Strategy<Value = [[u64; 8]; 3]> {
    // Free work is as important as dear work.
    let price = prop_oneof![Just(0), 0..=most_ps];
    prop::array::uniform3(prop::array::uniform8(price))
}

prop_compose! {
    fn case(two_tasks: bool, modelled: bool, within_ns: u64, most_ps: u64)(
        inputs in prop::collection::vec((0..within_ns, any::<u8>()), 1..60),
        prices in prices(most_ps),
    ) -> Case {
        Case { inputs, prices, two_tasks, modelled }
    }
}

fn agrees(case: &Case, limits: &[usize]) -> Result<(), TestCaseError> {
    let one_by_one = trace(case, &[1]);
    prop_assert_eq!(&one_by_one, &trace(case, &[1]), "the same twice");
    prop_assert_eq!(&one_by_one, &trace(case, limits));
    prop_assert_eq!(&one_by_one, &trace(case, &[usize::MAX]));
    Ok(())
}

fn limits() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..9, 1..5)
}

/// So long that hardly ever two things happen in the same nanosecond, and work that takes as long.
const LONG_NS: u64 = 1 << 40;
const DEAR_PS: u64 = 1 << 46;

proptest! {
    #[test]
    fn nor_on_one_priced_cpu(case in case(false, false, 500, 50_000), limits in limits()) {
        agrees(&case, &limits)?;
    }

    #[test]
    fn nor_where_work_is_free(case in case(false, true, 40, 0), limits in limits()) {
        agrees(&case, &limits)?;
    }

    #[test]
    fn nor_where_work_is_free_and_handed_over(case in case(true, false, 40, 0), limits in limits()) {
        agrees(&case, &limits)?;
    }

    #[test]
    fn nor_on_two_priced_cpus(case in case(true, false, LONG_NS, DEAR_PS), limits in limits()) {
        agrees(&case, &limits)?;
    }

    #[test]
    fn nor_where_memory_is_short(case in case(false, true, LONG_NS, DEAR_PS), limits in limits()) {
        agrees(&case, &limits)?;
    }
}
