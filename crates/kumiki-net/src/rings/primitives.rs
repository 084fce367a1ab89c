//! What goes through the rings: the primitives between sockets and layers, as words and octets.
//!
//! | | |
//! |---|---|
//! | Commands | from a program: [`kumiki_graph::Request`]s of TCP and UDP, and questions about ports and names |
//! | Responses | to it: [`kumiki_graph::Indication`]s, and answers |
//! | Left out | why a layer here found a peer to break the protocol: a program is told that it did |

use core::net::{IpAddr, SocketAddr};
use std::io;

use kumiki_graph::{Coalesce, Duration, Handle, KeepAlive, NoPath, Problem, Quality, Reason};
use kumiki_io::shared::ring::{MOST_FIELDS, Received};
use kumiki_octets::Message;
use smallvec::SmallVec;

use super::network::put_lines;
use crate::sockets::error::Errno;
use crate::sockets::{OwnLine, Terms};

/// A layer, by its number in the rings: TCP and UDP over IPv4, then over IPv6.
pub(crate) type Layer = u8;

/// What a program asks.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    /// Calls, or listens where there is a backlog; of UDP, takes an address.
    Open {
        layer: Layer,
        user: Handle,
        backlog: Option<u32>,
        local: Option<SocketAddr>,
        remote: Option<SocketAddr>,
        quality: Quality,
    },
    Cancel {
        layer: Layer,
        user: Handle,
    },
    Accept {
        session: Handle,
        user: Handle,
        quality: Quality,
    },
    Data {
        session: Handle,
        data: Message,
    },
    Credit {
        session: Handle,
        octets: u64,
    },
    Release {
        session: Handle,
    },
    Abort {
        session: Handle,
    },
    Change {
        session: Handle,
        quality: Quality,
    },
    Peer {
        session: Handle,
        remote: Option<SocketAddr>,
    },
    Group {
        layer: Layer,
        group: IpAddr,
        is_member: bool,
    },
    Unit {
        layer: Layer,
        unit: Datagram,
    },
    /// Takes a local address; the answer has it, and its number.
    Take {
        question: u64,
        is_udp: bool,
        local: SocketAddr,
        terms: Terms,
    },
    /// Listens at one that was taken.
    Listen {
        question: u64,
        number: u64,
    },
    /// Gives one back.
    Give {
        number: u64,
    },
    /// The answer comes when all that was asked before has been passed on.
    Settle {
        question: u64,
    },
    /// The addresses of a name.
    Lookup {
        question: u64,
        name: Message,
    },
}

/// A datagram.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    /// The layer's handle of its socket where the program knows it; the program's, on its way there.
    pub(crate) session: Option<Handle>,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    /// As [`kumiki_graph::UnitOptions::special`].
    pub(crate) special: u64,
    pub(crate) data: Message,
}

/// What a program is told.
#[derive(Clone, Debug)]
pub(crate) enum Response {
    Opened {
        layer: Layer,
        user: Handle,
        provider: Handle,
        local: Option<SocketAddr>,
        remote: Option<SocketAddr>,
    },
    Offered {
        layer: Layer,
        user: Handle,
        provider: Handle,
        local: Option<SocketAddr>,
        remote: Option<SocketAddr>,
    },
    Data {
        user: Handle,
        data: Message,
    },
    Credit {
        user: Handle,
        octets: u64,
    },
    Released {
        user: Handle,
    },
    Closed {
        user: Handle,
    },
    Aborted {
        layer: Layer,
        user: Handle,
        reason: Reason,
    },
    Unit {
        layer: Layer,
        unit: Datagram,
    },
    Unreachable {
        source: SocketAddr,
        destination: SocketAddr,
        problem: Problem,
    },
    Answer {
        question: u64,
        answer: Answer,
    },
    /// What is on the host's lines now, as words.
    Lines {
        data: Message,
    },
}

