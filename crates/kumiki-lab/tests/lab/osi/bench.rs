//! Both hosts in one graph, a line with a delay between them, and the first host's device on record.

use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{
    Above, Accept, AccessPoint, Below, Context, Credit, DeviceId, Duration, Graph, Handle, Indication, Instant, NodeId,
    Protocol, Reason, Report, Request, Service, Shape, TaskId, Unit,
};
use kumiki_lab::capture::{self, Captured, Content, Tap};
use kumiki_octets::Message;
use kumiki_osi_service::Association;
use kumiki_stack::{LowerLayers, Settings, build};

/// How long a frame takes.
const DELAY: Duration = Duration::from_millis(1);

/// A host's number: the first one calls.
pub(crate) const NEAR: usize = 0;
pub(crate) const FAR: usize = 1;

/// The handle of a passive open in the tests.
pub(crate) const LISTENER: Handle = Handle { index: 20, generation: 1 };
/// That of who calls.
pub(crate) const CALLER: Handle = Handle { index: 10, generation: 1 };

/// What a node or device of a host is called.
pub(crate) fn of(host: usize, layer: &str) -> String {
    format!("{layer} {}", ["near", "far"][host])
}

/// Says what it is told to, accepts who calls, and takes what comes at once.
#[derive(Default)]
pub(crate) struct User {
    queue: Vec<Request>,
    /// What has come, but for credit.
    pub(crate) heard: Vec<Indication>,
    /// The provider's handle of the session.
    pub(crate) session: Handle,
    /// Data that may be sent.
    pub(crate) credit: u32,
    /// With which answer callers are accepted; refused, where there is none.
    pub(crate) accept: Option<Accept>,
}

impl Protocol for User {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::CONNECTION, Service::UNIT_DATA], below: (2, 2), keys: Vec::new() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if from != Below(0) {
            for request in self.queue.drain(..) {
                cx.down(Below(0), request);
            }
            return;
        }
        match &indication {
            Indication::Credit { credit, .. } => {
                self.credit += credit.messages;
                return;
            }
            Indication::Opened(opened) => self.session = opened.provider,
            Indication::Offered(offered) => {
                self.session = offered.provider;
                let session = offered.provider;
                let answer = match self.accept.clone() {
                    Some(accept) => Request::Accept(Box::new(Accept { session, ..accept })),
                    None => Request::Abort { session, reason: Reason::User, data: None },
                };
                cx.down(Below(0), answer);
            }
            // Its confirm where it was asked for here; that does no harm.
            Indication::Reset { reason, .. } if *reason != Reason::User => {
                let (session, reason) = (self.session, Reason::User);
                cx.down(Below(0), Request::Reset { session, reason });
            }
            Indication::Data { .. } | Indication::Special { .. } => {
                let (session, credit) = (self.session, Credit::messages(1));
                cx.down(Below(0), Request::Credit { session, credit });
            }
            Indication::Released { .. } => {
                let (session, data) = (self.session, None);
                cx.down(Below(0), Request::Release { session, data });
            }
            Indication::Unit(_)
            | Indication::Expedited { .. }
            | Indication::Closed { .. }
            | Indication::Aborted { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
        }
        self.heard.push(indication);
    }
}

