//! Plans with a runner that only says what it was asked.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::done::{of_runs, one_of, unlike};
use super::*;
use crate::figure::Scale;
use crate::progress::Progress;
use crate::rows::{Parameter, to_jsonl};
use crate::scenario::Repeat;
use crate::stats::{Level, Summary};
use crate::table::{Layout, Lines};

mod bounds;
mod lacking;
mod statements;
mod sweeps;

const TWO_HOSTS: &str = include_str!("../../tests/data/two-hosts.toml");

/// Goodput grows with the window and varies with the seed.
struct Fake {
    failing: bool,
}

impl Runner for Fake {
    fn check(&self, point: &Point) -> Result<(), ConfigError> {
        match point.scenario.host["a"].settings["tcp"]["mss"].as_str() {
            Some("0 B") => Err(ConfigError::at(["host", "a", "tcp", "mss"], "no segment fits")),
            _ => Ok(()),
        }
    }

    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        if self.failing && point.index == 1 {
            return Err("the peer reset".into());
        }
        let mut row = point.row();
        let window = row.parameter("window_bytes").cloned();
        let Some(Parameter::Count(window)) = window else {
            return Err("no window".into());
        };
        row.goodput_mbps = f64::from(u32::try_from(window)?) / 2048.0 + f64::from(u32::try_from(row.seed)?) / 100.0;
        row.bound_by = "window".to_owned();
        row.held =
            [("receive window".to_owned(), 0.75), ("slow start".to_owned(), 0.248), ("pacing".to_owned(), 0.002)]
                .into();
        Ok(Outcome {
            rows: vec![row],
            captures: vec![("a.pcapng".to_owned(), vec![1, 2].into())],
            notes: vec!["a fake".to_owned()],
            limits: vec![("AAL5".to_owned(), 134.581)],
            failed: None,
        })
    }
}

fn plan(set: &[&str], text: &str) -> Result<Plan, ConfigError> {
    let document = Document::parse("two", "two.toml", text).unwrap();
    let choice = Choice { set: set.iter().map(|&s| s.to_owned()).collect(), quick: false, runs: None };
    Plan::new(&[document], &choice, &Fake { failing: false })
}

fn run(plan: &Plan, runner: impl Runner + Send + 'static, options: Options<'_>) -> Vec<Results> {
    plan.run(&Arc::new(runner), options, &mut Progress::hidden()).unwrap()
}

fn results(text: &str, jobs: usize, failing: bool) -> Results {
    let options = Options { jobs, ..Options::default() };
    run(&plan(&[], text).unwrap(), Fake { failing }, options).remove(0)
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let rows = |jobs| {
        let rows: Vec<Row> = results(TWO_HOSTS, jobs, false).rows().cloned().collect();
        to_jsonl(&rows).unwrap()
    };
    assert_eq!(rows(1), rows(4));
    assert_eq!(rows(1).lines().count(), 5);
}

#[test]
fn a_table_and_a_figure_show_the_value_that_is_asked_for() {
    let without_paper = TWO_HOSTS.split("[[compare]]").next().unwrap();
    let text = without_paper.replace("[report]", "[report]\nvalue = \"measured_s\"");
    let shown = results(&text, 1, false);
    let table = shown.table().draw(Layout { lines: Lines::Ascii, width: None });
    assert!(table.starts_with("Paper 2, fig6: Two hosts, one line: measured (s)\n"), "{table}");
    assert!(!table.contains("4.01"), "{table}");
    let svg = shown.figure().unwrap().to_svg();
    assert!(svg.contains("measured (s)") && !svg.contains("goodput"), "{svg}");
    for (value, words) in [("goodput_mbp", "did you mean \"goodput_mbps\"?"), ("delay_ms.p98", "one of goodput_mbps, ")]
    {
        let fault = plan(&[], &text.replace("measured_s", value)).unwrap_err().to_string();
        assert!(fault.contains("report.value") && fault.contains(words), "{fault}");
    }
    let both = format!(
        "{}\n[[trend]]\nof = {{}}\npeak_mbps = 1.0\nfrom = \"x\"\n",
        TWO_HOSTS.replace("[report]", "[report]\nvalue = \"jain\"")
    );
    assert!(plan(&[], &both).unwrap_err().to_string().contains("[[trend]] is about goodput"));
    let claim = "\n[[claim]]\nwords = \"so\"\nfrom = \"here\"\nleast = 1.0\n";
    let unsaid = plan(&[], &format!("{text}{claim}")).unwrap_err().to_string();
    assert!(unsaid.contains("the claim does not say which it means"), "{unsaid}");
    assert!(plan(&[], &format!("{text}{claim}value = \"measured_s\"")).is_ok());
    let unknown = plan(&[], &format!("{text}{claim}value = \"measure_s\"")).unwrap_err().to_string();
    assert!(unknown.contains("did you mean \"measured_s\"?"), "{unknown}");
}

