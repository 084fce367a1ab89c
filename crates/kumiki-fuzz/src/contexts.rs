//! Two hosts with XTP over a line on which the octets say what happens to each packet, and what the programs do
//! meanwhile.
//!
//! Where nothing is made up every octet is delivered intact and in order, or the context ends with a reason. Otherwise
//! whoever makes packets up knows the right keys, and may be believed: spans that lie, `alloc` that shrinks, keys of
//! contexts that are over, echoes of what nobody asked, closes and ends at any place, DIAG. Then nothing panics, memory
//! is bounded, nobody talks without end, and after the end nothing is left.

use core::net::SocketAddr;

use kumiki_decode::Decoder;
use kumiki_graph::{Duration, ErrorControl, FlowControl, Instant};
use kumiki_wire::inet::ipv4::protocol::XTP;
use kumiki_wire::xtp::{Control, Errors, Format, Header, Key, LEN, Options, Span};
use kumiki_xtp::{Config, Recovery, Xtp, congestion, rtt};

use crate::host::{Host, layer};
use crate::line::{DELAY, Line};
use crate::packet::{self, above, behind, repaired};
use crate::program::{Command, Program, Session, SessionEnd};
use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "contexts",
    title: "two hosts with XTP: packets lost, doubled, delayed, changed, made up with right keys",
    run: |octets| within_mb(96.0, || run(octets)),
};

/// So many keys are remembered for packets that are made up.
const KEYS: usize = 8;
const BUFFER: u32 = 16_384;

/// What somebody on the line knows of the two hosts.
#[derive(Default)]
struct LineObserver {
    keys: Vec<Key>,
    /// Of what each host has sent: the last state, the highest octet, the last sync.
    control: [Control; 2],
    sent: [u64; 2],
    sync: [u32; 2],
}

struct Case {
    line: Line,
    /// Packets that did not arrive as they were sent, or not at their time.
    harmed: usize,
    /// Packets are made up.
    forged: bool,
    /// Somebody gives up a peer that allows nothing.
    stalls: bool,
    /// A program stopped something before it was complete.
    interfered: bool,
    /// What is lost may stay lost, or wrong octets come.
    careless: bool,
    spy: LineObserver,
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

fn config(draw: &mut Draw<'_>) -> Config {
    let how = draw.word();
    let flag = |bit: u16| how & (1 << bit) != 0;
    let buffers = [BUFFER, 1000, 100, 1 << 20];
    let mut config = Config {
        send_buffer: buffers[usize::from(how & 3)],
        receive_buffer: buffers[usize::from(how >> 2 & 3)],
        first_alloc: if flag(4) { 0 } else { BUFFER },
        recovery: if flag(5) { Recovery::GoBack } else { Recovery::Selective },
        reordering: if flag(6) { 0 } else { 3 },
        edge: !flag(7),
        congestion: if flag(8) { congestion::Kind::Off } else { congestion::Kind::Matched },
        error_control: match (flag(9), flag(10)) {
            (false, _) => ErrorControl::Full,
            (true, false) => ErrorControl::Fast,
            (true, true) => ErrorControl::None,
        },
        flow_control: if flag(11) { FlowControl::Reservation } else { FlowControl::Window },
        check: !flag(12),
        stall: if flag(13) { Duration::from_secs(30) } else { Duration::ZERO },
        priority: flag(14).then_some(7),
        // Who was told a lie sends the same again in each round trip until then: CTIMEOUT as by default would be too
        // many packets for the line.
        ctimeout: Duration::from_secs(10),
        ..Config::default()
    };
    if flag(15) {
        config.rtt.algorithm = rtt::Algorithm::Paper;
    }
    config
}

fn host(number: usize, config: Config, reserves: bool, version_6: bool) -> Host {
    let mut program = Program::new(1);
    if reserves {
        // What it grants before it has got anything.
        program.quality.receive_buffer = Some(config.receive_buffer);
    }
    let own = address(number, version_6).ip();
    Host::on_a_line(number, program, Box::new(Xtp::new(config)), layer(own))
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let first = draw.octet();
    let (forged, version_6) = (first & 1 != 0, first & 2 != 0);
    let configs = [0, 1].map(|_| config(&mut draw));
    let any = |is: fn(&Config) -> bool| configs.iter().any(is);
    let reserves = any(|it| it.flow_control == FlowControl::Reservation);
    let careless = any(|it| it.error_control == ErrorControl::None || !it.check);
    let stalls = any(|it| !it.stall.is_zero());
    let mut number = 0;
    let smallest = configs.iter().map(|it| it.send_buffer.min(it.receive_buffer)).min().unwrap_or(BUFFER);
    let hosts = configs.map(|config| {
        number += 1;
        host(number - 1, config, reserves, version_6)
    });
    let mut case = Case {
        line: Line::new(hosts).with_buffers_of(smallest),
        harmed: 0,
        forged,
        stalls,
        interfered: false,
        careless,
        spy: LineObserver::default(),
        judge: Decoder::new(),
    };
    for host in &mut case.line.hosts {
        let octets = 200 * u64::from(draw.octet());
        host.program().release_when_written = true;
        host.tell(Instant::ZERO, vec![Command::Write(octets)]);
    }
    let [near, far] = &mut case.line.hosts;
    let far_at = address(1, version_6);
    far.tell(Instant::ZERO, vec![Command::Listen(0, far_at)]);
    near.tell(Instant::ZERO, vec![Command::Call(0, far_at)]);
    case.run(&mut draw);
    case.judge();
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
        self.spy.see(from, &octets);
        let what = draw.octet();
        let to = 1 - from;
        self.harmed += usize::from(what >= 0x80);
        let Some(octets) = self.line.befall(what, to, octets, draw) else { return };
        match what & 0x0f {
            8 | 9 => {
                let mut changed = octets.clone();
                let at = draw.below(changed.len().min(if what & 0x40 == 0 { 120 } else { 2000 }));
                changed[at] ^= draw.octet().max(1);
                if self.forged {
                    changed = repaired(changed);
                } else if changed[0] >> 4 == 6 && at < 40 {
                    // IPv6 has no sum over these, and XTP none over addresses: they may change without anybody's
                    // notice.
                    changed = octets;
                }
                self.line.carry(DELAY, to, changed);
            }
            10 => {
                let reads = what & 0x40 != 0;
                // Who waits for room no longer than so long may give up.
                self.interfered |= self.stalls && !reads;
                self.line.hosts[from].tell(self.line.now, vec![Command::Read(reads)]);
                self.line.carry(DELAY, to, octets);
            }
            11 => {
                self.interfered = true;
                let command = match what >> 4 & 3 {
                    0 => Command::Abort(0),
                    1 => Command::Release(0),
                    2 => Command::Write(5000),
                    _ => Command::Call(0, address(1, octets[0] >> 4 == 6)),
                };
                self.line.hosts[from].tell(self.line.now, vec![command]);
                self.line.carry(DELAY, to, octets);
            }
            12 if self.forged => {
                // Back to the sender, as it is or with the ends exchanged.
                let back = if what & 0x40 == 0 { packet::turned(&octets) } else { octets.clone() };
                self.line.carry(DELAY, from, back);
                self.line.carry(DELAY, to, octets);
            }
            _ if self.forged => {
                let forgery = self.spy.forgery(from, &octets, draw);
                self.line.carry(Duration::from_micros(1), to, forgery);
                self.line.carry(DELAY, to, octets);
            }
            _ => self.line.carry(DELAY * 2, to, octets),
        }
    }

