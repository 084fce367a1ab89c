//! Passive opens, and callers that wait for an answer.

use crate::WithTags;
use core::net::{IpAddr, SocketAddr};

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Handle, Indication, Manage, Offered, Open, Opened, Quality, Reason, Request,
};
use kumiki_wire::xtp::{self, Diagnosis, First, Options, code, service, val};

use super::Xtp;
use super::context::{ContextParameters, Ctx, Endpoint, first_room};
use super::diagnosis;
use super::opening::{local_socket, may_speak, refuse};
use super::packet::{Arrived, Body, Path};
use super::receive::ReceivedData;
use super::send::Send;
use super::table::Entry;

/// A passive open.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) above: Above,
    pub(crate) user: Handle,
    pub(crate) local: SocketAddr,
    /// Who may call; `None`: anyone.
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) quality: Quality,
    pub(crate) backlog: u32,
    /// Callers that wait for an answer.
    pub(crate) waiting: u32,
}

/// Who calls whom, by a FIRST or JCNTL packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
}

impl Call {
    /// What the address segment and the layer below say together; `Err`: they contradict each other, or say too little
    /// (P8).
    pub(crate) fn of(address: &xtp::Address, source: Address, destination: Address) -> Result<Self, u32> {
        let call = match address {
            xtp::Address::Ip { destination, source, .. } => Self { local: *destination, remote: *source },
            xtp::Address::Null => {
                let ends = destination.ip().zip(source.ip());
                let (local, remote) = ends.ok_or(val::MALFORMED_ADDRESS)?;
                Self { local: SocketAddr::new(local, 0), remote: SocketAddr::new(remote, 0) }
            }
            xtp::Address::Other { .. } => return Err(val::ADDRESS_FORMAT),
        };
        let agrees = |said: Address, ip| said.ip().is_none_or(|said| said == ip);
        let plausible = agrees(destination, call.local.ip())
            && agrees(source, call.remote.ip())
            && call.local.is_ipv4() == call.remote.is_ipv4()
            && may_speak(call.remote.ip())
            && (may_speak(call.local.ip()) || call.local.ip().is_multicast());
        if plausible { Ok(call) } else { Err(val::MALFORMED_ADDRESS) }
    }
}

/// Whether an address is one host's, as far as can be seen.
const fn is_host(address: &IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_multicast() || broadcast)
}

impl Xtp {
    pub(super) fn open_passive(
        &mut self,
        above: Above,
        open: &Open,
        backlog: u32,
        cx: &mut Context<'_>,
    ) -> Result<(), Reason> {
        let local = local_socket(open.local).filter(|it| it.port() != 0);
        let local = local.ok_or(Reason::BadAddress)?;
        let remote = open.remote.socket();
        if remote.is_none() && open.remote != Address::NONE {
            return Err(Reason::BadAddress);
        }
        let handle = self.table.reserve(cx.rng());
        if !self.table.listen(local, handle) {
            self.table.remove(handle);
            return Err(Reason::BadAddress);
        }
        let listener = Listener { above, user: open.user, local, remote, quality: open.quality, backlog, waiting: 0 };
        self.table.fill(handle, Entry::Listener(Box::new(listener)));
        if local.ip().is_multicast() {
            self.join_group(local.ip(), cx);
        }
        let opened = Opened {
            user: open.user,
            provider: handle,
            local: Address::from(local),
            remote: open.remote,
            unit: self.shared.maxdata(0),
            data: None,
            ..Opened::default()
        };
        cx.up(above, Indication::Opened(Box::new(opened)));
        Ok(())
    }

    /// Ends a passive open, and refuses whoever waits there.
    pub(super) fn unlisten(&mut self, above: Above, handle: Handle, confirm: bool, cx: &mut Context<'_>) {
        if self.table.listener(handle).is_none() {
            return;
        }
        let Entry::Listener(listener) = self.table.remove(handle) else {
            return;
        };
        self.table.unlisten(listener.local);
        if listener.local.ip().is_multicast() {
            self.leave_group(listener.local.ip(), cx);
        }
        let waiting: Vec<Handle> =
            self.table.all().filter(|it| it.listener == Some(handle)).map(|it| it.handle).collect();
        for session in waiting {
            self.with(session, cx, Endpoint::on_abort);
        }
        if confirm {
            let session = listener.user;
            cx.up(above, Indication::Closed { session });
        }
    }

