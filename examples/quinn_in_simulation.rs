//! QUIC in a simulation: quinn at both ends, across 40 ms each way on which one packet in a hundred is lost.
//!
//! ```text
//! cargo run -p kumiki-examples --example quinn_in_simulation
//! ```
//!
//! quinn and rustls draw connection numbers and keys from the operating system, so the octets of two runs differ, and
//! with them `Net::digest`. Their lengths do not; what else quinn draws follows from `rng_seed`. So the times that are
//! printed are those of every run.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use kumiki_net::UdpSocket;
use kumiki_net::sim::{self, Link, Net};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig};

#[path = "shared/tls.rs"]
mod tls;

/// Each way.
const LATENCY: Duration = Duration::from_millis(40);

async fn endpoint(address: &str, server: Option<ServerConfig>) -> Result<Endpoint, Box<dyn Error>> {
    let mut config = EndpointConfig::default();
    config.rng_seed(Some([7; 32]));
    Ok(kumiki_net::quinn::endpoint(config, server, UdpSocket::bind(address).await?)?)
}

/// Answers what each stream brings with as many octets as that says.
async fn answer(connection: Connection) -> Result<(), Box<dyn Error>> {
    loop {
        let (mut to, mut from) = connection.accept_bi().await?;
        let wanted: usize = String::from_utf8(from.read_to_end(20).await?)?.parse()?;
        sim::spawn(async move {
            to.write_all(&vec![7; wanted]).await?;
            to.finish().map_err(std::io::Error::from)
        });
    }
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let crypto = QuicServerConfig::try_from(tls::server()?)?;
    let endpoint = endpoint("0.0.0.0:443", Some(ServerConfig::with_crypto(Arc::new(crypto)))).await?;
    while let Some(incoming) = endpoint.accept().await {
        sim::spawn(answer(incoming.await?));
    }
    Ok(())
}

fn say(what: &str) {
    println!("{:>12?} {what}", sim::time::elapsed());
}

async fn ask(connection: Connection, octets: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (mut to, mut from) = connection.open_bi().await?;
    to.write_all(octets.to_string().as_bytes()).await?;
    to.finish()?;
    say(&format!("{} octets have come", from.read_to_end(octets).await?.len()));
    Ok(())
}

async fn client() -> Result<(), Box<dyn Error>> {
    let endpoint = endpoint("0.0.0.0:0", None).await?;
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls::client()?)?));
    let server = kumiki_net::lookup_host("server:443").await?.find(|it| it.is_ipv4()).ok_or("no server")?;
    let connection = endpoint.connect_with(config, server, "server")?.await?;
    let took = sim::time::elapsed().as_secs_f64() / (2 * LATENCY).as_secs_f64();
    say(&format!("connected and encrypted, after {took:.1} round trips"));
    // All at once: none waits for what another has lost.
    let all = [10, 100_000, 1_000_000].map(|octets| sim::spawn(ask(connection.clone(), octets)));
    for one in all {
        one.await?.map_err(|error| error.to_string())?;
    }
    let path = connection.stats().path;
    say(&format!("its path carries {} octets, and took {:?}", path.current_mtu, path.rtt));
    connection.close(0u8.into(), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let net = Net::new(5); // the seed
    net.set_latency(LATENCY).set_link(&Link::new().loss(0.01));
    net.host("server").start(serve);
    net.host("client").run(client())??;
    println!("{:>12?} the end, after {} packets that no link lost", net.elapsed(), net.packets().0);
    Ok(())
}
