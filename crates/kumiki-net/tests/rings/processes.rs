//! Programs that are processes, and end in whatever way: one harms no other.

use std::io::{ErrorKind, Write as _, stdin};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use kumiki_net::rings::{Limits, RemoteStack};
use kumiki_net::{TcpListener, TcpStream, UdpSocket};
use kumiki_watchdog::process::Running;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::bench::{Server, octets, run};

/// What a program sends on a connection, and how much of it there is.
const SEED: u64 = 7;
const MUCH: usize = 1 << 20;

/// Where the test listens for programs, and where a program does.
const TEST: &str = "10.9.0.1:80";
const PROGRAM: &str = "10.9.0.1:90";

/// This program once more, as one that is attached.
#[test]
#[ignore = "a program of the other tests"]
fn program() {
    let Ok(path) = std::env::var("KUMIKI_RINGS") else {
        return;
    };
    let remote = RemoteStack::connect(path).unwrap();
    let role = std::env::var("KUMIKI_RINGS_ROLE").unwrap();
    run(remote.stack().scope(async {
        match role.as_str() {
            "steps" => steps().await,
            "steady" => steady().await,
            "transfer" => transfer().await,
            other => panic!("no such role: {other}"),
        }
    }));
}

fn start(server: &Server, role: &str) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "processes::program"]).stdin(Stdio::piped());
    Running::start(command.env("KUMIKI_RINGS", server.path()).env("KUMIKI_RINGS_ROLE", role))
}

/// Says what it has done, and goes on when it is told to.
fn step(what: &str) {
    println!("step {what}");
    stdin().read_line(&mut String::new()).unwrap();
}

const STEPS: [&str; 10] = [
    "attached",
    "listening",
    "called",
    "written",
    "stuffed",
    "half read",
    "half closed",
    "datagrams",
    "accepted",
    "all",
];

/// All that a program does, one after the other.
async fn steps() {
    step("attached");
    let listener = TcpListener::bind(PROGRAM).await.unwrap();
    step("listening");
    let mut called = TcpStream::connect(TEST).await.unwrap();
    step("called");
    called.write_all(b"a few").await.unwrap();
    step("written");
    // Nobody reads it: so much as there is room for.
    while called.try_write(&[7; 65_536]).is_ok() {}
    step("stuffed");
    called.read_exact(&mut [0; 10]).await.unwrap();
    step("half read");
    called.shutdown().await.unwrap();
    step("half closed");
    let socket = UdpSocket::bind("10.9.0.1:91").await.unwrap();
    socket.send_to(b"a datagram", "10.9.0.1:92").await.unwrap();
    step("datagrams");
    let own = TcpStream::connect(PROGRAM).await.unwrap();
    let accepted = listener.accept().await.unwrap();
    step("accepted");
    drop((own, accepted));
    step("all");
}

/// Sends without end to the one that listens at the test's address, and reads what that sends.
async fn transfer() {
    let (mut from, mut to) = TcpStream::connect(TEST).await.unwrap().into_split();
    let sent = octets(SEED, MUCH);
    println!("step begun");
    let sending = async { while to.write_all(&sent).await.is_ok() {} };
    let receiving = async { while from.read(&mut vec![0; 4096]).await.is_ok_and(|n| n > 0) {} };
    tokio::join!(sending, receiving);
}

/// Whether `read` is what follows after `at` octets of `all` over and over.
fn are_next(read: &[u8], all: &[u8], at: usize) -> bool {
    let here = &all[at % all.len()..];
    let (first, rest) = read.split_at(read.len().min(here.len()));
    here.starts_with(first) && all.starts_with(rest)
}

/// Sends to itself for ever, and looks at each octet. Whenever it is asked, it says how many more these were, once
/// there were some.
async fn steady() {
    static GOOD: AtomicU64 = AtomicU64::new(0);
    let listener = TcpListener::bind("10.9.0.1:70").await.unwrap();
    let (accepted, called) = tokio::join!(listener.accept(), TcpStream::connect("10.9.0.1:70"));
    for stream in [accepted.unwrap().0, called.unwrap()] {
        let (mut from, mut to) = stream.into_split();
        let sent = octets(SEED, MUCH);
        let expected = sent.clone();
        tokio::spawn(async move { while to.write_all(&sent).await.is_ok() {} });
        tokio::spawn(async move {
            let mut read = vec![0; 32_768];
            let mut at = 0;
            loop {
                let n = from.read(&mut read).await.unwrap();
                assert!(n > 0, "the connection has ended");
                assert!(are_next(&read[..n], &expected, at), "an octet is another after {at}");
                at += n;
                GOOD.fetch_add(n as u64, Ordering::Relaxed);
            }
        });
    }
    println!("step steady");
    let mut last = 0;
    loop {
        let asked = tokio::task::spawn_blocking(|| stdin().read_line(&mut String::new()).unwrap()).await.unwrap();
        if asked == 0 {
            return;
        }
        let good = loop {
            let good = GOOD.load(Ordering::Relaxed);
            if good > last {
                break good;
            }
            tokio::task::yield_now().await;
        };
        println!("step good {}", good - last);
        last = good;
    }
}

