//! A file that is being fetched.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use kumiki_lab::live::osi::{Message, Secured, Sink};
use sha2::{Digest as _, Sha256};

use super::note::{self, Note};
use super::{Receipt, directory_of, hex, path_shown};
use crate::files::newlines::localise;

/// Bytes that are compared at a time.
const COMPARED: usize = 64 * 1024;

/// The name of the unfinished file beside `target`.
pub(crate) fn part_of(target: &Path) -> PathBuf {
    let mut name: OsString = target.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    target.with_file_name(name)
}

/// Where is written of which file a part is.
fn note_of(part: &Path) -> PathBuf {
    let mut name: OsString = part.file_name().unwrap_or_default().to_owned();
    name.push(".of");
    part.with_file_name(name)
}

/// A file that is being fetched.
pub(crate) struct Part {
    file: File,
    part: PathBuf,
    target: PathBuf,
    /// Of which file of which responder it is.
    place: String,
    /// Bytes that were there before, and were not compared or found different.
    old: u64,
    size: u64,
    resume: bool,
    checksum: bool,
    /// Its lines end with CR LF as it comes, and with LF when it is there.
    is_text: bool,
    finished: bool,
    receipt: Receipt,
    /// How far it is, where it can be recovered by another run.
    note: Option<Note>,
    interrupted: Option<Secured>,
}

impl Part {
    /// Begins to write what comes from `place` beside `target`, or goes on where `resume` is wanted and a part is there.
    pub(crate) fn begin(
        target: &Path,
        place: &str,
        resume: bool,
    ) -> Result<(Self, Receipt), String> {
        Self::begin_in(part_of(target), target, place, resume)
    }

