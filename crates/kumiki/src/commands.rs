//! The commands.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kumiki_config::refusal::{self, Access};
pub(crate) use kumiki_config::shown::{line as shown, lines as lines_shown};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;
use kumiki_lab::rows::{OutputError, RowError};
use kumiki_lab::scenario::{Choice, ConfigError, Document, First, Point};

use kumiki_pcapng::CaptureError;

use crate::cli;
use crate::delay;
use crate::live;
use crate::ppp;

mod adversity;
pub(crate) mod compare;
mod decode;
mod experiments;
pub(crate) mod fit;
mod list;
mod manual;
mod picture;
pub(crate) mod plot;
mod script;
#[cfg(test)]
mod tests;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The command line or a file is wrong; nothing was written.
    Input(String),
    /// It ran and failed.
    Failed(String),
    /// It ran, and what it wrote has no room: the disk is full, or a limit is reached.
    NoRoom(String),
    /// It ran and ended in a way that has a status of its own.
    Ended {
        /// The exit status.
        status: u8,
        /// What to say.
        why: String,
    },
}

impl From<ConfigError> for Stop {
    fn from(fault: ConfigError) -> Self {
        // The input can be read; it is what it describes that cannot run.
        if fault.is_of_topology() { Self::Failed(fault.to_string()) } else { Self::Input(fault.to_string()) }
    }
}

impl From<RowError> for Stop {
    fn from(why: RowError) -> Self {
        Self::Failed(why.to_string())
    }
}

impl From<OutputError> for Stop {
    fn from(why: OutputError) -> Self {
        if matches!(why, OutputError::Exists { .. } | OutputError::Foreign { .. } | OutputError::Journal { .. }) {
            Self::Input(why.to_string())
        } else if why.is_for_want_of_room() {
            Self::NoRoom(why.to_string())
        } else {
            Self::Failed(why.to_string())
        }
    }
}

/// That what `option` names cannot be made or written. Which place that is, and who may write there, the command line
/// decides; how much room there is it does not.
pub(crate) fn unwritable(option: &str, path: &Path, why: &io::Error) -> Stop {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let said = format!("{option} {}: {}", path.display(), refusal::words(path, why, Access::Write));
    if matches!(why.kind(), StorageFull | FileTooLarge | QuotaExceeded) {
        Stop::NoRoom(said)
    } else {
        Stop::Input(said)
    }
}

/// Tries whether a file can be written where `option` says, before anything is done for it. None is left.
pub(crate) fn has_place(option: &str, path: &Path) -> Result<(), Stop> {
    refusal::try_place(path).map_err(|why| unwritable(option, path, &why))
}

/// Where a capture is to be that begins when somebody has been reached, where one can be made there.
pub(crate) fn capture_place(path: Option<&Path>) -> Result<Option<PathBuf>, Stop> {
    path.map_or(Ok(()), |path| has_place("--pcap", path))?;
    Ok(path.map(Path::to_owned))
}

/// That what `option` names, or the command itself where that is empty, cannot be read.
pub(crate) fn unreadable(option: &str, path: &Path, why: &io::Error) -> Stop {
    let blank = if option.is_empty() { "" } else { " " };
    Stop::Input(format!("{option}{blank}{}: {}", path.display(), refusal::words(path, why, Access::Read)))
}

/// That a capture cannot be written.
pub(crate) fn uncaptured(option: &str, path: &Path, why: CaptureError) -> Stop {
    if let CaptureError::Io(why) = why {
        return unwritable(option, path, &why);
    }
    Stop::Failed(format!("{option} {}: {why}", path.display()))
}

/// That the place for results cannot be opened: nothing has run yet.
pub(crate) fn unopened(why: OutputError) -> Stop {
    match why {
        OutputError::Io { path, source } => unwritable("--out", &path, &source),
        OutputError::Unread { path, source } => unreadable("", &path, &source),
        why @ (OutputError::Exists { .. }
        | OutputError::Foreign { .. }
        | OutputError::Name { .. }
        | OutputError::Row { .. }
        | OutputError::Journal { .. }
        | OutputError::Read { .. }
        | _) => Stop::Input(format!("--out: {why}")),
    }
}