    /// A FIRST packet of a context that is not known.
    pub(super) fn called(&mut self, packet: Arrived, cx: &mut Context<'_>) {
        let Body::First { first, text } = &packet.body else {
            return;
        };
        self.shared.counters.first_received += 1;
        if packet.header.key.is_returned() || packet.header.seq != 0 || packet.has(Options::END) {
            self.shared.counters.strays += 1;
            cx.drop("FIRST that begins nothing");
            return;
        }
        if self.shared.memory.is_spent(self.shared.config.memory) {
            // As if it had been lost: it comes again.
            self.shared.counters.out_of_memory += 1;
            cx.drop("no memory for another context");
            return;
        }
        let mut ends = (packet.source, packet.destination);
        let call = Call::of(&first.address, packet.source, packet.destination);
        let found = call.and_then(|call| {
            // On a LAN only the call itself says who calls.
            ends = (call.remote.ip().into(), call.local.ip().into());
            let listener = self.listener_for(&call, first, &packet)?;
            Ok((call, listener))
        });
        let (call, listener) = match found {
            Ok(found) => found,
            Err(val) => {
                self.refuse_call(&packet, ends, val, cx);
                return;
            }
        };
        let octets = text.len() as u64;
        let begun = if packet.has(Options::MULTI) {
            let ends = (call.local, call.remote);
            self.begin_receiving(ends, listener, &packet, false, cx)
        } else {
            self.begin_passive(call, listener, &packet, cx)
        };
        let Some(handle) = begun else {
            self.refuse_call(&packet, ends, val::NO_RESOURCE, cx);
            return;
        };
        let traffic = first.traffic;
        self.with(handle, cx, |it, ctx| {
            it.hear_traffic(&traffic);
            // What comes with a call needs no credit.
            let room = it.receive.room;
            it.receive.room = room.max(octets);
            if it.on_packet(packet, ctx).is_ok() {
                it.offer(ctx);
                // What goes with the offer; what has to wait does.
                it.receive.room = room.saturating_sub(it.receive.waiting_octets());
            } else {
                // Nobody has heard of it, so it takes no place.
                it.end(None, ctx);
            }
        });
    }

    /// A context for `call`, with a place in the backlog.
    fn begin_passive(
        &mut self,
        call: Call,
        listener: Handle,
        packet: &Arrived,
        cx: &mut Context<'_>,
    ) -> Option<Handle> {
        let handle = self.make_room(cx)?;
        let found = self.table.listener(listener)?;
        found.waiting += 1;
        let (above, user, quality) = (found.above, found.user, found.quality);
        let mut ctx = Ctx { cx, shared: &mut self.shared };
        let begin = ContextParameters {
            handle,
            above,
            user,
            local: call.local,
            remote: call.remote,
            quality: &quality,
            unit: 0,
            passive: true,
            theirs: packet.header.options,
        };
        let mut endpoint = Endpoint::new(&begin, &mut ctx);
        endpoint.listener = Some(listener);
        endpoint.via = Some(packet.source);
        endpoint.peer = Some(packet.header.key.own());
        self.table.fill(handle, Entry::Context(Box::new(endpoint)));
        self.unrouted.push(handle);
        let to = call.remote.ip().into();
        cx.down(Below(0), Request::Manage(Box::new(Manage::Route { to })));
        Some(handle)
    }

    /// Who listens for `call`; `Err`: why nobody takes it.
    fn listener_for(&mut self, call: &Call, first: &First, packet: &Arrived) -> Result<Handle, u32> {
        // A group is called with MULTI, by packets for the group, and nobody else (P37).
        let multi = packet.has(Options::MULTI);
        let group = call.local.ip().is_multicast();
        // Who calls one host has not been told where its stream ends (P32).
        let confirmed = !multi && packet.has(Options::RCLOSE);
        if multi != group || multi && !packet.group || confirmed {
            return Err(val::OPTIONS_REFUSED);
        }
        let service = first.traffic.service;
        let provided = if multi {
            matches!(service, service::UNSPECIFIED | service::UNACKNOWLEDGED_MULTICAST | service::RELIABLE_MULTICAST)
        } else {
            service <= service::RELIABLE_STREAM
        };
        if !provided {
            return Err(val::NO_PROVIDER);
        }
        let handle =
            if multi { self.table.listening_at_group(call.local) } else { self.table.listening_at(call.local) };
        let handle = handle.ok_or(val::NO_LISTENER)?;
        let listener = self.table.listener(handle).ok_or(val::NO_LISTENER)?;
        if listener.remote.is_some_and(|it| it != call.remote) {
            return Err(val::NO_LISTENER);
        }
        if listener.waiting >= listener.backlog {
            return Err(val::NO_RESOURCE);
        }
        Ok(handle)
    }

