//! Calls: where they go, refused and cleared.

use kumiki_osi_service::x25::{Charging, Facilities, Facility, FastSelect};

use super::*;
use kumiki_testkit::bench::hex;

#[test]
fn a_call_goes_where_its_number_begins_and_carries_both_ways() {
    let mut net = Net::plain();
    let facilities = Facilities(vec![Facility::PacketSize { called: 9, calling: 9 }, Facility::ClosedGroup(7)]);
    let asked = x25::Call { facilities, ..x25::Call::default() };
    net.call(0, "277", b"hello", asked);
    let mut offered = net.dtes[1].offered.clone().unwrap();
    assert_eq!(offered.local, Address::from(number("277")));
    assert_eq!(offered.remote, Address::from(number("100")));
    assert_eq!(offered.data.unwrap().to_vec(), b"hello");
    let said = offered.parameters.take::<x25::Call>().unwrap();
    assert!(said.facilities.0.contains(&Facility::ClosedGroup(7)));
    // Each interface has its own packet size.
    assert_eq!(said.facilities.packet_size(), Some((10, 10)));
    net.accept(1, x25::Call::default());
    let mut opened = net.dtes[0].opened.clone().unwrap();
    assert_eq!(opened.parameters.take::<x25::Call>().unwrap().facilities.packet_size(), Some((9, 9)));
    net.send(0, b"up", true, false, false);
    net.send(1, b"down", true, true, false);
    assert_eq!(net.dtes[1].got, [(b"up".to_vec(), true, false, false)]);
    assert_eq!(net.dtes[0].got, [(b"down".to_vec(), true, true, false)]);
    net.clear(1, clear(0, 77), b"");
    assert_eq!(told(net.ended(0).0), (0, 77));
    assert_eq!(net.protocol().calls(), 0);
    let events = net.events();
    let [CallEvent::Came { .. }, CallEvent::SetUp { from, to, .. }, CallEvent::Cleared { by, octets, diagnostic, .. }] =
        events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!((from.as_str(), to.as_str(), by.as_deref()), ("a", "b", Some("b")));
    assert_eq!((*octets, *diagnostic), ([2, 4], 77));
    assert!(net.protocol().ports().iter().all(|port| port.calls == 0));
}

#[test]
fn a_call_to_nobody_a_line_that_is_down_and_a_way_back_are_refused() {
    let mut net = Net::plain();
    net.call(0, "977", b"", x25::Call::default());
    assert_eq!(told(net.ended(0).0), (0x0d, 67));
    net.call(0, "177", b"", x25::Call::default());
    assert_eq!(told(net.ended(0).0), (0x0d, 67));
    let line = net.dtes[1].line[1];
    net.bench.indicate(line, Indication::Report(Box::new(Report::Down)));
    net.call(0, "277", b"", x25::Call::default());
    assert_eq!(told(net.ended(0).0), (0x09, 0));
    assert_eq!(net.protocol().counters().refused, 3);
    assert_eq!(net.protocol().calls(), 0);
}

#[test]
fn the_next_target_is_called_where_the_first_is_down_and_no_other_where_it_refuses() {
    let config = Config { routes: vec![route("", &["a", "b", "c"])], ..Config::default() };
    let mut net = Net::new(config, |_, _| {});
    net.call(0, "5", b"", x25::Call::default());
    let offered = net.dtes[1].offered.take().unwrap();
    let (session, reason, data) = (offered.provider, clear(0, 9), None);
    net.say(1, Request::Abort { session, reason, data });
    assert_eq!(told(net.ended(0).0), (0, 9));
    assert!(net.dtes[2].offered.is_none());
    let line = net.dtes[1].line[1];
    net.bench.indicate(line, Indication::Report(Box::new(Report::Down)));
    net.call(0, "5", b"", x25::Call::default());
    net.accept(2, x25::Call::default());
    assert!(net.dtes[0].session.is_some());
    assert_eq!(net.protocol().counters().hunted, 1);
}

#[test]
fn the_next_target_is_called_where_the_first_has_no_place() {
    let config = Config { routes: vec![route("", &["b", "c"])], ..Config::default() };
    for (code, goes_on) in [(diagnostic::RESOURCES, true), (diagnostic::DTE_DOWN, false)] {
        let mut net = Net::new(config.clone(), |_, _| {});
        net.call(0, "5", b"", x25::Call::default());
        let offered = net.dtes[1].offered.take().unwrap();
        let (session, reason, data) = (offered.provider, clear(0, code), None);
        net.say(1, Request::Abort { session, reason, data });
        assert_eq!(net.dtes[2].offered.is_some(), goes_on, "{code}");
    }
}

#[test]
fn a_call_that_is_refused_is_told_with_where_it_was_tried() {
    let config = Config { routes: vec![route("", &["b"])], ..Config::default() };
    let mut net = Net::new(config, |_, _| {});
    let line = net.dtes[1].line[1];
    net.bench.indicate(line, Indication::Report(Box::new(Report::Down)));
    net.events();
    net.call(0, "5", b"", x25::Call::default());
    let events = net.events();
    let tried = events.iter().find_map(|event| match event {
        CallEvent::Refused { tried, .. } => tried.clone(),
        _ => None,
    });
    assert_eq!(tried, Some(("b".to_owned(), Reason::Down)), "{events:?}");
}

