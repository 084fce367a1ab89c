//! Over the loopback interface, with the standard library or a second device at the other end.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::atomic::Ordering;

use rustix::event::{PollFd, PollFlags, poll};

use super::*;

const HERE: &str = "127.0.0.1:0";

const fn handle(index: u32) -> Handle {
    Handle { index, generation: 9 }
}

fn device(config: SocketsConfig) -> Sockets {
    kumiki_watchdog::minute();
    Sockets::new(config).unwrap()
}

/// Whether something is there within so many milliseconds.
fn is_ready(device: &Sockets, ms: i64) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(device.descriptors().read.unwrap(), PollFlags::IN)];
    let at_most = Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
    poll(&mut polled, Some(&at_most)).unwrap() > 0
}

/// What the device says next.
fn next(device: &mut Sockets) -> Indication {
    kumiki_watchdog::minute();
    loop {
        match device.receive().unwrap() {
            Some(Arrival::Told(indication)) => return indication,
            Some(other) => panic!("{other:?}"),
            None => {
                is_ready(device, 1_000);
            }
        }
    }
}

fn ask(device: &mut Sockets, request: Request) {
    device.request(request).unwrap();
    device.flush().unwrap();
}

/// A device that listens, and where.
fn listening(config: SocketsConfig, backlog: u32) -> (Sockets, SocketAddr) {
    let mut device = device(config);
    let local = device.bind(HERE.parse().unwrap()).unwrap();
    let open = Open { user: handle(0), mode: Mode::Passive { backlog }, local: local.into(), ..Open::default() };
    ask(&mut device, Request::Open(Box::new(open)));
    let Indication::Opened(opened) = next(&mut device) else {
        panic!("it listens");
    };
    assert_eq!((opened.user, opened.local), (handle(0), local.into()));
    (device, local)
}

fn call(device: &mut Sockets, user: Handle, remote: SocketAddr) {
    let open = Open { user, remote: remote.into(), ..Open::default() };
    ask(device, Request::Open(Box::new(open)));
}

fn accept(device: &mut Sockets, user: Handle) -> Handle {
    let offered = next(device);
    let Indication::Offered(offered) = offered else {
        panic!("{offered:?}");
    };
    let session = offered.provider;
    let accept = Accept { session, user, ..Accept::default() };
    ask(device, Request::Accept(Box::new(accept)));
    assert!(matches!(next(device), Indication::Credit { session, .. } if session == user));
    session
}

fn send(device: &mut Sockets, session: Handle, octets: &[u8]) {
    let (data, end) = (Message::from_octets(octets), true);
    ask(device, Request::Data { session, data, end });
}

/// The octets of `user` that come, until there are so many; room that comes with them is passed over.
fn take(device: &mut Sockets, wanted: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < wanted {
        let said = next(device);
        if let Indication::Data { data, .. } = said {
            all.extend(data.to_vec());
        } else {
            assert!(matches!(said, Indication::Credit { .. }), "{said:?}");
        }
    }
    all
}

/// What is said next that is not room.
fn next_but_room(device: &mut Sockets) -> Indication {
    loop {
        let said = next(device);
        if !matches!(said, Indication::Credit { .. }) {
            return said;
        }
    }
}

#[test]
fn a_call_and_a_caller_talk_and_both_end_in_order() {
    let (mut called, at) = listening(SocketsConfig::default(), 4);
    let mut calling = device(SocketsConfig::default());
    call(&mut calling, handle(1), at);
    let there = accept(&mut called, handle(2));
    let Indication::Opened(opened) = next(&mut calling) else {
        panic!("it has answered");
    };
    assert_eq!((opened.user, opened.remote), (handle(1), at.into()));
    let here = opened.provider;
    send(&mut calling, here, b"question");
    assert_eq!(take(&mut called, 8), b"question");
    send(&mut called, there, b"answer");
    assert_eq!(take(&mut calling, 6), b"answer");
    let (session, data) = (here, None);
    ask(&mut calling, Request::Release { session, data });
    assert!(matches!(next_but_room(&mut called), Indication::Released { session, .. } if session == handle(2)));
    let (session, data) = (there, None);
    ask(&mut called, Request::Release { session, data });
    assert!(matches!(next_but_room(&mut called), Indication::Closed { session } if session == handle(2)));
    assert!(matches!(next_but_room(&mut calling), Indication::Released { .. }));
    assert!(matches!(next_but_room(&mut calling), Indication::Closed { session } if session == handle(1)));
    assert_eq!((calling.slots.len(), called.slots.len()), (0, 1));
    assert_eq!(calling.counters().called.load(Ordering::Relaxed), 1);
    assert_eq!(called.counters().accepted.load(Ordering::Relaxed), 1);
}

