//! Halves that share their connection.

use core::fmt;
use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::Arc;

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

use super::TcpStream;
use super::halves::{async_read, async_write, either, reading, writing};

/// The half that reads, from [`TcpStream::into_split`].
#[derive(Debug)]
pub struct OwnedReadHalf(Arc<TcpStream>);

/// The half that writes, from [`TcpStream::into_split`]. Dropping it ends what is sent.
#[derive(Debug)]
pub struct OwnedWriteHalf(Arc<TcpStream>, bool);

pub(super) fn split(stream: TcpStream) -> (OwnedReadHalf, OwnedWriteHalf) {
    let stream = Arc::new(stream);
    (OwnedReadHalf(Arc::clone(&stream)), OwnedWriteHalf(stream, true))
}

/// The halves are not of one connection, and are given back.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these are halves that are not from the same socket")
    }
}

impl std::error::Error for ReuniteError {}

fn reunite(read: OwnedReadHalf, write: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
    if !Arc::ptr_eq(&read.0, &write.0) {
        return Err(ReuniteError(read, write));
    }
    write.forget();
    match Arc::try_unwrap(read.0) {
        Ok(stream) => Ok(stream),
        // Never: these two were all that had it, for halves cannot be copied.
        Err(shared) => Err(ReuniteError(OwnedReadHalf(Arc::clone(&shared)), OwnedWriteHalf(shared, true))),
    }
}

impl OwnedReadHalf {
    reading!();
    either!();

    /// Puts the halves together again.
    ///
    /// # Errors
    /// Where they are not of one connection; they are in the error.
    pub fn reunite(self, other: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        reunite(self, other)
    }
}

impl OwnedWriteHalf {
    writing!();
    either!();

    /// Puts the halves together again.
    ///
    /// # Errors
    /// As [`OwnedReadHalf::reunite`].
    pub fn reunite(self, other: OwnedReadHalf) -> Result<TcpStream, ReuniteError> {
        reunite(other, self)
    }

    /// Drops it without ending what is sent; that ends with the half that reads.
    pub fn forget(mut self) {
        self.1 = false;
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if self.1 {
            // Where it has ended already there is nothing to say.
            let _ = self.0.shut_write();
        }
    }
}

async_read!(OwnedReadHalf);
async_write!(OwnedWriteHalf, |mut half: Pin<&mut Self>| {
    let shut = half.0.shut_write();
    half.1 &= shut.is_err();
    shut
});
