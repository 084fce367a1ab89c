use serde_json::json;

use super::*;
use crate::rows::{HALF_WIDTH, Row};
use crate::table::Layout;

/// Runs of one point with these goodputs.
fn runs(window: u64, goodputs: &[f64]) -> Vec<Row> {
    let row = |(repetition, goodput): (u32, &f64)| Row {
        varied: vec![("window_bytes".to_owned(), Parameter::Count(window))],
        seed: repetition.into(),
        repetition,
        goodput_mbps: *goodput,
        ..Row::default()
    };
    (0..).zip(goodputs).map(row).collect()
}

fn compare(a: Vec<Row>, b: Vec<Row>, options: &Options) -> Comparison {
    let sources = vec![Source::of_rows("a", a, None), Source::of_rows("b", b, None)];
    Comparison::new(sources, options).unwrap()
}

fn told(comparison: &Comparison) -> String {
    comparison.table().draw(Layout::default())
}

#[test]
fn means_of_several_runs_have_an_interval_and_single_runs_have_none() {
    let a = [runs(8192, &[10.0, 10.2, 9.8]), runs(16_384, &[20.0])].concat();
    let b = [runs(8192, &[11.0, 11.2, 10.8]), runs(16_384, &[19.0])].concat();
    let comparison = compare(a, b, &Options { level: Level::P95, ..Options::default() });
    let differences: Vec<Difference> =
        comparison.points.iter().flat_map(|point| comparison.differences(point)).map(|(_, it)| it).collect();
    let [several, single] = differences.as_slice() else { panic!("{differences:?}") };
    // Equal deviations of 0.2 and equal numbers of runs: 4 degrees of freedom, t 2.7764, error 0.2 x sqrt(2/3).
    let half = 2.776_445 * 0.2 * (2.0_f64 / 3.0).sqrt();
    assert!((several.half_width.unwrap() - half).abs() < 1e-6 && (several.value - 1.0).abs() < 1e-9);
    assert!(several.is_certain());
    assert_eq!((single.half_width, single.percent), (None, Some(-5.0)));
    let text = told(&comparison);
    assert!(
        text.contains("window 8 KiB") && text.contains("+1.000 +- 0.453  +10.00 % *")
            || text.contains("+1.00 +- 0.45  +10.00 % *"),
        "{text}"
    );
    assert!(text.contains("1 of 2 differences without an interval: of a single run nothing says"), "{text}");
}

#[test]
fn conditions_that_a_result_does_not_meet_are_told() {
    let sources = |windows: &[u64]| -> Vec<Source> {
        let sources = (0..).zip(windows);
        sources.map(|(place, window)| Source::of_rows(&format!("s{place}"), runs(*window, &[10.0]), None)).collect()
    };
    let options = Options { conditions: vec!["window=8 KiB".parse().unwrap()], ..Options::default() };
    let unmet = "--where window=8 KiB: no record has this value; there is only 16 KiB";
    for (windows, of) in [([16_384, 8192, 8192], "s0"), ([8192, 16_384, 16_384], "s2")] {
        let why = Comparison::new(sources(&windows), &options).unwrap_err().to_string();
        assert_eq!(why, format!("{of}: {unmet}"));
    }
    let comparison = Comparison::new(sources(&[8192, 8192, 16_384]), &options).unwrap();
    assert!(told(&comparison).contains(&format!("\ns2: {unmet}")), "{}", told(&comparison));
}

#[test]
fn large_numbers_are_powers_of_ten() {
    let comparison = compare(runs(1, &[1e99]), runs(1, &[-3e99]), &Options::default());
    let text = told(&comparison);
    assert!(
        text.contains("1.000e99 ") && text.contains("-3.000e99 ") && text.contains("-4.000e99  -400.00 %"),
        "{text}"
    );
}

