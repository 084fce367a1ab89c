//! Several fragments become one datagram again.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 815 (hole list); RFC 3168 section 5.3 (ECN); RFC 5722 (overlaps in IPv6) |
//!
//! Pieces are messages; no octet is copied. What is done where fragments overlap is said by [`Overlap`]. Fragments that
//! contradict each other about where the datagram ends make it worthless.
//!
//! Memory is bounded twice: by the number of datagrams and by the octets in them. What is over the bound costs the
//! oldest incomplete datagram.

use std::collections::VecDeque;

use crate::settable::Settings;
use kumiki_graph::{Duration, Instant};
use kumiki_octets::Message;
use kumiki_wire::inet::ipv4::Ecn;
use smallvec::SmallVec;

/// Octets in the least page; larger ones are taken for multiples of it.
const PAGE: usize = 2048;
/// What keeping a fragment costs beside its page.
const OVERHEAD: usize = 512;

/// What keeping `data` takes, about. An octet takes a page, as many do.
fn taken(data: &Message) -> usize {
    data.len().next_multiple_of(PAGE) + OVERHEAD
}

/// Bounds of reassembly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Reassembly {
    /// Datagrams that may be incomplete at a time.
    #[setting(1..=65535)]
    pub datagrams: usize,
    /// What all fragments may take: each its pages of 2 KiB, and 512 B beside.
    #[setting(1..=u32::MAX.into(), octets)]
    pub octets: usize,
    /// How long after its first fragment a datagram is given up.
    ///
    /// IPv4: 60 to 120 s (RFC 1122 section 3.3.2); IPv6: 60 s (RFC 8200 section 4.5).
    #[setting(positive)]
    pub timeout: Duration,
}

impl Default for Reassembly {
    fn default() -> Self {
        Self { datagrams: 64, octets: 4 << 20, timeout: Duration::from_secs(60) }
    }
}

/// What is done with a fragment that overlaps others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// What came first stays: a fragment only ever fills holes.
    First,
    /// The datagram is given up, and what still comes of it is swallowed; but for the same fragment a second time,
    /// which is passed over (RFC 8200 section 4.5).
    Refuse,
}

/// A fragment, as far as this is concerned.
pub(crate) struct Fragment<'a, K, H> {
    /// What the fragments of one datagram have in common.
    pub(crate) key: K,
    /// Place of its first octet.
    pub(crate) first: usize,
    /// Whether no more follow.
    pub(crate) last: bool,
    /// What is kept of the first fragment.
    pub(crate) head: H,
    /// Its mark.
    pub(crate) ecn: Ecn,
    /// Its octets.
    pub(crate) data: &'a Message,
}

/// The ECN field of a datagram with fragments of these two. A mark on one is a mark on the whole, unless another may
/// not be marked: then there can be no whole (RFC 3168 section 5.3). What else disagrees is left open there, and here
/// it is not marked.
const fn together(so_far: Option<Ecn>, another: Ecn) -> Option<Ecn> {
    Some(match (so_far, another) {
        (None, ecn) => ecn,
        (Some(Ecn::Ce), Ecn::NotEct) | (Some(Ecn::NotEct), Ecn::Ce) => return None,
        (Some(Ecn::Ce), _) | (_, Ecn::Ce) => Ecn::Ce,
        (Some(Ecn::NotEct), _) | (_, Ecn::NotEct) => Ecn::NotEct,
        (Some(Ecn::Ect1), Ecn::Ect1) => Ecn::Ect1,
        (Some(Ecn::Ect0 | Ecn::Ect1), Ecn::Ect0 | Ecn::Ect1) => Ecn::Ect0,
    })
}

/// What a fragment did.
#[derive(Debug)]
pub(crate) enum FragmentProgress<H> {
    /// There are still holes.
    Waiting,
    /// The datagram is whole.
    Whole {
        /// What was kept of the first fragment.
        head: H,
        /// The mark of it all.
        ecn: Ecn,
        /// All octets.
        data: Message,
    },
    /// The datagram cannot be put together.
    Broken,
    /// It belongs to a datagram that was given up.
    Swallowed,
}

/// Octets from `first` to before `end` are missing. RFC 815 counts to the last; this counts to behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hole {
    first: usize,
    end: usize,
}

const INFINITY: usize = usize::MAX;

struct HeldFragment {
    first: usize,
    data: Message,
}

/// A datagram of which fragments are missing.
struct Incomplete<K, H> {
    key: K,
    deadline: Instant,
    holes: SmallVec<[Hole; 4]>,
    /// In order, without overlap.
    pieces: Vec<HeldFragment>,
    /// Where it ends, once the last fragment has come.
    end: Option<usize>,
    /// The first fragment's, once it has come.
    head: Option<H>,
    /// Of the fragments so far; CE where it can be no other.
    ecn: Option<Ecn>,
    /// As [`Table::octets`].
    octets: usize,
    /// It was given up, and is here only to swallow the rest.
    broken: bool,
}

/// All incomplete datagrams, the oldest first.
pub(crate) struct Table<K, H> {
    bounds: Reassembly,
    overlap: Overlap,
    incomplete: VecDeque<Incomplete<K, H>>,
    /// What all pieces take, see [`taken`].
    octets: usize,
}

