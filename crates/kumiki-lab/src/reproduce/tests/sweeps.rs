//! Sweeps that something ends, and those of several machines: what comes out is what would have come out at once.

use std::collections::BTreeSet;
use std::fs;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;

use super::*;

/// Draws that are the same each time.
struct Draws(u64);

impl Draws {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 += 1;
        let mut hash = SipHasher13::new_with_keys(7, self.0);
        hash.write_u64(self.0);
        usize::try_from(hash.finish() % u64::try_from(end).unwrap()).unwrap()
    }
}

/// A folder of its own, which goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kumiki-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn journal(&self) -> PathBuf {
        self.0.join(Journal::NAME)
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.journal()).unwrap().lines().map(str::to_owned).collect()
    }

    fn put_lines(&self, lines: &[String]) {
        fs::write(self.journal(), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    /// The octets of all results in it.
    fn octets(&self) -> [Vec<u8>; 4] {
        ["rows.jsonl", "rows.csv", "figures/two.svg", "captures/two/003-a.pcapng"]
            .map(|name| fs::read(self.0.join(name)).unwrap())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_would_be_run_is_foreseen_by_what_has_ended() {
    let (sweep, place) = (Sweep::of(4), Place::new("foreseen"));
    let none = Journal::look(&place.0, &header(&sweep.documents, Shard::WHOLE), &sweep.plan).unwrap();
    assert!(none.is_empty() && !place.0.exists());
    sweep.run(&place, Shard::WHOLE, false, 2).unwrap();
    let before = place.lines();
    let kept = Journal::look(&place.0, &header(&sweep.documents, Shard::WHOLE), &sweep.plan).unwrap();
    assert!(!kept.is_empty() && place.lines() == before);
    let all = sweep.plan.len();
    let text = sweep.plan.foreseen(Shard::WHOLE, &kept).summary(1);
    let counted = format!("{all} points, {} to be run, {} skipped, as they have ended; ", all - kept.len(), kept.len());
    assert!(text.starts_with(&counted), "{text}");
    let of_other = Journal::look(&place.0, &header(&sweep.documents, "1/2".parse().unwrap()), &sweep.plan);
    assert!(of_other.unwrap_err().to_string().contains("shard 1/1"));
    // Ten seconds of one point are ten seconds of each that weighs as much.
    let slow = [(0, std::time::Duration::from_secs(10))].into();
    let lines = sweep.plan.foreseen("2/2".parse().unwrap(), &slow).to_jsonl();
    let second: serde_json::Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    assert!((second["foreseen_s"].as_f64().unwrap() - 10.0).abs() < 1e-6, "{second}");
    assert_eq!((&second["state"], &second["shard"]), (&"runs".into(), &"2/2".into()));
    let states: Vec<bool> = lines.lines().map(|line| line.contains("other shard")).collect();
    assert_eq!(states.iter().filter(|other| **other).count(), all.div_ceil(2));
}

/// A sweep of two scenarios of which the first has `points`.
struct Sweep {
    plan: Plan,
    header: fn(&[Document], Shard) -> Header,
    documents: Vec<Document>,
}

fn header(documents: &[Document], shard: Shard) -> Header {
    Header::new(documents, &Choice::default(), "device", shard)
}

impl Sweep {
    fn of(points: usize) -> Self {
        let windows = (1..=points).map(|window| format!("[\"{window} KiB\", \"1 ms\"]")).collect::<Vec<_>>().join(", ");
        let text = TWO_HOSTS.replace(
            "[[\"8 KiB\", \"1 ms\"], [\"48 KiB\", \"20 ms\"], [\"256 KiB\", \"20 ms\"]]",
            &format!("[{windows}]"),
        );
        let text = text.replace("nagle = [true, false]", "nagle = [true]").split("[quick]").next().unwrap().to_owned()
            + "[report]\nx = \"window\"\nseries = [\"nagle\"]\nrows = { window = \"window_bytes\", rtt = \"rtt_ms\" }\n";
        let repeated = TWO_HOSTS.replace("[run]", "[run]\nrepeat = { runs = 3 }");
        let parse =
            |name: &str, text: &str| Document::parse(name, &format!("/home/somebody/{name}.toml"), text).unwrap();
        let documents = vec![parse("two", &text), parse("repeated", &repeated)];
        let plan = Plan::new(&documents, &Choice::default(), &Fake { failing: false }).unwrap();
        Self { plan, header, documents }
    }

    fn journal(&self, place: &Place, shard: Shard, resume: bool) -> Result<(Output, Journal), OutputError> {
        let output = Output::open(&place.0, resume)?;
        let journal = Journal::open(&output, &(self.header)(&self.documents, shard), &self.plan, resume)?;
        Ok((output, journal))
    }

    /// Runs what is left, or until so many points were begun; says how many were run.
    fn run(&self, place: &Place, shard: Shard, resume: bool, until: usize) -> Result<usize, OutputError> {
        let (output, mut journal) = self.journal(place, shard, resume)?;
        let runner = Counting::default();
        let begun = Arc::clone(&runner.0);
        let options = Options {
            jobs: 2,
            interruption: Interruption::by(move || begun.load(Ordering::SeqCst) >= until),
            output: Some(&output),
            journal: Some(&mut journal),
            shard,
            ..Options::default()
        };
        let begun = Arc::clone(&runner.0);
        let results = self.plan.run(&Arc::new(runner), options, &mut Progress::hidden())?;
        if results.iter().all(|result| result.left().0 == 0) && shard.is_whole() {
            write(&output, &results)?;
        }
        Ok(begun.load(Ordering::SeqCst))
    }

    fn pieces(&self) -> Pieces {
        Pieces::new((self.header)(&self.documents, Shard::WHOLE), &self.plan).unwrap()
    }

    /// What another process sends that runs these points alone.
    fn sent(&self, only: &BTreeSet<usize>) -> (String, Vec<(String, Vec<u8>)>) {
        let mut pieces = self.pieces();
        let options = Options { only: Some(only), pieces: Some(&mut pieces), ..Options::default() };
        self.plan.run(&Arc::new(Counting::default()), options, &mut Progress::hidden()).unwrap();
        let files = pieces.files().map(|(name, octets)| (name.to_owned(), octets.to_vec()));
        (pieces.to_journal().unwrap(), files.collect())
    }

    fn whole(&self, name: &str) -> Place {
        let place = Place::new(name);
        self.run(&place, Shard::WHOLE, false, usize::MAX).unwrap();
        place
    }

    fn why(&self, place: &Place) -> String {
        let why = self.run(place, Shard::WHOLE, true, usize::MAX).unwrap_err();
        why.to_string().replace(&place.0.display().to_string(), "D")
    }
}

/// Counts the runs that it begins.
#[derive(Default)]
struct Counting(Arc<AtomicUsize>);

impl Runner for Counting {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let mut outcome = Fake { failing: false }.run(point)?;
        // Each is a file that waits for the disk.
        if point.index != 3 {
            outcome.captures.clear();
        }
        Ok(outcome)
    }
}

#[test]
fn a_sweep_that_is_killed_ten_times_and_resumed_is_the_sweep() {
    let sweep = Sweep::of(1000);
    let whole = sweep.whole("whole");
    let killed = Place::new("killed");
    let mut draws = Draws(1);
    let mut runs = 0;
    for round in 0..10 {
        runs += sweep.run(&killed, Shard::WHOLE, round > 0, 1 + draws.below(100)).unwrap();
        // As if it had been killed in the middle of a line.
        let octets = fs::read(killed.journal()).unwrap();
        let header = octets.iter().position(|octet| *octet == b'\n').unwrap() + 1;
        let last = octets.len() - draws.below(1500).min(octets.len() - header);
        fs::write(killed.journal(), &octets[..last]).unwrap();
    }
    runs += sweep.run(&killed, Shard::WHOLE, true, usize::MAX).unwrap();
    assert_eq!(killed.octets(), whole.octets());
    // What had ended was not run again, but for what was torn off each time, and what two threads had in flight.
    assert!((1015..1015 + 10 * 8).contains(&runs), "{runs}");
    assert_eq!(sweep.run(&killed, Shard::WHOLE, true, usize::MAX).unwrap(), 0, "nothing is left");
    assert_eq!(killed.octets(), whole.octets());
}

/// A capture is a part of the result; only its name is in the journal.
#[test]
fn a_point_whose_capture_is_gone_is_run_again() {
    let sweep = Sweep::of(5);
    let place = sweep.whole("gone");
    let capture = place.0.join("captures/two/003-a.pcapng");
    fs::remove_file(&capture).unwrap();
    assert_eq!(sweep.run(&place, Shard::WHOLE, true, usize::MAX).unwrap(), 1);
    assert!(capture.is_file());
}

#[test]
fn a_journal_that_is_not_as_it_was_written_is_refused_with_its_line() {
    let sweep = Sweep::of(20);
    let place = sweep.whole("damaged");
    let lines = place.lines();
    let mut draws = Draws(100);
    for _ in 0..40 {
        let line = draws.below(lines.len() - 1);
        let mut octets = lines[line].clone().into_bytes();
        let at = draws.below(octets.len());
        octets[at] ^= 1;
        let mut damaged = lines.clone();
        damaged[line] = String::from_utf8_lossy(&octets).into_owned();
        place.put_lines(&damaged);
        let why = sweep.why(&place);
        assert!(why.starts_with(&format!("D/journal.jsonl:{}: the line is ", line + 1)), "{line}, {at}: {why}");
    }
    // Of the last line nobody knows whether it was ever whole.
    place.put_lines(&[&lines[..lines.len() - 1], &["{\"sha256\":\"".to_owned()]].concat());
    assert!((1..=3).contains(&sweep.run(&place, Shard::WHOLE, true, usize::MAX).unwrap()));
    // Of the first nobody knows what the points are of.
    place.put_lines(&[&["{\"sha256\":\"00\"}".to_owned()], &lines[1..]].concat());
    let why = sweep.why(&place);
    let how = "and a journal begins with what is run; to start over, --force, or another directory";
    assert_eq!(why, format!("D/journal.jsonl:1: the line is damaged, {how}"));
    // Whoever follows what is said has what there was.
    place.put_lines(&[&lines[..3], &["x".to_owned()], &lines[4..]].concat());
    assert_eq!(sweep.why(&place), "D/journal.jsonl:4: the line is damaged; without this line its point is run again");
    place.put_lines(&[&lines[..3], &lines[4..]].concat());
    assert_eq!(sweep.run(&place, Shard::WHOLE, true, usize::MAX).unwrap(), 1);
}

/// The first line is there before any point, so that nothing is lost.
#[test]
fn a_journal_whose_first_line_is_torn_begins_again() {
    let sweep = Sweep::of(5);
    let place = Place::new("first");
    let all = sweep.run(&place, Shard::WHOLE, false, usize::MAX).unwrap();
    let (whole, lines) = (place.octets(), place.lines());
    for kept in [0, 1, 11, 40, lines[0].len()] {
        fs::remove_file(place.0.join(Output::ROWS_JSONL)).unwrap();
        fs::write(place.journal(), &lines[0][..kept]).unwrap();
        let header = (sweep.header)(&sweep.documents, Shard::WHOLE);
        assert!(Journal::look(&place.0, &header, &sweep.plan).unwrap().is_empty());
        assert!(merged(&[&place]).unwrap_err().starts_with("D1/journal.jsonl:1: "));
        assert_eq!(sweep.run(&place, Shard::WHOLE, true, usize::MAX).unwrap(), all, "{kept}");
        assert_eq!(place.octets(), whole);
    }
    // What somebody else has called so stays, and so do results whose journal has lost everything.
    fs::write(place.journal(), "mine").unwrap();
    assert!(sweep.why(&place).starts_with("D/journal.jsonl:1: the line is damaged, and"));
    fs::write(place.journal(), "").unwrap();
    let gone = "D/journal.jsonl: it is missing or empty, and rows.jsonl cannot be gone on with by itself; replace it with --force, or choose another directory with --out";
    assert_eq!(sweep.why(&place), gone);
    fs::remove_file(place.journal()).unwrap();
    assert_eq!(sweep.why(&place), gone);
    let header = (sweep.header)(&sweep.documents, Shard::WHOLE);
    assert!(Journal::look(&place.0, &header, &sweep.plan).is_err());
}

#[test]
fn a_journal_of_something_else_is_refused_and_a_comment_is_nothing_else() {
    let sweep = Sweep::of(20);
    let place = sweep.whole("else");
    let other = |change: &dyn Fn(&mut Vec<Document>)| {
        let mut other = Sweep::of(20);
        change(&mut other.documents);
        other.plan = Plan::new(&other.documents, &Choice::default(), &Fake { failing: false }).unwrap();
        other
    };
    let text = |from: &str, to: &str| {
        let text = sweep.documents[0].text().replace(from, to);
        assert_ne!(text, sweep.documents[0].text());
        Document::parse("two", "two.toml", &text).unwrap()
    };
    let commented = other(&|it| it[0] = text("[run]", "# What is asked.\n[run]"));
    assert_eq!(commented.run(&place, Shard::WHOLE, true, usize::MAX).unwrap(), 0);
    let longer = other(&|it| it[0] = text("\"10 s\"", "\"11 s\""));
    let why = longer.why(&place);
    let words = "point 0 of two is not among those that are to be run: run.duration was \"10 s\" and is \"11 s\" now";
    assert_eq!(why, format!("D/journal.jsonl:2: {words}"));
    let fewer = other(&|it| drop(it.pop()));
    assert_eq!(fewer.why(&place), "D/journal.jsonl:1: it is of scenario two, repeated, and not of scenario two");
    let none =
        Sweep { header: |documents, shard| Header::new(documents, &Choice::default(), "", shard), ..Sweep::of(20) };
    assert_eq!(none.why(&place), "D/journal.jsonl:1: it is of captures device, and not of captures none");
    let lines = place.lines();
    let older = lines[0].replace(&format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION")), "\"version\":\"0.0.9\"");
    let (_, body) = older.split_once("\"journal\":").unwrap();
    let body = body.strip_suffix('}').unwrap();
    let older = format!("{{\"sha256\":\"{}\",\"journal\":{body}}}", key::sha256(body.as_bytes()));
    place.put_lines(&[&[older], &lines[1..]].concat());
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(sweep.why(&place), format!("D/journal.jsonl:1: it is of version 0.0.9, and not of version {version}"));
    // Where a scenario is on this machine is nobody's business.
    assert!(!lines[0].contains("somebody"));
}

#[test]
fn two_do_not_write_one_journal() {
    let sweep = Sweep::of(5);
    let place = Place::new("two-writers");
    let first = sweep.journal(&place, Shard::WHOLE, false).unwrap();
    assert!(sweep.why(&place).contains("another process is writing it"));
    drop(first);
    sweep.run(&place, Shard::WHOLE, true, usize::MAX).unwrap();
    let again = sweep.run(&place, Shard::WHOLE, false, usize::MAX).unwrap_err();
    assert!(matches!(again, OutputError::Exists { .. }), "{again}");
}

/// Of several that begin at once in a new directory, one has it, and the others are refused before they compute
/// anything.
#[test]
fn of_those_that_begin_at_once_one_writes() {
    const WRITERS: usize = 4;
    let sweep = Sweep::of(5);
    for round in 0..10 {
        let place = Place::new(&format!("at-once-{round}"));
        let begin = std::sync::Barrier::new(WRITERS);
        let one = || {
            let output = Output::open(&place.0, round % 2 == 1).unwrap();
            let header = (sweep.header)(&sweep.documents, Shard::WHOLE);
            begin.wait();
            Journal::open(&output, &header, &sweep.plan, false)
        };
        let opened: Vec<_> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(one)).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        assert_eq!(opened.iter().filter(|journal| journal.is_ok()).count(), 1);
        let refused = opened.iter().filter_map(|journal| journal.as_ref().err());
        for why in refused {
            assert!(why.to_string().contains("another process is writing it"), "{why}");
        }
    }
}

#[test]
fn what_was_killed_leaves_nothing_half_written() {
    let (sweep, place) = (Sweep::of(4), Place::new("parts"));
    sweep.run(&place, Shard::WHOLE, false, 2).unwrap();
    let parts = [
        ".probe.4711.part",
        ".rows.csv.4711.part",
        "figures/.two.svg.4711.part",
        "captures/two/.000-a.pcapng.4711.part",
    ];
    let others = [
        ".mine.part",
        "mine.4711.part",
        "other/.rows.csv.4711.part",
        ".mine.csv.4711.part",
        "figures/.mine.txt.4711.part",
        "captures/two/.mine.pcapng.4711.part",
        "figures/.mine.svg.4711.part",
        "captures/other/.000-a.pcapng.4711.part",
    ];
    for name in parts.iter().chain(&others) {
        let path = place.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    sweep.run(&place, Shard::WHOLE, true, usize::MAX).unwrap();
    for name in parts {
        assert!(!place.0.join(name).exists(), "{name}");
    }
    for name in others {
        assert!(place.0.join(name).is_file(), "{name}");
    }
}

/// `count` shards of `sweep`.
fn shards(sweep: &Sweep, name: &str, count: usize) -> Vec<Place> {
    let one = |number: usize| {
        let place = Place::new(&format!("{name}-{number}"));
        sweep.run(&place, format!("{number}/{count}").parse().unwrap(), false, usize::MAX).unwrap();
        place
    };
    (1..=count).map(one).collect()
}

fn merged(shards: &[&Place]) -> Result<Merged, String> {
    let paths: Vec<PathBuf> = shards.iter().map(|place| place.0.clone()).collect();
    Merged::read(&paths).map_err(|why| {
        let short = |text: String, (number, path): (usize, &PathBuf)| {
            text.replace(&path.display().to_string(), &format!("D{number}"))
        };
        (1..).zip(&paths).fold(why.to_string(), short)
    })
}

#[test]
fn seven_shards_are_the_whole() {
    let sweep = Sweep::of(100);
    let whole = sweep.whole("of-seven");
    let shards = shards(&sweep, "seventh", 7);
    let into = Place::new("merged");
    // In any order.
    let all: Vec<&Place> = shards.iter().rev().collect();
    let output = Output::open(&into.0, false).unwrap();
    write(&output, &merged(&all).unwrap().results(&output).unwrap()).unwrap();
    assert_eq!(into.octets(), whole.octets());
    // What was merged can be gone on with, and merged again.
    assert_eq!(sweep.run(&into, Shard::WHOLE, true, usize::MAX).unwrap(), 0);
    merged(&[&into]).unwrap();
}

/// Some points twice, as where a worker was believed to be lost and was not.
#[test]
fn pieces_of_other_processes_are_the_whole() {
    let sweep = Sweep::of(20);
    let whole = sweep.whole("of-pieces");
    let all: BTreeSet<usize> = (0..sweep.plan.len()).collect();
    let (into, copy) = (Place::new("pieces"), Place::new("copy-of-pieces"));
    let (output, mut journal) = sweep.journal(&into, Shard::WHOLE, false).unwrap();
    let mut pieces = sweep.pieces();
    for first in [7, 0, 14, 7] {
        let only: BTreeSet<usize> = all.iter().copied().filter(|place| (first..first + 8).contains(place)).collect();
        let (text, files) = sweep.sent(&only);
        let came = pieces.add(&text, files, Some((&output, &mut journal))).unwrap();
        assert_eq!(came, Vec::from_iter(only));
    }
    assert_eq!(pieces.places().collect::<BTreeSet<_>>(), all.range(..22).copied().collect());
    // The rest is run here.
    let options =
        Options { output: Some(&output), journal: Some(&mut journal), pieces: Some(&mut pieces), ..Options::default() };
    let runner = Counting::default();
    let begun = Arc::clone(&runner.0);
    sweep.plan.run(&Arc::new(runner), options, &mut Progress::hidden()).unwrap();
    // The second scenario has five points, each of which is run three times.
    assert_eq!(begun.load(Ordering::SeqCst), 3 * (sweep.plan.len() - 22));
    drop(journal);
    write(&output, &pieces.results(&sweep.plan)).unwrap();
    assert_eq!(into.octets(), whole.octets());
    let output = Output::open(&copy.0, false).unwrap();
    write(&output, &pieces.write(&sweep.plan, &output, Some(&into.0)).unwrap()).unwrap();
    assert_eq!(copy.octets(), whole.octets());
    for place in [&into, &copy] {
        assert_eq!(sweep.run(place, Shard::WHOLE, true, usize::MAX).unwrap(), 0);
    }
}

/// Two hosts, of which one is called as captures of a further run begin.
struct Named;

impl Runner for Named {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let outcome = Fake { failing: false }.run(point)?;
        let names = ["a", "run1-a", "run01-a", "run0-run1-a", "run0-a", "runs-a", "run-a"];
        let captures = names.map(|host| (format!("{host}.pcapng"), host.as_bytes().to_vec().into()));
        Ok(Outcome { captures: captures.into(), ..outcome })
    }
}

/// Whatever hosts are called, no capture takes the place of another.
#[test]
fn no_two_captures_have_one_name() {
    let text = TWO_HOSTS.replace("[run]", "[run]\nrepeat = { runs = 3 }");
    let (plan, place) = (plan(&[], &text).unwrap(), Place::new("named"));
    let output = Output::open(&place.0, false).unwrap();
    let results = run(&plan, Named, Options { output: Some(&output), ..Options::default() });
    let (_, names) = results[0].captures().next().unwrap();
    assert_eq!(names.len(), 21);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 21, "{names:?}");
    let read = |name: &str| fs::read_to_string(place.0.join("captures/two").join(name)).unwrap();
    // Ordinary names are as they were.
    for (name, host) in [
        ("000-a.pcapng", "a"),
        ("000-run1-a.pcapng", "a"),
        ("000-run2-run1-a.pcapng", "run1-a"),
        ("000-runs-a.pcapng", "runs-a"),
        ("000-run0-run1-a.pcapng", "run1-a"),
    ] {
        assert_eq!(read(name), host, "{name}");
    }
}

