//! What a program asks.

use core::fmt;
use core::net::SocketAddr;

use kumiki_graph::{
    Accept, Address, Credit, Handle, Manage, Mode, NoPath, Open, Quality, Reason, Request, Unit, UnitOptions,
};
use kumiki_inet::udp::Peer;
use kumiki_octets::Message;
use kumiki_wire::inet::{IpParameters, IpQuality};

use super::{Guest, GuestKind, LayerOpen, within_bounds};
use crate::rings::primitives::{Command, Datagram, Layer};
use crate::sockets::datagrams::{MOST, RECEIVE_BUFFER, unspecified};
use crate::sockets::table::{Table, is_many};

/// Callers that TCP keeps while the program has not answered: those of a round trip through the rings, or those beyond
/// would have to call again a second later.
const UNDER_WAY: u32 = 128;

/// A program has said what none says that is not broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CommandError(pub(crate) &'static str);

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(why) = self;
        write!(f, "it has broken the protocol of the rings: {why}")
    }
}

impl core::error::Error for CommandError {}

/// A name that is to be looked up, by whoever may wait for that.
#[derive(Debug)]
pub(crate) struct Lookup {
    pub(crate) question: u64,
    pub(crate) name: Message,
}

/// A call, as it was asked for.
struct Call {
    layer: Layer,
    user: Handle,
    backlog: Option<u32>,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    quality: Quality,
}

const fn is_udp(layer: Layer) -> bool {
    layer & 1 == 1
}

const fn is_v4(layer: Layer) -> bool {
    layer < 2
}

impl Table {
    /// Does what the program asks, but for what has to be waited for.
    ///
    /// # Errors
    /// Where it is broken.
    pub(crate) fn command(&mut self, program: Handle, command: Command) -> Result<Option<Lookup>, CommandError> {
        match command {
            Command::Open { layer, user, backlog, local, remote, quality } => {
                self.open_for(program, Call { layer, user, backlog, local, remote, quality })?;
            }
            Command::Cancel { layer, user } => {
                let name = self.guests.programs.get(program).and_then(|it| it.names.get(&(layer, user)).copied());
                if let Some(handle) = name {
                    self.end_guest(handle);
                }
            }
            Command::Accept { session, user, quality } => self.accept_for(program, session, user, quality),
            Command::Data { session, data } => self.data_of(program, session, data)?,
            Command::Credit { session, octets } => self.credit_of(program, session, octets)?,
            Command::Release { session } => self.release_of(program, session),
            Command::Abort { session } => {
                if self.guests.of(program, session).is_some() {
                    self.end_guest(session);
                }
            }
            Command::Change { session, quality } => {
                self.manage_for(program, session, GuestKind::Stream, |session| Manage::Session {
                    session,
                    quality: within_bounds(quality),
                });
            }
            Command::Peer { session, remote } => {
                self.manage_for(program, session, GuestKind::Datagrams, |session| {
                    Manage::special(Peer { session, remote })
                });
            }
            Command::Group { group, is_member, .. } => self.group_for(program, group, is_member),
            Command::Unit { layer, unit } => self.unit_of(program, layer, unit)?,
            Command::Take { question, is_udp, local, terms } => self.take_for(program, question, is_udp, local, terms),
            Command::Listen { question, number } => self.listen_for(program, question, number),
            Command::Give { number } => self.give_for(program, number),
            Command::Settle { question } => {
                self.answer_guest(program, question, crate::rings::primitives::Answer::Done);
            }
            Command::Lookup { question, name } => return Ok(Some(Lookup { question, name })),
        }
        Ok(None)
    }

    /// Opens a socket of the program.
    fn open_for(&mut self, program: Handle, call: Call) -> Result<(), CommandError> {
        let name = (call.layer, call.user);
        if self.guests.programs.get(program).is_none_or(|it| it.names.contains_key(&name)) {
            return Err(CommandError("two sockets of one name"));
        }
        let opened = self.check_call(program, &call);
        let (below, what, quality) = match opened {
            Ok(opened) => opened,
            Err(reason) => {
                self.refuse_guest(program, name, reason);
                return Ok(());
            }
        };
        let handle = self.guests.insert(Guest {
            program: Some(program),
            user: call.user,
            what,
            layer: call.layer,
            below,
            provider: LayerOpen::Waiting,
            local: call.local,
            credit: 0,
            unread: 0,
            released: false,
        });
        if let Some(program) = self.guests.programs.get(program) {
            program.names.insert(name, handle);
        }
        let mode = match what {
            GuestKind::Stream | GuestKind::Offered => Mode::Active,
            GuestKind::Listener => Mode::Passive { backlog: UNDER_WAY },
            GuestKind::Datagrams => Mode::Passive { backlog: 0 },
        };
        let address = |it: Option<SocketAddr>| it.map_or(Address::NONE, Address::from);
        let remote = call.remote.filter(|_| mode == Mode::Active);
        let (local, remote) = (address(call.local), address(remote));
        let open = Open { user: handle, mode, local, remote, quality, ..Open::default() };
        self.effects.requests.push_back((below, Request::Open(Box::new(open))));
        Ok(())
    }

