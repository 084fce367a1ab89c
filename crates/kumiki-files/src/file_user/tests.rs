//! Client and responder against each other, without what is below them. Two protocol machines stand between and are the
//! judges of what each sends.

mod moved;
mod whole;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use kumiki_osi_service::ftam::bulk::Restart;
use kumiki_osi_service::ftam::contents::StringClass;
use kumiki_osi_service::ftam::{Fpdu, FunctionalUnits, Primitive, StateResult};

use super::*;
use crate::filestore::tests::{name, octets, today};
use crate::filestore::{Action, Guard, Memory, Responder, ResponderConfig};
use crate::ftam::{Machine, Side, Step};
use crate::node::{InitiatingUser as _, RespondingUser as _};

/// A sink that a test can look into.
#[derive(Clone, Default)]
pub(crate) struct MemorySink(Arc<Mutex<Kept>>);

/// What came, whether it is all, and how much there is room for.
type Kept = (Vec<u8>, bool, Option<usize>);

impl MemorySink {
    pub(crate) fn taken(&self) -> Vec<u8> {
        self.0.lock().unwrap().0.clone()
    }

    fn is_finished(&self) -> bool {
        self.0.lock().unwrap().1
    }
}

impl Sink for MemorySink {
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String> {
        let mut inner = self.0.lock().unwrap();
        let offset = usize::try_from(offset).unwrap();
        if inner.2.is_some_and(|most| offset + data.len() > most) {
            return Err("the shelf is full".to_owned());
        }
        inner.0.resize(offset, 0);
        inner.0.extend(data.to_vec());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.0.lock().unwrap().1 = true;
        Ok(())
    }
}

/// Both users, and a service that loses nothing between them.
struct Pair {
    client: Client,
    responder: Responder,
    guard: Guard,
    machines: [Machine; 2],
    to_responder: VecDeque<Action>,
    to_client: VecDeque<Action>,
}

impl Pair {
    fn new(settings: Settings, config: ResponderConfig, store: Memory, plan: Vec<Operation>) -> Self {
        let request = settings.request();
        let client = Client::new(settings, plan);
        let mut guard = Guard::new(Box::new(store));
        let mut responder = Responder::new(config);
        let mut machines = [Machine::new(Side::Initiator), Machine::new(Side::Responder)];
        let response = responder.initialize(&request, &mut guard);
        for machine in &mut machines {
            let request = Fpdu::InitializeRequest(Box::new(request.clone()));
            machine.on(Side::Initiator, &request).unwrap();
            let response = Fpdu::InitializeResponse(Box::new(response.clone()));
            machine.on(Side::Responder, &response).unwrap();
        }
        let mut pair =
            Self { client, responder, guard, machines, to_responder: VecDeque::new(), to_client: VecDeque::new() };
        let stands = response.state_result == StateResult::Success;
        let mut out = Vec::new();
        pair.client.on_initialized(&response, &mut out);
        if stands {
            pair.client.on_credit(2, &mut out);
            pair.send(Side::Initiator, out);
            let mut out = Vec::new();
            pair.responder.on_credit(2, &mut pair.guard, &mut out);
            pair.send(Side::Responder, out);
        } else {
            pair.client.on_aborted(kumiki_graph::Reason::Refused);
        }
        pair
    }

    /// Lets the machine of an end look at what crosses it.
    fn judge(&mut self, end: Side, sender: Side, wish: &Action) -> Step {
        let machine = &mut self.machines[usize::from(end == Side::Responder)];
        let step = match wish {
            Action::Say(Primitive::Pdu(fpdu)) => machine.on(sender, fpdu),
            Action::Data(_) | Action::Say(Primitive::Data(_)) => machine.on_data(sender),
            Action::Say(Primitive::Check { .. }) => machine.on_check(sender, false),
            Action::Say(Primitive::CheckReply { .. }) => machine.on_check(sender, true),
            Action::Grant(_) => Ok(Step::Take),
        };
        step.unwrap_or_else(|wrong| panic!("{end:?}, of {sender:?}: {wrong}: {wish:?}"))
    }

