//! A disk in memory, with a page cache above it.
//!
//! | what is modelled | how |
//! |---|---|
//! | page cache | calls see all that was done; a change that was not synchronised waits in a list, in order |
//! | fsync(2), fdatasync(2) of a file | its writes, sizes (and permissions) that wait are on the disk. Its name is not: POSIX says nothing of it |
//! | fsync(2) of a directory | what was made, renamed and removed in it is on the disk. A rename is there as a whole or not at all; one between two directories is there with either |
//! | a crash | of what waits *any* part is on the disk: each change is there or is not, whatever was first; a write may also be there in its first half, or as zeros of its length |
//! | a call that fails | at a chosen call, or from there on, with an error of choice; a write that writes less; a synchronisation that fails has thrown away the octets that it was to write, and the next one succeeds, as in Linux; names and sizes wait on |
//! | time | seconds from call to call, or years to and fro |
//!
//! A crash is a new disk ([`Simulated::crashes`]): the stores that worked on the old one see errors from there on, and
//! change nothing more.
//!
//! **Left out**: changes that were synchronised and are lost all the same, and octets that rot: no order of calls helps
//! against those. Links.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, Errno, Kind, Meta, OFlags, Synced};

/// The working directory, and the top of all.
const ROOT: u64 = 1;

/// Jumps of the clock, in seconds: to the next year and back before the last one.
const JUMPS: [i64; 4] = [0, 366 * 86_400, -366 * 86_400, 1];

/// When calls begin, in seconds since 1970.
const BEGIN: i64 = 800_000_000;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The call has this error.
    Error(Errno),
    /// A write writes half.
    Short,
}

#[derive(Clone, Debug)]
struct Node {
    content: Content,
    mode: u32,
    modified: i64,
}

#[derive(Clone, Debug)]
enum Content {
    File(Vec<u8>),
    Directory(BTreeMap<OsString, u64>),
}

/// What waits to be on the disk.
#[derive(Clone, Debug)]
enum Change {
    Write(u64, u64, Vec<u8>),
    Size(u64, u64),
    Mode(u64, u32),
    /// In this directory the name is this file's, or nobody's.
    Name(u64, OsString, Option<u64>),
    /// From a directory and name to another, of this file.
    Rename((u64, OsString), (u64, OsString), u64),
}

/// How much of a change has reached the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Share {
    Nothing,
    All,
    Half,
    Zeros,
}

type Nodes = BTreeMap<u64, Node>;

impl Change {
    /// Whether a synchronisation of `node` is about it.
    fn is_of(&self, node: u64, what: Synced) -> bool {
        match self {
            Self::Write(of, ..) | Self::Size(of, _) => *of == node,
            Self::Mode(of, _) => *of == node && what == Synced::All,
            Self::Name(of, ..) => *of == node,
            Self::Rename((from, _), (to, _), _) => *from == node || *to == node,
        }
    }

    /// How it can be on the disk after a crash.
    const fn shares(&self) -> &'static [Share] {
        match self {
            Self::Write(..) => &[Share::All, Share::Nothing, Share::Half, Share::Zeros],
            Self::Size(..) | Self::Mode(..) | Self::Name(..) | Self::Rename(..) => &[Share::All, Share::Nothing],
        }
    }

    fn apply(&self, nodes: &mut Nodes, share: Share) {
        if share == Share::Nothing {
            return;
        }
        match self {
            Self::Write(of, at, octets) => {
                let Some(Content::File(file)) = nodes.get_mut(of).map(|it| &mut it.content) else {
                    return;
                };
                let len = match share {
                    Share::Half => octets.len() / 2,
                    Share::All | Share::Zeros | Share::Nothing => octets.len(),
                };
                let begin = usize::try_from(*at).unwrap_or(usize::MAX);
                let end = begin.saturating_add(len);
                if file.len() < end {
                    file.resize(end, 0);
                }
                if let (Some(room), Some(octets)) = (file.get_mut(begin..end), octets.get(..len)) {
                    if share == Share::Zeros {
                        room.fill(0);
                    } else {
                        room.copy_from_slice(octets);
                    }
                }
            }
            Self::Size(of, size) => {
                if let Some(Content::File(file)) = nodes.get_mut(of).map(|it| &mut it.content) {
                    file.resize(usize::try_from(*size).unwrap_or(usize::MAX), 0);
                }
            }
            Self::Mode(of, mode) => {
                if let Some(node) = nodes.get_mut(of) {
                    node.mode = *mode;
                }
            }
            Self::Name(of, name, node) => set(nodes, *of, name, *node),
            Self::Rename((from, old), (to, new), node) => {
                // What has its name by now is another.
                if entry(nodes, *from, old) == Some(*node) {
                    set(nodes, *from, old, None);
                }
                set(nodes, *to, new, Some(*node));
            }
        }
    }
}

