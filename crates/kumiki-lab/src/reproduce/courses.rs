//! Values over time on the page: what `interval` has kept in `series.csv`, of the first run of the first few points.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::Results;
use super::done::{Failed, PointResult};
use crate::capture::thinned;
use crate::experiment::Samples;
use crate::figure::{Figure, Shape};
use crate::laboratory::SERIES;
use crate::page::PointSeries;
use crate::rows::Output;
use crate::scenario::{Happening, Point};
use crate::table::{Cell, Table};
use kumiki_config::quantity::in_seconds;

/// So many points of a scenario are shown.
const POINTS: usize = 4;
/// A curve has twice as many points at most: its lowest and highest values at each place.
const COLUMNS: usize = 150;
/// So many rows a table has at most.
const ROWS: usize = 20;
/// So many times at which something happens are told in words.
const TIMES: usize = 20;
/// A file that is longer, in octets, is not read for the page.
const LONGEST: u64 = 64 << 20;

impl Results {
    /// The values over time that are in the directory of `output`. A file that cannot be read is no reason to be
    /// without the page.
    pub(super) fn courses(&self, output: &Output) -> Vec<PointSeries> {
        let kept = self.points.iter().filter_map(|(point, result)| {
            let file = format!("{:03}-{SERIES}", point.index);
            let is_own = |name: &&String| Path::new(name).file_name().is_some_and(|it| *it == *file);
            let (Ok(PointResult { captures, .. }) | Err(Failed { captures, .. })) = result;
            let name = captures.iter().find(is_own)?;
            let runs = captures.iter().filter(|name| name.ends_with(SERIES)).count();
            Some((point, runs, output.path(name)))
        });
        let kept: Vec<_> = kept.collect();
        let all = kept.len();
        let read = |(point, runs, path): (&Point, usize, PathBuf)| {
            let mut course = course(point, &read(&path).ok()?);
            if runs > 1 {
                let seed = point.scenario.run.seed;
                let note = format!(
                    "Of the first of {runs} runs, with the seed {seed}; captures/{} has the others.",
                    self.name
                );
                course.notes.insert(0, note);
            }
            Some(course)
        };
        let mut courses: Vec<PointSeries> = kept.into_iter().take(POINTS).filter_map(read).collect();
        if let Some(last) = courses.last_mut().filter(|_| all > POINTS) {
            last.notes
                .push(format!("The first {POINTS} of {all} points are shown; captures/{} has all of them.", self.name));
        }
        courses
    }
}

fn read(path: &Path) -> io::Result<Samples> {
    if fs::metadata(path)?.len() > LONGEST {
        return Err(io::Error::other("longer than is read for a page"));
    }
    Samples::of_csv(&fs::read_to_string(path)?).map_err(io::Error::other)
}

fn course(point: &Point, samples: &Samples) -> PointSeries {
    // What would be later than the last interval does not happen.
    let end = samples.0.iter().map(|it| it.time_s).fold(0.0, f64::max);
    let happens: Vec<_> = point.scenario.happenings().into_iter().filter(|it| it.at.as_secs_f64() < end).collect();
    let mut notes: Vec<String> =
        happens.iter().take(TIMES).map(|it| format!("At {}: {it}.", in_seconds(it.at))).collect();
    if happens.len() > TIMES {
        notes.push(format!("And so on: {} changes in all.", happens.len()));
    }
    let figures = samples.figures("", &happens).into_iter().map(|mut figure| {
        let table = table(&figure, &happens);
        for series in &mut figure.series {
            series.points = thinned(std::mem::take(&mut series.points), COLUMNS);
        }
        (figure, table)
    });
    PointSeries { place: point.label(), notes, figures: figures.collect() }
}

