//! What frames without numbers do in which phase: ISO 7776 section 5 and X.25 section 2.4.4, as a table.

use kumiki_wire::x25::lapb::function;

/// Where a link stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Phase {
    /// Disconnected: asynchronous disconnected mode.
    #[default]
    Disconnected,
    /// The peer has sent SABM, and our user has not said whether it wants it.
    Offered,
    /// SABM has been sent, to set the link up or to reset it.
    Setup,
    /// DISC has been sent.
    Disconnecting,
    /// Information transfer.
    Transfer,
    /// The peer resets the link by SABM, and our user has not answered yet.
    Resetting,
    /// FRMR has been sent.
    Rejecting,
}

/// What has come, as far as phases tell it apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// SABM or SABME, the one that this link uses.
    Sabm,
    Disc,
    Ua,
    Dm,
    Frmr,
    /// I, RR, RNR, REJ, or a frame that cannot be read.
    Other,
}

impl Event {
    /// The unnumbered frame with this function; `sabm` is the one that this link uses.
    pub(super) const fn of(function: u8, sabm: u8) -> Self {
        match function {
            function::DISC => Self::Disc,
            function::UA => Self::Ua,
            function::DM => Self::Dm,
            function::FRMR => Self::Frmr,
            _ if function == sabm => Self::Sabm,
            _ => Self::Other,
        }
    }

    /// Whether it is a command; the others are responses, but for [`Event::Other`], which may be either.
    pub(super) const fn is_command(self) -> bool {
        matches!(self, Self::Sabm | Self::Disc)
    }
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Nothing; it is counted.
    Ignore,
    /// The user of a passive open is asked; DM where there is none.
    Offer,
    /// DM: the link is not set up and is not to be.
    SendDm,
    /// DM where the frame polls.
    SendDmIfPolled,
    /// UA: the peer clears what we clear.
    SendUa,
    /// The peer has taken its offer back: DM.
    Withdraw,
    /// The peer sets up what we set up: UA, and its own is waited for.
    Collide,
    /// The link is set up.
    Establish,
    /// The peer does not want it, where that is its answer.
    Refused,
    /// The link is cleared.
    Cleared,
    /// The peer clears the link: UA.
    PeerClears,
    /// The peer has no link.
    PeerLost,
    /// The peer resets the link: the user is asked, then UA.
    PeerResets,
    /// The peer has refused a frame of ours: we reset the link.
    Reset,
    /// It is looked at.
    Take,
    /// FRMR again where the frame polls.
    RejectAgain,
}

impl Phase {
    /// What `event` does in this phase.
    pub(super) const fn step(self, event: Event) -> Step {
        use Event::{Disc, Dm, Frmr, Other, Sabm, Ua};
        match (self, event) {
            (Self::Disconnected, Sabm) => Step::Offer,
            (Self::Disconnected, Disc) => Step::SendDm,
            (Self::Disconnected, Ua | Dm | Frmr) => Step::Ignore,
            (Self::Disconnected, Other) => Step::SendDmIfPolled,

            (Self::Offered, Disc) => Step::Withdraw,
            (Self::Offered, Sabm | Ua | Dm | Frmr | Other) => Step::Ignore,

            (Self::Setup, Sabm) => Step::Collide,
            (Self::Setup, Disc) => Step::SendDm,
            (Self::Setup, Ua) => Step::Establish,
            (Self::Setup, Dm) => Step::Refused,
            (Self::Setup, Frmr | Other) => Step::Ignore,

            (Self::Disconnecting, Sabm) => Step::SendDm,
            (Self::Disconnecting, Disc) => Step::SendUa,
            (Self::Disconnecting, Ua | Dm) => Step::Cleared,
            (Self::Disconnecting, Frmr | Other) => Step::Ignore,

            (Self::Transfer | Self::Rejecting, Sabm) => Step::PeerResets,
            (Self::Transfer | Self::Rejecting | Self::Resetting, Disc) => Step::PeerClears,
            (Self::Transfer | Self::Rejecting | Self::Resetting, Dm) => Step::PeerLost,
            (Self::Transfer | Self::Rejecting, Frmr) => Step::Reset,
            (Self::Transfer | Self::Rejecting | Self::Resetting, Ua) => Step::Ignore,
            (Self::Transfer, Other) => Step::Take,
            (Self::Rejecting, Other) => Step::RejectAgain,
            (Self::Resetting, Sabm | Frmr | Other) => Step::Ignore,
        }
    }
}
