//! What helps where a call was not to be had, or ended by itself: for a person who reads an error.

use std::borrow::Cow;

use kumiki_graph::Reason;
use kumiki_osi_service::x25::{self, CallOptions, CauseField, diagnostic};

/// How a call is written on the command line, or at the PAD.
const OPTIONS: CallOptions = CallOptions {
    called: "number",
    calling: "--address",
    sizes: "--packet and --window",
    user_data: "check the number, for it may take no calls of PADs",
    reverse: "R",
    fast_select: Some("F or Q"),
    transit: Some("T"),
    capture: CAPTURE,
};

const CAPTURE: &str = "write a capture with --pcap, and report it";

/// What to do about `why`; nothing where the other end has ended the call as calls end.
#[must_use]
pub fn remedy(why: &Reason) -> Option<Cow<'static, str>> {
    let Some(&x25::Cause::Packet(told)) = why.cause() else {
        return of_connection(why).map(Cow::Borrowed);
    };
    let is_usual = told.what == CauseField::Clear
        && told.is_by_dte()
        && matches!(told.diagnostic, diagnostic::NONE | diagnostic::NORMAL);
    (!is_usual).then(|| x25::remedy(told, &OPTIONS).into())
}

/// The same where no packet of X.25 has said why.
fn of_connection(why: &Reason) -> Option<&'static str> {
    Some(match why {
        Reason::Refused => "check the address and port of --xot, and whether an XOT peer listens there",
        Reason::TimedOut => {
            "no answer: check the line, the address of --xot and the number called, or wait longer with --timeout"
        }
        Reason::Unreachable(_) => "there is no way to the address of --xot: check it and the network",
        Reason::BadAddress => "no peer has that number: give one with --xot HOST",
        Reason::Violation(it) if it.is_first => "who answers does not speak XOT: check the port of --xot",
        Reason::Protocol | Reason::Violation(_) => CAPTURE,
        Reason::NoResources => "this machine has no room for another connection",
        Reason::Reset | Reason::Down => {
            "the connection to the XOT peer was lost: try again; where it is lost each time, that peer does not take calls from here, and its log says why"
        }
        Reason::User | Reason::NoSession | Reason::Peer(_) => return None,
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
        for (cause, diagnostic, part) in [
            (0x0d, 67, "does not know the number"),
            (0x03, 0, "--packet and --window"),
            (0x0b, 0, "check --address"),
            (0x13, 0, "--pcap"),
            (0x15, 0, "choose another with T"),
            (0x29, 0, "leave F or Q out"),
            (0x00, 249, "no calls of PADs"),
        ] {
            let said = remedy(&told(cause, diagnostic));
            assert!(said.as_ref().is_some_and(|it| it.contains(part)), "{cause:02x}: {said:?}");
        }
        // Who breaks XOT at once speaks something else, and who has spoken it before does not.
        let first = Reason::stranger(layer::XOT, "anything", b"GET ");
        assert!(remedy(&first).is_some_and(|it| it.contains("does not speak XOT: check the port")));
        for by in [layer::XOT, layer::X25] {
            assert!(remedy(&Reason::violation(by, "anything")).is_some_and(|it| it.contains("--pcap")));
        }
        assert!(remedy(&Reason::BadAddress).is_some_and(|it| it.contains("--xot")));
    }
}
