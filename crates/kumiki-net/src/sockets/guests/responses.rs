//! What a program is told.

use kumiki_graph::{Below, Credit, Handle, Indication, Offered, Reason, Report, Request, Unit};
use kumiki_io::shared::ring::MOST_OCTETS;
use kumiki_octets::Message;

use super::{Guest, GuestKind, Guests, LayerOpen, is_guest};
use crate::rings::primitives::{Datagram, Response};
use crate::sockets::stream::Effects;
use crate::sockets::table::Table;

impl Guests {
    /// Leaves it for the program.
    pub(super) fn tell(&mut self, program: Option<Handle>, response: Response, effects: &mut Effects) {
        let Some(program) = program.and_then(|it| self.programs.get(it)) else {
            return;
        };
        program.held += response.cost();
        program.outbox.push_back(response);
        if let Some(waker) = program.waker.take() {
            effects.woken.push(waker);
        }
    }

    /// Whether so many octets more find room among what waits for the program.
    fn has_room(&mut self, program: Option<Handle>, octets: usize) -> bool {
        let program = program.and_then(|it| self.programs.get(it));
        program.is_none_or(|it| it.held.saturating_add(octets) <= it.share.memory)
    }
}

/// Whose an indication is.
fn session_of(indication: &Indication) -> Option<Handle> {
    match indication {
        Indication::Opened(opened) => Some(opened.user),
        Indication::Offered(offered) => Some(offered.user),
        Indication::Unit(unit) => unit.session,
        Indication::Data { session, .. }
        | Indication::Expedited { session, .. }
        | Indication::Special { session, .. }
        | Indication::Credit { session, .. }
        | Indication::Released { session, .. }
        | Indication::Closed { session }
        | Indication::Aborted { session, .. }
        | Indication::Reset { session, .. }
        | Indication::Notice { session, .. } => Some(*session),
        Indication::Report(_) => None,
    }
}

impl Table {
    /// Takes what the layers say of a guest's socket; gives back what is not of one.
    pub(in crate::sockets) fn heard_of_guest(&mut self, indication: Indication) -> Option<Indication> {
        let Some(handle) = session_of(&indication).filter(|it| is_guest(*it)) else {
            return Some(indication);
        };
        match indication {
            Indication::Opened(opened) => {
                if let Some(guest) = self.guests.get(handle) {
                    guest.provider = LayerOpen::Open(opened.provider);
                    let (program, layer, user) = (guest.program, guest.layer, guest.user);
                    let (local, remote) = (opened.local.socket(), opened.remote.socket());
                    let told = Response::Opened { layer, user, provider: handle, local, remote };
                    self.guests.tell(program, told, &mut self.effects);
                }
            }
            Indication::Offered(offered) => self.offered_to_guest(handle, &offered),
            Indication::Data { data, .. } | Indication::Expedited { data, .. } => self.data_for_guest(handle, data),
            Indication::Unit(unit) => self.unit_for_guest(handle, *unit),
            Indication::Credit { credit, .. } => self.credit_for_guest(handle, credit.octets),
            Indication::Released { .. } => {
                self.tell_guest(handle, |user, _| Response::Released { user });
            }
            Indication::Closed { .. } => {
                self.tell_guest(handle, |user, _| Response::Closed { user });
                self.guests.remove(handle);
            }
            Indication::Aborted { reason, .. } | Indication::Reset { reason, .. } => {
                self.tell_guest(handle, |user, layer| Response::Aborted { layer, user, reason });
                self.guests.remove(handle);
            }
            Indication::Special { .. } | Indication::Notice { .. } | Indication::Report(_) => {}
        }
        None
    }

    /// Tells a program something of a socket that it knows.
    fn tell_guest(&mut self, handle: Handle, what: impl FnOnce(Handle, u8) -> Response) {
        // Of a call that it has not answered it has no handle yet.
        if let Some(guest) = self.guests.get(handle).filter(|it| it.what != GuestKind::Offered) {
            let (program, response) = (guest.program, what(guest.user, guest.layer));
            self.guests.tell(program, response, &mut self.effects);
        }
    }

