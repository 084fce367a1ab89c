//! Files over seven layers, with strangers: the program's side of FTAM and of MMS, calling and called, in real time.
//!
//! | | |
//! |---|---|
//! | Graph | a [`FileClient`](kumiki_files::file_user::FileClient) or a [`FileServer`](kumiki_files::filestore::FileServer) on `ftam`, or those of [`mms_files`](kumiki_files::mms_files) on `mms`; below both `acse`, `presentation`, `session`, `tp0`, and below that `tpkt` (RFC 1006) or `x25` and `xot` (RFC 1613), on `pipe` |
//! | Line | one connection of the operating system's TCP for each association, with credit both ways: memory does not grow with files |
//! | Clock | [`RealClock`](kumiki_io::RealClock); the dates of files are the machine's |
//! | Left out | other networks below (a synchronous line, our own TCP): there graphs come from scenarios; switching between associations on one X.25 circuit |
//!
//! | read | for |
//! |---|---|
//! | `ends` | what callers and servers of both protocols have in common |
//! | [`reach`] | a connection, or why there is none |
//! | [`caller`] | one association, with whatever an [`Task`] wants done on it, and another one where it breaks |
//! | [`daemon`] | associations of others, a thread and a graph for each |

use core::net::SocketAddr;
use std::path::{Path, PathBuf};

use kumiki_files::ftam::{self, Ftam};
use kumiki_files::mms::{self, Mms};
use kumiki_graph::pipe::{self, Pipe};
use kumiki_graph::{DeviceId, Graph, GraphError, Protocol, Service};
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Network, Tp0};
use kumiki_osi::tpkt::{self, Tpkt};
use kumiki_osi_service::Selectors;
use kumiki_osi_service::x25::{Flow, Number};
use kumiki_x25::x25::{self, PacketCarrier, X25};
use kumiki_x25::xot::{self, Xot};

use kumiki_live::LiveError;

pub mod caller;
pub mod daemon;
mod ends;
mod journal;
pub mod reach;
mod refusal;

pub use caller::{Association, Call, Task, call};
pub use daemon::{Daemon, Listen, Reload, ServedProtocol, serve};
pub use ends::Calls;
pub use kumiki_io::clock::seconds_since_1970;
pub use reach::Host;
// What a caller needs of the crates below.
pub use kumiki_files::file_user::{
    Failure, Gain, Layer, Operation, OperationOutcome, Progress, PutMode, Secured, Settings, Sink, Source,
};
pub use kumiki_files::filestore::{CrlfToLf, Form, LfToCrlf};
pub use kumiki_files::mms_files::Settings as MmsSettings;
pub use kumiki_graph::{Duration, Instant};
pub use kumiki_octets::{Message, Page};
pub use kumiki_osi::tp0::CallUserData;
pub use kumiki_osi_service::acse::{Names, Title};
pub use kumiki_osi_service::ftam::attributes::{Attribute, Pathname, ReadAttributes};
pub use kumiki_osi_service::ftam::contents::{ContentsType, StringClass};
pub use kumiki_osi_service::ftam::{
    CalendarTime, FunctionalUnits, GeneralizedTime, GraphicString, Password, PermittedActions,
};
pub use kumiki_osi_service::mms::Initiate;
pub use kumiki_osi_service::x25::{Charging, Facilities, Facility, Nui, Number as X121};
pub use kumiki_osi_service::{Oid, Selector, Selectors as Sels};

/// What is proposed to a peer of MMS where nobody says something else.
#[must_use]
pub fn initiate() -> Initiate {
    mms::Config::default().initiate
}

/// The protocol of the files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Protocols {
    /// FTAM.
    #[default]
    Ftam,
    /// MMS.
    Mms,
}

impl core::fmt::Display for Protocols {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Ftam => "FTAM",
            Self::Mms => "MMS",
        })
    }
}

/// What carries transport.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Carrier {
    /// TPKT on TCP.
    #[default]
    Rfc1006,
    /// A virtual circuit of X.25 on TCP.
    Xot,
}

impl Carrier {
    /// The port where nobody says another.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Rfc1006 => 102,
            Self::Xot => 1998,
        }
    }

    /// The largest TPDU where nobody says another: on X.25 as large as the standard lets class 0 have.
    #[must_use]
    pub const fn tpdu_size(self) -> u16 {
        match self {
            Self::Rfc1006 => 8192,
            Self::Xot => 2048,
        }
    }

    /// What is to be said of TPDUs of `size`, if that is more than the standard has: X.224 section 13.3.4 ends at 2048
    /// for class 0, and RFC 1006 has a rule of its own.
    #[must_use]
    pub fn beyond(self, size: u16) -> Option<String> {
        (self == Self::Xot && size > self.tpdu_size()).then(|| {
            format!(
                "TPDUs of {size} octets are beyond the standard on X.25: class 0 has up to 2048 (X.224 section 13.3.4), and a peer may refuse them"
            )
        })
    }
}

