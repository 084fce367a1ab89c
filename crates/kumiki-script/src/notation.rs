//! What a script says, and how it is written: one event a line.
//!
//! Every type here is printed in the notation that [`super::parse`] reads, in one form: what is printed and read again
//! is the same.

use core::fmt;

use kumiki_graph::Duration;
use kumiki_wire::inet::ipv4::Ecn;
use kumiki_wire::inet::tcp::Flags;
use kumiki_wire::inet::tcp::accecn::AccEcn;

/// Which connection a line is about; they are counted from 1.
pub type Connection = u8;

/// One line that says something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: usize,
    /// When.
    pub time: Time,
    /// On which connection.
    pub connection: Connection,
    /// What.
    pub event: Event,
}

/// When something happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Time {
    /// The moment.
    pub moment: EventTime,
    /// In real time it may come so much later; `None`: as much as the run allows. Without meaning in virtual time.
    pub late: Option<Duration>,
}

/// A moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventTime {
    /// So long after the script began.
    At(Duration),
    /// So long after the line before.
    After(Duration),
}

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A segment goes to the stack.
    In(Segment),
    /// An ICMP message goes to the stack.
    Icmp(Icmp),
    /// The stack sends this segment.
    Out(Segment),
    /// The program above the stack does something.
    Call(Call),
    /// The program hears something.
    Hear(ProgramEvent),
    /// The state of our stack; nothing is looked at where the stack is another one.
    See(Vec<StackView>),
    /// The stack has sent nothing since the line before.
    Silence,
    /// What is known of the connection is forgotten: its next SYN brings a new initial sequence number.
    Fresh,
}

/// A segment. Sequence numbers are relative to the initial one of their side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// What belongs to the packet around it, or is wrong with it.
    pub marks: Marks,
    /// The control bits.
    pub flags: Flags,
    /// SEG.SEQ.
    pub seq: i64,
    /// Octets of data.
    pub len: u32,
    /// SEG.ACK, where the ACK bit is set.
    pub ack: Option<i64>,
    /// SEG.WND as on the wire; `None`: not looked at, and [`Segment::WINDOW`] where it goes to the stack.
    pub window: Option<u16>,
    /// The urgent pointer.
    pub urgent: Option<u16>,
    /// The options.
    pub options: Options,
}

impl Segment {
    /// The window of a segment to the stack that does not say it.
    pub const WINDOW: u16 = u16::MAX;
}

/// What belongs to the IP header, or is odd.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// Time to live, or hop limit.
    pub ttl: Option<u8>,
    /// Type of service, or traffic class: the whole octet.
    pub tos: Option<u8>,
    /// The ECN bits of it.
    pub ecn: Option<Ecn>,
    /// Do not fragment (IPv4).
    pub df: Option<bool>,
    /// To the stack: the TCP checksum is wrong.
    pub bad_sum: bool,
    /// To the stack: the data is not that of the stream.
    pub other: bool,
}

/// A number, or any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// Any will do; 0 where one is sent.
    Any,
    /// This.
    Is(u32),
}

impl Number {
    /// The number that is sent.
    #[must_use]
    pub const fn sent(self) -> u32 {
        match self {
            Self::Any => 0,
            Self::Is(number) => number,
        }
    }

    /// Whether `other` will do.
    #[must_use]
    pub fn allows(self, other: Self) -> bool {
        self == Self::Any || self == other
    }
}

/// The options of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Options {
    /// Whatever they are.
    Any,
    /// These, in this order.
    List(Vec<Opt>),
}

/// One option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Opt {
    /// End of the list, or padding after it.
    End,
    /// No operation.
    Nop,
    /// Maximum segment size.
    Mss(Number),
    /// Window scale.
    WindowScale(Number),
    /// SACK permitted.
    SackOk,
    /// SACK blocks, relative to the initial sequence number of whose data they are.
    Sack(Vec<(i64, i64)>),
    /// TSval and TSecr.
    Timestamps(Number, Number),
    /// User timeout, in seconds or in minutes.
    UserTimeout(u16, bool),
    /// Accurate ECN's counters; without any in the first order only.
    AccEcn(AccEcn),
    /// Octets as they are: an option that is not here, or one that is wrong.
    Hex(Vec<u8>),
}

/// An ICMP error about a segment that the stack has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Icmp {
    /// Which.
    pub kind: IcmpKind,
    /// The MTU of the next hop, where it tells one.
    pub mtu: u16,
    /// The sequence number that is quoted; `None`: that of the last segment.
    pub seq: Option<i64>,
}

