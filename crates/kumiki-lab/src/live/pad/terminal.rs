//! One terminal at a PAD, and a door for many.

use core::net::SocketAddr;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;

use kumiki_graph::{Address, DeviceId, Duration, Graph, Misfit, Mode, NodeId, Request, Service};
use kumiki_io::line::Console;
use kumiki_io::sockets::{Sockets, SocketsConfig};
use kumiki_io::{
    Arrival, Clock as _, Descriptors, Ended, Plug, RealClock, RealDevice, Sent, Stream, Wish,
    unguessable,
};
use kumiki_octets::Message;
use kumiki_proto::pad::{Config, Outcome, Pad};
use kumiki_proto::pipe::{self, Pipe};
use kumiki_proto::telnet::Telnet;

use super::{Caller, Doors, Journal, Log, Network, Tape, executor, numbered, serve};
use crate::live::gate::Gate;
use crate::live::private::CaptureBudget;
use crate::live::throttle::Kind;
use crate::live::walls::{self, Access, Needs};
use crate::live::{LOOK, LiveError, deepen, system};

/// How long a cleared call waits for the other end to have heard of it.
const FAREWELL: Duration = Duration::from_millis(300);

/// Where a terminal is.
#[derive(Debug)]
pub enum Terminal {
    /// Standard input and output.
    Standard,
    /// A connection of a Telnet program.
    Telnet(TcpStream),
}

/// The operating system's TCP whose listeners are at an address of our choice: XOT only knows its port.
struct Door {
    sockets: Sockets,
    listen: Option<SocketAddr>,
}

impl RealDevice for Door {
    fn descriptors(&self) -> Descriptors<'_> {
        self.sockets.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        self.sockets.receive()
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        self.sockets.send(packet, to)
    }

    fn request(&mut self, mut request: Request) -> io::Result<()> {
        if let (Request::Open(open), Some(listen)) = (&mut request, self.listen)
            && matches!(open.mode, Mode::Passive { .. })
        {
            open.local = listen.into();
        }
        self.sockets.request(request)
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.sockets.flush()
    }
}

/// The graph, and the devices of its network and its terminal.
fn stack(
    network: &Network,
    config: Config,
    has_telnet: bool,
    seed: u64,
) -> Result<(Graph, [DeviceId; 2]), LiveError> {
    let (x25, xot) = network.layers()?;
    let misfit = |misfit: Misfit| LiveError::Line(misfit.to_string());
    let mut graph = Graph::new(seed, 0);
    let task = graph.add_task("cpu");
    let tcp = graph.add_device("tcp", Service::Stream).map_err(misfit)?;
    let tty = graph
        .add_device("terminal", Service::Frame)
        .map_err(misfit)?;
    let config = Config {
        // Whoever came by Telnet and has vanished must not be waited for.
        drains: !has_telnet,
        ..config
    };
    let build = || -> Result<(), Misfit> {
        graph.add_node("xot", task, Box::new(xot))?;
        graph.connect("xot", "tcp")?;
        graph.add_node("x25", task, Box::new(x25))?;
        graph.connect("x25", "xot")?;
        let pipe = Pipe::new(pipe::Config::default());
        graph.add_node("pipe", task, Box::new(pipe))?;
        graph.connect("pipe", "terminal")?;
        graph.add_node("pad", task, Box::new(Pad::new(config)))?;
        graph.connect("pad", "x25")?;
        if has_telnet {
            graph.add_node("telnet", task, Box::new(Telnet::new()))?;
            graph.connect("telnet", "pipe")?;
            graph.connect("pad", "telnet")?;
        } else {
            graph.connect("pad", "pipe")?;
        }
        Ok(())
    };
    build().map_err(misfit)?;
    Ok((graph, [tcp, tty]))
}

