//! MMS: PDUs as libiec61850 sends them, and what is said of them.

use super::arrange::{bad, decode, notes, value};
use super::judge::{Pair, compare, ours, pcap, tshark_with};

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap())
        .collect();
    digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
}

fn line(hex: &str) -> String {
    let packet = decode("mms", &octets(hex));
    assert_eq!(bad(&packet), [""; 0]);
    assert_eq!(packet.layer("mms").unwrap().verbatim, Some(true));
    packet.layer("mms").unwrap().summary.clone()
}

#[test]
fn services_for_files_say_which_file() {
    assert_eq!(line("a013 020101 bf480d a0081906 622e62696e31 810100"), "confirmed-Request 1 fileOpen b.bin1 at 0");
    assert_eq!(line("a10d 020102 bf4907 8002 6162 810100"), "confirmed-Response 2 fileRead 2 octets, the last");
    assert_eq!(line("8b00"), "conclude-Request");
    assert_eq!(
        line("a826 800300fde8 810105 820105 83010a a416 800101 810305f100 820c03ee1c00000408000079ef18"),
        "initiate-Request PDUs of 65000 octets"
    );
}

/// What libiec61850's server and client send each other, and what the line says of it.
const VARIABLES: [(&str, &str); 8] = [
    (
        "a038020101a433a131a02f302da02ba1291a1173696d706c65494f47656e65726963494f1a144747494f31244d5824416e496e31246d61672466",
        "confirmed-Request 1 read simpleIOGenericIO/GGIO1$MX$AnIn1$mag$f",
    ),
    ("a10e020101a409a1078705083e1081f3", "confirmed-Response 1 read 0.14112072"),
    ("a107020102a5028100", "confirmed-Response 2 write success"),
    ("a108020102a503800103", "confirmed-Response 2 write failure 3: object-access-denied"),
    ("a00e020101a109a003800109a1028000", "confirmed-Request 1 getNameList domain vmdSpecific"),
    (
        "a11d020101a118a0131a1173696d706c65494f47656e65726963494f810100",
        "confirmed-Response 1 getNameList simpleIOGenericIO",
    ),
    (
        "a366a064a1058003525054a05b8a074576656e74733184030678808601008c0603f1d0e83d008a1d73696d706c65494f47656e65726963494f2f4c4c4e30244576656e7473860101840204f083010083010083010083010084020204840202048402020484020204",
        "unconfirmed informationReport RPT \"Events1\", SqNum 0, TimeOfEntry 2026-10-03 18:22:59.304, DatSet \"simpleIOGenericIO/LLN0$Events\", ConfRev 1: false, false, false, false (general-interrogation)",
    ),
    (
        "a12f020105bf4d29a02730253023a006190474657374a119800105811432303236313030333138303331322e3030305a20",
        "confirmed-Response 5 fileDirectory 1 entries (test)",
    ),
];

