//! `kumiki delay` between two interfaces of Linux, each in a network namespace of its own.
//!
//! ```text
//! Linux --- d0 --- kumiki delay --- d1 --- Linux, the peer, in a namespace of its own
//! ```
//!
//! The box makes both interfaces; one is moved to the peer's namespace then. That takes `ip` of iproute2; where that is
//! absent nothing is tested here, which is said, unless `KUMIKI_REQUIRE_NETNS` is set.

use std::io::{BufRead as _, BufReader, ErrorKind};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};

use serde_json::Value;

use crate::Case;
use crate::host::{Content, PORT, Said, address, prefix, prepare, read, when, write};
use crate::path::{Peer, ip, needed};
use crate::single::holds;

/// Not a case: the peer at the far interface.
pub(crate) const PEER: &str = "delay-peer";

/// What each transfer carries, in octets.
const PART: u64 = 2 << 20;

pub(crate) fn cases() -> Vec<Case> {
    let crosses = ["tun", "tap"].map(|kind| Case {
        name: format!("delay::linux_tcp_crosses_a_{kind}_device_intact"),
        tries: 1,
        run: Box::new(move || crosses(kind)),
    });
    let counted =
        Case { name: "delay::changes_take_effect_while_it_runs".to_owned(), tries: 1, run: Box::new(changes) };
    let exact =
        Case { name: "delay::an_echo_takes_twice_the_delay_at_least".to_owned(), tries: 1, run: Box::new(echoes) };
    crosses.into_iter().chain([counted, exact]).collect()
}

/// The program, running.
pub(crate) struct Between {
    child: Child,
    output: BufReader<ChildStdout>,
    control: PathBuf,
}

impl Drop for Between {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.control);
    }
}

impl Between {
    fn start(kind: &str, set: &str) -> Said<Self> {
        let near = format!("{kind}:d0,addr={}/{}", address(0, 1), prefix());
        Self::of(&[near, format!("{kind}:d1")], set)
    }

    /// Between these ends.
    pub(crate) fn of([near, far]: &[String; 2], set: &str) -> Said<Self> {
        let control = std::env::temp_dir().join(format!("kumiki-box-{}", std::process::id()));
        let mut child = Command::new(env!("CARGO_BIN_EXE_kumiki"))
            .args(["delay", near, far, "--json", "--set", set])
            .arg("--control")
            .arg(&control)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(when("kumiki does not start"))?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut between = Self { child, output, control };
        let ready = between.line()?;
        holds(ready["event"] == "ready", || ready.to_string())?;
        Ok(between)
    }

    fn line(&mut self) -> Said<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(when("kumiki"))?;
        serde_json::from_str(&line).map_err(|why| format!("kumiki said \"{line}\": {why}"))
    }

    /// Has it carry out a line, by the program itself.
    pub(crate) fn told(&self, line: &str) -> Said<String> {
        let output = Command::new(env!("CARGO_BIN_EXE_kumiki"))
            .args(["delay", "--send"])
            .arg(&self.control)
            .arg(line)
            .output()
            .map_err(when("kumiki does not start"))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// What has crossed.
    pub(crate) fn statistics(&self) -> Said<Value> {
        let text = self.told("stats json")?;
        serde_json::from_str(&text).map_err(|why| format!("stats are \"{text}\": {why}"))
    }

    /// What has crossed, once `enough` says so.
    pub(crate) fn once(&self, enough: impl Fn(&Value) -> bool) -> Said<Value> {
        kumiki_watchdog::minute();
        loop {
            let statistics = self.statistics()?;
            if enough(&statistics) {
                return Ok(statistics);
            }
        }
    }
}

/// Neither side says anything by itself.
pub(crate) fn without_ipv6() -> Said<()> {
    for which in ["all", "default"] {
        let setting = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        match std::fs::write(&setting, "1") {
            // Where there is no IPv6 there is nothing to switch off.
            Err(why) if why.kind() == ErrorKind::NotFound => {}
            other => other.map_err(when(&setting))?,
        }
    }
    Ok(())
}

/// The box, and the peer `which` behind it; `None` where there is no `ip`.
pub(crate) fn set_up(kind: &str, set: &str, which: &str) -> Said<Option<(Between, Peer)>> {
    if ip("-V")?.is_none() {
        return Ok(None);
    }
    without_ipv6()?;
    let mut peer = Peer::start(which)?;
    let between = Between::start(kind, set)?;
    needed(&format!("link set d1 netns {}", peer.id()))?;
    peer.told("moved")?;
    peer.said("listening")?;
    Ok(Some((between, peer)))
}

pub(crate) const ABSENT: &str = "nothing: there is no ip of iproute2";

