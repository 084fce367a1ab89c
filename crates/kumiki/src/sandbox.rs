//! What a program that strangers can reach gives up: from the command line to [`kumiki_live::sandbox`].

use clap::Args;
use kumiki_live::sandbox::{RunAs, Sandbox, SandboxPart};

use crate::commands::Stop;

/// What is given up before the first caller.
#[derive(Args, Debug)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxOptions {
    /// Become this user, of its groups or of GROUP alone, when all is open and before anybody is let in; only root can
    #[arg(long, value_name = "NAME[:GROUP]")]
    run_as: Option<RunAs>,
    /// Leave parts of the sandbox out: no-new-privs, landlock, seccomp, with commas between; or all
    #[arg(long, value_name = "PART", value_delimiter = ',', value_parser = sandbox)]
    no_sandbox: Vec<OmittedParts>,
}

/// Sandbox that are left out.
#[derive(Clone, Debug)]
struct OmittedParts(Vec<SandboxPart>);

fn sandbox(text: &str) -> Result<OmittedParts, String> {
    let text = text.trim();
    if text == "all" {
        return Ok(OmittedParts(SandboxPart::ALL.to_vec()));
    }
    text.parse().map(|part| OmittedParts(vec![part])).map_err(|why| format!("{why}, or all of them"))
}

impl SandboxOptions {
    /// What was asked for, by its name.
    pub(crate) fn asked(&self) -> Option<&'static str> {
        match (&self.run_as, self.no_sandbox.as_slice()) {
            (Some(_), _) => Some("--run-as"),
            (None, [_, ..]) => Some("--no-sandbox"),
            (None, []) => None,
        }
    }

    /// The sandbox that are wanted.
    pub(crate) fn sandbox(&self) -> Result<Sandbox, Stop> {
        let without = self.no_sandbox.iter().flat_map(|left| left.0.clone());
        Sandbox::new(self.run_as.clone(), without.collect()).map_err(|why| Stop::Input(format!("--no-sandbox: {why}")))
    }
}
