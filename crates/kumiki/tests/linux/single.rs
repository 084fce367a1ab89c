//! What is looked at once: echoes of ICMP, refused connections, each way to end one, many at once, and tshark's
//! opinion.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::host::{
    Content, Kumiki, PORT, Said, accept, call, is_ipv6, kumiki, linux, listen, once_we_have_an_address, read, same,
    speak_ipv6, to_linux, when, write,
};
use crate::{Case, tshark};

type Run = fn() -> Said<String>;

pub(crate) fn cases() -> Vec<Case> {
    let cases: [(&str, Run); 12] = [
        ("kumiki_pings_linux", kumiki_pings_linux),
        ("linux_pings_kumiki", linux_pings_kumiki),
        ("linux_is_refused", linux_is_refused),
        ("kumiki_is_refused", kumiki_is_refused),
        ("linux_ends_its_direction_and_goes_on_reading", half_close),
        ("kumiki_ends_its_direction_and_goes_on_reading", half_close_of_ours),
        ("both_end_at_once", simultaneous_close),
        ("linux_aborts", linux_aborts),
        ("kumiki_aborts", kumiki_aborts),
        ("many_connections_at_once", many),
        ("ctrl_c_ends_and_tells_what_was_done", ctrl_c),
        ("tshark_finds_nothing_to_say_of_a_transfer", tshark),
    ];
    let over = |ipv6: bool| {
        cases.into_iter().map(move |(name, run)| Case {
            name: format!("single{}::{name}", if ipv6 { "_ipv6" } else { "" }),
            // Which FINs cross depends on when each end sends its own.
            tries: if name == "both_end_at_once" { 5 } else { 1 },
            run: Box::new(move || {
                if ipv6 {
                    speak_ipv6();
                }
                run()
            }),
        })
    };
    over(false).chain(over(true)).collect()
}

fn done() -> Said<String> {
    Ok("as it should be".to_owned())
}

/// Refuses what does not hold.
pub(crate) fn holds(what: bool, why: impl FnOnce() -> String) -> Said<()> {
    if what { Ok(()) } else { Err(why()) }
}

fn kumiki_pings_linux() -> Said<String> {
    let to = linux().to_string();
    let kumiki = Kumiki::start("ping", &["--to", &to, "--count", "20", "--interval", "5 ms", "--bytes", "1400 B"])?;
    let ping = kumiki.event("ping")?;
    holds(ping["answered"] == 20 && ping["wrong"] == 0, || ping.to_string())?;
    done()
}

fn linux_pings_kumiki() -> Said<String> {
    // Whatever the program is: its host answers.
    let _kumiki = Kumiki::listening("echo", &[])?;
    ping(20, 200)?;
    done()
}

/// Linux asks Kumiki `times` times for an echo of so many octets.
pub(crate) fn ping(times: u8, octets: usize) -> Said<()> {
    let (family, protocol, request, reply_kind) = if is_ipv6() {
        (AddressFamily::INET6, ipproto::ICMPV6, 128, 129)
    } else {
        (AddressFamily::INET, ipproto::ICMP, 8, 0)
    };
    let raw = SocketType::RAW;
    let socket = rustix::net::socket_with(family, raw, SocketFlags::CLOEXEC, Some(protocol));
    let socket = UdpSocket::from(socket.map_err(when("raw socket"))?);
    socket.set_read_timeout(Some(Duration::from_secs(10))).map_err(when("time limit"))?;
    once_we_have_an_address(|| socket.connect((kumiki(), 0))).map_err(when("connect"))?;
    for number in 1..=times {
        // RFC 792 and RFC 4443: type, code 0, checksum, identifier, sequence number, data.
        let mut echo = vec![request, 0, 0, 0, 0x12, 0x34, 0, number];
        echo.extend((0..=u8::MAX).cycle().take(octets).map(|octet| octet ^ number));
        let sum = internet_checksum(&echo);
        // Over IPv6 the kernel writes the checksum, and verifies that of the reply.
        echo[2..4].copy_from_slice(&sum.to_be_bytes());
        socket.send(&echo).map_err(when("send"))?;
        let mut reply = [0; 65_535];
        let icmp = loop {
            let read = socket.recv(&mut reply).map_err(when("no reply"))?;
            // A raw socket of IPv4 shows the IP header too.
            let header = if is_ipv6() { 0 } else { usize::from(reply[0] & 15) * 4 };
            let icmp = &reply[header..read];
            // Solicitations of routers and the like are none of ours.
            if !is_ipv6() || icmp[0] == reply_kind {
                break icmp;
            }
        };
        let intact = is_ipv6() || internet_checksum(icmp) == 0;
        holds(icmp[0] == reply_kind && icmp[4..] == echo[4..] && intact, || {
            format!("asked {echo:?}, answered {icmp:?}")
        })?;
    }
    Ok(())
}

