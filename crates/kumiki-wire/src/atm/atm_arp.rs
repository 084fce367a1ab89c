//! Address resolution packets for ATM and IPv4: ATMARP and InATMARP.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2225 section 8.7 (which replaces RFC 1577) |
//! | Null addresses | sent with length 0 and no octets; an IPv4 address of 0.0.0.0 is received as null (section 8.7.5) |
//! | Left out | other protocols than IPv4 |

use core::fmt;
use std::net::Ipv4Addr;

use crate::inet::arp::{Operation, hardware};
use crate::inet::ethernet::ethertype;
use crate::{Malformed, put, put_slice};

/// Octets of a packet whose addresses are all null.
pub const MIN_LEN: usize = 12;
/// Octets of the longest packet.
pub const MAX_LEN: usize = MIN_LEN + 4 * Address::MAX_LEN + 2 * 4;
/// Where ar$op lies. A server answers ATMARP_NAK by copying the request octet by octet and changing this field.
pub const OPERATION_OFFSET: usize = 6;

/// Bit 7 of a type and length octet.
const E164: u8 = 0x40;
const LENGTH: u8 = 0x3f;

/// The plan that an ATM address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Plan {
    /// ATM Forum NSAPA format.
    #[default]
    Nsap,
    /// E.164: the digits, in IA5 characters.
    E164,
}

/// An ATM number or subaddress of 0 to 20 octets; with 0 it is null, and its plan means nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address {
    plan: Plan,
    used: u8,
    // Unused places stay zero, so that the derived comparison is right.
    octets: [u8; Self::MAX_LEN],
}

impl Address {
    /// Most octets of an address.
    pub const MAX_LEN: usize = 20;
    /// No address, or one that is not known.
    pub const NULL: Self = Self { plan: Plan::Nsap, used: 0, octets: [0; Self::MAX_LEN] };

    /// An address; `None` if there are more than 20 octets. No octets make [`Address::NULL`], whatever the plan.
    #[must_use]
    pub fn new(plan: Plan, octets: &[u8]) -> Option<Self> {
        if octets.is_empty() {
            return Some(Self::NULL);
        }
        let mut address = Self { plan, used: u8::try_from(octets.len()).ok()?, ..Self::NULL };
        address.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(address)
    }

    /// The plan.
    #[must_use]
    pub const fn plan(&self) -> Plan {
        self.plan
    }

    /// The octets.
    #[must_use]
    pub fn as_octets(&self) -> &[u8] {
        self.octets.get(..self.len()).unwrap_or_default()
    }

    /// Octets: 0 to 20.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.used)
    }

    /// Whether there is no address.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    fn type_and_length(&self) -> u8 {
        match self.plan {
            Plan::Nsap => self.used,
            Plan::E164 => E164 | self.used,
        }
    }
}

impl fmt::Display for Address {
    /// NSAP in hexadecimal, E.164 in digits after `+`, `null` for none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("null");
        }
        match self.plan {
            Plan::Nsap => self.as_octets().iter().try_for_each(|octet| write!(f, "{octet:02x}")),
            Plan::E164 => write!(f, "+{}", self.as_octets().escape_ascii()),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An ATMARP or InATMARP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// ar$op.
    pub op: Operation,
    /// ar$sha: ATM number of the source.
    pub sha: Address,
    /// ar$ssa: ATM subaddress of the source.
    pub ssa: Address,
    /// ar$spa: IPv4 address of the source.
    pub spa: Option<Ipv4Addr>,
    /// ar$tha: ATM number of the target.
    pub tha: Address,
    /// ar$tsa: ATM subaddress of the target.
    pub tsa: Address,
    /// ar$tpa: IPv4 address of the target.
    pub tpa: Option<Ipv4Addr>,
}

