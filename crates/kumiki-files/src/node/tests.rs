//! Both nodes, of FTAM, on a service that only hands across what it is given.

use kumiki_graph::{
    Above, Below, Context, Credit, Duration, Graph, Handle, Indication, Instant, Mode, Offered, Opened, Protocol,
    Request, Service, Shape,
};

use kumiki_osi_service::ftam::{Fpdu, Primitive};

use crate::file_user::tests::{MemorySink, get, put};
use crate::file_user::{Config, FileClient, Operation, PutMode};
use crate::filestore::{Config as ServerConfig, FileServer, Guard, Memory};

/// The file service between two users. Where it is `dead`, it swallows what comes behind F-INITIALIZE.
#[derive(Default)]
struct Across {
    /// Where the server and the client are, and under which handles.
    server: Option<(Above, Handle)>,
    client: Option<(Above, Handle)>,
    accepted: Handle,
    dead: bool,
    aborts: usize,
}

const OF_SERVER: Handle = Handle { index: 1, generation: 1 };
const OF_CLIENT: Handle = Handle { index: 2, generation: 1 };

impl Protocol for Across {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::CONNECTION), needs: &[], below: (0, 0), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        let credit = |session| Indication::Credit { session, credit: Credit::messages(2) };
        let (to, session) = match self.server {
            Some((server, _)) if server == from => {
                (self.client.map_or(from, |(client, _)| client), self.client.map_or(OF_CLIENT, |(_, handle)| handle))
            }
            Some((server, _)) => (server, self.accepted),
            None => (from, OF_CLIENT),
        };
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others are a fault of the user")]
        match request {
            Request::Open(open) if matches!(open.mode, Mode::Passive { .. }) => {
                self.server = Some((from, open.user));
                let opened = Opened { user: open.user, provider: OF_SERVER, ..Opened::default() };
                cx.up(from, Indication::Opened(Box::new(opened)));
            }
            Request::Open(open) => {
                self.client = Some((from, open.user));
                let (server, user) = self.server.unwrap();
                let offered = Offered { user, provider: OF_SERVER, parameters: open.parameters, ..Offered::default() };
                cx.up(server, Indication::Offered(Box::new(offered)));
            }
            Request::Accept(accept) => {
                self.accepted = accept.user;
                let opened =
                    Opened { user: session, provider: OF_CLIENT, parameters: accept.parameters, ..Opened::default() };
                cx.up(to, Indication::Opened(Box::new(opened)));
                cx.up(to, credit(session));
                cx.up(from, credit(self.accepted));
            }
            Request::Special { what, .. } => {
                let Some(Primitive::Pdu(fpdu)) = what.get() else {
                    return cx.up(to, Indication::Special { session, what });
                };
                let ends = matches!(fpdu, Fpdu::TerminateResponse(_));
                let aborts = matches!(fpdu, Fpdu::UserAbort(_));
                self.aborts += usize::from(aborts);
                if self.dead && !aborts {
                    return;
                }
                cx.up(to, Indication::Special { session, what });
                if aborts {
                    let (reason, data) = (kumiki_graph::Reason::User, None);
                    let aborted = Indication::Aborted { session, reason, data };
                    cx.up(to, aborted);
                }
                if ends {
                    cx.up(to, Indication::Closed { session });
                    let session = self.accepted;
                    cx.up(from, Indication::Closed { session });
                }
            }
            Request::Data { data, end, .. } => {
                let data = Indication::Data { session, data, end };
                cx.up(to, data);
            }
            Request::Credit { credit, .. } => cx.up(to, Indication::Credit { session, credit }),
            Request::Abort { .. } => self.aborts += 1,
            other => panic!("{other:?}"),
        }
    }

    fn pop(&mut self, _: Below, _: Indication, _: &mut Context<'_>) {}
}

/// Runs a client's plan until nothing more happens, and the clock to `until`.
fn run(across: Across, config: ServerConfig, plan: Vec<Operation>, until: Duration) -> Graph {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let guard = Guard::new(Box::new(Memory::new()));
    let nodes: [(&str, Box<dyn Protocol>); 3] = [
        ("ftam", Box::new(across)),
        ("server", Box::new(FileServer::new(config, guard))),
        ("client", Box::new(FileClient::new(Config::default(), plan))),
    ];
    for (name, protocol) in nodes {
        graph.add_node(name, task, protocol).unwrap();
    }
    graph.connect("server", "ftam").unwrap();
    graph.connect("client", "ftam").unwrap();
    graph.start(Instant::ZERO).unwrap();
    let mut now = Instant::ZERO;
    loop {
        while graph.waiting(task).is_some() {
            graph.run(task, now, 1);
        }
        match graph.next_timer().filter(|at| *at <= Instant::ZERO + until) {
            Some(at) => now = at,
            None => return graph,
        }
        graph.fire(now);
    }
}

fn server(graph: &Graph) -> &FileServer {
    graph.protocol(graph.node("server").unwrap()).unwrap()
}

fn client(graph: &Graph) -> &FileClient {
    graph.protocol(graph.node("client").unwrap()).unwrap()
}

#[test]
fn a_client_and_a_server_do_a_plan_and_part_in_order() {
    let shelf = MemorySink::default();
    let plan = vec![put("a", PutMode::New, &[5; 50_000]), get("a", &shelf)];
    let config = ServerConfig::default();
    let graph = run(Across::default(), config, plan, Duration::from_secs(3600));
    assert!(client(&graph).is_over());
    assert!(shelf.taken() == [5; 50_000]);
    let server = server(&graph);
    let counters = server.door().counters();
    assert_eq!((counters.accepted, counters.closed), (1, 1));
    assert_eq!((counters.aborted, counters.idle), (0, 0));
    assert_eq!(server.associations(), 0);
}

#[test]
fn an_association_on_which_nothing_comes_is_ended() {
    let across = Across { dead: true, ..Across::default() };
    let plan = vec![put("a", PutMode::New, b"x")];
    let graph = run(across, ServerConfig::default(), plan, Duration::from_secs(3600));
    let server = server(&graph);
    assert_eq!((server.door().counters().idle, server.door().counters().aborted), (1, 1));
    assert_eq!(server.associations(), 0);
    let failure = client(&graph).plan().failure().unwrap();
    assert_eq!(failure.code, Some(1013));
    assert!(failure.transient);
}

#[test]
fn more_associations_than_there_is_room_for_are_refused() {
    let config = ServerConfig { associations: 0, ..ServerConfig::default() };
    let plan = vec![put("a", PutMode::New, b"x")];
    let graph = run(Across::default(), config, plan, Duration::ZERO);
    assert_eq!(server(&graph).door().counters().refused, 1);
    // This service hands the refusal across as an answer; FTAM's says `Aborted` behind it.
    let outcomes = client(&graph).plan().outcomes();
    assert!(outcomes.is_empty());
}

#[test]
fn a_responder_that_falls_silent_is_given_up() {
    let across = Across { dead: true, ..Across::default() };
    let config = ServerConfig { idle: Duration::ZERO, ..ServerConfig::default() };
    let plan = vec![put("a", PutMode::New, b"x")];
    let graph = run(across, config, plan, Duration::from_secs(3600));
    assert!(client(&graph).is_over());
    let failure = client(&graph).plan().failure().unwrap();
    let why = kumiki_graph::Reason::TimedOut.to_string();
    assert_eq!(failure.meaning, why);
}
