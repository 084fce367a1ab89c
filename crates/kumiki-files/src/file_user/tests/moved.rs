//! What broke at one node and goes on at another one: nodes with stores of their own, over one table.

use kumiki_graph::{Graph, Instant, TaskId};

use super::whole::{built, client, recovering, step};
use super::*;
use crate::filestore::{FileServer, Table};
use crate::node::WAKE;

/// The table of several guards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Table>>);

impl crate::filestore::RecoveryStore for Shared {
    fn with(&mut self, act: &mut dyn FnMut(&mut Table)) {
        act(&mut self.0.lock().unwrap());
    }
}

fn content() -> Vec<u8> {
    let octets = (0..500_000_u32).map(|at| u8::try_from(at % 251).unwrap());
    octets.collect()
}

/// One of several stores with the same file.
fn guard(table: &Shared, contents: &[u8]) -> Guard {
    let mut memory = Memory::new();
    memory.put(&name("a"), ContentsType::binary(), octets(contents), today());
    Guard::new(Box::new(memory)).sharing(Box::new(table.clone()))
}

fn settings(recoveries: u32) -> Settings {
    Settings { recoveries, resumes: true, activity: 77, ..recovering() }
}

fn node(settings: Settings, plan: Vec<Operation>) -> FileClient {
    let config = Config { settings, ..Config::default() };
    FileClient::new(config, plan).once()
}

/// Lets it run until the client is over: nobody gets as old as to be forgotten.
fn broken((mut graph, task): (Graph, TaskId)) -> Graph {
    let mut now = Instant::ZERO;
    while !client(&graph).is_over() {
        assert!(step(&mut graph, task, &mut now));
    }
    graph
}

/// Lets it run to its end.
fn run((mut graph, task): (Graph, TaskId)) -> Graph {
    let mut now = Instant::ZERO;
    while step(&mut graph, task, &mut now) {}
    graph
}

fn server(graph: &mut Graph) -> &mut FileServer {
    let node = graph.node("server").unwrap();
    graph.protocol_mut(node).unwrap()
}

#[test]
fn what_another_node_still_takes_for_alive_is_given_up_for_its_user() {
    let table = Shared::default();
    let content = content();
    let shelf = MemorySink::default();
    let plan = vec![get("a", &shelf)];
    let first = node(settings(3), plan);
    let (mut first, task) = built(guard(&table, &content), first, vec![200], true);
    let mut now = Instant::ZERO;
    let own = first.node("client").unwrap();
    let broken = loop {
        let client: &mut FileClient = first.protocol_mut(own).unwrap();
        if let Some(broken) = client.take_broken() {
            break broken;
        }
        assert!(step(&mut first, task, &mut now));
    };
    assert_eq!(server(&mut first).associations(), 1);
    let again = FileClient::going_on(Config::default(), broken).once();
    // The other store has another file by now: what was being read is read on all the same.
    let (mut second, its) = built(guard(&table, b"other"), again, Vec::new(), false);
    let mut then = Instant::ZERO;
    while step(&mut second, its, &mut then) {
        if server(&mut first).is_claimed() {
            let node = first.node("server").unwrap();
            first.wake(now, node, WAKE);
            step(&mut first, task, &mut now);
        }
    }
    assert_eq!(client(&second).failure(), None);
    assert_eq!(client(&second).outcomes()[0].result, Ok(Gain::Moved(500_000)));
    assert!(shelf.taken() == content);
    assert_eq!(server(&mut first).associations(), 0);
    assert_eq!(server(&mut second).guard().selections(), 0);
}

#[test]
fn what_the_other_node_does_not_give_up_is_begun_again() {
    let table = Shared::default();
    let shelf = MemorySink::default();
    let first = node(settings(0), vec![get("a", &shelf)]);
    let first = broken(built(guard(&table, &content()), first, vec![200], true));
    assert!(client(&first).failure().is_some());
    let noted = Noted::new(&shelf, Some(Secured { activity: 78, point: 1, offset: 50_000 }));
    let second = node(settings(0), vec![noted.get()]);
    // It is started over, which a lock for reading does not hinder.
    let second = run(built(guard(&table, b"other"), second, Vec::new(), false));
    assert_eq!(client(&second).outcomes()[0].result, Ok(Gain::Moved(5)));
    assert_eq!(shelf.taken(), b"other");
    assert_eq!(noted.last(), None);
}

/// What a run notes of a transfer, and what another one finds.
type Notes = Arc<Mutex<Option<Secured>>>;

/// A file with a note, on either side.
#[derive(Clone)]
struct Noted {
    shelf: MemorySink,
    contents: Message,
    notes: Notes,
    /// From this octet on it cannot be read.
    breaks_at: u64,
}

impl Noted {
    fn new(shelf: &MemorySink, at: Option<Secured>) -> Self {
        Self {
            shelf: shelf.clone(),
            contents: octets(&content()),
            notes: Arc::new(Mutex::new(at)),
            breaks_at: u64::MAX,
        }
    }

