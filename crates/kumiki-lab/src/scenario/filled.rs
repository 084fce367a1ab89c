//! What tables leave out that is always the same, and what they leave to a file: the size of a ping's echoes, and how a line changes.
//!
//! A file in the place of a schedule is CSV, with a line of heads and then a line for each change: `at` or `time`, and of `rate`, `propagation` or `delay`, and `loss` those that change.
//! Units stand in the heads (`at (s)`, `rate (Mb/s)`, `loss (%)`) or behind each value; what a cell does not say stays as it is.

use std::path::Path;

use super::Fault;
use super::fault::read_file;
use super::tree::{Entry, Node, Origin, Source, Value};
use crate::sources::{Found, Record, Source as Measurements, number};

/// The data of an echo of ping(8), in octets.
const ECHO: &str = "56 B";

/// More changes are no longer read: each has to be kept, and looked for, in every run.
const MOST_CHANGES: usize = 100_000;

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
/// [`Fault`] of a file, with its line, or of the key that names it.
pub(super) fn fill_in(source: &Source<'_>, root: &mut Node) -> Result<(), Fault> {
    for (_, load) in tables(root, "load") {
        let is_ping = load.child("kind").and_then(Node::plain).as_deref() == Some("ping");
        if is_ping && load.child("message").is_none() {
            let at = load.at;
            put(load, "message", Node { at, value: Value::Text(ECHO.to_owned()) });
        }
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
fn read(file: &str, at: Origin) -> Result<Vec<Node>, Fault> {
    let text = read_file(Path::new(file)).map_err(|fault| Fault::new(fault.to_string()))?;
    changes(file, &text, at)
}

fn changes(file: &str, text: &str, at: Origin) -> Result<Vec<Node>, Fault> {
    let all = Measurements::of_csv(file, text, &[])?;
    let known = ["at", "time", "rate", "propagation", "delay", "loss"];
    let is_known = |head: &str| known.iter().any(|name| crate::sources::is_same(name, head));
    if let Some(other) = all.keys().into_iter().find(|head| !is_known(head)) {
        return Err(Fault::unknown(["schedule"], "column", other, &known).in_file(file));
    }
    let column = |name: &str, with_unit: &str| -> Result<Option<Found>, Fault> {
        if all.find(name).is_none() {
            return Ok(None);
        }
        let found = all.find(with_unit).ok_or_else(|| all.lacks(with_unit))?;
        all.check_numbers(&found)?;
        Ok(Some(found))
    };
    let time = match column("at", "at_ms")? {
        Some(found) => found,
        None => column("time", "time_ms")?.ok_or_else(|| all.lacks("at"))?,
    };
    let mut columns = Vec::new();
    for (name, with_unit, key) in CHANGES {
        if let Some(found) = column(name, with_unit)? {
            columns.push((key, found));
        }
    }
    let wrong = |record: Record<'_>, problem: &str| {
        let line = usize::try_from(record.line()).unwrap_or(0);
        Fault::new(problem).in_place(super::Place::Line(line, 1)).in_file(file)
    };
    let (mut steps, mut before) = (Vec::new(), None);
    for record in all.records() {
        if steps.len() == MOST_CHANGES {
            return Err(wrong(record, &format!("more than {MOST_CHANGES} changes")).expected("fewer, further apart"));
        }
        let ms = record.number(&time).filter(|ms| *ms >= 0.0);
        let ms =
            ms.ok_or_else(|| wrong(record, "no time of the change").expected("a time from the beginning of the run"))?;
        if before.is_some_and(|before| ms <= before) {
            return Err(wrong(record, "a time that is not behind that of the line before").expected("times in order"));
        }
        before = Some(ms);
        let mut step = Node { at, value: Value::Table(Vec::new()) };
        put(&mut step, "at", Node { at, value: Value::Text(format!("{} ns", whole(ms * 1e6))) });
        for (key, found) in &columns {
            let Some(value) = record.get(found).as_ref().and_then(number) else {
                continue;
            };
            if value < 0.0 || *key == "loss" && value > 100.0 {
                return Err(wrong(record, &format!("{value} is no {key}")));
            }
            let value = match *key {
                "rate" => format!("{} b/s", whole(value * 1e6)),
                "loss" => format!("{value} %"),
                _ => format!("{} ns", whole(value * 1e6)),
            };
            put(&mut step, key, Node { at, value: Value::Text(value) });
        }
        if step.entries().len() == 1 {
            return Err(wrong(record, "a time, and nothing that changes").expected("a rate, a propagation or a loss"));
        }
        steps.push(step);
    }
    Ok(steps)
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
    fn a_file_that_is_no_schedule_is_refused_with_its_line() {
        for (text, words) in [
            ("rate (Mb/s)\n1\n", "no column is called \"at\""),
            ("at,rate (Mb/s)\n1,1\n", "the column \"at\" has no unit; expected a head with one, such as at (ms)"),
            ("at (s),rate\n1,1\n", "the column \"rate\" has no unit; expected a head with one, such as rate (Mbit/s)"),
            ("at (s),speed (Mb/s)\n1,1\n", "unknown column \"speed_mbps\""),
            ("at (s),rate (Mb/s)\n1,1\n\n1,2\n", "line.csv:4: a time that is not behind that of the line before"),
            ("at (s),rate (Mb/s)\n1,1\n,2\n", "line.csv:3: no time of the change"),
            ("at (s),rate (Mb/s)\n1,1\n2,\n", "line.csv:3: a time, and nothing that changes"),
            ("at (s),loss (%)\n1,101\n", "line.csv:2: 101 is no loss"),
            ("at (s),delay (ms)\n1,-1\n", "line.csv:2: -1 is no propagation"),
            ("at (s),delay (ms)\n1,x\n", "line.csv:2: column 2 (delay (ms)) = \"x\": not a number"),
        ] {
            assert!(refused(text).contains(words), "{words}: {}", refused(text));
        }
    }
}
