//! A host of several stacks, each with a queue of one device: whatever queue a packet comes by, it reaches the stack
//! whose it is.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;
use std::rc::Rc;
use std::time::Duration;

use kumiki_graph::Address;
use kumiki_io::{Arrival, Descriptors, Sent};
use kumiki_net::host::{Flow, HostConfig, HostDriver, HostStack, NullDevice, PacketStack, RealDevice, Refusal};
use kumiki_net::{Stack, TcpListener, TcpSocket, TcpStream, UdpSocket};
use kumiki_octets::Message;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::exchange::{Exchange, InTurn, Queues, error, fragments, sum};

const QUEUES: usize = 3;

fn host(n: u8) -> HostConfig {
    HostConfig::new([[10, 0, 0, n].into(), format!("fd00::{n}").parse().unwrap()])
}

/// Addresses, ports and protocol of a packet, the same in both directions. As with Linux a fragment has no ports.
type Pair = (BTreeSet<(IpAddr, [u8; 2])>, u8);

fn pair(packet: &[u8]) -> Pair {
    let v4 = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&packet[at..at + 4]).unwrap());
    let v6 = |at: usize| IpAddr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).unwrap());
    let is_v4 = packet[0] >> 4 == 4;
    let (ends, protocol, at) = if is_v4 { ([v4(12), v4(16)], packet[9], 20) } else { ([v6(8), v6(24)], packet[6], 40) };
    let has_ports = matches!(protocol, 6 | 17) && (!is_v4 || packet[6] & 0x3f == 0 && packet[7] == 0);
    let port = |at: usize| if has_ports { [packet[at], packet[at + 1]] } else { [0; 2] };
    (BTreeSet::from([(ends[0], port(at)), (ends[1], port(at + 2))]), protocol)
}

/// What was seen at the queues.
#[derive(Debug, Default)]
struct QueueUse {
    /// By which queues the packets of a flow left the host.
    left: BTreeMap<Pair, BTreeSet<usize>>,
    /// How many came by a queue, by those of the flow that had left before.
    strays: usize,
    /// And how many before any had left.
    first: usize,
}

/// Queues, and what was seen at them.
struct Watched<Q> {
    seen: Rc<RefCell<QueueUse>>,
    queues: Q,
}

impl<Q: Queues> Queues for Watched<Q> {
    fn came(&mut self, queue: usize, packet: &[u8]) {
        self.seen.borrow_mut().left.entry(pair(packet)).or_default().insert(queue);
        self.queues.came(queue, packet);
    }

    fn goes(&mut self, packet: &[u8]) -> usize {
        let queue = self.queues.goes(packet);
        let mut seen = self.seen.borrow_mut();
        match seen.left.get(&pair(packet)) {
            Some(left) => seen.strays += usize::from(!left.contains(&queue)),
            None => seen.first += 1,
        }
        queue
    }
}

/// As Linux has it (drivers/net/tun.c, `tun_automq_select_queue`): by the queue from which the flow was last written,
/// or else by a hash of it, which has nothing to do with ours.
#[derive(Default)]
struct Linux(BTreeMap<Pair, usize>);

impl Queues for Linux {
    fn came(&mut self, queue: usize, packet: &[u8]) {
        self.0.insert(pair(packet), queue);
    }

    fn goes(&mut self, packet: &[u8]) -> usize {
        let pair = pair(packet);
        let sum: usize = pair.0.iter().map(|(_, port)| usize::from(port[0]) + usize::from(port[1])).sum();
        self.0.get(&pair).copied().unwrap_or(sum % QUEUES)
    }
}

/// Host 0 of several queues, and one of one.
fn both<'a>(config: &HostConfig, in_turn: bool) -> (Exchange<'a>, Rc<RefCell<QueueUse>>) {
    let seen = Rc::new(RefCell::new(QueueUse::default()));
    let all = Exchange::new([&config.clone().queues(QUEUES), &host(2)]);
    let own = Rc::clone(&seen);
    let all = if in_turn {
        all.by_queues(QUEUES, Watched { seen: own, queues: InTurn::of(QUEUES) })
    } else {
        all.by_queues(QUEUES, Watched { seen: own, queues: Linux::default() })
    };
    (all, seen)
}

