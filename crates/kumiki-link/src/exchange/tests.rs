use kumiki_wire::ppp::hdlc::{BitFraming, FcsKind};

use super::*;
use crate::{Carrier, Rate};

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

/// 64 kbit/s, with 1 ms from end to end; no stuffing to be counted in what these tests send.
fn config() -> ExchangeConfig {
    ExchangeConfig::new(SerialConfig {
        carrier: Carrier::Synchronous {
            rate: Rate::bits_per_second(64_000),
            framing: BitFraming { fcs: FcsKind::Fcs16, opening_flag: false },
        },
        propagation: Duration::from_millis(1),
        say_sent: true,
    })
}

fn frame(tag: u8, len: usize) -> Unit {
    Unit::Frame { data: Message::from_octets(&vec![tag; len]), address: Address::NONE }
}

/// What a port has heard, in ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PortEvent {
    Call(CircuitReport),
    Frame(u8),
    Sent(bool),
}

/// An exchange, what is said to it, and what its ports hear.
struct Bench {
    exchange: Exchange,
    heard: Vec<(u64, usize, PortEvent)>,
    out: Outlet,
}

const CALLING: PortEvent = PortEvent::Call(CircuitReport::Connected { calling: true });
const CALLED: PortEvent = PortEvent::Call(CircuitReport::Connected { calling: false });

const fn cleared(cause: Cleared) -> PortEvent {
    PortEvent::Call(CircuitReport::Cleared(cause))
}

fn ringing(from: &str) -> PortEvent {
    let from = Some(number(from));
    PortEvent::Call(CircuitReport::Ringing { from })
}

impl Bench {
    fn new(config: ExchangeConfig) -> Self {
        let numbers = ["100", "200", "300"].map(number).to_vec();
        Self { exchange: Exchange::new(config, numbers).unwrap(), heard: Vec::new(), out: Outlet::default() }
    }

    fn hear(&mut self, now: Instant) {
        for (port, unit) in self.out.drain() {
            let what = match unit {
                Unit::Report(report) => {
                    let Report::Special(what) = *report else {
                        panic!("{report:?}");
                    };
                    PortEvent::Call(*what.take().unwrap())
                }
                Unit::Frame { data, .. } => PortEvent::Frame(data.to_vec()[0]),
                Unit::Sent { whole, .. } => PortEvent::Sent(whole),
                Unit::Cells(_) | Unit::Cut { .. } | Unit::Arriving { .. } | Unit::Circuit(_) => {
                    panic!("no subscriber hears this")
                }
            };
            self.heard.push((now.as_nanos() / 1_000_000, port, what));
        }
    }

    fn until(&mut self, ms: u64) {
        let end = Instant::ZERO + Duration::from_millis(ms);
        while let Some(at) = self.exchange.next_deadline().filter(|at| *at <= end) {
            self.exchange.poll(at, &mut self.out);
            self.hear(at);
        }
    }

    fn offer(&mut self, ms: u64, port: usize, unit: Unit) {
        self.until(ms);
        let now = Instant::ZERO + Duration::from_millis(ms);
        self.exchange.offer(now, port, unit, &mut self.out);
        self.hear(now);
    }

    fn say(&mut self, ms: u64, port: usize, what: CircuitManage) {
        self.offer(ms, port, Unit::Circuit(what));
    }

    fn dial(&mut self, ms: u64, port: usize, to: &str) {
        let number = number(to);
        self.say(ms, port, CircuitManage::Dial { number });
    }

    fn take(&mut self) -> Vec<(u64, usize, PortEvent)> {
        core::mem::take(&mut self.heard)
    }

    fn counter(&self, name: &str) -> u64 {
        let all = self.exchange.counters();
        all.iter().find(|(it, _)| *it == name).unwrap().1
    }
}

/// Port 0 has called port 1 at 0, which has answered at 3 s.
fn talking(config: ExchangeConfig) -> Bench {
    let mut bench = Bench::new(config);
    bench.dial(0, 0, "200");
    bench.say(3000, 1, CircuitManage::Answer);
    assert_eq!(bench.take(), [(2000, 1, ringing("100")), (3000, 0, CALLING), (3000, 1, CALLED)]);
    bench
}

