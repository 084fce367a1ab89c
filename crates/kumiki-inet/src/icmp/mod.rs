//! ICMP's queries: echo, asked and answered, over IPv4 and IPv6.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 792 (echo), RFC 1122 section 3.2.2.6; RFC 4443 section 4 |
//! | Above | users that send echoes |
//! | Below | IP of either version |
//! | Service class | a reply has the DSCP of its echo (RFC 1812 section 4.3.2.5 on what were the TOS bits then) and is Not-ECT, whatever the echo was: nobody would slow down for its loss, so it must not say that somebody does (RFC 3168 section 5.2), and a CE is for the sender of what was marked |
//! | Left out | timestamps, address masks, router discovery; ICMP's errors, which are part of [`crate::ip`] and [`crate::ipv6`] |
//!
//! # For users
//!
//! A unit to an IP address is sent as the data of an echo. Each user has an identifier of its own and its echoes are
//! counted from 1. The reply comes as a unit from the peer with the echoed data;
//! [`IpParameters::identification`] says which echo it answers. Replies to nobody's echo are dropped. Errors
//! about an echo come as [`Report::Unreachable`], its `start` being what is quoted of the data.

use crate::settable::Settings;
use core::net::IpAddr;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::numbering::IP_PROTOCOL;

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Problem, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitOptions, UnitRequest, Work,
};
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::inet::icmpv4::MIN_LEN;
use kumiki_wire::inet::ipv4::protocol;
use kumiki_wire::inet::ipv6::{self, next_header};
use kumiki_wire::inet::{icmpv4, icmpv6};

use crate::internet::is_intact;
use kumiki_graph::users::tell_all;

#[cfg(test)]
mod tests;

const BELOW: Below = Below(0);
/// What is not ECN of a TOS or a traffic class (RFC 3168 section 5).
const DSCP: u8 = 0xfc;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Whether echoes are answered. A host must (RFC 1122 section 3.2.2.6).
    pub answer: bool,
    /// Whether echoes to broadcast and multicast addresses are answered too.
    pub answer_groups: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { answer: true, answer_groups: false }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Echoes sent.
    pub echoes_sent: u64,
    /// Replies handed to users.
    pub replies_received: u64,
    /// Echoes answered.
    pub echoes_answered: u64,
    /// Messages dropped: cut short, or their checksum wrong.
    pub malformed: u64,
    /// Messages dropped: nobody here understands or expects them.
    pub ignored: u64,
}

/// The protocol.
#[derive(Debug, Default)]
pub struct IcmpEcho {
    config: Config,
    /// The identifier of the first user; the others' follow.
    identifier: u16,
    /// How many echoes each user has sent.
    sequences: Vec<u16>,
    counters: Counters,
}

/// What a message is, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Query {
    /// An echo: identifier, sequence number, checksum.
    Echo(u16, u16, u16),
    /// The reply to one: identifier, sequence number.
    Reply(u16, u16),
    /// Something else.
    Other,
}

/// Reads a message whose version of IP `ip` tells; `None` where it is cut short.
fn read(ip: IpAddr, data: &mut Message) -> Option<Query> {
    let front = data.front_at_least(MIN_LEN);
    match ip {
        IpAddr::V4(_) => {
            let (header, _) = icmpv4::Header::parse(front).ok()?;
            Some(match header.message {
                icmpv4::Message::Echo { identifier, sequence } => Query::Echo(identifier, sequence, header.checksum),
                icmpv4::Message::EchoReply { identifier, sequence } => Query::Reply(identifier, sequence),
                icmpv4::Message::DestinationUnreachable { .. }
                | icmpv4::Message::SourceQuench
                | icmpv4::Message::Redirect { .. }
                | icmpv4::Message::TimeExceeded { .. }
                | icmpv4::Message::ParameterProblem { .. }
                | icmpv4::Message::Timestamp { .. }
                | icmpv4::Message::TimestampReply { .. }
                | icmpv4::Message::Other { .. } => Query::Other,
            })
        }
        IpAddr::V6(_) => {
            let (header, _) = icmpv6::Header::parse(front).ok()?;
            Some(match header.message {
                icmpv6::Message::Echo { identifier, sequence } => Query::Echo(identifier, sequence, header.checksum),
                icmpv6::Message::EchoReply { identifier, sequence } => Query::Reply(identifier, sequence),
                icmpv6::Message::DestinationUnreachable { .. }
                | icmpv6::Message::PacketTooBig { .. }
                | icmpv6::Message::TimeExceeded { .. }
                | icmpv6::Message::ParameterProblem { .. }
                | icmpv6::Message::RouterSolicitation
                | icmpv6::Message::RouterAdvertisement(_)
                | icmpv6::Message::NeighbourSolicitation { .. }
                | icmpv6::Message::NeighbourAdvertisement { .. }
                | icmpv6::Message::Redirect { .. }
                | icmpv6::Message::Other { .. } => Query::Other,
            })
        }
    }
}