fn entry(nodes: &Nodes, directory: u64, name: &OsStr) -> Option<u64> {
    match &nodes.get(&directory)?.content {
        Content::Directory(names) => names.get(name).copied(),
        Content::File(_) => None,
    }
}

fn set(nodes: &mut Nodes, directory: u64, name: &OsStr, node: Option<u64>) {
    if let Some(Content::Directory(names)) = nodes.get_mut(&directory).map(|it| &mut it.content) {
        match node {
            Some(node) => names.insert(name.to_owned(), node),
            None => names.remove(name),
        };
    }
}

/// The disk, and what is above it.
#[derive(Clone, Debug)]
struct Machine {
    /// What calls see.
    cache: Nodes,
    /// What is on the disk for sure.
    disk: Nodes,
    waiting: Vec<Change>,
    next: u64,
    calls: u64,
    /// At this call power is lost.
    stops_at: Option<u64>,
    has_stopped: bool,
    /// From this call on, and whether only there, this goes wrong.
    fails: Option<(u64, bool, Failure)>,
    has_failed: bool,
    jumps: bool,
    /// Which files are locked.
    locks: Vec<u64>,
}

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct Simulated(Arc<Mutex<Machine>>);

/// All that is on a disk, by paths: permissions, and octets where it is a file.
pub(super) type Picture = BTreeMap<OsString, (u32, Option<Vec<u8>>)>;

/// An open file of it.
#[derive(Debug)]
pub struct Handle {
    node: u64,
    disk: Simulated,
    holds: Mutex<bool>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if *self.holds.lock().unwrap_or_else(PoisonError::into_inner) {
            let node = self.node;
            self.disk.machine().locks.retain(|locked| *locked != node);
        }
    }
}

/// The disk after a crash, and what was lost of it, for people.
#[derive(Debug)]
pub struct Crash {
    /// What is there now.
    pub disk: Simulated,
    /// What was not synchronised, and how much of it is there.
    pub lost: String,
}

/// All that can be on a disk after a crash.
#[derive(Debug)]
pub struct Crashes {
    machine: Machine,
    /// Which of the shares of each change is next; none when all have been.
    next: Option<Vec<usize>>,
}

impl Default for Simulated {
    fn default() -> Self {
        let top = Node { content: Content::Directory(BTreeMap::new()), mode: 0o755, modified: BEGIN };
        let nodes: Nodes = [(ROOT, top)].into();
        Self(Arc::new(Mutex::new(Machine {
            cache: nodes.clone(),
            disk: nodes,
            waiting: Vec::new(),
            next: ROOT + 1,
            calls: 0,
            stops_at: None,
            has_stopped: false,
            fails: None,
            has_failed: false,
            jumps: false,
            locks: Vec::new(),
        })))
    }
}

impl Simulated {
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another disk with the same on it, in cache and below; its calls are counted from none, and nothing is to go
    /// wrong.
    #[must_use]
    pub fn copy(&self) -> Self {
        let mut machine = self.machine().clone();
        machine.calls = 0;
        machine.stops_at = None;
        machine.fails = None;
        machine.has_failed = false;
        machine.locks.clear();
        Self(Arc::new(Mutex::new(machine)))
    }

    /// Puts all that waits on the disk.
    pub fn sync_all(&self) {
        let mut machine = self.machine();
        machine.disk = machine.cache.clone();
        machine.waiting.clear();
    }

    /// Power is lost instead of this call, the first being 1.
    pub fn stop_at(&self, call: u64) {
        self.machine().stops_at = Some(call);
    }

