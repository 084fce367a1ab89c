//! Octets of a SONET/SDH line into a receiver: what a sender made, with anything done to it, or none of its making.

use kumiki_decode::{Decoder, Record, capture::Link};
use kumiki_link::sonet::{Alarm, Feedback, Level, LineConfig, Receiver, ReceiverEvent, Transmitter};
use kumiki_octets::hdlc::FLAG;
use kumiki_wire::ppp::hdlc::{Deframer, Framing};
use kumiki_wire::ppp::sdh::Justification;

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "section",
    title: "a receiver of SONET/SDH frames: changed, cut, moved, made up, in any pieces",
    run: |octets| within_mb(64.0, || run(octets)),
};

/// The octets of a frame of STS-3c.
const FRAME: usize = 2430;

/// What a receiver says, put together; how its input was cut makes no difference.
#[derive(PartialEq, Eq, Debug, Default)]
struct SectionReport {
    payload: Vec<u8>,
    interrupted: Vec<usize>,
    defects: Vec<(usize, String)>,
}

impl SectionReport {
    fn heed(&mut self, heard: ReceiverEvent<'_>) {
        let at = self.payload.len();
        match heard {
            ReceiverEvent::Payload(payload) => self.payload.extend_from_slice(payload),
            ReceiverEvent::Interrupted => self.interrupted.push(at),
            ReceiverEvent::Defect { defect, present } => {
                self.defects.push((at, format!("{defect} {present}")));
            }
        }
    }
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let options = draw.octet();
    let config = LineConfig::ppp(Level::Sts3c, options & 1 != 0);
    let theirs = LineConfig::ppp(Level::Sts3c, options & 2 != 0);
    let mut transmitter = Transmitter::new(theirs, draw.word(), draw.long().into());
    let pieces = [(); 3].map(|()| 1 + usize::from(draw.word() % 3000));
    let mut line = Vec::new();
    let mut right = true;
    // Something to lose; later frames begin with a choice each.
    for _ in 0..8 {
        frame(&mut transmitter, &mut line);
    }
    while !draw.is_empty() && line.len() < 120 * FRAME {
        right &= next(&mut draw, &mut transmitter, &mut line);
    }
    let (mut whole, mut cut) = (Receiver::new(config), Receiver::new(config));
    let (mut heard, mut heard_cut) = (SectionReport::default(), SectionReport::default());
    whole.take(&line, |what| heard.heed(what));
    let (mut rest, mut deframer) = (&line[..], Deframer::new(Framing::default(), 1600));
    for piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (given, after) = rest.split_at((*piece).min(rest.len()));
        cut.take(given, |what| {
            match what {
                ReceiverEvent::Payload(payload) => deframer.take(payload, |_, _| {}),
                ReceiverEvent::Interrupted => deframer.lose(),
                ReceiverEvent::Defect { .. } => {}
            }
            heard_cut.heed(what);
        });
        rest = after;
    }
    assert!(heard == heard_cut, "pieces make a difference");
    assert_eq!(whole.counters(), cut.counters());
    assert_eq!(whole.take_feedback(), cut.take_feedback());
    assert!(heard.payload.len() <= line.len());
    if right && theirs == config {
        let counters = *whole.counters();
        assert_eq!((counters.b1_errors, counters.b2_errors, counters.b3_errors), (0, 0, 0));
        assert_eq!(heard.defects, []);
    }
    if right {
        let mut decoder = Decoder::new();
        for (number, frame) in (1..).zip(line.chunks(FRAME)).take(20) {
            let record = Record {
                number,
                link: Link::Named("sdh"),
                octets: frame.to_vec(),
                original_len: FRAME,
                ..Record::default()
            };
            let packet = decoder.decode(&record);
            assert!(!packet.is_bad(), "{:?}", packet.remarks().next());
        }
    }
    // However it was left, a hundred right frames mend it.
    let mut line = Vec::new();
    transmitter.set_alarm(None);
    for _ in 0..100 {
        transmitter.set_feedback(Feedback::default());
        frame(&mut transmitter, &mut line);
    }
    whole.take(&line, |_| {});
    assert!(whole.in_frame());
    assert_eq!(whole.is_open(), theirs == config);
}

/// A frame of what the sender has to send.
fn frame(transmitter: &mut Transmitter, line: &mut Vec<u8>) {
    let at = line.len();
    let len = match transmitter.left_of_frame() {
        0 => FRAME,
        left => left,
    };
    line.resize(at + len, 0);
    transmitter.emit(&mut line[at..], |payload| payload.fill(FLAG));
}

/// Lets something happen; whether it was nothing that harms.
fn next(draw: &mut Draw<'_>, transmitter: &mut Transmitter, line: &mut Vec<u8>) -> bool {
    let what = draw.octet();
    let at = line.len();
    match what % 16 {
        0 => transmitter.justify(Justification::Positive),
        1 => transmitter.justify(Justification::Negative),
        2 => {
            // New data eight times in a row would be a defect.
            transmitter.jump(draw.word());
            frame(transmitter, line);
        }
        3 => {
            transmitter.set_alarm(match draw.octet() % 4 {
                0 => Some(Alarm::Line),
                1 => Some(Alarm::Path),
                2 => Some(Alarm::Unequipped),
                _ => None,
            });
            frame(transmitter, line);
            return false;
        }
        4 => {
            let errors = draw.octet();
            transmitter.set_feedback(Feedback {
                b2_errors: errors.into(),
                b3_errors: u32::from(errors) / 3,
                line_defect: false,
                path_defect: false,
            });
        }
        5 => {
            // Octets are missing.
            frame(transmitter, line);
            let len = line.len() - at;
            line.truncate(at + draw.below(len));
            return false;
        }
        6 => {
            // Quiet, or one octet over and over.
            let (len, octet) = (draw.below(20_000), draw.octet());
            line.resize(at + len, if octet & 1 == 0 { 0 } else { octet });
            return false;
        }
        7 => {
            let octets = draw.take(300);
            line.extend_from_slice(octets);
            return octets.is_empty();
        }
        8..=11 => {
            // Changed octets, most of them overhead.
            frame(transmitter, line);
            for _ in 0..=what >> 6 {
                let place = draw.below(FRAME);
                let place = if what & 1 == 0 { place / 270 * 270 + place % 10 } else { place };
                if let Some(octet) = line.get_mut(at + place) {
                    *octet ^= draw.octet();
                }
            }
            return false;
        }
        _ => {}
    }
    for _ in 0..=what >> 5 {
        frame(transmitter, line);
    }
    true
}
