//! The words of the Manufacturing Message Specification: PDUs, and of its services those for files.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 9506-1 (services; files in annex D), 9506-2 (protocol). The text was not at hand: names and numbers are those of the ASN.1 that Wireshark has; the rest is recalled, and judged by tshark and libiec61850 |
//! | Above | a user of MMS: a file client, a filestore |
//! | Below | ACSE, the presentation service |
//! | Left out | what is inside of all services but status, identify and those for files ([`Raw`]); modifiers and companion standards' details, which are kept as octets |
//!
//! | read | for |
//! |---|---|
//! | [`Pdu`] | every PDU |
//! | [`Service`] | what the services are called |
//! | [`Initiate`] | what is agreed on at the beginning |
//! | [`ServiceError`], [`Reject`] | why something was not done |
//! | [`Request`], [`Response`] | the services |

mod error;
mod initiate;
mod pdu;
mod service;

pub use error::{ErrorClass, FaultyFile, Reject, RejectedPdu, ServiceError, file_error};
pub use initiate::{Initiate, Services, parameters};
pub use pdu::{
    DirectoryEntry, FileAttributes, FileDirectory, FileDirectoryResponse, FileName, FileOpen, FileOpened, FileRead,
    FileRename, Identity, ObtainFile, Pdu, Raw, Request, Response, Status,
};
pub use service::Service;

use crate::Oid;

/// The abstract syntax.
pub const ABSTRACT_SYNTAX: Oid = Oid::of(&[1, 0, 9506, 2, 1]);

/// The application context.
pub const APPLICATION_CONTEXT: Oid = Oid::of(&[1, 0, 9506, 2, 3]);

/// The mechanism by which a password authenticates an association (ITU-T X.227, as IEC 61850-8-1 has it; recalled).
pub const PASSWORD_MECHANISM: Oid = Oid::of(&[2, 2, 3, 1]);