    fn send(&mut self, side: Side, wishes: Vec<Action>) {
        for wish in wishes {
            self.judge(side, side, &wish);
            match side {
                Side::Initiator => self.to_responder.push_back(wish),
                Side::Responder => self.to_client.push_back(wish),
            }
        }
    }

    /// Delivers one thing; false if there is none.
    fn step(&mut self) -> bool {
        let mut out = Vec::new();
        let (wish, from) = if let Some(wish) = self.to_responder.pop_front() {
            (wish, Side::Initiator)
        } else if let Some(wish) = self.to_client.pop_front() {
            (wish, Side::Responder)
        } else {
            return false;
        };
        let to = from.other();
        if self.judge(to, from, &wish) == Step::Drop {
            // Room for what was dropped comes back.
            if matches!(wish, Action::Data(_) | Action::Say(Primitive::Data(_))) {
                self.send(to, vec![Action::Grant(1)]);
            }
            return true;
        }
        let guard = &mut self.guard;
        match (to, wish) {
            (Side::Responder, Action::Say(it)) => self.responder.on(it, today(), guard, &mut out),
            (Side::Responder, Action::Data(data)) => self.responder.on_data(data, guard, &mut out),
            (Side::Responder, Action::Grant(n)) => self.responder.on_credit(n, guard, &mut out),
            (Side::Initiator, Action::Say(Primitive::Pdu(Fpdu::TerminateResponse(_)))) => {
                self.client.on_closed();
            }
            (Side::Initiator, Action::Say(it)) => self.client.on(it, &mut out),
            (Side::Initiator, Action::Data(data)) => self.client.on_data(data, &mut out),
            (Side::Initiator, Action::Grant(n)) => self.client.on_credit(n, &mut out),
        }
        self.send(to, out);
        true
    }

    fn run(mut self) -> Self {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 100_000, "they never end");
        }
        assert!(self.client.plan().is_over(), "stalled: {:?}", self.client);
        assert_eq!(self.guard.selections(), 0);
        self
    }

    fn contents(&mut self, file: &str) -> Option<Vec<u8>> {
        let user = crate::filestore::User::default();
        let store = self.guard.store();
        let (id, size) = store.read_from(&user, &name(file), today()).ok()?;
        let most = usize::try_from(size).unwrap();
        Some(store.read(id, 0, most).unwrap().to_vec())
    }

    fn failure(&self, at: usize) -> &Failure {
        self.client.plan().outcomes()[at].result.as_ref().unwrap_err()
    }
}

pub(crate) fn get(name: &str, shelf: &MemorySink) -> Operation {
    Operation::Get { name: name.to_owned(), contents_type: None, restart_at: 0, sink: Box::new(shelf.clone()) }
}

pub(crate) fn put(name: &str, mode: PutMode, contents: &[u8]) -> Operation {
    Operation::Put {
        name: name.to_owned(),
        contents_type: ContentsType::binary(),
        mode,
        source: Box::new(octets(contents)),
    }
}

fn text(class: StringClass, name: &str, contents: &[u8]) -> Operation {
    Operation::Put {
        name: name.to_owned(),
        contents_type: ContentsType::text(class),
        mode: PutMode::New,
        source: Box::new(octets(contents)),
    }
}

fn small() -> ResponderConfig {
    ResponderConfig { element: 100, ..ResponderConfig::default() }
}

