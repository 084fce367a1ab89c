//! Attributes of files, ISO 8571-2 section on attributes, in the sets that ISO 8571-4 has for selecting, creating,
//! reading and changing.
//!
//! Three things differ: an attribute that is absent (`None`), one without a value ([`Attribute::NoValueAvailable`]: the
//! filestore has this attribute in part only), and one with a value. A request has no attribute without a value.

use core::fmt;

use super::access::AccessControlElement;
use super::contents::ContentsType;
use super::{Any, AttributeNames, External, GeneralizedTime, GraphicString, PermittedActions};
use crate::Oid;

/// The value of an attribute, if the filestore has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Attribute<T> {
    /// The filestore knows the attribute, but no value of it.
    NoValueAvailable,
    /// This one.
    Actual(T),
}

impl<T> Attribute<T> {
    /// The value, if there is one.
    pub const fn actual(&self) -> Option<&T> {
        match self {
            Self::NoValueAvailable => None,
            Self::Actual(value) => Some(value),
        }
    }
}

impl<T> From<T> for Attribute<T> {
    fn from(value: T) -> Self {
        Self::Actual(value)
    }
}

impl<T: fmt::Display> fmt::Display for Attribute<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValueAvailable => f.write_str("no value available"),
            Self::Actual(value) => value.fmt(f),
        }
    }
}

/// The name of a file. Most filestores that Kumiki meets have one component, with their own separators in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pathname {
    /// From wherever the responder, or F-CHANGE-PREFIX, begins.
    Incomplete(Vec<GraphicString>),
    /// From the root; version 2.
    Complete(Vec<GraphicString>),
}

impl Pathname {
    /// Its components.
    #[must_use]
    pub fn components(&self) -> &[GraphicString] {
        let (Self::Incomplete(components) | Self::Complete(components)) = self;
        components
    }

    /// What filestores that have `/` in their names, as ISODE's, call a file in the directory of this name. What has no
    /// name of its own (nothing, `.`) adds none.
    #[must_use]
    pub fn with(&self, last: &GraphicString) -> Self {
        let mut octets = self.prefix();
        octets.extend_from_slice(last.octets());
        Self::from(GraphicString::from(octets))
    }

    /// The name of a file without that of the directory, where it has that in front: what [`Pathname::with`] is undone
    /// by.
    #[must_use]
    pub fn without(&self, directory: &Self) -> Self {
        match self.components() {
            [only] => {
                let last = only.octets().strip_prefix(&directory.prefix()[..]);
                last.map_or_else(|| self.clone(), |last| Self::from(GraphicString::from(last)))
            }
            _ => self.clone(),
        }
    }

    fn prefix(&self) -> Vec<u8> {
        let octets: Vec<&[u8]> = self.components().iter().map(GraphicString::octets).collect();
        let mut octets = octets.join(&b'/');
        if matches!(&octets[..], b"" | b".") {
            return Vec::new();
        }
        if !octets.ends_with(b"/") {
            octets.push(b'/');
        }
        octets
    }
}

impl Default for Pathname {
    fn default() -> Self {
        Self::Incomplete(Vec::new())
    }
}

impl From<&str> for Pathname {
    fn from(name: &str) -> Self {
        Self::Incomplete(vec![name.into()])
    }
}

impl From<GraphicString> for Pathname {
    fn from(name: GraphicString) -> Self {
        Self::Incomplete(vec![name])
    }
}

/// Components with `/` between them, and one in front of a complete one. For people: components may have `/` in them.
impl fmt::Display for Pathname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = match self {
            Self::Incomplete(_) => "",
            Self::Complete(_) => "/",
        };
        for component in self.components() {
            write!(f, "{before}{component}")?;
            before = "/";
        }
        Ok(())
    }
}

/// What an object of the filestore is; version 2. In version 1 all are files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum ObjectType {
    /// A file.
    #[default]
    File,
    /// A directory.
    FileDirectory,
    /// A link to another object.
    Reference,
}

impl fmt::Display for ObjectType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "file",
            Self::FileDirectory => "directory",
            Self::Reference => "reference",
        })
    }
}

