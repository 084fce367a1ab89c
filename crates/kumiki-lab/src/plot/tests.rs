use super::*;
use crate::rows::Row;

fn row(window: u64, nagle: bool, seed: u64, goodput_mbps: f64) -> Row {
    Row {
        varied: vec![
            ("window_bytes".to_owned(), Parameter::Count(window)),
            ("nagle".to_owned(), Parameter::Switch(nagle)),
        ],
        seed,
        goodput_mbps,
        ..Row::default()
    }
}

fn results() -> Source {
    let mut rows = Vec::new();
    for window in [8192, 16_384] {
        for nagle in [false, true] {
            rows.extend([1, 2].map(|seed| row(window, nagle, seed, 10.0 + f64::from(u32::try_from(seed).unwrap()))));
        }
    }
    Source::of_rows("ours", rows, None)
}

fn figure(sources: &[Source], options: &Options) -> Result<Figure, ConfigError> {
    super::figure(sources, options).map(|(figure, _)| figure)
}

fn labels(figure: &Figure) -> Vec<&str> {
    figure.series.iter().map(|series| series.label.as_str()).collect()
}

#[test]
fn what_differs_makes_curves_and_runs_make_means() {
    let figure = figure(&[results()], &Options::default()).unwrap();
    assert_eq!(labels(&figure), ["nagle off", "nagle on"]);
    let points = &figure.series[0].points;
    assert_eq!(points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>(), [(8192.0, 11.5), (16_384.0, 11.5)]);
    assert!(points[0].spread.is_some());
    assert_eq!((figure.x.label.as_str(), figure.y.unit.as_str()), ("window", "Mb/s"));
    let over = Options { over: vec!["nagle".to_owned()], ..Options::default() };
    assert_eq!(labels(&self::figure(&[results()], &over).unwrap()), [""]);
}

#[test]
fn measurements_stand_beside_results_with_their_intervals() {
    let mine = "window (KiB),goodput (kb/s),goodput_min_mbps,goodput_max_mbps\n16,9000,8,9.5\n8,8000,7,8.5\n";
    let mine = Source::of_csv("mine.csv", mine, &[]).unwrap();
    let options = Options { conditions: vec!["nagle=off".parse().unwrap()], log_x: true, ..Options::default() };
    let (drawn, notes) =
        super::figure(&[results(), mine.clone()], &Options { x: Some("window".to_owned()), ..options }).unwrap();
    assert_eq!(labels(&drawn), ["ours", "mine"]);
    assert_eq!(notes, ["--where nagle=off: mine without nagle, so all of it is looked at"]);
    assert!(drawn.caption.ends_with(&format!("{}.", notes[0])), "{}", drawn.caption);
    let options = Options { x: Some("window".to_owned()), log_x: true, ..Options::default() };
    let figure = figure(&[results(), mine], &options).unwrap();
    assert_eq!(labels(&figure), ["ours, nagle off", "ours, nagle on", "mine"]);
    let last = &figure.series[2].points;
    assert_eq!(last[0], Mark { spread: Some((7.0, 8.5)), ..Mark::new(8192.0, 8.0) });
    assert_eq!(figure.x.scale, Scale::Octets);
}

/// Whatever the order of the columns of a file.
#[test]
fn names_of_curves_stand_in_one_order() {
    let of_load = |load: &str| Row { scope: Scope::Load, load: Some(load.to_owned()), ..row(8192, true, 1, 1.0) };
    let more = |load: &str| Row { scope: Scope::Load, load: Some(load.to_owned()), ..row(16_384, false, 1, 1.0) };
    let ours = Source::of_rows("ours", vec![of_load("one"), of_load("two"), more("one"), more("two")], None);
    let mine = "load,nagle,window_bytes,goodput_mbps\none,on,8192,1\ntwo,off,16384,1\n";
    let mine = Source::of_csv("mine.csv", mine, &[]).unwrap();
    let options = Options { x: Some("window".to_owned()), scope: Scope::Load, ..Options::default() };
    let figure = figure(&[ours, mine], &options).unwrap();
    assert!(labels(&figure).contains(&"ours, nagle on, one"), "{:?}", labels(&figure));
    assert!(labels(&figure).contains(&"mine, nagle on, one"), "{:?}", labels(&figure));
}

