//! Optional user facilities, as call set-up and clearing packets carry them.

use super::Number;

/// Codes of facilities (X.25 table 7-1 and annex G). The upper two bits say how long the value is: one, two, three
/// octets, or a length before it.
pub mod code {
    /// Which kind of facilities follows.
    pub const MARKER: u8 = 0x00;
    /// Reverse charging and fast select.
    pub const CHARGING: u8 = 0x01;
    /// Throughput class negotiation.
    pub const THROUGHPUT: u8 = 0x02;
    /// Closed user group selection, basic format.
    pub const CLOSED_GROUP: u8 = 0x03;
    /// Charging information, requesting service.
    pub const CHARGING_REQUEST: u8 = 0x04;
    /// Called line address modified notification.
    pub const CALLED_MODIFIED: u8 = 0x08;
    /// Closed user group with outgoing access selection, basic format.
    pub const CLOSED_GROUP_OUT: u8 = 0x09;
    /// Minimum throughput class negotiation.
    pub const LEAST_THROUGHPUT: u8 = 0x0a;
    /// Expedited data negotiation.
    pub const EXPEDITED: u8 = 0x0b;
    /// Bilateral closed user group selection.
    pub const BILATERAL_GROUP: u8 = 0x41;
    /// Packet size negotiation.
    pub const PACKET_SIZE: u8 = 0x42;
    /// Window size negotiation.
    pub const WINDOW: u8 = 0x43;
    /// RPOA selection, basic format.
    pub const RPOA: u8 = 0x44;
    /// Closed user group selection, extended format.
    pub const CLOSED_GROUP_EXTENDED: u8 = 0x47;
    /// Closed user group with outgoing access selection, extended format.
    pub const CLOSED_GROUP_OUT_EXTENDED: u8 = 0x48;
    /// Transit delay selection and indication.
    pub const TRANSIT_DELAY: u8 = 0x49;
    /// Charging information: call duration.
    pub const CALL_DURATION: u8 = 0xc1;
    /// Charging information: segment count.
    pub const SEGMENT_COUNT: u8 = 0xc2;
    /// Call redirection or deflection notification.
    pub const REDIRECTION: u8 = 0xc3;
    /// RPOA selection, extended format.
    pub const RPOA_EXTENDED: u8 = 0xc4;
    /// Charging information: monetary unit.
    pub const MONETARY_UNIT: u8 = 0xc5;
    /// Network user identification.
    pub const USER: u8 = 0xc6;
    /// Called address extension.
    pub const CALLED_EXTENSION: u8 = 0xc9;
    /// End-to-end transit delay negotiation.
    pub const END_TO_END_DELAY: u8 = 0xca;
    /// Calling address extension.
    pub const CALLING_EXTENSION: u8 = 0xcb;
    /// Call deflection selection.
    pub const DEFLECTION: u8 = 0xd1;
    /// Priority.
    pub const PRIORITY: u8 = 0xd2;
    /// Protection.
    pub const PROTECTION: u8 = 0xd3;
}

/// Whether a call may carry more than 16 octets of user data, and data in its answer and its clearing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum FastSelect {
    /// It may not.
    #[default]
    None,
    /// It may.
    Unrestricted,
    /// It may, and it may be answered only by clearing it.
    Restricted,
}

/// Reverse charging and fast select, which share an octet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Charging {
    /// The called DTE is to pay.
    pub reverse: bool,
    /// Fast select.
    pub fast_select: FastSelect,
    /// The other bits where they stand; the upper two only where the first is not set, which means nothing.
    pub other: u8,
}

/// A network user identification: a name, a password or both, as the network has it. It is nowhere printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Nui(Vec<u8>);

impl Nui {
    /// These octets; a facility has room for 255.
    #[must_use]
    pub fn new(octets: &[u8]) -> Self {
        Self(octets.to_vec())
    }

    /// The octets, for the packet they go into.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is this one. How long that takes does not tell how much of it is right.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        let differing = self.0.iter().zip(&other.0);
        let differing = differing.fold(0, |all, (a, b)| all | (a ^ b));
        self.0.len() == other.0.len() && differing == 0
    }
}

impl core::fmt::Debug for Nui {
    /// How many octets there are.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Nui({} octets)", self.0.len())
    }
}

/// What the facilities behind a marker belong to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Marker {
    /// Facilities of the calling DTE's network that are not in X.25 (00).
    CallingNetwork,
    /// Facilities of the called DTE's network that are not in X.25 (ff).
    CalledNetwork,
    /// The DTE facilities that CCITT specifies (0f).
    Dte,
    /// Another parameter.
    Other(u8),
}

