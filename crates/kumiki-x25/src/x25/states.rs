//! What packets do in which state: X.25 annex C (tables C-2 to C-4), ISO 8208 clause 12, as tables.
//!
//! The standards number states by who is waiting: p2 is that of a DTE that has called, p3 that of a DCE. Here a state
//! is named from our side, and [`P::diagnostic`] and [`D::diagnostic`] find the number by our role. States in which
//! only we have something to confirm are not there where that is done at once: r2 or r3, p6 or p7 of the peer's.

use kumiki_osi_service::x25::diagnostic;

use super::Role;

/// How far the restart of an interface is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum R {
    /// The link does not stand.
    #[default]
    Down,
    /// We have sent RESTART.
    Restarting,
    /// Two DTEs have restarted at once: neither counts, and we wait for the peer's next or our turn.
    Contending,
    /// Ready: r1.
    Ready,
}

/// How far a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum P {
    /// No call: p1.
    Ready,
    /// We have called: p2 of a DTE, p3 of a DCE.
    OursWaiting,
    /// The peer has called: p3 of a DTE, p2 of a DCE.
    TheirsWaiting,
    /// Data transfer: p4. Permanent virtual circuits are always here.
    Transfer,
    /// Both have called: p5.
    Collision,
    /// We have cleared: p6 of a DTE, p7 of a DCE.
    OursClearing,
}

/// How far the reset of a channel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum D {
    /// Flow control ready: d1.
    #[default]
    Flow,
    /// We have reset: d2 of a DTE, d3 of a DCE.
    OursResetting,
    /// The peer has, and our user has not answered: d3 of a DTE, d2 of a DCE.
    TheirsResetting,
}

/// Packets as far as the tables tell them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Call,
    Accepted,
    Clear,
    ClearConfirmation,
    Reset,
    ResetConfirmation,
    /// DATA, RR, RNR, REJ, INTERRUPT and its confirmation.
    Transfer,
}

/// What a packet does to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallStep {
    /// A user is asked.
    Offer,
    /// Both have called on one channel.
    Collide,
    /// The call stands.
    Connect,
    /// It is cleared: confirmed, and the user told.
    PeerClears,
    /// What we have cleared is.
    Cleared,
    /// The next table says.
    Take,
    Discard,
    /// The call is cleared for a procedure error.
    Error,
}

/// What a packet does on a channel with a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FlowStep {
    /// The user is told of a reset, and answers.
    PeerResets,
    /// What we have reset is.
    ResetDone,
    Take,
    Discard,
    /// The channel is reset for a procedure error.
    Error,
}

impl P {
    /// Table C-3.
    pub(super) const fn step(self, kind: Kind) -> CallStep {
        use Kind::{Accepted, Call, Clear, ClearConfirmation, Reset, ResetConfirmation, Transfer};
        match (self, kind) {
            (Self::Ready, Call) => CallStep::Offer,
            (Self::OursWaiting, Call) => CallStep::Collide,
            (Self::TheirsWaiting | Self::Transfer | Self::Collision, Call) => CallStep::Error,

            (Self::OursWaiting | Self::Collision, Accepted) => CallStep::Connect,
            (Self::Ready | Self::TheirsWaiting | Self::Transfer, Accepted) => CallStep::Error,

            // Two that clear confirm each other.
            (Self::OursClearing, Clear | ClearConfirmation) => CallStep::Cleared,
            (_, Clear) => CallStep::PeerClears,
            (_, ClearConfirmation) => CallStep::Error,

            (Self::Transfer, Reset | ResetConfirmation | Transfer) => CallStep::Take,
            (
                Self::Ready | Self::OursWaiting | Self::TheirsWaiting | Self::Collision,
                Reset | ResetConfirmation | Transfer,
            ) => CallStep::Error,

            (Self::OursClearing, Call | Accepted | Reset | ResetConfirmation | Transfer) => CallStep::Discard,
        }
    }

    /// The diagnostic code of an error in this state: 20 for p1 and so on.
    pub(super) const fn diagnostic(self, role: Role) -> u8 {
        let n = match (self, role) {
            (Self::Ready, _) => 0,
            (Self::OursWaiting, Role::Dte) | (Self::TheirsWaiting, Role::Dce) => 1,
            (Self::TheirsWaiting, Role::Dte) | (Self::OursWaiting, Role::Dce) => 2,
            (Self::Transfer, _) => 3,
            (Self::Collision, _) => 4,
            (Self::OursClearing, Role::Dte) => 5,
            (Self::OursClearing, Role::Dce) => 6,
        };
        diagnostic::P1 + n
    }
}

impl D {
    /// Table C-4.
    pub(super) const fn step(self, kind: Kind) -> FlowStep {
        use Kind::{Accepted, Call, Clear, ClearConfirmation, Reset, ResetConfirmation, Transfer};
        match (self, kind) {
            (Self::Flow, Reset) => FlowStep::PeerResets,
            (Self::Flow, Transfer) => FlowStep::Take,
            (Self::Flow, ResetConfirmation) => FlowStep::Error,

            // Two that reset confirm each other.
            (Self::OursResetting, Reset | ResetConfirmation) => FlowStep::ResetDone,
            (Self::OursResetting, Transfer) => FlowStep::Discard,

            (Self::TheirsResetting, Reset) => FlowStep::Discard,
            (Self::TheirsResetting, ResetConfirmation | Transfer) => FlowStep::Error,

            // Only a permanent virtual circuit gets here with one of these.
            (_, Call | Accepted | Clear | ClearConfirmation) => FlowStep::Error,
        }
    }

    /// The diagnostic code of an error in this state: 27 for d1 and so on.
    pub(super) const fn diagnostic(self, role: Role) -> u8 {
        let n = match (self, role) {
            (Self::Flow, _) => 0,
            (Self::OursResetting, Role::Dte) | (Self::TheirsResetting, Role::Dce) => 1,
            (Self::TheirsResetting, Role::Dte) | (Self::OursResetting, Role::Dce) => 2,
        };
        diagnostic::D1 + n
    }
}
