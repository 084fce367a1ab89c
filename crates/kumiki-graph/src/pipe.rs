//! One stream over a device of octets: a socket of the operating system.
//!
//! | | |
//! |---|---|
//! | Specification | none: whoever made the device has connected it, and this gives what stands above it the service of a stream |
//! | Above | one user, with one session: it calls (any address: there is only one peer), or listens and is offered the peer as soon as it is there |
//! | Below | a device of octets that says when its peer is there and how much room it has (`kumiki_io::stream`) |
//! | Left out | a half-closed stream: the device ends both directions at once. After a release nothing more is sent, and what the peer still sends is handed up until it ends |
//!
//! Credit passes through, both ways: the device's room is the user's credit to send, and what the user grants the
//! device may read. So nothing is ever held in here.

use crate::{
    Above, Address, Below, Context, Credit, Handle, Indication, Key, Manage, Mode, Offered, Open, Opened, Protocol,
    Reason, Report, Request, Service, Shape, Unit, UnitIndication,
};
use kumiki_octets::Message;

/// The device.
const DEVICE: Below = Below(0);
/// The one session, and the one listener beside it.
const SESSION: Handle = Handle { index: 0, generation: 1 };
const LISTENER: Handle = Handle { index: 1, generation: 1 };

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// What the device may read before the user has taken anything, in octets, where the user does not say.
    pub receive_buffer: u32,
    /// The peer's address, which is told to the user.
    pub remote: Address,
    /// Our own.
    pub local: Address,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // Twice what an operating system hands over at once on a fast path.
            receive_buffer: 256 * 1024,
            remote: Address::NONE,
            local: Address::NONE,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Octets sent.
    pub sent: u64,
    /// Octets handed up.
    pub received: u64,
}

/// Where the session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nobody wants it.
    Idle,
    /// The user has called, and the peer is not there yet.
    Calling,
    /// The user waits for the peer.
    Listening,
    /// The user was told of the peer and has not answered.
    Offered,
    /// It stands.
    Open {
        /// The user sends no more.
        released: bool,
        /// The peer sends no more.
        ended: bool,
    },
    /// It is over; a device has one peer.
    Over,
}

/// The layer.
#[derive(Debug)]
pub struct Pipe {
    config: Config,
    phase: Phase,
    /// The user's handle, of the session or of the listener.
    user: Handle,
    above: Above,
    /// The peer is there.
    is_up: bool,
    /// Room in the device that the user has not been told of.
    room: u64,
    counters: Counters,
}

impl Pipe {
    /// A layer as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            phase: Phase::Idle,
            user: Handle::default(),
            above: Above(0),
            is_up: false,
            room: 0,
            counters: Counters::default(),
        }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether the user has left the session, or it is over: it says nothing more.
    #[must_use]
    pub const fn is_left(&self) -> bool {
        matches!(self.phase, Phase::Over | Phase::Open { released: true, .. })
    }

    fn up(&self, indication: Indication, cx: &mut Context<'_>) {
        cx.up(self.above, indication);
    }

    fn open(&mut self, open: &Open, cx: &mut Context<'_>) {
        if self.phase != Phase::Idle {
            let (session, data) = (open.user, None);
            let reason = Reason::NoResources;
            self.up(Indication::Aborted { session, reason, data }, cx);
            return;
        }
        self.user = open.user;
        if let Some(octets) = open.quality.receive_buffer {
            self.config.receive_buffer = octets;
        }
        if let Mode::Passive { .. } = open.mode {
            self.phase = Phase::Listening;
            let opened = self.opened(LISTENER);
            self.up(opened, cx);
        } else {
            self.phase = Phase::Calling;
        }
        self.look(cx);
    }

    fn opened(&self, provider: Handle) -> Indication {
        Indication::Opened(Box::new(Opened {
            user: self.user,
            provider,
            local: self.config.local,
            remote: self.config.remote,
            ..Opened::default()
        }))
    }

    /// The peer is there, or somebody wants it.
    fn look(&mut self, cx: &mut Context<'_>) {
        if !self.is_up {
            return;
        }
        match self.phase {
            Phase::Calling => {
                let opened = self.opened(SESSION);
                self.up(opened, cx);
                self.begin(cx);
            }
            Phase::Listening => {
                self.phase = Phase::Offered;
                let offered = Offered {
                    user: self.user,
                    provider: SESSION,
                    local: self.config.local,
                    remote: self.config.remote,
                    ..Offered::default()
                };
                self.up(Indication::Offered(Box::new(offered)), cx);
            }
            Phase::Idle | Phase::Offered | Phase::Open { .. } | Phase::Over => {}
        }
    }

    fn begin(&mut self, cx: &mut Context<'_>) {
        self.phase = Phase::Open { released: false, ended: false };
        self.allow(self.config.receive_buffer.into(), cx);
        self.tell_room(cx);
    }

    /// The device may read so much more.
    fn allow(&self, octets: u64, cx: &mut Context<'_>) {
        let session = Handle::default();
        let credit = Credit::octets(octets);
        cx.down(DEVICE, Request::Credit { session, credit });
    }

    fn tell_room(&mut self, cx: &mut Context<'_>) {
        if matches!(self.phase, Phase::Open { .. }) && self.room > 0 {
            let credit = Credit::octets(core::mem::take(&mut self.room));
            let session = self.user;
            self.up(Indication::Credit { session, credit }, cx);
        }
    }

    fn send(&mut self, data: Message, cx: &mut Context<'_>) {
        self.counters.sent += data.len() as u64;
        cx.down(DEVICE, Request::Unit(Box::new(Unit::of(data))));
    }

    fn release(&mut self, cx: &mut Context<'_>) {
        if let Phase::Open { released, ended } = &mut self.phase {
            *released = true;
            if *ended {
                self.phase = Phase::Over;
                let session = self.user;
                self.up(Indication::Closed { session }, cx);
            }
        }
    }

    fn on_down(&mut self, cx: &mut Context<'_>) {
        self.is_up = false;
        let (session, data) = (self.user, None);
        match &mut self.phase {
            Phase::Calling => {
                self.phase = Phase::Over;
                let reason = Reason::Refused;
                self.up(Indication::Aborted { session, reason, data }, cx);
            }
            Phase::Open { released, ended } => {
                *ended = true;
                let released = *released;
                self.up(Indication::Released { session, data }, cx);
                if released {
                    self.phase = Phase::Over;
                    self.up(Indication::Closed { session }, cx);
                }
            }
            // An answer to the offer comes too late, and hears so.
            Phase::Offered => self.phase = Phase::Over,
            Phase::Idle | Phase::Listening | Phase::Over => {}
        }
    }
}

