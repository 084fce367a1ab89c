//! The notation reads what it prints and bears any text; the judge refuses what is not as written, and says what is.

use proptest::prelude::*;

use kumiki_wire::inet::ipv4::Ecn;
use kumiki_wire::inet::tcp::Flags;
use kumiki_wire::inet::tcp::accecn::{AccEcn, Order};

use super::notation::{
    Call, Event, EventTime, Icmp, IcmpKind, Line, Marks, Number, Opt, Options, ProgramEvent, Segment, Set, StackView,
    Time,
};
use super::*;

fn read(text: &str) -> Script {
    parse("x.script", text).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn wrong(text: &str) -> String {
    parse("x.script", text).unwrap_err().to_string()
}

/// What our stack is told to do wrong.
fn failure(lines: &str) -> String {
    let header = "[tcp]\ntimestamps = false\nsack = false\nwindow_scaling = false\n---\n";
    let outcome = run(&read(&format!("{header}{lines}")), false).unwrap();
    outcome.failure.expect("the script is not met").to_string()
}

const HANDSHAKE: &str =
    "0 listen\n+0 < S 0:0(0) <mss 1000>\n+0 > S. 0:0(0) ack 1 <mss 1460>\n+0.1 < . 1:1(0) ack 1\n+0 accept\n";

#[test]
fn a_mistake_is_told_with_its_place_and_what_would_be_right() {
    assert_eq!(
        wrong("0 lisen"),
        "x.script:1:3: \"lisen\" is no event; perhaps listen? There are listen, connect, accept, write, urge, read, shutdown, close, abort, set, readable, silence, fresh, opened, offered, ended, closed, reset, refused, timed_out, unreachable, net_unreachable, prohibited"
    );
    assert_eq!(
        wrong("# nothing\n\n+0.1 > P. 1:1001(100) ack 1"),
        "x.script:3:13: 1 and 100 octets do not end at 1001; 1:101(100) would be right"
    );
    assert_eq!(
        wrong("0 > S. 0:0(0)"),
        "x.script:1:14: the flag \".\" and \"ack\" belong together; either both or none"
    );
    assert_eq!(
        wrong("0 > S 0:0(0) <mss 70000>"),
        "x.script:1:19: \"70000>\" is not understood; here belongs a segment size, at most 65535, or *"
    );
    assert_eq!(
        wrong("0 < S 0:0(0) <...>"),
        "x.script:1:18: what is sent must be said; the options themselves, such as <mss 1460>"
    );
    assert!(wrong("soon listen").starts_with("x.script:1:1: \"soon\" is not understood; here belongs a time"));
    assert!(wrong("0.0000000001 listen").contains("up to nine decimals"));
    assert!(wrong("0 write 1000 octets").contains("here belongs the end of the line"));
    assert!(wrong("1 listen\n0.5 connect").starts_with("x.script:2:1: 0.5 is before 1"));
}

#[test]
fn a_mistake_in_the_header_is_told_with_its_line() {
    let said = |text: &str, beginning: &str| {
        let said = wrong(text);
        assert!(said.starts_with(beginning), "{said}");
        said
    };
    said("# x\nipp = 4\n---\n", "x.script:2:1: ipp = 4: unknown ");
    said("ip = 5\n---\n", "x.script:1:1: ip = 5: there is no such version of IP here; expected 4 or 6");
    said("\nlinux = \"no\"\n---\n", "x.script:2:1: linux = \"no\": that says nothing; expected \"no: \"");
    said("ip = 6\nmtu = 576\n---\n", "x.script:2:1: mtu = 576: the MTU is too small; expected at least 1280");
    said("ip = 6\n\n[linux]\ntolerance = \"3 apples\"\n---\n", "x.script:4:1: linux.tolerance = \"3 apples\": ");
    said("[tcp\n---\n", "x.script:1:");
    // So are the settings of the stack.
    let sack = said("# x\n[tcp]\ntimestamps = false\nsak = true\n---\n0 connect", "x.script:4:1: tcp.sak = true: ");
    assert!(sack.ends_with("unknown setting \"sak\"; did you mean \"sack\"?"), "{sack}");
    said(
        "[tcp]\n\ninitial_window = \"large\"\n---\n",
        "x.script:3:1: tcp.initial_window = \"large\": unknown value \"large\"; one of rfc3390, rfc6928",
    );
    said("[tcp]\nrto = { min = \"1 s\",\n  maximum = 7 }\n---\n", "x.script:3:3: tcp.rto.maximum = 7: ");
}

#[test]
fn a_setting_of_which_linux_knows_nothing_must_be_spoken_of() {
    let script = read("[tcp]\nack.every = 1\n---\n");
    let Linux::Yes(same) = &script.header.linux else { panic!("it applies") };
    let said = script.header.sysctls(same).unwrap_err();
    assert!(said.starts_with("line 2: what tcp.ack is"), "{said}");
}

#[test]
fn a_socket_of_linux_has_the_congestion_control_of_the_script() {
    for (said, controller) in [("", "cubic"), ("congestion = \"cubic\"", "cubic"), ("congestion = \"newreno\"", "reno")]
    {
        let script = read(&format!("[tcp]\n{said}\n---\n"));
        assert_eq!(script.header.controller().as_deref(), Ok(controller));
        let Linux::Yes(same) = &script.header.linux else { panic!("it applies") };
        assert_eq!(script.header.sysctls(same), Ok(Vec::new()), "none of these");
    }
    let script = read("[tcp]\ncongestion = \"fixed\"\n---\n");
    let said = script.header.controller().unwrap_err();
    assert!(said.starts_with("line 2: what tcp.congestion is"), "{said}");
}

#[test]
fn another_segment_is_shown_below_the_one_expected() {
    let got = failure(&format!("{HANDSHAKE}+0 write 100\n+0 > . 1:101(100) ack 1 urg 7\n"));
    assert_eq!(
        got,
        "x.script:12: the segment is another one\n  expected  0.1 > . 1:101(100) ack 1 urg 7\n  got       0.1 > P. 1:101(100) ack 1\n                  ^^"
    );
}

#[test]
fn another_time_is_told_to_the_nanosecond() {
    let got =
        failure(&format!("{HANDSHAKE}+0 write 100\n+0 > P. 1:101(100) ack 1\n+0.300000001 > P. 1:101(100) ack 1\n"));
    assert_eq!(
        got,
        "x.script:13: the segment came at another time\n  expected  0.400000001 > P. 1:101(100) ack 1\n  got       0.4 > P. 1:101(100) ack 1\n            ^^^^^"
    );
}

#[test]
fn a_segment_that_does_not_come_is_told_with_what_comes_instead() {
    let got = failure(&format!("{HANDSHAKE}+0 write 100\n+0 > P. 1:101(100) ack 1\n+0.1 > P. 1:101(100) ack 1\n"));
    assert!(got.contains("the segment did not come"), "{got}");
    assert!(got.contains("next is   0.4 > P. 1:101(100) ack 1"), "{got}");
}

#[test]
fn what_no_line_expects_is_told_before_the_next_line_and_at_the_end() {
    let got = failure(&format!("{HANDSHAKE}+0 write 100\n+0.1 read 0\n"));
    let what = "before this line the stack sent what no line expects";
    assert!(got.starts_with(&format!("x.script:12: {what}")), "{got}");
    let got = failure(&format!("{HANDSHAKE}+0 write 100\n"));
    assert!(got.starts_with(&format!("x.script:11: after the last line: {what}")), "{got}");
}

#[test]
fn an_ending_must_be_spoken_of() {
    let got = failure(&format!("{HANDSHAKE}+0 < R 1:1(0)\n+1 silence\n"));
    assert!(got.contains("connection 1: reset"), "{got}");
    let met = run(&read(&format!("[tcp]\ntimestamps = false\n---\n{HANDSHAKE}+0 < R 1:1(0)\n+0 reset\n")), false);
    assert_eq!(met.unwrap().failure, None);
    let got = failure(&format!("{HANDSHAKE}+0 < R 1:1(0)\n+0.1 reset\n"));
    assert!(got.contains("not heard"), "then and not later: {got}");
}

#[test]
fn what_is_read_must_be_there_and_as_it_was_sent() {
    let got = failure(&format!("{HANDSHAKE}+0 < P. 1:101(100) ack 1\n+0 read 101\n"));
    assert!(got.contains("100 octets are there"), "{got}");
    let got = failure(&format!("{HANDSHAKE}+0 < {{other}} P. 1:101(100) ack 1\n+0 read 100\n"));
    assert!(got.contains("is not what the peer sent"), "{got}");
}

#[test]
fn what_is_recorded_is_a_script_that_is_met() {
    let text = "[tcp]\nreceive_buffer = \"64000 B\"\n---\n0 listen\n+0 < S 0:0(0) <mss 1000,sackOK,TS val 5 ecr 0,nop,wscale 7>\n+0.1 < . 1:1(0) ack 1 <nop,nop,TS val 105 ecr 1000>\n+0 accept\n+0 write 1500\n+0.5 < . 1:1(0) ack 1501 <nop,nop,TS val 605 ecr 1100>\n+0.1 shutdown\n+1 silence\n";
    let recorded = run(&read(text), true).unwrap().recorded.join("\n");
    assert!(recorded.matches('>').count() > 8, "{recorded}");
    let header = text.split("---").next().unwrap();
    let again = run(&read(&format!("{header}---\n{recorded}")), false).unwrap();
    assert_eq!(again.failure, None, "{recorded}");
}

#[test]
fn a_capture_holds_every_packet() {
    let outcome = run(&read(&format!("{HANDSHAKE}+0.1 shutdown\n")), true).unwrap();
    let out = pcapng(&outcome.crossed, 0, Vec::new()).unwrap();
    assert_eq!(outcome.crossed.len(), 4);
    assert!(out.len() > 4 * 40);
}

fn arb_time() -> impl Strategy<Value = Time> {
    let span = (0_u64..1_000_000_000_000).prop_map(Duration::from_nanos);
    let moment = span.clone().prop_map(EventTime::After);
    (moment, proptest::option::of(span)).prop_map(|(moment, late)| Time { moment, late })
}

fn arb_number(most: u32) -> impl Strategy<Value = Number> {
    prop_oneof![Just(Number::Any), (0..=most).prop_map(Number::Is)]
}

fn arb_seq() -> impl Strategy<Value = i64> {
    -(1_i64 << 31)..1 << 31
}

fn arb_opt() -> impl Strategy<Value = Opt> {
    prop_oneof![
        Just(Opt::End),
        Just(Opt::Nop),
        Just(Opt::SackOk),
        arb_number(65_535).prop_map(Opt::Mss),
        arb_number(255).prop_map(Opt::WindowScale),
        proptest::collection::vec((arb_seq(), arb_seq()), 1..3).prop_map(Opt::Sack),
        (arb_number(u32::MAX), arb_number(u32::MAX)).prop_map(|(a, b)| Opt::Timestamps(a, b)),
        (0_u16..0x8000, any::<bool>()).prop_map(|(value, m)| Opt::UserTimeout(value, m)),
        (any::<bool>(), 0_usize..4, [0_u32..1 << 24, 0..1 << 24, 0..1 << 24]).prop_map(|(one, used, [a, b, c])| {
            let order = if one && used > 0 { Order::One } else { Order::Zero };
            Opt::AccEcn(AccEcn::new(order, used, a, b, c))
        }),
        proptest::collection::vec(any::<u8>(), 1..8).prop_map(Opt::Hex),
    ]
}

fn arb_marks(inward: bool) -> impl Strategy<Value = Marks> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let bad = any::<bool>().prop_map(move |bad| bad && inward);
    (any::<Option<u8>>(), any::<Option<u8>>(), proptest::option::of(ecn), any::<Option<bool>>(), bad.clone(), bad)
        .prop_map(|(ttl, tos, ecn, df, bad_sum, other)| Marks { ttl, tos, ecn, df, bad_sum, other })
}