/// Lets a program go on.
fn go(program: &mut Running) {
    program.child().stdin.as_mut().unwrap().write_all(b"\n").unwrap();
}

/// It still transfers, and each octet was right.
fn is_good(steady: &mut Running) {
    go(steady);
    steady.wait_for("step good ");
}

#[test]
fn a_program_that_is_killed_at_any_step_harms_no_other() {
    let server = Server::start("steps", Limits::default());
    let own = server.connect();
    let mut steady = start(&server, "steady");
    steady.wait_for("step steady");
    let listener = run(own.stack().scope(TcpListener::bind(TEST))).unwrap();
    let before = server.stack.counts();
    for last in 0..STEPS.len() {
        let mut program = start(&server, "steps");
        let mut accepted = None;
        let mut waiting = None;
        for (n, name) in STEPS.iter().enumerate().take(last + 1) {
            program.wait_for(&format!("step {name}"));
            run(async {
                match *name {
                    "listening" => {
                        // Somebody whom it does not accept.
                        waiting = Some(own.stack().scope(TcpStream::connect(PROGRAM)).await.unwrap());
                    }
                    "called" => {
                        let (mut stream, _) = listener.accept().await.unwrap();
                        stream.write_all(&octets(SEED, 100_000)).await.unwrap();
                        accepted = Some(stream);
                    }
                    _ => {}
                }
            });
            if n < last {
                go(&mut program);
            }
        }
        program.kill();
        is_good(&mut steady);
        // Who reads before the stack knows of it makes room for all that was written, and has that to its end.
        server.wait_for_programs(before.programs);
        run(async {
            if let Some(mut waiting) = waiting {
                let end = waiting.read(&mut [0]).await;
                let is_ended =
                    matches!(&end, Ok(0)) || end.as_ref().is_err_and(|it| it.kind() == ErrorKind::ConnectionReset);
                assert!(is_ended, "{last}: {end:?}");
            }
            if let Some(mut accepted) = accepted {
                // It had not read all that we have sent.
                let mut read = Vec::new();
                let end = accepted.read_to_end(&mut read).await.unwrap_err();
                assert_eq!(end.kind(), ErrorKind::ConnectionReset, "{last}");
            }
            // Its address is free, and nothing of it is left.
            loop {
                match own.stack().scope(TcpListener::bind(PROGRAM)).await {
                    Ok(_) => break,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::AddrInUse),
                }
            }
        });
        kumiki_watchdog::until(|| server.stack.counts() == before);
    }
    is_good(&mut steady);
    steady.end().well();
}

#[test]
fn a_program_that_is_killed_in_the_middle_of_a_transfer_harms_no_other() {
    let server = Server::start("transfer", Limits::default());
    let own = server.connect();
    let mut steady = start(&server, "steady");
    steady.wait_for("step steady");
    let expected = octets(SEED, MUCH);
    let listener = run(own.stack().scope(TcpListener::bind(TEST))).unwrap();
    for n in 0..12_u64 {
        // Somewhere within the first three megabytes.
        let until = usize::try_from(u64::from_le_bytes(octets(n, 8).try_into().unwrap()) % (3 << 20)).unwrap();
        let program = start(&server, "transfer");
        run(async {
            let (stream, _) = listener.accept().await.unwrap();
            let (mut from, mut to) = stream.into_split();
            let sending = tokio::spawn(async move { while to.write_all(&[1; 4096]).await.is_ok() {} });
            let mut read = vec![0; 65_536];
            let mut at = 0;
            let mut program = Some(program);
            let end = loop {
                match from.read(&mut read).await {
                    Ok(0) => break None,
                    Ok(n) => {
                        assert!(are_next(&read[..n], &expected, at), "after {at}");
                        at += n;
                    }
                    Err(error) => break Some(error.kind()),
                }
                if at >= until
                    && let Some(program) = program.take()
                {
                    program.kill();
                }
            };
            assert!(at >= until && matches!(end, None | Some(ErrorKind::ConnectionReset)), "{at} {end:?}");
            sending.await.unwrap();
        });
        is_good(&mut steady);
    }
    steady.end().well();
}

#[test]
fn a_program_that_is_stopped_harms_no_other_and_goes_on() {
    let server = Server::start("stopped", Limits::default());
    let own = server.connect();
    let mut steady = start(&server, "steady");
    steady.wait_for("step steady");
    let listener = run(own.stack().scope(TcpListener::bind(TEST))).unwrap();
    let program = start(&server, "transfer");
    let expected = octets(SEED, MUCH);
    run(async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut at = 0;
        let mut read = vec![0; 65_536];
        for until in [100_000, 5 << 20, 10 << 20] {
            while at < until {
                let n = stream.read(&mut read).await.unwrap();
                assert!(n > 0 && are_next(&read[..n], &expected, at));
                at += n;
            }
            program.signal(Signal::STOP);
            // It takes nothing now, and what we write is held for it as far as there is room.
            for _ in 0..3 {
                while stream.try_write(&[1; 65_536]).is_ok() {}
                is_good(&mut steady);
            }
            program.signal(Signal::CONT);
        }
    });
    program.kill();
    steady.end().well();
}
