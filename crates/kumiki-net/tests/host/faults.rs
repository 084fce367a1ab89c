//! What goes wrong with a stack in a thread, and the order in which it does things.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use kumiki_graph::Address;
use kumiki_io::{Arrival, Descriptors, Sent};
use kumiki_net::host::{Frames, HostConfig, HostStack, RealDevice};
use kumiki_net::{Stack, TcpListener, TcpStream, UdpSocket};
use kumiki_octets::Message;
use tokio::io::AsyncReadExt as _;

/// A device that does something when a packet has come, before anybody sees it.
struct Acts<F>(Frames, F);

impl<F: FnMut() + Send> RealDevice for Acts<F> {
    fn descriptors(&self) -> Descriptors<'_> {
        self.0.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let came = self.0.receive()?;
        if came.is_some() {
            (self.1)();
        }
        Ok(came)
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        self.0.send(packet, to)
    }
}

fn config(n: u8) -> HostConfig {
    HostConfig::new([[10, 0, 0, n].into()])
}

/// Two stacks; the first does `act` whenever a packet has come.
fn pair(act: impl FnMut() + Send + 'static) -> [HostStack; 2] {
    let [a, b] = <[_; 2]>::from(UnixDatagram::pair().unwrap()).map(|it| Frames::datagrams(it).unwrap());
    [HostStack::start(Box::new(Acts(a, act)), &config(1)).unwrap(), HostStack::start(Box::new(b), &config(2)).unwrap()]
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("it has to wait for the stack"),
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn what_was_bound_before_a_packet_was_read_gets_it() {
    kumiki_watchdog::minute();
    let stack: Arc<OnceLock<Stack>> = Arc::default();
    let bound: Arc<OnceLock<(TcpListener, UdpSocket)>> = Arc::default();
    let (known, binds) = (Arc::clone(&stack), Arc::clone(&bound));
    // Its own thread has read the packet already, and nobody can have told it of the listener.
    let [one, two] = pair(move || {
        binds.get_or_init(|| {
            let _entered = known.wait().enter();
            (now(TcpListener::bind("10.0.0.1:7")).unwrap(), now(UdpSocket::bind("10.0.0.1:7")).unwrap())
        });
    });
    stack.set(one.stack().clone()).unwrap();
    block_on(async {
        let call = two.stack().scope(TcpStream::connect("10.0.0.1:7")).await.unwrap();
        let (_, peer) = bound.wait().0.accept().await.unwrap();
        assert_eq!(peer, call.local_addr().unwrap());
        let socket = two.stack().scope(UdpSocket::bind("10.0.0.2:7")).await.unwrap();
        socket.send_to(b"x", "10.0.0.1:7").await.unwrap();
        bound.wait().1.recv(&mut [0]).await.unwrap();
    });
}

#[test]
fn a_thread_that_panics_leaves_nobody_waiting() {
    kumiki_watchdog::minute();
    let mut packets = 0;
    let [one, two] = pair(move || {
        packets += 1;
        assert!(packets < 4, "the fourth packet");
    });
    block_on(async {
        let (listener, socket) = one
            .stack()
            .scope(async {
                (TcpListener::bind("10.0.0.1:7").await.unwrap(), UdpSocket::bind("10.0.0.1:7").await.unwrap())
            })
            .await;
        let call = two.stack().scope(TcpStream::connect("10.0.0.1:7")).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let sends = two.stack().scope(UdpSocket::bind("10.0.0.2:7")).await.unwrap();
        for _ in 0..4 {
            sends.send_to(b"x", "10.0.0.1:9").await.unwrap();
        }
        let mut buf = [0];
        let errors = tokio::join!(
            async { stream.read(&mut [0]).await.unwrap_err() },
            async { listener.accept().await.unwrap_err() },
            async { socket.recv(&mut buf).await.unwrap_err() },
            async { one.stack().scope(TcpStream::connect("10.0.0.2:7")).await.unwrap_err() },
        );
        for error in [errors.0, errors.1, errors.2, errors.3] {
            assert_eq!(error.kind(), ErrorKind::NetworkDown);
            assert!(error.to_string().contains("panicked: the fourth packet"), "{error}");
        }
        drop(call);
    });
    assert!(one.stop().unwrap_err().to_string().contains("the fourth packet"));
}

#[test]
fn a_device_that_fails_is_why_its_sockets_end() {
    kumiki_watchdog::minute();
    let [one, two] = pair(|| {});
    block_on(async {
        let listener = one.stack().scope(TcpListener::bind("10.0.0.1:7")).await.unwrap();
        drop(two);
        // Of datagrams it is sending that shows that nobody is there.
        let sends = one.stack().scope(UdpSocket::bind("10.0.0.1:7")).await.unwrap();
        sends.send_to(b"x", "10.0.0.2:9").await.unwrap();
        let error = listener.accept().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkDown);
        assert!(error.to_string().contains("the other end of the socket"), "{error}");
        assert_eq!(listener.accept().await.unwrap_err().to_string(), error.to_string());
    });
    assert!(one.stop().is_err());
}
