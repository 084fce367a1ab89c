//! What is said of the papers' values and sentences. Ours grow with the window: 4.01, 24.01 and 128.01 Mb/s.

use super::*;

/// The verdicts of the scenario with `more` behind it.
fn verdicts(more: &str) -> Vec<Verdict> {
    let text = format!("{TWO_HOSTS}\n{more}");
    let result = results(&text, 1, false);
    result.verdicts(std::slice::from_ref(&result))
}

/// The verdict of one claim with these keys.
fn claimed(keys: &str) -> (Judgement, Option<f64>) {
    let all = verdicts(&format!("[[claim]]\nwords = \"it is so\"\nfrom = \"section 9\"\n{keys}"));
    let verdict = all.last().unwrap();
    assert_eq!((verdict.statement.as_str(), verdict.source.as_str()), ("it is so", "section 9"));
    (verdict.verdict, verdict.ours.map(|ours| (ours * 1e3).round() / 1e3))
}

#[test]
fn a_value_of_the_paper_holds_within_what_it_says_or_a_twentieth() {
    let [verdict] = &verdicts("")[..] else { panic!("one value") };
    assert_eq!((verdict.value, verdict.verdict, verdict.fitted), (Some(133.4), Judgement::Holds, false));
    assert_eq!(verdict.at, "nagle on, window 256 KiB", "the round trip goes without saying");
    let away = verdict.difference.unwrap();
    assert!((away - (128.01 - 133.4)).abs() < 1e-9, "{away}");
    let narrow = TWO_HOSTS.replace("value = 133.4", "value = 133.4\nwithin = 5\nfitted = true\nreading = \"ours\"");
    let result = results(&narrow, 1, false);
    let [verdict] = &result.verdicts(&[])[..] else { panic!("one value") };
    assert_eq!((verdict.verdict, verdict.fitted, verdict.ours_reading), (Judgement::Misses, true, true));
    assert_eq!(
        summary(std::slice::from_ref(verdict)),
        "What the papers say: 0 of 1 values and sentences hold (0 of them fitted, 0 others by our reading of words), 1 miss\n\
         Of 1 verdict none is of a number that the paper prints and to which nothing here was fitted; 1 is of one to which a price was fitted or for which one was chosen (1 miss; 1 also by our reading), and none is by our own reading of words.\n  \
         paper 2, fig6, nagle on, window 256 KiB: goodput (text, section 5): 128.01 Mb/s, agreement is 133.40 Mb/s by our reading, fitted; missed\n"
    );
    // A point that failed has no value.
    let failed = results(&TWO_HOSTS.replace("window = \"256 KiB\"", "window = \"48 KiB\""), 1, true);
    assert_eq!(failed.verdicts(&[])[0].verdict, Judgement::Open);
    let looked_for = results(&TWO_HOSTS.replace("[report]", "[report]\ncandidates = true"), 1, false);
    assert!(looked_for.verdicts(&[]).is_empty());
}

#[test]
fn a_sentence_is_judged_by_the_number_that_agrees_least() {
    use Judgement::{Holds, Misses};
    for (keys, verdict, ours) in [
        ("least = 4.0", Holds, 4.01),
        ("least = 5.0", Misses, 4.01),
        ("most = 100.0", Misses, 128.01),
        ("of = { window = [\"8 KiB\", \"48 KiB\"] }\nleast = 4.0\nmost = 25.0", Holds, 4.01),
        ("of = { nagle = true, rtt = \"20 ms\" }\nalong = \"window\"\nleast = 5.0", Holds, 5.332),
        ("of = { nagle = true, rtt = \"20 ms\" }\nalong = \"window\"\nmost = 5.0", Misses, 5.332),
        ("of = { nagle = true }\nbest = { window = \"256 KiB\", rtt = \"20 ms\" }\nleast = 1.0", Holds, 5.332),
        ("of = { nagle = false }\nbest = { window = \"48 KiB\" }\nleast = 1.0", Misses, 0.188),
        (
            "of = { nagle = true, window = \"48 KiB\" }\nagainst = { nagle = false }\nleast = 0.99\nmost = 1.01",
            Holds,
            1.0,
        ),
        ("of = { nagle = true, window = \"48 KiB\" }\nagainst = { window = \"256 KiB\" }\nmost = 0.1", Misses, 0.188),
        ("of = { window = \"48 KiB\" }\nspread = true\nmost = 1.0", Holds, 0.0),
        ("spread = true\nmost = 90.0", Misses, 96.867),
        ("value = \"goodput_mbps\"\nof = { window = \"48 KiB\" }\nmost = 25.0", Holds, 24.01),
    ] {
        assert_eq!(claimed(keys), (verdict, Some(ours)), "{keys}");
    }
}

