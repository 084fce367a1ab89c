//! The checker finds what it is there to find: a right exchange passes, and each wrong segment in it is named.

use std::sync::Arc;

use kumiki_graph::{Duration, Instant};
use kumiki_octets::{Message, Pattern};
use kumiki_wire::inet::tcp::{Flags, Header, Options, SackBlock, SackBlocks, Seq};

use super::Checker;
use crate::case::{Case, Transport, Version};
use crate::tap::TappedSegment;
use crate::user::Facts;

const OWN: u32 = 1_000;
const PEER: u32 = u32::MAX - 3;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

struct Bench {
    checker: Checker,
    /// Which of the two ends is judged.
    end: usize,
    /// Octets of the peer's that the last acknowledgment was for.
    acked: u32,
    /// Text bears timestamps, in milliseconds.
    timestamps: bool,
}

impl Bench {
    /// The near end, connected: it may send 3000 octets and offers 4000; 10,000 are written.
    fn new() -> Self {
        Self::with(10_000)
    }

    fn with(written: u64) -> Self {
        Self::of(written, Options::NONE)
    }

    /// Windows count in units of 8 octets: 32,000 are offered.
    fn scaled() -> Self {
        let window_scale = Some(3);
        Self::of(10_000, Options { window_scale, ..Options::NONE })
    }

    /// RACK with tail loss probes.
    fn rack() -> Self {
        Self::of(10_000, Options { sack_permitted: true, ..Options::NONE })
    }

    /// With `offered` by both SYNs; a tail is probed where it has SACK.
    fn of(written: u64, offered: Options) -> Self {
        let mut end = Case::of(Transport::Tcp, 0).ends[0].clone();
        end.tcp = kumiki_inet::tcp::defaults::modern();
        end.tcp.tail_loss_probe = offered.sack_permitted;
        end.mtu = 1500;
        let facts = Arc::new(Facts::default());
        let mut bench = Self {
            checker: Checker::new(0, (Version::Four, &end), Pattern::Counter, &facts),
            end: 0,
            acked: 0,
            timestamps: offered.timestamps.is_some(),
        };
        let syn = Options { mss: Some(1000), ..offered };
        bench.sent(0, header(Flags::SYN, OWN, 0, 4000, syn), 0);
        let answer = header(Flags::SYN | Flags::ACK, PEER, OWN + 1, 3000, syn);
        bench.arrived(10, answer, 0);
        facts.open(at(10), written);
        bench.ack(10, 0, 4000);
        bench
    }

    fn sent(&mut self, ms: u64, header: Header, text: usize) {
        let offset = u64::from(header.seq.0.wrapping_sub(OWN + 1));
        self.checker.sent(at(ms), &seen(self.end, header, offset, text));
    }

    fn arrived(&mut self, ms: u64, header: Header, text: usize) {
        self.checker.arrived(at(ms), &seen(1 - self.end, header, 0, text));
    }

    /// An acknowledgment of `octets`.
    fn ack(&mut self, ms: u64, octets: u32, window: u16) {
        self.acked = octets;
        let ack = PEER.wrapping_add(1 + octets);
        let header = header(Flags::ACK, OWN + 1, ack, window, self.options(ms));
        self.sent(ms, header, 0);
    }

    fn options(&self, ms: u64) -> Options {
        let value = u32::try_from(ms).expect("a test takes no month");
        Options { timestamps: self.timestamps.then_some((value, 1)), ..Options::NONE }
    }

    /// An acknowledgment of `acked` octets of ours, with TSecr `echo` and a SACK block from the first to the second of
    /// `sack`.
    fn echo(&mut self, ms: u64, acked: u32, echo: u32, sack: Option<(u32, u32)>) {
        let mut options = Options { timestamps: Some((1, echo)), ..Options::NONE };
        if let Some((left, right)) = sack {
            options.sack =
                SackBlocks::from_slice(&[SackBlock { left: Seq(OWN + 1 + left), right: Seq(OWN + 1 + right) }]);
        }
        let seq = PEER.wrapping_add(1);
        let header = header(Flags::ACK, seq, OWN + 1 + acked, 3000, options);
        self.arrived(ms, header, 0);
    }

