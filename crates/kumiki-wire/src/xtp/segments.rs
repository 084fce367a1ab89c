//! The address segment and the traffic segment.

use core::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kumiki_octets::text::counted;

use super::{field, length, short, take};
use crate::layout::layout;
use crate::{Malformed, put, put_slice};

/// Octets of the shortest segment: a word that says what it is, and one more.
pub(super) const LEAST: usize = 8;
/// Octets in front of the addresses or the values.
const FRONT: usize = 4;
const IP4_LEN: usize = 16;
const IP6_LEN: usize = 40;
const RATES_LEN: usize = 20;

/// What a context is for, as the traffic segment says it.
pub mod service {
    /// Not said.
    pub const UNSPECIFIED: u8 = 0;
    /// Datagrams without acknowledgments.
    pub const UNACKNOWLEDGED_DATAGRAM: u8 = 1;
    /// Datagrams with acknowledgments.
    pub const ACKNOWLEDGED_DATAGRAM: u8 = 2;
    /// A request and its response.
    pub const TRANSACTION: u8 = 3;
    /// A reliable stream between two.
    pub const RELIABLE_STREAM: u8 = 4;
    /// A stream to many without acknowledgments.
    pub const UNACKNOWLEDGED_MULTICAST: u8 = 5;
    /// A reliable stream to many.
    pub const RELIABLE_MULTICAST: u8 = 6;
}

/// The address segment: who calls whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Address {
    /// Format 0: nothing is said.
    #[default]
    Null,
    /// Formats 1 (IPv4) and 6 (IPv6). Both addresses are of one version; the layout of format 6 is Kumiki's own
    /// (`docs/xtp.md`, P8).
    Ip {
        /// adomain; 0 where the sender does not know of domains.
        domain: u8,
        /// Who is called.
        destination: SocketAddr,
        /// Who calls.
        source: SocketAddr,
    },
    /// A format that is not known here, as it stands behind its length.
    Other {
        /// adomain.
        domain: u8,
        /// aformat: not 0, 1 or 6.
        format: u8,
        /// What follows.
        octets: Vec<u8>,
    },
}

impl Address {
    /// Reads a segment from the octets at the front of what is left of a payload; also gives its length.
    ///
    /// # Errors
    /// The segment is not all there, or its length is not that of its format.
    pub fn parse(octets: &[u8]) -> Result<(Self, usize), Malformed> {
        let mut rest = octets;
        let [l0, l1, domain, format] = take(&mut rest)?;
        let alen = usize::from(u16::from_be_bytes([l0, l1]));
        let (least, most) = match format {
            0 => (LEAST, LEAST),
            1 => (IP4_LEN, IP4_LEN),
            6 => (IP6_LEN, IP6_LEN),
            _ => (FRONT, octets.len()),
        };
        if alen < least || alen > most {
            return Err(length("alen", alen, least, most));
        }
        if alen > octets.len() {
            return Err(short(alen, octets.len()));
        }
        let address = match format {
            0 => Self::Null,
            1 => {
                let (destination, source) = (take::<4>(&mut rest)?, take::<4>(&mut rest)?);
                let ip = |octets| IpAddr::V4(Ipv4Addr::from(octets));
                Self::with_ports(domain, ip(destination), ip(source), &mut rest)?
            }
            6 => {
                let (destination, source) = (take::<16>(&mut rest)?, take::<16>(&mut rest)?);
                let ip = |octets| IpAddr::V6(Ipv6Addr::from(octets));
                Self::with_ports(domain, ip(destination), ip(source), &mut rest)?
            }
            _ => Self::Other { domain, format, octets: octets.get(FRONT..alen).unwrap_or_default().to_vec() },
        };
        Ok((address, alen))
    }

    fn with_ports(domain: u8, destination: IpAddr, source: IpAddr, rest: &mut &[u8]) -> Result<Self, Malformed> {
        let [d0, d1, s0, s1] = take(rest)?;
        Ok(Self::Ip {
            domain,
            destination: SocketAddr::new(destination, u16::from_be_bytes([d0, d1])),
            source: SocketAddr::new(source, u16::from_be_bytes([s0, s1])),
        })
    }