#[test]
fn what_held_connections_back_is_a_figure_of_parts_that_add_up() {
    // Where a paper is repeated nobody asks for it.
    assert!(results(TWO_HOSTS, 1, false).held_figure().is_none());
    let asked = |held: &str| TWO_HOSTS.replace("[report]", &format!("[report]\nheld = \"{held}\""));
    let figure = results(&asked("total"), 1, false).held_figure().unwrap();
    let labels: Vec<&str> = figure.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["receive window", "slow start", "other"]);
    for place in 0..5 {
        let sum: f64 = figure.series.iter().map(|series| series.points[place].y).sum();
        assert!((sum - 100.0).abs() < 1e-9, "{sum}");
    }
    assert!(matches!(&figure.x.scale, Scale::Names(names) if names[0] == "nagle on, window 8 KiB, rtt 1 ms"));
    assert!(results(&asked("flow"), 1, false).held_figure().is_none(), "it has no rows of flows");
    let fault = plan(&[], &asked("flows")).unwrap_err().to_string();
    assert!(fault.contains("report.held = \"flows\"") && fault.contains("did you mean \"flow\"?"), "{fault}");
    let unasked = TWO_HOSTS.replace("paper = 2\n", "").split("[[compare]]").next().unwrap().to_owned();
    assert_eq!(results(&unasked, 1, false).held_figure().unwrap().series[0].points.len(), 5);
}

/// Paper 1 leaves the best and the worst of its runs out of their mean.
#[test]
fn of_a_fixed_number_of_runs_one_number_is_shown() {
    for (show, trim, expected) in
        [("min", 1, 1.0), ("max", 1, 100.0), ("mean", 1, 3.0), ("mean", 0, 22.0), ("mean", 2, 3.0)]
    {
        let fixed = Repeat { runs: 8, show: Some(show.to_owned()), trim, always: false };
        let mut values = vec![4.0, 1.0, 100.0, 2.0, 3.0];
        let mut notes = Vec::new();
        one_of((&fixed, 5), &mut values, &mut notes);
        assert_eq!(values, [expected], "{show}");
        assert_eq!(notes, ["each value is of 5 runs; the scenario has 8: --runs 8"]);
    }
}

/// Each load has a middle of its own, and so have all together.
#[test]
fn loads_that_do_not_add_up_are_told_of() {
    let document = Document::parse("two", "two.toml", TWO_HOSTS).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let summary = |mean: f64| Summary::of(&[mean], Level::P95).unwrap();
    let loads = |b: f64| [("a".to_owned(), summary(16.54)), ("b".to_owned(), summary(b))];
    assert_eq!(
        unlike(&summary(48.27), &loads(29.6), &point).as_deref(),
        Some(
            "the loads do not add up to the total: of each and of all together other runs are left out (the sum is 46.14, the total 48.27)"
        )
    );
    assert_eq!(unlike(&summary(46.14), &loads(29.6), &point), None);
    assert_eq!(unlike(&summary(46.14), &[], &point), None, "one load alone");
}

#[test]
fn no_more_runs_are_made_than_are_wanted() {
    let text = TWO_HOSTS.replace("[run]", "[run]\nrepeat = { runs = 6 }");
    for (most, made) in [(None, 6), (Some(2), 2), (Some(9), 6)] {
        let mut plan = plan(&[], &text).unwrap();
        plan.choice.runs = most;
        let results = run(&plan, Fake { failing: false }, Options::default());
        // All of them stay, with their seeds.
        let runs: Vec<u32> = results[0].rows().map(|row| row.repetition).collect();
        assert_eq!(runs, (0..5).flat_map(|_| 0..made).collect::<Vec<_>>());
    }
}

#[test]
fn a_point_that_cannot_run_is_refused_before_any_runs() {
    let fault = plan(&["mss=0 B"], TWO_HOSTS).unwrap_err().to_string();
    assert_eq!(fault, "--set mss=0 B (two.toml): host.a.tcp.mss = \"0 B\": no segment fits");
}

