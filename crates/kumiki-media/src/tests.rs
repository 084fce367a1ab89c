//! Each medium has its own settings and no others.

use std::collections::BTreeSet;

use super::*;

/// A value that can be read, for each first key that any medium has.
const VALUES: &str = r#"
rate = "10 Mb/s"
propagation = "1 ms"
clock_ppm = -20
schedule = [{ at = "1 s", rate = "5 Mb/s" }, { at = "2 s", loss = 0.1, up = false }]
traces = ["up", "down"]
framing = "2 B"
fcs = 16
flags = "2"
octet_exact = true
scrambled = false
bit_errors = 1e-6
outages = ["2 s .. 2.5 s"]
queue_frames = 10
mark_frames = 5
queue = "drop-tail"
aqm = {}
switched = { numbers = ["1", "2"], setup = "1 s", clears = ["8 s"] }
impair = { loss = "1 %", corrupt = 0.001, delay = "1 ms" }
latency = "1 us"
ttrt = "10 ms"
"#;

fn first_keys<T>(media: &[(&str, MediumMaker<T>)], name: &str) -> BTreeSet<String> {
    settings_of(media, name).into_iter().filter_map(|setting| setting.path.into_iter().next()).collect()
}

fn each_has_its_own<T: core::fmt::Debug>(media: &[(&str, MediumMaker<T>)]) -> BTreeSet<String> {
    let values: toml::Table = VALUES.parse().unwrap();
    let mut all = BTreeSet::new();
    for (name, _) in media {
        let own = first_keys(media, name);
        let mut table = toml::Table::new();
        for (must, expected) in [("rate", "a rate such as"), ("traces", "files in mahimahi's format")] {
            if own.contains(must) {
                let fault = read(media, name, &table).unwrap_err().to_string();
                assert!(fault.contains(&format!("the key \"{must}\" is missing; expected {expected}")), "{fault}");
                table.insert(must.to_owned(), values[must].clone());
            }
        }
        for (key, value) in &values {
            let mut table = table.clone();
            table.insert(key.clone(), value.clone());
            let found = read(media, name, &table);
            if own.contains(key) {
                found.unwrap();
            } else {
                let fault = found.unwrap_err().to_string();
                if key == "rate" {
                    let words = match *name {
                        "fddi" => "fddi has a rate of its own; expected no `rate`".to_owned(),
                        "trace" => "trace has the rate of its recording; expected no `rate`, or medium".to_owned(),
                        name => format!("{name} has the rate of its name; expected no `rate`, or medium"),
                    };
                    assert!(fault.contains(&words), "{fault}");
                    continue;
                }
                let known = format!("{key}: unknown setting of {name} {key:?}; ");
                assert!(
                    fault.starts_with(&known) && fault.contains("one of ") && fault.contains("propagation"),
                    "{fault}"
                );
            }
        }
        all.extend(own);
    }
    all
}

#[test]
fn a_key_that_a_medium_has_not_is_refused_with_those_that_it_has() {
    let all: BTreeSet<String> = each_has_its_own(&LINES).union(&each_has_its_own(&RINGS)).cloned().collect();
    let values: toml::Table = VALUES.parse().unwrap();
    assert_eq!(values.keys().cloned().collect::<BTreeSet<_>>(), all);
}

