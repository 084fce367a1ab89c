//! The hop between the path and the gateway: packets between two threads of this process.
//!
//! A pair of sockets that keep packets apart (`SOCK_SEQPACKET`). So each end waits for the other as for a device, and one that does not
//! read lets the other one find no room, as a device does: nothing is lost here.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kumiki_graph::Address;
use kumiki_io::{Arrival, Descriptors, RealDevice, Sent};
use kumiki_octets::{Message, Page};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// One end.
#[derive(Debug)]
pub(crate) struct Hop {
    socket: OwnedFd,
    most: usize,
    /// Where a packet is put together.
    packet: Vec<u8>,
    /// How many packets are on their way from here, and to here.
    counts: [Arc<AtomicUsize>; 2],
}

impl Hop {
    /// How many packets this end has sent that the other has not taken.
    pub(crate) fn under_way(&self) -> Arc<AtomicUsize> {
        let [from_here, _] = &self.counts;
        Arc::clone(from_here)
    }
}

/// Both ends, for packets of `mtu` octets at most.
pub(crate) fn pair(mtu: u16) -> io::Result<[Hop; 2]> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (a, b) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let counts: [Arc<AtomicUsize>; 2] = Default::default();
    let [there, back] = counts.clone();
    let end = |socket, counts| Hop { socket, most: mtu.into(), packet: Vec::new(), counts };
    Ok([end(a, counts), end(b, [back, there])])
}

impl RealDevice for Hop {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::both(self.socket.as_fd())
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let mut result = Ok((0, 0));
        let page = Page::build(self.most, |octets| {
            result = rustix::io::retry_on_intr(|| rustix::net::recv(&self.socket, &mut *octets, RecvFlags::empty()));
        });
        match result {
            Ok((0, _)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((read, _)) => {
                let [_, to_here] = &self.counts;
                to_here.fetch_sub(1, Ordering::AcqRel);
                // A small packet must not hold on to a page for a large one.
                if read < page.len() / 2 {
                    let octets = page.octets().get(..read).unwrap_or_default();
                    return Ok(Some(Arrival::of(Message::from_octets(octets))));
                }
                let mut message = Message::from_page(page);
                message.truncate(read);
                Ok(Some(Arrival::of(message)))
            }
            Err(Errno::AGAIN) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        if packet.is_empty() || packet.len() > self.most {
            return Ok(Sent::Refused);
        }
        self.packet.clear();
        packet.for_each(|octets| self.packet.extend_from_slice(octets));
        let [from_here, _] = &self.counts;
        // Ahead of the other end, which may take it at once.
        from_here.fetch_add(1, Ordering::AcqRel);
        let sent = rustix::io::retry_on_intr(|| rustix::net::send(&self.socket, &self.packet, SendFlags::NOSIGNAL));
        if sent.is_err() {
            from_here.fetch_sub(1, Ordering::AcqRel);
        }
        match sent {
            Ok(_) => Ok(Sent::Taken),
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => Ok(Sent::Full),
            Err(why) => Err(why.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(hop: &mut Hop) -> Option<Vec<u8>> {
        let Arrival::Unit { data, .. } = hop.receive().unwrap()? else { panic!("no unit") };
        Some(data.to_vec())
    }

    #[test]
    fn packets_stay_apart_and_in_order_and_one_that_finds_no_room_waits() {
        let [mut a, mut b] = pair(1500).unwrap();
        let packet = |tag: u8| Message::from_octets(&[tag; 1400]);
        let mut sent = 0_u8;
        while a.send(&packet(sent), Address::NONE).unwrap() == Sent::Taken {
            sent += 1;
        }
        assert!(sent > 10);
        assert_eq!(a.under_way().load(Ordering::Acquire), usize::from(sent));
        for tag in 0..sent {
            assert_eq!(next(&mut b), Some(vec![tag; 1400]));
        }
        assert_eq!(next(&mut b), None);
        assert_eq!(a.under_way().load(Ordering::Acquire), 0);
        assert_eq!(a.send(&Message::from_octets(&[7; 40]), Address::NONE).unwrap(), Sent::Taken);
        assert_eq!(next(&mut b), Some(vec![7; 40]));
        assert_eq!(b.send(&Message::from_octets(&[0; 1501]), Address::NONE).unwrap(), Sent::Refused);
        drop(a);
        assert!(b.receive().is_err() && b.send(&packet(1), Address::NONE).is_err());
    }
}
