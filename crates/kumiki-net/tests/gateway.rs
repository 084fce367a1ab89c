//! A gateway between hosts in virtual time: what goes wrong with gateways elsewhere, case by case.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kumiki_net::sim::{self, Host, Net, Packet, Verdict};
use kumiki_net::{Flow, Gateway, GatewayConfig, Refusal, Stack, TcpListener, TcpOffer, TcpStream, UdpFlow, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::time::{Instant, sleep, timeout};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Connects who calls any address with the same port of the server, as a proxy does.
async fn relay(offer: TcpOffer) {
    let to = format!("server:{}", offer.destination().port());
    match TcpStream::connect(to).await {
        Ok(mut upstream) => {
            let Ok(mut stream) = offer.accept() else {
                return;
            };
            if copy_bidirectional(&mut stream, &mut upstream).await.is_err() {
                for stream in [stream, upstream] {
                    stream.set_zero_linger().unwrap();
                }
            }
        }
        Err(error) => offer.refuse(Refusal::from(&error)),
    }
}

async fn echo_flow(mut flow: UdpFlow) {
    let mut buffer = [0; 2048];
    while let Ok(octets) = flow.recv(&mut buffer).await {
        flow.send(&buffer[..octets]).await.unwrap();
    }
}

async fn proxy() {
    let mut gateway = Stack::current().unwrap().gateway().unwrap();
    while let Ok(flow) = gateway.accept_any().await {
        match flow {
            Flow::Tcp(offer) => drop(sim::spawn(relay(offer))),
            Flow::Udp(flow) => drop(sim::spawn(echo_flow(flow))),
        }
    }
}

/// A network with a client, a server, and a proxy for all other addresses.
fn proxied(seed: u64) -> (Net, Host, Host) {
    let net = Net::new(seed);
    let (client, gateway, _server) = (net.host("client"), net.gateway("gateway").unwrap(), net.host("server"));
    gateway.start(proxy);
    (net, client, gateway)
}

/// A network with a client and a gateway that the test itself works.
fn by_hand(seed: u64) -> (Net, Host, Host) {
    let net = Net::new(seed);
    let (client, gateway) = (net.host("client"), net.gateway("gateway").unwrap());
    (net, client, gateway)
}

async fn offered(gateway: &mut Gateway) -> TcpOffer {
    match gateway.accept_any().await.unwrap() {
        Flow::Tcp(offer) => offer,
        Flow::Udp(flow) => panic!("{flow:?}"),
    }
}

async fn sent_to(gateway: &mut Gateway) -> UdpFlow {
    match gateway.accept_any().await.unwrap() {
        Flow::Udp(flow) => flow,
        Flow::Tcp(offer) => panic!("{offer:?}"),
    }
}

fn is_empty(host: &Host) -> bool {
    let counts = host.stack().counts();
    (counts.streams, counts.orphans, counts.offers, counts.flows) == (0, 0, 0, 0)
}

/// Waits for the end of what comes, as many servers do, and sends it back.
async fn echo_all(port: u16) {
    let listener = TcpListener::bind(("0.0.0.0", port)).await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        sim::spawn(async move {
            let mut all = Vec::new();
            if stream.read_to_end(&mut all).await.is_ok() {
                stream.write_all(&all).await.unwrap();
            }
        });
    }
}

/// Makes so many connections through a proxy, each of which ends, and of ten one by a reset: none of them leaves
/// anything.
fn none_is_left(times: u32) {
    let (net, client, gateway) = proxied(1);
    let server = net.host("server");
    server.start(|| echo_all(80));
    let own = gateway.addresses();
    let to = ["203.0.113.9:80".to_owned(), "[2001:db8::9]:80".to_owned(), format!("{}:80", own[0])];
    let (run, here) = (net.clone(), client.clone());
    client
        .run(async move {
            let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
            for (n, to) in (0..times).zip(to.iter().cycle()) {
                let mut stream = TcpStream::connect(to).await.unwrap();
                assert_eq!(stream.peer_addr().unwrap().to_string(), *to);
                let begun = Instant::now();
                stream.write_all(&[7; 208]).await.unwrap();
                if n % 10 == 9 {
                    stream.set_zero_linger().unwrap();
                    continue;
                }
                stream.shutdown().await.unwrap();
                let mut back = Vec::new();
                stream.read_to_end(&mut back).await.unwrap();
                assert_eq!(back, [7; 208]);
                assert!(begun.elapsed() < 10 * MS, "{:?}", begun.elapsed());
                // A port is free again after a minute, and there are some ten thousand.
                sleep(5 * MS).await;
            }
            sleep(SECOND).await;
            for host in [&gateway, &here, &server] {
                assert!(is_empty(host), "{host:?}: {:?}", host.stack().counts());
            }
            assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), tasks);
            println!("{times} connections in {:?} of virtual time: {:?}", run.elapsed(), gateway.stack().counts());
        })
        .unwrap();
}

