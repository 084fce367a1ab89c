//! `kumiki live`: programs at the hosts of a scenario, each with a kernel's TCP of its own.
//!
//! ```text
//! this program once more -- kumiki0 == hosts, lines, switches of the scenario == kumiki0 -- this program, a third time
//! ```
//!
//! What a program does is said by the name of its host.

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};

use kumiki_decode::capture::Direction;
use kumiki_decode::{Capture, FormatHint, Registry};
use rustix::process::{Pid, Signal, kill_process};

use crate::delay::ABSENT;
use crate::host::{PORT, Said, TIMEOUT, when};
use crate::link::{NOT_ROOT, as_nobody};
use crate::path::{ip, needed};
use crate::single::holds;
use crate::{Case, INSIDE};

/// Not a case: the program at a host.
pub(crate) const PROGRAM: &str = "live-program";

/// How many octets are asked for, and come.
const ANSWER: usize = 200_000;

const PAIR: &str = "title = \"A client and a server\"
[host.client]
graph = [\"ip\", \"l0\"]
[host.server]
like = \"client\"
[link.line]
ends = [\"client\", \"server\"]
medium = \"point-to-point\"
rate = \"10 Mb/s\"
propagation = \"40 ms\"
";

pub(crate) fn cases() -> Vec<Case> {
    type Run = fn() -> Said<String>;
    let all: [(&str, Run); 16] = [
        ("programs_meet_by_their_hosts_names", meet),
        ("a_capture_has_what_crossed_at_each_real_host", captured),
        ("a_line_changes_when_it_is_told_to", changed),
        ("the_first_status_that_is_not_0_counts", statuses),
        ("a_scenario_of_a_paper_carries_programs", router),
        ("a_gateway_leads_to_this_machine", gateway),
        ("an_interface_of_this_machine_is_a_host", interface),
        ("what_is_beyond_a_router_is_reached_from_this_machine", routed),
        ("of_an_interface_that_is_as_it_should_be_nothing_is_said", prepared),
        ("an_ethernet_of_this_machine_is_a_host", tap),
        ("frames_on_a_socket_join_two_networks", joined),
        ("a_host_that_has_lost_its_interface_leaves_the_others_alone", lost),
        ("what_a_program_leaves_behind_ends_with_it", left_behind),
        ("what_a_program_has_written_arrives_though_it_has_ended", farewell),
        ("an_ordinary_user_captures_changes_and_leaves_nothing_behind", ordinary),
        ("keys_are_of_the_attached_program_as_long_as_it_runs", keys),
    ];
    let case = |(name, run): (&str, Run)| Case {
        name: format!("live::{name}"),
        tries: 1,
        run: Box::new(move || if ip("-V")?.is_none() { Ok(ABSENT.to_owned()) } else { run() }),
    };
    all.into_iter().map(case).collect()
}

/// This program as that of `host`, in a setting for `--set`.
fn at(host: &str) -> Said<String> {
    let itself = std::env::current_exe().map_err(when("this program"))?;
    Ok(format!("host.{host}.real.run=[{itself:?}, {INSIDE:?}, {PROGRAM:?}]"))
}

/// `kumiki live` with these settings; a server is in the background.
fn live(scenario: &Path, set: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command.arg("live").arg(scenario).stdin(Stdio::null());
    for set in set {
        command.arg("--set").arg(set);
    }
    command
}

fn output(mut command: Command) -> Said<Output> {
    command.output().map_err(when("kumiki does not start"))
}

fn done(output: &Output) -> Said<String> {
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    holds(output.status.success(), || format!("{}: {said}; {errors}", output.status))?;
    Ok(said)
}

/// The scenario `text` in a file.
fn with_file<T>(text: &str, run: impl FnOnce(&Path) -> Said<T>) -> Said<T> {
    let directory = tempfile::tempdir().map_err(when("a directory"))?;
    let file = directory.path().join("net.toml");
    std::fs::write(&file, text).map_err(when("a file"))?;
    run(&file)
}

/// Connecting takes a round trip of the line, the answer its time on the line; both are lower bounds. What has crossed
/// is told.
fn meet() -> Said<String> {
    with_file(PAIR, |file| {
        let set = [at("client")?, at("server")?, "host.server.real.background=true".to_owned()];
        let mut command = live(file, &set);
        command.arg("--stats");
        let output = output(command)?;
        let said = done(&output)?;
        let mut times = said.split_whitespace().map(str::parse::<u128>);
        let mut next = || times.next().and_then(Result::ok).ok_or_else(|| said.clone());
        let (connected, answered) = (next()?, next()?);
        holds(connected >= 80_000 && answered >= 160_000 + 160_000, || said.clone())?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let parts = ["client: sent ", "server: sent ", "late min ", "line: a_frames "];
        holds(parts.iter().all(|part| told.contains(part)), || told.clone())?;
        Ok(format!("connected after {connected} us, answered after {answered} us"))
    })
}

/// On a line that loses nothing one host gets what the other one has sent, and nobody changes it. What is in flight at
/// the end does not arrive.
fn captured() -> Said<String> {
    with_file(PAIR, |file| {
        let pcap = file.with_file_name("live.pcapng");
        let set = [at("client")?, at("server")?, "host.server.real.background=true".to_owned()];
        let mut command = live(file, &set);
        command.arg("--pcap").arg(&pcap);
        done(&output(command)?)?;
        let octets = BufReader::new(File::open(&pcap).map_err(when("the capture"))?);
        let mut capture =
            Capture::open(octets, FormatHint::default(), &Registry::new()).map_err(when("the capture"))?;
        let mut hosts = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
        while let Some(record) = capture.next_record().map_err(when("a packet"))? {
            let name = record.interface_name.as_deref().unwrap_or_default();
            let host = ["client", "server"].iter().position(|host| *host == name).ok_or("another interface")?;
            let got = usize::from(record.direction == Some(Direction::Inbound));
            hosts[host][got].push(record.octets);
        }
        let [[client_sent, client_got], [server_sent, server_got]] = &hosts;
        for (sent, got) in [(client_sent, server_got), (server_sent, client_got)] {
            holds(got.iter().all(|packet| sent.contains(packet)), || "what nobody has sent was got".to_owned())?;
        }
        holds(client_got.len() > ANSWER / 1500, || format!("{} packets", client_got.len()))?;
        Ok(format!("{} and {} packets", client_got.len(), server_got.len()))
    })
}

/// A program says how the line is to be; what it does then takes the time of that. Lower bounds, as above.
fn changed() -> Said<String> {
    with_file(PAIR, |file| {
        let control = file.with_file_name("control");
        let itself = env!("CARGO_BIN_EXE_kumiki");
        let send = format!("{itself} delay --send {}", control.display());
        let program = std::env::current_exe().map_err(when("this program"))?;
        let client = format!(
            "{send} 'line toward server delay 150ms' && {send} settings && ! {send} 'lin loss 1%' && exec {} {INSIDE} {PROGRAM}",
            program.display()
        );
        let set = [at("server")?, "host.server.real.background=true".to_owned()];
        let mut command = live(file, &set);
        command.arg("--control").arg(&control).args(["--at", "0s", "line toward client delay 50ms"]);
        command.args(["--run", &format!("client={client}")]);
        let output = output(command)?;
        let said = done(&output)?;
        let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
        let [to_client, to_server, times] = lines.as_slice() else { return Err(said) };
        let set = "rate 10 Mb/s queue 10240 packets delay";
        holds(*to_client == format!("line toward client.l0 {set} 50 ms"), || said.clone())?;
        holds(*to_server == format!("line toward server.l0 {set} 150 ms"), || said.clone())?;
        let connected = times.split_whitespace().next().and_then(|it| it.parse::<u128>().ok());
        holds(connected.is_some_and(|it| it >= 200_000), || said.clone())?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        holds(told.contains("`lin` is no line; there are line; try line"), || told.clone())?;
        Ok((*times).to_owned())
    })
}

fn statuses() -> Said<String> {
    with_file(PAIR, |file| {
        for (client, server, background, status) in
            [("exit 3", "exit 4", false, 3), ("exit 0", "exit 4", false, 4), ("exit 0", "sleep 600", true, 0)]
        {
            let mut command = live(file, &[]);
            command.args(["--run", &format!("client={client}"), "--run", &format!("server={server}")]);
            if background {
                command.args(["--background", "server"]);
            }
            let output = output(command)?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_told = said == "kumiki: client 10.0.0.1, server 10.0.0.2\n";
            holds(output.status.code() == Some(status) && is_told, || format!("{}: {said}", output.status))?;
        }
        let mut command = live(file, &[]);
        command.args(["--run", "client=sleep 600", "--time", "100ms"]);
        let output = output(command)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        holds(output.status.code() == Some(124) && said.contains("the time was up"), || said.clone())?;
        Ok("3, 4, 0, 124".to_owned())
    })
}

/// Packets of 9180 octets on ATM, and of 1500 on the line behind the router.
fn router() -> Said<String> {
    let set = [
        at("a")?.replace(&format!("{PROGRAM:?}]"), &format!("{PROGRAM:?}, \"b\"]")),
        at("b")?,
        "host.b.real.background=true".to_owned(),
    ];
    let mut command = live(Path::new("router"), &set);
    command.arg("--stats");
    let output = output(command)?;
    done(&output)?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    holds(told.contains("load datagrams") && told.contains("router.atm0 SAR: pdus_out "), || told.clone())?;
    Ok(told.lines().last().unwrap_or_default().to_owned())
}

/// The host's loopback interface, with a server that answers one caller.
fn serve_once(listener: &TcpListener) -> Said<()> {
    let (mut stream, _) = listener.accept().map_err(when("accept"))?;
    answer(&mut stream)
}

fn answer(stream: &mut TcpStream) -> Said<()> {
    stream.set_read_timeout(Some(TIMEOUT)).map_err(when("time-out"))?;
    stream.read_exact(&mut [0; 4]).map_err(when("request"))?;
    stream.write_all(&[7; ANSWER]).map_err(when("answer"))
}

fn gateway() -> Said<String> {
    needed("link set lo up")?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(when("bind"))?;
    let text = PAIR.replace("[link.line]", "real = { gateway = true }\n[link.line]");
    with_file(&text, |file| {
        std::thread::scope(|scope| {
            let server = scope.spawn(|| serve_once(&listener));
            let said = done(&output(live(file, &[at("client")?]))?);
            // Ends the server, where nobody has come.
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, PORT));
            let said = said?;
            server.join().map_err(|_| "the server panicked".to_owned())??;
            Ok(said)
        })
    })
}

