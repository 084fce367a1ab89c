//! What stands behind the cookie.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use super::Kind;
use crate::Malformed;

/// Codes of options (RFC 2132, RFC 3442).
pub mod code {
    /// Subnet mask (section 3.3).
    pub const MASK: u8 = 1;
    /// Routers on the client's subnet (section 3.5).
    pub const ROUTERS: u8 = 3;
    /// Who looks up names (section 3.8).
    pub const RESOLVERS: u8 = 6;
    /// The MTU of the interface (section 5.1).
    pub const MTU: u8 = 26;
    /// The address that the client wants (section 9.1).
    pub const REQUESTED: u8 = 50;
    /// For how long it may have it (section 9.2).
    pub const LEASE: u8 = 51;
    /// Options stand in the fields for names, too (section 9.3).
    pub const OVERLOAD: u8 = 52;
    /// What the message is (section 9.6).
    pub const KIND: u8 = 53;
    /// Which server it is of or for (section 9.7).
    pub const SERVER: u8 = 54;
    /// What the client asks for (section 9.8).
    pub const PARAMETERS: u8 = 55;
    /// Words for people (section 9.9).
    pub const MESSAGE: u8 = 56;
    /// The longest message that its sender takes (section 9.10).
    pub const LONGEST: u8 = 57;
    /// T1 (section 9.11).
    pub const T1: u8 = 58;
    /// T2 (section 9.12).
    pub const T2: u8 = 59;
    /// By which the client is known (section 9.14).
    pub const CLIENT: u8 = 61;
    /// Routes (RFC 3442).
    pub const ROUTES: u8 = 121;
    /// The last one.
    pub const END: u8 = 255;
}

/// A route to a network (RFC 3442).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Route {
    /// The network, bits beyond its prefix 0.
    pub network: Ipv4Addr,
    /// How many leading bits name it: 0 to 32.
    pub prefix: u8,
    /// Who passes on what goes there; unspecified: it is on the link.
    pub router: Ipv4Addr,
}

/// What a message says in options. What is `None`, or empty, it does not say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// What it is.
    pub kind: Kind,
    /// The address that the client wants.
    pub requested: Option<Ipv4Addr>,
    /// For how long it may have one, in seconds; all ones: for ever.
    pub lease_s: Option<u32>,
    /// When the client is to ask the same server again, in seconds.
    pub t1_s: Option<u32>,
    /// When it is to ask any server.
    pub t2_s: Option<u32>,
    /// The server.
    pub server: Option<Ipv4Addr>,
    /// How many leading bits of the address name its network, 0 to 32: the subnet mask.
    pub prefix: Option<u8>,
    /// Routers on the link, the best one first.
    pub routers: Vec<Ipv4Addr>,
    /// Routes. Where there are any, the routers mean nothing (RFC 3442).
    pub routes: Vec<Route>,
    /// Who looks up names, the best one first.
    pub resolvers: Vec<Ipv4Addr>,
    /// The MTU of the link, in octets, at least 68.
    pub mtu: Option<u16>,
    /// The longest datagram with a message that its sender takes, in octets, headers of UDP and IP included (RFC 3442),
    /// at least 576.
    pub longest: Option<u16>,
    /// By which the client is known.
    pub client: Vec<u8>,
    /// Codes of what it asks for.
    pub parameters: Vec<u8>,
    /// Words for people.
    pub message: Vec<u8>,
}

/// The values of all options by their codes, pieces put together in their order (RFC 2131 section 4.1, RFC 3396 section
/// 5).
type Values = BTreeMap<u8, Vec<u8>>;

/// Reads the options of a field, until the last one; one that is not whole ends it.
fn gather(mut octets: &[u8], values: &mut Values) -> Result<(), Malformed> {
    loop {
        match *octets {
            [] | [code::END, ..] => return Ok(()),
            [0, ref rest @ ..] => octets = rest,
            [code, len, ref rest @ ..] if usize::from(len) <= rest.len() => {
                let (value, behind) = rest.split_at(len.into());
                values.entry(code).or_default().extend_from_slice(value);
                octets = behind;
            }
            [_, ref rest @ ..] => {
                let found = rest.first().copied().unwrap_or(0).into();
                let most = rest.len().saturating_sub(1);
                return Err(Malformed::Length { protocol: "DHCP", field: "option length", found, least: 0, most });
            }
        }
    }
}

