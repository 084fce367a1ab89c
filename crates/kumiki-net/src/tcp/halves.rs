//! What the two kinds of halves have in common: each hands on to its connection.

/// The methods of a half that reads; `.$stream` is its connection.
macro_rules! reading {
    () => {
        /// As [`TcpStream::poll_peek`].
        ///
        /// # Errors
        /// As there.
        pub fn poll_peek(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
            self.0.poll_peek(cx, buf)
        }

        /// As [`TcpStream::peek`].
        ///
        /// # Errors
        /// As there.
        pub async fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.0.peek(buf).await
        }

        /// As [`TcpStream::readable`].
        ///
        /// # Errors
        /// As there.
        pub async fn readable(&self) -> io::Result<()> {
            self.0.readable().await
        }

        /// As [`TcpStream::try_read`].
        ///
        /// # Errors
        /// As there.
        pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
            self.0.try_read(buf)
        }

        /// As [`TcpStream::try_read_vectored`].
        ///
        /// # Errors
        /// As there.
        pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            self.0.try_read_vectored(bufs)
        }

        /// As [`TcpStream::try_read_buf`].
        ///
        /// # Errors
        /// As there.
        pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            self.0.try_read_buf(buf)
        }
    };
}

/// The methods of a half that writes.
macro_rules! writing {
    () => {
        /// As [`TcpStream::writable`].
        ///
        /// # Errors
        /// As there.
        pub async fn writable(&self) -> io::Result<()> {
            self.0.writable().await
        }

        /// As [`TcpStream::try_write`].
        ///
        /// # Errors
        /// As there.
        pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
            self.0.try_write(buf)
        }

        /// As [`TcpStream::try_write_vectored`].
        ///
        /// # Errors
        /// As there.
        pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
            self.0.try_write_vectored(bufs)
        }
    };
}

/// The methods of every half.
macro_rules! either {
    () => {
        /// As [`TcpStream::ready`].
        ///
        /// # Errors
        /// As there.
        pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            self.0.ready(interest).await
        }

        /// As [`TcpStream::peer_addr`].
        ///
        /// # Errors
        /// As there.
        pub fn peer_addr(&self) -> io::Result<SocketAddr> {
            self.0.peer_addr()
        }

        /// As [`TcpStream::local_addr`].
        ///
        /// # Errors
        /// As there.
        pub fn local_addr(&self) -> io::Result<SocketAddr> {
            self.0.local_addr()
        }
    };
}

/// What tokio's traits ask of a half that reads.
macro_rules! async_read {
    ($half:ty) => {
        impl AsyncRead for $half {
            fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
                self.0.poll_read_into(cx, buf)
            }
        }

        impl AsRef<TcpStream> for $half {
            fn as_ref(&self) -> &TcpStream {
                &self.0
            }
        }
    };
}

/// What tokio's traits ask of a half that writes; `$shut` sends no more.
macro_rules! async_write {
    ($half:ty, $shut:expr) => {
        impl AsyncWrite for $half {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.0.poll_write_from(cx, [buf])
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.0.poll_write_from(cx, bufs.iter().map(|it| &**it))
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready($shut(self))
            }
        }

        impl AsRef<TcpStream> for $half {
            fn as_ref(&self) -> &TcpStream {
                &self.0
            }
        }
    };
}

pub(super) use {async_read, async_write, either, reading, writing};
