use super::*;

fn refused(text: &str) -> String {
    Source::of_csv("mine.csv", text, &[]).unwrap_err().to_string()
}

/// The numbers of a column.
fn numbers(source: &Source, name: &str) -> Vec<f64> {
    let found = source.find(name).unwrap_or_else(|| panic!("{name}"));
    source.check_numbers(&found).unwrap();
    source.records().filter_map(|record| record.number(&found)).collect()
}

#[test]
fn units_stand_in_heads_or_behind_values() {
    let source = Source::of_csv("m.csv", "Window (KiB);RTT;loss\n8;20 ms;0.1 %\n16;500 us;0\n", &[]).unwrap();
    assert_eq!(numbers(&source, "window_bytes"), [8192.0, 16_384.0]);
    assert_eq!(numbers(&source, "window_kib"), [8.0, 16.0]);
    assert_eq!(numbers(&source, "rtt"), [20.0, 0.5]);
    assert_eq!(numbers(&source, "loss_percent"), [0.1, 0.0]);
    // Nothing has a unit, too.
    let source = Source::of_csv("m.csv", "loss,rtt\n0 %,0 ms\n0 %,0\n", &[]).unwrap();
    assert_eq!((numbers(&source, "loss_percent"), numbers(&source, "rtt_ms")), (vec![0.0; 2], vec![0.0; 2]));
    let source = Source::of_csv("m.csv", "rtt;here, there\n20 ms;1\n", &[]).unwrap();
    assert_eq!(numbers(&source, "rtt_ms"), [20.0]);
}

#[test]
fn a_column_without_a_unit_is_told_as_one() {
    let source = Source::of_csv("mine.csv", "rtt,goodput\n20,46\n", &[]).unwrap();
    for (wanted, words) in [
        (
            "goodput_mbps",
            "mine.csv: the column \"goodput\" has no unit; expected a head with one, such as goodput (Mbit/s)",
        ),
        ("rtt_ms", "mine.csv: the column \"rtt\" has no unit; expected a head with one, such as rtt (ms)"),
    ] {
        assert_eq!(source.lacks(wanted).to_string(), words);
    }
    assert!(source.lacks("jain").to_string().contains("no column is called \"jain\""));
}

#[test]
fn what_is_no_result_is_told_as_what_it_is() {
    let folder = kumiki_watchdog::process::Folder::new("no-result");
    folder.write("t.toml", b"title = \"one, two, three\"\nrun.duration = \"5 s\"\n");
    folder.write("rows.jsonl", b"");
    let why = |path: &Path| Source::open(&path.display().to_string(), &[]).unwrap_err().to_string();
    let of_scenario = why(&folder.path("t.toml"));
    assert!(
        of_scenario.ends_with("t.toml: a scenario, and no result; expected the directory of a result, or a CSV file")
    );
    let of_none = why(&folder.path(""));
    assert!(
        of_none.ends_with("rows.jsonl: no rows in it; expected the directory of a result, or a CSV file"),
        "{of_none}"
    );
}

#[test]
fn a_column_is_what_it_is_said_to_be() {
    let renamed = |head: &str| [("goodput_mbps".to_owned(), head.to_owned())];
    let iperf = Source::of_csv("m.csv", "bits_per_second\n93500000\n", &renamed("bits_per_second")).unwrap();
    assert_eq!(numbers(&iperf, "goodput_mbps"), [93.5]);
    let flent = "time,TCP download\n0,9.35\n";
    let flent = Source::of_csv("m.csv", flent, &renamed("TCP download (kb/s)")).unwrap();
    assert_eq!(numbers(&flent, "goodput_mbps"), [0.00935]);
    let short = Source::of_csv("m.csv", "rate (Kbits/sec)\n93500\n", &renamed("rate")).unwrap();
    assert_eq!(numbers(&short, "goodput_mbps"), [93.5]);
    let wrong = |head: &str| Source::of_csv("m.csv", "a,b\n1,2\n", &renamed(head)).unwrap_err().to_string();
    assert_eq!(wrong("c"), "m.csv: --column goodput_mbps=c: unknown head \"c\"; one of a, b");
    assert_eq!(wrong("a (ms)"), "m.csv:1: column 1 (a): its unit is no unit of goodput_mbps");
}

