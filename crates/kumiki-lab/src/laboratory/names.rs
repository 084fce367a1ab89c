//! That rows can have what `[report]` and `[[claim]]` ask for, before anything runs: values of such loads, and queues,
//! counters and limits of these names.

use crate::experiment::{Experiment, Limit};
use crate::limit::is_changing;
use crate::rows::{HALF_WIDTH, QUEUE_PARTS, RAW, Row, ValueName, WARM_UP, may_come};
use crate::scenario::check::WARM_UP_FOUND;
use crate::scenario::directions::sending;
use crate::scenario::{ConfigError, Point, Scenario, Workload, nearest};

/// More names than these are not told.
const MOST: usize = 30;

/// The same of a scenario that only counts octets: these are its `rows`.
pub(super) fn counted(point: &Point, rows: &[Row]) -> Result<(), ConfigError> {
    let shown = point.scenario.report.shown();
    if rows.iter().any(|row| row.value(&shown).is_some()) {
        return Ok(());
    }
    let fault = ConfigError::at(["report", "value"], format!("nothing runs, so no row has {}", shown.name()));
    Err(fault.expected("goodput_mbps"))
}

/// Refuses a name that no row of the run can have.
pub(super) fn check(point: &Point, experiment: &Experiment) -> Result<(), ConfigError> {
    let scenario = &point.scenario;
    if let Some(value) = &scenario.report.value {
        named(&["report", "value"], value, (scenario, experiment))?;
    }
    for (number, claim) in scenario.claim.iter().enumerate() {
        let number = number.to_string();
        let at = |key| ["claim", number.as_str(), key];
        if let Some(value) = &claim.value {
            named(&at("value"), value, (scenario, experiment))?;
        }
        if let Some(host) = claim.cpu.as_ref().filter(|host| !scenario.host.contains_key(*host)) {
            let known: Vec<&String> = scenario.host.keys().collect();
            return Err(ConfigError::unknown(at("cpu"), "host", host, &known));
        }
    }
    Ok(())
}

fn named(path: &[&str], value: &str, (scenario, experiment): (&Scenario, &Experiment)) -> Result<(), ConfigError> {
    let Some(known) = ValueName::new(value) else {
        return Ok(());
    };
    let load = scenario.report.load.as_deref();
    if let Some(only) = lacks(load, &known, (scenario, experiment)) {
        return Err(lacking(path, (known.field(), only), load, (scenario, experiment)));
    }
    let Some((map, name)) = value.split_once('.') else {
        return Ok(());
    };
    match map {
        "queues" => {
            let mut queues = experiment.queues();
            let ends = |line: &str| scenario.link.get(line).map(|link| &link.ends);
            let by_sender: Vec<String> = queues.iter().filter_map(|queue| sending(queue, ends)).collect();
            queues.extend(by_sender);
            queue(path, name, &queues)
        }
        "counters" => counter(path, name, experiment),
        "held" => {
            let known: Vec<&str> = Limit::ALL.iter().map(|limit| limit.name()).collect();
            if known.contains(&name) { Ok(()) } else { Err(unknown(path, "held", name, "", known)) }
        }
        _ => Ok(()),
    }
}

/// What alone has that value, in words, where a row of `load`, or of all loads together, can have none; nothing where
/// it may.
fn lacks(
    load: Option<&str>,
    value: &ValueName,
    (scenario, experiment): (&Scenario, &Experiment),
) -> Option<&'static str> {
    let is_total = load.is_none() && scenario.load.len() > 1;
    let is_multiplied = |load: &Workload| load.kind != "ping" && load.times.is_some();
    match value.field() {
        HALF_WIDTH if scenario.run.batches.is_none() => Some("only a run in `batches` of [run] has it"),
        WARM_UP if scenario.run.warm_up.as_deref() != Some(WARM_UP_FOUND) => {
            Some("only a run with `warm_up = \"auto\"` in [run] has it")
        }
        // Where one load has it all rows have.
        RAW if scenario.load.values().all(|load| load.times.is_none()) => Some("only a load with `times` has it"),
        "limit_mbps" if is_total && scenario.load.values().any(is_multiplied) => {
            Some("what is shown of a load is `times` what it was; `load` in [report] names one")
        }
        "limit_mbps" if is_total && is_changing(scenario) => {
            Some("a line changes while several loads share it; `load` in [report] names one")
        }
        _ => experiment.lacks(load, value),
    }
}

/// That no row of the `load`, or of all together, has that field, of `only` what has it, and what such a row has in its
/// place.
fn lacking(
    path: &[&str],
    (field, only): (&str, &str),
    load: Option<&str>,
    of: (&Scenario, &Experiment),
) -> ConfigError {
    let whose = load.map_or_else(|| "all loads together".to_owned(), |load| format!("load.{load}"));
    let mut has = ValueName::known();
    has.retain(|name| ValueName::new(name).is_none_or(|name| lacks(load, &name, of).is_none()));
    let fault = ConfigError::at(path, format!("no row of {whose} has {field}: {only}"));
    fault.expected(format!("one of {}", has.join(", ")))
}

