//! Directories as clients see them: names as servers write them, and where there is more.

use kumiki_osi_service::ftam::attributes::{Attribute, ObjectType, ReadAttributes};
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::{AttributeNames, GraphicString};
use kumiki_osi_service::mms::{FileAttributes, FileName};

/// The name of a directory as MMS has it: the root is not named.
pub(super) fn specification(name: &str) -> Option<FileName> {
    let bare = name.trim_end_matches('/');
    (!matches!(bare, "" | ".")).then(|| FileName::from(name))
}

/// The octets of a name, each as the character of its number: names are compared and cut octet by octet, whatever they
/// are written in.
fn characters(octets: &[u8]) -> String {
    octets.iter().copied().map(char::from).collect()
}

/// The components of a name with `/` between them.
fn whole(name: &FileName) -> String {
    let parts: Vec<String> = name.0.iter().map(|it| characters(it.octets())).collect();
    parts.join("/")
}

/// The octets again.
fn octets(characters: &str) -> GraphicString {
    let octets: Vec<u8> = characters.chars().filter_map(|it| u8::try_from(it).ok()).collect();
    octets.into()
}

/// What stands between the components of names.
const SEPARATORS: [char; 2] = ['/', '\\'];

/// The name without what stands before and behind it: some servers begin names with a separator, most end those of
/// directories with one.
fn bare(name: &str) -> &str {
    name.trim_matches(SEPARATORS)
}

/// Whether an entry is the file asked for, and not something in it.
pub(super) fn is_it(asked: &str, entry: &FileName) -> bool {
    let (asked, entry) = (&characters(asked.as_bytes())[..], whole(entry));
    let last = |name: &str| bare(name).rsplit(SEPARATORS).next().map(str::to_owned);
    let whole = bare(&entry) == bare(asked);
    // A name without directory stands for itself, whichever was asked.
    let alone = !bare(&entry).contains(SEPARATORS) && last(asked).as_deref() == Some(bare(&entry));
    (whole || alone) && !entry.ends_with(SEPARATORS)
}

/// Whether the only entry of what should be a directory is that itself: then it is a file. One without the directory in
/// its name may be something in it.
pub(super) fn is_file(asked: &str, entry: &FileName) -> bool {
    let (asked, entry) = (characters(asked.as_bytes()), whole(entry));
    let is_root = matches!(bare(&asked), "" | ".");
    !is_root && bare(&asked) == bare(&entry) && !entry.ends_with(SEPARATORS)
}

/// The name of an entry of `directory`, without that; and whether it is a directory itself. None where it is the
/// directory.
pub(super) fn entry(directory: &str, entry: &FileName) -> Option<(GraphicString, bool)> {
    let (name, directory) = (whole(entry), &characters(directory.as_bytes())[..]);
    let is_directory = name.ends_with(SEPARATORS);
    let (name, directory) = (bare(&name), bare(directory));
    let inside = if matches!(directory, "" | ".") {
        name
    } else {
        match name.strip_prefix(directory) {
            Some("") => return None,
            Some(rest) if rest.starts_with(SEPARATORS) => bare(rest),
            Some(_) | None => name,
        }
    };
    (!inside.is_empty()).then(|| (octets(inside), is_directory))
}

/// Attributes as FTAM has them, under this name.
pub(super) fn attributes(name: GraphicString, is_directory: bool, of: &FileAttributes) -> ReadAttributes {
    let (contents_type, size) = if is_directory {
        (ContentsType::directory(AttributeNames::NONE), None)
    } else {
        let size = Attribute::Actual(u64::from(of.size_of_file));
        (ContentsType::binary(), Some(size))
    };
    let object_type = Some(if is_directory { ObjectType::FileDirectory } else { ObjectType::File });
    ReadAttributes {
        object_type,
        pathname: Some(name.into()),
        contents_type: Some(contents_type),
        size,
        modified: of.last_modified.clone().map(Attribute::Actual),
        ..ReadAttributes::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(directory: &str, name: &str) -> Option<(String, bool)> {
        let (name, is_directory) = entry(directory, &name.into())?;
        Some((name.text().unwrap().to_owned(), is_directory))
    }

    #[test]
    fn names_are_those_in_the_directory_however_servers_write_them() {
        let file = |name: &str| Some((name.to_owned(), false));
        assert_eq!(of("COMTRADE", "COMTRADE/a.cfg"), file("a.cfg"));
        assert_eq!(of("/COMTRADE/", "/COMTRADE/a.cfg"), file("a.cfg"));
        assert_eq!(of("COMTRADE", "a.cfg"), file("a.cfg"));
        assert_eq!(of("\\COMTRADE", "\\COMTRADE\\a.cfg"), file("a.cfg"));
        assert_eq!(of(".", "COMTRADE/"), Some(("COMTRADE".to_owned(), true)));
        assert_eq!(of("COM", "COMTRADE/a.cfg"), file("COMTRADE/a.cfg"));
        assert_eq!(of("COMTRADE", "COMTRADE/"), None);
        assert_eq!(of("ä", "ä/a\tb\x1b"), file("a\tb\x1b"));
    }

    #[test]
    fn octets_of_names_are_those_of_the_device() {
        let name = FileName(vec![b"x/a\xe4\n".to_vec().into()]);
        let (inside, _) = entry("x", &name).unwrap();
        assert_eq!(inside.octets(), b"a\xe4\n");
        assert!(is_it("ä\t", &"/ä\t".into()));
    }

    #[test]
    fn a_file_is_told_from_a_directory_that_has_one_of_its_name() {
        assert!(is_it("a.cfg", &"a.cfg".into()));
        assert!(is_it("x/a.cfg", &"/x/a.cfg".into()));
        assert!(is_it("x/a.cfg", &"a.cfg".into()));
        assert!(!is_it("x", &"x/a.cfg".into()));
        assert!(!is_it("x", &"x/".into()));
        assert!(is_file("x/a.cfg", &"/x/a.cfg".into()));
        assert!(!is_file("x", &"x/".into()) && !is_file("x/y", &"y".into()));
        assert_eq!(specification("./"), None);
        assert_eq!(specification("x/"), Some("x/".into()));
    }
}
