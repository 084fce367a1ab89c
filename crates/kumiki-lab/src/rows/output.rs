//! The directory that results go to.

use core::slice;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::csv_form::{self, CsvForm};
use super::{ReadError, Row, RowError, TABLES, from_jsonl, to_jsonl};
use crate::capture::Contents;
use kumiki_config::refusal::{self, Access};

/// A directory for results.
///
/// Every file is first written under another name in the same directory and then renamed, so that a reader never sees
/// half of one. Without `force`, a file that is there stays.
#[derive(Clone, Debug)]
pub struct Output {
    directory: PathBuf,
    force: bool,
}

/// Why a result could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// An older result is in the way.
    #[error("{} already has a result ({}); choose another directory with --out, go on with it by --resume, or replace it with --force", directory.display(), file.display())]
    Exists {
        /// The directory for results.
        directory: PathBuf,
        /// The file in it.
        file: PathBuf,
    },
    /// A file that no journal says is of an older result is in the way.
    #[error("{} is there, and no journal says that it is of an older result; take it away, choose another directory with --out, or replace it with --force", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The name leads out of the directory.
    #[error("{name:?} is not the name of a file below the directory for results")]
    Name {
        /// The name that was given.
        name: String,
    },
    /// Something that is there, or should be, cannot be read.
    #[error("{}: {}", path.display(), refusal::words(path, source, Access::Read))]
    Unread {
        /// The file.
        path: PathBuf,
        /// The reason of the file system.
        #[source]
        source: io::Error,
    },
    /// The file system refused to have something made or written.
    #[error("{}: {}", path.display(), refusal::words(path, source, Access::Write))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Its reason.
        #[source]
        source: io::Error,
    },
    /// A row cannot be written.
    #[error("row {row}: {source}")]
    Row {
        /// The row, from 1; 0 where that is not known.
        row: usize,
        /// What is wrong with it.
        #[source]
        source: RowError,
    },
    /// A journal cannot be gone on with, or merged.
    #[error("{}{}: {why}", path.display(), numbered(*line))]
    Journal {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 where it is about none.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A file of rows cannot be read.
    #[error("{}, {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The line and what is wrong with it.
        #[source]
        source: ReadError,
    },
}

impl OutputError {
    /// Whether a file had no room: the disk is full, or the size of files, or what a user may have, is limited.
    #[must_use]
    pub fn is_for_want_of_room(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | FileTooLarge | QuotaExceeded))
    }
}

/// ":7".
fn numbered(line: usize) -> String {
    if line == 0 { String::new() } else { format!(":{line}") }
}

impl Output {
    /// What papers say, beside ours, as JSON Lines.
    pub const VERDICTS: &'static str = "verdicts.jsonl";
    /// Every point that has ended, for whoever goes on.
    pub const JOURNAL: &'static str = "journal.jsonl";
    /// The folder of captures, with a folder for each scenario.
    pub const CAPTURES: &'static str = "captures";
    /// The folder of figures.
    pub const FIGURES: &'static str = "figures";
    /// The page of all results.
    pub const REPORT: &'static str = "report.html";
    /// Where results come from, as JSON, where a program has written it.
    pub const RUN: &'static str = "run.json";
    /// The rows as JSON Lines.
    pub const ROWS_JSONL: &'static str = "rows.jsonl";
    /// The rows as CSV.
    pub const ROWS_CSV: &'static str = "rows.csv";

    /// What a result is where nothing else is asked for.
    const RESULTS: [&str; 6] =
        [Self::ROWS_JSONL, Self::ROWS_CSV, Self::JOURNAL, Self::VERDICTS, Self::REPORT, Self::RUN];

    /// Makes `directory` where it is missing. To be called before a long run, so that a refusal comes first.
    ///
    /// # Errors
    ///
    /// [`OutputError::Exists`] where rows, a journal, verdicts, a page or `run.json` are there and `force` is false;
    /// [`OutputError::Io`] where the directory cannot be made, or a directory is in the place of a file of the result,
    /// or something else in that of a folder.
    pub fn open(directory: impl Into<PathBuf>, force: bool) -> Result<Self, OutputError> {
        let output = Self { directory: directory.into(), force };
        fs::create_dir_all(&output.directory).map_err(|source| output.unmade(source))?;
        output.refuse_results()?;
        Ok(output)
    }

    /// Why the directory cannot be made.
    fn unmade(&self, source: io::Error) -> OutputError {
        // A file, or a link that leads nowhere, is in the way.
        let source = if source.kind() == io::ErrorKind::AlreadyExists {
            io::Error::new(io::ErrorKind::NotADirectory, "it is no directory; choose another place for results")
        } else {
            source
        };
        OutputError::Io { path: self.directory.clone(), source }
    }

