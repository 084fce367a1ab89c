//! Values that some runs or points have, and others do not.

use super::*;
use crate::table::Cell;

/// Nothing ends with the smallest window, with the next one in the first run alone, and everything else in 2 s.
struct Ends;

impl Runner for Ends {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let mut outcome = Fake { failing: false }.run(point)?;
        let row = &mut outcome.rows[0];
        let ends = match row.parameter("window_bytes") {
            Some(Parameter::Count(8192)) => None,
            Some(Parameter::Count(49_152)) => Some(4000.0).filter(|_| row.seed == 1),
            _ => Some(2000.0),
        };
        let named = |ms| [("mean".to_owned(), ms), ("p99".to_owned(), ms)];
        row.completion_ms = ends.map(named).into_iter().flatten().collect();
        Ok(outcome)
    }
}

fn ends(set: &[&str], claim: &str) -> Results {
    let text = TWO_HOSTS.replace("paper = 2\n", "").split("[[compare]]").next().unwrap().to_owned();
    let text = text.replace("duration = \"10 s\"", "duration = \"10 s\"\nrepeat = { runs = 3 }");
    let text = text.replace("[report]", "[report]\nvalue = \"completion_ms.mean\"");
    let claim = format!("[[claim]]\nwords = \"so\"\nfrom = \"me\"\nvalue = \"completion_ms.mean\"\n{claim}\n");
    let document = Document::parse("two", "two.toml", &format!("{text}\n{claim}")).unwrap();
    let choice = Choice { set: set.iter().map(|it| (*it).to_owned()).collect(), ..Choice::default() };
    let plan = Plan::new(&[document], &choice, &Ends).unwrap();
    run(&plan, Ends, Options::default()).remove(0)
}

#[test]
fn of_how_many_runs_a_value_is_is_said_where_some_have_none() {
    let results = ends(&[], "most = 1");
    let caption = results.figure().unwrap().caption;
    assert!(caption.contains("Each value is of the runs that have one, 1 to 3 of 3."), "{caption}");
    let (what, said) = results.glance().remove(0);
    assert_eq!(what, "Completion, mean");
    assert!(said.ends_with("; 8 of 15 runs have it"), "{said}");
    let why = results.why_table().unwrap();
    let place = why.columns.iter().position(|head| head == "completion (ms)").unwrap();
    let cells: Vec<Cell> = why.rows.iter().map(|(_, cells)| cells[place].clone()).collect();
    assert_eq!(cells[0], Cell::empty());
    assert_eq!(cells[1].parts(false)[0], "4000.0, p99 4000.0 (1 of 3 runs)");
    assert_eq!(cells[2].parts(false)[0], "2000.0, p99 2000.0");
}

/// Nothing is a part of nothing.
#[test]
fn a_claim_that_compares_nothing_with_nothing_says_so() {
    struct Nothing;
    impl Runner for Nothing {
        fn run(&self, point: &Point) -> Result<Outcome, Failure> {
            let mut outcome = Fake { failing: false }.run(point)?;
            outcome.rows[0].timeouts = Some(0);
            Ok(outcome)
        }
    }
    let text = TWO_HOSTS.replace("paper = 2\n", "").split("[[compare]]").next().unwrap().to_owned();
    let claim = "[[claim]]\nwords = \"so\"\nfrom = \"me\"\nvalue = \"timeouts\"\nmost = 1\nof = { window = \"256 KiB\" }\nagainst = { window = \"8 KiB\", rtt = \"1 ms\" }\n";
    let document = Document::parse("two", "two.toml", &format!("{text}\n{claim}")).unwrap();
    let plan = Plan::new(&[document], &Choice::default(), &Nothing).unwrap();
    let verdict = run(&plan, Nothing, Options::default()).remove(0).verdicts(&[]).remove(0);
    assert_eq!((verdict.verdict, verdict.ours), (Judgement::Open, None));
    assert!(verdict.told().contains("; a part of 0 is no number, and it would be one at "), "{}", verdict.told());
}

#[test]
fn a_claim_is_of_the_runs_that_have_the_value_and_says_where_none_has() {
    let judged = |claim: &str| {
        let results = ends(&[], claim);
        let verdict = results.verdicts(&[]).remove(0);
        let told = verdict.told();
        assert!(results.table().legend.contains(&told), "{told}: {:?}", results.table().legend);
        let html = results.to_html(std::slice::from_ref(&results));
        assert_eq!(html.contains("no run has such a value"), told.contains("no run has such a value"), "{told}");
        (verdict.verdict, verdict.ours, told)
    };
    let none = "no run has such a value";
    let (verdict, ours, told) = judged("most = 3000");
    assert_eq!((verdict, ours), (Judgement::Misses, Some(4000.0)), "{told}");
    let (verdict, ours, told) = judged("most = 5000");
    assert_eq!((verdict, ours), (Judgement::Open, Some(4000.0)));
    assert!(told.ends_with(&format!("holds so far, and {none} at nagle on, window 8 KiB")), "{told}");
    let (verdict, ours, told) = judged("most = 5000\nof = { window = \"8 KiB\" }");
    assert_eq!((verdict, ours), (Judgement::Open, None));
    assert_eq!(told, format!("so (me): no value (completion, mean), agreement is at most 5000 ms; {none}"));
    assert_eq!(judged("most = 5000\nof = { window = \"48 KiB\" }").0, Judgement::Holds);
    // What it is compared with is named, too.
    let (verdict, ours, told) =
        judged("most = 5\nof = { window = \"256 KiB\" }\nagainst = { window = \"8 KiB\", rtt = \"1 ms\" }");
    assert_eq!((verdict, ours), (Judgement::Open, None));
    assert!(told.ends_with(&format!("; {none} at nagle on, window 8 KiB")), "{told}");
}

/// What one expects of points that were not run is told with the table, too.
#[test]
fn a_claim_of_points_that_are_not_there_is_told() {
    let results = ends(&["window=48 KiB"], "most = 5000\nof = { window = \"256 KiB\" }");
    let told = results.verdicts(&[]).remove(0).told();
    assert!(told.contains("not all of its points are there"), "{told}");
    assert!(results.table().legend.contains(&told), "{told}: {:?}", results.table().legend);
}
