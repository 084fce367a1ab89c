//! What stands below a table.

use core::fmt::Write as _;
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::Limit;
use kumiki_octets::text::counted;

use crate::experiment::{Bound, LoadResult, Measured};
use crate::rows::{Row, Scope};
use crate::scenario::{Happening, Scenario};
use crate::stats;
use kumiki_config::quantity::in_seconds;

/// What a reader of the table should know beside the rates, of one load where that is all that is shown.
pub(super) fn notes(measured: &Measured, scenario: &Scenario) -> Vec<String> {
    if let Some(load) = scenario.report.load.as_ref().and_then(|name| measured.loads.get(name)) {
        return notes_of(load, measured);
    }
    let mut notes = Vec::new();
    let loads = scenario.loads().into_iter();
    for (name, load) in loads.filter_map(|(name, _)| measured.loads.get_key_value(name)) {
        let own = notes_of(load, measured);
        match measured.loads.len() {
            1 => notes.extend(own),
            _ => notes.extend(own.into_iter().map(|note| format!("{name}: {note}"))),
        }
    }
    notes
}

/// That the total is more than all loads brought together over the time of all of them, where they were not there at
/// one time: it is the sum of what each brought over its own.
pub(super) fn at_other_times(measured: &Measured, scenario: &Scenario) -> Option<String> {
    const MORE: f64 = 1.02;
    // What is shown so many times is another sum.
    if scenario.load.values().any(|load| load.times.is_some()) {
        return None;
    }
    // Echoes bring nothing: beside them the total is that of the others.
    let brings = |load: &&LoadResult| !load.time.is_zero() && load.flows.iter().any(|flow| flow.octets > 0);
    let bring = || measured.loads.values().filter(brings);
    let (began, ended) = (bring().map(|load| load.began).min()?, bring().map(|load| load.began + load.time).max()?);
    let time = ended.saturating_since(began).as_secs_f64();
    let octets: u64 = bring().flat_map(|load| &load.flows).map(|flow| flow.octets).sum();
    #[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
    let whole = octets as f64 * 8.0 / time / 1e6;
    // Beside the one load that is asked for the total is told as that of all.
    let total = if scenario.report.load.is_some() { "the goodput of all loads" } else { "the total" };
    (bring().count() > 1 && measured.total.goodput_mbps > whole * MORE).then(|| {
        format!(
            "{total} is the sum of what each load brought over its own time, and they were not all there at once: over the {time:.2} s from the first beginning to the last end it was {whole:.2} Mb/s"
        )
    })
}

/// So many of what happens, or of lines that were not there, are told; an event may come again and again.
const TOLD: usize = 5;

/// What happened at given times of a run that ended at `end`, and what would have happened later, and so did not.
pub(super) fn happened(scenario: &Scenario, end: Instant) -> Vec<String> {
    let end = end.saturating_since(Instant::ZERO);
    let (before, late): (Vec<Happening>, Vec<Happening>) =
        scenario.happenings().into_iter().partition(|it| it.at < end);
    let told = |what: &str, all: Vec<Happening>| {
        // In the place of one that is left out there would be as many words.
        let count = if all.len() == TOLD + 1 { all.len() } else { TOLD };
        let mut told: Vec<String> = all.iter().take(count).map(Happening::told).collect();
        let more = all.len().saturating_sub(count);
        told.extend((more > 0).then(|| format!("and {more} more")));
        (!told.is_empty()).then(|| format!("{what}: {}", told.join("; ")))
    };
    let late = told("after the end of the run, and so never", late);
    told("during the run", before).into_iter().chain(late).collect()
}

/// Why a run is no result: a file did not come to its end, or there was no connection where one was refused, or where
/// none was at all. One of several loads that nobody answers, or that TCP has given up calling, is only unlucky, and
/// that is a result, too.
pub(super) fn failed(measured: &Measured) -> Option<String> {
    let file = measured.total.failure.as_ref().map(|why| format!("the transfer of the file did not end: {why}"));
    file.or_else(|| {
        // A ping that nobody has answered either makes no result of it.
        let all = measured.loads.values().all(|load| load.unconnected.is_some() || load.unanswered);
        measured.loads.iter().find_map(|(name, load)| {
            let none = load.unconnected.as_ref().filter(|it| all || !it.silent)?;
            let of = if measured.loads.len() > 1 { format!(" for load.{name}") } else { String::new() };
            Some(format!("no connection was established{of}: {}", none.why))
        })
    })
}

