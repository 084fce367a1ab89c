//! An address from a server of somebody else's: udhcpd of BusyBox, in a network namespace of its own, behind a TAP.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::thread;

use kumiki_net::host::{HostConfig, HostStack, Tun};
use kumiki_net::{Network, NetworkRoute, Stack, blocking};
use kumiki_watchdog::process::{Folder, Running};
use rustix::process::Signal;

const LINUX: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
const STATION: [u8; 6] = [2, 0, 0, 0, 0x60, 1];

/// A server that has one address to give, and the folder in which it keeps whom it has given it.
fn server(folder: &Folder) -> Result<Running, String> {
    let mut text = String::new();
    for line in [
        "interface k0",
        "start 10.96.0.77",
        "end 10.96.0.77",
        "max_leases 1",
        "option subnet 255.255.255.0",
        "option router 10.96.0.1",
        "option dns 10.96.0.53 10.96.0.54",
        "option mtu 1400",
        "option lease 600",
        "option staticroutes 10.97.0.0/16 10.96.0.9, 0.0.0.0/0 10.96.0.8",
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

fn run(tap: Tun, server: &Running, folder: &Folder) {
    let host = HostStack::start(Box::new(tap), &HostConfig::new([]).ethernet(STATION).dhcp_quickly()).unwrap();
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let network = wait(host.stack(), |it| !it.resolvers.is_empty());
    let [own] = network.addresses[..] else { panic!("{network:?}") };
    assert_eq!((own.address, own.prefix), (ip("10.96.0.77"), 24));
    assert_eq!((network.mtu, network.resolvers), (vec![1400], vec![ip("10.96.0.53"), ip("10.96.0.54")]));
    let route = |network: &str, prefix, router: &str| NetworkRoute {
        network: ip(network),
        prefix,
        router: Some(ip(router)),
        line: 0,
    };
    // And not by the router that it names beside these (RFC 3442).
    assert_eq!(network.routes, [route("10.97.0.0", 16, "10.96.0.9"), route("0.0.0.0", 0, "10.96.0.8")]);
    let entered = host.stack().enter();
    let listener = blocking::TcpListener::bind("0.0.0.0:7").unwrap();
    let caller = thread::spawn(|| {
        let mut stream = std::net::TcpStream::connect("10.96.0.77:7").unwrap();
        stream.write_all(b"hello").unwrap();
    });
    let (mut stream, _) = listener.accept().unwrap();
    let mut octets = [0; 5];
    stream.read_exact(&mut octets).unwrap();
    assert_eq!(&octets, b"hello");
    caller.join().unwrap();
    drop(entered);
    // One lease, and its end: udhcpd writes them down when it is asked to.
    host.stop().unwrap();
    // The time of writing, and what it knows of each: seconds left (4 octets), address, station. It may be asked before it has read the last message.
    while !matches!(folder.read("leases").get(8..16), Some(&[0, 0, 0, 0, 10, 96, 0, 77])) {
        server.signal(Signal::USR1);
        thread::yield_now();
    }
}

#[test]
fn a_server_of_somebody_elses_gives_address_routes_mtu_and_resolvers() {
    kumiki_watchdog::minute();
    let folder = Folder::new("dhcp");
    let began = move || {
        kumiki_io::namespace::leave_host(false).map_err(|why| why.to_string())?;
        let tap = Tun::open_tap("k0", 1500).map_err(|why| why.to_string())?;
        tap.configure_kernel(LINUX.into(), 24, 1500).map_err(|why| why.to_string())?;
        let server = server(&folder)?;
        Ok::<_, String>((tap, server, folder))
    };
    let thread = thread::spawn(move || match began() {
        Ok((tap, server, folder)) => run(tap, &server, &folder),
        Err(why) => {
            let is_peer = why.starts_with("busybox");
            let required = std::env::var_os("KUMIKI_REQUIRE_NETNS").is_some_and(|set| !set.is_empty());
            assert!(!required || is_peer, "{why}");
            eprintln!("not tested: {why}");
        }
    });
    thread.join().unwrap();
}