fn interface() -> Said<String> {
    let text = PAIR.replace("[link.line]", "real = { tun = \"k0\" }\n[link.line]");
    with_file(&text, |file| {
        std::thread::scope(|scope| {
            let server = scope.spawn(|| serve("10.0.0.2"));
            let said = done(&output(live(file, &[at("client")?]))?)?;
            server.join().map_err(|_| "the server panicked".to_owned())??;
            Ok(said)
        })
    })
}

/// A router between the two, where the server is this machine.
const ROUTED: &str = "title = \"A router\"
[host.client]
graph = [\"ip\", \"l0\"]
ip.address = \"10.1.0.1/24\"
[host.server]
graph = [\"ip\", \"l0\"]
ip.address = \"10.2.0.1/24\"
real.tun = \"k0\"
[host.router]
graph = { ip = [\"l0\", \"l1\"] }
ip = { forwarding = true, interface.l0.address = \"10.1.0.2/24\", interface.l1.address = \"10.2.0.2/24\" }
[link.near]
ends = [\"client\", \"router.l0\"]
medium = \"point-to-point\"
rate = \"10 Mb/s\"
propagation = \"40 ms\"
[link.far]
ends = [\"server\", \"router.l1\"]
medium = \"point-to-point\"
rate = \"10 Mb/s\"
";

/// What this machine answers goes to a network that is none of its interface.
fn routed() -> Said<String> {
    with_file(ROUTED, |file| {
        std::thread::scope(|scope| {
            let server = scope.spawn(|| serve("10.2.0.1"));
            let said = done(&output(live(file, &[at("client")?]))?)?;
            server.join().map_err(|_| "the server panicked".to_owned())??;
            Ok(said)
        })
    })
}

/// An ordinary user may set nothing; where nothing is missing that is no news.
fn prepared() -> Said<String> {
    let run = || {
        let directory = tempfile::tempdir().map_err(when("a directory"))?;
        std::fs::write(directory.path().join("net.toml"), ROUTED).map_err(when("a file"))?;
        output(as_nobody(directory.path(), "exec ./kumiki live net.toml --run client=true")?)
    };
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).lines().count();
    let prepare = |orders: &[&str]| orders.iter().try_for_each(|order| ip(order).map(drop));
    prepare(&["tuntap add k0 mode tun user 65534", "addr add 10.2.0.1/24 dev k0", "link set k0 up"])?;
    let routeless = run()?;
    if routeless.status.code() == Some(NOT_ROOT) {
        prepare(&["link del k0"])?;
        return Ok("nothing: this is not root outside of namespaces".to_owned());
    }
    prepare(&["route add 10.0.0.0/15 via 10.2.0.2 dev k0"])?;
    let whole = run()?;
    prepare(&["link set k0 mtu 1400"])?;
    let short = run()?;
    prepare(&["link del k0"])?;
    let all = [&routeless, &whole, &short].map(|it| (it.status.code(), told(it)));
    let said = || format!("{all:?}: {}", String::from_utf8_lossy(&routeless.stderr));
    holds(all == [(Some(0), 2), (Some(0), 1), (Some(0), 2)], said)?;
    Ok("a route and an MTU that were missing were said".to_owned())
}

/// The pair on an Ethernet, where `host` is `real`.
fn on_ethernet(host: &str, real: &str) -> String {
    let pair = PAIR.replace("[\"ip\", \"l0\"]", "[\"ip\", \"arp\", \"eth\", \"l0\"]");
    format!("{pair}[host.{host}.real]\n{real}\n")
}

/// The kernel asks for the client's station, and answers for its own.
fn tap() -> Said<String> {
    with_file(&on_ethernet("server", "tap = \"k0\""), |file| {
        std::thread::scope(|scope| {
            let server = scope.spawn(|| serve("10.0.0.2"));
            let said = done(&output(live(file, &[at("client")?]))?)?;
            server.join().map_err(|_| "the server panicked".to_owned())??;
            Ok(said)
        })
    })
}

/// In one network the server is a program, and in the other one the client: a socket is between them.
fn joined() -> Said<String> {
    let directory = tempfile::tempdir().map_err(when("a directory"))?;
    let socket = directory.path().join("frames");
    let frames = |word: &str| format!("frames = \"{word}:{}\"", socket.display());
    with_file(&on_ethernet("client", &frames("listen")), |far| {
        let set = [at("server")?, "host.server.real.background=true".to_owned()];
        let server = live(far, &set).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut server = server.map_err(when("kumiki does not start"))?;
        while !socket.exists() && server.try_wait().map_err(when("the server"))?.is_none() {
            kumiki_watchdog::pause();
        }
        let said =
            with_file(&on_ethernet("server", &frames("unix")), |near| done(&output(live(near, &[at("client")?]))?));
        // Without a program that is waited for it runs until then.
        let id = i32::try_from(server.id()).ok().and_then(Pid::from_raw).ok_or("no process")?;
        let _ = kill_process(id, Signal::TERM);
        let ended = server.wait_with_output().map_err(when("the server"))?;
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        let is_told = told.lines().count() == 1 && told.contains("client 10.0.0.1, server 10.0.0.2");
        holds(ended.status.code() == Some(143) && is_told, || format!("{}: {told}", ended.status))?;
        let said = said?;
        let connected = said.split_whitespace().next().and_then(|it| it.parse::<u128>().ok());
        // Two lines, each of 40 ms one way.
        holds(connected.is_some_and(|it| it >= 160_000), || said.clone())?;
        Ok(said)
    })
}

/// Here the program may delete its interface: it is root.
fn lost() -> Said<String> {
    with_file(PAIR, |file| {
        let mut command = live(file, &[]);
        command.current_dir(file.parent().unwrap_or(file));
        command.args(["--run", "client=ip link del kumiki0 && : >gone"]);
        command.args(["--run", "server=until [ -e gone ]; do :; done; exit 3"]);
        let output = output(command)?;
        let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        holds(output.status.code() == Some(3), || format!("{}: {told}", output.status))?;
        let is_told = told.lines().count() == 2 && told.contains("host client has no network any more");
        holds(is_told, || told.clone())?;
        Ok(told)
    })
}

/// The client writes and goes, and the server, which is in the background, says how much has come: more than a line
/// carries at once is in flight then.
fn farewell() -> Said<String> {
    with_file(PAIR, |file| {
        let (itself, came) = (std::env::current_exe().map_err(when("this program"))?, file.with_file_name("came"));
        let set = [
            format!("host.client.real.run=[{itself:?}, {INSIDE:?}, {PROGRAM:?}, \"write\"]"),
            format!("host.server.real.run=[{itself:?}, {INSIDE:?}, {PROGRAM:?}, \"count\", {came:?}]"),
            "host.server.real.background=true".to_owned(),
        ];
        done(&output(live(file, &set))?)?;
        let came = std::fs::read_to_string(&came).map_err(when("the server has not come to the end"))?;
        holds(came == ANSWER.to_string(), || came.clone())?;
        Ok(came)
    })
}

/// What ends without what it has started: a shell that waits for it and hears the signal; one whose other half does not
/// hear it; one that is waited for; those that start a daemon, which is in a session of its own.
fn left_behind() -> Said<String> {
    let deaf = "(trap '' TERM; : >deaf; exec sleep 654) & wait";
    let wait_for_it = "until [ -e deaf ]; do :; done";
    let daemon = "setsid -f sleep 654";
    for (client, server) in [
        ("true", "sleep 654 & wait"),
        (wait_for_it, deaf),
        ("sleep 654 & exit 0", "sleep 600"),
        (daemon, "sleep 600"),
        ("true", &format!("{daemon}; exec sleep 600")),
    ] {
        with_file(PAIR, |file| {
            let mut command = live(file, &[]);
            command.args(["--run", &format!("client={client}"), "--run", &format!("server={server}")]);
            command.args(["--background", "server"]);
            command.current_dir(file.parent().unwrap_or(file));
            done(&output(command)?)?;
            let left = left_of(b"sleep\x00654\x00")?;
            holds(left == 0, || format!("{server}: {left} are left"))
        })?;
    }
    Ok("nothing is left".to_owned())
}

/// The processes that are called so.
fn left_of(words: &[u8]) -> Said<usize> {
    let processes = std::fs::read_dir("/proc").map_err(when("/proc"))?.flatten();
    let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    Ok(lines.filter(|line| line.as_slice() == words).count())
}

/// What takes rights of root, or of who has made a namespace for users, works for who has done so.
fn ordinary() -> Said<String> {
    let directory = tempfile::tempdir().map_err(when("a directory"))?;
    std::fs::write(directory.path().join("net.toml"), PAIR).map_err(when("a file"))?;
    let line = "exec ./kumiki live net.toml --pcap live.pcapng --control control --background server \
                --run server='setsid -f sleep 655; exec sleep 655' \
                --run client='setsid -f sleep 655; ./kumiki delay --send control \"line state down\"; id -u'";
    let output = output(as_nobody(directory.path(), line)?)?;
    if output.status.code() == Some(NOT_ROOT) {
        return Ok("nothing: this is not root outside of namespaces".to_owned());
    }
    let said = done(&output)?;
    holds(said == "65534", || said.clone())?;
    let left = left_of(b"sleep\x00655\x00")?;
    holds(left == 0, || format!("{left} are left"))?;
    holds(directory.path().join("live.pcapng").exists(), || "no capture".to_owned())?;
    Ok("nothing is left".to_owned())
}

/// A terminal at which Ctrl-C is typed at each line that comes: of the attached program nothing is left, and the other
/// one would go on for a while.
fn keys() -> Said<String> {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Ok(ABSENT.to_owned());
    }
    with_file(PAIR, |file| {
        let (itself, file) = (env!("CARGO_BIN_EXE_kumiki"), file.display());
        let server = "for i in 1 2 3 4 5; do echo $i; sleep 1; done";
        let line = format!("{itself} live {file} --attach client --run client=true --run server='{server}'");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut terminal = command.spawn().map_err(when("no terminal"))?;
        let mut typed = terminal.stdin.take().ok_or("nothing to type into")?;
        let mut shown = BufReader::new(terminal.stdout.take().ok_or("nothing is shown")?);
        let mut lines = String::new();
        while shown.read_line(&mut lines).map_err(when("what is shown"))? > 0 {
            // Whoever has ended hears nothing.
            let _ = typed.write_all(b"\x03");
        }
        let status = terminal.wait().map_err(when("the end"))?;
        holds(status.code() == Some(130), || format!("{status}: {lines}"))?;
        Ok(status.to_string())
    })
}

/// Serves a caller at `host` as soon as the address is there.
fn serve(host: &str) -> Said<()> {
    serve_once(&again(|| TcpListener::bind((host, PORT)))?)
}

/// Tries until it is there: who begins first is nobody's affair.
fn again<T>(mut act: impl FnMut() -> std::io::Result<T>) -> Said<T> {
    loop {
        match act() {
            Err(why) if matches!(why.kind(), ErrorKind::AddrNotAvailable | ErrorKind::ConnectionRefused) => {
                kumiki_watchdog::pause();
            }
            other => return other.map_err(when("not there")),
        }
    }
}

/// The program at a host.
pub(crate) fn program() -> ExitCode {
    kumiki_watchdog::minute();
    let host = std::env::var("KUMIKI_HOST").unwrap_or_default();
    let words: Vec<String> = std::env::args().skip(3).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let acted = match (host.as_str(), words.as_slice()) {
        (_, ["write"]) => write_and_end().map(|()| String::new()),
        (_, ["count", file]) => count(Path::new(file)).map(|()| String::new()),
        ("server" | "b", _) => serve("0.0.0.0").map(|()| String::new()),
        (_, server) => request(server.first().unwrap_or(&"server")),
    };
    match acted {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("{host}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Writes and ends, whatever has arrived.
fn write_and_end() -> Said<()> {
    let mut stream = again(|| TcpStream::connect(("server", PORT)))?;
    stream.write_all(&vec![7; ANSWER]).map_err(when("write"))
}

/// Leaves in the file how many octets a caller has sent, once that has ended in order.
fn count(file: &Path) -> Said<()> {
    let listener = again(|| TcpListener::bind(("0.0.0.0", PORT)))?;
    let (mut stream, _) = listener.accept().map_err(when("accept"))?;
    let mut octets = Vec::new();
    stream.read_to_end(&mut octets).map_err(when("read"))?;
    std::fs::write(file, octets.len().to_string()).map_err(when("a file"))
}

/// Asks the server for its answer. Says how long connecting took, and all of it, in us.
#[expect(clippy::disallowed_methods, reason = "what a user would see is measured; a lower bound alone is judged")]
fn request(server: &str) -> Said<String> {
    let mut addresses = (server, PORT).to_socket_addrs().map_err(when("the server's name"))?;
    let server: SocketAddr = addresses.next().ok_or("no address")?;
    let mut began = std::time::Instant::now();
    let mut stream = again(|| {
        began = std::time::Instant::now();
        TcpStream::connect(server)
    })?;
    let connected = began.elapsed().as_micros();
    stream.set_read_timeout(Some(TIMEOUT)).map_err(when("time-out"))?;
    stream.write_all(b"GET!").map_err(when("request"))?;
    let mut answer = vec![0; ANSWER];
    stream.read_exact(&mut answer).map_err(when("answer"))?;
    Ok(format!("{connected} {}", began.elapsed().as_micros()))
}
