//! A medium of one's own: a radio channel that all stations share, where frames that overlap are lost (pure ALOHA).
//!
//! ```text
//! cargo run -p kumiki-examples --example own_medium
//! ```
//!
//! A medium is an `Element` with numbered ports. It is offered what hosts send, says when it next has something to do,
//! and is polled then. The world asks for that time after every call.

use std::error::Error;

use kumiki_graph::{
    Above, Below, Context, Duration, Graph, Indication, Instant, Protocol, Request, Service, Shape, TimerSlot, Token,
    Unit as Datagram,
};
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::Message;
use kumiki_sim::{Host, Plug, World};

/// How long a frame is in the air.
const FRAME: Duration = Duration::from_millis(1);

/// The channel.
struct Radio {
    stations: usize,
    /// When each frame in the air ends, who sends it, and whether it is still whole; in order of time.
    air: Vec<(Instant, usize, Unit, bool)>,
    delivered: u64,
    collided: u64,
}

impl Element for Radio {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, _: &mut Outlet) {
        let is_alone = self.air.is_empty();
        self.air.iter_mut().for_each(|(_, _, _, is_whole)| *is_whole = false);
        self.air.push((now + FRAME, port, unit, is_alone));
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.air.first().map(|(end, ..)| *end)
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        while self.next_deadline().is_some_and(|end| end <= now) {
            let (_, from, unit, is_whole) = self.air.remove(0);
            if is_whole {
                self.delivered += 1;
                (0..self.stations).filter(|to| *to != from).for_each(|to| out.put(to, unit.clone()));
            } else {
                self.collided += 1;
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("delivered", self.delivered), ("collided", self.collided)]
    }
}

/// Sends its name once, at a time of its own, and prints what it hears.
struct Station {
    name: &'static str,
    sends_at: Instant,
    timer: TimerSlot,
}

impl Protocol for Station {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        cx.set_timer(&mut self.timer, Token::default(), self.sends_at);
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        cx.down(Below(0), Request::Unit(Box::new(Datagram::of(Message::from_octets(self.name.as_bytes())))));
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            println!("{} {} hears {}", cx.now(), self.name, String::from_utf8_lossy(&unit.data.to_vec()));
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    // The frames of A and B overlap; that of C has the channel for itself.
    let stations = [("A", 0), ("B", 500), ("C", 3_000)];
    let mut world = World::new();
    let radio = Radio { stations: stations.len(), air: Vec::new(), delivered: 0, collided: 0 };
    let radio = world.add_element("radio", Box::new(radio));
    for (port, (name, microseconds)) in stations.into_iter().enumerate() {
        let sends_at = Instant::ZERO + Duration::from_micros(microseconds);
        let mut graph = Graph::new(1, port as u64);
        let antenna = graph.add_device("antenna", Service::FRAME)?;
        let task = graph.add_task("station");
        graph.add_node("station", task, Box::new(Station { name, sends_at, timer: TimerSlot::default() }))?;
        graph.connect("station", "antenna")?;
        let host = world.add_host(Host::new(name, graph));
        world.plug(Plug::Device(host, antenna), Plug::Port(radio, port));
    }
    world.start().map_err(|(host, graph_error)| format!("{host}: {graph_error}"))?;
    world.run_until(Instant::ZERO + Duration::from_millis(10));
    world.media().for_each(|(name, counters)| println!("{name}: {counters:?}"));
    Ok(())
}
