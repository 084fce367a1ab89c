//! What paper 4 prints and says, and what Kumiki must therefore show.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "what fails here fails the test")]

use crate::arrange::{profiles, run_point, scenario};
use kumiki_lab::experiment::{Measured, Options};
use kumiki_lab::limit;
use kumiki_lab::scenario::{Choice, Point};

/// The nodes between the users of the file service and the line.
const BETWEEN: [&str; 10] = ["hif", "ftam", "acse", "presentation", "session", "tp0", "loopback", "lif", "x25", "lapb"];

/// All points of a scenario with these settings, each with its goodput as it is shown.
fn runs(name: &str, set: &[&str]) -> Vec<(Point, Measured, f64)> {
    let choice = Choice { set: set.iter().map(|text| (*text).to_owned()).collect(), ..Choice::default() };
    let points = scenario(name).points(&choice).unwrap();
    let run = |point: Point| {
        let run = run_point(&point, &profiles(&point), 1, &Options::default());
        let measured = run.measured;
        assert_eq!(measured.total.failure, None, "{}", point.label());
        assert_eq!(measured.total.wrong, None, "{}", point.label());
        let times = point.scenario.load.values().next().unwrap().times.unwrap_or(1);
        let shown = measured.total.goodput_mbps * f64::from(times);
        (point, measured, shown)
    };
    points.into_iter().map(run).collect()
}

fn value(point: &Point, name: &str) -> String {
    let value = point.value(name).unwrap();
    value.as_str().unwrap().to_owned()
}

/// What is shown at `path`, by the name `x`.
fn curve(runs: &[(Point, Measured, f64)], path: &str, x: &str) -> Vec<(u32, f64)> {
    let here = runs.iter().filter(|(point, ..)| value(point, "path") == path);
    here.map(|(point, _, shown)| {
        let octets = value(point, x);
        let octets = octets.strip_suffix(" B").unwrap().parse().unwrap();
        (octets, *shown)
    })
    .collect()
}

fn at(curve: &[(u32, f64)], x: u32) -> f64 {
    curve.iter().find(|(octets, _)| *octets == x).unwrap().1
}

#[test]
fn the_line_gives_1_5_from_4000_octets_on_and_the_loopback_4() {
    for flow in ["polling", "credit"] {
        let runs = runs("paper4-fig2a", &[&format!("flow={flow}")]);
        let line = curve(&runs, "line", "fdata");
        for octets in [4000, 8000, 16000] {
            let rate = at(&line, octets);
            assert!((1.4..=1.6).contains(&rate), "{flow}, {octets}: {rate}");
        }
        let rate = at(&curve(&runs, "loopback", "fdata"), 8000);
        assert!((3.8..=4.2).contains(&rate), "{flow}: {rate}");
        let loopback = curve(&runs, "loopback", "fdata");
        assert!(loopback.is_sorted_by(|a, b| a.1 < b.1), "smaller requests cost more: {loopback:?}");
        nobody_copies(&runs);
    }
}

#[test]
fn the_line_falls_with_the_tpdu_as_the_board_below_does_and_the_loopback_hardly() {
    let runs = runs("paper4-fig2b", &["flow=polling"]);
    let line = curve(&runs, "line", "tpdu");
    let alone = curve(&runs, "x25-alone", "tpdu");
    for octets in [128, 256, 512, 1024] {
        // Half the TPDU, half the throughput, within a tenth: "almost a straight line".
        for curve in [&line, &alone] {
            let ratio = at(curve, octets * 2) / at(curve, octets);
            assert!((1.8..=2.2).contains(&ratio), "{octets}: {ratio}");
        }
        // The same curve, within a tenth.
        let ratio = at(&line, octets) / at(&alone, octets);
        assert!((0.9..=1.1).contains(&ratio), "{octets}: {ratio}");
    }
    let loopback = curve(&runs, "loopback", "tpdu");
    for (octets, rate) in loopback.iter().filter(|(octets, _)| *octets >= 512) {
        assert!((2.5..=4.0).contains(rate), "{octets}: {rate}");
    }
    nobody_copies(&runs);
}

/// User data is copied by nobody between FTAM and the line, and nothing is lost on the way.
fn nobody_copies(runs: &[(Point, Measured, f64)]) {
    for (point, measured, _) in runs {
        for node in BETWEEN {
            let place = format!("sender.{node}");
            assert!(measured.counters.contains_key(&place), "{place}");
        }
        for (place, counts) in &measured.counters {
            let node = place.split_once('.').map_or(place.as_str(), |(_, it)| it);
            if !BETWEEN.contains(&node) {
                continue;
            }
            let label = point.label();
            assert_eq!(counts["copied_octets"], 0, "{label}: {place}");
            // Both sides end what is between them, and one of them comes too late.
            let late = |name: &&String| name.starts_with("dropped") && !name.contains("no such") && counts[*name] > 0;
            assert_eq!(counts.keys().find(late), None, "{label}: {place}");
        }
    }
}

