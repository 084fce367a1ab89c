//! The payloads of all packets but DATA, as far as they are not user data.

use core::fmt;

use super::{Address, Key, Traffic, field, length, short, take};
use crate::layout::layout;
use crate::{Malformed, put};

/// Octets of a [`Control`].
pub(super) const CNTL_LEN: usize = 20;
/// Octets of a [`Control`], a reserved word and a key.
pub(super) const TCNTL_LEN: usize = 32;
/// Octets of a [`Diagnosis`].
pub(super) const DIAG_LEN: usize = 8;
/// Octets of a [`Span`].
const SPAN_LEN: usize = 16;

layout! {
    "XTP", CNTL_LEN;
    /// The state of a receiver: the payload of CNTL, and what those of the other control packets begin with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Control {
        /// The next octet expected in order.
        pub rseq: u64 = "rseq";
        /// The first octet that may not be sent.
        pub alloc: u64 = "alloc";
        /// The largest `sync` received.
        pub echo: u32 = "echo";
    }
}

impl Control {
    /// Reads the front of a control packet's payload; also gives its length.
    ///
    /// # Errors
    /// Fewer than 20 octets.
    pub fn parse(payload: &[u8]) -> Result<(Self, usize), Malformed> {
        Ok((Self::read(payload)?, CNTL_LEN))
    }

    /// Reads the payload of a CNTL packet.
    ///
    /// # Errors
    /// Another length than 20 octets.
    pub fn parse_whole(payload: &[u8]) -> Result<Self, Malformed> {
        let (control, len) = Self::parse(payload)?;
        exact(payload, len)?;
        Ok(control)
    }
}

impl fmt::Display for Control {
    /// For example `rseq 64 alloc 1048576 echo 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rseq, alloc, echo } = self;
        write!(f, "rseq {rseq} alloc {alloc} echo {echo}")
    }
}

layout! {
    "XTP", SPAN_LEN;
    /// A run of octets, by their numbers. What it says of them is the protocol's matter (`docs/xtp.md`, P1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Span {
        /// The first.
        pub left: u64 = "left edge";
        /// One after the last.
        pub right: u64 = "right edge";
    }
}

/// The payload of ECNTL: the state of a receiver that misses something.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Errors {
    /// As in CNTL.
    pub control: Control,
    /// The spans in the order of the packet; nothing is said here about their order.
    pub spans: Vec<Span>,
}

impl Errors {
    /// Reads the payload of an ECNTL packet.
    ///
    /// # Errors
    /// Not all there, or `nspan` does not fit the length exactly.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let (control, len) = Control::parse(payload)?;
        let mut rest = payload.get(len..).unwrap_or_default();
        let nspan = u32::from_be_bytes(take(&mut rest)?);
        // The length bounds the number before anything is multiplied: CVE-2012-4288 was the other way round.
        let fits = usize::try_from(nspan).ok().filter(|nspan| *nspan <= rest.len() / SPAN_LEN);
        let Some(nspan) = fits else {
            let expected = "no more spans than dlen has room for";
            return Err(field("nspan", nspan.into(), expected));
        };
        let len = len + 4 + nspan * SPAN_LEN;
        exact(payload, len)?;
        let spans = rest.chunks_exact(SPAN_LEN).map(Span::read).collect::<Result<_, _>>()?;
        Ok(Self { control, spans })
    }

    /// Octets that [`Errors::emit`] writes: 24, and 16 for each span.
    #[expect(clippy::len_without_is_empty, reason = "a payload is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        CNTL_LEN + 4 + SPAN_LEN * self.spans.len()
    }

    /// Writes [`Errors::len`] octets.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let mut out = out;
        self.control.put(&mut out);
        let nspan = u32::try_from(self.spans.len()).unwrap_or(u32::MAX);
        put(&mut out, nspan.to_be_bytes());
        for span in &self.spans {
            span.put(&mut out);
        }
    }
}

impl fmt::Display for Errors {
    /// For example `rseq 256 alloc 1048576 echo 2 spans 320-384 448-512`: the right ends are one after the last octet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} spans", self.control)?;
        for Span { left, right } in &self.spans {
            write!(f, " {left}-{right}")?;
        }
        Ok(())
    }
}

/// The payload of TCNTL: the state of a receiver, its own key, and its traffic values. The reserved word is ignored,
/// and written as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct TrafficControl {
    /// As in CNTL.
    pub control: Control,
    /// The key of who sends this packet.
    pub xkey: Key,
    /// The traffic segment.
    pub traffic: Traffic,
}

