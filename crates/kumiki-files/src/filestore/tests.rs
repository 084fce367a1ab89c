//! What a responder answers to single primitives, and who may.

mod interrupted;
mod left;
mod memory;
mod newlines;

use kumiki_graph::Duration;
use kumiki_octets::Message;
use kumiki_osi_service::Oid;
use kumiki_osi_service::ftam::access::{AccessControlElement, FaduIdentity, FaduOperation, Lock, PerAction};
use kumiki_osi_service::ftam::attributes::{Attribute, ChangeAttributes, CreateAttributes};
use kumiki_osi_service::ftam::bulk::{Restart, WriteRequest};
use kumiki_osi_service::ftam::contents::{
    ContentsType, ContentsTypeName, DocumentParameter, Significance, StringClass, StringParameter,
};
use kumiki_osi_service::ftam::file::{
    BeginGroupRequest, ChangeAttribRequest, CreateRequest, OpenRequest, Override, ReadAttribRequest, RecoverRequest,
    RecoveryMode, SelectRequest,
};
use kumiki_osi_service::ftam::regime::InitializeRequest;
use kumiki_osi_service::ftam::{
    AccessRequest, AttributeGroups, AttributeNames, CalendarTime, Fpdu, FunctionalUnits, Kind, PermittedActions,
    Primitive, ProcessingMode, ServiceClasses, StateResult, oids,
};

use super::*;
use crate::node::RespondingUser as _;

/// A date of the tests.
pub(crate) fn today() -> CalendarTime {
    CalendarTime::from_unix_seconds(800_000_000).unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(&text.into()).unwrap()
}

pub(crate) fn octets(text: &[u8]) -> Message {
    Message::from_octets(text)
}

/// A store with the binary file `a` in it.
fn store(contents: &[u8]) -> Guard {
    let mut store = Memory::new();
    store.put(&name("a"), ContentsType::binary(), octets(contents), today());
    Guard::new(Box::new(store))
}

fn asking(units: FunctionalUnits) -> InitializeRequest {
    InitializeRequest {
        service_class: ServiceClasses::TRANSFER_AND_MANAGEMENT | ServiceClasses::UNCONSTRAINED,
        functional_units: units,
        ..InitializeRequest::default()
    }
}

fn responder(config: ResponderConfig, guard: &mut Guard) -> Responder {
    let mut responder = Responder::new(config);
    let response = responder.initialize(&asking(ResponderConfig::UNITS), guard);
    assert_eq!(response.state_result, StateResult::Success);
    responder
}

fn say(responder: &mut Responder, guard: &mut Guard, fpdus: Vec<Fpdu>) -> Vec<Action> {
    let mut out = Vec::new();
    for fpdu in fpdus {
        responder.on(Primitive::Pdu(fpdu), today(), guard, &mut out);
    }
    out
}

fn select(name: &str, requested_access: AccessRequest) -> Fpdu {
    Fpdu::SelectRequest(Box::new(SelectRequest { pathname: name.into(), requested_access, ..SelectRequest::default() }))
}

fn open() -> Fpdu {
    Fpdu::OpenRequest(Box::default())
}

fn read() -> Fpdu {
    Fpdu::ReadRequest(Box::default())
}

fn kinds(out: &[Action]) -> Vec<Kind> {
    out.iter()
        .filter_map(|wish| match wish {
            Action::Say(Primitive::Pdu(fpdu)) => Some(fpdu.kind()),
            Action::Say(_) | Action::Data(_) | Action::Grant(_) => None,
        })
        .collect()
}

/// The error identifiers of the first FPDU that has some.
fn errors(out: &[Action]) -> Vec<i64> {
    let fpdus = out.iter().filter_map(|wish| match wish {
        Action::Say(Primitive::Pdu(fpdu)) => fpdu.outcome(),
        Action::Say(_) | Action::Data(_) | Action::Grant(_) => None,
    });
    let mut said = fpdus.map(|outcome| outcome.diagnostic).filter(|all| !all.is_empty());
    let all = said.next().unwrap_or_default();
    all.iter().map(|one| one.error_identifier).collect()
}

