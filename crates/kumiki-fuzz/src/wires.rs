//! Connections of a stream in the hands of a target: what TCP is to those who only see its service.

use kumiki_graph::{
    Above, Below, Context, Credit, Handle, Indication, Mode, Offered, Opened, Protocol, Reason, Request, Service,
    Shape, Token,
};
use kumiki_octets::Message;

/// Octets that a side may have sent and the target not carried; what its user has not granted is not delivered either.
const WINDOW: u64 = 64 << 10;

/// One side of a connection.
#[derive(Default)]
pub(crate) struct Side {
    above: Option<Above>,
    user: Handle,
    /// It was connected, and has not ended.
    pub(crate) stands: bool,
    /// It sends no more.
    pub(crate) released: bool,
    /// It was told that the other one sends no more.
    told: bool,
    /// What it has sent.
    pub(crate) out: Vec<u8>,
    /// Octets that it takes.
    pub(crate) granted: u64,
}

/// What a target wants done.
pub(crate) enum WireAction {
    /// The caller of connection `.0` is connected to who listens.
    Connect(usize),
    /// The caller of connection `.0` is connected to the target itself.
    Take(usize),
    /// Octets come to a side, 0 being the caller.
    Octets(usize, usize, Vec<u8>),
    /// A side is told that the other sends no more.
    Released(usize, usize),
    /// Both sides lose it.
    Break(usize),
    /// Somebody calls who is no node here: the target itself.
    Call,
}

/// All connections; the first user to listen is called by all others.
#[derive(Default)]
pub(crate) struct Wires {
    listener: Option<(Above, Handle)>,
    pub(crate) connections: Vec<[Side; 2]>,
    acts: Vec<WireAction>,
}

fn handle(connection: usize, side: usize) -> Handle {
    Handle { index: u32::try_from(2 * connection + side).unwrap(), generation: 1 }
}

impl Wires {
    /// Has `act` done when the node is woken next.
    pub(crate) fn act(&mut self, act: WireAction) {
        self.acts.push(act);
    }

    fn side(&mut self, session: Handle) -> Option<&mut Side> {
        let index = session.index as usize;
        self.connections.get_mut(index / 2)?.get_mut(index % 2)
    }

    fn grant(&self, connection: usize, side: usize, octets: u64, cx: &mut Context<'_>) {
        let side = &self.connections[connection][side];
        if let Some(above) = side.above {
            let (session, credit) = (side.user, Credit::octets(octets));
            cx.up(above, Indication::Credit { session, credit });
        }
    }

    fn lost(&mut self, connection: usize, side: usize, reason: Reason, cx: &mut Context<'_>) {
        let is_caller = side == 0;
        let side = &mut self.connections[connection][side];
        let stood = core::mem::replace(&mut side.stands, false);
        if let Some(above) = side.above.take().filter(|_| stood || is_caller) {
            let (session, data) = (side.user, None);
            cx.up(above, Indication::Aborted { session, reason, data });
        }
    }

    fn connect(&mut self, connection: usize, cx: &mut Context<'_>) {
        if self.connections[connection][1].above.is_some() {
            return;
        }
        let Some((above, user)) = self.listener else {
            return self.lost(connection, 0, Reason::Refused, cx);
        };
        self.connections[connection][1] = Side { above: Some(above), ..Side::default() };
        let offered = Offered { user, provider: handle(connection, 1), ..Offered::default() };
        cx.up(above, Indication::Offered(Box::new(offered)));
    }

    fn accepted(&mut self, session: Handle, user: Handle, cx: &mut Context<'_>) {
        let connection = session.index as usize / 2;
        for number in 0..2 {
            let side = &mut self.connections[connection][number];
            side.stands = true;
            side.granted = WINDOW;
        }
        self.connections[connection][1].user = user;
        let caller = &self.connections[connection][0];
        if let Some(above) = caller.above {
            let opened = Opened { user: caller.user, provider: handle(connection, 0), ..Opened::default() };
            cx.up(above, Indication::Opened(Box::new(opened)));
        }
        for side in 0..2 {
            self.grant(connection, side, WINDOW, cx);
        }
    }