// Z1, Z3, Z16.
#[test]
fn both_directions_end_by_themselves_and_nothing_is_left() {
    none_is_left(600);
}

// Z1 at full size.
#[test]
#[ignore = "20 s; `cargo test -p kumiki-net --test sim -- gateway --ignored --nocapture`"]
fn a_hundred_thousand_connections_leave_nothing() {
    none_is_left(100_000);
}

/// Does so many times all that ends in the other direction, or is not answered, or is given up.
fn all_others_leave_nothing(times: u32) {
    let (net, client, gateway) = proxied(1);
    let server = net.host("server");
    server.start(|| echo_all(83));
    // It ends first, and reads to the end then; or resets.
    for (port, resets) in [(80, false), (81, true)] {
        server.start(move || async move {
            let listener = TcpListener::bind(("0.0.0.0", port)).await.unwrap();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                sim::spawn(async move {
                    stream.write_all(b"hello").await.unwrap();
                    if resets {
                        stream.read_u8().await.unwrap();
                        return stream.set_zero_linger().unwrap();
                    }
                    stream.shutdown().await.unwrap();
                    assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap(), 4096);
                });
            }
        });
    }
    let here = client.clone();
    client
        .run(async move {
            let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
            for n in 0..times {
                let host = if n % 2 == 0 { "8.8.8.8" } else { "2001:db8::8" };
                // Z2 and Z3 the other way round.
                let mut stream = TcpStream::connect((host, 80)).await.unwrap();
                let mut hello = Vec::new();
                stream.read_to_end(&mut hello).await.unwrap();
                assert_eq!(hello, b"hello");
                stream.write_all(&[7; 4096]).await.unwrap();
                drop(stream);
                // A reset that comes from there.
                let mut stream = TcpStream::connect((host, 81)).await.unwrap();
                stream.read_exact(&mut [0; 5]).await.unwrap();
                stream.write_u8(0).await.unwrap();
                assert_eq!(stream.read(&mut [0]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
                // Z8, and Z10: who has given up before it is answered.
                let refused = TcpStream::connect((host, 82)).await.unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
                assert!(timeout(MS, TcpStream::connect((host, 83))).await.is_err());
                // A flow, which ends with the proxy's patience.
                if n % 100 == 0 {
                    let socket = UdpSocket::bind(if n % 200 == 0 { "0.0.0.0:0" } else { "[::]:0" }).await.unwrap();
                    let host = if n % 200 == 0 { "8.8.8.8" } else { "2001:db8::8" };
                    socket.send_to(b"x", (host, 53)).await.unwrap();
                    socket.recv(&mut [0]).await.unwrap();
                }
                sleep(10 * MS).await;
            }
            // Of a flow that is idle five minutes.
            sleep(600 * SECOND).await;
            for host in [&gateway, &here, &server] {
                assert!(is_empty(host), "{host:?}: {:?}", host.stack().counts());
            }
            assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), tasks);
            println!(
                "{times} times all others in {:?} of virtual time: {:?}",
                sim::time::elapsed(),
                gateway.stack().counts()
            );
        })
        .unwrap();
}

// Z2, Z3, Z8, Z10.
#[test]
fn who_ends_first_resets_is_refused_or_gives_up_leaves_nothing_either() {
    all_others_leave_nothing(100);
}

// The same at full size.
#[test]
#[ignore = "10 s; `cargo test -p kumiki-net --test sim -- gateway --ignored --nocapture`"]
fn ten_thousand_times_all_others_leave_nothing() {
    all_others_leave_nothing(10_000);
}