    /// The same with an unfinished file of this name, in the same directory.
    pub(crate) fn begin_in(
        part: PathBuf,
        target: &Path,
        place: &str,
        resume: bool,
    ) -> Result<(Self, Receipt), String> {
        let said = |why: io::Error| format!("{}: {why}", path_shown(&part));
        if target.is_dir() {
            return Err(format!("{}: this is a directory", path_shown(target)));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        // It is emptied behind the lock: before it, it may be another's who fetches to the same place.
        let file = options.truncate(false).open(&part).map_err(said)?;
        // Two that fetch to the same place would make a mixture.
        let taken = || format!("{}: somebody else is writing it", path_shown(&part));
        file.try_lock().map_err(|_| taken())?;
        // Between opening and locking the other may have come to an end: then this is the finished file, under its own name.
        let named = std::fs::metadata(&part).map(|it| (it.dev(), it.ino()));
        let locked = file.metadata().map(|it| (it.dev(), it.ino()));
        if named.ok() != Some(locked.map_err(said)?) {
            return Err(taken());
        }
        if !resume {
            file.set_len(0).map_err(said)?;
            // What it says is not of what will be there.
            let _ = std::fs::remove_file(note_of(&part));
        }
        let old = file.metadata().map_err(said)?.len();
        let receipt = Receipt::default();
        let part = Self {
            file,
            part,
            target: target.to_owned(),
            place: place.escape_debug().to_string(),
            old,
            size: 0,
            resume,
            checksum: false,
            is_text: false,
            finished: false,
            receipt: receipt.clone(),
            note: None,
            interrupted: None,
        };
        Ok((part, receipt))
    }

    /// Keeps a note by which another run can recover the transfer, and goes on with what an earlier one has left. It is told whether there is such a thing.
    pub(crate) fn recovering(mut self) -> Result<(Self, bool), String> {
        if self.resume {
            let note = Note::new(note_of(&self.part), self.place.clone());
            self.interrupted = note.read().filter(|at| at.offset <= self.old);
            self.note = Some(note);
            // Perhaps nothing is behind it.
            self.size = self.interrupted.map_or(0, |at| at.offset);
            if self.interrupted.is_none() {
                self.unnote().map_err(|why| self.said(&why))?;
            }
        }
        let goes_on = self.interrupted.is_some();
        Ok((self, goes_on))
    }

    /// Notes of which file it is and nothing else, so that all that comes is compared. What was noted before would be of other octets once these are
    /// overwritten: it is gone from the disk before that.
    fn unnote(&mut self) -> io::Result<()> {
        if !self.resume {
            return Ok(());
        }
        if let Some(note) = &mut self.note {
            note.restart();
        }
        let path = note_of(&self.part);
        let bare = format!("? {}\n", self.place);
        if std::fs::read_to_string(&path).is_ok_and(|there| there == bare) {
            return Ok(());
        }
        note::write(&path, &bare)?;
        File::open(directory_of(&path))?.sync_all()
    }

    /// Takes away what is there from `offset` on.
    fn cut(&mut self, offset: u64) -> io::Result<()> {
        self.unnote()?;
        self.old = offset;
        self.file.set_len(offset)
    }

    /// Whether what was left under the name `part` is of `place`.
    pub(crate) fn is_of(part: &Path, place: &str) -> bool {
        let note = std::fs::read_to_string(note_of(part)).unwrap_or_default();
        note.ends_with(&format!(" {}\n", place.escape_debug()))
    }

    /// Forgets what an earlier run has left.
    pub(crate) fn begin_anew(&mut self) -> Result<(), String> {
        self.cut(0).map_err(|why| self.said(&why))
    }

    /// Removes what an earlier run has left under the name `part`, unless somebody is writing it.
    pub(crate) fn forget_left(part: &Path) {
        if File::open(part).is_ok_and(|file| file.try_lock().is_ok()) {
            Self::forget(part);
        }
    }

    /// Removes a part with its note. That they stay where this fails hurts nobody.
    fn forget(part: &Path) {
        let _ = std::fs::remove_file(part);
        let _ = std::fs::remove_file(note_of(part));
    }

    /// So many bytes are there, of a file of this place that is known by its size and date.
    pub(crate) fn known(&self) -> u64 {
        let note = std::fs::read_to_string(note_of(&self.part)).unwrap_or_default();
        if self.resume && note.ends_with(&format!(" {}\n", self.place)) {
            self.old
        } else {
            0
        }
    }

    /// Computes its checksum when it is there.
    pub(crate) fn with_checksum(mut self) -> Self {
        self.checksum = true;
        self
    }

    /// Ends lines as they end here when it is there.
    pub(crate) fn with_newlines(mut self, is_text: bool) -> Self {
        self.is_text = is_text;
        self
    }

    /// Converts what has come, if it is to be.
    fn localised(&mut self) -> io::Result<()> {
        if self.is_text {
            // What it says of octets is not true of them any more.
            self.unnote()?;
            self.size = localise(&self.file)?;
        }
        Ok(())
    }

    fn said(&self, why: &io::Error) -> String {
        self.receipt.with(|it| it.is_lost = true);
        format!("{}: {why}", path_shown(&self.part))
    }

    /// Whether `octets` are what stands at `offset`.
    fn is_there(&self, offset: u64, octets: &[u8]) -> io::Result<bool> {
        let (mut at, mut rest) = (offset, octets);
        let mut buffer = vec![0; COMPARED.min(octets.len())];
        while !rest.is_empty() {
            let most = rest.len().min(buffer.len());
            let Some(room) = buffer.get_mut(..most) else {
                return Ok(false);
            };
            self.file.read_exact_at(room, at)?;
            let (these, behind) = rest.split_at_checked(most).unwrap_or((rest, &[]));
            if these != room {
                return Ok(false);
            }
            rest = behind;
            at = at.saturating_add(most as u64);
        }
        Ok(true)
    }

    fn put(&mut self, offset: u64, octets: &[u8]) -> io::Result<()> {
        let end = offset.saturating_add(octets.len() as u64);
        if end <= self.old {
            if self.is_there(offset, octets)? {
                self.receipt.with(|it| it.resumed = end);
                return Ok(());
            }
            // Another file, from here on.
            self.cut(offset)?;
        } else if offset < self.old {
            let whole = usize::try_from(self.old - offset).unwrap_or(usize::MAX);
            if let Some((there, behind)) = octets.split_at_checked(whole) {
                self.put(offset, there)?;
                let at = offset.saturating_add(there.len() as u64);
                return self.file.write_all_at(behind, at);
            }
        }
        self.file.write_all_at(octets, offset)
    }

    fn digest(&mut self) -> io::Result<String> {
        if !self.checksum {
            return Ok(String::new());
        }
        self.file.rewind()?;
        let mut digest = Sha256::new();
        io::copy(&mut self.file, &mut digest)?;
        Ok(hex(&digest.finalize()))
    }
}

impl Sink for Part {
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String> {
        let mut at = offset;
        let mut done = Ok(());
        data.for_each(|octets| {
            if done.is_ok() {
                done = self.put(at, octets);
                at = at.saturating_add(octets.len() as u64);
            }
        });
        self.size = at;
        done.map_err(|why| self.said(&why))
    }

