use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use svg::parser::Event;

use super::*;

fn figure() -> Figure {
    let octets = |k: f64| k * 1024.0;
    Figure {
        title: "One session: throughput against window".to_owned(),
        x: Axis { label: "window".to_owned(), scale: Scale::Octets, ..Axis::default() },
        y: Axis { label: "goodput".to_owned(), unit: "Mb/s".to_owned(), ..Axis::default() },
        series: vec![
            Series {
                label: "atm-board <1 & 2>".to_owned(),
                points: [(8.0, 10.6), (16.0, 70.0), (48.0, 133.1), (256.0, 133.38)]
                    .map(|(x, y)| Point {
                        bound: "window".to_owned(),
                        ..Point::with_half_width(octets(x), y, Some(1.5))
                    })
                    .to_vec(),
                paper: vec![(octets(8.0), 10.6), (octets(256.0), 133.4)],
                ..Series::default()
            },
            Series {
                label: "bars".to_owned(),
                shape: Shape::Bars,
                points: vec![Point::new(octets(32.0), 50.0)],
                ..Series::default()
            },
        ],
        limits: vec![Limit { label: "packets".to_owned(), y: 134.581 }],
        whose: "",
        caption: "profile atm-board, 1 seed".to_owned(),
        ..Figure::default()
    }
}

/// The words of all text elements.
fn words(svg: &str) -> Vec<String> {
    let mut found = Vec::new();
    for event in svg::read(svg).unwrap() {
        if let Event::Text(text) = event {
            found.push(text.trim().to_owned());
        }
    }
    found
}

#[test]
fn everything_that_was_said_is_in_the_figure() {
    let svg = figure().to_svg();
    let words = words(&svg);
    for expected in [
        "One session: throughput against window",
        "8 KiB",
        "256 KiB",
        "window",
        "goodput (Mb/s)",
        "atm-board &lt;1 &amp; 2&gt;",
        "paper (hollow)",
        "packets",
        "134.581 Mb/s",
        "profile atm-board, 1 seed",
        "Across: window. Upwards: goodput (Mb/s). Curve atm-board &lt;1 &amp; 2&gt;: 4 values, 10.6 to 133.38 Mb/s. \
         Bars bars: 1 value, 50 Mb/s. packets: 134.581 Mb/s.",
        "atm-board &lt;1 &amp; 2&gt;: 70 Mb/s at 16 KiB, bound by window",
        "bars: 50 Mb/s at 32 KiB",
    ] {
        assert!(words.iter().any(|w| w == expected), "{expected:?} is not among {words:?}");
    }
    assert!(!svg.contains("#ffffff"), "nothing is painted behind it");
    // Two hollow markers over the curve and one in the legend.
    assert_eq!(svg.matches("fill=\"none\" r=\"9\"").count(), 3);
}

#[test]
fn the_same_figure_gives_the_same_octets() {
    assert_eq!(figure().to_svg(), figure().to_svg());
}

#[test]
fn a_series_over_another_one_has_gaps() {
    let mut figure = figure();
    assert!(!figure.to_svg().contains("stroke-dasharray=\"9 7\""));
    let again = Series { label: "again".to_owned(), ..figure.series[0].clone() };
    figure.series.push(again);
    // Once in the plot and once in the legend.
    assert_eq!(figure.to_svg().matches("stroke-dasharray=\"9 7\"").count(), 2);
}

#[test]
fn points_outside_a_given_range_have_no_marker() {
    let mut figure = figure();
    let all = figure.to_svg().matches("<circle").count();
    figure.y.range = Some((0.0, 100.0));
    let svg = figure.to_svg();
    // Two values and one of the paper's are above 100.
    assert_eq!(svg.matches("<circle").count(), all - 3);
    assert!(!words(&svg).iter().any(|w| w == "packets"), "a limit outside has no line to be named");
}

