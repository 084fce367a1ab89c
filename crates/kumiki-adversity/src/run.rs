//! One case: the world is built, runs until both ends are done and nothing is left, and is judged.

use core::net::SocketAddr;
use std::sync::{Arc, Mutex};

use kumiki_graph::ledger::{HandOut, Ledger, Pages, WakeUp};
use kumiki_graph::{DeviceId, Duration, Graph, GraphError, Indication, Instant, NodeId, Pool, Protocol, Service};
use kumiki_inet::tcp::Tcp;
use kumiki_octets::Pattern;
use kumiki_sim::{AdapterConfig, Host, HostId, TaskConfig, World};
use kumiki_xtp::Xtp;

use super::case::{Case, Opening, Stack, Transport};
use super::checker::{Checker, Violation};
use super::judge;
use super::path::{self, Plugged};
use super::tap::{Shared, TcpWitness, with};
use super::user::{Expected, Facts, Report, User};
use super::xtp::XtpWitness;
use kumiki_lab::capture::trace::{self, Connection};
use kumiki_lab::capture::{Captured, Layers, Name};

mod layers;

/// What else a run should bring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Captures below both hosts' IP.
    pub capture: bool,
    /// TCP's own traces.
    pub trace: bool,
    /// Units stop at every layer, as though there were no paths ([`Graph::set_paths`]).
    pub stops: bool,
}

/// What came of one case.
#[derive(Debug)]
pub struct CaseOutcome {
    /// The seed.
    pub seed: u64,
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    /// What both ends saw.
    pub ends: [Report; 2],
    /// When the last of them ended.
    pub took: Duration,
    /// Events of the world.
    pub events: u64,
    /// Segments at both plugs, intact ones on arrival.
    pub segments: u64,
    /// How many of them the case allows, and how much time (`judge::liveness`).
    pub allowed: (u64, Duration),
    /// PDUs that reached a host damaged.
    pub damaged: u64,
    /// A number that any difference in octets, times or endings changes.
    pub hash: u64,
    /// What the nodes of both hosts did, and what they have counted.
    pub accounts: Vec<String>,
    /// Captures, where asked for.
    pub captured: Vec<Captured>,
    /// TCP's traces, where asked for.
    pub traces: Vec<Connection>,
}

/// The program's port on the far host, and on the near one where both call.
const PORTS: [u16; 2] = [5001, 7];
/// A connection whose peer has ended is given up when nothing has happened for so long: no time-out is longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4_000);
/// After both ends are done, TIME-WAIT and what is on the line may take so long.
const AFTERWARDS: Duration = Duration::from_secs(1_200);
/// No case takes longer; one that does stands still.
const HORIZON: Duration = Duration::from_secs(10_000_000);
/// No case has more events.
const MOST_EVENTS: u64 = 40_000_000;
/// Clusters for what arrives: more than there can be segments where memory is modelled.
const RECEIVE_CLUSTERS: u32 = 1 << 17;

/// A host and those who look at it.
struct Side {
    id: HostId,
    user: NodeId,
    transport: NodeId,
    control: DeviceId,
    device: DeviceId,
    shared: Shared,
}

struct Run<'a> {
    case: &'a Case,
    world: World,
    sides: [Side; 2],
    captured: Vec<Captured>,
}

/// Lets `case` happen.
///
/// # Errors
/// Where a graph cannot be built: never for a case of a seed.
pub fn run(case: &Case, options: Options) -> Result<CaseOutcome, GraphError> {
    let mut run = Run::build(case, options)?;
    let mut late = run.until_over();
    let over_at = run.reports().map(|it| it.over_at);
    let took = over_at.into_iter().max().unwrap_or_default();
    if late.is_none() {
        run.world.run_until(run.world.now() + AFTERWARDS);
        late = run.took_too_much(took);
    }
    Ok(run.outcome(late, took.saturating_since(Instant::ZERO), options))
}

impl<'a> Run<'a> {
    fn build(case: &'a Case, options: Options) -> Result<Self, GraphError> {
        let mut world = World::new();
        let mut captured = Vec::new();
        let facts = [Arc::new(Facts::default()), Arc::new(Facts::default())];
        let mut side = |number| -> Result<Side, GraphError> {
            let [near, far] = &facts;
            let facts = if number == 0 { [near, far] } else { [far, near] };
            let (mut host, side) = side(case, number, facts, options)?;
            if options.capture {
                let devices = |name: &str| name == "line" || name == "control";
                let kind = |name: &str| name.to_owned();
                let frames = Name {
                    host: host.name.clone(),
                    upper: if case.stack == Stack::Fddi { "fddi" } else { "eth" }.to_owned(),
                    lower: "line".to_owned(),
                };
                let layers = if case.stack.has_ip() { Layers::Ip } else { Layers::Named(vec![frames]) };
                captured.push(Captured::tap(&layers, &mut host, devices, kind));
            }
            let id = world.add_host(host);
            Ok(Side { id, ..side })
        };
        let sides = [side(0)?, side(1)?];
        let plugged = sides.each_ref().map(|side| Plugged {
            host: side.id,
            device: side.device,
            shared: &side.shared,
            port: PORTS[1],
        });
        path::connect(case, &mut world, plugged);
        world.start().map_err(|(_, graph_error)| graph_error)?;
        Ok(Self { case, world, sides, captured })
    }