#[test]
fn words_are_bars_and_a_wrong_name_is_told() {
    let csv = Source::of_csv("m.csv", "host,rtt_ms\nnear,1\nfar,20\n", &[]).unwrap();
    let options = Options { x: Some("host".to_owned()), y: "rtt_us".to_owned(), ..Options::default() };
    let drawn = figure(std::slice::from_ref(&csv), &options).unwrap();
    assert_eq!(drawn.x.scale, Scale::Names(vec!["near".to_owned(), "far".to_owned()]));
    assert_eq!(drawn.series[0].shape, Shape::Bars);
    let wrong = Options { y: "rt".to_owned(), ..options.clone() };
    assert!(figure(std::slice::from_ref(&csv), &wrong).unwrap_err().to_string().contains("one of host, rtt_ms"));
    let no_number = Options { x: Some("rtt_ms".to_owned()), y: "host".to_owned(), ..options };
    assert!(figure(&[csv], &no_number).unwrap_err().to_string().starts_with("m.csv:2: column 1 (host) = \"near\""));
}

#[test]
fn a_damaged_value_makes_no_axis_of_names() {
    let refused = |csv: &str| {
        let source = Source::of_csv("m.csv", csv, &[]).unwrap();
        let heads = csv.lines().next().unwrap().split(',').map(str::to_owned).collect::<Vec<_>>();
        let options = Options {
            x: Some(heads[0].clone()),
            y: heads.last().unwrap().clone(),
            scope: Scope::Load,
            ..Options::default()
        };
        figure(&[source], &options).map(|drawn| drawn.x.scale).map_err(|why| why.to_string())
    };
    for damaged in ["bogus", "NaN", "3 ms"] {
        let said = refused(&format!("x,y\n1,2\n2,3\n{damaged},9\n4,5\n")).unwrap_err();
        let place = format!("m.csv:4: column 1 (x) = \"{damaged}\": not a number; expected ");
        assert!(said.starts_with(&place), "{said}");
    }
    let names = |all: &[&str]| Ok(Scale::Names(all.iter().map(|it| (*it).to_owned()).collect()));
    assert_eq!(refused("x,y\nnone,2\n2,3\n"), names(&["none", "2"]));
    let series = "time_s,scope,name,goodput_mbps\n1,load,t,2\n1,flow,t,2\n2,laod,t,3\n2,flow,t,3\n3,load,t,3\n";
    let said = refused(series).unwrap_err();
    let right = "m.csv:4: column 2 (scope): unknown scope \"laod\"; did you mean \"load\"?";
    assert!(said.starts_with(right), "{said}");
    assert_eq!(refused(&series.replace("laod", "load")), Ok(Scale::Linear));
}

#[test]
fn what_a_logarithmic_axis_has_no_place_for_is_said() {
    let csv = Source::of_csv("mine.csv", "loss_percent,goodput_mbps\n0,9.4\n0.1,8.2\n1,3.1\n", &[]).unwrap();
    let options = Options { x: Some("loss_percent".to_owned()), log_x: true, ..Options::default() };
    let figure = figure(std::slice::from_ref(&csv), &options).unwrap();
    assert!(figure.caption.contains("1 of 3 values is not drawn"), "{}", figure.caption);
    let linear = Options { log_x: false, ..options.clone() };
    assert!(!self::figure(std::slice::from_ref(&csv), &linear).unwrap().caption.contains("not drawn"));
    let over = Options { over: vec!["nonsense".to_owned()], ..options };
    let refused = self::figure(&[csv], &over).unwrap_err().to_string();
    assert!(refused.starts_with("--over: unknown varied name \"nonsense\""), "{refused}");
}

#[test]
fn a_load_that_is_asked_for_is_named_once() {
    let rows =
        ["near", "far"].map(|load| Row { scope: Scope::Load, load: Some(load.to_owned()), ..row(8192, true, 1, 3.0) });
    let source = Source::of_rows("ours", rows.to_vec(), None);
    let series = vec!["load".to_owned()];
    let options = Options { x: Some("window_bytes".to_owned()), series, scope: Scope::Load, ..Options::default() };
    assert_eq!(labels(&figure(std::slice::from_ref(&source), &options).unwrap()), ["near", "far"]);
    let csv = Source::of_csv("mine.csv", "window_bytes,load,goodput_mbps\n8192,near,4\n8192,far,5\n", &[]).unwrap();
    let both = figure(&[source, csv], &options).unwrap();
    assert_eq!(labels(&both), ["ours, near", "ours, far", "mine, near", "mine, far"]);
}