/// `call` and `answer` are connected: each sends `len` octets that are not those of any other connection, and both end.
async fn talk(call: &mut TcpStream, answer: &mut TcpStream, len: usize) {
    let content = |stream: &TcpStream| {
        let port = stream.local_addr().unwrap().port();
        (0..len).map(|n| u8::try_from((n + usize::from(port)) % 251).unwrap()).collect::<Vec<_>>()
    };
    let (to, back) = (content(call), content(answer));
    let side = async |stream: &mut TcpStream, out: &[u8]| {
        let (mut read, mut write) = stream.split();
        let mut all = Vec::new();
        let write = async {
            write.write_all(out).await.unwrap();
            write.shutdown().await.unwrap();
        };
        tokio::join!(write, async { read.read_to_end(&mut all).await.unwrap() });
        all
    };
    let (came_back, came) = tokio::join!(side(call, &to), side(answer, &back));
    assert!(came == to && came_back == back);
}

/// So many connections from one stack to a listener of the other, all open at once.
async fn connections(listens: &Stack, calls: &Stack, at: &str, number: usize) -> Vec<(TcpStream, TcpStream)> {
    let listener = listens.scope(TcpListener::bind(at)).await.unwrap();
    let mut all = Vec::new();
    for _ in 0..number {
        let call = calls.scope(TcpStream::connect(at));
        let (call, accepted) = tokio::join!(call, listener.accept());
        let (call, (accepted, from)) = (call.unwrap(), accepted.unwrap());
        assert_eq!(from, call.local_addr().unwrap());
        all.push((call, accepted));
    }
    all
}

#[test]
fn a_connection_is_of_one_stack_whatever_queue_its_packets_come_by() {
    for in_turn in [true, false] {
        let (mut all, seen) = both(&host(1), in_turn);
        let [several, one] = all.hosts.each_ref().map(|it| it.stack().clone());
        all.run(async {
            for (own, peer) in [("10.0.0.1:7", "10.0.0.2:7"), ("[fd00::1]:7", "[fd00::2]:7")] {
                let mut called = connections(&several, &one, own, 12).await;
                let mut calls = connections(&one, &several, peer, 12).await;
                assert_eq!(several.counts().streams, 24);
                for (call, answer) in called.iter_mut().chain(&mut calls) {
                    talk(call, answer, 20_000).await;
                }
            }
        });
        all.pass(Duration::from_secs(600));
        assert_eq!(several.counts(), kumiki_net::SocketCounts::default());
        let seen = seen.borrow();
        let queues: Vec<usize> = seen.left.values().flatten().copied().collect();
        assert_eq!((seen.left.len(), queues.len()), (48, 48), "a flow leaves by one queue");
        // Of 24 that are called, an even share is 8; calls have turns.
        assert!((0..QUEUES).all(|queue| queues.iter().filter(|it| **it == queue).count() > 9), "{queues:?}");
        if in_turn {
            assert!(seen.strays > 500, "{}", seen.strays);
        } else {
            assert_eq!((seen.first, seen.strays), (24, 0), "the SYNs alone come by chance");
        }
    }
}

