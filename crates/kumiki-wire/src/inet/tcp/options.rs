//! Options of a TCP header: RFC 9293 section 3.2, RFC 7323 (window scale, timestamps), RFC 2018 (SACK), RFC 5482 (user
//! timeout), RFC 9768 (Accurate ECN).

use core::fmt;

use super::Seq;
use super::accecn::{AccEcn, Order};
use crate::{Malformed, put_slice};

/// Option kinds, from the registry that RFC 9293 section 3.1 names.
pub mod kind {
    /// End of option list, one octet.
    pub const END: u8 = 0;
    /// No operation, one octet.
    pub const NOP: u8 = 1;
    /// Maximum segment size (RFC 9293).
    pub const MSS: u8 = 2;
    /// Window scale (RFC 7323).
    pub const WINDOW_SCALE: u8 = 3;
    /// SACK permitted (RFC 2018).
    pub const SACK_PERMITTED: u8 = 4;
    /// Selective acknowledgment (RFC 2018).
    pub const SACK: u8 = 5;
    /// Timestamps (RFC 7323).
    pub const TIMESTAMPS: u8 = 8;
    /// User timeout (RFC 5482).
    pub const USER_TIMEOUT: u8 = 28;
    /// Accurate ECN, order 0 (RFC 9768).
    pub const ACCECN0: u8 = 172;
    /// Accurate ECN, order 1 (RFC 9768).
    pub const ACCECN1: u8 = 174;
}

/// Most octets that options can take: a header has at most 15 words, five of them fixed.
pub const MAX_LEN: usize = 40;

/// Largest shift count that RFC 7323 section 2.3 allows; a larger one received counts as this.
pub const MAX_WINDOW_SCALE: u8 = 14;

/// The options that this stack understands.
///
/// [`Options::parse`] keeps the last of several options of one kind (MUST-4, MUST-5) and steps over kinds that are not
/// here (MUST-6), whatever their alignment (MUST-64). [`Options::emit`] writes them (MUST-68), without padding after
/// them (MUST-69), in the order that Linux uses, which old peers are known to bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// Maximum segment size the sender of the segment can receive; belongs to SYN segments (MUST-65).
    pub mss: Option<u16>,
    /// Shift count for the sender's windows as received, also above [`MAX_WINDOW_SCALE`]; belongs to SYN segments.
    pub window_scale: Option<u8>,
    /// The sender may be sent SACK options; belongs to SYN segments.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// How long the sender of the segment will wait for an acknowledgment.
    pub user_timeout: Option<UserTimeout>,
    /// What came with which ECN codepoint; of no meaning in a SYN without an ACK.
    pub accecn: Option<AccEcn>,
    /// Blocks of the SACK option; none means that there is no such option.
    pub sack: SackBlocks,
    /// An option had a length that its kind cannot have (MUST-7). That option was left out; where the length did not
    /// even say where the next one begins, so was the rest. Only ever set by [`Options::parse`]; not emitted.
    pub illegal_length: bool,
}

/// A user timeout option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UserTimeout {
    /// How many; 15 bits on the wire, and zero is reserved.
    pub value: u16,
    /// Minutes (G = 1) instead of seconds.
    pub minutes: bool,
}

impl UserTimeout {
    const G: u16 = 0x8000;

    const fn of_bits(bits: u16) -> Self {
        Self { value: bits & !Self::G, minutes: bits & Self::G != 0 }
    }

    const fn bits(self) -> u16 {
        let g = if self.minutes { Self::G } else { 0 };
        (self.value & !Self::G) | g
    }
}

/// One block of a SACK option: octets received, `left` included, `right` not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: Seq,
    /// The sequence number after the last of the block.
    pub right: Seq,
}

/// Up to four SACK blocks, in the order of the option.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    // Unused places stay zero, so that the derived comparison is right.
    blocks: [SackBlock; Self::CAPACITY],
    used: u8,
}

