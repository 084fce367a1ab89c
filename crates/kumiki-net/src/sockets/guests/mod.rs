//! Programs of other processes that are attached to a host: their sockets, as the host knows them whatever they say.
//!
//! A guest's own sockets are in its process; here is what stands for each of them towards TCP and UDP. What a program
//! asks comes as a [`Command`] and is checked against that: its handles are looked up among its own, its credit is
//! counted, its ports are those that it has taken. What is wrong without fail, so that only a broken program says it,
//! is an error that ends the program's part and no other; what may only have come too late is nothing.
//!
//! | read | for |
//! |---|---|
//! | `commands.rs` | what a program asks |
//! | `responses.rs` | what it is told |
//! | `ports.rs` | addresses that it takes |
//! | `ends.rs` | how it ends, and what becomes of its connections |

mod commands;
mod ends;
mod ports;
mod responses;

use core::net::{IpAddr, SocketAddr};
use core::task::Waker;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kumiki_graph::sessions::Sessions;
use kumiki_graph::{Below, Handle, Quality};

use super::listener::LayerOpen;
use super::stream::Effects;
use super::table::Table;
use super::wakers::Wakers;
use crate::rings::hello::Hello;
use crate::rings::primitives::{Layer, Response};
use ports::TakenAddress;

pub(crate) use commands::{CommandError, Lookup};

/// What tells the handles of guests from those of the host's own sockets.
const GUEST: u32 = 1 << 31;

/// A program is not heard while so many responses wait for it.
const MOST_RESPONSES: usize = 1024;

/// Nor is any while so much waits for the layers.
const MOST_REQUESTS: usize = 1024;

/// What a buffer of a connection has at most, in octets, as Linux bounds what programs ask for.
const MOST_BUFFER: u32 = 16 << 20;

/// What one program may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// Sockets, and addresses that were taken for one.
    pub(crate) sockets: usize,
    /// What may wait for it outside its rings, in octets.
    pub(crate) memory: usize,
}

/// What stands for a socket of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GuestKind {
    Stream,
    /// One that has called, and that the program has not answered.
    Offered,
    Listener,
    Datagrams,
}

/// A socket of a program.
#[derive(Debug)]
struct Guest {
    /// Whose it is; nobody's once the program has gone.
    program: Option<Handle>,
    /// The program's handle of it.
    user: Handle,
    what: GuestKind,
    layer: Layer,
    below: Below,
    provider: LayerOpen,
    /// Its address where that was taken.
    local: Option<SocketAddr>,
    /// Octets that the program may send.
    credit: u64,
    /// Octets that it was told of and has not said to have taken.
    unread: u64,
    /// It sends no more.
    released: bool,
}

/// A program.
#[derive(Debug)]
struct Program {
    share: Share,
    outbox: VecDeque<Response>,
    /// What waits there, in octets of memory.
    held: usize,
    /// Who takes it from there.
    waker: Option<Waker>,
    sockets: BTreeSet<Handle>,
    /// Those that it has opened, by its own names.
    names: BTreeMap<(Layer, Handle), Handle>,
    /// Addresses that it has taken, by their numbers.
    ports: BTreeMap<u64, TakenAddress>,
    groups: BTreeSet<IpAddr>,
    /// What is on the host's lines is not what it was told last.
    has_old_lines: bool,
}

/// All programs of a host.
#[derive(Debug, Default)]
pub(crate) struct Guests {
    programs: Sessions<Program>,
    sockets: Sessions<Guest>,
    /// UDP sockets, by their ports.
    udp: BTreeMap<u16, Vec<Handle>>,
    numbers: u64,
    /// Those that wait until the layers have taken what was asked.
    pub(super) takers: Wakers,
}

/// A guest's handle, as the layers know it.
const fn marked(handle: Handle) -> Handle {
    Handle { index: handle.index | GUEST, ..handle }
}

/// And as it is kept.
const fn plain(handle: Handle) -> Handle {
    Handle { index: handle.index & !GUEST, ..handle }
}

/// Whether it is a guest's.
pub(super) const fn is_guest(handle: Handle) -> bool {
    handle.index & GUEST != 0
}

impl Guests {
    fn get(&mut self, handle: Handle) -> Option<&mut Guest> {
        self.sockets.get(plain(handle))
    }

    /// The one that `program` calls so.
    fn of(&mut self, program: Handle, handle: Handle) -> Option<&mut Guest> {
        self.get(handle).filter(|guest| guest.program == Some(program))
    }

