//! What rows have of a point.

use super::*;

#[test]
fn rows_carry_what_varies_as_numbers_in_the_unit_of_their_names() {
    use crate::rows::Parameter;

    let parameters = |set: &[&str], text: &str| {
        let document = Document::parse("x", "x", text).unwrap();
        document.points(&choice(set, false)).unwrap().remove(0).parameters()
    };
    let named = |name: &str, value| (name.to_owned(), value);
    assert_eq!(
        parameters(&["rtt=1500 us"], TWO_HOSTS),
        [
            named("nagle", Parameter::Switch(true)),
            named("window_bytes", Parameter::Count(8192)),
            named("rtt_ms", Parameter::Number(1.5)),
        ]
    );
    let without = TWO_HOSTS.replace("rows = { window = \"window_bytes\", rtt = \"rtt_ms\" }", "");
    assert_eq!(
        parameters(&[], &without),
        [
            named("nagle", Parameter::Switch(true)),
            named("window_bytes", Parameter::Count(8192)),
            named("rtt_ms", Parameter::Count(1)),
        ],
        "the unit is added"
    );
    let seconds = TWO_HOSTS.replace("rtt = \"rtt_ms\"", "rtt = \"rtt_us\", nagle = \"series\"");
    assert_eq!(
        parameters(&[], &seconds),
        [named("window_bytes", Parameter::Count(8192)), named("rtt_us", Parameter::Count(1000)),],
        "what is the series is not repeated"
    );
}

/// Else half of them could not be named: `--where` looks in one.
#[test]
fn all_values_of_a_name_stand_in_one_column_of_rows() {
    use crate::rows::Parameter::{Count, Number, Text};

    let text = r#"
title = "One line"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", impair.loss = "${loss}" }
load.call = { kind = "rpc", from = "a", to = "b", message = "100 B", think = "${think}" }
run.duration = "1 s"
vary = { loss = [0.0001, "0.1 %", 0], think = ["0 s", "100 ms"] }
"#;
    let of = |name: &str, set: &[&str]| {
        let points = Document::parse("x", "x", text).unwrap().points(&choice(set, false)).unwrap();
        let all = points.iter().flat_map(Point::parameters).filter(|(column, _)| column.starts_with(name));
        let mut all: Vec<_> = all.collect();
        all.dedup();
        all
    };
    let named = |name: &str, value| (name.to_owned(), value);
    let percent = |value| named("loss_percent", value);
    assert_eq!(of("loss", &["think=0 s"]), [percent(Number(0.01)), percent(Number(0.1)), percent(Number(0.0))]);
    // Of one kind each says for itself what it is.
    assert_eq!(
        of("loss", &["think=0 s", "loss=[0.5, 0.25]"]),
        [named("loss", Number(0.5)), named("loss", Number(0.25))]
    );
    assert_eq!(of("think", &["loss=0"]), [named("think_ms", Count(0)), named("think_ms", Count(100))]);
    let drawn = r#"think=["0 s", "100 ms", "exponential 100 ms"]"#;
    let words = ["0 s", "100 ms", "exponential 100 ms"].map(|it| named("think", Text(it.to_owned())));
    assert_eq!(of("think", &["loss=0", drawn]), words);
}

#[test]
fn a_row_knows_its_place_in_the_paper_before_it_ran() {
    let points = points(&[], false);
    let row = points.get(2).unwrap().row();
    assert_eq!(
        (row.paper, row.figure.as_str(), row.series.as_str(), row.profile.as_str()),
        (Some(2), "fig6", "nagle on", "zero")
    );
    assert_eq!((row.paper_mbps, row.seed, row.fitted), (Some(133.4), 1, false));
    assert_eq!(points.first().unwrap().label(), "nagle on, window 8 KiB, rtt 1 ms");
}
