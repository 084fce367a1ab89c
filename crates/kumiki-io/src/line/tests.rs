use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};

use super::*;

/// A path that no other test of this run has.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("kumiki-line-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// Waits until something can be read, and takes it.
fn next(line: &mut Line) -> Arrival {
    kumiki_watchdog::minute();
    loop {
        if let Some(arrival) = line.receive().unwrap() {
            return arrival;
        }
        let Some(read) = line.descriptors().read else {
            // What has no descriptor is looked at every now and then.
            kumiki_watchdog::pause();
            continue;
        };
        let mut polled = [PollFd::from_borrowed_fd(read, PollFlags::IN)];
        poll(&mut polled, None).unwrap();
    }
}

/// So many octets that come.
fn octets(line: &mut Line, many: usize) -> Vec<u8> {
    let mut octets = Vec::new();
    while octets.len() < many {
        let Arrival::Unit { data: piece, .. } = next(line) else {
            panic!("the line has changed");
        };
        octets.extend(piece.to_vec());
    }
    octets
}

fn say(line: &mut Line, octets: &[u8]) -> Sent {
    let sent = line.send(&Message::from_octets(octets), Address::NONE).unwrap();
    line.flush().unwrap();
    sent
}

#[test]
fn lines_are_named_and_what_is_none_is_answered_with_what_would_be() {
    for text in [
        "tty:/dev/ttyS0",
        "tty:/dev/ttyS0,115200",
        "unix:/run/line",
        "listen:/run/line",
        "fd:3",
        "pty",
        "stdio",
        "exec:pppd notty, and more",
    ] {
        let opening: Opening = text.parse().unwrap();
        assert_eq!(opening.to_string(), text);
    }
    for (text, part) in [
        ("", "is no line"),
        ("modem", "is no line"),
        ("/dev/ttyS0", "tty:/dev/ttyS0"),
        ("tty:", "has no path"),
        ("tty:/dev/ttyS0,fast", "\"fast\" is no speed"),
        ("fd:x", "no descriptor's number"),
        ("exec:", "has no command"),
        ("pty:x", "is no line"),
    ] {
        let said = text.parse::<Opening>().unwrap_err();
        assert!(said.contains(part), "{text}: {said}");
        assert!(said.contains("tty:PATH"), "{said}");
    }
}

#[test]
fn a_listener_has_one_peer_after_the_other() {
    let path = path("listen");
    let mut line = Line::open(&Opening::Listen(path.clone()), false).unwrap();
    assert!(matches!(line.receive(), Ok(Some(Arrival::Down))));
    assert_eq!(say(&mut line, b"nobody"), Sent::Refused);
    for _ in 0..2 {
        let mut peer = UnixStream::connect(&path).unwrap();
        assert!(matches!(next(&mut line), Arrival::Up));
        peer.write_all(b"hello").unwrap();
        assert_eq!(octets(&mut line, 5), b"hello");
        assert_eq!(say(&mut line, b"welcome"), Sent::Taken);
        let mut said = [0; 7];
        peer.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"welcome");
        // What came before the end is not lost with it.
        peer.write_all(b"bye").unwrap();
        drop(peer);
        assert_eq!(octets(&mut line, 3), b"bye");
        assert!(matches!(next(&mut line), Arrival::Down));
    }
    let error = Line::open(&Opening::Listen(path.clone()), false);
    assert!(error.unwrap_err().to_string().contains("another program listens"));
    drop(line);
    assert!(!path.exists());
}

