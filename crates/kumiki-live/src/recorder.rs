//! What crosses a connection of the operating system, as a capture of IP packets that nobody has seen like this.
//!
//! The octets and their times are true, and so are addresses and ports; the segments are ours, for the operating system
//! does not show its own: one for each piece that was read or written, between a handshake and an end. Nothing is lost,
//! so nothing is acknowledged by itself.

use core::net::{IpAddr, SocketAddr};
use std::io;
use std::path::{Path, PathBuf};

use kumiki_io::{Clock as _, RealClock};
use kumiki_octets::Sum;
use kumiki_pcapng::{CaptureError, Direction, InterfaceId, LinkType, Packet, PcapNg};
use kumiki_wire::inet::tcp::{self, Flags, Seq};
use kumiki_wire::inet::{ipv4, ipv6};

use crate::line::Connection;
use crate::private::{CaptureBudget, PrivateCapture};

/// The most octets of one segment; with both headers it is a datagram.
const MOST: usize = 65_000;

/// A capture in flight. That it cannot be written ends it and nothing else ([`CaptureBudget::remark`]).
pub struct Recorder {
    path: PathBuf,
    budget: CaptureBudget,
    file: Option<PcapNg<PrivateCapture>>,
    interface: InterfaceId,
    clock: RealClock,
    local: SocketAddr,
    remote: SocketAddr,
    /// The next sequence number of each end, ours first.
    next: [Seq; 2],
    identification: u16,
}

fn named(path: &Path, why: &dyn core::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}

impl Recorder {
    /// Begins a capture of a connection that stands; an older file is replaced. None where captures may have no more
    /// octets.
    ///
    /// # Errors
    /// The file cannot be made; the error names it.
    pub fn begin(
        (path, budget): (&Path, &CaptureBudget),
        clock: RealClock,
        connection: &Connection,
    ) -> io::Result<Option<Self>> {
        let &Connection { local, remote, called, .. } = connection;
        let said = |why: CaptureError| named(path, &why);
        let Some(file) = PrivateCapture::create(path, budget).map_err(|why| named(path, &why))? else {
            return Ok(None);
        };
        let mut file = PcapNg::new(file).map_err(said)?;
        let interface = file.add_interface("connection", LinkType::RawIp, budget.snaplen()).map_err(said)?;
        let mut recorder = Self {
            path: path.to_owned(),
            budget: budget.clone(),
            file: Some(file),
            interface,
            clock,
            local,
            remote,
            next: [Seq(0); 2],
            identification: 0,
        };
        let (caller, callee) = if called { (1, 0) } else { (0, 1) };
        recorder.segment(caller, Flags::SYN, &[]);
        recorder.segment(callee, Flags::SYN.with(Flags::ACK), &[]);
        recorder.segment(caller, Flags::ACK, &[]);
        Ok(Some(recorder))
    }

    /// What was sent.
    pub fn sent(&mut self, octets: &[u8]) {
        self.pieces(0, octets);
    }

    /// What was received.
    pub fn received(&mut self, octets: &[u8]) {
        self.pieces(1, octets);
    }

    fn pieces(&mut self, from: usize, octets: &[u8]) {
        let flags = Flags::ACK.with(Flags::PSH);
        octets.chunks(MOST).for_each(|piece| self.segment(from, flags, piece));
    }

    fn segment(&mut self, from: usize, flags: Flags, data: &[u8]) {
        let ends = [self.local, self.remote];
        let pick = |from: usize| if from == 0 { ends } else { [ends[1], ends[0]] };
        let [source, destination] = pick(from);
        let [ours, theirs] = self.next;
        let (seq, ack) = if from == 0 { (ours, theirs) } else { (theirs, ours) };
        let header = tcp::Header {
            source_port: source.port(),
            destination_port: destination.port(),
            seq,
            ack: if flags.contains(Flags::ACK) { ack } else { Seq(0) },
            flags,
            window: u16::MAX,
            checksum: 0,
            urgent_pointer: 0,
            options: tcp::Options::default(),
        };
        let len = header.len();
        let mut segment = vec![0; len];
        header.emit(&mut segment);
        segment.extend_from_slice(data);
        let datagram = self.datagram(source.ip(), destination.ip(), len, segment);
        let syn_fin = Flags::SYN.with(Flags::FIN);
        let taken = data.len() + usize::from(flags.intersects(syn_fin));
        if let Some(next) = self.next.get_mut(from) {
            *next = next.advance(taken);
        }
        let packet = Packet {
            at_ns: self.clock.now().as_nanos(),
            octets: &datagram,
            original_len: datagram.len(),
            direction: Some(if from == 0 { Direction::Outbound } else { Direction::Inbound }),
            comment: None,
        };
        if let Some(file) = &mut self.file
            && let Err(why) = file.write_packet(self.interface, &packet)
        {
            self.file = None;
            self.budget.end(&format!("{}: {why}", self.path.display()));
        }
    }

    /// The segment behind a header of IP, with its checksum.
    fn datagram(&mut self, source: IpAddr, destination: IpAddr, header_len: usize, mut segment: Vec<u8>) -> Vec<u8> {
        /// Protocol number of TCP.
        const TCP: u8 = 6;
        let len = u16::try_from(segment.len()).unwrap_or(u16::MAX);
        let mut sum = |pseudo: &[u8]| {
            let mut all = pseudo.to_vec();
            all.extend_from_slice(&segment);
            let checksum = Sum::of(&all).checksum().to_be_bytes();
            debug_assert!(header_len >= 18, "a header has its checksum");
            if let Some(place) = segment.get_mut(16..18) {
                place.copy_from_slice(&checksum);
            }
        };
        let mut out;
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                sum(&ipv4::pseudo_header(source, destination, TCP, len));
                self.identification = self.identification.wrapping_add(1);
                let header = ipv4::Header {
                    total_length: len.saturating_add(20),
                    identification: self.identification,
                    dont_fragment: true,
                    protocol: TCP,
                    source,
                    destination,
                    ..ipv4::Header::default()
                };
                out = vec![0; header.len()];
                header.emit_summed(&mut out);
            }
            (source, destination) => {
                let six = |address: IpAddr| match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped(),
                    IpAddr::V6(address) => address,
                };
                let (source, destination) = (six(source), six(destination));
                sum(&ipv6::pseudo_header(source, destination, TCP, len.into()));
                let header = ipv6::Header {
                    payload_length: len,
                    next_header: TCP,
                    source,
                    destination,
                    ..ipv6::Header::default()
                };
                out = vec![0; header.len()];
                header.emit(&mut out);
            }
        }
        out.extend(segment);
        out
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let flags = Flags::FIN.with(Flags::ACK);
        self.segment(0, flags, &[]);
        self.segment(1, flags, &[]);
    }
}
