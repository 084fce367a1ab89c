//! Both nodes on all seven layers, which meet below transport: paper 4's loopback.

use kumiki_graph::{Duration, Graph, Instant, Protocol, TaskId};

use super::*;
use crate::filestore::{Config as ServerConfig, FileServer};
use crate::ftam::{self, Ftam};
use crate::test_cut::BreakingLine;
use kumiki_graph::loopback::{self, Loopback};
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Tp0};

/// The layers between the users and the turning point.
const LAYERS: [&str; 6] = ["ftam", "acse", "presentation", "session", "tp0", "loopback"];

fn run(memory: Memory, settings: Settings, plan: Vec<Operation>) -> Graph {
    run_cut(memory, settings, plan, Vec::new(), false)
}

fn run_cut(memory: Memory, settings: Settings, plan: Vec<Operation>, after: Vec<usize>, silent: bool) -> Graph {
    let config = Config { settings, ..Config::default() };
    let guard = Guard::new(Box::new(memory));
    let client = FileClient::new(config, plan);
    let (mut graph, task) = built(guard, client, after, silent);
    let mut now = Instant::ZERO;
    while step(&mut graph, task, &mut now) {}
    graph
}

/// Both nodes and what is below them, started.
pub(super) fn built(guard: Guard, client: FileClient, after: Vec<usize>, silent: bool) -> (Graph, TaskId) {
    // So that a test sees the end of it.
    let server = ServerConfig { kept: Duration::from_secs(600), ..ServerConfig::default() };
    let cut = BreakingLine::behind(after, silent);
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let nodes: [(&str, Box<dyn Protocol>); 9] = [
        ("cut", Box::new(cut)),
        ("loopback", Box::new(Loopback::new(loopback::Config::default()))),
        ("tp0", Box::new(Tp0::new(tp0::Config::default()))),
        ("session", Box::new(Session::new(session::Config::default()))),
        ("presentation", Box::new(Presentation::new(presentation::Config::default()))),
        ("acse", Box::new(Acse::new(acse::Config::default()))),
        ("ftam", Box::new(Ftam::new(ftam::Config::default()))),
        ("server", Box::new(FileServer::new(server, guard))),
        ("client", Box::new(client)),
    ];
    for (name, protocol) in nodes {
        graph.add_node(name, task, protocol).unwrap();
    }
    for pair in LAYERS.windows(2) {
        let [above, below] = pair else { continue };
        if *below == "loopback" {
            graph.connect(above, "cut").unwrap();
            graph.connect("cut", below).unwrap();
        } else {
            graph.connect(above, below).unwrap();
        }
    }
    graph.connect("server", "ftam").unwrap();
    graph.connect("client", "ftam").unwrap();
    graph.start(Instant::ZERO).unwrap();
    (graph, task)
}

/// Does what is to be done now, and goes to when there is more, within an hour; false where there is nothing.
pub(super) fn step(graph: &mut Graph, task: TaskId, now: &mut Instant) -> bool {
    while graph.waiting(task).is_some() {
        graph.run(task, *now, 1);
    }
    let hour = Instant::ZERO + Duration::from_secs(3600);
    let Some(at) = graph.next_timer().filter(|at| *at <= hour) else {
        return false;
    };
    *now = at;
    graph.fire(at);
    true
}

pub(super) fn client(graph: &Graph) -> &Plan {
    let node = graph.node("client").unwrap();
    graph.protocol::<FileClient>(node).unwrap().plan()
}

