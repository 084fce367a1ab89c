//! The side of a transfer that is on this machine: a file that appears when all of it is there, standard output, and
//! what is sent.
//!
//! A file is written beside its place, under a name that nobody has (`.kumiki-get-N`), synchronised, and renamed: under
//! its own name there is the old one or the new one, whatever breaks. Where it is to be resumed it is written to
//! `NAME.part`, which stays, and what comes is compared with it up to its end: so a file that has changed at the
//! responder meanwhile is not put together from two. A part has a note beside it (`NAME.part.of`), first of which file
//! it is: what has none is somebody else's. Then it says by what the rest alone can be had: with MMS size and date, as
//! the responder says them, and the place that was asked for; with FTAM the number of the transfer and a checkpoint,
//! for F-RECOVER. There the responder answers for it that the rest is of the same file; where it does not, all comes
//! once more, and is compared. What comes before a checkpoint that is noted is on the disk. A file that is sent and is
//! to be resumed has such a note beside it (`.NAME.kumiki-put`). What is compared, and counted, are octets as they are
//! transferred; a text whose lines are to end otherwise here is converted when all of it is there.
//!
//! A link is followed: the file it leads to is replaced, or made. What is no file (a device, a FIFO, a socket) is
//! written to as standard output is.

mod contents;
#[cfg(test)]
mod crashes;
mod newlines;
mod note;
mod out;
mod part;
mod settler;

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::disk::{Disk, OFlags};
use kumiki_live::refusal::{self, Access};
use kumiki_live::shown;
use sha2::{Digest as _, Sha256};

pub use contents::{Contents, note_beside};
pub use out::StandardOutput;
pub use part::{Part, part_of};
pub(crate) use settler::MOST;
pub use settler::Settler;

/// Octets that are summed at a time.
const SUMMED: usize = 64 * 1024;

/// Links to links that are followed, as Linux follows them.
const MOST_LINKS: usize = 40;

/// What is where a file is to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FetchTarget {
    /// A file, or nothing yet; where a link leads to.
    File(PathBuf),
    /// A device, a FIFO or a socket.
    Stream(PathBuf),
}

impl FetchTarget {
    /// What is at `target`.
    ///
    /// # Errors
    /// It is a directory, or none can be made there.
    pub fn of(target: &Path) -> Result<Self, String> {
        let said = |why: &dyn core::fmt::Display| format!("{}: {why}", path_shown(target));
        match std::fs::metadata(target) {
            Ok(it) if it.is_dir() => {
                Err(said(&refusal::words(target, &io::ErrorKind::IsADirectory.into(), Access::Write)))
            }
            Ok(it) if !it.is_file() => Ok(Self::Stream(target.to_owned())),
            Ok(_) => {
                let is_link = target.symlink_metadata().is_ok_and(|it| it.is_symlink());
                let file = if is_link { target.canonicalize().map_err(|why| said(&why))? } else { target.to_owned() };
                Ok(Self::File(file))
            }
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                let mut at = target.to_owned();
                for _ in 0..MOST_LINKS {
                    if at.as_os_str().as_bytes().ends_with(b"/") {
                        return Err(said(&"there is no such directory"));
                    }
                    let Ok(to) = std::fs::read_link(&at) else {
                        return Ok(Self::File(at));
                    };
                    at = directory_of(&at).join(to);
                }
                Err(said(&"too many links"))
            }
            Err(why) => Err(said(&refusal::words(target, &why, Access::Write))),
        }
    }
}

/// The name of a file, for people.
pub fn path_shown(path: &Path) -> String {
    shown::line(&path.to_string_lossy())
}

/// What came of a file, for whoever has given the sink away.
#[derive(Clone, Debug, Default)]
pub struct Receipt(Arc<Mutex<Received>>);

/// What is known of a file that has come.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Its size.
    pub size: u64,
    /// SHA-256 in hexadecimal, where it was wanted.
    pub sha256: String,
    /// It is in its place.
    pub is_there: bool,
    /// So many bytes were there already, and were not asked for.
    pub resumed: u64,
    /// Up to here bytes were there already, and came once more as they were.
    pub compared: u64,
    /// This machine could not keep it.
    pub is_lost: bool,
    /// It has come whole, and is put into its place behind what comes next.
    pub waits: bool,
    /// Where that has failed, why.
    pub why: Option<String>,
}

impl Receipt {
    /// What is known by now.
    #[must_use]
    pub fn read(&self) -> Received {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What has waited is in its place, with this checksum, or could not be put there.
    fn settled(&self, how: Result<String, String>) {
        self.with(|it| match how {
            Ok(sha256) => (it.is_there, it.sha256) = (true, sha256),
            Err(why) => (it.is_lost, it.why) = (true, Some(why)),
        });
    }

    fn with(&self, act: impl FnOnce(&mut Received)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// In hexadecimal.
fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The directory in which a path is.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The checksum of octets.
pub(crate) fn digest(octets: &[u8]) -> String {
    hex(&Sha256::digest(octets))
}

/// The checksum of a file.
pub(crate) fn checksum<D: Disk>(disk: &D, path: &Path) -> io::Result<String> {
    let file = disk.open(None, path, OFlags::RDONLY | OFlags::CLOEXEC, 0)?;
    checksum_of(disk, &file)
}

/// The checksum of an open file.
fn checksum_of<D: Disk>(disk: &D, file: &D::File) -> io::Result<String> {
    let (mut digest, mut part, mut at) = (Sha256::new(), vec![0; SUMMED], 0_u64);
    loop {
        let len = disk.read_full(file, &mut part, at)?;
        digest.update(part.get(..len).unwrap_or_default());
        at = at.saturating_add(len as u64);
        if len < part.len() {
            return Ok(hex(&digest.finalize()));
        }
    }
}