#[test]
fn what_is_released_is_written_first() {
    let (mut called, at) = listening(SocketsConfig::default(), 1);
    let mut peer = TcpStream::connect(at).unwrap();
    let session = accept(&mut called, handle(1));
    let octets = vec![7; 900_000];
    send(&mut called, session, &octets);
    let data = None;
    ask(&mut called, Request::Release { session, data });
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        all
    });
    assert!(matches!(next_but_room(&mut called), Indication::Released { .. }));
    assert!(matches!(next_but_room(&mut called), Indication::Closed { .. }));
    assert_eq!(reader.join().unwrap(), octets);
}

#[test]
fn no_more_is_read_than_was_granted_and_nothing_wakes_for_the_rest() {
    let config = SocketsConfig { receive_buffer: 1000, ..SocketsConfig::default() };
    let (mut called, at) = listening(config, 1);
    let mut peer = TcpStream::connect(at).unwrap();
    let session = accept(&mut called, handle(1));
    let sent: Vec<u8> = (0..=250).cycle().take(3500).collect();
    peer.write_all(&sent).unwrap();
    let mut got = take(&mut called, 1000);
    assert_eq!(got.len(), 1000);
    assert!(matches!(called.receive(), Ok(None)));
    assert!(!is_ready(&called, 50));
    let credit = Credit::octets(2000);
    ask(&mut called, Request::Credit { session, credit });
    got.extend(take(&mut called, 2000));
    // A peer that has gone is not heard of before the user wants to hear of it, and does not keep anybody awake either.
    let _ = sockopt::set_socket_linger(&peer, Some(std::time::Duration::ZERO));
    drop(peer);
    assert!(matches!(called.receive(), Ok(None)));
    assert!(!is_ready(&called, 50));
    let credit = Credit::octets(2000);
    ask(&mut called, Request::Credit { session, credit });
    got.extend(take(&mut called, 500));
    assert_eq!(got, sent);
    let reason = Reason::Reset;
    let ended = next_but_room(&mut called);
    assert!(matches!(ended, Indication::Aborted { reason: ref it, .. } if *it == reason), "{ended:?}");
    assert_eq!(called.slots.len(), 1);
}

#[test]
fn many_connections_at_once_lose_nothing_in_small_grants() {
    const EACH: usize = 200_000;
    const MANY: u32 = 20;
    let config = SocketsConfig { receive_buffer: 3000, ..SocketsConfig::default() };
    let (mut called, at) = listening(config, 3);
    let octets = |user: u32| (user.to_le_bytes().into_iter()).cycle().take(EACH);
    let peers = std::thread::spawn(move || {
        let many: Vec<_> = (0..MANY)
            .map(|user| {
                std::thread::spawn(move || {
                    let mut peer = TcpStream::connect(at).unwrap();
                    let octets: Vec<u8> = octets(user).collect();
                    peer.write_all(&octets).unwrap();
                    peer.shutdown(Shutdown::Write).unwrap();
                    let mut nothing = Vec::new();
                    peer.read_to_end(&mut nothing).unwrap();
                    assert_eq!(nothing, b"thanks");
                })
            })
            .collect();
        many.into_iter().for_each(|it| it.join().unwrap());
    });
    let mut sessions: Vec<(Handle, Vec<u8>)> = Vec::new();
    let (mut closed, mut thanked) = (0, Vec::new());
    while closed < MANY {
        match next(&mut called) {
            Indication::Offered(offered) => {
                let user = handle(u32::try_from(sessions.len()).unwrap());
                sessions.push((offered.provider, Vec::new()));
                let accept = Accept { session: offered.provider, user, ..Accept::default() };
                ask(&mut called, Request::Accept(Box::new(accept)));
            }
            Indication::Data { session, data, .. } => {
                let (provider, got) = &mut sessions[session.index as usize];
                got.extend(data.to_vec());
                let (session, credit) = (*provider, Credit::octets(data.len() as u64));
                ask(&mut called, Request::Credit { session, credit });
            }
            Indication::Released { session, .. } => {
                // Its own end has come, so nothing more can be written: that is what is left out.
                let (session, data) = (sessions[session.index as usize].0, None);
                ask(&mut called, Request::Release { session, data });
            }
            Indication::Closed { .. } => closed += 1,
            Indication::Credit { session, .. } => {
                let session = sessions[session.index as usize].0;
                if !thanked.contains(&session) {
                    thanked.push(session);
                    send(&mut called, session, b"thanks");
                }
            }
            other @ (Indication::Unit(_)
            | Indication::Opened(_)
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Aborted { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_)) => panic!("{other:?}"),
        }
    }
    peers.join().unwrap();
    let mut first: Vec<u32> = Vec::new();
    for (_, got) in &sessions {
        let user = u32::from_le_bytes(*got.first_chunk().unwrap());
        assert!(octets(user).eq(got.iter().copied()));
        first.push(user);
    }
    first.sort_unstable();
    assert!(first.into_iter().eq(0..MANY));
}