#[test]
fn a_call_is_set_up_carries_frames_and_is_cleared() {
    let mut bench = talking(config());
    // 5 octets, the check sequence and a flag: 64 bits are 1 ms.
    bench.offer(3000, 0, frame(1, 5));
    bench.offer(3000, 1, frame(2, 5));
    bench.until(3100);
    assert_eq!(
        bench.take(),
        [
            (3001, 0, PortEvent::Sent(true)),
            (3001, 1, PortEvent::Sent(true)),
            (3002, 1, PortEvent::Frame(1)),
            (3002, 0, PortEvent::Frame(2)),
        ]
    );
    bench.say(4000, 1, CircuitManage::Clear);
    bench.until(5000);
    assert_eq!(
        bench.take(),
        [
            (4000, 0, PortEvent::Sent(false)),
            (4000, 1, PortEvent::Sent(false)),
            (4500, 0, cleared(Cleared::Peer)),
            (4500, 1, cleared(Cleared::Own)),
        ]
    );
    assert_eq!(bench.counter("frames"), 2);
    assert_eq!(bench.counter("stood_ns"), 1_000_000_000);
    assert_eq!(bench.counter("strangers"), 0);
}

#[test]
fn a_frame_needs_a_circuit_that_stands_until_it_has_arrived() {
    let mut bench = Bench::new(config());
    bench.offer(0, 0, frame(1, 5));
    assert_eq!(bench.take(), [(0, 0, PortEvent::Sent(false))]);
    let mut bench = talking(config());
    bench.offer(3000, 0, frame(1, 800));
    bench.say(3050, 1, CircuitManage::Clear);
    bench.until(5000);
    assert!(!bench.take().iter().any(|it| it.2 == PortEvent::Frame(1)));
    assert_eq!(bench.counter("lost"), 1);
}

#[test]
fn a_subscriber_that_has_a_call_is_busy() {
    let mut bench = talking(config());
    bench.dial(4000, 2, "200");
    bench.until(7000);
    assert_eq!(bench.take(), [(6000, 2, cleared(Cleared::Busy))]);
    // And one that calls itself is, too.
    bench.dial(7000, 2, "300");
    bench.until(10_000);
    assert_eq!(bench.take(), [(9000, 2, cleared(Cleared::Busy))]);
}

#[test]
fn nobody_answers_for_as_long_as_it_rings() {
    let mut bench = Bench::new(config());
    bench.dial(0, 0, "200");
    bench.until(40_000);
    assert_eq!(
        bench.take(),
        [(2000, 1, ringing("100")), (32_000, 0, cleared(Cleared::NoAnswer)), (32_000, 1, cleared(Cleared::Peer)),]
    );
}

#[test]
fn a_call_is_refused_or_given_up_or_has_no_such_number() {
    let mut bench = Bench::new(config());
    bench.dial(0, 0, "200");
    bench.say(2500, 1, CircuitManage::Clear);
    bench.dial(3000, 0, "200");
    bench.say(5500, 0, CircuitManage::Clear);
    bench.dial(6000, 0, "999");
    bench.until(9000);
    assert_eq!(
        bench.take(),
        [
            (2000, 1, ringing("100")),
            (2500, 1, cleared(Cleared::Own)),
            (2500, 0, cleared(Cleared::Refused)),
            (5000, 1, ringing("100")),
            (5500, 0, cleared(Cleared::Own)),
            (5500, 1, cleared(Cleared::Peer)),
            (8000, 0, cleared(Cleared::Unobtainable)),
        ]
    );
}

#[test]
fn the_network_clears_what_stands() {
    let clears = vec![Instant::ZERO + Duration::from_secs(4)];
    let mut bench = talking(ExchangeConfig { clears, ..config() });
    bench.until(9000);
    let told: Vec<_> = bench.take().into_iter().filter(|it| it.0 == 4500).collect();
    assert_eq!(told, [(4500, 0, cleared(Cleared::Network)), (4500, 1, cleared(Cleared::Network)),]);
    assert_eq!(bench.counter("cleared"), 1);
}

#[test]
fn of_two_that_call_each_other_at_once_one_gets_through() {
    let mut bench = Bench::new(config());
    bench.dial(0, 0, "200");
    bench.dial(0, 1, "100");
    bench.until(2500);
    // Port 0 is first, and finds port 1 busy with its own call; and so does port 1, for port 0 is free again but port 1
    // is not rung.
    assert_eq!(bench.take(), [(2000, 0, cleared(Cleared::Busy)), (2000, 0, ringing("200"))]);
}

#[test]
fn what_cannot_be_an_exchange_is_said() {
    let numbers = |texts: &[&str]| texts.iter().map(|it| number(it)).collect::<Vec<_>>();
    let said = |texts: &[&str]| Exchange::new(config(), numbers(texts)).err();
    assert_eq!(said(&["100"]), Some(ExchangeError::Few(1)));
    assert_eq!(said(&["100", "200", "100"]), Some(ExchangeError::Twice(0, 2)));
    let none = Exchange::new(config(), vec![number("1"), Number::NONE]).err();
    assert_eq!(none, Some(ExchangeError::NoNumber(1)));
}
