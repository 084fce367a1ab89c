//! MMS PDUs, with the services for files.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 9506-2. The text was not at hand: fields and tags are those of the ASN.1 that Wireshark has; judged by tshark and libiec61850 |
//! | Above | the user of MMS: [`kumiki_osi_service::mms`] |
//! | Below | [`presentation`](crate::osi::presentation): each PDU is one value in the context of MMS; initiate rides in [`acse`](crate::osi::acse) |
//! | Emits | definite lengths; `moreFollows` of fileRead always, for some readers do not know its default |
//! | Accepts | every form of BER, fields of later versions behind those that are known (passed over), dates that are none; a file's octets in pieces |
//! | Left out | the inside of other services ([`Raw`]), modifiers (kept as octets), companion standards' details (passed over), error information of services that are not for files |
//!
//! The octets of a file are shared and never read; all else of a PDU is small and read from one piece, of at most
//! [`MOST_OCTETS`].

use kumiki_octets::Message;
use kumiki_osi_service::mms::{FileRead, Pdu, Raw, Reject, RejectedPdu, Response, Service};

use crate::Malformed;
use crate::osi::ber::{BerError, Class, Element, Reader, Tag, Writer, chain, push};

mod fields;
mod services;

/// The most octets of a PDU that does not carry a file's.
pub const MOST_OCTETS: usize = 1 << 20;

/// What errors name before it is known which PDU it is.
const PDU: &str = "MMS PDU";

/// The tag of fileRead.
const FILE_READ: Tag = Tag::context(Service::FILE_READ.0);

/// The octets of a PDU. Those of a file are taken along, not copied.
#[must_use]
pub fn emit(pdu: Pdu) -> Message {
    if let Pdu::Response { invoke, service: Response::FileRead(read) } = pdu {
        return emit_file_read(invoke, read);
    }
    let mut w = Writer::new();
    match &pdu {
        Pdu::Request { invoke, modifiers, service } => w.context(0, |w| {
            w.integer(Tag::INTEGER, *invoke);
            w.raw(modifiers);
            services::request(w, service);
        }),
        Pdu::Response { invoke, service } => w.context(1, |w| {
            w.integer(Tag::INTEGER, *invoke);
            services::response(w, service);
        }),
        Pdu::Error { invoke, error } => w.context(2, |w| {
            w.integer(Tag::context(0), *invoke);
            w.context(2, |w| fields::emit_error(w, error));
        }),
        Pdu::Unconfirmed(raw) => w.context(3, |w| w.raw(&raw.octets)),
        Pdu::Reject(reject) => w.context(4, |w| {
            if let Some(invoke) = reject.invoke {
                w.integer(Tag::context(0), invoke);
            }
            w.integer(Tag::context(reject.pdu.0), reject.code);
        }),
        Pdu::CancelRequest(invoke) => w.integer(Tag::context(5), *invoke),
        Pdu::CancelResponse(invoke) => w.integer(Tag::context(6), *invoke),
        Pdu::CancelError { invoke, error } => w.context(7, |w| {
            w.integer(Tag::context(0), *invoke);
            w.context(1, |w| fields::emit_error(w, error));
        }),
        Pdu::InitiateRequest(it) => w.context(8, |w| fields::emit_initiate(w, it)),
        Pdu::InitiateResponse(it) => w.context(9, |w| fields::emit_initiate(w, it)),
        Pdu::InitiateError(error) => w.context(10, |w| fields::emit_error(w, error)),
        Pdu::ConcludeRequest => w.null(Tag::context(11)),
        Pdu::ConcludeResponse => w.null(Tag::context(12)),
        Pdu::ConcludeError(error) => w.context(13, |w| fields::emit_error(w, error)),
    }
    Message::owning(w.finish())
}

/// How many octets a PDU has at most around the octets of a file that it carries: with a number of 32 bits and lengths
/// of up to 24.
pub const AROUND_FILE_DATA: usize = 32;

fn emit_file_read(invoke: u32, read: FileRead) -> Message {
    let mut message = read.file_data;
    push::primitive(&mut message, Tag::context(0));
    let more = if read.more_follows { 0xff } else { 0 };
    message.append_octets(&[0x81, 1, more]);
    push::constructed(&mut message, FILE_READ);
    push::integer(&mut message, Tag::INTEGER, invoke);
    push::constructed(&mut message, Tag::context(1));
    message
}

