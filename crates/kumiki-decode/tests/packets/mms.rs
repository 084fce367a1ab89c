//! MMS: PDUs as libiec61850 sends them, and what is said of them.

use super::arrange::{bad, decode, notes};

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
    assert_eq!(
        line("a013 020101 bf480d a0081906 622e62696e31 810100"),
        "confirmed-Request 1 fileOpen b.bin1 at 0"
    );
    assert_eq!(
        line("a10d 020102 bf4907 8002 6162 810100"),
        "confirmed-Response 2 fileRead 2 octets, the last"
    );
    assert_eq!(line("8b00"), "conclude-Request");
    assert_eq!(
        line(
            "a826 800300fde8 810105 820105 83010a a416 800101 810305f100 820c03ee1c00000408000079ef18"
        ),
        "initiate-Request PDUs of 65000 octets"
    );
}

#[test]
fn other_services_have_names() {
    let packet = decode("mms", &octets("a00e 020103 a109 a003800109 a1028000"));
    assert_eq!(
        packet.layer("mms").unwrap().summary,
        "confirmed-Request 3 getNameList"
    );
    assert_eq!(notes(&packet).len(), 1);
}

#[test]
fn an_error_says_why() {
    let packet = decode("mms", &octets("a20a 800104 a205 a003 8b0107"));
    assert_eq!(
        notes(&packet),
        ["mms: file error 7, the file does not exist"]
    );
    let packet = decode("mms", &octets("a406 800105 810101"));
    assert_eq!(
        notes(&packet),
        ["mms: rejected a request: unrecognized service (reject reason 1.1)"]
    );
}

#[test]
fn what_is_none_is_said_to_be_none() {
    let packet = decode("mms", &octets("be00"));
    assert_eq!(bad(&packet).len(), 1, "{:?}", bad(&packet));
}
