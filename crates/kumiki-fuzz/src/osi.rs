//! Every codec of OSI, from LAPB to FTAM and MMS: no panic on any octets, and what was read and written again is read
//! as the same.

use kumiki_octets::Message;
use kumiki_wire::files::ftam::data::{self, Syntax};
use kumiki_wire::files::{ftam, mms};
use kumiki_wire::osi::ber::{MOST_DEPTH, Reader, chain};
use kumiki_wire::osi::{acse, cotp, presentation, session, tpkt};
use kumiki_wire::x25::lapb::{self, Modulo};
use kumiki_wire::x25::{x25, x29, xot};

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "osi",
    title: "every PDU of OSI, from LAPB and X.29 to FTAM and MMS: read, write, read again",
    run: |octets| within_mb(64.0, || run(octets)),
};

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let which = draw.below(13);
    // Where the pieces of a message end makes no difference.
    let cut = usize::from(draw.octet());
    let octets = draw.rest();
    match which {
        0 => lapb(octets),
        1 => x25(octets),
        2 => xot(octets),
        3 => cotp(octets),
        4 => session(octets, cut),
        5 => presentation(octets, cut),
        6 => acse(octets, cut),
        7 => fpdu(octets),
        8 => elements(octets, cut),
        9 => ber(octets),
        11 => mms(octets, cut),
        12 => x29(octets),
        _ => chains(octets, cut),
    }
}

/// A message that lies in two pieces, the first of `cut` octets.
fn message(octets: &[u8], cut: usize) -> Message {
    let (first, second) = octets.split_at(cut.min(octets.len()));
    let mut message = Message::from_page(kumiki_octets::Page::from(first));
    message.append(Message::from_page(kumiki_octets::Page::from(second)));
    message
}

fn mms(octets: &[u8], cut: usize) {
    let _ = mms::invoke_of(&message(octets, cut));
    let Ok(pdu) = mms::parse(message(octets, cut)) else {
        return;
    };
    let line = pdu.to_string();
    assert!(!line.contains(char::is_control), "{line:?}");
    let again = mms::parse(mms::emit(pdu.clone())).expect("it was written");
    assert_eq!(again, pdu);
}

fn lapb(octets: &[u8]) {
    for modulo in [Modulo::Eight, Modulo::Extended] {
        if let Ok((header, len)) = lapb::Header::parse(octets, modulo) {
            let _ = header.to_string();
            let mut out = vec![0; header.len()];
            header.emit(&mut out);
            assert_eq!(out, octets[..len]);
        }
        if let Ok(reject) = lapb::Reject::parse(octets, modulo) {
            let _ = reject.to_string();
            let mut out = vec![0; lapb::Reject::len(modulo)];
            reject.emit(modulo, &mut out);
            assert_eq!(lapb::Reject::parse(&out, modulo), Ok(reject));
        }
    }
    for total in [0, octets.len(), usize::MAX] {
        if let Ok((header, len)) = lapb::ether::Header::parse(octets, total) {
            let mut out = vec![0; len];
            header.emit(&mut out);
            assert_eq!(out, octets[..len]);
        }
    }
}

fn x25(octets: &[u8]) {
    let Ok((packet, len)) = x25::Packet::parse(octets, octets.len()) else {
        return;
    };
    assert!(len <= octets.len());
    let _ = packet.to_string();
    let out = packet.to_vec();
    // The user data of DATA and INTERRUPT is behind it.
    let behind = octets.len() - len;
    let again = x25::Packet::parse(&out, out.len() + behind).expect("it was written");
    assert_eq!(again, (packet, out.len()));
}

fn xot(octets: &[u8]) {
    if let Ok((header, len)) = xot::Header::parse(octets) {
        let mut out = vec![0; header.len()];
        header.emit(&mut out);
        assert_eq!(out, octets[..len]);
    }
    if let Ok(setup) = xot::PvcSetup::parse(octets) {
        let line = setup.to_string();
        assert!(!line.contains(char::is_control), "{line:?}");
        let mut out = vec![0; setup.len()];
        setup.emit(&mut out);
        assert_eq!(out, octets);
    }
}

fn x29(octets: &[u8]) {
    let _ = x29::user_data(octets);
    let Ok(message) = x29::Message::parse(octets) else {
        return;
    };
    let _ = message.to_string();
    let out = message.to_vec();
    let again = x29::Message::parse(&out).expect("it was written");
    assert_eq!(again, message);
}

fn cotp(octets: &[u8]) {
    if let Ok((header, _)) = tpkt::Header::parse(octets, tpkt::MOST) {
        let mut out = [0; tpkt::LEN];
        header.emit(&mut out);
        assert_eq!(tpkt::Header::parse(&out, tpkt::MOST), Ok((header, 4)));
    }
    let Ok((tpdu, len)) = cotp::Tpdu::parse(octets, octets.len()) else {
        return;
    };
    assert!(len <= octets.len());
    let _ = tpdu.to_string();
    let out = tpdu.emit();
    let (same, written) = cotp::Tpdu::parse(&out, out.len()).expect("it was written");
    assert_eq!((same, written), (tpdu, out.len()));
}