#[test]
fn asking_takes_most_of_the_senders_time_and_being_told_nearly_none() {
    let runs = runs("paper4-fig3", &[]);
    let ms = |flow: &str, fdata: &str, task: &str| {
        let found = runs.iter().find(|(p, ..)| value(p, "flow") == flow && value(p, "fdata") == fdata);
        found.unwrap().1.tasks[task].as_secs_f64() * 1e3
    };
    let tasks = ["hif", "ftam", "acse", "pl", "sl", "tl"];
    for fdata in ["8000 B", "2000 B"] {
        let asking = ms("polling", fdata, "sender.lif");
        for task in tasks {
            let other = ms("polling", fdata, &format!("sender.{task}"));
            assert!(asking > other, "{fdata}: {asking} and {task} {other}");
        }
        let told = ms("credit", fdata, "sender.lif");
        assert!(told < asking / 10.0, "{fdata}: {told} of {asking}");
    }
    for flow in ["polling", "credit"] {
        for side in ["sender", "receiver"] {
            let growth = |tasks: [&str; 2]| -> f64 {
                let of = |task: &str| {
                    let task = format!("{side}.{task}");
                    ms(flow, "2000 B", &task) - ms(flow, "8000 B", &task)
                };
                tasks.map(of).iter().sum()
            };
            let (lower, upper) = (growth(["sl", "tl"]), growth(["ftam", "pl"]));
            assert!(lower < upper / 3.0, "{flow}, {side}: {lower} and {upper}");
        }
    }
}

#[test]
fn without_prices_the_seven_layers_fill_the_line() {
    for (point, measured, _) in runs("paper4-zero", &[]) {
        let limit = limit::of_load(&point.scenario, point.scenario.load.values().next().unwrap()).unwrap();
        let limit = limit.goodput_mbps().as_f64();
        let share = measured.total.goodput_mbps / limit;
        let label = point.label();
        assert!((0.99..=1.0).contains(&share), "{label}: {share}");
    }
}

/// Papers 4 and 5: the last, short segment waits for the acknowledgment of the one before it, and that for its timer of
/// 40 ms, where the number of segments before it is odd. With 2 MB it is not; with 2 kB only for a get, because F-WRITE
/// request goes before what is put in a segment of its own.
#[test]
fn nagles_algorithm_waits_once_for_a_delayed_acknowledgment_around_a_file_on_tcp() {
    let took = |way: &str, file: &str, coalesce: &str, delay: &str| {
        let set =
            [format!("way={way}"), format!("coalesce={coalesce}"), format!("delay={delay}"), format!("file={file}")];
        let runs = runs("ftam-stall", &set.each_ref().map(String::as_str));
        let [(_, measured, _)] = runs.as_slice() else {
            panic!("one point");
        };
        measured.total.time.as_secs_f64() * 1e3
    };
    // The timer's 40 ms, and a round trip of 1 ms or two.
    let (waits, does_not) = (39.0..43.0, 0.0..3.0);
    for (way, file, expected) in [
        ("put", "2 kB", &does_not),
        ("put", "20 kB", &waits),
        ("put", "200 kB", &waits),
        ("put", "2 MB", &does_not),
        ("get", "2 kB", &waits),
        ("get", "20 kB", &waits),
        ("get", "200 kB", &waits),
        ("get", "2 MB", &does_not),
    ] {
        let without = took(way, file, "never", "40 ms");
        let more = took(way, file, "nagle", "40 ms") - without;
        assert!(expected.contains(&more), "{way} {file}: {more} ms");
        let more = took(way, file, "nagle", "0 ms") - took(way, file, "never", "0 ms");
        assert!(does_not.contains(&more), "{way} {file}: {more} ms");
        let more = took(way, file, "minshall", "40 ms") - without;
        assert!(does_not.contains(&more), "{way} {file}: {more} ms");
    }
}

#[test]
fn a_file_that_is_got_costs_the_line_what_one_that_is_put_costs() {
    let goodput = |way: &str| {
        let set = [format!("way={way}"), "coalesce=never".to_owned(), "delay=0 ms".to_owned(), "file=2 MB".to_owned()];
        let runs = runs("ftam-stall", &set.each_ref().map(String::as_str));
        runs.iter().map(|(_, _, goodput)| *goodput).sum::<f64>()
    };
    let (put, got) = (goodput("put"), goodput("get"));
    assert!((put - got).abs() < put / 50.0, "{put} and {got} Mb/s");
}