#[test]
fn a_difference_is_too_large_where_it_is_more_than_allowed_and_no_chance() {
    let allowed = |text: &str| text.parse::<Allowance>().unwrap();
    let difference = |value: f64, half_width| Difference { value, percent: Some(value), half_width };
    for (text, value, half, exceeded) in [
        ("3%", 4.0, None, true),
        ("3%", -4.0, None, true),
        ("-3%", 4.0, None, false),
        ("-3 %", -4.0, Some(1.0), true),
        ("+3%", -4.0, None, false),
        ("3%", 2.0, None, false),
        ("3%", 4.0, Some(5.0), false),
        ("0%", 0.0, None, false),
    ] {
        assert_eq!(allowed(text).is_exceeded(&difference(value, half)), exceeded, "{text} of {value}");
    }
    // From nothing every difference is infinitely large.
    assert!(allowed("3%").is_exceeded(&Difference { value: 0.1, percent: None, half_width: None }));
    for text in ["3", "%", "-3", "nan%", "--3%", "inf%"] {
        assert!(text.parse::<Allowance>().is_err(), "{text}");
    }
    let comparison = compare(runs(8192, &[10.0]), runs(8192, &[9.0]), &Options::default());
    let exceeding = comparison.exceeding(&allowed("-3%"));
    assert_eq!(exceeding.len(), 1);
    assert_eq!(exceeding[0].0, "window 8 KiB");
}

#[test]
fn points_that_one_alone_has_are_counted_and_named() {
    let a = [runs(8192, &[1.0]), runs(1024, &[1.0]), runs(2048, &[1.0])].concat();
    let text = told(&compare(a.clone(), runs(8192, &[1.0]), &Options::default()));
    assert!(text.contains("2 points only in a: window 1 KiB; window 2 KiB"), "{text}");
    assert!(
        text.contains("window 8 KiB") && text.contains("1 difference is none at all, to the last digit\n"),
        "{text}"
    );
    let b = [runs(8192, &[1.0]), runs(1024, &[1.5])].concat();
    let text = told(&compare(a, b, &Options { changed: true, ..Options::default() }));
    assert!(!text.contains("window 8 KiB") && text.contains("window 1 KiB") && text.contains("are left out"), "{text}");
}

#[test]
fn points_that_the_baseline_lacks_are_named() {
    let source = |name: &str, rows| Source::of_rows(name, rows, None);
    let both = || [runs(8192, &[1.0]), runs(1024, &[1.0])].concat();
    let sources = vec![source("a", runs(8192, &[1.0])), source("b", both()), source("c", both())];
    let comparison = Comparison::new(sources, &Options::default()).unwrap();
    assert_eq!(comparison.len(), 1);
    assert!(told(&comparison).contains("1 point only in b and c: window 1 KiB"), "{}", told(&comparison));
}

#[test]
fn what_differs_and_keeps_points_apart_is_named_and_may_be_passed_over() {
    let with = |congestion: &str| {
        let mut rows = runs(8192, &[1.0, 2.0]);
        for row in &mut rows {
            row.varied.push(("congestion".to_owned(), Parameter::Text(congestion.to_owned())));
        }
        rows
    };
    let comparison = compare(with("cubic"), with("reno"), &Options::default());
    assert!(comparison.is_empty());
    assert!(told(&comparison).contains("--over congestion"), "{}", told(&comparison));
    let over = Options { over: vec!["congestion".to_owned()], ..Options::default() };
    assert_eq!(compare(with("cubic"), with("reno"), &over).len(), 1);
}

#[test]
fn measurements_are_compared_where_they_say_which_point_they_are_of() {
    let csv = |text: &str| Source::of_csv("mine.csv", text, &[]).unwrap();
    let of = |text: &str| {
        let rows = [runs(8192, &[10.0]), runs(16_384, &[20.0])].concat();
        Comparison::new(vec![Source::of_rows("a", rows, None), csv(text)], &Options::default())
    };
    let comparison = of("window (KiB),goodput_mbps\n16,21\n").unwrap();
    assert_eq!(comparison.len(), 1);
    assert!(told(&comparison).contains("+1.00  +5.00 %"), "{}", told(&comparison));
    let refused = of("goodput_mbps\n21\n").unwrap_err().to_string();
    assert!(refused.starts_with("mine.csv: no column is called \"window_bytes\""), "{refused}");
}

