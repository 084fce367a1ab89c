//! Programs that are not ours.

#![expect(clippy::cast_possible_truncation, reason = "small numbers, drawn at random")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a stranger hears what he wants")]

use core::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kumiki_graph::{Handle, Quality, Reason, Rng};
use kumiki_io::shared::ring::{MOST_FIELDS, Memory as _, Record};
use kumiki_io::shared::{Receiver, Region, Sender};
use kumiki_octets::Message;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::greeted;
use super::primitives::{Answer, Command, Datagram, Fields, Response};
use super::*;
use crate::sockets::Terms;
use bench::{Server, octets, run};

#[path = "../../tests/rings/bench.rs"]
mod bench;

/// One that has come by itself, and has the memory in its hands.
struct Stranger {
    socket: UnixStream,
    region: Arc<Region>,
    commands: Sender<Region>,
    responses: Receiver<Region>,
    rng: Rng,
    /// Handles that it has heard of.
    heard: Vec<Handle>,
    numbers: Vec<u64>,
}

impl Stranger {
    fn come(server: &Server, seed: u64) -> Self {
        let socket = UnixStream::connect(server.path()).unwrap();
        let (hello, region) = greeted(&socket).unwrap();
        socket.set_nonblocking(true).unwrap();
        let region = Arc::new(region);
        let commands = Sender::new(Arc::clone(&region), 0, hello.capacity);
        let responses = Receiver::new(Arc::clone(&region), responses_at(hello.capacity), hello.capacity);
        Self {
            socket,
            region,
            commands,
            responses,
            rng: Rng::new(seed, 0),
            heard: vec![Handle::default()],
            numbers: vec![0],
        }
    }

    fn ring(&self) {
        let _ = std::io::Write::write(&mut &self.socket, &[0]);
    }

    fn say(&mut self, command: &Command) {
        let mut fields = Fields::new();
        let (kind, data) = command.put(&mut fields);
        let _ = self.commands.send(&Record { kind, fields: &fields, data });
        self.ring();
    }

    /// Whether it has been cut off.
    fn is_cut_off(&self) -> bool {
        matches!(std::io::Read::read(&mut &self.socket, &mut [0; 64]), Ok(0))
    }

    /// Waits for that.
    fn must_be_cut_off(&self) {
        kumiki_watchdog::until(|| self.is_cut_off());
    }

    fn below(&mut self, n: u64) -> u64 {
        self.rng.below(n)
    }

    fn handle(&mut self) -> Handle {
        let known = self.heard.len() as u64;
        let place = self.below(known + 1);
        let any =
            Handle { index: self.below(4) as u32 | (self.below(2) as u32) << 31, generation: self.below(3) as u32 };
        self.heard.get(place as usize).copied().unwrap_or(any)
    }

    fn address(&mut self) -> SocketAddr {
        let all = [
            "10.9.0.1:70",
            "10.9.0.1:80",
            "0.0.0.0:0",
            "10.9.0.1:0",
            "[fd00::1]:80",
            "224.0.0.1:9",
            "255.255.255.255:9",
            "127.0.0.1:80",
            "10.9.0.9:7",
        ];
        let place = self.below(all.len() as u64 + 1) as usize;
        all.get(place)
            .map_or_else(|| SocketAddr::new([10, 9, 0, 1].into(), self.below(200) as u16), |it| it.parse().unwrap())
    }

    /// A command such as programs say, of what may or may not be there.
    fn command(&mut self) -> Command {
        let (session, user, question) = (self.handle(), self.handle(), self.below(9));
        let data = Message::from_octets(&octets(question, self.below(3000) as usize));
        let (layer, local, remote) = (self.below(5) as u8, self.address(), self.address());
        let quality = Quality {
            receive_buffer: Some(self.below(1 << 32) as u32),
            special: self.below(u64::MAX),
            ..Quality::default()
        };
        let place = self.rng.below(self.numbers.len() as u64) as usize;
        let number = self.numbers[place];
        match self.below(18) {
            0 => Command::Open { layer, user, backlog: Some(4), local: Some(local), remote: None, quality },
            1 => Command::Open { layer, user, backlog: None, local: None, remote: Some(remote), quality },
            2 => Command::Open { layer, user, backlog: None, local: Some(local), remote: Some(remote), quality },
            3 => Command::Cancel { layer, user },
            4 => Command::Accept { session, user, quality },
            5 => Command::Data { session, data },
            6 => Command::Credit { session, octets: self.below(2000) },
            7 => Command::Release { session },
            8 => Command::Abort { session },
            9 => Command::Change { session, quality },
            10 => Command::Peer { session, remote: Some(remote) },
            11 => Command::Group { layer, group: local.ip(), is_member: self.below(2) == 0 },
            12 => {
                let unit = Datagram {
                    session: Some(session),
                    source: local,
                    destination: remote,
                    special: self.below(u64::MAX),
                    data,
                };
                Command::Unit { layer, unit }
            }
            13 | 14 => {
                let terms =
                    Terms { reuse_address: self.below(2) == 0, reuse_port: self.below(2) == 0, ..Terms::default() };
                Command::Take { question, is_udp: self.below(2) == 0, local, terms }
            }
            15 => Command::Listen { question, number },
            16 => Command::Give { number },
            _ => Command::Lookup { question, name: data },
        }
    }

