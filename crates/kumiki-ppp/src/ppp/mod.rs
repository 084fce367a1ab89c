//! The PPP driver: datagrams become PPP frames, and what the link is run by goes to its daemon.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1661 sections 2, 3.1 and 6; counters of RFC 1989; paper 1's POS driver |
//! | Above | users by protocol number: IP, IPv6; under [`Key::Raw`] the daemon ([`crate::ppp_daemon`]), which sees whole frames |
//! | Below | a line that frames, or the access point for PPP of a driver that carries more than PPP |
//! | Left out | negotiation, which is the daemon's; compression of headers and data, multilink |
//!
//! Without a user under [`Key::Raw`] the link is one that was set up by hand: all protocols that have a user may pass
//! from the start. With one, a protocol may pass when the daemon says so ([`LinkManage::Pass`]), and how frames are
//! written is what it has agreed on ([`LinkManage::Agreed`]). Frames of protocols that have no user or may not pass go
//! to the daemon, as they came.
//!
//! Reports of the quality of the link (protocol c025) are the daemon's too, but packets and octets are counted here,
//! where they pass in the order of the line: what was sent is filled in on the way out, and what had come is appended
//! on the way up ([`Arrival`]).
//!
//! Which protocols pass is told to the layer below as well: a driver that carries more than PPP ([`crate::sdh`]) needs
//! it to know PPP's frames.

use crate::PPP_FRAMES;
use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitOptions, UnitRequest,
};
use kumiki_inet::LinkAddresses;
use kumiki_settings::Settings;
use kumiki_wire::numbering::PPP_PROTOCOL;
use kumiki_wire::ppp::ppp::{Compression, DEFAULT_MRU, Header, MAX_LEN, protocol};

use crate::PppProtocol;
use kumiki_graph::users::{Users, tell_all};

mod control;
mod quality;
#[cfg(test)]
mod tests;

pub use control::{Agreement, DamagedFrames, LinkManage};
pub use quality::Arrival;
use quality::Counts;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// The most octets of a datagram; where the peer takes less (its MRU), less.
    #[setting(1..=65535, octets)]
    pub mtu: u32,
}

impl Default for Config {
    /// What every implementation can receive.
    fn default() -> Self {
        Self { mtu: DEFAULT_MRU.into() }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams handed to a user.
    pub received: u64,
    /// Frames sent for the daemon.
    pub raw_sent: u64,
    /// Frames handed to the daemon.
    pub raw_received: u64,
    /// Units not sent: without a protocol, longer than the peer takes, or of a protocol that may not pass.
    pub refused: u64,
    /// Frames dropped: no PPP header.
    pub malformed: u64,
    /// Frames dropped: for nobody here.
    pub unknown_protocol: u64,
}

/// The layer.
#[derive(Debug)]
pub struct Ppp {
    config: Config,
    users: Users<PppProtocol>,
    daemon: Option<Above>,
    /// The protocols that may pass; without a daemon all that have a user.
    passing: Vec<u16>,
    agreed: Option<Agreement>,
    /// Whether the layer below is up.
    up: bool,
    counters: Counters,
    counts: Counts,
}

const BELOW: Below = Below(0);
/// Bits of the check sequence that octets are counted with until another was agreed on.
const DEFAULT_FCS: u8 = 16;

/// Tells the layer below that `protocol` may pass, or may not any more.
fn tell_below(protocol: u16, pass: bool, cx: &mut Context<'_>) {
    let link = LinkManage::Pass { protocol, pass, local: Address::NONE, remote: Address::NONE };
    cx.down(BELOW, Request::Manage(Box::new(Manage::special(link))));
}

impl Ppp {
    /// A driver as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            users: Users::default(),
            daemon: None,
            passing: Vec::new(),
            agreed: None,
            up: true,
            counters: Counters::default(),
            counts: Counts::default(),
        }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn may_pass(&self, protocol: u16) -> bool {
        self.daemon.is_none() || self.passing.contains(&protocol)
    }

    fn mtu(&self) -> u32 {
        let peer = self.agreed.map_or(u32::MAX, |agreed| agreed.peer_mru);
        self.config.mtu.min(peer)
    }

    fn send_fcs(&self) -> u8 {
        self.agreed.map_or(DEFAULT_FCS, |agreed| agreed.send_fcs)
    }

    const fn limits(&self, unit: u32) -> Report {
        Report::Limits { unit, burst: 1 }
    }

