//! Associations of FTAM over TCP and over X.25, and what ends them.

use core::net::SocketAddr;
use kumiki_graph::Parameters;
use kumiki_graph::Special;
use kumiki_octets::Number;
use std::sync::{Arc, Mutex};

use kumiki_files::file_user::{self, FileClient, Operation, Plan, PutMode, Settings as Wishes, Sink};
use kumiki_files::filestore::{self, FileServer, Guard, Memory};
use kumiki_files::ftam::{self, Ftam};
use kumiki_graph::{Address, Duration, Handle, Indication, Mode, NodeId, Open, Request};
use kumiki_octets::{Message, Page};
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi_service::Association;
use kumiki_osi_service::ftam::bulk::Restart;
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::file::{BeginGroupRequest, OpenResponse};
use kumiki_osi_service::ftam::regime::InitializeRequest;
use kumiki_osi_service::ftam::{Fpdu, FunctionalUnits, Kind, Password, Primitive};
use kumiki_stack::Settings;

use super::bench::{Bench, CALLER, FAR, LISTENER, NEAR, accepting, of};
use crate::arrange::tshark;

/// What is below transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Network {
    /// TPKT on our TCP.
    Tcp,
    /// X.25 on LAPB.
    X25,
}

/// The layers up to transport, at both ends of the line.
pub(crate) fn lower(bench: &mut Bench, network: Network) {
    for host in [NEAR, FAR] {
        bench.line(host);
        let number = ["1", "2"][host];
        let none = Settings::new();
        let transport = match network {
            Network::Tcp => {
                let address = format!("10.0.0.{number}/24");
                let ip = Settings::new().with("address", &*address);
                bench.build(host, "ip", &["line"], &ip);
                bench.build(host, "tcp", &["ip"], &none);
                bench.build(host, "tpkt", &["tcp"], &none);
                bench.build(host, "tp0", &["tpkt"], &none);
                continue;
            }
            Network::X25 => Settings::new().with("network", "x25"),
        };
        let role = ["dte", "dce"][host];
        let link = Settings::new().with("role", role);
        bench.build(host, "lapb", &["line"], &link);
        let packets = Settings::new().with("role", role).with("address", number);
        bench.build(host, "x25", &["lapb"], &packets);
        bench.build(host, "tp0", &["x25"], &transport);
    }
}

/// The far end's address.
pub(crate) fn remote(network: Network) -> Address {
    match network {
        Network::Tcp => Address::from("10.0.0.2:102".parse::<SocketAddr>().unwrap()),
        Network::X25 => Address::from("2".parse::<Number>().unwrap()),
    }
}

/// Session to FTAM at both ends.
pub(crate) fn upper(bench: &mut Bench, session: &Settings, files: &ftam::Config) {
    for host in [NEAR, FAR] {
        bench.build(host, "session", &["tp0"], session);
        let presentation = Presentation::new(presentation::Config::default());
        bench.node(host, "presentation", &["session"], presentation);
        bench.node(host, "acse", &["presentation"], Acse::new(acse::Config::default()));
        bench.node(host, "ftam", &["acse"], Ftam::new(files.clone()));
    }
}

/// Takes what comes.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<u8>>>);

