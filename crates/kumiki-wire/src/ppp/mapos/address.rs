//! HDLC addresses of MAPOS in both widths, and how unicast ones are divided into switch and port.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2171 section 3.1, RFC 2173 section 2, RFC 2174 section 3.1; RFC 2175 section 2 for 16 bits; RFC 2176 section 3.5 and RFC 2175 section 5 for IPv4 groups |
//! | Left out | which switch numbers are in use: who has the table of routes knows |
//!
//! From the most significant bit: 0 for one station or 1 for several, then 6 or 13 bits of address. Bits that show
//! where the field ends (EA) lie between: the last bit of the field is 1, and the last bit of the first of two octets
//! is 0.
//!
//! # Where the standards are silent
//!
//! RFC 2173 divides addresses of 8 bits only. In 16 bits the switch number here is likewise the first bits after the
//! most significant one, and where it has more than 6 it goes on behind the EA bit of the first octet. The mask is then
//! ones without a gap, so it covers that EA bit; a mask that leaves it out means the same and is understood.
//!
//! A switch of number 0 would have 01, the local switch's own, as the address of its control processor. Nothing forbids
//! the number, and here it can be used; for its control processor other switches then have no address.

use core::fmt;
use core::str::FromStr;
use std::net::Ipv4Addr;

use kumiki_octets::AddressKind;
use kumiki_octets::address::{self, AddressType};

/// The address field of a frame, of either width: which, who reads and writes the frames knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AddressField(pub u16);

/// Address fields of MAPOS.
pub static ADDRESS_FIELD: AddressKind = AddressKind { name: "HDLC address", write: address::write_as::<AddressField> };

impl AddressType for AddressField {
    const KIND: &'static AddressKind = &ADDRESS_FIELD;

    fn to_address(self) -> kumiki_octets::Address {
        kumiki_octets::Address::new(&ADDRESS_FIELD, self.0.to_be_bytes())
    }

    fn of_octets(octets: &[u8]) -> Option<Self> {
        octets.first_chunk().map(|octets| Self(u16::from_be_bytes(*octets)))
    }
}

impl fmt::Display for AddressField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#04x}", self.0)
    }
}

/// How wide addresses are, and with them which MAPOS it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 8 bits: MAPOS version 1, RFC 2171.
    Eight,
    /// 16 bits: MAPOS 16, RFC 2175.
    Sixteen,
}

impl Width {
    /// Bits of a frame's address field.
    const fn field(self) -> u32 {
        match self {
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }

    /// Bits that tell stations or groups apart: all but the first and the EA bits.
    const fn number(self) -> u32 {
        match self {
            Self::Eight => 6,
            Self::Sixteen => 13,
        }
    }

    /// The EA bits, and the values that they must have.
    const fn ea(self) -> (u16, u16) {
        match self {
            Self::Eight => (0x01, 0x01),
            Self::Sixteen => (0x0101, 0x0001),
        }
    }

    /// The bit that is 1 for groups.
    const fn group(self) -> u16 {
        1 << (self.field() - 1)
    }

    /// The number with all bits set, which is broadcast's.
    const fn ones(self) -> u16 {
        (1 << self.number()) - 1
    }

    /// Puts a number where it lies in the address, the other bits zero.
    const fn spread(self, number: u16) -> u16 {
        match self {
            Self::Eight => number << 1,
            Self::Sixteen => (number >> 7) << 9 | (number & 0x7f) << 1,
        }
    }

    /// The number in an address: what `spread` puts there.
    const fn gather(self, bits: u16) -> u16 {
        match self {
            Self::Eight => bits >> 1 & 0x3f,
            Self::Sixteen => (bits >> 9 & 0x3f) << 7 | bits >> 1 & 0x7f,
        }
    }

    /// What an address must look like, for error messages.
    pub(super) const fn expectation(self) -> &'static str {
        match self {
            Self::Eight => "8 bits, the last of them 1",
            Self::Sixteen => "16 bits, the last of the first octet 0, of the second 1",
        }
    }
}

impl fmt::Display for Width {
    /// `MAPOS` or `MAPOS 16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eight => "MAPOS",
            Self::Sixteen => "MAPOS 16",
        })
    }
}

/// An address whose EA bits are right. It may still be one that nobody has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    width: Width,
    bits: u16,
}

