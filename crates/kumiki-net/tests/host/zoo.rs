//! What goes wrong elsewhere where packets are at fault.

use std::cell::Cell;
use std::time::Duration;

use kumiki_net::host::HostConfig;
use kumiki_net::{TcpSocket, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::exchange::{Exchange, fragments, syn};

/// The clock that initial sequence numbers go by ticks so often (RFC 9293 section 3.4.1).
const TICK: Duration = Duration::from_micros(4);

fn configs() -> [HostConfig; 2] {
    [1, 2].map(|n| HostConfig::new([[10, 0, 0, n].into()]))
}

/// Sends so many octets each way by a connection of which the end with this number, 0 or 1, begins 10 before `wrap`. Of
/// the packets one in so many is lost.
fn across(wrap: u64, end: usize, octets: usize, one_in: u32) {
    let [a, b] = configs();
    let (begun, count, loses) = (Cell::new([0; 2]), Cell::new(0_u32), Cell::new(false));
    let mut all = Exchange::new([&a, &b]).with(|from, packet| {
        if let Some(number) = syn(packet) {
            let mut numbers = begun.get();
            numbers[from] = number;
            begun.set(numbers);
        }
        count.set(count.get() + 1);
        !loses.get() || count.get() % one_in != 0
    });
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    // Always between the same two sockets: where such a connection begins is a clock and a secret.
    let connect = |all: &mut Exchange<'_>| -> [TcpStream; 2] {
        all.run(async {
            let listens = {
                let _entered = one.enter();
                let socket = TcpSocket::new_v4().unwrap();
                socket.bind("10.0.0.1:80".parse().unwrap()).unwrap();
                socket.listen(1).unwrap()
            };
            let calls = {
                let _entered = two.enter();
                let socket = TcpSocket::new_v4().unwrap();
                socket.bind("10.0.0.2:5000".parse().unwrap()).unwrap();
                socket.connect("10.0.0.1:80".parse().unwrap())
            };
            let (call, accepted) = tokio::join!(calls, listens.accept());
            [accepted.unwrap().0, call.unwrap()]
        })
    };
    let first = connect(&mut all);
    for stream in &first {
        stream.set_zero_linger().unwrap();
    }
    drop(first);
    all.pass(Duration::ZERO);
    let wanted = u32::try_from((wrap - 10) & u64::from(u32::MAX)).unwrap();
    let ticks = wanted.wrapping_sub(begun.get()[end]);
    // Hours: the clock goes around in four and three quarters.
    all.pass(TICK * ticks);
    let [mut accepted, mut call] = connect(&mut all);
    assert_eq!(begun.get()[end], wanted);
    loses.set(true);
    let sent = vec![7; 1 << 20];
    let send = async |stream: &mut kumiki_net::tcp::WriteHalf<'_>| {
        let mut left = octets;
        while left > 0 {
            let piece = left.min(sent.len());
            stream.write_all(&sent[..piece]).await.unwrap();
            left -= piece;
        }
        stream.shutdown().await.unwrap();
    };
    let take = async |stream: &mut kumiki_net::tcp::ReadHalf<'_>| {
        let (mut total, mut piece) = (0, vec![0; 1 << 20]);
        loop {
            match stream.read(&mut piece).await.unwrap() {
                0 => break total,
                n => total += n,
            }
        }
    };
    let ((mut from_one, mut to_one), (mut from_two, mut to_two)) = (accepted.split(), call.split());
    let ((), (), came, went) =
        all.run(async { tokio::join!(send(&mut to_one), send(&mut to_two), take(&mut from_one), take(&mut from_two)) });
    assert_eq!((came, went), (octets, octets));
}

// Z12.
#[test]
fn sequence_numbers_pass_the_middle_and_the_end_of_their_range_in_either_direction() {
    for wrap in [1 << 31, 1 << 32] {
        for end in [0, 1] {
            across(wrap, end, 1 << 20, 100);
        }
    }
}

// Z12 at full size: the numbers go around once, and past the middle. Half a minute.
#[test]
#[ignore = "5 GiB each way; `cargo test -p kumiki-net --features host --test host -- --ignored five`"]
fn five_gigabytes_pass_each_way() {
    for wrap in [1 << 31, 1 << 32] {
        across(wrap, 0, 5 << 30, 1000);
    }
}

// Z21: pieces of packets are never put together with others, but with each other.
#[test]
fn a_connection_whose_packets_come_in_fragments_gets_every_octet() {
    let [a, b] = configs();
    let mut all = Exchange::new([&a, &b]).through(|_, packet| fragments(&packet, 800));
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    let octets: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let back = all.run(async {
        let listener = one.scope(kumiki_net::TcpListener::bind("10.0.0.1:80")).await.unwrap();
        let (call, accepted) = tokio::join!(two.scope(TcpStream::connect("10.0.0.1:80")), listener.accept());
        let (mut call, (mut stream, _)) = (call.unwrap(), accepted.unwrap());
        let mut back = Vec::new();
        let send = async {
            stream.write_all(&octets).await.unwrap();
            stream.shutdown().await.unwrap();
        };
        tokio::join!(send, async { call.read_to_end(&mut back).await.unwrap() });
        back
    });
    assert!(back == octets);
    assert!(all.now < Duration::from_secs(1), "nothing was lost: {:?}", all.now);
}
