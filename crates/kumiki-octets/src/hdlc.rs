//! Octet stuffing and unstuffing: the transparency of HDLC-like framing, over octets that come in pieces.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1662, section 4.2 |
//! | Used by | PPP over SONET/SDH, MAPOS, PPP on asynchronous lines |
//! | Left out | flags, address, control and FCS: a frame is the framer's. Bit stuffing (RFC 1662, section 5). Sending maps of more than 32 characters (section 7.1), for modems that take 0x91 and 0x93 for flow control |
//!
//! Stuffing has no state. Unstuffing has one bit, whether the octet before was a Control Escape ([`Unstuffer`]). A
//! simulator that need not have the octets themselves takes [`stuffed_len`], or [`crate::Pattern::stuffed_len`] for
//! octets that nobody has written.
mod kernel;

use crate::Form;

/// The Flag Sequence, which begins and ends each frame (RFC 1662, section 3.1).
pub const FLAG: u8 = 0x7E;
/// The Control Escape octet (RFC 1662, section 4.2).
pub const ESCAPE: u8 = 0x7D;
/// What an escaped octet is exclusive-or'd with (RFC 1662, section 4.2).
pub const COMPLEMENT: u8 = 0x20;

/// An Async-Control-Character-Map: the octets below 0x20 that are sent escaped, and removed when they come unescaped
/// (RFC 1662, sections 4.2 and 7.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Accm(u32);

impl Accm {
    /// None of them: the default of links that are not asynchronous (RFC 1662, section 7.1), SONET/SDH among them.
    pub const NONE: Self = Self(0);
    /// All of them: the default of asynchronous links (RFC 1662, section 7.1).
    pub const ALL: Self = Self(u32::MAX);

    /// The octet n is in the map if bit n is 1, bit 0 being the least significant: the value of LCP's option.
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// The value of LCP's option.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether `octet` is in the map.
    #[must_use]
    #[inline]
    pub const fn contains(self, octet: u8) -> bool {
        octet < 0x20 && (self.0 >> (octet & 0x1F)) & 1 == 1
    }

    /// Whether `octet` is sent as two.
    #[must_use]
    #[inline]
    pub const fn escapes(self, octet: u8) -> bool {
        matches!(octet, FLAG | ESCAPE) || self.contains(octet)
    }
}

/// Appends the transparent form of `octets` to `out`: at least as many octets, at most twice as many.
pub fn stuff(octets: &[u8], accm: Accm, out: &mut Vec<u8>) {
    stuff_with(Form::best(), octets, accm, out);
}

/// [`stuff`] in a form that a test or a benchmark names.
#[doc(hidden)]
pub fn stuff_with(form: Form, octets: &[u8], accm: Accm, out: &mut Vec<u8>) {
    kernel::stuff(form, octets, accm, out);
}

/// How many octets [`stuff`] would append.
#[must_use]
pub fn stuffed_len(octets: &[u8], accm: Accm) -> usize {
    stuffed_len_with(Form::best(), octets, accm)
}

/// [`stuffed_len`] in a form that a test or a benchmark names.
#[doc(hidden)]
#[must_use]
pub fn stuffed_len_with(form: Form, octets: &[u8], accm: Accm) -> usize {
    octets.len() + kernel::escapes(form, octets, accm)
}

/// How many Flag Sequences `octets` begins with: what a receiver between frames passes over, where
/// [`Unstuffer::unstuff`] would stop at each.
#[must_use]
pub fn leading_flags(octets: &[u8]) -> usize {
    let (blocks, _) = octets.as_chunks::<64>();
    let whole = Form::best().run(kernel::BlocksOfFlags(blocks));
    let rest = octets.get(whole * 64..).unwrap_or_default();
    whole * 64 + rest.iter().take_while(|octet| **octet == FLAG).count()
}

/// Why unstuffing stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// At a Flag Sequence, which was taken: the frame, if there was one, is whole.
    Flag,
    /// At a Flag Sequence just behind a Control Escape, taken both: the frame is aborted (RFC 1662, section 4.3).
    Abort,
    /// All octets were taken.
    End,
    /// The limit is reached; the next octet, which was not taken, would add another.
    Full,
}

/// What became of received octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unstuffed {
    /// How many of them were taken, the flag included.
    pub taken: usize,
    /// Why not more.
    pub stop: Stop,
}

/// What a receiver has to remember between two pieces of octets: whether a Control Escape is pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unstuffer {
    escape: bool,
}

impl Unstuffer {
    /// Nothing pending.
    #[must_use]
    pub const fn new() -> Self {
        Self { escape: false }
    }

    /// Whether the last octet taken was a Control Escape that waits for the octet it belongs to.
    #[must_use]
    pub const fn is_pending(self) -> bool {
        self.escape
    }

    /// Appends the plain octets of `octets` to `out` until a flag comes, the input ends, or `out` holds `limit` octets
    /// and another would be added. Octets of `accm` that come unescaped are removed before anything else is looked at
    /// (RFC 1662, section 4.2), even between a Control Escape and its octet.
    ///
    /// What follows a Control Escape is complemented whatever it is, other than a flag: also another Control Escape,
    /// which no sender makes. After a flag nothing is pending.
    pub fn unstuff(&mut self, octets: &[u8], accm: Accm, limit: usize, out: &mut Vec<u8>) -> Unstuffed {
        self.unstuff_with(Form::best(), octets, accm, limit, out)
    }

    /// [`Unstuffer::unstuff`] in a form that a test or a benchmark names.
    #[doc(hidden)]
    pub fn unstuff_with(
        &mut self,
        form: Form,
        octets: &[u8],
        accm: Accm,
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Unstuffed {
        kernel::unstuff(form, &mut self.escape, octets, accm, limit, out)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
