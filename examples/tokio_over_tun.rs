//! An echo server of tokio over our TCP/IP, on a TUN device, with Linux's sockets as the clients.
//!
//! ```text
//! cargo build -p kumiki-examples --example tokio_over_tun
//! unshare --user --map-root-user --net target/debug/examples/tokio_over_tun
//! ```
//!
//! It makes the device `kumiki0`, which takes the right to do so: that is why it runs in a network namespace of its
//! own. Linux gets 10.9.0.1, and our stack is 10.9.0.2, in a thread of its own. The server is a program of tokio on
//! several threads.

#![cfg(target_os = "linux")]

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::thread;

use kumiki_net::TcpListener;
use kumiki_net::host::{HostConfig, HostStack, Tun};

const MTU: u16 = 1500;

/// Sends back what comes, to each client on a task of its own, until it closes.
async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let (mut from, mut to) = stream.split();
            let _ = tokio::io::copy(&mut from, &mut to).await;
        });
    }
}

/// A client by the sockets of Linux: sends `octets`, ends its direction, and reads until the server ends the other.
fn client(octets: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut to = std::net::TcpStream::connect("10.9.0.2:7")?;
    let mut from = to.try_clone()?;
    let reader = thread::spawn(move || {
        let mut back = Vec::new();
        from.read_to_end(&mut back).map(|_| back)
    });
    to.write_all(octets)?;
    to.shutdown(Shutdown::Write)?;
    reader.join().map_err(|_| std::io::Error::other("the reader panicked"))?
}

fn main() -> Result<(), Box<dyn Error>> {
    let tun = Tun::open("kumiki0", MTU)?;
    tun.configure_kernel("10.9.0.1".parse()?, 24, MTU)?;
    let host = HostStack::start(Box::new(tun), &HostConfig::new(["10.9.0.2".parse()?]).mtu(MTU))?;

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let listener = runtime.block_on(host.stack().scope(TcpListener::bind("10.9.0.2:7")))?;
    let server = runtime.spawn(serve(listener));

    let octets: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let clients: Vec<_> = (0..4).map(|_| octets.clone()).map(|octets| thread::spawn(move || client(&octets))).collect();
    for client in clients {
        let back = client.join().map_err(|_| "a client panicked")??;
        if back != octets {
            return Err(format!("Linux read {} octets that are not those it sent", back.len()).into());
        }
        println!("Linux read {} octets, as it sent them", back.len());
    }
    server.abort();
    drop(runtime);
    println!("left over: {:?}", host.stack().counts());
    host.stop()?;
    Ok(())
}
