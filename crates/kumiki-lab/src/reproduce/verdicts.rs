//! What the papers say, beside ours: each value and each sentence, and whether it holds.
//!
//! These are no rows: a row is a run, and has what was measured in it. What is said here is of several runs and of a
//! text, and has other fields. So it has a file of its own.

use core::fmt::Write as _;

use serde::Serialize;

use super::Results;
use super::trends::{named, part};
use crate::scenario::label::NOTHING;
use crate::scenario::{Compare, Point, Tolerance};

/// A value that has no `within` of its own agrees within this part of itself.
pub(super) const AGREEMENT: f64 = 0.05;

/// Whether a statement holds here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// Our numbers are as it says.
    Holds,
    /// They are not.
    Misses,
    /// Some of its points were not run, or failed.
    Open,
}

/// What a paper says, with what came out here.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// The paper, 1 to 5, where the scenario belongs to one.
    pub paper: Option<u8>,
    /// The scenario.
    pub scenario: String,
    /// The table or figure.
    pub figure: String,
    /// The paper's words, or of what it gives a value.
    pub statement: String,
    /// What is judged: "goodput as a part of that at rtt 0 ms"; empty where the statement says it.
    pub number: String,
    /// The points, by what is varied and does not go without saying; of several the one that is told.
    pub at: String,
    /// Where the paper says so.
    pub source: String,
    /// The paper's value, where it is one.
    pub value: Option<f64>,
    /// The least number that agrees.
    pub least: Option<f64>,
    /// The greatest number that agrees.
    pub most: Option<f64>,
    /// Ours: of several the one that agrees least.
    pub ours: Option<f64>,
    /// From the paper's value, or from the nearest number that agrees.
    pub difference: Option<f64>,
    /// What the numbers are in: `Mb/s`, `%`, `ms`; nothing for a ratio.
    pub unit: &'static str,
    /// Whether it holds.
    pub verdict: Judgement,
    /// That points were run and have no such value, in words; empty where all have.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lacking: String,
    /// Whether a price was fitted to it, or chosen for it, so that it is no prediction.
    pub fitted: bool,
    /// Whether the number that agrees is our reading of words.
    pub ours_reading: bool,
}

impl Verdict {
    /// Of a number, or several, that are to lie between two others. What is a part of nothing is no number, and so not
    /// there.
    pub(super) fn judged(self, numbers: &[(String, f64)], is_complete: bool) -> Self {
        let outside = |number: f64| {
            let below = self.least.map_or(f64::NEG_INFINITY, |least| least - number);
            let above = self.most.map_or(f64::NEG_INFINITY, |most| number - most);
            below.max(above)
        };
        let finite = || numbers.iter().filter(|(_, number)| number.is_finite());
        let is_complete = is_complete && finite().count() == numbers.len();
        let worst = finite().max_by(|a, b| outside(a.1).total_cmp(&outside(b.1)));
        let Some((at, ours)) = worst else {
            return Self { verdict: Judgement::Open, ..self };
        };
        let distance = outside(*ours).max(0.0);
        let verdict = match (distance > 0.0, is_complete) {
            (true, _) => Judgement::Misses,
            (false, true) => Judgement::Holds,
            (false, false) => Judgement::Open,
        };
        let is_below = self.least.is_some_and(|least| *ours < least);
        let distance = if is_below { -distance } else { distance };
        let difference = Some(self.value.map_or(distance, |value| ours - value));
        Self { at: at.clone(), ours: Some(*ours), difference, verdict, ..self }
    }

