//! MMS: what a device of IEC 61850 is asked for, which file, and how that ended.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::mms`] |
//! | Found | values of the presentation context of MMS, those in association control among them |
//! | Left out | the inside of services that are not for files; whether a PDU is allowed in the state of its association |

use kumiki_octets::Message;
use kumiki_osi::mms::{ABSTRACT_SYNTAX, Pdu, Request, Response, Service};
use kumiki_wire::Malformed;
use kumiki_wire::ber::{Element, Reader, Tag};
use kumiki_wire::mms;

use super::presentation::{element, integer};
use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(super) const DISSECTOR: Dissector = Dissector {
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
    if let Err(why) = fields(reading, &pdu) {
        return reading.malformed(&why);
    }
    match &pdu {
        Pdu::Error { error, .. }
        | Pdu::CancelError { error, .. }
        | Pdu::InitiateError(error)
        | Pdu::ConcludeError(error) => reading.note(error),
        Pdu::Reject(reject) => reading.note(reject),
        Pdu::Request {
            service: Request::Other(_),
            ..
        }
        | Pdu::Response {
            service: Response::Other(_),
            ..
        }
        | Pdu::Unconfirmed(_) => reading.note("the inside of this service is not read here"),
        Pdu::Request { .. }
        | Pdu::Response { .. }
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

/// The fields of a PDU, and those of a service one level below.
fn fields(reading: &mut Reading<'_>, pdu: &Pdu) -> Result<(), Malformed> {
    let outer = Reader::new("MMS PDU", reading.octets()).any("tag", "a PDU")?;
    element(
        reading,
        "pdu",
        &outer,
        integer(i64::from(outer.tag().number)),
        pdu.name(),
    );
    if !outer.is_constructed() {
        return Ok(());
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
                inside(reading, &field, pdu)?;
            }
            None => {
                let name = name(pdu, field.tag().number);
                let value = primitive(&field);
                element(reading, name, &field, value, "");
            }
        }
    }
    Ok(())
}

/// What a service is asked for, or gives.
fn inside(reading: &mut Reading<'_>, service: &Element<'_>, pdu: &Pdu) -> Result<(), Malformed> {
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
            | Request::FileDelete(_)
            | Request::Other(_) => &[],
        },
        Pdu::Response { service, .. } => match service {
            Response::FileOpen(_) => &["frsmID", "fileAttributes"],
            Response::FileRead(_) => &["fileData", "moreFollows"],
            Response::FileDirectory(_) => &["listOfDirectoryEntry", "moreFollows"],
            Response::Identify(_) => &["vendorName", "modelName", "revision"],
            Response::Status(_) => &["vmdLogicalStatus", "vmdPhysicalStatus"],
            Response::ObtainFile
            | Response::FileClose
            | Response::FileRename
            | Response::FileDelete
            | Response::Other(_) => &[],
        },
        Pdu::Error { .. }
        | Pdu::Unconfirmed(_)
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
    if names.is_empty() || !service.is_constructed() {
        return Ok(());
    }
    let mut r = service.elements()?;
    while let Some(field) = r.next("a field")? {
        let at = usize::try_from(field.tag().number).unwrap_or(usize::MAX);
        if let Some(name) = names.get(at) {
            let value = match *name {
                "fileData" => Value::text(format!("{} octets", field.content().len())),
                _ => primitive(&field),
            };
            element(reading, name, &field, value, "");
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
        return Value::text(format!("{} octets", field.content().len()));
    }
    match field.integer() {
        Ok(number) => integer(number),
        Err(_) => Value::text(format!("{} octets", field.content().len())),
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
