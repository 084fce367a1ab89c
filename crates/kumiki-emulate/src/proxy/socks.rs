//! SOCKS, version 5, as a server.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1928 |
//! | Methods | no authentication (X'00'); whoever offers none that is this is refused (X'FF') |
//! | Commands | CONNECT, UDP ASSOCIATE; BIND is not supported (X'07') |
//! | Datagrams | are of one socket of the caller, the first that sends; fragments are dropped, as section 7 has it for who does not put them together |

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kumiki_net::UdpSocket as NearSocket;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

use super::target::{Host, Target};
use super::{CallerRequest, ReplyStyle, SOCKS_5, Shared};

const NO_AUTHENTICATION: u8 = 0x00;
const NO_ACCEPTABLE_METHODS: u8 = 0xff;
const CONNECT: u8 = 0x01;
const UDP_ASSOCIATE: u8 = 0x03;
const ATYP_IPV4: u8 = 0x01;
const ATYP_DOMAINNAME: u8 = 0x03;
const ATYP_IPV6: u8 = 0x04;

/// Values of REP (section 6).
const GENERAL_FAILURE: u8 = 0x01;
const NOT_ALLOWED: u8 = 0x02;
const NETWORK_UNREACHABLE: u8 = 0x03;
const HOST_UNREACHABLE: u8 = 0x04;
const CONNECTION_REFUSED: u8 = 0x05;
const COMMAND_NOT_SUPPORTED: u8 = 0x07;
const ADDRESS_TYPE_NOT_SUPPORTED: u8 = 0x08;

/// The longest datagram of UDP, and what stands before it.
const LONGEST: usize = 65_535 + 22;

/// Agrees on a method and hears the request; `None` where that was refused.
pub(super) async fn wish(caller: &mut TcpStream) -> io::Result<Option<CallerRequest>> {
    let mut methods = vec![0; usize::from(head::<2>(caller).await?[1])];
    caller.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        caller.write_all(&[SOCKS_5, NO_ACCEPTABLE_METHODS]).await?;
        return Ok(None);
    }
    caller.write_all(&[SOCKS_5, NO_AUTHENTICATION]).await?;
    let [version, command, _, atyp] = head(caller).await?;
    if version != SOCKS_5 {
        return Ok(None);
    }
    let Some(target) = target(caller, atyp).await? else {
        answer(caller, ADDRESS_TYPE_NOT_SUPPORTED, None).await?;
        return Ok(None);
    };
    match command {
        CONNECT => Ok(Some(CallerRequest::Connect { target, how: ReplyStyle::Socks })),
        UDP_ASSOCIATE => Ok(Some(CallerRequest::Datagrams)),
        _ => {
            answer(caller, COMMAND_NOT_SUPPORTED, None).await?;
            Ok(None)
        }
    }
}

async fn head<const N: usize>(caller: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut octets = [0; N];
    caller.read_exact(&mut octets).await?;
    Ok(octets)
}

/// DST.ADDR and DST.PORT; `None` where nobody knows such an address.
async fn target(caller: &mut TcpStream, atyp: u8) -> io::Result<Option<Target>> {
    let host = match atyp {
        ATYP_IPV4 => Host::Address(Ipv4Addr::from(head::<4>(caller).await?).into()),
        ATYP_IPV6 => Host::Address(Ipv6Addr::from(head::<16>(caller).await?).into()),
        ATYP_DOMAINNAME => {
            let mut name = vec![0; usize::from(head::<1>(caller).await?[0])];
            caller.read_exact(&mut name).await?;
            let port = u16::from_be_bytes(head(caller).await?);
            let host = core::str::from_utf8(&name).ok().and_then(Host::parse);
            return Ok(host.map(|host| Target { host, port }));
        }
        _ => return Ok(None),
    };
    Ok(Some(Target { host, port: u16::from_be_bytes(head(caller).await?) }))
}

/// Tells the caller of CONNECT what became of it.
pub(super) async fn reply(caller: &mut TcpStream, result: Result<SocketAddr, &io::Error>) -> io::Result<()> {
    match result {
        Ok(bound) => answer(caller, 0, Some(bound)).await,
        Err(why) => answer(caller, code(why), None).await,
    }
}

fn code(why: &io::Error) -> u8 {
    let kind = why.kind();
    if kind == io::ErrorKind::ConnectionRefused || kind == io::ErrorKind::ConnectionReset {
        CONNECTION_REFUSED
    } else if kind == io::ErrorKind::NetworkUnreachable {
        NETWORK_UNREACHABLE
    } else if kind == io::ErrorKind::HostUnreachable || kind == io::ErrorKind::TimedOut {
        HOST_UNREACHABLE
    } else if kind == io::ErrorKind::PermissionDenied {
        NOT_ALLOWED
    } else {
        GENERAL_FAILURE
    }
}

async fn answer(caller: &mut TcpStream, rep: u8, bound: Option<SocketAddr>) -> io::Result<()> {
    let mut octets = vec![SOCKS_5, rep, 0];
    push_address(&mut octets, bound.unwrap_or_else(|| SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0)));
    caller.write_all(&octets).await
}

/// ATYP, an address and a port.
fn push_address(octets: &mut Vec<u8>, at: SocketAddr) {
    match at.ip() {
        IpAddr::V4(ip) => {
            octets.push(ATYP_IPV4);
            octets.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            octets.push(ATYP_IPV6);
            octets.extend(ip.octets());
        }
    }
    octets.extend(at.port().to_be_bytes());
}