#[test]
fn what_is_asked_for_is_negotiated_down_and_said() {
    let mut guard = store(b"");
    let mut responder = Responder::new(ResponderConfig::default());
    let locking = FunctionalUnits::FADU_LOCKING;
    let response = responder.initialize(&asking(FunctionalUnits::READ | locking), &mut guard);
    assert_eq!(response.functional_units, FunctionalUnits::READ);
    assert_eq!(response.diagnostic[0].error_identifier, 2003);
    let text = response.diagnostic[0].further_details.clone().unwrap();
    assert_eq!(text.to_string(), "fadu-locking");
}

#[test]
fn a_wrong_password_and_an_unknown_user_are_refused_alike() {
    let store = Memory::new().with_user("ada", "secret");
    let mut guard = Guard::new(Box::new(store));
    let mut try_as = |user: &str, password: &str| {
        let request = InitializeRequest {
            initiator_identity: Some(user.into()),
            filestore_password: Some(password.into()),
            ..asking(FunctionalUnits::READ)
        };
        Responder::new(ResponderConfig::default()).initialize(&request, &mut guard)
    };
    assert_eq!(try_as("ada", "secret").state_result, StateResult::Success);
    let wrong = try_as("ada", "guess");
    assert_eq!(wrong.state_result, StateResult::Failure);
    assert_eq!(wrong.diagnostic[0].error_identifier, 2020);
    assert_eq!(wrong.implementation_information, None);
    assert_eq!(try_as("bob", "secret").diagnostic, wrong.diagnostic);
}

#[test]
fn the_type_of_directories_has_one_name_in_an_association() {
    let [new, old] = [oids::NBS_9, oids::NBS_9_OLD];
    let cases = [
        (vec![new, old], vec![new], new),
        (vec![old, new], vec![new], new),
        (vec![old], vec![old], old),
        (vec![oids::FTAM_3], vec![oids::FTAM_3], new),
    ];
    for (asked, agreed, told) in cases {
        let types = |names: &[Oid]| -> Vec<_> {
            let names = names.iter().copied();
            names.map(ContentsTypeName::DocumentType).collect()
        };
        let request = InitializeRequest { contents_type_list: types(&asked), ..asking(ResponderConfig::UNITS) };
        let mut guard = store(b"x");
        let mut responder = Responder::new(ResponderConfig::default());
        let response = responder.initialize(&request, &mut guard);
        assert_eq!(response.contents_type_list, types(&agreed));
        let cut = response.diagnostic.iter().any(|it| it.error_identifier == 2018);
        assert!(!cut, "{:?}", response.diagnostic);
        let names = AttributeNames::PATHNAME | AttributeNames::CONTENTS_TYPE;
        let read = Fpdu::ReadAttribRequest(Box::new(ReadAttribRequest {
            attribute_names: names,
            ..ReadAttribRequest::default()
        }));
        let select = select(".", AccessRequest::READ_ATTRIBUTE);
        let out = say(&mut responder, &mut guard, vec![select, read]);
        let attributes = out.iter().find_map(|one| match one {
            Action::Say(Primitive::Pdu(Fpdu::ReadAttribResponse(it))) => it.attributes.clone(),
            Action::Say(_) | Action::Data(_) | Action::Grant(_) => None,
        });
        let attributes = attributes.unwrap();
        assert_eq!(attributes.pathname, Some(".".into()));
        let seen = attributes.contents_type.and_then(|it| it.document_type());
        assert_eq!(seen, Some(told));
    }
}

#[test]
fn a_group_ends_with_the_member_that_failed() {
    // As ISODE answers: b7 a7 b9.
    let mut guard = store(b"x");
    let mut responder = responder(ResponderConfig::default(), &mut guard);
    let begin = Fpdu::BeginGroupRequest(BeginGroupRequest { threshold: 2 });
    let group = vec![begin, select("missing", AccessRequest::READ), open(), Fpdu::EndGroupRequest];
    let out = say(&mut responder, &mut guard, group);
    let expected = [Kind::BeginGroupResponse, Kind::SelectResponse, Kind::EndGroupResponse];
    assert_eq!(kinds(&out), expected);
    assert_eq!(errors(&out), [3004]);
}

