//! How many octets the files below a root have, and how many they may have; and what a crash has left there.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, openat, statat, unlinkat,
};
use rustix::io::Errno;

use super::directory::{MADE, UNFINISHED};

/// The deepest directory that is looked into.
const DEEPEST: usize = 128;

/// Octets, for all stores of one root.
#[derive(Debug)]
pub struct Quota {
    most: Option<u64>,
    used: AtomicU64,
}

impl Quota {
    /// Counts what is below `root`, and removes unfinished files there that nobody writes any more. There may be `most` octets, if that is
    /// given.
    ///
    /// # Errors
    /// `root` is no directory that can be read. What is below it and cannot be read does not count.
    pub fn count(root: &Path, most: Option<u64>) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty())?;
        let used = below(&root, DEEPEST)?;
        Ok(Self {
            most,
            used: AtomicU64::new(used),
        })
    }

    /// How many octets there are.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::SeqCst)
    }

    /// So many octets more are to be there; false where there is no room for them, and then they do not count.
    pub(super) fn take(&self, octets: u64) -> bool {
        let most = self.most.unwrap_or(u64::MAX);
        let taken = self
            .used
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| {
                used.checked_add(octets).filter(|used| *used <= most)
            });
        taken.is_ok()
    }

    /// So many octets are gone.
    pub(super) fn give(&self, octets: u64) {
        // The result of the closure is always there.
        let _ = self
            .used
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| {
                Some(used.saturating_sub(octets))
            });
    }
}

/// Octets of the files below a directory.
fn below(directory: &OwnedFd, depth: usize) -> Result<u64, Errno> {
    let mut octets = 0_u64;
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::RegularFile {
            let unfinished = is_unfinished(name.to_bytes());
            let is_left = stat.st_mode & MADE != 0 && stat.st_size == 0;
            if is_left {
                // That it stays where this fails hurts nobody: it is empty.
                let _ = unlinkat(directory, name, AtFlags::empty());
            } else if !(unfinished && abandoned(directory, name)) {
                octets = octets.saturating_add(u64::try_from(stat.st_size).unwrap_or(0));
            }
        } else if kind == FileType::Directory && depth > 0 {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            if let Ok(inner) = openat(directory, name, flags, Mode::empty()) {
                octets = octets.saturating_add(below(&inner, depth - 1).unwrap_or(0));
            }
        }
    }
    Ok(octets)
}

/// Whether it is called like what a store writes: others that nobody is shown, such as the state of a collection, are no rubbish.
fn is_unfinished(name: &[u8]) -> bool {
    let rest = name.strip_prefix(UNFINISHED.as_bytes());
    rest.is_some_and(|rest| {
        rest.iter()
            .all(|octet| octet.is_ascii_digit() || *octet == b'-')
    })
}

/// Removes an unfinished file that nobody has locked; true where it is gone.
fn abandoned(directory: &OwnedFd, name: &core::ffi::CStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(directory, name, flags, Mode::empty()) else {
        return false;
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        && unlinkat(directory, name, AtFlags::empty()).is_ok()
}
