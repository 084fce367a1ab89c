//! `kumiki ttcp` in real time: XTP, and TCP, over an Ethernet whose frames are in UDP datagrams on the loopback
//! interface.
//!
//! Two processes, each a whole host, carry generated octets; the hashes that both ends compute must be the same. Each
//! test has sockets of its own, ends what it started, and gives up where a process hangs. tshark is asked where there
//! is one; with `KUMIKI_REQUIRE_TSHARK` set there must be one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

mod process;

use std::net::SocketAddrV4;
use std::path::Path;
use std::process::{Command, Stdio};

use kumiki_watchdog::peers::CHECKSUMS;

use process::{Folder, Running, event, sockets};
use serde_json::Value;

/// Octets in one write: ttcp's `-l`.
const WRITE: u64 = 8192;

/// What becomes of a transfer: the connection in the words of both ends, and the end of the sender.
struct Carried {
    sent: Value,
    received: Value,
    end: Value,
}

/// A program of a host of the Ethernet: `number` is the last octet of its IP address; `peer` the socket of the other
/// one.
fn host(program: &str, number: u8, socket: SocketAddrV4, peer: SocketAddrV4, options: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    let what = format!(
        "{program} --json --mtu 9000 --addr 192.168.3.{number}/24 \
         --sim-ether {socket} --station {peer} {options}"
    );
    command.args(what.split_whitespace()).stdin(Stdio::null());
    command
}

/// `ttcp` on such a host.
fn ttcp(protocol: &str, number: u8, socket: SocketAddrV4, peer: SocketAddrV4, options: &str) -> Command {
    let options = format!("--protocol {protocol} {options}");
    host("ttcp", number, socket, peer, &options)
}

/// Carries so many octets in writes of [`WRITE`] from one process to the other and holds both to what the other one
/// says. `options` are those of the sender and those of the receiver.
fn carry(protocol: &str, [near, far]: [SocketAddrV4; 2], octets: u64, options: [&str; 2]) -> Carried {
    let receive = format!("--receive {}", options[1]);
    let mut receiver = Running::start(ttcp(protocol, 2, far, near, &receive));
    receiver.wait_for("listening");
    let transmit = format!("--transmit 192.168.3.2 -l {WRITE}B -n {} {}", octets / WRITE, options[0]);
    let sender = Running::start(ttcp(protocol, 1, near, far, &transmit)).end();
    let receiver = receiver.end();
    assert_eq!(sender.status, Some(0), "sender: {sender:?}\nreceiver: {receiver:?}");
    assert_eq!(receiver.status, Some(0), "receiver: {receiver:?}");
    let (sent, received) = (event(&sender, "connection"), event(&receiver, "connection"));
    assert_eq!(sent["sent"], octets, "{sent}");
    assert_eq!(received["received"], octets, "{received}");
    assert_eq!(sent["sent_sha256"], received["received_sha256"]);
    assert_eq!([&sent["ended"], &received["ended"]], ["closed"; 2], "{sent}\n{received}");
    Carried { end: event(&sender, "end"), sent, received }
}

const MIB: u64 = 1 << 20;

#[test]
fn xtp_carries_octets_over_an_ethernet_in_datagrams() {
    let carried = carry("xtp", sockets(), 16 * MIB, ["", ""]);
    // The other way nothing was carried, and both know whom they spoke with.
    assert_eq!(carried.sent["received"], 0);
    assert_eq!(carried.sent["remote"], "192.168.3.2:5001");
    assert_eq!(carried.sent["local"], carried.received["remote"]);
}

#[test]
fn xtp_repairs_what_a_line_loses() {
    let carried = carry("xtp", sockets(), 16 * MIB, ["--impair loss=0.01", ""]);
    let lost = carried.end["line"]["b_lost"].as_u64().unwrap();
    assert!(lost > 0, "nothing was lost: {}", carried.end);
}

#[test]
fn tcp_carries_octets_over_an_ethernet_in_datagrams() {
    carry("tcp", sockets(), 16 * MIB, ["", ""]);
}

#[test]
fn xtp_crosses_a_delay_generator_that_loses() {
    let [near, far] = sockets();
    let [box_near, box_far] = sockets();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command
        .args(["delay", "--json", "--no-stdin", "--ordinary-priority"])
        .stdin(Stdio::null())
        .args(["--for", "300s", "--set", "both delay 20ms loss 1%"])
        .arg(format!("udp:{box_near},{near}"))
        .arg(format!("udp:{box_far},{far}"));
    let mut delay = Running::start(command);
    delay.wait_for("ready");
    let via = [box_near, box_far].map(|socket| format!("--via {socket}"));
    let carried = carry("xtp", [near, far], 4 * MIB, [&via[0], &via[1]]);
    // Nothing goes past the box: a round trip takes 40 ms at least, and there were several.
    let seconds = carried.sent["seconds"].as_f64().unwrap();
    assert!(seconds > 0.08, "{}", carried.sent);
}