/// Reads what TCNTL and JCNTL begin with.
fn parse_front(payload: &[u8]) -> Result<(Control, Key), Malformed> {
    if payload.len() < TCNTL_LEN {
        return Err(short(TCNTL_LEN, payload.len()));
    }
    let (control, len) = Control::parse(payload)?;
    let mut rest = payload.get(len..).unwrap_or_default();
    let _reserved: [u8; 4] = take(&mut rest)?;
    let xkey = Key(u64::from_be_bytes(take(&mut rest)?));
    Ok((control, xkey))
}

fn put_front(control: &Control, xkey: Key, out: &mut &mut [u8]) {
    control.put(out);
    put(out, [0; 4]);
    put(out, xkey.0.to_be_bytes());
}

impl TrafficControl {
    /// Reads the payload of a TCNTL packet.
    ///
    /// # Errors
    /// Not all there, an illegal segment, or octets after it.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let (control, xkey) = parse_front(payload)?;
        let (traffic, len) = Traffic::parse(payload.get(TCNTL_LEN..).unwrap_or_default())?;
        exact(payload, TCNTL_LEN + len)?;
        Ok(Self { control, xkey, traffic })
    }

    /// Octets that [`TrafficControl::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a payload is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        TCNTL_LEN + self.traffic.len()
    }

    /// Writes [`TrafficControl::len`] octets.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let mut out = out;
        put_front(&self.control, self.xkey, &mut out);
        self.traffic.emit(out);
    }
}

impl fmt::Display for TrafficControl {
    /// For example `rseq 64 alloc 1048576 echo 1 xkey 2:7 service 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { control, xkey, traffic } = self;
        write!(f, "{control} xkey {xkey} {traffic}")
    }
}

/// The payload of JCNTL: as TCNTL, with addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Join {
    /// As in CNTL.
    pub control: Control,
    /// The key of who sends this packet.
    pub xkey: Key,
    /// The group, and who joins.
    pub address: Address,
    /// The traffic segment.
    pub traffic: Traffic,
}

impl Join {
    /// Reads the payload of a JCNTL packet.
    ///
    /// # Errors
    /// Not all there, an illegal segment, or octets after them.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let (control, xkey) = parse_front(payload)?;
        let (address, alen) = Address::parse(payload.get(TCNTL_LEN..).unwrap_or_default())?;
        let at = TCNTL_LEN + alen;
        let (traffic, tlen) = Traffic::parse(payload.get(at..).unwrap_or_default())?;
        exact(payload, at + tlen)?;
        Ok(Self { control, xkey, address, traffic })
    }

    /// Octets that [`Join::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a payload is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        TCNTL_LEN + self.address.len() + self.traffic.len()
    }

    /// Writes [`Join::len`] octets.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let mut out = out;
        put_front(&self.control, self.xkey, &mut out);
        if let Some((address, traffic)) = out.split_at_mut_checked(self.address.len()) {
            self.address.emit(address);
            self.traffic.emit(traffic);
        }
    }
}

impl fmt::Display for Join {
    /// As [`TrafficControl`], with the addresses before the traffic values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { control, xkey, address, traffic } = self;
        write!(f, "{control} xkey {xkey} {address} {traffic}")
    }
}

/// What stands in front of the data of a FIRST packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct First {
    /// Who calls whom.
    pub address: Address,
    /// What the caller can take and wants to send.
    pub traffic: Traffic,
}

impl First {
    /// Reads the segments from the front of a FIRST packet's payload; also gives their length. Data follows them.
    ///
    /// # Errors
    /// A segment is not all there, or is illegal.
    pub fn parse(payload: &[u8]) -> Result<(Self, usize), Malformed> {
        let (address, alen) = Address::parse(payload)?;
        let (traffic, tlen) = Traffic::parse(payload.get(alen..).unwrap_or_default())?;
        Ok((Self { address, traffic }, alen + tlen))
    }

    /// Octets that [`First::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a payload is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.address.len() + self.traffic.len()
    }

    /// Writes [`First::len`] octets.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        if let Some((address, traffic)) = out.split_at_mut_checked(self.address.len()) {
            self.address.emit(address);
            self.traffic.emit(traffic);
        }
    }
}

impl fmt::Display for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.address, self.traffic)
    }
}

