//! Files that have come whole and are not on the disk yet: they are put there, and into their places, while the next
//! ones come.
//!
//! Each waits under the name that it has come to, which nobody takes for another one before its new name is on the
//! disk: so a crash never leaves a file with both names, of which another run would overwrite one. It is synchronised
//! and only then renamed; those that wait together have the names of their directory synchronised once. They are done
//! in the order in which they came.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use crate::files::disk::{Disk, Errno, Synced};

use super::{Receipt, checksum_of, directory_of, path_shown};

/// So many files wait at most.
pub(crate) const MOST: usize = 8;

/// A file that has come whole.
pub(super) struct CompleteFile<D: Disk> {
    pub(super) disk: D,
    pub(super) file: Arc<D::File>,
    /// Its name until it is in its place.
    pub(super) unfinished: PathBuf,
    pub(super) target: PathBuf,
    pub(super) checksum: bool,
    pub(super) receipt: Receipt,
}

impl<D: Disk> CompleteFile<D> {
    /// Its octets are on the disk and it is in its place when this is done; the directory is not synchronised. Gives
    /// its checksum, where it is wanted.
    fn place(&self) -> io::Result<String> {
        let digest = if self.checksum { checksum_of(&self.disk, &self.file)? } else { String::new() };
        self.disk.sync(&self.file, Synced::All)?;
        let (from, to) = (self.unfinished.as_path(), self.target.as_path());
        self.disk.rename((None, from), (None, to), true)?;
        Ok(digest)
    }

    fn failed(&self, why: &io::Error) {
        // That it stays where this fails hurts nobody.
        let _ = self.disk.remove(None, &self.unfinished, false);
        let why = format!("{}: {why}", path_shown(&self.target));
        self.receipt.settled(Err(why));
    }
}

/// Puts files into their places, and says so in their receipts.
fn settle<D: Disk>(batch: &[CompleteFile<D>]) {
    let placed: Vec<io::Result<String>> = batch.iter().map(CompleteFile::place).collect();
    // Once for all of them: their names are there by now.
    let mut synced: BTreeMap<&Path, Result<(), Errno>> = BTreeMap::new();
    for (whole, placed) in batch.iter().zip(placed) {
        let known = placed.and_then(|digest| {
            let directory = directory_of(&whole.target);
            let sync = || whole.disk.sync_directory(directory);
            (*synced.entry(directory).or_insert_with(sync))?;
            Ok(digest)
        });
        match known {
            Ok(digest) => whole.receipt.settled(Ok(digest)),
            Err(why) => whole.failed(&why),
        }
    }
}

/// Who puts files into their places.
pub struct Settler<D: Disk> {
    whole: Sender<CompleteFile<D>>,
    how: SettlerMode,
}

enum SettlerMode {
    /// A thread, which says each time that it has done some.
    Thread(Receiver<()>),
    /// Whoever looks: what a thread does that is behind, at moments that are known.
    #[cfg(test)]
    Looker(Box<dyn FnMut(bool)>),
}

impl<D: Disk> Settler<D> {
    /// A thread, which ends with this and what was given to it.
    ///
    /// # Errors
    /// The system has no room for one.
    pub fn start() -> io::Result<Self> {
        let (whole, come) = mpsc::channel::<CompleteFile<D>>();
        let (done, said) = mpsc::channel();
        let settling = std::thread::Builder::new().name("settler".to_owned());
        settling.spawn(move || {
            while let Ok(first) = come.recv() {
                let batch: Vec<CompleteFile<D>> = [first].into_iter().chain(come.try_iter()).collect();
                settle(&batch);
                drop(batch);
                // Nobody may want to know any more.
                let _ = done.send(());
            }
        })?;
        let how = SettlerMode::Thread(said);
        Ok(Self { whole, how })
    }

    /// Without a thread: done in [`Settler::look`], as soon as more than `behind` wait.
    #[cfg(test)]
    pub(crate) fn behind(behind: usize) -> Self {
        let (whole, come) = mpsc::channel();
        let mut waiting = Vec::new();
        let look = move |wait: bool| {
            waiting.extend(come.try_iter());
            let most = if wait { 0 } else { behind };
            let due = waiting.len().saturating_sub(most);
            settle(&waiting.drain(..due).collect::<Vec<_>>());
        };
        let how = SettlerMode::Looker(Box::new(look));
        Self { whole, how }
    }

    /// What files are given by.
    pub(super) fn sender(&self) -> Sender<CompleteFile<D>> {
        self.whole.clone()
    }

    /// Sees what was done; where it is to `wait`, after some more. False where nothing more will be done.
    pub(crate) fn look(&mut self, wait: bool) -> bool {
        match &mut self.how {
            SettlerMode::Thread(said) if wait => said.recv().is_ok(),
            SettlerMode::Thread(said) => {
                while said.try_recv().is_ok() {}
                true
            }
            #[cfg(test)]
            SettlerMode::Looker(look) => {
                look(wait);
                true
            }
        }
    }
}
