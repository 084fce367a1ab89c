//! One transmitter and many receivers.

use core::net::{Ipv4Addr, SocketAddr};

use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::xtp::{Format, Options};

use super::pair::*;
use crate::{Config, Recovery, congestion};

pub(super) const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);

pub(super) fn group(port: u16) -> Address {
    Address::from(SocketAddr::new(GROUP.into(), port))
}

/// Small buffers, and as many receivers as are said to be waited for.
pub(super) fn of_group(receivers: u32) -> Config {
    Config { min_receivers: receivers, ..plain() }
}

/// A transmitter, and so many hosts besides; what is sent arrives 10 ms later.
pub(super) fn hosts(config: &Config, receivers: usize) -> Pair {
    hosts_with(config, receivers, |_| vec![ms(10)])
}

pub(super) fn hosts_with(config: &Config, receivers: usize, rule: impl FnMut(&Packet) -> Fate + 'static) -> Pair {
    Pair::of_many(vec![config.clone(); receivers + 1], 1, Box::new(rule))
}

impl Pair {
    pub(super) fn listen_to_group(&mut self, host: usize) {
        let passive = Mode::Passive { backlog: 5 };
        self.ask(host, vec![open(passive, group(PORT), Address::NONE)]);
    }

    pub(super) fn call_group(&mut self, host: usize) {
        let Request::Open(mut call) = open(Mode::Active, Address::NONE, group(PORT)) else {
            return;
        };
        call.quality = self.app(host).quality;
        self.ask(host, vec![Request::Open(call)]);
    }

    /// Host 0 is to send `octets` and close; all others listen.
    pub(super) fn transmit(&mut self, octets: &[u8]) {
        self.app(0).release_when_sent = true;
        self.begin_to_transmit(octets);
    }

    /// Host 0 is to send `octets`; all others listen.
    pub(super) fn begin_to_transmit(&mut self, octets: &[u8]) {
        for host in 1..self.hosts.len() {
            self.listen_to_group(host);
        }
        let data = Message::from_octets(octets);
        self.app(0).outbox.push_back((data, None, true));
        self.call_group(0);
    }

    fn has_all(&mut self, host: usize, octets: &[u8]) {
        let tail = self.tail();
        assert!(self.app(host).received == octets, "{host}\n{tail}");
        let heard = self.heard(host);
        assert_eq!(heard.last().unwrap(), "closed", "{heard:?}\n{tail}");
    }

    fn has_closed(&mut self) -> Vec<String> {
        let (tail, heard) = (self.tail(), self.heard(0));
        assert_eq!(heard.last().unwrap(), "closed", "{heard:?}\n{tail}");
        heard
    }
}

fn left(who: usize, reason: Reason) -> String {
    format!("notice: Member(Left({:?}, {reason:?}))", ip(who))
}

#[test]
fn each_of_several_receivers_gets_every_octet() {
    for receivers in [1, 3, 20] {
        let mut pair = hosts(&of_group(receivers), receivers as usize);
        pair.transmit(&numbered(200_000));
        pair.run_for(ms(20_000));
        let tail = pair.tail();
        for host in 1..=receivers as usize {
            assert_eq!(pair.app(host).ends, [200_000]);
            let heard = pair.app(host).heard.clone();
            assert_eq!(heard, ["offered", "released", "closed"], "{tail}");
            pair.has_all(host, &numbered(200_000));
        }
        let heard = pair.has_closed();
        let joined = heard.iter().filter(|it| it.contains("Joined")).count();
        assert_eq!(joined, receivers as usize);
        assert_eq!(pair.counters(0).retransmitted, 0, "{tail}");
        assert!(pair.log.iter().all(|it| it.has(Options::MULTI)));
        let mut back = pair.log.iter().filter(|it| it.from != 0);
        assert!(back.all(|it| it.header.format.is_control()));
        assert!(pair.log.last().unwrap().has(Options::END));
        for host in 0..=receivers as usize {
            let counters = pair.counters(host);
            assert_eq!((counters.lies, counters.strays), (0, 0));
        }
        pair.run_for(ms(100_000));
        assert!(pair.members.iter().all(|it| it.0 != 0), "host 0 has left");
    }
}

