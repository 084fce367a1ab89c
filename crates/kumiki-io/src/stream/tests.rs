//! Over pairs of Unix sockets, with the standard library at the other end.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use kumiki_octets::Pattern;

use super::*;

fn pair() -> (Stream, UnixStream) {
    kumiki_watchdog::minute();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut stream = Stream::new(ours).unwrap();
    assert!(matches!(stream.receive(), Ok(Some(Arrival::Up))));
    let Ok(Some(Arrival::Room(room))) = stream.receive() else {
        panic!("it says first how much room there is");
    };
    assert_eq!(room, HELD as u64);
    stream.grant(20_000);
    (stream, theirs)
}

fn headed(header: &[u8], content: &[u8]) -> Message {
    let mut message = Message::from_page(Page::from(content));
    message.push_octets(header);
    message
}

/// A message's first octet, by where in the stream it begins.
fn first(at: usize) -> u8 {
    u8::try_from(at % 251).unwrap()
}

#[test]
fn what_is_sent_together_arrives_in_order() {
    let (mut stream, mut theirs) = pair();
    let pattern = Pattern::Ttcp { write_len: 0 };
    for message in
        [headed(b"head", &[7; 5000]), Message::new(), Message::generated(pattern, 3, 300), headed(b"", b"tail")]
    {
        assert_eq!(stream.send(&message, Address::NONE).unwrap(), Sent::Taken);
    }
    assert!(!stream.flush().unwrap());
    drop(stream);
    let mut all = Vec::new();
    theirs.read_to_end(&mut all).unwrap();
    let mut generated = [0; 300];
    pattern.fill(3, &mut generated);
    assert_eq!(all, [b"head", &[7; 5000][..], &generated, b"tail"].concat());
}

#[test]
fn room_comes_back_as_the_peer_reads_and_no_octet_is_lost() {
    let (mut stream, mut theirs) = pair();
    let mut sent = 0_usize;
    let mut room = HELD;
    let mut got = Vec::new();
    let mut buffer = vec![0; 100_000];
    let total = 5_000_000;
    while got.len() < total {
        while room >= 9001 && sent < total {
            let from = first(sent);
            let message = headed(&[from], &[from.wrapping_add(1); 9000]);
            assert_eq!(stream.send(&message, Address::NONE).unwrap(), Sent::Taken);
            sent += 9001;
            room -= 9001;
        }
        stream.flush().unwrap();
        let read = theirs.read(&mut buffer).unwrap();
        got.extend_from_slice(&buffer[..read]);
        if let Some(Arrival::Room(more)) = stream.receive().unwrap() {
            room += usize::try_from(more).unwrap();
        }
    }
    for (at, piece) in got.chunks(9001).enumerate() {
        let from = first(at * 9001);
        assert_eq!(piece[0], from);
        assert!(piece[1..].iter().all(|octet| *octet == from.wrapping_add(1)));
    }
}

#[test]
fn what_waits_takes_its_octets_however_short_the_messages_are() {
    const MOST: usize = 1024 * 1024;
    let (stream, mut theirs) = pair();
    let mut stream = stream.holding(MOST);
    let mut sent: usize = 0;
    while stream.held() < MOST {
        assert_eq!(stream.send(&headed(b"", &[first(sent)]), Address::NONE).unwrap(), Sent::Taken);
        sent += 1;
        assert!(stream.waiting.len() <= sent / (PIECE - SHORT), "{} of {sent}", stream.waiting.len());
        assert!(stream.tail.capacity() <= PIECE);
    }
    assert_eq!(stream.send(&headed(b"", &[0]), Address::NONE).unwrap(), Sent::Full);
    let mut got = Vec::new();
    let mut buffer = vec![0; 100_000];
    while got.len() < sent {
        let read = theirs.read(&mut buffer).unwrap();
        got.extend_from_slice(&buffer[..read]);
        stream.flush().unwrap();
    }
    assert!(got.iter().enumerate().all(|(at, octet)| *octet == first(at)));
    assert!(stream.tail.capacity() <= SHORT);
}

