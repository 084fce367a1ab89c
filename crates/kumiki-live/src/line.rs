//! A connection of the operating system with somebody who watches it: how much has crossed, when last, and how it
//! began.

use core::net::SocketAddr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::Address;
use kumiki_io::{Arrival, Descriptors, RealDevice, Sent, Stream};
use kumiki_octets::Message;

use super::recorder::Recorder;

/// How much of what a peer says first is kept: enough to see what it is.
const FIRST: usize = 32;

/// What was seen of a connection.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Octets received.
    pub received: u64,
    /// Octets handed to the socket, or held back for it.
    pub sent: u64,
    /// What came first.
    pub first: Vec<u8>,
    /// What was sent first.
    pub first_sent: Vec<u8>,
    /// The peer has spoken since we did.
    pub is_owed: bool,
    /// The peer has gone.
    pub is_down: bool,
    /// The socket has no room for what is held back.
    pub is_full: bool,
}

/// Where it is seen from.
#[derive(Clone, Debug, Default)]
pub struct Watcher(Arc<Mutex<Traffic>>);

impl Watcher {
    /// What was seen.
    pub fn traffic(&self) -> Traffic {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Octets both ways, and whether the peer has gone.
    pub fn crossed(&self) -> (u64, bool) {
        let traffic = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (traffic.received.saturating_add(traffic.sent), traffic.is_down)
    }

    fn with(&self, act: impl FnOnce(&mut Traffic)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Keeps what came first of a direction.
fn keep(first: &mut Vec<u8>, data: &Message) {
    if first.len() < FIRST {
        data.for_each(|octets| {
            let room = FIRST.saturating_sub(first.len());
            first.extend(octets.iter().take(room));
        });
    }
}

/// The connection, as a device.
pub struct Line {
    stream: Stream,
    watcher: Watcher,
    recorder: Option<Recorder>,
    mute: Arc<AtomicBool>,
}

/// A connection that stands.
#[derive(Debug)]
pub struct Connection {
    /// The socket.
    pub socket: std::net::TcpStream,
    /// Our address.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// The peer has called.
    pub called: bool,
    /// From when this is set nothing more is sent.
    pub mute: Arc<AtomicBool>,
}

impl Line {
    /// A device of `connection`; what crosses it is written to `recorder`.
    ///
    /// # Errors
    /// The socket cannot be made not to wait.
    pub fn new(connection: Connection, recorder: Option<Recorder>) -> io::Result<(Self, Watcher)> {
        let Connection { socket, mute, .. } = connection;
        let watcher = Watcher::default();
        let line = Self { stream: Stream::new(socket)?, watcher: watcher.clone(), recorder, mute };
        Ok((line, watcher))
    }
}

impl RealDevice for Line {
    fn descriptors(&self) -> Descriptors<'_> {
        self.stream.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let arrival = self.stream.receive()?;
        match &arrival {
            Some(Arrival::Unit { data, .. }) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.received(&data.to_vec());
                }
                self.watcher.with(|traffic| {
                    traffic.received = traffic.received.saturating_add(data.len() as u64);
                    traffic.is_owed = true;
                    keep(&mut traffic.first, data);
                });
            }
            Some(Arrival::Down) => self.watcher.with(|traffic| traffic.is_down = true),
            Some(Arrival::Up | Arrival::Room(_) | Arrival::NoUnit | Arrival::Told(_)) | None => {}
        }
        Ok(arrival)
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        if self.mute.load(Ordering::SeqCst) {
            return Ok(Sent::Taken);
        }
        let sent = self.stream.send(packet, to)?;
        if sent == Sent::Taken {
            if let Some(recorder) = &mut self.recorder {
                recorder.sent(&packet.to_vec());
            }
            self.watcher.with(|traffic| {
                traffic.sent = traffic.sent.saturating_add(packet.len() as u64);
                traffic.is_full = true;
                traffic.is_owed = false;
                keep(&mut traffic.first_sent, packet);
            });
        }
        Ok(sent)
    }

    fn grant(&mut self, octets: u64) {
        self.stream.grant(octets);
    }

    fn flush(&mut self) -> io::Result<bool> {
        let is_full = self.stream.flush()?;
        self.watcher.with(|traffic| traffic.is_full = is_full);
        Ok(is_full)
    }
}
