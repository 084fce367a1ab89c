//! With pppd, on a line that is a Unix socket.

use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use super::peers::{Folder, ProcessOutput, Running, events, file, kumiki, log, pppd, pppd_kit, secrets};
use super::{connection, ended_well, octets, told};
use kumiki_watchdog::peers::tshark;

/// What a guest does that takes octets from 5001 here, and says their hash.
const TAKES: &str = r#"exec python3 - <<'END'
import hashlib, socket
there = socket.create_connection(("10.7.0.1", 5001), timeout=20)
there.settimeout(60)
hash, octets = hashlib.sha256(), 0
while piece := there.recv(1 << 16):
    hash.update(piece)
    octets += len(piece)
print(f"PEER took {octets} octets, sha256 {hash.hexdigest()}", flush=True)
END
"#;

/// What a guest does that sends so many octets to 5001 here, and says their hash.
fn sends(octets: u64) -> String {
    format!(
        r#"exec python3 - <<'END'
import hashlib, random, socket
there = socket.create_connection(("10.7.0.1", 5001), timeout=20)
there.settimeout(60)
hash, left, draw = hashlib.sha256(), {octets}, random.Random(5)
page = draw.randbytes(1 << 20)
while left:
    piece = page[:min(left, len(page))]
    there.sendall(piece)
    hash.update(piece)
    left -= len(piece)
there.shutdown(socket.SHUT_WR)
assert not there.recv(1)
print(f"PEER sent {octets} octets, sha256 {{hash.hexdigest()}}", flush=True)
END
"#
    )
}

fn line_of(folder: &Folder) -> (String, String) {
    let path = folder.path("line");
    let path = path.display();
    (format!("listen:{path}"), format!("connect:{path}"))
}

/// Checks by tshark that every frame of a capture is well formed, and by `kumiki decode` that the octets of the line
/// are.
fn judged(folder: &Folder) {
    for ending in ["sent", "received"] {
        let octets = folder.path(&format!("octets.{ending}"));
        let decoded =
            Command::new(env!("CARGO_BIN_EXE_kumiki")).args(["decode", "--bad"]).arg(&octets).output().unwrap();
        let bad = String::from_utf8_lossy(&decoded.stdout).into_owned();
        assert!(decoded.status.success(), "{ending}: {decoded:?}");
        assert_eq!(bad, "", "{ending}");
    }
    let fields = ["-T", "fields", "-e", "frame.protocols", "-e", "_ws.expert.severity", "-e", "_ws.malformed"];
    let Some(shown) = tshark(folder.path("frames.pcapng"), fields) else { return };
    assert!(shown.lines().count() > 20, "{shown}");
    for line in shown.lines() {
        assert!(line.starts_with("ppp"), "{line}");
        // 8 MiB and more: errors. Notes of TCP (a window that is full) are none.
        let is_error = |severity: &str| severity.parse::<u32>().is_ok_and(|it| it >= 0x80_0000);
        let mut fields = line.split('\t').skip(1);
        assert!(!fields.next().unwrap_or_default().split(',').any(is_error), "{line}");
        assert_eq!(fields.next().unwrap_or_default(), "", "{line}");
    }
}

/// What `kumiki` and the peer have said of each other's addresses.
fn addresses(end: &Value) -> (String, String) {
    let ipv4 = &end["ipv4"];
    (ipv4[0].to_string(), ipv4[1].to_string())
}

#[test]
fn a_pppd_that_is_given_an_address_and_challenged_takes_octets_from_us() {
    let Some(kit) = pppd_kit() else { return };
    let folder = Folder::new("server");
    let (ours, theirs) = line_of(&folder);
    let bytes = octets();
    let ours = kumiki(
        &ours,
        &format!(
            "10.7.0.1:10.7.0.2 --name gateway --auth chap {} --run source --listen 5001 --connections 1 --bytes {bytes}B --restart 1s --max-configure 60",
            secrets(&folder, "kumiki secret")
        ),
    );
    let after = file(&folder, "after", TAKES);
    let peer = pppd(&kit, &theirs, "noauth noipdefault ipcp-accept-local +ipv6", Some(&after));
    let (end, said) = ended_well(ours);
    let peer = peer.end().out;
    let took = peer.lines().find(|line| line.contains("PEER took")).unwrap_or_else(|| panic!("{peer}"));
    let sent = connection(&said);
    assert_eq!(told(took).0, bytes);
    assert_eq!(sent["sent_sha256"], told(took).1, "{took}");
    assert_eq!(addresses(&end), ("\"10.7.0.1\"".into(), "\"10.7.0.2\"".into()));
    assert_eq!(end["peer_name"], "kumiki");
    // pppd's own words.
    for words in [
        "sent [CHAP Response",
        "CHAP authentication succeeded",
        "local  IP address 10.7.0.2",
        "remote IP address 10.7.0.1",
        "remote LL address fe80::",
    ] {
        assert!(peer.contains(words), "{words}: {peer}");
    }
    assert!(log(&said).contains("IPv6 may pass"), "{said}");
}