#[test]
fn the_table_has_the_papers_value_beside_ours() {
    let table = results(TWO_HOSTS, 1, false).table();
    let text = table.draw(Layout { lines: Lines::Markdown, width: None });
    assert_eq!(
        text,
        "Paper 2, fig6: Two hosts, one line (Mb/s)\n\n\
         | window, rtt    |                     nagle on | nagle off |\n\
         |----------------|------------------------------|-----------|\n\
         | 8 KiB, 1 ms    |   4.01                       |           |\n\
         | 48 KiB, 20 ms  |  24.01                       |     24.01 |\n\
         | 256 KiB, 20 ms | 128.01  paper 133.4  -4.04 % |    128.01 |\n\
         profile zero: no CPU cost\n\
         one seed for each point, so there is no interval\n\
         where no value of the paper stands beside ours, it prints none\n\
         paper's values: text, section 5\n\
         a fake\n"
    );
}

#[test]
fn the_figure_has_one_curve_for_each_series() {
    let figure = results(&TWO_HOSTS.replace("series =", "limit = \"aal5\"\nseries ="), 2, false).figure().unwrap();
    let curves: Vec<&str> = figure.series.iter().map(|s| s.label.as_str()).collect();
    assert_eq!(curves, ["nagle on", "nagle off"], "the round trip follows from the window");
    assert_eq!(figure.limits.len(), 1);
    assert_eq!(figure.series[0].paper, [(262_144.0, 133.4)]);
    assert_eq!(figure.series[1].points[0].x, 49_152.0);
}

/// A bare share stands where rows have it: at 0.1 % and not at 0.001 %.
#[test]
fn a_bare_share_beside_those_in_per_cent_is_drawn_in_per_cent() {
    const LOSS: &str = r#"
title = "Loss"
host.a = { graph = ["tcp", "ip", "l0"], tcp = { mss = "1448 B" } }
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", impair.loss = "${loss}" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB", socket_buffer = "${window}" }
run.duration = "1 s"
vary = { window = ["64 KiB"], loss = [0, 0.001, 0.01, "3 %"] }
report.x = "loss"
"#;
    let drawn = |text: &str| {
        let results = results(text, 1, false);
        let figure = results.figure().unwrap();
        let x: Vec<f64> = figure.series[0].points.iter().map(|point| point.x).collect();
        let rows = results.rows().map(|row| row.parameter("loss_percent").or_else(|| row.parameter("loss")).cloned());
        (figure.x.unit, x, rows.map(Option::unwrap).collect::<Vec<_>>())
    };
    let rows = [0.0, 0.1, 1.0, 3.0].map(|it| if it == 3.0 { Parameter::Count(3) } else { Parameter::Number(it) });
    assert_eq!(drawn(LOSS), ("%".to_owned(), vec![0.0, 0.1, 1.0, 3.0], rows.to_vec()));
    // Alone they say nothing of a unit.
    let bare = drawn(&LOSS.replace("\"3 %\"", "0.03"));
    assert_eq!((bare.0.as_str(), bare.1), ("", vec![0.0, 0.001, 0.01, 0.03]));
}

#[test]
fn the_value_that_is_looked_for_among_candidates_is_a_line() {
    let figure = results(&TWO_HOSTS.replace("series =", "candidates = true\nseries ="), 2, false).figure().unwrap();
    assert!(figure.series.iter().all(|curve| curve.paper.is_empty()));
    let limits: Vec<(&str, f64)> = figure.limits.iter().map(|limit| (limit.label.as_str(), limit.y)).collect();
    assert_eq!(limits, [("the paper's value", 133.4)]);
}

/// What is the same for all, or follows from the rest, is in no legend.
#[test]
fn curves_are_named_by_what_differs_in_words() {
    let more =
        "nagle = [true, false]\n\"kind_of, copy\" = [[\"a\", 7], [\"b\", 8]]\ndelayed_ack = [1, 2]\nsame = [9]\n";
    let text = TWO_HOSTS.replace("nagle = [true, false]\n", more);
    let text = text.replace("series = [\"nagle\"]", "series = [\"same\", \"kind_of\"]");
    let text = text.replacen("about = \"", "about = \"${kind_of} ${copy} ${delayed_ack} ${same} ", 1);
    let figure = results(&text, 2, false).figure().unwrap();
    let curves: Vec<&str> = figure.series.iter().map(|s| s.label.as_str()).collect();
    assert_eq!(curves.first(), Some(&"nagle on, a, delayed ack 1"), "{curves:?}");
    assert_eq!(curves.len(), 8, "{curves:?}");
    assert!(figure.series.iter().flat_map(|s| &s.points).all(|point| point.bound == "window"));
}