#[test]
fn a_receiver_answers_by_jcntl_and_is_answered_by_jcntl() {
    let mut config = of_group(1);
    config.slot = Duration::ZERO;
    let mut pair = hosts(&config, 1);
    pair.transmit(b"all of it");
    pair.run_for(ms(1000));
    let expected = [
        "0.000 a FIRST MULTI,SREQ,RCLOSE 0+0",
        "0.010 b JCNTL MULTI,SREQ,WCLOSE 0 rseq 0 alloc 64000 echo 1",
        "0.020 a JCNTL MULTI,RCLOSE 0 rseq 0 alloc 0 echo 0",
        "0.020 a DATA MULTI,SREQ,RCLOSE,WCLOSE,EOM 0+9",
        "0.030 b CNTL MULTI,RCLOSE,WCLOSE 0 rseq 9 alloc 64000 echo 2",
        "0.030 b CNTL MULTI,RCLOSE,WCLOSE,END 0 rseq 9 alloc 64009 echo 2",
        "0.040 a CNTL MULTI,RCLOSE,WCLOSE,END 9 rseq 0 alloc 0 echo 0",
    ];
    assert_eq!(pair.told(), expected);
}

#[test]
fn what_any_receiver_lacks_is_sent_again_to_all() {
    for recovery in [Recovery::Selective, Recovery::GoBack] {
        let config = Config { recovery, ..of_group(3) };
        let mut data = [0; 4];
        let mut pair = hosts_with(&config, 3, move |packet| {
            if packet.from == 0 && packet.is(Format::Data) {
                data[packet.to] += 1;
                // Each loses others, and the second one some of those that are retransmitted.
                let n = data[packet.to] + 3 * packet.to;
                if n.is_multiple_of(11) || packet.to == 2 && n.is_multiple_of(13) {
                    return vec![];
                }
            }
            vec![ms(10)]
        });
        pair.transmit(&numbered(100_000));
        pair.run_for(ms(20_000));
        for host in 1..=3 {
            pair.has_all(host, &numbered(100_000));
        }
        pair.has_closed();
        let again = pair.counters(0).retransmitted;
        match recovery {
            Recovery::Selective => assert!((20..60).contains(&again), "{again}"),
            Recovery::GoBack => assert!(again > 60, "{again}"),
        }
        assert_eq!(pair.counters(0).lies, 0);
    }
}

#[test]
fn each_packet_of_the_beginning_and_of_the_end_may_be_lost() {
    let octets = numbered(3000);
    // FIRST, two JCNTL, two answers, four packets of data with their answers, and the end.
    for lost in 0..24 {
        for to in [1, 2] {
            let mut n = 0;
            let rule = move |packet: &Packet| {
                if packet.from == to || packet.to == to {
                    n += 1;
                    if n == lost + 1 {
                        return vec![];
                    }
                }
                vec![ms(10)]
            };
            let mut pair = hosts_with(&of_group(2), 2, rule);
            pair.transmit(&octets);
            pair.run_for(ms(20_000));
            for host in [1, 2] {
                pair.has_all(host, &octets);
            }
            pair.has_closed();
            pair.run_for(ms(200_000));
            for host in 0..3 {
                let xtp = pair.xtp(host);
                assert_eq!(xtp.contexts() + xtp.inactive(), 0, "{lost} {to}");
                assert_eq!(pair.counters(host).lies, 0, "{lost} {to}");
            }
        }
    }
}

