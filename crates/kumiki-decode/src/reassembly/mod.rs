//! What is remembered from one packet to the next, all of it bounded.
//!
//! | | At most |
//! |---|---|
//! | AAL5 PDUs in progress | [`aal5::MOST_CIRCUITS`] channels of [`aal5::MOST_CELLS`] cells each: 64 MiB |
//! | AAL3/4 PDUs in progress | [`aal34::MOST_PDUS`] of [`aal34::MOST_OCTETS`] octets each: 64 MiB |
//! | IP datagrams in progress | [`fragments::MOST_DATAGRAMS`] of 65,535 octets in 2,048 pieces each: 8 MiB and what the pieces cost |
//! | Links of LAPB | how each of [`links::MOST_LINKS`] numbers its frames, and which comes next |
//! | Calls of X.25 | [`calls::MOST_CALLS`], and [`calls::MOST_SEQUENCE`] octets of a packet sequence for each direction of one: 32 MiB |
//! | TPKTs, packets of XOT and TSDUs in progress, presentation contexts | those of [`streams::MOST_STREAMS`] directions of connections and calls: 64 KiB each, and [`streams::MOST_TSDUS`] octets for all TSDUs: 32 MiB |
//! | Frames of SONET/SDH before the next | one for each of [`lines::MOST_LINES`] lines, of which 250 octets are kept |
//!
//! Past that, what was touched longest ago is given up. There are no timeouts: a capture may hold any time.

use std::collections::BTreeMap;
use std::fmt;

use kumiki_octets::text::counted;

pub mod aal34;
pub mod aal5;
pub mod calls;
pub mod fragments;
pub mod lines;
pub mod links;
pub mod streams;

use crate::key::Circuit;

/// All reassemblies, and what is said of channels.
#[derive(Debug, Default)]
pub struct State {
    pub(crate) aal34: aal34::Segments,
    pub(crate) aal5: aal5::Circuits,
    pub(crate) calls: calls::Calls,
    pub(crate) fragments: fragments::Datagrams,
    pub(crate) lines: lines::Lines,
    pub(crate) streams: streams::Streams,
    pub(crate) links: links::Links,
    adaptation: BTreeMap<(u16, u16), &'static str>,
    ports: BTreeMap<u16, &'static str>,
}

impl State {
    /// Who reads the payloads of user cells on this channel.
    pub(crate) fn adaptation(&self, vpi: u16, vci: u16) -> &'static str {
        self.adaptation.get(&(vpi, vci)).copied().unwrap_or("aal5-cell")
    }

    /// Gives the payloads of user cells on this channel to the dissector of this name.
    pub(crate) fn adapt(&mut self, vpi: u16, vci: u16, dissector: &'static str) {
        self.adaptation.insert((vpi, vci), dissector);
    }

    /// Who reads what TCP carries to and from one of these ports, where that was said.
    pub(crate) fn at_ports(&self, ports: [u16; 2]) -> Option<&'static str> {
        ports.iter().find_map(|port| self.ports.get(port)).copied()
    }

    /// Gives what TCP carries to and from a port to the dissector of this name.
    pub(crate) fn give_port(&mut self, port: u16, dissector: &'static str) {
        self.ports.insert(port, dissector);
    }

    pub(crate) fn unfinished(&self) -> Vec<UnfinishedPdu> {
        self.aal5
            .unfinished()
            .chain(self.aal34.unfinished())
            .chain(self.fragments.unfinished())
            .chain(self.streams.unfinished())
            .chain(self.calls.unfinished())
            .collect()
    }
}

/// A PDU that has begun and did not end in the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedPdu {
    /// What it is, and of whom.
    pub what: String,
    /// Parts that came.
    pub parts: usize,
    /// Octets that came.
    pub octets: usize,
    /// The packet that the first of them came in.
    pub first_packet: u64,
}

impl fmt::Display for UnfinishedPdu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not finished at the end: {}, {} with {} since packet {}",
            self.what,
            counted(self.parts, "part"),
            counted(self.octets, "octet"),
            self.first_packet
        )
    }
}

/// The packets that parts came in: the first ones, and always the last.
fn noted(packets: &mut Vec<u64>, packet: u64) {
    const KEPT: usize = 64;
    if packets.last() == Some(&packet) {
        return;
    }
    if packets.len() >= KEPT {
        packets.pop();
    }
    packets.push(packet);
}

impl Circuit {
    fn name(self) -> String {
        format!("AAL5 PDU on {self}")
    }
}
