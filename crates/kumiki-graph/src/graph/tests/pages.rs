use std::collections::{BTreeMap, BTreeSet};

use kumiki_octets::Lease;
use proptest::prelude::*;

use super::*;
use crate::Handle;
use crate::context::holder;
use crate::ledger::{HandOut, Holder, Pages, WakeUp};

fn ledger(clusters: u32, wake_up: WakeUp, hand_out: HandOut) -> Ledger {
    Ledger::new(Pages { page: 4096, cluster: 1, clusters, hand_out, wake_up, share_percent: None })
}

const LETS_GO: u8 = 100;
const LOSES_INTEREST: u8 = 200;

#[derive(Default)]
struct Sessions {
    held: BTreeMap<u32, Vec<Lease>>,
    waiting: BTreeSet<u32>,
    uninterested: BTreeSet<u32>,
}

const fn token(index: u32) -> Token {
    let session = Handle { index, generation: 0 };
    Token { session, kind: 0 }
}

impl Sessions {
    fn ask(&mut self, index: u32, cx: &mut Context<'_>) -> &'static str {
        match cx.lease(Pool::Send, token(index)) {
            Ok(lease) => {
                self.held.entry(index).or_default().extend(lease);
                "takes"
            }
            Err(crate::MustWait) => {
                self.waiting.insert(index);
                "waits"
            }
        }
    }
}

/// Session n asks for a cluster when n comes up, and lets one go when n + 100 does. After n + 200 it takes nothing when
/// it is woken.
fn board(log: &Log, sessions: &Arc<Mutex<Sessions>>) -> Box<Scripted> {
    let (log, sessions) = (log.clone(), Arc::clone(sessions));
    node(move |event, cx| {
        let mut sessions = sessions.lock().unwrap();
        match event {
            Event::Pop(_, indication) => match octet(indication.message()) {
                n @ LOSES_INTEREST.. => {
                    sessions.uninterested.insert(u32::from(n - LOSES_INTEREST));
                }
                n @ LETS_GO.. => {
                    let n = u32::from(n - LETS_GO);
                    if sessions.held.get_mut(&n).is_some_and(|held| held.pop().is_some()) {
                        log.write(format!("{n} lets go"));
                    }
                }
                // A session that waits asks no more.
                n if sessions.waiting.contains(&u32::from(n)) => {}
                n => {
                    let outcome = sessions.ask(u32::from(n), cx);
                    log.write(format!("{n} {outcome}"));
                }
            },
            Event::Ready(token) => {
                let n = token.session.index;
                assert!(sessions.waiting.remove(&n), "{n} did not wait");
                if sessions.uninterested.contains(&n) {
                    log.write(format!("{n} passes"));
                } else {
                    let outcome = sessions.ask(n, cx);
                    log.write(format!("{n} woken, {outcome}"));
                }
            }
            _ => {}
        }
    })
}

struct Bench {
    graph: Graph,
    task: TaskId,
    device: DeviceId,
    log: Log,
    sessions: Arc<Mutex<Sessions>>,
}

impl Bench {
    fn new(ledger: Ledger) -> Self {
        let (log, sessions) = (Log::default(), Arc::default());
        let (mut graph, task, device) = stack(vec![("board", board(&log, &sessions))]);
        graph.set_ledger(Pool::Send, ledger);
        Self { graph, task, device, log, sessions }
    }

    /// All of `octets` come up at once; what the sessions then did.
    fn feed(&mut self, octets: &[u8]) -> Vec<String> {
        for &octet in octets {
            self.graph.input(ns(1), self.device, up(octet));
        }
        self.run()
    }

