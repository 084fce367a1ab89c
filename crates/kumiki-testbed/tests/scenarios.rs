//! Programs at the hosts of scenarios: of the repository, and of this test.
#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Duration;

use kumiki_net::gateway::Flow;
use kumiki_net::sim::{self, Net, SimError};
use kumiki_net::{Stack, TcpListener, TcpStream, UdpSocket};
use kumiki_testbed::Testbed;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A line between two hosts, and another two that load it.
const OFFICE: &str = r#"
title = "An office"

[host.client]
graph = ["tcp", "ip", "l0"]
[host.server]
like = "client"
[host.west]
graph = { ip = ["l0", "l1", "wan"] }
ip.forwarding = true
[host.east]
like = "west"
[host.loader]
like = "client"
[host.taker]
like = "client"

[link.client]
ends = ["client.l0", "west.l0"]
medium = "point-to-point"
rate = "1 Gb/s"
[link.loader]
ends = ["loader.l0", "west.l1"]
medium = "point-to-point"
rate = "1 Gb/s"
[link.server]
ends = ["east.l0", "server.l0"]
medium = "point-to-point"
rate = "1 Gb/s"
[link.taker]
ends = ["east.l1", "taker.l0"]
medium = "point-to-point"
rate = "1 Gb/s"
[link.wan]
ends = ["west.wan", "east.wan"]
medium = "point-to-point"
rate = "10 Mb/s"
propagation = "20 ms"
queue_frames = 50
"#;

const LOAD: &str = r#"
[load.beside]
kind = "netperf"
from = "loader"
to = "taker"
message = "8 KiB"
"#;

/// Takes what comes, and says how much that was.
async fn count() -> std::io::Result<()> {
    let listener = TcpListener::bind("[::]:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        sim::spawn(async move {
            let octets = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
            stream.write_u64(octets).await
        });
    }
}

/// How long so many octets take to `server`.
async fn send(server: &str, octets: u64) -> std::io::Result<Duration> {
    let begun = sim::time::elapsed();
    let mut stream = TcpStream::connect((server, 80)).await?;
    stream.write_all(&vec![7; usize::try_from(octets).unwrap()]).await?;
    stream.shutdown().await?;
    assert_eq!(stream.read_u64().await?, octets);
    Ok(sim::time::elapsed() - begun)
}

fn office(more: &str) -> Testbed {
    Testbed::parse(&format!("{OFFICE}{more}")).unwrap().at(["client", "server"])
}

/// How long a megabyte takes from the client to the server.
fn megabyte(net: &Net) -> Duration {
    net.host("server").start(count);
    net.host("client").run(send("server", 1_000_000)).unwrap().unwrap()
}

#[test]
fn a_transfer_takes_what_the_lines_of_the_scenario_let_it() {
    let took = megabyte(&office("").net(1).unwrap());
    // 0.83 s at 10 Mb/s with the headers, and some round trips of 40 ms.
    assert!(took > 830 * MS && took < 1200 * MS, "{took:?}");
    let set = office("").set("link.wan.rate=100 Mb/s");
    let faster = megabyte(&set.net(1).unwrap());
    assert!(faster < took / 2, "{faster:?}");
}

#[test]
fn loads_of_hosts_that_are_emulated_run_beside() {
    let alone = megabyte(&office("[run]\nduration = \"10 s\"").net(1).unwrap());
    let beside = megabyte(&office(LOAD).net(1).unwrap());
    assert!(beside > alone * 3 / 2, "{alone:?}, and beside a load {beside:?}");
}

