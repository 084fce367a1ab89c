//! The words of OSI's services: the parameters that their primitives and their PDUs both carry.
//!
//! In OSI a parameter of a service primitive is, with few exceptions, a field of the PDU that it causes: a presentation
//! context list, a synchronisation point, the attributes of a file. So these are types of their own, below the crate
//! that hands primitives from layer to layer (`kumiki-graph`) and the one that writes them as octets (`kumiki-wire`),
//! which know nothing of each other.
//!
//! Data only: no octets are read or written here, but for the content of an object identifier, which is its value.

pub mod acse;
mod association;
mod cause;
pub mod ftam;
pub mod mms;
mod oid;
pub mod presentation;
pub mod selector;
pub mod session;
pub mod x25;

pub use association::Association;
pub use cause::{InitiateError, OsiCause, layer};
pub use oid::{BadOid, MOST as MOST_OID_OCTETS, Oid};
pub use selector::{Selector, Selectors};
