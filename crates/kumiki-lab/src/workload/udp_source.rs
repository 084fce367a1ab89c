//! A program that sends datagrams: at a constant rate, at random times, in bursts.
//!
//! | | |
//! |---|---|
//! | Specification | netperf's `UDP_STREAM` at a fixed rate; each datagram begins with its number and the time at which it leaves, [`HEADER_LEN`] octets |
//! | Above | nothing |
//! | Below | unit data with sockets: UDP |
//! | Left out | waiting for room: what the stack has no room for, it drops; pages of a modelled memory |

use core::net::SocketAddr;

use kumiki_graph::{
    Above, Address, Below, Context, Duration, Indication, Instant, Protocol, Quality, Reason, Report, Request, Rng,
    Service, Shape, TimerSlot, Token, Unit, Work,
};
use kumiki_octets::{Message, Pattern};

use kumiki_wire::inet::rtp::Header;

use super::rtp::{self, Media};
use super::{Opening, STACK, Transfer, connect, handle, in_turn};
use kumiki_config::quantity::Distribution;

/// Octets that each datagram, or the payload of each packet of RTP, begins with: its number, and the time in
/// nanoseconds, each of eight octets, most significant first.
pub const HEADER_LEN: usize = 16;

/// What a [`UdpSource`] does.
#[derive(Clone, Debug)]
pub struct UdpSourceConfig {
    /// The local address; port 0 lets the stack choose, which it must where there are several sessions.
    pub local: SocketAddr,
    /// Whom to send to; sessions go to each in turn.
    pub peers: Vec<SocketAddr>,
    /// How many sessions, each from a port of its own.
    pub sessions: u32,
    /// Octets in a datagram, its number and time included: at least [`HEADER_LEN`].
    pub message: u32,
    /// Datagrams in a session; without end where `None`.
    pub count: Option<u64>,
    /// From one datagram to the next, as so many octets at so many bits per second; not 0. The mean, where they come at
    /// random.
    pub bits_per_second: u64,
    /// Whether they come at random: a Poisson process.
    pub poisson: bool,
    /// How long it sends, and how long it then is silent, by turns; all the time where `None`.
    pub bursts: Option<Bursts>,
    /// What packets of RTP are of, which datagrams then are.
    pub media: Option<Media>,
    /// The content behind number and time.
    pub pattern: Pattern,
    /// When sessions begin.
    pub opening: Opening,
    /// How data gets into the stack's memory.
    pub transfer: Transfer,
}

/// Times of sending and of silence, by turns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    /// How long it sends.
    pub on: Distribution<Duration>,
    /// How long it then is silent.
    pub off: Distribution<Duration>,
}

/// What one session did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SentUnits {
    /// Its address; that of the host may be open.
    pub local: Address,
    /// When the first left.
    pub first: Option<Instant>,
    /// When the last left.
    pub last: Option<Instant>,
    /// How many.
    pub units: u64,
    /// How many of them had left when the measurement began; so its first has this number.
    pub before: u64,
    /// Errors that came back about them (ICMP).
    pub errors: u64,
    /// Why the port could not be opened.
    pub refused: Option<Reason>,
}

/// A time of sending; all of it where there are no bursts.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    began: Instant,
    /// How long it had sent before.
    sending: Duration,
    until: Option<Instant>,
}

#[derive(Debug, Default)]
struct Session {
    burst: Burst,
    /// How long it sends and is silent is drawn from this, whatever else of it is random.
    turns: Option<Rng>,
    /// After how much time of sending the next datagram leaves.
    due: Duration,
    timer: TimerSlot,
    sent: SentUnits,
    /// Of RTP: sequence number and timestamp begin at random, and so is the source's name (RFC 3550 section 5.1).
    begins: Header,
}

/// Why a session is looked at again.
#[repr(u32)]
enum Kind {
    Open = 0,
    Send = 1,
}

/// The program; see the module.
#[derive(Debug)]
pub struct UdpSource {
    config: UdpSourceConfig,
    sessions: Vec<Session>,
}

impl UdpSource {
    /// A program that does what `config` says.
    #[must_use]
    pub fn new(config: UdpSourceConfig) -> Self {
        let sessions = (0..config.sessions).map(|_| Session::default()).collect();
        Self { config, sessions }
    }