    /// Octets `from` and following of ours.
    fn text(&mut self, ms: u64, from: u32, octets: usize) {
        let ack = PEER.wrapping_add(1 + self.acked);
        let header = header(Flags::ACK, OWN + 1 + from, ack, 4000, self.options(ms));
        self.sent(ms, header, octets);
    }

    /// Octets `from` and following of the peer's, which acknowledges `acked` of ours.
    fn peer(&mut self, ms: u64, (from, octets): (u32, usize), acked: u32) {
        let seq = PEER.wrapping_add(1 + from);
        let header = header(Flags::ACK, seq, OWN + 1 + acked, 3000, Options::NONE);
        self.arrived(ms, header, octets);
    }

    /// The rule that was broken, a second after `ms`.
    fn rule(mut self, ms: u64) -> Option<(u64, &'static str)> {
        self.checker.at_last(at(ms));
        let violation = self.checker.violation()?;
        Some((violation.at.as_nanos() / 1_000_000, violation.rule))
    }
}

fn header(flags: Flags, seq: u32, ack: u32, window: u16, options: Options) -> Header {
    Header { flags, seq: Seq(seq), ack: Seq(ack), window, options, ..Header::default() }
}

fn seen(from: usize, header: Header, offset: u64, text: usize) -> TappedSegment {
    TappedSegment {
        source: Version::Four.address(from),
        destination: Version::Four.address(1 - from),
        datagram: 20 + header.len() + text,
        header,
        text: Message::generated(Pattern::Counter, offset, text),
    }
}

#[test]
fn a_right_exchange_passes() {
    let mut bench = Bench::new();
    bench.text(20, 0, 1000);
    bench.text(20, 1000, 1000);
    bench.peer(30, (0, 500), 2000);
    bench.ack(100, 500, 3500);
    bench.text(101, 2000, 1000);
    bench.text(301, 2000, 1000);
    bench.peer(310, (0, 0), 3000);
    assert_eq!(bench.rule(400), None);
}

#[test]
fn octets_beyond_the_window_and_above_the_mss_are_named() {
    let mut bench = Bench::new();
    bench.text(20, 0, 1001);
    assert_eq!(bench.rule(20), Some((20, "too long")));
    let mut bench = Bench::new();
    for from in [0, 1000, 2000, 3000] {
        bench.text(20, from, 1000);
    }
    assert_eq!(bench.rule(20), Some((20, "window")));
    // One octet there is a probe.
    let mut bench = Bench::new();
    for from in [0, 1000, 2000] {
        bench.text(20, from, 1000);
    }
    bench.text(20, 3000, 1);
    assert_eq!(bench.rule(20), None);
}

#[test]
fn new_octets_beyond_a_window_that_has_shrunk_are_named_and_old_ones_are_not() {
    let shrunk = || {
        let mut bench = Bench::new();
        bench.text(20, 0, 1000);
        bench.text(20, 1000, 1000);
        // The window had ended at 3000, and ends at 1500 now.
        let ack = header(Flags::ACK, PEER.wrapping_add(1), OWN + 1, 1500, Options::NONE);
        bench.arrived(30, ack, 0);
        bench
    };
    let mut bench = shrunk();
    bench.text(100, 1000, 1000);
    bench.text(221, 0, 1000);
    assert_eq!(bench.rule(221), None);
    let mut bench = shrunk();
    bench.text(40, 2000, 10);
    assert_eq!(bench.rule(40), Some((40, "window")));
    // In the instant in which it shrinks the end may not know.
    let mut bench = shrunk();
    bench.text(30, 2000, 10);
    assert_eq!(bench.rule(30), None);
}

#[test]
fn a_syn_that_comes_again_moves_no_edge() {
    let mut bench = Bench::new();
    for from in [0, 1000, 2000] {
        bench.text(20, from, 1000);
    }
    bench.peer(30, (0, 0), 1000);
    let again = header(Flags::SYN | Flags::ACK, PEER, OWN + 1, 3000, Options::NONE);
    bench.arrived(31, again, 0);
    bench.text(32, 3000, 1000);
    assert_eq!(bench.rule(32), None);
}