/// What a question is answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Done,
    /// An address that was taken.
    Taken {
        local: SocketAddr,
        number: u64,
    },
    /// The addresses of a name.
    Found(Vec<IpAddr>),
    Refused {
        why: RefusalCode,
        text: Message,
    },
}

/// The words of a record.
pub(crate) type Fields = SmallVec<[u64; MOST_FIELDS]>;

/// The most addresses in an answer, so that they find room in one.
const MOST_FOUND: usize = 8;

/// Errors by which programs tell answers apart.
macro_rules! refusals {
    ($($number:literal $name:ident)*) => {
        /// Why somebody is refused.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum RefusalCode { $(#[doc = stringify!($name)] $name = $number,)* NoBuffers = 0 }

        impl RefusalCode {
            const ALL: &[Self] = &[Self::NoBuffers, $(Self::$name),*];

            /// As which an error is told.
            pub(crate) fn of(error: &io::Error) -> Self {
                match error.kind() {
                    $(io::ErrorKind::$name => Self::$name,)*
                    _ if error.raw_os_error() == io::Error::from(Errno::NoBuffers).raw_os_error() => Self::NoBuffers,
                    _ => Self::Other,
                }
            }

            /// The error, which says `text`.
            pub(crate) fn error(self, text: String) -> io::Error {
                match self {
                    $(Self::$name => io::Error::new(io::ErrorKind::$name, text),)*
                    // Programs know it by its number.
                    Self::NoBuffers => Errno::NoBuffers.into(),
                }
            }
        }
    };
}

refusals! {
    1 AddrInUse
    2 AddrNotAvailable
    3 InvalidInput
    4 NotFound
    5 PermissionDenied
    6 Unsupported
    7 NetworkDown
    8 NetworkUnreachable
    9 TimedOut
    10 Other
}

impl Answer {
    /// The answer that something went wrong.
    pub(crate) fn refused(error: &io::Error) -> Self {
        Self::Refused { why: RefusalCode::of(error), text: Message::from_octets(error.to_string().as_bytes()) }
    }

    /// As the program has it.
    pub(crate) fn into_result(self) -> io::Result<Self> {
        match self {
            Self::Refused { why, text } => Err(why.error(String::from_utf8_lossy(&text.to_vec()).into_owned())),
            Self::Done | Self::Taken { .. } | Self::Found(_) => Ok(self),
        }
    }
}

// Words.

fn put_handle(fields: &mut Fields, handle: Handle) {
    fields.push(u64::from(handle.index) << 32 | u64::from(handle.generation));
}

fn put_ip(fields: &mut Fields, first: u64, ip: IpAddr) {
    let (version, bits) = match ip {
        IpAddr::V4(ip) => (4, u128::from(ip.to_bits())),
        IpAddr::V6(ip) => (6, ip.to_bits()),
    };
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    fields.extend([version << 32 | first, (bits >> 64) as u64, bits as u64]);
}

/// As an address is said before a connection stands, too: three words.
pub(crate) fn put_socket(fields: &mut Fields, address: Option<SocketAddr>) {
    match address {
        None => fields.extend([0; 3]),
        Some(address) => put_ip(fields, address.port().into(), address.ip()),
    }
}

fn put_quality(fields: &mut Fields, quality: &Quality) {
    let Quality { send_buffer, receive_buffer, coalesce, keep_alive, half_close, special, .. } = *quality;
    let coalesce = match coalesce {
        None => 0,
        Some(Coalesce::Never) => 1,
        Some(Coalesce::Nagle) => 2,
        Some(Coalesce::Minshall) => 3,
    };
    let half_close = half_close.map_or(0, |it| 1 + u64::from(it));
    let has = |it: bool, bit: u32| u64::from(it) << bit;
    let flags = has(send_buffer.is_some(), 0) | has(receive_buffer.is_some(), 1) | has(keep_alive.is_some(), 2);
    let keep = keep_alive.unwrap_or(KeepAlive::OFF);
    fields.push(u64::from(keep.count) << 32 | coalesce << 8 | half_close << 4 | flags);
    fields.push(u64::from(send_buffer.unwrap_or_default()) << 32 | u64::from(receive_buffer.unwrap_or_default()));
    fields.extend([keep.idle.as_nanos(), keep.interval.as_nanos(), special]);
}

