//! A file that is being fetched.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use kumiki_filetransfer::files::disk::{Disk, Errno, Kind, Meta, OFlags, Synced, System};
use kumiki_filetransfer::osi::{Message, Secured, Sink};
use kumiki_lab::refusal::{self, Access};

use super::note::{self, Note};
use super::settler::{Settler, Whole};
use super::{Receipt, directory_of, path_shown};
use crate::files::newlines::localise;

/// Bytes that are compared at a time.
const COMPARED: usize = 64 * 1024;

/// Names that are tried for an unfinished file which others take for abandoned.
const TRIES: u32 = 4;

/// What the name of an unfinished file begins with that is not kept where it breaks. `kumiki ftamd` and `kumiki mmsd` show no such name to anybody.
const UNFINISHED: &str = ".kumiki-get-";

/// The name of the unfinished file beside `target` that is kept.
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

/// How a note begins that says only of what a part is.
const BARE: &str = "? ";

/// A note that says only of what a part is.
fn bare(place: &str) -> String {
    format!("{BARE}{place}\n")
}

/// Whether a note is there that is one of ours; none is as good where it `may_lack`.
fn of_ours<D: Disk>(disk: &D, note: &Path, may_lack: bool) -> Result<(), String> {
    match note::text(disk, note) {
        Ok(text) if note::is_one(&text) => Ok(()),
        Err(why) if may_lack && why.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) | Err(_) => {
            Err(format!("{}: this is no note of kumiki; move it away, or fetch without --resume", path_shown(note)))
        }
    }
}

/// What an earlier run has left under a name, if there is something; a link is not followed.
fn open_left<D: Disk>(disk: &D, part: &Path) -> Result<Option<D::File>, String> {
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
    format!("{}: somebody else is writing it", path_shown(part))
}

