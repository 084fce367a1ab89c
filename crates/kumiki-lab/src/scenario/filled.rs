//! What tables leave out that is always the same, and what they leave to a file: the size of a ping's echoes, and how a line changes.
//!
//! A file in the place of a schedule is CSV, with a line of heads and then a line for each change: `at` or `time`, and of `rate`, `propagation` or `delay`, and `loss` those that change.
//! Units stand in the heads (`at (s)`, `rate (Mb/s)`, `loss (%)`) or behind each value; what a cell does not say stays as it is.

use std::path::Path;

use super::Fault;
use super::fault::read_file;
use super::tree::{Entry, Node, Origin, Source, Value};
use crate::rows::Parameter;
use crate::sources::{Found, Record, Source as Measurements, number, told};

/// The data of an echo of ping(8), in octets.
const ECHO: &str = "56 B";

/// More changes are no longer read: each has to be kept, and looked for, in every run.
const MOST_CHANGES: usize = 100_000;

/// Nanoseconds and bits per second that are told stay below that: they are numbers of 64 bits.
const MOST: f64 = 1.8e19;

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
    for [one, other] in [["at", "time"], ["propagation", "delay"]] {
        if all.find(one).is_some() && all.find(other).is_some() {
            let fault = Fault::new(format!("columns {one:?} and {other:?}, which say the same"));
            return Err(fault.expected("one of them").in_file(file));
        }
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
        // A share without a unit is a part of one, as everywhere in a scenario.
        let is_bare = key == "loss" && all.find(with_unit).is_none();
        if let Some(found) = column(name, if is_bare { name } else { with_unit })? {
            columns.push((key, found, if is_bare { 100.0 } else { 1.0 }));
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
        let ms = record.number(&time);
        let ms =
            ms.ok_or_else(|| wrong(record, "no time of the change").expected("a time from the beginning of the run"))?;
        if !(0.0..MOST).contains(&(ms * 1e6)) {
            return Err(wrong(record, &format!("{ms} ms is no time of a run")).expected("a time from its beginning on"));
        }
        if before.is_some_and(|before| ms <= before) {
            return Err(wrong(record, "a time that is not behind that of the line before").expected("times in order"));
        }
        before = Some(ms);
        let mut step = Node { at, value: Value::Table(Vec::new()) };
        put(&mut step, "at", Node { at, value: Value::Text(format!("{} ns", whole(ms * 1e6))) });
        for (key, found, times) in &columns {
            let Some(written) = record.get(found).as_ref().and_then(number) else {
                continue;
            };
            let value = written * times;
            let is_wrong = match *key {
                "loss" => value > 100.0,
                // Less than a bit per second would be a line that stands still.
                "rate" => value * 1e6 >= MOST || value > 0.0 && value * 1e6 < 1.0,
                _ => value * 1e6 >= MOST,
            };
            if value < 0.0 || is_wrong {
                return Err(wrong(record, &format!("{written} is no {key}")));
            }
            let value = match *key {
                "rate" => format!("{} b/s", whole(value * 1e6)),
                "loss" => format!("{} %", told(&Parameter::Number(value))),
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
    fn a_loss_without_a_unit_is_a_part_of_one() {
        let expected = ["at 0 ns, loss 0.1 %", "at 1000000000 ns, loss 7 %", "at 2000000000 ns, loss 100 %"];
        assert_eq!(said("at (s),loss\n0,0.001\n1,0.07\n2,1\n"), expected);
        assert_eq!(said("at (s),loss\n0,0.1 %\n1,0.07\n2,100 %\n"), expected);
        assert!(refused("at (s),loss\n0,1.5\n").contains("line.csv:2: 1.5 is no loss"));
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
            ("at (s),rate (Mb/s)\n-1,1\n", "line.csv:2: -1000 ms is no time of a run"),
            ("at (s),rate (Mb/s)\n1e30,1\n", "line.csv:2: "),
            ("at (s),rate (Mb/s)\n1,1e30\n", "line.csv:2: "),
            ("at (s),rate (Mb/s)\n1,0.0000001\n", "line.csv:2: 0.0000001 is no rate"),
            ("at (s),time (s),rate (Mb/s)\n1,1,1\n", "line.csv: columns \"at\" and \"time\", which say the same"),
            ("at (s),delay (ms),propagation (ms)\n1,1,1\n", "line.csv: columns \"propagation\" and \"delay\""),
            ("at (s),delay (ms)\n1,-1\n", "line.csv:2: -1 is no propagation"),
            ("at (s),delay (ms)\n1,x\n", "line.csv:2: column 2 (delay (ms)) = \"x\": not a number"),
        ] {
            assert!(refused(text).contains(words), "{words}: {}", refused(text));
        }
    }
}
