//! `kumiki link`: programs behind an emulated path, and servers on the loopback interface of the host.
//!
//! ```text
//! this program once more -- kumiki0 == path == gateway -- lo of this case's namespace -- this program
//! ```
//!
//! Each case has a namespace in which `kumiki link` makes another one. In it the program is this one, as a client by
//! the sockets of the standard library.

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use kumiki_decode::{Capture, FormatHint, Registry};
use rustix::process::{Pid, Signal};

use crate::delay::ABSENT;
use crate::host::{PORT, Said, TIMEOUT, when};
use crate::path::{ip, needed};
use crate::single::holds;
use crate::{Case, INSIDE};

/// Not a case: the program behind the path.
pub(crate) const CLIENT: &str = "link-client";

/// What the client does.
const ACT: &str = "KUMIKI_LINK_ACT";

/// What the answers have, in octets.
const ANSWER: usize = 1 << 20;

pub(crate) fn cases() -> Vec<Case> {
    type Run = fn() -> Said<String>;
    let all: [(&str, Run); 17] = [
        ("the_exit_status_is_the_programs", statuses),
        ("signals_are_passed_on", signals),
        ("a_request_takes_the_delays", first_request),
        ("each_direction_ends_by_itself", half_close),
        ("a_refused_port_is_refused", refused),
        ("a_closed_port_of_udp_is_told_of", closed),
        ("a_reset_goes_through", reset),
        ("what_a_program_has_written_arrives_after_its_end", farewell),
        ("the_same_seed_loses_the_same_packets", seeds),
        ("names_are_asked_of_the_hosts_resolver", names),
        ("the_loopback_interface_is_hidden_on_request", hidden),
        ("an_ordinary_user_needs_no_root", ordinary),
        ("a_proxy_leads_to_the_path_without_namespaces", proxied),
        ("a_proxy_serves_until_a_signal", served),
        ("a_page_tells_what_has_crossed", reported),
        ("a_server_on_one_loopback_address_is_reached_by_both_versions", either),
        ("lines_of_a_schedule_are_answered_and_the_end_of_the_path_is_said_once", scheduled),
    ];
    let case = |(name, run): (&str, Run)| Case {
        name: format!("link::{name}"),
        tries: 1,
        run: Box::new(move || if ip("-V")?.is_none() { Ok(ABSENT.to_owned()) } else { run() }),
    };
    all.into_iter().map(case).collect()
}

/// `kumiki link` with these options, ready for a program.
fn link(options: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command.arg("link").args(options.split_whitespace()).arg("--").stdin(Stdio::null());
    command
}

/// The same with the client, which is to do `act`.
fn client(options: &str, act: &str) -> Said<Command> {
    let mut command = link(options);
    let itself = std::env::current_exe().map_err(when("this program"))?;
    command.arg(itself).args([INSIDE, CLIENT]).env(ACT, act);
    Ok(command)
}

fn output(mut command: Command) -> Said<Output> {
    command.output().map_err(when("kumiki does not start"))
}

/// Runs the client to its end, which must be a good one. Returns what it said.
fn act(options: &str, act: &str) -> Said<String> {
    done(output(client(options, act)?)?)
}

fn done(output: Output) -> Said<String> {
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    holds(output.status.success() && errors.is_empty(), || format!("{}: {said}; {errors}", output.status))?;
    Ok(said)
}

/// The host's loopback interface, with a server.
fn listen() -> Said<TcpListener> {
    needed("link set lo up")?;
    TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(when("bind"))
}

fn accept(listener: &TcpListener) -> Said<TcpStream> {
    let (stream, _) = listener.accept().map_err(when("accept"))?;
    patient(stream)
}

fn patient(stream: TcpStream) -> Said<TcpStream> {
    stream.set_read_timeout(Some(TIMEOUT)).map_err(when("time-out"))?;
    Ok(stream)
}

/// Runs `serve` beside the client.
fn beside<T: Send>(options: &str, what: &str, serve: impl FnOnce() -> Said<T> + Send) -> Said<(String, T)> {
    std::thread::scope(|scope| {
        let server = scope.spawn(serve);
        let said = act(options, what)?;
        let served = server.join().map_err(|_| "the server panicked".to_owned())??;
        Ok((said, served))
    })
}

