//! The journal of a run: every point that has ended, as it ends, so that nothing else is lost whatever ends the
//! program.
//!
//! | | |
//! |---|---|
//! | Specification | `journal.jsonl`, JSON Lines. The first is `{"sha256":"...","journal":{...}}`, what is run ([`Header`]); each that follows `{"sha256":"...","point":{...}}`, a point ([`Entry`]). The hash is that of the octets of the second value |
//! | Left out | points that have begun; a point's repetitions one by one |
//!
//! Lines are added whole, each by one call. So only the last can be torn, and what is torn was not finished: it is
//! dropped. Everything else that is not as it was written is refused with its line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use kumiki_octets::text::counted;

use super::done::RunResult;
use super::key::sha256;
use super::older::OlderFiles;
use super::room;
use super::shard::Shard;
use super::{COMMIT, Plan};
use crate::compare::provenance;
use crate::rows::{Output, OutputError, Part};
use crate::scenario::{Choice, ConfigError, Document};
use kumiki_config::refusal::json_words;

/// How each line begins.
const BEGINNING: &[u8] = b"{\"sha256\":\"";

/// What can be done about a journal of which nobody knows what it is of.
const ANEW: &str = "to start over, --force, or another directory";

/// What can be done about a point that is not as it was written.
const WITHOUT: &str = "without this line its point is run again";

/// The form of the lines. Another one is refused.
const FORMAT: u32 = 1;

/// What is run: enough to make the same points of it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    format: u32,
    version: String,
    commit: Option<String>,
    pub(super) shard: Shard,
    scenarios: Vec<Text>,
    set: Vec<String>,
    quick: bool,
    runs: Option<u32>,
    /// What is captured, as on the command line. Captures are files of their own.
    captures: String,
}

/// A scenario as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    file: String,
    text: String,
}

/// A point that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// What makes it the same point: see [`super::key`].
    pub(super) key: String,
    /// For who reads the file: the scenario, the number of the point in it, and what is varied.
    pub(super) scenario: String,
    pub(super) point: usize,
    pub(super) label: String,
    /// How long it took on this machine; says nothing of the result.
    pub(super) took_ms: u64,
    /// The names of its captures, below the directory.
    pub(super) captures: Vec<String>,
    /// How many octets each of these has, in their order; nothing where who wrote it did not say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) octets: Vec<u64>,
    /// Why it failed, where it did.
    pub(super) failed: Option<String>,
    /// Its runs, where it did not.
    pub(super) runs: Vec<RunResult>,
}

impl Entry {
    /// Whether both say the same, whatever it took. How long captures are is no part of it, as an older journal
    /// does not say that: with the same rows a point is the same with or without.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let said = |entry: &Self| Self { took_ms: 0, octets: Vec::new(), ..entry.clone() };
        said(self) == said(other)
    }

    /// The names of its captures, and how many octets each has, where that was said.
    pub(super) fn lengths(&self) -> impl Iterator<Item = (&str, Option<u64>)> {
        let lengths = self.octets.iter().copied().map(Some).chain(std::iter::repeat(None));
        self.captures.iter().map(String::as_str).zip(lengths)
    }

    /// Whether its captures are in `directory` as they were written: what was captured belongs to the result.
    fn has_captures(&self, directory: &Path) -> bool {
        self.lengths().all(|(name, octets)| {
            let found = fs::metadata(directory.join(name));
            found.is_ok_and(|found| found.is_file() && octets.is_none_or(|octets| found.len() == octets))
        })
    }
}