#[test]
fn a_line_without_a_channel_left_is_passed_over() {
    let config = Config { routes: vec![route("", &["b", "c"])], ..Config::default() };
    let mut net = Net::new(config, |n, config| {
        if n == 1 {
            config.ranges.two_way = (1, 1);
        }
    });
    net.call(0, "5", b"", x25::Call::default());
    net.accept(1, x25::Call::default());
    net.call(0, "6", b"", x25::Call::default());
    assert!(net.dtes[2].offered.is_some());
}

#[test]
fn routes_ask_for_ports_and_user_data_and_change_numbers() {
    let from_c = Route {
        from: vec!["c".to_owned()],
        called: Rewrite { strip: 1, prepend: number("9") },
        calling: Rewrite { strip: 0, prepend: number("44") },
        ..route("2", &["a"])
    };
    let pad = Route { user_data: vec![1, 0], ..route("2", &["c"]) };
    let config = Config { routes: vec![route("2", &["b"]), pad, from_c], ..Config::default() };
    let mut net = Net::new(config, |_, _| {});
    net.call(0, "277", &[3, 1], x25::Call::default());
    assert!(net.dtes[1].offered.is_some());
    net.call(0, "277", &[1, 0, 0, 0], x25::Call::default());
    assert!(net.dtes[2].offered.is_some());
    net.call(2, "277", &[1, 0, 0, 0], x25::Call::default());
    let offered = net.dtes[0].offered.take().unwrap();
    assert_eq!(offered.local, Address::from(number("977")));
    assert_eq!(offered.remote, Address::from(number("44300")));
}

#[test]
fn a_number_that_grows_too_long_is_refused() {
    let long = Rewrite { strip: 0, prepend: number("12345678901234") };
    assert!(long.of(number("12")).is_err());
    assert_eq!(long.of(number("2")).unwrap(), number("123456789012342"));
    let strip = Rewrite { strip: 3, prepend: number("7") };
    assert_eq!(strip.of(number("12")).unwrap(), number("7"));
    assert_eq!(strip.of(number("1:1:1234")).unwrap(), number("1:1:74"));
}

#[test]
fn clear_data_of_fast_select_goes_through() {
    let mut net = Net::plain();
    let charging = Charging { fast_select: FastSelect::Unrestricted, ..Charging::default() };
    let call = x25::Call { facilities: Facilities(vec![Facility::Charging(charging)]), ..x25::Call::default() };
    net.call(0, "277", &[7; 100], call);
    let offered = net.dtes[1].offered.take().unwrap();
    assert_eq!(offered.data.unwrap().to_vec(), [7; 100]);
    let (session, reason) = (offered.provider, clear(0, 3));
    let data = Some(Message::from_octets(b"no, but thanks"));
    net.say(1, Request::Abort { session, reason, data });
    let (reason, data) = net.ended(0);
    assert_eq!((told(reason), data.as_slice()), ((0, 3), &b"no, but thanks"[..]));
}

#[test]
fn calls_over_a_line_that_goes_down_are_cleared_as_out_of_order() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    let line = net.dtes[1].line[1];
    net.bench.indicate(line, Indication::Report(Box::new(Report::Down)));
    net.run();
    assert_eq!(told(net.ended(0).0), (0x09, 0));
    assert_eq!(net.protocol().calls(), 0);
    let events = net.events();
    assert!(events.contains(&CallEvent::Down("b".to_owned())), "{events:?}");
}

#[test]
fn a_caller_that_gives_up_is_cleared_at_the_other_end_at_once() {
    let mut net = Net::plain();
    net.call(0, "277", b"", x25::Call::default());
    let offered = net.dtes[1].offered.take().unwrap();
    net.say(0, Request::Cancel { user: OWN });
    assert_eq!(net.protocol().calls(), 0);
    let accept = Accept { session: offered.provider, user: OWN, ..Accept::default() };
    net.say(1, Request::Accept(Box::new(accept)));
    assert_eq!(net.ended(1).0, Reason::NoSession);
}

#[test]
fn why_a_caller_gives_up_before_the_answer_goes_on() {
    let mut net = Net::plain();
    let charging = Charging { fast_select: FastSelect::Unrestricted, ..Charging::default() };
    let call = x25::Call { facilities: Facilities(vec![Facility::Charging(charging)]), ..x25::Call::default() };
    net.call(0, "277", b"", call);
    let offered = net.dtes[1].offered.take().unwrap();
    let user = (OWN.index, OWN.generation);
    let session = offered.provider;
    let what = Special::new(Primitive::Claim { user });
    net.say(1, Request::Special { session, what });
    let (why, data) = (cleared(0, 77), Some(Message::from_octets(b"bye")));
    let what = Special::new(Primitive::TakeBack { user, why, data });
    let session = Handle::default();
    net.say(0, Request::Special { session, what });
    let (reason, data) = net.ended(1);
    assert_eq!((told(reason), data.as_slice()), ((0, 77), &b"bye"[..]));
    assert_eq!(net.protocol().calls(), 0);
}

