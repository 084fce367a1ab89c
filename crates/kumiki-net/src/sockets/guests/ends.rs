//! How programs and their sockets end.

use kumiki_graph::{Handle, Manage, Quality, Reason, Request};

use super::{GuestKind, LayerOpen, Program, marked, plain};
use crate::sockets::table::Table;

impl Table {
    /// Ends a socket at once.
    pub(super) fn end_guest(&mut self, handle: Handle) {
        if let Some(guest) = self.guests.remove(handle)
            && let Some(end) = guest.provider.end(handle)
        {
            self.effects.requests.push_back((guest.below, end));
        }
    }

    /// A program has gone, whatever it was doing: its sockets are closed as a system closes those of a process that has
    /// ended. What it has written still goes; who has sent what it has not read is told by a reset.
    pub(crate) fn detach(&mut self, program: Handle) {
        let Some(gone) = self.guests.programs.remove(program) else {
            return;
        };
        let Program { sockets, ports, groups, .. } = gone;
        for handle in sockets {
            self.orphan(handle);
        }
        for held in ports.into_values() {
            self.give_back(&held);
        }
        for group in groups {
            self.leave_as_guest(group);
        }
    }

    fn orphan(&mut self, handle: Handle) {
        let Some(guest) = self.guests.get(handle) else {
            return;
        };
        guest.program = None;
        let (LayerOpen::Open(session), GuestKind::Stream, 0) = (guest.provider, guest.what, guest.unread) else {
            self.end_guest(handle);
            return;
        };
        let (below, was_released) = (guest.below, core::mem::replace(&mut guest.released, true));
        // Its FIN-WAIT-2 ends by itself.
        let quality = Quality { half_close: Some(false), ..Quality::default() };
        let last = Request::Manage(Box::new(Manage::Session { session, quality }));
        self.effects.requests.push_back((below, last));
        if !was_released {
            self.effects.requests.push_back((below, Request::Release { session, data: None }));
        }
    }

    /// The host is gone: so are all sockets, and who passes on what programs say and hear is to see it.
    pub(in crate::sockets) fn guests_down(&mut self) {
        for handle in self.guests.sockets.handles() {
            let handle = marked(handle);
            let is_orphan = self.guests.get(handle).is_some_and(|it| it.program.is_none());
            if is_orphan {
                self.guests.sockets.remove(plain(handle));
            }
        }
        for program in self.guests.programs.handles() {
            if let Some(waker) = self.guests.programs.get(program).and_then(|it| it.waker.take()) {
                self.effects.woken.push(waker);
            }
        }
        self.guests.takers.wake(&mut self.effects.woken);
    }

    /// A call is refused.
    pub(super) fn refuse_guest(&mut self, program: Handle, (layer, user): (u8, Handle), reason: Reason) {
        let told = crate::rings::primitives::Response::Aborted { layer, user, reason };
        self.guests.tell(Some(program), told, &mut self.effects);
    }
}