    fn judge(&mut self) {
        // Who still does not read begins to, and what waits for that goes on.
        let now = self.line.now;
        for host in &mut self.line.hosts {
            host.tell(now, vec![Command::Read(true)]);
        }
        self.run(&mut Draw::new(&[]));
        let sessions = self.line.hosts.each_mut().map(|host| {
            let sessions = host.program().sessions.values();
            sessions.cloned().collect::<Vec<_>>()
        });
        if !self.forged {
            self.compare(&sessions);
        }
        let now = self.line.now;
        for host in &mut self.line.hosts {
            host.tell(now, vec![Command::AbortAll]);
        }
        self.run(&mut Draw::new(&[]));
        for host in &mut self.line.hosts {
            assert_eq!(host.connections(), 0, "contexts are left");
            assert_eq!(host.next_timer(), None, "a timer is left");
        }
    }

    /// What has come is what was written.
    fn compare(&self, sessions: &[Vec<Session>; 2]) {
        for session in sessions.iter().flatten() {
            assert!(self.careless || session.wrong.is_none(), "octets are not those that were sent");
        }
        if self.interfered {
            return;
        }
        let ([near], far) = (&sessions[0][..], &sessions[1][..]) else {
            panic!("one call was made: {sessions:?}");
        };
        if let [far] = far {
            agree(near, far, self.careless);
            agree(far, near, self.careless);
        }
        assert!(near.over.is_some(), "the caller never ended: {sessions:?}");
        if self.harmed < 3 {
            for session in sessions.iter().flatten() {
                assert_eq!(session.over, Some(SessionEnd::Closed), "{sessions:?}");
            }
            assert_eq!(far.len(), 1, "{sessions:?}");
        }
    }
}

/// What one end got is the beginning of what the other one wrote, and all of it where both say that all went well.
fn agree(end: &Session, peer: &Session, careless: bool) {
    assert!(end.received <= peer.written);
    if !careless && (end.peer_released || end.over == Some(SessionEnd::Closed)) {
        assert_eq!(end.received, peer.written, "the end of data came too early");
    }
}

impl LineObserver {
    /// The header and payload of an XTP packet.
    fn read(octets: &[u8]) -> Option<(Header, &[u8])> {
        let (at, XTP, _) = above(octets)? else {
            return None;
        };
        let packet = octets.get(at..)?;
        let (header, len) = Header::parse(packet, packet.len()).ok()?;
        Some((header, packet.get(len..)?))
    }

