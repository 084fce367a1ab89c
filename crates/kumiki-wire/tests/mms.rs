//! MMS PDUs: octets of libiec61850, round trips, and any octets.

use bcder::decode::SliceSource;
use bcder::{Mode, Tag};
use kumiki_octets::Payload;
use kumiki_octets::{Message, Page};
use kumiki_osi_service::ftam::{GeneralizedTime, GraphicString};
use kumiki_osi_service::mms::{
    DirectoryEntry, ErrorClass, FaultyFile, FileAttributes, FileDirectory, FileDirectoryResponse, FileName, FileOpen,
    FileOpened, FileRead, FileRename, Identity, Initiate, ObtainFile, Pdu, Raw, Reject, RejectedPdu, Request, Response,
    Service, ServiceError, Services, Status, file_error,
};
use kumiki_wire::files::mms::{emit, parse, parse_octets};
use proptest::prelude::*;

/// initiate-Request of libiec61850 1.6.
const INITIATE: [u8; 40] = [
    0xa8, 0x26, 0x80, 0x03, 0x00, 0xfd, 0xe8, 0x81, 0x01, 0x05, 0x82, 0x01, 0x05, 0x83, 0x01, 0x0a, 0xa4, 0x16, 0x80,
    0x01, 0x01, 0x81, 0x03, 0x05, 0xf1, 0x00, 0x82, 0x0c, 0x03, 0xee, 0x1c, 0x00, 0x00, 0x04, 0x08, 0x00, 0x00, 0x79,
    0xef, 0x18,
];

#[test]
fn what_libiec61850_proposes_is_read_and_written_as_it_was() {
    let pdu = parse(Message::from_octets(&INITIATE)).unwrap();
    let Pdu::InitiateRequest(it) = &pdu else {
        panic!("{pdu:?}");
    };
    assert_eq!(it.local_detail, Some(65_000));
    assert_eq!(it.max_serv_outstanding_called, 5);
    assert_eq!(it.data_structure_nesting_level, Some(10));
    for service in [Service::IDENTIFY, Service::FILE_OPEN, Service::FILE_DIRECTORY, Service::CONCLUDE] {
        assert!(it.services_supported.has(service), "{service}");
    }
    assert!(!it.services_supported.has(Service::FILE_RENAME));
    assert_eq!(emit(pdu).to_vec(), INITIATE);
}

#[test]
fn a_directory_is_read_whether_its_tag_is_explicit_or_taken_for_implicit() {
    let entry =
        [0x30, 0x10, 0xa0, 0x03, 0x19, 0x01, b'a', 0xa1, 0x09, 0x80, 0x01, 0x07, 0x81, 0x04, b'2', b'0', b'2', b'6'];
    let explicit = [&[0xa1, 0x1c, 0x02, 0x01, 0x01, 0xbf, 0x4d, 0x16, 0xa0, 0x14, 0x30, 0x12][..], &entry].concat();
    let implicit = [&[0xa1, 0x1a, 0x02, 0x01, 0x01, 0xbf, 0x4d, 0x14, 0xa0, 0x12][..], &entry].concat();
    let read = parse_octets(&explicit).unwrap();
    assert_eq!(parse_octets(&implicit).unwrap(), read);
    let Pdu::Response { service: Response::FileDirectory(it), .. } = read else {
        panic!("{read:?}");
    };
    assert_eq!(it.entries[0].filename, "a".into());
    assert_eq!(it.entries[0].attributes.size_of_file, 7);
    assert!(!it.more_follows);
}

#[test]
fn the_octets_of_a_file_are_shared_and_not_copied() {
    let file_data = Message::from_page(Page::from(&[7_u8; 50_000][..]));
    let at = file_data.pieces().next().unwrap().unwrap().as_ptr();
    let service = Response::FileRead(FileRead { file_data, more_follows: false });
    let pdu = parse(emit(Pdu::Response { invoke: 9, service })).unwrap();
    let data = pdu.payload().unwrap();
    assert_eq!(data.len(), 50_000);
    assert_eq!(data.pieces().next().unwrap().unwrap().as_ptr(), at);
}

#[test]
fn what_is_short_holds_on_to_little_more_memory_than_its_octets() {
    // Who asks much and reads nothing has thousands of answers waiting for him.
    let answer = emit(parse(Message::from_octets(&INITIATE)).unwrap());
    assert!(answer.held() < 3 * INITIATE.len(), "{}", answer.held());
}

