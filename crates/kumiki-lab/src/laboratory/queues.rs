//! Queues that say less of a network than of how it was written down: those without an end that grow to the end of the
//! measured time, and those in which phase decides who finds room. And those in which acknowledgments wait behind what
//! others send.
//!
//! A queue without an end that has grown and fallen again, as behind a burst, is none of these: how long it became is
//! the burst's, and another `duration` changes nothing of it. Its length is in the rows (`max`), and over time in the
//! series.

use kumiki_graph::Duration;
use kumiki_link::Occupancy;

use crate::experiment::{Flow, Limit, LoadResult, Measured};
use crate::limit;
use crate::scenario::{Scenario, Workload};
use crate::stats;
use crate::topology::{Hop, HopKind, Topology, place};
use kumiki_media::{Line, Queue, Rule, Switch};

/// A line that was busy for so much of the time had more to do than it could.
const FULL: f64 = 0.99;

/// So much of what a line sent in a time is worth a word, where that is left over.
const NOTABLE: f64 = 0.01;

/// What grows at one rate is past its middle for half of the time, and for no less than this where arrivals are uneven.
const PASSED: f64 = 0.2;

/// Who sends into a queue without an end.
struct Sender<'a> {
    /// The line or ring.
    name: &'a str,
    /// The host and its device.
    end: &'a str,
    /// What the queue is called.
    queue: String,
    /// What has its counters, and what stands before their names.
    counters: String,
    prefix: &'static str,
}

/// All of them. A switch says itself how much may wait for its ports.
fn senders(scenario: &Scenario) -> Vec<Sender<'_>> {
    // Of this rule there is always room for so many and no more.
    let is_endless = |queue: &Queue| queue.queue_frames.is_none() && queue.managed.queue != Rule::FqCodel;
    let mut all = Vec::new();
    for (name, link) in &scenario.link {
        if matches!(link.line(), Ok(Line::Frames(frames)) if is_endless(&frames.queue)) {
            let ends = link.ends.iter().zip([("a", "a_"), ("b", "b_")]);
            let own = ends.filter(|(end, _)| !scenario.switch.contains_key(place(end)));
            all.extend(own.map(|(end, (letter, prefix))| Sender {
                name,
                end,
                queue: format!("{name}.{letter}"),
                counters: name.clone(),
                prefix,
            }));
        }
    }
    for (name, ring) in &scenario.ring {
        if ring.ring().is_ok_and(|it| is_endless(&it.queue)) {
            all.extend(ring.ends.iter().map(|end| {
                let station = format!("{name}.{}", ring.station(end));
                Sender { name, end, queue: station.clone(), counters: station, prefix: "" }
            }));
        }
    }
    all
}

/// Which queues without an end grew for all of the measured time, or from some time on to its end: more came than their
/// lines take.
#[expect(clippy::cast_precision_loss, reason = "counts for a sentence")]
pub(super) fn endless(measured: &Measured, scenario: &Scenario) -> Vec<String> {
    let mut told = Vec::new();
    for sender in senders(scenario) {
        let Sender { name, end, queue, counters, prefix } = sender;
        let queue = measured.queues.get(&queue);
        let counters = measured.counters.get(&counters);
        let count = |what: &str| counters?.get(&format!("{prefix}{what}")).copied();
        let (Some(queue), Some(sent), Some(busy)) = (queue, count("frames"), count("busy_ns")) else {
            continue;
        };
        let (before, grown) = (queue.began_with(), queue.length().saturating_sub(queue.began_with()) as f64);
        let (whole, is_full) = (queue.whole(), busy as f64 >= queue.whole().as_nanos() as f64 * FULL);
        // What grows at one rate is half of the time on either side of its middle; what has grown and then stayed is
        // not, nor a burst at the end.
        let middle = queue.quantile(0.5).saturating_sub(before) as f64 / grown;
        // Nor is what falls and rises, as behind bursts: that passes its middle again each time, and here for the last
        // time.
        let half = queue.length().midpoint(before);
        let passed = queue.longer_for(half);
        let has_passed = passed.as_secs_f64() >= whole.as_secs_f64() * PASSED;
        if grown < (sent as f64 * NOTABLE).max(1.0) || !has_passed {
            continue;
        }
        let growing = queue.longer_for(before);
        let part = growing.as_secs_f64() / whole.as_secs_f64();
        let (when, time_on_line) = if is_full && (0.3..0.8).contains(&middle) {
            ("for all of the measured time".to_owned(), 1.0)
        } else if part < 1.0 && is_even(queue, half, passed, growing) {
            // Meanwhile the line was busy all the time.
            let time = growing.as_nanos() as f64 / busy as f64;
            (format!("for the last {:.0} % of the measured time", part * 100.0), time)
        } else {
            continue;
        };
        let more = grown / (sent as f64 * time_on_line) * 100.0;
        let more = if sent > 0 {
            format!("{more:.1} % more came than the line takes")
        } else {
            "the line took nothing".to_owned()
        };
        told.push(format!(
            "{name}: what {end} sends there waits in a queue without an end (`queue_frames` is not set), which grew {when}, from {before} to {} frames: \
             {more}, so delays and lengths are those of the `duration`",
            queue.length()
        ));
    }
    told
}