#[test]
fn a_sentence_says_what_number_is_judged_and_whose_the_other_is() {
    for (keys, number) in [
        ("least = 4.0", "goodput"),
        ("least = 4.0\nof_limit = true", "goodput as a part of what the line allows"),
        ("least = 4.0\ninterval = true", "half of the interval as a part of the mean"),
        ("least = 4.0\ncpu = \"a\"", "how busy the CPUs of a are"),
        ("least = 4.0\nvalue = \"delay_ms.p99\"", "delay, p99"),
        ("least = 4.0\nspread = true", "how far the least goodput is below the greatest"),
        ("least = 4.0\nalong = \"window\"", "goodput as a part of that at the window before"),
        (
            "least = 4.0\nbest = { window = \"256 KiB\", rtt = \"20 ms\" }",
            "goodput at window 256 KiB as a part of the greatest of the others",
        ),
        ("least = 4.0\nagainst = { nagle = false }", "goodput as a part of that at nagle off"),
        ("least = 4.0\nother = \"elsewhere\"", "goodput as a part of that of elsewhere at the same point"),
    ] {
        let claim = |more: &str| format!("[[claim]]\nwords = \"so\"\nfrom = \"here\"\n{keys}{more}");
        let verdict = verdicts(&claim("")).pop().unwrap();
        assert_eq!((verdict.number.as_str(), verdict.whose()), (number, "a bound of the paper"), "{keys}");
        let ours = verdicts(&claim("\nreading = \"ours\"")).pop().unwrap();
        assert_eq!(ours.whose(), "our reading of the words");
    }
    let printed = verdicts("").pop().unwrap();
    assert_eq!((printed.number.as_str(), printed.whose()), ("", "printed in the paper"));
    assert_eq!(Verdict { paper: None, ..printed }.whose(), "expected");
}

#[test]
fn how_many_verdicts_are_independent_is_said_in_a_sentence() {
    let claim = "[[claim]]\nwords = \"so\"\nfrom = \"here\"\nleast = 4.0\n";
    let all = verdicts(&format!("{claim}reading = \"ours\"\n{claim}fitted = true\nreading = \"ours\"\n{claim}"));
    assert_eq!(
        origins(&all).unwrap(),
        "Of 4 verdicts 2 are of a number that the paper prints and to which nothing here was fitted (2 hold); 1 is of one to which a price was fitted or for which one was chosen (1 hold; 1 also by our reading), and 1 is by our own reading of words (1 hold)."
    );
    let [first, ..] = &all[..] else { panic!("four") };
    let open = Verdict { verdict: Judgement::Open, ..first.clone() };
    assert!(origins(std::slice::from_ref(&open)).unwrap().contains("nothing here was fitted (1 open); none is"));
    assert!(open.told().ends_with("; holds so far, and not all of its points are there"), "{}", open.told());
    // What holds is named, too.
    assert!(summary(&all).contains(&format!("\n  {}\n", first.line())), "{}", summary(&all));
    let many: Vec<Verdict> = all.iter().cycle().take(40).cloned().collect();
    assert!(summary(&many).ends_with(".\nWhat holds is on the page and in verdicts.jsonl.\n"), "{}", summary(&many));
    // What is expected is of no paper.
    let expected: Vec<Verdict> = all.into_iter().map(|verdict| Verdict { paper: None, ..verdict }).collect();
    assert_eq!((origins(&expected), origins(&[])), (None, None));
}

#[test]
fn words_in_figures_are_explained_where_the_scenario_does() {
    let told = |meaning: &str| {
        let text = TWO_HOSTS.replace("[[compare]]", &format!("[report.meaning]\n{meaning}\n[[compare]]"));
        plan(&[], &text).map(|plan| run(&plan, Fake { failing: false }, Options::default()).remove(0))
    };
    let results = told("\"256 KiB\" = \"as `netperf` has it\"").unwrap();
    assert!(results.table().legend.contains(&"256 KiB: as `netperf` has it".to_owned()));
    let html = results.to_html(std::slice::from_ref(&results));
    assert!(html.contains("<dt>256 KiB</dt>\n<dd>as <code>netperf</code> has it</dd>"), "{html}");
    assert_eq!(html.matches("as <code>netperf").count(), 1, "it is no note as well");
    let fault = told("\"255 KiB\" = \"so\"").unwrap_err().to_string();
    assert!(fault.contains("unknown value of what is varied \"255 KiB\"; did you mean \"256 KiB\"?"), "{fault}");
}