/// Reads the PDU that is all of `message`.
///
/// # Errors
/// It is none, or a field cannot be read: both are named.
pub fn parse(message: Message) -> Result<Pdu, Malformed> {
    let mut r = chain::Reader::new(PDU, message.share(0, message.len()).unwrap_or_default());
    let head = r.peek("tag")?;
    let tag = head.map(|head| head.tag);
    if tag == Some(Tag::context(1))
        && let Some(pdu) = file_read(&mut r)?
    {
        return Ok(pdu);
    }
    if message.len() > MOST_OCTETS {
        let (found, least, most) = (message.len(), 2, MOST_OCTETS);
        return Err(BerError::Size { found, least, most }.of(PDU, "PDU"));
    }
    parse_octets(&message.to_vec())
}

/// As [`parse`], of octets in one piece.
///
/// # Errors
/// As [`parse`].
pub fn parse_octets(octets: &[u8]) -> Result<Pdu, Malformed> {
    let mut r = Reader::new(PDU, octets);
    let whole = r.any("tag", "[0] confirmed-Request to [13] conclude-Error")?;
    r.finish("end")?;
    let tag = whole.tag();
    let name = match (tag.class, tag.number) {
        (Class::Context, number) => name(number),
        (Class::Universal | Class::Application | Class::Private, _) => None,
    };
    let Some(name) = name else {
        return Err(whole.is_no("[0] confirmed-Request to [13] conclude-Error"));
    };
    let inside = || -> Result<Reader<'_>, Malformed> { Ok(whole.elements()?.named(name)) };
    let invoke_of = |element: Element<'_>| element.integer_in::<u32>("0 to 4294967295");
    Ok(match tag.number {
        0 => {
            let mut r = inside()?;
            let invoke = invoke_of(r.take(Tag::INTEGER, "invokeID")?)?;
            let modifiers = r.take_if(Tag::SEQUENCE, "listOfModifier")?;
            let modifiers = modifiers.map(|it| it.octets().to_vec()).unwrap_or_default();
            let service = r.any("confirmedServiceRequest", "a service")?;
            let service = services::parse_request(&service)?;
            Pdu::Request { invoke, modifiers, service }
        }
        1 => {
            let mut r = inside()?;
            let invoke = invoke_of(r.take(Tag::INTEGER, "invokeID")?)?;
            let service = r.any("confirmedServiceResponse", "a service")?;
            let service = services::parse_response(&service)?;
            Pdu::Response { invoke, service }
        }
        2 => {
            let mut r = inside()?;
            let invoke = invoke_of(r.take(Tag::context(0), "invokeID")?)?;
            let error = r.seek(Tag::context(2), "serviceError")?;
            let error = fields::parse_error(&mut error.elements()?)?;
            Pdu::Error { invoke, error }
        }
        3 => {
            let service = inside()?.any("unconfirmedService", "a service")?;
            Pdu::Unconfirmed(raw(&service))
        }
        4 => {
            let mut r = inside()?;
            let invoke = r.optional(Tag::context(0), "originalInvokeID", |it| it.integer_in("0 to 4294967295"))?;
            let reason = r.any("rejectReason", "[1] to [11]")?;
            let pdu = RejectedPdu(reason.tag().number);
            if reason.tag().class != Class::Context || !(1..=11).contains(&pdu.0) {
                return Err(reason.is_no("[1] to [11]"));
            }
            let code = reason.integer()?;
            Pdu::Reject(Reject { invoke, pdu, code })
        }
        5 => Pdu::CancelRequest(invoke_of(whole.called("originalInvokeID"))?),
        6 => Pdu::CancelResponse(invoke_of(whole.called("originalInvokeID"))?),
        7 => {
            let mut r = inside()?;
            let invoke = invoke_of(r.take(Tag::context(0), "originalInvokeID")?)?;
            let error = r.take(Tag::context(1), "serviceError")?;
            let error = fields::parse_error(&mut error.elements()?)?;
            Pdu::CancelError { invoke, error }
        }
        8 => Pdu::InitiateRequest(fields::parse_initiate(&mut inside()?)?),
        9 => Pdu::InitiateResponse(fields::parse_initiate(&mut inside()?)?),
        10 => Pdu::InitiateError(fields::parse_error(&mut inside()?)?),
        11 => whole.null().map(|()| Pdu::ConcludeRequest)?,
        12 => whole.null().map(|()| Pdu::ConcludeResponse)?,
        _ => Pdu::ConcludeError(fields::parse_error(&mut inside()?)?),
    })
}

