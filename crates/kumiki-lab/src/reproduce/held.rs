//! What held connections back, as a figure: a stacked bar for each flow, or for each load where there are many.

use std::collections::BTreeMap;

use super::bounds::runs_of;
use super::glance::lossy;
use super::{PointResult, Results};
use crate::figure::{Axis, Figure, Point as Mark, Scale, Series, Shape};
use crate::rows::{Row, Scope};
use crate::scenario::Point;

/// More flows are shown load by load, where nobody has asked for them.
const MOST_FLOWS: usize = 12;
/// More bars are not drawn, where nobody has asked for them.
const MOST_BARS: usize = 24;
/// What is less than that everywhere, in per cent, has no name of its own.
const LEAST: f64 = 0.5;
/// What a bar has of one thing, in per cent, is all of it as far as a reader is concerned.
const MOSTLY: f64 = 95.0;

impl Results {
    /// The shares of the measured time by what held the connections of TCP back, of several runs of a point the means.
    /// `None` where there are none, where `[report]` wants none, or where it does not ask and there are too many.
    #[must_use]
    pub fn held_figure(&self) -> Option<Figure> {
        let (first, _) = self.points.first()?;
        let bars = self.held_bars(first)?;
        let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
        for (what, share) in bars.iter().flat_map(|(_, held)| held) {
            *totals.entry(what).or_default() += share;
        }
        let most = |what: &str| bars.iter().filter_map(|(_, held)| held.get(what)).fold(0.0_f64, |a, b| a.max(*b));
        let mut named: Vec<&str> = totals.keys().copied().filter(|what| most(what) * 100.0 >= LEAST).collect();
        named.sort_by(|a, b| totals.get(b).unwrap_or(&0.0).total_cmp(totals.get(a).unwrap_or(&0.0)));
        let curve = |label: &str, share: &dyn Fn(&Held) -> f64| {
            let points =
                (0_u32..).zip(&bars).map(|(place, (_, held))| Mark::new(f64::from(place), 100.0 * share(held)));
            Series { label: label.to_owned(), shape: Shape::Stack, points: points.collect(), ..Series::default() }
        };
        let mut series: Vec<Series> =
            named.iter().map(|what| curve(what, &|held| held.get(*what).copied().unwrap_or(0.0))).collect();
        if named.len() < totals.len() {
            let other =
                |held: &Held| held.iter().filter(|(it, _)| !named.contains(&it.as_str())).map(|(_, it)| it).sum();
            series.push(curve("other", &other));
        }
        Some(Figure {
            title: format!("What held the connections back: {}", self.title()),
            x: Axis { scale: Scale::Names(bars.iter().map(|(name, _)| name.clone()).collect()), ..Axis::default() },
            y: Axis {
                label: "share of the measured time".to_owned(),
                unit: "%".to_owned(),
                range: Some((0.0, 100.0)),
                ..Axis::default()
            },
            series,
            limits: Vec::new(),
            caption: self.captioned(first, if self.of_runs().is_empty() { "" } else { "The mean of all runs." }),
            ..Figure::default()
        })
    }

    /// The same where it is asked for, or can tell something: nobody needs a figure for one thing nearly all the time,
    /// everywhere, which what bound each point says in a word.
    pub(super) fn held_worth_showing(&self) -> Option<Figure> {
        let is_asked = self.points.first().is_some_and(|(point, _)| point.scenario.report.held.is_some());
        self.held_figure().filter(|figure| is_asked || tells_something(figure))
    }

    /// What the bars are called, and what they show.
    fn held_bars(&self, first: &Point) -> Option<Vec<(String, Held)>> {
        let report = &first.scenario.report;
        let rows = |scope: Scope| -> Vec<(String, Held)> {
            let done = self.points.iter().filter_map(|(point, result)| Some((point, result.as_ref().ok()?)));
            let rows = done.flat_map(|(point, done)| done.rows.iter().map(move |row| (point, done, row)));
            let first_runs = rows.filter(|(.., row)| row.repetition == 0 && row.scope == scope && !row.held.is_empty());
            let of_load = |row: &Row| report.load.is_none() || scope == Scope::Total || row.load == report.load;
            let is_one_of =
                |done: &PointResult, row: &Row| done.rows.iter().any(|it| it.load == row.load && it.flow == Some(1));
            let named =
                |(point, done, row)| (bar(point, row, is_one_of(done, row)), mean_held(&runs_of(&done.rows, row)));
            first_runs.filter(|(.., row)| of_load(row)).map(named).collect()
        };
        let bars = match (report.held.as_deref(), first.scenario.paper) {
            (Some("flow"), _) => rows(Scope::Flow),
            (Some("load"), _) => rows(Scope::Load),
            (Some("total"), _) => rows(Scope::Total),
            (Some(_), _) | (None, Some(_)) => return None,
            (None, None) => {
                let kinds = [(Scope::Flow, MOST_FLOWS), (Scope::Load, MOST_BARS), (Scope::Total, MOST_BARS)];
                kinds
                    .into_iter()
                    .map(|(scope, most)| (rows(scope), most))
                    .find(|(bars, most)| (1..=*most).contains(&bars.len()))?
                    .0
            }
        };
        (!bars.is_empty()).then_some(bars)
    }
}

/// Shares of the time by what held.
type Held = BTreeMap<String, f64>;

/// The means of what `rows`, the same in several runs, say held them; of those that say it.
pub(super) fn mean_held(rows: &[&Row]) -> Held {
    let said: Vec<&Held> = rows.iter().map(|row| &row.held).filter(|held| !held.is_empty()).collect();
    let mut means = Held::new();
    for (what, share) in said.iter().copied().flatten() {
        *means.entry(what.clone()).or_default() += share / lossy(said.len() as u64);
    }
    means
}

/// Whether a bar is of several things, or two bars are of different ones.
fn tells_something(figure: &Figure) -> bool {
    let bars = figure.series.first().map_or(0, |series| series.points.len());
    let greatest = |place: usize| {
        let parts = figure.series.iter().enumerate();
        let parts = parts.filter_map(|(series, it)| Some((series, it.points.get(place)?.y)));
        parts.max_by(|one, other| one.1.total_cmp(&other.1))
    };
    let greatest: Vec<(usize, f64)> = (0..bars).filter_map(greatest).collect();
    let first = greatest.first().map(|(series, _)| *series);
    greatest.iter().any(|(series, share)| Some(*series) != first || *share < MOSTLY)
}

/// "16 KiB, bulk, flow 2": what is varied, the load where there are several, the flow where its load has several.
fn bar(point: &Point, row: &Row, is_one_of: bool) -> String {
    let load = row.load.clone().filter(|_| point.scenario.load.len() > 1);
    let flow = row.flow.filter(|_| is_one_of).map(|flow| format!("flow {flow}"));
    let parts: Vec<String> =
        [Some(point.label()), load, flow].into_iter().flatten().filter(|it| !it.is_empty()).collect();
    if parts.is_empty() { "all".to_owned() } else { parts.join(", ") }
}