/// Goodputs are a hundredth apart from seed to seed: 4.01 to 4.05 and 24.01 to 24.05.
#[test]
fn a_sentence_of_intervals_is_judged_by_the_widest() {
    let repeated = "confidence = { level = \"95 %\", width = 0.0001, fewest = 5, most = 5 }";
    let text = TWO_HOSTS.replace("duration = \"10 s\"", &format!("duration = \"10 s\"\n{repeated}"));
    let claim = |keys| format!("\n[[claim]]\nwords = \"it is narrow\"\nfrom = \"section 9\"\n{keys}");
    let judged = |text: &str, keys| {
        let verdict = results(&format!("{text}{}", claim(keys)), 1, false).verdicts(&[]).pop().unwrap();
        (verdict.verdict, verdict.ours.map(|ours| (ours * 1e3).round() / 1e3), verdict.unit)
    };
    // Student's t for four degrees of freedom, 2.776, times 0.0158 / sqrt(5), of 4.03.
    assert_eq!(judged(&text, "interval = true\nmost = 0.5"), (Judgement::Holds, Some(0.487), "%"));
    assert_eq!(judged(&text, "interval = true\nmost = 0.4").0, Judgement::Misses);
    // One run has none.
    assert_eq!(judged(TWO_HOSTS, "interval = true\nmost = 0.5"), (Judgement::Open, None, "%"));
}

/// What is missed by little is told with enough digits to see it.
#[test]
fn what_is_near_to_agreement_and_misses_looks_like_that() {
    let keys = "of = { nagle = true, window = \"48 KiB\" }\nagainst = { nagle = false }\nleast = 1.005";
    let verdict = verdicts(&format!("[[claim]]\nwords = \"so\"\nfrom = \"here\"\n{keys}")).pop().unwrap();
    assert_eq!(
        verdict.told(),
        "so (here): 1.000 (goodput as a part of that at nagle off), agreement is at least 1.005; missed"
    );
}

#[test]
fn a_sentence_of_points_that_are_not_there_is_open() {
    assert_eq!(claimed("other = \"elsewhere\"\nleast = 0.9"), (Judgement::Open, None));
    // No line of the profile `zero` has a limit here.
    assert_eq!(claimed("of_limit = true\nleast = 0.9"), (Judgement::Open, None));
    assert_eq!(claimed("cpu = \"a\"\nleast = 0.9"), (Judgement::Open, None));
    assert_eq!(claimed("value = \"queues.no.line.max\"\nleast = 0.9"), (Judgement::Open, None));
    assert_eq!(claimed("task = \"a.tcp\"\nleast = 0.9"), (Judgement::Open, None));
    // Those that are there agree, and one has failed.
    let claim = "\n[[claim]]\nwords = \"so\"\nfrom = \"here\"\nleast = 4.0";
    let failed = results(&format!("{TWO_HOSTS}{claim}"), 1, true);
    let verdict = failed.verdicts(&[]).pop().unwrap();
    assert_eq!((verdict.verdict, verdict.ours.map(f64::round)), (Judgement::Open, Some(4.0)));
    // A partner that was skipped.
    let keys = "of = { nagle = true, window = \"8 KiB\" }\nagainst = { nagle = false }\nleast = 0.9";
    assert_eq!(claimed(keys), (Judgement::Open, None));
}

#[test]
fn a_sentence_of_points_that_quick_leaves_out_is_open() {
    let judged = |keys: &str, quick| {
        let text = format!("{TWO_HOSTS}\n[[claim]]\nwords = \"so\"\nfrom = \"here\"\n{keys}");
        let document = Document::parse("two", "two.toml", &text).unwrap();
        let choice = Choice { set: Vec::new(), quick, runs: None };
        let plan = Plan::new(&[document], &choice, &Fake { failing: false }).unwrap();
        run(&plan, Fake { failing: false }, Options::default()).remove(0).verdicts(&[]).pop().unwrap().verdict
    };
    for keys in ["least = 4.0", "of = { nagle = true, rtt = \"20 ms\" }\nspread = true\nmost = 99.0"] {
        assert_eq!(judged(keys, false), Judgement::Holds, "{keys}");
        assert_eq!(judged(keys, true), Judgement::Open, "{keys}");
    }
    // What is missed is missed whatever the others are, and one point is enough for itself.
    assert_eq!(judged("least = 400.0", true), Judgement::Misses);
    assert_eq!(judged("of = { nagle = true, window = \"48 KiB\" }\nleast = 4.0", true), Judgement::Holds);
}