#[test]
fn what_is_damaged_is_refused_with_its_line_and_column() {
    assert_eq!(refused("a,b\n1,2\n\n# no value\n3\n"), "mine.csv:5: 1 field below 2 heads; expected one for each head");
    assert_eq!(refused("# mine\n\na,A\n1,2\n"), "mine.csv:3: column 2 (A): column 1 (a) is called \"a\" too");
    assert_eq!(
        refused("window,window_bytes\n8 KiB,8192\n"),
        "mine.csv:1: column 2 (window_bytes): column 1 (window) is called \"window_bytes\" too"
    );
    assert_eq!(
        refused("loss;rate\n0;1\n0,1 %;2\n"),
        "mine.csv:3: column 1 (loss) = \"0,1 %\": not a number; expected a point in the place of the comma"
    );
    assert_eq!(refused("a,\n1,2\n"), "mine.csv:1: column 2 has no head");
    assert_eq!(refused("a,b\n"), "mine.csv: heads, and no line of values below them");
    assert_eq!(refused(""), "mine.csv: no line of heads; the first line names the columns");
    for (text, line, found) in
        [("a,b\n1,2\n3,4;5\n", 3, "4;5"), ("a,b\n1,inf\n", 2, "inf"), ("a,b\n1,64 KiB\n2,x\n", 3, "x")]
    {
        let source = Source::of_csv("mine.csv", text, &[]).unwrap();
        let refused = source.check_numbers(&source.find("b").unwrap()).unwrap_err().to_string();
        let wanted = format!("mine.csv:{line}: column 2 (b) = {found:?}: not a number; expected a number such as 93.5");
        assert!(refused.starts_with(&wanted), "{refused}");
    }
    let several = refused("a,b\n1,\"2,5\"\n2\n3,4\n\"5,5\",6\n");
    let lines: Vec<&str> = several.lines().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(lines, ["mine.csv:2", "mine.csv:3", "mine.csv:5"], "{several}");
    let source = Source::of_csv("mine.csv", "a,b\n1,x\n2,3\n3,y\n", &[]).unwrap();
    let several = source.check_numbers(&source.find("b").unwrap()).unwrap_err().to_string();
    assert!(several.contains("mine.csv:2: ") && several.contains("\nmine.csv:4: "), "{several}");
    let source = Source::of_csv("mine.csv", "a,b\n1,1e100\n2,-1e308\n", &[]).unwrap();
    assert_eq!(
        source.check_numbers(&source.find("b").unwrap()).unwrap_err().to_string(),
        "mine.csv:3: column 2 (b) = \"-1e308\": larger than anything that is measured; expected no more than 1e100"
    );
}

#[test]
fn values_of_rows_are_found_by_name_and_by_stem() {
    let row =
        Row { varied: vec![("window_bytes".to_owned(), Parameter::Count(8192))], goodput_mbps: 9.5, ..Row::default() };
    let source = Source::of_rows("a", vec![row], None);
    assert_eq!(numbers(&source, "window"), [8192.0]);
    assert_eq!(numbers(&source, "window_kib"), [8.0]);
    assert_eq!(numbers(&source, "goodput_mbps"), [9.5]);
    assert_eq!(source.find("windw"), None);
    let message = source.lacks("window_byte").to_string();
    assert!(
        message.starts_with("a: no value of the rows is called \"window_byte\"; did you mean window_bytes?"),
        "{message}"
    );
}

#[test]
fn conditions_take_quantities_in_any_unit() {
    let source = Source::of_csv("m.csv", "window (KiB),nagle\n8,on\n16,off\n", &[]).unwrap();
    for (text, count) in
        [("window=16 KiB", 1), ("window_bytes=8192", 1), ("nagle=off", 1), ("nagle=true", 1), ("window=9 KiB", 0)]
    {
        let condition: Condition = text.parse().unwrap();
        assert_eq!(Condition::select(&[condition], &source).len(), count, "{text}");
    }
    let unknown: Condition = "mtu=1500".parse().unwrap();
    assert!(Condition::lacking(&[unknown], &[source]).is_err());
    assert!("nagle".parse::<Condition>().is_err());
}

