//! A crowd at a switch, in virtual time: all of it but the operating system's TCP, in whose place there is a script.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks for one of many")]

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::{
    Address, Credit, Duration, Graph, Handle, Indication, Mode, NodeId, Offered, Opened, Reason, Request, Rng, Service,
};
use kumiki_io::admission::Limits;
use kumiki_io::{Arrival, Clock as _, Descriptors, Executor, GraphId, ManualClock, Pace, Plug, RealDevice, Sent};
use kumiki_live::allowance::Allowances;
use kumiki_octets::Message;
use kumiki_x25::x25_switch::{self, Switch};
use kumiki_x25::xot::DEFAULT_TIMEOUT;

use super::callers::Callers;
use super::{parse, ports, switch};

const CONFIG: &str = r#"
[port.in]
kind = "xot"
listen = "127.0.0.1:1998"

[port.out]
kind = "xot"
host = "192.0.2.1"

[[route]]
called = "99"
to = ["out"]
"#;

/// CALL REQUEST to 991, CALL CONNECTED, and CLEAR INDICATION with network congestion, as XOT has them.
const CALL: [u8; 11] = [0, 0, 0, 7, 0x10, 1, 0x0b, 3, 0x99, 0x10, 0];
const CONNECTED: [u8; 7] = [0, 0, 0, 3, 0x10, 1, 0x0f];
const CONGESTION: [u8; 9] = [0, 0, 0, 5, 0x10, 1, 0x13, 5, 0];

/// Connections: what they tell next, and what was asked of them.
#[derive(Default)]
struct Script {
    told: VecDeque<Indication>,
    asked: Vec<Request>,
}

#[derive(Clone, Default)]
struct Sockets(Arc<Mutex<Script>>);

impl Sockets {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, told: Indication) {
        self.script().told.push_back(told);
    }

    fn asked(&self) -> Vec<Request> {
        core::mem::take(&mut self.script().asked)
    }
}

impl RealDevice for Sockets {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::default()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        Ok(self.script().told.pop_front().map(Arrival::Told))
    }

    fn send(&mut self, _: &Message, _: Address) -> io::Result<Sent> {
        Ok(Sent::Refused)
    }

    fn request(&mut self, request: Request) -> io::Result<()> {
        self.script().asked.push(request);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(false)
    }
}

struct Model {
    executor: Executor<ManualClock>,
    clock: ManualClock,
    host: GraphId,
    switch: NodeId,
    callers: Callers,
    inside: Sockets,
    outside: Sockets,
    listener: Handle,
    came: u32,
    /// Connections that were reset.
    reset: u32,
    /// What the log had told.
    told: Vec<String>,
    allowances: Allowances,
}

impl Model {
    fn new(limits: Limits) -> Self {
        Self::with(CONFIG, limits)
    }

    fn with(config: &str, limits: Limits) -> Self {
        let config = parse("x.toml", config).unwrap();
        let clock = ManualClock::default();
        let begin = Duration::from_secs(30);
        let callers = Callers::new(limits, begin, Rng::new(1, 0));
        let mut graph = Graph::new(1, 0);
        let task = graph.add_task("switch");
        let (inside, outside) = (Sockets::default(), Sockets::default());
        let mut devices = Vec::new();
        for (port, sockets) in config.ports.iter().zip([&inside, &outside]) {
            let name = format!("{}.device", port.name);
            let device = graph.add_device(&name, Service::STREAM).unwrap();
            let door = callers.door(port, sockets.clone(), clock.clone());
            devices.push((device, door));
            let layers = ports::nodes(port, None, DEFAULT_TIMEOUT).unwrap();
            let names: Vec<String> = layers.iter().map(|(name, _, _)| name.clone()).collect();
            for (name, _, node) in layers {
                graph.add_node(&name, task, node).unwrap();
            }
            for (above, below) in names.iter().zip(names.iter().skip(1).chain([&name])) {
                graph.connect(above, below).unwrap();
            }
        }
        let node = Switch::new(x25_switch::Config::clone(&config.switch));
        let switch = graph.add_node("switch", task, Box::new(node)).unwrap();
        for port in &config.ports {
            graph.connect("switch", &port.name).unwrap();
        }
        let mut executor = Executor::new(clock.clone(), Pace::default());
        let host = executor.add_graph("switch", graph);
        for (device, door) in devices {
            let real = executor.add_real(Box::new(door)).unwrap();
            executor.plug(Plug::Device(host, device), Plug::Real(real));
        }
        executor.start().unwrap();
        let mut model = Self {
            executor,
            clock,
            host,
            switch,
            callers,
            inside,
            outside,
            listener: Handle::default(),
            came: 0,
            reset: 0,
            told: Vec::new(),
            allowances: Allowances::default(),
        };
        model.pass(Duration::ZERO);
        let passive = model.inside.asked().into_iter().find_map(|it| match it {
            Request::Open(open) if matches!(open.mode, Mode::Passive { .. }) => Some(open.user),
            _ => None,
        });
        model.listener = passive.unwrap();
        let opened = Opened { user: model.listener, ..Opened::default() };
        model.inside.tell(Indication::Opened(Box::new(opened)));
        model
    }