prop_compose! {
    fn arb_segment(inward: bool)(
        marks in arb_marks(inward),
        bits in 0_u16..512,
        seq in arb_seq(),
        len in 0_u32..65_536,
        ack in arb_seq(),
        window in any::<Option<u16>>(),
        urgent in any::<Option<u16>>(),
        options in proptest::collection::vec(arb_opt(), 0..3),
        free in any::<bool>(),
    ) -> Segment {
        let flags = Flags::from_bits(bits);
        let fits = options.iter().map(Opt::size).sum::<usize>() <= 40;
        let options = if free && !inward {
            Options::Any
        } else {
            Options::List(if fits { options } else { Vec::new() })
        };
        let ack = flags.contains(Flags::ACK).then_some(ack);
        Segment { marks, flags, seq, len, ack, window, urgent, options }
    }
}

fn arb_call() -> impl Strategy<Value = Call> {
    let span = (0_u64..1_000_000_000_000).prop_map(Duration::from_nanos);
    let keep_alive = proptest::option::of((span.clone(), span.clone(), any::<u32>()));
    prop_oneof![
        any::<u32>().prop_map(Call::Listen),
        Just(Call::Connect),
        Just(Call::Accept),
        (0_u32..1 << 30).prop_map(Call::Write),
        (0_u32..1 << 30).prop_map(Call::Urge),
        (0_u32..1 << 30).prop_map(Call::Read),
        Just(Call::Shutdown),
        Just(Call::Close),
        Just(Call::Abort),
        any::<bool>().prop_map(|on| Call::Set(Set::NoDelay(on))),
        Just(Call::Set(Set::Minshall)),
        keep_alive.prop_map(|it| Call::Set(Set::KeepAlive(it))),
        span.prop_map(|it| Call::Set(Set::UserTimeout(it))),
        any::<u8>().prop_map(|it| Call::Set(Set::Ttl(it))),
        any::<u8>().prop_map(|it| Call::Set(Set::Tos(it))),
    ]
}

