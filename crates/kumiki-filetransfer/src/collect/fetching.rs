//! Fetching what was decided on, file by file.

use std::path::{Path, PathBuf};

use crate::files::disk::Disk;
use crate::osi::{ContentsType, Failure, Operation, Protocols};

use super::placing::FetchedFile;
use super::state::State;
use super::{CollectStep, Collection, Event, Teller};
use crate::local::{MOST, Part, Receipt};

/// A file that is to be fetched.
pub(super) struct Job {
    /// Its name at the responder, as an operation has it.
    pub(super) remote: String,
    /// The same, as the state has it.
    pub(super) name: String,
    pub(super) size: Option<u64>,
    pub(super) modified: Option<String>,
    pub(super) changed: bool,
}

impl Job {
    /// What a part is to be of, to be gone on with: a file that has changed at the responder is another one.
    pub(super) fn place<D: Disk>(&self, state: &State<D>, contents_type: Option<&ContentsType>) -> String {
        let size = self.size.map_or_else(|| "?".to_owned(), |it| it.to_string());
        let modified = self.modified.as_deref().unwrap_or("?");
        let kind = contents_type.map_or_else(String::new, |it| format!(" as {it}"));
        format!("{size} {modified} {} {}{kind}", state.place, self.remote)
    }
}

impl<D: Disk, T: Teller> Collection<D, T> {
    /// Begins to fetch a file, or goes on where an earlier run was interrupted.
    fn begin(&self, job: &Job, part: PathBuf, path: &Path) -> Result<(Part<D>, Receipt, u64), String> {
        let place = job.place(&self.state, self.wanted.contents_type.as_ref());
        let (part, receipt) = Part::begin_in(self.disk.clone(), part, path, &place)?;
        let part = part.with_checksum().settled_by(&self.settler);
        let (mut part, restart_at, goes_on) = part.going_on(self.protocol)?;
        if self.protocol == Protocols::Ftam && !goes_on {
            part.begin_again()?;
        }
        Ok((part, receipt, restart_at))
    }

    /// The next thing to fetch.
    pub(super) fn fetch(&mut self) -> Option<Operation> {
        while self.whole.len() >= MOST {
            self.settle(true);
        }
        if self.done.broken.is_some() {
            return None;
        }
        loop {
            let job = self.jobs.pop_front()?;
            self.done.found += 1;
            if self.wanted.dry_run {
                let event = if job.changed { Event::Changed(job.size) } else { Event::New(job.size) };
                self.teller.tell(&job.name, &event);
                continue;
            }
            let path = match self.place(&job.name) {
                Ok(path) => path,
                Err(why) => {
                    self.pass_over(job.name, why);
                    continue;
                }
            };
            let name = self.part(&job);
            let (part, receipt, restart_at) = match self.begin(&job, name.clone(), &path) {
                Ok(begun) => begun,
                Err(why) => {
                    self.lose(job.name, Failure::local(why));
                    return None;
                }
            };
            self.teller.begin(&job.name, job.size);
            let operation = Operation::Get {
                name: job.remote.clone(),
                contents_type: self.wanted.contents_type.clone(),
                restart_at,
                sink: Box::new(part),
            };
            self.doing = Some(CollectStep::Fetching(FetchedFile { job, part: name, path, receipt }));
            return Some(operation);
        }
    }
}
