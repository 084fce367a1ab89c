//! Conversations, as ISODE has them and as nobody should.

use kumiki_osi_service::ftam::bulk::{Cancel, DataEnd};
use kumiki_osi_service::ftam::file::{OpenResponse, SelectResponse};
use kumiki_osi_service::ftam::regime::{Abort, InitializeResponse};
use kumiki_osi_service::ftam::{ActionResult, Fpdu, FunctionalUnits, Kind, ServiceClasses, StateResult};
use proptest::prelude::*;

use crate::ftam::{Machine, Side, State, StateError, Step};

const I: Side = Side::Initiator;
const R: Side = Side::Responder;

/// An FPDU of this kind that says nothing.
pub(super) fn plain(kind: Kind) -> Fpdu {
    macro_rules! of {
        ($($kind:ident)*) => {
            match kind {
                $(Kind::$kind => Fpdu::$kind(Default::default()),)*
                Kind::BeginGroupResponse => Fpdu::BeginGroupResponse,
                Kind::EndGroupRequest => Fpdu::EndGroupRequest,
                Kind::EndGroupResponse => Fpdu::EndGroupResponse,
                kind => Fpdu::Raw(kumiki_osi_service::ftam::Raw { kind, content: Vec::new() }),
            }
        };
    }
    of! {
        InitializeRequest InitializeResponse TerminateRequest TerminateResponse UserAbort ProviderAbort
        SelectRequest SelectResponse DeselectRequest DeselectResponse CreateRequest CreateResponse
        DeleteRequest DeleteResponse ReadAttribRequest ReadAttribResponse
        ChangeAttribRequest ChangeAttribResponse OpenRequest OpenResponse CloseRequest CloseResponse
        BeginGroupRequest RecoverRequest RecoverResponse LocateRequest LocateResponse
        EraseRequest EraseResponse ReadRequest WriteRequest DataEndRequest
        TransferEndRequest TransferEndResponse CancelRequest CancelResponse RestartRequest RestartResponse
        ChangePrefixRequest ChangePrefixResponse ListRequest ListResponse
    }
}

fn units() -> FunctionalUnits {
    FunctionalUnits::READ
        | FunctionalUnits::WRITE
        | FunctionalUnits::LIMITED_FILE_MANAGEMENT
        | FunctionalUnits::GROUPING
}

/// In an FTAM regime with these functional units.
fn initialized(local: Side, units: FunctionalUnits) -> Machine {
    let mut machine = Machine::new(local);
    machine.on(I, &plain(Kind::InitializeRequest)).unwrap();
    let response = InitializeResponse {
        functional_units: units,
        service_class: ServiceClasses::TRANSFER_AND_MANAGEMENT,
        ..InitializeResponse::default()
    };
    let response = Fpdu::InitializeResponse(Box::new(response));
    assert_eq!(machine.on(R, &response), Ok(Step::Take));
    assert_eq!(machine.state(), State::Initialized);
    machine
}

#[track_caller]
fn all(machine: &mut Machine, fpdus: &[(Side, Kind)]) {
    for (side, kind) in fpdus {
        assert_eq!(machine.on(*side, &plain(*kind)), Ok(Step::Take), "{kind}");
    }
}

/// A file is selected and open.
const OPENED: [(Side, Kind); 8] = [
    (I, Kind::BeginGroupRequest),
    (I, Kind::SelectRequest),
    (I, Kind::OpenRequest),
    (I, Kind::EndGroupRequest),
    (R, Kind::BeginGroupResponse),
    (R, Kind::SelectResponse),
    (R, Kind::OpenResponse),
    (R, Kind::EndGroupResponse),
];

fn opened(local: Side) -> Machine {
    let mut machine = initialized(local, units());
    all(&mut machine, &OPENED);
    assert_eq!(machine.state(), State::Open);
    machine
}

