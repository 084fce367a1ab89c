//! A connection, as its socket has it: what has come, what may go, and who waits.

use core::net::SocketAddr;
use core::task::Waker;
use core::time::Duration;
use std::collections::VecDeque;
use std::io;

use kumiki_graph::memory::Budget;
use kumiki_graph::{Below, Credit, Handle, Manage, Quality, Reason, Request};
use kumiki_octets::Message;

use super::error;
use super::ports::Bound;
use super::table::Layers;
use super::wakers::{WakeList, Wakers};

/// At most so many octets are handed to TCP at once.
const PIECE: usize = 256 * 1024;

/// Room that the user has made is told to TCP when it is so much, or a part of the buffer ([`SHARE`]), or with what is
/// written next.
const WORTH_TELLING: u64 = 16 * 1024;
const SHARE: u64 = 8;

/// What goes to the layer below, and who is to be woken.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) requests: VecDeque<(Below, Request)>,
    pub(crate) woken: WakeList,
    /// What all that waits to be read counts towards.
    pub(crate) budget: Option<Budget>,
    /// Among the requests is more than credit that can wait.
    pub(crate) is_pressing: bool,
    /// What waits here waits for room on its way to the layers: streams take no more, for what was written is to arrive
    /// whatever becomes of the process.
    is_stuffed: bool,
    unstuffed: Wakers,
}

impl Effects {
    /// A datagram that costs so many octets of memory is kept; false where there is no room for it.
    pub(crate) fn hold(&self, octets: usize) -> bool {
        self.budget.as_ref().is_none_or(|it| it.hold(octets as u64))
    }

    /// Whether the requests wait for room on their way.
    #[cfg(all(feature = "host", target_os = "linux"))]
    pub(crate) fn set_stuffed(&mut self, is_stuffed: bool) {
        self.is_stuffed = is_stuffed;
        if !is_stuffed {
            self.unstuffed.wake(&mut self.woken);
        }
    }

    /// It is not any longer.
    pub(crate) fn release(&self, octets: usize) {
        if let Some(budget) = &self.budget {
            budget.release(octets as u64);
        }
    }
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// We have called, and wait for the answer.
    Calling,
    Open,
    /// TCP has forgotten it.
    Ended,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) below: Below,
    /// TCP's handle; the default before it is known.
    pub(crate) provider: Handle,
    pub(crate) phase: Phase,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// The local address that is to be given back, where it was taken for this connection alone: few have one.
    pub(crate) bound: Option<Box<Bound>>,
    /// Both addresses are of IPv4 and shown as addresses of IPv6.
    pub(crate) mapped: bool,
    pub(crate) quality: Quality,
    /// TCP's receive buffer where the quality names none, in octets.
    receive_buffer: u32,
    /// TCP is told of all that was taken, and so much of it can wait.
    hears_all: bool,
    told: u64,
    /// As was asked; zero: closing resets.
    pub(crate) linger: Option<Duration>,
    pub(crate) quick_ack: bool,
    /// The listener where it waits to be accepted.
    pub(crate) listener: Option<Handle>,
    /// Nobody has its socket any more.
    pub(crate) orphan: bool,
    /// Octets that may be written.
    credit: u64,
    written: u64,
    received: VecDeque<Message>,
    unread: usize,
    /// Octets taken of which TCP has not been told.
    taken: u64,
    /// The peer sends no more.
    pub(crate) released_by_peer: bool,
    /// We send no more.
    pub(crate) released: bool,
    /// We read no more.
    pub(crate) is_read_shut: bool,
    /// What has ended it, as long as nobody has been told.
    error: Option<io::Error>,
    /// It has not ended in order.
    pub(crate) has_failed: bool,
    pub(crate) readers: Wakers,
    pub(crate) writers: Wakers,
}

impl Stream {
    /// One at `layers`.
    pub(crate) fn new(
        below: Below,
        (local, remote): (SocketAddr, SocketAddr),
        quality: Quality,
        layers: &Layers,
    ) -> Self {
        Self {
            below,
            receive_buffer: layers.receive_buffer,
            hears_all: layers.hears_all,
            told: 0,
            provider: Handle::default(),
            phase: Phase::Calling,
            local,
            remote,
            bound: None,
            mapped: false,
            quality,
            linger: None,
            // As in Linux: until it is seen that the connection is one of questions and answers.
            quick_ack: true,
            listener: None,
            orphan: false,
            credit: 0,
            written: 0,
            received: VecDeque::new(),
            unread: 0,
            taken: 0,
            released_by_peer: false,
            released: false,
            is_read_shut: false,
            error: None,
            has_failed: false,
            readers: Wakers::default(),
            writers: Wakers::default(),
        }
    }

    /// Octets that have come and were not read.
    pub(crate) const fn unread(&self) -> usize {
        self.unread
    }

    fn ask(&self, request: Request, effects: &mut Effects) {
        if self.phase != Phase::Ended {
            effects.requests.push_back((self.below, request));
        }
    }

    // What TCP says.

