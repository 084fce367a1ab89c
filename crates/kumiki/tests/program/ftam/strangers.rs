//! Peers that are no responders, or bad ones, and callers that are no callers: how that is told, and how long they
//! stay.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::{JoinHandle, spawn};

use rustix::process::Signal;

use kumiki_watchdog::until;

use super::crowd;
use super::harness::{Daemon, Folder, Running, hollow};

/// Somebody who takes one connection and does this with it; and where.
fn peer(act: impl FnOnce(&mut TcpStream) + Send + 'static) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let thread = spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        act(&mut socket);
        let _ = socket.read_to_end(&mut Vec::new());
    });
    (at, thread)
}

/// A TPDU in a TPKT.
fn tpkt(tpdu: &[u8]) -> Vec<u8> {
    let len = u16::try_from(tpdu.len() + 4).unwrap();
    [&[3, 0], &len.to_be_bytes()[..], tpdu].concat()
}

/// The next TPDU.
fn tpdu(socket: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    socket.read_exact(&mut header).unwrap();
    let mut tpdu = vec![0; usize::from(u16::from_be_bytes([header[2], header[3]])) - 4];
    socket.read_exact(&mut tpdu).unwrap();
    tpdu
}

/// Takes the transport connection, and answers CN with this TSDU.
fn session_of(tsdu: &'static [u8]) -> impl FnOnce(&mut TcpStream) + Send + 'static {
    move |socket| {
        let cr = tpdu(socket);
        let cc = [&[9, 0xd0], &cr[4..6], &[0, 1, 0, 0xc0, 1, 0x0a]].concat();
        socket.write_all(&tpkt(&cc)).unwrap();
        tpdu(socket);
        let dt = [&[2, 0xf0, 0x80], tsdu].concat();
        socket.write_all(&tpkt(&dt)).unwrap();
    }
}

/// AC: version 2, duplex, and no user data.
const BARE_AC: &[u8] = &[0x0e, 12, 0x05, 6, 0x13, 1, 0, 0x16, 1, 2, 0x14, 2, 0x00, 0x02];

/// DR of this reason, in answer to CR.
fn disconnecting(reason: u8) -> impl FnOnce(&mut TcpStream) + Send + 'static {
    move |socket| {
        let cr = tpdu(socket);
        let dr = [&[6, 0x80], &cr[4..6], &[0, 1, reason]].concat();
        socket.write_all(&tpkt(&dr)).unwrap();
    }
}

/// ISODE answers a selector that it does not know with reason 128, others accept the transport connection and hang up
/// on CN.
#[test]
fn a_selector_that_the_peer_does_not_know_is_told_however_it_refuses() {
    let folder = Folder::new("unknown-selectors");
    for reason in [0, 2, 3, 128, 133, 136] {
        let (at, it) = peer(disconnecting(reason));
        let url = format!("ftam://{at}/?tsel=0x0999");
        let code = format!("(reason {reason})");
        let said = ["transport", &code, "called: tsel 0x0999", "check the selectors"];
        let ran = folder.ftam(&["ls", &url]);
        ran.failed(4, &said);
        assert!(!ran.err.contains("try again"), "{ran:?}");
        it.join().unwrap();
    }
    let hang_up = |socket: &mut TcpStream| {
        let cr = tpdu(socket);
        let cc = [&[6, 0xd0], &cr[4..6], &[0, 1, 0]].concat();
        socket.write_all(&tpkt(&cc)).unwrap();
        tpdu(socket);
        socket.shutdown(std::net::Shutdown::Both).unwrap();
    };
    for (command, other) in [("ftam", "kumiki mms"), ("mms", "kumiki ftam")] {
        let (at, it) = peer(hang_up);
        let url = format!("{command}://{at}/?tsel=0x0103");
        let ran = folder.kumiki(&[command, "ls", &url]);
        let said = ["session", "without an answer to CONNECT", "called: tsel 0x0103", "the line is fine", other];
        ran.failed(4, &said);
        assert!(!ran.err.contains("try again"), "{ran:?}");
        it.join().unwrap();
    }
}