/// Whether a queue that has been longer than at first for the time `growing`, and longer than `half` of what it is now
/// for `passed`, grew at one rate, and was never as long before.
fn is_even(queue: &Occupancy, half: u64, passed: Duration, growing: Duration) -> bool {
    let part = passed.as_secs_f64() / growing.as_secs_f64();
    let before = queue.longer_in_all(half).saturating_sub(passed);
    (0.3..0.7).contains(&part) && before.as_secs_f64() <= passed.as_secs_f64() * NOTABLE
}

/// Which loads of TCP hardly get through beside datagrams that come at equal times into the same full queue: there
/// phase may decide who finds room, and not chance.
pub(super) fn in_phase(measured: &Measured, scenario: &Scenario) -> Vec<String> {
    const MOST: f64 = 0.5;
    let topology = Topology::of(scenario);
    let ways = |load: &Workload| -> Vec<(&str, HopKind)> {
        let pairs = load.pairs().filter_map(|(from, to)| topology.way(from, to));
        pairs.flatten().map(|hop| (hop.line, hop.kind)).collect()
    };
    let waits = |flow: &Flow| flow.held().iter().any(|(limit, share)| *limit == Limit::Timeout && *share > MOST);
    let is_locked_out = |load: &LoadResult| load.flows.iter().any(waits);
    let is_periodic = |load: &Workload| {
        load.kind == "udp" && load.on.is_none() && load.arrivals.as_deref().is_none_or(|it| it == "periodic")
    };
    let mut told = Vec::new();
    for (name, load) in scenario.loads() {
        if !measured.loads.get(name).is_some_and(is_locked_out) {
            continue;
        }
        let own = ways(load);
        let shares = |other: &Workload| ways(other).iter().any(|hop| own.contains(hop));
        let is_beside = |(other, load): &(&String, &Workload)| {
            let is_full = measured.loads.get(*other).is_some_and(|result| result.line >= FULL);
            is_periodic(load) && is_full && shares(load)
        };
        told.extend(scenario.loads().into_iter().find(is_beside).map(|(other, _)| {
            format!(
                "{name}: waits for retransmission timers beside {other}, whose datagrams come at equal times into the same full queue: which of the retransmitted segments find room \
                 may be a matter of phase and not of chance; `arrivals = \"poisson\"` in load.{other} shows whether"
            )
        }));
    }
    told
}

