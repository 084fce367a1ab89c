//! Frames on a Unix socket, as virtual machines and what connects them exchange them.
//!
//! | | |
//! |---|---|
//! | On a stream | each frame behind its length in 32 bits, high octet first ([`Records`]): QEMU's `-netdev stream,addr.type=unix`, passt, and gvproxy's `-listen-qemu` |
//! | On datagrams | a frame in each: QEMU's `-netdev dgram`, and `unixgram` of gvproxy and Apple's virtualization |
//! | Units | a frame of Ethernet, of 65,535 octets at most; no virtio header before it |
//! | The peer | of a stream, and of a datagram socket that is connected, the one that there is; of one that is not, whoever has a name and sends first. Once it has gone the device has failed; on datagrams that is seen when one is sent |
//! | Left out | sequenced packets (`unixpacket`), super-segments, which both ends would have to agree on; listening and connecting, which are `std`'s |

use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixDatagram, UnixStream};

use kumiki_graph::{Address, Duration};
use kumiki_octets::Message;
use rustix::io::Errno;

use crate::device::{Arrival, Descriptors, RealDevice, Sent};
use crate::records::{MOST, Records};
use crate::stream::Stream;

/// What waits in front of a stream is little: more waits in the executor, which knows where a packet ends.
const HELD: usize = 64 * 1024;

/// So many datagrams that are no frames are passed over in one go.
const NO_FRAMES: usize = 64;

/// Frames on a Unix socket; see the module.
#[derive(Debug)]
pub struct Frames(Ends);

#[derive(Debug)]
enum Ends {
    Stream(Records<Stream>),
    Datagrams(Datagrams),
}

impl Frames {
    /// On a stream, whose socket is made not to wait.
    ///
    /// # Errors
    /// Where it cannot be made so.
    pub fn stream(socket: UnixStream) -> io::Result<Self> {
        let mut stream = Stream::new(socket)?.holding(HELD);
        // Who has no room for a frame loses it, as with every link.
        stream.grant(u64::MAX);
        Ok(Self(Ends::Stream(Records::new(stream))))
    }

    /// On datagrams; their socket is made not to wait.
    ///
    /// # Errors
    /// Where it cannot be made so.
    pub fn datagrams(socket: UnixDatagram) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let is_connected = socket.peer_addr().is_ok();
        let datagrams = Datagrams { socket, is_connected, buffer: vec![0; MOST + 1], packet: Vec::new() };
        Ok(Self(Ends::Datagrams(datagrams)))
    }
}

fn gone() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the other end of the socket with the frames is gone")
}

impl RealDevice for Frames {
    fn descriptors(&self) -> Descriptors<'_> {
        match &self.0 {
            Ends::Stream(stream) => stream.descriptors(),
            Ends::Datagrams(it) => Descriptors::both(it.socket.as_fd()),
        }
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let stream = match &mut self.0 {
            Ends::Stream(stream) => stream,
            Ends::Datagrams(it) => return it.receive(),
        };
        loop {
            match stream.receive()? {
                // How much room there is the executor sees when it sends.
                Some(Arrival::Up | Arrival::Room(_) | Arrival::Told(_)) => {}
                Some(Arrival::Down) => return Err(gone()),
                found @ (Some(Arrival::Unit { .. } | Arrival::NoUnit) | None) => return Ok(found),
            }
        }
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        match &mut self.0 {
            Ends::Stream(stream) => stream.send(packet, to),
            Ends::Datagrams(it) => it.send(packet),
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        match &mut self.0 {
            Ends::Stream(stream) => stream.flush(),
            Ends::Datagrams(_) => Ok(false),
        }
    }
}

#[derive(Debug)]
struct Datagrams {
    socket: UnixDatagram,
    is_connected: bool,
    buffer: Vec<u8>,
    /// Where a frame is put together that is not in one piece.
    packet: Vec<u8>,
}