impl core::fmt::Display for Carrier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Rfc1006 => "RFC 1006",
            Self::Xot => "XOT",
        })
    }
}

/// The longest message of session that is taken before its connection stands: an SPDU of the longest length there is
/// (X.225 section 8.2.5), with its two fields in front.
const FIRST: u32 = 65_535 + 4;

/// What can be set of the layers below association control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerLayers {
    /// What carries transport.
    pub carrier: Carrier,
    /// The TPDU size that is proposed, 128 to 8192.
    pub tpdu_size: u16,
    /// The size proposed beside it to peers that know X.224 of 1993; 0: none.
    pub preferred_size: u32,
    /// How long an answer of the peer is waited for.
    pub timeout: Duration,
    /// Our own X.121 address.
    pub x121: Number,
    /// What the X.121 addresses begin with to which calls are taken.
    pub answers: Number,
    /// How calls of X.25 are made and taken.
    pub circuit: Circuit,
    /// The longest message of session that is taken, in octets, when its connection stands; before, that is `FIRST`.
    pub longest: u32,
}

/// How calls of X.25 are made and taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Circuit {
    /// Octets of a packet that are asked for and agreed to, both ways: a power of two from 16 to 4096.
    pub packet: u16,
    /// Packets of a window that are asked for and agreed to, 1 to 7.
    pub window: u8,
    /// The user data of our calls, and what those begin with that are taken.
    pub user_data: CallUserData,
    /// The facilities that our calls ask for, beside packets and windows.
    pub facilities: Facilities,
}

impl Default for Circuit {
    /// Those of the packet layer, for ISO transport.
    fn default() -> Self {
        let wanted = x25::Config::default().wanted;
        Self {
            packet: wanted.packet_out,
            window: wanted.window_out,
            user_data: CallUserData::TRANSPORT,
            facilities: Facilities::default(),
        }
    }
}

impl Default for LowerLayers {
    fn default() -> Self {
        Self {
            carrier: Carrier::Rfc1006,
            tpdu_size: 8192,
            preferred_size: 0,
            timeout: Duration::from_secs(30),
            x121: Number::NONE,
            answers: Number::NONE,
            circuit: Circuit::default(),
            longest: 16 << 20,
        }
    }
}

/// A graph for one connection, with `user` on top of it, and its device.
fn stack(
    of: Protocols,
    user: (&str, Box<dyn Protocol>),
    lower: &LowerLayers,
    ends: (SocketAddr, SocketAddr),
    seed: u64,
) -> Result<(Graph, DeviceId), LiveError> {
    let x25 = match lower.carrier {
        Carrier::Rfc1006 => None,
        Carrier::Xot => {
            let x25 = x25::Config {
                over: PacketCarrier::Circuits,
                address: lower.x121,
                answers: lower.answers,
                wanted: Flow {
                    packet_out: lower.circuit.packet,
                    packet_in: lower.circuit.packet,
                    window_out: lower.circuit.window,
                    window_in: lower.circuit.window,
                    ..Flow::DEFAULT
                },
                facilities: lower.circuit.facilities.clone(),
                t21: lower.timeout,
                ..x25::Config::default()
            };
            let made = X25::new(x25).map_err(|why| LiveError::Line(why.to_string()))?;
            let xot = xot::Config {
                // All numbers are at the other end of the one connection.
                routes: vec![(Number::NONE, ends.1)],
                timeout: lower.timeout.max(xot::DEFAULT_TIMEOUT),
                ..xot::Config::default()
            };
            Some((made, Xot::new(xot)))
        }
    };
    joined(of, user, x25, lower, ends, seed).map_err(|graph_error| LiveError::Line(graph_error.to_string()))
}