#[test]
fn who_breaks_a_protocol_is_told_by_the_layer_that_found_it() {
    let folder = Folder::new("breaches");
    let refused = |at: &str, layer: &str, found: &str| {
        let ran = folder.ftam(&["ls", &format!("ftam://{at}/")]);
        let said = format!("{layer}: the peer broke the protocol: {found}");
        ran.failed(7, &[&said, "take a capture"]);
        assert!(!ran.err.contains("FTAM"), "{ran:?}");
    };
    let (at, it) = peer(|socket| {
        tpdu(socket);
        socket.write_all(&tpkt(&[2, 0xf0, 0x80])).unwrap();
    });
    refused(&at, "transport", "a DT TPDU before the connection stood");
    it.join().unwrap();
    let (at, it) = peer(session_of(&[0xff; 12]));
    refused(&at, "session", "SPDU: ");
    it.join().unwrap();
    let (at, it) = peer(session_of(BARE_AC));
    refused(&at, "presentation", "CPA: ");
    it.join().unwrap();
    // What follows a packet that was one is no other language.
    let (at, it) = peer(|socket| {
        let cr = tpdu(socket);
        let cc = [&[9, 0xd0], &cr[4..6], &[0, 1, 0, 0xc0, 1, 0x0a]].concat();
        socket.write_all(&tpkt(&cc)).unwrap();
        socket.write_all(b"HTTP/1.0 400\r\n").unwrap();
    });
    refused(&at, "transport", "TPKT: vrsn is 0x48, expected 3 (octets 48 54 54 50");
    it.join().unwrap();
}

#[test]
fn who_speaks_another_language_is_told_with_its_words_whatever_carries_transport() {
    let folder = Folder::new("languages");
    for (query, carrier) in [("", "RFC 1006"), ("?carrier=xot&x121=1", "XOT")] {
        let list = |at: &str| folder.ftam(&["ls", &format!("ftam://{at}/{query}")]);
        let (at, it) = peer(|socket| {
            let mut octets = [0; 4];
            socket.read_exact(&mut octets).unwrap();
            socket.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").unwrap();
        });
        let said = format!("does not speak {carrier}");
        list(&at).failed(3, &[&said, "HTTP/1.0 400", "check the port"]);
        it.join().unwrap();
        let (at, it) = peer(|socket| socket.write_all(b"SSH-2.0-Something\r\n").unwrap());
        list(&at).failed(3, &[&said, "SSH-2.0"]);
        it.join().unwrap();
        let (at, it) = peer(|socket| {
            let mut octets = [0; 512];
            while let Ok(len @ 1..) = socket.read(&mut octets) {
                if socket.write_all(&octets[..len]).is_err() {
                    break;
                }
            }
        });
        list(&at).failed(3, &["sends back what it is sent", "check the port"]);
        it.join().unwrap();
    }
}

/// Takes a packet of XOT; that without its header.
fn xot_packet(socket: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    socket.read_exact(&mut header).unwrap();
    let mut packet = vec![0; u16::from_be_bytes([header[2], header[3]]).into()];
    socket.read_exact(&mut packet).unwrap();
    packet
}

#[test]
fn who_breaks_the_protocol_of_x25_is_told_what_was_found() {
    let folder = Folder::new("breaches-xot");
    let refused = |at: &str, found: &str| {
        let ran = folder.ftam(&["ls", &format!("ftam://{at}/?carrier=xot&x121=1")]);
        ran.failed(7, &["network: ", ": the peer broke the protocol: ", found, "; take a capture"]);
    };
    // Data before the call is answered.
    let (at, it) = peer(|socket| {
        let call = xot_packet(socket);
        let data = [0, 0, 0, 4, call[0] & 0x3f, call[1], 0, 0];
        socket.write_all(&data).unwrap();
        while socket.read(&mut [0; 512]).is_ok_and(|len| len > 0) {}
    });
    refused(&at, "X.25: the peer broke the protocol: packet type invalid for state p2");
    it.join().unwrap();
    // Another version of XOT behind the answer.
    let (at, it) = peer(|socket| {
        let call = xot_packet(socket);
        let accepted = [0, 0, 0, 3, call[0] & 0x3f, call[1], 0x0f, 0, 9, 0, 0];
        socket.write_all(&accepted).unwrap();
        while socket.read(&mut [0; 512]).is_ok_and(|len| len > 0) {}
    });
    refused(&at, "XOT: the peer broke the protocol: XOT: ");
    it.join().unwrap();
}

#[test]
fn who_never_answers_is_told_apart_from_who_has_stopped() {
    let folder = Folder::new("mute");
    for (query, hint) in [("", "carrier=xot"), ("?carrier=xot&x121=1", "leave carrier=xot out")] {
        let list = |at: &str, more: &[&str]| {
            let url = format!("ftam://{at}/{query}");
            folder.ftam(&[&["ls", &url], more].concat())
        };
        let (at, it) = peer(|_| {});
        let ran = list(&at, &["--timeout", "1s"]);
        ran.failed(3, &["has never answered, in 1 s", hint]);
        it.join().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let it = spawn(move || drop(listener.accept().unwrap()));
        list(&at, &[]).failed(3, &["closed without an answer", hint]);
        it.join().unwrap();
    }
}