#[test]
fn a_group_below_its_threshold_leaves_nothing_behind() {
    let mut guard = store(b"x");
    let mut responder = responder(ResponderConfig::default(), &mut guard);
    let create = Fpdu::CreateRequest(Box::new(CreateRequest {
        initial_attributes: CreateAttributes {
            pathname: "new".into(),
            permitted_actions: PermittedActions::READ,
            ..CreateAttributes::default()
        },
        requested_access: AccessRequest::READ,
        ..CreateRequest::default()
    }));
    let text = ContentsType::text(StringClass::General);
    let open = Fpdu::OpenRequest(Box::new(OpenRequest { contents_type: Some(text), ..OpenRequest::default() }));
    let begin = Fpdu::BeginGroupRequest(BeginGroupRequest { threshold: 2 });
    let group = vec![begin, create, open, Fpdu::EndGroupRequest];
    let out = say(&mut responder, &mut guard, group);
    assert_eq!(kinds(&out)[1], Kind::CreateResponse);
    assert_eq!(kinds(&out).len(), 3);
    assert_eq!(errors(&out), [1016, 5036]);
    assert_eq!(guard.selections(), 0);
    let user = User::default();
    let gone = guard.store().attributes(&user, &name("new")).unwrap_err();
    assert_eq!(gone.identifier, 3004);
}

fn changing() -> AccessRequest {
    AccessRequest::READ | AccessRequest::CHANGE_ATTRIBUTE
}

fn change(to: &str) -> Fpdu {
    Fpdu::ChangeAttribRequest(Box::new(ChangeAttribRequest {
        attributes: ChangeAttributes { pathname: Some(to.into()), ..ChangeAttributes::default() },
    }))
}

fn open_as_directory() -> Fpdu {
    Fpdu::OpenRequest(Box::new(OpenRequest {
        contents_type: Some(ContentsType::directory(AttributeNames::PATHNAME)),
        ..OpenRequest::default()
    }))
}

#[test]
fn what_a_group_below_its_threshold_has_changed_is_put_back() {
    // What fails behind it undoes it where the threshold says so, and leaves it where not.
    for (threshold, there, gone) in [(5, "a", "c"), (3, "c", "a")] {
        let mut guard = store(b"x");
        let mut responder = responder(ResponderConfig::default(), &mut guard);
        let begin = Fpdu::BeginGroupRequest(BeginGroupRequest { threshold });
        let group = vec![
            begin,
            select("a", changing()),
            change("b"),
            change("c"),
            open_as_directory(),
            Fpdu::DeselectRequest(Box::default()),
            Fpdu::EndGroupRequest,
        ];
        let out = say(&mut responder, &mut guard, group);
        let user = User::default();
        let store = guard.store();
        assert!(store.attributes(&user, &name(there)).is_ok(), "{threshold}");
        let missing = store.attributes(&user, &name(gone)).unwrap_err();
        assert_eq!(missing.identifier, 3004);
        assert!(store.attributes(&user, &name("b")).is_err());
        if threshold == 5 {
            assert_eq!(errors(&out), [1016, 5036]);
            assert_eq!(guard.selections(), 0);
        }
    }
}

#[test]
fn what_a_group_within_a_selection_has_changed_stays_as_it_was_answered() {
    let mut guard = store(b"x");
    let mut responder = responder(ResponderConfig::default(), &mut guard);
    let begin = Fpdu::BeginGroupRequest(BeginGroupRequest { threshold: 3 });
    let group = vec![select("a", changing()), begin, change("b"), open_as_directory(), Fpdu::EndGroupRequest];
    let out = say(&mut responder, &mut guard, group);
    assert_eq!(kinds(&out)[2..4], [Kind::ChangeAttribResponse, Kind::OpenResponse]);
    assert_eq!(errors(&out), [5036]);
    assert_eq!(guard.selections(), 1);
    assert!(guard.store().attributes(&User::default(), &name("b")).is_ok());
}

