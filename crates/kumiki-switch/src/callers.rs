//! The connections of XOT that others make: who of them is taken, and for how long ([`kumiki_io::admission`]).
//!
//! A caller is known when a call of its stands; the end of a permanent circuit, which the configuration names, has no
//! place at all. One that is not known has so much time, and less as places fill. [`Door`] is the device of a port, and
//! sees connections come and go; whoever runs the switch says what became of calls ([`Callers::called`],
//! [`Callers::know`]) and has time pass ([`Callers::look`]).

use core::fmt;
use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::{Address, Duration, Handle, Indication, Instant, Reason, Request, Rng};
use kumiki_io::admission::{Admission, LimitReached, Limits, Places, Step};
use kumiki_io::{Arrival, Clock, Descriptors, RealDevice, Sent};
use kumiki_octets::Message;

use super::config::Port;
use kumiki_live::Network;
use kumiki_live::throttle::Kind;

/// So many callers are looked at in one pass at most, when all of them are refused.
const AT_ONCE: usize = 64;

/// Why a connection was let go, or has gone, before a call of its stood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallerEnd {
    /// The peer has gone.
    Left,
    /// What it said is no call over XOT.
    Foreign,
    /// No call came in time.
    Late,
    /// Another caller has its place.
    Room,
    /// There are too many.
    Full(LimitReached),
    /// It may not call.
    Barred,
}

impl fmt::Display for CallerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left => f.write_str("hung up before a call came"),
            Self::Foreign => f.write_str("did not speak XOT"),
            Self::Late => f.write_str("no call came in time"),
            Self::Room => f.write_str("made room for another caller"),
            Self::Full(full) => write!(f, "dropped, for {full}"),
            Self::Barred => f.write_str("turned away, for it is not in peers"),
        }
    }
}

