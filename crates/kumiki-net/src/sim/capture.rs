//! What hosts sent and got, for Wireshark and tshark.

use std::io::{self, Write};

use kumiki_graph::{Graph, Tapped};
use kumiki_pcapng::{CaptureError, Direction, LinkType, Packet, PcapNg};

use super::Net;

/// More packets than this are not kept.
const MOST: usize = 2_000_000;

/// What has been seen of the hosts, by their numbers in the world.
#[derive(Debug, Default)]
pub(super) struct Capture {
    packets: Vec<(usize, Tapped)>,
    left_out: u64,
}

/// Has all that crosses the host's line put on record.
pub(super) fn tap(graph: &mut Graph) {
    let line = graph.access_points().find(|(_, _, lower)| *lower == "line").map(|(at, ..)| at);
    if let Some(line) = line {
        graph.tap(line);
    }
}

impl Net {
    /// From now on what each host sends and gets is kept, two million packets at most; [`Net::write_capture`] writes
    /// it.
    pub fn set_capture(&self, on: bool) -> &Self {
        *self.0.capture.borrow_mut() = on.then(Capture::default);
        if on {
            for host in self.hosts() {
                let id = host.with(|it| it.id);
                if let Some(host) = self.0.world.borrow_mut().host_mut(id) {
                    tap(&mut host.graph);
                }
            }
        }
        self
    }

    /// Takes what the taps have seen.
    pub(super) fn collect(&self) {
        if let Some(capture) = self.0.capture.borrow_mut().as_mut() {
            for (host, tapped) in self.0.world.borrow_mut().take_tapped() {
                let room = MOST.saturating_sub(capture.packets.len());
                capture.left_out += tapped.len().saturating_sub(room) as u64;
                capture.packets.extend(tapped.into_iter().take(room).map(|it| (host.0, it)));
            }
        }
    }

    /// Writes what was kept as pcapng, in the order of time, with an interface for each host.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_capture(&self, out: impl Write) -> io::Result<()> {
        let said = |error: CaptureError| {
            if let CaptureError::Io(error) = error { error } else { io::Error::other(error.to_string()) }
        };
        self.collect();
        let mut file = PcapNg::new(out).map_err(said)?;
        let mut interfaces = Vec::new();
        for host in self.hosts() {
            let interface = file.add_interface(&host.name(), LinkType::RawIp, 0).map_err(said)?;
            interfaces.push((host.with(|it| it.id.0), interface));
        }
        let mut capture = self.0.capture.borrow_mut();
        if let Some(capture) = capture.as_mut() {
            // Hosts are looked at one after the other; what they sent and got at one instant stays in that order.
            capture.packets.sort_by_key(|(_, it)| it.at);
        }
        let packets = capture.as_ref().map(|it| it.packets.as_slice()).unwrap_or_default();
        let left_out = capture.as_ref().map_or(0, |it| it.left_out);
        for (number, (host, tapped)) in packets.iter().enumerate() {
            let Some((_, interface)) = interfaces.iter().find(|(id, _)| id == host) else {
                continue;
            };
            let octets = tapped.data.to_vec();
            let direction = if tapped.down { Direction::Outbound } else { Direction::Inbound };
            let is_last = number + 1 == packets.len() && left_out > 0;
            let comment = is_last.then(|| format!("{left_out} more packets were not kept"));
            let comment = comment.as_deref().or(tapped.dropped);
            let packet = Packet {
                at_ns: tapped.at.as_nanos(),
                octets: &octets,
                original_len: octets.len(),
                direction: Some(direction),
                comment,
            };
            file.write_packet(*interface, &packet).map_err(said)?;
        }
        file.finish().map_err(said)?.flush()
    }
}
