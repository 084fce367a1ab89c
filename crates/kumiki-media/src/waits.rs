//! When packets of exchanges waited in the queues of lines behind those of others.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Counts | from when a packet came to a queue until it went on the line, but for the time in which the line carried another packet of the same connection, in either of its directions |
//! | Left out | packets that are dropped, or still wait at the end; fragments; what waits as cells, in rings and in hosts |

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::Instant;
use kumiki_link::{Counter, Discipline, Flow, Ledger, QueuedFrame};
use kumiki_octets::Message;

/// From one time until another.
pub type Span = (Instant, Instant);

/// `spans` in order, those that meet put together.
pub fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut all: Vec<Span> = Vec::new();
    for (since, until) in spans {
        match all.last_mut().filter(|(_, last)| since <= *last) {
            Some((_, last)) => *last = until.max(*last),
            None => all.push((since, until)),
        }
    }
    all
}

/// The end that asks, and the one that answers.
type Pair = [SocketAddr; 2];

/// The waits of all connections to servers that are known, in all queues that are watched.
#[derive(Debug)]
pub struct Waits {
    servers: BTreeSet<SocketAddr>,
    found: Mutex<BTreeMap<Pair, Vec<Span>>>,
}

impl Waits {
    /// None so far, of connections to `servers`.
    #[must_use]
    pub fn of(servers: BTreeSet<SocketAddr>) -> Arc<Self> {
        Arc::new(Self { servers, found: Mutex::default() })
    }

    /// Does as `inner` does, and takes note.
    #[must_use]
    pub fn watch(self: &Arc<Self>, inner: Box<dyn Discipline>) -> Box<dyn Discipline> {
        Box::new(Watched { inner, waits: Arc::clone(self), on_line: None, own: BTreeMap::new() })
    }

    /// When something of the connection from `asks` to `answers` waited, in order and without gaps of no length.
    #[must_use]
    pub fn between(&self, asks: SocketAddr, answers: SocketAddr) -> Vec<Span> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let all = found.get(&[asks, answers]).cloned().unwrap_or_default();
        drop(found);
        joined(all)
    }

    /// The connection that `frame` is of, where its server is known.
    fn pair_of(&self, frame: &Message) -> Option<Pair> {
        let Flow { source, destination, ports: [from, to], .. } = Flow::of(frame)?;
        let [source, destination] = [SocketAddr::new(source, from), SocketAddr::new(destination, to)];
        if self.servers.contains(&destination) {
            Some([source, destination])
        } else {
            self.servers.contains(&source).then_some([destination, source])
        }
    }

    fn found(&self, pair: Pair, span: Span) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).entry(pair).or_default().push(span);
    }
}

/// A queue that is watched.
struct Watched {
    inner: Box<dyn Discipline>,
    waits: Arc<Waits>,
    /// Whose packet went on the line last, and when.
    on_line: Option<(Option<Pair>, Instant)>,
    /// When the line carried what of each, as far back as something of it may have waited.
    own: BTreeMap<Pair, Vec<Span>>,
}

impl Watched {
    /// `frame` goes on the line.
    fn goes(&mut self, now: Instant, frame: &QueuedFrame) {
        let pair = self.waits.pair_of(&frame.data);
        if let Some((Some(last), since)) = self.on_line.replace((pair, now)) {
            let own = self.own.entry(last).or_default();
            match own.last_mut().filter(|(_, until)| *until == since) {
                Some((_, until)) => *until = now,
                None => own.push((since, now)),
            }
        }
        let Some(pair) = pair else {
            return;
        };
        let own = self.own.entry(pair).or_default();
        own.retain(|(_, until)| *until > frame.since);
        let mut from = frame.since;
        for (since, until) in own.iter().chain([&(now, now)]) {
            if from < *since {
                self.waits.found(pair, (from, *since));
            }
            from = from.max(*until);
        }
    }
}

impl Discipline for Watched {
    fn enqueue(&mut self, now: Instant, frame: QueuedFrame, busy: bool, ledger: &mut Ledger<'_>) {
        self.inner.enqueue(now, frame, busy, ledger);
    }

    fn dequeue(&mut self, now: Instant, ledger: &mut Ledger<'_>) -> Option<QueuedFrame> {
        let frame = self.inner.dequeue(now, ledger)?;
        self.goes(now, &frame);
        Some(frame)
    }

    fn pass(&mut self, now: Instant, frame: QueuedFrame, ledger: &mut Ledger<'_>) -> Option<QueuedFrame> {
        let frame = self.inner.pass(now, frame, ledger)?;
        self.goes(now, &frame);
        Some(frame)
    }

    fn frames(&self) -> u64 {
        self.inner.frames()
    }

    fn octets(&self) -> u64 {
        self.inner.octets()
    }

    fn take_all(&mut self) -> Vec<QueuedFrame> {
        self.inner.take_all()
    }

    fn hold(&mut self, frames: Vec<QueuedFrame>) {
        self.inner.hold(frames);
    }

    fn counters(&self) -> Vec<Counter> {
        self.inner.counters()
    }
}

#[cfg(test)]
mod tests {
    use kumiki_graph::{Address, Duration};
    use kumiki_link::DropTail;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A packet of TCP from 10.0.0.1 to 10.0.0.2, or back.
    fn packet(from: u16, to: u16, back: bool) -> Message {
        let (source, destination) = if back { (2, 1) } else { (1, 2) };
        let header = [0x45, 0, 0, 24, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, source, 10, 0, 0, destination];
        Message::from_octets(&[&header[..], &from.to_be_bytes(), &to.to_be_bytes()].concat())
    }

    #[test]
    fn a_connection_waits_while_others_are_on_the_line() {
        let [asks, answers] = ["10.0.0.1:5000", "10.0.0.2:80"].map(|it| it.parse::<SocketAddr>().unwrap());
        let waits = Waits::of(BTreeSet::from([answers]));
        let mut queue = waits.watch(DropTail::UNLIMITED.queue());
        let (mut drops, mut marks) = (0, 0);
        let mut ledger = Ledger::new(&mut drops, &mut marks, None);
        let frame = |ms, data| QueuedFrame { since: at(ms), number: 0, data, address: Address::NONE };
        let other = || packet(5000, 81, false);
        assert!(queue.pass(at(0), frame(0, other()), &mut ledger).is_some());
        queue.enqueue(at(1), frame(1, packet(5000, 80, false)), true, &mut ledger);
        // Of the same connection, be it the other way.
        queue.enqueue(at(2), frame(2, packet(80, 5000, true)), true, &mut ledger);
        for ms in [10, 20] {
            assert!(queue.dequeue(at(ms), &mut ledger).is_some());
        }
        queue.enqueue(at(21), frame(21, other()), true, &mut ledger);
        queue.enqueue(at(22), frame(22, packet(5000, 80, false)), true, &mut ledger);
        for ms in [30, 40] {
            assert!(queue.dequeue(at(ms), &mut ledger).is_some());
        }
        assert_eq!(waits.between(asks, answers), [(at(1), at(10)), (at(30), at(40))]);
        // Who is alone on a line waits for nobody.
        assert!(queue.pass(at(90), frame(90, packet(5000, 80, false)), &mut ledger).is_some());
        assert_eq!(waits.between(asks, answers).len(), 2);
        assert_eq!(waits.between(answers, asks), []);
    }
}
