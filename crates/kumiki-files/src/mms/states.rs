//! The environment as a table: rows are events, columns states.
//!
//! Recalled from ISO 9506-1 (environment and general management services), whose text was not at hand. Conclude is
//! agreed on in PDUs of MMS, and association control releases what is left; who only releases, or hangs up when the end
//! was agreed on, has ended in order as well.

/// A state of the environment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// initiate-Request is sent.
    Opening,
    /// The user is to answer initiate.
    Offered,
    /// Services can be asked for.
    Standing,
    /// conclude-Request is sent.
    Concluding,
    /// The user was told of conclude-Request.
    Asked,
    /// The user was told that association control releases, without conclude.
    Released,
    /// conclude-Response is sent; the peer is to release.
    Agreed,
    /// The release is in progress, asked for or answered here.
    Ending,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    /// A confirmed or unconfirmed service, a cancellation or a reject of the peer.
    Pdu,
    /// conclude-Request.
    ConcludeRequest,
    /// conclude-Response.
    ConcludeResponse,
    /// conclude-Error.
    ConcludeError,
    /// initiate in a PDU of its own: it belongs into association control's.
    Initiate,
    /// A-RELEASE indication or confirm.
    Release,
    /// The association is over in order.
    Closed,
    /// It is over without that.
    End,
    /// The user's PDU.
    Send,
    /// The user's release.
    UserRelease,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Action {
    /// Counted: the user asked for what cannot be at this time.
    Misuse,
    /// Reject, for a PDU that cannot be at this time.
    Reject,
    /// Look at the service.
    Take,
    /// Send the service.
    Send,
    /// conclude-Request.
    Conclude,
    /// conclude-Response, and wait for the release.
    Agree,
    /// conclude-Response, and go on waiting for that of the peer.
    Cross,
    /// Tell the user that the peer wants to end.
    TellReleased,
    /// Tell the user that the peer does not want to end.
    TellError,
    /// Ask association control to release, or answer it.
    Release,
    /// Tell the user that the end was agreed on, and go on to the release.
    TellAndRelease,
    /// Nothing: what is behind an end does not matter.
    Nothing,
    /// Tell the user that all is over in order.
    TellClosed,
    /// Tell the user that it broke.
    TellAborted,
    /// The user does not know of it yet.
    Forget,
}

/// What is done, and the next state; none where it stays, or is over.
pub type Cell = (Action, Option<State>);

/// The cell of `event` in `state`.
#[must_use]
pub const fn cell(state: State, event: Event) -> Cell {
    use Action as A;
    use State as S;
    const MIS: Cell = (Action::Misuse, None);
    const REJ: Cell = (Action::Reject, None);
    const NOT: Cell = (Action::Nothing, None);
    #[rustfmt::skip]
    let row: [Cell; 8] = match event {
        // Columns: Opening, Offered, Standing, Concluding, Asked, Released, Agreed, Ending.
        Event::Pdu => [NOT, NOT, (A::Take, None), (A::Take, None), REJ, NOT, NOT, NOT],
        Event::ConcludeRequest => [NOT, NOT, (A::TellReleased, Some(S::Asked)), (A::Cross, None), REJ, NOT, NOT, NOT],
        Event::ConcludeResponse => [NOT, NOT, REJ, (A::TellAndRelease, Some(S::Ending)), REJ, NOT, NOT, NOT],
        Event::ConcludeError => [NOT, NOT, REJ, (A::TellError, Some(S::Standing)), REJ, NOT, NOT, NOT],
        Event::Initiate => [NOT, NOT, REJ, REJ, REJ, NOT, NOT, NOT],
        Event::Release => [NOT, NOT, (A::TellReleased, Some(S::Released)), (A::TellAndRelease, Some(S::Ending)), (A::Nothing, Some(S::Released)), NOT, (A::Release, Some(S::Ending)), NOT],
        Event::Closed => [(A::TellAborted, None), (A::Forget, None), (A::TellAborted, None), (A::TellClosed, None), (A::TellClosed, None), (A::TellClosed, None), (A::TellClosed, None), (A::TellClosed, None)],
        Event::End => [(A::TellAborted, None), (A::Forget, None), (A::TellAborted, None), (A::TellAborted, None), (A::TellAborted, None), (A::TellAborted, None), (A::TellClosed, None), (A::TellClosed, None)],
        Event::Send => [MIS, MIS, (A::Send, None), (A::Send, None), (A::Send, None), MIS, MIS, MIS],
        Event::UserRelease => [MIS, MIS, (A::Conclude, Some(S::Concluding)), MIS, (A::Agree, Some(S::Agreed)), (A::Release, Some(S::Ending)), MIS, MIS],
    };
    let [opening, offered, standing, concluding, asked, released, agreed, ending] = row;
    match state {
        S::Opening => opening,
        S::Offered => offered,
        S::Standing => standing,
        S::Concluding => concluding,
        S::Asked => asked,
        S::Released => released,
        S::Agreed => agreed,
        S::Ending => ending,
    }
}
