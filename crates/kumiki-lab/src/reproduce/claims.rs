//! Sentences of the papers, judged by our values.

use super::verdicts::Verdict;
use super::{Failed, PointResult, Results};
use crate::rows::{Parameter, Row, ValueName};
use crate::scenario::{Claim, Point};
use crate::stats::Summary;

/// Where something is, and how much it is.
type Number = (String, f64);

impl Results {
    /// What became of the sentences of the scenario.
    pub(super) fn claims(&self, all: &[Self]) -> Vec<Verdict> {
        let first = self.points.first();
        let claims = first.iter().flat_map(|(point, _)| &point.scenario.claim);
        claims.map(|claim| self.claim(claim, all)).collect()
    }

    fn claim(&self, claim: &Claim, all: &[Self]) -> Verdict {
        let first = self.points.first();
        let unit = match (is_ratio(claim), claim) {
            (_, Claim { spread: true, .. }) => "%",
            (true, _) => "",
            (_, Claim { task: Some(_), .. }) => "ms",
            (_, Claim { of_limit: true, .. } | Claim { interval: true, .. } | Claim { cpu: Some(_), .. }) => "%",
            (_, Claim { value: Some(name), .. }) => ValueName::new(name).unwrap_or_default().unit(),
            _ => first.map_or("", |(point, _)| point.scenario.report.shown().unit()),
        };
        let verdict = Verdict {
            least: claim.least,
            most: claim.most,
            fitted: claim.fitted,
            ours_reading: claim.reading.is_some(),
            number: self.number(claim),
            ..self.verdict(&claim.words, &claim.from, unit)
        };
        let at = || self.points.iter().filter(|(point, _)| point.is_at(&claim.of));
        let own: Vec<(&Point, Option<f64>)> = at()
            .map(|(point, result)| (point, result.as_ref().ok().and_then(|done| value(claim, point, done))))
            .collect();
        let lacks = |point: &&(Point, Result<PointResult, Failed>)| {
            point.1.as_ref().is_ok_and(|done| value(claim, &point.0, done).is_none())
        };
        let mut lacking =
            self.lacking(&at().filter(lacks).map(|(point, _)| point).collect::<Vec<_>>(), Some(own.len()));
        let is_complete =
            !own.is_empty() && own.iter().all(|(_, value)| value.is_some()) && self.left_out(&claim.of) == 0;
        let own: Vec<(&Point, f64)> = own.into_iter().filter_map(|(point, value)| Some((point, value?))).collect();
        let (numbers, is_complete) = if claim.spread {
            (self.spread(&own).into_iter().collect(), is_complete)
        } else if let Some(along) = &claim.along {
            (self.steps(&own, along), is_complete)
        } else if !claim.best.is_empty() {
            (self.bests(&own, claim), is_complete)
        } else if is_ratio(claim) {
            let others = claim.other.as_ref().map_or(Some(self), |name| all.iter().find(|it| it.name == *name));
            let numbers = others.map_or_else(Vec::new, |others| self.ratios(&own, claim, others));
            let is_complete = is_complete && numbers.len() == own.len();
            let missing = others.and_then(|others| others.lacking_partner(&own, claim)).filter(|_| lacking.is_empty());
            lacking.extend(missing);
            (numbers, is_complete)
        } else {
            (own.iter().map(|(point, value)| (self.at(point), *value)).collect(), is_complete)
        };
        let is_none = |(_, number): &&Number| !number.is_finite();
        if let Some((at, _)) = numbers.iter().find(is_none).filter(|_| lacking.is_empty()) {
            lacking = format!("a part of 0 is no number, and it would be one at {at}");
        }
        Verdict { lacking, ..verdict.judged(&numbers, is_complete) }
    }

