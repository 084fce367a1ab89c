use kumiki_graph::{DeviceId, NodeId};

use super::*;
use kumiki_testkit::bench::{Bench, hex};

/// An LCP Configure-Request with magic number 7E7D1234, recomputed from RFC 1662 with control characters as they are
/// and escaped.
const REQUEST: &str = "ff03c021 0101000a 05067e7d1234";
const REQUEST_BARE: &str = "7eff03c0210101000a05067d5e7d5d1234af3d7e";

struct Line {
    bench: Bench,
    line: DeviceId,
    user: NodeId,
}

fn line(config: Config) -> Line {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("hdlc", &["line"], Hdlc::new(config));
    let user = bench.user("ppp", "hdlc", &[Key::Only]);
    bench.start();
    Line { bench, line, user }
}

impl Line {
    /// The octets of the line that carry `frame`.
    fn sends(&mut self, frame: &str) -> Vec<u8> {
        let unit = Unit::of(Message::from_octets(&hex(frame)));
        self.bench.send(self.user, unit);
        self.bench.sent_octets().concat()
    }

    /// The frames that go up.
    fn hears(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        self.bench.octets(self.line, octets);
        self.bench.pass(kumiki_graph::Duration::ZERO);
        let units = self.bench.units(self.user);
        units.iter().map(|unit| unit.data.to_vec()).collect()
    }

    fn agree(&mut self, agreed: Option<Agreement>) {
        let link = Manage::special(LinkManage::Agreed(agreed));
        self.bench.say(self.user, Request::Manage(Box::new(link)));
    }

    fn counters(&self) -> Counters {
        let node = self.bench.graph.node("hdlc").unwrap();
        let hdlc = self.bench.graph.protocol::<Hdlc>(node).unwrap();
        hdlc.counters()
    }
}

const AGREED: Agreement = Agreement {
    peer_mru: 1500,
    mru: 1500,
    send_accm: 0x000a_0000,
    receive_accm: 0,
    acfc: false,
    pfc: false,
    send_fcs: 16,
    receive_fcs: 16,
};

fn on_line(frame: &str, accm: Accm, fcs: FcsKind) -> Vec<u8> {
    let framing = Framing { fcs, accm, opening_flag: false };
    let mut octets = Vec::new();
    framing.emit(&Message::from_octets(&hex(frame)), &mut octets);
    octets
}

#[test]
fn an_asynchronous_line_escapes_control_characters_until_less_is_agreed_on() {
    let mut line = line(Config::default());
    // RFC 1662 section 4.2: 03 becomes 7D 23, 11 becomes 7D 31.
    let sent = line.sends("ff030021 11134142");
    assert_eq!(sent[..9], hex("7eff7d237d20217d31"));
    line.agree(Some(AGREED));
    let sent = line.sends("ff030021 11134142");
    assert_eq!(sent[..11], hex("7eff030021 7d317d334142"));
    // LCP's packets of codes 1 to 7 go by the default, echoes by what was agreed on.
    assert_eq!(line.sends("ff03c021 05010004")[..10], hex("7eff7d23c0217d257d21"));
    assert_eq!(line.sends("ff03c021 09010008 00000000")[..7], hex("7eff03c0210901"));
    line.agree(None);
    assert_eq!(line.sends("ff030021 41")[..6], hex("7eff7d237d20"));
}

#[test]
fn an_octet_synchronous_line_escapes_flags_and_escapes_alone() {
    let mut line = line(Config { asynchronous: false, ..Config::default() });
    assert_eq!(line.sends(REQUEST), hex(REQUEST_BARE));
    assert_eq!(line.hears(&hex(REQUEST_BARE)), [hex(REQUEST)]);
}

