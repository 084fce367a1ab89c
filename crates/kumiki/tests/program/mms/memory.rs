//! What a caller can make a responder keep that asks and does not read.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use super::{Daemon, mms};
use crate::ftam::harness::Folder;

const MIB: u64 = 1 << 20;
/// What the allocator keeps in pieces, and what of the program is read from its file only then.
const PIECES: u64 = 16 * MIB;
/// What the budget of memory counts for one association.
const EACH: u64 = 3 * MIB / 2;

/// How many ask at once. Each gets through some hundred thousand requests before nothing more is taken.
const CALLERS: u64 = 8;

/// CR to any selector, and TPDUs of 8192 octets.
const CR: &[u8] = &[3, 0, 0, 14, 9, 0xe0, 0, 0, 0, 1, 0, 0xc0, 1, 13];

/// A CONNECT SPDU with initiate-Request in it, as a client of our own sends it.
const CONNECT: &str = "0300008e02f0800d85050613010016010214020002c1773175a003800101a26ea423300f0201050604520100013004\
                       060251013010020103060528ca22020130040602510161473045020105a040603ea107060528ca220203be33283106\
                       025101020103a028a826800300fde881010582010583010aa416800101810305f100820c03000000000000000000e018";

/// fileClose of a file that is not open: there is no shorter request with an answer. Its number is to differ from those
/// of requests that are not answered.
const fn file_close(invoke: u8) -> [u8; 29] {
    [
        3, 0, 0, 29, 2, 0xf0, 0x80, 1, 0, 1, 0, 0x61, 16, 0x30, 14, 2, 1, 3, 0xa0, 9, 0xa0, 7, 2, 1, invoke, 0x9f,
        0x4a, 1, 5,
    ]
}

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A caller that was let in.
fn let_in(at: &str) -> TcpStream {
    let mut socket = TcpStream::connect(at).unwrap();
    socket.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    for asked in [CR.to_vec(), octets(CONNECT)] {
        socket.write_all(&asked).unwrap();
        let mut header = [0; 4];
        socket.read_exact(&mut header).unwrap();
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        socket.read_exact(&mut vec![0; len - 4]).unwrap();
    }
    socket
}

/// Asks until nothing more is taken for a second; how much went out. It holds its connection.
fn asks_and_reads_nothing(mut socket: TcpStream) -> JoinHandle<(TcpStream, usize)> {
    spawn(move || {
        kumiki_watchdog::minute();
        let many = (0..128).map(file_close).collect::<Vec<_>>().concat().repeat(16);
        let (mut sent, mut from) = (0, 0);
        loop {
            match socket.write(many.split_at(from).1) {
                Ok(taken) => {
                    sent += taken;
                    from = (from + taken) % many.len();
                }
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(why) => panic!("{why} behind {sent} octets"),
            }
        }
        (socket, sent)
    })
}

/// The most memory that the responder has had, in octets.
fn peak(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.running.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn who_asks_without_end_and_reads_nothing_takes_little() {
    let folder = Folder::new("mms-memory");
    std::fs::create_dir_all(folder.path("root")).unwrap();
    folder.write("root/note", b"hi");
    let daemon = Daemon::start(&folder, &["--anonymous", "--max-per-host", "32"]);
    let before = peak(&daemon);
    let callers: Vec<_> = (0..CALLERS).map(|_| let_in(&daemon.at)).collect();
    let callers: Vec<_> = callers.into_iter().map(asks_and_reads_nothing).collect();
    let callers: Vec<_> = callers.into_iter().map(|it| it.join().unwrap()).collect();
    // More than the buffers of sockets hold: it is the responder that takes no more.
    assert!(callers.iter().all(|(_, sent)| *sent > 1_000_000));
    let grown = peak(&daemon) - before;
    assert!(grown <= PIECES + CALLERS * EACH, "{grown} octets beside {before}");
    // Somebody else is served.
    let got = mms(&folder, &["get", &daemon.url("note"), "got"]);
    got.well();
}
