//! Losses, reordering, duplicates: go-back-N and selective repeat, FASTNAK, NOERR, the synchronizing handshake.

use kumiki_graph::*;
use kumiki_wire::xtp::{Format, Options, Span};

use super::pair::*;
use crate::{Config, Recovery, congestion};

/// The wire loses the packets of data from A whose numbers are in `lost`, each once.
fn losing(pair: &mut Pair, lost: &[usize]) {
    let mut lost = lost.to_vec();
    let mut count = 0;
    pair.rule(move |packet| {
        if packet.from == A && packet.is(Format::Data) {
            count += 1;
            if let Some(at) = lost.iter().position(|it| *it == count) {
                lost.remove(at);
                return vec![];
            }
        }
        vec![ms(10)]
    });
}

fn sent_again(pair: &Pair) -> Vec<u64> {
    let data = pair.log.iter().filter(|it| it.is(Format::Data));
    let mut seen = Vec::new();
    let mut again = Vec::new();
    for packet in data.filter(|it| it.from == A) {
        let seq = packet.header.seq;
        if seen.contains(&seq) {
            again.push(seq);
        }
        seen.push(seq);
    }
    again
}

#[test]
fn selective_repeat_sends_what_is_missing() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    losing(&mut pair, &[3, 5, 6]);
    pair.write(A, &numbered(10_000));
    pair.run_for(ms(2000));
    assert_eq!(pair.app(B).received, numbered(10_000));
    assert_eq!(sent_again(&pair), [2000, 4000, 5000]);
    let reports = pair.log.iter().filter(|it| it.is(Format::Ecntl));
    let spans = reports.map(|it| it.errors().spans).next().unwrap();
    let span = |left, right| Span { left, right };
    assert_eq!(spans, [span(3000, 4000), span(6000, 10_000)]);
    assert_eq!(pair.counters(A).retransmitted, 3);
    assert_eq!(pair.counters(A).handshakes, 0);
    assert_eq!(pair.counters(B).duplicates, 0);
}

#[test]
fn go_back_n_sends_all_from_the_first_that_is_missing() {
    let config = Config { recovery: Recovery::GoBack, ..plain() };
    let mut pair = Pair::new(config, plain(), ms(10)).connected();
    losing(&mut pair, &[3]);
    pair.write(A, &numbered(6000));
    pair.run_for(ms(2000));
    assert_eq!(pair.app(B).received, numbered(6000));
    // Of six packets two were known to have come, so three at most go back (P24); the first of them brings the others.
    assert_eq!(sent_again(&pair), [2000, 3000, 4000]);
    assert_eq!(pair.counters(B).duplicates, 2);
}

#[test]
fn a_lost_tail_is_found_without_a_timeout() {
    for first in 1..6 {
        let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
        losing(&mut pair, &(first..=5).collect::<Vec<_>>());
        let begun = pair.now;
        pair.write(A, &numbered(5000));
        while pair.app(B).received.len() < 5000 {
            pair.run_for(ms(1));
        }
        let took = pair.now.saturating_since(begun);
        // The question that follows the last packet, its answer, what was lost; unless the question was lost too.
        assert!(took <= ms(65), "{first} {took}\n{}", pair.tail());
        assert_eq!(pair.counters(A).handshakes, 0);
    }
}

#[test]
fn lost_questions_and_answers_are_made_up_for_by_the_handshake() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.rule(|packet| {
        let lost = packet.from == B || packet.has(Options::SREQ);
        if lost && packet.at < Instant::ZERO + ms(1500) { vec![] } else { vec![ms(10)] }
    });
    pair.write(A, &numbered(5000));
    pair.run_for(ms(3000));
    assert!(pair.app(B).received == numbered(5000), "{}", pair.tail());
    assert!(pair.counters(A).handshakes >= 1);
    let asked: Vec<_> = pair
        .log
        .iter()
        .filter(|it| it.from == A && it.is(Format::Cntl) && it.has(Options::SREQ))
        .map(|it| it.header.sync)
        .collect();
    assert!(asked.is_sorted_by(|a, b| a < b), "each has a number of its own");
}

#[test]
fn the_handshake_stops_data_until_it_is_answered() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.rule(|_| vec![]);
    pair.write(A, &numbered(1000));
    pair.run_for(ms(250));
    assert_eq!(pair.counters(A).handshakes, 1);
    pair.news();
    pair.write(A, &numbered(1000));
    pair.run_for(ms(100));
    assert_eq!(pair.news().len(), 0, "{}", pair.tail());
    pair.rule(|_| vec![ms(10)]);
    pair.run_for(ms(5000));
    assert_eq!(pair.app(B).received.len(), 2000);
}

