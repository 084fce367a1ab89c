use kumiki_watchdog::process::Folder;
use proptest::prelude::*;

use super::*;

fn row() -> Row {
    let tcp = [("segments_sent".to_owned(), 1_200), ("acks".to_owned(), 600)].into();
    Row {
        paper: Some(2),
        figure: "fig6".to_owned(),
        series: "one session".to_owned(),
        varied: vec![
            ("window_bytes".to_owned(), Parameter::Count(262_144)),
            ("nagle".to_owned(), Parameter::Switch(false)),
        ],
        seed: 1,
        repetition: 0,
        scope: Scope::Flow,
        load: Some("bulk".to_owned()),
        flow: Some(3),
        from: Some("a".to_owned()),
        octets: 16_672_500,
        measured_s: 1.0,
        goodput_mbps: 133.38,
        completion_s: None,
        completions: Some(7),
        longest_gap_s: Some(0.125),
        lost_percent: None,
        limit_mbps: Some(134.581),
        bound_by: "link".to_owned(),
        failed: false,
        jain: Some(0.9),
        held: BTreeMap::from([("receive window".to_owned(), 0.75), ("slow start".to_owned(), 0.25)]),
        segments_sent: Some(1200),
        retransmissions: Some(2),
        timeouts: None,
        round_trip_ms: BTreeMap::from([("p50".to_owned(), 1.5)]),
        delay_ms: BTreeMap::new(),
        completion_ms: BTreeMap::from([("p99".to_owned(), 9.5)]),
        with_opening_ms: BTreeMap::from([("mean".to_owned(), 12.5)]),
        clocks_ppm: BTreeMap::new(),
        queues: BTreeMap::from([("line.a".to_owned(), BTreeMap::from([("mean".to_owned(), 2.5)]))]),
        paper_mbps: Some(133.4),
        profile: "atm-board".to_owned(),
        fitted: true,
        fit_points: 3,
        fit_parameters: 1,
        counters: [("tcp".to_owned(), tcp)].into(),
        version: "0.1.0".to_owned(),
    }
}

/// A row of another figure, with other parameters and counters.
fn other() -> Row {
    Row {
        paper: None,
        series: "a, \"b\"".to_owned(),
        varied: vec![
            ("rtt_ms".to_owned(), Parameter::Number(0.5)),
            ("medium".to_owned(), Parameter::Text("ds3".to_owned())),
        ],
        paper_mbps: None,
        limit_mbps: None,
        counters: [("atm".to_owned(), [("cells".to_owned(), 7)].into())].into(),
        ..row()
    }
}

