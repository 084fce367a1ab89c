//! Peers that mean harm: they have connections of their own, and keep to the rules of sequence numbers.

use core::net::IpAddr;

use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};

use crate::bench::{Attack, PORT, TRAP};
use crate::packets::{Version, segment};

/// The window field of those who do not say otherwise.
const WINDOW: u16 = 50_000;
const ISS: Seq = Seq(1000);
/// The first of the attacker's hosts that call.
const FIRST: u32 = 0x1000;

/// Which octets of its stream a caller sends as its `k`-th segment: place and length, counted from the first.
pub(crate) type Texts = fn(k: u32) -> (u32, usize);

/// Each calls from a host of its own, and then sends what `texts` says.
pub(crate) struct Callers {
    version: Version,
    /// Their SND.UNA as far as the host under attack sees it: its ISS, once it has answered.
    answered: Vec<Option<Seq>>,
    sent: Vec<u32>,
    texts: Texts,
}

impl Callers {
    pub(crate) fn new(version: Version, count: usize, texts: Texts) -> Self {
        Self { version, answered: vec![None; count], sent: vec![0; count], texts }
    }

    fn say(&self, at: usize, flags: Flags, seq: Seq, options: Options, text: &[u8]) -> Vec<u8> {
        let header = Header {
            source_port: 4000,
            destination_port: PORT,
            seq,
            ack: self.answered[at].map_or(Seq(0), |iss| iss + 1),
            flags,
            window: WINDOW,
            options,
            ..Header::default()
        };
        let source = self.version.address(FIRST + u32::try_from(at).unwrap());
        segment(source, header, text)
    }
}

impl Attack for Callers {
    fn strike(&mut self, n: u32, _: Option<&Header>) -> Option<Vec<u8>> {
        let at = n as usize % self.answered.len();
        if self.answered[at].is_none() {
            let options = Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Options::NONE };
            return Some(self.say(at, Flags::SYN, ISS, options, b""));
        }
        let (from, len) = (self.texts)(self.sent[at]);
        self.sent[at] += 1;
        let text: Vec<u8> = vec![7; len];
        Some(self.say(at, Flags::ACK, ISS + 1 + from, Options::NONE, &text))
    }

    fn hear(&mut self, to: IpAddr, header: &Header, _: usize) -> Option<Vec<u8>> {
        let known = 0..self.answered.len();
        let address = |at: usize| self.version.address(FIRST + u32::try_from(at).unwrap());
        let at = known.into_iter().find(|&at| address(at) == to)?;
        if !header.flags.contains(Flags::SYN | Flags::ACK) || self.answered[at].is_some() {
            return None;
        }
        self.answered[at] = Some(header.seq);
        Some(self.say(at, Flags::ACK, ISS + 1, Options::NONE, b""))
    }
}

/// What a taker knows of one connection.
#[derive(Clone, Copy)]
struct Taken {
    port: u16,
    /// What it acknowledges next.
    next: Seq,
    /// Behind the last octet that it was sent.
    end: Seq,
}

/// The `k`-th acknowledgment of a taker: its window, and whether it acknowledges what has come.
pub(crate) type Windows = fn(k: u32) -> (u16, bool);

/// The host calls it; it answers, and then says what it likes of its window.
pub(crate) struct Takers {
    version: Version,
    taken: Vec<Taken>,
    windows: Windows,
    mss: u16,
}

impl Takers {
    pub(crate) fn new(version: Version, mss: u16, windows: Windows) -> Self {
        Self { version, taken: Vec::new(), windows, mss }
    }

    fn say(&self, to: IpAddr, flags: Flags, it: Taken, window: u16) -> Vec<u8> {
        let syn = flags.contains(Flags::SYN);
        let header = Header {
            source_port: TRAP,
            destination_port: it.port,
            seq: if syn { ISS } else { ISS + 1 },
            ack: it.next,
            flags,
            window,
            options: Options { mss: Some(self.mss).filter(|_| syn), ..Options::NONE },
            ..Header::default()
        };
        segment(to, header, b"")
    }
}

impl Attack for Takers {
    fn strike(&mut self, n: u32, _: Option<&Header>) -> Option<Vec<u8>> {
        let count = u32::try_from(self.taken.len()).unwrap();
        let at = n.checked_rem(count)? as usize;
        let (window, all) = (self.windows)(n / count);
        let it = &mut self.taken[at];
        if all {
            it.next = it.next.max(it.end);
        }
        let it = *it;
        let own = self.version.address(crate::bench::TRAPPER);
        Some(self.say(own, Flags::ACK, it, window))
    }

    fn hear(&mut self, to: IpAddr, header: &Header, octets: usize) -> Option<Vec<u8>> {
        if header.destination_port != TRAP {
            return None;
        }
        let end = header.seq.advance(octets);
        let same = |it: &&mut Taken| it.port == header.source_port;
        if let Some(it) = self.taken.iter_mut().find(same) {
            it.end = it.end.max(end);
            return None;
        }
        let it = Taken { port: header.source_port, next: header.seq + 1, end: header.seq + 1 };
        self.taken.push(it);
        Some(self.say(to, Flags::SYN | Flags::ACK, it, WINDOW))
    }
}
