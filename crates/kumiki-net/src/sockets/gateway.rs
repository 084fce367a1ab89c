//! A gateway's part of the table: who has called or sent to whatever address, and was not answered yet.

use core::net::{IpAddr, SocketAddr};
use core::task::Waker;
use std::collections::{BTreeMap, VecDeque};
use std::io;

use kumiki_graph::{
    Accept, Address, Below, Handle, Instant, Manage, Mode, Offered, Open, Parameters, Problem, Quality, Reason,
    Request, Unit, UnitOptions,
};
use kumiki_inet::tcp::{OfferFirst, RefuseCaller};
use kumiki_inet::udp::AllPorts;
use kumiki_octets::Message;
use kumiki_wire::inet::IpParameters;

use super::datagrams::{MOST, cost, unspecified};
use super::error;
use super::stream::{Effects, Phase, Stream};
use super::table::{Socket, Table};
use super::wakers::Wakers;
use crate::gateway::GatewayConfig;

/// Of a datagram so much is kept to be quoted: what the errors of IPv4 have room for.
const QUOTED: usize = 512;

/// So many datagrams may all flows together have sent that the layers have not taken: what is more is lost, as where a
/// host's queue is full.
const MOST_SENT: usize = 512;

/// The gateway of a host, from the first time that somebody asks for it.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) handle: Handle,
    config: GatewayConfig,
    /// Nobody has it at present: what comes is refused.
    is_closed: bool,
    /// Nobody has taken these.
    ready: VecDeque<Handle>,
    pub(crate) acceptors: Wakers,
    /// Which sockets the UDPs have for it.
    udp: BTreeMap<Below, Handle>,
    /// Calls that were not answered, by TCP's handles.
    offers: BTreeMap<(Below, Handle), Handle>,
    /// By source and destination.
    flows: BTreeMap<(SocketAddr, SocketAddr), Handle>,
    /// The flows in the order in which something last came or went, and the number of the next such time.
    order: BTreeMap<u64, Handle>,
    turn: u64,
    /// Octets that wait in all flows, with what they cost beside.
    held: usize,
    /// Flows that have sent since the layers last ran.
    sent: Vec<Handle>,
}

/// A call that was not answered.
#[derive(Debug)]
pub(crate) struct Offer {
    below: Below,
    provider: Handle,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    /// The caller has gone.
    pub(crate) is_withdrawn: bool,
    pub(crate) waiting: Wakers,
}

/// What goes to and fro between two UDP sockets.
#[derive(Debug)]
pub(crate) struct Flow {
    below: Below,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    received: VecDeque<Message>,
    octets: usize,
    error: Option<io::Error>,
    /// It was given up: what comes next is another flow.
    is_over: bool,
    pub(crate) readers: Wakers,
    /// Its first datagram, to be quoted.
    quote: Box<Unit>,
    last: Instant,
    turn: u64,
}

impl Flow {
    /// What its datagrams hold that nobody has read, in octets of memory.
    pub(crate) const fn held(&self) -> usize {
        self.octets
    }
}

