//! Who gets what comes, and the packets that only LCP has (RFC 1661 sections 3.4 to 3.7 and 5.7 to 5.9, RFC 1570
//! section 1).

use kumiki_graph::{Context, Unit};
use kumiki_wire::ppp::ppp::control::{self, code};
use kumiki_wire::ppp::ppp::lcp::Body;
use kumiki_wire::ppp::ppp::{Header, Text, chap, lqr, pap, protocol};

use super::automaton::{Event, State};
use super::log::{End, Kind, Phase};
use super::machine::{Actions, Dropped};
use super::misbehave::PacketFate;
use super::quality::send_body;
use super::{PppDaemon, described};

impl PppDaemon {
    pub(super) fn receive(&mut self, unit: &Unit, cx: &mut Context<'_>) {
        self.counters.received += 1;
        let frame = unit.data.to_vec();
        let Ok((header, len)) = Header::parse(&frame) else {
            self.malformed(cx);
            return;
        };
        let information = frame.get(len..).unwrap_or_default();
        let Some(player) = &mut self.player else {
            self.dispatch(header.protocol, information, cx);
            return;
        };
        let (seen, orders) = player.incoming(header.protocol, information, cx.now());
        let said = described(header.protocol, information);
        match seen {
            PacketFate::Whole => self.dispatch(header.protocol, information, cx),
            PacketFate::Changed(other) => {
                self.say(Kind::Received, format!("made another by the script: {said}"), cx);
                self.dispatch(header.protocol, &other, cx);
            }
            PacketFate::Nothing => {
                self.say(Kind::Received, format!("taken by the script: {said}"), cx);
            }
        }
        self.obey(orders, cx);
    }

    pub(super) fn malformed(&mut self, cx: &mut Context<'_>) {
        self.counters.malformed += 1;
        cx.drop("malformed PPP packet");
    }

    pub(super) fn unexpected(&mut self, cx: &mut Context<'_>) {
        self.counters.unexpected += 1;
        cx.drop("PPP packet at the wrong time");
    }

    pub(super) fn dispatch(&mut self, number: u16, information: &[u8], cx: &mut Context<'_>) {
        if number != protocol::LCP && self.lcp.state() != State::Opened {
            // RFC 1661 section 3.4: in silence.
            self.unexpected(cx);
            return;
        }
        let is_ours = match number {
            protocol::LCP | protocol::PAP | protocol::CHAP | protocol::LQR => true,
            protocol::IPCP | protocol::IPV4 => self.ipcp.is_some(),
            protocol::IPV6CP | protocol::IPV6 => self.ipv6cp.is_some(),
            _ => false,
        };
        let is_data = matches!(number, protocol::IPV4 | protocol::IPV6);
        if is_ours && !is_data {
            let text = format!("rcvd {}", described(number, information));
            self.say(Kind::Received, text, cx);
        }
        match number {
            protocol::LCP => self.receive_lcp(information, cx),
            protocol::PAP | protocol::CHAP => self.receive_auth(number, information, cx),
            protocol::LQR => self.receive_report(information, cx),
            // RFC 1661 section 3.5: in silence.
            _ if self.phase != Phase::Network => self.unexpected(cx),
            // Its control protocol is not Opened, or the driver has no user for it.
            _ if is_ours && is_data => self.unexpected(cx),
            protocol::IPCP | protocol::IPV6CP if is_ours => {
                self.receive_network(number, information, cx);
            }
            _ => self.reject_protocol(number, information, cx),
        }
    }

    /// RFC 1661 section 5.7.
    pub(super) fn reject_protocol(&mut self, number: u16, information: &[u8], cx: &mut Context<'_>) {
        self.counters.unknown_protocol += 1;
        let name = protocol::Name(number);
        self.say(Kind::Refusal, format!("we do not do {name}"), cx);
        let room = usize::from(self.lcp.negotiator.peer_mru()).saturating_sub(6);
        let body =
            Body::ProtocolReject { protocol: number, information: information.get(..room).unwrap_or(information) };
        let fresh = self.lcp.reject_id();
        let act = send_body(code::PROTOCOL_REJECT, fresh, &body);
        self.run(vec![act], cx);
    }