/// ICMP errors by name, with type and code in ICMP and ICMPv6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpKind {
    /// No route.
    NetUnreachable,
    /// The host does not answer.
    HostUnreachable,
    /// The host has no such protocol.
    ProtocolUnreachable,
    /// Nobody is at the port.
    PortUnreachable,
    /// It does not fit the next link.
    TooBig,
    /// A source route failed.
    RouteFailed,
    /// Forbidden by an administrator.
    Prohibited,
    /// It has travelled for too long.
    TimeExceeded,
    /// Something in the header is wrong.
    ParameterProblem,
    /// Send less (no longer in use: RFC 6633).
    SourceQuench,
}

/// An ICMP error: its name, and type and code in ICMP (RFC 792) and in ICMPv6 (RFC 4443) where there is such a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcmpName {
    /// Which.
    pub kind: IcmpKind,
    /// What it is called.
    pub name: &'static str,
    /// Type and code.
    pub icmp: (u8, u8),
    /// The same in ICMPv6.
    pub icmpv6: Option<(u8, u8)>,
}

impl IcmpName {
    const fn new(kind: IcmpKind, name: &'static str, icmp: (u8, u8), icmpv6: Option<(u8, u8)>) -> Self {
        Self { kind, name, icmp, icmpv6 }
    }
}

impl IcmpKind {
    /// All.
    #[rustfmt::skip] // a table
    pub const ALL: [IcmpName; 10] = [
        IcmpName::new(Self::NetUnreachable, "net_unreachable", (3, 0), Some((1, 0))),
        IcmpName::new(Self::HostUnreachable, "host_unreachable", (3, 1), Some((1, 3))),
        IcmpName::new(Self::ProtocolUnreachable, "protocol_unreachable", (3, 2), Some((4, 1))),
        IcmpName::new(Self::PortUnreachable, "port_unreachable", (3, 3), Some((1, 4))),
        IcmpName::new(Self::TooBig, "too_big", (3, 4), Some((2, 0))),
        IcmpName::new(Self::RouteFailed, "route_failed", (3, 5), None),
        IcmpName::new(Self::Prohibited, "prohibited", (3, 13), Some((1, 1))),
        IcmpName::new(Self::TimeExceeded, "time_exceeded", (11, 0), Some((3, 0))),
        IcmpName::new(Self::ParameterProblem, "parameter_problem", (12, 0), Some((4, 0))),
        IcmpName::new(Self::SourceQuench, "source_quench", (4, 0), None),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|it| it.kind == self);
        found.map_or("", |it| it.name)
    }

    /// Type and code; `None` where this version of IP has no such message.
    #[must_use]
    pub fn numbers(self, v6: bool) -> Option<(u8, u8)> {
        let found = Self::ALL.iter().find(|it| it.kind == self)?;
        if v6 { found.icmpv6 } else { Some(found.icmp) }
    }
}

/// What a program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Waits for callers; so many may wait unaccepted.
    Listen(u32),
    /// Calls the peer.
    Connect,
    /// Takes the next caller.
    Accept,
    /// Sends so many octets of the stream; what finds no room yet goes when there is.
    Write(u32),
    /// Sends so many octets as urgent data.
    Urge(u32),
    /// Takes so many octets, which must have come.
    Read(u32),
    /// Sends no more.
    Shutdown,
    /// Neither sends nor reads any more.
    Close,
    /// Ends both directions at once.
    Abort,
    /// Asks for something.
    Set(Set),
}

/// What a program can ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Set {
    /// Small segments go at once (`TCP_NODELAY`), or wait.
    NoDelay(bool),
    /// Small segments wait for small ones only (draft-minshall-nagle-01).
    Minshall,
    /// An idle peer is asked: after so long, again after so long, so often; `None`: not.
    KeepAlive(Option<(Duration, Duration, u32)>),
    /// Nothing may go unacknowledged for longer.
    UserTimeout(Duration),
    /// Time to live.
    Ttl(u8),
    /// Type of service.
    Tos(u8),
}

/// What a program hears, just then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramEvent {
    /// The connection stands.
    Opened,
    /// A caller waits to be accepted.
    Offered,
    /// So many octets wait to be read.
    Readable(u32),
    /// The peer sends no more.
    Ended,
    /// Both directions have ended in order. Sockets do not tell.
    Closed,
    /// The peer reset the connection.
    Reset,
    /// The peer refused it.
    Refused,
    /// The peer does not answer.
    TimedOut,
    /// There is no way to the peer.
    Unreachable,
    /// There is no way to its network.
    NetUnreachable,
    /// The way to the peer is prohibited.
    Prohibited,
}

