//! A TCP echo server over a TUN device: Kumiki's TCP and IP in real time, with Linux's TCP as the client.
//!
//! ```text
//! cargo build -p kumiki-examples --example tcp_echo
//! unshare --user --map-root-user --net target/debug/examples/tcp_echo
//! ```
//!
//! It makes the device `kumiki0`, which takes the right to do so: that is why it runs in a network namespace of its
//! own. Linux gets 10.9.0.1 and we are 10.9.0.2. A thread is the client, by the sockets of the standard library. In
//! place of the thread, a line such as `nc 10.9.0.2 7` in the same namespace does as well.

#![cfg(target_os = "linux")]

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Duration, Graph, Handle, Indication, Mode, Open, Protocol, Request, Service,
    Shape,
};
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::tcp::{Tcp, defaults};
use kumiki_io::{Executor, ExecutorEnd, Pace, Plug, RealClock, Tun, unguessable};

const TCP: Below = Below(0);
const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const MTU: u16 = 1500;

/// The server, for one client at a time. What it writes is what it has read, so TCP always has room for it.
#[derive(Default)]
struct Echo {
    connection: Handle,
    is_over: bool,
}

impl Protocol for Echo {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::STREAM], below: (1, 1), ..Shape::default() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let local = SocketAddr::from((OURS, 7)).into();
        let open = Open { mode: Mode::Passive { backlog: 1 }, local, ..Open::default() };
        cx.down(TCP, Request::Open(Box::new(open)));
    }

    fn pop(&mut self, _: Below, heard: Indication, cx: &mut Context<'_>) {
        let session = self.connection;
        if let Indication::Offered(caller) = heard {
            self.connection = caller.provider;
            cx.down(TCP, Request::Accept(Box::new(Accept { session: caller.provider, ..Accept::default() })));
        } else if let Indication::Data { data, .. } = heard {
            let credit = Credit::octets(data.len() as u64);
            cx.down(TCP, Request::Credit { session, credit });
            cx.down(TCP, Request::Data { session, data, end: true });
        } else if let Indication::Released { .. } = heard {
            cx.down(TCP, Request::Release { session, data: None });
        } else if let Indication::Closed { .. } | Indication::Aborted { .. } = heard {
            self.is_over = true;
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
}

/// Linux's side: sends a line, and gives what comes back until the server closes.
fn client() -> std::io::Result<String> {
    let mut stream = TcpStream::connect((OURS, 7))?;
    stream.write_all(b"hello from Linux")?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut graph = Graph::new(unguessable()?, 0); // a stack on a network must not be guessable
    let device = graph.add_device("tun", Service::FRAME)?;
    let task = graph.add_task("stack");
    let echo = graph.add_node("echo", task, Box::<Echo>::default())?;
    graph.add_node("tcp", task, Box::new(Tcp::new(defaults::modern())))?;
    graph.add_node("ip", task, Box::new(Ip::new(ip::Config::host(ip::Interface::new("tun", OURS, 24)))?))?;
    for (upper, lower) in [("echo", "tcp"), ("tcp", "ip"), ("ip", "tun")] {
        graph.connect(upper, lower)?;
    }

    let tun = Tun::open("kumiki0", MTU)?;
    tun.configure_kernel(Ipv4Addr::new(10, 9, 0, 1).into(), 24, MTU)?;
    let mut executor = Executor::new(RealClock::start(), Pace::default());
    let host = executor.add_graph("host", graph);
    let tun = executor.add_real(Box::new(tun))?;
    executor.plug(Plug::Device(host, device), Plug::Real(tun));
    executor.start()?;

    let linux = std::thread::spawn(client);
    let is_over =
        |it: &mut Executor<_>| it.graph(host).and_then(|it| it.protocol::<Echo>(echo)).is_some_and(|it| it.is_over);
    if executor.run(Duration::from_secs(10), is_over) != ExecutorEnd::Done {
        return Err("no client has come and gone in 10 s".into());
    }
    println!("Linux read: {}", linux.join().map_err(|_| "the client has failed")??);
    Ok(())
}