#[test]
fn a_file_is_put_and_got_as_two_isodes_do_it() {
    for local in [I, R] {
        let mut machine = opened(local);
        all(&mut machine, &[(I, Kind::WriteRequest)]);
        assert_eq!(machine.on_data(I), Ok(Step::Take));
        all(
            &mut machine,
            &[
                (I, Kind::DataEndRequest),
                (I, Kind::TransferEndRequest),
                (R, Kind::TransferEndResponse),
                (I, Kind::ReadRequest),
            ],
        );
        assert_eq!(machine.on_data(R), Ok(Step::Take));
        all(
            &mut machine,
            &[
                (R, Kind::DataEndRequest),
                (I, Kind::TransferEndRequest),
                (R, Kind::TransferEndResponse),
                (I, Kind::BeginGroupRequest),
                (I, Kind::CloseRequest),
                (I, Kind::DeselectRequest),
                (I, Kind::EndGroupRequest),
                (R, Kind::BeginGroupResponse),
                (R, Kind::CloseResponse),
                (R, Kind::DeselectResponse),
                (R, Kind::EndGroupResponse),
                (I, Kind::TerminateRequest),
                (R, Kind::TerminateResponse),
            ],
        );
        assert_eq!(machine.state(), State::Closed);
    }
}

#[test]
fn a_group_ends_with_the_member_that_failed() {
    let mut machine = initialized(I, units());
    all(&mut machine, &OPENED[..5]);
    let refused = Fpdu::SelectResponse(Box::new(SelectResponse {
        state_result: StateResult::Failure,
        action_result: ActionResult::PermanentError,
        ..SelectResponse::default()
    }));
    assert_eq!(machine.on(R, &refused), Ok(Step::Take));
    let open = plain(Kind::OpenResponse);
    assert_eq!(machine.clone().on(R, &open), Err(StateError::Unasked(Kind::OpenResponse)));
    all(&mut machine, &[(R, Kind::EndGroupResponse)]);
    assert_eq!(machine.state(), State::Initialized);

    // The second fails: the first holds.
    all(&mut machine, &OPENED[..6]);
    let refused =
        Fpdu::OpenResponse(Box::new(OpenResponse { state_result: StateResult::Failure, ..OpenResponse::default() }));
    assert_eq!(machine.on(R, &refused), Ok(Step::Take));
    all(&mut machine, &[(R, Kind::EndGroupResponse)]);
    assert_eq!(machine.state(), State::Selected);
}

#[test]
fn a_group_that_leaves_out_a_response_without_a_failure_is_wrong() {
    let mut machine = initialized(I, units());
    all(&mut machine, &OPENED[..6]);
    assert_eq!(
        machine.on(R, &plain(Kind::EndGroupResponse)),
        Err(StateError::Early(Kind::EndGroupResponse, Kind::OpenResponse))
    );
}

#[test]
fn only_some_groups_are_allowed() {
    let mut machine = initialized(R, units());
    all(
        &mut machine,
        &[
            (I, Kind::BeginGroupRequest),
            (I, Kind::SelectRequest),
            (I, Kind::ReadAttribRequest),
            (I, Kind::DeselectRequest),
            (I, Kind::EndGroupRequest),
        ],
    );
    let mut machine = initialized(R, units());
    all(&mut machine, &[(I, Kind::BeginGroupRequest), (I, Kind::SelectRequest)]);
    let alone = machine.on(I, &plain(Kind::EndGroupRequest)).unwrap_err();
    assert_eq!(alone, StateError::Group(Kind::EndGroupRequest));
    assert_eq!(alone.diagnostic(R).error_identifier, 1015);
    // Terminating is nothing for a group.
    let mut machine = initialized(R, units());
    all(&mut machine, &[(I, Kind::BeginGroupRequest)]);
    assert_eq!(machine.on(I, &plain(Kind::TerminateRequest)), Err(StateError::Group(Kind::TerminateRequest)));
}