fn joined(
    of: Protocols,
    (name, user): (&str, Box<dyn Protocol>),
    x25: Option<(X25, Xot)>,
    lower: &LowerLayers,
    (local, remote): (SocketAddr, SocketAddr),
    seed: u64,
) -> Result<(Graph, DeviceId), GraphError> {
    let mut graph = Graph::new(seed, 0);
    let task = graph.add_task("cpu");
    let device = graph.add_device("connection", Service::FRAME)?;
    let timeout = lower.timeout;
    let transport = tp0::Config {
        network: match lower.carrier {
            Carrier::Rfc1006 => Network::Rfc1006,
            Carrier::Xot => Network::X25,
        },
        call_user_data: lower.circuit.user_data,
        tpdu_size: lower.tpdu_size,
        preferred_size: lower.preferred_size,
        max_tsdu: lower.longest,
        max_first_tsdu: FIRST,
        timeout,
        ..tp0::Config::default()
    };
    let session = session::Config { functional_units: session::Config::ALL, timeout, ..session::Config::default() };
    let pipe = pipe::Config { local: local.into(), remote: remote.into(), ..pipe::Config::default() };
    let mut nodes: Vec<(&str, Box<dyn Protocol>)> = vec![
        (name, user),
        match of {
            Protocols::Ftam => ("ftam", Box::new(Ftam::new(ftam::Config::default()))),
            Protocols::Mms => ("mms", Box::new(Mms::new(mms::Config::default()))),
        },
        ("acse", Box::new(Acse::new(acse::Config::default()))),
        ("presentation", Box::new(Presentation::new(presentation::Config::default()))),
        ("session", Box::new(Session::new(session))),
        ("tp0", Box::new(Tp0::new(transport))),
    ];
    match x25 {
        None => nodes.push(("tpkt", Box::new(Tpkt::new(tpkt::Config::default())))),
        Some((x25, xot)) => {
            nodes.push(("x25", Box::new(x25)));
            nodes.push(("xot", Box::new(xot)));
        }
    }
    nodes.push(("pipe", Box::new(Pipe::new(pipe))));
    let names: Vec<&str> = nodes.iter().map(|(name, _)| *name).collect();
    for (name, node) in nodes {
        graph.add_node(name, task, node)?;
    }
    for pair in names.windows(2) {
        if let [upper, lower] = pair {
            graph.connect(upper, lower)?;
        }
    }
    graph.connect("pipe", "connection")?;
    Ok((graph, device))
}

/// What the layers of a graph threw away, a line for each layer and reason. Both sides end what is between them, and
/// one of them comes too late: that is not told.
fn dropped(graph: &Graph) -> Vec<String> {
    let mut lines = Vec::new();
    for (node, account) in graph.accounts() {
        for (reason, count) in &account.drops {
            if !reason.starts_with("no such") {
                lines.push(format!("{node}: dropped {count}: {reason}"));
            }
        }
    }
    lines
}

/// Where the capture of a connection goes: of the first to `path`, of others to the same with their number behind it.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    if number > 1 {
        name.push(format!(".{number}"));
    }
    name.into()
}

/// Selectors as octets, with what a person may have written them as: `tsel 0x0103 (#259)`.
fn spelled(selectors: &Selectors) -> String {
    let mut parts = Vec::new();
    for (name, selector) in
        [("tsel", &selectors.transport), ("ssel", &selectors.session), ("psel", &selectors.presentation)]
    {
        if let Some(selector) = selector {
            parts.push(format!("{name} {}", in_octets(selector)));
        }
    }
    parts.join(", ")
}

/// A selector as octets, and in its other forms.
fn in_octets(selector: &Selector) -> String {
    let octets = selector.octets();
    let digits: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    let number = core::str::from_utf8(octets)
        .ok()
        .filter(|text| text.bytes().all(|octet| octet.is_ascii_digit()))
        .and_then(|text| text.parse::<u16>().ok());
    let plain = !octets.is_empty() && octets.iter().all(|octet| octet.is_ascii_graphic() && *octet != b'"');
    match (octets, number) {
        (_, Some(number)) => format!("0x{digits} (the text {selector}; the number is #{number})"),
        _ if plain => format!("0x{digits} (the text {selector})"),
        ([high, low], None) => {
            format!("0x{digits} (#{})", u16::from_be_bytes([*high, *low]))
        }
        (_, None) if octets.is_empty() => "empty".to_owned(),
        (_, None) => format!("0x{digits}"),
    }
}

/// Selectors of a responder, as its log shows them.
fn shown(selectors: &Selectors) -> String {
    let mut parts = Vec::new();
    for (name, selector) in
        [("tsel", &selectors.transport), ("ssel", &selectors.session), ("psel", &selectors.presentation)]
    {
        if let Some(selector) = selector {
            parts.push(format!("{name} {selector}"));
        }
    }
    parts.join(", ")
}
