//! Packets with the header of a virtual network card in front: super-segments, and checksums that are yet to be
//! written.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;

use kumiki_link::offload;
use kumiki_link::offload::virtio::{self, Form, Header, LEN};
use kumiki_octets::{Message, Page};
use rustix::io::Errno;

use super::control::{set_header_len, set_offload};
use super::{became, begun};
use crate::device::Sent;

// What a device takes: linux/if_tun.h. The last two came with Linux 6.2, and only together.
const TUN_F_CSUM: usize = 0x01;
const TUN_F_TSO4: usize = 0x02;
const TUN_F_TSO6: usize = 0x04;
const TUN_F_TSO_ECN: usize = 0x08;
const TUN_F_USO4: usize = 0x20;
const TUN_F_USO6: usize = 0x40;

const TCP: usize = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
const USO: usize = TUN_F_USO4 | TUN_F_USO6;

/// What is asked for, until something is granted.
const SETS: [usize; 6] = [TCP | TUN_F_TSO_ECN | USO, TCP | USO, TCP | TUN_F_TSO_ECN, TCP, TUN_F_CSUM, 0];

/// The longest datagram of IP; the page for it is recycled.
const LONGEST: usize = 65_535;
/// Room for what Ethernet puts in front of it.
const BEYOND: usize = 64;

/// Pieces of a packet that are written as they lie; one of more is put together first.
const PIECES: usize = 32;

/// One device's super-segments.
#[derive(Debug)]
pub(super) struct Virtio {
    /// The kernel takes super-segments of TCP.
    cuts: bool,
    /// Datagrams that came as one.
    arrived: VecDeque<Message>,
    /// Packets of a super-segment that the kernel did not take as one: they wait for room.
    rest: VecDeque<Message>,
}

impl Virtio {
    /// Settles with the kernel what is in front of packets and what it may leave to us.
    pub(super) fn begin(file: &OwnedFd) -> Result<Self, Errno> {
        let octets = i32::try_from(LEN).map_err(|_| Errno::INVAL)?;
        set_header_len(file, octets)?;
        let mut refused = Errno::INVAL;
        for set in SETS {
            match set_offload(file, set) {
                Ok(()) => return Ok(Self { cuts: true, arrived: VecDeque::new(), rest: VecDeque::new() }),
                Err(why) => refused = why,
            }
        }
        Err(refused)
    }

    /// Whether the kernel has taken every super-segment so far.
    #[cfg(test)]
    pub(super) const fn is_whole(&self) -> bool {
        self.cuts
    }

    /// The next packet or super-segment. One of which its header says what cannot be is dropped, as a network card
    /// drops a bad frame.
    pub(super) fn receive(&mut self, file: &OwnedFd) -> io::Result<Option<Message>> {
        loop {
            if let Some(datagram) = self.arrived.pop_front() {
                return Ok(Some(datagram));
            }
            let (mut front, mut beyond) = ([0; LEN], [0; BEYOND]);
            let mut result = Ok(0);
            let page = Page::build(LONGEST, |octets| {
                let mut room = [&mut front[..], octets, &mut beyond[..]].map(IoSliceMut::new);
                result = rustix::io::retry_on_intr(|| rustix::io::readv(file, &mut room));
            });
            let total = match result {
                Ok(0) | Err(Errno::AGAIN) => return Ok(None),
                Ok(read) => read,
                Err(why) => return Err(why.into()),
            };
            let Ok((header, len)) = Header::parse(Form::TUN, &front, total) else {
                continue;
            };
            let mut packet = begun(page, (total - len).min(LONGEST));
            let more = (total - len).saturating_sub(LONGEST);
            packet.append_octets(beyond.get(..more).unwrap_or_default());
            if virtio::received(&header, &mut packet).is_err() {
                continue;
            }
            if !header.is_datagrams() || packet.meta().segment_size == 0 {
                return Ok(Some(packet));
            }
            offload::cut(packet, |datagram| self.arrived.push_back(datagram));
        }
    }

    /// Writes a packet or super-segment.
    pub(super) fn send(&mut self, file: &OwnedFd, packet: &Message, spare: &mut Vec<u8>) -> io::Result<Sent> {
        if self.flush(file, spare)? {
            return Ok(Sent::Full);
        }
        let single = packet.meta().segment_size == 0;
        let mut was_refused = false;
        if let Some(header) = virtio::to_send(packet).filter(|_| single || self.cuts) {
            match write_behind(file, &header, packet, spare) {
                // Linux 6.6.44 took none with a short end, for one.
                Err(Errno::INVAL) if !single => was_refused = true,
                written => return became(written),
            }
        }
        let rest = &mut self.rest;
        if !offload::cut(packet.clone(), |packet| rest.push_back(packet)) {
            return Ok(Sent::Refused);
        }
        let first = self.rest.front().map_or(Ok(()), |first| write_behind(file, &Header::default(), first, spare));
        match became(first)? {
            Sent::Taken => {
                // The packets are good, and so was what they were cut from.
                self.cuts &= !was_refused;
                self.rest.pop_front();
            }
            Sent::Full => {}
            Sent::Refused => {
                self.rest.clear();
                return Ok(Sent::Refused);
            }
        }
        self.flush(file, spare)?;
        Ok(Sent::Taken)
    }

    /// Writes what is left of a super-segment; true where something still waits.
    pub(super) fn flush(&mut self, file: &OwnedFd, spare: &mut Vec<u8>) -> io::Result<bool> {
        while let Some(packet) = self.rest.front() {
            match became(write_behind(file, &Header::default(), packet, spare))? {
                Sent::Full => return Ok(true),
                Sent::Taken | Sent::Refused => self.rest.pop_front(),
            };
        }
        Ok(false)
    }
}

fn write_behind(file: &OwnedFd, header: &Header, packet: &Message, spare: &mut Vec<u8>) -> Result<(), Errno> {
    let mut front = [0; LEN];
    header.emit(Form::TUN, &mut front);
    write(file, &front, packet, spare)
}

/// Writes `front` and `packet` in one call, from where they lie. `spare` is for a packet that lies nowhere, or in many
/// pieces.
pub(super) fn write(file: &OwnedFd, front: &[u8], packet: &Message, spare: &mut Vec<u8>) -> Result<(), Errno> {
    let mut slices = [IoSlice::new(&[]); PIECES];
    let mut used = 0;
    let mut in_place = true;
    for piece in Some(Some(front)).into_iter().chain(packet.pieces()) {
        let (Some(piece), Some(slice)) = (piece, slices.get_mut(used)) else {
            in_place = false;
            break;
        };
        if !piece.is_empty() {
            *slice = IoSlice::new(piece);
            used += 1;
        }
    }
    let whole;
    let slices = if in_place {
        slices.get(..used).unwrap_or_default()
    } else {
        spare.clear();
        spare.extend_from_slice(front);
        packet.for_each(|octets| spare.extend_from_slice(octets));
        whole = [IoSlice::new(spare)];
        &whole
    };
    // A device takes a packet whole or not at all.
    rustix::io::retry_on_intr(|| rustix::io::writev(file, slices)).map(|_| ())
}