#[test]
fn what_is_not_agreed_is_not_allowed() {
    let mut machine = initialized(R, FunctionalUnits::READ);
    let group = machine.on(I, &plain(Kind::BeginGroupRequest)).unwrap_err();
    assert_eq!(group, StateError::Unit(Kind::BeginGroupRequest, FunctionalUnits::GROUPING));
    assert_eq!(group.diagnostic(R).error_identifier, 1009);
    all(
        &mut machine,
        &[(I, Kind::SelectRequest), (R, Kind::SelectResponse), (I, Kind::OpenRequest), (R, Kind::OpenResponse)],
    );
    let write = machine.on(I, &plain(Kind::WriteRequest)).unwrap_err();
    assert_eq!(write.to_string(), "F-WRITE request without the functional unit write");
}

#[test]
fn one_request_waits_for_the_response_to_another() {
    let mut machine = initialized(I, units());
    all(&mut machine, &[(I, Kind::SelectRequest)]);
    assert_eq!(machine.waits_for(), Some(Kind::SelectResponse));
    assert_eq!(
        machine.on(I, &plain(Kind::SelectRequest)),
        Err(StateError::Early(Kind::SelectRequest, Kind::SelectResponse))
    );
    let unasked = machine.on(R, &plain(Kind::CreateResponse));
    assert_eq!(unasked, Err(StateError::Unasked(Kind::CreateResponse)));
    let other_side = machine.on(I, &plain(Kind::SelectResponse));
    assert_eq!(other_side, Err(StateError::Unasked(Kind::SelectResponse)));
}

#[test]
fn what_was_under_way_when_a_transfer_is_cancelled_is_dropped() {
    // The initiator cancels what it reads, while the responder sends its end.
    let mut machine = opened(I);
    all(&mut machine, &[(I, Kind::ReadRequest), (I, Kind::CancelRequest)]);
    assert_eq!(machine.on_data(R), Ok(Step::Drop));
    assert_eq!(machine.on(R, &plain(Kind::DataEndRequest)), Ok(Step::Drop));
    all(&mut machine, &[(R, Kind::CancelResponse)]);
    assert_eq!(machine.state(), State::Open);

    // The responder sees the same in another order.
    let mut machine = opened(R);
    all(
        &mut machine,
        &[(I, Kind::ReadRequest), (R, Kind::DataEndRequest), (I, Kind::CancelRequest), (R, Kind::CancelResponse)],
    );
    assert_eq!(machine.state(), State::Open);
}

#[test]
fn an_initiator_cancels_after_the_end_of_the_data_until_it_asks_for_that_of_the_transfer() {
    let begin = [(I, Kind::ReadRequest), (R, Kind::DataEndRequest)];
    let mut machine = opened(I);
    all(&mut machine, &begin);
    all(&mut machine, &[(I, Kind::CancelRequest), (R, Kind::CancelResponse)]);
    assert_eq!(machine.state(), State::Open);
    let mut machine = opened(I);
    all(&mut machine, &begin);
    all(&mut machine, &[(I, Kind::TransferEndRequest)]);
    assert!(machine.on(I, &plain(Kind::CancelRequest)).is_err());
    // A responder answers F-TRANSFER-END request instead.
    let mut machine = opened(R);
    all(&mut machine, &[(I, Kind::WriteRequest), (I, Kind::DataEndRequest)]);
    assert!(machine.on(R, &plain(Kind::CancelRequest)).is_err());
}

#[test]
fn a_responder_that_cancels_drops_the_end_of_what_was_written() {
    let mut machine = opened(R);
    all(&mut machine, &[(I, Kind::WriteRequest), (R, Kind::CancelRequest)]);
    for kind in [Kind::DataEndRequest, Kind::TransferEndRequest] {
        assert_eq!(machine.on(I, &plain(kind)), Ok(Step::Drop));
    }
    all(&mut machine, &[(I, Kind::CancelResponse)]);
    assert_eq!(machine.state(), State::Open);

    // The initiator has asked for the end, and gets F-CANCEL in place of the response.
    let mut machine = opened(I);
    all(
        &mut machine,
        &[
            (I, Kind::WriteRequest),
            (I, Kind::DataEndRequest),
            (I, Kind::TransferEndRequest),
            (R, Kind::CancelRequest),
            (I, Kind::CancelResponse),
            (I, Kind::CloseRequest),
        ],
    );
}