/// All that a client can do, once with groups and once without.
#[test]
fn a_plan_is_done_in_order_grouped_or_not() {
    let without = Settings { units: Settings::default().units - FunctionalUnits::GROUPING, ..Settings::default() };
    for settings in [Settings::default(), without] {
        let contents: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let shelf = MemorySink::default();
        let named = |name: &str| name.to_owned();
        let plan = vec![
            Operation::MakeDirectory { name: named("d") },
            put("d/f", PutMode::New, &contents),
            put("d/f", PutMode::Append, b"more"),
            Operation::Rename { name: named("d/f"), to: named("d/g") },
            get("d/g", &shelf),
            Operation::Stat { name: named("d/g") },
            Operation::List { name: named("d") },
            Operation::Remove { name: named("d/g") },
            Operation::List { name: named("d") },
            Operation::Remove { name: named("d") },
        ];
        let pair = Pair::new(settings, small(), Memory::new(), plan).run();
        let outcomes = pair.client.plan().outcomes();
        let gains: Vec<&Gain> = outcomes.iter().map(|it| it.result.as_ref().unwrap()).collect();
        assert_eq!(*gains[1], Gain::Moved(1000));
        assert_eq!(*gains[4], Gain::Moved(1004));
        assert_eq!(shelf.taken(), [&contents[..], b"more"].concat());
        assert!(shelf.is_finished());
        let Gain::Attributes(stat) = gains[5] else {
            panic!("{:?}", gains[5]);
        };
        assert_eq!(stat.size, Some(1004_u64.into()));
        assert_eq!(stat.pathname, Some("d/g".into()));
        let Gain::Entries(entries) = gains[6] else {
            panic!("{:?}", gains[6]);
        };
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].pathname, Some("g".into()));
        assert_eq!(*gains[8], Gain::Entries(Vec::new()));
        assert_eq!(pair.client.plan().progress().over, 10);
    }
}

#[test]
fn an_empty_file_goes_both_ways() {
    let shelf = MemorySink::default();
    let plan = vec![put("e", PutMode::New, b""), get("e", &shelf)];
    let mut pair = Pair::new(Settings::default(), small(), Memory::new(), plan).run();
    assert_eq!(pair.client.plan().outcomes()[1].result, Ok(Gain::Moved(0)));
    assert_eq!(pair.contents("e"), Some(Vec::new()));
    assert!(shelf.is_finished());
}

#[test]
fn lines_of_text_arrive_as_lines() {
    let shelf = MemorySink::default();
    let lines = b"one\n\nthree\n";
    for class in [StringClass::Graphic, StringClass::Visible, StringClass::General] {
        let plan = vec![text(class, "t", lines), get("t", &shelf)];
        let mut pair = Pair::new(Settings::default(), small(), Memory::new(), plan).run();
        assert_eq!(shelf.taken(), lines);
        assert_eq!(pair.contents("t").unwrap(), lines);
        shelf.0.lock().unwrap().0.clear();
    }
}

#[test]
fn what_fails_says_why_and_the_plan_goes_on() {
    let shelf = MemorySink::default();
    let plan = vec![
        get("missing", &shelf),
        put("new", PutMode::New, b"1"),
        put("new", PutMode::New, b"2"),
        Operation::List { name: "new".to_owned() },
        Operation::Remove { name: "../x".to_owned() },
        Operation::Remove { name: String::new() },
        get("new", &shelf),
    ];
    let pair = Pair::new(Settings::default(), small(), Memory::new(), plan).run();
    let codes: Vec<Option<i64>> = (0..6).filter(|at| *at != 1).map(|at| pair.failure(at).code).collect();
    let expected = [3004, 3005, 5036, 3027, 3028];
    assert_eq!(codes, expected.map(Some));
    let shown = pair.failure(0).to_string();
    assert!(shown.starts_with("FTAM: 3004 the file does not exist"), "{shown}");
    assert!(shown.ends_with("list the directory; check case, version and directory in the name"));
    assert_eq!(pair.client.plan().outcomes()[6].result, Ok(Gain::Moved(1)));
}

#[test]
fn a_store_that_fills_up_cancels_and_keeps_what_was_there() {
    let mut store = Memory::new().with_quota(600);
    store.put(&name("a"), ContentsType::binary(), octets(b"old"), today());
    let shelf = MemorySink::default();
    let plan = vec![put("a", PutMode::Append, &[1; 1000]), put("b", PutMode::New, &[2; 500]), get("a", &shelf)];
    let settings = Settings { element: 100, ..Settings::default() };
    let pair = Pair::new(settings, small(), store, plan).run();
    assert_eq!(pair.failure(0).code, Some(5029));
    assert!(pair.failure(0).transient);
    assert_eq!(pair.client.plan().outcomes()[1].result, Ok(Gain::Moved(500)));
    assert_eq!(shelf.taken(), b"old");
}