#[test]
fn who_comes_late_begins_where_the_transmitter_says() {
    let mut config = of_group(1);
    (config.rate, config.burst) = (100_000, 5000);
    let mut pair = hosts(&config, 3);
    let octets = numbered(300_000);
    let data = Message::from_octets(&octets);
    pair.app(0).outbox.push_back((data, None, true));
    pair.app(0).release_when_sent = true;
    pair.listen_to_group(1);
    pair.call_group(0);
    pair.run_for(ms(500));
    pair.listen_to_group(2);
    pair.run_for(ms(500));
    pair.listen_to_group(3);
    pair.run_for(ms(20_000));
    pair.has_all(1, &octets);
    pair.has_closed();
    let mut before = 0;
    for host in [2, 3] {
        let heard = pair.heard(host);
        let tail = pair.tail();
        assert_eq!(heard.last().unwrap(), "closed", "{tail}");
        let received = pair.app(host).received.clone();
        let at = octets.len() - received.len();
        assert_eq!(heard[1], format!("notice: Member(Begins({at}))"), "{heard:?}");
        assert!(at > before && received == octets[at..], "{at}");
        before = at;
    }
    assert_eq!(pair.counters(0).joined_late, 2);
    assert_eq!(pair.counters(0).retransmitted, 0, "{}", pair.tail());
}

#[test]
fn who_only_missed_the_call_gets_all() {
    let mut pair = hosts_with(&of_group(1), 2, |packet| {
        let missed = packet.is(Format::First) && packet.to == 2;
        // The first receiver answers so late that nothing has been let go of.
        let late = packet.from == 1 && !packet.is(Format::Jcntl);
        if missed { vec![] } else { vec![ms(if late { 100 } else { 10 })] }
    });
    pair.transmit(&numbered(50_000));
    pair.run_for(ms(20_000));
    for host in [1, 2] {
        pair.has_all(host, &numbered(50_000));
    }
    assert_eq!(pair.counters(0).joined_late, 0);
}

#[test]
fn who_comes_late_is_not_heard_where_memory_is_spent() {
    let mut config = of_group(1);
    (config.rate, config.burst) = (100_000, 5000);
    let small = Config { memory: 64, ..config.clone() };
    let rule = |packet: &Packet| if packet.from == 2 && packet.is(Format::First) { vec![] } else { vec![ms(10)] };
    let mut pair = Pair::of_many(vec![config.clone(), config, small], 1, Box::new(rule));
    pair.app(0).outbox.push_back((Message::from_octets(&numbered(100_000)), None, true));
    pair.listen_to_group(1);
    pair.call_group(0);
    pair.run_for(ms(500));
    // A call of its own, which nobody hears, takes all that there is.
    pair.ask(2, vec![open(Mode::Active, Address::NONE, address(1, PORT))]);
    pair.listen_to_group(2);
    pair.run_for(ms(1_000));
    assert!(pair.counters(2).out_of_memory > 0, "{:?}", pair.counters(2));
    assert_eq!(pair.xtp(2).contexts(), 1);
}

#[test]
fn on_a_lan_that_names_stations_by_mac_one_can_come_late_too() {
    let mut config = of_group(1);
    (config.rate, config.burst) = (100_000, 5000);
    let mut pair = hosts(&config, 2);
    pair.nameless = true;
    let octets = numbered(100_000);
    let data = Message::from_octets(&octets);
    pair.app(0).outbox.push_back((data, None, true));
    pair.app(0).release_when_sent = true;
    pair.listen_to_group(1);
    pair.call_group(0);
    pair.run_for(ms(500));
    pair.listen_to_group(2);
    pair.run_for(ms(20_000));
    pair.has_all(1, &octets);
    pair.has_closed();
    let received = pair.app(2).received.clone();
    assert!(octets.ends_with(&received) && received.len() > 30_000);
    assert_eq!(pair.heard(2).last().unwrap(), "closed");
}

