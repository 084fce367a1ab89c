//! Octet stuffing: any line, in any pieces, gives the same frames in every form of the kernel as in a plain loop, and
//! what is stuffed comes back.

use kumiki_octets::Form;
use kumiki_octets::hdlc::{Accm, ESCAPE, FLAG, Stop, Unstuffer, stuff_with, stuffed_len_with};

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "framing",
    title: "stuffing and unstuffing in every form, in any pieces",
    run: |octets| within_mb(64.0, || run(octets)),
};

/// What a receiver makes of a line: frames, aborted ones, and those too long.
#[derive(PartialEq, Eq, Debug, Default)]
struct ReceivedFrames {
    frames: Vec<Vec<u8>>,
    aborted: usize,
    too_long: usize,
    /// What has come since the last flag.
    open: Vec<u8>,
    pending: bool,
}

/// RFC 1662, section 4.2, octet by octet. A frame that is too long is forgotten, and the octet that did not fit begins
/// another.
fn plainly(line: &[u8], accm: Accm, limit: usize) -> ReceivedFrames {
    let mut heard = ReceivedFrames::default();
    for octet in line {
        if accm.contains(*octet) {
            continue;
        }
        if *octet == FLAG {
            if core::mem::take(&mut heard.pending) {
                heard.aborted += 1;
                heard.open.clear();
            } else {
                heard.frames.push(core::mem::take(&mut heard.open));
            }
        } else if *octet == ESCAPE && !heard.pending {
            heard.pending = true;
        } else {
            if heard.open.len() == limit {
                heard.too_long += 1;
                heard.open.clear();
            }
            let escaped = core::mem::take(&mut heard.pending);
            heard.open.push(if escaped { octet ^ 0x20 } else { *octet });
        }
    }
    heard
}

/// The same by the kernel, in pieces.
fn heard(form: Form, line: &[u8], accm: Accm, limit: usize, pieces: &[usize]) -> ReceivedFrames {
    let (mut heard, mut unstuffer, mut rest) = (ReceivedFrames::default(), Unstuffer::new(), line);
    for piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let given = &rest[..rest.len().min(*piece)];
        let answer = unstuffer.unstuff_with(form, given, accm, limit, &mut heard.open);
        assert!(answer.taken <= given.len() && heard.open.len() <= limit);
        rest = &rest[answer.taken..];
        match answer.stop {
            Stop::Flag => heard.frames.push(core::mem::take(&mut heard.open)),
            Stop::Abort => {
                heard.aborted += 1;
                heard.open.clear();
            }
            Stop::End => assert_eq!(answer.taken, given.len()),
            Stop::Full => {
                assert_eq!(heard.open.len(), limit);
                heard.too_long += 1;
                heard.open.clear();
            }
        }
    }
    heard.pending = unstuffer.is_pending();
    heard
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let accm = match draw.octet() % 3 {
        0 => Accm::NONE,
        1 => Accm::ALL,
        _ => Accm::new(draw.long()),
    };
    let limit = 1 + usize::from(draw.word() % 2048);
    let pieces = [(); 3].map(|()| 1 + usize::from(draw.word() % 1024));
    let line = draw.rest();
    let plain = plainly(line, accm, limit);
    for form in Form::detected() {
        assert_eq!(heard(form, line, accm, limit, &pieces), plain, "{}", form.name());
        let mut stuffed = Vec::new();
        let [piece, ..] = pieces;
        for given in line.chunks(piece) {
            stuff_with(form, given, accm, &mut stuffed);
        }
        assert_eq!(stuffed.len(), stuffed_len_with(form, line, accm));
        stuffed.push(FLAG);
        let back = heard(form, &stuffed, accm, usize::MAX, &pieces);
        assert_eq!(back.frames, [line]);
    }
}