fn statuses() -> Said<String> {
    for (program, status) in [
        (&["sh", "-c", "exit 7"][..], 7),
        (&["true"], 0),
        (&["sh", "-c", "kill -KILL $$"], 137),
        (&["/nowhere/at/all"], 127),
        (&["/etc/passwd"], 126),
    ] {
        let mut command = link("--delay 5ms");
        command.args(program);
        let output = output(command)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        holds(output.status.code() == Some(status), || format!("{program:?}: {}: {said}", output.status))?;
        holds(said.is_empty() == (status != 126 && status != 127), || format!("{program:?}: {said}"))?;
    }
    // Who may have no more descriptors is told so, at whatever step that is found out.
    for most in 6..=8 {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {most}; exec \"$0\" link -- true");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_kumiki")]).stdin(Stdio::null());
        let output = output(command)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_told = output.status.code() == Some(125) && said.contains("Too many open files");
        holds(is_told, || format!("{most} descriptors: {}: {said}", output.status))?;
    }
    // Standard input and output are the program's own.
    let mut command = link("--delay 5ms");
    let mut child = command.arg("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(when("start"))?;
    child.stdin.take().ok_or("no input")?.write_all(b"through").map_err(when("write"))?;
    let output = child.wait_with_output().map_err(when("cat"))?;
    holds(output.stdout == b"through", || format!("{output:?}"))?;
    Ok("7, 0, 137, 127, 126".to_owned())
}

fn signals() -> Said<String> {
    for (signal, name, status) in [(Signal::TERM, "TERM", 9), (Signal::USR1, "USR1", 9), (Signal::USR2, "USR2", 9)] {
        let mut command = link("--delay 5ms");
        // Not HUP: a shell traps no signal that was ignored when it began, as that is under `nohup`.
        // `read` and `wait` would not see a signal that comes just before them.
        let script = format!("trap 'exit 9' {name}; echo ready; while :; do sleep 0.1; done");
        let mut child = command.args(["sh", "-c", &script]).stdout(Stdio::piped()).spawn().map_err(when("start"))?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("no output")?;
        BufReader::new(stdout).read_line(&mut line).map_err(when("read"))?;
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("no number")?;
        rustix::process::kill_process(id, signal).map_err(when("kill"))?;
        let ended = child.wait().map_err(when("wait"))?;
        holds(ended.code() == Some(status), || format!("{name}: {ended}"))?;
    }
    Ok("TERM, USR1, USR2".to_owned())
}

/// Connecting takes a round trip, and so does the request. The time is the client's own, and a lower bound.
fn first_request() -> Said<String> {
    let listener = listen()?;
    let (said, ()) = beside("--delay 40ms", "request", || {
        let mut stream = accept(&listener)?;
        let mut request = [0; 4];
        stream.read_exact(&mut request).map_err(when("request"))?;
        stream.write_all(&request).map_err(when("answer"))
    })?;
    let mut times = said.split_whitespace().map(str::parse::<u128>);
    let mut next = || times.next().and_then(Result::ok).ok_or_else(|| said.clone());
    let (connected, answered) = (next()?, next()?);
    holds(connected >= 80_000 && answered >= 160_000, || said.clone())?;
    Ok(format!("connected after {connected} us, answered after {answered} us"))
}

/// The server answers only when the request has ended; the client reads only then.
fn half_close() -> Said<String> {
    let listener = listen()?;
    let (said, length) = beside("--delay 5ms --rate 100Mb/s", "half-close", || {
        let mut stream = accept(&listener)?;
        let mut request = Vec::new();
        stream.read_to_end(&mut request).map_err(when("request"))?;
        let answer = vec![7; ANSWER];
        stream.write_all(&answer).map_err(when("answer"))?;
        Ok(request.len())
    })?;
    holds(length == 100_000 && said == ANSWER.to_string(), || format!("{length} octets came, and {said}"))?;
    Ok(format!("{length} octets there, {said} back"))
}