/// A value of so many octets, if it is there.
fn exact<const N: usize>(values: &Values, code: u8, field: &'static str) -> Result<Option<[u8; N]>, Malformed> {
    let Some(value) = values.get(&code) else {
        return Ok(None);
    };
    let wrong = Malformed::Length { protocol: "DHCP", field, found: value.len(), least: N, most: N };
    <[u8; N]>::try_from(value.as_slice()).map(Some).map_err(|_| wrong)
}

fn addresses(values: &Values, code: u8, field: &'static str) -> Result<Vec<Ipv4Addr>, Malformed> {
    let value = values.get(&code).map(Vec::as_slice);
    match value.map(<[u8]>::as_chunks::<4>) {
        None => Ok(Vec::new()),
        Some((all @ [_, ..], [])) => Ok(all.iter().map(|it| Ipv4Addr::from(*it)).collect()),
        Some(_) => {
            let found = value.unwrap_or_default().len();
            Err(Malformed::Length { protocol: "DHCP", field, found, least: 4, most: found.next_multiple_of(4) })
        }
    }
}

const fn mask(prefix: u8) -> u32 {
    match u32::MAX.checked_shl(32_u32.saturating_sub(prefix as u32)) {
        Some(mask) => mask,
        None => 0,
    }
}

/// Octets of a network that are said.
fn significant(prefix: u8) -> usize {
    usize::from(prefix).div_ceil(8)
}

fn routes(value: &[u8]) -> Result<Vec<Route>, Malformed> {
    let (mut all, mut rest) = (Vec::new(), value);
    while let Some((&prefix, behind)) = rest.split_first() {
        if prefix > 32 {
            let field = "width of a route";
            return Err(Malformed::Field { protocol: "DHCP", field, found: prefix.into(), expected: "0 to 32" });
        }
        let (said, found) = (significant(prefix), rest.len());
        let Some((network, behind)) = behind.split_at_checked(said) else {
            return Err(short_route(found, said));
        };
        let Some((router, behind)) = behind.split_first_chunk::<4>() else {
            return Err(short_route(found, said));
        };
        let mut octets = [0; 4];
        octets.iter_mut().zip(network).for_each(|(to, from)| *to = *from);
        let network = Ipv4Addr::from_bits(u32::from_be_bytes(octets) & mask(prefix));
        all.push(Route { network, prefix, router: Ipv4Addr::from(*router) });
        rest = behind;
    }
    Ok(all)
}

const fn short_route(found: usize, said: usize) -> Malformed {
    Malformed::Length { protocol: "DHCP", field: "route", found, least: 5 + said, most: 9 }
}

