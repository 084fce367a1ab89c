//! Octets and a descriptor between two processes, over a Unix socket that both have.
//!
//! | | |
//! |---|---|
//! | Specification | `unix(7)`: `SCM_RIGHTS` |
//! | Left out | more than one descriptor at a time: what comes beyond the first is closed |

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Sends the parts as one message, and the descriptor with it. Says how many octets went, which a stream may cut short.
///
/// # Errors
/// Those of `sendmsg(2)`.
pub fn send(socket: impl AsFd, parts: &[&[u8]], descriptor: Option<BorrowedFd<'_>>) -> io::Result<usize> {
    let parts: Vec<IoSlice<'_>> = parts.iter().map(|it| IoSlice::new(it)).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    Ok(rustix::io::retry_on_intr(|| sendmsg(&socket, &parts, &mut beside, SendFlags::NOSIGNAL))?)
}

/// Waits for what comes next: how many octets of `buffer` it fills, and the descriptor that came with it. No octets:
/// the other process has gone.
///
/// # Errors
/// Those of `recvmsg(2)`; that of a process which may have no more descriptors, where one has come and finds no place.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let (octets, flags) = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(buffer)], &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Ok(read) => break (read.bytes, read.flags),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok((0, None)),
            Err(why) => return Err(why.into()),
        }
    };
    let descriptor = beside.drain().find_map(|message| {
        let RecvAncillaryMessage::ScmRights(mut descriptors) = message else { return None };
        descriptors.next()
    });
    // There is room for one, so that what was left out is one for which the process has no place.
    if descriptor.is_none() && flags.contains(ReturnFlags::CTRUNC) {
        return Err(rustix::io::Errno::MFILE.into());
    }
    Ok((octets, descriptor))
}