/// Whether that a run failed, and `why`, tells what a `note` does.
pub(super) fn is_told(note: &str, why: &str) -> bool {
    why.contains(note.split_once(UNCONNECTED).map_or(note, |(_, rest)| rest))
}

/// What stands before why there was no connection.
const UNCONNECTED: &str = "no connection was established: ";

fn notes_of(load: &LoadResult, measured: &Measured) -> Vec<String> {
    let all = |what| counted(load.flows.len() as u64, what).to_string();
    let mut aborted: BTreeMap<String, u64> = BTreeMap::new();
    for reason in load.flows.iter().filter_map(|flow| flow.aborted.as_ref()) {
        *aborted.entry(reason.to_string()).or_default() += 1;
    }
    let was = |count| if count == 1 { "was" } else { "were" };
    let told_of_aborts =
        |(why, count): (String, u64)| format!("{count} of {} {} aborted: {why}", all("session"), was(count));
    let mut notes: Vec<String> = aborted.into_iter().map(told_of_aborts).collect();
    if let Some(none) = &load.unconnected {
        notes.push(format!("{UNCONNECTED}{}", none.why));
    } else if load.stopped > 0 {
        let stopped = load.stopped;
        let what = if load.units.is_some() { all("stream") + " of datagrams" } else { all("connection") };
        notes.push(format!("{stopped} of {what} transferred nothing for a second or more"));
    }
    if load.unbegun > 0 && load.unconnected.is_none() {
        notes.push(format!("{} of {} would have begun after the end of the run", load.unbegun, all("session")));
    }
    // What is there again is not why, but took its part of the time.
    let meanwhile = (!load.away.is_empty()).then(|| format!("; meanwhile {}", away(load)));
    let why = load.cut_off.as_ref().map(|why| format!(": {why}")).or(meanwhile).unwrap_or_default();
    // Those that had not begun are told of already.
    let begun = load.unfinished.saturating_sub(load.unbegun);
    if begun > 0 && load.unconnected.is_none() {
        let ended = load.flows.iter().filter(|flow| flow.completion.is_some()).count() as u64;
        let of_those = if load.unbegun > 0 { " that had begun" } else { "" };
        let all = counted(ended + begun, "transfer");
        notes.push(format!("{ended} of {all}{of_those} came to an end{why}"));
    } else if let Some(why) = load.cut_off.as_ref().filter(|_| load.unconnected.is_none()) {
        notes.push(format!("what was asked for did not all come: {why}"));
    }
    notes.extend(stragglers(load));
    notes.extend(small(load).or_else(|| small_beside_others(load)));
    notes.extend(unheard(load, measured));
    notes.extend(load.units.map(|units| units.to_string()));
    notes.extend(load.echoes.map(|echoes| match echoes.left_in_vain > 0 && !load.away.is_empty() {
        true => format!("{echoes}; {}", away(load)),
        false => echoes.to_string(),
    }));
    notes
}

/// Which lines on its way were not there.
fn away(load: &LoadResult) -> String {
    let mut told: Vec<&str> = load.away.iter().map(String::as_str).take(TOLD).collect();
    let more = load.away.len().saturating_sub(TOLD);
    let rest = format!("and {more} more");
    told.extend((more > 0).then_some(rest.as_str()));
    told.join(", ")
}

/// What the last of several transfers or calls waited for while nothing was on their lines, where that is not what held
/// most of them for most of the time.
fn stragglers(load: &LoadResult) -> Option<String> {
    let idle = load.held_while_idle()?;
    let (limit, share) = idle.first()?;
    let is_same = load.causes().first().is_none_or(|(other, _)| other == limit);
    let part = load.idle_seconds() / load.time.as_secs_f64();
    (!is_same).then(|| {
        format!(
            "for {:.0} % of the time nothing was on the lines of those that were not through: they waited for {}, {:.0} % of that",
            part * 100.0,
            limit.name(),
            share * 100.0
        )
    })
}