/// Which loads of TCP have acknowledgments that wait, for most of their round trips, in a queue that another load
/// fills, or that they fill themselves: their own line is not full, and nothing on it says why they are slow. A queue
/// that serves flows in turn lets acknowledgments pass, but not each other.
pub(super) fn behind_others(measured: &Measured, scenario: &Scenario) -> Vec<String> {
    const MOST: f64 = 0.5;
    let topology = Topology::of(scenario);
    let sends = |load: &Workload, hop: &Hop<'_>| {
        let is_on = |way: Vec<Hop<'_>>| way.iter().any(|it| (it.line, it.kind) == (hop.line, hop.kind));
        let there = |from, to| is_on(topology.way(from, to).unwrap_or_default());
        let back = |from, to| is_on(topology.way_of_answers(to, from).unwrap_or_default());
        // Of calls both ends send data.
        load.pairs().any(|(from, to)| there(from, to) || (load.kind == "rpc" && back(from, to)))
    };
    let loads = scenario.loads();
    let mut told = Vec::new();
    for (name, load) in &loads {
        let waiting = measured.loads.get(*name).filter(|it| load.kind != "rpc" && it.line < FULL);
        let round_trip = waiting.and_then(mean_round_trip);
        let (Some(round_trip), Some((from, to))) = (round_trip, load.pairs().next()) else {
            continue;
        };
        let answers = topology.way_of_answers(to, from).unwrap_or_default();
        told.extend(answers.iter().find_map(|hop| {
            let wait = mean_wait(measured, scenario, hop).filter(|wait| *wait > round_trip * MOST)?;
            // Echoes fill nothing.
            let sending = loads.iter().filter(|(_, load)| load.kind != "ping" && sends(load, hop));
            let sending: Vec<(&str, f64)> =
                sending.map(|(other, _)| (other.as_str(), brought(measured, other))).collect();
            let all: f64 = sending.iter().map(|(_, octets)| octets).sum();
            let (behind, what) = if all < carried(measured, hop)? * MOST {
                let every = limit::segments_each(scenario, to).saturating_mul(4);
                let fewer = format!("fewer of them (`ack = {{ every = {every} }}` of TCP at the reader), or a faster line there,");
                ("each other".to_owned(), fewer)
            } else {
                let others = sending.into_iter().filter(|(other, _)| other != name);
                let (most, _) = others.max_by(|(_, one), (_, two)| one.total_cmp(two))?;
                let in_turn = format!("one that serves flows in turn (`{}.queue = \"fq-codel\"`)", whose(scenario, hop));
                (format!("what {most} sends"), in_turn)
            };
            let [wait, round_trip] = [wait, round_trip].map(|seconds| seconds * 1e3);
            // The one is of all that came there, the other of what was measured once.
            let long = match wait < round_trip {
                true => format!("wait {wait:.0} ms on average, of round trips of {round_trip:.0} ms,"),
                false => format!("wait for most of their round trips, of {round_trip:.0} ms on average,"),
            };
            Some(format!(
                "{name}: its acknowledgments {long} in the queue of what {} sends over {}, behind {behind}: {what} shows what {name} could have",
                hop.out, hop.line
            ))
        }));
    }
    told
}

/// How many octets a load brought while measuring.
fn brought(measured: &Measured, load: &str) -> f64 {
    let load = measured.loads.get(load);
    load.map_or(0.0, |it| it.goodput_mbps * 1e6 / 8.0 * it.time.as_secs_f64())
}

/// How many octets a line carried from one end while measuring.
#[expect(clippy::cast_precision_loss, reason = "a count for a sentence")]
fn carried(measured: &Measured, hop: &Hop<'_>) -> Option<f64> {
    let octets = measured.counters.get(hop.line)?.get(&format!("{}_octets", end_of(hop)?))?;
    Some(*octets as f64)
}

