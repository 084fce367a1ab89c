//! Several datagrams become one again.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 791 section 3.2, RFC 815 (hole list), RFC 1122 section 3.3.2 (timeout); RFC 3168 section 5.3 (ECN) |
//!
//! Pieces are messages; no octet is copied. Where fragments overlap, what came first stays: a fragment only ever fills
//! holes. Fragments that contradict each other about where the datagram ends make it worthless, and it is given up at once.
//!
//! Memory is bounded twice: by the number of datagrams and by the octets in them. What is over the bound costs the oldest
//! incomplete datagram.

use std::collections::VecDeque;

use core::net::Ipv4Addr;

use kumiki_graph::{Context, Instant, Token};
use kumiki_octets::Message;
use kumiki_wire::icmpv4::{Message as Icmp, time_exceeded};
use kumiki_wire::ipv4::Ecn;
use smallvec::SmallVec;

use super::config::Reassembly;
use super::errors::About;
use super::fragment::with_header;
use super::{Ip, max_data};

/// What keeping a fragment costs beside its octets.
const OVERHEAD: usize = 256;

/// What fragments of one datagram have in common (RFC 791).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    identification: u16,
}

/// Octets from `first` to before `end` are missing. RFC 815 counts to the last; this counts to behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hole {
    first: usize,
    end: usize,
}

const INFINITY: usize = usize::MAX;

struct Piece {
    first: usize,
    data: Message,
}

/// A datagram of which fragments are missing.
struct Incomplete {
    key: Key,
    deadline: Instant,
    holes: SmallVec<[Hole; 4]>,
    /// In order, without overlap.
    pieces: Vec<Piece>,
    /// Where it ends, once the last fragment has come.
    end: Option<usize>,
    /// The first fragment's, once it has come.
    about: Option<About>,
    ecn: Ecn,
    /// As [`Table::octets`].
    octets: usize,
}

/// What a fragment did.
#[derive(Debug)]
pub(super) enum Outcome {
    /// There are still holes.
    Waiting,
    /// The datagram is whole: the first fragment's header made the header of it all, and its octets, header included.
    Whole(Box<(About, Message)>),
    /// The datagram cannot be put together.
    Broken,
}

/// All incomplete datagrams, the oldest first.
pub(super) struct Table {
    bounds: Reassembly,
    incomplete: VecDeque<Incomplete>,
    /// Octets of all pieces, and [`OVERHEAD`] for each.
    octets: usize,
}

impl core::fmt::Debug for Table {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let datagrams = self.incomplete.len();
        write!(f, "{datagrams} incomplete, {} octets", self.octets)
    }
}

impl Incomplete {
    fn new(key: Key, deadline: Instant) -> Self {
        let everything = Hole {
            first: 0,
            end: INFINITY,
        };
        Self {
            key,
            deadline,
            holes: SmallVec::from_slice(&[everything]),
            pieces: Vec::new(),
            end: None,
            about: None,
            ecn: Ecn::NotEct,
            octets: 0,
        }
    }

    /// Puts the octets from `first` on into the holes that they fit; false where they contradict what is known.
    fn fill(&mut self, first: usize, data: &Message, last: bool) -> bool {
        let end = first + data.len();
        let known = self.pieces.last();
        let reached = known.map_or(0, |piece| piece.first + piece.data.len());
        if last {
            if self.end.is_some_and(|known| known != end) || reached > end {
                return false;
            }
            self.end = Some(end);
        } else if self.end.is_some_and(|known| end > known) {
            return false;
        }
        // RFC 815 section 3, steps 1 to 7.
        for hole in core::mem::take(&mut self.holes) {
            if first >= hole.end || end <= hole.first {
                // The hole behind the end of the datagram is none.
                if !(last && hole.first >= end) {
                    self.holes.push(hole);
                }
                continue;
            }
            let (from, to) = (first.max(hole.first), end.min(hole.end));
            if hole.first < from {
                self.holes.push(Hole { end: from, ..hole });
            }
            if to < hole.end && !last {
                self.holes.push(Hole { first: to, ..hole });
            }
            if let Ok(data) = data.share(from - first, to - from) {
                self.octets += data.len() + OVERHEAD;
                let at = self.pieces.partition_point(|piece| piece.first < from);
                self.pieces.insert(at, Piece { first: from, data });
            }
        }
        true
    }

    fn whole(self) -> Option<(About, Message)> {
        let mut about = self.about?;
        let mut whole = Message::new();
        for piece in self.pieces {
            whole.append(piece.data);
        }
        let header = &mut about.header;
        header.more_fragments = false;
        header.set_ecn(self.ecn);
        if whole.len() > max_data(header) {
            return None;
        }
        let whole = with_header(header, whole);
        Some((about, whole))
    }
}

impl Table {
    pub(super) const fn new(bounds: Reassembly) -> Self {
        Self {
            bounds,
            incomplete: VecDeque::new(),
            octets: 0,
        }
    }

