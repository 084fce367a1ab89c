//! The PDUs.

use core::fmt;

use kumiki_octets::{Message, Payload};

use super::{Initiate, Reject, Service, ServiceError};
use crate::Oid;
use crate::ftam::{GeneralizedTime, GraphicString};

/// The name of a file: components, of which most peers have one, with their own separators in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FileName(pub Vec<GraphicString>);

impl From<&str> for FileName {
    fn from(name: &str) -> Self {
        Self(vec![name.into()])
    }
}

/// Components with `/` between them.
impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for component in &self.0 {
            write!(f, "{before}{component}")?;
            before = "/";
        }
        Ok(())
    }
}

/// A service that is not looked into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Raw {
    /// The tag: of a confirmed service its number.
    pub tag: u32,
    /// The whole element, tag and length included.
    pub octets: Vec<u8>,
}

/// Status response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// 0 all is allowed, 1 no changes, 2 limited, 3 support services only.
    pub logical: i64,
    /// 0 operational, 1 partially, 2 not, 3 needs commissioning.
    pub physical: i64,
}

/// Identify response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    /// Who made it.
    pub vendor_name: String,
    /// What it is.
    pub model_name: String,
    /// Which of these.
    pub revision: String,
    /// Abstract syntaxes; may be empty.
    pub abstract_syntaxes: Vec<Oid>,
}

/// What is known of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileAttributes {
    /// Its size in octets: 32 bits.
    pub size_of_file: u32,
    /// When it was changed last.
    pub last_modified: Option<GeneralizedTime>,
}

/// obtainFile request: the server fetches a file from the client, or from a third.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObtainFile {
    /// The third from whom the file is to be fetched, in the octets of its encoding, tag and length included; none: the
    /// client itself.
    pub source_file_server: Option<Vec<u8>>,
    /// Its name there.
    pub source_file: FileName,
    /// Its name here.
    pub destination_file: FileName,
}

/// fileOpen request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileOpen {
    /// Its name.
    pub file_name: FileName,
    /// At which octet reading begins.
    pub initial_position: u32,
}

/// fileOpen response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileOpened {
    /// The number of the file read state machine.
    pub frsm: i32,
    /// Of the file.
    pub attributes: FileAttributes,
}

/// fileRead response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRead {
    /// The next octets of the file.
    pub file_data: Message,
    /// Whether there may be more.
    pub more_follows: bool,
}

/// fileRename request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileRename {
    /// The name it has.
    pub current: FileName,
    /// The name it is to have.
    pub new: FileName,
}

/// fileDirectory request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileDirectory {
    /// What is to be listed; all, unless given.
    pub file_specification: Option<FileName>,
    /// Only what is behind this name.
    pub continue_after: Option<FileName>,
}

/// A file in a directory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DirectoryEntry {
    /// Its name.
    pub filename: FileName,
    /// What is known of it.
    pub attributes: FileAttributes,
}

/// fileDirectory response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileDirectoryResponse {
    /// What there is.
    pub entries: Vec<DirectoryEntry>,
    /// Whether there is more behind the last one.
    pub more_follows: bool,
}

/// A confirmed service that is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are those of the services")]
pub enum Request {
    /// Whether it is derived again (`extendedDerivation`).
    Status(bool),
    Identify,
    ObtainFile(Box<ObtainFile>),
    FileOpen(FileOpen),
    /// The number of the file read state machine.
    FileRead(i32),
    /// The number of the file read state machine.
    FileClose(i32),
    FileRename(FileRename),
    FileDelete(FileName),
    FileDirectory(FileDirectory),
    /// Any other.
    Other(Raw),
}

impl Request {
    /// Which it is.
    #[must_use]
    pub const fn service(&self) -> Service {
        match self {
            Self::Status(_) => Service::STATUS,
            Self::Identify => Service::IDENTIFY,
            Self::ObtainFile(_) => Service::OBTAIN_FILE,
            Self::FileOpen(_) => Service::FILE_OPEN,
            Self::FileRead(_) => Service::FILE_READ,
            Self::FileClose(_) => Service::FILE_CLOSE,
            Self::FileRename(_) => Service::FILE_RENAME,
            Self::FileDelete(_) => Service::FILE_DELETE,
            Self::FileDirectory(_) => Service::FILE_DIRECTORY,
            Self::Other(raw) => Service(raw.tag),
        }
    }
}

/// What a confirmed service gives.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are those of the services")]
pub enum Response {
    Status(Status),
    Identify(Box<Identity>),
    ObtainFile,
    FileOpen(FileOpened),
    FileRead(FileRead),
    FileClose,
    FileRename,
    FileDelete,
    FileDirectory(FileDirectoryResponse),
    /// Any other.
    Other(Raw),
}

impl Response {
    /// Of which service.
    #[must_use]
    pub const fn service(&self) -> Service {
        match self {
            Self::Status(_) => Service::STATUS,
            Self::Identify(_) => Service::IDENTIFY,
            Self::ObtainFile => Service::OBTAIN_FILE,
            Self::FileOpen(_) => Service::FILE_OPEN,
            Self::FileRead(_) => Service::FILE_READ,
            Self::FileClose => Service::FILE_CLOSE,
            Self::FileRename => Service::FILE_RENAME,
            Self::FileDelete => Service::FILE_DELETE,
            Self::FileDirectory(_) => Service::FILE_DIRECTORY,
            Self::Other(raw) => Service(raw.tag),
        }
    }
}

