//! What attributes of files say, as far as they were said.

use crate::osi::{Form, GraphicString, Pathname, ReadAttributes};

/// How many octets a file has, if that was said.
#[must_use]
pub fn size(attributes: &ReadAttributes) -> Option<u64> {
    attributes.size.as_ref()?.actual().copied()
}

/// When its contents were last modified, as it was said.
#[must_use]
pub fn modified(attributes: &ReadAttributes) -> Option<String> {
    let time = attributes.modified.as_ref()?.actual()?;
    Some(time.as_str().to_owned())
}

/// Its name, if that was said, with control characters escaped. Where it is no UTF-8, so are the octets that are no
/// ASCII (`\xff`) and backslashes: in whichever character set it is, it must not look like another name.
#[must_use]
pub fn name(attributes: &ReadAttributes) -> Option<String> {
    let pathname = attributes.pathname.as_ref()?;
    if exact_name(attributes).is_some() {
        return Some(pathname.to_string());
    }
    let octets = octets(pathname);
    let shown = octets.iter().map(|octet| match octet {
        0x80.. => format!("\\x{octet:02x}"),
        b'\\' => "\\\\".to_owned(),
        ascii => GraphicString::from(&[*ascii][..]).to_string(),
    });
    Some(shown.collect())
}

/// The same as it was said, to be asked for; none where it is no UTF-8.
#[must_use]
pub fn exact_name(attributes: &ReadAttributes) -> Option<String> {
    String::from_utf8(octets(attributes.pathname.as_ref()?)).ok()
}

/// The octets of a name, with `/` between the components.
#[must_use]
pub fn octets(pathname: &Pathname) -> Vec<u8> {
    let parts: Vec<&[u8]> = pathname.components().iter().map(GraphicString::octets).collect();
    let whole = parts.join(&b'/');
    match pathname {
        Pathname::Incomplete(_) => whole,
        Pathname::Complete(_) => [&b"/"[..], &whole].concat(),
    }
}

/// Whether it is a directory, as far as that was said.
#[must_use]
pub fn is_directory(attributes: &ReadAttributes) -> bool {
    attributes.contents_type.as_ref().and_then(Form::of) == Some(Form::Directory)
}

/// The name of a directory, as filestores have it: without a slash at the end, and `.` for nothing.
#[must_use]
pub fn directory(name: &str) -> String {
    let name = name.strip_suffix('/').unwrap_or(name);
    if name.is_empty() { "." } else { name }.to_owned()
}