impl CallerEnd {
    const fn kind(self) -> Kind {
        match self {
            Self::Full(_) | Self::Barred => Kind::Dropped,
            Self::Left | Self::Foreign | Self::Late | Self::Room => Kind::Unknown,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Caller {
    port: usize,
    remote: SocketAddr,
    since: Instant,
    /// A call has come by it, of which the log says what became.
    has_called: bool,
    /// That is not decided yet: how long that takes is not the caller's doing.
    is_calling: bool,
    is_known: bool,
    is_leaving: bool,
}

#[derive(Debug)]
struct State {
    places: Places,
    begin: Duration,
    ports: Vec<String>,
    numbered: u64,
    callers: BTreeMap<u64, Caller>,
    /// Those that are to be let go by the door of their port, and why.
    leaving: Vec<(u64, CallerEnd)>,
    /// Those that have gone since the last look, and why.
    gone: Vec<(Caller, CallerEnd)>,
    /// How many were not taken.
    turned_away: u64,
}

/// The callers of all ports.
#[derive(Clone, Debug)]
pub(super) struct Callers(Arc<Mutex<State>>);

impl Callers {
    /// None yet. A caller may take so long to be known where nobody else comes.
    pub(super) fn new(limits: Limits, begin: Duration, rng: Rng) -> Self {
        Self(Arc::new(Mutex::new(State {
            places: Places::new(limits, rng),
            begin,
            ports: Vec::new(),
            numbered: 0,
            callers: BTreeMap::new(),
            leaving: Vec::new(),
            gone: Vec::new(),
            turned_away: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device of a port, on the one that takes its connections.
    pub(super) fn door<D, C>(&self, port: &Port, inner: D, clock: C) -> Door<D, C> {
        let mut state = self.state();
        state.ports.push(port.name.clone());
        Door {
            inner,
            clock,
            callers: self.clone(),
            port: state.ports.len() - 1,
            peers: port.peers().map(<[Network]>::to_vec),
            numbers: BTreeMap::new(),
            users: BTreeMap::new(),
            told: VecDeque::new(),
        }
    }

    /// How many connections were not taken.
    pub(super) fn turned_away(&self) -> u64 {
        self.state().turned_away
    }

    /// A call has come by a connection.
    pub(super) fn called(&self, port: &str, remote: SocketAddr, now: Instant) {
        self.state().with(port, remote, |places, number, caller| {
            places.advance(number, Step::Asked, now);
            (caller.has_called, caller.is_calling) = (true, true);
        });
    }

    /// It was refused.
    pub(super) fn refused(&self, port: &str, remote: SocketAddr, now: Instant) {
        self.state().with(port, remote, |places, number, caller| {
            places.advance(number, Step::Over, now);
            caller.is_calling = false;
        });
    }

    /// A call stands that has come by a connection.
    ///
    /// # Errors
    /// There are too many, of which it is to be cleared.
    pub(super) fn know(&self, port: &str, remote: SocketAddr) -> Result<(), LimitReached> {
        let known = self.state().with(port, remote, |places, number, caller| {
            let known = places.know(number);
            (caller.is_known, caller.is_calling) = (known.is_ok(), false);
            known
        });
        known.unwrap_or(Ok(()))
    }

    /// A connection carries a permanent circuit, which takes nobody's place.
    pub(super) fn excuse(&self, port: &str, remote: SocketAddr) {
        self.state().with(port, remote, |places, number, caller| {
            places.excuse(number);
            (caller.has_called, caller.is_known) = (true, true);
        });
    }

    /// Has those go that have had their time. What is to be told of those who have gone: of what kind, and the line.
    pub(super) fn look(&self, now: Instant) -> Vec<(Kind, String)> {
        let mut state = self.state();
        let begin = state.places.begin(state.begin);
        let is_late = |it: &Caller| {
            let waits = it.is_known || it.is_calling || it.is_leaving;
            !waits && now >= it.since + begin
        };
        let all = state.callers.iter().filter(|(_, it)| is_late(it));
        let late: Vec<u64> = all.map(|(number, _)| *number).collect();
        late.into_iter().for_each(|number| state.let_go(number, CallerEnd::Late));
        let gone = core::mem::take(&mut state.gone);
        let untold = gone.into_iter().filter(|(it, _)| !it.has_called);
        let lines = untold.map(|(caller, why)| {
            let port = state.ports.get(caller.port).map_or("", String::as_str);
            (why.kind(), format!("{port}: {}: {why}", caller.remote))
        });
        lines.collect()
    }
}

impl State {
    /// The connection of a port that has come from there.
    fn with<T>(
        &mut self,
        port: &str,
        remote: SocketAddr,
        act: impl FnOnce(&mut Places, u64, &mut Caller) -> T,
    ) -> Option<T> {
        let port = self.ports.iter().position(|it| it == port)?;
        // Of two with one address the one that came last is there.
        let mut all = self.callers.iter_mut().rev();
        let found = all.find(|(_, it)| it.port == port && it.remote == remote);
        let (number, caller) = found?;
        Some(act(&mut self.places, *number, caller))
    }

    /// Whether a caller is taken, and its number then.
    fn enter(&mut self, port: usize, remote: SocketAddr, is_barred: bool, now: Instant) -> Option<u64> {
        self.numbered += 1;
        let number = self.numbered;
        let caller = Caller {
            port,
            remote,
            since: now,
            has_called: false,
            is_calling: false,
            is_known: false,
            is_leaving: false,
        };
        let why = if is_barred {
            CallerEnd::Barred
        } else {
            match self.places.enter(number, remote.ip(), now) {
                Admission::Taken(instead) => {
                    if let Some(other) = instead {
                        self.let_go(other, CallerEnd::Room);
                    }
                    self.callers.insert(number, caller);
                    return Some(number);
                }
                Admission::Refused(full) => CallerEnd::Full(full),
            }
        };
        self.turned_away += 1;
        self.gone.push((caller, why));
        None
    }

    fn let_go(&mut self, number: u64, why: CallerEnd) {
        if let Some(caller) = self.callers.get_mut(&number)
            && !core::mem::replace(&mut caller.is_leaving, true)
        {
            self.leaving.push((number, why));
        }
    }

    /// Who is to be let go by the door of a port.
    fn leaving(&mut self, port: usize) -> Vec<(u64, CallerEnd)> {
        if self.leaving.is_empty() {
            return Vec::new();
        }
        let callers = &self.callers;
        let is_here = |(number, _): &(u64, CallerEnd)| {
            let caller = callers.get(number);
            caller.is_none_or(|it| it.port == port)
        };
        let (here, elsewhere): (Vec<_>, Vec<_>) = self.leaving.drain(..).partition(is_here);
        self.leaving = elsewhere;
        here
    }

    fn leave(&mut self, number: u64, why: CallerEnd) {
        self.places.leave(number);
        if let Some(caller) = self.callers.remove(&number) {
            self.gone.push((caller, why));
        }
    }
}

/// The device of a port: connections that were not taken, or are let go, are reset, and the layers above do not see
/// them, or see them end.
#[derive(Debug)]
pub(super) struct Door<D, C> {
    inner: D,
    clock: C,
    callers: Callers,
    port: usize,
    /// Who may call; all, unless it says.
    peers: Option<Vec<Network>>,
    /// Of each connection that others have made, by the device's handle: its number, the handle of who has it, and
    /// whether it has spoken.
    numbers: BTreeMap<Handle, (u64, Handle, bool)>,
    /// The device's handles, by those of who has them.
    users: BTreeMap<Handle, Handle>,
    told: VecDeque<Indication>,
}

impl<D: RealDevice, C: Clock> Door<D, C> {
    fn abort(&mut self, session: Handle) -> io::Result<()> {
        let (reason, data) = (Reason::NoResources, None);
        self.inner.request(Request::Abort { session, reason, data })
    }

    /// Resets those that are let go.
    fn let_go(&mut self) -> io::Result<()> {
        let leaving = self.callers.state().leaving(self.port);
        for (number, why) in leaving {
            let found = self.numbers.iter().find(|(_, it)| it.0 == number);
            let Some((lower, session)) = found.map(|(lower, it)| (*lower, it.1)) else {
                continue;
            };
            self.gone(lower, why);
            self.abort(lower)?;
            let (reason, data) = (Reason::NoResources, None);
            self.told.push_back(Indication::Aborted { session, reason, data });
        }
        Ok(())
    }

    fn gone(&mut self, lower: Handle, why: CallerEnd) {
        if let Some((number, user, _)) = self.numbers.remove(&lower) {
            self.users.remove(&user);
            self.callers.state().leave(number, why);
        }
    }

    /// Whether the layers above are to see it.
    fn sees(&mut self, told: &Indication) -> io::Result<bool> {
        if let Indication::Offered(offered) = told {
            let Some(remote) = offered.remote.socket() else {
                return Ok(true);
            };
            let now = self.clock.now();
            let is_barred = self.peers.as_ref().is_some_and(|all| !all.iter().any(|it| it.contains(remote.ip())));
            let taken = self.callers.state().enter(self.port, remote, is_barred, now);
            let Some(number) = taken else {
                self.abort(offered.provider)?;
                return Ok(false);
            };
            let entry = (number, Handle::default(), false);
            self.numbers.insert(offered.provider, entry);
            // Whoever has lost its place for this one goes before it is seen.
            self.let_go()?;
        } else if let Indication::Data { session, .. } = told {
            let lower = self.users.get(session).copied();
            let entry = lower.and_then(|lower| self.numbers.get_mut(&lower));
            if let Some((number, _, has_spoken)) = entry
                && !core::mem::replace(has_spoken, true)
            {
                let now = self.clock.now();
                self.callers.state().places.advance(*number, Step::Spoke, now);
            }
        } else if let Indication::Aborted { session, .. }
        | Indication::Released { session, .. }
        | Indication::Closed { session } = told
            && let Some(lower) = self.users.get(session).copied()
        {
            self.gone(lower, CallerEnd::Left);
        }
        Ok(true)
    }
}

impl<D: RealDevice, C: Clock> RealDevice for Door<D, C> {
    fn descriptors(&self) -> Descriptors<'_> {
        self.inner.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        self.let_go()?;
        // Those who are refused are many at times, and others wait.
        for _ in 0..AT_ONCE {
            if let Some(told) = self.told.pop_front() {
                return Ok(Some(Arrival::Told(told)));
            }
            match self.inner.receive()? {
                Some(Arrival::Told(told)) => {
                    if self.sees(&told)? {
                        self.told.push_back(told);
                    }
                }
                other => return Ok(other),
            }
        }
        Ok(None)
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        self.inner.send(packet, to)
    }

    fn request(&mut self, request: Request) -> io::Result<()> {
        if let Request::Accept(accept) = &request {
            if let Some((_, user, _)) = self.numbers.get_mut(&accept.session) {
                *user = accept.user;
                self.users.insert(accept.user, accept.session);
            }
        } else if let Request::Abort { session, .. } | Request::Release { session, .. } = &request {
            // What the layers above end was no call, or its call is over.
            self.gone(*session, CallerEnd::Foreign);
        }
        self.inner.request(request)
    }

    fn grant(&mut self, octets: u64) {
        self.inner.grant(octets);
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.inner.flush()
    }
}