#[test]
fn who_leaves_does_not_hold_up_the_others() {
    let mut config = of_group(3);
    (config.rate, config.burst) = (100_000, 5000);
    let mut pair = hosts(&config, 3);
    pair.transmit(&numbered(100_000));
    pair.run_for(ms(300));
    pair.release(2);
    pair.abort(3);
    // Two fewer than were waited for at first.
    pair.run_for(ms(100));
    assert_eq!(pair.heard(2).last().unwrap(), "closed");
    pair.run_for(ms(100_000));
    let heard = pair.heard(0);
    assert!(heard.contains(&left(2, Reason::User)), "{heard:?}");
    assert!(heard.contains(&left(3, Reason::User)), "{heard:?}");
    assert_eq!(heard.last().unwrap(), "aborted: TimedOut");
    // Where they need not be there, the stream goes on.
    config.min_receivers = 1;
    let mut pair = hosts(&config, 3);
    pair.transmit(&numbered(100_000));
    pair.run_for(ms(300));
    pair.release(2);
    pair.abort(3);
    pair.run_for(ms(20_000));
    pair.has_all(1, &numbered(100_000));
    pair.has_closed();
    assert_eq!((pair.counters(0).left, pair.counters(0).put_out), (2, 0));
}

#[test]
fn a_dead_receiver_is_given_up_and_the_stream_goes_on() {
    let config = of_group(1);
    let mut pair = hosts_with(&config, 3, |packet| {
        let dead = packet.at > Instant::ZERO + ms(35) && (packet.from == 2 || packet.to == 2);
        if dead { vec![] } else { vec![ms(10)] }
    });
    pair.transmit(&numbered(300_000));
    pair.run_for(ms(60_000));
    for host in [1, 3] {
        pair.has_all(host, &numbered(300_000));
    }
    let heard = pair.has_closed();
    assert!(heard.contains(&left(2, Reason::TimedOut)), "{heard:?}");
    assert_eq!(pair.counters(0).put_out, 1);
    pair.run_for(ms(200_000));
    // It has heard nothing more.
    assert_eq!(pair.heard(2).last().unwrap(), "aborted: TimedOut");
}

#[test]
fn when_the_last_receiver_is_given_up_others_are_called_for_a_minute() {
    let mut config = of_group(1);
    config.rtt.minimum = ms(2000);
    let mut pair = hosts_with(&config, 1, |packet| {
        let dead = packet.at > Instant::ZERO + ms(35);
        if dead { vec![] } else { vec![ms(10)] }
    });
    pair.begin_to_transmit(&numbered(300_000));
    while pair.counters(0).put_out == 0 {
        pair.run_for(ms(1000));
    }
    let calls = pair.counters(0).first_sent;
    pair.run_for(ms(50_000));
    let heard = pair.heard(0);
    assert!(!heard.contains(&"aborted: TimedOut".to_owned()), "{heard:?}");
    assert!(pair.counters(0).first_sent >= calls + 3, "{}", pair.tail());
    pair.run_for(ms(20_000));
    assert_eq!(pair.heard(0).last().unwrap(), "aborted: TimedOut");
}

#[test]
fn a_receiver_that_was_given_up_and_comes_back_is_told_so() {
    let config = of_group(1);
    let mut pair = hosts_with(&config, 2, |packet| {
        let at = packet.at.as_nanos() / 1_000_000;
        let dead = (35..30_000).contains(&at) && (packet.from == 2 || packet.to == 2);
        if dead { vec![] } else { vec![ms(10)] }
    });
    pair.begin_to_transmit(&numbered(100_000));
    pair.run_for(ms(31_000));
    pair.write(0, b"more");
    pair.run_for(ms(1000));
    assert_eq!(pair.heard(2).last().unwrap(), "aborted: Reset");
    assert_eq!(pair.counters(0).put_out, 1);
}

