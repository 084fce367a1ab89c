//! Permanent circuits: between two lines, and from a line over XOT to another switch or to a peer that the test plays.

use core::net::SocketAddr;
use kumiki_graph::{NoPath, Parameters};

use kumiki_graph::{Service, TimerSlot};
use kumiki_wire::x25::xot::{self as wire, PvcSetup, status};

use super::*;
use crate::xot::{Config as XotConfig, Permanent, Xot};
use kumiki_testkit::bench::hex;

#[test]
fn a_permanent_circuit_is_joined_and_reset_while_an_end_is_missing() {
    let place = |port: &str, channel| CircuitEnd { port: port.to_owned(), channel };
    let config = Config { circuits: vec![[place("a", 1), place("b", 2)]], ..Config::default() };
    let mut net = Net::new(config, |_, config| {
        config.ranges.permanent = 2;
        config.ranges.two_way = (3, 9);
    });
    for (n, channel) in [(0, 1), (1, 2)] {
        let call = x25::Call { channel: Some(channel), ..x25::Call::default() };
        net.say(n, Request::Open(Box::new(Open { user: OWN, parameters: Parameters::of(call), ..Open::default() })));
        net.pass(Duration::from_secs(1));
    }
    net.pass(Duration::from_secs(1));
    net.send(0, b"up", true, false, false);
    net.send(1, b"down", true, false, false);
    assert_eq!(net.dtes[1].got, [(b"up".to_vec(), true, false, false)]);
    assert_eq!(net.dtes[0].got, [(b"down".to_vec(), true, false, false)]);
    net.dtes[0].resets.clear();
    let line = net.dtes[1].line[1];
    net.bench.indicate(line, Indication::Report(Box::new(Report::Down)));
    net.run();
    let [reason] = net.dtes[0].resets.as_slice() else {
        panic!("{:?}", net.dtes[0].resets);
    };
    assert_eq!(told(reason.clone()).0, 0x01);
    for device in net.dtes[1].line {
        net.bench.indicate(device, Indication::Report(Box::new(Report::Down)));
        net.bench.indicate(device, Indication::Report(Box::new(Report::Up)));
    }
    net.pass(Duration::from_secs(1));
    net.send(0, b"again", true, false, false);
    assert_eq!(net.dtes[1].got.last().unwrap().0, b"again");
}

/// What TCP is to those who only see its service, between two hosts, with a delay: many connections, and a path that
/// can be cut.
#[derive(Default)]
struct Network {
    listeners: [Option<Handle>; 2],
    connections: Vec<[Option<Handle>; 2]>,
    queue: VecDeque<(kumiki_graph::Instant, usize, Indication)>,
    timer: TimerSlot,
    is_cut: bool,
    /// When each connection was asked for, and by whom.
    asked: Vec<(kumiki_graph::Instant, usize)>,
}

const DELAY: Duration = Duration::from_millis(10);

/// What wakes the network to lose all its connections.
const LOSE: Token = Token { session: Handle { index: 0, generation: 0 }, kind: 9 };

fn provider(connection: usize, end: usize) -> Handle {
    Handle { index: u32::try_from(connection << 1 | end).unwrap(), generation: 1 }
}

const fn connection_of(handle: Handle) -> (usize, usize) {
    ((handle.index >> 1) as usize, (handle.index & 1) as usize)
}

impl Network {
    fn later(&mut self, to: usize, indication: Indication, cx: &mut Context<'_>) {
        self.queue.push_back((cx.now() + DELAY, to, indication));
        self.arm(cx);
    }

    fn arm(&mut self, cx: &mut Context<'_>) {
        if let Some((at, ..)) = self.queue.front() {
            cx.set_timer(&mut self.timer, Token::default(), *at);
        }
    }

    fn end(&mut self, to: usize, session: Handle, reason: Reason, cx: &mut Context<'_>) {
        let data = None;
        let ended = Indication::Aborted { session, reason, data };
        self.later(to, ended, cx);
    }