#[test]
fn of_many_limits_the_ends_are_drawn() {
    let limit = |y| crate::figure::Limit { label: "line".to_owned(), y };
    assert_eq!(figures::extremes([3.0, 1.0, 2.0].map(limit).to_vec()).len(), 3);
    let ends = figures::extremes([3.0, 1.0, 4.0, 2.0].map(limit).to_vec());
    let ends: Vec<(&str, f64)> = ends.iter().map(|limit| (limit.label.as_str(), limit.y)).collect();
    assert_eq!(ends, [("line, the lowest", 1.0), ("line, the highest", 4.0)]);
}

#[test]
fn a_point_is_repeated_with_other_seeds_until_the_interval_is_narrow() {
    let wide = TWO_HOSTS.replace(
        "duration = \"10 s\"",
        "duration = \"10 s\"\nconfidence = { level = \"95 %\", width = 0.001, most = 5 }",
    );
    let results = results(&wide, 2, false);
    let first: Vec<(u64, u32)> =
        results.rows().filter(|row| row.series == "nagle on").map(|row| (row.seed, row.repetition)).collect();
    let expected = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)];
    assert_eq!(first[..5], expected, "8 KiB is too wide at 5");
    assert_eq!(&first[5..], &[&expected[..], &expected[..3]].concat()[..], "256 KiB is narrow at 3");
    let legend = results.table().legend.join("\n");
    assert!(legend.contains("8 KiB, rtt 1 ms: after 5 runs the interval is still"), "{legend}");
}

#[test]
fn a_point_that_fails_leaves_the_others() {
    let results = results(TWO_HOSTS, 2, true);
    assert_eq!(results.rows().count(), 4);
    let [(label, why)] = &results.failures()[..] else {
        panic!("{:?}", results.failures());
    };
    assert_eq!((label.as_str(), why.as_str()), ("nagle on, window 48 KiB, rtt 20 ms", "the peer reset"));
    assert!(results.table().legend.iter().any(|line| line.starts_with("failed: nagle on")));
}

/// Jain's index of one seed is 1, and of the next 0.9.
struct Fair;

impl Runner for Fair {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let mut outcome = Fake { failing: false }.run(point)?;
        let is_even = point.scenario.run.seed.is_multiple_of(2);
        outcome.rows.iter_mut().for_each(|row| row.jain = Some(if is_even { 0.9 } else { 1.0 }));
        Ok(outcome)
    }
}

/// No index is above 1, whatever half of an interval is beside its mean, and no bars are told of that are not drawn.
#[test]
fn an_interval_ends_where_its_value_does() {
    let text = TWO_HOSTS.split("[[compare]]").next().unwrap();
    let wanted = "[run]\nconfidence = { level = \"95 %\", width = 0.0001, most = 3 }";
    let text = text.replace("[report]", "[report]\nvalue = \"jain\"").replace("[run]", wanted);
    let results = plan_and_run(&text, Fair);
    let figure = results.figure().unwrap();
    let spreads: Vec<(f64, f64)> = figure.series.iter().flat_map(|it| &it.points).filter_map(|it| it.spread).collect();
    assert_eq!(spreads.len(), 5);
    assert!(spreads.iter().all(|(low, high)| *low > 0.8 && *high == 1.0), "{spreads:?}");
    assert!(figure.caption.contains("Bars: confidence intervals, between 0 and 1."), "{}", figure.caption);
    let legend = results.table().legend.join("\n");
    let words = "no jain is below 0 or above 1: where +- leads there, the interval ends at that";
    assert!(legend.contains(words), "{legend}");
    assert!(!results.caption(&results.points[0].0, &[]).contains("Bars"));
}

/// Every second seed has a delay, and the others have none.
struct Sometimes;

impl Runner for Sometimes {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let mut outcome = Fake { failing: false }.run(point)?;
        let row = outcome.rows.first_mut().ok_or("no row")?;
        if point.scenario.run.seed.is_multiple_of(2) {
            row.delay_ms = [("mean".to_owned(), row.goodput_mbps)].into();
        }
        Ok(outcome)
    }
}