impl<K, H> core::fmt::Debug for Table<K, H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let datagrams = self.incomplete.len();
        write!(f, "{datagrams} incomplete, {} octets", self.octets)
    }
}

impl<K, H> Incomplete<K, H> {
    fn new(key: K, deadline: Instant) -> Self {
        let everything = Hole { first: 0, end: INFINITY };
        Self {
            key,
            deadline,
            holes: SmallVec::from_slice(&[everything]),
            pieces: Vec::new(),
            end: None,
            head: None,
            ecn: None,
            octets: 0,
            broken: false,
        }
    }

    /// Whether all octets from `first` to before `end` are missing.
    fn lacks(&self, first: usize, end: usize) -> bool {
        let mut holes = self.holes.iter();
        holes.any(|hole| hole.first <= first && end <= hole.end)
    }

    /// Whether this very fragment has come before.
    fn has(&self, first: usize, data: &Message) -> bool {
        let same = |piece: &&HeldFragment| piece.first == first && piece.data == *data;
        self.pieces.iter().any(|piece| same(&piece))
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
                self.octets += taken(&data);
                let at = self.pieces.partition_point(|piece| piece.first < from);
                self.pieces.insert(at, HeldFragment { first: from, data });
            }
        }
        true
    }

    fn whole(self) -> FragmentProgress<H> {
        let Some(head) = self.head else {
            return FragmentProgress::Broken;
        };
        let mut data = Message::new();
        for piece in self.pieces {
            data.append(piece.data);
        }
        let ecn = self.ecn.unwrap_or(Ecn::NotEct);
        FragmentProgress::Whole { head, ecn, data }
    }

    /// Nothing more is expected of it.
    fn give_up(&mut self) {
        self.broken = true;
        self.pieces.clear();
        self.holes.clear();
        self.octets = 0;
    }
}

impl<K: PartialEq, H> Table<K, H> {
    pub(crate) const fn new(bounds: Reassembly, overlap: Overlap) -> Self {
        Self { bounds, overlap, incomplete: VecDeque::new(), octets: 0 }
    }

    /// When the oldest incomplete datagram is to be given up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.incomplete.front().map(|oldest| oldest.deadline)
    }

    /// Takes a fragment.
    pub(crate) fn take(&mut self, now: Instant, fragment: Fragment<'_, K, H>) -> FragmentProgress<H> {
        let Fragment { key, first, last, head, ecn, data } = fragment;
        let known = self.incomplete.iter().position(|it| it.key == key);
        let at = known.unwrap_or_else(|| {
            let deadline = now + self.bounds.timeout;
            self.incomplete.push_back(Incomplete::new(key, deadline));
            self.incomplete.len() - 1
        });
        let Some(datagram) = self.incomplete.get_mut(at) else {
            return FragmentProgress::Broken;
        };
        if datagram.broken {
            return FragmentProgress::Swallowed;
        }
        let before = datagram.octets;
        if self.overlap == Overlap::Refuse && !datagram.lacks(first, first + data.len()) {
            if datagram.has(first, data) {
                return FragmentProgress::Waiting;
            }
            datagram.give_up();
            self.octets -= before;
            return FragmentProgress::Broken;
        }
        let fits = datagram.fill(first, data, last);
        self.octets += datagram.octets - before;
        match together(datagram.ecn, ecn) {
            Some(ecn) => datagram.ecn = Some(ecn),
            None => {
                let octets = datagram.octets;
                datagram.give_up();
                self.octets -= octets;
                return FragmentProgress::Broken;
            }
        }
        if first == 0 && datagram.head.is_none() {
            datagram.head = Some(head);
        }
        let complete = datagram.holes.is_empty();
        if fits && !complete {
            return FragmentProgress::Waiting;
        }
        let removed = self.remove(at).filter(|_| fits);
        removed.map_or(FragmentProgress::Broken, Incomplete::whole)
    }

    fn remove(&mut self, at: usize) -> Option<Incomplete<K, H>> {
        let removed = self.incomplete.remove(at)?;
        self.octets -= removed.octets;
        Some(removed)
    }

    /// Gives up the oldest datagram where there is more than the bounds allow; whether there was.
    pub(crate) fn over(&mut self) -> bool {
        let over = self.incomplete.len() > self.bounds.datagrams || self.octets > self.bounds.octets;
        over && self.remove(0).is_some()
    }

    /// Gives up the oldest datagram where its time has come. What has come of its first fragment is for an error.
    pub(crate) fn late(&mut self, now: Instant) -> Option<Option<(H, Message)>> {
        while self.deadline()? <= now {
            let removed = self.remove(0)?;
            if removed.broken {
                continue;
            }
            let first = removed.pieces.into_iter().next();
            let first = first.filter(|piece| piece.first == 0);
            return Some(removed.head.zip(first.map(|piece| piece.data)));
        }
        None
    }

    /// How many octets are held, overhead included.
    pub(crate) const fn octets(&self) -> usize {
        self.octets
    }
}
