//! What is left where something fails or is taken back: what was there before, for those who might see it before.

use kumiki_osi_service::ftam::access::{AccessControlElement, AccessPasswords, PerAction};
use kumiki_osi_service::ftam::attributes::Attribute;

use super::interrupted::{Rooted, as_user, break_writing, contents, numbered, recover_as};
use super::*;

#[test]
fn a_file_stays_as_it_was_where_the_new_one_could_not_be_committed() {
    let mut memory = Memory::new();
    memory.put(&name("a"), ContentsType::binary(), octets(b"old"), today());
    let mut guard = Guard::new(Box::new(Rooted { memory, is_full: true, keeps_types: true, alters: false }));
    let mut writer = as_user("ada", &mut guard);
    let over = Override::DeleteAndCreateWithOldAttributes;
    say(&mut writer, &mut guard, begin_writing("a", over));
    let mut out = Vec::new();
    writer.on_data(octets(b"new"), &mut guard, &mut out);
    let end = vec![
        Fpdu::DataEndRequest(Box::default()),
        Fpdu::TransferEndRequest(Box::default()),
        Fpdu::CloseRequest(Box::default()),
        Fpdu::DeselectRequest(Box::default()),
    ];
    let out = say(&mut writer, &mut guard, end);
    assert_eq!(errors(&out), [5029]);
    assert_eq!(contents(&mut guard, "a").unwrap(), b"old");
}

#[test]
fn what_is_recovered_and_not_gone_on_with_leaves_the_old() {
    let mut guard = store(b"old");
    break_writing("ada", "a", 7, &mut guard);
    let (mut writer, said) = recover_as("ada", 7, 1, &mut guard);
    assert_eq!(said, [0; 0]);
    let end = vec![Fpdu::CloseRequest(Box::default()), Fpdu::DeselectRequest(Box::default())];
    say(&mut writer, &mut guard, end);
    assert_eq!(contents(&mut guard, "a").unwrap(), b"old");
}

#[test]
fn recovery_gives_no_more_rights_than_there_were() {
    let mut memory = Memory::new();
    memory.put(&name("a"), ContentsType::binary(), octets(b"old"), today());
    let mut guard = Guard::new(Box::new(memory));
    let mut writer = as_user("ada", &mut guard);
    let write = |operation| {
        Fpdu::WriteRequest(Box::new(WriteRequest {
            fadu_operation: operation,
            fadu_identity: FaduIdentity::First,
            ..WriteRequest::default()
        }))
    };
    let begin = vec![
        select("a", AccessRequest::EXTEND),
        Fpdu::OpenRequest(Box::new(OpenRequest { processing_mode: ProcessingMode::EXTEND, ..OpenRequest::default() })),
        write(FaduOperation::Extend),
    ];
    let out = say(&mut writer, &mut guard, numbered(begin, 7));
    assert_eq!(errors(&out), [0; 0]);
    let mut out = Vec::new();
    writer.on_data(octets(b"+1"), &mut guard, &mut out);
    writer.on(Primitive::Check { identifier: 1 }, today(), &mut guard, &mut out);
    writer.on_broken(&mut guard);
    let (mut writer, said) = recover_as("ada", 7, 1, &mut guard);
    assert_eq!(said, [0; 0]);
    let end = || vec![Fpdu::DataEndRequest(Box::default()), Fpdu::TransferEndRequest(Box::default())];
    let mut all = vec![write(FaduOperation::Extend)];
    all.extend(end());
    say(&mut writer, &mut guard, all);
    assert_eq!(contents(&mut guard, "a").unwrap(), b"old+1");
    say(&mut writer, &mut guard, vec![write(FaduOperation::Replace)]);
    writer.on_data(octets(b"gone"), &mut guard, &mut out);
    say(&mut writer, &mut guard, end());
    assert_eq!(contents(&mut guard, "a").unwrap(), b"old+1");
}

#[test]
fn what_a_group_has_changed_is_not_put_back_at_another_file() {
    let mut memory = Memory::new();
    memory.put(&name("a"), ContentsType::binary(), octets(b"A"), today());
    memory.put(&name("c"), ContentsType::binary(), octets(b"C"), today());
    let mut guard = Guard::new(Box::new(memory));
    let mut responder = as_user("ada", &mut guard);
    let group = vec![
        Fpdu::BeginGroupRequest(BeginGroupRequest { threshold: 5 }),
        select("a", changing()),
        change("b"),
        Fpdu::DeselectRequest(Box::default()),
        select("c", changing()),
        open_as_directory(),
        Fpdu::EndGroupRequest,
    ];
    let out = say(&mut responder, &mut guard, group);
    assert_eq!(errors(&out), [1016, 5036]);
    assert_eq!(contents(&mut guard, "c").unwrap(), b"C");
}

#[test]
fn a_listing_whose_directory_goes_is_no_whole_one() {
    let mut memory = Memory::new();
    let user = User::default();
    let dir = NewFile {
        contents_type: ContentsType::directory(AttributeNames::PATHNAME),
        permitted_actions: PermittedActions::READ | PermittedActions::CHANGE_ATTRIBUTE,
        future_size: None,
        access_control: Vec::new(),
    };
    memory.create(&user, &name("d"), &dir, today()).unwrap();
    for n in ["d/1", "d/2", "d/3"] {
        memory.put(&name(n), ContentsType::binary(), octets(b"x"), today());
    }
    let mut guard = Guard::new(Box::new(memory));
    let mut reader = as_user("ada", &mut guard);
    let out = say(&mut reader, &mut guard, vec![select("d", AccessRequest::READ), open_as_directory(), read()]);
    assert_eq!(errors(&out), [0; 0]);
    let mut out = Vec::new();
    reader.on_credit(1, &mut guard, &mut out);
    guard.store().rename(&user, &name("d"), &name("e"), today()).unwrap();
    reader.on_credit(10, &mut guard, &mut out);
    assert!(!kinds(&out).contains(&Kind::DataEndRequest));
}