    /// That `points`, of so many where that is known, were run and have no such value; nothing of none.
    fn lacking(&self, points: &[&Point], all: Option<usize>) -> String {
        const NAMED: usize = 3;
        match (points.len(), all) {
            (0, _) => String::new(),
            (count, Some(all)) if count == all => "no run has such a value".to_owned(),
            (count, Some(all)) if count > NAMED => format!("no run has such a value at {count} of {all} points"),
            (count, None) if count > NAMED => format!("no run has such a value at {count} points"),
            (_, _) => {
                let places: Vec<String> = points.iter().map(|point| self.at(point)).collect();
                format!("no run has such a value at {}", places.join("; "))
            }
        }
    }

    /// Each of `own` as a part of its partner among `others`.
    fn ratios(&self, own: &[(&Point, f64)], claim: &Claim, others: &Self) -> Vec<Number> {
        let partner = |point: &Point| {
            let (other, result) = others.partner(point, claim)?;
            value(claim, other, result.as_ref().ok()?)
        };
        own.iter().filter_map(|(point, value)| Some((self.at(point), value / partner(point)?))).collect()
    }

    /// The one here that `point` is compared with; nothing where it was not to be run.
    fn partner(&self, point: &Point, claim: &Claim) -> Option<&(Point, Result<PointResult, Failed>)> {
        let mut wanted: toml::Table = point.varied.iter().cloned().collect();
        wanted.extend(claim.against.clone());
        self.points.iter().find(|(other, _)| other.is_at(&wanted))
    }

    /// Of the points here that `own` are compared with, that some have no result, or no such value; nothing where all
    /// have.
    fn lacking_partner(&self, own: &[(&Point, f64)], claim: &Claim) -> Option<String> {
        let mut partners: Vec<&(Point, Result<PointResult, Failed>)> = Vec::new();
        for partner in own.iter().filter_map(|(point, _)| self.partner(point, claim)) {
            if !partners.iter().any(|(known, _)| known.index == partner.0.index) {
                partners.push(partner);
            }
        }
        if let Some((point, _)) = partners.iter().find(|(_, result)| result.is_err()) {
            return Some(format!("there is no result at {}, which it is compared with", self.at(point)));
        }
        let lacks = |(point, result): &&&(Point, Result<PointResult, Failed>)| {
            result.as_ref().is_ok_and(|done| value(claim, point, done).is_none())
        };
        let lacking: Vec<&Point> = partners.iter().filter(lacks).map(|(point, _)| point).collect();
        // Whoever reads this does not know how many points these are.
        let said = self.lacking(&lacking, None);
        (!said.is_empty()).then_some(said)
    }

    /// What the number of a claim is, in words.
    fn number(&self, claim: &Claim) -> String {
        let value = match claim {
            Claim { of_limit: true, .. } => "goodput as a part of what the line allows".to_owned(),
            Claim { interval: true, .. } => "half of the interval as a part of the mean".to_owned(),
            Claim { cpu: Some(host), .. } => format!("how busy the CPUs of {host} are"),
            Claim { task: Some(task), .. } => format!("time of {}", task.replace('.', "'s ")),
            Claim { value: Some(name), .. } => ValueName::new(name).unwrap_or_default().label(),
            _ => self.shown().label(),
        };
        let of = |name: &Option<String>| name.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
        match claim {
            Claim { spread: true, .. } => format!("how far the least {value} is below the greatest"),
            Claim { along: Some(along), .. } => {
                format!("{value} as a part of that at the {} before", along.replace('_', " "))
            }
            Claim { best, .. } if !best.is_empty() => {
                format!("{value} at {} as a part of the greatest of the others", self.named(best))
            }
            Claim { against, other, .. } if !against.is_empty() => {
                format!("{value} as a part of that{} at {}", of(other), self.named(against))
            }
            Claim { other: other @ Some(_), .. } => format!("{value} as a part of that{} at the same point", of(other)),
            _ => value,
        }
    }

    /// By how much the least is below the greatest, in per cent of that.
    fn spread(&self, own: &[(&Point, f64)]) -> Option<Number> {
        let (point, least) = own.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (_, most) = own.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((self.at(point), (most - least) / most * 100.0))
    }