impl Address {
    /// The address of this value, `None` where bits lie outside of the width or the EA bits are wrong. The 32-bit
    /// fields of NSP, SSP and ARP have it right-aligned.
    #[must_use]
    pub const fn new(width: Width, value: u32) -> Option<Self> {
        if value >> width.field() != 0 {
            return None;
        }
        let [_, _, high, low] = value.to_be_bytes();
        let bits = u16::from_be_bytes([high, low]);
        let (mask, ea) = width.ea();
        if bits & mask == ea { Some(Self { width, bits }) } else { None }
    }

    /// FF or FEFF: all nodes.
    #[must_use]
    pub const fn broadcast(width: Width) -> Self {
        Self::of_group(width, width.ones())
    }

    /// 01 or 0001: the control processor of the switch at the other end of the line.
    #[must_use]
    pub const fn local_control(width: Width) -> Self {
        Self { width, bits: 0x01 }
    }

    /// 03 or 0003: both ends of a line without a switch (RFC 2173 section 4.3).
    #[must_use]
    pub const fn without_switch(width: Width) -> Self {
        Self { width, bits: 0x03 }
    }

    /// The group that is told of datagrams to `group`, an IPv4 multicast address: its lowest bits. All zeros and all
    /// ones become 111110, of 13 bits 1111111111110 (RFC 2176 section 3.5, RFC 2175 section 5).
    #[must_use]
    pub const fn of_ipv4_group(width: Width, group: Ipv4Addr) -> Self {
        let [_, _, c, d] = group.octets();
        let number = u16::from_be_bytes([c, d]) & width.ones();
        if number == 0 || number == width.ones() {
            Self::of_group(width, width.ones() - 1)
        } else {
            Self::of_group(width, number)
        }
    }

    /// `number` has no bits above those of the width.
    const fn of_group(width: Width, number: u16) -> Self {
        let (_, ea) = width.ea();
        Self { width, bits: width.group() | width.spread(number) | ea }
    }

    /// How wide the address is.
    #[must_use]
    pub const fn width(self) -> Width {
        self.width
    }

    /// The address field as a number, the first bit of the wire most significant.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.bits
    }

    /// Whether several stations are meant, all of them included.
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.bits & self.width.group() != 0
    }

    /// What the address means where there is one switch, or where nobody knows how many: no bits are a switch number.
    #[must_use]
    pub fn meaning(self) -> Meaning {
        Subnet::undivided(self.width).read(self)
    }
}

impl From<Address> for u32 {
    /// As in the 32-bit fields of NSP, SSP and ARP.
    fn from(address: Address) -> Self {
        Self::from(address.bits)
    }
}

impl fmt::Display for Address {
    /// `0x23`, in 16 bits `0x0023`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.width {
            Width::Eight => write!(f, "{:#04x}", self.bits),
            Width::Sixteen => write!(f, "{:#06x}", self.bits),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAddress {
    /// The text.
    pub found: String,
}

impl fmt::Display for NotAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found } = self;
        write!(
            f,
            "{found:?} is not a MAPOS address: 0x and two hexadecimal digits of an odd number, as in 0x23, or four (MAPOS 16), the second of them \
     even and the last odd"
        )
    }
}

impl core::error::Error for NotAddress {}

impl FromStr for Address {
    type Err = NotAddress;

    fn from_str(text: &str) -> Result<Self, NotAddress> {
        let refuse = || NotAddress { found: text.to_owned() };
        let digits = text.strip_prefix("0x").ok_or_else(refuse)?;
        let width = match digits.len() {
            2 => Width::Eight,
            4 => Width::Sixteen,
            _ => return Err(refuse()),
        };
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(refuse());
        }
        let value = u32::from_str_radix(digits, 16).map_err(|_| refuse())?;
        Self::new(width, value).ok_or_else(refuse)
    }
}

/// Who is meant by an address, RFC 2173 section 2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meaning {
    /// The control processor of the switch at the other end of the line.
    LocalControl,
    /// The control processor of the switch with this number, not 0.
    Control {
        /// The switch.
        switch: u16,
    },
    /// A node.
    Node {
        /// The number of its switch; 0 also where there are no numbers.
        switch: u16,
        /// Its port: the low bits of the address as they stand, EA bits included, so an odd number of 3 and more.
        port: u16,
    },
    /// A group of nodes: its number of 6 or 13 bits, not all ones.
    Group(u16),
    /// All nodes.
    Broadcast,
}

impl fmt::Display for Meaning {
    /// For example `node 0x3 of switch 1`; the switch only where its number is not 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalControl => f.write_str("control processor of the local switch"),
            Self::Control { switch } => write!(f, "control processor of switch {switch}"),
            Self::Node { switch: 0, port } => write!(f, "node {port:#x}"),
            Self::Node { switch, port } => write!(f, "node {port:#x} of switch {switch}"),
            Self::Group(number) => write!(f, "group {number}"),
            Self::Broadcast => f.write_str("broadcast"),
        }
    }
}

