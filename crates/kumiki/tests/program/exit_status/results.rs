//! Results: what a run leaves, and what is made of it.

use std::process::Output;

use super::interrupted::three_points;
use super::{Folder, UNCONNECTED, refused};

#[test]
fn an_older_result_is_not_replaced_without_force() {
    let folder = Folder::new("older");
    std::fs::create_dir(folder.0.path("out")).unwrap();
    std::fs::write(folder.0.path("out/rows.jsonl"), "{}").unwrap();
    let message = refused(&folder.kumiki(&["run", "paper2-fig6", "--out", "out"]));
    assert!(message.contains("already has a result") && message.contains("--force"), "{message}");
    assert_eq!(std::fs::read_to_string(folder.0.path("out/rows.jsonl")).unwrap(), "{}");
}

#[test]
fn a_run_prints_rows_and_leaves_them() {
    let folder = Folder::new("success");
    let output = folder.kumiki(&["run", "paper2-fig6", "--json", "--set", "window=64 KiB", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stdout, std::fs::read(folder.0.path("out/rows.jsonl")).unwrap());
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"window_bytes\":65536"));
    assert!(folder.0.path("out/figures/paper2-fig6.svg").is_file());
}

#[test]
fn what_would_be_run_is_told_and_nothing_is_written() {
    let folder = Folder::with("dry", &three_points("1 s"));
    let said = |arguments: &[&str]| {
        let output = folder.kumiki(&[&["run", "x.toml", "--dry-run"], arguments].concat());
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr))
    };
    let (status, text) = said(&["--shard", "2/2", "--jobs", "1"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("loss 100 %, time 100 ms") && text.contains("shard 1/2"), "{text}");
    assert!(text.contains("3 points, 1 to be run, 2 of other shards; about "), "{text}");
    assert_eq!(folder.names(), ["x.toml"]);
    // Of a run that would be refused that is told as well.
    std::fs::create_dir(folder.0.path("out")).unwrap();
    folder.0.write("out/rows.jsonl", b"{}");
    let (status, text) = said(&["--out", "out", "--json"]);
    assert_eq!((status, text.lines().count()), (Some(2), 4), "{text}");
    assert!(text.contains("\"state\":\"runs\"") && text.contains("out already has a result"), "{text}");
}

#[test]
fn a_shard_is_listed_as_one() {
    let folder = Folder::with("shards", &three_points("1 s"));
    let listed = |arguments: &[&str]| {
        let ran = folder.kumiki(&[&["run", "x.toml", "--out", "out", "--force"], arguments].concat());
        assert!(matches!(ran.status.code(), Some(0 | 1)), "{ran:?}");
        String::from_utf8(folder.kumiki(&["list", "out"]).stdout).unwrap()
    };
    let part = listed(&["--shard", "2/2"]);
    assert!(part.starts_with("out: x: 1 of 1 point") && part.contains(", a shard of 3 points, "), "{part}");
    let all = listed(&[]);
    assert!(all.starts_with("out: x: 3 of 3 points") && !all.contains("shard"), "{all}");
}

/// Nobody answers at the first of two points. What it has to show is kept and marked, and no command takes it for a
/// result.
#[test]
fn a_point_that_failed_is_kept_and_is_no_result() {
    let lossy =
        UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace("\"10 ms\"", "\"10 ms\", impair.loss = \"${loss}\"");
    let folder = Folder::with("failed", &format!("{lossy}vary.loss = [\"100 %\", \"0 %\"]\n"));
    for out in ["before", "after"] {
        let ran = folder.kumiki(&["run", "x.toml", "--out", out, "--pcap", "--trace"]);
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    }
    let rows = std::fs::read_to_string(folder.0.path("before/rows.jsonl")).unwrap();
    let marked: Vec<bool> = rows.lines().map(|row| row.contains("\"failed\":true")).collect();
    assert_eq!(marked, [true, true, true, false, false, false], "{rows}");
    assert!(rows.lines().take(3).all(|row| row.contains("\"bound_by\":\"opening\"")), "{rows}");
    let captures = folder.0.names("before/captures/x");
    let of = |point: &str, name: &str| captures.contains(&format!("{point}-{name}"));
    assert!(["000", "001"].iter().all(|point| of(point, "near.pcapng") && of(point, "trace.csv")), "{captures:?}");
    let page = std::fs::read_to_string(folder.0.path("before/report.html")).unwrap();
    assert!(page.contains("there was no answer until the end") && page.contains("loss 100 %, failed"), "the page");
    let text = |output: &Output| String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    let listed = text(&folder.kumiki(&["scenarios", "before"]));
    assert!(listed.contains("before: x: 2 of 2 points (1 failed), "), "{listed}");
    let said = "before: 1 point has failed and is left out: loss 100 %";
    let compared = text(&folder.kumiki(&["compare", "before", "after"]));
    assert!(compared.contains(said) && !compared.contains("│ loss 100 %"), "{compared}");
    let drawn = text(&folder.kumiki(&["plot", "before", "--x", "round_trip_ms.mean", "-o", "f.svg"]));
    assert!(drawn.contains(said), "{drawn}");
    // Where all have failed there is nothing to compare.
    let all = folder.kumiki(&["run", "x.toml", "--out", "none", "--set", "loss=100 %"]);
    assert_eq!(all.status.code(), Some(1), "{all:?}");
    let none = refused(&folder.kumiki(&["compare", "none", "after"]));
    assert!(none.contains("none: all of its points have failed, so there is no result in it"), "{none}");
}

