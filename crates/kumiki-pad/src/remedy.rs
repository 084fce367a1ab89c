//! What helps where a call was not to be had, or ended by itself: for a person who reads an error.

use kumiki_graph::Reason;
use kumiki_osi_service::x25::{self, CauseField, cause, diagnostic};

/// What to do about `why`; nothing where the other end has ended the call as calls end.
#[must_use]
pub fn remedy(why: &Reason) -> Option<&'static str> {
    let Some(x25::Cause::Packet(told)) = why.cause() else {
        return Some(match why {
            Reason::Refused => "check the address and port of --xot, and whether an XOT peer listens there",
            Reason::TimedOut => {
                "nobody answers: check the line, the address of --xot and the number called, or wait longer with --timeout"
            }
            Reason::Unreachable(_) => "there is no way to the address of --xot: check it and the network",
            Reason::BadAddress => "no peer has that number: give one with --xot HOST",
            Reason::Violation(it) if it.is_first => "who answers does not speak XOT: check the port of --xot",
            Reason::Protocol | Reason::Violation(_) => "write a capture with --pcap, and report it",
            Reason::NoResources => "this machine has no room for another connection",
            Reason::Reset | Reason::Down => {
                "the connection to the XOT peer was lost: try again; where it is lost each time, that peer does not take calls from here, and its log says why"
            }
            Reason::User | Reason::NoSession | Reason::Peer(_) => return None,
        });
    };
    if told.what != CauseField::Clear {
        return Some("the interface was restarted: try again");
    }
    if told.is_by_dte() {
        return match told.diagnostic {
            diagnostic::NONE | diagnostic::NORMAL => None,
            diagnostic::RESOURCES => Some("the host takes no more calls now: try later"),
            diagnostic::CALL | diagnostic::INCOMPATIBLE_DATA | diagnostic::UNRECOGNISED_PROTOCOL => {
                Some("who was called takes no calls of PADs: check the number")
            }
            diagnostic::TIMER_CALL => Some("who was called did not answer in time"),
            _ => Some("who was called has cleared: its log says why"),
        };
    }
    Some(match told.cause {
        cause::BUSY => "the host has no line free: try later",
        cause::FACILITY => {
            "leave facilities out, or ask the network which it has; packet and window size are --packet and --window"
        }
        cause::CLEAR_CONGESTION => "the network is congested: try later",
        cause::CLEAR_OUT_OF_ORDER => "the host or its line is down: try later",
        cause::BARRED => "the network does not let this address call that one: check --address and closed user groups",
        cause::NOT_OBTAINABLE => "the network does not know the number: check it",
        cause::CLEAR_REMOTE => "the host broke the protocol: write a capture with --pcap",
        cause::CLEAR_LOCAL => "the network finds fault with what this end sent: write a capture with --pcap",
        cause::RPOA => "the transit network is down: choose another with T",
        cause::REVERSE => "the host does not pay for calls: leave R out",
        cause::CLEAR_INCOMPATIBLE => "the host does not take such calls: check the number",
        cause::FAST_SELECT => "the host takes no fast select: leave F or Q out",
        _ => "ask the network what the cause means",
    })
}

#[cfg(test)]
mod tests {
    use kumiki_osi_service::layer;

    use super::*;

    #[test]
    fn a_call_that_ended_as_calls_end_needs_no_remedy() {
        let told = |cause, diagnostic| {
            Reason::peer(x25::Cause::Packet(x25::PacketCause { what: CauseField::Clear, cause, diagnostic }))
        };
        assert_eq!(remedy(&told(0, 0)), None);
        assert!(remedy(&told(13, 67)).is_some_and(|it| it.contains("does not know the number")));
        // Who breaks XOT at once speaks something else, and who has spoken it before does not.
        let first = Reason::stranger(layer::XOT, "anything", b"GET ");
        assert!(remedy(&first).is_some_and(|it| it.contains("does not speak XOT: check the port")));
        for by in [layer::XOT, layer::X25] {
            assert!(remedy(&Reason::violation(by, "anything")).is_some_and(|it| it.contains("--pcap")));
        }
        assert!(remedy(&Reason::BadAddress).is_some_and(|it| it.contains("--xot")));
    }
}
