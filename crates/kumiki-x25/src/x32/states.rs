//! What happens to a circuit in which state, as a table. X.32 has none of its own for this: it leaves the circuit to
//! the networks' recommendations.

/// Where the circuit stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// There is none, and nobody wants one.
    #[default]
    Idle,
    /// A call has failed, and is made again after a while.
    Waiting,
    /// The other end has cleared, and should call back.
    Expecting,
    /// We have cleared, and shall call back in a moment.
    CallingBack,
    /// We are calling.
    Dialling,
    /// We have answered.
    Answering,
    /// It stands, and who is at the other end has to be found out.
    Identifying,
    /// It stands, and carries the link.
    Connected,
    /// We have cleared it, which has still to be confirmed.
    Clearing,
}

/// What has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// The layer above wants a link.
    Wanted,
    /// The layer above wants none any more.
    Unwanted,
    /// Somebody rings who may call.
    Rings,
    /// Somebody rings who is to be called back.
    RingsForCallBack,
    /// Somebody rings who may not call.
    ForeignRings,
    /// The circuit stands.
    Connected,
    /// There is no circuit any more, or none has come about.
    Cleared,
    /// The time that this state may last is over.
    Timer,
    /// Identification has found the right one.
    Admitted,
    /// Identification has found a wrong one.
    Refused,
    /// Identification wants somebody called back.
    CallBack,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Nothing.
    Nothing,
    /// The number is called, where there is one.
    Dial,
    /// The call that rings is taken.
    Answer,
    /// The call that rings is refused.
    Refuse,
    /// The call that rings is refused, and its number is called later.
    RefuseAndCallBack,
    /// Nothing is waited for any more.
    Rest,
    /// The circuit is cleared.
    Clear,
    /// The circuit is cleared, and counts as a call that has failed.
    ClearFailed,
    /// The circuit is cleared, and a number called later.
    ClearAndCallBack,
    /// The circuit has come to stand.
    Begin,
    /// The link may use it.
    Admit,
    /// A call of ours has not come to a link: the other end calls back, or we call again, or it is given up.
    Failed,
    /// The caller has gone.
    Gone,
    /// The circuit has been cleared under the link.
    Lost,
    /// What we have cleared is.
    Done,
}

impl State {
    /// What `event` does in this state.
    pub(super) const fn step(self, event: Event) -> Step {
        use Event::{
            Admitted, CallBack, Cleared, Connected, ForeignRings, Refused, Rings, RingsForCallBack, Timer, Unwanted,
            Wanted,
        };
        match (self, event) {
            (Self::Idle, Wanted) => Step::Dial,
            (Self::Idle | Self::Waiting, Rings) => Step::Answer,
            (Self::Idle | Self::Waiting, RingsForCallBack) => Step::RefuseAndCallBack,
            (Self::Idle, Unwanted | Cleared | Timer) => Step::Nothing,
            (Self::Idle | Self::Waiting | Self::Expecting | Self::CallingBack, Connected) => Step::Clear,

            (Self::Waiting, Timer) => Step::Dial,
            (Self::Waiting | Self::Expecting, Unwanted) => Step::Rest,
            (Self::Waiting, Cleared) => Step::Nothing,

            // Whoever has refused us and rings now is calling back.
            (Self::Expecting, Rings | RingsForCallBack) => Step::Answer,
            (Self::Expecting, Timer) => Step::Failed,
            (Self::Expecting, Cleared) => Step::Nothing,

            (Self::CallingBack, Timer) => Step::Dial,
            (Self::CallingBack, Rings | RingsForCallBack) => Step::Refuse,
            (Self::CallingBack, Unwanted | Cleared) => Step::Nothing,

            (Self::Dialling, Connected) => Step::Begin,
            // Both ends have called; the network has kept the other's call.
            (Self::Dialling, Rings | RingsForCallBack) => Step::Answer,
            (Self::Dialling, Cleared) => Step::Failed,
            (Self::Dialling, Timer) => Step::ClearFailed,
            (Self::Dialling, Unwanted) => Step::Clear,

            (Self::Answering, Connected) => Step::Begin,
            (Self::Answering, Cleared) => Step::Gone,
            (Self::Answering, Timer) => Step::Clear,
            (Self::Answering, Unwanted) => Step::Nothing,

            (Self::Identifying, Admitted) => Step::Admit,
            (Self::Identifying, Refused | Timer | Unwanted) => Step::Clear,
            (Self::Identifying, Cleared) => Step::Failed,

            // Whom the time without information ends, or a later verdict.
            (Self::Connected, Refused | Timer | Unwanted) => Step::Clear,
            (Self::Connected, Cleared) => Step::Lost,
            (Self::Connected, Admitted) => Step::Nothing,
            (Self::Identifying | Self::Connected, CallBack) => Step::ClearAndCallBack,

            (Self::Clearing, Cleared) => Step::Done,
            (Self::Clearing, Unwanted | Timer | Connected) => Step::Nothing,

            (Self::Idle | Self::Waiting | Self::Expecting | Self::CallingBack | Self::Dialling, ForeignRings) => {
                Step::Refuse
            }
            // No network rings a subscriber that has a circuit. To refuse would clear that.
            (
                Self::Answering | Self::Identifying | Self::Connected | Self::Clearing,
                Rings | RingsForCallBack | ForeignRings,
            )
            | (Self::Identifying | Self::Connected, Connected) => Step::Nothing,
            (
                Self::Waiting
                | Self::Expecting
                | Self::CallingBack
                | Self::Dialling
                | Self::Answering
                | Self::Identifying
                | Self::Connected
                | Self::Clearing,
                Wanted,
            ) => Step::Nothing,
            // Of a circuit that has gone meanwhile.
            (
                Self::Idle
                | Self::Waiting
                | Self::Expecting
                | Self::CallingBack
                | Self::Dialling
                | Self::Answering
                | Self::Clearing,
                Admitted | Refused | CallBack,
            ) => Step::Nothing,
        }
    }
}