#[test]
fn passwords_of_access_control_are_not_listed() {
    let mut memory = Memory::new();
    let user = User::default();
    memory.put(&name("a"), ContentsType::binary(), octets(b"x"), today());
    let element = AccessControlElement {
        action_list: AccessRequest::READ,
        identity: Some("ada".into()),
        passwords: Some(Box::new(AccessPasswords {
            actions: PerAction { read: "open".into(), ..PerAction::default() },
            ..AccessPasswords::default()
        })),
        ..AccessControlElement::default()
    };
    memory.set_access_control(&user, &name("a"), vec![element], today()).unwrap();
    let mut guard = Guard::new(Box::new(memory));
    let request = InitializeRequest {
        initiator_identity: Some("eve".into()),
        attribute_groups: AttributeGroups::STORAGE.with(AttributeGroups::SECURITY),
        ..asking(ResponderConfig::UNITS)
    };
    let mut reader = Responder::new(ResponderConfig::default());
    assert_eq!(reader.initialize(&request, &mut guard).state_result, StateResult::Success);
    let open = Fpdu::OpenRequest(Box::new(OpenRequest {
        contents_type: Some(ContentsType::directory(AttributeNames::PATHNAME.with(AttributeNames::ACCESS_CONTROL))),
        ..OpenRequest::default()
    }));
    let out = say(&mut reader, &mut guard, vec![select(".", AccessRequest::READ), open, read()]);
    assert_eq!(errors(&out), [0; 0]);
    let mut out = Vec::new();
    reader.on_credit(10, &mut guard, &mut out);
    let seen = out.iter().find_map(|it| match it {
        Action::Say(Primitive::Data(kumiki_osi_service::ftam::data::DataElement::Entry(entry))) => {
            entry.access_control.clone()
        }
        Action::Say(_) | Action::Data(_) | Action::Grant(_) => None,
    });
    let Some(Attribute::Actual(all)) = seen else {
        return;
    };
    assert!(all.iter().all(|it| it.passwords.is_none()));
}

#[test]
fn a_group_that_is_undone_leaves_what_it_was_to_replace() {
    let mut guard = store(b"old");
    let mut writer = as_user("ada", &mut guard);
    let mut all = begin_writing("a", Override::DeleteAndCreateWithOldAttributes);
    all.truncate(1);
    let Some(Fpdu::CreateRequest(create)) = all.first_mut() else { panic!() };
    create.requested_access = AccessRequest::REPLACE | AccessRequest::READ_ATTRIBUTE;
    create.initial_attributes.permitted_actions =
        PermittedActions::READ | PermittedActions::REPLACE | PermittedActions::READ_ATTRIBUTE;
    let mut group = vec![Fpdu::BeginGroupRequest(BeginGroupRequest { threshold: 3 })];
    group.append(&mut all);
    group.push(Fpdu::ReadAttribRequest(Box::default()));
    group.push(open_as_directory());
    group.push(Fpdu::EndGroupRequest);
    let out = say(&mut writer, &mut guard, group);
    assert_eq!(errors(&out), [1016, 5023]);
    assert_eq!(contents(&mut guard, "a").unwrap(), b"old");
}

#[test]
fn what_was_behind_the_checkpoint_is_forgotten() {
    let mut guard = store(b"old");
    break_writing("ada", "a", 7, &mut guard);
    let (mut writer, said) = recover_as("ada", 7, 1, &mut guard);
    assert_eq!(said, [0; 0]);
    let write = begin_writing("a", Override::CreateFailure).remove(2);
    let end = vec![write, Fpdu::DataEndRequest(Box::default()), Fpdu::TransferEndRequest(Box::default())];
    let out = say(&mut writer, &mut guard, end);
    assert_eq!(errors(&out), [0; 0]);
    assert_eq!(contents(&mut guard, "a").unwrap(), b"half");
}

#[test]
fn a_file_that_is_being_made_is_not_there_for_others() {
    let mut guard = store(b"old");
    let mut writer = as_user("ada", &mut guard);
    let mut other = as_user("eve", &mut guard);
    say(&mut writer, &mut guard, begin_writing("b", Override::CreateFailure));
    let mut listed = |guard: &mut Guard| {
        let root = Name::default();
        let names = guard.list(&User::default(), &root, 10).unwrap();
        let out = say(&mut other, guard, vec![select("b", AccessRequest::READ)]);
        if errors(&out).is_empty() {
            say(&mut other, guard, vec![Fpdu::DeselectRequest(Box::default())]);
        }
        (names.len(), errors(&out))
    };
    assert_eq!(listed(&mut guard), (1, vec![3012]));
    let mut out = Vec::new();
    writer.on_data(octets(b"new"), &mut guard, &mut out);
    let end = vec![Fpdu::DataEndRequest(Box::default()), Fpdu::TransferEndRequest(Box::default())];
    say(&mut writer, &mut guard, end);
    assert_eq!(listed(&mut guard), (2, vec![]));
}
