//! Parts on a real disk: beside others, gone on with, and started over.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

#[test]
fn a_second_that_fetches_to_the_same_place_leaves_the_part_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let begin = |resume| Part::begin(&target, "mms://d:102/a", resume);
    let (mut first, _) = begin(true).unwrap();
    first.write(0, Message::from_octets(b"abc")).unwrap();
    let why = begin(true).map(|_| ()).unwrap_err();
    assert!(why.contains("another transfer"), "{why}");
    assert_eq!(std::fs::read(part_of(&target)).unwrap(), b"abc");
    // Who keeps nothing is in nobody's way: whole files replace each other.
    let (mut second, _) = begin(false).unwrap();
    let (mut third, _) = begin(false).unwrap();
    second.write(0, Message::from_octets(b"2")).unwrap();
    third.write(0, Message::from_octets(b"third")).unwrap();
    for (part, contents) in [(&mut third, &b"third"[..]), (&mut first, b"abc"), (&mut second, b"2")] {
        part.finish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), contents);
    }
    assert_eq!(names(folder.path()), ["a"]);
}

fn names(folder: &Path) -> Vec<String> {
    let all = std::fs::read_dir(folder).unwrap();
    let name = |it: io::Result<std::fs::DirEntry>| it.unwrap().file_name();
    let mut names: Vec<String> = all.map(|it| name(it).into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_of_another_that_is_called_like_a_part_stays() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let others = folder.path().join("a.part");
    let begin = |resume| Part::begin(&target, "ftam://d:102/a", resume);
    for contents in [&b"mine"[..], b""] {
        std::fs::write(&others, contents).unwrap();
        let (mut part, _) = begin(false).unwrap();
        part.write(0, Message::from_octets(b"abc")).unwrap();
        part.finish().unwrap();
        drop(begin(false).unwrap());
        let why = begin(true).map(|_| ()).unwrap_err();
        assert!(why.contains("a.part.of) says"), "{why}");
        assert_eq!(std::fs::read(&others).unwrap(), contents);
        assert_eq!(names(folder.path()), ["a", "a.part"]);
    }
    // Nor is a note that is none replaced.
    let note = folder.path().join("a.part.of");
    std::fs::write(&note, "of another\n").unwrap();
    for _ in 0..2 {
        assert!(begin(true).is_err());
        assert_eq!(std::fs::read(&note).unwrap(), b"of another\n");
        let _ = std::fs::remove_file(&others);
    }
}

#[test]
fn what_replaces_a_file_has_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let (target, new) = (folder.path().join("a"), folder.path().join("new"));
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    std::fs::write(&new, b"").unwrap();
    let usual = mode(&new);
    for (resume, part) in [(false, ".kumiki-get-1"), (true, "a.part")] {
        for replaced in [None, Some(0o600), Some(0o444), Some(0o755)] {
            let _ = std::fs::remove_file(&target);
            if let Some(mode) = replaced {
                std::fs::write(&target, b"old").unwrap();
                std::fs::set_permissions(&target, Permissions::from_mode(mode)).unwrap();
            }
            let expected = replaced.unwrap_or(usual);
            let (mut fetched, _) = Part::begin(&target, "ftam://d:102/a", resume).unwrap();
            let meanwhile = mode(&folder.path().join(part));
            assert_eq!(meanwhile, expected | 0o600);
            fetched.write(0, Message::from_octets(b"abc")).unwrap();
            fetched.finish().unwrap();
            assert_eq!(mode(&target), expected);
            assert_eq!(std::fs::read(&target).unwrap(), b"abc");
        }
    }
}

#[test]
fn a_link_that_is_called_like_a_part_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (target, other) = (folder.path().join("a"), folder.path().join("y"));
    std::fs::write(&other, b"mine").unwrap();
    let place = "ftam://d:102/a";
    let link = |name: &str| std::os::unix::fs::symlink(&other, folder.path().join(name));
    link(".kumiki-get-1").unwrap();
    drop(Part::begin(&target, place, false).unwrap());
    // The notes as well as the part.
    link("a.part.of.new").unwrap();
    drop(Part::begin(&target, place, true).unwrap());
    link("a.part").unwrap();
    std::fs::write(folder.path().join("a.part.of"), bare(place)).unwrap();
    let part = part_of(&target);
    for begun in [Part::begin(&target, place, true), Part::begin_in(System, part, &target, place)] {
        let why = begun.map(|_| ()).unwrap_err();
        assert!(why.contains("this is a link"), "{why}");
    }
    assert_eq!(std::fs::read(&other).unwrap(), b"mine");
    assert!(folder.path().join("a.part").is_symlink());
}

