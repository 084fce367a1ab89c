//! Segments that are made here, and what the plot has of them.

use std::net::SocketAddr;
use std::path::Path;

use super::segment::Segment;
use super::{ConnectionView, FLOWS, PageLimits, flow, is_shown, not_shown, nothing, sequence};
use crate::figure::{Figure, Point};

fn a() -> SocketAddr {
    "10.0.0.1:1024".parse().unwrap()
}

fn b() -> SocketAddr {
    "10.0.0.2:5001".parse().unwrap()
}

/// Near the end of sequence numbers.
const START: u32 = u32::MAX - 1000;

fn sent(at_ms: i128, offset: u32, len: u32) -> Segment {
    let seq = START.wrapping_add(1).wrapping_add(offset);
    let number = u64::try_from(at_ms).unwrap();
    Segment {
        at_ns: at_ms * 1_000_000,
        number,
        ends: Some((a(), b())),
        seq,
        ack: Some(501),
        len,
        window: 100,
        ..Segment::default()
    }
}

fn acked(at_ms: i128, offset: u32, window: u32, sack: &[(u32, u32)]) -> Segment {
    let seq = |offset: u32| START.wrapping_add(1).wrapping_add(offset);
    let number = u64::try_from(at_ms).unwrap();
    Segment {
        at_ns: at_ms * 1_000_000,
        number,
        ends: Some((b(), a())),
        seq: 501,
        ack: Some(seq(offset)),
        window,
        sack: sack.iter().map(|(left, right)| (seq(*left), seq(*right))).collect(),
        ..Segment::default()
    }
}

fn syn(of: SocketAddr, to: SocketAddr, seq: u32, shift: Option<u32>) -> Segment {
    let ack = (of == b()).then_some(START.wrapping_add(1));
    Segment { ends: Some((of, to)), seq, ack, syn: true, window: 1000, shift, ..Segment::default() }
}

/// The connection opens, three segments leave, the second is lost and retransmitted.
fn connection(shift: Option<u32>) -> Vec<Segment> {
    vec![
        syn(a(), b(), START, Some(3)),
        syn(b(), a(), 500, shift),
        sent(1, 0, 1000),
        sent(2, 1000, 1000),
        sent(3, 2000, 1000),
        acked(11, 1000, 100, &[]),
        acked(13, 1000, 100, &[(2000, 3000)]),
        sent(14, 1000, 1000),
        acked(24, 3000, 50, &[]),
    ]
}

fn series<'a>(figure: &'a Figure, label: &str) -> &'a [Point] {
    figure.series.iter().find(|series| series.label == label).map_or(&[], |series| &series.points)
}

fn spans(points: &[Point]) -> Vec<(f64, (f64, f64))> {
    points.iter().map(|point| (point.x, point.spread.unwrap())).collect()
}

#[test]
fn segments_are_where_their_octets_are_beyond_the_end_of_sequence_numbers() {
    let drawn = sequence::NotedFigure::of(&connection(Some(4)));
    let figure = &drawn.figure;
    assert_eq!(spans(series(figure, "sent")), [(1.0, (0.0, 1000.0)), (2.0, (1000.0, 2000.0)), (3.0, (2000.0, 3000.0))]);
    assert_eq!(spans(series(figure, "retransmitted")), [(14.0, (1000.0, 2000.0))]);
    assert_eq!(series(figure, "retransmitted")[0].said, "packet 14");
    assert_eq!(spans(series(figure, "acknowledged selectively (SACK)")), [(13.0, (2000.0, 3000.0))]);
    assert_eq!(series(figure, "SYN, FIN, RST")[0].said, "SYN, packet 0");
    let last = |label: &str| series(figure, label).last().map(|point| (point.x, point.y));
    assert_eq!(last("acknowledged"), Some((24.0, 3000.0)));
    // 50 shifted by 4.
    assert_eq!(last("window's right edge"), Some((24.0, 3800.0)));
    // A staircase: level until it rises.
    let steps: Vec<(f64, f64)> = series(figure, "acknowledged").iter().map(|point| (point.x, point.y)).collect();
    assert!(steps.windows(2).all(|pair| pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1), "{steps:?}");
    assert_eq!((figure.x.unit.as_str(), drawn.notes.len()), ("ms", 0));
}