#[test]
fn what_cannot_be_is_said_with_what_would_be_right() {
    for (medium, text, words) in [
        ("oc3c-pos", r#"fcs = 24"#, "fcs: this is 24; expected 16 or 32"),
        ("oc3c-pos", r#"outages = ["3 s .. 2 s"]"#, "outages: this is \"3 s .. 2 s\"; expected a list, each a stretch"),
        (
            "oc3c-pos",
            "bit_errors = 1e-6\noctet_exact = false",
            "octet_exact: this is false, and only a line that is run octet by octet",
        ),
        ("oc3c", "queue_frames = \"10 B\"", "queue_frames: this is \"10 B\"; expected a whole number of frames from 0"),
        ("oc3c", "framing = 2", "framing: this is 2; expected a size from 0 B to 65535 B, with its unit"),
        (
            "point-to-point",
            "rate = 1000000",
            "rate: this is 1000000; expected a rate from 1 b/s to 1000 Tb/s, with its unit: \"10 Mb/s\"",
        ),
        (
            "oc3c",
            "impair = { loss = 1.5 }",
            "impair.loss: this is the number 1.5; expected a share from 0 % to 100 %, such as",
        ),
        ("oc3c", "loss = 0.1", "loss: unknown setting of oc3c \"loss\"; did you mean impair.loss?"),
        ("oc3c", "impair = { lose = 1 }", "impair.lose: unknown setting of oc3c \"lose\"; did you mean \"loss\"?"),
        ("sync-2m", "impair = { delay = 1 }", "impair.delay: this is 1; expected a time such as \"20 ms\""),
        ("oc3c", "queue = \"red\"", "queue: unknown value \"red\"; one of drop-tail, codel"),
        ("oc3c", "queue = \"codel\"\nmark_frames = 4", "mark_frames: this is 4; expected left out: only queue"),
        (
            "oc3c",
            "queue = \"codel\"\naqm = { flows = 4 }",
            "aqm.flows: this is 4; expected left out, or queue = \"fq-codel\"",
        ),
        (
            "oc3c",
            "aqm = { target = \"1 ms\" }",
            "aqm.target: this is 1 ms; expected left out, or queue = \"codel\" or \"fq-codel\" or \"pie\"",
        ),
        ("oc3c", "queue = \"codel\"\naqm = { interval = \"0 s\" }", "aqm.interval: this is 0 s; expected a time"),
        (
            "sync-2m",
            "switched = { numbers = [\"1\", \"2\"] }\nqueue = \"pie\"",
            "queue: this is pie; expected drop-tail",
        ),
        (
            "sync-2m",
            "switched = { numbers = [\"1\", \"2\"] }\nmark_frames = 4",
            "mark_frames: this is 4; expected left out",
        ),
        ("oc3c-atm", "clock_ppm = 2000", "clock_ppm: this is \"2000\"; expected a whole number from -1000 to 1000"),
        ("oc3c-atm", "clock_ppm = 1.5", "clock_ppm: this is the number 1.5; expected a whole number from -1000"),
        (
            "oc3c-atm",
            "clock_ppm = \"20 .. -20\"",
            "clock_ppm: this is \"20 .. -20\"; expected a whole number from -1000",
        ),
        ("oc3c", "schedule = []", "schedule: unknown setting of oc3c"),
        ("point-to-point", "rate = \"1 Mb/s\"\nschedule = [5]", "schedule: this is"),
        (
            "point-to-point",
            "rate = \"1 Mb/s\"\nschedule = [{ rate = \"1 kb/s\" }]",
            "schedule.0: the key \"at\" is missing",
        ),
        (
            "point-to-point",
            "rate = \"1 Mb/s\"\nschedule = [{ at = \"1 s\" }]",
            "schedule: this is 1 s alone; expected a change beside it",
        ),
        (
            "point-to-point",
            "rate = \"1 Mb/s\"\nschedule = [{ at = \"1 s\", up = true }, { at = \"1 s\", up = false }]",
            "schedule: this is 1 s; expected times each later than the one before",
        ),
        (
            "point-to-point",
            "rate = \"1 Mb/s\"\nschedule = [{ at = \"1 s\", los = 1 }]",
            "schedule.0.los: unknown setting of point-to-point \"los\"; did you mean \"loss\"?",
        ),
        ("point-to-point", "rate = \"1 Mb/s\"\nschedule = [{ at = \"1 s\", rate = \"1 kbsp\" }]", "schedule.0.rate"),
        (
            "point-to-point",
            "rate = \"1 Mb/s\"\nschedule = [{ at = \"1 s\", rate = [\"0 b/s\", \"1 kb/s\", \"1 kb/s\"] }]",
            "schedule.0.rate: this is 3 rates; expected one rate for both directions, or a list of two",
        ),
        (
            "point-to-point",
            "rate = \"1 Mb/s\"\nschedule = [{ at = \"1 s\", rate = [\"1 kb/s\", \"1 mph\"] }]",
            "schedule.0.rate.1 = \"1 mph\": unknown unit \"mph\"; try b/s",
        ),
        (
            "point-to-point",
            "rate = [\"1 Mb/s\", \"0 b/s\"]",
            "rate.1: this is 0 b/s; expected a rate from 1 b/s to 1000 Tb/s",
        ),
        ("trace", "traces = []", "the key \"traces\" is missing; expected files in mahimahi's format"),
        ("trace", "traces = [\"a\", \"b\", \"c\"]", "traces: this is 3 files"),
        ("oc3c", "impair = { burst_loss = { p = 0.1 } }", "impair.burst_loss: the key \"r\" is missing"),
        (
            "oc3c",
            "impair = { burst_loss = { p = 0.1, r = 0 } }",
            "impair.burst_loss.r: this is nothing; expected more than nothing",
        ),
        (
            "oc3c",
            "impair = { loss = 0.1, burst_loss = { p = 0.1, r = 0.1 } }",
            "impair.loss: this is 0.1; expected left out beside burst_loss",
        ),
        ("oc3c", "impair = { burst_loss = { p = 0.1, r = 0.1, g = 1 } }", "impair.burst_loss.g: unknown setting"),
        // What is wrong further in says nothing of the names beside it.
        (
            "oc3c",
            "impair = { burst_loss = { r = 0.1 }, duplicate = 0.1 }",
            "impair.burst_loss: the key \"p\" is missing",
        ),
        ("sync-2m", "switched = { setup = \"1 s\" }", "switched: the key \"numbers\" is missing"),
    ] {
        let fault =
            read(&LINES, medium, &text.parse().unwrap()).map_or_else(|fault| fault.to_string(), |_| String::new());
        assert!(fault.starts_with(words), "{medium}: {fault}");
    }
}

#[test]
fn a_threshold_that_no_queue_reaches_is_refused() {
    let switch = |more: &str| {
        let text = format!("queue_cells = 100\nfeedback = \"relative\"\n{more}");
        read_switch("atm", &text.parse().unwrap()).map_or_else(|fault| fault.to_string(), |_| String::new())
    };
    for key in ["ci_cells", "ni_cells"] {
        let refused = switch(&format!("{key} = 100"));
        assert!(refused.starts_with(&format!("{key}: this is 100; expected less than queue_cells, 100")), "{refused}");
        assert_eq!(switch(&format!("{key} = 99")), "");
    }
}

#[test]
fn a_schedule_without_changes_is_none() {
    let read = |text: &str| read(&LINES, "point-to-point", &text.parse().unwrap()).unwrap();
    let line = read("rate = \"1 Mb/s\"\nschedule = []");
    assert!(line.schedule().is_empty());
}