#[test]
fn a_condition_that_nothing_meets_is_told_with_what_there_is() {
    let csv = "window (KiB),nagle,kind\n8,on,cubic\n16,on,newreno\n16,on,cubic\n";
    let source = Source::of_csv("m.csv", csv, &[]).unwrap();
    let unmet = |all: &[&str]| {
        let all: Vec<Condition> = all.iter().map(|text| text.parse().unwrap()).collect();
        Condition::unmet(&all, &source).map(|fault| fault.to_string())
    };
    assert_eq!(unmet(&["window=16 KiB", "kind=cubic"]), None);
    assert_eq!(
        unmet(&["window=9 KiB"]).unwrap(),
        "m.csv: --where window=9 KiB: no record has this value; one of 8 KiB, 16 KiB"
    );
    assert_eq!(
        unmet(&["kind=cubik"]).unwrap(),
        "m.csv: --where kind=cubik: no record has this value; did you mean cubic? (one of cubic, newreno)"
    );
    assert_eq!(
        unmet(&["window=8 KiB", "kind=newreno"]).unwrap(),
        "m.csv: --where kind=newreno: of the records that the other conditions leave, none has this value; there is only cubic"
    );
    let long: String = (0..20).map(|it| format!("{it}\n")).collect();
    let source = Source::of_csv("m.csv", &format!("n\n{long}"), &[]).unwrap();
    let many = Condition::unmet(&["n=77".parse().unwrap()], &source).unwrap().to_string();
    assert!(many.ends_with("expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, and 8 more"), "{many}");
}

#[test]
fn a_whole_name_means_its_own_column() {
    let source = Source::of_csv("m.csv", "rtt_us,rtt_ms\n20000,21\n", &[]).unwrap();
    assert_eq!((numbers(&source, "rtt_ms"), numbers(&source, "rtt_us")), (vec![21.0], vec![20_000.0]));
    assert_eq!(source.find("rtt"), None);
}

#[test]
fn an_open_quotation_mark_is_told_with_its_line() {
    let words = "a quotation mark opens a field here, and none closes it; expected one at the end of the field, or two for one in it";
    for (text, line) in
        [("a,b\n1,2\n\"1,2\n3,4\n", 3), ("a,b\n# x\n\n1,\"2\n", 4), ("a,b\n1,\"a \"\"b\"\"\n", 2), ("\"a,b\n1,2\n", 1)]
    {
        assert_eq!(refused(text), format!("mine.csv:{line}: {words}"), "{text}");
    }
    let closed = Source::of_csv("m.csv", "a,b\n1,\"2 \"\"x\"\"\"\n3,4 \"x\n", &[]).unwrap();
    assert_eq!(closed.records().count(), 2);
}

/// Each line of it is looked at once, and of what is wrong no more is kept than is told.
#[test]
fn a_file_that_is_wrong_all_over_is_refused_by_its_first_lines() {
    let text = format!("a,b\n{}", "1\n".repeat(200_000));
    let (all, faults) = Source::of_damaged_csv("mine.csv", &text, &[]).unwrap();
    assert_eq!(all.records().count(), 0);
    let told = faults.all().unwrap().to_string();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((lines.len(), lines[0]), (9, "mine.csv:2: 1 field below 2 heads; expected one for each head"), "{told}");
    assert!(lines[8].starts_with("and 199,992 more"), "{told}");
    let opened = format!("{text}\"2,3\n4,5\n");
    assert!(refused(&opened).starts_with("mine.csv:200002: a quotation mark opens a field here"));
}

#[test]
fn queues_and_counters_that_there_are_not_are_told_with_those_that_there_are() {
    let mut row = Row { goodput_mbps: 9.5, ..Row::default() };
    row.queues.insert("line.a".to_owned(), [("p95".to_owned(), 7.0)].into());
    row.counters.insert("line".to_owned(), [("a_drops".to_owned(), 3)].into());
    let source = Source::of_rows("a", vec![row], None);
    for (wanted, said) in [
        ("queues.lin.a.p95", "did you mean queues.line.a.p95? (there is only queues.line.a.p95)"),
        ("counters.line.a_drop", "did you mean counters.line.a_drops? (there is only counters.line.a_drops)"),
        ("counters.lin.a_drops", "did you mean counters.line.a_drops?"),
    ] {
        let message = source.lacks(wanted).to_string();
        assert!(message.contains(said), "{wanted}: {message}");
    }
}

#[test]
fn a_condition_is_of_those_that_have_such_a_value() {
    let source = |name: &str, csv: &str| Source::of_csv(name, csv, &[]).unwrap();
    let all = [source("a.csv", "window,nagle\n8,on\n8,off\n"), source("b.csv", "window\n8\n8\n8\n")];
    let conditions: Vec<Condition> = vec!["nagle=off".parse().unwrap()];
    let notes = Condition::lacking(&conditions, &all).unwrap();
    assert_eq!(notes, ["--where nagle=off: b without nagle, so all of it is looked at"]);
    assert_eq!(all.each_ref().map(|source| Condition::select(&conditions, source).len()), [1, 3]);
    let nobody = Condition::lacking(&conditions, &all[1..]).unwrap_err().to_string();
    assert_eq!(nobody, "b.csv: no column is called \"nagle\"; there is only window");
}

