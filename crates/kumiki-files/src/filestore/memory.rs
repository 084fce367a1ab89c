//! A store in memory.
//!
//! Contents are messages that share their pages with whoever wrote and whoever reads them: nothing is copied. Who reads
//! a file has what was there when it was opened, whoever writes it meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kumiki_octets::Message;
use kumiki_osi_service::ftam::access::AccessControlElement;
use kumiki_osi_service::ftam::attributes::{Attribute, Availability, ObjectType, Pathname, ReadAttributes};
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::{
    AttributeNames, CalendarTime, GeneralizedTime, GraphicString, Password, PermittedActions, oids,
};

use super::{Detached, FileId, Filestore, Login, Name, NewFile, Start, StoreError, User};

/// What may be in a directory, and what is shown of it.
const ENTRIES: AttributeNames = AttributeNames::PATHNAME
    .with(AttributeNames::PERMITTED_ACTIONS)
    .with(AttributeNames::CONTENTS_TYPE)
    .with(AttributeNames::CREATED)
    .with(AttributeNames::MODIFIED)
    .with(AttributeNames::SIZE);

/// A file or directory.
#[derive(Clone, Debug)]
struct Entry {
    file: NewFile,
    contents: Arc<Contents>,
    created: CalendarTime,
    creator: GraphicString,
    modified: Option<(CalendarTime, GraphicString)>,
    read: Option<(CalendarTime, GraphicString)>,
    attributes_modified: Option<(CalendarTime, GraphicString)>,
}

/// What is written is put to the last piece while that has no more slices than this: who reads then looks through few
/// of them, and there are few pieces to look for.
const SLICES: usize = 16;

/// Octets in pieces: where each begins, and it.
#[derive(Clone, Debug, Default)]
struct Contents {
    pieces: BTreeMap<u64, Message>,
    size: u64,
}

impl Contents {
    /// Adds to the end.
    fn append(&mut self, data: Message) {
        if data.is_empty() {
            return;
        }
        let begin = self.size;
        self.size = self.size.saturating_add(data.len() as u64);
        match self.pieces.last_entry() {
            Some(mut last) if last.get().slices().len() < SLICES => last.get_mut().append(data),
            Some(_) | None => {
                self.pieces.insert(begin, data);
            }
        }
    }

    /// Forgets what is behind `size`.
    fn cut(&mut self, size: u64) {
        if size >= self.size {
            return;
        }
        let _ = self.pieces.split_off(&size);
        if let Some((begin, last)) = self.pieces.iter_mut().next_back() {
            last.truncate(usize::try_from(size - begin).unwrap_or(usize::MAX));
        }
        self.size = self.size.min(size);
    }

    /// Up to `most` octets from `offset` on: those of one piece, which is enough for a caller that goes on where it
    /// was.
    fn at(&self, offset: u64, most: usize) -> Message {
        let Some((begin, piece)) = self.pieces.range(..=offset).next_back() else {
            return Message::new();
        };
        let skip = usize::try_from(offset - begin).unwrap_or(usize::MAX);
        let left = piece.len().saturating_sub(skip);
        let mut data = piece.share(skip, left.min(most)).unwrap_or_default();
        let mut end = begin.saturating_add(piece.len() as u64);
        while data.len() < most
            && let Some(piece) = self.pieces.get(&end)
        {
            let more = piece.share(0, piece.len().min(most - data.len()));
            data.append(more.unwrap_or_default());
            end = end.saturating_add(piece.len() as u64);
        }
        data
    }
}

/// A file that is open.
#[derive(Debug)]
enum OpenFile {
    Reading(Arc<Contents>),
    Writing { name: Name, contents: Contents },
}

impl OpenFile {
    /// Octets that are nobody else's.
    const fn octets(&self) -> u64 {
        match self {
            Self::Reading(_) => 0,
            Self::Writing { contents, .. } => contents.size,
        }
    }
}

/// A file that was handed over and is nowhere open. Its octets count where it was written.
#[derive(Debug)]
struct DetachedFile {
    opened: Option<OpenFile>,
    octets: u64,
    apart: Arc<AtomicU64>,
}

impl Drop for DetachedFile {
    fn drop(&mut self) {
        self.apart.fetch_sub(self.octets, Ordering::SeqCst);
    }
}

