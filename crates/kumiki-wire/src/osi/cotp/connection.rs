//! CR and CC, which differ in nothing but their code and what becomes of parameters that nobody knows.

use core::fmt;

use kumiki_osi_service::Selector;

use super::{Cause, Cursor, InvalidTpdu, add, selector};
use crate::Malformed;

/// Codes of the variable part.
pub mod parameter {
    /// TPDU size: CR and CC.
    pub const SIZE: u8 = 0xc0;
    /// Calling TSAP-ID: CR and CC.
    pub const CALLING: u8 = 0xc1;
    /// The rejected TPDU: ER.
    pub const INVALID_TPDU: u8 = 0xc1;
    /// Called TSAP-ID: CR and CC.
    pub const CALLED: u8 = 0xc2;
    /// Checksum, of class 4.
    pub const CHECKSUM: u8 = 0xc3;
    /// Version number.
    pub const VERSION: u8 = 0xc4;
    /// Security parameters.
    pub const SECURITY: u8 = 0xc5;
    /// Additional option selection.
    pub const OPTIONS: u8 = 0xc6;
    /// Alternative protocol classes.
    pub const ALTERNATIVES: u8 = 0xc7;
    /// Additional information: DR.
    pub const ADDITIONAL: u8 = 0xe0;
    /// Preferred maximum TPDU size: CR and CC (X.224 of 1993).
    pub const PREFERRED_SIZE: u8 = 0xf0;
}

/// What CR and CC say beside the references and the class.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Parameters {
    /// Calling TSAP-ID.
    pub calling: Option<Selector>,
    /// Called TSAP-ID.
    pub called: Option<Selector>,
    /// TPDU size, as its binary logarithm: 7 (128 octets) to 13 (8192 octets).
    pub size: Option<u8>,
    /// Preferred maximum TPDU size, in units of 128 octets, at least 1. Whoever knows it looks at this one and not at
    /// `size`.
    pub preferred: Option<u32>,
    /// Version number; of no use in class 0.
    pub version: Option<u8>,
    /// Additional options; RFC 1006 uses bit 0, transport expedited data, in class 0 too.
    pub options: Option<u8>,
    /// Alternative classes, each as the high half of an octet.
    pub alternatives: Vec<u8>,
    /// Other parameters, as they stand: code and value.
    pub others: Vec<(u8, Vec<u8>)>,
}

/// A CR or CC.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Connection {
    /// DST-REF: 0 in CR, in CC the reference that CR gave.
    pub dst_ref: u16,
    /// SRC-REF: the sender's reference.
    pub src_ref: u16,
    /// Class: 0 to 4.
    pub class: u8,
    /// Options, the low half of the class octet; without meaning in class 0.
    pub options: u8,
    /// The variable part.
    pub parameters: Parameters,
}

/// The TPDU size of a binary logarithm, in octets.
pub(super) fn size_of(logarithm: u8) -> usize {
    1 << logarithm.min(16)
}

impl Connection {
    /// The TPDU size that it says, in octets, header included; `None` where the network's default is meant.
    #[must_use]
    pub fn size(&self) -> Option<usize> {
        let units =
            self.parameters.preferred.map(|units| usize::try_from(units).unwrap_or(usize::MAX).saturating_mul(128));
        units.or_else(|| self.parameters.size.map(size_of))
    }

    /// Whether class 0 is what is wanted, or among what is.
    #[must_use]
    pub fn allows_class_0(&self) -> bool {
        self.class == 0 || self.parameters.alternatives.iter().any(|class| class >> 4 == 0)
    }

