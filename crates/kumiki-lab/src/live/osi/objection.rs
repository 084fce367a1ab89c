//! What the layers of a connection have against a caller with whom no association has come about.

use kumiki_graph::{Graph, Protocol};
use kumiki_proto::acse::Acse;
use kumiki_proto::ftam::Ftam;
use kumiki_proto::mms::Mms;
use kumiki_proto::presentation::Presentation;
use kumiki_proto::session::Session;
use kumiki_proto::tp0::Tp0;

use super::Protocols;

/// What a layer has against a caller with whom no association has come about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Objection {
    /// It was called for another application.
    Stranger,
    /// It has refused.
    Refused,
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

impl Level {
    /// Whether it refuses where its selector is not called.
    pub(super) const fn has_selector(self) -> bool {
        matches!(self, Self::Presentation | Self::Session | Self::Transport)
    }
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
pub(super) fn objection(graph: &Graph, of: Protocols) -> Option<(Level, Objection)> {
    // Strangers, refused, broken.
    let application = match of {
        Protocols::Ftam => layer::<Ftam>(graph, "ftam").map(|it| {
            let it = it.counters();
            (it.strangers, it.refused, it.errors)
        }),
        Protocols::Mms => layer::<Mms>(graph, "mms").map(|it| {
            let it = it.counters();
            (it.strangers, it.refused, 0)
        }),
    };
    let acse = layer::<Acse>(graph, "acse").map(|it| {
        let it = it.counters();
        (0, it.rejected, it.errors)
    });
    let presentation = layer::<Presentation>(graph, "presentation").map(|it| {
        let it = it.counters();
        (0, it.refused, it.errors)
    });
    let session = layer::<Session>(graph, "session").map(|it| {
        let it = it.counters();
        (0, it.refused, it.errors)
    });
    let transport = layer::<Tp0>(graph, "tp0").map(|it| {
        let it = it.counters();
        (0, it.refused, it.errors)
    });
    let all = [
        (Level::Application(of), application),
        (Level::Acse, acse),
        (Level::Presentation, presentation),
        (Level::Session, session),
        (Level::Transport, transport),
    ];
    all.into_iter().find_map(|(layer, counted)| {
        let (strangers, refused, errors) = counted?;
        let objection = if strangers > 0 {
            Objection::Stranger
        } else if refused > 0 {
            Objection::Refused
        } else if errors > 0 {
            Objection::Broken
        } else {
            return None;
        };
        Some((layer, objection))
    })
}

/// A layer of a graph.
pub(super) fn layer<'a, P: Protocol>(graph: &'a Graph, name: &str) -> Option<&'a P> {
    graph.protocol(graph.node(name)?)
}
