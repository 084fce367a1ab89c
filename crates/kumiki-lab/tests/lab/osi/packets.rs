//! Calls of X.25 on LAPB.

use kumiki_graph::Parameters;
use kumiki_graph::Special;
use kumiki_graph::{Address, Duration, Handle, Indication, Mode, NodeId, Open, Reason, Request};
use kumiki_octets::Message;
use kumiki_osi_service::x25::{Call, Charging, Extension, Facilities, Facility, FastSelect, Marker, Primitive};
use kumiki_stack::Settings;

use super::bench::{Bench, CALLER, FAR, LISTENER, NEAR, accepting};
use crate::arrange::tshark;

/// Two packet layers on a link, of which the far one takes calls.
fn pair(near: &Settings, far: &Settings) -> (Bench, [NodeId; 2]) {
    let mut bench = Bench::new();
    for (host, settings) in [(NEAR, near), (FAR, far)] {
        bench.line(host);
        let role = ["dte", "dce"][host];
        let link = Settings::new().with("role", role);
        bench.build(host, "lapb", &["line"], &link);
        let settings = settings.clone().with("role", role);
        bench.build(host, "x25", &["lapb"], &settings);
    }
    let users = [NEAR, FAR].map(|host| bench.user(host, "x25"));
    bench.person(users[FAR]).accept = Some(accepting(None));
    bench.start();
    let listen = Open { user: LISTENER, mode: Mode::Passive { backlog: 1 }, ..Open::default() };
    bench.say(users[FAR], Request::Open(Box::new(listen)));
    (bench, users)
}

fn number(digits: &str) -> Address {
    Address::from(digits.parse::<kumiki_octets::Number>().unwrap())
}

fn call(bench: &mut Bench, user: NodeId, data: &[u8], facilities: Vec<Facility>) {
    let open = Open {
        user: CALLER,
        remote: number("12345"),
        local: number("9001"),
        data: Some(Message::from_octets(data)),
        parameters: Parameters::of(Call { facilities: Facilities(facilities), ..Call::default() }),
        ..Open::default()
    };
    bench.say(user, Request::Open(Box::new(open)));
}

fn data(bench: &mut Bench, user: NodeId, octets: &[u8]) {
    let session = bench.person(user).session;
    let (data, end) = (Message::from_octets(octets), true);
    bench.say(user, Request::Data { session, data, end });
    bench.pass(Duration::from_secs(1));
}

fn clear(bench: &mut Bench, user: NodeId) {
    let (session, reason, data) = (bench.person(user).session, Reason::User, None);
    bench.say(user, Request::Abort { session, reason, data });
    bench.pass(Duration::from_secs(1));
}

/// What tshark reads of packets of this type; nothing malformed and no remark of any kind.
fn of(name: &str, bench: &mut Bench, kind: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut all = vec!["_ws.malformed", "_ws.expert.message", "x25.type"];
    all.extend(fields);
    let rows = tshark(name, &bench.capture(), &all)?;
    for row in &rows {
        assert_eq!(row[..2], ["", ""], "{row:?}");
    }
    let rows = rows.into_iter().filter(|row| row[2] == kind);
    Some(rows.map(|mut row| row.split_off(3)).collect())
}

#[test]
fn tshark_reads_what_a_call_asks_for_and_gets() {
    let small = Settings::new().with("packet", kumiki_stack::Value::Octets(256)).with("window", 3);
    let (mut bench, [near, far]) = pair(&Settings::new(), &small);
    let facilities = vec![
        Facility::Charging(Charging { reverse: true, ..Charging::default() }),
        Facility::Throughput { called: 10, calling: 12 },
        Facility::ClosedGroup(7),
        Facility::TransitDelay(300),
        Facility::Marker(Marker::Dte),
        Facility::CalledExtension(Extension::of_number(&"4711".parse().unwrap())),
        Facility::EndToEndDelay(vec![100, 200, 400]),
    ];
    call(&mut bench, near, &[3, 1, 1, 0], facilities);
    assert!(bench.person(near).session != Handle::default());
    clear(&mut bench, far);
    let name = "x25-facilities";
    let flow = [
        "x25.facility.packet_size.called_dte",
        "x25.facility.packet_size.calling_dte",
        "x25.window_size.called_dte",
        "x25.window_size.calling_dte",
    ];
    let Some(asked) = of(name, &mut bench, "0x0b", &flow) else {
        return;
    };
    assert_eq!(asked, [["10", "10", "7", "7"]]);
    let got = of(name, &mut bench, "0x0f", &flow).unwrap();
    assert_eq!(got, [["8", "8", "3", "3"]]);
    let fields = [
        "x25.called_address",
        "x25.calling_address",
        "x25.reverse_charging",
        "x25.facility.throughput.called_dte",
        "x25.facility.throughput.calling_dte",
        "x25.facility.cug",
        "x25.facility.transit_delay",
        "x25.facility.cumulative_ete_transit_delay",
        "x25.x264_protocol_id",
    ];
    let asked = of(name, &mut bench, "0x0b", &fields).unwrap();
    assert_eq!(asked, [["12345", "9001", "1", "10", "12", "0x07", "300", "100", "0x01"]]);
    let cleared = of(name, &mut bench, "0x13", &["x25.clear_cause", "x25.diagnostic"]).unwrap();
    assert_eq!(cleared, [["0x00", "0"]]);
}