#[test]
fn a_caller_of_whom_nothing_can_come_loses_its_place_at_once() {
    let folder = Folder::new("places");
    let long = ["--anonymous", "--setup-timeout", "1h"];
    let er = tpkt(&[6, 0x70, 0, 1, 0, 0xc1, 0]);
    let dr = tpkt(&[6, 0x80, 0, 1, 0, 1, 0]);
    let tcp = Daemon::on(&folder, "--listen", &long);
    let xot = Daemon::on(&folder, "--xot", &long);
    let cases: [(&Daemon, &[u8], &str); 7] = [
        (&tcp, b"GET / HTTP/1.0\r\n\r\n", "does not speak RFC 1006"),
        (&tcp, &[3, 0, 0, 2], "does not speak RFC 1006"),
        (&tcp, &er, "hung up"),
        (&tcp, &dr, "hung up"),
        (&xot, b"GET / HTTP/1.0\r\n\r\n", "does not speak XOT"),
        (&xot, &[0, 1, 0, 3, 0x10, 1, 0x0b], "does not speak XOT"),
        (&xot, &[0, 0, 0, 0], "does not speak XOT"),
    ];
    for (daemon, octets, log) in cases {
        // Less than any layer waits for the other to hang up.
        let at_once = std::time::Duration::from_secs(20);
        let mut socket = TcpStream::connect(&daemon.at).unwrap();
        socket.set_read_timeout(Some(at_once)).unwrap();
        socket.write_all(octets).unwrap();
        let mut said = Vec::new();
        // A reset is an end too.
        if let Err(why) = socket.read_to_end(&mut said) {
            assert_eq!(why.kind(), std::io::ErrorKind::ConnectionReset, "{log}");
        }
        assert!(said.is_empty(), "{said:?}");
        let line = daemon.log();
        assert!(line.contains(log), "{octets:?}: {line}");
    }
    tcp.stop();
    xot.stop();
}

#[test]
fn who_sends_what_is_no_fpdu_has_not_aborted_itself() {
    let folder = Folder::new("no-fpdu");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let mut socket = TcpStream::connect(&daemon.at).unwrap();
    for said in [crowd::cr(), crowd::cn()] {
        socket.write_all(&said).unwrap();
        tpdu(&mut socket);
    }
    // P-DATA in the context of FTAM, with a SEQUENCE, which is no FPDU.
    let data = tpkt(&[2, 0xf0, 0x80, 1, 0, 1, 0, 0x61, 9, 0x30, 7, 2, 1, 3, 0xa0, 2, 0x30, 0]);
    socket.write_all(&data).unwrap();
    // AB.
    tpdu(&mut socket);
    drop(socket);
    let log = daemon.log();
    assert!(log.contains("aborted from here: 1008 "), "{log}");
    daemon.stop();
}

#[test]
fn who_is_called_for_mms_says_that_it_is_one_for_ftam() {
    let folder = Folder::new("not-mms");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let ran = folder.kumiki(&["mms", "ls", &format!("mms://{}/", daemon.at)]);
    ran.failed(4, &["no MMS under this address", "kumiki ftam"]);
    let log = daemon.log();
    assert!(log.contains("called for another application than FTAM"), "{log}");
    daemon.stop();
}

#[test]
fn selectors_are_shown_as_octets_and_a_number_that_was_meant_is_named() {
    let folder = Folder::new("spelled");
    let daemon = Daemon::start(&folder, &["--anonymous", "--tsel", "#259"]);
    let list = |query: &str| folder.ftam(&["ls", "-v", &daemon.url(query)]);
    let meant = "tsel 0x323539 (the text \"259\"; the number is #259)";
    let refused = format!("called: {meant}");
    list("?tsel=259").failed(4, &[&refused, "check the selectors"]);
    list("").failed(4, &["no selector was called"]);
    let ran = list("?tsel=%23259&from-ssel=FTAM").well();
    assert!(ran.err.contains("selectors called: tsel 0x0103 (#259)"), "{ran:?}");
    assert!(ran.err.contains("ours: ssel 0x4654414d (the text \"FTAM\")"), "{ran:?}");
    daemon.stop();
}

