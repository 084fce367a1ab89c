//! What IP's users say and hear of a datagram beside its addresses: fields of its header, as layers hand them on.

use std::net::Ipv4Addr;

use kumiki_octets::Payload;

/// How a datagram should travel, or how it did: parameters of RFC 1122 section 3.4. They go with a unit as 64 bits, of
/// which whoever carries it knows nothing. IPv6 has names of its own for the first two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IpParameters {
    /// Time to live (hop limit); 0 takes the provider's default.
    pub ttl: u8,
    /// Type of service (traffic class): DSCP and ECN (RFC 2474, RFC 3168).
    pub tos: u8,
    /// Do not fragment (RFC 791).
    pub dont_fragment: bool,
    /// On requests: of what goes to a group of hosts, this one takes its own, too, if it is in that group (RFC 1112
    /// section 6.1).
    pub to_ourselves: bool,
    /// On indications: the identification of an IPv4 datagram, so that its header can be quoted.
    pub identification: u16,
    /// On requests: it goes by this interface of the provider and by no other, whatever other routes say. On
    /// indications: it came in by this one; `None`: it is from ourselves. The place of the interface in the
    /// configuration of IP, 65534 at most.
    pub interface: Option<u16>,
}

/// An interface or none, as octets: 0 is none.
const fn of_interface(interface: Option<u16>) -> [u8; 2] {
    match interface {
        Some(place) => place.saturating_add(1).to_be_bytes(),
        None => [0; 2],
    }
}

const fn interface_of(octets: [u8; 2]) -> Option<u16> {
    u16::from_be_bytes(octets).checked_sub(1)
}

impl IpParameters {
    /// All of it left to IP.
    pub const NONE: Self =
        Self { ttl: 0, tos: 0, dont_fragment: false, to_ourselves: false, identification: 0, interface: None };
}

impl From<u64> for IpParameters {
    #[inline]
    fn from(bits: u64) -> Self {
        let [ttl, tos, whole, own, first, second, high, low] = bits.to_be_bytes();
        let identification = u16::from_be_bytes([high, low]);
        let interface = interface_of([first, second]);
        Self { ttl, tos, dont_fragment: whole != 0, to_ourselves: own != 0, identification, interface }
    }
}

impl From<IpParameters> for u64 {
    #[inline]
    fn from(it: IpParameters) -> Self {
        let [high, low] = it.identification.to_be_bytes();
        let [first, second] = of_interface(it.interface);
        let (whole, own) = (it.dont_fragment.into(), it.to_ourselves.into());
        Self::from_be_bytes([it.ttl, it.tos, whole, own, first, second, high, low])
    }
}

/// What a user asks for all datagrams of a connection on IP; `None` leaves it to the transport. It goes with what is
/// asked of a connection as 64 bits, as [`IpParameters`] go with a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IpQuality {
    /// As [`IpParameters::ttl`].
    pub ttl: Option<u8>,
    /// As [`IpParameters::tos`]; where the transport has its own use of the ECN bits, these stay its.
    pub tos: Option<u8>,
    /// Decided when the connection is opened.
    pub ecn: Option<EcnUse>,
    /// Who else may have the local address; of UDP.
    pub sharing: Sharing,
    /// Only what comes by this interface is for the socket, and all that it sends goes by it; of UDP. As
    /// [`IpParameters::interface`].
    pub interface: Option<u16>,
}

impl IpQuality {
    /// Nothing is asked.
    pub const NONE: Self = Self { ttl: None, tos: None, ecn: None, sharing: Sharing::Alone, interface: None };
}

impl From<u64> for IpQuality {
    fn from(bits: u64) -> Self {
        let [has_ttl, ttl, has_tos, tos, ecn, sharing, first, second] = bits.to_be_bytes();
        Self {
            ttl: (has_ttl != 0).then_some(ttl),
            tos: (has_tos != 0).then_some(tos),
            ecn: EcnUse::ALL.get(usize::from(ecn).wrapping_sub(1)).copied(),
            sharing: Sharing::ALL.get(usize::from(sharing)).copied().unwrap_or_default(),
            interface: interface_of([first, second]),
        }
    }
}

impl From<IpQuality> for u64 {
    fn from(it: IpQuality) -> Self {
        let (has_ttl, ttl) = (it.ttl.is_some().into(), it.ttl.unwrap_or_default());
        let (has_tos, tos) = (it.tos.is_some().into(), it.tos.unwrap_or_default());
        let ecn = it.ecn.map_or(0, |ecn| 1 + ecn as u8);
        let [first, second] = of_interface(it.interface);
        Self::from_be_bytes([has_ttl, ttl, has_tos, tos, ecn, it.sharing as u8, first, second])
    }
}

/// Who else may have the local address of a socket. Of two that have the same, both must say the same here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sharing {
    /// Nobody.
    #[default]
    Alone,
    /// Others may, and who came last gets what comes (`SO_REUSEADDR`).
    Latest,
    /// Others may, and each gets what comes from a part of the peers (`SO_REUSEPORT`).
    Spread,
}

impl Sharing {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 3] = [Self::Alone, Self::Latest, Self::Spread];
}

/// What a connection has to do with explicit congestion notification: marks in IP headers that take the place of losses
/// (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnUse {
    /// Nothing.
    #[default]
    Off,
    /// It is not asked for; whichever kind a peer asks for is agreed to.
    Passive,
    /// It is asked for and agreed to, with one answer for each round trip (RFC 3168).
    Classic,
    /// It is asked for with an exact count of the marks (RFC 9768); what a peer asks for is agreed to.
    Accurate,
}

impl EcnUse {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Off, Self::Passive, Self::Classic, Self::Accurate];
}

/// A source route (RFC 791 section 3.1), among the parameters of a unit or of an open: on requests the way to go, on
/// indications the way back to the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceRoute {
    /// The gateways in order, without the destination; at most eight.
    pub gateways: Vec<Ipv4Addr>,
    /// No others may be between them.
    pub strict: bool,
}

impl Payload for SourceRoute {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_back_as_they_went() {
        for it in [
            IpParameters::NONE,
            IpParameters { ttl: 255, ..IpParameters::NONE },
            IpParameters { tos: 0xb9, dont_fragment: true, ..IpParameters::NONE },
            IpParameters { to_ourselves: true, ..IpParameters::NONE },
            IpParameters { identification: 0xfedc, ttl: 1, ..IpParameters::NONE },
            IpParameters { interface: Some(0), ..IpParameters::NONE },
            IpParameters { interface: Some(65534), identification: 1, ..IpParameters::NONE },
        ] {
            assert_eq!(IpParameters::from(u64::from(it)), it);
        }
        assert_eq!(u64::from(IpParameters::NONE), 0);
    }

    #[test]
    fn what_is_asked_comes_back_as_it_went() {
        for sharing in Sharing::ALL {
            let it = IpQuality { sharing, ..IpQuality::NONE };
            assert_eq!(IpQuality::from(u64::from(it)), it);
        }
        for interface in [Some(0), Some(258), Some(65534)] {
            let it = IpQuality { interface, sharing: Sharing::Spread, ..IpQuality::NONE };
            assert_eq!(IpQuality::from(u64::from(it)), it);
        }
        for ecn in EcnUse::ALL.map(Some).into_iter().chain([None]) {
            for (ttl, tos) in [(None, None), (Some(0), None), (Some(255), Some(0)), (None, Some(0xb9))] {
                let it = IpQuality { ttl, tos, ecn, ..IpQuality::NONE };
                assert_eq!(IpQuality::from(u64::from(it)), it);
            }
        }
        assert_eq!(u64::from(IpQuality::NONE), 0);
    }
}
