//! The store.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use kumiki_octets::{Account, Claim, Message, Page};
use kumiki_osi::ftam::access::AccessControlElement;
use kumiki_osi::ftam::attributes::{Attribute, Availability, ObjectType, ReadAttributes};
use kumiki_osi::ftam::contents::ContentsType;
use kumiki_osi::ftam::{AttributeNames, GeneralizedTime, GraphicString, Moment, PermittedActions};
use kumiki_proto::filestore::{
    Detached, Fault, FileId, Filestore, Form, Login, Name, NewFile, Start, User,
};
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Stat,
    Uid, fchmod, fchown, flock, fstat, fsync, ftruncate, mkdirat, openat, openat2, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::{Errno, pread, pwrite};

use super::quota::NoEntry;
use super::{Passwords, Quota};

/// How names of unfinished files begin. Nobody can name, see or make one that begins so.
pub(super) const UNFINISHED: &str = ".kumiki-";

/// The bit of the mode (S_ISVTX, of no meaning for a file) of one that was made for what is being written. While it is empty a crash may have left it.
pub(super) const MADE: u32 = 0o1000;

/// Octets copied at a time, when a file is extended.
const COPIED: usize = 64 * 1024;

/// What entries say.
const ENTRIES: AttributeNames = AttributeNames::PATHNAME
    .with(AttributeNames::PERMITTED_ACTIONS)
    .with(AttributeNames::CONTENTS_TYPE)
    .with(AttributeNames::MODIFIED)
    .with(AttributeNames::READ)
    .with(AttributeNames::SIZE);

/// What is possible with files.
const FILE_ACTIONS: PermittedActions = PermittedActions::READ
    .with(PermittedActions::INSERT)
    .with(PermittedActions::REPLACE)
    .with(PermittedActions::EXTEND)
    .with(PermittedActions::ERASE)
    .with(PermittedActions::READ_ATTRIBUTE)
    .with(PermittedActions::CHANGE_ATTRIBUTE)
    .with(PermittedActions::DELETE);

/// What is possible with directories. A directory is extended by what is created in it: ISODE's initiator asks for that access when it makes one. Opened for extending it is not.
const DIRECTORY_ACTIONS: PermittedActions = PermittedActions::READ
    .with(PermittedActions::EXTEND)
    .with(PermittedActions::READ_ATTRIBUTE)
    .with(PermittedActions::CHANGE_ATTRIBUTE)
    .with(PermittedActions::DELETE);

#[derive(Debug)]
enum Opened {
    Reading { file: OwnedFd, seen: Seen },
    Writing(Unfinished),
}

/// By which it is seen that others have written to a file that is being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    size: i64,
    modified: (i64, u64),
}

impl Seen {
    fn of(stat: &Stat) -> Self {
        Self {
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
        }
    }
}

/// A file that is being written, under a name that nobody sees. Wherever it is dropped, it is gone, and what it has taken is given back.
#[derive(Debug)]
struct Unfinished {
    file: OwnedFd,
    directory: OwnedFd,
    name: OsString,
    /// Where it goes.
    last: OsString,
    size: u64,
    quota: Option<Arc<Quota>>,
    /// Octets that were taken from the quota, and are to be given back.
    taken: u64,
    is_placed: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_placed {
            // That it stays where this fails hurts nobody: it is never shown.
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
        if let Some(quota) = &self.quota {
            quota.give(self.taken);
        }
    }
}

/// Files below a directory.
#[derive(Debug)]
pub struct Directory {
    root: OwnedFd,
    passwords: Passwords,
    read_only: bool,
    /// Whether openat2 is there.
    at_once: bool,
    opened: BTreeMap<u64, Opened>,
    next: u64,
    quota: Option<Arc<Quota>>,
    /// From which is claimed what a listing takes.
    account: Option<Account>,
    listed: Option<Claim>,
}

/// What an entry takes while the directory is sent, in octets.
const LISTED: usize = 400;
/// It is claimed for so many at a time.
const AT_ONCE: usize = 1024;