/// A value that runs lack is no failure of theirs: what they brought stays, and it is said why the cell is empty.
#[test]
fn a_run_without_the_value_keeps_its_rows_and_says_why_there_is_none() {
    let text =
        TWO_HOSTS.split("[[compare]]").next().unwrap().replace("[report]", "[report]\nvalue = \"delay_ms.mean\"");
    let none = results(&text, 1, false);
    assert_eq!((none.rows().count(), none.failures().len()), (5, 0));
    let table = none.table().draw(Layout { lines: Lines::Markdown, width: None });
    assert!(table.contains("\nno delay_ms.mean: no datagram arrived while it was measured\n"), "{table}");
    assert!(table.contains("| 48 KiB, 20 ms  |          |           |"), "{table}");
    assert!(none.figure().unwrap().series.iter().all(|curve| curve.points.is_empty()));
    let sometimes = |run: &str| {
        let text = text.replace("[run]", &format!("[run]\n{run}"));
        plan_and_run(&text, Sometimes)
    };
    let some = sometimes("repeat = { runs = 3, trim = 0 }");
    assert_eq!((some.rows().count(), some.failures().len()), (15, 0));
    let table = some.table().draw(Layout { lines: Lines::Markdown, width: None });
    let why = "seeds 1, 3: no delay_ms.mean: no datagram arrived while it was measured; the value is of the other runs";
    assert!(table.contains(why) && table.contains("each value is of one run\n") && table.contains("4.02"), "{table}");
    // So many runs are enough, whether they bring it or not.
    let many = sometimes("confidence = { level = \"95 %\", width = 0.0001, most = 5 }");
    assert_eq!((many.rows().count(), many.failures().len()), (25, 0));
    let legend = many.table().legend.join("\n");
    assert!(legend.contains("seeds 1, 3, 5: no delay_ms.mean"), "{legend}");
    assert!(legend.contains("after 5 runs, of which 2 have a value, the interval is still"), "{legend}");
}

fn plan_and_run(text: &str, runner: impl Runner + Send + 'static) -> Results {
    run(&plan(&[], text).unwrap(), runner, Options::default()).remove(0)
}

#[test]
fn runs_without_the_value_are_runs() {
    let text = TWO_HOSTS.split("[[compare]]").next().unwrap();
    let text = text.replace("[report]", "[report]\nvalue = \"delay_ms.mean\"");
    let ran = |runs: u32| {
        let wanted =
            format!("[run]\nconfidence = {{ level = \"95 %\", width = 0.0001, fewest = {runs}, most = {runs} }}");
        plan_and_run(&text.replace("[run]", &wanted), Sometimes)
    };
    let (three, five) = (ran(3), ran(5));
    let legend = |results: &Results| results.table().legend.join("\n");
    assert!(legend(&five).contains("interval over 5 seeds"), "{}", legend(&five));
    // One of three runs has it.
    assert!(!legend(&three).contains("interval over") && !legend(&three).contains("one seed"), "{}", legend(&three));
    let caption = three.figure().unwrap().caption;
    assert!(!caption.contains("One seed"), "{caption}");
}

/// A point that comes far, and not to its end.
struct Unfinished;

impl Runner for Unfinished {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let outcome = Fake { failing: false }.run(point)?;
        let is_half = point.index == 1;
        let notes = ["of all", if is_half { "of what failed" } else { "of the others" }].map(str::to_owned).into();
        Ok(Outcome { failed: is_half.then(|| "half of it came".to_owned()), notes, ..outcome })
    }
}

#[test]
fn a_point_that_fails_may_have_rows() {
    let options = Options { jobs: 2, ..Options::default() };
    let results = run(&plan(&[], TWO_HOSTS).unwrap(), Unfinished, options).remove(0);
    assert_eq!(results.failures(), [("nagle on, window 48 KiB, rtt 20 ms".to_owned(), "half of it came".to_owned())]);
    let legend = results.table().legend;
    assert!(legend.iter().any(|line| line.starts_with("failed: nagle on")));
    // What is not said of that one names whose it is, and so does what is said of it alone.
    let told = |of: &str| legend.iter().filter(|line| line.ends_with(of)).map(String::as_str).collect::<Vec<_>>();
    assert_eq!(told("of all"), ["of all"]);
    assert_eq!(told("of what failed"), ["nagle on, window 48 KiB, rtt 20 ms: of what failed"]);
    assert!(told("of the others").len() == 4 && !told("of the others").contains(&"of the others"), "{legend:?}");
    let rows = results.rows().map(|row| row.goodput_mbps).collect::<Vec<_>>();
    let whole = whole_rows(&[results]).map(|row| row.unwrap().goodput_mbps).collect::<Vec<_>>();
    assert_eq!((rows.len(), rows), (5, whole));
}