fn arb_see() -> impl Strategy<Value = StackView> {
    let span = (0_u64..1_000_000_000_000).prop_map(Duration::from_nanos);
    prop_oneof![
        any::<u64>().prop_map(StackView::Cwnd),
        any::<u64>().prop_map(StackView::Ssthresh),
        any::<u32>().prop_map(StackView::SndWnd),
        any::<u32>().prop_map(StackView::RcvWnd),
        span.clone().prop_map(StackView::Srtt),
        span.prop_map(StackView::Rto),
        proptest::sample::select(StackView::STATES.to_vec()).prop_map(StackView::State),
        (0_usize..1000).prop_map(StackView::Connections),
        any::<u32>().prop_map(StackView::Urgent),
        Just(StackView::NoAnswer),
        Just(StackView::Answered),
        Just(StackView::Problem),
    ]
}

fn arb_event() -> impl Strategy<Value = Event> {
    let kinds = IcmpKind::ALL.map(|it| it.kind).to_vec();
    let icmp = (proptest::sample::select(kinds), any::<u16>(), proptest::option::of(arb_seq()));
    let plain = ProgramEvent::ALL.map(|(hear, _)| hear).to_vec();
    prop_oneof![
        arb_segment(true).prop_map(Event::In),
        arb_segment(false).prop_map(Event::Out),
        icmp.prop_map(|(kind, mtu, seq)| Event::Icmp(Icmp { kind, mtu, seq })),
        arb_call().prop_map(Event::Call),
        (0_u32..1 << 30).prop_map(|it| Event::Hear(ProgramEvent::Readable(it))),
        proptest::sample::select(plain).prop_map(Event::Hear),
        proptest::collection::vec(arb_see(), 1..4).prop_map(Event::See),
        Just(Event::Silence),
        Just(Event::Fresh),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_it_was(
        time in arb_time(),
        connection in 1_u8..100,
        event in arb_event(),
    ) {
        let line = Line { number: 1, time, connection, event };
        let text = line.to_string();
        let script = parse("x", &text);
        prop_assert!(script.is_ok(), "{text}: {}", script.unwrap_err());
        let lines = script.unwrap().lines;
        prop_assert_eq!(&lines, &[line]);
        prop_assert_eq!(lines[0].to_string(), text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = parse("x", &text);
    }

    #[test]
    fn any_text_of_the_notations_own_words_is_read_or_refused(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "0", "+0.1", "~", "@2", "<", ">", "?", "S.", "1:1001(1000)", "ack", "1", "win", "<mss", "1460>", "<...>", "{", "ttl", "}", "sack", "TS",
                "val", "ecr", "*", ",", "hex", "0", "icmp", "too_big", "mtu", "-1", "listen", "set", "keepalive", "state", "cwnd", "\n", "---", "#", "uto", "5m",
            ]),
            0..20,
        )
    ) {
        let _ = parse("x", &words.join(" "));
    }

    /// Whatever the line says, both sides survive it.
    #[test]
    fn any_script_is_run_to_its_end(
        lines in proptest::collection::vec(
            (0_u64..2_000_000_000, 1_u8..3, arb_event()),
            0..12,
        )
    ) {
        let mut text = String::from("0 listen\n");
        for (after, connection, event) in lines {
            // What is written must end some time.
            let event = if let Event::Call(Call::Write(octets)) = event {
                Event::Call(Call::Write(octets % 100_000))
            } else if let Event::Call(Call::Urge(octets)) = event {
                Event::Call(Call::Urge(octets % 1000))
            } else {
                event
            };
            let moment = EventTime::After(Duration::from_nanos(after));
            let time = Time { moment, late: None };
            text.push_str(&Line { number: 0, time, connection, event }.to_string());
            text.push('\n');
        }
        let script = read(&text);
        let _ = run(&script, true).unwrap();
        let _ = run(&script, false).unwrap();
    }
}