impl Datagrams {
    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        for _ in 0..NO_FRAMES {
            let (octets, source) = match self.socket.recv_from(&mut self.buffer) {
                Ok(came) => came,
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(why) => return Err(why),
            };
            if !self.is_connected && !source.is_unnamed() {
                // Where it has gone since, or will not be sent to, the next one may be the peer.
                self.is_connected = self.socket.connect_addr(&source).is_ok();
            }
            // One that was longer has been cut off.
            if let Some(frame) = self.buffer.get(..octets).filter(|it| (1..=MOST).contains(&it.len())) {
                return Ok(Some(Arrival::Unit {
                    data: Message::from_octets(frame),
                    source: Address::NONE,
                    waited: Duration::ZERO,
                }));
            }
        }
        Ok(Some(Arrival::NoUnit))
    }

    fn send(&mut self, packet: &Message) -> io::Result<Sent> {
        if !self.is_connected || packet.len() > MOST {
            return Ok(Sent::Refused);
        }
        self.packet.clear();
        packet.for_each(|octets| self.packet.extend_from_slice(octets));
        let sent = loop {
            match self.socket.send(&self.packet) {
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                sent => break sent,
            }
        };
        let Err(why) = sent else {
            return Ok(Sent::Taken);
        };
        match Errno::from_io_error(&why) {
            Some(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => Ok(Sent::Full),
            Some(Errno::MSGSIZE) => Ok(Sent::Refused),
            Some(Errno::CONNREFUSED | Errno::CONNRESET | Errno::NOTCONN | Errno::PIPE) => Err(gone()),
            _ => Err(why),
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn frame(octets: usize) -> Message {
        let text: Vec<u8> = (0..octets).map(|n| u8::try_from(n % 251).unwrap()).collect();
        Message::from_octets(&text)
    }

    fn came(device: &mut Frames) -> Option<Vec<u8>> {
        match device.receive().unwrap() {
            Some(Arrival::Unit { data, .. }) => Some(data.to_vec()),
            other => {
                assert!(other.is_none(), "{other:?}");
                None
            }
        }
    }

    #[test]
    fn a_stream_has_each_frame_behind_its_length_and_none_is_left_half_written() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut device = Frames::stream(ours).unwrap();
        assert_eq!(came(&mut device), None);
        // Far more than a socket takes.
        let (mut taken, packet) = (0, frame(1514));
        while device.send(&packet, Address::NONE).unwrap() == Sent::Taken {
            taken += 1;
        }
        assert!(device.flush().unwrap(), "something waits for room");
        let mut octets = Vec::new();
        theirs.set_nonblocking(true).unwrap();
        loop {
            let mut piece = [0; 4096];
            match theirs.read(&mut piece) {
                Ok(n) => octets.extend_from_slice(&piece[..n]),
                Err(_) if device.flush().unwrap() => {}
                Err(_) if octets.len() < taken * 1518 => {}
                Err(_) => break,
            }
        }
        assert_eq!(octets.len(), taken * 1518);
        let whole = [&[0, 0, 5, 0xea][..], &packet.to_vec()].concat();
        assert!(octets.chunks(1518).all(|it| it == whole));
        theirs.set_nonblocking(false).unwrap();
        theirs.write_all(&[0, 0, 0, 2, 7]).unwrap();
        assert_eq!(came(&mut device), None);
        theirs.write_all(&[8, 0, 0, 0, 1, 9]).unwrap();
        assert_eq!((came(&mut device), came(&mut device)), (Some(vec![7, 8]), Some(vec![9])));
        drop(theirs);
        let error = device.receive().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_datagram_is_a_frame_and_who_has_gone_is_an_error() {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let mut device = Frames::datagrams(ours).unwrap();
        theirs.send(&[]).unwrap();
        theirs.send(&[1, 2]).unwrap();
        assert_eq!((came(&mut device), came(&mut device)), (Some(vec![1, 2]), None));
        assert_eq!(device.send(&frame(1514), Address::NONE).unwrap(), Sent::Taken);
        let mut back = [0; 2000];
        assert_eq!(theirs.recv(&mut back).unwrap(), 1514);
        while device.send(&frame(60), Address::NONE).unwrap() == Sent::Taken {}
        assert_eq!(device.send(&frame(60), Address::NONE).unwrap(), Sent::Full);
        drop(theirs);
        let error = device.send(&frame(60), Address::NONE).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }

    #[test]
    fn who_has_gone_or_cannot_be_sent_to_is_not_the_peer_and_the_next_is() {
        let folder = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
        let mut device = Frames::datagrams(UnixDatagram::bind(&here).unwrap()).unwrap();
        // One that has ended since, and one that takes nothing but from another.
        UnixDatagram::bind(&there).unwrap().send_to(&[7], &here).unwrap();
        assert_eq!(came(&mut device), Some(vec![7]));
        let elsewhere = UnixDatagram::bind(folder.path().join("elsewhere")).unwrap();
        let taken = UnixDatagram::bind(folder.path().join("taken")).unwrap();
        taken.send_to(&[8], &here).unwrap();
        taken.connect_addr(&elsewhere.local_addr().unwrap()).unwrap();
        assert_eq!(came(&mut device), Some(vec![8]));
        assert_eq!(device.send(&frame(60), Address::NONE).unwrap(), Sent::Refused);
        std::fs::remove_file(&there).unwrap();
        let peer = UnixDatagram::bind(&there).unwrap();
        peer.send_to(&[9], &here).unwrap();
        assert_eq!(came(&mut device), Some(vec![9]));
        assert_eq!(device.send(&frame(60), Address::NONE).unwrap(), Sent::Taken);
    }

    #[test]
    fn datagrams_that_are_no_frames_are_passed_over_and_do_not_keep_who_reads() {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let mut device = Frames::datagrams(ours).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let mut sent = 0;
        while sent < 2 * NO_FRAMES && theirs.send(&[]).is_ok() {
            sent += 1;
        }
        // As many as the kernel lets wait, which may be few.
        let first = device.receive().unwrap();
        assert_eq!(matches!(first, Some(Arrival::NoUnit)), sent >= NO_FRAMES, "{first:?}");
        while device.receive().unwrap().is_some() {}
        theirs.send(&[7]).unwrap();
        assert_eq!(came(&mut device), Some(vec![7]));
    }

    #[test]
    fn who_sends_first_and_has_a_name_is_the_peer() {
        let folder = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
        let mut device = Frames::datagrams(UnixDatagram::bind(&here).unwrap()).unwrap();
        assert_eq!(device.send(&frame(60), Address::NONE).unwrap(), Sent::Refused);
        UnixDatagram::unbound().unwrap().send_to(&[7], &here).unwrap();
        assert_eq!(came(&mut device), Some(vec![7]));
        assert_eq!(device.send(&frame(60), Address::NONE).unwrap(), Sent::Refused);
        let peer = UnixDatagram::bind(there).unwrap();
        peer.send_to(b"VFKT", &here).unwrap();
        assert_eq!(came(&mut device), Some(b"VFKT".to_vec()));
        assert_eq!(device.send(&frame(60), Address::NONE).unwrap(), Sent::Taken);
        assert_eq!(peer.recv(&mut [0; 100]).unwrap(), 60);
    }
}
