//! Filestore management of version 2: F-CHANGE-PREFIX and F-LIST.
//!
//! **Left out**: groups of objects, directories, links, moving and copying (FPDUs 45 to 72). They are held as
//! [`Raw`](super::Raw).

use super::access::AccessPasswords;
use super::attributes::{ExtensionNames, Pathname, ReadAttributes};
use super::scope::{Assertion, Scope};
use super::{ActionResult, AttributeNames, Diagnostic};

/// F-CHANGE-PREFIX request: from where incomplete pathnames begin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangePrefixRequest {
    /// Whether it goes back to where it was at first.
    pub reset: bool,
    /// The directory.
    pub destination_file_directory: Pathname,
    /// Passwords of that directory.
    pub access_passwords: Option<Box<AccessPasswords>>,
    /// Those of the directories of its name.
    pub path_access_passwords: Option<Vec<AccessPasswords>>,
}

/// F-CHANGE-PREFIX response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangePrefixResponse {
    /// Whether it was changed.
    pub action_result: ActionResult,
    /// The directory.
    pub destination_file_directory: Option<Pathname>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// F-LIST request: the attributes of all objects in a scope that meet an assertion.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListRequest {
    /// Which objects: one of these sets is to be met, and of it everything. Empty: no set, so none; one that is empty:
    /// all.
    pub attribute_value_assertions: Vec<Vec<Assertion>>,
    /// Where.
    pub scope: Vec<Scope>,
    /// Passwords of the root directories.
    pub access_passwords: Option<Box<AccessPasswords>>,
    /// Those of the directories of their names.
    pub path_access_passwords: Option<Vec<AccessPasswords>>,
    /// Which attributes.
    pub attribute_names: AttributeNames,
    /// Which extensions.
    pub attribute_extension_names: Option<Vec<ExtensionNames>>,
}

/// F-LIST response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListResponse {
    /// Whether they could be listed.
    pub action_result: ActionResult,
    /// The objects, each by its attributes.
    pub objects: Option<Vec<ReadAttributes>>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}