#[test]
fn what_results_come_from_is_told_where_it_differs() {
    let run = |version: &str, rate: &str| {
        json!({ "version": version, "options": { "set": [], "quick": false, "runs": null }, "profiles": { "ss20": "0123456789abcdef" },
            "scenarios": [{ "name": "x", "first_point": format!("[link.mid]\nrate = \"{rate}\"\nends = [\"a\", \"b\"]\n") }] })
    };
    let sources = |b| {
        let source = |name: &str, run| Source::of_rows(name, runs(8192, &[1.0]), Some(run));
        [source("a", run("0.1.0", "100 Mb/s")), source("b", b)]
    };
    assert_eq!(
        provenance::differences(&sources(run("0.2.0", "1 Gb/s"))),
        ["version: 0.1.0 in a, 0.2.0 in b", "scenario x, link.mid.rate: \"100 Mb/s\" in a, \"1 Gb/s\" in b"]
    );
    let same = provenance::differences(&sources(run("0.1.0", "100 Mb/s")));
    assert_eq!(same, ["run.json says the same of all: scenarios, options, version, profiles"]);
}

/// A file that was copied, changed and run has another name; a scenario that one of them alone has is that of none of
/// the other's.
#[test]
fn scenarios_of_files_with_other_names_are_compared() {
    let run = |names: &[(&str, u32)]| {
        let scenarios: Vec<_> = names
            .iter()
            .map(|(name, mbps)| json!({ "name": name, "first_point": format!("[link.mid]\nrate = \"{mbps} Mb/s\"\n") }))
            .collect();
        json!({ "scenarios": scenarios })
    };
    let told = |ours: &[(&str, u32)], theirs: &[(&str, u32)]| {
        let source = |name: &str, names| Source::of_rows(name, runs(8192, &[1.0]), Some(run(names)));
        provenance::differences(&[source("a", ours), source("b", theirs)])
    };
    let expected = "scenario up and down, link.mid.rate: \"5 Mb/s\" in a, \"6 Mb/s\" in b";
    assert_eq!(told(&[("up", 5)], &[("down", 6)]), [expected]);
    assert_eq!(told(&[("x", 1), ("up", 5)], &[("x", 1), ("down", 6)]), [expected]);
    assert_eq!(
        told(&[("up", 5)], &[("down", 6), ("low", 7)]),
        ["scenario up: only in a", "scenario down: only in b", "scenario low: only in b"]
    );
}

/// The zero in the rows of a ping is no goodput that somebody measured.
#[test]
fn echoes_are_not_compared_by_a_goodput() {
    let rows = || {
        let row = |load: &str, mbps: f64| Row {
            scope: Scope::Load,
            load: Some(load.to_owned()),
            octets: if mbps > 0.0 { 1 } else { 0 },
            goodput_mbps: mbps,
            round_trip_ms: BTreeMap::from([("p50".to_owned(), 40.0)]),
            ..Row::default()
        };
        vec![row("bulk", 5.0), row("silent", 0.0), row("probe", 0.0)]
    };
    let text = "[load.bulk]\nkind = \"netperf\"\n[load.silent]\nkind = \"udp\"\n[load.probe]\nkind = \"ping\"\n";
    let run = json!({ "scenarios": [{ "name": "x", "first_point": text }] });
    let source = |name: &str| Source::of_rows(name, rows(), Some(run.clone()));
    let compare = |value: &str| {
        let options = Options { scope: Scope::Load, value: value.to_owned(), ..Options::default() };
        Comparison::new(vec![source("a"), source("b")], &options).unwrap()
    };
    let goodputs = compare("goodput_mbps");
    assert_eq!(
        goodputs.points.iter().filter_map(|point| point.key.load.as_deref()).collect::<Vec<_>>(),
        ["bulk", "silent"]
    );
    let text = told(&goodputs);
    assert!(
        text.contains("a: probe is not compared: echoes have no goodput_mbps, but round_trip_ms.p50 and lost_percent"),
        "{text}"
    );
    assert_eq!(compare("round_trip_ms.p50").len(), 3);
}

