//! A host that is real by frames of Ethernet on a Unix socket, as virtual machines have them.
//!
//! | Written | is |
//! |---|---|
//! | `listen:PATH` | a stream that others connect to, one after the other: QEMU's `-netdev stream,addr.type=unix,addr.path=PATH` |
//! | `unix:PATH` | a stream on which somebody listens already, such as passt |
//! | `datagrams:PATH` | a frame in each datagram; whoever has a name and sends first is the host: QEMU's `-netdev dgram` |

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use kumiki_graph::Address;
use kumiki_io::{Arrival, Descriptors, Frames, RealDevice, Sent, line};
use kumiki_octets::Message;

/// Opens what `text` says.
///
/// # Errors
/// What would be right, or what the operating system has against it.
pub(super) fn open(text: &str) -> Result<Box<dyn RealDevice>, String> {
    let said = |why: io::Error| why.to_string();
    let (word, path) = text.split_once(':').unwrap_or((text, ""));
    let path = Path::new(path);
    match word {
        _ if path.as_os_str().is_empty() => Err("expected listen:PATH, unix:PATH or datagrams:PATH".to_owned()),
        "listen" => StreamPort::new(path).map(|it| -> Box<dyn RealDevice> { Box::new(it) }).map_err(said),
        "unix" => {
            let frames = UnixStream::connect(path).and_then(Frames::stream).map_err(said)?;
            Ok(Box::new(frames))
        }
        "datagrams" => {
            line::clear(path).map_err(said)?;
            let frames = UnixDatagram::bind(path).and_then(Frames::datagrams).map_err(said)?;
            Ok(Box::new(Named { device: Box::new(frames), _file: OnDisk(path.to_owned()) }))
        }
        other => Err(format!("`{other}` is no socket; expected listen:PATH, unix:PATH or datagrams:PATH")),
    }
}

/// The name of a socket of ours, which goes with it.
struct OnDisk(PathBuf);

impl Drop for OnDisk {
    fn drop(&mut self) {
        // Where it has gone already, that was meant.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A device on a socket that has a name.
struct Named {
    device: Box<dyn RealDevice>,
    _file: OnDisk,
}

impl RealDevice for Named {
    fn descriptors(&self) -> Descriptors<'_> {
        self.device.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        self.device.receive()
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        self.device.send(packet, to)
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.device.flush()
    }
}

/// A stream, or the wait for one: what is for the host meanwhile is lost, as on a line at whose end is nobody.
struct StreamPort {
    listener: UnixListener,
    frames: Option<Frames>,
    _file: OnDisk,
}

impl StreamPort {
    fn new(path: &Path) -> io::Result<Self> {
        let listener = line::listen_at(path)?;
        let file = OnDisk(path.to_owned());
        Ok(Self { listener, frames: None, _file: file })
    }

    /// The peer, where there is one.
    fn peer(&mut self) -> io::Result<Option<&mut Frames>> {
        if self.frames.is_none() {
            self.frames = match self.listener.accept() {
                Ok((stream, _)) => Some(Frames::stream(stream)?),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => None,
                Err(why) => return Err(why),
            };
        }
        Ok(self.frames.as_mut())
    }

    /// What the peer has done; where it has gone, another one may come.
    fn done<T>(&mut self, done: io::Result<T>, gone: T) -> T {
        done.unwrap_or_else(|_| {
            self.frames = None;
            gone
        })
    }
}

impl RealDevice for StreamPort {
    fn descriptors(&self) -> Descriptors<'_> {
        let waiting = Descriptors { read: Some(self.listener.as_fd()), write: None };
        self.frames.as_ref().map_or(waiting, RealDevice::descriptors)
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let Some(frames) = self.peer()? else {
            return Ok(None);
        };
        let done = frames.receive();
        Ok(self.done(done, None))
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        let Some(frames) = self.peer()? else {
            return Ok(Sent::Refused);
        };
        let done = frames.send(packet, to);
        Ok(self.done(done, Sent::Refused))
    }

    fn flush(&mut self) -> io::Result<bool> {
        let Some(frames) = &mut self.frames else {
            return Ok(false);
        };
        let done = frames.flush();
        Ok(self.done(done, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Message {
        Message::from_octets(&[7; 60])
    }

    #[test]
    fn one_peer_after_the_other_is_the_host() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("frames");
        let mut device = open(&format!("listen:{}", path.display())).unwrap();
        assert_eq!(device.send(&frame(), Address::NONE).unwrap(), Sent::Refused);
        for _ in 0..2 {
            let mut peer = Frames::stream(UnixStream::connect(&path).unwrap()).unwrap();
            // Who reads first knows that somebody is there.
            assert!(peer.receive().unwrap().is_none());
            assert_eq!(peer.send(&frame(), Address::NONE).unwrap(), Sent::Taken);
            peer.flush().unwrap();
            assert!(matches!(device.receive().unwrap(), Some(Arrival::Unit { data, .. }) if data.len() == 60));
            assert_eq!(device.send(&frame(), Address::NONE).unwrap(), Sent::Taken);
            device.flush().unwrap();
            assert!(matches!(peer.receive().unwrap(), Some(Arrival::Unit { data, .. }) if data.len() == 60));
            drop(peer);
            assert!(device.receive().unwrap().is_none());
        }
        drop(device);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_socket_is_refused() {
        for text in ["", "listen", "listen:", "udp:5000", "unix:/nowhere/at/all"] {
            assert!(open(text).is_err(), "{text}");
        }
    }
}
