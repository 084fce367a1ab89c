//! What several PDUs have: names and attributes of files, errors, initiate.

use kumiki_osi_service::ftam::{GeneralizedTime, GraphicString};
use kumiki_osi_service::mms::{
    ErrorClass, FaultyFile, FileAttributes, FileName, Initiate, ServiceError, Services, parameters,
};

use crate::Malformed;
use crate::osi::ber::{Bits, Class, Element, Reader, Tag, Writer};

/// The most components of a name.
const MOST_COMPONENTS: usize = 64;

/// The components of a name, inside of its tag.
pub(super) fn emit_name(w: &mut Writer, name: &FileName) {
    for component in &name.0 {
        w.primitive(Tag::GRAPHIC_STRING, component.octets());
    }
}

/// The components of a name.
pub(super) fn parse_name(element: &Element<'_>) -> Result<FileName, Malformed> {
    let mut r = element.elements()?;
    let mut components = Vec::new();
    while let Some(component) = r.next("FileName")? {
        // Some send other character strings than GraphicString.
        if component.tag().class != Class::Universal || components.len() == MOST_COMPONENTS {
            return Err(component.is_no("up to 64 components of a name"));
        }
        let octets = component.octet_string()?;
        components.push(GraphicString::from(octets.as_ref()));
    }
    Ok(FileName(components))
}

/// The attributes of a file, inside of their tag.
pub(super) fn emit_attributes(w: &mut Writer, attributes: &FileAttributes) {
    w.integer(Tag::context(0), attributes.size_of_file);
    if let Some(time) = &attributes.last_modified {
        w.text(Tag::context(1), time.as_str());
    }
}

/// The attributes of a file.
pub(super) fn parse_attributes(element: &Element<'_>) -> Result<FileAttributes, Malformed> {
    let mut r = element.elements()?;
    let size = r.take(Tag::context(0), "sizeOfFile")?;
    // An INTEGER of four octets with the highest bit set is a size beyond 2 GiB that somebody has written without its
    // zero.
    let size_of_file = match size.integer()? {
        negative @ -2_147_483_648..0 => u32::try_from(negative + 4_294_967_296).unwrap_or(u32::MAX),
        _ => size.integer_in("0 to 4294967295")?,
    };
    let time = r.optional(Tag::context(1), "lastModified", Element::octet_string)?;
    let last_modified = time.map(|octets| GeneralizedTime::written(&octets));
    Ok(FileAttributes { size_of_file, last_modified })
}

/// What is said more of obtainFile that has failed.
const OBTAIN_FILE: Tag = Tag::context(0);
/// The same of fileRename.
const FILE_RENAME: Tag = Tag::context(9);

/// An error, inside of its tag.
pub(super) fn emit_error(w: &mut Writer, error: &ServiceError) {
    w.context(0, |w| w.integer(Tag::context(error.class.0), error.code));
    if let Some(code) = error.additional_code {
        w.integer(Tag::context(1), code);
    }
    if let Some(text) = &error.additional_description {
        w.text(Tag::context(2), text);
    }
    if let Some(blame) = error.file {
        w.context(3, |w| match blame {
            FaultyFile::ObtainFile(which) => w.integer(OBTAIN_FILE, which),
            FaultyFile::FileRename(which) => w.integer(FILE_RENAME, which),
        });
    }
}

/// An error.
pub(super) fn parse_error(r: &mut Reader<'_>) -> Result<ServiceError, Malformed> {
    let class = r.take(Tag::context(0), "errorClass")?.only()?;
    if class.tag().class != Class::Context {
        return Err(class.is_no("[0] vmd-state to [12] others"));
    }
    let additional_code = r.optional(Tag::context(1), "additionalCode", Element::integer)?;
    let description = r.optional(Tag::context(2), "additionalDescription", Element::text)?;
    let information = r.take_if(Tag::context(3), "serviceSpecificInformation")?;
    let file = match information {
        None => None,
        Some(information) => {
            let inside = information.only()?;
            let tag = inside.tag();
            if tag == OBTAIN_FILE {
                Some(FaultyFile::ObtainFile(inside.integer()?))
            } else if tag == FILE_RENAME {
                Some(FaultyFile::FileRename(inside.integer()?))
            } else {
                None
            }
        }
    };
    Ok(ServiceError {
        class: ErrorClass(class.tag().number),
        code: class.integer()?,
        additional_code,
        additional_description: description,
        file,
    })
}

/// Initiate, inside of its tag.
pub(super) fn emit_initiate(w: &mut Writer, it: &Initiate) {
    if let Some(octets) = it.local_detail {
        w.integer(Tag::context(0), octets);
    }
    w.integer(Tag::context(1), it.max_serv_outstanding_calling);
    w.integer(Tag::context(2), it.max_serv_outstanding_called);
    if let Some(level) = it.data_structure_nesting_level {
        w.integer(Tag::context(3), level);
    }
    w.context(4, |w| {
        w.integer(Tag::context(0), it.version);
        let parameters = Bits::named(it.parameter_cbb, parameters::LISTED);
        w.bits(Tag::context(1), &parameters);
        w.bits(Tag::context(2), &listed(it.services_supported));
    });
}

/// Services as a list of bits.
fn listed(services: Services) -> Bits<'static> {
    let highest = 128 - services.0.leading_zeros();
    let bits = highest.max(Services::LISTED);
    let octets = services.0.reverse_bits().to_be_bytes();
    let whole = usize::try_from(bits.div_ceil(8)).unwrap_or(octets.len());
    let octets = octets.get(..whole).unwrap_or_default().to_vec();
    let unused = u8::try_from(whole * 8).unwrap_or(0) - u8::try_from(bits).unwrap_or(0);
    // It is as long as it says.
    Bits::new(octets, unused).unwrap_or_else(|| Bits::named(0, 0))
}

/// Initiate.
pub(super) fn parse_initiate(r: &mut Reader<'_>) -> Result<Initiate, Malformed> {
    let local_detail = r.optional(Tag::context(0), "localDetail", Element::integer)?;
    let calling = r.take(Tag::context(1), "maxServOutstandingCalling")?;
    let called = r.take(Tag::context(2), "maxServOutstandingCalled")?;
    let level = r.optional(Tag::context(3), "dataStructureNestingLevel", Element::integer)?;
    let mut detail = r.take(Tag::context(4), "mmsInitDetail")?.elements()?;
    let version = detail.take(Tag::context(0), "versionNumber")?;
    let parameters = detail.take(Tag::context(1), "parameterCBB")?.bits()?;
    let services = detail.take(Tag::context(2), "servicesSupported")?.bits()?;
    let mut supported = Services::NONE;
    for n in 0..services.len().min(128) {
        supported.0 |= u128::from(services.bit(n)) << n;
    }
    Ok(Initiate {
        local_detail,
        max_serv_outstanding_calling: calling.integer()?,
        max_serv_outstanding_called: called.integer()?,
        data_structure_nesting_level: level,
        version: version.integer()?,
        parameter_cbb: parameters.word(),
        services_supported: supported,
    })
}
