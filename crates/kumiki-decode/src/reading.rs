//! What a dissector works on: the octets of one PDU, the layer that it fills in, and what it says comes next.

use std::fmt;

use kumiki_octets::Sum;
use kumiki_octets::text::{are, counted};
use kumiki_wire::Malformed;
use kumiki_wire::osi::session;
use kumiki_wire::ppp::mapos::Width;

use crate::key::{Circuit, Ends, Key, Side, Stream};
use crate::packet::{Field, Layer, Level, Reassembled, Remark, UndissectedOctets, Value, in_words};
use crate::reassembly::State;

/// What is known from the layers around a PDU, and of the packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketContext {
    /// Number of the packet, from 1.
    pub packet: u64,
    /// Interface of the capture.
    pub interface: u32,
    /// Octets of frame check sequence that the capture says are at the end of a frame.
    pub fcs_len: usize,
    /// Network addresses, once a layer has them.
    pub ends: Option<Ends>,
    /// The virtual channel, once a layer has it.
    pub circuit: Option<Circuit>,
    /// The cell whose payload this is is the last of an AAL5 PDU.
    pub ends_pdu: bool,
    /// How wide the addresses of the MAPOS frame around are, and its destination as it stands.
    pub mapos: Option<(Width, u32)>,
    /// The direction of a connection that this is a part of.
    pub stream: Option<Stream>,
    /// Which side of the line sent it, where that is known.
    pub from: Option<Side>,
    /// The frame around came out of its turn: who gets it throws it away, and nothing in it counts.
    pub out_of_turn: bool,
    /// The sequence number of the first octet, of what TCP carries.
    pub seq: u32,
    /// Only the user data of a call of X.25 says that this is ISO transport: none of its TPDUs has been seen.
    pub announced: bool,
    /// The packet of X.25 that this is in is qualified (Q = 1).
    pub qualified: bool,
    /// The SPDU whose user data this is.
    pub spdu: Option<session::Code>,
    /// The PDU is quoted in an error message: it may be cut anywhere, and lengths and sums say nothing.
    pub quoted: bool,
    /// What identifies users is wanted too.
    pub secrets: bool,
}

/// A PDU that is still to be read.
#[derive(Clone, Debug)]
pub(crate) struct Follow {
    /// Tried in this order.
    pub(crate) keys: Vec<Key>,
    pub(crate) buffer: usize,
    pub(crate) offset: usize,
    /// Octets that were recorded.
    pub(crate) captured: usize,
    /// Octets that there were on the medium.
    pub(crate) total: usize,
    pub(crate) around: PacketContext,
}

