//! What is in a file: its contents type, that is its document type with parameters, or how it is built and of what.

use core::fmt;

use super::{Any, AttributeNames, oids};
use crate::Oid;

/// The contents type attribute, ISO 8571-2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ContentsType {
    /// By document type.
    Document {
        /// Its name, see [`oids`].
        name: Oid,
        /// Its parameter, where it has one.
        parameter: Option<DocumentParameter>,
    },
    /// By constraint set and abstract syntax.
    ConstraintSet {
        /// How the file is built.
        constraint_set: Oid,
        /// Of what.
        abstract_syntax: Oid,
    },
}

impl ContentsType {
    /// FTAM-3, whose strings have no meaning: any octets.
    #[must_use]
    pub const fn binary() -> Self {
        Self::Document {
            name: oids::FTAM_3,
            parameter: Some(DocumentParameter::Strings(StringParameter {
                universal_class: None,
                maximum_length: None,
                significance: Some(Significance::NotSignificant),
            })),
        }
    }

    /// FTAM-1 of strings of this class, which have no meaning: any text, with the characters that end lines in it.
    #[must_use]
    pub const fn text(class: StringClass) -> Self {
        Self::Document {
            name: oids::FTAM_1,
            parameter: Some(DocumentParameter::Strings(StringParameter {
                universal_class: Some(class),
                maximum_length: None,
                significance: Some(Significance::NotSignificant),
            })),
        }
    }

    /// NBS-9, with these attributes in the entries.
    #[must_use]
    pub const fn directory(names: AttributeNames) -> Self {
        Self::Document { name: oids::NBS_9, parameter: Some(DocumentParameter::Attributes(names)) }
    }

    /// The document type, where there is one.
    #[must_use]
    pub const fn document_type(&self) -> Option<Oid> {
        match self {
            Self::Document { name, .. } => Some(*name),
            Self::ConstraintSet { .. } => None,
        }
    }
}

/// [`ContentsType::binary`].
impl Default for ContentsType {
    fn default() -> Self {
        Self::binary()
    }
}

impl fmt::Display for ContentsType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |oid: &Oid| oids::name(oid).map_or_else(|| oid.to_string(), str::to_owned);
        match self {
            Self::Document { name, parameter } => {
                f.write_str(&named(name))?;
                parameter.as_ref().map_or(Ok(()), |parameter| write!(f, " ({parameter})"))
            }
            Self::ConstraintSet { constraint_set, abstract_syntax } => {
                write!(f, "{} of {}", named(constraint_set), named(abstract_syntax))
            }
        }
    }
}

/// The parameter of a document type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DocumentParameter {
    /// Of FTAM-1 to FTAM-4.
    Strings(StringParameter),
    /// Of NBS-9: the attributes that entries have.
    Attributes(AttributeNames),
    /// Of a document type that is not known here, or one that cannot be read.
    Other(Any),
}

impl fmt::Display for DocumentParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strings(strings) => strings.fmt(f),
            Self::Attributes(names) => names.fmt(f),
            Self::Other(any) => write!(f, "{} octets", any.0.len()),
        }
    }
}

/// What the strings of a document are. FTAM-3 and FTAM-4 have octet strings, and so no universal class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct StringParameter {
    /// Their type. Absent: GraphicString in FTAM-1 and FTAM-2.
    pub universal_class: Option<StringClass>,
    /// The most characters or octets of each. Absent: any number.
    pub maximum_length: Option<u64>,
    /// What their boundaries mean. Absent: [`Significance::Variable`].
    pub significance: Option<Significance>,
}

impl fmt::Display for StringParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(class) = self.universal_class {
            write!(f, "{class}, ")?;
        }
        if let Some(most) = self.maximum_length {
            write!(f, "at most {most}, ")?;
        }
        self.significance.unwrap_or_default().fmt(f)
    }
}

/// What the boundaries of strings mean.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Significance {
    /// Each string is a record, of up to the maximum length.
    #[default]
    Variable,
    /// Each string is a record of exactly the maximum length.
    Fixed,
    /// Nothing: they may be cut and joined as is convenient.
    NotSignificant,
}

impl fmt::Display for Significance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable => "variable",
            Self::Fixed => "fixed",
            Self::NotSignificant => "not significant",
        })
    }
}

/// The types of character strings, by their universal class numbers (X.680 section 8.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum StringClass {
    /// PrintableString, 19.
    Printable,
    /// TeletexString, 20.
    Teletex,
    /// VideotexString, 21.
    Videotex,
    /// IA5String, 22: ASCII with its control characters, of which CR LF ends a line.
    Ia5,
    /// GraphicString, 25: no control characters, each string is a line.
    #[default]
    Graphic,
    /// VisibleString, 26: ASCII without control characters, each string is a line.
    Visible,
    /// GeneralString, 27: any character sets with control characters, of which CR LF ends a line.
    General,
}

impl StringClass {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Printable, Self::Teletex, Self::Videotex, Self::Ia5, Self::Graphic, Self::Visible, Self::General];

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Printable => 19,
            Self::Teletex => 20,
            Self::Videotex => 21,
            Self::Ia5 => 22,
            Self::Graphic => 25,
            Self::Visible => 26,
            Self::General => 27,
        }
    }

    /// The one of this number.
    #[must_use]
    pub fn of(number: u64) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|class| u64::from(class.number()) == number)
    }

    /// Whether lines end by control characters within the strings, and not with each string.
    #[must_use]
    pub const fn has_format_effectors(self) -> bool {
        match self {
            Self::Teletex | Self::Videotex | Self::Ia5 | Self::General => true,
            Self::Printable | Self::Graphic | Self::Visible => false,
        }
    }
}

impl fmt::Display for StringClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Printable => "PrintableString",
            Self::Teletex => "TeletexString",
            Self::Videotex => "VideotexString",
            Self::Ia5 => "IA5String",
            Self::Graphic => "GraphicString",
            Self::Visible => "VisibleString",
            Self::General => "GeneralString",
        })
    }
}

/// What an initiator offers to transfer, one of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ContentsTypeName {
    /// A document type.
    DocumentType(Oid),
    /// An abstract syntax.
    AbstractSyntax(Oid),
}

impl fmt::Display for ContentsTypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::DocumentType(oid) | Self::AbstractSyntax(oid)) = self;
        match oids::name(oid) {
            Some(name) => f.write_str(name),
            None => oid.fmt(f),
        }
    }
}
