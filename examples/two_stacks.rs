//! Two TCP/IP stacks and a line between them, in virtual time: the client sends a line of text, the server sends it
//! back.
//!
//! ```text
//! cargo run -p kumiki-examples --example two_stacks
//! ```
//!
//! A host is a graph: a program on TCP, TCP on IP, IP on a device. What crosses from layer to layer are typed
//! primitives, `Request`s down and `Indication`s up. Nobody sends data without credit for it. Time is virtual: the run
//! takes milliseconds of yours, and every run prints the same nanoseconds.

use core::net::{Ipv4Addr, SocketAddr};
use std::error::Error;

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, DeviceId, Duration, Graph, Handle, Indication, Instant, Mode, Open,
    Protocol, Request, Service, Shape,
};
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::tcp::{Tcp, defaults};
use kumiki_link::Wire;
use kumiki_octets::Message;
use kumiki_sim::{Host, Plug, World};

const TCP: Below = Below(0);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// The program on top: it connects to `server`, or listens where there is none.
struct Program {
    name: &'static str,
    server: Option<SocketAddr>,
    /// TCP's name for our connection.
    connection: Handle,
}

impl Protocol for Program {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::STREAM], below: (1, 1), ..Shape::default() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let open = match self.server {
            Some(server) => Open { remote: server.into(), ..Open::default() },
            None => {
                let local = Address::from(SocketAddr::from((SERVER, 7)));
                Open { mode: Mode::Passive { backlog: 1 }, local, ..Open::default() }
            }
        };
        cx.down(TCP, Request::Open(Box::new(open)));
    }

    fn pop(&mut self, _: Below, heard: Indication, cx: &mut Context<'_>) {
        let (name, now) = (self.name, cx.now());
        if let Indication::Offered(caller) = heard {
            println!("{now} {name}: a connection from {}", caller.remote);
            self.connection = caller.provider;
            cx.down(TCP, Request::Accept(Box::new(Accept { session: caller.provider, ..Accept::default() })));
        } else if let Indication::Opened(opened) = heard {
            println!("{now} {name}: open, {}", opened.local);
            self.connection = opened.provider;
        } else if let (Indication::Credit { .. }, Some(_)) = (&heard, self.server.take()) {
            let data = Message::from_octets(b"hello");
            cx.down(TCP, Request::Data { session: self.connection, data, end: true });
        } else if let Indication::Data { data, .. } = heard {
            println!("{now} {name}: read {:?}", String::from_utf8_lossy(&data.to_vec()));
            let (session, credit) = (self.connection, Credit::octets(data.len() as u64));
            cx.down(TCP, Request::Credit { session, credit });
            if name == "server" {
                cx.down(TCP, Request::Data { session, data, end: true });
            } else {
                cx.down(TCP, Request::Release { session, data: None });
            }
        } else if let Indication::Released { .. } = heard {
            println!("{now} {name}: the peer has closed");
            if name == "server" {
                cx.down(TCP, Request::Release { session: self.connection, data: None });
            }
        }
    }

    // Nobody stands above a program.
    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
}

/// A program on TCP on IP on a device called `line`.
fn host(address: Ipv4Addr, program: Program) -> Result<Host, Box<dyn Error>> {
    let name = program.name;
    let mut graph = Graph::new(1, address.to_bits().into()); // the seed, and which of its random streams
    graph.add_device("line", Service::FRAME)?;
    let task = graph.add_task("stack"); // what a CPU schedules: here all layers together
    graph.add_node("program", task, Box::new(program))?;
    graph.add_node("tcp", task, Box::new(Tcp::new(defaults::modern())))?;
    graph.add_node("ip", task, Box::new(Ip::new(ip::Config::host(ip::Interface::new("line", address, 24)))?))?;
    for (upper, lower) in [("program", "tcp"), ("tcp", "ip"), ("ip", "line")] {
        graph.connect(upper, lower)?;
    }
    Ok(Host::new(name, graph))
}

fn main() -> Result<(), Box<dyn Error>> {
    let program = |name, server| Program { name, server, connection: Handle::default() };
    let client = host(Ipv4Addr::new(10, 0, 0, 1), program("client", Some(SocketAddr::from((SERVER, 7)))))?;
    let server = host(SERVER, program("server", None))?;

    let mut world = World::new();
    let line = world.add_element("line", Box::new(Wire::new(Duration::from_millis(10))));
    for (port, host) in [client, server].into_iter().enumerate() {
        let host = world.add_host(host);
        world.plug(Plug::Device(host, DeviceId(0)), Plug::Port(line, port));
    }
    world.start().map_err(|(host, graph_error)| format!("{host}: {graph_error}"))?;
    world.run_until(Instant::ZERO + Duration::from_secs(1));
    Ok(())
}
