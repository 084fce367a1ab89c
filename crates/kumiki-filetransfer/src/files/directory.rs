//! The store.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use kumiki_files::filestore::{Detached, FileId, Filestore, Form, Login, Name, NewFile, Start, StoreError, User};
use kumiki_live::refusal;
use kumiki_octets::{Account, Claim, Message, Page};
use kumiki_osi_service::ftam::access::AccessControlElement;
use kumiki_osi_service::ftam::attributes::{Attribute, Availability, ObjectType, ReadAttributes};
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::{AttributeNames, CalendarTime, GeneralizedTime, GraphicString, PermittedActions};

use super::disk::{Disk, Errno, Kind, Meta, OFlags, Synced, System};
use super::quota::NoEntry;
use super::{Passwords, Quota};

/// How names of unfinished files begin. Nobody can name, see or make one that begins so.
pub(super) const UNFINISHED: &str = ".kumiki-";

/// The bit of the mode (S_ISVTX, of no meaning for a file) of one that was made for what is being written. While it is
/// empty a crash may have left it.
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

/// What is possible with directories. A directory is extended by what is created in it: ISODE's initiator asks for that
/// access when it makes one. Opened for extending it is not.
const DIRECTORY_ACTIONS: PermittedActions = PermittedActions::READ
    .with(PermittedActions::EXTEND)
    .with(PermittedActions::READ_ATTRIBUTE)
    .with(PermittedActions::CHANGE_ATTRIBUTE)
    .with(PermittedActions::DELETE);

#[derive(Debug)]
enum OpenFile<D: Disk> {
    Reading { file: D::File, seen: FileVersion },
    Writing(UnfinishedFile<D>),
}

/// By which it is seen that others have written to a file that is being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FileVersion {
    size: u64,
    modified: (i64, u64),
}

impl FileVersion {
    const fn of(meta: &Meta) -> Self {
        Self { size: meta.size, modified: meta.modified }
    }
}

/// A file that is being written, under a name that nobody sees. Wherever it is dropped, it is gone, and what it has
/// taken is given back.
#[derive(Debug)]
struct UnfinishedFile<D: Disk> {
    disk: D,
    file: D::File,
    directory: D::File,
    name: OsString,
    /// Where it goes.
    last: OsString,
    size: u64,
    quota: Option<Arc<Quota>>,
    /// Octets that were taken from the quota, and are to be given back.
    taken: u64,
    is_placed: bool,
    /// What of the old file's owner and group could not be kept.
    lost: Option<String>,
}

impl<D: Disk> Drop for UnfinishedFile<D> {
    fn drop(&mut self) {
        if !self.is_placed {
            // That it stays where this fails hurts nobody: it is never shown.
            let name = Path::new(&self.name);
            let _ = self.disk.remove(Some(&self.directory), name, false);
        }
        if let Some(quota) = &self.quota {
            quota.give(self.taken);
        }
    }
}

/// Files below a directory.
#[derive(Debug)]
pub struct Directory<D: Disk = System> {
    disk: D,
    root: Arc<D::File>,
    passwords: Passwords,
    read_only: bool,
    /// Whether openat2 is there.
    at_once: bool,
    opened: BTreeMap<u64, OpenFile<D>>,
    next: u64,
    quota: Option<Arc<Quota>>,
    /// From which is claimed what a listing takes.
    account: Option<Account>,
    listed: Option<Claim>,
    /// What is to be known of what was committed last.
    remark: Option<String>,
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
        Ok(Self::on(System, open_root(&System, root)?, passwords))
    }
}

/// Opens the directory below which a store is.
///
/// # Errors
/// There is none, or it cannot be opened.
pub fn open_root<D: Disk>(disk: &D, root: &Path) -> io::Result<Arc<D::File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Arc::new(disk.open(None, root, flags, 0)?))
}