/// The store.
#[derive(Debug, Default)]
pub struct Memory {
    entries: BTreeMap<Name, Entry>,
    users: BTreeMap<GraphicString, Password>,
    opened: BTreeMap<u64, OpenFile>,
    next: u64,
    quota: Option<u64>,
    /// Octets of what was handed over.
    apart: Arc<AtomicU64>,
}

impl Memory {
    /// An empty one, open to everybody, without limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Files may have so many octets together, those being written among them.
    #[must_use]
    pub const fn with_quota(mut self, octets: u64) -> Self {
        self.quota = Some(octets);
        self
    }

    /// Lets this user in. With the first one, those without a password are let in no more.
    #[must_use]
    pub fn with_user(mut self, name: &str, password: &str) -> Self {
        self.users.insert(name.into(), password.into());
        self
    }

    /// What is in a file, for whoever has the store.
    #[must_use]
    pub fn contents(&self, name: &Name) -> Option<Message> {
        let contents = &self.entries.get(name)?.contents;
        let size = usize::try_from(contents.size).ok()?;
        Some(contents.at(0, size))
    }

    /// Puts a file there, as whoever has the store; its directories are to be there. What was there of this name goes.
    pub fn put(&mut self, name: &Name, contents_type: ContentsType, data: Message, now: CalendarTime) {
        let file = NewFile { contents_type, permitted_actions: FILE_ACTIONS, ..NewFile::default() };
        let mut entry = Entry::new(file, now, GraphicString::default());
        Arc::make_mut(&mut entry.contents).append(data);
        self.entries.insert(name.clone(), entry);
    }

    fn entry(&mut self, name: &Name) -> Result<&mut Entry, StoreError> {
        let missing = || StoreError::missing(name);
        self.entries.get_mut(name).ok_or_else(missing)
    }

    fn is_directory(&self, name: &Name) -> bool {
        name.components().is_empty() || self.entries.get(name).is_some_and(|entry| entry.is_directory())
    }

    /// Octets of all that is there or is being written.
    fn used(&self) -> u64 {
        let kept = self.entries.values().map(|entry| entry.contents.size);
        let written = self.opened.values().map(OpenFile::octets);
        let apart = self.apart.load(Ordering::SeqCst);
        kept.chain(written).fold(apart, u64::saturating_add)
    }

    fn keep(&mut self, opened: OpenFile) -> FileId {
        self.next += 1;
        self.opened.insert(self.next, opened);
        FileId(self.next)
    }
}

/// What is possible with a file of this store.
const FILE_ACTIONS: PermittedActions = PermittedActions::READ
    .with(PermittedActions::REPLACE)
    .with(PermittedActions::EXTEND)
    .with(PermittedActions::ERASE)
    .with(PermittedActions::READ_ATTRIBUTE)
    .with(PermittedActions::CHANGE_ATTRIBUTE)
    .with(PermittedActions::DELETE);

impl Entry {
    fn new(file: NewFile, now: CalendarTime, creator: GraphicString) -> Self {
        Self {
            file,
            contents: Arc::default(),
            created: now,
            creator,
            modified: None,
            read: None,
            attributes_modified: None,
        }
    }

    fn is_directory(&self) -> bool {
        let kind = self.file.contents_type.document_type();
        matches!(kind, Some(oids::NBS_9 | oids::NBS_9_OLD))
    }

    fn attributes(&self, name: &Name) -> ReadAttributes {
        let when = |event: &Option<(CalendarTime, GraphicString)>| {
            Some(
                event
                    .as_ref()
                    .map_or(Attribute::NoValueAvailable, |(at, _)| Attribute::Actual(GeneralizedTime::from(*at))),
            )
        };
        let who = |event: &Option<(CalendarTime, GraphicString)>| {
            Some(event.as_ref().map_or(Attribute::NoValueAvailable, |(_, who)| Attribute::Actual(who.clone())))
        };
        let last = name.components().last().cloned().unwrap_or_default();
        ReadAttributes {
            pathname: Some(last.into()),
            object_type: Some(if self.is_directory() { ObjectType::FileDirectory } else { ObjectType::File }),
            permitted_actions: Some(self.file.permitted_actions),
            contents_type: Some(self.file.contents_type.clone()),
            created: Some(GeneralizedTime::from(self.created).into()),
            modified: when(&self.modified),
            read: when(&self.read),
            attributes_modified: when(&self.attributes_modified),
            creator: Some(self.creator.clone().into()),
            modifier: who(&self.modified),
            reader: who(&self.read),
            attribute_modifier: who(&self.attributes_modified),
            availability: Some(Availability::Immediate.into()),
            size: Some(self.contents.size.into()),
            future_size: Some(self.file.future_size.map_or(Attribute::NoValueAvailable, Attribute::Actual)),
            access_control: Some(self.file.access_control.clone().into()),
            ..ReadAttributes::default()
        }
    }
}

