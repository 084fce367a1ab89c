//! Confirmed services: those for files, status and identify.

use kumiki_octets::Message;
use kumiki_osi_service::mms::{
    DirectoryEntry, FileDirectory, FileDirectoryResponse, FileName, FileOpen, FileOpened, FileRead, FileRename,
    Identity, ObtainFile, Request, Response, Service, Status,
};

use super::fields::{emit_attributes, emit_name, parse_attributes, parse_name};
use super::raw;
use crate::Malformed;
use crate::osi::ber::{Class, Element, Reader, Tag, Writer};

/// The most entries in one PDU.
const MOST_ENTRIES: usize = 100_000;

fn tag(service: Service) -> Tag {
    Tag::context(service.0)
}

fn name(w: &mut Writer, number: u32, name: &FileName) {
    w.context(number, |w| emit_name(w, name));
}

/// A service that is asked for.
pub(super) fn request(w: &mut Writer, request: &Request) {
    let service = tag(request.service());
    match request {
        Request::Status(extended) => w.boolean(service, *extended),
        Request::Identify => w.null(service),
        Request::ObtainFile(it) => w.constructed(service, |w| {
            if let Some(server) = &it.source_file_server {
                w.raw(server);
            }
            name(w, 1, &it.source_file);
            name(w, 2, &it.destination_file);
        }),
        Request::FileOpen(it) => w.constructed(service, |w| {
            name(w, 0, &it.file_name);
            w.integer(Tag::context(1), it.initial_position);
        }),
        Request::FileRead(frsm) | Request::FileClose(frsm) => w.integer(service, *frsm),
        Request::FileRename(it) => w.constructed(service, |w| {
            name(w, 0, &it.current);
            name(w, 1, &it.new);
        }),
        Request::FileDelete(it) => w.constructed(service, |w| emit_name(w, it)),
        Request::FileDirectory(it) => w.constructed(service, |w| {
            if let Some(it) = &it.file_specification {
                name(w, 0, it);
            }
            if let Some(it) = &it.continue_after {
                name(w, 1, it);
            }
        }),
        Request::Other(raw) => w.raw(&raw.octets),
    }
}

/// What a service gives. The octets of fileRead are copied here; see [`super::emit`].
pub(super) fn response(w: &mut Writer, response: &Response) {
    let service = tag(response.service());
    match response {
        Response::Status(it) => w.constructed(service, |w| {
            w.integer(Tag::context(0), it.logical);
            w.integer(Tag::context(1), it.physical);
        }),
        Response::Identify(it) => w.constructed(service, |w| {
            w.text(Tag::context(0), &it.vendor_name);
            w.text(Tag::context(1), &it.model_name);
            w.text(Tag::context(2), &it.revision);
            if !it.abstract_syntaxes.is_empty() {
                w.context(3, |w| {
                    for oid in &it.abstract_syntaxes {
                        w.oid(Tag::OBJECT_IDENTIFIER, oid);
                    }
                });
            }
        }),
        Response::FileOpen(it) => w.constructed(service, |w| {
            w.integer(Tag::context(0), it.frsm);
            w.context(1, |w| emit_attributes(w, &it.attributes));
        }),
        Response::FileRead(it) => w.constructed(service, |w| {
            w.octet_string(Tag::context(0), &it.file_data.to_vec());
            w.boolean(Tag::context(1), it.more_follows);
        }),
        Response::ObtainFile | Response::FileClose | Response::FileRename | Response::FileDelete => w.null(service),
        Response::FileDirectory(it) => w.constructed(service, |w| {
            w.context(0, |w| {
                w.sequence(|w| {
                    for entry in &it.entries {
                        w.sequence(|w| {
                            name(w, 0, &entry.filename);
                            w.context(1, |w| emit_attributes(w, &entry.attributes));
                        });
                    }
                });
            });
            if it.more_follows {
                w.boolean(Tag::context(1), true);
            }
        }),
        Response::Other(raw) => w.raw(&raw.octets),
    }
}

/// The service of a tag.
fn service_of(element: &Element<'_>) -> Option<Service> {
    let tag = element.tag();
    (tag.class == Class::Context).then_some(Service(tag.number))
}

fn frsm(element: &Element<'_>) -> Result<i32, Malformed> {
    element.integer_in("-2147483648 to 2147483647")
}

/// Elements inside, which errors say are of `service`.
fn inside<'a>(element: &Element<'a>, service: &'static str) -> Result<Reader<'a>, Malformed> {
    Ok(element.elements()?.named(service))
}

