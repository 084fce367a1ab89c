//! What can be set, and what is counted.

use core::net::SocketAddr;

use kumiki_graph::{Coalesce, Duration};
use kumiki_osi_service::x25::Number;

/// [`Config::patience`], unless it is set.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A permanent virtual circuit; both ends must know it as the other does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permanent {
    /// Its channel here.
    pub channel: u16,
    /// What our interface is called.
    pub interface: String,
    /// What the peer's is called.
    pub peer_interface: String,
    /// Its channel there.
    pub peer_channel: u16,
    /// Where the peer is; `None` where it calls.
    pub peer: Option<SocketAddr>,
    /// The window, both ways.
    pub window: u8,
    /// Base-2 logarithm of the largest packet, both ways.
    pub packet: u8,
}

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Where numbers that begin so are.
    pub routes: Vec<(Number, SocketAddr)>,
    /// Where a passive open listens that names no address; `None`: on port 1998 of all.
    pub listen: Option<SocketAddr>,
    /// Whether calls are made and none are taken: a passive open then stands, and nobody comes.
    pub calls_only: bool,
    /// Permanent virtual circuits.
    pub permanent: Vec<Permanent>,
    /// What the stream does with small segments while data is unacknowledged: RR and CALL are small.
    pub coalesce: Coalesce,
    /// How many packets the user may be handed before it has granted any.
    pub receive: u32,
    /// How long a caller may be without a packet, and how long we wait for an answer to a set-up and for the peer's end of a connection.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            routes: Vec::new(),
            listen: None,
            calls_only: false,
            permanent: Vec::new(),
            coalesce: Coalesce::Never,
            receive: 16,
            patience: PATIENCE,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets sent.
    pub sent: u64,
    /// Packets handed up.
    pub received: u64,
    /// Connections closed for what was in them.
    pub malformed: u64,
    /// Permanent circuits that were set up.
    pub set_up: u64,
    /// Set-ups refused, by either end.
    pub refused: u64,
}