#[test]
fn what_a_group_has_changed_that_ends_in_an_abort_is_put_back() {
    let mut guard = store(b"x");
    let mut responder = responder(ResponderConfig::default(), &mut guard);
    let begin = Fpdu::BeginGroupRequest(BeginGroupRequest { threshold: 2 });
    let odd = Fpdu::OpenResponse(Box::default());
    let group = vec![begin, select("a", changing()), change("b"), odd, Fpdu::EndGroupRequest];
    let out = say(&mut responder, &mut guard, group);
    assert_eq!(kinds(&out), [Kind::UserAbort]);
    assert_eq!(guard.selections(), 0);
    assert!(guard.store().attributes(&User::default(), &name("a")).is_ok());
}

#[test]
fn data_is_read_only_as_there_is_credit() {
    let mut guard = store(&[7; 100]);
    let config = ResponderConfig { element: 30, ..ResponderConfig::default() };
    let mut responder = responder(config, &mut guard);
    let begin = vec![select("a", AccessRequest::READ), open(), read()];
    let out = say(&mut responder, &mut guard, begin);
    assert_eq!(kinds(&out), [Kind::SelectResponse, Kind::OpenResponse]);
    let mut lengths = Vec::new();
    for _ in 0..5 {
        let mut out = Vec::new();
        responder.on_credit(1, &mut guard, &mut out);
        lengths.extend(out.iter().map(|wish| match wish {
            Action::Data(data) => data.len(),
            Action::Say(_) | Action::Grant(_) => 0,
        }));
    }
    assert_eq!(lengths, [30, 30, 30, 10, 0]);
}

#[test]
fn the_responder_goes_back_to_the_checkpoint_that_is_asked_for() {
    let contents: Vec<u8> = (0..100).collect();
    let mut guard = store(&contents);
    let config = ResponderConfig { element: 10, checkpoint_every: 20, ..ResponderConfig::default() };
    let mut responder = Responder::new(config);
    let request = InitializeRequest { checkpoint_window: 2, ..asking(ResponderConfig::UNITS) };
    assert_eq!(responder.initialize(&request, &mut guard).checkpoint_window, 2);
    let begin = vec![select("a", AccessRequest::READ), open(), read()];
    say(&mut responder, &mut guard, begin);
    let mut out = Vec::new();
    responder.on_credit(50, &mut guard, &mut out);
    // The window of 2 stops it after 40 octets.
    let sent = |out: &[Action]| {
        let mut all = Vec::new();
        for wish in out {
            if let Action::Data(data) = wish {
                all.extend(data.to_vec());
            }
        }
        all
    };
    assert_eq!(sent(&out), contents[..40]);
    let restart = Fpdu::RestartRequest(Box::new(Restart { checkpoint_identifier: 1, ..Restart::default() }));
    let out = say(&mut responder, &mut guard, vec![restart]);
    assert_eq!(kinds(&out), [Kind::RestartResponse]);
    assert_eq!(sent(&out), contents[20..60]);
    let mut out = Vec::new();
    for identifier in 1..6 {
        let reply = Primitive::CheckReply { identifier };
        responder.on(reply, today(), &mut guard, &mut out);
    }
    assert_eq!(sent(&out), contents[60..]);
    assert_eq!(kinds(&out), [Kind::DataEndRequest]);
}