    fn run(&mut self) -> Vec<String> {
        while self.graph.waiting(self.task).is_some() {
            self.graph.run(self.task, ns(1), 3);
        }
        self.log.take()
    }
}

#[test]
fn memory_that_is_not_modelled_is_never_short() {
    let (log, sessions) = (Log::default(), Arc::default());
    let (mut graph, task, device) = stack(vec![("board", board(&log, &sessions))]);
    graph.input(ns(1), device, up(1));
    graph.run(task, ns(1), 1);
    assert_eq!(log.take(), ["1 takes"]);
    assert!(graph.ledger(Pool::Send).is_none());
}

#[test]
fn as_many_are_woken_as_clusters_are_free_and_the_longest_waiting_first() {
    let mut bench = Bench::new(ledger(3, WakeUp::One, HandOut::Free));
    bench.feed(&[1, 2, 3]);
    assert_eq!(bench.feed(&[4, 5, 6]), ["4 waits", "5 waits", "6 waits"]);
    assert_eq!(bench.feed(&[102, 101]), ["2 lets go", "1 lets go", "4 woken, takes", "5 woken, takes"]);
    assert_eq!(bench.feed(&[105]), ["5 lets go", "6 woken, takes"]);
    let ledger = bench.graph.ledger(Pool::Send).unwrap();
    assert_eq!((ledger.in_use(), ledger.high_water, ledger.refusals), (3, 3, 3));
}

#[test]
fn everybody_is_woken_for_one_cluster_where_the_host_does_so() {
    let mut bench = Bench::new(ledger(1, WakeUp::All, HandOut::Free));
    bench.feed(&[1, 2, 3, 4]);
    assert_eq!(bench.feed(&[101]), ["1 lets go", "2 woken, takes", "3 woken, waits", "4 woken, waits"]);
    assert!(bench.feed(&[]).is_empty(), "nobody is woken for nothing");
    assert_eq!(bench.feed(&[102]), ["2 lets go", "3 woken, takes", "4 woken, waits"]);
}

#[test]
fn a_waiter_that_takes_nothing_does_not_keep_the_next_one_waiting() {
    for wake_up in [WakeUp::One, WakeUp::All] {
        let mut bench = Bench::new(ledger(1, wake_up, HandOut::Free));
        bench.feed(&[1, 2, 3, 202]);
        assert_eq!(bench.feed(&[101]), ["1 lets go", "2 passes", "3 woken, takes"]);
    }
}

#[test]
fn a_waiter_that_comes_second_to_a_free_cluster_waits_for_the_next() {
    for wake_up in [WakeUp::One, WakeUp::All] {
        let mut bench = Bench::new(ledger(1, wake_up, HandOut::Free));
        bench.feed(&[1, 2]);
        assert_eq!(bench.feed(&[101, 3]), ["1 lets go", "3 takes", "2 woken, waits"]);
        assert_eq!(bench.feed(&[103]), ["3 lets go", "2 woken, takes"]);
    }
}

#[test]
fn a_cyclic_hand_out_wakes_nobody_for_a_cluster_out_of_turn() {
    for wake_up in [WakeUp::One, WakeUp::All] {
        let mut bench = Bench::new(ledger(2, wake_up, HandOut::Cyclic));
        bench.feed(&[1, 2]);
        assert_eq!(bench.feed(&[3, 102]), ["3 waits", "2 lets go"]);
        // The first cluster is next in the ring, and with it the second has its turn again.
        assert_eq!(bench.feed(&[4, 101]).last().unwrap(), "4 woken, takes");
        assert_eq!(bench.graph.ledger(Pool::Send).unwrap().in_use(), 2);
    }
}

#[test]
fn a_release_outside_the_graph_is_heard_of_from_the_executor() {
    let mut bench = Bench::new(ledger(1, WakeUp::One, HandOut::Free));
    let lent = bench.graph.ledger(Pool::Send).unwrap().lease(Holder::default());
    assert_eq!(bench.feed(&[1]), ["1 waits"]);
    drop(lent);
    bench.graph.pages_released(ns(7));
    assert_eq!(bench.graph.waiting(bench.task), Some(ns(7)));
    bench.graph.run(bench.task, ns(7), 1);
    assert_eq!(bench.log.take(), ["1 woken, takes"]);
    let (_, account) = bench.graph.accounts().next().unwrap();
    assert_eq!(account.up.calls, 1);
}

proptest! {
    /// Whoever waits does so because there is nothing to be had.
    #[test]
    fn nobody_waits_while_there_is_room(
        clusters in 1u32..5,
        all in any::<bool>(),
        cyclic in any::<bool>(),
        share_percent in prop::option::of(1u32..300),
        steps in prop::collection::vec(prop::collection::vec((0u8..6, 0u8..8), 1..8), 1..40),
    ) {
        let wake_up = if all { WakeUp::All } else { WakeUp::One };
        let hand_out = if cyclic { HandOut::Cyclic } else { HandOut::Free };
        let pages = Pages {
            share_percent,
            ..*ledger(clusters, wake_up, hand_out).pages()
        };
        let mut bench = Bench::new(Ledger::new(pages));
        for step in steps {
            let octets: Vec<u8> = step
                .into_iter()
                .map(|(kind, session)| session + match kind {
                    0..3 => 0,
                    3..5 => LETS_GO,
                    _ => LOSES_INTEREST,
                })
                .collect();
            bench.feed(&octets);
            let waiting = bench.sessions.lock().unwrap().waiting.clone();
            let ledger = bench.graph.ledger(Pool::Send).unwrap();
            for index in waiting {
                let would = ledger.would_lease(holder(NodeId(0), token(index)));
                prop_assert!(!would, "{index} waits for nothing");
            }
        }
        // When all is let go, nobody waits any more.
        for _ in 0..100 {
            let lets_go: Vec<u8> = (LETS_GO..LETS_GO + 8).collect();
            bench.feed(&lets_go);
        }
        prop_assert!(bench.sessions.lock().unwrap().waiting.is_empty());
    }
}