#[test]
fn the_slowest_reader_decides_how_much_goes() {
    let config = Config { stall: ms(10_000), ..of_group(2) };
    let mut pair = hosts(&config, 2);
    pair.app(2).lazy = true;
    pair.transmit(&numbered(200_000));
    pair.run_for(ms(1000));
    let tail = pair.tail();
    assert_eq!(pair.app(1).received.len(), 64_000, "{tail}");
    assert_eq!(pair.app(2).received.len(), 64_000);
    pair.take(2, 20_000);
    pair.run_for(ms(1000));
    assert_eq!(pair.app(1).received.len(), 84_000);
    assert_eq!(pair.counters(0).retransmitted, 0);
    // Who takes nothing for too long is left behind; and then there are too few.
    pair.run_for(ms(30_000));
    let heard = pair.heard(0);
    assert!(heard.contains(&left(2, Reason::TimedOut)), "{heard:?}");
    assert_eq!(pair.heard(2).last().unwrap(), "aborted: Reset");
    pair.listen_to_group(2);
    pair.run_for(ms(30_000));
}

#[test]
fn a_call_is_repeated_until_there_are_enough_and_not_for_ever() {
    let mut pair = hosts(&of_group(2), 2);
    pair.listen_to_group(1);
    let data = Message::from_octets(&numbered(10_000));
    pair.app(0).outbox.push_back((data, None, true));
    pair.app(0).release_when_sent = true;
    pair.call_group(0);
    pair.run_for(ms(10_000));
    assert!(pair.log.iter().all(|it| it.data().is_empty()));
    let calls = pair.counters(0).first_sent;
    assert!((3..8).contains(&calls), "{calls}");
    pair.listen_to_group(2);
    pair.run_for(ms(20_000));
    for host in [1, 2] {
        pair.has_all(host, &numbered(10_000));
    }
    pair.has_closed();
    let mut pair = hosts(&of_group(1), 1);
    pair.call_group(0);
    pair.run_for(ms(90_000));
    assert_eq!(pair.heard(0).last().unwrap(), "aborted: TimedOut");
    pair.run_for(ms(90_000));
    assert_eq!(pair.xtp(0).contexts() + pair.xtp(0).inactive(), 0);
    assert_eq!(pair.members, []);
}

#[test]
fn with_nobody_to_wait_for_it_sends_to_nobody() {
    let mut pair = hosts(&of_group(0), 1);
    let data = Message::from_octets(&numbered(10_000));
    pair.app(0).outbox.push_back((data, None, true));
    pair.app(0).release_when_sent = true;
    pair.call_group(0);
    pair.run_for(ms(10_000));
    pair.has_closed();
}

#[test]
fn the_list_is_bounded_and_who_finds_no_place_is_refused() {
    let config = Config { receivers: 2, ..of_group(2) };
    let mut pair = hosts(&config, 4);
    pair.transmit(&numbered(100_000));
    pair.run_for(ms(20_000));
    pair.has_closed();
    let mut refused = 0;
    for host in 1..=4 {
        let heard = pair.heard(host);
        match heard.last().unwrap().as_str() {
            "closed" => assert_eq!(pair.app(host).received.len(), 100_000),
            other => {
                refused += 1;
                assert_eq!(other, "aborted: NoResources");
                assert!(pair.app(host).received.is_empty());
            }
        }
    }
    assert_eq!(refused, 2);
}

#[test]
fn a_transmitter_that_vanishes_or_aborts_ends_its_receivers() {
    let config = of_group(2);
    let mut pair = hosts(&config, 2);
    pair.begin_to_transmit(&numbered(1000));
    pair.run_for(ms(60));
    pair.rule(|packet| if packet.from == 0 { vec![] } else { vec![ms(10)] });
    pair.run_for(ms(119_000));
    assert!(!pair.app(1).over);
    pair.run_for(ms(10_000));
    for host in [1, 2] {
        let heard = pair.heard(host);
        assert_eq!(heard.last().unwrap(), "aborted: TimedOut", "{heard:?}");
    }
    let mut pair = hosts(&config, 2);
    pair.listen_to_group(1);
    pair.listen_to_group(2);
    pair.call_group(0);
    pair.write(0, b"something");
    pair.run_for(ms(1000));
    // Nothing is said for long, and nobody takes the other for dead.
    pair.run_for(ms(600_000));
    pair.abort(0);
    pair.run_for(ms(20));
    for host in [1, 2] {
        assert_eq!(pair.heard(host).last().unwrap(), "aborted: Reset");
    }
}