/// With a search of all names for each record this would take minutes.
#[test]
fn a_file_may_have_a_hundred_thousand_places() {
    use std::fmt::Write as _;
    let mut csv = "time_s,goodput_mbps\n".to_owned();
    for at in 0..100_000 {
        writeln!(csv, "{at},{}", at % 7).unwrap();
    }
    let source = Source::of_csv("mine.csv", &csv, &[]).unwrap();
    let options = Options { x: Some("time_s".to_owned()), ..Options::default() };
    let drawn = figure(&[source], &options).unwrap();
    assert_eq!(drawn.series[0].points.len(), 100_000);
    assert_eq!(drawn.series[0].points[8], Mark::new(8.0, 1.0));
}

/// With a search of all columns for each of them this would take hours.
#[test]
fn a_file_may_have_fifty_thousand_columns() {
    let all = |each: &dyn Fn(u32) -> String| (0..50_000).map(each).collect::<Vec<_>>().join(",");
    let csv = format!("{}\n{}\n", all(&|it| format!("c{it}")), all(&|it| it.to_string()));
    let source = Source::of_csv("wide.csv", &csv, &[]).unwrap();
    let options = Options { x: Some("c1".to_owned()), y: "c2".to_owned(), ..Options::default() };
    let drawn = figure(&[source], &options).unwrap();
    assert_eq!(drawn.series[0].points, [Mark::new(1.0, 2.0)]);
}

#[test]
fn conditions_that_nothing_meets_are_told() {
    let mine = Source::of_csv("mine.csv", "window (KiB),nagle,goodput (Mb/s)\n4,on,4\n", &[]).unwrap();
    let of = |text: &str| Options { conditions: vec![text.parse().unwrap()], ..Options::default() };
    let drawn = figure(&[results(), mine.clone()], &of("window=4 KiB"));
    assert_eq!(drawn.unwrap().caption, "ours: --where window=4 KiB: no record has this value; one of 8 KiB, 16 KiB.");
    let why = figure(&[results(), mine], &of("window=5 KiB")).unwrap_err().to_string();
    assert_eq!(why, "ours: --where window=5 KiB: no record has this value; one of 8 KiB, 16 KiB");
}

#[test]
fn per_cent_stand_beside_bare_shares() {
    let row =
        |loss| Row { varied: vec![("loss".to_owned(), Parameter::Number(loss))], goodput_mbps: 40.0, ..Row::default() };
    let ours = Source::of_rows("ours", [0.0001, 0.01].map(row).to_vec(), None);
    let mine = Source::of_csv("mine.csv", "loss (%),goodput (Mb/s)\n0.01,40\n1,3\n", &[]).unwrap();
    let figure = figure(&[ours, mine], &Options::default()).unwrap();
    assert_eq!((labels(&figure), figure.x.unit.as_str()), (vec!["ours", "mine"], "%"));
    for series in &figure.series {
        assert_eq!(series.points.iter().map(|point| point.x).collect::<Vec<_>>(), [0.01, 1.0], "{}", series.label);
    }
}

#[test]
fn empty_cells_are_told() {
    let mine = Source::of_csv("mine.csv", "window (KiB),goodput_mbps\n8,10\n16,\n,12\n", &[]).unwrap();
    let options = Options { x: Some("window".to_owned()), ..Options::default() };
    let (drawn, notes) = super::figure(&[mine], &options).unwrap();
    assert_eq!(drawn.series[0].points.len(), 1);
    let wanted = [
        "mine.csv: 1 of 3 lines has no window_bytes and is not drawn (line 4)",
        "mine.csv: 1 of 3 lines has no goodput_mbps and is not drawn (line 3)",
    ];
    assert_eq!(notes, wanted);
    assert!(wanted.iter().all(|note| drawn.caption.contains(note)), "{}", drawn.caption);
}

