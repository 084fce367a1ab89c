//! TCP sockets, in the shapes of `tokio::net`.

pub mod config;
mod halves;
mod listener;
mod socket;
mod split;
mod split_owned;
mod stream;

pub use listener::TcpListener;
pub use socket::TcpSocket;
pub use split::{ReadHalf, WriteHalf};
pub use split_owned::{OwnedReadHalf, OwnedWriteHalf, ReuniteError};
pub use stream::TcpStream;