#[test]
fn both_panels_of_the_figure_have_the_points() {
    let rows = |times: f64| [runs(8192, &[10.0 * times]), runs(16_384, &[20.0 * times])].concat();
    let comparison = compare(rows(1.0), rows(1.1), &Options::default());
    let figures = comparison.figures();
    let [values, differences] = figures.as_slice() else { panic!("{}", figures.len()) };
    assert_eq!(values.series.iter().map(|it| it.points.len()).collect::<Vec<_>>(), [2, 2]);
    let marks: Vec<f64> = differences.series.iter().flat_map(|it| &it.points).map(|it| it.y).collect();
    assert!(marks.len() == 2 && marks.iter().all(|percent| (percent - 10.0).abs() < 1e-9), "{marks:?}");
    assert_eq!(comparison.to_jsonl().lines().count(), 2);
}

#[test]
fn a_result_is_not_compared_with_itself_or_nobody() {
    let source = || Source::of_rows("a", runs(8192, &[1.0]), None);
    assert!(Comparison::new(vec![source()], &Options::default()).is_err());
    let options = Options { baseline: Some("c".to_owned()), ..Options::default() };
    let refused = Comparison::new(vec![source(), source()], &options).unwrap_err().to_string();
    assert!(refused.starts_with("--baseline: unknown result \"c\""), "{refused}");
    let options = Options { value: "jain".to_owned(), ..Options::default() };
    assert!(Comparison::new(vec![source(), source()], &options).unwrap_err().to_string().contains("\"jain\""));
}

#[test]
fn a_name_to_pass_over_that_nobody_has_is_refused() {
    let options = Options { over: vec!["windw".to_owned()], ..Options::default() };
    let sources = vec![Source::of_rows("a", runs(8192, &[1.0]), None), Source::of_rows("b", runs(8192, &[1.0]), None)];
    let refused = Comparison::new(sources, &options).unwrap_err().to_string();
    assert!(refused.starts_with("--over: unknown varied name \"windw\""), "{refused}");
    assert!(refused.contains("window_bytes"), "{refused}");
}

#[test]
fn intervals_of_single_runs_are_not_passed_over() {
    let with = |goodput: f64, half: f64| {
        let mut rows = runs(8192, &[goodput]);
        rows[0].varied.push((HALF_WIDTH.to_owned(), Parameter::Number(half)));
        rows
    };
    let half = |comparison: &Comparison| comparison.differences(&comparison.points[0]).next().unwrap().1.half_width;
    let batches = compare(with(10.0, 0.3), with(10.4, 0.4), &Options::default());
    assert!((half(&batches).unwrap() - 0.5).abs() < 1e-12, "{:?}", half(&batches));
    assert!(
        told(&batches).contains("+0.40 +- 0.50") || told(&batches).contains("+0.400 +- 0.500"),
        "{}",
        told(&batches)
    );
    assert!(told(&batches).contains("95 % of its batches"), "{}", told(&batches));
    // Of one side alone nothing says how far the other's value is chance.
    assert_eq!(half(&compare(with(10.0, 0.3), runs(8192, &[10.4]), &Options::default())), None);
    let csv = |text: &str| Source::of_csv("mine.csv", text, &[]).unwrap();
    for columns in ["goodput_min_mbps,goodput_max_mbps\n8,10.4,10.0,10.8", "goodput_ci_kbps\n8,10.4,400"] {
        let csv = csv(&format!("window (KiB),goodput_mbps,{columns}\n"));
        let measured =
            Comparison::new(vec![Source::of_rows("a", with(10.0, 0.3), None), csv], &Options::default()).unwrap();
        assert!((half(&measured).unwrap() - 0.5).abs() < 1e-9, "{columns}: {:?}", half(&measured));
    }
}