#[test]
fn a_call_to_a_port_whose_link_rests_brings_it_up() {
    let mut bench = Bench::new();
    let caller = bench.device("dce a");
    bench.node("a", &["dce a"], X25::new(frames(Role::Dce)).unwrap());
    let line = bench.device("line");
    bench.node("lapb", &["line"], crate::lapb::Lapb::new(crate::lapb::Config::default()).unwrap());
    let idle = packet::Config { role: Some(Role::Dce), idle: Duration::from_secs(60), ..packet::Config::default() };
    bench.node("rests", &["lapb"], X25::new(idle).unwrap());
    let config = Config { routes: vec![route("2", &["rests"])], ..Config::default() };
    let switch = bench.node("switch", &["a", "rests"], Switch::new(config));
    bench.start();
    let frames_out = |bench: &mut Bench| {
        let sent = bench.sent().into_iter();
        sent.filter(|(device, _)| *device == line).count()
    };
    bench.pass(Duration::from_secs(600));
    assert_eq!(frames_out(&mut bench), 0);
    let ports = bench.graph.protocol::<Switch>(switch).unwrap().ports();
    assert_eq!(ports.iter().map(|it| it.is_up).collect::<Vec<_>>(), [false, true]);
    bench.octets(caller, &hex("10 00 ff"));
    bench.octets(caller, &hex("10 20 0b 01 20 00"));
    assert_eq!(frames_out(&mut bench), 1);
}

#[test]
fn one_call_more_than_may_be_is_congestion() {
    let config = Config { routes: vec![route("2", &["b"])], max_calls: 1, ..Config::default() };
    let mut net = Net::new(config, |_, _| {});
    net.set_up(0, 1, x25::Call::default());
    net.call(2, "277", b"", x25::Call::default());
    assert_eq!(told(net.ended(2).0), (0x05, 71));
}

#[test]
fn closing_clears_all_calls_and_takes_no_more() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    let (now, switch) = (net.bench.now, net.switch);
    net.bench.graph.wake(now, switch, CLOSE);
    net.pass(Duration::from_millis(10));
    assert_eq!(told(net.ended(0).0), (0x09, 0));
    assert_eq!(told(net.ended(1).0), (0x09, 0));
    net.call(0, "277", b"", x25::Call::default());
    assert_eq!(told(net.ended(0).0).0, 0x0d);
}

#[test]
fn a_call_by_which_nothing_crosses_is_cleared_at_both_ends() {
    let config = Config { routes: vec![route("2", &["b"])], idle: Some(Duration::from_secs(60)), ..Config::default() };
    let mut net = Net::new(config, |_, _| {});
    net.set_up(0, 1, x25::Call::default());
    net.pass(Duration::from_secs(50));
    // Whatever crosses, and whichever way, begins the time again.
    net.send(1, b"x", true, false, false);
    net.pass(Duration::from_secs(50));
    net.interrupt(0, 7);
    net.pass(Duration::from_secs(59));
    assert_eq!(net.protocol().calls(), 1);
    net.pass(Duration::from_secs(1));
    assert_eq!(net.protocol().calls(), 0);
    for n in [0, 1] {
        assert_eq!(told(net.ended(n).0), (0x13, 48));
    }
    let events = net.events();
    assert!(matches!(events.as_slice(), [.., CallEvent::Cleared { by: None, .. }]), "{events:?}");
}

#[test]
fn a_call_that_is_sent_away_is_cleared_with_congestion() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    let number = net.protocol().take_events().map(|it| it.call).max();
    net.protocol().send_away(number.unwrap());
    // Another that is none is nobody's.
    net.protocol().send_away(99);
    let (now, switch) = (net.bench.now, net.switch);
    net.bench.graph.wake(now, switch, CLEAR);
    net.pass(Duration::from_millis(10));
    assert_eq!(net.protocol().calls(), 0);
    for n in [0, 1] {
        assert_eq!(told(net.ended(n).0), (0x05, 0));
    }
}

#[test]
fn a_call_that_comes_when_memory_is_short_is_cleared_with_congestion() {
    let mut net = Net::plain();
    let budget = kumiki_octets::Budget::new(1 << 20);
    let own = budget.account(0).unwrap();
    net.bench.graph.set_budget(own);
    net.set_up(0, 1, x25::Call::default());
    net.clear(0, Reason::User, b"");
    let other = budget.account(0).unwrap();
    other.stand(600 << 10).unwrap();
    net.call(0, "277", b"", x25::Call::default());
    assert_eq!(told(net.ended(0).0), (0x05, 0));
    assert!(net.dtes[1].offered.is_none());
}
