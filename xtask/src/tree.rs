//! The files of the workspace, as one sorted map from path to text.
//!
//! Read from the folder rather than from git, so that a file is judged before it is added and a source archive can be
//! judged at all. Rules see only this map; their tests build small ones in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Folders that hold nothing written by hand; the same names stand in `.gitignore`.
const SKIPPED: [&str; 4] = [".git", "target", "kumiki-out", "book"];

/// Path from the root (with `/`) to text; `None` where the file is not UTF-8 text.
#[derive(Default)]
pub(crate) struct Tree(BTreeMap<String, Option<String>>);

impl Tree {
    /// Reads everything below `root`; the error names the file that could not be read.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<(), String> {
        let unreadable = |path: &Path, why| format!("{}: {why}", path.display());
        for entry in fs::read_dir(folder).map_err(|why| unreadable(folder, why))? {
            let entry = entry.map_err(|why| unreadable(folder, why))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|why| unreadable(&path, why))?;
            let Ok(name) = entry.file_name().into_string() else {
                return Err(format!("{}: the name is not UTF-8; right: rename the file", path.display()));
            };
            if kind.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    self.read_folder(&path, &format!("{prefix}{name}/"))?;
                }
            } else if kind.is_file() && name != ".git" {
                let octets = fs::read(&path).map_err(|why| unreadable(&path, why))?;
                let text = String::from_utf8(octets).ok().filter(|text| !text.contains('\0'));
                self.0.insert(format!("{prefix}{name}"), text);
            }
        }
        Ok(())
    }

    /// A tree from paths and texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect())
    }

    /// How many files there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.as_deref()
    }

    /// Every path, text or not.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Every text file whose path ends in `suffix`.
    pub(crate) fn texts<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .iter()
            .filter(move |(path, _)| path.ends_with(suffix))
            .filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Whether there is such a file, or a folder with something in it; the root is the empty path.
    pub(crate) fn has(&self, path: &str) -> bool {
        path.is_empty() || self.0.contains_key(path) || {
            let folder = format!("{path}/");
            self.paths().any(|candidate| candidate.starts_with(&folder))
        }
    }
}
