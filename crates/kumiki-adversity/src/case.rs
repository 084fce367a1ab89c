//! What a seed decides: the line, the two hosts, their programs.
//!
//! | read | for |
//! |---|---|
//! | this file | what a case is |
//! | `line`, `hosts`, `programs` | what of it is drawn, and how often |
//! | `xtp` | the same for what only XTP has |
//! | `extras` | the same for what most cases do without: each has one place there and draws of its own |
//! | `dice` | how numbers are drawn |

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kumiki_graph::{Duration, ErrorControl, Quality};
use kumiki_inet::tcp;
use kumiki_inet::tcp::config::SynCookies;
use kumiki_link::{Impairment, Loss};
use kumiki_xtp as protocol;

mod case_rng;
mod extras;
mod hosts;
mod line;
mod programs;
mod xtp;

use case_rng::{CaseRng, s, us};

/// The largest transfer in one direction: 64 MiB.
const MOST_OCTETS: u64 = 64 << 20;

/// Whose transfers they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transport {
    /// TCP's.
    #[default]
    Tcp,
    /// XTP's.
    Xtp,
}

impl Transport {
    /// Its name in commands and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Xtp => "xtp",
        }
    }
}

/// What carries the packets of the transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stack {
    /// IP datagrams, one to a frame. Only the Internet checksum protects them.
    Ip,
    /// IP over LLC/SNAP over AAL5 in software, one PDU to a frame. CRC-32 protects them.
    Aal5,
    /// IP over LLC/SNAP over an adapter that does AAL5 and sends cells.
    Cells,
    /// No IP: frames of Ethernet, whose stations are found by ARP. A frame check sequence protects them, so what has a
    /// wrong bit is lost.
    Ethernet,
    /// No IP: frames of FDDI, with LLC and SNAP in them; otherwise as Ethernet.
    Fddi,
}

/// Which version of IP it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// IPv4.
    Four,
    /// IPv6: no checksum of the header, packets of at least 1280 octets.
    Six,
}

impl Version {
    /// The address of the near (0) or the far end.
    #[must_use]
    pub const fn address(self, end: usize) -> IpAddr {
        let last = if end == 0 { 1 } else { 2 };
        match self {
            Self::Four => IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)),
            Self::Six => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last as u16)),
        }
    }
}

/// The line between the hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Bits in a second, of what the near and the far host send. The same where the line carries cells.
    pub rates: [u64; 2],
    /// From end to end.
    pub propagation: Duration,
    /// Octets that may wait to be sent, in each direction; PDUs where the line carries cells.
    pub queue: u64,
    /// What befalls what the near and the far host send.
    pub weather: [Impairment; 2],
    /// So many of 1024 windows that the near and the far host tell are smaller when they come. A third party does that,
    /// which cannot where PDUs of AAL5 are made in software.
    pub squeeze: [u16; 2],
    /// Who makes up control packets of XTP to the near and the far host.
    pub liars: [Option<ControlForgery>; 2],
}

/// A third party that makes up control packets of XTP, like those that pass with other numbers in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlForgery {
    /// With so many of 1024 control packets.
    pub often: u16,
    /// Under the right keys, so that it may be believed; otherwise nobody has the key.
    pub knows_keys: bool,
}

/// How an end begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// Calls the other end.
    Calls {
        /// So long after the start.
        after: Duration,
    },
    /// Waits for a call.
    Listens {
        /// From then on.
        after: Duration,
        /// So long after an offer it is taken.
        accepts_after: Duration,
        /// Offers are refused instead.
        refuses: bool,
        /// It goes on listening when it has taken an offer.
        stays: bool,
    },
}

/// Calls of strangers, who never say more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flood {
    /// How many.
    pub calls: u32,
    /// From the start to the first.
    pub after: Duration,
    /// From one to the next.
    pub every: Duration,
}

/// How a program writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writing {
    /// Octets in all.
    pub total: u64,
    /// Octets in one write, the fewest and the most.
    pub piece: (u64, u64),
    /// After so many writes, a pause of so long.
    pub pause: Option<(u32, Duration)>,
    /// Each write of so many is urgent.
    pub urgent: Option<u32>,
    /// Each write is a message, and the receiver learns where it ends. Where that is not kept, it is only a hint.
    pub messages: bool,
    /// Each write of so many has a tag beside it.
    pub tagged: Option<u32>,
    /// Content is written as real octets; otherwise as content that follows from its position, which costs nothing to
    /// carry and is compared all the same.
    pub stored: bool,
}