fn refused() -> Said<String> {
    needed("link set lo up")?;
    let said = act("--delay 5ms", "connect")?;
    holds(said == "ConnectionRefused", || said.clone())?;
    Ok(said)
}

fn closed() -> Said<String> {
    needed("link set lo up")?;
    let said = act("--delay 5ms", "datagram")?;
    holds(said == "ConnectionRefused", || said.clone())?;
    Ok(said)
}

/// A server that closes with octets unread resets, and the client sees that and no end.
fn reset() -> Said<String> {
    let listener = listen()?;
    let (said, ()) = beside("--delay 5ms", "until-reset", || {
        let stream = accept(&listener)?;
        let mut first = [0; 1];
        let peeked = stream.peek(&mut first).map_err(when("peek"))?;
        holds(peeked == 1, || "nothing came".to_owned())
    })?;
    holds(said == "ConnectionReset", || said.clone())?;
    Ok(said)
}

/// The program ends while most of what it has written is in the kernel.
fn farewell() -> Said<String> {
    let listener = listen()?;
    let (_, length) = beside("--delay 20ms --rate 5Mb/s", "write-and-end", || {
        let mut stream = accept(&listener)?;
        let mut all = Vec::new();
        stream.read_to_end(&mut all).map_err(when("read"))?;
        Ok(all.len())
    })?;
    holds(length == 200_000, || format!("{length} octets came"))?;
    Ok(format!("{length} octets"))
}

/// The numbers of the datagrams that come through.
fn survivors(seed: u32, pcap: &Path) -> Said<Vec<u8>> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(when("bind"))?;
    let mut command = client(&format!("--seed {seed} --delay 2ms"), "datagrams")?;
    // Options stand in front of the program.
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command.args(["link", "--up", "loss 30%", "--pcap"]).arg(pcap).args(&arguments[1..]).env(ACT, "datagrams");
    command.stdin(Stdio::null());
    done(output(command)?)?;
    // What the program has sent has arrived when the command ends.
    socket.set_nonblocking(true).map_err(when("socket"))?;
    let mut came = Vec::new();
    let mut datagram = [0; 100];
    loop {
        match socket.recv(&mut datagram) {
            Ok(_) => came.push(datagram[0]),
            Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(came),
            Err(why) => return Err(format!("receive: {why}")),
        }
    }
}

fn seeds() -> Said<String> {
    needed("link set lo up")?;
    let directory = tempfile::tempdir().map_err(when("a directory"))?;
    let pcap = directory.path().join("link.pcapng");
    let first = survivors(1, &pcap)?;
    let file = BufReader::new(File::open(&pcap).map_err(when("the capture"))?);
    let mut capture = Capture::open(file, FormatHint::default(), &Registry::new()).map_err(when("the capture"))?;
    let mut packets = 0;
    while capture.next_record().map_err(when("the capture"))?.is_some() {
        packets += 1;
    }
    holds(packets == 200 + first.len(), || format!("{packets} packets of {} that came", first.len()))?;
    let again = survivors(1, &pcap)?;
    let other = survivors(2, &pcap)?;
    holds(first == again, || format!("{first:?} and {again:?}"))?;
    holds(first != other, || "another seed loses the same".to_owned())?;
    // Five deviations of 200 draws.
    holds((107..=173).contains(&first.len()), || format!("{} of 200 came", first.len()))?;
    Ok(format!("{} and {} of 200 came", first.len(), other.len()))
}

/// Answers queries for addresses of IPv4 with the gateway's, and others with nothing.
fn answer(query: &[u8]) -> Vec<u8> {
    let name = query[12..].iter().position(|octet| *octet == 0).map_or(query.len(), |at| 12 + at + 1);
    let question = &query[12..name + 4];
    let is_ipv4 = query[name..name + 2] == [0, 1];
    let mut answer = query[..2].to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_ipv4), 0, 0, 0, 0]);
    answer.extend(question);
    if is_ipv4 {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 0, 1]);
    }
    answer
}

