//! Coming up, options, refusals, ends.

use core::net::Ipv4Addr;

use kumiki_graph::{Address, Duration};

use super::link::{DELAY, Link, through};
use crate::ppp_daemon::automaton::State;
use crate::ppp_daemon::misbehave::Script;
use crate::ppp_daemon::{Config, End, Ipv4, Ipv6, Phase, Quality};
use kumiki_testkit::bench::hex;

pub(super) const SECOND: Duration = Duration::from_secs(1);
const IPV4: u16 = 0x0021;
const IPV6: u16 = 0x0057;

pub(super) fn addressed(local: [u8; 4], remote: [u8; 4]) -> Config {
    Config { ipv4: Some(Ipv4 { local: local.into(), remote: remote.into(), ..Ipv4::default() }), ..Config::default() }
}

/// The first end knows both addresses, the second none.
pub(super) fn pair() -> [Config; 2] {
    [addressed([10, 0, 0, 1], [10, 0, 0, 2]), addressed([0; 4], [0; 4])]
}

fn ip(last: u8) -> Address {
    Address::from(Ipv4Addr::new(10, 0, 0, last))
}

/// The pair, the second end with a script.
pub(super) fn against(script: &str) -> [Config; 2] {
    let [near, mut far] = pair();
    far.script = Some(Script::parse(script).unwrap());
    [near, far]
}

fn has_opened(link: &mut Link, end: usize) -> bool {
    link.end(end).phase() == Phase::Network
}

#[test]
fn a_link_comes_up_with_addresses_and_carries_datagrams() {
    let mut link = Link::new(pair());
    link.pass(SECOND);
    for end in 0..2 {
        assert_eq!(link.end(end).phase(), Phase::Network);
        assert_eq!(link.end(end).lcp_state(), State::Opened);
    }
    assert_eq!(link.end(0).network(IPV4), Some((ip(1), ip(2))));
    assert_eq!(link.end(1).network(IPV4), Some((ip(2), ip(1))));
    let (ours, theirs) = link.end(0).network(IPV6).unwrap();
    assert_eq!(link.end(1).network(IPV6), Some((theirs, ours)));
    assert!(link.carries(0, &[0x45, 1]) && link.carries(1, &[0x45, 2]));

    link.close(0);
    link.pass(SECOND * 10);
    assert_eq!(link.ended(0), Some(End::Asked));
    let message = b"it was asked to end".to_vec();
    assert_eq!(link.ended(1), Some(End::PeerFinished { message }));
    assert!(!link.carries(0, &[0x45, 1]));
    for end in 0..2 {
        assert_eq!(link.end(end).phase(), Phase::Dead);
        assert_eq!(link.end(end).agreement(), None);
        assert_eq!(link.end(end).network(IPV4), None);
    }
}

#[test]
fn every_option_is_agreed_on_and_each_end_sees_the_other_side_of_it() {
    let [mut near, mut far] = pair();
    near.mru = 4470;
    near.accm = Some(0x000a_0000);
    near.pfc = true;
    near.acfc = true;
    near.ask_fcs = Some(32);
    near.quality = Quality { period: Some(SECOND), ..Quality::default() };
    near.identification = Some("kumiki in a test".to_owned());
    near.session = Some(SECOND * 100);
    far.accm = Some(0);
    far.pfc = true;
    let mut link = Link::new([near, far]);
    link.pass(SECOND);
    let near = link.end(0).agreement().unwrap();
    let far = link.end(1).agreement().unwrap();
    assert_eq!((near.mru, near.peer_mru), (4470, 1500));
    assert_eq!((far.mru, far.peer_mru), (1500, 4470));
    assert_eq!((near.receive_accm, near.send_accm), (0x000a_0000, 0));
    assert_eq!((far.receive_accm, far.send_accm), (0, 0x000a_0000));
    assert_eq!((near.receive_fcs, near.send_fcs), (32, 16));
    assert_eq!((far.receive_fcs, far.send_fcs), (16, 32));
    // The far end sends short protocols, and keeps address and control, since it was not told to leave them out.
    assert_eq!((far.acfc, far.pfc), (false, true));
    assert_eq!((near.acfc, near.pfc), (false, true));
    assert!(link.says(1, "the peer says that it is \"kumiki in a test\""));
    assert!(link.says(1, "the peer says that 100 s remain"));
    // The time runs out.
    link.pass(SECOND * 110);
    assert_eq!(link.ended(0), Some(End::TimeUp));
    // With another check sequence agreed on, the end is told twice (RFC 1570 section 2.1.1).
    assert_eq!(link.count(0, "sent LCP TermReq"), 2);
}

