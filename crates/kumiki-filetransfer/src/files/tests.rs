//! What leads out of the root, what is left behind, and who is let in.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use kumiki_files::filestore::{Filestore as _, Login, Name, NewFile, Start, StoreError, User};
use kumiki_octets::Message;
use kumiki_osi_service::ftam::attributes::Pathname;
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::{CalendarTime, Password, PermittedActions};
use tempfile::TempDir;

use super::*;

fn now() -> CalendarTime {
    CalendarTime::from_unix_seconds(800_000_000).unwrap()
}

fn name(text: &str) -> Name {
    Name::parse(&text.into()).unwrap()
}

/// A root with the file `a`, and beside it, outside, a directory with `secret`.
fn root() -> (TempDir, [Directory; 2]) {
    let temp = tempfile::tempdir().unwrap();
    let (inner, outer) = (temp.path().join("root"), temp.path().join("outer"));
    fs::create_dir_all(inner.join("d")).unwrap();
    fs::create_dir(&outer).unwrap();
    fs::write(inner.join("a"), "old").unwrap();
    fs::write(outer.join("secret"), "secret").unwrap();
    let open = || Directory::open(&inner, Passwords::anonymous()).unwrap();
    let stores = [open(), open().step_by_step()];
    (temp, stores)
}

fn get(store: &mut Directory, file: &str) -> Result<Vec<u8>, StoreError> {
    let (file, size) = store.read_from(&User::default(), &name(file), now())?;
    let data = store.read(file, 0, usize::try_from(size).unwrap() + 10)?;
    store.close(file);
    Ok(data.to_vec())
}

fn counted(root: &Path, most: Option<u64>) -> Quota {
    let root = open_root(&disk::System, root).unwrap();
    Quota::count(&disk::System, &root, most).unwrap()
}

