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
use kumiki_link::{Counter, Discipline, Flow, Ledger, Waiting};
use kumiki_octets::Message;

/// From one time until another.
pub(crate) type Span = (Instant, Instant);

/// The end that asks, and the one that answers.
type Pair = [SocketAddr; 2];

/// The waits of all connections to servers that are known, in all queues that are watched.
#[derive(Debug)]
pub(crate) struct Waits {
    servers: BTreeSet<SocketAddr>,
    found: Mutex<BTreeMap<Pair, Vec<Span>>>,
}

impl Waits {
    /// None so far, of connections to `servers`.
    #[must_use]
    pub(crate) fn of(servers: BTreeSet<SocketAddr>) -> Arc<Self> {
        Arc::new(Self { servers, found: Mutex::default() })
    }

    /// Does as `inner` does, and takes note.
    #[must_use]
    pub(crate) fn watch(self: &Arc<Self>, inner: Box<dyn Discipline>) -> Box<dyn Discipline> {
        Box::new(Watched { inner, waits: Arc::clone(self), on_line: None, own: BTreeMap::new() })
    }

    /// When something of the connection from `asks` to `answers` waited, in order and without gaps of no length.
    #[must_use]
    pub(crate) fn between(&self, asks: SocketAddr, answers: SocketAddr) -> Vec<Span> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = found.get(&[asks, answers]).cloned().unwrap_or_default();
        drop(found);
        all.sort_unstable();
        let mut joined: Vec<Span> = Vec::new();
        for (since, until) in all {
            match joined.last_mut().filter(|(_, last)| since <= *last) {
                Some((_, last)) => *last = until.max(*last),
                None => joined.push((since, until)),
            }
        }
        joined
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
    fn goes(&mut self, now: Instant, frame: &Waiting) {
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
    fn enqueue(&mut self, now: Instant, frame: Waiting, busy: bool, ledger: &mut Ledger<'_>) {
        self.inner.enqueue(now, frame, busy, ledger);
    }

    fn dequeue(&mut self, now: Instant, ledger: &mut Ledger<'_>) -> Option<Waiting> {
        let frame = self.inner.dequeue(now, ledger)?;
        self.goes(now, &frame);
        Some(frame)
    }

    fn pass(&mut self, now: Instant, frame: Waiting, ledger: &mut Ledger<'_>) -> Option<Waiting> {
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

    fn take_all(&mut self) -> Vec<Waiting> {
        self.inner.take_all()
    }

    fn hold(&mut self, frames: Vec<Waiting>) {
        self.inner.hold(frames);
    }

    fn counters(&self) -> Vec<Counter> {
        self.inner.counters()
    }
}
