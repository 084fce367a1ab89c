//! `FQ-CoDel`: a queue for each flow, served in turns, and `CoDel` in each.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8290 section 4; limits and defaults section 5.2, that of octets as `tc-fq_codel(8)` has it (`memory_limit`, 32 MB) |
//! | Flows | told apart by [`crate::flow_hash`], or by another function that is given |
//! | Credits | a queue with none left has sent at least a quantum, and its turn is over, as in Linux: section 4.2 says *negative* and then *at least a quantum* |
//! | Limit of octets | those of frames that wait, not of the memory that holds them |
//! | Left out | `ce_threshold` (section 5.2.7); set-associative hashing |
//!
//! A flow that has been idle is served before those that have not, for one quantum: that is what makes a queue *new*.

use std::collections::VecDeque;

use kumiki_graph::{Duration, Instant, Rng};
use kumiki_octets::Message;

use super::codel::{Control, Law};
use super::lane::{Lane, QueueTotals};
use super::{Counter, Discipline, DropTail, Ledger, QueuedFrame, counter};
use crate::flow_hash;

/// How many frames of the longest queue are given up at once, at most (RFC 8290 section 4.1).
const AT_ONCE: usize = 64;

/// What [`FqCodel`] is like.
#[derive(Clone, Copy, Debug)]
pub struct FqCodelConfig {
    /// How long frames of a flow may wait whatever comes.
    pub target: Duration,
    /// For how long all must have waited longer than that, before one is given up: about the longest round trip; more
    /// than 0.
    pub interval: Duration,
    /// Whether frames whose senders allow it are marked instead.
    pub ecn: bool,
    /// How many queues there are, at least 1. Flows that share one are one to the scheduler.
    pub flows: u32,
    /// Octets that a queue may send in its turn, at least 1.
    pub quantum: u32,
    /// How much room there is for all queues together.
    pub limit: DropTail,
    /// Tells flows apart: of a frame and a key, which is drawn, a number.
    pub classify: fn(&Message, [u64; 2]) -> u64,
}

impl Default for FqCodelConfig {
    /// 5 ms, 100 ms, marks, 1024 queues, 1514 octets, 10240 frames (RFC 8290 section 5.2) and 32 MB.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            flows: 1024,
            quantum: 1514,
            limit: DropTail { frames: 10_240, octets: 32_000_000 },
            classify: flow_hash,
        }
    }
}

/// On which list a queue is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    None,
    New,
    Old,
}

/// The queue of a flow, or of several whose hash is the same.
#[derive(Debug)]
struct Flow {
    lane: Lane,
    credits: i64,
    control: Control,
    list: List,
}

impl Flow {
    fn idle() -> Self {
        Self { lane: Lane::default(), credits: 0, control: Control::default(), list: List::None }
    }
}

/// Queues of flows.
///
/// Counts `overlimit`, the drops for want of room: the others are the control law's; `new_flows`, how often an idle
/// queue became a new one; and `sparse_frames`, those that were sent while theirs was new.
#[derive(Debug)]
pub struct FqCodel {
    config: FqCodelConfig,
    law: Law,
    key: [u64; 2],
    flows: Vec<Flow>,
    new_flows: VecDeque<usize>,
    old_flows: VecDeque<usize>,
    held: QueueTotals,
    overlimit: u64,
    new_flow_count: u64,
    sparse: u64,
}