#[test]
fn a_file_read_without_a_flag_has_more_behind_it() {
    let pdu = parse_octets(&[0xa1, 0x08, 2, 1, 1, 0xbf, 0x49, 2, 0x80, 0]).unwrap();
    let whole = parse(Message::from_octets(&[0xa1, 0x08, 2, 1, 1, 0xbf, 0x49, 2, 0x80, 0]));
    assert_eq!(whole.unwrap(), pdu);
    let Pdu::Response { service: Response::FileRead(read), .. } = pdu else {
        panic!("{pdu:?}");
    };
    assert!(read.more_follows && read.file_data.is_empty());
}

#[test]
fn the_file_to_blame_has_the_tag_of_its_service() {
    // Number 5, file error 8, and the destination: of obtainFile [0], of fileRename [9].
    for (blame, tag) in [(FaultyFile::ObtainFile(1), 0x80), (FaultyFile::FileRename(1), 0x89)] {
        let octets = [0xa2, 0x0f, 0x80, 1, 5, 0xa2, 0x0a, 0xa0, 3, 0x8b, 1, 8, 0xa3, 3, tag, 1, 1];
        let error = ServiceError { file: Some(blame), ..ServiceError::of_file(file_error::DUPLICATE_FILENAME) };
        let pdu = Pdu::Error { invoke: 5, error };
        assert_eq!(parse_octets(&octets).unwrap(), pdu);
        assert_eq!(emit(pdu).to_vec(), octets);
    }
}

#[test]
fn an_error_names_pdu_and_field() {
    let why = parse_octets(&[0xa0, 0x05, 0x02, 0x01, 0x01, 0xbf, 0x48]).unwrap_err();
    assert!(why.to_string().contains("confirmed"), "{why}");
    let why = parse_octets(&[0xa0, 0x08, 2, 1, 1, 0xbf, 0x48, 2, 0xa0, 0]).unwrap_err();
    assert!(why.to_string().contains("initialPosition"), "{why}");
}

/// A second opinion, by a crate that knows nothing of MMS.
#[test]
fn bcder_reads_what_is_written() {
    let open = Request::FileOpen(FileOpen { file_name: "COMTRADE/1.dat".into(), initial_position: 3_000_000_000 });
    let octets = emit(Pdu::request(70_000, open)).to_vec();
    let (invoke, name, at) = Mode::Ber
        .decode(SliceSource::new(&octets), |r| {
            r.take_constructed_if(Tag::CTX_0, |r| {
                let invoke = r.take_u32()?;
                r.take_constructed_if(Tag::ctx(72), |r| {
                    let name = r.take_constructed_if(Tag::CTX_0, |r| {
                        r.take_primitive_if(Tag::universal(25), |it| it.take_all())
                    })?;
                    let at = r.take_primitive_if(Tag::CTX_1, |it| it.to_u32())?;
                    Ok((invoke, name, at))
                })
            })
        })
        .unwrap();
    assert_eq!((invoke, &name[..], at), (70_000, &b"COMTRADE/1.dat"[..], 3_000_000_000));
}

fn name() -> impl Strategy<Value = FileName> {
    prop::collection::vec("[ -~]{0,12}", 0..3)
        .prop_map(|parts| FileName(parts.into_iter().map(|part| GraphicString::from(part.as_str())).collect()))
}

fn attributes() -> impl Strategy<Value = FileAttributes> {
    (any::<u32>(), proptest::option::of("[0-9]{14}Z")).prop_map(|(size_of_file, time)| FileAttributes {
        size_of_file,
        last_modified: time.map(|text| GeneralizedTime::written(text.as_bytes())),
    })
}

fn error() -> impl Strategy<Value = ServiceError> {
    (
        0..13_u32,
        any::<i64>(),
        proptest::option::of(any::<i64>()),
        proptest::option::of("[ -~]{1,20}"),
        proptest::option::of(prop_oneof![
            (0..2_i64).prop_map(FaultyFile::ObtainFile),
            (0..2_i64).prop_map(FaultyFile::FileRename),
        ]),
    )
        .prop_map(|(class, code, additional_code, additional_description, file)| ServiceError {
            class: ErrorClass(class),
            code,
            additional_code,
            additional_description,
            file,
        })
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        any::<bool>().prop_map(Request::Status),
        Just(Request::Identify),
        (name(), name()).prop_map(|(source_file, destination_file)| {
            Request::ObtainFile(Box::new(ObtainFile { source_file_server: None, source_file, destination_file }))
        }),
        (name(), any::<u32>())
            .prop_map(|(file_name, initial_position)| { Request::FileOpen(FileOpen { file_name, initial_position }) }),
        any::<i32>().prop_map(Request::FileRead),
        any::<i32>().prop_map(Request::FileClose),
        (name(), name()).prop_map(|(current, new)| Request::FileRename(FileRename { current, new })),
        name().prop_map(Request::FileDelete),
        (proptest::option::of(name()), proptest::option::of(name())).prop_map(
            |(file_specification, continue_after)| Request::FileDirectory(FileDirectory {
                file_specification,
                continue_after,
            })
        ),
        Just(Request::Other(Raw { tag: 4, octets: vec![0xa4, 0x03, 0x81, 0x01, 0x07] })),
    ]
}