#[test]
fn drawn_clocks_are_in_the_rows_that_have_any() {
    let total = Row { clocks_ppm: BTreeMap::from([("line".to_owned(), -12)]), ..row() };
    let line = to_jsonl(std::slice::from_ref(&total)).unwrap();
    assert!(
        line.contains(r#""held":{"receive window":0.75,"slow start":0.25},"clocks_ppm":{"line":-12},"queues""#),
        "{line}"
    );
    assert_eq!(from_jsonl(&line).unwrap(), std::slice::from_ref(&total));
    let flow = Row { queues: BTreeMap::new(), counters: Counters::new(), ..row() };
    let text = to_csv(&[total, flow]).unwrap();
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let place = table.headers().unwrap().iter().position(|head| head == "clocks_ppm.line").unwrap();
    let cells: Vec<String> = table.records().map(|it| it.unwrap()[place].to_owned()).collect();
    assert_eq!(cells, ["-12", ""]);
}

/// The cells that rows of flows leave empty are not made one by one.
#[test]
fn a_line_of_a_row_without_counters_is_that_of_its_cells() {
    let total = row();
    for version in ["0.1.0", "", "a \"b\""] {
        let flow = Row { queues: BTreeMap::new(), counters: Counters::new(), version: version.to_owned(), ..other() };
        let text = to_csv(&[total.clone(), flow]).unwrap();
        let lines: Vec<csv::StringRecord> =
            csv::Reader::from_reader(text.as_bytes()).records().collect::<Result<_, _>>().unwrap();
        assert_eq!(lines[0].len(), lines[1].len());
        let mut written = csv::Writer::from_writer(Vec::new());
        written.write_record(&lines[1]).unwrap();
        let cells = String::from_utf8(written.into_inner().unwrap()).unwrap();
        assert_eq!(text.lines().last(), cells.lines().last());
        assert_eq!(lines[1].iter().next_back(), Some(version));
    }
}

#[test]
fn a_row_is_one_flat_line_of_json() {
    assert_eq!(
        to_jsonl(&[row()]).unwrap(),
        concat!(
            r#"{"paper":2,"figure":"fig6","series":"one session","window_bytes":262144,"nagle":false,"seed":1,"repetition":0,"#,
            r#""scope":"flow","load":"bulk","flow":3,"from":"a","octets":16672500,"measured_s":1.0,"#,
            r#""goodput_mbps":133.38,"completion_s":null,"completions":7,"longest_gap_s":0.125,"lost_percent":null,"limit_mbps":134.581,"bound_by":"link","failed":false,"jain":0.9,"segments_sent":1200,"retransmissions":2,"timeouts":null,"paper_mbps":133.4,"profile":"atm-board","#,
            r#""fitted":true,"fit_points":3,"fit_parameters":1,"round_trip_ms":{"p50":1.5},"delay_ms":{},"completion_ms":{"p99":9.5},"with_opening_ms":{"mean":12.5},"held":{"receive window":0.75,"slow start":0.25},"queues":{"line.a":{"mean":2.5}},"#,
            r#""counters":{"tcp":{"acks":600,"segments_sent":1200}},"#,
            r#""version":"0.1.0"}"#,
            "\n"
        )
    );
}

#[test]
fn csv_has_the_columns_of_every_row_in_a_stable_order() {
    assert_eq!(
        to_csv(&[row(), other()]).unwrap(),
        "paper,figure,series,window_bytes,nagle,rtt_ms,medium,seed,repetition,scope,load,flow,from,octets,measured_s,\
         goodput_mbps,completion_s,completions,longest_gap_s,lost_percent,limit_mbps,bound_by,failed,jain,segments_sent,retransmissions,timeouts,paper_mbps,profile,fitted,fit_points,fit_parameters,round_trip_ms.p50,completion_ms.p99,with_opening_ms.mean,held.receive window,held.slow start,queues.line.a.mean,counters.atm.cells,counters.tcp.acks,counters.tcp.segments_sent,version\n\
         2,fig6,one session,262144,false,,,1,0,flow,bulk,3,a,16672500,1,133.38,,7,0.125,,134.581,link,false,0.9,1200,2,,133.4,atm-board,true,3,1,1.5,9.5,12.5,0.75,0.25,2.5,,600,1200,0.1.0\n\
         ,fig6,\"a, \"\"b\"\"\",,,0.5,ds3,1,0,flow,bulk,3,a,16672500,1,133.38,,7,0.125,,,link,false,0.9,1200,2,,,atm-board,true,3,1,1.5,9.5,12.5,0.75,0.25,2.5,7,,,0.1.0\n"
    );
    assert!(to_csv(&[]).unwrap().starts_with("paper,figure,series,seed,"));
}

#[test]
fn what_a_run_lacks_has_its_own_reason() {
    let why = |name: &str| ValueName::new(name).unwrap().why_not();
    assert!(why("retransmissions").contains("no connection of TCP"));
    for (name, words) in [("raw_mbps", "`times`"), ("warm_up_s", "warm-up")] {
        assert!(why(name).contains(words) && !why(name).contains("TCP"), "{name}: {}", why(name));
    }
}

#[test]
fn what_is_written_is_read_back() {
    let rows = [row(), other()];
    assert_eq!(from_jsonl(&to_jsonl(&rows).unwrap()).unwrap(), rows);
}

#[test]
fn a_line_that_is_no_row_is_named() {
    let text = format!("{}\n{{\"paper\":2}}\n", to_jsonl(&[row()]).unwrap());
    assert_eq!(from_jsonl(&text).unwrap_err().to_string(), "line 3: missing field `goodput_mbps`");
    assert!(from_jsonl("nonsense").unwrap_err().to_string().starts_with("line 1: "));
    let whole = to_jsonl(&[row()]).unwrap();
    for length in [1, 40, whole.len() / 2, whole.len() - 2] {
        let cut = from_jsonl(whole.get(..length).unwrap()).unwrap_err();
        assert_eq!(cut.to_string(), "line 1: it is cut off", "{length}");
    }
    // What is wrong with a value names its field, and what would be right, in no language of programs.
    let line = to_jsonl(&[row()]).unwrap();
    for (from, to, wanted) in [
        ("\"octets\":", "\"octets\":\"x\",\"y\":", "line 1: octets: string \"x\"; expected a whole number from 0"),
        ("\"seed\":", "\"seed\":-1,\"y\":", "line 1: seed: integer `-1`; expected a whole number from 0"),
        (
            "\"scope\":",
            "\"scope\":\"totl\",\"y\":",
            "line 1: scope: unknown variant `totl`; expected one of `total`, `load`, `flow`",
        ),
        (
            "\"goodput_mbps\":",
            "\"goodput_mbps\":true,\"y\":",
            "line 1: goodput_mbps: boolean `true`; expected a number",
        ),
    ] {
        assert!(line.contains(from), "{from}");
        assert_eq!(from_jsonl(&line.replace(from, to)).unwrap_err().to_string(), wanted);
    }
}

#[test]
fn taken_names_and_infinite_results_are_refused() {
    let reserved = Row { varied: vec![("seed".to_owned(), Parameter::Count(1))], ..row() };
    let refused = to_jsonl(&[reserved]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a varied parameter may not be called \"seed\", as every row has a field, or tables a column, of that name"
    );
    let twice = Row { varied: vec![("rtt_ms".to_owned(), Parameter::Count(1)); 2], ..row() };
    assert!(matches!(twice.check(), Err(RowError::Twice { .. })));
    let endless = Row { goodput_mbps: f64::INFINITY, ..row() };
    assert_eq!(to_csv(&[endless]).unwrap_err().to_string(), "goodput_mbps is inf; a result must be a finite number");
    let nowhere = Row { varied: vec![("rtt_ms".to_owned(), Parameter::Number(f64::NAN))], ..row() };
    assert!(matches!(nowhere.check(), Err(RowError::NotFinite { .. })));
}

#[test]
fn a_place_for_results_that_is_no_directory_is_told() {
    let folder = Folder::new("rows-file");
    let file = folder.path("file");
    std::fs::write(&file, "mine").unwrap();
    let refused = Output::open(&file, true).unwrap_err().to_string();
    assert!(refused.ends_with("/file: it is no directory; choose another place for results"), "{refused}");
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    // Who only looks is told the same.
    assert_eq!(Output::look(&file, false).unwrap_err().to_string(), refused);
    let below = file.join("out");
    assert_eq!(
        Output::look(&below, false).is_err(),
        Output::open(&below, false).is_err(),
        "a file in the way of a folder"
    );
    Output::look(folder.path("new/out"), false).unwrap();
    assert!(!folder.path("new").exists());
}

#[test]
fn an_older_result_stays_unless_it_may_be_replaced() {
    let folder = Folder::new("rows-force");
    let out = folder.path("out");
    let output = Output::open(&out, false).unwrap();
    output.write_rows(&[row()]).unwrap();
    let refused = Output::open(&out, false).unwrap_err().to_string();
    assert!(refused.contains(out.to_str().unwrap()) && refused.contains("--force"), "{refused}");
    assert!(matches!(output.write_rows(&[other()]), Err(OutputError::Exists { .. })));
    assert_eq!(read_rows(&output.path(Output::ROWS_JSONL)).unwrap(), [row()]);
    let forced = Output::open(&out, true).unwrap();
    forced.write_rows(&[other()]).unwrap();
    assert_eq!(read_rows(&output.path(Output::ROWS_JSONL)).unwrap(), [other()]);
    assert_eq!(folder.names("out"), ["rows.csv", "rows.jsonl"]);
}

#[test]
fn files_go_below_the_directory_only_and_leave_no_parts() {
    let folder = Folder::new("rows-below");
    let out = folder.path("out");
    let output = Output::open(&out, false).unwrap();
    assert_eq!(output.write("figures/fig3.svg", b"<svg/>").unwrap(), out.join("figures/fig3.svg"));
    for name in ["../above", "/absolute", "", ".", "a/../../b"] {
        assert!(matches!(output.write(name, b""), Err(OutputError::Name { .. })), "{name}");
    }
    // A folder is in the way, which only the file system can tell.
    let forced = Output::open(&out, true).unwrap();
    assert!(matches!(forced.write("figures", b""), Err(OutputError::Io { .. })));
    assert_eq!(folder.names("out"), ["figures"]);
}

#[test]
fn a_file_without_rows_is_named() {
    let folder = Folder::new("rows-read");
    let out = folder.path("out");
    let output = Output::open(&out, false).unwrap();
    let path = output.write("broken.jsonl", b"{}\n").unwrap();
    let refused = read_rows(&path).unwrap_err().to_string();
    assert!(refused.contains("broken.jsonl, line 1: missing field"), "{refused}");
    assert!(matches!(read_rows(&output.path("missing")), Err(OutputError::Unread { .. })));
}

proptest! {
    #[test]
    fn any_finite_row_survives(
        goodput in -1e300_f64..1e300,
        number in any::<f64>().prop_filter("finite", |x| x.is_finite()),
        count: u64,
        text: String,
        name in "[a-z_]{1,12}",
    ) {
        prop_assume!(!is_field(&name));
        let rows = [
            Row { goodput_mbps: goodput, seed: count, series: text.clone(), varied: vec![(name.clone(), Parameter::Number(number))], ..row() },
            Row { varied: vec![(name.clone(), Parameter::Text(text))], ..row() },
            Row { varied: vec![(name, Parameter::Count(count))], ..row() },
        ];
        prop_assert_eq!(from_jsonl(&to_jsonl(&rows).unwrap()).unwrap(), rows);
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = from_jsonl(&text);
    }
}
