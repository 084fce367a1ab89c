//! What is written here, tshark reads as the same thing. Skipped where there is no tshark.
//!
//! The FPDUs go into an association whose beginning is that of a recorded one, as presentation data values of one ASN.1
//! type each.

use kumiki_osi_service::ftam::access::{AccessContext, FaduIdentity, FaduLock};
use kumiki_osi_service::ftam::attributes::{Attribute, Pathname, ReadAttributes};
use kumiki_osi_service::ftam::bulk::ReadRequest;
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::file::ReadAttribResponse;
use kumiki_osi_service::ftam::regime::InitializeRequest;
use kumiki_osi_service::ftam::{
    ActionResult, Diagnostic, DiagnosticType, Entity, Fpdu, FunctionalUnits, GeneralizedTime, Kind,
};
use kumiki_wire::files::ftam::emit;

use super::made::{Source, fpdu};
use super::{hex, judge};

/// "Upper PDUs", of the tcpdump.org registry: PDUs of a protocol named in front, without those below.
const EXPORTED: u32 = 252;

/// CN and CP of an ISODE that initiates: context 1 is FTAM-PCI, 3 binary, 5 text, 7 entries of directories.
const CONNECT: &str = "0300011702f0800dff010c01180a041402766d0b10170e313236313132303135303233305a050613010016010214020002c1e4
    3180a003800101a280a46c3010020101060528c27b02013004060251013010020103060528c27b02043004060251013010020105060528c27b0203
    300406025101301002010706052b0e050202300406025101301102010906062bce0f010202300406025101300f02010b060452010001300406025101
    6167306502010ba060605ea107060528c27b0101a206060439040010be4b284906025101020101a040a03e83020470840200378502078086010
    0a71d4e0528c27b05034e0528c27b05014e052b0e0505094e062bce0f01050956046674616d7108040673656372657400000000";

/// AC and CPA of its peer.
const ACCEPT: &str = "030000c702f0800ebe011809041402766d0b10170e313236313132303135303233305a050613010016010214020002c196
    3180a003800101a280a532300780010081025101300780010081025101300780010081025101300780010081025101300380010130078001008102
    510161533051 02010ba04c614aa107060528c27b0101a203020100a305a103020100be33283106025101020101a028
    a126830204108402003785020780860100a7154e0528c27b05034e0528c27b05014e052b0e05050900000000";

/// A TPKT as an exported PDU between two addresses.
fn exported(tpkt: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut tag = |number: u16, content: &[u8]| {
        octets.extend(number.to_be_bytes());
        octets.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
        octets.extend(content);
    };
    tag(12, b"tpkt");
    tag(20, &[10, 0, 0, 1]);
    tag(21, &[10, 0, 0, 2]);
    tag(24, &[0, 0, 0, 2]);
    tag(25, &[0, 0, 0xc0, 0]);
    tag(26, &[0, 0, 0, 102]);
    tag(0, &[]);
    octets.extend(tpkt);
    octets
}

/// An element.
fn element(identifier: u8, content: &[u8]) -> Vec<u8> {
    let mut octets = vec![identifier, 0x83];
    octets.extend(&u32::try_from(content.len()).unwrap().to_be_bytes()[1..]);
    octets.extend(content);
    octets
}

/// A TPKT with one presentation data value in it.
fn data(context: u8, value: &[u8]) -> Vec<u8> {
    let list = [&[2, 1, context][..], &element(0xa0, value)].concat();
    let value = element(0x61, &element(0x30, &list));
    let len = u16::try_from(value.len() + 11).unwrap().to_be_bytes();
    let head = [3, 0, len[0], len[1], 2, 0xf0, 0x80, 1, 0, 1, 0];
    [&head[..], &value].concat()
}

/// What tshark says of each of these values, in context 1: names of fields, and what it finds wrong.
fn judged(name: &str, values: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut packets = vec![exported(&hex(CONNECT)), exported(&hex(ACCEPT))];
    packets.extend(values.iter().map(|value| exported(&data(1, value))));
    let rows = judge::fields(name, EXPORTED, &packets, fields)?;
    Some(rows[2..].to_vec())
}

/// What tshark finds wrong in a value, but for what is not wrong.
fn faults(messages: &str) -> Vec<&str> {
    messages
        .split(',')
        .map(str::trim)
        // Types that it does not know, and the bits "less" and "greater" of a date pattern, which it reads as one of
        // equality.
        .filter(|message| {
            !message.is_empty()
                && !message.starts_with("BER: Dissector for OID not implemented. Contact Wireshark")
                && !message.starts_with("Unknown bit(s)")
        })
        .collect()
}