#[test]
fn only_a_socket_that_nobody_has_makes_room_for_another() {
    let path = path("room");
    let error = || listen_at(&path).unwrap_err().to_string();
    // One of another kind is somebody's as well, and is left in its place.
    let datagrams = UnixDatagram::bind(&path).unwrap();
    assert!(error().contains("another program listens"), "{}", error());
    let peer = UnixDatagram::unbound().unwrap();
    peer.connect(&path).unwrap();
    drop(datagrams);
    drop(listen_at(&path).unwrap());
    let listener = listen_at(&path).unwrap();
    assert!(error().contains("another program listens"), "{}", error());
    drop(listener);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "text").unwrap();
    assert!(error().contains("no socket"), "{}", error());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_peer_that_is_not_there_yet_is_an_error_or_waited_for() {
    let path = path("connect");
    let opening = Opening::Connect(path.clone());
    let error = Line::open(&opening, false).unwrap_err().to_string();
    assert!(error.contains("Start the peer first"), "{error}");
    let mut line = Line::open(&opening, true).unwrap();
    assert!(matches!(line.receive(), Ok(Some(Arrival::Down))));
    let listener = UnixListener::bind(&path).unwrap();
    assert!(matches!(next(&mut line), Arrival::Up));
    drop(listener.accept().unwrap());
    assert!(matches!(next(&mut line), Arrival::Down));
    assert!(matches!(next(&mut line), Arrival::Up));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn what_finds_no_room_is_kept_and_written_in_order() {
    let path = path("partial");
    let mut line = Line::open(&Opening::Listen(path.clone()), false).unwrap();
    let mut peer = UnixStream::connect(&path).unwrap();
    while !matches!(next(&mut line), Arrival::Up) {}
    let frame: Vec<u8> = (0..=250).cycle().take(3000).collect();
    let mut taken = 0;
    while say(&mut line, &frame) == Sent::Taken {
        taken += 1;
    }
    assert!(line.flush().unwrap(), "the peer has not read yet");
    let mut all = vec![0; taken * frame.len()];
    std::thread::scope(|scope| {
        scope.spawn(|| peer.read_exact(&mut all).unwrap());
        while line.flush().unwrap() {
            let write = line.descriptors().write.unwrap();
            poll(&mut [PollFd::from_borrowed_fd(write, PollFlags::OUT)], None).unwrap();
        }
    });
    assert!(all.chunks(frame.len()).all(|chunk| chunk == frame));
}

#[test]
fn a_pseudo_terminal_is_raw_and_may_be_left_and_taken_again() {
    let mut line = Line::open(&Opening::Pty, false).unwrap();
    assert!(matches!(line.receive(), Ok(Some(Arrival::Down))));
    let name = line.terminal().unwrap().to_owned();
    for _ in 0..2 {
        let mut far = Line::open(&format!("tty:{name}").parse().unwrap(), false).unwrap();
        assert!(matches!(next(&mut far), Arrival::Up));
        assert!(matches!(next(&mut line), Arrival::Up));
        // Nothing is echoed, and no octet means anything.
        let all: Vec<u8> = (0..=255).collect();
        say(&mut far, &all);
        assert_eq!(octets(&mut line, 256), all);
        say(&mut line, &all);
        assert_eq!(octets(&mut far, 256), all);
        drop(far);
        assert!(matches!(next(&mut line), Arrival::Down));
    }
}

#[test]
fn a_program_has_the_line_as_its_standard_streams() {
    for command in ["exec:cat", "exec:cat <&{fd} >&{fd}"] {
        let mut line = Line::open(&command.parse().unwrap(), false).unwrap();
        assert!(matches!(next(&mut line), Arrival::Up));
        say(&mut line, b"there and back");
        assert_eq!(octets(&mut line, 14), b"there and back");
    }
    let mut line = Line::open(&"exec:exit 3".parse().unwrap(), true).unwrap();
    // It is started again after it has ended.
    for _ in 0..2 {
        assert!(matches!(next(&mut line), Arrival::Up));
        assert!(matches!(next(&mut line), Arrival::Down));
    }
}

#[test]
fn a_descriptor_is_used_once_and_left_as_it_was() {
    let (ours, mut far) = UnixStream::pair().unwrap();
    let opening = Opening::Descriptor(ours.as_raw_fd());
    let mut line = Line::open(&opening, true).unwrap();
    assert!(matches!(next(&mut line), Arrival::Up));
    far.write_all(b"x").unwrap();
    assert_eq!(octets(&mut line, 1), b"x");
    drop(far);
    assert!(matches!(next(&mut line), Arrival::Down));
    assert!(line.receive().unwrap().is_none());
    drop(line);
    let flags = rustix::fs::fcntl_getfl(&ours).unwrap();
    assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
    let error = Line::open(&Opening::Descriptor(9999), false).unwrap_err();
    assert!(error.to_string().contains("no such descriptor"), "{error}");
    let file = std::fs::File::open("/dev/null").unwrap();
    let error = Line::open(&"tty:/dev/null".parse().unwrap(), false).unwrap_err();
    assert!(error.to_string().contains("is no terminal"), "{error}");
    drop(file);
}