#[test]
fn empty_cells_are_told_with_their_lines() {
    let lines: String = (0..12).map(|line| if line % 4 == 0 { "1,5\n" } else { "2,\n" }).collect();
    let source = Source::of_csv("m.csv", &format!("n,goodput_mbps\n# mine\n{lines}"), &[]).unwrap();
    let records: Vec<Record<'_>> = source.records().collect();
    let of = |name: &str, records| empty(&source, records, &source.find(name).unwrap(), "not drawn");
    assert_eq!(of("n", &records), None);
    let told =
        "m.csv: 9 of 12 lines have no goodput_mbps and are not drawn (lines 4, 5, 6, 8, 9, 10, 12, 13 and 1 more)";
    assert_eq!(of("goodput_mbps", &records).as_deref(), Some(told));
    let one = "m.csv: 1 of 2 lines has no goodput_mbps and is not drawn (line 4)";
    assert_eq!(of("goodput_mbps", &records[..2]).as_deref(), Some(one));
}

/// A line of too few fields, and a comma, hide no word in the place of a number, where the head says that numbers are
/// there.
#[test]
fn structure_hides_no_values() {
    let refused = |text: &str| Source::of_csv("m.csv", text, &[]).unwrap_err().to_string();
    let lines = |said: &str| said.lines().map(|line| line.split(": ").next().unwrap().to_owned()).collect::<Vec<_>>();
    let fields = refused("window (KiB),goodput (Mbit/s)\n16,abc\n32,x\n64,1,2\n128,nan\n256,-5\nfoo,7\n");
    assert_eq!(lines(&fields), ["m.csv:2", "m.csv:3", "m.csv:4", "m.csv:5", "m.csv:7"], "{fields}");
    let comma = refused("window,goodput_mbps\n1,1\n2,2 Mb\n3,\"2,5\"\n4,7\n");
    assert_eq!(lines(&comma), ["m.csv:3", "m.csv:4"], "{comma}");
}

#[test]
fn points_are_called_in_the_units_of_scenarios() {
    use Parameter::{Count, Number};
    for (name, value, label) in [
        ("size_bytes", Count(100_000), "size 100 kB"),
        ("size_bytes", Count(65_536), "size 64 KiB"),
        ("window_bytes", Number(1536.5), "window 1.5 KiB"),
        ("rate_mbps", Count(1000), "rate 1 Gb/s"),
        ("rate_mbps", Number(1.544), "rate 1.544 Mb/s"),
        ("rtt_ms", Number(0.5), "rtt 500 us"),
        ("time_ms", Count(10_000), "time 10 s"),
        ("rtt_ms", Number(1.0 / 3.0), "rtt 0.333333333333 ms"),
        ("loss_percent", Number(0.1), "loss 0.1 %"),
        ("sessions", Count(5), "sessions 5"),
    ] {
        assert_eq!(labelled(name, &value), label);
    }
}

#[test]
fn queues_and_counters_of_lines_are_found_by_who_sends_as_in_scenarios() {
    let row = |a: f64| {
        let mean = |mean| [("mean".to_owned(), mean)].into();
        Row {
            queues: [("mid.a".to_owned(), mean(a)), ("mid.b".to_owned(), mean(1.0))].into(),
            counters: [("mid".to_owned(), [("a_drops".to_owned(), 7)].into())].into(),
            ..Row::default()
        }
    };
    let run = |ends: &str| {
        let scenario = format!("[link.mid]\nends = [{ends}]\nmedium = \"trace\"");
        serde_json::json!({ "scenarios": [{ "first_point": scenario }] })
    };
    let one = Source::of_rows("one", vec![row(2.5)], Some(run("\"left.l0\", \"right.l0\"")));
    assert_eq!(numbers(&one, "queues.mid.left.mean"), [2.5]);
    assert_eq!(numbers(&one, "queues.mid.a.mean"), [2.5]);
    assert_eq!(numbers(&one, "counters.mid.left_drops"), [7.0]);
    let message = one.lacks("queues.mid.centre.mean").to_string();
    assert!(
        message.ends_with("one of queues.mid.a.mean, queues.mid.b.mean, queues.mid.left.mean, queues.mid.right.mean"),
        "{message}"
    );
    // The same name beside one whose ends are the other way round is of the same direction.
    let other = Source::of_rows("other", vec![row(4.0)], Some(run("\"right.l0\", \"left.l0\"")));
    let sources = [one, other];
    let name = Source::find_in(&sources, "queues.mid.left.mean").unwrap();
    assert_eq!(sources.each_ref().map(|source| numbers(source, &name)), [[2.5], [1.0]]);
}
