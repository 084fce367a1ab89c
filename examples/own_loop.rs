//! A TCP/IP in a program's own runtime, without a thread of its own.
//!
//! ```text
//! cargo run -p kumiki-examples --example own_loop
//! ```
//!
//! Two hosts live in one runtime of tokio, joined by Ethernet frames on a Unix socket, as QEMU and passt have them: the
//! other end may as well be a virtual machine.

#![cfg(target_os = "linux")]

use std::error::Error;
use std::io;
use std::os::unix::net::UnixStream;

use kumiki_net::host::{Frames, HostConfig, HostDriver};
use kumiki_net::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn host(number: u8, socket: UnixStream) -> io::Result<HostDriver> {
    let config = HostConfig::new([[10, 0, 0, number].into()]).ethernet([2, 0, 0, 0, 0, number]);
    HostDriver::new(Box::new(Frames::stream(socket)?), &config)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (one, other) = UnixStream::pair()?;
    let (server, client) = (host(1, one)?, host(2, other)?);
    let listener = server.stack().scope(TcpListener::bind("10.0.0.1:80")).await?;
    let stack = client.stack().clone();
    tokio::spawn(server.drive());
    tokio::spawn(client.drive());
    tokio::spawn(async move {
        let (mut stream, peer) = listener.accept().await?;
        stream.write_all(format!("hello, {}\n", peer.ip()).as_bytes()).await
    });
    let mut answer = String::new();
    stack.scope(TcpStream::connect("10.0.0.1:80")).await?.read_to_string(&mut answer).await?;
    print!("{answer}");
    Ok(())
}