#[test]
fn what_is_refused_is_said_in_a_sentence() {
    for (script, option, says) in [
        ("nak LCP mru 1500", "", "the peer will not have mru 4470; it would take 1500"),
        ("reject LCP mru", "", "the peer rejects mru: it cannot be negotiated"),
        ("reject LCP asyncmap", "", "the peer rejects asyncmap: it cannot be negotiated"),
        ("reject LCP magic", "", "the peer rejects magic: it cannot be negotiated"),
        (
            "nak LCP asyncmap 0x00000001",
            "asyncmap 0x000a0001",
            "the peer will not have asyncmap 0x000a0000; it would take asyncmap 0x00000001",
        ),
        ("nak LCP magic 0x01020304", "magic 0x01020304", "it would take magic 0x01020304"),
        ("reject LCP pcomp", "", "the peer rejects pcomp: it cannot be negotiated"),
        (
            "nak LCP quality 5s",
            "quality lqr 5.00 s",
            "the peer will not send reports as we ask for them; it would do quality lqr 5.00 s",
        ),
        ("reject LCP quality", "", "the peer rejects quality: it cannot be negotiated"),
        ("reject IPCP addr", "", "the peer rejects addr: it cannot be negotiated"),
        ("nak IPCP addr 10.0.0.77", "addr 10.0.0.1", "the peer will not have addr 10.0.0.1; it would take 10.0.0.77"),
        ("send LCP option 250 0102", "", "we do not know option 250 0102 of LCP"),
        ("send LCP callback 00", "", "we refuse callback 0: we do not do that"),
        ("send LCP compound", "", "we refuse compound frames: we do not do that"),
        ("send LCP padding 4", "", "we refuse padding to 4: we do not do that"),
        ("send LCP auth eap", "", "we refuse auth EAP: we have no secret"),
        ("send LCP mru 68", "", "we refuse mru 68: we would take 128 or more"),
        ("send LCP mru hex 01", "", "we refuse option 1 01: "),
        ("send LCP fcs 1", "", "we refuse fcs 0x01: we can do fcs 0x02"),
        ("send LCP quality hex c026", "", "we can do quality lqr"),
        ("send IPCP compress 002d0f01", "", "we refuse compress VJ 0f 01: we do not compress"),
        ("send IPCP addrs 0a0000020a000001", "", "we refuse addrs 10.0.0.2 10.0.0.1: addr is to be used"),
        ("send IPCP addr 10.0.0.1", "", "we refuse addr 10.0.0.1: the peer is to be 10.0.0.2"),
        ("send IPCP ms-wins1 10.0.0.1", "", "we refuse ms-wins1 10.0.0.1: we know of no such thing"),
        ("send IPCP ms-dns1 10.0.0.1", "", "we refuse ms-dns1 10.0.0.1: we know of no such server"),
        ("send IPV6CP compress 004f", "", "we refuse compress protocol 0x004f: we do not compress"),
    ] {
        let [mut near, far] = against(script);
        near.mru = 4470;
        near.accm = Some(0x000a_0000);
        near.pfc = true;
        near.quality.period = Some(SECOND);
        let mut link = Link::new([near, far]);
        link.pass(SECOND);
        let words = link.transcript();
        assert!(link.says(0, says), "{script}: {says}\n{words}");
        assert!(option.is_empty() || link.says(0, &format!("<{option}>")), "{script}\n{words}");
        // Nothing of this keeps a link from coming up.
        assert!(has_opened(&mut link, 0), "{script}\n{words}");
    }
}