/// An MMS PDU, and the primitive of the same name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pdu {
    /// confirmed-Request.
    Request {
        /// The number of the service, which the side that asks chooses.
        invoke: u32,
        /// `listOfModifier` in its octets, tag and length included; mostly empty.
        modifiers: Vec<u8>,
        /// What is asked for.
        service: Request,
    },
    /// confirmed-Response.
    Response {
        /// The number of the service.
        invoke: u32,
        /// What it gives.
        service: Response,
    },
    /// confirmed-Error.
    Error {
        /// The number of the service.
        invoke: u32,
        /// Why it was not done.
        error: ServiceError,
    },
    /// unconfirmed: its service by its own tag, see [`Service::unconfirmed`].
    Unconfirmed(Raw),
    /// reject.
    Reject(Reject),
    /// cancel-Request.
    CancelRequest(u32),
    /// cancel-Response.
    CancelResponse(u32),
    /// cancel-Error.
    CancelError {
        /// The number of the service that goes on.
        invoke: u32,
        /// Why.
        error: ServiceError,
    },
    /// initiate-Request.
    InitiateRequest(Initiate),
    /// initiate-Response.
    InitiateResponse(Initiate),
    /// initiate-Error.
    InitiateError(ServiceError),
    /// conclude-Request.
    ConcludeRequest,
    /// conclude-Response.
    ConcludeResponse,
    /// conclude-Error.
    ConcludeError(ServiceError),
}

impl Pdu {
    /// A request without modifiers.
    #[must_use]
    pub const fn request(invoke: u32, service: Request) -> Self {
        Self::Request { invoke, modifiers: Vec::new(), service }
    }

    /// The name in the standard.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Request { .. } => "confirmed-Request",
            Self::Response { .. } => "confirmed-Response",
            Self::Error { .. } => "confirmed-Error",
            Self::Unconfirmed(_) => "unconfirmed",
            Self::Reject(_) => "reject",
            Self::CancelRequest(_) => "cancel-Request",
            Self::CancelResponse(_) => "cancel-Response",
            Self::CancelError { .. } => "cancel-Error",
            Self::InitiateRequest(_) => "initiate-Request",
            Self::InitiateResponse(_) => "initiate-Response",
            Self::InitiateError(_) => "initiate-Error",
            Self::ConcludeRequest => "conclude-Request",
            Self::ConcludeResponse => "conclude-Response",
            Self::ConcludeError(_) => "conclude-Error",
        }
    }
}

impl Payload for Pdu {
    /// The content of a file, where it carries some.
    fn payload(&self) -> Option<&Message> {
        if let Self::Response { service: Response::FileRead(read), .. } = self { Some(&read.file_data) } else { None }
    }
}

impl fmt::Display for Pdu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Request { invoke, service, .. } => {
                write!(f, " {invoke} {}", service.service())?;
                match service {
                    Request::ObtainFile(it) => {
                        write!(f, " {} as {}", it.source_file, it.destination_file)
                    }
                    Request::FileOpen(it) => {
                        write!(f, " {} at {}", it.file_name, it.initial_position)
                    }
                    Request::FileRead(frsm) | Request::FileClose(frsm) => write!(f, " {frsm}"),
                    Request::FileRename(it) => write!(f, " {} to {}", it.current, it.new),
                    Request::FileDelete(name) => write!(f, " {name}"),
                    Request::FileDirectory(it) => match &it.file_specification {
                        Some(name) => write!(f, " {name}"),
                        None => Ok(()),
                    },
                    Request::Status(_) | Request::Identify | Request::Other(_) => Ok(()),
                }
            }
            Self::Response { invoke, service } => {
                write!(f, " {invoke} {}", service.service())?;
                match service {
                    Response::FileOpen(it) => {
                        let size = it.attributes.size_of_file;
                        write!(f, " {}, {size} octets", it.frsm)
                    }
                    Response::FileRead(it) => {
                        let more = if it.more_follows { "" } else { ", the last" };
                        write!(f, " {} octets{more}", it.file_data.len())
                    }
                    Response::FileDirectory(it) => write!(f, " {} entries", it.entries.len()),
                    Response::Status(_)
                    | Response::Identify(_)
                    | Response::ObtainFile
                    | Response::FileClose
                    | Response::FileRename
                    | Response::FileDelete
                    | Response::Other(_) => Ok(()),
                }
            }
            Self::Error { invoke, error } | Self::CancelError { invoke, error } => {
                write!(f, " {invoke}: {error}")
            }
            Self::Unconfirmed(raw) => match Service::unconfirmed(raw.tag) {
                Some(service) => write!(f, " {service}"),
                None => write!(f, " service {}", raw.tag),
            },
            Self::Reject(reject) => write!(f, ": {reject}"),
            Self::CancelRequest(invoke) | Self::CancelResponse(invoke) => write!(f, " {invoke}"),
            Self::InitiateRequest(it) | Self::InitiateResponse(it) => match it.local_detail {
                Some(octets) => write!(f, " PDUs of {octets} octets"),
                None => Ok(()),
            },
            Self::InitiateError(error) | Self::ConcludeError(error) => write!(f, ": {error}"),
            Self::ConcludeRequest | Self::ConcludeResponse => Ok(()),
        }
    }
}