impl Filestore for Memory {
    fn authenticate(&mut self, login: &Login<'_>) -> Result<User, StoreError> {
        let name = login.initiator.cloned().unwrap_or_default();
        if !self.users.is_empty() {
            let known = self.users.get(&name).ok_or_else(StoreError::login)?;
            let given = login.password.map(Password::octets).unwrap_or_default();
            if known.octets() != given {
                return Err(StoreError::login());
            }
        }
        Ok(User { name })
    }

    fn keeps_types(&self) -> bool {
        true
    }

    fn keeps_access_control(&self) -> bool {
        true
    }

    fn attributes(&mut self, _: &User, name: &Name) -> Result<ReadAttributes, StoreError> {
        if name.components().is_empty() {
            return Ok(ReadAttributes {
                pathname: Some("/".into()),
                object_type: Some(ObjectType::FileDirectory),
                permitted_actions: Some(PermittedActions::READ | PermittedActions::READ_ATTRIBUTE),
                contents_type: Some(ContentsType::directory(ENTRIES)),
                ..ReadAttributes::default()
            });
        }
        self.entry(name).map(|entry| entry.attributes(name))
    }

    fn list(&mut self, _: &User, name: &Name, most: usize) -> Result<Vec<GraphicString>, StoreError> {
        if !self.is_directory(name) {
            return Err(StoreError::missing(name));
        }
        let depth = name.components().len() + 1;
        let behind = self.entries.range(name.clone()..);
        let within = behind.take_while(|(other, _)| other.is_within(name));
        let children = within.filter(|(other, _)| other.components().len() == depth);
        let names = children.filter_map(|(other, _)| other.components().last().cloned());
        let names: Vec<_> = names.take(most.saturating_add(1)).collect();
        if names.len() > most {
            return Err(StoreError::crowded(most));
        }
        Ok(names)
    }

    fn create(&mut self, user: &User, name: &Name, file: &NewFile, now: CalendarTime) -> Result<(), StoreError> {
        let Some((directory, _)) = name.split() else {
            return Err(StoreError::exists(name));
        };
        if self.entries.contains_key(name) {
            return Err(StoreError::exists(name));
        }
        if !self.is_directory(&directory) {
            return Err(StoreError::permanent(3006, format!("no directory {directory}")));
        }
        let entry = Entry::new(file.clone(), now, user.name.clone());
        self.entries.insert(name.clone(), entry);
        Ok(())
    }

    fn made(&mut self, _: &Name) {}

    fn delete(&mut self, _: &User, name: &Name) -> Result<(), StoreError> {
        self.entry(name)?;
        let is_full = |(other, _): (&Name, &Entry)| other != name && other.is_within(name);
        if self.entries.range(name.clone()..).nth(1).is_some_and(is_full) {
            return Err(StoreError::permanent(3007, "the directory is not empty"));
        }
        self.entries.remove(name);
        Ok(())
    }

    fn rename(&mut self, user: &User, from: &Name, to: &Name, now: CalendarTime) -> Result<(), StoreError> {
        self.entry(from)?;
        let bad = |why: &str| StoreError::permanent(4005, why);
        let Some((directory, _)) = to.split() else {
            return Err(bad("the root has its name already"));
        };
        if self.entries.contains_key(to) {
            return Err(bad("there is a file of the new name"));
        }
        if !self.is_directory(&directory) {
            return Err(bad("no such directory"));
        }
        if to.is_within(from) {
            return Err(bad("the new name is below the old one"));
        }
        let mut moved = Vec::new();
        for name in self.entries.keys().filter(|name| name.is_within(from)) {
            let behind = name.components().iter().skip(from.components().len());
            let components = to.components().iter().chain(behind).cloned().collect();
            let renamed = Name::parse(&Pathname::Incomplete(components));
            moved.push((name.clone(), renamed.map_err(|_| bad("a name would become too long"))?));
        }
        for (name, renamed) in moved {
            if let Some(mut entry) = self.entries.remove(&name) {
                if name == *from {
                    entry.attributes_modified = Some((now, user.name.clone()));
                }
                self.entries.insert(renamed, entry);
            }
        }
        Ok(())
    }

