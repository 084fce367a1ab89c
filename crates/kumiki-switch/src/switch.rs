//! `kumiki x25 switch`: the run.
//!
//! Its log has a line for each call that is set up, cleared or reset, with the time and where the caller is. Of what
//! others could have many lines told (calls that are refused, connections without a call) there are few (`Throttle`).

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kumiki_graph::{Duration, Graph, GraphError, Instant, NodeId, Reason, Rng};
use kumiki_io::admission::{LimitReached, Limits};
use kumiki_io::executor::DeviceConfig;
use kumiki_io::{
    Clock as _, Executor, ExecutorEnd, Failure, GraphId, Pace, Plug, RealClock, ShutdownRequest, unguessable,
};
use kumiki_octets::text::counted;
use kumiki_osi_service::x25::{self, CauseField, PacketCause};
use kumiki_x25::x25::X25;
use kumiki_x25::x25_switch::{self, CLEAR, CLOSE, CallEvent, Event, Switch};
use kumiki_x25::xot::DEFAULT_TIMEOUT;

use super::callers::Callers;
use super::config::{Config, Kind as PortKind, Port, PortCarrier};
use super::ports::{self, HELD, RECEIVE_BUFFER};
use kumiki_capture::Stream;
use kumiki_config::ConfigError;
use kumiki_live::allowance::Allowances;
use kumiki_live::capture::Capture;
use kumiki_live::descriptors::{AffordableLimits, DescriptorCost};
use kumiki_live::memory::Memory;
use kumiki_live::private::CaptureBudget;
use kumiki_live::sandbox::{self, Needs, Sandbox};
use kumiki_live::throttle::{Kind, Throttle};
use kumiki_live::{LOOK, LiveError, date, system, uncaptured};

/// How long CLEAR packets have to leave, and their confirmations to come.
const CLEARING: Duration = Duration::from_millis(500);

/// The largest unit that a device is said to take.
const MTU: u32 = 4400;

/// What a run is to do beside the configuration.
#[derive(Clone, Debug)]
pub struct SwitchOptions {
    /// Where the packets of all ports are written, as pcapng.
    pub pcap: Option<PathBuf>,
    /// The most octets of that.
    pub pcap_most: u64,
    /// How many octets of each packet; 0 for all.
    pub snaplen: u32,
    /// The sandbox in which it runs.
    pub sandbox: Sandbox,
    /// The most octets of memory that calls may take together; no bound unless given.
    pub memory: Option<u64>,
    /// How many there may be that call by XOT; known are those of whom a call stands.
    pub limits: Limits,
    /// Within this time a caller is to be known.
    pub begin: Duration,
    /// A call by which nothing has crossed for so long is cleared; none: it stays.
    pub idle: Option<Duration>,
    /// Set from outside, it ends the run as Ctrl-C does.
    pub end: Option<Arc<AtomicBool>>,
}

impl Default for SwitchOptions {
    fn default() -> Self {
        let begin = Duration::from_secs(30);
        Self {
            limits: Limits::new(4096, 8, begin),
            begin,
            idle: None,
            pcap: None,
            pcap_most: u64::MAX,
            snaplen: 0,
            sandbox: Sandbox::none(),
            memory: None,
            end: None,
        }
    }
}

fn graph_error(why: &GraphError) -> LiveError {
    LiveError::Line(why.to_string())
}

/// What the state of a call takes in all layers, in octets.
const STATE: u64 = 8 << 10;

/// A graph of all ports, and what is to be plugged where.
struct SwitchGraph {
    graph: Graph,
    switch: NodeId,
    devices: Vec<(kumiki_graph::DeviceId, ports::Device)>,
    /// The access point of each packet layer: the node above, and what is below.
    packets: Vec<(String, String)>,
}

