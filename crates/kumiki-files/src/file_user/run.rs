//! One operation while it is done.

use std::collections::VecDeque;

use kumiki_osi_service::ftam::attributes::ReadAttributes;
use kumiki_osi_service::ftam::file::BeginGroupRequest;
use kumiki_osi_service::ftam::{Fpdu, Kind};

use super::stage::Stage;
use super::{Failure, Operation};
use crate::filestore::{Action, Form, Lengths};

/// Where a transfer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum TransferState {
    /// There is none.
    #[default]
    No,
    /// The peer sends.
    In,
    /// This side sends.
    Out,
    /// All is sent, here or there.
    Ended,
    /// This side asked to cancel it.
    Cancelling,
}

/// An operation in progress.
pub(super) struct Run {
    pub(super) operation: Operation,
    pub(super) stages: VecDeque<Stage>,
    /// Responses that are waited for.
    pub(super) waiting: VecDeque<Kind>,
    /// Requests to be sent one after the other.
    pub(super) unsent: VecDeque<Fpdu>,
    pub(super) grouped: bool,
    pub(super) selected: bool,
    pub(super) open: bool,
    pub(super) unwinding: bool,
    pub(super) failure: Option<Failure>,
    pub(super) form: Option<Form>,
    /// How long its strings may be.
    pub(super) lengths: Lengths,
    pub(super) moving: TransferState,
    /// Octets of the file that are behind.
    pub(super) offset: u64,
    /// Where the peer's or own checkpoints are, from 1 on.
    pub(super) points: Vec<u64>,
    pub(super) secured: usize,
    pub(super) moved: u64,
    pub(super) entries: Vec<ReadAttributes>,
    pub(super) attributes: Option<Box<ReadAttributes>>,
    /// By which number the responder knows the transfer after the association has gone, if it keeps it.
    pub(super) activity: Option<i64>,
    /// The association has broken, and the transfer has not started over yet.
    pub(super) recovering: bool,
    /// An earlier run has begun the transfer, and secured so many checkpoints. Where those before the last are is not
    /// known.
    pub(super) floor: usize,
    /// F-RECOVER for that has no good answer yet.
    pub(super) resuming: bool,
    /// F-TRANSFER-END has a good answer.
    pub(super) transferred: bool,
}

impl Run {
    pub(super) fn new(operation: Operation, stages: VecDeque<Stage>) -> Self {
        Self {
            operation,
            stages,
            waiting: VecDeque::new(),
            unsent: VecDeque::new(),
            grouped: false,
            selected: false,
            open: false,
            unwinding: false,
            failure: None,
            form: None,
            lengths: Lengths::default(),
            moving: TransferState::No,
            offset: 0,
            points: Vec::new(),
            secured: 0,
            moved: 0,
            entries: Vec::new(),
            attributes: None,
            activity: None,
            recovering: false,
            floor: 0,
            resuming: false,
            transferred: false,
        }
    }

    /// The first failure is the cause of all others.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Asks for these, at once where they can be a group, one after the other where not.
    pub(super) fn ask(&mut self, fpdus: Vec<Fpdu>, grouping: bool, out: &mut Vec<Action>) {
        if !grouping || fpdus.len() < 2 {
            self.unsent = fpdus.into();
            return;
        }
        self.grouped = true;
        let threshold = i64::try_from(fpdus.len()).unwrap_or(i64::MAX);
        out.push(Fpdu::BeginGroupRequest(BeginGroupRequest { threshold }).into());
        for fpdu in fpdus {
            self.waiting.extend(response(fpdu.kind()));
            out.push(fpdu.into());
        }
        out.push(Fpdu::EndGroupRequest.into());
    }
}

/// The response to a request: its number is the next one.
pub(super) fn response(request: Kind) -> Option<Kind> {
    Kind::of(request.tag() + 1)
}