/// A capture that is not as it was written is made again with its point, and not taken for whole.
#[test]
fn a_point_whose_capture_is_cut_off_is_run_again() {
    let sweep = Sweep::of(4);
    let (place, whole) = (Place::new("cut-off"), sweep.whole("cut-off-whole"));
    sweep.run(&place, Shard::WHOLE, false, usize::MAX).unwrap();
    let capture = place.0.join("captures/two/003-a.pcapng");
    for octets in [&[1_u8][..], &[], &[1, 2, 3]] {
        fs::write(&capture, octets).unwrap();
        let kept = Journal::look(&place.0, &header(&sweep.documents, Shard::WHOLE), &sweep.plan).unwrap();
        assert_eq!(kept.len(), sweep.plan.len() - 1);
        assert_eq!(sweep.run(&place, Shard::WHOLE, true, usize::MAX).unwrap(), 1);
        assert_eq!(place.octets(), whole.octets());
    }
}

/// Nothing of an older result goes, and nothing is half copied that would be in the way once the capture is there
/// again.
#[test]
fn a_capture_that_is_cut_off_is_told_before_anything_is_merged() {
    let (sweep, into) = (Sweep::of(4), Place::new("cut-off-merged"));
    let shards = shards(&sweep, "cut-off-shard", 2);
    let merge = |force| {
        let merged = merged(&shards.iter().collect::<Vec<_>>())?;
        let output = Output::open(&into.0, force).map_err(|why| why.to_string())?;
        let results = merged.results(&output).and_then(|results| write(&output, &results).map(|_| ()));
        results.map_err(|why| why.to_string())
    };
    let capture = shards[1].0.join("captures/two/003-a.pcapng");
    let whole = fs::read(&capture).unwrap();
    let spoil = || fs::write(&capture, [1]).unwrap();
    spoil();
    let why = merge(false).unwrap_err();
    assert!(why.starts_with("D2/captures/two/003-a.pcapng: it has 1 octet, where 2 were written"), "{why}");
    fs::write(&capture, &whole).unwrap();
    merge(false).expect("what was mended can be merged by the same command");
    let first = into.0.join("captures/two/000-a.pcapng");
    fs::write(&first, "of an older result").unwrap();
    spoil();
    merge(true).unwrap_err();
    assert_eq!(fs::read(&first).unwrap(), b"of an older result");
    fs::remove_file(&capture).unwrap();
    let why = merge(true).unwrap_err();
    assert!(why.starts_with("D2/captures/two/003-a.pcapng: "), "{why}");
}

