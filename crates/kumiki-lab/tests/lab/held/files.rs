//! What holds a file, and what is said of one that does not arrive.

use kumiki_inet::tcp::Limit;
use kumiki_lab::experiment::Options;
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;

use crate::arrange::{self, parse, run};

/// Nagle keeps back the last and short segment of the file, and the peer the acknowledgment that would let it go: 40 of
/// some 46 ms.
#[test]
fn a_file_over_tcp_is_held_as_what_goes_over_tcp_is() {
    let file = |coalesce: &str, more: &[&str]| {
        let set = [&[coalesce, "delay=40 ms"][..], more].concat();
        let measured = run(&arrange::scenario("ftam-stall"), &set, 1, &Options::default()).measured;
        let held = measured.total.held();
        let of = |limit| held.iter().find(|(it, _)| *it == limit).map_or(0.0, |(_, share)| *share);
        let shares = [Limit::DelayedAcknowledgment, Limit::RoundTrip].map(of);
        assert!((held.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9, "{held:?}");
        assert!(measured.total.sender().is_some_and(|sender| sender.segments_sent > 10));
        (measured.bound(&measured.total, None, Some(96.0)).name(), shares)
    };
    for way in ["way=put", "way=get"] {
        let (bound, [late, _]) = file("coalesce=nagle", &["file=20 kB", way]);
        assert!(bound == "coalescing" && (0.8..0.95).contains(&late), "{way}: {bound} {late}");
        // Without it the file is as fast as request and answer follow each other.
        let (bound, [late, trips]) = file("coalesce=never", &["file=20 kB", way]);
        assert!(bound == "round trip" && late == 0.0 && trips > 0.5, "{way}: {bound} {trips}");
        let (bound, _) = file("coalesce=never", &["file=20 MB", way]);
        assert_eq!(bound, "link", "{way}");
    }
}

/// Where the time is over before the file is closed, though all octets were moved, that is what is told, and not that
/// some are missing. So are the events of the run.
#[test]
fn a_transfer_that_does_not_end_says_what_is_missing_and_what_happened() {
    let event = "run = { duration = \"${time}\" }\nevent = [{ at = \"${down}\", link = \"line\", up = false }]\n";
    let text = include_str!("../../../../../scenarios/ftam-stall.toml").replace("[run]\nduration = \"60 s\"\n", "");
    let text = format!("define = {{ time = \"60 s\", down = \"50 s\" }}\n{event}{text}");
    let outcome = |time: u64, down: u64, way: &str| {
        let [time, down] = [("time", time), ("down", down)].map(|(key, ms)| format!("{key}={ms} ms"));
        let set = ["coalesce=never", "delay=0 ms", "file=20 kB", way, &time, &down];
        Laboratory::default().run(&arrange::point(&parse(&text), &set)).unwrap()
    };
    let failure = |time: u64, down: u64, way: &str| outcome(time, down, way).failed;
    for way in ["way=put", "way=get"] {
        let told: Vec<String> = (1..30).filter_map(|time| failure(time, 50, way)).collect();
        assert!(told.iter().all(|it| !it.contains("20000 of 20000")), "{told:?}");
        let all = told.iter().filter(|it| it.contains("all 20000 octets were moved, but it was not closed"));
        assert!(all.count() > 0, "{told:?}");
        assert!(told.iter().any(|it| it.contains(": 0 of 20000 octets were moved")), "{told:?}");
    }
    let cut = failure(20, 2, "way=put").unwrap();
    assert!(cut.contains("during the run: ") && cut.contains("line"), "{cut}");
    // What would be right is no longer time, but that line; and the row says how far it came.
    assert!(cut.contains("link.line was down from 0.002 s on; expected") && !cut.contains("`duration`"), "{cut}");
    let row = outcome(500, 4, "way=put").rows.remove(0);
    let told = (row.completions, row.measured_s, row.octets);
    assert!(told.0 == Some(0) && (0.49..0.5).contains(&told.1) && told.2 < 20_000, "{told:?}");
    assert_eq!(row.bound_by, "retransmission time-out");
}

/// A transfer that fails is told of what was missing then, is measured until then, and has nothing to do with what
/// happens while others go on.
#[test]
fn what_happens_after_a_file_has_failed_is_not_why() {
    let text = r#"
title = "Failed"
host.a.graph = { user = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["l0"] }
host.b.graph = { keeper = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["l0"] }
host.c.graph = ["ip", "l0"]
host.d.like = "c"
link.line = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s" }
link.other = { ends = ["c", "d"], medium = "point-to-point", rate = "10 Mb/s" }
load.file = { kind = "ftam", from = "a.user", to = "b.keeper", message = "8000 B", file = "20 MB", way = "put" }
load.echo = { kind = "ping", from = "c", to = "d", message = "56 B", interval = "10 s" }
run.duration = "2000 s"
"#;
    let told = |event: &str| {
        let text = format!(
            "{text}\n[[event]]\nat = \"1 s\"\nlink = \"line\"\n{event}\n[[event]]\nat = \"1500 s\"\nlink = \"line\"\nup = true\nrate = \"10 Mb/s\"\n[[event]]\nat = \"1990 s\"\nhost = \"b\"\nup = false\n"
        );
        Laboratory::default().run(&arrange::point(&parse(&text), &[])).unwrap()
    };
    for (event, why) in [("up = false", "was down"), ("rate = \"0 b/s\"", "had a rate of 0 b/s")] {
        let outcome = told(event);
        let failed = outcome.failed.unwrap();
        let words =
            format!("the peer stopped answering, and link.line {why} from 1 s on; expected that it is up again");
        assert!(failed.contains(&words) && !failed.contains("host.b had no power"), "{failed}");
        let row = outcome.rows.iter().find(|row| row.load.as_deref() == Some("file")).unwrap();
        assert!((100.0..1490.0).contains(&row.measured_s), "{}", row.measured_s);
        let goodput = row.octets as f64 * 8.0 / row.measured_s / 1e6;
        assert!((row.goodput_mbps - goodput).abs() < 1e-9 && row.octets > 500_000, "{goodput} {row:?}");
        assert_eq!(row.bound_by, "aborted");
    }
}

/// A ring is called so, and has no rate that could be given back.
#[test]
fn a_file_whose_ring_is_down_says_so() {
    let station = |name: &str, number: u8, user: &str| {
        format!(
            "[host.{name}]\ngraph = {{ {user} = [\"ftam\"], ftam = [\"acse\"], acse = [\"presentation\"], presentation = [\"session\"], session = [\"tp0\"], tp0 = [\"tpkt\"], tpkt = [\"tcp\"], tcp = [\"ip\"], ip = [\"arp\"], arp = [\"llc\"], llc = [\"fddi\"], fddi = [\"f0\"] }}\nip = {{ address = \"10.0.0.{number}/24\", mtu = \"4352 B\", neighbours = \"below\" }}\narp = {{ addresses = [\"10.0.0.{number}\"] }}\nfddi = {{ address = \"02:00:00:00:00:0{number}\" }}\n"
        )
    };
    let text = format!(
        "title = \"Ring\"\nrun.duration = \"3 s\"\nevent = [{{ at = \"1 s\", ring = \"backbone\", up = false }}]\n{}{}[ring.backbone]\nends = [\"a.f0\", \"b.f0\"]\nmedium = \"fddi\"\n[load.file]\nkind = \"ftam\"\nfrom = \"a.user\"\nto = \"b.keeper\"\nmessage = \"8000 B\"\nfile = \"200 MB\"\nway = \"put\"\n",
        station("a", 1, "user"),
        station("b", 2, "keeper")
    );
    let failed = Laboratory::default().run(&arrange::point(&parse(&text), &[])).unwrap().failed.unwrap();
    let words =
        "octets were moved: ring.backbone was down from 1 s on; expected that it is up again while there is time";
    assert!(failed.contains(words) && !failed.contains("link."), "{failed}");
}

/// A host that has lost its power does not get it back: more time would not help.
#[test]
fn a_file_whose_host_has_no_power_says_so() {
    let event = "[[event]]\nat = \"${off}\"\nhost = \"receiver\"\nup = false\n";
    let text = include_str!("../../../../../scenarios/ftam-stall.toml").replace("[run]\n", &format!("{event}[run]\n"));
    let text = format!("define = {{ off = \"2 s\" }}\n{text}");
    for (off, said) in [("off=300 ms", "of 20000000 octets were moved"), ("off=0 s", "there was no association")] {
        let set = ["coalesce=never", "delay=0 ms", "file=20 MB", "way=put", "run.duration=5 s", off];
        let outcome = Laboratory::default().run(&arrange::point(&parse(&text), &set)).unwrap();
        let why = outcome.failed.unwrap();
        assert!(why.contains(said) && why.contains("host.receiver had no power from 0"), "{why}");
        assert!(!why.contains("`duration`") && why.contains("expected an event later than that"), "{why}");
        for row in &outcome.rows {
            assert_eq!((row.bound_by.as_str(), row.completions), ("power", (row.flow.is_none()).then_some(0)));
        }
        assert!(outcome.rows.len() == 3, "{:?}", outcome.rows);
    }
}

/// Round trips of the file service are a twentieth of the time; in the rest a line is full, whatever window TCP waits
/// for.
#[test]
fn a_line_that_a_file_fills_is_the_line() {
    let stack = r#"graph = { ftam_user = ["ftam"], ftam_keeper = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["l0"] }, tp0 = { tpdu = "2048 B" }, tpkt = { coalesce = "${coalesce}" }"#;
    let text = format!(
        "title = \"File\"\nhost.a = {{ {stack}, ip = {{ address = \"10.0.0.1/24\" }} }}\nhost.b = {{ like = \"a\", ip = {{ address = \"10.0.0.2/24\" }} }}\nlink.line = {{ ends = [\"a.l0\", \"b.l0\"], medium = \"point-to-point\", rate = \"256 kb/s\", propagation = \"150 ms\", queue_frames = \"${{queue}}\" }}\nload.x = {{ kind = \"ftam\", from = \"a.ftam_user\", to = \"b.ftam_keeper\", message = \"8000 B\", file = \"${{file}}\", way = \"${{way}}\" }}\nrun.duration = \"300 s\"\ndefine = {{ coalesce = \"nagle\", queue = \"1000 bdp\", file = \"500 kB\", way = \"put\" }}\n"
    );
    let bound = |set: &[&str]| {
        let rows = Laboratory::default().run(&arrange::point(&parse(&text), set)).unwrap().rows;
        rows.into_iter().map(|row| row.bound_by).collect::<Vec<_>>()
    };
    for set in [
        ["coalesce=nagle", "way=put", "queue=1000 bdp"],
        ["coalesce=never", "way=get", "queue=1000 bdp"],
        ["coalesce=never", "way=put", "queue=1 bdp"],
    ] {
        assert_eq!(bound(&set), ["link"; 3], "{set:?}");
    }
    // A short one is as slow as its round trips.
    assert_eq!(bound(&["file=20 kB", "coalesce=never"]), ["round trip"; 3]);
}