impl Sink for Shelf {
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String> {
        let mut kept = self.0.lock().unwrap();
        kept.resize(usize::try_from(offset).unwrap(), 0);
        kept.extend(data.to_vec());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Does `plan` and gives what crossed the near line.
fn run(network: Network, wishes: Wishes, memory: Memory, plan: Vec<Operation>) -> Bench {
    let mut bench = Bench::new();
    lower(&mut bench, network);
    upper(&mut bench, &Settings::new(), &ftam::Config::default());
    let guard = Guard::new(Box::new(memory));
    let server = FileServer::new(filestore::Config::default(), guard);
    bench.node(FAR, "server", &["ftam"], server);
    let config = file_user::Config { remote: remote(network), settings: wishes, ..file_user::Config::default() };
    bench.node(NEAR, "client", &["ftam"], FileClient::new(config, plan));
    bench.start();
    bench.pass(Duration::from_secs(600));
    bench
}

fn client(bench: &Bench) -> &Plan {
    let node: NodeId = bench.graph.node(&of(NEAR, "client")).unwrap();
    bench.graph.protocol::<FileClient>(node).unwrap().plan()
}

/// What tshark may remark: connections of TCP begin and end, and it knows no data types of documents. The last is its
/// answer to an entry of NBS-9, whose type it does not know either.
const ALLOWED: [&str; 5] = [
    "BER: Dissector for OID not implemented",
    "Connection ",
    "This frame ",
    "TCP window update",
    "Internal error, zero-byte FTAM PDU",
];

/// What tshark reads in a capture.
#[derive(Default, Debug)]
pub(crate) struct Seen {
    /// FPDUs by their tags, in order.
    pub(crate) files: Vec<u32>,
    /// SPDUs by their identifiers; those that only stand before others are not among them.
    pub(crate) session: Vec<u32>,
    /// TPDUs, data apart.
    pub(crate) transport: Vec<String>,
    /// Packets of X.25, data and acknowledgments apart.
    pub(crate) packets: Vec<String>,
    /// Frames of LAPB that are no I frames and no acknowledgments.
    pub(crate) frames: Vec<String>,
}

/// GIVE TOKENS, which stands before every SPDU of data, and DATA TRANSFER: the same number.
const DATA: u32 = 1;

/// What tshark reads in the capture of a bench, with which it finds nothing wrong.
pub(crate) fn read(name: &str, bench: &mut Bench) -> Option<Seen> {
    let fields = [
        "_ws.malformed",
        "_ws.expert.message",
        "cotp.type",
        "ses.type",
        "ftam.fTAM_Regime_PDU",
        "ftam.file_PDU",
        "ftam.bulk_Data_PDU",
        "x25.type",
        "lapb.control",
    ];
    let mut seen = Seen::default();
    for row in tshark(name, &bench.capture(), &fields)? {
        assert_eq!(row[0], "", "{row:?}");
        let said = |at: usize| row[at].split(';').filter(|it| !it.is_empty());
        for remark in said(1) {
            assert!(ALLOWED.iter().any(|it| remark.starts_with(it)), "{row:?}");
        }
        let tpdus = said(2).filter(|it| *it != "0x0f").map(str::to_owned);
        seen.transport.extend(tpdus);
        let spdus = said(3).map(|it| it.parse::<u32>().unwrap());
        seen.session.extend(spdus.filter(|it| *it != DATA));
        for at in 4..=6 {
            let fpdus = said(at).map(|it| it.parse::<u32>().unwrap());
            seen.files.extend(fpdus);
        }
        let number = |it: &str| u32::from_str_radix(it.trim_start_matches("0x"), 16).unwrap();
        // Data are even; RR and RNR of both moduli end in 1 and 5.
        let packets = said(7).filter(|it| number(it) & 1 == 1);
        let packets = packets.filter(|it| !matches!(number(it) & 0x1f, 0x01 | 0x05));
        seen.packets.extend(packets.map(str::to_owned));
        let frames = said(8).filter(|it| number(it) & 3 == 3);
        seen.frames.extend(frames.map(str::to_owned));
    }
    Some(seen)
}

/// The tags of `kinds`.
fn tags(kinds: &[Kind]) -> Vec<u32> {
    kinds.iter().map(|kind| kind.tag()).collect()
}

/// A group of requests and the group that answers it.
fn group(members: &[Kind]) -> Vec<u32> {
    let [begin, end] = [Kind::BeginGroupRequest, Kind::EndGroupRequest].map(Kind::tag);
    let requests = members.iter().map(|kind| kind.tag());
    let requests: Vec<u32> = [begin].into_iter().chain(requests).chain([end]).collect();
    // The tag of a response is the one behind its request's.
    let responses = requests.iter().map(|tag| tag + 1);
    requests.iter().copied().chain(responses).collect()
}

/// What is sent for a whole plan, from F-INITIALIZE to F-TERMINATE.
fn of_the_plan() -> Vec<u32> {
    use Kind::{
        ChangeAttribRequest, CloseRequest, CreateRequest, DataEndRequest, DeleteRequest, DeselectRequest,
        InitializeRequest, InitializeResponse, OpenRequest, ReadAttribRequest, ReadRequest, SelectRequest,
        TerminateRequest, TerminateResponse, TransferEndRequest, TransferEndResponse, WriteRequest,
    };
    let moved = [DataEndRequest, TransferEndRequest, TransferEndResponse];
    [
        tags(&[InitializeRequest, InitializeResponse]),
        group(&[CreateRequest, DeselectRequest]),
        group(&[CreateRequest, OpenRequest]),
        tags(&[WriteRequest]),
        tags(&moved),
        group(&[CloseRequest, DeselectRequest]),
        group(&[SelectRequest, OpenRequest]),
        tags(&[ReadRequest]),
        tags(&moved),
        group(&[CloseRequest, DeselectRequest]),
        group(&[SelectRequest, ReadAttribRequest, DeselectRequest]),
        group(&[SelectRequest, OpenRequest]),
        tags(&[ReadRequest]),
        tags(&moved),
        group(&[CloseRequest, DeselectRequest]),
        group(&[SelectRequest, ChangeAttribRequest, DeselectRequest]),
        group(&[SelectRequest, DeleteRequest]),
        tags(&[TerminateRequest, TerminateResponse]),
    ]
    .concat()
}

/// A directory, a file in it there and back, and everything else that a client does.
fn plan(shelf: &Shelf, content: &[u8]) -> Vec<Operation> {
    let named = |name: &str| name.to_owned();
    vec![
        Operation::MakeDirectory { name: named("d") },
        Operation::Put {
            name: named("d/f"),
            contents_type: ContentsType::binary(),
            mode: PutMode::New,
            source: Box::new(Message::from_page(Page::from(content))),
        },
        Operation::Get { name: named("d/f"), contents_type: None, restart_at: 0, sink: Box::new(shelf.clone()) },
        Operation::Stat { name: named("d/f") },
        Operation::List { name: named("d") },
        Operation::Rename { name: named("d/f"), to: named("d/g") },
        Operation::Remove { name: named("d/g") },
    ]
}

/// Everything that a client does, between hosts on `network`.
fn all(name: &str, network: Network) -> Option<Seen> {
    let shelf = Shelf::default();
    let content: Vec<u8> = (0..=250).cycle().take(20_000).collect();
    let plan = plan(&shelf, &content);
    let mut bench = run(network, Wishes::default(), Memory::new(), plan);
    assert!(client(&bench).is_over(), "{:?}", client(&bench).failure());
    for outcome in client(&bench).outcomes() {
        assert!(outcome.result.is_ok(), "{outcome:?}");
    }
    assert!(*shelf.0.lock().unwrap() == content);
    let seen = read(name, &mut bench)?;
    assert_eq!(seen.files, of_the_plan());
    // CONNECT, ACCEPT, FINISH, DISCONNECT.
    assert_eq!(seen.session, [13, 14, 9, 10]);
    // CR and CC: class 0 has no end of its own.
    assert_eq!(seen.transport, ["0x0e", "0x0d"]);
    Some(seen)
}

#[test]
fn tshark_follows_a_whole_association_over_tcp() {
    all("files-tcp", Network::Tcp);
}

#[test]
fn tshark_follows_a_whole_association_over_x25() {
    let Some(seen) = all("files-x25", Network::X25) else {
        return;
    };
    // RESTART of both, each of which confirms the other's, CALL, CALL CONNECTED, CLEAR and its confirmation.
    assert_eq!(seen.packets, ["0xfb", "0xfb", "0x0b", "0x0f", "0x13", "0x17"]);
    // SABM of both and UA to each, with P and F.
    assert_eq!(seen.frames, ["0x3f", "0x3f", "0x73", "0x73"]);
}

#[test]
fn tshark_sees_why_a_login_was_refused() {
    let memory = || Memory::new().with_user("kato", "secret");
    for (network, name) in [(Network::Tcp, "login-tcp"), (Network::X25, "login-x25")] {
        let wishes = Wishes {
            initiator: Some("kato".into()),
            password: Some(Password::Text("guessed".into())),
            ..Wishes::default()
        };
        let plan = plan(&Shelf::default(), b"x");
        let mut bench = run(network, wishes, memory(), plan);
        assert!(client(&bench).failure().is_some());
        let Some(seen) = read(name, &mut bench) else {
            return;
        };
        // REFUSE, with F-INITIALIZE's response in AARE in CPR.
        assert_eq!(seen.session, [13, 12]);
        let both = [Kind::InitializeRequest, Kind::InitializeResponse];
        assert_eq!(seen.files, tags(&both));
        let fields = ["acse.result", "ftam.state_result", "ftam.action_result", "ftam.error_identifier"];
        let rows = tshark(name, &bench.capture(), &fields).unwrap();
        let said: Vec<&[String]> = rows.iter().filter(|row| !row[3].is_empty()).map(|row| &row[..]).collect();
        // Rejected for good, failure, permanent error: 2020, the password.
        assert_eq!(said, [["1", "1", "2", "2020"]]);
    }
}

/// Two users of the file service that stand where client and server would, and what F-INITIALIZE says.
pub(crate) fn between(
    network: Network,
    files: &ftam::Config,
    request: InitializeRequest,
    accept: bool,
) -> (Bench, NodeId, NodeId) {
    let mut bench = Bench::new();
    lower(&mut bench, network);
    upper(&mut bench, &Settings::new(), files);
    let users = [NEAR, FAR].map(|host| bench.user(host, "ftam"));
    bench.person(users[FAR]).accept = accept.then(|| accepting(None));
    bench.start();
    let listen = Open { user: LISTENER, mode: Mode::Passive { backlog: 1 }, ..Open::default() };
    bench.say(users[FAR], Request::Open(Box::new(listen)));
    let initialize = Fpdu::InitializeRequest(Box::new(request));
    let call = Open {
        user: CALLER,
        remote: remote(network),
        parameters: Parameters::of(Association { initialize: Some(Box::new(initialize)), ..Association::default() }),
        ..Open::default()
    };
    bench.say(users[NEAR], Request::Open(Box::new(call)));
    bench.pass(Duration::from_secs(5));
    (bench, users[NEAR], users[FAR])
}

fn tell(bench: &mut Bench, user: NodeId, primitive: impl Into<Primitive>) {
    let what = Special::new(primitive.into());
    let session = bench.person(user).session;
    bench.say(user, Request::Special { session, what });
    bench.pass(Duration::from_secs(2));
}

fn request(files: &ftam::Config) -> InitializeRequest {
    InitializeRequest {
        functional_units: files.capabilities.units,
        checkpoint_window: files.capabilities.checkpoint_window,
        service_class: files.capabilities.classes,
        ..InitializeRequest::default()
    }
}

#[test]
fn tshark_sees_who_aborts_at_every_layer() {
    for (network, name) in [(Network::Tcp, "abort-tcp"), (Network::X25, "abort-x25")] {
        let files = ftam::Config::default();
        let (mut bench, near, far) = between(network, &files, request(&files), true);
        assert!(bench.person(near).session != Handle::default());
        tell(&mut bench, far, Fpdu::UserAbort(Box::default()));
        assert!(matches!(bench.person(near).heard.last(), Some(Indication::Aborted { .. })));
        let Some(seen) = read(name, &mut bench) else {
            return;
        };
        // ABORT, with F-U-ABORT in ABRT in ARU.
        assert_eq!(seen.session[..3], [13, 14, 25]);
        let all = [Kind::InitializeRequest, Kind::InitializeResponse, Kind::UserAbort];
        assert_eq!(seen.files, tags(&all));
        let rows = tshark(name, &bench.capture(), &["acse.abort_source"]).unwrap();
        let sources: Vec<&str> = rows.iter().map(|row| row[0].as_str()).filter(|it| !it.is_empty()).collect();
        assert_eq!(sources, ["0"], "the user");
    }
}

#[test]
fn tshark_sees_checkpoints_and_a_restart_from_one() {
    let mut files = ftam::Config::default();
    let units = files.capabilities.units | FunctionalUnits::RESTART_DATA_TRANSFER;
    (files.capabilities.units, files.capabilities.checkpoint_window) = (units, 4);
    for (network, name) in [(Network::Tcp, "restart-tcp"), (Network::X25, "restart-x25")] {
        let (mut bench, near, far) = between(network, &files, request(&files), true);
        let begin = BeginGroupRequest { threshold: 2 };
        tell(&mut bench, near, Fpdu::BeginGroupRequest(begin));
        tell(&mut bench, near, Fpdu::SelectRequest(Box::default()));
        tell(&mut bench, near, Fpdu::OpenRequest(Box::default()));
        tell(&mut bench, near, Fpdu::EndGroupRequest);
        let opened = OpenResponse { contents_type: ContentsType::binary(), ..OpenResponse::default() };
        tell(&mut bench, far, Fpdu::BeginGroupResponse);
        tell(&mut bench, far, Fpdu::SelectResponse(Box::default()));
        tell(&mut bench, far, Fpdu::OpenResponse(Box::new(opened)));
        tell(&mut bench, far, Fpdu::EndGroupResponse);
        tell(&mut bench, near, Fpdu::WriteRequest(Box::default()));
        let session = bench.person(near).session;
        for identifier in 1..=2 {
            assert!(bench.person(near).credit > 0);
            let data = Message::from_octets(&[7; 300]);
            let data = Request::Data { session, data, end: true };
            bench.say(near, data);
            tell(&mut bench, near, Primitive::Check { identifier });
        }
        tell(&mut bench, far, Primitive::CheckReply { identifier: 1 });
        let from = |checkpoint_identifier| Box::new(Restart { checkpoint_identifier, ..Restart::default() });
        tell(&mut bench, far, Fpdu::RestartRequest(from(1)));
        tell(&mut bench, near, Fpdu::RestartResponse(from(1)));
        tell(&mut bench, near, Primitive::Check { identifier: 2 });
        tell(&mut bench, far, Primitive::CheckReply { identifier: 2 });
        tell(&mut bench, near, Fpdu::DataEndRequest(Box::default()));
        tell(&mut bench, near, Fpdu::TransferEndRequest(Box::default()));
        tell(&mut bench, far, Fpdu::TransferEndResponse(Box::default()));
        let Some(seen) = read(name, &mut bench) else {
            return;
        };
        // Between CONNECT and ACCEPT and whatever ends: MINOR SYNC POINT twice, its ACK, RESYNCHRONIZE and its ACK, a
        // point and its ACK.
        assert_eq!(seen.session, [13, 14, 49, 49, 50, 53, 34, 49, 50]);
        let bulk = [
            Kind::WriteRequest,
            Kind::RestartRequest,
            Kind::RestartResponse,
            Kind::DataEndRequest,
            Kind::TransferEndRequest,
            Kind::TransferEndResponse,
        ];
        assert_eq!(seen.files[10..], tags(&bulk));
        let fields = ["ses.type", "ses.serial_number"];
        let rows = tshark(name, &bench.capture(), &fields).unwrap();
        let of = |spdu: &str| {
            let rows = rows.iter();
            let rows = rows.filter(move |row| row[0].split(';').any(|it| it == spdu));
            rows.map(|row| row[1].clone()).collect::<Vec<String>>()
        };
        // Points and their confirms. Who resynchronizes names the number that the next point is to get.
        assert_eq!(of("49"), ["1", "2", "2"]);
        assert_eq!(of("50"), ["1", "2"]);
        assert_eq!((of("53"), of("34")), (vec!["2".to_owned()], vec!["2".to_owned()]));
    }
}

/// From where on the user data of CONNECT goes in CONNECT DATA OVERFLOW, which tshark does not put together.
const MOST: usize = 10_240;

#[test]
fn tshark_reads_connects_of_all_lengths() {
    for (octets, name) in [(300, "connect-300"), (2000, "connect-2000"), (12_000, "connect-12000")] {
        let files = ftam::Config::default();
        let words = "x".repeat(octets);
        let request = InitializeRequest { implementation_information: Some(words.as_str().into()), ..request(&files) };
        let (mut bench, near, far) = between(Network::Tcp, &files, request, true);
        assert!(bench.person(near).session != Handle::default());
        tell(&mut bench, near, Fpdu::TerminateRequest(Box::default()));
        tell(&mut bench, far, Fpdu::TerminateResponse(Box::default()));
        let fields = ["ses.type", "_ws.malformed", "ftam.implementation_information"];
        let Some(rows) = tshark(name, &bench.capture(), &fields) else {
            return;
        };
        let spdus: Vec<&str> = rows.iter().map(|row| row[0].as_str()).filter(|it| !it.is_empty()).collect();
        if octets < MOST {
            assert_eq!(spdus, ["13", "14", "9", "10"]);
            assert!(rows.iter().any(|row| row[2] == words));
            assert!(rows.iter().all(|row| row[1].is_empty()));
        } else {
            // OVERFLOW ACCEPT and CONNECT DATA OVERFLOW between CONNECT and ACCEPT.
            assert_eq!(spdus, ["13", "16", "15", "14", "9", "10"]);
        }
    }
}
