#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one of many")]
//! Two graphs' ends of a line in one bench: frames take their time from end to end, and some do not come.

use kumiki_graph::Special;
use std::collections::BTreeMap;

use kumiki_graph::{
    Accept, Credit, DeviceId, Duration, Handle, Indication, Instant, NodeId, Opened, Protocol, Reason, Report, Request,
    Unit,
};
use kumiki_octets::Message;
use kumiki_osi_service::x25::{Call, Primitive};

use kumiki_testkit::bench::Bench;
use kumiki_testkit::refused::UnitEffects;

/// The user's handles of passive opens in the tests.
const PASSIVE: [u32; 2] = [5, 7];

/// One end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum End {
    A,
    B,
}

pub(crate) const A: End = End::A;
pub(crate) const B: End = End::B;

impl End {
    /// What a node or device `of` this end is called.
    pub(crate) fn name(self, of: &str) -> String {
        match self {
            Self::A => format!("{of} a"),
            Self::B => format!("{of} b"),
        }
    }

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Arrives,
    Lost,
}

/// What the user of one end has heard, and how it behaves.
#[derive(Default)]
struct Listener {
    user: Option<NodeId>,
    session: Option<Handle>,
    credit: u32,
    taken: Vec<Vec<u8>>,
    aborted: Option<Reason>,
    resets: u32,
    why_reset: Option<Reason>,
    refuses: bool,
    defers: bool,
    delivery: bool,
    offers: u32,
    confirmed: u32,
    opened: Option<Box<Opened>>,
    ends: Vec<bool>,
    /// Of each message taken, whether it was qualified.
    qualified: Vec<bool>,
    /// Messages taken whose delivery it has not confirmed.
    unconfirmed: u32,
    expedited: Vec<Vec<u8>>,
    aborted_data: Vec<u8>,
    holds: bool,
    held: u32,
    /// Whether it answers resets only when the test says so, and how many it has not.
    late: bool,
    unanswered: u32,
}

type Decide = Box<dyn FnMut(End, &[u8], Instant) -> Fate>;

/// An indication, with the octets of its message and not where they lie.
fn in_words(indication: &Indication) -> String {
    let data = indication.message().map(Message::to_vec);
    match indication {
        Indication::Data { session, end, .. } => {
            format!("{session:?} data {data:02x?} {end}")
        }
        Indication::Expedited { session, .. } => format!("{session:?} expedited {data:02x?}"),
        Indication::Special { session, what } => match what.get() {
            Some(Primitive::Data { data, end, qualified, delivery }) => {
                let data = data.to_vec();
                format!("{session:?} data {data:02x?} {end} Q {qualified} D {delivery}")
            }
            _ => format!("{session:?} {what:?}"),
        },
        other => format!("{other:?} {data:02x?}"),
    }
}

/// Two ends and the line.
pub(crate) struct Wire {
    pub(crate) bench: Bench,
    /// Decides about each frame, by who sends it.
    pub(crate) fate: Decide,
    delay: Duration,
    devices: BTreeMap<End, DeviceId>,
    listeners: BTreeMap<End, Listener>,
    in_progress: Vec<(Instant, End, Vec<u8>)>,
    log: Vec<(End, Vec<u8>)>,
    /// All that went out and was heard, with its time.
    trace: Vec<String>,
    nodes: BTreeMap<String, NodeId>,
}

impl Wire {
    pub(crate) fn new(delay: Duration) -> Self {
        Self {
            bench: Bench::new(),
            fate: Box::new(|_, _, _| Fate::Arrives),
            delay,
            devices: BTreeMap::new(),
            listeners: BTreeMap::new(),
            in_progress: Vec::new(),
            log: Vec::new(),
            trace: Vec::new(),
            nodes: BTreeMap::new(),
        }
    }

    pub(crate) fn device(&mut self, end: End) {
        let device = self.bench.device(&end.name("line"));
        self.devices.insert(end, device);
    }

