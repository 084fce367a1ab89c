//! Super-segments between graphs and devices that take them, and those that do not.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixDatagram;
use std::sync::Mutex;

use kumiki_octets::{Checksum, Meta, Sum};

use super::*;

/// What was handed to a [`OneMessageDevice`]: octets, and how they are cut.
type Handed = Arc<Mutex<Vec<(Vec<u8>, Meta)>>>;

/// What came to an [`Echo`]: how long it was, and how it is cut.
type Came = Vec<(usize, Meta)>;

/// A device that has one message, and keeps what it gets.
struct OneMessageDevice {
    socket: UnixDatagram,
    comes: Option<Message>,
    handed: Handed,
    takes: bool,
}

impl RealDevice for OneMessageDevice {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::both(self.socket.as_fd())
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        Ok(self.comes.take().map(Arrival::of))
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        self.handed.lock().unwrap().push((packet.to_vec(), *packet.meta()));
        Ok(Sent::Taken)
    }

    fn takes_super_segments(&self) -> bool {
        self.takes
    }
}

/// Sends back what comes as it came, and remembers how it came.
#[derive(Default)]
struct Echo(Vec<(usize, Meta)>);

impl Protocol for Echo {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            self.0.push((unit.data.len(), *unit.data.meta()));
            cx.down(Below(0), Request::Unit(unit));
        }
    }
}

/// IPv4 and TCP with the sum of the pseudo header, and 2500 octets of text in segments of 1000.
fn whole() -> Message {
    let mut octets = vec![0x45, 0, 0, 0, 0, 9, 0, 0, 64, 6, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2];
    octets.extend([3, 0xe8, 0, 80, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x18, 1, 0xf4, 0, 0, 0, 0]);
    octets.extend((0..2500_u16).map(|octet| octet.to_be_bytes()[1]));
    let total = u16::try_from(octets.len()).unwrap();
    octets[2..4].copy_from_slice(&total.to_be_bytes());
    let sum = Sum::of(&octets[..20]).checksum();
    octets[10..12].copy_from_slice(&sum.to_be_bytes());
    let pseudo = Sum::of(&octets[12..20]).add_u16(6).add_u16(total - 20).folded();
    octets[36..38].copy_from_slice(&pseudo.to_be_bytes());
    let mut message = Message::from_octets(&octets);
    *message.meta_mut() =
        Meta { segment_size: 1000, header_len: 40, ace: false, checksum: Checksum::Partial { start: 20, field: 16 } };
    message
}

fn is_intact(packet: &[u8]) -> bool {
    let tcp = u16::try_from(packet.len() - 20).unwrap();
    Sum::of(&packet[12..]).add_u16(6).add_u16(tcp).is_valid() && Sum::of(&packet[..20]).is_valid()
}

/// What a graph behind such a device gets, and what the device gets back.
fn crossed(message: Message, takes: bool, burst: u32) -> (Came, Vec<(Vec<u8>, Meta)>, RealCounters) {
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    graph.add_device("dev", Service::FRAME).unwrap();
    graph.add_node("echo", task, Box::<Echo>::default()).unwrap();
    graph.connect("echo", "dev").unwrap();
    let mut executor = Executor::new(ManualClock::default(), Pace::default());
    let id = executor.add_graph("a", graph);
    executor.set_device(id, DEVICE, DeviceConfig { mtu: 1500, burst });
    let handed = Handed::default();
    let (socket, _other) = UnixDatagram::pair().unwrap();
    let shelf = OneMessageDevice { socket, comes: Some(message), handed: Arc::clone(&handed), takes };
    let real = executor.add_real(Box::new(shelf)).unwrap();
    executor.plug(Plug::Device(id, DEVICE), Plug::Real(real));
    executor.start().unwrap();
    executor.run(Duration::from_millis(1), |_| false);
    let graph = executor.graph(id).unwrap();
    let came = graph.protocol::<Echo>(graph.node("echo").unwrap()).unwrap().0.clone();
    let handed = core::mem::take(&mut *handed.lock().unwrap());
    (came, handed, executor.real_counters(real))
}

#[test]
fn between_a_graph_and_a_device_that_take_them_they_cross_as_they_are() {
    let (came, handed, counters) = crossed(whole(), true, 16);
    assert_eq!(came, [(2540, *whole().meta())]);
    assert_eq!(handed, [(whole().to_vec(), *whole().meta())]);
    assert_eq!((counters.received, counters.super_received), (3, 1));
    assert_eq!((counters.sent, counters.super_sent), (3, 1));
}

#[test]
fn a_graph_that_takes_none_gets_packets_each_complete() {
    let (came, handed, counters) = crossed(whole(), true, 1);
    let plain = Meta::default();
    assert_eq!(came, [(1040, plain), (1040, plain), (540, plain)]);
    assert!(handed.len() == 3 && handed.iter().all(|(packet, _)| is_intact(packet)));
    assert_eq!((counters.sent, counters.super_sent), (3, 0));
}

#[test]
fn a_device_that_takes_none_gets_packets_each_complete() {
    let (came, handed, counters) = crossed(whole(), false, 16);
    assert_eq!(came.len(), 1);
    let lengths: Vec<usize> = handed.iter().map(|(packet, _)| packet.len()).collect();
    assert_eq!(lengths, [1040, 1040, 540]);
    assert!(handed.iter().all(|(packet, meta)| is_intact(packet) && *meta == Meta::default()));
    assert_eq!(counters.sent, 3);
}

#[test]
fn a_checksum_that_was_left_out_is_written_where_the_packet_goes_on() {
    let mut single = whole();
    single.meta_mut().segment_size = 0;
    single.meta_mut().header_len = 0;
    let (came, handed, _) = crossed(single.clone(), false, 16);
    assert_eq!(came, [(2540, *single.meta())]);
    assert!(is_intact(&handed[0].0) && handed.len() == 1);
    // Who takes super-segments takes it as it is.
    let (_, handed, _) = crossed(single.clone(), true, 16);
    assert_eq!(handed, [(single.to_vec(), *single.meta())]);
}