    /// Whether power was lost.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.machine().has_stopped
    }

    /// This call goes wrong, the first being 1; all that follow too, unless it is this one `only`.
    pub fn fail_at(&self, call: u64, only: bool, failure: Failure) {
        self.machine().fails = Some((call, only, failure));
    }

    /// Whether one has.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.machine().has_failed
    }

    /// From here on the clock goes to and fro by years.
    pub fn let_clock_jump(&self) {
        self.machine().jumps = true;
    }

    /// How many calls there were.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.machine().calls
    }

    /// All that can be on the disk if power is lost now: each part of what waits, and each write torn.
    #[must_use]
    pub fn crashes(&self) -> Crashes {
        let machine = self.machine().clone();
        let next = Some(vec![0; machine.waiting.len()]);
        Crashes { machine, next }
    }

    /// All files, with their paths and octets, as calls see them; of a directory there is its path, with `/` behind it.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let machine = self.machine();
        let mut files = BTreeMap::new();
        let mut todo = vec![(String::new(), ROOT)];
        while let Some((path, node)) = todo.pop() {
            match machine.cache.get(&node).map(|it| &it.content) {
                Some(Content::File(octets)) => {
                    files.insert(path, octets.clone());
                }
                Some(Content::Directory(names)) => {
                    let inner = if path.is_empty() {
                        path
                    } else {
                        let inner = format!("{path}/");
                        files.insert(inner.clone(), Vec::new());
                        inner
                    };
                    let below = |(name, node): (&OsString, &u64)| (format!("{inner}{}", name.to_string_lossy()), *node);
                    todo.extend(names.iter().map(below));
                }
                None => {}
            }
        }
        files
    }

    /// The same with permissions, to be compared.
    pub(super) fn picture(&self) -> Picture {
        let machine = self.machine();
        let mut all = BTreeMap::new();
        let mut todo = vec![(OsString::new(), ROOT)];
        while let Some((path, node)) = todo.pop() {
            let Some(it) = machine.cache.get(&node) else {
                continue;
            };
            let octets = match &it.content {
                Content::File(octets) => Some(octets.clone()),
                Content::Directory(names) => {
                    for (name, node) in names {
                        let mut inner = path.clone();
                        inner.push("/");
                        inner.push(name);
                        todo.push((inner, *node));
                    }
                    None
                }
            };
            all.insert(path, (it.mode, octets));
        }
        all
    }

    /// Puts a directory there, on the disk.
    pub fn place_directory(&self, path: &str) {
        // Nothing is to go wrong yet.
        let _ = self.make_directory(None, Path::new(path), 0o755);
        self.sync_all();
    }

    /// Puts a file there, on the disk.
    pub fn place(&self, path: &str, octets: &[u8]) {
        let flags = OFlags::WRONLY | OFlags::CREATE;
        if let Ok(file) = self.open(None, Path::new(path), flags, 0o640) {
            // Nothing is to go wrong yet.
            let _ = self.write_all(&file, octets, 0);
        }
        self.sync_all();
    }
}

impl Iterator for Crashes {
    type Item = Crash;

    fn next(&mut self) -> Option<Crash> {
        let at = self.next.clone()?;
        let mut machine = self.machine.clone();
        let mut lost = String::new();
        for (change, share) in self.machine.waiting.iter().zip(&at) {
            let share = change.shares().get(*share).copied();
            let share = share.unwrap_or(Share::All);
            change.apply(&mut machine.disk, share);
            if share != Share::All {
                lost.push_str(&format!("{share:?} of {change:?} was on the disk; "));
            }
        }
        // The next one, as numbers are counted.
        let mut next = at;
        let mut is_last = true;
        for (change, share) in self.machine.waiting.iter().zip(&mut next) {
            *share += 1;
            if *share < change.shares().len() {
                is_last = false;
                break;
            }
            *share = 0;
        }
        self.next = (!is_last).then_some(next);
        machine.cache = machine.disk.clone();
        machine.waiting.clear();
        machine.has_stopped = false;
        machine.locks.clear();
        let disk = Simulated(Arc::new(Mutex::new(machine))).copy();
        Some(Crash { disk, lost })
    }
}

impl Machine {
    /// A call begins. Gives whether a write is to be short.
    fn call(&mut self) -> Result<bool, Errno> {
        self.calls += 1;
        if self.stops_at.is_some_and(|at| self.calls >= at) {
            self.has_stopped = true;
        }
        if self.has_stopped {
            return Err(Errno::IO);
        }
        let failure = self.fails.filter(|(at, only, _)| if *only { self.calls == *at } else { self.calls >= *at });
        match failure {
            None => Ok(false),
            Some((_, _, failure)) => {
                self.has_failed = true;
                match failure {
                    Failure::Error(why) => Err(why),
                    Failure::Short => Ok(true),
                }
            }
        }
    }

    fn now(&self) -> i64 {
        let calls = i64::try_from(self.calls).unwrap_or(i64::MAX);
        let index = usize::try_from(self.calls).unwrap_or(0) % JUMPS.len();
        let jump = JUMPS.get(index).filter(|_| self.jumps).copied();
        BEGIN.saturating_add(calls).saturating_add(jump.unwrap_or(0))
    }

    fn change(&mut self, change: Change) {
        let now = self.now();
        if let Change::Write(of, ..) | Change::Size(of, _) = &change
            && let Some(node) = self.cache.get_mut(of)
        {
            node.modified = now;
        }
        change.apply(&mut self.cache, Share::All);
        self.waiting.push(change);
    }

