//! The state tables of X.225 annex A, for the functional units that are here, as one table.
//!
//! Rows are events, columns states, both under the standard's names. A cell says what is done and which state comes
//! then. What a cell leaves open (a predicate of the standard) is decided by the action, in [`super::act`], which may
//! then say another state. Recalled from ITU-T X.225 (1995), tables A.4 to A.10, whose text was not at hand; the rows
//! of half-duplex are those of the data token.

/// A state of the session protocol machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// STA01B: the transport connection was asked for.
    WaitTransport,
    /// STA01C: a transport connection of the peer's making stands, and CN is waited for.
    WaitConnect,
    /// STA02A: CN was sent, AC is waited for. OA too, where there is more to say (STA02B).
    WaitAccept,
    /// STA15C of the standard: more of CN's data is waited for (CDO).
    WaitOverflow,
    /// STA08: the user was told of CN.
    WaitResponse,
    /// STA713: data.
    Data,
    /// STA03: FN was sent, DN is waited for.
    WaitDisconnect,
    /// STA09: the user was told of FN.
    WaitReleaseResponse,
    /// STA05A: RS was sent, RA is waited for.
    WaitResyncAck,
    /// STA11A: the user was told of RS.
    WaitResyncResponse,
    /// STA16: all is said, and the peer is to end the transport connection.
    WaitTransportEnd,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    TConCnf,
    TDisInd,
    Cn,
    Oa,
    Cdo,
    Ac,
    Rf,
    Fn,
    Dn,
    Ab,
    Aa,
    Dt,
    Td,
    Gt,
    Pt,
    Mip,
    Mia,
    Rs,
    Ra,
    /// PREPARE tells that RS, RA or AB is coming over the expedited flow's back; without that flow it says nothing new.
    Pr,
    /// An SPDU that cannot be read, or one of a functional unit that is not here.
    Invalid,
    SConRspAccept,
    SConRspRefuse,
    SDataReq,
    STypedReq,
    SRelReq,
    SRelRsp,
    SUAbReq,
    STokenReq,
    SSyncMinorReq,
    SSyncMinorRsp,
    SResyncReq,
    SResyncRsp,
    Timer,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing: it comes too late, or says nothing new.
    Nothing,
    /// Counted: the user asked for what cannot be at this time.
    Misuse,
    /// AB with "protocol error"; the user is told (S-P-ABORT).
    Error,
    SendCn,
    /// More of CN's data is waited for, or the user is told of CN.
    TakeCn,
    SendCdo,
    TakeCdo,
    /// S-CONNECT confirm, accepted.
    TakeAc,
    TakeRf,
    SendAc,
    SendRf,
    /// S-DATA indication, and the like.
    TakeData,
    TakeTyped,
    TakeTokens,
    SendData,
    SendTyped,
    SendTokens,
    SendFn,
    /// S-RELEASE indication.
    TakeFn,
    SendDn,
    /// S-RELEASE confirm, and the end of the transport connection.
    TakeDn,
    SendAb,
    /// S-U-ABORT or S-P-ABORT indication, and the end of the transport connection.
    TakeAb,
    SendMip,
    TakeMip,
    SendMia,
    TakeMia,
    SendRs,
    TakeRs,
    SendRa,
    TakeRa,
    /// Thrown away: it was sent before the peer knew of a resynchronisation (X.225 section 7.16.3).
    Purge,
    /// The transport connection is ended; nobody needs to be told.
    EndTransport,
    /// S-P-ABORT indication: the transport connection is gone, or nothing comes any more.
    Lost,
}

/// What is done, and the next state; `None` for "as it was", which actions that end a connection do not look at.
pub(super) type Cell = (Action, Option<State>);

const fn to(action: Action, state: State) -> Cell {
    (action, Some(state))
}

const fn stay(action: Action) -> Cell {
    (action, None)
}

const NO: Cell = stay(Action::Nothing);
const ER: Cell = stay(Action::Error);
const MIS: Cell = stay(Action::Misuse);
const LO: Cell = stay(Action::Lost);
const PU: Cell = stay(Action::Purge);
const UA: Cell = stay(Action::SendAb);
const TA: Cell = stay(Action::TakeAb);