/// What a datagram of a caller is: to whom, and where its data begins (section 7).
fn datagram(octets: &[u8]) -> Option<(Target, usize)> {
    let [_, _, 0, atyp, rest @ ..] = octets else {
        return None;
    };
    let (host, len) = match *atyp {
        ATYP_IPV4 => (Host::Address(Ipv4Addr::from(*rest.first_chunk::<4>()?).into()), 4),
        ATYP_IPV6 => (Host::Address(Ipv6Addr::from(*rest.first_chunk::<16>()?).into()), 16),
        ATYP_DOMAINNAME => {
            let len = usize::from(*rest.first()?);
            let name = core::str::from_utf8(rest.get(1..1 + len)?).ok()?;
            (Host::parse(name)?, 1 + len)
        }
        _ => return None,
    };
    let port = u16::from_be_bytes(*rest.get(len..)?.first_chunk()?);
    Some((Target { host, port }, 4 + len + 2))
}

/// Carries datagrams until the caller ends the connection.
pub(super) async fn datagrams(mut caller: TcpStream, shared: &Shared) -> io::Result<()> {
    let (here, peer) = (caller.local_addr()?.ip(), caller.peer_addr()?.ip());
    let socket = UdpSocket::bind((here, 0)).await?;
    let near = shared.stack.scope(async {
        let four = NearSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
        Ok::<_, io::Error>([four, NearSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).await?])
    });
    let [four, six] = near.await?;
    answer(&mut caller, 0, Some(socket.local_addr()?)).await?;
    let (mut from_caller, mut from_four, mut from_six) = (vec![0; LONGEST], vec![0; LONGEST], vec![0; LONGEST]);
    // Where was sent to, as the caller calls it; of what it calls otherwise than the near end does alone, so that there
    // are few.
    let (mut wanted, mut meant) = (None, BTreeMap::new());
    loop {
        let answered = tokio::select! {
            ended = caller.read_u8() => return ended.map(drop),
            came = socket.recv_from(&mut from_caller) => {
                let (len, from) = came?;
                // Whoever sends first is the caller's socket: others on this host have no business here, and get no
                // answers of its.
                if from.ip() == peer && *wanted.get_or_insert(from) == from {
                    send(from_caller.get(..len).unwrap_or_default(), [&four, &six], &mut meant, shared).await;
                }
                continue;
            }
            came = four.recv_from(&mut from_four) => came.map(|(len, from)| (from_four.get(..len), from)),
            came = six.recv_from(&mut from_six) => came.map(|(len, from)| (from_six.get(..len), from)),
        };
        match (answered, wanted) {
            (Ok((data, from)), Some(to)) => {
                let mut octets = vec![0, 0, 0];
                push_address(&mut octets, meant.get(&from).copied().unwrap_or(from));
                octets.extend_from_slice(data.unwrap_or_default());
                let _ = socket.send_to(&octets, to).await;
            }
            // The near end has gone, as it says whenever it is asked.
            (Err(why), _) if why.kind() == io::ErrorKind::NetworkDown => return Err(why),
            // What ICMP says of one datagram is no reason to end all.
            _ => {}
        }
    }
}

/// Sends on what a caller has sent, and keeps in `meant` what it calls the receiver; what is no datagram for anybody is
/// dropped, as section 7 has it.
async fn send(
    octets: &[u8],
    [four, six]: [&NearSocket; 2],
    meant: &mut BTreeMap<SocketAddr, SocketAddr>,
    shared: &Shared,
) {
    let Some((target, at)) = datagram(octets) else {
        return;
    };
    let Some((to, called)) = target.addresses(shared).await.ok().and_then(|all| all.first().copied()) else {
        return;
    };
    if to == called {
        meant.remove(&to);
    } else {
        meant.insert(to, called);
    }
    let near = if to.is_ipv4() { four } else { six };
    let _ = near.send_to(octets.get(at..).unwrap_or_default(), to).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_says_for_whom_it_is() {
        let target = |host, port| Target { host, port };
        let four = Host::Address("192.0.2.1".parse().unwrap());
        assert_eq!(datagram(&[0, 0, 0, 1, 192, 0, 2, 1, 0, 53, 7]), Some((target(four, 53), 10)));
        let name = Host::Name("ab".to_owned());
        assert_eq!(datagram(&[0, 0, 0, 3, 2, b'a', b'b', 1, 0]), Some((target(name, 256), 9)));
        let mut six = vec![0, 0, 0, 4];
        six.extend([0; 15]);
        six.extend([1, 0, 9]);
        assert_eq!(datagram(&six), Some((target(Host::Address("::1".parse().unwrap()), 9), 22)));
        // A fragment, an address that nobody knows, and what is cut off anywhere.
        assert_eq!(datagram(&[0, 0, 1, 1, 192, 0, 2, 1, 0, 53, 7]), None);
        assert_eq!(datagram(&[0, 0, 0, 2, 192, 0, 2, 1, 0, 53, 7]), None);
        for len in 0..six.len() {
            assert_eq!(datagram(&six[..len]), None, "{len}");
        }
        assert_eq!(datagram(&[0, 0, 0, 3, 200, b'a', b'b', 1, 0]), None);
    }

    #[test]
    fn each_failure_has_its_code() {
        let of = |kind: io::ErrorKind| code(&kind.into());
        assert_eq!(of(io::ErrorKind::ConnectionRefused), 5);
        assert_eq!(of(io::ErrorKind::NetworkUnreachable), 3);
        assert_eq!(of(io::ErrorKind::HostUnreachable), 4);
        assert_eq!(of(io::ErrorKind::TimedOut), 4);
        assert_eq!(of(io::ErrorKind::PermissionDenied), 2);
        assert_eq!(of(io::ErrorKind::NotFound), 1);
    }
}