impl Directory {
    /// The files below `root`, for those whom `passwords` lets in.
    ///
    /// # Errors
    /// `root` is no directory that can be opened.
    pub fn open(root: &Path, passwords: Passwords) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            root: rustix::fs::open(root, flags, Mode::empty())?,
            passwords,
            read_only: false,
            at_once: true,
            opened: BTreeMap::new(),
            next: 0,
            quota: None,
            account: None,
            listed: None,
        })
    }

    /// What is written counts here.
    #[must_use]
    pub fn with_quota(mut self, quota: Arc<Quota>) -> Self {
        self.quota = Some(quota);
        self
    }

    /// What long listings take is claimed here.
    #[must_use]
    pub fn with_account(mut self, account: Account) -> Self {
        self.account = Some(account);
        self
    }

    /// Claims what a listing of so many names takes until the next one; a short one is in what an association costs.
    fn claim(&mut self, names: usize) -> Result<(), Fault> {
        let Some(account) = &self.account else {
            return Ok(());
        };
        let octets = (names * LISTED) as u64;
        let claimed = match &mut self.listed {
            Some(claim) => claim.grow_to(octets),
            none => account.claim(octets).map(|claim| *none = Some(claim)),
        };
        claimed.map_err(|_| Fault::transient(9, "no memory for a listing so long"))
    }

    /// Nothing is written, made or removed.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Opens directories component by component, as on kernels without openat2.
    #[must_use]
    pub const fn step_by_step(mut self) -> Self {
        self.at_once = false;
        self
    }

    /// The directory of these components.
    fn directory(&mut self, components: &[GraphicString]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let none = Mode::empty();
        if self.at_once {
            let parts: Vec<&[u8]> = components.iter().map(GraphicString::octets).collect();
            let mut path = parts.join(&b'/');
            if path.is_empty() {
                path.push(b'.');
            }
            let within =
                ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
            match openat2(&self.root, OsStr::from_bytes(&path), flags, none, within) {
                // Forbidden by a filter of system calls, or not there.
                Err(Errno::NOSYS | Errno::PERM) => self.at_once = false,
                done => return done,
            }
        }
        let mut at = openat(&self.root, ".", flags, none)?;
        for component in components {
            at = openat(&at, OsStr::from_bytes(component.octets()), flags, none)?;
        }
        Ok(at)
    }

    /// The directory that `name` is in, and its last component.
    fn place(&mut self, name: &Name) -> Result<(OwnedFd, OsString), Fault> {
        let bad = |why: &str| Fault::permanent(3027, why);
        let Some((last, before)) = name.components().split_last() else {
            return Err(bad("the root is in no directory"));
        };
        for component in name.components() {
            let octets = component.octets();
            let reserved = octets.starts_with(UNFINISHED.as_bytes());
            // Names are checked before they come here; what leads out of the root is looked for once more all the same.
            if reserved || matches!(octets, b"" | b"." | b"..") {
                return Err(bad("this store has no such names"));
            }
            if octets.contains(&b'/') || octets.contains(&0) {
                return Err(bad("a component has / or NUL in it"));
            }
        }
        let directory = self
            .directory(before)
            .map_err(|why| fault(why, 3004, name))?;
        Ok((directory, OsStr::from_bytes(last.octets()).to_owned()))
    }

    /// One entry more is to be in a directory, whose identity this gives.
    fn take_entry(&self, directory: &OwnedFd) -> Result<Option<(u64, u64)>, Fault> {
        let Some(quota) = &self.quota else {
            return Ok(None);
        };
        let id = identity(directory);
        let Some(known) = id else {
            return Ok(None);
        };
        match quota.take_entry(known, || entries(directory)) {
            Ok(()) => Ok(id),
            Err(NoEntry::InAll) => Err(Fault::space("the store has as many entries as it may")),
            Err(NoEntry::OfOne(most)) => {
                let text = format!("the directory has {most} entries, and may have no more");
                Err(Fault::space(text))
            }
        }
    }

    fn give_entry(&self, id: Option<(u64, u64)>) {
        if let (Some(quota), Some(id)) = (&self.quota, id) {
            quota.give_entry(id);
        }
    }

    fn may_write(&self) -> Result<(), Fault> {
        if self.read_only {
            return Err(Fault::permanent(11, "the responder is read-only"));
        }
        Ok(())
    }

    fn keep(&mut self, opened: Opened) -> FileId {
        self.next += 1;
        self.opened.insert(self.next, opened);
        FileId(self.next)
    }

    fn actions(&self, of: PermittedActions) -> PermittedActions {
        if self.read_only {
            of & (PermittedActions::READ | PermittedActions::READ_ATTRIBUTE)
        } else {
            of
        }
    }

    fn describe(&self, last: &OsStr, stat: &Stat) -> ReadAttributes {
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let date = |seconds: i64| {
            Moment::from_unix_seconds(seconds).map_or(Attribute::NoValueAvailable, |it| {
                GeneralizedTime::from(it).into()
            })
        };
        let (kind, actions, contents) = if is_directory {
            let contents = ContentsType::directory(ENTRIES);
            (ObjectType::FileDirectory, DIRECTORY_ACTIONS, contents)
        } else {
            (ObjectType::File, FILE_ACTIONS, ContentsType::binary())
        };
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        ReadAttributes {
            pathname: Some(GraphicString::from(last.as_bytes()).into()),
            object_type: Some(kind),
            permitted_actions: Some(self.actions(actions)),
            contents_type: Some(contents),
            created: Some(Attribute::NoValueAvailable),
            modified: Some(date(stat.st_mtime)),
            read: Some(date(stat.st_atime)),
            attributes_modified: Some(date(stat.st_ctime)),
            availability: Some(Availability::Immediate.into()),
            size: Some(size.into()),
            ..ReadAttributes::default()
        }
    }

    /// Opens a regular file, and nothing else: neither what a link leads to nor a device.
    fn regular(&self, directory: BorrowedFd<'_>, last: &OsStr) -> Result<(OwnedFd, Stat), Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(directory, last, flags, Mode::empty())?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            Ok((file, stat))
        } else {
            Err(Errno::ISDIR)
        }
    }
}