    /// Octets that [`Address::emit`] writes: 8, 16 or 40, or as many as there are.
    #[expect(clippy::len_without_is_empty, reason = "a segment is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Null => LEAST,
            Self::Ip { destination, .. } if destination.is_ipv4() => IP4_LEN,
            Self::Ip { .. } => IP6_LEN,
            Self::Other { octets, .. } => FRONT + octets.len(),
        }
    }

    /// Writes [`Address::len`] octets. Where the two addresses are not of one version, the source is left unsaid.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let mut out = out;
        put(&mut out, u16::try_from(self.len()).unwrap_or(u16::MAX).to_be_bytes());
        match self {
            Self::Null => put(&mut out, [0; LEAST - 2]),
            Self::Ip { domain, destination, source } => {
                match destination.ip() {
                    IpAddr::V4(destination) => {
                        put(&mut out, [*domain, 1]);
                        put(&mut out, destination.octets());
                        let source = match source.ip() {
                            IpAddr::V4(source) => source,
                            IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
                        };
                        put(&mut out, source.octets());
                    }
                    IpAddr::V6(destination) => {
                        put(&mut out, [*domain, 6]);
                        put(&mut out, destination.octets());
                        let source = match source.ip() {
                            IpAddr::V6(source) => source,
                            IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
                        };
                        put(&mut out, source.octets());
                    }
                }
                put(&mut out, destination.port().to_be_bytes());
                put(&mut out, source.port().to_be_bytes());
            }
            Self::Other { domain, format, octets } => {
                put(&mut out, [*domain, *format]);
                put_slice(&mut out, octets);
            }
        }
    }
}

impl fmt::Display for Address {
    /// For example `10.0.0.1:6001 > 10.0.0.2:5001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("no addresses"),
            Self::Ip { domain, destination, source } => {
                write!(f, "{source} > {destination}")?;
                if *domain != 0 {
                    write!(f, " domain {domain}")?;
                }
                Ok(())
            }
            Self::Other { format, octets, .. } => {
                write!(f, "address format {format}, {}", counted(octets.len(), "octet"))
            }
        }
    }
}

layout! {
    "XTP", RATES_LEN;
    /// What a host can take and wants to send, as it sees it itself.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Rates {
        /// The most octets of data in a packet to it; 0: not said.
        pub maxdata: u32 = "maxdata";
        /// How fast it will be sent to, in octets a second; 0: no limit.
        pub inrate: u32 = "inrate";
        /// How much of that may come at once, in octets.
        pub inburst: u32 = "inburst";
        /// How fast it will send, in octets a second; 0: no limit.
        pub outrate: u32 = "outrate";
        /// How much of that may go at once, in octets.
        pub outburst: u32 = "outburst";
    }
}

/// The traffic segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Traffic {
    /// What the context is for: one of [`mod@service`].
    pub service: u8,
    /// Format 1; without, format 0.
    pub rates: Option<Rates>,
}

impl Traffic {
    /// Reads a segment from the octets at the front of what is left of a payload; also gives its length.
    ///
    /// # Errors
    /// The segment is not all there; a format other than 0 and 1; a length that is not that of the format.
    pub fn parse(octets: &[u8]) -> Result<(Self, usize), Malformed> {
        let mut rest = octets;
        let [l0, l1, service, format] = take(&mut rest)?;
        let tlen = usize::from(u16::from_be_bytes([l0, l1]));
        let right = match format {
            0 => LEAST,
            1 => FRONT + RATES_LEN,
            _ => return Err(field("tformat", format.into(), "0 or 1")),
        };
        if tlen != right {
            return Err(length("tlen", tlen, right, right));
        }
        if tlen > octets.len() {
            return Err(short(tlen, octets.len()));
        }
        let rates = match format {
            0 => None,
            _ => Some(Rates::read(rest)?),
        };
        Ok((Self { service, rates }, tlen))
    }

    /// Octets that [`Traffic::emit`] writes: 8 or 24.
    #[expect(clippy::len_without_is_empty, reason = "a segment is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.rates {
            None => LEAST,
            Some(_) => FRONT + RATES_LEN,
        }
    }

    /// Writes [`Traffic::len`] octets.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let mut out = out;
        let len = u16::try_from(self.len()).unwrap_or(u16::MAX);
        put(&mut out, len.to_be_bytes());
        put(&mut out, [self.service, self.rates.is_some().into()]);
        match self.rates {
            None => put(&mut out, [0; LEAST - FRONT]),
            Some(rates) => rates.put(&mut out),
        }
    }
}

impl fmt::Display for Traffic {
    /// For example `service 4 maxdata 9000 in 1000000/9000 out 1000000/9000`: rates in octets a second, bursts in
    /// octets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "service {}", self.service)?;
        let Some(rates) = self.rates else {
            return Ok(());
        };
        let Rates { maxdata, inrate, inburst, outrate, outburst } = rates;
        write!(f, " maxdata {maxdata} in {inrate}/{inburst} out {outrate}/{outburst}")
    }
}