impl Header {
    /// Of `documents` with what the command line chooses, and what it captures.
    #[must_use]
    pub fn new(documents: &[Document], choice: &Choice, captures: &str, shard: Shard) -> Self {
        let text = |document: &Document| Text {
            name: document.name().to_owned(),
            // Where it is on this machine is nobody's business.
            file: Path::new(document.file())
                .file_name()
                .map_or_else(String::new, |it| it.to_string_lossy().into_owned()),
            text: document.text().to_owned(),
        };
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: COMMIT.map(str::to_owned),
            shard,
            scenarios: documents.iter().map(text).collect(),
            set: choice.set.clone(),
            quick: choice.quick,
            runs: choice.runs,
            captures: captures.to_owned(),
        }
    }

    /// Whether anything is captured.
    fn has_captures(&self) -> bool {
        !self.captures.is_empty()
    }

    /// The same of all shards.
    pub(super) fn of_all(self) -> Self {
        Self { shard: Shard::WHOLE, ..self }
    }

    /// The names of the scenarios.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.scenarios.iter().map(|it| it.name.as_str())
    }

    /// The scenarios and the choice that it is of.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] of a text that is no scenario.
    pub(super) fn plan(&self) -> Result<(Vec<Document>, Choice), ConfigError> {
        let documents = self.scenarios.iter().map(|it| Document::parse(&it.name, &it.file, &it.text));
        let choice = Choice { set: self.set.clone(), quick: self.quick, runs: self.runs };
        Ok((documents.collect::<Result<_, _>>()?, choice))
    }

    /// The first scenario whose text says something else in `other`: a comment says nothing.
    pub(super) fn differs_in_text(&self, other: &Self) -> Option<&str> {
        let says = |it: &Text| it.text.parse::<toml::Table>().ok();
        let is_same = |ours: &Text, theirs: &Text| {
            ours.text == theirs.text || says(ours).is_some_and(|it| says(theirs) == Some(it))
        };
        let mut both = self.scenarios.iter().zip(&other.scenarios);
        both.find(|(ours, theirs)| !is_same(ours, theirs)).map(|(ours, _)| ours.name.as_str())
    }

    /// Which values `scenario` had and has no more; nothing where it says the same.
    fn changed(&self, now: &Self, scenario: &str) -> Option<String> {
        let text = |it: &Self| it.scenarios.iter().find(|it| it.name == scenario).map(|it| it.text.clone());
        let differing = provenance::texts(&text(self)?, &text(now)?);
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "not there".to_owned());
        let told = differing.iter().take(provenance::MOST);
        let told = told.map(|(key, was, is)| format!("{key} was {} and is {} now", or_none(was), or_none(is)));
        let mut told: Vec<String> = told.collect();
        if let Some(more) = differing.len().checked_sub(provenance::MOST).filter(|more| *more > 0) {
            told.push(format!("and {}", counted(more as u64, "more value")));
        }
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// Why what `self` is of is not what `other` is of, whatever the shard; nothing where it is.
    pub(super) fn differs(&self, other: &Self) -> Option<String> {
        let build = |it: &Self| match &it.commit {
            Some(commit) => format!("version {} ({commit})", it.version),
            None => format!("version {}", it.version),
        };
        let names = |it: &Self| it.scenarios.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        let options = |it: &Self| {
            let set = it.set.iter().map(|set| format!(" --set {set:?}"));
            let quick = if it.quick { " --quick" } else { "" };
            let runs = it.runs.map_or_else(String::new, |runs| format!(" --runs {runs}"));
            format!("{}{quick}{runs}", set.collect::<String>())
        };
        let captures = |it: &Self| if it.captures.is_empty() { "none".to_owned() } else { it.captures.clone() };
        let or_none = |text: String| if text.is_empty() { " none".to_owned() } else { text };
        let parts = [
            ("", build(self), build(other)),
            ("scenario ", names(self), names(other)),
            ("options", or_none(options(self)), or_none(options(other))),
            ("captures ", captures(self), captures(other)),
        ];
        let (what, ours, theirs) = parts.into_iter().find(|(_, ours, theirs)| ours != theirs)?;
        Some(format!("it is of {what}{ours}, and not of {what}{theirs}"))
    }
}

/// Refuses to go on with rows of which no journal says how far they have come.
fn refuse_rows(directory: &Path) -> Result<(), OutputError> {
    let rows = Output::ROWS_JSONL;
    if !directory.join(rows).exists() {
        return Ok(());
    }
    let why = format!(
        "it is missing or empty, and {rows} cannot be gone on with by itself; replace it with --force, or choose another directory with --out"
    );
    Err(at(&directory.join(Journal::NAME), 0, why))
}

/// A journal that is being written. Nobody else writes it meanwhile.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// What was in it, by the place of the point in the plan.
    kept: BTreeMap<usize, Entry>,
    keys: Vec<String>,
    /// Where their lines are.
    places: BTreeMap<usize, (u64, usize)>,
    /// Where the next line will be.
    end: u64,
    reader: Arc<Reader>,
    /// The result in whose place this one comes.
    older: OlderFiles,
    /// Whether something was added since the last [`Journal::sync`].
    is_dirty: bool,
    /// The directory, locked.
    _directory: Option<File>,
}