/// How a program gives credit back for what it has got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// All of it at once.
    AtOnce,
    /// All of it, so long after it came.
    Late(Duration),
    /// At most so many octets at a time, so far apart.
    Bits(u64, Duration),
    /// At once, but with one pause when so many octets have come.
    Pauses(u64, Duration),
}

/// When a program sends no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finish {
    /// When all is written.
    Written,
    /// When all is written and the peer sends no more.
    AfterPeer,
    /// So long after all is written.
    Later(Duration),
    /// So long after the start, whatever is left; at the latest when all is written.
    At(Duration),
}

/// When a program ends the connection at once, if it has not ended before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AbortTime {
    /// When so many octets are written.
    Written(u64),
    /// When so many have been received.
    Received(u64),
    /// So long after the start; also during the handshake.
    Time(Duration),
}

/// One host: its transport and the program on it.
#[derive(Clone, PartialEq, Debug)]
pub struct End {
    /// What its TCP started from.
    pub profile: &'static str,
    /// Its TCP.
    pub tcp: tcp::Config,
    /// Its XTP, where the transfer is XTP's; then nothing depends on `tcp`.
    pub xtp: Option<Box<protocol::Config>>,
    /// What the program asks for when it opens or accepts.
    pub quality: Quality,
    /// The largest datagram it can carry, in octets.
    pub mtu: u32,
    /// How many inputs its host takes before it settles.
    pub batch: usize,
    /// Clusters of send memory, where the memory is modelled.
    pub clusters: Option<u32>,
    /// How it begins.
    pub opening: Opening,
    /// It calls by way of a gateway, with a source route. Only the near end does, over IPv4 in frames.
    pub by_gateway: bool,
    /// Who else calls while it listens.
    pub strangers: Option<Flood>,
    /// How it writes.
    pub writing: Writing,
    /// How it reads.
    pub reading: Reading,
    /// How it ends.
    pub finish: Finish,
    /// When it ends at once.
    pub abort: Option<AbortTime>,
}

/// All that one run is.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Where it came from; also the seed of everything that happens in it.
    pub seed: u64,
    /// Whose transfer it is.
    pub transport: Transport,
    /// What carries its packets.
    pub stack: Stack,
    /// Which IP.
    pub version: Version,
    /// The line.
    pub line: Line,
    /// The near and the far end. The near one always calls.
    pub ends: [End; 2],
}

impl Stack {
    /// IP carries the packets.
    #[must_use]
    pub const fn has_ip(self) -> bool {
        !matches!(self, Self::Ethernet | Self::Fddi)
    }
}

impl Case {
    /// Somebody who knows the keys may be believed.
    #[must_use]
    pub fn has_lies(&self) -> bool {
        self.line.liars.iter().flatten().any(|it| it.knows_keys)
    }

    /// The case of `seed`. Line and programs are much the same for all transports.
    #[must_use]
    pub fn of(transport: Transport, seed: u64) -> Self {
        let is_tcp = transport == Transport::Tcp;
        let mut dice = CaseRng::new(seed, 0);
        let mut stack = match dice.below(10) {
            0..=5 => Stack::Ip,
            6..=7 => Stack::Aal5,
            _ => Stack::Cells,
        };
        let mut near = hosts::end(seed, 0);
        let mut far = hosts::end(seed, 1);
        near.opening = Opening::Calls { after: if dice.one_in(4) { dice.time(us(1), s(1)) } else { Duration::ZERO } };
        let version = extras::version(&mut CaseRng::new(seed, 24), [&mut near, &mut far]);
        if !is_tcp {
            stack = xtp::stack(seed, stack, version);
            xtp::hosts(seed, stack, [&mut near, &mut far]);
        }
        if dice.one_in(3) {
            // Hosts of one network mostly agree.
            far.mtu = near.mtu;
        }
        let mut line = line::line(&mut dice, stack, near.mtu.max(far.mtu));
        if dice.one_in(16) {
            let after = dice.time(us(1), line.propagation.max(us(2)));
            near.opening = Opening::Calls { after: dice.time(us(1), line.propagation.max(us(2))) };
            if is_tcp {
                // Two calls of XTP that meet are two contexts.
                far.opening = Opening::Calls { after };
            }
        }
        programs::volume(&mut dice, [&mut near, &mut far], &line);
        if !dice.one_in(12) {
            line::bad_weather(&mut dice, &mut line, stack);
        }
        if is_tcp {
            extras::squeeze(&mut CaseRng::new(seed, 26), stack, &mut line);
            if stack == Stack::Ip && version == Version::Four {
                near.by_gateway = CaseRng::new(seed, 27).one_in(12);
            }
            extras::flood(&mut CaseRng::new(seed, 28), &mut far, &line);
        }
        extras::extras(seed, [&mut near, &mut far]);
        extras::whole_flights(&mut CaseRng::new(seed, 25), stack, [&mut near, &mut far], &mut line);
        if is_tcp && stack == Stack::Ip {
            line::marking(&mut CaseRng::new(seed, 22), &mut line);
        }
        if !is_tcp {
            xtp::programs(seed, [&mut near, &mut far]);
            xtp::third_parties(seed, stack, &mut line);
        }
        programs::ending(&mut dice, &mut near, &far);
        programs::ending(&mut dice, &mut far, &near);
        if near.finish == Finish::AfterPeer && far.finish == Finish::AfterPeer {
            far.finish = Finish::Written;
        }
        Self { seed, transport, stack, version, line, ends: [near, far] }
    }

