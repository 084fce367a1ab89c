//! QUIC in a simulation, by noq: datagrams that are lost, a stream of which nothing is, and a partition.
//!
//! ```text
//! cargo run -p kumiki-examples --example noq_in_simulation
//! ```
//!
//! As with quinn, octets differ from run to run (keys and connection numbers are the operating system's), their lengths
//! and times do not: see `quinn_in_simulation`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use kumiki_net::UdpSocket;
use kumiki_net::sim::{self, Link, Net};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{ClientConfig, Endpoint, EndpointConfig, Incoming, ServerConfig};

#[path = "shared/tls.rs"]
mod tls;

async fn endpoint(address: &str, server: Option<ServerConfig>) -> Result<Endpoint, Box<dyn Error>> {
    let mut config = EndpointConfig::default();
    config.rng_seed(Some([7; 32]));
    Ok(kumiki_net::noq::endpoint(config, server, UdpSocket::bind(address).await?)?)
}

fn say(what: &str) {
    println!("{:>12?} {what}", sim::time::elapsed());
}

/// Counts datagrams until a stream comes, and answers by their number.
async fn count(incoming: Incoming) -> Result<(), Box<dyn Error>> {
    let connection = incoming.await?;
    let mut datagrams = 0;
    loop {
        tokio::select! {
            biased;
            datagram = connection.read_datagram() => datagrams += usize::from(!datagram?.is_empty()),
            stream = connection.accept_bi() => {
                let (mut to, mut from) = stream?;
                let octets = from.read_to_end(1_000_000).await?.len();
                to.write_all(format!("{datagrams} datagrams and {octets} octets").as_bytes()).await?;
                to.finish()?;
            }
        }
    }
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let crypto = QuicServerConfig::try_from(tls::server()?)?;
    let endpoint = endpoint("[::]:443", Some(ServerConfig::with_crypto(Arc::new(crypto)))).await?;
    while let Some(incoming) = endpoint.accept().await {
        sim::spawn(count(incoming));
    }
    Ok(())
}

async fn client() -> Result<(), Box<dyn Error>> {
    let endpoint = endpoint("[::]:0", None).await?;
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls::client()?)?));
    let server = kumiki_net::lookup_host("server:443").await?.next().ok_or("no server")?;
    let connection = endpoint.connect_with(config, server, "server")?.await?;
    say(&format!("connected to {server}"));
    for _ in 0..100 {
        connection.send_datagram(b"position"[..].into())?;
        sim::time::sleep(Duration::from_millis(10)).await;
    }
    say("100 datagrams have gone; now a stream, and a partition for three seconds");
    let network = Net::current().ok_or("no network")?;
    let (mut to, mut from) = connection.open_bi().await?;
    to.write_all(&[7; 100_000]).await?;
    to.finish()?;
    network.partition("client", "server");
    sim::time::sleep(Duration::from_secs(3)).await;
    network.repair_all();
    say("the network is whole again");
    let answer = from.read_to_end(100).await?;
    say(&format!("the server has {}", String::from_utf8_lossy(&answer)));
    connection.close(0u8.into(), b"done");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let net = Net::new(11); // the seed
    net.set_latency(Duration::from_millis(20)).set_link(&Link::new().loss(0.02));
    net.host("server").start(serve);
    net.host("client").run(client())?
}
