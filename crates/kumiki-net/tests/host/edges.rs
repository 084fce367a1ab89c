//! What comes while a loop is at work, with no other traffic: it is seen, also by who waits for edges.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kumiki_graph::{Address, Rng};
use kumiki_io::{Arrival, Descriptors, Sent};
use kumiki_net::host::{Frames, HostConfig, HostDriver, HostStack, RealDevice};
use kumiki_octets::Message;
use rustix::event::{Timespec, epoll};

use crate::exchange::sum;

const MANY: u32 = 10_000;

/// An echo request (RFC 792) from 10.0.0.2 to 10.0.0.1.
fn request() -> Vec<u8> {
    let mut icmp = [8, 0, 0, 0, 0, 1, 0, 1];
    let check = sum(&icmp);
    icmp[2..4].copy_from_slice(&check);
    let mut header = [0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 1, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    let check = sum(&header);
    header[10..12].copy_from_slice(&check);
    [&header[..], &icmp].concat()
}

/// The other end of a device, which asks.
struct Far {
    socket: UnixDatagram,
    sent: AtomicU32,
    answered: AtomicU32,
}

impl Far {
    fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed) == self.sent.load(Ordering::Relaxed)
    }

    fn ask(&self) {
        if self.sent.load(Ordering::Relaxed) < MANY && self.socket.send(&request()).is_ok() {
            self.sent.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A device to which a packet comes after some of the looks at it that have found none, and after some that have found
/// one; more at once would be answered faster than anybody takes the answers.
struct Busy {
    device: Frames,
    far: Arc<Far>,
    looks: Rng,
}

impl RealDevice for Busy {
    fn descriptors(&self) -> Descriptors<'_> {
        self.device.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let came = self.device.receive()?;
        let one_in = if came.is_none() { 2 } else { 8 };
        let draw = self.looks.next_u64();
        if draw.is_multiple_of(one_in) {
            // Or more than is read in one go.
            let many = if draw.is_multiple_of(16 * one_in) && self.far.is_answered() { 200 } else { 1 };
            (0..many).for_each(|_| self.far.ask());
        }
        Ok(came)
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        self.device.send(packet, to)
    }
}

/// The device, and its other end.
fn busy() -> (Box<Busy>, Arc<Far>) {
    let (near, socket) = UnixDatagram::pair().unwrap();
    socket.set_nonblocking(true).unwrap();
    let far = Arc::new(Far { socket, sent: AtomicU32::new(0), answered: AtomicU32::new(0) });
    let device = Frames::datagrams(near).unwrap();
    (Box::new(Busy { device, far: Arc::clone(&far), looks: Rng::new(1, 0) }), far)
}

fn config() -> HostConfig {
    HostConfig::new([[10, 0, 0, 1].into()])
}

// Z6.
#[test]
fn who_waits_for_edges_of_the_descriptor_misses_nothing_that_comes_meanwhile() {
    kumiki_watchdog::minute();
    let (device, far) = busy();
    let mut driver = HostDriver::new(device, &config()).unwrap();
    let edges = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    epoll::add(&edges, &driver, epoll::EventData::new_u64(0), epoll::EventFlags::IN | epoll::EventFlags::ET).unwrap();
    let mut waits = 0_u32;
    loop {
        let next = driver.poll().unwrap();
        while far.socket.recv(&mut [0; 100]).is_ok() {
            far.answered.fetch_add(1, Ordering::Relaxed);
        }
        if far.answered.load(Ordering::Relaxed) == MANY {
            break;
        }
        // What has come since the last look is an edge, or this is.
        if far.is_answered() {
            far.ask();
        }
        if next.is_none_or(|next| !next.is_zero()) {
            waits += 1;
            let next = next.map(|next| Timespec::try_from(next).unwrap());
            epoll::wait(&edges, rustix::buffer::spare_capacity(&mut Vec::with_capacity(4)), next.as_ref()).unwrap();
        }
    }
    assert!(waits > 10, "{waits}: it has waited for no edge");
    // All has been seen, and the descriptor says so.
    driver.poll().unwrap();
    let mut events = Vec::with_capacity(4);
    epoll::wait(&edges, rustix::buffer::spare_capacity(&mut events), Some(&Timespec::default())).unwrap();
    driver.poll().unwrap();
    epoll::wait(&edges, rustix::buffer::spare_capacity(&mut events), Some(&Timespec::default())).unwrap();
    assert_eq!(events.len(), 0);
}

/// Asks, and counts the answers.
async fn count(far: &Far) {
    let socket = tokio::net::UnixDatagram::from_std(far.socket.try_clone().unwrap()).unwrap();
    for _ in 0..MANY {
        if far.is_answered() {
            far.ask();
        }
        socket.recv(&mut [0; 100]).await.unwrap();
        far.answered.fetch_add(1, Ordering::Relaxed);
    }
}

// Z6, in a runtime, and in a thread of its own.
#[test]
fn neither_does_a_runtime_nor_a_thread() {
    kumiki_watchdog::minute();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (device, far) = busy();
        let driver = HostDriver::new(device, &config()).unwrap();
        tokio::select! {
            () = count(&far) => {}
            ended = driver.drive() => panic!("{ended:?}"),
        }
        let (device, far) = busy();
        let host = HostStack::start(device, &config()).unwrap();
        count(&far).await;
        host.stop().unwrap();
    });
}