impl Options {
    /// Those of a message: in its options, and, where these say so, in the fields for the names of a file and of a
    /// server.
    pub(super) fn parse(octets: &[u8], file: &[u8], name: &[u8]) -> Result<Self, Malformed> {
        let mut values = Values::new();
        gather(octets, &mut values)?;
        let overload = exact::<1>(&values, code::OVERLOAD, "option overload")?;
        if let Some([found]) = overload.filter(|[it]| !matches!(it, 1..=3)) {
            let field = "option overload";
            return Err(Malformed::Field { protocol: "DHCP", field, found: found.into(), expected: "1 to 3" });
        }
        if overload.is_some_and(|[it]| it & 1 != 0) {
            gather(file, &mut values)?;
        }
        if overload.is_some_and(|[it]| it & 2 != 0) {
            gather(name, &mut values)?;
        }
        let word = |code, field| exact(&values, code, field).map(|it| it.map(u32::from_be_bytes));
        let short = |code, field| exact(&values, code, field).map(|it| it.map(u16::from_be_bytes));
        let address = |code, field| exact::<4>(&values, code, field).map(|it| it.map(Ipv4Addr::from));
        let [kind] = exact(&values, code::KIND, "message type")?.unwrap_or_default();
        let kind = Kind::of(kind).ok_or_else(|| Malformed::Field {
            protocol: "DHCP",
            field: "message type",
            found: kind.into(),
            expected: "1 to 8",
        })?;
        let octets = |code| values.get(&code).cloned().unwrap_or_default();
        let longest = short(code::LONGEST, "maximum message size")?;
        Ok(Self {
            kind,
            requested: address(code::REQUESTED, "requested address")?,
            lease_s: word(code::LEASE, "lease time")?,
            t1_s: word(code::T1, "renewal time")?,
            t2_s: word(code::T2, "rebinding time")?,
            server: address(code::SERVER, "server identifier")?,
            prefix: word(code::MASK, "subnet mask")?.map(prefix_of).transpose()?,
            routers: addresses(&values, code::ROUTERS, "routers")?,
            routes: routes(&octets(code::ROUTES))?,
            resolvers: addresses(&values, code::RESOLVERS, "name servers")?,
            // Less than these is none (RFC 2132 sections 5.1 and 9.10).
            mtu: short(code::MTU, "interface MTU")?.filter(|it| *it >= 68),
            longest: longest.filter(|it| *it >= 576),
            client: octets(code::CLIENT),
            parameters: octets(code::PARAMETERS),
            message: octets(code::MESSAGE),
        })
    }

    /// All that it says, each with its code, in the order in which they are written.
    fn values(&self) -> Vec<(u8, Vec<u8>)> {
        let addresses = |all: &[Ipv4Addr]| all.iter().flat_map(Ipv4Addr::octets).collect::<Vec<u8>>();
        let word = |it: u32| it.to_be_bytes().to_vec();
        let short = |it: u16| it.to_be_bytes().to_vec();
        let address = |it: Ipv4Addr| it.octets().to_vec();
        let route = |it: &Route| {
            let network = it.network.octets();
            let said = network.into_iter().take(significant(it.prefix));
            core::iter::once(it.prefix).chain(said).chain(it.router.octets()).collect::<Vec<u8>>()
        };
        let some = |code, value: Option<Vec<u8>>| (code, value.unwrap_or_default());
        let all = vec![
            (code::KIND, vec![self.kind.value()]),
            (code::CLIENT, self.client.clone()),
            some(code::REQUESTED, self.requested.map(address)),
            some(code::SERVER, self.server.map(address)),
            some(code::LEASE, self.lease_s.map(word)),
            some(code::T1, self.t1_s.map(word)),
            some(code::T2, self.t2_s.map(word)),
            some(code::MASK, self.prefix.map(|it| word(mask(it)))),
            (code::ROUTES, self.routes.iter().flat_map(route).collect()),
            (code::ROUTERS, addresses(&self.routers)),
            (code::RESOLVERS, addresses(&self.resolvers)),
            some(code::MTU, self.mtu.map(short)),
            some(code::LONGEST, self.longest.map(short)),
            (code::PARAMETERS, self.parameters.clone()),
            (code::MESSAGE, self.message.clone()),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Octets of all options with the last one.
    pub(super) fn len(&self) -> usize {
        let of = |value: &[u8]| value.len() + 2 * value.len().div_ceil(usize::from(u8::MAX));
        1 + self.values().iter().map(|(_, value)| of(value)).sum::<usize>()
    }

    pub(super) fn emit(&self, out: &mut &mut [u8]) {
        for (code, value) in self.values() {
            // Longer values in pieces (RFC 3396).
            for piece in value.chunks(u8::MAX.into()) {
                crate::put(out, [code, u8::try_from(piece.len()).unwrap_or(u8::MAX)]);
                crate::put_slice(out, piece);
            }
        }
        crate::put(out, [code::END]);
    }
}

/// How many leading bits of a mask are set, if no others are.
fn prefix_of(value: u32) -> Result<u8, Malformed> {
    let prefix = u8::try_from(value.leading_ones()).unwrap_or(32);
    let wrong = Malformed::Field {
        protocol: "DHCP",
        field: "subnet mask",
        found: value.into(),
        expected: "leading ones alone",
    };
    if value == mask(prefix) { Ok(prefix) } else { Err(wrong) }
}
