//! What the integration tests share: running scenarios, and tshark as judge.

#![allow(dead_code, clippy::unwrap_used, reason = "each test binary uses a part, and what fails here fails the test")]

use std::collections::BTreeMap;
use std::path::Path;

use kumiki_watchdog::peers::{CHECKSUMS, tshark_fields};

use kumiki_lab::capture::{self, Layers};
use kumiki_lab::experiment::{Experiment, Options, Run};
use kumiki_lab::profile::{self, Profile};
use kumiki_lab::scenario::{Choice, Document, Point};

/// The one point of `document` that `set` (`name=value`) leaves.
pub(crate) fn point(document: &Document, set: &[&str]) -> Point {
    let choice = Choice { set: set.iter().map(|text| (*text).to_owned()).collect(), quick: false, runs: None };
    let points = document.points(&choice).unwrap_or_else(|fault| panic!("{fault}"));
    let [point] = <[Point; 1]>::try_from(points).unwrap_or_else(|points| panic!("{} points, not one", points.len()));
    point
}

/// The profiles that the hosts of `point` name.
pub(crate) fn profiles(point: &Point) -> BTreeMap<String, Profile> {
    let names = point.scenario.host.values();
    names
        .map(|host| host.profile.clone().unwrap_or_else(|| "zero".to_owned()))
        .map(|name| {
            let profile = profile::load(&name).unwrap_or_else(|fault| panic!("{fault}"));
            (name, profile)
        })
        .collect()
}

pub(crate) fn run(document: &Document, set: &[&str], seed: u64, options: &Options) -> Run {
    let point = point(document, set);
    run_point(&point, &profiles(&point), seed, options)
}

pub(crate) fn run_point(point: &Point, profiles: &BTreeMap<String, Profile>, seed: u64, options: &Options) -> Run {
    Experiment::build(&point.scenario, profiles, seed, options)
        .unwrap_or_else(|fault| panic!("{}", point.locate(fault)))
        .run()
}

/// A run of the scenario `text` in which nothing went wrong, with a capture of every host's devices.
pub(crate) fn run_captured(text: &str) -> Run {
    let options = Options { captures: Layers::Device, ..Options::default() };
    let run = run(&parse(text), &[], 1, &options);
    assert_eq!(run.measured.total.wrong, None);
    run
}

/// A scenario of the repository.
pub(crate) fn scenario(name: &str) -> Document {
    Document::find(name).unwrap_or_else(|fault| panic!("{fault}"))
}

pub(crate) fn parse(text: &str) -> Document {
    Document::parse("test", "test.toml", text).unwrap_or_else(|fault| panic!("{fault}"))
}

/// A graph with the program `user` on the file service over TCP, as a scenario has it.
pub(crate) fn graph_of_files(user: &str) -> String {
    format!(
        r#"{{ {user} = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["l0"] }}"#
    )
}

/// The capture of everything in `run`.
pub(crate) fn octets(run: &Run) -> Vec<u8> {
    capture::pcapng(&run.captured, Vec::new()).unwrap()
}

/// What tshark reads in each packet of `capture`: one row per packet, one text per field, several values of a field
/// joined by `;`. `None`, with the reason printed, where there is no tshark and `KUMIKI_REQUIRE_TSHARK` is not set.
pub(crate) fn tshark(name: &str, capture: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&file, capture).unwrap();
    let rows = tshark_fields(&file, &[&CHECKSUMS[..], &["-E", "aggregator=;"]].concat(), fields);
    std::fs::remove_file(&file).unwrap();
    rows
}