    /// The largest text of a segment or packet from one end to the other, in octets, or a little less.
    pub(super) fn segment(from: &End, to: &End) -> u32 {
        programs::segment(from, to)
    }

    /// Whether anything can be lost between the hosts, for whatever reason.
    #[must_use]
    pub fn may_lose(&self) -> bool {
        let spoils =
            |weather: &Impairment| weather.loss != Loss::None || weather.corrupt > 0.0 || !weather.down.is_empty();
        self.line.queue != u64::MAX
            || self.line.weather.iter().any(spoils)
            // Where there is no room for callers, a SYN is as good as lost.
            || self.ends.iter().any(|end| end.strangers.is_some())
    }
}

impl End {
    /// The send buffer it really has, in octets.
    #[must_use]
    pub fn send_buffer(&self) -> u32 {
        let own = self.xtp.as_ref().map_or(self.tcp.send_buffer, |it| it.send_buffer);
        self.quality.send_buffer.unwrap_or(own)
    }

    /// What its send buffer may grow to by itself, in octets.
    #[must_use]
    pub fn max_send_buffer(&self) -> u32 {
        let grows = self.xtp.is_none() && self.quality.send_buffer.is_none();
        self.send_buffer().max(if grows { self.tcp.max_send_buffer } else { 0 })
    }

    /// What its receive buffer may grow to by itself, in octets.
    #[must_use]
    pub fn max_receive_buffer(&self) -> u32 {
        let grows = self.xtp.is_none() && self.quality.receive_buffer.is_none();
        self.receive_buffer().max(if grows { self.tcp.max_receive_buffer } else { 0 })
    }

    /// What it sends is not retransmitted when it is lost.
    #[must_use]
    pub fn sends_without_error_control(&self) -> bool {
        let own = self.xtp.as_ref().map(|it| it.error_control);
        own.is_some_and(|own| self.quality.error_control.unwrap_or(own) == ErrorControl::None)
    }

    /// Nothing is summed of the data that it sends.
    #[must_use]
    pub fn sends_without_check(&self) -> bool {
        let own = self.xtp.as_ref().map(|it| it.check);
        own.is_some_and(|own| !self.quality.check.unwrap_or(own))
    }

    /// Whether it may keep nothing of a call until it is answered (RFC 4987 section 3.6): always, or when there is no
    /// room.
    #[must_use]
    pub fn may_send_cookies(&self) -> bool {
        match self.tcp.syn_cookies {
            SynCookies::Always => true,
            SynCookies::WhenFull => self.strangers.is_some(),
            SynCookies::Never => false,
        }
    }

    /// The receive buffer it begins with, in octets.
    #[must_use]
    pub fn receive_buffer(&self) -> u32 {
        let own = self.xtp.as_ref().map_or(self.tcp.receive_buffer, |it| it.receive_buffer);
        match self.opening {
            Opening::Calls { .. } => self.quality.receive_buffer.unwrap_or(own),
            // What is asked for on accepting only ever adds.
            Opening::Listens { .. } => own,
        }
    }
}
