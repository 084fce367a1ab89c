//! MMS: what a device of IEC 61850 is asked for, which variables and files, and what it gives.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::files::mms`] |
//! | Found | values of the presentation context of MMS, those in association control among them |
//! | Left out | of services other than those for files and variables, name lists, reports, status and identify there are the values without their names; which request a response answers; whether a PDU is allowed in the state of its association |

use kumiki_octets::Message;
use kumiki_octets::text::counted;
use kumiki_osi_service::mms::{ABSTRACT_SYNTAX, Pdu, Request, Response, Service};
use kumiki_wire::Malformed;
use kumiki_wire::files::mms;
use kumiki_wire::osi::ber::{Element, Reader, Tag};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::osi::presentation::{element, integer};
use crate::reading::Reading;
use crate::registry::Dissector;

mod data;
mod services;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "mms",
    title: "manufacturing message specification (ISO 9506), as IEC 61850 has it",
    claims: &[Key::AbstractSyntax(ABSTRACT_SYNTAX)],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    let (octets, total) = (reading.octets(), reading.total());
    let pdu = match mms::parse(Message::from_octets(octets)) {
        Ok(pdu) => pdu,
        Err(why) => return reading.malformed(&why),
    };
    reading.summary(&pdu);
    reading.header_len(octets.len());
    match fields(reading, &pdu) {
        Ok(said) if said.is_empty() => {}
        Ok(said) => {
            let summary = format!("{} {said}", reading.layer.summary);
            reading.summary(summary);
        }
        Err(why) => return reading.malformed(&why),
    }
    match &pdu {
        Pdu::Error { error, .. }
        | Pdu::CancelError { error, .. }
        | Pdu::InitiateError(error)
        | Pdu::ConcludeError(error) => reading.note(error),
        Pdu::Reject(reject) => reading.note(reject),
        Pdu::Request { .. }
        | Pdu::Response { .. }
        | Pdu::Unconfirmed(_)
        | Pdu::CancelRequest(_)
        | Pdu::CancelResponse(_)
        | Pdu::InitiateRequest(_)
        | Pdu::InitiateResponse(_)
        | Pdu::ConcludeRequest
        | Pdu::ConcludeResponse => {}
    }
    if octets.len() == total {
        let written = mms::emit(pdu).to_vec();
        reading.emitted(|out| out.copy_from_slice(&written), written.len());
    }
}

/// The fields of a PDU, and those of a service behind it. What the line says of the service.
fn fields(reading: &mut Reading<'_>, pdu: &Pdu) -> Result<String, Malformed> {
    let mut said = String::new();
    let outer = Reader::new("MMS PDU", reading.octets()).any("tag", "a PDU")?;
    element(reading, "pdu", &outer, integer(i64::from(outer.tag().number)), pdu.name());
    if !outer.is_constructed() {
        return Ok(said);
    }
    let mut r = outer.elements()?;
    while let Some(field) = r.next("a field")? {
        if field.tag() == Tag::INTEGER {
            element(reading, "invokeID", &field, integer(field.integer()?), "");
            continue;
        }
        let service = match pdu {
            Pdu::Request { .. } | Pdu::Response { .. } => Some(Service(field.tag().number)),
            Pdu::Unconfirmed(_) => Service::unconfirmed(field.tag().number),
            Pdu::Error { .. }
            | Pdu::Reject(_)
            | Pdu::CancelRequest(_)
            | Pdu::CancelResponse(_)
            | Pdu::CancelError { .. }
            | Pdu::InitiateRequest(_)
            | Pdu::InitiateResponse(_)
            | Pdu::InitiateError(_)
            | Pdu::ConcludeRequest
            | Pdu::ConcludeResponse
            | Pdu::ConcludeError(_) => None,
        };
        match service {
            Some(service) => {
                let number = integer(i64::from(service.0));
                element(reading, "service", &field, number, service);
                said = inside(reading, &field, pdu)?;
            }
            None if field.is_constructed() && matches!(pdu, Pdu::InitiateRequest(_) | Pdu::InitiateResponse(_)) => {
                detail(reading, &field)?;
            }
            None => {
                let name = name(pdu, field.tag().number);
                let value = primitive(&field);
                element(reading, name, &field, value, "");
            }
        }
    }
    Ok(said)
}

/// What a service is asked for, or gives.
fn inside(reading: &mut Reading<'_>, service: &Element<'_>, pdu: &Pdu) -> Result<String, Malformed> {
    let known = match pdu {
        Pdu::Request { .. } => services::request(reading, service),
        Pdu::Response { .. } => services::response(reading, service),
        Pdu::Unconfirmed(_) if service.tag().number == 0 => Some(services::report(reading, service)),
        Pdu::Unconfirmed(_)
        | Pdu::Error { .. }
        | Pdu::Reject(_)
        | Pdu::CancelRequest(_)
        | Pdu::CancelResponse(_)
        | Pdu::CancelError { .. }
        | Pdu::InitiateRequest(_)
        | Pdu::InitiateResponse(_)
        | Pdu::InitiateError(_)
        | Pdu::ConcludeRequest
        | Pdu::ConcludeResponse
        | Pdu::ConcludeError(_) => None,
    };
    match known {
        Some(said) => said,
        None => of_files(reading, service, pdu).map(|()| String::new()),
    }
}