    pub(super) fn parse(cursor: &mut Cursor<'_>, request: bool) -> Result<Self, InvalidTpdu> {
        let (dst_ref, src_ref) = (cursor.u16()?, cursor.u16()?);
        let class = cursor.u8()?;
        if class >> 4 > 4 {
            return Err(cursor.value("class", u64::from(class >> 4), "0 to 4"));
        }
        let mut parameters = Parameters::default();
        loop {
            let at = cursor.at;
            let Some((code, value)) = cursor.parameter()? else {
                break;
            };
            parameters.add(cursor, code, value, request, at)?;
        }
        Ok(Self { dst_ref, src_ref, class: class >> 4, options: class & 0x0f, parameters })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.dst_ref.to_be_bytes());
        out.extend(self.src_ref.to_be_bytes());
        out.push(self.class << 4 | self.options & 0x0f);
        let parameters = &self.parameters;
        if let Some(calling) = &parameters.calling {
            add(out, parameter::CALLING, calling.octets());
        }
        if let Some(called) = &parameters.called {
            add(out, parameter::CALLED, called.octets());
        }
        if let Some(size) = parameters.size {
            add(out, parameter::SIZE, &[size]);
        }
        if let Some(preferred) = parameters.preferred {
            let octets = preferred.to_be_bytes();
            let zeros = preferred.leading_zeros() / 8;
            let from = usize::try_from(zeros).unwrap_or(0).min(3);
            add(out, parameter::PREFERRED_SIZE, octets.get(from..).unwrap_or_default());
        }
        if let Some(version) = parameters.version {
            add(out, parameter::VERSION, &[version]);
        }
        if let Some(options) = parameters.options {
            add(out, parameter::OPTIONS, &[options]);
        }
        if !parameters.alternatives.is_empty() {
            add(out, parameter::ALTERNATIVES, &parameters.alternatives);
        }
        for (code, value) in &parameters.others {
            add(out, *code, value);
        }
    }
}

impl Parameters {
    /// Takes one in; of two with the same code the later one counts (section 13.2.3).
    fn add(
        &mut self,
        cursor: &Cursor<'_>,
        code: u8,
        value: &[u8],
        request: bool,
        at: usize,
    ) -> Result<(), InvalidTpdu> {
        let octet = |field| {
            let [octet] = value else {
                let found = u64::try_from(value.len()).unwrap_or(u64::MAX);
                return Err(cursor.value(field, found, "a length of 1 octet"));
            };
            Ok(*octet)
        };
        match code {
            parameter::CALLING => {
                self.calling = Some(selector(cursor, "calling TSAP-ID", value)?);
            }
            parameter::CALLED => self.called = Some(selector(cursor, "called TSAP-ID", value)?),
            parameter::SIZE => {
                let size = octet("TPDU size")?;
                if !(7..=13).contains(&size) {
                    let expected = "0x7 (128 octets) to 0xd (8192 octets)";
                    return Err(cursor.value("TPDU size", size.into(), expected));
                }
                self.size = Some(size);
            }
            parameter::PREFERRED_SIZE => {
                let field = "preferred maximum TPDU size";
                let units = value.iter().fold(0_u64, |units, octet| units << 8 | u64::from(*octet));
                let units = u32::try_from(units)
                    .ok()
                    .filter(|units| *units > 0 && value.len() <= 4)
                    .ok_or_else(|| cursor.value(field, units, "1 to 4 octets, not 0"))?;
                self.preferred = Some(units);
            }
            parameter::VERSION => self.version = Some(octet("version number")?),
            parameter::OPTIONS => self.options = Some(octet("additional option selection")?),
            parameter::ALTERNATIVES => self.alternatives = value.to_vec(),
            // Those of other classes, and in CR any: section 13.2.3.
            code if request || matches!(code, 0x85..=0x8b | 0xc3 | 0xc5) => {
                self.others.push((code, value.to_vec()));
            }
            code => {
                return Err(InvalidTpdu {
                    why: Malformed::Field {
                        protocol: cursor.tpdu,
                        field: "parameter code",
                        found: code.into(),
                        expected: "one of those that ISO 8073 section 13.3.4 defines",
                    },
                    cause: Cause::ParameterCode,
                    up_to: at + 1,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Display for Connection {
    /// Without the name, which is CR or CC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dst, src) = (self.dst_ref, self.src_ref);
        write!(f, "dst {dst:04x} src {src:04x} class {}", self.class)?;
        if let Some(calling) = &self.parameters.calling {
            write!(f, " calling {calling}")?;
        }
        if let Some(called) = &self.parameters.called {
            write!(f, " called {called}")?;
        }
        if let Some(size) = self.size() {
            write!(f, " size {size}")?;
        }
        Ok(())
    }
}