/// How soon a file can be had.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Availability {
    /// At once.
    #[default]
    Immediate,
    /// Later: it is on a tape, say.
    Deferred,
}

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Immediate => "immediate",
            Self::Deferred => "deferred",
        })
    }
}

/// The private use attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrivateUse {
    /// The filestore knows the attribute, but no value of it.
    NoValueAvailable,
    /// There is one, of an abstract syntax that this association has not.
    AbstractSyntaxNotSupported,
    /// This one.
    Actual(External),
}

/// Changes to an access control attribute.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccessControlChange {
    /// Elements to put in.
    pub insert_values: Option<Vec<AccessControlElement>>,
    /// Elements to take out.
    pub delete_values: Option<Vec<AccessControlElement>>,
}

/// Some attributes of an extension set; version 2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtensionSet {
    /// Which set.
    pub identifier: Oid,
    /// Its attributes: which, and the value as it is on the wire.
    pub attributes: Vec<(Oid, Any)>,
}

/// Names of attributes of an extension set; version 2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtensionNames {
    /// Which set.
    pub identifier: Oid,
    /// Which of its attributes.
    pub names: Vec<Oid>,
}

/// The attributes of a file that is created.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CreateAttributes {
    /// Its name.
    pub pathname: Pathname,
    /// What it is; version 2.
    pub object_type: ObjectType,
    /// What is to be possible with it.
    pub permitted_actions: PermittedActions,
    /// What is in it.
    pub contents_type: ContentsType,
    /// Who pays for it.
    pub storage_account: Option<Attribute<GraphicString>>,
    /// How soon it can be had.
    pub availability: Option<Attribute<Availability>>,
    /// How large it may become, in octets.
    pub future_size: Option<Attribute<u64>>,
    /// Who may do what with it.
    pub access_control: Option<Attribute<Vec<AccessControlElement>>>,
    /// Who may pass through it; version 2.
    pub path_access_control: Option<Attribute<Vec<AccessControlElement>>>,
    /// What the law says of it.
    pub legal_qualification: Option<Attribute<GraphicString>>,
    /// Private use.
    pub private_use: Option<PrivateUse>,
    /// Extensions; version 2.
    pub extensions: Option<Vec<ExtensionSet>>,
}

/// The attributes of a file that is to be changed, or was.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangeAttributes {
    /// Its new name.
    pub pathname: Option<Pathname>,
    /// Who pays for it.
    pub storage_account: Option<Attribute<GraphicString>>,
    /// How soon it can be had.
    pub availability: Option<Attribute<Availability>>,
    /// How large it may become, in octets.
    pub future_size: Option<Attribute<u64>>,
    /// Who may do what with it.
    pub access_control: Option<Attribute<AccessControlChange>>,
    /// Who may pass through it; version 2.
    pub path_access_control: Option<Attribute<AccessControlChange>>,
    /// What the law says of it.
    pub legal_qualification: Option<Attribute<GraphicString>>,
    /// Private use.
    pub private_use: Option<PrivateUse>,
    /// Extensions; version 2.
    pub extensions: Option<Vec<ExtensionSet>>,
}

