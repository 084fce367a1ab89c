//! A peer that does what it should not, on command: a script, applied to what comes before the daemon sees it, and to
//! what the daemon sends before the line has it.
//!
//! One rule stands on a line; `#` begins a comment. All rules of a stage hold at once. A line that begins with `then`
//! ends the stage and says when the next one begins; from there on its rules hold, and no others.
//!
//! | rule | does |
//! |---|---|
//! | `ignore [N of] PACKET` | what comes is not seen by the daemon; with a number only the first N |
//! | `drop [N of] PACKET` | what the daemon sends is not sent |
//! | `late [N of] PACKET TIME` | it is sent so much later; what is sent behind it overtakes |
//! | `double [N of] PACKET` | it is sent twice |
//! | `bad id [N of] PACKET` | it is sent with the next identifier |
//! | `bad length [N of] PACKET BY` | its Length says so much more or, with a minus, less |
//! | `cut [N of] PACKET N` | N octets of the packet are sent |
//! | `nak PROTOCOL OPTION VALUE [N times \| for ever]` | a Configure-Request is answered by a Nak with this option; once where no number is said |
//! | `reject PROTOCOL OPTION [N times \| for ever]` | one that has the option is answered by a Reject of it |
//! | `send PROTOCOL OPTION VALUE [for ever]` | our Configure-Requests have the option with this value, until it is refused; or they keep it |
//! | `without PROTOCOL OPTION` | they do not have it |
//! | `send PACKET [DATA] [after TIME] [every TIME] [N times]` | sends a packet of its own; LCP's packets with a magic number get ours in front of the data |
//! | `send raw HEX [after TIME] [every TIME] [N times]` | sends a frame, from the address (or protocol) on |
//! | `flood PACKET [DATA] N` | sends N of them at once |
//! | `loop back` | every frame goes back as it came, and the daemon sees none |
//! | `echo with peer's magic` | Echo-Replies have the magic number of the request |
//! | `terminate [after TIME]` | the link is closed in order |
//! | `then [after TIME]`, `then when PROTOCOL opened`, `then when rcvd PACKET`, `then when sent PACKET` | the next stage |
//!
//! `PACKET` is a protocol and a code as the log writes them: `LCP ConfReq`, `CHAP Challenge`, `IPCP code 99`;
//! `LCP any`, `LQR`, `any`. `OPTION` is a name as the log writes it (`mru`, `asyncmap`, `auth`, `magic`, `pcomp`,
//! `addr`, `ms-dns1`) or `option N`. `VALUE` is what belongs to the option (`68`, `0x000a0000`, `pap`, `10.0.0.1`),
//! `hex` and digits, or nothing for an option without a value; behind `option N` digits alone. `DATA` is text in quotes
//! or hexadecimal digits. `TIME` is a number with `ms` or `s`.
//!
//! *Left out.* Nothing is done to datagrams; damaged check sequences and flags are below this layer.

use core::fmt;

use kumiki_graph::Duration;

mod parse;
mod play;

pub(super) use play::{Order, PacketFate, Player};

/// What is done wrong on purpose.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Script {
    stages: Vec<Stage>,
}

impl Script {
    /// Reads a script; see the module for what it may say.
    ///
    /// # Errors
    /// The first line that is not understood, and what would be right.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        parse::script(text)
    }
}

/// A line that is not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptError {
    /// Which, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub right: String,
}

impl std::error::Error for ScriptError {}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, what, right } = self;
        write!(f, "line {line}: {what}; {right}")
    }
}

/// Rules that hold together.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Stage {
    begins: StageStart,
    rules: Vec<Counted>,
}

/// When a stage begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StageStart {
    /// So long after the one before.
    After(Duration),
    /// When this control protocol is Opened.
    Opened(u16),
    /// When such a packet has come.
    Received(Pattern),
    /// When such a packet was sent.
    Sent(Pattern),
}

/// Which packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pattern {
    /// `None`: of any protocol.
    protocol: Option<u16>,
    /// `None`: of any code.
    code: Option<u8>,
}

impl Pattern {
    fn is(self, protocol: u16, information: &[u8]) -> bool {
        let code = self.code;
        self.protocol.is_none_or(|own| own == protocol) && code.is_none_or(|own| information.first() == Some(&own))
    }
}

/// An option in a Configure-Request.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Choice {
    protocol: u16,
    kind: u8,
    value: Vec<u8>,
}

/// What is sent beside what the daemon sends.
#[derive(Clone, PartialEq, Eq, Debug)]
enum CraftedFrame {
    /// A frame as it stands.
    Raw(Vec<u8>),
    /// A packet.
    Packet {
        protocol: u16,
        code: u8,
        data: Vec<u8>,
        /// Whether our magic number goes in front.
        magic: bool,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Rule {
    Ignore(Pattern),
    Drop(Pattern),
    Late(Pattern, Duration),
    Double(Pattern),
    BadId(Pattern),
    BadLength(Pattern, i32),
    Cut(Pattern, usize),
    Nak(Choice),
    Reject(Choice),
    Set(Choice),
    Without(Choice),
    Send {
        made: CraftedFrame,
        after: Duration,
        every: Option<Duration>,
        /// At once.
        burst: u32,
    },
    LoopBack,
    EchoPeersMagic,
    Terminate(Duration),
}

impl Rule {
    /// Whether it is about this packet, for rules that name packets; of the others every packet is.
    fn is_of(&self, protocol: u16, information: &[u8]) -> bool {
        match self {
            Self::Ignore(what)
            | Self::Drop(what)
            | Self::Late(what, _)
            | Self::Double(what)
            | Self::BadId(what)
            | Self::BadLength(what, _)
            | Self::Cut(what, _) => what.is(protocol, information),
            Self::Nak(_)
            | Self::Reject(_)
            | Self::Set(_)
            | Self::Without(_)
            | Self::Send { .. }
            | Self::LoopBack
            | Self::EchoPeersMagic
            | Self::Terminate(_) => true,
        }
    }
}

/// A rule, and how often it is followed; `None`: always.
type Counted = (Rule, Option<u32>);
