//! `kumiki adversity`: seeded transfers over impaired lines.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use kumiki_adversity::{Case, CaseOutcome, Options, Summary, Transport, Violation};
use kumiki_lab::capture::{self, trace};
use kumiki_lab::progress::Progress;
use kumiki_live::private;
use kumiki_octets::text::counted;

use super::{Stop, has_place, print, uncaptured, unwritable};
use crate::cli;

/// So many failing seeds are printed.
const SHOWN: usize = 20;

pub(super) fn adversity(args: &cli::Adversity) -> Result<(), Stop> {
    match args.seed {
        Some(seed) => one(seed, args),
        None => several(args),
    }
}

fn several(args: &cli::Adversity) -> Result<(), Stop> {
    // What the parser asks for beside these it asks for no longer where `--count` or `--from` rules that out.
    let of_one =
        [("--pcap", args.pcap), ("--trace", args.trace), ("--shrink", args.shrink), ("--verbose", args.verbose)];
    if let Some((option, _)) = of_one.into_iter().find(|(_, is_given)| *is_given) {
        let why = format!("{option} is of one seed; expected --seed S, and neither --from nor --count");
        return Err(Stop::Input(why));
    }
    if args.from.checked_add(args.count.saturating_sub(1)).is_none() {
        let most = u64::MAX - (args.count - 1);
        return Err(Stop::Input(format!("--from {}: seeds end at {}; expected at most {most}", args.from, u64::MAX)));
    }
    let jobs = match args.jobs {
        Some(jobs) => usize::from(jobs),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut progress = Progress::new("adversity", args.count);
    let mut failed = 0;
    let transport = transport(args);
    let summary = kumiki_adversity::many(transport, args.from, args.count, jobs, |seed, violation| {
        if let Some(violation) = violation {
            failed += 1;
            if failed <= SHOWN {
                progress.note(&failure(transport, seed, violation));
            }
        }
        progress.advance(1);
    });
    progress.finish();
    print(&table(&summary))?;
    if summary.failed.is_empty() {
        return Ok(());
    }
    Err(Stop::Failed(format!("{} of {} seeds failed", summary.failed.len(), summary.cases)))
}

/// What was broken, and the line that repeats it.
fn failure(transport: Transport, seed: u64, violation: &Violation) -> String {
    let (of, more) = match transport {
        Transport::Tcp => ("", " --trace"),
        Transport::Xtp => (" --protocol xtp", ""),
    };
    format!("seed {seed}: {violation}\n    to repeat: kumiki adversity{of} --seed {seed} -v --pcap{more}")
}

const fn transport(args: &cli::Adversity) -> Transport {
    match args.protocol {
        cli::Transport::Tcp => Transport::Tcp,
        cli::Transport::Xtp => Transport::Xtp,
    }
}

fn table(summary: &Summary) -> String {
    let Summary { cases, octets, segments, damaged, events, .. } = summary;
    let mut text = format!(
        "{transfers}: {octets} delivered, {packets} at the hosts, {pdus} arrived damaged, {events}\n",
        transfers = counted(*cases, "transfer"),
        octets = counted(*octets, "octet"),
        packets = counted(*segments, "packet"),
        pdus = counted(*damaged, "PDU"),
        events = counted(*events, "event")
    );
    for (ending, count) in &summary.endings {
        let _ = writeln!(text, "{count:>10} ends ended {ending}");
    }
    for (of, what) in ["packets", "time"].into_iter().enumerate() {
        if let Some((half, most, (worst, seed))) = summary.spread(of) {
            let percent = |n: u64| format!("{}.{} %", n / 10, n % 10);
            let _ = writeln!(
                text,
                "of the {what} that are allowed one in two used {} or less, 99 of 100 {}, seed {seed} {}",
                percent(half),
                percent(most),
                percent(worst)
            );
        }
    }
    let _ = writeln!(text, "{} failed; hash {:016x}", summary.failed.len(), summary.hash);
    text
}

fn one(seed: u64, args: &cli::Adversity) -> Result<(), Stop> {
    let options = Options { capture: args.pcap, trace: args.trace, ..Options::default() };
    if args.trace && transport(args) == Transport::Xtp {
        let why = "an XTP notes nothing of its own to trace; --pcap shows what it sends and gets";
        return Err(Stop::Input(why.to_owned()));
    }
    let go = |case: &Case, options| {
        kumiki_adversity::run(case, options).map_err(|graph_error| Stop::Failed(graph_error.to_string()))
    };
    let mut case = Case::of(transport(args), seed);
    if args.shrink
        && let Some(violation) = go(&case, Options::default())?.violation
    {
        case = kumiki_adversity::shrink(&case, violation.rule, |runs| {
            tell!("kumiki: a simpler case after {runs}", runs = counted(runs, "run"));
        });
    }
    if args.verbose || args.shrink {
        print(&case.to_string())?;
    }
    if args.pcap || args.trace {
        // Nothing is tried whose captures have no place.
        fs::create_dir_all(&args.out).map_err(|why| unwritable("--out", &args.out, &why))?;
        has_place("--out", &args.out.join(format!("adversity-{seed}-tcp.csv")))?;
    }
    let outcome = go(&case, options)?;
    print(&told(&outcome))?;
    for file in write(&outcome, args)? {
        print(&format!("{}\n", file.display()))?;
    }
    match &outcome.violation {
        None => Ok(()),
        Some(violation) => Err(Stop::Failed(failure(transport(args), seed, violation))),
    }
}

fn told(outcome: &CaseOutcome) -> String {
    let mut text = String::new();
    for (name, end) in ["near", "far"].into_iter().zip(&outcome.ends) {
        let how = kumiki_adversity::name(end.over.clone());
        let _ = writeln!(
            text,
            "the {name} end: {} written, {} received, ended {how} at {} s",
            counted(end.written, "octet"),
            end.received,
            end.over_at
        );
    }
    let (packets, time) = outcome.allowed;
    let _ = writeln!(
        text,
        "{} at the hosts ({packets} in {:.0} s are allowed), {} arrived damaged, {}, hash {:016x}",
        counted(outcome.segments, "packet"),
        time.as_secs_f64(),
        counted(outcome.damaged, "PDU"),
        counted(outcome.events, "event"),
        outcome.hash
    );
    text
}

/// Writes captures and traces where they are asked for.
fn write(outcome: &CaseOutcome, args: &cli::Adversity) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    if !args.pcap && !args.trace {
        return Ok(files);
    }
    let folder = &args.out;
    let seed = outcome.seed;
    for captured in &outcome.captured {
        let path = folder.join(format!("adversity-{seed}-{}.pcapng", captured.host));
        let file = private::create(&path).map_err(|why| unwritable("--out", &path, &why))?;
        capture::cut(core::slice::from_ref(captured), args.snap.length(), BufWriter::new(file))
            .map_err(|why| uncaptured("--out", &path, why))?;
        files.push(path);
    }
    if args.trace {
        let path = folder.join(format!("adversity-{seed}-tcp.csv"));
        let text = trace::to_csv(&outcome.traces);
        let text = text.map_err(|why| Stop::Failed(format!("{}: {why}", path.display())))?;
        let written = private::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|why| unwritable("--out", &path, &why))?;
        files.push(path);
    }
    Ok(files)
}
