//! The responding user of the file service: a virtual filestore, and who answers for it.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 8571-2 (virtual filestore), 8571-3 (service). The text was not at hand: rules that are recalled and not seen in a capture are marked |
//! | Above | any [`Filestore`]: [`Memory`] here, real directories elsewhere |
//! | Below | the file service: FTAM's provider |
//! | Left out | version 2 (F-LIST, F-CHANGE-PREFIX and what came with them), FTAM-4, file access data units other than whole files and FTAM-2's records, locks on them, commitment control, charging, consecutive and concurrent access |
//!
//! | read | for |
//! |---|---|
//! | [`Filestore`], [`StoreError`] | what a store does, and how it says no |
//! | [`Guard`] | who may: locks, permitted actions, access passwords and interrupted transfers, for all stores in one place |
//! | [`Responder`] | one association: takes primitives, gives primitives; no graph, no clock |
//! | [`FileServer`] | the node: [`node`], many associations |
//!
//! **Atomic writing.** What is written is in the store under its name when F-TRANSFER-END is answered, all of it or
//! nothing. A transfer that is cancelled or breaks leaves the file as it was, also where F-CREATE overrode it with its
//! old attributes: that empties the file only if nothing was written by F-DESELECT. A file that F-CREATE has made is
//! gone again where a transfer was cancelled or the association has broken, and nothing was written to it.

mod exchange;
mod form;
mod guard;
mod memory;
mod name;
mod newlines;
mod responder;
#[cfg(test)]
pub(crate) mod tests;

use core::any::Any;

use kumiki_octets::Message;
use kumiki_osi_service::ftam::access::AccessControlElement;
use kumiki_osi_service::ftam::attributes::ReadAttributes;
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::{
    ActionResult, CalendarTime, Diagnostic, DiagnosticType, Entity, GraphicString, Password, PermittedActions,
};
use thiserror::Error;

pub use exchange::Action;
pub use form::{Form, Lengths};
pub use guard::{Guard, RecoveryStore, Selection, Table};
pub use memory::Memory;
pub use name::Name;
pub use newlines::{CrlfToLf, LfToCrlf};
pub(crate) use responder::renaming;
pub use responder::{Config as ResponderConfig, Responder};

use crate::node;

/// What can be set of a server.
pub type Config = node::ServerConfig<ResponderConfig>;

/// The node that serves a filestore by FTAM.
pub type FileServer = node::FileServer<Responder>;

/// What is said of a file that would be too long, up to the number of octets: room made elsewhere does not help then.
pub(crate) const TOO_LONG: &str = "a file may have no more than";

/// Why a store, or who guards it, does not do what was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{identifier} {text}")]
pub struct StoreError {
    /// Error identifier of ISO 8571-3; see [`kumiki_osi_service::ftam::diagnostic::IDENTIFIERS`].
    pub identifier: i64,
    /// Trying again may help.
    pub transient: bool,
    /// What the identifier does not say; may be empty. It is sent to the peer.
    pub text: String,
}

impl StoreError {
    /// One that stays.
    #[must_use]
    pub fn permanent(identifier: i64, text: impl Into<String>) -> Self {
        Self { identifier, transient: false, text: text.into() }
    }

    /// One that may pass.
    #[must_use]
    pub fn transient(identifier: i64, text: impl Into<String>) -> Self {
        Self { transient: true, ..Self::permanent(identifier, text) }
    }

    /// 3004: there is no such file.
    #[must_use]
    pub fn missing(name: &Name) -> Self {
        Self::permanent(3004, name.to_string())
    }

    /// 3005: there is one already.
    #[must_use]
    pub fn exists(name: &Name) -> Self {
        Self::permanent(3005, name.to_string())
    }

    /// 5029: no space.
    #[must_use]
    pub fn space(text: impl Into<String>) -> Self {
        Self::transient(5029, text)
    }

    /// 5029: the file would be longer than one may be.
    #[must_use]
    pub fn too_long(most: u64) -> Self {
        Self::permanent(5029, format!("{TOO_LONG} {most} octets"))
    }

    /// 5027: a directory has more entries than can be told.
    #[must_use]
    pub fn crowded(most: usize) -> Self {
        Self::permanent(5027, format!("the directory has more than {most} entries"))
    }

