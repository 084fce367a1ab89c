//! What the file system says no to, in words: what is in the way, and what would help.
//!
//! Every command tells of places so, whichever option names them. The number that the operating system has for its
//! reason says nothing to who reads it.

use core::ops::RangeInclusive;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde_json::error::Category;

/// What was to be done with a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It was to be read.
    Read,
    /// It, or a directory, was to be made or written.
    Write,
}

/// Why `path` cannot be read or written, without its name. What somebody else put into words (an error that is not of
/// the operating system) stays as it is.
#[must_use]
pub fn words(path: &Path, why: &io::Error, access: Access) -> String {
    if why.raw_os_error().is_none() {
        match (why.kind(), why.get_ref()) {
            (_, Some(said)) => return said.to_string(),
            // What reads a file as text has no words of somebody else in its error.
            (ErrorKind::InvalidData, None) => return "not UTF-8 text".to_owned(),
            (_, None) => {}
        }
    }
    let other = match access {
        Access::Read => "",
        Access::Write => "; choose another place",
    };
    let problem = match (why.kind(), access) {
        (ErrorKind::NotFound, _) => match (missing(path), access) {
            (Some(above), Access::Write) => {
                return format!("there is no directory {}; make it, or choose another place", above.display());
            }
            (Some(above), Access::Read) => format!("there is no directory {}", above.display()),
            (None, Access::Read) => "no such file or directory".to_owned(),
            (None, Access::Write) => "nothing can be made there".to_owned(),
        },
        (ErrorKind::NotADirectory, _) => match in_the_way(path) {
            Some(above) => format!("{} is no directory", above.display()),
            None => "it is no directory".to_owned(),
        },
        (ErrorKind::AlreadyExists, _) => "something else is there".to_owned(),
        (ErrorKind::IsADirectory, _) => return "it is a directory; expected a file".to_owned(),
        (ErrorKind::PermissionDenied, Access::Read) => "the right to read it is missing".to_owned(),
        (ErrorKind::PermissionDenied, Access::Write) => "the right to write there is missing".to_owned(),
        (ErrorKind::ReadOnlyFilesystem, _) => "the file system there is read-only".to_owned(),
        (ErrorKind::InvalidFilename, _) => "the name is too long".to_owned(),
        _ => return plain(why),
    };
    format!("{problem}{other}")
}

/// What the operating system says, without its number.
#[must_use]
pub fn plain(why: &io::Error) -> String {
    unnumbered(&why.to_string())
}

/// `text` without the numbers that the operating system has for its reasons.
#[must_use]
pub fn unnumbered(text: &str) -> String {
    const BEFORE: &str = " (os error ";
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((words, after)) = rest.split_once(BEFORE) {
        out.push_str(words);
        let number = after.split_once(')').filter(|(number, _)| number.bytes().all(|it| it.is_ascii_digit()));
        rest = match number {
            Some((_, behind)) => behind,
            None => {
                out.push_str(BEFORE);
                after
            }
        };
    }
    out.push_str(rest);
    out
}

/// What is said of a text that ends before its time.
pub const CUT_OFF: &str = "it is cut off";

/// Why a text is not the JSON that was asked for, without the place in it, which means nothing where it is one line of
/// a file.
#[must_use]
pub fn json_words(why: &serde_json::Error) -> String {
    match why.classify() {
        Category::Eof => CUT_OFF.to_owned(),
        Category::Syntax => format!("not JSON from octet {} of the line on", why.column()),
        Category::Data | Category::Io => {
            let text = why.to_string();
            let place = format!(" at line {} column {}", why.line(), why.column());
            // Who names the field beside the reason makes it one of data.
            if text.contains("EOF while parsing") {
                return CUT_OFF.to_owned();
            }
            said_plainly(text.strip_suffix(&place).unwrap_or(&text))
        }
    }
}

/// What serde says of a value, without the names that types have in Rust.
fn said_plainly(text: &str) -> String {
    let text =
        ["invalid type: ", "invalid value: "].iter().fold(text.to_owned(), |text, words| text.replace(words, ""));
    let Some((said, wanted)) = text.rsplit_once(", expected ") else {
        return text;
    };
    format!("{said}; expected {}", worded(wanted))
}

const WHOLE: &str = "a whole number";

/// The whole numbers that serde wants and a file can have, where it wants those.
pub(crate) fn wanted_whole(wanted: &str) -> Option<RangeInclusive<i64>> {
    Some(match wanted {
        "u8" => 0..=u8::MAX.into(),
        "u16" => 0..=u16::MAX.into(),
        "u32" => 0..=u32::MAX.into(),
        "u64" | "usize" => 0..=i64::MAX,
        "i32" => i32::MIN.into()..=i32::MAX.into(),
        "i64" => i64::MIN..=i64::MAX,
        _ => return None,
    })
}