/// By which end, a or b, what crosses a line with frames comes to it.
const fn end_of(hop: &Hop<'_>) -> Option<&'static str> {
    match hop.kind {
        HopKind::FromA => Some("a"),
        HopKind::FromB => Some("b"),
        HopKind::Ring => None,
    }
}

/// The mean round trip of the connections of a load, in seconds.
fn mean_round_trip(load: &LoadResult) -> Option<f64> {
    let all = load.flows.iter().filter_map(|flow| Some(flow.sender.as_ref()?.round_trips.mean_ns()? / 1e9));
    stats::mean(&all.collect::<Vec<_>>())
}

/// How long frames waited on average in the one queue of what is sent over a line with frames, in seconds: how many
/// waited, over how many came in a second (Little). Of a queue that grows more come than go, and those that are still
/// there at the end have not waited for all of their time.
#[expect(clippy::cast_precision_loss, reason = "a count for a sentence")]
fn mean_wait(measured: &Measured, scenario: &Scenario, hop: &Hop<'_>) -> Option<f64> {
    let end = end_of(hop)?;
    let queue = measured.queues.get(&format!("{}.{end}", hop.line))?;
    let sent = *measured.counters.get(hop.line)?.get(&format!("{end}_frames"))?;
    let came = sent + queue.length().saturating_sub(queue.began_with());
    let has_one = own(scenario, hop)?.managed.queue != Rule::FqCodel && came > 0;
    has_one.then(|| queue.mean() * queue.whole().as_secs_f64() / came as f64)
}

/// The queue of what is sent over a line with frames: an Ethernet switch has its own.
fn own(scenario: &Scenario, hop: &Hop<'_>) -> Option<Queue> {
    let Ok(Line::Frames(frames)) = scenario.link.get(hop.line)?.line() else {
        return None;
    };
    match scenario.switch.get(place(hop.out)).map(|switch| switch.switch()) {
        Some(Ok(Switch::Ethernet(switch))) => Some(switch.queue()),
        Some(_) => None,
        None => Some(frames.queue),
    }
}

/// Whose settings say what that queue is.
fn whose(scenario: &Scenario, hop: &Hop<'_>) -> String {
    let switch = place(hop.out);
    if scenario.switch.contains_key(switch) { format!("switch.{switch}") } else { format!("link.{}", hop.line) }
}

#[cfg(test)]
mod tests {
    use crate::laboratory::Laboratory;
    use crate::reproduce::{Outcome, Runner as _};
    use crate::scenario::{Choice, Document};

    fn notes(text: &str, set: &[&str]) -> Vec<String> {
        let document = Document::parse("queue", "queue.toml", text).unwrap();
        let set = set.iter().map(|it| (*it).to_owned()).collect();
        let points = document.points(&Choice { set, ..Choice::default() }).unwrap();
        Laboratory::default().run(&points[0]).unwrap().notes
    }

    const FLOOD: &str = r#"
title = "A flood"
host.a.graph = ["udp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms" }
load.flood = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "${rate}" }
run = { warm_up = "1 s", duration = "4 s" }
define.rate = "12 Mb/s"
"#;

    #[test]
    fn a_queue_without_an_end_that_grows_all_the_time_is_told_of() {
        let told = |text: &str, set: &[&str]| notes(text, set).into_iter().find(|note| note.contains("without an end"));
        let still = format!("event = [{{ at = \"0 s\", link = \"line\", rate = \"0 b/s\" }}]\n{FLOOD}");
        let still = told(&still, &[]).unwrap();
        assert!(still.contains(" frames: the line took nothing, so"), "{still}");
        let flood = told(FLOOD, &[]).unwrap();
        // 1500 datagrams a second come, and 1216 of 1028 octets go.
        assert!(flood.starts_with("line: what a.l0 sends there waits in a queue without an end"), "{flood}");
        assert!(flood.contains(" 23.4 % more came than the line takes"), "{flood}");
        assert_eq!(told(FLOOD, &["rate=9 Mb/s"]), None);
        // What has an end is its own affair, and so is what grew and then stood.
        assert_eq!(told(FLOOD, &["link.line.queue_frames=100000"]), None);
        let tcp = FLOOD.replace("\"udp\"", "\"tcp\"").replace("kind = \"tcp\"", "kind = \"netperf\"");
        assert_eq!(told(&tcp.replace(", rate = \"${rate}\"", "").replace("define.rate", "#"), &[]), None);
    }

    /// 1500 datagrams a second come from 3 s on, so 284 more than go: for two of the four seconds that are measured, or
    /// for 400 ms.
    #[test]
    fn a_queue_that_grows_to_the_end_says_since_when() {
        let told = |start: &str, stop: &str| {
            let text = FLOOD.replace("rate = \"${rate}\"", &format!("rate = \"${{rate}}\", start = \"{start}\"{stop}"));
            notes(&text, &[]).into_iter().find(|note| note.contains("without an end"))
        };
        let late = told("3 s", "").unwrap();
        assert!(late.contains(", which grew for the last 50 % of the measured time, from 0 to 56"), "{late}");
        assert!(late.contains(": 23.4 % more came than the line takes"), "{late}");
        assert_eq!(told("4600 ms", ""), None);
        // It falls again: what it was is the burst's.
        assert_eq!(told("1 s", ", stop = \"4 s\""), None);
    }

    #[test]
    fn a_queue_that_rises_and_falls_with_bursts_does_not_grow_all_the_time() {
        let bursts = FLOOD.replace("rate = \"${rate}\"", "rate = \"${rate}\", on = \"${on}\", off = \"${off}\"");
        let bursts = format!("{bursts}define.on = \"1 s\"\ndefine.off = \"3 s\"\n");
        let told = |set: &[&str]| notes(&bursts, set).into_iter().any(|note| note.contains("without an end"));
        // 5000 datagrams come in a second, and in the next three all but a few hundred have gone; then as many come
        // again.
        let rate = ["rate=40 Mb/s", "run.warm_up=0 s", "run.duration=5 s"];
        assert!(!told(&rate));
        // Short bursts of which too much comes on the whole do let it grow.
        assert!(told(&[&rate[..], &["rate=24 Mb/s", "on=10 ms", "off=10 ms"]].concat()));
    }

    const RING: &str = r#"
title = "A ring"
host.a.graph = ["tcp", "ip", "arp", "llc", "fddi", "f0"]
host.b.like = "a"
host.c.like = "a"
ring.r = { ends = ["a", "b.f0", "c"], medium = "fddi", propagation = "10 us", queue_frames = "${queue}" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run = { warm_up = "200 ms", duration = "1 s", interval = "100 ms" }
define.queue = "1 bdp"
"#;

    fn measured(text: &str, set: &[&str]) -> Outcome {
        let document = Document::parse("queue", "queue.toml", text).unwrap();
        let set = set.iter().map(|it| (*it).to_owned()).collect();
        let points = document.points(&Choice { set, ..Choice::default() }).unwrap();
        Laboratory::default().run(&points[0]).unwrap()
    }

    /// What a station may be without the token for is in a product of bandwidth and delay: with as much TCP has all of
    /// the ring, as with room for all.
    #[test]
    fn stations_of_a_ring_have_queues_and_one_product_is_enough() {
        let of = |queue: &str| measured(RING, &[queue]).rows.remove(0);
        let [all, one, few] = ["queue=1000", "queue=1 bdp", "queue=0.01 bdp"].map(of);
        assert!(one.goodput_mbps > 0.97 * all.goodput_mbps, "{} of {}", one.goodput_mbps, all.goodput_mbps);
        assert!(few.goodput_mbps < 0.7 * all.goodput_mbps, "{} of {}", few.goodput_mbps, all.goodput_mbps);
        let names: Vec<&str> = few.queues.keys().map(String::as_str).collect();
        assert_eq!(names, ["r.a", "r.b", "r.c"]);
        assert!(few.queues["r.a"]["max"] >= 1.0 && few.queues["r.c"]["max"] == 0.0);
        let drops = |place: &str| few.counters[place]["drops"];
        assert!(drops("r") > 0);
        assert_eq!(drops("r"), drops("r.a") + drops("r.b") + drops("r.c"));
    }

    #[test]
    fn a_queue_without_an_end_at_a_station_of_a_ring_is_told_of() {
        let flood = RING.replace("\"tcp\"", "\"udp\"").replace("netperf\"", "udp\", rate = \"120 Mb/s\"");
        let flood =
            flood.replace("8 KiB", "1000 B").replace(", queue_frames = \"${queue}\"", "").replace("define", "#");
        let told = notes(&flood, &[]).into_iter().find(|note| note.contains("without an end")).unwrap();
        assert!(told.starts_with("r: what a.f0 sends there waits in a queue without an end"), "{told}");
    }

    const PHASE: &str = r#"
title = "Datagrams beside TCP"
host.a.graph = { tcp = ["ip"], udp = ["ip"], ip = ["l0"] }
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms", queue_frames = 20 }
load.flood = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "12 Mb/s", arrivals = "${arrivals}", start = "500 ms" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run = { warm_up = "2 s", duration = "10 s" }
define.arrivals = "periodic"
"#;

    #[test]
    fn a_connection_that_starves_beside_periodic_datagrams_may_starve_by_phase() {
        let told = |set: &[&str]| notes(PHASE, set).into_iter().find(|note| note.contains("a matter of phase"));
        let phase = told(&[]).unwrap();
        assert!(phase.starts_with("bulk: waits for retransmission timers beside flood"), "{phase}");
        assert_eq!(told(&["arrivals=poisson"]), None);
        assert_eq!(told(&["load.flood.rate=2 Mb/s"]), None);
    }

    const ADSL: &str = r#"
title = "ADSL"
host.home.graph = ["tcp", "ip", "l0"]
host.isp.like = "home"
link.dsl = { ends = ["home", "isp"], medium = "point-to-point", rate = ["1 Mb/s", "8 Mb/s"], propagation = "15 ms", queue_frames = "${frames}", queue = "${queue}" }
load.down = { kind = "netperf", from = "isp", to = "home", message = "8 KiB" }
load.up = { kind = "netperf", from = "home", to = "isp", message = "8 KiB" }
run = { warm_up = "10 s", duration = "20 s" }
define = { queue = "drop-tail", frames = 100 }
"#;

    /// The upload fills a queue of a second, and the download has half of its line.
    #[test]
    fn acknowledgments_that_wait_behind_another_load_are_told_of() {
        let told = |text: &str, set: &[&str]| {
            let all = notes(text, set).into_iter().filter(|note| note.contains("acknowledgments wait"));
            all.collect::<Vec<_>>()
        };
        let behind = told(ADSL, &[]);
        let [note] = behind.as_slice() else { panic!("{behind:?}") };
        assert!(
            note.starts_with("down: its acknowledgments wait 3")
                && note.contains(" ms on average, of round trips of 3"),
            "{note}"
        );
        assert!(note.contains(" in the queue of what home.l0 sends over dsl, behind what up sends: "), "{note}");
        // `queue_frames` is of both ends, and a short one takes more from the data than from what is before its
        // acknowledgments.
        assert!(
            note.ends_with(
                ": one that serves flows in turn (`link.dsl.queue = \"fq-codel\"`) shows what down could have"
            ),
            "{note}"
        );
        // Served in turn they do not wait, in a short queue not for long, and alone for nobody.
        assert_eq!(told(ADSL, &["queue=fq-codel"]), [""; 0]);
        assert_eq!(told(ADSL, &["frames=3"]), [""; 0]);
        let up = ADSL.lines().find(|line| line.starts_with("load.up")).unwrap();
        assert_eq!(told(&ADSL.replace(up, ""), &[]), [""; 0]);
    }

    /// A queue without an end grows for as long as it is measured: what came at last waits for longer than any round
    /// trip that was measured.
    #[test]
    fn acknowledgments_in_a_queue_that_grows_wait_for_no_longer_than_their_round_trips() {
        let flood = "load.up = { kind = \"udp\", from = \"home\", to = \"isp\", message = \"1000 B\", rate = \"1.3 Mb/s\", start = \"9 s\" }";
        let up = ADSL.lines().find(|line| line.starts_with("load.up")).unwrap();
        let text = ADSL
            .replace("graph = [\"tcp\", \"ip\", \"l0\"]", "graph = { tcp = [\"ip\"], udp = [\"ip\"], ip = [\"l0\"] }");
        let told = notes(&text.replace(up, flood), &["frames=100000"]);
        let note = told.iter().find(|note| note.contains("acknowledgments wait")).unwrap();
        assert!(note.contains(": its acknowledgments wait for most of their round trips, of "), "{note}");
    }

    /// The line's own `queue` is that of the router: a port of a switch has the switch's.
    #[test]
    fn a_queue_of_a_switch_is_told_of_by_its_own_rule() {
        let text = ADSL.replace("\"ip\", \"l0\"", "\"ip\", \"arp\", \"eth\", \"l0\"");
        let text = text.replace("ends = [\"home\", \"isp\"]", "framing = \"24 B\", ends = [\"sw\", \"isp\"]");
        let switched = format!(
            "{text}\nlink.lan = {{ ends = [\"home\", \"sw\"], medium = \"point-to-point\", rate = \"100 Mb/s\", framing = \"24 B\" }}\n\
             switch.sw = {{ kind = \"ethernet\", queue_frames = 100, queue = \"${{ports}}\" }}\ndefine.ports = \"drop-tail\"\n"
        )
        .replace("define = { queue = \"drop-tail\", frames = 100 }", "define.queue = \"fq-codel\"\ndefine.frames = 100");
        let told = |set: &[&str]| notes(&switched, set).into_iter().find(|note| note.contains("acknowledgments wait"));
        let note = told(&[]).unwrap();
        assert!(note.contains(" in the queue of what sw.0 sends over dsl, behind what up sends: "), "{note}");
        assert!(note.contains(" in turn (`switch.sw.queue = \"fq-codel\"`) shows"), "{note}");
        assert_eq!(told(&["ports=fq-codel"]), None);
    }

    /// One for every two segments of 1500 octets at 8 Mb/s is seven times what 20 kb/s take.
    #[test]
    fn acknowledgments_that_fill_a_line_alone_are_told_of() {
        let up = ADSL.lines().find(|line| line.starts_with("load.up")).unwrap();
        let told = |rate: &str, more: &str| {
            let text = ADSL.replace(up, more).replace("\"1 Mb/s\"", rate);
            let all = notes(&text, &["frames=50"]).into_iter().filter(|note| note.contains("acknowledgments wait"));
            all.collect::<Vec<_>>()
        };
        let alone = told("\"20 kb/s\"", "");
        let [note] = alone.as_slice() else { panic!("{alone:?}") };
        assert!(note.starts_with("down: its acknowledgments wait "), "{note}");
        assert!(note.contains(" in the queue of what home.l0 sends over dsl, behind each other: "), "{note}");
        assert_eq!(told("\"500 kb/s\"", ""), [""; 0]);
        // An echo fills nothing.
        let ping = "load.echo = { kind = \"ping\", from = \"home\", to = \"isp\", message = \"56 B\" }";
        let beside = told("\"20 kb/s\"", ping);
        assert!(beside.len() == 1 && beside[0].contains("behind each other: "), "{beside:?}");
        // Nor does who hardly sends anything.
        let alarm =
            "load.alarm = { kind = \"udp\", from = \"home\", to = \"isp\", message = \"16 B\", rate = \"100 b/s\" }";
        let beside = told("\"20 kb/s\"", alarm);
        assert!(
            beside.len() == 1 && beside[0].contains("behind each other: fewer of them (`ack = { every = 8 }` "),
            "{beside:?}"
        );
        // Where there are fewer already, still fewer are advised.
        let fewer = told("\"5 kb/s\"", "host.home.tcp.ack.every = 8");
        assert!(fewer.iter().all(|note| note.contains("`ack = { every = 32 }`")) && fewer.len() == 1, "{fewer:?}");
        // What calls answer there is not of acknowledgments.
        let calls = "load.ask = { kind = \"rpc\", from = \"isp\", to = \"home\", message = \"10 B\", response = \"20 kB\", port = 99 }";
        let behind = told("\"200 kb/s\"", &calls.replace("20 kB", "200 kB"));
        assert!(behind.len() == 1 && behind[0].contains("behind what ask sends"), "{behind:?}");
    }
}