/// The host's resolver is on its loopback interface, out of the program's reach but for the gateway.
fn names() -> Said<String> {
    let listener = listen()?;
    let resolver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 53)).map_err(when("bind"))?;
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, from)) = resolver.recv_from(&mut query) {
            let _ = resolver.send_to(&answer(&query[..length]), from);
        }
    });
    let directory = tempfile::tempdir().map_err(when("a directory"))?;
    let file = directory.path().join("resolv.conf");
    std::fs::write(&file, "nameserver 127.0.0.1\n").map_err(when("a file"))?;
    let inner = client("--delay 5ms", "name")?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount --bind \"$1\" /etc/resolv.conf && shift && exec \"$@\"", "sh"]);
    command.arg(&file).arg(inner.get_program()).args(inner.get_args()).env(ACT, "name").stdin(Stdio::null());
    std::thread::scope(|scope| {
        scope.spawn(|| accept(&listener));
        let said = done(output(command)?);
        // Ends the server, where nobody has come.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, PORT));
        said
    })
}

fn hidden() -> Said<String> {
    let _listener = listen()?;
    let said = act("--no-loopback", "connect")?;
    holds(said == "ConnectionRefused", || said.clone())?;
    Ok(said)
}

/// A server on ::1 alone, as some listen at `localhost`; the client calls the gateway's address of IPv4.
fn either() -> Said<String> {
    needed("link set lo up")?;
    let listener = TcpListener::bind((Ipv6Addr::LOCALHOST, PORT)).map_err(when("bind"))?;
    let (said, length) = beside("--delay 5ms", "half-close", || {
        let mut stream = accept(&listener)?;
        let mut request = Vec::new();
        stream.read_to_end(&mut request).map_err(when("request"))?;
        stream.write_all(&vec![7; ANSWER]).map_err(when("answer"))?;
        Ok(request.len())
    })?;
    holds(length == 100_000 && said == ANSWER.to_string(), || format!("{length} octets came, and {said}"))?;
    Ok(format!("{length} octets there, {said} back"))
}

/// The program lasts until the path has ended.
fn scheduled() -> Said<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command.args(["link", "--delay", "5ms", "--at", "1ms", "settings", "--at", "2ms", "quit", "--", "cat"]);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(when("start"))?;
    let mut errors = BufReader::new(child.stderr.take().ok_or("no errors")?);
    let mut said = String::new();
    while !said.contains("by `quit`") {
        let length = errors.read_line(&mut said).map_err(when("read"))?;
        holds(length > 0, || said.clone())?;
    }
    drop(child.stdin.take());
    child.wait().map_err(when("wait"))?;
    errors.read_to_string(&mut said).map_err(when("read"))?;
    let lines: Vec<&str> = said.lines().collect();
    let [up, down, _] = lines.as_slice() else {
        return Err(said);
    };
    holds([*up, *down] == ["kumiki: up delay 5 ms", "kumiki: down delay 5 ms"], || said.clone())?;
    Ok(said.trim().to_owned())
}

/// As `nobody`, where this is root and may become so: with a node of the device that everybody may open, as udev makes
/// it.
fn ordinary() -> Said<String> {
    let listener = listen()?;
    let directory = tempfile::tempdir().map_err(when("a directory"))?;
    let mut command = as_nobody(directory.path(), "exec ./kumiki link --delay 20ms -- ./itself --inside link-client")?;
    command.env(ACT, "user");
    std::thread::scope(|scope| {
        scope.spawn(|| accept(&listener));
        let output = output(command)?;
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, PORT));
        if output.status.code() == Some(NOT_ROOT) {
            return Ok("nothing: this is not root outside of namespaces".to_owned());
        }
        let said = done(output)?;
        holds(said == "65534 65534 0000000000000000", || said.clone())?;
        Ok(said)
    })
}

/// The status of [`as_nobody`] where this is not root outside of namespaces.
pub(crate) const NOT_ROOT: i32 = 77;