// Z2.
#[test]
fn the_answer_comes_after_the_client_has_ended_its_direction() {
    let (net, client, _) = proxied(1);
    net.host("server").start(|| async {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&[1; 4]).await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        sleep(5 * SECOND).await;
        stream.write_all(&vec![9; 1 << 20]).await.unwrap();
    });
    client
        .run(async {
            let mut stream = TcpStream::connect("8.8.8.8:80").await.unwrap();
            stream.write_all(b"request").await.unwrap();
            stream.shutdown().await.unwrap();
            let mut back = Vec::new();
            stream.read_to_end(&mut back).await.unwrap();
            assert_eq!(back.len(), 4 + (1 << 20));
        })
        .unwrap();
}

// Z4.
#[test]
fn what_the_gateway_writes_goes_at_once_though_nothing_else_comes() {
    let (_net, client, gateway) = by_hand(1);
    gateway.start(|| async {
        let mut gateway = Stack::current().unwrap().gateway().unwrap();
        let mut stream = offered(&mut gateway).await.accept().unwrap();
        sleep(60 * SECOND).await;
        stream.write_all(b"x").await.unwrap();
    });
    client
        .run(async {
            let mut stream = TcpStream::connect("8.8.8.8:80").await.unwrap();
            let begun = Instant::now();
            stream.read_exact(&mut [0]).await.unwrap();
            assert!(begun.elapsed() < 60 * SECOND + 10 * MS);
        })
        .unwrap();
}

// Z7.
#[test]
fn a_slow_reader_gets_every_octet() {
    let (net, client, _) = proxied(1);
    let all: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let sent = all.clone();
    net.host("server").start(move || {
        let sent = sent.clone();
        async move {
            let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(&sent).await.unwrap();
        }
    });
    client
        .run(async {
            let mut stream = TcpStream::connect("8.8.8.8:80").await.unwrap();
            let (mut back, mut piece) = (Vec::new(), vec![0; 100_000]);
            sleep(60 * SECOND).await;
            loop {
                let octets = stream.read(&mut piece).await.unwrap();
                if octets == 0 {
                    break;
                }
                back.extend_from_slice(&piece[..octets]);
                sleep(100 * MS).await;
            }
            assert!(back == all);
        })
        .unwrap();
}

// Z8.
#[test]
fn who_calls_what_nobody_has_is_refused_and_never_accepted() {
    let (_net, client, gateway) = proxied(1);
    client
        .run(async {
            let error = TcpStream::connect("8.8.8.8:81").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            assert!(is_empty(&gateway));
        })
        .unwrap();
}

// Z9.
#[test]
fn a_call_is_not_answered_before_its_offer_is_and_its_repetitions_are_one() {
    let (_net, client, host) = by_hand(1);
    client
        .run(async {
            let mut gateway = host.stack().gateway().unwrap();
            assert_eq!(host.stack().gateway().unwrap_err().kind(), ErrorKind::AddrInUse);
            let call = sim::spawn(TcpStream::connect("8.8.8.8:443"));
            let offer = offered(&mut gateway).await;
            assert_eq!(offer.destination().to_string(), "8.8.8.8:443");
            assert!(timeout(10 * SECOND, gateway.accept_any()).await.is_err(), "no second offer");
            assert!(!call.is_finished());
            let stream = offer.accept().unwrap();
            assert_eq!(stream.local_addr().unwrap().to_string(), "8.8.8.8:443");
            let peer = call.await.unwrap().unwrap();
            assert_eq!(stream.peer_addr().unwrap(), peer.local_addr().unwrap());
        })
        .unwrap();
}

#[test]
fn refusals_reach_the_caller() {
    let (_net, client, host) = by_hand(1);
    client
        .run(async {
            let mut gateway = host.stack().gateway().unwrap();
            for to in ["8.8.8.8:443", "[2001:db8::1]:443"] {
                for how in [Refusal::Reset, Refusal::PortUnreachable] {
                    let call = sim::spawn(TcpStream::connect(to));
                    offered(&mut gateway).await.refuse(how);
                    let refused = call.await.unwrap().unwrap_err();
                    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused, "{to} {how:?}");
                }
                let call = sim::spawn(TcpStream::connect(to));
                drop(offered(&mut gateway).await);
                assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::ConnectionRefused);
                // What was as if lost comes again.
                let call = sim::spawn(TcpStream::connect(to));
                offered(&mut gateway).await.refuse(Refusal::Silent);
                let again = timeout(2 * SECOND, offered(&mut gateway)).await.unwrap();
                again.accept().unwrap();
                call.await.unwrap().unwrap();
            }
            sleep(SECOND).await;
            drop(gateway);
            let error = TcpStream::connect("8.8.8.8:443").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "nobody has the gateway");
            host.stack().gateway().unwrap();
        })
        .unwrap();
}