#[test]
fn an_independent_renderer_reads_the_figure() {
    let mut command = Command::new("rsvg-convert");
    let started =
        command.arg("--format=png").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(e) => {
            println!("skipped: rsvg-convert could not be started: {e}");
            return;
        }
    };
    let svg = figure().to_svg();
    child.stdin.take().unwrap().write_all(svg.as_bytes()).unwrap();
    let output = kumiki_watchdog::during(|| child.wait_with_output()).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    assert!(output.stdout.starts_with(b"\x89PNG"));
}

/// Nothing is told by colour alone.
#[test]
fn no_two_of_eight_bars_look_alike() {
    let bars = |n: usize| Series {
        label: format!("series {n}"),
        shape: Shape::Bars,
        points: vec![Point::new(0.0, 10.0)],
        ..Series::default()
    };
    let figure = Figure {
        x: Axis { scale: Scale::Names(vec!["only".to_owned()]), ..Axis::default() },
        series: (0..8).map(bars).collect(),
        ..Figure::default()
    };
    let svg = figure.to_svg();
    // The ways that lines of the hatch go.
    let sign = |step: f64| match step {
        0.0 => "0",
        step if step > 0.0 => "+",
        _ => "-",
    };
    let way = |line: &str| {
        let numbers: Vec<f64> = line.split([' ', 'L', '"']).map_while(|it| it.parse().ok()).collect();
        let [x1, y1, x2, y2] = numbers[..] else { return None };
        Some([sign(x2 - x1), sign(y2 - y1)].concat())
    };
    let look = |key: &str| {
        let colour = key.split("fill=\"").nth(1).unwrap().get(..7).unwrap();
        let hatch = key.split("<path").nth(1).and_then(|it| it.split(" d=\"").nth(1)).unwrap_or_default();
        let mut ways: Vec<String> = hatch.split('M').filter_map(way).collect();
        ways.sort();
        ways.dedup();
        (colour.to_owned(), ways)
    };
    let mut looks: Vec<(String, Vec<String>)> = svg.split("<g class=\"key ").skip(1).map(look).collect();
    assert_eq!(looks.len(), 8);
    let hatches: BTreeSet<&Vec<String>> = looks.iter().map(|(_, ways)| ways).collect();
    assert_eq!(hatches.len(), 6, "{looks:?}");
    looks.sort();
    looks.dedup();
    assert_eq!(looks.len(), 8, "{looks:?}");
}

/// Two parts of two bars: what is below, and what stands on it.
fn stacked(names: &[&str]) -> Figure {
    let part = |label: &str, y: f64| Series {
        label: label.to_owned(),
        shape: Shape::Stack,
        points: (0_u32..).zip(names).map(|(place, _)| Point::new(f64::from(place), y)).collect(),
        ..Series::default()
    };
    Figure {
        x: Axis { scale: Scale::Names(names.iter().map(|&name| name.to_owned()).collect()), ..Axis::default() },
        y: Axis { unit: "%".to_owned(), range: Some((0.0, 100.0)), ..Axis::default() },
        series: vec![part("send buffer", 60.0), part("slow start", 39.0), part("loss", 1.0)],
        ..Figure::default()
    }
}