fn files(root: &Path) -> Vec<String> {
    let all = fs::read_dir(root).unwrap();
    let mut names: Vec<String> = all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn no_link_leads_out_of_the_root_or_anywhere() {
    let (temp, stores) = root();
    let inner = temp.path().join("root");
    symlink("../outer", inner.join("dir_link")).unwrap();
    symlink("../outer/secret", inner.join("link")).unwrap();
    symlink("/etc", inner.join("etc")).unwrap();
    symlink("a", inner.join("inside")).unwrap();
    let user = User::default();
    for mut store in stores {
        for bad in ["link", "dir_link/secret", "etc/passwd", "inside"] {
            assert!(get(&mut store, bad).is_err(), "{bad}");
            assert!(store.attributes(&user, &name(bad)).is_err(), "{bad}");
            assert!(store.write_to(&user, &name(bad), Start::Replace).is_err());
            assert!(store.delete(&user, &name(bad)).is_err(), "{bad}");
        }
        assert!(store.list(&user, &name("etc"), 10).is_err());
        let file = NewFile::default();
        assert!(store.create(&user, &name("dir_link/new"), &file, now()).is_err());
        assert!(store.rename(&user, &name("a"), &name("dir_link/a"), now()).is_err());
        assert_eq!(get(&mut store, "a").unwrap(), b"old");
        let names = store.list(&user, &Name::default(), 10).unwrap();
        assert_eq!(names, ["a".into(), "d".into()]);
        // What does not fit is not cut.
        assert_eq!(store.list(&user, &Name::default(), 2).unwrap().len(), 2);
        let cut = store.list(&user, &Name::default(), 1);
        assert_eq!(cut.unwrap_err(), StoreError::crowded(1));
    }
    assert_eq!(files(&temp.path().join("outer")), ["secret"]);
}

#[test]
fn names_that_lead_elsewhere_have_no_form() {
    for bad in ["..", "../outer/secret", "//etc/passwd", "d/../../outer/secret", "a\0"] {
        let parsed = Name::parse(&Pathname::from(bad));
        assert_eq!(parsed.unwrap_err().identifier, 3027, "{bad:?}");
    }
    // What is above the root is not there to be begun with.
    let below = Name::parse(&Pathname::from("/etc/passwd"));
    assert_eq!(below, Name::parse(&Pathname::from("etc/passwd")));
    let (_temp, [mut store, _]) = root();
    let reserved = store.create(&User::default(), &name(".kumiki-1"), &NewFile::default(), now());
    assert_eq!(reserved.unwrap_err().identifier, 3027);
}

/// The directory is there when writing begins, and a link when it ends.
#[test]
fn a_directory_swapped_for_a_link_leads_nowhere() {
    let (temp, stores) = root();
    let inner = temp.path().join("root");
    let user = User::default();
    for mut store in stores {
        fs::write(inner.join("d/f"), "old").unwrap();
        let (file, _) = store.write_to(&user, &name("d/f"), Start::Replace).unwrap();
        store.write(file, 0, Message::from_octets(b"new")).unwrap();
        fs::rename(inner.join("d"), inner.join("moved")).unwrap();
        symlink("../outer", inner.join("d")).unwrap();
        store.commit(&user, file, now()).unwrap();
        assert_eq!(fs::read(inner.join("moved/f")).unwrap(), b"new");
        assert_eq!(files(&temp.path().join("outer")), ["secret"]);
        fs::remove_file(inner.join("d")).unwrap();
        fs::rename(inner.join("moved"), inner.join("d")).unwrap();
    }
}

#[test]
fn writing_is_all_or_nothing_and_leaves_nothing_behind() {
    let (temp, [mut store, _]) = root();
    let inner = temp.path().join("root");
    let user = User::default();
    let (file, _) = store.write_to(&user, &name("a"), Start::Replace).unwrap();
    store.write(file, 0, Message::from_octets(b"new")).unwrap();
    assert_eq!(get(&mut store, "a").unwrap(), b"old");
    store.close(file);
    assert_eq!(fs::read(inner.join("a")).unwrap(), b"old");
    assert_eq!(files(&inner), ["a", "d"]);
    let (file, begin) = store.write_to(&user, &name("a"), Start::Extend).unwrap();
    assert_eq!(begin, 3);
    store.write(file, 3, Message::from_octets(b" and lost")).unwrap();
    // Back to a checkpoint: what is behind it is forgotten.
    store.write(file, 3, Message::from_octets(b"er")).unwrap();
    store.commit(&user, file, now()).unwrap();
    assert_eq!(fs::read(inner.join("a")).unwrap(), b"older");
    let (file, _) = store.write_to(&user, &name("a"), Start::Replace).unwrap();
    store.write(file, 0, Message::from_octets(b"x")).unwrap();
    drop(store);
    assert_eq!(files(&inner), ["a", "d"]);
    assert_eq!(fs::read(inner.join("a")).unwrap(), b"older");
}

#[test]
fn what_a_crash_has_left_goes_and_what_is_being_written_stays() {
    let (temp, [store, _]) = root();
    let inner = temp.path().join("root");
    fs::write(inner.join(".kumiki-1-0"), "left").unwrap();
    fs::write(inner.join("d/.kumiki-2-0"), "left").unwrap();
    // Of a collection into this directory, and of somebody who fetches.
    let others = [".kumiki-collect.jsonl", ".kumiki-get-1"].map(|name| inner.join("e").join(name));
    fs::create_dir(inner.join("e")).unwrap();
    for other in &others {
        fs::write(other, "").unwrap();
    }
    let user = User::default();
    let quota = Arc::new(counted(&inner, Some(10)));
    assert_eq!(quota.used(), 3);
    assert_eq!((files(&inner).len(), files(&inner.join("d")).len()), (3, 0));
    assert!(others.iter().all(|other| other.exists()));
    let mut store = store.with_quota(Arc::clone(&quota));
    let (file, _) = store.write_to(&user, &name("a"), Start::Replace).unwrap();
    let data = Message::from_octets(b"new..");
    store.write(file, 0, data.clone()).unwrap();
    assert_eq!(quota.used(), 8);
    // Another one that starts meanwhile counts it and lets it be.
    assert_eq!(counted(&inner, None).used(), 8);
    assert_eq!(files(&inner).len(), 4);
    let full = store.write(file, 5, data).unwrap_err();
    assert_eq!(full.identifier, 5029);
    // What is written again counts once.
    store.write(file, 4, Message::from_octets(b"!")).unwrap();
    store.commit(&user, file, now()).unwrap();
    assert_eq!((quota.used(), get(&mut store, "a").unwrap()), (5, b"new.!".to_vec()));
    let (file, begin) = store.write_to(&user, &name("a"), Start::Extend).unwrap();
    assert_eq!((begin, quota.used()), (5, 10));
    store.close(file);
    store.delete(&user, &name("a")).unwrap();
    assert_eq!(quota.used(), 0);
}

#[test]
fn what_the_system_refuses_has_the_right_number() {
    let (temp, [mut store, _]) = root();
    let user = User::default();
    let directory = NewFile { contents_type: ContentsType::directory(Default::default()), ..NewFile::default() };
    let number = |done: Result<(), StoreError>| done.map_err(|fault| fault.identifier);
    let file = NewFile::default();
    assert_eq!(number(store.create(&user, &name("a"), &file, now())), Err(3005));
    assert_eq!(number(store.create(&user, &name("x/y"), &file, now())), Err(3006));
    assert_eq!(number(store.create(&user, &name("n"), &directory, now())), Ok(()));
    assert_eq!(number(store.delete(&user, &name("missing"))), Err(3004));
    fs::write(temp.path().join("root/n/f"), "").unwrap();
    assert_eq!(number(store.delete(&user, &name("n"))), Err(3007));
    assert_eq!(number(store.rename(&user, &name("a"), &name("n/f"), now())), Err(4005));
    assert_eq!(number(store.rename(&user, &name("a"), &name("n/g"), now())), Ok(()));
    assert_eq!(get(&mut store, "n/g").unwrap(), b"old");
    // A hard link is a file.
    fs::hard_link(temp.path().join("root/n/g"), temp.path().join("root/h")).unwrap();
    assert_eq!(get(&mut store, "h").unwrap(), b"old");
    let mut store = store.read_only();
    assert_eq!(number(store.delete(&user, &name("h"))), Err(11));
    let actions = store.attributes(&user, &name("h")).unwrap().permitted_actions;
    let read = PermittedActions::READ | PermittedActions::READ_ATTRIBUTE;
    assert_eq!(actions, Some(read));
}

#[test]
fn only_who_has_the_password_is_let_in() {
    // The derivation of RFC 7914 section 11: PBKDF2-HMAC-SHA256 of "passwd" and "salt", one round.
    let line = hash("ada", b"passwd", b"salt", 1);
    let published = "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc";
    assert_eq!(line, format!("ada:pbkdf2-sha256:1:73616c74:{published}"));
    let passwords = Passwords::parse(&format!("# users\n\n{line}\n")).unwrap();
    let try_as = |user: &str, password: &str| {
        let (user, password) = (user.into(), Password::from(password));
        let login = Login { initiator: Some(&user), account: None, password: Some(&password) };
        passwords.authenticate(&login)
    };
    assert_eq!(try_as("ada", "passwd").unwrap().name, "ada".into());
    assert_eq!(try_as("ada", "guess"), Err(StoreError::login()));
    assert_eq!(try_as("bob", "passwd"), Err(StoreError::login()));
    let bad = Passwords::parse("ada:secret").unwrap_err();
    assert_eq!(bad.line, 1);
}

#[test]
fn an_open_file_goes_to_another_store_or_is_gone() {
    let (temp, _) = root();
    let inner = temp.path().join("root");
    let quota = Arc::new(counted(&inner, Some(100)));
    let store = || {
        let store = Directory::open(&inner, Passwords::anonymous()).unwrap();
        store.with_quota(Arc::clone(&quota))
    };
    let user = User::default();
    let begin = |store: &mut Directory| {
        let (file, _) = store.write_to(&user, &name("a"), Start::Extend).unwrap();
        store.write(file, 3, Message::from_octets(b"er")).unwrap();
        store.detach(file).unwrap()
    };
    let mut first = store();
    let taken = begin(&mut first);
    drop(first);
    // It outlives its store, and counts.
    assert_eq!(files(&inner).len(), 3);
    assert_eq!(quota.used(), 3 + 5);
    let mut second = store();
    let file = second.attach(taken).unwrap();
    second.write(file, 5, Message::from_octets(b"!")).unwrap();
    second.commit(&user, file, now()).unwrap();
    assert_eq!(get(&mut second, "a").unwrap(), b"older!");
    assert_eq!(quota.used(), 6);
    // What nobody takes is gone, and its octets are given back.
    let left = begin(&mut second);
    assert_eq!(quota.used(), 6 + 6);
    drop(left);
    assert_eq!(files(&inner), ["a", "d"]);
    assert_eq!(quota.used(), 6);
}

#[test]
fn a_file_that_was_written_to_in_its_place_is_not_read_on() {
    let (temp, [mut first, mut second]) = root();
    let path = temp.path().join("root/a");
    let open = |store: &mut Directory| {
        let (file, _) = store.read_from(&User::default(), &name("a"), now()).unwrap();
        store.detach(file).unwrap()
    };
    // Another file of its name is none of ours.
    let taken = open(&mut first);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "new").unwrap();
    let file = second.attach(taken).unwrap();
    assert_eq!(second.read(file, 0, 10).unwrap().to_vec(), b"old");
    second.close(file);
    let taken = open(&mut first);
    fs::write(&path, "longer").unwrap();
    assert_eq!(second.attach(taken).unwrap_err().identifier, 6006);
    let taken = open(&mut first);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(second.attach(taken).unwrap_err().identifier, 6006);
}