#[test]
fn fastnak_reports_a_gap_without_being_asked() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(A).quality = Quality { error_control: Some(ErrorControl::Fast), ..Quality::default() };
    let mut pair = pair.connected();
    losing(&mut pair, &[2]);
    pair.news();
    let begun = pair.now;
    pair.write(A, &numbered(8000));
    pair.run_for(ms(40));
    let reports: Vec<_> = pair.log.iter().filter(|it| it.is(Format::Ecntl)).collect();
    assert_eq!(reports[0].at.saturating_since(begun), ms(10));
    assert!(pair.app(B).received.len() == 8000, "{}", pair.tail());
    assert!(pair.log.last().unwrap().has(Options::FASTNAK) || pair.log.last().unwrap().from == B);
}

#[test]
fn packets_that_overtake_others_are_no_losses() {
    let config = Config { reordering: 3, ..plain() };
    let mut pair = Pair::new(config, plain(), ms(10)).connected();
    // Every seventh packet is late by two others; they leave 1 ms apart.
    let mut count = 0;
    pair.rule(move |_| {
        count += 1;
        vec![if count % 7 == 0 { ms(13) } else { ms(10) }]
    });
    for _ in 0..60 {
        pair.write(A, &numbered(900));
        pair.run_for(ms(1));
    }
    pair.run_for(ms(1000));
    assert_eq!(pair.app(B).received.len(), 60 * 900);
    assert_eq!(pair.counters(A).retransmitted, 0, "{}", pair.tail());
}

#[test]
fn what_is_in_doubt_after_reordering_is_asked_about_and_not_waited_for() {
    let config = Config { reordering: 3, ..plain() };
    let mut pair = Pair::new(config, plain(), ms(10)).connected();
    losing(&mut pair, &[5]);
    let begun = pair.now;
    pair.write(A, &numbered(6000));
    while pair.app(B).received.len() < 6000 {
        pair.run_for(ms(1));
    }
    assert!(pair.now.saturating_since(begun) < ms(80), "{}", pair.tail());
    assert_eq!(pair.counters(A).handshakes, 0);
    assert_eq!(pair.counters(A).retransmitted, 1);
}

#[test]
fn without_error_control_what_is_lost_stays_lost() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(A).quality = Quality { error_control: Some(ErrorControl::None), ..Quality::default() };
    let mut pair = pair.connected();
    losing(&mut pair, &[2, 6, 7]);
    let tagged = |n: u8| {
        let data = kumiki_octets::Message::from_octets(&[n; 900]);
        (data, Some([n; 8]), true)
    };
    for n in 1..8 {
        pair.app(A).outbox.push_back(tagged(n));
    }
    pair.ask(A, vec![]);
    pair.release(A);
    pair.run_for(ms(1000));
    let tags: Vec<u8> = pair.app(B).tags.iter().map(|(_, tag)| tag[0]).collect();
    assert_eq!(tags, [1, 3, 4, 5], "what came, and what became of the others");
    assert_eq!(pair.counters(A).retransmitted, 0);
    assert_eq!(pair.counters(B).passed_over, 2700);
    assert_eq!(pair.heard(B), ["offered", "released"], "closing is reliable");
    pair.release(B);
    pair.run_for(ms(1000));
    assert_eq!(pair.heard(A)[1..], ["released", "closed"]);
    let mut said = pair.log.iter().filter(|it| it.from == A && !it.has(Options::END));
    assert!(said.all(|it| it.has(Options::NOERR)));
}

#[test]
fn without_checksums_headers_are_still_covered_and_nothing_is_read() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(A).quality = Quality { check: Some(false), ..Quality::default() };
    let mut pair = pair.connected();
    let before = (pair.summed(A), pair.summed(B));
    pair.write(A, &numbered(10_000));
    pair.run_for(ms(1000));
    assert_eq!(pair.app(B).received, numbered(10_000));
    assert_eq!((pair.summed(A), pair.summed(B)), before);
    // Keys, addresses and numbers are covered all the same (P30).
    let sent = pair.log.iter().filter(|it| it.from == A);
    assert!(sent.clone().any(|it| it.is(Format::First)) && sent.clone().any(|it| it.is(Format::Data)));
    for packet in sent {
        assert_eq!(packet.has(Options::NOCHECK), packet.is(Format::Data));
    }
    // The other direction is its own matter.
    pair.write(B, &numbered(10_000));
    pair.run_for(ms(1000));
    assert!(pair.summed(B) >= before.1 + 10_000 && pair.summed(A) >= before.0 + 10_000);
}

#[test]
fn octets_are_summed_once_though_they_are_sent_again() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    losing(&mut pair, &[2, 3]);
    let before = pair.summed(A);
    pair.write(A, &numbered(5000));
    pair.run_for(ms(1000));
    assert_eq!(pair.counters(A).retransmitted, 2);
    // What control packets carry is read too, by whoever gets them.
    let extra = pair.summed(A) - before - 5000;
    assert!(extra < 500, "{extra}");
}