#[test]
fn what_was_agreed_on_holds_for_the_frame_right_behind_the_packet_that_agreed() {
    // The acknowledgment, escaped; then, in the same piece and without a flag of its own, a frame with bare control
    // characters.
    let acknowledged = "ff03c021 02010004";
    let request = "ff038021 0101000a 03060a000001";
    let mut octets = vec![FLAG];
    octets.extend(on_line(acknowledged, Accm::ALL, FcsKind::Fcs16));
    octets.extend(on_line(request, Accm::NONE, FcsKind::Fcs16));
    let mut line = line(Config::default());
    line.bench.octets(line.line, &octets);
    let heard = line.bench.units(line.user);
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].data.to_vec(), hex(acknowledged));
    // The layers above deal with it before the rest is looked at.
    line.agree(Some(AGREED));
    assert_eq!(line.hears(&[]), [hex(request)]);
    assert_eq!(line.counters().bad_fcs, 0);
}

#[test]
fn frames_behind_a_request_come_in_order_and_none_waits_for_ever() {
    let mut octets = vec![FLAG];
    let mut frames = Vec::new();
    for id in ["01", "02", "03"] {
        let request = format!("ff03c021 01{id}0004");
        octets.extend(on_line(&request, Accm::ALL, FcsKind::Fcs16));
        frames.push(hex(&request));
    }
    let mut line = line(Config::default());
    // More comes while the first piece waits.
    line.bench.octets(line.line, &octets);
    assert_eq!(line.hears(&octets), [frames.clone(), frames].concat());
}

#[test]
fn a_flood_of_requests_is_not_kept_beyond_the_bound() {
    let request = on_line("ff03c021 01010004", Accm::ALL, FcsKind::Fcs16);
    let mut line = line(Config::default());
    let flood = request.repeat(2 * MOST_WAITING / request.len());
    line.bench.octets(line.line, &flood);
    line.bench.octets(line.line, &flood);
    let node = line.bench.graph.node("hdlc").unwrap();
    let hdlc = line.bench.graph.protocol::<Hdlc>(node).unwrap();
    assert!(hdlc.waiting.len() <= MOST_WAITING + flood.len());
    line.bench.pass(kumiki_graph::Duration::ZERO);
    let hdlc = line.bench.graph.protocol::<Hdlc>(node).unwrap();
    assert!(hdlc.waiting.is_empty());
    assert!(hdlc.counters().received > 1000);
}

#[test]
fn a_peer_that_goes_back_to_the_default_sequence_is_heard() {
    let mut line = line(Config::default());
    line.agree(Some(Agreement { send_fcs: 32, receive_fcs: 32, ..AGREED }));
    let mut octets = vec![FLAG];
    let data = "ff030021 4500";
    octets.extend(on_line(data, Accm::NONE, FcsKind::Fcs32));
    octets.extend(on_line("ff03c021 01010004", Accm::ALL, FcsKind::Fcs16));
    // Data with the default sequence is damaged.
    octets.extend(on_line(data, Accm::NONE, FcsKind::Fcs16));
    assert_eq!(line.hears(&octets), [hex(data), hex("ff03c021 01010004")]);
    assert_eq!(line.counters().bad_fcs, 1);
    let sent = line.sends(data);
    assert!(FcsKind::Fcs32.is_right_in(&sent[1..sent.len() - 1]));
    let sent = line.sends("ff03c021 05010004");
    assert!(sent.ends_with(&on_line("ff03c021 05010004", Accm::ALL, FcsKind::Fcs16)));
}

#[test]
fn damaged_frames_are_told_of_and_counted_by_kind() {
    let mut line = line(Config::default());
    let mut octets = hex("4142 7e");
    let good = on_line("ff030021 41", Accm::ALL, FcsKind::Fcs16);
    octets.extend(&good);
    octets.extend(hex("414243 7e"));
    octets.extend(hex("ff7d23 7d7e"));
    octets.extend([&good[..good.len() - 2], &hex("00")[..], &[FLAG]].concat());
    octets.extend([vec![0x41; 2000], vec![FLAG]].concat());
    octets.extend(&good);
    line.bench.octets(line.line, &octets);
    let mut damaged = Vec::new();
    for report in line.bench.reports(line.user) {
        if let Report::Special(what) = report {
            damaged.extend(what.get().map(|DamagedFrames(frames)| *frames));
        }
    }
    assert_eq!(damaged, [4]);
    let counters = line.counters();
    let by_kind = [counters.runts, counters.aborts, counters.bad_fcs, counters.oversize];
    assert_eq!((by_kind, counters.received), ([1, 1, 1, 1], 2));
}

