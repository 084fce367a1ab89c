//! A store that keeps a journal: who came in, and what was done.
//!
//! A peer decides how names read and how many deeds there are, and not how long the log gets: of a long name both ends
//! are told ([`kumiki_octets::text`]), and a network has its [`Allowances`]. What goes beyond is counted, and its
//! number told.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_files::filestore::{Detached, FileId, Filestore, Login, Name, NewFile, Start, StoreError, User};
use kumiki_io::{Clock as _, RealClock};
use kumiki_octets::Message;
use kumiki_octets::text::counted;
use kumiki_octets::text::{named, quoted, short};
use kumiki_osi_service::ftam::access::AccessControlElement;
use kumiki_osi_service::ftam::attributes::ReadAttributes;
use kumiki_osi_service::ftam::{CalendarTime, GraphicString};

use kumiki_live::allowance::Allowances;
use kumiki_live::gate::{GateEntry, LoginError};

/// So many deeds of one association fill a line of the log, and the next ones begin another.
const MOST: usize = 20;
/// So many octets do.
const LINE: usize = 4 << 10;
/// So many octets of deeds wait to be told at most.
const HELD: usize = 64 << 10;
/// Octets that a deed takes beside its own.
const DEED: usize = 48;
/// Octets of a line beside deeds and the name of who came: the date, the address, the time it took, how it ended.
const REST: usize = 256;

/// What was done on one association.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Journal {
    /// As whom the peer came in, as a line has it; empty where it said no name.
    pub(super) user: Option<String>,
    /// As whom it wanted to and was not let in, in quotes.
    pub(super) refused: Option<String>,
    deeds: Vec<String>,
    /// Octets of these.
    octets: usize,
    /// Deeds for which the log has no room, since the last line.
    left_out: u64,
    /// There were others, in a line before.
    has_more: bool,
}

impl Journal {
    /// Octets of a line beside the deeds.
    fn rest(&self) -> usize {
        let names = [&self.user, &self.refused];
        names.into_iter().flatten().fold(REST, |all, name| all + name.len())
    }

    /// Whether there are deeds to be told.
    pub(super) const fn has_deeds(&self) -> bool {
        !self.deeds.is_empty()
    }

    /// In words.
    pub(super) fn shown(&self) -> String {
        let left_out = match self.left_out {
            0 => None,
            1 => Some("and 1 more for which the log has no room".to_owned()),
            more => Some(format!("and {more} more for which the log has no room")),
        };
        match (self.deeds.is_empty() && left_out.is_none(), self.has_more) {
            (true, false) => "did nothing".to_owned(),
            (true, true) => "did nothing more".to_owned(),
            (false, _) => {
                let all: Vec<&str> = self.deeds.iter().chain(&left_out).map(String::as_str).collect();
                all.join(", ")
            }
        }
    }
}

/// What those of one network may have told of them.
#[derive(Clone)]
pub(super) struct Bound {
    /// Of all networks.
    pub(super) allowances: Arc<Mutex<Allowances>>,
    /// Where the peer calls from.
    pub(super) address: IpAddr,
    /// The one that all have.
    pub(super) clock: RealClock,
}

impl Bound {
    fn take(&self, octets: usize, changes: bool) -> bool {
        let mut allowances = self.allowances.lock().unwrap_or_else(PoisonError::into_inner);
        allowances.take(self.address, octets, changes, self.clock.now())
    }
}

/// The journal, for the store and for who reads it.
#[derive(Clone, Default)]
pub(super) struct Book {
    journal: Arc<Mutex<Journal>>,
    bound: Option<Bound>,
}

impl Book {
    /// An empty one.
    pub(super) fn new(bound: Bound) -> Self {
        Self { bound: Some(bound), ..Self::default() }
    }