pub(crate) struct Bench {
    pub(crate) graph: Graph,
    now: Instant,
    task: TaskId,
    lines: Vec<DeviceId>,
    tells: BTreeMap<NodeId, DeviceId>,
    in_flight: VecDeque<(Instant, DeviceId, Message)>,
    captured: Captured,
    tap: Option<(AccessPoint, Tap)>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let mut graph = Graph::new(1, 0);
        let task = graph.add_task("cpu");
        Self {
            graph,
            now: Instant::ZERO,
            task,
            lines: Vec::new(),
            tells: BTreeMap::new(),
            in_flight: VecDeque::new(),
            captured: Captured { host: "near".to_owned(), taps: BTreeMap::new(), seen: Vec::new() },
            tap: None,
        }
    }

    /// The end of the line at `host`; to be called for the near one first. Frames of `upper` there are on record.
    pub(crate) fn line(&mut self, host: usize) {
        let device = self.graph.add_device(&of(host, "line"), Service::UNIT_DATA);
        self.lines.push(device.unwrap());
    }

    /// A node on others of its host.
    pub(crate) fn node(&mut self, host: usize, layer: &str, below: &[&str], protocol: impl Protocol) {
        self.boxed(host, layer, below, Box::new(protocol));
    }

    /// As [`Bench::node`], of a kind, with settings.
    pub(crate) fn build(&mut self, host: usize, kind: &str, below: &[&str], settings: &Settings) {
        let names: Vec<String> = below.iter().map(|layer| of(host, layer)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let place = LowerLayers { below: &names, mtu: Some(1500) };
        let node = build(kind, settings, place).unwrap_or_else(|why| panic!("{why}"));
        self.boxed(host, kind, below, node);
    }

    fn boxed(&mut self, host: usize, layer: &str, below: &[&str], protocol: Box<dyn Protocol>) {
        let name = of(host, layer);
        self.graph.add_node(&name, self.task, protocol).unwrap();
        for below in below {
            let point = self.graph.connect(&name, &of(host, below)).unwrap();
            if host == NEAR && *below == "line" {
                let tap = Tap {
                    upper: name.clone(),
                    lower: of(host, below),
                    above_device: true,
                    content: Content::between(layer, "line"),
                };
                self.tap = point.map(|point| (point, tap));
            }
        }
    }

    /// A user on the topmost layer of a host.
    pub(crate) fn user(&mut self, host: usize, below: &str) -> NodeId {
        let trigger = of(host, "tell");
        let tell = self.graph.add_device(&trigger, Service::UNIT_DATA).unwrap();
        self.node(host, "user", &[below, "tell"], User::default());
        let node = self.graph.node(&of(host, "user")).unwrap();
        self.tells.insert(node, tell);
        node
    }

    pub(crate) fn start(&mut self) {
        if let Some((point, tap)) = self.tap.take() {
            self.captured.taps.insert(point, tap);
        }
        let points: Vec<AccessPoint> = self.captured.taps.keys().copied().collect();
        for point in points {
            self.graph.tap(point);
        }
        self.graph.start(self.now).unwrap();
        for line in self.lines.clone() {
            self.input(line, Indication::Report(Box::new(Report::Up)));
        }
        self.pass(Duration::from_millis(10));
    }

    fn input(&mut self, device: DeviceId, indication: Indication) {
        self.graph.input(self.now, device, indication);
        self.run();
    }

    fn run(&mut self) {
        while self.graph.waiting(self.task).is_some() {
            self.graph.run(self.task, self.now, 1);
        }
        while let Some(output) = self.graph.output() {
            let Some(from) = self.lines.iter().position(|it| *it == output.device) else {
                continue;
            };
            if let Request::Unit(unit) = output.request {
                let to = self.lines[1 - from];
                self.in_flight.push_back((self.now + DELAY, to, unit.data));
            }
        }
    }

    /// Lets so much time pass, or less where nothing more would happen.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            let arrival = self.in_flight.front().map(|(at, ..)| *at);
            let next = arrival.into_iter().chain(self.graph.next_timer()).min();
            let Some(next) = next.filter(|at| *at <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, device, data) = self.in_flight.pop_front().unwrap();
                self.input(device, Indication::Unit(Box::new(Unit::of(data))));
            } else {
                self.graph.fire(next);
                self.run();
            }
        }
    }

    /// Lets a user hand down `request`, and what comes of it go both ways.
    pub(crate) fn say(&mut self, user: NodeId, request: Request) {
        self.tell(user, request);
        self.pass(Duration::from_millis(10));
    }

    /// As [`Bench::say`], without any time passing.
    pub(crate) fn tell(&mut self, user: NodeId, request: Request) {
        let tell = self.tells[&user];
        self.person(user).queue.push(request);
        self.input(tell, Indication::Report(Box::new(Report::Up)));
    }

    pub(crate) fn person(&mut self, user: NodeId) -> &mut User {
        self.graph.protocol_mut::<User>(user).unwrap()
    }

    /// What crossed the near line, as a capture file.
    pub(crate) fn capture(&mut self) -> Vec<u8> {
        self.captured.seen.extend(self.graph.take_tapped());
        capture::pcapng(core::slice::from_ref(&self.captured), Vec::new()).unwrap()
    }
}

/// An answer to a caller, with what goes with its association.
pub(crate) fn accepting(association: Option<Association>) -> Accept {
    Accept {
        user: Handle { index: 21, generation: 1 },
        parameters: association.map(Box::new).into(),
        ..Accept::default()
    }
}
