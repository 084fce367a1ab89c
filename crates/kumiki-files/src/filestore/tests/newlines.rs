//! Texts whose lines end with LF in the store and with CR LF where they are transferred, gone on with from any
//! checkpoint.

use proptest::prelude::*;

use super::interrupted::{contents, numbered};
use super::*;

const ACTIVITY: i64 = 7;

/// A store with the text `a` in it.
fn text_store(contents: &[u8]) -> Guard {
    let mut store = Memory::new();
    let contents_type = ContentsType::text(StringClass::General);
    store.put(&name("a"), contents_type, octets(contents), today());
    Guard::new(Box::new(store))
}

fn converting(guard: &mut Guard) -> Responder {
    let config = ResponderConfig {
        element: 5,
        checkpoint_every: 3,
        checkpoint_window: 100,
        local_newlines: true,
        longest_file: Some(40),
        ..ResponderConfig::default()
    };
    let request = InitializeRequest {
        initiator_identity: Some("ada".into()),
        checkpoint_window: 100,
        ..asking(ResponderConfig::UNITS)
    };
    let mut responder = Responder::new(config);
    let response = responder.initialize(&request, guard);
    assert_eq!(response.state_result, StateResult::Success);
    responder
}

fn writing(extends: bool) -> Vec<Fpdu> {
    let (access, mode, operation) = if extends {
        (AccessRequest::EXTEND, ProcessingMode::EXTEND, FaduOperation::Extend)
    } else {
        (AccessRequest::REPLACE, ProcessingMode::REPLACE, FaduOperation::Replace)
    };
    let open = OpenRequest { processing_mode: mode, ..OpenRequest::default() };
    let write =
        WriteRequest { fadu_operation: operation, fadu_identity: FaduIdentity::First, ..WriteRequest::default() };
    let fpdus = vec![select("a", access), Fpdu::OpenRequest(Box::new(open)), Fpdu::WriteRequest(Box::new(write))];
    numbered(fpdus, ACTIVITY)
}

/// How a transfer goes back to a checkpoint.
#[derive(Clone, Copy, Debug)]
enum Back {
    /// By F-RESTART.
    Restarts,
    /// The association breaks, and another one goes on.
    Recovers,
}

/// Has the responder at checkpoint `point`; what it says then.
fn go_back(responder: &mut Responder, guard: &mut Guard, (back, point, begin): (Back, i64, Fpdu)) -> Vec<Action> {
    match back {
        Back::Restarts => {
            let restart = Restart { checkpoint_identifier: point, ..Restart::default() };
            say(responder, guard, vec![Fpdu::RestartRequest(Box::new(restart))])
        }
        Back::Recovers => {
            responder.on_broken(guard);
            *responder = converting(guard);
            let recover = RecoverRequest {
                activity_identifier: ACTIVITY,
                bulk_transfer_number: 1,
                recovery_point: point,
                ..RecoverRequest::default()
            };
            let recover = Fpdu::RecoverRequest(Box::new(recover));
            let out = say(responder, guard, vec![recover, begin]);
            assert_eq!(errors(&out), [0; 0]);
            let mut out = Vec::new();
            responder.on_credit(1, guard, &mut out);
            out
        }
    }
}

/// Sends it in parts of this length, each with a checkpoint, and when `backs` says so goes back to an earlier one.
fn put(guard: &mut Guard, text: &[u8], (part, extends): (usize, bool), backs: &[(usize, Back)]) {
    let mut writer = converting(guard);
    let out = say(&mut writer, guard, writing(extends));
    assert_eq!(errors(&out), [0; 0]);
    let mut points = vec![0];
    let mut backs = backs.iter();
    loop {
        let at = points.last().copied().unwrap();
        if at == text.len() {
            match backs.next() {
                Some((to, back)) if text.len() > part => {
                    let point = 1 + to % (points.len() - 1);
                    points.truncate(point + 1);
                    let begin = writing(extends).remove(2);
                    let point = i64::try_from(point).unwrap();
                    go_back(&mut writer, guard, (*back, point, begin));
                    continue;
                }
                Some(_) | None => break,
            }
        }
        let end = text.len().min(at + part);
        let mut out = Vec::new();
        writer.on_data(octets(&text[at..end]), guard, &mut out);
        let identifier = u32::try_from(points.len()).unwrap();
        writer.on(Primitive::Check { identifier }, today(), guard, &mut out);
        points.push(end);
    }
    let end = [Fpdu::DataEndRequest(Box::default()), Fpdu::TransferEndRequest(Box::default())];
    let out = say(&mut writer, guard, end.to_vec());
    assert_eq!(errors(&out), [0; 0]);
}