#[test]
fn tshark_follows_data_interrupts_and_resets_of_both_moduli() {
    for (extended, name) in [(false, "x25-8"), (true, "x25-128")] {
        let settings = Settings::new().with("extended", extended);
        let (mut bench, [near, far]) = pair(&settings, &settings);
        call(&mut bench, near, &[1, 0, 0, 0], Vec::new());
        data(&mut bench, near, &[7; 2500]);
        data(&mut bench, far, &[8; 10]);
        let session = bench.person(near).session;
        let expedited = Request::Expedited { session, data: Message::from_octets(&[1, 2, 3]) };
        bench.say(near, expedited);
        bench.pass(Duration::from_secs(1));
        let qualified =
            Primitive::Data { data: Message::from_octets(b"qualified"), end: true, qualified: true, delivery: true };
        let what = Special::new(qualified);
        bench.say(near, Request::Special { session, what });
        let reason = Reason::User;
        bench.say(near, Request::Reset { session, reason });
        bench.pass(Duration::from_secs(1));
        data(&mut bench, near, &[9; 20]);
        clear(&mut bench, near);
        let heard = &bench.person(far).heard;
        let expedited = |it: &&Indication| matches!(it, Indication::Expedited { .. });
        let reset = |it: &&Indication| matches!(it, Indication::Reset { .. });
        assert_eq!(heard.iter().filter(expedited).count(), 1);
        assert_eq!(heard.iter().filter(reset).count(), 1);

        // Modulo 128 tshark 4.0 takes the one number for the other; Linux's packet layer reads them as we do.
        let (ps, pr) = if extended { ("x25.p_r", "x25.p_s") } else { ("x25.p_s", "x25.p_r") };
        let fields = ["x25.mod", "x25.q", "x25.d", ps, "x25.m", pr];
        let Some(packets) = of(name, &mut bench, "0x00", &fields) else {
            return;
        };
        let modulo = ["1", "2"][usize::from(extended)];
        // Three of a message, the answer, one with Q and D; after the reset numbers start over.
        let wanted = [
            ["0", "0", "0", "1", "0"],
            ["0", "0", "1", "1", "0"],
            ["0", "0", "2", "0", "0"],
            ["0", "0", "0", "0", "3"],
            ["1", "1", "3", "0", "1"],
            ["0", "0", "0", "0", "0"],
        ];
        let numbers: Vec<&[String]> = packets.iter().map(|row| &row[1..]).collect();
        assert_eq!(numbers, wanted);
        assert!(packets.iter().all(|row| row[0] == modulo), "{packets:?}");
        for (kind, count) in [
            ("0xfb", 2),
            ("0x0b", 1),
            ("0x0f", 1),
            ("0x23", 1),
            ("0x27", 1),
            ("0x1b", 1),
            ("0x1f", 1),
            ("0x13", 1),
            ("0x17", 1),
        ] {
            let found = of(name, &mut bench, kind, &["x25.lcn"]).unwrap();
            assert_eq!(found.len(), count, "{kind}");
        }
        let messages = of(name, &mut bench, "0x00", &["x25.reassembled.length"]).unwrap();
        assert!(messages.iter().any(|row| row[0] == "2500"), "{messages:?}");
    }
}

#[test]
fn tshark_reads_a_call_that_is_answered_by_clearing_it_with_data() {
    let (mut bench, [near, far]) = pair(&Settings::new(), &Settings::new());
    bench.person(far).accept = None;
    let facilities = vec![Facility::Charging(Charging { fast_select: FastSelect::Restricted, ..Charging::default() })];
    call(&mut bench, near, &[0xc0; 100], facilities);
    bench.pass(Duration::from_secs(1));
    let heard = &bench.person(near).heard;
    assert!(matches!(heard[..], [Indication::Report(_), Indication::Aborted { .. }]));
    let Some(asked) = of("x25-fast", &mut bench, "0x0b", &["x25.fast_select"]) else {
        return;
    };
    assert_eq!(asked, [["3"]]);
}