/// Rows of two loads with two flows each, of one point.
fn of_loads() -> Vec<Row> {
    let row = |scope, load: &str, flow, goodput_mbps| Row {
        varied: vec![("queue".to_owned(), Parameter::Text("codel".to_owned()))],
        scope,
        load: Some(load.to_owned()).filter(|load| !load.is_empty()),
        flow,
        goodput_mbps,
        ..Row::default()
    };
    let mut rows = vec![row(Scope::Total, "", None, 9.0)];
    for (load, goodput) in [("near", 6.0), ("far", 3.0)] {
        rows.push(row(Scope::Load, load, None, goodput));
        rows.extend([0, 1].map(|flow| row(Scope::Flow, load, Some(flow), goodput / 2.0)));
    }
    rows
}

fn beside(csv: &str, scope: Scope, over: &[&str]) -> Result<Comparison, ConfigError> {
    let sources = vec![Source::of_rows("ours", of_loads(), None), Source::of_csv("mine.csv", csv, &[]).unwrap()];
    let over = over.iter().map(|name| (*name).to_owned()).collect();
    Comparison::new(sources, &Options { scope, over, ..Options::default() })
}

#[test]
fn measurements_of_loads_and_flows_are_compared_with_those_of_their_names() {
    let csv = "scope,queue,load,goodput (Mbit/s)\nload,codel,near,5.5\nload,codel,far,3\ntotal,codel,,8.5\n";
    let text = told(&beside(csv, Scope::Load, &[]).unwrap());
    assert!(text.contains("codel, near") && text.contains("-0.500  -8.33 %") && !text.contains("only in"), "{text}");
    assert!(!text.contains("not used"), "{text}");
    let flows = "queue,load,flow,goodput_mbps\ncodel,far,1,1.2\n";
    let text = told(&beside(flows, Scope::Flow, &[]).unwrap());
    assert!(text.contains("codel, far, flow 1") && text.contains("-20.00 %"), "{text}");
    // Of all loads together the columns say nothing, and that is told.
    let text = told(&beside(csv, Scope::Total, &[]).unwrap());
    assert!(text.contains("not used of mine: load; --scope load compares load by load"), "{text}");
    assert!(text.contains("8.500"), "{text}");
    let noted = "queue,goodput_mbps,place,day\ncodel,9,here,3\n";
    let text = told(&beside(noted, Scope::Total, &[]).unwrap());
    assert!(text.contains("not used of mine: place, day"), "{text}");
    let in_words = "queue,goodput_mbps,Note (furlongs)\ncodel,9,here\n";
    let text = told(&beside(in_words, Scope::Total, &[]).unwrap());
    assert!(text.contains("not used of mine: Note (furlongs)"), "{text}");
    // Loads as runs of one point.
    let text = told(&beside("queue,goodput_mbps\ncodel,4\n", Scope::Load, &["load"]).unwrap());
    assert!(text.contains("4.500") && !text.contains("near"), "{text}");
}

