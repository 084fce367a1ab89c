//! The state table of X.226 annex A for the kernel.
//!
//! Rows are events, columns states, both under the standard's names. A cell says what is done and which state comes then. STAI0, idle, has no
//! column: CP and the P-CONNECT request make a machine, and where a connection is over there is none. Nor has release a state: its order is
//! session's, which lets nothing through at the wrong time. Recalled from ITU-T X.226 (1994), whose text was not at hand.

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
pub enum Do {
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
pub(super) type Cell = (Do, Option<State>);

const fn stay(action: Do) -> Cell {
    (action, None)
}

const MIS: Cell = stay(Do::Misuse);
const ER: Cell = stay(Do::Error);

/// The cell of `event` in `state`.
pub(super) const fn cell(state: State, event: Event) -> Cell {
    use Do as D;
    use State as S;
    #[rustfmt::skip]
    let row: [Cell; 3] = match event {
        //                     STAI1 WaitAccept                  STAI2 WaitResponse                 STAt0 Connected
        Event::Cpa          => [(D::TakeCpa, Some(S::Connected)), ER,                               ER],
        Event::End          => [stay(D::TakeRefusal),             stay(D::Forget),                  stay(D::TakeAbort)],
        Event::Td           => [ER,                               ER,                               stay(D::TakeValues)],
        Event::Release      => [ER,                               ER,                               stay(D::TakeRelease)],
        Event::Closed       => [stay(D::TakeRefusal),             stay(D::Forget),                  stay(D::TellClosed)],
        Event::Primitive    => [ER,                               ER,                               stay(D::TakePrimitive)],
        Event::Unexpected   => [ER,                               ER,                               ER],
        Event::ConRsp       => [MIS,                              (D::SendCpa, Some(S::Connected)), MIS],
        Event::DataReq      => [MIS,                              MIS,                              stay(D::SendValues)],
        Event::RelReq       => [MIS,                              MIS,                              stay(D::SendRelease)],
        Event::PrimitiveReq => [MIS,                              MIS,                              stay(D::SendPrimitive)],
        Event::AbortReq     => [stay(D::Cancel),                  stay(D::SendCpr),                 stay(D::SendAru)],
    };
    let [wait_accept, wait_response, connected] = row;
    match state {
        S::WaitAccept => wait_accept,
        S::WaitResponse => wait_response,
        S::Connected => connected,
    }
}