    fn get(&self) -> Operation {
        Operation::Get { name: "a".to_owned(), contents_type: None, restart_at: 0, sink: Box::new(self.clone()) }
    }

    fn put(&self, mode: PutMode) -> Operation {
        Operation::Put {
            name: "a".to_owned(),
            contents_type: ContentsType::binary(),
            mode,
            source: Box::new(self.clone()),
        }
    }

    fn last(&self) -> Option<Secured> {
        *self.notes.lock().unwrap()
    }
}

impl Sink for Noted {
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String> {
        self.shelf.write(offset, data)
    }

    fn finish(&mut self) -> Result<(), String> {
        self.shelf.finish()
    }

    fn interrupted(&self) -> Option<Secured> {
        self.last()
    }

    fn secured(&mut self, at: Option<Secured>) {
        *self.notes.lock().unwrap() = at;
    }
}

impl Source for Noted {
    fn read(&mut self, offset: u64, most: usize) -> Result<Message, String> {
        if offset >= self.breaks_at {
            return Err("a bad disk".to_owned());
        }
        self.contents.read(offset, most)
    }

    fn interrupted(&self) -> Option<Secured> {
        self.last()
    }

    fn secured(&mut self, at: Option<Secured>) -> Result<(), String> {
        *self.notes.lock().unwrap() = at;
        Ok(())
    }
}

#[test]
fn another_run_goes_on_where_one_has_left_off() {
    let content = content();
    for gets in [true, false] {
        let table = Shared::default();
        let shelf = MemorySink::default();
        let noted = Noted::new(&shelf, None);
        let plan = || vec![if gets { noted.get() } else { noted.put(PutMode::Replace) }];
        // What the responder sends has a checkpoint each 256 KiB.
        let old = if gets { &content[..] } else { b"old" };
        let first = node(settings(0), plan());
        let first = broken(built(guard(&table, old), first, vec![250], false));
        assert!(client(&first).failure().unwrap().transient);
        let at = noted.last().unwrap();
        assert_eq!(at.activity, 78);
        assert!(at.offset >= 200_000, "{at:?}");
        let second = node(settings(0), plan());
        let mut second = run(built(guard(&table, old), second, Vec::new(), false));
        assert_eq!(client(&second).failure(), None);
        let moved = client(&second).outcomes()[0].result.clone();
        if gets {
            assert_eq!(moved, Ok(Gain::Moved(500_000 - at.offset)));
            assert!(shelf.taken() == content);
        } else {
            let sent = client(&second).progress().octets;
            assert_eq!(sent, 500_000 - at.offset, "{moved:?}");
            let store = server(&mut second).guard().store();
            let user = crate::filestore::User::default();
            let (file, size) = store.read_from(&user, &name("a"), today()).unwrap();
            assert_eq!(size, 500_000);
            assert!(store.read(file, 0, 500_000).unwrap().to_vec() == content);
        }
        assert_eq!(server(&mut second).guard().selections(), 0);
    }
}

#[test]
fn what_the_responder_has_forgotten_is_begun_again() {
    let content = content();
    for gets in [true, false] {
        let table = Shared::default();
        let shelf = MemorySink::default();
        let forgotten = Secured { activity: 5, point: 3, offset: 300_000 };
        let noted = Noted::new(&shelf, Some(forgotten));
        let plan = vec![if gets { noted.get() } else { noted.put(PutMode::Replace) }];
        let graph = run(built(guard(&table, &content), node(settings(0), plan), Vec::new(), false));
        assert_eq!(client(&graph).failure(), None);
        let outcomes = client(&graph).outcomes();
        assert_eq!(outcomes.len(), 1);
        assert_eq!(outcomes[0].result, Ok(Gain::Moved(500_000)));
        assert!(!gets || shelf.taken() == content);
        // The numbers of before are not mixed with those of now.
        assert_eq!(noted.last().unwrap().activity, 78);
    }
}

/// What breaks at a node in the middle.
fn interrupted(old: &[u8], operation: Operation) -> Client {
    let first = node(settings(1), vec![operation]);
    let (mut first, task) = built(guard(&Shared::default(), old), first, vec![250], false);
    let own = first.node("client").unwrap();
    let mut now = Instant::ZERO;
    loop {
        let client: &mut FileClient = first.protocol_mut(own).unwrap();
        if let Some(broken) = client.take_broken() {
            assert!(broken.plan().progress().octets > 200_000);
            return broken;
        }
        assert!(step(&mut first, task, &mut now));
    }
}

/// Goes on with it at a responder that knows nothing of it.
fn elsewhere(broken: Client, contents: &[u8]) -> Graph {
    let again = FileClient::going_on(Config::default(), broken).once();
    let table = Shared::default();
    run(built(guard(&table, contents), again, Vec::new(), false))
}

