//! The side of a transfer that is on this machine: a file that appears when all of it is there, standard output, and what is sent.
//!
//! A file is written beside its place, as `NAME.part`, synchronised, and renamed: under its own name there is the old one or the new one,
//! whatever breaks. Where it is to be resumed the part stays, and what comes is compared with it up to its end: so a file that has changed at
//! the responder meanwhile is not put together from two. Beside the part (`NAME.part.of`) is kept by what the rest alone can be had: with MMS size and date, as
//! the responder says them, and the place that was asked for; with FTAM the number of the transfer and a checkpoint, for F-RECOVER. There the responder answers
//! for it that the rest is of the same file; where it does not, all comes once more, and is compared. What comes before a checkpoint that is noted is on the
//! disk. A file that is sent and is to be resumed has such a note beside it (`.NAME.kumiki-put`). What is compared, and counted, are octets as they are
//! transferred; a text whose lines are to end otherwise here is converted when all of it is there.
//!
//! A link is followed: the file it leads to is replaced, or made. What is no file (a device, a FIFO, a socket) is written to as standard output is.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_lab::live::osi::{Message, Page, Secured, Sink, Source};
use sha2::{Digest as _, Sha256};

use super::newlines::{Localiser, globalise, localise};
use crate::commands::shown;

/// Bytes that are compared at a time.
const COMPARED: usize = 64 * 1024;

/// Octets between checkpoints that are noted: what comes before one has to be on the disk, and that takes time.
const NOTED_EVERY: u64 = 8 << 20;

/// Links to links that are followed, as Linux follows them.
const MOST_LINKS: usize = 40;

/// What is where a file is to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A file, or nothing yet; where a link leads to.
    File(PathBuf),
    /// A device, a FIFO or a socket.
    Stream(PathBuf),
}

impl Place {
    /// What is at `target`.
    pub(crate) fn of(target: &Path) -> Result<Self, String> {
        let said = |why: &dyn core::fmt::Display| format!("{}: {why}", path_shown(target));
        match std::fs::metadata(target) {
            Ok(it) if it.is_dir() => Err(said(&"this is a directory")),
            Ok(it) if !it.is_file() => Ok(Self::Stream(target.to_owned())),
            Ok(_) => {
                let is_link = target.symlink_metadata().is_ok_and(|it| it.is_symlink());
                let file = if is_link {
                    target.canonicalize().map_err(|why| said(&why))?
                } else {
                    target.to_owned()
                };
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
            Err(why) => Err(said(&why)),
        }
    }
}

/// The name of a file, for people.
pub(crate) fn path_shown(path: &Path) -> String {
    shown(&path.to_string_lossy())
}

/// What came of a file, for whoever has given the sink away.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receipt(Arc<Mutex<Received>>);

/// What is known of a file that has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    /// Its size.
    pub(crate) size: u64,
    /// SHA-256 in hexadecimal, where it was wanted.
    pub(crate) sha256: String,
    /// It is in its place.
    pub(crate) is_there: bool,
    /// So many bytes were there already.
    pub(crate) resumed: u64,
    /// This machine could not keep it.
    pub(crate) is_lost: bool,
}

