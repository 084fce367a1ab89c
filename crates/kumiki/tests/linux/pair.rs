//! Two Kumikis, over raw IP: XTP (protocol 36) and TCP through TUN devices, with Linux as the router between them.
//!
//! ```text
//! Kumiki --- k0 --- Linux, which forwards --- k1 --- Kumiki
//! Kumiki --- k0 --- Linux --- d0 --- kumiki delay, which loses --- d1 --- Linux, in a namespace of its own --- k1 --- Kumiki
//! ```
//!
//! Both ends compute a hash of the content. tshark looks at what was captured, where it is there.

use std::process::{Command, ExitCode, Stdio};

use serde_json::Value;

use crate::delay::{ABSENT, Between, without_ipv6};
use crate::host::{Content, Kumiki, Said, same, when};
use crate::path::{Peer, ip, needed};
use crate::single::holds;
use crate::{Case, tshark};

/// Not a case: the peer, which routes and receives.
pub(crate) const PEER: &str = "pair-peer";

/// Octets in one write: ttcp's `-l`.
const WRITE: u64 = 8192;

const MIB: u64 = 1 << 20;

/// All interfaces on the way.
const MTU: u16 = 9000;

pub(crate) fn cases(full: bool) -> Vec<Case> {
    let routed = ["tcp", "xtp"].map(|protocol| Case {
        name: format!("pair::{protocol}_crosses_linux_as_the_router"),
        tries: 1,
        run: Box::new(move || routed(protocol)),
    });
    let part = if full { 1024 * MIB } else { 64 * MIB };
    // TCP takes a loss for congestion.
    let lossy = [("tcp", 8 * MIB), ("xtp", part)].map(|(protocol, octets)| Case {
        name: format!("pair::{protocol}_repairs_what_a_delay_generator_loses"),
        tries: 1,
        run: Box::new(move || lossy(protocol, octets)),
    });
    routed.into_iter().chain(lossy).collect()
}

/// `kumiki ttcp` on the TUN device `k` and this number, on whose network Linux is the host 1 and Kumiki the host 2.
fn ttcp(protocol: &str, number: u8) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    let options = format!(
        "ttcp --protocol {protocol} --json --mtu {MTU} --tun k{number} --addr 10.9.{number}.2/24 \
         --linux 10.9.{number}.1/24 --set ip.routes.default=10.9.{number}.1"
    );
    command.args(options.split_whitespace());
    command
}

fn receiver(protocol: &str) -> Command {
    let mut command = ttcp(protocol, 1);
    command.arg("--receive");
    command
}

fn sender(protocol: &str, octets: u64) -> Command {
    let mut command = ttcp(protocol, 0);
    command.args(["--transmit", "10.9.1.2", "-l", &format!("{WRITE}B")]);
    command.args(["-n", &(octets / WRITE).to_string()]);
    command
}

fn forward() -> Said<()> {
    let forwarding = "/proc/sys/net/ipv4/ip_forward";
    std::fs::write(forwarding, "1").map_err(when(forwarding))
}

/// Refuses what did not arrive as it was sent.
fn judge(sent: &Value, received: &Value, octets: u64) -> Said<()> {
    for event in [sent, received] {
        holds(event["ended"] == "closed", || event.to_string())?;
    }
    holds(sent["sent"] == octets, || sent.to_string())?;
    same(&Content::of(sent, "sent")?, &Content::of(received, "received")?)
}

fn routed(protocol: &str) -> Said<String> {
    let octets = 16 * MIB;
    without_ipv6()?;
    forward()?;
    let pcap = std::env::temp_dir().join(format!("kumiki-pair-{}.pcapng", std::process::id()));
    let path = pcap.to_string_lossy().into_owned();
    let mut command = receiver(protocol);
    command.args(["--pcap", &path]);
    let receiver = Kumiki::run(command)?;
    receiver.event("listening")?;
    let sender = Kumiki::run(sender(protocol, octets))?;
    let sent = sender.event("connection")?;
    let received = receiver.event("connection")?;
    judge(&sent, &received, octets)?;
    for kumiki in [sender, receiver] {
        kumiki.event("end")?;
        let status = kumiki.status()?;
        holds(status == 0, || format!("status {status}"))?;
    }
    let seen = seen(protocol, &path, octets);
    let _ = std::fs::remove_file(&pcap);
    seen
}

