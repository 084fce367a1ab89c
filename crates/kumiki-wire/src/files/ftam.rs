//! FTAM: FPDUs, and data elements.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 8571-4 (FPDUs, abstract syntax FTAM-PCI), ISO 8571-2 (data elements, FTAM-FADU and those of document types) |
//! | Emits | definite lengths, defaults left out, BIT STRINGs without zeros at their end |
//! | Accepts | every form of BER, fields in any order, fields of later versions (passed over), dates that are none |
//! | Left out | fields of the FPDUs of groups, directories, links, moving and copying (45 to 72): [`Raw`](kumiki_osi_service::ftam::Raw) |
//!
//! The types are those of [`kumiki_osi_service::ftam`]. An FPDU is small and read from one piece. File contents are
//! not: see [`data`].
//!
//! Bounds: an FPDU has [`MOST_OCTETS`] at most, a SEQUENCE 64 fields, a list 1000 items, but for a directory, which has
//! 10,000.

use kumiki_octets::Message;
use kumiki_osi_service::ftam::{Fpdu, Kind};

use crate::Malformed;
use crate::osi::ber::{BerError, Class, Reader, Writer};

mod attributes;
mod basic;
pub mod data;
mod form;
mod fpdus;
mod scope;

/// The most octets of one FPDU, and of FPDUs that come in one presentation data value.
pub const MOST_OCTETS: usize = 1 << 20;

/// What errors name before it is known which FPDU it is.
const FPDU: &str = "FPDU";

/// The octets of an FPDU.
#[must_use]
pub fn emit(fpdu: &Fpdu) -> Vec<u8> {
    let mut w = Writer::new();
    fpdus::emit(fpdu, &mut w);
    w.finish()
}

/// Reads an FPDU that stands by itself.
///
/// # Errors
/// It is none, one with a field that cannot be read (both are named), or something stands behind it.
pub fn parse(octets: &[u8]) -> Result<Fpdu, Malformed> {
    let mut fpdus = Fpdus::new(octets)?;
    let fpdu = fpdus.next().unwrap_or_else(|| Err(BerError::Short { need: 2, have: 0 }.of(FPDU, "tag")))?;
    fpdus.0.finish("end")?;
    Ok(fpdu)
}

/// Reads the FPDUs that stand one behind the other in a presentation data value: a group comes so.
///
/// # Errors
/// As [`parse`]: nothing is given of a value in which one FPDU cannot be read.
pub fn parse_all(value: &Message) -> Result<Vec<Fpdu>, Malformed> {
    bounded(value.len())?;
    Fpdus::new(&value.to_vec())?.collect()
}

/// Where a field of an FPDU lies, and what it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FpduField<'a> {
    /// The standard's name.
    pub name: &'static str,
    /// Its element, with identifier and length; of a list, that of one item.
    pub octets: &'a [u8],
    /// What it is, in a few words. A password is not.
    pub said: String,
}

impl<'a> FpduField<'a> {
    pub(crate) const fn new(name: &'static str, element: &crate::osi::ber::Element<'a>, said: String) -> Self {
        let octets = element.octets();
        Self { name, octets, said }
    }
}

/// An FPDU, and what an analyser shows of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnalysedFpdu<'a> {
    /// The FPDU.
    pub fpdu: Fpdu,
    /// Its octets.
    pub octets: &'a [u8],
    /// Its fields, and in place of its attributes the fields of those, in the order of ISO 8571-4.
    pub fields: Vec<FpduField<'a>>,
}

/// Reads the first of the FPDUs in `octets`, and where its fields lie.
///
/// # Errors
/// As [`parse`], but something may stand behind it.
pub fn look(octets: &[u8]) -> Result<AnalysedFpdu<'_>, Malformed> {
    let mut fpdus = Fpdus::new(octets)?;
    let fpdu = fpdus.next().unwrap_or_else(|| Err(BerError::Short { need: 2, have: 0 }.of(FPDU, "tag")))?;
    let mut fields = Vec::new();
    let element = Reader::new(fpdu.kind().name(), octets).any("fields", "an FPDU")?;
    fpdus::walk(&fpdu, &element, &mut fields)?;
    let octets = element.octets();
    Ok(AnalysedFpdu { fpdu, octets, fields })
}

/// FPDUs that stand one behind the other. Ends after an error.
#[derive(Clone, Debug)]
pub struct Fpdus<'a>(Reader<'a>);

impl<'a> Fpdus<'a> {
    /// Those in `octets`.
    ///
    /// # Errors
    /// There are more octets than [`MOST_OCTETS`].
    pub fn new(octets: &'a [u8]) -> Result<Self, Malformed> {
        bounded(octets.len())?;
        Ok(Self(Reader::new(FPDU, octets)))
    }

    /// Octets that have not been read.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.0.rest().len()
    }

    fn one(&mut self) -> Result<Option<Fpdu>, Malformed> {
        let kind = self.0.peek().map(|tag| (tag, kind_of(tag)));
        if let Some((_, Some(kind))) = kind {
            self.0 = self.0.named(kind.name());
        }
        let Some(element) = self.0.next("fields")? else {
            return Ok(None);
        };
        let Some((_, Some(kind))) = kind else {
            return Err(element.called("tag").is_no("[0] to [72]"));
        };
        fpdus::parse(kind, &element).map(Some)
    }
}

impl Iterator for Fpdus<'_> {
    type Item = Result<Fpdu, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let one = self.one().transpose()?;
        if one.is_err() {
            self.0 = Reader::new(FPDU, &[]);
        }
        Some(one)
    }
}

fn kind_of(tag: crate::osi::ber::Tag) -> Option<Kind> {
    (tag.class == Class::Context).then(|| Kind::of(tag.number)).flatten()
}

fn bounded(found: usize) -> Result<(), Malformed> {
    let (least, most) = (2, MOST_OCTETS);
    if found > most {
        return Err(BerError::Size { found, least, most }.of(FPDU, "octets"));
    }
    Ok(())
}
