//! Guessers and a crowd of silent callers, in a network namespace of their own: what they are told, and who comes in
//! meanwhile.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::harness::{Folder, ProcessOutput, Running};
use super::refusals::entry;

/// How many are silent.
const CROWD: u16 = 10_000;

/// CR of class 0, and CN with F-INITIALIZE of the user `ada` and the password `x`, as kumiki ftam sends them.
const CR: &str = "0300000e09e00000000100c0010d";
const CN: &str = "0300011002f0800dff0105050c1301001601021701311a01001402002ac1f13181eea003800101a281e6a47e300f02010d0604520100013004060251013010020101\
060528c27b02013004060251013010020103060528c27b02043004060251013010020105060528c27b0203300406025101301002010706052b0e05020230040602510130110201090606\
2bce0f010202300406025101301002010b060528c27b02023004060251016164306202010da05d605ba107060528c27b0101be50284e06025101020101a045a04381064b756d696b69\
83020410840306374085020780860103a71c4e0528c27b05034e0528c27b05014e0528c27b05024e052b0e05050956036164617103190178880104";

pub(crate) fn octets(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let one = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(one).collect()
}

pub(crate) fn cr() -> Vec<u8> {
    octets(CR)
}

pub(crate) fn cn() -> Vec<u8> {
    octets(CN)
}

/// Runs a test of this program that is left out otherwise, in a network namespace; says so where there can be none.
fn inside(name: &str) {
    if !std::path::Path::new("/proc/sys/net/ipv6").exists() {
        return eprintln!("skipped: this kernel has no IPv6");
    }
    for arguments in [&["--net"][..], &["--user", "--map-root-user", "--net"]] {
        let mut probe = Command::new("unshare");
        probe.args(arguments).args(["ip", "link"]);
        let probe = kumiki_watchdog::during(|| probe.output());
        if !probe.is_ok_and(|it| it.status.success()) {
            continue;
        }
        let mut command = Command::new("unshare");
        command.args(arguments).arg("--").arg(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", &format!("ftam::{name}")]);
        // It has a watchdog of its own, for each of its waits.
        let ran = command.output().unwrap();
        let [out, err] = [ran.stdout, ran.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        print!("{out}");
        let is_well = ran.status.success() && out.contains("1 passed");
        assert!(is_well, "{out}\n{err}");
        return;
    }
    assert!(std::env::var_os("KUMIKI_REQUIRE_NETNS").is_none(), "no network namespace can be made");
    eprintln!("skipped: no network namespace can be made");
}

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).status();
    assert!(done.unwrap().success(), "ip {arguments}");
}

/// Addresses of a /64, a /48, and of networks of IPv4 that are ours here.
fn network() {
    ip("link set lo up");
    // From here who calls an address of that link comes from the same.
    ip("-6 addr add fd00:77::1/128 dev lo");
    ip("-6 route add local fd00:77::/48 dev lo");
    ip("-6 route add local fd00:78::/48 dev lo");
    ip("route add local 10.0.0.0/8 dev lo");
    std::fs::write("/proc/sys/net/ipv6/ip_nonlocal_bind", "1").unwrap();
}

/// A connection from `from`, which may still be in flight.
fn call(from: IpAddr, to: SocketAddr) -> OwnedFd {
    let family = if from.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP)).unwrap();
    bind(&socket, &SocketAddr::new(from, 0)).unwrap();
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => socket,
        Err(why) => panic!("{from}: {why}"),
    }
}

/// Whether a guess from `from` at the password of `ada` is answered.
fn guess(from: IpAddr, to: SocketAddr) -> bool {
    let socket = call(from, to);
    rustix::io::ioctl_fionbio(&socket, false).unwrap();
    let mut socket = TcpStream::from(socket);
    let mut said = [0; 4000];
    kumiki_watchdog::minute();
    // Writing waits until the connection is there.
    rustix::event::poll(&mut [rustix::event::PollFd::new(&socket, rustix::event::PollFlags::OUT)], None).unwrap();
    if socket.write_all(&cr()).is_err() || !socket.read(&mut said).is_ok_and(|len| len > 0) {
        return false;
    }
    socket.write_all(&cn()).is_ok() && socket.read(&mut said).is_ok_and(|len| len > 0)
}

/// A responder for `bob` and `ada` at all addresses, and one for its port.
fn responder(folder: &Folder, options: &[&str]) -> (Running, SocketAddr, SocketAddr) {
    let lines = entry(folder, "bob", "right") + &entry(folder, "ada", "secret");
    folder.write("passwords", lines.as_bytes());
    folder.write("right", b"right\n");
    let mut all = vec!["ftamd", "--root", "root", "--listen", "[::]:10200"];
    all.extend(["--passwords", "passwords"]);
    all.extend(options);
    let running = Running::start(folder.command(&all));
    assert!(running.line().starts_with("listens at "));
    let six = "[fd00:77::1]:10200".parse().unwrap();
    (running, "10.0.0.1:10200".parse().unwrap(), six)
}

fn list(folder: &Folder, host: &str) -> ProcessOutput {
    let url = format!("ftam://bob@{host}:10200/");
    folder.ftam(&["ls", &url, "--password-file", "right"])
}