/// Reads words; what is not there ends it.
pub(crate) struct Words<'a>(pub(crate) core::slice::Iter<'a, u64>);

impl Words<'_> {
    pub(crate) fn word(&mut self) -> Option<u64> {
        self.0.next().copied()
    }

    fn octet(&mut self) -> Option<u8> {
        self.word()?.try_into().ok()
    }

    fn flag(&mut self) -> Option<bool> {
        match self.word()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn handle(&mut self) -> Option<Handle> {
        let [a, b, c, d, generation @ ..] = self.word()?.to_be_bytes();
        Some(Handle { index: u32::from_be_bytes([a, b, c, d]), generation: u32::from_be_bytes(generation) })
    }

    /// An address, and what stands beside it.
    fn ip(&mut self) -> Option<(Option<IpAddr>, u16)> {
        let (first, high, low) = (self.word()?, self.word()?, self.word()?);
        let beside = u16::try_from(first & 0xffff_ffff).ok()?;
        let bits = u128::from(high) << 64 | u128::from(low);
        let ip = match first >> 32 {
            0 => None,
            4 => Some(IpAddr::V4(u32::try_from(bits).ok()?.into())),
            6 => Some(IpAddr::V6(bits.into())),
            _ => return None,
        };
        Some((ip, beside))
    }

    /// A socket address that may be missing.
    pub(crate) fn socket(&mut self) -> Option<Option<SocketAddr>> {
        let (ip, port) = self.ip()?;
        Some(ip.map(|ip| SocketAddr::new(ip, port)))
    }

    /// One that must not.
    pub(crate) fn address(&mut self) -> Option<SocketAddr> {
        self.socket()?
    }

    fn quality(&mut self) -> Option<Quality> {
        let (flags, buffers) = (self.word()?, self.word()?);
        let [send, receive] = [buffers >> 32, buffers & 0xffff_ffff].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let [idle, interval] = [self.word()?, self.word()?].map(Duration::from_nanos);
        let count = u32::try_from(flags >> 32).ok()?;
        let keep = KeepAlive { idle, interval, count };
        let coalesce = match flags >> 8 & 0xff {
            0 => None,
            1 => Some(Coalesce::Never),
            2 => Some(Coalesce::Nagle),
            3 => Some(Coalesce::Minshall),
            _ => return None,
        };
        let half_close = match flags >> 4 & 0xf {
            0 => None,
            1 => Some(false),
            2 => Some(true),
            _ => return None,
        };
        Some(Quality {
            send_buffer: (flags & 1 != 0).then_some(send),
            receive_buffer: (flags & 2 != 0).then_some(receive),
            keep_alive: (flags & 4 != 0).then_some(keep),
            coalesce,
            half_close,
            special: self.word()?,
            ..Quality::default()
        })
    }

    fn terms(&mut self) -> Option<Terms> {
        let bits = self.word()?;
        let has = |bit: u64| bits >> bit & 1 == 1;
        (bits < 8).then(|| Terms { only_v6: has(0), reuse_address: has(1), reuse_port: has(2), ..Terms::default() })
    }

    fn problem(&mut self) -> Option<Problem> {
        let (what, first, second) = (self.word()?, self.word()?, self.word()?);
        let octets = || Some((u8::try_from(first).ok()?, u8::try_from(second).ok()?));
        Some(match what {
            0 => Problem::TooBig { mtu: u32::try_from(first).ok()? },
            1 => octets().map(|(kind, code)| Problem::Soft { kind, code })?,
            2 => octets().map(|(kind, code)| Problem::Hard { kind, code })?,
            3 => Problem::NoNeighbour,
            4 => Problem::NoRoute,
            _ => return None,
        })
    }

    fn unit(&mut self, data: Message) -> Option<Datagram> {
        let session = self.handle()?;
        let session = (session != Handle::default()).then_some(session);
        Some(Datagram { session, source: self.address()?, destination: self.address()?, special: self.word()?, data })
    }
}

