//! What the layers of a connection have against a caller with whom no association has come about.

use kumiki_files::file_user::{Failure, Layer};
use kumiki_files::ftam::Ftam;
use kumiki_files::mms::Mms;
use kumiki_graph::{Graph, Reason};
use kumiki_osi::acse::Acse;
use kumiki_osi::presentation::Presentation;
use kumiki_osi::session::Session;
use kumiki_osi::tp0::Tp0;
use kumiki_osi::tpkt::Tpkt;
use kumiki_x25::xot::Xot;

use super::Protocols;

/// What a layer has against a caller with whom no association has come about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// It was called for another application.
    Stranger,
    /// It has refused, where it has a reason of its own for that one.
    Refused(Option<Reason>),
    /// The caller broke its protocol.
    Broken,
}

/// A layer that may have something against a caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Level {
    /// FTAM or MMS.
    Application(Protocols),
    /// Association control.
    Acse,
    /// Presentation.
    Presentation,
    /// Session.
    Session,
    /// Transport.
    Transport,
}

impl core::fmt::Display for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Application(of) => of.fmt(f),
            Self::Acse => f.write_str("association control"),
            Self::Presentation => f.write_str("presentation"),
            Self::Session => f.write_str("session"),
            Self::Transport => f.write_str("transport"),
        }
    }
}

/// The uppermost layer that has something against the caller: those below it have only carried that.
pub(super) fn refusal(graph: &Graph, of: Protocols) -> Option<(Level, Refusal)> {
    // Strangers, refused, broken, and why one was refused.
    let application = match of {
        Protocols::Ftam => graph.find::<Ftam>("ftam").map(|it| {
            let (it, why) = (it.counters(), it.refusal().cloned());
            (it.strangers, it.refused, it.errors, why)
        }),
        Protocols::Mms => graph.find::<Mms>("mms").map(|it| {
            let (it, why) = (it.counters(), it.refusal().cloned());
            (it.strangers, it.refused, 0, why)
        }),
    };
    let acse = graph.find::<Acse>("acse").map(|it| {
        let (it, why) = (it.counters(), it.refusal().cloned());
        (0, it.rejected, it.errors, why)
    });
    let presentation = graph.find::<Presentation>("presentation").map(|it| {
        let (it, why) = (it.counters(), it.refusal().cloned());
        (0, it.refused, it.errors, why)
    });
    let session = graph.find::<Session>("session").map(|it| {
        let (it, why) = (it.counters(), it.refusal().cloned());
        (0, it.refused, it.errors, why)
    });
    let transport = graph.find::<Tp0>("tp0").map(|it| {
        let (it, why) = (it.counters(), it.refusal().cloned());
        (0, it.refused, it.errors, why)
    });
    let all = [
        (Level::Application(of), application),
        (Level::Acse, acse),
        (Level::Presentation, presentation),
        (Level::Session, session),
        (Level::Transport, transport),
    ];
    all.into_iter().find_map(|(layer, counted)| {
        let (strangers, refused, errors, why) = counted?;
        let refusal = if strangers > 0 {
            Refusal::Stranger
        } else if refused > 0 {
            Refusal::Refused(why)
        } else if errors > 0 {
            why.map_or(Refusal::Broken, |why| Refusal::Refused(Some(why)))
        } else {
            return None;
        };
        Some((layer, refusal))
    })
}

/// How often a PDU was rejected of a caller whose association stood, and what was wrong with the last, in words.
pub(super) fn rejections(graph: &Graph) -> Option<String> {
    let mms = graph.find::<Mms>("mms")?;
    let (rejected, last) = (mms.counters().rejected, mms.refusal()?);
    let last = last.as_violation().map_or_else(|| last.to_string(), |it| it.by("the caller"));
    let pdus = if rejected == 1 { "PDU was" } else { "PDUs were" };
    (rejected > 0).then(|| format!("{rejected} {pdus} rejected, the last: {last}"))
}

/// What was in the stream in place of a packet of its carrier, and what the carrier is called.
pub(super) fn of_carrier(graph: &Graph) -> Option<(&'static str, Reason)> {
    let tpkt = graph.find::<Tpkt>("tpkt").and_then(Tpkt::refusal).map(|why| ("RFC 1006", why.clone()));
    tpkt.or_else(|| graph.find::<Xot>("xot").and_then(Xot::refusal).map(|why| ("XOT", why.clone())))
}