impl Table {
    /// The gateway: one at a time.
    pub(crate) fn open_gateway(&mut self, config: GatewayConfig) -> io::Result<Handle> {
        self.check_up()?;
        let Some(gateway) = &mut self.gateway else {
            let why = "this host does not take what is for all addresses";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        if !gateway.is_closed {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "the gateway of this host is taken"));
        }
        (gateway.is_closed, gateway.config) = (false, config);
        Ok(gateway.handle)
    }

    /// The layers are to ask about what is for nobody, from their start on: who has taken the gateway misses nothing
    /// that comes after.
    pub(crate) fn prepare_gateway(&mut self) {
        let config = GatewayConfig::default();
        let user = self.sockets.insert(Socket::Gateway);
        self.gateway = Some(Box::new(Gateway {
            handle: user,
            config,
            is_closed: true,
            ready: VecDeque::new(),
            acceptors: Wakers::default(),
            udp: BTreeMap::new(),
            offers: BTreeMap::new(),
            flows: BTreeMap::new(),
            order: BTreeMap::new(),
            turn: 0,
            held: 0,
            sent: Vec::new(),
        }));
        let layers = self.layers;
        let all = [
            (layers.tcp, true, true),
            (layers.tcp_v6, true, false),
            (layers.udp, false, true),
            (layers.udp_v6, false, false),
        ];
        for (below, is_tcp, is_v4) in all {
            let Some(below) = below else {
                continue;
            };
            let parameters = if is_tcp { Parameters::of(OfferFirst) } else { Parameters::of(AllPorts) };
            let local = Address::from(SocketAddr::new(unspecified(is_v4), 0));
            let open = Open { user, mode: Mode::Passive { backlog: u32::MAX }, local, parameters, ..Open::default() };
            self.effects.requests.push_back((below, Request::Open(Box::new(open))));
        }
    }

    pub(super) fn gateway_opened(&mut self, below: Below, provider: Handle) {
        if let Some(gateway) = &mut self.gateway
            && [self.layers.udp, self.layers.udp_v6].contains(&Some(below))
        {
            gateway.udp.insert(below, provider);
        }
    }

    fn the_gateway(&mut self) -> io::Result<&mut Gateway> {
        self.check_up()?;
        self.gateway.as_deref_mut().ok_or_else(|| error::is_gone(None))
    }

    /// The next that has come: whether it is a flow of UDP. `WouldBlock` where there is none.
    pub(crate) fn accept_any(&mut self) -> io::Result<(Handle, bool)> {
        let next = self.the_gateway()?.ready.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
        Ok((next, matches!(self.sockets.get(next), Some(Socket::Flow(_)))))
    }

    pub(crate) fn wait_for_any(&mut self, waker: &Waker) -> io::Result<()> {
        self.check_up()?;
        if let Some(gateway) = &mut self.gateway {
            gateway.acceptors.register(waker, &mut self.effects.woken);
        }
        Ok(())
    }

    /// Nobody has it any more: what was not taken is refused.
    pub(super) fn close_gateway(&mut self) {
        let Some(gateway) = &mut self.gateway else {
            return;
        };
        gateway.is_closed = true;
        for handle in core::mem::take(&mut gateway.ready) {
            match self.sockets.get(handle) {
                Some(Socket::Offer(_)) => self.refuse_offer(handle, super::Answer::Reset),
                Some(Socket::Flow(_)) => self.refuse_flow(handle, super::Answer::Unreachable(super::Unreachable::Port)),
                Some(_) | None => {}
            }
        }
    }

    /// What a program of this host itself sends to nobody is not for the gateway.
    fn is_own(&self, ip: IpAddr) -> bool {
        ip.is_loopback() || self.addresses.contains(&ip)
    }

    fn gateway_is_ready(&mut self, handle: Handle) {
        if let Some(gateway) = &mut self.gateway {
            gateway.ready.push_back(handle);
            gateway.acceptors.wake(&mut self.effects.woken);
        }
    }

    // TCP.

    pub(super) fn offered_any(&mut self, below: Below, offered: &Offered) {
        let ends = offered.local.socket().zip(offered.remote.socket());
        let provider = offered.provider;
        let takes = self.gateway.as_ref().is_some_and(|it| !it.is_closed);
        let Some((destination, source)) = ends.filter(|(_, source)| takes && !self.is_own(source.ip())) else {
            let abort = Request::Abort { session: provider, reason: Reason::User, data: None };
            self.effects.requests.push_back((below, abort));
            return;
        };
        if self.gateway.as_ref().is_some_and(|it| it.offers.len() >= it.config.offers) {
            // As if it had been lost: it comes again.
            let manage = Manage::special(RefuseCaller { session: provider, problem: None });
            self.effects.requests.push_back((below, Request::Manage(Box::new(manage))));
            return;
        }
        let offer = Offer { below, provider, source, destination, is_withdrawn: false, waiting: Wakers::default() };
        let handle = self.sockets.insert(Socket::Offer(Box::new(offer)));
        if let Some(gateway) = &mut self.gateway {
            gateway.offers.insert((below, provider), handle);
        }
        self.gateway_is_ready(handle);
    }

    /// A caller has gone.
    pub(super) fn withdrawn(&mut self, below: Below, provider: Handle) {
        let Some(gateway) = &mut self.gateway else {
            return;
        };
        let Some(handle) = gateway.offers.remove(&(below, provider)) else {
            return;
        };
        if let Some(place) = gateway.ready.iter().position(|it| *it == handle) {
            gateway.ready.remove(place);
            self.sockets.remove(handle);
        } else if let Some(Socket::Offer(offer)) = self.sockets.get(handle) {
            offer.is_withdrawn = true;
            offer.waiting.wake(&mut self.effects.woken);
        }
    }

    pub(crate) fn offer(&mut self, handle: Handle) -> io::Result<(&mut Offer, &mut Effects)> {
        self.check_up()?;
        match self.sockets.get(handle) {
            Some(Socket::Offer(offer)) => Ok((offer, &mut self.effects)),
            Some(_) | None => Err(error::is_gone(None)),
        }
    }

    fn take_offer(&mut self, handle: Handle) -> Option<Offer> {
        if !matches!(self.sockets.get(handle), Some(Socket::Offer(_))) {
            return None;
        }
        let Some(Socket::Offer(offer)) = self.sockets.remove(handle) else {
            return None;
        };
        if let Some(gateway) = &mut self.gateway {
            gateway.offers.remove(&(offer.below, offer.provider));
        }
        Some(*offer)
    }

    /// Answers a call: the connection that it becomes.
    pub(crate) fn accept_offer(&mut self, handle: Handle, quality: Quality) -> io::Result<Handle> {
        self.check_up()?;
        let offer = self.take_offer(handle).ok_or_else(|| error::is_gone(None))?;
        if offer.is_withdrawn {
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, "the caller has gone"));
        }
        let ends = (offer.destination, offer.source);
        let mut stream = Stream::new(offer.below, ends, quality, &self.layers);
        (stream.provider, stream.phase) = (offer.provider, Phase::Open);
        let user = self.sockets.insert(Socket::Stream(Box::new(stream)));
        let accept = Accept { session: offer.provider, user, quality, ..Accept::default() };
        self.effects.requests.push_back((offer.below, Request::Accept(Box::new(accept))));
        Ok(user)
    }

    /// Refuses a call.
    pub(crate) fn refuse_offer(&mut self, handle: Handle, answer: super::Answer) {
        let Some(offer) = self.take_offer(handle).filter(|it| !it.is_withdrawn && !self.is_down) else {
            return;
        };
        let session = offer.provider;
        let problem = match answer {
            super::Answer::Reset => {
                let abort = Request::Abort { session, reason: Reason::User, data: None };
                return self.effects.requests.push_back((offer.below, abort));
            }
            super::Answer::Silence => None,
            super::Answer::Unreachable(why) => Some(why.problem(offer.destination.is_ipv4())),
        };
        let manage = Manage::special(RefuseCaller { session, problem });
        self.effects.requests.push_back((offer.below, Request::Manage(Box::new(manage))));
    }

    // UDP.

    /// A datagram for an address and port that no socket has.
    pub(super) fn datagram_any(&mut self, below: Below, (source, destination): (SocketAddr, SocketAddr), unit: Unit) {
        let now = self.now;
        let is_own = self.is_own(source.ip());
        let Some(gateway) = self.gateway.as_deref_mut() else {
            return;
        };
        let known = gateway.flows.get(&(source, destination)).copied();
        if known.is_none() && (gateway.is_closed || is_own) {
            let problem = super::Unreachable::Port.problem(destination.is_ipv4());
            let refuse = Manage::Refuse { unit: Box::new(unit), problem };
            self.effects.requests.push_back((below, Request::Manage(Box::new(refuse))));
            return;
        }
        let cost = cost(&unit.data);
        let has_room = gateway.held.saturating_add(cost) <= gateway.config.memory;
        let most = gateway.config.queue;
        if let Some(handle) = known {
            let Some(Socket::Flow(flow)) = self.sockets.get(handle) else {
                return;
            };
            gateway.touch(handle, flow, now);
            if has_room && flow.octets.saturating_add(cost) <= most && self.effects.hold(cost) {
                gateway.held += cost;
                flow.octets += cost;
                flow.received.push_back(unit.data);
                flow.readers.wake(&mut self.effects.woken);
            }
            return;
        }
        if !has_room || gateway.config.flows == 0 || !self.effects.hold(cost) {
            return;
        }
        while self.gateway.as_ref().is_some_and(|it| it.flows.len() >= it.config.flows)
            && let Some((_, oldest)) = self.gateway.as_ref().and_then(|it| it.order.first_key_value())
        {
            let oldest = *oldest;
            self.give_up(oldest, || {
                io::Error::new(io::ErrorKind::QuotaExceeded, "given up for a flow that came later")
            });
        }
        self.begin_flow((below, cost), (source, destination), unit);
    }

    fn begin_flow(&mut self, (below, cost): (Below, usize), ends: (SocketAddr, SocketAddr), unit: Unit) {
        let mut start = vec![0; unit.data.len().min(QUOTED)];
        // As much is asked for as is there.
        let _ = unit.data.copy_to(0, &mut start);
        let quote = Unit {
            source: unit.source,
            destination: unit.destination,
            options: unit.options,
            ..Unit::of(Message::from_octets(&start))
        };
        let flow = Flow {
            below,
            source: ends.0,
            destination: ends.1,
            received: VecDeque::from([unit.data]),
            octets: cost,
            error: None,
            is_over: false,
            readers: Wakers::default(),
            quote: Box::new(quote),
            last: self.now,
            turn: 0,
        };
        let handle = self.sockets.insert(Socket::Flow(Box::new(flow)));
        if let Some(gateway) = &mut self.gateway
            && let Some(Socket::Flow(flow)) = self.sockets.get(handle)
        {
            gateway.held += cost;
            gateway.flows.insert(ends, handle);
            gateway.touch(handle, flow, self.now);
        }
        self.gateway_is_ready(handle);
    }

    pub(crate) fn flow(&mut self, handle: Handle) -> io::Result<(&mut Flow, &mut Effects)> {
        self.check_up()?;
        match self.sockets.get(handle) {
            Some(Socket::Flow(flow)) => Ok((flow, &mut self.effects)),
            Some(_) | None => Err(error::is_gone(None)),
        }
    }

    /// The next datagram of a flow. `WouldBlock` where there is none.
    pub(crate) fn receive_flow(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        let (flow, _) = self.flow(handle)?;
        if let Some(data) = flow.received.pop_front() {
            let cost = cost(&data);
            flow.octets = flow.octets.saturating_sub(cost);
            if let Some(gateway) = &mut self.gateway {
                gateway.held = gateway.held.saturating_sub(cost);
            }
            self.effects.release(cost);
            // What does not fit is lost, as of a UDP socket.
            let octets = data.len().min(buffer.len());
            if let Some(front) = buffer.get_mut(..octets) {
                let _ = data.copy_to(0, front);
            }
            return Ok(octets);
        }
        match flow.error.take() {
            Some(error) => Err(error),
            None if flow.is_over => Err(io::Error::new(io::ErrorKind::TimedOut, "the flow was given up")),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Answers from where the flow was sent to.
    pub(crate) fn send_flow(&mut self, handle: Handle, octets: &[u8]) -> io::Result<usize> {
        if octets.len() > MOST {
            return Err(error::Errno::MessageSize.into());
        }
        let (flow, _) = self.flow(handle)?;
        let (source, destination, below) = (flow.destination, flow.source, flow.below);
        if self.gateway.as_ref().is_some_and(|it| it.sent.len() >= MOST_SENT) {
            return Ok(octets.len());
        }
        let session = self.gateway.as_ref().and_then(|it| it.udp.get(&below)).copied();
        let unit = Unit {
            source: Address::from(source),
            destination: Address::from(destination),
            session,
            options: UnitOptions::of(IpParameters::NONE),
            ..Unit::of(Message::from_octets(octets))
        };
        self.effects.requests.push_back((below, Request::Unit(Box::new(unit))));
        if let Some(gateway) = &mut self.gateway {
            gateway.sent.push(handle);
        }
        Ok(octets.len())
    }

    /// Refuses a flow: its first datagram is answered so.
    pub(crate) fn refuse_flow(&mut self, handle: Handle, answer: super::Answer) {
        let Some(flow) = self.forget_flow(handle).filter(|_| !self.is_down) else {
            return;
        };
        let why = match answer {
            super::Answer::Silence => return,
            super::Answer::Reset => super::Unreachable::Port,
            super::Answer::Unreachable(why) => why,
        };
        let refuse = Manage::Refuse { unit: flow.quote, problem: why.problem(flow.destination.is_ipv4()) };
        self.effects.requests.push_back((flow.below, Request::Manage(Box::new(refuse))));
    }

    /// Takes a flow out of the gateway's tables, not out of that of the sockets.
    fn unlist(&mut self, handle: Handle) {
        if let Some(gateway) = &mut self.gateway
            && let Some(Socket::Flow(flow)) = self.sockets.get(handle)
            && !flow.is_over
        {
            gateway.flows.remove(&(flow.source, flow.destination));
            gateway.order.remove(&flow.turn);
        }
    }

    pub(super) fn forget_flow(&mut self, handle: Handle) -> Option<Flow> {
        self.unlist(handle);
        if !matches!(self.sockets.get(handle), Some(Socket::Flow(_))) {
            return None;
        }
        let Some(Socket::Flow(flow)) = self.sockets.remove(handle) else {
            return None;
        };
        if let Some(gateway) = &mut self.gateway {
            gateway.held = gateway.held.saturating_sub(flow.octets);
        }
        self.effects.release(flow.octets);
        Some(*flow)
    }

    /// A flow ends by itself: who has it is told, and who would have got it never hears of it.
    fn give_up(&mut self, handle: Handle, why: impl FnOnce() -> io::Error) {
        let ready = self.gateway.as_mut().map(|it| &mut it.ready);
        if let Some(ready) = ready
            && let Some(place) = ready.iter().position(|it| *it == handle)
        {
            ready.remove(place);
            self.forget_flow(handle);
            return;
        }
        self.unlist(handle);
        if let Some(Socket::Flow(flow)) = self.sockets.get(handle) {
            flow.is_over = true;
            flow.error = Some(why());
            flow.readers.wake(&mut self.effects.woken);
        }
    }

    /// What a flow sent has met an error on its way.
    pub(super) fn flow_failed(&mut self, own: SocketAddr, remote: SocketAddr, problem: Problem) {
        let handle = self.gateway.as_ref().and_then(|it| it.flows.get(&(remote, own))).copied();
        if let Some(handle) = handle
            && let Some(Socket::Flow(flow)) = self.sockets.get(handle)
        {
            flow.error = Some(error::of_problem(problem, remote.ip()));
            flow.readers.wake(&mut self.effects.woken);
        }
    }

    /// It is `now`: flows that have been idle for too long are given up. Says when that may be so again.
    pub(crate) fn pass_time(&mut self, now: Instant) -> Option<Instant> {
        self.now = now;
        for handle in self.gateway.as_mut().map(|it| core::mem::take(&mut it.sent)).unwrap_or_default() {
            if let Some(gateway) = &mut self.gateway
                && let Some(Socket::Flow(flow)) = self.sockets.get(handle)
                && !flow.is_over
            {
                gateway.touch(handle, flow, now);
            }
        }
        loop {
            let gateway = self.gateway.as_ref()?;
            let idle = gateway.config.idle;
            let (_, &first) = gateway.order.first_key_value()?;
            let Some(Socket::Flow(flow)) = self.sockets.get(first) else {
                return None;
            };
            let until = flow.last + idle;
            if until > now {
                return Some(until);
            }
            self.give_up(first, || io::Error::new(io::ErrorKind::TimedOut, "the flow was idle for too long"));
        }
    }

    /// The host is gone.
    pub(super) fn gateway_down(&mut self) {
        if let Some(gateway) = &mut self.gateway {
            gateway.acceptors.wake(&mut self.effects.woken);
        }
    }
}

impl Gateway {
    /// Something came or went.
    fn touch(&mut self, handle: Handle, flow: &mut Flow, now: Instant) {
        self.order.remove(&flow.turn);
        self.turn += 1;
        (flow.turn, flow.last) = (self.turn, now);
        self.order.insert(self.turn, handle);
    }
}
