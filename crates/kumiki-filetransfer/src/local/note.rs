//! How far a transfer by FTAM is, for another run.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::disk::{Disk, Errno, OFlags, Synced};
use crate::osi::Secured;

/// Octets between checkpoints that are noted: what comes before one has to be on the disk, and that takes time.
const NOTED_EVERY: u64 = 8 << 20;

/// Where a note is written before it is there.
fn new_of(path: &Path) -> PathBuf {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    new.into()
}

/// Removes a note, and what a crash has left of one. That they stay where this fails hurts nobody.
pub(super) fn forget<D: Disk>(disk: &D, path: &Path) {
    let _ = disk.remove(None, path, false);
    let _ = disk.remove(None, &new_of(path), false);
}

/// Puts `text` into a note: all of it or nothing, on the disk, and not through a link that is there.
pub(super) fn write<D: Disk>(disk: &D, path: &Path, text: &str) -> io::Result<()> {
    put(disk, path, text, true)
}

/// The same, but that a crash may leave anything of it where it is not `synced`.
pub(super) fn put<D: Disk>(disk: &D, path: &Path, text: &str, synced: bool) -> io::Result<()> {
    let new = &new_of(path);
    // What a crash has left.
    match disk.remove(None, new, false) {
        Err(why) if why != Errno::NOENT => return Err(why.into()),
        Ok(()) | Err(_) => {}
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = disk.open(None, new, flags, 0o666)?;
    disk.write_all(&file, text.as_bytes(), 0)?;
    if synced {
        disk.sync(&file, Synced::All)?;
    }
    Ok(disk.rename((None, new), (None, path), true)?)
}

/// What is in a file, where that is text.
pub(super) fn text<D: Disk>(disk: &D, path: &Path) -> io::Result<String> {
    let octets = disk.read_whole(None, path)?;
    String::from_utf8(octets).map_err(io::Error::other)
}

/// Whether this is what is noted beside a part: nothing, size and date, or numbers, and of what it is.
pub(super) fn is_one(text: &str) -> bool {
    let mut words = text.splitn(2, ' ');
    let first = words.next().unwrap_or_default();
    let rest = words.next().and_then(|rest| rest.strip_suffix('\n'));
    let is_known = first == "?" || first.parse::<i64>().is_ok() || first.parse::<u64>().is_ok();
    is_known && rest.is_some_and(|rest| rest.contains("://") && !rest.contains('\n'))
}

/// A note of how far a transfer by FTAM is.
pub(super) struct Note<D: Disk> {
    disk: D,
    path: PathBuf,
    /// What is transferred, and how: it is gone on with for the same only.
    of: String,
    /// Behind this octet the next one is worth writing.
    next: u64,
}

impl<D: Disk> Note<D> {
    pub(super) const fn new(disk: D, path: PathBuf, of: String) -> Self {
        Self { disk, path, of, next: 0 }
    }

    pub(super) fn read(&self) -> Option<Secured> {
        let text = text(&self.disk, &self.path).ok()?;
        let mut words = text.splitn(4, ' ');
        let at = Secured {
            activity: words.next()?.parse().ok()?,
            point: words.next()?.parse().ok()?,
            offset: words.next()?.parse().ok()?,
        };
        let of = words.next()?.strip_suffix('\n')?;
        (of == self.of).then_some(at)
    }

    /// What was written is taken back: the next checkpoint is worth writing again.
    pub(super) const fn restart(&mut self) {
        self.next = 0;
    }

    /// Whether it can be written: what cannot is told before anything is sent.
    pub(super) fn probe(&self) -> io::Result<()> {
        let new = new_of(&self.path);
        put(&self.disk, &new, "", false)?;
        Ok(self.disk.remove(None, &new, false)?)
    }

    /// Writes it where it is due and `secure` has done what is needed before. That it is not written, or not removed,
    /// costs time and nothing else, but for what is not to be begun twice.
    pub(super) fn keep(&mut self, at: Option<Secured>, secure: impl FnOnce() -> Result<(), Errno>) -> io::Result<()> {
        let Some(at) = at else {
            forget(&self.disk, &self.path);
            self.restart();
            return Ok(());
        };
        if at.offset < self.next {
            return Ok(());
        }
        let text = format!("{} {} {} {}\n", at.activity, at.point, at.offset, self.of);
        let done = secure().map_err(io::Error::from);
        let done = done.and_then(|()| write(&self.disk, &self.path, &text));
        // Behind a beginning the first checkpoint is worth noting at once.
        if done.is_ok() && at.point > 0 {
            self.next = at.offset.saturating_add(NOTED_EVERY);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use crate::files::disk::System;
    use proptest::prelude::*;

    use super::*;

    fn kept(text: &[u8], of: &str) -> (tempfile::TempDir, Note<System>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        std::fs::write(&path, text).unwrap();
        (folder, Note::new(System, path, of.to_owned()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_kept_is_read_for_the_same_and_nothing_else(
            activity: i64, point: u32, offset: u64, place: String, other: String,
        ) {
            let of = place.escape_debug().to_string();
            let (_folder, mut note) = kept(b"", &of);
            let at = Secured { activity, point, offset };
            note.keep(Some(at), || Ok(())).unwrap();
            prop_assert_eq!(note.read(), Some(at));
            let other = Note::new(System, note.path.clone(), other.escape_debug().to_string());
            prop_assert_eq!(other.read().is_some(), other.of == of);
            note.keep(None, || Ok(())).unwrap();
            prop_assert_eq!(note.read(), None);
        }

        #[test]
        fn what_is_no_note_says_nothing(text in "[-0-9 ]{0,30}.{0,9}\n?", any: Vec<u8>) {
            let is_note = |text: &str| {
                let words: Vec<&str> = text.splitn(4, ' ').collect();
                matches!(words[..], [a, p, o, "x\n"]
                    if a.parse::<i64>().is_ok() && p.parse::<u32>().is_ok() && o.parse::<u64>().is_ok())
            };
            let (_folder, note) = kept(text.as_bytes(), "x");
            prop_assert_eq!(note.read().is_some(), is_note(&text));
            let (_folder, note) = kept(&any, "x");
            let is_text = core::str::from_utf8(&any).is_ok_and(is_note);
            prop_assert_eq!(note.read().is_some(), is_text);
        }
    }
}
