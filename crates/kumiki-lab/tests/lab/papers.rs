//! What papers 1, 2, 3 and 5 print or say, and what Kumiki must therefore show. Tolerances are those stated in the
//! scenarios' sources: a printed value with its stated room, or the paper's own words.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "what fails here fails the test")]

use crate::arrange::{profiles, run, run_point, scenario};
use kumiki_lab::experiment::{Measured, Options};
use kumiki_lab::limit;
use kumiki_lab::scenario::{Choice, Point};

fn measured(name: &str, set: &[&str]) -> Measured {
    run(&scenario(name), set, 1, &Options::default()).measured
}

fn goodput(name: &str, set: &[&str]) -> f64 {
    measured(name, set).total.goodput_mbps
}

#[track_caller]
fn near(ours: f64, paper: f64, within: f64) {
    assert!((ours - paper).abs() <= within, "{ours} is more than {within} from {paper}");
}

/// One cell of paper 1's table 2, with fewer packets than the paper where `count` says so.
fn pos(length: &str, count: u32) -> f64 {
    let set = [format!("length={length}"), format!("count={count}")];
    goodput("paper1-table2", &set.each_ref().map(String::as_str))
}

#[test]
fn what_was_fitted_of_paper_1_is_within_three_per_cent() {
    for (length, count, paper) in
        [("512 B", 8192, 59.98), ("512 B", 16384, 59.57), ("4 KiB", 8192, 141.97), ("4 KiB", 16384, 141.93)]
    {
        near(pos(length, count), paper, 0.03 * paper);
    }
}

/// Table 1's runs differ by a factor of two, and ours as much; with 40 seeds, of which the first 12 are here.
#[test]
fn runs_of_paper_1_differ_by_the_fixed_time_of_a_write() {
    let rates: Vec<f64> = (1..=12)
        .map(|seed| {
            let set = ["length=512 B", "show=mean", "load.bulk.count=1024"];
            run(&scenario("paper1-table1"), &set, seed, &Options::default()).measured.total.goodput_mbps
        })
        .collect();
    let (least, most) = (rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max));
    assert!((39.0..52.0).contains(&least) && (66.0..84.0).contains(&most), "{rates:?}");
}

#[test]
fn longer_packets_are_faster_up_to_the_bound_of_the_line() {
    let lengths = ["512 B", "1 KiB", "2 KiB", "4 KiB", "8 KiB"];
    let rates = lengths.map(|length| pos(length, 4096));
    assert!(rates.is_sorted(), "{rates:?}");
    // Claim (b): at 4096 and above at or over what Classical IP can carry at best.
    for length in ["4 KiB", "8 KiB"] {
        let rate = pos(length, 8192);
        assert!((134.0..142.02).contains(&rate), "{length}: {rate}");
    }
}

/// 8 KB windows, 8 KB writes, acknowledgments delayed by 50 ms: one such wait, whatever the count, and none where
/// nothing is delayed.
#[test]
fn the_8192_row_rises_with_the_count_because_one_acknowledgment_is_late() {
    let taken_ms = |count: u32, set: &[&str]| {
        let (length, number) = ("length=8 KiB", format!("count={count}"));
        let set: Vec<&str> = [length, &number].iter().chain(set).copied().collect();
        let run = measured("paper1-table2", &set);
        run.total.time.as_secs_f64() * 1e3
    };
    let (short, long) = (taken_ms(2048, &[]), taken_ms(4096, &[]));
    near(short - (long - short), 50.0, 1.0);
    let prompt = ["sender", "receiver"].map(|host| format!("host.{host}.tcp.ack.every=1"));
    let prompt = prompt.each_ref().map(String::as_str);
    let (short, long) = (taken_ms(2048, &prompt), taken_ms(4096, &prompt));
    near(short - (long - short), 0.0, 1.0);
}