/// That waits of small segments, with what of them the peer kept acknowledgments back, are what held a load for the
/// most time, where no share of it alone says so.
fn small(load: &LoadResult) -> Option<String> {
    let foremost = |shares: Vec<(Limit, f64)>| shares.first().copied();
    let (_, whole) = foremost(load.causes()).filter(|(limit, _)| *limit == Limit::Coalescing)?;
    let held = load.held();
    foremost(held.clone()).filter(|(limit, _)| *limit != Limit::Coalescing)?;
    let alone = held.iter().find(|(limit, _)| *limit == Limit::Coalescing).map_or(0.0, |(_, share)| *share);
    let [whole, kept] = [whole, whole - alone].map(|share| share * 100.0);
    Some(format!(
        "small segments waited for acknowledgments for {whole:.0} % of the time, which the peer kept back for {kept:.0} %: `coalesce = \"never\"` saves the one, an acknowledgment at once (`ack = {{ every = 1 }}` of TCP at the peer) the other alone"
    ))
}

/// That calls wait for acknowledgments with the ends of their answers for a good part of the time in which they do not
/// pause, where what held them for the most of that has another name.
fn small_beside_others(load: &LoadResult) -> Option<String> {
    const GOOD: f64 = 0.2;
    let part = Some(load.coalesced()).filter(|part| *part >= GOOD)?;
    let held = load.held().into_iter();
    let (limit, _) = held.into_iter().find(|(limit, _)| *limit != Limit::Application)?;
    (limit != Limit::Coalescing).then(|| {
        format!(
            "small segments waited for acknowledgments for {:.0} % of the time of calls, which is in `{}` where these waited behind what others send: `coalesce = \"never\"` of TCP where they are written lets them go at once",
            part * 100.0,
            Limit::Queue.name()
        )
    })
}

/// That flows opened late and broadcasts were given up: what a host asks all others, so that it can call.
fn unheard(load: &LoadResult, measured: &Measured) -> Option<String> {
    // ARP asks again after a second.
    const ASKS_AGAIN: Duration = Duration::from_secs(1);
    let late = load.flows.iter().filter(|flow| flow.opening() >= ASKS_AGAIN).count() as u64;
    let is_of_groups = |name: &str| name.ends_with("_group_drops");
    let mut counts = measured.counters.values().flatten();
    let are_dropped = counts.any(|(name, count)| is_of_groups(name) && *count > 0);
    (late > 0 && are_dropped).then(|| {
        format!(
            "{late} of {} took a second or more to open, and broadcasts found no room in full queues: who asks for a MAC address (ARP) asks again after a second",
            counted(load.flows.len() as u64, "session"),
        )
    })
}

/// The rows that say what held what is shown: of the one load that is asked for, or of each; of all where there is one.
fn shown<'a>(rows: &'a [Row], scenario: &'a Scenario) -> impl Iterator<Item = &'a Row> {
    let is_alone = scenario.load.len() < 2;
    rows.iter().filter(move |row| match (&scenario.report.load, is_alone) {
        (Some(load), _) => row.scope == Scope::Load && row.load.as_ref() == Some(load),
        (None, true) => row.scope == Scope::Total,
        (None, false) => row.scope != Scope::Flow,
    })
}

/// Which CPUs held what is bound by a host, and how busy they were.
pub(super) fn of_cpus(rows: &[Row], scenario: &Scenario, measured: &Measured) -> Vec<String> {
    let mut held: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for row in shown(rows, scenario).filter(|row| row.bound_by == Bound::Host.name()) {
        let load = row.load.as_ref();
        let result = load.map_or(Some(&measured.total), |load| measured.loads.get(load));
        let is_of_all = load.is_none() && measured.loads.len() > 1;
        if let Some((cpu, taken)) = result.filter(|_| !is_of_all).and_then(LoadResult::busiest_cpu) {
            let part = format!("{:.1} %", taken * 100.0);
            held.entry((cpu, part)).or_default().extend(load.map(String::as_str));
        }
    }
    let told = |((cpu, part), loads): ((&str, String), Vec<&str>)| {
        let of = if scenario.load.len() < 2 { String::new() } else { format!("{}: ", loads.join(", ")) };
        format!(
            "{of}the CPU that had no time left is {cpu}, taken for {part} of the time; what waits for it is in a queue of that host, and not in those of lines (`queues`)"
        )
    };
    held.into_iter().map(told).collect()
}