/// The cell of `event` in `state`.
pub(super) const fn cell(state: State, event: Event) -> Cell {
    use Action as A;
    use State as S;
    const fn taken(action: Action) -> Cell {
        stay(action)
    }
    #[rustfmt::skip]
    let row: [Cell; 11] = match event {
        // Columns: 01B WaitTransport, 01C WaitConnect, 02A WaitAccept, 15C WaitOverflow, 08 WaitResponse, 713 Data, 03
        // WaitDisconnect, 09 WaitReleaseResponse, 05A WaitResyncAck, 11A WaitResyncResponse, 16 WaitTransportEnd.
        Event::TConCnf => [to(A::SendCn, S::WaitAccept), NO, NO, NO, NO, NO, NO, NO, NO, NO, NO],
        Event::TDisInd => [LO, LO, LO, LO, LO, LO, LO, LO, LO, LO, stay(A::EndTransport)],
        Event::Cn => [NO, to(A::TakeCn, S::WaitResponse), ER, ER, ER, ER, ER, ER, ER, ER, NO],
        Event::Oa => [NO, ER, taken(A::SendCdo), ER, ER, ER, ER, ER, ER, ER, NO],
        Event::Cdo => [NO, ER, ER, taken(A::TakeCdo), ER, ER, ER, ER, ER, ER, NO],
        Event::Ac => [NO, ER, to(A::TakeAc, S::Data), ER, ER, ER, ER, ER, ER, ER, NO],
        Event::Rf => [NO, ER, taken(A::TakeRf), ER, ER, ER, ER, ER, ER, ER, NO],
        Event::Fn => [NO, ER, ER, ER, ER, to(A::TakeFn, S::WaitReleaseResponse), to(A::TakeFn, S::WaitReleaseResponse), ER, PU, ER, NO],
        Event::Dn => [NO, ER, ER, ER, ER, ER, taken(A::TakeDn), taken(A::TakeDn), ER, ER, NO],
        Event::Ab => [NO, stay(A::EndTransport), TA, TA, TA, TA, TA, TA, TA, TA, stay(A::EndTransport)],
        Event::Aa => [NO, ER, ER, ER, ER, ER, ER, ER, ER, ER, stay(A::EndTransport)],
        Event::Dt => [NO, ER, ER, ER, ER, taken(A::TakeData), taken(A::TakeData), ER, PU, ER, NO],
        Event::Td => [NO, ER, ER, ER, ER, taken(A::TakeTyped), taken(A::TakeTyped), ER, PU, ER, NO],
        Event::Gt => [NO, ER, ER, ER, ER, taken(A::TakeTokens), taken(A::TakeTokens), ER, PU, ER, NO],
        Event::Pt => [NO, ER, ER, ER, ER, taken(A::TakeTokens), taken(A::TakeTokens), taken(A::TakeTokens), PU, ER, NO],
        Event::Mip => [NO, ER, ER, ER, ER, taken(A::TakeMip), taken(A::TakeMip), ER, PU, ER, NO],
        Event::Mia => [NO, ER, ER, ER, ER, taken(A::TakeMia), taken(A::TakeMia), taken(A::TakeMia), PU, ER, NO],
        Event::Rs => [NO, ER, ER, ER, ER, to(A::TakeRs, S::WaitResyncResponse), to(A::TakeRs, S::WaitResyncResponse), ER, taken(A::TakeRs), ER, NO],
        Event::Ra => [NO, ER, ER, ER, ER, ER, ER, ER, to(A::TakeRa, S::Data), ER, NO],
        Event::Pr => [NO, ER, ER, ER, ER, NO, NO, NO, NO, NO, NO],
        Event::Invalid => [NO, ER, ER, ER, ER, ER, ER, ER, ER, ER, NO],
        Event::SConRspAccept => [MIS, MIS, MIS, MIS, to(A::SendAc, S::Data), MIS, MIS, MIS, MIS, MIS, MIS],
        Event::SConRspRefuse => [MIS, MIS, MIS, MIS, to(A::SendRf, S::WaitTransportEnd), MIS, MIS, MIS, MIS, MIS, MIS],
        Event::SDataReq => [MIS, MIS, MIS, MIS, MIS, taken(A::SendData), MIS, taken(A::SendData), MIS, MIS, MIS],
        Event::STypedReq => [MIS, MIS, MIS, MIS, MIS, taken(A::SendTyped), MIS, taken(A::SendTyped), MIS, MIS, MIS],
        Event::SRelReq => [MIS, MIS, MIS, MIS, MIS, to(A::SendFn, S::WaitDisconnect), MIS, MIS, MIS, MIS, MIS],
        Event::SRelRsp => [MIS, MIS, MIS, MIS, MIS, MIS, MIS, stay(A::SendDn), MIS, MIS, MIS],
        Event::SUAbReq => [stay(A::EndTransport), stay(A::EndTransport), UA, UA, UA, UA, UA, UA, UA, UA, MIS],
        Event::STokenReq => [MIS, MIS, MIS, MIS, MIS, taken(A::SendTokens), MIS, taken(A::SendTokens), MIS, MIS, MIS],
        Event::SSyncMinorReq => [MIS, MIS, MIS, MIS, MIS, taken(A::SendMip), MIS, MIS, MIS, MIS, MIS],
        Event::SSyncMinorRsp => [MIS, MIS, MIS, MIS, MIS, taken(A::SendMia), taken(A::SendMia), taken(A::SendMia), MIS, MIS, MIS],
        Event::SResyncReq => [MIS, MIS, MIS, MIS, MIS, to(A::SendRs, S::WaitResyncAck), MIS, MIS, MIS, MIS, MIS],
        Event::SResyncRsp => [MIS, MIS, MIS, MIS, MIS, MIS, MIS, MIS, MIS, to(A::SendRa, S::Data), MIS],
        Event::Timer => [LO, stay(A::EndTransport), LO, LO, NO, NO, LO, NO, LO, NO, stay(A::EndTransport)],
    };
    let [s01b, s01c, s02a, s15c, s08, s713, s03, s09, s05a, s11a, s16] = row;
    match state {
        S::WaitTransport => s01b,
        S::WaitConnect => s01c,
        S::WaitAccept => s02a,
        S::WaitOverflow => s15c,
        S::WaitResponse => s08,
        S::Data => s713,
        S::WaitDisconnect => s03,
        S::WaitReleaseResponse => s09,
        S::WaitResyncAck => s05a,
        S::WaitResyncResponse => s11a,
        S::WaitTransportEnd => s16,
    }
}
