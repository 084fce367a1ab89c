//! Every end of `get`: under its own name there is the old file or the new one, what was acknowledged is the new one,
//! and the same command again leaves nothing else.

use std::path::Path;

use crate::files::disk::{Simulated, every_end};
use crate::osi::{Message, Secured, Sink as _};

use super::Part;

const TARGET: &str = "here/a";
const PLACE: &str = "ftam://d:102/a";
const NEW: &[u8] = b"new\r\ncontents";

/// How a file is fetched.
#[derive(Clone, Copy, Debug)]
struct FetchMode {
    resume: bool,
    /// The connection breaks, and what comes then is another file up to the first break.
    started_over: bool,
    is_text: bool,
    replaces: bool,
}

fn message(octets: &[u8]) -> Message {
    Message::from_octets(octets)
}

/// Fetches it, in pieces and with a checkpoint; whether that was acknowledged.
fn get(disk: &Simulated, way: FetchMode) -> Result<(), String> {
    let (mut part, _) = Part::begin_on(disk.clone(), Path::new(TARGET), PLACE, way.resume)?;
    if way.resume {
        (part, _) = part.recovering()?;
    }
    let mut part = part.with_newlines(way.is_text);
    let mut at = part.interrupted().map_or(0, |at| at.offset);
    if at > NEW.len() as u64 {
        return Err("a checkpoint behind the end".to_owned());
    }
    if way.started_over && at == 0 {
        part.write(0, message(b"other"))?;
        part.secured(None);
    }
    for end in [4, NEW.len()] {
        let begin = usize::try_from(at).unwrap();
        if begin < end {
            part.write(at, message(&NEW[begin..end]))?;
            at = end as u64;
            part.secured(Some(Secured { activity: 1, point: 1, offset: at }));
        }
    }
    part.finish()
}

fn expected(way: FetchMode) -> &'static [u8] {
    if way.is_text { b"new\ncontents" } else { NEW }
}

fn prepared(way: FetchMode, jumps: bool) -> Simulated {
    let disk = Simulated::default();
    disk.place_directory("here");
    if way.replaces {
        disk.place(TARGET, b"old");
    }
    if jumps {
        disk.let_clock_jump();
    }
    disk
}

fn judge(way: FetchMode, disk: &Simulated, acknowledged: bool, how: &dyn Fn() -> String) {
    let found = disk.files().get(TARGET).cloned();
    let is_new = found.as_deref() == Some(expected(way));
    let old = way.replaces.then_some(&b"old"[..]);
    let is_old = found.as_deref() == old;
    assert!(is_new || is_old && !acknowledged, "{way:?}: {}; acknowledged: {acknowledged}, found: {found:?}", how());
    // The same again.
    let again = get(disk, way);
    let left: Vec<String> = disk.files().into_keys().collect();
    let is_whole = disk.files().get(TARGET).map(Vec::as_slice) == Some(expected(way));
    assert!(
        again.is_ok() && is_whole && left == ["here/", TARGET],
        "{way:?}: {}; and then {again:?} with {:?}",
        how(),
        disk.files()
    );
    // What that has acknowledged stays too.
    for crash in disk.crashes() {
        let found = crash.disk.files().get(TARGET).cloned();
        assert!(
            found.as_deref() == Some(expected(way)),
            "{way:?}: {}; then all again, and {}: {found:?}",
            how(),
            crash.lost
        );
    }
}

fn all_ends(way: FetchMode) -> u64 {
    let mut ends = 0;
    for jumps in [false, true] {
        ends += every_end(&|| prepared(way, jumps), &|disk| get(disk, way).is_ok(), &|disk, acknowledged, how| {
            judge(way, disk, *acknowledged, how);
        });
    }
    ends
}

#[test]
fn a_file_that_is_fetched_is_old_or_new_at_every_end_and_nothing_is_left() {
    let mut ends = 0;
    for replaces in [false, true] {
        for is_text in [false, true] {
            ends += all_ends(FetchMode { resume: false, started_over: false, is_text, replaces });
        }
    }
    assert!(ends > 1000, "{ends}");
}

#[test]
fn a_file_that_is_fetched_to_be_resumed_is_old_or_new_at_every_end_and_nothing_is_left() {
    let mut ends = 0;
    for (started_over, is_text) in [(false, false), (false, true), (true, false)] {
        ends += all_ends(FetchMode { resume: true, started_over, is_text, replaces: true });
    }
    assert!(ends > 1000, "{ends}");
}
