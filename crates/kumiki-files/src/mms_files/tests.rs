//! Client and server on all layers from MMS to transport, which meet in a loopback; and a line between that can be cut.

use kumiki_graph::Parameters;
use kumiki_graph::Special;
use std::sync::{Arc, Mutex};

use kumiki_graph::{
    Credit, DeviceId, Duration, Graph, Indication, Instant, NodeId, Offered, Protocol, Service, TaskId,
};
use kumiki_octets::Message;
use kumiki_osi_service::Association;
use kumiki_osi_service::acse::{Authentication, Credential};
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::mms::{
    DirectoryEntry, FileAttributes, FileDirectoryResponse, FileName, FileOpen, FileOpened, FileRead, Initiate,
    ObtainFile, PASSWORD_MECHANISM, Pdu, Request as MmsRequest, Response as MmsResponse, file_error,
};

use super::*;
use crate::file_user::{Failure, Gain, Layer, Operation, Plan, PutMode, Sink, Source};
use crate::filestore::tests::{name, today};
use crate::filestore::{Guard, Memory, User};
use crate::mms::{self as environment, Mms};
use crate::node::{End, InitiatingUser as _, RespondingUser as _};
use crate::test_cut::BreakingLine;
use kumiki_graph::loopback::{self, Loopback};
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Tp0};

mod asked;
mod served;

const LAYERS: [&str; 6] = ["mms", "acse", "presentation", "session", "tp0", "cut"];

/// A sink that a test can look into; it goes on behind what is there where the size is the one it knows.
#[derive(Clone, Default)]
struct MemorySink(Arc<Mutex<(Vec<u8>, bool)>>, Option<u64>);

impl MemorySink {
    fn taken(&self) -> Vec<u8> {
        self.0.lock().unwrap().0.clone()
    }
}

impl Sink for MemorySink {
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String> {
        let mut kept = self.0.lock().unwrap();
        kept.0.resize(usize::try_from(offset).unwrap(), 0);
        kept.0.extend(data.to_vec());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.0.lock().unwrap().1 = true;
        Ok(())
    }

    fn opened(&mut self, size: u64, _: Option<&str>, at: u64) -> Result<u64, String> {
        Ok(if self.1.is_none_or(|known| known == size) { at } else { 0 })
    }
}

/// A source that fails behind so many octets.
struct Fails(Message, usize);

impl Source for Fails {
    fn read(&mut self, offset: u64, most: usize) -> Result<Message, String> {
        if usize::try_from(offset).unwrap() >= self.1 {
            return Err("the disk is broken".to_owned());
        }
        self.0.read(offset, most)
    }
}

fn get(name: &str, shelf: &MemorySink) -> Operation {
    let restart_at = shelf.taken().len() as u64;
    Operation::Get { name: name.to_owned(), contents_type: None, restart_at, sink: Box::new(shelf.clone()) }
}

fn put(name: &str, content: &[u8]) -> Operation {
    Operation::Put {
        name: name.to_owned(),
        contents_type: ContentsType::binary(),
        mode: PutMode::Replace,
        source: Box::new(Message::from_octets(content)),
    }
}