#[test]
fn what_a_window_shrank_away_from_is_no_probe() {
    // The round trip took 10 ms. One octet is in flight when the window closes over it, and is retransmitted: after
    // that the next one is due in two time-outs, for nobody knows which copy was acknowledged.
    let mut bench = Bench::new();
    bench.text(20, 0, 1);
    let closed = header(Flags::ACK, PEER.wrapping_add(1), OWN + 1, 0, Options::NONE);
    bench.arrived(30, closed, 0);
    bench.text(221, 0, 1);
    bench.peer(231, (0, 0), 1);
    bench.text(231, 1, 1000);
    assert_eq!(bench.rule(900), Some((632, "stall")));
}

#[test]
fn octets_that_nobody_wrote_and_wrong_ones_are_named() {
    let mut bench = Bench::new();
    let ack = PEER.wrapping_add(1);
    let wrong = header(Flags::ACK, OWN + 1, ack, 4000, Options::NONE);
    bench.checker.sent(at(20), &seen(0, wrong, 1, 10));
    assert_eq!(bench.rule(20), Some((20, "content")));
    let mut bench = Bench::new();
    bench.text(20, 5, 10);
    assert_eq!(bench.rule(20), Some((20, "sequence")), "a hole");
}

#[test]
fn acknowledgments_of_what_has_not_come_or_of_less_than_before_are_named() {
    let mut bench = Bench::new();
    bench.ack(20, 1, 4000);
    assert_eq!(bench.rule(20), Some((20, "acknowledgment")));
    let mut bench = Bench::new();
    bench.peer(20, (0, 100), 0);
    bench.ack(20, 100, 4000);
    bench.ack(21, 0, 4000);
    assert_eq!(bench.rule(21), Some((21, "acknowledgment")));
    // What is ahead of a hole has not come in order.
    let mut bench = Bench::new();
    bench.peer(20, (100, 100), 0);
    bench.ack(20, 200, 4000);
    assert_eq!(bench.rule(20), Some((20, "acknowledgment")));
}

#[test]
fn a_window_that_moves_back_is_named() {
    let mut bench = Bench::new();
    bench.peer(20, (0, 100), 0);
    bench.ack(20, 100, 3900);
    bench.ack(21, 100, 3899);
    assert_eq!(bench.rule(21), Some((21, "window")));
}

#[test]
fn text_that_nobody_answers_is_named_after_half_a_second() {
    let mut bench = Bench::with(0);
    bench.peer(20, (0, 100), 0);
    bench.ack(300, 0, 4000);
    assert_eq!(bench.rule(600), Some((520, "no answer")));
}

#[test]
fn an_answer_to_earlier_text_is_one_though_more_has_come_by_then() {
    let mut bench = Bench::with(0);
    bench.peer(20, (0, 100), 0);
    bench.peer(400, (100, 100), 0);
    bench.ack(400, 100, 4000);
    assert_eq!(bench.rule(890), None);
    let mut bench = Bench::with(0);
    bench.peer(20, (0, 100), 0);
    bench.peer(400, (100, 100), 0);
    bench.ack(400, 100, 4000);
    assert_eq!(bench.rule(910), Some((900, "no answer")));
}

#[test]
fn what_is_not_sent_again_in_time_is_named_and_back_off_is_borne() {
    // The round trip took 10 ms, so that RTO is its minimum of 200 ms.
    let mut bench = Bench::new();
    bench.text(20, 0, 1000);
    assert_eq!(bench.rule(300), Some((221, "stall")));
    let mut bench = Bench::new();
    for ms in [20, 220, 620, 1420] {
        bench.text(ms, 0, 1000);
    }
    assert_eq!(bench.rule(3_000), None);
    let mut bench = Bench::new();
    for ms in [20, 220, 621, 1_422, 3_100] {
        bench.text(ms, 0, 1000);
    }
    assert_eq!(bench.rule(3_100), Some((3_023, "stall")));
    // Another segment in between is no help for the first.
    let mut bench = Bench::new();
    bench.text(20, 0, 1000);
    bench.text(150, 1000, 1000);
    assert_eq!(bench.rule(300), Some((221, "stall")));
}