#[test]
fn the_same_seed_is_the_same_again_and_another_is_not() {
    let testbed = office("[link.wan.impair]\nloss = \"2 %\"\n");
    let run = |seed| {
        let net = testbed.net(seed).unwrap();
        (megabyte(&net), net.digest())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let mut seen = Vec::new();
    let seeds = std::cell::RefCell::new(&mut seen);
    testbed.for_seeds(1..4, |net| seeds.borrow_mut().push((net.seed(), megabyte(net)))).unwrap();
    assert_eq!(seen.iter().map(|(seed, _)| *seed).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(seen[0].1 == run(1).0 && seen[0].1 != seen[1].1);
}

#[test]
fn over_atm_and_a_router_segments_are_cut_to_what_the_line_behind_carries() {
    let net = Testbed::find("router").unwrap().at(["a", "b"]).net(1).unwrap();
    net.host("b").start(count);
    let took = net.host("a").run(send("b", 1_000_000)).unwrap().unwrap();
    // 86 ms at 100 Mb/s with all headers; what was too long for the line at first comes again.
    assert!(took > 80 * MS && took < 250 * MS, "{took:?}");
    // A datagram of 8 KiB goes in pieces, as in the scenario's own load.
    net.host("b").start(|| async {
        let socket = UdpSocket::bind("0.0.0.0:9").await?;
        let (len, from) = socket.recv_from(&mut [0; 9000]).await?;
        socket.send_to(&[0; 8][..len / 1024], from).await.map(drop)
    });
    let got = net.host("a").run(async {
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        socket.send_to(&[7; 8192], "10.0.1.1:9").await?;
        socket.recv(&mut [0; 16]).await
    });
    assert_eq!(got.unwrap().unwrap(), 8);
}

#[test]
fn what_the_file_lets_happen_happens_to_programs_too() {
    let events = r#"
[[event]]
at = "1 s"
link = "wan"
up = false
[[event]]
at = "3 s"
link = "wan"
up = true
[[event]]
at = "5 s"
host = "server"
up = false
[[event]]
at = "7 s"
host = "server"
up = true
"#;
    let net = office(events).net(1).unwrap();
    let begun = std::rc::Rc::new(std::cell::Cell::new(0));
    let starts = std::rc::Rc::clone(&begun);
    net.host("server").start(move || {
        starts.set(starts.get() + 1);
        count()
    });
    let reaches = net.host("client").run(async {
        let mut reaches = Vec::new();
        for n in 0..9_u32 {
            sim::time::sleep(SECOND * n + SECOND / 2 - sim::time::elapsed()).await;
            reaches.push(sim::time::timeout(200 * MS, TcpStream::connect("server:80")).await.is_ok());
        }
        reaches
    });
    assert_eq!(reaches.unwrap(), [true, false, false, true, true, false, false, true, true]);
    assert_eq!(begun.get(), 2, "its programs start over");
}

#[test]
fn what_can_be_done_to_hosts_of_a_network_can_be_done_to_these() {
    let net = office("").net(1).unwrap();
    net.host("server").start(count);
    let client = net.host("client");
    let reaches = |net: &Net| {
        let call = async { sim::time::timeout(SECOND, TcpStream::connect("server:80")).await.is_ok() };
        net.host("client").run(call).unwrap()
    };
    assert!(reaches(&net));
    net.partition("client", "server");
    assert!(!reaches(&net));
    net.repair_all();
    net.host("server").crash();
    assert!(!reaches(&net));
    net.host("server").restart();
    assert!(reaches(&net));
    // Through a hole that swallows long packets TCP gets, after some time.
    net.host("server").set_black_hole(Some(1000));
    let took = client.run(send("server", 100_000)).unwrap().unwrap();
    assert!(took > 500 * MS && took < 30 * SECOND, "{took:?}");
}

#[test]
fn a_host_with_several_lines_has_all_their_addresses() {
    // Its programs are at a router, which is a host now.
    let net = office("").at(["west"]).net(1).unwrap();
    let west = net.host("west");
    west.start(count);
    let addresses = west.addresses();
    assert_eq!(addresses.len(), 3, "{addresses:?}");
    for address in addresses {
        net.host("client").run(send(&address.to_string(), 10_000)).unwrap().unwrap();
        west.run(send(&address.to_string(), 10_000)).unwrap().unwrap();
    }
    // By way of the line that leads there, whatever the address.
    net.host("server").start(count);
    west.run(send("server", 10_000)).unwrap().unwrap();
    west.crash().restart();
    west.run(send("server", 10_000)).unwrap().unwrap();
}

#[test]
fn names_of_hosts_without_programs_are_known_too() {
    let net = office("").net(1).unwrap();
    let refused = net.host("client").run(TcpStream::connect("taker:80")).unwrap().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused, "{refused}");
}

/// A host, and the world behind a line.
const WORLD: &str = r#"
title = "The world"
[host.client]
graph = ["tcp", "ip", "l0"]
ip = { address = "10.0.0.1/24", routes = { default = "10.0.0.2" } }
[host.world]
graph = ["tcp", "ip", "l0"]
ip = { address = "10.0.0.2/24" }
real = { gateway = true }
[link.line]
ends = ["client", "world"]
medium = "point-to-point"
rate = "10 Mb/s"
"#;

#[test]
fn whatever_is_called_behind_a_gateway_its_program_answers() {
    let net = Testbed::parse(WORLD).unwrap().at(["client"]).net(1).unwrap();
    net.host("world").start(|| async {
        let mut gateway = Stack::current()?.gateway()?;
        while let Flow::Tcp(offer) = gateway.accept_any().await? {
            let called = offer.destination().to_string();
            offer.accept()?.write_all(called.as_bytes()).await?;
        }
        std::io::Result::Ok(())
    });
    let said = net.host("client").run(async {
        let mut said = String::new();
        TcpStream::connect("198.51.100.7:80").await?.read_to_string(&mut said).await?;
        std::io::Result::Ok(said)
    });
    assert_eq!(said.unwrap().unwrap(), "198.51.100.7:80");
}

#[test]
fn what_cannot_be_is_told_with_its_place() {
    let said = |testbed: Testbed| testbed.net(1).unwrap_err().to_string();
    let nobody = said(Testbed::parse(&format!("{OFFICE}{LOAD}[run]\nduration = \"1 s\"\n")).unwrap());
    assert!(nobody.contains("no program is at any host"), "{nobody}");
    let unknown = said(office("").at(["sever"]));
    assert!(unknown.contains("sever"), "{unknown}");
    let world = WORLD.replace("\"ip\", \"l0\"", "\"ip\", \"arp\", \"eth\", \"l0\"");
    let frames = said(Testbed::parse(&world.replace("gateway = true", "tap = \"k0\"")).unwrap());
    assert!(frames.contains("host.world.real") && frames.contains("Testbed::at"), "{frames}");
    let wrong = said(office("").set("link.wan.rat=1 Mb/s"));
    assert!(wrong.contains("rat"), "{wrong}");
    let net = office("").net(1).unwrap();
    let Err(SimError::Host { host, why }) = net.host_at("other", ["10.9.9.9".parse::<std::net::IpAddr>().unwrap()])
    else {
        panic!("a host that nothing leads to");
    };
    assert!(host == "other" && why.contains("`client`, `server`"), "{why}");
}

#[test]
fn programs_run_over_every_kind_of_medium() {
    for (name, from, to) in [
        ("outage", "a0", "b0"),
        ("fddi", "a", "b"),
        ("ethernet", "a", "b"),
        ("incast", "s0", "r"),
        ("pos", "near", "far"),
        ("classical-ip", "a", "b"),
        ("mapos", "a", "b"),
        ("romanow-floyd", "s0", "r"),
        ("paper1-rates", "sender", "receiver"),
    ] {
        let net = Testbed::find(name).unwrap().at([from, to]).net(1).unwrap();
        net.host(to).start(count);
        let took = net.host(from).run(send(to, 100_000)).unwrap().unwrap();
        // PPP has to come up first, and loses the first SYN.
        assert!(took < if name == "pos" { 2 * SECOND } else { SECOND }, "{name}: {took:?}");
    }
}