/// The choice of all FPDUs is one of four choices for tshark.
const CHOICES: [&str; 4] = ["ftam.fTAM_Regime_PDU", "ftam.file_PDU", "ftam.bulk_Data_PDU", "ftam.fSM_PDU"];

#[test]
fn every_fpdu_is_known_and_none_is_malformed() {
    let mut values = Vec::new();
    let mut kinds = Vec::new();
    for kind in Kind::ALL.iter().filter(|kind| kind.is_read()) {
        for seed in 0..20_u32 {
            let octets: Vec<u8> = (0..600_u32).map(|n| (n * 37 + seed * 101 + n * n * seed).to_le_bytes()[0]).collect();
            values.push(emit(&fpdu(*kind, &mut Source::for_tshark(&octets))));
            kinds.push(*kind);
        }
    }
    let [regime, file, bulk, management] = CHOICES;
    let fields = [regime, file, bulk, management, "_ws.expert.message", "_ws.malformed"];
    let Some(rows) = judged("ftam-kinds", &values, &fields) else {
        return;
    };
    assert_eq!(rows.len(), kinds.len());
    for (kind, row) in kinds.iter().zip(&rows) {
        let [choices @ .., messages, malformed] = &row[..] else {
            panic!("{row:?}");
        };
        assert_eq!(choices.concat(), kind.tag().to_string(), "{kind}");
        assert_eq!(faults(messages), [""; 0], "{kind}");
        assert_eq!(malformed, "", "{kind}");
    }
}

#[test]
fn fields_have_the_values_that_were_written() {
    let initialize = InitializeRequest {
        functional_units: FunctionalUnits::READ | FunctionalUnits::CONCURRENT_ACCESS,
        implementation_information: Some("Kumiki".into()),
        checkpoint_window: 300,
        ..InitializeRequest::default()
    };
    let attributes = ReadAttributes {
        pathname: Some(Pathname::Complete(vec!["usr".into(), "lib".into()])),
        contents_type: Some(ContentsType::binary()),
        created: Some(Attribute::Actual(GeneralizedTime::written(b"20261215201523Z"))),
        size: Some(Attribute::Actual(3000)),
        future_size: Some(Attribute::NoValueAvailable),
        ..ReadAttributes::default()
    };
    let response = ReadAttribResponse {
        action_result: ActionResult::TransientError,
        attributes: Some(Box::new(attributes)),
        diagnostic: vec![Diagnostic {
            diagnostic_type: DiagnosticType::Transient,
            error_identifier: 4001,
            error_observer: Entity::RespondingMachine,
            error_source: Entity::SupportingService,
            suggested_delay: Some(10),
            further_details: Some("later".into()),
        }],
    };
    let read = ReadRequest {
        fadu_identity: FaduIdentity::Number(77),
        access_context: AccessContext::FlatLevel(5),
        fadu_lock: Some(FaduLock::On),
        transfer_number: Some(9),
    };
    let values = [
        Fpdu::InitializeRequest(Box::new(initialize)),
        Fpdu::ReadAttribResponse(Box::new(response)),
        Fpdu::ReadRequest(Box::new(read)),
    ]
    .map(|fpdu| emit(&fpdu));
    let expected = [
        ("ftam.functional_units", ["200080", "", ""]),
        ("ftam.implementation_information", ["Kumiki", "", ""]),
        ("ftam.checkpoint_window", ["300", "", ""]),
        ("ftam.Pathname_item", ["", "usr,lib", ""]),
        ("ftam.document_type_name", ["", "1.0.8571.5.3", ""]),
        ("ftam.error_identifier", ["", "4001", ""]),
        ("ftam.error_observer", ["", "4", ""]),
        ("ftam.error_Source", ["", "3", ""]),
        ("ftam.suggested_delay", ["", "10", ""]),
        ("ftam.further_details", ["", "later", ""]),
        ("ftam.action_result", ["", "1", ""]),
        ("ftam.fadu_number", ["", "", "77"]),
        ("ftam.access_context", ["", "", "3"]),
        ("ftam.level_number", ["", "", "5"]),
        ("ftam.fadu_lock", ["", "", "1"]),
        ("ftam.transfer_number", ["", "", "9"]),
    ];
    let fields = expected.map(|(field, _)| field);
    let Some(rows) = judged("ftam-values", &values, &fields) else {
        return;
    };
    for (n, (field, values)) in expected.iter().enumerate() {
        let found: Vec<&str> = rows.iter().map(|row| row[n].as_str()).collect();
        assert_eq!(found, values, "{field}");
    }
}