/// A shell that does `line` in `directory`, which is open to all, as a user who has no rights; `kumiki` and this
/// program, as `itself`, are there.
pub(crate) fn as_nobody(directory: &Path, line: &str) -> Said<Command> {
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(directory, open).map_err(when("a directory"))?;
    // Where nobody may go to the directory of the build.
    std::fs::copy(env!("CARGO_BIN_EXE_kumiki"), directory.join("kumiki")).map_err(when("copy"))?;
    let itself = std::env::current_exe().map_err(when("this program"))?;
    std::fs::copy(itself, directory.join("itself")).map_err(when("copy"))?;
    let script = "mknod \"$1/tun\" c 10 200 2>/dev/null && chmod 666 \"$1/tun\" && mount --bind \"$1/tun\" /dev/net/tun \
                  && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null || exit 77; cd \"$1\"; \
                  exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c \"$2\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(directory).arg(line).stdin(Stdio::null());
    Ok(command)
}

/// By SOCKS and by HTTP, connections and datagrams; what is refused is told in the words of each.
fn proxied() -> Said<String> {
    let listener = listen()?;
    let echo = UdpSocket::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(when("bind"))?;
    let echoing = std::thread::spawn(move || {
        let mut datagram = [0; 100];
        let (length, from) = echo.recv_from(&mut datagram)?;
        echo.send_to(&datagram[..length], from)
    });
    let (said, ()) = beside("--delay 20ms --proxy 0", "proxied", || {
        for _ in 0..3 {
            let mut stream = accept(&listener)?;
            let mut request = [0; 4];
            stream.read_exact(&mut request).map_err(when("request"))?;
            let mut rest = Vec::new();
            if &request == b"GET " {
                // The head of a request, which ends with an empty line.
                while !rest.ends_with(b"\r\n\r\n") {
                    let mut octet = [0];
                    stream.read_exact(&mut octet).map_err(when("head"))?;
                    rest.extend(octet);
                }
                let head = String::from_utf8_lossy(&rest).into_owned();
                holds(head.starts_with("/a?b HTTP/1.1\r\n") && !head.contains("Proxy-"), || head)?;
            }
            stream.write_all(b"fine").map_err(when("answer"))?;
        }
        Ok(())
    })?;
    let echoed = echoing.join().map_err(|_| "the echo panicked".to_owned())?;
    echoed.map_err(when("the echo"))?;
    Ok(said)
}

/// Without a program it says where it is, and serves until it is told to end.
fn served() -> Said<String> {
    needed("link set lo up")?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command.args(["link", "--delay", "5ms", "--proxy", "0"]).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(when("start"))?;
    let mut line = String::new();
    let stderr = child.stderr.take().ok_or("no output")?;
    BufReader::new(stderr).read_line(&mut line).map_err(when("read"))?;
    let words = line.split_once(" is at ").and_then(|(_, rest)| rest.split_once(';'));
    let address: SocketAddr = words.ok_or_else(|| line.clone())?.0.parse().map_err(when("the address"))?;
    TcpStream::connect(address).map_err(when("connect"))?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("no number")?;
    rustix::process::kill_process(id, Signal::TERM).map_err(when("kill"))?;
    let ended = child.wait().map_err(when("wait"))?;
    holds(ended.code() == Some(143), || ended.to_string())?;
    Ok(line.trim().to_owned())
}

/// What was sent, lost and changed stands on the page, whatever became of the program.
fn reported() -> Said<String> {
    needed("link set lo up")?;
    let directory = tempfile::tempdir().map_err(when("a directory"))?;
    let page = directory.path().join("page.html");
    let _socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(when("bind"))?;
    let inner = client("--delay 2ms", "datagrams")?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    let arguments: Vec<_> = inner.get_args().skip(1).map(ToOwned::to_owned).collect();
    command.args(["link", "--up", "loss 30%", "--at", "0s", "down delay 7ms", "--report"]).arg(&page);
    command.args(arguments).env(ACT, "datagrams").stdin(Stdio::null());
    done(output(command)?)?;
    let html = std::fs::read_to_string(&page).map_err(when("the page"))?;
    let parts = [" of 200 packets arrived", " lost (", "exit status 0", "Packets that do not arrive", "delay 7 ms"];
    holds(parts.iter().all(|part| html.contains(part)), || html.clone())?;
    Ok(format!("{} octets", html.len()))
}

