//! What is told of each load and each flow.

use std::collections::BTreeMap;

use super::super::done::LookedAtRows;
use super::*;
use crate::laboratory::Laboratory;
use crate::rows::Scope;
use crate::table::Cell;

/// Two loads: one of so many flows, of which each has half of what the one before it has, and one of a single flow.
struct Flows(u32);

impl Runner for Flows {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let named = |mean: f64| BTreeMap::from([("mean".to_owned(), mean), ("p99".to_owned(), mean + 10.0)]);
        let seed = f64::from(u32::try_from(point.scenario.run.seed)?);
        // The second run differs.
        let bound_by = if point.scenario.run.seed == 2 { "loss" } else { "link" }.to_owned();
        let known = Row { bound_by, segments_sent: Some(1000), ..point.row() };
        let row = |scope, load: Option<&str>, round_trip: f64| Row {
            scope,
            load: load.map(str::to_owned),
            goodput_mbps: 8.0 + seed,
            round_trip_ms: named(round_trip),
            retransmissions: Some(25),
            ..known.clone()
        };
        let mut rows = vec![Row { jain: Some(0.5), ..row(Scope::Total, None, 60.0) }];
        rows[0].queues.insert("line.a".to_owned(), [("p95".to_owned(), 10.0 * seed), ("max".to_owned(), 99.0)].into());
        rows[0]
            .counters
            .insert("line".to_owned(), [("a_drops".to_owned(), known.seed), ("a_frames".to_owned(), 9)].into());
        let copied = [("b_drops".to_owned(), 70), ("b_group_drops".to_owned(), 70)].into();
        rows[0].counters.insert("port".to_owned(), copied);
        rows.push(Row { jain: Some(0.9), ..row(Scope::Load, Some("bulk"), 61.0) });
        for number in 0..self.0 {
            let of = row(Scope::Flow, Some("bulk"), 70.0 + f64::from(number));
            let goodput_mbps = 8.0 / f64::from(1 + number);
            let longest_gap_s = Some(f64::from(number) * 3.0);
            rows.push(Row { flow: Some(number), from: Some("a".to_owned()), goodput_mbps, longest_gap_s, ..of });
        }
        rows.push(row(Scope::Load, Some("other"), 5.0));
        rows.push(Row { flow: Some(0), from: Some("b".to_owned()), ..row(Scope::Flow, Some("other"), 5.0) });
        Ok(Outcome { rows, ..Outcome::default() })
    }
}

const TWO_LOADS: &str = r#"
title = "Two loads"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
load.other = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
[run]
duration = "1 s"
"#;

fn ran(flows: u32, more: &str) -> Results {
    let document = Document::parse("two", "two.toml", &format!("{TWO_LOADS}{more}")).unwrap();
    let plan = Plan::new(&[document], &Choice::default(), &Flows(flows)).unwrap();
    run(&plan, Flows(flows), Options::default()).remove(0)
}

/// A number without a name would be taken for that of both.
#[test]
fn the_load_that_is_asked_for_is_named_above_the_table() {
    let title = |more: &str| ran(1, more).table().title;
    assert_eq!(title(""), "Two loads (Mb/s)");
    assert_eq!(title("[report]\nload = \"other\"\n"), "Two loads: goodput of other (Mb/s)");
}

#[test]
fn why_each_load_and_each_flow_is_as_fast_as_it_is_is_printed() {
    let table = ran(2, "").why_table().unwrap();
    assert_eq!(
        table.draw(Layout { lines: Lines::Markdown, width: None }).lines().skip(2).take(7).collect::<Vec<_>>(),
        [
            "| point        | goodput (Mb/s) | bound by | round trip (ms) | retransmitted, % | longest gap (s) |  Jain |",
            "|--------------|----------------|----------|-----------------|------------------|-----------------|-------|",
            "| bulk         |           9.00 |     link |  61.0, p99 71.0 |           2.50 % |                 | 0.900 |",
            "| bulk, flow 0 |           8.00 |     link |  70.0, p99 80.0 |           2.50 % |                 |       |",
            "| bulk, flow 1 |           4.00 |     link |  71.0, p99 81.0 |           2.50 % |            3.00 |       |",
            "| other        |           9.00 |     link |  5.00, p99 15.0 |           2.50 % |                 |       |",
            "| all loads    |           9.00 |     link |  60.0, p99 70.0 |           2.50 % |                 | 0.500 |",
        ]
    );
    assert!(table.legend.iter().any(|line| line.starts_with("Jain: ")), "{:?}", table.legend);
    // Of a paper the verdicts are asked for.
    let of_paper = run(&plan(&[], TWO_HOSTS).unwrap(), Flows(2), Options::default()).remove(0);
    assert_eq!(of_paper.why_table(), None);
}