/// A journal that is read again while it is written.
#[derive(Debug)]
struct Reader {
    path: PathBuf,
    file: Mutex<File>,
}

/// Where a point is in a journal, so that it need not be in memory.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    reader: Arc<Reader>,
    at: u64,
    len: usize,
}

impl Stored {
    /// The point, as it was written.
    ///
    /// # Errors
    ///
    /// [`OutputError`] where it cannot be read any more, or is another.
    pub(super) fn entry(&self) -> Result<Entry, OutputError> {
        let path = &self.reader.path;
        let mut line = vec![0; self.len];
        // Whoever panicked has left nothing half done: the place is looked for each time.
        let mut file = self.reader.file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(self.at)).and_then(|_| file.read_exact(&mut line));
        read.map_err(|source| OutputError::Unread { path: path.clone(), source })?;
        value("point", &line)
            .map_err(|why| at(path, 0, format!("a point that was added to it is not there any more: {why}")))
    }
}

/// What is in a journal.
pub(super) struct Content {
    pub(super) header: Header,
    /// Each with its line, from 1.
    pub(super) entries: Vec<(usize, Entry)>,
}

impl Journal {
    /// The name of the file.
    pub const NAME: &'static str = Output::JOURNAL;

    /// Begins the journal of `plan` in the directory of `output`; with `resume` goes on with the one that is there, if
    /// one is. `header` says what is run.
    ///
    /// # Errors
    ///
    /// [`OutputError::Exists`] where one is there, which is neither to be gone on with nor to be replaced;
    /// [`OutputError::Journal`] with the line that is damaged, or of something else; [`OutputError::Unread`] and
    /// [`OutputError::Io`] where the file system refuses, the last also where another process writes it.
    pub fn open(output: &Output, header: &Header, plan: &Plan, resume: bool) -> Result<Self, OutputError> {
        let path = output.path(Self::NAME);
        let keys = plan.keys().map_err(|fault| at(&path, 0, fault.to_string()))?;
        let io = |source| OutputError::Io { path: path.clone(), source };
        let unread = |source| OutputError::Unread { path: path.clone(), source };
        plain(&path)?;
        let directory = lock_directory(output, plan)?;
        let older = if resume { OlderFiles::default() } else { OlderFiles::of(output) };
        if resume && !path.exists() {
            refuse_rows(output.directory())?;
        }
        room::check(output, plan, header.has_captures(), (&older, resume))?;
        // Where directories cannot be locked, held until the new file is in its place.
        let before = match File::open(&path) {
            Ok(file) => Some(file),
            Err(why) if why.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(unread(source)),
        };
        if let Some(file) = &before {
            lock(file).map_err(io)?;
        }
        let found = match &before {
            Some(_) if resume => kept_in(&path, header, &keys)?,
            _ => None,
        };
        if resume && found.is_none() {
            refuse_rows(output.directory())?;
        }
        let mut kept = found.unwrap_or_default();
        kept.retain(|_, entry| entry.has_captures(output.directory()));
        let (mut text, mut places) = (sealed("journal", header, &path)?, BTreeMap::new());
        for (place, entry) in &kept {
            let line = sealed("point", entry, &path)?;
            places.insert(*place, (text.len() as u64, line.len()));
            text.push_str(&line);
        }
        let end = text.len() as u64;
        let file = output.begin(Self::NAME, text.as_bytes())?;
        lock(&file).map_err(io)?;
        let reader = Arc::new(Reader { path: path.clone(), file: Mutex::new(File::open(&path).map_err(unread)?) });
        Ok(Self { path, file, kept, keys, places, end, reader, older, is_dirty: false, _directory: directory })
    }

    /// Begins the journal of `plan` beside the one in the directory of `output`, if one is there: it takes its place
    /// when all is in it, and until then nothing that is there is lost.
    ///
    /// # Errors
    ///
    /// As [`Journal::open`].
    pub(super) fn beside(output: &Output, header: &Header, plan: &Plan) -> Result<(Self, Part), OutputError> {
        let path = output.path(Self::NAME);
        let keys = plan.keys().map_err(|fault| at(&path, 0, fault.to_string()))?;
        let io = |source| OutputError::Io { path: path.clone(), source };
        let directory = lock_directory(output, plan)?;
        let older = OlderFiles::of(output);
        room::check(output, plan, header.has_captures(), (&older, false))?;
        let text = sealed("journal", header, &path)?;
        let mut part = output.part(Self::NAME)?;
        part.file.write_all(text.as_bytes()).map_err(io)?;
        let file = part.file.try_clone().map_err(io)?;
        let reader = Arc::new(Reader { path: path.clone(), file: Mutex::new(part.reader()?) });
        let end = text.len() as u64;
        let (kept, places) = (BTreeMap::new(), BTreeMap::new());
        Ok((Self { path, file, kept, keys, places, end, reader, older, is_dirty: true, _directory: directory }, part))
    }

