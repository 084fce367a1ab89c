//! Devices of the machine: batches, room to wait for, failure.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixDatagram;
use std::sync::Mutex;

use super::*;
use crate::line::{Line, Opening};

/// Longer than anything here takes, and an end to what would hang.
const TIMEOUT: Duration = Duration::from_secs(50);

/// One end of a pair of sockets that keeps datagrams apart, as a device does.
struct Pair {
    socket: UnixDatagram,
    /// How many more it takes.
    room: Arc<Mutex<usize>>,
}

impl RealDevice for Pair {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::both(self.socket.as_fd())
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let mut octets = [0; 64];
        match self.socket.recv(&mut octets) {
            Ok(0) => Err(io::ErrorKind::BrokenPipe.into()),
            Ok(read) => Ok(Some(Arrival::of(Message::from_octets(&octets[..read])))),
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(why) => Err(why),
        }
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        let mut room = self.room.lock().unwrap();
        if packet.is_empty() {
            return Ok(Sent::Refused);
        }
        if *room == 0 {
            return Ok(Sent::Full);
        }
        *room -= 1;
        self.socket.send(&packet.to_vec())?;
        Ok(Sent::Taken)
    }
}

/// Says everything back, and puts down how much came between two decisions.
#[derive(Default)]
struct Parrot {
    batch: usize,
    batches: Vec<usize>,
}

impl Protocol for Parrot {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            self.batch += 1;
            send(&unit.data.to_vec(), cx);
        }
    }

    fn settle(&mut self, _: &mut Context<'_>) {
        if self.batch > 0 {
            self.batches.push(core::mem::take(&mut self.batch));
        }
    }
}

/// A parrot in the time of `clock` behind one end of a pair, and the other end.
fn parrot<C: Clock>(clock: C, pace: Pace, room: &Arc<Mutex<usize>>) -> (Executor<C>, GraphId, RealId, UnixDatagram) {
    let (near, far) = UnixDatagram::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    graph.add_device("dev", Service::FRAME).unwrap();
    let node = Box::<Parrot>::default();
    graph.add_node("parrot", task, node).unwrap();
    graph.connect("parrot", "dev").unwrap();
    let mut executor = Executor::new(clock, pace);
    let id = executor.add_graph("a", graph);
    let device = Pair { socket: near, room: Arc::clone(room) };
    let real = executor.add_real(Box::new(device)).unwrap();
    executor.plug(Plug::Device(id, DEVICE), Plug::Real(real));
    executor.start().unwrap();
    (executor, id, real, far)
}

fn come(far: &UnixDatagram) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut octet = [0];
    while far.recv(&mut octet).is_ok() {
        octets.extend(octet);
    }
    octets
}

#[test]
fn what_came_together_is_one_batch_and_goes_back_in_order() {
    let room = Arc::new(Mutex::new(100));
    let pace = Pace { batch: 4, ..Pace::default() };
    let (mut executor, id, real, far) = parrot(ManualClock::default(), pace, &room);
    // The start of the graph is an input too.
    executor.run(Duration::from_millis(1), |_| false);
    let said: Vec<u8> = (1..=10).collect();
    for octet in &said {
        far.send(&[*octet]).unwrap();
    }
    let ended = executor.run(Duration::from_millis(1), |_| false);
    assert_eq!(ended, ExecutorEnd::TimedOut, "more may come at any time");
    assert_eq!(come(&far), said);
    let graph = executor.graph(id).unwrap();
    let parrot: &Parrot = graph.protocol(graph.node("parrot").unwrap()).unwrap();
    assert_eq!(parrot.batches, [4, 4, 2]);
    let counters = RealCounters { received: 10, sent: 10, batches: 3, ..RealCounters::default() };
    assert_eq!(executor.real_counters(real), counters);
}

#[test]
fn what_finds_no_room_waits_in_order_and_too_much_is_dropped_and_counted() {
    let room = Arc::new(Mutex::new(1));
    let pace = Pace { queue: 3, ..Pace::default() };
    let (mut executor, _, real, far) = parrot(ManualClock::default(), pace, &room);
    for octet in 1..=6 {
        far.send(&[octet]).unwrap();
    }
    executor.run(Duration::from_millis(1), |_| false);
    assert_eq!(come(&far), [1]);
    *room.lock().unwrap() = 2;
    executor.run(Duration::from_millis(1), |_| false);
    assert_eq!(come(&far), [2, 3]);
    // What comes now goes behind what waits.
    far.send(&[7]).unwrap();
    *room.lock().unwrap() = 100;
    executor.run(Duration::from_millis(1), |_| false);
    assert_eq!(come(&far), [4, 7]);
    let counters = executor.real_counters(real);
    assert_eq!((counters.waited, counters.overflowed, counters.sent), (3, 2, 5));
    assert_eq!(counters.unsent_octets, 2);
}