#[test]
fn a_pppd_that_asks_for_a_password_and_gives_the_addresses_sends_octets_to_us() {
    let Some(kit) = pppd_kit() else { return };
    let folder = Folder::new("client");
    let (ours, theirs) = line_of(&folder);
    let bytes = octets();
    let ours = kumiki(
        &ours,
        &format!(
            "{} --run sink --listen 5001 --connections 1 --restart 1s --max-configure 60",
            secrets(&folder, "kumiki secret")
        ),
    );
    let after = file(&folder, "after", &sends(bytes));
    let peer = pppd(&kit, &theirs, "auth require-pap 10.7.0.2:10.7.0.1 +ipv6", Some(&after));
    let (end, said) = ended_well(ours);
    let peer = peer.end().out;
    let sent = peer.lines().find(|line| line.contains("PEER sent")).unwrap_or_else(|| panic!("{peer}"));
    let received = connection(&said);
    assert_eq!(told(sent).0, bytes);
    assert_eq!(received["received_sha256"], told(sent).1, "{sent}");
    assert_eq!(addresses(&end), ("\"10.7.0.1\"".into(), "\"10.7.0.2\"".into()));
    for words in ["rcvd [PAP AuthReq", "sent [PAP AuthAck", "rcvd [IPCP ConfRej"] {
        assert!(peer.contains(words), "{words}: {peer}");
    }
    // VJ compression is refused cleanly.
    assert!(log(&said).contains("compress VJ"), "{said}");
}

#[test]
fn both_ends_challenge_each_other_and_all_octets_are_well_formed() {
    let Some(kit) = pppd_kit() else { return };
    let folder = Folder::new("both");
    let (ours, theirs) = line_of(&folder);
    let files =
        format!("--pcap {} --record {}", folder.path("frames.pcapng").display(), folder.path("octets").display());
    let ours = kumiki(
        &ours,
        &format!(
            "10.7.0.1:10.7.0.2 --name gateway --auth chap {} --passive --run echo --listen 7 --connections 1 {files}",
            secrets(&folder, "kumiki secret\ngateway secret")
        ),
    );
    let after = file(
        &folder,
        "after",
        r#"exec python3 - <<'END'
import random, socket, threading
there = socket.create_connection(("10.7.0.1", 7), timeout=20)
data = random.Random(6).randbytes(300_000)
threading.Thread(target=lambda: (there.sendall(data), there.shutdown(socket.SHUT_WR))).start()
back = b""
while piece := there.recv(1 << 16):
    back += piece
print("PEER echo", back == data, flush=True)
END
"#,
    );
    let peer = pppd(&kit, &theirs, "auth require-chap novj +ipv6", Some(&after));
    let (end, said) = ended_well(ours);
    let peer = peer.end().out;
    assert!(peer.contains("PEER echo True"), "{peer}");
    for words in ["rcvd [CHAP Response", "sent [CHAP Response", "CHAP authentication succeeded"] {
        assert!(peer.contains(words), "{words}: {peer}");
    }
    let bad = ["bad_fcs", "aborts", "runts", "oversize"].map(|key| end[key].as_u64());
    assert_eq!(bad, [Some(0); 4], "{said}");
    judged(&folder);
}

#[test]
fn a_peer_that_does_not_know_the_secret_is_not_let_in() {
    let Some(kit) = pppd_kit() else { return };
    let folder = Folder::new("wrong");
    let (ours, theirs) = line_of(&folder);
    let ours = kumiki(
        &ours,
        &format!("10.7.0.1:10.7.0.2 --name gateway --auth chap {} --passive", secrets(&folder, "kumiki another")),
    );
    let peer = pppd(&kit, &theirs, "noauth +ipv6", None);
    let ProcessOutput { status, out: said, .. } = ours.end();
    assert_eq!(status, Some(4), "{said}");
    let peer = peer.end().out;
    assert!(peer.contains("CHAP authentication failed"), "{peer}");
}