impl ProgramEvent {
    /// Those without a number, and their names.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Opened, "opened"),
        (Self::Offered, "offered"),
        (Self::Ended, "ended"),
        (Self::Closed, "closed"),
        (Self::Reset, "reset"),
        (Self::Refused, "refused"),
        (Self::TimedOut, "timed_out"),
        (Self::Unreachable, "unreachable"),
        (Self::NetUnreachable, "net_unreachable"),
        (Self::Prohibited, "prohibited"),
    ];
}

/// What only our own stack shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackView {
    /// The state, as RFC 9293 names it: one of [`StackView::STATES`].
    State(&'static str),
    /// The retransmission time-out.
    Rto(Duration),
    /// The congestion window, in octets.
    Cwnd(u64),
    /// The slow start threshold, in octets.
    Ssthresh(u64),
    /// SND.WND, in octets.
    SndWnd(u32),
    /// RCV.WND, in octets.
    RcvWnd(u32),
    /// The smoothed round-trip time.
    Srtt(Duration),
    /// How many connections there are, those in TIME-WAIT too.
    Connections(usize),
    /// The user has just been told that the peer has not answered for a while.
    NoAnswer,
    /// The user has just been told that the peer answers again.
    Answered,
    /// The user has just been told of an error on the way.
    Problem,
    /// The user has just been told that urgent data ends so many octets further on.
    Urgent(u32),
}

impl StackView {
    /// The states that show. One that is not there is CLOSED; TIME-WAIT is seen in `connections`.
    pub const STATES: [&'static str; 9] = [
        "CLOSED",
        "SYN-SENT",
        "SYN-RECEIVED",
        "ESTABLISHED",
        "FIN-WAIT-1",
        "FIN-WAIT-2",
        "CLOSE-WAIT",
        "CLOSING",
        "LAST-ACK",
    ];
}

/// Seconds with as few decimals as are needed.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        if part == 0 {
            return write!(f, "{whole}");
        }
        let part = format!("{part:09}");
        write!(f, "{whole}.{}", part.trim_end_matches('0'))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.moment {
            EventTime::At(time) => write!(f, "{}", Seconds(time))?,
            EventTime::After(time) => write!(f, "+{}", Seconds(time))?,
        }
        match self.late {
            Some(late) => write!(f, "~{}", Seconds(late)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.time.to_string();
        write!(f, "{time:<7} ")?;
        if self.connection != 1 {
            write!(f, "@{} ", self.connection)?;
        }
        write!(f, "{}", self.event)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::In(segment) => write!(f, "< {segment}"),
            Self::Icmp(icmp) => write!(f, "< {icmp}"),
            Self::Out(segment) => write!(f, "> {segment}"),
            Self::Call(call) => write!(f, "{call}"),
            Self::Hear(hear) => write!(f, "{hear}"),
            Self::See(sights) => {
                f.write_str("?")?;
                sights.iter().try_for_each(|see| write!(f, " {see}"))
            }
            Self::Silence => f.write_str("silence"),
            Self::Fresh => f.write_str("fresh"),
        }
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tokens().join(" "))
    }
}

/// The letters of the control bits, in the order in which they are printed.
pub(crate) const LETTERS: [(Flags, char); 9] = [
    (Flags::SYN, 'S'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::PSH, 'P'),
    (Flags::URG, 'U'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'W'),
    (Flags::AE, 'A'),
    (Flags::ACK, '.'),
];

impl Segment {
    /// The parts of the notation, between which a reader compares.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let mut tokens = Vec::new();
        let marks = self.marks.tokens();
        if !marks.is_empty() {
            tokens.push(format!("{{{}}}", marks.join(" ")));
        }
        let flags: String =
            LETTERS.iter().filter(|(flag, _)| self.flags.contains(*flag)).map(|(_, letter)| *letter).collect();
        tokens.push(if flags.is_empty() { "-".to_owned() } else { flags });
        let end = self.seq + i64::from(self.len);
        tokens.push(format!("{}:{end}({})", self.seq, self.len));
        if let Some(ack) = self.ack {
            tokens.push(format!("ack {ack}"));
        }
        if let Some(window) = self.window {
            tokens.push(format!("win {window}"));
        }
        if let Some(urgent) = self.urgent {
            tokens.push(format!("urg {urgent}"));
        }
        match &self.options {
            Options::Any => tokens.push("<...>".to_owned()),
            Options::List(list) if list.is_empty() => {}
            Options::List(list) => {
                let list: Vec<String> = list.iter().map(Opt::to_string).collect();
                tokens.push(format!("<{}>", list.join(",")));
            }
        }
        tokens
    }
}