#[test]
fn the_page_has_each_flow_or_how_the_flows_differ_and_says_so() {
    let page = |flows| {
        let results = ran(flows, "");
        results.to_html(std::slice::from_ref(&results))
    };
    let few = page(2);
    for said in
        ["bulk, flow 1</th>\n<td class=\"number\">4.00</td>\n<td>link</td>", "<th scope=\"col\">round trip, p99 (ms)"]
    {
        assert!(few.contains(said), "{said} is not in {few}");
    }
    assert!(!few.contains("other, flow 0"), "its load says the same");
    assert!(
        few.contains(
            "<li>link: a line on the way was full, or one of twice its rate would save more than all else</li>"
        ),
        "{few}"
    );
    let many = page(100);
    assert!(!many.contains("flow 1<") && many.contains("There are 100, and no more than 64 are shown"), "{many}");
    assert!(many.contains("0.08, 0.16, 8.00"), "{many}");
    let printed = ran(100, "").why_table().unwrap();
    assert_eq!(printed.rows.len(), 3);
    assert!(printed.legend.iter().any(|line| line == "the 100 flows are in report.html and in the rows"));
}

#[test]
fn a_table_that_is_too_long_to_be_printed_is_told_of() {
    let points = |count: u32| {
        let times: Vec<String> = (1..=count).map(|ms| format!("{ms} ms")).collect();
        ran(1, &format!("warm_up = \"${{time}}\"\n[vary]\ntime = {times:?}\n[report]\nx = \"time\"\n"))
    };
    // Two loads and both together.
    let (some, many) = (points(21), points(22));
    assert_eq!((some.why_table().unwrap().rows.len(), some.why_elsewhere()), (63, None));
    assert_eq!(many.why_table(), None);
    let told = "Why each of 66 is as fast as it is: in report.html and in the rows, for that is too long here\n";
    assert_eq!(many.why_elsewhere().as_deref(), Some(told));
}

#[test]
fn of_several_runs_the_mean_is_told() {
    let results = ran(2, "repeat = { runs = 3, show = \"max\" }");
    let table = results.why_table().unwrap();
    assert!(table.title.ends_with(", the mean of its runs"), "{}", table.title);
    assert_eq!(table.rows[0].1[0], Cell::number(10.0, 2), "seeds 1 to 3 have 9, 10 and 11");
    // The summary of the page says the same.
    let glance = results.glance();
    assert!(glance.contains(&("Goodput".to_owned(), "10.00 Mb/s".to_owned())), "{glance:?}");
    // What bound the others is told where there is room.
    assert_eq!(table.rows[0].1[1], Cell::text("link (2 of 3 runs), loss (1)"));
}

/// What the table and the figure show is of one load, and so is what is said of it.
#[test]
fn the_summary_is_of_the_load_that_is_asked_for_and_says_so() {
    struct Other;
    impl Runner for Other {
        fn run(&self, point: &Point) -> Result<Outcome, Failure> {
            let mut outcome = Flows(2).run(point)?;
            for row in outcome.rows.iter_mut().filter(|row| row.load.as_deref() == Some("other")) {
                (row.bound_by, row.goodput_mbps) = ("window".to_owned(), 2.0);
            }
            Ok(outcome)
        }
    }
    let glance = |more: &str| {
        let document = Document::parse("two", "two.toml", &format!("{TWO_LOADS}{more}")).unwrap();
        let plan = Plan::new(&[document], &Choice::default(), &Other).unwrap();
        run(&plan, Other, Options::default()).remove(0).glance()
    };
    let said = |glance: &[(String, String)], name: &str| {
        glance.iter().find(|(what, _)| what == name).map(|(_, said)| said.clone()).unwrap_or_default()
    };
    let one = glance("[report]\nload = \"other\"\n");
    assert_eq!(one[0], ("Load".to_owned(), "other; losses and queues are of all loads".to_owned()));
    assert_eq!([said(&one, "Bound by"), said(&one, "Goodput")], ["window", "2.00 Mb/s"]);
    assert_eq!(said(&one, "Longest queue"), "line.a, 10 or less in 95 % of the time");
    let all = glance("");
    assert_eq!([said(&all, "Load"), said(&all, "Bound by"), said(&all, "Goodput")], ["", "link", "9.00 Mb/s"]);
}