    fn insert(&mut self, guest: Guest) -> Handle {
        let (program, udp) = (guest.program, guest.local.filter(|_| guest.what == GuestKind::Datagrams));
        let handle = marked(self.sockets.insert(guest));
        if let Some(program) = program.and_then(|it| self.programs.get(it)) {
            program.sockets.insert(handle);
        }
        if let Some(local) = udp {
            self.udp.entry(local.port()).or_default().push(handle);
        }
        handle
    }

    /// All programs are to be told what is on the lines; once, however often that changes before they hear it.
    pub(super) fn have_other_lines(&mut self, effects: &mut Effects) {
        for handle in self.programs.handles() {
            if let Some(program) = self.programs.get(handle) {
                program.has_old_lines = true;
                if let Some(waker) = program.waker.take() {
                    effects.woken.push(waker);
                }
            }
        }
    }

    fn remove(&mut self, handle: Handle) -> Option<Guest> {
        let guest = self.sockets.remove(plain(handle))?;
        if let Some(program) = guest.program.and_then(|it| self.programs.get(it)) {
            program.sockets.remove(&handle);
            let name = (guest.layer, guest.user);
            if program.names.get(&name) == Some(&handle) {
                program.names.remove(&name);
            }
        }
        if let Some(local) = guest.local
            && let Some(all) = self.udp.get_mut(&local.port())
        {
            all.retain(|it| *it != handle);
            if all.is_empty() {
                self.udp.remove(&local.port());
            }
        }
        Some(guest)
    }
}

impl Table {
    /// A program has come: its name here.
    pub(crate) fn attach(&mut self, share: Share) -> Handle {
        self.guests.programs.insert(Program {
            share,
            outbox: VecDeque::new(),
            held: 0,
            waker: None,
            sockets: BTreeSet::new(),
            names: BTreeMap::new(),
            ports: BTreeMap::new(),
            groups: BTreeSet::new(),
            has_old_lines: false,
        })
    }

    /// How many programs there are, and how many sockets they have or have left behind.
    pub(crate) fn guest_counts(&self) -> (usize, usize) {
        (self.guests.programs.len(), self.guests.sockets.len())
    }

    /// What a program must know of the host, whose rings have so many words, and who may have so many sockets.
    pub(crate) fn hello(&self, capacity: usize, sockets: usize) -> Hello {
        Hello {
            capacity,
            sockets,
            layers: [0, 1, 2, 3].map(|layer| self.layer(layer).is_some()),
            receive_buffer: self.layers.receive_buffer,
            coalesce: self.layers.coalesce,
            knows_ways: self.knows_ways,
            lines: self.lines.clone(),
        }
    }

    /// What waits for programs outside their rings, in octets of memory.
    #[cfg(test)]
    pub(crate) fn guest_memory(&mut self) -> usize {
        let all = self.guests.programs.handles();
        all.into_iter().filter_map(|it| self.guests.programs.get(it).map(|it| it.held)).sum()
    }

    /// The layer of this number, if the host has it.
    const fn layer(&self, layer: Layer) -> Option<Below> {
        match layer {
            0 => self.layers.tcp,
            1 => self.layers.udp,
            2 => self.layers.tcp_v6,
            3 => self.layers.udp_v6,
            _ => None,
        }
    }

    /// `waker` is woken when there is something to tell the program. False: the host is gone, or has never heard of it.
    pub(crate) fn wait_to_tell(&mut self, program: Handle, waker: &Waker) -> bool {
        let is_down = self.is_down;
        let Some(program) = self.guests.programs.get(program) else {
            return false;
        };
        program.waker = Some(waker.clone());
        !is_down
    }

    /// Whether the program may be heard; `waker` is woken when it may be again, of what the layers have to take, and by
    /// what it takes itself.
    pub(crate) fn may_be_heard(&mut self, program: Handle, waker: &Waker) -> bool {
        if self.effects.requests.len() >= MOST_REQUESTS {
            self.guests.takers.register(waker, &mut self.effects.woken);
            return false;
        }
        self.guests.programs.get(program).is_some_and(|it| it.outbox.len() < MOST_RESPONSES)
    }

    /// The next that is to be told.
    pub(crate) fn next_response(&mut self, program: Handle) -> Option<Response> {
        let program = self.guests.programs.get(program)?;
        // Ahead of all that follows from it.
        if core::mem::take(&mut program.has_old_lines) {
            return Some(Response::lines(&self.lines));
        }
        let response = program.outbox.pop_front()?;
        program.held = program.held.saturating_sub(response.cost());
        Some(response)
    }
}

/// What a program may ask of a session.
fn within_bounds(quality: Quality) -> Quality {
    let bounded = |octets: Option<u32>| octets.map(|it| it.min(MOST_BUFFER));
    Quality { send_buffer: bounded(quality.send_buffer), receive_buffer: bounded(quality.receive_buffer), ..quality }
}