/// Fetches it, and goes back a few times; what has come.
fn get(guard: &mut Guard, backs: &[(usize, Back)]) -> Vec<u8> {
    let mut reader = converting(guard);
    let begin = vec![select("a", AccessRequest::READ), open(), read()];
    say(&mut reader, guard, numbered(begin, ACTIVITY));
    let (mut come, mut points) = (Vec::new(), vec![0]);
    let mut out = Vec::new();
    reader.on_credit(1000, guard, &mut out);
    let mut backs = backs.iter();
    loop {
        for wish in out {
            match wish {
                Action::Data(data) => come.extend(data.to_vec()),
                Action::Say(Primitive::Check { .. }) => points.push(come.len()),
                Action::Say(_) | Action::Grant(_) => {}
            }
        }
        let Some((to, back)) = backs.next().filter(|_| points.len() > 1) else {
            return come;
        };
        let point = 1 + to % (points.len() - 1);
        points.truncate(point + 1);
        come.truncate(points[point]);
        let at = i64::try_from(point).unwrap();
        out = go_back(&mut reader, guard, (*back, at, read()));
        reader.on_credit(1000, guard, &mut out);
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let octet = prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'a')];
    prop::collection::vec(octet, 0..24)
}

fn backs() -> impl Strategy<Value = Vec<(usize, Back)>> {
    let back = prop_oneof![Just(Back::Restarts), Just(Back::Recovers)];
    prop::collection::vec((any::<usize>(), back), 0..4)
}

fn kept(text: &[u8]) -> Vec<u8> {
    let (mut localiser, mut out) = (CrlfToLf::default(), Vec::new());
    localiser.take(text, &mut out);
    localiser.end(&mut out);
    out
}

fn sent(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    LfToCrlf::default().take(text, &mut out);
    out
}

proptest! {
    #[test]
    fn a_text_has_its_lines_from_whichever_checkpoint_it_goes_on(
        text in text(), part in 1_usize..6, extends: bool, backs in backs(),
    ) {
        let mut guard = text_store(b"old\n");
        put(&mut guard, &text, (part, extends), &backs);
        let mut whole = if extends { b"old\n".to_vec() } else { Vec::new() };
        whole.extend(kept(&text));
        prop_assert_eq!(contents(&mut guard, "a").unwrap(), &whole[..]);
        // What is told is its size here.
        let told = guard.store().attributes(&User::default(), &name("a")).unwrap();
        prop_assert_eq!(told.size, Some((whole.len() as u64).into()));
        prop_assert_eq!(get(&mut guard, &backs), sent(&whole));
    }
}

#[test]
fn the_longest_file_is_one_of_the_store() {
    let line = b"123456789\r\n";
    for (lines, end, said) in [(4, &b""[..], None), (4, b"\r", Some(5029)), (4, b"1", Some(5029))] {
        let mut guard = text_store(b"");
        let mut writer = converting(&mut guard);
        say(&mut writer, &mut guard, writing(false));
        let mut out = Vec::new();
        for _ in 0..lines {
            writer.on_data(octets(line), &mut guard, &mut out);
        }
        assert_eq!(errors(&out), [0; 0]);
        writer.on_data(octets(end), &mut guard, &mut out);
        assert_eq!(errors(&out).first().copied(), said);
    }
}