/// Tries whether what is directly below `root` can be listed and, where that is wanted, files can be made there, by
/// whom we are now: the descriptor may be of somebody who could more.
///
/// # Errors
/// What cannot be done (`list` or `make files in`), and why.
pub fn try_root<D: Disk>(disk: &D, root: &D::File, to_write: bool) -> Result<(), (&'static str, Errno)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    disk.open(Some(root), Path::new("."), flags, 0).map_err(|why| ("list", why))?;
    if !to_write {
        return Ok(());
    }
    // Without a name, so that nobody sees it, and nothing stays. Not all file systems have that: of those it is not
    // known.
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    match disk.open(Some(root), Path::new("."), flags, 0o600) {
        Err(why @ (Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::NOSPC | Errno::DQUOT)) => {
            Err(("make files in", why))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

impl<D: Disk> Directory<D> {
    /// The same of a directory that is open already, on any disk.
    #[must_use]
    pub const fn on(disk: D, root: Arc<D::File>, passwords: Passwords) -> Self {
        Self {
            disk,
            root,
            passwords,
            read_only: false,
            at_once: true,
            opened: BTreeMap::new(),
            next: 0,
            quota: None,
            account: None,
            listed: None,
            remark: None,
        }
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
    fn claim(&mut self, names: usize) -> Result<(), StoreError> {
        let Some(account) = &self.account else {
            return Ok(());
        };
        let octets = (names * LISTED) as u64;
        let claimed = match &mut self.listed {
            Some(claim) => claim.grow_to(octets),
            none => account.claim(octets).map(|claim| *none = Some(claim)),
        };
        claimed.map_err(|_| StoreError::transient(9, "no memory for a listing so long"))
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
    fn directory(&mut self, components: &[GraphicString]) -> Result<D::File, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if self.at_once {
            let parts: Vec<&[u8]> = components.iter().map(GraphicString::octets).collect();
            let mut path = parts.join(&b'/');
            if path.is_empty() {
                path.push(b'.');
            }
            let path = Path::new(OsStr::from_bytes(&path));
            match self.disk.open_beneath(&self.root, path, flags) {
                // Forbidden by a filter of system calls, or not there.
                Err(Errno::NOSYS | Errno::PERM) => self.at_once = false,
                done => return done,
            }
        }
        let mut at = self.disk.open(Some(&self.root), Path::new("."), flags, 0)?;
        for component in components {
            let path = Path::new(OsStr::from_bytes(component.octets()));
            at = self.disk.open(Some(&at), path, flags, 0)?;
        }
        Ok(at)
    }

    /// The directory that `name` is in, and its last component.
    fn place(&mut self, name: &Name) -> Result<(D::File, OsString), StoreError> {
        let bad = |why: &str| StoreError::permanent(3027, why);
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
        let directory = self.directory(before).map_err(|why| fault(why, 3004, name))?;
        Ok((directory, OsStr::from_bytes(last.octets()).to_owned()))
    }

    /// One entry more is to be in a directory, whose identity this gives.
    fn take_entry(&self, directory: &D::File) -> Result<Option<(u64, u64)>, StoreError> {
        let Some(quota) = &self.quota else {
            return Ok(None);
        };
        let id = identity(&self.disk, directory);
        let Some(known) = id else {
            return Ok(None);
        };
        match quota.take_entry(known, || entries(&self.disk, directory)) {
            Ok(()) => Ok(id),
            Err(NoEntry::InAll) => Err(StoreError::space("the store has as many entries as it may")),
            Err(NoEntry::OfOne(most)) => {
                let text = format!("the directory has {most} entries, and may have no more");
                Err(StoreError::space(text))
            }
        }
    }

    fn give_entry(&self, id: Option<(u64, u64)>) {
        if let (Some(quota), Some(id)) = (&self.quota, id) {
            quota.give_entry(id);
        }
    }

    fn may_write(&self) -> Result<(), StoreError> {
        if self.read_only {
            return Err(StoreError::permanent(11, "the responder is read-only"));
        }
        Ok(())
    }

    fn keep(&mut self, opened: OpenFile<D>) -> FileId {
        self.next += 1;
        self.opened.insert(self.next, opened);
        FileId(self.next)
    }

    fn actions(&self, of: PermittedActions) -> PermittedActions {
        if self.read_only { of & (PermittedActions::READ | PermittedActions::READ_ATTRIBUTE) } else { of }
    }

    fn describe(&self, last: &OsStr, meta: &Meta) -> ReadAttributes {
        let is_directory = meta.kind == Kind::Directory;
        let date = |seconds: i64| {
            CalendarTime::from_unix_seconds(seconds)
                .map_or(Attribute::NoValueAvailable, |it| GeneralizedTime::from(it).into())
        };
        let (kind, actions, contents) = if is_directory {
            let contents = ContentsType::directory(ENTRIES);
            (ObjectType::FileDirectory, DIRECTORY_ACTIONS, contents)
        } else {
            (ObjectType::File, FILE_ACTIONS, ContentsType::binary())
        };
        ReadAttributes {
            pathname: Some(GraphicString::from(last.as_bytes()).into()),
            object_type: Some(kind),
            permitted_actions: Some(self.actions(actions)),
            contents_type: Some(contents),
            created: Some(Attribute::NoValueAvailable),
            modified: Some(date(meta.modified.0)),
            read: Some(date(meta.read)),
            attributes_modified: Some(date(meta.changed)),
            availability: Some(Availability::Immediate.into()),
            size: Some(meta.size.into()),
            ..ReadAttributes::default()
        }
    }

    /// Opens a regular file, and nothing else: neither what a link leads to nor a device.
    fn regular(&self, directory: &D::File, last: &OsStr) -> Result<(D::File, Meta), Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = self.disk.open(Some(directory), Path::new(last), flags, 0)?;
        let meta = self.disk.meta(&file)?;
        if meta.kind == Kind::File { Ok((file, meta)) } else { Err(Errno::ISDIR) }
    }
}

/// By which a directory is known, whatever it is called.
fn identity<D: Disk>(disk: &D, directory: &D::File) -> Option<(u64, u64)> {
    disk.meta(directory).ok().map(|meta| meta.identity)
}

/// How many entries a directory has that are shown; none where it cannot be read.
fn entries<D: Disk>(disk: &D, directory: &D::File) -> usize {
    let mut shown = 0;
    let told = disk.names(directory, &mut |last| {
        shown += usize::from(!last.as_bytes().starts_with(UNFINISHED.as_bytes()));
        true
    });
    told.map_or(0, |()| shown)
}

/// What the system says, as a diagnostic; `otherwise` where it is nothing in particular.
fn fault(why: Errno, otherwise: i64, name: &Name) -> StoreError {
    let said = || format!("{name}: {}", refusal::plain(&why.into()));
    match why {
        Errno::NOENT | Errno::NOTDIR => StoreError::missing(name),
        Errno::EXIST => StoreError::exists(name),
        Errno::NAMETOOLONG => StoreError::permanent(3027, name.to_string()),
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => StoreError::space(said()),
        Errno::NOTEMPTY => StoreError::permanent(3007, "the directory is not empty"),
        Errno::LOOP | Errno::XDEV => StoreError::permanent(11, format!("{name} is a link")),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => StoreError::permanent(11, said()),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => StoreError::transient(9, said()),
        Errno::IO => StoreError::permanent(5031, said()),
        _ => StoreError::permanent(otherwise, said()),
    }
}

/// The same of an open file, whose name the peer knows.
fn trouble(why: Errno, otherwise: i64) -> StoreError {
    match why {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => StoreError::space(why.to_string()),
        Errno::IO => StoreError::permanent(5031, why.to_string()),
        _ => StoreError::permanent(otherwise, why.to_string()),
    }
}

/// Gives a new file owner, group and permissions of the one that it takes the place of, as far as may be; says what may
/// not.
fn be_like<D: Disk>(disk: &D, file: &D::File, meta: &Meta) -> Option<String> {
    let own = disk.meta(file).ok()?;
    // Who may not give a file away keeps it, and may still leave it to a group of his.
    if own.user != meta.user {
        let _ = disk.give(file, Some(meta.user), None);
    }
    let is_theirs = own.group == meta.group || disk.give(file, None, Some(meta.group)).is_ok();
    // What the group may do is for theirs, and not for another one.
    let bits = if is_theirs { 0o777 } else { 0o707 };
    let _ = disk.set_mode(file, meta.mode & bits);
    let now = disk.meta(file).ok()?;
    let mut lost = Vec::new();
    if now.user != meta.user {
        lost.push(format!("owner {} and no longer {}", now.user, meta.user));
    }
    if now.group != meta.group {
        lost.push(format!("group {} and no longer {}, without its rights", now.group, meta.group));
    }
    (!lost.is_empty()).then(|| lost.join(", "))
}

/// Copies a file, and says how many octets it has.
fn copy<D: Disk>(disk: &D, from: &D::File, to: &D::File) -> Result<u64, Errno> {
    let (mut at, mut octets) = (0_u64, vec![0; COPIED]);
    loop {
        let len = disk.read_full(from, &mut octets, at)?;
        disk.write_all(to, octets.get(..len).unwrap_or_default(), at)?;
        at = at.saturating_add(len as u64);
        if len < octets.len() {
            return Ok(at);
        }
    }
}

impl<D: Disk> Filestore for Directory<D> {
    fn authenticate(&mut self, login: &Login<'_>) -> Result<User, StoreError> {
        self.passwords.authenticate(login)
    }

    fn keeps_types(&self) -> bool {
        false
    }

    fn keeps_access_control(&self) -> bool {
        false
    }

    fn attributes(&mut self, _: &User, name: &Name) -> Result<ReadAttributes, StoreError> {
        if name.components().is_empty() {
            let meta = self.disk.meta(&self.root);
            let meta = meta.map_err(|why| fault(why, 5027, name))?;
            return Ok(self.describe(OsStr::new("/"), &meta));
        }
        let (directory, last) = self.place(name)?;
        let meta = self.disk.meta_at(Some(&directory), Path::new(&last));
        let meta = meta.map_err(|why| fault(why, 5027, name))?;
        match meta.kind {
            Kind::File | Kind::Directory => Ok(self.describe(&last, &meta)),
            Kind::Other => Err(StoreError::permanent(11, format!("{name} is no file"))),
        }
    }

    fn list(&mut self, _: &User, name: &Name, most: usize) -> Result<Vec<GraphicString>, StoreError> {
        let bad = |why| fault(why, 5027, name);
        if !name.components().is_empty() {
            self.place(name)?;
        }
        let directory = self.directory(name.components()).map_err(bad)?;
        let mut names: Vec<GraphicString> = Vec::new();
        self.listed = None;
        let mut why_not = None;
        // What is told is taken out of the store for as long, for a claim changes what it has.
        let disk = self.disk.clone();
        let told = disk.names(&directory, &mut |last| {
            if last.as_bytes().starts_with(UNFINISHED.as_bytes()) {
                return true;
            }
            // One that is gone since, and whatever is no file, is left out.
            let meta = disk.meta_at(Some(&directory), Path::new(last));
            if meta.is_ok_and(|meta| meta.kind != Kind::Other) {
                names.push(last.as_bytes().into());
                if names.len() > most {
                    why_not = Some(StoreError::crowded(most));
                } else if names.len().is_multiple_of(AT_ONCE) {
                    why_not = self.claim(names.len() + AT_ONCE).err();
                }
            }
            why_not.is_none()
        });
        told.map_err(bad)?;
        if let Some(fault) = why_not {
            return Err(fault);
        }
        names.sort();
        Ok(names)
    }

    fn create(&mut self, _: &User, name: &Name, file: &NewFile, _: CalendarTime) -> Result<(), StoreError> {
        self.may_write()?;
        let (directory, last) = self.place(name).map_err(|fault| match fault.identifier {
            3004 => StoreError::permanent(3006, "no such directory"),
            _ => fault,
        })?;
        let id = self.take_entry(&directory)?;
        let path = Path::new(&last);
        let done = if Form::of(&file.contents_type) == Some(Form::Directory) {
            let made = self.disk.make_directory(Some(&directory), path, 0o750);
            // What is put into it is lost with it.
            made.and_then(|()| self.disk.sync(&directory, Synced::All))
        } else {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let made = self.disk.open(Some(&directory), path, flags, MADE | 0o640);
            made.map(drop)
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
        if let Ok((file, meta)) = self.regular(&directory, &last) {
            let _ = self
                .disk
                .set_mode(&file, meta.mode & 0o777)
                .and_then(|()| self.disk.sync(&file, Synced::All))
                .and_then(|()| self.disk.sync(&directory, Synced::All));
        }
    }

    fn delete(&mut self, user: &User, name: &Name) -> Result<(), StoreError> {
        self.may_write()?;
        let kind = self.attributes(user, name)?.object_type;
        let (directory, last) = self.place(name)?;
        let is_directory = kind == Some(ObjectType::FileDirectory);
        let size = size_of(&self.disk, &directory, &last);
        self.disk.remove(Some(&directory), Path::new(&last), is_directory).map_err(|why| fault(why, 3007, name))?;
        if let Some(quota) = &self.quota {
            quota.give(size);
        }
        self.give_entry(identity(&self.disk, &directory));
        // Else it might be there again.
        let done = self.disk.sync(&directory, Synced::All);
        done.map_err(|why| fault(why, 3007, name))
    }

    fn rename(&mut self, user: &User, from: &Name, to: &Name, _: CalendarTime) -> Result<(), StoreError> {
        self.may_write()?;
        self.attributes(user, from)?;
        let (old, old_last) = self.place(from)?;
        let (new, new_last) = self.place(to).map_err(|fault| match fault.identifier {
            3004 => StoreError::permanent(4005, "no such directory"),
            _ => fault,
        })?;
        let id = self.take_entry(&new)?;
        let (old_path, new_path) = (Path::new(&old_last), Path::new(&new_last));
        let renamed = self.disk.rename((Some(&old), old_path), (Some(&new), new_path), false);
        // Either it is in its old place no more, or in its new one not yet.
        self.give_entry(if renamed.is_ok() { identity(&self.disk, &old) } else { id });
        renamed.map_err(|why| match why {
            Errno::EXIST => StoreError::permanent(4005, "there is a file of the new name"),
            Errno::INVAL => StoreError::permanent(4005, "the new name is below the old one"),
            why => fault(why, 4005, from),
        })?;
        // First where it is now: in between it is better seen twice than not at all.
        let done = self.disk.sync(&new, Synced::All);
        let done = done.and_then(|()| self.disk.sync(&old, Synced::All));
        done.map_err(|why| fault(why, 4005, from))
    }

    fn set_access_control(
        &mut self,
        _: &User,
        _: &Name,
        _: Vec<AccessControlElement>,
        _: CalendarTime,
    ) -> Result<(), StoreError> {
        Err(StoreError::permanent(4002, "this store keeps no access control"))
    }

    fn read_from(&mut self, _: &User, name: &Name, _: CalendarTime) -> Result<(FileId, u64), StoreError> {
        let (directory, last) = self.place(name)?;
        let opened = self.regular(&directory, &last);
        let (file, meta) = opened.map_err(|why| fault(why, 5027, name))?;
        let seen = FileVersion::of(&meta);
        Ok((self.keep(OpenFile::Reading { file, seen }), meta.size))
    }

    fn write_to(&mut self, _: &User, name: &Name, start: Start) -> Result<(FileId, u64), StoreError> {
        self.may_write()?;
        let bad = |why| fault(why, 5026, name);
        let (directory, last) = self.place(name)?;
        let (old, meta) = self.regular(&directory, &last).map_err(bad)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut number = self.next;
        let (file, unfinished, lost) = loop {
            let process = rustix::process::getpid();
            let unfinished = OsString::from(format!("{UNFINISHED}{process}-{number}"));
            let path = Path::new(&unfinished);
            let bits = meta.mode & 0o777;
            match self.disk.open(Some(&directory), path, flags, bits) {
                // Who looks for what a crash has left sees that this is in use.
                Ok(file) if self.disk.lock(&file).is_ok() => {
                    let lost = be_like(&self.disk, &file, &meta);
                    break (file, unfinished, lost);
                }
                Ok(_) | Err(Errno::EXIST) => number += 1,
                Err(why) => return Err(bad(why)),
            }
        };
        let mut unfinished = UnfinishedFile {
            disk: self.disk.clone(),
            file,
            directory,
            name: unfinished,
            last,
            size: 0,
            quota: self.quota.clone(),
            taken: 0,
            is_placed: false,
            lost,
        };
        if start == Start::Extend {
            if let Some(quota) = &self.quota {
                if !quota.take(meta.size) {
                    return Err(StoreError::space("the quota of the store is used up"));
                }
                unfinished.taken = meta.size;
            }
            unfinished.size = copy(&self.disk, &old, &unfinished.file).map_err(bad)?;
        }
        let size = unfinished.size;
        Ok((self.keep(OpenFile::Writing(unfinished)), size))
    }

    fn read(&mut self, file: FileId, offset: u64, most: usize) -> Result<Message, StoreError> {
        let file = match self.opened.get(&file.0) {
            Some(OpenFile::Reading { file, .. }) => file,
            Some(OpenFile::Writing(UnfinishedFile { file, .. })) => file,
            None => return Err(StoreError::permanent(5027, "the file is not open")),
        };
        let (mut filled, mut failed) = (0, None);
        // The octets are read to where they stay: the page is the message.
        let page = Page::build(most, |octets| match self.disk.read_full(file, octets, offset) {
            Ok(len) => filled = len,
            Err(why) => failed = Some(why),
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

    fn write(&mut self, file: FileId, offset: u64, data: Message) -> Result<(), StoreError> {
        let Some(OpenFile::Writing(UnfinishedFile { disk, file, size, taken, .. })) = self.opened.get_mut(&file.0)
        else {
            return Err(StoreError::permanent(5026, "the file is not open for writing"));
        };
        if offset > *size {
            return Err(StoreError::permanent(5026, "a gap in what is written"));
        }
        let bad = |why| trouble(why, 5026);
        if let Some(quota) = &self.quota {
            let end = offset.saturating_add(data.len() as u64);
            let more = end.saturating_sub(*taken);
            if !quota.take(more) {
                return Err(StoreError::space("the quota of the store is used up"));
            }
            *taken = taken.saturating_add(more);
        }
        if offset < *size {
            disk.set_size(file, offset).map_err(bad)?;
        }
        *size = offset;
        let mut done = Ok(());
        data.for_each(|octets| {
            if done.is_ok() {
                done = disk.write_all(file, octets, *size);
                *size = size.saturating_add(octets.len() as u64);
            }
        });
        done.map_err(bad)
    }

    fn commit(&mut self, _: &User, file: FileId, _: CalendarTime) -> Result<(), StoreError> {
        let Some(OpenFile::Writing(mut it)) = self.opened.remove(&file.0) else {
            return Err(StoreError::permanent(5026, "the file is not open for writing"));
        };
        let old = size_of(&it.disk, &it.directory, &it.last);
        let (name, last) = (Path::new(&it.name), Path::new(&it.last));
        let directory = Some(&it.directory);
        it.disk
            .sync(&it.file, Synced::All)
            .and_then(|()| it.disk.rename((directory, name), (directory, last), true))
            .map_err(|why| trouble(why, 5026))?;
        it.is_placed = true;
        self.remark = it.lost.take();
        it.taken = it.taken.saturating_sub(it.size).saturating_add(old);
        let done = it.disk.sync(&it.directory, Synced::All);
        done.map_err(|why| trouble(why, 5026))
    }

    fn remark(&mut self) -> Option<String> {
        self.remark.take()
    }

    fn close(&mut self, file: FileId) {
        self.opened.remove(&file.0);
    }

    fn detach(&mut self, file: FileId) -> Option<Detached> {
        self.opened.remove(&file.0).map(Detached::new)
    }

    fn attach(&mut self, file: Detached) -> Result<FileId, StoreError> {
        let opened = file.downcast::<OpenFile<D>>();
        let opened = opened.ok_or_else(|| StoreError::docket("not of a directory"))?;
        if let OpenFile::Reading { file, seen } = &opened {
            let meta = self.disk.meta(file).map_err(|why| trouble(why, 5027))?;
            if FileVersion::of(&meta) != *seen {
                return Err(StoreError::docket("the file was written to meanwhile"));
            }
        }
        Ok(self.keep(opened))
    }
}

/// Octets of a file; none of what is no file.
fn size_of<D: Disk>(disk: &D, directory: &D::File, last: &OsStr) -> u64 {
    let meta = disk.meta_at(Some(directory), Path::new(last)).ok();
    let meta = meta.filter(|meta| meta.kind == Kind::File);
    meta.map_or(0, |meta| meta.size)
}