/// The same services in more forms, put together by hand; tshark reads them below.
const MORE: [(&str, &str); 12] = [
    (
        "a031020103a52ca022300fa00da10b1a01441a064c2453502478300fa00da10b1a01441a064c2453502479a0068501ff830101",
        "confirmed-Request 3 write D/L$SP$x, D/L$SP$y = -1, true",
    ),
    (
        "a12b020104a426a124a2178501ff860900ffffffffffffffff890201ff8a03612262a10683010083010180010a",
        "confirmed-Response 4 read {-1, 18446744073709551615, 01ff, \"a\\\"b\"}, [false, true], failure 10: object-non-existent",
    ),
    (
        "a129020105a424a122910865f1a2b38000000a8c0403f1d0e887090b3fc20fe5c91d14e48d01129002c3a4",
        "confirmed-Response 5 read 2024-03-13 12:57:23.500000 UTC, quality 0a, 18:22:59.304, 0.14111015625, 18, \"ä\"",
    ),
    ("a016020106a611a00fa10d1a01441a084c24535424412471", "confirmed-Request 6 getVariableAccessAttributes D/L$ST$A$q"),
    (
        "a143020106a63e800100a239a237a135300f80036d6167a108a7060201200201083008800171a1038401f33007800174a1029100300f80016ea10aa108810103a203850120",
        "confirmed-Response 6 getVariableAccessAttributes structure {mag: floating-point of 32 bits, exponent of 8, q: bit-string -13, t: utc-time, n: array of 3 integer 32}",
    ),
    (
        "a01d020107ab1880046c697374a0103006a004800276313006a00482027632",
        "confirmed-Request 7 defineNamedVariableList list of v1, @v2",
    ),
    (
        "a017020108ac12a1101a01441a0b4c4c4e30244576656e7473",
        "confirmed-Request 8 getNamedVariableListAttributes D/LLN0$Events",
    ),
    (
        "a122020108ac1d800101a118300aa008a1061a01441a0161300aa008a1061a01441a0162",
        "confirmed-Response 8 getNamedVariableListAttributes D/a, D/b",
    ),
    ("a010020109ad0b800100a10682046d696e65", "confirmed-Request 9 deleteNamedVariableList @mine"),
    ("a10b020109ad06800101810101", "confirmed-Response 9 deleteNamedVariableList 1 of 1 deleted"),
    (
        "a01502010aa110a003800100a10381014482044c4c4e30",
        "confirmed-Request 10 getNameList namedVariable of D behind LLN0",
    ),
    ("a01e02010ba419800101a114a112a1101a01441a0b4c4c4e30244576656e7473", "confirmed-Request 11 read D/LLN0$Events"),
];

#[test]
fn variables_and_names_are_read_by_their_contents() {
    for (hex, said) in VARIABLES.into_iter().chain(MORE) {
        let packet = decode("mms", &octets(hex));
        assert_eq!(bad(&packet), [""; 0], "{said}");
        assert_eq!(notes(&packet), [""; 0], "{said}");
        assert_eq!(packet.layer("mms").unwrap().summary, said);
    }
}

/// PDUs behind tags that name their dissector, as tshark exports them.
fn exported(pdus: &[&str]) -> Vec<u8> {
    let behind = |hex: &&str| {
        let tags = [0, 12, 0, 3, b'm', b'm', b's', 0, 0, 0, 0];
        [&tags[..], &octets(hex)].concat()
    };
    let frames: Vec<Vec<u8>> = pdus.iter().map(behind).collect();
    pcap(252, &frames)
}

/// The first value of each kind in each PDU.
const FIELDS: [Pair; 13] = [
    ("mms.invokeID", "mms", "invokeID"),
    ("mms.Identifier", "mms", "identifier"),
    ("mms.objectClass", "mms", "objectClass"),
    ("mms.failure", "mms", "failure"),
    ("mms.sizeOfFile", "mms", "sizeOfFile"),
    ("mms.FileName_item", "mms", "filename"),
    ("mms.moreFollows", "mms", "moreFollows"),
    ("mms.mmsDeletable", "mms", "mmsDeletable"),
    ("mms.numberMatched", "mms", "numberMatched"),
    ("mms.numberDeleted", "mms", "numberDeleted"),
    ("mms.scopeOfDelete", "mms", "scopeOfDelete"),
    ("mms.getNameList-Request_continueAfter", "mms", "continueAfter"),
    ("mms.specificationWithResult", "mms", "specificationWithResult"),
];

#[test]
fn tshark_reads_the_same_in_services_for_variables() {
    let pdus: Vec<&str> = VARIABLES.into_iter().chain(MORE).map(|it| it.0).collect();
    let file = exported(&pdus);
    compare("mms.pcap", &file, &FIELDS);
    let names = ["mms.domainId", "mms.itemId", "mms.vmd_specific", "mms.aa_specific"];
    let values = ["mms.data.binary-time", "mms.utc_time"];
    let fields = [&names[..], &values].concat();
    let Some(rows) = tshark_with(&[], "mms-names.pcap", &file, &fields) else {
        return;
    };
    let mut same = 0;
    for (row, packet) in rows.iter().zip(ours(&file)) {
        let summary = &packet.layer("mms").unwrap().summary;
        let [domain, item, vmd, aa, binary, utc] = &row[..] else {
            panic!("{row:?}");
        };
        for (seen, shown) in [(domain, format!("{domain}/{item}")), (vmd, vmd.clone()), (aa, format!("@{aa}"))] {
            if !seen.is_empty() {
                assert!(summary.contains(&shown), "{summary}");
                same += 1;
            }
        }
        // tshark says the months by name, and nothing of quality.
        for time in [binary, utc].map(|it| it.split_whitespace().find(|it| it.contains(':'))) {
            let Some(time) = time else { continue };
            let most = time.len().min("18:22:59.304".len());
            assert!(summary.contains(&time[..most]), "{summary} {time}");
            same += 1;
        }
    }
    assert!(same >= 7, "{same}");
}