    /// A user at this end, on `below`.
    pub(crate) fn user(&mut self, end: End, below: &str) {
        let user = self.bench.user(&end.name("user"), below, &[]);
        self.listeners.insert(end, Listener { user: Some(user), ..Listener::default() });
    }

    pub(crate) fn start(&mut self) {
        self.bench.start();
        self.after();
    }

    fn listener(&mut self, end: End) -> &mut Listener {
        self.listeners.entry(end).or_default()
    }

    fn listener_of(&self, end: End) -> &Listener {
        &self.listeners[&end]
    }

    pub(crate) fn say(&mut self, end: End, request: Request) {
        let is_data = if let Request::Data { .. } = &request {
            true
        } else if let Request::Special { what, .. } = &request {
            matches!(what.get(), Some(Primitive::Data { .. }))
        } else {
            false
        };
        if is_data {
            let listener = self.listener(end);
            listener.credit = listener.credit.saturating_sub(1);
        }
        self.say_only(end, request);
        self.after();
    }

    fn say_only(&mut self, end: End, request: Request) {
        let user = self.listener(end).user.unwrap();
        self.bench.say(user, request);
    }

    /// Looks at what went out and at what users have heard, until there is nothing new.
    fn after(&mut self) {
        for (device, unit) in self.bench.sent() {
            let Some(end) = self.devices.iter().find(|(_, it)| **it == device) else {
                continue;
            };
            let end = *end.0;
            let octets = unit.data.to_vec();
            let now = self.bench.now;
            self.trace.push(format!("{now} {end:?}: {octets:02x?}"));
            self.log.push((end, octets.clone()));
            if (self.fate)(end, &octets, self.bench.now) == Fate::Arrives {
                let at = self.bench.now + self.delay;
                self.in_progress.push((at, end.other(), octets));
            }
        }
        for end in [A, B] {
            let Some(user) = self.listeners.get(&end).and_then(|it| it.user) else {
                continue;
            };
            let heard = self.bench.heard(user);
            let news = !heard.is_empty();
            for indication in heard {
                self.hear(end, indication);
            }
            if news {
                self.after();
            }
        }
    }

    fn hear(&mut self, end_of: End, indication: Indication) {
        let end = end_of;
        let now = self.bench.now;
        self.trace.push(format!("{now} {end:?} hears {}", in_words(&indication)));
        let listener = self.listener(end);
        match indication {
            Indication::Opened(opened) => {
                // That of a listener is told by its user's handle.
                if !PASSIVE.contains(&opened.user.index) {
                    listener.session = Some(opened.provider);
                    listener.opened = Some(opened);
                }
            }
            Indication::Offered(offered) => {
                let session = offered.provider;
                listener.offers += 1;
                if listener.defers {
                    return;
                }
                if listener.refuses {
                    let (reason, data) = (Reason::User, None);
                    self.say_only(end, Request::Abort { session, reason, data });
                    return;
                }
                listener.session = Some(session);
                let user = Handle { index: 77, generation: 1 };
                let delivery = listener.delivery;
                let parameters = delivery.then(|| Box::new(Call { delivery, ..Call::default() })).into();
                self.say_only(
                    end,
                    Request::Accept(Box::new(Accept { session, user, parameters, ..Accept::default() })),
                );
            }
            Indication::Credit { credit, .. } => listener.credit += credit.messages,
            Indication::Data { data, end, .. } => {
                listener.ends.push(end);
                listener.qualified.push(false);
                listener.taken.push(data.to_vec());
                listener.held += 1;
                self.give_room(end_of);
            }
            Indication::Reset { reason, .. } => {
                listener.resets += 1;
                listener.why_reset = Some(reason.clone());
                listener.credit = 0;
                listener.held = 0;
                if listener.late {
                    listener.unanswered += u32::from(reason != Reason::User);
                    return;
                }
                if let Some(session) = listener.session.filter(|_| reason != Reason::User) {
                    self.say_only(end, Request::Reset { session, reason });
                }
            }
            Indication::Aborted { reason, data, .. } => {
                listener.aborted = Some(reason);
                listener.aborted_data = data.map(|it| it.to_vec()).unwrap_or_default();
                listener.session = None;
                listener.credit = 0;
            }
            Indication::Expedited { data, .. } => listener.expedited.push(data.to_vec()),
            Indication::Special { what, .. } => match what.get() {
                Some(Primitive::Confirm { packets }) => listener.confirmed += packets,
                Some(&Primitive::Data { ref data, end, qualified, delivery }) => {
                    listener.ends.push(end);
                    listener.qualified.push(qualified);
                    listener.unconfirmed += u32::from(delivery);
                    listener.taken.push(data.to_vec());
                    listener.held += 1;
                    self.give_room(end_of);
                }
                Some(Primitive::InterruptConfirm | Primitive::Claim { .. } | Primitive::TakeBack { .. }) | None => {}
            },
            Indication::Unit(_)
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
        }
    }