fn content(len: u32) -> Vec<u8> {
    (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

/// A store with these files.
fn store(files: &[(&str, &[u8])]) -> Memory {
    let mut memory = Memory::new();
    for (file, content) in files {
        let content = Message::from_octets(content);
        memory.put(&name(file), ContentsType::binary(), content, today());
    }
    memory
}

/// What is as usual.
#[derive(Default)]
struct Usual {
    client: ClientConfig,
    server: Config,
    cut: Option<usize>,
}

/// With PDUs of so many octets and so many services at a time.
fn with(local_detail: i64, outstanding: i64, window: u32) -> Usual {
    let mut usual = Usual::default();
    let settings = &mut usual.client.settings;
    settings.initiate =
        Initiate { local_detail: Some(local_detail), max_serv_outstanding_calling: outstanding, ..settings.initiate };
    settings.window = window;
    usual
}

fn run(memory: Memory, plan: Vec<Operation>) -> Graph {
    run_as(Usual::default(), memory, plan)
}

fn run_as(usual: Usual, memory: Memory, plan: Vec<Operation>) -> Graph {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let cut = BreakingLine::behind(usual.cut.into_iter().collect(), false);
    let loopback = Loopback::new(loopback::Config::default());
    let server = FileServer::new(usual.server, Guard::new(Box::new(memory)));
    let nodes: [(&str, Box<dyn Protocol>); 9] = [
        ("loopback", Box::new(loopback)),
        ("cut", Box::new(cut)),
        ("tp0", Box::new(Tp0::new(tp0::Config::default()))),
        ("session", Box::new(Session::new(session::Config::default()))),
        ("presentation", Box::new(Presentation::new(presentation::Config::default()))),
        ("acse", Box::new(Acse::new(acse::Config::default()))),
        ("mms", Box::new(Mms::new(environment::Config::default()))),
        ("server", Box::new(server)),
        ("client", Box::new(FileClient::new(usual.client, plan))),
    ];
    for (name, protocol) in nodes {
        graph.add_node(name, task, protocol).unwrap();
    }
    for pair in LAYERS.windows(2) {
        let [above, below] = pair else { continue };
        graph.connect(above, below).unwrap();
    }
    graph.connect("cut", "loopback").unwrap();
    graph.connect("server", "mms").unwrap();
    graph.connect("client", "mms").unwrap();
    graph.start(Instant::ZERO).unwrap();
    let mut now = Instant::ZERO;
    loop {
        while graph.waiting(task).is_some() {
            graph.run(task, now, 1);
        }
        match graph.next_timer().filter(|at| *at <= Instant::ZERO + Duration::from_secs(3600)) {
            Some(at) => now = at,
            None => return graph,
        }
        graph.fire(now);
    }
}

fn client(graph: &Graph) -> &Plan {
    let node = graph.node("client").unwrap();
    graph.protocol::<FileClient>(node).unwrap().plan()
}

fn server(graph: &mut Graph) -> &mut FileServer {
    let node = graph.node("server").unwrap();
    graph.protocol_mut::<FileServer>(node).unwrap()
}

fn result(graph: &Graph, at: usize) -> Result<Gain, Failure> {
    client(graph).outcomes()[at].result.clone()
}

/// All was done, and both have ended in order with nothing left open.
fn is_well(graph: &mut Graph) {
    assert!(client(graph).is_over());
    assert_eq!(client(graph).failure(), None);
    for outcome in client(graph).outcomes() {
        assert!(outcome.result.is_ok(), "{outcome:?}");
    }
    let server = server(graph);
    assert_eq!(server.door().last_end(), Some(&End::InOrder));
    assert_eq!(server.associations(), 0);
    assert_eq!(server.guard().selections(), 0);
}

#[test]
fn a_file_goes_there_and_back_through_seven_layers_and_nobody_copies_it() {
    let shelf = MemorySink::default();
    let content = content(1_000_000);
    let plan = vec![put("dir.bin", &content), get("dir.bin", &shelf)];
    let mut graph = run(Memory::new(), plan);
    is_well(&mut graph);
    assert_eq!(result(&graph, 0), Ok(Gain::Moved(1_000_000)));
    assert!(shelf.taken() == content);
    assert!(shelf.0.lock().unwrap().1);
    for (name, account) in graph.accounts() {
        if LAYERS.contains(&name) {
            assert_eq!(account.copied, 0, "{name}");
            let late = |reason: &&str| reason.starts_with("no such");
            assert!(account.drops.keys().all(late), "{name}: {:?}", account.drops);
        }
    }
    let node = graph.node("mms").unwrap();
    let mms: &Mms = graph.protocol(node).unwrap();
    assert_eq!(mms.counters().file_sent, 2_000_000);
    assert_eq!(mms.counters().rejected, 0);
}

#[test]
fn an_empty_file_goes_both_ways() {
    let shelf = MemorySink::default();
    let mut graph = run(Memory::new(), vec![put("empty", b""), get("empty", &shelf)]);
    is_well(&mut graph);
    assert_eq!(result(&graph, 1), Ok(Gain::Moved(0)));
    assert!(shelf.0.lock().unwrap().1, "an empty file is there as well");
}

#[test]
fn files_larger_than_the_smallest_pdu_come_in_pieces_one_or_several_at_a_time() {
    for (outstanding, window) in [(1, 1), (5, 4), (5, 64)] {
        let shelf = MemorySink::default();
        let content = content(10_001);
        let plan = vec![get("file", &shelf), put("copy", &content)];
        let memory = store(&[("file", &content)]);
        let mut graph = run_as(with(64, outstanding, window), memory, plan);
        is_well(&mut graph);
        assert!(shelf.taken() == content);
        assert_eq!(result(&graph, 1), Ok(Gain::Moved(10_001)));
    }
}

#[test]
fn a_directory_longer_than_a_pdu_is_told_in_parts() {
    let files: Vec<String> = (0..300).map(|n| format!("record {n:03}.dat")).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|it| (it.as_str(), &b"x"[..])).collect();
    let plan = vec![Operation::List { name: ".".into() }];
    let mut graph = run_as(with(1000, 5, 1), store(&files), plan);
    is_well(&mut graph);
    let Ok(Gain::Entries(entries)) = result(&graph, 0) else {
        panic!("{:?}", result(&graph, 0));
    };
    let names: Vec<String> = entries.iter().map(|it| it.pathname.as_ref().unwrap().to_string()).collect();
    let expected: Vec<&str> = files.iter().map(|it| it.0).collect();
    assert_eq!(names, expected);
}

#[test]
fn a_directory_with_too_many_entries_is_refused_and_not_cut() {
    let files = [("a", &b"x"[..]), ("b", b"x"), ("c", b"x")];
    for (entries, is_told) in [(3, true), (2, false)] {
        let mut usual = Usual::default();
        usual.server.responder.entries = entries;
        let plan = vec![Operation::List { name: ".".into() }];
        let graph = run_as(usual, store(&files), plan);
        match result(&graph, 0) {
            Ok(Gain::Entries(entries)) => assert!(is_told && entries.len() == 3),
            Ok(other) => panic!("{other:?}"),
            Err(why) => {
                assert!(!is_told, "{why}");
                assert!(why.to_string().contains("more than 2 entries"), "{why}");
            }
        }
    }
}

#[test]
fn files_are_renamed_deleted_and_asked_for() {
    let plan = vec![
        Operation::Stat { name: "a".into() },
        Operation::Rename { name: "a".into(), to: "b".into() },
        Operation::Stat { name: "/b".into() },
        Operation::Remove { name: "b".into() },
        Operation::List { name: "/".into() },
        Operation::Stat { name: ".".into() },
    ];
    let mut graph = run(store(&[("a", b"four")]), plan);
    is_well(&mut graph);
    for at in [0, 2] {
        let Ok(Gain::Attributes(attributes)) = result(&graph, at) else {
            panic!("{:?}", result(&graph, at));
        };
        assert_eq!(attributes.size, Some(4_u64.into()));
    }
    assert_eq!(result(&graph, 4), Ok(Gain::Entries(Vec::new())));
}

#[test]
fn what_fails_says_why_and_the_plan_goes_on() {
    let shelf = MemorySink::default();
    let fails = Operation::Put {
        name: "half".into(),
        contents_type: ContentsType::binary(),
        mode: PutMode::Replace,
        source: Box::new(Fails(Message::from_octets(&content(200_000)), 100_000)),
    };
    let plan = vec![
        get("nothing", &shelf),
        Operation::Remove { name: "nothing".into() },
        Operation::Rename { name: "file".into(), to: "other".into() },
        get("../x", &shelf),
        fails,
        put("no/where", b"x"),
        Operation::Stat { name: "nothing".into() },
        Operation::MakeDirectory { name: "d".into() },
        get("file", &shelf),
    ];
    let mut graph = run(store(&[("file", b"old"), ("other", b"")]), plan);
    let codes: Vec<Option<i64>> = (0..7).map(|at| result(&graph, at).unwrap_err().code).collect();
    let missing = Some(file_error::FILE_NON_EXISTENT);
    assert_eq!(
        codes,
        [
            missing,
            missing,
            Some(file_error::DUPLICATE_FILENAME),
            Some(file_error::FILENAME_SYNTAX_ERROR),
            None,
            missing,
            missing,
        ]
    );
    let local = result(&graph, 4).unwrap_err();
    assert_eq!((local.layer, &*local.meaning), (Layer::Local, "the disk is broken"));
    assert_eq!(result(&graph, 8), Ok(Gain::Moved(3)));
    assert_eq!(client(&graph).failure(), None);
    let guard = server(&mut graph).guard();
    assert_eq!(guard.selections(), 0);
    let left = guard.store().list(&Default::default(), &name("."), 10).unwrap();
    assert_eq!(left.len(), 2, "nothing is left of what failed: {left:?}");
}

#[test]
fn a_file_that_is_longer_than_is_allowed_leaves_the_old_one() {
    let mut usual = Usual::default();
    usual.server.responder.longest_file = Some(1000);
    let plan = vec![put("file", &content(1001)), put("new", &content(70_000))];
    let mut graph = run_as(usual, store(&[("file", b"old")]), plan);
    for at in 0..2 {
        let why = result(&graph, at).unwrap_err();
        assert_eq!(why.code, Some(file_error::INSUFFICIENT_SPACE), "{why}");
    }
    let guard = server(&mut graph).guard();
    let all = guard.store().list(&Default::default(), &name("."), 10);
    assert_eq!(all.unwrap().len(), 1);
}

#[test]
fn a_get_goes_on_where_it_was_if_the_file_is_still_the_same() {
    let all = content(100_000);
    for known in [100_000, 5] {
        let shelf = MemorySink(Arc::default(), Some(known));
        shelf.0.lock().unwrap().0 = all[..60_000].to_vec();
        let plan = vec![get("file", &shelf)];
        let mut graph = run(store(&[("file", &all)]), plan);
        is_well(&mut graph);
        assert!(shelf.taken() == all);
        let moved = if known == 5 { 100_000 } else { 40_000 };
        assert_eq!(result(&graph, 0), Ok(Gain::Moved(moved)));
    }
}

#[test]
fn a_get_of_a_file_that_is_shorter_than_what_is_there_begins_again() {
    let shelf = MemorySink(Arc::default(), Some(60));
    shelf.0.lock().unwrap().0 = content(60);
    let mut graph = run(store(&[("file", b"short")]), vec![get("file", &shelf)]);
    is_well(&mut graph);
    assert_eq!(shelf.taken(), b"short");
    // And what is not there at all fails once.
    let shelf = MemorySink(Arc::default(), Some(60));
    shelf.0.lock().unwrap().0 = content(60);
    let graph = run(Memory::new(), vec![get("file", &shelf)]);
    let why = result(&graph, 0).unwrap_err();
    assert_eq!(why.code, Some(file_error::FILE_NON_EXISTENT), "{why}");
}

#[test]
fn an_association_that_breaks_in_a_file_fails_the_rest_and_leaves_nothing() {
    for (cut, what) in [(12, "get"), (14, "put")] {
        let shelf = MemorySink::default();
        let all = content(1_000_000);
        let plan = match what {
            "get" => vec![get("file", &shelf), put("x", b"x")],
            _ => vec![put("file", &all), put("x", b"x")],
        };
        let usual = Usual { cut: Some(cut), ..Usual::default() };
        let mut graph = run_as(usual, store(&[("file", &all)]), plan);
        assert!(client(&graph).is_over());
        for at in 0..2 {
            let why = result(&graph, at).unwrap_err();
            assert!(why.transient, "{what}: {why}");
        }
        assert!(!shelf.0.lock().unwrap().1);
        let server = server(&mut graph);
        assert_eq!(server.associations(), 0);
        assert_eq!(server.door().counters().aborted, 1, "{what}");
        assert_eq!(server.guard().selections(), 0);
        let found = server.guard().store().attributes(&Default::default(), &name("file"));
        assert_eq!(found.unwrap().size, Some(1_000_000_u64.into()));
    }
}

/// What a server says to these PDUs of its client, by name.
fn said(pdus: Vec<Pdu>) -> Vec<Pdu> {
    said_of(&mut Guard::new(Box::new(Memory::new())), pdus)
}

/// The same with a store.
fn said_of(guard: &mut Guard, pdus: Vec<Pdu>) -> Vec<Pdu> {
    let agreed = Initiate { services_supported: CLIENT_SERVICES, ..Settings::default().initiate };
    let mut server = Responder::new(responder::Config::default(), User::default(), &agreed);
    let mut out = Vec::new();
    server.on_credit(5, guard, &mut out);
    for pdu in pdus {
        server.on(pdu, today(), guard, &mut out);
    }
    assert_eq!(guard.selections(), 0);
    let pdus = out.into_iter().map(|it| match it {
        Action::Say(pdu) => pdu,
        other @ (Action::Release | Action::Abort) => panic!("{other:?}"),
    });
    pdus.collect()
}

#[test]
fn what_is_cancelled_leaves_nothing_open_and_what_is_there_is_not_cancelled() {
    let obtain = Pdu::request(
        7,
        MmsRequest::ObtainFile(Box::new(ObtainFile {
            source_file_server: None,
            source_file: "a".into(),
            destination_file: "b".into(),
        })),
    );
    let answer = |invoke, service| Pdu::Response { invoke, service };
    let opened = MmsResponse::FileOpen(FileOpened { frsm: 9, attributes: FileAttributes::default() });
    let read = MmsResponse::FileRead(FileRead { file_data: Message::from_octets(b"all"), more_follows: false });
    let close = |invoke| Pdu::request(invoke, MmsRequest::FileClose(9));
    // Before the file is open.
    let early =
        said(vec![obtain.clone(), Pdu::CancelRequest(7), answer(1, opened.clone()), answer(2, MmsResponse::FileClose)]);
    assert_eq!(early[1..3], [Pdu::CancelResponse(7), close(2)]);
    assert!(matches!(early[3], Pdu::Error { invoke: 7, .. }));
    // When all of it has come.
    let late = said(vec![
        obtain,
        answer(1, opened),
        answer(2, read),
        Pdu::CancelRequest(7),
        answer(3, MmsResponse::FileClose),
    ]);
    assert_eq!(late[2], close(3));
    assert!(matches!(late[3], Pdu::CancelError { invoke: 7, .. }));
    assert_eq!(late[4], answer(7, MmsResponse::ObtainFile));
}

#[test]
fn a_password_lets_in_and_a_wrong_one_is_refused_with_its_reason() {
    for (password, is_in) in [(Some("secret"), true), (Some("wrong"), false), (None, false)] {
        let mut usual = Usual::default();
        usual.server.responder.user = Some("operator".into());
        usual.client.association = Association {
            authentication: password.map(|text| Authentication {
                mechanism: Some(PASSWORD_MECHANISM),
                value: Credential::Text(text.into()),
            }),
            ..Association::default()
        };
        let memory = Memory::new().with_user("operator", "secret");
        let plan = vec![Operation::List { name: ".".into() }];
        let graph = run_as(usual, memory, plan);
        let failure = client(&graph).failure();
        assert_eq!(failure.is_none(), is_in, "{failure:?}");
        if let Some(failure) = failure {
            assert_eq!(failure.layer, Layer::Acse, "{failure}");
            assert!(failure.meaning.contains("authentication"), "{failure}");
        }
    }
}

#[test]
fn who_has_too_short_pdus_is_refused_with_the_reason() {
    let graph = run_as(with(63, 5, 1), Memory::new(), vec![put("x", b"x")]);
    let failure = client(&graph).failure().unwrap();
    assert_eq!((failure.layer, failure.code), (Layer::Mms, Some(2)), "{failure}");
}

#[test]
fn silence_ends_an_association() {
    let mut usual = Usual::default();
    usual.server.idle = Duration::from_secs(60);
    // A client that is held says nothing, and the server ends it.
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let memory = Memory::new();
    let server_node = FileServer::new(usual.server, Guard::new(Box::new(memory)));
    let nodes: [(&str, Box<dyn Protocol>); 8] = [
        ("loopback", Box::new(Loopback::new(loopback::Config::default()))),
        ("tp0", Box::new(Tp0::new(tp0::Config::default()))),
        ("session", Box::new(Session::new(session::Config::default()))),
        ("presentation", Box::new(Presentation::new(presentation::Config::default()))),
        ("acse", Box::new(Acse::new(acse::Config::default()))),
        ("mms", Box::new(Mms::new(environment::Config::default()))),
        ("server", Box::new(server_node)),
        ("client", Box::new(FileClient::new(usual.client, Vec::new()).held())),
    ];
    for (name, protocol) in nodes {
        graph.add_node(name, task, protocol).unwrap();
    }
    for pair in ["mms", "acse", "presentation", "session", "tp0", "loopback"].windows(2) {
        let [above, below] = pair else { continue };
        graph.connect(above, below).unwrap();
    }
    graph.connect("server", "mms").unwrap();
    graph.connect("client", "mms").unwrap();
    graph.start(Instant::ZERO).unwrap();
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + Duration::from_secs(100) {
        while graph.waiting(task).is_some() {
            graph.run(task, now, 1);
        }
        let Some(at) = graph.next_timer() else { break };
        now = at;
        graph.fire(now);
    }
    assert_eq!(server(&mut graph).door().counters().idle, 1);
    assert_eq!(server(&mut graph).associations(), 0);
    assert!(client(&graph).failure().unwrap().meaning.contains("aborted"));
}

fn opened(size_of_file: u32) -> MmsResponse {
    let last_modified = None;
    MmsResponse::FileOpen(FileOpened { frsm: 1, attributes: FileAttributes { size_of_file, last_modified } })
}