/// What a faster CPU could bring at most, where it is what binds and a line is next to it.
pub(super) fn next_to_cpu(rows: &[Row], scenario: &Scenario) -> Vec<String> {
    /// From this part of what the line leaves on it is next.
    const NEXT: f64 = 0.9;
    let is_alone = scenario.load.len() < 2;
    let told = |row: &Row| {
        let limit =
            row.limit_mbps.filter(|limit| row.bound_by == Bound::Host.name() && row.goodput_mbps >= NEXT * limit)?;
        let more = (limit / row.goodput_mbps - 1.0).max(0.0) * 100.0;
        let of = match &row.load {
            _ if is_alone || scenario.report.load.is_some() => String::new(),
            Some(load) => format!("{load}: "),
            None => "all loads: ".to_owned(),
        };
        Some(format!(
            "{of}beside the CPU the line is nearly full: a faster host brings at most {more:.1} % more, the {limit:.2} Mb/s that the octets of all layers leave"
        ))
    };
    shown(rows, scenario).filter_map(told).collect()
}

/// At which devices a considerable part of the cells that came were of PDUs that had lost another one on the way.
pub(super) fn cells_in_vain(measured: &Measured) -> Vec<String> {
    const CONSIDERABLE: f64 = 0.02;
    let count = |counts: &BTreeMap<String, u64>, name| counts.get(name).copied().unwrap_or(0);
    let is_cut = |counts: &BTreeMap<String, u64>| count(counts, "overflow") > 0 && count(counts, "epd") == 0;
    let cure = if measured.counters.values().any(is_cut) {
        ": `discard = \"epd\"` of a switch drops PDUs whole before its queue is full"
    } else {
        ""
    };
    let told = |(name, counts): (&String, &BTreeMap<String, u64>)| {
        let device = name.strip_suffix(" SAR")?;
        #[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
        let [all, vain] = ["cells_in", "cells_in_vain"].map(|name| count(counts, name) as f64);
        let share = vain / all;
        (share >= CONSIDERABLE).then(|| {
            format!(
                "{:.1} % of the cells that came to {device} were of PDUs with a hole, and brought nothing{cure}",
                share * 100.0
            )
        })
    };
    measured.counters.iter().filter_map(told).collect()
}