    fn set_access_control(
        &mut self,
        user: &User,
        name: &Name,
        elements: Vec<AccessControlElement>,
        now: CalendarTime,
    ) -> Result<(), StoreError> {
        let entry = self.entry(name)?;
        entry.file.access_control = elements;
        entry.attributes_modified = Some((now, user.name.clone()));
        Ok(())
    }

    fn read_from(&mut self, user: &User, name: &Name, now: CalendarTime) -> Result<(FileId, u64), StoreError> {
        let entry = self.entry(name)?;
        entry.read = Some((now, user.name.clone()));
        let contents = Arc::clone(&entry.contents);
        let size = contents.size;
        Ok((self.keep(OpenFile::Reading(contents)), size))
    }

    fn write_to(&mut self, _: &User, name: &Name, start: Start) -> Result<(FileId, u64), StoreError> {
        let entry = self.entry(name)?;
        let contents = match start {
            Start::Replace => Contents::default(),
            Start::Extend => Contents::clone(&entry.contents),
        };
        let size = contents.size;
        let name = name.clone();
        Ok((self.keep(OpenFile::Writing { name, contents }), size))
    }

    fn read(&mut self, file: FileId, offset: u64, most: usize) -> Result<Message, StoreError> {
        match self.opened.get(&file.0) {
            Some(OpenFile::Reading(contents)) => Ok(contents.at(offset, most)),
            Some(OpenFile::Writing { contents, .. }) => Ok(contents.at(offset, most)),
            None => Err(StoreError::permanent(5027, "the file is not open")),
        }
    }

    fn write(&mut self, file: FileId, offset: u64, data: Message) -> Result<(), StoreError> {
        let closed = || StoreError::permanent(5026, "the file is not open for writing");
        let Some(OpenFile::Writing { contents, .. }) = self.opened.get_mut(&file.0) else {
            return Err(closed());
        };
        if offset > contents.size {
            return Err(StoreError::permanent(5026, "a gap in what is written"));
        }
        let overwritten = contents.size - offset;
        if let Some(quota) = self.quota {
            let others = self.used().saturating_sub(overwritten);
            if others.saturating_add(data.len() as u64) > quota {
                return Err(StoreError::space("the store is full"));
            }
        }
        if let Some(OpenFile::Writing { contents, .. }) = self.opened.get_mut(&file.0) {
            contents.cut(offset);
            contents.append(data);
        }
        Ok(())
    }

    fn commit(&mut self, user: &User, file: FileId, now: CalendarTime) -> Result<(), StoreError> {
        match self.opened.remove(&file.0) {
            Some(OpenFile::Writing { name, contents }) => {
                let entry = self.entry(&name)?;
                entry.contents = Arc::new(contents);
                entry.modified = Some((now, user.name.clone()));
                Ok(())
            }
            Some(OpenFile::Reading(_)) | None => Err(StoreError::permanent(5026, "the file is not open for writing")),
        }
    }

    fn close(&mut self, file: FileId) {
        self.opened.remove(&file.0);
    }

    fn detach(&mut self, file: FileId) -> Option<Detached> {
        let opened = self.opened.remove(&file.0)?;
        let octets = opened.octets();
        self.apart.fetch_add(octets, Ordering::SeqCst);
        Some(Detached::new(DetachedFile { opened: Some(opened), octets, apart: Arc::clone(&self.apart) }))
    }

    fn attach(&mut self, file: Detached) -> Result<FileId, StoreError> {
        let opened = file.downcast().and_then(|mut it: DetachedFile| it.opened.take());
        let opened = opened.ok_or_else(|| StoreError::docket("not of a store in memory"))?;
        Ok(self.keep(opened))
    }
}