    /// What it stands on, what it is, and what it may ask for; or why not.
    fn check_call(
        &mut self,
        program: Handle,
        call: &Call,
    ) -> Result<(kumiki_graph::Below, GuestKind, Quality), Reason> {
        let below = self.layer(call.layer).ok_or(Reason::BadAddress)?;
        if self.is_down {
            return Err(Reason::Down);
        }
        if !self.guests.has_place(program) {
            return Err(Reason::NoResources);
        }
        let of_version = |it: &SocketAddr| it.is_ipv4() == is_v4(call.layer);
        if !call.local.iter().chain(&call.remote).all(of_version) {
            return Err(Reason::BadAddress);
        }
        if is_udp(call.layer) {
            let held = call.local.and_then(|it| self.guests.held(program, true, it)).ok_or(Reason::BadAddress)?;
            let special = IpQuality { sharing: held.sharing(), ..IpQuality::NONE }.into();
            return Ok((
                below,
                GuestKind::Datagrams,
                Quality { receive_buffer: Some(RECEIVE_BUFFER), special, ..Quality::default() },
            ));
        }
        let quality = within_bounds(call.quality);
        if call.backlog.is_some() {
            let held = call.local.and_then(|it| self.guests.listening(program, it));
            return held.map(|_| (below, GuestKind::Listener, quality)).ok_or(Reason::BadAddress);
        }
        if call.local.is_some_and(|it| self.guests.held(program, false, it).is_none()) {
            return Err(Reason::BadAddress);
        }
        let remote = call.remote.ok_or(Reason::BadAddress)?;
        if remote.port() == 0 {
            return Err(Reason::Refused);
        }
        if is_many(remote.ip()) || remote.ip().is_unspecified() || self.check_way(remote.ip()).is_err() {
            return Err(Reason::Unreachable(NoPath::Network));
        }
        Ok((below, GuestKind::Stream, quality))
    }

    fn accept_for(&mut self, program: Handle, handle: Handle, user: Handle, quality: Quality) {
        let Some(guest) = self.guests.of(program, handle).filter(|it| it.what == GuestKind::Offered) else {
            return;
        };
        (guest.what, guest.user) = (GuestKind::Stream, user);
        let (below, provider, quality) = (guest.below, guest.provider, within_bounds(quality));
        if let Some(session) = provider.handle() {
            let accept = Accept { session, user: handle, quality, ..Accept::default() };
            self.effects.requests.push_back((below, Request::Accept(Box::new(accept))));
        }
    }

    /// A connection that stands.
    fn stream_of(&mut self, program: Handle, handle: Handle) -> Option<(&mut Guest, Handle)> {
        let guest = self.guests.of(program, handle).filter(|it| it.what == GuestKind::Stream)?;
        let session = guest.provider.handle()?;
        Some((guest, session))
    }

    fn data_of(&mut self, program: Handle, handle: Handle, data: Message) -> Result<(), CommandError> {
        let Some((guest, session)) = self.stream_of(program, handle) else {
            return Ok(());
        };
        if guest.released {
            return Err(CommandError("data behind the end of what it sends"));
        }
        guest.credit =
            guest.credit.checked_sub(data.len() as u64).ok_or(CommandError("more data than there is credit for"))?;
        let below = guest.below;
        if !data.is_empty() {
            self.effects.requests.push_back((below, Request::Data { session, data, end: true }));
        }
        Ok(())
    }

    fn credit_of(&mut self, program: Handle, handle: Handle, octets: u64) -> Result<(), CommandError> {
        let Some(guest) = self.guests.of(program, handle) else {
            return Ok(());
        };
        guest.unread = guest.unread.checked_sub(octets).ok_or(CommandError("more taken than there was"))?;
        let below = guest.below;
        if let Some(session) = guest.provider.handle()
            && octets > 0
        {
            let credit = Credit::octets(octets);
            self.effects.requests.push_back((below, Request::Credit { session, credit }));
        }
        Ok(())
    }

    fn release_of(&mut self, program: Handle, handle: Handle) {
        if let Some((guest, session)) = self.stream_of(program, handle)
            && !core::mem::replace(&mut guest.released, true)
        {
            let below = guest.below;
            self.effects.requests.push_back((below, Request::Release { session, data: None }));
        }
    }

    fn manage_for(&mut self, program: Handle, handle: Handle, what: GuestKind, manage: impl FnOnce(Handle) -> Manage) {
        if let Some(guest) = self.guests.of(program, handle).filter(|it| it.what == what)
            && let Some(session) = guest.provider.handle()
        {
            let below = guest.below;
            self.effects.requests.push_back((below, Request::Manage(Box::new(manage(session)))));
        }
    }

    fn unit_of(&mut self, program: Handle, layer: Layer, unit: Datagram) -> Result<(), CommandError> {
        let Some(below) = self.layer(layer).filter(|_| is_udp(layer)) else {
            return Err(CommandError("a datagram for no layer of datagrams"));
        };
        if unit.data.len() > MOST {
            return Err(CommandError("a datagram that is too long"));
        }
        let is_of_layer = |it: &SocketAddr| it.is_ipv4() == is_v4(layer);
        if ![unit.source, unit.destination].iter().all(is_of_layer) || unit.destination.port() == 0 {
            return Err(CommandError("a datagram of another version of IP, or for no port"));
        }
        // Whoever sends has the port, by a socket that may not have been confirmed yet.
        let all = self.guests.udp.get(&unit.source.port()).cloned().unwrap_or_default();
        let socket = all.into_iter().find(|it| self.guests.of(program, *it).is_some_and(|guest| guest.layer == layer));
        let Some((_, provider)) = socket.and_then(|it| self.below_of(it)) else {
            return Ok(());
        };
        let own = unit.source.ip();
        let is_own = own.is_unspecified() || own.is_loopback() || self.addresses.contains(&own);
        let own = if is_own { own } else { unspecified(is_v4(layer)) };
        let unit = Unit {
            source: Address::from(SocketAddr::new(own, unit.source.port())),
            destination: Address::from(unit.destination),
            session: provider.handle(),
            options: UnitOptions::of(IpParameters::from(unit.special)),
            ..Unit::of(unit.data)
        };
        self.effects.requests.push_back((below, Request::Unit(Box::new(unit))));
        Ok(())
    }
}