/// Runs one command.
pub(crate) fn run(command: cli::Command) -> Result<(), Stop> {
    match command {
        cli::Command::Reproduce(args) => {
            let laboratory = laboratory(&args.results, false);
            let documents = of_papers(Document::builtin()?, &args.papers)?;
            let mut results = args.results;
            results.runs.get_or_insert(1);
            experiments("reproduce", &documents, Vec::new(), &results, laboratory)
        }
        cli::Command::Run(args) => {
            let laboratory = laboratory(&args.results, args.trace);
            let document = Document::find(&args.scenario.name)?;
            experiments("run", &[document], args.scenario.set, &args.results, laboratory)
        }
        cli::Command::Merge(args) => experiments::merge(&args),
        cli::Command::Compare(args) => compare::run(&args),
        cli::Command::Plot(args) => plot::run(&args),
        cli::Command::Fit(args) => fit::run(&args),
        cli::Command::Scenarios(args) => list::run(&args.directories),
        cli::Command::Limit(args) => {
            let First { point, told } = first_point(args.scenario, |point| Laboratory::default().check(point))?;
            let text = Laboratory::limit(&point, experiments::layout().lines)
                .map_err(|why| Stop::Input(format!("{}: {why}", point.file())))?;
            print_words(&below(told, &text))
        }
        cli::Command::Graph(args) => {
            let First { point, told } = first_point(args.scenario, |point| Laboratory::default().check_drawn(point))?;
            if args.svg {
                say_point(told.as_deref());
                print(&point.scenario.graph_svg())
            } else {
                print_words(&below(told, &point.scenario.graph_text()))
            }
        }
        cli::Command::Decode(args) => decode::run(&args),
        cli::Command::Ttcp(args) => live::ttcp(&args),
        cli::Command::Source(args) => live::source(&args),
        cli::Command::Sink(args) => live::take(&args, "sink"),
        cli::Command::Echo(args) => live::take(&args, "echo"),
        cli::Command::Ping(args) => live::ping(&args),
        cli::Command::Ppp(args) => ppp::run(&args),
        #[cfg(target_os = "linux")]
        cli::Command::Ftam(args) => crate::ftam::run(&args),
        #[cfg(target_os = "linux")]
        cli::Command::Ftamd(args) => crate::ftamd::run(&args),
        #[cfg(target_os = "linux")]
        cli::Command::Mms(args) => crate::mms::run(&args),
        #[cfg(target_os = "linux")]
        cli::Command::Mmsd(args) => crate::mmsd::run(&args),
        #[cfg(target_os = "linux")]
        cli::Command::X25(args) => crate::x25::run(&args),
        cli::Command::Delay(args) => delay::run(&args),
        #[cfg(target_os = "linux")]
        cli::Command::Link(args) => crate::link::run(&args),
        #[cfg(target_os = "linux")]
        cli::Command::Live(args) => crate::live_scenario::run(&args),
        #[cfg(target_os = "linux")]
        cli::Command::Stack(args) => crate::stack::run(&args),
        cli::Command::Adversity(args) => adversity::adversity(&args),
        cli::Command::Script(args) => script::script(&args),
        cli::Command::Completions(args) => print(&manual::completions(args.shell)),
        cli::Command::Man(args) => manual::pages(&args.directory),
    }
}

/// The scenarios of these papers; of all papers where none is named.
fn of_papers(documents: Vec<Document>, papers: &[u8]) -> Result<Vec<Document>, Stop> {
    let of = |matches: &dyn Fn(u8) -> bool| -> Vec<Document> {
        documents.iter().filter(|document| document.paper().is_some_and(matches)).cloned().collect()
    };
    for paper in papers {
        if of(&|p| p == *paper).is_empty() {
            return Err(Stop::Input(format!("no scenario repeats paper {paper}")));
        }
    }
    let mut chosen = of(&|paper| papers.is_empty() || papers.contains(&paper));
    // What a paper prints comes before what goes beyond it.
    let is_beyond = |document: &Document| {
        let figure = document.figure();
        let is_printed = ["fig", "table"].iter().any(|it| figure.starts_with(it));
        !(is_printed && document.name().ends_with(&figure))
    };
    chosen.sort_by_key(|document| (document.paper(), is_beyond(document)));
    if chosen.is_empty() {
        return Err(Stop::Input("no scenario repeats any paper".to_owned()));
    }
    Ok(chosen)
}

/// The scenario as its first point has it, of which `check` finds nothing wrong.
pub(crate) fn first_point(
    args: cli::Scenario,
    check: impl Fn(&Point) -> Result<(), ConfigError>,
) -> Result<First, Stop> {
    let choice = Choice { set: args.set, quick: false, runs: None };
    Ok(Document::find(&args.name)?.first_checked(&choice, check)?)
}

/// `text` below what is said of the point that it is about.
fn below(told: Option<String>, text: &str) -> String {
    told.map_or_else(String::new, |told| told + "\n") + text
}

/// Says which point is meant where the results have no place for it.
pub(crate) fn say_point(told: Option<&str>) {
    if let Some(told) = told {
        tell!("kumiki: {}", lines_shown(told));
    }
}

/// What runs points, and what it captures.
fn laboratory(args: &cli::Results, trace: bool) -> Laboratory {
    let pcap = args.pcap.clone().unwrap_or_default();
    Laboratory { pcap, snaplen: args.snap.length(), trace, directory: Some(args.out.clone()) }
}

/// Runs `documents` in virtual time.
fn experiments(
    what: &str,
    documents: &[Document],
    set: Vec<String>,
    args: &cli::Results,
    laboratory: Laboratory,
) -> Result<(), Stop> {
    let trace = if laboratory.trace { "trace".to_owned() } else { String::new() };
    let cut = match laboratory.snaplen {
        0 => String::new(),
        octets => format!(", {octets} octets of each packet"),
    };
    let captures = [format!("{}{cut}", laboratory.pcap), trace];
    let captures: Vec<String> = captures.into_iter().filter(|it| !it.is_empty()).collect();
    let work = experiments::Work { what, documents, set, captures: captures.join(" and "), args };
    experiments::experiments(work, &Arc::new(laboratory))
}

/// Prints words for people, in which what is not seen is escaped.
pub(crate) fn print_words(text: &str) -> Result<(), Stop> {
    print(&lines_shown(text))
}

/// Prints results. That nobody reads them to the end, as with `head`, is no failure.
pub(crate) fn print(text: &str) -> Result<(), Stop> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(Stop::Failed(format!("standard output: {why}"))),
        _ => Ok(()),
    }
}