#[test]
fn a_sink_that_fails_cancels_and_is_not_finished() {
    let mut store = Memory::new();
    store.put(&name("a"), ContentsType::binary(), octets(&[3; 1000]), today());
    let full = MemorySink::default();
    full.0.lock().unwrap().2 = Some(250);
    let shelf = MemorySink::default();
    let plan = vec![get("a", &full), get("a", &shelf)];
    let pair = Pair::new(Settings::default(), small(), store, plan).run();
    assert_eq!(pair.failure(0).layer, Layer::Local);
    assert_eq!(pair.failure(0).meaning, "the shelf is full");
    assert!(!full.is_finished());
    assert_eq!(shelf.taken(), [3; 1000]);
}

#[test]
fn a_get_that_goes_on_skips_what_is_there() {
    let contents: Vec<u8> = (0..200).collect();
    let mut store = Memory::new();
    store.put(&name("a"), ContentsType::binary(), octets(&contents), today());
    let shelf = MemorySink::default();
    shelf.0.lock().unwrap().0.extend(&contents[..130]);
    let plan = vec![Operation::Get {
        name: "a".to_owned(),
        contents_type: None,
        restart_at: 130,
        sink: Box::new(shelf.clone()),
    }];
    let pair = Pair::new(Settings::default(), small(), store, plan).run();
    assert_eq!(shelf.taken(), contents);
    assert_eq!(pair.client.plan().outcomes()[0].result, Ok(Gain::Moved(70)));
}

/// Checkpoints on the way, and a responder that wants to begin again from one.
#[test]
fn a_transfer_restarts_from_a_checkpoint() {
    let contents: Vec<u8> = (0..=255).cycle().take(2000).collect();
    let settings = Settings {
        units: Settings::default().units | FunctionalUnits::RESTART_DATA_TRANSFER,
        element: 100,
        checkpoint_every: 300,
        ..Settings::default()
    };
    let plan = vec![put("a", PutMode::New, &contents)];
    let request = settings.request();
    let mut client = Client::new(settings, plan);
    let mut guard = Guard::new(Box::new(Memory::new()));
    let mut responder = Responder::new(small());
    let response = responder.initialize(&request, &mut guard);
    let mut wishes = Vec::new();
    client.on_initialized(&response, &mut wishes);
    let mut restarted = false;
    let mut rounds = 0;
    while !client.plan().is_over() {
        rounds += 1;
        assert!(rounds < 100, "they never end");
        let mut answers = Vec::new();
        for wish in wishes.drain(..) {
            match wish {
                Action::Say(it) => responder.on(it, today(), &mut guard, &mut answers),
                Action::Data(data) => responder.on_data(data, &mut guard, &mut answers),
                Action::Grant(n) => responder.on_credit(n, &mut guard, &mut answers),
            }
        }
        for answer in answers {
            match answer {
                Action::Say(Primitive::Pdu(Fpdu::TerminateResponse(_))) => client.on_closed(),
                Action::Say(Primitive::CheckReply { identifier: 3 }) if !restarted => {
                    // Here the responder would say so; it lost what came behind its second checkpoint.
                    restarted = true;
                    let restart = Restart { checkpoint_identifier: 2, ..Restart::default() };
                    let request = Fpdu::RestartRequest(Box::new(restart.clone()));
                    responder.on(Primitive::Pdu(request.clone()), today(), &mut guard, &mut Vec::new());
                    // The service drops what is in progress, and gives the room for it back.
                    let room = |it: &Action| matches!(it, Action::Data(_) | Action::Say(Primitive::Data(_)));
                    let dropped = wishes.iter().filter(|it| room(it)).count();
                    wishes.retain(|it| matches!(it, Action::Grant(_)));
                    client.on(Primitive::Pdu(request), &mut wishes);
                    wishes.retain(|it| !matches!(it, Action::Say(Primitive::Pdu(_))));
                    client.on_credit(u32::try_from(dropped).unwrap(), &mut wishes);
                }
                Action::Say(it) => client.on(it, &mut wishes),
                Action::Data(data) => client.on_data(data, &mut wishes),
                Action::Grant(n) => client.on_credit(n, &mut wishes),
            }
        }
        if rounds == 1 {
            client.on_credit(4, &mut wishes);
        }
    }
    assert!(restarted);
    assert_eq!(client.plan().outcomes()[0].result, Ok(Gain::Moved(2000)));
    let user = crate::filestore::User::default();
    let (file, _) = guard.store().read_from(&user, &name("a"), today()).unwrap();
    assert!(guard.store().read(file, 0, 3000).unwrap().to_vec() == contents);
}

