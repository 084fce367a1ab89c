//! A file that is sent.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::files::disk::System;
use crate::osi::{Message, Page, Secured, Source};

use kumiki_live::refusal::{self, Access};

use super::newlines::globalise;
use super::note::Note;
use super::path_shown;

/// A file that is sent.
pub struct Contents {
    file: File,
    name: String,
    /// Its size when it was opened.
    pub size: u64,
    /// What was known of it when it was opened; nothing of standard input.
    seen: Option<std::fs::Metadata>,
    note: Option<Note<System>>,
    interrupted: Option<Secured>,
}

/// The name of the note beside a file that is sent.
pub fn note_beside(file: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(".kumiki-put");
    file.with_file_name(name)
}

impl Contents {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, and why.
    pub fn of(path: &Path) -> Result<Self, String> {
        let name = path_shown(path);
        let said = |why: io::Error| format!("{name}: {}", refusal::words(path, &why, Access::Read));
        let file = File::open(path).map_err(said)?;
        let metadata = file.metadata().map_err(said)?;
        if metadata.is_dir() {
            return Err(said(io::ErrorKind::IsADirectory.into()));
        }
        let size = metadata.len();
        Ok(Self { file, name, size, seen: Some(metadata), note: None, interrupted: None })
    }

    /// Keeps a note beside `path` by which another run can recover the transfer to `place`, and goes on with what an
    /// earlier one has left of the same file.
    ///
    /// # Errors
    /// No note can be written there.
    pub fn recovering(mut self, path: &Path, place: &str) -> Result<Self, String> {
        let no_file = || format!("{}: this is no file", self.name);
        let it = self.seen.as_ref().ok_or_else(no_file)?;
        let (seconds, nanos) = (it.mtime(), it.mtime_nsec());
        let (size, number, place) = (it.len(), it.ino(), place.escape_debug());
        let of = format!("{size} {seconds}.{nanos} {number} {place}");
        let beside = note_beside(path);
        let unwritable = |why| format!("--resume: {} cannot be written: {why}", path_shown(&beside));
        let note = Note::new(System, beside.clone(), of);
        note.probe().map_err(unwritable)?;
        self.interrupted = note.read().filter(|at| at.offset <= self.size);
        self.note = Some(note);
        Ok(self)
    }

    /// Ends lines as they end between systems, if that `is_text`: in a file without a name, so that it can go on by
    /// octets, where temporary files are.
    ///
    /// # Errors
    /// There is no room for what is converted.
    pub fn with_newlines(mut self, is_text: bool) -> Result<Self, String> {
        if !is_text {
            return Ok(self);
        }
        let sent = tempfile::tempfile().and_then(|sent| {
            self.size = globalise(&self.file, &sent)?;
            Ok(sent)
        });
        self.file = sent.map_err(|why| {
            let at = path_shown(&std::env::temp_dir());
            format!("{}, to be converted in {at}: {why}", self.name)
        })?;
        Ok(self)
    }

    /// Takes standard input to a file without a name first: so that who writes it slowly does not hold the association,
    /// and the responder can go back to a checkpoint.
    ///
    /// # Errors
    /// It cannot be read, or there is no room for it.
    pub fn of_standard_input() -> Result<Self, String> {
        let name = "standard input".to_owned();
        let said = |why: io::Error| {
            let at = path_shown(&std::env::temp_dir());
            format!("{name}, to be kept in {at}: {why}")
        };
        let mut file = tempfile::tempfile().map_err(said)?;
        let size = io::copy(&mut io::stdin().lock(), &mut file).map_err(said)?;
        Ok(Self { file, name, size, seen: None, note: None, interrupted: None })
    }
}

impl Source for Contents {
    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn interrupted(&self) -> Option<Secured> {
        self.interrupted
    }

    fn secured(&mut self, at: Option<Secured>) -> Result<(), String> {
        if at.is_none() {
            self.interrupted = None;
        }
        let kept = self.note.as_mut().map_or(Ok(()), |note| note.keep(at, || Ok(())));
        kept.map_err(|why| format!("{}: how far it is cannot be noted beside it: {why}", self.name))
    }

    fn read(&mut self, offset: u64, most: usize) -> Result<Message, String> {
        let (mut filled, mut failed) = (0, None);
        let page = Page::build(most, |octets| {
            while let Some(rest) = octets.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                match self.file.read_at(rest, offset.saturating_add(filled as u64)) {
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