#[test]
fn of_several_runs_that_fails_is_named_by_its_seed() {
    for runs in ["repeat = { runs = 3 }", "confidence = { level = \"95 %\", width = 0.5 }"] {
        let text = TWO_HOSTS.replace("duration = \"10 s\"", &format!("duration = \"10 s\"\n{runs}"));
        let why = results(&text, 2, true).failures()[0].1.clone();
        assert_eq!(why, "seed 1: the peer reset", "{runs}");
    }
}

#[test]
fn captures_rows_and_figures_are_written() {
    let folder = std::env::temp_dir().join(format!("kumiki-reproduce-{}", std::process::id()));
    let output = Output::open(&folder, true).unwrap();
    let options = Options { jobs: 2, output: Some(&output), ..Options::default() };
    let results = run(&plan(&[], TWO_HOSTS).unwrap(), Fake { failing: false }, options);
    let origin =
        r#"{"command": "kumiki run <two>", "machine": {"cores": 2, "cpu": null}, "took_s": 1.25, "points": []}"#;
    output.write(Output::RUN, origin.as_bytes()).unwrap();
    let files = write(&output, &results).unwrap();
    assert_eq!(files.len(), 5);
    let page = std::fs::read_to_string(output.path("report.html")).unwrap();
    for said in [
        "<h1>Paper 2, fig6: Two hosts, one line</h1>",
        "<th scope=\"row\">nagle on, window 8 KiB, rtt 1 ms</th>\n<td class=\"number\">4.01</td>",
        "<td>window</td>",
        "kumiki run &lt;two&gt;",
        "<dd>2 cores</dd>",
        "<dd>1.2 s</dd>",
        "<li>a fake</li>",
    ] {
        assert!(page.contains(said), "{said:?} is not in {page}");
    }
    let capture = output.path("captures/two/004-a.pcapng");
    assert_eq!(std::fs::read(&capture).unwrap(), [1, 2]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&capture).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(output.path("figures/two.svg").is_file());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Wants an end while it runs its second point, which never ends by itself.
#[derive(Clone, Default)]
struct Impatient {
    wanted: Arc<AtomicBool>,
    begun: Arc<AtomicUsize>,
}

impl Runner for Impatient {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        if self.begun.fetch_add(1, Ordering::SeqCst) == 1 {
            self.wanted.store(true, Ordering::SeqCst);
            loop {
                std::thread::park();
            }
        }
        Fake { failing: false }.run(point)
    }
}

#[test]
fn an_end_that_is_wanted_waits_for_no_point() {
    let runner = Impatient::default();
    let plan = plan(&[], TWO_HOSTS).unwrap();
    let wanted = Arc::clone(&runner.wanted);
    let interruption = Interruption::by(move || wanted.load(Ordering::SeqCst));
    let results = run(&plan, runner.clone(), Options { interruption, ..Options::default() });
    assert_eq!(runner.begun.load(Ordering::SeqCst), 2);
    let [result] = &results[..] else {
        panic!("one scenario");
    };
    assert_eq!((result.rows().count(), result.left()), (1, (4, 5)));
    assert!(result.failures().is_empty(), "what was not run has not failed");
    let whole = tests::results(TWO_HOSTS, 1, false);
    assert!(result.rows().eq(whole.rows().take(1)));
}

#[test]
fn what_only_some_runs_say_has_their_seeds() {
    let told = |seeds: &[u64], runs| of_runs("1 of 2 aborted".to_owned(), seeds, runs);
    assert_eq!(told(&[1, 3], 3), "seeds 1, 3: 1 of 2 aborted");
    assert_eq!(told(&[3], 3), "seed 3: 1 of 2 aborted");
    assert_eq!(told(&[1, 2, 3], 3), "1 of 2 aborted");
    assert_eq!(told(&[1, 2, 4, 5, 6, 9], 9), "seeds 1, 2, 4 to 6, 9: 1 of 2 aborted");
}

/// Notes as so many runs have them.
struct Noted(fn(u64) -> Vec<String>);

impl Runner for Noted {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let notes = self.0(point.scenario.run.seed);
        Ok(Outcome { notes, ..Fake { failing: false }.run(point)? })
    }
}

