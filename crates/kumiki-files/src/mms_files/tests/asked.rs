//! A client whose server is a test.

use super::*;

/// A client with one operation, whom a test answers.
struct Asked {
    client: Client,
    out: Vec<Action>,
}

impl Asked {
    fn new(operation: Operation) -> Self {
        let agreed = Initiate { services_supported: SERVER_SERVICES, ..Settings::default().initiate };
        let mut client = Client::new(Settings::default(), vec![operation]);
        let mut out = Vec::new();
        client.on_credit(1_000_000, &mut out);
        let association = Association { initiate: Some(Box::new(agreed)), ..Association::default() };
        client.on_opened(association, &mut out).unwrap();
        Self { client, out }
    }

    /// Gives the next request of the client its answer; false if it has asked for nothing.
    fn answer(&mut self, service: MmsResponse) -> bool {
        let invoke = self.out.drain(..).find_map(|it| match it {
            Action::Say(Pdu::Request { invoke, .. }) => Some(invoke),
            Action::Say(_) | Action::Release | Action::Abort => None,
        });
        let Some(invoke) = invoke else { return false };
        let answer = Pdu::Response { invoke, service };
        self.client.on(answer, &mut self.out);
        true
    }

    fn result(&self) -> Result<Gain, Failure> {
        self.client.plan().outcomes()[0].result.clone()
    }
}

fn piece_of(octets: &[u8], more_follows: bool) -> MmsResponse {
    MmsResponse::FileRead(FileRead { file_data: Message::from_octets(octets), more_follows })
}

/// A file of so many octets, of which nobody keeps one.
struct Hollow(u64);

impl Source for Hollow {
    fn size(&self) -> Option<u64> {
        Some(self.0)
    }

    fn read(&mut self, offset: u64, most: usize) -> Result<Message, String> {
        let len = usize::try_from(self.0 - offset).map_or(most, |rest| rest.min(most));
        Ok(Message::from_octets(&vec![0; len]))
    }
}

#[test]
fn what_the_server_has_not_read_to_its_end_was_not_sent() {
    let of = |size| Operation::Put {
        name: "a".into(),
        contents_type: ContentsType::binary(),
        mode: PutMode::Replace,
        source: Box::new(Hollow(size)),
    };
    let long = u64::from(u32::MAX) + 1_000_000;
    // How long it is, whether it is opened, where it is read from and how often, and what is said against it.
    for (size, opens, from, reads, against) in [
        (9, false, 0, 0, Some("has read nothing")),
        (0, false, 0, 0, Some("has read nothing")),
        (9, true, 0, 0, Some("has read nothing")),
        (9, true, 0, 1, None),
        (0, true, 0, 0, None),
        (100_000, true, 0, 1, Some("of 100000 octets")),
        (100_000, true, 0, 2, None),
        // Its size cannot be told: one that stops at the largest number has not all of it.
        (long, true, u32::MAX - 1000, 1, Some("of 4295967295 octets")),
        (long, true, u32::MAX - 1000, 20, None),
    ] {
        let mut asked = Asked::new(of(size));
        let mut requests = Vec::new();
        if opens {
            requests.push(MmsRequest::FileOpen(FileOpen { file_name: "a".into(), initial_position: from }));
            requests.extend((0..reads).map(|_| MmsRequest::FileRead(1)));
            requests.push(MmsRequest::FileClose(1));
        }
        let mut said = Vec::new();
        for request in requests {
            asked.client.on(Pdu::request(9, request), &mut said);
        }
        assert!(asked.answer(MmsResponse::ObtainFile));
        match (asked.result(), against) {
            (Ok(_), None) => {}
            (Err(why), Some(against)) => {
                assert_eq!(why.layer, Layer::Mms);
                assert!(why.meaning.contains(against), "{why}");
            }
            other => panic!("{size} {opens} {from} {reads}: {other:?}"),
        }
    }
}

#[test]
fn a_file_that_breaks_off_before_its_size_is_not_whole() {
    // A size of 0 may be none.
    for (told, is_whole) in [(1000, false), (4, false), (3, true), (2, true), (0, true)] {
        let shelf = MemorySink::default();
        let mut asked = Asked::new(get("a", &shelf));
        let answers = [opened(told), piece_of(b"abc", true), piece_of(b"", true), MmsResponse::FileClose];
        for answer in answers {
            assert!(asked.answer(answer));
        }
        assert_eq!(asked.result().is_ok(), is_whole, "{told}");
        assert_eq!(shelf.0.lock().unwrap().1, is_whole);
        if let Err(why) = asked.result() {
            assert_eq!(why.layer, Layer::Mms);
            assert!(why.meaning.contains("breaks off at octet 3"), "{why}");
        }
        // The same at the server's side.
        let mut guard = Guard::new(Box::new(store(&[("b", b"old")])));
        let obtain = MmsRequest::ObtainFile(Box::new(ObtainFile {
            source_file_server: None,
            source_file: "a".into(),
            destination_file: "b".into(),
        }));
        let answer = |invoke, service| Pdu::Response { invoke, service };
        let out = said_of(
            &mut guard,
            vec![
                Pdu::request(7, obtain),
                answer(1, opened(told)),
                answer(2, piece_of(b"abc", true)),
                answer(3, piece_of(b"", true)),
                answer(4, MmsResponse::FileClose),
            ],
        );
        assert_eq!(out[3], Pdu::request(4, MmsRequest::FileClose(1)));
        let is_taken = matches!(out[4], Pdu::Response { invoke: 7, .. });
        assert_eq!(is_taken, is_whole, "{:?}", out[4]);
        let left = guard.store().attributes(&User::default(), &name("b"));
        let size: u64 = 3;
        assert_eq!(left.unwrap().size, Some(size.into()));
        let (file, _) = guard.store().read_from(&User::default(), &name("b"), today()).unwrap();
        let left = guard.store().read(file, 0, 9).unwrap().to_vec();
        assert_eq!(left, if is_whole { b"abc" } else { b"old" });
    }
}

#[test]
fn a_file_that_is_there_and_whose_association_breaks_is_there() {
    let shelf = MemorySink::default();
    let mut asked = Asked::new(get("a", &shelf));
    assert!(asked.answer(opened(3)));
    assert!(asked.answer(piece_of(b"abc", false)));
    asked.client.on_aborted(Reason::Down);
    assert_eq!(asked.result(), Ok(Gain::Moved(3)));
    assert!(asked.client.plan().failure().is_some());
}

#[test]
fn a_listing_that_only_names_the_directory_ends() {
    let mut asked = Asked::new(Operation::List { name: "d".into() });
    let names = ["d/", "/d/"].into_iter().cycle();
    let mut parts = 0;
    for name in names.take(10_000) {
        let part = FileDirectoryResponse {
            entries: vec![DirectoryEntry { filename: FileName::from(name), attributes: FileAttributes::default() }],
            more_follows: true,
        };
        if !asked.answer(MmsResponse::FileDirectory(part)) {
            break;
        }
        parts += 1;
    }
    assert!(parts < 10_000);
    let why = asked.result().unwrap_err();
    assert_eq!(why.layer, Layer::Mms);
    assert!(why.meaning.contains("again and again"), "{why}");
}
