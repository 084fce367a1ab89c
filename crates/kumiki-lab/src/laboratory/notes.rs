//! What stands below a table.

use core::fmt::Write as _;
use std::collections::BTreeMap;

use kumiki_graph::Duration;

use crate::experiment::{LoadResult, Measured};
use crate::scenario::{Scenario, quantity};
use crate::stats;

/// Below this the fairness of sessions is worth a note.
const UNFAIR: f64 = 0.95;

/// What a reader of the table should know beside the rates, of one load where that is all that is shown.
pub(super) fn notes(measured: &Measured, scenario: &Scenario) -> Vec<String> {
    if let Some(load) = scenario.report.load.as_ref().and_then(|name| measured.loads.get(name)) {
        return notes_of(load);
    }
    let mut notes = Vec::new();
    let loads = scenario.loads().into_iter();
    for (name, load) in loads.filter_map(|(name, _)| measured.loads.get_key_value(name)) {
        let own = notes_of(load);
        match measured.loads.len() {
            1 => notes.extend(own),
            _ => notes.extend(own.into_iter().map(|note| format!("{name}: {note}"))),
        }
    }
    if measured.loads.len() > 1 {
        notes.extend(unfair(measured.total.jain).map(|note| format!("all flows: {note}")));
    }
    notes
}

/// So many of what comes too late are told; an event may come again and again.
const LATE: usize = 5;

/// What would happen after the end of the run, and so does not.
pub(super) fn late(scenario: &Scenario) -> Option<String> {
    let runs = &scenario.run;
    let time = |text: &String| quantity::<Duration>(&[], text).ok();
    let warm_up = runs.warm_up.as_ref().and_then(time).unwrap_or_default();
    let end = time(&runs.duration)?.as_nanos().saturating_add(warm_up.as_nanos());
    let late = scenario.happenings().into_iter().filter(|it| it.at.as_nanos() >= end);
    let mut late: Vec<String> = late.map(|it| format!("at {} {it}", it.at)).collect();
    let more = late.len().saturating_sub(LATE);
    late.truncate(LATE);
    late.extend((more > 0).then(|| format!("and {more} more")));
    (!late.is_empty()).then(|| format!("after the end of the run: {}", late.join("; ")))
}

fn unfair(jain: Option<f64>) -> Option<String> {
    jain.filter(|jain| *jain < UNFAIR).map(|jain| format!("Jain's index {jain:.3}"))
}

fn notes_of(load: &LoadResult) -> Vec<String> {
    let sessions = load.flows.len();
    let mut aborted: BTreeMap<String, u64> = BTreeMap::new();
    for reason in load.flows.iter().filter_map(|flow| flow.aborted.as_ref()) {
        *aborted.entry(reason.to_string()).or_default() += 1;
    }
    let mut notes: Vec<String> =
        aborted.into_iter().map(|(why, count)| format!("{count} of {sessions} sessions were aborted: {why}")).collect();
    if let Some(none) = &load.unconnected {
        notes.push(format!("no connection was established: {}", none.why));
    } else if load.stopped > 0 {
        let stopped = load.stopped;
        notes.push(format!("{stopped} of {sessions} connections transferred nothing for a second or more"));
    }
    if load.unfinished > 0 && load.unconnected.is_none() {
        let ended = load.flows.iter().filter(|flow| flow.completion.is_some()).count() as u64;
        notes.push(format!("{ended} of {} transfers came to their end", ended + load.unfinished));
    }
    notes.extend(unfair(load.jain));
    notes.extend(load.units.map(|units| units.to_string()));
    notes.extend(load.echoes.map(|echoes| echoes.to_string()));
    notes
}

/// Which hosts had no power, and for how long.
pub(super) fn without_power(measured: &Measured) -> Option<String> {
    let hosts = measured.without_power.iter().map(|(host, time)| format!("{host} had no power for {time}"));
    let hosts: Vec<String> = hosts.collect();
    (!hosts.is_empty()).then(|| hosts.join(", "))
}

/// That the means of batches are too much alike for their interval, where they are.
pub(super) fn alike(batches: &[f64]) -> Option<String> {
    // What chance alone leaves: 1.96 over the root of how many there are.
    let most = 1.96 / f64::from(u32::try_from(batches.len()).unwrap_or(u32::MAX)).sqrt();
    let alike = stats::autocorrelation(batches).filter(|alike| *alike > most)?;
    Some(format!(
        "batches that follow each other are alike (correlation {alike:.2}), so the interval is too narrow: fewer `batches`, or a longer `duration`"
    ))
}

/// How busy the CPUs of each host were on average, and how long the writing program waited beside that.
pub(super) fn cpu_use(measured: &Measured) -> String {
    let mut hosts: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (cpu, busy) in &measured.cpu {
        let host = cpu.split_once('.').map_or(cpu.as_str(), |(host, _)| host);
        hosts.entry(host).or_default().push(*busy);
    }
    let mut text = "CPU use".to_owned();
    for (host, busy) in hosts {
        let mean = stats::mean(&busy).unwrap_or(0.0) * 100.0;
        let _ = write!(text, ", {host} {mean:.0} % of {}", busy.len());
    }
    for (host, waited) in measured.total.waited.iter().filter(|(_, waited)| **waited > 0.0) {
        let waited = waited * 100.0;
        let _ = write!(text, "; the writing program of {host} waits {waited:.0} % of the time");
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::laboratory::Laboratory;
    use crate::reproduce::Runner as _;
    use crate::scenario::{Choice, Document};

    /// Sound over a line that delays each packet by up to 40 ms more.
    const SOUND: &str = r#"
title = "Sound"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms", impair.jitter = "40 ms" }
load.voice = { kind = "rtp", from = "a", to = "b", message = "160 B", rate = "64 kb/s", payload_type = 0, playout = "${playout}" }
run.duration = "4 s"
define.playout = "1 ms"
"#;

    fn note(playout: &str) -> String {
        let document = Document::parse("sound", "sound.toml", SOUND).unwrap();
        let set = vec![format!("playout={playout}")];
        let points = document.points(&Choice { set, quick: false, runs: None }).unwrap();
        let notes = Laboratory::default().run(&points[0]).unwrap().notes;
        notes.into_iter().find(|note| note.contains("datagrams sent")).unwrap()
    }

    #[test]
    fn what_of_a_stream_came_too_late_to_be_played_is_said() {
        let (short, long) = (note("1 ms"), note("50 ms"));
        assert!(long.contains(", 0 too late to be played, jitter "), "{long}");
        assert!(short.contains(" too late to be played") && !short.contains(", 0 too late"), "{short}");
    }

    #[test]
    fn what_would_happen_after_the_end_is_said() {
        let late = |change: &str| {
            let text = SOUND
                .replace("impair.jitter = \"40 ms\"", &format!("schedule = [{{ at = \"{change}\", up = false }}]"));
            let document = Document::parse(
                "sound",
                "sound.toml",
                &text.replace("define.playout = \"1 ms\"", "").replace("${playout}", "1 ms"),
            )
            .unwrap();
            let points = document.points(&Choice::default()).unwrap();
            super::late(&points[0].scenario)
        };
        assert_eq!(late("3 s"), None);
        assert_eq!(late("90 s").as_deref(), Some("after the end of the run: at 90 s link.line down"));
    }
}
