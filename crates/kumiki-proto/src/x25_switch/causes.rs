//! Which cause one end is told for what has happened at the other.
//!
//! Causes of a CLEAR or RESET go on as they are. What else ends a call has the cause that a network would give: X.25 sections 5.2.4 and 5.4.3, as far as they
//! say; the choice of it for what networks did not know, such as a TCP connection that is refused, is ours.

use kumiki_graph::{Reason, Told};
use kumiki_osi::x25::{self, What, cause, diagnostic};

/// CLEAR for the end of the other half.
pub(super) fn of_clear(reason: Reason) -> x25::Told {
    let (cause, diagnostic) = match reason {
        Reason::Told(Told::X25(told)) => match told.what {
            What::Clear => (told.cause, told.diagnostic),
            What::Reset => (cause::CLEAR_REMOTE, told.diagnostic),
            // A DTE that restarts has cleared its calls; a network that does is of no use for the moment.
            What::Restart if told.is_by_dte() => (told.cause, told.diagnostic),
            What::Restart => (cause::CLEAR_OUT_OF_ORDER, told.diagnostic),
        },
        Reason::Told(Told::Broken { .. }) => (cause::CLEAR_REMOTE, diagnostic::NONE),
        Reason::Told(_) | Reason::User => (cause::DTE, diagnostic::NONE),
        Reason::TimedOut => (cause::CLEAR_REMOTE, diagnostic::TIMER_CALL),
        Reason::BadAddress => (cause::NOT_OBTAINABLE, diagnostic::CALLED),
        Reason::NoResources => (cause::CLEAR_CONGESTION, diagnostic::NO_CHANNEL),
        Reason::Protocol => (cause::CLEAR_REMOTE, diagnostic::NONE),
        Reason::Refused
        | Reason::Unreachable
        | Reason::Down
        | Reason::Reset
        | Reason::NoSession => (cause::CLEAR_OUT_OF_ORDER, diagnostic::NONE),
    };
    x25::Told {
        what: What::Clear,
        cause,
        diagnostic,
    }
}

/// RESET for a reset of the other half; of a permanent circuit also for its end.
pub(super) fn of_reset(reason: Reason) -> x25::Told {
    let (cause, diagnostic) = match reason {
        Reason::Told(Told::X25(told)) => match told.what {
            What::Reset => (told.cause, told.diagnostic),
            What::Clear => (cause::RESET_REMOTE, told.diagnostic),
            What::Restart if told.is_by_dte() => (told.cause, told.diagnostic),
            What::Restart => (cause::RESET_NETWORK_DOWN, told.diagnostic),
        },
        Reason::Told(Told::Broken { .. }) => (cause::RESET_REMOTE, diagnostic::NONE),
        Reason::Told(_) | Reason::User => (cause::DTE, diagnostic::NONE),
        Reason::TimedOut | Reason::Protocol => (cause::RESET_REMOTE, diagnostic::NONE),
        Reason::NoResources => (cause::RESET_CONGESTION, diagnostic::NONE),
        Reason::Refused
        | Reason::Unreachable
        | Reason::BadAddress
        | Reason::Down
        | Reason::Reset
        | Reason::NoSession => (cause::RESET_NETWORK_DOWN, diagnostic::NONE),
    };
    x25::Told {
        what: What::Reset,
        cause,
        diagnostic,
    }
}

/// Whether the next port may be tried where a call came to this end: it has not come to a DTE.
pub(super) const fn is_to_be_had_elsewhere(reason: Reason) -> bool {
    match reason {
        Reason::Down
        | Reason::Unreachable
        | Reason::Refused
        | Reason::Reset
        | Reason::TimedOut
        | Reason::NoResources
        | Reason::BadAddress => true,
        // Our own packet layer says this where it has no channel left.
        Reason::Told(Told::X25(told)) => {
            matches!(told.what, What::Clear) && told.diagnostic == diagnostic::NO_CHANNEL
                || matches!(told.what, What::Restart)
        }
        Reason::Told(_) | Reason::User | Reason::Protocol | Reason::NoSession => false,
    }
}
