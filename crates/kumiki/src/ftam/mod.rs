//! `kumiki ftam`: from the command line to [`kumiki_filetransfer::osi`].

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use kumiki_config::quantity::Octets;
use kumiki_filetransfer::osi::{Call, Calls, ContentsType, FunctionalUnits, Operation, PutMode, Settings, StringClass};
use kumiki_filetransfer::url::Url;
use kumiki_live::unguessable;

use crate::commands::Stop;
use crate::files::work::{self, Line, OutputManner};
use crate::files::{collect, password};
use crate::live::option;

/// `kumiki ftam`.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 done, 1 something on this machine failed, 2 the command line is wrong, 3 no connection, or it \
                  was lost, 4 the responder refused the association below FTAM (selectors, titles), 5 FTAM did not let us in \
                  (user, password), 6 the filestore said no, 7 a protocol error or an abort of the responder, 130 given up by \
                  Ctrl-C; collect: 10 nothing is new, 11 some files could not be fetched."
)]
pub(crate) struct FtamArgs {
    #[command(subcommand)]
    what: FtamCommand,
}

#[derive(Subcommand, Debug)]
enum FtamCommand {
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
    Rm(DeleteArguments),
    /// Make directories
    Mkdir(DeleteArguments),
    /// Fetch what is new in a directory or in a list of names
    Collect(Collect),
}

/// Who, and how.
#[derive(Args, Debug)]
struct Common {
    /// The password is the first line of this file; else it is that of KUMIKI_FTAM_PASSWORD, else the terminal is asked
    /// where the URL has a user
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    line: Line,
    /// Propose no recovery, for responders that choke on it: what breaks starts over
    #[arg(long)]
    no_recovery: bool,
    #[command(flatten)]
    manner: OutputManner,
}

/// What becomes of a transfer that breaks.
#[derive(Args, Debug)]
struct Breaks {
    /// So often another connection is made where one breaks in a transfer, to go on with that (F-RECOVER), or to begin
    /// it again where the responder has no recovery; 0: never
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(..=1000))]
    retries: u32,
}

/// What is in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ContentsKind {
    /// Octets: FTAM-3
    Binary,
    /// Text with control characters: FTAM-1 of GeneralString
    Text,
    /// Text, of which each string is a line: FTAM-1 of GraphicString
    Lines,
}

