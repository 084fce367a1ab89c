//! `kumiki fit`: prices of a profile from measurements.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use kumiki_lab::fit::{FreePrice, Options, Task};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::scenario::{Choice, Document};
use kumiki_lab::sources::Source;
use kumiki_lab::stats::Level;

use super::compare::{column, level};
use super::experiments::{jobs, layout};
use super::{Stop, has_place, lines_shown, print, print_words, unwritable};
use crate::cli;

#[derive(Args, Debug)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) scenario: cli::Scenario,
    /// A CSV file with a column for each varied name and one for what was measured
    #[arg(value_name = "CSV")]
    pub(crate) measurements: String,
    /// A price of the profile that may move, perhaps with its range: tcp.send, or tcp.send="100 us..1 ms"; may be given
    /// several times. Without it those that matter do
    #[arg(long, value_name = "NAME[=LEAST..MOST]")]
    pub(crate) free: Vec<FreePrice>,
    /// Whose prices, where hosts of the scenario have several profiles
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// What was measured: a value of the rows; what the scenario reports unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) value: Option<String>,
    /// What a column of the file is: a name of rows, and its head there, perhaps with its unit, as in
    /// goodput_mbps="TCP download (Mbit/s)"; may be given several times
    #[arg(long, value_name = "NAME=HEAD", value_parser = column)]
    pub(crate) column: Vec<(String, String)>,
    /// The column that marks measurements which are not fitted to, but predicted: x, yes, true, on or 1 there; no,
    /// false, off, 0 or nothing does not mark, and other words are refused
    #[arg(long, value_name = "COLUMN", conflicts_with = "hold_every")]
    pub(crate) hold_out: Option<String>,
    /// Do so with every K-th measurement
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) hold_every: Option<u32>,
    /// How many runs, with other seeds, make one value
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Of intervals: 95% or 99%
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = level)]
    pub(crate) confidence: Level,
    /// How many runs are made at once; as many as there are cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// The file for the profile, as TOML; without it the profile is printed below the tables
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

pub(super) fn run(args: &FitArgs) -> Result<(), Stop> {
    let exists = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    if let Some(path) = args.out.as_ref().filter(|path| exists(path) && !args.force) {
        return Err(Stop::Input(format!("--out {}: it is there already; --force replaces it", path.display())));
    }
    args.out.as_deref().map_or(Ok(()), |path| has_place("--out", path))?;
    let document = Document::find(&args.scenario.name)?;
    let choice = Choice { set: args.scenario.set.clone(), quick: false, runs: None };
    let source = Source::open(&args.measurements, &args.column)?;
    if !source.is_measured() {
        return Err(Stop::Input(format!(
            "{}: a directory, where a CSV file of measurements is meant",
            args.measurements
        )));
    }
    let options = Options {
        free: args.free.clone(),
        profile: args.profile.clone(),
        value: args.value.clone(),
        hold_out: args.hold_out.clone(),
        hold_every: args.hold_every.and_then(|every| usize::try_from(every).ok()),
        runs: args.runs,
        jobs: jobs(args.jobs),
        level: args.confidence,
    };
    let task = Task::new(&document, &choice, &source, &options)?;
    let tell = |text: &str| tell!("fit: {}", lines_shown(text));
    let fitted = task.run(&Laboratory::default(), tell).map_err(|why| Stop::Failed(why.to_string()))?;
    let layout = layout();
    print_words(&format!("{}\n{}", fitted.prices().draw(layout), fitted.residuals().draw(layout)))?;
    let profile = fitted.profile()?;
    match &args.out {
        Some(path) => {
            fs::write(path, profile).map_err(|why| unwritable("--out", path, &why))?;
            let name = named(path);
            print_words(&format!("\n{}: a host has these prices by `profile = {name:?}`\n", path.display()))
        }
        None => print(&format!("\n{profile}")),
    }
}

/// The name by which a scenario finds the profile in a file: a bare name would be that of a profile of ours.
fn named(path: &Path) -> String {
    let before = if path.components().nth(1).is_none() { "./" } else { "" };
    format!("{before}{}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_of_a_file_here() {
        for (path, name) in [("x.toml", "./x.toml"), ("/tmp/x.toml", "/tmp/x.toml"), ("./x", "./x"), ("a/x", "a/x")] {
            assert_eq!(named(Path::new(path)), name);
        }
    }
}
