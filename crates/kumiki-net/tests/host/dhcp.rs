//! An address from a server of somebody else's: udhcpd of BusyBox, in a network namespace of its own, behind a TAP.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::thread;

use kumiki_net::host::{HostConfig, HostStack, Line, RealDevice, Tun};
use kumiki_net::{Network, NetworkRoute, Stack, blocking};
use kumiki_watchdog::process::{Folder, Running};
use rustix::process::Signal;

/// A line of the host: the TAP, Linux's address on it, and whom it gives what.
struct Side {
    tap: Tun,
    server: Running,
    folder: Folder,
}

const fn station(line: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0x60, 1 + line]
}

/// An address on the network of a line, by its last octet.
const fn on(line: u8, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 96 + 2 * line, 0, last)
}

/// A server that has one address to give on a line, and the folder in which it keeps whom it has given it.
fn server(folder: &Folder, line: u8) -> Result<Running, String> {
    let [router, own, first, second, aside, default] = [1, 77, 53, 54, 9, 8].map(|last| on(line, last));
    let mut text = String::new();
    for line in [
        format!("interface k{line}"),
        format!("start {own}"),
        format!("end {own}"),
        "max_leases 1".to_owned(),
        "option subnet 255.255.255.0".to_owned(),
        format!("option router {router}"),
        format!("option dns {first} {second}"),
        "option mtu 1400".to_owned(),
        "option lease 600".to_owned(),
        format!("option staticroutes 10.97.0.0/16 {aside}, 0.0.0.0/0 {default}"),
    ] {
        writeln!(text, "{line}").unwrap();
    }
    writeln!(text, "lease_file {0}/leases\npidfile {0}/pid", folder.place().display()).unwrap();
    folder.write("leases", b"");
    folder.write("udhcpd.conf", text.as_bytes());
    let mut command = Command::new("busybox");
    // Whether there is one is seen by a call that does nothing.
    let there = command.arg("udhcpd").arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !there.is_ok_and(|it| it.success()) {
        return Err("busybox has no udhcpd".to_owned());
    }
    let mut command = Command::new("busybox");
    command.arg("udhcpd").arg("-f").arg(folder.path("udhcpd.conf")).stderr(Stdio::null());
    Ok(Running::peer(command))
}

/// Waits until the network is as it is wanted.
fn wait(stack: &Stack, is_so: impl Fn(&Network) -> bool) -> Network {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut network = stack.network();
        while !is_so(&network) {
            network = stack.network_after(network.version).await.unwrap();
        }
        network
    })
}

/// A host with a client on each line.
fn start(sides: Vec<Tun>) -> HostStack {
    let lines = (0..).zip(&sides).skip(1).map(|(line, _)| Line::new([]).ethernet(station(line)).dhcp_quickly());
    let first = HostConfig::new([]).ethernet(station(0)).dhcp_quickly();
    let config = lines.fold(first, HostConfig::line);
    let devices = sides.into_iter().map(|tap| Box::new(tap) as Box<dyn RealDevice>).collect();
    HostStack::start_on(devices, &config).unwrap()
}

fn run(sides: Vec<Side>) {
    let count = sides.len();
    let (taps, servers): (Vec<_>, Vec<_>) = sides.into_iter().map(|it| (it.tap, (it.server, it.folder))).unzip();
    let host = start(taps);
    let network = wait(host.stack(), |it| it.resolvers.len() == 2 * count);
    assert_eq!((network.addresses.len(), network.mtu), (count, vec![1400; count]));
    let lines = || (0_u8..).take(count);
    for (line, found) in lines().zip(&network.addresses) {
        assert_eq!((found.address, found.prefix, found.line), (on(line, 77).into(), 24, line.into()));
    }
    let resolvers: Vec<IpAddr> = lines().flat_map(|line| [on(line, 53), on(line, 54)]).map(IpAddr::V4).collect();
    assert_eq!(network.resolvers, resolvers);
    let route = |line: u8, network: Ipv4Addr, prefix, last| NetworkRoute {
        network: network.into(),
        prefix,
        router: Some(on(line, last).into()),
        line: line.into(),
    };
    // And not by the router that it names beside these (RFC 3442).
    let of = |line| [route(line, Ipv4Addr::new(10, 97, 0, 0), 16, 9), route(line, Ipv4Addr::UNSPECIFIED, 0, 8)];
    assert_eq!(network.routes, lines().flat_map(of).collect::<Vec<_>>());
    let entered = host.stack().enter();
    let listener = blocking::TcpListener::bind("0.0.0.0:7").unwrap();
    for line in lines() {
        let caller = thread::spawn(move || {
            let mut stream = std::net::TcpStream::connect((on(line, 77), 7)).unwrap();
            stream.write_all(b"hello").unwrap();
        });
        let (mut stream, _) = listener.accept().unwrap();
        let mut octets = [0; 5];
        stream.read_exact(&mut octets).unwrap();
        assert_eq!(&octets, b"hello");
        caller.join().unwrap();
    }
    drop(entered);
    // One lease on each line, and its end: udhcpd writes them down when it is asked to.
    host.stop().unwrap();
    for (line, (server, folder)) in lines().zip(servers) {
        // The time of writing, and what it knows of each: seconds left (4 octets), address, station. It may be asked
        // before it has read the last message.
        let given_back = [&[0; 4][..], &on(line, 77).octets()].concat();
        while folder.read("leases").get(8..16) != Some(&given_back[..]) {
            server.signal(Signal::USR1);
            thread::yield_now();
        }
    }
}

/// A TAP in the namespace that this thread is in, and a server behind it.
fn side(line: u8, count: u8) -> Result<Side, String> {
    let folder = Folder::new(&format!("dhcp{count}-{line}"));
    let tap = Tun::open_tap(&format!("k{line}"), 1500).map_err(|why| why.to_string())?;
    tap.configure_kernel(on(line, 1).into(), 24, 1500).map_err(|why| why.to_string())?;
    let server = server(&folder, line)?;
    Ok(Side { tap, server, folder })
}

fn on_lines(count: u8) {
    let began = move || {
        kumiki_io::namespace::leave_host(false).map_err(|why| why.to_string())?;
        (0..count).map(|line| side(line, count)).collect::<Result<Vec<_>, String>>()
    };
    let thread = thread::spawn(move || match began() {
        Ok(sides) => run(sides),
        Err(why) => {
            let is_peer = why.starts_with("busybox");
            let required = std::env::var_os("KUMIKI_REQUIRE_NETNS").is_some_and(|set| !set.is_empty());
            assert!(!required || is_peer, "{why}");
            eprintln!("not tested: {why}");
        }
    });
    thread.join().unwrap();
}

#[test]
fn a_server_of_somebody_elses_gives_address_routes_mtu_and_resolvers() {
    kumiki_watchdog::minute();
    on_lines(1);
}

#[test]
fn so_it_does_on_each_line_of_a_host() {
    kumiki_watchdog::minute();
    on_lines(2);
}
