//! One case: the world is built, runs until both ends are done and nothing is left, and is judged.

use core::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use kumiki_graph::ledger::{HandOut, Ledger, Pages, WakeUp};
use kumiki_graph::{
    DeviceId, Duration, Graph, Indication, Instant, Misfit, NodeId, Pool, Protocol, Service, Unit,
};
use kumiki_octets::Pattern;
use kumiki_proto::aal5::{self, Aal5};
use kumiki_proto::ip::{self, Ip};
use kumiki_proto::ipv6;
use kumiki_proto::llc_snap::{self, LlcSnap};
use kumiki_proto::tcp::Tcp;
use kumiki_sim::{AdapterConfig, Host, HostId, TaskConfig, World};

use super::case::{Case, Opening, Stack};
use super::checker::{Checker, Violation};
use super::judge::{self, Evidence};
use super::path::{self, Plugged, VC};
use super::tap::{Shared, with};
use super::user::{Facts, Report, User};
use crate::capture::trace::{self, Connection};
use crate::capture::{Captured, Layers};

/// What else a run should bring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Captures below both hosts' IP.
    pub capture: bool,
    /// TCP's own traces.
    pub trace: bool,
}

/// What came of one case.
#[derive(Debug)]
pub struct Outcome {
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
    /// PDUs that reached a host damaged.
    pub damaged: u64,
    /// A number that any difference in octets, times or endings changes.
    pub hash: u64,
    /// Captures, where asked for.
    pub captured: Vec<Captured>,
    /// TCP's traces, where asked for.
    pub traces: Vec<Connection>,
}

/// The program's port on the far host, and on the near one where both call.
const PORTS: [u16; 2] = [5001, 7];
/// A connection whose peer has ended is given up when nothing has happened for so long: no time-out is longer.
const PATIENCE: Duration = Duration::from_secs(4_000);
/// After both ends are done, TIME-WAIT and what is on the line may take so long.
const AFTERWARDS: Duration = Duration::from_secs(1_200);
/// No case takes longer; one that does stands still.
const HORIZON: Duration = Duration::from_secs(10_000_000);
/// No case has more events.
const MOST_EVENTS: u64 = 40_000_000;
/// Clusters for what arrives: more than there can be segments where memory is modelled.
const RECEIVE_CLUSTERS: u32 = 1 << 17;

/// A host and those who look at it.
struct Party {
    id: HostId,
    user: NodeId,
    tcp: NodeId,
    control: DeviceId,
    device: DeviceId,
    shared: Shared,
}

struct Run<'a> {
    case: &'a Case,
    world: World,
    parties: [Party; 2],
    captured: Vec<Captured>,
}

/// Lets `case` happen.
///
/// # Errors
/// Where a graph cannot be built: never for a case of a seed.
pub fn run(case: &Case, options: Options) -> Result<Outcome, Misfit> {
    let mut run = Run::build(case, options)?;
    let late = run.until_over();
    let over_at = run.reports().map(|it| it.over_at);
    let took = over_at.into_iter().max().unwrap_or_default();
    if late.is_none() {
        run.world.run_until(run.world.now() + AFTERWARDS);
    }
    Ok(run.outcome(late, took.saturating_since(Instant::ZERO), options))
}

impl<'a> Run<'a> {
    fn build(case: &'a Case, options: Options) -> Result<Self, Misfit> {
        let mut world = World::new();
        let mut captured = Vec::new();
        let mut party = |number| -> Result<Party, Misfit> {
            let (mut host, party) = party(case, number, options)?;
            if options.capture {
                let devices = |name: &str| name == "line" || name == "control";
                let kind = |name: &str| name.to_owned();
                captured.push(Captured::tap(&Layers::Ip, &mut host, devices, kind));
            }
            let id = world.add_host(host);
            Ok(Party { id, ..party })
        };
        let parties = [party(0)?, party(1)?];
        let plugged = parties.each_ref().map(|party| Plugged {
            host: party.id,
            device: party.device,
            shared: &party.shared,
            port: PORTS[1],
        });
        path::connect(case, &mut world, plugged);
        world.start().map_err(|(_, misfit)| misfit)?;
        Ok(Self {
            case,
            world,
            parties,
            captured,
        })
    }

    fn user(&self, number: usize) -> Option<&User> {
        let party = self.parties.get(number)?;
        self.world.host(party.id)?.graph.protocol(party.user)
    }