/// One process transmits to a group of two others, over lines of which one loses. A capture shows nothing to remark.
#[test]
fn a_group_of_two_receives_what_one_sends() {
    let ([source, first], [second, _]) = (sockets(), sockets());
    let member = |number, socket, others: [SocketAddrV4; 2], options: &str| {
        let more = format!("--station {} {options}", others[1]);
        ttcp("xtp", number, socket, others[0], &more)
    };
    let folder = Folder::new("group");
    let pcap = folder.path("source.pcapng");
    let receive = "--receive --group 239.1.2.3";
    let receivers = [
        (2, first, [source, second], receive.to_owned()),
        (3, second, [source, first], format!("{receive} --impair loss=0.01")),
    ]
    .map(|(number, socket, others, options)| {
        let mut receiver = Running::start(member(number, socket, others, &options));
        receiver.wait_for("listening");
        receiver
    });
    let transmit = format!(
        "--transmit 239.1.2.3 -l {WRITE}B -n {} --set xtp.min_receivers=2 --pcap {}",
        4 * MIB / WRITE,
        pcap.display()
    );
    let sender = member(1, source, [first, second], &transmit);
    let sender = Running::start(sender).end();
    let receivers = receivers.map(Running::end);
    assert_eq!(sender.status, Some(0), "{sender:?}\n{receivers:?}");
    let sent = event(&sender, "connection");
    assert_eq!(sent["sent"], 4 * MIB, "{sent}");
    for receiver in receivers {
        assert_eq!(receiver.status, Some(0), "{receiver:?}");
        let received = event(&receiver, "connection");
        assert_eq!(received["received"], 4 * MIB, "{received}");
        assert_eq!(sent["sent_sha256"], received["received_sha256"]);
        assert_eq!(received["ended"], "closed", "{received}");
    }
    assert_eq!(decode(&pcap, &["--bad"]), "");
    let packets = decode(&pcap, &["--only", "xtp"]);
    assert!(packets.contains("JCNTL") && packets.contains("MULTI"));
    if let Some(seen) = tshark(&pcap, "xtp.cmd.options.multi == 1") {
        assert_eq!(seen.lines().count(), packets.lines().count());
        assert_eq!(tshark(&pcap, "xtp.bad_checksum").unwrap(), "");
    }
}

#[test]
fn a_capture_has_no_fault() {
    for (protocol, wrong) in
        [("xtp", "xtp.bad_checksum"), ("tcp", "tcp.checksum.status==0 || ip.checksum.status==0 || _ws.malformed")]
    {
        let folder = Folder::new(&format!("capture-{protocol}"));
        let captures = ["sender", "receiver"].map(|name| folder.path(&format!("{name}.pcapng")));
        let options = captures.each_ref().map(|path| format!("--pcap {}", path.display()));
        let carried = carry(protocol, sockets(), 2 * MIB, [&options[0], &options[1]]);
        for path in &captures {
            let all = decode(path, &["--only", protocol]);
            let packets = all.lines().count();
            // A packet has no more than the 9000 octets of the MTU.
            assert!(packets as u64 > 2 * MIB / 9000, "{all}");
            assert_eq!(decode(path, &["--bad"]), "");
            let Some(seen) = tshark(path, protocol) else {
                println!("not looked at by tshark, which is absent");
                continue;
            };
            assert_eq!(seen.lines().count(), packets, "{seen}");
            assert_eq!(tshark(path, wrong).unwrap(), "");
        }
        assert_eq!(carried.end["packets_refused"], 0);
    }
}

#[test]
fn a_capture_of_a_line_that_spoils_shows_it_and_xtp_repairs_it() {
    let folder = Folder::new("spoilt");
    let path = folder.path("receiver.pcapng");
    let spoils = format!("--impair corrupt=0.05 --pcap {}", path.display());
    carry("xtp", sockets(), 2 * MIB, ["", &spoils]);
    // So it is no wonder of the capture above that nothing was found in it.
    assert_ne!(decode(&path, &["--bad"]), "");
    if let Some(seen) = tshark(&path, "xtp.bad_checksum") {
        assert_ne!(seen, "");
    }
}