#[test]
fn every_content_and_mtu_reaches_what_the_line_allows() {
    let document = scenario("paper1-patterns");
    // A quarter of the paper's packets.
    let choice = Choice { set: vec!["load.bulk.count=4096".to_owned()], ..Choice::default() };
    for point in document.points(&choice).unwrap() {
        let limit = limit::of_load(&point.scenario, point.scenario.load.values().next().unwrap()).unwrap();
        let limit = limit.goodput_mbps().as_f64();
        let ours = run_point(&point, &profiles(&point), 1, &Options::default());
        let ours = ours.measured;
        let (ours, label) = (ours.total.goodput_mbps, point.label());
        assert!((0.99 * limit..1.001 * limit).contains(&ours), "{label}: {ours} of {limit}");
    }
}

#[test]
fn both_sides_of_paper_1_use_about_30_per_cent_of_their_cpus() {
    for length in ["512 B", "2 KiB", "8 KiB"] {
        let run = measured("paper1-cpu", &[&format!("length={length}")]);
        let sender: f64 = ["sender.cpu0", "sender.cpu1"].map(|cpu| run.cpu[cpu]).iter().sum();
        near(sender / 2.0, 0.30, 0.05);
        // With long writes the receiver, which reads more often than the sender writes, has more: a miss.
        let receiver: f64 = ["receiver.cpu0", "receiver.cpu1"].map(|cpu| run.cpu[cpu]).iter().sum();
        near(receiver / 2.0, 0.35, 0.07);
        let waited = run.total.waited["sender"];
        assert!(waited > 0.3, "{length}: {waited}");
    }
}

#[test]
fn table_2_of_paper_2_is_exact_and_so_is_the_papers_rounding() {
    let points = scenario("paper2-fig6").points(&Choice::default()).unwrap();
    let ladder = limit::of_load(&points[0].scenario, points[0].scenario.load.values().next().unwrap()).unwrap();
    let steps: Vec<String> = ladder.condensed().iter().map(|step| format!("{:.3}", step.rate_mbps.as_f64())).collect();
    assert_eq!(steps, ["155.520", "149.760", "135.632", "134.580"]);
    let rounded = ladder.paper_arithmetic(3);
    assert_eq!(format!("{:.3}", rounded.last().unwrap().as_f64()), "134.581");
}

#[test]
fn without_host_costs_every_window_from_48_kb_on_fills_the_line() {
    for window in ["48 KiB", "64 KiB", "128 KiB", "256 KiB"] {
        let ours = goodput("paper2-fig6", &["board=zero", &format!("window={window}")]);
        assert!((0.995 * 134.580..=134.581).contains(&ours), "{window}: {ours}");
    }
}

#[test]
fn the_board_reaches_its_best_at_256_kb_and_nearly_so_from_48_kb_on() {
    let at = |window: &str| goodput("paper2-fig6", &["board=atm-board", &format!("window={window}")]);
    near(at("256 KiB"), 133.4, 0.4);
    for window in ["48 KiB", "64 KiB", "128 KiB"] {
        assert!(at(window) >= 132.5, "{window}: {}", at(window));
    }
}

#[test]
fn many_sessions_cost_what_waking_all_writers_costs() {
    let at = |window: &str, sessions: u32| {
        let set = [format!("window={window}"), format!("sessions={sessions}")];
        goodput("paper2-fig7", &set.each_ref().map(String::as_str))
    };
    let peak = at("16 KiB", 15);
    near(peak, 131.2, 1.5);
    let fall = |window, sessions, peak: f64| (1.0 - at(window, sessions) / peak) * 100.0;
    // Fitted.
    near(fall("24 KiB", 60, at("24 KiB", 15)), 4.3, 0.3);
    // Predicted: "about 1 %", and 6.4 % where 1.5 is missing.
    near(fall("16 KiB", 60, peak), 1.0, 0.5);
    near(fall("48 KiB", 50, at("48 KiB", 15)), 6.4, 1.6);
}