/// Opens all ports and builds the graph.
fn build(
    config: &Config,
    idle: Option<Duration>,
    gate: &ports::Gate<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<SwitchGraph, LiveError> {
    let seed = unguessable().map_err(system("no random number"))?;
    let mut graph = Graph::new(seed, 0);
    let task = graph.add_task("switch");
    let mut devices = Vec::new();
    let mut packets = Vec::new();
    let mut connections = Vec::new();
    for port in &config.ports {
        let device = ports::device(port, gate)?;
        if let Some(listens) = device.listens {
            let everybody = if port.is_open() { ", and everybody may call: it has no peers" } else { "" };
            say(&format!("{}: listens at {listens} (XOT){everybody}", port.name));
        }
        let id = graph.add_device(&device.name, device.service);
        let id = id.map_err(|why| graph_error(&why))?;
        let layers = ports::nodes(port, device.listens, gate.begin.max(DEFAULT_TIMEOUT))?;
        let mut names: Vec<String> = layers.iter().map(|(name, _, _)| name.clone()).collect();
        names.push(device.name.clone());
        for (name, _, node) in layers {
            graph.add_node(&name, task, node).map_err(|why| graph_error(&why))?;
        }
        for pair in names.windows(2) {
            if let [upper, lower] = pair {
                connections.push((upper.clone(), lower.clone()));
            }
        }
        if let [upper, lower, ..] = names.as_slice() {
            packets.push((upper.clone(), lower.clone()));
        }
        devices.push((id, device));
    }
    let windows = config.ports.iter().filter_map(|port| graph.find::<X25>(&port.name).map(X25::held)).max();
    let memory = STATE + 2 * (HELD as u64 + u64::from(RECEIVE_BUFFER) + windows.unwrap_or_default());
    let node = Box::new(Switch::new(x25_switch::Config { idle, memory, ..config.switch.clone() }));
    let switch = graph.add_node("switch", task, node).map_err(|why| graph_error(&why))?;
    for Port { name, .. } in &config.ports {
        connections.push(("switch".to_owned(), name.clone()));
    }
    for (upper, lower) in &connections {
        graph.connect(upper, lower).map_err(|why| graph_error(&why))?;
    }
    Ok(SwitchGraph { graph, switch, devices, packets })
}

/// What the ports need when they stand: lines that are opened again, and connections to the hosts of routes.
fn needs(config: &Config) -> Needs {
    let mut lines = Vec::new();
    let mut connects = Vec::new();
    for port in &config.ports {
        match &port.kind {
            PortKind::Lapb { on: PortCarrier::Line(line), .. } | PortKind::Packets(line) => lines.push(line),
            PortKind::Lapb { .. } | PortKind::Tun(_) => {}
            PortKind::Xot { hosts, .. } => {
                connects.extend(hosts.iter().map(|(_, host)| host.port()));
            }
        }
    }
    connects.sort_unstable();
    connects.dedup();
    Needs { connects, ..sandbox::of_lines(lines, Vec::new()) }
}

/// A caller has its connection, and a call one of its own where it leads.
const EACH: DescriptorCost = DescriptorCost { comes: 1, stands: 1 };

/// Runs the switch of `config` until Ctrl-C, which clears all calls first. Each line of its log goes to `say`.
///
/// # Errors
/// [`LiveError`]; nothing has been sent where a device cannot be had.
pub fn run(config: &Config, wanted: &SwitchOptions, mut say: impl FnMut(&str)) -> Result<(), LiveError> {
    let clock = RealClock::start();
    let seed = unguessable().map_err(system("no random number"))?;
    // A connection that is let go is closed at once.
    let limits = Limits { going: 0, ..wanted.limits };
    let room = AffordableLimits::of(limits, EACH).map_err(|why| LiveError::Line(why.to_string()))?;
    if let Some(remark) = &room.remark {
        say(remark);
    }
    let callers = Callers::new(room.limits, wanted.begin, Rng::new(seed, 0));
    let gate = ports::Gate { callers: &callers, begin: wanted.begin, clock };
    let mut built = build(config, wanted.idle, &gate, &mut say)?;
    if let Some(most) = wanted.memory {
        limit_memory(&mut built.graph, most, &mut say)?;
    }
    let captures = CaptureBudget::new(wanted.pcap_most, wanted.snaplen);
    let capture = begin_capture(wanted, &mut built, &captures)?;
    let mut executor = Executor::new(clock, Pace::default());
    let graph = executor.add_graph("switch", built.graph);
    for (id, device) in built.devices {
        let mtu = DeviceConfig { mtu: MTU, burst: 1 };
        executor.set_device(graph, id, mtu);
        let real = executor.add_real(device.device).map_err(system("no descriptor to wait for a device"))?;
        executor.plug(Plug::Device(graph, id), Plug::Real(real));
    }
    let wish = ShutdownRequest::listen(&executor.bell()).map_err(system("cannot listen to Ctrl-C"))?;
    sandbox::enter(&wanted.sandbox, &needs(config))?;
    executor.start()?;
    say("switches; Ctrl-C clears all calls and ends");
    let end = End { wish, told: wanted.end.as_deref(), closing: None };
    let mut watch = Watch { switch: built.switch, callers: &callers, captures, capture, log: Log::default(), end };
    loop {
        let ended = executor
            .run(LOOK, |executor| executor.graph_mut(graph).is_none_or(|it| watch.look(it, clock.now(), &mut say)));
        if ended == ExecutorEnd::Failed || ended == ExecutorEnd::Done {
            break;
        }
    }
    for line in watch.log.throttle.due(clock.now(), true) {
        say(&line);
    }
    summary(&executor, (graph, built.switch), callers.turned_away(), &mut say);
    if let Some(capture) = watch.capture.take() {
        capture.finish();
    }
    watch.captures_end(&mut say);
    executor.failure().map_or(Ok(()), |failure| Err(broken(failure)))
}

/// Who wants an end, and how far that is.
struct End<'a> {
    wish: ShutdownRequest,
    told: Option<&'a AtomicBool>,
    /// All calls are being cleared: until then.
    closing: Option<Instant>,
}