    /// Hears what it is told, so that it knows more to ask for.
    fn hear(&mut self) {
        while let Ok(Some(record)) = self.responses.receive() {
            match Response::of(record).unwrap() {
                Response::Opened { provider, .. } | Response::Offered { provider, .. } => self.heard.push(provider),
                Response::Answer { answer: Answer::Taken { number, .. }, .. } => self.numbers.push(number),
                _ => {}
            }
        }
        let _ = self.responses.sleep();
    }

    /// Does something, for better or worse.
    fn act(&mut self, worst: u64) {
        match self.below(worst) {
            0..8 => {
                let command = self.command();
                self.say(&command);
            }
            8 | 9 => self.hear(),
            10 => {
                let fields: Vec<u64> = (0..self.below(MOST_FIELDS as u64)).map(|_| self.below(u64::MAX)).collect();
                let record = Record { kind: self.below(20) as u8, fields: &fields, data: None };
                let _ = self.commands.send(&record);
            }
            11 => {
                let _ = std::io::Write::write(&mut &self.socket, &[7; 300]);
            }
            12 => {
                let flags = [16, 24, CONTROL + 16, CONTROL + 24];
                let words = self.region.words();
                words[flags[self.rng.below(4) as usize]].store(self.rng.below(3), Ordering::Relaxed);
            }
            _ => {
                // Where something is, near the beginning, so that it is hit.
                let words = self.region.words();
                let near = [0, 8, responses_at((words.len() / 2) - CONTROL), self.rng.below(200) as usize];
                let place = near[self.rng.below(4) as usize];
                let value = [self.rng.below(u64::MAX), self.rng.below(500), words[place].load(Ordering::Relaxed) + 1];
                words[place].store(value[self.rng.below(3) as usize], Ordering::Relaxed);
            }
        }
        self.ring();
    }
}

/// A program of ours sends to itself, while strangers come and go; returns when it has moved so much.
async fn transfer(remote: &RemoteStack, rounds: usize, mut meanwhile: impl FnMut(usize)) {
    let listener = remote.stack().scope(crate::TcpListener::bind("10.9.0.1:70")).await.unwrap();
    let (accepted, called) =
        tokio::join!(listener.accept(), remote.stack().scope(crate::TcpStream::connect("10.9.0.1:70")));
    let (mut accepted, mut called) = (accepted.unwrap().0, called.unwrap());
    let sent = octets(1, 100_000);
    let mut read = vec![0; sent.len()];
    for round in 0..rounds {
        meanwhile(round);
        let (wrote, got) = tokio::join!(called.write_all(&sent), accepted.read_exact(&mut read));
        wrote.unwrap();
        got.unwrap();
        assert!(read == sent);
    }
}

#[test]
fn a_stranger_who_does_what_he_likes_harms_nobody() {
    let server = Server::start("strangers", Limits::default());
    let own = server.connect();
    let (mut acts, mut came, mut cut_off) = (0, 0, 0);
    run(transfer(&own, 150, |round| {
        // How long one lasts is for the server's thread to say; that they do something is ours.
        while acts < 75 * (round + 1) {
            let mut stranger = Stranger::come(&server, came);
            // Some keep to what programs say, and so get further.
            let worst = if came % 3 == 0 { 10 } else { 14 };
            came += 1;
            for _ in 0..300 {
                stranger.act(worst);
                acts += 1;
                if stranger.is_cut_off() {
                    cut_off += 1;
                    break;
                }
            }
        }
    }));
    assert!(cut_off > 30, "{came} strangers, of whom {cut_off} were cut off");
    drop(own);
    server.wait_for_programs(0);
    assert_eq!((server.stack.counts().listeners, server.stack.counts().udp), (0, 0));
    // Nothing that they had is taken any more.
    let own = server.connect();
    run(own.stack().scope(async {
        for port in 1..200 {
            crate::TcpListener::bind(("10.9.0.1".parse::<IpAddr>().unwrap(), port)).await.unwrap();
            crate::UdpSocket::bind(("10.9.0.1".parse::<IpAddr>().unwrap(), port)).await.unwrap();
        }
    }));
}

