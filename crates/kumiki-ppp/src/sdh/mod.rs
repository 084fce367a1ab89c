//! The driver of a SONET/SDH interface: MAPOS by itself, and an access point for PPP beside it.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2171 (MAPOS), RFC 2175 (MAPOS 16), RFC 2173 section 4 (the node's side of NSP); paper 1's SDH driver |
//! | Above | users by protocol number, such as [`crate::mapos`]; one under [`PPP_FRAMES`], the PPP driver [`crate::ppp`] |
//! | Below | a line that frames: flags, stuffing and check sequence are its, and a frame here is address, control, protocol, information |
//! | Left out | manual change of the address while it runs; path signal label and scrambling, which are the line's |
//!
//! # MAPOS
//!
//! A unit's destination is the HDLC address, an [`AddressField`]. No frame says where it comes from, so an indicated
//! unit has no source. Frames with a wrong control field or an impossible address are dropped and counted, and so are
//! those for other nodes.
//!
//! Where MAPOS has users, the driver asks the switch for its address (NSP) when the line comes up, every 5 s until it
//! has an answer, and from then on every 30 s, by which the switch knows that the node is there. Users are told of it
//! by [`Report::Route`] and then [`Report::Up`]; both come again when it is another address. Before, there is no
//! address, and frames for one node are for others. On a reject the driver keeps the address it has and goes on asking:
//! RFC 2173 does not say what else. Who is asked, by a frame to the switch's own address, knows that there is no
//! switch, and assigns 03 to the other end (RFC 2173 section 4.3). An assignment is believed whatever the present
//! address is, but only if it was sent to what it assigns.
//!
//! # What tells a frame of MAPOS from one of PPP
//!
//! Flags, stuffing and check sequence are the same for both, and RFC 2171 names nothing else. While only one of the two
//! has users, all frames are its. Where both have, in addresses of 8 bits:
//!
//! 1. A frame that does not begin with `FF 03` is MAPOS's. So PPP must not leave out address and control, which RFC
//!    1619 advises against too; a frame of PPP's without them is not sent.
//! 2. `FF 03` and an odd octet is PPP's: a protocol field of one octet, which MAPOS has not.
//! 3. `FF 03 FE 01`, `FE 03` and `FE 05` are MAPOS's: ARP, NSP and SSP (RFC 2172).
//! 4. Any other protocol without a user at MAPOS is PPP's: LCP and all that PPP is run by, since RFC 2172 reserves
//!    these numbers.
//! 5. A protocol that both may have, such as 0021, IPv4: it is PPP's while PPP passes it, and MAPOS's otherwise. A PPP
//!    peer sends none before it has sent the Configure-Ack that opens our NCP too. The PPP driver says by
//!    [`LinkManage::Pass`] when it passes one. While it does, our own frames of that protocol to all nodes are refused:
//!    the peer would take them for PPP's. When PPP has closed, what it sent before may still be in flight; for
//!    [`Config::ppp_timeout`] the protocol stays PPP's, which discards it.
//!
//! With addresses of 16 bits `FF 03` cannot begin a frame of MAPOS, for the last bit of the first octet is 0 there; all
//! frames that begin so are PPP's, and no others.
//!
//! What the rule cannot do: the two ends do not open at the same instant. What MAPOS at the later end sends to all
//! until then, the earlier end takes for PPP's. It is at most what is sent in the time of one crossing.
//!
//! As the line is not PPP's alone, what PPP agrees on for frames ([`LinkManage::Agreed`]) reaches it only while MAPOS
//! has no users.

use crate::PPP_FRAMES;
use crate::ppp::LinkManage;
use kumiki_graph::{
    Above, Address, Below, Context, Duration, Indication, Key, Manage, Protocol, Report, Request, Service, Shape,
    Token, Unit, UnitIndication, UnitOptions, UnitRequest,
};
use kumiki_octets::Message;
use kumiki_settings::Settings;
use kumiki_wire::numbering::MAPOS_PROTOCOL;
use kumiki_wire::ppp::mapos::AddressField;
use kumiki_wire::ppp::mapos::{self, LEN, MAX_INFORMATION, Meaning, Width, nsp, protocol};

use crate::MaposProtocol;

pub(crate) mod frame;
pub(crate) mod line;
mod nsp_client;
mod sharing;
#[cfg(test)]
mod tests;