/// The same of services for files, status and identify, of which the line of the PDU tells; of others what can be read
/// without names.
fn of_files(reading: &mut Reading<'_>, found: &Element<'_>, pdu: &Pdu) -> Result<(), Malformed> {
    let names: &[&'static str] = match pdu {
        Pdu::Request { service, .. } => match service {
            Request::ObtainFile(_) => &["sourceFileServer", "sourceFile", "destinationFile"],
            Request::FileOpen(_) => &["fileName", "initialPosition"],
            Request::FileRename(_) => &["currentFileName", "newFileName"],
            Request::FileDirectory(_) => &["fileSpecification", "continueAfter"],
            Request::Status(_)
            | Request::Identify
            | Request::FileRead(_)
            | Request::FileClose(_)
            | Request::FileDelete(_) => &[],
            Request::Other(_) => return services::leaves(reading, found),
        },
        Pdu::Response { service, .. } => match service {
            Response::FileOpen(_) => &["frsmID", "fileAttributes"],
            Response::FileRead(_) => &["fileData", "moreFollows"],
            Response::Identify(_) => &["vendorName", "modelName", "revision"],
            Response::Status(_) => &["vmdLogicalStatus", "vmdPhysicalStatus"],
            Response::ObtainFile
            | Response::FileClose
            | Response::FileRename
            | Response::FileDelete
            | Response::FileDirectory(_) => &[],
            Response::Other(_) => return services::leaves(reading, found),
        },
        Pdu::Unconfirmed(_) => return services::leaves(reading, found),
        Pdu::Error { .. }
        | Pdu::Reject(_)
        | Pdu::CancelRequest(_)
        | Pdu::CancelResponse(_)
        | Pdu::CancelError { .. }
        | Pdu::InitiateRequest(_)
        | Pdu::InitiateResponse(_)
        | Pdu::InitiateError(_)
        | Pdu::ConcludeRequest
        | Pdu::ConcludeResponse
        | Pdu::ConcludeError(_) => &[],
    };
    if names.is_empty() || !found.is_constructed() {
        return Ok(());
    }
    let mut r = found.elements()?;
    while let Some(field) = r.next("a field")? {
        let at = usize::try_from(field.tag().number).unwrap_or(usize::MAX);
        if let Some(name) = names.get(at) {
            let value = match *name {
                "fileData" => Value::text(counted(field.content().len(), "octet").to_string()),
                "fileAttributes" => {
                    attributes(reading, &field)?;
                    continue;
                }
                "vendorName" | "modelName" | "revision" => Value::text(data::text(&field)?),
                "moreFollows" => Value::from(field.boolean()?),
                _ => primitive(&field),
            };
            element(reading, name, &field, value, "");
        }
    }
    Ok(())
}

/// Size and date of a file.
fn attributes(reading: &mut Reading<'_>, found: &Element<'_>) -> Result<(), Malformed> {
    let mut r = found.elements()?;
    while let Some(field) = r.next("fileAttributes")? {
        if field.tag() == Tag::context(0) {
            let size = integer(field.integer()?);
            element(reading, "sizeOfFile", &field, size, "");
        } else if field.tag() == Tag::context(1) {
            let time = Value::text(data::text(&field)?);
            element(reading, "lastModified", &field, time, "");
        }
    }
    Ok(())
}

/// InitDetail: version, parameters, and the services that a side has, by name.
fn detail(reading: &mut Reading<'_>, found: &Element<'_>) -> Result<(), Malformed> {
    let mut r = found.elements()?;
    while let Some(field) = r.next("mmsInitDetail")? {
        match field.tag().number {
            0 => {
                let version = integer(field.integer()?);
                element(reading, "versionNumber", &field, version, "");
            }
            1 => {
                let bits = Value::text(data::bits(&field)?);
                element(reading, "parameterCBB", &field, bits, "");
            }
            2 => {
                let bits = field.bits()?;
                let has = (0_u32..).zip(0..bits.len()).filter(|(_, n)| bits.bit(*n));
                let names: Vec<String> = has.map(|(n, _)| Service(n).to_string()).collect();
                let names = Value::text(names.join(" "));
                element(reading, "servicesSupported", &field, names, "");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Numbers as numbers, texts as texts, and of all else how much it is.
fn primitive(field: &Element<'_>) -> Value {
    if field.is_constructed() {
        if let Ok(mut r) = field.elements()
            && let Ok(Some(first)) = r.next("a name")
            && first.tag() == Tag::GRAPHIC_STRING
            && let Ok(text) = first.text()
        {
            return Value::text(text);
        }
        return Value::text(counted(field.content().len(), "octet").to_string());
    }
    match field.integer() {
        Ok(number) => integer(number),
        Err(_) => Value::text(counted(field.content().len(), "octet").to_string()),
    }
}

/// The name of a field that is not a service's.
const fn name(pdu: &Pdu, tag: u32) -> &'static str {
    match (pdu, tag) {
        (Pdu::Error { .. } | Pdu::Reject(_) | Pdu::CancelError { .. }, 0) => "originalInvokeID",
        (Pdu::Error { .. }, 2) | (Pdu::CancelError { .. }, 1) => "serviceError",
        (Pdu::Reject(_), _) => "rejectReason",
        (Pdu::InitiateRequest(_) | Pdu::InitiateResponse(_), 0) => "localDetail",
        (Pdu::InitiateRequest(_) | Pdu::InitiateResponse(_), 1) => "maxServOutstandingCalling",
        (Pdu::InitiateRequest(_) | Pdu::InitiateResponse(_), 2) => "maxServOutstandingCalled",
        (Pdu::InitiateRequest(_) | Pdu::InitiateResponse(_), 3) => "dataStructureNestingLevel",
        (Pdu::InitiateRequest(_) | Pdu::InitiateResponse(_), 4) => "mmsInitDetail",
        _ => "field",
    }
}