    pub(super) fn read(&self) -> Journal {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn with(&self, act: impl FnOnce(&mut Journal)) {
        act(&mut self.journal.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether a line of so many octets may be told of this association, or so many more of one. It says of no change.
    pub(super) fn has_room(&self, octets: usize) -> bool {
        self.bound.as_ref().is_none_or(|bound| bound.take(octets, false))
    }

    fn note(&self, deed: String, changes: bool) {
        self.with(|journal| {
            // The first of a line pays for the rest of it.
            let line = if journal.deeds.is_empty() { journal.rest() } else { 0 };
            let octets = journal.octets.saturating_add(deed.len() + DEED);
            let has_room = octets <= HELD && self.bound.as_ref().is_none_or(|it| it.take(line + deed.len(), changes));
            if has_room {
                journal.octets = octets;
                journal.deeds.push(deed);
            } else {
                journal.left_out += 1;
            }
        });
    }

    /// Something was done that changes what there is.
    fn changed(&self, deed: String) {
        self.note(deed, true);
    }

    /// Something was looked at, or not done.
    fn saw(&self, deed: String) {
        self.note(deed, false);
    }

    /// What was done, where that fills a line; it is not told again.
    pub(super) fn full(&self) -> Option<String> {
        let mut shown = None;
        self.with(|journal| {
            if journal.deeds.len() >= MOST || journal.octets >= LINE {
                shown = Some(journal.shown());
                journal.deeds.clear();
                (journal.octets, journal.left_out) = (0, 0);
                journal.has_more = true;
            }
        });
        shown
    }
}

/// A name as a line has it.
fn shown(name: &Name) -> String {
    named(&name.to_string())
}

/// An open file.
struct OpenEntry {
    name: Name,
    writing: bool,
    octets: u64,
    /// Where it is read from, once it is: what is before that another association may have carried.
    from: Option<u64>,
    /// Of a file that is read, all there are; of one that is written, where that began.
    size: u64,
}

/// The store.
pub(super) struct Journaled<S> {
    store: S,
    book: Book,
    /// Who says when a password may be looked at.
    turnstile: Option<GateEntry>,
    opened: BTreeMap<FileId, OpenEntry>,
}

impl<S: Filestore> Journaled<S> {
    pub(super) const fn new(store: S, book: Book, turnstile: Option<GateEntry>) -> Self {
        Self { store, book, turnstile, opened: BTreeMap::new() }
    }

    fn keep(&mut self, file: FileId, name: &Name, writing: bool, size: u64) {
        let octets = if writing { size } else { 0 };
        let opened = OpenEntry { name: name.clone(), writing, octets, from: None, size };
        self.opened.insert(file, opened);
    }
}

impl<S: Filestore> Filestore for Journaled<S> {
    fn authenticate(&mut self, login: &Login<'_>) -> Result<User, StoreError> {
        let octets = login.initiator.map(GraphicString::octets).unwrap_or_default();
        let done = match &self.turnstile {
            Some(turnstile) => turnstile.judge(octets, || self.store.authenticate(login)).map_err(|why| match why {
                LoginError::Refused(why) => why,
                LoginError::Full(full) => StoreError::transient(9, full.to_string()),
                LoginError::NotChecked => StoreError::login(),
            }),
            None => self.store.authenticate(login),
        };
        let name = login.initiator.map(ToString::to_string).unwrap_or_default();
        self.book.with(|journal| match &done {
            Ok(_) if name.is_empty() => journal.user = Some(name),
            Ok(_) => journal.user = Some(named(&name)),
            Err(_) => journal.refused = Some(quoted(&name)),
        });
        done
    }

    fn keeps_types(&self) -> bool {
        self.store.keeps_types()
    }

    fn keeps_access_control(&self) -> bool {
        self.store.keeps_access_control()
    }

    fn attributes(&mut self, user: &User, name: &Name) -> Result<ReadAttributes, StoreError> {
        self.store.attributes(user, name)
    }

    fn list(&mut self, user: &User, name: &Name, most: usize) -> Result<Vec<GraphicString>, StoreError> {
        let done = self.store.list(user, name, most)?;
        self.book.saw(format!("listed {}", shown(name)));
        Ok(done)
    }

    fn create(&mut self, user: &User, name: &Name, file: &NewFile, now: CalendarTime) -> Result<(), StoreError> {
        let done = self.store.create(user, name, file, now);
        if done.is_ok() {
            self.book.changed(format!("created {}", shown(name)));
        }
        done
    }

    fn refused(&mut self, what: &str, name: &str, why: &str) {
        self.store.refused(what, name, why);
        self.book.saw(format!("did not {} {}: {}", short(what), quoted(name), short(why)));
    }

    fn looked(&mut self, name: &Name) {
        self.store.looked(name);
        self.book.saw(format!("looked at {}", shown(name)));
    }

    fn made(&mut self, name: &Name) {
        self.store.made(name);
    }

    fn delete(&mut self, user: &User, name: &Name) -> Result<(), StoreError> {
        let done = self.store.delete(user, name);
        if done.is_ok() {
            self.book.changed(format!("removed {}", shown(name)));
        }
        done
    }

    fn rename(&mut self, user: &User, from: &Name, to: &Name, now: CalendarTime) -> Result<(), StoreError> {
        let done = self.store.rename(user, from, to, now);
        if done.is_ok() {
            self.book.changed(format!("renamed {} to {}", shown(from), shown(to)));
        }
        done
    }

    fn set_access_control(
        &mut self,
        user: &User,
        name: &Name,
        elements: Vec<AccessControlElement>,
        now: CalendarTime,
    ) -> Result<(), StoreError> {
        self.store.set_access_control(user, name, elements, now)
    }

    fn read_from(&mut self, user: &User, name: &Name, now: CalendarTime) -> Result<(FileId, u64), StoreError> {
        let (file, size) = self.store.read_from(user, name, now)?;
        self.keep(file, name, false, size);
        Ok((file, size))
    }

    fn write_to(&mut self, user: &User, name: &Name, start: Start) -> Result<(FileId, u64), StoreError> {
        let (file, begin) = self.store.write_to(user, name, start)?;
        self.keep(file, name, true, begin);
        Ok((file, begin))
    }

    fn read(&mut self, file: FileId, offset: u64, most: usize) -> Result<Message, StoreError> {
        let data = self.store.read(file, offset, most)?;
        if let Some(opened) = self.opened.get_mut(&file) {
            let end = offset.saturating_add(data.len() as u64);
            opened.octets = opened.octets.max(end);
            opened.from = Some(opened.from.map_or(offset, |from| from.min(offset)));
        }
        Ok(data)
    }

    fn write(&mut self, file: FileId, offset: u64, data: Message) -> Result<(), StoreError> {
        let end = offset.saturating_add(data.len() as u64);
        self.store.write(file, offset, data)?;
        if let Some(opened) = self.opened.get_mut(&file) {
            opened.octets = end;
        }
        Ok(())
    }

    fn commit(&mut self, user: &User, file: FileId, now: CalendarTime) -> Result<(), StoreError> {
        let opened = self.opened.remove(&file);
        let done = self.store.commit(user, file, now);
        if let Some(OpenEntry { name, octets, size: begin, .. }) = opened {
            let remark = self.store.remark().map(|it| format!("; {it}")).unwrap_or_default();
            let name = shown(&name);
            self.book.changed(match &done {
                Ok(()) if begin > 0 => {
                    let added = octets.saturating_sub(begin);
                    format!(
                        "added {octets_of_added} to {name} ({octets}{remark})",
                        octets_of_added = counted(added, "octet"),
                        octets = counted(octets, "octet")
                    )
                }
                Ok(()) => format!("wrote {name} ({octets}{remark})", octets = counted(octets, "octet")),
                Err(_) => format!("could not keep {name}"),
            });
        }
        done
    }

    fn close(&mut self, file: FileId) {
        if let Some(OpenEntry { name, writing, octets, from, size }) = self.opened.remove(&file) {
            let name = shown(&name);
            if writing {
                self.book
                    .changed(format!("began to write {name} (gave up at {octets})", octets = counted(octets, "octet")));
            } else if let Some(from) = from.filter(|from| *from > 0) {
                let carried = octets.saturating_sub(from);
                let size = counted(size, "octet");
                self.book.saw(format!("read {name} ({carried} of {size}, from {from} on)"));
            } else if octets < size {
                self.book.saw(format!("read {name} ({octets} of {size})", size = counted(size, "octet")));
            } else {
                self.book.saw(format!("read {name} ({octets})", octets = counted(octets, "octet")));
            }
        }
        self.store.close(file);
    }

    fn detach(&mut self, file: FileId) -> Option<Detached> {
        let inner = self.store.detach(file)?;
        let opened = self.opened.remove(&file)?;
        let OpenEntry { name, octets, .. } = &opened;
        let name = shown(name);
        if opened.writing {
            self.book.changed(format!(
                "began to write {name} (broken at {octets}, kept)",
                octets = counted(*octets, "octet")
            ));
        } else {
            self.book.saw(format!("read {name} (broken at {octets}, kept)", octets = counted(*octets, "octet")));
        }
        Some(Detached::new((inner, opened)))
    }

    fn attach(&mut self, file: Detached) -> Result<FileId, StoreError> {
        let taken = file.downcast::<(Detached, OpenEntry)>();
        let (inner, opened) = taken.ok_or_else(|| StoreError::docket("not of a store with a journal"))?;
        let file = self.store.attach(inner)?;
        self.book.note(format!("went on with {}", shown(&opened.name)), opened.writing);
        self.opened.insert(file, opened);
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use kumiki_files::filestore::Memory;
    use kumiki_osi_service::ftam::contents::ContentsType;

    use super::*;

    fn now() -> CalendarTime {
        CalendarTime::parse("20260101000000Z").unwrap()
    }

    fn name(text: &str) -> Name {
        Name::parse(&text.into()).unwrap()
    }

    /// A store with a file `x`, whose journal has what those of a network may have told.
    fn store() -> (Journaled<Memory>, Book, User) {
        let mut memory = Memory::new();
        memory.put(&name("x"), ContentsType::default(), Message::default(), now());
        let (address, clock) = (IpAddr::from([10, 0, 0, 1]), RealClock::start());
        let book = Book::new(Bound { allowances: Arc::default(), address, clock });
        let mut store = Journaled::new(memory, book.clone(), None);
        let user = store.authenticate(&Login { initiator: None, account: None, password: None }).unwrap();
        (store, book, user)
    }

    #[test]
    fn a_name_cannot_be_taken_for_what_the_line_says() {
        let (mut store, book, user) = store();
        let lie = name("y (6 octets), deleted note.txt; 0.0 s; ended in order");
        store.rename(&user, &name("x"), &lie, now()).unwrap();
        store.looked(&lie);
        let quoted = format!("{:?}", lie.to_string());
        assert_eq!(book.read().shown(), format!("renamed x to {quoted}, looked at {quoted}"));
        // As whom somebody comes in, he may say as well.
        let lie = "a@10.9.9.9:1: removed x".into();
        store.authenticate(&Login { initiator: Some(&lie), account: None, password: None }).unwrap();
        assert_eq!(book.read().user.unwrap(), "\"a@10.9.9.9:1: removed x\"");
    }

    #[test]
    fn what_an_association_that_goes_on_has_carried_is_told() {
        let (mut store, book, user) = store();
        let octets = Message::from_octets(&[7; 600]);
        store.store.put(&name("big"), ContentsType::default(), octets, now());
        for (from, told) in [(0, "read big (600 octets)"), (420, "read big (180 of 600 octets, from 420 on)")] {
            let (file, _) = store.read_from(&user, &name("big"), now()).unwrap();
            for offset in (from..600).step_by(60) {
                store.read(file, offset, 60).unwrap();
            }
            store.close(file);
            assert!(book.read().shown().ends_with(told), "{}", book.read().shown());
        }
    }

    #[test]
    fn what_is_told_of_a_long_name_is_short() {
        let (mut store, book, _) = store();
        let long = "\u{1}".repeat(60_000);
        store.refused(&format!("rename {long} to"), &long, &long);
        let shown = book.read().shown();
        assert!(shown.contains("(60000 octets)") && shown.len() < 10_000, "{}", shown.len());
        store.refused("open", &long, &long);
        assert!(book.full().is_some(), "so many octets are a line");
    }

    #[test]
    fn of_many_deeds_some_are_told_and_all_are_counted() {
        let (mut store, book, user) = store();
        let (mut told, mut octets) = (0, 0);
        let mut count = |line: &str| {
            octets += line.len();
            let (deeds, more) = line.split_once(", and ").unwrap_or((line, "0 "));
            let more: u64 = more.split(' ').next().unwrap().parse().unwrap();
            told += more + deeds.matches("did not").count() as u64;
        };
        for _ in 0..10 {
            // So many come in one pass.
            for _ in 0..10_000 {
                store.refused("open", "nothing", "no such file");
            }
            count(&book.full().unwrap_or_default());
        }
        // What he does behind that is told all the same.
        store.rename(&user, &name("x"), &name("z"), now()).unwrap();
        let last = book.read().shown();
        assert!(last.contains("renamed x to z"), "{last}"); // behind it, what found no room: on a slow machine all may have
        count(&last);
        assert_eq!(told, 100_000);
        assert!(octets < 200_000, "{octets}");
    }

    /// Each line has a date, an address and a name of the caller's choice.
    #[test]
    fn a_line_is_paid_for_and_not_its_deeds_alone() {
        let (mut store, book, user) = store();
        let long = "\u{7f}".repeat(500).into();
        store.authenticate(&Login { initiator: Some(&long), account: None, password: None }).unwrap();
        let beside = REST + book.read().user.unwrap().len();
        let mut told = 0;
        for _ in 0..10_000 {
            store.looked(&name("x"));
            // As at the end of an association.
            let journal = book.read();
            told += if journal.has_deeds() { beside + journal.shown().len() } else { 0 };
            book.with(|journal| (journal.deeds, journal.octets, journal.left_out) = (Vec::new(), 0, 0));
        }
        assert!((50_000..200_000).contains(&told), "{told}");
        // Lines without a deed are no changes either.
        while book.has_room(100) {}
        store.rename(&user, &name("x"), &name("z"), now()).unwrap();
        assert!(book.read().shown().contains("renamed x to z"));
    }
}