    fn finish(&mut self) -> Result<(), String> {
        let done = self
            .file
            .set_len(self.size)
            .and_then(|()| self.localised())
            .and_then(|()| self.file.sync_all())
            .and_then(|()| self.digest())
            .and_then(|digest| {
                std::fs::rename(&self.part, &self.target)?;
                // The name is to be there after a crash too.
                File::open(directory_of(&self.target))?.sync_all()?;
                Ok(digest)
            });
        let sha256 = done.map_err(|why| self.said(&why))?;
        // It is of no use any more, and hurts nobody where it stays.
        let _ = std::fs::remove_file(note_of(&self.part));
        self.finished = true;
        let size = self.size;
        self.receipt.with(|it| {
            it.size = size;
            it.sha256 = sha256;
            it.is_there = true;
        });
        Ok(())
    }

    fn opened(&mut self, size: u64, modified: Option<&str>, at: u64) -> Result<u64, String> {
        if !self.resume {
            return Ok(0);
        }
        let path = note_of(&self.part);
        let note = format!("{size} {} {}\n", modified.unwrap_or("?"), self.place);
        let is_same = std::fs::read_to_string(&path).is_ok_and(|old| old == note);
        // Of a file without a date nobody knows whether it is still the same: it comes again, and is compared.
        if is_same && modified.is_some() && at == self.old && at <= size {
            self.size = at;
            self.receipt.with(|it| it.resumed = at);
            return Ok(at);
        }
        // No note is ever beside octets of another file, whenever the machine stops.
        let begun = if is_same {
            Ok(())
        } else {
            let cut = self.cut(0).and_then(|()| self.file.sync_all());
            cut.and_then(|()| note::write(&path, &note))
        };
        begun.map_err(|why| self.said(&why))?;
        Ok(0)
    }

    fn interrupted(&self) -> Option<Secured> {
        if let Some(at) = self.interrupted {
            self.receipt.with(|it| it.resumed = at.offset);
        }
        self.interrupted
    }

    fn secured(&mut self, at: Option<Secured>) {
        if at.is_none() {
            self.interrupted = None;
            self.receipt.with(|it| it.resumed = 0);
            // What came is compared with what comes, as that of an earlier run is.
            self.old = self.old.max(self.size);
            self.size = 0;
        }
        let Some(note) = &mut self.note else {
            return;
        };
        if at.is_some() {
            note.keep(at, || self.file.sync_data());
        } else {
            // Where this fails, nothing is overwritten either: it is done once more before that.
            let _ = self.unnote();
        }
    }
}

/// What has not come to an end goes, but for what is to be resumed.
impl Drop for Part {
    fn drop(&mut self) {
        let is_empty = self.file.metadata().is_ok_and(|it| it.len() == 0);
        if !self.finished && (!self.resume || is_empty) {
            Self::forget(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_that_fetches_to_the_same_place_leaves_the_part_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let (mut first, _) = Part::begin(&target, "mms://d:102/a", false).unwrap();
        first.write(0, Message::from_octets(b"abc")).unwrap();
        for resume in [false, true] {
            let why = Part::begin(&target, "mms://d:102/a", resume)
                .map(|_| ())
                .unwrap_err();
            assert!(why.contains("somebody else"), "{why}");
            assert_eq!(std::fs::read(part_of(&target)).unwrap(), b"abc");
        }
        first.finish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"abc");
    }

    #[test]
    fn a_part_is_gone_on_with_only_for_the_file_that_it_is_of() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let begin = |place: &str| Part::begin(&target, place, true).unwrap().0;
        let opened = |part: &mut Part, at| part.opened(9, Some("20260101000000Z"), at).unwrap();
        let mut first = begin("mms://d:102/1.dat");
        assert_eq!((first.known(), opened(&mut first, 0)), (0, 0));
        first.write(0, Message::from_octets(b"abc")).unwrap();
        drop(first);
        let mut same = begin("mms://d:102/1.dat");
        assert_eq!((same.known(), opened(&mut same, 3)), (3, 3));
        drop(same);
        for other in ["mms://d:102/2.dat", "mms://e:102/1.dat"] {
            assert_eq!(begin(other).known(), 0);
        }
        let mut other = begin("mms://d:102/2.dat");
        assert_eq!(opened(&mut other, 3), 0);
        assert_eq!(std::fs::read(part_of(&target)).unwrap(), b"");
    }

