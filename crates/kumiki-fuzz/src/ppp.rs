//! Two PPP daemons with their drivers, and a line on which anything happens to frames; packets that nobody sent, and
//! scripts.
//!
//! Nothing panics, nobody talks without end, and a driver passes what its daemon has agreed on and nothing else. Where
//! frames were only lost, doubled or late, and the line was cut and mended, the link comes up in the end and carries
//! datagrams both ways.

use kumiki_graph::{
    Above, Below, Context, DeviceId, Duration, Graph, Indication, Instant, Key, NodeId, Protocol, Report, Request,
    Service, Shape, TaskId, Unit,
};
use kumiki_octets::Message;
use kumiki_ppp::ppp::{self, Ppp};
use kumiki_ppp::ppp_daemon::misbehave::Script;
use kumiki_ppp::ppp_daemon::{Config, Ipv4, MAX_LINES, Methods, Phase, PppDaemon, Quality, Secret, WAKE};
use kumiki_wire::numbering::PPP_PROTOCOL;
use kumiki_wire::ppp::ppp::{Compression, Header, protocol};

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "ppp",
    title: "two PPP daemons, and any packets and losses between them",
    run: |octets| within_mb(64.0, || run(octets)),
};

const DELAY: Duration = Duration::from_millis(1);
/// Frames on the line at most: what is more is lost.
const MOST_ON_LINE: usize = 200;
/// As long as every end needs to notice that the other has gone, give up, rest and begin again.
const LONG: Duration = Duration::from_secs(1_200);
const SCRIPTS: &[&str] = &[
    "loop back",
    "nak LCP mru 300 for ever",
    "send LCP option 250 0102 for ever\nwithout LCP magic",
    "late any 2s\ndouble LCP ConfAck",
    "then when IPCP opened\nflood LCP EchoReq \"octets\" 5\nsend LCP ConfReq 050601020304 every 2s",
    "echo with peer's magic\nbad length IPCP ConfReq +3\ncut PAP any 5\nbad id CHAP Response",
];

/// Stands where IP does; keeps what comes.
struct IpSink(Vec<Vec<u8>>);

impl Protocol for IpSink {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::UNIT_DATA],
            below: (2, 2),
            keys: vec![Key::of(PPP_PROTOCOL, protocol::IPV4), Key::of(PPP_PROTOCOL, protocol::IPV6)],
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            if from == Below(0) {
                self.0.push(unit.data.to_vec());
            } else {
                cx.down(Below(0), Request::Unit(unit));
            }
        }
    }
}

struct Pair {
    graph: Graph,
    task: TaskId,
    now: Instant,
    lines: [DeviceId; 2],
    mouths: [DeviceId; 2],
    daemons: [NodeId; 2],
    ears: [NodeId; 2],
    /// In flight: when it arrives, where, and what.
    line: Vec<(Instant, usize, Vec<u8>)>,
    /// The frames that were sent last, to be retransmitted changed.
    last: Vec<Vec<u8>>,
    is_cut: bool,
}