/// A service that is asked for.
pub(super) fn parse_request(element: &Element<'_>) -> Result<Request, Malformed> {
    Ok(match service_of(element) {
        Some(Service::STATUS) => Request::Status(element.boolean()?),
        Some(Service::IDENTIFY) => {
            element.null()?;
            Request::Identify
        }
        Some(Service::OBTAIN_FILE) => {
            let mut r = inside(element, "obtainFile")?;
            let server = r.take_if(Tag::context(0), "sourceFileServer")?;
            let source = parse_name(&r.take(Tag::context(1), "sourceFile")?)?;
            let destination = parse_name(&r.take(Tag::context(2), "destinationFile")?)?;
            Request::ObtainFile(Box::new(ObtainFile {
                source_file_server: server.map(|it| it.octets().to_vec()),
                source_file: source,
                destination_file: destination,
            }))
        }
        Some(Service::FILE_OPEN) => {
            let mut r = inside(element, "fileOpen")?;
            let file_name = parse_name(&r.take(Tag::context(0), "fileName")?)?;
            let at = r.take(Tag::context(1), "initialPosition")?;
            Request::FileOpen(FileOpen { file_name, initial_position: at.integer_in("0 to 4294967295")? })
        }
        Some(Service::FILE_READ) => Request::FileRead(frsm(element)?),
        Some(Service::FILE_CLOSE) => Request::FileClose(frsm(element)?),
        Some(Service::FILE_RENAME) => {
            let mut r = inside(element, "fileRename")?;
            let current = parse_name(&r.take(Tag::context(0), "currentFileName")?)?;
            let new = parse_name(&r.take(Tag::context(1), "newFileName")?)?;
            Request::FileRename(FileRename { current, new })
        }
        Some(Service::FILE_DELETE) => Request::FileDelete(parse_name(element)?),
        Some(Service::FILE_DIRECTORY) => {
            let mut r = inside(element, "fileDirectory")?;
            let specification = r.take_if(Tag::context(0), "fileSpecification")?;
            let after = r.take_if(Tag::context(1), "continueAfter")?;
            Request::FileDirectory(FileDirectory {
                file_specification: specification.as_ref().map(parse_name).transpose()?,
                continue_after: after.as_ref().map(parse_name).transpose()?,
            })
        }
        Some(_) => Request::Other(raw(element)),
        None => return Err(element.is_no("[0] status to [78] additionalService")),
    })
}

/// What a service gives.
pub(super) fn parse_response(element: &Element<'_>) -> Result<Response, Malformed> {
    let done = |response: Response| element.null().map(|()| response);
    Ok(match service_of(element) {
        Some(Service::STATUS) => {
            let mut r = inside(element, "status")?;
            Response::Status(Status {
                logical: r.take(Tag::context(0), "vmdLogicalStatus")?.integer()?,
                physical: r.take(Tag::context(1), "vmdPhysicalStatus")?.integer()?,
            })
        }
        Some(Service::IDENTIFY) => {
            let mut r = inside(element, "identify")?;
            let vendor_name = r.take(Tag::context(0), "vendorName")?.text()?;
            let model_name = r.take(Tag::context(1), "modelName")?.text()?;
            let revision = r.take(Tag::context(2), "revision")?.text()?;
            let mut abstract_syntaxes = Vec::new();
            if let Some(list) = r.take_if(Tag::context(3), "listOfAbstractSyntaxes")? {
                let mut r = list.elements()?;
                while let Some(oid) = r.next("listOfAbstractSyntaxes")? {
                    abstract_syntaxes.push(oid.oid()?);
                }
            }
            Response::Identify(Box::new(Identity { vendor_name, model_name, revision, abstract_syntaxes }))
        }
        Some(Service::OBTAIN_FILE) => done(Response::ObtainFile)?,
        Some(Service::FILE_OPEN) => {
            let mut r = inside(element, "fileOpen")?;
            let number = frsm(&r.take(Tag::context(0), "frsmID")?)?;
            let attributes = parse_attributes(&r.take(Tag::context(1), "fileAttributes")?)?;
            Response::FileOpen(FileOpened { frsm: number, attributes })
        }
        Some(Service::FILE_READ) => {
            let mut r = inside(element, "fileRead")?;
            let data = r.take(Tag::context(0), "fileData")?.octet_string()?;
            let more = r.optional(Tag::context(1), "moreFollows", Element::boolean)?;
            Response::FileRead(FileRead {
                file_data: Message::owning(data.into_owned()),
                more_follows: more.unwrap_or(true),
            })
        }
        Some(Service::FILE_CLOSE) => done(Response::FileClose)?,
        Some(Service::FILE_RENAME) => done(Response::FileRename)?,
        Some(Service::FILE_DELETE) => done(Response::FileDelete)?,
        Some(Service::FILE_DIRECTORY) => directory(element)?,
        Some(_) => Response::Other(raw(element)),
        None => return Err(element.is_no("[0] status to [78] additionalService")),
    })
}

fn directory(element: &Element<'_>) -> Result<Response, Malformed> {
    let mut r = inside(element, "fileDirectory")?;
    let list = r.take(Tag::context(0), "listOfDirectoryEntry")?;
    let mut inner = list.elements()?;
    // The tag is explicit, which some take for an implicit one: then the entries follow at once.
    let explicit = inner.peek() == Some(Tag::SEQUENCE) && {
        let mut ahead = list.elements()?;
        let first = ahead.any("listOfDirectoryEntry", "SEQUENCE")?;
        let of = first.elements()?.peek();
        ahead.is_empty() && (of.is_none() || of == Some(Tag::SEQUENCE))
    };
    if explicit {
        inner = inner.take(Tag::SEQUENCE, "listOfDirectoryEntry")?.elements()?;
    }
    let mut entries = Vec::new();
    while let Some(entry) = inner.next("DirectoryEntry")? {
        if entry.tag() != Tag::SEQUENCE || entries.len() == MOST_ENTRIES {
            return Err(entry.is_no("a DirectoryEntry, and 100000 at most"));
        }
        let mut r = entry.elements()?;
        let filename = parse_name(&r.take(Tag::context(0), "filename")?)?;
        let attributes = parse_attributes(&r.take(Tag::context(1), "fileAttributes")?)?;
        entries.push(DirectoryEntry { filename, attributes });
    }
    let more = r.optional(Tag::context(1), "moreFollows", Element::boolean)?;
    Ok(Response::FileDirectory(FileDirectoryResponse { entries, more_follows: more.unwrap_or(false) }))
}