/// RFC 7323 section 5.3: an acknowledgment that was lost is repeated with the same TSecr, which is no round trip then.
#[test]
fn an_echo_of_what_was_sent_before_the_last_copy_is_no_measure() {
    let timed = Options { sack_permitted: true, timestamps: Some((1, 1)), ..Options::NONE };
    let rule = |reported: Option<(u32, u32)>, echo| {
        let mut bench = Bench::of(10_000, timed);
        bench.text(20, 0, 900);
        bench.text(20, 900, 900);
        bench.text(30, 900, 900);
        bench.echo(40, 0, 1, reported);
        bench.text(230, 0, 900);
        bench.text(630, 0, 900);
        bench.echo(640, 1800, echo, None);
        bench.text(640, 1800, 900);
        bench.rule(5000)
    };
    // With 410 ms as a sample RTO is 479.5 ms; where it is none for sure, four times that.
    assert_eq!(rule(None, 230), Some((1120, "stall")));
    let second = Some((900, 1800));
    assert_eq!(rule(second, 230), Some((2559, "stall")));
    // The last copy is one.
    assert_eq!(rule(second, 630), Some((841, "stall")));
}

/// RFC 6298 section 3: of what may have been sent twice no round trip is known, and RTO is its initial value, or 3 s.
#[test]
fn the_answer_to_a_syn_that_came_twice_is_no_measure() {
    for (syns, expected) in [(1, 1_000), (2, 3_000)] {
        let mut end = Case::of(Transport::Tcp, 0).ends[1].clone();
        end.tcp = kumiki_inet::tcp::defaults::modern();
        end.tcp.tail_loss_probe = false;
        end.tcp.rto.minimum = Duration::from_secs(1);
        end.mtu = 1500;
        end.strangers = None;
        let facts = Arc::new(Facts::default());
        let mut bench = Bench {
            checker: Checker::new(1, (Version::Four, &end), Pattern::Counter, &facts),
            end: 1,
            acked: 0,
            timestamps: false,
        };
        assert!(bench.checker.passive && !bench.checker.bounds.cookies);
        let syn = Options { mss: Some(1000), ..Options::NONE };
        // The answer to the first is lost before it comes by here.
        for n in 0..syns {
            let call = header(Flags::SYN, PEER, 0, 3000, syn);
            bench.arrived(1_000 * n, call, 0);
        }
        let began = 1_000 * (syns - 1);
        let answer = header(Flags::SYN | Flags::ACK, OWN, PEER.wrapping_add(1), 4000, syn);
        bench.sent(began, answer, 0);
        bench.peer(began + 10, (0, 0), 0);
        facts.open(at(began + 10), 10_000);
        bench.text(began + 20, 0, 1000);
        let broken = bench.rule(began + 10_000);
        assert_eq!(broken, Some((began + 20 + expected + 1, "stall")));
    }
}

#[test]
fn an_acknowledgment_beyond_what_a_scaled_window_could_say_may_count_or_not() {
    // The peer has sent all that there is room for, and none of it arrived.
    let acknowledged = |from| {
        let mut bench = Bench::scaled();
        bench.text(20, 0, 1000);
        bench.peer(30, (from, 0), 1000);
        bench
    };
    assert_eq!(acknowledged(31_999).rule(900), Some((231, "stall")), "the rest waits");
    assert_eq!(acknowledged(32_000).rule(900), None);
    assert_eq!(acknowledged(32_006).rule(900), None);
    assert_eq!(acknowledged(32_007).rule(900), Some((221, "stall")));
    // One that is retransmitted all the same has not counted, and the timer is backed off.
    let mut bench = acknowledged(32_000);
    bench.text(220, 0, 1000);
    bench.peer(230, (0, 0), 1000);
    bench.text(230, 1000, 1000);
    assert_eq!(bench.rule(900), Some((631, "stall")));
    // What it does not acknowledge is due.
    let mut bench = Bench::scaled();
    bench.text(20, 0, 1000);
    bench.text(20, 1000, 1000);
    bench.peer(30, (32_000, 0), 1000);
    assert_eq!(bench.rule(900), Some((231, "stall")));
}

