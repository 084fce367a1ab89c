//! What a segment and a user's request do, state by state: RFC 9293 section 3.10. The state chooses the function.

mod closing;
mod listen;
mod syn_received;
mod syn_sent;
mod synchronized;
mod time_wait;

pub(crate) use listen::Listener;

use kumiki_graph::Reason;

use super::segment::Segment;
use super::send::Fin;
use super::session::{Io, Session};

/// The states of RFC 9293 section 3.3.2. LISTEN is no state of a session: see [`Listener`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Closed,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

impl State {
    /// Both sides have agreed on sequence numbers.
    pub(crate) const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Closed | Self::SynSent)
    }

    /// The three-way handshake is not done.
    pub(crate) const fn is_before_established(self) -> bool {
        matches!(self, Self::SynSent | Self::SynReceived)
    }

    /// The user may send.
    pub(crate) const fn may_send(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait)
    }

    /// Data or a FIN may be under way.
    pub(crate) const fn may_transmit(self) -> bool {
        matches!(
            self,
            Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck
        )
    }

    /// The peer may send.
    pub(crate) const fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
}

impl Session {
    /// A segment for this connection arrived.
    pub(crate) fn on_segment(&mut self, segment: Segment, io: &mut Io<'_, '_>) {
        self.stirred = true;
        match self.state {
            State::Closed => {}
            State::SynSent => self.in_syn_sent(segment, io),
            State::SynReceived => self.in_syn_received(segment, io),
            State::Established | State::FinWait1 | State::FinWait2 | State::CloseWait => {
                self.in_data_transfer(segment, io);
            }
            State::Closing | State::LastAck => self.in_closing(&segment, io),
            State::TimeWait => self.in_time_wait(&segment, io),
        }
    }

    /// The user sends no more (RFC 9293 section 3.10.4).
    pub(crate) fn on_release(&mut self, io: &mut Io<'_, '_>) {
        match self.state {
            State::SynSent => {
                self.end(None, io);
                self.closed(io);
            }
            State::SynReceived | State::Established | State::CloseWait => {
                if self.send.fin != Fin::Open {
                    return;
                }
                self.send.fin = Fin::Queued;
                self.state = match self.state {
                    State::Established => State::FinWait1,
                    State::CloseWait => State::LastAck,
                    // The FIN goes when the connection is established.
                    other => other,
                };
                self.stirred = true;
            }
            State::Closed
            | State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck
            | State::TimeWait => {}
        }
    }

    /// The user ends at once (RFC 9293 section 3.10.5).
    pub(crate) fn on_abort(&mut self, io: &mut Io<'_, '_>) {
        self.reset(None, io);
    }

    /// The layer below says that the peer, or its port, cannot be reached.
    pub(crate) fn on_hard_error(&mut self, io: &mut Io<'_, '_>) {
        // SHLD-26 asks for an abort; RFC 5927 section 6.1 holds that against the ease of forging, and so do all current
        // stacks: once synchronized, only the time-out ends a connection.
        if self.state.is_before_established() {
            self.end(Some(Reason::Unreachable), io);
        }
    }
}