/// Makes an unfinished file where none was.
fn create_part<D: Disk>(disk: &D, part: &Path) -> Result<D::File, String> {
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
fn lock<D: Disk>(disk: &D, file: &D::File, part: &Path) -> Result<(), String> {
    disk.lock(file).map_err(|_| taken(part))?;
    // Between opening and locking the other may have come to an end: then this is the finished file, under its own name.
    let is_one = |it: Meta| it.identity;
    let named = disk.meta_at(None, part).map(is_one);
    let locked = disk.meta(file).map(is_one);
    match (named, locked) {
        (Ok(named), Ok(locked)) if named == locked => Ok(()),
        _ => Err(taken(part)),
    }
}

/// Gives a file the permissions of the one that it replaces, if there is one, and at least these.
fn permit<D: Disk>(disk: &D, file: &D::File, target: &Path, least: u32) -> Result<(), Errno> {
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

/// Removes unfinished files that a crash has left in `directory`: those that nobody has locked. That they stay where this fails hurts nobody.
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
fn unnamed<D: Disk>(disk: &D, directory: &Path) -> Result<(D::File, PathBuf), String> {
    forget_abandoned(disk, directory);
    let (mut number, mut tries) = (1_u64, TRIES);
    loop {
        let part = directory.join(format!("{UNFINISHED}{number}"));
        match create(disk, &part) {
            Ok(file) => match lock(disk, &file, &part) {
                Ok(()) => return Ok((file, part)),
                Err(why) => {
                    // Somebody may have taken it for one that is abandoned, as it was not locked yet. Where it is there still, the next one does so.
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
fn unmade(directory: &Path, why: &io::Error) -> String {
    if why.kind() == io::ErrorKind::NotFound {
        return "there is no such directory; make it, or choose another place".to_owned();
    }
    refusal::words(directory, why, Access::Write)
}

/// A file that is being fetched.
pub(crate) struct Part<D: Disk = System> {
    disk: D,
    file: Arc<D::File>,
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
    note: Option<Note<D>>,
    /// Why octets of it may never be on the disk: they could not be synchronised, and count as written for the system all the same.
    lost: Option<String>,
    interrupted: Option<Secured>,
    /// What puts it into its place when it is whole, if that is somebody else.
    settler: Option<Sender<Whole<D>>>,
}

impl Part {
    /// Tries whether a file can be made beside `target`, before anybody is called. None is left.
    pub(crate) fn try_place(target: &Path) -> Result<(), String> {
        let directory = directory_of(target);
        let tried = directory.join(format!("{UNFINISHED}{}", std::process::id()));
        let unmade = |why: io::Error| {
            // It fails for want of room when there is something to be written.
            if matches!(why.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
                return Ok(());
            }
            Err(format!("{}: {}", path_shown(directory), unmade(directory, &why)))
        };
        refusal::try_place(&tried).or_else(unmade)
    }

    /// Begins on the disk of this machine.
    pub(crate) fn begin(target: &Path, place: &str, resume: bool) -> Result<(Self, Receipt), String> {
        if target.is_dir() {
            let why = refusal::words(target, &io::ErrorKind::IsADirectory.into(), Access::Write);
            return Err(format!("{}: {why}", path_shown(target)));
        }
        Self::begin_on(System, target, place, resume)
    }
}

impl<D: Disk> Part<D> {
    /// Begins to write what comes from `place` beside `target`: under a name that nobody has, or, where it is to `resume`, in `TARGET.part`, which may be there
    /// from an earlier run.
    pub(crate) fn begin_on(disk: D, target: &Path, place: &str, resume: bool) -> Result<(Self, Receipt), String> {
        if !resume {
            let (file, part) = unnamed(&disk, directory_of(target))?;
            return Self::with(disk, file, part, target, place, false);
        }
        let part = part_of(target);
        let said = |why: io::Error| format!("{}: {}", path_shown(&part), refusal::words(&part, &why, Access::Write));
        let bare = bare(&place.escape_debug().to_string());
        let file = match open_left(&disk, &part)? {
            Some(file) => file,
            None => {
                // First the note: a part without one is taken for another's.
                of_ours(&disk, &note_of(&part), true)?;
                note::write(&disk, &note_of(&part), &bare).map_err(said)?;
                // After a crash too.
                let synced = disk.sync_directory(directory_of(&part));
                synced.map_err(|why| said(why.into()))?;
                create_part(&disk, &part)?
            }
        };
        lock(&disk, &file, &part)?;
        of_ours(&disk, &note_of(&part), false).map_err(|_| {
            format!(
                "{}: this is there, and no note beside it ({}) says that it is the part of a file that kumiki has fetched; move it away, or fetch without --resume",
                path_shown(&part),
                path_shown(&note_of(&part))
            )
        })?;
        Self::with(disk, file, part, target, place, true)
    }

    /// The same with an unfinished file of this name, which nobody else has, in the same directory.
    pub(crate) fn begin_in(disk: D, part: PathBuf, target: &Path, place: &str) -> Result<(Self, Receipt), String> {
        let file = match open_left(&disk, &part)? {
            Some(file) => file,
            None => create_part(&disk, &part)?,
        };
        lock(&disk, &file, &part)?;
        Self::with(disk, file, part, target, place, true)
    }

    fn with(
        disk: D,
        file: D::File,
        part: PathBuf,
        target: &Path,
        place: &str,
        resume: bool,
    ) -> Result<(Self, Receipt), String> {
        let said = |why: Errno| format!("{}: {why}", path_shown(&part));
        let old = disk.meta(&file).map_err(said)?.size;
        let receipt = Receipt::default();
        let part = Self {
            disk,
            file: Arc::new(file),
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
            lost: None,
            interrupted: None,
            settler: None,
        };
        // Before an octet is in it: it is no more open to others than what it replaces. To whom it belongs it stays open, for another run.
        permit(&part.disk, &part.file, target, 0o600).map_err(|why| part.said(&why.into()))?;
        Ok((part, receipt))
    }

    /// Keeps a note by which another run can recover the transfer, and goes on with what an earlier one has left. It is told whether there is such a thing.
    pub(crate) fn recovering(mut self) -> Result<(Self, bool), String> {
        if self.resume {
            let note = Note::new(self.disk.clone(), note_of(&self.part), self.place.clone());
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
        let bare = bare(&self.place);
        match note::text(&self.disk, &path) {
            Ok(there) if there == bare => return Ok(()),
            // No octet is noted, on the disk too. Of which file this part is is good to know, and no more.
            Ok(there) if there.starts_with(BARE) && self.settler.is_some() => {
                return note::put(&self.disk, &path, &bare, false);
            }
            Ok(_) | Err(_) => {}
        }
        note::write(&self.disk, &path, &bare)?;
        Ok(self.disk.sync_directory(directory_of(&path))?)
    }

    /// Takes away what is there from `offset` on.
    fn cut(&mut self, offset: u64) -> io::Result<()> {
        self.unnote()?;
        self.old = offset;
        Ok(self.disk.set_size(&self.file, offset)?)
    }

    /// Whether what was left under the name `part` is of `place`.
    pub(crate) fn is_of(disk: &D, part: &Path, place: &str) -> bool {
        let note = note::text(disk, &note_of(part)).unwrap_or_default();
        note.ends_with(&format!(" {}\n", place.escape_debug()))
    }

    /// Forgets what an earlier run has left.
    pub(crate) fn begin_anew(&mut self) -> Result<(), String> {
        self.cut(0).map_err(|why| self.said(&why))
    }

    /// Removes what an earlier run has left under the name `part`, unless somebody is writing it.
    pub(crate) fn forget_left(disk: &D, part: &Path) {
        match open_left(disk, part) {
            Ok(Some(file)) if lock(disk, &file, part).is_ok() => Self::forget(disk, part),
            // Of one that is gone the note may be there still.
            Ok(None) => Self::forget(disk, part),
            Ok(Some(_)) | Err(_) => {}
        }
    }

    /// Removes a part with its note. That they stay where this fails hurts nobody.
    fn forget(disk: &D, part: &Path) {
        // A part without a note is another's, so the note goes last, after a crash too.
        let gone = match disk.remove(None, part, false) {
            Ok(()) | Err(Errno::NOENT) => disk.sync_directory(directory_of(part)),
            Err(why) => Err(why),
        };
        if gone.is_ok() {
            note::forget(disk, &note_of(part));
        }
    }

    /// So many bytes are there, of a file of this place that is known by its size and date.
    pub(crate) fn known(&self) -> u64 {
        let note = note::text(&self.disk, &note_of(&self.part)).unwrap_or_default();
        if self.resume && note.ends_with(&format!(" {}\n", self.place)) { self.old } else { 0 }
    }

    /// Has it put into its place by `settler`, where nothing is noted of its octets: else it is done here, so that no note is ever beside octets of another file.
    pub(crate) fn settled_by(mut self, settler: &Settler<D>) -> Self {
        self.settler = Some(settler.sender());
        self
    }

    /// Gives what has come whole away, if somebody else puts it into its place.
    fn give_away(&mut self) -> io::Result<bool> {
        let Some(settler) = &self.settler else {
            return Ok(false);
        };
        let noted = note::text(&self.disk, &note_of(&self.part)).unwrap_or_default();
        if !noted.starts_with(BARE) {
            return Ok(false);
        }
        self.disk.set_size(&self.file, self.size)?;
        permit(&self.disk, &self.file, &self.target, 0)?;
        let whole = Whole {
            disk: self.disk.clone(),
            file: Arc::clone(&self.file),
            unfinished: self.part.clone(),
            target: self.target.clone(),
            checksum: self.checksum,
            receipt: self.receipt.clone(),
        };
        let size = self.size;
        self.receipt.with(|it| (it.size, it.waits) = (size, true));
        self.finished = true;
        let sent = settler.send(whole);
        sent.map_err(|_| io::Error::other("nobody puts it into its place"))?;
        Ok(true)
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
            self.size = localise(&self.disk, &self.file)?;
        }
        Ok(())
    }

    /// Puts it in its place; gives its checksum, where it is wanted.
    fn placed(&mut self) -> io::Result<String> {
        self.disk.set_size(&self.file, self.size)?;
        self.localised()?;
        permit(&self.disk, &self.file, &self.target, 0)?;
        self.disk.sync(&self.file, Synced::All)?;
        let digest = self.digest()?;
        let (part, target) = ((None, self.part.as_path()), (None, self.target.as_path()));
        self.disk.rename(part, target, true)?;
        // The name is to be there after a crash too.
        self.disk.sync_directory(directory_of(&self.target))?;
        Ok(digest)
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
            if self.disk.read_full(&self.file, room, at)? < most {
                return Ok(false);
            }
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
                // Written once more: where the run that wrote them could not synchronise them, nobody else would.
                self.disk.write_all(&self.file, octets, offset)?;
                self.receipt.with(|it| it.compared = end);
                return Ok(());
            }
            // Another file, from here on.
            self.cut(offset)?;
        } else if offset < self.old {
            let whole = usize::try_from(self.old - offset).unwrap_or(usize::MAX);
            if let Some((there, behind)) = octets.split_at_checked(whole) {
                self.put(offset, there)?;
                let at = offset.saturating_add(there.len() as u64);
                return Ok(self.disk.write_all(&self.file, behind, at)?);
            }
        }
        Ok(self.disk.write_all(&self.file, octets, offset)?)
    }

    fn digest(&self) -> io::Result<String> {
        if !self.checksum {
            return Ok(String::new());
        }
        super::checksum_of(&self.disk, &self.file)
    }
}

impl<D: Disk> Sink for Part<D> {
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String> {
        if let Some(why) = &self.lost {
            return Err(why.clone());
        }
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
        if let Some(why) = &self.lost {
            return Err(why.clone());
        }
        if self.give_away().map_err(|why| self.said(&why))? {
            return Ok(());
        }
        let sha256 = self.placed().map_err(|why| self.said(&why))?;
        if self.resume {
            // It is of no use any more, and hurts nobody where it stays.
            note::forget(&self.disk, &note_of(&self.part));
        }
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
        let is_same = note::text(&self.disk, &path).is_ok_and(|old| old == note);
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
            self.cut(0)
                .and_then(|()| Ok(self.disk.sync(&self.file, Synced::All)?))
                .and_then(|()| note::write(&self.disk, &path, &note))
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
            self.receipt.with(|it| (it.resumed, it.compared) = (0, 0));
            // What came is compared with what comes, as that of an earlier run is.
            self.old = self.old.max(self.size);
            self.size = 0;
        }
        let Some(note) = &mut self.note else {
            return;
        };
        if at.is_some() {
            let mut failed = None;
            // That it is not noted costs time and nothing else.
            let _ = note.keep(at, || {
                let done = self.disk.sync(&self.file, Synced::Data);
                done.inspect_err(|why| failed = Some(*why))
            });
            if let Some(why) = failed {
                self.lost = Some(self.said(&why.into()));
            }
        } else {
            // Where this fails, nothing is overwritten either: it is done once more before that.
            let _ = self.unnote();
        }
    }
}

/// What has not come to an end goes, but for what is to be resumed.
impl<D: Disk> Drop for Part<D> {
    fn drop(&mut self) {
        let is_empty = self.disk.meta(&self.file).is_ok_and(|it| it.size == 0);
        match (self.finished, self.resume) {
            (false, false) => {
                let _ = self.disk.remove(None, &self.part, false);
            }
            (false, true) if is_empty || self.lost.is_some() => {
                Self::forget(&self.disk, &self.part);
            }
            (false | true, true) | (true, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn a_second_that_fetches_to_the_same_place_leaves_the_part_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let begin = |resume| Part::begin(&target, "mms://d:102/a", resume);
        let (mut first, _) = begin(true).unwrap();
        first.write(0, Message::from_octets(b"abc")).unwrap();
        let why = begin(true).map(|_| ()).unwrap_err();
        assert!(why.contains("somebody else"), "{why}");
        assert_eq!(std::fs::read(part_of(&target)).unwrap(), b"abc");
        // Who keeps nothing is in nobody's way: whole files replace each other.
        let (mut second, _) = begin(false).unwrap();
        let (mut third, _) = begin(false).unwrap();
        second.write(0, Message::from_octets(b"2")).unwrap();
        third.write(0, Message::from_octets(b"third")).unwrap();
        for (part, contents) in [(&mut third, &b"third"[..]), (&mut first, b"abc"), (&mut second, b"2")] {
            part.finish().unwrap();
            assert_eq!(std::fs::read(&target).unwrap(), contents);
        }
        assert_eq!(names(folder.path()), ["a"]);
    }

    fn names(folder: &Path) -> Vec<String> {
        let all = std::fs::read_dir(folder).unwrap();
        let name = |it: io::Result<std::fs::DirEntry>| it.unwrap().file_name();
        let mut names: Vec<String> = all.map(|it| name(it).into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_of_another_that_is_called_like_a_part_stays() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let others = folder.path().join("a.part");
        let begin = |resume| Part::begin(&target, "ftam://d:102/a", resume);
        for contents in [&b"mine"[..], b""] {
            std::fs::write(&others, contents).unwrap();
            let (mut part, _) = begin(false).unwrap();
            part.write(0, Message::from_octets(b"abc")).unwrap();
            part.finish().unwrap();
            drop(begin(false).unwrap());
            let why = begin(true).map(|_| ()).unwrap_err();
            assert!(why.contains("a.part.of) says"), "{why}");
            assert_eq!(std::fs::read(&others).unwrap(), contents);
            assert_eq!(names(folder.path()), ["a", "a.part"]);
        }
        // Nor is a note that is none replaced.
        let note = folder.path().join("a.part.of");
        std::fs::write(&note, "of another\n").unwrap();
        for _ in 0..2 {
            assert!(begin(true).is_err());
            assert_eq!(std::fs::read(&note).unwrap(), b"of another\n");
            let _ = std::fs::remove_file(&others);
        }
    }

    #[test]
    fn what_replaces_a_file_has_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let (target, new) = (folder.path().join("a"), folder.path().join("new"));
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        std::fs::write(&new, b"").unwrap();
        let usual = mode(&new);
        for (resume, part) in [(false, ".kumiki-get-1"), (true, "a.part")] {
            for replaced in [None, Some(0o600), Some(0o444), Some(0o755)] {
                let _ = std::fs::remove_file(&target);
                if let Some(mode) = replaced {
                    std::fs::write(&target, b"old").unwrap();
                    std::fs::set_permissions(&target, Permissions::from_mode(mode)).unwrap();
                }
                let expected = replaced.unwrap_or(usual);
                let (mut fetched, _) = Part::begin(&target, "ftam://d:102/a", resume).unwrap();
                let meanwhile = mode(&folder.path().join(part));
                assert_eq!(meanwhile, expected | 0o600);
                fetched.write(0, Message::from_octets(b"abc")).unwrap();
                fetched.finish().unwrap();
                assert_eq!(mode(&target), expected);
                assert_eq!(std::fs::read(&target).unwrap(), b"abc");
            }
        }
    }

    #[test]
    fn a_link_that_is_called_like_a_part_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, other) = (folder.path().join("a"), folder.path().join("y"));
        std::fs::write(&other, b"mine").unwrap();
        let place = "ftam://d:102/a";
        let link = |name: &str| std::os::unix::fs::symlink(&other, folder.path().join(name));
        link(".kumiki-get-1").unwrap();
        drop(Part::begin(&target, place, false).unwrap());
        // The notes as well as the part.
        link("a.part.of.new").unwrap();
        drop(Part::begin(&target, place, true).unwrap());
        link("a.part").unwrap();
        std::fs::write(folder.path().join("a.part.of"), bare(place)).unwrap();
        let part = part_of(&target);
        for begun in [Part::begin(&target, place, true), Part::begin_in(System, part, &target, place)] {
            let why = begun.map(|_| ()).unwrap_err();
            assert!(why.contains("this is a link"), "{why}");
        }
        assert_eq!(std::fs::read(&other).unwrap(), b"mine");
        assert!(folder.path().join("a.part").is_symlink());
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
        first.secured(Some(Secured { activity: 1, point: 1, offset: 4 }));
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
            first.secured(Some(Secured { activity: 1, point: 1, offset: 4 }));
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
        let at = Secured { activity: 1, point: 1, offset: 4 };
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