impl SackBlocks {
    /// Blocks that fit in the options of a header without timestamps; with them it is three.
    pub const CAPACITY: usize = 4;

    /// No blocks.
    pub const EMPTY: Self = Self { blocks: [SackBlock { left: Seq(0), right: Seq(0) }; Self::CAPACITY], used: 0 };

    /// The first four of `blocks`.
    #[must_use]
    pub fn from_slice(blocks: &[SackBlock]) -> Self {
        let mut all = Self::EMPTY;
        for block in blocks {
            all.push(*block);
        }
        all
    }

    /// Adds a block at the end; `false` and no change when there are four already.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.used)) else {
            return false;
        };
        *place = block;
        self.used += 1;
        true
    }

    /// The blocks.
    #[must_use]
    pub fn as_slice(&self) -> &[SackBlock] {
        self.blocks.get(..self.len()).unwrap_or_default()
    }

    /// How many blocks there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.used as usize
    }

    /// Whether there is no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }
}

impl<'a> IntoIterator for &'a SackBlocks {
    type Item = &'a SackBlock;
    type IntoIter = core::slice::Iter<'a, SackBlock>;
    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

impl Options {
    /// No options.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        user_timeout: None,
        accecn: None,
        sack: SackBlocks::EMPTY,
        illegal_length: false,
    };

    /// Reads the octets between the fixed part of a header and its data. Nothing is refused: see
    /// [`Options::illegal_length`].
    #[must_use]
    pub fn parse(octets: &[u8]) -> Self {
        let mut options = Self::NONE;
        // Nearly every segment of a bulk transfer has this form (RFC 7323 appendix A).
        if let &[kind::NOP, kind::NOP, kind::TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3] = octets {
            options.timestamps = Some((u32::from_be_bytes([v0, v1, v2, v3]), u32::from_be_bytes([e0, e1, e2, e3])));
            return options;
        }
        for item in items(octets) {
            let Ok(item) = item else {
                options.illegal_length = true;
                break;
            };
            options.take(item);
        }
        options
    }