/// Which hosts had no power, and for how long.
pub(super) fn without_power(measured: &Measured) -> Option<String> {
    let hosts =
        measured.without_power.iter().map(|(host, time)| format!("{host} had no power for {}", in_seconds(*time)));
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

    /// What is told of a line that goes down at these times.
    fn told(times: &str) -> Vec<String> {
        let event = format!("event = [{{ at = \"{times}\", link = \"line\", up = false }}]\n[define]\nplayout");
        let document = Document::parse("sound", "sound.toml", &SOUND.replace("define.playout", &event)).unwrap();
        let points = document.points(&Choice::default()).unwrap();
        let notes = Laboratory::default().run(&points[0]).unwrap().notes;
        notes.into_iter().filter(|note| note.contains("link.line")).collect()
    }

    #[test]
    fn what_happens_is_told_once_whether_values_over_time_are_kept_or_not() {
        assert_eq!(told("2500 ms"), ["during the run: at 2.5 s link.line down"]);
        // As many words would say that there is one more.
        let six = told("1 s .. 2.25 s step 250 ms");
        assert!(six[0].ends_with("; at 2.25 s link.line down"), "{six:?}");
        let seven = told("1 s .. 2.5 s step 250 ms");
        assert!(seven[0].ends_with("; at 2 s link.line down; and 2 more"), "{seven:?}");
        assert_eq!(told("90 s"), ["after the end of the run, and so never: at 90 s link.line down"]);
        let both = told("3 s, 200 min");
        assert_eq!(both.len(), 2);
        assert!(both[1].ends_with("never: at 12000 s link.line down"), "{both:?}");
        let many = told("1 s .. 3 s step 100 ms");
        assert!(many[0].ends_with("at 1.4 s link.line down; and 16 more"), "{many:?}");
    }

    /// Whether nothing came because it is lost or because it is not there yet is known after a while only.
    #[test]
    fn where_nothing_arrives_nobody_says_that_nothing_was_lost() {
        let note = |duration: &str| {
            let text = SOUND.replace("run.duration = \"4 s\"", &format!("run.duration = \"{duration}\""));
            let text = text
                .replace("impair.jitter = \"40 ms\"", "impair.loss = \"100 %\"")
                .replace("playout = \"${playout}\"", "");
            let text =
                text.replace("define.playout = \"1 ms\"", "").replace("payload_type = 0, }", "payload_type = 0 }");
            let document = Document::parse("sound", "sound.toml", &text).unwrap();
            let points = document.points(&Choice::default()).unwrap();
            let notes = Laboratory::default().run(&points[0]).unwrap().notes;
            notes.into_iter().find(|note| note.contains("datagrams sent")).unwrap()
        };
        assert_eq!(note("4 s"), "201 datagrams sent, 0 received, 201 lost");
        assert_eq!(note("500 ms"), "26 datagrams sent, none received");
    }

    /// A router whose CPU takes 150 us for each packet that it sends on, and 150 us for each acknowledgment: a segment
    /// and a half of these take 300 us.
    #[test]
    fn a_cpu_on_the_way_that_holds_loads_is_named() {
        let text = r#"
title = "A slow router"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
host.r = { graph = { ip = ["l0", "l1"] }, ip.forwarding = true, prices = { ip = { pop = "${pop}" } } }
link.x = { ends = ["a", "r.l0"], medium = "point-to-point", rate = "100 Mb/s", propagation = "2 ms", queue_frames = 100 }
link.y = { ends = ["r.l1", "b"], medium = "point-to-point", rate = "100 Mb/s", queue_frames = 100 }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run = { warm_up = "1 s", duration = "1 s" }
define.pop = "150 us"
"#;
        let told = |text: &str, set: &[&str]| {
            let document = Document::parse("slow", "slow.toml", text).unwrap();
            let set = set.iter().map(|it| (*it).to_owned()).collect();
            let points = document.points(&Choice { set, ..Choice::default() }).unwrap();
            let notes = Laboratory::default().run(&points[0]).unwrap().notes;
            notes.into_iter().filter(|note| note.contains("no time left")).collect::<Vec<_>>()
        };
        let alone = told(text, &[]);
        assert_eq!(alone.len(), 1, "{alone:?}");
        assert!(alone[0].starts_with("the CPU that had no time left is r.cpu, taken for "), "{alone:?}");
        assert_eq!(told(text, &["pop=1 us"]), [""; 0]);
        let more = "load.more = { kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\", port = 99 }";
        let both = told(&format!("{text}{more}\n"), &[]);
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(both[0].starts_with("bulk, more: the CPU that had no time left is r.cpu, "), "{both:?}");
    }

    /// The end of an answer waits for the acknowledgment of what is before it, and that behind the bulk data: the share
    /// of both is called `queue`.
    #[test]
    fn small_segments_that_wait_behind_what_others_send_are_told_of() {
        let text = r#"
title = "Calls beside bulk"
host.c.graph = ["tcp", "ip", "l0"]
host.s = { like = "c", tcp = { coalesce = "${coalesce}" } }
link.line = { ends = ["c", "s"], medium = "point-to-point", rate = "10 Mb/s", propagation = "20 ms", queue_frames = "1 bdp" }
load.calls = { kind = "rpc", from = "c", to = "s", message = "300 B", response = "exponential 20 kB", think = "exponential 200 ms", sessions = 4 }
load.bulk = { kind = "netperf", from = "s", to = "c", message = "8 KiB", port = 99 }
run = { warm_up = "5 s", duration = "20 s" }
define.coalesce = "nagle"
"#;
        let told = |coalesce: &str| {
            let document = Document::parse("calls", "calls.toml", text).unwrap();
            let set = vec![format!("coalesce={coalesce}")];
            let points = document.points(&Choice { set, ..Choice::default() }).unwrap();
            let outcome = Laboratory::default().run(&points[0]).unwrap();
            let calls = outcome.rows.into_iter().find(|row| row.load.as_deref() == Some("calls")).unwrap();
            let note = outcome.notes.into_iter().find(|note| note.starts_with("calls: small segments"));
            (note, calls.completion_ms["mean"])
        };
        let ((note, nagle), (none, never)) = (told("nagle"), told("never"));
        assert!(note.as_ref().is_some_and(|note| note.contains("`coalesce = \"never\"`")), "{note:?}");
        assert_eq!(none, None);
        assert!(never < 0.8 * nagle, "{never} of {nagle}");
    }
}
