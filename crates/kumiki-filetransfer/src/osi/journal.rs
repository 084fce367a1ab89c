//! A store that keeps a journal: who came in, and what was done.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_files::filestore::{Detached, Fault, FileId, Filestore, Login, Name, NewFile, Start, User};
use kumiki_octets::Message;
use kumiki_osi_service::ftam::access::AccessControlElement;
use kumiki_osi_service::ftam::attributes::ReadAttributes;
use kumiki_osi_service::ftam::{GraphicString, Moment};

use kumiki_live::gate::Turnstile;

/// So many deeds of one association fill a line of the log, and the next ones begin another.
const MOST: usize = 20;

/// What was done on one association.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Journal {
    /// As whom the peer came in.
    pub(super) user: Option<String>,
    /// As whom it wanted to and was not let in.
    pub(super) refused: Option<String>,
    deeds: Vec<String>,
    /// There were others, in a line before.
    has_more: bool,
}

impl Journal {
    /// In words.
    pub(super) fn shown(&self) -> String {
        match (self.deeds.is_empty(), self.has_more) {
            (true, false) => "did nothing".to_owned(),
            (true, true) => "did nothing more".to_owned(),
            (false, _) => self.deeds.join(", "),
        }
    }
}

/// The journal, for the store and for who reads it.
#[derive(Clone, Debug, Default)]
pub(super) struct Book(Arc<Mutex<Journal>>);

