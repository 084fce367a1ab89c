//! What crosses between the file service and its user, the file's data apart.

use kumiki_octets::Payload;

use super::Fpdu;
use super::data::DataElement;

/// A primitive of the file service. Request and response, indication and confirm of a service are its FPDU of that
/// name; the data of a file are plain data, one data element each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Primitive {
    /// A service with FPDUs of its own. Those of F-INITIALIZE and F-TERMINATE, F-U-ABORT and F-P-ABORT too, which
    /// travel in the data of association control. Of a group, the provider sends together what stands between the
    /// beginning and the end.
    Pdu(Fpdu),
    /// A data element that is not a plain string of the document's first type: structure, other strings, entries of a
    /// directory. Takes credit as data does.
    Data(DataElement),
    /// F-CHECK: a checkpoint between the data before and after it.
    Check {
        /// Its number, from 1 on.
        identifier: u32,
    },
    /// Response and confirm of F-CHECK: what came before is secured.
    CheckReply {
        /// The number.
        identifier: u32,
    },
}

impl Payload for Primitive {}

impl From<Fpdu> for Primitive {
    fn from(pdu: Fpdu) -> Self {
        Self::Pdu(pdu)
    }
}
