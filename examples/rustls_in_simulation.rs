//! TLS in a simulation: rustls at both ends, across 40 ms each way on which one packet in a hundred is lost.
//!
//! ```text
//! cargo run -p kumiki-examples --example rustls_in_simulation
//! ```
//!
//! rustls draws its keys from the operating system, so the octets of two runs differ, and with them `Net::digest`.
//! Their lengths do not, and so neither do the packets that are lost and the times that are printed.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use kumiki_net::sim::{self, Link, Net};
use kumiki_net::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::{TlsAcceptor, TlsConnector};

#[path = "shared/tls.rs"]
mod tls;

/// Each way.
const LATENCY: Duration = Duration::from_millis(40);

/// Answers the number of octets that it is asked for.
async fn answer(stream: TcpStream, acceptor: TlsAcceptor) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = acceptor.accept(stream).await?;
    let wanted = stream.read_u32().await?;
    stream.write_all(&vec![7; wanted.try_into().unwrap_or_default()]).await?;
    stream.shutdown().await
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let acceptor = TlsAcceptor::from(Arc::new(tls::server()?));
    let listener = TcpListener::bind("0.0.0.0:443").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        sim::spawn(answer(stream, acceptor.clone()));
    }
}

fn say(what: &str) {
    println!("{:>12?} {what}", sim::time::elapsed());
}

async fn ask(octets: u32) -> Result<(), Box<dyn Error>> {
    let connector = TlsConnector::from(Arc::new(tls::client()?));
    let stream = TcpStream::connect("server:443").await?;
    // A question does not wait for the acknowledgment of the end of the handshake, which is as short.
    stream.set_nodelay(true)?;
    say("connected by TCP");
    let before = sim::time::elapsed();
    let mut stream = connector.connect("server".try_into()?, stream).await?;
    let took = (sim::time::elapsed() - before).as_secs_f64() / (2 * LATENCY).as_secs_f64();
    let (_, session) = stream.get_ref();
    let suite = session.negotiated_cipher_suite().and_then(|it| it.suite().as_str()).unwrap_or_default();
    say(&format!("{suite} is agreed on, {took:.1} round trips later"));
    stream.write_u32(octets).await?;
    let mut got = Vec::new();
    stream.read_to_end(&mut got).await?;
    say(&format!("{} octets have come", got.len()));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let net = Net::new(5); // the seed
    net.set_latency(LATENCY).set_link(&Link::new().loss(0.01));
    net.host("server").start(serve);
    net.host("client").run(async {
        for octets in [10, 100_000, 1_000_000] {
            ask(octets).await?;
        }
        Ok::<_, Box<dyn Error>>(())
    })??;
    println!("{:>12?} the end, after {} packets that no link lost", net.elapsed(), net.packets().0);
    Ok(())
}
