//! Halves that borrow their connection.

use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSlice, IoSliceMut};

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

use super::TcpStream;
use super::halves::{async_read, async_write, either, reading, writing};

/// The half that reads, from [`TcpStream::split`].
#[derive(Debug)]
pub struct ReadHalf<'a>(pub(super) &'a TcpStream);

/// The half that writes, from [`TcpStream::split`].
#[derive(Debug)]
pub struct WriteHalf<'a>(pub(super) &'a TcpStream);

impl ReadHalf<'_> {
    reading!();
    either!();
}

impl WriteHalf<'_> {
    writing!();
    either!();
}

async_read!(ReadHalf<'_>);
async_write!(WriteHalf<'_>, |half: Pin<&mut Self>| half.0.shut_write());