impl ContentsKind {
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
    #[arg(value_name = "URL", help = "The file: ftam://user@host[:port]/FILE?tsel=...")]
    url: Url,
    /// Where it goes: a file, a directory, or - for standard output; its own name in this directory unless given
    #[arg(value_name = "TARGET")]
    target: Option<PathBuf>,
    /// Keep what has come where it breaks (TARGET.part), and go on from there the next time
    #[arg(long)]
    resume: bool,
    /// Open it as this; as whatever it is unless given
    #[arg(long = "as", value_name = "TYPE")]
    form: Option<ContentsKind>,
    /// Open it as text, and end its lines as they end here: CR LF becomes LF
    #[arg(long, conflicts_with = "form")]
    text: bool,
    #[command(flatten)]
    breaks: Breaks,
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
    #[arg(long = "as", value_name = "TYPE", value_enum, default_value_t = ContentsKind::Binary)]
    form: ContentsKind,
    /// It is text, whose lines end as they end between systems: LF becomes CR LF
    #[arg(long, conflicts_with = "form")]
    text: bool,
    /// Note how far it is (.FILE.kumiki-put, beside the file), and go on from there the next time, where the responder
    /// has kept what it has
    #[arg(long)]
    resume: bool,
    /// The octets of one data element, where a file may be cut anywhere
    #[arg(long, value_name = "SIZE", default_value = "8000B")]
    element: String,
    #[command(flatten)]
    breaks: Breaks,
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
struct DeleteArguments {
    /// The first
    #[arg(value_name = "URL")]
    url: Url,
    /// More names at the same responder
    #[arg(value_name = "NAME")]
    more: Vec<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct Collect {
    /// The directory at the responder
    #[arg(value_name = "URL")]
    url: Url,
    #[command(flatten)]
    options: collect::Options,
    /// Open files as this; as whatever they are unless given
    #[arg(long = "as", value_name = "TYPE")]
    form: Option<ContentsKind>,
    #[command(flatten)]
    breaks: Breaks,
    #[command(flatten)]
    common: Common,
}

/// Whom `url` and the options mean, where nothing is transferred.
fn call_of(url: &Url, common: &Common) -> Result<Call, Stop> {
    work::call(url, &common.line, || {
        let usual = Settings::default();
        settings(url, common, usual.recoveries, false).map(Calls::Ftam)
    })
}

/// The same for a transfer; another run may go on with what this one begins, if it `resumes`.
fn resumed(url: &Url, (common, breaks): (&Common, &Breaks), resumes: bool) -> Result<Call, Stop> {
    work::call(url, &common.line, || settings(url, common, breaks.retries, resumes).map(Calls::Ftam))
}

/// As whom, and how.
fn settings(url: &Url, common: &Common, retries: u32, resumes: bool) -> Result<Settings, Stop> {
    let password = password::of(VARIABLE, url.user.as_deref(), common.password_file.as_deref())?;
    let settings = Settings::default();
    let recovers = (retries > 0 || resumes) && !common.no_recovery;
    let units = if recovers { settings.units | FunctionalUnits::RECOVERY } else { settings.units };
    let random = unguessable().map_err(|why| Stop::Failed(format!("no random number: {why}")))?;
    Ok(Settings {
        initiator: url.user.as_deref().map(Into::into),
        account: url.account.as_deref().map(Into::into),
        password,
        units,
        recoveries: retries,
        resumes: recovers && resumes,
        // Thirty bits: some responders have no more than 32 for it.
        activity: i64::try_from(random >> 34).unwrap_or(0),
        ..settings
    })
}

/// The octets of one data element, as `--element` says.
pub(crate) fn element(text: &str) -> Result<usize, Stop> {
    let element: Octets = option("--element", text)?;
    let element = usize::try_from(element.count()).ok();
    let element = element.filter(|element| (1..=1 << 20).contains(element));
    element.ok_or_else(|| Stop::Input("--element: 1 B to 1 MiB is expected".to_owned()))
}

/// The variable of the environment that has the password.
const VARIABLE: &str = "KUMIKI_FTAM_PASSWORD";

/// `kumiki ftam`.
pub(crate) fn run(args: &FtamArgs) -> Result<(), Stop> {
    match &args.what {
        FtamCommand::Get(it) => {
            if it.url.name.is_empty() {
                return Err(Stop::Input("the URL names no file".to_owned()));
            }
            let call = resumed(&it.url, (&it.common, &it.breaks), it.resume)?;
            let form = if it.text { Some(ContentsKind::Text) } else { it.form };
            let contents_type = form.map(ContentsKind::contents_type);
            work::get(&call, &it.url, it.target.as_deref(), it.resume, (contents_type, it.text), it.common.manner)
        }
        FtamCommand::Put(it) => {
            let name = work::put_name(&it.file, &it.url)?;
            let element = element(&it.element)?;
            let mut call = resumed(&it.url, (&it.common, &it.breaks), it.resume)?;
            if let Calls::Ftam(settings) = &mut call.calls {
                settings.element = element;
            }
            let mode = match it.mode {
                Mode::New => PutMode::New,
                Mode::Replace => PutMode::Replace,
                Mode::Append => PutMode::Append,
            };
            let form = if it.text { ContentsKind::Text } else { it.form };
            let how = (form.contents_type(), mode, it.text);
            work::put(&call, &it.file, &name, how, it.resume, it.common.manner)
        }
        FtamCommand::Ls(it) => work::list(&call_of(&it.url, &it.common)?, &it.url, it.json, it.common.manner),
        FtamCommand::Stat(it) => work::stat(&call_of(&it.url, &it.common)?, &it.url, it.json, it.common.manner),
        FtamCommand::Mv(it) => work::rename(&call_of(&it.url, &it.common)?, &it.url, &it.to, it.common.manner),
        FtamCommand::Rm(it) => {
            let remove = |name| Operation::Remove { name };
            let operations = work::names(&it.url, &it.more, remove)?;
            work::plain(&call_of(&it.url, &it.common)?, operations, it.common.manner)
        }
        FtamCommand::Mkdir(it) => {
            let make = |name| Operation::MakeDirectory { name };
            let operations = work::names(&it.url, &it.more, make)?;
            work::plain(&call_of(&it.url, &it.common)?, operations, it.common.manner)
        }
        FtamCommand::Collect(it) => {
            let call = resumed(&it.url, (&it.common, &it.breaks), true)?;
            let contents_type = it.form.map(ContentsKind::contents_type);
            let manner = it.common.manner;
            collect::run(&call, &it.url, &it.options, contents_type, manner)
        }
    }
}
