//! What was collected: a file of JSON Lines that grows by one for each file that has come.
//!
//! The first line says whose it is: `{"place": ...}`. Each line behind it is one file, in the order in which they came;
//! of two with the same name the later one counts. A line with `since` is of a file that was seen and not fetched, for
//! it may still grow: what was said of it, and since when that is so. A line is written and synchronised when the file
//! that it tells of is in its place. What a crash has left of a line has no end, and says nothing. The first that is
//! kept or held in a run, or deleted at the responder, has all of it written again, synchronised and renamed; so has
//! opening one with many lines that count no more.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::disk::{Disk, Errno, OFlags, Synced, System};
use crate::osi::ReadAttributes;
use serde_json::{Value, json};

use crate::attributes;
use crate::local::{directory_of, path_shown};

/// So many lines more than files are no reason to write it again.
const SPARE: usize = 1000;

/// Octets that are written at a time.
const PIECE: usize = 64 * 1024;

/// A file as it was when it was fetched.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Entry {
    /// What the responder said of it.
    pub(super) size: Option<u64>,
    pub(super) modified: Option<String>,
    /// What came.
    pub(super) bytes: u64,
    pub(super) sha256: String,
    /// Its name here.
    pub(super) local: String,
}

/// A file that was seen and not fetched.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct UnfetchedFile {
    /// What the responder said of it.
    pub(super) size: Option<u64>,
    pub(super) modified: Option<String>,
    /// Since when it says so, in seconds since 1970 by the clock here.
    pub(super) since: u64,
}

impl UnfetchedFile {
    fn of(value: &Value) -> Option<Self> {
        Some(Self {
            size: value.get("size").and_then(Value::as_u64),
            modified: value.get("modified").and_then(Value::as_str).map(str::to_owned),
            since: value.get("since")?.as_u64()?,
        })
    }

    /// Its line, with the name that it has at the responder.
    fn line(&self, name: &str) -> String {
        let value = json!({
            "name": name,
            "size": self.size,
            "modified": self.modified,
            "since": self.since,
        });
        format!("{value}\n")
    }
}

impl Entry {
    fn of(value: &Value) -> Option<Self> {
        let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
        Some(Self {
            size: value.get("size").and_then(Value::as_u64),
            modified: text("modified"),
            bytes: value.get("bytes")?.as_u64()?,
            sha256: text("sha256")?,
            local: text("local")?,
        })
    }

    /// Whether the responder says something else of it now. What it does not say each time is no sign of that.
    pub(super) fn has_changed(&self, attributes: &ReadAttributes) -> bool {
        let size = self.size.zip(attributes::size(attributes));
        let modified = self.modified.as_ref().zip(attributes::modified(attributes));
        size.is_some_and(|(old, new)| old != new) || modified.is_some_and(|(old, new)| *old != new)
    }

    /// Its line, with the name that it has at the responder.
    fn line(&self, name: &str) -> String {
        let value = json!({
            "name": name,
            "size": self.size,
            "modified": self.modified,
            "bytes": self.bytes,
            "sha256": self.sha256,
            "local": self.local,
        });
        format!("{value}\n")
    }
}

/// Why a state is not opened while another process has it.
const LOCKED: &str = "another collection is in progress";

/// What was fetched.
#[derive(Debug)]
pub(super) struct State<D: Disk = System> {
    disk: D,
    path: PathBuf,
    pub(super) place: String,
    files: BTreeMap<String, Entry>,
    /// Their names in the order in which they came.
    order: BTreeMap<u64, String>,
    /// The place of each in that order.
    places: BTreeMap<String, u64>,
    held: BTreeMap<String, UnfetchedFile>,
    /// None before the first line is written; with its size.
    file: Option<(D::File, u64)>,
    /// Two collections at once would forget what the other has fetched.
    _lock: D::File,
}

impl State {
    /// That of `path` on the disk of this machine.
    #[cfg(test)]
    fn open(path: &Path, place: &str) -> Result<Self, String> {
        let mut opened = None;
        kumiki_watchdog::until(|| match Self::open_on(System, path, place) {
            // Until its own program begins, a process that a test beside this one starts has the descriptors of this
            // one, and with them the lock.
            Err(why) if why.ends_with(LOCKED) => false,
            other => {
                opened = Some(other);
                true
            }
        });
        opened.unwrap_or_else(|| Self::open_on(System, path, place))
    }
}

