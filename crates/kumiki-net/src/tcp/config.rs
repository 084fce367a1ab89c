//! What TCP is to be like: a [`Config`], and all that stands in one.
//!
//! Times in it are [`Duration`], in nanoseconds, and not std's.
//!
//! ```
//! use kumiki_net::tcp::config::{self, Algorithm, Config, Duration};
//!
//! let tcp = Config { congestion: Algorithm::NewReno, max_ack_delay: Duration::from_millis(40), ..config::usual() };
//! # let _ = tcp;
//! ```
//!
//! It is for `sim::Net::set_tcp` and `host::HostConfig::tcp`.

pub use kumiki_graph::{Coalesce, Duration, KeepAlive, Quality};
pub use kumiki_inet::tcp::config::{
    AckRule, AckTimer, Beat, Config, EdgeRule, HalfWindow, LossDetection, PathMtu, RateReduction, Rounding, SynCookies,
    WindowUpdate,
};
pub use kumiki_inet::tcp::congestion::{Algorithm, InitialWindow};
pub use kumiki_inet::tcp::{defaults, rtt};
pub use kumiki_wire::inet::EcnUse;

/// What hosts have unless they are told otherwise: [`defaults::modern`], and small segments and errors of ICMP as
/// Linux's sockets have them.
///
/// There a small segment waits for an acknowledgment only behind another small one (draft-minshall-nagle-01): the end
/// of a write of several segments goes at once, which by RFC 896 alone waits for a round trip and the peer's delayed
/// acknowledgment. [`defaults::linux`] is nearer to what Linux's peers see of it.
///
/// A call that nobody has answered ends by whatever ICMP says of it, be it something that may pass (RFC 5461): a
/// program hears at once that a network cannot be reached, and not after two minutes.
#[must_use]
pub const fn usual() -> Config {
    Config { coalesce: Coalesce::Minshall, soft_errors_end_calls: true, ..defaults::modern() }
}
