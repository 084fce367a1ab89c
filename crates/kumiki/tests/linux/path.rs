//! Paths that carry less than the links at their ends: Linux is the router on the way, and the peer behind it.
//!
//! ```text
//! Kumiki --- k0 --- Linux, which forwards --- v0 --- v1 --- Linux, the peer, in a namespace of its own
//!        1500 octets                      1400 octets
//! ```
//!
//! The router says what is too big, or is kept from it by a rule for packets of its own. The network is set up by `ip`
//! of iproute2; where that is absent nothing is tested here, which is said, unless `KUMIKI_REQUIRE_NETNS` is set.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use kumiki_decode::capture::Direction;
use kumiki_decode::{Capture, FormatHint, Registry};

use crate::host::{
    Content, Kumiki, PORT, Said, address, is_ipv6, kumiki, linux, listen, prefix, read, speak_ipv6, sysctl, when,
};
use crate::single::holds;
use crate::{Case, INSIDE, host};

/// Not a case: the peer behind the router.
pub(crate) const PEER: &str = "peer";

/// What the narrow link carries.
const NARROW: &str = "1400";

/// How the MTU is to be found out.
#[derive(Clone, Copy)]
struct Path {
    name: &'static str,
    /// The router tells what is too big.
    told: bool,
    path_mtu: &'static str,
    /// Super-segments cross the device, whose packets a capture does not show.
    whole: bool,
}

const PATHS: [Path; 6] = [
    Path { name: "what_the_router_says_is_too_big_is_heeded", told: true, path_mtu: "icmp", whole: false },
    Path {
        name: "a_router_that_says_nothing_is_found_out",
        told: false,
        path_mtu: "probe-on-black-hole",
        whole: false,
    },
    Path { name: "probes_find_the_mtu_of_a_silent_path", told: false, path_mtu: "probe", whole: false },
    Path { name: "probes_find_the_mtu_of_a_path_that_tells", told: true, path_mtu: "probe", whole: false },
    Path { name: "super_segments_of_packets_that_are_too_big_are_told_of", told: true, path_mtu: "icmp", whole: true },
    Path {
        name: "super_segments_do_not_hide_a_silent_router",
        told: false,
        path_mtu: "probe-on-black-hole",
        whole: true,
    },
];

pub(crate) fn cases() -> Vec<Case> {
    let over = |ipv6: bool| {
        PATHS.into_iter().map(move |path| Case {
            name: format!("path{}::{}", if ipv6 { "_ipv6" } else { "" }, path.name),
            tries: 1,
            run: Box::new(move || {
                if ipv6 {
                    speak_ipv6();
                }
                path.run()
            }),
        })
    };
    over(false).chain(over(true)).collect()
}