impl<D: Disk> State<D> {
    /// That of `path`, or an empty one where there is none.
    pub(super) fn open_on(disk: D, path: &Path, place: &str) -> Result<Self, String> {
        let said = |why: &dyn core::fmt::Display| format!("{}: {why}", path_shown(path));
        let mut lock_path = path.as_os_str().to_owned();
        lock_path.push(".lock");
        // It may be anything that is called so: nothing is written to it.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let lock = disk.open(None, Path::new(&lock_path), flags, 0o666);
        let lock = lock.map_err(|why| said(&why))?;
        disk.lock(&lock).map_err(|_| said(&LOCKED))?;
        let mut state = Self {
            disk,
            path: path.to_owned(),
            place: place.to_owned(),
            files: BTreeMap::new(),
            order: BTreeMap::new(),
            places: BTreeMap::new(),
            held: BTreeMap::new(),
            file: None,
            _lock: lock,
        };
        let text = match state.disk.read_whole(None, path) {
            Ok(octets) => String::from_utf8(octets).map_err(|why| said(&why))?,
            Err(Errno::NOENT) => return Ok(state),
            Err(why) => return Err(said(&why)),
        };
        // Behind the last end of a line is what a crash has left of one.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let lines = text.get(..whole).unwrap_or_default().lines();
        let count = state.read(lines).map_err(|why| said(&why))?;
        if count > 2 * (state.files.len() + state.held.len()) + SPARE {
            state.write_again().map_err(|why| said(&why))?;
        }
        Ok(state)
    }

