//! Presentation PDUs (PPDUs).
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.226 (ISO 8823-1) section 8, after captures of ISODE and libiec61850 and what Wireshark and ISODE know; in BER |
//! | Above | ACSE and what else has a presentation context |
//! | Below | [`session`](crate::osi::session): which PPDU it is, the SPDU says as much as the tag |
//! | Left out | X.410 mode (1984), which is refused by name; packed encoding; the extensions of later editions, which are passed over |
//!
//! | SPDU | PPDU | here |
//! |---|---|---|
//! | CN | CP | [`Connect`] |
//! | AC | CPA | [`Accept`] |
//! | RF | CPR | [`Refuse`] |
//! | AB | ARU, ARP | [`Abort`] |
//! | DT, EX, FN, DN, MIP, MIA, ... | the data itself | [`UserData`] |
//! | TD | AC, ACA, TTD | [`Typed`] |
//! | RS, RA | RS, RSA | [`Resync`] |
//!
//! Data values are messages going in and coming out: what a PPDU costs is the octets in front of them.

use core::fmt;

use kumiki_octets::Message;
use kumiki_osi_service::presentation::{Context, ContextId, ContextResult};
use kumiki_osi_service::session::FunctionalUnits;
use kumiki_osi_service::{Oid, Selector};

use crate::Malformed;
use crate::osi::ber::{Bits, Element, Tag, Writer, chain, push};

mod abort;
mod connect;
mod contexts;
#[cfg(test)]
mod tests;
mod user_data;

pub use abort::{Abort, Alter, AlterAck, Resync, Typed};
pub use connect::{Accept, Connect, Refuse};
pub use contexts::{IdentifiedContext, MOST_CONTEXTS, MOST_TRANSFER_SYNTAXES};
pub use user_data::{Form, MOST_VALUES, Pdv, UserData};

/// Presentation functional units (X.226, Presentation-requirements), a set: bit 0 of the string is bit 0 here.
pub mod requirement {
    /// Contexts may be added and deleted on the way.
    pub const CONTEXT_MANAGEMENT: u32 = 1;
    /// Resynchronisation brings back the contexts that stood at the synchronisation point.
    pub const CONTEXT_RESTORATION: u32 = 2;
}

/// The most octets of a field that is not user data: room for [`MOST_CONTEXTS`] with one transfer syntax each.
const MOST_FIELD: usize = 16_384;

/// What `read` makes of the one element in `octets`.
fn read<T>(
    pdu: &'static str,
    field: &'static str,
    octets: &[u8],
    read: impl FnOnce(&Element<'_>) -> Result<T, Malformed>,
) -> Result<T, Malformed> {
    let element = crate::osi::ber::Reader::new(pdu, octets).any(field, "an element")?;
    read(&element)
}

fn selector(element: &Element<'_>) -> Result<Selector, Malformed> {
    let octets = element.octet_string()?;
    Selector::new(&octets).map_err(|_| {
        element.refuse(crate::osi::ber::BerError::Size {
            found: octets.len(),
            least: 0,
            most: kumiki_osi_service::selector::MOST,
        })
    })
}

/// A bit string of names, of which those that do not fit are not known here.
fn flags(element: &Element<'_>) -> Result<u32, Malformed> {
    let word = element.bits()?.word() & u64::from(u32::MAX);
    Ok(u32::try_from(word).unwrap_or(0))
}

fn units(element: &Element<'_>) -> Result<FunctionalUnits, Malformed> {
    let word = element.bits()?.word() & u64::from(u16::MAX);
    Ok(FunctionalUnits(u16::try_from(word).unwrap_or(0)))
}

/// A code of 0 to 255.
fn code(element: &Element<'_>) -> Result<u8, Malformed> {
    element.integer_in("0 to 255")
}

/// `fields` in front of the user data in `message`.
fn in_front(fields: Writer, data: Option<UserData>) -> Message {
    let message = data.map_or_else(Message::new, UserData::emit);
    crate::osi::in_front(&fields.finish(), message)
}

fn optional_selector(w: &mut Writer, number: u32, selector: Option<&Selector>) {
    if let Some(selector) = selector {
        w.octet_string(Tag::context(number), selector.octets());
    }
}

fn requirements(w: &mut Writer, presentation: u32, session: Option<FunctionalUnits>) {
    if presentation != 0 {
        let bits = Bits::named(u64::from(presentation), 2);
        w.bits(Tag::context(8), &bits);
    }
    if let Some(session) = session {
        w.bits(Tag::context(9), &Bits::named(u64::from(session.0), 13));
    }
}
