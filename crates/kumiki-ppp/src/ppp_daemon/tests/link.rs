//! Two ends of a line in one graph, the line in the hands of the test.

use kumiki_graph::{DeviceId, Duration, Indication, Instant, Key, NodeId, Report, Request, Unit};
use kumiki_octets::Message;
use kumiki_wire::numbering::PPP_PROTOCOL;
use kumiki_wire::ppp::ppp::Header;

use crate::ppp::{self, Ppp};
use crate::ppp_daemon::{Config, End, Line, PppDaemon, WAKE};
use kumiki_testkit::bench::Bench;

/// What becomes of a frame on the line: the end that sent it, and the frame.
pub(super) type LineFate = Box<dyn FnMut(usize, Vec<u8>) -> Vec<(usize, Vec<u8>)>>;

pub(super) struct Link {
    pub(super) bench: Bench,
    pub(super) lines: [DeviceId; 2],
    pub(super) daemons: [NodeId; 2],
    pub(super) users: [NodeId; 2],
    /// Everything that crossed, by who sent it.
    pub(super) frames: Vec<(usize, Vec<u8>)>,
    /// When each of them came to the other end, or would have.
    pub(super) times: Vec<Instant>,
    pub(super) said: [Vec<Line>; 2],
    way: LineFate,
}

/// To the other end, whole.
pub(super) fn through() -> LineFate {
    Box::new(|from, frame| vec![(1 - from, frame)])
}

/// One way of [`Duration`]: the line takes so long.
pub(super) const DELAY: Duration = Duration::from_millis(1);

impl Link {
    pub(super) fn new(configs: [Config; 2]) -> Self {
        Self::over(configs, through())
    }

    pub(super) fn over(configs: [Config; 2], way: LineFate) -> Self {
        let mut bench = Bench::seeded(7);
        let names = ["a", "b"];
        let lines = names.map(|name| bench.device(name));
        for name in names {
            let driver = Ppp::new(ppp::Config { mtu: 4470 });
            bench.node(&format!("ppp {name}"), &[name], driver);
        }
        let mut configs = configs.into_iter();
        let daemons = names.map(|name| {
            let daemon = PppDaemon::new(configs.next().unwrap()).unwrap();
            bench.node(&format!("daemon {name}"), &[&format!("ppp {name}")], daemon)
        });
        let ip = &[Key::of(PPP_PROTOCOL, 0x0021), Key::of(PPP_PROTOCOL, 0x0057)];
        let users = names.map(|name| bench.user(&format!("ip {name}"), &format!("ppp {name}"), ip));
        bench.start();
        Self {
            bench,
            lines,
            daemons,
            users,
            frames: Vec::new(),
            times: Vec::new(),
            said: [Vec::new(), Vec::new()],
            way,
        }
    }

    pub(super) fn end(&mut self, end: usize) -> &mut PppDaemon {
        let node = self.daemons[end];
        self.bench.graph.protocol_mut(node).unwrap()
    }

    /// Carries what is on the line until nothing moves and `time` has passed.
    pub(super) fn pass(&mut self, time: Duration) {
        let until = self.bench.now + time;
        for turn in 0.. {
            assert!(turn < 20_000, "without end:\n{}", self.transcript());
            let out = self.bench.sent();
            let has_moved = !out.is_empty();
            if has_moved {
                self.bench.pass(DELAY);
            }
            for (device, unit) in out {
                let from = usize::from(device == self.lines[1]);
                let frame = unit.data.to_vec();
                Header::parse(&frame).expect("what goes out is a PPP frame");
                self.frames.push((from, frame.clone()));
                self.times.push(self.bench.now);
                for (to, frame) in (self.way)(from, frame) {
                    self.octets(to, &frame);
                }
            }
            self.hear();
            // What has just been sent crosses before time goes on.
            if has_moved {
                continue;
            }
            match self.bench.graph.next_timer().filter(|due| *due <= until) {
                Some(due) => {
                    let now = self.bench.now;
                    self.bench.pass(due.saturating_since(now));
                }
                None => break,
            }
        }
        let now = self.bench.now;
        self.bench.pass(until.saturating_since(now));
        self.hear();
    }

    fn hear(&mut self) {
        for end in 0..2 {
            let lines = self.end(end).take_log();
            self.said[end].extend(lines);
        }
    }

    pub(super) fn octets(&mut self, to: usize, frame: &[u8]) {
        let unit = Unit::of(Message::from_octets(frame));
        let line = self.lines[to];
        self.bench.receive(line, unit);
    }

    /// From here on nothing arrives.
    pub(super) fn cut(&mut self) {
        self.way = Box::new(|_, _| Vec::new());
    }

    pub(super) fn line(&mut self, end: usize, is_up: bool) {
        let report = if is_up { Report::Up } else { Report::Down };
        let line = self.lines[end];
        self.bench.indicate(line, Indication::Report(Box::new(report)));
    }

    pub(super) fn close(&mut self, end: usize) {
        self.end(end).close();
        let (now, node) = (self.bench.now, self.daemons[end]);
        self.bench.graph.wake(now, node, WAKE);
        self.bench.pass(Duration::ZERO);
    }

    pub(super) fn ended(&mut self, end: usize) -> Option<End> {
        self.end(end).ended().cloned()
    }

    pub(super) fn says(&self, end: usize, text: &str) -> bool {
        self.said[end].iter().any(|line| line.text.contains(text))
    }

    /// How many lines of an end contain `text`.
    pub(super) fn count(&self, end: usize, text: &str) -> usize {
        let lines = self.said[end].iter();
        lines.filter(|line| line.text.contains(text)).count()
    }

    pub(super) fn transcript(&self) -> String {
        let mut all: Vec<(usize, &Line)> = Vec::new();
        for end in 0..2 {
            all.extend(self.said[end].iter().map(|line| (end, line)));
        }
        all.sort_by_key(|(_, line)| line.at);
        let lines = all.iter().map(|(end, line)| {
            let name = ["a", "b"][*end];
            format!("{} {name} {line}\n", line.at)
        });
        lines.collect()
    }

    /// Lets a datagram go from an end's user; whether the other's gets it.
    pub(super) fn carries(&mut self, from: usize, octets: &[u8]) -> bool {
        let (user, peer) = (self.users[from], self.users[1 - from]);
        self.bench.units(peer);
        let unit = Unit::of(Message::from_octets(octets));
        self.bench.say(user, Request::Unit(Box::new(unit)));
        self.pass(DELAY * 4);
        let units = self.bench.units(peer);
        units.iter().any(|unit| unit.data.to_vec() == octets)
    }
}
