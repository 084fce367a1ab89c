//! The state table of X.226 annex A for the kernel.
//!
//! Rows are events, columns states, both under the standard's names. A cell says what is done and which state comes
//! then. STAI0, idle, has no column: CP and the P-CONNECT request make a machine, and where a connection is over there
//! is none. Nor has release a state: its order is session's, which lets nothing through at the wrong time. Recalled
//! from ITU-T X.226 (1994), whose text was not at hand.

/// A state of the presentation protocol machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// STAI1: CP was sent, CPA is waited for.
    WaitAccept,
    /// STAI2: the user was told of CP.
    WaitResponse,
    /// `STAt0`: data.
    Connected,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// S-CONNECT confirm, accepted: CPA.
    Cpa,
    /// S-CONNECT confirm, refused (CPR, where there is one), S-U-ABORT (ARU or ARP) or S-P-ABORT.
    End,
    /// S-DATA indication: P-DATA.
    Td,
    /// S-RELEASE indication or confirm.
    Release,
    /// The session connection is over in order.
    Closed,
    /// What else session has: typed data, synchronisation, tokens.
    Primitive,
    /// S-EXPEDITED-DATA, or data of another service: it was not agreed on.
    Unexpected,
    /// P-CONNECT response, accepted.
    ConRsp,
    /// P-DATA request.
    DataReq,
    /// P-RELEASE request or response.
    RelReq,
    /// What else session has, asked for.
    PrimitiveReq,
    /// P-U-ABORT request; of an offer P-CONNECT response, refused.
    AbortReq,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Counted: the user asked for what cannot be at this time.
    Misuse,
    /// ARP with "unexpected session service primitive"; the user is told (P-P-ABORT).
    Error,
    /// P-CONNECT confirm, accepted.
    TakeCpa,
    /// P-CONNECT confirm, refused; or why there is no session connection.
    TakeRefusal,
    /// P-U-ABORT or P-P-ABORT indication.
    TakeAbort,
    TakeValues,
    TakeRelease,
    TakePrimitive,
    TellClosed,
    /// The user has no handle for it yet, and learns of it when it answers.
    Forget,
    SendCpa,
    SendCpr,
    SendValues,
    SendRelease,
    SendPrimitive,
    SendAru,
    /// Nobody has answered CP, and nobody is to.
    Cancel,
}

/// What is done, and the next state; `None` where the connection is over or its state stays, as the action has it.
pub(super) type Cell = (Action, Option<State>);

const fn stay(action: Action) -> Cell {
    (action, None)
}

const MIS: Cell = stay(Action::Misuse);
const ER: Cell = stay(Action::Error);

/// The cell of `event` in `state`.
pub(super) const fn cell(state: State, event: Event) -> Cell {
    use Action as A;
    use State as S;
    #[rustfmt::skip]
    let row: [Cell; 3] = match event {
        //                     STAI1 WaitAccept                  STAI2 WaitResponse                 STAt0 Connected
        Event::Cpa          => [(A::TakeCpa, Some(S::Connected)), ER,                               ER],
        Event::End          => [stay(A::TakeRefusal),             stay(A::Forget),                  stay(A::TakeAbort)],
        Event::Td           => [ER,                               ER,                               stay(A::TakeValues)],
        Event::Release      => [ER,                               ER,                               stay(A::TakeRelease)],
        Event::Closed       => [stay(A::TakeRefusal),             stay(A::Forget),                  stay(A::TellClosed)],
        Event::Primitive    => [ER,                               ER,                               stay(A::TakePrimitive)],
        Event::Unexpected   => [ER,                               ER,                               ER],
        Event::ConRsp       => [MIS,                              (A::SendCpa, Some(S::Connected)), MIS],
        Event::DataReq      => [MIS,                              MIS,                              stay(A::SendValues)],
        Event::RelReq       => [MIS,                              MIS,                              stay(A::SendRelease)],
        Event::PrimitiveReq => [MIS,                              MIS,                              stay(A::SendPrimitive)],
        Event::AbortReq     => [stay(A::Cancel),                  stay(A::SendCpr),                 stay(A::SendAru)],
    };
    let [wait_accept, wait_response, connected] = row;
    match state {
        S::WaitAccept => wait_accept,
        S::WaitResponse => wait_response,
        S::Connected => connected,
    }
}