/// Those that were copied before it failed would have no journal that says whose they are, and the next attempt would
/// refuse them.
#[test]
fn a_merge_that_fails_half_way_leaves_no_captures() {
    let (sweep, into) = (Sweep::of(4), Place::new("half-merged"));
    let shards = shards(&sweep, "half-shard", 2);
    let read = || merged(&shards.iter().collect::<Vec<_>>()).unwrap();
    let last = shards[1].0.join("captures/repeated/003-run2-a.pcapng");
    let (all, octets) = (read(), fs::read(&last).unwrap());
    fs::remove_file(&last).unwrap();
    let output = Output::open(&into.0, false).unwrap();
    all.results(&output).unwrap_err();
    let left: Vec<_> = fs::read_dir(&into.0).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    fs::write(&last, octets).unwrap();
    read().results(&Output::open(&into.0, false).unwrap()).unwrap();
    for name in ["captures/two/003-a.pcapng", "captures/repeated/003-run2-a.pcapng"] {
        assert!(into.0.join(name).is_file(), "{name}");
    }
}

/// What a run would not write or take away it does not look into either.
#[cfg(unix)]
#[test]
fn only_what_is_written_or_taken_away_needs_its_place() {
    use std::os::unix::fs::symlink;

    let (sweep, place, elsewhere) = (Sweep::of(4), Place::new("room"), Place::new("room-elsewhere"));
    sweep.run(&place, Shard::WHOLE, false, usize::MAX).unwrap();
    let output = Output::open(&place.0, true).unwrap();
    let look = |captures| {
        let header = Header::new(&sweep.documents, &Choice::default(), captures, Shard::WHOLE);
        Journal::look_for_room(&output, &header, &sweep.plan, false).map_err(|why| why.to_string())
    };
    let captures = place.0.join("captures/two");
    // A directory that no capture of the plan is called as.
    for (name, is_taken) in [("7-notes.csv", false), ("007-notes.csv", false), ("002-notes.csv", true)] {
        fs::create_dir(captures.join(name)).unwrap();
        assert_eq!(look("device").is_err(), is_taken, "{name}");
        fs::remove_dir(captures.join(name)).unwrap();
    }
    // What is in the place of a file that is only looked whether it can be made.
    fs::write(&elsewhere.0, "somebody's").unwrap();
    symlink(&elsewhere.0, place.0.join(format!("figures/.probe.{}.part", std::process::id()))).unwrap();
    look("device").unwrap();
    assert_eq!(fs::read(&elsewhere.0).unwrap(), b"somebody's");
    // Captures are in another place, in which nothing can be made; only who captures needs to.
    fs::remove_dir_all(&captures).unwrap();
    symlink(&elsewhere.0, &captures).unwrap();
    assert!(look("device").unwrap_err().contains("captures/two: "));
    look("").unwrap();
    fs::remove_file(&elsewhere.0).unwrap();
}

