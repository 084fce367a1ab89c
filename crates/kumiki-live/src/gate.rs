//! Who is let in, asked by the threads of all associations and calls: places and tries ([`kumiki_io::admission`]), with
//! the clock and the waiting that they leave out.

use core::net::IpAddr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use kumiki_graph::{Duration, Rng};
use kumiki_io::admission::{Admission, LimitReached, Limits, LoginReply, Places, Step, Ticket, Tries};
use kumiki_io::{Clock as _, RealClock, unguessable};

/// How long a password waits until it may be looked at, where that is to be expected; then its connection is closed.
const PASSWORD_TIMEOUT: Duration = Duration::from_secs(3);

/// The tries, and how many passwords are being looked at, each of which may be given back.
struct PasswordChecks {
    tries: Tries,
    in_progress: usize,
}

/// The callers of a server.
pub struct Gate {
    clock: RealClock,
    places: Mutex<Places>,
    /// None where no passwords are looked at.
    looks: Option<Mutex<PasswordChecks>>,
    /// A try has been given back, or nobody is to wait any more.
    changed: Condvar,
    is_over: AtomicBool,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gate {
    /// With so many answers to wrong passwords a minute, where passwords are looked at.
    ///
    /// # Errors
    /// There is no random number.
    pub fn new(limits: Limits, tries: Option<u32>, clock: RealClock) -> io::Result<Self> {
        let seed = unguessable()?;
        let looks = tries.map(|a_minute| {
            let tries = Tries::new(a_minute, Rng::new(seed, 1));
            let in_progress = 0;
            Mutex::new(PasswordChecks { tries, in_progress })
        });
        Ok(Self {
            clock,
            places: Mutex::new(Places::new(limits, Rng::new(seed, 0))),
            looks,
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
        })
    }

    /// A caller comes; see [`Places::enter`].
    pub fn enter(&self, number: u64, address: IpAddr) -> Admission {
        let now = self.clock.now();
        lock(&self.places).enter(number, address, now)
    }

    /// It has got further; see [`Places::advance`].
    pub fn advance(&self, number: u64, step: Step) {
        let now = self.clock.now();
        lock(&self.places).advance(number, step, now);
    }

    /// It has gone; see [`Places::leave`].
    pub fn leave(&self, number: u64) {
        lock(&self.places).leave(number);
    }

    /// It cannot be served, for this machine has no room.
    pub fn excuse(&self, number: u64) {
        lock(&self.places).excuse(number);
    }

    /// How many are known.
    pub fn known(&self) -> usize {
        lock(&self.places).known()
    }

    /// Within which time a caller is to have its association.
    pub fn begin(&self, begin: Duration) -> Duration {
        lock(&self.places).begin(begin)
    }

    /// Nobody waits from here on.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.stir();
    }

    /// Somebody has lost its place, and is not to wait any more.
    pub fn stir(&self) {
        if let Some(looks) = &self.looks {
            // Whoever was about to wait does so by now.
            drop(lock(looks));
        }
        self.changed.notify_all();
    }

    /// A look at this password, when there is one soon enough.
    fn ticket(&self, looks: &Mutex<PasswordChecks>, turnstile: &GateEntry, name: &[u8]) -> Option<Ticket> {
        let until = self.clock.now() + PASSWORD_TIMEOUT;
        let mut held = lock(looks);
        loop {
            let now = self.clock.now();
            let when = match held.tries.begin(turnstile.address, name, now) {
                Ok(ticket) => {
                    held.in_progress += 1;
                    return Some(ticket);
                }
                Err(when) => when,
            };
            let is_hopeless = when > until && held.in_progress == 0;
            let is_lost = self.is_over.load(Ordering::SeqCst) || turnstile.let_go.load(Ordering::SeqCst);
            if is_hopeless || is_lost || now >= until {
                return None;
            }
            let wait = when.min(until).saturating_since(now);
            let wait = std::time::Duration::from_nanos(wait.as_nanos());
            let woken = self.changed.wait_timeout(held, wait);
            held = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A look is over.
    fn looked(&self, looks: &Mutex<PasswordChecks>, act: impl FnOnce(&mut Tries)) {
        let mut held = lock(looks);
        held.in_progress = held.in_progress.saturating_sub(1);
        act(&mut held.tries);
        drop(held);
        self.changed.notify_all();
    }

    /// A caller is known; see [`Places::know`].
    pub fn know(&self, number: u64) -> Result<(), LimitReached> {
        lock(&self.places).know(number)
    }

    fn admit<T, E>(&self, number: u64, found: T) -> Result<T, LoginError<E>> {
        self.know(number).map(|()| found).map_err(LoginError::Full)
    }
}

/// Why a caller is not let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoginError<E> {
    /// What looked at its password says so.
    Refused(E),
    /// It is known, and there are too many.
    Full(LimitReached),
    /// Nobody could look at its password in time: too many wrong ones have come. It is to be told nothing.
    NotChecked,
}

/// The gate, for the store of one association.
pub struct GateEntry {
    /// The gate.
    pub gate: Arc<Gate>,
    /// The caller's number there.
    pub number: u64,
    /// Where the caller calls from.
    pub address: IpAddr,
    /// The peer is to hear nothing more.
    pub mute: Arc<AtomicBool>,
    /// Its password was not looked at.
    pub unlooked: Arc<AtomicBool>,
    /// Another caller has its place.
    pub let_go: Arc<AtomicBool>,
}

impl GateEntry {
    /// Has a password looked at when that may be, and makes whoever has the right one known.
    ///
    /// # Errors
    /// [`LoginError`]. Where nothing is to be said of it, the connection is mute.
    pub fn judge<T, E>(&self, name: &[u8], look: impl FnOnce() -> Result<T, E>) -> Result<T, LoginError<E>> {
        let gate = &self.gate;
        gate.advance(self.number, Step::Asked);
        let Some(looks) = &gate.looks else {
            let found = look().map_err(LoginError::Refused)?;
            return gate.admit(self.number, found);
        };
        let Some(ticket) = gate.ticket(looks, self, name) else {
            self.unlooked.store(true, Ordering::SeqCst);
            self.mute.store(true, Ordering::SeqCst);
            return Err(LoginError::NotChecked);
        };
        match look() {
            Ok(found) => {
                gate.looked(looks, |tries| tries.right(ticket, gate.clock.now()));
                gate.admit(self.number, found)
            }
            Err(fault) => {
                gate.looked(looks, |_| {});
                if ticket.wrong() == LoginReply::Unanswered {
                    self.mute.store(true, Ordering::SeqCst);
                }
                Err(LoginError::Refused(fault))
            }
        }
    }
}