/// How unicast addresses are divided: the first so many bits are the switch number, the rest is the port. One for a
/// whole network of switches; SSP carries it as a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subnet {
    width: Width,
    switch_bits: u8,
}

impl Subnet {
    /// With a switch number of 0 to 5 bits, in 16 bits of 0 to 12: one bit at least is left for ports. `None`
    /// otherwise.
    #[must_use]
    pub const fn new(width: Width, switch_bits: u8) -> Option<Self> {
        let most: u8 = match width {
            Width::Eight => 5,
            Width::Sixteen => 12,
        };
        if switch_bits <= most { Some(Self { width, switch_bits }) } else { None }
    }

    /// Without switch numbers: one switch has all ports.
    #[must_use]
    pub const fn undivided(width: Width) -> Self {
        Self { width, switch_bits: 0 }
    }

    /// Of this mask, right-aligned as in SSP. `None` where it is not ones from the first bit of the address on, or
    /// leaves no bit for ports.
    #[must_use]
    pub fn from_mask(width: Width, mask: u32) -> Option<Self> {
        let gap = match width {
            Width::Eight => 0,
            Width::Sixteen => 0x100,
        };
        (0..=12)
            .map_while(|switch_bits| Self::new(width, switch_bits))
            .find(|subnet| mask == subnet.mask() || mask == subnet.mask() & !gap)
    }

    /// The ones that cover the first bit and the switch number, right-aligned: `e0` for 2 bits in 8.
    #[must_use]
    pub fn mask(self) -> u32 {
        let all = (1 << self.width.field()) - 1;
        all & !u32::from(self.ports())
    }

    /// How wide the addresses are.
    #[must_use]
    pub const fn width(self) -> Width {
        self.width
    }

    /// Bits of the switch number.
    #[must_use]
    pub const fn switch_bits(self) -> u8 {
        self.switch_bits
    }

    /// The bits of a port, EA bits among and behind them included.
    const fn ports(self) -> u16 {
        // The lowest bit of the switch number, or where it has none the bit above, which is 0 in unicast.
        let lowest = self.width.spread(1 << self.port_bits());
        // Between the two octets the EA bit falls to the switch number.
        match self.width {
            Width::Sixteen if lowest == 0x200 => 0xff,
            Width::Eight | Width::Sixteen => lowest - 1,
        }
    }

    /// Bits that are left for ports, EA bits not counted.
    const fn port_bits(self) -> u32 {
        // At least 1, see `new`.
        self.width.number() - self.switch_bits as u32
    }

    /// The address of a station: `port` as in [`Meaning::Node`], 1 for the control processor. `None` where the switch
    /// number or the port has more bits than there are, or the EA bits of the port are wrong.
    #[must_use]
    pub fn address(self, switch: u16, port: u16) -> Option<Address> {
        if u32::from(switch) >> self.switch_bits != 0 || port & !self.ports() != 0 {
            return None;
        }
        let switch = u16::try_from(u32::from(switch) << self.port_bits()).ok()?;
        let value = self.width.spread(switch) | port;
        Address::new(self.width, u32::from(value))
    }

    /// Who is meant by `address`, `None` where it is of the other width.
    #[must_use]
    pub fn meaning(self, address: Address) -> Option<Meaning> {
        (address.width == self.width).then(|| self.read(address))
    }

    /// The switch number in the address of a switch or of a node, right-aligned, whatever its EA bits. `None` where it
    /// is the address of a group or has more bits than the width.
    #[must_use]
    pub fn switch(self, address: u32) -> Option<u16> {
        let bits = u16::try_from(address).ok()?;
        let unicast = u32::from(bits) >> (self.width.field() - 1) == 0;
        unicast.then(|| self.width.gather(bits) >> self.port_bits())
    }

    /// `address` is of the same width.
    fn read(self, address: Address) -> Meaning {
        let number = self.width.gather(address.bits);
        if address.is_group() {
            return if number == self.width.ones() { Meaning::Broadcast } else { Meaning::Group(number) };
        }
        let switch = number >> self.port_bits();
        match (switch, address.bits & self.ports()) {
            (0, 1) => Meaning::LocalControl,
            (switch, 1) => Meaning::Control { switch },
            (switch, port) => Meaning::Node { switch, port },
        }
    }
}