    /// The connection is no more; whoever knows it at `end` hears of that.
    fn lose(&mut self, connection: usize, end: usize, reason: Reason, cx: &mut Context<'_>) {
        let users = core::mem::take(&mut self.connections[connection]);
        if let Some(user) = users[end] {
            self.end(end, user, reason, cx);
        }
    }
}

impl Protocol for Network {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::STREAM), needs: &[], below: (0, 0), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        let me = usize::from(from.0);
        let other = 1 - me;
        match request {
            Request::Open(open) if open.mode == Mode::Active => {
                self.asked.push((cx.now(), me));
                if self.is_cut {
                    return self.end(me, open.user, Reason::Unreachable(NoPath::Host), cx);
                }
                let provider = provider(self.connections.len(), other);
                let mut users = [None; 2];
                users[me] = Some(open.user);
                self.connections.push(users);
                let offered = kumiki_graph::Offered { provider, ..Default::default() };
                self.later(other, Indication::Offered(Box::new(offered)), cx);
            }
            Request::Open(open) => {
                self.listeners[me] = Some(open.user);
                let user = open.user;
                let opened = Opened { user, ..Opened::default() };
                cx.up(from, Indication::Opened(Box::new(opened)));
            }
            Request::Accept(accept) => {
                let (connection, _) = connection_of(accept.session);
                let Some(user) = self.connections[connection][other] else {
                    return self.end(me, accept.user, Reason::Reset, cx);
                };
                self.connections[connection][me] = Some(accept.user);
                let opened = Opened { user, provider: provider(connection, other), ..Opened::default() };
                self.later(other, Indication::Opened(Box::new(opened)), cx);
                let credit = Credit::octets(1 << 20);
                for (end, session) in [(other, user), (me, accept.user)] {
                    self.later(end, Indication::Credit { session, credit }, cx);
                }
            }
            Request::Data { session, data, end } => {
                let (connection, _) = connection_of(session);
                if let Some(session) = self.connections[connection][other] {
                    self.later(other, Indication::Data { session, data, end }, cx);
                }
            }
            Request::Release { session, .. } | Request::Abort { session, .. } => {
                let (connection, _) = connection_of(session);
                self.lose(connection, other, Reason::Reset, cx);
            }
            Request::Cancel { user } => {
                let asked = |it: &[Option<Handle>; 2]| it[me] == Some(user);
                if let Some(connection) = self.connections.iter().position(asked) {
                    self.lose(connection, other, Reason::Reset, cx);
                }
            }
            _ => {}
        }
    }

    fn pop(&mut self, _: Below, _: Indication, _: &mut Context<'_>) {}

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == LOSE {
            for connection in 0..self.connections.len() {
                let users = core::mem::take(&mut self.connections[connection]);
                for (end, user) in users.into_iter().enumerate() {
                    if let Some(user) = user {
                        self.end(end, user, Reason::TimedOut, cx);
                    }
                }
            }
            return;
        }
        while let Some((_, to, mut indication)) = self.queue.pop_front_if(|(at, ..)| *at <= cx.now()) {
            if let Indication::Offered(offered) = &mut indication {
                offered.user = self.listeners[to].unwrap();
            }
            cx.up(Above(u16::try_from(to).unwrap()), indication);
        }
        self.arm(cx);
    }
}

/// A circuit of channel 5 at the interface `own`, whose other end has channel 6 at `peers`, or the other way round.
fn circuit(own: (&str, u16), peers: (&str, u16), calls: bool) -> Permanent {
    Permanent {
        channel: own.1,
        interface: own.0.to_owned(),
        peer_interface: peers.0.to_owned(),
        peer_channel: peers.1,
        peer: calls.then(|| SocketAddr::from(([10, 0, 0, 2], wire::PORT))),
        window: 2,
        packet: 7,
    }
}