/// By which a directory is known, whatever it is called.
fn identity(directory: &OwnedFd) -> Option<(u64, u64)> {
    let stat = fstat(directory).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// How many entries a directory has that are shown; none where it cannot be read.
fn entries(directory: &OwnedFd) -> usize {
    let Ok(all) = Dir::read_from(directory) else {
        return 0;
    };
    let shown = all.flatten().filter(|entry| {
        let octets = entry.file_name().to_bytes();
        !octets.starts_with(UNFINISHED.as_bytes()) && octets != b"." && octets != b".."
    });
    shown.count()
}

/// What the system says, as a diagnostic; `otherwise` where it is nothing in particular.
fn fault(why: Errno, otherwise: i64, name: &Name) -> Fault {
    match why {
        Errno::NOENT | Errno::NOTDIR => Fault::missing(name),
        Errno::EXIST => Fault::exists(name),
        Errno::NAMETOOLONG => Fault::permanent(3027, name.to_string()),
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Fault::space(name.to_string()),
        Errno::NOTEMPTY => Fault::permanent(3007, "the directory is not empty"),
        Errno::LOOP | Errno::XDEV => Fault::permanent(11, format!("{name} is a link")),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => Fault::permanent(11, name.to_string()),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => Fault::transient(9, name.to_string()),
        Errno::IO => Fault::permanent(5031, name.to_string()),
        _ => Fault::permanent(otherwise, format!("{name}: {why}")),
    }
}

/// The same of an open file, whose name the peer knows.
fn trouble(why: Errno, otherwise: i64) -> Fault {
    match why {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Fault::space(why.to_string()),
        Errno::IO => Fault::permanent(5031, why.to_string()),
        _ => Fault::permanent(otherwise, why.to_string()),
    }
}

/// Gives a new file owner, group and permissions of the one that it takes the place of, as far as may be.
fn be_like(file: &OwnedFd, stat: &Stat) {
    let Ok(own) = fstat(file) else {
        return;
    };
    // Who may not give a file away keeps it, and may still leave it to a group of his.
    if own.st_uid != stat.st_uid {
        let _ = fchown(file, Some(Uid::from_raw(stat.st_uid)), None);
    }
    let is_theirs =
        own.st_gid == stat.st_gid || fchown(file, None, Some(Gid::from_raw(stat.st_gid))).is_ok();
    // What the group may do is for theirs, and not for another one.
    let bits = if is_theirs { 0o777 } else { 0o707 };
    let _ = fchmod(file, Mode::from_raw_mode(stat.st_mode & bits));
}

/// Writes all of it.
fn write_all(file: BorrowedFd<'_>, mut octets: &[u8], mut at: u64) -> Result<(), Errno> {
    while !octets.is_empty() {
        match pwrite(file, octets, at) {
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

/// Copies a file, and says how many octets it has.
fn copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<u64, Errno> {
    let (mut at, mut octets) = (0_u64, vec![0; COPIED]);
    loop {
        match pread(from, &mut octets[..], at) {
            Ok(0) => return Ok(at),
            Ok(len) => {
                write_all(to, octets.get(..len).unwrap_or_default(), at)?;
                at = at.saturating_add(len as u64);
            }
            Err(Errno::INTR) => {}
            Err(why) => return Err(why),
        }
    }
}

impl Filestore for Directory {
    fn authenticate(&mut self, login: &Login<'_>) -> Result<User, Fault> {
        self.passwords.authenticate(login)
    }

    fn keeps_types(&self) -> bool {
        false
    }

    fn keeps_access_control(&self) -> bool {
        false
    }

    fn attributes(&mut self, _: &User, name: &Name) -> Result<ReadAttributes, Fault> {
        if name.components().is_empty() {
            let stat = fstat(&self.root).map_err(|why| fault(why, 5027, name))?;
            return Ok(self.describe(OsStr::new("/"), &stat));
        }
        let (directory, last) = self.place(name)?;
        let stat = statat(&directory, &last, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|why| fault(why, 5027, name))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if matches!(kind, FileType::RegularFile | FileType::Directory) {
            Ok(self.describe(&last, &stat))
        } else {
            Err(Fault::permanent(11, format!("{name} is no file")))
        }
    }

    fn list(&mut self, _: &User, name: &Name, most: usize) -> Result<Vec<GraphicString>, Fault> {
        let bad = |why| fault(why, 5027, name);
        if !name.components().is_empty() {
            self.place(name)?;
        }
        let directory = self.directory(name.components()).map_err(bad)?;
        let mut names: Vec<GraphicString> = Vec::new();
        self.listed = None;
        for entry in Dir::read_from(&directory).map_err(bad)? {
            let entry = entry.map_err(bad)?;
            let octets = entry.file_name().to_bytes();
            let hidden = octets.starts_with(UNFINISHED.as_bytes());
            if hidden || octets == b"." || octets == b".." {
                continue;
            }
            let last = OsStr::from_bytes(octets);
            // One that is gone since, and whatever is no file, is left out.
            let Ok(stat) = statat(&directory, last, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            if !matches!(kind, FileType::RegularFile | FileType::Directory) {
                continue;
            }
            if names.len() >= most {
                return Err(Fault::crowded(most));
            }
            names.push(octets.into());
            if names.len().is_multiple_of(AT_ONCE) {
                self.claim(names.len() + AT_ONCE)?;
            }
        }
        names.sort();
        Ok(names)
    }

    fn create(&mut self, _: &User, name: &Name, file: &NewFile, _: Moment) -> Result<(), Fault> {
        self.may_write()?;
        let (directory, last) = self.place(name).map_err(|fault| match fault.identifier {
            3004 => Fault::permanent(3006, "no such directory"),
            _ => fault,
        })?;
        let id = self.take_entry(&directory)?;
        let done = if Form::of(&file.contents_type) == Some(Form::Directory) {
            mkdirat(&directory, &last, Mode::from_raw_mode(0o750))
        } else {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            openat(&directory, &last, flags, Mode::from_raw_mode(MADE | 0o640)).map(drop)
        };
        if done.is_err() {
            self.give_entry(id);
        }
        done.map_err(|why| fault(why, 3006, name))
    }

    fn made(&mut self, name: &Name) {
        // Where this fails it is as it would be after a crash: an empty file that goes at the next start.
        let Ok((directory, last)) = self.place(name) else {
            return;
        };
        if let Ok((file, stat)) = self.regular(directory.as_fd(), &last) {
            let _ = fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o777));
        }
    }

    fn delete(&mut self, user: &User, name: &Name) -> Result<(), Fault> {
        self.may_write()?;
        let kind = self.attributes(user, name)?.object_type;
        let (directory, last) = self.place(name)?;
        let flags = if kind == Some(ObjectType::FileDirectory) {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        let size = size_of(&directory, &last);
        unlinkat(&directory, &last, flags).map_err(|why| fault(why, 3007, name))?;
        if let Some(quota) = &self.quota {
            quota.give(size);
        }
        self.give_entry(identity(&directory));
        Ok(())
    }

    fn rename(&mut self, user: &User, from: &Name, to: &Name, _: Moment) -> Result<(), Fault> {
        self.may_write()?;
        self.attributes(user, from)?;
        let (old, old_last) = self.place(from)?;
        let (new, new_last) = self.place(to).map_err(|fault| match fault.identifier {
            3004 => Fault::permanent(4005, "no such directory"),
            _ => fault,
        })?;
        let id = self.take_entry(&new)?;
        let done = renameat_with(&old, &old_last, &new, &new_last, RenameFlags::NOREPLACE);
        // Either it is in its old place no more, or in its new one not yet.
        self.give_entry(if done.is_ok() { identity(&old) } else { id });
        done.map_err(|why| match why {
            Errno::EXIST => Fault::permanent(4005, "there is a file of the new name"),
            Errno::INVAL => Fault::permanent(4005, "the new name is below the old one"),
            why => fault(why, 4005, from),
        })
    }

    fn set_access_control(
        &mut self,
        _: &User,
        _: &Name,
        _: Vec<AccessControlElement>,
        _: Moment,
    ) -> Result<(), Fault> {
        Err(Fault::permanent(4002, "this store keeps no access control"))
    }

    fn read_from(&mut self, _: &User, name: &Name, _: Moment) -> Result<(FileId, u64), Fault> {
        let (directory, last) = self.place(name)?;
        let opened = self.regular(directory.as_fd(), &last);
        let (file, stat) = opened.map_err(|why| fault(why, 5027, name))?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let seen = Seen::of(&stat);
        Ok((self.keep(Opened::Reading { file, seen }), size))
    }

    fn write_to(&mut self, _: &User, name: &Name, start: Start) -> Result<(FileId, u64), Fault> {
        self.may_write()?;
        let bad = |why| fault(why, 5026, name);
        let (directory, last) = self.place(name)?;
        let (old, stat) = self.regular(directory.as_fd(), &last).map_err(bad)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
        let mut number = self.next;
        let (file, unfinished) = loop {
            let process = rustix::process::getpid();
            let unfinished = OsString::from(format!("{UNFINISHED}{process}-{number}"));
            match openat(&directory, &unfinished, flags, mode) {
                // Who looks for what a crash has left sees that this is in use.
                Ok(file) if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() => {
                    be_like(&file, &stat);
                    break (file, unfinished);
                }
                Ok(_) | Err(Errno::EXIST) => number += 1,
                Err(why) => return Err(bad(why)),
            }
        };
        let mut unfinished = Unfinished {
            file,
            directory,
            name: unfinished,
            last,
            size: 0,
            quota: self.quota.clone(),
            taken: 0,
            is_placed: false,
        };
        if start == Start::Extend {
            if let Some(quota) = &self.quota {
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                if !quota.take(size) {
                    return Err(Fault::space("the store is full"));
                }
                unfinished.taken = size;
            }
            unfinished.size = copy(old.as_fd(), unfinished.file.as_fd()).map_err(bad)?;
        }
        let size = unfinished.size;
        Ok((self.keep(Opened::Writing(unfinished)), size))
    }

    fn read(&mut self, file: FileId, offset: u64, most: usize) -> Result<Message, Fault> {
        let file = match self.opened.get(&file.0) {
            Some(Opened::Reading { file, .. }) => file,
            Some(Opened::Writing(Unfinished { file, .. })) => file,
            None => return Err(Fault::permanent(5027, "the file is not open")),
        };
        let (mut filled, mut failed) = (0, None);
        // The octets are read to where they stay: the page is the message.
        let page = Page::build(most, |octets| {
            while let Some(rest) = octets.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                match pread(file, rest, offset.saturating_add(filled as u64)) {
                    Ok(0) => break,
                    Ok(len) => filled += len,
                    Err(Errno::INTR) => {}
                    Err(why) => {
                        failed = Some(why);
                        break;
                    }
                }
            }
        });
        match failed {
            Some(why) => Err(trouble(why, 5027)),
            None => {
                let mut data = Message::from_page(page);
                data.truncate(filled);
                Ok(data)
            }
        }
    }

    fn write(&mut self, file: FileId, offset: u64, data: Message) -> Result<(), Fault> {
        let Some(Opened::Writing(Unfinished {
            file, size, taken, ..
        })) = self.opened.get_mut(&file.0)
        else {
            return Err(Fault::permanent(5026, "the file is not open for writing"));
        };
        if offset > *size {
            return Err(Fault::permanent(5026, "a gap in what is written"));
        }
        let bad = |why| trouble(why, 5026);
        if let Some(quota) = &self.quota {
            let end = offset.saturating_add(data.len() as u64);
            let more = end.saturating_sub(*taken);
            if !quota.take(more) {
                return Err(Fault::space("the store is full"));
            }
            *taken = taken.saturating_add(more);
        }
        if offset < *size {
            ftruncate(&*file, offset).map_err(bad)?;
        }
        *size = offset;
        let mut done = Ok(());
        data.for_each(|octets| {
            if done.is_ok() {
                done = write_all(file.as_fd(), octets, *size);
                *size = size.saturating_add(octets.len() as u64);
            }
        });
        done.map_err(bad)
    }

    fn commit(&mut self, _: &User, file: FileId, _: Moment) -> Result<(), Fault> {
        let Some(Opened::Writing(mut it)) = self.opened.remove(&file.0) else {
            return Err(Fault::permanent(5026, "the file is not open for writing"));
        };
        let old = size_of(&it.directory, &it.last);
        fsync(&it.file)
            .and_then(|()| renameat(&it.directory, &it.name, &it.directory, &it.last))
            .map_err(|why| trouble(why, 5026))?;
        it.is_placed = true;
        it.taken = it.taken.saturating_sub(it.size).saturating_add(old);
        fsync(&it.directory).map_err(|why| trouble(why, 5026))
    }

    fn close(&mut self, file: FileId) {
        self.opened.remove(&file.0);
    }

    fn detach(&mut self, file: FileId) -> Option<Detached> {
        self.opened.remove(&file.0).map(Detached::new)
    }

    fn attach(&mut self, file: Detached) -> Result<FileId, Fault> {
        let opened = file.downcast::<Opened>();
        let opened = opened.ok_or_else(|| Fault::docket("not of a directory"))?;
        if let Opened::Reading { file, seen } = &opened {
            let stat = fstat(file).map_err(|why| trouble(why, 5027))?;
            if Seen::of(&stat) != *seen {
                return Err(Fault::docket("the file was written to meanwhile"));
            }
        }
        Ok(self.keep(opened))
    }
}

/// Octets of a file; none of what is no file.
fn size_of(directory: &OwnedFd, last: &OsStr) -> u64 {
    let stat = statat(directory, last, AtFlags::SYMLINK_NOFOLLOW);
    let stat = stat
        .ok()
        .filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    stat.map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0))
}