/// Every run brings the same at a point, as where nothing is drawn.
struct Alike;

impl Runner for Alike {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        Ok(Outcome { rows: vec![Row { octets: 9, goodput_mbps: 9.0, ..point.row() }], ..Outcome::default() })
    }
}

/// Every run loses another part of its echoes, and nothing else differs.
struct Losing;

impl Runner for Losing {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let row = point.row();
        let lost_percent = Some(f64::from(u32::try_from(row.seed).unwrap()));
        Ok(Outcome { rows: vec![Row { lost_percent, ..row }], ..Outcome::default() })
    }
}

#[test]
fn runs_that_are_all_equal_are_told_as_that() {
    let document = Document::parse("two", "two.toml", &format!("{TWO_LOADS}repeat = {{ runs = 3 }}")).unwrap();
    let plan = Plan::new(&[document], &Choice::default(), &Alike).unwrap();
    let legend = run(&plan, Alike, Options::default()).remove(0).table().legend.join("\n");
    assert!(legend.contains("all runs of a point were equal: nothing that is drawn here"), "{legend}");
    assert!(!legend.contains("`repeat` gives no interval"), "{legend}");
    assert!(!ran(2, "repeat = { runs = 3 }").table().legend.join("\n").contains("were equal"));
    // Echoes bring no octets, and on a line whose delay is constant all that come take as long.
    let document = Document::parse("two", "two.toml", &format!("{TWO_LOADS}repeat = {{ runs = 3 }}")).unwrap();
    let plan = Plan::new(&[document], &Choice::default(), &Losing).unwrap();
    let legend = run(&plan, Losing, Options::default()).remove(0).table().legend.join("\n");
    assert!(!legend.contains("were equal"), "{legend}");
}

#[test]
fn several_runs_without_an_interval_and_loads_with_a_wide_one_are_told_of() {
    let legend = |more: &str| ran(2, more).table().legend.join("\n");
    let named = "`repeat` gives no interval; `confidence = ";
    assert!(legend("repeat = { runs = 3 }").contains(named));
    for other in ["", "repeat = { runs = 1 }", "repeat = { runs = 3, show = \"max\" }"] {
        assert!(!legend(other).contains(named), "{other}");
    }
    let with = |width| format!("confidence = {{ level = \"95 %\", width = \"{width}\", fewest = 3, most = 3 }}");
    // Seeds 1 to 3 have 9, 10 and 11: 2 * 4.303 / sqrt(3) of 10.
    let wide = legend(&with("5 %"));
    assert!(
        wide.contains(
            "wider than 5 % of the mean, which is looked at of all loads together: bulk 49.7 %, other 49.7 %"
        ),
        "{wide}"
    );
    assert!(!legend(&with("50 %")).contains("wider than"));
    assert!(!legend(&format!("{}\n[report]\nload = \"bulk\"", with("5 %"))).contains("wider than"));
}

/// The first of three runs differs from the others.
#[test]
fn what_bound_most_of_the_runs_stands_behind_their_mean() {
    let confidence = "seed = 2\nconfidence = { level = \"95 %\", width = \"1 %\", fewest = 3, most = 3 }";
    let results = ran(2, confidence);
    let table = results.table().draw(Layout { lines: Lines::Ascii, width: None });
    assert!(table.contains("11.00 +- 2.48 link (2 of 3 runs)") && !table.contains("loss"), "{table}");
    let glance = results.glance();
    for (name, wanted) in [
        ("Bound by", "link"),
        ("Longest queue", "line.a, 30 or less in 95 % of the time"),
        ("Lost on the way", "3 frames or cells"),
    ] {
        assert!(glance.contains(&(name.to_owned(), wanted.to_owned())), "{glance:?}");
    }
    // What is left of rows in memory says the same.
    let document = Document::parse("two", "two.toml", &format!("{TWO_LOADS}{confidence}")).unwrap();
    let mut point = document.points(&Choice::default()).unwrap().remove(0);
    Arc::make_mut(&mut point.scenario).run.seed = 4;
    let mut row = Flows(1).run(&point).unwrap().rows.remove(0);
    row.repetition = 2;
    LookedAtRows::of(&point).thin(&mut row);
    assert_eq!(row.queues["line.a"], [("p95".to_owned(), 40.0)].into());
    assert_eq!(row.counters["line"], [("a_drops".to_owned(), 4)].into());
}