#[test]
fn what_was_made_for_a_transfer_and_is_empty_goes_after_a_crash_unless_it_was_to_be_so() {
    let (temp, [mut store, _]) = root();
    let inner = temp.path().join("root");
    let user = User::default();
    for made in ["left", "wanted", "written"] {
        let file = NewFile::default();
        store.create(&user, &name(made), &file, now()).unwrap();
    }
    store.made(&name("wanted"));
    let (file, _) = store.write_to(&user, &name("written"), Start::Replace).unwrap();
    store.commit(&user, file, now()).unwrap();
    fs::write(inner.join("d/empty"), "").unwrap();
    counted(&inner, None);
    assert_eq!(files(&inner), ["a", "d", "wanted", "written"]);
    assert_eq!(files(&inner.join("d")), ["empty"]);
    for file in ["wanted", "written"] {
        let mode = fs::metadata(inner.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7137, 0, "{file}: {mode:o}");
    }
}

#[test]
fn what_is_replaced_keeps_its_permissions() {
    let (temp, [mut store, _]) = root();
    let path = temp.path().join("root/a");
    let user = User::default();
    for mode in [0o666, 0o600, 0o664] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for start in [Start::Replace, Start::Extend] {
            let (file, _) = store.write_to(&user, &name("a"), start).unwrap();
            store.commit(&user, file, now()).unwrap();
            let now = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(now & 0o7777, mode);
        }
    }
}