/// What a program does behind a proxy: how long the connection by SOCKS took, in us.
#[expect(clippy::disallowed_methods, reason = "what a user would see is measured; a lower bound alone is judged")]
fn by_proxy() -> Said<String> {
    let variable = |name: &str, scheme: &str| -> Said<SocketAddr> {
        let text = std::env::var(name).map_err(when("a proxy"))?;
        text.strip_prefix(scheme).ok_or_else(|| text.clone())?.parse().map_err(when("a proxy"))
    };
    let (socks, http) = (variable("all_proxy", "socks5h://")?, variable("http_proxy", "http://")?);
    let open = |address: SocketAddr| patient(TcpStream::connect(address).map_err(when("connect"))?);
    let answer = |stream: &mut TcpStream, length: usize| {
        let mut octets = vec![0; length];
        stream.read_exact(&mut octets).map_err(when("answer")).map(|()| octets)
    };
    let ask = |command: u8, port: u16| -> Said<(TcpStream, Vec<u8>)> {
        let mut stream = open(socks)?;
        stream.write_all(&[5, 2, 2, 0]).map_err(when("methods"))?;
        holds(answer(&mut stream, 2)? == [5, 0], || "no method".to_owned())?;
        let request = [&[5, command, 0, 3, 9][..], b"localhost", &port.to_be_bytes()].concat();
        stream.write_all(&request).map_err(when("request"))?;
        let reply = answer(&mut stream, 10)?;
        Ok((stream, reply))
    };
    let began = std::time::Instant::now();
    let (mut stream, reply) = ask(1, PORT)?;
    let took = began.elapsed().as_micros();
    holds(reply[..2] == [5, 0] && took >= 40_000, || format!("{reply:?} after {took} us"))?;
    stream.write_all(b"GET!").map_err(when("request"))?;
    holds(answer(&mut stream, 4)? == b"fine", || "no answer".to_owned())?;
    let (_, reply) = ask(1, PORT + 1)?;
    holds(reply[..2] == [5, 5], || format!("not refused: {reply:?}"))?;
    let (_, reply) = ask(2, PORT)?;
    holds(reply[..2] == [5, 7], || format!("BIND: {reply:?}"))?;
    let mut stream = open(socks)?;
    stream.write_all(&[5, 1, 2]).map_err(when("methods"))?;
    holds(answer(&mut stream, 2)? == [5, 0xff], || "a method that nobody has".to_owned())?;
    // Datagrams.
    let (_held, reply) = ask(3, PORT)?;
    let relay = SocketAddr::from(([reply[4], reply[5], reply[6], reply[7]], u16::from_be_bytes([reply[8], reply[9]])));
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(when("bind"))?;
    socket.set_read_timeout(Some(TIMEOUT)).map_err(when("time-out"))?;
    let datagram = [&[0, 0, 0, 1, 127, 0, 0, 1][..], &PORT.to_be_bytes(), b"echo"].concat();
    socket.send_to(&datagram, relay).map_err(when("send"))?;
    let mut came = [0; 100];
    let length = socket.recv(&mut came).map_err(when("no echo"))?;
    holds(came[..length].ends_with(b"echo") && length == 14, || format!("{:?}", &came[..length]))?;
    // HTTP.
    let mut stream = open(http)?;
    stream.write_all(format!("CONNECT 127.0.0.1:{PORT} HTTP/1.1\r\n\r\nGET!").as_bytes()).map_err(when("CONNECT"))?;
    let established = "HTTP/1.1 200 Connection established\r\n\r\nfine";
    holds(answer(&mut stream, established.len())? == established.as_bytes(), || "no tunnel".to_owned())?;
    let mut stream = open(http)?;
    let request = format!("GET http://localhost:{PORT}/a?b HTTP/1.1\r\nProxy-Connection: keep-alive\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(when("GET"))?;
    holds(answer(&mut stream, 4)? == b"fine", || "no answer".to_owned())?;
    for (request, status) in [
        (format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n\r\n", PORT + 1), "HTTP/1.1 502 "),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "HTTP/1.1 400 "),
    ] {
        let mut stream = open(http)?;
        stream.write_all(request.as_bytes()).map_err(when("request"))?;
        holds(answer(&mut stream, status.len())? == status.as_bytes(), || format!("{request}: another status"))?;
    }
    Ok(took.to_string())
}

/// The gateway, as the program is told.
fn gateway() -> Said<SocketAddr> {
    let address = std::env::var("KUMIKI_GATEWAY").map_err(when("KUMIKI_GATEWAY"))?;
    let address: Ipv4Addr = address.parse().map_err(when("KUMIKI_GATEWAY"))?;
    Ok(SocketAddr::from((address, PORT)))
}

/// The program behind the path.
pub(crate) fn program() -> ExitCode {
    kumiki_watchdog::minute();
    let act = std::env::var(ACT).unwrap_or_default();
    match acted(&act) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("{act}: {why}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "what a user would see is measured; a lower bound alone is judged")]
fn acted(act: &str) -> Said<String> {
    let connect = || patient(TcpStream::connect(gateway()?).map_err(when("connect"))?);
    match act {
        "request" => {
            let began = std::time::Instant::now();
            let mut stream = connect()?;
            let connected = began.elapsed().as_micros();
            stream.write_all(b"GET!").map_err(when("request"))?;
            let mut answer = [0; 4];
            stream.read_exact(&mut answer).map_err(when("answer"))?;
            Ok(format!("{connected} {}", began.elapsed().as_micros()))
        }
        "proxied" => by_proxy(),
        "half-close" => {
            let mut stream = connect()?;
            stream.write_all(&[1; 100_000]).map_err(when("request"))?;
            stream.shutdown(Shutdown::Write).map_err(when("shutdown"))?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).map_err(when("answer"))?;
            Ok(answer.len().to_string())
        }
        "connect" => {
            let connected = TcpStream::connect_timeout(&gateway()?, Duration::from_secs(30));
            Ok(connected.map_or_else(|why| format!("{:?}", why.kind()), |_| "connected".to_owned()))
        }
        "until-reset" => {
            let mut stream = connect()?;
            stream.write_all(b"some").map_err(when("write"))?;
            let read = stream.read_to_end(&mut Vec::new());
            Ok(read.map_or_else(|why| format!("{:?}", why.kind()), |_| "an end".to_owned()))
        }
        "write-and-end" => {
            let mut stream = connect()?;
            stream.write_all(&[1; 200_000]).map_err(when("write"))?;
            Ok(String::new())
        }
        "datagrams" => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(when("bind"))?;
            for number in 0..200_u8 {
                socket.send_to(&[number; 50], gateway()?).map_err(when("send"))?;
            }
            Ok(String::new())
        }
        "datagram" => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(when("bind"))?;
            socket.connect(gateway()?).map_err(when("connect"))?;
            socket.set_read_timeout(Some(TIMEOUT)).map_err(when("time-out"))?;
            socket.send(b"anybody?").map_err(when("send"))?;
            let answered = socket.recv(&mut [0; 10]);
            Ok(answered.map_or_else(|why| format!("{:?}", why.kind()), |_| "an answer".to_owned()))
        }
        "name" => {
            let found = ("somebody.example", PORT).to_socket_addrs().map_err(when("the name"))?;
            let found: Vec<SocketAddr> = found.collect();
            TcpStream::connect(&found[..]).map_err(when("connect"))?;
            Ok(format!("{found:?}"))
        }
        "user" => {
            connect()?;
            let status = std::fs::read_to_string("/proc/self/status").map_err(when("status"))?;
            let of = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
                line.split_whitespace().next().unwrap_or_default().to_owned()
            };
            Ok(format!("{} {} {}", of("Uid:"), of("Gid:"), of("CapEff:")))
        }
        other => Err(format!("no such thing to do: {other}")),
    }
}