    fn reports(&self) -> [Report; 2] {
        [0, 1].map(|number| self.user(number).map_or_else(Report::none, User::report))
    }

    /// Tells the program of an end to give up.
    fn give_up(&mut self, number: usize) {
        let now = self.world.now();
        if let Some(Party {
            id, user, control, ..
        }) = self.parties.get(number)
            && let Some(host) = self.world.host_mut(*id)
        {
            if let Some(user) = host.graph.protocol_mut::<User>(*user) {
                user.tell_to_give_up();
            }
            host.graph
                .input(now, *control, Indication::Unit(Unit::default()));
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
                Some(Violation {
                    at,
                    end,
                    rule,
                    what,
                })
            };
            if let Some(standstill) = self.world.standstill() {
                return late("standstill", standstill.to_string());
            }
            if self.world.events() > MOST_EVENTS {
                return late("no end", format!("{} events", self.world.events()));
            }
            let broken = self
                .parties
                .each_ref()
                .map(|party| with(&party.shared, |checker| checker.violation().is_some()));
            if broken.contains(&true) {
                return None;
            }
            let reports = self.reports();
            match reports.map(|report| report.over.is_some()) {
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
        let idle = self
            .parties
            .get(number)
            .is_some_and(|party| !with(&party.shared, |checker| checker.has_something_to_say(now)));
        if idle && now > since + PATIENCE {
            self.give_up(number);
            self.world.run_until(self.world.now());
        }
    }

    /// Nobody has had anything to say for long: one end may know nothing of a connection that the other one has.
    fn maybe_give_up_both(&mut self) {
        let now = self.world.now();
        let quiet = self.parties.each_ref().map(|party| {
            with(&party.shared, |checker| {
                (!checker.has_something_to_say(now)).then_some(checker.last)
            })
        });
        let [Some(near), Some(far)] = quiet else {
            return;
        };
        if now > near.max(far) + PATIENCE {
            self.give_up(0);
            self.give_up(1);
            self.world.run_until(self.world.now());
        }
    }

    fn outcome(mut self, late: Option<Violation>, took: Duration, options: Options) -> Outcome {
        let now = self.world.now();
        let ends = self.reports();
        let complaints = [0, 1].map(|number| self.user(number).and_then(|it| it.complaint.clone()));
        let evidence = self.parties.each_ref().map(|party| {
            with(&party.shared, |checker| {
                checker.at_last(now);
                Evidence {
                    broken: checker.violation().cloned(),
                    in_vain: checker.in_vain(),
                    reset_sent: checker.reset_sent,
                    reset_came: checker.reset_came,
                }
            })
        });
        let mut hash = 0_u64;
        let (mut segments, mut damaged) = (0, 0);
        for (party, report) in self.parties.iter().zip(&ends) {
            with(&party.shared, |checker| {
                segments += checker.segments;
                damaged += checker.damaged;
                hash = (hash ^ checker.hash()).wrapping_mul(0x0000_0100_0000_01b3);
            });
            hash = (hash ^ report.hash()).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let left = if late.is_none() {
            self.leftovers()
        } else {
            None
        };
        let violation = judge::first(self.case, &ends, &evidence, complaints, late, left, now);
        let traces = if options.trace {
            trace::collect(self.world.hosts())
        } else {
            Vec::new()
        };
        for (HostId(number), seen) in self.world.take_tapped() {
            if let Some(host) = self.captured.get_mut(number) {
                host.seen = seen;
            }
        }
        Outcome {
            seed: self.case.seed,
            violation,
            ends,
            took,
            events: self.world.events(),
            segments,
            damaged,
            hash,
            captured: self.captured,
            traces,
        }
    }

    /// What is left of the connection when all should be over: the end and what it is.
    fn leftovers(&mut self) -> Option<(usize, String)> {
        for (number, party) in self.parties.iter().enumerate() {
            let Some(host) = self.world.host_mut(party.id) else {
                continue;
            };
            let graph = &mut host.graph;
            let sessions = graph.protocol::<Tcp>(party.tcp).map_or(0, Tcp::connections);
            let leases = [Pool::Send, Pool::Receive]
                .map(|pool| graph.ledger_ref(pool).map_or(0, Ledger::in_use));
            let what = if sessions > 0 {
                format!("{sessions} connections are left")
            } else if let Some(at) = graph.next_timer() {
                format!("a timer for {at} is left")
            } else if leases != [0, 0] {
                format!(
                    "{} send and {} receive clusters are left",
                    leases[0], leases[1]
                )
            } else {
                continue;
            };
            return Some((number, what));
        }
        None
    }
}

fn party(case: &Case, number: usize, options: Options) -> Result<(Host, Party), Misfit> {
    let own = case.version.address(number);
    let [near, far] = &case.ends;
    let (end, pattern, expect) = if number == 0 {
        (near, pattern(case, 0), pattern(case, 1))
    } else {
        (far, pattern(case, 1), pattern(case, 0))
    };
    let facts = Arc::new(Facts::default());
    let both_call = matches!(far.opening, Opening::Calls { .. });
    let [near_port, far_port] = PORTS;
    let (own_port, peer_port) = match number {
        0 if !both_call => (0, far_port),
        0 => (near_port, far_port),
        _ => (far_port, near_port),
    };
    let sockets = [
        SocketAddr::from((own, own_port)),
        SocketAddr::from((case.version.address(1 - number), peer_port)),
    ];
    let stream = u64::try_from(number).unwrap_or(0);
    let mut graph = Graph::new(case.seed, stream);
    let task = graph.add_task("host");
    let program = User::new(end.clone(), [pattern, expect], sockets, Arc::clone(&facts));
    let user = graph.add_node("user", task, Box::new(program))?;
    let mut config = end.tcp.clone();
    config.trace = options.trace;
    let tcp = graph.add_node("tcp", task, Box::new(Tcp::new(config)))?;
    let (below, chain): (&str, &[&str]) = match case.stack {
        Stack::Ip => ("line", &["ip", "line"]),
        Stack::Aal5 => ("llc_snap", &["ip", "llc_snap", "aal5", "line"]),
        Stack::Cells => ("llc_snap", &["ip", "llc_snap", "line"]),
    };
    let layer = network(own, end.mtu, below)?;
    graph.add_node("ip", task, layer)?;
    if case.stack != Stack::Ip {
        let layer = LlcSnap::new(llc_snap::Config { vc: VC });
        graph.add_node("llc_snap", task, Box::new(layer))?;
    }
    if case.stack == Stack::Aal5 {
        let layer = Aal5::new(aal5::Config { max_sdu: u16::MAX });
        graph.add_node("aal5", task, Box::new(layer))?;
    }
    let device = graph.add_device("line", Service::UnitData)?;
    let control = graph.add_device("control", Service::Frame)?;
    graph.connect("user", "tcp")?;
    graph.connect("user", "control")?;
    graph.connect("tcp", "ip")?;
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
    let checker = Checker::new(number, (case.version, end), pattern, &facts);
    let mut host = Host::new(if number == 0 { "near" } else { "far" }, graph);
    host.set_task(
        task,
        TaskConfig {
            batch: end.batch,
            ..TaskConfig::default()
        },
    );
    for device in [device, control] {
        host.set_adapter(
            device,
            AdapterConfig {
                mtu: 1 << 17,
                ..AdapterConfig::default()
            },
        );
    }
    let party = Party {
        id: HostId(number),
        user,
        tcp,
        control,
        device,
        shared: Arc::new(Mutex::new(checker)),
    };
    Ok((host, party))
}

/// IP for a host at `own`, on the layer `below`, where nobody has to be told apart.
fn network(own: IpAddr, mtu: u32, below: &str) -> Result<Box<dyn Protocol>, Misfit> {
    let refused = |why: String| Misfit::Refused {
        upper: "ip".to_owned(),
        lower: below.to_owned(),
        why,
    };
    Ok(match own {
        IpAddr::V4(own) => {
            let interface = ip::Interface {
                mtu,
                ..ip::Interface::new(below, own, 24)
            };
            let layer = Ip::new(ip::Config::host(interface));
            Box::new(layer.map_err(|why| refused(why.to_string()))?)
        }
        IpAddr::V6(own) => {
            let interface = ipv6::Interface {
                mtu,
                ..ipv6::Interface::new(below, own, 64)
            };
            let layer = ipv6::Ip::new(ipv6::Config::host(interface));
            Box::new(layer.map_err(|why| refused(why.to_string()))?)
        }
    })
}

/// What end `number` writes. Content that is only carried has a sum in closed form; what is stored is random.
const fn pattern(case: &Case, number: usize) -> Pattern {
    let [near, far] = &case.ends;
    let stored = if number == 0 { near } else { far }.writing.stored;
    if stored {
        Pattern::Random {
            seed: case.seed ^ (number as u64 + 1),
        }
    } else {
        Pattern::Counter
    }
}