fn session(octets: &[u8], cut: usize) {
    let Ok(spdus) = session::parse(message(octets, cut)) else {
        assert!(session::parse(Message::from_octets(octets)).is_err());
        return;
    };
    for spdu in spdus {
        let _ = spdu.to_string();
        // Parameters that no version of the SPDU has are not written, and some are only then.
        let Ok(tsdu) = spdu.clone().into_tsdu() else {
            continue;
        };
        let once = session::parse(tsdu).expect("it was written");
        assert_eq!(once.len(), 1, "{spdu:?}");
        let tsdu = once[0].clone().into_tsdu().expect("it was read");
        assert_eq!(session::parse(tsdu).expect("it was written"), once);
    }
}

/// Reads a message, writes it and reads it again.
macro_rules! again {
    ($kind:ty, $octets:expr, $cut:expr) => {
        let read = <$kind>::parse(message($octets, $cut));
        // What is said of one that is cut off may differ: how much of it lay in one piece.
        let whole = <$kind>::parse(Message::from_octets($octets));
        assert_eq!(read.as_ref().ok(), whole.as_ref().ok());
        if let Ok(found) = read {
            let _ = found.to_string();
            assert_eq!(<$kind>::parse(found.clone().emit()), Ok(found));
        }
    };
}

fn presentation(octets: &[u8], cut: usize) {
    again!(presentation::Connect, octets, cut);
    again!(presentation::Accept, octets, cut);
    again!(presentation::Refuse, octets, cut);
    again!(presentation::Abort, octets, cut);
    again!(presentation::Typed, octets, cut);
    again!(presentation::Resync, octets, cut);
    again!(presentation::UserData, octets, cut);
    if let Ok(data) = presentation::UserData::parse(message(octets, cut)) {
        let _ = data.into_values(1);
    }
}

fn acse(octets: &[u8], cut: usize) {
    again!(acse::Apdu, octets, cut);
}

fn fpdu(octets: &[u8]) {
    let _ = ftam::parse_all(&Message::from_octets(octets));
    if let Ok(looked) = ftam::look(octets) {
        for field in &looked.fields {
            assert!(field.octets.len() <= octets.len());
        }
    }
    if let Ok(fpdu) = ftam::parse(octets) {
        let out = ftam::emit(&fpdu);
        assert_eq!(ftam::parse(&out), Ok(fpdu));
    }
}

fn elements(octets: &[u8], cut: usize) {
    for syntax in [Syntax::Binary, Syntax::Text, Syntax::Structure, Syntax::Entries] {
        for element in data::Reader::new(syntax, message(octets, cut)) {
            let Ok(element) = element else { break };
            let mut again = data::Reader::new(syntax, data::emit(element.clone()));
            assert_eq!(again.next(), Some(Ok(element)));
            assert_eq!(again.next(), None);
        }
    }
    let _ = data::look_at_entry(octets);
}

/// Every way to read an element in one piece, at any depth.
fn ber(octets: &[u8]) {
    let mut waiting = vec![Reader::new("PDU", octets)];
    let mut count = 0;
    while let Some(mut reader) = waiting.pop() {
        while let Ok(Some(element)) = reader.next("element") {
            count += 1;
            assert!(element.octets().len() <= octets.len());
            let _ = (element.boolean(), element.integer(), element.null());
            let _ = (element.octet_string(), element.bits(), element.text());
            let _ = element.external();
            if let Ok(oid) = element.oid() {
                assert_eq!(oid.to_string().parse(), Ok(oid));
            }
            if let Ok(inside) = element.elements() {
                waiting.push(inside);
            }
        }
        assert!(count <= octets.len() * usize::from(MOST_DEPTH + 1));
    }
}

/// The two readers find the same elements.
fn chains(octets: &[u8], cut: usize) {
    let mut whole = Reader::new("PDU", octets);
    let mut chain = chain::Reader::new("PDU", message(octets, cut));
    loop {
        let first = whole.next("element");
        let Ok(found) = chain.peek("element") else {
            assert!(first.is_err(), "{first:?}");
            return;
        };
        let (Some(head), Ok(Some(element))) = (found, &first) else {
            assert!(found.is_none() || first.is_err(), "{found:?} {first:?}");
            return;
        };
        let taken = chain.element("element").expect("the other has read it");
        assert_eq!(taken.to_vec(), element.octets());
        let mut again = Reader::new("PDU", element.octets());
        assert_eq!(again.peek(), Some(head.tag));
        assert!(again.next("element").is_ok());
        let _ = chain::Reader::new("PDU", taken.clone()).octet_string(head.tag, "string");
        let _ = chain::Reader::new("PDU", taken.clone()).bit_string(head.tag, "string");
        let _ = chain::Reader::new("PDU", taken.clone()).integer(head.tag, "number");
        let _ = chain::Reader::new("PDU", taken).oid(head.tag, "identifier");
    }
}