    fn user(&self, number: usize) -> Option<&User> {
        let side = self.sides.get(number)?;
        self.world.host(side.id)?.graph.protocol(side.user)
    }

    fn reports(&self) -> [Report; 2] {
        [0, 1].map(|number| self.user(number).map_or_else(Report::none, User::report))
    }

    /// Tells the program of an end to give up.
    fn give_up(&mut self, number: usize) {
        let now = self.world.now();
        if let Some(Side { id, user, control, .. }) = self.sides.get(number)
            && let Some(host) = self.world.host_mut(*id)
        {
            if let Some(user) = host.graph.protocol_mut::<User>(*user) {
                user.tell_to_give_up();
            }
            host.graph.input(now, *control, Indication::Unit(Box::default()));
        }
    }

    /// Runs until both programs are done; says what is wrong where they never are.
    fn until_over(&mut self) -> Option<Violation> {
        let mut step = Duration::from_millis(1);
        loop {
            let next = self.world.now() + step;
            self.world.run_until(next);
            let now = self.world.now();
            let late = |rule, what| {
                let (at, end) = (now, 0);
                Some(Violation { at, end, rule, what })
            };
            if let Some(standstill) = self.world.standstill() {
                return late("standstill", standstill.to_string());
            }
            if let Some((end, what)) = self.too_much_held() {
                let (at, rule) = (now, "memory");
                return Some(Violation { at, end, rule, what });
            }
            if let Some(what) = self.too_many_packets(now) {
                return late("liveness", what);
            }
            if self.world.events() > MOST_EVENTS {
                return late("no end", format!("{} events", self.world.events()));
            }
            let broken = self.sides.each_ref().map(|side| with(&side.shared, |witness| witness.is_broken()));
            if broken.contains(&true) {
                return None;
            }
            let reports = self.reports();
            match reports.each_ref().map(|report| report.over.is_some()) {
                [true, true] => break,
                [false, false] => self.maybe_give_up_both(),
                [true, _] => self.maybe_give_up(1, reports[0].over_at),
                [_, true] => self.maybe_give_up(0, reports[1].over_at),
            }
            if now > Instant::ZERO + HORIZON {
                return late("no end", format!("the ends say {reports:?}"));
            }
            // Looked at often enough that an endless exchange at most doubles the work done so far.
            step = Duration::from_nanos((now.as_nanos() / 2).clamp(1_000_000, 1_000_000_000_000));
        }
        for number in 0..2 {
            let listens = self.user(number).is_some_and(User::has_listener);
            if listens {
                self.give_up(number);
            }
        }
        self.world.run_until(self.world.now());
        None
    }

    /// The other end was done at `since`: where this one has nothing to say, it will never hear of it.
    fn maybe_give_up(&mut self, number: usize, since: Instant) {
        let now = self.world.now();
        let idle =
            self.sides.get(number).is_some_and(|side| !with(&side.shared, |checker| checker.has_something_to_say(now)));
        if idle && now > since + IDLE_TIMEOUT {
            self.give_up(number);
            self.world.run_until(self.world.now());
        }
    }

    /// Nobody has had anything to say for long: one end may know nothing of a connection that the other one has.
    fn maybe_give_up_both(&mut self) {
        let now = self.world.now();
        let quiet = self
            .sides
            .each_ref()
            .map(|side| with(&side.shared, |witness| (!witness.has_something_to_say(now)).then_some(witness.last())));
        let [Some(near), Some(far)] = quiet else {
            return;
        };
        if now > near.max(far) + IDLE_TIMEOUT {
            self.give_up(0);
            self.give_up(1);
            self.world.run_until(self.world.now());
        }
    }

