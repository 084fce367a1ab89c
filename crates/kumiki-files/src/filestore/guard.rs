//! Who may do what, with whom beside him: decided in one place, whatever the store.
//!
//! **Locks** (recalled, ISO 8571-2 on concurrency control). Where a user asks for none, what he wants to read is locked
//! shared and what he wants to change exclusively; where he says "not required" of what he is to do, it is shared.
//! Locks of an open file come on top of those of its selection.
//!
//! **Interrupted transfers** keep their selection and its locks ([`interrupted`]); another user waits for them no
//! longer than [`Guard::yielding_after`].

mod interrupted;

use std::collections::{BTreeMap, VecDeque};

use kumiki_osi_service::ftam::access::{AccessControlElement, AccessPasswords, ConcurrencyControl, Lock, PerAction};
use kumiki_osi_service::ftam::attributes::{Attribute, ReadAttributes};
use kumiki_osi_service::ftam::file::{CreateRequest, Override};
use kumiki_osi_service::ftam::{
    AccessRequest, CalendarTime, Diagnostic, GraphicString, LockKeys, Password, PermittedActions,
};

use super::{Filestore, Login, Name, NewFile, StoreError, User, informative};
use interrupted::InterruptedLimits;
pub(crate) use interrupted::{Interrupted, TransferRecord};

/// So many of those who stand in the way of something are named.
const MOST_NAMED: usize = 4;

/// Why a file is locked although nobody seems to use it.
const KEPT: &str = "for a transfer that broke and is kept, to be gone on with";

/// A user, for the journal.
fn shown(user: &User) -> String {
    if user.name.octets().is_empty() { "a user without a name".to_owned() } else { user.name.to_string() }
}

/// A file that a user has selected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Selection(u64);

/// What a selection holds.
#[derive(Clone, Debug)]
struct SelectedFile {
    name: Name,
    /// Whose it is.
    user: User,
    locks: ConcurrencyControl,
    open: Option<ConcurrencyControl>,
    /// What is done with it, where it has a number, and whose that is.
    activity: Option<(User, i64)>,
    /// That is to be gone on with on another association.
    is_claimed: bool,
    /// It has made the file, and nothing was put in it yet: for others it is not there.
    makes: bool,
}

/// Who has which file selected, and with which locks, and which transfers were interrupted: one table for a store,
/// however many guards it has.
#[derive(Debug, Default)]
pub struct Table {
    held: BTreeMap<u64, SelectedFile>,
    next: u64,
    /// The oldest first.
    dockets: Vec<TransferRecord>,
    /// Of transfers that were given up for another user: whose they were, and their numbers. The oldest first.
    taken_over: VecDeque<(User, i64)>,
}

/// How a guard gets at the table: its own, or one that guards in several threads share.
pub trait RecoveryStore: Send {
    /// Lets `act` look at the table and change it. Nobody else does meanwhile.
    fn with(&mut self, act: &mut dyn FnMut(&mut Table));
}

impl RecoveryStore for Table {
    fn with(&mut self, act: &mut dyn FnMut(&mut Table)) {
        act(self);
    }
}

/// A store and who guards it.
pub struct Guard {
    store: Box<dyn Filestore>,
    table: Box<dyn RecoveryStore>,
    /// Its own selections, and the files of them that are to be emptied.
    own: BTreeMap<Selection, OwnSelection>,
    create_password: Option<Password>,
    /// Who stands in the way of what was refused last: for the journal, and not for the peer.
    aside: Option<String>,
    most: InterruptedLimits,
    /// Others have the table too.
    is_shared: bool,
}

impl core::fmt::Debug for Guard {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Guard").field("own", &self.own).finish_non_exhaustive()
    }
}

/// Who has a file emptied, what it is then, and when that was asked for.
type Emptied = (User, NewFile, CalendarTime);

/// A selection of this guard's.
#[derive(Clone, Debug)]
struct OwnSelection {
    name: Name,
    access: AccessRequest,
    /// F-CREATE has overridden the file, which is emptied when what is written is committed, or at the end of the
    /// selection.
    emptied: Option<Emptied>,
}