/// RFC 1071.
fn internet_checksum(octets: &[u8]) -> u16 {
    let mut sum: u32 =
        octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

fn linux_is_refused() -> Said<String> {
    let _kumiki = Kumiki::listening("sink", &[])?;
    match once_we_have_an_address(|| TcpStream::connect((kumiki(), PORT + 1))) {
        Err(why) if why.kind() == ErrorKind::ConnectionRefused => done(),
        other => Err(format!("{other:?}")),
    }
}

fn kumiki_is_refused() -> Said<String> {
    let kumiki = Kumiki::start("source", &["--to", &to_linux()])?;
    let event = kumiki.event("connection")?;
    holds(event["reason"] == "the peer refused", || event.to_string())?;
    let status = kumiki.status()?;
    holds(status == 1, || format!("status {status}"))?;
    done()
}

/// Linux ends first and then gets the rest of its echo.
fn half_close() -> Said<String> {
    let kumiki = Kumiki::listening("echo", &["--connections", "1"])?;
    let mut stream = call()?;
    let mut writer = stream.try_clone().map_err(when("clone"))?;
    let writer = std::thread::spawn(move || -> Said<Content> {
        let sent = write(&mut writer, 4_000_003, 3)?;
        writer.shutdown(Shutdown::Write).map_err(when("shutdown"))?;
        Ok(sent)
    });
    let back = read(&mut stream)?;
    let sent = writer.join().map_err(|_| "the writer failed")??;
    same(&sent, &back)?;
    let event = kumiki.event("connection")?;
    same(&sent, &Content::of(&event, "received")?)?;
    holds(event["ended"] == "closed", || event.to_string())?;
    done()
}

/// Kumiki ends first; Linux sends only after it has seen that.
fn half_close_of_ours() -> Said<String> {
    let listener = listen()?;
    let kumiki = Kumiki::start("source", &["--to", &to_linux(), "--bytes", "100001 B"])?;
    let mut stream = accept(&listener)?;
    let received = read(&mut stream)?;
    let sent = write(&mut stream, 3_000_001, 5)?;
    drop(stream);
    let event = kumiki.event("connection")?;
    same(&Content::of(&event, "sent")?, &received)?;
    same(&sent, &Content::of(&event, "received")?)?;
    holds(event["ended"] == "closed", || event.to_string())?;
    done()
}

/// Each end sends its FIN before it can have seen the other's. The line takes 300 ms each way. For Linux, which calls,
/// the connection stands that much earlier: Kumiki hears so and sends its FIN 300 ms later, and Linux sees that after
/// 600 ms. It sends its own in between.
fn simultaneous_close() -> Said<String> {
    let pcap = std::env::temp_dir().join(format!("kumiki-simultaneous-{}.pcapng", std::process::id()));
    let path = pcap.to_string_lossy().into_owned();
    let arguments = ["--bytes", "0 B", "--connections", "1", "--impair", "delay=300 ms", "--pcap", &path];
    let kumiki = Kumiki::listening("source", &arguments)?;
    let mut stream = call()?;
    stream.set_read_timeout(Some(Duration::from_millis(150))).map_err(when("time limit"))?;
    let early = stream.read(&mut [0]);
    holds(early.is_err(), || format!("Kumiki's FIN is there already: {early:?}"))?;
    stream.shutdown(Shutdown::Write).map_err(when("shutdown"))?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(when("time limit"))?;
    let received = read(&mut stream)?;
    let event = kumiki.event("connection")?;
    let status = kumiki.status()?;
    let fields = ["-Y", "tcp.flags.fin==1", "-T", "fields", "-e", "tcp.ack"];
    let fins = tshark::lines(&path, &fields);
    let _ = std::fs::remove_file(&pcap);
    holds(received.octets == 0 && event["ended"] == "closed" && status == 0, || format!("{event}, status {status}"))?;
    match fins? {
        None => Ok(format!("as it should be; {}", tshark::ABSENT)),
        // Relative numbers: a FIN that acknowledges no more than the SYN has not seen the other.
        Some(fins) => {
            holds(fins.len() >= 2 && fins.iter().all(|ack| ack == "1"), || format!("FINs acknowledge {fins:?}"))?;
            done()
        }
    }
}

/// SO_LINGER with no time: close sends RST.
fn linux_aborts() -> Said<String> {
    let kumiki = Kumiki::listening("sink", &["--connections", "1"])?;
    let mut stream = call()?;
    write(&mut stream, 300_000, 9)?;
    sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).map_err(when("SO_LINGER"))?;
    drop(stream);
    let event = kumiki.event("connection")?;
    let reason = "the peer reset the connection";
    holds(event["ended"] == "aborted" && event["reason"] == reason, || event.to_string())?;
    let status = kumiki.status()?;
    holds(status == 1, || format!("status {status}"))?;
    done()
}