#[test]
fn shared_memory_serves_sixty_sessions_where_the_papers_way_fails() {
    let at = |pages: &str, sessions: u32| {
        let name = if pages == "paper" { "paper2-fig7" } else { "paper2-fig7-shared" };
        let set = [format!("pages={pages}"), "window=256 KiB".to_owned(), format!("sessions={sessions}")];
        measured(name, &set.each_ref().map(String::as_str))
    };
    let single = at("shared", 1).total.goodput_mbps;
    let (paper, shared) = (at("paper", 60), at("shared", 60));
    assert!(paper.total.goodput_mbps < 0.95 * single, "the baseline should fail: {}", paper.total.goodput_mbps);
    assert!(shared.total.goodput_mbps > 0.99 * single, "{} of {single}", shared.total.goodput_mbps);
    assert!(shared.total.jain.unwrap() > 0.95 && shared.total.stopped == 0);
}

#[test]
fn one_busy_session_among_sixty_idle_ones_gets_its_256_kb() {
    let alone = goodput("paper2-idle", &["pages=shared", "sessions=1"]);
    let among = measured("paper2-idle", &["pages=shared", "sessions=61"]);
    assert!(among.total.goodput_mbps > 0.999 * alone, "{} of {alone}", among.total.goodput_mbps);
    let held = among.counters["sender.send memory"]["high_water"];
    assert!(held * 8192 >= 256 * 1024, "only {held} clusters were in use at once");
}

#[test]
fn each_technique_of_paper_2_is_worth_something() {
    let at = |technique: &str, propagation: &str| {
        let points = scenario("paper2-ablation").points(&Choice::default()).unwrap();
        let point = points.into_iter().find(|point| {
            let has = |name, text| point.value(name).and_then(toml::Value::as_str) == Some(text);
            has("technique", technique) && has("propagation", propagation)
        });
        let point = point.unwrap();
        run_point(&point, &profiles(&point), 1, &Options::default()).measured.total.goodput_mbps
    };
    let all = at("all five", "1 us");
    for without in ["clusters", "on-the-fly checksum", "pipeline rescheduling", "chained DMA"] {
        let ours = at(&format!("without {without}"), "1 us");
        assert!(ours < 0.96 * all, "{without}: {ours} of {all}");
    }
    // The paper: on its short path window scaling is worth nothing.
    near(at("without window scaling", "1 us"), all, 0.5);
    assert!(at("without window scaling", "10 ms") < 0.25 * at("all five", "10 ms"));
}

#[test]
fn small_messages_collapse_with_nagle_and_not_without_and_the_timer_ends_each_wait() {
    for buffer in ["4 KiB", "8 KiB"] {
        let set = [format!("buffer={buffer}"), "message=4 KiB".to_owned()];
        let set = set.each_ref().map(String::as_str);
        let with = measured("paper5-fig2", &set);
        let without = goodput("paper5-fig3", &set);
        assert!(with.total.goodput_mbps < 2.0 && without > 10.0, "{buffer}: {} and {without}", with.total.goodput_mbps);
        each_wait_is_ended_by_the_timer(&set);
    }
}

/// In the receiver's trace: whenever nothing happened for 10 ms, the next thing is an acknowledgment that the timer
/// sends; and these waits fill nearly all of the time.
fn each_wait_is_ended_by_the_timer(set: &[&str]) {
    let options = Options { traces: true, ..Options::default() };
    let run = run(&scenario("paper5-fig2"), set, 1, &options);
    let receiver = run.traces.iter().find(|connection| connection.host == "receiver").unwrap();
    let rows = receiver.rows();
    let waits: Vec<_> = rows.windows(2).filter(|pair| pair[1].at_ns - pair[0].at_ns > 10_000_000).collect();
    assert!(waits.iter().all(|pair| pair[1].event == "acked: timer"), "{set:?}");
    let waited: u64 = waits.iter().map(|pair| pair[1].at_ns - pair[0].at_ns).sum();
    let whole = rows.last().unwrap().at_ns - rows[0].at_ns;
    assert!(waits.len() > 20 && waited * 10 > whole * 9, "{set:?}: waited {waited} of {whole} ns");
}

