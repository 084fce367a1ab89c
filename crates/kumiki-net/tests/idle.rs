//! What a connection through a gateway takes of memory while nothing goes over it, as the allocator counts it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a test: what fails stops it")]
#![cfg(all(feature = "host", target_os = "linux"))]

use core::net::Ipv4Addr;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::time::Duration;

use kumiki_net::TcpStream;
use kumiki_net::host::{Flow, Gateway, HostConfig, PacketStack};
use kumiki_octets::Sum;
use kumiki_wire::inet::ipv4;
use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};
use peak_alloc::PeakAlloc;
use tokio::io::{AsyncRead as _, ReadBuf};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const COUNT: u16 = 10_000;
/// What each takes at most, in octets. A field of eight more in what it keeps is seen. 2500 are the bound of a proxy as
/// a whole, with its tasks and the sockets of its host.
const MOST: usize = 1450;

/// Whoever calls with this number.
fn caller(number: u16) -> Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, 1, high, low)
}

fn packet(number: u16, tcp: &Header) -> Vec<u8> {
    let source = caller(number);
    let mut segment = vec![0; tcp.len()];
    tcp.emit(&mut segment);
    let length = u16::try_from(segment.len()).unwrap();
    let pseudo = ipv4::pseudo_header(source, SERVER, ipv4::protocol::TCP, length);
    let checksum = Sum::of(&pseudo).plus(Sum::of(&segment)).checksum();
    segment[16..18].copy_from_slice(&checksum.to_be_bytes());
    let ip = ipv4::Header {
        protocol: ipv4::protocol::TCP,
        total_length: 20 + length,
        time_to_live: 64,
        source,
        destination: SERVER,
        ..ipv4::Header::default()
    };
    let mut octets = vec![0; 20];
    ip.emit_summed(&mut octets);
    octets.extend(segment);
    octets
}

/// Calls, as Linux does; is answered; and the gateway has a connection.
fn open(host: &mut PacketStack, gateway: &mut Gateway, number: u16) -> TcpStream {
    let stamps = |echo| Some((1, echo));
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: stamps(0),
        ..Options::NONE
    };
    let ports = Header { source_port: 40_000, destination_port: 443, window: 64_240, ..Header::default() };
    host.receive(&packet(number, &Header { flags: Flags::SYN, options, ..ports }));
    host.poll(Duration::ZERO).unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(Flow::Tcp(offer))) = gateway.poll_accept_any(&mut cx) else {
        panic!("nobody calls");
    };
    let stream = offer.accept().unwrap();
    host.poll(Duration::ZERO).unwrap();
    let answer = host.transmit().unwrap();
    let (answer, _) = Header::parse(&answer[20..], answer.len() - 20).unwrap();
    let options = Options { timestamps: stamps(answer.options.timestamps.unwrap().0), ..Options::NONE };
    let ack = Header { flags: Flags::ACK, seq: Seq(1), ack: answer.seq + 1, options, ..ports };
    host.receive(&packet(number, &ack));
    host.poll(Duration::ZERO).unwrap();
    stream
}

#[test]
fn an_idle_connection_through_a_gateway_takes_little_memory() {
    let mut host = PacketStack::new(&HostConfig::gateway(), 1).unwrap();
    let mut gateway = host.gateway().unwrap();
    let mut streams = Vec::with_capacity(COUNT.into());
    let before = ALLOCATED.current_usage();
    for number in 0..COUNT {
        let mut stream = open(&mut host, &mut gateway, number);
        let mut octets = [0; 8];
        let mut room = ReadBuf::new(&mut octets);
        // Somebody waits for what comes.
        let mut cx = Context::from_waker(Waker::noop());
        assert!(pin!(&mut stream).poll_read(&mut cx, &mut room).is_pending());
        streams.push(stream);
    }
    host.poll(Duration::from_secs(5)).unwrap();
    let each = (ALLOCATED.current_usage() - before) / usize::from(COUNT);
    assert_eq!(host.connections().len(), usize::from(COUNT));
    assert!(each <= MOST, "{each} octets for each connection, expected {MOST} at most");
}