#[test]
fn a_larger_mru_is_taken_from_the_agreement() {
    let mut line = line(Config::default());
    line.agree(Some(Agreement { mru: 4000, ..AGREED }));
    let frame = format!("ff030021 {}", "41".repeat(4000));
    let octets = [vec![FLAG], on_line(&frame, Accm::NONE, FcsKind::Fcs16)].concat();
    assert_eq!(line.hears(&octets), [hex(&frame)]);
    line.agree(None);
    assert!(line.hears(&octets).is_empty());
}

#[test]
fn a_line_that_goes_down_ends_what_was_agreed_and_gives_up_the_frame_under_way() {
    let mut line = line(Config::default());
    line.agree(Some(AGREED));
    let octets = on_line("ff030021 4142", Accm::ALL, FcsKind::Fcs16);
    assert!(line.hears(&octets[..4]).is_empty());
    for report in [Report::Down, Report::Up] {
        let report = Indication::Report(Box::new(report));
        line.bench.indicate(line.line, report);
    }
    let reports = line.bench.reports(line.user);
    assert!(matches!(reports[..], [Report::Down, Report::Up]));
    assert!(line.hears(&octets[4..]).is_empty());
    assert_eq!(line.hears(&octets), [hex("ff030021 4142")]);
    assert_eq!(line.sends("ff030021 41")[..4], hex("7eff7d23"));
}

#[test]
fn a_peer_that_believes_to_have_agreed_is_understood_and_noise_is_taken_out() {
    let mut line = line(Config::default());
    let bare = on_line("ff038021 0101000a 03060a000001", Accm::NONE, FcsKind::Fcs16);
    let escaped = on_line("ff038021 0102000a 03060a000001", Accm::ALL, FcsKind::Fcs16);
    // Something on the line has put XON into the second frame.
    let noisy = [&escaped[..5], &[0x11], &escaped[5..]].concat();
    let mut octets = vec![FLAG];
    octets.extend([bare, noisy].concat());
    let mut heard = Vec::new();
    for piece in octets.chunks(7) {
        heard.extend(line.hears(piece));
    }
    let expected = [hex("ff038021 0101000a 03060a000001"), hex("ff038021 0102000a 03060a000001")];
    assert_eq!(heard, expected);
    assert_eq!(line.counters().bad_fcs, 0);
    // On a line without flags no more is kept than two frames take.
    for _ in 0..100 {
        assert!(line.hears(&[0x41; 1000]).is_empty());
    }
    let node = line.bench.graph.node("hdlc").unwrap();
    let hdlc = line.bench.graph.protocol::<Hdlc>(node).unwrap();
    assert!(hdlc.raw.len() < 5000);
}

#[test]
fn a_datagram_right_behind_the_packet_that_lets_it_pass_comes_after_it() {
    let mut line = line(Config::default());
    line.agree(Some(AGREED));
    let frames = [
        "ff030021 4500",
        "ff038021 0201000a 03060a000001",
        "ff030021 4501",
        "ff038057 0201000e 010a0102030405060708",
        "ff030057 6001",
        "ff030021 4502",
    ];
    let mut octets = vec![FLAG];
    for frame in frames {
        octets.extend(on_line(frame, Accm::NONE, FcsKind::Fcs16));
    }
    line.bench.octets(line.line, &octets);
    // More comes meanwhile, and goes behind.
    line.bench.octets(line.line, &on_line("ff030021 4503", Accm::NONE, FcsKind::Fcs16));
    let first = line.bench.units(line.user);
    assert_eq!(first.len(), 2);
    let rest = line.hears(&[]);
    let mut expected: Vec<Vec<u8>> = frames[2..].iter().map(|frame| hex(frame)).collect();
    expected.push(hex("ff030021 4503"));
    assert_eq!(rest, expected);
}