    fn send(&mut self, from: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if self.daemon == Some(from) {
            self.counters.raw_sent += 1;
            self.counts.count_out(&unit.data, self.send_fcs());
            if let Ok((header, len)) = Header::parse(unit.data.front_at_least(MAX_LEN))
                && header.protocol == protocol::LQR
            {
                self.counts.fill(&mut unit.data, len);
            }
            cx.down(BELOW, Request::Unit(unit));
            return;
        }
        let refused = match self.users.number(from, unit.options.under) {
            None => Err("no PPP protocol"),
            Some(PppProtocol(number)) if !self.may_pass(number) => Err("protocol may not pass yet"),
            Some(_) if unit.data.len() > self.mtu() as usize => Err("longer than the peer takes"),
            Some(PppProtocol(number)) => Ok(number),
        };
        match refused {
            Err(why) => {
                self.counters.refused += 1;
                cx.drop(why);
            }
            Ok(number) => {
                let compression =
                    self.agreed.map_or(Compression::NONE, |agreed| Compression { acfc: agreed.acfc, pfc: agreed.pfc });
                let header = Header::new(number, compression);
                header.emit(unit.data.push_header(header.len()));
                self.counters.sent += 1;
                self.counts.count_out(&unit.data, self.send_fcs());
                cx.down(BELOW, Request::Unit(unit));
            }
        }
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Ok((header, len)) = Header::parse(unit.data.front_at_least(MAX_LEN)) else {
            self.counters.malformed += 1;
            self.counts.count_discard();
            cx.drop("no PPP header");
            return;
        };
        let fcs = self.agreed.map_or(DEFAULT_FCS, |agreed| agreed.receive_fcs);
        self.counts.count_in(&unit.data, fcs);
        let number = header.protocol;
        let user = self.users.find(PppProtocol(number));
        if let Some(user) = user.filter(|_| self.may_pass(number)) {
            // The header was read, so it is there.
            let _ = unit.data.pop_header(len);
            unit.options = UnitOptions { under: Some(Key::of(PPP_PROTOCOL, number)), ..UnitOptions::NONE };
            self.counters.received += 1;
            cx.up(user, Indication::Unit(unit));
        } else if let Some(daemon) = self.daemon {
            self.counters.raw_received += 1;
            if number == protocol::LQR {
                self.counts.append(&mut unit.data, len);
            }
            cx.up(daemon, Indication::Unit(unit));
        } else {
            self.counters.unknown_protocol += 1;
            self.counts.count_discard();
            cx.drop("unknown PPP protocol");
        }
    }

    fn manage(&mut self, from: Above, manage: Manage, cx: &mut Context<'_>) {
        match manage {
            Manage::Limits => {
                let report = self.limits(self.mtu());
                cx.up(from, Indication::Report(Box::new(report)));
            }
            Manage::Special(what) if self.daemon == Some(from) => match what.take() {
                Some(link) => self.hear_daemon(*link, cx),
                None => cx.drop("not offered by PPP"),
            },
            Manage::Refuse { .. } => cx.drop("PPP sends nothing back"),
            Manage::Route { .. }
            | Manage::Session { .. }
            | Manage::Advise { .. }
            | Manage::Group { .. }
            | Manage::Narrow { .. }
            | Manage::Special(_) => {}
        }
    }

    fn hear_daemon(&mut self, link: LinkManage, cx: &mut Context<'_>) {
        match link {
            LinkManage::Agreed(agreed) => {
                let before = self.mtu();
                self.agreed = agreed;
                cx.down(BELOW, Request::Manage(Box::new(Manage::special(link))));
                if before != self.mtu() {
                    tell_all(&self.limits(self.mtu()), cx);
                }
            }
            LinkManage::Pass { protocol, pass, local, remote } => {
                self.passing.retain(|other| *other != protocol);
                if pass {
                    self.passing.push(protocol);
                }
                cx.down(BELOW, Request::Manage(Box::new(Manage::special(link))));
                let Some(user) = self.users.find(PppProtocol(protocol)) else {
                    return;
                };
                if pass {
                    let addresses = LinkAddresses { local, remote };
                    cx.up(user, Indication::Report(Box::new(Report::special(addresses))));
                }
                let report = if pass { Report::Up } else { Report::Down };
                cx.up(user, Indication::Report(Box::new(report)));
            }
        }
    }

    fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        match report {
            Report::Up | Report::Down => {
                self.up = matches!(report, Report::Up);
                // Users of a link with a daemon come up when it says so; they go down with the line.
                match self.daemon {
                    Some(daemon) if self.up => {
                        cx.up(daemon, Indication::Report(Box::new(report.clone())));
                    }
                    Some(_) => {
                        for protocol in core::mem::take(&mut self.passing) {
                            tell_below(protocol, false, cx);
                        }
                        let before = self.mtu();
                        self.agreed = None;
                        if before != self.mtu() {
                            tell_all(&self.limits(self.mtu()), cx);
                        }
                        tell_all(report, cx);
                    }
                    None => tell_all(report, cx),
                }
            }
            Report::Special(what) => {
                if let Some(DamagedFrames(frames)) = what.get() {
                    self.counts.set_errors(*frames);
                }
                if let Some(daemon) = self.daemon {
                    cx.up(daemon, Indication::Report(Box::new(report.clone())));
                }
            }
            // A line takes what its peer takes, and that is agreed on.
            Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } => {}
        }
    }
}

impl Protocol for Ppp {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![PPP_FRAMES, Key::Only],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        if !keys.contains(&Key::Raw) {
            return self.users.bind("PPP", above, keys);
        }
        if self.daemon.is_some() {
            return Err("PPP has a daemon already".to_owned());
        }
        self.daemon = Some(above);
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let Some(daemon) = self.daemon else {
            for PppProtocol(number) in self.users.numbers() {
                tell_below(number, true, cx);
            }
            return;
        };
        let users = (0..cx.users()).map(Above).filter(|user| *user != daemon);
        for user in users {
            cx.up(user, Indication::Report(Box::new(Report::Down)));
        }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(from, unit, cx),
            Some(UnitRequest::Manage(manage)) => self.manage(from, *manage, cx),
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(unit, cx),
            Some(UnitIndication::Report(report)) => self.report(&report, cx),
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }
}