#[test]
fn notes_that_differ_in_numbers_alone_are_one() {
    let text = TWO_HOSTS.split("[[compare]]").next().unwrap().replace("[run]", "[run]\nrepeat = { runs = 5 }");
    let legend = |notes| plan_and_run(&text, Noted(notes)).table().legend;
    let one = legend(|seed| vec![format!("bulk: waits {}.5 ms of 70 ms in l{seed}.10.0.0.1 (2 of them)", 10 + seed)]);
    assert!(one.iter().any(|it| it.contains("bulk: waits 11.5 ms of 70 ms in l1.10.0.0.1 (2 of them)")), "{one:?}");
    let one = legend(|seed| vec![format!("bulk: waits {}.5 ms of 70 ms in l0 (2 of them)", 10 * seed)]);
    let gathered = "seeds 1 to 5: bulk: waits 10.5..50.5 ms of 70 ms in l0 (2 of them)";
    assert!(one.contains(&gathered.to_owned()), "{one:?}");
    // Numbers between "from" and "to" stay two.
    let grown = legend(|seed| vec![format!("the queue grew from {} to {} frames", seed % 4, 249 + seed)]);
    let gathered = "seeds 1 to 5: the queue grew from 0..3 to 250..254 frames";
    assert!(grown.contains(&gathered.to_owned()), "{grown:?}");
    // Of two in a run it is not known which is which in another one.
    let two = legend(|seed| vec![format!("line {seed} was away"), format!("line {} was away", 9 - seed)]);
    assert!(!two.iter().any(|it| it.contains("..") && it.contains("was away")), "{two:?}");
    // What is called by a number is another one, and not more of it.
    let (head, load) = text.split_once("[load.bulk]").unwrap();
    let (load, rest) = load.split_once("[vary]").unwrap();
    let text = format!("{head}[load.1]{load}[load.2]{load}[vary]{rest}");
    let notes = |seed| vec![format!("{}: waits for what 1 sends", 1 + seed % 2), format!("{} of 9 ended", 3 + seed)];
    let named = plan_and_run(&text, Noted(notes)).table().legend;
    for own in ["seeds 2, 4: 1: waits for what 1 sends", "seeds 1 to 5: 4..8 of 9 ended"] {
        assert!(named.contains(&own.to_owned()), "{own} {named:?}");
    }
}

#[test]
fn what_bound_a_point_stands_behind_its_goodput_alone() {
    let text = TWO_HOSTS.replace("paper = 2\n", "").split("[[compare]]").next().unwrap().to_owned();
    let drawn = |text: &str| results(text, 1, false).table().draw(Layout { lines: Lines::Ascii, width: None });
    assert!(drawn(&text).contains("behind each value: what bound it"), "{}", drawn(&text));
    let of_other = text.replace("[report]", "[report]\nvalue = \"measured_s\"");
    assert!(!drawn(&of_other).contains("what bound it"), "{}", drawn(&of_other));
    let asked = of_other.replace("[report]", "[report]\nbound = true");
    assert!(drawn(&asked).contains("behind each value: what bound it"));
}

#[test]
fn a_point_without_a_name_is_told_by_its_scenario_alone() {
    let text = TWO_HOSTS.split("[vary]").next().unwrap().split("[[compare]]").next().unwrap();
    let text = text.replace("${nagle}", "true").replace("${window}", "8 KiB").replace("${rtt / 2}", "1 ms");
    let text = text.split("[report]").next().unwrap();
    let plan = plan(&[], text).unwrap();
    let mut told = Progress::told(1, |step| assert_eq!(step.what, "two"));
    plan.run(&Arc::new(Fake { failing: false }), Options::default(), &mut told).unwrap();
}