    fn refuse_call(&mut self, packet: &Arrived, ends: (Address, Address), val: u32, cx: &mut Context<'_>) {
        self.shared.counters.refused += 1;
        let code = code::REFUSED;
        let diagnosis = Diagnosis { code, val };
        self.diagnose(ends, packet.header.key, packet.group, diagnosis, cx);
        cx.drop("call refused");
    }

    /// Answers a packet that carried `key` and belongs to no context. Groups are not answered, nor is who has no IP
    /// address.
    pub(super) fn diagnose(
        &mut self,
        (source, destination): (Address, Address),
        key: xtp::Key,
        is_group: bool,
        diagnosis: Diagnosis,
        cx: &mut Context<'_>,
    ) {
        let own = destination.ip().unwrap_or(self.shared.config.address);
        let remote = source.ip().filter(is_host);
        let (Some(remote), false) = (remote, is_group || !is_host(&own)) else {
            return;
        };
        let mut ctx = Ctx { cx, shared: &mut self.shared };
        let path = Path { local: own, remote, bypass: None, options: ctx.shared.unit_options() };
        // Whose key it was knows it still: as ours where it is the peer's, and the other way round.
        let key = if key.is_returned() { key.own() } else { key.returned() };
        diagnosis::send(&path, key, diagnosis, &mut ctx);
    }

    pub(super) fn accept(&mut self, above: Above, accept: Accept, cx: &mut Context<'_>) {
        let listener = self
            .table
            .context(accept.session)
            .filter(|it| it.above == above && !it.accepted)
            .and_then(|it| it.listener.take());
        let Some(listener) = listener else {
            refuse(above, accept.user, Reason::NoSession, cx);
            return;
        };
        if let Some(listener) = self.table.listener(listener) {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
        let session = accept.session;
        self.with(session, cx, |it, ctx| it.accept(accept, ctx));
        self.pump(session, cx);
    }
}

impl Endpoint {
    /// Tells the user of the passive open that somebody calls.
    pub(crate) fn offer(&mut self, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.offered += 1;
        let is_pair = self.part.is_pair();
        let plain = |it: &ReceivedData| is_pair && it.tag.is_none() && !it.end;
        let data = self.receive.take_first(plain).map(|it| it.text);
        let offered = Offered {
            user: self.user,
            provider: self.handle,
            local: Address::from(self.local),
            remote: Address::from(self.remote),
            unit: self.room,
            data,
            ..Offered::default()
        };
        self.up(Indication::Offered(Box::new(offered)), ctx);
    }

    /// The user takes the context: the caller is told our key (P13).
    fn accept(&mut self, accept: Accept, ctx: &mut Ctx<'_, '_>) {
        self.accepted = true;
        self.user = accept.user;
        let quality = &accept.quality;
        self.on_quality(quality, ctx);
        self.modes.tags = accept.parameters.get::<WithTags>().is_some();
        // Nothing has been sent yet, so all can still be chosen.
        if let Some(errors) = quality.error_control {
            self.modes.errors = errors;
        }
        if self.part.is_pair() {
            let (buffer, alloc) = (self.send.buffer, self.send.alloc);
            self.send = Send::new(buffer, alloc, self.is_noerr());
        }
        let room = u64::from(first_room(&ctx.shared.config, quality, self.is_reserved()));
        if quality.receive_buffer.is_some() {
            self.receive.room = room.saturating_sub(self.receive.waiting_octets());
        }
        if let Some(data) = accept.data {
            self.send.queue(data, None, false);
        }
        self.answer(ctx);
        self.arm_alive(ctx);
        self.tell_beginning(ctx);
        for piece in self.receive.take_waiting() {
            self.deliver(piece, ctx);
        }
        self.answer_if_taken();
        self.release_if_complete(ctx);
        self.announce(ctx);
        self.dirty = true;
    }
}