    pub(super) fn receive_lcp(&mut self, information: &[u8], cx: &mut Context<'_>) {
        let Ok((packet, _)) = control::Packet::parse(information) else {
            self.malformed(cx);
            return;
        };
        if (code::PROTOCOL_REJECT..=code::TIME_REMAINING).contains(&packet.code) {
            let Ok(body) = Body::read(packet.code, packet.data) else {
                self.malformed(cx);
                return;
            };
            if !self.maintain(packet.code, packet.identifier, body, cx) {
                return;
            }
        }
        let limit = usize::from(self.lcp.negotiator.peer_mru());
        let mut acts = Actions::new();
        let result = self.lcp.receive(packet, limit, cx.rng(), &mut acts);
        self.run(acts, cx);
        self.dropped(result, cx);
        self.follow_phase(cx);
    }

    pub(super) fn dropped(&mut self, result: Result<(), Dropped>, cx: &mut Context<'_>) {
        match result {
            Ok(()) => {}
            Err(Dropped::Malformed(_)) => self.malformed(cx),
            Err(Dropped::NoAnswer) => self.unexpected(cx),
        }
    }

    /// Packets that only LCP has. False: dropped.
    pub(super) fn maintain(&mut self, code: u8, identifier: u8, body: Body<'_>, cx: &mut Context<'_>) -> bool {
        let is_opened = self.lcp.state() == State::Opened;
        let magic = match body {
            Body::Echo { magic, .. } | Body::Identification { magic, .. } | Body::TimeRemaining { magic, .. } => {
                Some(magic)
            }
            Body::Options(_) | Body::Data(_) | Body::CodeReject(_) | Body::ProtocolReject { .. } => None,
        };
        // Identification can come at any time (RFC 1570 section 1.1), the others only now.
        if !is_opened && code != code::IDENTIFICATION {
            self.unexpected(cx);
            return false;
        }
        if let Some(magic) = magic.filter(|_| is_opened)
            && self.is_looped(magic, cx)
        {
            return false;
        }
        match body {
            Body::ProtocolReject { protocol, .. } => self.hear_protocol_reject(protocol, cx),
            Body::Echo { data, .. } if code == code::ECHO_REQUEST => {
                let magic = self.lcp.negotiator.magic();
                let room = usize::from(self.lcp.negotiator.peer_mru()).saturating_sub(8);
                let data = data.get(..room).unwrap_or(data);
                let body = Body::Echo { magic, data };
                let act = send_body(code::ECHO_REPLY, identifier, &body);
                self.run(vec![act], cx);
            }
            Body::Echo { magic, .. } if code == code::ECHO_REPLY => {
                // One that answers nothing, or that another peer has sent, does not show that ours is there.
                if self.is_foreign(magic) || !self.echo.answered(identifier) {
                    self.unexpected(cx);
                    return false;
                }
            }
            Body::Identification { message, .. } => {
                let text = format!("the peer says that it is {}", Text(message));
                self.say(Kind::Note, text, cx);
            }
            Body::TimeRemaining { seconds, message, .. } => {
                let text = format!("the peer says that {seconds} s remain: {}", Text(message));
                self.say(Kind::Note, text, cx);
            }
            // Discard-Request.
            Body::Echo { .. } | Body::Options(_) | Body::Data(_) | Body::CodeReject(_) => {}
        }
        true
    }

    /// RFC 1661 section 6.4: whose magic number came.
    pub(super) fn is_looped(&mut self, magic: u32, cx: &mut Context<'_>) -> bool {
        let (ours, theirs) = (self.lcp.negotiator.magic(), self.lcp.negotiator.peer_magic());
        if magic != 0 && magic == ours {
            self.fail(End::LoopedBack, cx);
            return true;
        }
        if self.is_foreign(magic) && !core::mem::replace(&mut self.has_told_magic, true) {
            let text = format!("magic number {magic:#010x} came, {theirs:#010x} was agreed on: it may be another peer");
            self.say(Kind::Note, text, cx);
        }
        false
    }

    /// Whether a magic number is neither ours nor the peer's (RFC 1661 section 6.4).
    fn is_foreign(&self, magic: u32) -> bool {
        magic != 0 && magic != self.lcp.negotiator.peer_magic()
    }