fn put_unit(fields: &mut Fields, unit: &Datagram) {
    put_handle(fields, unit.session.unwrap_or_default());
    put_socket(fields, Some(unit.source));
    put_socket(fields, Some(unit.destination));
    fields.push(unit.special);
}

fn put_problem(fields: &mut Fields, problem: Problem) {
    fields.extend(match problem {
        Problem::TooBig { mtu } => [0, mtu.into(), 0],
        Problem::Soft { kind, code } => [1, kind.into(), code.into()],
        Problem::Hard { kind, code } => [2, kind.into(), code.into()],
        Problem::NoNeighbour => [3, 0, 0],
        Problem::NoRoute => [4, 0, 0],
    });
}

/// Reasons as numbers.
const REASONS: [Reason; 17] = [
    Reason::User,
    Reason::Reset,
    Reason::Refused,
    Reason::TimedOut,
    Reason::Unreachable(NoPath::Host),
    Reason::BadAddress,
    Reason::NoResources,
    Reason::Protocol,
    Reason::Down,
    Reason::NoSession,
    Reason::Unreachable(NoPath::Network),
    Reason::Unreachable(NoPath::Prohibited),
    Reason::Unreachable(NoPath::Unknown),
    Reason::Unreachable(NoPath::Isolated),
    Reason::Unreachable(NoPath::SourceRoute),
    Reason::Unreachable(NoPath::Protocol),
    Reason::Unreachable(NoPath::Malformed),
];

/// The number of a reason; one that says more than its kind is that the protocol was broken.
fn number(reason: &Reason) -> u64 {
    let place = REASONS.iter().position(|it| it == reason);
    place.or_else(|| REASONS.iter().position(|it| *it == Reason::Protocol)).unwrap_or_default() as u64
}

impl Command {
    /// The number of its kind, and its octets; its words are put into `fields`.
    pub(crate) fn put(&self, fields: &mut Fields) -> (u8, Option<&Message>) {
        match self {
            Self::Open { layer, user, backlog, local, remote, quality } => {
                fields.push((*layer).into());
                put_handle(fields, *user);
                fields.push(backlog.map_or(0, |it| 1 + u64::from(it)));
                put_socket(fields, *local);
                put_socket(fields, *remote);
                put_quality(fields, quality);
                (1, None)
            }
            Self::Cancel { layer, user } => {
                fields.push((*layer).into());
                put_handle(fields, *user);
                (2, None)
            }
            Self::Accept { session, user, quality } => {
                put_handle(fields, *session);
                put_handle(fields, *user);
                put_quality(fields, quality);
                (3, None)
            }
            Self::Data { session, data } => {
                put_handle(fields, *session);
                (4, Some(data))
            }
            Self::Credit { session, octets } => {
                put_handle(fields, *session);
                fields.push(*octets);
                (5, None)
            }
            Self::Release { session } => {
                put_handle(fields, *session);
                (6, None)
            }
            Self::Abort { session } => {
                put_handle(fields, *session);
                (7, None)
            }
            Self::Change { session, quality } => {
                put_handle(fields, *session);
                put_quality(fields, quality);
                (8, None)
            }
            Self::Peer { session, remote } => {
                put_handle(fields, *session);
                put_socket(fields, *remote);
                (9, None)
            }
            Self::Group { layer, group, is_member } => {
                fields.extend([u64::from(*layer), u64::from(*is_member)]);
                put_ip(fields, 0, *group);
                (10, None)
            }
            Self::Unit { layer, unit } => {
                fields.push((*layer).into());
                put_unit(fields, unit);
                (11, Some(&unit.data))
            }
            Self::Take { question, is_udp, local, terms } => {
                fields.extend([*question, u64::from(*is_udp)]);
                put_socket(fields, Some(*local));
                let Terms { only_v6, reuse_address, reuse_port, .. } = *terms;
                fields.push(u64::from(only_v6) | u64::from(reuse_address) << 1 | u64::from(reuse_port) << 2);
                (12, None)
            }
            Self::Listen { question, number } => {
                fields.extend([*question, *number]);
                (13, None)
            }
            Self::Give { number } => {
                fields.push(*number);
                (14, None)
            }
            Self::Settle { question } => {
                fields.push(*question);
                (15, None)
            }
            Self::Lookup { question, name } => {
                fields.push(*question);
                (16, Some(name))
            }
        }
    }

