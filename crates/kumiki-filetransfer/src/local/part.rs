//! A file that is being fetched.

#[cfg(test)]
mod tests;
mod unfinished;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::files::disk::{Disk, Errno, Synced, System};
use crate::osi::{Message, Protocols, Secured, Sink};
use kumiki_live::refusal::{self, Access};

pub use self::unfinished::part_of;
use self::unfinished::{
    BARE, UNFINISHED, bare, create_part, lock, note_of, of_ours, open_left, permit, unmade, unnamed,
};
use super::newlines::localise;
use super::note::{self, Note};
use super::settler::{CompleteFile, Settler};
use super::{Receipt, directory_of, path_shown};

/// Bytes that are compared at a time.
const COMPARED: usize = 64 * 1024;

/// A file that is being fetched.
pub struct Part<D: Disk = System> {
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
    /// Why octets of it may never be on the disk: they could not be synchronised, and count as written for the system
    /// all the same.
    lost: Option<String>,
    interrupted: Option<Secured>,
    /// What puts it into its place when it is whole, if that is somebody else.
    settler: Option<Sender<CompleteFile<D>>>,
}

impl Part {
    /// Tries whether a file can be made beside `target`, before anybody is called. None is left.
    ///
    /// # Errors
    /// None can be made, and why.
    pub fn try_place(target: &Path) -> Result<(), String> {
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
    ///
    /// # Errors
    /// It is a directory, somebody else fetches to it, or what is there is not ours.
    pub fn begin(target: &Path, place: &str, resume: bool) -> Result<(Self, Receipt), String> {
        if target.is_dir() {
            let why = refusal::words(target, &io::ErrorKind::IsADirectory.into(), Access::Write);
            return Err(format!("{}: {why}", path_shown(target)));
        }
        Self::begin_on(System, target, place, resume)
    }
}

impl<D: Disk> Part<D> {
    /// Begins to write what comes from `place` beside `target`: under a name that nobody has, or, where it is to
    /// `resume`, in `TARGET.part`, which may be there from an earlier run.
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
        // Before an octet is in it: it is no more open to others than what it replaces. To whom it belongs it stays
        // open, for another run.
        permit(&part.disk, &part.file, target, 0o600).map_err(|why| part.said(&why.into()))?;
        Ok((part, receipt))
    }

    /// Keeps a note by which another run can recover the transfer, and goes on with what an earlier one has left. It is
    /// told whether there is such a thing.
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

    /// Goes on with what an earlier run has left, as the protocol can: gives at which octet it is to be asked for, and
    /// whether the responder is to recover the transfer.
    ///
    /// # Errors
    /// What an earlier run has noted cannot be written again.
    pub fn going_on(self, by: Protocols) -> Result<(Self, u64, bool), String> {
        match by {
            Protocols::Mms => {
                let known = self.known();
                Ok((self, known, false))
            }
            Protocols::Ftam => self.recovering().map(|(part, goes_on)| (part, 0, goes_on)),
        }
    }

    /// Notes of which file it is and nothing else, so that all that comes is compared. What was noted before would be
    /// of other octets once these are overwritten: it is gone from the disk before that.
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
    pub(crate) fn begin_again(&mut self) -> Result<(), String> {
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
    fn known(&self) -> u64 {
        let note = note::text(&self.disk, &note_of(&self.part)).unwrap_or_default();
        if self.resume && note.ends_with(&format!(" {}\n", self.place)) { self.old } else { 0 }
    }

    /// Has it put into its place by `settler`, where nothing is noted of its octets: else it is done here, so that no
    /// note is ever beside octets of another file.
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
        let whole = CompleteFile {
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
        sent.map_err(|_| io::Error::other("the thread that moves it into place has ended"))?;
        Ok(true)
    }

    /// Computes its checksum when it is there.
    pub(crate) fn with_checksum(mut self) -> Self {
        self.checksum = true;
        self
    }

    /// Ends lines as they end here when it is there.
    pub fn with_newlines(mut self, is_text: bool) -> Self {
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
