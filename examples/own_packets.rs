//! A TCP/IP whose packets and time are the program's own: two stacks, and a path between them that loses every tenth
//! packet.
//!
//! ```text
//! cargo run -p kumiki-examples --example own_packets
//! ```

#![cfg(target_os = "linux")]

use std::collections::VecDeque;
use std::error::Error;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kumiki_net::host::{HostConfig, PacketStack};
use kumiki_net::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const DELAY: Duration = Duration::from_millis(10);

fn main() -> Result<(), Box<dyn Error>> {
    let [one, other] = [1, 2].map(|n| HostConfig::new([[10, 0, 0, n].into()]));
    let mut hosts = [PacketStack::new(&one, 1)?, PacketStack::new(&other, 2)?];
    let [server, client] = hosts.each_ref().map(|it| it.stack().clone());
    let mut program = pin!(async {
        let listener = server.scope(TcpListener::bind("10.0.0.1:80")).await?;
        let call = client.scope(TcpStream::connect("10.0.0.1:80"));
        let (mut to, (mut from, _)) = tokio::try_join!(call, listener.accept())?;
        let (mut back, octets) = (Vec::new(), vec![7; 100_000]);
        let write = async { to.write_all(&octets).await.and(to.shutdown().await) };
        tokio::try_join!(write, from.read_to_end(&mut back))?;
        std::io::Result::Ok(back.len())
    });
    let (mut now, mut sent, mut under_way) = (Duration::ZERO, 0, VecDeque::new());
    let octets = loop {
        let mut next = None;
        for (from, host) in hosts.iter_mut().enumerate() {
            next = [next, host.poll(now)?].into_iter().flatten().min();
            while let Some(packet) = host.transmit() {
                sent += 1;
                under_way.extend((sent % 10 != 0).then_some((now + DELAY, from, packet)));
            }
        }
        if let Poll::Ready(octets) = program.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            break octets?;
        }
        if hosts.iter().any(PacketStack::needs_poll) {
            continue;
        }
        let arrives = under_way.front().map(|(at, ..)| *at);
        now = [next, arrives].into_iter().flatten().min().ok_or("nothing happens any more")?;
        while let Some((_, from, packet)) = under_way.pop_front_if(|(at, ..)| *at <= now) {
            let [one, other] = &mut hosts;
            (if from == 0 { other } else { one }).receive(&packet);
        }
    };
    println!("{octets} octets in {now:?} of its own time, and {sent} packets");
    Ok(())
}