    fn take(&mut self, item: Item<'_>) {
        match (item.kind, item.data) {
            (kind::NOP, _) => {}
            (kind::MSS, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
            (kind::WINDOW_SCALE, &[shift_cnt]) => self.window_scale = Some(shift_cnt),
            (kind::SACK_PERMITTED, []) => self.sack_permitted = true,
            (kind::TIMESTAMPS, &[v0, v1, v2, v3, e0, e1, e2, e3]) => {
                let ts_val = u32::from_be_bytes([v0, v1, v2, v3]);
                let ts_ecr = u32::from_be_bytes([e0, e1, e2, e3]);
                self.timestamps = Some((ts_val, ts_ecr));
            }
            (kind::USER_TIMEOUT, &[high, low]) => {
                let bits = u16::from_be_bytes([high, low]);
                self.user_timeout = Some(UserTimeout::of_bits(bits));
            }
            (kind::ACCECN0, data) => self.accecn = Some(AccEcn::parse(Order::Zero, data)),
            (kind::ACCECN1, data) => self.accecn = Some(AccEcn::parse(Order::One, data)),
            (kind::SACK, data) => match data.as_chunks::<8>() {
                (blocks @ [_, ..], []) => {
                    self.sack = SackBlocks::EMPTY;
                    for &[l0, l1, l2, l3, r0, r1, r2, r3] in blocks {
                        self.sack.push(SackBlock {
                            left: Seq(u32::from_be_bytes([l0, l1, l2, l3])),
                            right: Seq(u32::from_be_bytes([r0, r1, r2, r3])),
                        });
                    }
                }
                _ => self.illegal_length = true,
            },
            (kind::MSS | kind::WINDOW_SCALE | kind::SACK_PERMITTED | kind::TIMESTAMPS | kind::USER_TIMEOUT, _) => {
                self.illegal_length = true;
            }
            _ => {}
        }
    }

    /// Octets of everything but the SACK blocks, where these would begin: after an Accurate ECN option that may be
    /// anywhere.
    const fn len_without_sack(&self) -> usize {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        if self.timestamps.is_some() {
            len += 12;
        }
        if let Some(accecn) = &self.accecn {
            len += accecn.len();
        }
        if self.timestamps.is_none() && self.sack_permitted {
            len = end_of(len, 2);
        }
        if self.window_scale.is_some() {
            len = end_of(len, 3);
        }
        if self.user_timeout.is_some() {
            len = end_of(len, 4);
        }
        len
    }

    /// How many SACK blocks fit beside the other options: 4, or 3 with timestamps, fewer with Accurate ECN.
    #[must_use]
    pub const fn sack_room(&self) -> usize {
        let before = self.len_without_sack();
        let mut blocks = SackBlocks::CAPACITY;
        while blocks > 0 && end_of(before, 2 + 8 * blocks) > MAX_LEN {
            blocks -= 1;
        }
        blocks
    }

    /// The SACK blocks that [`Options::emit`] writes: the first ones, as many as fit.
    fn sack_sent(&self) -> &[SackBlock] {
        let sent = self.sack.len().min(self.sack_room());
        self.sack.as_slice().get(..sent).unwrap_or_default()
    }

    /// Octets that [`Options::emit`] writes: a multiple of 4, at most [`MAX_LEN`].
    #[must_use]
    pub fn len(&self) -> usize {
        let before = self.len_without_sack();
        match self.sack_sent().len() {
            0 => end_of(before, 0),
            blocks => end_of(before, 2 + 8 * blocks),
        }
    }

    /// Whether there is no option.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes [`Options::len`] octets. The order and the places of the no-operations are those of Linux: MSS;
    /// SACK-permitted and timestamps sharing words; Accurate ECN, which needs not end with a word; window scale; then
    /// user timeout, which Linux has not; SACK. SACK blocks beyond [`Options::sack_room`] are left out.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        // Nearly every segment of a bulk transfer has this form (RFC 7323 appendix A).
        if let (Some((ts_val, ts_ecr)), false, Some(room)) =
            (self.timestamps, self.sack_permitted, out.as_mut_array::<12>())
        {
            let ([v0, v1, v2, v3], [e0, e1, e2, e3]) = (ts_val.to_be_bytes(), ts_ecr.to_be_bytes());
            let (nop, kind) = (kind::NOP, kind::TIMESTAMPS);
            *room = [nop, nop, kind, 10, v0, v1, v2, v3, e0, e1, e2, e3];
            return;
        }
        let mut writer = Writer { out, at: 0 };
        if let Some(mss) = self.mss {
            let [high, low] = mss.to_be_bytes();
            writer.put(&[kind::MSS, 4, high, low]);
        }
        if let Some((ts_val, ts_ecr)) = self.timestamps {
            let ([v0, v1, v2, v3], [e0, e1, e2, e3]) = (ts_val.to_be_bytes(), ts_ecr.to_be_bytes());
            let before = if self.sack_permitted { [kind::SACK_PERMITTED, 2] } else { [kind::NOP, kind::NOP] };
            writer.begin(&before);
            writer.put(&[kind::TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3]);
        }
        if let Some(accecn) = &self.accecn {
            let octets = accecn.octets();
            writer.begin(octets.get(..accecn.len()).unwrap_or_default());
        }
        if self.timestamps.is_none() && self.sack_permitted {
            writer.put(&[kind::SACK_PERMITTED, 2]);
        }
        if let Some(shift_cnt) = self.window_scale {
            writer.put(&[kind::WINDOW_SCALE, 3, shift_cnt]);
        }
        if let Some(told) = self.user_timeout {
            let [high, low] = told.bits().to_be_bytes();
            writer.put(&[kind::USER_TIMEOUT, 4, high, low]);
        }
        let length = match self.sack_sent().len() {
            0 => return writer.align(0),
            1 => 10,
            2 => 18,
            3 => 26,
            _ => 34,
        };
        writer.align(length.into());
        writer.begin(&[kind::SACK, length]);
        for block in self.sack_sent() {
            writer.begin(&block.left.0.to_be_bytes());
            writer.begin(&block.right.0.to_be_bytes());
        }
    }
}

