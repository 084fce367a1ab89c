//! The state table of class 0 (X.224 annex A, table A-5), with the network connection's beginning and end in it.

/// Where a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The network connection was asked for (WFNC).
    WaitNetwork,
    /// A network connection was accepted, and its CR is waited for: CLOSED of the standard, which knows no network
    /// connection without a transport connection.
    WaitRequest,
    /// CR was sent (WFCC).
    WaitConfirm,
    /// The user was told of a CR (WFTRESP).
    WaitResponse,
    /// Data (OPEN).
    Open,
}

/// What happens to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    NetworkConfirm,
    Cr,
    Cc,
    Dr,
    Er,
    Dt,
    /// A TPDU that cannot be read, or that class 0 does not have.
    Invalid,
    /// The network connection ended or was reset.
    NetworkEnd,
    /// The user takes the connection.
    Response,
    /// The user refuses it or wants no more of it.
    DisconnectRequest,
    /// It took too long.
    Timeout,
}

/// What is then done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing: cannot happen, or comes too late.
    Nothing,
    /// CR is sent.
    SendCr,
    /// The user is offered the connection.
    Offer,
    /// CC is sent.
    SendCc,
    /// The user is told that it stands.
    Confirm,
    /// The data is the user's.
    Take,
    /// DR is sent and the network connection ended: the caller is refused.
    Refuse,
    /// The network connection is ended, and with it the transport connection; the user asked for it.
    Leave,
    /// The network connection is ended; the user, if it knows of the connection, is told why.
    Lost,
    /// A protocol error: ER is sent, and then as [`Action::Lost`].
    Error,
}

/// What `event` does in `state`, and which state comes then; `None` where the connection is over.
pub(super) const fn next(state: State, event: Event) -> Cell {
    use Action as A;
    use State as S;
    #[rustfmt::skip]
    let row = match event {
        //                     WaitNetwork                            WaitRequest                        WaitConfirm                       WaitResponse                       Open
        Event::NetworkConfirm => [(A::SendCr, Some(S::WaitConfirm)), keep(S::WaitRequest), keep(S::WaitConfirm), keep(S::WaitResponse), keep(S::Open)],
        Event::Cr => [keep(S::WaitNetwork), (A::Offer, Some(S::WaitResponse)), ERROR, ERROR, ERROR],
        Event::Cc => [keep(S::WaitNetwork), ERROR, (A::Confirm, Some(S::Open)), ERROR, ERROR],
        // Of an open connection the standard makes it an error; ISODE takes its leave so.
        Event::Dr => [keep(S::WaitNetwork), LOST, LOST, LOST, LOST],
        Event::Er => [keep(S::WaitNetwork), LOST, LOST, LOST, LOST],
        Event::Dt => [keep(S::WaitNetwork), ERROR, ERROR, ERROR, (A::Take, Some(S::Open))],
        Event::Invalid => [keep(S::WaitNetwork), ERROR, ERROR, ERROR, ERROR],
        Event::NetworkEnd => [LOST, LOST, LOST, LOST, LOST],
        Event::Response => [keep(S::WaitNetwork), keep(S::WaitRequest), keep(S::WaitConfirm), (A::SendCc, Some(S::Open)), keep(S::Open)],
        Event::DisconnectRequest => [LEAVE, LEAVE, LEAVE, (A::Refuse, None), LEAVE],
        Event::Timeout => [LOST, LOST, LOST, (A::Refuse, None), keep(S::Open)],
    };
    let [network, request, confirm, response, open] = row;
    match state {
        S::WaitNetwork => network,
        S::WaitRequest => request,
        S::WaitConfirm => confirm,
        S::WaitResponse => response,
        S::Open => open,
    }
}

/// What is done, and the next state.
pub(super) type Cell = (Action, Option<State>);

const LOST: Cell = (Action::Lost, None);
const LEAVE: Cell = (Action::Leave, None);
const ERROR: Cell = (Action::Error, None);

const fn keep(state: State) -> Cell {
    (Action::Nothing, Some(state))
}