    pub(crate) fn opened(&mut self, provider: Handle, effects: &mut Effects) {
        self.provider = provider;
        self.phase = Phase::Open;
        self.writers.wake(&mut effects.woken);
    }

    pub(crate) fn may_send(&mut self, octets: u64, effects: &mut Effects) {
        self.credit = self.credit.saturating_add(octets);
        self.writers.wake(&mut effects.woken);
    }

    pub(crate) fn arrived(&mut self, data: Message, effects: &mut Effects) {
        let octets = data.len();
        // Linux does the same where neither is left to its user.
        if self.orphan || (self.is_read_shut && self.released) {
            // What will never be read was not delivered, and the peer must know (RFC 9293, SHLD-3).
            self.abort(effects);
        } else if self.is_read_shut {
            self.took(octets as u64, effects);
        } else if octets > 0 {
            self.unread += octets;
            self.received.push_back(data);
            self.readers.wake(&mut effects.woken);
        }
    }

    pub(crate) fn released_by_peer(&mut self, effects: &mut Effects) {
        self.released_by_peer = true;
        self.readers.wake(&mut effects.woken);
    }

    /// It is over: in order, or for a reason.
    pub(crate) fn ended(&mut self, reason: Option<Reason>, effects: &mut Effects) {
        let was_calling = core::mem::replace(&mut self.phase, Phase::Ended) == Phase::Calling;
        self.credit = 0;
        self.has_failed = reason.is_some();
        // Who had ended its direction had no use for what we wrote since, as Linux says it.
        let was_told = self.released_by_peer && !self.released;
        self.error = reason.map(|reason| {
            if was_told && matches!(reason, Reason::Reset) {
                io::ErrorKind::BrokenPipe.into()
            } else if was_calling {
                error::of_call(&reason)
            } else {
                error::of_reason(&reason)
            }
        });
        self.readers.wake(&mut effects.woken);
        self.writers.wake(&mut effects.woken);
    }

    /// Its host is gone, as `error` says.
    pub(crate) fn lose_host(&mut self, error: io::Error, effects: &mut Effects) {
        self.ended(Some(Reason::Down), effects);
        self.error = Some(error);
    }

    // What its user does.

    /// What a read finds: `None` where it must wait.
    fn readable(&mut self) -> Option<io::Result<()>> {
        if self.unread > 0 || self.is_read_shut {
            return Some(Ok(()));
        }
        if self.phase == Phase::Calling {
            return None;
        }
        if self.released_by_peer && !self.is_host_gone() {
            return Some(Ok(()));
        }
        if let Some(error) = self.take_error() {
            return Some(Err(error));
        }
        (self.phase == Phase::Ended).then_some(Ok(()))
    }

    /// Whether a read would not wait, without an effect.
    pub(crate) const fn is_readable(&self) -> bool {
        match self.phase {
            Phase::Calling => false,
            Phase::Open => self.unread > 0 || self.is_read_shut || self.released_by_peer,
            Phase::Ended => true,
        }
    }

    /// Whether a write would not wait.
    pub(crate) const fn is_writable(&self, effects: &Effects) -> bool {
        match self.phase {
            Phase::Calling => false,
            Phase::Open => (self.credit > 0 && !effects.is_stuffed) || self.released,
            Phase::Ended => true,
        }
    }

    /// Whether all that will ever come has been read.
    pub(crate) const fn is_read_closed(&self) -> bool {
        self.released_by_peer || self.is_read_shut || matches!(self.phase, Phase::Ended)
    }

    /// Whether nothing can be written any more.
    pub(crate) const fn is_write_closed(&self) -> bool {
        self.released || matches!(self.phase, Phase::Ended)
    }

    /// Reads into `fill`, which takes octets and says how many of them; or only looks. `WouldBlock` where there is
    /// nothing.
    pub(crate) fn read(
        &mut self,
        is_peek: bool,
        mut fill: impl FnMut(&[u8]) -> usize,
        effects: &mut Effects,
    ) -> io::Result<usize> {
        match self.readable() {
            None => return Err(io::ErrorKind::WouldBlock.into()),
            Some(found) => found?,
        }
        let mut total = 0;
        for message in &self.received {
            let mut is_full = false;
            message.for_each(|octets| {
                if !is_full {
                    let filled = fill(octets);
                    total += filled;
                    is_full = filled < octets.len();
                }
            });
            if is_full {
                break;
            }
        }
        if !is_peek && total > 0 {
            self.discard(total);
            self.took(total as u64, effects);
        }
        Ok(total)
    }

    /// Forgets the first `octets` of what has come.
    fn discard(&mut self, octets: usize) {
        self.unread = self.unread.saturating_sub(octets);
        let mut left = octets;
        while let Some(first) = self.received.front_mut() {
            if first.len() > left {
                let _ = first.pop(left);
                return;
            }
            left -= first.len();
            self.received.pop_front();
        }
    }