/// Up to two switches with XOT between them, and at each a line whose DTE confirms what is to be confirmed.
struct Pair {
    bench: Bench,
    network: NodeId,
    switches: Vec<NodeId>,
    lines: Vec<DeviceId>,
    /// The causes of the RESETs that each DTE has got, and its data.
    resets: [Vec<u8>; 2],
    data: [Vec<Vec<u8>>; 2],
    /// A peer that the test plays.
    peer: Option<NodeId>,
}

impl Pair {
    /// The first switch, and a second where it has a circuit; otherwise the test plays it.
    fn new(first: Permanent, second: Option<Permanent>) -> Self {
        let mut bench = Bench::new();
        let network = bench.node("network", &[], Network::default());
        let (mut switches, mut lines) = (Vec::new(), Vec::new());
        let is_alone = second.is_none();
        for (n, pvc) in core::iter::once(first).chain(second).enumerate() {
            let place = |port: &str, channel| CircuitEnd { port: format!("{port} {n}"), channel };
            let config = Config {
                circuits: vec![[place("line", 1), place("trunk", pvc.channel)]],
                always_up: vec![format!("trunk {n}")],
                ..Config::default()
            };
            lines.push(bench.device(&format!("device {n}")));
            let mut dce = frames(Role::Dce);
            dce.ranges.permanent = 1;
            dce.ranges.two_way = (2, 9);
            bench.node(&format!("line {n}"), &[&format!("device {n}")], X25::new(dce).unwrap());
            let xot = XotConfig { permanent: vec![pvc], ..XotConfig::default() };
            bench.node(&format!("xot {n}"), &["network"], Xot::new(xot));
            let circuits =
                packet::Config { over: PacketCarrier::Circuits, role: Some(Role::Dce), ..packet::Config::default() };
            let below = format!("xot {n}");
            bench.node(&format!("trunk {n}"), &[&below], X25::new(circuits).unwrap());
            let ports = [format!("line {n}"), format!("trunk {n}")];
            let ports = ports.each_ref().map(String::as_str);
            let switch = Switch::new(config);
            switches.push(bench.node(&format!("switch {n}"), &ports, switch));
        }
        let peer = is_alone.then(|| bench.user("peer", "network", &[]));
        bench.start();
        let mut pair =
            Self { bench, network, switches, lines, resets: Default::default(), data: Default::default(), peer };
        if let Some(peer) = peer {
            let open = Open { user: LISTENS, mode: Mode::Passive { backlog: 9 }, ..Open::default() };
            pair.bench.say(peer, Request::Open(Box::new(open)));
        }
        pair
    }

    fn run(&mut self) {
        loop {
            let sent = self.bench.sent();
            if sent.is_empty() {
                return;
            }
            for (device, unit) in sent {
                let n = self.lines.iter().position(|it| *it == device).unwrap();
                let octets = unit.data.to_vec();
                let answer = match octets[2] {
                    0xfb => Some("10 00 ff".to_owned()),
                    0x1b => {
                        self.resets[n].push(octets[3]);
                        Some("10 01 1f".to_owned())
                    }
                    kind if kind & 1 == 0 => {
                        self.data[n].push(octets[3..].to_vec());
                        None
                    }
                    _ => None,
                };
                if let Some(answer) = answer {
                    self.bench.octets(device, &hex(&answer));
                }
            }
        }
    }

    fn pass(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds.div_ceil(50) {
            self.run();
            self.bench.pass(Duration::from_millis(50));
        }
        self.run();
    }

    fn say(&mut self, n: usize, packet: &str) {
        self.bench.octets(self.lines[n], &hex(packet));
        self.run();
    }

    fn line(&mut self, n: usize, report: Report) {
        let indication = Indication::Report(Box::new(report));
        self.bench.indicate(self.lines[n], indication);
        self.run();
    }