impl Marks {
    fn tokens(self) -> Vec<String> {
        let mut tokens = Vec::new();
        if let Some(ttl) = self.ttl {
            tokens.push(format!("ttl {ttl}"));
        }
        if let Some(tos) = self.tos {
            tokens.push(format!("tos {tos}"));
        }
        if let Some(ecn) = self.ecn {
            tokens.push(ecn_name(ecn).to_owned());
        }
        if let Some(df) = self.df {
            tokens.push(if df { "df" } else { "nodf" }.to_owned());
        }
        if self.bad_sum {
            tokens.push("badsum".to_owned());
        }
        if self.other {
            tokens.push("other".to_owned());
        }
        tokens
    }
}

/// The name of ECN bits.
pub(crate) const fn ecn_name(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "noecn",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Is(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("eol"),
            Self::Nop => f.write_str("nop"),
            Self::Mss(mss) => write!(f, "mss {mss}"),
            Self::WindowScale(shift) => write!(f, "wscale {shift}"),
            Self::SackOk => f.write_str("sackOK"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                let mut blocks = blocks.iter();
                blocks.try_for_each(|(left, right)| write!(f, " {left}:{right}"))
            }
            Self::Timestamps(val, ecr) => write!(f, "TS val {val} ecr {ecr}"),
            Self::UserTimeout(value, minutes) => {
                write!(f, "uto {value}{}", if *minutes { "m" } else { "s" })
            }
            Self::AccEcn(counters) => write!(f, "{counters}"),
            Self::Hex(octets) => {
                f.write_str("hex ")?;
                octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
            }
        }
    }
}

impl fmt::Display for Icmp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "icmp {}", self.kind.name())?;
        if self.mtu != 0 {
            write!(f, " mtu {}", self.mtu)?;
        }
        match self.seq {
            Some(seq) => write!(f, " seq {seq}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(backlog) => write!(f, "listen {backlog}"),
            Self::Connect => f.write_str("connect"),
            Self::Accept => f.write_str("accept"),
            Self::Write(len) => write!(f, "write {len}"),
            Self::Urge(len) => write!(f, "urge {len}"),
            Self::Read(len) => write!(f, "read {len}"),
            Self::Shutdown => f.write_str("shutdown"),
            Self::Close => f.write_str("close"),
            Self::Abort => f.write_str("abort"),
            Self::Set(set) => write!(f, "set {set}"),
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDelay(true) => f.write_str("nodelay"),
            Self::NoDelay(false) => f.write_str("nagle"),
            Self::Minshall => f.write_str("minshall"),
            Self::KeepAlive(None) => f.write_str("keepalive off"),
            Self::KeepAlive(Some((idle, interval, count))) => {
                write!(f, "keepalive {} {} {count}", Seconds(*idle), Seconds(*interval))
            }
            Self::UserTimeout(time) => write!(f, "usertimeout {}", Seconds(*time)),
            Self::Ttl(ttl) => write!(f, "ttl {ttl}"),
            Self::Tos(tos) => write!(f, "tos {tos}"),
        }
    }
}

impl fmt::Display for ProgramEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Readable(octets) = self {
            return write!(f, "readable {octets}");
        }
        let found = Self::ALL.iter().find(|(hear, _)| hear == self);
        f.write_str(found.map_or("", |(_, name)| name))
    }
}

impl fmt::Display for StackView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(state) => write!(f, "state {state}"),
            Self::Rto(time) => write!(f, "rto {}", Seconds(*time)),
            Self::Cwnd(octets) => write!(f, "cwnd {octets}"),
            Self::Ssthresh(octets) => write!(f, "ssthresh {octets}"),
            Self::SndWnd(octets) => write!(f, "snd_wnd {octets}"),
            Self::RcvWnd(octets) => write!(f, "rcv_wnd {octets}"),
            Self::Srtt(time) => write!(f, "srtt {}", Seconds(*time)),
            Self::Connections(count) => write!(f, "connections {count}"),
            Self::NoAnswer => f.write_str("no_answer"),
            Self::Answered => f.write_str("answered"),
            Self::Problem => f.write_str("problem"),
            Self::Urgent(ahead) => write!(f, "urgent {ahead}"),
        }
    }
}
