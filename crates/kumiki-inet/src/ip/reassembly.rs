//! Several datagrams become one again.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 791 section 3.2, RFC 1122 section 3.3.2 (timeout) |
//!
//! The holes are counted by [`crate::internet`]. Where fragments overlap, what came first stays.

use core::net::Ipv4Addr;

use kumiki_graph::{Context, Token, Unit};
use kumiki_octets::Message;
use kumiki_wire::inet::icmpv4::{Message as Icmp, time_exceeded};
use kumiki_wire::inet::ipv4::Ecn;

use super::errors::About;
use super::fragment::with_header;
use super::{Ip, max_data};
use crate::internet::{Fragment, Outcome, Table};

/// What fragments of one datagram have in common (RFC 791).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    identification: u16,
}

/// All incomplete datagrams.
pub(super) type Incomplete = Table<Key, About>;

/// The whole datagram behind a header made of the first fragment's; `None` where it is longer than a datagram can be.
fn whole(mut about: About, ecn: Ecn, data: Message) -> Option<(About, Message)> {
    let header = &mut about.header;
    header.more_fragments = false;
    header.set_ecn(ecn);
    if data.len() > max_data(header) {
        return None;
    }
    let whole = with_header(header, data);
    Some((about, whole))
}

impl Ip {
    /// Takes the fragment of a datagram for us that is in `unit`; its header has `len` octets.
    pub(super) fn reassemble(&mut self, about: &About, len: usize, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        self.counters.reasm_reqds += 1;
        // Sums cover single fragments: of no use for the whole.
        unit.data.meta_mut().checksum = kumiki_octets::Checksum::Unknown;
        let _ = unit.data.pop(len);
        match self.put(about, &unit.data, cx) {
            Outcome::Waiting | Outcome::Swallowed => {}
            Outcome::Whole { head, ecn, data } => match whole(head, ecn, data) {
                Some((about, datagram)) => {
                    self.counters.reasm_oks += 1;
                    unit.data = datagram;
                    self.deliver(&about, about.header.len(), unit, cx);
                }
                None => self.broken(cx),
            },
            Outcome::Broken => self.broken(cx),
        }
        while self.reassembly.over() {
            self.counters.reasm_fails += 1;
            cx.drop("too many fragments held");
        }
        self.set_reassembly_timer(cx);
    }

    fn put(&mut self, about: &About, data: &Message, cx: &Context<'_>) -> Outcome<About> {
        let header = &about.header;
        let first = header.fragment_start();
        let last = !header.more_fragments;
        let misfit = !last && (data.is_empty() || !data.len().is_multiple_of(8));
        if misfit || first + data.len() > max_data(header) {
            return Outcome::Broken;
        }
        let key = Key {
            source: header.source,
            destination: header.destination,
            protocol: header.protocol,
            identification: header.identification,
        };
        let fragment = Fragment { key, first, last, head: *about, ecn: header.ecn(), data };
        self.reassembly.take(cx.now(), fragment)
    }

    fn broken(&mut self, cx: &mut Context<'_>) {
        self.counters.reasm_fails += 1;
        cx.drop("fragments that do not fit together");
    }

    fn set_reassembly_timer(&mut self, cx: &mut Context<'_>) {
        match self.reassembly.deadline() {
            None => cx.clear_timer(&mut self.reassembly_timer),
            Some(deadline) if self.reassembly_timer.deadline() == Some(deadline) => {}
            Some(deadline) => cx.set_timer(&mut self.reassembly_timer, Token::default(), deadline),
        }
    }

    pub(super) fn give_up_reassembly(&mut self, cx: &mut Context<'_>) {
        while let Some(late) = self.reassembly.late(cx.now()) {
            self.counters.reasm_fails += 1;
            cx.drop("fragments missing for too long");
            if let Some((about, first)) = late {
                let code = time_exceeded::REASSEMBLY;
                let mut header = about.header;
                let first = with_header(&mut header, first);
                self.error(&about, Icmp::TimeExceeded { code }, &first, cx);
            }
        }
        cx.clear_timer(&mut self.reassembly_timer);
        self.set_reassembly_timer(cx);
    }
}
