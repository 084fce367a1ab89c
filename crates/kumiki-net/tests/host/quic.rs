//! quinn in real time: endpoints on two hosts, whose frames go through a socket of the machine.

use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::Arc;

use kumiki_net::UdpSocket;
use kumiki_net::host::{Frames, HostConfig, HostStack};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, MtuDiscoveryConfig, ServerConfig, TransportConfig};

use crate::tls;

const STREAMS: usize = 20;
const OCTETS: usize = 200_000;

/// Probes for what a line of 4000 octets carries.
fn transport() -> Arc<TransportConfig> {
    let mut probes = MtuDiscoveryConfig::default();
    probes.upper_bound(4000);
    let mut transport = TransportConfig::default();
    transport.mtu_discovery_config(Some(probes));
    Arc::new(transport)
}

async fn endpoint(host: &HostStack, address: &str, server: Option<ServerConfig>) -> Endpoint {
    let socket = host.stack().scope(UdpSocket::bind(address)).await.unwrap();
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(4000).unwrap();
    kumiki_net::quinn::endpoint(config, server, socket).unwrap()
}

/// Sends back what each stream of one connection brings.
async fn echo(endpoint: Endpoint) {
    let connection = endpoint.accept().await.unwrap().await.unwrap();
    while let Ok((mut to, mut from)) = connection.accept_bi().await {
        tokio::spawn(async move {
            let what = from.read_to_end(OCTETS).await.unwrap();
            to.write_all(&what).await.unwrap();
            to.finish().unwrap();
        });
    }
}

async fn ask(connection: Connection, with: u8) {
    let (mut to, mut from) = connection.open_bi().await.unwrap();
    to.write_all(&vec![with; OCTETS]).await.unwrap();
    to.finish().unwrap();
    assert_eq!(from.read_to_end(OCTETS).await.unwrap(), vec![with; OCTETS]);
}

async fn exchange([client, server]: [&HostStack; 2], to: &str) {
    let crypto = QuicServerConfig::try_from(tls::server().unwrap()).unwrap();
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport());
    let serves = tokio::spawn(echo(endpoint(server, to, Some(config)).await));
    let crypto = QuicClientConfig::try_from(tls::client().unwrap()).unwrap();
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport());
    let calls = endpoint(client, if to.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" }, None).await;
    let connection = calls.connect_with(config, to.parse().unwrap(), "server").unwrap().await.unwrap();
    let asks: Vec<_> = (0..STREAMS).map(|n| tokio::spawn(ask(connection.clone(), u8::try_from(n).unwrap()))).collect();
    for ask in asks {
        ask.await.unwrap();
    }
    let mtu = connection.stats().path.current_mtu;
    assert!((1400..=4000).contains(&mtu), "{mtu}");
    connection.close(0_u32.into(), b"done");
    calls.wait_idle().await;
    serves.await.unwrap();
}

#[test]
fn quinn_runs_over_stacks_in_real_time_over_both_versions_of_ip() {
    kumiki_watchdog::minute();
    let streams = <[_; 2]>::from(UnixStream::pair().unwrap()).map(|it| Frames::stream(it).unwrap());
    let datagrams = <[_; 2]>::from(UnixDatagram::pair().unwrap()).map(|it| Frames::datagrams(it).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for frames in [streams, datagrams] {
        let mut n = 0;
        let hosts = frames.map(|it| {
            n += 1;
            let own = [format!("10.0.0.{n}").parse().unwrap(), format!("fd00::{n}").parse().unwrap()];
            HostStack::start(Box::new(it), &HostConfig::new(own).mtu(4000).ethernet([2, 0, 0, 0, 0, n])).unwrap()
        });
        let [client, server] = &hosts;
        runtime.block_on(async {
            exchange([client, server], "10.0.0.2:443").await;
            exchange([client, server], "[fd00::2]:443").await;
            // The sockets of an endpoint go with its tasks, which end by themselves.
            while client.stack().counts().udp + server.stack().counts().udp > 0 {
                tokio::task::yield_now().await;
            }
        });
    }
}