#[test]
fn two_cancels_that_cross_are_both_answered() {
    let mut machine = opened(I);
    all(
        &mut machine,
        &[(I, Kind::WriteRequest), (I, Kind::CancelRequest), (R, Kind::CancelRequest), (I, Kind::CancelResponse)],
    );
    assert_eq!(machine.state(), State::Cancelling);
    all(&mut machine, &[(R, Kind::CancelResponse)]);
    assert_eq!(machine.state(), State::Open);
}

#[test]
fn a_transfer_goes_on_from_a_checkpoint() {
    let mut machine = initialized(I, units() | FunctionalUnits::RESTART_DATA_TRANSFER);
    all(&mut machine, &OPENED);
    all(&mut machine, &[(I, Kind::ReadRequest)]);
    assert_eq!(machine.on_check(R, false), Ok(Step::Take));
    assert_eq!(machine.on_check(I, true), Ok(Step::Take));
    assert_eq!(
        machine.on_check(I, false),
        Err(StateError::Check(State::Reading)),
        "who receives data sets no checkpoints"
    );
    all(&mut machine, &[(I, Kind::RestartRequest)]);
    assert_eq!(machine.on_data(R), Ok(Step::Drop));
    all(&mut machine, &[(R, Kind::RestartResponse)]);
    assert_eq!(machine.on_data(R), Ok(Step::Take));
}

#[test]
fn a_responder_that_restarts_drops_the_end_of_what_was_written() {
    let mut machine = initialized(R, units() | FunctionalUnits::RESTART_DATA_TRANSFER);
    all(&mut machine, &OPENED);
    all(&mut machine, &[(I, Kind::WriteRequest), (R, Kind::RestartRequest)]);
    assert_eq!(machine.on_data(I), Ok(Step::Drop));
    for kind in [Kind::DataEndRequest, Kind::TransferEndRequest] {
        assert_eq!(machine.on(I, &plain(kind)), Ok(Step::Drop));
    }
    all(&mut machine, &[(I, Kind::RestartResponse)]);
    assert_eq!(machine.on_data(I), Ok(Step::Take));
}

#[test]
fn an_abort_ends_everything() {
    let mut machine = opened(I);
    all(&mut machine, &[(I, Kind::ReadRequest)]);
    let abort = Fpdu::ProviderAbort(Box::<Abort>::default());
    assert_eq!(machine.on(R, &abort), Ok(Step::Take));
    assert_eq!(machine.state(), State::Closed);
    assert!(machine.on(R, &abort).is_err());
    assert_eq!(machine.on_data(R), Err(StateError::Data(State::Closed)));
}

#[test]
fn data_comes_only_from_the_side_that_has_it() {
    let mut machine = opened(I);
    all(&mut machine, &[(I, Kind::WriteRequest)]);
    assert_eq!(machine.on_data(R), Err(StateError::Data(State::Writing)));
    let end = Fpdu::DataEndRequest(Box::<DataEnd>::default());
    assert_eq!(machine.on(R, &end), Err(StateError::Time(Kind::DataEndRequest, State::Writing)));
    let cancel = Fpdu::CancelRequest(Box::<Cancel>::default());
    assert_eq!(machine.on(R, &cancel), Ok(Step::Take));
}

proptest! {
    /// Whatever arrives, nothing breaks, what is refused changes nothing, and what waits is bounded.
    #[test]
    fn any_fpdus_in_any_order_are_taken_or_refused(
        fpdus in proptest::collection::vec((any::<bool>(), proptest::sample::select(Kind::ALL)), 0..200),
        local in any::<bool>(),
    ) {
        let side = |initiator| if initiator { I } else { R };
        let every = FunctionalUnits::from_bits(u32::MAX);
        let mut machine = initialized(side(local), every);
        for (initiator, kind) in fpdus {
            let before = format!("{machine:?}");
            if machine.on(side(initiator), &plain(kind)).is_err() {
                prop_assert_eq!(format!("{machine:?}"), before);
            }
            if machine.state() == State::Closed && machine.waits_for().is_none() {
                machine = initialized(side(local), every);
            }
        }
    }
}