#[test]
fn a_packet_ends_a_wait_in_real_time() {
    let room = Arc::new(Mutex::new(100));
    let (mut executor, _, real, far) = parrot(RealClock::start(), Pace::default(), &room);
    let sender = std::thread::spawn(move || {
        far.send(&[1]).unwrap();
        far
    });
    let ended = executor.run(TIMEOUT, |executor| executor.real_counters(real).sent == 1);
    assert_eq!(ended, ExecutorEnd::Done);
    assert_eq!(come(&sender.join().unwrap()), [1]);
}

/// A device in front of which there is so much that is no unit.
struct InFront(usize, Box<dyn RealDevice>);

impl RealDevice for InFront {
    fn descriptors(&self) -> Descriptors<'_> {
        self.1.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        if self.0 > 0 {
            self.0 -= 1;
            return Ok(Some(Arrival::NoUnit));
        }
        self.1.receive()
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        self.1.send(packet, to)
    }
}

#[test]
fn who_says_that_all_is_done_has_passed_over_what_is_no_unit_and_not_at_once() {
    let room = Arc::new(Mutex::new(100));
    let (mut executor, _, RealId(real), far) = parrot(ManualClock::default(), Pace::default(), &room);
    executor.run(Duration::from_millis(1), |_| false);
    far.send(&[7]).unwrap();
    let (socket, _) = UnixDatagram::pair().unwrap();
    let nobody = Box::new(Pair { socket, room });
    let device = core::mem::replace(&mut executor.real[real].device, nobody);
    executor.real[real].device = Box::new(InFront(10, device));
    for _ in 0..10 {
        assert!(executor.poll(1).is_some() && come(&far).is_empty(), "there is more to do");
    }
    while executor.poll(1).is_some() {}
    assert_eq!(come(&far), [7]);
}

#[test]
fn a_device_that_fails_ends_the_run_and_is_named() {
    let room = Arc::new(Mutex::new(100));
    let (mut executor, _, real, far) = parrot(RealClock::start(), Pace::default(), &room);
    far.send(&[]).unwrap();
    let ended = executor.run(TIMEOUT, |_| false);
    assert_eq!(ended, ExecutorEnd::Failed);
    let Some(Failure::Device(failed, why)) = executor.failure() else {
        panic!("{:?}", executor.failure());
    };
    assert_eq!((*failed, why.kind()), (real, io::ErrorKind::BrokenPipe));
}

/// Puts down what it is told of the line.
#[derive(Default)]
struct Listener(Vec<String>);

impl Protocol for Listener {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Report(report) = indication {
            self.0.push(format!("{report:?}"));
        } else if let Indication::Unit(unit) = indication {
            self.0.push(format!("{} octets", unit.data.len()));
            send(b"x", cx);
        }
    }
}

/// A graph with a [`Listener`] on a line at which anybody may call.
struct Called {
    executor: Executor<RealClock>,
    graph: GraphId,
    path: std::path::PathBuf,
}

impl Called {
    fn new(name: &str) -> Self {
        kumiki_watchdog::minute();
        let mut graph = Graph::new(1, 1);
        let task = graph.add_task("cpu");
        graph.add_device("dev", Service::FRAME).unwrap();
        let node = Box::<Listener>::default();
        graph.add_node("listener", task, node).unwrap();
        graph.connect("listener", "dev").unwrap();
        let mut executor = Executor::new(RealClock::start(), Pace::default());
        let id = executor.add_graph("a", graph);
        let path = std::env::temp_dir().join(format!("kumiki-executor-{}-{name}", std::process::id()));
        let line = Line::open(&Opening::Listen(path.clone()), false).unwrap();
        let real = executor.add_real(Box::new(line)).unwrap();
        executor.plug(Plug::Device(id, DEVICE), Plug::Real(real));
        executor.start().unwrap();
        Self { executor, graph: id, path }
    }

    /// Runs until the graph has been told so many things: these.
    fn is_told(&mut self, things: &[&str]) {
        let id = self.graph;
        let heard = |executor: &Executor<RealClock>| {
            let graph = executor.graph(id).unwrap();
            let node = graph.node("listener").unwrap();
            graph.protocol::<Listener>(node).unwrap().0.clone()
        };
        let ended = self.executor.run(TIMEOUT, |executor| heard(executor).len() >= things.len());
        assert_eq!(
            (heard(&self.executor), ended),
            (things.iter().map(ToString::to_string).collect(), ExecutorEnd::Done)
        );
    }

