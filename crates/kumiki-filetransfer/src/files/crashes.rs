//! Every crash of the responder's store, and every call that fails: what was acknowledged is there, all else is whole
//! as it was or whole as it was to be, and what is left goes at the next start.
//!
//! *Bounds.* All ends of each piece of work are tried ([`every_end`]), with the clock going on and with a clock that
//! jumps. What is bounded is the work: files of some octets in up to four writes, as what a store does with more is
//! more of the same.

use std::collections::BTreeMap;

use kumiki_files::filestore::{FileId, Filestore as _, Name, NewFile, Start, StoreError, User};
use kumiki_octets::Message;
use kumiki_osi_service::ftam::CalendarTime;
use kumiki_osi_service::ftam::contents::ContentsType;

use super::disk::{Disk as _, Simulated, every_end};
use super::{Directory, Passwords, Quota, open_root};

type Files = BTreeMap<String, Vec<u8>>;
type Store = Directory<Simulated>;

/// What is done, and how the files are before and after it.
struct Work {
    name: &'static str,
    old: &'static [(&'static str, &'static str)],
    /// After each step that is acknowledged.
    new: &'static [&'static [(&'static str, &'static str)]],
    steps: fn(&mut Store, &mut usize) -> Result<(), StoreError>,
}

fn now() -> CalendarTime {
    CalendarTime::from_unix_seconds(800_000_000).unwrap()
}

fn name(text: &str) -> Name {
    Name::parse(&text.into()).unwrap()
}

fn user() -> User {
    User::default()
}

fn write(store: &mut Store, file: FileId, at: u64, text: &str) -> Result<(), StoreError> {
    store.write(file, at, Message::from_octets(text.as_bytes()))
}

/// Writes, goes back as a transfer does that starts over at a checkpoint, and puts it in its place.
fn contents(store: &mut Store, at: &str, start: Start) -> Result<(), StoreError> {
    let (file, size) = store.write_to(&user(), &name(at), start)?;
    let all = [(0, "new"), (3, "conten"), (5, "tents")];
    let done = all
        .into_iter()
        .try_for_each(|(offset, text)| write(store, file, size + offset, text))
        .and_then(|()| store.commit(&user(), file, now()));
    store.close(file);
    done
}

fn make(store: &mut Store, at: &str, directory: bool) -> Result<(), StoreError> {
    let contents_type = if directory {
        ContentsType::directory(kumiki_osi_service::ftam::AttributeNames::PATHNAME)
    } else {
        ContentsType::binary()
    };
    let file = NewFile { contents_type, ..NewFile::default() };
    store.create(&user(), &name(at), &file, now())
}

/// A new file, whose name is held by an empty one meanwhile; where it breaks that goes, as a guard has it.
fn put_new(store: &mut Store, at: &str) -> Result<(), StoreError> {
    make(store, at, false)?;
    contents(store, at, Start::Replace).inspect_err(|_| {
        let _ = store.delete(&user(), &name(at));
    })
}

const A_FILE_THAT_STAYS_EMPTY: &str = "a file that stays empty";