#[test]
fn pieces_of_something_else_are_refused_with_their_line() {
    let (sweep, other) = (Sweep::of(4), Sweep::of(5));
    let mut pieces = sweep.pieces();
    let (text, _) = other.sent(&BTreeSet::from([4]));
    let why = pieces.add(&text, [], None).unwrap_err().to_string();
    assert!(why.starts_with("what a worker sent:2: point 4 of two is not among those"), "{why}");
    let (text, _) = sweep.sent(&BTreeSet::from([1]));
    let why = pieces.add(&text.replacen("\"octets\":", "\"octets\":1", 1), [], None).unwrap();
    assert!(why.is_empty(), "a last line that is torn is not there");
    assert_eq!(pieces.add(&text, [], None).unwrap(), [1]);
    pieces.fail(&sweep.plan, 2, "it was lost", None).unwrap();
    assert_eq!(pieces.places().collect::<Vec<_>>(), [1]);
    let results = pieces.results(&sweep.plan).remove(0);
    assert_eq!((results.failures().len(), results.left()), (1, (2, 4)));
}

#[test]
fn shards_that_do_not_make_the_whole_are_refused_by_name_and_line() {
    let sweep = Sweep::of(20);
    let all = shards(&sweep, "third", 3);
    let [a, b, c] = &all[..] else { unreachable!() };
    let why = merged(&[a, c]).unwrap_err();
    assert_eq!(
        why,
        "D1/journal.jsonl: 8 points are missing, the first: two, nagle on, window 2 KiB, rtt 1 ms. No directory of shard 2/3 is given"
    );
    merged(&[a, b, c, b]).expect("twice the same is once");
    let lines = b.lines();
    b.put_lines(&lines[..lines.len() - 1]);
    let why = merged(&[a, b, c]).unwrap_err();
    assert!(why.starts_with("D2/journal.jsonl: shard 2/3 has not ended; 1 point is missing in all"), "{why}");
    b.put_lines(&lines);
    // The same points with other results.
    let mut other = lines.clone();
    let (_, body) = other[4].split_once("\"point\":").unwrap();
    let body = body.strip_suffix('}').unwrap().replace("\"goodput_mbps\":", "\"goodput_mbps\":1");
    other[4] = format!("{{\"sha256\":\"{}\",\"point\":{body}}}", key::sha256(body.as_bytes()));
    let double = Place::new("double");
    fs::create_dir(&double.0).unwrap();
    double.put_lines(&other);
    let why = merged(&[a, b, c, &double]).unwrap_err();
    assert!(why.starts_with("D4/journal.jsonl:5: point "), "{why}");
    assert!(why.ends_with(" is there already, with other results, in D2/journal.jsonl:5"), "{why}");
    let foreign = shards(&Sweep::of(21), "foreign", 1);
    let why = merged(&[a, b, &foreign[0]]).unwrap_err();
    assert_eq!(
        why,
        "D3/journal.jsonl:1: its text of the scenario two is not that of the first, as D1/journal.jsonl is"
    );
    let nowhere = Merged::read(&[Path::new("/nowhere").to_owned()]).unwrap_err().to_string();
    assert!(nowhere.starts_with("/nowhere: there is no such directory; expected one"), "{nowhere}");
}

