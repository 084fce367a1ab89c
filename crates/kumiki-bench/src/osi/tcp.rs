//! Over RFC 1006: a thread, an executor and a graph for each end, and between them a connection of the operating
//! system's TCP on the loopback interface. Beside it the same octets on such a connection without anything above it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use kumiki_files::file_user::FileClient;
use kumiki_files::filestore::FileServer;
use kumiki_files::node::ClientRequest;
use kumiki_graph::pipe::{self, Pipe};
use kumiki_graph::{DeviceId, Duration, Graph, GraphError, NodeId, Protocol, Service};
use kumiki_io::{Clock as _, Executor, ExecutorEnd, GraphId, Pace, Plug, RealClock, Stream};
use kumiki_osi::tpkt::{self, Tpkt};

use super::stack::{self, Content, Shape};
use super::{FileDirection, TimeUse};
use crate::load::cpu_s;

/// A run may take so long.
const LIMIT: Duration = Duration::from_secs(300);

/// Octets of one write and one read of the plain copy: as a [`Stream`] reads.
const PIECE: usize = kumiki_io::stream::PIECE;

/// One end.
struct End {
    executor: Executor<RealClock>,
    clock: RealClock,
    host: GraphId,
    user: NodeId,
}

fn graph(user: Box<dyn Protocol>, shape: Shape, socket: &TcpStream) -> Result<(Graph, NodeId, DeviceId), String> {
    let said = |graph_error: GraphError| graph_error.to_string();
    let end = |at: std::io::Result<core::net::SocketAddr>| at.map_err(|why| why.to_string());
    let pipe = pipe::Config {
        local: end(socket.local_addr())?.into(),
        remote: end(socket.peer_addr())?.into(),
        ..pipe::Config::default()
    };
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let device = graph.add_device("connection", Service::FRAME).map_err(said)?;
    stack::add(&mut graph, task, shape, vec![("user", user)])
        .and_then(|()| {
            graph.add_node("tpkt", task, Box::new(Tpkt::new(tpkt::Config::default())))?;
            graph.add_node("pipe", task, Box::new(Pipe::new(pipe)))?;
            graph.connect("tp0", "tpkt")?;
            graph.connect("tpkt", "pipe")?;
            graph.connect("pipe", "connection")
        })
        .map_err(said)?;
    let node = graph.node("user").ok_or("no user")?;
    Ok((graph, node, device))
}

impl End {
    fn new(user: Box<dyn Protocol>, shape: Shape, socket: TcpStream) -> Result<Self, String> {
        let (graph, user, device) = graph(user, shape, &socket)?;
        // As the programs' executors.
        let pace = Pace { batch: 64, ..Pace::default() };
        let clock = RealClock::start();
        let mut executor = Executor::new(clock, pace);
        let host = executor.add_graph("host", graph);
        let stream = Stream::new(socket).map_err(|why| why.to_string())?;
        let real = executor.add_real(Box::new(stream)).map_err(|why| why.to_string())?;
        executor.plug(Plug::Device(host, device), Plug::Real(real));
        executor.start().map_err(|why| why.to_string())?;
        Ok(Self { executor, clock, host, user })
    }

    /// Runs until `over` says so.
    fn run(&mut self, mut over: impl FnMut(&Graph, NodeId) -> bool) -> Result<(), String> {
        let (host, user) = (self.host, self.user);
        let ended = self.executor.run(LIMIT, |executor| executor.graph(host).is_none_or(|graph| over(graph, user)));
        match ended {
            ExecutorEnd::Done => Ok(()),
            ExecutorEnd::Idle | ExecutorEnd::TimedOut | ExecutorEnd::Failed => Err(format!("{ended:?}")),
        }
    }

    /// Runs until the client has an association and so many operations are done.
    fn reach(&mut self, count: usize, octets: usize) -> Result<(), String> {
        let mut failed = Ok(());
        self.run(|graph, user| match stack::done(graph, user, count, octets) {
            Ok(done) => done,
            Err(why) => {
                failed = Err(why);
                true
            }
        })?;
        failed
    }

    fn want(&mut self, want: ClientRequest) {
        let (now, user) = (self.clock.now(), self.user);
        if let Some(graph) = self.executor.graph_mut(self.host) {
            stack::want(graph, user, now, want);
        }
    }
}

/// Two ends of a connection.
fn connection() -> Result<(TcpStream, TcpStream), String> {
    let made = || {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let calling = TcpStream::connect(listener.local_addr()?)?;
        let (called, _) = listener.accept()?;
        calling.set_nodelay(true)?;
        Ok((calling, called))
    };
    made().map_err(|why: std::io::Error| why.to_string())
}

/// A run.
pub(super) fn run(shape: Shape, content: &Content, check: bool) -> Result<[TimeUse; 2], String> {
    let (calling, called) = connection()?;
    let serving = std::thread::spawn(move || {
        let mut end = End::new(Box::new(stack::server(shape)), shape, called)?;
        end.run(|graph, user| {
            let server: Option<&FileServer> = graph.protocol(user);
            server.is_none_or(|it| it.associations() == 0 && it.door().last_end().is_some())
        })
    });
    let client = stack::client(shape);
    let mut end = End::new(Box::new(client), shape, calling)?;
    end.reach(0, shape.octets)?;
    let mut taken = [TimeUse::default(); 2];
    for (way, taken) in FileDirection::BOTH.into_iter().zip(&mut taken) {
        let operation = content.operation(way, check);
        let (begin, cpu) = (end.clock.now(), cpu_s());
        end.want(ClientRequest::Do(operation));
        end.reach(way as usize + 1, shape.octets)?;
        taken.cpu_s = cpu_s() - cpu;
        taken.wall_s = end.clock.now().saturating_since(begin).as_secs_f64();
    }
    end.want(ClientRequest::End);
    end.run(|graph, user| {
        let client: Option<&FileClient> = graph.protocol(user);
        client.is_none_or(FileClient::is_over)
    })?;
    // The connection ends with it, which who serves may be waiting for.
    drop(end);
    serving.join().map_err(|_| "the server panicked")??;
    Ok(taken)
}

/// The same octets on a connection, written and read by two threads. What is read is kept where `keeps` says so, as a
/// store keeps it, in memory that nobody has used before.
pub(super) fn copy(content: &[u8], keeps: bool) -> Result<TimeUse, String> {
    let (mut writing, mut reading) = connection()?;
    let wanted = content.len();
    let clock = RealClock::start();
    let (begin, cpu) = (clock.now(), cpu_s());
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; if keeps { wanted } else { PIECE }];
        let mut taken = 0;
        while taken < wanted {
            let from = if keeps { taken } else { 0 };
            let room = buffer.get_mut(from..).unwrap_or_default();
            let most = room.len().min(PIECE);
            match reading.read(room.get_mut(..most).unwrap_or_default()) {
                Ok(0) => return Err(format!("{taken} octets of {wanted}")),
                Ok(read) => taken += read,
                Err(why) => return Err(why.to_string()),
            }
        }
        // Given back after the time is taken, as a store does.
        Ok(buffer)
    });
    for piece in content.chunks(PIECE) {
        writing.write_all(piece).map_err(|why| why.to_string())?;
    }
    let kept = reader.join().map_err(|_| "the reader panicked")??;
    let taken = TimeUse { cpu_s: cpu_s() - cpu, wall_s: clock.now().saturating_since(begin).as_secs_f64() };
    drop(kept);
    Ok(taken)
}
