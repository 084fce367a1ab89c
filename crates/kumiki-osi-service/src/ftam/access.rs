//! Who may do what to a file, with whom beside him, and to which part of it.

use core::fmt;

use super::{AccessRequest, Any, External, GraphicString, LockKeys, Password};

/// One value for each of the eight actions on a file, in the order of [`AccessRequest`]'s bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[expect(missing_docs, reason = "the fields are the actions of AccessRequest, which are described there")]
pub struct PerAction<T> {
    pub read: T,
    pub insert: T,
    pub replace: T,
    pub extend: T,
    pub erase: T,
    pub read_attribute: T,
    pub change_attribute: T,
    pub delete: T,
}

impl<T> PerAction<T> {
    /// All of them, in the standard's order, each with its action.
    pub fn each(&self) -> [(AccessRequest, &T); 8] {
        [
            (AccessRequest::READ, &self.read),
            (AccessRequest::INSERT, &self.insert),
            (AccessRequest::REPLACE, &self.replace),
            (AccessRequest::EXTEND, &self.extend),
            (AccessRequest::ERASE, &self.erase),
            (AccessRequest::READ_ATTRIBUTE, &self.read_attribute),
            (AccessRequest::CHANGE_ATTRIBUTE, &self.change_attribute),
            (AccessRequest::DELETE, &self.delete),
        ]
    }
}

/// A concurrency lock on one action.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Lock {
    /// I do not do it, others may.
    #[default]
    NotRequired,
    /// I do it, and others may.
    Shared,
    /// I do it, and others may not.
    Exclusive,
    /// Nobody does it.
    NoAccess,
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRequired => "not required",
            Self::Shared => "shared",
            Self::Exclusive => "exclusive",
            Self::NoAccess => "no access",
        })
    }
}

/// The locks that a user asks for, or has.
pub type ConcurrencyControl = PerAction<Lock>;

/// The locks that an access control element allows.
pub type ConcurrencyAccess = PerAction<LockKeys>;

/// Shows what is locked, and leaves out what is not: `replace exclusive`.
impl fmt::Display for ConcurrencyControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for (action, lock) in self.each() {
            if *lock != Lock::NotRequired {
                write!(f, "{before}{action} {lock}")?;
                before = ", ";
            }
        }
        if before.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

/// Passwords for actions on a file. One that is not known is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccessPasswords {
    /// Each for its action.
    pub actions: PerAction<Password>,
    /// To pass through the directories of the pathname; version 2.
    pub pass: Option<Vec<Password>>,
    /// To link to the object; version 2.
    pub link: Option<Password>,
}

/// One way to be allowed something: all of its terms are to be met.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccessControlElement {
    /// What is allowed.
    pub action_list: AccessRequest,
    /// With which locks.
    pub concurrency_access: Option<ConcurrencyAccess>,
    /// To whom.
    pub identity: Option<GraphicString>,
    /// With which passwords. They are never read back.
    pub passwords: Option<Box<AccessPasswords>>,
    /// From where: the application entity title.
    pub location: Option<Any>,
}

/// In which form a file access data unit is read, ISO 8571-2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum AccessContext {
    /// HA: hierarchical, all data units.
    HierarchicalAll,
    /// HN: hierarchical, no data units.
    HierarchicalNone,
    /// FA: flat, all data units.
    FlatAll,
    /// FL: flat, data units of one level. The level is given beside it.
    FlatLevel(i64),
    /// FS: flat, a single data unit.
    FlatSingle,
    /// UA: unstructured, all data units. The only one that an unstructured file has.
    #[default]
    UnstructuredAll,
    /// US: unstructured, a single data unit.
    UnstructuredSingle,
}

/// The two letters of the standard.
impl fmt::Display for AccessContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HierarchicalAll => f.write_str("HA"),
            Self::HierarchicalNone => f.write_str("HN"),
            Self::FlatAll => f.write_str("FA"),
            Self::FlatLevel(level) => write!(f, "FL level {level}"),
            Self::FlatSingle => f.write_str("FS"),
            Self::UnstructuredAll => f.write_str("UA"),
            Self::UnstructuredSingle => f.write_str("US"),
        }
    }
}

/// Which file access data unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum FaduIdentity {
    /// The first one. The only one that an unstructured file has.
    #[default]
    First,
    /// The last one.
    Last,
    /// That before the current one.
    Previous,
    /// The current one.
    Current,
    /// That behind the current one.
    Next,
    /// The place before the first one.
    Begin,
    /// The place behind the last one.
    End,
    /// The child of this name.
    SingleName(External),
    /// The one at the end of this path of names.
    NameList(Vec<External>),
    /// The one of this number.
    Number(i64),
}

impl fmt::Display for FaduIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("first"),
            Self::Last => f.write_str("last"),
            Self::Previous => f.write_str("previous"),
            Self::Current => f.write_str("current"),
            Self::Next => f.write_str("next"),
            Self::Begin => f.write_str("begin"),
            Self::End => f.write_str("end"),
            Self::SingleName(_) => f.write_str("by name"),
            Self::NameList(names) => write!(f, "by {} names", names.len()),
            Self::Number(number) => write!(f, "number {number}"),
        }
    }
}

/// What F-WRITE does with a file access data unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum FaduOperation {
    /// Put a new one in.
    Insert,
    /// Take its place.
    #[default]
    Replace,
    /// Add to its end.
    Extend,
}

impl fmt::Display for FaduOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Insert => "insert",
            Self::Replace => "replace",
            Self::Extend => "extend",
        })
    }
}

/// Locks on a single file access data unit, while it is used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum FaduLock {
    /// Unlock.
    #[default]
    Off,
    /// Lock.
    On,
}

impl fmt::Display for FaduLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::On => "on",
        })
    }
}
