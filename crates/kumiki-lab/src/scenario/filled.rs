//! What tables leave out that is always the same, and what they leave to a file: the size of a ping's echoes, what is
//! shown of them, and how a line changes.
//!
//! A file in the place of a schedule is CSV, with a line of heads and then a line for each change: `at` or `time`, and
//! of `rate`, `propagation` or `delay`, and `loss` those that change. Units stand in the heads (`at (s)`,
//! `rate (Mb/s)`, `loss (%)`) or behind each value; what a cell does not say stays as it is.

use std::collections::BTreeSet;
use std::path::Path;

use super::{ConfigError, ErrorPlace};
use crate::rows::{LOST, Parameter};
use crate::sources::{FoundColumn, Source as Measurements, head, is_same, stem, told};
use kumiki_config::error::{nearest, read_file};
use kumiki_config::errors::ConfigErrors;
use kumiki_config::tree::{Entry, Node, Origin, Source, Value};
use kumiki_media::FASTEST;

/// The data of an echo of ping(8), in octets.
const ECHO: &str = "56 B";

/// More changes are no longer read: each has to be kept, and looked for, in every run.
const MOST_CHANGES: usize = 100_000;

/// Nanoseconds and bits per second that are told stay below that: they are numbers of 64 bits.
const MOST: f64 = 1.8e19;

/// What its columns may be called, but for their units.
const HEADS: [&str; 6] = ["at", "time", "rate", "propagation", "delay", "loss"];

/// What a file may say of a line: its column, the unit in which it is taken, and the key of a change.
const CHANGES: [(&str, &str, &str); 4] = [
    ("rate", "rate_mbps", "rate"),
    ("propagation", "propagation_ms", "propagation"),
    ("delay", "delay_ms", "propagation"),
    ("loss", "loss_percent", "loss"),
];

/// Fills in what the sections of `root` leave out.
///
/// # Errors
/// [`ConfigError`] of a file, with its line, or of the key that names it.
pub(super) fn fill_in(source: &Source<'_>, root: &mut Node) -> Result<(), ConfigError> {
    for (_, load) in tables(root, "load") {
        let is_ping = load.child("kind").and_then(Node::plain).as_deref() == Some("ping");
        if is_ping && load.child("message").is_none() {
            let at = load.at;
            put(load, "message", Node { at, value: Value::Text(ECHO.to_owned()) });
        }
    }
    if is_of_echoes(root) {
        show_lost(root);
    }
    for (name, link) in tables(root, "link") {
        let Some(schedule) = link.child_mut("schedule") else {
            continue;
        };
        if let Value::Text(file) = &schedule.value {
            let changes = read(file, schedule.at).map_err(|fault| {
                let fault = fault.under(&["link", &name, "schedule"]);
                match source.place(schedule.at).filter(|_| fault.file().is_none()) {
                    Some(place) => source.locate(fault.in_place(place)),
                    None => fault,
                }
            })?;
            schedule.value = Value::List(changes);
        }
    }
    Ok(())
}

fn is_of_echoes(root: &mut Node) -> bool {
    let mut kinds = tables(root, "load").map(|(_, load)| load.child("kind").and_then(Node::plain)).peekable();
    kinds.peek().is_some() && kinds.all(|kind| kind.as_deref() == Some("ping"))
}

/// Shows what was lost, where nothing else is asked for.
fn show_lost(root: &mut Node) {
    let at = root.at;
    if root.child("report").is_none() {
        put(root, "report", Node { at, value: Value::Table(Vec::new()) });
    }
    if let Some(report) = root.child_mut("report").filter(|report| report.child("value").is_none()) {
        put(report, "value", Node { at, value: Value::Text(LOST.to_owned()) });
    }
}

/// The tables of a section, each with its name.
fn tables<'a>(root: &'a mut Node, section: &str) -> impl Iterator<Item = (String, &'a mut Node)> {
    let entries = match root.child_mut(section).map(|node| &mut node.value) {
        Some(Value::Table(entries)) => entries.iter_mut(),
        _ => [].iter_mut(),
    };
    entries.map(|entry| (entry.key.clone(), &mut entry.node))
}

fn put(table: &mut Node, key: &str, node: Node) {
    if let Value::Table(entries) = &mut table.value {
        entries.push(Entry { key: key.to_owned(), at: node.at, node });
    }
}

