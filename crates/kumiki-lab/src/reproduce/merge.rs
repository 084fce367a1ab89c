//! One result of the journals of several shards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use kumiki_octets::text::counted;

use super::journal::{self, Content, Entry, Header, Journal};
use super::run::done;
use super::shard::Shard;
use super::{Failure, Outcome, Plan, Results, Runner};
use crate::capture::Contents;
use crate::rows::{Output, OutputError};
use crate::scenario::Point;
use kumiki_config::refusal::{self, Access};

/// What shards have brought together.
#[derive(Debug)]
pub struct Merged {
    plan: Plan,
    header: Header,
    /// By place in the plan: in which directory, and what.
    entries: BTreeMap<usize, (PathBuf, Entry)>,
}

/// Points are not run here, and were checked where they were.
struct NoRunner;

impl Runner for NoRunner {
    fn run(&self, _: &Point) -> Result<Outcome, Failure> {
        Err("nothing is run to merge results".into())
    }
}

/// Why there is no journal to be read in a directory.
fn unusable(directory: &Path, journal: &Path) -> Option<String> {
    match fs::metadata(directory) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Some("there is no such directory".to_owned()),
        Err(why) => return Some(refusal::words(directory, &why, Access::Read)),
        Ok(found) if !found.is_dir() => return Some("it is no directory".to_owned()),
        Ok(_) => {}
    }
    match fs::metadata(journal) {
        Ok(found) if found.is_file() => None,
        Err(why) if why.kind() != io::ErrorKind::NotFound => Some(refusal::words(journal, &why, Access::Read)),
        Ok(_) | Err(_) => Some("no journal in it".to_owned()),
    }
}

impl Merged {
    /// Reads the journals in these directories and puts them together. Every point has to be in one of them, with its
    /// captures as they were written: nothing is to be written or replaced before it is known that all is there.
    ///
    /// # Errors
    ///
    /// [`OutputError`] with the file, and the line where it is about one: what is missing, of something else than the
    /// first, or there twice with different content; or cannot be read, or is cut off.
    pub fn read(directories: &[PathBuf]) -> Result<Self, OutputError> {
        let mut contents: Vec<(&Path, PathBuf, Content)> = Vec::new();
        for directory in directories {
            let path = directory.join(Journal::NAME);
            if let Some(why) = unusable(directory, &path) {
                return Err(journal::at(directory, 0, format!("{why}; expected one that `run --shard` has left")));
            }
            let content = journal::read(&path)?;
            if let Some((_, first, before)) = contents.first()
                && let Some(why) = content.header.differs(&before.header).or_else(|| texts(&content, before))
            {
                return Err(journal::at(&path, 1, format!("{why}, as {} is", first.display())));
            }
            contents.push((directory, path, content));
        }
        let Some((_, first, content)) = contents.first() else {
            return Err(journal::at(Path::new(Journal::NAME), 0, "no directory is given"));
        };
        let header = content.header.clone();
        let wrong = |why: String| journal::at(first, 1, why);
        let (documents, choice) = header.plan().map_err(|fault| wrong(fault.to_string()))?;
        let plan = Plan::new(&documents, &choice, &NoRunner).map_err(|fault| wrong(fault.to_string()))?;
        let keys = plan.keys().map_err(|fault| wrong(fault.to_string()))?;
        let places: BTreeMap<&str, usize> = keys.iter().enumerate().map(|(place, key)| (key.as_str(), place)).collect();
        let mut entries = BTreeMap::new();
        let mut froms: BTreeMap<usize, (&Path, &Path, usize)> = BTreeMap::new();
        for (directory, path, content) in &contents {
            for (line, entry) in &content.entries {
                let place = places.get(entry.key.as_str()).copied();
                let place = place.filter(|place| content.header.shard.has(*place));
                let place = place
                    .ok_or_else(|| journal::at(path, *line, journal::foreign(entry, (&content.header, &header))))?;
                journal::put(&mut entries, place, entry).map_err(|why| {
                    let (_, other, line_there) = froms.get(&place).copied().unwrap_or((path, path, 0));
                    journal::at(path, *line, format!("{why}, in {}:{line_there}", other.display()))
                })?;
                froms.insert(place, (directory, path, *line));
            }
        }
        complete(&plan, &entries, &contents)?;
        let of = |(place, entry): (usize, Entry)| {
            let directory = froms.get(&place).map(|(directory, ..)| directory.to_path_buf());
            (place, (directory.unwrap_or_default(), entry))
        };
        let entries: BTreeMap<usize, (PathBuf, Entry)> = entries.into_iter().map(of).collect();
        for (directory, entry) in entries.values() {
            entry.lengths().try_for_each(|(name, written)| whole(&directory.join(name), written))?;
        }
        Ok(Self { plan, header: header.of_all(), entries })
    }

    /// What was run.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Writes one journal of all to `output`, copies the captures there, and gives the results as if they had been run
    /// at once.
    ///
    /// # Errors
    ///
    /// [`OutputError`] where that cannot be written, or a capture cannot be read.
    pub fn results(self, output: &Output) -> Result<Vec<Results>, OutputError> {
        let entries = self.entries.into_iter().map(|(place, (directory, entry))| {
            let read = move |name: &str| {
                let path = directory.join(name);
                fs::read(&path).map_err(|source| OutputError::Unread { path, source })
            };
            (place, entry, read)
        });
        write(&self.plan, &self.header, entries, output)
    }
}

