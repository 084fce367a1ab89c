//! `kumiki ftam`: from the command line to [`kumiki_lab::live::osi`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use kumiki_lab::live::Duration;
use kumiki_lab::live::osi::{
    self as ftam, Association, Call, ContentsType, Errand, Failure, Gain, Layer, Lower, Operation, Outcome,
    PutMode, Settings, StringClass,
};
use kumiki_lab::quantity::Octets;

use crate::commands::{Stop, print};
use crate::live::option;

use crate::files::bar::Bar;
use crate::files::local::{Contents, Out, Part, Receipt};
use crate::files::url::Url;
use crate::files::{collect, password, show};

/// `kumiki ftam`.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 done, 1 something on this machine failed, 2 the command line is wrong, 3 no connection, or it \
                  was lost, 4 the responder refused the association below FTAM (selectors, titles), 5 FTAM did not let us in \
                  (user, password), 6 the filestore said no, 7 a protocol error or an abort of the responder, 130 given up by \
                  Ctrl-C; collect: 10 nothing is new, 11 some files could not be fetched."
)]
pub(crate) struct Wanted {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Fetch a file
    Get(Get),
    /// Send a file
    Put(Put),
    /// List a directory
    Ls(List),
    /// Show the attributes of a file
    Stat(List),
    /// Give a file another name
    Mv(Move),
    /// Delete files
    Rm(Many),
    /// Make directories
    Mkdir(Many),
    /// Fetch what is new in a directory or in a list of names
    Collect(collect::Wanted),
}

/// Who, and how.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// The password is the first line of this file; else it is that of KUMIKI_FTAM_PASSWORD, else the terminal is asked where the URL
    /// has a user
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// How long an answer may take, and nothing may come
    #[arg(long, value_name = "TIME", default_value = "30s")]
    timeout: String,
    /// Write what crosses the connection to this file, as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// The octets of one data element that is sent, where a file may be cut anywhere
    #[arg(long, value_name = "SIZE", default_value = "8000B")]
    element: String,
    /// Tell what the layers do
    #[arg(short, long)]
    verbose: bool,
    /// No progress, and nothing about what went well
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What is in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum As {
    /// Octets: FTAM-3
    Binary,
    /// Text with control characters: FTAM-1 of GeneralString
    Text,
    /// Text, of which each string is a line: FTAM-1 of GraphicString
    Lines,
}

impl As {
    fn contents_type(self) -> ContentsType {
        match self {
            Self::Binary => ContentsType::binary(),
            Self::Text => ContentsType::text(StringClass::General),
            Self::Lines => ContentsType::text(StringClass::Graphic),
        }
    }
}