/// What is allowed is so many a minute: more of them to whoever looks longer, on a machine that is busy.
struct Since(Instant);

impl Since {
    #[expect(clippy::disallowed_methods, reason = "the rate is one of the responder's time, which is that of the wall")]
    fn now() -> Self {
        Self(Instant::now())
    }

    /// The most answers until now.
    fn most(&self) -> usize {
        const MINUTE: Duration = Duration::from_secs(60);
        let minutes = Self::now().0.duration_since(self.0).as_secs() / MINUTE.as_secs() + 1;
        10 * usize::try_from(minutes).unwrap()
    }
}

#[test]
fn guessers_are_answered_rarely_and_who_has_the_password_is_let_in() {
    inside("crowd::guessers");
}

#[test]
#[ignore = "it is run in a namespace by the test above"]
fn guessers() {
    network();
    let folder = Folder::new("guessers");
    let (daemon, four, six) = responder(&folder, &[]);
    let link = |own: u16| -> IpAddr { Ipv6Addr::new(0xfd00, 0x77, 0, 0, own, 0, 0, 1).into() };
    let heard = |from: IpAddr, to| usize::from(guess(from, to));
    // 60 addresses of a /64, with one valid account used between tries.
    let since = Since::now();
    let mut answered = 0;
    for number in 1..=60 {
        answered += heard(link(number), six);
        if number % 20 == 0 {
            list(&folder, "[fd00:77::1]").well();
        }
    }
    assert!((1..=since.most()).contains(&answered), "{answered} answered");
    // From the same /64 with the password, and from elsewhere.
    list(&folder, "[fd00:77::1]").well();
    list(&folder, "127.0.0.1").well();
    // At the same name from everywhere.
    let answered: usize = (0..30).map(|net| heard([10, 1, net, 1].into(), four)).sum();
    assert!(answered <= since.most(), "{answered} answered at one name");
    daemon.signal(rustix::process::Signal::INT);
    daemon.end().well();
    // Ten addresses of a /24, of a responder that has heard of nobody yet.
    let (daemon, four, _) = responder(&folder, &[]);
    let since = Since::now();
    let answered: usize = (0..60).map(|number| heard([10, 2, 0, 1 + number % 10].into(), four)).sum();
    assert!((1..=since.most()).contains(&answered), "{answered} answered");
    list(&folder, "127.0.0.1").well();
    daemon.signal(rustix::process::Signal::INT);
    daemon.end().well();
}

#[test]
fn a_crowd_of_silent_callers_keeps_nobody_out() {
    inside("crowd::silent");
}

/// Silent connections from everywhere; `look` is called now and then meanwhile.
fn crowd(four: SocketAddr, six: SocketAddr, mut look: impl FnMut()) -> Vec<OwnedFd> {
    // A descriptor for each.
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
    let room = current.map_or(u64::MAX, |all| all.saturating_sub(100));
    let crowd = u16::try_from(room).unwrap_or(u16::MAX).min(CROWD);
    let mut held: Vec<OwnedFd> = Vec::new();
    for number in 0..crowd {
        kumiki_watchdog::minute();
        let (from, to): (IpAddr, SocketAddr) = match number % 3 {
            0 => (Ipv6Addr::new(0xfd00, 0x77, 0, 0, 1, 0, number, 1).into(), six),
            1 => (Ipv6Addr::new(0xfd00, 0x78, 0, number, 1, 0, 0, 1).into(), six),
            _ => {
                let own = u8::try_from(number % 200).unwrap();
                ([10, own, 1, 1].into(), four)
            }
        };
        held.push(call(from, to));
        if number % 2000 == 1999 {
            look();
        }
    }
    held
}

/// What the kernel says of the memory and the threads of a program.
fn status_of(program: &Running) -> impl Fn(&str) -> u64 + use<> {
    let path = format!("/proc/{}/status", program.id());
    let status = std::fs::read_to_string(path).unwrap();
    move |key| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let value = line.unwrap().trim_start_matches(':');
        value.split_whitespace().next().unwrap().parse().unwrap()
    }
}

#[test]
#[ignore = "it is run in a namespace by the test above"]
fn silent() {
    network();
    let folder = Folder::new("silent");
    let (daemon, four, six) = responder(&folder, &[]);
    let held = crowd(four, six, || {
        list(&folder, "127.0.0.1").well();
    });
    let number = status_of(&daemon);
    // Places for 64 strangers and some that are on their way out, and not a thread for each caller.
    assert!(number("Threads") < 200, "{}", number("Threads"));
    assert!(number("VmRSS") < 60_000, "{}", number("VmRSS"));
    let crowd = held.len();
    drop(held);
    daemon.signal(rustix::process::Signal::INT);
    let ran = daemon.end().well();
    // What happened to ten thousand is told in few lines.
    let lines = ran.out.lines().count();
    assert!(lines * 10 < crowd, "{lines} lines");
    assert!(ran.out.contains("more like it"));
}