    /// What a record says; `None` where it is none of these.
    pub(crate) fn of(record: Received) -> Option<Self> {
        let data = record.data.clone();
        let mut words = Words(record.fields().iter());
        let words = &mut words;
        Some(match record.kind {
            1 => Self::Open {
                layer: words.octet()?,
                user: words.handle()?,
                backlog: match words.word()? {
                    0 => None,
                    more => Some(u32::try_from(more - 1).ok()?),
                },
                local: words.socket()?,
                remote: words.socket()?,
                quality: words.quality()?,
            },
            2 => Self::Cancel { layer: words.octet()?, user: words.handle()? },
            3 => Self::Accept { session: words.handle()?, user: words.handle()?, quality: words.quality()? },
            4 => Self::Data { session: words.handle()?, data },
            5 => Self::Credit { session: words.handle()?, octets: words.word()? },
            6 => Self::Release { session: words.handle()? },
            7 => Self::Abort { session: words.handle()? },
            8 => Self::Change { session: words.handle()?, quality: words.quality()? },
            9 => Self::Peer { session: words.handle()?, remote: words.socket()? },
            10 => {
                let (layer, is_member) = (words.octet()?, words.flag()?);
                Self::Group { layer, group: words.ip()?.0?, is_member }
            }
            11 => Self::Unit { layer: words.octet()?, unit: words.unit(data)? },
            12 => Self::Take {
                question: words.word()?,
                is_udp: words.flag()?,
                local: words.address()?,
                terms: words.terms()?,
            },
            13 => Self::Listen { question: words.word()?, number: words.word()? },
            14 => Self::Give { number: words.word()? },
            15 => Self::Settle { question: words.word()? },
            16 => Self::Lookup { question: words.word()?, name: data },
            _ => return None,
        })
    }
}

impl Response {
    /// As [`Command::put`].
    pub(crate) fn put(&self, fields: &mut Fields) -> (u8, Option<&Message>) {
        match self {
            Self::Opened { layer, user, provider, local, remote } => {
                put_session(fields, *layer, [*user, *provider], [*local, *remote]);
                (1, None)
            }
            Self::Offered { layer, user, provider, local, remote } => {
                put_session(fields, *layer, [*user, *provider], [*local, *remote]);
                (2, None)
            }
            Self::Data { user, data } => {
                put_handle(fields, *user);
                (3, Some(data))
            }
            Self::Credit { user, octets } => {
                put_handle(fields, *user);
                fields.push(*octets);
                (4, None)
            }
            Self::Released { user } => {
                put_handle(fields, *user);
                (5, None)
            }
            Self::Closed { user } => {
                put_handle(fields, *user);
                (6, None)
            }
            Self::Aborted { layer, user, reason } => {
                fields.push((*layer).into());
                put_handle(fields, *user);
                fields.push(number(reason));
                (7, None)
            }
            Self::Unit { layer, unit } => {
                fields.push((*layer).into());
                put_unit(fields, unit);
                (8, Some(&unit.data))
            }
            Self::Unreachable { source, destination, problem } => {
                put_socket(fields, Some(*source));
                put_socket(fields, Some(*destination));
                put_problem(fields, *problem);
                (9, None)
            }
            Self::Answer { question, answer } => {
                fields.push(*question);
                (10, answer.put(fields))
            }
            Self::Lines { data } => (11, Some(data)),
        }
    }

