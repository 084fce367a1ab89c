//! Which of the files that were seen are fetched now.

use std::collections::BTreeSet;

use crate::files::disk::Disk;
use crate::osi::{self, ReadAttributes};

use super::fetching::Job;
use super::rows::Rows;
use super::state::UnfetchedFile;
use super::{Closed, Collection, Event, Teller};
use crate::attributes;

impl<D: Disk, T: Teller> Collection<D, T> {
    /// Whether it is a file that is collected at all.
    pub(super) fn is_wanted(&self, name: &str, attributes: &ReadAttributes) -> bool {
        !attributes::is_directory(attributes) && name.starts_with(&self.wanted.prefix)
    }

    /// Decides on all that was seen: what is missing, what may still grow, what is new.
    pub(super) fn decide(&mut self) {
        let mut seen = core::mem::take(&mut self.seen);
        let is_below = |(name, attributes): &&(String, ReadAttributes)| {
            attributes::is_directory(attributes) && name.starts_with(&self.wanted.prefix)
        };
        let below: Vec<String> = seen.iter().filter(is_below).map(|(name, _)| name.clone()).collect();
        for name in below {
            self.pass_over(
                name,
                "it is a directory, and what is below is not fetched with the rest: collect it by itself",
            );
        }
        seen.retain(|(name, attributes)| self.is_wanted(name, attributes));
        let there: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
        let is_new = |it: &&(String, ReadAttributes)| !self.is_known(&it.0, &it.1);
        let new: BTreeSet<&str> = seen.iter().filter(is_new).map(|it| it.0.as_str()).collect();
        let rows = Rows::new(self.state.names(), &there, &new, self.wanted.range);
        let now = osi::seconds_since_1970();
        let (mut held, mut waiting) = (Vec::new(), Vec::new());
        for (name, attributes) in seen.iter().filter(|it| new.contains(it.0.as_str())) {
            let last = rows.is_last(name);
            if let Some(why) = self.may_grow(name, attributes, last, now, &mut held) {
                waiting.push((name.clone(), why));
            }
        }
        self.done.missing = rows.gaps();
        for gap in &self.done.missing {
            self.teller.tell(gap, &Event::Missing);
        }
        for (name, why) in &waiting {
            self.done.held = self.done.held.saturating_add(1);
            self.teller.tell(name, &Event::Held(why));
        }
        let waiting: BTreeSet<&str> = waiting.iter().map(|(name, _)| name.as_str()).collect();
        for (name, attributes) in &seen {
            if !waiting.contains(name.as_str()) {
                self.consider(name, attributes);
            }
        }
        if !self.wanted.dry_run
            && let Err(why) = self.state.hold(held)
        {
            self.done.broken = Some(why);
        }
        self.interrupted_first();
    }

    /// Why a file is not to be fetched yet. What a later run is to know of it goes to `held`.
    fn may_grow(
        &self,
        name: &str,
        attributes: &ReadAttributes,
        is_last: Option<bool>,
        now: u64,
        held: &mut Vec<(String, UnfetchedFile)>,
    ) -> Option<String> {
        match (self.closed, is_last) {
            (Closed::Any, _) | (Closed::Row, Some(false)) => return None,
            (Closed::Row, Some(true)) => {
                return Some("the last of its row, which may still be written".to_owned());
            }
            (Closed::Row, None) | (Closed::Settled, _) => {}
        }
        let (size, modified) = (attributes::size(attributes), attributes::modified(attributes));
        if size.is_none() && modified.is_none() {
            let why = "neither size nor date is told, by which it could be seen to be finished";
            return Some(format!("{why}: --closed any takes it as it is"));
        }
        let settle = self.wanted.settle.as_nanos() / 1_000_000_000;
        let before = self.state.held(name);
        let since = before.filter(|it| (it.size, &it.modified) == (size, &modified));
        // A clock that was put back starts again.
        let for_so_long = since.and_then(|it| now.checked_sub(it.since));
        match for_so_long {
            Some(seconds) if seconds >= settle => None,
            Some(seconds) => {
                Some(format!("the same for {seconds} s, and it may still be written; it is taken after {settle} s"))
            }
            None => {
                let seen = UnfetchedFile { size, modified, since: now };
                held.push((name.to_owned(), seen));
                Some(format!("seen so for the first time, and it may still be written; it is taken after {settle} s"))
            }
        }
    }

    /// Whether a file is here, as the responder tells of it now.
    fn is_known(&self, name: &str, attributes: &ReadAttributes) -> bool {
        let told = (attributes::size(attributes), attributes::modified(attributes));
        let old = self.state.get(name);
        told != (None, None) && old.is_some_and(|old| (old.size, old.modified.clone()) == told)
    }

    /// Fetches a file, if what the responder says of it is new.
    fn consider(&mut self, name: &str, attributes: &ReadAttributes) {
        let (size, modified) = (attributes::size(attributes), attributes::modified(attributes));
        let old = self.state.get(name);
        let says_nothing = size.is_none() && modified.is_none();
        if self.is_known(name, attributes) {
            if self.wanted.delete && !self.wanted.dry_run {
                // An earlier run has fetched it, and was not to delete it, or could not.
                let remote = self.remote(name);
                self.to_check.push_back((remote, name.to_owned()));
            }
            return;
        }
        self.jobs.push_back(Job {
            remote: self.remote(name),
            name: name.to_owned(),
            size,
            modified,
            changed: old.is_some() && !says_nothing,
        });
    }
}
