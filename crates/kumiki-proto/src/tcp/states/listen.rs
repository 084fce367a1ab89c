//! LISTEN: RFC 9293 section 3.10.7.2.

use core::net::SocketAddr;

use kumiki_graph::{Above, Handle, Quality};
use kumiki_wire::tcp::Flags;

use super::State;
use crate::tcp::demux::Pair;
use crate::tcp::segment::Segment;
use crate::tcp::session::{Io, Session};

/// A passive open.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) above: Above,
    pub(crate) user: Handle,
    pub(crate) local: SocketAddr,
    /// The only one who may call, where the user named one.
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) quality: Quality,
    /// How many connections may wait here, unfinished or unaccepted.
    pub(crate) backlog: u32,
    pub(crate) waiting: u32,
}

/// What LISTEN does with a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Ignore,
    /// Reset the sender.
    Reset,
    /// Nothing, for lack of room.
    Full,
    /// Begin a connection.
    Begin,
}

impl Listener {
    pub(crate) fn judge(&self, pair: &Pair, segment: &Segment) -> Verdict {
        if segment.has(Flags::RST) {
            return Verdict::Ignore;
        }
        if segment.has(Flags::ACK) || self.remote.is_some_and(|remote| remote != pair.remote) {
            return Verdict::Reset;
        }
        if !segment.has(Flags::SYN) {
            return Verdict::Ignore;
        }
        if self.waiting >= self.backlog.max(1) {
            return Verdict::Full;
        }
        Verdict::Begin
    }
}

impl Session {
    /// A SYN called us: answers it and enters SYN-RECEIVED. Text with the SYN is left to be sent again.
    pub(crate) fn call_received(
        &mut self,
        listener: Handle,
        segment: &Segment,
        io: &mut Io<'_, '_>,
    ) {
        self.passive = true;
        self.listener = Some(listener);
        self.state = State::SynReceived;
        self.receive.start(segment.seq);
        self.negotiate(&segment.options, io);
        self.take_syn_window(segment);
        self.send_syn(io);
    }
}