/// An address beyond the network's own: an NSAP address, mostly.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extension {
    /// What it is for: 0 a whole OSI NSAP address, 1 a part of one, 2 something else; 3 is reserved.
    pub usage: u8,
    /// How many digits count, at most 40 by the standard; 63 can be said.
    pub digits: u8,
    /// The digits, two to the octet.
    pub packed: Vec<u8>,
}

/// One facility and its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Facility {
    /// What follows is of this kind.
    Marker(Marker),
    /// Reverse charging and fast select.
    Charging(Charging),
    /// Throughput class, a half octet for each direction: 10 is 9600 bit/s, 13 is 64000.
    Throughput {
        /// From the called DTE.
        called: u8,
        /// From the calling DTE.
        calling: u8,
    },
    /// The closed user group that the call is in: two decimal digits.
    ClosedGroup(u8),
    /// Base-2 logarithm of the largest packet's user data, 4 to 12.
    PacketSize {
        /// From the called DTE.
        called: u8,
        /// From the calling DTE.
        calling: u8,
    },
    /// The window, 1 to 7 or 127.
    Window {
        /// Of what the called DTE sends.
        called: u8,
        /// Of what the calling DTE sends.
        calling: u8,
    },
    /// The transit delay wanted or had, in milliseconds.
    TransitDelay(u16),
    /// Who the user is, as the network knows it.
    User(Nui),
    /// The called address extension.
    CalledExtension(Extension),
    /// The calling address extension.
    CallingExtension(Extension),
    /// End-to-end transit delay in milliseconds: cumulative, and where they are given requested and largest acceptable.
    EndToEndDelay(Vec<u16>),
    /// Priority: of data, of gaining a connection, of keeping it, each with a target and a least acceptable.
    Priority(Vec<u8>),
    /// Any other: its code and its value, as long as the code says.
    Other {
        /// The code.
        code: u8,
        /// The value, without the length octet of codes from c0 on.
        value: Vec<u8>,
    },
}

/// The facilities of a packet, in the order in which they stand.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facilities(pub Vec<Facility>);

impl Facilities {
    /// Base-2 logarithms of the packet sizes, from the called and from the calling DTE.
    #[must_use]
    pub fn packet_size(&self) -> Option<(u8, u8)> {
        self.0.iter().find_map(|facility| {
            if let Facility::PacketSize { called, calling } = *facility { Some((called, calling)) } else { None }
        })
    }

    /// The windows, of what the called and of what the calling DTE sends.
    #[must_use]
    pub fn window(&self) -> Option<(u8, u8)> {
        self.0.iter().find_map(|facility| {
            if let Facility::Window { called, calling } = *facility { Some((called, calling)) } else { None }
        })
    }

    /// Reverse charging and fast select; of neither where they are not there.
    #[must_use]
    pub fn charging(&self) -> Charging {
        let found = self
            .0
            .iter()
            .find_map(|facility| if let Facility::Charging(charging) = facility { Some(*charging) } else { None });
        found.unwrap_or_default()
    }

    /// The network user identification.
    #[must_use]
    pub fn user(&self) -> Option<&Nui> {
        self.0.iter().find_map(|facility| if let Facility::User(nui) = facility { Some(nui) } else { None })
    }

    /// Puts `facility` in the place of the one of its kind, or before the first marker where there is none.
    pub fn set(&mut self, facility: Facility) {
        let kind = core::mem::discriminant(&facility);
        let place = |it: &&mut Facility| core::mem::discriminant(&**it) == kind;
        if let Some(found) = self.0.iter_mut().find(place) {
            *found = facility;
            return;
        }
        let is_marker = |it: &Facility| matches!(it, Facility::Marker(_));
        let at = self.0.iter().position(is_marker).unwrap_or(self.0.len());
        self.0.insert(at, facility);
    }
}

impl Extension {
    /// Of a whole NSAP address in octets.
    #[must_use]
    pub fn of_nsap(octets: &[u8]) -> Self {
        let digits = octets.len().saturating_mul(2).min(63);
        Self {
            usage: 0,
            digits: u8::try_from(digits).unwrap_or(63),
            packed: octets.get(..digits.div_ceil(2)).unwrap_or(octets).to_vec(),
        }
    }

    /// Of the digits of an address that is no NSAP address.
    #[must_use]
    pub fn of_number(number: &Number) -> Self {
        let digits: Vec<u8> = number.digits().collect();
        let pair = |pair: &[u8]| match *pair {
            [a, b] => a << 4 | b,
            [a] => a << 4,
            _ => 0,
        };
        Self { usage: 2, digits: u8::try_from(digits.len()).unwrap_or(0), packed: digits.chunks(2).map(pair).collect() }
    }
}
