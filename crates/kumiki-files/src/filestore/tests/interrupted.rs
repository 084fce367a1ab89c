//! Transfers that broke, with two guards over one table: each has a store of its own, as two threads have.

use kumiki_graph::Instant;
use kumiki_osi_service::ftam::attributes::ReadAttributes;

use super::*;

/// F-OPEN asks for recovery under this number.
pub(super) fn numbered(mut fpdus: Vec<Fpdu>, activity: i64) -> Vec<Fpdu> {
    for fpdu in &mut fpdus {
        if let Fpdu::OpenRequest(open) = fpdu {
            open.activity_identifier = Some(activity);
            open.recovery_mode = RecoveryMode::AtAnyActiveCheckpoint;
        }
    }
    fpdus
}

pub(super) fn as_user(user: &str, guard: &mut Guard) -> Responder {
    let config = ResponderConfig { element: 10, checkpoint_every: 20, ..ResponderConfig::default() };
    let request = InitializeRequest {
        initiator_identity: Some(user.into()),
        checkpoint_window: 4,
        ..asking(ResponderConfig::UNITS)
    };
    let mut responder = Responder::new(config);
    let response = responder.initialize(&request, guard);
    assert_eq!(response.state_result, StateResult::Success);
    responder
}

/// `user` writes the file with a checkpoint after 4 octets, and the line breaks at the sixth.
pub(super) fn break_writing(user: &str, file: &str, activity: i64, guard: &mut Guard) {
    let mut writer = as_user(user, guard);
    let over = Override::DeleteAndCreateWithOldAttributes;
    say(&mut writer, guard, numbered(begin_writing(file, over), activity));
    let mut out = Vec::new();
    writer.on_data(octets(b"half"), guard, &mut out);
    writer.on(Primitive::Check { identifier: 1 }, today(), guard, &mut out);
    writer.on_data(octets(b"xx"), guard, &mut out);
    writer.on_broken(guard);
}

pub(super) fn recover_as(user: &str, activity: i64, point: i64, guard: &mut Guard) -> (Responder, Vec<i64>) {
    let mut responder = as_user(user, guard);
    let request = RecoverRequest {
        activity_identifier: activity,
        bulk_transfer_number: 1,
        recovery_point: point,
        ..RecoverRequest::default()
    };
    let request = Fpdu::RecoverRequest(Box::new(request));
    let out = say(&mut responder, guard, vec![request]);
    (responder, errors(&out))
}

pub(super) fn contents(guard: &mut Guard, file: &str) -> Option<Vec<u8>> {
    let user = User::default();
    let (file, _) = guard.store().read_from(&user, &name(file), today()).ok()?;
    let contents = guard.store().read(file, 0, 1000).unwrap().to_vec();
    guard.store().close(file);
    Some(contents)
}