#[test]
fn echoes_have_no_goodput_and_a_call_shares_nothing_with_a_transfer() {
    let ping = TWO_LOADS.replace(
        "load.other = { kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\" }",
        "load.other = { kind = \"ping\", from = \"a\", to = \"b\", message = \"64 B\" }",
    );
    let table = |text: &str| {
        let document = Document::parse("two", "two.toml", text).unwrap();
        let plan = Plan::new(&[document], &Choice::default(), &Flows(2)).unwrap();
        let results = run(&plan, Flows(2), Options::default()).remove(0);
        let has_jain = results.glance().iter().any(|(what, _)| what == "Jain's index");
        (results.why_table().unwrap(), has_jain)
    };
    let ping = ping.replace("load.bulk = {", "load.bulk = { sessions = 2,");
    let (why, has_jain) = table(&ping);
    let row = |name: &str| why.rows.iter().find(|(head, _)| head == name).unwrap();
    assert_eq!(row("other").1[0], Cell::empty());
    assert!(has_jain && row("all loads").1.last() == Some(&Cell::number(0.5, 3)), "{why:?}");
    let call = ping.replace("\"ping\"", "\"udp\", rate = \"1 Mb/s\"");
    let (why, has_jain) = table(&call);
    let all = why.rows.iter().find(|(head, _)| head == "all loads").unwrap();
    assert!(!has_jain && all.1.last() == Some(&Cell::empty()), "{why:?}");
}

/// One thing nearly all the time is what bound it, and that is told already.
#[test]
fn what_held_a_load_back_is_printed_where_it_was_several_things() {
    let with = |held: &[(&str, f64)]| {
        let mut results = ran(2, "");
        for row in results.points.iter_mut().flat_map(|(_, done)| &mut done.as_mut().unwrap().rows) {
            row.held = held.iter().map(|(what, share)| ((*what).to_owned(), *share)).collect();
        }
        results.why_table().unwrap()
    };
    let outage = with(&[("retransmission time-out", 0.41), ("congestion window after a loss", 0.59)]);
    assert_eq!(outage.columns[2], "held back by");
    let said = Cell::text("congestion window after a loss 59 %, retransmission time-out 41 %");
    assert_eq!(outage.rows[0].1[2], said);
    assert!(outage.columns.iter().any(|it| it == "longest gap (s)"), "{outage:?}");
    // Gaps of a program that had nothing to write are its own.
    let idle = with(&[("application", 0.99), ("opening", 0.01)]);
    assert!(idle.columns.iter().all(|it| it != "longest gap (s)"), "{idle:?}");
    // What bound it is said already, but the line was not what TCP noticed.
    assert_eq!(idle.rows[0].1[2], Cell::text("application 99 %, opening 1 %"));
    let line = with(&[("link", 0.99), ("opening", 0.01)]);
    assert!(line.columns.iter().all(|it| it != "held back by"), "{line:?}");
}

/// A pause says nothing of why a call takes as long as it does.
#[test]
fn of_calls_after_long_pauses_it_is_told_what_held_them() {
    let calls = TWO_LOADS.replace("\"netperf\"", "\"rpc\"");
    let document = Document::parse("two", "two.toml", &calls).unwrap();
    let plan = Plan::new(&[document], &Choice::default(), &Flows(1)).unwrap();
    let mut results = run(&plan, Flows(1), Options::default()).remove(0);
    let mut told = |held: &[(&str, f64)]| {
        for row in results.points.iter_mut().flat_map(|(_, done)| &mut done.as_mut().unwrap().rows) {
            row.held = held.iter().map(|(what, share)| ((*what).to_owned(), *share)).collect();
        }
        let cells = results.why_table().unwrap().rows.remove(0).1;
        cells.into_iter().nth(2).unwrap()
    };
    let pauses = told(&[("application", 0.98), ("queue", 0.015), ("round trip", 0.005)]);
    assert_eq!(pauses, Cell::text("application 98 %, of calls: queue 75 %, round trip 25 %"));
    let short = told(&[("application", 0.4), ("round trip", 0.6)]);
    assert_eq!(short, Cell::text("round trip 60 %, application 40 %"));
}

/// With queues of so many frames at two rates.
fn with_queues(queues: &str) -> Results {
    let text = TWO_LOADS.replace("rate = \"10 Mb/s\"", "rate = \"${rate}\", queue_frames = \"${queue}\"");
    let vary = format!(
        "[vary]\nrate = [\"1 Mb/s\", \"2 Mb/s\"]\nqueue = {queues}\n[report]\nx = \"rate\"\nseries = [\"queue\"]\n"
    );
    let document = Document::parse("two", "two.toml", &format!("{text}{vary}")).unwrap();
    let plan = Plan::new(&[document], &Choice::default(), &Flows(1)).unwrap();
    run(&plan, Flows(1), Options::default()).remove(0)
}

