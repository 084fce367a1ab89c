//! The words of the file service: File Transfer, Access and Management.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 8571-2 (virtual filestore), 8571-3 (service), 8571-4 (protocol: the names and numbers of fields) |
//! | Above | a user of the file service: a client, or a filestore |
//! | Below | ACSE, the presentation service |
//! | Left out | what is inside of shared ASE information, private use and extension attributes (held as BER); INTAP-1's parameters |
//!
//! With few exceptions a parameter of an F-primitive is a field of one FPDU, so the structures here are both. They are
//! plain: fill in what matters, and take the rest from `Default`, which is what the standard says of an absent field.
//!
//! | read | for |
//! |---|---|
//! | [`Fpdu`], [`Kind`] | every FPDU, and what each is called |
//! | [`regime`], [`mod@file`], [`bulk`], [`management`] | the fields of FPDUs, by chapter |
//! | [`attributes`], [`contents`], [`access`], [`scope`] | what those fields are made of |
//! | [`diagnostic`] | why something failed, as text, and what may help |
//! | [`data`] | what a document is made of: the data elements that are no FPDUs |
//! | [`oids`] | the object identifiers of document types, abstract syntaxes and so on |
//!
//! The standard was not at hand as text. Fields and numbers are those of the ASN.1 of ISO 8571-4 as Wireshark has it;
//! texts of error identifiers follow ISODE's list of those in ISO 8571-3.

pub mod access;
pub mod attributes;
mod bits;
pub mod bulk;
pub mod contents;
pub mod data;
pub mod diagnostic;
pub mod file;
mod fpdu;
pub mod management;
pub mod oids;
mod primitive;
pub mod regime;
pub mod scope;
mod text;
pub mod time;

pub use bits::{
    AccessRequest, AttributeGroups, AttributeNames, EqualityComparison, FunctionalUnits, LockKeys, PermittedActions,
    ProcessingMode, ProtocolVersions, RelationalComparison, ServiceClasses,
};
pub use diagnostic::{ActionResult, Diagnostic, DiagnosticType, Entity, StateResult};
pub use fpdu::{Fpdu, FpduResult, Kind, Raw};
pub use primitive::Primitive;
pub use text::{Any, External, ExternalEncoding, GraphicString, Password};
pub use time::{CalendarTime, GeneralizedTime};
