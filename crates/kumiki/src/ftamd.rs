//! `kumiki ftamd`: from the command line to `serve`.

use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use kumiki_filetransfer::files::hash;
use kumiki_filetransfer::osi::ServedProtocol;
use kumiki_live::{Duration, private};

use crate::commands::{Stop, print, unwritable};
use crate::files::daemon::{self, serve};
use crate::files::password;
use crate::ftam::element;
use crate::live::option;

/// Rounds of PBKDF2-HMAC-SHA256 for new entries, as OWASP has recommended since 2023.
const ROUNDS: u32 = 600_000;

/// `kumiki ftamd`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Exit status: 0 it ended as asked, 1 it ran and failed, 2 the command line or an input file is wrong."
)]
pub(crate) struct FtamdArgs {
    #[command(subcommand)]
    what: Option<FtamdCommand>,
    #[command(flatten)]
    serve: Served,
}

#[derive(Subcommand, Debug)]
enum FtamdCommand {
    /// Print a line for a file of passwords, or put it there; the password comes from the terminal or from standard
    /// input
    Password {
        /// The user
        user: String,
        /// Put the line into this file, which nobody else can read then, in the place of the user's if there is one
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Rounds of PBKDF2
        #[arg(long, value_name = "N", default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
        rounds: u32,
    },
}

#[derive(Args, Debug)]
struct Served {
    #[command(flatten)]
    serve: daemon::Serve,
    /// The octets of one data element that is sent, where a file may be cut anywhere
    #[arg(long, value_name = "SIZE", default_value = "8000B", help_heading = "How callers reach it")]
    element: String,
    /// A transfer that broke is kept for so long, with its locks, so that its user can go on with it (F-RECOVER); 0: it
    /// is given up at once
    #[arg(long, value_name = "TIME", default_value = "10min", help_heading = "Limits")]
    keep: String,
    /// The most entries of a directory that is listed; one that has more is refused, for a part would be taken for all.
    /// kumiki ftam takes 100000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        help_heading = "Limits"
    )]
    entries: u32,
    /// Lines of texts whose control characters end them (FTAM-1 of GeneralString and the like, which kumiki ftam has as
    /// text) end with LF in the files here, and with CR LF where they are transferred. Sizes, quotas and limits are
    /// those of the files here
    #[arg(long, help_heading = "How callers reach it")]
    text: bool,
}

/// `kumiki ftamd`.
pub(crate) fn run(args: &FtamdArgs) -> Result<(), Stop> {
    match &args.what {
        Some(FtamdCommand::Password { user, file, rounds }) => entry(user, file.as_deref(), *rounds),
        None => {
            let element = element(&args.serve.element)?;
            let keep = match args.serve.keep.as_str() {
                "0" => Duration::ZERO,
                text => option("--keep", text)?,
            };
            let entries = usize::try_from(args.serve.entries).unwrap_or(usize::MAX);
            let serves = ServedProtocol::Ftam { element, entries, local_newlines: args.serve.text };
            serve(&args.serve.serve, serves, keep)
        }
    }
}

fn entry(user: &str, file: Option<&Path>, rounds: u32) -> Result<(), Stop> {
    if user.is_empty() || user.starts_with('#') || user.contains(['\n', '\r']) {
        return Err(Stop::Input(format!("{user:?} is no name of a user")));
    }
    let password = password::new(user)?;
    let mut salt = Vec::new();
    for _ in 0..2 {
        let random = kumiki_live::unguessable();
        let random = random.map_err(|why| Stop::Failed(format!("no random number: {why}")))?;
        salt.extend(random.to_be_bytes());
    }
    let line = hash(user, password.as_bytes(), &salt, rounds);
    match file {
        None => print(&format!("{line}\n")),
        Some(path) => put(path, user, &line).map_err(|why| unwritable("--file", path, &why)),
    }
}

/// Gives `file` to whom the one at `path` belongs, if there is one.
fn belong(path: &Path, file: &std::fs::File) -> std::io::Result<()> {
    let old = match std::fs::metadata(path) {
        Ok(old) => old,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(why),
    };
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid())).map_err(|why| {
        std::io::Error::new(why.kind(), format!("it is another user's, to whom the new one cannot be given: {why}"))
    })
}

/// Puts the line of a user into a file, whole or not at all: a responder that reads it meanwhile has the old one. A
/// link stays, and the file that it leads to is replaced.
fn put(path: &Path, user: &str, line: &str) -> std::io::Result<()> {
    let there = match path.canonicalize() {
        Ok(there) => there,
        // Where a link leads to nothing, nothing could take its place.
        Err(why) if why.kind() == ErrorKind::NotFound && !path.is_symlink() => path.to_owned(),
        Err(why) => return Err(why),
    };
    let path = there.as_path();
    let old = match private::read(path) {
        Ok(old) => old,
        Err(why) if why.kind() == ErrorKind::NotFound => String::new(),
        Err(why) => return Err(why),
    };
    let begins = format!("{user}:");
    // Names may have colons, so the rest of the line has to be that of an entry.
    let is_users = |it: &&str| {
        let rest = it.strip_prefix(begins.as_str());
        rest.is_some_and(|rest| rest.matches(':').count() == 3)
    };
    let others = old.lines().filter(|it| !is_users(it));
    let text: String = others.chain([line]).flat_map(|it| [it, "\n"]).collect();
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let mut file = private::create(&new)?;
    // A service that has become another user reads it again, also when root has changed it.
    let done = belong(path, &file).and_then(|()| file.write_all(text.as_bytes())).and_then(|()| file.sync_all());
    if let Err(why) = done {
        // What stays of it has nobody's password but the new one, and is its owner's alone.
        let _ = std::fs::remove_file(&new);
        return Err(why);
    }
    std::fs::rename(&new, path)
}