#[test]
fn who_never_hears_holds_a_bounded_memory() {
    let limits = Limits { memory: 1 << 20, ..Limits::default() };
    let server = Server::start("deaf", limits);
    let own = server.connect();
    let mut deaf = Stranger::come(&server, 1);
    // Connections to one of ours, which sends without end to each.
    run(own.stack().scope(async {
        let listener = crate::TcpListener::bind("10.9.0.1:80").await.unwrap();
        for n in 1..=60 {
            let quality = Quality { receive_buffer: Some(1 << 20), ..Quality::default() };
            let user = Handle { index: n, generation: 1 };
            let remote = Some("10.9.0.1:80".parse().unwrap());
            deaf.say(&Command::Open { layer: 0, user, backlog: None, local: None, remote, quality });
        }
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..60 {
            let (mut stream, _) = listener.accept().await.unwrap();
            // Two megabytes for each: more than may wait for it, in its ring and outside.
            all.spawn(async move { stream.write_all(&vec![7; 2 << 20]).await.map_err(|it| it.kind()) });
        }
        let mut resets = 0;
        while resets == 0 {
            // Those that are not reset wait for room for ever.
            resets += usize::from(all.join_next().await.unwrap().unwrap() == Err(std::io::ErrorKind::ConnectionReset));
        }
        let held = server.stack.0.lock().guest_memory();
        assert!(held <= (1 << 20) + 100_000, "{held}");
    }));
    // And who asks without end and never hears is not heard.
    for question in 0..200_000 {
        deaf.say(&Command::Settle { question });
    }
    run(transfer(&own, 3, |_| {}));
    let held = server.stack.0.lock().guest_memory();
    assert!(held <= (1 << 20) + 500_000, "{held}");
}

#[test]
fn who_says_what_no_program_says_is_cut_off() {
    let server = Server::start("wrong", Limits::default());
    let own = server.connect();
    let listener = run(own.stack().scope(crate::TcpListener::bind("10.9.0.1:80"))).unwrap();
    let user = Handle { index: 1, generation: 1 };
    let connected = || {
        let mut stranger = Stranger::come(&server, 1);
        let remote = Some("10.9.0.1:80".parse().unwrap());
        stranger.say(&Command::Open {
            layer: 0,
            user,
            backlog: None,
            local: None,
            remote,
            quality: Quality::default(),
        });
        let accepted = run(async { listener.accept().await.unwrap().0 });
        while stranger.heard.len() < 2 {
            stranger.hear();
        }
        let session = stranger.heard[1];
        (stranger, session, accepted)
    };
    let wrong = |command: &dyn Fn(Handle) -> Vec<Command>| {
        let (mut stranger, session, _accepted) = connected();
        command(session).iter().for_each(|it| stranger.say(it));
        stranger.must_be_cut_off();
    };
    let much = Message::from_octets(&[7; 200_000]);
    let data = |session| Command::Data { session, data: much.clone() };
    wrong(&|session| vec![data(session); 100]);
    wrong(&|session| vec![Command::Credit { session, octets: 1 }]);
    wrong(&|session| vec![Command::Release { session }, Command::Data { session, data: Message::from_octets(b"x") }]);
    wrong(&|_| {
        let opened = |user| Command::Open {
            layer: 0,
            user,
            backlog: None,
            local: None,
            remote: Some("10.9.0.1:80".parse().unwrap()),
            quality: Quality::default(),
        };
        vec![opened(user), opened(user)]
    });
    // And who breaks the ring; what it said before has been heard.
    let (stranger, ..) = connected();
    stranger.region.words()[8].store(u64::MAX, Ordering::Relaxed);
    stranger.ring();
    stranger.must_be_cut_off();
}