#[test]
fn an_interval_that_is_none_is_refused_with_its_line() {
    let why = |heads: &str, fields: &str| {
        let csv = format!("queue,goodput (Mbit/s),{heads}\ncodel,8.5,{fields}\n");
        beside(&csv, Scope::Total, &[]).map(|comparison| told(&comparison)).map_err(|fault| fault.to_string())
    };
    let ends = "goodput_min_mbps,goodput_max_mbps";
    for (heads, fields, problem) in [
        (ends, "9,8", "an interval from 9 to 8, which ends before it begins"),
        (ends, "9,10", "8.5 is outside of its own interval from 9 to 10"),
        ("goodput_ci_mbps", "-2", "half of an interval is -2, which is less than nothing"),
    ] {
        assert_eq!(why(heads, fields).unwrap_err(), format!("mine.csv:2: {problem}"));
    }
    for (heads, fields) in [(ends, "8,9"), (ends, "8.5,8.5"), ("goodput_error_kbps", "0")] {
        assert!(!why(heads, fields).unwrap().contains("not used"), "{heads}");
    }
    // One end is no interval, and that is told.
    let text = why("goodput_min_mbps", "8").unwrap();
    assert!(text.contains("not used of mine: goodput_min_mbps"), "{text}");
}

/// They would be taken for runs of all loads together.
#[test]
fn measurements_of_loads_are_not_compared_with_all_together() {
    let csv = "queue,load,goodput_mbps\ncodel,near,5.5\ncodel,far,3\n";
    let why = beside(csv, Scope::Total, &[]).unwrap_err().to_string();
    assert!(why.starts_with("mine.csv:2: it is of the load \"near\", and all loads together are compared"), "{why}");
    assert!(why.contains("--scope load"), "{why}");
    // Unless that is said.
    let text = told(&beside(csv, Scope::Total, &["load"]).unwrap());
    assert!(text.contains("4.250"), "{text}");
}

#[test]
fn measurements_that_do_not_say_of_which_load_they_are_are_refused() {
    let why = beside("queue,goodput_mbps\ncodel,4\n", Scope::Load, &[]).unwrap_err().to_string();
    assert!(why.starts_with("mine.csv: no column is called \"load\", and the results are of several loads"), "{why}");
    let why = beside("queue,load,goodput_mbps\ncodel,far,4\n", Scope::Flow, &[]).unwrap_err().to_string();
    assert!(why.starts_with("mine.csv: no column is called \"flow\""), "{why}");
    let why = beside("queue,load,flow,goodput_mbps\ncodel,far,first,4\n", Scope::Flow, &[]).unwrap_err().to_string();
    assert!(why.contains("flow = \"first\": no number of a flow"), "{why}");
}

/// A share may be a bare number in a scenario, and per cent in another one or in a file.
#[test]
fn shares_are_the_same_as_bare_numbers_and_as_per_cent() {
    let of = |name: &str, losses: [f64; 2]| {
        let row = |loss| Row {
            varied: vec![(name.to_owned(), Parameter::Number(loss))],
            goodput_mbps: 40.0,
            ..Row::default()
        };
        losses.map(row).to_vec()
    };
    let bare = || Source::of_rows("bare", of("loss", [0.0001, 0.01]), None);
    let points = |other: Source, options: &Options| {
        let comparison = Comparison::new(vec![bare(), other], options).unwrap();
        let labels = comparison.points.iter().map(|point| label(&point.key, &point.varied, None));
        labels.collect::<Vec<_>>()
    };
    let measured = |text: &str| Source::of_csv("mine.csv", text, &[]).unwrap();
    let both = ["loss 0.01 %", "loss 1 %"];
    let options = Options::default();
    assert_eq!(points(Source::of_rows("other", of("loss_percent", [0.01, 1.0]), None), &options), both);
    assert_eq!(points(measured("loss (%),goodput (Mb/s)\n0.01,40\n1,3\n"), &options), both);
    assert_eq!(points(measured("loss,goodput (Mb/s)\n0.01 %,40\n1 %,3\n"), &options), both);
    assert_eq!(points(measured("loss (ppm),goodput (Mb/s)\n100,40\n10000,3\n"), &options), both);
    // Without a unit it is what rows have.
    assert_eq!(points(measured("loss,goodput (Mb/s)\n0.01,40\n1,3\n"), &options), ["loss 0.01"]);
    for condition in ["loss=1 %", "loss=0.01", "loss_percent=1", "loss_percent=1 %"] {
        let options = Options { conditions: vec![condition.parse().unwrap()], ..Options::default() };
        assert_eq!(points(bare(), &options), ["loss 0.01"], "{condition}");
        // One condition means the same of both.
        assert_eq!(points(measured("loss (%),goodput (Mb/s)\n0.01,40\n1,3\n"), &options), ["loss 1 %"], "{condition}");
    }
    // What is more than one is no share.
    let counts = Source::of_rows("counts", of("loss", [1.0, 2.0]), None);
    let refused = Comparison::new(vec![measured("loss (%),goodput (Mb/s)\n1,40\n"), counts], &options).unwrap();
    assert!(refused.is_empty());
}