#[test]
fn what_a_write_lock_holds_another_user_does_not_get() {
    let mut guard = store(b"x");
    let user = User::default();
    let held = guard.select(&user, name("a"), AccessRequest::REPLACE, None, None);
    let again = guard.select(&user, name("a"), AccessRequest::REPLACE, None, None);
    assert_eq!(again.unwrap_err().identifier, 3011);
    // Nor does who says that no lock is required.
    let unlocked = Some(PerAction::default());
    let past = guard.select(&user, name("a"), AccessRequest::REPLACE, None, unlocked);
    assert_eq!(past.unwrap_err().identifier, 3011);
    // Reading is another action: it is locked only if that is asked for.
    let reading = guard.select(&user, name("a"), AccessRequest::READ, None, None);
    let none = PerAction { read: Lock::NoAccess, ..PerAction::default() };
    let alone = guard.select(&user, name("a"), AccessRequest::NONE, None, Some(none));
    assert_eq!(alone.unwrap_err().identifier, 3011);
    guard.deselect(reading.unwrap());
    guard.deselect(held.unwrap());
    let free = guard.select(&user, name("a"), AccessRequest::REPLACE, None, None);
    assert!(free.is_ok());
}

#[test]
fn access_control_asks_for_the_password_of_each_action() {
    let mut guard = store(b"x");
    let user = User { name: "ada".into() };
    let passwords = |read: &str| kumiki_osi_service::ftam::access::AccessPasswords {
        actions: PerAction { read: read.into(), ..PerAction::default() },
        ..Default::default()
    };
    let element = AccessControlElement {
        action_list: AccessRequest::READ,
        identity: Some("ada".into()),
        passwords: Some(Box::new(passwords("open"))),
        ..AccessControlElement::default()
    };
    let (a, all) = (name("a"), vec![element]);
    guard.store().set_access_control(&user, &a, all, today()).unwrap();
    let mut select = |user: &User, access, given: &str| {
        let given = passwords(given);
        let selected = guard.select(user, name("a"), access, Some(&given), None);
        selected.map(|selected| guard.deselect(selected)).map_err(|fault| fault.identifier)
    };
    assert_eq!(select(&user, AccessRequest::READ, "open"), Ok(()));
    assert_eq!(select(&user, AccessRequest::READ, "guess"), Err(10));
    assert_eq!(select(&User::default(), AccessRequest::READ, "open"), Err(10));
    assert_eq!(select(&user, AccessRequest::DELETE, "open"), Err(10));
}

#[test]
fn overriding_does_what_its_name_says() {
    let user = User::default();
    for (override_, expected, kept) in [
        (Override::CreateFailure, Err(3005), &b"old"[..]),
        (Override::SelectOldObject, Ok(3020), b"old"),
        (Override::DeleteAndCreateWithOldAttributes, Ok(3021), b""),
        (Override::DeleteAndCreateWithNewAttributes, Ok(3022), b""),
    ] {
        let mut guard = store(b"old");
        let request = CreateRequest {
            override_,
            initial_attributes: CreateAttributes {
                pathname: "a".into(),
                permitted_actions: PermittedActions::READ,
                ..CreateAttributes::default()
            },
            requested_access: AccessRequest::READ,
            ..CreateRequest::default()
        };
        let done = guard.create(&user, &request, today());
        let contents = |guard: &mut Guard| {
            let (file, _) = guard.store().read_from(&user, &name("a"), today()).unwrap();
            guard.store().read(file, 0, 100).unwrap().to_vec()
        };
        let done = done.map(|created| {
            if override_ == Override::DeleteAndCreateWithOldAttributes {
                // Its contents go when something is in their place, or nobody will write it.
                assert_eq!(contents(&mut guard), b"old");
                assert_eq!(created.attributes.size, Some(0.into()));
                guard.empty(created.selection).unwrap();
            }
            created.remarks[0].error_identifier
        });
        assert_eq!(done.map_err(|fault| fault.identifier), expected);
        assert_eq!(contents(&mut guard), kept);
    }
}