#[test]
fn parts_of_a_bar_stand_on_each_other_with_their_names_beside() {
    let svg = stacked(&["a", "b"]).to_svg();
    let rectangle = |place: usize, key: &str| -> f64 {
        // Those of the legend come first.
        let bar = svg.split("<rect").skip(1).nth(3 + place).unwrap();
        bar.split(&format!(" {key}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    let (lower, upper) = (0, 2);
    assert_eq!(rectangle(lower, "x"), rectangle(upper, "x"));
    assert!((rectangle(upper, "y") + rectangle(upper, "height") - rectangle(lower, "y")).abs() < 0.2, "{svg}");
    assert!((rectangle(lower, "height") / rectangle(upper, "height") - 60.0 / 39.0).abs() < 0.01);
    let found = words(&svg);
    for expected in ["send buffer 60 %", "slow start 39 %"] {
        assert_eq!(found.iter().filter(|word| *word == expected).count(), 2, "{expected}: {found:?}");
    }
    // One per cent is lower than its name, and of many bars no name has room.
    assert!(!found.iter().any(|word| word.contains("loss 1")), "{found:?}");
    let many = words(&stacked(&["a"; 12]).to_svg());
    assert!(!many.contains(&"send buffer 60 %".to_owned()), "{many:?}");
}

/// Where words begin and end, by the estimate that is on the wide side: whatever the font, none is cut.
fn ends(svg: &str) -> Vec<(String, f64, f64)> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let texts =
        document.descendants().filter(|it| it.tag_name().name() == "text" && it.attribute("transform").is_none());
    let of = |node: roxmltree::Node<'_, '_>| {
        let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let said = node.descendants().filter(roxmltree::Node::is_text).filter_map(|it| it.text());
        said.map(|words| {
            let width = text::width(words.trim(), number("font-size"));
            let start = match node.attribute("text-anchor") {
                Some("middle") => number("x") - width / 2.0,
                Some("end") => number("x") - width,
                _ => number("x"),
            };
            (words.trim().to_owned(), start, start + width)
        })
        .collect::<Vec<_>>()
    };
    texts.flat_map(of).collect()
}

#[test]
fn nothing_is_cut_or_left_out_on_a_narrow_screen() {
    let mut figure = figure();
    figure.series[0].label = "a board whose name is so long that it takes more than one line of the legend".to_owned();
    figure.x.label = "window that the receiver offers, or the buffer of the sender where that is smaller".to_owned();
    figure.limits[0].label = "what the line leaves for data when all headers are taken off".to_owned();
    let (wide, narrow) = (figure.to_svg(), figure.to_narrow_svg());
    assert!(narrow.contains("viewBox=\"0 0 380 "), "{narrow}");
    for (svg, width) in [(&wide, 960.0), (&narrow, 380.0)] {
        for (words, start, end) in ends(svg) {
            assert!(start >= 0.0 && end <= width, "{words}: {start} to {end} of {width}");
        }
    }
    // The name of the limit, which stands beside the plot of the wide one, is in the legend.
    let all = |svg: &str| ends(svg).into_iter().map(|(words, ..)| words).collect::<Vec<_>>().join(" ");
    for said in ["takes more than one line", "where that is smaller", "134.581 Mb/s", "256 KiB", "paper (hollow)"] {
        for svg in [&wide, &narrow] {
            assert!(all(svg).contains(said), "{said} is not in {}", all(svg));
        }
    }
    let points = |svg: &str| svg.matches(" pt\"").count() + svg.matches("\"pt\"").count();
    assert_eq!(points(&wide), points(&narrow));
}

#[test]
fn names_that_are_wider_than_their_places_are_turned() {
    let turned = |names: &[&str]| stacked(names).to_narrow_svg().matches("rotate(-90").count();
    let without = turned(&["a", "b"]);
    assert_eq!(turned(&["congestion window after a loss"; 9]), without + 9);
}

#[test]
fn empty_figures_are_drawn() {
    assert!(Figure::default().to_narrow_svg().ends_with("</svg>\n"));
    assert!(Figure::default().to_svg().ends_with("</svg>\n"));
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -1e3..1e3_f64, Just(0.0), Just(f64::INFINITY)]
}

fn scale() -> impl Strategy<Value = Scale> {
    prop_oneof![
        Just(Scale::Linear),
        Just(Scale::Log2),
        Just(Scale::Octets),
        Just(Scale::Log10),
        Just(Scale::Names(vec!["a".to_owned(), "b b".to_owned()])),
    ]
}

proptest! {
    #[test]
    fn no_figure_panics_and_every_coordinate_is_a_number(
        points in prop::collection::vec((number(), number(), prop::option::of((number(), number()))), 0..6),
        shape in prop_oneof![Just(Shape::Line), Just(Shape::Curve), Just(Shape::Scatter), Just(Shape::Bars), Just(Shape::Stack)],
        scale in scale(),
        range in prop::option::of((number(), number())),
        limits in prop::collection::vec(number(), 0..4),
        text: String,
    ) {
        let mut figure = figure();
        figure.title.clone_from(&text);
        figure.x = Axis { label: text.clone(), unit: text.clone(), scale, range };
        figure.series.push(Series {
            label: text.clone(),
            shape,
            points: points.iter().map(|&(x, y, spread)| Point { spread, ..Point::new(x, y) }).collect(),
            paper: points.iter().map(|&(x, y, _)| (x, y)).collect(),
        });
        figure.limits.extend(limits.into_iter().map(|y| Limit { label: text.clone(), y }));
        figure.y.range = range;
        let (wide, narrow) = (figure.to_svg(), figure.to_narrow_svg());
        for event in svg::read(&wide).unwrap().chain(svg::read(&narrow).unwrap()) {
            if let Event::Tag(name, _, attributes) = event {
                for key in ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"] {
                    if let Some(value) = attributes.get(key) {
                        prop_assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{} {}={}", name, key, value);
                    }
                }
            }
        }
    }
}