#[test]
fn answers_are_spread_over_the_slot() {
    let mut config = of_group(20);
    config.slot = ms(8);
    let mut pair = hosts(&config, 20);
    pair.transmit(&numbered(50_000));
    pair.run_for(ms(20_000));
    let mut joins: Vec<_> = pair.log.iter().filter(|it| it.is(Format::Jcntl) && it.from > 0).map(|it| it.at).collect();
    joins.sort_unstable();
    assert_eq!(joins.len(), 20);
    let span = joins[19].saturating_since(joins[0]);
    assert!(span > ms(5) && span < ms(8), "{span:?}");
    joins.dedup();
    assert_eq!(joins.len(), 20);
}

#[test]
fn a_gap_that_another_has_told_of_is_not_told_again() {
    let mut config = of_group(3);
    config.slot = ms(50);
    // Nothing is asked in between.
    config.tail = ms(10_000);
    config.rtt.fresh = ms(100_000);
    let mut n = 0;
    let mut pair = hosts_with(&config, 3, move |packet| {
        n += u32::from(packet.from == 0 && packet.is(Format::Data) && packet.to == 1);
        let lost = packet.from == 0 && packet.is(Format::Data) && n == 5;
        if lost { vec![] } else { vec![ms(1)] }
    });
    pair.app(0).quality.error_control = Some(ErrorControl::Fast);
    for host in 1..=3 {
        pair.listen_to_group(host);
    }
    pair.call_group(0);
    pair.run_for(ms(500));
    for message in numbered(10_000).chunks(1000) {
        pair.write(0, message);
        pair.run_for(ms(20));
    }
    pair.release(0);
    pair.run_for(ms(20_000));
    for host in 1..=3 {
        pair.has_all(host, &numbered(10_000));
    }
    let naks = pair.log.iter().filter(|it| it.is(Format::Ecntl)).count();
    assert!(naks <= 2, "{naks}\n{}", pair.tail());
}

#[test]
fn without_error_control_what_is_lost_stays_lost_and_closing_is_reliable() {
    let mut n = 0;
    let mut pair = hosts_with(&of_group(3), 3, move |packet| {
        n += 1;
        if n % 7 == 0 && !packet.is(Format::First) { vec![] } else { vec![ms(10)] }
    });
    for host in 1..=3 {
        pair.listen_to_group(host);
    }
    for n in 0..100u8 {
        let data = Message::from_octets(&[n; 500]);
        pair.app(0).outbox.push_back((data, Some([n; 8]), true));
    }
    pair.app(0).quality.error_control = Some(ErrorControl::None);
    pair.app(0).release_when_sent = true;
    pair.call_group(0);
    pair.run_for(ms(60_000));
    pair.has_closed();
    assert_eq!(pair.counters(0).octets_retransmitted, 0);
    for host in 1..=3 {
        assert_eq!(pair.heard(host).last().unwrap(), "closed");
        let app = pair.app(host);
        let tags: Vec<u8> = app.tags.iter().map(|(_, tag)| tag[0]).collect();
        assert!(tags.is_sorted_by(|a, b| a < b) && tags.len() > 50, "{tags:?}");
        for ((_, tag), message) in app.tags.iter().zip(app.received.chunks(500)) {
            assert!(message.iter().all(|octet| *octet == tag[0]));
        }
    }
}