/// The peer's process, in its own namespace.
pub(crate) fn peer() -> ExitCode {
    let acted = || -> Said<()> {
        without_ipv6()?;
        println!("begun");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map_err(when("input"))?;
        let own = address(0, 2);
        needed(&format!("addr add {own}/{} dev d1", prefix()))?;
        needed("link set d1 up")?;
        let echo = UdpSocket::bind((own, PORT)).map_err(when("bind"))?;
        let listener = TcpListener::bind((own, PORT)).map_err(when("bind"))?;
        println!("listening");
        std::thread::spawn(move || {
            let mut octets = [0; 2000];
            while let Ok((length, from)) = echo.recv_from(&mut octets) {
                let _ = echo.send_to(&octets[..length], from);
            }
        });
        let mut stream = crate::host::accept(&listener)?;
        println!("{}", read(&mut stream)?.told());
        println!("{}", write(&mut stream, PART, 8)?.told());
        stream.shutdown(Shutdown::Write).map_err(when("shutdown"))?;
        // Until its input ends.
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

/// Both ways, through everything that can go wrong.
fn crosses(kind: &str) -> Said<String> {
    let set = "both delay 3ms jitter 1ms normal loss 1% duplicate 1% corrupt 0.1% reorder 1% by 2ms rate 200Mb/s queue 500 packets";
    let Some((between, mut peer)) = set_up(kind, set, PEER)? else {
        return Ok(ABSENT.to_owned());
    };
    let stream = TcpStream::connect((address(0, 2), PORT)).map_err(when("connect"))?;
    let mut stream = prepare(stream)?;
    let sent = write(&mut stream, PART, 7)?;
    stream.shutdown(Shutdown::Write).map_err(when("shutdown"))?;
    let received = peer.line()?;
    holds(received == sent.told(), || format!("sent {sent:?}, the peer has {received}"))?;
    let back: Content = read(&mut stream)?;
    let sent = peer.line()?;
    holds(back.told() == sent, || format!("the peer sent {sent}, we have {back:?}"))?;
    let all = between.statistics()?;
    for way in ["a>b", "b>a"] {
        let count = |what: &str| all[way][what].as_u64().unwrap_or(0);
        holds(count("octets_in") > PART && count("lost") > 0, || all.to_string())?;
        holds(count("duplicated") > 0 && count("reordered") > 0, || all.to_string())?;
        holds(count("refused") + count("overflowed") == 0, || all.to_string())?;
    }
    between.told("quit")?;
    Ok(format!(
        "{} and {} packets, {} and {} lost",
        all["a>b"]["packets_in"], all["b>a"]["packets_in"], all["a>b"]["lost"], all["b>a"]["lost"]
    ))
}

/// Datagrams that are not answered, in parts that no queue of the kernel is too short for.
fn send(between: &Between, socket: &UdpSocket, count: u64) -> Said<Value> {
    let came = |all: &Value| all["a>b"]["packets_in"].as_u64().unwrap_or(0);
    let before = came(&between.statistics()?);
    for number in 1..=count {
        socket.send(&[7; 100]).map_err(when("send"))?;
        if number % 100 == 0 || number == count {
            between.once(|all| came(all) == before + number)?;
        }
    }
    between.once(|all| all["a>b"]["in_flight"] == 0)
}

fn socket() -> Said<UdpSocket> {
    let socket = UdpSocket::bind((address(0, 1), 0)).map_err(when("bind"))?;
    socket.connect((address(0, 2), PORT)).map_err(when("connect"))?;
    Ok(socket)
}

fn changes() -> Said<String> {
    let Some((between, _peer)) = set_up("tun", "b>a loss 100%", PEER)? else {
        return Ok(ABSENT.to_owned());
    };
    let socket = socket()?;
    let lost = |all: &Value| all["a>b"]["lost"].as_u64().unwrap_or(u64::MAX);
    let all = send(&between, &socket, 200)?;
    holds(lost(&all) == 0 && all["a>b"]["packets_out"] == 200, || all.to_string())?;
    between.told("a>b loss 100%")?;
    let all = send(&between, &socket, 200)?;
    holds(lost(&all) == 200 && all["a>b"]["packets_out"] == 200, || all.to_string())?;
    between.told("reset")?;
    between.told("a>b loss 30% delay 1ms")?;
    let all = send(&between, &socket, 1000)?;
    let some = lost(&all);
    // Five deviations of 1000 draws.
    holds((228..=372).contains(&some), || all.to_string())?;
    holds(all["a>b"]["packets_out"] == 1000 - some, || all.to_string())?;
    let wrong = between.told("a>b lost 1%").err().unwrap_or_default();
    holds(wrong.contains("try loss"), || wrong.clone())?;
    Ok(format!("{some} of 1000 lost at 30 %"))
}

fn echoes() -> Said<String> {
    let Some((between, _peer)) = set_up("tun", "both delay 20ms", PEER)? else {
        return Ok(ABSENT.to_owned());
    };
    let socket = socket()?;
    let mut octets = [0; 2000];
    for number in 0..50_u8 {
        socket.send(&[number; 1000]).map_err(when("send"))?;
        let length = socket.recv(&mut octets).map_err(when("receive"))?;
        holds(octets[..length] == [number; 1000], || "another echo".to_owned())?;
    }
    let all = between.once(|all| all["b>a"]["packets_out"] == 50)?;
    let mut late = Vec::new();
    for way in ["a>b", "b>a"] {
        let figure = |of: &str, what: &str| all[way][of][what].as_f64().unwrap_or(f64::NAN);
        for what in ["min_ms", "max_ms"] {
            let asked = figure("delay_intended", what);
            holds((asked - 20.0).abs() < 1e-6, || all.to_string())?;
        }
        // Never early. How late is the machine's affair, and told: `kumiki-bench` measures it.
        let least = figure("delay_measured", "min_ms");
        holds(least >= 20.0, || all.to_string())?;
        late.push(format!("{:.3}", figure("late", "p99_ms")));
    }
    Ok(format!("late by {} ms (99th percentile)", late.join(" and ")))
}