#[test]
fn what_is_anothers_is_out_of_reach() {
    let server = Server::start("reach", Limits::default());
    let own = server.connect();
    run(own.stack().scope(async {
        let listener = crate::TcpListener::bind("10.9.0.1:80").await.unwrap();
        let socket = crate::UdpSocket::bind("10.9.0.1:53").await.unwrap();
        let (mut accepted, mut called) = {
            let (accepted, called) = tokio::join!(listener.accept(), crate::TcpStream::connect("10.9.0.1:80"));
            (accepted.unwrap().0, called.unwrap())
        };
        let mut stranger = Stranger::come(&server, 1);
        for index in 0..20 {
            for generation in 0..4 {
                let session = Handle { index: index | 1 << 31, generation };
                for command in [
                    Command::Abort { session },
                    Command::Release { session },
                    Command::Data { session, data: Message::from_octets(b"forged") },
                    Command::Credit { session, octets: 1 << 40 },
                    Command::Peer { session, remote: Some("10.9.0.1:1".parse().unwrap()) },
                ] {
                    stranger.say(&command);
                }
            }
        }
        // A listener and a socket at addresses that it has not taken, and a datagram from one.
        let at = |port| Some(SocketAddr::new([10, 9, 0, 1].into(), port));
        for (layer, port) in [(0, 80), (0, 81), (1, 53), (1, 54)] {
            let user = Handle { index: 100 + u32::from(port), generation: 1 };
            let quality = Quality::default();
            stranger.say(&Command::Open { layer, user, backlog: Some(0), local: at(port), remote: None, quality });
        }
        let data = Message::from_octets(b"forged");
        let unit = Datagram { session: None, source: at(53).unwrap(), destination: at(53).unwrap(), special: 0, data };
        stranger.say(&Command::Unit { layer: 1, unit });
        stranger.say(&Command::Give { number: 1 });
        stranger.say(&Command::Settle { question: 77 });
        let mut refused = 0;
        let mut is_heard = false;
        while !is_heard {
            if let Ok(Some(record)) = stranger.responses.receive() {
                match Response::of(record).unwrap() {
                    Response::Aborted { reason: Reason::BadAddress, .. } => refused += 1,
                    Response::Answer { question: 77, .. } => is_heard = true,
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(refused, 4);
        called.write_all(b"still here").await.unwrap();
        called.shutdown().await.unwrap();
        let mut read = String::new();
        accepted.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "still here");
        assert!(socket.try_recv(&mut [0; 10]).is_err());
        assert!(!stranger.is_cut_off(), "what may only have come too late is nothing");
    }));
}

proptest! {
    /// Whatever a record says, it is understood or refused; and what is understood is said so again.
    #[test]
    fn commands_and_responses_are_read_as_they_were_written(
        kind in 0..20_u8,
        small in prop::collection::vec(prop_oneof![0..8_u64, any::<u64>(), Just(4 << 32 | 80), Just(6 << 32 | 80)], 0..MOST_FIELDS),
        octets in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let memory: Arc<Box<[core::sync::atomic::AtomicU64]>> = Arc::new((0..CONTROL + 256).map(|_| 0.into()).collect());
        let mut sender = Sender::new(Arc::clone(&memory), 0, 256);
        let mut receiver = Receiver::new(memory, 0, 256);
        let data = Message::from_octets(&octets);
        let mut through = |record: &Record<'_>| {
            assert!(sender.send(record).unwrap());
            receiver.receive().unwrap().unwrap()
        };
        for is_command in [true, false] {
            let first = through(&Record { kind, fields: &small, data: Some(&data) });
            let put = |fields: &mut Fields, received| {
                if is_command {
                    let command = Command::of(received)?;
                    let shown = format!("{command:?}");
                    let (kind, data) = command.put(fields);
                    Some((shown, kind, data.cloned()))
                } else {
                    let response = Response::of(received)?;
                    let shown = format!("{response:?}");
                    let (kind, data) = response.put(fields);
                    Some((shown, kind, data.cloned()))
                }
            };
            let mut fields = Fields::new();
            if let Some((shown, kind, data)) = put(&mut fields, first)
                && fields.len() <= MOST_FIELDS
            {
                let again = through(&Record { kind, fields: &fields, data: data.as_ref() });
                prop_assert_eq!(put(&mut Fields::new(), again).unwrap().0, shown);
            }
        }
    }
}