#[test]
fn shards_of_texts_that_differ_in_a_comment_are_of_one_sweep() {
    let sweep = Sweep::of(20);
    let mut commented = Sweep::of(20);
    let text = sweep.documents[0].text().replace("[run]", "# What is asked.\n[run]");
    assert_ne!(text, sweep.documents[0].text());
    commented.documents[0] = Document::parse("two", "two.toml", &text).unwrap();
    commented.plan = Plan::new(&commented.documents, &Choice::default(), &Fake { failing: false }).unwrap();
    let there = Place::new("commented-there");
    commented.run(&there, "2/2".parse().unwrap(), false, usize::MAX).unwrap();
    merged(&[&shards(&sweep, "commented-here", 2)[0], &there]).expect("a comment is nothing else");
}

#[test]
fn shards_are_written_as_numbers_of_how_many() {
    for wrong in ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/2", "1/10001", "1/2/3"] {
        assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
    }
    let all: Vec<Shard> = (1..=3).map(|k| format!("{k}/3").parse().unwrap()).collect();
    for place in 0..10 {
        assert_eq!(all.iter().filter(|shard| shard.has(place)).count(), 1, "{place}");
    }
    assert_eq!(all[1].to_string(), "2/3");
}

#[test]
fn what_replaces_an_older_result_leaves_nothing_of_it_and_all_that_is_not_its() {
    let place = Sweep::of(4).whole("replaced");
    let old = ["captures/two/003-a.pcapng", "captures/repeated/003-run2-a.pcapng", "figures/two.svg"];
    for name in old {
        assert!(place.0.join(name).is_file(), "{name}");
    }
    for name in ["figures/mine.svg", "captures/two/notes.txt", "queues.parquet"] {
        fs::write(place.0.join(name), "x").unwrap();
    }
    // A name that leads out, as somebody may have written it, is nobody's.
    let beside = Place::new("replaced-beside");
    fs::create_dir(&beside.0).unwrap();
    fs::write(beside.0.join("kept"), "x").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&beside.0, place.0.join("captures/linked")).unwrap();
    let document = Document::parse("other", "other.toml", TWO_HOSTS).unwrap();
    let plan = Plan::new(core::slice::from_ref(&document), &Choice::default(), &Fake { failing: false }).unwrap();
    let output = Output::open(&place.0, true).unwrap();
    let header = Header::new(&[document], &Choice::default(), "", Shard::WHOLE);
    let mut journal = Journal::open(&output, &header, &plan, false).unwrap();
    journal.replace(&output, &BTreeSet::from(["rows.csv".to_owned()])).unwrap();
    for name in old.into_iter().chain(["rows.jsonl", "report.html", "queues.parquet", "captures/repeated"]) {
        assert!(!place.0.join(name).exists(), "{name}");
    }
    for name in ["figures/mine.svg", "captures/two/notes.txt", "rows.csv", "journal.jsonl"] {
        assert!(place.0.join(name).is_file(), "{name}");
    }
    assert!(beside.0.join("kept").is_file());
}

