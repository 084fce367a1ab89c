//! Directories as clients see them: names as servers write them, and where there is more.

use kumiki_osi::ftam::AttributeNames;
use kumiki_osi::ftam::attributes::{Attribute, ObjectType, ReadAttributes};
use kumiki_osi::ftam::contents::ContentsType;
use kumiki_osi::mms::{FileAttributes, FileName};

/// The name of a directory as MMS has it: the root is not named.
pub(super) fn specification(name: &str) -> Option<FileName> {
    let bare = name.trim_end_matches('/');
    (!matches!(bare, "" | ".")).then(|| FileName::from(name))
}

/// What stands between the components of names.
const SEPARATORS: [char; 2] = ['/', '\\'];

/// The name without what stands before and behind it: some servers begin names with a separator, most end those of directories with one.
fn bare(name: &str) -> &str {
    name.trim_matches(SEPARATORS)
}

/// Whether an entry is the file asked for, and not something in it.
pub(super) fn is_it(asked: &str, entry: &FileName) -> bool {
    let entry = entry.to_string();
    let last = |name: &str| bare(name).rsplit(SEPARATORS).next().map(str::to_owned);
    let whole = bare(&entry) == bare(asked);
    // A name without directory stands for itself, whichever was asked.
    let alone = !bare(&entry).contains(SEPARATORS) && last(asked).as_deref() == Some(bare(&entry));
    (whole || alone) && !entry.ends_with(SEPARATORS)
}

/// The name of an entry of `directory`, without that; and whether it is a directory itself. None where it is the directory.
pub(super) fn entry(directory: &str, entry: &FileName) -> Option<(String, bool)> {
    let name = entry.to_string();
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
    (!inside.is_empty()).then(|| (inside.to_owned(), is_directory))
}

/// Attributes as FTAM has them, under this name.
pub(super) fn attributes(name: &str, is_directory: bool, of: &FileAttributes) -> ReadAttributes {
    let (contents_type, size) = if is_directory {
        (ContentsType::directory(AttributeNames::NONE), None)
    } else {
        let size = Attribute::Actual(u64::from(of.size_of_file));
        (ContentsType::binary(), Some(size))
    };
    let object_type = Some(if is_directory {
        ObjectType::FileDirectory
    } else {
        ObjectType::File
    });
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
        entry(directory, &name.into())
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
    }

    #[test]
    fn a_file_is_told_from_a_directory_that_has_one_of_its_name() {
        assert!(is_it("a.cfg", &"a.cfg".into()));
        assert!(is_it("x/a.cfg", &"/x/a.cfg".into()));
        assert!(is_it("x/a.cfg", &"a.cfg".into()));
        assert!(!is_it("x", &"x/a.cfg".into()));
        assert!(!is_it("x", &"x/".into()));
        assert_eq!(specification("./"), None);
        assert_eq!(specification("x/"), Some("x/".into()));
    }
}