fn response() -> impl Strategy<Value = Response> {
    prop_oneof![
        (0..4_i64, 0..4_i64).prop_map(|(logical, physical)| Response::Status(Status { logical, physical })),
        ("[ -~]{0,9}", "[ -~]{0,9}", "[ -~]{0,9}").prop_map(|(vendor_name, model_name, revision)| {
            Response::Identify(Box::new(Identity {
                vendor_name,
                model_name,
                revision,
                abstract_syntaxes: vec![kumiki_osi_service::mms::ABSTRACT_SYNTAX],
            }))
        }),
        Just(Response::ObtainFile),
        (any::<i32>(), attributes()).prop_map(|(frsm, attributes)| Response::FileOpen(FileOpened { frsm, attributes })),
        (prop::collection::vec(any::<u8>(), 0..300), any::<bool>()).prop_map(|(octets, more_follows)| {
            Response::FileRead(FileRead { file_data: Message::from_octets(&octets), more_follows })
        }),
        Just(Response::FileClose),
        Just(Response::FileRename),
        Just(Response::FileDelete),
        (prop::collection::vec((name(), attributes()), 0..5), any::<bool>()).prop_map(|(entries, more_follows)| {
            Response::FileDirectory(FileDirectoryResponse {
                entries: entries
                    .into_iter()
                    .map(|(filename, attributes)| DirectoryEntry { filename, attributes })
                    .collect(),
                more_follows,
            })
        }),
    ]
}

fn initiate() -> impl Strategy<Value = Initiate> {
    (
        proptest::option::of(any::<i32>()),
        any::<i16>(),
        any::<i16>(),
        proptest::option::of(any::<i8>()),
        0..0x800_u64,
        any::<u128>(),
    )
        .prop_map(|(detail, calling, called, level, parameter_cbb, bits)| Initiate {
            local_detail: detail.map(i64::from),
            max_serv_outstanding_calling: calling.into(),
            max_serv_outstanding_called: called.into(),
            data_structure_nesting_level: level.map(i64::from),
            version: 1,
            parameter_cbb,
            services_supported: Services(bits),
        })
}

fn pdu() -> impl Strategy<Value = Pdu> {
    let invoke = any::<u32>();
    prop_oneof![
        (invoke, request()).prop_map(|(invoke, service)| Pdu::request(invoke, service)),
        (invoke, response()).prop_map(|(invoke, service)| Pdu::Response { invoke, service }),
        (invoke, error()).prop_map(|(invoke, error)| Pdu::Error { invoke, error }),
        Just(Pdu::Unconfirmed(Raw { tag: 0, octets: vec![0xa0, 0x00] })),
        (proptest::option::of(invoke), 1..12_u32, 0..10_i64)
            .prop_map(|(invoke, pdu, code)| { Pdu::Reject(Reject { invoke, pdu: RejectedPdu(pdu), code }) }),
        invoke.prop_map(Pdu::CancelRequest),
        invoke.prop_map(Pdu::CancelResponse),
        (invoke, error()).prop_map(|(invoke, error)| Pdu::CancelError { invoke, error }),
        initiate().prop_map(Pdu::InitiateRequest),
        initiate().prop_map(Pdu::InitiateResponse),
        error().prop_map(Pdu::InitiateError),
        Just(Pdu::ConcludeRequest),
        Just(Pdu::ConcludeResponse),
        error().prop_map(Pdu::ConcludeError),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(pdu in pdu()) {
        let octets = emit(pdu.clone());
        prop_assert_eq!(&parse_octets(&octets.to_vec()).unwrap(), &pdu);
        prop_assert_eq!(parse(octets).unwrap(), pdu);
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(Message::from_octets(&octets));
        let _ = kumiki_wire::files::mms::invoke_of(&Message::from_octets(&octets));
    }

    #[test]
    fn a_pdu_with_another_octet_is_read_or_refused(pdu in pdu(), at in any::<usize>(), octet in any::<u8>()) {
        let mut octets = emit(pdu).to_vec();
        let at = at % octets.len();
        octets[at] = octet;
        if let Ok(pdu) = parse(Message::from_octets(&octets)) {
            let _ = pdu.to_string();
            prop_assert_eq!(parse(emit(pdu.clone())).unwrap(), pdu);
        }
    }
}
