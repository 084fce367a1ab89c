//! Our stack in virtual time.

use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{DeviceId, Graph, Indication, Instant, Manage, Notice, Report, Request, TaskId, Unit};
use kumiki_inet::tcp::{Snapshot, Tcp};
use kumiki_octets::Message;

use super::header::Header;
use super::notation::{Call, Connection, ProgramEvent, StackView};
use super::packet::{peer, stack_address};
use super::subject::Subject;
use super::user::User;
use kumiki_lab::scenario::{self, ConfigError};

/// The program's node and the devices.
const USER: &str = "user";
const LINE: &str = "line";
const CONTROL: &str = "control";

/// Our stack, its program, and what it has sent.
pub(super) struct Virtual {
    graph: Graph,
    line: DeviceId,
    control: DeviceId,
    v6: bool,
    mtu: u32,
    now: Instant,
    sent: VecDeque<(Instant, Vec<u8>)>,
}

impl Virtual {
    /// The stack that `header` asks for.
    ///
    /// # Errors
    /// A setting is wrong.
    pub(super) fn new(header: &Header) -> Result<Self, ConfigError> {
        let ip = if header.v6 { "ipv6" } else { "ip" };
        let prefix = if header.v6 { 64 } else { 24 };
        let mut settings = toml::Table::new();
        let address = format!("{}/{prefix}", stack_address(header.v6));
        settings.insert("mtu".to_owned(), format!("{} B", header.mtu).into());
        if header.v6 {
            // Nobody is asked for before the first segment, and nobody answers.
            let discovery = toml::Table::from_iter([
                ("duplicate_transmits".to_owned(), 0.into()),
                ("advertisements".to_owned(), false.into()),
            ]);
            settings.insert("address".to_owned(), address.into());
            settings.insert("discovery".to_owned(), discovery.into());
            settings = toml::Table::from_iter([(
                "interface".to_owned(),
                toml::Table::from_iter([(LINE.to_owned(), settings.into())]).into(),
            )]);
        } else {
            settings.insert("address".to_owned(), address.into());
        }
        let below = |layers: &[&str]| layers.iter().map(|it| (*it).to_owned()).collect();
        let mut layers: BTreeMap<String, Vec<String>> = BTreeMap::from([
            (USER.to_owned(), below(&["tcp", CONTROL])),
            ("tcp".to_owned(), below(&[ip])),
            (ip.to_owned(), below(&[LINE])),
        ]);
        if !header.v6 {
            layers.insert("icmp".to_owned(), below(&[ip]));
        }
        let host = scenario::Host {
            graph: Some(scenario::Graph::Below(layers)),
            paths: Some(header.paths),
            settings: BTreeMap::from([(ip.to_owned(), settings), ("tcp".to_owned(), header.tcp.clone())]),
            ..scenario::Host::default()
        };
        let user = Box::new(User::new(header.v6));
        let (graph, devices) = kumiki_lab::experiment::graph_of_host(&host, vec![(USER, user)], 1)?;
        let missing = || ConfigError::new("the stack has no such device");
        let device = |name: &str| devices.get(name).copied().ok_or_else(missing);
        let mut stack = Self {
            line: device(LINE)?,
            control: device(CONTROL)?,
            graph,
            v6: header.v6,
            mtu: header.mtu.into(),
            now: Instant::ZERO,
            sent: VecDeque::new(),
        };
        stack.graph.start(Instant::ZERO).map_err(|why| ConfigError::new(why.to_string()))?;
        stack.settle();
        Ok(stack)
    }

    fn user(&mut self) -> Option<&mut User> {
        let node = self.graph.node(USER)?;
        self.graph.protocol_mut(node)
    }

    /// Runs what waits, and takes what comes out.
    fn settle(&mut self) {
        let tasks = self.graph.tasks().count();
        loop {
            let mut worked = false;
            for task in (0..tasks).map(TaskId) {
                while self.graph.waiting(task).is_some_and(|at| at <= self.now) {
                    self.graph.run(task, self.now, 1);
                    worked = true;
                }
            }
            while let Some(output) = self.graph.output() {
                worked = true;
                match output.request {
                    Request::Unit(unit) if output.device == self.line => {
                        self.sent.push_back((output.at, unit.data.to_vec()));
                    }
                    Request::Manage(manage) if matches!(*manage, Manage::Limits) => {
                        let (unit, burst) = (self.mtu, 1);
                        let report = Report::Limits { unit, burst };
                        let report = Indication::Report(Box::new(report));
                        self.graph.input(self.now, output.device, report);
                    }
                    Request::Unit(_)
                    | Request::Open(_)
                    | Request::Accept(_)
                    | Request::Cancel { .. }
                    | Request::Data { .. }
                    | Request::Special { .. }
                    | Request::Expedited { .. }
                    | Request::Credit { .. }
                    | Request::Release { .. }
                    | Request::Abort { .. }
                    | Request::Reset { .. }
                    | Request::Manage(_) => {}
                }
            }
            if !worked {
                return;
            }
        }
    }