/// Why something was started over.
fn started_over(graph: &mut Graph) -> Option<(String, Option<i64>)> {
    let node = graph.node("client").unwrap();
    let client: &mut FileClient = graph.protocol_mut(node).unwrap();
    client.take_started_over().map(|(title, why)| (title, why.code))
}

#[test]
fn what_is_refused_on_the_next_association_is_begun_again_there() {
    let (content, shelf) = (content(), MemorySink::default());
    let mut graph = elsewhere(interrupted(&content, get("a", &shelf)), b"other");
    assert_eq!(client(&graph).failure(), None);
    let outcomes = client(&graph).outcomes().to_vec();
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0].result, Ok(Gain::Moved(5)));
    // Nothing of the one file is in the other, and nothing counts twice.
    assert_eq!(shelf.taken(), b"other");
    assert_eq!(client(&graph).progress().octets, 5);
    assert_eq!(started_over(&mut graph), Some(("get a".to_owned(), Some(6004))));
    assert_eq!(started_over(&mut graph), None);

    let put = |mode| put("a", mode, &content);
    let mut graph = elsewhere(interrupted(b"old", put(PutMode::Replace)), b"old");
    assert_eq!(client(&graph).failure(), None);
    assert_eq!(client(&graph).outcomes()[0].result, Ok(Gain::Moved(500_000)));
    assert_eq!(client(&graph).progress().octets, 500_000);
    assert!(stored(&mut graph) == content);
    assert!(started_over(&mut graph).is_some());
}

#[test]
fn what_is_added_to_a_file_is_not_added_twice() {
    let operation = put("a", PutMode::Append, &content());
    let mut graph = elsewhere(interrupted(b"old", operation), b"old");
    let result = client(&graph).outcomes()[0].result.clone();
    assert_eq!(result.unwrap_err().code, Some(6004));
    assert_eq!(started_over(&mut graph), None);
    assert_eq!(stored(&mut graph), b"old");
}

/// The next run knows no more than this one whether it was added: the responder forgets what it has added, and what it
/// has given up.
#[test]
fn what_is_added_to_a_file_is_not_added_twice_by_another_run_either() {
    // Broken amid its octets, before any checkpoint and behind some: the responder has kept nothing.
    for (units, is_checked) in [(30, false), (250, true)] {
        let noted = Noted::new(&MemorySink::default(), None);
        let put = || vec![noted.put(PutMode::Append)];
        let first = node(settings(0), put());
        broken(built(guard(&Shared::default(), b"old"), first, vec![units], false));
        let at = noted.last().unwrap();
        assert_eq!((at.activity, at.point > 0), (78, is_checked));
        let mut graph = elsewhere_again(put(), settings(0));
        let result = client(&graph).outcomes()[0].result.clone().unwrap_err();
        assert_eq!(result.code, Some(6004), "{units}");
        assert!(result.remedy.contains("look at the file"), "{result}");
        assert_eq!(stored(&mut graph), b"old");
        // It stays so, also where recovery cannot be had.
        assert_eq!(noted.last(), Some(at));
        let deaf = Settings { units: settings(0).units - FunctionalUnits::RECOVERY, ..settings(0) };
        let mut graph = elsewhere_again(put(), deaf);
        assert_eq!(client(&graph).outcomes()[0].result.clone().unwrap_err().code, Some(6000));
        assert_eq!(stored(&mut graph), b"old");
    }
}

#[test]
fn what_is_known_not_to_have_been_added_is_added_by_the_next_run() {
    // It is cancelled, and the other end says so.
    let mut noted = Noted { breaks_at: 300_000, ..Noted::new(&MemorySink::default(), None) };
    let mut graph = elsewhere_again(vec![noted.put(PutMode::Append)], settings(0));
    let why = client(&graph).outcomes()[0].result.clone().unwrap_err();
    assert_eq!(why.meaning, "a bad disk");
    assert_eq!(stored(&mut graph), b"old");
    assert_eq!(noted.last(), None);
    noted.breaks_at = u64::MAX;
    let mut graph = elsewhere_again(vec![noted.put(PutMode::Append)], settings(0));
    assert_eq!(client(&graph).outcomes()[0].result, Ok(Gain::Moved(500_000)));
    assert_eq!(stored(&mut graph).len(), 500_003);
}

/// What another run does at a responder that knows nothing of the first.
fn elsewhere_again(plan: Vec<Operation>, settings: Settings) -> Graph {
    run(built(guard(&Shared::default(), b"old"), node(settings, plan), Vec::new(), false))
}

/// What the responder has.
fn stored(graph: &mut Graph) -> Vec<u8> {
    let store = server(graph).guard().store();
    let user = crate::filestore::User::default();
    let (file, size) = store.read_from(&user, &name("a"), today()).unwrap();
    let size = usize::try_from(size).unwrap();
    store.read(file, 0, size).unwrap().to_vec()
}