    /// 6006: an interrupted transfer cannot be gone on with.
    #[must_use]
    pub fn docket(text: impl Into<String>) -> Self {
        Self::permanent(6006, text)
    }

    /// 2020: wrong name or password; the same text for both, so that names cannot be found out by trying.
    #[must_use]
    pub fn login() -> Self {
        Self::permanent(2020, "")
    }

    /// What is sent of it.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic {
            diagnostic_type: if self.transient { DiagnosticType::Transient } else { DiagnosticType::Permanent },
            error_identifier: self.identifier,
            error_observer: Entity::RespondingUser,
            // 5026 to 5031 are the store's own troubles, the others come of what was asked for.
            error_source: if matches!(self.identifier, 1..=3 | 9 | 5026..=5031) {
                Entity::RespondingUser
            } else {
                Entity::InitiatingUser
            },
            suggested_delay: None,
            further_details: (!self.text.is_empty()).then(|| self.text.as_str().into()),
        }
    }

    /// The result that goes with it.
    #[must_use]
    pub const fn result(&self) -> ActionResult {
        if self.transient { ActionResult::TransientError } else { ActionResult::PermanentError }
    }
}

/// Something worth saying although it was done.
pub(crate) fn informative(identifier: i64, text: &str) -> Diagnostic {
    Diagnostic {
        diagnostic_type: DiagnosticType::Informative,
        error_identifier: identifier,
        error_observer: Entity::RespondingUser,
        error_source: Entity::RespondingUser,
        suggested_delay: None,
        further_details: (!text.is_empty()).then(|| text.into()),
    }
}

/// Who wants an association.
#[derive(Clone, Copy, Debug, Default)]
pub struct Login<'a> {
    /// The name given.
    pub initiator: Option<&'a GraphicString>,
    /// The account given.
    pub account: Option<&'a GraphicString>,
    /// The password given.
    pub password: Option<&'a Password>,
}

/// A user whom the store knows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct User {
    /// The name; empty for one who has not said any.
    pub name: GraphicString,
}

/// A file that is to be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NewFile {
    /// What is in it; NBS-9 makes a directory.
    pub contents_type: ContentsType,
    /// What is possible with it at all.
    pub permitted_actions: PermittedActions,
    /// How large it may become, in octets, if that was said.
    pub future_size: Option<u64>,
    /// Who may do what; empty: everybody, everything permitted.
    pub access_control: Vec<AccessControlElement>,
}

/// Names an open file of a store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub u64);

/// An open file on its way from one store to another of the same kind, perhaps in another thread. Where it comes to
/// nothing, dropping it closes the file: what was written and not committed is forgotten.
pub struct Detached(Box<dyn Any + Send>);

impl Detached {
    /// What a store hands over.
    #[must_use]
    pub fn new(what: impl Any + Send) -> Self {
        Self(Box::new(what))
    }

    /// What it is, for a store that has handed over such a thing; none where it is another's.
    #[must_use]
    pub fn downcast<T: Any + Send>(self) -> Option<T> {
        self.0.downcast().ok().map(|it| *it)
    }
}

impl core::fmt::Debug for Detached {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Detached")
    }
}

/// Where writing begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Start {
    /// At 0: what was there goes when the new contents are committed.
    Replace,
    /// At the end.
    Extend,
}

