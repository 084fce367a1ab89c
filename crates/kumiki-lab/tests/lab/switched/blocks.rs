//! Blocks of X.25 over circuits between three subscribers of an exchange, by users that call again when their call has
//! ended.

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, DeviceId, Duration, Graph, Handle, Indication, Instant, Mode,
    NodeId, Open, Protocol, Reason, Request, Service, Shape, TimerSlot, Token,
};
use kumiki_link::{Carrier, Exchange, ExchangeConfig, Rate, SerialConfig};
use kumiki_octets::Message;
use kumiki_sim::{Host, HostId, Plug, World};
use kumiki_wire::ppp::hdlc::{BitFraming, FcsKind};
use kumiki_x25::lapb::{self, Lapb};
use kumiki_x25::x25::{self, X25};
use kumiki_x25::x32::{self, X32};

/// Octets in a block.
const BLOCK: usize = 500;

/// Listens, takes every call and what comes in it; and calls somebody, and sends it so many blocks, calling again where
/// the call ends before.
struct Talker {
    calls: Option<&'static str>,
    blocks: u32,
    sent: u32,
    session: Option<Handle>,
    /// The session of a call that it has taken.
    taken: Option<Handle>,
    heard: u32,
    ended: Vec<Reason>,
    credit: u32,
    retry: TimerSlot,
    done: Option<Instant>,
}

const CALLER: Handle = Handle { index: 1, generation: 1 };

impl Talker {
    fn new(calls: Option<&'static str>, blocks: u32) -> Self {
        Self {
            calls,
            blocks,
            sent: 0,
            session: None,
            taken: None,
            heard: 0,
            ended: Vec::new(),
            credit: 0,
            retry: TimerSlot::default(),
            done: None,
        }
    }

    fn call(&self, cx: &mut Context<'_>) {
        let Some(number) = self.calls else {
            return;
        };
        let open = Open {
            user: CALLER,
            remote: Address::from(number.parse::<kumiki_octets::Number>().unwrap()),
            ..Open::default()
        };
        cx.down(Below(0), Request::Open(Box::new(open)));
    }

    fn send(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.session else {
            return;
        };
        while self.credit > 0 && self.sent < self.blocks {
            self.credit -= 1;
            self.sent += 1;
            let (data, end) = (Message::from_octets(&[7; BLOCK]), true);
            cx.down(Below(0), Request::Data { session, data, end });
        }
    }
}

impl Protocol for Talker {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let open = Open { user: Handle::default(), mode: Mode::Passive { backlog: 4 }, ..Open::default() };
        cx.down(Below(0), Request::Open(Box::new(open)));
        self.call(cx);
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) if opened.user == CALLER => {
                (self.session, self.credit) = (Some(opened.provider), 0);
            }
            Indication::Offered(offered) => {
                let user = Handle { index: 2, generation: 1 };
                let accept = Accept { session: offered.provider, user, ..Accept::default() };
                self.taken = Some(offered.provider);
                cx.down(Below(0), Request::Accept(Box::new(accept)));
            }
            Indication::Credit { session, credit } if session == CALLER => {
                self.credit += credit.messages;
                self.send(cx);
                // All credit is back: the last block has arrived.
                if self.sent == self.blocks && self.credit >= 7 && self.done.is_none() {
                    self.done = Some(cx.now());
                    let session = self.session.take().unwrap();
                    let (reason, data) = (Reason::User, None);
                    cx.down(Below(0), Request::Abort { session, reason, data });
                }
            }
            Indication::Data { data, .. } => {
                assert_eq!(data.len(), BLOCK);
                self.heard += 1;
                let credit = Credit::messages(1);
                if let Some(session) = self.taken {
                    cx.down(Below(0), Request::Credit { session, credit });
                }
            }
            Indication::Aborted { session, reason, .. } if session == CALLER => {
                self.ended.push(reason);
                self.session = None;
                // What was in flight is retransmitted; how much has arrived, this user does not ask.
                self.sent = 0;
                let after = cx.now() + Duration::from_secs(1);
                cx.set_timer(&mut self.retry, Token::default(), after);
            }
            Indication::Aborted { .. } => self.taken = None,
            Indication::Unit(_)
            | Indication::Opened(_)
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Credit { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        self.call(cx);
    }
}

/// A subscriber: X.25 on LAPB on X.32, which calls `number`.
fn subscriber(seed: u64, number: &str, talker: Talker) -> (Host, NodeId, NodeId) {
    let mut graph = Graph::new(seed, 0);
    let task = graph.add_task("cpu");
    let x32 = x32::Config { number: Some(number.parse().unwrap()), ..x32::Config::default() };
    let x25 = x25::Config {
        role: None,
        idle: Duration::from_secs(5),
        // Two DTEs that restart at once wait a part of it by chance.
        t20: Duration::from_secs(16),
        ..x25::Config::default()
    };
    graph.add_device("line", Service::FRAME).unwrap();
    let circuit = Box::new(X32::new(x32).unwrap());
    let circuit = graph.add_node("x32", task, circuit).unwrap();
    let link = Box::new(Lapb::new(lapb::Config::default()).unwrap());
    graph.add_node("lapb", task, link).unwrap();
    let packets = Box::new(X25::new(x25).unwrap());
    graph.add_node("x25", task, packets).unwrap();
    let talker = graph.add_node("talker", task, Box::new(talker)).unwrap();
    for (upper, lower) in [("x32", "line"), ("lapb", "x32"), ("x25", "lapb"), ("talker", "x25")] {
        graph.connect(upper, lower).unwrap();
    }
    (Host::new("subscriber", graph), talker, circuit)
}