    /// Whether [`Journal::open`] would refuse the directory of `output` for what is in the place of captures and
    /// figures, or may not be written there.
    ///
    /// # Errors
    ///
    /// [`OutputError::Io`] where it would.
    pub fn look_for_room(output: &Output, header: &Header, plan: &Plan, resume: bool) -> Result<(), OutputError> {
        plain(&output.path(Self::NAME))?;
        room::check(output, plan, header.has_captures(), (&OlderFiles::of(output), resume))
    }

    /// What is in the journal in `directory` that a run with `resume` would not run again: the place in the plan, and
    /// how long it took. Nothing where there is no journal; nothing is made, written or locked.
    ///
    /// # Errors
    ///
    /// [`OutputError`] as [`Journal::open`] has it, where it cannot be gone on with.
    pub fn look(directory: &Path, header: &Header, plan: &Plan) -> Result<BTreeMap<usize, Duration>, OutputError> {
        let path = directory.join(Self::NAME);
        if !path.exists() {
            refuse_rows(directory)?;
            return Ok(BTreeMap::new());
        }
        let keys = plan.keys().map_err(|fault| at(&path, 0, fault.to_string()))?;
        let found = kept_in(&path, header, &keys)?;
        if found.is_none() {
            refuse_rows(directory)?;
        }
        let mut kept = found.unwrap_or_default();
        kept.retain(|_, entry| entry.has_captures(directory));
        Ok(kept.into_iter().map(|(place, entry)| (place, Duration::from_millis(entry.took_ms))).collect())
    }

    /// Takes away what the older result in the directory has left, in whose place this one comes, but for the files of
    /// `kept`.
    ///
    /// # Errors
    ///
    /// [`OutputError::Io`] where the file system refuses.
    pub fn replace(&mut self, output: &Output, kept: &BTreeSet<String>) -> Result<(), OutputError> {
        std::mem::take(&mut self.older).remove(output, kept)
    }

    /// Whether it had the point at this place of the plan.
    #[must_use]
    pub fn has(&self, place: usize) -> bool {
        self.kept.contains_key(&place)
    }

    /// How many points it had.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Takes the journal away, and what `run.json` says of it: there is nothing in it that anybody would go on with.
    ///
    /// # Errors
    ///
    /// [`OutputError::Io`] where the file system refuses.
    pub fn discard(self) -> Result<(), OutputError> {
        let run = self.path.with_file_name(Output::RUN);
        for path in [run, self.path] {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(OutputError::Io { path, source });
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Takes what was in it, by the place of the point in the plan. Points that failed are not among it: they are run
    /// again.
    pub(super) fn take_kept(&mut self) -> BTreeMap<usize, Entry> {
        std::mem::take(&mut self.kept)
    }

    /// The key of the point at `place` in the plan.
    pub(super) fn key(&self, place: usize) -> String {
        self.keys.get(place).cloned().unwrap_or_default()
    }

    /// Adds a point that has ended, and says where. It is there for whoever reads the file from now on;
    /// [`Journal::sync`] has it survive the machine, too.
    pub(super) fn add(&mut self, entry: &Entry) -> Result<Stored, OutputError> {
        let line = sealed("point", entry, &self.path)?;
        self.is_dirty = true;
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|source| OutputError::Io { path: self.path.clone(), source })?;
        let stored = self.place(self.end, line.len());
        self.end += line.len() as u64;
        Ok(stored)
    }

    /// Where the point at `place` in the plan is, where it was there when the journal was opened.
    pub(super) fn stored(&self, place: usize) -> Option<Stored> {
        self.places.get(&place).map(|(at, len)| self.place(*at, *len))
    }

    fn place(&self, at: u64, len: usize) -> Stored {
        Stored { reader: Arc::clone(&self.reader), at, len }
    }

    /// Returns when everything that was added is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), OutputError> {
        if !std::mem::take(&mut self.is_dirty) {
            return Ok(());
        }
        self.file.sync_data().map_err(|source| OutputError::Io { path: self.path.clone(), source })
    }
}