#[test]
fn messages_of_8_kb_are_best_from_32_kb_buffers_on() {
    for name in ["paper5-fig2", "paper5-fig3"] {
        for buffer in ["32 KiB", "64 KiB"] {
            let at = |message: &str| goodput(name, &[&format!("buffer={buffer}"), &format!("message={message}")]);
            let best = at("8 KiB");
            for message in ["512 B", "1 KiB", "2 KiB", "4 KiB", "16 KiB", "32 KiB", "64 KiB"] {
                assert!(at(message) < best, "{name}, {buffer}: {message} is as good as 8 KiB");
            }
        }
    }
}

/// Beyond the paper: its adapter could do both.
#[test]
fn each_adaptation_layer_fills_its_share_of_the_line() {
    for (aal, limit) in [("5", 134.513), ("3/4", 123.572)] {
        let set = [format!("aal={aal}"), "buffer=64 KiB".to_owned()];
        let set = set.each_ref().map(String::as_str);
        let point = crate::arrange::point(&scenario("paper5-aal34"), &set);
        let ladder = limit::of_load(&point.scenario, point.scenario.load.values().next().unwrap()).unwrap();
        near(ladder.goodput_mbps().as_f64(), limit, 0.001);
        let ours = goodput("paper5-aal34", &set);
        assert!((0.995 * limit..=limit).contains(&ours), "{aal}: {ours}");
    }
}

/// The point of `name` at which the varied words are these, measured as `set` has it.
fn measured_at(name: &str, words: &[(&str, &str)], set: &[&str]) -> Measured {
    let choice = Choice { set: set.iter().map(|text| (*text).to_owned()).collect(), quick: false, runs: None };
    let points = scenario(name).points(&choice).unwrap();
    let is = |point: &Point, name: &str, word: &str| point.value(name).and_then(toml::Value::as_str) == Some(word);
    let mut found = points.iter().filter(|point| words.iter().all(|(name, word)| is(point, name, word)));
    let point = found.next().unwrap();
    run_point(point, &profiles(point), 1, &Options::default()).measured
}

/// Of XTP's and TCP's long runs: what is slowest to come to its rate, XTP over 200 ms, is there after 4 s.
const STEADY: &str = "run.warm_up=6 s";

/// A point of paper 3's figure 3, measured for less time than there: from 4 s on the rate of XTP is the same to a
/// thousandth.
fn delayed(series: &str, algorithm: &str, rtt_ms: u32) -> Measured {
    delayed_on(series, algorithm, rtt_ms, &[])
}

/// The same with changes.
fn delayed_on(series: &str, algorithm: &str, rtt_ms: u32, set: &[&str]) -> Measured {
    let rtt = format!("rtt={rtt_ms} ms");
    let own = [rtt.as_str(), STEADY, "run.duration=6 s"];
    let set: Vec<&str> = own.iter().chain(set).copied().collect();
    let words = [("series", series), ("rtt_algorithm", algorithm)];
    measured_at("paper3-fig3", &words, &set)
}

#[test]
fn what_was_fitted_of_paper_3_is_met() {
    let xtp = delayed("xtp-nocheck", "paper", 100).total.goodput_mbps;
    near(xtp, 17.0, 1.7);
    near(delayed("tcp-os", "-", 0).total.goodput_mbps, 19.0, 1.0);
    let tcp = delayed("tcp-xkernel", "-", 0).total.goodput_mbps;
    assert!((0.4..=0.6).contains(&(tcp / xtp)), "{tcp} against {xtp}");
}

