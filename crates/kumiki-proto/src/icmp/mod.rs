//! ICMP's queries: echo, asked and answered.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 792 (echo), RFC 1122 section 3.2.2.6 |
//! | Above | users that send echoes |
//! | Below | IP |
//! | Left out | timestamps, address masks, router discovery; ICMP's errors, which are part of [`crate::ip`] |
//!
//! # For users
//!
//! A unit to an [`Address::Ip4`] is sent as the data of an echo. Each user has an identifier of its own and its echoes are
//! counted from 1. The reply comes as a unit from the peer with the echoed data;
//! [`kumiki_graph::UnitOptions::identification`] says which echo it answers. Replies to nobody's echo are dropped. Errors
//! about an echo come as [`Report::Unreachable`], its `start` being what is quoted of the data.

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Protocol, Report, Request, Service,
    Shape, Unit, UnitOptions, Work,
};
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::icmpv4::{Header, MIN_LEN, Message as Icmp};
use kumiki_wire::ipv4::protocol;

#[cfg(test)]
mod tests;

const BELOW: Below = Below(0);

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Whether echoes are answered. A host must (RFC 1122 section 3.2.2.6).
    pub answer: bool,
    /// Whether echoes to broadcast and multicast addresses are answered too.
    pub answer_groups: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            answer: true,
            answer_groups: false,
        }
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

impl IcmpEcho {
    /// ICMP's queries as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
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

    fn echo(&mut self, from: Above, mut unit: Unit, cx: &mut Context<'_>) {
        let Some(sequence) = self.sequences.get_mut(usize::from(from.0)) else {
            return;
        };
        *sequence = sequence.wrapping_add(1);
        let mut header = Header {
            message: Icmp::Echo {
                identifier: self.identifier.wrapping_add(from.0),
                sequence: *sequence,
            },
            checksum: 0,
        };
        let mut octets = [0; MIN_LEN];
        header.emit(&mut octets);
        cx.charge(Work::Sum, unit.data.unsummed() as u64);
        header.checksum = Sum::of(&octets).plus(unit.data.sum()).checksum();
        header.emit(unit.data.push_header(MIN_LEN));
        unit.options.under = None;
        self.counters.echoes_sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Unit, cx: &mut Context<'_>) {
        let header = Header::parse(unit.data.front_at_least(MIN_LEN)).ok();
        let Some((header, _)) = header.filter(|_| intact(&mut unit.data, cx)) else {
            self.counters.malformed += 1;
            cx.drop("cut short, or checksum wrong");
            return;
        };
        match header.message {
            Icmp::Echo {
                identifier,
                sequence,
            } if self.config.answer && (self.config.answer_groups || !unit.options.group) => {
                let reply = Icmp::EchoReply {
                    identifier,
                    sequence,
                };
                self.answer(reply, header.checksum, unit, cx);
            }
            Icmp::EchoReply {
                identifier,
                sequence,
            } => {
                if let Some(user) = self.user(identifier) {
                    // The header was read, so it is there.
                    let _ = unit.data.pop_header(MIN_LEN);
                    unit.options.under = None;
                    unit.options.identification = sequence;
                    self.counters.replies_received += 1;
                    cx.up(user, Indication::Unit(unit));
                } else {
                    self.ignore(cx);
                }
            }
            Icmp::Echo { .. }
            | Icmp::DestinationUnreachable { .. }
            | Icmp::SourceQuench
            | Icmp::Redirect { .. }
            | Icmp::TimeExceeded { .. }
            | Icmp::ParameterProblem { .. }
            | Icmp::Timestamp { .. }
            | Icmp::TimestampReply { .. }
            | Icmp::Other { .. } => self.ignore(cx),
        }
    }

    fn ignore(&mut self, cx: &mut Context<'_>) {
        self.counters.ignored += 1;
        cx.drop("not for anybody here");
    }

    /// Sends an echo's data back, not a single octet of it touched.
    fn answer(&mut self, message: Icmp, checksum: u16, unit: Unit, cx: &mut Context<'_>) {
        let Unit {
            source,
            destination,
            options: UnitOptions { tos, group, .. },
            route,
            mut data,
        } = unit;
        let _ = data.pop_header(MIN_LEN);
        // The sum that came covered the old header.
        data.meta_mut().checksum = Checksum::Unknown;
        let header = Header {
            message,
            // Type 8 has become type 0; nothing else has changed.
            checksum: Sum::update(checksum, 0x0800, 0),
        };
        header.emit(data.push_header(MIN_LEN));
        self.counters.echoes_answered += 1;
        let options = UnitOptions {
            tos,
            ..UnitOptions::default()
        };
        cx.down(
            BELOW,
            Request::Unit(Unit {
                // From the address that was asked, unless that is everybody's.
                source: if group { Address::None } else { destination },
                destination: source,
                options,
                // RFC 1122 section 3.2.2.6: by the way it came.
                route,
                data,
            }),
        );
    }

    fn hear_error(&self, mut report: Report, cx: &mut Context<'_>) {
        let Report::Unreachable { start, .. } = &mut report else {
            return;
        };
        let header = Header::parse(start.front_at_least(MIN_LEN)).ok();
        if let Some((
            Header {
                message: Icmp::Echo { identifier, .. },
                ..
            },
            len,
        )) = header
            && let Some(user) = self.user(identifier)
        {
            let _ = start.pop(len);
            cx.up(user, Indication::Report(Box::new(report)));
        }
    }
}

fn intact(data: &mut Message, cx: &mut Context<'_>) -> bool {
    match data.meta().checksum {
        Checksum::Verified => true,
        Checksum::Sum(sum) => sum.is_valid(),
        Checksum::Unknown | Checksum::Partial { .. } => {
            cx.charge(Work::Sum, data.unsummed() as u64);
            data.sum().is_valid()
        }
    }
}

impl Protocol for IcmpEcho {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UnitData),
            needs: &[Service::UnitData],
            below: (1, 1),
            keys: vec![Key::IpProtocol(protocol::ICMP)],
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
        match request {
            Request::Unit(unit) => self.echo(from, unit, cx),
            Request::Manage(manage) if matches!(*manage, Manage::Limits) => {
                cx.down(BELOW, Request::Manage(manage));
            }
            Request::Manage(_)
            | Request::Open(_)
            | Request::Accept(_)
            | Request::Cancel { .. }
            | Request::Data { .. }
            | Request::Expedited { .. }
            | Request::Credit { .. }
            | Request::Release { .. }
            | Request::Abort { .. }
            | Request::Reset { .. } => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Unit(unit) => self.receive(unit, cx),
            Indication::Report(report) => match *report {
                Report::Unreachable { .. } => self.hear_error(*report, cx),
                Report::Limits { unit, burst } => {
                    let unit = unit.saturating_sub(8);
                    for user in 0..cx.users() {
                        let report = Report::Limits { unit, burst };
                        cx.up(Above(user), Indication::Report(Box::new(report)));
                    }
                }
                Report::Up | Report::Down | Report::Route { .. } => {}
            },
            Indication::Credit { .. } => {}
            Indication::Opened(_)
            | Indication::Offered(_)
            | Indication::Data { .. }
            | Indication::Expedited { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Aborted { .. }
            | Indication::Reset { .. }
            | Indication::Urgent { .. }
            | Indication::Notice { .. } => cx.drop("not a unit"),
        }
    }
}