impl End<'_> {
    /// True where it is over; wakes the switch when it is to clear all calls.
    fn has_come(&mut self, graph: &mut Graph, switch: NodeId, now: Instant) -> bool {
        let is_wanted = self.wish.is_made() || self.told.is_some_and(|end| end.load(Ordering::Relaxed));
        match self.closing {
            None if is_wanted => {
                graph.wake(now, switch, CLOSE);
                self.closing = Some(now + CLEARING);
                false
            }
            None => false,
            Some(end) => now >= end,
        }
    }
}

/// What is told, and how much of what others could have told.
#[derive(Default)]
struct Log {
    throttle: Throttle,
    allowances: Allowances,
}

/// What is looked at while it runs.
struct Watch<'a> {
    switch: NodeId,
    callers: &'a Callers,
    captures: CaptureBudget,
    capture: Option<Capture>,
    log: Log,
    end: End<'a>,
}

impl Watch<'_> {
    /// Looks around after a pass; true where it is over.
    fn look(&mut self, graph: &mut Graph, now: Instant, say: &mut impl FnMut(&str)) -> bool {
        if let Some(capture) = &mut self.capture {
            capture.take_from(graph);
        }
        self.captures_end(say);
        let Log { throttle, allowances } = &mut self.log;
        for (kind, line) in look(graph, self.switch, self.callers, allowances, now) {
            let line = format!("{} {line}", date());
            match kind {
                None => say(&line),
                Some(kind) => throttle.tell(kind, line, now).iter().for_each(|it| say(it)),
            }
        }
        for line in throttle.due(now, false) {
            say(&line);
        }
        self.end.has_come(graph, self.switch, now)
    }

    /// Says, once, that captures have ended, and why.
    fn captures_end(&self, say: &mut impl FnMut(&str)) {
        if let Some(remark) = self.captures.remark() {
            say(&format!("{} --pcap: {remark}", date()));
        }
    }
}

/// Calls may take `most` octets of memory together.
fn limit_memory(graph: &mut Graph, most: u64, say: &mut impl FnMut(&str)) -> Result<(), LiveError> {
    let memory = Memory::budget(most).map_err(|why| LiveError::Line(why.to_string()))?;
    if let Some(remark) = &memory.remark {
        say(remark);
    }
    // The switch itself costs nothing: each of its calls has an account beside this one.
    let own = memory.budget.account(0).map_err(|why| LiveError::Line(why.to_string()))?;
    graph.set_budget(own);
    Ok(())
}

/// The capture of the packets of all ports, where one is wanted.
fn begin_capture(
    wanted: &SwitchOptions,
    built: &mut SwitchGraph,
    captures: &CaptureBudget,
) -> Result<Option<Capture>, LiveError> {
    let Some(path) = &wanted.pcap else {
        return Ok(None);
    };
    let SwitchGraph { graph, packets, .. } = built;
    let taps: Vec<(&str, &str, &str)> =
        packets.iter().map(|(upper, lower)| (upper.as_str(), "x25", lower.as_str())).collect();
    let begun = Capture::begin(path, captures, |file| Stream::several(graph, &taps, (file, captures.snaplen())));
    let capture = begun.map_err(|why| uncaptured(path, why))?;
    let none = || ConfigError::new(format!("--pcap {}: --max-pcap leaves no room for it", path.display()));
    Ok(Some(capture.ok_or_else(none)?))
}