#[test]
fn a_sentence_of_two_scenarios_looks_at_both() {
    let claim =
        "\n[[claim]]\nwords = \"alike\"\nfrom = \"here\"\nother = \"two\"\nleast = 0.9\nmost = 1.1\nreading = \"ours\"";
    let all = [results(TWO_HOSTS, 1, false), results(&format!("{TWO_HOSTS}{claim}"), 1, false)];
    let verdict = all[1].verdicts(&all).pop().unwrap();
    assert_eq!((verdict.verdict, verdict.ours, verdict.ours_reading), (Judgement::Holds, Some(1.0), true));
}

#[test]
fn a_claim_that_says_nothing_or_speaks_of_what_is_not_there_is_refused() {
    for (keys, why) in [
        ("", "nothing that could be missed"),
        ("least = 1\nof = { widow = 3 }", "widow"),
        ("least = 1\nof = { window = \"9 KiB\" }", "9 KiB"),
        ("least = 1\nalong = \"widow\"", "window"),
        ("least = 1\nalong = \"window\"\nspread = true", "two numbers for a point"),
        ("least = 1\ncpu = \"a\"\nof_limit = true", "two values of a point"),
        ("least = 1\ninterval = true\nof_limit = true", "two values of a point"),
        ("least = 1\nreading = \"theirs\"", "is no reading"),
        ("least = 1\nwordz = 3", "wordz"),
    ] {
        let text = format!("{TWO_HOSTS}\n[[claim]]\nwords = \"so\"\nfrom = \"here\"\n{keys}");
        let fault = plan(&[], &text).unwrap_err().to_string();
        assert!(fault.starts_with("two.toml") && fault.contains(why), "{keys}: {fault}");
    }
    let fault =
        plan(&[], &TWO_HOSTS.replace("from = \"text,", "reading = \"x\"\nfrom = \"text,")).unwrap_err().to_string();
    assert!(fault.contains("compare.0.reading"), "{fault}");
}

#[test]
fn verdicts_are_written_beside_the_rows() {
    let place = std::env::temp_dir().join(format!("kumiki-verdicts-{}", std::process::id()));
    let output = Output::open(&place, true).unwrap();
    let files = write(&output, &[results(TWO_HOSTS, 1, false)]).unwrap();
    assert!(files.contains(&output.path("verdicts.jsonl")));
    let text = std::fs::read_to_string(output.path("verdicts.jsonl")).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!((&line["verdict"], &line["scenario"], &line["paper"]), (&"holds".into(), &"two".into(), &2.into()));
    // A scenario that says nothing of a paper has no such file.
    std::fs::remove_dir_all(&place).unwrap();
    let output = Output::open(&place, true).unwrap();
    write(&output, &[results(TWO_HOSTS.split("[[compare]]").next().unwrap(), 1, false)]).unwrap();
    assert!(!output.path("verdicts.jsonl").exists());
    std::fs::remove_dir_all(&place).unwrap();
}

/// Nothing arrives, at any point.
struct Nothing;

impl Runner for Nothing {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        Ok(Outcome { rows: vec![point.row()], ..Outcome::default() })
    }
}

#[test]
fn a_part_of_nothing_is_no_number_and_is_open() {
    let claim = |keys: &str| format!("[[claim]]\nwords = \"so\"\nfrom = \"here\"\nleast = 0.0\nmost = 2.0\n{keys}\n");
    let claims = [
        claim("of = { nagle = true, rtt = \"20 ms\" }\nalong = \"window\""),
        claim("of = { nagle = true }\nbest = { window = \"256 KiB\", rtt = \"20 ms\" }"),
        claim("of = { nagle = true, window = \"48 KiB\" }\nagainst = { nagle = false }"),
        claim("spread = true"),
    ];
    let trend =
        "[[trend]]\nof = { nagle = true }\nat = { window = \"48 KiB\" }\nbelow_peak = \"10 %\"\nfrom = \"here\"\n";
    let document = Document::parse("two", "two.toml", &format!("{TWO_HOSTS}\n{}{trend}", claims.concat())).unwrap();
    let plan = Plan::new(&[document], &Choice::default(), &Nothing).unwrap();
    let result = run(&plan, Nothing, Options::default()).remove(0);
    let verdicts = result.verdicts(std::slice::from_ref(&result));
    let open: Vec<Judgement> = verdicts.iter().filter(|it| it.source == "here").map(|it| it.verdict).collect();
    assert_eq!(open, [Judgement::Open; 5], "{verdicts:?}");
    let told = format!("{} {}", result.table().draw(Layout { lines: Lines::Ascii, width: None }), summary(&verdicts));
    assert!(!told.contains("inf") && !told.contains("NaN") && told.contains("there is no peak"), "{told}");
}