/// A file was created or, where its name was in use, something else was done.
#[derive(Debug)]
pub(crate) struct Created {
    pub(crate) selection: Selection,
    /// It was not there before.
    pub(crate) is_new: bool,
    /// Its attributes.
    pub(crate) attributes: ReadAttributes,
    /// What is to be said of it.
    pub(crate) remarks: Vec<Diagnostic>,
}

impl Guard {
    /// Guards `store`.
    #[must_use]
    pub fn new(store: Box<dyn Filestore>) -> Self {
        Self {
            store,
            table: Box::new(Table::default()),
            own: BTreeMap::new(),
            create_password: None,
            aside: None,
            most: InterruptedLimits::default(),
            is_shared: false,
        }
    }

    /// Has its locks and interrupted transfers in a table that others have too.
    #[must_use]
    pub fn sharing(mut self, table: Box<dyn RecoveryStore>) -> Self {
        (self.table, self.is_shared) = (table, true);
        self
    }

    /// What `act` finds in the table.
    fn table<T>(&mut self, mut act: impl FnMut(&mut Table) -> T) -> Option<T> {
        let mut found = None;
        self.table.with(&mut |table| found = Some(act(table)));
        found
    }

    /// Creating asks for this password.
    #[must_use]
    pub fn with_create_password(mut self, password: Password) -> Self {
        self.create_password = Some(password);
        self
    }

    /// The store.
    pub fn store(&mut self) -> &mut dyn Filestore {
        &mut *self.store
    }

    /// How many selections there are, those of interrupted transfers and of others who share the table among them.
    #[must_use]
    pub fn selections(&mut self) -> usize {
        self.table(|table| table.selections()).unwrap_or(0)
    }

    /// As the store's.
    ///
    /// # Errors
    /// As the store's.
    pub fn authenticate(&mut self, login: &Login<'_>) -> Result<User, StoreError> {
        self.store.authenticate(login)
    }

    /// Selects the file `name`, if `access` to it is permitted and the locks can be had.
    ///
    /// # Errors
    /// 3004, 3028, 10, 3011; 3012 while somebody else makes it.
    pub fn select(
        &mut self,
        user: &User,
        name: Name,
        access: AccessRequest,
        passwords: Option<&AccessPasswords>,
        locks: Option<ConcurrencyControl>,
    ) -> Result<Selection, StoreError> {
        self.begin_again(user, &name);
        if self.is_being_made(&name) {
            self.take_over(user, |held| *held == name);
        }
        let attributes = self.store.attributes(user, &name)?;
        if self.is_being_made(&name) {
            // The journal has who writes it.
            let _ = self.in_use(None, |held| *held == name);
            return Err(StoreError::transient(3012, "it is being written"));
        }
        let locks = locks.unwrap_or_else(|| usual(access));
        permit(&attributes, user, access, passwords, &locks)?;
        let locks = needed(access, locks);
        let is_free = self.table(|table| table.is_free(&name, &locks, None).is_ok());
        if is_free == Some(false) {
            self.take_over(user, |held| *held == name);
            // One that was made for the other's transfer has gone with it.
            self.store.attributes(user, &name)?;
        }
        self.hold(user, name, access, locks)
    }

    fn hold(
        &mut self,
        user: &User,
        name: Name,
        access: AccessRequest,
        locks: ConcurrencyControl,
    ) -> Result<Selection, StoreError> {
        let held = self.table(|table| {
            table.is_free(&name, &locks, None)?;
            table.next += 1;
            let held = SelectedFile {
                name: name.clone(),
                user: user.clone(),
                locks,
                open: None,
                activity: None,
                is_claimed: false,
                makes: false,
            };
            table.held.insert(table.next, held);
            Ok(Selection(table.next))
        });
        let held = held.unwrap_or_else(|| Err(StoreError::transient(9, "")));
        let selection = held.map_err(|fault| self.locked(fault, None, &name))?;
        let own = OwnSelection { name, access, emptied: None };
        self.own.insert(selection, own);
        Ok(selection)
    }

    /// Whether the file is one that somebody has made and has put nothing in yet.
    fn is_being_made(&mut self, name: &Name) -> bool {
        let makes = |held: &SelectedFile| held.makes && held.name == *name;
        let found = self.table(|table| table.held.values().any(makes));
        found.unwrap_or(false)
    }

