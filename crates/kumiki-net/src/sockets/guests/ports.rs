//! The addresses that programs take, and the groups that they are in.

use core::net::{IpAddr, SocketAddr};
use std::io;

use kumiki_graph::Handle;
use kumiki_wire::inet::Sharing;

use super::{GuestKind, Guests};
use crate::rings::primitives::{Answer, Response};
use crate::sockets::error::Errno;
use crate::sockets::ports::{Bound, Terms};
use crate::sockets::table::{Table, unmapped};

/// An address that a program has taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenAddress {
    pub(super) is_udp: bool,
    pub(super) bound: Bound,
    terms: Terms,
    is_listening: bool,
}

impl TakenAddress {
    /// Whether a socket of a layer may have `local` by it, which the layer has without what IPv6 adds to addresses of
    /// IPv4.
    fn covers(&self, local: SocketAddr) -> bool {
        let own = unmapped(self.bound.local);
        let is_any = own.ip().is_unspecified() && local.ip().is_unspecified();
        own.port() == local.port() && local.port() != 0 && (own.ip() == local.ip() || (is_any && own.is_ipv6()))
    }

    /// Who else may have it, as UDP is told.
    pub(super) const fn sharing(&self) -> Sharing {
        match (self.terms.reuse_address, self.terms.reuse_port) {
            (true, _) => Sharing::Latest,
            (false, true) => Sharing::Spread,
            (false, false) => Sharing::Alone,
        }
    }
}

impl Guests {
    /// Whether the program may have one more socket.
    pub(super) fn has_place(&mut self, program: Handle) -> bool {
        // Whoever has an address and a socket there has one place for each, so that none of the two can be had without
        // end.
        self.programs.get(program).is_some_and(|it| it.sockets.len().max(it.ports.len()) < it.share.sockets)
    }

    /// The address by which a socket of the program may be at `local`.
    pub(super) fn held(&mut self, program: Handle, is_udp: bool, local: SocketAddr) -> Option<TakenAddress> {
        let program = self.programs.get(program)?;
        program.ports.values().find(|it| it.is_udp == is_udp && it.covers(local)).copied()
    }

    /// As [`Self::held`], of one where the program listens.
    pub(super) fn listening(&mut self, program: Handle, local: SocketAddr) -> Option<TakenAddress> {
        let program = self.programs.get(program)?;
        program.ports.values().find(|it| it.is_listening && it.covers(local)).copied()
    }
}

impl Table {
    fn answer(&mut self, program: Handle, question: u64, answer: io::Result<Answer>) {
        let answer = answer.unwrap_or_else(|error| Answer::refused(&error));
        self.guests.tell(Some(program), Response::Answer { question, answer }, &mut self.effects);
    }

    /// A question that was passed on has an answer.
    pub(crate) fn answer_guest(&mut self, program: Handle, question: u64, answer: Answer) {
        self.answer(program, question, Ok(answer));
    }

    /// Takes an address for the program.
    pub(super) fn take_for(&mut self, program: Handle, question: u64, is_udp: bool, local: SocketAddr, terms: Terms) {
        let taken = self.take_port(program, is_udp, local, terms);
        self.answer(program, question, taken);
    }

    fn take_port(&mut self, program: Handle, is_udp: bool, local: SocketAddr, terms: Terms) -> io::Result<Answer> {
        if !self.guests.has_place(program) {
            return Err(Errno::NoBuffers.into());
        }
        self.check_up()?;
        self.check_own(unmapped(local).ip())?;
        // Of TCP listeners at one address one has all callers, and those of several processes cannot stand in for each
        // other.
        let terms = Terms { owner: if is_udp { 0 } else { 1 + u64::from(program.index) }, ..terms };
        let ports = if is_udp { &mut self.udp_ports } else { &mut self.tcp_ports };
        let bound = ports.take(local, terms, &mut self.rng)?;
        self.guests.numbers += 1;
        let number = self.guests.numbers;
        if let Some(program) = self.guests.programs.get(program) {
            program.ports.insert(number, TakenAddress { is_udp, bound, terms, is_listening: false });
        }
        Ok(Answer::Taken { local: bound.local, number })
    }

    pub(super) fn listen_for(&mut self, program: Handle, question: u64, number: u64) {
        let held = self.guests.programs.get(program).and_then(|it| it.ports.get_mut(&number)).filter(|it| !it.is_udp);
        let listens = match held {
            None => Err(io::ErrorKind::AddrNotAvailable.into()),
            Some(held) => {
                let listens = self.tcp_ports.listen(held.bound);
                held.is_listening = listens.is_ok();
                listens
            }
        };
        self.answer(program, question, listens.map(|()| Answer::Done));
    }

    /// The program gives an address back; what still listens there ends, for the next who takes it is to be alone.
    pub(super) fn give_for(&mut self, program: Handle, number: u64) {
        let Some(own) = self.guests.programs.get(program) else {
            return;
        };
        let Some(held) = own.ports.remove(&number) else {
            return;
        };
        for handle in own.sockets.clone() {
            let stands = self.guests.get(handle).is_some_and(|guest| {
                let is_of =
                    if held.is_udp { guest.what == GuestKind::Datagrams } else { guest.what == GuestKind::Listener };
                is_of && guest.local.is_some_and(|it| held.covers(it))
            });
            if stands && self.guests.held(program, held.is_udp, held.bound.local).is_none() {
                self.end_guest(handle);
            }
        }
        self.give_back(&held);
    }

    pub(super) fn give_back(&mut self, held: &TakenAddress) {
        let ports = if held.is_udp { &mut self.udp_ports } else { &mut self.tcp_ports };
        ports.give(held.bound);
    }

    /// The program wants what is sent to a group, or no longer.
    pub(super) fn group_for(&mut self, program: Handle, group: IpAddr, is_member: bool) {
        let Some(own) = self.guests.programs.get(program) else {
            return;
        };
        if !is_member {
            if own.groups.remove(&group) {
                self.leave_as_guest(group);
            }
        } else if group.is_multicast() && own.groups.len() < own.share.sockets && own.groups.insert(group) {
            self.enter(group);
        }
    }

    pub(super) fn leave_as_guest(&mut self, group: IpAddr) {
        self.leave(group);
    }
}