    #[test]
    fn what_is_begun_anew_is_as_long_as_it_comes_then() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        for anew in [&b""[..], b"ab", b"abX", b"abcdef"] {
            let (mut part, receipt) = Part::begin(&target, "ftam://d:102/a", false).unwrap();
            part.write(0, Message::from_octets(b"abcd")).unwrap();
            part.secured(None);
            if !anew.is_empty() {
                part.write(0, Message::from_octets(anew)).unwrap();
            }
            part.finish().unwrap();
            assert_eq!(std::fs::read(&target).unwrap(), anew);
            assert_eq!(receipt.read().size, anew.len() as u64);
        }
    }

    #[test]
    fn what_an_earlier_run_has_fetched_to_its_end_is_all_there() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let begin = || {
            let (part, _) = Part::begin(&target, "ftam://d:102/a", true).unwrap();
            part.recovering().unwrap()
        };
        let (mut first, goes_on) = begin();
        assert!(!goes_on);
        first.write(0, Message::from_octets(b"abcd")).unwrap();
        first.secured(Some(Secured {
            activity: 1,
            point: 1,
            offset: 4,
        }));
        drop(first);
        let (mut second, goes_on) = begin();
        assert!(goes_on);
        second.finish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"abcd");
    }

    #[test]
    fn a_note_goes_before_another_file_comes_to_where_it_is_beside() {
        for anew in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("a");
            let of = |place: &str| {
                let (part, _) = Part::begin(&target, place, true).unwrap();
                part.recovering().unwrap()
            };
            let (mut first, _) = of("ftam://d:102/A");
            first.write(0, Message::from_octets(b"AAAA")).unwrap();
            first.secured(Some(Secured {
                activity: 1,
                point: 1,
                offset: 4,
            }));
            drop(first);
            // Another file, of a responder without recovery, breaks as well.
            let (mut second, goes_on) = of("ftam://d:102/B");
            assert!(!goes_on);
            if anew {
                second.begin_anew().unwrap();
            }
            second.write(0, Message::from_octets(b"BBBBBB")).unwrap();
            drop(second);
            let (first, goes_on) = of("ftam://d:102/A");
            assert!(!goes_on);
            assert_eq!(first.interrupted(), None);
        }
    }

    #[test]
    fn a_note_goes_where_what_it_is_of_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let begin = || Part::begin(&target, "ftam://d:102/a", true).unwrap().0;
        let (mut first, _) = begin().recovering().unwrap();
        first.write(0, Message::from_octets(b"AAAA")).unwrap();
        let at = Secured {
            activity: 1,
            point: 1,
            offset: 4,
        };
        first.secured(Some(at));
        drop(first);
        // What comes is another file by now.
        let (mut second, goes_on) = begin().recovering().unwrap();
        assert!(goes_on);
        second.write(0, Message::from_octets(b"AABB")).unwrap();
        drop(second);
        let (third, goes_on) = begin().recovering().unwrap();
        assert!(!goes_on);
        assert_eq!(third.interrupted(), None);
    }
}
