//! The client's side of obtainFile: the one file that the server may read.

use kumiki_osi_service::mms::{
    FileAttributes, FileName, FileOpen, FileOpened, FileRead, Pdu, Request, Response, ServiceError, file_error,
};

use super::Action;
use crate::file_user::Source;

/// The number of the state machine.
const FRSM: i32 = 1;

/// A file that the server may read.
#[derive(Clone, Debug)]
pub(super) struct OpenFrsm {
    /// As what it is asked for.
    pub(super) name: FileName,
    /// It is open, and this is the next octet.
    at: Option<u64>,
    /// Octets that have been given.
    pub(super) moved: u64,
    /// It has been opened.
    opened: bool,
    /// The last octet has been given.
    ended: bool,
    /// The most octets of a piece.
    piece: usize,
}

/// What came of a request.
pub(super) enum Served {
    /// It was answered, and so many octets are new.
    Octets(u64),
    /// This side cannot go on.
    Failed(String),
}

impl OpenFrsm {
    pub(super) const fn new(name: FileName, piece: usize) -> Self {
        Self { name, at: None, moved: 0, opened: false, ended: false, piece }
    }

    /// Whether it was read to its end, or to the size that it has: some servers ask for no more than that.
    pub(super) fn is_read(&self, size: Option<u64>) -> bool {
        self.opened && (self.ended || size.is_some_and(|size| self.moved >= size))
    }

    /// Answers a request for the file.
    pub(super) fn answer(
        &mut self,
        invoke: u32,
        request: &Request,
        source: &mut dyn Source,
        out: &mut Vec<Action>,
    ) -> Served {
        let done = match request {
            Request::FileOpen(open) => self.open(open, source),
            Request::FileRead(FRSM) => match self.read(source) {
                Ok(read) => {
                    let new = read.as_ref().map_or(0, |it| it.file_data.len() as u64);
                    let read = read.map(Response::FileRead);
                    out.push(answer(invoke, read));
                    return Served::Octets(new);
                }
                Err(why) => {
                    let error = ServiceError::of_file(file_error::OTHER).saying(why.as_str());
                    out.push(answer(invoke, Err(error)));
                    return Served::Failed(why);
                }
            },
            Request::FileClose(FRSM) if self.at.take().is_some() => Ok(Response::FileClose),
            Request::FileRead(_)
            | Request::FileClose(_)
            | Request::Status(_)
            | Request::Identify
            | Request::ObtainFile(_)
            | Request::FileRename(_)
            | Request::FileDelete(_)
            | Request::FileDirectory(_)
            | Request::Other(_) => Err(nothing()),
        };
        out.push(answer(invoke, done));
        Served::Octets(0)
    }

    fn open(&mut self, open: &FileOpen, source: &mut dyn Source) -> Result<Response, ServiceError> {
        if !same(&open.file_name, &self.name) {
            return Err(ServiceError::of_file(file_error::FILE_NON_EXISTENT));
        }
        if self.at.is_some() {
            return Err(ServiceError::of_file(file_error::FILE_BUSY));
        }
        let size = source.size();
        let position = u64::from(open.initial_position);
        if size.is_some_and(|size| position > size) {
            return Err(ServiceError::of_file(file_error::POSITION_INVALID));
        }
        self.at = Some(position);
        self.opened = true;
        let size_of_file = u32::try_from(size.unwrap_or(0)).unwrap_or(u32::MAX);
        Ok(Response::FileOpen(FileOpened {
            frsm: FRSM,
            attributes: FileAttributes { size_of_file, last_modified: None },
        }))
    }

    /// The next piece; the outer error is this side's.
    fn read(&mut self, source: &mut dyn Source) -> Result<Result<FileRead, ServiceError>, String> {
        let Some(at) = self.at else {
            return Ok(Err(nothing()));
        };
        let file_data = source.read(at, self.piece)?;
        let end = at.saturating_add(file_data.len() as u64);
        let whole = file_data.len() >= self.piece;
        let more_follows = whole && source.size().is_none_or(|size| end < size);
        self.at = Some(end);
        self.moved = self.moved.max(end);
        self.ended |= !more_follows;
        Ok(Ok(FileRead { file_data, more_follows }))
    }
}

fn nothing() -> ServiceError {
    ServiceError::of_file(file_error::OTHER).saying("no such file is open")
}

/// An answer.
pub(super) fn answer(invoke: u32, done: Result<Response, ServiceError>) -> Action {
    Action::Say(match done {
        Ok(service) => Pdu::Response { invoke, service },
        Err(error) => Pdu::Error { invoke, error },
    })
}

/// Whether two names are the same, in one component or in several.
fn same(one: &FileName, other: &FileName) -> bool {
    let octets = |name: &FileName| {
        let parts: Vec<&[u8]> = name.0.iter().map(|it| it.octets()).collect();
        parts.join(&b'/')
    };
    octets(one) == octets(other)
}
