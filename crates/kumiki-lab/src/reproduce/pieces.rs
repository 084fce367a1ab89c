//! What points have brought, in memory: to go from one process to another, or to be written later.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use super::done::PointResult;
use super::journal::{self, Entry, Header, Journal};
use super::key;
use super::merge::write;
use super::shard::Shard;
use super::{Plan, Results};
use crate::rows::{Output, OutputError};
use crate::scenario::ConfigError;

/// How messages name a journal that is no file.
const SENT: &str = "what a worker sent";

/// The points of a plan that have ended, whoever ran them.
#[derive(Clone, Debug)]
pub struct Pieces {
    header: Header,
    keys: Arc<[String]>,
    /// By the place of the point in the plan.
    entries: BTreeMap<usize, Entry>,
    /// Captures by their names below the directory of results.
    files: BTreeMap<String, Vec<u8>>,
}

impl Pieces {
    /// None yet of `plan`, whose header says what is run.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where a profile cannot be read again.
    pub fn new(header: Header, plan: &Plan) -> Result<Self, ConfigError> {
        Ok(Self { header, keys: plan.keys()?.into(), entries: BTreeMap::new(), files: BTreeMap::new() })
    }

    /// None yet of the same plan.
    #[must_use]
    pub fn empty(&self) -> Self {
        let (header, keys) = (self.header.clone(), Arc::clone(&self.keys));
        Self { header, keys, entries: BTreeMap::new(), files: BTreeMap::new() }
    }

    /// SHA-256 over the keys of the points, in hexadecimal: over everything that their rows depend on, what profiles
    /// said as they were read among it.
    #[must_use]
    pub fn digest(&self) -> String {
        key::sha256(self.keys.join("\n").as_bytes())
    }

    /// The places in the plan of the points that have ended and did not fail.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.ended().map(|(place, _)| place)
    }

    /// The captures, by their names below the directory of results.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, octets)| (name.as_str(), octets.as_slice()))
    }

    /// Every capture; those that are not in memory are read from `directory`.
    ///
    /// # Errors
    ///
    /// [`OutputError::Unread`] where one cannot be read, or is not in memory and there is no `directory`.
    pub fn captures(&self, directory: Option<&Path>) -> Result<Vec<(String, Vec<u8>)>, OutputError> {
        let names = self.entries.values().flat_map(|entry| &entry.captures);
        names.map(|name| Ok((name.clone(), self.capture(name, directory)?))).collect()
    }

    fn capture(&self, name: &str, directory: Option<&Path>) -> Result<Vec<u8>, OutputError> {
        if let Some(octets) = self.files.get(name) {
            return Ok(octets.clone());
        }
        let Some(directory) = directory else {
            // A path below no directory would be one below wherever the process happens to be.
            let source = io::Error::new(io::ErrorKind::NotFound, "not in memory, and in no directory that is known");
            return Err(OutputError::Unread { path: name.into(), source });
        };
        let path = directory.join(name);
        fs::read(&path).map_err(|source| OutputError::Unread { path, source })
    }

    /// Takes what was in a journal before, of which nothing is run again.
    pub fn take(&mut self, journal: &mut Journal) {
        self.entries.extend(journal.take_kept());
    }

    /// Says that the point at `place` in the plan failed elsewhere, and why.
    ///
    /// # Errors
    ///
    /// [`OutputError`] where `journal` cannot be written.
    pub fn fail(
        &mut self,
        plan: &Plan,
        place: usize,
        why: &str,
        journal: Option<&mut Journal>,
    ) -> Result<(), OutputError> {
        let Some((part, point)) = plan.at(place) else {
            return Ok(());
        };
        let entry = Entry {
            key: self.key(place),
            scenario: part.name.clone(),
            point: point.index,
            label: point.label(),
            took_ms: 0,
            captures: Vec::new(),
            octets: Vec::new(),
            failed: Some(why.to_owned()),
            runs: Vec::new(),
        };
        if let Some(journal) = journal {
            journal.add(&entry)?;
        }
        self.put(place, entry);
        Ok(())
    }

    /// The points as a journal.
    ///
    /// # Errors
    ///
    /// [`OutputError`] where a row has no form as text.
    pub fn to_journal(&self) -> Result<String, OutputError> {
        journal::text(&self.header, self.entries.values(), Path::new(SENT))
    }

    /// Adds the points of a journal that another process sent, with its captures; tells the places in the plan of those
    /// that have come. They are kept in `to` as well, where it is given, and captures there alone.
    ///
    /// # Errors
    ///
    /// [`OutputError::Journal`] where it is damaged, of something else, or has a point that is here with other results;
    /// other errors where `to` cannot be written.
    pub fn add(
        &mut self,
        text: &str,
        files: impl IntoIterator<Item = (String, Vec<u8>)>,
        to: Option<(&Output, &mut Journal)>,
    ) -> Result<Vec<usize>, OutputError> {
        let path = Path::new(SENT);
        let content = journal::parse(text.as_bytes(), path)?;
        let new = journal::places(&content, &self.header, &self.keys, path)?;
        for (line, place, entry) in &new {
            journal::put(&mut self.entries, *place, entry).map_err(|why| journal::at(path, *line, why))?;
        }
        if let Some((output, journal)) = to {
            for (name, octets) in files {
                output.write_capture(&name, &octets.into())?;
            }
            for (_, _, entry) in &new {
                journal.add(entry)?;
            }
            journal.sync()?;
        } else {
            self.put_files(files);
        }
        Ok(new.into_iter().map(|(_, place, _)| place).collect())
    }

    /// What the points say together. Points that are not here were [left](Results::left).
    #[must_use]
    pub fn results(&self, plan: &Plan) -> Vec<Results> {
        let done = |(place, entry): (&usize, &Entry)| {
            let (_, point) = plan.at(*place)?;
            Some((*place, PointResult::of_entry(point, entry.clone())))
        };
        plan.results(self.entries.iter().filter_map(done).collect(), Shard::WHOLE)
    }

    /// Writes a journal of the points and their captures, as if they were run there. Captures that are not in memory
    /// are read from `directory`.
    ///
    /// # Errors
    ///
    /// [`OutputError`] where that is not possible.
    pub fn write(&self, plan: &Plan, output: &Output, directory: Option<&Path>) -> Result<Vec<Results>, OutputError> {
        let read = |name: &str| self.capture(name, directory);
        let entries = self.entries.iter().map(|(place, entry)| (*place, entry.clone(), read));
        write(plan, &self.header, entries, output)
    }

    pub(super) fn ended(&self) -> impl Iterator<Item = (usize, &Entry)> {
        let ended = self.entries.iter().filter(|(_, entry)| entry.failed.is_none());
        ended.map(|(place, entry)| (*place, entry))
    }

    pub(super) fn key(&self, place: usize) -> String {
        self.keys.get(place).cloned().unwrap_or_default()
    }

    pub(super) fn put(&mut self, place: usize, entry: Entry) {
        self.entries.insert(place, entry);
    }

    pub(super) fn put_files(&mut self, files: impl IntoIterator<Item = (String, Vec<u8>)>) {
        self.files.extend(files);
    }
}