/// Why the run could not go on.
fn broken(failure: &Failure) -> LiveError {
    let what = match failure {
        Failure::Device(..) => "the device of a port is of no more use",
        Failure::Graph(..) => "the switch cannot go on",
    };
    LiveError::System { what: what.to_owned(), why: failure.to_error() }
}

/// What a clearing or reset said, without the word for it.
fn why(what: CauseField, cause: u8, diagnostic: u8) -> String {
    let told = PacketCause { what, cause, diagnostic };
    let text = told.to_string();
    match text.split_once(": ") {
        Some((_, rest)) => rest.to_owned(),
        None => text,
    }
}

/// Looks around after a pass: what is to be told, and of what kind, where others could have it told often.
pub(super) fn look(
    graph: &mut Graph,
    switch: NodeId,
    callers: &Callers,
    allowances: &mut Allowances,
    now: Instant,
) -> Vec<(Option<Kind>, String)> {
    let mut lines = Vec::new();
    let mut sent_away = Vec::new();
    let Some(node) = graph.protocol_mut::<Switch>(switch) else {
        return lines;
    };
    let events: Vec<Event> = node.take_events().collect();
    for event in events {
        if let Some(line) = line(&event) {
            lines.push((kind(&event, line.len(), allowances, now), line));
        }
        if let Err(full) = admit(callers, &event, now) {
            let (call, from) = (event.call, who(&event));
            let line = format!("call {call}{from}: sent away, for {full}");
            lines.push((Some(Kind::Dropped), line));
            sent_away.push(call);
        }
    }
    if !sent_away.is_empty() {
        sent_away.into_iter().for_each(|call| node.send_away(call));
        graph.wake(now, switch, CLEAR);
    }
    let gone = callers.look(now).into_iter();
    lines.extend(gone.map(|(kind, line)| (Some(kind), line)));
    lines
}

/// Of what kind an event is, where others could have it told often; of calls that stand so much is told of each
/// network.
pub(super) fn kind(event: &Event, octets: usize, allowances: &mut Allowances, now: Instant) -> Option<Kind> {
    match event.what {
        CallEvent::Refused { .. } => Some(Kind::Refused),
        CallEvent::Reset { .. } => Some(Kind::Reset),
        CallEvent::Joined(_) | CallEvent::Parted(..) | CallEvent::Up(_) | CallEvent::Down(_) => Some(Kind::Line),
        CallEvent::Came { .. } | CallEvent::SetUp { .. } | CallEvent::Cleared { .. } => {
            let [caller, _] = event.peers;
            // Those on lines have no address, and are one network.
            let address = caller.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |it| it.ip());
            (!allowances.take(address, octets, true, now)).then_some(Kind::Known)
        }
    }
}

/// Has the callers know what became of a call.
///
/// # Errors
/// It stands, and there is no place for it.
fn admit(callers: &Callers, event: &Event, now: Instant) -> Result<(), LimitReached> {
    let [caller, called] = event.peers;
    match &event.what {
        CallEvent::Came { from } => {
            caller.into_iter().for_each(|it| callers.called(from, it, now));
        }
        CallEvent::SetUp { from, .. } => {
            return caller.map_or(Ok(()), |it| callers.know(from, it));
        }
        CallEvent::Refused { from, .. } => {
            caller.into_iter().for_each(|it| callers.refused(from, it, now));
        }
        CallEvent::Joined(place) => {
            // Which of the two ends it is, only one of them has come by that port.
            for peer in [caller, called].into_iter().flatten() {
                callers.excuse(&place.port, peer);
            }
        }
        CallEvent::Cleared { .. }
        | CallEvent::Reset { .. }
        | CallEvent::Parted(..)
        | CallEvent::Up(_)
        | CallEvent::Down(_) => {}
    }
    Ok(())
}

/// Where the caller of a call is, in front of what is told of it.
fn who(event: &Event) -> String {
    match event.peers {
        [Some(caller), _] => format!(" {caller}"),
        [None, _] => String::new(),
    }
}