#[test]
fn a_span_is_upright_and_says_both_of_its_ends() {
    let point = Point { spread: Some((1000.0, 2448.0)), said: "packet 7".to_owned(), ..Point::new(12.5, 2448.0) };
    let series = Series { label: "sent".to_owned(), shape: Shape::Span, points: vec![point], ..Series::default() };
    let axis = |label: &str, unit: &str| Axis { label: label.to_owned(), unit: unit.to_owned(), ..Axis::default() };
    let figure =
        Figure { x: axis("time", "ms"), y: axis("octets", "octets"), series: vec![series], ..Figure::default() };
    let svg = figure.to_svg();
    let words = words(&svg);
    assert!(words.iter().any(|it| it == "sent: 1000 to 2448 octets at 12.5 ms, packet 7"), "{words:?}");
    assert!(words.iter().any(|it| it.contains("Spans sent: 1 value, 1000 to 2448 octets.")), "{words:?}");
    let events: Vec<Event<'_>> = svg::read(&svg).unwrap().collect();
    let spans = events.iter().filter_map(|event| {
        let Event::Tag(_, _, attributes) = event else { return None };
        Some(attributes).filter(|it| it.get("class").is_some_and(|it| **it == *"ln pt"))
    });
    let ends: Vec<[f64; 4]> = spans.map(|it| ["x1", "x2", "y1", "y2"].map(|name| it[name].parse().unwrap())).collect();
    let [[x1, x2, y1, y2]] = ends[..] else { panic!("{ends:?}") };
    assert!(x1 == x2 && y1 > y2, "{ends:?}");
}

/// What a script zooms by is there, and only where values have places of their own.
#[test]
fn a_plot_says_its_scales_unless_it_has_bars() {
    let mut figure = figure();
    assert!(!figure.to_svg().contains("data-x"), "it has bars");
    figure.series.pop();
    figure.x.range = Some((1024.0, 1_048_576.0));
    let svg = figure.to_svg();
    assert!(svg.contains("data-x=\"octets 10 20\"") && svg.contains("data-y=\"linear "), "{svg}");
}

#[test]
fn times_are_marked_over_the_whole_height_and_move_no_axis() {
    let curve = Series {
        label: "goodput".to_owned(),
        shape: Shape::Curve,
        points: vec![Point::new(0.0, 100.0), Point::new(9.0, 101.0)],
        ..Series::default()
    };
    let at = |x: f64| Point { said: "down".to_owned(), ..Point::new(x, -500.0) };
    let times =
        Series { label: "link.line".to_owned(), shape: Shape::Mark, points: vec![at(5.0)], ..Series::default() };
    let plain = Figure { series: vec![curve.clone()], ..Figure::default() };
    let marked = Figure { series: vec![curve, times], ..Figure::default() };
    let svg = marked.to_svg();
    assert!(svg.contains("<title>\nlink.line: down at 5\n</title>") || svg.contains("link.line: down at 5"), "{svg}");
    assert_eq!(svg.matches("ln pt when").count(), 1);
    let axis = |svg: &str| svg.split("data-y=\"").nth(1).and_then(|it| it.split('"').next()).unwrap().to_owned();
    assert_eq!(axis(&svg), axis(&plain.to_svg()));
}