    /// The directory that the last component of a path is in, and that.
    fn place(&self, at: Option<u64>, path: &Path) -> Result<(u64, OsString), Errno> {
        let mut directory = at.unwrap_or(ROOT);
        let mut last: Option<&OsStr> = None;
        for component in path.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            if let Some(before) = last {
                directory = entry(&self.cache, directory, before).ok_or(Errno::NOENT)?;
                if self.names(directory).is_none() {
                    return Err(Errno::NOTDIR);
                }
            }
            last = Some(name);
        }
        let last = last.unwrap_or_else(|| OsStr::new("."));
        if last.as_bytes().len() > 255 {
            return Err(Errno::NAMETOOLONG);
        }
        Ok((directory, last.to_owned()))
    }

    fn names(&self, node: u64) -> Option<&BTreeMap<OsString, u64>> {
        match &self.cache.get(&node)?.content {
            Content::Directory(names) => Some(names),
            Content::File(_) => None,
        }
    }

    fn find(&self, at: Option<u64>, path: &Path) -> Result<u64, Errno> {
        let (directory, last) = self.place(at, path)?;
        if last == "." {
            return Ok(directory);
        }
        entry(&self.cache, directory, &last).ok_or(Errno::NOENT)
    }

    /// A new node, which nobody can name yet, is on the disk as well: nothing is lost with it.
    fn make(&mut self, content: &Content, mode: u32) -> u64 {
        let node = self.next;
        self.next += 1;
        let new = Node { content: content.clone(), mode, modified: self.now() };
        self.cache.insert(node, new.clone());
        self.disk.insert(node, new);
        node
    }

    fn meta(&self, node: u64) -> Result<Meta, Errno> {
        let it = self.cache.get(&node).ok_or(Errno::NOENT)?;
        let (kind, size) = match &it.content {
            Content::File(octets) => (Kind::File, octets.len() as u64),
            Content::Directory(_) => (Kind::Directory, 4096),
        };
        Ok(Meta {
            kind,
            size,
            mode: it.mode,
            user: 0,
            group: 0,
            modified: (it.modified, 0),
            read: it.modified,
            changed: it.modified,
            identity: (1, node),
        })
    }
}

impl Disk for Simulated {
    type File = Handle;

    fn open(&self, at: Option<&Handle>, path: &Path, flags: OFlags, mode: u32) -> Result<Handle, Errno> {
        let mut machine = self.machine();
        machine.call()?;
        let at = at.map(|at| at.node);
        let node = match machine.find(at, path) {
            Ok(_) if flags.contains(OFlags::CREATE | OFlags::EXCL) => return Err(Errno::EXIST),
            Ok(node) => node,
            Err(Errno::NOENT) if flags.contains(OFlags::CREATE) => {
                let (directory, name) = machine.place(at, path)?;
                let node = machine.make(&Content::File(Vec::new()), mode);
                machine.change(Change::Name(directory, name, Some(node)));
                node
            }
            Err(why) => return Err(why),
        };
        if flags.contains(OFlags::DIRECTORY) && machine.names(node).is_none() {
            return Err(Errno::NOTDIR);
        }
        if flags.contains(OFlags::TRUNC) && machine.names(node).is_none() {
            machine.change(Change::Size(node, 0));
        }
        Ok(Handle { node, disk: self.clone(), holds: Mutex::new(false) })
    }

    fn open_beneath(&self, at: &Handle, path: &Path, flags: OFlags) -> Result<Handle, Errno> {
        self.open(Some(at), path, flags, 0)
    }

    fn meta(&self, file: &Handle) -> Result<Meta, Errno> {
        let mut machine = self.machine();
        machine.call()?;
        machine.meta(file.node)
    }

    fn meta_at(&self, at: Option<&Handle>, path: &Path) -> Result<Meta, Errno> {
        let mut machine = self.machine();
        machine.call()?;
        let node = machine.find(at.map(|at| at.node), path)?;
        machine.meta(node)
    }

    fn names(&self, directory: &Handle, each: &mut dyn FnMut(&OsStr) -> bool) -> Result<(), Errno> {
        let names = {
            let mut machine = self.machine();
            machine.call()?;
            let names = machine.names(directory.node).ok_or(Errno::NOTDIR)?;
            names.clone()
        };
        // Whoever is told may make calls of its own.
        for name in names.keys() {
            if !each(name) {
                break;
            }
        }
        Ok(())
    }