/// The same of a caller in words, where its `first` octets were these.
pub(super) fn foreign(carrier: &str, why: &Reason, first: &[u8]) -> String {
    match why.as_violation() {
        Some(violation) if !violation.is_first => violation.by("the caller"),
        Some(_) | None => format!("does not speak {carrier}: \"{}\"", first.escape_ascii()),
    }
}

/// What `layer` has against a caller, in words; `ours` are the selectors under which we are called, where that matters.
pub(super) fn told(of: Protocols, layer: Level, refusal: Refusal, ours: &str) -> String {
    match refusal {
        Refusal::Stranger => {
            format!("refused by {of}: called for another application than {of}")
        }
        Refusal::Refused(Some(Reason::Violation(violation))) => violation.by("the caller"),
        Refusal::Refused(Some(told)) if is_of_selectors(&told) => {
            let ours = if ours.is_empty() { String::new() } else { format!(" ({ours})") };
            format!("refused by {layer}: not called under our selectors{ours}")
        }
        // What is told names its layer.
        Refusal::Refused(Some(told)) if told.is_told() => format!("refused by {told}"),
        Refusal::Refused(Some(told)) => format!("refused by {layer}: {told}"),
        Refusal::Refused(None) => format!("refused by {layer}"),
        Refusal::Broken => format!("the caller broke the protocol of {layer}"),
    }
}

/// Whether a caller hears that nobody has the selector that it has called.
fn is_of_selectors(told: &Reason) -> bool {
    Failure::of_reason(told, Layer::Ftam).is_of_selectors()
}

#[cfg(test)]
mod tests {
    use kumiki_osi_service::mms::{ErrorClass, ServiceError};
    use kumiki_osi_service::{InitiateError, OsiCause};

    use super::*;

    #[test]
    fn a_refusal_is_told_for_its_real_reason() {
        let (of, level) = (Protocols::Ftam, Level::Presentation);
        let refused = |why| told(of, level, Refusal::Refused(why), "psel FTAM");
        assert_eq!(
            refused(Some(Reason::peer(OsiCause::PresentationRefused(3)))),
            "refused by presentation: not called under our selectors (psel FTAM)"
        );
        assert_eq!(
            refused(Some(Reason::peer(OsiCause::PresentationRefused(5)))),
            "refused by presentation: default context not supported (reason 5)"
        );
        let contexts = OsiCause::ContextsRefused { refused: 1, proposed: 2, why: Some(2) };
        assert_eq!(
            refused(Some(Reason::peer(contexts))),
            "refused by presentation: 1 of 2 contexts refused, the first of them: none of the transfer syntaxes supported (reason 2)"
        );
        let broken = Reason::violation_in("presentation", "CP PPDU: no mode", &[0x31, 0x80]);
        assert_eq!(
            refused(Some(broken)),
            "presentation: the caller broke the protocol: CP PPDU: no mode (octets 31 80)"
        );
        assert_eq!(refused(None), "refused by presentation");
        assert_eq!(
            refused(Some(Reason::NoResources)),
            "refused by presentation: out of memory or of room for another session"
        );
        let text = "version is 0, expected 1 at least";
        let error = ServiceError::new(ErrorClass::INITIATE, 1).saying(text);
        assert_eq!(
            refused(Some(Reason::peer(InitiateError(error)))),
            "refused by MMS: refused to begin: no common version (error 8.1), with the words \"version is 0, expected 1 at least\""
        );
    }

    /// Of the carrier, who begins with something else is told apart from who loses its way.
    #[test]
    fn a_stranger_to_the_carrier_is_told_apart() {
        let foreign = |why: &Reason| foreign("XOT", why, b"GET / HTTP/1.0\r\n");
        let what = "XOT: version is 18245, expected 0";
        assert_eq!(foreign(&Reason::stranger("XOT", what, b"GET ")), "does not speak XOT: \"GET / HTTP/1.0\\r\\n\"");
        assert_eq!(
            foreign(&Reason::violation_in("XOT", what, b"GET ")),
            "XOT: the caller broke the protocol: XOT: version is 18245, expected 0 (octets 47 45 54 20)"
        );
    }
}
