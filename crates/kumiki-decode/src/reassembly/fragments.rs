//! Datagrams from fragments (RFC 791 section 3.2, RFC 8200 section 4.5), as an analyser does it: what contradicts is
//! said, not guessed.
//!
//! Octets that come twice must be the same; where they are not, the datagram is given up. Left out: timeouts.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use super::{UnfinishedPdu, noted};

/// Datagrams in progress at a time.
pub const MOST_DATAGRAMS: usize = 128;
/// Data octets of the longest datagram: of IPv4 65,535 less the shortest header, of IPv6 what its payload length can
/// say.
const MOST_OCTETS: [usize; 2] = [65_515, 65_535];
/// Pieces of a datagram at a time. The smallest MTU, 68, makes 1365 of the longest datagram.
const MOST_PIECES: usize = 2048;

/// What tells one datagram from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    /// Only IPv4 goes by it.
    pub(crate) protocol: Option<u8>,
    pub(crate) identification: u32,
    /// Of the capture.
    pub(crate) interface: u32,
}

impl Name {
    const fn most_octets(&self) -> usize {
        let [four, six] = MOST_OCTETS;
        if self.source.is_ipv4() { four } else { six }
    }

    /// What the fragments make, in the words of their version of IP.
    pub(crate) const fn what(&self) -> &'static str {
        match self.protocol {
            Some(_) => "IPv4 datagram",
            None => "IPv6 packet",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, identification, .. } = self;
        let what = self.what();
        match self.protocol {
            Some(protocol) => write!(f, "{what} {identification} {source} > {destination} protocol {protocol}"),
            None => write!(f, "{what} {identification:#010x} {source} > {destination}"),
        }
    }
}

/// A fragment that came.
#[derive(Debug)]
pub(crate) struct Fragment<'a> {
    /// Where its data belongs.
    pub(crate) start: usize,
    /// Whether it is not the last.
    pub(crate) more: bool,
    /// The protocol that it says follows.
    pub(crate) follows: u8,
    pub(crate) data: &'a [u8],
    pub(crate) packet: u64,
}

/// What a fragment led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DatagramProgress {
    /// Not all is there.
    Waiting,
    /// It contradicts what came before, or itself.
    Wrong(String),
    /// The data of the whole datagram.
    Whole {
        octets: Vec<u8>,
        /// What the first fragment says that they are.
        follows: u8,
        parts: usize,
        packets: Vec<u64>,
    },
}

#[derive(Debug, Default)]
struct Partial {
    /// By where they begin; none overlaps another.
    pieces: BTreeMap<usize, Vec<u8>>,
    /// Known once the last fragment has come.
    end: Option<usize>,
    /// Of the first fragment.
    follows: u8,
    parts: usize,
    packets: Vec<u64>,
    touched: u64,
}

/// All datagrams in progress.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    partial: BTreeMap<Name, Partial>,
    clock: u64,
}

impl Datagrams {
    pub(crate) fn add(&mut self, name: Name, fragment: &Fragment<'_>) -> DatagramProgress {
        self.clock = self.clock.saturating_add(1);
        if !self.partial.contains_key(&name) && self.partial.len() >= MOST_DATAGRAMS {
            let oldest = self.partial.iter().min_by_key(|(_, partial)| partial.touched);
            if let Some(oldest) = oldest.map(|(name, _)| *name) {
                self.partial.remove(&oldest);
            }
        }
        let partial = self.partial.entry(name).or_default();
        partial.touched = self.clock;
        match partial.add(fragment, name.most_octets()) {
            Err(why) => {
                self.partial.remove(&name);
                DatagramProgress::Wrong(why)
            }
            Ok(false) => DatagramProgress::Waiting,
            Ok(true) => {
                let partial = self.partial.remove(&name).unwrap_or_default();
                DatagramProgress::Whole {
                    octets: partial.pieces.into_values().collect::<Vec<_>>().concat(),
                    follows: partial.follows,
                    parts: partial.parts,
                    packets: partial.packets,
                }
            }
        }
    }

    pub(crate) fn unfinished(&self) -> impl Iterator<Item = UnfinishedPdu> {
        self.partial.iter().map(|(name, partial)| UnfinishedPdu {
            what: name.to_string(),
            parts: partial.parts,
            octets: partial.pieces.values().map(Vec::len).sum(),
            first_packet: partial.packets.first().copied().unwrap_or_default(),
        })
    }
}

