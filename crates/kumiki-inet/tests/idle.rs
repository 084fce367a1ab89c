//! What an idle connection takes of memory: both ends, with what tables and timers keep for it, as the allocator counts
//! it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use core::net::{Ipv4Addr, SocketAddr};

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, DeviceId, Duration, Graph, Handle, Indication, Instant, Mode, Open,
    Protocol, Request, Service, Shape, TaskId,
};
use kumiki_inet::tcp::{Tcp, defaults};
use kumiki_octets::Message;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const STACK: Below = Below(0);
const CALLED: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 80);
/// So many connections: hardly fewer than tables have places then, and enough for nothing else to count.
const COUNT: u32 = 8000;

const fn user(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

/// Calls [`COUNT`] times, or takes whoever calls and answers each octet. It keeps nothing of a connection.
struct Program {
    calls: bool,
    /// How many octets the one who calls sends on each connection: one, or none.
    exchanges: u64,
    open: u32,
    octets: u64,
}

impl Program {
    fn new(calls: bool, exchanges: u64) -> Self {
        Self { calls, exchanges, open: 0, octets: 0 }
    }
}

impl Protocol for Program {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        if !self.calls {
            let mode = Mode::Passive { backlog: COUNT };
            let open = Open { user: user(u32::MAX), mode, local: CALLED.into(), ..Open::default() };
            cx.down(STACK, Request::Open(Box::new(open)));
            return;
        }
        for index in 0..COUNT {
            let (mode, remote) = (Mode::Active, Address::from(CALLED));
            let open = Open { user: user(index), mode, remote, ..Open::default() };
            cx.down(STACK, Request::Open(Box::new(open)));
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let octet = |session| Request::Data { session, data: Message::from_octets(b"x"), end: true };
        if let Indication::Opened(opened) = indication {
            if self.calls {
                self.open += 1;
                if self.exchanges > 0 {
                    cx.down(STACK, octet(opened.provider));
                }
            }
        } else if let Indication::Offered(offered) = indication {
            self.open += 1;
            let accept = Accept { session: offered.provider, user: offered.provider, ..Accept::default() };
            cx.down(STACK, Request::Accept(Box::new(accept)));
        } else if let Indication::Data { session, data, .. } = indication
            && !self.calls
        {
            // The one who was called has the provider's handle for its own.
            self.octets += data.len() as u64;
            let credit = Credit::octets(data.len() as u64);
            cx.down(STACK, Request::Credit { session, credit });
            cx.down(STACK, octet(session));
        }
    }
}

/// A program on TCP on a device.
struct Host {
    graph: Graph,
    task: TaskId,
    device: DeviceId,
}

impl Host {
    fn new(address: Ipv4Addr, program: Program) -> Self {
        let mut graph = Graph::new(1, address.to_bits().into());
        let task = graph.add_task("host");
        let device = graph.add_device("line", Service::UNIT_DATA).unwrap();
        let config = kumiki_inet::tcp::Config { address: address.into(), ..defaults::modern() };
        graph.add_node("tcp", task, Box::new(Tcp::new(config))).unwrap();
        graph.add_node("program", task, Box::new(program)).unwrap();
        graph.connect("tcp", "line").unwrap();
        graph.connect("program", "tcp").unwrap();
        graph.start(Instant::ZERO).unwrap();
        Self { graph, task, device }
    }

    fn program(&self) -> &Program {
        self.graph.find("program").unwrap()
    }
}

/// Lets both run for `time`, over a line without delay.
fn run(hosts: &mut [Host; 2], time: Duration) {
    let end = Instant::ZERO + time;
    let mut now = Instant::ZERO;
    while now <= end {
        let mut moved = true;
        while core::mem::take(&mut moved) {
            for from in 0..2 {
                let Host { graph, task, .. } = &mut hosts[from];
                graph.fire(now);
                while graph.waiting(*task).is_some() {
                    graph.run(*task, now, 64);
                    moved = true;
                }
                while let Some(output) = hosts[from].graph.output() {
                    if let Request::Unit(unit) = output.request {
                        let Host { graph, device, .. } = &mut hosts[1 - from];
                        graph.input(now, *device, Indication::Unit(unit));
                        moved = true;
                    }
                }
            }
        }
        let next = hosts.iter_mut().filter_map(|host| host.graph.next_timer()).min();
        now = next.unwrap_or(Instant::FAR_FUTURE);
    }
}

/// Octets of one connection at one end.
fn taken(exchanges: u64) -> usize {
    let hosts = |exchanges| {
        [(Ipv4Addr::new(10, 0, 0, 1), true), (Ipv4Addr::new(10, 0, 0, 2), false)]
            .map(|(address, calls)| Host::new(address, Program::new(calls, exchanges)))
    };
    drop(hosts(0));
    let before = ALLOCATED.current_usage();
    let mut hosts = hosts(exchanges);
    run(&mut hosts, Duration::from_secs(5));
    let taken = ALLOCATED.current_usage() - before;
    let [caller, called] = &hosts;
    assert_eq!((caller.program().open, called.program().open), (COUNT, COUNT));
    assert_eq!(called.program().octets, exchanges * u64::from(COUNT));
    taken / 2 / COUNT as usize
}

#[test]
fn an_idle_connection_takes_little_memory() {
    // A field of eight octets more in what each connection keeps is seen.
    for (exchanges, most) in [(0, 1016), (1, 1080)] {
        let taken = taken(exchanges);
        assert!(taken <= most, "{taken} octets at each end after {exchanges} exchanges, expected {most} at most");
    }
}