    /// From here on the user answers resets by [`Wire::answer`] alone.
    pub(crate) fn answer_late(&mut self, end: End) {
        self.listener(end).late = true;
    }

    /// Whether the user has a reset to answer, and a session.
    pub(crate) fn has_unanswered(&self, end: End) -> bool {
        let listener = self.listener_of(end);
        listener.unanswered > 0 && listener.session.is_some()
    }

    /// The user answers one reset that it has not answered.
    pub(crate) fn answer(&mut self, end: End) {
        let listener = self.listener(end);
        listener.unanswered = listener.unanswered.checked_sub(1).unwrap();
        let (session, reason) = (listener.session.unwrap(), Reason::User);
        self.say(end, Request::Reset { session, reason });
    }

    fn give_room(&mut self, end: End) {
        let listener = self.listener(end);
        let (Some(session), false) = (listener.session, listener.holds) else {
            return;
        };
        let credit = Credit::messages(core::mem::take(&mut listener.held));
        self.say_only(end, Request::Credit { session, credit });
    }

    /// Lets `time` pass.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.bench.now + time;
        loop {
            let arrival = self.in_progress.iter().map(|(at, ..)| *at).min();
            let next = [arrival, self.bench.graph.next_timer()];
            let Some(at) = next.into_iter().flatten().min().filter(|at| *at <= until) else {
                break;
            };
            // What arrives comes before what expires at the same time.
            let arrived = self.in_progress.iter().position(|(due, ..)| *due <= at);
            match arrived {
                Some(n) => {
                    let (at, end, octets) = self.in_progress.remove(n);
                    self.bench.now = self.bench.now.max(at);
                    let unit = Unit::of(Message::from_octets(&octets));
                    if let Some(device) = self.devices.get(&end) {
                        self.bench.receive(*device, unit);
                    }
                }
                None => {
                    let wait = at.saturating_since(self.bench.now);
                    self.bench.pass(wait);
                }
            }
            self.after();
        }
        self.bench.now = until;
    }

    /// Lets octets come to `end` that nobody has sent.
    pub(crate) fn inject(&mut self, end: End, octets: &[u8]) {
        let unit = Unit::of(Message::from_octets(octets));
        self.bench.receive(self.devices[&end], unit);
        self.after();
    }

    /// Lets octets come to `end` that nobody has sent, and gives what follows from them at once, which goes no further.
    pub(crate) fn intrude(&mut self, end: End, octets: &[u8]) -> UnitEffects {
        let unit = Unit::of(Message::from_octets(octets));
        self.bench.receive(self.devices[&end], unit);
        let sent = self.bench.sent_octets();
        let users: Vec<NodeId> = self.listeners.values().filter_map(|it| it.user).collect();
        let heard = users.into_iter().flat_map(|user| self.bench.heard(user));
        let heard = heard.map(|heard| in_words(&heard)).collect();
        UnitEffects { sent, heard }
    }

    /// All that went out and was heard, with its time.
    pub(crate) fn trace(&self) -> &[String] {
        &self.trace
    }

    pub(crate) fn report(&mut self, end: End, report: Report) {
        let report = Indication::Report(Box::new(report));
        self.bench.indicate(self.devices[&end], report);
        self.after();
    }

    /// The provider's handle of the session that stands.
    pub(crate) fn session(&self, end: End) -> Option<Handle> {
        self.listener_of(end).session
    }

    pub(crate) fn credit(&self, end: End) -> u32 {
        self.listener_of(end).credit
    }

    pub(crate) fn taken(&self, end: End) -> Vec<Vec<u8>> {
        self.listener_of(end).taken.clone()
    }

    /// Why the last session ended since this was last asked.
    pub(crate) fn aborted(&mut self, end: End) -> Option<Reason> {
        self.listener(end).aborted.take()
    }

    pub(crate) fn resets(&self, end: End) -> u32 {
        self.listener_of(end).resets
    }

    /// Why it was reset last.
    pub(crate) fn why_reset(&self, end: End) -> Option<Reason> {
        self.listener_of(end).why_reset.clone()
    }

    /// The user refuses what is offered.
    pub(crate) fn refuse(&mut self, end: End) {
        self.listener(end).refuses = true;
    }

    /// The user leaves what is offered unanswered.
    pub(crate) fn defer(&mut self, end: End) {
        self.listener(end).defers = true;
    }

    pub(crate) fn offers(&self, end: End) -> u32 {
        self.listener_of(end).offers
    }

    /// The user that accepts wants confirmation of delivery.
    pub(crate) fn wants_delivery(&mut self, end: End) {
        self.listener(end).delivery = true;
    }

    /// Packets whose delivery was confirmed.
    pub(crate) fn confirmed(&self, end: End) -> u32 {
        self.listener_of(end).confirmed
    }

    pub(crate) fn opened(&mut self, end: End) -> Option<Box<Opened>> {
        self.listener(end).opened.take()
    }

    /// Of each message taken, whether it was the end of one.
    pub(crate) fn ends(&self, end: End) -> Vec<bool> {
        self.listener_of(end).ends.clone()
    }

    /// Of each message taken, whether it was qualified.
    pub(crate) fn qualified(&self, end: End) -> Vec<bool> {
        self.listener_of(end).qualified.clone()
    }

    /// Messages taken whose delivery the user has not confirmed.
    pub(crate) fn unconfirmed(&self, end: End) -> u32 {
        self.listener_of(end).unconfirmed
    }

    /// The user confirms so many of them.
    pub(crate) fn confirm(&mut self, end: End, packets: u32) {
        let listener = self.listener(end);
        listener.unconfirmed -= packets;
        if let Some(session) = listener.session {
            let what = Special::new(Primitive::Confirm { packets });
            self.say(end, Request::Special { session, what });
        }
    }

    pub(crate) fn expedited(&self, end: End) -> Vec<Vec<u8>> {
        self.listener_of(end).expedited.clone()
    }

    /// What came with the end of the last session.
    pub(crate) fn aborted_data(&self, end: End) -> Vec<u8> {
        self.listener_of(end).aborted_data.clone()
    }

    /// Whether the user gives no room for what it has taken.
    pub(crate) fn hold(&mut self, end: End, holds: bool) {
        self.listener(end).holds = holds;
        self.give_room(end);
        self.after();
    }

    /// Every frame that went out, and by whom.
    pub(crate) fn log(&self) -> Vec<(End, Vec<u8>)> {
        self.log.clone()
    }

    pub(crate) fn node<P: Protocol>(&mut self, name: &str) -> &mut P {
        let node = self.nodes[name];
        self.bench.graph.protocol_mut::<P>(node).unwrap()
    }

    /// A node of the bench, to be found by its name.
    pub(crate) fn add(&mut self, name: &str, below: &[&str], protocol: impl Protocol) {
        let node = self.bench.node(name, below, protocol);
        self.nodes.insert(name.to_owned(), node);
    }
}