/// Short and long ones in any order, with writes that end anywhere in them.
#[test]
fn short_messages_keep_their_places_between_long_ones() {
    let (stream, mut theirs) = pair();
    let mut stream = stream.holding(40_000);
    let lengths = [1, 0, 1023, 1024, 7, 30_000, 2, 1025, 900, 900, 3];
    let (mut sent, mut got) = (0_usize, Vec::new());
    let mut buffer = vec![0; 33_333];
    for turn in 0..3000 {
        let len = lengths[turn % lengths.len()];
        let octets: Vec<u8> = (sent..sent + len).map(first).collect();
        while stream.send(&headed(b"", &octets), Address::NONE).unwrap() == Sent::Full {
            let read = theirs.read(&mut buffer).unwrap();
            got.extend_from_slice(&buffer[..read]);
        }
        sent += len;
        assert!(stream.held() < 70_000);
    }
    while got.len() < sent {
        stream.flush().unwrap();
        let read = theirs.read(&mut buffer).unwrap();
        got.extend_from_slice(&buffer[..read]);
    }
    assert!(got.iter().enumerate().all(|(at, octet)| *octet == first(at)));
}

#[test]
fn what_came_before_the_end_of_file_is_read_first() {
    let (mut stream, mut theirs) = pair();
    theirs.write_all(b"last words").unwrap();
    theirs.shutdown(Shutdown::Both).unwrap();
    let message = headed(b"", b"to nobody");
    stream.send(&message, Address::NONE).unwrap();
    assert!(!stream.flush().unwrap(), "nothing waits for a peer that is gone");
    let Ok(Some(Arrival::Unit { data, .. })) = stream.receive() else {
        panic!("octets first");
    };
    assert_eq!(data.to_vec(), b"last words");
    assert!(matches!(stream.receive(), Ok(Some(Arrival::Down))));
    assert!(matches!(stream.receive(), Ok(None)));
    assert_eq!(stream.send(&message, Address::NONE).unwrap(), Sent::Refused);
    assert!(stream.descriptors().read.is_none(), "nothing to wait for any more");
}

#[test]
fn a_quiet_peer_is_waited_for() {
    let (mut stream, mut theirs) = pair();
    assert!(matches!(stream.receive(), Ok(None)));
    theirs.write_all(&[1; 10_000]).unwrap();
    let Ok(Some(Arrival::Unit { data, .. })) = stream.receive() else {
        panic!("octets");
    };
    assert_eq!(data.len(), 10_000);
}

#[test]
fn no_more_is_read_than_was_granted() {
    let (mut stream, mut theirs) = pair();
    theirs.write_all(&[1; 25_000]).unwrap();
    let Ok(Some(Arrival::Unit { data, .. })) = stream.receive() else {
        panic!("octets");
    };
    assert_eq!(data.len(), 20_000);
    assert!(matches!(stream.receive(), Ok(None)));
    assert!(stream.descriptors().read.is_none(), "waiting for it would be no wait");
    stream.grant(10_000);
    let Ok(Some(Arrival::Unit { data, .. })) = stream.receive() else {
        panic!("octets");
    };
    assert_eq!(data.len(), 5_000);
}

#[test]
fn who_sends_to_a_peer_that_is_gone_is_not_kept_waiting_for_room() {
    kumiki_watchdog::minute();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut stream = Stream::new(ours).unwrap();
    // Nothing may be read, so the end of the stream cannot be heard of.
    for _ in 0..2 {
        stream.receive().unwrap();
    }
    drop(theirs);
    for _ in 0..3 {
        let message = headed(b"head", &[7; 5000]);
        stream.send(&message, Address::NONE).unwrap();
        assert!(!stream.flush().unwrap());
        assert!(stream.descriptors().read.is_some());
        let Ok(Some(Arrival::Room(room))) = stream.receive() else {
            panic!("what is lost takes no room");
        };
        assert_eq!(room, 5004);
        assert!(stream.descriptors().read.is_none());
    }
    stream.grant(1);
    assert!(matches!(stream.receive(), Ok(Some(Arrival::Down))));
}

/// Linux delays acknowledgments once it has seen that data goes both ways; `TCP_QUICKACK` says whether it does.
#[test]
fn what_was_read_is_acknowledged_at_once() {
    kumiki_watchdog::minute();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (ours, _) = listener.accept().unwrap();
    let mut stream = Stream::new(ours).unwrap();
    stream.grant(1 << 20);
    for _ in 0..40 {
        peer.write_all(b"ask").unwrap();
        let mut got = 0;
        while got < 3 {
            match stream.receive().unwrap() {
                Some(Arrival::Unit { data, .. }) => got += data.len(),
                Some(_) => {}
                None => kumiki_watchdog::pause(),
            }
        }
        assert!(rustix::net::sockopt::tcp_quickack(&stream.socket).unwrap());
        // What is answered turns the kernel to delaying.
        stream.send(&Message::from_octets(b"answer"), Address::NONE).unwrap();
        stream.flush().unwrap();
        peer.read_exact(&mut [0; 6]).unwrap();
    }
}