    /// The causes that the DTE has heard since this was last asked.
    fn resets(&mut self, n: usize) -> Vec<u8> {
        core::mem::take(&mut self.resets[n])
    }

    /// What the switch says of circuits, as the log has it: `+` there, `-` away and why.
    fn log(&mut self, n: usize) -> Vec<String> {
        let switch: &mut Switch = self.bench.graph.protocol_mut(self.switches[n]).unwrap();
        let text = |event: Event| match event.what {
            CallEvent::Joined(place) => Some(format!("+{}", place.port)),
            CallEvent::Parted(place, why) => Some(format!("-{}: {why}", place.port)),
            _ => None,
        };
        switch.take_events().filter_map(text).collect()
    }

    fn network(&mut self) -> &mut Network {
        self.bench.graph.protocol_mut(self.network).unwrap()
    }

    /// The path is cut, or is no longer.
    fn cut(&mut self, is_cut: bool) {
        self.network().is_cut = is_cut;
        if is_cut {
            let (now, network) = (self.bench.now, self.network);
            self.bench.graph.wake(now, network, LOSE);
        }
        self.pass(100);
    }

    /// Pauses between two attempts of switch `n`, in seconds.
    fn pauses(&mut self, n: usize) -> Vec<f64> {
        let asked = self.network().asked.iter();
        let times: Vec<f64> = asked.filter(|(_, by)| *by == n).map(|(at, _)| at.as_nanos() as f64 / 1e9).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// What goes in at each line comes out at the other.
    fn carries(&mut self) {
        for data in &mut self.data {
            data.clear();
        }
        // After the last reset each side starts over.
        self.say(0, "10 01 00 61 62");
        self.say(1, "10 01 00 63 64");
        self.pass(1000);
        assert_eq!(self.data, [[b"cd".to_vec()], [b"ab".to_vec()]]);
    }

    /// What the peer that the test plays has heard.
    fn heard(&mut self) -> Vec<Indication> {
        self.bench.heard(self.peer.unwrap())
    }

    fn peer_says(&mut self, request: Request) {
        self.bench.say(self.peer.unwrap(), request);
    }

    /// The peer takes the connection that is offered to it, as its own of this handle; gives the provider's.
    fn peer_takes(&mut self) -> Handle {
        let heard = self.heard();
        let offered = heard.into_iter().find_map(|it| match it {
            Indication::Offered(offered) => Some(offered.provider),
            _ => None,
        });
        let session = offered.expect("it is called");
        let accept = Accept { session, user: OWN, ..Accept::default() };
        self.peer_says(Request::Accept(Box::new(accept)));
        self.pass(100);
        session
    }

    fn peer_sends(&mut self, session: Handle, packet: &[u8]) {
        let mut data = Message::from_octets(packet);
        let length = u16::try_from(packet.len()).unwrap();
        wire::Header { length }.emit(data.push_header(wire::LEN));
        let end = true;
        self.peer_says(Request::Data { session, data, end });
        self.pass(100);
    }

    /// Answers the set-up of the switch with `status`, and gives the session.
    fn peer_answers(&mut self, status: u8) -> Handle {
        let session = self.peer_takes();
        let octets: Vec<u8> = self.packets().concat();
        let mut setup = PvcSetup::parse(&octets).unwrap();
        assert_eq!(setup.status, status::WAITING);
        setup.status = status;
        let mut answer = vec![0; setup.len()];
        setup.emit(&mut answer);
        self.peer_sends(session, &answer);
        session
    }

    /// The packets that the peer has got.
    fn packets(&mut self) -> Vec<Vec<u8>> {
        let heard = self.heard().into_iter().filter_map(|it| match it {
            Indication::Data { data, .. } => Some(data.to_vec()),
            _ => None,
        });
        let mut octets: Vec<u8> = heard.flatten().collect();
        let mut packets = Vec::new();
        while !octets.is_empty() {
            let (header, len) = wire::Header::parse(&octets).unwrap();
            let rest = octets.split_off(len + usize::from(header.length));
            packets.push(octets.split_off(len));
            octets = rest;
        }
        packets
    }

    /// The peer sets the circuit up; gives the session and what was answered.
    fn peer_calls(&mut self, pvc: &Permanent) -> (Handle, Vec<Vec<u8>>) {
        let open = Open { user: Handle { index: 3, generation: 9 }, ..Open::default() };
        self.heard();
        self.peer_says(Request::Open(Box::new(open)));
        self.pass(100);
        let opened = self.heard().into_iter().find_map(|it| match it {
            Indication::Opened(opened) => Some(opened.provider),
            _ => None,
        });
        let session = opened.expect("the switch listens");
        let end = |name: &str, channel| wire::PvcEnd { interface: name.as_bytes().to_vec(), channel };
        let setup = PvcSetup {
            header: [0x10, 0],
            status: status::WAITING,
            initiator: end(&pvc.peer_interface, pvc.peer_channel),
            responder: end(&pvc.interface, pvc.channel),
            window_in: 2,
            window_out: 2,
            packet_in: 7,
            packet_out: 7,
        };
        let mut packet = vec![0; setup.len()];
        setup.emit(&mut packet);
        self.peer_sends(session, &packet);
        let packets = self.packets();
        (session, packets)
    }
}

fn a_calls() -> [Permanent; 2] {
    [circuit(("Serial0", 5), ("Serial1", 6), true), circuit(("Serial1", 6), ("Serial0", 5), false)]
}

#[test]
fn a_circuit_goes_over_xot_from_line_to_line() {
    let [a, b] = a_calls();
    let mut pair = Pair::new(a, Some(b));
    pair.pass(1000);
    // RFC 1613 section 6.5: a reset at each local interface.
    assert_eq!([pair.resets(0), pair.resets(1)], [[0x0f], [0x0f]]);
    pair.carries();
    assert_eq!(pair.log(0), ["+line 0", "+trunk 0"]);
    assert_eq!(pair.log(1), ["+line 1", "+trunk 1"]);
    // A reset of a DTE's goes through with its cause.
    pair.say(0, "10 01 1b 00 07");
    pair.pass(1000);
    assert_eq!([pair.resets(0), pair.resets(1)], [vec![], vec![0]]);
    pair.carries();
}

#[test]
fn a_path_that_is_lost_is_told_once_and_once_when_it_is_back() {
    let [a, b] = a_calls();
    let mut pair = Pair::new(a, Some(b));
    pair.pass(1000);
    for n in [0, 1] {
        pair.resets(n);
        pair.log(n);
    }
    pair.cut(true);
    pair.pass(1_200_000);
    assert_eq!([pair.resets(0), pair.resets(1)], [[0x1d], [0x1d]]);
    assert_eq!(pair.log(0), ["-trunk 0: the peer stopped answering"]);
    assert_eq!(pair.log(1), ["-trunk 1: the peer stopped answering"]);
    let pauses = pair.pauses(0);
    let [lost, rest @ ..] = pauses.as_slice() else {
        panic!("{pauses:?}");
    };
    assert!((15.0..32.0).contains(lost), "{pauses:?}");
    for (pause, most) in rest.iter().zip([60.0, 120.0, 240.0, 300.0, 300.0]) {
        assert!((most / 2.0..most + 1.0).contains(pause), "{pauses:?}");
    }
    assert!(rest.len() >= 5, "{pauses:?}");
    pair.cut(false);
    pair.pass(301_000);
    assert_eq!([pair.resets(0), pair.resets(1)], [[0x0f], [0x0f]]);
    assert_eq!([pair.log(0), pair.log(1)], [["+trunk 0"], ["+trunk 1"]]);
    pair.carries();
}

#[test]
fn a_line_that_goes_away_is_told_at_the_far_end_of_xot_once_and_once_when_it_is_back() {
    let [a, b] = a_calls();
    let mut pair = Pair::new(a, Some(b));
    pair.pass(1000);
    pair.resets(1);
    pair.line(0, Report::Down);
    pair.pass(1000);
    assert_eq!(pair.resets(1), [0x01]);
    // What is sent meanwhile comes to nobody, also later.
    pair.say(1, "10 01 00 78");
    pair.say(1, "10 01 23 79");
    pair.pass(600_000);
    pair.resets(1);
    pair.resets(0);
    pair.line(0, Report::Up);
    pair.pass(1000);
    assert_eq!(pair.resets(1), [0x09]);
    pair.carries();
    assert!(pair.log(0).ends_with(&["-line 0: the layer below is down".to_owned(), "+line 0".to_owned()]));
    // A line that nobody answers on is restarted again and again, and that is told to nobody.
    pair.line(0, Report::Down);
    pair.pass(1000);
    assert_eq!(pair.resets(1), [0x01]);
}

#[test]
fn a_line_that_comes_while_the_path_is_lost_is_told_so() {
    let [a, b] = a_calls();
    let mut pair = Pair::new(a, Some(b));
    pair.pass(1000);
    pair.line(0, Report::Down);
    pair.cut(true);
    pair.resets(0);
    pair.line(0, Report::Up);
    pair.pass(1000);
    assert_eq!(pair.resets(0), [0x1d]);
}

#[test]
fn each_refusal_is_tried_again_after_a_pause_and_later_where_only_a_configuration_mends_it() {
    use status::{
        CONNECTED, DISCONNECTED, DOWN, FLOW, FLOW_UNSUPPORTED, MISMATCH, NO_INTERFACE, NO_PVC, NOT_X25, PROTOCOL,
        REFUSED, ROUTING, TIMED_OUT, TRYING,
    };
    let passes = [DISCONNECTED, REFUSED, ROUTING, TIMED_OUT, TRYING, CONNECTED, DOWN, MISMATCH];
    let stays = [NO_INTERFACE, NOT_X25, NO_PVC, FLOW, FLOW_UNSUPPORTED, PROTOCOL];
    for (code, most) in passes.map(|it| (it, 30.0)).into_iter().chain(stays.map(|it| (it, 300.0))) {
        let [a, _] = a_calls();
        let mut pair = Pair::new(a, None);
        pair.pass(100);
        pair.peer_answers(code);
        pair.pass(302_000);
        let pauses = pair.pauses(0);
        let first = pauses[0];
        assert!((most / 2.0..most + 1.0).contains(&first), "{code:02x}: {pauses:?}");
        let log = pair.log(0);
        let why = format!("-trunk 0: XOT: {} (status {code:02x})", wire::status_text(code));
        assert_eq!(log[..2], ["+line 0".to_owned(), why], "{code:02x}");
        assert_eq!(pair.resets(0), [0x1d], "{code:02x}");
    }
}

#[test]
fn another_refusal_is_logged_and_the_same_is_not() {
    let [a, _] = a_calls();
    let mut pair = Pair::new(a, None);
    pair.pass(100);
    for code in [status::DOWN, status::DOWN, status::NO_PVC, status::NO_PVC] {
        pair.peer_answers(code);
        // Until it calls again, and no longer: a peer that does not answer is another failure.
        let before = pair.network().asked.len();
        while pair.network().asked.len() == before {
            pair.pass(50);
        }
        pair.pass(100);
    }
    pair.peer_answers(status::WAITING);
    assert_eq!(
        pair.log(0),
        [
            "+line 0",
            "-trunk 0: XOT: destination interface is not up (status 14)",
            "-trunk 0: XOT: no such destination PVC (status 16)",
            "+trunk 0",
        ]
    );
    assert_eq!(pair.resets(0), [0x1d, 0x0f]);
}

#[test]
fn two_that_set_up_at_once_have_one_connection_at_once() {
    for names in [["Serial0", "Serial1"], ["serial1", "Serial0"]] {
        let a = circuit((names[0], 5), (names[1], 6), true);
        let b = circuit((names[1], 6), (names[0], 5), true);
        let mut pair = Pair::new(a, Some(b));
        pair.pass(1000);
        let asked: Vec<usize> = pair.network().asked.iter().map(|(_, by)| *by).collect();
        assert_eq!(asked, [0, 1]);
        let stand = pair.network().connections.iter();
        assert_eq!(stand.filter(|it| it.iter().all(Option::is_some)).count(), 1);
        assert_eq!([pair.resets(0), pair.resets(1)], [[0x0f], [0x0f]]);
        pair.carries();
        assert_eq!(pair.log(0), ["+line 0", "+trunk 0"]);
        assert_eq!(pair.log(1), ["+line 1", "+trunk 1"]);
    }
}

#[test]
fn two_of_the_same_name_that_set_up_at_once_refuse_and_try_again_at_random() {
    let same = || circuit(("Serial0", 5), ("SERIAL0", 5), true);
    let mut pair = Pair::new(same(), Some(same()));
    pair.pass(1000);
    assert_eq!(pair.log(0)[1..], ["-trunk 0: XOT: destination PVC configuration mismatch (status 17)"]);
    pair.pass(31_000);
    pair.carries();
    assert_eq!([pair.log(0), pair.log(1)].concat()[..1], ["+trunk 0"]);
    let stand = pair.network().connections.iter();
    assert_eq!(stand.filter(|it| it.iter().all(Option::is_some)).count(), 1);
}

#[test]
fn a_peer_that_has_restarted_is_taken_when_its_old_connection_has_gone() {
    let [a, _] = a_calls();
    let mut pair = Pair::new(a.clone(), None);
    pair.pass(100);
    let old = pair.peer_answers(status::WAITING);
    // Both sides reset; the peer's data arrives.
    pair.peer_sends(old, &hex("10 05 1b 00 00"));
    pair.peer_sends(old, &hex("10 05 00 61"));
    assert_eq!(pair.data[0], [b"a"]);
    assert_eq!(pair.log(0), ["+line 0", "+trunk 0"]);
    // It has forgotten all, and its TCP has not said so yet.
    let (new, answer) = pair.peer_calls(&a);
    assert_eq!(answer[0][4], status::MISMATCH);
    let (reason, data) = (Reason::User, None);
    for session in [new, old] {
        pair.peer_says(Request::Abort { session, reason: reason.clone(), data: data.clone() });
    }
    pair.pass(100);
    assert_eq!(pair.log(0), ["-trunk 0: the peer reset the connection"]);
    // It need not wait for us to ask again.
    let (new, answer) = pair.peer_calls(&a);
    assert_eq!(answer[0][4], status::WAITING);
    assert_eq!(pair.log(0), ["+trunk 0"]);
    assert_eq!(pair.resets(0), [0x0f, 0x1d, 0x0f]);
    pair.peer_sends(new, &hex("10 05 1b 00 00"));
    pair.peer_sends(new, &hex("10 05 00 62"));
    assert_eq!(pair.data[0], [b"a", b"b"]);
    let calls = pair.network().asked.len();
    pair.pass(100_000);
    assert_eq!(pair.network().asked.len(), calls);
}

#[test]
fn a_reset_that_says_how_the_far_end_is_follows_the_one_of_the_set_up() {
    let [a, _] = a_calls();
    let mut pair = Pair::new(a, None);
    pair.line(0, Report::Down);
    pair.pass(100);
    let session = pair.peer_answers(status::WAITING);
    pair.peer_sends(session, &hex("10 05 1b 00 00"));
    pair.peer_sends(session, &hex("10 05 1f"));
    let resets: Vec<Vec<u8>> = pair.packets();
    assert_eq!(resets, [hex("10 05 1b 05 00"), hex("10 05 1b 01 00")]);
}
