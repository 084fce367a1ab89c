//! Why a session ended or a request was refused.

use core::any::Any;
use core::fmt;
use std::borrow::Cow;
use std::sync::Arc;

use kumiki_octets::Beginning;

/// Why a session ended or a request was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A user asked for it.
    User,
    /// The peer reset the session.
    Reset,
    /// The peer refused the session.
    Refused,
    /// The peer stopped answering.
    TimedOut,
    /// No path to the peer, or it said so itself: where it ends.
    Unreachable(NoPath),
    /// The address is in use, of the wrong kind, or not ours.
    BadAddress,
    /// No memory, no handle, no room for another caller.
    NoResources,
    /// The peer broke the protocol.
    Protocol,
    /// The layer below went away.
    Down,
    /// The handle names no session of this provider.
    NoSession,
    /// A layer here found that its peer broke the protocol, and what was wrong.
    Violation(Arc<Violation>),
    /// Why, in the codes that a layer says to its peer. Going up it is what a layer of the peer, or of a network
    /// between, has said; going down, and where a layer keeps why it has refused a caller, it is what is said to the
    /// peer.
    Peer(PeerCause),
}

/// Where the path to a peer ends that cannot be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoPath {
    /// Short of the peer's network: there is no route to it.
    Network,
    /// Short of the peer: its network is reached, or nobody knows where it ends.
    Host,
    /// At somebody who may not let it through.
    Prohibited,
    /// At somebody who has never heard of the peer.
    Unknown,
    /// Where it begins: the network does not take what is from here.
    Isolated,
    /// At a router that the source has named, and that does not go on as it says.
    SourceRoute,
    /// At the peer, which has not the protocol.
    Protocol,
    /// At somebody who finds something wrong in what is sent.
    Malformed,
}

impl fmt::Display for NoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "no path to the peer's network",
            Self::Host => "no path to the peer",
            Self::Prohibited => "the path to the peer is prohibited",
            Self::Unknown => "no node on the path knows the peer",
            Self::Isolated => "the network takes nothing from here",
            Self::SourceRoute => "the path that was said does not lead to the peer",
            Self::Protocol => "the peer has not the protocol",
            Self::Malformed => "a node on the path has found a packet malformed",
        })
    }
}

impl Reason {
    /// A layer here found that its peer broke the protocol: see [`Violation`].
    #[must_use]
    pub fn violation(layer: &'static str, what: impl Into<Cow<'static, str>>) -> Self {
        Self::violation_in(layer, what, Beginning::default())
    }

    /// The same with how the PDU that was wrong begins. It goes to logs, so it must end before what may be a user's.
    #[must_use]
    pub fn violation_in(
        layer: &'static str,
        what: impl Into<Cow<'static, str>>,
        beginning: impl Into<Beginning>,
    ) -> Self {
        let (what, beginning) = (what.into(), beginning.into());
        Self::Violation(Arc::new(Violation { layer, what, beginning, is_first: false }))
    }

    /// The same of the first that came from this peer: it may well speak another protocol.
    #[must_use]
    pub fn stranger(layer: &'static str, what: impl Into<Cow<'static, str>>, beginning: impl Into<Beginning>) -> Self {
        let (what, beginning) = (what.into(), beginning.into());
        Self::Violation(Arc::new(Violation { layer, what, beginning, is_first: true }))
    }

    /// A layer of the peer said `cause`, or is told it: see [`Reason::Peer`].
    #[must_use]
    pub fn peer(cause: impl Cause) -> Self {
        Self::Peer(PeerCause(Arc::new(Box::new(cause))))
    }

    /// What a layer of the peer said, or is told, if something of this type.
    #[must_use]
    pub fn cause<C: Cause>(&self) -> Option<&C> {
        let Self::Peer(PeerCause(cause)) = self else {
            return None;
        };
        cause.as_any().downcast_ref()
    }

    /// What was wrong, where a layer here found its peer to break the protocol.
    #[must_use]
    pub fn as_violation(&self) -> Option<&Violation> {
        if let Self::Violation(violation) = self { Some(violation) } else { None }
    }

