use proptest::prelude::*;

use super::*;

/// Frames of Linux's LAPB as a capture of it has them, and what they are.
#[test]
fn frames_of_linux_are_what_tshark_says() {
    for (octets, text, len) in [
        (&[0x01, 0x3f][..], "LAPB 01 SABM P/F", 2),
        (&[0x01, 0x73], "LAPB 01 UA P/F", 2),
        (&[0x01, 0x00, 0x10], "LAPB 01 I N(S)=0 N(R)=0", 2),
        (&[0x03, 0x20, 0x10], "LAPB 03 I N(S)=0 N(R)=1", 2),
        (&[0x01, 0x21], "LAPB 01 RR N(R)=1", 2),
        (&[0x01, 0xc1], "LAPB 01 RR N(R)=6", 2),
        (&[0x03, 0xac, 0x10], "LAPB 03 I N(S)=6 N(R)=5", 2),
    ] {
        let (header, read) = Header::parse(octets, Modulo::Eight).unwrap();
        assert_eq!((header.to_string().as_str(), read), (text, len));
        let mut out = vec![0; len];
        header.emit(&mut out);
        assert_eq!(out, octets[..len]);
    }
}

#[test]
fn numbers_modulo_128_take_two_octets() {
    let header = Header {
        address: address::A,
        control: Control::Information { ns: 100, nr: 127, poll: true },
        modulo: Modulo::Extended,
    };
    let mut out = [0; 3];
    header.emit(&mut out);
    assert_eq!(out, [0x03, 200, 255]);
    let (rej, len) = Header::parse(&[0x01, 0x09, 0x0b], Modulo::Extended).unwrap();
    assert_eq!((rej.to_string().as_str(), len), ("LAPB 01 REJ N(R)=5 P/F", 3));
    assert!(Header::parse(&[0x01, 0x09], Modulo::Extended).is_err());
    assert!(Header::parse(&[0x01], Modulo::Eight).is_err());
    // Unnumbered ones have one octet all the same.
    let (sabme, len) = Header::parse(&[0x01, 0x7f], Modulo::Extended).unwrap();
    assert_eq!((sabme.to_string().as_str(), len), ("LAPB 01 SABME P/F", 2));
}

#[test]
fn a_frame_reject_says_what_was_refused() {
    // N(R) = 5 of an RR was invalid; V(R) = 2, V(S) = 3, and it was a response.
    let octets = [0xa1, 0x56, 0x08];
    let reject = Reject::parse(&octets, Modulo::Eight).unwrap();
    assert_eq!((reject.vr, reject.vs, reject.response, reject.z, reject.w), (2, 3, true, true, false));
    assert_eq!(reject.refused(Modulo::Eight).unwrap().to_string(), "RR N(R)=5");
    assert_eq!(reject.to_string(), "Z at V(S)=3 V(R)=2");
    let mut out = [0; 3];
    reject.emit(Modulo::Eight, &mut out);
    assert_eq!(out, octets);
    assert!(Reject::parse(&octets, Modulo::Extended).is_err());
}

#[test]
fn the_length_over_ethernet_is_little_endian() {
    let (header, len) = ether::Header::parse(&[0x16, 0x00, 0x03], 46).unwrap();
    assert_eq!((header.length, len), (22, 2));
    assert!(ether::Header::parse(&[0x16, 0x00], 23).is_err());
    assert!(ether::Header::parse(&[0x16], 23).is_err());
}

proptest! {
    #[test]
    fn what_was_parsed_is_emitted(octets: [u8; 3], extended: bool) {
        let modulo = if extended { Modulo::Extended } else { Modulo::Eight };
        let (header, len) = Header::parse(&octets, modulo).unwrap();
        let mut out = vec![0; len];
        header.emit(&mut out);
        prop_assert_eq!(&out, &octets[..len]);
    }

    #[test]
    fn a_reject_is_read_as_it_was_written(control: [u8; 2], vr in 0_u8..8, vs in 0_u8..8, bits in 0_u8..32, extended: bool) {
        let modulo = if extended { Modulo::Extended } else { Modulo::Eight };
        let [c0, c1] = control;
        let reject = Reject {
            control: if extended { control } else { [c0, 0] },
            vr,
            vs,
            response: bits & 16 != 0,
            w: bits & 1 != 0,
            x: bits & 2 != 0,
            y: bits & 4 != 0,
            z: bits & 8 != 0,
        };
        let _ = c1;
        let mut out = vec![0; Reject::len(modulo)];
        reject.emit(modulo, &mut out);
        prop_assert_eq!(Reject::parse(&out, modulo), Ok(reject));
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, total: usize) {
        for modulo in [Modulo::Eight, Modulo::Extended] {
            let _ = Header::parse(&octets, modulo);
            let _ = Reject::parse(&octets, modulo);
        }
        let _ = ether::Header::parse(&octets, total);
    }
}
