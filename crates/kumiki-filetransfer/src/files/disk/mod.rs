//! What stores of files ask of a disk: the operating system's, or one in memory that loses power and fails.
//!
//! | | |
//! |---|---|
//! | [`System`] | the files of this machine |
//! | [`Simulated`] | a page cache above a disk, in memory: what was not synchronised can be lost, torn or out of order, and any call can fail |
//!
//! The calls are those of POSIX (openat, pread, pwrite, ftruncate, fsync, renameat ...), with their errors, so that
//! what a store relies on stands in its calls and nowhere else. The responder's store ([`Directory`](super::Directory))
//! and the client's files use it alike.
//!
//! **Left out**: links other than those that are refused, extended attributes, maps of memory.

mod ends;
mod simulated;
mod system;

use core::fmt::Debug;
use std::ffi::OsStr;
use std::path::Path;

pub use ends::every_end;
pub use rustix::fs::OFlags;
pub use rustix::io::Errno;
pub use simulated::{Crash, Crashes, Failure, Simulated};
pub use system::System;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, a device, a FIFO or a socket.
    Other,
}

/// What is known of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Octets.
    pub size: u64,
    /// Permissions, with the bits above them (07777).
    pub mode: u32,
    /// Whose it is.
    pub user: u32,
    /// Of which group.
    pub group: u32,
    /// When it was written, in seconds since 1970 and nanoseconds.
    pub modified: (i64, u64),
    /// When it was read, in seconds since 1970.
    pub read: i64,
    /// When what is known of it was changed, in seconds since 1970.
    pub changed: i64,
    /// Which file it is: device and number.
    pub identity: (u64, u64),
}

/// What is to be on the disk when a call comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Synced {
    /// Octets and size: fdatasync(2).
    Data,
    /// All that is known of it: fsync(2). Of a directory: its names.
    All,
}

/// The calls. Paths are below `at`, or below the working directory where that is none.
///
/// Errors are the system's.
#[expect(clippy::missing_errors_doc, reason = "they are those of the calls that the methods name")]
pub trait Disk: Clone + Debug + Send + Sync + 'static {
    /// An open file or directory.
    type File: Debug + Send + Sync + 'static;

    /// openat(2).
    fn open(&self, at: Option<&Self::File>, path: &Path, flags: OFlags, mode: u32) -> Result<Self::File, Errno>;

    /// openat2(2) that leads neither out of `at` nor over links.
    fn open_beneath(&self, at: &Self::File, path: &Path, flags: OFlags) -> Result<Self::File, Errno>;

    /// fstat(2).
    fn meta(&self, file: &Self::File) -> Result<Meta, Errno>;

    /// fstatat(2); a link at the end is not followed.
    fn meta_at(&self, at: Option<&Self::File>, path: &Path) -> Result<Meta, Errno>;

    /// Tells the names in a directory, in no order and without `.` and `..`, until `each` says false: getdents64(2).
    fn names(&self, directory: &Self::File, each: &mut dyn FnMut(&OsStr) -> bool) -> Result<(), Errno>;

    /// pread(2).
    fn read(&self, file: &Self::File, octets: &mut [u8], at: u64) -> Result<usize, Errno>;

    /// pwrite(2): may write fewer.
    fn write(&self, file: &Self::File, octets: &[u8], at: u64) -> Result<usize, Errno>;

    /// ftruncate(2).
    fn set_size(&self, file: &Self::File, size: u64) -> Result<(), Errno>;

    /// fsync(2) or fdatasync(2).
    fn sync(&self, file: &Self::File, what: Synced) -> Result<(), Errno>;

    /// flock(2), for the one who writes, without waiting. It ends with the last descriptor.
    fn lock(&self, file: &Self::File) -> Result<(), Errno>;

    /// fchmod(2).
    fn set_mode(&self, file: &Self::File, mode: u32) -> Result<(), Errno>;

    /// fchown(2).
    fn give(&self, file: &Self::File, user: Option<u32>, group: Option<u32>) -> Result<(), Errno>;

    /// mkdirat(2).
    fn make_directory(&self, at: Option<&Self::File>, path: &Path, mode: u32) -> Result<(), Errno>;

    /// renameat2(2); unless it `replaces`, what is there stays (EEXIST).
    fn rename(
        &self,
        from: (Option<&Self::File>, &Path),
        to: (Option<&Self::File>, &Path),
        replaces: bool,
    ) -> Result<(), Errno>;

    /// unlinkat(2), of a directory or of anything else.
    fn remove(&self, at: Option<&Self::File>, path: &Path, is_directory: bool) -> Result<(), Errno>;

    /// Writes all of it.
    fn write_all(&self, file: &Self::File, mut octets: &[u8], mut at: u64) -> Result<(), Errno> {
        while !octets.is_empty() {
            match self.write(file, octets, at) {
                Ok(0) => return Err(Errno::IO),
                Ok(written) => {
                    octets = octets.get(written..).unwrap_or_default();
                    at = at.saturating_add(written as u64);
                }
                Err(Errno::INTR) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Reads until `octets` is full or the file ends; gives how many there are.
    fn read_full(&self, file: &Self::File, octets: &mut [u8], at: u64) -> Result<usize, Errno> {
        let mut filled = 0;
        while let Some(rest) = octets.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read(file, rest, at.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(len) => filled += len,
                Err(Errno::INTR) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(filled)
    }

    /// All of a file.
    fn read_whole(&self, at: Option<&Self::File>, path: &Path) -> Result<Vec<u8>, Errno> {
        let file = self.open(at, path, OFlags::RDONLY | OFlags::CLOEXEC, 0)?;
        let (mut whole, mut part) = (Vec::new(), vec![0; 64 * 1024]);
        loop {
            let len = self.read_full(&file, &mut part, whole.len() as u64)?;
            whole.extend_from_slice(part.get(..len).unwrap_or_default());
            if len < part.len() {
                return Ok(whole);
            }
        }
    }

    /// Puts the names of the directory at `path` on the disk.
    fn sync_directory(&self, path: &Path) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = self.open(None, path, flags, 0)?;
        self.sync(&directory, Synced::All)
    }
}