    pub(super) fn hear_protocol_reject(&mut self, number: u16, cx: &mut Context<'_>) {
        let name = protocol::Name(number);
        self.say(Kind::Refusal, format!("the peer does not do {name}"), cx);
        let mut acts = Actions::new();
        match number {
            protocol::LCP | protocol::PAP | protocol::CHAP => {
                let what = name.to_string();
                self.fail(End::Incompatible { what }, cx);
            }
            protocol::LQR => self.quality.stop_sending(&mut acts),
            // RFC 1661 section 5.7: nothing more of it is sent, not even that it is closed.
            protocol::IPCP | protocol::IPV4 => {
                if let Some(ipcp) = &mut self.ipcp {
                    ipcp.on(Event::Down, cx.rng(), &mut acts);
                    ipcp.on(Event::Close, cx.rng(), &mut acts);
                    self.run(acts, cx);
                    self.give_up(protocol::IPCP, cx);
                }
                return;
            }
            protocol::IPV6CP | protocol::IPV6 => {
                if let Some(ipv6cp) = &mut self.ipv6cp {
                    ipv6cp.on(Event::Down, cx.rng(), &mut acts);
                    ipv6cp.on(Event::Close, cx.rng(), &mut acts);
                    self.run(acts, cx);
                    self.give_up(protocol::IPV6CP, cx);
                }
                return;
            }
            _ => {}
        }
        self.run(acts, cx);
    }

    pub(super) fn receive_auth(&mut self, number: u16, information: &[u8], cx: &mut Context<'_>) {
        let mut acts = Actions::new();
        let heard = if number == protocol::PAP {
            let Ok((packet, _)) = pap::Packet::parse(information) else {
                self.malformed(cx);
                return;
            };
            self.prove.hear_pap(&packet, &mut acts) || self.admit.hear_pap(&packet, &mut acts)
        } else {
            let Ok((packet, _)) = chap::Packet::parse(information) else {
                self.malformed(cx);
                return;
            };
            // RFC 1994 section 1: who gets us to answer our own challenge has an answer to it.
            if let chap::Message::Challenge { value, .. } = packet.message
                && self.admit.has_asked(value)
            {
                self.unexpected(cx);
                self.fail(End::LoopedBack, cx);
                return;
            }
            self.prove.hear_chap(&packet, &mut acts) || self.admit.hear_chap(&packet, &mut acts)
        };
        if !heard {
            self.unexpected(cx);
        }
        self.run(acts, cx);
        self.follow_auth(cx);
    }

    pub(super) fn receive_report(&mut self, information: &[u8], cx: &mut Context<'_>) {
        let Ok((report, len)) = lqr::Report::parse(information) else {
            self.malformed(cx);
            return;
        };
        let appended = information.get(len..).unwrap_or_default();
        // The driver appends what it has counted; without it nothing can be said.
        let Some(arrival) = crate::ppp::Arrival::parse(appended) else {
            self.unexpected(cx);
            return;
        };
        let magic = self.lcp.negotiator.magic();
        if report.magic != 0 && self.is_looped(report.magic, cx) {
            return;
        }
        if self.is_foreign(report.magic) {
            // What another peer has counted says nothing of this link.
            return self.unexpected(cx);
        }
        let mut acts = Actions::new();
        self.quality.hear(report, arrival, magic, &mut acts);
        self.run(acts, cx);
    }

    pub(super) fn receive_network(&mut self, number: u16, information: &[u8], cx: &mut Context<'_>) {
        let Ok((packet, _)) = control::Packet::parse(information) else {
            self.malformed(cx);
            return;
        };
        if self.given_up.contains(&number) {
            self.unexpected(cx);
            return;
        }
        let limit = usize::from(self.lcp.negotiator.peer_mru());
        let mut acts = Actions::new();
        let result = match (&mut self.ipcp, &mut self.ipv6cp) {
            (Some(ipcp), _) if number == protocol::IPCP => ipcp.receive(packet, limit, cx.rng(), &mut acts),
            (_, Some(ipv6cp)) if number == protocol::IPV6CP => ipv6cp.receive(packet, limit, cx.rng(), &mut acts),
            _ => Ok(()),
        };
        self.run(acts, cx);
        self.dropped(result, cx);
    }
}