#[test]
fn a_peer_that_never_answers_is_given_up_with_the_number_of_requests() {
    let mut link = Link::new(against("drop any\nignore any"));
    link.pass(SECOND * 29);
    assert_eq!(link.ended(0), None);
    link.pass(SECOND * 2);
    assert_eq!(link.ended(0), Some(End::NeverAnswered { requests: 10 }));
    let text = link.ended(0).unwrap().to_string();
    assert_eq!(text, "the peer never answered, after 10 requests");
    let sent = link.frames.len();
    link.pass(SECOND * 1000);
    assert_eq!(link.frames.len(), sent, "it is quiet after the end");
}

#[test]
fn a_passive_end_waits_for_its_peer() {
    let [mut near, far] = against("drop 1000 of any\nignore any\nthen after 100s");
    near.passive = true;
    let mut link = Link::new([near, far]);
    link.pass(SECOND * 90);
    assert_eq!(link.ended(0), None);
    assert_eq!(link.end(0).lcp_state(), State::Stopped);
    // The far end has given up too; what calls now is a packet of a peer that is there again.
    link.octets(0, &hex("ff03c021 01050004"));
    link.pass(SECOND);
    assert!(link.says(0, "sent LCP ConfAck id 5"), "{}", link.transcript());
    assert_eq!(link.end(0).lcp_state(), State::AckSent);
}

#[test]
fn naks_for_ever_end() {
    for script in [
        "nak LCP mru 300 for ever",
        "nak LCP magic 0x01020304 for ever",
        "nak LCP asyncmap 0xffffffff for ever",
        "nak LCP option 250 01 for ever",
    ] {
        let mut link = Link::new(against(script));
        link.pass(SECOND * 300);
        let words = link.transcript();
        assert!(link.ended(0).is_some(), "{script}\n{words}");
        assert!(link.frames.len() < 400, "{script}\n{words}");
        let end = link.ended(0).unwrap();
        let right = matches!(end, End::NoAgreement { requests: 40, .. });
        assert!(right, "{script}: {end}\n{words}");
    }
}

#[test]
fn an_option_that_is_insisted_on_is_rejected_after_max_failure_naks() {
    // The peer's script puts the option back whatever it is told, so that it never comes up; but we stop bargaining.
    let mut link = Link::new(against("send LCP mru 68 for ever"));
    link.pass(SECOND * 300);
    assert_eq!(link.count(0, "sent LCP ConfNak"), 5, "{}", link.transcript());
    assert!(link.says(0, "sent LCP ConfRej id "), "{}", link.transcript());
    assert!(link.says(0, "<mru 68>"));
}

#[test]
fn a_line_that_is_looped_back_is_found_while_it_is_negotiated() {
    let back = Box::new(|from, frame| vec![(from, frame)]);
    let mut link = Link::over(pair(), back);
    link.pass(SECOND * 10);
    for end in 0..2 {
        assert_eq!(link.ended(end), Some(End::LoopedBack), "{}", link.transcript());
    }
    assert!(link.frames.len() < 100);
    // With persist it is found again, and the line can be mended.
    let [mut near, far] = pair();
    near.persist = true;
    let loops = core::cell::Cell::new(0u32);
    let mends = Box::new(move |from, frame| {
        loops.set(loops.get() + 1);
        let to = if loops.get() < 200 { from } else { 1 - from };
        vec![(to, frame)]
    });
    let mut far = far;
    far.persist = true;
    let mut link = Link::over([near, far], mends);
    link.pass(SECOND * 300);
    assert!(has_opened(&mut link, 0), "{}", link.transcript());
    assert_eq!(link.end(0).last_end(), Some(&End::LoopedBack));
}

#[test]
fn a_line_that_is_looped_back_later_is_found_by_its_echoes() {
    let looped = std::rc::Rc::new(core::cell::Cell::new(false));
    let is_looped = looped.clone();
    let way = Box::new(move |from: usize, frame| {
        let to = if is_looped.get() { from } else { 1 - from };
        vec![(to, frame)]
    });
    let [mut near, far] = pair();
    near.echo_interval = Some(SECOND);
    let mut link = Link::over([near, far], way);
    link.pass(SECOND * 5);
    assert!(has_opened(&mut link, 0));
    assert!(link.says(1, "sent LCP EchoRep"));
    looped.set(true);
    link.pass(SECOND * 5);
    assert_eq!(link.ended(0), Some(End::LoopedBack), "{}", link.transcript());
}

