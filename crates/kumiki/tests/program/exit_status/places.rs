//! Places that cannot be read or written.

use super::captures::TRANSFER;
use super::interrupted::three_points;
use super::{Folder, SCRIPT, refused};

#[test]
fn a_directory_that_cannot_be_made_is_refused_before_anything_runs() {
    let folder = Folder::new("unwritable");
    std::fs::write(folder.0.path("out"), "a file").unwrap();
    let output = folder.kumiki(&["run", "paper2-fig6", "--out", "out/below"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_directory_with_only_the_origin_of_a_result_is_refused_before_anything_is_written() {
    let folder = Folder::with("origin", &three_points("1 s"));
    std::fs::create_dir(folder.0.path("out")).unwrap();
    folder.0.write("out/run.json", b"{}");
    let message = refused(&folder.kumiki(&["run", "x.toml", "--out", "out"]));
    assert!(message.contains("out already has a result (run.json)"), "{message}");
    assert_eq!(folder.0.names("out"), ["run.json"]);
}

/// Where the words of a mistake find no room its status still does.
#[test]
fn a_standard_error_without_room_changes_no_status() {
    for arguments in [&["run", "nosuch.toml"][..], &["limit", "nosuch.toml"], &["decode", "nosuch.pcap"], &["nosuch"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut kumiki = std::process::Command::new(env!("CARGO_BIN_EXE_kumiki"));
        let status = kumiki.args(arguments).stdout(std::process::Stdio::null()).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
}

/// Whoever may replace results cannot replace a directory by a file, nor the other way round.
#[test]
fn what_is_in_the_place_of_a_part_of_the_result_is_told_before_anything_runs() {
    let folder = Folder::with("in-the-way", &three_points("1 s"));
    for (name, is_folder, why) in [
        ("report.html", true, "it is a directory; expected a file"),
        ("rows.csv", true, "it is a directory; expected a file"),
        ("figures", false, "it is no directory; choose another place"),
        ("captures", false, "it is no directory; choose another place"),
    ] {
        let _ = std::fs::remove_dir_all(folder.0.path("out"));
        std::fs::create_dir(folder.0.path("out")).unwrap();
        let place = format!("out/{name}");
        if is_folder {
            std::fs::create_dir(folder.0.path(&place)).unwrap();
        } else {
            folder.0.write(&place, b"mine");
        }
        for more in [&["--force"][..], &["--force", "--dry-run"]] {
            let output = folder.kumiki(&[&["run", "x.toml", "--out", "out"], more].concat());
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{name}: {message}");
            assert_eq!(message, format!("kumiki: --out {place}: {why}\n"));
            assert_eq!(folder.0.names("out"), [name]);
        }
    }
    // Directories above are made, as many as are missing.
    let deep = folder.kumiki(&["run", "x.toml", "--out", "none/such/deep"]);
    assert!(folder.0.path("none/such/deep/rows.jsonl").is_file(), "{deep:?}");
}

/// What is below the folders of a result is looked at before anything runs, and before anything of an older result
/// goes.
#[test]
fn what_is_in_the_place_of_a_capture_or_figure_is_told_before_anything_runs() {
    let folder = Folder::with("in-the-way-below", &format!("{TRANSFER}run.interval = \"50 ms\"\n"));
    let ran = folder.kumiki(&["run", "x.toml", "--out", "out", "--pcap"]);
    assert!(ran.status.success(), "{ran:?}");
    let journal = folder.0.read("out/journal.jsonl");
    for (name, is_folder, why) in [
        ("captures/x/000-a.pcapng", true, "it is a directory; expected a file"),
        ("captures/x/000-series.csv", true, "it is a directory; expected a file"),
        ("figures/x-held.svg", true, "it is a directory; expected a file"),
        ("captures/x", false, "it is no directory; choose another place"),
    ] {
        let place = folder.0.path(&format!("out/{name}"));
        let aside = folder.0.path("aside");
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        let was_there = std::fs::rename(&place, &aside).is_ok();
        assert!(was_there || name.starts_with("figures/"), "{name}");
        if is_folder {
            std::fs::create_dir(&place).unwrap();
        } else {
            std::fs::write(&place, b"mine").unwrap();
        }
        for more in [&["--force"][..], &["--force", "--dry-run"]] {
            let output = folder.kumiki(&[&["run", "x.toml", "--out", "out", "--pcap"], more].concat());
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{name}: {message}");
            assert_eq!(message, format!("kumiki: --out out/{name}: {why}\n"));
            assert_eq!(folder.0.read("out/journal.jsonl"), journal, "{name}");
            assert!(folder.0.path("out/rows.jsonl").is_file());
        }
        let _ = std::fs::remove_dir(&place).or_else(|_| std::fs::remove_file(&place));
        if was_there {
            std::fs::rename(&aside, &place).unwrap();
        }
    }
    let resumed = folder.kumiki(&["run", "x.toml", "--out", "out", "--pcap", "--resume"]);
    assert!(resumed.status.success(), "{resumed:?}");
}

/// What nobody has said may go stays, and that is known before anything runs.
#[test]
fn a_file_of_somebody_else_below_a_result_is_left_alone() {
    let folder = Folder::with("foreign", TRANSFER);
    for name in ["out/figures/x-held.svg", "out/captures/x/000-a.pcapng"] {
        let place = folder.0.path(name);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, "mine").unwrap();
        for more in [&[][..], &["--dry-run"], &["--resume"], &["--resume", "--dry-run"]] {
            let output = folder.kumiki(&[&["run", "x.toml", "--out", "out", "--pcap"], more].concat());
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{name} {more:?}: {message}");
            let told = format!("{name} is there, and no journal says that it is of an older result; take it away");
            assert!(message.contains(&told), "{message}");
            assert_eq!(std::fs::read(&place).unwrap(), b"mine");
            assert!(!folder.0.path("out/journal.jsonl").exists(), "{more:?}");
        }
        std::fs::remove_file(&place).unwrap();
    }
    assert!(folder.kumiki(&["run", "x.toml", "--out", "out", "--pcap"]).status.success());
}

/// Whoever read a pipe in its place would wait for ever.
#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_journal_is_no_journal() {
    let folder = Folder::with("pipe", TRANSFER);
    std::fs::create_dir(folder.0.path("out")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.0.path("out/journal.jsonl")).status().unwrap();
    assert!(made.success());
    for more in ["--resume", "--force"] {
        let said = refused(&folder.kumiki(&["run", "x.toml", "--out", "out", more]));
        assert!(said.contains("journal.jsonl: it is no plain file"), "{said}");
    }
}

/// The same of folders in which nobody may make files, root neither: those of Linux's own.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_of_captures_that_cannot_be_written_is_told_before_anything_runs() {
    let folder = Folder::with("unwritable-below", TRANSFER);
    let ran = folder.kumiki(&["run", "x.toml", "--out", "out"]);
    assert!(ran.status.success(), "{ran:?}");
    let journal = folder.0.read("out/journal.jsonl");
    std::fs::create_dir(folder.0.path("out/captures")).unwrap();
    std::os::unix::fs::symlink("/sys/kernel", folder.0.path("out/captures/x")).unwrap();
    for more in [&["--force"][..], &["--force", "--dry-run"]] {
        let output = folder.kumiki(&[&["run", "x.toml", "--out", "out", "--pcap"], more].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.starts_with("kumiki: --out out/captures/x: "), "{told}");
        assert_eq!(folder.0.read("out/journal.jsonl"), journal);
        assert!(folder.0.path("out/rows.jsonl").is_file());
    }
    // Where nothing is to be written there, it is in nobody's way.
    let without = folder.kumiki(&["run", "x.toml", "--out", "out", "--force"]);
    assert!(without.status.success(), "{without:?}");
}

/// A name that cannot be, or a place where nobody may write, is a mistake of the command line, whoever is asked to
/// write there.
#[test]
fn a_place_that_cannot_be_written_is_the_command_lines_mistake() {
    let folder = Folder::with("places", TRANSFER);
    folder.0.write("s.script", SCRIPT.as_bytes());
    folder.0.write("m.csv", b"goodput_mbps\n9\n");
    folder.0.write("file", b"in the way");
    for (arguments, place) in [
        (&["run", "x.toml", "--out", "file/below"][..], "--out file/below: "),
        (&["adversity", "--seed", "7", "--trace", "--out", "file/below"], "--out file/below: "),
        (&["adversity", "--seed", "7", "--pcap", "--out", "file/below"], "--out file/below: "),
        (&["script", "s.script", "--pcap", "none/x"], "--pcap none/x: "),
        (&["fit", "x.toml", "m.csv", "--free", "tcp.send", "--out", "none/p.toml"], "--out none/p.toml: "),
        (&["plot", "m.csv", "--x", "goodput_mbps", "--out", "none/x.svg"], "--out none/x.svg: "),
        (&["compare", "m.csv", "m.csv", "--out", "none/x.svg"], "--out none/x.svg: "),
        (&["man", "file/below"], "man file/below: "),
    ] {
        let output = folder.kumiki(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(&format!("kumiki: {place}")), "{arguments:?}: {told}");
    }
    // In a directory that is there nobody may make files, root neither.
    #[cfg(target_os = "linux")]
    for arguments in [
        &["run", "x.toml", "--out", "/sys/kernel"][..],
        &["run", "x.toml", "--out", "/sys/kernel", "--force"],
        &["run", "x.toml", "--out", "/sys/kernel", "--resume"],
        &["run", "x.toml", "--out", "/sys/kernel/none"],
    ] {
        let told = refused(&folder.kumiki(arguments));
        assert!(told.starts_with("kumiki: --out /sys/kernel/"), "{arguments:?}: {told}");
    }
    assert_eq!(folder.names(), ["file", "m.csv", "s.script", "x.toml"]);
}

/// What cannot be read is told alike by all, without numbers of the operating system.
#[test]
fn a_place_that_cannot_be_read_is_told_in_words() {
    let folder = Folder::with("unread", TRANSFER);
    folder.0.write("file", b"in the way");
    folder.0.write("latin.toml", b"title = \"\xe9\"\n");
    std::fs::create_dir(folder.0.path("dir.toml")).unwrap();
    for (arguments, said) in [
        (&["run", "file/x.toml"][..], "file/x.toml: file is no directory"),
        (&["run", "none/x.toml"], "none/x.toml: there is no directory none"),
        (&["run", "latin.toml"], "latin.toml: not UTF-8 text"),
        (&["run", "dir.toml"], "dir.toml: it is a directory; expected a file"),
        (&["decode", "none/x.pcap"], "none/x.pcap: there is no directory none"),
        (&["decode", "x.pcap"], "x.pcap: no such file or directory"),
        (&["script", "x.script"], "x.script: no such file or directory"),
        (&["compare", "m.csv", "n.csv"], "m.csv: no such file or directory"),
        (&["list", "none"], "none: no such file or directory"),
        (&["ppp", "pty", "--script", "none/x"], "--script none/x: there is no directory none"),
        #[cfg(target_os = "linux")]
        (&["link", "--up-trace", "none/x", "--", "true"], "--up-trace none/x: there is no directory none"),
        #[cfg(target_os = "linux")]
        (&["x25", "switch", "file/x", "--check"], "file/x: file is no directory"),
    ] {
        let output = folder.kumiki(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.starts_with(&format!("kumiki: {said}\n")), "{arguments:?}: {told}");
    }
    // And so is what cannot be written, before anything begins.
    for (arguments, said) in [
        (
            &["run", "x.toml", "--out", "file/below", "--dry-run"][..],
            "--out file/below: file is no directory; choose another place",
        ),
        (
            &["link", "--pcap", "none/x", "--", "true"],
            "--pcap none/x: there is no directory none; make it, or choose another place",
        ),
        (&["link", "--report", ".", "--", "true"], "--report .: it is a directory; expected a file"),
        (
            &["link", "--control", "none/x", "--", "true"],
            "--control none/x: there is no directory none; make it, or choose another place",
        ),
        (&["ftamd", "--anonymous", "--root", "none"], "--root none: no such file or directory"),
        (&["mmsd", "--anonymous", "--root", "file"], "--root file: it is no directory"),
        (&["ftamd", "--root", ".", "--passwords", "none"], "--passwords none: no such file or directory"),
        (
            &["ftamd", "--root", ".", "--anonymous", "--port-file", "none/x"],
            "--port-file none/x: there is no directory none; make it, or choose another place",
        ),
        (&["mms", "ls", "--pcap", ".", "mms://127.0.0.1:1/"], "--pcap .: it is a directory; expected a file"),
        (
            &["mms", "get", "mms://127.0.0.1:1/a", "none/x"],
            "none: there is no such directory; make it, or choose another place",
        ),
        (&["ftam", "put", "none", "ftam://127.0.0.1:1/a"], "none: no such file or directory"),
        (
            &["mms", "ls", "--password-file", "none", "mms://127.0.0.1:1/"],
            "--password-file none: no such file or directory",
        ),
        (
            &["delay", "--send", "none", "stats"],
            "--send none: no such file or directory; `kumiki delay`, `link` or `live` with --control and this path would listen there",
        ),
        #[cfg(target_os = "linux")]
        (
            &["ftam", "get", "ftam://127.0.0.1:1/a", "/proc/none"],
            "/proc: nothing can be made there; choose another place",
        ),
        (&["decode", "."], ".: it is a directory; expected a file"),
        (&["merge", "file"], "file: it is no directory; expected one that `run --shard` has left"),
    ] {
        let run = folder.kumiki(arguments);
        let told = String::from_utf8(run.stderr).unwrap();
        assert!(told.contains(&format!("kumiki: {said}\n")), "{arguments:?}: {told}");
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {told}");
    }
    for (arguments, said) in [
        (&["run", "x.toml", "--out", "file/below"][..], "--out file/below: file is no directory; choose another place"),
        (
            &["adversity", "--seed", "7", "--pcap", "--out", "file"],
            "--out file: something else is there; choose another place",
        ),
        (
            &["script", "s.script", "--pcap", "none/a/x"],
            "--pcap none/a/x: there is no directory none; make it, or choose another place",
        ),
        (&["man", "file"], "man file: something else is there; choose another place"),
    ] {
        folder.0.write("s.script", SCRIPT.as_bytes());
        let told = String::from_utf8(folder.kumiki(arguments).stderr).unwrap();
        assert!(told.contains(&format!("kumiki: {said}\n")) && !told.contains("os error"), "{arguments:?}: {told}");
    }
}
