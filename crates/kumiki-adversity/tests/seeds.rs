//! Two hosts on an impaired link: a part of the seeds, and that a seed always means the same.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test: what fails stops it")]

use kumiki_adversity::{Case, Options, Stack, Transport, Version};

/// `./check` runs so many; `kumiki adversity` any number.
const SEEDS: u64 = 1_000;

#[test]
fn no_seed_breaks_a_rule() {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let summary = kumiki_adversity::many(Transport::Tcp, 0, SEEDS, jobs, |_, _| {});
    let failed: Vec<String> = summary
        .failed
        .iter()
        .map(|(seed, violation)| {
            format!("\n  {violation}\n    to repeat: kumiki adversity --seed {seed} -v --pcap --trace")
        })
        .collect();
    assert!(failed.is_empty(), "{} of {SEEDS} seeds failed:{}", failed.len(), failed.concat());
    // The cases are what they are meant to be: most transfers get through, and adversity shows.
    let in_order = summary.endings.get("in order").copied().unwrap_or(0);
    assert!(in_order > SEEDS, "{:?}", summary.endings);
    assert!(summary.damaged > SEEDS, "{summary:?}");
}

/// A seed that failed once: a SYN that came twice, the first answer to it lost before it was seen.
#[test]
fn what_failed_once_holds() {
    let case = Case::of(Transport::Tcp, 5_000_828);
    let run = kumiki_adversity::run(&case, Options::default()).unwrap();
    assert!(run.violation.is_none(), "{:?}", run.violation);
}

/// The same of XTP.
const XTP_SEEDS: u64 = 400;

#[test]
fn no_seed_breaks_a_rule_of_xtp() {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let summary = kumiki_adversity::many(Transport::Xtp, 0, XTP_SEEDS, jobs, |_, _| {});
    let failed: Vec<String> = summary
        .failed
        .iter()
        .map(|(seed, violation)| {
            format!("\n  {violation}\n    to repeat: kumiki adversity --protocol xtp --seed {seed} -v --pcap")
        })
        .collect();
    assert!(failed.is_empty(), "{} of {XTP_SEEDS} seeds failed:{}", failed.len(), failed.concat());
    let in_order = summary.endings.get("in order").copied().unwrap_or(0);
    assert!(in_order > XTP_SEEDS, "{:?}", summary.endings);
    assert!(summary.damaged > XTP_SEEDS / 4, "{summary:?}");
}

/// Seeds that once failed, or took millions of packets, and why.
#[test]
fn seeds_that_showed_something() {
    // Near sends without error control, its stream is over in order, and then it is told that the far end is gone.
    let gaps = kumiki_adversity::run(&Case::of(Transport::Xtp, 5_002_834), Options::default()).unwrap();
    assert_eq!(gaps.violation, None);
    assert!(gaps.ends[1].received < gaps.ends[0].written);
    // Go-back-N into a queue of one PDU, from pieces that became ever smaller: 39,573,749 packets for 160,946 octets.
    let brake = kumiki_adversity::run(&Case::of(Transport::Xtp, 5_003_745), Options::default()).unwrap();
    assert_eq!(brake.violation, None);
    let octets: u64 = brake.ends.iter().map(|end| end.received).sum();
    assert_eq!(octets, 160_946);
    assert!(brake.segments < 100_000, "{}", brake.segments);
}

#[test]
fn a_seed_gives_the_same_on_any_number_of_threads() {
    let run = |jobs| kumiki_adversity::many(Transport::Tcp, 500, 30, jobs, |_, _| {});
    let one = run(1);
    assert_eq!(one, run(3));
    let xtp = |jobs| kumiki_adversity::many(Transport::Xtp, 500, 30, jobs, |_, _| {});
    assert_eq!(xtp(1), xtp(3));
    assert_ne!(one.hash, kumiki_adversity::many(Transport::Tcp, 501, 30, 2, |_, _| {}).hash);
}

#[test]
fn captures_and_traces_change_nothing() {
    for seed in 40..50 {
        let case = Case::of(Transport::Tcp, seed);
        let plain = kumiki_adversity::run(&case, Options::default()).unwrap();
        let seen = Options { capture: true, trace: true, ..Options::default() };
        let seen = kumiki_adversity::run(&case, seen).unwrap();
        assert_eq!(plain.hash, seen.hash, "seed {seed}");
        assert_eq!(seen.captured.len(), 2);
    }
}

/// So many seeds of each transport with and without paths, all seeds of the others with them.
const BOTH_WAYS: u64 = 120;

#[test]
fn paths_change_nothing() {
    for transport in [Transport::Tcp, Transport::Xtp] {
        for seed in 0..BOTH_WAYS {
            let case = Case::of(transport, seed);
            let with = kumiki_adversity::run(&case, Options::default()).unwrap();
            let without = kumiki_adversity::run(&case, Options { stops: true, ..Options::default() }).unwrap();
            let told =
                |it: &kumiki_adversity::CaseOutcome| (it.hash, it.took, it.events, it.segments, it.accounts.clone());
            assert_eq!(told(&with), told(&without), "seed {seed} of {transport:?}");
        }
    }
}

#[test]
fn seeds_reach_all_sizes_and_stacks() {
    let cases: Vec<Case> = (0..20_000).map(|seed| Case::of(Transport::Tcp, seed)).collect();
    let sizes = || cases.iter().flat_map(|case| case.ends.each_ref().map(|end| end.writing.total));
    assert!(sizes().any(|octets| octets > 60 << 20));
    assert!(sizes().any(|octets| octets == 0));
    assert!(sizes().all(|octets| octets <= 64 << 20));
    for stack in [Stack::Ip, Stack::Aal5, Stack::Cells] {
        assert!(cases.iter().filter(|case| case.stack == stack).count() > 2_000);
    }
}

#[test]
fn seeds_reach_all_that_is_between_the_hosts() {
    let cases: Vec<Case> = (0..20_000).map(|seed| Case::of(Transport::Tcp, seed)).collect();
    let most = |what: fn(&Case) -> bool| cases.iter().filter(|case| what(case)).count();
    for stack in [Stack::Ip, Stack::Aal5, Stack::Cells] {
        let six = |case: &&Case| case.version == Version::Six && case.stack == stack;
        assert!(cases.iter().filter(six).count() > 500);
    }
    assert!(most(|case| case.line.squeeze != [0, 0]) > 1_000);
    assert!(most(|case| case.ends[1].strangers.is_some()) > 1_000);
    assert!(most(|case| case.ends[0].by_gateway) > 300);
}

#[test]
fn a_case_is_told_in_words() {
    let text = Case::of(Transport::Tcp, 7).to_string();
    for word in ["Case 7", "the near end calls", "the far end", "MTU", "the line carries"] {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
}