#[test]
fn tags_messages_priority_and_no_checksum_are_as_between_two() {
    let mut pair = hosts(&of_group(2), 2);
    for host in [1, 2] {
        pair.listen_to_group(host);
    }
    pair.app(0).quality = Quality { check: Some(false), priority: Some(7), ..Quality::default() };
    for n in 0..9u8 {
        let data = Message::from_octets(&vec![n; 1500]);
        pair.app(0).outbox.push_back((data, Some([n; 8]), true));
    }
    pair.app(0).release_when_sent = true;
    pair.call_group(0);
    pair.run_for(ms(5000));
    pair.has_closed();
    for host in [1, 2] {
        let app = pair.app(host);
        let expected: Vec<usize> = (1..=9).map(|n| n * 1500).collect();
        assert_eq!(app.ends, expected);
        assert!((0..9).all(|n| app.tags[n] == (n * 1500, [n as u8; 8])));
    }
    let mut data = pair.log.iter().filter(|it| it.is(Format::Data));
    assert!(data.all(|it| it.has(Options::NOCHECK | Options::SORT) && it.header.sort == 7));
}

#[test]
fn the_least_that_a_receiver_takes_at_a_time_is_what_is_sent() {
    let mut configs = vec![of_group(3); 4];
    configs[1].maxdata = Some(700);
    (configs[2].in_rate, configs[2].in_burst) = (100_000, 2000);
    (configs[3].in_rate, configs[3].in_burst) = (50_000, 3000);
    let mut pair = Pair::of_many(configs, 1, Box::new(|_| vec![ms(10)]));
    pair.transmit(&numbered(100_000));
    pair.run_for(ms(20_000));
    for host in 1..=3 {
        pair.has_all(host, &numbered(100_000));
    }
    assert!(pair.log.iter().all(|it| it.data().len() <= 700));
    let times: Vec<_> = pair.log.iter().filter(|it| it.is(Format::Data)).map(|it| it.at).collect();
    let took = times[times.len() - 1].saturating_since(times[0]);
    assert!(took > ms(1900) && took < ms(2600), "{took:?}");
}

#[test]
fn groups_are_left_when_nobody_listens_any_more() {
    let mut pair = hosts(&of_group(1), 1);
    pair.listen_to_group(1);
    assert_eq!(pair.members, [(1, Address::from(GROUP))]);
    let listener = pair.app(1).listener.unwrap();
    let (reason, data) = (Reason::User, None);
    pair.ask(1, vec![Request::Abort { session: listener, reason: reason.clone(), data }]);
    assert_eq!(pair.members, []);
    // What was accepted goes on, and is a member as long as it may be asked.
    let mut pair = hosts(&of_group(1), 1);
    pair.transmit(&numbered(50_000));
    pair.run_for(ms(25));
    let session = pair.app(1).listener.unwrap();
    pair.ask(1, vec![Request::Abort { session, reason, data: None }]);
    pair.run_for(ms(2000));
    pair.has_all(1, &numbered(50_000));
    assert_eq!(pair.members.len(), 2);
    pair.run_for(ms(61_000));
    assert_eq!(pair.members, []);
}

#[test]
fn losses_of_many_are_not_added_up() {
    let took = |receivers: u32| {
        let mut config = of_group(receivers);
        config.congestion = congestion::Kind::Matched;
        config.reordering = 3;
        (config.send_buffer, config.receive_buffer) = (1 << 20, 1 << 20);
        let mut rng = Rng::new(3, 5);
        let rule = move |packet: &Packet| {
            let lost = packet.from == 0 && packet.is(Format::Data) && rng.chance(0.01);
            if lost { vec![] } else { vec![ms(20)] }
        };
        let mut pair = hosts_with(&config, receivers as usize, rule);
        pair.transmit(&numbered(3_000_000));
        pair.run_for(ms(60_000));
        pair.has_closed();
        for host in 1..=receivers as usize {
            pair.has_all(host, &numbered(3_000_000));
        }
        pair.log.last().unwrap().at.as_nanos() / 1_000_000
    };
    let (one, ten) = (took(1), took(10));
    // 1.4 s and 4.3 s; 15.6 s where whoever has just lost most counts.
    assert!(ten < 5 * one, "{one} ms with one, {ten} ms with ten");
}