#[test]
fn a_flood_is_answered_one_for_one_and_changes_nothing() {
    let mut link = Link::new(against("then after 1s\nflood LCP EchoReq \"octets\" 1000"));
    link.pass(SECOND * 2);
    assert!(has_opened(&mut link, 0), "{}", link.transcript());
    let replies = link
        .frames
        .iter()
        .filter(|(from, frame)| *from == 0 && frame.starts_with(&hex("ff03c021 0a")) && frame.ends_with(b"octets"));
    assert_eq!(replies.count(), 1000);
    assert!(link.carries(0, &[0x45, 1]));
}

#[test]
fn requests_without_end_are_answered_one_for_one() {
    let mut link = Link::new(against("loop back"));
    link.pass(SECOND / 10);
    let before = link.frames.len();
    let request = hex("ff03c021 0109000a 050601020304");
    for _ in 0..500 {
        link.octets(0, &request);
        let _ = link.bench.sent();
    }
    assert!(link.frames.len() - before < 10);
    let counters = *link.end(0).counters();
    assert!(counters.sent < 1100, "{counters:?}");
}

#[test]
fn a_protocol_that_the_peer_does_not_do_is_left_alone() {
    let [near, mut far] = pair();
    far.ipv6 = None;
    let mut link = Link::new([near, far]);
    link.pass(SECOND * 30);
    assert!(link.says(0, "the peer does not do IPV6CP"), "{}", link.transcript());
    assert!(link.says(1, "sent LCP ProtRej id "));
    assert_eq!(link.count(0, "sent IPV6CP"), 1);
    assert_eq!(link.end(0).network(IPV6), None);
    assert!(link.carries(0, &[0x45, 1]));

    // With the last one the link goes too.
    let [near, mut far] = pair();
    (far.ipv4, far.ipv6) = (None, None);
    let mut link = Link::new([near, far]);
    link.pass(SECOND * 30);
    assert_eq!(link.ended(0), Some(End::NoNetwork), "{}", link.transcript());
}

#[test]
fn frames_of_unknown_protocols_come_back_in_a_protocol_reject() {
    let mut link = Link::new(pair());
    link.pass(SECOND);
    link.frames.clear();
    link.octets(0, &hex("ff03 80fd 0101 0004"));
    link.pass(DELAY * 2);
    let (_, reject) = link.frames.first().unwrap();
    // RFC 1661 section 5.7: code 8, a new identifier, length, protocol, and the information.
    assert_eq!(reject[..5], hex("ff03c021 08"));
    assert_eq!(reject[6..], hex("000a 80fd 01010004"));
    // Cut to the peer's MRU: 1500 octets behind the protocol field.
    let mut long = hex("ff03 00fd");
    long.resize(4 + 4000, 0x55);
    link.octets(0, &long);
    link.pass(DELAY * 2);
    assert_eq!(link.frames.last().unwrap().1.len(), 4 + 1500);
    assert!(has_opened(&mut link, 0));
}

#[test]
fn nothing_but_lcp_is_answered_before_lcp_has_opened() {
    let mut link = Link::new(against("ignore any\ndrop any"));
    link.pass(SECOND);
    let before = link.end(0).counters().sent;
    for frame in ["ff03 8021 0101000a 03060a000002", "ff03 c023 01010004", "ff03 80fd 01010004", "ff03 4500"] {
        link.octets(0, &hex(frame));
    }
    // Echoes neither (RFC 1661 section 5.8).
    link.octets(0, &hex("ff03 c021 09010008 00000000"));
    assert_eq!(link.end(0).counters().sent, before);
    assert_eq!(link.end(0).counters().unexpected, 5);
}