#[test]
fn remarks_beside_results_make_no_curves_and_are_told() {
    let mine = "window (KiB),goodput_mbps,note\n8,6,x\n8,6.2,\n16,7,\n";
    let mine = Source::of_csv("mine.csv", mine, &[]).unwrap();
    let options = Options { x: Some("window".to_owned()), ..Options::default() };
    let (drawn, notes) = super::figure(&[results(), mine.clone()], &options).unwrap();
    assert_eq!(labels(&drawn), ["ours, nagle off", "ours, nagle on", "mine"]);
    assert_eq!(drawn.series[2].points.iter().map(|it| it.y).collect::<Vec<_>>(), [6.1, 7.0]);
    assert_eq!(notes, ["not used of mine: note; --series note makes curves of it"]);
    assert!(drawn.caption.ends_with(&format!("{}.", notes[0])), "{}", drawn.caption);
    // Where it is asked for it does, and so do words of all lines: nothing is averaged that should not be.
    let asked = Options { series: vec!["note".to_owned()], ..options.clone() };
    assert!(labels(&figure(&[results(), mine], &asked).unwrap()).contains(&"mine, x"));
    let words = "window (KiB),goodput_mbps,congestion\n8,6,reno\n8,9,cubic\n";
    let words = Source::of_csv("mine.csv", words, &[]).unwrap();
    let drawn = figure(&[results(), words], &options).unwrap();
    assert_eq!(labels(&drawn)[2..], ["mine, reno", "mine, cubic"]);
}

#[test]
fn a_share_has_one_name_in_all_curves() {
    let with_loss = |loss: f64| {
        let mut row = row(8192, false, 1, 10.0);
        row.varied.push(("loss".to_owned(), Parameter::Number(loss)));
        row
    };
    let ours = Source::of_rows("ours", vec![with_loss(0.001), with_loss(0.01)], None);
    let mine = "window (KiB),loss (%),goodput_mbps\n8,0.1,9\n8,1,3\n";
    let mine = Source::of_csv("mine.csv", mine, &[]).unwrap();
    let expected = ["ours, loss 0.1 %", "ours, loss 1 %", "mine, loss 0.1 %", "mine, loss 1 %"];
    for series in [vec![], vec!["loss".to_owned()]] {
        let options = Options { x: Some("window".to_owned()), series, ..Options::default() };
        assert_eq!(labels(&figure(&[ours.clone(), mine.clone()], &options).unwrap()), expected);
    }
}

#[test]
fn an_interval_that_reaches_below_a_logarithmic_axis_is_drawn_as_far_as_that() {
    let mine = "window (KiB),goodput_mbps,goodput_ci_mbps\n8,6.67,8.27\n16,7,1\n";
    let mine = Source::of_csv("mine.csv", mine, &[]).unwrap();
    let options = Options { x: Some("window".to_owned()), log_y: true, ..Options::default() };
    let drawn = figure(core::slice::from_ref(&mine), &options).unwrap();
    assert!(drawn.caption.contains("1 interval has no lower end: it is not above zero."), "{}", drawn.caption);
    // An upright line and its upper end; of the other one both ends.
    let lines = |figure: &Figure| figure.to_svg().matches("stroke-width=\"1.5\"").count();
    let without = Source::of_csv("mine.csv", "window (KiB),goodput_mbps\n8,6.67\n16,7\n", &[]).unwrap();
    assert_eq!(lines(&drawn) - lines(&figure(&[without], &options).unwrap()), 2 + 3);
    let linear = figure(&[mine], &Options { log_y: false, ..options }).unwrap();
    assert!(!linear.caption.contains("no lower end"), "{}", linear.caption);
}

