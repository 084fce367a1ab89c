//! `kumiki x25 pad` as a person and as a host have it: processes on the loopback interface.
#![expect(clippy::unwrap_used, reason = "a test may stop where something is not as it should be")]
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use kumiki_watchdog::process::{Folder, Running};
use rustix::process::{Pid, Signal, kill_process};

/// A process that listens somewhere.
struct Listener {
    running: Running,
    at: String,
}

fn kumiki(arguments: &[&str]) -> Command {
    kumiki_watchdog::minute();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command.args(["x25", "pad"]).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts what says where it listens.
fn listens(arguments: &[&str]) -> Listener {
    let mut running = Running::start(kumiki(arguments));
    let line = running.wait_for("listens at ");
    let at = line.strip_prefix("listens at ").unwrap().to_owned();
    Listener { running, at }
}

/// A host whose calls each get `command`.
fn host(command: &[&str]) -> Listener {
    let mut arguments = vec!["--answer", "127.0.0.1:0", "--"];
    arguments.extend(command);
    listens(&arguments)
}

/// Whether this process was started so that hang-ups are nothing to it, as `nohup` does: then they are nothing to what
/// it starts.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 << (Signal::HUP.as_raw() - 1) != 0
}

/// Runs a PAD to its end, with `input` typed at once.
fn typed(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = kumiki(arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin: ChildStdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[test]
fn a_pipe_speaks_to_a_program_and_the_packets_are_right() {
    let folder = Folder::new("pad-pipe");
    let capture = folder.path("pad.pcapng");
    let capture = capture.to_str().unwrap();
    let host = host(&["/bin/cat"]);
    // The end of cat's input is Ctrl-D at its terminal; the host then invites the PAD to clear.
    let ran = typed(&["--xot", &host.at, "--pcap", capture, "--address", "777", "12345"], b"hello\n\x04");
    assert_eq!(text(&ran.stdout), "hello\r\nhello\r\n", "{}", text(&ran.stderr));
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let decoded = Command::new(env!("CARGO_BIN_EXE_kumiki")).args(["decode", capture]).output().unwrap();
    let decoded = text(&decoded.stdout);
    for part in ["CALL", "X.29 set 2:0", "X.29 invitation to clear", "CLEAR"] {
        assert!(decoded.contains(part), "no {part}:\n{decoded}");
    }
    tshark(capture);
}

/// 12:1, which a program's host sets, would have the first X-OFF stop the output for good.
#[test]
fn x_off_in_a_pipe_is_an_octet() {
    let host = host(&["cat"]);
    let ran = typed(&["--xot", &host.at, "12345"], b"he\x13llo\n\x04");
    let said = text(&ran.stderr);
    assert_eq!(text(&ran.stdout), "he^Sllo\r\nhe\x13llo\r\n", "{said}");
    assert_eq!(ran.status.code(), Some(0), "{said}");
}

#[test]
fn a_program_that_is_not_there_is_refused_at_once() {
    let folder = Folder::new("pad-no-program");
    folder.write("text", b"no program");
    let text_file = folder.path("text");
    let text_file = text_file.to_str().unwrap();
    for name in ["/bin/nosuch", "kumiki-nosuch", text_file, "/"] {
        let arguments = ["--answer", "127.0.0.1:0", "--", name];
        let ran = kumiki(&arguments).output().unwrap();
        assert_eq!(ran.status.code(), Some(2), "{name}");
        assert!(text(&ran.stderr).contains("no such program"), "{name}");
    }
}

/// Wireshark reads the messages as they were meant, and has nothing against the packets.
fn tshark(capture: &str) {
    let Some(said) = kumiki_watchdog::peers::tshark(capture, ["-T", "fields", "-e", "x29.msg_code"]) else { return };
    let codes: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
    // To "set" a PAD that is in a pipe answers that 12:1 is not set.
    assert_eq!(codes, ["0x02", "0x00", "0x01"], "{said}");
    let wrong = kumiki_watchdog::peers::tshark(capture, ["-Y", "_ws.malformed"]);
    assert_eq!(wrong.unwrap(), "");
}

#[test]
fn commands_are_read_from_a_pipe() {
    let host = host(&["/bin/cat"]);
    // What follows the selection waits for the call; the recall character is in it.
    let ran = typed(&["--xot", &host.at], b"stat\r12345\rone\n\x10stat\r\x10clr\rstat\rexit\r");
    let said = text(&ran.stdout);
    let mut rest = said.as_str();
    for part in ["KUMIKI PAD", "FREE", "COM", "ENGAGED", "CLR CONF", "FREE"] {
        let Some((_, behind)) = rest.split_once(part) else {
            panic!("no {part} in {rest:?} of {said:?}");
        };
        rest = behind;
    }
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn a_call_that_cannot_be_had_says_what_would_help() {
    let nobody = kumiki_watchdog::Port::new().unwrap();
    let at = nobody.at().to_string();
    let ran = typed(&["--xot", &at, "12345"], b"");
    assert_eq!(ran.status.code(), Some(1));
    let why = text(&ran.stderr);
    assert!(why.contains("call to 12345 failed: the peer refused; check the address"), "{why}");
    let ran = typed(&["--xot", &at, "--profile", "crt", "12345"], b"");
    assert_eq!(ran.status.code(), Some(2));
    let why = text(&ran.stderr);
    assert!(why.contains(r#"--profile: unknown profile "crt"; known: simple (90) and transparent (91)"#), "{why}");
    let ran = typed(&["--xot", &at, "12x"], b"");
    assert_eq!(ran.status.code(), Some(2));
    assert!(text(&ran.stderr).contains("expected an address such as"));
    let ran = typed(&["12345"], b"");
    assert_eq!(ran.status.code(), Some(2));
    assert!(text(&ran.stderr).contains("--xot HOST is missing"));
}

/// Reads until `end` has come.
fn until(socket: &mut impl Read, end: &str) -> String {
    kumiki_watchdog::minute();
    let mut said = Vec::new();
    let mut piece = [0; 256];
    while !text(&said).contains(end) {
        let read = socket.read(&mut piece).unwrap();
        assert!(read > 0, "{end:?} never came: {:?}", text(&said));
        said.extend(piece.iter().take(read));
    }
    text(&said)
}

/// A PAD with a call that stands, which is left to itself.
fn calling(at: &str) -> (Child, ChildStdin) {
    let mut command = kumiki(&["--xot", at, "1", "--linger", "forever"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"x").unwrap();
    // The echo of the host's terminal.
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    (child, stdin)
}

fn end_by(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
}

/// The next line of a host that has all of this.
fn line(of: &Listener, wanted: &str) -> String {
    let mut lines = std::iter::repeat_with(|| of.running.line());
    lines.find(|line| line.contains(wanted)).unwrap()
}

#[test]
fn a_call_that_finds_no_place_is_cleared_at_once() {
    for limit in ["--max-calls", "--max-per-host"] {
        let host = listens(&["--answer", "127.0.0.1:0", limit, "1", "--", "cat"]);
        let (mut first, stdin) = calling(&host.at);
        let ran = typed(&["--xot", &host.at, "1"], b"");
        let why = text(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{why}");
        assert!(why.contains("DTE resource constraint (163); the host takes no more calls now"), "{why}");
        assert!(line(&host, "cleared, for there are 1").contains("call 2, "));
        drop(stdin);
        let _ = first.kill();
        let _ = first.wait();
        // Its place is free again.
        assert!(line(&host, "the call is over").contains("call 1, "));
        let ran = typed(&["--xot", &host.at, "1"], b"hello\n\x04");
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    }
}

#[test]
fn an_invitation_to_clear_is_followed_by_a_host() {
    let host = host(&["/bin/cat"]);
    let mut child = kumiki(&["--xot", &host.at, "--linger", "forever"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdin.write_all(b"1\rone\n").unwrap();
    // The echo of the host's terminal, and what cat says.
    until(&mut stdout, "one\r\none\r\n");
    stdin.write_all(b"\x10iclr\r").unwrap();
    until(&mut stdout, "CLR DTE C:0 D:0");
    drop(stdin);
    assert!(child.wait().unwrap().success());
    line(&host, "the call is over");
}

#[test]
fn whoever_is_ended_by_a_signal_clears_its_call_first() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        if signal == Signal::HUP && ignores_hangups() {
            continue;
        }
        let host = host(&["cat"]);
        let (caller, stdin) = calling(&host.at);
        host.running.signal(signal);
        let told = host.running.end().well().out;
        let ran = caller.wait_with_output().unwrap();
        drop(stdin);
        let why = text(&ran.stderr);
        assert!(why.contains("cleared: DTE originated (00), DTE not operational (162)"), "{why}");
        assert!(told.contains("the call is over: cleared, for this host ends"), "{told}");
    }
    let host = host(&["cat"]);
    let (mut caller, stdin) = calling(&host.at);
    end_by(&caller, Signal::TERM);
    assert!(caller.wait().unwrap().success());
    drop(stdin);
    line(&host, "the call is over: X.25: cleared: DTE originated (00)");
}

#[test]
fn a_capture_that_cannot_be_written_ends_and_calls_go_on() {
    let ended = "captures end here: /dev/full: No space left on device";
    let host = listens(&["--answer", "127.0.0.1:0", "--pcap", "/dev/full", "--", "cat"]);
    // A second call would have a file of its own beside the device.
    let ran = typed(&["--xot", &host.at, "1", "--pcap", "/dev/full"], b"hello\n\x04");
    assert_eq!(text(&ran.stdout), "hello\r\nhello\r\n");
    assert!(ran.status.success() && text(&ran.stderr).contains(ended), "{}", text(&ran.stderr));
    host.running.signal(Signal::TERM);
    let told = host.running.end().well().out;
    assert_eq!(told.matches(ended).count(), 1, "{told}");
}

#[test]
fn an_option_of_no_use_is_refused() {
    let one = ["--answer", "127.0.0.1:0"];
    for option in
        [["--run-as", "nobody"], ["--no-sandbox", "all"], ["--max-calls", "2"], ["--memory", "1MB"], ["--idle", "1s"]]
    {
        let ran = kumiki(&[one, option].concat()).output().unwrap();
        assert_eq!(ran.status.code(), Some(2), "{option:?}");
        assert!(text(&ran.stderr).contains(&format!("{} is about many callers", option[0])), "{option:?}");
    }
    for option in [["--xot", "127.0.0.1"], ["--profile", "90"], ["--linger", "1s"]] {
        let ran = kumiki(&[&one[..], &option[..], &["--", "cat"]].concat()).output().unwrap();
        assert_eq!(ran.status.code(), Some(2), "{option:?}");
        assert!(text(&ran.stderr).contains("is about the terminal of a PAD"), "{option:?}");
    }
    let ran = kumiki(&["--answer", "127.0.0.1:0", "--xot", "127.0.0.1", "1"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
}

#[test]
fn terminals_come_by_telnet() {
    let host = host(&["/bin/cat"]);
    let door = listens(&["--xot", &host.at, "--listen", "127.0.0.1:0", "--max-calls", "2"]);
    let mut sockets: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(&door.at).unwrap()).collect();
    for socket in &mut sockets {
        until(socket, "KUMIKI PAD\r\n*");
    }
    for (number, socket) in sockets.iter_mut().enumerate() {
        socket.write_all(b"12345\r\0").unwrap();
        until(socket, "COM\r\n");
        let line = format!("I am {number}");
        socket.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        // The echo of the host's terminal, and what cat says.
        until(socket, &format!("{line}\r\n{line}\r\n"));
        socket.write_all(b"\x10clr\r\0").unwrap();
        until(socket, "CLR CONF\r\n*");
    }
}

#[test]
fn a_host_ends_with_its_first_call_and_not_with_a_connection() {
    let host = listens(&["--answer", "127.0.0.1:0", "--once", "--", "/bin/cat"]);
    drop(TcpStream::connect(&host.at).unwrap());
    // It waits until the host has done with the connection.
    let ran = typed(&["--xot", &host.at, "12345"], b"hello\n\x04");
    assert_eq!(text(&ran.stdout), "hello\r\nhello\r\n");
    host.running.end().well();
}

#[test]
fn a_call_is_taken_at_a_terminal() {
    let mut child =
        kumiki(&["--answer", "127.0.0.1:0", "--once", "--linger", "forever"]).stdin(Stdio::piped()).spawn().unwrap();
    // It is told on standard error, for standard output is the terminal's.
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let at = line.trim_end().strip_prefix("listens at ").unwrap();
    let stdin = child.stdin.take().unwrap();
    let ran = typed(&["--xot", at, "--address", "777", "1"], b"hello, answerer\r");
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    drop(stdin);
    let answered = child.wait_with_output().unwrap();
    let said = text(&answered.stdout);
    assert!(said.contains("777 COM\r\n"), "{said:?}");
    assert!(said.contains("hello, answerer"), "{said:?}");
}

/// Octets of somebody who speaks something else, or nothing.
fn stray(at: &str, octets: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(at).unwrap();
    socket.write_all(octets).unwrap();
    socket
}

#[test]
fn who_brings_no_call_keeps_nobody_out() {
    let host = host(&["cat"]);
    let call = || {
        let ran = typed(&["--xot", &host.at, "1", "--timeout", "60s"], b"hello\n\x04");
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    };
    call();
    // Of whom hangs up nothing is left, whatever he has said.
    for octets in [&b"GET / HTTP/1.0\r\n\r\n"[..], b"", &[0, 0, 0, 20, 0x10]] {
        for _ in 0..40 {
            drop(stray(&host.at, octets));
        }
        call();
    }
    // Who speaks something else is let go though he stays.
    for _ in 0..20 {
        let mut socket = stray(&host.at, b"GET / HTTP/1.0\r\n\r\n");
        // A reset is an end too.
        let _ = socket.read_to_end(&mut Vec::new());
    }
    call();
}

#[test]
fn a_connection_without_a_call_and_a_silent_call_are_ended() {
    // Two hosts, so that a call has all the time that it needs to come.
    let limited = |limit: &str| listens(&["--answer", "127.0.0.1:0", limit, "1s", "--", "cat"]);
    let host = limited("--setup-timeout");
    let mut silent = stray(&host.at, &[]);
    assert_eq!(silent.read_to_end(&mut Vec::new()).unwrap(), 0);
    // A call by which nothing comes: standard input stays open.
    let host = limited("--idle");
    let mut child = kumiki(&["--xot", &host.at, "1", "--linger", "forever"]).stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    let ran = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
}