/// Whether another user could write the file.
fn is_free(guard: &mut Guard, file: &str) -> bool {
    let user = User { name: "eve".into() };
    let taken = guard.select(&user, name(file), AccessRequest::REPLACE, None, None);
    taken.map(|taken| guard.deselect(taken)).is_ok()
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

#[test]
fn what_one_guard_has_kept_another_goes_on_with() {
    let table = Shared::default();
    let guard = || store(b"old").sharing(Box::new(table.clone()));
    let (mut first, mut second) = (guard(), guard());
    break_writing("ada", "a", 7, &mut first);
    // Whose association it was is gone, and the lock stands.
    drop(first);
    assert!(!is_free(&mut second, "a"));
    let (mut writer, said) = recover_as("ada", 7, 1, &mut second);
    assert_eq!(said, [0; 0]);
    let write = begin_writing("a", Override::CreateFailure).remove(2);
    let mut out = say(&mut writer, &mut second, vec![write]);
    writer.on_data(octets(b" and half"), &mut second, &mut out);
    let end = [Fpdu::DataEndRequest(Box::default()), Fpdu::TransferEndRequest(Box::default())];
    let out = say(&mut writer, &mut second, end.to_vec());
    assert_eq!(errors(&out), [0; 0]);
    assert_eq!(contents(&mut second, "a").unwrap(), b"half and half");
    writer.on_broken(&mut second);
    assert_eq!((second.interrupted(), second.selections()), (0, 0));
}

#[test]
fn what_was_being_read_is_read_on_as_it_was() {
    let old: Vec<u8> = (0..100).collect();
    let table = Shared::default();
    let guard = |contents: &[u8]| store(contents).sharing(Box::new(table.clone()));
    let (mut first, mut second) = (guard(&old), guard(b"another file by now"));
    let mut reader = as_user("ada", &mut first);
    let begin = vec![select("a", AccessRequest::READ), open(), read()];
    say(&mut reader, &mut first, numbered(begin, 7));
    let mut out = Vec::new();
    reader.on_credit(5, &mut first, &mut out);
    reader.on_broken(&mut first);
    let (mut reader, said) = recover_as("ada", 7, 2, &mut second);
    assert_eq!(said, [0; 0]);
    let mut out = say(&mut reader, &mut second, vec![read()]);
    reader.on_credit(1, &mut second, &mut out);
    let sent = out.iter().find_map(|wish| match wish {
        Action::Data(data) => Some(data.to_vec()),
        Action::Say(_) | Action::Grant(_) => None,
    });
    assert_eq!(sent.unwrap(), old[40..50]);
}

#[test]
fn a_transfer_is_recovered_by_its_own_user_alone() {
    let mut guard = store(b"old");
    break_writing("ada", "a", 7, &mut guard);
    assert_eq!(recover_as("eve", 7, 1, &mut guard).1, [6004]);
    assert_eq!(recover_as("ada", 8, 1, &mut guard).1, [6004]);
    // A point that is not there takes nothing away.
    assert_eq!(recover_as("ada", 7, 5, &mut guard).1, [6009]);
    assert_eq!(recover_as("ada", 7, 1, &mut guard).1, [0; 0]);
}

#[test]
fn what_is_given_up_leaves_neither_locks_nor_octets_nor_a_new_file() {
    for new in [false, true] {
        let mut memory = Memory::new().with_quota(10);
        memory.put(&name("a"), ContentsType::binary(), octets(b"old"), today());
        let mut guard = Guard::new(Box::new(memory));
        let file = if new { "new" } else { "a" };
        break_writing("ada", file, 7, &mut guard);
        assert_eq!(guard.interrupted(), 1);
        // Six octets of ten are taken by what is kept, and three by the file.
        let user = User::default();
        let fill = |guard: &mut Guard, len: usize| {
            let begun = guard.store().write_to(&user, &name("a"), Start::Replace);
            let (file, _) = begun.unwrap();
            let done = guard.store().write(file, 0, octets(&[1; 10][..len]));
            guard.store().close(file);
            done.is_ok()
        };
        assert_eq!((fill(&mut guard, 1), fill(&mut guard, 2)), (true, false));
        let kept = Duration::from_secs(60);
        assert_eq!(guard.age(at(5), kept), Some(at(35)));
        guard.age(at(64), kept);
        assert_eq!(guard.interrupted(), 1);
        assert_eq!(guard.age(at(65), kept), None);
        assert_eq!((guard.interrupted(), guard.selections()), (0, 0));
        assert!(fill(&mut guard, 7));
        assert_eq!(contents(&mut guard, "new"), None);
        assert_eq!(contents(&mut guard, "a").unwrap(), b"old");
    }
}

#[test]
fn who_writes_and_has_no_octets_yet_is_not_kept() {
    let mut guard = store(b"old");
    let mut writer = as_user("ada", &mut guard);
    let over = Override::DeleteAndCreateWithOldAttributes;
    let begin = numbered(begin_writing("a", over), 7);
    say(&mut writer, &mut guard, begin);
    assert!(!is_free(&mut guard, "a"));
    writer.on_broken(&mut guard);
    assert_eq!((guard.interrupted(), guard.selections()), (0, 0));
    assert!(is_free(&mut guard, "a"));
    assert_eq!(contents(&mut guard, "a").unwrap(), b"old");
    // The same of one that was silent for too long.
    let mut writer = as_user("ada", &mut guard);
    say(&mut writer, &mut guard, numbered(begin_writing("a", over), 8));
    writer.expire(StoreError::transient(1013, ""), &mut guard, &mut Vec::new());
    assert_eq!((guard.interrupted(), guard.selections()), (0, 0));
}

#[test]
fn after_a_short_time_another_user_may_take_the_file_over_and_its_owner_is_told() {
    for new in [false, true] {
        let table = Shared::default();
        let guard = || {
            let guard = store(b"old").sharing(Box::new(table.clone()));
            guard.yielding_after(Duration::from_secs(30))
        };
        let (mut ages, mut ada, mut eve) = (guard(), guard(), guard());
        let file = if new { "new" } else { "a" };
        break_writing("ada", file, 7, &mut ada);
        let kept = Duration::from_secs(600);
        assert_eq!(ages.age(at(5), kept), Some(at(35)));
        assert!(!is_free(&mut eve, "a") || new);
        ages.age(at(34), kept);
        assert_eq!(eve.interrupted(), 1);
        // Who only reads is in nobody's way.
        let due = ages.age(at(35), kept);
        assert_eq!(due, Some(at(605)));
        if !new {
            let user = User { name: "eve".into() };
            let read = eve.select(&user, name("a"), AccessRequest::READ_ATTRIBUTE, None, None);
            eve.deselect(read.unwrap());
        }
        assert_eq!(eve.interrupted(), 1);
        break_writing("eve", file, 9, &mut eve);
        assert_eq!(eve.interrupted(), 1);
        let mut late = as_user("ada", &mut ada);
        let request = RecoverRequest {
            activity_identifier: 7,
            bulk_transfer_number: 1,
            recovery_point: 1,
            ..RecoverRequest::default()
        };
        let out = say(&mut late, &mut ada, vec![Fpdu::RecoverRequest(Box::new(request))]);
        assert_eq!(errors(&out), [6004]);
        assert!(format!("{out:?}").contains("another user has taken the file over since"));
        let (_, said) = recover_as("eve", 9, 1, &mut eve);
        assert_eq!(said, [0; 0]);
    }
}

#[test]
fn of_too_many_the_oldest_is_given_up() {
    let mut guard = store(b"old").with_dockets(3).with_dockets_of_one(2);
    for (user, file, activity) in [("ada", "a", 1), ("ada", "b", 2), ("ada", "c", 3), ("bob", "d", 4), ("eve", "e", 5)]
    {
        break_writing(user, file, activity, &mut guard);
    }
    assert_eq!((guard.interrupted(), guard.selections()), (3, 3));
    // The first was one too many of ada, the second one of all.
    let mut is_there = |user, activity| recover_as(user, activity, 1, &mut guard).1.is_empty();
    assert!(!is_there("ada", 1) && !is_there("ada", 2));
    assert!(is_there("ada", 3) && is_there("bob", 4) && is_there("eve", 5));
}

#[test]
fn who_turns_to_a_file_again_is_not_in_his_own_way_at_another_guard() {
    let table = Shared::default();
    let guard = || store(b"old").sharing(Box::new(table.clone()));
    let (mut first, mut second) = (guard(), guard());
    break_writing("ada", "a", 7, &mut first);
    let ada = User { name: "ada".into() };
    let selected = second.select(&ada, name("a"), AccessRequest::REPLACE, None, None);
    second.deselect(selected.unwrap());
    assert_eq!((second.interrupted(), second.selections()), (0, 0));
    // Nor is the file that was being made, though there is to be none.
    break_writing("ada", "new", 8, &mut first);
    let mut writer = as_user("ada", &mut first);
    let out = say(&mut writer, &mut first, begin_writing("new", Override::CreateFailure));
    assert_eq!(errors(&out), [0; 0]);
    writer.on_broken(&mut first);
    // And one that is only looked at is not there.
    break_writing("ada", "new", 9, &mut first);
    let none = first.select(&ada, name("new"), AccessRequest::READ, None, None);
    assert_eq!(none.unwrap_err().identifier, 3004);
    assert_eq!((first.interrupted(), first.selections()), (0, 0));
}

#[test]
fn what_still_seems_to_stand_is_claimed_and_then_recovered() {
    let table = Shared::default();
    let guard = || store(b"old").sharing(Box::new(table.clone()));
    let (mut first, mut second) = (guard(), guard());
    let mut reader = as_user("ada", &mut first);
    let begin = vec![select("a", AccessRequest::READ), open(), read()];
    say(&mut reader, &mut first, numbered(begin, 7));
    assert!(first.claimed().is_empty());
    assert_eq!(recover_as("eve", 7, 0, &mut second).1, [6004]);
    assert!(first.claimed().is_empty());
    assert_eq!(recover_as("ada", 7, 0, &mut second).1, [6001]);
    assert_eq!(first.claimed().len(), 1);
    reader.supersede(&mut first, &mut Vec::new());
    assert_eq!(recover_as("ada", 7, 0, &mut second).1, [0; 0]);
    assert!(second.claimed().is_empty());
}

/// A store whose open files stay where they are, and that has no room for what is committed if it `is_full`.
pub(super) struct Rooted {
    pub(super) memory: Memory,
    pub(super) is_full: bool,
    pub(super) keeps_types: bool,
    /// Whatever is proposed, attributes may be read too.
    pub(super) alters: bool,
}

impl Filestore for Rooted {
    fn authenticate(&mut self, login: &Login<'_>) -> Result<User, StoreError> {
        self.memory.authenticate(login)
    }

    fn keeps_types(&self) -> bool {
        self.keeps_types
    }

    fn keeps_access_control(&self) -> bool {
        self.memory.keeps_access_control()
    }

    fn attributes(&mut self, user: &User, name: &Name) -> Result<ReadAttributes, StoreError> {
        let mut attributes = self.memory.attributes(user, name)?;
        if self.alters {
            attributes.permitted_actions = attributes.permitted_actions.map(|it| it | PermittedActions::READ_ATTRIBUTE);
        }
        Ok(attributes)
    }

    fn list(&mut self, user: &User, name: &Name, n: usize) -> Result<Vec<GraphicString>, StoreError> {
        self.memory.list(user, name, n)
    }

    fn create(&mut self, user: &User, name: &Name, file: &NewFile, now: CalendarTime) -> Result<(), StoreError> {
        self.memory.create(user, name, file, now)
    }

    fn made(&mut self, name: &Name) {
        self.memory.made(name);
    }

    fn delete(&mut self, user: &User, name: &Name) -> Result<(), StoreError> {
        self.memory.delete(user, name)
    }

    fn rename(&mut self, user: &User, from: &Name, to: &Name, now: CalendarTime) -> Result<(), StoreError> {
        self.memory.rename(user, from, to, now)
    }

    fn set_access_control(
        &mut self,
        user: &User,
        name: &Name,
        elements: Vec<AccessControlElement>,
        now: CalendarTime,
    ) -> Result<(), StoreError> {
        self.memory.set_access_control(user, name, elements, now)
    }

    fn read_from(&mut self, user: &User, name: &Name, now: CalendarTime) -> Result<(FileId, u64), StoreError> {
        self.memory.read_from(user, name, now)
    }

    fn write_to(&mut self, user: &User, name: &Name, start: Start) -> Result<(FileId, u64), StoreError> {
        self.memory.write_to(user, name, start)
    }

    fn read(&mut self, file: FileId, offset: u64, most: usize) -> Result<Message, StoreError> {
        self.memory.read(file, offset, most)
    }

    fn write(&mut self, file: FileId, offset: u64, data: Message) -> Result<(), StoreError> {
        self.memory.write(file, offset, data)
    }

    fn commit(&mut self, user: &User, file: FileId, now: CalendarTime) -> Result<(), StoreError> {
        if self.is_full {
            self.memory.close(file);
            return Err(StoreError::space("full"));
        }
        self.memory.commit(user, file, now)
    }

    fn close(&mut self, file: FileId) {
        self.memory.close(file);
    }
}

fn rooted() -> Rooted {
    Rooted { memory: Memory::new(), is_full: false, keeps_types: true, alters: false }
}

#[test]
fn a_store_that_cannot_hand_over_keeps_nothing() {
    let mut guard = Guard::new(Box::new(rooted()));
    break_writing("ada", "new", 7, &mut guard);
    assert_eq!((guard.interrupted(), guard.selections()), (0, 0));
    assert_eq!(contents(&mut guard, "new"), None);
    assert_eq!(recover_as("ada", 7, 1, &mut guard).1, [6004]);
    // Nor does it take what is another's, and then that is gone with its locks.
    let table = Shared::default();
    let mut first = store(b"old").sharing(Box::new(table.clone()));
    let other = Guard::new(Box::new(rooted()));
    let mut other = other.sharing(Box::new(table));
    break_writing("ada", "a", 7, &mut first);
    assert_eq!(recover_as("ada", 7, 1, &mut other).1, [6006]);
    assert_eq!((first.interrupted(), first.selections()), (0, 0));
    assert!(is_free(&mut first, "a"));
}

/// What is proposed and cannot be kept is told where something could be: else each file would come with a warning.
#[test]
fn attributes_that_no_file_keeps_were_not_altered() {
    for (keeps_types, told) in [(true, vec![3018]), (false, vec![])] {
        let store = Rooted { keeps_types, alters: true, ..rooted() };
        let mut guard = Guard::new(Box::new(store));
        let mut writer = as_user("ada", &mut guard);
        let create = begin_writing("new", Override::CreateFailure).swap_remove(0);
        let out = say(&mut writer, &mut guard, vec![create]);
        assert_eq!(errors(&out), told);
    }
}