    /// Goes to the next timer that is due by `until`; false where there is none.
    fn step(&mut self, until: Instant) -> bool {
        let Some(next) = self.graph.next_timer().filter(|next| *next <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(next);
        self.graph.fire(self.now);
        self.settle();
        true
    }

    /// How our end of a connection stands.
    fn state(&self, connection: Connection) -> Option<Snapshot> {
        let tcp: &Tcp = self.graph.protocol(self.graph.node("tcp")?)?;
        let remote = peer(self.v6, connection);
        let mut found = tcp.snapshots().filter(|(_, with, _)| *with == remote);
        found.next().map(|(_, _, snapshot)| snapshot)
    }

    fn connections(&self) -> usize {
        let node = self.graph.node("tcp");
        let tcp: Option<&Tcp> = node.and_then(|node| self.graph.protocol(node));
        tcp.map_or(0, Tcp::connections)
    }
}

impl Subject for Virtual {
    fn run_until(&mut self, until: Instant) -> Result<(), String> {
        while self.step(until) {}
        Ok(())
    }

    fn next_packet(&mut self, until: Instant) -> Result<Option<(Instant, Vec<u8>)>, String> {
        while self.sent.is_empty() && self.step(until) {}
        Ok(self.sent.pop_front())
    }

    fn inject(&mut self, packet: &[u8]) -> Result<(), String> {
        let unit = Unit::of(Message::from_octets(packet));
        self.graph.input(self.now, self.line, Indication::Unit(Box::new(unit)));
        self.settle();
        Ok(())
    }

    fn call(&mut self, connection: Connection, call: Call) -> Result<(), String> {
        if let Some(user) = self.user() {
            user.ask(connection, call);
        }
        let poke = Indication::Unit(Box::default());
        self.graph.input(self.now, self.control, poke);
        self.settle();
        match self.user().and_then(|user| user.refused.take()) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    fn hears(
        &mut self,
        connection: Connection,
        hear: ProgramEvent,
        from: Instant,
        until: Instant,
    ) -> Result<(), String> {
        self.run_until(until)?;
        match self.user() {
            Some(user) => user.talk(connection).hears(hear, from, until),
            None => Ok(()),
        }
    }

    fn sees(&mut self, connection: Connection, see: StackView, now: Instant) -> Result<(), String> {
        let state = self.state(connection);
        let connections = self.connections();
        let at = now;
        let just = |told: &[(Instant, Notice)], wanted: fn(&Notice) -> bool| {
            told.iter().any(|(when, notice)| *when == at && wanted(notice))
        };
        let Some(user) = self.user() else {
            return Ok(());
        };
        let talk = user.talk(connection);
        let got = match see {
            StackView::Connections(_) => Some(StackView::Connections(connections)),
            StackView::State(_) => Some(StackView::State(state.map_or("CLOSED", |it| it.state))),
            StackView::Rto(_) => state.map(|it| StackView::Rto(it.rto)),
            StackView::Cwnd(_) => state.map(|it| StackView::Cwnd(it.cwnd)),
            StackView::Ssthresh(_) => state.map(|it| StackView::Ssthresh(it.ssthresh)),
            StackView::SndWnd(_) => state.map(|it| StackView::SndWnd(it.snd_wnd)),
            StackView::RcvWnd(_) => state.map(|it| StackView::RcvWnd(it.rcv_wnd)),
            StackView::Srtt(_) => state.and_then(|it| it.srtt).map(StackView::Srtt),
            StackView::NoAnswer => just(&talk.notices, |it| *it == Notice::NoAnswer).then_some(see),
            StackView::Answered => just(&talk.notices, |it| *it == Notice::Answered).then_some(see),
            StackView::Problem => just(&talk.notices, |it| matches!(it, Notice::Problem(_))).then_some(see),
            StackView::Urgent(_) => {
                let last = talk.urgent.last().filter(|(when, _)| *when == at);
                last.map(|(_, ahead)| StackView::Urgent(*ahead))
            }
        };
        match got {
            Some(got) if got == see => Ok(()),
            Some(got) => Err(got.to_string()),
            None => Err("nothing of the kind".to_owned()),
        }
    }

    fn forget(&mut self, connection: Connection) {
        if let Some(user) = self.user() {
            user.talks.remove(&connection);
        }
    }

    fn mishap(&mut self) -> Option<String> {
        let user = self.user()?;
        user.talks.iter().find_map(|(connection, talk)| {
            let ending = talk.ending.map(|it| format!("connection {connection}: {it}"));
            let odd = talk.odd.as_ref();
            odd.map(|it| format!("connection {connection}: {it}")).or(ending)
        })
    }
}