impl Book {
    pub(super) fn read(&self) -> Journal {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn with(&self, act: impl FnOnce(&mut Journal)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn note(&self, deed: String) {
        self.with(|journal| journal.deeds.push(deed));
    }

    /// What was done, where that fills a line; it is not told again.
    pub(super) fn full(&self) -> Option<String> {
        let mut shown = None;
        self.with(|journal| {
            if journal.deeds.len() >= MOST {
                shown = Some(journal.shown());
                journal.deeds.clear();
                journal.has_more = true;
            }
        });
        shown
    }
}

/// An open file.
struct Opened {
    name: Name,
    writing: bool,
    octets: u64,
    /// Of a file that is read, all there are; of one that is written, where that began.
    size: u64,
}

/// The store.
pub(super) struct Journaled<S> {
    store: S,
    book: Book,
    /// Who says when a password may be looked at.
    turnstile: Option<Turnstile>,
    opened: BTreeMap<FileId, Opened>,
}

impl<S: Filestore> Journaled<S> {
    pub(super) const fn new(store: S, book: Book, turnstile: Option<Turnstile>) -> Self {
        Self { store, book, turnstile, opened: BTreeMap::new() }
    }

    fn keep(&mut self, file: FileId, name: &Name, writing: bool, size: u64) {
        let opened = Opened { name: name.clone(), writing, octets: if writing { size } else { 0 }, size };
        self.opened.insert(file, opened);
    }
}

impl<S: Filestore> Filestore for Journaled<S> {
    fn authenticate(&mut self, login: &Login<'_>) -> Result<User, Fault> {
        let octets = login.initiator.map(GraphicString::octets).unwrap_or_default();
        let done = match &self.turnstile {
            Some(turnstile) => turnstile.judge(octets, || self.store.authenticate(login)),
            None => self.store.authenticate(login),
        };
        let name = login.initiator.map(ToString::to_string).unwrap_or_default();
        self.book.with(|journal| match &done {
            Ok(_) => journal.user = Some(name),
            Err(_) => journal.refused = Some(name),
        });
        done
    }

    fn keeps_types(&self) -> bool {
        self.store.keeps_types()
    }

    fn keeps_access_control(&self) -> bool {
        self.store.keeps_access_control()
    }

    fn attributes(&mut self, user: &User, name: &Name) -> Result<ReadAttributes, Fault> {
        self.store.attributes(user, name)
    }

    fn list(&mut self, user: &User, name: &Name, most: usize) -> Result<Vec<GraphicString>, Fault> {
        let done = self.store.list(user, name, most)?;
        self.book.note(format!("listed {name}"));
        Ok(done)
    }

    fn create(&mut self, user: &User, name: &Name, file: &NewFile, now: Moment) -> Result<(), Fault> {
        let done = self.store.create(user, name, file, now);
        if done.is_ok() {
            self.book.note(format!("created {name}"));
        }
        done
    }

    fn refused(&mut self, what: &str, name: &str, why: &str) {
        self.store.refused(what, name, why);
        self.book.note(format!("did not {what} {name:?}: {why}"));
    }

    fn looked(&mut self, name: &Name) {
        self.store.looked(name);
        self.book.note(format!("looked at {name}"));
    }

    fn made(&mut self, name: &Name) {
        self.store.made(name);
    }

    fn delete(&mut self, user: &User, name: &Name) -> Result<(), Fault> {
        let done = self.store.delete(user, name);
        if done.is_ok() {
            self.book.note(format!("removed {name}"));
        }
        done
    }

    fn rename(&mut self, user: &User, from: &Name, to: &Name, now: Moment) -> Result<(), Fault> {
        let done = self.store.rename(user, from, to, now);
        if done.is_ok() {
            self.book.note(format!("renamed {from} to {to}"));
        }
        done
    }

    fn set_access_control(
        &mut self,
        user: &User,
        name: &Name,
        elements: Vec<AccessControlElement>,
        now: Moment,
    ) -> Result<(), Fault> {
        self.store.set_access_control(user, name, elements, now)
    }

    fn read_from(&mut self, user: &User, name: &Name, now: Moment) -> Result<(FileId, u64), Fault> {
        let (file, size) = self.store.read_from(user, name, now)?;
        self.keep(file, name, false, size);
        Ok((file, size))
    }

    fn write_to(&mut self, user: &User, name: &Name, start: Start) -> Result<(FileId, u64), Fault> {
        let (file, begin) = self.store.write_to(user, name, start)?;
        self.keep(file, name, true, begin);
        Ok((file, begin))
    }

    fn read(&mut self, file: FileId, offset: u64, most: usize) -> Result<Message, Fault> {
        let data = self.store.read(file, offset, most)?;
        if let Some(opened) = self.opened.get_mut(&file) {
            let end = offset.saturating_add(data.len() as u64);
            opened.octets = opened.octets.max(end);
        }
        Ok(data)
    }

    fn write(&mut self, file: FileId, offset: u64, data: Message) -> Result<(), Fault> {
        let end = offset.saturating_add(data.len() as u64);
        self.store.write(file, offset, data)?;
        if let Some(opened) = self.opened.get_mut(&file) {
            opened.octets = end;
        }
        Ok(())
    }

    fn commit(&mut self, user: &User, file: FileId, now: Moment) -> Result<(), Fault> {
        let opened = self.opened.remove(&file);
        let done = self.store.commit(user, file, now);
        if let Some(Opened { name, octets, size: begin, .. }) = opened {
            let remark = self.store.remark().map(|it| format!("; {it}")).unwrap_or_default();
            self.book.note(match &done {
                Ok(()) if begin > 0 => {
                    let added = octets.saturating_sub(begin);
                    format!("added {added} octets to {name} ({octets} octets{remark})")
                }
                Ok(()) => format!("wrote {name} ({octets} octets{remark})"),
                Err(_) => format!("could not keep {name}"),
            });
        }
        done
    }

    fn close(&mut self, file: FileId) {
        if let Some(Opened { name, writing, octets, size }) = self.opened.remove(&file) {
            self.book.note(if writing {
                format!("began to write {name} (gave up at {octets} octets)")
            } else if octets < size {
                format!("read {name} ({octets} of {size} octets)")
            } else {
                format!("read {name} ({octets} octets)")
            });
        }
        self.store.close(file);
    }

    fn detach(&mut self, file: FileId) -> Option<Detached> {
        let inner = self.store.detach(file)?;
        let opened = self.opened.remove(&file)?;
        let Opened { name, octets, .. } = &opened;
        self.book.note(if opened.writing {
            format!("began to write {name} (broken at {octets} octets, kept)")
        } else {
            format!("read {name} (broken at {octets} octets, kept)")
        });
        Some(Detached::new((inner, opened)))
    }

    fn attach(&mut self, file: Detached) -> Result<FileId, Fault> {
        let taken = file.downcast::<(Detached, Opened)>();
        let (inner, opened) = taken.ok_or_else(|| Fault::docket("not of a store with a journal"))?;
        let file = self.store.attach(inner)?;
        self.book.note(format!("went on with {}", opened.name));
        self.opened.insert(file, opened);
        Ok(file)
    }
}
