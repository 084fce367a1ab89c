//! `kumiki mms`: from the command line to [`kumiki_filetransfer::osi`].

use std::path::PathBuf;

use clap::{Args, Subcommand};
use kumiki_config::quantity::Octets;
use kumiki_filetransfer::osi::{self, Call, Calls, ContentsType, Initiate, MmsSettings, Operation, PutMode};
use kumiki_filetransfer::url::Url;

use crate::commands::Stop;
use crate::files::work::{self, Line, OutputManner};
use crate::files::{collect, password};
use crate::live::option;

/// `kumiki mms`.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 done, 1 something on this machine failed, 2 the command line is wrong, 3 no connection, or it \
                  was lost, 4 the responder refused the association below MMS (selectors, titles, password), 5 MMS did not begin \
                  (PDUs too short), 6 the responder said no, 7 a protocol error or an abort of the responder, 130 given up by \
                  Ctrl-C; collect: 10 nothing is new, 11 some files could not be fetched."
)]
pub(crate) struct MmsArgs {
    #[command(subcommand)]
    what: MmsCommand,
}

#[derive(Subcommand, Debug)]
enum MmsCommand {
    /// Fetch a file
    Get(Get),
    /// Send a file: the responder obtains it from us
    Put(Put),
    /// List a directory
    Ls(List),
    /// Show size and date of a file
    Stat(List),
    /// Give a file another name
    Mv(Move),
    /// Delete files
    Rm(DeleteArguments),
    /// Fetch what is new in a directory or in a list of names
    Collect(Collect),
}

/// Who, and how.
#[derive(Args, Debug)]
struct Common {
    /// The password for association control is the first line of this file; else it is that of KUMIKI_MMS_PASSWORD;
    /// else there is none
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    line: Line,
    /// The longest PDU that is proposed; a file comes in pieces of it
    #[arg(long, value_name = "SIZE", default_value = "65000B")]
    pdu: String,
    #[command(flatten)]
    manner: OutputManner,
}

/// How files are fetched.
#[derive(Args, Debug)]
struct Pieces {
    /// The most pieces of a file that are asked for at a time; more than one makes use of a long line, with responders
    /// that answer in order
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    window: u32,
}

#[derive(Args, Debug)]
struct Get {
    #[arg(
        value_name = "URL",
        value_parser = Url::of_mms,
        help = "The file: mms://host[:port]/FILE?tsel=..."
    )]
    url: Url,
    /// Where it goes: a file, a directory, or - for standard output; its own name in this directory unless given
    #[arg(value_name = "TARGET")]
    target: Option<PathBuf>,
    /// Keep what has come where it breaks (TARGET.part), and go on from there the next time if size and date are the
    /// same
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    pieces: Pieces,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct Put {
    /// The file on this machine; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where it goes; with / at the end the file's own name is put behind it
    #[arg(value_name = "URL", value_parser = Url::of_mms)]
    url: Url,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct List {
    /// The directory or file
    #[arg(value_name = "URL", value_parser = Url::of_mms)]
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
    #[arg(value_name = "URL", value_parser = Url::of_mms)]
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
    #[arg(value_name = "URL", value_parser = Url::of_mms)]
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
    #[arg(value_name = "URL", value_parser = Url::of_mms)]
    url: Url,
    #[command(flatten)]
    options: collect::Options,
    #[command(flatten)]
    pieces: Pieces,
    #[command(flatten)]
    common: Common,
}

/// The variable of the environment that has the password.
const VARIABLE: &str = "KUMIKI_MMS_PASSWORD";

/// What is proposed, with PDUs of `pdu` and so many services at a time.
pub(crate) fn initiate(pdu: &str, outstanding: u32) -> Result<Initiate, Stop> {
    let octets: Octets = option("--pdu", pdu)?;
    let octets = i64::try_from(octets.count()).ok();
    let octets = octets.filter(|octets| (64..=1 << 20).contains(octets));
    let octets = octets.ok_or_else(|| Stop::Input("--pdu: 64 B to 1 MiB is expected".to_owned()))?;
    let usual = osi::initiate();
    Ok(Initiate {
        local_detail: Some(octets),
        max_serv_outstanding_calling: usual.max_serv_outstanding_calling.max(i64::from(outstanding)),
        ..usual
    })
}

/// Whom `url` and the options mean, where nothing is fetched.
fn call_of(url: &Url, common: &Common) -> Result<Call, Stop> {
    fetched(url, common, 1)
}

/// The same where files are, so many pieces at a time.
fn fetched(url: &Url, common: &Common, window: u32) -> Result<Call, Stop> {
    work::call(url, &common.line, || {
        Ok(Calls::Mms {
            password: password::of(VARIABLE, None, common.password_file.as_deref())?,
            settings: MmsSettings { initiate: initiate(&common.pdu, window)?, window, ..MmsSettings::default() },
        })
    })
}

/// `kumiki mms`.
pub(crate) fn run(args: &MmsArgs) -> Result<(), Stop> {
    match &args.what {
        MmsCommand::Get(it) => {
            if it.url.name.is_empty() {
                return Err(Stop::Input("the URL names no file".to_owned()));
            }
            let (call, manner) = (fetched(&it.url, &it.common, it.pieces.window)?, it.common.manner);
            work::get(&call, &it.url, it.target.as_deref(), it.resume, (None, false), manner)
        }
        MmsCommand::Put(it) => {
            let name = work::put_name(&it.file, &it.url)?;
            let (call, manner) = (call_of(&it.url, &it.common)?, it.common.manner);
            let how = (ContentsType::binary(), PutMode::Replace, false);
            work::put(&call, &it.file, &name, how, false, manner)
        }
        MmsCommand::Ls(it) => {
            let (call, manner) = (call_of(&it.url, &it.common)?, it.common.manner);
            work::list(&call, &it.url, it.json, manner)
        }
        MmsCommand::Stat(it) => {
            let (call, manner) = (call_of(&it.url, &it.common)?, it.common.manner);
            work::stat(&call, &it.url, it.json, manner)
        }
        MmsCommand::Mv(it) => {
            let (call, manner) = (call_of(&it.url, &it.common)?, it.common.manner);
            work::rename(&call, &it.url, &it.to, manner)
        }
        MmsCommand::Rm(it) => {
            let operations = work::names(&it.url, &it.more, |name| Operation::Remove { name })?;
            let (call, manner) = (call_of(&it.url, &it.common)?, it.common.manner);
            work::plain(&call, operations, manner)
        }
        MmsCommand::Collect(it) => {
            let (call, manner) = (fetched(&it.url, &it.common, it.pieces.window)?, it.common.manner);
            collect::run(&call, &it.url, &it.options, None, manner)
        }
    }
}