struct Bench {
    world: World,
    subscribers: Vec<(HostId, NodeId, NodeId)>,
}

impl Bench {
    /// Subscribers 100, 200 and 300 with these users, each of whom calls over the number beside it; the network clears
    /// at `clears`.
    fn new(users: [(&str, Talker); 3], clears: &[u64]) -> Self {
        let line = SerialConfig {
            carrier: Carrier::Synchronous {
                rate: Rate::bits_per_second(64_000),
                framing: BitFraming { fcs: FcsKind::Fcs16, opening_flag: false },
            },
            propagation: Duration::from_millis(5),
            say_sent: true,
        };
        let at = |secs: &u64| Instant::ZERO + Duration::from_secs(*secs);
        let config = ExchangeConfig { clears: clears.iter().map(at).collect(), ..ExchangeConfig::new(line) };
        let numbers = ["100", "200", "300"].map(|it| it.parse().unwrap());
        let mut world = World::new();
        let exchange = Exchange::new(config, numbers.to_vec()).unwrap();
        let exchange = world.add_element("exchange", Box::new(exchange));
        let mut subscribers = Vec::new();
        for (port, (number, talker)) in users.into_iter().enumerate() {
            let (host, talker, circuit) = subscriber(port as u64, number, talker);
            let host = world.add_host(host);
            world.plug(Plug::Port(exchange, port), Plug::Device(host, DeviceId(0)));
            subscribers.push((host, talker, circuit));
        }
        world.start().unwrap();
        Self { world, subscribers }
    }

    fn until(&mut self, secs: u64) {
        self.world.run_until(Instant::ZERO + Duration::from_secs(secs));
    }

    fn talker(&mut self, n: usize) -> &Talker {
        let (host, talker, _) = self.subscribers[n];
        let host = self.world.host_mut(host).unwrap();
        host.graph.protocol_mut::<Talker>(talker).unwrap()
    }

    fn circuit(&mut self, n: usize) -> x32::Counters {
        let (host, _, circuit) = self.subscribers[n];
        let host = self.world.host_mut(host).unwrap();
        *host.graph.protocol_mut::<X32>(circuit).unwrap().counters()
    }

    fn count(&self, name: &str) -> u64 {
        let (_, counters) = self.world.media().next().unwrap();
        counters.into_iter().find(|it| it.0 == name).unwrap().1
    }
}

/// Nobody is called.
fn silent() -> Talker {
    Talker::new(None, 0)
}

#[test]
fn a_transfer_that_is_cut_off_goes_on_over_a_new_circuit() {
    let talker = Talker::new(Some("222"), 200);
    // 200 blocks are 12.5 s and more of 64 kbit/s.
    let mut bench = Bench::new([("200", talker), ("100", silent()), ("100", silent())], &[8]);
    bench.until(120);
    assert_eq!(bench.talker(0).ended, [Reason::Down]);
    assert!(bench.talker(0).done.is_some());
    let heard = bench.talker(1).heard;
    assert!((230..300).contains(&heard), "{heard}");
    assert_eq!((bench.count("calls"), bench.count("connected")), (2, 2));
    // By the network, and where the peer is first to end the link after the last call, by the peer.
    let lost = bench.circuit(0).lost;
    assert!((1..=2).contains(&lost), "{lost}");
    // And nothing stands any more: the link was ended after five seconds without a call.
    let stood = bench.count("stood_ns");
    bench.until(600);
    assert_eq!(bench.count("stood_ns"), stood);
    assert_eq!(bench.count("strangers"), 0);
}

#[test]
fn a_subscriber_that_is_busy_is_called_again_until_it_is_free() {
    let [one, other] = [Talker::new(Some("222"), 100), Talker::new(Some("222"), 3)];
    let mut bench = Bench::new([("200", one), ("100", silent()), ("200", other)], &[]);
    bench.until(120);
    assert!(bench.count("busy") >= 1);
    let [first, second] = [0, 2].map(|n| bench.talker(n).done.unwrap());
    assert!(first < second);
    assert_eq!(bench.talker(1).heard, 103);
    // Its user knew nothing of that.
    assert_eq!(bench.talker(2).ended, []);
    assert_eq!(bench.circuit(2).redialled, bench.count("busy"));
}

#[test]
fn two_that_call_each_other_at_once_come_to_one_circuit() {
    let [one, other] = [Talker::new(Some("222"), 3), Talker::new(Some("111"), 3)];
    let mut bench = Bench::new([("200", one), ("100", other), ("100", silent())], &[]);
    bench.until(120);
    assert!(bench.talker(0).done.is_some() && bench.talker(1).done.is_some());
    assert_eq!([0, 1].map(|n| bench.talker(n).heard), [3, 3]);
    assert_eq!(bench.count("connected"), 1);
}