/// F-CREATE and F-OPEN to write it.
fn begin_writing(file: &str, override_: Override) -> Vec<Fpdu> {
    let create = CreateRequest {
        override_,
        initial_attributes: CreateAttributes {
            pathname: file.into(),
            permitted_actions: PermittedActions::READ | PermittedActions::REPLACE,
            contents_type: ContentsType::binary(),
            ..CreateAttributes::default()
        },
        requested_access: AccessRequest::REPLACE,
        ..CreateRequest::default()
    };
    let open = OpenRequest { processing_mode: ProcessingMode::REPLACE, ..OpenRequest::default() };
    let write = WriteRequest {
        fadu_operation: FaduOperation::Replace,
        fadu_identity: FaduIdentity::First,
        ..WriteRequest::default()
    };
    vec![Fpdu::CreateRequest(Box::new(create)), Fpdu::OpenRequest(Box::new(open)), Fpdu::WriteRequest(Box::new(write))]
}

#[test]
fn what_breaks_while_a_file_is_written_leaves_the_old_one_or_none() {
    let over = Override::DeleteAndCreateWithOldAttributes;
    for (file, is_there) in [("a", true), ("b", false)] {
        let mut guard = store(b"old");
        let mut writer = responder(ResponderConfig::default(), &mut guard);
        let out = say(&mut writer, &mut guard, begin_writing(file, over));
        assert_eq!(errors(&out), if is_there { vec![3021] } else { vec![] });
        let mut out = Vec::new();
        writer.on_data(Message::from_octets(b"half"), &mut guard, &mut out);
        writer.on_broken(&mut guard);
        let user = User::default();
        let old = guard.store().attributes(&user, &name(file));
        assert_eq!(old.ok().and_then(|it| it.size), is_there.then(|| 3.into()));
    }
}

/// A table that several guards have.
#[derive(Clone, Default)]
struct Shared(std::sync::Arc<std::sync::Mutex<Table>>);

impl RecoveryStore for Shared {
    fn with(&mut self, act: &mut dyn FnMut(&mut Table)) {
        act(&mut self.0.lock().unwrap());
    }
}

#[test]
fn guards_that_share_a_table_keep_off_each_others_files() {
    let table = Shared::default();
    let guard = || store(b"x").sharing(Box::new(table.clone()));
    let (mut first, mut second) = (guard(), guard());
    let user = User::default();
    let take = |guard: &mut Guard| {
        let taken = guard.select(&user, name("a"), AccessRequest::REPLACE, None, None);
        taken.map(drop).map_err(|fault| fault.identifier)
    };
    assert_eq!(take(&mut first), Ok(()));
    assert_eq!(take(&mut second), Err(3011));
    // Who is gone has none.
    drop(first);
    assert_eq!(take(&mut second), Ok(()));
}

#[test]
fn a_service_at_the_wrong_time_ends_the_association() {
    let mut guard = store(b"x");
    let mut responder = responder(ResponderConfig::default(), &mut guard);
    let out = say(&mut responder, &mut guard, vec![open()]);
    assert_eq!(kinds(&out), [Kind::UserAbort]);
    assert_eq!(errors(&out), [1008]);
    assert!(responder.is_over());
}

#[test]
fn whatever_breaks_gives_its_locks_back() {
    let mut guard = store(b"x");
    let mut responder = responder(ResponderConfig::default(), &mut guard);
    let begin = vec![select("a", AccessRequest::READ), open(), read()];
    say(&mut responder, &mut guard, begin);
    assert_eq!(guard.selections(), 1);
    responder.on_broken(&mut guard);
    assert_eq!(guard.selections(), 0);
}

/// A transfer of `a` that broke and is kept, under the number 7.
fn interrupted(guard: &mut Guard) {
    let mut responder = responder(ResponderConfig::default(), guard);
    let Fpdu::OpenRequest(mut opened) = open() else {
        panic!("no F-OPEN");
    };
    opened.activity_identifier = Some(7);
    opened.recovery_mode = RecoveryMode::AtAnyActiveCheckpoint;
    let opened = Fpdu::OpenRequest(opened);
    let begin = vec![select("a", AccessRequest::READ), opened, read()];
    say(&mut responder, guard, begin);
    responder.on_broken(guard);
    assert_eq!(guard.selections(), 1, "kept, with its lock");
}