    /// Each as a part of the one before it along a name.
    fn steps(&self, own: &[(&Point, f64)], along: &str) -> Vec<Number> {
        let mut numbers = Vec::new();
        for (place, (point, value)) in own.iter().enumerate() {
            let same = |it: &&(&Point, f64)| others(it.0, &[along]) == others(point, &[along]);
            if let Some((_, before)) = own.iter().take(place).rev().find(same) {
                numbers.push((self.at(point), value / before));
            }
        }
        numbers
    }

    /// That at `best` as a part of the greatest of those that differ in nothing else.
    fn bests(&self, own: &[(&Point, f64)], claim: &Claim) -> Vec<Number> {
        let names: Vec<&str> = claim.best.keys().map(String::as_str).collect();
        let best = own.iter().filter(|(point, _)| point.is_at(&claim.best));
        let number = |(point, value): &(&Point, f64)| {
            let same = own.iter().filter(|(other, _)| others(other, &names) == others(point, &names));
            let greatest = same.filter(|(other, _)| !other.is_at(&claim.best)).map(|(_, value)| *value);
            Some((self.at(point), value / greatest.reduce(f64::max)?))
        };
        best.filter_map(number).collect()
    }
}

fn is_ratio(claim: &Claim) -> bool {
    !claim.against.is_empty() || claim.other.is_some() || claim.along.is_some() || !claim.best.is_empty()
}

/// The value of a point, of those of its runs that have it, as a table shows it; nothing where none has.
fn value(claim: &Claim, point: &Point, done: &PointResult) -> Option<f64> {
    let own = |row: &&Row| row.flow.is_none() && row.load == point.scenario.report.load;
    if claim.of_limit {
        let parts = done.rows.iter().filter(own).map(|row| Some(row.goodput_mbps / row.limit_mbps? * 100.0));
        return crate::stats::mean(&parts.collect::<Option<Vec<f64>>>()?);
    }
    if claim.interval {
        return interval(done.summary.as_ref()?);
    }
    if let Some(name) = claim.value.as_deref().and_then(ValueName::new) {
        let values: Vec<f64> = done.rows.iter().filter(own).filter_map(|row| row.value(&name)).collect();
        return crate::stats::mean(&values);
    }
    if let Some(host) = &claim.cpu {
        let row = done.rows.iter().find(|row| !row.counters.is_empty())?;
        let of_host = |name: &String| name.split_once('.').is_some_and(|(it, _)| it == host);
        // A CPU changes between tasks; what else is busy does not.
        let cpus = row.counters.iter().filter(|(name, counts)| of_host(name) && counts.contains_key("switches"));
        let busy: Vec<f64> = cpus.filter_map(|(_, counts)| number(*counts.get("busy_us")?)).collect();
        return Some(crate::stats::mean(&busy)? / (row.measured_s * 1e6) * 100.0);
    }
    if let Some(task) = &claim.task {
        let (side, task) = task.split_once('.')?;
        let is = |row: &Row, name: &str, wanted: &str| matches!(row.parameter(name), Some(Parameter::Text(text)) if text == wanted);
        let row = done.rows.iter().find(|row| is(row, "side", side) && is(row, "task", task))?;
        return match row.parameter("cpu_ms")? {
            Parameter::Number(ms) => Some(*ms),
            Parameter::Count(ms) => number(*ms),
            Parameter::Switch(_) | Parameter::Text(_) => None,
        };
    }
    Some(done.summary?.mean)
}

/// Half of the interval in per cent of the mean. One run alone has none; where several are alike it has no width.
fn interval(summary: &Summary) -> Option<f64> {
    let width = summary.half_width.or_else(|| (summary.n > 1).then_some(0.0))?;
    (summary.mean > 0.0).then(|| width / summary.mean * 100.0)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::unnecessary_wraps,
    reason = "a part of a percent is more than is asked for"
)]
const fn number(count: u64) -> Option<f64> {
    Some(count as f64)
}

/// What a point has of everything but `names`.
fn others<'a>(point: &'a Point, names: &[&str]) -> Vec<&'a (String, toml::Value)> {
    point.varied.iter().filter(|(name, _)| !names.contains(&name.as_str())).collect()
}
