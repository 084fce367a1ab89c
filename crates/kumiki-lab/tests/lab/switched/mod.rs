//! A line that is called for: the scenario `x32-dialup`, and what goes wrong on such a line. Blocks of X.25 between
//! three subscribers are in `blocks.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic, also in what its tests have in common"
)]

mod blocks;

use kumiki_graph::Duration;
use kumiki_lab::experiment::{Experiment, Measured, Options};
use kumiki_lab::profile;
use kumiki_lab::scenario::{Choice, Document};

/// The scenario with a file of 100 kB and these settings.
fn run(set: &[&str]) -> Measured {
    let given = |key: &str| set.iter().any(|it| it.starts_with(key));
    let usual = [("file", "file=\"100 kB\""), ("call_back", "call_back=false")];
    let usual = usual.iter().filter(|(key, _)| !given(key));
    let set = usual.map(|(_, it)| *it).chain(set.iter().copied());
    let set = set.map(str::to_owned).collect();
    let document = Document::find("x32-dialup").unwrap_or_else(|fault| panic!("{fault}"));
    let choice = Choice { set, quick: false, runs: None };
    let points = document.points(&choice);
    let points = points.unwrap_or_else(|fault| panic!("{fault}"));
    let [point] = points.as_slice() else {
        panic!("several points");
    };
    let zero = profile::load(profile::ZERO).unwrap();
    let profiles = [(profile::ZERO.to_owned(), zero)].into();
    let built = Experiment::build(&point.scenario, &profiles, 1, &Options::default());
    let built = built.map_err(|fault| point.locate(fault));
    let run = built.unwrap_or_else(|fault| panic!("{fault}")).run();
    assert_eq!(run.measured.total.wrong, None);
    run.measured
}

fn count(measured: &Measured, name: &str) -> u64 {
    measured.counters["line"][name]
}

/// Calls of the exchange, and those that came to stand.
fn calls(measured: &Measured) -> (u64, u64) {
    (count(measured, "calls"), count(measured, "connected"))
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn a_file_waits_for_its_call_and_then_fills_the_line() {
    let small = run(&["file=\"1 kB\""]);
    let large = run(&["file=\"1 MB\""]);
    for measured in [&small, &large] {
        assert_eq!(measured.total.failure, None);
        assert_eq!(calls(measured), (1, 1));
    }
    // Three seconds until the other end is rung. The rest is SABM, RESTART, CALL and the association, each a few
    // milliseconds there and back.
    assert!(small.total.time > ms(3100) && small.total.time < ms(4500), "{small:?}");
    // Of the line at 64 kbit/s the headers take some hundredths.
    let rest = (large.total.time.as_secs_f64() - small.total.time.as_secs_f64()) * 64_000.0;
    assert!((1.0..1.05).contains(&(rest / (999_000.0 * 8.0))), "{rest}");
}

#[test]
fn calling_back_costs_one_more_set_up_and_the_pause_before_it() {
    let straight = run(&[]);
    let back = run(&["call_back=true"]);
    assert_eq!(back.total.failure, None);
    assert_eq!(calls(&back), (2, 1));
    assert_eq!(count(&back, "refused"), 1);
    // Who has called is the DTE, so addresses of frames are others, and other bits are stuffed: by less than a
    // millisecond in all.
    let more = back.total.time.saturating_sub(straight.total.time);
    assert!(more > ms(4999) && more < ms(5001), "{more}");
}

#[test]
fn the_circuit_is_cleared_when_there_has_been_no_call_for_long() {
    let measured = run(&["host.sender.x25.idle=\"10 s\""]);
    // From the answer, three seconds after the request, to ten seconds after the clearing of the call; the world runs
    // on a little after that.
    let stood = Duration::from_nanos(count(&measured, "stood_ns"));
    assert!(stood >= measured.total.time.saturating_sub(ms(3000)), "{stood}");
    assert_eq!(count(&measured, "strangers"), 0);
}

#[test]
fn a_foreign_caller_is_refused_each_time_until_it_gives_up() {
    let measured = run(&["host.receiver.x32.callers=[\"999\"]", "host.sender.x32.call_back_within=\"0 s\""]);
    assert!(measured.total.failure.is_some());
    // Once, and three times more.
    assert_eq!(calls(&measured), (4, 0));
    assert_eq!(count(&measured, "refused"), 4);
}

#[test]
fn a_number_that_nobody_has_is_called_once() {
    let measured = run(&["host.sender.x32.number=\"999\""]);
    assert!(measured.total.failure.is_some());
    assert_eq!((calls(&measured), count(&measured, "unobtainable")), ((1, 0), 1));
}

#[test]
fn a_wrong_network_user_identification_is_barred() {
    let measured = run(&["host.sender.x25.nui=\"SOMEBODY\""]);
    let failure = measured.total.failure.unwrap();
    assert!(failure.contains("access barred (0b), NUI problem (84)"), "{failure}");
    assert!(!failure.contains("SOMEBODY"));
}

#[test]
fn a_circuit_cleared_in_the_middle_of_a_file_ends_its_transfer() {
    let measured = run(&["link.line.switched.clears=[\"8 s\"]"]);
    assert!(measured.total.failure.is_some());
    assert_eq!(calls(&measured), (1, 1));
    assert_eq!(count(&measured, "cleared"), 1);
    assert!(count(&measured, "frames") > 30);
}

#[test]
fn a_run_can_be_repeated() {
    let runs = [(); 2].map(|()| run(&["call_back=true"]));
    let [one, two] = runs.map(|it| (it.total.time, it.counters));
    assert_eq!(one, two);
}

#[test]
fn only_a_synchronous_line_is_switched_and_between_two_numbers() {
    let said = |set: &str| {
        let choice = Choice {
            set: ["file=\"1 kB\"", "call_back=false", set].map(str::to_owned).to_vec(),
            quick: false,
            runs: None,
        };
        let document = Document::find("x32-dialup").unwrap();
        let points = match document.points(&choice) {
            Ok(points) => points,
            Err(fault) => return fault.to_string(),
        };
        let zero = profile::load(profile::ZERO).unwrap();
        let profiles = [(profile::ZERO.to_owned(), zero)].into();
        let built = Experiment::build(&points[0].scenario, &profiles, 1, &Options::default());
        let Err(fault) = built.map_err(|fault| points[0].locate(fault)) else {
            panic!("{set} was taken");
        };
        fault.to_string()
    };
    let wrong = said("link.line.medium=\"oc3c\"");
    assert!(wrong.contains("unknown setting of oc3c \"switched\"; one of propagation, framing"), "{wrong}");
    let wrong = said("link.line.switched.numbers=[\"100\", \"100\"]");
    assert!(wrong.contains("the same number"), "{wrong}");
    let wrong = said("link.line.switched.setup=\"soon\"");
    assert!(wrong.contains("setup"), "{wrong}");
    let wrong = said("host.receiver.x32.callers=[\"nobody\"]");
    assert!(wrong.contains("digits"), "{wrong}");
}
