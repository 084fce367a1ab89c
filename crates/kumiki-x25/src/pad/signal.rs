//! PAD service signals: what a PAD tells a terminal (X.28 clause 3.5, tables 2 and 3).
//!
//! The words are the standard's abbreviations; behind a clearing or a reset stand cause and diagnostic as numbers.

use kumiki_graph::Reason;
use kumiki_osi_service::x25::{self, CauseField, cause};

/// Why a call was cleared, as `CLR` says it.
pub(super) fn cleared(reason: &Reason) -> String {
    if let Some(told) = crate::packet_cause(reason) {
        let word = if told.what == CauseField::Clear { clear_word(&told) } else { "DER" };
        return format!("CLR {word} C:{} D:{}", told.cause, told.diagnostic);
    }
    match reason {
        Reason::BadAddress => "CLR NP".to_owned(),
        Reason::NoResources => "CLR NC".to_owned(),
        Reason::Protocol | Reason::Violation(_) => "CLR ERR".to_owned(),
        Reason::TimedOut | Reason::Refused | Reason::Unreachable(_) | Reason::Down => {
            format!("CLR DER {reason}")
        }
        Reason::User | Reason::Reset | Reason::NoSession | Reason::Peer(_) => "CLR DTE".to_owned(),
    }
}

fn clear_word(told: &x25::PacketCause) -> &'static str {
    if told.is_by_dte() {
        return "DTE";
    }
    match told.cause {
        cause::BUSY => "OCC",
        cause::FACILITY => "INV",
        cause::CLEAR_CONGESTION => "NC",
        cause::BARRED => "NA",
        cause::NOT_OBTAINABLE => "NP",
        cause::CLEAR_REMOTE => "RPE",
        cause::CLEAR_LOCAL => "ERR",
        cause::RPOA => "ROO",
        cause::REVERSE => "RNA",
        cause::CLEAR_INCOMPATIBLE => "ID",
        cause::FAST_SELECT => "FNA",
        cause::ABSENT => "SA",
        // "Out of order", and what has no word.
        _ => "DER",
    }
}

/// Why a call was reset, as `RESET` says it.
pub(super) fn reset(reason: &Reason) -> String {
    let Some(told) = crate::packet_cause(reason) else {
        return "RESET ERR".to_owned();
    };
    let word = if told.is_by_dte() {
        "DTE"
    } else {
        match told.cause {
            cause::RESET_REMOTE => "RPE",
            cause::RESET_CONGESTION => "NC",
            cause::RESET_INCOMPATIBLE => "ID",
            cause::RESET_OUT_OF_ORDER | cause::RESET_NETWORK_DOWN => "DER",
            cause::RESET_REMOTE_UP | cause::RESET_NETWORK_UP => "NOP",
            _ => "ERR",
        }
    };
    format!("RESET {word} C:{} D:{}", told.cause, told.diagnostic)
}

/// What `HELP` says.
pub(super) const HELP: [&str; 9] = [
    "address              call; before it facilities as R,G12- and behind it D and user data",
    "CLR, ICLR            clear the call; ask the other end to",
    "STAT                 FREE or ENGAGED",
    "PAR? 1,2  SET 2:0    show and set parameters; SET? does both",
    "RPAR? 1  RSET? 2:0   the same at the other end",
    "PROF 90              the simple profile; 91 is the transparent one",
    "INT, RESET, BREAK    send an interrupt, reset the call, act as on a break",
    "EXIT                 leave",
    "Ctrl-P, or what parameter 1 says, leads from a call to one command",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn said(what: CauseField, cause: u8, diagnostic: u8) -> Reason {
        Reason::peer(x25::Cause::Packet(x25::PacketCause { what, cause, diagnostic }))
    }

    /// The words of X.28 table 3 and their numbers in X.25 table 5-7.
    #[test]
    fn each_cause_has_its_word() {
        for (cause, word) in [
            (0, "DTE"),
            (1, "OCC"),
            (3, "INV"),
            (5, "NC"),
            (9, "DER"),
            (11, "NA"),
            (13, "NP"),
            (17, "RPE"),
            (19, "ERR"),
            (0x85, "DTE"),
        ] {
            let signal = cleared(&said(CauseField::Clear, cause, 67));
            assert_eq!(signal, format!("CLR {word} C:{cause} D:67"));
        }
        assert_eq!(reset(&said(CauseField::Reset, 7, 0)), "RESET NC C:7 D:0");
        assert_eq!(reset(&said(CauseField::Reset, 0, 1)), "RESET DTE C:0 D:1");
        let broken = Reason::violation(kumiki_osi_service::layer::X25, "invalid P(S)");
        assert_eq!(cleared(&broken), "CLR ERR");
        assert_eq!(cleared(&Reason::BadAddress), "CLR NP");
    }
}