    fn released(&mut self, connection: usize, side: usize, cx: &mut Context<'_>) {
        let own = &mut self.connections[connection][side];
        let (session, data) = (own.user, None);
        let Some(above) = own.above.filter(|_| own.stands && !own.told) else {
            return;
        };
        own.told = true;
        cx.up(above, Indication::Released { session, data });
        if own.released {
            own.stands = false;
            own.above = None;
            cx.up(above, Indication::Closed { session });
        }
    }

    fn perform(&mut self, act: WireAction, cx: &mut Context<'_>) {
        match act {
            WireAction::Connect(connection) => self.connect(connection, cx),
            WireAction::Take(connection) => {
                let [caller, called] = &self.connections[connection];
                let is_new = !caller.stands && !called.stands && called.above.is_none();
                if is_new && caller.above.is_some() {
                    self.accepted(handle(connection, 1), Handle::default(), cx);
                }
            }
            WireAction::Call => {
                self.connections.push(Default::default());
                self.connect(self.connections.len() - 1, cx);
            }
            WireAction::Octets(connection, side, octets) => {
                let own = &mut self.connections[connection][side];
                let Some(above) = own.above.filter(|_| own.stands && !own.told) else {
                    return;
                };
                own.granted = own.granted.saturating_sub(octets.len() as u64);
                let (session, data) = (own.user, Message::from_octets(&octets));
                let end = false;
                cx.up(above, Indication::Data { session, data, end });
            }
            WireAction::Released(connection, side) => self.released(connection, side, cx),
            WireAction::Break(connection) => {
                for side in 0..2 {
                    self.lost(connection, side, Reason::Reset, cx);
                }
            }
        }
    }
}

impl Protocol for Wires {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::STREAM), needs: &[], below: (0, 0), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) if open.mode == Mode::Active => {
                let caller = Side { above: Some(from), user: open.user, ..Side::default() };
                self.connections.push([caller, Side::default()]);
            }
            Request::Open(open) => {
                self.listener = Some((from, open.user));
                let opened = Opened {
                    user: open.user,
                    provider: Handle { index: u32::MAX, generation: 1 },
                    ..Opened::default()
                };
                cx.up(from, Indication::Opened(Box::new(opened)));
            }
            Request::Accept(accept) => self.accepted(accept.session, accept.user, cx),
            Request::Data { session, data, .. } => {
                let index = session.index as usize;
                if let Some(side) = self.side(session).filter(|it| it.stands && !it.released) {
                    let octets = data.to_vec();
                    side.out.extend_from_slice(&octets);
                    assert!(side.out.len() as u64 <= 16 * WINDOW, "more than is read");
                    self.grant(index / 2, index % 2, octets.len() as u64, cx);
                }
            }
            Request::Credit { session, credit } => {
                if let Some(side) = self.side(session) {
                    side.granted = side.granted.saturating_add(credit.octets);
                }
            }
            Request::Release { session, .. } => {
                if let Some(side) = self.side(session) {
                    side.released = true;
                    if side.told && side.stands {
                        side.stands = false;
                        let user = side.user;
                        if let Some(above) = side.above.take() {
                            cx.up(above, Indication::Closed { session: user });
                        }
                    }
                }
            }
            Request::Abort { session, .. } => {
                let index = session.index as usize;
                if let Some(side) = self.side(session) {
                    (side.above, side.stands) = (None, false);
                    let reason = Reason::Reset;
                    self.lost(index / 2, 1 - index % 2, reason, cx);
                }
            }
            Request::Cancel { user } => {
                let mut sides = self.connections.iter_mut().map(|[caller, _]| caller);
                let own = sides.find(|it| it.above == Some(from) && it.user == user);
                if let Some(side) = own {
                    side.above = None;
                }
            }
            Request::Unit(_)
            | Request::Special { .. }
            | Request::Expedited { .. }
            | Request::Reset { .. }
            | Request::Manage(_) => panic!("no stream has this"),
        }
    }

    fn pop(&mut self, _: Below, _: Indication, _: &mut Context<'_>) {}

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        for act in core::mem::take(&mut self.acts) {
            self.perform(act, cx);
        }
    }
}

/// As many of `octets` as are whole TPKTs, one by one; the rest stays.
pub(crate) fn packets(octets: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some([3, 0, l0, l1]) = octets.first_chunk::<4>().copied() {
        let len = usize::from(u16::from_be_bytes([l0, l1]));
        if octets.len() < len {
            break;
        }
        let rest = octets.split_off(len);
        found.push(core::mem::replace(octets, rest));
    }
    found
}