/// A port, and where its peer is.
fn end(port: &str, peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| port.to_owned(), |peer| format!("{port} ({peer})"))
}

/// Whether a packet of X.25 is the reason.
fn is_of_packet(reason: &Reason) -> bool {
    matches!(reason.cause(), Some(x25::Cause::Packet(_)))
}

/// What is told of an event, if anything is.
pub(super) fn line(event: &Event) -> Option<String> {
    let [_, called_peer] = event.peers;
    let call = format!("{}{}", event.call, who(event));
    Some(match &event.what {
        CallEvent::Came { .. } => return None,
        CallEvent::SetUp { from, to, calling, called } => {
            let to = end(to, called_peer);
            format!("call {call}: {calling} to {called} set up, from {from} to {to}")
        }
        CallEvent::Refused { from, calling, called, cause, diagnostic, found, tried } => {
            let why = why(CauseField::Clear, *cause, *diagnostic) + &breach(found.as_ref());
            let to = tried.as_ref().map(|(port, _)| format!(" to {port}")).unwrap_or_default();
            // What a packet said is what the caller was told.
            let of_line = tried.as_ref().filter(|(_, reason)| !is_of_packet(reason) && reason.as_violation().is_none());
            let of_line = of_line.map(|(_, reason)| format!(": {reason}")).unwrap_or_default();
            format!("call {call}: {calling} to {called} refused, from {from}{to}: {why}{of_line}")
        }
        CallEvent::Cleared { by, cause, diagnostic, found, octets: [there, back], lasted } => {
            let milliseconds = lasted.as_nanos() / 1_000_000;
            let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
            let by = by.as_deref().unwrap_or("us");
            let why = why(CauseField::Clear, *cause, *diagnostic) + &breach(found.as_ref());
            format!(
                "call {call}: cleared by {by}: {why}; {octets} from the caller, {back} to it, {seconds}.{rest:03} s",
                octets = counted(*there, "octet")
            )
        }
        CallEvent::Reset { by, cause, diagnostic, found } => {
            let why = why(CauseField::Reset, *cause, *diagnostic) + &breach(found.as_ref());
            format!("call {call}: reset by {by}: {why}")
        }
        CallEvent::Joined(place) => {
            let (port, channel) = (&place.port, place.channel);
            format!("circuit {}: {port}:{channel} is there{}", event.call, ends(event))
        }
        CallEvent::Parted(place, reason) => {
            let (port, channel) = (&place.port, place.channel);
            format!("circuit {}: {port}:{channel} is away: {reason}{}", event.call, hint(reason))
        }
        CallEvent::Up(port) => format!("{port}: up"),
        CallEvent::Down(port) => format!("{port}: down"),
    })
}

/// What was found wrong here, behind what the ends are told.
fn breach(found: Option<&Reason>) -> String {
    found.map_or_else(String::new, |found| format!(" ({found}{})", hint(found)))
}

/// What may help against `reason`: who breaks the protocol of a carrier at once mostly speaks another.
fn hint(reason: &Reason) -> &'static str {
    let is_foreign = reason.as_violation().is_some_and(|it| it.is_first);
    if is_foreign { "; check the port: who answers may speak another protocol" } else { "" }
}

/// Where the ends of a permanent circuit are, as far as they are reached by XOT.
fn ends(event: &Event) -> String {
    let known: Vec<String> = event.peers.iter().flatten().map(ToString::to_string).collect();
    if known.is_empty() {
        return String::new();
    }
    format!(" ({})", known.join(" and "))
}

fn summary(
    executor: &Executor<RealClock>,
    (graph, switch): (GraphId, NodeId),
    turned_away: u64,
    say: &mut impl FnMut(&str),
) {
    let it = executor.graph(graph);
    let Some(switch) = it.and_then(|it| it.protocol::<Switch>(switch)) else {
        return;
    };
    let counters = switch.counters();
    say(&format!(
        "{} came, {} were set up, {} refused, {} cleared; {} with {}, {}, {} resets passed on; {turned_away} callers were turned away",
        counted(counters.offered, "call"),
        counters.set_up,
        counters.refused,
        counters.cleared,
        counted(counters.packets, "packet"),
        counted(counters.octets, "octet"),
        counted(counters.interrupts, "interrupt"),
        counters.resets
    ));
}