fn recover(guard: &mut Guard) -> (Responder, Vec<Action>) {
    let mut responder = responder(ResponderConfig::default(), guard);
    let request = RecoverRequest {
        activity_identifier: 7,
        bulk_transfer_number: 1,
        requested_access: AccessRequest::READ,
        ..RecoverRequest::default()
    };
    let request = Fpdu::RecoverRequest(Box::new(request));
    let out = say(&mut responder, guard, vec![request]);
    (responder, out)
}

#[test]
fn an_interrupted_transfer_is_kept_until_it_is_recovered_or_begun_again() {
    let mut guard = store(b"x");
    interrupted(&mut guard);
    let (mut again, out) = recover(&mut guard);
    assert_eq!(kinds(&out), [Kind::RecoverResponse]);
    assert!(errors(&out).is_empty());
    // It breaks once more, before anything is transferred.
    again.on_broken(&mut guard);
    let (mut again, out) = recover(&mut guard);
    assert!(errors(&out).is_empty());
    let mut out = Vec::new();
    // A peer that has only fallen silent may come back as well.
    again.expire(StoreError::transient(1013, ""), &mut guard, &mut out);
    assert_eq!(guard.selections(), 1);
    // One of the same number takes its place, and its user is not in his own way.
    interrupted(&mut guard);
    let user = User::default();
    let other = User { name: "ada".into() };
    let alone = || Some(PerAction { read: Lock::NoAccess, ..PerAction::default() });
    let none = AccessRequest::NONE;
    let theirs = guard.select(&other, name("a"), none, None, alone());
    assert_eq!(theirs.unwrap_err().identifier, 3011);
    let own = guard.select(&user, name("a"), none, None, alone());
    guard.deselect(own.unwrap());
    assert_eq!(guard.selections(), 0);
    let (_, out) = recover(&mut guard);
    assert_eq!(errors(&out), [6004]);
}

#[test]
fn an_interrupted_transfer_that_nobody_comes_back_for_gives_its_locks_back() {
    let mut guard = store(b"x");
    interrupted(&mut guard);
    let at = |seconds| kumiki_graph::Instant::ZERO + Duration::from_secs(seconds);
    let kept = Duration::from_secs(60);
    // From then on another user may have the file.
    assert_eq!(guard.age(at(1), kept), Some(at(31)));
    guard.age(at(60), kept);
    assert_eq!((guard.interrupted(), guard.selections()), (1, 1));
    assert_eq!(guard.age(at(61), kept), None);
    assert_eq!((guard.interrupted(), guard.selections()), (0, 0));
}

/// A document type with this of its strings.
fn strings(name: Oid, maximum_length: Option<u64>, significance: Option<Significance>) -> ContentsType {
    ContentsType::Document {
        name,
        parameter: Some(DocumentParameter::Strings(StringParameter {
            universal_class: None,
            maximum_length,
            significance,
        })),
    }
}

fn open_as(contents_type: ContentsType) -> Fpdu {
    Fpdu::OpenRequest(Box::new(OpenRequest {
        processing_mode: ProcessingMode::READ | ProcessingMode::REPLACE,
        contents_type: Some(contents_type),
        ..OpenRequest::default()
    }))
}

