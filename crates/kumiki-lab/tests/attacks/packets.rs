//! Packets as attackers write them, of either version of IP, all for the host under attack.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kumiki_octets::Sum;
use kumiki_wire::inet::ipv6::extension;
use kumiki_wire::inet::tcp::Header;
use kumiki_wire::inet::{ipv4, ipv6};

/// TCP, for both versions of IP.
const TCP: u8 = ipv4::protocol::TCP;
/// The host under attack.
const FOUR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SIX: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

/// The version of IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    Four,
    Six,
}

impl Version {
    /// Host `n` of the only network: 1 sends, 2 is attacked, what follows is the attacker's.
    pub(crate) fn address(self, n: u32) -> IpAddr {
        match self {
            Self::Four => Ipv4Addr::from_bits(0x0a00_0000 | n).into(),
            Self::Six => Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(n)).into(),
        }
    }

    pub(crate) fn sender(self) -> IpAddr {
        self.address(1)
    }

    pub(crate) fn attacked(self) -> IpAddr {
        self.address(2)
    }
}

/// A fragment of a datagram: which of the source's, and which octets of it, in units of 8.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) identification: u16,
    pub(crate) offset: u16,
    pub(crate) more: bool,
}

fn four(source: Ipv4Addr, piece: Option<Piece>, payload: &[u8]) -> Vec<u8> {
    let header = ipv4::Header {
        total_length: u16::try_from(20 + payload.len()).unwrap(),
        identification: piece.map_or(0, |piece| piece.identification),
        more_fragments: piece.is_some_and(|piece| piece.more),
        fragment_offset: piece.map_or(0, |piece| piece.offset),
        time_to_live: 64,
        protocol: TCP,
        source,
        destination: FOUR,
        ..ipv4::Header::default()
    };
    let mut octets = vec![0; header.len()];
    header.emit_summed(&mut octets);
    octets.extend(payload);
    octets
}

fn six(source: Ipv6Addr, piece: Option<Piece>, payload: &[u8]) -> Vec<u8> {
    let mut inner = Vec::new();
    if let Some(piece) = piece {
        let header = extension::Fragment {
            next_header: TCP,
            offset: piece.offset,
            more: piece.more,
            identification: piece.identification.into(),
        };
        inner.resize(header.len(), 0);
        header.emit(&mut inner);
    }
    inner.extend(payload);
    let header = ipv6::Header {
        traffic_class: 0,
        flow_label: 0,
        payload_length: u16::try_from(inner.len()).unwrap(),
        next_header: if piece.is_some() { ipv6::next_header::FRAGMENT } else { TCP },
        hop_limit: 64,
        source,
        destination: SIX,
    };
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    octets.extend(inner);
    octets
}

pub(crate) fn fragment(source: IpAddr, piece: Piece, payload: &[u8]) -> Vec<u8> {
    match source {
        IpAddr::V4(source) => four(source, Some(piece), payload),
        IpAddr::V6(source) => six(source, Some(piece), payload),
    }
}

pub(crate) fn segment(source: IpAddr, header: Header, text: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    octets.extend(text);
    let len = u16::try_from(octets.len()).unwrap();
    let pseudo = match source {
        IpAddr::V4(source) => Sum::of(&ipv4::pseudo_header(source, FOUR, TCP, len)),
        IpAddr::V6(source) => Sum::of(&ipv6::pseudo_header(source, SIX, TCP, len.into())),
    };
    let sum = pseudo.plus(Sum::of(&octets)).checksum();
    octets[16..18].copy_from_slice(&sum.to_be_bytes());
    match source {
        IpAddr::V4(source) => four(source, None, &octets),
        IpAddr::V6(source) => six(source, None, &octets),
    }
}

/// Who a packet is for, its TCP header and the length of its text; `None` where it is something else.
pub(crate) fn read(octets: &[u8]) -> Option<(IpAddr, Header, usize)> {
    let (to, at) = if octets[0] >> 4 == 4 {
        let (header, len) = ipv4::Header::parse(octets, octets.len()).ok()?;
        (header.destination.into(), len)
    } else {
        let (header, len) = ipv6::Header::parse(octets, octets.len()).ok()?;
        if header.next_header != TCP {
            return None;
        }
        (header.destination.into(), len)
    };
    let octets = &octets[at..];
    let (header, len) = Header::parse(octets, octets.len()).ok()?;
    Some((to, header, octets.len() - len))
}