/// The attributes of a file that were read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadAttributes {
    /// Its name.
    pub pathname: Option<Pathname>,
    /// What it is; version 2.
    pub object_type: Option<ObjectType>,
    /// What is possible with it.
    pub permitted_actions: Option<PermittedActions>,
    /// What is in it.
    pub contents_type: Option<ContentsType>,
    /// What a reference points to; version 2.
    pub linked_object: Option<Pathname>,
    /// What is in a directory; version 2.
    pub child_objects: Option<Vec<GraphicString>>,
    /// The name from the root; version 2.
    pub primary_pathname: Option<Pathname>,
    /// Who pays for it.
    pub storage_account: Option<Attribute<GraphicString>>,
    /// When it was created.
    pub created: Option<Attribute<GeneralizedTime>>,
    /// When its contents were last modified.
    pub modified: Option<Attribute<GeneralizedTime>>,
    /// When it was last read.
    pub read: Option<Attribute<GeneralizedTime>>,
    /// When its attributes were last modified.
    pub attributes_modified: Option<Attribute<GeneralizedTime>>,
    /// Who created it.
    pub creator: Option<Attribute<GraphicString>>,
    /// Who last modified its contents.
    pub modifier: Option<Attribute<GraphicString>>,
    /// Who last read it.
    pub reader: Option<Attribute<GraphicString>>,
    /// Who last modified its attributes.
    pub attribute_modifier: Option<Attribute<GraphicString>>,
    /// How soon it can be had.
    pub availability: Option<Attribute<Availability>>,
    /// How large it is, in octets; what that counts is the filestore's affair.
    pub size: Option<Attribute<u64>>,
    /// How large it may become, in octets.
    pub future_size: Option<Attribute<u64>>,
    /// Who may do what with it.
    pub access_control: Option<Attribute<Vec<AccessControlElement>>>,
    /// Who may pass through it; version 2.
    pub path_access_control: Option<Attribute<Vec<AccessControlElement>>>,
    /// What the law says of it.
    pub legal_qualification: Option<Attribute<GraphicString>>,
    /// Private use.
    pub private_use: Option<PrivateUse>,
    /// Extensions; version 2.
    pub extensions: Option<Vec<ExtensionSet>>,
}

impl ReadAttributes {
    /// Says "no value available" of the attributes named that have none: what a responder that supports them in part
    /// returns (ISO 8571-2). Only those of the storage group and of the security group can be said to have no value;
    /// those of version 2 are left as they are.
    #[must_use]
    pub fn complete(self, names: AttributeNames) -> Self {
        /// The value, or that there is none where it is asked for.
        fn said<T>(value: Option<Attribute<T>>, wanted: bool) -> Option<Attribute<T>> {
            value.or_else(|| wanted.then_some(Attribute::NoValueAvailable))
        }
        let has = |name| names.contains(name);
        Self {
            storage_account: said(self.storage_account, has(AttributeNames::STORAGE_ACCOUNT)),
            created: said(self.created, has(AttributeNames::CREATED)),
            modified: said(self.modified, has(AttributeNames::MODIFIED)),
            read: said(self.read, has(AttributeNames::READ)),
            attributes_modified: said(self.attributes_modified, has(AttributeNames::ATTRIBUTES_MODIFIED)),
            creator: said(self.creator, has(AttributeNames::CREATOR)),
            modifier: said(self.modifier, has(AttributeNames::MODIFIER)),
            reader: said(self.reader, has(AttributeNames::READER)),
            attribute_modifier: said(self.attribute_modifier, has(AttributeNames::ATTRIBUTE_MODIFIER)),
            availability: said(self.availability, has(AttributeNames::AVAILABILITY)),
            size: said(self.size, has(AttributeNames::SIZE)),
            future_size: said(self.future_size, has(AttributeNames::FUTURE_SIZE)),
            access_control: said(self.access_control, has(AttributeNames::ACCESS_CONTROL)),
            legal_qualification: said(self.legal_qualification, has(AttributeNames::LEGAL_QUALIFICATION)),
            ..self
        }
    }

