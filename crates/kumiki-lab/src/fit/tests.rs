//! Measurements that were made with known prices.

use super::*;
use crate::sources::told;
use crate::table::Layout;

/// A workstation that copies and sums each octet: small messages are bound by what a packet costs, large ones by what
/// an octet does.
const SCENARIO: &str = r#"title = "A slow computer"
host.near = { graph = ["netperf", "tcp", "ip", "p2p0"], ip = { address = "10.0.0.1/24" }, profile = "ss20", tcp = { mss = "${mss}" } }
host.far = { like = "near", ip = { address = "10.0.0.2/24" }, profile = "zero" }
link.line = { ends = ["near.p2p0", "far.p2p0"], medium = "point-to-point", rate = "1 Gb/s", propagation = "1 us" }
run = { warm_up = "50 ms", duration = "400 ms" }
load.bulk = { kind = "netperf", from = "near.netperf", to = "far.netperf", message = "8 KiB", socket_buffer = "64 KiB" }
vary.mss = ["268 B", "536 B", "1072 B", "1460 B"]
"#;

const SIZES: &str = r#"["268 B", "536 B", "1072 B", "1460 B"]"#;

fn document() -> Document {
    Document::parse("slow", "slow.toml", SCENARIO).unwrap()
}

fn task(csv: &str, options: &Options) -> Result<Task, ConfigError> {
    task_of(&document(), csv, options)
}

fn task_of(document: &Document, csv: &str, options: &Options) -> Result<Task, ConfigError> {
    let source = Source::of_csv("mine.csv", csv, &[]).unwrap();
    Task::new(document, &Choice::default(), &source, options)
}

fn free(names: &[&str]) -> Options {
    Options { free: names.iter().map(|name| name.parse().unwrap()).collect(), jobs: 2, ..Options::default() }
}

/// What a host with these prices, in picoseconds, measures.
fn measured(prices: &[(&str, f64)]) -> String {
    measured_of(&document(), prices)
}

fn measured_of(document: &Document, prices: &[(&str, f64)]) -> String {
    let points = document.points(&Choice::default()).unwrap();
    let sizes: Vec<String> = points.iter().map(|point| told(&point.parameters()[0].1)).collect();
    let csv = |values: &[Option<f64>]| {
        let lines = sizes.iter().zip(values).map(|(mss, value)| format!("{mss},{},\n", value.unwrap()));
        format!("mss (B),goodput (Mb/s),test\n{}", lines.collect::<String>())
    };
    let any =
        task_of(document, &csv(&vec![Some(1.0); sizes.len()]), &Options { jobs: 2, ..Options::default() }).unwrap();
    let (names, prices) = prices.iter().map(|(name, ps)| (Name::parse(name), *ps)).unzip();
    csv(&any.values(&Laboratory::default(), &[(names, prices)]).unwrap().remove(0))
}

