//! The state table of X.227 annex A.
//!
//! Rows are events, columns states, both under the standard's names. A cell says what is done and which state comes
//! then. STA0, idle, has no column: AARQ and the A-ASSOCIATE request make a machine, and where an association is over
//! there is none. After the last word of a release the state stays, until presentation says that the connection is
//! closed. Recalled from ITU-T X.227 (1995), whose text was not at hand.

/// A state of the association control protocol machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// STA1: AARQ was sent, AARE is waited for.
    WaitAare,
    /// STA2: the user was told of AARQ.
    WaitResponse,
    /// STA3: RLRQ was sent, RLRE is waited for.
    WaitRlre,
    /// STA4: the user was told of RLRQ.
    WaitReleaseResponse,
    /// STA5.
    Associated,
    /// STA6: both have sent RLRQ, and this side, which has sent AARQ, answers first.
    CollisionInitiator,
    /// STA7: the same on the other side, where RLRE is waited for.
    CollisionResponder,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// P-CONNECT confirm: AARE.
    Aare,
    /// P-CONNECT confirm, refused (AARE, where there is one), P-U-ABORT (ABRT) or P-P-ABORT.
    End,
    Rlrq,
    Rlre,
    /// An APDU that cannot be read, or one that its primitive cannot carry.
    Invalid,
    /// The presentation connection is over in order.
    Closed,
    /// Values, or a primitive of session's.
    Data,
    /// A-ASSOCIATE response, accepted.
    AscRsp,
    /// A-RELEASE request or response.
    RlsReq,
    /// A-ABORT request; of an offer A-ASSOCIATE response, rejected.
    AbrReq,
    /// Values, or a primitive of session's, to be sent.
    DataReq,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Counted: the user asked for what cannot be at this time.
    Misuse,
    /// ABRT of the provider; the user is told (A-ABORT indication).
    Error,
    /// A-ASSOCIATE confirm.
    TakeAare,
    /// A-ASSOCIATE confirm, rejected; A-ABORT or A-P-ABORT indication.
    TakeEnd,
    /// A-RELEASE indication.
    TakeRlrq,
    /// The same in a collision.
    TakeCollision,
    /// A-RELEASE confirm.
    TakeRlre,
    /// The same in a collision: an answer that was held goes now.
    TakeRlreAndAnswer,
    TellClosed,
    /// To the user, as it is.
    Pass,
    /// The user has no handle for it yet, and learns of it when it answers.
    Forget,
    SendAare,
    SendRejection,
    SendRlrq,
    SendRlre,
    /// The user's answer waits until the peer, who is to answer first, has.
    Hold,
    SendAbrt,
    /// Nobody has answered AARQ, and nobody is to.
    Cancel,
    /// To presentation, as it is.
    Send,
}

/// What is done, and the next state; `None` where the association is over or its state stays.
pub(super) type Cell = (Action, Option<State>);

const fn stay(action: Action) -> Cell {
    (action, None)
}

const MIS: Cell = stay(Action::Misuse);
const ER: Cell = stay(Action::Error);
const END: Cell = stay(Action::TakeEnd);
const FORGET: Cell = stay(Action::Forget);
const CLOSED: Cell = stay(Action::TellClosed);
const PASS: Cell = stay(Action::Pass);
const SEND: Cell = stay(Action::Send);
const ABRT: Cell = stay(Action::SendAbrt);

/// The cell of `event` in `state`. In a collision the action says whose side this is.
pub(super) const fn cell(state: State, event: Event) -> Cell {
    use Action as A;
    use State as S;
    #[rustfmt::skip]
    let row: [Cell; 7] = match event {
        // Columns: STA1 WaitAare, STA2 WaitResponse, STA3 WaitRlre, STA4 WaitReleaseResponse, STA5 Associated, STA6
        // CollisionInitiator, STA7 CollisionResponder.
        Event::Aare => [(A::TakeAare, Some(S::Associated)), ER, ER, ER, ER, ER, ER],
        Event::End => [END, FORGET, END, END, END, END, END],
        Event::Rlrq => [ER, ER, (A::TakeCollision, Some(S::CollisionInitiator)), ER, (A::TakeRlrq, Some(S::WaitReleaseResponse)), ER, ER],
        Event::Rlre => [ER, ER, stay(A::TakeRlre), ER, ER, ER, (A::TakeRlreAndAnswer, Some(S::WaitReleaseResponse))],
        Event::Invalid => [ER, ER, ER, ER, ER, ER, ER],
        Event::Closed => [END, FORGET, CLOSED, CLOSED, CLOSED, CLOSED, CLOSED],
        Event::Data => [ER, ER, PASS, PASS, PASS, PASS, PASS],
        Event::AscRsp => [MIS, (A::SendAare, Some(S::Associated)), MIS, MIS, MIS, MIS, MIS],
        Event::RlsReq => [MIS, MIS, MIS, stay(A::SendRlre), (A::SendRlrq, Some(S::WaitRlre)), (A::SendRlre, Some(S::WaitRlre)), stay(A::Hold)],
        Event::AbrReq => [stay(A::Cancel), stay(A::SendRejection), ABRT, ABRT, ABRT, ABRT, ABRT],
        Event::DataReq => [MIS, MIS, SEND, SEND, SEND, SEND, SEND],
    };
    let [sta1, sta2, sta3, sta4, sta5, sta6, sta7] = row;
    match state {
        S::WaitAare => sta1,
        S::WaitResponse => sta2,
        S::WaitRlre => sta3,
        S::WaitReleaseResponse => sta4,
        S::Associated => sta5,
        S::CollisionInitiator => sta6,
        S::CollisionResponder => sta7,
    }
}