#[test]
fn calls_beyond_the_bound_wait_and_are_heard_when_there_is_room() {
    let (_net, client, host) = by_hand(1);
    client
        .run(async {
            let mut config = GatewayConfig::default();
            config.offers = 2;
            let mut gateway = host.stack().gateway_with(config).unwrap();
            let calls: Vec<_> = (0..3).map(|_| sim::spawn(TcpStream::connect("8.8.8.8:443"))).collect();
            sleep(500 * MS).await;
            assert_eq!(host.stack().counts().offers, 2);
            for _ in &calls {
                offered(&mut gateway).await.accept().unwrap();
            }
            for call in calls {
                call.await.unwrap().unwrap();
            }
        })
        .unwrap();
}

// Z10.
#[test]
fn who_resets_the_answer_leaves_nothing_behind() {
    let (net, client, host) = by_hand(1);
    client
        .run(async {
            let mut gateway = host.stack().gateway().unwrap();
            for _ in 0..1000 {
                let call = sim::spawn(TcpStream::connect("8.8.8.8:443"));
                let offer = offered(&mut gateway).await;
                // It gives up; the answer finds nobody, and is reset.
                call.abort();
                let mut stream = offer.accept().unwrap();
                let error = stream.read(&mut [0]).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            }
            assert!(is_empty(&host), "{:?}", host.stack().counts());
            let call = sim::spawn(TcpStream::connect("8.8.8.8:443"));
            offered(&mut gateway).await.accept().unwrap();
            call.await.unwrap().unwrap();
        })
        .unwrap();
    drop(net);
}

// Z19: the sockets here take no descriptors; those of a proxy do, and may run out.
#[test]
fn who_finds_a_proxy_out_of_descriptors_is_refused_and_is_let_in_once_there_are_some() {
    const EMFILE: i32 = 24;
    const HAS: usize = 10;
    let net = Net::new(1);
    net.host("server").start(|| async {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            kept.push(stream);
        }
    });
    let used = Arc::new(AtomicUsize::new(0));
    let gateway = net.gateway("gateway").unwrap();
    let taken = Arc::clone(&used);
    gateway.start(move || {
        let used = Arc::clone(&taken);
        async move {
            let mut gateway = Stack::current().unwrap().gateway().unwrap();
            while let Ok(Flow::Tcp(offer)) = gateway.accept_any().await {
                if used.fetch_add(1, Ordering::Relaxed) >= HAS {
                    used.fetch_sub(1, Ordering::Relaxed);
                    offer.refuse(Refusal::from(&io::Error::from_raw_os_error(EMFILE)));
                    continue;
                }
                let used = Arc::clone(&used);
                sim::spawn(async move {
                    relay(offer).await;
                    used.fetch_sub(1, Ordering::Relaxed);
                });
            }
        }
    });
    net.host("client")
        .run(async {
            for _ in 0..3 {
                let calls: Vec<_> = (0..50).map(|_| sim::spawn(TcpStream::connect("8.8.8.8:80"))).collect();
                let mut streams = Vec::new();
                for call in calls {
                    match call.await.unwrap() {
                        Ok(stream) => streams.push(stream),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionRefused),
                    }
                }
                assert_eq!((streams.len(), used.load(Ordering::Relaxed)), (HAS, HAS));
                for stream in streams {
                    stream.set_zero_linger().unwrap();
                }
                sleep(SECOND).await;
                assert!(is_empty(&gateway), "{:?}", gateway.stack().counts());
            }
        })
        .unwrap();
}