    /// Leaves only the attributes named: what a responder returns to F-READ-ATTRIB or F-LIST. Extensions have names of
    /// their own.
    #[must_use]
    pub fn only(self, names: AttributeNames) -> Self {
        /// The value, if it is asked for.
        fn kept<T>(value: Option<T>, wanted: bool) -> Option<T> {
            value.filter(|_| wanted)
        }
        let has = |name| names.contains(name);
        Self {
            pathname: kept(self.pathname, has(AttributeNames::PATHNAME)),
            object_type: kept(self.object_type, has(AttributeNames::OBJECT_TYPE)),
            permitted_actions: kept(self.permitted_actions, has(AttributeNames::PERMITTED_ACTIONS)),
            contents_type: kept(self.contents_type, has(AttributeNames::CONTENTS_TYPE)),
            linked_object: kept(self.linked_object, has(AttributeNames::LINKED_OBJECT)),
            child_objects: kept(self.child_objects, has(AttributeNames::CHILD_OBJECTS)),
            primary_pathname: kept(self.primary_pathname, has(AttributeNames::PRIMARY_PATHNAME)),
            storage_account: kept(self.storage_account, has(AttributeNames::STORAGE_ACCOUNT)),
            created: kept(self.created, has(AttributeNames::CREATED)),
            modified: kept(self.modified, has(AttributeNames::MODIFIED)),
            read: kept(self.read, has(AttributeNames::READ)),
            attributes_modified: kept(self.attributes_modified, has(AttributeNames::ATTRIBUTES_MODIFIED)),
            creator: kept(self.creator, has(AttributeNames::CREATOR)),
            modifier: kept(self.modifier, has(AttributeNames::MODIFIER)),
            reader: kept(self.reader, has(AttributeNames::READER)),
            attribute_modifier: kept(self.attribute_modifier, has(AttributeNames::ATTRIBUTE_MODIFIER)),
            availability: kept(self.availability, has(AttributeNames::AVAILABILITY)),
            size: kept(self.size, has(AttributeNames::SIZE)),
            future_size: kept(self.future_size, has(AttributeNames::FUTURE_SIZE)),
            access_control: kept(self.access_control, has(AttributeNames::ACCESS_CONTROL)),
            path_access_control: kept(self.path_access_control, has(AttributeNames::PATH_ACCESS_CONTROL)),
            legal_qualification: kept(self.legal_qualification, has(AttributeNames::LEGAL_QUALIFICATION)),
            private_use: kept(self.private_use, has(AttributeNames::PRIVATE_USE)),
            extensions: self.extensions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_a_directory_has_its_name_in_front() {
        for (directory, last, whole) in [
            ("", "a", "a"),
            (".", "a", "a"),
            ("/", "a", "/a"),
            ("d", "a", "d/a"),
            ("d/.", "a", "d/./a"),
            ("d/", "a", "d/a"),
        ] {
            let directory = Pathname::from(directory);
            let whole = Pathname::from(whole);
            assert_eq!(directory.with(&last.into()), whole);
            assert_eq!(whole.without(&directory), last.into());
        }
        let other = Pathname::from("data");
        assert_eq!(other.without(&"d".into()), other);
    }

    #[test]
    fn no_value_is_another_thing_than_no_attribute() {
        let size: Option<Attribute<u64>> = Some(Attribute::NoValueAvailable);
        assert_ne!(size, None);
        let shown = size.map(|size| size.to_string());
        assert_eq!(shown.as_deref(), Some("no value available"));
        assert_eq!(Attribute::from(5_u64).actual(), Some(&5));
    }

    #[test]
    fn attributes_without_a_value_are_said_to_have_none_where_they_are_asked_for() {
        let all = ReadAttributes { size: Some(Attribute::Actual(1)), ..ReadAttributes::default() };
        let said = all.complete(AttributeNames::SIZE | AttributeNames::READER);
        assert_eq!(said.size, Some(Attribute::Actual(1)));
        assert_eq!(said.reader, Some(Attribute::NoValueAvailable));
        assert_eq!(said.creator, None);
    }

    #[test]
    fn only_what_is_asked_for_is_left() {
        let all = ReadAttributes {
            pathname: Some("a".into()),
            size: Some(Attribute::Actual(1)),
            reader: Some(Attribute::NoValueAvailable),
            ..ReadAttributes::default()
        };
        let named = all.only(AttributeNames::PATHNAME | AttributeNames::READER);
        assert_eq!(named.pathname, Some("a".into()));
        assert_eq!(named.size, None);
        assert_eq!(named.reader, Some(Attribute::NoValueAvailable));
    }

    #[test]
    fn a_pathname_is_shown_as_people_write_it() {
        let parts = || vec!["usr".into(), "lib".into()];
        assert_eq!(Pathname::Incomplete(parts()).to_string(), "usr/lib");
        assert_eq!(Pathname::Complete(parts()).to_string(), "/usr/lib");
        assert_eq!(Pathname::from("a/b").components().len(), 1);
    }
}