use frame::{FrameError, frame};
use line::Line;
use nsp_client::Client;
pub use nsp_client::Timers;
use sharing::Sharing;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Which MAPOS: addresses of 8 bits (RFC 2171) or of 16 (RFC 2175).
    #[setting(name = "version", words = crate::mapos::WIDTHS)]
    pub width: Width,
    /// Our MAPOS address, where no switch is to be asked for it.
    #[setting(
        text,
        expected = "an HDLC address such as \"0x23\", of MAPOS 16 such as \"0x5007\"",
        unset = "asked for (NSP)"
    )]
    pub address: Option<mapos::Address>,
    /// The most octets of information in a frame.
    #[setting(1..=MAX_INFORMATION as u64, octets)]
    pub mtu: u32,
    /// When switches are asked for the address.
    #[setting(table)]
    pub nsp: Timers,
    /// How long a protocol that PPP has stopped to pass stays PPP's, where MAPOS may have it too.
    ///
    /// At least what a frame needs to cross the line.
    pub ppp_timeout: Duration,
}

impl Default for Config {
    /// The standard's; frames of PPP are waited for as long as its restart timer runs (RFC 1661 section 4.6).
    fn default() -> Self {
        Self {
            width: Width::Eight,
            address: None,
            mtu: u32::try_from(MAX_INFORMATION).unwrap_or(u32::MAX),
            nsp: Timers::default(),
            ppp_timeout: Duration::from_secs(3),
        }
    }
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// An address that a node cannot have.
    #[error("the SDH driver has the address {0}, expected one of a node: {1}")]
    Address(mapos::Address, &'static str),
    /// An MTU that no frame has.
    #[error("the SDH driver has an MTU of {0} octets, expected 1 to 65280")]
    Mtu(u32),
    /// Requests without end at one instant.
    #[error("the SDH driver asks for its address again after no time, expected some")]
    NoTime,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames of MAPOS sent for users.
    pub sent: u64,
    /// Frames of MAPOS handed to a user.
    pub received: u64,
    /// Frames of PPP sent.
    pub ppp_sent: u64,
    /// Frames of PPP handed to its user.
    pub ppp_received: u64,
    /// Units not sent: without address or protocol, longer than the MTU, or not to be told from the other protocol's.
    pub refused: u64,
    /// Frames dropped: cut short or too long.
    pub malformed: u64,
    /// Frames dropped: an address that cannot be.
    pub invalid_address: u64,
    /// Frames dropped: another control field than 03.
    pub invalid_control: u64,
    /// Frames dropped: for another node, or for a switch.
    pub other_node: u64,
    /// Frames dropped: for nobody here.
    pub unknown_protocol: u64,
    /// Requests sent to the switch.
    pub asked: u64,
    /// Requests of the other end answered, since there is no switch.
    pub answered: u64,
    /// Assignments that were believed.
    pub assigned: u64,
    /// Requests that the switch rejected.
    pub rejected: u64,
}

/// The driver.
#[derive(Debug)]
pub struct Sdh {
    config: Config,
    sharing: Sharing,
    line: Line,
    /// What asks for our address; `None` where it was set by hand.
    client: Option<Client>,
    counters: Counters,
}

const BELOW: Below = Below(0);

fn transmit(data: Message, cx: &mut Context<'_>) {
    cx.down(BELOW, Request::Unit(Box::new(Unit::of(data))));
}

impl Sdh {
    /// A driver as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        if let Some(address) = config.address {
            let right = match config.width {
                Width::Eight => "0x03 to 0x7f",
                Width::Sixteen => "0x0003 to 0x7eff",
            };
            let node = matches!(address.meaning(), Meaning::Node { .. });
            if !node || address.width() != config.width {
                return Err(ConfigError::Address(address, right));
            }
        }
        if config.mtu == 0 || config.mtu as usize > MAX_INFORMATION {
            return Err(ConfigError::Mtu(config.mtu));
        }
        if config.nsp.retry.is_zero() || config.nsp.verify.is_zero() {
            return Err(ConfigError::NoTime);
        }
        let asks = config.address.is_none();
        Ok(Self {
            sharing: Sharing::new(config.width, config.ppp_timeout),
            line: Line::default(),
            client: asks.then(|| Client::new(config.width, config.nsp)),
            config,
            counters: Counters::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Our address, once there is one.
    #[must_use]
    pub fn address(&self) -> Option<mapos::Address> {
        let assigned = self.client.as_ref().and_then(Client::own);
        self.config.address.or(assigned)
    }

    fn refuse(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.refused += 1;
        cx.drop(why);
    }

    fn send(&mut self, from: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if self.sharing.ppp == Some(from) {
            if self.sharing.is_clear(unit.data.front_at_least(2)) {
                self.counters.ppp_sent += 1;
                cx.down(BELOW, Request::Unit(unit));
            } else {
                self.refuse("PPP frame without address and control", cx);
            }
            return;
        }
        let destination = unit.destination.get::<AddressField>();
        let destination = destination.and_then(|it| mapos::Address::new(self.config.width, it.0.into()));
        let Some(destination) = destination else {
            return self.refuse("destination is not an HDLC address", cx);
        };
        let Some(MaposProtocol(number)) = self.sharing.users.number(from, unit.options.under) else {
            return self.refuse("no MAPOS protocol", cx);
        };
        if unit.data.len() > self.config.mtu as usize {
            return self.refuse("longer than the MTU", cx);
        }
        if destination.meaning() == Meaning::Broadcast && self.sharing.is_ambiguous(number, cx.now()) {
            return self.refuse("the peer would take it for PPP's", cx);
        }
        self.counters.sent += 1;
        unit.data = frame(destination, number, unit.data);
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if let Some(ppp) = self.sharing.ppp
            && self.sharing.is_ppp(unit.data.front_at_least(LEN), cx.now())
        {
            self.counters.ppp_received += 1;
            cx.up(ppp, Indication::Unit(unit));
            return;
        }
        let header = match frame::read(self.config.width, &mut unit.data) {
            Ok(header) => header,
            Err(wrong) => return self.discard(wrong, cx),
        };
        // The header was read, so it is there.
        let _ = unit.data.pop_header(LEN);
        if header.protocol == protocol::NSP {
            self.hear_nsp(header.destination, &mut unit.data, cx);
            return;
        }
        let group = header.destination.is_group();
        if !group && self.address() != Some(header.destination) {
            self.counters.other_node += 1;
            cx.drop("for another node");
            return;
        }
        let Some(user) = self.sharing.users.find(MaposProtocol(header.protocol)) else {
            self.counters.unknown_protocol += 1;
            cx.drop("unknown MAPOS protocol");
            return;
        };
        unit.destination = Address::from(AddressField(header.destination.bits()));
        unit.options =
            UnitOptions { group, under: Some(Key::of(MAPOS_PROTOCOL, header.protocol)), ..UnitOptions::NONE };
        self.counters.received += 1;
        cx.up(user, Indication::Unit(unit));
    }

    fn discard(&mut self, wrong: FrameError, cx: &mut Context<'_>) {
        *match wrong {
            FrameError::Short | FrameError::Long => &mut self.counters.malformed,
            FrameError::Address => &mut self.counters.invalid_address,
            FrameError::Control => &mut self.counters.invalid_control,
        } += 1;
        cx.drop(wrong.words());
    }

    fn hear_nsp(&mut self, to: mapos::Address, data: &mut Message, cx: &mut Context<'_>) {
        if self.sharing.users.is_empty() {
            self.counters.unknown_protocol += 1;
            cx.drop("unknown MAPOS protocol");
            return;
        }
        let Ok((header, _)) = nsp::Header::parse(data.front_at_least(nsp::LEN)) else {
            self.counters.malformed += 1;
            cx.drop("NSP packet malformed");
            return;
        };
        let width = self.config.width;
        match header.command {
            nsp::Command::Request if to == mapos::Address::local_control(width) => {
                self.counters.answered += 1;
                let own = mapos::Address::without_switch(width);
                transmit(frame::nsp(own, nsp::Header::assignment(own)), cx);
            }
            nsp::Command::Request => {
                self.counters.other_node += 1;
                cx.drop("for another node");
            }
            nsp::Command::Assignment => {
                let Some(own) = header.assigned(width).filter(|own| *own == to) else {
                    self.counters.malformed += 1;
                    cx.drop("NSP packet malformed");
                    return;
                };
                let Some(client) = &mut self.client else {
                    cx.drop("our address is set by hand");
                    return;
                };
                self.counters.assigned += 1;
                if self.line.is_up() && client.assign(own, cx) {
                    self.tell_address(cx);
                }
            }
            nsp::Command::Reject => {
                self.counters.rejected += 1;
                cx.drop("the switch gives no address");
            }
        }
    }

    /// How we are addressed, as [`Report::Route`] tells it.
    fn route(&self, to: Address) -> Report {
        let own = self.address().map(mapos::Address::bits);
        Report::Route {
            to,
            source: own.map_or(Address::NONE, |own| AddressField(own).into()),
            unit: self.config.mtu,
            burst: 1,
            bypass: None,
        }
    }

    /// Hands a report to the users of MAPOS.
    fn tell_mapos(&self, report: &Report, cx: &mut Context<'_>) {
        let users = (0..cx.users()).map(Above);
        for user in users.filter(|user| Some(*user) != self.sharing.ppp) {
            cx.up(user, Indication::Report(Box::new(report.clone())));
        }
    }

    fn tell_address(&self, cx: &mut Context<'_>) {
        let all = mapos::Address::broadcast(self.config.width).bits();
        self.tell_mapos(&self.route(Address::from(AddressField(all))), cx);
        self.tell_mapos(&Report::Up, cx);
    }

    /// The line has come up, or is up from the start: the address is asked for, or told.
    fn begin(&mut self, cx: &mut Context<'_>) {
        if self.sharing.users.is_empty() {
            return;
        }
        match &mut self.client {
            Some(client) => {
                self.counters.asked += 1;
                client.ask(cx);
            }
            None => self.tell_address(cx),
        }
    }

    /// What is carried at most; PPP hands down its header too.
    const fn limits(&self, ppp: bool) -> Report {
        let header = if ppp { 4 } else { 0 };
        let unit = self.config.mtu + header;
        Report::Limits { unit, burst: 1 }
    }

    fn manage(&mut self, from: Above, manage: Manage, cx: &mut Context<'_>) {
        let ppp = self.sharing.ppp == Some(from);
        match manage {
            Manage::Limits => {
                let report = self.limits(ppp);
                cx.up(from, Indication::Report(Box::new(report)));
            }
            Manage::Route { to } => {
                let report = self.route(to);
                cx.up(from, Indication::Report(Box::new(report)));
            }
            Manage::Special(ref what) if ppp => match what.get() {
                Some(LinkManage::Pass { protocol, pass, .. }) => {
                    self.sharing.pass(*protocol, *pass, self.line.is_up(), cx.now());
                }
                Some(LinkManage::Agreed(_)) if !self.sharing.is_shared() => {
                    cx.down(BELOW, Request::Manage(Box::new(manage)));
                }
                Some(LinkManage::Agreed(_)) | None => {}
            },
            Manage::Refuse { .. } => cx.drop("MAPOS sends nothing back"),
            Manage::Session { .. }
            | Manage::Advise { .. }
            | Manage::Group { .. }
            | Manage::Narrow { .. }
            | Manage::Special(_) => {}
        }
    }

    fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        match report {
            Report::Up | Report::Down | Report::Special(_) => self.hear_line(report, cx),
            // How long a frame may be is the standard's matter and not the line's.
            Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } => {}
        }
    }