/// Where an option of `len` octets ends, of which no octet is before `at`: at the end of a word.
const fn end_of(at: usize, len: usize) -> usize {
    (at + len).next_multiple_of(4)
}

/// Room for options, filled from the front.
struct Writer<'a> {
    out: &'a mut [u8],
    /// How many octets have been written.
    at: usize,
}

impl Writer<'_> {
    /// Writes `octets` at once.
    fn begin(&mut self, octets: &[u8]) {
        let mut rest = core::mem::take(&mut self.out);
        put_slice(&mut rest, octets);
        self.out = rest;
        self.at += octets.len();
    }

    /// No-operations, until what follows and has `len` octets ends with a word.
    fn align(&mut self, len: usize) {
        while !(self.at + len).is_multiple_of(4) {
            self.begin(&[kind::NOP]);
        }
    }

    /// Writes an option so that it ends with a word.
    fn put(&mut self, option: &[u8]) {
        self.align(option.len());
        self.begin(option);
    }
}

impl fmt::Display for Options {
    /// For example `mss 1460, sackOK, TS val 7 ecr 0, wscale 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(mss) = self.mss {
            write!(f, "mss {mss}")?;
            separator = ", ";
        }
        if self.sack_permitted {
            write!(f, "{separator}sackOK")?;
            separator = ", ";
        }
        if let Some((ts_val, ts_ecr)) = self.timestamps {
            write!(f, "{separator}TS val {ts_val} ecr {ts_ecr}")?;
            separator = ", ";
        }
        if let Some(shift_cnt) = self.window_scale {
            write!(f, "{separator}wscale {shift_cnt}")?;
            separator = ", ";
        }
        if let Some(UserTimeout { value, minutes }) = self.user_timeout {
            let unit = if minutes { "min" } else { "s" };
            write!(f, "{separator}user timeout {value} {unit}")?;
            separator = ", ";
        }
        if let Some(accecn) = &self.accecn {
            write!(f, "{separator}{accecn}")?;
            separator = ", ";
        }
        for block in &self.sack {
            write!(f, "{separator}sack {}-{}", block.left, block.right)?;
            separator = ", ";
        }
        if self.illegal_length {
            write!(f, "{separator}illegal option length")?;
        }
        Ok(())
    }
}

/// One option as it lies in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Option-kind, see [`kind`].
    pub kind: u8,
    /// Option-data: without kind and length; empty for no-operation.
    pub data: &'a [u8],
}

/// Every option in `octets` up to the end of the list, known or not; after an illegal length there is one error and
/// nothing more.
#[must_use]
pub const fn items(octets: &[u8]) -> Items<'_> {
    Items { rest: octets }
}

/// The iterator of [`items`].
#[derive(Clone, Debug)]
pub struct Items<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let all = self.rest;
        self.rest = &[];
        match *all {
            [] | [kind::END, ..] => None,
            [kind::NOP, ref rest @ ..] => {
                self.rest = rest;
                Some(Ok(Item { kind: kind::NOP, data: &[] }))
            }
            [kind, length, ..] => {
                if let Some((option, rest)) = all.split_at_checked(usize::from(length))
                    && let [_, _, data @ ..] = option
                {
                    self.rest = rest;
                    return Some(Ok(Item { kind, data }));
                }
                Some(Err(Malformed::Length {
                    protocol: "TCP",
                    field: "option-length",
                    found: usize::from(length),
                    least: 2,
                    most: all.len(),
                }))
            }
            [_] => Some(Err(Malformed::Short { protocol: "TCP option", need: 2, have: 1 })),
        }
    }
}