    fn read(&self, file: &Handle, octets: &mut [u8], at: u64) -> Result<usize, Errno> {
        let mut machine = self.machine();
        machine.call()?;
        let Some(Content::File(content)) = machine.cache.get(&file.node).map(|it| &it.content) else {
            return Err(Errno::ISDIR);
        };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let rest = content.get(at..).unwrap_or_default();
        let len = rest.len().min(octets.len());
        if let (Some(room), Some(rest)) = (octets.get_mut(..len), rest.get(..len)) {
            room.copy_from_slice(rest);
        }
        Ok(len)
    }

    fn write(&self, file: &Handle, octets: &[u8], at: u64) -> Result<usize, Errno> {
        let mut machine = self.machine();
        let len = if machine.call()? { octets.len().div_ceil(2) } else { octets.len() };
        let octets = octets.get(..len).unwrap_or_default().to_vec();
        machine.change(Change::Write(file.node, at, octets));
        Ok(len)
    }

    fn set_size(&self, file: &Handle, size: u64) -> Result<(), Errno> {
        let mut machine = self.machine();
        machine.call()?;
        // Nothing waits where nothing changes.
        if machine.meta(file.node)?.size != size {
            machine.change(Change::Size(file.node, size));
        }
        Ok(())
    }

    fn sync(&self, file: &Handle, what: Synced) -> Result<(), Errno> {
        let mut machine = self.machine();
        let was_there = machine.has_stopped;
        let called = machine.call();
        if machine.has_stopped && (was_there || called.is_err()) {
            return called.map(|_| ());
        }
        let waiting = core::mem::take(&mut machine.waiting);
        for change in waiting {
            let is_octets = matches!(change, Change::Write(..));
            match (change.is_of(file.node, what), &called) {
                (true, Ok(_)) => change.apply(&mut machine.disk, Share::All),
                // The pages count as clean, and nobody writes them any more. What is no octets waits on.
                (true, Err(_)) if is_octets => {}
                (true, Err(_)) | (false, _) => machine.waiting.push(change),
            }
        }
        called.map(|_| ())
    }

    fn lock(&self, file: &Handle) -> Result<(), Errno> {
        let mut machine = self.machine();
        machine.call()?;
        let mut holds = file.holds.lock().unwrap_or_else(PoisonError::into_inner);
        if *holds {
            return Ok(());
        }
        if machine.locks.contains(&file.node) {
            return Err(Errno::WOULDBLOCK);
        }
        machine.locks.push(file.node);
        *holds = true;
        Ok(())
    }

    fn set_mode(&self, file: &Handle, mode: u32) -> Result<(), Errno> {
        let mut machine = self.machine();
        machine.call()?;
        if machine.meta(file.node)?.mode != mode {
            machine.change(Change::Mode(file.node, mode));
        }
        Ok(())
    }

    fn give(&self, _: &Handle, _: Option<u32>, _: Option<u32>) -> Result<(), Errno> {
        self.machine().call().map(|_| ())
    }

    fn make_directory(&self, at: Option<&Handle>, path: &Path, mode: u32) -> Result<(), Errno> {
        let mut machine = self.machine();
        machine.call()?;
        let at = at.map(|at| at.node);
        if machine.find(at, path).is_ok() {
            return Err(Errno::EXIST);
        }
        let (directory, name) = machine.place(at, path)?;
        let node = machine.make(&Content::Directory(BTreeMap::new()), mode);
        machine.change(Change::Name(directory, name, Some(node)));
        Ok(())
    }

    fn rename(
        &self,
        from: (Option<&Handle>, &Path),
        to: (Option<&Handle>, &Path),
        replaces: bool,
    ) -> Result<(), Errno> {
        let mut machine = self.machine();
        machine.call()?;
        let (old, new) = (from.0.map(|it| it.node), to.0.map(|it| it.node));
        let node = machine.find(old, from.1)?;
        if !replaces && machine.find(new, to.1).is_ok() {
            return Err(Errno::EXIST);
        }
        let (from, to) = (machine.place(old, from.1)?, machine.place(new, to.1)?);
        machine.change(Change::Rename(from, to, node));
        Ok(())
    }

    fn remove(&self, at: Option<&Handle>, path: &Path, is_directory: bool) -> Result<(), Errno> {
        let mut machine = self.machine();
        machine.call()?;
        let at = at.map(|at| at.node);
        let node = machine.find(at, path)?;
        match (machine.names(node), is_directory) {
            (Some(_), false) => return Err(Errno::ISDIR),
            (None, true) => return Err(Errno::NOTDIR),
            (Some(names), true) if !names.is_empty() => return Err(Errno::NOTEMPTY),
            (Some(_), true) | (None, false) => {}
        }
        let (directory, name) = machine.place(at, path)?;
        machine.change(Change::Name(directory, name, None));
        Ok(())
    }
}