/// The changes in `file`, as if they stood `at` the place that names it.
fn read(file: &str, at: Origin) -> Result<Vec<Node>, ConfigError> {
    let text = read_file(Path::new(file)).map_err(|fault| ConfigError::new(fault.to_string()))?;
    changes(file, &text, at)
}

/// The changes in `text`; all mistakes are told at once, as far as one does not follow from another.
fn changes(file: &str, text: &str, at: Origin) -> Result<Vec<Node>, ConfigError> {
    let (all, faults) = Measurements::of_damaged_csv(file, text, &[])?;
    let wrong = all.told_lines().iter().copied().collect();
    let mut reading = Reading { all, faults, wrong, misread: false };
    reading.check_heads();
    let time = reading.time();
    let columns: Vec<Column> = CHANGES.into_iter().filter_map(|it| reading.column(it)).collect();
    let says_nothing = CHANGES.iter().all(|(name, ..)| reading.all.find(name).is_none());
    if time.is_some() && says_nothing && !reading.misread {
        let fault = ConfigError::new("times, and nothing that changes").in_file(file);
        reading.faults.push(fault.expected("a column of rates, propagations or losses, such as rate (Mbit/s)"));
    }
    let Reading { all, mut faults, wrong, .. } = reading;
    let (mut steps, mut before) = (Vec::new(), None);
    for record in all.records() {
        let line = usize::try_from(record.line()).unwrap_or(0);
        let fault = |problem: &str| ConfigError::new(problem).in_place(ErrorPlace::Line(line, 1)).in_file(file);
        if steps.len() == MOST_CHANGES {
            faults.push(fault(&format!("more than {MOST_CHANGES} changes")).expected("fewer, further apart"));
            break;
        }
        // What is wrong with a field of it was told.
        let is_told = wrong.contains(&line);
        let mut step = Node { at, value: Value::Table(Vec::new()) };
        match time.as_ref().map(|time| record.number(time)) {
            Some(None) if !is_told => {
                faults.push(fault("no time of the change").expected("a time from the beginning of the run"));
            }
            None | Some(None) => {}
            Some(Some(ms)) => {
                if !(0.0..MOST).contains(&(ms * 1e6)) {
                    let problem = format!("{ms} ms is no time of a run");
                    faults.push(fault(&problem).expected("a time from its beginning on"));
                } else if before.is_some_and(|before| ms <= before) {
                    let problem = "a time that is not behind that of the line before";
                    faults.push(fault(problem).expected("times in order"));
                }
                before = Some(ms);
                put(&mut step, "at", Node { at, value: Value::Text(format!("{} ns", whole(ms * 1e6))) });
            }
        }
        let mut says_nothing = !is_told;
        for column in &columns {
            let Some(written) = record.number(&column.found) else {
                continue;
            };
            says_nothing = false;
            match column.value(written) {
                Some(value) => put(&mut step, column.key, Node { at, value: Value::Text(value) }),
                None => faults.push(fault(&format!("{written} is no {}", column.key)).expected(column.expected())),
            }
        }
        if says_nothing && !columns.is_empty() {
            faults.push(fault("a time, and nothing that changes").expected("a rate, a propagation or a loss"));
        }
        steps.push(step);
    }
    faults.all().map_or(Ok(steps), Err)
}

/// A file of changes, and what is wrong with it.
struct Reading {
    all: Measurements,
    faults: ConfigErrors,
    /// The lines with a field that is no number.
    wrong: BTreeSet<usize>,
    /// Whether a head says nothing of a line, for whatever reason: it may be the one that is missed.
    misread: bool,
}

/// A head with the unit that is usual.
fn usual_head(name: &str) -> &'static str {
    match name {
        "at" => "at (s)",
        "time" => "time (s)",
        "rate" => "rate (Mbit/s)",
        "propagation" => "propagation (ms)",
        "delay" => "delay (ms)",
        _ => "loss (%)",
    }
}