#[test]
fn entries_are_bounded_in_all_and_in_each_directory() {
    let (temp, _) = root();
    let inner = temp.path().join("root");
    let there = counted(&inner, None);
    let before = there.entries();
    let quota = Arc::new(there.with_entries(before + 3).with_entries_of_one(4));
    let store = Directory::open(&inner, Passwords::anonymous()).unwrap();
    let mut store = store.with_quota(Arc::clone(&quota));
    let user = User::default();
    let make = |store: &mut Directory, path: &str| {
        let file = NewFile { contents_type: ContentsType::directory(Default::default()), ..NewFile::default() };
        let made = store.create(&user, &name(path), &file, now());
        made.map_err(|fault| (fault.identifier, fault.text))
    };
    let shown = |path: &Path| files(path).len();
    let space_in_root = 4 - shown(&inner);
    for n in 0..space_in_root {
        make(&mut store, &format!("m{n}")).unwrap();
    }
    let full = "the directory has 4 entries, and may have no more".to_owned();
    assert_eq!(make(&mut store, "more"), Err((5029, full)));
    // What is there already does not count twice, and what could not be made not at all.
    assert_eq!(make(&mut store, "m0").unwrap_err().0, 5029);
    assert_eq!(quota.entries(), before + space_in_root as u64);
    // Somebody else takes one away.
    fs::remove_dir(inner.join("m0")).unwrap();
    make(&mut store, "m0").unwrap();
    while quota.entries() < before + 3 {
        make(&mut store, &format!("d/n{}", quota.entries())).unwrap();
    }
    let full = "the store has as many entries as it may".to_owned();
    assert_eq!(make(&mut store, "d/last"), Err((5029, full)));
    store.delete(&user, &name("m0")).unwrap();
    make(&mut store, "d/last").unwrap();
    assert_eq!(quota.entries(), before + 3);
    // A quota of octets has room for one entry in each 4 KiB.
    let few = counted(&inner, Some(1 << 20));
    let there = few.entries();
    let taken = (0..300).take_while(|_| few.take_entry((0, 0), || 0).is_ok());
    assert_eq!(taken.count() as u64, 256 - there);
}