impl Receipt {
    pub(crate) fn read(&self) -> Received {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn with(&self, act: impl FnOnce(&mut Received)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

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

/// A note of how far a transfer by FTAM is.
struct Note {
    path: PathBuf,
    /// What is transferred, and how: it is gone on with for the same only.
    of: String,
    /// Behind this octet the next one is worth writing.
    next: u64,
}

impl Note {
    fn new(path: PathBuf, of: String) -> Self {
        let next = 0;
        Self { path, of, next }
    }

    fn read(&self) -> Option<Secured> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let mut words = text.splitn(4, ' ');
        let at = Secured {
            activity: words.next()?.parse().ok()?,
            point: words.next()?.parse().ok()?,
            offset: words.next()?.parse().ok()?,
        };
        let of = words.next()?.strip_suffix('\n')?;
        (of == self.of).then_some(at)
    }

    /// Writes it where it is due and `secure` has done what is needed before. That it is not written, or not removed, costs time and nothing else.
    fn keep(&mut self, at: Option<Secured>, secure: impl FnOnce() -> io::Result<()>) {
        let Some(at) = at else {
            let _ = std::fs::remove_file(&self.path);
            self.next = 0;
            return;
        };
        if at.offset < self.next {
            return;
        }
        let text = format!("{} {} {} {}\n", at.activity, at.point, at.offset, self.of);
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let done = secure()
            .and_then(|()| std::fs::write(&new, text))
            .and_then(|()| std::fs::rename(&new, &self.path));
        if done.is_ok() {
            self.next = at.offset.saturating_add(NOTED_EVERY);
        }
    }
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
    pub(crate) fn recovering(mut self) -> (Self, bool) {
        if self.resume {
            let note = Note::new(note_of(&self.part), self.place.clone());
            self.interrupted = note.read().filter(|at| at.offset <= self.old);
            self.note = Some(note);
            // Perhaps nothing is behind it.
            self.size = self.interrupted.map_or(0, |at| at.offset);
        }
        let goes_on = self.interrupted.is_some();
        (self, goes_on)
    }

    /// Whether what was left under the name `part` is of `place`.
    pub(crate) fn is_of(part: &Path, place: &str) -> bool {
        let note = std::fs::read_to_string(note_of(part)).unwrap_or_default();
        note.ends_with(&format!(" {}\n", place.escape_debug()))
    }

    /// Forgets what an earlier run has left.
    pub(crate) fn begin_anew(&mut self) -> Result<(), String> {
        self.old = 0;
        self.file.set_len(0).map_err(|why| self.said(&why))
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
            let _ = std::fs::remove_file(note_of(&self.part));
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
            self.old = offset;
            self.file.set_len(offset)?;
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
        if !is_same {
            self.file.set_len(0).map_err(|why| self.said(&why))?;
            self.old = 0;
        }
        std::fs::write(&path, note).map_err(|why| self.said(&why))?;
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
        if let Some(note) = &mut self.note {
            note.keep(at, || self.file.sync_data());
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

/// Standard output, and what is written to as that is.
pub(crate) struct Out {
    to: Box<dyn io::Write + Send>,
    name: String,
    written: u64,
    /// The checksum of what was written.
    digest: Sha256,
    /// All of the file comes once more, and perhaps it is another one.
    again: Option<Again>,
    /// What makes CR LF to LF, where it is to be.
    localiser: Option<Localiser>,
    receipt: Receipt,
}

/// How far what comes once more was compared with what was written, and its checksum up to there.
#[derive(Default)]
struct Again {
    compared: u64,
    digest: Sha256,
}

impl Out {
    /// Standard output.
    pub(crate) fn standard() -> Self {
        Self {
            to: Box::new(io::stdout()),
            name: "standard output".to_owned(),
            written: 0,
            digest: Sha256::new(),
            again: None,
            localiser: None,
            receipt: Receipt::default(),
        }
    }

    /// What is at `path` and is no file.
    pub(crate) fn open(path: &Path) -> Result<(Self, Receipt), String> {
        let name = path_shown(path);
        let opened =
            std::fs::metadata(path).and_then(|it| -> io::Result<Box<dyn io::Write + Send>> {
                if it.file_type().is_socket() {
                    return Ok(Box::new(UnixStream::connect(path)?));
                }
                Ok(Box::new(OpenOptions::new().write(true).open(path)?))
            });
        let to = opened.map_err(|why| format!("{name}: {why}"))?;
        let receipt = Receipt::default();
        let out = Self {
            to,
            name,
            written: 0,
            digest: Sha256::new(),
            again: None,
            localiser: None,
            receipt: receipt.clone(),
        };
        Ok((out, receipt))
    }

    /// Ends lines as they end here.
    pub(crate) fn with_newlines(mut self, is_text: bool) -> Self {
        self.localiser = is_text.then(Localiser::default);
        self
    }

    fn said(&self, why: impl core::fmt::Display) -> String {
        format!("{}: {why}", self.name)
    }

    /// Takes into account what comes once more of a file that is begun anew, and judges it as soon as all that was written has come.
    fn compare(&mut self, offset: u64, data: &Message) -> Result<(), String> {
        let Some(again) = self.again.as_mut() else {
            return Ok(());
        };
        // Behind a checkpoint some of it comes a third time.
        let skipped = again.compared.saturating_sub(offset);
        let mut skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let mut left = usize::try_from(self.written - again.compared).unwrap_or(usize::MAX);
        data.for_each(|octets| {
            let (seen, octets) = octets.split_at_checked(skipped).unwrap_or((octets, &[]));
            skipped -= seen.len();
            let (these, _) = octets.split_at_checked(left).unwrap_or((octets, &[]));
            again.digest.update(these);
            left -= these.len();
            again.compared = again.compared.saturating_add(these.len() as u64);
        });
        if again.compared < self.written {
            return Ok(());
        }
        self.judge()
    }

    /// Whether what has come once more is what was written.
    fn judge(&mut self) -> Result<(), String> {
        let Some(again) = self.again.take() else {
            return Ok(());
        };
        if again.compared == self.written
            && again.digest.finalize() == self.digest.clone().finalize()
        {
            return Ok(());
        }
        Err(self.said(format!(
            "the file has changed at the responder, and {} bytes of the one before are written already; fetch it once more, to a file",
            self.written
        )))
    }
}

impl Sink for Out {
    fn write(&mut self, offset: u64, mut data: Message) -> Result<(), String> {
        let gap = "what comes does not follow what came";
        self.compare(offset, &data)?;
        // Behind a checkpoint some of it comes once more, of the same file.
        let again = self.written.checked_sub(offset);
        let again = again.ok_or_else(|| self.said(gap))?;
        let again = usize::try_from(again).unwrap_or(usize::MAX);
        let again = data.pop(again.min(data.len()));
        again.map_err(|_| self.said(gap))?;
        let mut done = Ok(());
        data.for_each(|octets| {
            if done.is_ok() {
                self.digest.update(octets);
                done = match &mut self.localiser {
                    Some(localiser) => {
                        let mut local = Vec::with_capacity(octets.len());
                        localiser.take(octets, &mut local);
                        self.to.write_all(&local)
                    }
                    None => self.to.write_all(octets),
                };
            }
        });
        self.written = self.written.saturating_add(data.len() as u64);
        done.map_err(|why| self.said(why))
    }

    fn finish(&mut self) -> Result<(), String> {
        self.judge()?;
        let mut rest = Vec::new();
        if let Some(localiser) = &mut self.localiser {
            localiser.end(&mut rest);
        }
        let done = self.to.write_all(&rest).and_then(|()| self.to.flush());
        done.map_err(|why| self.said(why))?;
        let size = self.written;
        self.receipt.with(|it| {
            it.size = size;
            it.is_there = true;
        });
        Ok(())
    }

    fn secured(&mut self, at: Option<Secured>) {
        if at.is_none() && self.written > 0 {
            self.again = Some(Again::default());
        }
    }
}

/// A file that is sent.
pub(crate) struct Contents {
    file: File,
    name: String,
    /// Its size when it was opened.
    pub(crate) size: u64,
    /// What was known of it when it was opened; nothing of standard input.
    seen: Option<std::fs::Metadata>,
    note: Option<Note>,
    interrupted: Option<Secured>,
}

/// The name of the note beside a file that is sent.
pub(crate) fn note_beside(file: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(".kumiki-put");
    file.with_file_name(name)
}

impl Contents {
    /// Opens a file.
    pub(crate) fn of(path: &Path) -> Result<Self, String> {
        let name = path_shown(path);
        let said = |why: io::Error| format!("{name}: {why}");
        let file = File::open(path).map_err(said)?;
        let metadata = file.metadata().map_err(said)?;
        if metadata.is_dir() {
            return Err(format!("{name}: this is a directory"));
        }
        let size = metadata.len();
        Ok(Self {
            file,
            name,
            size,
            seen: Some(metadata),
            note: None,
            interrupted: None,
        })
    }

    /// Keeps a note beside `path` by which another run can recover the transfer to `place`, and goes on with what an earlier one has left of the same file.
    pub(crate) fn recovering(mut self, path: &Path, place: &str) -> Result<Self, String> {
        let no_file = || format!("{}: this is no file", self.name);
        let it = self.seen.as_ref().ok_or_else(no_file)?;
        let (seconds, nanos) = (it.mtime(), it.mtime_nsec());
        let (size, number, place) = (it.len(), it.ino(), place.escape_debug());
        let of = format!("{size} {seconds}.{nanos} {number} {place}");
        let note = Note::new(note_beside(path), of);
        self.interrupted = note.read().filter(|at| at.offset <= self.size);
        self.note = Some(note);
        Ok(self)
    }

    /// Ends lines as they end between systems, if that `is_text`: in a file without a name, so that it can go on by octets.
    pub(crate) fn with_newlines(mut self, is_text: bool) -> Result<Self, String> {
        if !is_text {
            return Ok(self);
        }
        let sent = tempfile::tempfile().and_then(|sent| {
            self.size = globalise(&self.file, &sent)?;
            Ok(sent)
        });
        self.file = sent.map_err(|why| format!("{}: {why}", self.name))?;
        Ok(self)
    }

    /// Takes standard input to a file without a name first: so that who writes it slowly does not hold the association, and the responder can
    /// go back to a checkpoint.
    pub(crate) fn of_standard_input() -> Result<Self, String> {
        let name = "standard input".to_owned();
        let said = |why: io::Error| format!("{name}: {why}");
        let mut file = tempfile::tempfile().map_err(said)?;
        let size = io::copy(&mut io::stdin().lock(), &mut file).map_err(said)?;
        Ok(Self {
            file,
            name,
            size,
            seen: None,
            note: None,
            interrupted: None,
        })
    }
}

impl Source for Contents {
    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn interrupted(&self) -> Option<Secured> {
        self.interrupted
    }

    fn secured(&mut self, at: Option<Secured>) {
        if at.is_none() {
            self.interrupted = None;
        }
        if let Some(note) = &mut self.note {
            note.keep(at, || Ok(()));
        }
    }

    fn read(&mut self, offset: u64, most: usize) -> Result<Message, String> {
        let (mut filled, mut failed) = (0, None);
        let page = Page::build(most, |octets| {
            while let Some(rest) = octets.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                match self
                    .file
                    .read_at(rest, offset.saturating_add(filled as u64))
                {
                    Ok(0) => break,
                    Ok(len) => filled += len,
                    Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                    Err(why) => {
                        failed = Some(why);
                        break;
                    }
                }
            }
        });
        if let Some(why) = failed {
            return Err(format!("{}: {why}", self.name));
        }
        let mut data = Message::from_page(page);
        data.truncate(filled);
        Ok(data)
    }
}

/// The checksum of octets.
pub(crate) fn digest(octets: &[u8]) -> String {
    hex(&Sha256::digest(octets))
}

/// The checksum of a file.
pub(crate) fn checksum(path: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    io::copy(&mut File::open(path)?, &mut digest)?;
    Ok(hex(&digest.finalize()))
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
            part.recovering()
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
    fn what_was_written_is_compared_with_what_comes_anew() {
        let again = |parts: &[(u64, &[u8])]| {
            let (mut out, receipt) = Out::open(Path::new("/dev/null")).unwrap();
            out.write(0, Message::from_octets(b"abcd")).unwrap();
            out.secured(None);
            for &(offset, octets) in parts {
                out.write(offset, Message::from_octets(octets))?;
            }
            out.finish().map(|()| receipt.read().size)
        };
        assert_eq!(again(&[(0, b"abc"), (3, b"def")]), Ok(6));
        assert_eq!(again(&[(0, b"abcd")]), Ok(4));
        // Behind a checkpoint.
        assert_eq!(again(&[(0, b"abc"), (1, b"bcdef")]), Ok(6));
        assert_eq!(again(&[(0, b"abc"), (0, b"a"), (1, b"bcdef")]), Ok(6));
        for other in [&[(0, &b"abXdef"[..])][..], &[(0, b"abc")], &[]] {
            let why = again(other).unwrap_err();
            assert!(why.contains("4 bytes of the one before"), "{why}");
        }
    }
}