    /// What each session did.
    pub fn sent(&self) -> impl Iterator<Item = SentUnits> + '_ {
        self.sessions.iter().map(|session| session.sent.clone())
    }

    /// What left before now is not measured.
    pub fn begin_measurement(&mut self) {
        for session in &mut self.sessions {
            session.sent.before = session.sent.units;
        }
    }

    /// Whether all has been sent that was to be.
    #[must_use]
    pub fn is_done(&self, now: Instant) -> bool {
        self.sent().all(|sent| sent.refused.is_some() || self.is_all(&sent, now))
    }

    /// Whether nothing more is to be sent in a session that has `sent` so much.
    fn is_all(&self, sent: &SentUnits, now: Instant) -> bool {
        self.config.opening.is_over(now) || self.config.count.is_some_and(|count| sent.units >= count)
    }

    /// When the last datagram of a session left, where no more are to follow.
    #[must_use]
    pub fn ended(&self, sent: &SentUnits, now: Instant) -> Option<Instant> {
        sent.last.filter(|_| self.is_all(sent, now))
    }

    fn session(&mut self, number: u32) -> Option<&mut Session> {
        self.sessions.get_mut(usize::try_from(number).ok()?)
    }

    fn open(&self, number: u32, cx: &mut Context<'_>) {
        let Some(peer) = in_turn(&self.config.peers, number) else {
            return;
        };
        cx.charge(Work::Call, 1);
        let ends = (Address::from(self.config.local), Address::from(*peer));
        connect(handle(number), ends, Quality::default(), cx);
    }

    fn send(&mut self, number: u32, cx: &mut Context<'_>) {
        let UdpSourceConfig { count, pattern, transfer, media, .. } = self.config;
        let now = cx.now();
        let is_over = self.config.opening.is_over(now);
        let Some(session) = self.session(number) else {
            return;
        };
        let sent = &session.sent;
        if is_over || count.is_some_and(|count| sent.units >= count) {
            return;
        }
        let front = media.map(|media| self.front(number, media));
        let message = self.octets(number);
        let Some(session) = self.session(number) else {
            return;
        };
        let sent = &mut session.sent;
        let header_len = HEADER_LEN + front.as_ref().map_or(0, Vec::len);
        let octets = usize::try_from(message).unwrap_or(0).saturating_sub(header_len);
        let mut data = Message::generated(pattern, content_offset(sent.units, octets), octets);
        if transfer.summed {
            data.sum();
        }
        let header = [sent.units, now.as_nanos()].map(u64::to_be_bytes);
        let mut unit = Message::from_octets(&[front.unwrap_or_default(), header.concat()].concat());
        unit.append(data);
        sent.first = sent.first.or(Some(now));
        sent.last = Some(now);
        sent.units += 1;
        cx.charge(Work::Call, 1);
        cx.charge(Work::Map, transfer.pages_to_map(message));
        cx.charge(Work::Copy, u64::from(message) * transfer.copies);
        cx.down(STACK, Request::Unit(Box::new(Unit { source: session.sent.local, ..Unit::of(unit) })));
        let at = self.next(number, cx);
        if let Some(session) = self.session(number) {
            cx.set_timer(&mut session.timer, token(number, Kind::Send), at);
        }
    }

    /// The octets of the next datagram of a session.
    fn octets(&self, number: u32) -> u32 {
        let UdpSourceConfig { message, media, .. } = self.config;
        let sent =
            usize::try_from(number).ok().and_then(|place| self.sessions.get(place)).map_or(0, |it| it.sent.units);
        media.map_or(message, |media| media.place(sent, message).octets)
    }

    /// What the next packet of RTP of a session begins with. Its timestamp is of when its frame leaves, as its rate
    /// says.
    fn front(&mut self, number: u32, media: Media) -> Vec<u8> {
        let UdpSourceConfig { message, bits_per_second, .. } = self.config;
        let Some(session) = self.session(number) else {
            return Vec::new();
        };
        let packet = media.place(session.sent.units, message);
        let sampled = time(packet.octets_before.into(), bits_per_second);
        #[expect(clippy::cast_possible_truncation, reason = "sequence numbers begin again at 2^16")]
        let header = Header {
            marker: packet.marker,
            payload_type: media.payload_type,
            sequence: session.begins.sequence.wrapping_add(session.sent.units as u16),
            timestamp: session.begins.timestamp.wrapping_add(rtp::ticks(sampled, media.clock())),
            ..session.begins.clone()
        };
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        octets
    }

    /// When the next datagram leaves. Time is counted while it sends: what is left to wait when a burst ends is waited
    /// in the next one.
    fn next(&mut self, number: u32, cx: &mut Context<'_>) -> Instant {
        let now = cx.now();
        let UdpSourceConfig { message, bits_per_second, poisson, bursts, media, .. } = self.config;
        let gap = |units: u64| {
            let octets = media.map(|media| u128::from(media.place(units, message).octets_before));
            time(octets.unwrap_or_else(|| u128::from(units) * u128::from(message)), bits_per_second)
        };
        let random = if poisson { Distribution::Exponential(gap(1)).draw(cx.rng()) } else { Duration::ZERO };
        let Some(session) = self.session(number) else {
            return now;
        };
        // From the beginning on, so that no rounding adds up.
        session.due = if poisson { session.due + random } else { gap(session.sent.units) };
        let due = session.due;
        let Burst { mut began, mut sending, mut until } = session.burst;
        if let Some((Bursts { on, off }, turns)) = bursts.zip(session.turns.as_mut()) {
            while let Some(end) = until.filter(|end| began + due.saturating_sub(sending) >= *end) {
                sending += end.saturating_since(began);
                began = end + off.draw(turns);
                until = Some(began + on.draw(turns));
            }
        }
        session.burst = Burst { began, sending, until };
        (began + due.saturating_sub(sending)).max(now)
    }
}