    fn pass(&mut self, time: Duration) {
        let (host, switch, callers, told) = (self.host, self.switch, &self.callers, &mut self.told);
        let allowances = &mut self.allowances;
        let clock = self.clock.clone();
        let end = clock.now() + time;
        loop {
            let left = end.saturating_since(clock.now());
            // As often as the switch looks around.
            let step = left.min(Duration::from_millis(200));
            self.executor.run(step, |executor| {
                let graph = executor.graph_mut(host).unwrap();
                let lines = switch::look(graph, switch, callers, allowances, clock.now());
                told.extend(lines.into_iter().map(|(_, line)| line));
                false
            });
            if left <= step {
                return;
            }
        }
    }

    /// Somebody connects.
    fn comes(&mut self, from: IpAddr) -> Handle {
        self.came += 1;
        let provider = Handle { index: self.came, generation: 1 };
        let port = u16::try_from(1024 + self.came % 50_000).unwrap();
        let offered =
            Offered { user: self.listener, provider, remote: SocketAddr::new(from, port).into(), ..Offered::default() };
        self.inside.tell(Indication::Offered(Box::new(offered)));
        provider
    }

    /// What was asked of the connections that others made.
    fn asked(&mut self) -> Vec<Request> {
        let asked = self.inside.asked();
        let resets = asked.iter().filter(|it| matches!(it, Request::Abort { .. }));
        self.reset += u32::try_from(resets.count()).unwrap();
        asked
    }

    /// Says something on a connection, which has room for what is said to it.
    fn says(sockets: &Sockets, session: Handle, octets: &[u8]) {
        let credit = Credit::octets(65_536);
        sockets.tell(Indication::Credit { session, credit });
        let (data, end) = (Message::from_octets(octets), false);
        sockets.tell(Indication::Data { session, data, end });
    }

    /// Somebody connects, calls a moment later, and is answered as soon as the call has come: whether it stands then.
    fn calls(&mut self, from: IpAddr) -> Option<Handle> {
        let moment = Duration::from_millis(1);
        let provider = self.comes(from);
        self.pass(moment);
        let user = self.asked().into_iter().find_map(|it| match it {
            Request::Accept(accept) if accept.session == provider => Some(accept.user),
            _ => None,
        })?;
        Self::says(&self.inside, user, &CALL);
        self.pass(moment);
        let outside = self.outside.asked().into_iter().find_map(|it| match it {
            Request::Open(open) if open.mode == Mode::Active => Some(open.user),
            _ => None,
        })?;
        let opened = Opened {
            user: outside,
            provider,
            remote: "192.0.2.1:1998".parse::<SocketAddr>().unwrap().into(),
            ..Opened::default()
        };
        self.outside.tell(Indication::Opened(Box::new(opened)));
        Self::says(&self.outside, outside, &CONNECTED);
        self.pass(moment);
        Some(user)
    }

    /// What was said to those who have connected.
    fn heard(&mut self) -> Vec<u8> {
        let said = self.asked().into_iter().filter_map(|it| match it {
            Request::Data { data, .. } => Some(data.to_vec()),
            _ => None,
        });
        said.flatten().collect()
    }

    fn stand(&mut self) -> usize {
        let graph = self.executor.graph(self.host).unwrap();
        graph.protocol::<Switch>(self.switch).unwrap().calls()
    }
}

/// Somebody of a /64, of a /48, or of 200 addresses of IPv4.
fn somebody(rng: &mut Rng) -> IpAddr {
    let own = u16::try_from(rng.below(1 << 16)).unwrap();
    match rng.below(3) {
        0 => Ipv6Addr::new(0x2001, 0xdb8, 1, 1, 0, 0, 0, own).into(),
        1 => Ipv6Addr::new(0x2001, 0xdb8, 2, own, 0, 0, 0, 1).into(),
        _ => IpAddr::V4((0x0a00_0001 + (u32::from(own % 200) << 8)).into()),
    }
}