#[test]
fn known_prices_come_back_and_are_predicted_where_they_were_held_out() {
    let csv = measured(&[("tcp.send", 90e6), ("tcp.sum", 22e3)]);
    let held: String = csv
        .lines()
        .map(|line| if line.starts_with("1072") { format!("{line}yes\n") } else { format!("{line}\n") })
        .collect();
    let options = Options { hold_out: Some("test".to_owned()), ..free(&["tcp.send", "tcp.sum=5 ns..50 ns"]) };
    let fitted = task(&held, &options).unwrap().run(&Laboratory::default(), |_| {}).unwrap();
    let [send, sum] = fitted.prices[..] else { panic!("{fitted:?}") };
    assert!((send / 90e6 - 1.0).abs() < 0.03 && (sum / 22e3 - 1.0).abs() < 0.06, "{send} {sum}");
    let (off, predicted) = fitted.off(&fitted.after);
    assert!(off < 0.5 && predicted.unwrap() < 1.0, "{off} {predicted:?}");
    let residuals = fitted.residuals().draw(Layout::default());
    assert_eq!(residuals.matches("held out").count(), 1, "{residuals}");
    // What it writes is a profile, and says what it rests on.
    let text = fitted.profile().unwrap();
    let profile = profile::parse_text("mine.toml", &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert_eq!(profile.like.as_deref(), Some("ss20"));
    assert_eq!(profile.fit_parameters, ["tcp.send", "tcp.sum"]);
    assert_eq!(profile.fit_points.len(), 3, "{text}");
    assert!(profile.fit_points[0].ends_with("Mb/s, mss 268 B (line 2)"), "{text}");
    let price = &profile.price["tcp"]["send"];
    assert!(
        (price.picoseconds().unwrap() as f64 / send - 1.0).abs() < 1e-4 && price.from.starts_with("fitted: "),
        "{price:?}"
    );
    assert_eq!(profile.price["tcp"]["pop"].value, "100 us", "what was not fitted is as it was");
}

/// Segments that are nearly alike hardly tell what one costs from what its octets do, and what a run counts moves in
/// steps: what is least off by chance is far from what was meant.
#[test]
fn intervals_hold_the_prices_that_runs_were_made_with() {
    let sizes = ["1000 B", "1100 B", "1200 B", "1300 B", "1400 B", "1460 B"];
    let document = Document::parse("slow", "slow.toml", &SCENARIO.replace(SIZES, &format!("{sizes:?}"))).unwrap();
    let csv = measured_of(&document, &[("tcp.send", 90e6), ("tcp.sum", 22e3)]);
    let task = task_of(&document, &csv, &free(&["tcp.send", "tcp.sum"])).unwrap();
    let fitted = task.run(&Laboratory::default(), |_| {}).unwrap();
    let table = fitted.prices().draw(Layout::default());
    for ((price, factor), meant) in fitted.prices.iter().zip(&fitted.certainty.factors).zip([90e6, 22e3]) {
        let factor = factor.unwrap();
        assert!(factor < 1.2 && (price / factor..=price * factor).contains(&meant), "{table}");
    }
}

/// Each segment that TCP sends is a packet that IP takes, one by one: only what both cost together is seen.
#[test]
fn what_cannot_be_told_apart_is_said() {
    let csv = measured(&[("tcp.send", 80e6), ("ip.push", 20e6)]);
    let fitted =
        task(&csv, &free(&["tcp.send", "ip.push=2 us..200 us"])).unwrap().run(&Laboratory::default(), |_| {}).unwrap();
    let [send, push] = fitted.prices[..] else { panic!("{fitted:?}") };
    assert!(((send + push) / 100e6 - 1.0).abs() < 0.03, "{send} {push}");
    let table = fitted.prices().draw(Layout::default());
    assert!(
        table.contains("tcp.send and ip.push are not told apart by these measurements: one more and the other less"),
        "{table}"
    );
    assert!(fitted.profile().unwrap().contains("tcp.send and ip.push are not told apart"));
}

/// TCP maps no page.
#[test]
fn what_cannot_be_seen_stays_what_it_was_and_is_not_called_fitted() {
    let csv = measured(&[("tcp.send", 90e6)]);
    let free = free(&["tcp.send", "tcp.map=20 ns..50 ns"]);
    let fitted = task(&csv, &free).unwrap().run(&Laboratory::default(), |_| {}).unwrap();
    let [send, _] = fitted.prices[..] else { panic!("{fitted:?}") };
    assert!((send / 90e6 - 1.0).abs() < 0.02, "{send}");
    let table = fitted.prices().draw(Layout::default());
    assert!(table.contains("tcp.map cannot be seen above the steps of runs, wherever in its range"), "{table}");
    let text = fitted.profile().unwrap();
    let profile = profile::parse_text("mine.toml", &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert_eq!(profile.fit_parameters, ["tcp.send"]);
}

/// Where what is varied is a bare number, and measurements have per cent.
#[test]
fn per_cent_are_of_the_points_whose_shares_are_bare_numbers() {
    let text = SCENARIO
        .replace(
            "propagation = \"1 us\"",
            "propagation = \"1 us\", impair = { toward = \"far.p2p0\", loss = \"${loss}\" }",
        )
        .replace("\"${mss}\"", "\"1460 B\"")
        .replace("vary.mss = [\"268 B\", \"536 B\", \"1072 B\", \"1460 B\"]", "vary.loss = [0.0001, 0.01]");
    let document = Document::parse("lossy", "lossy.toml", &text).unwrap();
    let source = Source::of_csv("mine.csv", "loss (%),goodput (Mb/s)\n1,3\n0.01,40\n", &[]).unwrap();
    let task = Task::new(&document, &Choice::default(), &source, &Options::default()).unwrap();
    assert_eq!(task.measurements.iter().map(|it| it.point).collect::<Vec<_>>(), [1, 0]);
}

/// A word that was read as "no" would make what was fitted look predicted.
#[test]
fn a_word_that_neither_holds_out_nor_leaves_in_is_refused_with_its_line() {
    let of = |mark: &str| {
        let csv = format!("mss (B),goodput_mbps,kind\n268,1,\n536,1,{mark}\n");
        let options = Options { hold_out: Some("kind".to_owned()), ..free(&["tcp.send"]) };
        task(&csv, &options).map(|task| task.measurements.iter().map(|it| it.is_held_out).collect::<Vec<_>>())
    };
    for (marks, is_held_out) in [
        (["x", "Yes", "TRUE", "on", "1", "0.5"].as_slice(), true),
        (["", "no", "False", "off", "0", "0.0"].as_slice(), false),
    ] {
        for mark in marks {
            assert_eq!(of(mark).unwrap(), [false, is_held_out], "{mark}");
        }
    }
    for other in ["test", "fit"] {
        let refused = of(other).unwrap_err().to_string();
        let words =
            format!("mine.csv:3: kind = \"{other}\" neither holds the line out nor leaves it in; expected x, yes,");
        assert!(refused.starts_with(&words), "{refused}");
    }
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let refused = |csv: &str, options: &Options| task(csv, options).unwrap_err().to_string();
    let any = Options::default();
    assert_eq!(
        refused("mss (B),goodput_mbps\n536,1\n999,2\n", &any),
        "mine.csv:3: no point of the scenario has mss_bytes 999; expected values that [vary] has; --set NAME=[...] gives it others"
    );
    assert!(refused("goodput_mbps\n1\n", &any).contains("no column is called \"mss_bytes\""));
    assert!(refused("mss (B),goodput_mbps\n536,0\n", &any).starts_with("mine.csv:2: goodput_mbps is 0, of which"));
    for wrong in ["1e99", "1e16", "1e-300", "-5"] {
        let said = refused(&format!("mss (B),goodput_mbps\n536,1\n1460,{wrong}\n"), &any);
        let number: f64 = wrong.parse().unwrap();
        assert_eq!(
            said,
            format!(
                "mine.csv:3: goodput_mbps is {number:e}, which nothing that is run can come to; expected 1e-9 to 1e15"
            )
        );
    }
    let ipc = Options { profile: Some("ipc".to_owned()), ..Options::default() };
    assert!(refused("mss (B),goodput_mbps\n536,1\n", &ipc).contains("--profile: unknown profile of a host \"ipc\""));
    assert_eq!(
        refused("mss (B),goodput_mbps\n536,1\n", &free(&["tcp.send", "tcp.sum"])),
        "1 measurement cannot say 2 prices (tcp.send, tcp.sum): name fewer with --free"
    );
    // Nothing is run for what the command line has wrong.
    let unknown = refused("mss (B),goodput_mbps\n536,1\n", &free(&["tcp.sned"]));
    assert!(unknown.starts_with("--free: unknown price \"tcp.sned\"; did you mean \"tcp.send\"?"), "{unknown}");
    assert_eq!(
        refused("mss (B),goodput_mbps\n536,1\n", &free(&["tcpp.send=1 us..2 us"])),
        "--free: unknown node of a host with the profile ss20 \"tcpp\"; did you mean \"tcp\"? (one of ip, netperf, tcp)"
    );
    assert_eq!(
        refused("mss (B),goodput_mbps\n536,1\n", &free(&["tcp.push"])),
        "--free tcp.push: ss20 has no such price, or it is 0; expected a range, as in tcp.send=\"100 us..1 ms\""
    );
    let wide = Choice { set: vec!["mss=9000 B".to_owned()], ..Choice::default() };
    let source = Source::of_csv("mine.csv", "goodput_mbps\n1\n", &[]).unwrap();
    let wide = Task::new(&document(), &wide, &source, &any).unwrap_err().to_string();
    assert!(wide.contains("--set mss=9000 B (slow.toml): host.far.tcp.mss"), "{wide}");
    for text in ["tcp.send=1 us", "tcp.send=2 us..1 us", "tcp.send=0..1 us", "tcp.send=1 B..2 B"] {
        assert!(text.parse::<FreePrice>().is_err(), "{text}");
    }
}

/// 100 messages are through before the end, and 100 000 are not.
#[test]
fn points_of_which_a_run_has_no_value_are_left_out_and_named() {
    let text = SCENARIO
        .replace("kind = \"netperf\"", "kind = \"ttcp\", count = \"${count}\"")
        .replace("\"${mss}\"", "\"1460 B\"")
        .replace("warm_up = \"50 ms\", ", "")
        .replace(&format!("vary.mss = {SIZES}"), "vary.count = [20, 40, 100000]");
    let document = Document::parse("ends", "ends.toml", &text).unwrap();
    let of = |csv: &str| {
        let options = Options { value: Some("completion_ms.mean".to_owned()), ..free(&["tcp.send"]) };
        task_of(&document, csv, &options).unwrap().run(&Laboratory::default(), |_| {})
    };
    let fitted = of("count,completion_ms.mean\n20,60\n100000,90000\n40,120\n").unwrap();
    assert_eq!(
        fitted.notes,
        [
            "count 100000 (line 3) is left out: its run has no completion_ms.mean, for nothing came to its end while it was measured"
        ]
    );
    let tables = format!("{}{}", fitted.residuals().draw(Layout::default()), fitted.profile().unwrap());
    assert!(tables.contains("count 40") && !tables.contains("100000"), "{tables}");
    let none = of("count,completion_ms.mean\n100000,90000\n").unwrap_err().to_string();
    assert_eq!(
        none,
        "count 100000 (line 2): its run has no completion_ms.mean, for nothing came to its end while it was measured; no measurement is left to fit to"
    );
}

/// With ten times the price of a packet, which a fit may try, 100 messages do not come to their end; with the prices at
/// the beginning they do.
#[test]
fn points_are_not_lost_for_prices_that_were_only_tried() {
    let text = SCENARIO
        .replace("kind = \"netperf\"", "kind = \"ttcp\", count = \"${count}\"")
        .replace("\"${mss}\"", "\"1460 B\"")
        .replace("warm_up = \"50 ms\", ", "")
        .replace(&format!("vary.mss = {SIZES}"), "vary.count = [20, 40, 100]");
    let document = Document::parse("ends", "ends.toml", &text).unwrap();
    let options = Options { value: Some("completion_ms.mean".to_owned()), ..free(&["tcp.send"]) };
    // Longer than any run takes: steps go up until runs have no values.
    let csv = "count,completion_ms.mean\n20,100\n40,200\n100,500\n";
    let fitted = task_of(&document, csv, &options).unwrap().run(&Laboratory::default(), |_| {}).unwrap();
    assert!(fitted.task.measurements.len() == 3, "{:?}", fitted.notes);
    assert!(fitted.prices[0] > 150e6, "{}", fitted.prices().draw(Layout::default()));
}

#[test]
fn a_range_without_the_price_of_the_profile_is_said() {
    let csv = measured(&[("tcp.send", 90e6)]);
    let own = Name::parse("tcp.send").value(&profile::load("ss20").unwrap()).unwrap();
    let above = format!("tcp.send={} ns..{} ns", 2.0 * own / 1e3, 4.0 * own / 1e3);
    let around = format!("tcp.send={} ns..{} ns", own / 2e3, 4.0 * own / 1e3);
    let notes = |range: &str| {
        let task = task(&csv, &free(&[range])).unwrap();
        task.run(&Laboratory::default(), |_| {}).unwrap().notes
    };
    let said = notes(&above);
    assert!(
        said.iter().any(|note| note.starts_with("tcp.send is ") && note.contains("outside of the range")),
        "{said:?}"
    );
    assert!(notes(&around).iter().all(|note| !note.contains("outside of the range")));
}
