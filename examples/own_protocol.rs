//! A protocol of one's own in the graph: numbers in front of datagrams, so that what the line delivers twice arrives
//! once.
//!
//! ```text
//! cargo run -p kumiki-examples --example own_protocol
//! ```
//!
//! A layer is a type with three methods: `shape` says how it fits between its neighbours, `push` takes what comes from
//! above, `pop` what comes from below. It answers by handing things on to its `Context`, and never waits. The line here
//! doubles every datagram.

use std::error::Error;

use kumiki_graph::{
    Above, Below, Context, DeviceId, Duration, Graph, Indication, Instant, Protocol, Request, Service, Shape, Unit,
};
use kumiki_link::{Impaired, Impairment};
use kumiki_octets::Message;
use kumiki_sim::{Host, Plug, World};

/// The protocol. Its header is one octet, the number of the datagram; a number that is not the next one is dropped.
#[derive(Default)]
struct Numbered {
    next_sent: u8,
    next_expected: u8,
}

impl Protocol for Numbered {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::UNIT_DATA), needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        let Request::Unit(mut unit) = request else {
            return cx.drop("not a datagram");
        };
        unit.data.push_octets(&[self.next_sent]);
        self.next_sent = self.next_sent.wrapping_add(1);
        cx.down(Below(0), Request::Unit(unit));
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let Indication::Unit(mut unit) = indication else {
            return; // reports of the device
        };
        let Ok(&[number]) = unit.data.front(1) else {
            return cx.drop("too short for a header");
        };
        if number != self.next_expected {
            return cx.drop("not the next number");
        }
        self.next_expected = number.wrapping_add(1);
        if unit.data.pop_header(1).is_ok() {
            cx.up(Above(0), Indication::Unit(unit));
        }
    }
}

/// The user of it: says some words at the start, and prints what it hears.
struct Talker(&'static [&'static str]);

impl Protocol for Talker {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::UNIT_DATA], below: (1, 1), ..Shape::default() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        for word in self.0 {
            cx.down(Below(0), Request::Unit(Box::new(Unit::of(Message::from_octets(word.as_bytes())))));
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            println!("{}: {}", cx.now(), String::from_utf8_lossy(&unit.data.to_vec()));
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
}

fn host(name: &str, words: &'static [&'static str]) -> Result<Host, Box<dyn Error>> {
    let mut graph = Graph::new(1, 0);
    graph.add_device("line", Service::FRAME)?;
    let task = graph.add_task("stack");
    graph.add_node("talker", task, Box::new(Talker(words)))?;
    graph.add_node("numbered", task, Box::<Numbered>::default())?;
    graph.connect("talker", "numbered")?; // wrong neighbours are an error here, which names both
    graph.connect("numbered", "line")?;
    Ok(Host::new(name, graph))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut world = World::new();
    let doubles = Impairment { duplicate: 1.0, delay: Duration::from_millis(5), ..Impairment::default() };
    let line = world.add_element("line", Box::new(Impaired::both(&doubles, 1)));
    let hosts = [host("near", &["one", "two", "three"])?, host("far", &[])?];
    for (port, host) in hosts.into_iter().enumerate() {
        let host = world.add_host(host);
        world.plug(Plug::Device(host, DeviceId(0)), Plug::Port(line, port));
    }
    world.start().map_err(|(host, graph_error)| format!("{host}: {graph_error}"))?;
    world.run_until(Instant::ZERO + Duration::from_secs(1));
    for host in world.hosts() {
        for (node, account) in host.graph.accounts() {
            println!(
                "{} {node}: up {}, down {}, dropped {:?}",
                host.name, account.up.messages, account.down.messages, account.drops
            );
        }
    }
    Ok(())
}
