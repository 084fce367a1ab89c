//! A proxy in user space: Linux's clients in a network namespace reach servers of this program by any address, over a
//! TUN device and then over a TAP.
//!
//! ```text
//! cargo build -p kumiki-examples --example gateway_over_tun
//! unshare --user --map-root-user --net target/debug/examples/gateway_over_tun
//! ```
//!
//! It makes the devices `kumiki0` and `kumiki1`, and the default route of the namespace by them. Whatever address a
//! client calls, the gateway is asked first, and here takes the port alone of it: 127.0.0.1 has the servers. A call
//! that these refuse is refused to the client.

#![cfg(target_os = "linux")]

use std::error::Error;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpStream as Client, UdpSocket as Sender};
use std::process::Command;

use kumiki_net::host::{Flow, Gateway, HostConfig, HostStack, Refusal, TcpOffer, Tun, UdpFlow};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// Calls first, and answers when that has been answered.
async fn relay_tcp(offer: TcpOffer) {
    match TcpStream::connect((Ipv4Addr::LOCALHOST, offer.destination().port())).await {
        Ok(mut upstream) => {
            if let Ok(mut stream) = offer.accept() {
                let _ = copy_bidirectional(&mut stream, &mut upstream).await;
            }
        }
        Err(error) => offer.refuse(Refusal::from(&error)),
    }
}

/// Until both have been silent for five minutes, or the server refuses.
async fn relay_udp(mut flow: UdpFlow) -> std::io::Result<()> {
    let upstream = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    upstream.connect((Ipv4Addr::LOCALHOST, flow.destination().port())).await?;
    let (mut there, mut back) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        let done = tokio::select! {
            octets = flow.recv(&mut there) => upstream.send(there.get(..octets?).unwrap_or_default()).await,
            octets = upstream.recv(&mut back) => match octets {
                Ok(octets) => flow.send(back.get(..octets).unwrap_or_default()).await,
                Err(error) => Err(error),
            },
        };
        if done.is_err() {
            flow.refuse(Refusal::PortUnreachable);
            return Ok(());
        }
    }
}

async fn serve(mut gateway: Gateway) {
    while let Ok(flow) = gateway.accept_any().await {
        match flow {
            Flow::Tcp(offer) => drop(tokio::spawn(relay_tcp(offer))),
            Flow::Udp(flow) => drop(tokio::spawn(relay_udp(flow))),
        }
    }
}

/// Answers when its client has ended its direction, with all that came.
async fn echo(listener: TcpListener) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut all = Vec::new();
            let _ = stream.read_to_end(&mut all).await;
            let _ = stream.write_all(&all).await;
        });
    }
}

async fn echo_udp(socket: UdpSocket) {
    let mut octets = [0; 2048];
    while let Ok((length, from)) = socket.recv_from(&mut octets).await {
        let _ = socket.send_to(octets.get(..length).unwrap_or_default(), from).await;
    }
}

fn ip(arguments: &str) -> Result<(), Box<dyn Error>> {
    let done = Command::new("ip").args(arguments.split(' ')).status()?;
    if done.success() { Ok(()) } else { Err(format!("ip {arguments}: {done}").into()) }
}

/// Linux's clients, which know nothing of the gateway.
fn clients() -> Result<(), Box<dyn Error>> {
    let octets: Vec<u8> = (0..250_000_u32).flat_map(u32::to_le_bytes).collect();
    for to in ["203.0.113.9:7777", "[2001:db8::9]:7777"] {
        let mut stream = Client::connect(to)?;
        stream.write_all(&octets)?;
        stream.shutdown(Shutdown::Write)?;
        let mut back = Vec::new();
        stream.read_to_end(&mut back)?;
        println!(
            "{to}: {} octets sent, {} came back after the end of them: {}",
            octets.len(),
            back.len(),
            back == octets
        );
        if back != octets {
            return Err("other octets than were sent".into());
        }
    }
    for to in ["203.0.113.9:7778", "[2001:db8::9]:7778"] {
        let refused = Client::connect(to).map_err(|error| error.kind());
        println!("{to}: {refused:?}");
        if refused.err() != Some(ErrorKind::ConnectionRefused) {
            return Err("expected to be refused".into());
        }
    }
    for (local, to) in [("0.0.0.0:0", "203.0.113.9:7777"), ("[::]:0", "[2001:db8::9]:7777")] {
        let sender = Sender::bind(local)?;
        sender.send_to(b"hello", to)?;
        let mut back = [0; 16];
        let (length, from) = sender.recv_from(&mut back)?;
        let answer = back.get(..length).unwrap_or_default();
        println!("{from} answers {:?}", String::from_utf8_lossy(answer));
        if from.to_string() != to || answer != b"hello" {
            return Err(format!("expected an answer from {to}").into());
        }
    }
    let sender = Sender::bind("0.0.0.0:0")?;
    sender.connect("203.0.113.9:7778")?;
    sender.send(b"hello")?;
    let refused = sender.recv(&mut [0; 16]).map_err(|error| error.kind());
    println!("203.0.113.9:7778, UDP: {refused:?}");
    if refused == Err(ErrorKind::ConnectionRefused) { Ok(()) } else { Err("expected to be refused".into()) }
}

/// What Linux's `connect` makes of each refusal.
async fn refusals(gateway: &mut Gateway) -> Result<(), Box<dyn Error>> {
    for to in ["198.51.100.1:9", "[2001:db8:1::1]:9"] {
        for why in [
            Refusal::Reset,
            Refusal::PortUnreachable,
            Refusal::NetworkUnreachable,
            Refusal::HostUnreachable,
            Refusal::Prohibited,
        ] {
            let mut call = tokio::task::spawn_blocking(move || Client::connect(to).map_err(|error| error.kind()));
            // Linux makes the local route of a new IPv6 address some time after the address: what it gets before that
            // it drops, and sends its segment again.
            let ended = loop {
                tokio::select! {
                    flow = gateway.accept_any() => match flow? {
                        Flow::Tcp(offer) => offer.refuse(why),
                        Flow::Udp(_) => return Err("expected a call".into()),
                    },
                    ended = &mut call => break ended?,
                }
            };
            println!("{to}: {why:?} is {:?}", ended.err());
        }
    }
    Ok(())
}

/// All of that on one device.
fn through(tun: Tun, name: &str, config: &HostConfig) -> Result<(), Box<dyn Error>> {
    tun.configure_kernel("10.9.0.1".parse()?, 24, 1500)?;
    for arguments in ["route add default dev", "-6 addr add fd09::1/64 nodad dev", "-6 route add default dev"] {
        ip(&format!("{arguments} {name}"))?;
    }
    let host = HostStack::start(Box::new(tun), config)?;
    let mut gateway = host.gateway()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(refusals(&mut gateway))?;
    let (listener, socket) = runtime.block_on(async {
        std::io::Result::Ok((TcpListener::bind("127.0.0.1:7777").await?, UdpSocket::bind("127.0.0.1:7777").await?))
    })?;
    runtime.spawn(echo(listener));
    runtime.spawn(echo_udp(socket));
    let server = runtime.spawn(serve(gateway));
    clients()?;
    server.abort();
    drop(runtime);
    println!("left over: {:?}", host.stack().counts());
    Ok(host.stop()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    ip("link set lo up")?;
    through(Tun::open("kumiki0", 1500)?, "kumiki0", &HostConfig::gateway())?;
    // On an Ethernet Linux asks for each address, and the gateway is whoever it asks for.
    through(Tun::open_tap("kumiki1", 1500)?, "kumiki1", &HostConfig::gateway().ethernet([2, 0, 0, 0, 0, 2]))
}
