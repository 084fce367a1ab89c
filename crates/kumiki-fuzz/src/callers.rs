//! A listener and many callers: nobody gets a connection who has not been told the number that he acknowledges, and
//! what is kept of those who call is bounded.

use std::collections::BTreeMap;

use kumiki_decode::Decoder;
use kumiki_graph::{Duration, Instant};
use kumiki_inet::ip;
use kumiki_inet::tcp::config::SynCookies;
use kumiki_inet::tcp::{Config, Tcp, defaults};
use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};

use crate::host::Host;
use crate::packet::{self, behind};
use crate::program::{Command, Program};
use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "callers",
    title: "a listener: calls, handshakes right and wrong, cookies, floods",
    run: |octets| within_mb(64.0, || run(octets)),
};

const HALF_OPEN: u32 = 6;
/// Each from a port of its own.
const CALLERS: usize = 24;
/// No window of a SYN,ACK is larger.
const WINDOW: u32 = 65_535;

/// What a caller knows.
#[derive(Default)]
struct Caller {
    isn: u32,
    /// Numbers that SYN,ACKs told, with that of the SYN that they answered.
    told: Vec<(u32, u32)>,
}

struct Listener {
    host: Host,
    now: Instant,
    judge: Decoder,
    callers: BTreeMap<usize, Caller>,
    /// Sessions that the program has been offered.
    offered: usize,
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let how = draw.octet();
    let cookies = [SynCookies::Never, SynCookies::WhenFull, SynCookies::Always];
    let config = Config {
        address: [10, 0, 0, 1].into(),
        half_open: HALF_OPEN,
        syn_cookies: cookies[usize::from(how & 3) % 3],
        send_buffer: 16_384,
        receive_buffer: 16_384,
        ..defaults::modern()
    };
    let interface = ip::Interface::new("line", [10, 0, 0, 1].into(), 8);
    let layer = ip::Ip::new(ip::Config::host(interface)).unwrap();
    let host = Host::on_a_line(0, Program::new(1), Box::new(Tcp::new(config)), Box::new(layer));
    let mut listener =
        Listener { host, now: Instant::ZERO, judge: Decoder::new(), callers: BTreeMap::new(), offered: 0 };
    let at = "10.0.0.1:7".parse().unwrap();
    listener.host.tell(Instant::ZERO, vec![Command::Listen(0, at)]);
    for _ in 0..300 {
        if draw.is_empty() {
            break;
        }
        listener.step(&mut draw);
    }
    listener.end();
}