/// The header of `query`, for a message whose version of IP `ip` tells.
fn header(ip: IpAddr, query: Query, checksum: u16) -> [u8; MIN_LEN] {
    let mut octets = [0; MIN_LEN];
    let (is_echo, identifier, sequence) = match query {
        Query::Echo(identifier, sequence, _) => (true, identifier, sequence),
        Query::Reply(identifier, sequence) => (false, identifier, sequence),
        Query::Other => return octets,
    };
    match ip {
        IpAddr::V4(_) => {
            let message = if is_echo {
                icmpv4::Message::Echo { identifier, sequence }
            } else {
                icmpv4::Message::EchoReply { identifier, sequence }
            };
            icmpv4::Header { message, checksum }.emit(&mut octets);
        }
        IpAddr::V6(_) => {
            let message = if is_echo {
                icmpv6::Message::Echo { identifier, sequence }
            } else {
                icmpv6::Message::EchoReply { identifier, sequence }
            };
            icmpv6::Header { message, checksum }.emit(&mut octets);
        }
    }
    octets
}

/// What an ICMP message of `len` octets is summed behind: nothing in IPv4 (RFC 792), the addresses in IPv6 (RFC 4443
/// section 2.3).
fn pseudo(source: IpAddr, destination: IpAddr, len: usize) -> Sum {
    let (IpAddr::V6(source), IpAddr::V6(destination)) = (source, destination) else {
        return Sum::ZERO;
    };
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    let octets = ipv6::pseudo_header(source, destination, next_header::ICMPV6, len);
    Sum::of(&octets)
}

/// The number under which IP of `ip`'s version carries ICMP.
const fn number(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(_) => protocol::ICMP,
        IpAddr::V6(_) => next_header::ICMPV6,
    }
}

