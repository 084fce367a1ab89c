//! Packets from the segments of TCP (TPKT, XOT), TSDUs from TPDUs, and the presentation contexts of a connection.
//!
//! Segments are taken in the order of the capture: what is retransmitted is not read again, and where octets are
//! missing, reading starts over with the next segment. Left out: segments that come too early are not kept until it is
//! their turn.

use std::collections::BTreeMap;

use kumiki_osi_service::Oid;

use super::{UnfinishedPdu, noted};
use crate::key::{Endpoint, Stream};
use crate::packet::Reassembled;

/// Directions of connections of which something is remembered.
pub const MOST_STREAMS: usize = 256;
/// Octets of the longest TSDU that is put together.
pub const MOST_TSDU: usize = 1 << 20;
/// Octets of all TSDUs in progress.
pub const MOST_TSDUS: usize = 16 << 20;
/// Presentation contexts of a connection.
pub const MOST_CONTEXTS: usize = 256;

/// A PDU that comes in parts.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) octets: Vec<u8>,
    packets: Vec<u64>,
    parts: usize,
}

impl Parts {
    pub(crate) fn add(&mut self, packet: u64, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
        noted(&mut self.packets, packet);
        self.parts = self.parts.saturating_add(1);
    }

    /// Whether something is in progress.
    pub(crate) const fn is_begun(&self) -> bool {
        self.parts > 0
    }

    pub(crate) fn end(&mut self, what: &'static str) -> Reassembled {
        let Self { octets, packets, parts } = std::mem::take(self);
        Reassembled { what, packets, parts, octets }
    }

    pub(super) fn unfinished(&self, what: String) -> Option<UnfinishedPdu> {
        self.is_begun().then(|| UnfinishedPdu {
            what,
            parts: self.parts,
            octets: self.octets.len(),
            first_packet: self.packets.first().copied().unwrap_or_default(),
        })
    }
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// The sequence number that comes next; `None` before the first segment.
    pub(crate) next: Option<u32>,
    /// The packet in progress, and of which protocol it is.
    pub(crate) packet: Parts,
    pub(crate) what: &'static str,
    /// The TSDU in progress.
    pub(crate) tsdu: Parts,
    /// What the contexts are about that this side proposed.
    contexts: BTreeMap<i64, Oid>,
    /// It was taken for TPKT by how something in it begins.
    is_tpkt: bool,
    touched: u64,
}

/// All that are known.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    flows: BTreeMap<Stream, Flow>,
}

impl Streams {
    /// What is known of one direction.
    pub(crate) fn flow(&mut self, stream: Stream, packet: u64) -> &mut Flow {
        if !self.flows.contains_key(&stream) && self.flows.len() >= MOST_STREAMS {
            let oldest = self.flows.iter().min_by_key(|(_, flow)| flow.touched);
            if let Some(oldest) = oldest.map(|(stream, _)| *stream) {
                self.flows.remove(&oldest);
            }
        }
        let flow = self.flows.entry(stream).or_default();
        flow.touched = packet;
        flow
    }

    /// A connection carries TPKT, for something in it begins so; `packet` shows it.
    pub(crate) fn take_for_tpkt(&mut self, stream: Stream, packet: u64) {
        for stream in [stream, stream.back()] {
            self.flow(stream, packet).is_tpkt = true;
        }
    }

    /// Whether a connection was taken for one of TPKT.
    pub(crate) fn is_tpkt(&self, stream: Stream) -> bool {
        self.flows.get(&stream).is_some_and(|flow| flow.is_tpkt)
    }

    /// A connection begins: what was known of another one with the same ends is not of this one.
    pub(crate) fn begin(&mut self, stream: Stream) {
        self.flows.remove(&stream);
    }

    /// What a connection carries starts over: TSDUs and contexts of both directions are over. What TCP has is not.
    pub(crate) fn renew(&mut self, stream: Stream) {
        for stream in [stream, stream.back()] {
            if let Some(flow) = self.flows.get_mut(&stream) {
                flow.tsdu = Parts::default();
                flow.contexts.clear();
            }
        }
    }

    /// A part of a TSDU is missing.
    pub(crate) fn give_up(&mut self, stream: Stream) {
        if let Some(flow) = self.flows.get_mut(&stream) {
            flow.tsdu = Parts::default();
        }
    }

    /// Everything on channels of X.25 at an interface is over.
    pub(crate) fn restart(&mut self, interface: u32) {
        self.flows.retain(|stream, _| stream.interface != interface || !matches!(stream.source, Endpoint::Channel(..)));
    }

    /// Octets of the TSDUs in progress.
    pub(crate) fn tsdu_octets(&self) -> usize {
        self.flows.values().map(|flow| flow.tsdu.octets.len()).sum()
    }

    /// A context is proposed.
    pub(crate) fn propose(&mut self, stream: Stream, packet: u64, id: i64, syntax: Oid) {
        let contexts = &mut self.flow(stream, packet).contexts;
        if contexts.len() < MOST_CONTEXTS || contexts.contains_key(&id) {
            contexts.insert(id, syntax);
        }
    }

    /// What a context is about, whichever side proposed it.
    pub(crate) fn syntax(&self, stream: Stream, id: i64) -> Option<Oid> {
        [stream, stream.back()].iter().find_map(|stream| self.flows.get(stream)?.contexts.get(&id)).copied()
    }

    pub(crate) fn unfinished(&self) -> impl Iterator<Item = UnfinishedPdu> + '_ {
        self.flows.iter().flat_map(|(stream, flow)| {
            let packet = flow.packet.unfinished(format!("{} {stream}", flow.what));
            let tsdu = flow.tsdu.unfinished(format!("TSDU {stream}"));
            packet.into_iter().chain(tsdu)
        })
    }
}