impl Header {
    /// Reads a packet; also gives its length.
    ///
    /// # Errors
    /// The packet is not all there, is not about ATM and IPv4, or an address has a length that it cannot have.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some((fixed, rest)) = front.split_first_chunk::<MIN_LEN>() else {
            return Err(short(MIN_LEN, front.len()));
        };
        let [h0, h1, p0, p1, shtl, sstl, o0, o1, spln, thtl, tstl, tpln] = *fixed;
        let hrd = u16::from_be_bytes([h0, h1]);
        if hrd != hardware::ATM {
            return Err(refuse("ar$hrd", u64::from(hrd), "0x13 (ATM)"));
        }
        let pro = u16::from_be_bytes([p0, p1]);
        if pro != ethertype::IPV4 {
            return Err(refuse("ar$pro", u64::from(pro), "0x800 (IPv4)"));
        }
        let mut addresses = Addresses { rest, have: front.len(), need: MIN_LEN };
        // In the order of the wire.
        let header = Self {
            op: u16::from_be_bytes([o0, o1]).into(),
            sha: addresses.atm("ar$shtl", shtl)?,
            ssa: addresses.atm("ar$sstl", sstl)?,
            spa: addresses.ipv4("ar$spln", spln)?,
            tha: addresses.atm("ar$thtl", thtl)?,
            tsa: addresses.atm("ar$tstl", tstl)?,
            tpa: addresses.ipv4("ar$tpln", tpln)?,
        };
        Ok((header, addresses.need))
    }

    /// Octets that [`Header::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        let atm = self.sha.len() + self.ssa.len() + self.tha.len() + self.tsa.len();
        MIN_LEN + atm + usize::from(length_of(self.spa)) + usize::from(length_of(self.tpa))
    }

    /// Writes [`Header::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let Self { op, sha, ssa, spa, tha, tsa, tpa } = *self;
        let out = &mut out;
        put(out, hardware::ATM.to_be_bytes());
        put(out, ethertype::IPV4.to_be_bytes());
        put(out, [sha.type_and_length(), ssa.type_and_length()]);
        put(out, u16::from(op).to_be_bytes());
        put(out, [length_of(spa), tha.type_and_length(), tsa.type_and_length(), length_of(tpa)]);
        put_slice(out, sha.as_octets());
        put_slice(out, ssa.as_octets());
        put_ipv4(out, spa);
        put_slice(out, tha.as_octets());
        put_slice(out, tsa.as_octets());
        put_ipv4(out, tpa);
    }
}

/// ar$spln and ar$tpln. RFC 2225 section 8.7.5: a null address must be sent with length 0, also when it is 0.0.0.0.
fn length_of(address: Option<Ipv4Addr>) -> u8 {
    match address {
        None | Some(Ipv4Addr::UNSPECIFIED) => 0,
        Some(_) => 4,
    }
}

fn put_ipv4(out: &mut &mut [u8], address: Option<Ipv4Addr>) {
    if let Some(address) = address.filter(|address| !address.is_unspecified()) {
        put(out, address.octets());
    }
}

/// The addresses behind the fixed part, one after the other.
struct Addresses<'a> {
    rest: &'a [u8],
    /// Octets of the whole packet that are at hand.
    have: usize,
    /// Octets of the packet up to here.
    need: usize,
}

impl<'a> Addresses<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        self.need += len;
        let (octets, rest) = self.rest.split_at_checked(len).ok_or_else(|| short(self.need, self.have))?;
        self.rest = rest;
        Ok(octets)
    }

    /// The reserved bit of the type and length octet is ignored.
    fn atm(&mut self, field: &'static str, type_and_length: u8) -> Result<Address, Malformed> {
        let len = usize::from(type_and_length & LENGTH);
        if len > Address::MAX_LEN {
            return Err(Malformed::Length { protocol: "ATMARP", field, found: len, least: 0, most: Address::MAX_LEN });
        }
        let plan = if type_and_length & E164 == 0 { Plan::Nsap } else { Plan::E164 };
        Ok(Address::new(plan, self.take(len)?).unwrap_or_default())
    }

    fn ipv4(&mut self, field: &'static str, len: u8) -> Result<Option<Ipv4Addr>, Malformed> {
        match len {
            0 => Ok(None),
            4 => {
                let octets = self.take(4)?.first_chunk::<4>().copied();
                Ok(octets.map(Ipv4Addr::from).filter(|address| !address.is_unspecified()))
            }
            len => Err(refuse(field, u64::from(len), "0 or 4")),
        }
    }
}

