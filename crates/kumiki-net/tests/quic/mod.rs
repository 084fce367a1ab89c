//! A library of QUIC over the sockets, in virtual time: which one, the crate says.

use std::sync::Arc;
use std::time::Duration;

use kumiki_net::UdpSocket;
use kumiki_net::sim::{self, Link, Net};

use crate::library::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use crate::library::{
    ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, MtuDiscoveryConfig, ServerConfig,
    TransportConfig,
};
use crate::{lost, mtu, ours, tls};

const MS: Duration = Duration::from_millis(1);

/// What both ends have: probes for paths that carry 9000 octets, as some do.
fn transport() -> Arc<TransportConfig> {
    let mut probes = MtuDiscoveryConfig::default();
    probes.upper_bound(9000);
    let mut transport = TransportConfig::default();
    transport.mtu_discovery_config(Some(probes));
    Arc::new(transport)
}

async fn endpoint(address: &str, server: Option<ServerConfig>) -> Endpoint {
    let mut config = EndpointConfig::default();
    config.rng_seed(Some([7; 32])).max_udp_payload_size(9000).unwrap();
    ours::endpoint(config, server, UdpSocket::bind(address).await.unwrap()).unwrap()
}

async fn client(address: &str) -> Endpoint {
    endpoint(address, None).await
}

/// Calls the server, over IPv4 or IPv6.
async fn call(endpoint: &Endpoint, v6: bool) -> Result<Connection, ConnectionError> {
    let crypto = QuicClientConfig::try_from(tls::client().unwrap()).unwrap();
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport());
    let server = kumiki_net::lookup_host("server:443").await.unwrap().find(|it| it.is_ipv6() == v6).unwrap();
    endpoint.connect_with(config, server, "server").unwrap().await
}

/// Sends back what each stream brings.
async fn echo() {
    let crypto = QuicServerConfig::try_from(tls::server().unwrap()).unwrap();
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport());
    let endpoint = endpoint("[::]:443", Some(config)).await;
    while let Some(incoming) = endpoint.accept().await {
        sim::spawn(async move {
            let connection = incoming.await.unwrap();
            while let Ok((mut to, mut from)) = connection.accept_bi().await {
                sim::spawn(async move {
                    let what = from.read_to_end(10_000_000).await.unwrap();
                    to.write_all(&what).await.unwrap();
                    let _ = to.finish();
                });
            }
        });
    }
}

/// What comes back on a stream of its own.
async fn ask(connection: &Connection, octets: usize, with: u8) -> Vec<u8> {
    let (mut to, mut from) = connection.open_bi().await.unwrap();
    to.write_all(&vec![with; octets]).await.unwrap();
    to.finish().unwrap();
    from.read_to_end(octets).await.unwrap()
}

fn net(loss: f64) -> Net {
    let net = Net::new(3);
    net.set_latency(20 * MS).set_link(&Link::new().loss(loss).rate(50_000_000));
    net.host("server").start(echo);
    net
}

/// One long stream, by which everything was lost that can be; when it was done, and after how many packets.
fn lossy() -> (Duration, u64) {
    let net = net(0.05);
    let (what, lost) = net
        .host("client")
        .run(async {
            let endpoint = client("0.0.0.0:0").await;
            let connection = call(&endpoint, false).await.unwrap();
            (ask(&connection, 300_000, 7).await, lost(&connection))
        })
        .unwrap();
    assert_eq!(what, vec![7; 300_000]);
    assert!(lost > 0);
    (net.elapsed(), net.packets().0)
}

#[test]
fn what_is_lost_comes_again_and_at_the_same_times_in_each_run() {
    assert_eq!(lossy(), lossy());
}

#[test]
fn a_hundred_streams_and_ten_connections_at_once_over_either_version_of_ip() {
    let done = net(0.01).host("client").run(async {
        let endpoint = client("[::]:0").await;
        let mut tasks = Vec::new();
        for number in 0..10 {
            let connection = call(&endpoint, number % 2 == 0).await.unwrap();
            for with in 0..100 {
                let connection = connection.clone();
                tasks.push(sim::spawn(async move { ask(&connection, 1000, with).await == vec![with; 1000] }));
            }
        }
        for task in tasks {
            assert!(task.await.unwrap());
        }
    });
    done.unwrap();
}

#[test]
fn datagrams_are_as_long_as_the_path_carries_and_no_longer() {
    let done = net(0.0).host("client").run(async {
        let endpoint = client("0.0.0.0:0").await;
        let connection = call(&endpoint, false).await.unwrap();
        ask(&connection, 100_000, 1).await;
        sim::time::sleep(20_000 * MS).await;
        mtu(&connection)
    });
    let mtu = done.unwrap();
    // 1500, less the headers of IPv4 and UDP; the search stops within a few octets of that. A datagram in fragments
    // would have come at any length.
    assert!((1440..=1472).contains(&mtu), "{mtu}");
}

#[test]
fn a_server_that_crashes_is_missed() {
    let net = net(0.0);
    let told = net.host("client").run(async {
        let endpoint = client("0.0.0.0:0").await;
        let connection = call(&endpoint, false).await.unwrap();
        Net::current().unwrap().find("server").unwrap().crash();
        (connection.closed().await, sim::time::elapsed())
    });
    let (why, at) = told.unwrap();
    assert_eq!(why, ConnectionError::TimedOut);
    // The limit unless another is set: half a minute without a sign of life.
    assert!((30_000 * MS..31_000 * MS).contains(&at), "{at:?}");
}

#[test]
fn whoever_has_an_endpoint_of_a_host_that_crashed_is_told() {
    let net = net(0.0);
    let told = net.run(async {
        let client_host = Net::current().unwrap().host("client");
        let connection = client_host.spawn(async {
            let endpoint = client("0.0.0.0:0").await;
            (call(&endpoint, false).await.unwrap(), endpoint)
        });
        let (connection, endpoint) = connection.await.unwrap();
        client_host.crash();
        let why = connection.closed().await;
        drop(endpoint);
        (why, sim::time::elapsed())
    });
    let (why, at) = told.unwrap();
    assert_eq!(why, ConnectionError::LocallyClosed);
    assert!(at < 1000 * MS, "{at:?}");
}
