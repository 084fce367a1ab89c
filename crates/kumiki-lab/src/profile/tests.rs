use super::*;
use crate::scenario::{Graph, Host};

const BOARD: &str = r#"
title = "A board"
about = "For tests."
fit_points = ["one"]

[cpu.main]
switch = { value = "12 us", from = "assumed: a guess" }

[task.net]
cpu = "main"
nodes = ["tcp", "ip"]
from = "section 3"

[price.tcp]
push = { value = "110 us", from = "fitted: fig. 6" }
copy = { value = "46.1 ns", from = "fitted: fig. 7" }

[adapter]
fetch = { value = "2 us", from = "assumed: short" }

[memory.send]
page = { value = "4 KiB", from = "assumed: usual" }
cluster = 2
size = { value = "8 MB", from = "section 2" }
hand_out = "cyclic"
wake_up = "one"
"#;

fn refused(from: &str, to: &str) -> String {
    assert!(BOARD.contains(from), "{from}");
    parse_text("profiles/x.toml", &BOARD.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn prices_keep_fractions_of_a_nanosecond() {
    let board = parse_text("x", BOARD).unwrap();
    let price = &board.price["tcp"];
    assert_eq!(price["copy"].picoseconds().unwrap(), 46_100);
    assert_eq!(price["push"].picoseconds().unwrap(), 110_000_000);
    assert_eq!(board.cpu["main"].switch.duration().unwrap(), Duration::from_micros(12));
    assert_eq!(board.memory["send"].size.octets().unwrap().count(), 8_000_000);
}

#[test]
fn zero_has_no_prices_and_unknown_names_are_refused() {
    assert!(load(ZERO).unwrap().price.is_empty());
    assert!(names().contains(&ZERO));
    let refused = load("zeor").unwrap_err().to_string();
    assert!(refused.starts_with("unknown profile \"zeor\"; did you mean \"zero\"? ("), "{refused}");
    assert_eq!(
        load("profiles/no/such.toml").unwrap_err().to_string(),
        "profiles/no/such.toml: there is no directory profiles"
    );
}

#[test]
fn all_profiles_of_the_repository_are_sound() {
    for name in names() {
        if let Err(fault) = load(name) {
            panic!("{fault}");
        }
    }
}

#[test]
fn a_wrong_profile_gets_one_message_with_its_line() {
    for (from, to, message) in [
        (
            "push =",
            "pusch =",
            "profiles/x.toml:15: price.tcp.pusch: unknown kind of work \"pusch\"; did you mean \"push\"? (one of push, pop, expire, send, deliver, copy, sum, \
             wake, call, switch, map, octet)",
        ),
        ("46.1 ns", "46.1 n", "profiles/x.toml:16: price.tcp.copy.value = \"46.1 n\": unknown unit \"n\"; try ns"),
        (
            "cpu = \"main\"",
            "cpu = \"mian\"",
            "profiles/x.toml:10: task.net.cpu = \"mian\": unknown CPU \"mian\"; did you mean \"main\"? (there is only main)",
        ),
        (
            "\"cyclic\"",
            "\"cycle\"",
            "profiles/x.toml:25: memory.send.hand_out = \"cycle\": unknown choice \"cycle\"; did you mean \"cyclic\"? (one of free, cyclic)",
        ),
        (
            "from = \"section 2\"",
            "from = \"\"",
            "profiles/x.toml:24: memory.send.size.from = \"\": a value must say where it comes from; expected a source, \"fitted: ...\" or \
             \"assumed: ...\"",
        ),
        ("8 MB", "8 kB", "profiles/x.toml:24: memory.send.size = \"8 kB\": smaller than one cluster of pages"),
    ] {
        assert_eq!(refused(from, to), message);
    }
    let free = refused("[adapter]", "[adapter]\ncommands = \"single\"");
    assert!(free.contains("at no stated cost"), "{free}");
}

const VARIES: &str = r#"
[variation.day]
of = ["price.tcp.push", "cpu.main.switch"]
spread = "20 %"
from = "assumed: a guess"
"#;

#[test]
fn what_varies_is_drawn_together_for_each_run_and_host() {
    let board = parse_text("x", &format!("{BOARD}{VARIES}")).unwrap();
    let push = |profile: &Profile| profile.price["tcp"]["push"].picoseconds().unwrap();
    let (mut factors, mut fine) = (Vec::new(), 0);
    for seed in 1..=400 {
        let drawn = board.drawn(seed, "a");
        let factor = push(&drawn) as f64 / push(&board) as f64;
        fine += u32::from(push(&drawn) % 1_000 != 0);
        let switch = drawn.cpu["main"].switch.duration().unwrap().as_nanos() as f64 / 12_000.0;
        assert!((factor - switch).abs() < 1e-3, "{seed}: {factor}, {switch}");
        assert_eq!(drawn.price["tcp"]["copy"], board.price["tcp"]["copy"]);
        assert_eq!((drawn.clone(), drawn.drawn(seed, "a")), (board.drawn(seed, "a"), drawn));
        factors.push(factor.ln());
    }
    assert_ne!(push(&board.drawn(1, "a")), push(&board.drawn(1, "b")));
    assert!(fine > 390, "to the picosecond, however a price was written: {fine}");
    // Of 400, the mean lies within three of its deviations, 0.01, and so does the deviation of the deviation, 0.007.
    let (mean, deviation) = (crate::stats::mean(&factors).unwrap(), crate::stats::sample_deviation(&factors).unwrap());
    assert!(mean.abs() < 0.03 && (deviation - 0.2).abs() < 0.021, "{mean}, {deviation}");
}

#[test]
fn a_variation_of_what_is_not_there_is_refused() {
    for (from, to, expected) in [
        (
            "price.tcp.push",
            "price.tcp.pull",
            "variation.day.of.0 = \"price.tcp.pull\": there is no price \"price.tcp.pull\" in this profile",
        ),
        ("\"cpu.main.switch\"", "\"price.tcp.push\"", "\"price.tcp.push\" varies already"),
        ("20 %", "120 %", "variation.day.spread = 120 %"),
        ("20 %", "2 ms", "variation.day.spread"),
        ("assumed: a guess\"\n", "\"\n", "a variation must say where it comes from"),
    ] {
        let text = VARIES.replace(from, to);
        let fault = parse_text("profiles/x.toml", &format!("{BOARD}{text}")).unwrap_err().to_string();
        assert!(fault.contains(expected), "{fault}");
    }
}

/// A node's own price stands beside what its kind has.
#[test]
fn a_host_has_prices_of_its_own_in_the_place_of_those_of_its_profile() {
    let board = parse_text("x", BOARD).unwrap();
    let mut host = Host { graph: Some(Graph::Chain(vec!["os_tcp".to_owned(), "line".to_owned()])), ..Host::default() };
    host.kind.insert("os_tcp".to_owned(), "tcp".to_owned());
    host.prices.insert("os_tcp".to_owned(), BTreeMap::from([("push".to_owned(), "0 ns".to_owned())]));
    let own = board.with_prices_of(&host).unwrap();
    let price = |node: &str, work: &str| own.price[node][work].picoseconds().unwrap();
    assert_eq!((price("os_tcp", "push"), price("os_tcp", "copy"), price("tcp", "push")), (0, 46_100, 110_000_000));
    // A node that is called as the kind of another leaves that one what it had.
    host.graph = Some(Graph::Chain(vec!["os_tcp".to_owned(), "tcp".to_owned(), "line".to_owned()]));
    host.prices = BTreeMap::from([("tcp".to_owned(), BTreeMap::from([("push".to_owned(), "1 ns".to_owned())]))]);
    let own = board.with_prices_of(&host).unwrap();
    let push = |node: &str| own.price[node]["push"].picoseconds().unwrap();
    assert_eq!((push("tcp"), push("os_tcp")), (1_000, 110_000_000));
}