#[test]
fn unknown_codes_are_rejected_and_vital_ones_that_the_peer_rejects_end_the_link() {
    let mut link = Link::new(against("then when IPCP opened\nsend LCP code 99 0102"));
    link.pass(SECOND);
    let reject = link.frames.iter().find(|(from, frame)| *from == 0 && frame[4..5] == [7]);
    // RFC 1661 section 5.6: from the code on.
    assert_eq!(reject.unwrap().1[8..], hex("63 01 0006 0102"));
    assert!(has_opened(&mut link, 0));

    let mut link = Link::new(against("then when IPCP opened\nsend LCP CodeRej 01010004"));
    link.pass(SECOND * 20);
    let what = "LCP ConfReq".to_owned();
    assert_eq!(link.ended(0), Some(End::Incompatible { what }));

    // One that is not vital is let go (RFC 1570 section 1.1).
    let mut link = Link::new(against("then when IPCP opened\nsend LCP CodeRej 0c010004"));
    link.pass(SECOND);
    assert!(link.says(0, "the peer does not know LCP Ident"));
    assert!(has_opened(&mut link, 0));
}

#[test]
fn answers_to_nothing_are_dropped() {
    // The identifier of the answer must be that of the last request (RFC 1661 section 5.2).
    let mut link = Link::new(against("bad id LCP ConfAck\nthen after 10s"));
    link.pass(SECOND * 9);
    assert_eq!(link.end(0).lcp_state(), State::AckSent);
    assert!(link.end(0).counters().unexpected >= 3);
    link.pass(SECOND * 5);
    assert!(has_opened(&mut link, 0), "{}", link.transcript());

    // So must the options.
    for wrong in [
        "ff03c021 02010004",
        "ff03c021 0201000a 050611111111",
        "ff03c021 04010004",
        "ff03c021 04010008 010405dc",
        "ff03c021 0300000a 050611111111",
    ] {
        let mut link = Link::new(against("ignore any\ndrop any"));
        link.pass(SECOND);
        link.octets(0, &hex(wrong));
        assert_eq!(link.end(0).counters().unexpected, 1, "{wrong}");
        assert_eq!(link.end(0).lcp_state(), State::ReqSent);
    }
}

#[test]
fn malformed_packets_are_dropped_in_silence() {
    let mut link = Link::new(pair());
    link.pass(SECOND);
    let before = *link.end(0).counters();
    let wrong = [
        // Length below 4, beyond the frame; an option that runs past the packet; too short for a magic number.
        "ff03c021 01010003",
        "ff03c021 0101000a 0506",
        "ff03c021 01",
        "ff03c021 0101000a 0508 01020304",
        "ff03c021 0101000a 0500 01020304",
        "ff03c021 0901 0006 0000",
        "ff03c021 0801 0005 80",
        "ff03c223 0101 0005 10",
        "ff03c023 0101 0006 0561",
        "ff03c025 00000000",
    ];
    for frame in wrong {
        link.octets(0, &hex(frame));
    }
    let after = *link.end(0).counters();
    assert_eq!(after.malformed - before.malformed, wrong.len() as u64);
    assert_eq!(after.sent, before.sent);
    assert!(link.carries(0, &[0x45, 1]));
}

#[test]
fn a_line_that_is_lost_ends_the_link_or_is_waited_for() {
    let mut link = Link::new(pair());
    link.pass(SECOND);
    link.line(0, false);
    link.pass(SECOND);
    assert_eq!(link.ended(0), Some(End::LineDown));

    // Nobody has called yet.
    let mut link = Link::over(pair(), Box::new(|_, _| Vec::new()));
    link.line(0, false);
    link.pass(SECOND);
    assert_eq!(link.ended(0), None);
    assert_eq!(link.end(0).lcp_state(), State::Starting);
    let sent = link.end(0).counters().sent;
    link.line(0, true);
    assert_eq!(link.end(0).counters().sent, sent + 1);

    let configs = pair().map(|config| Config { persist: true, ..config });
    let mut link = Link::new(configs);
    for turn in 0..3u8 {
        link.pass(SECOND * 20);
        assert!(link.carries(0, &[0x45, turn]), "{}", link.transcript());
        for end in 0..2 {
            link.line(end, false);
        }
        link.pass(SECOND);
        assert!(!link.carries(0, &[0x45, turn]));
        assert_eq!(link.end(0).phase(), Phase::Dead);
        assert_eq!(link.ended(0), None);
        for end in 0..2 {
            link.line(end, true);
        }
    }
    link.pass(SECOND * 20);
    // Who is asked to end does not come back.
    link.close(0);
    link.pass(SECOND * 100);
    assert_eq!(link.ended(0), Some(End::Asked));
    assert_eq!(link.ended(1), None);
}