/// Runs `ip`, and what it says; `None` where there is none.
pub(crate) fn ip(arguments: &str) -> Said<Option<String>> {
    let version = if is_ipv6() { "-6" } else { "-4" };
    let mut command = Command::new("ip");
    command.arg(version).args(arguments.split_whitespace());
    match command.output() {
        Ok(output) if output.status.success() => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
        Ok(output) => Err(format!("ip {version} {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        // There is none, or none that this user may start.
        Err(_) if std::env::var_os("KUMIKI_REQUIRE_NETNS").is_none_or(|set| set.is_empty()) => Ok(None),
        Err(why) => Err(format!("ip of iproute2: {why}")),
    }
}

/// As [`ip`], where it is known to be there.
pub(crate) fn needed(arguments: &str) -> Said<String> {
    ip(arguments)?.ok_or_else(|| "ip has gone".to_owned())
}

/// Waits until `device` carries packets. The kernel takes up to a second to notice that the other end is up, and drops
/// all that goes there before, such as the first SYN.
fn carries(device: &str) -> Said<()> {
    kumiki_watchdog::minute();
    while !needed(&format!("-o link show {device}"))?.contains("state UP") {}
    Ok(())
}

/// The peer's process; it ends with its input.
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    /// Starts this program once more, as the peer `which`.
    pub(crate) fn start(which: &str) -> Said<Self> {
        let mut command = crate::itself(&["--net"]);
        command.args([INSIDE, which]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(when("the peer does not start"))?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut peer = Self { child, input, output };
        // It is in its namespace now.
        peer.said("begun")?;
        Ok(peer)
    }

    /// The process, whose network namespace is the peer's.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn told(&mut self, what: &str) -> Said<()> {
        writeln!(self.input, "{what}").map_err(when("the peer"))
    }

    pub(crate) fn line(&mut self) -> Said<String> {
        kumiki_watchdog::minute();
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(when("the peer"))?;
        Ok(line.trim().to_owned())
    }

    pub(crate) fn said(&mut self, expected: &str) -> Said<()> {
        let line = self.line()?;
        holds(line == expected, || format!("the peer said \"{line}\""))
    }
}

/// The process of the peer, in its own namespace: what it is told on its input it does, and says so.
pub(crate) fn peer() -> ExitCode {
    let acted = || -> Said<()> {
        let mut lines = std::io::stdin().lines();
        let mut next = || lines.next().ok_or("nothing more")?.map_err(when("input"));
        use_addresses_at_once()?;
        // After a probe has failed the next one waits for as many round trips as the window has segments: a small
        // window, and many round trips.
        sysctl("tcp_rmem", "4096 49152 49152")?;
        println!("begun");
        if next()? == "ipv6" {
            speak_ipv6();
        }
        let (own, router) = (address(1, 2), address(1, 1));
        needed(&format!("addr add {own}/{} dev v1", prefix()))?;
        needed("link set v1 up")?;
        needed(&format!("route add default via {router}"))?;
        carries("v1")?;
        let listener = listen()?;
        println!("listening");
        let mut stream = host::accept(&listener)?;
        let received = read(&mut stream)?;
        println!("{}", received.told());
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

/// Nobody looks for duplicates of IPv6 addresses, which takes a second or two for each device.
fn use_addresses_at_once() -> Said<()> {
    let setting = "/proc/sys/net/ipv6/conf/default/accept_dad";
    std::fs::write(setting, "0").map_err(when(setting))
}

impl Path {
    fn run(self) -> Said<String> {
        let mut peer = Peer::start(PEER)?;
        use_addresses_at_once()?;
        let Some(_) = ip("link add v0 type veth peer name v1")? else {
            return Ok("nothing: there is no ip of iproute2".to_owned());
        };
        needed(&format!("link set v1 netns {}", peer.child.id()))?;
        let (near, far) = (address(1, 1), address(1, 2));
        needed(&format!("addr add {near}/{} dev v0", prefix()))?;
        needed(&format!("link set v0 mtu {NARROW} up"))?;
        let (version, forwarding) = if is_ipv6() {
            ("ipv6", "/proc/sys/net/ipv6/conf/all/forwarding")
        } else {
            ("ipv4", "/proc/sys/net/ipv4/ip_forward")
        };
        std::fs::write(forwarding, "1").map_err(when(forwarding))?;
        if !self.told {
            // What the router itself sends comes from no device but `lo`.
            needed(&format!("rule add iif lo to {} blackhole", kumiki()))?;
        }
        peer.told(version)?;
        peer.said("listening")?;
        carries("v0")?;
        let (to, gateway) = (std::net::SocketAddr::new(far, PORT).to_string(), linux());
        let node = if is_ipv6() { "ipv6" } else { "ip" };
        let pcap = std::env::temp_dir().join(format!("kumiki-path-{}.pcapng", std::process::id()));
        let path = pcap.to_string_lossy().into_owned();
        let sets = [
            format!("{node}.routes.default={gateway}"),
            format!("tcp.path_mtu={}", self.path_mtu),
            "tcp.rto.minimum=50 ms".to_owned(),
        ];
        let mut arguments = vec!["--to", &to, "--bytes", "16 MiB", "--pcap", &path];
        for set in &sets {
            arguments.extend(["--set", set]);
        }
        arguments.extend((!self.whole).then_some("--single-packets"));
        let kumiki = Kumiki::start("source", &arguments)?;
        let event = kumiki.event("connection")?;
        let received = peer.line()?;
        holds(event["ended"] == "closed", || event.to_string())?;
        let sent = Content::of(&event, "sent")?;
        holds(received == sent.told(), || format!("sent {sent:?}, the peer has {received}"))?;
        let end = kumiki.event("end")?;
        kumiki.status()?;
        let sizes = sizes(&path);
        let _ = std::fs::remove_file(&pcap);
        let sizes = sizes?;
        if self.whole {
            holds(end["super_segments_sent"].as_u64() > Some(0), || end.to_string())?;
            return Ok(format!("{:.1} s", end["seconds"].as_f64().unwrap_or(0.0)));
        }
        // The last full ones: what is left for the end may be shorter.
        let last = sizes.iter().rev().take(100).max().copied().unwrap_or(0);
        let narrow: usize = NARROW.parse().map_err(when("a number"))?;
        // A search ends within 8 octets, and a table of common sizes has this one.
        holds(last == narrow, || format!("packets have {last} octets at the end, and the path carries {narrow}"))?;
        let too_long = sizes.iter().filter(|size| **size > narrow).count();
        Ok(format!("{:.1} s, {too_long} packets too long", end["seconds"].as_f64().unwrap_or(0.0)))
    }
}

/// The sizes of the packets of a capture that Kumiki sent, in order; read by `kumiki decode`.
fn sizes(path: &str) -> Said<Vec<usize>> {
    let file = BufReader::new(File::open(path).map_err(when("the capture"))?);
    let mut capture = Capture::open(file, FormatHint::default(), &Registry::new()).map_err(when("the capture"))?;
    let mut sizes = Vec::new();
    // They are not dissected: unoptimised, that takes ten times as long as the transfer.
    while let Some(packet) = capture.next_record().map_err(when("the capture"))? {
        if packet.direction == Some(Direction::Outbound) {
            sizes.push(packet.original_len);
        }
    }
    Ok(sizes)
}