#[test]
fn results_are_listed_compared_and_drawn_beside_measurements() {
    let folder = Folder::with("compared", UNCONNECTED.replace("10.0.5.2", "10.0.0.2").as_str());
    std::fs::create_dir_all(folder.0.path("results/before")).unwrap();
    folder.0.write("results/before/rows.parquet", b"of an older result");
    for (out, set) in [("before", "1 s"), ("after", "2 s")] {
        let set = format!("run.duration={set}");
        let ran = folder.kumiki(&["run", "x.toml", "--force", "--out", &format!("results/{out}"), "--set", &set]);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    }
    assert!(!folder.0.names("results/before").iter().any(|name| name == "rows.parquet"), "columns of older rows");
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
    let listed = text(&folder.kumiki(&["list", "results"]));
    assert!(listed.contains("results/after: x: 1 of 1 point, ") && listed.contains("run.duration=2 s"), "{listed}");
    // What `compare` would refuse is no result to be listed.
    let rows = std::fs::read(folder.0.path("results/after/rows.jsonl")).unwrap();
    for (octets, why) in
        [(&[][..], "no rows in it"), (&rows[..rows.len() - 40], "it is cut off: its last line has no end")]
    {
        folder.0.write("results/after/rows.jsonl", octets);
        let told = refused(&folder.kumiki(&["list", "results"]));
        assert_eq!(told, format!("kumiki: results/after/rows.jsonl: {why}\n"));
        let compared = refused(&folder.kumiki(&["compare", "results/before", "results/after"]));
        assert!(!compared.contains(" at line ") && !compared.contains("EOF"), "{compared}");
    }
    folder.0.write("results/after/rows.jsonl", &rows);
    let scenario = refused(&folder.kumiki(&["scenarios", "x.toml"]));
    assert!(scenario.contains("x.toml: a scenario, and no result: expected a directory of results"), "{scenario}");
    assert!(scenario.contains("`kumiki run --dry-run`"), "{scenario}");
    let both = ["compare", "results/before", "results/after"];
    let octets = folder.kumiki(&[&both[..], &["--value", "octets", "--fail-over=3%", "-o", "f.svg"]].concat());
    assert_eq!(octets.status.code(), Some(1), "{octets:?}");
    let told = String::from_utf8_lossy(&octets.stderr);
    assert!(told.contains("1 difference is more than --fail-over allows:\n  after, the only point: +"), "{told}");
    assert!(text(&octets).contains("scenario x, run.duration: \"1 s\" in before, \"2 s\" in after"), "{octets:?}");
    assert_eq!(folder.kumiki(&[&both[..], &["--value", "octets", "--fail-over=-3%"]].concat()).status.code(), Some(0));
    folder.0.write("mine.csv", b"measured (s),goodput (kb/s)\n1,5000\n2,5100\n");
    let drawn = folder.kumiki(&["plot", "results/before", "linux=mine.csv", "--x", "measured_s", "-o", "f.svg"]);
    assert_eq!(drawn.status.code(), Some(0), "{drawn:?}");
    let figure = String::from_utf8(folder.0.read("f.svg")).unwrap();
    assert!(figure.starts_with("<svg") && figure.contains("linux"), "{figure}");
    // A slip of the pen must not cost the measurements.
    let slip = refused(&folder.kumiki(&["plot", "mine.csv", "--x", "measured_s", "-o", "mine.csv"]));
    assert!(slip.contains("--out mine.csv: pictures are SVG, and not csv; did you mean mine.svg?"), "{slip}");
    folder.0.write("notes.svg", b"no picture");
    let slip = refused(&folder.kumiki(&["plot", "mine.csv", "--x", "measured_s", "-o", "notes.svg"]));
    assert!(slip.contains("notes.svg: a file that is not an image is there"), "{slip}");
    assert_eq!(folder.0.read("notes.svg"), b"no picture");
}