    fn hear_line(&mut self, report: &Report, cx: &mut Context<'_>) {
        let changed = self.line.hear(report);
        if let Some(ppp) = self.sharing.ppp
            && matches!(report, Report::Special(_))
        {
            cx.up(ppp, Indication::Report(Box::new(report.clone())));
        }
        // A device that says it is up has not been so before, whatever we took it for.
        let up = if let Report::Up = report { Some(true).filter(|_| self.line.is_up()) } else { changed };
        let Some(up) = up else {
            return;
        };
        if let Some(ppp) = self.sharing.ppp {
            let report = if up { Report::Up } else { Report::Down };
            cx.up(ppp, Indication::Report(Box::new(report)));
        }
        if up {
            self.begin(cx);
            return;
        }
        self.sharing.cut();
        if let Some(client) = &mut self.client {
            client.cut(cx);
        }
        self.tell_mapos(&Report::Down, cx);
    }
}

impl Protocol for Sdh {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        if keys.contains(&PPP_FRAMES) {
            if self.sharing.ppp.is_some() {
                return Err("the SDH driver has a user for PPP already".to_owned());
            }
            self.sharing.ppp = Some(above);
            return Ok(());
        }
        if keys.contains(&Key::of(MAPOS_PROTOCOL, protocol::NSP)) {
            return Err("the SDH driver speaks NSP (MAPOS protocol 0xfe03) itself".to_owned());
        }
        self.sharing.users.bind("the SDH driver", above, keys)
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.begin(cx);
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

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        self.begin(cx);
    }
}
