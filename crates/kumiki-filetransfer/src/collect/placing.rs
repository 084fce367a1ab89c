//! From what has come to what is known: files wait to be put into their places, and only what is there is in the state.

use std::path::{Path, PathBuf};

use crate::files::disk::Disk;
use crate::osi::Failure;

use super::fetching::Job;
use super::state::Entry;
use super::{Collection, Event, Teller};
use crate::local::{Part, Receipt, Received, checksum, directory_of};

/// A file that has come, or comes.
pub(super) struct FetchedFile {
    pub(super) job: Job,
    /// Under which name it comes.
    pub(super) part: PathBuf,
    /// Its place.
    pub(super) path: PathBuf,
    pub(super) receipt: Receipt,
}

impl<D: Disk, T: Teller> Collection<D, T> {
    /// Files are here: the state says so when this is done.
    pub(super) fn keep(&mut self, all: Vec<FetchedFile>) {
        if all.is_empty() {
            return;
        }
        let mut lines = String::new();
        let mut kept = Vec::new();
        for FetchedFile { job, path, receipt, .. } in all {
            let it = receipt.read();
            let (line, local, is_known) = self.note(&job, &path, &it);
            lines.push_str(&line);
            kept.push((job, it, local, is_known));
        }
        if let Err(why) = self.state.write(&lines) {
            self.done.broken = Some(why);
            return;
        }
        for (job, it, local, is_known) in kept {
            if is_known {
                self.teller.tell(&job.name, &Event::Unchanged);
            } else {
                self.done.fetched += 1;
                let (bytes, sha256, resumed) = (it.size, it.sha256.as_str(), it.resumed);
                self.teller.tell(&job.name, &Event::Fetched { bytes, sha256, local: &local, resumed });
            }
            if self.wanted.delete {
                self.to_check.push_back((job.remote, job.name));
            }
        }
    }

    /// What the state is to say of a file that is here, the name that it has here, and whether it was here before.
    fn note(&mut self, job: &Job, path: &Path, it: &Received) -> (String, String, bool) {
        let mut local = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let old = self.state.get(&job.name);
        // What came may be what is here: a crash before the state was written, or a file of which nothing is told.
        let last = job.name.rsplit('/').next().unwrap_or_default();
        let before = old.map_or_else(|| last.to_owned(), |old| old.local.clone());
        let is_known = match old {
            Some(old) => old.sha256 == it.sha256,
            None if local == before => false,
            None => {
                let there = checksum(&self.disk, &self.wanted.into.join(&before));
                there.is_ok_and(|old| old == it.sha256)
            }
        };
        if is_known && local != before && self.disk.remove(None, path, false).is_ok() {
            // Where it were there again, nobody would know of it.
            let _ = self.disk.sync_directory(directory_of(path));
            local = before;
        }
        let entry = Entry {
            size: job.size,
            modified: job.modified.clone(),
            bytes: it.size,
            sha256: it.sha256.clone(),
            local: local.clone(),
        };
        self.taken.insert(local.clone());
        (self.state.note(&job.name, entry), local, is_known)
    }

    /// Takes what is in its place by now; where it is to `wait`, after some more. Nothing that is not counts as
    /// fetched.
    pub(super) fn settle(&mut self, wait: bool) {
        if self.done.broken.is_some() {
            // What is in its place and not in the state is known by its checksum the next time.
            self.whole.clear();
        }
        let first = self.whole.front().map(|it| it.receipt.read());
        let is_due = first.is_some_and(|it| !it.is_there && !it.is_lost);
        let goes_on = self.settler.look(wait && is_due);
        let mut placed = Vec::new();
        let mut lost = None;
        while let Some(whole) = self.whole.pop_front() {
            let it = whole.receipt.read();
            if it.is_there {
                placed.push(whole);
            } else if it.is_lost || !goes_on {
                let ended = || "what puts files into their places has ended".to_owned();
                lost = Some((whole.job.name, it.why.unwrap_or_else(ended)));
                break;
            } else {
                self.whole.push_front(whole);
                break;
            }
        }
        self.keep(placed);
        if let Some((name, why)) = lost {
            self.lose(name, Failure::local(why));
        }
    }

    /// Waits until all that has come is in its place.
    pub fn settle_all(&mut self) {
        while !self.whole.is_empty() {
            self.settle(true);
        }
    }

    /// Under which name a file comes: that of what an earlier run has left of it, or one that nothing waits under.
    pub(super) fn part(&self, job: &Job) -> PathBuf {
        let place = job.place(&self.state, self.wanted.contents_type.as_ref());
        let is_free = |part: &&PathBuf| self.whole.iter().all(|it| it.part != **part);
        let left = self.parts.iter().filter(is_free);
        let left = left.clone().find(|part| Part::is_of(&self.disk, part, &place)).or_else(|| left.clone().next());
        left.cloned().unwrap_or_default()
    }

    /// Files that an earlier run has left in the middle come first: others would take their names.
    pub(super) fn interrupted_first(&mut self) {
        let kind = self.wanted.contents_type.as_ref();
        let is_one = |job: &Job| {
            let place = job.place(&self.state, kind);
            let mut parts = self.parts.iter();
            parts.any(|part| Part::is_of(&self.disk, part, &place))
        };
        let jobs = core::mem::take(&mut self.jobs).into_iter();
        let (first, rest): (Vec<Job>, Vec<Job>) = jobs.partition(is_one);
        self.jobs = first.into_iter().chain(rest).collect();
    }
}