#[test]
fn a_peer_that_is_gone_is_noticed_and_found_again() {
    let gone = std::rc::Rc::new(core::cell::Cell::new(false));
    let is_gone = gone.clone();
    let way = Box::new(move |from: usize, frame| if is_gone.get() { Vec::new() } else { through()(from, frame) });
    let configs = pair().map(|config| Config { persist: true, echo_interval: Some(SECOND * 5), ..config });
    let mut link = Link::over(configs, way);
    link.pass(SECOND * 60);
    assert!(has_opened(&mut link, 0));
    gone.set(true);
    link.pass(SECOND * 40);
    let end = End::NoEcho { requests: 4 };
    let words = link.transcript();
    assert_eq!(link.end(0).last_end(), Some(&end), "{words}");
    gone.set(false);
    link.pass(SECOND * 60);
    assert!(has_opened(&mut link, 0) && link.carries(0, &[0x45, 1]));
    assert_eq!(link.ended(0), None);
}

#[test]
fn addresses_are_given_taken_and_insisted_on() {
    // Each names its own.
    let configs = [addressed([10, 0, 0, 1], [0; 4]), addressed([10, 0, 0, 9], [0; 4])];
    let mut link = Link::new(configs);
    link.pass(SECOND);
    assert_eq!(link.end(0).network(IPV4), Some((ip(1), ip(9))));
    assert_eq!(link.end(1).network(IPV4), Some((ip(9), ip(1))));

    // Neither has any: IPv4 is of no use, IPv6 is.
    let mut link = Link::new([addressed([0; 4], [0; 4]), addressed([0; 4], [0; 4])]);
    link.pass(SECOND);
    assert_eq!(link.end(0).network(IPV4), None);
    assert!(link.says(0, "we have no address to give"), "{}", link.transcript());
    assert!(link.end(0).network(IPV6).is_some());

    // The peer wants another one than it is to have; it may, or it may not.
    for (accept, remote) in [(true, 9), (false, 2)] {
        let [mut near, mut far] = [addressed([10, 0, 0, 1], [10, 0, 0, 2]), addressed([10, 0, 0, 9], [0; 4])];
        near.ipv4.as_mut().unwrap().accept_remote = accept;
        far.ipv4.as_mut().unwrap().accept_local = true;
        let mut link = Link::new([near, far]);
        link.pass(SECOND);
        let words = link.transcript();
        assert_eq!(link.end(0).network(IPV4), Some((ip(1), ip(remote))), "{words}");
        assert_eq!(link.end(1).network(IPV4), Some((ip(remote), ip(1))), "{words}");
    }

    // Who says nothing is reminded once (RFC 1332 section 3.3), and then has what is configured.
    let mut link = Link::new(against("without IPCP addr"));
    link.pass(SECOND);
    assert_eq!(link.count(0, "sent IPCP ConfNak"), 1, "{}", link.transcript());
    assert_eq!(link.end(0).network(IPV4), Some((ip(1), ip(2))));
}

#[test]
fn name_servers_are_asked_for_and_told() {
    let [mut near, mut far] = pair();
    let servers = [Ipv4Addr::new(10, 0, 0, 53), Ipv4Addr::new(10, 0, 1, 53)];
    near.ipv4.as_mut().unwrap().dns = servers.map(Some);
    far.ipv4.as_mut().unwrap().ask_dns = true;
    let mut link = Link::new([near, far.clone()]);
    link.pass(SECOND);
    assert_eq!(link.end(1).name_servers(), servers.map(Some), "{}", link.transcript());
    // Who knows none says so.
    let mut link = Link::new([pair()[0].clone(), far]);
    link.pass(SECOND);
    assert_eq!(link.end(1).name_servers(), [None; 2]);
    assert_eq!(link.end(1).network(IPV4), Some((ip(2), ip(1))));
}