/// A number that was written with a decimal point as one of `range`, where it is that.
pub fn as_whole(number: f64, range: &RangeInclusive<i64>) -> Option<String> {
    // As text a number with a fraction is no whole one, and no precision is lost.
    let whole = number.to_string().parse::<i64>().ok()?;
    range.contains(&whole).then(|| whole.to_string())
}

/// What serde wants, in the words of whoever writes scenarios and reads rows.
pub(crate) fn worded(wanted: &str) -> String {
    let range = |top: u64| format!("{WHOLE} from 0 to {top}");
    match wanted {
        "u8" => range(u8::MAX.into()),
        "u16" => range(u16::MAX.into()),
        "u32" => range(u32::MAX.into()),
        "u64" | "usize" => format!("{WHOLE} from 0"),
        "i32" | "i64" => WHOLE.to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        _ if wanted.starts_with("struct ") => "a table".to_owned(),
        _ => wanted.replace("an array of length", "a list of"),
    }
}

/// Tries whether a file can be written at `path`, so that nobody does what has no place to go to. What is no file, such
/// as a pipe or a device, is not opened, and none is left.
///
/// # Errors
/// Why not.
pub fn try_place(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => return Ok(()),
        Ok(_) | Err(_) => {}
    }
    let was_there = fs::symlink_metadata(path).is_ok();
    fs::OpenOptions::new().append(true).create(true).open(path)?;
    if !was_there {
        // What stays is empty, and is written soon.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// The highest of the directories above `path` that is not there.
fn missing(path: &Path) -> Option<&Path> {
    above(path).take_while(|it| it.symlink_metadata().is_err()).last()
}

/// What is above `path` and no directory.
fn in_the_way(path: &Path) -> Option<&Path> {
    above(path).find(|it| it.exists() && !it.is_dir())
}

/// The directories that the name of `path` leads through, the lowest first.
fn above(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().skip(1).filter(|it| !it.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_in_the_way_is_named_with_what_would_help() {
        let folder = kumiki_watchdog::process::Folder::new("refusal");
        let path = |name: &str| folder.path(name);
        let own = folder.place().display().to_string();
        fs::write(path("file"), "\u{e9}").unwrap();
        let write = |name: &str| words(&path(name), &fs::write(path(name), "").unwrap_err(), Access::Write);
        let read = |name: &str| words(&path(name), &fs::read_to_string(path(name)).unwrap_err(), Access::Read);
        let made = |name: &str| words(&path(name), &fs::create_dir_all(path(name)).unwrap_err(), Access::Write);
        let missing = format!("there is no directory {own}/none");
        assert_eq!(write("none/x/y"), format!("{missing}; make it, or choose another place"));
        assert_eq!(read("none/x"), missing);
        assert_eq!(read("none"), "no such file or directory");
        assert_eq!(write("file/x"), format!("{own}/file is no directory; choose another place"));
        assert_eq!(read("file/x/y"), format!("{own}/file is no directory"));
        assert_eq!(made("file/x"), format!("{own}/file is no directory; choose another place"));
        assert_eq!(made("file"), "something else is there; choose another place");
        assert_eq!(write(""), "it is a directory; expected a file");
        assert_eq!(write(&"n".repeat(300)), "the name is too long; choose another place");
        fs::write(path("latin"), [0xe9]).unwrap();
        assert_eq!(read("latin"), "not UTF-8 text");
        let denied = io::Error::from_raw_os_error(13);
        assert_eq!(words(&path("x"), &denied, Access::Read), "the right to read it is missing");
        assert_eq!(
            words(&path("x"), &denied, Access::Write),
            "the right to write there is missing; choose another place"
        );
        let full = io::Error::from_raw_os_error(28);
        assert_eq!(words(&path("x"), &full, Access::Write), "No space left on device");
        assert_eq!(words(&path("x"), &io::Error::other("it is a link"), Access::Write), "it is a link");
        let damaged = io::Error::new(ErrorKind::InvalidData, "no capture");
        assert_eq!(words(&path("x"), &damaged, Access::Read), "no capture");
    }

    #[test]
    fn numbers_of_the_operating_system_are_left_out_wherever_they_stand() {
        for (text, wanted) in [
            ("a: Permission denied (os error 13); ask", "a: Permission denied; ask"),
            ("x (os error 2) and y (os error 111)", "x and y"),
            ("in (os error x) it stays", "in (os error x) it stays"),
            ("none", "none"),
        ] {
            assert_eq!(unnumbered(text), wanted);
        }
    }

    #[test]
    fn a_place_that_is_tried_is_left_as_it_was() {
        let folder = kumiki_watchdog::process::Folder::new("place");
        let path = |name: &str| folder.path(name);
        try_place(&path("new")).unwrap();
        assert!(!path("new").exists());
        fs::write(path("old"), "text").unwrap();
        try_place(&path("old")).unwrap();
        assert_eq!(fs::read_to_string(path("old")).unwrap(), "text");
        assert_eq!(try_place(folder.place()).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(try_place(&path("none/x")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