    /// Takes its lines; gives how many there are.
    fn read<'a>(&mut self, mut lines: impl Iterator<Item = &'a str>) -> Result<usize, String> {
        let bad = |at: usize| {
            format!("line {at}: this is no state of a collection; name another with --state, or move it away")
        };
        let value = |line: &str| serde_json::from_str::<Value>(line).ok();
        let first = lines.next().and_then(value).ok_or_else(|| bad(1))?;
        let of = first.get("place").and_then(Value::as_str);
        let of = of.ok_or_else(|| bad(1))?;
        if of != self.place {
            return Err(format!("this is the state of {of}, and not of {}; name another with --state", self.place));
        }
        let mut count = 0;
        for line in lines {
            count += 1;
            let value = value(line).ok_or_else(|| bad(count + 1))?;
            let name = value.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| bad(count + 1))?;
            if let Some(held) = UnfetchedFile::of(&value) {
                self.held.insert(name.to_owned(), held);
                continue;
            }
            let entry = Entry::of(&value).ok_or_else(|| bad(count + 1))?;
            self.enter(name, entry);
        }
        Ok(count)
    }

    /// What is known of the file with this name at the responder.
    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.files.get(name)
    }

    /// Names of what was fetched, in the order in which it came; of what came twice the last time counts.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.order.values().map(String::as_str)
    }

    /// What was seen of a file that is not fetched yet.
    pub(super) fn held(&self, name: &str) -> Option<&UnfetchedFile> {
        self.held.get(name)
    }

    /// Files were seen and may still grow.
    pub(super) fn hold(&mut self, all: Vec<(String, UnfetchedFile)>) -> Result<(), String> {
        if all.is_empty() {
            return Ok(());
        }
        let lines: String = all.iter().map(|(name, held)| held.line(name)).collect();
        self.held.extend(all);
        self.write(&lines)
    }

    fn enter(&mut self, name: &str, entry: Entry) {
        self.held.remove(name);
        self.files.insert(name.to_owned(), entry);
        let place = self.order.last_key_value().map_or(0, |(last, _)| last + 1);
        if let Some(before) = self.places.insert(name.to_owned(), place) {
            self.order.remove(&before);
        }
        self.order.insert(place, name.to_owned());
    }

    /// All that was fetched, by its name at the responder.
    pub(super) const fn files(&self) -> &BTreeMap<String, Entry> {
        &self.files
    }

    /// What is known is on the disk when this is done, also what an earlier run has left: where that could not
    /// synchronise a line the system counts it as written all the same, and only what is written once more is written.
    pub(super) fn secure(&mut self) -> Result<(), String> {
        if self.file.is_some() || self.files.is_empty() {
            return Ok(());
        }
        let done = self.write_again();
        done.map_err(|why| format!("{}: {why}", path_shown(&self.path)))
    }

    /// A file is in its place. Gives its line, which is to be written.
    pub(super) fn note(&mut self, name: &str, entry: Entry) -> String {
        let line = entry.line(name);
        self.enter(name, entry);
        line
    }

    /// Adds lines, which are on the disk when this is done. Where none was written in this run yet, all that is known
    /// is written again.
    pub(super) fn write(&mut self, lines: &str) -> Result<(), String> {
        let done = match &mut self.file {
            Some((file, size)) => {
                let written = self.disk.write_all(file, lines.as_bytes(), *size);
                *size = size.saturating_add(lines.len() as u64);
                let done = written.and_then(|()| self.disk.sync(file, Synced::Data));
                done.map_err(io::Error::from)
            }
            None => self.write_again(),
        };
        done.map_err(|why| format!("{}: {why}", path_shown(&self.path)))
    }

    /// Writes all of it, or nothing.
    fn write_again(&mut self) -> io::Result<()> {
        let mut new = self.path.as_os_str().to_owned();
        new.push(".kumiki-new");
        // What a crash has left: nobody else writes it behind the lock.
        let new = Path::new(&new);
        match self.disk.remove(None, new, false) {
            Err(why) if why != Errno::NOENT => return Err(why.into()),
            Ok(()) | Err(_) => {}
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = self.disk.open(None, new, flags, 0o666)?;
        let mut text = format!("{}\n", json!({ "place": self.place }));
        let mut size = 0_u64;
        let kept = self.names().filter_map(|name| Some(self.files.get(name)?.line(name)));
        let held = self.held.iter().map(|(name, held)| held.line(name));
        for line in kept.chain(held) {
            text.push_str(&line);
            if text.len() >= PIECE {
                self.disk.write_all(&file, text.as_bytes(), size)?;
                size = size.saturating_add(text.len() as u64);
                text.clear();
            }
        }
        self.disk.write_all(&file, text.as_bytes(), size)?;
        size = size.saturating_add(text.len() as u64);
        self.disk.sync(&file, Synced::All)?;
        self.disk.rename((None, new), (None, &self.path), true)?;
        self.disk.sync_directory(directory_of(&self.path))?;
        self.file = Some((file, size));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use crate::osi::{Attribute, GeneralizedTime};
    use proptest::prelude::*;

    use super::*;

    fn entries() -> impl Strategy<Value = Vec<(String, Entry)>> {
        let entry = any::<(Option<u64>, Option<String>, u64, String, String)>();
        let entry =
            entry.prop_map(|(size, modified, bytes, sha256, local)| Entry { size, modified, bytes, sha256, local });
        prop::collection::vec(("[a-c\"\n]{0,2}", entry), 0..5)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_state_is_read_as_it_was_written(
            files in entries(), more in entries(), place: String, left in "[^\n]{0,9}",
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("state");
            let open = |place: &str| State::open(&path, place);
            let mut all = BTreeMap::new();
            for part in [files, more] {
                let mut state = open(&place).ok().unwrap();
                for (name, entry) in part {
                    let line = state.note(&name, entry.clone());
                    state.write(&line).unwrap();
                    all.insert(name, entry);
                }
                drop(state);
                let read = open(&place).ok().unwrap();
                prop_assert_eq!(read.files(), &all);
                drop(read);
                if path.exists() {
                    // A crash in the middle of a line.
                    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
                    file.write_all(left.as_bytes()).unwrap();
                }
            }
            let other = place + "x";
            prop_assert_eq!(open(&other).is_err(), path.exists());
        }

        #[test]
        fn what_is_no_state_is_refused_and_stays_as_it_is(
            text in prop_oneof![
                any::<Vec<u8>>(),
                r#"\{"place": ("p"|1)\}\n(\[\]|1|\{"name": "a"\}|\{"name": "a", "bytes": -1, "sha256": "", "local": ""\})\n"#
                    .prop_map(String::into_bytes),
            ],
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("state");
            std::fs::write(&path, &text).unwrap();
            prop_assert!(State::open(&path, "p").is_err());
            prop_assert_eq!(std::fs::read(&path).unwrap(), text);
        }
    }

    #[test]
    fn files_of_another_that_are_called_like_those_of_a_state_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let others = [folder.path().join("state.lock"), folder.path().join("state.new")];
        for other in &others {
            std::fs::write(other, b"mine").unwrap();
        }
        let mut state = State::open(&path, "p").ok().unwrap();
        let line = state.note("a", Entry::default());
        state.write(&line).unwrap();
        for other in &others {
            assert_eq!(std::fs::read(other).unwrap(), b"mine");
        }
    }

    #[test]
    fn lines_that_count_no_more_go_when_there_are_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let open = || State::open(&path, "p").ok().unwrap();
        let mut state = open();
        let line = state.note("a", Entry::default());
        state.write(&line).unwrap();
        drop(state);
        let mut text = std::fs::read_to_string(&path).unwrap();
        let line = text.lines().nth(1).unwrap().to_owned() + "\n";
        text.push_str(&line.repeat(SPARE + 10));
        std::fs::write(&path, text).unwrap();
        let mut state = open();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
        let line = state.note("b", Entry::default());
        state.write(&line).unwrap();
        drop(state);
        assert_eq!(open().files().len(), 2);
    }

    #[test]
    fn what_has_another_size_or_date_by_now_has_changed() {
        let said = |size: Option<u64>, modified: Option<&str>| ReadAttributes {
            size: size.map(Attribute::Actual),
            modified: modified.map(|it| GeneralizedTime::written(it.as_bytes()).into()),
            ..ReadAttributes::default()
        };
        let (date, later) = ("20260101000000Z", "20260101000001Z");
        let known = said(Some(3), Some(date));
        let entry =
            Entry { size: attributes::size(&known), modified: attributes::modified(&known), ..Entry::default() };
        assert!(!entry.has_changed(&known));
        assert!(entry.has_changed(&said(Some(4), Some(date))));
        assert!(entry.has_changed(&said(Some(3), Some(later))));
        // What is not said says nothing.
        assert!(!entry.has_changed(&said(None, None)));
        assert!(entry.has_changed(&said(Some(4), None)));
        assert!(!Entry::default().has_changed(&known));
    }
}
