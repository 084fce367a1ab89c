//! Which objects of a filestore are meant: assertions about attributes, and the directories to look into; version 2.

use super::attributes::Pathname;
use super::{Any, EqualityComparison, GeneralizedTime, GraphicString, PermittedActions, RelationalComparison};
use crate::Oid;

/// Where to look.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    /// In this directory; absent: where incomplete pathnames begin.
    pub root_directory: Option<Pathname>,
    /// How deep.
    pub retrieval_scope: RetrievalScope,
}

/// How deep to look.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum RetrievalScope {
    /// What is in the directory.
    #[default]
    Child,
    /// That, and what is in the directories in it, and so on.
    All,
}

/// What an attribute is to be, by attribute. Access control and private use cannot be asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the variants are the attributes of ReadAttributes, which are described there")]
pub enum Assertion {
    Pathname(PathnamePattern),
    ObjectType(IntegerPattern),
    PermittedActions(ActionsPattern),
    ContentsType(ContentsTypePattern),
    LinkedObject(PathnamePattern),
    ChildObjects(PathnamePattern),
    PrimaryPathname(PathnamePattern),
    StorageAccount(StringPattern),
    Created(DatePattern),
    Modified(DatePattern),
    Read(DatePattern),
    AttributesModified(DatePattern),
    Creator(StringPattern),
    Modifier(StringPattern),
    Reader(StringPattern),
    AttributeModifier(StringPattern),
    Availability(BooleanPattern),
    Size(IntegerPattern),
    FutureSize(IntegerPattern),
    LegalQualification(StringPattern),
    /// As it is on the wire, with its tag.
    Extensions(Any),
}

/// A pathname, component by component.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathnamePattern {
    /// What of a comparison is true.
    pub comparison: EqualityComparison,
    /// The components; `None` stands for any number of them.
    pub value: Vec<Option<StringPattern>>,
}

/// A string, piece by piece.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StringPattern {
    /// What of a comparison is true.
    pub comparison: EqualityComparison,
    /// The pieces.
    pub value: Vec<Piece>,
}

/// A piece of a string.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// These characters.
    Substring(GraphicString),
    /// Any characters.
    Any,
    /// This many characters.
    Characters(i64),
}

/// Actions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActionsPattern {
    /// What of a comparison is true.
    pub comparison: EqualityComparison,
    /// What they are to be.
    pub value: PermittedActions,
    /// Which of them matter.
    pub significance: PermittedActions,
}

/// A date and time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DatePattern {
    /// What of a comparison is true.
    pub comparison: RelationalComparison,
    /// With what it is compared.
    pub value: GeneralizedTime,
}

/// A number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IntegerPattern {
    /// What of a comparison is true.
    pub comparison: RelationalComparison,
    /// With what it is compared.
    pub value: i64,
}

/// True or false.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BooleanPattern {
    /// What of a comparison is true.
    pub comparison: EqualityComparison,
    /// With what it is compared.
    pub value: bool,
}

/// An object identifier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OidPattern {
    /// What of a comparison is true.
    pub comparison: EqualityComparison,
    /// With what it is compared.
    pub value: Oid,
}

/// A contents type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ContentsTypePattern {
    /// A document type.
    DocumentType(OidPattern),
    /// A constraint set and an abstract syntax; any where absent.
    ConstraintSet {
        /// The constraint set.
        constraint_set: Option<OidPattern>,
        /// The abstract syntax.
        abstract_syntax: Option<OidPattern>,
    },
}