/// Who has one value only does not vary it, and is compared all the same.
#[test]
fn a_condition_on_what_one_result_does_not_say_leaves_points_in_common() {
    let with = |nagle: bool, goodput: f64| {
        let mut rows = runs(8192, &[goodput]);
        rows[0].varied.push(("nagle".to_owned(), Parameter::Switch(nagle)));
        rows
    };
    let options = Options { conditions: vec!["nagle=off".parse().unwrap()], ..Options::default() };
    let a = [with(false, 10.0), with(true, 1.0)].concat();
    let comparison = compare(a, runs(8192, &[11.0]), &options);
    assert_eq!((comparison.len(), comparison.points[0].sides[0].as_ref().unwrap().mean), (1, 10.0));
    let text = told(&comparison);
    assert!(text.contains("--where nagle=off: b without nagle, so all of it is looked at"), "{text}");
    // Where all say it, points have it in their names.
    let both = compare(with(false, 10.0), with(false, 11.0), &options);
    assert!(told(&both).contains("window 8 KiB, nagle off"), "{}", told(&both));
}

#[test]
fn measurements_without_a_value_are_told() {
    let mine = Source::of_csv("mine.csv", "window (KiB),goodput_mbps\n8,10\n8,\n,12\n", &[]).unwrap();
    let sources = vec![Source::of_rows("ours", runs(8192, &[10.0]), None), mine];
    let text = told(&Comparison::new(sources, &Options::default()).unwrap());
    for note in [
        "mine.csv: 1 of 3 lines has no goodput_mbps and is not compared (line 3)",
        "mine.csv: 1 of 3 lines has no window_bytes and is of no point that has one (line 4)",
    ] {
        assert!(text.contains(note), "{note}: {text}");
    }
}

#[test]
fn what_plus_and_minus_are_is_told_of_what_has_them() {
    let mine = |csv: &str| Source::of_csv("mine.csv", csv, &[]).unwrap();
    let legend = |a: Vec<Row>, b: Source| {
        let sources = vec![Source::of_rows("a", a, None), b];
        let table = Comparison::new(sources, &Options::default()).unwrap().table();
        table.legend.into_iter().filter(|line| line.starts_with("+-")).collect::<Vec<_>>()
    };
    let runs_of_three = || runs(8192, &[10.0, 10.2, 9.8]);
    let single = mine("window (KiB),goodput_mbps\n8,10\n");
    // The mean has an interval also where the difference has none.
    assert_eq!(legend(runs_of_three(), single), ["+-: half the 99 % interval of the mean"]);
    let means = Source::of_rows("b", runs_of_three(), None);
    let welch =
        "+-: half the 99 % interval of the mean, and of the difference of means (Welch); * zero is outside of that";
    assert_eq!(legend(runs_of_three(), means), [welch]);
    let own = || mine("window (KiB),goodput_mbps,goodput_ci_mbps\n8,10,0.5\n");
    let squares = "+- of a single run: its own interval, 95 % of its batches, or as measured, and of a difference in which there is one the root of the sum of the squares; * zero is outside of that";
    assert_eq!(legend(runs_of_three(), own()), ["+-: half the 99 % interval of the mean", squares]);
    let alone = "+- of a single run: its own interval, 95 % of its batches, or as measured";
    assert_eq!(legend(runs(8192, &[10.0]), own()), [alone]);
}

