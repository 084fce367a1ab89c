//! What is wrong is answered by the layer that finds it, and by no other.

use kumiki_octets::Message;
use kumiki_wire::files::ftam::parse_all;
use kumiki_wire::osi::acse::{self, Apdu};
use kumiki_wire::osi::presentation::{Abort, UserData};
use kumiki_wire::osi::session::{self, Spdu};

use super::pair::{Pair, R};
use crate::ftam::Config;
use kumiki_testkit::bench::hex;

/// The only value of user data.
fn value(data: UserData) -> Message {
    let mut values = data.into_values(0).unwrap();
    assert_eq!(values.len(), 1);
    values.pop().unwrap().data
}

/// Who says in a TPKT that it is over: the innermost of AB, ARP, ARU, ABRT and an FPDU; or ER of transport.
fn who(tpkt: &[u8]) -> String {
    match tpkt[5] & 0xf0 {
        0x70 => return format!("transport: ER {}", tpkt[8]),
        0x80 => return format!("transport: DR {}", tpkt[10]),
        _ => {}
    }
    let spdus = session::parse(Message::from_octets(&tpkt[7..])).unwrap();
    let [Spdu::Abort(abort)] = &spdus[..] else {
        return format!("no abort: {spdus:?}");
    };
    let Some(data) = abort.data.data.clone() else {
        return format!("session: {}", abort.meaning());
    };
    let data = match Abort::parse(data).unwrap() {
        Abort::Provider { reason, event } => {
            return format!("presentation: reason {reason:?}, event {event:?}");
        }
        Abort::User { data, .. } => data.unwrap(),
    };
    let Apdu::Abort(mut abort) = Apdu::parse(value(data)).unwrap() else {
        return "another APDU".to_owned();
    };
    match abort.information.pop() {
        Some(information) => {
            let fpdus = parse_all(&information.data).unwrap();
            format!("file service: {}", fpdus[0].kind())
        }
        None if abort.source == acse::source::PROVIDER => "association control".to_owned(),
        None => "a user".to_owned(),
    }
}

/// What the responder of an FTAM regime answers to this TPDU.
fn answer(tpdu: &str) -> String {
    let mut pair = Pair::stands(&Config::default());
    pair.heard(R);
    let tpdu = hex(tpdu);
    let len = u16::try_from(4 + tpdu.len()).unwrap().to_be_bytes();
    let tpkt = [&[3, 0, len[0], len[1]][..], &tpdu].concat();
    let device = pair.devices[R];
    pair.bench.octets(device, &tpkt);
    let seen = pair.exchange();
    let user = pair.heard(R);
    assert!(user.iter().any(|it| it.starts_with("aborted")), "{user:?}");
    // Where transport itself gives up there may be nothing to say.
    seen.first().map_or_else(|| "nothing".to_owned(), |it| who(it))
}

#[test]
fn each_error_is_answered_by_the_layer_that_finds_it() {
    let rows = [
        // A TPDU that there is not in class 0, and one of no class.
        ("02 60 00", "transport: ER 2"),
        ("02 00 80", "transport: ER 2"),
        // An SPDU that nobody knows; a CONNECT in data transfer; a length beyond the end.
        ("02f080 7f00", "session: protocol error"),
        ("02f080 0d00", "session: protocol error"),
        ("02f080 01000105 00", "session: protocol error"),
        // No PPDU; a context that was not agreed on; a PDV list that ends early.
        ("02f080 01000100 5001 00", "presentation: reason Some(1), event Some(7)"),
        ("02f080 01000100 610a300802014da003bf1600", "presentation: reason Some(6), event Some(7)"),
        // AARQ in an association that stands; what is no APDU. ACSE has the last context, 13.
        ("02f080 01000100 610930070201ZZa0026000", "association control"),
        ("02f080 01000100 610930070201ZZa0026a00", "association control"),
        // An FPDU at the wrong time, and none.
        ("02f080 01000100 610a3008020101a003bf2200", "file service: F-P-ABORT request"),
        ("02f080 01000100 610a3008020101a003bf7f00", "file service: F-P-ABORT request"),
    ];
    let seen: Vec<_> = rows.iter().map(|(tpdu, _)| (*tpdu, answer(&tpdu.replace("ZZ", "0d")))).collect();
    let expected: Vec<_> = rows.iter().map(|(tpdu, who)| (*tpdu, (*who).to_owned())).collect();
    assert_eq!(seen, expected);
}