#[test]
fn a_probe_of_the_tail_puts_the_head_off_once() {
    // New data is taken for the probe as long as it is no later than the timer; from there it is one RTO more.
    let mut bench = Bench::rack();
    bench.text(20, 0, 1000);
    bench.text(150, 1000, 10);
    bench.text(220, 1010, 10);
    bench.text(300, 1020, 10);
    bench.text(400, 1030, 10);
    assert_eq!(bench.rule(500), Some((421, "stall")));
    // What is retransmitted starts the timer again.
    let mut bench = Bench::rack();
    bench.text(20, 0, 1000);
    bench.text(20, 1000, 1000);
    bench.text(100, 1000, 1000);
    assert_eq!(bench.rule(500), Some((301, "stall")));
}

#[test]
fn once_nothing_sent_since_a_time_out_is_on_the_way_the_rest_follows() {
    let two = |bench: &mut Bench| {
        bench.text(20, 0, 1000);
        bench.text(20, 1000, 1000);
        bench.text(221, 0, 1000);
        bench.peer(231, (0, 0), 1000);
    };
    // Twice the round trip of 10 ms is for pacing and reordering.
    let mut bench = Bench::new();
    two(&mut bench);
    assert_eq!(bench.rule(300), Some((252, "clock")));
    let mut bench = Bench::new();
    two(&mut bench);
    bench.text(231, 1000, 1000);
    bench.peer(241, (0, 0), 2000);
    bench.text(241, 2000, 1000);
    assert_eq!(bench.rule(300), None);
    // F-RTO sends new data, and once its duplicate comes what was lost.
    let mut bench = Bench::new();
    two(&mut bench);
    bench.text(231, 2000, 1000);
    bench.peer(241, (0, 0), 1000);
    assert_eq!(bench.rule(300), Some((262, "clock")));
    // As long as something is on the way nobody needs to send.
    let mut bench = Bench::new();
    two(&mut bench);
    bench.text(231, 2000, 1000);
    assert_eq!(bench.rule(400), None);
}

#[test]
fn the_first_probe_of_a_closed_window_comes_after_the_time_out_and_each_takes_twice_as_long() {
    let closed = || {
        let mut bench = Bench::new();
        bench.text(20, 0, 1000);
        let closed = header(Flags::ACK, PEER.wrapping_add(1), OWN + 1001, 0, Options::NONE);
        bench.arrived(30, closed, 0);
        bench
    };
    assert_eq!(closed().rule(500), Some((231, "stall")));
    let mut bench = closed();
    bench.text(230, 1000, 1);
    bench.text(630, 1000, 1);
    assert_eq!(bench.rule(1_400), None);
    let mut bench = closed();
    bench.text(230, 1000, 1);
    bench.text(630, 1000, 1);
    assert_eq!(bench.rule(1_500), Some((1_431, "stall")));
}

/// RFC 6298 section 3 forbids a sample of what was retransmitted, which these octets were not.
#[test]
fn what_goes_for_the_first_time_with_what_goes_again_may_be_a_sample() {
    let rule = |octets: u16| {
        let mut bench = Bench::new();
        bench.text(20, 0, 500);
        bench.text(220, 0, octets.into());
        bench.peer(620, (0, 0), octets.into());
        bench.text(620, octets.into(), 500);
        bench.rule(2000)
    };
    // RTO is 200 ms, backed off once.
    assert_eq!(rule(500), Some((1021, "stall")));
    // After a sample of 400 ms SRTT is 58.75 ms and RTTVAR 101.25 ms.
    assert_eq!(rule(1000), Some((1548, "stall")));
}

#[test]
fn what_waits_with_nothing_under_way_is_sent() {
    let bench = Bench::new();
    // The override time-out of 200 ms after the handshake.
    assert_eq!(bench.rule(300), Some((211, "stall")));
}

#[test]
fn what_marks_hold_back_waits_for_the_timer_as_it_was_when_they_were_told_of() {
    let rule = |marks| {
        let mut bench = Bench::new();
        bench.checker.bounds.ecn = marks;
        // The timer has come to 800 ms when the first acknowledgment comes, and the last one is a sample.
        for ms in [20, 220, 620] {
            bench.text(ms, 0, 1000);
        }
        bench.peer(630, (0, 0), 1000);
        bench.text(630, 1000, 1000);
        bench.peer(640, (0, 0), 2000);
        bench.rule(2000)
    };
    assert_eq!(rule(false), Some((841, "stall")));
    assert_eq!(rule(true), Some((1441, "stall")));
}

