//! What packetdrill does with the table, as far as it can be done from Rust.

use core::ffi::c_void;
use core::ptr::{from_mut, from_ref, null_mut, without_provenance_mut};
use core::time::Duration;
use std::thread;

use kumiki_inet::tcp::defaults;
use kumiki_watchdog::minute;
use rustix::io::Errno;

use crate::adapter::Adapter;
use crate::calls::Part;
use crate::flags::Flags;
use crate::interface::{Interface, guarded};
use crate::{memory, sockaddr};

const OURS: &str = "192.168.0.1:8080";

fn adapter(flags: &str) -> Adapter {
    minute();
    Adapter::new(&Flags::parse(flags).unwrap()).unwrap()
}

fn at<T>(value: &T) -> *const c_void {
    from_ref(value).cast()
}

fn part(buffer: &mut [u8]) -> [Part; 1] {
    [Part { at: buffer.as_mut_ptr().cast(), octets: buffer.len() }]
}

/// An address as C has it.
fn address(text: &str) -> ([u8; 28], u32) {
    let (mut octets, mut len) = ([0; 28], 28_i32);
    sockaddr::write(octets.as_mut_ptr().cast(), from_mut(&mut len).cast(), text.parse().unwrap()).unwrap();
    (octets, len.try_into().unwrap())
}

/// A socket that listens.
fn listening(adapter: &Adapter) -> i32 {
    let fd = adapter.socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_TCP).unwrap();
    let (own, len) = address(OURS);
    adapter.bind(fd, at(&own), len).unwrap();
    adapter.listen(fd, 1).unwrap();
    fd
}