/// Serves one terminal until it has gone, or somebody wants an end.
///
/// # Errors
/// [`LiveError`] where this machine cannot do it, or the capture cannot be written.
pub fn run(
    network: &Network,
    config: Config,
    terminal: Terminal,
    wish: Option<&Wish>,
    journal: &dyn Journal,
) -> Result<Outcome, LiveError> {
    let clock = RealClock::start();
    let mut executor = executor(clock);
    let own;
    let wish = match wish {
        Some(wish) => wish,
        None => {
            own = Wish::listen(&executor.bell()).map_err(system("cannot listen to Ctrl-C"))?;
            &own
        }
    };
    let mut sockets = Sockets::new(SocketsConfig::default()).map_err(system("no sockets"))?;
    let listen = match network.listen {
        Some(at) => {
            let bound = sockets.bind(at);
            let bound = bound.map_err(|why| LiveError::Line(why.to_string()))?;
            journal.told(&format!("listens at {bound}"));
            Some(bound)
        }
        None => None,
    };
    let has_telnet = matches!(terminal, Terminal::Telnet(_));
    let seed = unguessable().map_err(system("no random number"))?;
    let (mut graph, [tcp, tty]) = stack(network, config, has_telnet, seed)?;
    let mut tape = Tape::begin(network, &mut graph)?;
    let Some(node) = graph.node("pad") else {
        return Err(LiveError::Line("the stack has no PAD".to_owned()));
    };
    let mut waiting = None;
    let device: Box<dyn RealDevice> = match terminal {
        Terminal::Standard => {
            let console = Console::standard().map_err(system("standard input and output"))?;
            waiting = Some(console.waiting());
            Box::new(console)
        }
        Terminal::Telnet(socket) => {
            Box::new(Stream::new(socket).map_err(system("the terminal's connection"))?)
        }
    };
    let host = executor.add_graph("pad", graph);
    let door = executor
        .add_real(Box::new(Door { sockets, listen }))
        .map_err(system("no descriptor to wait for connections"))?;
    let real = executor
        .add_real(device)
        .map_err(system("no descriptor to wait for the terminal"))?;
    executor.plug(Plug::Device(host, tcp), Plug::Real(door));
    executor.plug(Plug::Device(host, tty), Plug::Real(real));
    executor.start()?;
    let mut over = None;
    let mut failed = None;
    let mut outcome = Outcome::default();
    let ended = loop {
        let ended = executor.run(LOOK, |executor| {
            let Some(graph) = executor.graph_mut(host) else {
                return true;
            };
            if let Some(tape) = &mut tape
                && let Err(why) = tape.take_from(graph)
            {
                failed = Some(why);
                return true;
            }
            let Some(pad) = look(graph, node) else {
                return true;
            };
            outcome = *pad.outcome();
            if !pad.is_over() {
                return wish.is_made();
            }
            let now = clock.now();
            let since = *over.get_or_insert(now);
            let is_shown = waiting
                .as_ref()
                .is_none_or(|waiting| waiting.load(Ordering::Relaxed) == 0);
            let has_left = !outcome.stood || outcome.why.is_some() || now >= since + FAREWELL;
            // Standard output may take what was said last as late as it likes; where it is broken nothing waits for it.
            is_shown && has_left || wish.is_made()
        });
        if ended != Ended::TimedOut {
            break ended;
        }
    };
    if let Some(tape) = tape
        && failed.is_none()
    {
        tape.finish()?;
    }
    if let Some(why) = failed {
        return Err(why);
    }
    if ended == Ended::Failed
        && let Some(why) = executor.failure()
    {
        return Err(LiveError::Line(why.to_string()));
    }
    Ok(outcome)
}

fn look(graph: &Graph, node: NodeId) -> Option<&Pad> {
    graph.protocol::<Pad>(node)
}

/// Serves terminals that come by Telnet, as many as `doors` says, until somebody wants an end.
///
/// # Errors
/// As [`run`]; what goes wrong with one of them is told.
pub fn listen(
    network: &Network,
    config: &Config,
    listener: &TcpListener,
    doors: &Doors,
    journal: &dyn Journal,
) -> Result<(), LiveError> {
    let bell = kumiki_io::Bell::default();
    let wish = Wish::listen(&bell).map_err(system("cannot listen to Ctrl-C"))?;
    deepen(listener);
    let gate = Gate::new(doors.limits, None, RealClock::start());
    let gate = gate.map_err(system("no random number"))?;
    let log = Log::new(journal);
    let budget = CaptureBudget::new(doors.pcap_most);
    let captures = network.pcap.as_deref();
    let captures = captures.map(|path| (walls::above(path), Access::Make));
    let needs = Needs {
        connects: network.gateway.iter().map(SocketAddr::port).collect(),
        ..walls::of_lines([], captures.into_iter().collect())
    };
    walls::raise(&network.walls, &needs)?;
    let each = |caller: Caller| {
        let Caller {
            socket,
            from,
            number,
            ..
        } = caller;
        // Somebody at a terminal has nothing to say to be known.
        if let Err(full) = gate.know(number) {
            log.told(Kind::Dropped, &format!("{from}: dropped, for {full}"));
            return false;
        }
        journal.told(&format!("terminal {number}: {from} is there"));
        let network = Network {
            pcap: numbered(network.pcap.as_ref(), number),
            pcap_budget: budget.clone(),
            ..network.clone()
        };
        let served = run(
            &network,
            config.clone(),
            Terminal::Telnet(socket),
            Some(&wish),
            journal,
        );
        match served {
            Ok(_) => journal.told(&format!("terminal {number}: {from} has gone")),
            Err(why) => journal.told(&format!("terminal {number}: {from}: {why}")),
        }
        true
    };
    serve(listener, &gate, doors, &wish, &each, &log)
}