impl Listener {
    fn step(&mut self, draw: &mut Draw<'_>) {
        let what = draw.octet();
        match what % 8 {
            6 => return self.pass(Duration::from_millis(draw.word().into())),
            7 => {
                let number = u32::from(draw.octet());
                let command = if what & 0x80 == 0 { Command::Abort(number) } else { Command::Release(number) };
                self.host.tell(self.now, vec![command]);
                self.look();
                return;
            }
            _ => {}
        }
        let which = draw.below(CALLERS);
        let caller = self.callers.entry(which).or_default();
        let wrong = |draw: &mut Draw<'_>| match draw.octet() {
            0xf0.. => draw.long(),
            0xe0.. => draw.octet().into(),
            _ => 0,
        };
        let (mut seq, mut ack) = (caller.isn.wrapping_add(1), 0);
        let flags = match what % 8 {
            0..=2 => {
                // A call, new or again.
                if what & 0x10 == 0 {
                    caller.isn = caller.isn.wrapping_add(1 + u32::from(draw.octet()) * 100_000);
                }
                seq = caller.isn;
                Flags::SYN
            }
            3 | 4 => {
                if let Some((iss, irs)) = caller.told.last() {
                    (seq, ack) = (irs.wrapping_add(1), iss.wrapping_add(1));
                }
                seq = seq.wrapping_add(wrong(draw));
                ack = ack.wrapping_add(wrong(draw));
                match what >> 5 {
                    0 => Flags::ACK | Flags::FIN,
                    1 => Flags::ACK | Flags::PSH,
                    2 => Flags::ACK | Flags::SYN,
                    _ => Flags::ACK,
                }
            }
            _ => {
                seq = seq.wrapping_add(wrong(draw));
                Flags::from_bits(u16::from(draw.octet()) | 4)
            }
        };
        let how = draw.octet();
        let syn = flags.contains(Flags::SYN);
        let header = Header {
            source_port: 1000 + u16::try_from(which).unwrap(),
            destination_port: 7,
            seq: Seq(seq),
            ack: Seq(ack),
            flags,
            window: 8000,
            options: Options {
                mss: (syn && how & 1 != 0).then_some(1460),
                window_scale: (syn && how & 2 != 0).then_some(how >> 5),
                sack_permitted: syn && how & 4 != 0,
                timestamps: (how & 8 != 0).then(|| (how.into(), draw.octet().into())),
                ..Options::NONE
            },
            ..Header::default()
        };
        let mut segment = vec![0; header.len()];
        header.emit(&mut segment);
        if how & 16 != 0 {
            let len = draw.below(32);
            segment.extend(draw.take(len));
        }
        self.receive(which, &segment, &header);
    }

    /// A segment of a caller.
    fn receive(&mut self, which: usize, segment: &[u8], header: &Header) {
        let mut front = vec![0x45, 0, 0, 20, 0, 1, 0, 0, 64, 0, 0, 0, 10, 9, 8];
        front.push(u8::try_from(which).unwrap());
        front.extend([10, 0, 0, 1]);
        let octets = behind(&front, 6, segment);
        packet::tell(&octets, "ip", &format!("{}      gets", self.now));
        self.host.receive(self.now, &octets);
        let before = self.offered;
        self.look();
        assert!(self.offered <= before + 1, "two sessions from one segment");
        if self.offered > before {
            let Header { seq, ack, flags, .. } = *header;
            assert!(flags.contains(Flags::ACK));
            assert!(!flags.intersects(Flags::SYN.with(Flags::RST)));
            let caller = &self.callers[&which];
            let text = u32::try_from(segment.len() - header.len()).unwrap();
            let right = caller.told.iter().any(|(iss, irs)| {
                let rcv_nxt = irs.wrapping_add(1);
                // It begins in the window, or its text reaches into it.
                let reaches = seq.0.wrapping_sub(rcv_nxt) < WINDOW || rcv_nxt.wrapping_sub(seq.0) < text;
                ack.0 == iss.wrapping_add(1) && reaches
            });
            assert!(right, "a session for an acknowledgment of what was never sent");
        }
    }

    /// What was sent, and how many sessions there are.
    fn look(&mut self) -> usize {
        let sent = self.host.sent(self.now);
        for octets in &sent {
            packet::check(&mut self.judge, "ip", octets, &format!("{} sends", self.now));
            let which = usize::from(octets[19]);
            let Ok((header, _)) = Header::parse(&octets[20..], octets.len() - 20) else {
                continue;
            };
            if header.flags.contains(Flags::SYN) {
                let irs = header.ack.0.wrapping_sub(1);
                if let Some(caller) = self.callers.get_mut(&which) {
                    caller.told.push((header.seq.0, irs));
                }
            }
        }
        assert!(sent.len() <= 64, "{} segments at once", sent.len());
        assert!(self.host.half_open() <= HALF_OPEN as usize, "too many half open");
        self.offered = self.host.program().sessions.len();
        sent.len()
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        for step in 0.. {
            assert!(step < 20_000, "timers expire for ever");
            let Some(due) = self.host.next_timer().filter(|due| *due <= until) else {
                break;
            };
            self.now = self.now.max(due);
            self.host.fire(self.now);
            let before = self.offered;
            self.look();
            assert_eq!(self.offered, before, "a session from nothing");
        }
        self.now = until;
    }

    fn end(&mut self) {
        self.host.tell(self.now, vec![Command::AbortAll]);
        self.look();
        self.pass(Duration::from_secs(1200));
        assert_eq!(self.host.connections(), 0, "connections are left");
        assert_eq!(self.host.next_timer(), None, "a timer is left");
    }
}