fn queue(path: &[&str], name: &str, queues: &[String]) -> Result<(), ConfigError> {
    let (queue, part) = name.rsplit_once('.').unwrap_or((name, ""));
    if queues.iter().any(|it| it == queue) {
        if QUEUE_PARTS.contains(&part) {
            return Ok(());
        }
        return Err(unknown(path, &format!("queues.{queue}"), part, "", QUEUE_PARTS.to_vec()));
    }
    if queues.is_empty() {
        return Err(ConfigError::at(path, "no line or switch of this scenario has a queue that is followed"));
    }
    // Whoever leaves out what of the queue is meant has named it all the same.
    let end = if QUEUE_PARTS.contains(&part) { format!(".{part}") } else { String::new() };
    let wanted = if end.is_empty() { name } else { queue };
    if end.is_empty() && queues.iter().any(|it| it == wanted) {
        return Err(unknown(path, &format!("queues.{wanted}"), "", "", QUEUE_PARTS.to_vec()));
    }
    Err(unknown(path, "queues", wanted, &end, queues.iter().map(String::as_str).collect()))
}

fn counter(path: &[&str], name: &str, experiment: &Experiment) -> Result<(), ConfigError> {
    let counters = experiment.counters();
    let (layer, counter) = name.rsplit_once('.').unwrap_or((name, ""));
    let Some(counts) = counters.get(layer) else {
        let end = format!(".{counter}");
        return Err(unknown(path, "counters", layer, &end, counters.keys().map(String::as_str).collect()));
    };
    // What is counted of streams is known once there is one.
    if counts.contains_key(counter) || may_come(counts, counter) || experiment.hears_streams(layer) {
        return Ok(());
    }
    Err(unknown(path, &format!("counters.{layer}"), counter, "", counts.keys().map(String::as_str).collect()))
}

