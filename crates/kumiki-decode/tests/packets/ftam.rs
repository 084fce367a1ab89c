//! FTAM: values that an ISODE sent, and what is said of them.

use super::arrange::{bad, decode, names, notes, value};

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap())
        .collect();
    digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
}

/// The lines of the FPDUs in a value.
fn lines(hex: &str) -> Vec<String> {
    let packet = decode("ftam", &octets(hex));
    assert_eq!(bad(&packet), [""; 0]);
    assert_eq!(packet.rest, []);
    packet.layers.into_iter().map(|one| one.summary).collect()
}

#[test]
fn a_group_is_one_layer_for_each_fpdu() {
    let group = lines(
        "b603800102 aa2d8001026c24a00b1909736d616c6c2e62696e810307b780a210a00e4e0528c27b0503a005300382010243020520
         b23280020520a112a110a00e4e0528c27b0503a00530038201026a18800100810100820102830100840100850100860100870100 b800",
    );
    assert_eq!(
        group,
        [
            "F-BEGIN-GROUP request: threshold 2",
            "F-CREATE request: small.bin, if it exists create again with old attributes, replace, FTAM-3 (not significant)",
            "F-OPEN request: replace, FTAM-3 (not significant)",
            "F-END-GROUP request",
        ]
    );
}

#[test]
fn fields_say_where_they_lie_and_what_they_are() {
    let packet = decode("ftam", &octets("a613730da00b1909736d616c6c2e62696e43020780"));
    let layer = packet.layer("ftam").unwrap();
    assert_eq!(layer.summary, "F-SELECT request: small.bin, read");
    assert_eq!(layer.verbatim, Some(true));
    let fields: Vec<(&str, usize, usize, String)> =
        layer.fields.iter().map(|one| (one.name, one.offset, one.length, one.value.to_string())).collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        fields,
        [("fpdu", 0, 21, text("6")), ("pathname", 4, 13, text("small.bin")), ("requested-access", 17, 4, text("read")),]
    );
}

#[test]
fn a_refusal_says_why_and_what_may_help() {
    let packet = decode(
        "ftam",
        &octets("a126 550101 450102 83020410 84020037 85020780 860100 6d0f 300d 800102 810207e4 820105 830101"),
    );
    let line = &packet.layer("ftam").unwrap().summary;
    assert!(line.ends_with("permanent error, 2020 invalid filestore password"), "{line}");
    assert_eq!(
        notes(&packet),
        ["ftam: 2020 invalid filestore password (permanent, seen by the filestore, caused by the initiating user); \
             check the user's name and password"]
    );
}

#[test]
fn a_password_is_not_shown() {
    let packet = decode(
        "ftam",
        &octets(
            "a03e8302047084020037850207808601 00a71d4e0528c27b05034e0528c27b05014e052b0e0505094e062bce0f010509
             56046674616d71080406736563726574",
        ),
    );
    let shown = format!("{packet:?}");
    assert!(shown.contains("initiator-identity"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
    assert_eq!(value(&packet, "ftam", "filestore-password"), "(not shown)");
}

#[test]
fn octets_that_would_be_written_otherwise_are_no_mistake() {
    let packet = decode("ftam", &octets("af80 7280 a280 0000 0000 0000"));
    assert_eq!(bad(&packet).len(), 1, "a contents type without anything in it");
    let packet = decode("ftam", &octets("af80 7280 ad80 810105 0000 0000 0000"));
    assert_eq!(bad(&packet), [""; 0]);
    assert_eq!(notes(&packet), ["ftam: written again, the header would have 9 octets and not 15"]);
    assert_eq!(value(&packet, "ftam", "object-size"), "5");
}

#[test]
fn what_is_no_fpdu_is_said_to_be_none() {
    let packet = decode("ftam", &octets("bf2103 450103"));
    assert_eq!(bad(&packet), ["ftam: file-access-data-unit-operation: missing, [0] is expected"]);
    // The remark does not say which FPDU it is.
    assert_eq!(packet.layer("ftam").unwrap().summary, "F-WRITE request");
}

#[test]
fn data_is_shown_as_what_it_is() {
    let file = decode("ftam-binary", &octets("0403 616263 0401 64"));
    assert_eq!(names(&file), ["ftam-binary", "ftam-binary"]);
    assert_eq!(file.layers[0].summary, "file, 3 octets");
    assert_eq!(file.rest[0].octets, b"abc");
    assert_eq!(file.rest[1].octets, b"d");
    let text = decode("ftam-text", &octets("1b02 610a"));
    assert_eq!(text.layers[0].summary, "file, GeneralString of 2 octets");
    let node = decode("ftam-fadu", &octets("6000 4100"));
    assert_eq!(node.layers[1].summary, "enter subtree");
    let entry = decode("ftam-directory", &octets("e20c 720a a003190161 ad03810105"));
    let line = &entry.layers[0].summary;
    assert_eq!(line, "entry a");
    assert_eq!(value(&entry, "ftam-directory", "object-size"), "5");
}
