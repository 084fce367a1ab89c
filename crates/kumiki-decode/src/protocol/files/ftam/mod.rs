//! FTAM: who reads or writes which file, and how that ended.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::files::ftam`] |
//! | Found | values of the presentation context of FTAM-PCI; data elements in those of the documents, see [`data`] |
//! | Left out | whether an FPDU is allowed in the state of its association; fields of FPDUs 45 to 72 |
//!
//! One layer for each FPDU of a value. Passwords are not shown, neither in the line nor among the fields. What went
//! wrong is a note with the text of its error identifier and what may help: the octets are right.

pub(in crate::protocol) mod data;

use kumiki_osi_service::ftam::{Fpdu, oids};
use kumiki_wire::files::ftam::{AnalysedFpdu, FpduField, emit, look};

use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const FPDU: Dissector = Dissector {
    name: "ftam",
    title: "FPDUs of File Transfer, Access and Management",
    claims: &[Key::AbstractSyntax(oids::PCI)],
    dissect,
};

/// The fields that make the line of an FPDU, in this order.
const TOLD: &[&str] = &[
    "initiator-identity",
    "pathname",
    "override",
    "requested-access",
    "processing-mode",
    "contents-type",
    "file-access-data-unit-operation",
    "access-context",
    "service-class",
    "functional-units",
    "threshold",
    "checkpoint-identifier",
    "recovery-point",
];

/// Where `part` begins in `whole`, of which it is a part.
fn place(whole: &[u8], part: &[u8]) -> usize {
    let place = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    place.min(whole.len())
}

fn dissect(reading: &mut Reading<'_>) {
    let octets = reading.octets();
    let AnalysedFpdu { fpdu, octets: own, fields } = match look(octets) {
        Ok(looked) => looked,
        Err(why) => return reading.malformed(&why),
    };
    reading.header_len(own.len());
    reading.summary(line(&fpdu, &fields));
    let written = emit(&fpdu);
    reading.emitted(|out| out.copy_from_slice(&written), written.len());
    let kind = fpdu.kind();
    reading.named("fpdu", 0, own.len(), kind.tag(), kind);
    for FpduField { name, octets, said } in fields {
        reading.field(name, place(own, octets), octets.len(), Value::Text(said));
    }
    if let Fpdu::Raw(raw) = &fpdu {
        let len = raw.content.len();
        let at = own.len().saturating_sub(len);
        reading.field("fields", at, len, raw.content.as_slice());
        reading.note("the fields of this FPDU are not read here");
    }
    if let Some(outcome) = fpdu.outcome() {
        for diagnostic in outcome.diagnostic {
            let remedy = diagnostic.identifier().map_or("", |one| one.remedy);
            if remedy.is_empty() {
                reading.note(diagnostic);
            } else {
                reading.note(format!("{diagnostic}; {remedy}"));
            }
        }
    }
    reading.follow(&[Key::Named(FPDU.name)], own.len(), usize::MAX);
}

/// The line of an FPDU: its name, what it is about, and how it ended where that was not well.
fn line(fpdu: &Fpdu, fields: &[FpduField<'_>]) -> String {
    let mut line = fpdu.kind().name().to_owned();
    let mut before = ": ";
    let mut tell = |told: &str| {
        if !told.is_empty() {
            line.push_str(before);
            line.push_str(told);
            before = ", ";
        }
    };
    for name in TOLD {
        let mut found = fields.iter().filter(|field| field.name == *name);
        if let Some(first) = found.next() {
            match *name {
                "override" => tell(&format!("if it exists {}", first.said)),
                "threshold" => tell(&format!("threshold {}", first.said)),
                _ => tell(&first.said),
            }
        }
    }
    if let Some(outcome) = fpdu.outcome() {
        if !outcome.action_result.is_success() {
            tell(&outcome.action_result.to_string());
        }
        for diagnostic in outcome.diagnostic {
            let text = diagnostic.identifier().map_or("unknown", |one| one.text);
            tell(&format!("{} {text}", diagnostic.error_identifier));
        }
    }
    line
}