/// How long `octets` take at so many bits per second.
pub(crate) fn time(octets: u128, bits_per_second: u64) -> Duration {
    let time = octets * 8 * 1_000_000_000 / u128::from(bits_per_second.max(1));
    Duration::from_nanos(u64::try_from(time).unwrap_or(u64::MAX))
}

/// Where in the pattern the content of unit `number` begins.
pub(super) const fn content_offset(number: u64, octets: usize) -> u64 {
    number.wrapping_mul(octets as u64)
}

/// What a source of RTP begins with.
fn random_header(cx: &mut Context<'_>) -> Header {
    let [one, other] = [(); 2].map(|()| cx.rng().next_u64().to_be_bytes());
    let [s0, s1, s2, s3, t0, t1, t2, t3] = one;
    let [q0, q1, ..] = other;
    Header {
        sequence: u16::from_be_bytes([q0, q1]),
        timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
        ssrc: u32::from_be_bytes([s0, s1, s2, s3]),
        ..Header::default()
    }
}

/// The port of a socket.
fn port(address: Address) -> Option<u16> {
    address.socket().map(|at| at.port())
}

const fn token(number: u32, kind: Kind) -> Token {
    Token { session: handle(number), kind: kind as u32 }
}

impl Protocol for UdpSource {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::UNIT_DATA], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let opening = self.config.opening;
        // A copy, so that what is drawn next is the same with it and without.
        let turns = self.config.bursts.map(|_| cx.rng().clone().next_u64());
        for (number, at) in (0..).zip(opening.times(self.config.sessions, cx)) {
            if let Some(session) = self.session(number) {
                session.turns = turns.map(|seed| Rng::new(seed, number.into()));
                cx.set_timer(&mut session.timer, token(number, Kind::Open), at);
            }
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Opened(opened) = indication {
            let now = cx.now();
            let bursts = self.config.bursts;
            let begins = self.config.media.map(|_| random_header(cx)).unwrap_or_default();
            if let Some(session) = self.session(opened.user.index) {
                session.sent.local = opened.local;
                let until = bursts.zip(session.turns.as_mut()).map(|(bursts, turns)| now + bursts.on.draw(turns));
                session.burst = Burst { began: now, sending: Duration::ZERO, until };
                session.begins = begins;
            }
            self.send(opened.user.index, cx);
        } else if let Indication::Aborted { session, reason, .. } = indication {
            if let Some(session) = self.session(session.index) {
                session.sent.refused = Some(reason);
            }
        } else if let Indication::Report(report) = indication
            && let Report::Unreachable { source, .. } = *report
        {
            // A socket opened on no address in particular is named with the one that was used.
            let port = port(source);
            let mut sessions = self.sessions.iter_mut();
            let session = sessions.find(|it| self::port(it.sent.local) == port);
            if let Some(session) = session {
                session.sent.errors += 1;
            }
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token.kind == Kind::Open as u32 {
            self.open(token.session.index, cx);
        } else {
            self.send(token.session.index, cx);
        }
    }
}