#[test]
fn the_edge_is_drawn_only_where_the_shift_is_known() {
    let edge = |segments: &[Segment]| {
        let drawn = sequence::NotedFigure::of(segments);
        series(&drawn.figure, "window's right edge").last().map(|point| point.y)
    };
    // One side alone has a shift count: none counts (RFC 7323 section 2.2).
    assert_eq!(edge(&connection(None)), Some(3050.0));
    let all = connection(Some(4));
    assert_eq!(edge(&all[1..]), None);
    let notes = sequence::NotedFigure::of(&all[1..]).notes;
    assert!(notes.iter().any(|note| note.starts_with("The window's edge is not drawn")), "{notes:?}");
}

#[test]
fn the_way_with_more_octets_is_drawn_and_the_other_told_of() {
    let mut all = connection(Some(4));
    all.push(Segment { len: 10, ..acked(30, 3000, 50, &[]) });
    let drawn = sequence::NotedFigure::of(&all);
    assert_eq!(drawn.figure.title, "10.0.0.1:1024 to 10.0.0.2:5001");
    assert_eq!(drawn.notes, ["The other way went 10 octets, which the figure does not have."]);
    assert_eq!(sequence::NotedFigure::of(&[]).figure, Figure::default());
}

#[test]
fn captures_of_later_runs_are_passed_over() {
    assert!(is_shown("captures/x/000-near.pcapng") && is_shown("captures/x/012-run-a.pcapng"));
    assert!(is_shown("captures/x/000-run0-run1-a.pcapng"), "of a host that is called as captures of later runs begin");
    assert!(!is_shown("captures/x/000-run2-near.pcapng") && !is_shown("captures/x/000-trace.csv"));
}

/// However many scenarios there are, the page does not grow.
#[test]
fn scenarios_share_the_page() {
    let all = |scenarios: usize| {
        let room = PageLimits::among(scenarios);
        let shown = scenarios.min(FLOWS);
        (room.flows * shown, room.segments * shown, room.packets * shown)
    };
    assert_eq!([1, 2, 4, 57].map(all), [(4, 1200, 120); 4]);
    assert_eq!(all(3), (3, 1200, 120));
    assert_eq!((PageLimits::among(1).of_each(1), PageLimits::among(1).of_each(4)), ((1200, 120), (300, 30)));
    assert!(not_shown("fig7").notes.iter().any(|note| note.contains("captures/fig7")));
}

/// A block of a selective acknowledgment is drawn, too, so it takes room.
#[test]
fn what_is_left_out_of_a_connection_is_said() {
    let seen = || ConnectionView { segments: connection(Some(4)), count: 9, ..ConnectionView::default() };
    let of = |drawn: usize, is_whole: bool| flow(seen(), (drawn, 3), (Path::new("x/000-a.pcapng"), is_whole), "");
    let notes = of(8, true).notes;
    assert_eq!(notes, ["The figure has the first 7 packets; 000-a.pcapng has all of them."]);
    assert!(of(10, true).notes.is_empty());
    let packets = vec![(String::new(), String::new()); 9];
    let all = |is_whole| {
        flow(ConnectionView { packets: packets.clone(), ..seen() }, (10, 9), (Path::new("a.pcapng"), is_whole), "")
            .are_all
    };
    assert!(all(true) && !all(false) && !of(10, true).are_all);
}

#[test]
fn captures_in_which_nothing_is_found_are_told_of_with_what_helps() {
    let flow = nothing("loss 1 %");
    assert_eq!(flow.place, "loss 1 %");
    assert!(flow.notes.iter().any(|note| note.contains("`--pcap=ip`")), "{:?}", flow.notes);
}
