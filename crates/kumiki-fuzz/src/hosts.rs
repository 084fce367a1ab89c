//! Two hosts over a line on which the octets say what happens to each packet.
//!
//! In the first form what is changed has wrong sums, as on a real line: every octet is delivered intact and in order,
//! or the connection ends at once. In the second form sums are made right again and segments are forged, so that
//! anything may be believed: then nothing panics, nobody talks without end, and nothing is left.

use core::net::SocketAddr;
use kumiki_wire::inet::EcnUse;

use kumiki_decode::Decoder;
use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::config::SynCookies;
use kumiki_inet::tcp::{Config, Tcp, defaults};

use crate::host::{Host, layer};
use crate::line::{DELAY, Line};
use crate::packet::{self, repaired};
use crate::program::{Command, Program, Session, SessionEnd};
use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "hosts",
    title: "two hosts: packets lost, doubled, delayed, changed with wrong sums",
    run: |octets| within_mb(96.0, || run(octets, false)),
};

pub(crate) const FORGED: Target = Target {
    name: "forged",
    title: "two hosts: packets lost, doubled, delayed, changed with right sums, forged, sent back",
    run: |octets| within_mb(96.0, || run(octets, true)),
};

struct Case {
    line: Line,
    /// Packets that did not arrive as they were sent, or not at their time.
    harmed: usize,
    forged: bool,
    /// A host answers calls with cookies.
    cookies: bool,
    judge: Decoder,
}

fn address(number: usize, version_6: bool) -> SocketAddr {
    let text = match (number, version_6) {
        (0, false) => "10.0.0.1:7",
        (_, false) => "10.0.0.2:7",
        (0, true) => "[fd00::1]:7",
        (_, true) => "[fd00::2]:7",
    };
    text.parse().unwrap()
}

/// A stack as the octets say; `choice` is the same for both hosts where both have to agree.
fn stack(number: usize, draw: &mut Draw<'_>, version_6: bool, cookies: &mut bool) -> Host {
    let how = draw.octet();
    let flag = |bit: u8| how & (1 << bit) == 0;
    let mut config = match how >> 6 {
        2 => defaults::named("bsd43").unwrap(),
        3 => defaults::named("solaris23").unwrap(),
        _ => defaults::modern(),
    };
    if how >> 6 < 2 {
        config = Config {
            timestamps: flag(0),
            sack: flag(1),
            window_scaling: flag(2),
            tail_loss_probe: flag(3),
            pacing: flag(4),
            syn_cookies: if flag(5) { config.syn_cookies } else { SynCookies::Always },
            ecn: match (how >> 6, flag(4)) {
                (0, _) => config.ecn,
                (_, false) => EcnUse::Classic,
                (_, true) => EcnUse::Accurate,
            },
            ..config
        };
    }
    *cookies |= config.syn_cookies == SynCookies::Always;
    let own = address(number, version_6).ip();
    config.address = own;
    config.send_buffer = 16_384;
    config.receive_buffer = 16_384;
    let transport = Box::new(Tcp::new(config));
    Host::on_a_line(number, Program::new(1), transport, layer(own))
}

fn run(octets: &[u8], forged: bool) {
    let mut draw = Draw::new(octets);
    let version_6 = draw.octet() & 1 != 0;
    let mut cookies = false;
    let hosts = [0, 1].map(|number| stack(number, &mut draw, version_6, &mut cookies));
    let mut case = Case { line: Line::new(hosts), harmed: 0, forged, cookies, judge: Decoder::new() };
    for host in &mut case.line.hosts {
        let octets = 200 * u64::from(draw.octet());
        host.program().release_when_written = true;
        host.tell(Instant::ZERO, vec![Command::Write(octets)]);
    }
    let both_call = draw.octet() == 0xff;
    let [near, far] = &mut case.line.hosts;
    let (near_at, far_at) = (address(0, version_6), address(1, version_6));
    far.tell(Instant::ZERO, vec![Command::Listen(0, far_at)]);
    near.tell(Instant::ZERO, vec![Command::Call(0, far_at)]);
    if both_call {
        near.tell(Instant::ZERO, vec![Command::Listen(0, near_at)]);
        far.tell(Instant::ZERO, vec![Command::Call(0, near_at)]);
    }
    case.run(&mut draw);
    case.judge(both_call);
}