#[test]
fn an_interval_with_one_end_is_told_with_its_line() {
    let ends = "window (KiB),goodput_mbps,goodput_min_mbps,goodput_max_mbps\n8,10,9,11\n16,8,7.5,\n";
    let mine = || Source::of_csv("mine.csv", ends, &[]).unwrap();
    let ours = || Source::of_rows("ours", [runs(8192, &[10.0]), runs(16_384, &[8.0])].concat(), None);
    let note = "mine.csv: 1 of 2 lines has one end of an interval alone, which is none (line 3)";
    let text = told(&Comparison::new(vec![ours(), mine()], &Options::default()).unwrap());
    assert!(text.contains(note), "{text}");
    let options = crate::plot::Options { x: Some("window".to_owned()), ..crate::plot::Options::default() };
    assert_eq!(crate::plot::figure(&[ours(), mine()], &options).unwrap().1, [note]);
}

/// Else points that differ in it would be one.
#[test]
fn a_head_whose_unit_nobody_knows_is_refused_where_another_result_has_that_name() {
    let source =
        |unit: &str| Source::of_csv("m.csv", &format!("rtt ({unit}),goodput_mbps\n1,10\n2,20\n"), &[]).unwrap();
    for sources in [["ms", "msx"], ["msx", "us"]] {
        let refused = Comparison::new(sources.map(source).into(), &Options::default()).unwrap_err().to_string();
        assert!(
            refused.contains("column 1 (rtt (msx)): unknown unit \"msx\"; expected a head with another"),
            "{refused}"
        );
    }
    Comparison::new(["msx", "msx"].map(source).into(), &Options::default()).unwrap();
}

/// Transfers that came to no end have no time, and their points are in both all the same.
#[test]
fn points_without_the_value_are_told_and_are_in_no_result_alone() {
    let ended = |window: u64, ms: &[Option<f64>]| -> Vec<Row> {
        let mut rows = runs(window, &vec![1.0; ms.len()]);
        for (row, ms) in rows.iter_mut().zip(ms) {
            row.completion_ms = ms.map(|ms| ("mean".to_owned(), ms)).into_iter().collect();
        }
        rows
    };
    let options = Options { value: "completion_ms.mean".to_owned(), ..Options::default() };
    let a = || [ended(8192, &[None, None]), ended(16_384, &[Some(5.0), None])].concat();
    let comparison = compare(a(), a(), &options);
    let text = told(&comparison);
    assert_eq!((comparison.len(), comparison.is_empty()), (1, false));
    let said = "a: 3 of 4 rows have no completion_ms.mean and are not compared: window 8 KiB; window 16 KiB (1 of 2)";
    assert!(text.contains(said) && !text.contains("only in"), "{text}");
    let b = [ended(8192, &[Some(5.0)]), ended(16_384, &[None])].concat();
    let comparison = compare(a(), b, &options);
    assert!(comparison.is_empty() && comparison.hint().is_none());
    assert_eq!(comparison.why_empty(), "no point has completion_ms.mean in two of the results");
    assert!(!told(&comparison).contains("only in"), "{}", told(&comparison));
    let elsewhere = compare(a(), ended(32_768, &[Some(5.0)]), &options);
    assert_eq!(elsewhere.why_empty(), "no point is in two of the results");
    let options = crate::plot::Options {
        x: Some("window_bytes".to_owned()),
        y: "completion_ms.mean".to_owned(),
        ..crate::plot::Options::default()
    };
    let (_, notes) = crate::plot::figure(&[Source::of_rows("a", a(), None)], &options).unwrap();
    assert_eq!(notes, [said.replace("compared", "drawn")]);
}