/// That the capture at `path` has as many octets as were written, where that is known.
fn whole(path: &Path, written: Option<u64>) -> Result<(), OutputError> {
    let found = fs::metadata(path).map_err(|source| OutputError::Unread { path: path.to_owned(), source })?.len();
    match written.filter(|written| *written != found) {
        None => Ok(()),
        Some(written) => {
            let why = format!("it has {}, where {written} were written", counted(found, "octet"));
            Err(journal::at(path, 0, format!("{why}; to have it again, repeat the command of its shard with --resume")))
        }
    }
}

/// Writes a journal of these points, by their places in the plan, and their captures, each with what reads one; gives
/// the results.
pub(super) fn write<F: Fn(&str) -> Result<Vec<u8>, OutputError>>(
    plan: &Plan,
    header: &Header,
    entries: impl Iterator<Item = (usize, Entry, F)>,
    output: &Output,
) -> Result<Vec<Results>, OutputError> {
    // What is merged into one of the shards must not take its points before all are together.
    let (mut journal, part) = Journal::beside(output, header, plan)?;
    let (mut kept, mut captures) = (BTreeMap::new(), BTreeSet::new());
    let mut copied = UnnamedCaptures { output, names: Vec::new() };
    for (place, entry, read) in entries {
        for name in &entry.captures {
            copied.add(name, &read(name)?.into())?;
        }
        captures.extend(entry.captures.iter().cloned());
        let stored = journal.add(&entry)?;
        let Some((_, point)) = plan.at(place) else {
            continue;
        };
        kept.insert(place, done(point, entry, Some(stored)));
    }
    part.place()?;
    copied.names.clear();
    // The older result may be one of the shards, whose captures were read until now.
    journal.replace(output, &captures)?;
    Ok(plan.results(kept, Shard::WHOLE))
}

/// Captures that no journal names yet: where it does not come to that they go again, and would be in the way of the
/// next attempt.
struct UnnamedCaptures<'a> {
    output: &'a Output,
    names: Vec<String>,
}

impl UnnamedCaptures<'_> {
    fn add(&mut self, name: &str, contents: &Contents) -> Result<(), OutputError> {
        // What cannot be written has made its folders all the same.
        let is_new = !self.output.path(name).exists();
        self.names.extend(is_new.then(|| name.to_owned()));
        self.output.write_capture(name, contents).map(drop)
    }
}

impl Drop for UnnamedCaptures<'_> {
    fn drop(&mut self) {
        for path in self.names.iter().map(|name| self.output.path(name)) {
            // Whatever ended the merge is the failure to report; a folder that holds something else stays.
            let _ = fs::remove_file(&path);
            let above = path.ancestors().skip(1).take_while(|folder| *folder != self.output.directory());
            let _ = above.map(fs::remove_dir).take_while(Result::is_ok).count();
        }
    }
}

/// Why two journals with the same names are not of the same scenarios.
fn texts(one: &Content, other: &Content) -> Option<String> {
    let name = one.header.differs_in_text(&other.header)?;
    Some(format!("its text of the scenario {name} is not that of the first"))
}

/// That every point is there.
fn complete(
    plan: &Plan,
    entries: &BTreeMap<usize, Entry>,
    contents: &[(&Path, PathBuf, Content)],
) -> Result<(), OutputError> {
    let mut missing = (0..plan.len()).filter(|place| !entries.contains_key(place));
    let Some(first) = missing.next() else {
        return Ok(());
    };
    let count = missing.count() + 1;
    let point = plan.at(first).map_or_else(String::new, |(part, point)| {
        let label = point.label();
        let comma = if label.is_empty() { "" } else { ", " };
        format!("{}{comma}{label}", part.name)
    });
    let points = if count == 1 { "1 point is".to_owned() } else { format!("{count} points are") };
    let owner = contents.iter().find(|(.., content)| content.header.shard.has(first));
    Err(match owner {
        Some((_, path, content)) => {
            let shard = content.header.shard;
            journal::at(
                path,
                0,
                format!(
                    "shard {shard} has not ended; {points} missing in all, the first: {point}. To go on, repeat its command with --resume"
                ),
            )
        }
        None => {
            let of = contents.first().map(|(_, path, it)| (path.as_path(), it.header.shard.of().1));
            let (path, count) = of.unwrap_or_else(|| (Path::new(Journal::NAME), 1));
            let shard = first.checked_rem(count).map_or(1, |number| number + 1);
            journal::at(
                path,
                0,
                format!("{points} missing, the first: {point}. No directory of shard {shard}/{count} is given"),
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_write_its_first_capture_leaves_no_folder() {
        let folder = kumiki_watchdog::process::Folder::new("merge-first");
        let output = Output::open(folder.path("out"), false).unwrap();
        let mut copied = UnnamedCaptures { output: &output, names: Vec::new() };
        // Too long a name, and there is no other way to write none below a folder that can be made.
        let name = format!("captures/s/{}", "x".repeat(300));
        assert!(copied.add(&name, &vec![1, 2].into()).is_err());
        drop(copied);
        assert!(!output.path("captures").exists());
    }
}