#[test]
fn what_comes_for_nobody_is_refused() {
    let (mut all, _) = both(&host(1), true);
    let [several, one] = all.hosts.each_ref().map(|it| it.stack().clone());
    all.run(async {
        for at in ["10.0.0.1:9", "[fd00::1]:9"] {
            let refused = one.scope(TcpStream::connect(at)).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
            let any = if at.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
            let socket = one.scope(UdpSocket::bind(any)).await.unwrap();
            socket.connect(at).await.unwrap();
            socket.send(b"is anybody there?").await.unwrap();
            assert_eq!(socket.recv(&mut [0; 9]).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        }
    });
    assert_eq!(several.counts(), kumiki_net::SocketCounts::default());
}

#[test]
fn fragments_of_one_packet_that_come_by_different_queues_find_each_other() {
    let (all, seen) = both(&host(1), true);
    let (mut turned, mut number) = (false, 0_u16);
    let mut all = all.through(move |from, mut packet| {
        if from == 1 {
            // What must not be fragmented has no identification of its own (RFC 6864).
            number += 1;
            packet[4..6].copy_from_slice(&number.to_be_bytes());
        }
        let mut pieces = if from == 1 { fragments(&packet, 400) } else { vec![packet] };
        // The first comes last now and then.
        turned ^= true;
        if turned {
            pieces.reverse();
        }
        pieces
    });
    let [several, one] = all.hosts.each_ref().map(|it| it.stack().clone());
    all.run(async {
        for (mut call, mut answer) in connections(&several, &one, "10.0.0.1:7", 8).await {
            talk(&mut call, &mut answer, 20_000).await;
        }
        let sink = several.scope(UdpSocket::bind("0.0.0.0:5")).await.unwrap();
        let source = one.scope(UdpSocket::bind("0.0.0.0:6")).await.unwrap();
        for n in 0..20 {
            source.send_to(&[n; 1400], "10.0.0.1:5").await.unwrap();
            let mut octets = [0; 1500];
            let (len, from) = sink.recv_from(&mut octets).await.unwrap();
            assert_eq!((&octets[..len], from), (&[n; 1400][..], "10.0.0.2:6".parse().unwrap()));
        }
    });
    assert!(seen.borrow().first > 100);
}

#[test]
fn a_udp_socket_gets_what_comes_by_any_queue_and_answers_by_one() {
    let (mut all, seen) = both(&host(1), true);
    let [several, one] = all.hosts.each_ref().map(|it| it.stack().clone());
    all.run(async {
        let own = several.scope(UdpSocket::bind("[::]:5")).await.unwrap();
        let other = several.scope(UdpSocket::bind("[::]:0")).await.unwrap();
        let peer = one.scope(UdpSocket::bind("[::]:6")).await.unwrap();
        let mut octets = [0; 9];
        for at in ["10.0.0.1:5", "[fd00::1]:5"] {
            for _ in 0..2 * QUEUES {
                peer.send_to(b"question", at).await.unwrap();
                let (len, from) = own.recv_from(&mut octets).await.unwrap();
                own.send_to(&octets[..len], from).await.unwrap();
                assert_eq!(peer.recv_from(&mut octets).await.unwrap().0, 8);
            }
        }
        // Sockets of one host among themselves.
        other.send_to(b"neighbour", "127.0.0.1:5").await.unwrap();
        assert_eq!(own.recv_from(&mut octets).await.unwrap().0, 9);
        drop(own);
        peer.connect("10.0.0.1:5").await.unwrap();
        peer.send(b"gone").await.unwrap();
        assert_eq!(peer.recv(&mut octets).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    });
    let seen = seen.borrow();
    let udp = seen.left.iter().filter(|((_, protocol), _)| *protocol == 17);
    assert!(udp.clone().count() == 2 && udp.into_iter().all(|(_, queues)| queues.len() == 1), "{seen:?}");
}

#[test]
fn a_host_of_several_stacks_calls_itself() {
    let (mut all, seen) = both(&host(1), true);
    let several = all.hosts[0].stack().clone();
    all.run(async {
        for at in ["10.0.0.1:7", "127.0.0.1:8", "[fd00::1]:7", "[::1]:8"] {
            for (mut call, mut answer) in connections(&several, &several, at, 2 * QUEUES).await {
                talk(&mut call, &mut answer, 5000).await;
            }
        }
    });
    assert!(seen.borrow().left.is_empty());
}

#[test]
fn a_call_from_an_address_of_the_users_choice_is_made_by_the_stack_whose_it_is() {
    let (mut all, _) = both(&host(1), true);
    let [several, one] = all.hosts.each_ref().map(|it| it.stack().clone());
    all.run(async {
        let _entered = several.enter();
        for port in 2000..2000 + 4 * u16::try_from(QUEUES).unwrap() {
            for (own, at) in [("0.0.0.0", "10.0.0.2:7"), ("10.0.0.1", "10.0.0.2:8"), ("::", "[fd00::2]:9")] {
                let listener = one.scope(TcpListener::bind(at)).await.unwrap();
                let at: SocketAddr = at.parse().unwrap();
                let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.unwrap();
                socket.bind(SocketAddr::new(own.parse().unwrap(), port)).unwrap();
                let (call, accepted) = tokio::join!(socket.connect(at), listener.accept());
                let (mut call, mut answer) = (call.unwrap(), accepted.unwrap().0);
                assert_eq!(call.local_addr().unwrap().port(), port);
                talk(&mut call, &mut answer, 3000).await;
                // The port is given back with the connection, whose stack is not the one that gave it.
                drop(call);
                while TcpSocket::new_v6().unwrap().bind(SocketAddr::new(IpAddr::from([0; 16]), port)).is_err() {
                    tokio::task::yield_now().await;
                }
            }
        }
    });
}

#[test]
fn all_ports_can_be_called_from_whichever_stack_has_them() {
    let mut all = PacketStack::new(&host(1).queues(QUEUES), 1).unwrap();
    let stack = all.stack().clone();
    let _entered = stack.enter();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut call = || {
        let mut call = Box::pin(TcpStream::connect("10.0.0.2:7"));
        // A stack that has no port left says so, and the next is asked.
        for _ in 0..2 * QUEUES {
            if let std::task::Poll::Ready(called) = call.as_mut().poll(&mut cx) {
                return Err(called.unwrap_err().kind());
            }
            all.poll(Duration::ZERO).unwrap();
            (0..QUEUES).for_each(|queue| while all.transmit_on(queue).is_some() {});
        }
        Ok(call)
    };
    let calls: Vec<_> = (49_152..=65_535).map(|_| call().unwrap()).collect();
    assert_eq!(call().err(), Some(ErrorKind::AddrNotAvailable));
    drop(calls);
}

#[test]
fn an_error_reaches_the_stack_that_sent_what_it_is_about() {
    let mut all = PacketStack::new(&host(1).queues(QUEUES), 1).unwrap();
    let stack = all.stack().clone();
    let _entered = stack.enter();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    for port in 1..=12 {
        let mut call = Box::pin(TcpStream::connect(SocketAddr::from(([10, 0, 0, 2], port))));
        assert!(call.as_mut().poll(&mut cx).is_pending());
        all.poll(Duration::ZERO).unwrap();
        let (queue, syn) = (0..QUEUES).find_map(|it| Some((it, all.transmit_on(it)?))).unwrap();
        all.receive_on((queue + 1) % QUEUES, &error(&syn, [3, 3]));
        all.poll(Duration::ZERO).unwrap();
        let std::task::Poll::Ready(Err(refused)) = call.as_mut().poll(&mut cx) else {
            panic!("the call still waits");
        };
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    // What is about a fragment without ports, or about nothing that can be read, does no harm.
    let mut later = [0x45, 0, 0, 28, 0, 1, 0, 9, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2].to_vec();
    later.extend([0; 8]);
    all.receive_on(1, &error(&later, [11, 0]));
    all.receive_on(2, &[0x45; 12]);
    all.poll(Duration::ZERO).unwrap();
}

#[test]
fn an_echo_is_answered_by_the_queue_that_it_came_by() {
    let mut all = PacketStack::new(&host(1).queues(QUEUES), 1).unwrap();
    for queue in 0..QUEUES {
        let mut icmp = [8, 0, 0, 0, 0, 1, 0, 1, b'?', b'!'].to_vec();
        let check = sum(&icmp);
        icmp[2..4].copy_from_slice(&check);
        let mut ip = [0x45, 0, 0, 30, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
        let check = sum(&ip);
        ip[10..12].copy_from_slice(&check);
        all.receive_on(queue, &[&ip[..], &icmp].concat());
        all.poll(Duration::ZERO).unwrap();
        assert!(all.transmit_on(queue).is_some_and(|it| it.ends_with(b"?!")));
        assert!((0..QUEUES).all(|it| all.transmit_on(it).is_none()));
    }
}

#[test]
fn a_gateway_is_asked_once_about_each_call_and_flow() {
    for in_turn in [true, false] {
        let (mut all, seen) = both(&HostConfig::gateway(), in_turn);
        let [several, one] = all.hosts.each_ref().map(|it| it.stack().clone());
        let mut gateway = all.hosts[0].gateway().unwrap();
        assert_eq!(all.hosts[0].gateway().unwrap_err().kind(), ErrorKind::AddrInUse);
        all.run(async {
            let own = several.scope(UdpSocket::bind("0.0.0.0:53")).await.unwrap();
            let _entered = one.enter();
            for n in 1..=24_u8 {
                let called = SocketAddr::from(([198, 51, 100, n], 80));
                let call = TcpStream::connect(called);
                let answer = async {
                    let Flow::Tcp(offer) = gateway.accept_any().await.unwrap() else { panic!("no call") };
                    assert_eq!(offer.destination(), called);
                    offer.accept().unwrap()
                };
                let (call, mut answer) = tokio::join!(call, answer);
                talk(&mut call.unwrap(), &mut answer, 5000).await;
                let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
                for _ in 0..QUEUES {
                    socket.send_to(b"question", called).await.unwrap();
                }
                let Flow::Udp(mut flow) = gateway.accept_any().await.unwrap() else { panic!("no flow") };
                let from = SocketAddr::new([10, 0, 0, 2].into(), socket.local_addr().unwrap().port());
                assert_eq!((flow.source(), flow.destination()), (from, called));
                let mut octets = [0; 9];
                for _ in 0..QUEUES {
                    assert_eq!(flow.recv(&mut octets).await.unwrap(), 8);
                }
                flow.send(b"answer").await.unwrap();
                assert_eq!(socket.recv_from(&mut octets).await.unwrap(), (6, called));
                // A socket of the host itself comes first.
                socket.send_to(b"name?", SocketAddr::from(([198, 51, 100, n], 53))).await.unwrap();
                assert_eq!(own.recv_from(&mut octets).await.unwrap().0, 5);
            }
            let refused = async {
                let Flow::Tcp(offer) = gateway.accept_any().await.unwrap() else { panic!("no call") };
                offer.refuse(Refusal::Reset);
            };
            let (call, ()) = tokio::join!(TcpStream::connect("198.51.100.99:80"), refused);
            assert_eq!(call.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        });
        drop(gateway);
        assert!(all.hosts[0].gateway().is_ok());
        let seen = seen.borrow();
        let of = |protocol| seen.left.iter().filter(move |((_, it), _)| *it == protocol);
        assert!(of(6).chain(of(17)).all(|(_, queues)| queues.len() == 1));
        for protocol in [6, 17] {
            let used: BTreeSet<usize> = of(protocol).flat_map(|(_, queues)| queues).copied().collect();
            assert_eq!(used.len(), QUEUES);
        }
    }
}

#[test]
fn a_listener_is_one_for_its_user() {
    let (mut all, _) = both(&host(1), true);
    let [several, one] = all.hosts.each_ref().map(|it| it.stack().clone());
    let mut waiting = all.run(async {
        let listener = several.scope(TcpListener::bind("[::]:7")).await.unwrap();
        assert_eq!(listener.local_addr().unwrap().to_string(), "[::]:7");
        assert_eq!(several.counts().listeners, 1);
        listener.set_ttl(9).unwrap();
        assert_eq!(several.scope(TcpListener::bind("10.0.0.1:7")).await.unwrap_err().kind(), ErrorKind::AddrInUse);
        // They are accepted once they all have called.
        let mut calls = Vec::new();
        for _ in 0..4 * QUEUES {
            calls.push(one.scope(TcpStream::connect("10.0.0.1:7")).await.unwrap());
        }
        let mut from = BTreeSet::new();
        for _ in 0..2 * QUEUES {
            let (accepted, peer) = listener.accept().await.unwrap();
            assert_eq!(accepted.ttl().unwrap(), 9);
            from.insert(peer);
        }
        assert_eq!(from.len(), 2 * QUEUES);
        drop(listener);
        several.scope(TcpListener::bind("[::]:7")).await.unwrap();
        calls
    });
    all.pass(Duration::from_secs(1));
    for call in &mut waiting {
        let ended = all.run(call.read(&mut [0]));
        assert!(matches!(ended, Ok(0) | Err(_)), "accepted and dropped, or reset with the listener");
    }
    assert_eq!(several.counts().streams, 0);
}

#[test]
fn each_line_has_queues_of_its_own() {
    let second = kumiki_net::host::Line::new([[10, 1, 0, 1].into()]);
    let config = host(1).route([0; 4].into(), 0, None).line(second).queues(2);
    let at = "10.1.0.1:7";
    // By either queue of the second line, of which each call has the other one's answer just as well.
    for number in 0..8 {
        let mut caller = PacketStack::new(&HostConfig::new([[10, 1, 0, 2].into()]), number).unwrap();
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let entered = caller.stack().enter();
        let mut call = Box::pin(TcpStream::connect(at));
        assert!(call.as_mut().poll(&mut cx).is_pending());
        drop(entered);
        caller.poll(Duration::ZERO).unwrap();
        let syn = caller.transmit().unwrap();
        let answered = [2, 3].map(|device| {
            let mut all = PacketStack::new(&config, 1).unwrap();
            let entered = all.stack().enter();
            let listener = std::pin::pin!(TcpListener::bind(at)).poll(&mut cx);
            drop(entered);
            all.receive_on(device, &syn);
            all.poll(Duration::ZERO).unwrap();
            drop(listener);
            (0..4).filter(|it| all.transmit_on(*it).is_some()).collect::<Vec<_>>()
        });
        assert!(answered[0] == answered[1] && [vec![2], vec![3]].contains(&answered[0]), "{answered:?}");
    }
}

#[test]
fn what_a_host_of_several_queues_cannot_be_is_said() {
    let ethernet = host(1).ethernet([2, 0, 0, 0, 0, 1]).queues(2);
    for (config, said) in [
        (host(1).queues(0), "a host with 0 queues; expected 1 or more"),
        (ethernet, "an Ethernet for a host with 2 queues; expected lines without one, such as a TUN, or one queue"),
    ] {
        let error = PacketStack::new(&config, 1).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::InvalidInput, said));
    }
    let devices = |n| (0..n).map(|_| Box::new(NullDevice) as Box<dyn RealDevice>).collect::<Vec<_>>();
    let error = HostDriver::new_on(devices(3), &host(1).queues(2)).unwrap_err();
    assert_eq!(error.to_string(), "3 devices for a host with 1 lines and 2 queues; expected 2 for each line");
    let error = HostDriver::new_on(devices(2), &host(1).queues(2)).unwrap_err();
    assert!(error.to_string().starts_with("a host with several queues in one loop"), "{error}");
    // Programs of other processes have the sockets of one stack, and would hear a part of their callers.
    let several = PacketStack::new(&host(1).queues(2), 1).unwrap();
    let server = kumiki_net::rings::StackServer::new(several.stack(), kumiki_net::rings::Limits::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let error = runtime.block_on(async {
        let folder = std::env::temp_dir().join(format!("kumiki-queues-{}", std::process::id()));
        let listener = tokio::net::UnixListener::bind(&folder).unwrap();
        std::fs::remove_file(&folder).unwrap();
        server.serve(listener).await.unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

/// A queue by which a packet comes, when it is told to, and nothing after that: it fails.
struct Fails(std::os::unix::net::UnixDatagram);

impl RealDevice for Fails {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors { read: Some(self.0.as_fd()), write: None }
    }

    fn receive(&mut self) -> std::io::Result<Option<Arrival>> {
        match self.0.recv(&mut [0]) {
            Ok(_) => Err(std::io::Error::other("the queue is gone")),
            Err(_) => Ok(None),
        }
    }

    fn send(&mut self, _: &Message, _: Address) -> std::io::Result<Sent> {
        Ok(Sent::Taken)
    }
}

#[test]
fn where_one_queue_fails_the_host_is_gone() {
    kumiki_watchdog::minute();
    let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let devices: Vec<Box<dyn RealDevice>> = vec![Box::new(NullDevice), Box::new(NullDevice), Box::new(Fails(ours))];
    let several = HostStack::start_on(devices, &host(1).queues(QUEUES)).unwrap();
    let entered = several.stack().enter();
    let listener = kumiki_net::blocking::TcpListener::bind("10.0.0.1:7").unwrap();
    let call = kumiki_net::blocking::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let accepted = listener.accept().unwrap().0;
    theirs.send(&[0]).unwrap();
    for stream in [call, accepted] {
        let error = std::io::Read::read(&mut &stream, &mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkDown);
        assert!(error.to_string().contains("the queue is gone"), "{error}");
    }
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::NetworkDown);
    drop(entered);
    let error = several.stop().unwrap_err();
    assert!(error.to_string().contains("the queue is gone"), "{error}");
}
