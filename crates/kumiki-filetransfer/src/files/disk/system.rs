//! The files of this machine.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Stat, Uid,
};
use rustix::io::Errno;

use super::{Disk, Kind, Meta, Synced};

/// The files of this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct System;

fn directory(at: Option<&OwnedFd>) -> BorrowedFd<'_> {
    at.map_or(CWD, |at| at.as_fd())
}

fn known(stat: &Stat) -> Meta {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Kind::Other,
    };
    Meta {
        kind,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mode: stat.st_mode & 0o7777,
        user: stat.st_uid,
        group: stat.st_gid,
        modified: (stat.st_mtime, stat.st_mtime_nsec),
        read: stat.st_atime,
        changed: stat.st_ctime,
        identity: (stat.st_dev, stat.st_ino),
    }
}

impl Disk for System {
    type File = OwnedFd;

    fn open(&self, at: Option<&OwnedFd>, path: &Path, flags: OFlags, mode: u32) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(directory(at), path, flags, Mode::from_raw_mode(mode))
    }

    fn open_beneath(&self, at: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(at, path, flags, Mode::empty(), within)
    }

    fn meta(&self, file: &OwnedFd) -> Result<Meta, Errno> {
        rustix::fs::fstat(file).map(|stat| known(&stat))
    }

    fn meta_at(&self, at: Option<&OwnedFd>, path: &Path) -> Result<Meta, Errno> {
        let stat = rustix::fs::statat(directory(at), path, AtFlags::SYMLINK_NOFOLLOW);
        stat.map(|stat| known(&stat))
    }

    fn names(&self, directory: &OwnedFd, each: &mut dyn FnMut(&OsStr) -> bool) -> Result<(), Errno> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") && !each(OsStr::from_bytes(name)) {
                break;
            }
        }
        Ok(())
    }

    fn read(&self, file: &OwnedFd, octets: &mut [u8], at: u64) -> Result<usize, Errno> {
        rustix::io::pread(file, octets, at)
    }

    fn write(&self, file: &OwnedFd, octets: &[u8], at: u64) -> Result<usize, Errno> {
        rustix::io::pwrite(file, octets, at)
    }

    fn set_size(&self, file: &OwnedFd, size: u64) -> Result<(), Errno> {
        rustix::fs::ftruncate(file, size)
    }

    fn sync(&self, file: &OwnedFd, what: Synced) -> Result<(), Errno> {
        match what {
            Synced::Data => rustix::fs::fdatasync(file),
            Synced::All => rustix::fs::fsync(file),
        }
    }

    fn lock(&self, file: &OwnedFd) -> Result<(), Errno> {
        rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)
    }

    fn set_mode(&self, file: &OwnedFd, mode: u32) -> Result<(), Errno> {
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode))
    }

    fn give(&self, file: &OwnedFd, user: Option<u32>, group: Option<u32>) -> Result<(), Errno> {
        rustix::fs::fchown(file, user.map(Uid::from_raw), group.map(Gid::from_raw))
    }

    fn make_directory(&self, at: Option<&OwnedFd>, path: &Path, mode: u32) -> Result<(), Errno> {
        rustix::fs::mkdirat(directory(at), path, Mode::from_raw_mode(mode))
    }

    fn rename(
        &self,
        from: (Option<&OwnedFd>, &Path),
        to: (Option<&OwnedFd>, &Path),
        replaces: bool,
    ) -> Result<(), Errno> {
        let (old, new) = (directory(from.0), directory(to.0));
        if replaces {
            return rustix::fs::renameat(old, from.1, new, to.1);
        }
        rustix::fs::renameat_with(old, from.1, new, to.1, RenameFlags::NOREPLACE)
    }

    fn remove(&self, at: Option<&OwnedFd>, path: &Path, is_directory: bool) -> Result<(), Errno> {
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(directory(at), path, flags)
    }
}
