//! `kumiki plot`: several results and one's own measurements in one figure.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kumiki_lab::figure::{Figure, Ink};
use kumiki_lab::plot::{self, Options};
use kumiki_lab::sources::Source;

use super::compare::{SourceChoice, name};
use super::{Stop, lines_shown, picture, print};

#[derive(Args, Debug)]
pub(crate) struct PlotArgs {
    #[command(flatten)]
    pub(crate) chosen: SourceChoice,
    /// The horizontal axis: what is varied, a value of the rows, or a column; unless given what is varied first and has
    /// several numbers
    #[arg(long, value_name = "NAME")]
    pub(crate) x: Option<String>,
    /// The vertical axis: a value of the rows, or a column
    #[arg(long, value_name = "NAME", default_value = "goodput_mbps")]
    pub(crate) y: String,
    /// What makes a curve each, between commas; what else is varied and differs does so too
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = name)]
    pub(crate) series: Vec<String>,
    /// An axis along which equal steps are equal factors; both between a comma
    #[arg(long, value_name = "AXIS", value_delimiter = ',', value_enum)]
    pub(crate) log: Vec<AxisName>,
    /// Above the figure
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// The colour of words and axes: grey, which can be read on light and dark ground, black or white
    #[arg(long, value_name = "COLOUR", default_value = "grey")]
    pub(crate) ink: Ink,
    /// The file, as SVG; without it the figure is printed
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// An axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum AxisName {
    /// Across
    X,
    /// Upwards
    Y,
}

pub(super) fn run(args: &PlotArgs) -> Result<(), Stop> {
    args.out.as_deref().map_or(Ok(()), picture::check)?;
    let sources = Source::open_all(&args.chosen.sources, &args.chosen.column)?;
    let options = Options {
        x: args.x.clone(),
        y: args.y.clone(),
        series: args.series.clone(),
        over: args.chosen.over.clone(),
        scope: args.chosen.scope.into(),
        conditions: args.chosen.conditions.clone(),
        log_x: args.log.contains(&AxisName::X),
        log_y: args.log.contains(&AxisName::Y),
        level: args.chosen.confidence,
        title: args.title.clone(),
    };
    let (figure, left_out) = plot::figure(&sources, &options)?;
    for note in left_out {
        tell!("kumiki: {}", lines_shown(&note));
    }
    if let Some(left_out) = plot::without_place(&figure.series, options.log_x, options.log_y) {
        tell!("kumiki: {}", lines_shown(&left_out));
    }
    let svg = Figure { ink: args.ink, ..figure }.to_svg();
    match &args.out {
        Some(path) => picture::write(path, &svg),
        None => print(&svg),
    }
}