#[test]
fn a_call_that_nobody_takes_says_why() {
    let nobody = kumiki_watchdog::Port::new().unwrap();
    let mut calling = device(SocketsConfig::default());
    for (remote, wanted) in [(Address::from(nobody.at()), Reason::Refused), (Address::NONE, Reason::BadAddress)] {
        let open = Open { user: handle(3), remote, ..Open::default() };
        ask(&mut calling, Request::Open(Box::new(open)));
        let said = next(&mut calling);
        let Indication::Aborted { session, reason, .. } = said else {
            panic!("{said:?}");
        };
        assert_eq!(session, handle(3));
        assert_eq!(reason, wanted);
    }
    assert_eq!(calling.slots.len(), 0);
}

#[test]
fn a_call_that_was_given_up_is_not_heard_of_again() {
    let (mut called, at) = listening(SocketsConfig::default(), 1);
    let mut calling = device(SocketsConfig::default());
    call(&mut calling, handle(1), at);
    ask(&mut calling, Request::Cancel { user: handle(1) });
    assert!(matches!(calling.receive(), Ok(None)));
    assert_eq!(calling.slots.len(), 0);
    // The other end may have seen it: it is reset before or after it is accepted.
    if is_ready(&called, 50) {
        let session = accept(&mut called, handle(2));
        assert!(matches!(next_but_room(&mut called), Indication::Aborted { .. } | Indication::Released { .. }));
        ask(&mut called, Request::Abort { session, reason: Reason::User, data: None });
    }
    assert_eq!(called.slots.len(), 1);
}

#[test]
fn as_many_callers_are_offered_as_the_backlog_has_room_for() {
    let (mut called, at) = listening(SocketsConfig::default(), 1);
    let peers = [TcpStream::connect(at).unwrap(), TcpStream::connect(at).unwrap()];
    let Indication::Offered(first) = next(&mut called) else {
        panic!("one is offered");
    };
    assert!(matches!(called.receive(), Ok(None)));
    assert!(!is_ready(&called, 50));
    let (session, reason, data) = (first.provider, Reason::User, None);
    ask(&mut called, Request::Abort { session, reason, data });
    let second = next(&mut called);
    assert!(matches!(second, Indication::Offered(_)), "{second:?}");
    // The first one was refused: reset.
    let mut octet = [0];
    let read = (&peers[0]).read(&mut octet);
    assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn more_connections_than_may_be_wait_or_are_refused() {
    let config = SocketsConfig { most: 2, ..SocketsConfig::default() };
    let (mut called, at) = listening(config, 8);
    // The listener is one, so there is room for one more.
    let _peers = [TcpStream::connect(at).unwrap(), TcpStream::connect(at).unwrap()];
    let session = accept(&mut called, handle(1));
    assert!(matches!(called.receive(), Ok(None)));
    assert!(!is_ready(&called, 50));
    call(&mut called, handle(2), at);
    assert!(matches!(next(&mut called), Indication::Aborted { reason: Reason::NoResources, .. }));
    let (reason, data) = (Reason::User, None);
    ask(&mut called, Request::Abort { session, reason, data });
    assert!(matches!(next(&mut called), Indication::Offered(_)));
}

#[test]
fn a_port_that_somebody_has_is_refused_by_name() {
    let mut device = device(SocketsConfig::default());
    let taken = TcpListener::bind(HERE).unwrap();
    let at = taken.local_addr().unwrap();
    let why = device.bind(at).unwrap_err().to_string();
    assert!(why.contains(&at.to_string()), "{why}");
    assert!(why.contains("choose another port"), "{why}");
}

#[test]
fn who_comes_by_ipv4_to_a_listener_of_both_has_an_address_of_ipv4() {
    let mut device = device(SocketsConfig::default());
    let local = device.bind("[::]:0".parse().unwrap()).unwrap();
    let open = Open { user: handle(0), mode: Mode::Passive { backlog: 1 }, local: local.into(), ..Open::default() };
    ask(&mut device, Request::Open(Box::new(open)));
    assert!(matches!(next(&mut device), Indication::Opened(_)));
    let peer = TcpStream::connect(("127.0.0.1", local.port())).unwrap();
    let Indication::Offered(offered) = next(&mut device) else {
        panic!("one is offered");
    };
    assert_eq!(offered.remote, peer.local_addr().unwrap().into());
    assert_eq!(offered.local, peer.peer_addr().unwrap().into());
}

#[test]
fn an_answer_that_comes_too_late_hears_so() {
    let (mut called, at) = listening(SocketsConfig::default(), 1);
    let _peer = TcpStream::connect(at).unwrap();
    let Indication::Offered(offered) = next(&mut called) else {
        panic!("one is offered");
    };
    let (session, reason, data) = (offered.provider, Reason::User, None);
    ask(&mut called, Request::Abort { session, reason, data });
    let accept = Accept { session, user: handle(4), ..Accept::default() };
    ask(&mut called, Request::Accept(Box::new(accept)));
    let said = next(&mut called);
    assert!(matches!(said, Indication::Aborted { session, reason: Reason::NoSession, .. } if session == handle(4)));
}