/// What tshark says of a capture of `octets`: as many packets and super-segments as these need at least, and no wrong
/// sum.
fn seen(protocol: &str, path: &str, octets: u64) -> Said<String> {
    // The router has taken one from the TTL of each packet and mended the header's sum.
    let (all, wrong) = match protocol {
        "tcp" => ("tcp", "ip.checksum.status==0 || tcp.checksum.status==0"),
        _ => ("ip.proto==36 && xtp", "ip.checksum.status==0 || xtp.bad_checksum"),
    };
    let sums = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-Y"];
    let lines = |filter| tshark::lines(path, &[&sums[..], &[filter]].concat());
    let Some(packets) = lines(all)?.map(|lines| lines.len() as u64) else {
        return Ok(tshark::ABSENT.to_owned());
    };
    holds(packets > octets / u64::from(u16::MAX), || format!("tshark sees {packets} packets of {protocol}"))?;
    let wrong = lines(wrong)?.unwrap_or_default();
    holds(wrong.is_empty(), || wrong.join("\n"))?;
    Ok(format!("{packets} packets"))
}

fn lossy(protocol: &str, octets: u64) -> Said<String> {
    if ip("-V")?.is_none() {
        return Ok(ABSENT.to_owned());
    }
    without_ipv6()?;
    forward()?;
    let set = "both delay 5ms loss 1%";
    let ends = [format!("tun:d0,mtu={MTU},addr=10.9.2.1/24"), format!("tun:d1,mtu={MTU}")];
    let mut peer = Peer::start(PEER)?;
    let between = Between::of(&ends, set)?;
    needed(&format!("link set d1 netns {}", peer.id()))?;
    peer.told(protocol)?;
    needed("route add 10.9.1.0/24 via 10.9.2.2")?;
    let mut told = |name: &str| -> Said<Value> {
        let line = peer.line()?;
        let event: Value = serde_json::from_str(&line).map_err(|why| format!("the peer said \"{line}\": {why}"))?;
        holds(event["event"] == name, || line.clone())?;
        Ok(event)
    };
    told("listening")?;
    let sender = Kumiki::run(sender(protocol, octets))?;
    let moved = || -> Said<u64> {
        let all = between.statistics()?;
        Ok(all["a>b"]["octets_in"].as_u64().unwrap_or(0))
    };
    // A packet in a hundred is lost; who is held up longer than a timer sends some of it again.
    let sent = sender.event_while("connection", 4 * octets, moved)?;
    let received = told("connection")?;
    judge(&sent, &received, octets)?;
    let all = between.statistics()?;
    let count = |way: &str, what: &str| all[way][what].as_u64().unwrap_or(0);
    // All of it crossed, and some of it was lost both ways.
    holds(count("a>b", "octets_in") > octets, || all.to_string())?;
    let lost = ["a>b", "b>a"].map(|way| count(way, "lost"));
    holds(lost[0] > 0, || all.to_string())?;
    Ok(format!(
        "{} MiB, {:.1} Mb/s; lost {} of {} and {} of {} packets",
        octets / MIB,
        sent["mbps"].as_f64().unwrap_or(0.0),
        lost[0],
        count("a>b", "packets_in"),
        lost[1],
        count("b>a", "packets_in"),
    ))
}

/// The peer's process, in its own namespace: it receives one transfer.
pub(crate) fn peer() -> ExitCode {
    let acted = || -> Said<()> {
        without_ipv6()?;
        forward()?;
        println!("begun");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map_err(when("input"))?;
        needed("addr add 10.9.2.2/24 dev d1")?;
        needed("link set d1 up")?;
        needed("route add 10.9.0.0/24 via 10.9.2.1")?;
        // It says what it does where this process would.
        let mut receiver = receiver(line.trim());
        let status = receiver.stdin(Stdio::null()).status();
        let status = status.map_err(when("kumiki does not start"))?;
        holds(status.success(), || status.to_string())?;
        // Until its input ends: with this process its namespace goes, and the device in it that the box still has.
        std::io::stdin().read_line(&mut line).map_err(when("input"))?;
        Ok(())
    };
    match acted() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}