/// RFC 3168 section 6.1.2: where the window is a single segment.
#[test]
fn a_mark_starts_the_timer_of_what_is_under_way_again() {
    let rule = |marks, last| {
        let mut bench = Bench::new();
        bench.checker.bounds.ecn = marks;
        bench.text(20, 0, 1000);
        bench.text(20, 1000, 1000);
        for ms in [100, last] {
            bench.peer(ms, (0, 0), 0);
        }
        bench.rule(2000)
    };
    assert_eq!(rule(false, 200), Some((221, "stall")));
    // Either may have told of one.
    assert_eq!(rule(true, 200), Some((401, "stall")));
    // This one is too late, and the second of the same window of data.
    assert_eq!(rule(true, 250), Some((301, "stall")));
}

/// An octet that went in the instant in which the window shut may have gone before that: then it is no probe, and a
/// measure.
#[test]
fn what_was_sent_while_the_window_shut_may_have_been_measured() {
    let rule = |shut| {
        let mut bench = Bench::new();
        let told = |octets, window| header(Flags::ACK, PEER.wrapping_add(1), OWN + 1 + octets, window, Options::NONE);
        bench.text(20, 0, 1000);
        bench.arrived(28, told(1000, 1), 0);
        bench.arrived(shut, told(1000, 0), 0);
        bench.text(30, 1000, 1);
        bench.arrived(230, told(1001, 0), 0);
        bench.rule(3000)
    };
    assert_eq!(rule(29), Some((631, "stall")));
    // After 10, 8 and 200 ms SRTT is 34 ms and RTTVAR 51 ms.
    assert_eq!(rule(30), Some((704, "stall")));
}

/// The octet of a probe of our closed window has not been taken where a segment tells so.
#[test]
fn the_octet_of_a_probe_that_was_not_taken_is_none_that_came() {
    let answered = |window| {
        let mut bench = Bench::new();
        let own = |octets: u32| header(Flags::ACK, OWN + 1 + octets, PEER.wrapping_add(4001), 0, Options::NONE);
        bench.peer(20, (0, 4000), 0);
        bench.sent(20, own(0), 0);
        bench.peer(25, (4000, 1), 0);
        bench.sent(25, own(0), 0);
        bench.sent(30, own(0), 1000);
        bench.arrived(40, header(Flags::ACK, PEER.wrapping_add(4001), OWN + 1001, window, Options::NONE), 0);
        (bench, own(1000))
    };
    // The acknowledgment counts, for what waits as well.
    assert_eq!(answered(3000).0.rule(300), Some((241, "stall")));
    let (mut bench, own) = answered(0);
    bench.sent(240, own, 1);
    bench.sent(640, own, 1);
    assert_eq!(bench.rule(1_500), Some((1_441, "stall")));
}

/// RFC 9293 section 3.10.7.4: an old acknowledgment is ignored, and the text with it is not.
#[test]
fn text_with_an_old_acknowledgment_counts() {
    let late = |answered: bool| {
        let mut bench = Bench::new();
        bench.checker.bounds.overrides = Duration::from_millis(100);
        bench.text(20, 0, 1000);
        bench.peer(30, (0, 0), 1000);
        bench.text(30, 1000, 1000);
        bench.peer(40, (0, 100), 0);
        if answered {
            // This one is old by its sequence number, and its acknowledgment does not count.
            bench.peer(50, (0, 0), 2000);
            bench.ack(60, 100, 4000);
        }
        bench
    };
    let mut bench = late(true);
    bench.text(230, 1000, 1000);
    bench.peer(240, (100, 0), 2000);
    bench.text(240, 2000, 1000);
    assert_eq!(bench.rule(300), None);
    assert_eq!(late(true).rule(300), Some((231, "stall")));
    let mut bench = late(false);
    bench.peer(50, (100, 0), 2000);
    bench.checker.bounds.overrides = Duration::from_secs(2);
    assert_eq!(bench.rule(600), Some((540, "no answer")));
    // RFC 5961 section 5.2: not where it is older than any window.
    let mut bench = Bench::new();
    for n in 0..4_u32 {
        let ms = 20 + u64::from(n) * 20;
        bench.text(ms, 1000 * n, 1000);
        bench.peer(ms + 10, (0, 0), 1000 * (n + 1));
    }
    bench.peer(95, (0, 100), 0);
    bench.checker.bounds.overrides = Duration::from_secs(2);
    assert_eq!(bench.rule(600), None);
}