    /// What stands in a list of what is missed: where, ours, the paper's.
    #[must_use]
    pub fn line(&self) -> String {
        let place = [self.place(), self.at.clone()];
        let place: Vec<String> = place.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}: {}", place.join(", "), self.told())
    }

    /// Of which paper and figure it is.
    #[must_use]
    pub fn place(&self) -> String {
        let paper = self.paper.map(|paper| format!("paper {paper}"));
        let place = paper.into_iter().chain([self.figure.clone()]);
        place.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The words with ours, and what would be agreement.
    #[must_use]
    pub fn told(&self) -> String {
        let reading = if self.ours_reading { " by our reading" } else { "" };
        let fitted = if self.fitted { ", fitted" } else { "" };
        let so_far = if self.ours.is_some() { "holds so far, and " } else { "" };
        let verdict = match self.verdict {
            Judgement::Holds => "holds".to_owned(),
            Judgement::Misses => "missed".to_owned(),
            Judgement::Open => format!("{so_far}{}", self.why_open()),
        };
        let whose = match (self.value, self.paper) {
            (Some(_), Some(_)) if !self.ours_reading => "paper",
            (Some(_), None) => "expected",
            (Some(_), Some(_)) | (None, _) => "agreement is",
        };
        let number = if self.number.is_empty() { String::new() } else { format!(" ({})", self.number) };
        let (statement, source, here, agreement) = (&self.statement, &self.source, self.here(), self.agreement());
        format!("{statement} ({source}): {here}{number}, {whose} {agreement}{reading}{fitted}; {verdict}")
    }

    /// Why it is open, where it is.
    #[must_use]
    pub fn why_open(&self) -> &str {
        if self.lacking.is_empty() { "not all of its points are there" } else { &self.lacking }
    }

    /// What the paper gives, or what would be agreement, with its unit.
    #[must_use]
    pub fn agreement(&self) -> String {
        let agreement = match (self.value, self.least, self.most) {
            (Some(value), ..) => short(value),
            (None, Some(least), Some(most)) => format!("{} to {}", short(least), short(most)),
            (None, Some(least), None) => format!("at least {}", short(least)),
            (None, None, Some(most)) => format!("at most {}", short(most)),
            (None, None, None) => String::new(),
        };
        self.with_unit(&agreement)
    }

    /// How far from a value is still agreement, with its unit; nothing where there is no value.
    #[must_use]
    pub fn within(&self) -> String {
        let within = self.value.zip(self.most).map(|(value, most)| (most - value).abs());
        within.map_or_else(String::new, |within| self.with_unit(&short(within)))
    }

    /// Whose the number is that would be agreement.
    #[must_use]
    pub const fn whose(&self) -> &'static str {
        match (self.paper, self.ours_reading, self.value) {
            (_, true, _) => "our reading of the words",
            (Some(_), false, Some(_)) => "printed in the paper",
            (Some(_), false, None) => "a bound of the paper",
            (None, false, _) => "expected",
        }
    }

    /// What came out here, with its unit.
    #[must_use]
    pub fn here(&self) -> String {
        let none = if self.lacking.is_empty() { "no points" } else { "no value" };
        self.ours.map_or_else(|| none.to_owned(), |ours| self.with_unit(&short(ours)))
    }

    /// How far that is from agreement, or from the paper's value, with its sign and unit; nothing where there is no
    /// distance.
    #[must_use]
    pub fn distance(&self) -> String {
        let sign = |difference: f64| if difference > 0.0 { "+" } else { "" };
        let difference = self.difference.filter(|difference| *difference != 0.0);
        difference.map_or_else(String::new, |it| self.with_unit(&format!("{}{}", sign(it), short(it))))
    }

    fn with_unit(&self, number: &str) -> String {
        if self.unit.is_empty() { number.to_owned() } else { format!("{number} {}", self.unit) }
    }
}