fn config(draw: &mut Draw<'_>, end: u8) -> Config {
    let how = draw.octet();
    let mut config = Config {
        mru: if how & 1 == 0 { 1500 } else { 4470 },
        accm: (how & 2 != 0).then_some(0x000a_0000),
        pfc: how & 4 != 0,
        acfc: how & 8 != 0,
        ask_fcs: (how & 16 != 0).then_some(32),
        ipv4: Some(Ipv4 {
            local: [10, 0, 0, if how & 32 == 0 { end + 1 } else { 0 }].into(),
            remote: [10, 0, 0, 2 - end].into(),
            ..Ipv4::default()
        }),
        name: format!("end {end}"),
        secret: Some(format!("secret {end}")),
        secrets: vec![Secret { name: format!("end {}", 1 - end), secret: format!("secret {}", 1 - end) }],
        echo_interval: Some(Duration::from_secs(10)),
        persist: true,
        ..Config::default()
    };
    let more = draw.octet();
    config.auth = [Methods::None, Methods::Pap, Methods::Chap, Methods::Either][usize::from(more & 3)];
    // Two passive ends wait for each other.
    config.passive = end == 1 && more & 4 != 0;
    if more & 8 != 0 {
        config.quality = Quality { period: Some(Duration::from_secs(5)), ..Quality::default() };
    }
    if more & 16 != 0 {
        config.rechallenge = Some(Duration::from_secs(7));
    }
    if more & 32 != 0 {
        config.identification = Some("fuzz".to_owned());
    }
    config
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let how = draw.octet();
    // In the end only what went wrong by itself is looked at.
    let is_honest = how & 1 == 0;
    let mut configs = [config(&mut draw, 0), config(&mut draw, 1)];
    if !is_honest && how & 2 != 0 {
        let text = if how & 4 == 0 {
            SCRIPTS[usize::from(how >> 3) % SCRIPTS.len()].to_owned()
        } else {
            let len = draw.octet();
            String::from_utf8_lossy(draw.take(len.into())).into_owned()
        };
        match Script::parse(&text) {
            Ok(script) => configs[1].script = Some(script),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
    let mut pair = Pair::new(configs);
    for _ in 0..150 {
        if draw.is_empty() {
            break;
        }
        pair.step(&mut draw, is_honest);
        pair.judge();
    }
    if is_honest {
        pair.settle();
    }
}

impl Pair {
    fn new(configs: [Config; 2]) -> Self {
        let mut graph = Graph::new(1, 0);
        let task = graph.add_task("host");
        let mut configs = configs.into_iter();
        let mut made = ["a", "b"].map(|name| {
            let [ppp, daemon, ear, mouth] = ["ppp", "daemon", "ear", "mouth"].map(|kind| format!("{kind} {name}"));
            let line = graph.add_device(name, Service::UNIT_DATA).unwrap();
            let mouth_device = graph.add_device(&mouth, Service::UNIT_DATA).unwrap();
            let driver = Ppp::new(ppp::Config { mtu: 4470 });
            graph.add_node(&ppp, task, Box::new(driver)).unwrap();
            let config = configs.next().unwrap();
            let config = PppDaemon::new(config).unwrap();
            let daemon_node = graph.add_node(&daemon, task, Box::new(config)).unwrap();
            let ear_node = graph.add_node(&ear, task, Box::new(IpSink(Vec::new()))).unwrap();
            graph.connect(&ppp, name).unwrap();
            graph.connect(&daemon, &ppp).unwrap();
            graph.connect(&ear, &ppp).unwrap();
            graph.connect(&ear, &mouth).unwrap();
            Some((line, mouth_device, daemon_node, ear_node))
        });
        let [first, second] = [0, 1].map(|end: usize| made[end].take().unwrap());
        graph.start(Instant::ZERO).unwrap();
        let mut pair = Self {
            graph,
            task,
            now: Instant::ZERO,
            lines: [first.0, second.0],
            mouths: [first.1, second.1],
            daemons: [first.2, second.2],
            ears: [first.3, second.3],
            line: Vec::new(),
            last: Vec::new(),
            is_cut: false,
        };
        pair.run();
        pair
    }

    fn daemon(&mut self, end: usize) -> &mut PppDaemon {
        self.graph.protocol_mut(self.daemons[end]).unwrap()
    }

    fn run(&mut self) {
        while self.graph.waiting(self.task).is_some() {
            self.graph.run(self.task, self.now, 1);
        }
    }

    /// What was sent goes onto the line.
    fn collect(&mut self) {
        while let Some(output) = self.graph.output() {
            let Request::Unit(unit) = output.request else {
                continue;
            };
            let from = usize::from(output.device == self.lines[1]);
            let frame = unit.data.to_vec();
            assert!(Header::parse(&frame).is_ok() || frame.len() < 4);
            if self.last.len() >= 20 {
                self.last.remove(0);
            }
            self.last.push(frame.clone());
            if !self.is_cut && self.line.len() < MOST_ON_LINE {
                self.line.push((self.now + DELAY, 1 - from, frame));
            }
        }
    }

    fn receive(&mut self, to: usize, frame: &[u8]) {
        let unit = Unit::of(Message::from_octets(frame));
        self.graph.input(self.now, self.lines[to], Indication::Unit(Box::new(unit)));
        self.run();
    }

    /// Lets time pass, frames and timers in their order.
    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        for step in 0.. {
            assert!(step < 200_000, "they talk without end");
            self.collect();
            let arrival = self.line.iter().map(|(at, ..)| *at).min();
            let timer = self.graph.next_timer();
            let Some(due) = arrival.into_iter().chain(timer).min().filter(|due| *due <= until) else {
                break;
            };
            self.now = self.now.max(due);
            if arrival.is_some_and(|at| at <= due) {
                let place = self.line.iter().position(|(at, ..)| *at <= due).unwrap();
                let (_, to, frame) = self.line.remove(place);
                self.receive(to, &frame);
            } else {
                self.graph.fire(due);
                self.run();
            }
        }
        self.now = until;
    }

    fn cut(&mut self, is_cut: bool) {
        self.is_cut = is_cut;
        if is_cut {
            self.line.clear();
        }
        for end in 0..2 {
            let report = if is_cut { Report::Down } else { Report::Up };
            let indication = Indication::Report(Box::new(report));
            self.graph.input(self.now, self.lines[end], indication);
            self.run();
        }
    }

    fn step(&mut self, draw: &mut Draw<'_>, is_honest: bool) {
        let what = draw.octet();
        let end = usize::from(what >> 7);
        match what & 0x7f {
            0..=29 => self.pass(DELAY * u64::from(draw.octet())),
            30..=39 => self.pass(Duration::from_millis(100) * u64::from(draw.octet())),
            // Of the frames in flight one is lost, doubled or late.
            40..=49 => {
                self.collect();
                let place = draw.below(self.line.len());
                if place < self.line.len() {
                    self.line.remove(place);
                }
            }
            50..=59 => {
                self.collect();
                let place = draw.below(self.line.len());
                if let Some(frame) = self.line.get(place).cloned() {
                    self.line.push(frame);
                }
            }
            60..=64 => {
                self.collect();
                let place = draw.below(self.line.len());
                let late = Duration::from_millis(20) * u64::from(draw.octet());
                if let Some((at, ..)) = self.line.get_mut(place) {
                    *at += late;
                }
            }
            65..=69 => self.cut(what & 1 != 0),
            _ if is_honest => self.pass(DELAY),
            70..=79 => {
                let len = draw.octet();
                let frame = draw.take(len.into()).to_vec();
                self.receive(end, &frame);
            }
            // A packet of a right length.
            80..=99 => {
                let number = [
                    protocol::LCP,
                    protocol::PAP,
                    protocol::CHAP,
                    protocol::LQR,
                    protocol::IPCP,
                    protocol::IPV6CP,
                    protocol::LCP,
                    draw.word(),
                ][draw.below(8)];
                let (code, identifier, len) = (draw.octet() % 16, draw.octet(), draw.octet());
                let data = draw.take(usize::from(len) % 64);
                let length = u16::try_from(data.len() + 4).unwrap().to_be_bytes();
                let header = Header::new(number, Compression::NONE);
                let mut frame = vec![0; header.len()];
                header.emit(&mut frame);
                frame.extend([code, identifier, length[0], length[1]]);
                frame.extend(data);
                self.receive(end, &frame);
            }
            // What was sent comes once more, changed or not, as it was or as an answer.
            100..=119 => {
                self.collect();
                let place = draw.below(self.last.len());
                if let Some(mut frame) = self.last.get(place).cloned() {
                    let at = draw.below(frame.len());
                    frame[at] ^= draw.octet();
                    if what & 2 != 0 && frame.len() > 4 {
                        frame[4] = 1 + draw.octet() % 4;
                    }
                    self.receive(end, &frame);
                }
            }
            _ => {
                self.daemon(end).close();
                let (now, node) = (self.now, self.daemons[end]);
                self.graph.wake(now, node, WAKE);
                self.run();
            }
        }
        for end in 0..2 {
            assert!(self.daemon(end).take_log().len() <= MAX_LINES + 1);
        }
    }

    /// The driver passes what the daemon has agreed on, written as agreed, and nothing else.
    fn judge(&mut self) {
        self.collect();
        for end in 0..2 {
            let passes = self.daemon(end).network(protocol::IPV4).is_some();
            let agreement = self.daemon(end).agreement();
            self.say(end, &[0x45; 30]);
            let mut count = 0;
            while let Some(output) = self.graph.output() {
                let Request::Unit(mut unit) = output.request else {
                    continue;
                };
                count += 1;
                let (header, _) = Header::parse(unit.data.front_at_least(4)).unwrap();
                let agreed = agreement.expect("nothing passes before LCP is Opened");
                let Compression { acfc, pfc } = header.compression;
                assert_eq!((acfc, pfc), (agreed.acfc, agreed.pfc));
            }
            assert_eq!(count, usize::from(passes));
        }
    }

    fn say(&mut self, end: usize, octets: &[u8]) {
        let unit = Unit::of(Message::from_octets(octets));
        self.graph.input(self.now, self.mouths[end], Indication::Unit(Box::new(unit)));
        self.run();
    }

    /// The line is as it should be from here on, and so is the link before long.
    fn settle(&mut self) {
        self.cut(false);
        self.pass(LONG);
        for end in 0..2 {
            let phase = self.daemon(end).phase();
            assert_eq!(phase, Phase::Network, "{:?}", self.daemon(end).last_end());
            self.graph.protocol_mut::<IpSink>(self.ears[end]).unwrap().0.clear();
        }
        for end in 0..2 {
            let octets = [0x45, u8::try_from(end).unwrap()];
            self.say(end, &octets);
            self.pass(DELAY * 3);
            let ear = self.graph.protocol_mut::<IpSink>(self.ears[1 - end]).unwrap();
            assert!(ear.0.contains(&octets.to_vec()), "{:?}", ear.0);
        }
    }
}