    /// The directory as [`Output::open`] would have it, unless that would refuse it, for its place or for what is in
    /// it; nothing is left there.
    ///
    /// # Errors
    ///
    /// As [`Output::open`].
    pub fn look(directory: impl Into<PathBuf>, force: bool) -> Result<Self, OutputError> {
        let output = Self { directory: directory.into(), force };
        if output.directory.is_dir() {
            return output.refuse_results().map(|()| output);
        }
        // Of the folders above it the highest that is missing; it is the attempt that tells, as rights and file systems
        // may refuse it.
        let above = output.directory.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.is_dir());
        let highest = above.last().unwrap_or(&output.directory);
        if highest != output.directory && highest.exists() {
            return Err(OutputError::Io { path: output.directory, source: io::ErrorKind::NotADirectory.into() });
        }
        let made = fs::create_dir(highest).and_then(|()| fs::remove_dir(highest));
        made.map_err(|source| output.unmade(source)).map(|()| output)
    }

    /// As [`Output::open`] does, of what is there now.
    pub(crate) fn refuse_results(&self) -> Result<(), OutputError> {
        let results = Self::RESULTS;
        results.into_iter().try_for_each(|name| self.refuse_existing(Path::new(name)))?;
        // What cannot be replaced is in the way of whoever may replace results, too.
        let directory = results.into_iter().map(|name| self.path(name)).find(|path| path.is_dir());
        let folders = [Self::FIGURES, Self::CAPTURES].map(|name| self.path(name)).into_iter();
        let other = folders.into_iter().find(|path| fs::symlink_metadata(path).is_ok() && !path.is_dir());
        let in_the_way = directory.map(|path| (path, io::ErrorKind::IsADirectory));
        match in_the_way.or_else(|| other.map(|path| (path, io::ErrorKind::NotADirectory))) {
            Some((path, kind)) => Err(OutputError::Io { path, source: kind.into() }),
            None => Ok(()),
        }
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where `name` ("figures/fig3.svg") is or will be.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes a file below the directory and says where; folders in `name` are made.
    ///
    /// # Errors
    ///
    /// [`OutputError::Exists`] where the file is there and `force` was not given; [`OutputError::Name`] for an absolute
    /// name or one with `..`; [`OutputError::Io`] where the file system refuses.
    pub fn write(&self, name: &str, octets: &[u8]) -> Result<PathBuf, OutputError> {
        self.write_for(name, false, whole(octets)).map(|(path, _)| path)
    }

    /// As [`Output::write`], of a file of this very result that is written again.
    ///
    /// # Errors
    ///
    /// As [`Output::write`], but for a file that is there.
    pub fn rewrite(&self, name: &str, octets: &[u8]) -> Result<PathBuf, OutputError> {
        Self { force: true, ..self.clone() }.write(name, octets)
    }

    /// As [`Output::write`], of a file to which more is added.
    ///
    /// # Errors
    ///
    /// As [`Output::write`].
    pub fn begin(&self, name: &str, octets: &[u8]) -> Result<fs::File, OutputError> {
        self.write_for(name, false, whole(octets)).map(|(_, file)| file)
    }

    /// As [`Output::write`], of a capture, and says how many octets it has: nobody but its owner can read it.
    ///
    /// # Errors
    ///
    /// As [`Output::write`].
    pub fn write_capture(&self, name: &str, contents: &Contents) -> Result<u64, OutputError> {
        let (path, file) = self.write_for(name, true, |part| Ok(contents.write_to(part)?))?;
        let found = file.metadata().map_err(|source| OutputError::Io { path, source })?;
        Ok(found.len())
    }

    /// Removes a file that an earlier result has left, where results may be replaced.
    ///
    /// # Errors
    ///
    /// [`OutputError::Io`] where the file system refuses.
    pub fn remove(&self, name: &str) -> Result<(), OutputError> {
        let path = self.path(name);
        if !self.force {
            return Ok(());
        }
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(OutputError::Io { path, source }),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn write_for(
        &self,
        name: &str,
        is_private: bool,
        fill: impl FnOnce(&mut fs::File) -> Result<(), Unwritten>,
    ) -> Result<(PathBuf, fs::File), OutputError> {
        let io = |path: &Path, source| OutputError::Io { path: path.to_owned(), source };
        let mut part = self.part_for(name, is_private)?;
        fill(&mut part.file).map_err(|why| match why {
            Unwritten::Refused(source) => io(&part.path, source),
            Unwritten::Of(why) => why,
        })?;
        let path = part.path.clone();
        Ok((path, part.place()?))
    }

    /// As [`Output::begin`], of a file that takes its place only when that is asked for.
    ///
    /// # Errors
    ///
    /// As [`Output::write`].
    pub(crate) fn part(&self, name: &str) -> Result<Part, OutputError> {
        self.part_for(name, false)
    }

    fn part_for(&self, name: &str, is_private: bool) -> Result<Part, OutputError> {
        let relative = Path::new(name);
        let plain = relative.components().all(|c| matches!(c, std::path::Component::Normal(_)));
        let (true, Some(file)) = (plain, relative.file_name()) else {
            return Err(OutputError::Name { name: name.to_owned() });
        };
        self.refuse_existing(relative)?;
        let path = self.directory.join(relative);
        // The process id keeps two runs that share a directory out of each other's half-written files.
        let temporary = path.with_file_name(format!(".{}.{}.part", file.to_string_lossy(), std::process::id()));
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| begin(&temporary, is_private));
        match made {
            Ok(file) => Ok(Part { file, temporary, path, is_placed: false }),
            Err(source) => Err(OutputError::Io { path, source }),
        }
    }

    /// Takes away what somebody who was killed has left half-written. Only for whom nobody else writes here. What is
    /// called as nothing of a result of the scenarios `names` is, is somebody else's.
    pub(crate) fn remove_parts(&self, names: &[&str]) {
        let entries = |path: &Path, is: fn(&fs::FileType) -> bool| -> Vec<fs::DirEntry> {
            let all = fs::read_dir(path).into_iter().flatten().flatten();
            all.filter(|it| it.file_type().is_ok_and(|it| is(&it))).collect()
        };
        let is_figure = |name: &str| {
            let name = name.strip_suffix(".svg").unwrap_or_default();
            names.iter().any(|own| name.strip_prefix(own).is_some_and(|rest| ["", "-tasks", "-held"].contains(&rest)))
        };
        let mut all: Vec<(PathBuf, IsOwn<'_>)> = vec![(self.directory.clone(), &is_of_result)];
        // No way leads through a link.
        for folder in entries(&self.directory, fs::FileType::is_dir) {
            if folder.file_name() == Self::FIGURES {
                all.push((folder.path(), &is_figure));
            } else if folder.file_name() == Self::CAPTURES {
                let own = entries(&folder.path(), fs::FileType::is_dir).into_iter();
                let own = own.filter(|own| names.iter().any(|name| own.file_name() == *name));
                all.extend(own.map(|own| (own.path(), &is_of_point as IsOwn<'_>)));
            }
        }
        for (folder, is_own) in all {
            for entry in entries(&folder, fs::FileType::is_file) {
                if is_part(&entry.file_name().to_string_lossy(), is_own) {
                    // What stays is only untidy.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Writes `rows.jsonl` and `rows.csv` and says where they are.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), and [`OutputError::Row`] where a row cannot be written.
    pub fn write_rows(&self, rows: &[Row]) -> Result<[PathBuf; 2], OutputError> {
        self.write_rows_of(|| rows.iter().cloned().map(Ok))
    }

    /// As [`Output::write_rows`], of rows that are made twice, one by one, and need not all be in memory.
    ///
    /// # Errors
    ///
    /// As [`Output::write_rows`], and whatever keeps a row from being made.
    pub fn write_rows_of<I>(&self, rows: impl Fn() -> I) -> Result<[PathBuf; 2], OutputError>
    where
        I: Iterator<Item = Result<Row, OutputError>>,
    {
        self.refuse_existing(Path::new(Self::ROWS_CSV))?;
        let mut form = CsvForm::default();
        let lines = |part: &mut fs::File| {
            let mut part = BufWriter::new(part);
            for (number, row) in (1..).zip(rows()) {
                let row = row?;
                let line =
                    to_jsonl(slice::from_ref(&row)).map_err(|source| OutputError::Row { row: number, source })?;
                part.write_all(line.as_bytes())?;
                form.see(&row);
            }
            Ok(part.flush()?)
        };
        let (jsonl, _) = self.write_for(Self::ROWS_JSONL, false, lines)?;
        let table = |part: &mut fs::File| {
            let mut out = BufWriter::new(part);
            out.write_all(&csv_form::record(&form.head()).map_err(io::Error::from)?)?;
            for row in rows() {
                out.write_all(&form.line(&row?).map_err(io::Error::from)?)?;
            }
            Ok(out.flush()?)
        };
        let (csv, _) = self.write_for(Self::ROWS_CSV, false, table)?;
        Ok([jsonl, csv])
    }

    /// Whether files that are there are replaced.
    pub(crate) const fn replaces(&self) -> bool {
        self.force
    }

    fn refuse_existing(&self, relative: &Path) -> Result<(), OutputError> {
        if !self.force && fs::symlink_metadata(self.directory.join(relative)).is_ok() {
            return Err(OutputError::Exists { directory: self.directory.clone(), file: relative.to_owned() });
        }
        Ok(())
    }
}

/// Whether a file that is called so is of a result.
type IsOwn<'a> = &'a dyn Fn(&str) -> bool;

/// What the file is called, before it has a place, by which is tried whether files can be made.
const PROBE: &str = "probe";

/// Whether a file is called as one is that has not taken its place, which `is_own`, or as one that never takes any:
/// `.rows.csv.4711.part`.
fn is_part(name: &str, is_own: IsOwn<'_>) -> bool {
    let process = name.strip_prefix('.').and_then(|it| it.strip_suffix(".part")).and_then(|it| it.rsplit_once('.'));
    process.is_some_and(|(own, number)| number.parse::<u32>().is_ok() && (own == PROBE || is_own(own)))
}

/// Whether a file of the directory itself is called so.
fn is_of_result(name: &str) -> bool {
    let is_table = || name.strip_suffix(".parquet").is_some_and(|name| TABLES.iter().any(|(table, _)| name == *table));
    Output::RESULTS.contains(&name) || is_table()
}

/// Whether a capture of a point, or what is drawn of it, is called so: `000-a.pcapng`.
fn is_of_point(name: &str) -> bool {
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    name.split_once('-').is_some_and(|(number, _)| is_number(number))
        && [".pcapng", ".csv", ".svg"].iter().any(|end| name.ends_with(end))
}

/// A file that has not taken its place yet. Where it does not, it goes.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) file: fs::File,
    temporary: PathBuf,
    path: PathBuf,
    is_placed: bool,
}

impl Part {
    /// Another handle, to read what is in it.
    ///
    /// # Errors
    ///
    /// [`OutputError::Unread`] where the file system refuses.
    pub(crate) fn reader(&self) -> Result<fs::File, OutputError> {
        fs::File::open(&self.temporary).map_err(|source| OutputError::Unread { path: self.path.clone(), source })
    }

    /// Has it take its place, on the disk, whatever was there.
    ///
    /// # Errors
    ///
    /// [`OutputError::Io`] where the file system refuses; what was there stays.
    pub(crate) fn place(mut self) -> Result<fs::File, OutputError> {
        let io = |source| OutputError::Io { path: self.path.clone(), source };
        let file = self.file.try_clone().map_err(io)?;
        file.sync_all().and_then(|()| fs::rename(&self.temporary, &self.path)).map_err(io)?;
        self.is_placed = true;
        Ok(file)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_placed {
            // Whatever kept it from its place is the failure to report; a leftover is only untidy.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Why a file was not written.
enum Unwritten {
    /// The file system refused.
    Refused(io::Error),
    /// What was to be in it is not there.
    Of(OutputError),
}

impl From<io::Error> for Unwritten {
    fn from(source: io::Error) -> Self {
        Self::Refused(source)
    }
}

impl From<OutputError> for Unwritten {
    fn from(why: OutputError) -> Self {
        Self::Of(why)
    }
}

/// What fills a file with these octets.
fn whole(octets: &[u8]) -> impl FnOnce(&mut fs::File) -> Result<(), Unwritten> {
    |part| Ok(part.write_all(octets)?)
}

/// Makes a file, in place of one that a run with the same process id has left.
fn begin(path: &Path, is_private: bool) -> io::Result<fs::File> {
    // That it was not there is as good.
    let _ = fs::remove_file(path);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = is_private;
    options.open(path)
}

/// That files can be made in `folder`; none is left there. It is the attempt that tells, as rights and file systems may
/// refuse it.
///
/// # Errors
///
/// That of the file system.
pub(crate) fn probe(folder: &Path) -> io::Result<()> {
    // Named as what is half-written, which whoever goes on takes away.
    let path = folder.join(format!(".{PROBE}.{}.part", std::process::id()));
    begin(&path, false).and_then(|_| fs::remove_file(&path))
}

/// The rows of a file of JSON Lines.
///
/// # Errors
///
/// [`OutputError::Unread`] where the file cannot be read, [`OutputError::Read`] where a line of it is not a row.
pub fn read_rows(path: &Path) -> Result<Vec<Row>, OutputError> {
    let text = fs::read_to_string(path).map_err(|source| OutputError::Unread { path: path.to_owned(), source })?;
    from_jsonl(&text).map_err(|source| OutputError::Read { path: path.to_owned(), source })
}