    /// The names of what is in a directory, but for files that are being made.
    ///
    /// # Errors
    /// As [`Filestore::list`].
    pub(crate) fn list(
        &mut self,
        user: &User,
        directory: &Name,
        most: usize,
    ) -> Result<Vec<GraphicString>, StoreError> {
        let mut names = self.store.list(user, directory, most)?;
        let made = self.table(|table| {
            let made = table.held.values().filter(|held| held.makes);
            let made = made.filter_map(|held| held.name.split());
            let made = made.filter(|(of, _)| of == directory);
            made.map(|(_, last)| last.clone()).collect::<Vec<_>>()
        });
        let made = made.unwrap_or_default();
        names.retain(|name| !made.contains(name));
        Ok(names)
    }

    /// The attributes of what was listed under the name `last`. None where it has gone since.
    ///
    /// # Errors
    /// The store's; 3004 where the directory has gone too: a part of what was in it is not to be taken for all.
    pub(crate) fn entry(
        &mut self,
        user: &User,
        directory: &Name,
        last: &GraphicString,
    ) -> Result<Option<ReadAttributes>, StoreError> {
        match self.store.attributes(user, &directory.with(last)) {
            Ok(attributes) => Ok(Some(attributes)),
            Err(fault) if fault.identifier == 3004 => self.store.attributes(user, directory).map(|_| None),
            Err(fault) => Err(fault),
        }
    }

    /// Whether somebody has selected one of the files that `which` says, but for `except`.
    fn is_used(&mut self, except: Option<Selection>, which: impl Fn(&Name) -> bool) -> bool {
        let used = self.table(|table| {
            let mut others = table.held.iter().filter(|(number, _)| except != Some(Selection(**number)));
            others.any(|(_, held)| which(&held.name))
        });
        used.unwrap_or(true)
    }

    /// Why what `which` says cannot be had where somebody has selected it, but for `except`. Who that is goes to the
    /// journal: it is nothing for others who call.
    fn in_use(&mut self, except: Option<Selection>, which: impl Fn(&Name) -> bool) -> Option<StoreError> {
        if !self.is_used(except, &which) {
            return None;
        }
        let (holders, is_kept) = self
            .table(|table| {
                let others = table.held.iter().filter(|(number, _)| except != Some(Selection(**number)));
                let others: Vec<_> = others.filter(|(_, held)| which(&held.name)).collect();
                let mut users: Vec<String> = others.iter().map(|(_, held)| shown(&held.user)).collect();
                users.sort();
                users.dedup();
                users.truncate(MOST_NAMED);
                let is_kept = |number: u64| table.dockets.iter().any(|it| it.has(Selection(number)));
                (users, others.iter().any(|(number, _)| is_kept(**number)))
            })
            .unwrap_or_default();
        self.aside = (!holders.is_empty()).then(|| format!("by {}", holders.join(", ")));
        Some(StoreError::transient(3012, if is_kept { KEPT } else { "" }))
    }

    /// The same of locks that cannot be had.
    fn locked(&mut self, mut fault: StoreError, except: Option<Selection>, name: &Name) -> StoreError {
        if let Some(in_use) = self.in_use(except, |held| held == name)
            && !in_use.text.is_empty()
        {
            fault.text = format!("{}, {}", fault.text, in_use.text);
        }
        fault
    }

    /// Something else is asked for: what stood in the way of the last is of no matter.
    pub(crate) fn forget_aside(&mut self) {
        self.aside = None;
    }

    /// Has the journal know what was not done, and what only that is to know of it.
    pub(crate) fn refused(&mut self, what: &str, name: &str, why: &str) {
        match self.aside.take() {
            Some(aside) => self.store.refused(what, name, &format!("{why}, {aside}")),
            None => self.store.refused(what, name, why),
        }
    }