const fn short(need: usize, have: usize) -> Malformed {
    Malformed::Short { protocol: "ATMARP", need, have }
}

const fn refuse(field: &'static str, found: u64, expected: &'static str) -> Malformed {
    Malformed::Field { protocol: "ATMARP", field, found, expected }
}

impl fmt::Display for Header {
    /// For example `ATMARP request 10.0.0.1 (47..) > 10.0.0.2 (null)`; `-` for a null IPv4 address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ATMARP {} ", self.op)?;
        let ends = [("", self.spa, self.sha, self.ssa), (" > ", self.tpa, self.tha, self.tsa)];
        for (before, protocol, number, subaddress) in ends {
            f.write_str(before)?;
            match protocol {
                Some(address) => write!(f, "{address}")?,
                None => f.write_str("-")?,
            }
            write!(f, " ({number}")?;
            if !subaddress.is_empty() {
                write!(f, " sub {subaddress}")?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NUMBER: [u8; 20] = [0x47, 0, 5, 0x80, 0xff, 0xe1, 0, 0, 0, 0xf2, 0x1a, 0x0f, 2, 0, 0x20, 0x48, 0x0d, 1, 2, 0];
    const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn emitted(header: &Header) -> Vec<u8> {
        let mut out = vec![0xff; header.len()];
        header.emit(&mut out);
        out
    }

    #[test]
    fn a_request_names_its_sender_and_leaves_out_what_it_asks_for() {
        let header = Header {
            op: Operation::Request,
            sha: Address::new(Plan::Nsap, &NUMBER).unwrap(),
            ssa: Address::NULL,
            spa: Some(CLIENT),
            tha: Address::NULL,
            tsa: Address::NULL,
            tpa: Some(SERVER),
        };
        let fixed = [0, 19, 8, 0, 20, 0, 0, 1, 4, 0, 0, 4];
        let octets = [&fixed[..], &NUMBER, &[10, 0, 0, 1], &[10, 0, 0, 2]].concat();
        assert_eq!(emitted(&header), octets);
        assert_eq!(Header::parse(&octets), Ok((header, 40)));
        assert_eq!(
            header.to_string(),
            "ATMARP request 10.0.0.1 (47000580ffe1000000f21a0f020020480d010200) > 10.0.0.2 (null)"
        );
        // The octets that a server changes to say that it knows no answer.
        let mut nak = octets;
        nak[OPERATION_OFFSET..OPERATION_OFFSET + 2].copy_from_slice(&10u16.to_be_bytes());
        assert_eq!(Header::parse(&nak), Ok((Header { op: Operation::Nak, ..header }, 40)));
    }

    #[test]
    fn a_number_with_a_subaddress_keeps_their_plans_and_order() {
        let header = Header {
            op: Operation::Reply,
            sha: Address::new(Plan::E164, b"81312345678").unwrap(),
            ssa: Address::new(Plan::Nsap, &NUMBER).unwrap(),
            spa: Some(SERVER),
            tha: Address::new(Plan::E164, b"1").unwrap(),
            tsa: Address::new(Plan::Nsap, &[9]).unwrap(),
            tpa: Some(CLIENT),
        };
        let octets = emitted(&header);
        assert_eq!(octets[..12], [0, 19, 8, 0, 0x4b, 20, 0, 2, 4, 0x41, 1, 4]);
        assert_eq!(octets[43..], [10, 0, 0, 2, b'1', 9, 10, 0, 0, 1]);
        assert_eq!(Header::parse(&octets), Ok((header, 53)));
        assert!(header.to_string().starts_with("ATMARP reply 10.0.0.2 (+81312345678 sub 47000580"));
    }

    #[test]
    fn an_inverse_request_on_a_pvc_needs_no_atm_address() {
        let header = Header {
            op: Operation::InverseRequest,
            sha: Address::NULL,
            ssa: Address::NULL,
            spa: Some(CLIENT),
            tha: Address::NULL,
            tsa: Address::NULL,
            tpa: None,
        };
        let octets = [0, 19, 8, 0, 0, 0, 0, 8, 4, 0, 0, 0, 10, 0, 0, 1];
        assert_eq!(emitted(&header), octets);
        assert_eq!(Header::parse(&octets), Ok((header, 16)));
        // What older stations send: four octets of zero for a null address.
        let old = [0, 19, 8, 0, 0, 0, 0, 8, 4, 0, 0, 4, 10, 0, 0, 1, 0, 0, 0, 0];
        assert_eq!(Header::parse(&old), Ok((header, 20)));
        assert_eq!(emitted(&Header { tpa: Some(Ipv4Addr::UNSPECIFIED), ..header }), octets);
    }

    #[test]
    fn the_plan_of_a_null_address_is_ignored() {
        let octets = [0, 19, 8, 0, 0x40, 0xc0, 0, 9, 0, 0, 0, 0];
        let (header, _) = Header::parse(&octets).unwrap();
        assert_eq!((header.sha, header.ssa), (Address::NULL, Address::NULL));
    }

    #[test]
    fn impossible_lengths_and_other_media_are_refused() {
        let good = [0, 19, 8, 0, 0, 0, 0, 8, 0, 0, 0, 0];
        assert!(Header::parse(&good).is_ok());
        for (at, value) in [(1, 1), (2, 9), (4, 21), (5, 63), (8, 3), (9, 0x40 | 21), (10, 22), (11, 16)] {
            let mut octets = good;
            octets[at] = value;
            let refused = Header::parse(&[&octets[..], &[0; 100]].concat());
            assert!(matches!(refused, Err(Malformed::Field { .. } | Malformed::Length { .. })), "{at}");
        }
        let mut cut = good;
        cut[4] = 20;
        assert_eq!(Header::parse(&cut), Err(short(32, 12)));
        assert_eq!(Address::new(Plan::Nsap, &[0; 21]), None);
    }

    fn any_address() -> impl Strategy<Value = Address> {
        (any::<bool>(), proptest::collection::vec(any::<u8>(), 0..=20))
            .prop_map(|(e164, octets)| Address::new(if e164 { Plan::E164 } else { Plan::Nsap }, &octets).unwrap())
    }

    proptest! {
        #[test]
        fn what_was_emitted_is_parsed(
            op: u16, spa: Option<u32>, tpa: Option<u32>,
            (sha, ssa, tha, tsa) in (any_address(), any_address(), any_address(), any_address()),
        ) {
            let ipv4 = |address: Option<u32>| address.filter(|address| *address != 0).map(Ipv4Addr::from);
            let header = Header { op: op.into(), sha, ssa, spa: ipv4(spa), tha, tsa, tpa: ipv4(tpa) };
            let out = emitted(&header);
            prop_assert!(out.len() <= MAX_LEN);
            prop_assert_eq!(Header::parse(&out), Ok((header, out.len())));
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>, lengths in [0u8..24, 0..24, 0..24, 0..24]) {
            let [a, b, c, d] = lengths;
            let _ = Header::parse(&octets);
            let packet = [&[0, 19, 8, 0, a, b, 0, 1, 4, c, d, 4], &octets[..]].concat();
            if let Ok((header, _)) = Header::parse(&packet) {
                let _ = (header.to_string(), emitted(&header));
            }
        }
    }
}
