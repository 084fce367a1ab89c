//! Whether what a run writes below its directory has a place there: looked at before anything runs, and before anything
//! of an older result goes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::older::{OlderFiles, figures_of};
use super::run::own_name;
use super::{Part, Plan};
use crate::rows::{self, Output, OutputError};

/// How the names of captures and traces end.
const OF_CAPTURES: [&str; 3] = ["pcapng", "csv", "svg"];

/// That figures of `plan`, and captures where it has any, can be written, and what is `older` can be taken away;
/// nothing is left there. What is there without a journal is somebody else's, and only who has said so, and not that a
/// result is gone on with (`resume`), has it replaced.
pub(super) fn check(
    output: &Output,
    plan: &Plan,
    captures: bool,
    (older, resume): (&OlderFiles, bool),
) -> Result<(), OutputError> {
    if !output.directory().is_dir() {
        return Ok(());
    }
    let is_replaced = output.path(Output::JOURNAL).exists() || (output.replaces() && !resume);
    let mut folders: BTreeSet<PathBuf> = older.folders(output).map(|folder| output.path(folder)).collect();
    folders.insert(output.path(Output::FIGURES));
    for part in &*plan.parts {
        let captured = output.path(Output::CAPTURES).join(&part.name);
        if captures || part.points.iter().any(|point| point.scenario.run.interval.is_some()) {
            in_the_way(called_as_captures(&captured, part), is_replaced)?;
            folders.insert(captured);
        }
        in_the_way(figures_of(&part.name).map(|name| output.path(&name)).filter(|path| path.exists()), is_replaced)?;
    }
    // In the directory itself the journal is made first.
    let there: BTreeSet<&Path> =
        folders.iter().filter_map(|folder| there(folder)).filter(|it| *it != output.directory()).collect();
    there.into_iter().try_for_each(try_in)
}

/// The first of the folders from `folder` upward that is there.
fn there(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|path| fs::symlink_metadata(path).is_ok())
}

/// That files can be made in `folder`.
fn try_in(folder: &Path) -> Result<(), OutputError> {
    let error = |source| OutputError::Io { path: folder.to_owned(), source };
    if !folder.is_dir() {
        return Err(error(io::ErrorKind::NotADirectory.into()));
    }
    rows::probe(folder).map_err(error)
}

/// What is in `folder` and is called as captures of `part` are: `000-a.pcapng`.
fn called_as_captures(folder: &Path, part: &Part) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| is_capture(path, part)).collect();
    found.sort();
    found.into_iter()
}

fn is_capture(path: &Path, part: &Part) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_of_point = part.points.iter().any(|point| own_name(&name, point.index).is_some());
    is_of_point && path.extension().is_some_and(|end| OF_CAPTURES.iter().any(|known| end == *known))
}

/// That none of these is a directory, in the place of a file, nor a file of somebody else where these are not replaced.
fn in_the_way(mut found: impl Iterator<Item = PathBuf>, is_replaced: bool) -> Result<(), OutputError> {
    match found.find(|path| !is_replaced || path.is_dir()) {
        Some(path) if path.is_dir() => Err(OutputError::Io { path, source: io::ErrorKind::IsADirectory.into() }),
        Some(path) => Err(OutputError::Foreign { path }),
        None => Ok(()),
    }
}