#[test]
fn fields_of_values_have_their_types_and_places() {
    let packet = decode("mms", &octets(MORE[1].0));
    let layer = packet.layer("mms").unwrap();
    let seen: Vec<(&str, String, &str)> = layer.fields[3..]
        .iter()
        .map(|it| (it.name, it.value.to_string(), it.meaning.as_deref().unwrap_or("")))
        .collect();
    let seen: Vec<(&str, &str, &str)> = seen.iter().map(|it| (it.0, it.1.as_str(), it.2)).collect();
    assert_eq!(
        seen,
        [
            ("data", "4 members", "structure"),
            ("member", "-1", "integer"),
            ("member", "18446744073709551615", "unsigned"),
            ("member", "01ff", "octet-string"),
            ("member", "\"a\\\"b\"", "visible-string"),
            ("data", "2 members", "array"),
            ("member", "false", "boolean"),
            ("member", "true", "boolean"),
            ("failure", "10", "object-non-existent"),
        ]
    );
    assert_eq!((layer.fields[4].offset, layer.fields[4].length), (11, 3));
}

/// A report whose results are not as many as its first fields say has no names for them.
#[test]
fn a_report_that_does_not_fit_is_a_list_of_results() {
    let packet = decode("mms", &octets("a313 a011 a105 8003 525054 a008 8a0145 84030678 80"));
    assert_eq!(packet.layer("mms").unwrap().summary, "unconfirmed informationReport RPT: \"E\", 0111100010");
}

#[test]
fn a_service_that_is_not_known_further_shows_its_values() {
    // deleteDomain of "D1".
    let packet = decode("mms", &octets("a008 020103 9f24 02 4431"));
    assert_eq!(packet.layer("mms").unwrap().summary, "confirmed-Request 3 deleteDomain");
    // readJournal of "J" in "D", from the beginning.
    let packet = decode("mms", &octets("a012 020103 bf41 0c a008 a106 1a0144 1a014a a100"));
    assert_eq!(bad(&packet), [""; 0]);
    assert_eq!(value(&packet, "mms", "value"), "44");
}

/// What libiec61850's client offers when it begins.
#[test]
fn who_begins_says_which_services_it_has() {
    let packet = decode(
        "mms",
        &octets("a826 800300fde8 810105 820105 83010a a416 800101 810305f100 820c03ee1c00000408000079ef18"),
    );
    let services = value(&packet, "mms", "servicesSupported");
    assert!(services.starts_with("status getNameList identify read write "), "{services}");
    assert!(services.contains(" fileDirectory unsolicitedStatus informationReport conclude"), "{services}");
    assert_eq!(value(&packet, "mms", "parameterCBB"), "11110001000");
}

#[test]
fn an_error_says_why() {
    let packet = decode("mms", &octets("a20a 800104 a205 a003 8b0107"));
    assert_eq!(notes(&packet), ["mms: file error 7, the file does not exist"]);
    let packet = decode("mms", &octets("a406 800105 810101"));
    assert_eq!(notes(&packet), ["mms: rejected a request: unrecognized service (reject reason 1.1)"]);
}

#[test]
fn what_is_none_is_said_to_be_none() {
    let packet = decode("mms", &octets("be00"));
    assert_eq!(bad(&packet).len(), 1, "{:?}", bad(&packet));
}