    /// Somebody calls, and has come when this returns: the kernel takes callers before they are accepted.
    fn call(&self) -> std::os::unix::net::UnixStream {
        let mut peer = std::os::unix::net::UnixStream::connect(&self.path).unwrap();
        io::Write::write_all(&mut peer, b"hello").unwrap();
        peer
    }
}

#[test]
fn a_graph_is_told_when_somebody_comes_to_a_line_and_goes() {
    let mut called = Called::new("comes");
    called.is_told(&["Down"]);
    let peer = called.call();
    called.is_told(&["Down", "Up", "5 octets"]);
    drop(peer);
    called.is_told(&["Down", "Up", "5 octets", "Down"]);
}

/// What is told is how things stand: of a time before the first look nothing is.
#[test]
fn a_graph_hears_of_who_was_at_its_line_first_that_he_is_there() {
    let mut called = Called::new("early");
    let peer = called.call();
    called.is_told(&["Up", "5 octets"]);
    drop(peer);
    called.is_told(&["Up", "5 octets", "Down"]);
}

/// Says each datagram back to who sent it, and puts down who that was.
#[derive(Default)]
struct Answer(Vec<Address>);

impl Protocol for Answer {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            self.0.push(unit.source);
            let back = UnitData { destination: unit.source, ..UnitData::of(unit.data) };
            cx.down(Below(0), Request::Unit(Box::new(back)));
        }
    }
}

#[test]
fn a_graph_is_told_who_sent_each_datagram_and_says_where_each_goes() {
    use crate::udp::{RemoteEnd, Udp};
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    graph.add_device("dev", Service::FRAME).unwrap();
    let node = graph.add_node("answer", task, Box::new(Answer::default())).unwrap();
    graph.connect("answer", "dev").unwrap();
    let any = "127.0.0.1:0";
    let udp = Udp::open(any.parse().unwrap(), RemoteEnd::Any).unwrap();
    let at = udp.local();
    let mut executor = Executor::new(RealClock::start(), Pace::default());
    let id = executor.add_graph("host", graph);
    let real = executor.add_real(Box::new(udp)).unwrap();
    executor.plug(Plug::Device(id, DEVICE), Plug::Real(real));
    executor.start().unwrap();
    let peers = [(); 2].map(|()| std::net::UdpSocket::bind(any).unwrap());
    for (peer, octet) in peers.iter().zip([7, 8]) {
        peer.send_to(&[octet], at).unwrap();
    }
    let ended = executor.run(TIMEOUT, |executor| executor.real_counters(real).sent == 2);
    assert_eq!(ended, ExecutorEnd::Done);
    let told = &executor.graph(id).unwrap().protocol::<Answer>(node).unwrap().0;
    for ((peer, octet), told) in peers.iter().zip([7, 8]).zip(told) {
        let mut octets = [0; 2];
        assert_eq!(peer.recv_from(&mut octets).unwrap(), (1, at));
        assert_eq!(octets[0], octet);
        assert_eq!(told.socket(), Some(peer.local_addr().unwrap()));
    }
}

/// Holds back what it has until the end of the second pass, and then has room to tell of and nothing to be waited for.
#[derive(Default)]
struct Belated {
    flushes: u32,
    is_up: bool,
    told: Arc<AtomicBool>,
}

impl RealDevice for Belated {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::default()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        if !self.is_up {
            self.is_up = true;
            return Ok(Some(Arrival::Up));
        }
        if self.flushes < 2 || self.told.swap(true, Ordering::SeqCst) {
            return Ok(None);
        }
        Ok(Some(Arrival::Room(1)))
    }

    fn send(&mut self, _: &Message, _: Address) -> io::Result<Sent> {
        Ok(Sent::Taken)
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.flushes += 1;
        Ok(self.flushes < 2)
    }
}

#[test]
fn room_that_comes_at_the_end_of_a_pass_is_told_without_waiting() {
    let mut executor = Executor::new(ManualClock::default(), Pace::default());
    let device = Belated::default();
    let told = Arc::clone(&device.told);
    executor.add_real(Box::new(device)).unwrap();
    executor.start().unwrap();
    let ended = executor.run(Duration::from_secs(1), |_| told.load(Ordering::SeqCst));
    assert_eq!(ended, ExecutorEnd::Done);
    assert_eq!(executor.counters().waits, 0);
}