#[test]
fn a_question_whose_answer_is_late_is_put_once_more_before_wtimer() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, &numbered(2000));
    pair.run_for(ms(500));
    let outage = pair.now + ms(20);
    pair.rule(move |packet| {
        // The data is lost, and the question behind it.
        let lost = packet.from == A && packet.at < outage;
        if lost { vec![] } else { vec![ms(10)] }
    });
    pair.write(A, &numbered(4000));
    pair.run_for(ms(180));
    let counters = pair.counters(A);
    assert_eq!((counters.repeated, counters.handshakes), (1, 0));
    assert_eq!(pair.app(B).received.len(), 6000, "{}", pair.tail());
}

#[test]
fn edge_makes_up_for_a_lost_question() {
    for edge in [true, false] {
        let config = Config { edge, ..plain() };
        let mut pair = Pair::new(config, plain(), ms(10)).connected();
        // Of the first packets each asks.
        pair.write(A, &numbered(2000));
        pair.run_for(ms(500));
        let mut lost = false;
        pair.rule(move |packet| {
            let asks = packet.is(Format::Data) && packet.has(Options::SREQ);
            if asks && !core::mem::replace(&mut lost, true) {
                return vec![];
            }
            vec![ms(10)]
        });
        pair.news();
        pair.write(A, &numbered(4000));
        pair.run_for(ms(10));
        let answers = pair.news().iter().filter(|it| it.from == B).count();
        assert_eq!(answers, usize::from(edge), "{}", pair.tail());
    }
}

/// A wire of 1.68 Gb/s and 1.2 ms whose queue takes one packet beside the one that is being sent.
fn short_queue(pair: &mut Pair) {
    let mut free = [Instant::ZERO; 2];
    pair.rule(move |packet| {
        let octets = 20 + 32 + packet.payload.len() as u64;
        let takes = Duration::from_nanos(octets * 8 * 1_000 / 1680);
        let free = &mut free[packet.from];
        let begins = (*free).max(packet.at);
        if begins.saturating_since(packet.at) > takes {
            return vec![];
        }
        *free = begins + takes;
        let after = free.saturating_since(packet.at) + Duration::from_micros(1216);
        vec![after]
    });
}

/// A sender of 2,240 messages of so many octets: how many packets of data it takes.
fn packets_into_a_short_queue(message: usize, config: Config) -> u64 {
    let mut pair = Pair::new(plain(), config, ms(1)).connected();
    short_queue(&mut pair);
    let all = numbered(2240 * message);
    for piece in all.chunks(message) {
        let data = kumiki_octets::Message::from_octets(piece);
        pair.app(B).outbox.push_back((data, None, true));
    }
    pair.app(A).release_when_released = true;
    pair.app(B).release_when_sent = true;
    pair.ask(B, Vec::new());
    pair.run_for(ms(100_000));
    assert!(pair.app(A).received == all, "{}", pair.tail());
    assert_eq!(pair.heard(B).last().unwrap(), "closed");
    pair.counters(B).data_sent
}

#[test]
fn a_short_queue_does_not_make_packets_ever_smaller_and_more() {
    // 2,240 messages, each a packet of its own, and the buffer holds eleven, of which two arrive. Credit cuts some of
    // them in two.
    for recovery in [Recovery::GoBack, Recovery::Selective] {
        let packets = packets_into_a_short_queue(50, Config { send_buffer: 512, recovery, ..plain() });
        assert!(packets < 9 * 2240, "{recovery:?}: {packets}");
    }
}

#[test]
fn go_back_n_sends_no_whole_buffer_into_a_short_queue_in_each_round_trip() {
    for message in [50, 2] {
        let config = Config { send_buffer: 60_000, recovery: Recovery::GoBack, ..plain() };
        let packets = packets_into_a_short_queue(message, config);
        assert!(packets < 9 * 2240, "{message}: {packets}");
    }
}

/// Behind a gap a receiver keeps 128 packets of its window, however short they are; the congestion window is never less
/// than two of the largest packets, so of a thousand of these.
#[test]
fn of_tiny_packets_that_the_receiver_does_not_keep_few_are_out_again() {
    for recovery in [Recovery::Selective, Recovery::GoBack] {
        let config = Config { congestion: congestion::Kind::Matched, recovery, ..plain() };
        let mut pair = Pair::new(plain(), config, ms(1)).connected();
        let mut count = 0;
        pair.rule(move |packet| {
            count += u64::from(packet.is(Format::Data));
            if packet.is(Format::Data) && count % 50 == 0 { vec![] } else { vec![ms(100)] }
        });
        for piece in numbered(2000).chunks(1) {
            let data = kumiki_octets::Message::from_octets(piece);
            pair.app(B).outbox.push_back((data, None, true));
        }
        pair.ask(B, Vec::new());
        pair.run_for(ms(100_000));
        let came = pair.app(A).received.len();
        assert_eq!(came, 2000, "{}", pair.tail());
        let packets = pair.counters(B).data_sent;
        assert!(packets < 4 * 2000, "{recovery:?}: {packets}");
    }
}