    /// When the oldest incomplete datagram is to be given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.incomplete.front().map(|oldest| oldest.deadline)
    }

    /// Takes the data of a fragment.
    pub(super) fn take(&mut self, now: Instant, about: &About, data: &Message) -> Outcome {
        let header = &about.header;
        let first = header.fragment_start();
        let last = !header.more_fragments;
        let misfit = !last && (data.is_empty() || !data.len().is_multiple_of(8));
        if misfit || first + data.len() > max_data(header) {
            return Outcome::Broken;
        }
        let key = Key {
            source: header.source,
            destination: header.destination,
            protocol: header.protocol,
            identification: header.identification,
        };
        let known = self.incomplete.iter().position(|it| it.key == key);
        let at = known.unwrap_or_else(|| {
            let deadline = now + self.bounds.timeout;
            self.incomplete.push_back(Incomplete::new(key, deadline));
            self.incomplete.len() - 1
        });
        let Some(datagram) = self.incomplete.get_mut(at) else {
            return Outcome::Broken;
        };
        let before = datagram.octets;
        let fits = datagram.fill(first, data, last);
        self.octets += datagram.octets - before;
        // RFC 3168 section 5.3: a mark on a fragment is a mark on the datagram.
        if datagram.ecn != Ecn::Ce {
            datagram.ecn = header.ecn();
        }
        if first == 0 && datagram.about.is_none() {
            datagram.about = Some(*about);
        }
        let complete = datagram.holes.is_empty();
        if fits && !complete {
            return Outcome::Waiting;
        }
        let removed = self.remove(at);
        match removed.filter(|_| fits).and_then(Incomplete::whole) {
            Some(whole) => Outcome::Whole(Box::new(whole)),
            None => Outcome::Broken,
        }
    }

    fn remove(&mut self, at: usize) -> Option<Incomplete> {
        let removed = self.incomplete.remove(at)?;
        self.octets -= removed.octets;
        Some(removed)
    }

    /// Gives up the oldest datagram where there is more than the bounds allow.
    fn over(&mut self) -> Option<Incomplete> {
        let over =
            self.incomplete.len() > self.bounds.datagrams || self.octets > self.bounds.octets;
        if over { self.remove(0) } else { None }
    }

    /// Gives up the oldest datagram where its time has come. What has come of its first fragment, header included, is for
    /// an error.
    fn late(&mut self, now: Instant) -> Option<Option<(About, Message)>> {
        if self.deadline()? > now {
            return None;
        }
        let Incomplete { about, pieces, .. } = self.remove(0)?;
        let first = pieces.into_iter().next().filter(|piece| piece.first == 0);
        Some(about.zip(first).map(|(about, first)| {
            let header = about.header;
            let data = with_header(&mut { header }, first.data);
            (about, data)
        }))
    }

    /// How many octets are held, overhead included.
    #[cfg(test)]
    pub(super) const fn octets(&self) -> usize {
        self.octets
    }
}

impl Ip {
    /// Takes a fragment of a datagram for us; its header has `len` octets.
    pub(super) fn reassemble(
        &mut self,
        about: &About,
        len: usize,
        mut datagram: Message,
        cx: &mut Context<'_>,
    ) {
        self.counters.reasm_reqds += 1;
        // Sums cover single fragments: of no use for the whole.
        datagram.meta_mut().checksum = kumiki_octets::Checksum::Unknown;
        let _ = datagram.pop(len);
        match self.reassembly.take(cx.now(), about, &datagram) {
            Outcome::Waiting => {}
            Outcome::Whole(whole) => {
                self.counters.reasm_oks += 1;
                let (about, datagram) = *whole;
                self.deliver(&about, about.header.len(), datagram, cx);
            }
            Outcome::Broken => {
                self.counters.reasm_fails += 1;
                cx.drop("fragments that do not fit together");
            }
        }
        while self.reassembly.over().is_some() {
            self.counters.reasm_fails += 1;
            cx.drop("too many fragments held");
        }
        self.set_reassembly_timer(cx);
    }

    fn set_reassembly_timer(&mut self, cx: &mut Context<'_>) {
        match self.reassembly.deadline() {
            None => cx.clear_timer(&mut self.reassembly_timer),
            Some(deadline) if self.reassembly_timer.deadline() == Some(deadline) => {}
            Some(deadline) => cx.set_timer(&mut self.reassembly_timer, Token::default(), deadline),
        }
    }

    pub(super) fn give_up_reassembly(&mut self, cx: &mut Context<'_>) {
        while let Some(late) = self.reassembly.late(cx.now()) {
            self.counters.reasm_fails += 1;
            cx.drop("fragments missing for too long");
            if let Some((about, first)) = late {
                let code = time_exceeded::REASSEMBLY;
                self.error(&about, Icmp::TimeExceeded { code }, &first, cx);
            }
        }
        cx.clear_timer(&mut self.reassembly_timer);
        self.set_reassembly_timer(cx);
    }
}