/// CALL CONNECTED, whatever was agreed on.
fn is_connected(octets: &[u8]) -> bool {
    octets.get(4..7).is_some_and(|it| it == [0x10, 1, 0x0f])
}

fn honest(number: u32) -> IpAddr {
    IpAddr::V4((0xc000_0201 + (number << 8)).into())
}

#[test]
fn who_calls_from_elsewhere_is_served_among_ten_thousand_silent_connections() {
    let limits = Limits::new(4096, 8, Duration::from_secs(30));
    let mut model = Model::new(limits);
    let mut rng = Rng::new(2, 0);
    let mut served = 0;
    for caller in 1..=10_000 {
        model.comes(somebody(&mut rng));
        if caller % 10 == 0 {
            // Ten thousand a second, and none leaves by itself.
            model.pass(Duration::from_millis(1));
        }
        if caller % 100 == 0 {
            model.calls(honest(caller / 100)).unwrap();
            assert!(is_connected(&model.heard()));
            served += 1;
            // No more than the places of strangers, and those who are served.
            assert!(model.came - model.reset <= 64 + served);
        }
    }
    assert_eq!((served, model.stand()), (100, 100));
    // The time of the others is over, and nobody else's.
    model.pass(Duration::from_secs(31));
    model.asked();
    assert_eq!((model.came - model.reset, model.stand()), (100, 100));
}

#[test]
fn who_calls_from_elsewhere_is_served_among_those_who_say_a_word_and_no_more() {
    let limits = Limits::new(4096, 8, Duration::from_secs(30));
    let mut model = Model::new(limits);
    for round in 0..40 {
        // Two hundred networks, each of which comes again and again, says the beginning of a packet, and waits.
        for network in 0..200 {
            model.comes(IpAddr::V4((0x0a00_0001 + (network << 8)).into()));
            if network % 20 == 0 {
                model.pass(Duration::from_millis(2));
                let accepted = model.asked().into_iter().filter_map(|it| match it {
                    Request::Accept(accept) => Some(accept.user),
                    _ => None,
                });
                accepted.for_each(|user| Model::says(&model.inside, user, &CALL[..2]));
            }
        }
        model.pass(Duration::from_millis(200));
        model.asked();
        model.calls(honest(round)).unwrap();
        assert!(is_connected(&model.heard()), "round {round}");
    }
    assert_eq!(model.stand(), 40);
}

#[test]
fn one_call_too_many_of_a_host_is_cleared_and_a_place_is_free_again_when_one_has_gone() {
    let mut model = Model::new(Limits::new(4096, 2, Duration::from_secs(30)));
    let first = model.calls(honest(1)).unwrap();
    assert!(is_connected(&model.heard()));
    model.calls(honest(1)).unwrap();
    model.heard();
    model.calls(honest(1)).unwrap();
    assert!(model.heard().ends_with(&CONGESTION));
    assert_eq!(model.stand(), 2);
    // Another host has places of its own.
    model.calls(honest(2)).unwrap();
    assert_eq!(model.stand(), 3);
    let (session, reason, data) = (first, Reason::Reset, None);
    model.inside.tell(Indication::Aborted { session, reason, data });
    model.pass(Duration::from_millis(1));
    model.asked();
    model.calls(honest(1)).unwrap();
    assert!(is_connected(&model.heard()));
}

#[test]
fn who_is_not_among_the_peers_is_turned_away_and_told_of() {
    let config = CONFIG.replacen(":1998\"", ":1998\"\npeers = [\"192.0.2.0/24\"]", 1);
    let mut model = Model::with(&config, Limits::new(4096, 8, Duration::from_secs(30)));
    let stranger = "198.51.100.7".parse().unwrap();
    assert!(model.calls(stranger).is_none());
    assert_eq!((model.reset, model.callers.turned_away()), (1, 1));
    assert_eq!(model.told, ["in: 198.51.100.7:1025: turned away, for it is not in peers"]);
    model.calls("192.0.2.9".parse().unwrap()).unwrap();
    assert!(is_connected(&model.heard()));
    assert_eq!(model.callers.turned_away(), 1);
}

#[test]
fn a_called_end_may_take_its_time_to_answer() {
    let mut model = Model::new(Limits::new(4096, 8, Duration::from_secs(30)));
    let provider = model.comes(honest(1));
    model.pass(Duration::from_millis(1));
    let user = model.asked().into_iter().find_map(|it| match it {
        Request::Accept(accept) if accept.session == provider => Some(accept.user),
        _ => None,
    });
    Model::says(&model.inside, user.unwrap(), &CALL);
    model.pass(Duration::from_secs(100));
    model.asked();
    assert_eq!((model.reset, model.stand()), (0, 1));
}