    /// What F-CREATE asks for. Where there is such a file, that is overriding.
    ///
    /// # Errors
    /// 3005, 3006, 3023 and so on, and those of [`Guard::select`].
    pub(crate) fn create(
        &mut self,
        user: &User,
        request: &CreateRequest,
        now: CalendarTime,
    ) -> Result<Created, StoreError> {
        let initial = &request.initial_attributes;
        let name = Name::parse(&initial.pathname)?;
        let given = request.create_password.as_ref().map(Password::octets);
        if let Some(password) = &self.create_password
            && given != Some(password.octets())
        {
            return Err(StoreError::permanent(3025, ""));
        }
        let file = NewFile {
            contents_type: initial.contents_type.clone(),
            permitted_actions: initial.permitted_actions,
            future_size: initial.future_size.as_ref().and_then(|it| it.actual().copied()),
            access_control: match &initial.access_control {
                Some(Attribute::Actual(elements)) => elements.clone(),
                Some(Attribute::NoValueAvailable) | None => Vec::new(),
            },
        };
        if !file.access_control.is_empty() && !self.store.keeps_access_control() {
            return Err(StoreError::permanent(3015, "this store keeps no access control"));
        }
        // What F-CREATE had made for it is gone then.
        self.begin_again(user, &name);
        if self.is_being_made(&name) {
            self.take_over(user, |held| *held == name);
        }
        let old = match self.store.attributes(user, &name) {
            Ok(attributes) => Some(attributes),
            Err(fault) if fault.identifier == 3004 => None,
            Err(fault) => return Err(fault),
        };
        let access = request.requested_access;
        let passwords = request.access_passwords.as_deref();
        let locks = request.concurrency_control;
        let mut remarks = Vec::new();
        let mut emptied = None;
        let mut is_new = old.is_none();
        if let Some(old) = old {
            let number = match request.override_ {
                Override::CreateFailure => return Err(StoreError::exists(&name)),
                Override::SelectOldObject => 3020,
                Override::DeleteAndCreateWithOldAttributes => 3021,
                Override::DeleteAndCreateWithNewAttributes => 3022,
            };
            if request.override_ != Override::SelectOldObject {
                (is_new, emptied) = self.replace(user, &name, (&old, file), request, now)?;
            }
            remarks.push(informative(number, ""));
        } else {
            permit_new(&file, user, access, passwords, &locks.unwrap_or_else(|| usual(access)))?;
            self.store.create(user, &name, &file, now)?;
        }
        let selected = self.select(user, name.clone(), access, passwords, locks);
        let selection = match selected {
            Ok(selection) => selection,
            Err(fault) => {
                if is_new {
                    // What cannot be selected is not to be left behind; that this fails changes nothing for the caller.
                    let _ = self.store.delete(user, &name);
                }
                return Err(fault);
            }
        };
        let mut attributes = self.store.attributes(user, &name)?;
        if emptied.is_some() {
            attributes.size = Some(0.into());
        }
        if let Some(own) = self.own.get_mut(&selection) {
            own.emptied = emptied;
        }
        self.table(|table| {
            if let Some(held) = table.held.get_mut(&selection.0) {
                held.makes = is_new;
            }
        });
        Ok(Created { selection, is_new, attributes, remarks })
    }

    /// Makes `new` where there is `old`, which F-CREATE says is to be deleted: whether none was there in the end, and
    /// what is to be emptied once something is written, so that it stays as it was where nothing is.
    fn replace(
        &mut self,
        user: &User,
        name: &Name,
        (old, new): (&ReadAttributes, NewFile),
        request: &CreateRequest,
        now: CalendarTime,
    ) -> Result<(bool, Option<Emptied>), StoreError> {
        let (access, passwords) = (request.requested_access, request.access_passwords.as_deref());
        if is_directory(old) {
            return Err(StoreError::permanent(3023, "a directory is not emptied"));
        }
        permit(old, user, AccessRequest::DELETE, passwords, &ConcurrencyControl::default()).map_err(|why| {
            match why.identifier {
                // No password would help.
                3028 => why,
                _ => StoreError::permanent(3026, ""),
            }
        })?;
        if self.is_used(None, |held| held == name) {
            self.take_over(user, |held| held == name);
        }
        if let Some(in_use) = self.in_use(None, |held| held == name) {
            return Err(in_use);
        }
        let keeps = request.override_ == Override::DeleteAndCreateWithOldAttributes;
        let file = if keeps { kept(old) } else { new };
        let wanted = request.concurrency_control.unwrap_or_else(|| usual(access));
        permit_new(&file, user, access, passwords, &wanted)?;
        if self.store.attributes(user, name).is_err() {
            // It was made for a transfer whose place this takes.
            self.store.create(user, name, &file, now)?;
            return Ok((true, None));
        }
        if keeps {
            return Ok((false, Some((user.clone(), file, now))));
        }
        self.store.delete(user, name)?;
        self.store.create(user, name, &file, now)?;
        Ok((false, None))
    }