#[test]
fn words_and_axes_are_as_dark_as_is_asked_for() {
    let curve = Series { label: "a".to_owned(), points: vec![Point::new(1.0, 2.0)], ..Series::default() };
    let figure = |ink| Figure { title: "t".to_owned(), series: vec![curve.clone()], ink, ..Figure::default() }.to_svg();
    assert!(figure(Ink::Grey).contains("#757575") && !figure(Ink::Grey).contains("#000000"));
    let black = figure("black".parse().unwrap());
    assert!(black.contains("#000000") && !black.contains("#757575"), "{black}");
    assert!(black.contains("#0072b2"), "curves keep their colours");
    assert_eq!("pink".parse::<Ink>().unwrap_err(), "expected one of grey, black, white");
}

#[test]
fn intervals_of_several_curves_at_one_place_stand_beside_each_other() {
    let curve = |y: f64| Series { points: vec![Point::with_half_width(1.0, y, Some(1.0))], ..Series::default() };
    let drawn = |count: u32| {
        let series = (0..count).map(|n| curve(10.0 + f64::from(n) / 10.0)).collect();
        Figure { series, ..Figure::default() }.to_svg()
    };
    let uprights = |count: u32| {
        let svg = drawn(count);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let lines =
            document.descendants().filter(|it| it.tag_name().name() == "line" && it.attribute("class") == Some("ln"));
        let uprights = lines.filter(|it| it.attribute("x1") == it.attribute("x2"));
        uprights.filter_map(|it| it.attribute("x1")?.parse::<f64>().ok()).collect::<Vec<f64>>()
    };
    let [one] = uprights(1)[..] else { panic!("one interval") };
    let three = uprights(3);
    assert_eq!(three.len(), 3);
    assert!((three[1] - one).abs() < 0.2 && three[1] - three[0] > 3.0 && three[2] - three[1] > 3.0, "{three:?}");
    let is_told = |count| drawn(count).contains("Error bars of several curves stand side by side");
    assert!(is_told(3) && !is_told(1));
}

/// A goodput is never below zero, and an interval of few runs may be far below.
#[test]
fn intervals_do_not_lead_an_axis_below_zero_where_no_value_is() {
    let axis = |y: f64| {
        let points = vec![Point::with_half_width(1.0, y, Some(30.0)), Point::with_half_width(2.0, 12.0, Some(1.0))];
        let svg = Figure { series: vec![Series { points, ..Series::default() }], ..Figure::default() }.to_svg();
        svg.split("data-y=\"").nth(1).and_then(|it| it.split('"').next()).unwrap().to_owned()
    };
    assert!(axis(10.0).starts_with("linear 0 "), "{}", axis(10.0));
    assert!(axis(-1.0).starts_with("linear -3"), "{}", axis(-1.0));
}

/// What happens at one time stands below itself.
#[test]
fn figures_below_each_other_share_the_places_of_one_axis() {
    let figure = |label: &str, points: &[(f64, f64)]| {
        let points = points.iter().map(|&(x, y)| Point::new(x, y)).collect();
        let x = Axis { label: label.to_owned(), ..Axis::default() };
        Figure { x, series: vec![Series { points, ..Series::default() }], ..Figure::default() }
    };
    let plots = |figures: &[Figure]| {
        let svg = Figure::stacked(figures);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let plots = document.descendants().filter(|it| it.attribute("class") == Some("plot"));
        plots.map(|it| ["x", "width", "data-x"].map(|name| it.attribute(name).unwrap().to_owned())).collect::<Vec<_>>()
    };
    let whole = figure("time", &[(0.0, 0.5), (10.0, 0.7)]);
    let found = plots(&[whole.clone(), figure("time", &[(3.0, 1_000_000.0), (9.0, 2_000_000.0)])]);
    assert_eq!(found[0], found[1]);
    // Another quantity has its own ends, in a frame of the same width.
    let found = plots(&[whole, figure("window", &[(3.0, 1.0), (90.0, 2.0)])]);
    assert_eq!(found[0][..2], found[1][..2]);
    assert_ne!(found[0][2], found[1][2]);
}