/// What the page says without a paper, of points that went otherwise.
#[test]
fn how_it_went_is_told_in_a_few_lines() {
    struct Slow;
    impl Runner for Slow {
        fn run(&self, point: &Point) -> Result<Outcome, Failure> {
            let number = u64::try_from(point.index)?;
            let mut outcome = Fake { failing: false }.run(point)?;
            let row = &mut outcome.rows[0];
            row.limit_mbps = Some(200.0);
            (row.segments_sent, row.retransmissions, row.timeouts) = (Some(1000), Some(10 * number), Some(number / 4));
            row.jain = Some(1.0 - 0.1 * glance::lossy(number));
            if number > 2 {
                "loss".clone_into(&mut row.bound_by);
            }
            let counts = |count| [("a_drops".to_owned(), count), ("a_frames".to_owned(), 9)].into();
            row.counters =
                [("line".to_owned(), counts(3 * number)), ("a.tcp".to_owned(), [("rack_lost".to_owned(), 7)].into())]
                    .into();
            row.queues = [
                ("line.a".to_owned(), [("p95".to_owned(), 5.0)].into()),
                ("line.b".to_owned(), [("p95".to_owned(), 1.0)].into()),
            ]
            .into();
            Ok(outcome)
        }
    }
    let text = TWO_HOSTS.replace("paper = 2\n", "").split("[[compare]]").next().unwrap().to_owned();
    let one = plan_and_run(&text, Slow).glance();
    assert!(!one.iter().any(|(what, _)| what == "Jain's index"), "one flow shares with nobody: {one:?}");
    let text = text.replace("count = 100", "count = 100\nsessions = 2");
    let results = plan_and_run(&text, Slow);
    let glance = results.glance();
    let said = |name: &str| glance.iter().find(|(what, _)| what == name).map_or("", |(_, said)| said.as_str());
    let [first, last] = ["nagle on, window 8 KiB, rtt 1 ms", "nagle off, window 256 KiB, rtt 20 ms"];
    for (name, wanted) in [
        ("Points", "5".to_owned()),
        ("Goodput", format!("4.01 ({first}) to 128.01 Mb/s (nagle on, window 256 KiB, rtt 20 ms)")),
        ("Bound by", "window at 3, loss at 2 points".to_owned()),
        ("TCP held back by", "receive window 75 %, slow start 25 %".to_owned()),
        ("Sent again", format!("0 ({first}) to 40 segments ({last})")),
        ("Of all segments", format!("0.00 ({first}) to 4.00 % ({last})")),
        ("Time-outs", format!("0 ({first}) to 1 ({last})")),
        ("Lost on the way", format!("0 ({first}) to 12 frames or cells ({last})")),
        ("Longest queue", format!("line.a, 5 or less in 95 % of the time ({first})")),
        ("Jain's index", format!("0.600 ({last}) to 1.000 ({first})")),
    ] {
        assert_eq!(said(name), wanted, "{name}");
    }
    // What answers comes first: in the summary, and next to the name of a point.
    let first: Vec<&str> = glance.iter().map(|(what, _)| what.as_str()).take(3).collect();
    assert_eq!(first, ["Goodput", "Bound by", "TCP held back by"]);
    assert_eq!(results.bounds().columns[..3], ["goodput (Mb/s)", "bound by", "held back by"]);
    let html = results.to_html(std::slice::from_ref(&results));
    for head in ["retransmitted", "time-outs", "lost on the way", "longest queue"] {
        assert!(html.contains(&format!("<th scope=\"col\">{head}</th>")), "{head}");
    }
    let is_open = |results: &Results, words: &str| {
        results.to_html(std::slice::from_ref(results)).contains(&format!("{words}><summary>What bound each point"))
    };
    assert!(is_open(&results, "<details open=\"open\""));
    // Of a paper the verdicts are asked for first.
    let of_paper = run(&plan(&[], TWO_HOSTS).unwrap(), Slow, Options::default()).remove(0);
    assert!(is_open(&of_paper, "<details"));
    // What no point has is no column.
    let plain = tests::results(&text, 1, false);
    assert!(!plain.to_html(std::slice::from_ref(&plain)).contains("longest queue"));
}

#[test]
fn one_thing_that_held_all_of_them_back_all_the_time_is_no_figure_on_the_page() {
    struct Held(f64);
    impl Runner for Held {
        fn run(&self, point: &Point) -> Result<Outcome, Failure> {
            let mut outcome = Fake { failing: false }.run(point)?;
            outcome.rows[0].held = [("loss".to_owned(), self.0), ("slow start".to_owned(), 1.0 - self.0)].into();
            Ok(outcome)
        }
    }
    let text = TWO_HOSTS.replace("paper = 2\n", "").split("[[compare]]").next().unwrap().to_owned();
    let has = |text: &str, share| {
        let results = run(&plan(&[], text).unwrap(), Held(share), Options::default()).remove(0);
        assert!(results.held_figure().is_some());
        assert_eq!(
            results.held_worth_showing().is_some(),
            results.figures().iter().any(|(name, _)| name == "two-held")
        );
        results.to_html(std::slice::from_ref(&results)).contains("What held the connections back")
    };
    assert!(!has(&text, 1.0) && !has(&text, 0.97) && has(&text, 0.6));
    assert!(has(&text.replace("[report]", "[report]\nheld = \"total\""), 1.0), "it was asked for");
}