impl Protocol for Pipe {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::STREAM),
            needs: &[Service::FRAME, Service::UNIT_DATA],
            below: (1, 1),
            keys: Vec::new(),
        }
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        if above == Above(0) { Ok(()) } else { Err("a pipe has one peer, and one user has it already".to_owned()) }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        self.above = from;
        let is_open = matches!(self.phase, Phase::Open { released: false, .. });
        match request {
            Request::Open(open) => self.open(&open, cx),
            Request::Accept(accept) if self.phase == Phase::Offered => {
                self.user = accept.user;
                if let Some(octets) = accept.quality.receive_buffer {
                    self.config.receive_buffer = octets;
                }
                self.begin(cx);
            }
            Request::Accept(accept) => {
                let (session, reason, data) = (accept.user, Reason::NoSession, None);
                self.up(Indication::Aborted { session, reason, data }, cx);
            }
            Request::Data { session, data, .. } if session == SESSION && is_open => {
                self.send(data, cx);
            }
            Request::Credit { session, credit } if session == SESSION => {
                self.allow(credit.octets, cx);
            }
            Request::Release { session, .. } if session == SESSION => self.release(cx),
            Request::Abort { session, .. } if session == SESSION => self.phase = Phase::Over,
            Request::Abort { session, .. } if session == LISTENER => {
                if matches!(self.phase, Phase::Listening | Phase::Offered) {
                    self.phase = Phase::Idle;
                }
            }
            Request::Cancel { user } if user == self.user => self.phase = Phase::Over,
            Request::Manage(manage) => match *manage {
                Manage::Limits => cx.down(DEVICE, Request::Manage(manage)),
                Manage::Route { .. }
                | Manage::Refuse { .. }
                | Manage::Session { .. }
                | Manage::Advise { .. }
                | Manage::Narrow { .. }
                | Manage::Group { .. }
                | Manage::Special(_) => cx.drop("a pipe has nothing to manage"),
            },
            Request::Data { .. }
            | Request::Credit { .. }
            | Request::Release { .. }
            | Request::Abort { .. }
            | Request::Cancel { .. }
            | Request::Reset { .. } => cx.drop("no such session"),
            Request::Unit(_) | Request::Special { .. } | Request::Expedited { .. } => {
                cx.drop("a pipe carries octets alone");
            }
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let Some(indication) = indication.of_unit_data() else {
            cx.drop("a device has no sessions");
            return;
        };
        match indication {
            UnitIndication::Unit(unit) => {
                let Phase::Open { ended: false, .. } = self.phase else {
                    cx.drop("octets without a user");
                    return;
                };
                self.counters.received += unit.data.len() as u64;
                let (session, data, end) = (self.user, unit.data, false);
                self.up(Indication::Data { session, data, end }, cx);
            }
            UnitIndication::Credit(credit) => {
                self.room += credit.octets;
                self.tell_room(cx);
            }
            UnitIndication::Report(report) => match *report {
                Report::Up => {
                    self.is_up = true;
                    self.look(cx);
                }
                Report::Down => self.on_down(cx),
                Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } | Report::Special(_) => {
                    self.up(Indication::Report(report), cx);
                }
            },
        }
    }
}