impl Reading {
    /// That each head says something of a line, and no two the same.
    fn check_heads(&mut self) {
        let is_known = |head: &str| HEADS.iter().any(|name| is_same(name, head));
        for other in self.all.keys().into_iter().filter(|head| !is_known(head)) {
            if let Some((name, unit)) = self.all.unknown_unit(other) {
                let fault = self.all.of_head(other, &format!("unknown unit {unit:?}"));
                let near =
                    HEADS.into_iter().find(|head| head.eq_ignore_ascii_case(name)).or_else(|| nearest(name, &HEADS));
                let like = near.unwrap_or("at");
                self.faults.push(fault.expected(format!("a head such as {}", usual_head(like))));
                self.misread = true;
                continue;
            }
            let (stem, _) = stem(other);
            let fault = self.all.of_head(other, &format!("unknown column {stem:?}")).one_of(&HEADS);
            let near = nearest(stem, &HEADS);
            self.faults.push(fault.suggest_if(near));
            self.misread = true;
        }
        for [one, other] in [["at", "time"], ["propagation", "delay"]] {
            if let (Some(_), Some(found)) = (self.all.find(one), self.all.find(other)) {
                let fault = self.all.of_head(found.name(), &format!("a column {one:?} says the same"));
                self.faults.push(fault.expected("one of them"));
            }
        }
    }

    /// The times of the changes.
    fn time(&mut self) -> Option<FoundColumn> {
        let name = ["at", "time"].into_iter().find(|name| self.all.find(name).is_some());
        let Some(name) = name else {
            if !self.misread {
                let fault = ConfigError::new("no column of times").in_file(self.all.path());
                self.faults.push(fault.expected("one called at or time, such as at (s)"));
            }
            return None;
        };
        self.leave_numbers(name)?;
        self.found(name, &format!("{name}_ms"), "time")
    }

    /// What it says of one kind of change; nothing where it says none, or nothing that can be read.
    fn column(&mut self, (name, with_unit, key): (&str, &str, &'static str)) -> Option<Column> {
        self.leave_numbers(name)?;
        // A share without a unit is a part of one, as everywhere in a scenario.
        let is_bare = key == "loss" && self.all.find(with_unit).is_none();
        let found = self.found(name, if is_bare { name } else { with_unit }, key)?;
        Some(Column { key, found, times: if is_bare { 100.0 } else { 1.0 } })
    }

    /// Tells what in the column called `name` is no number, and leaves it out: without it the others may have a unit.
    /// Nothing where there is no such column.
    fn leave_numbers(&mut self, name: &str) -> Option<()> {
        let there = self.all.find(name)?;
        self.wrong.extend(self.all.leave_numbers(&there, &mut self.faults));
        Some(())
    }

    /// The column called `name`, in the unit that is wanted.
    fn found(&mut self, name: &str, with_unit: &str, what: &str) -> Option<FoundColumn> {
        let found = self.all.find(with_unit);
        if found.is_none() {
            let there = self.all.find(name)?;
            let expected = format!("a head with one, such as {}", head(with_unit));
            let (_, has_unit) = stem(there.name());
            let problem = if has_unit { format!("its unit is none of {what}") } else { "it has no unit".to_owned() };
            self.faults.push(self.all.of_head(there.name(), &problem).expected(expected));
        }
        found
    }
}

/// What a file says of one kind of change.
struct Column {
    key: &'static str,
    found: FoundColumn,
    /// By what its numbers are multiplied.
    times: f64,
}

impl Column {
    /// A number of it as the value of the key; nothing where it cannot be one.
    fn value(&self, written: f64) -> Option<String> {
        let value = written * self.times;
        let is_right = match self.key {
            "loss" => value <= 100.0,
            // Less than a bit per second would be a line that stands still.
            "rate" => value == 0.0 || (1.0..=fastest()).contains(&(value * 1e6)),
            _ => value * 1e6 < MOST,
        };
        if value < 0.0 || !is_right {
            return None;
        }
        Some(match self.key {
            "rate" => format!("{} b/s", whole(value * 1e6)),
            "loss" => format!("{} %", told(&Parameter::Number(value))),
            _ => format!("{} ns", whole(value * 1e6)),
        })
    }

    /// What would be right.
    fn expected(&self) -> &'static str {
        match self.key {
            "loss" if self.times == 1.0 => "0 to 100 %",
            "loss" => "a part of one, 0 to 1, or a head with a unit: loss (%)",
            "rate" => "0, with which nothing is sent, or 1 b/s to 1000 Tb/s",
            _ => "a time that is not negative, below 500 years",
        }
    }
}

/// The greatest rate, in bits per second.
#[expect(clippy::cast_precision_loss, reason = "it is a power of ten below 2^53")]
const fn fastest() -> f64 {
    FASTEST as f64
}