/// A dissector's view of one PDU.
///
/// Positions (`at`) count from the first octet of the PDU.
pub struct Reading<'a> {
    octets: &'a [u8],
    total: usize,
    /// What is known from outside; what is changed here is known to the PDUs inside.
    pub around: PacketContext,
    pub(crate) state: &'a mut State,
    pub(crate) layer: Layer,
    pub(crate) follow: Vec<Follow>,
    pub(crate) rest: Vec<UndissectedOctets>,
    pub(crate) reassembled: Vec<Reassembled>,
    /// Another dissector reads this PDU; no layer of this one is shown.
    pub(crate) reread: bool,
    next_buffer: usize,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(
        protocol: &'static str,
        octets: &'a [u8],
        from: &Follow,
        state: &'a mut State,
        next_buffer: usize,
    ) -> Self {
        Self {
            octets,
            total: from.total,
            around: from.around,
            state,
            layer: Layer {
                protocol,
                buffer: from.buffer,
                offset: from.offset,
                length: 0,
                total: from.total,
                summary: String::new(),
                ends: None,
                fields: Vec::new(),
                remarks: Vec::new(),
                stays: false,
                verbatim: None,
            },
            follow: Vec::new(),
            rest: Vec::new(),
            reassembled: Vec::new(),
            reread: false,
            next_buffer,
        }
    }

    /// The octets of the PDU, as far as they were recorded.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Octets that the PDU had on the medium: at least as many.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.total
    }

    /// `len` of the recorded octets from `at`, or as many as there are.
    #[must_use]
    pub fn part(&self, at: usize, len: usize) -> &'a [u8] {
        let from = self.octets.get(at..).unwrap_or_default();
        from.get(..len).unwrap_or(from)
    }

    /// Says what this layer is, in one line.
    pub fn summary(&mut self, text: impl fmt::Display) {
        self.layer.summary = text.to_string();
    }

    /// Keeps this layer in the line of its packet whatever lies within: its numbers are what such captures are read
    /// for.
    pub const fn stays(&mut self) {
        self.layer.stays = true;
    }

    /// Says how many octets the header has.
    pub const fn header_len(&mut self, len: usize) {
        self.layer.length = len;
    }

    /// Names the network addresses: for the line of the packet, and for checksums further in.
    pub fn ends(&mut self, ends: Ends) {
        self.layer.ends = Some([ends.source.to_string(), ends.destination.to_string()]);
        self.around.ends = Some(ends);
    }

    /// Adds a field of `len` octets from `at`.
    pub fn field(&mut self, name: &'static str, at: usize, len: usize, value: impl Into<Value>) {
        self.layer.fields.push(Field {
            name,
            value: value.into(),
            meaning: None,
            offset: self.layer.offset.saturating_add(at),
            length: len,
        });
    }

    /// As [`Reading::field`], with the name of the value.
    pub fn named(
        &mut self,
        name: &'static str,
        at: usize,
        len: usize,
        value: impl Into<Value>,
        meaning: impl fmt::Display,
    ) {
        self.field(name, at, len, value);
        self.meaning(name, meaning);
    }

    /// Adds the fields that a codec declares, which lie one behind the other from `at` on.
    pub fn fields(&mut self, mut at: usize, fields: impl IntoIterator<Item = kumiki_wire::Field>) {
        for kumiki_wire::Field { name, len, value, hex } in fields {
            if !name.is_empty() {
                self.field(name, at, len, if hex { Value::Hex(value, 2 * len) } else { Value::Number(value) });
            }
            at += len;
        }
    }

    /// Names the value of the field `name`, the last of that name.
    pub fn meaning(&mut self, name: &str, meaning: impl fmt::Display) {
        let meaning = meaning.to_string();
        if let Some(field) = self.layer.fields.iter_mut().rfind(|field| field.name == name)
            && !meaning.is_empty()
        {
            field.meaning = Some(meaning);
        }
    }

    /// Remarks on something that is wrong: what was found, and what would be right.
    pub fn bad(&mut self, text: impl fmt::Display) {
        self.remark(Level::Bad, text);
    }

    /// Remarks on something worth knowing.
    pub fn note(&mut self, text: impl fmt::Display) {
        self.remark(Level::Note, text);
    }

    fn remark(&mut self, level: Level, text: impl fmt::Display) {
        self.layer.remarks.push(Remark { level, text: text.to_string() });
    }

    /// The PDU is not what it should be, and nothing more can be read of it.
    pub fn malformed(&mut self, why: &Malformed) {
        self.malformed_at(0, why);
    }

    /// As [`Reading::malformed`], from `at` on.
    pub fn malformed_at(&mut self, at: usize, why: &Malformed) {
        let what = why.to_string();
        let (what, why) = (what.split(": ").next().unwrap_or_default(), in_words(why));
        let cut = if self.octets.len() < self.total {
            format!(" ({} of {} were recorded)", self.octets.len(), counted(self.total, "octet"))
        } else {
            String::new()
        };
        // What the capture or an error message left out is nobody's mistake.
        if self.around.quoted || !cut.is_empty() {
            self.note(format!("{why}{cut}"));
        } else {
            self.bad(&why);
        }
        if self.layer.summary.is_empty() {
            // The mistake itself is a remark, which stands in the same line.
            self.summary(what);
        }
        self.rest(at, usize::MAX, &why);
    }

    /// Compares what our codec writes from what it has read with the header at the front of the PDU.
    pub fn emitted(&mut self, write: impl FnOnce(&mut [u8]), len: usize) {
        if len == self.layer.length {
            return self.emitted_at(0, write, len);
        }
        self.layer.verbatim = Some(false);
        let header = self.layer.length;
        self.note(format!(
            "written again, the header would have {octets} and not {header}",
            octets = counted(len, "octet")
        ));
    }

    /// As [`Reading::emitted`], for what lies elsewhere in the PDU.
    pub fn emitted_at(&mut self, at: usize, write: impl FnOnce(&mut [u8]), len: usize) {
        let mut out = vec![0; len];
        write(&mut out);
        let found = self.part(at, len);
        if found.len() < len {
            return;
        }
        let mut places = found.iter().zip(&out).enumerate().filter(|(_, (found, written))| found != written);
        let first = places.next();
        self.layer.verbatim = Some(self.layer.verbatim.unwrap_or(true) && first.is_none());
        if let Some((place, (found, written))) = first {
            let count = places.count().saturating_add(1);
            let place = self.layer.offset.saturating_add(at).saturating_add(place);
            self.note(format!(
                "written again, {octets} would differ; the first, at {place}, is {found:02x} and would be {written:02x}",
                octets = counted(count, "octet")
            ));
        }
    }

    /// What follows the header from `at`, `len` octets on the medium. The first of `keys` that somebody claims is
    /// taken; octets that nobody claims are shown as they are.
    pub fn follow(&mut self, keys: &[Key], at: usize, len: usize) {
        let len = len.min(self.total.saturating_sub(at));
        if len == 0 {
            return;
        }
        self.follow.push(Follow {
            keys: keys.to_vec(),
            buffer: self.layer.buffer,
            offset: self.layer.offset.saturating_add(at),
            captured: self.part(at, len).len(),
            total: len,
            around: self.around,
        });
    }

    /// As [`Reading::follow`] where this header says how long what follows was on the medium, whatever the capture
    /// says.
    pub fn follow_beyond(&mut self, keys: &[Key], at: usize, len: usize) {
        let captured = self.part(at, len).len();
        if len > 0 {
            self.follow.push(Follow {
                keys: keys.to_vec(),
                buffer: self.layer.buffer,
                offset: self.layer.offset.saturating_add(at),
                captured,
                total: len,
                around: self.around,
            });
        }
    }

    /// This PDU is another protocol's: nothing of this layer is shown.
    pub fn reread_as(&mut self, key: Key) {
        self.reread = true;
        self.follow(&[key], 0, self.total);
    }

    /// This PDU is none of this protocol, which is nobody's mistake: no layer of it is shown, and its octets are left
    /// over.
    pub fn decline(&mut self, why: impl fmt::Display) {
        self.reread = true;
        self.rest(0, usize::MAX, why);
    }

    /// A PDU that is whole only now. What follows is `len` octets of it from `at`.
    pub fn follow_reassembled(&mut self, keys: &[Key], reassembled: Reassembled, at: usize, len: usize) {
        let have = reassembled.octets.len().saturating_sub(at).min(len);
        let buffer = self.next_buffer.saturating_add(self.reassembled.len());
        self.reassembled.push(reassembled);
        if have > 0 {
            self.follow.push(Follow {
                keys: keys.to_vec(),
                buffer,
                offset: at,
                captured: have,
                total: have,
                around: self.around,
            });
        }
    }

    /// The octets from `at` to the end of the PDU only fill it up.
    pub fn padding(&mut self, at: usize) {
        let len = self.total.saturating_sub(at);
        if len == 0 {
            return;
        }
        let octets = self.part(at, len);
        self.field("padding", at, len, octets);
        if octets.iter().any(|octet| *octet != 0) {
            self.note(format!(
                "{octets} of padding {are} not all zero",
                octets = counted(len, "octet"),
                are = are(len)
            ));
        }
    }

    /// Octets that belong to no protocol known here.
    pub fn rest(&mut self, at: usize, len: usize, why: impl fmt::Display) {
        let len = len.min(self.total.saturating_sub(at));
        if len == 0 {
            return;
        }
        self.rest.push(UndissectedOctets {
            buffer: self.layer.buffer,
            offset: self.layer.offset.saturating_add(at),
            length: len,
            why: why.to_string(),
            octets: self.part(at, len).to_vec(),
        });
    }

    /// Checks the Internet checksum whose field is at `field`, over the first `len` octets and what `before` has
    /// summed, and adds the field. Says which value would be right, and when a device was to fill it in.
    pub fn checksum(&mut self, name: &'static str, field: usize, len: usize, before: Option<Sum>) {
        let covered = self.part(0, len);
        let Some((front, back)) = covered.split_at_checked(field) else {
            return;
        };
        let Some((&own, back)) = back.split_first_chunk::<2>() else {
            return;
        };
        let found = u16::from_be_bytes(own);
        let right = if covered.len() < len || self.around.quoted {
            None
        } else {
            // The field is at an even place, so that the octets behind it keep their halves of words.
            let octets = Sum::of(front).plus(Sum::of(back));
            Some(before.unwrap_or_default().plus(octets).checksum())
        };
        let value = Value::Hex(found.into(), 4);
        match right {
            None => self.named(name, field, 2, value, "not checked: octets are missing"),
            // The two zeros of one's complement are one number.
            Some(right) if right == found || [right, found].iter().all(|sum| matches!(sum, 0 | 0xffff)) => {
                self.named(name, field, 2, value, "right");
            }
            Some(right) => {
                self.named(name, field, 2, value, format!("wrong, {right:#06x} would be right"));
                if before.is_some_and(|sum| sum.folded() == found) {
                    self.note(format!(
                        "{name} is {found:#06x}, the sum of the pseudo-header: left to a device, {right:#06x} would be right"
                    ));
                } else {
                    self.bad(format!("{name} is {found:#06x}, the octets give {right:#06x}"));
                }
            }
        }
    }
    /// As [`Reading::checksum`] for a whole PDU of `protocol` and the pseudo-header before it, where the addresses are
    /// known.
    pub fn transport_checksum(&mut self, field: usize, protocol: u8) {
        const NAME: &str = "checksum";
        if let Some(ends) = self.around.ends {
            let before = ends.pseudo_header(protocol, self.total);
            self.checksum(NAME, field, self.total, Some(before));
        } else if let Some(&sum) = self.part(field, 2).first_chunk() {
            let value = Value::Hex(u16::from_be_bytes(sum).into(), 4);
            self.named(NAME, field, 2, value, "not checked: no addresses");
        }
    }
}