impl IcmpEcho {
    /// ICMP's queries as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn user(&self, identifier: u16) -> Option<Above> {
        let number = identifier.wrapping_sub(self.identifier);
        (usize::from(number) < self.sequences.len()).then_some(Above(number))
    }

    fn echo(&mut self, from: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(peer) = unit.destination.ip() else {
            cx.drop("destination is not an IP address");
            return;
        };
        let Some(sequence) = self.sequences.get_mut(usize::from(from.0)) else {
            return;
        };
        *sequence = sequence.wrapping_add(1);
        let query = Query::Echo(self.identifier.wrapping_add(from.0), *sequence, 0);
        let octets = header(peer, query, 0);
        cx.charge(Work::Sum, unit.data.unsummed() as u64);
        // IPv6 adds its addresses, of which it chooses one.
        let checksum = Sum::of(&octets).plus(unit.data.sum()).checksum();
        let octets = header(peer, query, checksum);
        unit.data.push_header(MIN_LEN).copy_from_slice(&octets);
        unit.options.under = Some(Key::of(IP_PROTOCOL, number(peer).into()));
        self.counters.echoes_sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let (Some(peer), Some(own)) = (unit.source.ip(), unit.destination.ip()) else {
            self.ignore(cx);
            return;
        };
        if unit.options.under != Some(Key::of(IP_PROTOCOL, number(peer).into())) {
            self.ignore(cx);
            return;
        }
        let pseudo = pseudo(peer, own, unit.data.len());
        let query = read(peer, &mut unit.data);
        let Some(query) = query.filter(|_| is_intact(&mut unit.data, pseudo, cx)) else {
            self.counters.malformed += 1;
            cx.drop("cut short, or checksum wrong");
            return;
        };
        match query {
            Query::Echo(identifier, sequence, checksum)
                if self.config.answer && (self.config.answer_groups || !unit.options.group) =>
            {
                // What covered the addresses is taken out: they change places, and IPv6 adds them again.
                let sum = Sum::from_folded(!checksum).without(0, pseudo);
                let reply = Query::Reply(identifier, sequence);
                self.answer(peer, reply, sum.checksum(), unit, cx);
            }
            Query::Reply(identifier, sequence) => {
                if let Some(user) = self.user(identifier) {
                    // The header was read, so it is there.
                    let _ = unit.data.pop_header(MIN_LEN);
                    let parameters = IpParameters { identification: sequence, ..unit.options.special.into() };
                    unit.options = UnitOptions { group: unit.options.group, ..UnitOptions::of(parameters) };
                    self.counters.replies_received += 1;
                    cx.up(user, Indication::Unit(unit));
                } else {
                    self.ignore(cx);
                }
            }
            Query::Echo(..) | Query::Other => self.ignore(cx),
        }
    }

    fn ignore(&mut self, cx: &mut Context<'_>) {
        self.counters.ignored += 1;
        cx.drop("not for anybody here");
    }

    /// Sends an echo's data back, not a single octet of it touched.
    fn answer(&mut self, peer: IpAddr, reply: Query, checksum: u16, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let data = &mut unit.data;
        let _ = data.pop_header(MIN_LEN);
        // The sum that came covered the old header.
        data.meta_mut().checksum = Checksum::Unknown;
        // The type is another one; nothing else has changed.
        let (was, is) = match peer {
            IpAddr::V4(_) => (0x0800, 0),
            IpAddr::V6(_) => (0x8000, 0x8100),
        };
        let octets = header(peer, reply, Sum::update(checksum, was, is));
        data.push_header(MIN_LEN).copy_from_slice(&octets);
        self.counters.echoes_answered += 1;
        // From the address that was asked, unless that is everybody's. RFC 1122 section 3.2.2.6: by the way it came.
        let own = if unit.options.group { Address::NONE } else { unit.destination };
        (unit.source, unit.destination) = (own, unit.source);
        let tos = IpParameters::from(unit.options.special).tos & DSCP;
        unit.options = UnitOptions {
            under: Some(Key::of(IP_PROTOCOL, number(peer).into())),
            ..UnitOptions::of(IpParameters { tos, ..IpParameters::NONE })
        };
        cx.down(BELOW, Request::Unit(unit));
    }

    fn hear_error(&self, mut report: Report, cx: &mut Context<'_>) {
        let Report::Unreachable { destination, start, problem, .. } = &mut report else {
            return;
        };
        let query = destination.ip().and_then(|peer| read(peer, start));
        if let Some(Query::Echo(identifier, ..)) = query
            && let Some(user) = self.user(identifier)
        {
            if let Problem::TooBig { mtu } = *problem {
                let to = *destination;
                let narrow = Manage::Narrow { to, mtu };
                cx.down(BELOW, Request::Manage(Box::new(narrow)));
            }
            let _ = start.pop(MIN_LEN);
            cx.up(user, Indication::Report(Box::new(report)));
        }
    }
}

impl Protocol for IcmpEcho {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA],
            below: (1, 1),
            keys: vec![Key::of(IP_PROTOCOL, protocol::ICMP.into()), Key::of(IP_PROTOCOL, next_header::ICMPV6.into())],
        }
    }

    fn bind(&mut self, _: Above, _: &[Key]) -> Result<(), String> {
        self.sequences.push(0);
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let [.., high, low] = cx.rng().next_u32().to_be_bytes();
        self.identifier = u16::from_be_bytes([high, low]);
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.echo(from, unit, cx),
            Some(UnitRequest::Manage(manage)) if matches!(*manage, Manage::Limits) => {
                cx.down(BELOW, Request::Manage(manage));
            }
            Some(UnitRequest::Manage(_)) | None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(unit, cx),
            Some(UnitIndication::Report(report)) => match *report {
                Report::Unreachable { .. } => self.hear_error(*report, cx),
                Report::Limits { unit, burst } => {
                    let unit = unit.saturating_sub(8);
                    tell_all(&Report::Limits { unit, burst }, cx);
                }
                Report::Up | Report::Down | Report::Route { .. } | Report::Special(_) => {}
            },
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }
}
