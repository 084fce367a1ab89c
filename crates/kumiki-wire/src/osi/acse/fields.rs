//! The fields of APDUs. AARQ and AARE number them differently, so each has its own table.

use kumiki_osi_service::acse::{AssociateResult, Authentication, Credential, Diagnostic, Names, Title};

use super::{BerError, Element, Information, MOST_FIELD, Malformed, Oid, Tag, Writer, chain};
use crate::osi::ber::{Bits, Reader};

/// Authentication, of which AARQ may give a part.
#[derive(Default)]
pub(super) struct Parts {
    mechanism: Option<Oid>,
    value: Option<Credential>,
}

impl From<Parts> for Option<Authentication> {
    fn from(parts: Parts) -> Self {
        // A mechanism without a value has nothing to authenticate with.
        parts.value.map(|value| Authentication { mechanism: parts.mechanism, value })
    }
}

/// All fields that an APDU may have; those of the responder are `called`.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) versions: Option<u32>,
    pub(super) application_context: Option<Oid>,
    pub(super) called: Names,
    pub(super) calling: Names,
    pub(super) result: Option<AssociateResult>,
    pub(super) diagnostic: Option<Diagnostic>,
    pub(super) authentication: Parts,
    pub(super) implementation: Option<String>,
    /// Reason of a release, source of an abort.
    pub(super) reason: Option<i64>,
    pub(super) abort_diagnostic: Option<i64>,
    pub(super) information: Vec<Information>,
}

impl Fields {
    /// Reads the APDU that comes next.
    pub(super) fn read(pdu: &'static str, r: &mut chain::Reader) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        let Some(head) = r.peek(pdu)? else {
            return Ok(fields);
        };
        r.enter(head.tag, pdu)?;
        while let Some(head) = r.peek(pdu)? {
            if head.tag == Tag::context(30) {
                fields.information = Information::read_all(pdu, r)?;
                continue;
            }
            let octets = r.piece("a field", MOST_FIELD)?;
            // Universal tags have no place here; a later edition's context tags are passed over.
            if head.tag != Tag::context(head.tag.number) {
                continue;
            }
            let number = head.tag.number;
            let name = name(pdu, number);
            let element = Reader::new(pdu, &octets).any(name, "a field")?;
            match pdu {
                "AARQ" => fields.request(number, &element)?,
                "AARE" => fields.response(number, &element)?,
                "RLRQ" | "RLRE" if number == 0 => fields.reason = Some(element.integer()?),
                "ABRT" if number == 0 => fields.reason = Some(element.integer()?),
                "ABRT" if number == 1 => fields.abort_diagnostic = Some(element.integer()?),
                _ => {}
            }
        }
        r.leave(pdu)?;
        Ok(fields)
    }

    fn request(&mut self, number: u32, element: &Element<'_>) -> Result<(), Malformed> {
        match number {
            0 => self.versions = Some(bits(element)?),
            1 => self.application_context = Some(element.explicit(Tag::OBJECT_IDENTIFIER)?.oid()?),
            2..=5 => name_of(&mut self.called, number - 2, element)?,
            6..=9 => name_of(&mut self.calling, number - 6, element)?,
            11 => self.authentication.mechanism = Some(element.oid()?),
            12 => self.authentication.value = Some(credential(element)?),
            29 => self.implementation = Some(element.text()?),
            _ => {}
        }
        Ok(())
    }

    fn response(&mut self, number: u32, element: &Element<'_>) -> Result<(), Malformed> {
        match number {
            0 => self.versions = Some(bits(element)?),
            1 => self.application_context = Some(element.explicit(Tag::OBJECT_IDENTIFIER)?.oid()?),
            2 => {
                let result = element.explicit(Tag::INTEGER)?;
                self.result = Some(match result.integer()? {
                    0 => AssociateResult::Accepted,
                    1 => AssociateResult::RejectedPermanent,
                    2 => AssociateResult::RejectedTransient,
                    found => {
                        let expected = "0 (accepted), 1 (rejected-permanent) or 2 (rejected-transient)";
                        return Err(result.refuse(BerError::Value { found, expected }));
                    }
                });
            }
            3 => {
                let source = element.only()?;
                let code = |source: &Element<'_>| -> Result<u8, Malformed> {
                    source.explicit(Tag::INTEGER)?.integer_in("0 to 255")
                };
                self.diagnostic = Some(match source.tag() {
                    tag if tag == Tag::context(1) => Diagnostic::User(code(&source)?),
                    tag if tag == Tag::context(2) => Diagnostic::Provider(code(&source)?),
                    _ => {
                        return Err(source.is_no("[1] acse-service-user or [2] acse-service-provider"));
                    }
                });
            }
            4..=7 => name_of(&mut self.called, number - 4, element)?,
            9 => self.authentication.mechanism = Some(element.oid()?),
            10 => self.authentication.value = Some(credential(element)?),
            29 => self.implementation = Some(element.text()?),
            _ => {}
        }
        Ok(())
    }
}