#[derive(Args, Debug)]
struct Get {
    #[arg(
        value_name = "URL",
        help = "The file: ftam://user@host[:port]/FILE?tsel=..."
    )]
    url: Url,
    /// Where it goes: a file, a directory, or - for standard output; its own name in this directory unless given
    #[arg(value_name = "TARGET")]
    target: Option<PathBuf>,
    /// Keep what has come where it breaks (TARGET.part), and go on from there the next time
    #[arg(long)]
    resume: bool,
    /// Open it as this; as whatever it is unless given
    #[arg(long = "as", value_name = "TYPE")]
    form: Option<As>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct Put {
    /// The file on this machine; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where it goes; with / at the end the file's own name is put behind it
    #[arg(value_name = "URL")]
    url: Url,
    /// What becomes of a file that is there
    #[arg(long, value_enum, default_value_t = Mode::Replace)]
    mode: Mode,
    /// What it is
    #[arg(long = "as", value_name = "TYPE", value_enum, default_value_t = As::Binary)]
    form: As,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Mode {
    /// It is an error
    New,
    /// It is replaced, and keeps its attributes
    Replace,
    /// What is sent is added to it
    Append,
}

#[derive(Args, Debug)]
struct List {
    /// The directory or file
    #[arg(value_name = "URL")]
    url: Url,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct Move {
    /// The file
    #[arg(value_name = "URL")]
    url: Url,
    /// Its new name at the same responder
    #[arg(value_name = "NAME")]
    to: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct Many {
    /// The first
    #[arg(value_name = "URL")]
    url: Url,
    /// More names at the same responder
    #[arg(value_name = "NAME")]
    more: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// The exit status of what was given up.
const INTERRUPTED: u8 = 130;

/// The exit status that a failure has; `stood` where there was an association.
pub(crate) const fn status(failure: &Failure, stood: bool) -> u8 {
    match (failure.layer, failure.code) {
        (Layer::Local, _) => 1,
        (Layer::Network, _) => 3,
        (Layer::Transport | Layer::Session | Layer::Presentation | Layer::Acse, _) if stood => 7,
        (Layer::Transport | Layer::Session | Layer::Presentation | Layer::Acse, _) => 4,
        (Layer::Ftam, Some(1000..=1999)) => 7,
        (Layer::Ftam, None) if stood => 7,
        (Layer::Ftam, _) if stood => 6,
        (Layer::Ftam, _) => 5,
    }
}

/// Whom `url` and the options mean.
pub(crate) fn call_of(url: &Url, common: &Common) -> Result<Call, Stop> {
    let patience: Duration = option("--timeout", &common.timeout)?;
    let element: Octets = option("--element", &common.element)?;
    let element = usize::try_from(element.count()).ok();
    let element = element.filter(|element| (1..=1 << 20).contains(element));
    let Some(element) = element else {
        return Err(Stop::Input(
            "--element: 1 B to 1 MiB is expected".to_owned(),
        ));
    };
    if url.carrier == ftam::Carrier::Xot && url.x121.first().is_some_and(ftam::X121::is_empty) {
        return Err(Stop::Input(
            "XOT calls an X.121 address; write it as in ftam://host/FILE?carrier=xot&x121=12345"
                .to_owned(),
        ));
    }
    let password = password::of(url.user.as_deref(), common.password_file.as_deref())?;
    let usual = Lower::default();
    let [called, ours] = url.x121;
    Ok(Call {
        host: url.host.clone(),
        lower: Lower {
            carrier: url.carrier,
            tpdu_size: url.tpdu.unwrap_or_else(|| url.carrier.tpdu_size()),
            patience,
            x121: ours,
            ..usual
        },
        x121: called,
        called: url.called,
        calling: url.calling,
        names: url.names.clone(),
        application_context: url.context,
        settings: Settings {
            initiator: url.user.as_deref().map(Into::into),
            account: url.account.as_deref().map(Into::into),
            password,
            element,
            ..Settings::default()
        },
        patience,
        pcap: common.pcap.clone(),
    })
}

/// A plan with its end known beforehand.
struct Plan {
    operations: std::collections::VecDeque<Operation>,
    outcomes: Vec<Outcome>,
    bar: Bar,
    verbose: bool,
    /// How much the next operation moves, where that is known.
    expected: Option<u64>,
}

impl Errand for Plan {
    fn next(&mut self) -> Option<Operation> {
        let operation = self.operations.pop_front()?;
        self.bar.begin(&operation.title());
        self.bar.expect(self.expected.take());
        Some(operation)
    }

    fn heard(&mut self, outcome: &Outcome) {
        self.told(&narrated(outcome));
        if let Ok(Gain::Attributes(attributes)) = &outcome.result {
            self.expected = show::size(attributes);
        }
        self.outcomes.push(outcome.clone());
    }

    fn progress(&mut self, progress: ftam::Progress, _: &ftam::Client) {
        self.bar.at(progress.octets);
    }

    fn told(&mut self, line: &str) {
        if self.verbose {
            self.bar.say(line);
        }
    }
}

/// What came of an operation, in a line.
pub(crate) fn narrated(outcome: &Outcome) -> String {
    let title = &outcome.title;
    match &outcome.result {
        Ok(Gain::Done) => format!("FTAM: {title}: done"),
        Ok(Gain::Moved(octets)) => format!("FTAM: {title}: {octets} octets moved"),
        Ok(Gain::Entries(entries)) => format!("FTAM: {title}: {} entries", entries.len()),
        Ok(Gain::Attributes(_)) => format!("FTAM: {title}: its attributes are known"),
        Err(why) => {
            let mut line = format!("FTAM: {title}: {why}");
            for said in &why.diagnostics {
                line.push_str(&format!("; said: {said}"));
            }
            line
        }
    }
}

/// Does a plan, and says how it ended.
fn work(
    call: &Call,
    operations: Vec<Operation>,
    common: &Common,
    expected: Option<u64>,
) -> Result<Vec<Outcome>, Stop> {
    let mut plan = Plan {
        operations: operations.into(),
        outcomes: Vec::new(),
        bar: Bar::new(common.quiet),
        verbose: common.verbose,
        expected,
    };
    let done = ftam::call(call, &mut plan);
    plan.bar.end();
    look_at(&done?, call, common)?;
    Ok(plan.outcomes)
}

/// How an association ended.
pub(crate) fn look_at(association: &Association, call: &Call, common: &Common) -> Result<(), Stop> {
    if common.verbose {
        let (received, sent) = association.octets;
        let millis = association.elapsed.as_nanos() / 1_000_000;
        eprintln!("network: {received} octets received, {sent} sent, {millis} ms");
    }
    if association.interrupted {
        return Err(Stop::Ended {
            status: INTERRUPTED,
            why: "given up".to_owned(),
        });
    }
    if let Some(why) = &association.failure {
        return Err(ended(why, association.stood, &call.host.to_string()));
    }
    Ok(())
}

/// A failure as the end of the program.
fn ended(why: &Failure, stood: bool, of: &str) -> Stop {
    let why_shown = why.to_string();
    let why_text = if why_shown.contains(of) {
        why_shown
    } else {
        format!("{of}: {why_shown}")
    };
    Stop::Ended {
        status: status(why, stood),
        why: why_text,
    }
}

/// The end of a plan all of whose operations are to be done.
fn all_done(outcomes: &[Outcome]) -> Result<(), Stop> {
    let mut first = None;
    for outcome in outcomes {
        if let Err(why) = &outcome.result {
            let end = ended(why, true, &outcome.title);
            match (&first, end) {
                (None, end) => first = Some(end),
                // The first is told at the end of the program.
                (Some(_), Stop::Ended { why, .. }) => eprintln!("kumiki: {why}"),
                (Some(_), Stop::Input(_) | Stop::Failed(_)) => {}
            }
        }
    }
    first.map_or(Ok(()), Err)
}

/// `kumiki ftam`.
pub(crate) fn run(wanted: &Wanted) -> Result<(), Stop> {
    match &wanted.what {
        What::Get(it) => get(it),
        What::Put(it) => put(it),
        What::Ls(it) => list(it),
        What::Stat(it) => stat(it),
        What::Mv(it) => {
            if Url::is_one(&it.to) {
                return Err(Stop::Input(
                    "the new name is at the same responder; write the name alone, without ftam://"
                        .to_owned(),
                ));
            }
            let rename = Operation::Rename {
                name: it.url.name.clone(),
                to: it.to.clone(),
            };
            plain(&it.url, &it.common, vec![rename])
        }
        What::Rm(it) => plain(
            &it.url,
            &it.common,
            names(it, |name| Operation::Remove { name })?,
        ),
        What::Mkdir(it) => {
            let operations = names(it, |name| Operation::MakeDirectory { name })?;
            plain(&it.url, &it.common, operations)
        }
        What::Collect(it) => collect::run(it),
    }
}

fn names(wanted: &Many, make: impl Fn(String) -> Operation) -> Result<Vec<Operation>, Stop> {
    if wanted.more.iter().any(|name| Url::is_one(name)) {
        return Err(Stop::Input(
            "only the first is a URL; the others are names at the same responder".to_owned(),
        ));
    }
    let all = std::iter::once(&wanted.url.name).chain(&wanted.more);
    Ok(all.cloned().map(make).collect())
}

fn plain(url: &Url, common: &Common, operations: Vec<Operation>) -> Result<(), Stop> {
    let call = call_of(url, common)?;
    let outcomes = work(&call, operations, common, None)?;
    all_done(&outcomes)
}

/// Where a file goes: none is standard output.
fn target(url: &Url, target: Option<&Path>) -> Result<Option<PathBuf>, Stop> {
    let own = || {
        let last = url.name.rsplit('/').next().unwrap_or_default();
        if matches!(last, "" | "." | "..") {
            return Err(Stop::Input(format!(
                "{:?} has no name that a file here could have; name a target",
                url.name
            )));
        }
        Ok(PathBuf::from(last))
    };
    match target {
        Some(path) if path.as_os_str() == OsStr::new("-") => Ok(None),
        Some(path) if path.is_dir() => Ok(Some(path.join(own()?))),
        Some(path) => Ok(Some(path.to_owned())),
        None => own().map(Some),
    }
}

fn get(wanted: &Get) -> Result<(), Stop> {
    let common = &wanted.common;
    if wanted.url.name.is_empty() {
        return Err(Stop::Input("the URL names no file".to_owned()));
    }
    let call = call_of(&wanted.url, common)?;
    let target = target(&wanted.url, wanted.target.as_deref())?;
    let name = wanted.url.name.clone();
    let mut receipt = None;
    let sink: Box<dyn ftam::Sink> = match &target {
        None if wanted.resume => {
            return Err(Stop::Input(
                "--resume goes on with a file, and standard output is none".to_owned(),
            ));
        }
        None => Box::new(Out::default()),
        Some(path) => {
            let (part, its) = Part::begin(path, wanted.resume).map_err(Stop::Failed)?;
            receipt = Some(its);
            Box::new(part)
        }
    };
    // The attributes only say how much will come: a peer that does not tell is no less good.
    let stat = Operation::Stat { name: name.clone() };
    let get = Operation::Get {
        name,
        contents_type: wanted.form.map(As::contents_type),
        restart_at: 0,
        sink,
    };
    let outcomes = work(&call, vec![stat, get], common, None)?;
    all_done(outcomes.get(1..).unwrap_or_default())?;
    if let (false, Some(path), Some(receipt)) = (common.quiet, &target, &receipt) {
        say_got(path, receipt);
    }
    Ok(())
}

fn say_got(path: &Path, receipt: &Receipt) {
    let it = receipt.read();
    let resumed = match it.resumed {
        0 => String::new(),
        octets => format!(", {octets} of them were there"),
    };
    eprintln!("{}: {} bytes{resumed}", path.display(), it.size);
}

fn put(wanted: &Put) -> Result<(), Stop> {
    let common = &wanted.common;
    if Url::is_one(&wanted.file.to_string_lossy()) {
        return Err(Stop::Input(
            "the file of this machine comes first, and the URL behind it".to_owned(),
        ));
    }
    let is_input = wanted.file.as_os_str() == OsStr::new("-");
    let mut name = wanted.url.name.clone();
    if name.is_empty() || name.ends_with('/') {
        let own = wanted.file.file_name().and_then(OsStr::to_str);
        let Some(own) = own.filter(|_| !is_input) else {
            return Err(Stop::Input("the URL names no file".to_owned()));
        };
        name.push_str(own);
    }
    let call = call_of(&wanted.url, common)?;
    let contents = if is_input {
        Contents::of_standard_input()
    } else {
        Contents::of(&wanted.file)
    };
    let contents = contents.map_err(Stop::Failed)?;
    let size = contents.size;
    let put = Operation::Put {
        name: name.clone(),
        contents_type: wanted.form.contents_type(),
        mode: match wanted.mode {
            Mode::New => PutMode::New,
            Mode::Replace => PutMode::Replace,
            Mode::Append => PutMode::Append,
        },
        source: Box::new(contents),
    };
    let outcomes = work(&call, vec![put], common, Some(size))?;
    all_done(&outcomes)?;
    if let (false, Some(Ok(Gain::Moved(octets)))) =
        (common.quiet, outcomes.first().map(|it| it.result.clone()))
    {
        eprintln!("{name}: {octets} bytes");
    }
    Ok(())
}

fn list(wanted: &List) -> Result<(), Stop> {
    let call = call_of(&wanted.url, &wanted.common)?;
    let list = Operation::List {
        name: directory(&wanted.url.name),
    };
    let outcomes = work(&call, vec![list], &wanted.common, None)?;
    all_done(&outcomes)?;
    for outcome in &outcomes {
        if let Ok(Gain::Entries(entries)) = &outcome.result {
            print(&show::entries(entries, wanted.json))?;
        }
    }
    Ok(())
}

/// The name of a directory, as filestores have it: without a slash at the end, and `.` for nothing.
pub(crate) fn directory(name: &str) -> String {
    let name = name.strip_suffix('/').unwrap_or(name);
    if name.is_empty() { "." } else { name }.to_owned()
}

fn stat(wanted: &List) -> Result<(), Stop> {
    let call = call_of(&wanted.url, &wanted.common)?;
    let stat = Operation::Stat {
        name: directory(&wanted.url.name),
    };
    let outcomes = work(&call, vec![stat], &wanted.common, None)?;
    all_done(&outcomes)?;
    for outcome in &outcomes {
        if let Ok(Gain::Attributes(attributes)) = &outcome.result {
            print(&show::attributes(attributes, wanted.json))?;
        }
    }
    Ok(())
}