    /// Gives a selection up, with its locks. What F-CREATE was to empty and nothing was written to stays as it was.
    pub fn deselect(&mut self, selection: Selection) {
        self.own.remove(&selection);
        let held = self.table(|table| table.held.remove(&selection.0));
        if let Some(held) = held.flatten().filter(|held| held.makes) {
            self.store.made(&held.name);
        }
    }

    /// Whether F-CREATE has overridden the file, and nothing was written in its place yet.
    pub(crate) fn is_to_be_emptied(&self, selection: Selection) -> bool {
        let own = self.own.get(&selection);
        own.is_some_and(|own| own.emptied.is_some())
    }

    /// Empties what F-CREATE was to empty, where nothing was written in its place.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn empty(&mut self, selection: Selection) -> Result<(), StoreError> {
        let Some(own) = self.own.get_mut(&selection) else {
            return Ok(());
        };
        let Some((user, file, now)) = own.emptied.take() else {
            return Ok(());
        };
        self.store.delete(&user, &own.name)?;
        self.store.create(&user, &own.name, &file, now)
    }

    /// Something was written in the place of what F-CREATE has made, or was to empty.
    pub(crate) fn replaced(&mut self, selection: Selection) {
        if let Some(own) = self.own.get_mut(&selection) {
            own.emptied = None;
        }
        self.table(|table| {
            if let Some(held) = table.held.get_mut(&selection.0) {
                held.makes = false;
            }
        });
    }

    /// The name of what is selected.
    #[must_use]
    pub fn name(&self, selection: Selection) -> Option<&Name> {
        self.own.get(&selection).map(|own| &own.name)
    }

    /// The name of what is selected, if `action` was asked for.
    ///
    /// # Errors
    /// 1017 where it was not.
    pub fn may(&self, selection: Selection, action: AccessRequest) -> Result<&Name, StoreError> {
        let own = self.own.get(&selection).filter(|own| own.access.contains(action));
        own.map(|own| &own.name).ok_or_else(|| StoreError::permanent(1017, format!("{action} was not asked for")))
    }

    /// Deletes what is selected; the selection is gone, whatever comes of it.
    ///
    /// # Errors
    /// 1017, 3012, 3007.
    pub fn delete(&mut self, user: &User, selection: Selection) -> Result<(), StoreError> {
        let name = self.may(selection, AccessRequest::DELETE).cloned();
        self.deselect(selection);
        let name = name?;
        if self.is_used(None, |held| held.is_within(&name)) {
            self.take_over(user, |held| held.is_within(&name));
        }
        if let Some(in_use) = self.in_use(None, |held| held.is_within(&name)) {
            return Err(in_use);
        }
        self.store.delete(user, &name)
    }

    /// Gives what is selected another name.
    ///
    /// # Errors
    /// 1017, 3012, 4005.
    pub fn rename(&mut self, user: &User, selection: Selection, to: Name, now: CalendarTime) -> Result<(), StoreError> {
        let name = self.may(selection, AccessRequest::CHANGE_ATTRIBUTE)?.clone();
        if name == to {
            return Ok(());
        }
        if self.is_used(Some(selection), |held| held.is_within(&name)) {
            self.take_over(user, |held| held.is_within(&name));
        }
        if let Some(in_use) = self.in_use(Some(selection), |held| held.is_within(&name)) {
            return Err(in_use);
        }
        self.store.rename(user, &name, &to, now)?;
        if let Some(own) = self.own.get_mut(&selection) {
            own.name = to.clone();
        }
        self.table(|table| {
            if let Some(held) = table.held.get_mut(&selection.0) {
                held.name = to.clone();
            }
        });
        Ok(())
    }

    /// Sets the locks of an open file.
    ///
    /// # Errors
    /// 5018 where they cannot be had.
    pub fn lock_open(&mut self, selection: Selection, locks: ConcurrencyControl) -> Result<(), StoreError> {
        let Some(name) = self.name(selection).cloned() else {
            return Err(StoreError::permanent(5039, ""));
        };
        let locked = self.table(|table| {
            table.is_free(&name, &locks, Some(selection))?;
            if let Some(held) = table.held.get_mut(&selection.0) {
                held.open = Some(locks);
            }
            Ok(())
        });
        let locked = locked.unwrap_or_else(|| Err(StoreError::transient(9, "")));
        locked.map_err(|fault| self.locked(StoreError::transient(5018, fault.text), Some(selection), &name))
    }

    /// Whether a selection keeps others from the file, or from reading what is being changed: it has a lock that none
    /// goes with.
    pub(crate) fn keeps_others_out(&mut self, selection: Selection) -> bool {
        let keeps = self.table(|table| {
            let Some(held) = table.held.get(&selection.0) else {
                return false;
            };
            let sets = [Some(&held.locks), held.open.as_ref()];
            let mut locks = sets.into_iter().flatten().flat_map(PerAction::each);
            locks.any(|(_, lock)| matches!(lock, Lock::Exclusive | Lock::NoAccess))
        });
        keeps.unwrap_or(false)
    }

    /// Gives the locks of an open file up, and the number of what was done with it.
    pub fn unlock_open(&mut self, selection: Selection) {
        self.table(|table| {
            if let Some(held) = table.held.get_mut(&selection.0) {
                (held.open, held.activity) = (None, None);
            }
        });
    }
}