/// That there is no `above.name`, what there is, and what is nearest; `end` follows the name.
fn unknown(path: &[&str], above: &str, name: &str, end: &str, mut known: Vec<&str>) -> ConfigError {
    let near = nearest(name, &known).map(|near| format!("\"{above}.{near}{end}\""));
    let more = known.len().saturating_sub(MOST);
    known.truncate(MOST);
    let list = known.join(", ");
    let list = if more > 0 { format!("{list} and {more} others") } else { list };
    let problem = if name.is_empty() {
        format!("it does not say which of {above} is meant")
    } else {
        format!("there is no {above}.{name}")
    };
    let fault = ConfigError::at(path, problem).expected(format!("{above}.NAME{end} with one of {list}"));
    match near {
        Some(near) => fault.suggest(near),
        None => fault,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::laboratory::Laboratory;
    use crate::progress::Progress;
    use crate::reproduce::{Options, Plan, Runner as _};
    use crate::scenario::{Choice, Document};
    use crate::table::{Layout, Lines};

    const LINE: &str = r#"
title = "A line"
host.client.graph = ["tcp", "ip", "l0"]
host.server.like = "client"
link.line = { ends = ["client", "server"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms" }
load.bulk = { kind = "netperf", from = "client", to = "server", message = "8 KiB" }
run.duration = "200 ms"
report.value = "${value}"
define.value = "goodput_mbps"
"#;

    /// What is said of a value; nothing where it is taken.
    fn said(value: &str) -> Option<String> {
        said_of(&LINE.replace("${value}", value))
    }

    fn said_of(text: &str) -> Option<String> {
        let document = Document::parse("line", "line.toml", text).unwrap();
        let points = document.points(&Choice::default()).map_err(|fault| fault.to_string());
        let points = match points {
            Ok(points) => points,
            Err(said) => return Some(said),
        };
        Laboratory::default().check(&points[0]).err().map(|fault| points[0].locate(fault).to_string())
    }

    #[test]
    fn a_name_that_no_row_has_is_refused_before_anything_runs() {
        for (value, wanted) in [
            (
                "queues.lin.a.p95",
                "there is no queues.lin.a; did you mean \"queues.line.a.p95\"? (expected queues.NAME.p95 with one of line.a, line.b, line.client, line.server)",
            ),
            ("queues.line.a.p96", "there is no queues.line.a.p96; did you mean \"queues.line.a.p95\"?"),
            (
                "queues.line.a",
                "it does not say which of queues.line.a is meant; expected queues.line.a.NAME with one of mean, p50, p95, p99, max",
            ),
            ("queues.line.router.max", "there is no queues.line.router"),
            ("queues.line.clientt.max", "did you mean \"queues.line.client.max\"?"),
            ("counters.line.a_drop", "did you mean \"counters.line.a_drops\"?"),
            (
                "counters.clientt.tcp.timeouts",
                "there is no counters.clientt.tcp; did you mean \"counters.client.tcp.timeouts\"?",
            ),
            (
                "counters.line.dropped, queue full",
                "there is no counters.line.dropped, queue full; expected counters.line.NAME with one of a_",
            ),
            ("counters.client.l0.dropped, queue ful", "did you mean \"counters.client.l0.dropped, queue full\"?"),
            ("held.sendbuffer", "did you mean \"held.send buffer\"?"),
        ] {
            let said = said(value).unwrap_or_else(|| panic!("{value} is taken"));
            assert!(said.contains(wanted), "{value}: {said}");
            assert!(said.starts_with("line.toml:8: report.value = "), "{said}");
        }
        for value in ["queues.line.a.p95", "queues.line.client.p95", "counters.line.server_drops", "held.send buffer"] {
            assert_eq!(said(value), None);
        }
        assert_eq!(said("counters.client.ip.dropped, no route"), None, "it is there once something was dropped");
        let claim = LINE.replace(
            "report.value = \"${value}\"",
            "[[claim]]\nwords = \"so\"\nfrom = \"here\"\nleast = 1.0\nvalue = \"queues.line.c.max\"\n[define]\n",
        );
        let claim = claim.replace("define.value", "value");
        let document = Document::parse("line", "line.toml", &claim).unwrap();
        let points = document.points(&Choice::default()).unwrap();
        let fault = Laboratory::default().check(&points[0]).unwrap_err();
        assert_eq!(fault.path().join("."), "claim.0.value");
    }

    #[test]
    fn a_value_that_no_row_of_the_loads_can_have_is_refused_before_anything_runs() {
        let of = |kind: &str, more: &str| {
            let load =
                format!("load.bulk = {{ kind = \"{kind}\", from = \"client\", to = \"server\", message = \"1 KiB\"");
            let text = LINE.replace(
                "load.bulk = { kind = \"netperf\", from = \"client\", to = \"server\", message = \"8 KiB\"",
                &load,
            );
            if more.is_empty() { text } else { text.replace("\"1 KiB\"", &format!("\"1 KiB\", {more}")) }
        };
        let udp = of("udp", "rate = \"1 Mb/s\"").replace("\"tcp\", \"ip\"", "\"udp\", \"ip\"");
        let stopped = of("netperf", "stop = \"100 ms\"");
        let ping = of("ping", "interval = \"10 ms\"").replace("\"tcp\", \"ip\"", "\"ip\"");
        let bulk = of("netperf", "");
        let own = format!("{bulk}report.load = \"bulk\"\n");
        let batches = format!("{bulk}run.batches = 5\n");
        let settled = format!("{bulk}run.warm_up = \"auto\"\n");
        let times = of("netperf", "times = 2");
        let two = format!(
            "{bulk}load.more = {{ kind = \"netperf\", from = \"client\", to = \"server\", message = \"1 KiB\", port = 99 }}\n"
        );
        let slower = "event = [{ at = \"100 ms\", link = \"line\", rate = \"1 Mb/s\" }]\n";
        let (changing, one_changing) = (format!("{two}{slower}"), format!("{bulk}{slower}"));
        let many_times = two.replace("port = 99", "port = 99, times = 2");
        let mixed = format!(
            "{bulk}load.ask = {{ kind = \"rpc\", from = \"client\", to = \"server\", message = \"100 B\", port = 99 }}\n"
        );
        for (text, value, wanted) in [
            (
                &bulk,
                "completion_ms.p99",
                "no row of all loads together has completion_ms: only what comes to an end has it",
            ),
            (&own, "completions", "no row of load.bulk has completions: only what comes to an end has it"),
            (&bulk, "delay_ms.p99", "has delay_ms: only datagrams have it"),
            (
                &bulk,
                "with_opening_ms.p99",
                "has with_opening_ms: only rpc has it; expected one of goodput_mbps, octets, measured_s, longest_gap_s, limit_mbps, jain,",
            ),
            (&bulk, "lost_percent", "has lost_percent: only datagrams and echoes have it"),
            (
                &own,
                "queues.line.a.p95",
                "no row of load.bulk has queues: what lines, switches and layers count is in rows of all loads",
            ),
            (&own, "counters.line.a_drops", "no row of load.bulk has counters"),
            (&udp, "retransmissions", "has retransmissions: only connections of TCP have it"),
            (&udp, "held.pacing", "has held: only connections of TCP have it"),
            (&udp, "round_trip_ms.p50", "has round_trip_ms: only connections of TCP and pings have it"),
            (&ping, "jain", "has jain: echoes share nothing"),
            (
                &ping,
                "limit_mbps",
                "has limit_mbps: echoes bring no goodput, and so have no limit; expected one of goodput_mbps, octets, measured_s, longest_gap_s, lost_percent, round",
            ),
            (
                &bulk,
                "half_width_mbps",
                "has half_width_mbps: only a run in `batches` of [run] has it; expected one of goodput",
            ),
            (&bulk, "warm_up_s", "has warm_up_s: only a run with `warm_up = \"auto\"` in [run] has it"),
            (&bulk, "raw_mbps", "has raw_mbps: only a load with `times` has it"),
            (
                &changing,
                "limit_mbps",
                "no row of all loads together has limit_mbps: a line changes while several loads share it",
            ),
            (
                &many_times,
                "limit_mbps",
                "no row of all loads together has limit_mbps: what is shown of a load is `times` what it was",
            ),
            (&mixed, "jain", "`load` in [report] names one"),
            (&mixed, "completion_ms.p99", "`load` in [report] names one"),
        ] {
            let said = said_of(&text.replace("${value}", value)).unwrap_or_else(|| panic!("{value} is taken"));
            assert!(said.contains(wanted), "{value}: {said}");
            assert!(said.starts_with("line.toml:8: report.value = "), "{said}");
        }
        for (text, value) in [
            (&stopped, "completion_ms.p99"),
            (&bulk, "retransmissions"),
            (&bulk, "round_trip_ms.p99"),
            (&own, "jain"),
            (&bulk, "limit_mbps"),
            (&udp, "lost_percent"),
            (&udp, "delay_ms.max"),
            (&udp, "jain"),
            (&ping, "round_trip_ms.max"),
            (&ping, "lost_percent"),
            (&mixed, "held.pacing"),
            (&batches, "half_width_mbps"),
            (&settled, "warm_up_s"),
            (&times, "raw_mbps"),
            (&two, "limit_mbps"),
            (&one_changing, "limit_mbps"),
        ] {
            assert_eq!(said_of(&text.replace("${value}", value)), None, "{value}");
        }
    }

    /// A run says itself what its batches, its warm-up and the octets that were carried are.
    #[test]
    fn what_a_run_says_of_itself_is_shown() {
        let text = LINE.replace("\"200 ms\"", "\"200 ms\"\nrun.batches = 5").replace("${value}", "half_width_mbps");
        let document = Document::parse("line", "line.toml", &text).unwrap();
        let plan = Plan::new(&[document], &Choice::default(), &Laboratory::default()).unwrap();
        let laboratory = Arc::new(Laboratory::default());
        let results = plan.run(&laboratory, Options::default(), &mut Progress::hidden()).unwrap().remove(0);
        let table = results.table();
        assert!(table.title.contains("half width") && table.title.contains("Mb/s"), "{}", table.title);
        let crate::rows::Parameter::Number(half) = results.rows().next().unwrap().parameter("half_width_mbps").unwrap()
        else {
            panic!("no number")
        };
        let drawn = table.draw(Layout { lines: Lines::Markdown, width: None });
        assert!(*half > 0.0 && drawn.contains(&format!("{half:.2}")), "{half} {drawn}");
    }

    /// Echoes that are all in flight at the end tell nothing, and are no failure.
    #[test]
    fn a_value_that_a_run_lacks_leaves_its_rows() {
        let text = LINE
            .replace("\"netperf\"", "\"ping\"")
            .replace("report.value = \"${value}\"\ndefine.value = \"goodput_mbps\"\n", "");
        let text = text.replace("200 ms", "8 ms");
        let document = Document::parse("line", "line.toml", &text).unwrap();
        let plan = Plan::new(&[document], &Choice::default(), &Laboratory::default()).unwrap();
        let laboratory = Arc::new(Laboratory::default());
        let results = plan.run(&laboratory, Options::default(), &mut Progress::hidden()).unwrap().remove(0);
        assert_eq!(results.failures(), []);
        assert_eq!(results.rows().count(), 2);
        let table = results.table().draw(Layout { lines: Lines::Markdown, width: None });
        assert!(
            table.contains("no lost_percent: of nothing that was sent while it was measured is it known yet"),
            "{table}"
        );
    }

    #[test]
    fn a_host_is_the_direction_in_which_it_sends() {
        let value = |text: &str| {
            let document = Document::parse("line", "line.toml", &LINE.replace("${value}", text)).unwrap();
            let points = document.points(&Choice::default()).unwrap();
            let row = Laboratory::default().run(&points[0]).unwrap().rows.remove(0);
            row.value(&points[0].scenario.report.shown()).unwrap()
        };
        assert!(value("counters.line.client_octets") > 10.0 * value("counters.line.server_octets"));
        assert_eq!(value("queues.line.client.max"), value("queues.line.a.max"));
    }
}
