//! What a host has on its lines, as programs of other processes are told it: when they come, and each time that it
//! changes.
//!
//! | | |
//! |---|---|
//! | Layout | words: how many lines there are, and of each its MTU, the most that it carries, how many addresses, routes and resolvers it has, and these; an address is three words, as in the rest of the protocol |
//! | Left out | which interface of IP a line is: only the stack's process changes lines |

use core::net::{IpAddr, SocketAddr};

use kumiki_inet::{AssignedRoute, Authority};

use super::primitives::{Fields, Words, put_socket};
use crate::sockets::OwnLine;

/// Nobody has more of anything.
const MOST: usize = 4096;

fn put_ip(words: &mut Fields, ip: IpAddr, beside: u16) {
    put_socket(words, Some(SocketAddr::new(ip, beside)));
}

/// Puts what is on the lines.
pub(super) fn put_lines(words: &mut Fields, lines: &[OwnLine]) {
    words.push(lines.len() as u64);
    for OwnLine { addresses, routes, mtu, most, resolvers, interfaces: _, wished: _ } in lines {
        words.extend([u64::from(*mtu), u64::from(*most)]);
        words.extend([addresses.len(), routes.len(), resolvers.len()].map(|it| it as u64));
        for (own, prefix) in addresses {
            put_ip(words, *own, (*prefix).into());
        }
        for AssignedRoute { network, prefix, router } in routes {
            put_ip(words, *network, (*prefix).into());
            put_socket(words, router.map(|it| SocketAddr::new(it, 0)));
        }
        for (by, server) in resolvers {
            put_ip(words, *server, number(*by));
        }
    }
}

const fn number(by: Authority) -> u16 {
    match by {
        Authority::Owner => 0,
        Authority::Router => 1,
        Authority::Server => 2,
    }
}

/// And reads them; `None` where that is not what the words say.
pub(super) fn lines_of(words: &mut Words<'_>) -> Option<Vec<OwnLine>> {
    let lines = count(words)?;
    (0..lines).map(|_| line_of(words)).collect()
}

fn count(words: &mut Words<'_>) -> Option<usize> {
    usize::try_from(words.word()?).ok().filter(|it| *it <= MOST)
}

fn line_of(words: &mut Words<'_>) -> Option<OwnLine> {
    let (mtu, most) = (u32::try_from(words.word()?).ok()?, u32::try_from(words.word()?).ok()?);
    let (addresses, routes, resolvers) = (count(words)?, count(words)?, count(words)?);
    let addresses = (0..addresses).map(|_| network(words)).collect::<Option<_>>()?;
    let routes = (0..routes).map(|_| {
        let (network, prefix) = network(words)?;
        Some(AssignedRoute { network, prefix, router: words.socket()?.map(|it| it.ip()) })
    });
    let routes = routes.collect::<Option<_>>()?;
    let resolvers = (0..resolvers).map(|_| {
        let server = words.address()?;
        let by = [Authority::Owner, Authority::Router, Authority::Server]
            .into_iter()
            .find(|by| number(*by) == server.port())?;
        Some((by, server.ip()))
    });
    let resolvers = resolvers.collect::<Option<_>>()?;
    Some(OwnLine { addresses, routes, mtu, most, resolvers, ..OwnLine::default() })
}

/// An address, and how many leading bits of it name a network.
fn network(words: &mut Words<'_>) -> Option<(IpAddr, u8)> {
    let it = words.address()?;
    Some((it.ip(), u8::try_from(it.port()).ok()?))
}