/// As long as there is a colour for each.
#[test]
fn the_figure_has_the_total_as_the_table_does() {
    let curves = |queues: &str| {
        let figure = with_queues(queues).figure().unwrap();
        assert!(figure.series.iter().all(|curve| curve.points.len() == 2), "{:?}", figure.series);
        figure.series.into_iter().map(|curve| curve.label).collect::<Vec<_>>()
    };
    let few =
        ["queue 1, bulk", "queue 1, other", "queue 1, total", "queue 2, bulk", "queue 2, other", "queue 2, total"];
    assert_eq!(curves("[1, 2]"), few);
    let many = curves("[1, 2, 3]");
    assert!(many.len() == 6 && !many.iter().any(|label| label.contains("total")), "{many:?}");
}

#[test]
fn a_table_that_no_screen_has_room_for_has_rows_in_the_place_of_columns() {
    let table = |queues: &str| with_queues(queues).table();
    let few = table("[1, 2, 3, 4, 5]");
    assert_eq!((few.columns.len(), few.rows.len()), (15, 2));
    let many = table("[1, 2, 3, 4, 5, 6]");
    assert_eq!((many.columns, many.rows.len()), (["bulk", "other", "total"].map(str::to_owned).to_vec(), 12));
    assert_eq!((many.corner.as_str(), many.rows[1].0.as_str()), ("rate, queue", "1 Mb/s, 2"));
}

/// A load of two flows, of which the second run is held by another thing.
struct Held;

impl Runner for Held {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let what = if point.scenario.run.seed == 1 { "send buffer" } else { "slow start" };
        let held = BTreeMap::from([(what.to_owned(), 0.9), ("opening".to_owned(), 0.1)]);
        let seed = f64::from(u32::try_from(point.scenario.run.seed)?);
        let row = |scope, load: Option<&str>, flow| {
            let load = load.map(str::to_owned);
            let known = Row { scope, load, flow, held: held.clone(), goodput_mbps: seed, ..point.row() };
            Row { round_trip_ms: [("mean".to_owned(), seed), ("p50".to_owned(), seed)].into(), ..known }
        };
        let flows = (0..2).map(|flow| row(Scope::Flow, Some("bulk"), Some(flow)));
        let rows = [row(Scope::Total, None, None), row(Scope::Load, Some("bulk"), None)].into_iter().chain(flows);
        Ok(Outcome { rows: rows.collect(), ..Outcome::default() })
    }
}

/// In memory or read from a journal, of which only a part stays there.
#[test]
fn what_held_flows_is_the_mean_of_all_runs() {
    let only = TWO_LOADS.lines().filter(|line| !line.starts_with("load.other")).collect::<Vec<_>>().join("\n");
    let folder = kumiki_watchdog::process::Folder::new("held-of-runs");
    for (asked, runs) in [("", 3), ("[report]\nheld = \"flow\"", 3), ("", 1)] {
        let text = format!("{only}\nrepeat = {{ runs = {runs} }}\n{asked}\n");
        let documents = [Document::parse("two", "two.toml", &text).unwrap()];
        let plan = Plan::new(&documents, &Choice::default(), &Held).unwrap();
        let output = Output::open(folder.path(&format!("{runs} {}", asked.len())), false).unwrap();
        let header = Header::new(&documents, &Choice::default(), "", Shard::WHOLE);
        let mut journal = Journal::open(&output, &header, &plan, false).unwrap();
        for journal in [None, Some(&mut journal)] {
            let results = run(&plan, Held, Options { journal, ..Options::default() }).remove(0);
            let figure = results.held_figure().unwrap();
            let shares = |label: &str| {
                let series = figure.series.iter().find(|it| it.label == label);
                series.map(|it| it.points.iter().map(|point| point.y.round()).collect::<Vec<f64>>())
            };
            let expected =
                if runs == 3 { [Some(vec![30.0; 2]), Some(vec![60.0; 2])] } else { [Some(vec![90.0; 2]), None] };
            assert_eq!([shares("send buffer"), shares("slow start")], expected);
            assert_eq!(figure.caption.contains("The mean of all runs."), runs == 3, "{}", figure.caption);
            let flows = results.flow_table().unwrap();
            let mean = if runs == 3 { 2.0 } else { 1.0 };
            assert!(flows.rows.iter().all(|(_, cells)| cells[0] == Cell::number(mean, 2)), "{flows:?}");
        }
    }
}