#[test]
fn xtp_is_flat_and_dips_at_no_delay_only_as_the_paper_measures() {
    for series in ["xtp", "xtp-nocheck"] {
        for (algorithm, dips) in [("paper", true), ("mended", false)] {
            let rate = |rtt| delayed(series, algorithm, rtt).total.goodput_mbps;
            let flat = [20, 60, 100, 200].map(rate);
            let (low, high) = flat.iter().fold((f64::MAX, 0.0_f64), |(low, high), it| (low.min(*it), high.max(*it)));
            assert!(high - low <= 0.03 * high, "{series}, {algorithm}: {flat:?}");
            let dip = 1.0 - rate(0) / high;
            assert_eq!(dip >= 0.03, dips, "{series}, {algorithm}: {dip}");
            assert!(dips || dip < 0.01, "{series}, {algorithm}: {dip}");
        }
    }
}

/// Beyond the knee the rate is W_eff in each RTT, sending and handling of a segment, and wait for its acknowledgment.
/// Of these W_eff and the wait are counted; what sending and handling take is found at one delay and holds at all
/// others.
#[test]
fn beyond_the_knee_tcp_is_bound_by_its_window() {
    use kumiki_lab::experiment::WindowUse;
    for series in ["tcp-xkernel", "tcp-os"] {
        let used = |rtt| WindowUse::of(&delayed(series, "-", rtt)).unwrap();
        let at_60 = used(60);
        let handling = at_60.round_ms - 60.0 - at_60.wait_ms;
        assert!((3.0..30.0).contains(&handling), "{series}: {handling} ms");
        for rtt in [40, 100, 140, 200] {
            let used = used(rtt);
            let expected = f64::from(rtt) + handling + used.wait_ms;
            near(used.round_ms, expected, 0.05 * expected);
        }
    }
}

/// What the DS-3 line leaves to both, as `kumiki limit paper3-zero` has it.
const DS3: f64 = 36.4;

fn without_hosts(series: &str, rtt_ms: u32) -> f64 {
    let rtt = format!("rtt={rtt_ms} ms");
    measured_at("paper3-zero", &[("series", series)], &[&rtt, STEADY, "run.duration=10 s"]).total.goodput_mbps
}

#[test]
fn without_hosts_in_the_way_the_line_of_paper_3_is_full_at_every_delay() {
    for rtt_ms in [0, 100, 200] {
        for series in ["xtp", "tcp-cubic"] {
            let rate = without_hosts(series, rtt_ms);
            assert!(rate >= 0.98 * DS3, "{series}, {rtt_ms} ms: {rate}");
        }
    }
    // Without window scaling a window of 64 KB in each round trip.
    near(without_hosts("tcp-64k", 200), 65.535 * 8.0 / 200.0, 0.3);
}

#[test]
fn xtp_loses_little_where_the_line_loses_packets_and_tcp_much() {
    let at = |series, loss, rtt| {
        let set = [rtt, STEADY, "run.duration=20 s"];
        let words = [("series", series), ("loss", loss)];
        measured_at("paper3-loss", &words, &set).total.goodput_mbps
    };
    for (loss, least) in [("0.01 %", 35.5), ("0.1 %", 35.0), ("1 %", 30.0)] {
        let found = at("xtp", loss, "rtt=200 ms");
        assert!(found > least, "{loss}: {found}");
    }
    for series in ["tcp-cubic", "tcp-newreno"] {
        assert!(at(series, "1 %", "rtt=0 ms") > 34.0, "{series}");
        assert!(at(series, "1 %", "rtt=200 ms") < 10.0, "{series}");
    }
}

#[test]
fn the_dip_is_gone_when_control_packets_cost_nothing() {
    let at = |control, rtt| {
        let set = [rtt, STEADY, "run.duration=6 s"];
        let words = [("rtt_algorithm", "paper"), ("control", control)];
        measured_at("paper3-dip", &words, &set).total.goodput_mbps
    };
    let dip = |control| 1.0 - at(control, "rtt=0 ms") / at(control, "rtt=100 ms");
    assert!(dip("priced") >= 0.03, "{}", dip("priced"));
    assert!(dip("free") < 0.01, "{}", dip("free"));
}