fn kumiki_aborts() -> Said<String> {
    let listener = listen()?;
    let kumiki = Kumiki::start("source", &["--to", &to_linux(), "--abort-after", "1 MiB"])?;
    let mut stream = accept(&listener)?;
    let mut buffer = vec![0; 1 << 16];
    let why = loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Err("ended in order".to_owned()),
            Ok(_) => {}
            Err(why) => break why,
        }
    };
    holds(why.kind() == ErrorKind::ConnectionReset, || why.to_string())?;
    let event = kumiki.event("connection")?;
    holds(event["sent"] == 1 << 20 && event["reason"] == "a user asked for it", || event.to_string())?;
    done()
}

/// More than one at a time, in both directions on each.
fn many() -> Said<String> {
    const CONNECTIONS: u64 = 40;
    let count = CONNECTIONS.to_string();
    let kumiki = Kumiki::listening("echo", &["--connections", &count])?;
    let talks: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            std::thread::spawn(move || -> Said<()> {
                let mut stream = call()?;
                let mut writer = stream.try_clone().map_err(when("clone"))?;
                let writer = std::thread::spawn(move || -> Said<Content> {
                    let sent = write(&mut writer, 100_000 + number, number)?;
                    writer.shutdown(Shutdown::Write).map_err(when("shutdown"))?;
                    Ok(sent)
                });
                let back = read(&mut stream)?;
                same(&writer.join().map_err(|_| "the writer failed")??, &back)
            })
        })
        .collect();
    for talk in talks {
        talk.join().map_err(|_| "a connection failed")??;
    }
    for _ in 0..CONNECTIONS {
        let event = kumiki.event("connection")?;
        holds(event["ended"] == "closed", || event.to_string())?;
    }
    kumiki.event("end")?;
    done()
}

/// Ends `kumiki` as Ctrl-C would.
fn interrupt(kumiki: &Kumiki) -> Said<()> {
    let id = i32::try_from(kumiki.id()).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(id.ok_or("no process")?, rustix::process::Signal::INT).map_err(when("kill"))
}

/// What is open is aborted (RFC 9293, 3.10.5), told and counted.
fn ctrl_c() -> Said<String> {
    let kumiki = Kumiki::listening("echo", &[])?;
    let mut stream = call()?;
    stream.write_all(b"hello").map_err(when("write"))?;
    let mut back = [0; 5];
    stream.read_exact(&mut back).map_err(when("read"))?;
    interrupt(&kumiki)?;
    let event = kumiki.event("connection")?;
    let is_told = event["received"] == 5 && event["sent"] == 5 && event["reason"] == "a user asked for it";
    holds(is_told, || event.to_string())?;
    let end = kumiki.event("end")?;
    holds(end["interrupted"] == true && end["octets"] == 10, || end.to_string())?;
    let status = kumiki.status()?;
    holds(status == 0, || format!("status {status}"))?;
    match stream.read(&mut back) {
        Err(why) if why.kind() == ErrorKind::ConnectionReset => {}
        other => return Err(format!("Linux was told {other:?}")),
    }
    done()
}

/// The only judge of checksums that is neither side's. Loss-free, so tshark should find nothing lost or malformed; what
/// it thinks of retransmissions depends on how busy the machine is.
fn tshark() -> Said<String> {
    let pcap = std::env::temp_dir().join(format!("kumiki-linux-{}.pcapng", std::process::id()));
    let path = pcap.to_string_lossy().into_owned();
    let kumiki = Kumiki::listening("echo", &["--connections", "1", "--pcap", &path])?;
    let mut stream = call()?;
    // Little at a time, so that neither end's queue overflows.
    let mut back = [0; 5000];
    for number in 0..40 {
        write(&mut stream, 5000, number)?;
        stream.read_exact(&mut back).map_err(when("read"))?;
    }
    drop(stream);
    kumiki.event("connection")?;
    kumiki.status()?;
    let sums = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    let wrong = "tcp && (_ws.malformed || ip.checksum.status==0 || tcp.checksum.status==0 || tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment)";
    let judged = tshark::tshark(&path, &[&sums[..], &["-Y", wrong]].concat());
    let _ = std::fs::remove_file(&pcap);
    match judged? {
        None => Ok(tshark::ABSENT.to_owned()),
        Some(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            holds(output.status.success() && said.is_empty(), || {
                format!("{said}{}", String::from_utf8_lossy(&output.stderr))
            })?;
            done()
        }
    }
}
