//! Several packets become one again.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8200 section 4.5; RFC 5722 (overlaps), RFC 7112 (all headers in the first fragment) |
//!
//! The holes are counted by [`crate::internet`]. Where fragments overlap, the packet is dropped as a whole.

use core::net::Ipv6Addr;

use kumiki_graph::{Context, Token, Unit};
use kumiki_wire::inet::icmpv6::{Message as Icmp, parameter, time_exceeded};
use kumiki_wire::inet::ipv6::extension::{FRAGMENT_LEN, Fragment as FragmentHeader};
use kumiki_wire::inet::ipv6::{self, PAYLOAD_LENGTH_OFFSET};

use super::errors::About;
use super::fragment::with_header;
use super::{Ip, MAX_PAYLOAD, timer};
use crate::internet::{Fragment, Outcome, Table};

/// What fragments of one packet have in common (RFC 8200 section 4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    source: Ipv6Addr,
    destination: Ipv6Addr,
    identification: u32,
}

/// What is kept of the first fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    about: About,
    /// What the fragmentable part begins with.
    next_header: u8,
}

/// All incomplete packets.
pub(super) type Incomplete = Table<Key, Head>;

impl Ip {
    /// Takes the fragment of a packet for us that is in `unit`; its fragment header stands at `at`.
    pub(super) fn reassemble(
        &mut self,
        about: &About,
        fragment: FragmentHeader,
        at: usize,
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) {
        let packet = &unit.data;
        self.counters.reasm_reqds += 1;
        let behind = at + FRAGMENT_LEN;
        let Ok(data) = packet.share(behind, packet.len().saturating_sub(behind)) else {
            return;
        };
        let (first, last) = (fragment.start(), !fragment.more);
        let pointer = if !last && !data.len().is_multiple_of(8) {
            Some(PAYLOAD_LENGTH_OFFSET)
        } else if first + data.len() > MAX_PAYLOAD {
            Some(at + 2)
        } else {
            None
        };
        if let Some(pointer) = pointer {
            self.broken(cx);
            let message =
                Icmp::ParameterProblem { code: parameter::FIELD, pointer: u32::try_from(pointer).unwrap_or(0) };
            self.error(about, message, packet, cx);
            return;
        }
        if data.is_empty() && !last {
            self.broken(cx);
            return;
        }
        let key = Key {
            source: about.header.source,
            destination: about.header.destination,
            identification: fragment.identification,
        };
        let head = Head { about: *about, next_header: fragment.next_header };
        let fragment = Fragment { key, first, last, head, ecn: about.header.ecn(), data: &data };
        match self.reassembly.take(cx.now(), fragment) {
            Outcome::Waiting | Outcome::Swallowed => {}
            Outcome::Whole { head, ecn, data } if data.len() <= MAX_PAYLOAD => {
                self.counters.reasm_oks += 1;
                let mut about = About { reassembled: true, ..head.about };
                about.header.set_ecn(ecn);
                unit.data = with_header(&about.header, head.next_header, data);
                about.header.next_header = head.next_header;
                about.header.payload_length = u16::try_from(unit.data.len() - ipv6::LEN).unwrap_or(u16::MAX);
                self.take_ours(&about, unit, cx);
            }
            Outcome::Whole { .. } | Outcome::Broken => self.broken(cx),
        }
        while self.reassembly.over() {
            self.counters.reasm_fails += 1;
            cx.drop("too many fragments held");
        }
        self.set_reassembly_timer(cx);
    }

    fn broken(&mut self, cx: &mut Context<'_>) {
        self.counters.reasm_fails += 1;
        cx.drop("fragments that do not fit together");
    }

    fn set_reassembly_timer(&mut self, cx: &mut Context<'_>) {
        let token = Token { kind: timer::REASSEMBLY, ..Token::default() };
        match self.reassembly.deadline() {
            None => cx.clear_timer(&mut self.reassembly_timer),
            Some(deadline) if self.reassembly_timer.deadline() == Some(deadline) => {}
            Some(deadline) => cx.set_timer(&mut self.reassembly_timer, token, deadline),
        }
    }

    pub(super) fn give_up_reassembly(&mut self, cx: &mut Context<'_>) {
        while let Some(late) = self.reassembly.late(cx.now()) {
            self.counters.reasm_fails += 1;
            cx.drop("fragments missing for too long");
            if let Some((head, first)) = late {
                let code = time_exceeded::REASSEMBLY;
                let mut about = head.about;
                let first = with_header(&about.header, head.next_header, first);
                about.header.next_header = head.next_header;
                self.error(&about, Icmp::TimeExceeded { code }, &first, cx);
            }
        }
        cx.clear_timer(&mut self.reassembly_timer);
        self.set_reassembly_timer(cx);
    }
}