/// A store of files. Names are checked and users are allowed what they ask for before it is asked.
///
/// Contents are octets: lines and records are made of them by [`Form`], so a store need not know of document types.
pub trait Filestore: Send {
    /// Who this is.
    ///
    /// # Errors
    /// [`StoreError::login`] for whoever is not known, whatever the cause.
    fn authenticate(&mut self, login: &Login<'_>) -> Result<User, StoreError>;

    /// Whether the type of a file is kept. Where it is not, a file may be opened as any type of octets or text.
    fn keeps_types(&self) -> bool;

    /// Whether access control is kept.
    fn keeps_access_control(&self) -> bool;

    /// All attributes of a file or directory, among them always `contents_type` and `permitted_actions`.
    ///
    /// # Errors
    /// 3004 where there is none, others as it happens.
    fn attributes(&mut self, user: &User, name: &Name) -> Result<ReadAttributes, StoreError>;

    /// The names of what is in a directory, each its last component, in their order. `most` is the number that there is
    /// room for. What else is told of them is asked for one by one, so a long directory takes no more room than its
    /// names.
    ///
    /// # Errors
    /// 3004 where it is no directory, [`StoreError::crowded`] where it has more: a part of them would be taken for all.
    fn list(&mut self, user: &User, name: &Name, most: usize) -> Result<Vec<GraphicString>, StoreError>;

    /// Makes an empty file or directory.
    ///
    /// # Errors
    /// 3005 where there is one, 3006 where the directory is missing.
    fn create(&mut self, user: &User, name: &Name, file: &NewFile, now: CalendarTime) -> Result<(), StoreError>;

    /// Something that was asked for was not done, by this store or before it was asked: what (`delete`), of what name
    /// as it was written, and why. For stores that keep a journal.
    fn refused(&mut self, _what: &str, _name: &str, _why: &str) {}

    /// The attributes of a file were told by themselves.
    fn looked(&mut self, _name: &Name) {}

    /// A file that was made, and to which nothing was written, is to stay as it is. Until this, or a commit, a store
    /// that is opened again may take it for what a crash has left.
    fn made(&mut self, name: &Name);

    /// Removes a file or an empty directory.
    ///
    /// # Errors
    /// 3004, 3007.
    fn delete(&mut self, user: &User, name: &Name) -> Result<(), StoreError>;

    /// Gives a file or directory another name.
    ///
    /// # Errors
    /// 3004; 4005 where there is one of the new name, or no such directory.
    fn rename(&mut self, user: &User, from: &Name, to: &Name, now: CalendarTime) -> Result<(), StoreError>;

    /// Sets the access control of a file.
    ///
    /// # Errors
    /// 4002 where it is not kept.
    fn set_access_control(
        &mut self,
        user: &User,
        name: &Name,
        elements: Vec<AccessControlElement>,
        now: CalendarTime,
    ) -> Result<(), StoreError>;

    /// Opens a file for reading, and says how many octets it has.
    ///
    /// # Errors
    /// 3004, 5027.
    fn read_from(&mut self, user: &User, name: &Name, now: CalendarTime) -> Result<(FileId, u64), StoreError>;

    /// Opens a file for writing, and says at which octet that begins. Others see the file as it was until
    /// [`Filestore::commit`].
    ///
    /// # Errors
    /// 3004, 5026.
    fn write_to(&mut self, user: &User, name: &Name, start: Start) -> Result<(FileId, u64), StoreError>;

    /// Up to `most` octets from `offset` on, not copied where the store has them in memory. None only at the end.
    ///
    /// # Errors
    /// 5027.
    fn read(&mut self, file: FileId, offset: u64, most: usize) -> Result<Message, StoreError>;

    /// Puts `data` at `offset`, which is the end of what was written or, after a restart, before it: then what follows
    /// is forgotten.
    ///
    /// # Errors
    /// 5026, 5029.
    fn write(&mut self, file: FileId, offset: u64, data: Message) -> Result<(), StoreError>;

    /// What was written takes the place of the file, and the file is closed; also where this fails.
    ///
    /// # Errors
    /// 5026, 5029: the file is as it was.
    fn commit(&mut self, user: &User, file: FileId, now: CalendarTime) -> Result<(), StoreError>;

    /// What whoever runs the store is to know of what was committed last, if anything; it is told once.
    fn remark(&mut self) -> Option<String> {
        None
    }

    /// Closes a file. What was written and not committed is forgotten.
    fn close(&mut self, file: FileId);

    /// Hands an open file over to another store of the same kind: it is open here no more. None where that cannot be
    /// done, and nothing has changed then.
    fn detach(&mut self, file: FileId) -> Option<Detached> {
        let _ = file;
        None
    }

    /// Takes a file that another store has handed over.
    ///
    /// # Errors
    /// 6006 where it is none of this kind, or its contents are no longer those that were being read; it is closed then.
    fn attach(&mut self, file: Detached) -> Result<FileId, StoreError> {
        drop(file);
        Err(StoreError::docket("this store takes no open files"))
    }
}