/// The values of the curves, each row the mean of as many intervals as leave a table that can be read.
fn table(figure: &Figure, happens: &[Happening]) -> Table {
    let curves: Vec<_> = figure.series.iter().filter(|series| series.shape != Shape::Mark).collect();
    let times = curves.iter().flat_map(|series| &series.points).map(|point| point.x.to_bits());
    // Times are not below zero, so their bits are in their order.
    let times: Vec<f64> = times.collect::<BTreeSet<u64>>().into_iter().map(f64::from_bits).collect();
    let of_each = times.len().div_ceil(ROWS).max(1);
    let mut rows = Vec::new();
    let mut before = f64::NEG_INFINITY;
    for chunk in times.chunks(of_each) {
        let Some(until) = chunk.last().copied() else {
            continue;
        };
        let is_in = |at: f64| at > before && at <= until;
        let mean = |series: &&crate::figure::Series| {
            let values: Vec<f64> = series.points.iter().filter(|point| is_in(point.x)).map(|point| point.y).collect();
            crate::stats::mean(&values).map_or_else(Cell::empty, |mean| Cell::number(mean, 2))
        };
        let mut cells: Vec<Cell> = curves.iter().map(mean).collect();
        // What happens at the end of an interval is seen in the next one.
        let is_seen = |at: f64| at >= before && at < until;
        let said: Vec<String> =
            happens.iter().filter(|it| is_seen(it.at.as_secs_f64())).map(ToString::to_string).collect();
        if !happens.is_empty() {
            cells.push(Cell::text(said.join("; ")));
        }
        rows.push((format!("{}", (until * 1e6).round() / 1e6), cells));
        before = until;
    }
    let mut columns: Vec<String> = curves.iter().map(|series| series.label.clone()).collect();
    columns.extend((!happens.is_empty()).then(|| "what happens".to_owned()));
    let unit = if figure.y.unit.is_empty() { String::new() } else { format!(" ({})", figure.y.unit) };
    let of = if of_each > 1 { format!(", the mean of {of_each} intervals each") } else { String::new() };
    Table {
        title: format!("{}{unit}{of}", figure.title),
        corner: "until (s)".to_owned(),
        columns,
        rows,
        legend: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Choice, Document};

    /// The course of a line's run with these events.
    fn of_line(run: &str, event: &str, samples: &str) -> PointSeries {
        let text = format!(
            r#"
title = "A line"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s" }}
load.bulk = {{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }}
run = {run}
event = {event}
"#
        );
        let points = Document::parse("line", "line.toml", &text).unwrap().points(&Choice::default()).unwrap();
        course(&points[0], &Samples::of_csv(samples).unwrap())
    }

    #[test]
    fn what_would_come_after_the_end_is_no_change_that_is_listed() {
        let event = r#"[{ at = "20500 ms", link = "line", up = false }, { at = "40 s", link = "line", up = true }]"#;
        let samples = "time_s,scope,name,goodput_mbps\n29,load,bulk,9\n30,load,bulk,0\n";
        let course = of_line(r#"{ duration = "30 s", interval = "1 s" }"#, event, samples);
        assert_eq!(course.notes, ["At 20.5 s: link.line down."]);
        assert!(!format!("{:?}", course.figures).contains("link.line up"));
    }

    #[test]
    fn a_change_stands_in_the_row_of_the_time_behind_it() {
        let event = r#"[{ at = "0 s", link = "line", up = true }, { at = "1 s", link = "line", up = false }]"#;
        let samples =
            "time_s,scope,name,flow,from,goodput_mbps\n1,flow,bulk,0,a,9\n2,flow,bulk,0,a,0\n3,flow,bulk,0,a,0\n";
        let course = of_line(r#"{ duration = "3 s", interval = "1 s" }"#, event, samples);
        let (_, table) = &course.figures[0];
        let rows = table.rows.iter().map(|(until, cells)| format!("{until} {:?}", cells.last().unwrap()));
        let rows: Vec<String> = rows.collect();
        assert!(rows[0].contains("up") && rows[1].contains("down") && !rows[2].contains("down"), "{rows:?}");
    }
    #[test]
    fn all_figures_have_one_axis_of_time() {
        let samples = "time_s,scope,name,flow,from,goodput_mbps,cwnd_octets\n0.5,flow,bulk,0,a,0,\n1,flow,bulk,0,a,9,4000\n2,flow,bulk,0,a,9,8000\n";
        let course = of_line(r#"{ duration = "2 s", interval = "1 s" }"#, "[]", samples);
        let ranges: Vec<_> = course.figures.iter().map(|(figure, _)| figure.x.range).collect();
        assert_eq!(ranges, [Some((0.0, 2.0)); 2]);
    }
}