#[test]
fn prices_are_fitted_and_the_profile_is_ready_for_use() {
    let scenario =
        UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace("10 ms", "1 us").replace("\"1 s\"", "\"100 ms\"");
    let scenario =
        scenario.replace("host.near = {", "host.near = { profile = \"ss20\",") + "vary.mss = [\"536 B\", \"1072 B\"]\n";
    let scenario =
        scenario.replace("address = \"10.0.0.1/24\" }", "address = \"10.0.0.1/24\" }, tcp = { mss = \"${mss}\" }");
    let folder = Folder::with("fitted", &scenario);
    folder.0.write("mine.csv", b"mss (B),goodput (Mb/s)\n536,14\n1072,24\n");
    let fit = ["fit", "x.toml", "mine.csv", "--free", "tcp.send", "-o", "mine.toml"];
    let fitted = folder.kumiki(&fit);
    let said = String::from_utf8_lossy(&fitted.stdout);
    assert!(fitted.status.success() && said.contains("tcp.send") && said.contains("mss 1072 B"), "{fitted:?}");
    assert!(refused(&folder.kumiki(&fit)).contains("mine.toml: it is there already; --force replaces it"));
    let run = folder.kumiki(&["run", "x.toml", "--set", "host.near.profile=./mine.toml"]);
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("./mine.toml: 1 parameter fitted to 2 values"), "{run:?}");
    let typo = refused(&folder.kumiki(&["fit", "x.toml", "mine.csv", "--free", "tcp.sned"]));
    assert!(typo.contains("--free: unknown price \"tcp.sned\"; did you mean \"tcp.send\"?"), "{typo}");
    let many = ["fit", "x.toml", "mine.csv", "--free", "tcp.send", "--free", "tcp.sum", "--free", "tcp.pop"];
    let many = refused(&folder.kumiki(&many));
    assert!(many.contains("2 measurements cannot say 3 prices (tcp.send, tcp.sum, tcp.pop): name fewer"), "{many}");
    folder.0.write("bad.csv", b"mss (B),goodput (Mb/s)\n536,14\n1072,2x4\n");
    let bad = refused(&folder.kumiki(&["fit", "x.toml", "bad.csv"]));
    assert!(bad.starts_with("kumiki: bad.csv:3: column 2 (goodput (Mb/s)) = \"2x4\": not a number"), "{bad}");
}

#[test]
fn a_name_too_long_for_files_of_results_is_refused_before_anything_runs() {
    let folder = Folder::with("long", UNCONNECTED);
    let long = format!("{}.toml", "x".repeat(201));
    std::fs::copy(folder.0.path("x.toml"), folder.0.path(&long)).unwrap();
    let refused = folder.kumiki(&["run", &long, "--out", "out"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("a name of 201 octets, and files of its results are called by it"), "{told}");
    assert!(!folder.0.path("out").exists());
}

#[test]
fn two_results_have_two_names() {
    let folder = Folder::new("names");
    std::fs::create_dir(folder.0.path("other")).unwrap();
    for file in ["m.csv", "n.csv", "other/m.csv"] {
        folder.0.write(file, b"goodput_mbps\n1\n");
    }
    for command in [&["compare"][..], &["plot", "--x", "goodput_mbps"]] {
        let said = |results: &[&str]| refused(&folder.kumiki(&[command, results].concat()));
        let twice = "kumiki: a=m.csv: \"a\" is what a=n.csv is called, too; expected a name for each\n";
        assert_eq!(said(&["a=m.csv", "a=n.csv"]), twice);
    }
    let told = |results: &[&str]| {
        let output = folder.kumiki(&[&["compare"][..], results].concat());
        assert!(output.status.success(), "{results:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(told(&["m=n.csv", "m.csv"]).contains("m.csv"), "the one without a name of its own is called by its path");
    assert!(told(&["m.csv", "other/m.csv"]).contains("other/m.csv"));
    assert!(told(&["m.csv", "m.csv"]).contains("m.csv, m.csv (2)"));
    assert!(told(&["m.csv=n.csv", "m.csv", "other/m.csv"]).contains("m.csv, m.csv (2), other/m.csv"));
}