/// That nobody else writes results into the directory. A journal is put in its place by a rename, so that of two that
/// begin at once each could lock its own: the directory is the same for both. Where directories cannot be locked, as on
/// some network file systems, nobody asks.
fn lock_directory(output: &Output, plan: &Plan) -> Result<Option<File>, OutputError> {
    let Ok(directory) = File::open(output.directory()) else {
        return Ok(None);
    };
    let lock = directory.try_lock();
    if matches!(lock, Err(TryLockError::WouldBlock)) {
        return Err(OutputError::Io { path: output.path(Journal::NAME), source: busy() });
    }
    // Another one may have come and gone since the directory was looked at.
    output.refuse_results()?;
    if lock.is_ok() {
        output.remove_parts(&plan.names().collect::<Vec<_>>());
    }
    Ok(Some(directory))
}

fn busy() -> io::Error {
    io::Error::new(
        io::ErrorKind::ResourceBusy,
        "another process is writing it; wait for its end, or give another --out",
    )
}

/// That nobody else writes it. Where files cannot be locked, nobody asks.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(busy()),
        Err(TryLockError::Error(why)) if why.kind() != io::ErrorKind::Unsupported => Err(why),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Those in the journal at `path` that are of the plan with `keys`, by their place in it; nothing where no line of it
/// is whole: nothing had ended then.
fn kept_in(path: &Path, header: &Header, keys: &[String]) -> Result<Option<BTreeMap<usize, Entry>>, OutputError> {
    plain(path)?;
    let octets = fs::read(path).map_err(|source| OutputError::Unread { path: path.to_owned(), source })?;
    if !octets.contains(&b'\n') && (octets.starts_with(BEGINNING) || BEGINNING.starts_with(&octets)) {
        return Ok(None);
    }
    kept(&parse(&octets, path)?, header, keys, path).map(Some)
}

/// Those of `content` that are of the plan with `keys`, by their place in it.
fn kept(
    content: &Content,
    header: &Header,
    keys: &[String],
    path: &Path,
) -> Result<BTreeMap<usize, Entry>, OutputError> {
    let mut kept: BTreeMap<usize, Entry> = BTreeMap::new();
    for (line, place, entry) in places(content, header, keys, path)? {
        put(&mut kept, place, entry).map_err(|why| at(path, line, why))?;
    }
    kept.retain(|_, entry| entry.failed.is_none());
    Ok(kept)
}

/// The points of `content` with their lines and their places in the plan with `keys`, all of which have to be of it.
pub(super) fn places<'a>(
    content: &'a Content,
    header: &Header,
    keys: &[String],
    path: &Path,
) -> Result<Vec<(usize, usize, &'a Entry)>, OutputError> {
    if let Some(why) = content.header.differs(header) {
        return Err(at(path, 1, why));
    }
    if content.header.shard != header.shard {
        let (theirs, ours) = (content.header.shard, header.shard);
        return Err(at(path, 1, format!("it is of shard {theirs}, and not of shard {ours}")));
    }
    let places: BTreeMap<&str, usize> = keys.iter().enumerate().map(|(place, key)| (key.as_str(), place)).collect();
    let entries = content.entries.iter().map(|(line, entry)| {
        let place = places.get(entry.key.as_str()).copied().filter(|place| header.shard.has(*place));
        Ok((*line, place.ok_or_else(|| at(path, *line, foreign(entry, (&content.header, header))))?, entry))
    });
    entries.collect()
}

/// That the point of `entry`, which is of `theirs`, is none of those of `ours`, which are run, and what has changed.
pub(super) fn foreign(entry: &Entry, (theirs, ours): (&Header, &Header)) -> String {
    let Entry { scenario, point, .. } = entry;
    let why = theirs.changed(ours, scenario);
    let why = why.unwrap_or_else(|| "a profile has changed, or another file that the scenario names".to_owned());
    format!("point {point} of {scenario} is not among those that are to be run: {why}")
}

/// Puts `entry` where it belongs. A point that has failed may have been run again.
///
/// # Errors
///
/// In words, where the point is there with other results.
pub(super) fn put(entries: &mut BTreeMap<usize, Entry>, place: usize, entry: &Entry) -> Result<(), String> {
    if let Some(before) = entries.get(&place).filter(|it| it.failed.is_none() && !it.is_same(entry)) {
        let Entry { scenario, point, .. } = before;
        return Err(format!("point {point} of {scenario} is there already, with other results"));
    }
    entries.insert(place, entry.clone());
    Ok(())
}