#[test]
fn where_descriptors_are_few_there_are_fewer_places_and_one_for_who_comes_from_elsewhere() {
    let folder = Folder::new("descriptors");
    let within = |most: u32| {
        let script = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command
            .args(["-c", &script, super::harness::KUMIKI])
            .args(["ftamd", "--root", "root", "--listen", "127.0.0.1:0", "--anonymous"])
            .current_dir(folder.place());
        Running::start(command)
    };
    // There is no room for anybody: that is said, and not tried.
    within(24).end().failed(1, &["the limit of descriptors (ulimit -n)", "allow more"]);
    let daemon = within(40);
    let line = daemon.line();
    let at = line.strip_prefix("listens at ").unwrap();
    let at: SocketAddr = at.split_whitespace().next().unwrap().parse().unwrap();
    let told = daemon.line();
    assert!(told.starts_with("callers that are known may be ") && told.contains("(ulimit -n)"), "{told}");
    // Three hosts of another network hold what they can get.
    let held: Vec<OwnedFd> = (0..100).map(|number| call([127, 66, 0, 1 + number % 3].into(), at)).collect();
    for _ in 0..3 {
        folder.ftam(&["ls", &format!("ftam://{at}/")]).well();
    }
    drop(held);
    daemon.signal(rustix::process::Signal::INT);
    let ran = daemon.end().well();
    assert!(!ran.out.contains("cannot take a caller"), "{}", ran.out);
}

#[test]
fn a_crowd_of_silent_connections_keeps_nobody_off_the_switch() {
    inside("crowd::silent_at_the_switch");
}

#[test]
#[ignore = "it is run in a namespace by the test above"]
fn silent_at_the_switch() {
    network();
    let folder = Folder::new("silent-switch");
    folder.write("root/x", b"content");
    let mut all = vec!["ftamd", "--root", "root", "--xot", "127.0.0.1:10298"];
    all.push("--anonymous");
    let responder = Running::start(folder.command(&all));
    assert!(responder.line().starts_with("listens at "));
    let config = r#"
[port.in]
kind = "xot"
listen = "[::]:10299"

[port.out]
kind = "xot"
host = "127.0.0.1:10298"

[[route]]
called = "99"
to = ["out"]
"#;
    folder.write("switch.toml", config.as_bytes());
    let switch = Running::start(folder.command(&["x25", "switch", "switch.toml"]));
    assert!(switch.line().starts_with("in: listens at "));
    let to = |host: &str| -> SocketAddr { format!("{host}:10299").parse().unwrap() };
    let held = crowd(to("10.0.0.1"), to("[fd00:77::1]"), || {
        let url = "ftam://127.0.0.1:10299/x?carrier=xot&x121=99123";
        folder.ftam(&["get", url, "-"]).well();
    });
    let number = status_of(&switch);
    assert!(number("VmRSS") < 60_000, "{}", number("VmRSS"));
    drop(held);
    switch.signal(rustix::process::Signal::INT);
    let ran = switch.end().well();
    let calls = ran.out.matches("from in to out (127.0.0.1:10298)").count();
    assert!((1..=5).contains(&calls), "{}", ran.out);
    let dated = ran.out.lines().filter(|line| line.contains("Z in: "));
    assert!((1..1000).contains(&dated.count()) && ran.out.contains(" more like it)"), "{}", ran.out);
    responder.signal(rustix::process::Signal::INT);
    responder.end().well();
}

#[test]
fn a_crowd_of_silent_terminals_keeps_nobody_off_the_pad() {
    inside("crowd::silent_terminals");
}

#[test]
#[ignore = "it is run in a namespace by the test above"]
fn silent_terminals() {
    network();
    let folder = Folder::new("silent-terminals");
    let host = ["x25", "pad", "--answer", "127.0.0.1:10398", "--", "cat"];
    let host = Running::start(folder.command(&host));
    assert!(host.line().starts_with("listens at "));
    let door = ["x25", "pad", "--xot", "127.0.0.1:10398", "--listen", "[::]:10223"];
    let door = Running::start(folder.command(&door));
    assert!(door.line().starts_with("listens at "));
    let to = |host: &str| -> SocketAddr { format!("{host}:10223").parse().unwrap() };
    let held = crowd(to("10.0.0.1"), to("[fd00:77::1]"), || {
        let mut terminal = TcpStream::connect(to("127.0.0.1")).unwrap();
        let mut said = Vec::new();
        let mut piece = [0; 256];
        for (octets, end) in [(&b""[..], "PAD\r\n*"), (b"12345\r\0", "COM\r\n")] {
            terminal.write_all(octets).unwrap();
            while !String::from_utf8_lossy(&said).contains(end) {
                let read = terminal.read(&mut piece).unwrap();
                assert!(read > 0, "{:?}", String::from_utf8_lossy(&said));
                said.extend(piece.iter().take(read));
            }
        }
    });
    let number = status_of(&door);
    assert!(number("Threads") < 200, "{}", number("Threads"));
    assert!(number("VmRSS") < 60_000, "{}", number("VmRSS"));
    drop(held);
    for running in [door, host] {
        running.signal(rustix::process::Signal::INT);
        running.end().well();
    }
}