#[test]
fn tpdus_beyond_the_standard_are_warned_of() {
    let folder = Folder::new("beyond");
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous", "--x121", "1"]);
    let list = |query: &str| {
        let url = daemon.url(&format!("?carrier=xot&x121=1{query}"));
        folder.ftam(&["ls", &url]).well().err
    };
    let beyond = "TPDUs of 8192 octets are beyond the standard on X.25";
    assert_eq!(list("&tpdu=8192").matches(beyond).count(), 1);
    assert!(!list("&tpdu=2048").contains("beyond"));
    assert!(!daemon.stop().err.contains("beyond"));
    // The responder says it in the same words, and of X.25 alone.
    for (carrier, times) in [("--xot", 1), ("--listen", 0)] {
        let daemon = Daemon::on(&folder, carrier, &["--anonymous", "--tpdu", "8192"]);
        let ran = daemon.stop();
        assert_eq!(ran.err.matches(beyond).count(), times, "{ran:?}");
    }
}

#[test]
fn a_connection_that_is_lost_says_what_is_left_for_another_run() {
    let folder = Folder::new("left");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    hollow(&folder.path("root/x"), 1 << 34);
    let get = ["ftam", "get", "--resume", "--retries", "0", &daemon.url("x"), "b"];
    let getting = Running::start(folder.command(&get));
    let size = || folder.path("b.part").metadata().map_or(0, |it| it.len());
    until(|| size() > 100_000);
    daemon.running.signal(Signal::KILL);
    let ran = getting.end();
    ran.failed(3, &["the connection was lost", "--resume goes on with them"]);
    let kept = format!("{} bytes are kept in b.part", size());
    assert!(ran.err.contains(&kept), "{ran:?}");
}

#[test]
fn who_aborts_is_let_go_before_who_was_told_the_last_word() {
    let folder = Folder::new("aborts");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let begin = |cn: &[u8]| {
        let mut socket = TcpStream::connect(&daemon.at).unwrap();
        socket.write_all(&crowd::cr()).unwrap();
        tpdu(&mut socket);
        socket.write_all(cn).unwrap();
        tpdu(&mut socket);
        socket
    };
    // It is refused by ACSE, or a layer below: the title of another application.
    let mut other = crowd::cn();
    let title = crowd::octets("a107060528c27b0101");
    let at = other.windows(title.len()).position(|it| it == title);
    other[at.unwrap() + title.len() - 1] = 0x7f;
    // AB, "transport connection released" and "user abort", as libiec61850's file tool ends all it does.
    let abort = tpkt(&[2, 0xf0, 0x80, 0x19, 3, 0x11, 1, 3]);
    // Who was told that he is refused may read that yet, for some seconds: on a machine that is busy they may be over
    // before the other one has aborted, and then it is seen another time. Where both are kept as long it is seen never.
    until(|| {
        let mut aborting = begin(&crowd::cn());
        let refused = begin(&other);
        aborting.write_all(&abort).unwrap();
        assert_eq!(aborting.read_to_end(&mut Vec::new()).unwrap(), 0);
        let logs = [daemon.log(), daemon.log()];
        drop(refused);
        let is_first = logs[0].contains("abort");
        assert!(is_first || logs[1].contains("abort"), "{logs:?}");
        is_first
    });
    daemon.stop();
}

/// A caller's first FPDU has a user's name and a password in it: the log names the field, and shows no more than how
/// the FPDU begins.
#[test]
fn a_caller_that_breaks_a_protocol_is_told_of_in_the_log_by_field_and_header() {
    let folder = Folder::new("broken-callers");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let says = |tsdu: &[u8]| {
        let mut socket = TcpStream::connect(&daemon.at).unwrap();
        socket.write_all(&crowd::cr()).unwrap();
        tpdu(&mut socket);
        socket.write_all(tsdu).unwrap();
        let mut said = Vec::new();
        let _ = socket.read_to_end(&mut said);
        (String::from_utf8_lossy(&said).into_owned(), daemon.log())
    };
    // service-class has 8 unused bits in its last octet.
    let mut broken = crowd::cn();
    let class = crowd::octets("83020410");
    let at = broken.windows(class.len()).position(|it| it == class).unwrap();
    broken[at + 2] = 8;
    let (said, log) = says(&broken);
    let what = "F-INITIALIZE request: service-class: ";
    assert!(said.contains(what), "{said}");
    assert!(log.contains(&format!("FTAM: the caller broke the protocol: {what}")), "{log}");
    assert!(log.contains("(octets a0 43 ...)"), "{log}");
    // Who has spoken RFC 1006 does not speak another language.
    let (_, log) = says(b"GET / HTTP/1.0\r\n\r\n");
    let what = "transport: the caller broke the protocol: TPKT: vrsn is 0x47, expected 3 (octets 47 45 54 20 ...)";
    assert!(log.contains(what), "{log}");
    daemon.stop();
}