/// What a field is called in errors.
fn name(pdu: &'static str, number: u32) -> &'static str {
    match (pdu, number) {
        ("AARQ" | "AARE", 0) => "protocol-version",
        ("AARQ" | "AARE", 1) => "application-context-name",
        ("AARQ", 2) => "called-AP-title",
        ("AARQ", 3) => "called-AE-qualifier",
        ("AARQ", 4) => "called-AP-invocation-identifier",
        ("AARQ", 5) => "called-AE-invocation-identifier",
        ("AARQ", 6) => "calling-AP-title",
        ("AARQ", 7) => "calling-AE-qualifier",
        ("AARQ", 8) => "calling-AP-invocation-identifier",
        ("AARQ", 9) => "calling-AE-invocation-identifier",
        ("AARQ", 11) | ("AARE", 9) => "mechanism-name",
        ("AARQ", 12) | ("AARE", 10) => "authentication-value",
        ("AARE", 2) => "result",
        ("AARE", 3) => "result-source-diagnostic",
        ("AARE", 4) => "responding-AP-title",
        ("AARE", 5) => "responding-AE-qualifier",
        ("AARE", 6) => "responding-AP-invocation-identifier",
        ("AARE", 7) => "responding-AE-invocation-identifier",
        ("AARQ" | "AARE", 29) => "implementation-information",
        ("RLRQ" | "RLRE", 0) => "reason",
        ("ABRT", 0) => "abort-source",
        ("ABRT", 1) => "abort-diagnostic",
        _ => "a field",
    }
}

fn bits(element: &Element<'_>) -> Result<u32, Malformed> {
    let word = element.bits()?.word() & u64::from(u32::MAX);
    Ok(u32::try_from(word).unwrap_or(0))
}

/// One of the four that a name has, in the order in which both APDUs number them.
fn name_of(names: &mut Names, which: u32, element: &Element<'_>) -> Result<(), Malformed> {
    let inner = element.only()?;
    let title = |inner: &Element<'_>| {
        Ok(match inner.tag() {
            Tag::OBJECT_IDENTIFIER => Title::Oid(inner.oid()?),
            Tag::INTEGER => Title::Number(inner.integer()?),
            _ => Title::Name(inner.octets().to_vec()),
        })
    };
    match which {
        0 => names.ap_title = Some(title(&inner)?),
        1 => names.ae_qualifier = Some(title(&inner)?),
        2 => names.ap_invocation = Some(inner.integer()?),
        _ => names.ae_invocation = Some(inner.integer()?),
    }
    Ok(())
}

fn credential(element: &Element<'_>) -> Result<Credential, Malformed> {
    let inner = element.only()?;
    Ok(match inner.tag() {
        tag if tag == Tag::context(0) => Credential::Text(inner.octet_string()?.into_owned()),
        tag if tag == Tag::context(1) => {
            let bits = inner.bits()?;
            Credential::Bits { octets: bits.octets().to_vec(), unused: bits.unused() }
        }
        _ => Credential::Raw(inner.octets().to_vec()),
    })
}

/// Protocol versions, which are version 1 where they are not said.
pub(super) fn versions(w: &mut Writer, versions: u32) {
    if versions != 1 {
        w.bits(Tag::context(0), &Bits::named(u64::from(versions), 1));
    }
}

pub(super) fn names(w: &mut Writer, first: u32, names: &Names) {
    let title = |w: &mut Writer, number, title: &Option<Title>| {
        if let Some(title) = title {
            w.context(number, |w| match title {
                Title::Oid(oid) => w.oid(Tag::OBJECT_IDENTIFIER, oid),
                Title::Number(number) => w.integer(Tag::INTEGER, *number),
                Title::Name(octets) => w.raw(octets),
            });
        }
    };
    title(w, first, &names.ap_title);
    title(w, first + 1, &names.ae_qualifier);
    if let Some(number) = names.ap_invocation {
        w.context(first + 2, |w| w.integer(Tag::INTEGER, number));
    }
    if let Some(number) = names.ae_invocation {
        w.context(first + 3, |w| w.integer(Tag::INTEGER, number));
    }
}

/// The authentication functional unit, the mechanism and the value.
pub(super) fn authentication(w: &mut Writer, first: u32, authentication: Option<&Authentication>) {
    let Some(authentication) = authentication else {
        return;
    };
    w.bits(Tag::context(first), &Bits::named(1, 1));
    if let Some(mechanism) = &authentication.mechanism {
        w.oid(Tag::context(first + 1), mechanism);
    }
    w.context(first + 2, |w| match &authentication.value {
        Credential::Text(octets) => w.octet_string(Tag::context(0), octets),
        Credential::Bits { octets, unused } => {
            let bits = Bits::new(octets.as_slice(), *unused).unwrap_or_default();
            w.bits(Tag::context(1), &bits);
        }
        Credential::Raw(octets) => w.raw(octets),
    });
}

pub(super) fn implementation(w: &mut Writer, text: Option<&str>) {
    if let Some(text) = text {
        w.text(Tag::context(29), text);
    }
}

pub(super) fn reason(w: &mut Writer, reason: Option<i64>) {
    if let Some(reason) = reason {
        w.integer(Tag::context(0), reason);
    }
}
