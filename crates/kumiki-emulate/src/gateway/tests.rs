//! Connections of a program to servers on the loopback interface, whose ends are not in order. The program's TCP is
//! ours.

use core::future::poll_fn;
use core::task::Poll;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use kumiki_io::RealClock;
use kumiki_net::TcpStream;
use rustix::net::sockopt::set_socket_linger;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::hop;
use crate::namespace::{GATEWAY_4, OWN_4};

/// In either order the two directions may hear of a reset: so often it is tried.
const TRIES: usize = 16;

/// More octets than all buffers on the way have room for.
const MUCH: usize = 64 << 20;

/// Does what the program does, with a stack of its own, and a gateway beside it.
fn program<T>(act: impl Future<Output = T>) -> T {
    program_beside(1 << 30, |said| panic!("{said}"), act)
}

/// The same beside a gateway that has so much memory, and says what goes wrong.
fn program_beside<T>(
    memory: u64,
    say: impl Fn(&str) + Clone + Send + Sync + 'static,
    act: impl Future<Output = T>,
) -> T {
    kumiki_watchdog::minute();
    let [near, far] = hop::pair(1500, RealClock::start()).unwrap();
    let host = HostStack::start(Box::new(near), &HostConfig::new([OWN_4.into()])).unwrap();
    let places = Places { resolver: None, ..Places::of_link(true) };
    let serving = GatewayThread::start(Box::new(far), (1500, memory), places, say).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let done = runtime.block_on(host.stack().scope(act));
    drop(serving.end());
    done
}

fn listen() -> (TcpListener, (Ipv4Addr, u16)) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, (GATEWAY_4, port))
}

/// Of who writes and who reads at once, one is told of a reset. After an end in order both would see something else.
fn is_reset(wrote: io::Result<()>, read: io::Result<usize>) -> bool {
    let errors = [wrote.err(), read.err()].map(|it| it.map(|error| error.kind()));
    errors.contains(&Some(io::ErrorKind::ConnectionReset))
}

#[test]
fn a_server_does_not_take_a_reset_for_the_end_of_what_was_sent() {
    for _ in 0..TRIES {
        let (listener, at) = listen();
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut writes = stream.try_clone().unwrap();
            let writer = thread::spawn(move || writes.write_all(&vec![7; MUCH]));
            let read = stream.read_to_end(&mut Vec::new());
            is_reset(writer.join().unwrap(), read)
        });
        program(async {
            let mut stream = TcpStream::connect(at).await.unwrap();
            stream.write_all(b"the first part").await.unwrap();
            // Until there is more for it than it has room for.
            while stream.peek(&mut [0; 60_000]).await.unwrap() < 60_000 {}
            stream.set_zero_linger().unwrap();
            drop(stream);
            assert!(tokio::task::spawn_blocking(|| server.join().unwrap()).await.unwrap());
        });
    }
}

#[test]
fn a_program_does_not_take_a_reset_for_the_end_of_what_was_sent() {
    for _ in 0..TRIES {
        let (listener, at) = listen();
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.write_all(b"the first part").unwrap();
            stream.read_exact(&mut [0; 100_000]).unwrap();
            set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        });
        let (wrote, read) = program(async {
            let mut stream = TcpStream::connect(at).await.unwrap();
            let (mut reads, mut writes) = stream.split();
            let (much, mut all) = (vec![7; MUCH], Vec::new());
            tokio::join!(writes.write_all(&much), reads.read_to_end(&mut all))
        });
        server.join().unwrap();
        assert!(is_reset(wrote, read));
    }
}

#[test]
fn who_calls_a_gateway_whose_memory_is_spent_is_refused_and_it_says_so() {
    crate::more_descriptors();
    let (listener, at) = listen();
    // It reads nothing.
    thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    let said = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&said);
    let say = move |text: &str| log.lock().unwrap().push(text.to_owned());
    let why = program_beside(1 << 20, say, async {
        let much = vec![7; MUCH];
        let mut streams = Vec::new();
        for _ in 0..8 {
            streams.push(TcpStream::connect(at).await.unwrap());
        }
        let mut writes: Vec<_> = streams.iter_mut().map(|it| Box::pin(it.write_all(&much))).collect();
        let mut more = Vec::new();
        loop {
            poll_fn(|cx| {
                writes.retain_mut(|it| it.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            match TcpStream::connect(at).await {
                Ok(stream) => more.push(stream),
                Err(why) => break why.kind(),
            }
        }
    });
    assert_eq!(why, io::ErrorKind::ConnectionRefused);
    let said = said.lock().unwrap();
    assert!(said.iter().any(|it| it.starts_with("the gateway's memory is spent")), "{said:?}");
}

#[test]
fn who_is_not_answered_does_not_keep_others_from_being_heard() {
    crate::more_descriptors();
    // Nobody accepts, and the kernel lets few wait: the others get no answer.
    let (silent, at) = listen();
    rustix::net::listen(&silent, 0).unwrap();
    let (listener, good) = listen();
    let server = thread::spawn(move || listener.accept().unwrap().0.write_all(b"here"));
    program(async {
        let mut calls: Vec<_> = (0..1500).map(|_| Box::pin(TcpStream::connect(at))).collect();
        poll_fn(|cx| {
            calls.retain_mut(|it| it.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        // The few may have got through meanwhile.
        assert!(calls.len() > 1400);
        TcpStream::connect(good).await.unwrap().read_exact(&mut [0; 4]).await.unwrap();
    });
    server.join().unwrap().unwrap();
}

/// What the task that relays a connection takes while nothing comes, in octets, as measured: 144, or 152 where other
/// crates ask for more features of `kumiki-net`. With what the runtime has of each task that of 144 is a piece of 256.
const RELAY: usize = 152;

#[test]
fn a_connection_that_is_relayed_takes_little_memory_beside_its_sockets() {
    kumiki_watchdog::minute();
    let [near, far] = hop::pair(1500, RealClock::start()).unwrap();
    let [host, gateway] = [
        HostStack::start(Box::new(near), &HostConfig::new([OWN_4.into()])).unwrap(),
        HostStack::start(Box::new(far), &HostConfig::gateway()).unwrap(),
    ];
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (_listener, at) = listen();
    let octets = runtime.block_on(async {
        let mut offers = gateway.stack().gateway().unwrap();
        let stack = host.stack().clone();
        let _call = tokio::spawn(async move { stack.scope(TcpStream::connect(at)).await.map(drop) });
        let Flow::Tcp(offer) = offers.accept_any().await.unwrap() else {
            panic!("a flow of UDP");
        };
        let shared = Shared {
            places: Places { resolver: None, ..Places::of_link(true) },
            connections: AtomicUsize::new(0),
            datagrams: AtomicU64::new(0),
            say: Box::new(|_| ()),
            has_said: AtomicBool::new(false),
        };
        size_of_val(&tcp::relay(offer, Arc::new(shared)))
    });
    assert!(octets <= RELAY, "{octets} octets, expected {RELAY} at most");
}