    /// As [`Command::of`].
    pub(crate) fn of(record: Received) -> Option<Self> {
        let data = record.data.clone();
        let mut words = Words(record.fields().iter());
        let words = &mut words;
        Some(match record.kind {
            1 => {
                let (layer, [user, provider], [local, remote]) = words.session()?;
                Self::Opened { layer, user, provider, local, remote }
            }
            2 => {
                let (layer, [user, provider], [local, remote]) = words.session()?;
                Self::Offered { layer, user, provider, local, remote }
            }
            3 => Self::Data { user: words.handle()?, data },
            4 => Self::Credit { user: words.handle()?, octets: words.word()? },
            5 => Self::Released { user: words.handle()? },
            6 => Self::Closed { user: words.handle()? },
            7 => {
                let (layer, user) = (words.octet()?, words.handle()?);
                let reason = usize::try_from(words.word()?).ok().and_then(|it| REASONS.get(it).cloned())?;
                Self::Aborted { layer, user, reason }
            }
            8 => Self::Unit { layer: words.octet()?, unit: words.unit(data)? },
            9 => {
                Self::Unreachable { source: words.address()?, destination: words.address()?, problem: words.problem()? }
            }
            10 => Self::Answer { question: words.word()?, answer: Answer::of(words, data)? },
            11 => Self::Lines { data },
            _ => return None,
        })
    }

    /// That of a host that has these.
    pub(crate) fn lines(lines: &[OwnLine]) -> Self {
        let mut words = Fields::new();
        put_lines(&mut words, lines);
        let octets: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Self::Lines { data: Message::from_octets(&octets) }
    }

    /// What it takes of memory while it waits, about, in octets.
    pub(crate) fn cost(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Data { data, .. } | Self::Lines { data } => data.len(),
                Self::Unit { unit, .. } => unit.data.len(),
                Self::Opened { .. }
                | Self::Offered { .. }
                | Self::Credit { .. }
                | Self::Released { .. }
                | Self::Closed { .. }
                | Self::Aborted { .. }
                | Self::Unreachable { .. }
                | Self::Answer { .. } => 0,
            }
    }
}

type Session = (Layer, [Handle; 2], [Option<SocketAddr>; 2]);

fn put_session(fields: &mut Fields, layer: Layer, handles: [Handle; 2], addresses: [Option<SocketAddr>; 2]) {
    fields.push(layer.into());
    handles.into_iter().for_each(|it| put_handle(fields, it));
    addresses.into_iter().for_each(|it| put_socket(fields, it));
}

impl Words<'_> {
    fn session(&mut self) -> Option<Session> {
        let layer = self.octet()?;
        Some((layer, [self.handle()?, self.handle()?], [self.socket()?, self.socket()?]))
    }
}

impl Answer {
    fn put(&self, fields: &mut Fields) -> Option<&Message> {
        match self {
            Self::Done => fields.push(0),
            Self::Taken { local, number } => {
                fields.extend([1, *number]);
                put_socket(fields, Some(*local));
            }
            Self::Found(all) => {
                fields.push(2);
                all.iter().take(MOST_FOUND).for_each(|ip| put_ip(fields, 0, *ip));
            }
            Self::Refused { why, text } => {
                fields.extend([3, *why as u64]);
                return Some(text);
            }
        }
        None
    }

    fn of(words: &mut Words<'_>, text: Message) -> Option<Self> {
        Some(match words.word()? {
            0 => Self::Done,
            1 => {
                let number = words.word()?;
                Self::Taken { local: words.address()?, number }
            }
            2 => {
                let mut all = Vec::new();
                while !words.0.as_slice().is_empty() {
                    all.push(words.ip()?.0?);
                }
                Self::Found(all)
            }
            3 => {
                let why = words.word()?;
                let why = RefusalCode::ALL.iter().copied().find(|it| *it as u64 == why)?;
                Self::Refused { why, text }
            }
            _ => return None,
        })
    }
}