/// Four digits that mean something.
pub(super) fn short(number: f64) -> String {
    match number.abs() {
        size if size >= 1000.0 => format!("{number:.0}"),
        size if size >= 10.0 || size == 0.0 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

impl Results {
    /// A verdict of this scenario with nothing judged yet.
    pub(super) fn verdict(&self, statement: &str, source: &str, unit: &'static str) -> Verdict {
        let scenario = self.points.first().map(|(point, _)| &point.scenario);
        Verdict {
            paper: scenario.and_then(|it| it.paper),
            scenario: self.name.clone(),
            figure: scenario.map(|it| it.figure.clone()).unwrap_or_default(),
            statement: statement.to_owned(),
            number: String::new(),
            at: String::new(),
            source: source.to_owned(),
            value: None,
            least: None,
            most: None,
            ours: None,
            difference: None,
            unit,
            verdict: Judgement::Open,
            lacking: String::new(),
            fitted: false,
            ours_reading: false,
        }
    }

    /// How many points at `of` `--quick` has left out.
    pub(super) fn left_out(&self, of: &toml::Table) -> usize {
        self.left_out.iter().filter(|point| point.is_at(of)).count()
    }

    /// Everything that the scenario says of a paper: values of points, trends of curves, times of tasks, sentences.
    /// `all` are the results of all scenarios that were run, for sentences that are of two.
    #[must_use]
    pub fn verdicts(&self, all: &[Self]) -> Vec<Verdict> {
        let Some((first, _)) = self.points.first() else {
            return Vec::new();
        };
        let mut verdicts: Vec<Verdict> = Vec::new();
        // Where one of many is looked for, the others are not wrong.
        let compares = first.scenario.compare.iter().filter(|_| !first.scenario.report.candidates);
        verdicts.extend(compares.filter_map(|compare| self.compared(compare)));
        verdicts.extend(first.scenario.trend.iter().filter_map(|trend| Some(self.trend(trend)?.0)));
        verdicts.extend(self.growths().into_iter().map(|(verdict, _)| verdict));
        verdicts.extend(self.claims(all));
        verdicts
    }

    /// A value of the paper; nothing where no point is at it, as with `--quick`.
    fn compared(&self, compare: &Compare) -> Option<Verdict> {
        let (point, result) = self.points.iter().find(|(point, _)| point.compare() == Some(compare))?;
        let value = compare.value;
        let within = compare.within.unwrap_or(Tolerance::Part(AGREEMENT)).of(value);
        let shown = point.scenario.report.shown();
        let numbers: Vec<_> = result.iter().filter_map(|done| Some((self.at(point), done.summary?.mean))).collect();
        let verdict = Verdict {
            at: self.at(point),
            value: Some(value),
            least: Some(value - within),
            most: Some(value + within),
            fitted: compare.fitted,
            ours_reading: compare.reading.is_some(),
            ..self.verdict(&shown.label(), &compare.from, shown.unit())
        };
        Some(verdict.judged(&numbers, true))
    }
}

impl Results {
    /// Where a point is, by what does not go without saying.
    pub(super) fn at(&self, point: &Point) -> String {
        let names = self.telling();
        let is_told = |name: &String, value: &toml::Value| names.contains(&name) && value.as_str() != Some(NOTHING);
        let parts = point.varied.iter().filter(|(name, value)| is_told(name, value));
        let parts: Vec<String> = parts.map(|(name, value)| part(name, value)).collect();
        parts.join(", ")
    }

    /// The same of values that are given for names.
    pub(super) fn named(&self, table: &toml::Table) -> String {
        let names = self.telling();
        let told: toml::Table = table
            .iter()
            .filter(|(name, _)| names.contains(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        named(if told.is_empty() { table } else { &told })
    }

    /// The varied names that tell one point from another: curves and the axis first, then each of the others that does
    /// not follow from those before it.
    fn telling(&self) -> Vec<&String> {
        let Some((first, _)) = self.points.first() else {
            return Vec::new();
        };
        let report = &first.scenario.report;
        let own = |name: &&String| report.series.contains(name) || report.x.as_ref() == Some(name);
        let (own, others): (Vec<&String>, Vec<&String>) = first.varied.iter().map(|(name, _)| name).partition(own);
        let mut telling: Vec<&String> = Vec::new();
        for name in own.into_iter().chain(others) {
            let known: Vec<&str> = telling.iter().map(|it| it.as_str()).collect();
            if !self.follows(name, &known) {
                telling.push(name);
            }
        }
        telling
    }
}

/// Where the numbers of verdicts come from, in a sentence: how many the paper prints and nothing here was fitted to,
/// how many are fitted, and how many are our own reading, each with how many of them hold. Nothing where there are
/// none.
#[must_use]
pub fn origins(verdicts: &[Verdict]) -> Option<String> {
    let verdicts: Vec<&Verdict> = verdicts.iter().filter(|it| it.paper.is_some()).collect();
    let (fitted, others): (Vec<&Verdict>, Vec<&Verdict>) = verdicts.iter().partition(|it| it.fitted);
    let (ours, printed): (Vec<&Verdict>, Vec<&Verdict>) = others.into_iter().partition(|it| it.ours_reading);
    let both = match fitted.iter().filter(|it| it.ours_reading).count() {
        0 => String::new(),
        count => format!("; {count} also by our reading"),
    };
    (!verdicts.is_empty()).then(|| {
        format!(
            "Of {} {} {} of a number that the paper prints and to which nothing here was fitted{}; {} of one to which a price was fitted or for which one was chosen{}, and {} by our own reading of words{}.",
            verdicts.len(),
            if verdicts.len() == 1 { "verdict" } else { "verdicts" },
            counted(&printed),
            outcomes(&printed, ""),
            counted(&fitted),
            outcomes(&fitted, &both),
            counted(&ours),
            outcomes(&ours, ""),
        )
    })
}

/// "none is", "1 is", "7 are".
fn counted(verdicts: &[&Verdict]) -> String {
    match verdicts.len() {
        0 => "none is".to_owned(),
        1 => "1 is".to_owned(),
        count => format!("{count} are"),
    }
}

/// " (2 hold, 1 open)"; nothing of none.
fn outcomes(verdicts: &[&Verdict], more: &str) -> String {
    let count = |judgement: Judgement| verdicts.iter().filter(|it| it.verdict == judgement).count();
    let parts = [(Judgement::Holds, "hold"), (Judgement::Misses, "miss"), (Judgement::Open, "open")];
    let parts = parts.into_iter().map(|(judgement, word)| (count(judgement), word)).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
    if parts.is_empty() { String::new() } else { format!(" ({}{more})", parts.join(", ")) }
}

/// More than that are not named one by one where they hold.
const NAMED: usize = 24;

/// How many statements hold, and which do not.
#[must_use]
pub fn summary(verdicts: &[Verdict]) -> String {
    let of = |outcome: Judgement| verdicts.iter().filter(move |it| it.verdict == outcome);
    let (holds, misses, open) =
        (of(Judgement::Holds).count(), of(Judgement::Misses).count(), of(Judgement::Open).count());
    let fitted = of(Judgement::Holds).filter(|it| it.fitted).count();
    let ours = of(Judgement::Holds).filter(|it| it.ours_reading && !it.fitted).count();
    let mut text = format!(
        "What the papers say: {holds} of {} values and sentences hold ({fitted} of them fitted, {ours} others by our reading of words), {misses} miss",
        holds + misses
    );
    if open > 0 {
        let lack = of(Judgement::Open).any(|it| !it.lacking.is_empty());
        let or = if lack { ", or they have no such value" } else { "" };
        let _ = write!(text, "; {open} are open, since not all of their points are there{or}");
    }
    text.push('\n');
    if let Some(origins) = origins(verdicts) {
        let _ = writeln!(text, "{origins}");
    }
    for verdict in of(Judgement::Misses) {
        let _ = writeln!(text, "  {}", verdict.line());
    }
    match holds {
        0 => {}
        1..=NAMED => {
            for verdict in of(Judgement::Holds) {
                let _ = writeln!(text, "  {}", verdict.line());
            }
        }
        _ => text.push_str("What holds is on the page and in verdicts.jsonl.\n"),
    }
    text
}

/// JSON Lines: one verdict to a line.
#[must_use]
pub fn to_jsonl(verdicts: &[Verdict]) -> String {
    // Numbers that are not finite are `null` in JSON, and everything else has a form.
    verdicts
        .iter()
        .filter_map(|it| serde_json::to_string(it).ok())
        .fold(String::new(), |text, line| text + &line + "\n")
}
