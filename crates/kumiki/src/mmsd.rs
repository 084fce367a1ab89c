//! `kumiki mmsd`: from the command line to `serve`.

use clap::Args;
use kumiki_filetransfer::osi::ServedProtocol;
use kumiki_live::Duration;

use crate::commands::Stop;
use crate::files::daemon::{self, serve};
use crate::mms::initiate;

/// `kumiki mmsd`.
#[derive(Args, Debug)]
#[command(
    after_help = "Callers say no name: with --passwords, one --user says whose password lets them in. `kumiki ftamd password NAME` \
                  prints lines of that file.\n\n\
                  Exit status: 0 it ended as asked, 1 it ran and failed, 2 the command line or an input file is wrong."
)]
pub(crate) struct MmsdArgs {
    #[command(flatten)]
    serve: daemon::Serve,
    /// The longest PDU that is agreed to; a file goes in pieces of it
    #[arg(long, value_name = "SIZE", default_value = "65000B", help_heading = "How callers reach it")]
    pdu: String,
}

/// `kumiki mmsd`.
pub(crate) fn run(args: &MmsdArgs) -> Result<(), Stop> {
    let user = match (args.serve.asks_for_passwords(), args.serve.users()) {
        (true, [user]) => Some(user.as_str().into()),
        (true, _) => {
            return Err(Stop::Input(
                "callers of MMS say no name; expected one --user NAME, whose password lets them in".to_owned(),
            ));
        }
        (false, _) => None,
    };
    let serves = ServedProtocol::Mms {
        // Windows of callers are as long as they like, up to this.
        initiate: initiate(&args.pdu, 64)?,
        user,
    };
    serve(&args.serve, serves, Duration::ZERO)
}
