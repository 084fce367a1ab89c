//! `kumiki compare`: results side by side.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kumiki_lab::compare::{Allowance, Comparison, Options};
use kumiki_lab::figure::Figure;
use kumiki_lab::rows::Scope;
use kumiki_lab::scenario::ConfigError;
use kumiki_lab::sources::{Condition, Source};
use kumiki_lab::stats::Level;
use kumiki_lab::table::{Layout, Lines};

use super::experiments::layout;
use super::{Stop, picture, print, print_words};

/// What both `compare` and `plot` choose of their sources.
#[derive(Args, Debug)]
pub(crate) struct SourceChoice {
    /// Directories that run, reproduce or merge have left, and CSV files of one's own measurements; NAME=PATH to call
    /// one otherwise
    #[arg(value_name = "DIR|CSV", required = true)]
    pub(crate) sources: Vec<String>,
    /// What a column of CSV files is: a name of rows, and its head there, perhaps with its unit, as in
    /// goodput_mbps="TCP download (Mbit/s)"; may be given several times
    #[arg(long, value_name = "NAME=HEAD", value_parser = column)]
    pub(crate) column: Vec<(String, String)>,
    /// Only records with this value, such as nagle=false or window="64 KiB"; may be given several times
    #[arg(long = "where", value_name = "NAME=VALUE")]
    pub(crate) conditions: Vec<Condition>,
    /// Varied names whose values count as runs of one point, such as a seed that is varied, between commas; may be
    /// given several times
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = name)]
    pub(crate) over: Vec<String>,
    /// Which rows: of all loads of a run together, of each load, or of each flow
    #[arg(long, value_enum, default_value_t = Rows::Total)]
    pub(crate) scope: Rows,
    /// Of intervals: 95% or 99%
    #[arg(long, value_name = "SHARE", default_value = "99%", value_parser = level)]
    pub(crate) confidence: Level,
}

/// Which rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Rows {
    /// Of all loads of a run together
    Total,
    /// Of each load
    Load,
    /// Of each flow
    Flow,
}

impl From<Rows> for Scope {
    fn from(rows: Rows) -> Self {
        match rows {
            Rows::Total => Self::Total,
            Rows::Load => Self::Load,
            Rows::Flow => Self::Flow,
        }
    }
}

/// One of several names between commas.
pub(super) fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() {
        Err("a name is missing: expected names with commas between".to_owned())
    } else {
        Ok(name.to_owned())
    }
}

pub(super) fn column(text: &str) -> Result<(String, String), String> {
    let (name, head) = text.split_once('=').ok_or("expected NAME=HEAD, such as goodput_mbps=bits_per_second")?;
    Ok((name.trim().to_owned(), head.trim().to_owned()))
}

pub(super) fn level(text: &str) -> Result<Level, String> {
    match text.replace(' ', "").as_str() {
        "95%" | "95" | "0.95" => Ok(Level::P95),
        "99%" | "99" | "0.99" => Ok(Level::P99),
        _ => Err("expected 95 % or 99 %".to_owned()),
    }
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 compared, 1 a difference is larger than --fail-over allows, or no two results have a point in common, 2 something cannot be read."
)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) chosen: SourceChoice,
    /// The value that is compared: goodput_mbps, jain, completion_ms.p99, queues.LINE.END.mean and so on, as
    /// `[report] value` of a scenario
    #[arg(long, value_name = "NAME", default_value = "goodput_mbps")]
    pub(crate) value: String,
    /// With which of them the others are compared, by its name; the first unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Exit with 1 where a difference is larger, and not within its interval: 3%, or -3% where only less is too much,
    /// +3% where only more is
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) fail_over: Option<Allowance>,
    /// Only points at which something differs
    #[arg(long)]
    pub(crate) changed: bool,
    /// The horizontal axis of the figure: a varied name; unless given the first that has several numbers
    #[arg(long, value_name = "NAME")]
    pub(crate) x: Option<String>,
    /// Also draw a figure, as SVG
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print a line of JSON for each difference instead of a table
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print the table as Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
}

pub(super) fn run(args: &CompareArgs) -> Result<(), Stop> {
    args.out.as_deref().map_or(Ok(()), picture::check)?;
    let sources = Source::open_all(&args.chosen.sources, &args.chosen.column)?;
    let options = Options {
        value: args.value.clone(),
        scope: args.chosen.scope.into(),
        level: args.chosen.confidence,
        baseline: args.baseline.clone(),
        over: args.chosen.over.clone(),
        conditions: args.chosen.conditions.clone(),
        x: args.x.clone(),
        changed: args.changed,
    };
    let comparison = Comparison::new(sources, &options)?;
    if let Some(path) = &args.out {
        let figures = comparison.figures();
        if figures.is_empty() {
            let fault = ConfigError::new(
                "no figure: no point has the value in two results, or there are too many and none has a number to go by",
            );
            return Err(fault.expected("--x with the name of what is varied").into());
        }
        picture::write(path, &Figure::stacked(&figures))?;
    }
    if args.json {
        print(&comparison.to_jsonl())?;
    } else {
        let layout = if args.markdown { Layout { lines: Lines::Markdown, ..layout() } } else { layout() };
        print_words(&comparison.table().draw(layout))?;
    }
    if comparison.is_empty() {
        let hint = comparison.hint().map_or_else(String::new, |name| {
            format!("; they differ in {name}, and --over {name} compares them all the same")
        });
        return Err(Stop::Failed(format!("{}, so nothing was compared{hint}", comparison.why_empty())));
    }
    let exceeding = args.fail_over.map(|allowed| comparison.exceeding(&allowed)).unwrap_or_default();
    if exceeding.is_empty() {
        return Ok(());
    }
    let told: Vec<String> =
        exceeding.iter().map(|(point, name, it)| format!("\n  {name}, {point}: {}", it.told())).collect();
    let count = if told.len() == 1 { "1 difference is".to_owned() } else { format!("{} differences are", told.len()) };
    Err(Stop::Failed(format!("{count} more than --fail-over allows:{}", told.concat())))
}