#[test]
fn strings_that_mean_something_are_refused_where_their_boundaries_are_not_kept() {
    let access = AccessRequest::READ | AccessRequest::REPLACE;
    for meaning in [Significance::Variable, Significance::Fixed] {
        let wanted = strings(oids::FTAM_3, Some(3), Some(meaning));
        let mut guard = store(b"abcdef");
        let mut responder = responder(ResponderConfig::default(), &mut guard);
        let begin = vec![select("a", access), open_as(wanted.clone())];
        let out = say(&mut responder, &mut guard, begin);
        assert_eq!(errors(&out), [5036], "{wanted}");
        let mut responder = Responder::new(ResponderConfig::default());
        responder.initialize(&asking(ResponderConfig::UNITS), &mut guard);
        let create = Fpdu::CreateRequest(Box::new(CreateRequest {
            initial_attributes: CreateAttributes {
                pathname: "new".into(),
                permitted_actions: PermittedActions::READ,
                contents_type: wanted.clone(),
                ..CreateAttributes::default()
            },
            requested_access: AccessRequest::READ,
            ..CreateRequest::default()
        }));
        let out = say(&mut responder, &mut guard, vec![create]);
        assert_eq!(errors(&out), [3002], "{wanted}");
    }
    // Who says nothing is told that they mean nothing.
    let mut guard = store(b"abcdef");
    let mut responder = responder(ResponderConfig::default(), &mut guard);
    let begin = vec![select("a", access), open_as(strings(oids::FTAM_3, Some(3), None))];
    let out = say(&mut responder, &mut guard, begin);
    let told = out.iter().find_map(|wish| match wish {
        Action::Say(Primitive::Pdu(Fpdu::OpenResponse(it))) => Some(it.contents_type.clone()),
        Action::Say(_) | Action::Data(_) | Action::Grant(_) => None,
    });
    let not = Some(Significance::NotSignificant);
    assert_eq!(told, Some(strings(oids::FTAM_3, Some(3), not)));
}

#[test]
fn a_string_of_a_wrong_length_ends_the_transfer() {
    let variable = strings(oids::FTAM_1, Some(3), None);
    let fixed = strings(oids::FTAM_1, Some(3), Some(Significance::Fixed));
    for (kept, line, error) in
        [(&variable, "abcd", Some(5001)), (&variable, "ab", None), (&fixed, "ab", Some(5001)), (&fixed, "abc", None)]
    {
        let mut memory = Memory::new();
        memory.put(&name("a"), kept.clone(), octets(b""), today());
        let mut guard = Guard::new(Box::new(memory));
        let mut responder = responder(ResponderConfig::default(), &mut guard);
        let access = AccessRequest::READ | AccessRequest::REPLACE;
        let write = Fpdu::WriteRequest(Box::new(WriteRequest {
            fadu_operation: FaduOperation::Replace,
            ..WriteRequest::default()
        }));
        let begin = vec![select("a", access), open_as(kept.clone()), write];
        say(&mut responder, &mut guard, begin);
        let mut out = Vec::new();
        responder.on_data(octets(line.as_bytes()), &mut guard, &mut out);
        let cancel = out.iter().find_map(|wish| match wish {
            Action::Say(Primitive::Pdu(Fpdu::CancelRequest(it))) => Some(it.diagnostic[0].error_identifier),
            Action::Say(_) | Action::Data(_) | Action::Grant(_) => None,
        });
        assert_eq!(cancel, error, "{kept}, {line}");
    }
}

#[test]
fn an_attribute_without_a_value_is_said_to_have_none() {
    let mut guard = store(b"x");
    let mut responder = Responder::new(ResponderConfig::default());
    let request = InitializeRequest { attribute_groups: AttributeGroups::STORAGE, ..asking(ResponderConfig::UNITS) };
    responder.initialize(&request, &mut guard);
    let read = Fpdu::ReadAttribRequest(Box::new(ReadAttribRequest {
        attribute_names: AttributeNames::SIZE | AttributeNames::STORAGE_ACCOUNT,
        ..ReadAttribRequest::default()
    }));
    let select = select("a", AccessRequest::READ_ATTRIBUTE);
    let out = say(&mut responder, &mut guard, vec![select, read]);
    let attributes = out.iter().find_map(|one| match one {
        Action::Say(Primitive::Pdu(Fpdu::ReadAttribResponse(it))) => it.attributes.clone(),
        Action::Say(_) | Action::Data(_) | Action::Grant(_) => None,
    });
    let attributes = attributes.unwrap();
    assert_eq!(attributes.size, Some(Attribute::Actual(1)));
    assert_eq!(attributes.storage_account, Some(Attribute::NoValueAvailable));
    assert_eq!(attributes.future_size, None);
}
