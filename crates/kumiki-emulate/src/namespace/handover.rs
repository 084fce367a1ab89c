//! A descriptor and a few words between two processes, over a socket that both have.
//!
//! | | |
//! |---|---|
//! | Specification | `unix(7)`: `SCM_RIGHTS`, on a socket that keeps messages apart (`SOCK_SEQPACKET`) |
//! | A message | its first octet says what it is; text may follow; a descriptor may come with it |

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kumiki_io::shared::handover;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// The longest text of a message; what is beyond is left out.
const TEXT: usize = 4096;

/// What one process tells the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// To the child: its standard input.
    Input,
    /// To the parent: the device.
    Device,
    /// To the parent: the network in which the device is.
    Network,
    /// To the parent: where the kernel tells the connections there, by one version of IP; no descriptor where that is
    /// not there.
    Connections,
    /// To the parent: why there is none.
    Failed,
    /// To the child: it may begin.
    Go,
}

impl Kind {
    const fn octet(self) -> u8 {
        match self {
            Self::Input => b'I',
            Self::Device => b'D',
            Self::Network => b'N',
            Self::Connections => b'C',
            Self::Failed => b'F',
            Self::Go => b'G',
        }
    }

    fn of(octet: u8) -> Option<Self> {
        [Self::Input, Self::Device, Self::Network, Self::Connections, Self::Failed, Self::Go]
            .into_iter()
            .find(|kind| kind.octet() == octet)
    }
}

/// A message.
#[derive(Debug)]
pub(super) struct HandoverMessage {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) descriptor: Option<OwnedFd>,
}

/// Two sockets, one for each process. Both close when another program is executed.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message.
pub(super) fn tell(socket: impl AsFd, kind: Kind, text: &str, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let text = text.as_bytes();
    let text = text.get(..text.len().min(TEXT)).unwrap_or_default();
    handover::send(socket, &[&[kind.octet()], text], descriptor).map(drop)
}

/// Waits for the next message; `None` where the other process has gone.
pub(super) fn hear(socket: impl AsFd) -> io::Result<Option<HandoverMessage>> {
    let mut message = [0; 1 + TEXT];
    let (len, descriptor) = handover::receive(socket, &mut message)?;
    let Some((first, text)) = message.get(..len).and_then(<[u8]>::split_first) else {
        return Ok(None);
    };
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "an unexpected message");
    let kind = Kind::of(*first).ok_or_else(wrong)?;
    let text = String::from_utf8_lossy(text).into_owned();
    Ok(Some(HandoverMessage { kind, text, descriptor }))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use rustix::net::SendFlags;

    use super::*;

    #[test]
    fn a_descriptor_and_its_words_arrive_together() {
        let (near, far) = pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        tell(&near, Kind::Device, "tun", Some(writer.as_fd())).unwrap();
        drop(writer);
        tell(&near, Kind::Go, "", None).unwrap();
        let told = hear(&far).unwrap().unwrap();
        assert_eq!((told.kind, told.text.as_str()), (Kind::Device, "tun"));
        std::fs::File::from(told.descriptor.unwrap()).write_all(b"through").unwrap();
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "through");
        let told = hear(&far).unwrap().unwrap();
        assert!(told.kind == Kind::Go && told.descriptor.is_none());
        drop(near);
        assert!(hear(&far).unwrap().is_none());
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_and_others_are_refused() {
        let (near, far) = pair().unwrap();
        tell(&near, Kind::Failed, &"x".repeat(2 * TEXT), None).unwrap();
        assert_eq!(hear(&far).unwrap().unwrap().text.len(), TEXT);
        rustix::net::send(&near, b"?", SendFlags::empty()).unwrap();
        assert!(hear(&far).is_err());
    }
}