    fn offered_to_guest(&mut self, listener: Handle, offered: &Offered) {
        let Some(Guest { program, user, layer, below, .. }) = self.guests.get(listener) else {
            return;
        };
        let (program, user, layer, below) = (*program, *user, *layer, *below);
        if !program.is_some_and(|it| self.guests.has_place(it)) {
            let abort = Request::Abort { session: offered.provider, reason: Reason::NoResources, data: None };
            self.effects.requests.push_back((below, abort));
            return;
        }
        let provider = self.guests.insert(Guest {
            program,
            user: Handle::default(),
            what: GuestKind::Offered,
            layer,
            below,
            provider: LayerOpen::Open(offered.provider),
            local: None,
            credit: 0,
            unread: 0,
            released: false,
        });
        let (local, remote) = (offered.local.socket(), offered.remote.socket());
        let told = Response::Offered { layer, user, provider, local, remote };
        self.guests.tell(program, told, &mut self.effects);
    }

    fn data_for_guest(&mut self, handle: Handle, mut data: Message) {
        let Some(guest) = self.guests.get(handle) else {
            return;
        };
        let (program, user, layer) = (guest.program, guest.user, guest.layer);
        guest.unread += data.len() as u64;
        if data.is_empty() {
            return;
        }
        if program.is_none() {
            // As for an orphan among the host's own: what will never be read was not delivered (RFC 9293, SHLD-3).
            self.end_guest(handle);
            return;
        }
        if !self.guests.has_room(program, data.len()) {
            self.end_guest(handle);
            let told = Response::Aborted { layer, user, reason: Reason::NoResources };
            self.guests.tell(program, told, &mut self.effects);
            return;
        }
        while data.len() > MOST_OCTETS {
            let Ok(first) = data.split_to(MOST_OCTETS) else { return };
            self.guests.tell(program, Response::Data { user, data: first }, &mut self.effects);
        }
        self.guests.tell(program, Response::Data { user, data }, &mut self.effects);
    }

    fn unit_for_guest(&mut self, handle: Handle, unit: Unit) {
        let (Some(source), Some(destination)) = (unit.source.socket(), unit.destination.socket()) else {
            return;
        };
        let Some(guest) = self.guests.get(handle) else {
            return;
        };
        let (program, user, layer, octets) = (guest.program, guest.user, guest.layer, unit.data.len());
        let (provider, below) = (guest.provider.handle(), guest.below);
        if self.guests.has_room(program, octets) {
            if let Some(guest) = self.guests.get(handle) {
                guest.unread += octets as u64;
            }
            let unit =
                Datagram { session: Some(user), source, destination, special: unit.options.special, data: unit.data };
            self.guests.tell(program, Response::Unit { layer, unit }, &mut self.effects);
        } else if let Some(session) = provider {
            // Lost, as where a socket's own queue is full.
            let credit = Credit::octets(octets as u64);
            self.effects.requests.push_back((below, Request::Credit { session, credit }));
        }
    }

    fn credit_for_guest(&mut self, handle: Handle, octets: u64) {
        let Some(guest) = self.guests.get(handle) else {
            return;
        };
        guest.credit = guest.credit.saturating_add(octets);
        let (program, user) = (guest.program, guest.user);
        let last = program.and_then(|it| self.guests.programs.get(it)).and_then(|it| it.outbox.back_mut());
        if let Some(Response::Credit { user: same, octets: more }) = last
            && *same == user
        {
            *more = more.saturating_add(octets);
            return;
        }
        self.guests.tell(program, Response::Credit { user, octets }, &mut self.effects);
    }

    /// A datagram has met an error on its way: those programs are told that have its port.
    pub(in crate::sockets) fn unreachable_for_guests(&mut self, report: &Report) {
        let Report::Unreachable { source, destination, problem, .. } = report else {
            return;
        };
        let (Some(source), Some(destination)) = (source.socket(), destination.socket()) else {
            return;
        };
        let all = self.guests.udp.get(&source.port()).cloned().unwrap_or_default();
        let mut programs: Vec<Handle> = all.into_iter().filter_map(|it| self.guests.get(it)?.program).collect();
        programs.sort_unstable();
        programs.dedup();
        for program in programs {
            let told = Response::Unreachable { source, destination, problem: *problem };
            self.guests.tell(Some(program), told, &mut self.effects);
        }
    }

    /// The layer below a guest, by the handle that the layers know.
    pub(super) fn below_of(&mut self, handle: Handle) -> Option<(Below, LayerOpen)> {
        self.guests.get(handle).map(|it| (it.below, it.provider))
    }
}