impl Partial {
    /// Whether the datagram is whole now.
    fn add(&mut self, fragment: &Fragment<'_>, most: usize) -> Result<bool, String> {
        let (start, end) = (fragment.start, fragment.start.saturating_add(fragment.data.len()));
        if end > most {
            return Err(format!("the fragment ends at octet {end}, a datagram has at most {most}"));
        }
        if start == 0 {
            self.follows = fragment.follows;
        }
        if self.end.is_some_and(|known| end > known || (!fragment.more && end != known)) {
            let known = self.end.unwrap_or_default();
            return Err(format!(
                "the fragment ends at octet {end}, an earlier one said that the datagram ends at {known}"
            ));
        }
        if !fragment.more {
            let beyond = self.pieces.iter().next_back();
            if let Some((at, piece)) = beyond.filter(|(at, piece)| *at + piece.len() > end) {
                return Err(format!("the last fragment ends at octet {end}, an earlier one at {}", at + piece.len()));
            }
            self.end = Some(end);
        }
        self.parts = self.parts.saturating_add(1);
        noted(&mut self.packets, fragment.packet);
        self.insert(start, fragment.data)?;
        if self.pieces.len() > MOST_PIECES {
            return Err(format!("more than {MOST_PIECES} separate pieces"));
        }
        let mut reached = 0;
        for (at, piece) in &self.pieces {
            if *at > reached {
                return Ok(false);
            }
            reached = at + piece.len();
        }
        Ok(self.end == Some(reached))
    }

    /// Keeps what is new of `data`; what came before must be the same.
    fn insert(&mut self, start: usize, data: &[u8]) -> Result<(), String> {
        let mut at = start;
        let mut data = data;
        while let Some((_, rest)) = data.split_first() {
            let before = self.pieces.range(..=at).next_back();
            let same = before.and_then(|(from, piece)| piece.get(at - from..));
            if let Some(same) = same.filter(|same| !same.is_empty()) {
                let both = same.len().min(data.len());
                let (again, later) = data.split_at_checked(both).unwrap_or((data, &[]));
                if same.get(..both) != Some(again) {
                    return Err(format!("octets from {at} came before with other values; the datagram is given up"));
                }
                at += both;
                data = later;
                continue;
            }
            let next = self.pieces.range(at..).next().map_or(usize::MAX, |(at, _)| *at);
            let new = data.len().min(next - at);
            let (piece, later) = data.split_at_checked(new).unwrap_or((data, rest));
            self.pieces.insert(at, piece.to_vec());
            at += piece.len();
            data = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAME: Name = Name {
        source: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        destination: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        protocol: Some(17),
        identification: 7,
        interface: 0,
    };

    fn add(datagrams: &mut Datagrams, start: usize, more: bool, data: &[u8]) -> DatagramProgress {
        datagrams.add(NAME, &Fragment { start, more, follows: 17, data, packet: 1 })
    }

    #[test]
    fn octets_that_contradict_are_named() {
        let mut datagrams = Datagrams::default();
        assert_eq!(add(&mut datagrams, 0, true, &[1; 16]), DatagramProgress::Waiting);
        let outcome = add(&mut datagrams, 8, false, &[2; 16]);
        assert!(matches!(outcome, DatagramProgress::Wrong(why) if why.contains("octets from 8")));
        assert_eq!(datagrams.unfinished().count(), 0);
    }

    #[test]
    fn a_datagram_has_one_end() {
        let mut datagrams = Datagrams::default();
        add(&mut datagrams, 8, false, &[1; 8]);
        let outcome = add(&mut datagrams, 16, true, &[1; 8]);
        assert!(matches!(outcome, DatagramProgress::Wrong(why) if why.contains("ends at 16")));
        let outcome = add(&mut datagrams, 65528, false, &[1; 8]);
        assert!(matches!(outcome, DatagramProgress::Wrong(why) if why.contains("at most 65515")));
    }

    #[test]
    fn no_more_datagrams_are_kept_than_said() {
        let mut datagrams = Datagrams::default();
        for identification in 0..1000 {
            let name = Name { identification, ..NAME };
            let fragment = Fragment { start: 0, more: true, follows: 17, data: &[0; 8], packet: 1 };
            datagrams.add(name, &fragment);
        }
        assert_eq!(datagrams.unfinished().count(), MOST_DATAGRAMS);
    }

    proptest! {
        #[test]
        fn any_order_with_any_overlap_gives_the_datagram(
            data in proptest::collection::vec(any::<u8>(), 1..200),
            cuts in proptest::collection::vec((0usize..25, 1usize..8), 0..20),
        ) {
            let mut datagrams = Datagrams::default();
            let mut whole = None;
            let last = (data.len() - 1) / 8;
            let all = (0..=last).map(|at| (at, 1));
            for (at, blocks) in cuts.into_iter().chain(all) {
                if at > last || whole.is_some() {
                    continue;
                }
                let end = (8 * (at + blocks)).min(data.len());
                if let DatagramProgress::Whole { octets, .. } = add(&mut datagrams, 8 * at, end < data.len(), &data[8 * at..end]) {
                    whole = Some(octets);
                }
            }
            prop_assert_eq!(whole, Some(data));
        }
    }
}