/// The numbers of a row of docs/papers.md, behind the line that begins with `begin`, or of that line itself.
fn printed(begin: &str, behind: usize) -> Vec<String> {
    let mut lines = include_str!("../../../../docs/papers.md").lines();
    let line = lines.find(|line| line.starts_with(begin)).unwrap();
    let line = lines.nth(behind.wrapping_sub(1)).filter(|_| behind > 0).unwrap_or(line);
    let cells = line.split('|').map(str::trim);
    let is_number = |cell: &&str| cell.parse::<f64>().is_ok();
    cells.filter(is_number).map(ToOwned::to_owned).collect()
}

/// Two places in which a last digit was once wrong.
#[test]
fn the_document_has_the_numbers_that_the_commands_print() {
    let row = printed("| 4096 | paper", 1);
    for (count, cell) in [(8192, &row[0]), (65536, &row[3])] {
        assert_eq!(format!("{:.2}", pos("4 KiB", count)), *cell, "{count}");
    }
    let row = printed("| 0 ms | 13.75", 0);
    let words = [("series", "xtp-nocheck"), ("rtt_algorithm", "paper")];
    let run = measured_at("paper3-fig3", &words, &["rtt=0 ms"]);
    assert_eq!(format!("{:.2}", run.total.goodput_mbps), row[2]);
}

/// Of what sources of ABR may send, and of the queue that they fill.
#[test]
fn explicit_rates_are_alike_and_are_shown_over_time() {
    let options = Options::default();
    let run = || {
        let set = ["control=erica", "sources=5", "run.duration=300 ms", "run.interval=50 ms"];
        run(&scenario("paper5-abr"), &set, 1, &options)
    };
    let first = run();
    assert!(first.measured.total.jain.unwrap() > 0.99, "{:?}", first.measured.total.jain);
    let samples = first.samples.clone().unwrap();
    let rates: Vec<u64> =
        samples.0.iter().filter_map(|it| (it.name == "s0.atm0 VC 0/100").then_some(it.acr_cps?)).collect();
    // Six intervals: from a twentieth of the line up.
    assert_eq!(rates.len(), 6, "{:?}", samples.0.iter().map(|it| it.name.as_str()).collect::<Vec<_>>());
    assert!(rates[0] >= 17_000 && rates.iter().any(|rate| *rate > 50_000), "{rates:?}");
    assert!(samples.0.iter().any(|it| it.name == "sw.0" && it.queue_max.is_some()));
    let again = run();
    assert_eq!((first.measured.counters, samples), (again.measured.counters, again.samples.unwrap()));
}

#[test]
fn a_stream_is_late_where_windows_are_longer_than_its_playout_delay() {
    let media = |set: &[&str]| {
        let all = [&["pages=free", "run.duration=300 ms"], set].concat();
        let measured = measured("paper2-media", &all);
        let counters = &measured.counters["receiver.video"];
        let of = |name: &str| counters[name];
        let units = measured.loads["video"].units.unwrap();
        (of("received"), of("late"), of("lost"), units.received, units.lost)
    };
    let (received, late, lost, ..) = media(&["window=16 KiB", "sessions=15"]);
    assert!(received > 600 && late == 0 && lost == 0, "{received} {late}");
    let (received, late, ..) = media(&["window=256 KiB", "sessions=15"]);
    assert!(received > 400 && late == received, "{late} of {received}");
    // Fifteen windows of 16 KB are 15 ms of the line: too much for 10 ms of playout.
    let (received, late, ..) = media(&["window=16 KiB", "sessions=15", "load.video.playout=10 ms"]);
    assert!(late > received / 2, "{late} of {received}");
    // What is counted by sequence numbers of 16 bits (RFC 3550) and by those of the lab is the same, but for what was
    // in flight when the measurement began: of that the lab counts no loss. Some 700 packets leave in 300 ms, and their
    // way takes some 2 ms.
    let (received, _, lost, units, missing) = media(&["window=16 KiB", "sessions=4", "link.two.impair={loss=0.001}"]);
    assert_eq!(received, units);
    assert!(missing <= lost && lost - missing <= 5, "{missing} {lost}");
    assert!(lost > 5, "{lost}");
}
