//! What a daemon did and why, in words.

use core::fmt;
use std::collections::VecDeque;

use kumiki_graph::Instant;
use kumiki_octets::text::short;
use kumiki_wire::ppp::ppp::Text;

/// Lines that are kept at most; of more the oldest are let go.
pub const MAX_LINES: usize = 1024;

/// What a line is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A packet went out.
    Sent,
    /// A packet came in.
    Received,
    /// An automaton or the link is in another state.
    State,
    /// One end will not have what the other asked for.
    Refusal,
    /// Anything else worth knowing.
    Note,
}

/// A line of the log. Shown it is the text alone; a packet as PPP daemons show it: `sent LCP ConfReq id 1 <mru 4470>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// When.
    pub at: Instant,
    /// What it is about.
    pub kind: Kind,
    /// In words; one line, safe in a terminal.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The lines since they were last taken.
#[derive(Debug, Default)]
pub(super) struct Log {
    lines: VecDeque<Line>,
    lost: u64,
}

impl Log {
    pub(super) fn add(&mut self, at: Instant, kind: Kind, text: String) {
        if self.lines.len() >= MAX_LINES {
            self.lines.pop_front();
            self.lost += 1;
        }
        // Options and texts are the peer's, and may be as long as its packets.
        self.lines.push_back(Line { at, kind, text: short(&text).into_owned() });
    }

    pub(super) fn take(&mut self) -> Vec<Line> {
        let lost = core::mem::take(&mut self.lost);
        let mut lines: Vec<Line> = self.lines.drain(..).collect();
        if lost > 0 {
            let at = lines.first().map_or(Instant::ZERO, |line| line.at);
            let text = format!("{lost} lines before this were let go");
            let kind = Kind::Note;
            lines.insert(0, Line { at, kind, text });
        }
        lines
    }
}

/// Where a link is (RFC 1661 section 3.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Phase {
    /// The line is not there, or not wanted.
    #[default]
    Dead,
    /// LCP agrees on the link.
    Establish,
    /// The ends say who they are.
    Authenticate,
    /// Network protocols are agreed on and run.
    Network,
    /// The link is being closed.
    Terminate,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dead => "Dead",
            Self::Establish => "Establish",
            Self::Authenticate => "Authenticate",
            Self::Network => "Network",
            Self::Terminate => "Terminate",
        })
    }
}

/// Why a link has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// We were asked to close it.
    Asked,
    /// The session's time is over.
    TimeUp,
    /// The layer below went down.
    LineDown,
    /// Nothing that makes sense has come.
    NeverAnswered {
        /// Configure-Requests that were sent.
        requests: u32,
    },
    /// The peer answered, and no agreement came of it.
    NoAgreement {
        /// Of which protocol.
        protocol: &'static str,
        /// Configure-Requests that were sent.
        requests: u32,
    },
    /// A network protocol cannot do without what the peer will not negotiate.
    Pointless {
        /// Which protocol.
        protocol: &'static str,
        /// What is missing.
        why: &'static str,
    },
    /// What we send comes back to us.
    LoopedBack,
    /// The peer will not say who it is in a way that we ask for.
    WillNotSayWho,
    /// The peer asks us who we are, and we have no way to say so that it takes.
    CannotSayWho,
    /// The peer did not let us in.
    Refused {
        /// What it said.
        message: Vec<u8>,
    },
    /// We did not let the peer in.
    NotLetIn {
        /// As whom it came.
        name: Vec<u8>,
    },
    /// Who the ends are was not said in time.
    NeverSaidWho {
        /// Whether it was the peer's turn to say who it is, and not its turn to answer us.
        peer: bool,
    },
    /// The peer finished the link.
    PeerFinished {
        /// What it said.
        message: Vec<u8>,
    },
    /// The peer does not understand what the standard demands.
    Incompatible {
        /// What, as a protocol or a code.
        what: String,
    },
    /// No network protocol is left.
    NoNetwork,
    /// The peer no longer answers echoes.
    NoEcho {
        /// Echo-Requests without an answer.
        requests: u32,
    },
    /// Too much is lost.
    Quality {
        /// Periods that were good.
        good: u32,
        /// Of so many.
        of: u32,
    },
}

impl End {
    /// Whether it is as it was asked for, and nothing went wrong.
    #[must_use]
    pub const fn is_in_order(&self) -> bool {
        match self {
            Self::Asked | Self::TimeUp | Self::PeerFinished { .. } => true,
            Self::LineDown
            | Self::NeverAnswered { .. }
            | Self::NoAgreement { .. }
            | Self::Pointless { .. }
            | Self::LoopedBack
            | Self::WillNotSayWho
            | Self::CannotSayWho
            | Self::Refused { .. }
            | Self::NotLetIn { .. }
            | Self::NeverSaidWho { .. }
            | Self::Incompatible { .. }
            | Self::NoNetwork
            | Self::NoEcho { .. }
            | Self::Quality { .. } => false,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("it was asked to end"),
            Self::TimeUp => f.write_str("the time of the session is over"),
            Self::LineDown => f.write_str("the line went down"),
            Self::NeverAnswered { requests } => {
                write!(f, "the peer never answered, after {requests} requests")
            }
            Self::NoAgreement { protocol, requests } => {
                write!(f, "no agreement on {protocol} after {requests} requests")
            }
            Self::Pointless { protocol, why } => write!(f, "{protocol} is of no use: {why}"),
            Self::LoopedBack => f.write_str("looped back: what we send comes back to us"),
            Self::WillNotSayWho => f.write_str("the peer will not say who it is in a way that we ask for"),
            Self::CannotSayWho => f.write_str("the peer asks who we are, and we have no way to say so that it takes"),
            Self::Refused { message } => {
                write!(f, "authentication failed: {}", Text(message))
            }
            Self::NotLetIn { name } => {
                write!(f, "authentication failed: {} was not let in", Text(name))
            }
            Self::NeverSaidWho { peer: true } => f.write_str("authentication failed: the peer never said who it is"),
            Self::NeverSaidWho { peer: false } => {
                f.write_str("authentication failed: the peer never answered who we are")
            }
            Self::PeerFinished { message } if message.is_empty() => f.write_str("the peer finished"),
            Self::PeerFinished { message } => write!(f, "the peer finished: {}", Text(message)),
            Self::Incompatible { what } => write!(f, "the peer does not understand {what}"),
            Self::NoNetwork => f.write_str("no network protocol is left"),
            Self::NoEcho { requests } => {
                write!(f, "the peer did not answer {requests} echo requests")
            }
            Self::Quality { good, of } => {
                write!(f, "link quality: {good} of the last {of} periods were good, which is too few")
            }
        }
    }
}