/// One of the complement sums of RFC 1071.
fn sum(parts: &[&[u8]]) -> [u8; 2] {
    let octets = parts.concat();
    let mut sum: u32 =
        octets.chunks(2).map(|it| u32::from(u16::from_be_bytes([it[0], *it.get(1).unwrap_or(&0)]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!u16::try_from(sum).unwrap()).to_be_bytes()
}

/// A segment from 192.0.2.1, port 9, to us.
fn segment(seq: u32, ack: u32, flags: u8, text: &[u8]) -> Vec<u8> {
    let total = u16::try_from(40 + text.len()).unwrap().to_be_bytes();
    let ends = [192, 0, 2, 1, 192, 168, 0, 1];
    let mut ip = [&[0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 6, 0, 0][..], &ends].concat();
    let check = sum(&[&ip]);
    ip[10..12].copy_from_slice(&check);
    let head =
        [&[0, 9, 0x1f, 0x90][..], &seq.to_be_bytes(), &ack.to_be_bytes(), &[0x50, flags, 0xff, 0xff, 0, 0, 0, 0]]
            .concat();
    let len = u16::try_from(20 + text.len()).unwrap().to_be_bytes();
    let check = sum(&[&ends, &[0, 6, len[0], len[1]], &head, text]);
    let mut tcp = [&head, text].concat();
    tcp[16..18].copy_from_slice(&check);
    [ip, tcp].concat()
}

const SYN: u8 = 2;
const ACK: u8 = 16;

/// Somebody calls, and is answered; our first sequence number.
fn called(adapter: &Adapter) -> u32 {
    adapter.clock.receive(&segment(999, 0, SYN, &[]));
    let (_, answer) = adapter.transmit().unwrap();
    assert_eq!(answer[33] & 0x3f, SYN | ACK);
    let iss = u32::from_be_bytes(answer[24..28].try_into().unwrap());
    adapter.clock.receive(&segment(1000, iss + 1, ACK, &[]));
    iss
}

#[test]
fn the_table_is_packetdrills() {
    // 33 pointers, and nothing between them.
    assert_eq!(size_of::<Interface>(), 33 * size_of::<usize>());
    let shown = format!("{:?}", Interface::of(null_mut()));
    let names = "userdata free socket bind listen accept connect read readv recv recvfrom recvmsg write writev send sendto sendmsg fcntl ioctl close \
                 shutdown getsockopt setsockopt poll netdev_send netdev_receive usleep gettimeofday epoll_create epoll_ctl epoll_wait pipe splice";
    let mut last = 0;
    for name in names.split_whitespace() {
        last += shown[last..].find(&format!(" {name}: ")).unwrap_or_else(|| panic!("{name} is not next")) + 1;
    }
}

#[test]
fn flags_are_a_profile_and_settings() {
    assert_eq!(Flags::parse("").unwrap().tcp, defaults::linux());
    assert_eq!(Flags::parse("modern").unwrap().tcp, defaults::modern());
    let flags = Flags::parse("linux receive_buffer=1000,delayed_ack=0.25 ack.every=3 ecn=classic address=10.0.0.1 address=fd00::1 mtu=1400 timeout=5").unwrap();
    assert_eq!((flags.tcp.receive_buffer, flags.tcp.ack.every, flags.mtu), (1000, 3, 1400));
    assert_eq!(
        format!("{:?}", flags.tcp.ack_timer),
        format!("{:?}", kumiki_inet::tcp::config::AckTimer::Timeout(kumiki_graph::Duration::from_millis(250)))
    );
    assert_eq!(flags.addresses.map(|it| it.to_string()), ["10.0.0.1", "fd00::1"]);
    assert_eq!(flags.timeout, Duration::from_secs(5));
    for (text, said) in [
        ("windows", "`windows` is no profile; expected modern or linux or bsd43 or solaris23"),
        ("linux sack", "`sack`; expected KEY=VALUE"),
        ("sack=maybe", "sack is `maybe`; expected true or false"),
        ("delayed_ack=fast", "delayed_ack is `fast`; expected seconds, such as 0.04"),
        ("receive_bufer=1", "`tcp` has no setting `receive_bufer` (is `receive_buffer` meant?)"),
        ("mtu=many", "mtu is `many`"),
        ("address=here", "address is `here`"),
        ("ecn=sometimes", "`tcp.ecn` is \"sometimes\""),
    ] {
        let why = Flags::parse(text).unwrap_err().to_string();
        assert!(why.starts_with("--so_flags: ") && why.contains(said), "{text}: {why}");
    }
}

#[test]
fn what_is_nowhere_is_an_error_and_takes_nothing() {
    let adapter = adapter("linux");
    let fd = listening(&adapter);
    let iss = called(&adapter);
    let accepted = adapter.accept(fd, null_mut(), null_mut()).unwrap();
    let nowhere = [Part { at: null_mut(), octets: 10 }];
    assert_eq!(adapter.write(accepted, &nowhere, 0), Err(Errno::FAULT));
    adapter.clock.receive(&segment(1000, iss + 1, ACK, b"kumiki"));
    for _ in 0..2 {
        assert_eq!(adapter.read(accepted, &nowhere, libc::MSG_DONTWAIT), Err(Errno::FAULT));
    }
    let mut buffer = [0; 10];
    assert_eq!(adapter.read(accepted, &part(&mut buffer), 0), Ok(6));
    assert_eq!(&buffer[..6], b"kumiki");
    for address in [null_mut(), without_provenance_mut(8)] {
        assert_eq!(memory::read(address, 4), Err(Errno::FAULT));
        assert_eq!(memory::write(address, &[0]), Err(Errno::FAULT));
    }
    assert_eq!(memory::read(at(&buffer), usize::MAX), Err(Errno::INVAL));
    assert_eq!(sockaddr::read(at(&buffer), 3), Err(Errno::INVAL));
    assert_eq!(adapter.poll(null_mut(), u64::MAX, 0), Err(Errno::INVAL));
    assert_eq!(adapter.close(i32::MAX), Err(Errno::BADF));
}

#[test]
fn a_panic_and_a_wrong_name_are_errors() {
    let name = adapter("linux").register();
    assert_eq!(guarded(name, |_| -> Result<i64, Errno> { panic!("a test") }), Err(Errno::IO));
    assert_eq!(guarded(name, |it| it.socket(libc::AF_INET, libc::SOCK_DGRAM, 0)), Err(Errno::PROTONOSUPPORT));
    Adapter::free(name);
    assert_eq!(guarded(name, |_| Ok(0_i64)), Err(Errno::FAULT));
    assert_eq!(guarded(null_mut(), |_| Ok(0_i64)), Err(Errno::FAULT));
}

#[test]
fn a_call_that_waits_ends_at_the_time_of_what_it_waited_for() {
    let adapter = adapter("linux");
    let fd = listening(&adapter);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let accepted = adapter.accept(fd, null_mut(), null_mut()).unwrap();
            // As packetdrill does when a call has ended.
            let ended = adapter.time_of_day();
            (accepted, ended)
        });
        // As packetdrill waits until the other thread sleeps.
        kumiki_watchdog::until(|| adapter.clock.lock().has_sleepers());
        adapter.clock.sleep(Duration::from_millis(300));
        called(&adapter);
        let called_at = adapter.clock.lock().now;
        adapter.clock.sleep(Duration::from_secs(5));
        let (accepted, ended) = waiting.join().unwrap();
        assert!(accepted > 2);
        let late = ended - Duration::from_secs(1_000_000_000) - called_at;
        assert!(late < Duration::from_millis(1), "{late:?} late");
    });
}