impl FqCodel {
    /// Empty queues; `seed` fixes which flows share one.
    #[must_use]
    pub fn new(config: FqCodelConfig, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0);
        let flows = config.flows.max(1);
        Self {
            law: Law::new(config.target, config.interval, config.ecn),
            key: [rng.next_u64(), rng.next_u64()],
            flows: (0..flows).map(|_| Flow::idle()).collect(),
            config: FqCodelConfig { flows, quantum: config.quantum.max(1), ..config },
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            held: QueueTotals::default(),
            overlimit: 0,
            new_flow_count: 0,
            sparse: 0,
        }
    }

    /// The queue of `frame`.
    fn classify(&self, frame: &Message) -> usize {
        let number = (self.config.classify)(frame, self.key) % u64::from(self.config.flows);
        usize::try_from(number).unwrap_or(0)
    }

    fn push(&mut self, frame: QueuedFrame) {
        let number = self.classify(&frame.data);
        self.law.see(frame.octets());
        let Some(flow) = self.flows.get_mut(number) else {
            return;
        };
        flow.lane.push(frame, &mut self.held);
        if flow.list == List::None {
            flow.list = List::New;
            flow.credits = self.config.quantum.into();
            self.new_flows.push_back(number);
            self.new_flow_count += 1;
        }
    }

    /// Gives up what is beyond the limits, from the heads of the longest queues.
    fn make_room(&mut self, ledger: &mut Ledger<'_>) {
        let DropTail { frames, octets } = self.config.limit;
        while self.held.frames > frames || self.held.octets > octets {
            // Of queues that are equally long the first.
            let waiting = self.flows.iter_mut().rev().filter(|flow| flow.lane.len() > 0);
            let Some(longest) = waiting.max_by_key(|flow| flow.lane.octets()) else {
                return;
            };
            for _ in 0..(longest.lane.len() / 2).clamp(1, AT_ONCE) {
                if let Some(frame) = longest.lane.pop(&mut self.held) {
                    self.overlimit += 1;
                    ledger.drop(frame);
                }
            }
        }
    }

    /// The queue whose turn it is.
    fn first(&self) -> Option<usize> {
        self.new_flows.front().or_else(|| self.old_flows.front()).copied()
    }

    /// The queue whose turn it is goes to `list`.
    fn move_first(&mut self, list: List) {
        let Some(number) = self.new_flows.pop_front().or_else(|| self.old_flows.pop_front()) else {
            return;
        };
        if list == List::Old {
            self.old_flows.push_back(number);
        }
        if let Some(flow) = self.flows.get_mut(number) {
            flow.list = list;
        }
    }
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, _now: Instant, frame: QueuedFrame, busy: bool, ledger: &mut Ledger<'_>) {
        self.push(frame);
        if busy {
            self.make_room(ledger);
        }
    }

    fn dequeue(&mut self, now: Instant, ledger: &mut Ledger<'_>) -> Option<QueuedFrame> {
        loop {
            let number = self.first()?;
            let flow = self.flows.get_mut(number)?;
            if flow.credits <= 0 {
                flow.credits += i64::from(self.config.quantum);
                self.move_first(List::Old);
                continue;
            }
            let Some(frame) = flow.control.dequeue(&self.law, now, (&mut flow.lane, &mut self.held), ledger) else {
                // A new queue must let the old ones have their turn before it can be new again.
                let to = if flow.list == List::New { List::Old } else { List::None };
                self.move_first(to);
                continue;
            };
            flow.credits -= i64::try_from(frame.octets()).unwrap_or(i64::MAX);
            self.sparse += u64::from(flow.list == List::New);
            return Some(frame);
        }
    }

    fn frames(&self) -> u64 {
        self.held.frames
    }

    fn octets(&self) -> u64 {
        self.held.octets
    }

    fn take_all(&mut self) -> Vec<QueuedFrame> {
        self.new_flows.clear();
        self.old_flows.clear();
        let mut frames = Vec::new();
        for flow in &mut self.flows {
            frames.extend(flow.lane.take_all(&mut self.held));
            *flow = Flow::idle();
        }
        frames.sort_by_key(|frame| frame.number);
        frames
    }

    fn hold(&mut self, frames: Vec<QueuedFrame>) {
        for frame in frames {
            self.push(frame);
        }
    }

    fn counters(&self) -> Vec<Counter> {
        vec![
            counter!("overlimit", self.overlimit),
            counter!("new_flows", self.new_flow_count),
            counter!("sparse_frames", self.sparse),
        ]
    }
}

#[cfg(test)]
mod tests;
