//! How contexts end, and what is left of them.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P14 (hold time), P31 to P34 |
//!
//! Each direction closes by itself: the writer says WCLOSE with its last octet and asks until the reader, who has all,
//! says RCLOSE. Whoever finds both directions closed says so with END, and a [`InactiveContext`] answers in its place
//! for the hold time, should the peer not have heard it.

use core::net::IpAddr;

use kumiki_graph::{Address, Indication, Reason};
use kumiki_octets::Message;
use kumiki_wire::xtp::{Control, Diagnosis, Format, Header, Key, Options, code, val};

use super::context::{Ctx, Endpoint, Exchange, HEADER};
use super::diagnosis;
use super::packet::{Arrived, Body, DataPrefix, Path, transmit};
use super::send::Writer;

/// Both directions closed in order.
const BOTH: Options = Options::RCLOSE.with(Options::WCLOSE);
/// Octets of a packet that says END.
const END: u64 = HEADER as u64 + 20;

/// What answers in the place of a context that is over.
#[derive(Debug)]
pub(crate) struct InactiveContext {
    /// The peer and its key: packets with that key come here.
    pub(crate) name: Option<(Address, Key)>,
    key: Key,
    path: Path,
    options: Options,
    /// What it was sent by or to.
    pub(crate) group: Option<IpAddr>,
    control: Control,
    seq: u64,
}

impl InactiveContext {
    /// A packet for the context that was: who asks is told that it is over.
    pub(crate) fn on_packet(&mut self, packet: &Arrived, ctx: &mut Ctx<'_, '_>) {
        let asks = packet.has(Options::SREQ) || packet.has(Options::DREQ);
        if !asks || packet.has(Options::END) || matches!(packet.body, Body::Diag(_)) {
            ctx.cx.drop("the context is over");
            return;
        }
        self.control.echo = packet.header.sync;
        // Who asks a transmitter is one of many.
        match packet.source.ip() {
            Some(one) if self.path.remote.is_multicast() => {
                let path = Path { remote: one, ..self.path };
                send_by(&path, self, ctx);
            }
            _ => send(self, ctx),
        }
    }
}

fn send(it: &InactiveContext, ctx: &mut Ctx<'_, '_>) {
    send_by(&it.path, it, ctx);
}

fn send_by(path: &Path, it: &InactiveContext, ctx: &mut Ctx<'_, '_>) {
    let header = Header {
        key: it.key,
        options: it.options.with(Options::END),
        format: Format::Cntl,
        seq: it.seq,
        ..Header::default()
    };
    let mut octets = [0; 20];
    it.control.emit(&mut octets);
    ctx.shared.counters.cntl_sent += 1;
    let front = DataPrefix::Octets(&octets);
    transmit(path, header, &front, Message::new(), ctx.cx);
}

impl Endpoint {
    /// What is left of the context.
    pub(crate) fn remains(&mut self) -> InactiveContext {
        InactiveContext {
            name: self.name(),
            key: self.key(),
            path: self.path,
            options: self.closing.with(self.part.options()),
            group: self.group(),
            control: Control { rseq: self.receive.rseq, alloc: self.receive.allow(), echo: self.answering.echo },
            seq: self.send.board.nxt(),
        }
    }

    /// Whether a peer may still ask: it has heard of us, and has not said that it is gone.
    pub(crate) fn leaves_remains(&self) -> bool {
        self.closing.contains(Options::END)
    }

    /// Says that this context is gone: in order with both closes, otherwise it is an abort.
    pub(crate) fn send_end(&mut self, closes: Options, ctx: &mut Ctx<'_, '_>) {
        self.closing = closes | Options::END;
        let remains = self.remains();
        // Who may not be there misses nothing.
        if self.may_send() >= END {
            self.allowance.on_sent(END);
            send(&remains, ctx);
        }
    }

    /// Says to one of many, by `path`, that for it this context is gone.
    pub(crate) fn send_end_to(&mut self, path: Path, ctx: &mut Ctx<'_, '_>) {
        let mut remains = self.remains();
        remains.options = self.part.options();
        send_by(&path, &remains, ctx);
    }

    /// Both directions are closed: the user is done with it (P33). A receiver of a group says so in its slot.
    pub(crate) fn finish_if_done(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.ended || self.part.is_receiver() || self.send.writer != Writer::Closed || !self.released {
            return;
        }
        self.finish(ctx);
    }

    pub(crate) fn finish(&mut self, ctx: &mut Ctx<'_, '_>) {
        self.send_end(BOTH, ctx);
        self.closed(ctx);
    }

    pub(crate) fn closed(&mut self, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.closed += 1;
        let session = self.user;
        self.up(Indication::Closed { session }, ctx);
        self.end(None, ctx);
    }

    /// END: the peer's context is gone.
    pub(crate) fn on_end(&mut self, options: Options, ctx: &mut Ctx<'_, '_>) {
        // Late packets are to find that it is over, and a late FIRST no listener.
        self.closing = options.without(Options::SREQ) | Options::END;
        if options.contains(BOTH) {
            self.take_whole_stream(ctx);
        }
        let in_order =
            options.contains(BOTH) && self.send.writer == Writer::Closed && self.read_closed && self.accepted;
        if in_order {
            self.release_if_complete(ctx);
            self.closing = BOTH | Options::END;
            self.closed(ctx);
        } else {
            self.closing = Options::END;
            self.end(Some(Reason::Reset), ctx);
        }
    }

    /// The user writes no more.
    pub(crate) fn on_release(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.part.is_receiver() {
            self.leave(ctx);
            return;
        }
        if self.send.writer != Writer::Open {
            return;
        }
        self.dirty = true;
        self.send.writer = Writer::Closing;
    }

    /// The user wants no more of it.
    pub(crate) fn on_abort(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.ended {
            return;
        }
        ctx.shared.counters.aborted += 1;
        if self.accepted {
            let nothing_left = !self.passive && self.exchange == Exchange::Calling && self.asking.sync == 0;
            if !nothing_left {
                self.send_end(Options::NONE, ctx);
            }
        } else if self.part.is_pair() {
            self.refuse(val::UNSPECIFIED, ctx);
        } else if !self.part.is_joining() {
            self.send_end(Options::NONE, ctx);
        }
        self.end(None, ctx);
    }

    /// The caller is not wanted.
    pub(crate) fn refuse(&mut self, val: u32, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.refused += 1;
        let diagnosis = Diagnosis { code: code::REFUSED, val };
        let (path, key) = (self.path, self.key());
        // Nothing is kept of it: a FIRST that comes again is offered again.
        diagnosis::send(&path, key, diagnosis, ctx);
    }
}
