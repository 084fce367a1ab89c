//! `kumiki live`: programs at the hosts of a scenario, each with a kernel's TCP of its own.
//!
//! ```text
//! this program once more -- kumiki0 == hosts, lines, switches of the scenario == kumiki0 -- this program, a third time
//! ```
//!
//! What a program does is said by the name of its host.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};

use crate::delay::ABSENT;
use crate::host::{PATIENCE, PORT, Said, when};
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
    let all: [(&str, Run); 7] = [
        ("programs_meet_by_their_hosts_names", meet),
        ("the_first_status_that_is_not_0_counts", statuses),
        ("a_scenario_of_a_paper_carries_programs", router),
        ("a_gateway_leads_to_this_machine", gateway),
        ("an_interface_of_this_machine_is_a_host", interface),
        ("what_a_program_leaves_behind_ends_with_it", left_behind),
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

/// Connecting takes a round trip of the line, the answer its time on the line; both are lower bounds. What has crossed is told.
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
            holds(output.status.code() == Some(status) && said.is_empty(), || format!("{}: {said}", output.status))?;
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
    stream.set_read_timeout(Some(PATIENCE)).map_err(when("time-out"))?;
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

/// What ends without what it has started: a shell that waits for it and hears the signal; one whose other half does not hear it; one that is waited for.
fn left_behind() -> Said<String> {
    let deaf = "(trap '' TERM; : >deaf; exec sleep 654) & wait";
    let wait_for_it = "until [ -e deaf ]; do :; done";
    for (client, server) in [("true", "sleep 654 & wait"), (wait_for_it, deaf), ("sleep 654 & exit 0", "sleep 600")] {
        with_file(PAIR, |file| {
            let mut command = live(file, &[]);
            command.args(["--run", &format!("client={client}"), "--run", &format!("server={server}")]);
            command.args(["--background", "server"]);
            command.current_dir(file.parent().unwrap_or(file));
            done(&output(command)?)?;
            let processes = std::fs::read_dir("/proc").map_err(when("/proc"))?.flatten();
            let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
            let left = lines.filter(|line| line.as_slice() == b"sleep\x00654\x00").count();
            holds(left == 0, || format!("{server}: {left} are left"))
        })?;
    }
    Ok("nothing is left".to_owned())
}

/// A terminal at which Ctrl-C is typed at each line that comes: of the attached program nothing is left, and the other one would go on for a while.
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
                std::thread::yield_now();
            }
            other => return other.map_err(when("not there")),
        }
    }
}

/// The program at a host.
pub(crate) fn program() -> ExitCode {
    kumiki_watchdog::minute();
    let host = std::env::var("KUMIKI_HOST").unwrap_or_default();
    let server = std::env::args().nth(3);
    let acted = match (host.as_str(), server) {
        ("server" | "b", _) => serve("0.0.0.0").map(|()| String::new()),
        (_, server) => request(server.as_deref().unwrap_or("server")),
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
    stream.set_read_timeout(Some(PATIENCE)).map_err(when("time-out"))?;
    stream.write_all(b"GET!").map_err(when("request"))?;
    let mut answer = vec![0; ANSWER];
    stream.read_exact(&mut answer).map_err(when("answer"))?;
    Ok(format!("{connected} {}", began.elapsed().as_micros()))
}