/// What `kumiki decode` prints of a capture.
fn decode(path: &Path, options: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command.arg("decode").arg(path).args(options);
    kumiki_watchdog::minute();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The packets that pass tshark's `filter`; `None` where there is no tshark and none is required.
fn tshark(path: &Path, filter: &str) -> Option<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = here.join("../kumiki-decode/dissectors/xtp.lua");
    let script = format!("lua_script:{}", script.display());
    kumiki_watchdog::peers::tshark(path, [&["-X", &script, "-Y", filter], &CHECKSUMS[..]].concat())
}

#[test]
fn an_echo_comes_back_whatever_transport_was_asked_for() {
    let [near, far] = sockets();
    let mut other = Running::start(host("ttcp", 2, far, near, "--receive"));
    other.wait_for("listening");
    let options = "--protocol xtp --to 192.168.3.2 --count 2 --interval 1ms";
    let ping = Running::start(host("ping", 1, near, far, options)).end();
    assert_eq!(ping.status, Some(0), "{ping:?}");
    assert_eq!(event(&ping, "ping")["answered"], 2);
}

/// A caller of a host that has no listener on the port: why its call ended.
fn refused(protocol: &str) -> String {
    let [near, far] = sockets();
    let mut other = Running::start(ttcp(protocol, 2, far, near, "--receive --port 6000"));
    other.wait_for("listening");
    let transmit = "--transmit 192.168.3.2 --port 6001";
    let sender = Running::start(ttcp(protocol, 1, near, far, transmit)).end();
    assert_eq!(sender.status, Some(1), "{sender:?}");
    // Errors go to standard error, with their reason.
    let why = "kumiki: connection 1, with 192.168.3.2:6001, was aborted: the peer refused\n";
    let told = |line: &&str| !line.starts_with("sandbox: ");
    let errors: String = sender.err.split_inclusive('\n').filter(told).collect();
    assert_eq!(errors, why);
    let connection = event(&sender, "connection");
    assert_eq!(connection["ended"], "aborted", "{connection}");
    connection["reason"].as_str().unwrap().to_owned()
}

/// ARP asks three times, a second apart; after that nothing is tried any more.
#[test]
fn a_host_that_is_not_there_ends_a_call() {
    for protocol in ["tcp", "xtp"] {
        let [near, nobody] = sockets();
        let transmit = "--transmit 192.168.3.9";
        let sender = Running::start(ttcp(protocol, 1, near, nobody, transmit)).end();
        assert_eq!(sender.status, Some(1), "{sender:?}");
        let connection = event(&sender, "connection");
        assert_eq!(connection["reason"], "no path to the peer", "{connection}");
    }
}

#[test]
fn what_was_refused_was_not_sent() {
    let [near, nobody] = sockets();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    let text = format!(
        "ttcp --protocol xtp --addr 192.168.3.1/24 --transmit 192.168.3.1 \
         --sim-ether {near} --station {nobody}"
    );
    let sender = Running::start(command.args(text.split_whitespace()).stdin(Stdio::null())).end();
    assert_eq!(sender.status, Some(1), "{sender:?}");
    assert!(sender.out.contains("handed to the stack"), "{sender:?}");
    assert!(!sender.out.contains("   sent "), "{sender:?}");
    assert!(!sender.out.contains("Mb/s"), "{sender:?}");
    assert!(sender.err.contains("the peer refused"), "{sender:?}");
}

#[test]
fn mistakes_of_the_command_line_say_what_would_be_right() {
    for (options, words) in [
        ("-l 5GiB", ["\"5GiB\"", "too long", "1 GiB"]),
        ("-l 0B", ["\"0B\"", "nothing", "1 GiB"]),
        ("--station 192.0.2.1:7000", ["--station", "192.0.2.1:7000", "--beyond-loopback"]),
    ] {
        let options = format!("--transmit 192.168.3.2 {options}");
        let [near, far] = sockets();
        let sender = Running::start(ttcp("xtp", 1, near, far, &options)).end();
        assert_eq!((sender.status, &sender.out[..]), (Some(2), ""), "{sender:?}");
        for word in words {
            assert!(sender.err.contains(word), "{word}: {sender:?}");
        }
    }
}

#[test]
fn a_tcp_that_nobody_listens_for_says_so() {
    assert_eq!(refused("tcp"), "the peer refused");
}

#[test]
fn an_xtp_that_nobody_listens_for_is_refused() {
    assert_eq!(refused("xtp"), "the peer refused");
}