/// Locks end with who has them. What was interrupted stays for others who have the table.
impl Drop for Guard {
    fn drop(&mut self) {
        if !self.is_shared {
            self.forget_interrupted();
        }
        for selection in core::mem::take(&mut self.own).into_keys() {
            self.deselect(selection);
        }
    }
}

impl Table {
    /// Whether nobody but `except` has locks on `name` against these.
    fn is_free(&self, name: &Name, wanted: &ConcurrencyControl, except: Option<Selection>) -> Result<(), StoreError> {
        for (number, held) in &self.held {
            if held.name != *name || except == Some(Selection(*number)) {
                continue;
            }
            let sets = [Some(&held.locks), held.open.as_ref()];
            for set in sets.into_iter().flatten() {
                for ((action, mine), (_, theirs)) in wanted.each().into_iter().zip(set.each()) {
                    if !goes_with(*mine, *theirs) {
                        let text = format!("somebody has the lock {action} {theirs}");
                        return Err(StoreError::transient(3011, text));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The locks of who says nothing.
fn usual(access: AccessRequest) -> ConcurrencyControl {
    let lock = |action, lock| {
        if access.contains(action) { lock } else { Lock::NotRequired }
    };
    PerAction {
        read: lock(AccessRequest::READ, Lock::Shared),
        insert: lock(AccessRequest::INSERT, Lock::Exclusive),
        replace: lock(AccessRequest::REPLACE, Lock::Exclusive),
        extend: lock(AccessRequest::EXTEND, Lock::Exclusive),
        erase: lock(AccessRequest::ERASE, Lock::Exclusive),
        read_attribute: lock(AccessRequest::READ_ATTRIBUTE, Lock::Shared),
        change_attribute: lock(AccessRequest::CHANGE_ATTRIBUTE, Lock::Exclusive),
        delete: lock(AccessRequest::DELETE, Lock::Exclusive),
    }
}

/// Who does something needs others to let him: "not required" is said of what one does not do, and is no way past the
/// locks of others.
fn needed(access: AccessRequest, locks: ConcurrencyControl) -> ConcurrencyControl {
    let lock = |action, lock| {
        if lock == Lock::NotRequired && access.contains(action) { Lock::Shared } else { lock }
    };
    PerAction {
        read: lock(AccessRequest::READ, locks.read),
        insert: lock(AccessRequest::INSERT, locks.insert),
        replace: lock(AccessRequest::REPLACE, locks.replace),
        extend: lock(AccessRequest::EXTEND, locks.extend),
        erase: lock(AccessRequest::ERASE, locks.erase),
        read_attribute: lock(AccessRequest::READ_ATTRIBUTE, locks.read_attribute),
        change_attribute: lock(AccessRequest::CHANGE_ATTRIBUTE, locks.change_attribute),
        delete: lock(AccessRequest::DELETE, locks.delete),
    }
}

/// Whether two users can have these locks on one action.
const fn goes_with(mine: Lock, theirs: Lock) -> bool {
    matches!(
        (mine, theirs),
        (Lock::NotRequired, _)
            | (_, Lock::NotRequired)
            | (Lock::Shared, Lock::Shared)
            | (Lock::NoAccess, Lock::NoAccess)
    )
}

/// Whether a file is a directory, by its type.
pub(crate) fn is_directory(attributes: &ReadAttributes) -> bool {
    let contents_type = attributes.contents_type.as_ref();
    contents_type.and_then(super::Form::of) == Some(super::Form::Directory)
}

/// What is kept of a file that is created again with its old attributes.
fn kept(old: &ReadAttributes) -> NewFile {
    NewFile {
        contents_type: old.contents_type.clone().unwrap_or_default(),
        permitted_actions: old.permitted_actions.unwrap_or_default(),
        future_size: old.future_size.as_ref().and_then(|it| it.actual().copied()),
        access_control: match &old.access_control {
            Some(Attribute::Actual(elements)) => elements.clone(),
            Some(Attribute::NoValueAvailable) | None => Vec::new(),
        },
    }
}

/// Whether the attributes of a file let this user have this access.
fn permit(
    attributes: &ReadAttributes,
    user: &User,
    access: AccessRequest,
    passwords: Option<&AccessPasswords>,
    locks: &ConcurrencyControl,
) -> Result<(), StoreError> {
    permit_new(&kept(attributes), user, access, passwords, locks)
}

fn permit_new(
    file: &NewFile,
    user: &User,
    access: AccessRequest,
    passwords: Option<&AccessPasswords>,
    locks: &ConcurrencyControl,
) -> Result<(), StoreError> {
    let permitted = file.permitted_actions;
    if !access.is_within(permitted) {
        let more = access - AccessRequest::from_bits(permitted.bits());
        let looks = PermittedActions::READ | PermittedActions::READ_ATTRIBUTE;
        // So it is with all files of a responder that only reads.
        let why = if (permitted - looks).is_empty() { ", for it can only be read" } else { "" };
        let text = format!("{more} is not permitted{why}");
        return Err(StoreError::permanent(3028, text));
    }
    if file.access_control.is_empty() {
        return Ok(());
    }
    let none = AccessPasswords::default();
    let given = passwords.unwrap_or(&none);
    for (((action, lock), (_, password)), index) in locks.each().into_iter().zip(given.actions.each()).zip(0_usize..) {
        let allows = |element: &AccessControlElement| {
            let keys = element.concurrency_access.as_ref();
            let keys = keys.and_then(|keys| keys.each().into_iter().nth(index));
            let asked = element.passwords.as_ref();
            let asked = asked.and_then(|asked| asked.actions.each().into_iter().nth(index));
            element.action_list.contains(action)
                && element.identity.as_ref().is_none_or(|who| *who == user.name)
                && element.location.is_none()
                && keys.is_none_or(|(_, keys)| keys.contains(key(*lock)))
                && asked.is_none_or(|(_, asked)| asked.octets() == password.octets())
        };
        if access.contains(action) && !file.access_control.iter().any(allows) {
            return Err(StoreError::permanent(10, format!("{action} is not allowed")));
        }
    }
    Ok(())
}

/// The bit of a lock.
const fn key(lock: Lock) -> LockKeys {
    match lock {
        Lock::NotRequired => LockKeys::NOT_REQUIRED,
        Lock::Shared => LockKeys::SHARED,
        Lock::Exclusive => LockKeys::EXCLUSIVE,
        Lock::NoAccess => LockKeys::NO_ACCESS,
    }
}