// Z17, Z20.
#[test]
fn idle_connections_are_remembered_and_an_idle_gateway_does_nothing() {
    let (net, client, host) = by_hand(1);
    client
        .run(async {
            let mut gateway = host.stack().gateway().unwrap();
            let mut pairs = Vec::new();
            for _ in 0..10_000 {
                let call = sim::spawn(TcpStream::connect("8.8.8.8:443"));
                let stream = offered(&mut gateway).await.accept().unwrap();
                pairs.push((call.await.unwrap().unwrap(), stream));
            }
            sleep(SECOND).await;
            let before = net.digest();
            sleep(3600 * SECOND).await;
            assert_eq!(net.digest(), before, "nothing was sent");
            for (one, other) in &mut pairs {
                one.write_all(b"x").await.unwrap();
                other.read_exact(&mut [0]).await.unwrap();
            }
            for (one, mut other) in pairs {
                let reader = sim::spawn(async move { other.read(&mut [0]).await });
                one.set_zero_linger().unwrap();
                drop(one);
                assert_eq!(reader.await.unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
            }
            assert!(is_empty(&host));
        })
        .unwrap();
}

#[test]
fn flows_of_udp_are_told_apart_by_both_ends_and_answers_come_from_where_it_was_sent() {
    let (_net, client, _) = proxied(1);
    client
        .run(async {
            for (local, to) in
                [("0.0.0.0:0", ["9.9.9.9:53", "8.8.8.8:53"]), ("[::]:0", ["[2001:db8::1]:53", "[2001:db8::2]:9"])]
            {
                let socket = UdpSocket::bind(local).await.unwrap();
                for to in to {
                    for text in [b"one", b"two"] {
                        socket.send_to(text, to).await.unwrap();
                        let mut back = [0; 16];
                        let (octets, from) = socket.recv_from(&mut back).await.unwrap();
                        assert_eq!((&back[..octets], from.to_string()), (&text[..], to.to_owned()));
                    }
                }
            }
        })
        .unwrap();
}

#[test]
fn what_is_sent_faster_than_the_layers_take_it_is_lost_and_not_kept() {
    let (net, client, host) = by_hand(1);
    let carried = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&carried);
    net.rule(move |packet: &Packet| {
        counted.fetch_add(usize::from(packet.src.to_string() == "9.9.9.9"), Ordering::Relaxed);
        Verdict::Pass
    })
    .forget();
    client
        .run(async {
            let mut gateway = host.stack().gateway().unwrap();
            let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
            socket.send_to(b"x", "9.9.9.9:53").await.unwrap();
            let flow = sent_to(&mut gateway).await;
            for _ in 0..2000 {
                assert_eq!(flow.try_send(b"answer").unwrap(), 6);
            }
            sleep(SECOND).await;
            flow.try_send(b"later").unwrap();
            sleep(SECOND).await;
        })
        .unwrap();
    assert_eq!(carried.load(Ordering::Relaxed), 513);
}

#[test]
fn a_flow_is_refused_given_up_when_idle_and_gives_way_to_a_later_one() {
    let (_net, client, host) = by_hand(1);
    client
        .run(async {
            let mut config = GatewayConfig::default();
            config.flows = 2;
            let mut gateway = host.stack().gateway_with(config).unwrap();
            let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
            socket.connect("9.9.9.9:53").await.unwrap();
            socket.send(b"x").await.unwrap();
            sent_to(&mut gateway).await.refuse(Refusal::PortUnreachable);
            let refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
            assert!(socket.recv(&mut [0]).await.is_err_and(refused));
            let (mut flows, mut sockets) = (Vec::new(), Vec::new());
            for to in ["1.1.1.1:1", "1.1.1.1:2", "1.1.1.1:3"] {
                let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
                socket.send_to(b"x", to).await.unwrap();
                let mut flow = sent_to(&mut gateway).await;
                assert_eq!(flow.recv(&mut [0]).await.unwrap(), 1);
                flows.push(flow);
                sockets.push(socket);
            }
            let error = flows[0].recv(&mut [0]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
            sleep(200 * SECOND).await;
            flows[1].send(b"y").await.unwrap();
            let begun = Instant::now();
            assert_eq!(flows[2].recv(&mut [0]).await.unwrap_err().kind(), ErrorKind::TimedOut);
            assert!(begun.elapsed() >= 99 * SECOND && begun.elapsed() < 101 * SECOND, "{:?}", begun.elapsed());
            assert_eq!(flows[1].recv(&mut [0]).await.unwrap_err().kind(), ErrorKind::TimedOut);
            assert!(begun.elapsed() >= 299 * SECOND, "an answer is traffic too");
            drop(flows);
            assert!(is_empty(&host));
        })
        .unwrap();
}

#[test]
fn a_host_that_is_no_gateway_has_none() {
    let net = Net::new(1);
    let host = net.host("host");
    assert_eq!(host.stack().gateway().unwrap_err().kind(), ErrorKind::InvalidInput);
}