#[test]
fn where_nothing_waited_no_line_has_the_longest_queue() {
    let with = |p95: f64| {
        let mut results = ran(1, "");
        for row in results.points.iter_mut().flat_map(|(_, done)| &mut done.as_mut().unwrap().rows) {
            row.queues = ["in0.a", "out.a"].map(|name| (name.to_owned(), [("p95".to_owned(), p95)].into())).into();
        }
        results
    };
    let is_told = |results: &Results| results.glance().iter().any(|(what, _)| what == "Longest queue");
    let has_column = |results: &Results| results.bounds().columns.iter().any(|it| it == "longest queue");
    let (none, some) = (with(0.0), with(2.0));
    assert!(!is_told(&none) && !has_column(&none));
    assert!(is_told(&some) && has_column(&some));
}

/// Requests of ARP go to all ports of a switch, and copies for which a port has no room are no loss of the load.
#[test]
fn copies_of_a_broadcast_are_counted_apart() {
    let text = r#"
title = "Incast"
host.s = { count = 12, graph = ["ip", "arp", "eth", "lan"] }
host.r.like = "s"
switch.tor = { kind = "ethernet", queue_frames = 4 }
link.in = { count = 12, ends = ["s${i}", "tor"], medium = "point-to-point", rate = "1 Gb/s", framing = "24 B" }
link.out = { ends = ["tor", "r"], medium = "point-to-point", rate = "1 Gb/s", framing = "24 B" }
load.answers = { kind = "ttcp", from = "s*", to = "r", message = "64 KiB", count = 1 }
run.duration = "5 s"
"#;
    let document = Document::parse("incast", "incast.toml", text).unwrap();
    let laboratory = Laboratory::default();
    let plan = Plan::new(&[document], &Choice::default(), &laboratory).unwrap();
    let results = run(&plan, laboratory, Options::default()).remove(0);
    let row = results.rows().next().unwrap();
    let sum = |name: &str| row.counters.values().filter_map(|counts| counts.get(name)).sum::<u64>();
    let [drops, copies] = ["b_drops", "b_group_drops"].map(sum);
    // 12 requests come at once to each of eleven other hosts, and to the one that is asked.
    assert!(copies > 11 * 5, "{copies}");
    let unicast = row.counters["out"]["a_drops"] - row.counters["out"]["a_group_drops"];
    assert!(drops >= copies && unicast > 0, "{drops} {copies} {unicast}");
    // All that is lost is on the way to the one that is asked.
    let glance = results.glance();
    let said = glance.iter().find(|(what, _)| what == "Lost on the way").map(|(_, said)| said.as_str());
    assert_eq!(said, Some(format!("{unicast} frames or cells").as_str()));
}

/// One of several may be to begin later than the run lasts, which is said before it; all of them may not.
#[test]
fn loads_that_begin_too_late_are_told_of_before_anything_runs() {
    let plan = |late: &str| {
        let text = TWO_LOADS.replace("message = \"8 KiB\"", "message = \"8 KiB\", start = \"${start}\"");
        let text = text.replacen("${start}", late, 1).replacen("${start}", "2 s", 1);
        let document = Document::parse("two", "two.toml", &text).unwrap();
        Plan::new(&[document], &Choice::default(), &Flows(1)).map_err(|fault| fault.to_string())
    };
    let tables = plan("0 s").unwrap().foreseen(Shard::WHOLE, &BTreeMap::new()).tables();
    assert_eq!(tables[0].legend, ["other: would begin at 2 s, and the run is over after 1 s: it never begins"]);
    let refused = plan("1 s").unwrap_err();
    assert!(
        refused.contains("the run is over after 1 s, before any load begins; expected an earlier time"),
        "{refused}"
    );
}

#[test]
fn what_one_of_several_runs_has_counted_is_not_shown_as_nothing() {
    let shown = |mean: f64| super::super::bounds::count(Some(mean)).parts(false).concat().trim().to_owned();
    let means = [0.0, 1.0 / 64.0, 1.0 / 3.0, 1.0, 2.5, 9.75, 10.5, 1234.5];
    assert_eq!(means.map(shown), ["0", "0.02", "0.3", "1", "2.5", "9.8", "10", "1234"]);
}