#[test]
fn a_file_goes_there_and_back_through_seven_layers_and_nobody_copies_it() {
    let shelf = MemorySink::default();
    let content: Vec<u8> = (0..1_000_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let plan =
        vec![put("file", PutMode::New, &content), get("file", &shelf), Operation::Remove { name: "file".into() }];
    let graph = run(Memory::new(), Settings::default(), plan);
    assert!(client(&graph).is_over(), "{:?}", client(&graph).failure());
    assert_eq!(client(&graph).failure(), None);
    assert!(shelf.taken() == content);
    for (name, account) in graph.accounts() {
        if LAYERS.contains(&name) {
            assert_eq!(account.copied, 0, "{name}");
            // Both sides end what is between them, and one of them comes too late.
            let late = |reason: &&str| *reason == "no such connection";
            assert!(account.drops.keys().all(late), "{name}: {:?}", account.drops);
        }
    }
}

#[test]
fn a_refused_login_says_why_at_the_top() {
    let memory = Memory::new().with_user("kato", "secret");
    let plan = vec![put("file", PutMode::New, b"x")];
    let graph = run(memory, Settings::default(), plan);
    let failure = client(&graph).failure().unwrap();
    assert!(failure.code.is_some_and(|code| (2000..3000).contains(&code)), "{failure}");
}

pub(super) fn recovering() -> Settings {
    let units = Settings::default().units | FunctionalUnits::RECOVERY | FunctionalUnits::RESTART_DATA_TRANSFER;
    Settings { units, checkpoint_every: 50_000, ..Settings::default() }
}

#[test]
fn a_transfer_goes_on_although_the_responder_has_not_heard_that_it_broke() {
    let shelf = MemorySink::default();
    let content = [7; 500_000];
    let plan = vec![put("file", PutMode::New, &content), get("file", &shelf)];
    let graph = run_cut(Memory::new(), recovering(), plan, vec![100, 450], true);
    assert_eq!(client(&graph).failure(), None);
    for outcome in client(&graph).outcomes() {
        assert_eq!(outcome.result, Ok(Gain::Moved(500_000)));
    }
    assert!(shelf.taken() == content);
    let server: &FileServer = graph.protocol(graph.node("server").unwrap()).unwrap();
    assert_eq!(server.associations(), 0);
    assert_eq!(server.door().counters().aborted, 2);
}

#[test]
fn a_transfer_that_breaks_goes_on_where_it_was() {
    let shelf = MemorySink::default();
    let content: Vec<u8> = (0..1_000_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let plan = vec![
        put("file", PutMode::New, &content),
        get("file", &shelf),
        put("more", PutMode::New, b"x"),
        put("more", PutMode::Append, &content),
    ];
    let settings = recovering();
    // A megabyte is some 600 TPDUs, and its checkpoints are 20 here and 4 there: twice in each transfer.
    let cuts = vec![100, 400, 800, 1000, 1400, 1600];
    let graph = run_cut(Memory::new(), settings, plan, cuts, false);
    let client = client(&graph);
    assert!(client.is_over());
    assert_eq!(client.failure(), None);
    for outcome in client.outcomes() {
        assert!(outcome.result.is_ok(), "{outcome:?}");
    }
    let moved = |n: usize| client.outcomes()[n].result.clone();
    assert_eq!(moved(0), Ok(Gain::Moved(1_000_000)));
    assert_eq!(moved(1), Ok(Gain::Moved(1_000_000)));
    assert!(shelf.taken() == content);
    let node = graph.node("cut").unwrap();
    let cut = graph.protocol::<BreakingLine>(node).unwrap();
    assert_eq!(cut.after, [0; 0], "after {} messages", cut.gone);
    // What was retransmitted is less than the file.
    assert!(cut.gone < 2700, "{}", cut.gone);
    let server: &FileServer = graph.protocol(graph.node("server").unwrap()).unwrap();
    assert_eq!(server.door().counters().aborted, 6);
}

#[test]
fn a_transfer_that_breaks_without_recovery_has_failed() {
    let plan = vec![put("file", PutMode::New, &[7; 500_000])];
    let graph = run_cut(Memory::new(), Settings::default(), plan, vec![100], false);
    let client = client(&graph);
    assert!(client.is_over());
    assert!(client.failure().unwrap().transient);
}

#[test]
fn what_is_interrupted_and_not_recovered_is_given_up_after_a_while() {
    let settings = Settings { recoveries: 1, ..recovering() };
    let plan = vec![put("file", PutMode::New, &[7; 500_000])];
    // The second time it breaks there is no third.
    let graph = run_cut(Memory::new(), settings, plan, vec![100, 200], false);
    assert!(client(&graph).failure().unwrap().transient);
    let mut graph = graph;
    let node = graph.node("server").unwrap();
    let server: &mut FileServer = graph.protocol_mut(node).unwrap();
    assert_eq!(server.door().counters().aborted, 2);
    assert_eq!(server.guard().interrupted(), 0);
    assert_eq!(server.guard().selections(), 0);
}

/// The last data element, the end of data and of the transfer come at once, and the store has no room for the first of
/// them.
#[test]
fn a_store_that_is_full_says_so_although_all_was_sent() {
    for content in [&[1; 500][..], &[1; 50_000]] {
        let memory = Memory::new().with_quota(400);
        let plan = vec![put("file", PutMode::New, content), Operation::List { name: ".".into() }];
        let graph = run(memory, Settings::default(), plan);
        let client = client(&graph);
        assert!(client.is_over() && client.failure().is_none());
        let failure = client.outcomes()[0].result.clone().unwrap_err();
        assert_eq!(failure.code, Some(5029), "{failure}");
        // Nothing is left of it.
        assert_eq!(client.outcomes()[1].result, Ok(Gain::Entries(Vec::new())));
    }
}

/// The last data element and the end of data come at once, and there is no room here for the first of them.
#[test]
fn a_sink_that_fails_at_the_last_element_cancels_all_the_same() {
    for (content, room) in [(&[1; 100][..], 50), (&[1; 20_000][..], 19_000)] {
        let mut memory = Memory::new();
        let file = ContentsType::binary();
        memory.put(&name("file"), file, octets(content), today());
        let full = MemorySink::default();
        full.0.lock().unwrap().2 = Some(room);
        let shelf = MemorySink::default();
        let plan = vec![get("file", &full), get("file", &shelf)];
        let graph = run(memory, Settings::default(), plan);
        let client = client(&graph);
        assert!(client.is_over() && client.failure().is_none());
        let failure = client.outcomes()[0].result.clone().unwrap_err();
        assert_eq!(failure.meaning, "the shelf is full");
        assert!(!full.is_finished());
        assert!(shelf.taken() == content);
    }
}
