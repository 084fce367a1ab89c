//! The unfinished file that a part is in, on the disk: its names, whose it is, and what is beside it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::disk::{Disk, Errno, Kind, Meta, OFlags};
use kumiki_live::refusal::{self, Access};

use super::super::{note, path_shown};

/// Names that are tried for an unfinished file which others take for abandoned.
const TRIES: u32 = 4;

/// What the name of an unfinished file begins with that is not kept where it breaks. `kumiki ftamd` and `kumiki mmsd`
/// show no such name to anybody.
pub(super) const UNFINISHED: &str = ".kumiki-get-";

/// The name of the unfinished file beside `target` that is kept.
pub fn part_of(target: &Path) -> PathBuf {
    let mut name: OsString = target.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    target.with_file_name(name)
}

/// Where is written of which file a part is.
pub(super) fn note_of(part: &Path) -> PathBuf {
    let mut name: OsString = part.file_name().unwrap_or_default().to_owned();
    name.push(".of");
    part.with_file_name(name)
}

/// How a note begins that says only of what a part is.
pub(super) const BARE: &str = "? ";

/// A note that says only of what a part is.
pub(super) fn bare(place: &str) -> String {
    format!("{BARE}{place}\n")
}

/// Whether a note is there that is one of ours; none is as good where it `may_lack`.
pub(super) fn of_ours<D: Disk>(disk: &D, note: &Path, may_lack: bool) -> Result<(), String> {
    match note::text(disk, note) {
        Ok(text) if note::is_one(&text) => Ok(()),
        Err(why) if may_lack && why.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) | Err(_) => {
            Err(format!("{}: this is no note of kumiki; move it away, or fetch without --resume", path_shown(note)))
        }
    }
}

/// What an earlier run has left under a name, if there is something; a link is not followed.
pub(super) fn open_left<D: Disk>(disk: &D, part: &Path) -> Result<Option<D::File>, String> {
    let said = |why: io::Error| format!("{}: {}", path_shown(part), refusal::words(part, &why, Access::Write));
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match disk.open(None, part, flags, 0) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => {
            return Err(format!("{}: this is a link, and no part of a file; move it away", path_shown(part)));
        }
        Err(why) => return Err(said(why.into())),
    };
    let meta = disk.meta(&file).map_err(|why| said(why.into()))?;
    if meta.kind != Kind::File {
        return Err(format!("{}: this is no file; move it away", path_shown(part)));
    }
    Ok(Some(file))
}

/// Another is at work under this name.
fn taken(part: &Path) -> String {
    format!("{}: another transfer is writing it", path_shown(part))
}

/// Makes an unfinished file where none was.
pub(super) fn create_part<D: Disk>(disk: &D, part: &Path) -> Result<D::File, String> {
    create(disk, part).map_err(|why| {
        if why == Errno::EXIST {
            taken(part)
        } else {
            format!("{}: {}", path_shown(part), refusal::words(part, &why.into(), Access::Write))
        }
    })
}

/// Makes a file under a name that nobody has.
fn create<D: Disk>(disk: &D, path: &Path) -> Result<D::File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    disk.open(None, path, flags, 0o666)
}

/// Two that fetch to one part would make a mixture.
pub(super) fn lock<D: Disk>(disk: &D, file: &D::File, part: &Path) -> Result<(), String> {
    disk.lock(file).map_err(|_| taken(part))?;
    // Between opening and locking the other may have come to an end: then this is the finished file, under its own
    // name.
    let is_one = |it: Meta| it.identity;
    let named = disk.meta_at(None, part).map(is_one);
    let locked = disk.meta(file).map(is_one);
    match (named, locked) {
        (Ok(named), Ok(locked)) if named == locked => Ok(()),
        _ => Err(taken(part)),
    }
}

/// Gives a file the permissions of the one that it replaces, if there is one, and at least these.
pub(super) fn permit<D: Disk>(disk: &D, file: &D::File, target: &Path, least: u32) -> Result<(), Errno> {
    let bits = |it: Meta| it.mode & 0o777;
    let replaced = disk.meta_at(None, target).ok();
    let replaced = replaced.filter(|it| it.kind == Kind::File);
    let Some(mode) = replaced.map(|it| bits(it) | least) else {
        return Ok(());
    };
    // Some file systems know no permissions: all files have the same there.
    if bits(disk.meta(file)?) == mode {
        return Ok(());
    }
    disk.set_mode(file, mode)
}

/// Removes unfinished files that a crash has left in `directory`: those that nobody has locked. That they stay where
/// this fails hurts nobody.
fn forget_abandoned<D: Disk>(disk: &D, directory: &Path) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(opened) = disk.open(None, directory, flags, 0) else {
        return;
    };
    let mut left = Vec::new();
    let _ = disk.names(&opened, &mut |name| {
        let number = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED));
        let digits = |number: &str| number.bytes().all(|it| it.is_ascii_digit());
        if number.is_some_and(|number| !number.is_empty() && digits(number)) {
            left.push(directory.join(name));
        }
        true
    });
    for part in left {
        if let Ok(Some(file)) = open_left(disk, &part)
            && lock(disk, &file, &part).is_ok()
        {
            let _ = disk.remove(None, &part, false);
        }
    }
}

/// An unfinished file in `directory` whose name nobody has, and its name.
pub(super) fn unnamed<D: Disk>(disk: &D, directory: &Path) -> Result<(D::File, PathBuf), String> {
    forget_abandoned(disk, directory);
    let (mut number, mut tries) = (1_u64, TRIES);
    loop {
        let part = directory.join(format!("{UNFINISHED}{number}"));
        match create(disk, &part) {
            Ok(file) => match lock(disk, &file, &part) {
                Ok(()) => return Ok((file, part)),
                Err(why) => {
                    // Somebody may have taken it for one that is abandoned, as it was not locked yet. Where it is there
                    // still, the next one does so.
                    tries -= 1;
                    if tries == 0 {
                        return Err(why);
                    }
                    number += 1;
                }
            },
            Err(Errno::EXIST) => number += 1,
            // Its name means nothing to whoever asked for another one.
            Err(why) => return Err(format!("{}: {}", path_shown(directory), unmade(directory, &why.into()))),
        }
    }
}

/// Why no file can be made in a directory.
pub(super) fn unmade(directory: &Path, why: &io::Error) -> String {
    // Some file systems, such as /proc, say so of what cannot be made.
    if why.kind() == io::ErrorKind::NotFound && !directory.is_dir() {
        return "there is no such directory; make it, or choose another place".to_owned();
    }
    refusal::words(directory, why, Access::Write)
}