#[test]
fn who_waits_with_a_limit_is_told_when_it_is_over() {
    let adapter = adapter("linux");
    let fd = listening(&adapter);
    let mut entry = [fd.to_ne_bytes(), [1, 0, 0, 0]].concat();
    let before = adapter.clock.lock().now;
    assert_eq!(adapter.poll(entry.as_mut_ptr().cast(), 1, 250), Ok(0));
    assert_eq!(adapter.clock.lock().now - before, Duration::from_millis(250));
    called(&adapter);
    assert_eq!(adapter.poll(entry.as_mut_ptr().cast(), 1, 250), Ok(1));
    assert_eq!(entry[6..], [1, 0], "readable");
    let epoll = adapter.epoll_create(1).unwrap();
    let mut event =
        [&1_u32.to_ne_bytes()[..], &[0; size_of::<libc::epoll_event>() - 12], &7_u64.to_ne_bytes()].concat();
    adapter.epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, event.as_ptr().cast()).unwrap();
    event.fill(0);
    assert_eq!(adapter.epoll_wait(epoll, event.as_mut_ptr().cast(), 1, 0), Ok(1));
    assert_eq!((event[0], event[event.len() - 8]), (1, 7));
    adapter.accept(fd, null_mut(), null_mut()).unwrap();
    assert_eq!(adapter.epoll_wait(epoll, event.as_mut_ptr().cast(), 1, 10), Ok(0));
}

#[test]
fn a_packet_that_never_comes_is_waited_for_no_longer_than_is_said() {
    let adapter = adapter("linux timeout=3 syn_retries=20");
    listening(&adapter);
    assert_eq!(adapter.transmit(), None, "no timer runs");
    assert_eq!(adapter.clock.lock().now, Duration::ZERO);
    adapter.clock.receive(&segment(999, 0, SYN, &[]));
    // The answer, and again after 1 and 3 s; then after 7, which is too late.
    let sent: Vec<_> = std::iter::from_fn(|| adapter.transmit()).map(|(at, _)| at.as_secs() - 1_000_000_000).collect();
    assert_eq!(sent, [0, 1, 3], "{sent:?}");
}

#[test]
fn a_call_is_answered_in_the_end_and_says_why_not() {
    let adapter = adapter("linux syn_retries=1");
    let (peer, len) = address("192.0.2.1:9");
    let fd = adapter.socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0).unwrap();
    assert_eq!(adapter.connect(fd, at(&peer), len), Err(Errno::INPROGRESS));
    assert_eq!(adapter.connect(fd, at(&peer), len), Err(Errno::ALREADY));
    let (_, syn) = adapter.transmit().unwrap();
    assert_eq!(syn[33] & 0x3f, SYN);
    adapter.clock.sleep(Duration::from_secs(60));
    let (mut error, mut room) = ([0; 4], 4_i32);
    let mut ask = || {
        adapter
            .option(fd, (libc::SOL_SOCKET, libc::SO_ERROR), error.as_mut_ptr().cast(), from_mut(&mut room).cast())
            .unwrap();
        i32::from_ne_bytes(error)
    };
    assert_eq!([ask(), ask()], [Errno::TIMEDOUT.raw_os_error(), 0]);
    // On the thread that moves time, a call that waits does so itself.
    let fd = adapter.socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
    assert_eq!(adapter.connect(fd, at(&peer), len), Err(Errno::TIMEDOUT));
    let listener = listening(&adapter);
    assert_eq!(adapter.accept(listener, null_mut(), null_mut()), Err(Errno::DEADLK));
}

#[test]
fn the_same_calls_give_the_same_packets() {
    let run = |seed: u64| {
        let adapter = adapter(&format!("linux seed={seed}"));
        let fd = listening(&adapter);
        called(&adapter);
        let accepted = adapter.accept(fd, null_mut(), null_mut()).unwrap();
        let mut data = [7; 5000];
        assert_eq!(adapter.write(accepted, &part(&mut data), 0), Ok(5000));
        std::iter::from_fn(|| adapter.transmit()).take(8).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn what_linux_tells_of_a_connection_is_told_in_segments() {
    let adapter = adapter("linux");
    let fd = listening(&adapter);
    called(&adapter);
    let accepted = adapter.accept(fd, null_mut(), null_mut()).unwrap();
    let mut data = [7; 1072];
    assert_eq!(adapter.write(accepted, &part(&mut data), 0), Ok(1072));
    let (mut info, mut len) = ([0_u8; 104], 104_i32);
    adapter
        .option(accepted, (libc::IPPROTO_TCP, libc::TCP_INFO), info.as_mut_ptr().cast(), from_mut(&mut len).cast())
        .unwrap();
    let number = |at: usize| u32::from_ne_bytes(info[at..at + 4].try_into().unwrap());
    // Established; two segments of 536 octets are in flight; the first window is ten of them.
    assert_eq!((info[0], number(16), number(24), number(80)), (1, 536, 2, 10));
}