/// As `docs/xtp.md`, P1: a packet has room for so few runs that most of what has come is not told.
#[test]
fn what_a_report_had_no_room_for_is_not_sent_again() {
    let narrow = Config {
        maxdata: Some(128),
        // For more pieces than this test has.
        receive_buffer: 1 << 20,
        ..plain()
    };
    let mut pair = Pair::new(plain(), narrow, ms(10)).connected();
    // Each fifth of the packets is lost: 60 runs, of which 6 are told.
    let lost: Vec<usize> = (1..=60).map(|n| 5 * n).collect();
    losing(&mut pair, &lost);
    pair.write(A, &numbered(38_400));
    pair.run_for(ms(5000));
    assert!(pair.app(B).received == numbered(38_400), "{}", pair.tail());
    let counted = pair.counters(A);
    assert!((60..90).contains(&counted.retransmitted), "{counted:?}");
}

/// The congestion window is never less than two packets: of those that the peer takes.
#[test]
fn a_window_is_of_packets_that_the_peer_takes() {
    let config = Config { congestion: congestion::Kind::Matched, ..plain() };
    let narrow = Config { maxdata: Some(128), ..plain() };
    let mut pair = Pair::new(config, narrow, ms(10)).connected();
    pair.news();
    pair.write(A, &numbered(20_000));
    // The first window goes at once: ten packets (RFC 6928).
    assert_eq!(pair.news().iter().filter(|it| it.is(Format::Data)).count(), 10);
    pair.run_for(ms(5000));
    assert!(pair.app(B).received == numbered(20_000), "{}", pair.tail());
}

/// Without flow control new data goes whatever the receiver allows; what it had no room for goes again one packet at a
/// time, and not while there is none.
#[test]
fn what_may_find_no_room_goes_again_one_packet_at_a_time() {
    for recovery in [Recovery::Selective, Recovery::GoBack] {
        let sender = Config { flow_control: FlowControl::None, recovery, ..plain() };
        let receiver = Config { receive_buffer: 100, ..plain() };
        let mut pair = Pair::with_rule(sender, receiver, |_| vec![ms(1)]).connected();
        pair.app(B).lazy = true;
        for piece in numbered(8000).chunks(100) {
            let data = kumiki_octets::Message::from_octets(piece);
            pair.app(A).outbox.push_back((data, None, true));
        }
        pair.ask(A, Vec::new());
        for _ in 0..80 {
            // It reads after many round trips, and is asked seldom until then.
            pair.run_for(ms(300));
            pair.take(B, 100);
        }
        pair.run_for(ms(1000));
        assert_eq!(pair.app(B).received, numbered(8000), "{recovery:?}");
        let sent = pair.counters(A).data_sent;
        assert!(sent < 80 * 4, "{recovery:?}: {sent}");
        // It goes again as soon as there is room.
        let (mut most, mut opened, mut soon) = (0, None, 0);
        for packet in &pair.log {
            if packet.from == B && packet.control().alloc > most {
                (most, opened) = (packet.control().alloc, Some(packet.at));
            } else if packet.is(Format::Data) && opened.take_if(|at| packet.at <= *at + ms(1)).is_some() {
                soon += 1;
            }
        }
        assert!(soon > 75, "{recovery:?}: {soon}\n{}", pair.tail());
    }
}

/// Without flow control a receiver that has no room is sent the same again, and ever more seldom.
#[test]
fn what_is_lost_again_and_again_waits_longer_and_longer() {
    let sender = Config { flow_control: FlowControl::None, ..plain() };
    let receiver = Config { receive_buffer: 3000, ..plain() };
    for recovery in [Recovery::Selective, Recovery::GoBack] {
        let sender = Config { recovery, ..sender.clone() };
        let mut pair = Pair::with_rule(sender, receiver.clone(), |_| vec![Duration::from_micros(50)]).connected();
        pair.app(B).lazy = true;
        pair.write(A, &numbered(3500));
        pair.run_for(ms(2000));
        let sent = pair.counters(A).data_sent;
        assert!(sent < 40, "{recovery:?}: {sent}");
        pair.app(B).lazy = false;
        pair.take(B, 3000);
        pair.run_for(ms(1000));
        assert_eq!(pair.app(B).received.len(), 3500, "{recovery:?}");
    }
}