/// Whoever has to name the horizontal axis is told which names there are.
#[test]
fn an_axis_that_has_to_be_named_is_one_that_there_is() {
    let of = |rows: Vec<Row>| Source::of_rows("ours", rows, None);
    let words = |queue: &str| Row {
        varied: vec![("queue_kind".to_owned(), Parameter::Text(queue.to_owned()))],
        ..Row::default()
    };
    let told = |rows| figure(&[of(rows)], &Options::default()).unwrap_err().to_string();
    let said =
        "nothing that is varied has several numbers, so it is not known what the horizontal axis is; expected --x";
    assert_eq!(told(vec![words("red"), words("tail")]), format!("{said} queue_kind, or another value of the rows"));
    // Each once, although both results have them.
    let varied = |word: &str| {
        let varied = ["queue_kind", "order"].map(|name| (name.to_owned(), Parameter::Text(word.to_owned())));
        Row { varied: varied.into(), ..Row::default() }
    };
    let both = [of(vec![varied("a"), varied("b")]), of(vec![varied("a"), varied("b")])];
    let said_of_both = figure(&both, &Options::default()).unwrap_err().to_string();
    assert_eq!(said_of_both, format!("{said} with one of queue_kind, order, or another value of the rows"));
    assert_eq!(told(vec![words("red")]), format!("{said} with the name of a value of the rows, or of a column"));
}

/// Only where all of it says what rows and values over time are of is it no column like others.
#[test]
fn a_column_scope_of_ones_own_makes_curves() {
    let mine = "distance_m,scope,goodput_mbps\n1,indoor,9\n1,outdoor,10\n2,indoor,5\n2,outdoor,9.5\n";
    let mine = Source::of_csv("mine.csv", mine, &[]).unwrap();
    let options = Options { x: Some("distance_m".to_owned()), ..Options::default() };
    let drawn = figure(&[mine], &options).unwrap();
    assert_eq!(labels(&drawn), ["indoor", "outdoor"]);
    assert_eq!(drawn.series[1].points.iter().map(|it| it.y).collect::<Vec<_>>(), [10.0, 9.5]);
}

#[test]
fn queues_of_values_over_time_are_drawn_by_name() {
    let series = "time_s,scope,name,flow,goodput_mbps,queue_mean,busy\n\
                  1,load,bulk,,9.5,,\n1,flow,bulk,0,9.5,,\n1,queue,line.a,,,12.5,1\n1,queue,line.b,,,0.5,0.1\n\
                  2,load,bulk,,9.6,,\n2,flow,bulk,0,9.6,,\n2,queue,line.a,,,13.5,1\n2,queue,line.b,,,0.25,0.2\n";
    let series = Source::of_csv("000-series.csv", series, &[]).unwrap();
    let of = |y: &str, scope: Scope, conditions: &[&str]| {
        let conditions = conditions.iter().map(|text| text.parse().unwrap()).collect();
        let options =
            Options { x: Some("time_s".to_owned()), y: y.to_owned(), scope, conditions, ..Options::default() };
        let (figure, notes) = super::figure(std::slice::from_ref(&series), &options).unwrap();
        let of_curve = |curve: &Series| (curve.label.clone(), curve.points.iter().map(|it| (it.x, it.y)).collect());
        (figure.series.iter().map(of_curve).collect::<Vec<(String, Vec<(f64, f64)>)>>(), notes)
    };
    let both = vec![
        ("line.a".to_owned(), vec![(1.0, 12.5), (2.0, 13.5)]),
        ("line.b".to_owned(), vec![(1.0, 0.5), (2.0, 0.25)]),
    ];
    assert_eq!(of("queue_mean", Scope::Total, &[]), (both, Vec::new()));
    let (one, _) = of("busy", Scope::Total, &["name=line.b"]);
    assert_eq!(one.iter().map(|(_, points)| points.clone()).collect::<Vec<_>>(), [[(1.0, 0.1), (2.0, 0.2)]]);
    // Those have none of it, and are left out without a word.
    let (loads, notes) = of("goodput_mbps", Scope::Load, &[]);
    assert_eq!((loads.len(), loads[0].1.clone(), notes), (1, vec![(1.0, 9.5), (2.0, 9.6)], Vec::<String>::new()));
}

#[test]
fn a_condition_on_the_scope_alone_is_told_what_draws_it() {
    let series = "time_s,scope,name,goodput_mbps\n1,load,bulk,9.5\n2,load,bulk,9.6\n";
    let series = Source::of_csv("000-series.csv", series, &[]).unwrap();
    let conditions = vec!["scope=load".parse().unwrap()];
    let options = Options { x: Some("time_s".to_owned()), conditions, ..Options::default() };
    let fault = super::figure(&[series], &options).unwrap_err().to_string();
    assert!(fault.ends_with("expected --scope load in the place of --where scope=load"), "{fault}");
}