/// Values of [`Diagnosis::code`].
pub mod code {
    /// The context was refused.
    pub const REFUSED: u32 = 1;
    /// The context was abandoned.
    pub const ABANDONED: u32 = 2;
    /// There is no such context.
    pub const INVALID_CONTEXT: u32 = 3;
    /// The request was refused.
    pub const REQUEST_REFUSED: u32 = 4;
    /// The join was refused.
    pub const JOIN_REFUSED: u32 = 5;
    /// The protocol was broken.
    pub const PROTOCOL_ERROR: u32 = 6;
    /// The packet was too big.
    pub const PACKET_SIZE: u32 = 7;
}

/// Values of [`Diagnosis::val`].
pub mod val {
    /// Not said.
    pub const UNSPECIFIED: u32 = 0;
    /// Nobody listens there.
    pub const NO_LISTENER: u32 = 1;
    /// The options were refused.
    pub const OPTIONS_REFUSED: u32 = 2;
    /// The address format is not supported.
    pub const ADDRESS_FORMAT: u32 = 3;
    /// The address is malformed.
    pub const MALFORMED_ADDRESS: u32 = 4;
    /// The traffic format is not supported.
    pub const TRAFFIC_FORMAT: u32 = 5;
    /// The traffic values were refused.
    pub const TRAFFIC_REFUSED: u32 = 6;
    /// The traffic segment is malformed.
    pub const MALFORMED_TRAFFIC: u32 = 7;
    /// Nobody provides the service.
    pub const NO_PROVIDER: u32 = 8;
    /// There is no room for another context.
    pub const NO_RESOURCE: u32 = 9;
    /// The host is going down.
    pub const GOING_DOWN: u32 = 10;
    /// What was asked for again was never sent.
    pub const INVALID_RETRANSMISSION: u32 = 11;
    /// The context is not in a state for this.
    pub const IMPROPER_STATE: u32 = 12;
    /// Joining is not allowed.
    pub const JOIN_DENIED: u32 = 13;
}

layout! {
    "XTP", DIAG_LEN;
    /// What the payload of DIAG begins with. Text for people follows it, of any length; zeros may fill it up.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Diagnosis {
        /// What happened: one of [`mod@code`].
        pub code: u32 = "code";
        /// Why: one of [`mod@val`].
        pub val: u32 = "val";
    }
}

impl Diagnosis {
    /// Reads the front of a DIAG packet's payload; also gives its length.
    ///
    /// # Errors
    /// Fewer than 8 octets.
    pub fn parse(payload: &[u8]) -> Result<(Self, usize), Malformed> {
        Ok((Self::read(payload)?, DIAG_LEN))
    }

    /// The code in words.
    #[must_use]
    pub const fn what(&self) -> &'static str {
        match self.code {
            code::REFUSED => "context refused",
            code::ABANDONED => "context abandoned",
            code::INVALID_CONTEXT => "invalid context",
            code::REQUEST_REFUSED => "request refused",
            code::JOIN_REFUSED => "join refused",
            code::PROTOCOL_ERROR => "protocol error",
            code::PACKET_SIZE => "maximum packet size error",
            _ => "unknown code",
        }
    }

    /// The reason in words.
    #[must_use]
    pub const fn why(&self) -> &'static str {
        match self.val {
            val::UNSPECIFIED => "unspecified",
            val::NO_LISTENER => "no listener",
            val::OPTIONS_REFUSED => "options refused",
            val::ADDRESS_FORMAT => "address format unsupported",
            val::MALFORMED_ADDRESS => "malformed address",
            val::TRAFFIC_FORMAT => "traffic format unsupported",
            val::TRAFFIC_REFUSED => "traffic refused",
            val::MALFORMED_TRAFFIC => "malformed traffic",
            val::NO_PROVIDER => "no provider for service",
            val::NO_RESOURCE => "no resource",
            val::GOING_DOWN => "host going down",
            val::INVALID_RETRANSMISSION => "invalid retransmission request",
            val::IMPROPER_STATE => "context in improper state",
            val::JOIN_DENIED => "join denied",
            _ => "unknown value",
        }
    }
}

impl fmt::Display for Diagnosis {
    /// For example `context refused: no listener`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what(), self.why())
    }
}

/// Nothing follows the first `len` octets.
fn exact(payload: &[u8], len: usize) -> Result<(), Malformed> {
    if payload.len() == len { Ok(()) } else { Err(length("dlen", payload.len(), len, len)) }
}