/// RFC 6298 section 3 takes what was sent once for a measure, and SACK tells when it came.
#[test]
fn what_is_reported_may_have_been_measured() {
    let timed = Options { sack_permitted: true, timestamps: Some((1, 1)), ..Options::NONE };
    let mut bench = Bench::of(10_000, timed);
    bench.text(20, 0, 900);
    bench.text(20, 900, 900);
    bench.echo(215, 0, 0, Some((900, 1800)));
    bench.text(215, 0, 900);
    bench.echo(225, 1800, 0, None);
    bench.text(230, 1800, 900);
    // With 195 ms SRTT is 33 ms and RTTVAR 50 ms.
    assert_eq!(bench.rule(900), Some((467, "stall")));
}

#[test]
fn what_was_probed_waits_for_a_new_probe_once_the_window_shuts_again() {
    let window = |bench: &mut Bench, ms, window| {
        bench.arrived(ms, header(Flags::ACK, PEER.wrapping_add(1), OWN + 1001, window, Options::NONE), 0);
    };
    let mut bench = Bench::new();
    bench.text(20, 0, 1000);
    window(&mut bench, 30, 0);
    bench.text(230, 1000, 1);
    // It opens by less than is worth while, for less than the override time-out.
    window(&mut bench, 250, 1);
    window(&mut bench, 400, 0);
    assert_eq!(bench.rule(700), Some((601, "stall")));
}

/// RFC 7323 section 4.1: where SYNs cross, and each is answered by a SYN,ACK, a timestamp tells that the first was.
#[test]
fn the_answer_to_a_syn_that_crossed_another_may_be_a_measure() {
    let mut end = Case::of(Transport::Tcp, 0).ends[0].clone();
    end.tcp = kumiki_inet::tcp::defaults::modern();
    end.tcp.tail_loss_probe = false;
    end.mtu = 1500;
    let facts = Arc::new(Facts::default());
    let checker = Checker::new(0, (Version::Four, &end), Pattern::Counter, &facts);
    let mut bench = Bench { checker, end: 0, acked: 0, timestamps: true };
    let timed = |value, echo| Options { mss: Some(1000), timestamps: Some((value, echo)), ..Options::NONE };
    bench.sent(0, header(Flags::SYN, OWN, 0, 4000, timed(1, 0)), 0);
    bench.arrived(800, header(Flags::SYN, PEER, 0, 3000, timed(1, 0)), 0);
    bench.arrived(800, header(Flags::SYN | Flags::ACK, PEER, OWN + 1, 3000, timed(1, 1)), 0);
    bench.sent(800, header(Flags::SYN | Flags::ACK, OWN, PEER.wrapping_add(1), 4000, timed(801, 1)), 0);
    facts.open(at(800), 10_000);
    bench.text(810, 0, 900);
    bench.echo(820, 900, 810, None);
    bench.text(820, 900, 900);
    // SRTT is 702 ms and RTTVAR 498 ms then.
    assert_eq!(bench.rule(9_000), Some((3_516, "stall")));
}

/// RFC 9293 section 3.5: an old SYN is answered, and the answer to that refuses it.
#[test]
fn who_listens_on_may_answer_an_old_syn_once_the_connection_is_over() {
    for (over, iss) in [(false, OWN + 70_000), (true, OWN + 70_000), (true, OWN)] {
        let mut end = Case::of(Transport::Tcp, 0).ends[1].clone();
        end.tcp = kumiki_inet::tcp::defaults::modern();
        end.mtu = 1500;
        let facts = Arc::new(Facts::default());
        let checker = Checker::new(1, (Version::Four, &end), Pattern::Counter, &facts);
        let mut bench = Bench { checker, end: 1, acked: 0, timestamps: false };
        let syn = Options { mss: Some(1000), ..Options::NONE };
        bench.arrived(0, header(Flags::SYN, PEER, 0, 3000, syn), 0);
        bench.sent(0, header(Flags::SYN | Flags::ACK, OWN, PEER.wrapping_add(1), 4000, syn), 0);
        bench.peer(10, (0, 100), 0);
        facts.open(at(10), 0);
        bench.ack(10, 100, 4000);
        if over {
            facts.end();
        }
        bench.arrived(50, header(Flags::SYN, PEER, 0, 3000, syn), 0);
        bench.sent(50, header(Flags::SYN | Flags::ACK, iss, PEER.wrapping_add(1), 4000, syn), 0);
        let expected = if over { None } else { Some((50, "second connection")) };
        assert_eq!(bench.rule(60), expected);
    }
}

