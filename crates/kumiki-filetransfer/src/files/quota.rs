//! How many octets the files below a root have, how many entries its directories have, and how many they may have; and
//! what a crash has left there.
//!
//! An entry costs the disk something even where it has no octets, so there are as many as the octets that there may be
//! would fill blocks, unless another number is given. And no directory gets more entries than a listing may have:
//! otherwise who writes could keep all others from listing it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::directory::{MADE, UNFINISHED};
use super::disk::{Disk, Errno, Kind, OFlags};

/// The deepest directory that is looked into.
const DEEPEST: usize = 128;

/// What an entry is taken to cost the disk, in octets.
const ENTRY: u64 = 4096;
/// So many entries there may be in any case.
const FEW: u64 = 64;
/// So many directories are remembered with the number of their entries.
const REMEMBERED: usize = 1024;

/// Octets and entries, for all stores of one root.
#[derive(Debug)]
pub struct Quota {
    most: Option<u64>,
    used: AtomicU64,
    most_entries: Option<u64>,
    entries: AtomicU64,
    most_of_one: usize,
    /// Entries of directories that something was made in, by device and inode.
    of_one: Mutex<BTreeMap<(u64, u64), usize>>,
}

/// Why no entry can be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoEntry {
    /// There are as many as there may be in all.
    InAll,
    /// There are as many in the directory.
    OfOne(usize),
}

impl Quota {
    /// Counts what is below `root`, and removes unfinished files there that nobody writes any more. There may be `most`
    /// octets, if that is given.
    ///
    /// # Errors
    /// `root` is no directory that can be read. What is below it and cannot be read does not count.
    pub fn count<D: Disk>(disk: &D, root: &D::File, most: Option<u64>) -> io::Result<Self> {
        let (used, entries) = below(disk, root, DEEPEST)?;
        Ok(Self {
            most,
            used: AtomicU64::new(used),
            most_entries: most.map(|most| (most / ENTRY).max(FEW)),
            entries: AtomicU64::new(entries),
            most_of_one: usize::MAX,
            of_one: Mutex::default(),
        })
    }

    /// There may be `most` entries in all: files, and directories below the root. Unless this is said, one for each 4
    /// KiB of the octets that there may be, and at least 64.
    #[must_use]
    pub const fn with_entries(mut self, most: u64) -> Self {
        self.most_entries = Some(most);
        self
    }

    /// No directory gets more than `most` entries.
    #[must_use]
    pub const fn with_entries_of_one(mut self, most: usize) -> Self {
        self.most_of_one = most;
        self
    }

    /// How many entries there are.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::SeqCst)
    }

    /// One entry more is to be in `directory`, which is called `id` here and in which `count` finds how many there are.
    pub(super) fn take_entry(&self, id: (u64, u64), count: impl Fn() -> usize) -> Result<(), NoEntry> {
        let most = self.most_entries.unwrap_or(u64::MAX);
        let more = |entries: u64| entries.checked_add(1).filter(|entries| *entries <= most);
        let (now, then) = (Ordering::SeqCst, Ordering::SeqCst);
        if self.entries.fetch_update(now, then, more).is_err() {
            return Err(NoEntry::InAll);
        }
        let mut of_one = self.of_one.lock().unwrap_or_else(PoisonError::into_inner);
        let mut has = of_one.get(&id).copied().unwrap_or_else(&count);
        if has >= self.most_of_one {
            // Others may have taken some away.
            has = count();
        }
        let fits = has < self.most_of_one;
        if of_one.len() >= REMEMBERED && !of_one.contains_key(&id) {
            of_one.clear();
        }
        of_one.insert(id, has + usize::from(fits));
        drop(of_one);
        if fits {
            return Ok(());
        }
        self.give_any();
        Err(NoEntry::OfOne(self.most_of_one))
    }

    /// An entry of a directory is gone.
    pub(super) fn give_entry(&self, id: (u64, u64)) {
        let mut of_one = self.of_one.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(has) = of_one.get_mut(&id) {
            *has = has.saturating_sub(1);
        }
        drop(of_one);
        self.give_any();
    }

    fn give_any(&self) {
        let (now, then) = (Ordering::SeqCst, Ordering::SeqCst);
        // The result of the closure is always there.
        let _ = self.entries.fetch_update(now, then, |entries| Some(entries.saturating_sub(1)));
    }

    /// How many octets there are.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::SeqCst)
    }

    /// So many octets more are to be there; false where there is no room for them, and then they do not count.
    pub(super) fn take(&self, octets: u64) -> bool {
        let most = self.most.unwrap_or(u64::MAX);
        let taken = self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| {
            used.checked_add(octets).filter(|used| *used <= most)
        });
        taken.is_ok()
    }

    /// So many octets are gone.
    pub(super) fn give(&self, octets: u64) {
        // The result of the closure is always there.
        let _ = self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| Some(used.saturating_sub(octets)));
    }
}

/// Octets of the files below a directory, and entries.
fn below<D: Disk>(disk: &D, directory: &D::File, depth: usize) -> Result<(u64, u64), Errno> {
    let (mut octets, mut entries) = (0_u64, 0_u64);
    // What is removed while names are told may have others told twice, or not at all.
    let mut left: Vec<OsString> = Vec::new();
    let mut inner: Vec<OsString> = Vec::new();
    disk.names(directory, &mut |name| {
        let Ok(meta) = disk.meta_at(Some(directory), Path::new(name)) else {
            return true;
        };
        match meta.kind {
            Kind::File => {
                octets = octets.saturating_add(meta.size);
                let unfinished = is_unfinished(name.as_bytes());
                let is_left = meta.mode & MADE != 0 && meta.size == 0;
                if is_left || unfinished {
                    left.push(name.to_owned());
                }
                entries += u64::from(!unfinished);
            }
            Kind::Directory if depth > 0 => {
                entries += 1;
                inner.push(name.to_owned());
            }
            Kind::Directory | Kind::Other => {}
        }
        true
    })?;
    for name in left {
        if let Some(size) = abandoned(disk, directory, &name) {
            octets = octets.saturating_sub(size);
            entries = entries.saturating_sub(u64::from(!is_unfinished(name.as_bytes())));
        }
    }
    for name in inner {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(inner) = disk.open(Some(directory), Path::new(&name), flags, 0) {
            let (more, of_these) = below(disk, &inner, depth - 1).unwrap_or((0, 0));
            octets = octets.saturating_add(more);
            entries = entries.saturating_add(of_these);
        }
    }
    Ok((octets, entries))
}

/// Whether it is called like what a store writes: others that nobody is shown, such as the state of a collection, are
/// no rubbish.
fn is_unfinished(name: &[u8]) -> bool {
    let rest = name.strip_prefix(UNFINISHED.as_bytes());
    rest.is_some_and(|rest| rest.iter().all(|octet| octet.is_ascii_digit() || *octet == b'-'))
}

/// Removes what a crash has left and nobody has locked; gives how many octets that were, or none where it stays. That
/// it stays where this fails hurts nobody.
fn abandoned<D: Disk>(disk: &D, directory: &D::File, name: &OsStr) -> Option<u64> {
    let path = Path::new(name);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let gone = || -> Result<u64, Errno> {
        let file = disk.open(Some(directory), path, flags, 0)?;
        disk.lock(&file)?;
        let size = disk.meta(&file)?.size;
        disk.remove(Some(directory), path, false)?;
        Ok(size)
    };
    gone().ok()
}