/// A host behind a line of 40 ms that answers echo requests, and one that is whoever speaks PPP on a pseudo terminal.
const MODEM: &str = "title = \"A modem\"
[host.modem]
graph = [\"ip\", \"l0\"]
ip = { address = \"10.7.0.2/24\" }
real = { serial = \"pty\" }
[host.server]
graph = [\"icmp\", \"ip\", \"l0\"]
ip = { address = \"10.7.0.1/24\" }
[link.line]
ends = [\"modem\", \"server\"]
medium = \"point-to-point\"
rate = \"10 Mb/s\"
propagation = \"40 ms\"
";

#[test]
fn a_host_of_a_scenario_is_whoever_speaks_ppp_on_its_line() {
    let Some(kit) = pppd_kit() else { return };
    let folder = Folder::new("modem");
    let scenario = file(&folder, "modem.toml", MODEM);
    let mut command = Command::new("sh");
    let line = format!("exec {} live {} --stats 2>&1", env!("CARGO_BIN_EXE_kumiki"), scenario.display());
    let mut ours = Running::peer(command.args(["-c", &line]).stdin(Stdio::null()));
    let terminal = ours.wait_for("the peer's end of the line is ");
    let (_, terminal) = terminal.rsplit_once(' ').unwrap();
    let after = file(&folder, "after", "exec busybox ping -c 3 10.7.0.1\n");
    let peer = pppd(&kit, &format!("tty:{terminal}"), "noauth noipdefault ipcp-accept-local", Some(&after));
    let peer = peer.end().out;
    assert!(peer.contains("local  IP address 10.7.0.2") && peer.contains("remote IP address 10.7.0.1"), "{peer}");
    let times = peer.lines().filter_map(|line| line.split_once("time=")?.1.split_whitespace().next()?.parse().ok());
    let times: Vec<f64> = times.collect();
    assert!(times.len() == 3 && times.iter().all(|time| *time >= 80.0), "{peer}");
    ours.wait_for("host modem: ");
    ours.signal(Signal::TERM);
    let ProcessOutput { status, out: said, .. } = ours.end();
    assert_eq!(status, Some(143), "{said}");
    assert!(said.contains("modem: sent "), "{said}");
}

#[test]
fn a_link_comes_up_again_after_its_peer_was_killed() {
    let Some(kit) = pppd_kit() else { return };
    let folder = Folder::new("killed");
    let (ours, theirs) = line_of(&folder);
    let mut ours = kumiki(&ours, "10.7.0.1:10.7.0.2 --persist --passive --retry 100ms");
    for _ in 0..2 {
        let mut peer = pppd(&kit, &theirs, "noauth +ipv6", None);
        ours.wait_for("IPv4 may pass");
        peer.wait_for("PEER up");
        // Without a word on the line.
        peer.kill();
        ours.wait_for("the line is down");
    }
    ours.signal(Signal::TERM);
    let ProcessOutput { status, out: said, .. } = ours.end();
    assert_eq!(status, Some(0), "{said}");
    let end = events(&said, "end").pop().unwrap();
    assert!(end["opened"].as_u64() >= Some(2), "{end}");
}

/// What runs in a network namespace of its own: the link as a TUN device of Linux, and programs of Linux that use it.
const USES_TUN: &str = r#"
import json, random, select, socket, subprocess, sys, threading
kumiki = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
for line in kumiki.stdout:
    print(line, end="", flush=True)
    event = json.loads(line)
    if event["event"] == "networks" and event["ipv4"] and event["ipv6"]:
        break
data = random.Random(7).randbytes(1_000_000)
scope = socket.if_nametoindex("kumiki0")
for where in [("10.7.0.2", 7), (event["ipv6"][1], 7, 0, scope)]:
    family = socket.AF_INET if len(where) == 2 else socket.AF_INET6
    # The guest starts its services when it has seen the link: until then it refuses.
    for _ in range(200):
        there = socket.socket(family, socket.SOCK_STREAM)
        there.settimeout(60)
        refused = there.connect_ex(where)
        if not refused:
            break
        select.select([], [], [], 0.05)
    assert not refused, refused
    threading.Thread(target=lambda: (there.sendall(data), there.shutdown(socket.SHUT_WR))).start()
    back = bytearray()
    while piece := there.recv(1 << 16):
        back += piece
    print("ECHO", where[0], back == data, flush=True)
kumiki.terminate()
for line in kumiki.stdout:
    print(line, end="")
sys.exit(kumiki.wait())
"#;

#[test]
fn linux_uses_the_link_through_a_tun_device() {
    let Some(kit) = pppd_kit() else { return };
    // As root a namespace is all that it takes; others become root in one of users.
    let wants: &[&[&str]] = &[&["--net"], &["--net", "--map-root-user"]];
    let can = |options: &&&[&str]| {
        let tried =
            Command::new("unshare").args(**options).args(["ip", "tuntap", "add", "kumiki0", "mode", "tun"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    let Some(options) = wants.iter().find(can) else {
        println!("skipped: there is no right to make a TUN device in a network namespace");
        return;
    };
    let folder = Folder::new("tun");
    let (ours, theirs) = line_of(&folder);
    let script = file(&folder, "uses.py", USES_TUN);
    let mut command = Command::new("unshare");
    command.args(*options).arg("python3").arg(script);
    command.args([env!("CARGO_BIN_EXE_kumiki"), "ppp", &ours, "10.7.0.1:10.7.0.2"]);
    command.args(["--json", "--passive", "--tun", "kumiki0"]);
    let ours = Running::peer(command.stdin(Stdio::null()));
    let peer = pppd(&kit, &theirs, "noauth +ipv6", None);
    let ProcessOutput { status, out: said, .. } = ours.end();
    assert_eq!(status, Some(0), "{said}");
    let echoes = said.lines().filter(|line| line.starts_with("ECHO") && line.ends_with("True"));
    assert_eq!(echoes.count(), 2, "{said}");
    let peer = peer.end().out;
    assert!(peer.contains("LCP terminated by peer"), "{peer}");
}