#[test]
fn a_part_is_gone_on_with_only_for_the_file_that_it_is_of() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let begin = |place: &str| Part::begin(&target, place, true).unwrap().0;
    let opened = |part: &mut Part, at| part.opened(9, Some("20260101000000Z"), at).unwrap();
    let mut first = begin("mms://d:102/1.dat");
    assert_eq!((first.known(), opened(&mut first, 0)), (0, 0));
    first.write(0, Message::from_octets(b"abc")).unwrap();
    drop(first);
    let mut same = begin("mms://d:102/1.dat");
    assert_eq!((same.known(), opened(&mut same, 3)), (3, 3));
    drop(same);
    for other in ["mms://d:102/2.dat", "mms://e:102/1.dat"] {
        assert_eq!(begin(other).known(), 0);
    }
    let mut other = begin("mms://d:102/2.dat");
    assert_eq!(opened(&mut other, 3), 0);
    assert_eq!(std::fs::read(part_of(&target)).unwrap(), b"");
}

#[test]
fn what_starts_over_is_as_long_as_it_comes_then() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    for octets in [&b""[..], b"ab", b"abX", b"abcdef"] {
        let (mut part, receipt) = Part::begin(&target, "ftam://d:102/a", false).unwrap();
        part.write(0, Message::from_octets(b"abcd")).unwrap();
        part.secured(None);
        if !octets.is_empty() {
            part.write(0, Message::from_octets(octets)).unwrap();
        }
        part.finish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), octets);
        assert_eq!(receipt.read().size, octets.len() as u64);
    }
}

#[test]
fn what_an_earlier_run_has_fetched_to_its_end_is_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let begin = || {
        let (part, _) = Part::begin(&target, "ftam://d:102/a", true).unwrap();
        part.recovering().unwrap()
    };
    let (mut first, goes_on) = begin();
    assert!(!goes_on);
    first.write(0, Message::from_octets(b"abcd")).unwrap();
    first.secured(Some(Secured { activity: 1, point: 1, offset: 4 }));
    drop(first);
    let (mut second, goes_on) = begin();
    assert!(goes_on);
    second.finish().unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"abcd");
}

#[test]
fn a_note_goes_before_another_file_comes_to_where_it_is_beside() {
    for is_new in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let of = |place: &str| {
            let (part, _) = Part::begin(&target, place, true).unwrap();
            part.recovering().unwrap()
        };
        let (mut first, _) = of("ftam://d:102/A");
        first.write(0, Message::from_octets(b"AAAA")).unwrap();
        first.secured(Some(Secured { activity: 1, point: 1, offset: 4 }));
        drop(first);
        // Another file, of a responder without recovery, breaks as well.
        let (mut second, goes_on) = of("ftam://d:102/B");
        assert!(!goes_on);
        if is_new {
            second.begin_again().unwrap();
        }
        second.write(0, Message::from_octets(b"BBBBBB")).unwrap();
        drop(second);
        let (first, goes_on) = of("ftam://d:102/A");
        assert!(!goes_on);
        assert_eq!(first.interrupted(), None);
    }
}

#[test]
fn a_note_goes_where_what_it_is_of_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let begin = || Part::begin(&target, "ftam://d:102/a", true).unwrap().0;
    let (mut first, _) = begin().recovering().unwrap();
    first.write(0, Message::from_octets(b"AAAA")).unwrap();
    let at = Secured { activity: 1, point: 1, offset: 4 };
    first.secured(Some(at));
    drop(first);
    // What comes is another file by now.
    let (mut second, goes_on) = begin().recovering().unwrap();
    assert!(goes_on);
    second.write(0, Message::from_octets(b"AABB")).unwrap();
    drop(second);
    let (third, goes_on) = begin().recovering().unwrap();
    assert!(!goes_on);
    assert_eq!(third.interrupted(), None);
}
