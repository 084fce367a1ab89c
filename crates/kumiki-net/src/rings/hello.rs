//! The first that a program hears: what its stack is, or why it is refused.
//!
//! | | |
//! |---|---|
//! | Layout | words of 64 bits, the lower octets first: a mark, how many words there are, and what they say; a text stands in words, too |

use std::io;

use kumiki_graph::Coalesce;

use super::network::{lines_of, put_lines};
use super::primitives::{Fields, Words};
use crate::sockets::OwnLine;

/// Which protocol this is, and in which version.
const MARK: u64 = u64::from_le_bytes(*b"kumiki\x00\x02");

/// The most words.
const MOST: usize = 4096;

/// What a program must know of its stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hello {
    /// Words for records in each ring.
    pub(crate) capacity: usize,
    /// Sockets that the program may have.
    pub(crate) sockets: usize,
    /// Which layers there are, by their numbers.
    pub(crate) layers: [bool; 4],
    pub(crate) receive_buffer: u32,
    pub(crate) coalesce: Option<Coalesce>,
    /// Whether all ways are known to it.
    pub(crate) knows_ways: bool,
    /// What is on its lines.
    pub(crate) lines: Vec<OwnLine>,
}

fn framed(words: &[u64]) -> Vec<u8> {
    let all = [MARK, words.len() as u64];
    all.iter().chain(words).flat_map(|word| word.to_le_bytes()).collect()
}

/// Says why a program is refused.
pub(crate) fn refusal(why: &str) -> Vec<u8> {
    let octets = why.as_bytes();
    let mut words = vec![0, octets.len() as u64];
    words.extend(octets.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(word)
    }));
    framed(&words)
}

fn wrong(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// How many octets follow the first sixteen.
pub(crate) fn rest(first: &[u8; 16]) -> io::Result<usize> {
    let words = u128::from_le_bytes(*first);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    let (mark, count) = (words as u64, (words >> 64) as u64);
    if mark != MARK {
        return Err(wrong("whoever listens there is no stack of this version"));
    }
    let count = usize::try_from(count).ok().filter(|it| *it <= MOST);
    count.map(|it| it * 8).ok_or_else(|| wrong("a stack that says too much of itself"))
}

impl Hello {
    /// In octets.
    pub(crate) fn octets(&self) -> Vec<u8> {
        let mut words = Fields::new();
        let layers = (0..).zip(self.layers).map(|(bit, has)| u64::from(has) << bit).sum();
        let coalesce = match self.coalesce {
            None => 0,
            Some(Coalesce::Never) => 1,
            Some(Coalesce::Nagle) => 2,
            Some(Coalesce::Minshall) => 3,
        };
        words.extend([1, self.capacity as u64, self.sockets as u64, layers, self.receive_buffer.into(), coalesce]);
        words.push(self.knows_ways.into());
        put_lines(&mut words, &self.lines);
        framed(&words)
    }

    /// What the octets behind the first sixteen say.
    ///
    /// # Errors
    /// `ConnectionRefused` where that is why the program is refused.
    pub(crate) fn read(octets: &[u8]) -> io::Result<Self> {
        let words: Vec<u64> = octets.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if let Some((0, rest)) = words.split_first().map(|(first, rest)| (*first, rest)) {
            let len = rest.first().and_then(|it| usize::try_from(*it).ok()).unwrap_or_default();
            let text = octets.get(16..).unwrap_or_default();
            let text = String::from_utf8_lossy(text.get(..len).unwrap_or(text)).into_owned();
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, text));
        }
        Self::of(&mut Words(words.iter())).ok_or_else(|| wrong("a stack that says of itself what is not understood"))
    }

    fn of(words: &mut Words<'_>) -> Option<Self> {
        let mut number = || usize::try_from(words.word()?).ok();
        let (_, capacity, sockets) = (number()?, number()?, number()?);
        let (layers, receive_buffer, coalesce) = (number()?, number()?, number()?);
        let knows_ways = number()? != 0;
        let is_good = capacity.is_power_of_two() && capacity <= 1 << 30 && layers < 16;
        let coalesce = match coalesce {
            0 => None,
            1 => Some(Coalesce::Never),
            2 => Some(Coalesce::Nagle),
            _ => Some(Coalesce::Minshall),
        };
        let lines = lines_of(words)?;
        let layers = [0, 1, 2, 3].map(|bit| layers >> bit & 1 == 1);
        let receive_buffer = u32::try_from(receive_buffer).ok()?;
        is_good.then_some(Self { capacity, sockets, layers, receive_buffer, coalesce, knows_ways, lines })
    }
}

#[cfg(test)]
mod tests {
    use kumiki_inet::{AssignedRoute, Authority};

    use super::*;

    #[test]
    fn what_a_stack_says_of_itself_is_heard() {
        let ip = |text: &str| text.parse().unwrap();
        let way = |network, prefix, router: Option<&str>| AssignedRoute {
            network: ip(network),
            prefix,
            router: router.map(ip),
        };
        let tap = OwnLine {
            addresses: vec![(ip("10.9.0.2"), 24), (ip("fd00::1"), 64)],
            routes: vec![way("0.0.0.0", 0, Some("10.9.0.1")), way("fd01::", 32, None)],
            mtu: 1400,
            most: 1500,
            resolvers: vec![(Authority::Server, ip("10.9.0.1")), (Authority::Router, ip("fd00::2"))],
            ..OwnLine::default()
        };
        let hello = Hello {
            capacity: 1 << 17,
            sockets: 1024,
            layers: [true, true, false, false],
            receive_buffer: 65_536,
            coalesce: Some(Coalesce::Minshall),
            knows_ways: true,
            lines: vec![tap, OwnLine { mtu: 9000, most: 9000, ..OwnLine::default() }],
        };
        let octets = hello.octets();
        let (first, behind) = octets.split_first_chunk::<16>().unwrap();
        assert_eq!(rest(first).unwrap(), behind.len());
        assert_eq!(Hello::read(behind).unwrap(), hello);
        for len in 0..behind.len() {
            assert!(Hello::read(&behind[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn a_refusal_says_why_and_strangers_are_told_from_stacks() {
        let octets = refusal("64 programs are attached");
        let why = Hello::read(&octets[16..]).unwrap_err();
        assert_eq!(
            (why.kind(), why.to_string().as_str()),
            (io::ErrorKind::ConnectionRefused, "64 programs are attached")
        );
        assert_eq!(rest(b"HTTP/1.1 400 Bad").unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(rest(&[MARK.to_le_bytes(), u64::MAX.to_le_bytes()].concat().try_into().unwrap()).is_err());
    }
}