#[test]
fn a_refused_login_is_what_every_operation_failed_of() {
    let settings = Settings { initiator: Some("ada".into()), password: Some("guess".into()), ..Settings::default() };
    let store = Memory::new().with_user("ada", "secret");
    let plan = vec![Operation::Stat { name: "a".to_owned() }];
    let pair = Pair::new(settings, small(), store, plan);
    assert!(pair.client.plan().is_over());
    assert_eq!(pair.failure(0).code, Some(2020));
    assert!(pair.failure(0).remedy.contains("password"));
}

#[test]
fn a_functional_unit_that_was_not_agreed_fails_before_anything_is_sent() {
    let settings = Settings { units: FunctionalUnits::READ, ..Settings::default() };
    let plan = vec![put("a", PutMode::New, b"x")];
    let pair = Pair::new(settings, small(), Memory::new(), plan).run();
    assert_eq!(pair.failure(0).code, Some(1009));
    assert!(pair.failure(0).meaning.ends_with("write"), "{}", pair.failure(0));
}

#[test]
fn giving_up_cancels_and_ends_in_order() {
    let mut store = Memory::new();
    store.put(&name("a"), ContentsType::binary(), octets(&[3; 1000]), today());
    let shelf = MemorySink::default();
    let plan = vec![get("a", &shelf), get("a", &shelf)];
    let mut pair = Pair::new(Settings::default(), small(), store, plan);
    while shelf.taken().len() < 300 {
        assert!(pair.step());
    }
    let mut out = Vec::new();
    pair.client.give_up(&mut out);
    pair.send(Side::Initiator, out);
    let pair = pair.run();
    let outcomes = pair.client.plan().outcomes();
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes.iter().all(|outcome| outcome.result.is_err()));
    assert!(!shelf.is_finished());
}

#[test]
fn what_breaks_behind_the_end_of_a_transfer_is_done() {
    let shelf = MemorySink::default();
    for operation in [put("a", PutMode::Append, b"+new"), put("b", PutMode::New, b"new"), get("a", &shelf)] {
        let title = operation.title();
        let mut memory = Memory::new();
        memory.put(&name("a"), ContentsType::binary(), octets(b"old"), today());
        let plan = vec![operation, get("a", &MemorySink::default())];
        let settings = Settings::default();
        let mut pair = Pair::new(settings, small(), memory, plan);
        let is_end = |it: &Action| matches!(it, Action::Say(Primitive::Pdu(Fpdu::TransferEndResponse(_))));
        while !pair.to_client.front().is_some_and(is_end) {
            assert!(pair.step());
        }
        // Before it is heard nobody knows; behind it both do.
        while pair.to_client.front().is_some_and(is_end) {
            assert!(pair.step());
        }
        pair.client.on_aborted(kumiki_graph::Reason::Down);
        let outcomes = pair.client.plan().outcomes();
        assert_eq!(outcomes.len(), 2, "{title}");
        assert!(outcomes[0].result.is_ok(), "{title}: {:?}", outcomes[0]);
        // What had not begun is not done.
        assert!(pair.failure(1).transient);
        assert!(pair.client.plan().failure().is_some());
    }
    assert!(shelf.is_finished());
}
