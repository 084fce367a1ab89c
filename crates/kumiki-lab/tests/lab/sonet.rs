//! Lines of SONET/SDH in experiments, counted and octet by octet.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use crate::arrange::{run, scenario};
use kumiki_lab::experiment::{Measured, Options};

const SHORT: [&str; 4] =
    ["length=4 KiB", "count=200", "host.sender.profile=\"zero\"", "host.receiver.profile=\"zero\""];

fn measured(name: &str, set: &[&str]) -> Measured {
    run(&scenario(name), set, 1, &Options::default()).measured
}

fn short(set: &[&str]) -> Measured {
    let set: Vec<&str> = SHORT.iter().chain(set).copied().collect();
    measured("paper1-table2", &set)
}

#[test]
fn an_experiment_takes_the_same_time_counted_and_octet_by_octet() {
    let counted = short(&[]);
    let exact = short(&["link.fibre.octet_exact=true"]);
    assert_eq!(counted.total.time, exact.total.time);
    assert_eq!((counted.total.wrong, exact.total.wrong), (None, None));
    let line = &exact.counters["fibre"];
    assert!(line["a_line_frames"] > 100, "{line:?}");
    assert_eq!((line["a_b3_errors"], line["a_bad_fcs"]), (0, 0));
    // Neither does it change with the payload scrambler.
    let bare = short(&["link.fibre.octet_exact=true", "link.fibre.scrambled=false"]);
    assert_eq!(bare.total.time, exact.total.time);
}

#[test]
fn wrong_bits_cost_frames_and_no_octet_arrives_wrong() {
    let spoilt = short(&["link.fibre.bit_errors=1e-6", "load.bulk.clock=receiver"]);
    let line = &spoilt.counters["fibre"];
    assert!(line["a_wrong_bits"] > 0, "{line:?}");
    assert!(line["a_bad_fcs"] + line["a_aborts"] > 0, "{line:?}");
    assert_eq!(spoilt.total.wrong, None);
    assert_eq!(spoilt.total.flows[0].octets, 200 * 4096);
}

/// Loss of signal ends the link, and the daemons negotiate it again.
#[test]
fn a_link_that_had_no_signal_for_a_while_comes_up_again() {
    let whole = measured("pos", &["link.fibre.octet_exact=true"]);
    assert_eq!(whole.total.echoes.unwrap().answered, 4);
    let broken = measured("pos", &["link.fibre.outages=[\"2.5 s .. 3.5 s\"]"]);
    let answered = broken.total.echoes.unwrap().answered;
    assert_eq!(answered, 3, "the echo in the outage is lost, and no other");
    let line = &broken.counters["fibre"];
    assert!(line["a_alarms"] > 0 && line["b_alarms"] > 0, "{line:?}");
}