impl Case {
    fn run(&mut self, draw: &mut Draw<'_>) {
        while let Some((from, octets)) = self.line.next() {
            self.send(from, octets, draw);
        }
    }

    /// A packet leaves a host: an octet says what becomes of it.
    fn send(&mut self, from: usize, octets: Vec<u8>, draw: &mut Draw<'_>) {
        let what = format!("{} {from} sends", self.line.now);
        packet::check(&mut self.judge, "ip", &octets, &what);
        let what = draw.octet();
        let to = 1 - from;
        self.harmed += usize::from(what >= 0x80);
        let Some(octets) = self.line.befall(what, to, octets, draw) else { return };
        match what & 0x0f {
            8..=11 => {
                let mut changed = octets.clone();
                let at = draw.below(changed.len().min(if what & 0x40 == 0 { 80 } else { 2000 }));
                changed[at] ^= draw.octet().max(1);
                if self.forged {
                    changed = repaired(changed);
                } else if changed[0] >> 4 == 6 && at < 8 {
                    // IPv6 has no sum over these: they may change without anybody's notice.
                    changed = octets;
                }
                self.line.carry(DELAY, to, changed);
            }
            12 if self.forged => {
                // Back to the sender, as it is or with the ends exchanged.
                let back = if what & 0x40 == 0 { packet::turned(&octets) } else { octets.clone() };
                self.line.carry(DELAY, from, back);
                self.line.carry(DELAY, to, octets);
            }
            _ if self.forged => {
                let forgery = packet::forged(&octets, draw);
                self.line.carry(Duration::from_micros(1), to, forgery);
                self.line.carry(DELAY, to, octets);
            }
            // The programs do something of their own.
            12 => {
                self.line.hosts[from].tell(self.line.now, vec![Command::Read(what & 0x40 != 0)]);
                self.line.carry(DELAY, to, octets);
            }
            13 => self.line.carry(DELAY, to, packet::marked(octets)),
            _ => self.line.carry(DELAY * 2, to, octets),
        }
    }

    fn judge(&mut self, both_call: bool) {
        // Who still does not read begins to, and what waits for that goes on.
        let now = self.line.now;
        for host in &mut self.line.hosts {
            host.tell(now, vec![Command::Read(true)]);
        }
        self.run(&mut Draw::new(&[]));
        let sessions =
            self.line.hosts.each_mut().map(|host| host.program().sessions.values().cloned().collect::<Vec<_>>());
        if !self.forged {
            for session in sessions.iter().flatten() {
                assert_eq!(session.wrong, None, "octets are not those that were sent");
            }
            let [near, far] = &sessions;
            if !both_call && let ([near], [far]) = (&near[..], &far[..]) {
                agree(near, far);
                agree(far, near);
            }
            if self.harmed < 3 {
                assert!(!sessions[0].is_empty());
                for session in sessions.iter().flat_map(|all| all.first()) {
                    assert_eq!(session.over, Some(SessionEnd::Closed), "{sessions:?}");
                }
                // A late copy can bring a cookie back a second time; nothing but a cookie can do that.
                let most = if self.cookies { usize::MAX } else { 1 };
                assert!(both_call || sessions[1].len() <= most, "{sessions:?}");
            }
        }
        let now = self.line.now;
        for host in &mut self.line.hosts {
            host.tell(now, vec![Command::AbortAll]);
        }
        self.run(&mut Draw::new(&[]));
        for host in &mut self.line.hosts {
            assert_eq!(host.connections(), 0, "connections are left");
            assert_eq!(host.next_timer(), None, "a timer is left");
        }
    }
}

/// What one end got is the beginning of what the other one wrote, and all of it where both say that all went well.
fn agree(end: &Session, peer: &Session) {
    assert!(end.received <= peer.written);
    if end.peer_released || end.over == Some(SessionEnd::Closed) {
        assert_eq!(end.received, peer.written, "the end of data came too early");
    }
}
