//! Every end of `collect --delete`: what was deleted at the responder is here, whole, and the next run has each file
//! once, and leaves nothing else.

use std::collections::BTreeMap;

use crate::files::disk::{Simulated, every_end};
use crate::osi::{Attribute, GeneralizedTime, GraphicString, Message};

use super::*;

/// The files of the responder.
type Remote = BTreeMap<String, Vec<u8>>;

fn remote() -> Remote {
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    [file("one", "first"), file("two", "second")].into()
}

fn wanted() -> CollectArguments {
    CollectArguments {
        into: PathBuf::from("here"),
        names: None,
        prefix: String::new(),
        closed: Some(Closed::Any),
        settle: Duration::from_secs(60),
        range: None,
        delete: true,
        dry_run: false,
        state: None,
        contents_type: None,
    }
}

/// Who wants to know nothing.
struct Silent;

impl Teller for Silent {
    fn tell(&mut self, _: &str, _: &Event<'_>) {}

    fn begin(&mut self, _: &str, _: Option<u64>) {}
}

fn open(disk: &Simulated, wanted: CollectArguments, behind: usize) -> Result<Collection<Simulated, Silent>, OpenError> {
    let url: Url = "ftam://d/.".parse().unwrap();
    let from = (Protocols::Ftam, &url);
    Collection::open(disk.clone(), from, wanted, Settler::behind(behind), Silent)
}

fn attributes(name: &str, octets: &[u8]) -> ReadAttributes {
    ReadAttributes {
        pathname: Some(GraphicString::from(name).into()),
        size: Some(Attribute::Actual(octets.len() as u64)),
        modified: Some(GeneralizedTime::written(b"20260101000000Z").into()),
        ..ReadAttributes::default()
    }
}

/// What the responder says to an operation.
fn answer(remote: &mut Remote, operation: Operation) -> Result<Gain, Failure> {
    let missing = || Failure::local("there is none");
    match operation {
        Operation::List { .. } => {
            let entries = remote.iter().map(|(name, it)| attributes(name, it));
            Ok(Gain::Entries(entries.collect()))
        }
        Operation::Stat { name } => {
            let it = remote.get(&name).ok_or_else(missing)?;
            Ok(Gain::Attributes(Box::new(attributes(&name, it))))
        }
        Operation::Remove { name } => {
            remote.remove(&name).ok_or_else(missing)?;
            Ok(Gain::Done)
        }
        Operation::Get { name, mut sink, .. } => {
            let it = remote.get(&name).ok_or_else(missing)?;
            // This responder has no recovery.
            sink.secured(None);
            sink.write(0, Message::from_octets(it)).and_then(|()| sink.finish()).map_err(Failure::local)?;
            Ok(Gain::Moved(it.len() as u64))
        }
        Operation::Put { .. } | Operation::Rename { .. } | Operation::MakeDirectory { .. } => Err(missing()),
    }
}

/// One run, in which files are put into their places when more than `behind` wait for that; what is left at the
/// responder, and whether it went well.
fn collect(disk: &Simulated, mut remote: Remote, behind: usize) -> (Remote, bool) {
    let Ok(mut collection) = open(disk, wanted(), behind) else {
        return (remote, false);
    };
    while let Some(operation) = collection.poll_operation() {
        // Who has no power sends nothing.
        if disk.has_stopped() {
            return (remote, false);
        }
        let result = answer(&mut remote, operation);
        let title = String::new();
        collection.heard(&OperationOutcome { title, result });
    }
    collection.settle_all();
    collection.tidy();
    let done = collection.collected();
    let is_done = done.broken.is_none() && done.failed.is_empty();
    (remote, is_done && !disk.has_stopped())
}

fn judge(disk: &Simulated, behind: usize, (left, done): &(Remote, bool), how: &dyn Fn() -> String) {
    let files = disk.files();
    for (name, octets) in remote() {
        let is_here = files.get(&format!("here/{name}")) == Some(&octets);
        assert!(
            is_here || !done && left.contains_key(&name),
            "{}; {name} is deleted there, and here there is {files:?}",
            how()
        );
    }
    let (left, done) = collect(disk, left.clone(), behind);
    let files = disk.files();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let whole = ["here/", STATE_HERE, "here/.kumiki-collect.jsonl.lock", "here/one", "here/two"];
    assert!(
        done && left.is_empty() && names == whole && are_known(&files),
        "{}; after the next run there is {names:?}, and there {left:?}",
        how()
    );
    // What that has acknowledged stays too.
    for crash in disk.crashes() {
        let files = crash.disk.files();
        let is_here = |(name, octets)| files.get(&format!("here/{name}")) == Some(&octets);
        assert!(
            remote().into_iter().all(is_here) && are_known(&files),
            "{}; after the next run, {}there is {files:?}",
            how(),
            crash.lost
        );
    }
}

const STATE_HERE: &str = "here/.kumiki-collect.jsonl";

/// Whether the state has both files.
fn are_known(files: &BTreeMap<String, Vec<u8>>) -> bool {
    let state = files.get(STATE_HERE).map_or(&[][..], Vec::as_slice);
    let state = String::from_utf8_lossy(state);
    let has = |name: &str| state.contains(&format!("\"local\":\"{name}\""));
    has("one") && has("two")
}

#[test]
fn a_collection_has_each_file_once_at_every_end_and_nothing_is_left() {
    let mut ends = 0;
    // Nothing waits, or all does; and where the clock jumps, what is between the two.
    for (jumps, behind) in [(false, 0), (false, MOST), (true, 1)] {
        let prepared = || {
            let disk = Simulated::default();
            if jumps {
                disk.let_clock_jump();
            }
            disk
        };
        ends += every_end(&prepared, &|disk| collect(disk, remote(), behind), &|disk, said, how| {
            judge(disk, behind, said, how);
        });
    }
    assert!(ends > 1000, "{ends}");
}

#[test]
fn the_next_file_is_asked_for_before_the_last_is_in_its_place_and_nothing_is_deleted_before() {
    let disk = Simulated::default();
    let mut collection = open(&disk, wanted(), MOST).unwrap();
    let (mut remote, mut asked) = (remote(), Vec::new());
    while let Some(operation) = collection.poll_operation() {
        let title = operation.title();
        let is_here = |name: &str| disk.files().contains_key(&format!("here/{name}"));
        asked.push((title.clone(), is_here("one"), is_here("two")));
        let result = answer(&mut remote, operation);
        collection.heard(&OperationOutcome { title, result });
    }
    let asked: Vec<_> = asked.iter().map(|(title, one, two)| (title.as_str(), *one, *two)).collect();
    assert_eq!(
        asked,
        [
            ("list the root", false, false),
            ("get one", false, false),
            ("get two", false, false),
            ("stat one", true, true),
            ("remove one", true, true),
            ("stat two", true, true),
            ("remove two", true, true),
        ]
    );
}

#[test]
fn no_more_than_some_files_wait_to_be_put_into_their_places() {
    let disk = Simulated::default();
    let mut collection = open(&disk, CollectArguments { delete: false, ..wanted() }, usize::MAX).unwrap();
    let file = |at: usize| (format!("f{at:02}"), b"octets".to_vec());
    let mut remote: Remote = (0..3 * MOST).map(file).collect();
    while let Some(operation) = collection.poll_operation() {
        let waiting = disk.files().into_keys();
        let waiting = waiting.filter(|name| name.ends_with(".part"));
        assert!(waiting.count() <= MOST);
        let title = operation.title();
        let result = answer(&mut remote, operation);
        collection.heard(&OperationOutcome { title, result });
    }
    assert_eq!(collection.collected().fetched, 3 * MOST as u64);
}