#[test]
fn interface_identifiers_end_up_different() {
    use kumiki_wire::ppp::ppp::ipv6cp::InterfaceIdentifier;
    let same = pair().map(|config| Config {
        ipv6: Some(Ipv6 { identifier: Some(InterfaceIdentifier([0, 0, 0, 0, 0, 0, 0, 1])) }),
        ..config
    });
    let mut link = Link::new(same);
    link.pass(SECOND * 10);
    let (ours, theirs) = link.end(0).network(IPV6).expect("IPv6 may pass");
    assert_ne!(ours, theirs);
    assert_eq!(link.end(1).network(IPV6), Some((theirs, ours)));
    assert!(link.says(0, "it is our own"), "{}", link.transcript());

    // RFC 5072 section 4.1: zero is answered with one to take, whose "u" bit is clear.
    let mut link = Link::new(against("send IPV6CP addr 0000000000000000\nthen when rcvd IPV6CP ConfNak"));
    link.pass(SECOND * 10);
    let nak = link.frames.iter().find(|(from, frame)| *from == 0 && frame.starts_with(&hex("ff038057 03")));
    let (_, nak) = nak.unwrap();
    assert_eq!(nak[8..10], [1, 10]);
    assert_ne!(nak[10..18], [0; 8]);
    assert_eq!(nak[10] & 2, 0);
}

#[test]
fn ipv6_needs_a_peer_that_takes_its_least_packets() {
    let [near, mut far] = pair();
    far.mru = 1000;
    let mut link = Link::new([near, far]);
    link.pass(SECOND);
    assert!(link.says(0, "the peer takes less than 1280 octets"));
    assert_eq!(link.end(0).network(IPV6), None);
    assert!(link.carries(0, &[0x45, 1]));
}

#[test]
fn what_is_late_makes_the_ends_ask_again_and_they_still_agree() {
    for script in [
        "late LCP ConfAck 5s\nthen after 20s",
        "drop 3 of LCP ConfReq",
        "drop 3 of IPCP ConfReq\ndrop 2 of IPCP ConfAck",
        "double 3 of LCP ConfReq\ndouble 3 of IPCP ConfReq\ndouble LCP ConfAck\ndouble IPCP ConfAck",
        "ignore 2 of LCP ConfReq",
        "bad length LCP ConfReq +1\nthen after 10s",
        "cut LCP ConfReq 3\nthen after 10s",
    ] {
        let mut link = Link::new(against(script));
        link.pass(SECOND * 60);
        assert!(has_opened(&mut link, 0), "{script}\n{}", link.transcript());
        assert!(link.carries(0, &[0x45, 1]), "{script}");
    }
}

#[test]
fn a_peer_that_begins_again_is_followed() {
    let mut link = Link::new(against("then when IPCP opened\nsend LCP ConfReq 050601020304"));
    link.pass(SECOND * 30);
    // We agree, and negotiate again; the far end, whose script spoke for it, hears our request as a new beginning.
    let words = link.transcript();
    assert_eq!(link.end(0).counters().opened, 2, "{words}");
    assert!(link.carries(0, &[0x45, 1]));
}

#[test]
fn scripts_talk_for_the_far_end() {
    let mut link = Link::new(against(
        "then when IPCP opened\nsend LCP DiscReq \"octets\" every 1s 5 times\nsend LCP Ident \"me\"\nthen after 10s\nterminate after 2s",
    ));
    link.pass(SECOND * 30);
    let words = link.transcript();
    assert_eq!(link.count(0, "rcvd LCP DiscReq"), 5, "{words}");
    assert!(link.says(0, "the peer says that it is \"me\""), "{words}");
    let message = b"it was asked to end".to_vec();
    assert_eq!(link.ended(0), Some(End::PeerFinished { message }), "{words}");

    let [mut near, far] = against("echo with peer's magic");
    near.echo_interval = Some(SECOND);
    let mut looped = Link::new([near, far]);
    looped.pass(SECOND * 10);
    assert_eq!(looped.ended(0), Some(End::LoopedBack));
}
