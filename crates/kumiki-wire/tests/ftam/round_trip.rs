//! What is written is read as the same, and whatever is read, nothing breaks.

use kumiki_octets::Message;
use kumiki_osi_service::ftam::{Fpdu, Kind};
use kumiki_wire::Malformed;
use kumiki_wire::files::ftam::{Fpdus, MOST_OCTETS, emit, look, parse, parse_all};
use proptest::collection::vec;
use proptest::prelude::*;

use super::hex;
use super::made::{Source, fpdu};

fn kinds() -> impl Strategy<Value = Kind> {
    proptest::sample::select(Kind::ALL)
}

proptest! {
    #[test]
    fn every_fpdu_is_read_as_it_was_written(kind in kinds(), octets in vec(any::<u8>(), 0..600)) {
        let fpdu = fpdu(kind, &mut Source::new(&octets));
        let written = emit(&fpdu);
        let looked = look(&written).unwrap();
        prop_assert_eq!(looked.octets, &written);
        prop_assert_eq!(looked.fpdu, fpdu.clone());
        prop_assert_eq!(parse(&written), Ok(fpdu));
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in vec(any::<u8>(), 0..200)) {
        prop_assert!(look(&octets).is_ok() || parse(&octets).is_err());
        let _ = Fpdus::new(&octets).unwrap().count();
    }

    #[test]
    fn a_damaged_fpdu_is_read_or_refused(
        kind in kinds(),
        octets in vec(any::<u8>(), 0..300),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut written = emit(&fpdu(kind, &mut Source::new(&octets)));
        for (at, octet) in damage {
            let at = at.index(written.len());
            written[at] = octet;
        }
        if let Ok(read) = parse(&written) {
            prop_assert_eq!(parse(&emit(&read)), Ok(read));
        }
        prop_assert!(look(&written).is_ok() || parse(&written).is_err());
        written.truncate(cut.index(written.len()));
        let _ = parse(&written);
    }

    #[test]
    fn fpdus_one_behind_the_other_are_read_one_after_the_other(
        kinds in vec(kinds(), 0..5),
        octets in vec(any::<u8>(), 0..300),
    ) {
        let mut source = Source::new(&octets);
        let all: Vec<Fpdu> = kinds.into_iter().map(|kind| fpdu(kind, &mut source)).collect();
        let written: Vec<u8> = all.iter().flat_map(emit).collect();
        prop_assert_eq!(parse_all(&Message::from_octets(&written)), Ok(all));
    }
}

#[test]
fn every_kind_has_been_written_at_least_once() {
    for kind in Kind::ALL {
        // All ones take every optional field, and the most of every list.
        for octets in [&[0; 500][..], &[1; 500], &[3; 500]] {
            let fpdu = fpdu(*kind, &mut Source::new(octets));
            assert_eq!(fpdu.kind(), *kind);
            assert_eq!(parse(&emit(&fpdu)), Ok(fpdu));
        }
    }
}

#[track_caller]
fn refused(octets: &str, why: &str) {
    assert_eq!(parse(&hex(octets)).unwrap_err().to_string(), why);
}

#[test]
fn an_error_names_the_fpdu_and_the_field() {
    refused("bf6400", "FPDU: tag: [100] where [0] to [72] is expected");
    refused("3000", "FPDU: tag: SEQUENCE where [0] to [72] is expected");
    refused("", "FPDU: tag: 2 octets, of which 0 are there");
    refused("a000", "F-INITIALIZE request: functional-units: missing, [4] is expected");
    refused("bf2203 450103", "F-DATA-END request: action-result: 3, expected 0 to 2");
    refused("bf2206 450101 450101", "F-DATA-END request: action-result: [APPLICATION 5] behind the last element");
    refused(
        "bf210a 800101 6f05 8003010203",
        "F-WRITE request: file-access-data-unit-identity: 66051, expected 0 first or 1 last",
    );
    refused("b700 b900", "F-BEGIN-GROUP response: end: [25] behind the last element");
    refused("b403 45", "F-CLOSE request: fields: 5 octets, of which 3 are there");
}

#[test]
fn fields_of_a_later_version_are_passed_over() {
    let Fpdu::BeginGroupRequest(begin) = parse(&hex("b60a 9f8f7f0155 800102 a900")).unwrap() else {
        panic!("another FPDU");
    };
    assert_eq!(begin.threshold, 2);
}

#[test]
fn what_a_peer_can_make_us_hold_is_bounded() {
    let long = vec![0; MOST_OCTETS + 1];
    assert!(matches!(parse(&long), Err(Malformed::Ber { .. })));
    assert!(parse_all(&Message::from_octets(&long)).is_err());
    // A pathname of many components.
    let mut names = vec![0xa0, 0x82, 2, 0];
    names.extend([0x19, 0].repeat(256));
    let mut select = vec![0xa6, 0x82, 2, 11, 0x73, 0x82, 2, 4];
    select.extend(&names);
    select.extend([0x43, 1, 0]);
    assert_eq!(
        parse(&select).unwrap_err().to_string(),
        "F-SELECT request: pathname: 129, expected fewer elements in this list"
    );
}