    fn see(&mut self, from: usize, octets: &[u8]) {
        let Some((header, payload)) = Self::read(octets) else {
            return;
        };
        if !self.keys.contains(&header.key) {
            if self.keys.len() >= KEYS {
                self.keys.remove(0);
            }
            self.keys.push(header.key);
        }
        if header.format == Format::Diag {
            return;
        }
        self.sync[from] = header.sync;
        let end = match header.format {
            Format::Data => header.seq + payload.len() as u64,
            Format::Cntl | Format::First | Format::Ecntl | Format::Tcntl | Format::Jcntl | Format::Diag => header.seq,
        };
        self.sent[from] = self.sent[from].max(end);
        if header.format.is_control()
            && let Ok((control, _)) = Control::parse(payload)
        {
            self.control[from] = control;
        }
    }

    /// A number near `about`, or far from it.
    fn near(draw: &mut Draw<'_>, about: u64) -> u64 {
        match draw.octet() {
            0..=0x3f => about,
            0x40..=0x9f => about.wrapping_add(draw.octet().into()).wrapping_sub(0x40),
            0xa0..=0xdf => about.wrapping_add(draw.word().into()).wrapping_sub(0x4000),
            0xe0..=0xef => 0,
            _ => u64::from_be_bytes(draw.array()),
        }
    }

    fn sync_near(draw: &mut Draw<'_>, about: u32) -> u32 {
        let near = Self::near(draw, about.into()) & u64::from(u32::MAX);
        u32::try_from(near).unwrap()
    }

    /// A packet that could be from the sender of `octets`: with its key or another that is known, with numbers that may
    /// be.
    fn forgery(&self, from: usize, octets: &[u8], draw: &mut Draw<'_>) -> Vec<u8> {
        let Some((mut header, _)) = Self::read(octets) else {
            return octets.to_vec();
        };
        let to = 1 - from;
        let what = draw.octet();
        if what & 0x10 != 0 {
            // A key that was used, in either form.
            header.key = self.keys[draw.below(self.keys.len())];
        }
        if what & 0x20 != 0 {
            header.key = if header.key.is_returned() { header.key.own() } else { header.key.returned() };
        }
        header.options = if what & 0x40 != 0 {
            Options::from_bits(draw.long())
        } else {
            let one = [
                Options::NONE,
                Options::SREQ,
                Options::DREQ,
                Options::EDGE,
                Options::END,
                Options::WCLOSE,
                Options::RCLOSE,
                Options::WCLOSE.with(Options::RCLOSE),
                Options::RES,
                Options::NOERR,
                Options::FASTNAK,
                Options::EOM,
            ];
            header.options | one[draw.below(one.len())]
        };
        if !header.options.contains(Options::SORT) {
            header.sort = 0;
        }
        header.sync = Self::sync_near(draw, self.sync[from]);
        header.seq = Self::near(draw, self.sent[from]);
        let payload = self.payload(&mut header, what & 7, (from, to), draw);
        header.dlen = u32::try_from(payload.len()).unwrap();
        let mut packet = vec![0; LEN];
        header.emit(&mut packet);
        packet.extend(payload);
        // Sums are put right there.
        behind(octets, XTP, &packet)
    }

    fn payload(&self, header: &mut Header, kind: u8, (from, to): (usize, usize), draw: &mut Draw<'_>) -> Vec<u8> {
        let last = self.control[from];
        let control = Control {
            rseq: Self::near(draw, last.rseq),
            alloc: Self::near(draw, last.alloc),
            echo: Self::sync_near(draw, self.sync[to]),
        };
        let mut out = vec![0; control.len()];
        control.emit(&mut out);
        match kind {
            0..=1 => header.format = Format::Cntl,
            2..=3 => {
                header.format = Format::Ecntl;
                let mut at = control.rseq;
                let spans = (0..draw.below(8)).map(|_| {
                    let left = Self::near(draw, at);
                    at = Self::near(draw, left);
                    Span { left, right: at }
                });
                let errors = Errors { control, spans: spans.collect() };
                out = vec![0; errors.len()];
                errors.emit(&mut out);
            }
            4 => {
                header.format = Format::Tcntl;
                out.extend([0; 4]);
                let key = self.keys[draw.below(self.keys.len())];
                out.extend(key.0.to_be_bytes());
                out.extend([0, 24, 4, 1]);
                out.extend(draw.array::<20>());
            }
            5 => {
                header.format = Format::Diag;
                out = vec![0, 0, 0, draw.octet() % 9, 0, 0, 0, draw.octet() % 14];
            }
            6 => {
                header.format = Format::First;
                out = vec![0, 8, 0, 0, 0, 0, 0, 0, 0, 8, 4, 0, 0, 0, 0, 0];
                out.extend(draw.take(40));
            }
            _ => {
                header.format = Format::Data;
                let len = 1 + draw.below(64);
                out = draw.take(len).to_vec();
                out.resize(len + if header.options.contains(Options::BTAG) { 8 } else { 0 }, 1);
            }
        }
        out
    }
}