#[test]
fn a_merge_into_one_of_its_shards_has_the_captures_of_all() {
    let sweep = Sweep::of(4);
    let places = ["into-1", "into-2"].map(Place::new);
    for (number, place) in (1..).zip(&places) {
        sweep.run(place, format!("{number}/2").parse().unwrap(), false, usize::MAX).unwrap();
    }
    let directories = places.each_ref().map(|place| place.0.clone());
    let merged = Merged::read(&directories).unwrap();
    let output = Output::open(&places[1].0, true).unwrap();
    let results = merged.results(&output).unwrap();
    write(&output, &results).unwrap();
    assert_eq!(places[1].octets(), sweep.whole("into-whole").octets());
}

/// Whatever ends the merge, a full disk or what is gone, the points of the shard are there.
#[test]
fn a_merge_into_one_of_its_shards_that_fails_leaves_the_shard() {
    let sweep = Sweep::of(4);
    let places = ["kept-1", "kept-2"].map(Place::new);
    for (number, place) in (1..).zip(&places) {
        sweep.run(place, format!("{number}/2").parse().unwrap(), false, usize::MAX).unwrap();
    }
    let directories = places.each_ref().map(|place| place.0.clone());
    let [into, other] = &places;
    let before = into.lines();
    let merged = Merged::read(&directories).unwrap();
    fs::remove_dir_all(other.0.join("captures")).unwrap();
    let why = merged.results(&Output::open(&into.0, true).unwrap()).unwrap_err();
    assert!(matches!(why, OutputError::Unread { .. }), "{why}");
    let words = format!(": there is no directory {}", other.0.join("captures").display());
    assert!(why.to_string().ends_with(&words), "{why}");
    assert_eq!(into.lines(), before);
    assert_eq!(sweep.run(into, "1/2".parse().unwrap(), true, usize::MAX).unwrap(), 0);
    let left: Vec<_> = fs::read_dir(&into.0).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".part")), "{left:?}");
}