    /// The user has taken so many octets: TCP is told when it matters.
    fn took(&mut self, octets: u64, effects: &mut Effects) {
        self.taken += octets;
        let buffer = self.quality.receive_buffer.unwrap_or(self.receive_buffer);
        let worth_telling = (u64::from(buffer) / SHARE).clamp(1, WORTH_TELLING);
        if self.hears_all {
            self.told += self.taken;
            self.tell_taken(effects);
            effects.is_pressing |= self.told >= worth_telling;
            self.told %= worth_telling;
        } else if self.taken >= worth_telling {
            self.tell_taken(effects);
        }
    }

    fn tell_taken(&mut self, effects: &mut Effects) {
        let octets = core::mem::take(&mut self.taken);
        if octets > 0 {
            let credit = Credit::octets(octets);
            self.ask(Request::Credit { session: self.provider, credit }, effects);
        }
    }

    /// Hands over as much of `pieces` as there is room for. `WouldBlock` where there is none.
    pub(crate) fn write<'a>(
        &mut self,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        effects: &mut Effects,
    ) -> io::Result<usize> {
        if self.phase == Phase::Calling {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        if self.is_write_closed() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut pieces = pieces.into_iter().filter(|it| !it.is_empty()).peekable();
        if pieces.peek().is_none() {
            return Ok(0);
        }
        let room = usize::try_from(self.credit).unwrap_or(usize::MAX).min(PIECE);
        if room == 0 || effects.is_stuffed {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut data = Message::new();
        while let Some(piece) = pieces.next()
            && data.len() < room
        {
            let octets = piece.get(..room - data.len()).unwrap_or(piece);
            if data.is_empty() {
                data = Message::from_octets(octets);
            } else {
                data.append_octets(octets);
            }
        }
        let octets = data.len();
        self.credit -= octets as u64;
        self.written += octets as u64;
        self.tell_taken(effects);
        self.ask(Request::Data { session: self.provider, data, end: true }, effects);
        Ok(octets)
    }

    /// Sends no more; what was written still goes. What has ended has ended, and tokio says no more of it either.
    pub(crate) fn shut_write(&mut self, effects: &mut Effects) {
        if self.phase == Phase::Open && !core::mem::replace(&mut self.released, true) {
            self.ask(Request::Release { session: self.provider, data: None }, effects);
            self.writers.wake(&mut effects.woken);
        }
    }

    /// Reads no more: the end is told, behind what came before.
    #[cfg(feature = "host")]
    pub(crate) fn shut_read(&mut self, effects: &mut Effects) {
        self.is_read_shut = true;
        self.readers.wake(&mut effects.woken);
    }

    /// Changes what was asked for when it was opened.
    pub(crate) fn set(&mut self, change: impl FnOnce(&mut Quality), effects: &mut Effects) {
        change(&mut self.quality);
        if self.phase == Phase::Open {
            let (session, quality) = (self.provider, self.quality);
            self.ask(Request::Manage(Box::new(Manage::Session { session, quality })), effects);
        }
    }

    fn abort(&mut self, effects: &mut Effects) {
        let (session, reason) = (self.provider, Reason::User);
        self.ask(Request::Abort { session, reason, data: None }, effects);
        self.phase = Phase::Ended;
    }

    /// Nobody has the socket any more. True where TCP needs nothing of us after this.
    pub(crate) fn close(&mut self, user: Handle, effects: &mut Effects) -> bool {
        self.orphan = true;
        match self.phase {
            Phase::Ended => {}
            Phase::Calling => {
                self.ask(Request::Cancel { user }, effects);
                self.phase = Phase::Ended;
            }
            // As for an orphan, above; and zero is how a user asks for a reset.
            Phase::Open if self.unread > 0 || self.linger == Some(Duration::ZERO) => self.abort(effects),
            Phase::Open => {
                // Its FIN-WAIT-2 ends by itself.
                self.set(|it| it.half_close = Some(false), effects);
                if !core::mem::replace(&mut self.released, true) {
                    self.ask(Request::Release { session: self.provider, data: None }, effects);
                }
            }
        }
        self.received.clear();
        self.phase == Phase::Ended
    }

    /// Ends it at once: its peer is told by a reset.
    pub(crate) fn reset(&mut self, effects: &mut Effects) {
        if self.phase == Phase::Open {
            self.abort(effects);
        }
    }

    /// Whether its host has crashed, or its network is no more.
    fn is_host_gone(&self) -> bool {
        self.error.as_ref().is_some_and(|it| it.kind() == io::ErrorKind::NetworkDown)
    }

    /// What has ended it, for whoever asks first (`SO_ERROR`). That its host is gone is told to all: nobody is to take
    /// that for the end of what the peer has sent.
    pub(crate) fn take_error(&mut self) -> Option<io::Error> {
        if self.is_host_gone() {
            return self.error.as_ref().map(error::again);
        }
        self.error.take()
    }

    pub(crate) fn wait_to_read(&mut self, waker: &Waker, effects: &mut Effects) {
        self.readers.register(waker, &mut effects.woken);
    }

    pub(crate) fn wait_to_write(&mut self, waker: &Waker, effects: &mut Effects) {
        self.writers.register(waker, &mut effects.woken);
        if effects.is_stuffed {
            effects.unstuffed.register(waker, &mut effects.woken);
        }
    }
}
