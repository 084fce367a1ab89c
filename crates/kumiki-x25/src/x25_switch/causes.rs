//! Which cause one end is told for what has happened at the other.
//!
//! Causes of a CLEAR or RESET go on as they are. What else ends a call has the cause that a network would give: X.25
//! sections 5.2.4 and 5.4.3, as far as they say; the choice of it for what networks did not know, such as a TCP
//! connection that is refused, is ours. What LAPB or XOT finds wrong, or its peer does, is of the line and no doing of
//! a DTE's.

use kumiki_graph::Reason;
use kumiki_osi_service::layer;
use kumiki_osi_service::x25::{self, CauseField, cause, diagnostic};

/// Whether the line below the packet layer has been reset or lost for what was wrong on it.
fn is_of_line(reason: &Reason) -> bool {
    let violated = reason.as_violation().is_some_and(|it| matches!(it.layer, layer::LAPB | layer::XOT));
    violated || matches!(reason.cause(), Some(x25::Cause::FrameRejected(_)))
}

/// What was found wrong here with what an end sent, where that is the reason: a log has more room than cause and
/// diagnostic.
pub(super) fn breach(reason: &Reason) -> Option<Reason> {
    reason.as_violation().map(|_| reason.clone())
}

/// CLEAR for the end of the other half.
pub(super) fn of_clear(reason: &Reason) -> x25::PacketCause {
    let (cause, diagnostic) = match (reason, crate::packet_cause(reason)) {
        (_, Some(told)) => match told.what {
            CauseField::Clear => (told.cause, told.diagnostic),
            CauseField::Reset => (cause::CLEAR_REMOTE, told.diagnostic),
            // A DTE that restarts has cleared its calls; a network that does is of no use for the moment.
            CauseField::Restart if told.is_by_dte() => (told.cause, told.diagnostic),
            CauseField::Restart => (cause::CLEAR_OUT_OF_ORDER, told.diagnostic),
        },
        _ if is_of_line(reason) => (cause::CLEAR_OUT_OF_ORDER, diagnostic::NONE),
        (Reason::Violation(_) | Reason::Protocol, None) => (cause::CLEAR_REMOTE, diagnostic::NONE),
        (Reason::Peer(_) | Reason::User, None) => (cause::DTE, diagnostic::NONE),
        (Reason::TimedOut, None) => (cause::CLEAR_REMOTE, diagnostic::TIMER_CALL),
        (Reason::BadAddress, None) => (cause::NOT_OBTAINABLE, diagnostic::CALLED),
        (Reason::NoResources, None) => (cause::CLEAR_CONGESTION, diagnostic::NO_CHANNEL),
        (Reason::Refused | Reason::Unreachable(_) | Reason::Down | Reason::Reset | Reason::NoSession, None) => {
            (cause::CLEAR_OUT_OF_ORDER, diagnostic::NONE)
        }
    };
    x25::PacketCause { what: CauseField::Clear, cause, diagnostic }
}

/// RESET for a reset of the other half; of a permanent circuit also for its end.
pub(super) fn of_reset(reason: &Reason) -> x25::PacketCause {
    let (cause, diagnostic) = match (reason, crate::packet_cause(reason)) {
        (_, Some(told)) => match told.what {
            CauseField::Reset => (told.cause, told.diagnostic),
            CauseField::Clear => (cause::RESET_REMOTE, told.diagnostic),
            CauseField::Restart if told.is_by_dte() => (told.cause, told.diagnostic),
            CauseField::Restart => (cause::RESET_NETWORK_DOWN, told.diagnostic),
        },
        _ if is_of_line(reason) => (cause::RESET_NETWORK_DOWN, diagnostic::NONE),
        (Reason::Violation(_) | Reason::TimedOut | Reason::Protocol, None) => (cause::RESET_REMOTE, diagnostic::NONE),
        (Reason::Peer(_) | Reason::User, None) => (cause::DTE, diagnostic::NONE),
        (Reason::NoResources, None) => (cause::RESET_CONGESTION, diagnostic::NONE),
        (
            Reason::Refused
            | Reason::Unreachable(_)
            | Reason::BadAddress
            | Reason::Down
            | Reason::Reset
            | Reason::NoSession,
            None,
        ) => (cause::RESET_NETWORK_DOWN, diagnostic::NONE),
    };
    x25::PacketCause { what: CauseField::Reset, cause, diagnostic }
}

/// Whether the next port may be tried where a call came to this end: it has not come to a DTE, or to one that has no
/// place for it.
pub(super) fn is_to_be_had_elsewhere(reason: &Reason) -> bool {
    match reason {
        Reason::Down
        | Reason::Unreachable(_)
        | Reason::Refused
        | Reason::Reset
        | Reason::TimedOut
        | Reason::NoResources
        | Reason::BadAddress => true,
        Reason::Violation(_) | Reason::Peer(_) => match crate::packet_cause(reason) {
            Some(told) => match told.what {
                // Our own packet layer says the first where it has no channel left, a network the second where the DTE
                // has none, and a DTE the third where it has no place.
                CauseField::Clear => {
                    told.diagnostic == diagnostic::NO_CHANNEL
                        || told.cause == cause::BUSY
                        || told.is_by_dte() && told.diagnostic == diagnostic::RESOURCES
                }
                CauseField::Restart => true,
                CauseField::Reset => false,
            },
            None => is_of_line(reason),
        },
        Reason::User | Reason::Protocol | Reason::NoSession => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_no_place_is_passed_over() {
        let said = |cause, diagnostic| {
            Reason::peer(x25::Cause::Packet(x25::PacketCause { what: CauseField::Clear, cause, diagnostic }))
        };
        assert!(is_to_be_had_elsewhere(&said(cause::BUSY, diagnostic::NONE)));
        assert!(is_to_be_had_elsewhere(&said(cause::DTE, diagnostic::RESOURCES)));
        // Of a network that is no DTE's word.
        assert!(!is_to_be_had_elsewhere(&said(cause::BARRED, diagnostic::RESOURCES)));
        assert!(!is_to_be_had_elsewhere(&said(cause::DTE, diagnostic::CALL)));
    }

    #[test]
    fn what_is_wrong_on_a_line_is_no_doing_of_a_dte() {
        let broken = |layer| Reason::violation(layer, "something");
        let rejected = Reason::peer(x25::Cause::FrameRejected(8));
        for reason in [rejected, broken(layer::LAPB), broken(layer::XOT)] {
            assert!(is_to_be_had_elsewhere(&reason), "{reason:?}");
            assert_eq!(of_clear(&reason).cause, cause::CLEAR_OUT_OF_ORDER);
            assert_eq!(of_reset(&reason).cause, cause::RESET_NETWORK_DOWN);
        }
        let by_dte = broken(layer::X25);
        assert!(!is_to_be_had_elsewhere(&by_dte));
        assert_eq!(of_clear(&by_dte).cause, cause::CLEAR_REMOTE);
        assert_eq!(of_reset(&by_dte).cause, cause::RESET_REMOTE);
    }
}