/// Without what is behind the point.
fn whole(number: f64) -> String {
    format!("{:.0}", number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Origin = Origin::Line(3, 1);

    fn said(text: &str) -> Vec<String> {
        let of = |node: &Node| {
            let keys = node.entries().iter().map(|it| format!("{} {}", it.key, it.node.plain().unwrap()));
            keys.collect::<Vec<_>>().join(", ")
        };
        changes("line.csv", text, AT).unwrap().iter().map(of).collect()
    }

    fn refused(text: &str) -> String {
        changes("line.csv", text, AT).unwrap_err().to_string()
    }

    #[test]
    fn a_file_of_changes_has_units_in_its_heads_or_behind_its_values() {
        let heads = "at (s),rate (Mb/s),delay (ms),loss (%)\n0,10,20,\n0.1,2.5,,1\n# nothing\n1.5,0,30.5,0\n";
        let expected = [
            "at 0 ns, rate 10000000 b/s, propagation 20000000 ns",
            "at 100000000 ns, rate 2500000 b/s, loss 1 %",
            "at 1500000000 ns, rate 0 b/s, propagation 30500000 ns, loss 0 %",
        ];
        assert_eq!(said(heads), expected);
        let values = "time;rate;propagation\n100 ms;5 Mb/s;1 ms\n1 s;300 kb/s;20 us\n";
        let expected = [
            "at 100000000 ns, rate 5000000 b/s, propagation 1000000 ns",
            "at 1000000000 ns, rate 300000 b/s, propagation 20000 ns",
        ];
        assert_eq!(said(values), expected);
    }

    #[test]
    fn a_loss_without_a_unit_is_a_part_of_one() {
        let expected = ["at 0 ns, loss 0.1 %", "at 1000000000 ns, loss 7 %", "at 2000000000 ns, loss 100 %"];
        assert_eq!(said("at (s),loss\n0,0.001\n1,0.07\n2,1\n"), expected);
        assert_eq!(said("at (s),loss\n0,0.1 %\n1,0.07\n2,100 %\n"), expected);
        assert!(refused("at (s),loss\n0,1.5\n").contains("line.csv:2: 1.5 is no loss"));
        // Nor is one that has a unit taken for one without where another value is wrong.
        let wrong = refused("at (s),loss\n0,2 %\n1,x\n2,50 %\n");
        assert!(
            wrong.starts_with("line.csv:3: column 2 (loss) = \"x\": not a number") && !wrong.contains('\n'),
            "{wrong}"
        );
    }

    #[test]
    fn a_file_that_is_no_schedule_is_refused_with_its_line() {
        for (text, words) in [
            ("rate (Mb/s)\n1\n", "line.csv: no column of times; expected one called at or time, such as at (s)"),
            ("at (s)\n1\n2\n", "line.csv: times, and nothing that changes; expected a column of rates"),
            (
                "at (s),delay (Ms)\n1,1\n",
                "line.csv:1: column 2 (delay (Ms)): unknown unit \"Ms\"; expected a head such as delay (ms)",
            ),
            (
                "at (sek),rate (Mb/s)\n1,1\n",
                "column 1 (at (sek)): unknown unit \"sek\"; expected a head such as at (s)",
            ),
            ("at (s),rat (Mb/s)\n1,1\n", "unknown column \"rat\"; did you mean \"rate\"?"),
            (
                "at,rate (Mb/s)\n1,1\n",
                "line.csv:1: column 1 (at): it has no unit; expected a head with one, such as at (ms)",
            ),
            (
                "at (s),rate\n1,1\n",
                "line.csv:1: column 2 (rate): it has no unit; expected a head with one, such as rate (Mbit/s)",
            ),
            (
                "at (s),rate (ms)\n1,1\n",
                "line.csv:1: column 2 (rate (ms)): its unit is none of rate; expected a head with one, such as rate (Mbit/s)",
            ),
            (
                "at (s),speed (Mb/s)\n1,1\n",
                "line.csv:1: column 2 (speed (Mb/s)): unknown column \"speed\"; did you mean \"rate\"?",
            ),
            ("at (s),rates (Mb/s)\n1,1\n", "unknown column \"rates\"; did you mean \"rate\"?"),
            ("at (s),rate (Mb/s)\n1,1\n\n1,2\n", "line.csv:4: a time that is not behind that of the line before"),
            ("at (s),rate (Mb/s)\n1,1\n,2\n", "line.csv:3: no time of the change"),
            ("at (s),rate (Mb/s)\n1,1\n2,\n", "line.csv:3: a time, and nothing that changes"),
            ("at (s),loss (%)\n1,101\n", "line.csv:2: 101 is no loss"),
            ("at (s),rate (Mb/s)\n-1,1\n", "line.csv:2: -1000 ms is no time of a run"),
            ("at (s),rate (Mb/s)\n1e30,1\n", "line.csv:2: "),
            ("at (s),rate (Mb/s)\n1,1e30\n", "line.csv:2: "),
            ("at (s),rate (Tb/s)\n1,1001\n", "line.csv:2: 1001000000 is no rate; expected 0, with which"),
            ("at (s),rate (Mb/s)\n1,0.0000001\n", "line.csv:2: 0.0000001 is no rate"),
            (
                "at (s),time (s),rate (Mb/s)\n1,1,1\n",
                "line.csv:1: column 2 (time (s)): a column \"at\" says the same; expected one of them",
            ),
            (
                "at (s),delay (ms),propagation (ms)\n1,1,1\n",
                "line.csv:1: column 2 (delay (ms)): a column \"propagation\" says the same",
            ),
            ("at (s),delay (ms)\n1,-1\n", "line.csv:2: -1 is no propagation"),
            ("at (s),delay (ms)\n1,x\n", "line.csv:2: column 2 (delay (ms)) = \"x\": not a number"),
        ] {
            assert!(refused(text).contains(words), "{words}: {}", refused(text));
        }
    }

    #[test]
    fn what_is_wrong_with_a_field_is_no_empty_one_as_well() {
        let commas = refused("at (s);rate (Mb/s)\n0;1,5\n1;2,5\n");
        assert_eq!(commas.lines().count(), 2, "{commas}");
        let heads = refused("0,10\n1,5\n");
        assert_eq!(heads, "line.csv:1: numbers in the place of heads; expected a first line that names the columns");
    }

    #[test]
    fn all_mistakes_of_a_file_are_told_at_once_each_with_its_line() {
        let text = "at (s),rate (Mb/s),delay (ms),speed\n\
                    1,10,20,1\n\
                    2,x,20,1\n\
                    3,-5,20\n\
                    1.5,-5,\"0,3\",1\n\
                    NaN,4,-1,1\n\
                    4,,,1\n";
        let lines = [
            "line.csv:1: column 4 (speed): unknown column \"speed\"; did you mean \"rate\"? (one of at, time, \
             rate, propagation, delay, loss)",
            "line.csv:3: column 2 (rate (Mb/s)) = \"x\": not a number; expected a number such as 93.5, with a point; its unit \
             stands in the head, or behind every value",
            "line.csv:4: 3 fields below 4 heads; expected one for each head",
            "line.csv:5: a time that is not behind that of the line before; expected times in order",
            "line.csv:5: -5 is no rate; expected 0, with which nothing is sent, or 1 b/s to 1000 Tb/s",
            "line.csv:5: column 3 (delay (ms)) = \"0,3\": not a number; expected a point in the place of the comma",
            "line.csv:6: column 1 (at (s)) = \"NaN\": not a number; expected a number such as 93.5, with a point; its unit \
             stands in the head, or behind every value",
            "line.csv:6: -1 is no propagation; expected a time that is not negative, below 500 years",
            "and 1 more, which is told when these are mended",
        ];
        assert_eq!(refused(text).lines().collect::<Vec<_>>(), lines);
        let mended = text.replace(",speed", ",loss (%)").replace("2,x", "2,3").replace("3,-5,20\n", "");
        let mended = mended.replace("1.5,-5,\"0,3\"", "3,5,0.3").replace("NaN,4,-1", "3.5,4,1");
        assert!(changes("line.csv", &mended, AT).is_ok(), "{}", refused(&mended));
        // A time out of order is no mistake of those behind it, and values are kept with their units where one has
        // none.
        assert_eq!(refused("at (s),loss (%)\n5,1\n1,1\n2,1\n").lines().count(), 1);
        assert_eq!(
            refused("at,rate\n1 s,10 Mb/s\n2 s,5 ms\n3 s,7\n4,1 Mb/s\n"),
            "line.csv:3: column 2 (rate) = \"5 ms\": not of the kind of the values above it; expected quantities of one kind in a \
             column\n\
             line.csv:4: column 2 (rate) = \"7\": no unit, which the other values have; expected one behind every value, or in the \
             head alone\n\
             line.csv:5: column 1 (at) = \"4\": no unit, which the other values have; expected one behind every value, or in the \
             head alone"
        );
    }
}
