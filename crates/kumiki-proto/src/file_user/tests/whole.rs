//! Both nodes on all seven layers, which meet below transport: paper 4's loopback.

use kumiki_graph::{Duration, Graph, Instant, Protocol};

use super::*;
use crate::acse::{self, Acse};
use crate::filestore::{Config as ServerConfig, FileServer};
use crate::ftam::{self, Ftam};
use crate::loopback::{self, Loopback};
use crate::presentation::{self, Presentation};
use crate::session::{self, Session};
use crate::tp0::{self, Tp0};

/// The layers between the users and the turning point.
const LAYERS: [&str; 6] = ["ftam", "acse", "presentation", "session", "tp0", "loopback"];

fn run(memory: Memory, settings: Settings, plan: Vec<Operation>) -> Graph {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let guard = Guard::new(Box::new(memory));
    let config = Config {
        settings,
        ..Config::default()
    };
    let nodes: [(&str, Box<dyn Protocol>); 8] = [
        (
            "loopback",
            Box::new(Loopback::new(loopback::Config::default())),
        ),
        ("tp0", Box::new(Tp0::new(tp0::Config::default()))),
        (
            "session",
            Box::new(Session::new(session::Config::default())),
        ),
        (
            "presentation",
            Box::new(Presentation::new(presentation::Config::default())),
        ),
        ("acse", Box::new(Acse::new(acse::Config::default()))),
        ("ftam", Box::new(Ftam::new(ftam::Config::default()))),
        (
            "server",
            Box::new(FileServer::new(ServerConfig::default(), guard)),
        ),
        ("client", Box::new(FileClient::new(config, plan))),
    ];
    for (name, protocol) in nodes {
        graph.add_node(name, task, protocol).unwrap();
    }
    for pair in LAYERS.windows(2) {
        graph.connect(pair[0], pair[1]).unwrap();
    }
    graph.connect("server", "ftam").unwrap();
    graph.connect("client", "ftam").unwrap();
    graph.start(Instant::ZERO).unwrap();
    let mut now = Instant::ZERO;
    loop {
        while graph.waiting(task).is_some() {
            graph.run(task, now, 1);
        }
        match graph
            .next_timer()
            .filter(|at| *at <= Instant::ZERO + Duration::from_secs(3600))
        {
            Some(at) => now = at,
            None => return graph,
        }
        graph.fire(now);
    }
}

fn client(graph: &Graph) -> &Client {
    let node = graph.node("client").unwrap();
    graph.protocol::<FileClient>(node).unwrap().client()
}

#[test]
fn a_file_goes_there_and_back_through_seven_layers_and_nobody_copies_it() {
    let shelf = Shelf::default();
    let content: Vec<u8> = (0..1_000_000_u32)
        .map(|at| u8::try_from(at % 251).unwrap())
        .collect();
    let plan = vec![
        put("file", PutMode::New, &content),
        get("file", &shelf),
        Operation::Remove {
            name: "file".into(),
        },
    ];
    let graph = run(Memory::new(), Settings::default(), plan);
    assert!(client(&graph).is_over(), "{:?}", client(&graph).failure());
    assert_eq!(client(&graph).failure(), None);
    assert!(shelf.taken() == content);
    for (name, account) in graph.accounts() {
        if LAYERS.contains(&name) {
            assert_eq!(account.copied, 0, "{name}");
            // Both sides end what is between them, and one of them comes too late.
            let late = |reason: &&str| *reason == "no such connection";
            assert!(
                account.drops.keys().all(late),
                "{name}: {:?}",
                account.drops
            );
        }
    }
}

#[test]
fn a_refused_login_says_why_at_the_top() {
    let memory = Memory::new().with_user("kato", "secret");
    let plan = vec![put("file", PutMode::New, b"x")];
    let graph = run(memory, Settings::default(), plan);
    let failure = client(&graph).failure().unwrap();
    assert!(
        failure
            .code
            .is_some_and(|code| (2000..3000).contains(&code)),
        "{failure}"
    );
}

/// The last data element, the end of data and of the transfer come at once, and the store has no room for the first of them.
#[test]
fn a_store_that_is_full_says_so_although_all_was_sent() {
    for content in [&[1; 500][..], &[1; 50_000]] {
        let memory = Memory::new().with_quota(400);
        let plan = vec![
            put("file", PutMode::New, content),
            Operation::List { name: ".".into() },
        ];
        let graph = run(memory, Settings::default(), plan);
        let client = client(&graph);
        assert!(client.is_over() && client.failure().is_none());
        let failure = client.outcomes()[0].result.clone().unwrap_err();
        assert_eq!(failure.code, Some(5029), "{failure}");
        // Nothing is left of it.
        assert_eq!(client.outcomes()[1].result, Ok(Gain::Entries(Vec::new())));
    }
}
