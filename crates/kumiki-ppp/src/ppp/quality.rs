//! What the driver counts for reports of the quality of the link (RFC 1989 sections 2.2 to 2.4).

use kumiki_octets::Message;
use kumiki_wire::ppp::ppp::lqr::LEN;

/// Octets that a frame has on the line beside those that cross here, its check sequence apart: one flag (RFC 1989
/// section 2.3).
const FLAG: u32 = 1;
/// Octets of `PeerOutPackets` and `PeerOutOctets`, the last ones of a report.
const OUT: usize = 8;

/// What had been received when a report came, this one among it: the `SaveIn` fields of RFC 1989 section 2.6, but for
/// the reports themselves, which their reader counts. The driver appends it to the report that it hands up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// Packets received (`SaveInPackets`).
    pub packets: u32,
    /// Packets dropped without an error in them (`SaveInDiscards`).
    pub discards: u32,
    /// Packets with an error in them, as the layer below tells (`SaveInErrors`).
    pub errors: u32,
    /// Octets of packets that were received well (`SaveInOctets`).
    pub octets: u32,
}

impl Arrival {
    /// Reads what was appended; `None` where nothing was.
    #[must_use]
    pub fn parse(appended: &[u8]) -> Option<Self> {
        let words = appended.as_chunks::<4>().0.first_chunk::<4>()?;
        let [packets, discards, errors, octets] = words.map(u32::from_be_bytes);
        Some(Self { packets, discards, errors, octets })
    }

    fn octets(self) -> [u8; 16] {
        let words = [self.packets, self.discards, self.errors, self.octets];
        let mut octets = [0; 16];
        for (place, word) in octets.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *place = word.to_be_bytes();
        }
        octets
    }
}

/// The counters; all wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    out_packets: u32,
    out_octets: u32,
    arrival: Arrival,
}

impl Counts {
    /// `frame` goes out, with a check sequence of so many bits.
    pub(super) fn count_out(&mut self, frame: &Message, fcs: u8) {
        self.out_packets = self.out_packets.wrapping_add(1);
        self.out_octets = self.out_octets.wrapping_add(on_line(frame, fcs));
    }

    /// `frame` came.
    pub(super) fn count_in(&mut self, frame: &Message, fcs: u8) {
        self.arrival.packets = self.arrival.packets.wrapping_add(1);
        self.arrival.octets = self.arrival.octets.wrapping_add(on_line(frame, fcs));
    }

    /// What came was dropped.
    pub(super) const fn count_discard(&mut self) {
        self.arrival.discards = self.arrival.discards.wrapping_add(1);
    }

    /// So many frames have come damaged since the start.
    pub(super) fn set_errors(&mut self, frames: u64) {
        // The lower 32 bits: counters wrap.
        self.arrival.errors = u32::try_from(frames & u64::from(u32::MAX)).unwrap_or(0);
    }

    /// Fills in what has been sent; `frame` is a report behind a header of `header` octets, and counted already.
    pub(super) fn fill(&self, frame: &mut Message, header: usize) {
        let mut octets = frame.to_vec();
        let Some(report) = octets.get_mut(header..header + LEN) else {
            return;
        };
        let Some((_, out)) = report.split_last_chunk_mut::<OUT>() else {
            return;
        };
        let counts = u64::from(self.out_packets) << 32 | u64::from(self.out_octets);
        *out = counts.to_be_bytes();
        *frame = Message::from_octets(&octets);
    }

    /// Appends what had come by then to a report behind a header of `header` octets; padding goes.
    pub(super) fn append(&self, frame: &mut Message, header: usize) {
        if frame.len() < header + LEN {
            return;
        }
        frame.truncate(header + LEN);
        frame.append_octets(&self.arrival.octets());
    }
}

/// Octets of a frame as RFC 1989 section 2.3 counts them.
fn on_line(frame: &Message, fcs: u8) -> u32 {
    let len = u32::try_from(frame.len()).unwrap_or(u32::MAX);
    len.wrapping_add(u32::from(fcs / 8)).wrapping_add(FLAG)
}