/// fileRead response, whose octets stay where they are; none where it is another response.
fn file_read(r: &mut chain::Reader) -> Result<Option<Pdu>, Malformed> {
    r.enter(Tag::context(1), "confirmed-Response")?;
    let invoke = r.integer(Tag::INTEGER, "invokeID")?;
    let Some(head) = r.peek("confirmedServiceResponse")? else {
        return Ok(None);
    };
    if head.tag != FILE_READ {
        return Ok(None);
    }
    let invoke = u32::try_from(invoke).map_err(|_| {
        let expected = "0 to 4294967295";
        let found = invoke;
        BerError::Value { found, expected }.of("fileRead", "invokeID")
    })?;
    r.enter(FILE_READ, "fileRead")?;
    let file_data = r.octet_string(Tag::context(0), "fileData")?;
    let mut more_follows = true;
    while let Some(head) = r.peek("moreFollows")? {
        let octets = r.piece("moreFollows", MOST_FLAG)?;
        if head.tag == Tag::context(1) {
            more_follows = Reader::new("fileRead", &octets).take(Tag::context(1), "moreFollows")?.boolean()?;
        }
    }
    r.leave("fileRead")?;
    while r.peek("cs-response-detail")?.is_some() {
        r.element("cs-response-detail")?;
    }
    r.leave("confirmed-Response")?;
    if let Some(head) = r.peek("end")? {
        return Err(BerError::Left { found: head.tag }.of("fileRead", "end"));
    }
    let read = FileRead { file_data, more_follows };
    let service = Response::FileRead(read);
    Ok(Some(Pdu::Response { invoke, service }))
}

/// The most octets of a BOOLEAN and of what a later version may put beside it.
const MOST_FLAG: usize = 256;

/// What a service is that is not looked into.
fn raw(element: &Element<'_>) -> Raw {
    Raw { tag: element.tag().number, octets: element.octets().to_vec() }
}

/// The name of a PDU by its tag.
const fn name(tag: u32) -> Option<&'static str> {
    Some(match tag {
        0 => "confirmed-Request",
        1 => "confirmed-Response",
        2 => "confirmed-Error",
        3 => "unconfirmed",
        4 => "reject",
        5 => "cancel-Request",
        6 => "cancel-Response",
        7 => "cancel-Error",
        8 => "initiate-Request",
        9 => "initiate-Response",
        10 => "initiate-Error",
        11 => "conclude-Request",
        12 => "conclude-Response",
        13 => "conclude-Error",
        _ => return None,
    })
}

/// Whether it is a confirmed request, response or error, and the number of its service, as far as both can be read: for
/// the reject of one whose rest cannot.
#[must_use]
pub fn invoke_of(message: &Message) -> Option<(RejectedPdu, u32)> {
    let mut r = chain::Reader::new(PDU, message.share(0, message.len()).ok()?);
    let outer = r.peek("tag").ok()??.tag;
    let (pdu, name, invoke) = if outer == Tag::context(0) {
        let pdu = RejectedPdu::CONFIRMED_REQUEST;
        (pdu, "confirmed-Request", Tag::INTEGER)
    } else if outer == Tag::context(1) {
        let pdu = RejectedPdu::CONFIRMED_RESPONSE;
        (pdu, "confirmed-Response", Tag::INTEGER)
    } else if outer == Tag::context(2) {
        let pdu = RejectedPdu::CONFIRMED_ERROR;
        (pdu, "confirmed-Error", Tag::context(0))
    } else {
        return None;
    };
    r.enter(outer, name).ok()?;
    let invoke = r.integer(invoke, "invokeID").ok()?;
    Some((pdu, u32::try_from(invoke).ok()?))
}
