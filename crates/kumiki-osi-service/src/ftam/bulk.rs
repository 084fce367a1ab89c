//! Bulk data: reading, writing, ending, cancelling and restarting. Data itself is [`data`](super::data), and no FPDU; a
//! checkpoint is a synchronisation point of the session, and none either.

use core::fmt;

use super::access::{AccessContext, FaduIdentity, FaduLock, FaduOperation};
use super::{ActionResult, Diagnostic, External};

/// F-READ request. It has no response: data follows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadRequest {
    /// Which file access data unit.
    pub fadu_identity: FaduIdentity,
    /// In which form.
    pub access_context: AccessContext,
    /// Whether it is locked.
    pub fadu_lock: Option<FaduLock>,
    /// Which transfer since the file was opened. Only with consecutive or concurrent access.
    pub transfer_number: Option<i64>,
}

/// F-WRITE request. It has no response: data follows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WriteRequest {
    /// What is done with it.
    pub fadu_operation: FaduOperation,
    /// Which file access data unit.
    pub fadu_identity: FaduIdentity,
    /// Whether it is locked.
    pub fadu_lock: Option<FaduLock>,
    /// Which transfer since the file was opened. Only with consecutive or concurrent access.
    pub transfer_number: Option<i64>,
}

/// F-DATA-END request: the sender of data has sent all, or no more will come. It has no response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DataEnd {
    /// Whether it was all.
    pub action_result: ActionResult,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// Which of two transfers at the same time is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum RequestType {
    /// The one that reads.
    #[default]
    Read,
    /// The one that writes.
    Write,
}

impl fmt::Display for RequestType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// F-TRANSFER-END request, always of the initiator.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TransferEndRequest {
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Which transfer. Only with consecutive or concurrent access, as what follows.
    pub request_type: Option<RequestType>,
    /// Its number.
    pub transfer_number: Option<i64>,
    /// The last transfer of reading that ended with a response.
    pub last_transfer_end_read_response: Option<i64>,
    /// The last transfer of writing that ended with a response.
    pub last_transfer_end_write_response: Option<i64>,
}

/// F-TRANSFER-END response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TransferEndResponse {
    /// Whether all data is where it should be.
    pub action_result: ActionResult,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
    /// Which transfer. Only with consecutive or concurrent access, as what follows.
    pub request_type: Option<RequestType>,
    /// Its number.
    pub transfer_number: Option<i64>,
}

/// F-CANCEL, request or response: a transfer ends before its end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cancel {
    /// Whether trying again makes sense.
    pub action_result: ActionResult,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Why. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
    /// Which transfer. Only with consecutive or concurrent access, as what follows.
    pub request_type: Option<RequestType>,
    /// Its number.
    pub transfer_number: Option<i64>,
    /// The last transfer of reading that was asked to end.
    pub last_transfer_end_read_request: Option<i64>,
    /// The last transfer of reading that ended with a response.
    pub last_transfer_end_read_response: Option<i64>,
    /// The last transfer of writing that was asked to end.
    pub last_transfer_end_write_request: Option<i64>,
    /// The last transfer of writing that ended with a response.
    pub last_transfer_end_write_response: Option<i64>,
}

/// F-RESTART, request or response: a transfer goes on from a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Restart {
    /// Which checkpoint; 0 is the start of the transfer.
    pub checkpoint_identifier: i64,
    /// Which transfer. Only with consecutive or concurrent access, as what follows.
    pub request_type: Option<RequestType>,
    /// Its number.
    pub transfer_number: Option<i64>,
    /// The last transfer of reading that was asked to end.
    pub last_transfer_end_read_request: Option<i64>,
    /// The last transfer of reading that ended with a response.
    pub last_transfer_end_read_response: Option<i64>,
    /// The last transfer of writing that was asked to end.
    pub last_transfer_end_write_request: Option<i64>,
    /// The last transfer of writing that ended with a response.
    pub last_transfer_end_write_response: Option<i64>,
}
