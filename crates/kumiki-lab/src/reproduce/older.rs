//! What an older result in a directory consists of, so that another one can take its place whole.
//!
//! Only what Kumiki itself has written is known here: the files that every result has, and by the journal, which names
//! them, captures and figures. Whatever else is in the directory is somebody else's and stays.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use super::journal::{self, Content};
use crate::rows::{Output, OutputError, TABLES};

/// The files of an older result, by their names below the directory.
#[derive(Clone, Debug, Default)]
pub(super) struct OlderFiles(BTreeSet<String>);

impl OlderFiles {
    /// What the journal in the directory says. Of one that cannot be read nothing is known, and so nothing is taken
    /// away.
    pub(super) fn of(output: &Output) -> Self {
        let path = output.path(Output::JOURNAL);
        if !path.is_file() {
            return Self::default();
        }
        journal::read(&path).map(|content| Self::named(&content)).unwrap_or_default()
    }

    fn named(content: &Content) -> Self {
        let fixed = [Output::ROWS_JSONL, Output::ROWS_CSV, Output::VERDICTS, Output::REPORT, Output::RUN];
        let tables = TABLES.iter().map(|(name, _)| format!("{name}.parquet"));
        let figures = content.header.names().flat_map(figures_of);
        let captures = content.entries.iter().flat_map(|(_, entry)| entry.captures.iter().cloned());
        let captures = captures.filter(|name| Path::new(name).starts_with(Output::CAPTURES));
        Self(fixed.map(str::to_owned).into_iter().chain(tables).chain(figures).chain(captures).collect())
    }

    /// The folders that captures among them are in and would be taken away from, below the directory.
    pub(super) fn folders(&self, output: &Output) -> impl Iterator<Item = &str> {
        let files = self.0.iter().filter(|name| name.starts_with(Output::CAPTURES) && is_plain(output, name));
        files.filter_map(|name| Some(name.rsplit_once('/')?.0))
    }

    /// Takes the files away but for those of `kept`, and the folders of captures and figures that are empty then. No
    /// way leads through a link.
    pub(super) fn remove(self, output: &Output, kept: &BTreeSet<String>) -> Result<(), OutputError> {
        let mut folders: BTreeSet<String> = BTreeSet::new();
        for name in self.0.iter().filter(|name| !kept.contains(*name) && is_plain(output, name)) {
            let path = output.path(name);
            fs::remove_file(&path).map_err(|source| OutputError::Io { path, source })?;
            let above = Path::new(name).ancestors().skip(1).map(|folder| folder.to_string_lossy().into_owned());
            folders.extend(above.filter(|folder| !folder.is_empty()));
        }
        // The innermost first: it is behind the one that it is in.
        for folder in folders.iter().rev() {
            match fs::remove_dir(output.path(folder)) {
                Ok(()) => {}
                // Somebody else has files there.
                Err(why) if matches!(why.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound) => {}
                Err(source) => return Err(OutputError::Io { path: output.path(folder), source }),
            }
        }
        Ok(())
    }
}

/// The figures of a scenario, by their names below the directory.
pub(super) fn figures_of(name: &str) -> impl Iterator<Item = String> {
    ["", "-tasks", "-held"].into_iter().map(move |what| format!("{}/{name}{what}.svg", Output::FIGURES))
}

/// Whether `name` is of a file below the directory of `output`, with nothing but folders on the way.
fn is_plain(output: &Output, name: &str) -> bool {
    let mut path = output.directory().to_owned();
    let mut parts = Path::new(name).components().peekable();
    while let Some(part) = parts.next() {
        let std::path::Component::Normal(part) = part else {
            return false;
        };
        path.push(part);
        let Ok(found) = fs::symlink_metadata(&path) else {
            return false;
        };
        let is_right = if parts.peek().is_some() { found.is_dir() } else { found.is_file() };
        if !is_right {
            return false;
        }
    }
    true
}
