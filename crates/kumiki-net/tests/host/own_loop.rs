//! The user's own loop.

use std::os::unix::net::{UnixDatagram, UnixStream};
use std::time::Duration;

use kumiki_net::host::{Frames, HostConfig, HostDriver, RealDevice, RemoteEnd, Udp};
use kumiki_net::{TcpListener, TcpStream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn config(n: u8) -> HostConfig {
    HostConfig::new([[10, 0, 0, n].into()]).ethernet([2, 0, 0, 0, 0, n])
}

/// What carries the frames.
enum Carrier {
    Stream,
    Datagrams,
    /// Of this machine's loopback interface; the second host is the first to send.
    Udp,
}

fn drivers(over: &Carrier) -> [HostDriver; 2] {
    let frames: [Box<dyn RealDevice>; 2] = match over {
        Carrier::Stream => {
            <[_; 2]>::from(UnixStream::pair().unwrap()).map(|it| Box::new(Frames::stream(it).unwrap()) as _)
        }
        Carrier::Datagrams => {
            <[_; 2]>::from(UnixDatagram::pair().unwrap()).map(|it| Box::new(Frames::datagrams(it).unwrap()) as _)
        }
        Carrier::Udp => {
            let open = |far| Udp::open(([127, 0, 0, 1], 0).into(), far).unwrap();
            let first = open(RemoteEnd::First);
            let second = open(RemoteEnd::Given(first.local()));
            [first, second].map(|it| Box::new(it) as _)
        }
    };
    let mut n = 0;
    frames.map(|it| {
        n += 1;
        HostDriver::new(it, &config(n)).unwrap()
    })
}

// Z6: what comes while the loop is at work is an edge, too. Two octets back and forth, then much each way, and no other
// traffic.
#[test]
fn both_ends_live_in_one_runtime_over_frames_of_each_kind() {
    kumiki_watchdog::minute();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for over in [Carrier::Stream, Carrier::Datagrams, Carrier::Udp] {
        let drivers = drivers(&over);
        let [one, two] = drivers.each_ref().map(|it| it.stack().clone());
        let [a, b] = drivers;
        let program = async {
            let listener = one.scope(TcpListener::bind("10.0.0.1:7")).await.unwrap();
            let call = two.scope(TcpStream::connect("10.0.0.1:7"));
            let (call, accepted) = tokio::join!(call, listener.accept());
            let (mut call, (mut stream, _)) = (call.unwrap(), accepted.unwrap());
            let mut octet = [0];
            for n in 0..200 {
                call.write_all(&[n]).await.unwrap();
                stream.read_exact(&mut octet).await.unwrap();
                stream.write_all(&octet).await.unwrap();
                call.read_exact(&mut octet).await.unwrap();
                assert_eq!(octet, [n]);
            }
            let sent = vec![9; 1_000_000];
            let write = async {
                stream.write_all(&sent).await.unwrap();
                stream.shutdown().await.unwrap();
            };
            let mut back = Vec::new();
            tokio::join!(write, async { call.read_to_end(&mut back).await.unwrap() });
            assert_eq!(back.len(), sent.len());
        };
        runtime.block_on(async {
            tokio::select! {
                () = program => {}
                ended = a.drive() => panic!("{ended:?}"),
                ended = b.drive() => panic!("{ended:?}"),
            }
        });
    }
}

#[test]
fn a_plain_loop_waits_for_the_descriptor_and_the_time() {
    kumiki_watchdog::minute();
    let [mut a, mut b] = drivers(&Carrier::Stream);
    let [one, two] = [&a, &b].map(|it| it.stack().clone());
    let program = async {
        let listener = one.scope(TcpListener::bind("10.0.0.1:7")).await.unwrap();
        let call = two.scope(TcpStream::connect("10.0.0.1:7"));
        let (call, accepted) = tokio::join!(call, listener.accept());
        let (mut call, (mut stream, _)) = (call.unwrap(), accepted.unwrap());
        call.write_all(b"x").await.unwrap();
        stream.read_exact(&mut [0]).await.unwrap();
    };
    let mut program = Box::pin(program);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut waits = 0;
    while program.as_mut().poll(&mut cx).is_pending() {
        let next = [a.poll().unwrap(), b.poll().unwrap()].into_iter().flatten().min();
        let mut watched = [&a, &b].map(|it| PollFd::new(it, PollFlags::IN));
        // A minute: nothing here takes so long.
        let next = Timespec::try_from(next.unwrap_or(Duration::from_secs(60))).unwrap();
        poll(&mut watched, Some(&next)).unwrap();
        waits += 1;
    }
    assert!(waits < 100, "{waits}: its descriptor is readable though there is nothing to do");
    // What is left is acknowledged; then there is silence, and the descriptors say so.
    let is_quiet = (0..1000).any(|_| {
        let next = [a.poll().unwrap(), b.poll().unwrap()].into_iter().flatten().min();
        let mut watched = [&a, &b].map(|it| PollFd::new(it, PollFlags::IN));
        next.is_none_or(|next| !next.is_zero()) && poll(&mut watched, Some(&Timespec::default())).unwrap() == 0
    });
    assert!(is_quiet);
}

#[test]
fn who_is_gone_ends_the_loop_and_the_sockets_say_why() {
    kumiki_watchdog::minute();
    let [mut a, b] = drivers(&Carrier::Stream);
    let stack = a.stack().clone();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let listener = runtime.block_on(stack.scope(TcpListener::bind("10.0.0.1:7"))).unwrap();
    a.poll().unwrap();
    drop(b);
    let error = a.poll().unwrap_err();
    assert!(error.to_string().contains("the other end of the socket with the frames is gone"), "{error}");
    let told = runtime.block_on(listener.accept()).unwrap_err();
    assert_eq!(told.kind(), std::io::ErrorKind::NetworkDown);
    assert!(told.to_string().contains("the other end"), "{told}");
}

#[test]
fn a_future_on_a_stack_may_be_spawned() {
    kumiki_watchdog::minute();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let [driver, _] = drivers(&Carrier::Stream);
    let stack = driver.stack().clone();
    let local = runtime.block_on(async move {
        let bound = tokio::spawn(stack.scope(TcpListener::bind("10.0.0.1:7"))).await.unwrap();
        bound.unwrap().local_addr().unwrap()
    });
    assert_eq!(local.to_string(), "10.0.0.1:7");
}
