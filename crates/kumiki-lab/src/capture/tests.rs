#![allow(clippy::float_cmp, reason = "values that are exact")]

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::{Event, TraceEntry};
use kumiki_wire::inet::tcp::Seq;

use super::trace::{Connection, to_csv, to_jsonl};
use super::*;

#[test]
fn layers_are_read_from_text() {
    assert_eq!("device".parse(), Ok(Layers::Device));
    assert_eq!(" all ".parse(), Ok(Layers::All));
    let name = Name { host: "sender".to_owned(), upper: "ip".to_owned(), lower: "llc_snap".to_owned() };
    assert_eq!("sender.ip/llc_snap".parse(), Ok(Layers::Named(vec![name.clone()])));
    assert_eq!(name.to_string(), "sender.ip/llc_snap");
    for wrong in ["", "sender", "sender.ip", "sender.ip/", "device,ip", "a.b/c,"] {
        assert!(wrong.parse::<Layers>().is_err(), "{wrong}");
    }
}

fn entry(at_ms: u64, event: Event, una: u32, nxt: u32) -> TraceEntry {
    TraceEntry {
        at: Instant::ZERO + Duration::from_millis(at_ms),
        event,
        cwnd: 2000,
        ssthresh: u64::MAX,
        snd_una: Seq(una),
        snd_nxt: Seq(nxt),
        snd_wnd: 8192,
        rcv_nxt: Seq(7),
        rcv_wnd: 4096,
        srtt: None,
    }
}

fn connection() -> Connection {
    let start = u32::MAX - 99;
    Connection {
        host: "a".to_owned(),
        node: "tcp".to_owned(),
        local: "10.0.0.1:1024".parse().unwrap(),
        remote: "10.0.0.2:5001".parse().unwrap(),
        entries: vec![
            entry(1, Event::Established, start, start),
            entry(2, Event::Sent, start, start.wrapping_add(1000)),
            entry(3, Event::Retransmitted, start, start.wrapping_add(1000)),
            entry(4, Event::Acknowledged, start.wrapping_add(1000), start.wrapping_add(1000)),
        ],
    }
}

#[test]
fn rows_count_from_the_first_octet_and_beyond_the_end_of_sequence_numbers() {
    let rows = connection().rows();
    let numbers: Vec<_> = rows.iter().map(|row| (row.event, row.snd_una, row.snd_nxt, row.flight_octets)).collect();
    assert_eq!(
        numbers,
        [
            ("established", 0, 0, 0),
            ("sent", 0, 1000, 1000),
            ("retransmitted", 0, 1000, 1000),
            ("acknowledged", 1000, 1000, 0),
        ]
    );
    assert_eq!(rows[0].ssthresh_octets, None);
    let csv = to_csv(&[connection()]).unwrap();
    assert_eq!(
        csv.lines().nth(2),
        Some("a.tcp,10.0.0.1:1024,10.0.0.2:5001,2000000,sent,2000,,1000,0,1000,8192,0,4096,")
    );
    let jsonl = to_jsonl(&[connection()]).unwrap();
    assert_eq!(jsonl.lines().count(), 4);
    assert!(jsonl.contains(r#""event":"retransmitted""#), "{jsonl}");
}

#[test]
fn figures_show_windows_and_sequence_numbers() {
    let windows = connection().window_figure();
    let labels: Vec<&str> = windows.series.iter().map(|s| s.label.as_str()).collect();
    // Nothing was lost, so there is no slow start threshold.
    assert_eq!(labels, ["congestion window", "receive window (rwnd)", "bytes in flight"]);
    let sequence = connection().sequence_figure();
    let again = sequence.series.last().unwrap();
    assert_eq!((again.points.len(), again.points[0].x), (1, 0.003));
    assert!(sequence.to_svg().contains("octets of the connection"));
    let xpl = connection().to_xpl();
    assert!(xpl.contains("white\nline 0.002000000 0 0.002000000 1000\n"), "{xpl}");
    assert!(xpl.contains("red\nline 0.003000000 0 0.003000000 1000\n"), "{xpl}");
    assert!(xpl.ends_with("go\n"));
}

#[test]
fn a_long_curve_keeps_its_extremes() {
    let mut long = connection();
    long.entries = (0..100_000)
        .map(|n| TraceEntry { cwnd: if n == 77_777 { 9_999 } else { 2_000 }, ..entry(n, Event::Acknowledged, 0, 0) })
        .collect();
    let figure = long.window_figure();
    let curve = &figure.series[0].points;
    assert!(curve.len() < 2_100, "{}", curve.len());
    assert!(curve.iter().any(|point| point.y == 9_999.0));
    let xs: Vec<f64> = curve.iter().map(|point| point.x).collect();
    assert!(xs.is_sorted());
    assert!(*xs.last().unwrap() > 99.8);
}
