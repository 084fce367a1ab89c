//! A bottleneck as small as can be: one line with a queue that drops what does not fit, senders that always have data,
//! and answers that come back without loss.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kumiki_graph::{Duration, Instant, Rng};

use super::flows::{Flow, Message};

/// The line that all packets cross.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// In bit/s.
    pub(super) rate: u64,
    /// Both ways together.
    pub(super) rtt: Duration,
    /// Packets that wait besides the one that is being sent.
    pub(super) queue: usize,
    /// The chance of a packet to be lost on the way.
    pub(super) loss: f64,
    pub(super) seed: u64,
}

impl Line {
    /// A line whose queue holds `percent` of what the path holds, in packets of `packet` octets.
    pub(super) fn new(rate: u64, rtt: Duration, percent: u64, packet: u32) -> Self {
        let path = u128::from(rate) * u128::from(rtt.as_nanos()) / (8 * 1_000_000_000);
        let packets = path * u128::from(percent) / (100 * u128::from(packet));
        Self { rate, rtt, queue: usize::try_from(packets).unwrap(), loss: 0.0, seed: 1 }
    }
}

#[derive(Debug)]
enum Event {
    /// At the receiver.
    Packet(usize, Packet),
    /// At the sender.
    Answer(usize, Message),
    /// Something of the sender's own.
    Wake(usize),
}

/// What a sender puts on the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Its number in the stream; none of a control packet.
    pub(super) number: Option<u64>,
    /// The how manieth packet it is on the line, of its sender.
    pub(super) order: u64,
    /// A question.
    pub(super) sync: Option<u32>,
    /// Octets.
    pub(super) length: u64,
}

/// What of a stream has arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrived {
    /// All before this.
    pub(super) next: u64,
    /// And these.
    pub(super) others: BTreeSet<u64>,
}

impl Arrived {
    fn add(&mut self, number: u64) {
        if number >= self.next {
            self.others.insert(number);
        }
        while self.others.remove(&self.next) {
            self.next += 1;
        }
    }

    pub(super) fn has(&self, number: u64) -> bool {
        number < self.next || self.others.contains(&number)
    }
}

struct Sender {
    flow: Box<dyn Flow>,
    start: Instant,
    stop: Instant,
    arrived: Arrived,
    woken: Option<Instant>,
}

/// Line and senders.
pub(super) struct World {
    line: Line,
    now: Instant,
    /// Events by time and by the order in which they came up.
    events: BTreeMap<(Instant, u64), Event>,
    made: u64,
    /// When each packet in the queue has left it.
    departures: VecDeque<Instant>,
    senders: Vec<Sender>,
    rng: Rng,
    /// Packets that did not fit into the queue, by sender.
    pub(super) dropped: Vec<u64>,
}

impl World {
    pub(super) fn new(line: Line) -> Self {
        Self {
            line,
            now: Instant::ZERO,
            events: BTreeMap::new(),
            made: 0,
            departures: VecDeque::new(),
            senders: Vec::new(),
            rng: Rng::new(line.seed, 0),
            dropped: Vec::new(),
        }
    }

    /// A sender from `start` to `stop`.
    pub(super) fn add(&mut self, flow: Box<dyn Flow>, start: Duration, stop: Duration) {
        let start = Instant::ZERO + start;
        self.push(start, Event::Wake(self.senders.len()));
        self.senders.push(Sender {
            flow,
            start,
            stop: Instant::ZERO + stop,
            arrived: Arrived::default(),
            woken: Some(start),
        });
        self.dropped.push(0);
    }

    /// Changes the line from now on.
    pub(super) fn set_rate(&mut self, rate: u64) {
        self.line.rate = rate;
    }

    pub(super) fn set_loss(&mut self, loss: f64) {
        self.line.loss = loss;
    }

    /// The congestion window of a sender, in octets.
    pub(super) fn window(&self, sender: usize) -> u64 {
        self.senders[sender].flow.window()
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.made += 1;
        self.events.insert((at, self.made), event);
    }

    /// Octets in order at each receiver.
    pub(super) fn delivered(&self) -> Vec<u64> {
        let senders = self.senders.iter();
        senders.map(|it| it.arrived.next * it.flow.packet()).collect()
    }

    pub(super) fn run_until(&mut self, end: Instant) {
        while let Some(entry) = self.events.first_entry() {
            if entry.key().0 > end {
                break;
            }
            let ((at, _), event) = entry.remove_entry();
            self.now = at;
            match event {
                Event::Packet(sender, packet) => self.on_packet(sender, packet),
                Event::Answer(sender, message) => {
                    self.senders[sender].flow.on_answer(&message, at);
                    self.send(sender);
                }
                Event::Wake(sender) => {
                    if self.senders[sender].woken == Some(at) {
                        self.senders[sender].woken = None;
                        self.send(sender);
                    }
                }
            }
        }
        self.now = end;
    }

    fn on_packet(&mut self, sender: usize, packet: Packet) {
        let it = &mut self.senders[sender];
        if let Some(number) = packet.number {
            it.arrived.add(number);
        }
        if let Some(message) = it.flow.answer(&packet, &it.arrived) {
            let at = self.now + self.line.rtt / 2;
            self.push(at, Event::Answer(sender, message));
        }
    }

    fn send(&mut self, sender: usize) {
        let now = self.now;
        if now < self.senders[sender].start || now >= self.senders[sender].stop {
            return;
        }
        while let Some(packet) = self.senders[sender].flow.next(now) {
            self.carry(sender, packet);
        }
        let wake = self.senders[sender].flow.wake(now);
        let Some(at) = wake.map(|at| at.max(now + Duration::from_nanos(1))) else {
            return;
        };
        if self.senders[sender].woken != Some(at) {
            self.senders[sender].woken = Some(at);
            self.push(at, Event::Wake(sender));
        }
    }

    fn carry(&mut self, sender: usize, packet: Packet) {
        while self.departures.front().is_some_and(|it| *it <= self.now) {
            self.departures.pop_front();
        }
        if self.departures.len() > self.line.queue {
            self.dropped[sender] += 1;
            return;
        }
        let free = self.departures.back().map_or(self.now, |it| *it);
        let time = packet.length * 8 * 1_000_000_000 / self.line.rate;
        let departure = free + Duration::from_nanos(time);
        self.departures.push_back(departure);
        if !self.rng.chance(self.line.loss) {
            let at = departure + self.line.rtt / 2;
            self.push(at, Event::Packet(sender, packet));
        }
    }
}