/// RFC 9293 section 3.10.7.4: what came ahead of its turn may be kept or thrown away (MAY-13), and so RCV.NXT be behind
/// it or not once the gap is filled.
#[test]
fn what_follows_a_gap_that_is_filled_may_be_in_its_place_or_not() {
    let filled = |ahead| {
        let mut bench = Bench::new();
        bench.checker.bounds.overrides = Duration::from_millis(100);
        bench.peer(20, (100, ahead), 0);
        bench.text(30, 0, 1000);
        bench.peer(40, (0, 100), 0);
        bench
    };
    // It is at the edge of the window if all was kept.
    let mut bench = filled(3900);
    bench.peer(40, (4000, 0), 1000);
    bench.ack(50, 4000, 4000);
    assert_eq!(bench.rule(300), None);
    // Some of it is missing still, and the edge has moved with an answer that is seen later.
    let mut bench = filled(3900);
    bench.peer(40, (4050, 0), 1000);
    bench.ack(40, 100, 4000);
    bench.ack(50, 4000, 4000);
    assert_eq!(bench.rule(300), None);
    // It is old if that was kept.
    let mut bench = filled(100);
    bench.peer(40, (100, 0), 1000);
    bench.ack(50, 200, 4000);
    bench.text(230, 0, 1000);
    assert_eq!(bench.rule(300), None);
}

/// A SYN that comes twice, what follows it, and the end of the connection: all in one instant, and the answers after
/// that.
#[test]
fn an_answer_to_a_syn_may_be_older_than_the_end_of_the_connection() {
    let mut end = Case::of(Transport::Tcp, 0).ends[1].clone();
    end.tcp = kumiki_inet::tcp::defaults::modern();
    end.mtu = 1500;
    let facts = Arc::new(Facts::default());
    let checker = Checker::new(1, (Version::Four, &end), Pattern::Counter, &facts);
    let mut bench = Bench { checker, end: 1, acked: 0, timestamps: false };
    let syn = Options { mss: Some(1000), ..Options::NONE };
    let answer = header(Flags::SYN | Flags::ACK, OWN, PEER.wrapping_add(1), 4000, syn);
    bench.arrived(0, header(Flags::SYN, PEER, 0, 3000, syn), 0);
    bench.sent(0, answer, 0);
    bench.arrived(10, header(Flags::SYN, PEER, 0, 3000, syn), 0);
    bench.peer(10, (0, 100), 0);
    facts.open(at(10), 0);
    facts.end();
    bench.sent(10, answer, 0);
    bench.ack(10, 100, 4000);
    assert_eq!(bench.rule(10), None);
}

#[test]
fn a_call_that_was_reset_owes_nothing_though_an_answer_of_that_instant_follows() {
    let mut end = Case::of(Transport::Tcp, 0).ends[1].clone();
    end.tcp = kumiki_inet::tcp::defaults::modern();
    end.mtu = 1500;
    let facts = Arc::new(Facts::default());
    let checker = Checker::new(1, (Version::Four, &end), Pattern::Counter, &facts);
    let mut bench = Bench { checker, end: 1, acked: 0, timestamps: false };
    let syn = Options { mss: Some(1000), ..Options::NONE };
    bench.arrived(0, header(Flags::SYN, PEER, 0, 3000, syn), 0);
    bench.sent(0, header(Flags::SYN | Flags::ACK, OWN, PEER.wrapping_add(1), 4000, syn), 0);
    bench.peer(10, (0, 100), 0);
    bench.peer(10, (100, 100), 0);
    bench.arrived(10, header(Flags::RST, PEER.wrapping_add(201), 0, 0, Options::NONE), 0);
    bench.ack(10, 100, 4000);
    assert_eq!(bench.rule(900), None);
}
