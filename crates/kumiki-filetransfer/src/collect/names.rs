//! Names: of files at the responder, and of those here.

use std::path::PathBuf;

use crate::files::disk::Disk;
use crate::osi::Protocols;

use super::{Collection, STATE, Teller};
use crate::attributes::directory;

/// The longest name of a file, in bytes, as most file systems have it.
const LONGEST: usize = 255;

impl<D: Disk, T: Teller> Collection<D, T> {
    /// The name of a file below the directory.
    pub(super) fn remote(&self, name: &str) -> String {
        joined(self.protocol, &self.directory, name)
    }

    /// Where a file goes: never where one is.
    pub(super) fn place(&self, name: &str) -> Result<PathBuf, &'static str> {
        let last = name.rsplit('/').next().unwrap_or_default();
        if matches!(last, "" | "." | "..") || last.starts_with(STATE) || last.contains('\0') {
            return Err("it has no name that a file here could have");
        }
        let mut local = last.to_owned();
        let mut number = 1_u64;
        loop {
            if local.len() > LONGEST {
                return Err("its name is longer than that of a file here can be");
            }
            let path = self.wanted.into.join(&local);
            if !self.taken.contains(&local) && self.disk.meta_at(None, &path).is_err() {
                return Ok(path);
            }
            number += 1;
            local = format!("{last}.{number}");
        }
    }
}

/// A name in a directory. Devices of MMS have their own separators in names: it is the one that the directory has.
fn joined(protocol: Protocols, directory: &str, name: &str) -> String {
    let (is_other, ends) = match protocol {
        Protocols::Ftam => (false, false),
        Protocols::Mms => (directory.contains('\\') && !directory.contains('/'), directory.ends_with(['/', '\\'])),
    };
    match directory {
        "." => name.to_owned(),
        _ if ends => format!("{directory}{name}"),
        _ if is_other => format!("{directory}\\{name}"),
        _ => format!("{directory}/{name}"),
    }
}

/// The directory that is collected. With MMS one that is only a separator stays: some devices begin names with it.
pub(super) fn collected(protocol: Protocols, name: &str) -> String {
    match (protocol, name) {
        (Protocols::Mms, "/" | "\\") => name.to_owned(),
        (Protocols::Mms | Protocols::Ftam, _) => directory(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_together_with_the_separator_of_the_device() {
        let of = |protocol, name: &str| joined(protocol, &collected(protocol, name), "a");
        for (name, whole) in [
            ("", "a"),
            ("x/", "x/a"),
            ("x/y", "x/y/a"),
            ("/", "/a"),
            ("\\", "\\a"),
            ("\\x", "\\x\\a"),
            ("x\\", "x\\a"),
            ("x/y\\z", "x/y\\z/a"),
        ] {
            assert_eq!(of(Protocols::Mms, name), whole, "{name}");
        }
        assert_eq!(of(Protocols::Ftam, "x\\y"), "x\\y/a");
        assert_eq!(of(Protocols::Ftam, "/"), "a");
    }
}