/// Reads a journal; a torn last line is passed over.
pub(super) fn read(path: &Path) -> Result<Content, OutputError> {
    plain(path)?;
    let octets = fs::read(path).map_err(|source| OutputError::Unread { path: path.to_owned(), source })?;
    parse(&octets, path)
}

/// That `path` is no pipe, for which one would wait for ever, and nothing of that kind.
fn plain(path: &Path) -> Result<(), OutputError> {
    let is_other = |found: fs::Metadata| !found.is_file() && !found.is_dir();
    if fs::metadata(path).is_ok_and(is_other) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file");
        return Err(OutputError::Unread { path: path.to_owned(), source });
    }
    Ok(())
}

/// Reads the octets of a journal, that of `path`; a torn last line is passed over.
pub(super) fn parse(octets: &[u8], path: &Path) -> Result<Content, OutputError> {
    let mut lines: Vec<&[u8]> = octets.split_inclusive(|octet| *octet == b'\n').collect();
    // The header was written before the file had its name.
    let is_torn = |line: &&[u8]| opened("point", line).is_err() && !is_of_another_kind(line);
    if lines.len() > 1 {
        lines.pop_if(|line| is_torn(&&**line));
    }
    let mut lines = lines.into_iter();
    let wrong = |why: &str| at(path, 1, format!("{why}, and a journal begins with what is run; {ANEW}"));
    let first = lines.next().ok_or_else(|| wrong("it is empty"))?;
    let header: Header = value("journal", first).map_err(|why| wrong(&why))?;
    if header.format != FORMAT {
        let format = header.format;
        return Err(at(path, 1, format!("a journal of form {format}, where this program knows form {FORMAT}")));
    }
    let entries = (2..).zip(lines).map(|(line, text)| match value("point", text) {
        Ok(entry) => Ok((line, entry)),
        Err(why) => Err(at(path, line, format!("{why}; {WITHOUT}"))),
    });
    Ok(Content { header, entries: entries.collect::<Result<_, _>>()? })
}

/// Whether a line is whole, but no point.
fn is_of_another_kind(line: &[u8]) -> bool {
    opened("journal", line).is_ok()
}

/// A journal with these points.
pub(super) fn text<'a>(
    header: &Header,
    entries: impl Iterator<Item = &'a Entry>,
    path: &Path,
) -> Result<String, OutputError> {
    let mut text = sealed("journal", header, path)?;
    for entry in entries {
        text.push_str(&sealed("point", entry, path)?);
    }
    Ok(text)
}

/// A line: what `value` is, and the hash of its text.
fn sealed(kind: &str, value: &impl Serialize, path: &Path) -> Result<String, OutputError> {
    let text =
        serde_json::to_string(value).map_err(|why| at(path, 0, format!("a {kind} has no form as text: {why}")))?;
    Ok(format!("{{\"sha256\":\"{}\",\"{kind}\":{text}}}\n", sha256(text.as_bytes())))
}

/// The text of the value in a line of this kind.
fn opened<'a>(kind: &str, line: &'a [u8]) -> Result<&'a str, String> {
    let damaged = || "the line is damaged".to_owned();
    let line = core::str::from_utf8(line).map_err(|_| damaged())?;
    let line = line.strip_suffix("}\n").ok_or_else(damaged)?;
    let (hash, rest) =
        line.strip_prefix("{\"sha256\":\"").and_then(|it| it.split_at_checked(64)).ok_or_else(damaged)?;
    let text = rest.strip_prefix(&format!("\",\"{kind}\":")).ok_or_else(|| format!("the line is no {kind}"))?;
    if sha256(text.as_bytes()) == hash { Ok(text) } else { Err(damaged()) }
}

fn value<T: for<'de> Deserialize<'de>>(kind: &str, line: &[u8]) -> Result<T, String> {
    let text = opened(kind, line)?;
    // What was written by this program can be read by it; a hash that fits all the same says who wrote it.
    serde_json::from_str(text).map_err(|why| format!("the line is whole, but of another version: {}", json_words(&why)))
}

pub(super) fn at(path: &Path, line: usize, why: impl Into<String>) -> OutputError {
    OutputError::Journal { path: path.to_owned(), line, why: why.into() }
}