    /// Whether more is known than its kind: what was wrong, or what was said in codes. Its text begins with the layer
    /// then.
    #[must_use]
    pub const fn is_told(&self) -> bool {
        matches!(self, Self::Violation(_) | Self::Peer(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Violation(violation) => return violation.fmt(f),
            Self::Peer(PeerCause(cause)) => return cause.fmt(f),
            Self::Unreachable(path) => return path.fmt(f),
            Self::User => "a user asked for it",
            Self::Reset => "the peer reset the connection",
            Self::Refused => "the peer refused",
            Self::TimedOut => "the peer stopped answering",
            Self::BadAddress => "the address is in use or not ours",
            Self::NoResources => "out of memory or of room for another session",
            Self::Protocol => "the peer broke the protocol",
            Self::Down => "the layer below is down",
            Self::NoSession => "there is no such session",
        })
    }
}

/// What a layer here found wrong in what its peer sent. It goes up unchanged, to the log and to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The layer that found it, as people call it.
    pub layer: &'static str,
    /// PDU and field, what was found, and what would have been right.
    pub what: Cow<'static, str>,
    /// How the PDU begins; nothing where its octets are not at hand, or not to be shown.
    pub beginning: Beginning,
    /// It was the first that came from this peer, which may speak another protocol: whoever called it may have the
    /// wrong port.
    pub is_first: bool,
}

impl Violation {
    /// In words, where `peer` ("the caller") did it.
    #[must_use]
    pub fn by(&self, peer: &str) -> String {
        let Self { layer, what, beginning, is_first } = self;
        let when = if *is_first { " with the first that it sent" } else { "" };
        let octets = if beginning.octets().is_empty() { String::new() } else { format!(" (octets {beginning})") };
        format!("{layer}: {peer} broke the protocol{when}: {what}{octets}")
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.by("the peer"))
    }
}

/// What one layer says to its peer in codes of its own. Who owns the codes owns the type; the graph hands it on and
/// prints it.
pub trait Cause: Any + fmt::Debug + fmt::Display + Send + Sync {
    /// For [`Reason::cause`].
    fn as_any(&self) -> &dyn Any;

    /// Whether `other` is the same cause.
    fn is(&self, other: &dyn Cause) -> bool;
}

impl<T: Any + fmt::Debug + fmt::Display + PartialEq + Send + Sync> Cause for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is(&self, other: &dyn Cause) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

/// A [`Cause`], shared by all that hand it on. Behind one plain pointer, so that the primitives that may carry it are
/// small.
#[derive(Clone, Debug)]
pub struct PeerCause(Arc<Box<dyn Cause>>);

impl PartialEq for PeerCause {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(&**other.0)
    }
}

impl Eq for PeerCause {}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Code(u8);

    impl fmt::Display for Code {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "code {}", self.0)
        }
    }

    #[test]
    fn a_cause_is_found_again_by_its_type() {
        let reason = Reason::peer(Code(7));
        assert_eq!(reason.cause(), Some(&Code(7)));
        assert_eq!(reason.cause::<u8>(), None);
        assert_eq!(reason.to_string(), "code 7");
        assert_eq!(reason, Reason::peer(Code(7)));
        assert_ne!(reason, Reason::peer(Code(8)));
        assert_ne!(reason, Reason::peer(7_u8));
    }

    #[test]
    fn a_violation_says_what_was_wrong_and_shows_the_octets() {
        let told = Reason::violation_in("session", "CONNECT: LI is 300, expected 0 to 254", &[0x0d, 0xff]);
        assert_eq!(
            told.to_string(),
            "session: the peer broke the protocol: CONNECT: LI is 300, expected 0 to 254 (octets 0d ff)"
        );
        let long = |len: usize| Reason::violation_in("session", "too long", &vec![0; len][..]).to_string();
        assert!(long(Beginning::MOST).ends_with("00 00)"));
        assert!(long(Beginning::MOST + 1).ends_with("00 00 ...)"));
        let first = Reason::stranger("XOT", "version is 18245, expected 0", Beginning::of(b"GET ", 1000));
        assert_eq!(
            first.to_string(),
            "XOT: the peer broke the protocol with the first that it sent: version is 18245, expected 0 (octets 47 45 54 20 ...)"
        );
    }
}