    fn outcome(mut self, late: Option<Violation>, took: Duration, options: Options) -> CaseOutcome {
        let now = self.world.now();
        let ends = self.reports();
        let complaints = [0, 1].map(|number| self.user(number).and_then(|it| it.complaint.clone()));
        let evidence = self.sides.each_ref().map(|side| with(&side.shared, |witness| witness.evidence(now)));
        let mut hash = 0_u64;
        let (mut segments, mut damaged) = (0, 0);
        for (seen, report) in evidence.iter().zip(&ends) {
            segments += seen.packets;
            damaged += seen.damaged;
            hash = (hash ^ seen.hash).wrapping_mul(0x0000_0100_0000_01b3);
            hash = (hash ^ report.hash()).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let left = if late.is_none() { self.leftovers() } else { None };
        let violation = judge::first(self.case, &ends, &evidence, complaints, late, left, now);
        let end = Instant::ZERO + took;
        let allowed = judge::liveness::allowed(self.case, &ends, end);
        let hosts = self.sides.iter().filter_map(|side| self.world.host(side.id));
        let accounts = hosts.flat_map(|host| layers::accounts(&host.graph)).collect();
        let traces = if options.trace { trace::collect(&mut self.world) } else { Vec::new() };
        for (HostId(number), seen) in self.world.take_tapped() {
            if let Some(host) = self.captured.get_mut(number) {
                host.seen = seen;
            }
        }
        CaseOutcome {
            seed: self.case.seed,
            violation,
            ends,
            took,
            events: self.world.events(),
            segments,
            allowed: (allowed.packets, allowed.time),
            damaged,
            hash,
            accounts,
            captured: self.captured,
            traces,
        }
    }

    /// More packets or more time than the case allows, when both ends were done at `end`.
    fn took_too_much(&self, end: Instant) -> Option<Violation> {
        let allowed = judge::liveness::allowed(self.case, &self.reports(), end);
        let took = end.saturating_since(Instant::ZERO);
        let mut sides = self.sides.iter();
        if sides.any(|side| with(&side.shared, |witness| witness.is_broken())) {
            return None;
        }
        let what = if took > allowed.time {
            let (took, allowed) = (took.as_secs_f64(), allowed.time.as_secs_f64());
            format!("it took {took:.3} s, and no more than {allowed:.0} s are allowed")
        } else {
            self.too_many_packets(end)?
        };
        Some(Violation { at: end, end: 0, rule: "liveness", what })
    }

    fn packets(&self) -> u64 {
        let each = self.sides.iter();
        each.map(|side| with(&side.shared, |witness| witness.packets())).sum()
    }

    /// How many packets there are, where they are more than the case allows by `at`.
    fn too_many_packets(&self, at: Instant) -> Option<String> {
        let (reports, packets) = (self.reports(), self.packets());
        let allowed = judge::liveness::allowed(self.case, &reports, at);
        let written = reports.each_ref().map(|it| it.written);
        (packets > allowed.packets).then(|| {
            format!(
                "{packets} packets at the hosts for {} and {} octets written, and no more than {} are allowed",
                written[0], written[1], allowed.packets
            )
        })
    }

    /// What an end keeps beyond its buffers: the end and how much.
    fn too_much_held(&self) -> Option<(usize, String)> {
        let sides = self.sides.iter().zip(&self.case.ends).enumerate();
        for (number, (side, end)) in sides {
            let host = self.world.host(side.id)?;
            let Some(xtp) = host.graph.protocol::<Xtp>(side.transport) else {
                continue;
            };
            let own = end.xtp.as_ref().map_or(0, |it| it.receive_buffer);
            let asked = end.quality.receive_buffer.unwrap_or(0);
            // What comes with a call needs no room.
            let room = u64::from(own.max(asked)) + u64::from(end.mtu.max(1 << 16));
            let (send, receive) = xtp.held();
            if send > end.send_buffer().into() || receive > room {
                return Some((number, format!("{send} octets are kept to be sent, and {receive} that came")));
            }
        }
        None
    }

    /// What is left of the connection when all should be over: the end and what it is.
    fn leftovers(&mut self) -> Option<(usize, String)> {
        for (number, side) in self.sides.iter().enumerate() {
            let Some(host) = self.world.host_mut(side.id) else {
                continue;
            };
            let graph = &mut host.graph;
            let tcp = graph.protocol(side.transport).map_or(0, Tcp::connections);
            let xtp = graph.protocol(side.transport);
            let sessions = tcp + xtp.map_or(0, |it: &Xtp| it.contexts() + it.inactive());
            let leases = [Pool::Send, Pool::Receive].map(|pool| graph.ledger_ref(pool).map_or(0, Ledger::in_use));
            let what = if sessions > 0 {
                format!("{sessions} connections are left")
            } else if let Some(at) = graph.next_timer() {
                format!("a timer for {at} is left")
            } else if leases != [0, 0] {
                format!("{} send and {} receive clusters are left", leases[0], leases[1])
            } else {
                continue;
            };
            return Some((number, what));
        }
        None
    }
}

/// What end `number` may expect to get.
fn expected(case: &Case, number: usize, facts: &Arc<Facts>) -> Expected {
    let [near, far] = &case.ends;
    let peer = if number == 0 { far } else { near };
    let weather = case.line.weather.get(1 - number);
    // Whatever has a CRC is lost instead.
    let bits = weather.is_some_and(|it| it.corrupt > 0.0) && case.stack == Stack::Ip;
    let wrong = bits && peer.sends_without_check();
    Expected {
        pattern: pattern(case, 1 - number),
        facts: Arc::clone(facts),
        messages: case.transport == Transport::Xtp && !wrong,
        gaps: peer.sends_without_error_control(),
        wrong,
    }
}

fn side(
    case: &Case,
    number: usize,
    [facts, peer_facts]: [&Arc<Facts>; 2],
    options: Options,
) -> Result<(Host, Side), GraphError> {
    let own = case.version.address(number);
    let [near, far] = &case.ends;
    let end = if number == 0 { near } else { far };
    let pattern = pattern(case, number);
    let both_call = matches!(far.opening, Opening::Calls { .. });
    let [near_port, far_port] = PORTS;
    let (own_port, peer_port) = match number {
        0 if !both_call => (0, far_port),
        0 => (near_port, far_port),
        _ => (far_port, near_port),
    };
    let sockets = [SocketAddr::from((own, own_port)), SocketAddr::from((case.version.address(1 - number), peer_port))];
    let stream = u64::try_from(number).unwrap_or(0);
    let mut graph = Graph::new(case.seed, stream);
    graph.set_paths(!options.stops);
    let task = graph.add_task("host");
    let expected = expected(case, number, peer_facts);
    let program = User::new(end.clone(), pattern, expected, sockets, Arc::clone(facts));
    let user = graph.add_node("user", task, Box::new(program))?;
    let name = case.transport.name();
    let layer: Box<dyn Protocol> = match &end.xtp {
        Some(config) => Box::new(Xtp::new((**config).clone())),
        None => {
            let mut config = end.tcp.clone();
            config.trace = options.trace;
            Box::new(Tcp::new(config))
        }
    };
    let transport = graph.add_node(name, task, layer)?;
    let chain: &[&str] = match case.stack {
        Stack::Ip => &["ip", "line"],
        Stack::Aal5 => &["ip", "llc_snap", "aal5", "line"],
        Stack::Cells => &["ip", "llc_snap", "line"],
        Stack::Ethernet => &["vnet", "arp", "eth", "line"],
        Stack::Fddi => &["vnet", "arp", "llc", "fddi", "line"],
    };
    let below = chain.get(1).copied().unwrap_or_default();
    for kind in chain {
        if *kind != "line" {
            graph.add_node(kind, task, layers::layer(kind, number, own, end.mtu, below)?)?;
        }
    }
    let device = graph.add_device("line", Service::UNIT_DATA)?;
    let control = graph.add_device("control", Service::FRAME)?;
    graph.connect("user", name)?;
    graph.connect("user", "control")?;
    graph.connect(name, chain.first().copied().unwrap_or_default())?;
    for (upper, lower) in chain.iter().zip(chain.iter().skip(1)) {
        graph.connect(upper, lower)?;
    }
    if let Some(clusters) = end.clusters {
        let pages = |clusters| Pages {
            page: 4_096,
            cluster: 1,
            clusters,
            hand_out: HandOut::Free,
            wake_up: WakeUp::One,
            share_percent: None,
        };
        graph.set_ledger(Pool::Send, Ledger::new(pages(clusters)));
        graph.set_ledger(Pool::Receive, Ledger::new(pages(RECEIVE_CLUSTERS)));
    }
    let shared: Shared = match &end.xtp {
        Some(config) => {
            let witness = XtpWitness::new(case, number, config, pattern, facts);
            Arc::new(Mutex::new(witness))
        }
        None => {
            let known = [0, 1].map(|number| case.version.address(number));
            Arc::new(Mutex::new(TcpWitness {
                stack: case.stack,
                known: end.strangers.is_some().then_some(known),
                checker: Checker::new(number, (case.version, end), pattern, facts),
            }))
        }
    };
    let mut host = Host::new(if number == 0 { "near" } else { "far" }, graph);
    host.set_task(task, TaskConfig { batch: end.batch, ..TaskConfig::default() });
    for device in [device, control] {
        host.set_adapter(device, AdapterConfig { mtu: 1 << 17, ..AdapterConfig::default() });
    }
    let side = Side { id: HostId(number), user, transport, control, device, shared };
    Ok((host, side))
}

/// What end `number` writes. Content that is only carried has a sum in closed form; what is stored is random.
const fn pattern(case: &Case, number: usize) -> Pattern {
    let [near, far] = &case.ends;
    let stored = if number == 0 { near } else { far }.writing.stored;
    if stored { Pattern::Random { seed: case.seed ^ (number as u64 + 1) } } else { Pattern::Counter }
}