const WORKS: &[Work] = &[
    Work {
        name: "put that replaces",
        old: &[("a", "old contents"), ("z", "other")],
        new: &[&[("a", "newcotents"), ("z", "other")]],
        steps: |store, acknowledged| {
            contents(store, "a", Start::Replace)?;
            *acknowledged += 1;
            Ok(())
        },
    },
    Work {
        name: "put of a new file",
        old: &[("z", "other")],
        new: &[&[("a", "newcotents"), ("z", "other")]],
        steps: |store, acknowledged| {
            put_new(store, "a")?;
            *acknowledged += 1;
            Ok(())
        },
    },
    Work {
        name: "append",
        old: &[("a", "old "), ("z", "other")],
        new: &[&[("a", "old newcotents"), ("z", "other")]],
        steps: |store, acknowledged| {
            contents(store, "a", Start::Extend)?;
            *acknowledged += 1;
            Ok(())
        },
    },
    Work {
        name: "get",
        old: &[("a", "old contents")],
        new: &[&[("a", "old contents")]],
        steps: |store, acknowledged| {
            let (file, size) = store.read_from(&user(), &name("a"), now())?;
            let read = store.read(file, 0, 100);
            store.close(file);
            assert_eq!(read?.to_vec(), b"old contents");
            assert_eq!(size, 12);
            *acknowledged += 1;
            Ok(())
        },
    },
    Work {
        // Giving a file up has no answer that could say that it failed.
        name: A_FILE_THAT_STAYS_EMPTY,
        old: &[],
        new: &[&[("a", "")]],
        steps: |store, acknowledged| {
            make(store, "a", false)?;
            store.made(&name("a"));
            *acknowledged += 1;
            Ok(())
        },
    },
    Work {
        name: "a directory, and a file in it",
        old: &[],
        new: &[&[("d/", "")], &[("d/", ""), ("d/a", "newcotents")]],
        steps: |store, acknowledged| {
            make(store, "d", true)?;
            *acknowledged += 1;
            put_new(store, "d/a")?;
            *acknowledged += 1;
            Ok(())
        },
    },
    Work {
        name: "rename from one directory to another, and back",
        old: &[("d/", ""), ("a", "old")],
        new: &[&[("d/", ""), ("d/a", "old")], &[("d/", ""), ("b", "old")]],
        steps: |store, acknowledged| {
            store.rename(&user(), &name("a"), &name("d/a"), now())?;
            *acknowledged += 1;
            store.rename(&user(), &name("d/a"), &name("b"), now())?;
            *acknowledged += 1;
            Ok(())
        },
    },
    Work {
        name: "delete",
        old: &[("d/", ""), ("a", "old")],
        new: &[&[("d/", "")], &[]],
        steps: |store, acknowledged| {
            store.delete(&user(), &name("a"))?;
            *acknowledged += 1;
            store.delete(&user(), &name("d"))?;
            *acknowledged += 1;
            Ok(())
        },
    },
];

fn files(all: &[(&str, &str)]) -> Files {
    let pair = |(name, text): &(&str, &str)| ((*name).to_owned(), text.as_bytes().to_vec());
    all.iter().map(pair).collect()
}

fn prepared(work: &Work, jumps: bool) -> Simulated {
    let disk = Simulated::default();
    for (path, text) in work.old {
        match path.strip_suffix('/') {
            Some(directory) => disk.make_directory(None, directory.as_ref(), 0o750).unwrap(),
            None => disk.place(path, text.as_bytes()),
        }
    }
    disk.sync_all();
    if jumps {
        disk.let_clock_jump();
    }
    disk
}

fn store(disk: &Simulated) -> Result<Store, std::io::Error> {
    let root = open_root(disk, ".".as_ref())?;
    Ok(Directory::on(disk.clone(), root, Passwords::anonymous()))
}

/// What was acknowledged when it ended.
fn run(work: &Work, disk: &Simulated) -> usize {
    let mut acknowledged = 0;
    if let Ok(mut store) = store(disk) {
        let done = (work.steps)(&mut store, &mut acknowledged);
        assert!(done.is_err() || acknowledged == work.new.len(), "{}", work.name);
    }
    let is_silent = work.name == A_FILE_THAT_STAYS_EMPTY;
    if is_silent && (disk.has_failed() || disk.has_stopped()) {
        return 0;
    }
    acknowledged
}

/// What is there after a start is as it was after what was acknowledged, or after the step that was in progress.
fn judge(work: &Work, disk: &Simulated, acknowledged: usize, how: &dyn Fn() -> String) {
    let root = open_root(disk, ".".as_ref()).unwrap();
    Quota::count(disk, &root, None).unwrap();
    let there = disk.files();
    let before = match acknowledged.checked_sub(1) {
        None => work.old,
        Some(step) => work.new[step],
    };
    let in_progress = work.new.get(acknowledged);
    if there != files(before) && in_progress.is_none_or(|after| there != files(after)) {
        let there: Vec<_> = there.keys().zip(there.values().map(|it| it.escape_ascii().to_string())).collect();
        panic!("{}: {}; {acknowledged} steps were acknowledged, and then there was {there:?}", work.name, how());
    }
}

#[test]
fn whatever_fails_and_whenever_power_is_lost_files_are_old_or_new_and_what_was_acknowledged_is_there() {
    let mut ends = 0;
    let mut wrong = Vec::new();
    for work in WORKS {
        for jumps in [false, true] {
            let judged = std::panic::catch_unwind(|| {
                every_end(&|| prepared(work, jumps), &|disk| run(work, disk), &|disk, acknowledged, how| {
                    judge(work, disk, *acknowledged, how);
                })
            });
            match judged {
                Ok(seen) => ends += seen,
                Err(_) => wrong.push(work.name),
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    // It looks at something.
    assert!(ends > 10_000, "{ends}");
}
