//! Routes: what `ip route add` sets.
//!
//! | | |
//! |---|---|
//! | Specification | Linux, `rtnetlink(7)`: one request (`RTM_NEWROUTE`), and the answer to it |
//! | Left out | tables, metrics |

use std::net::IpAddr;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::TunError;
use super::kernel::KernelEnd;

// linux/netlink.h.
const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
/// `NLM_F_REQUEST`, `NLM_F_ACK`, `NLM_F_CREATE`, `NLM_F_EXCL`.
const FLAGS: u16 = 0x1 | 0x4 | 0x400 | 0x200;
// linux/rtnetlink.h.
const RTM_NEWROUTE: u16 = 24;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_BOOT: u8 = 3;
const RT_SCOPE_UNIVERSE: u8 = 0;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
// linux/socket.h.
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// An attribute; its value has a multiple of 4 octets here.
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    to.extend_from_slice(&length.to_ne_bytes());
    to.extend_from_slice(&kind.to_ne_bytes());
    to.extend_from_slice(value);
}

/// By whom goes what has no other route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultRoute {
    /// A router on the interface.
    Gateway(IpAddr),
    /// The interface itself, of IPv4: all hosts are behind it.
    Interface4,
    /// The same of IPv6.
    Interface6,
}

fn address_attribute(to: &mut Vec<u8>, kind: u16, address: IpAddr) {
    match address {
        IpAddr::V4(address) => attribute(to, kind, &address.octets()),
        IpAddr::V6(address) => attribute(to, kind, &address.octets()),
    }
}

/// The request: what is for this network, or all that has no other route, goes by the interface with this index.
fn request(to: Option<(IpAddr, u8)>, by: DefaultRoute, index: u32) -> Vec<u8> {
    let (family, scope) = match by {
        DefaultRoute::Gateway(IpAddr::V4(_)) => (AF_INET, RT_SCOPE_UNIVERSE),
        DefaultRoute::Interface4 => (AF_INET, RT_SCOPE_LINK),
        DefaultRoute::Gateway(IpAddr::V6(_)) | DefaultRoute::Interface6 => (AF_INET6, RT_SCOPE_UNIVERSE),
    };
    let prefix = to.map_or(0, |(_, prefix)| prefix);
    let mut body = vec![family, prefix, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, scope, RTN_UNICAST, 0, 0, 0, 0];
    if let Some((network, _)) = to {
        address_attribute(&mut body, RTA_DST, network);
    }
    if let DefaultRoute::Gateway(router) = by {
        address_attribute(&mut body, RTA_GATEWAY, router);
    }
    attribute(&mut body, RTA_OIF, &index.to_ne_bytes());
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend_from_slice(&length.to_ne_bytes());
    message.extend_from_slice(&RTM_NEWROUTE.to_ne_bytes());
    message.extend_from_slice(&FLAGS.to_ne_bytes());
    // A number for the answer, and the kernel as the one who is asked.
    message.extend_from_slice(&1_u32.to_ne_bytes());
    message.extend_from_slice(&0_u32.to_ne_bytes());
    message.extend_from_slice(&body);
    message
}

/// What the kernel answers: that it was done, or why not.
fn answered(message: &[u8]) -> Result<(), Errno> {
    let kind = message.get(4..6).and_then(|it| it.try_into().ok()).map(u16::from_ne_bytes);
    let status = message.get(HEADER..HEADER + 4).and_then(|it| it.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, status) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(status)) => Err(Errno::from_raw_os_error(status.saturating_neg())),
        _ => Err(Errno::BADMSG),
    }
}

impl KernelEnd {
    /// Sends what has no other route by this interface, which must be up.
    ///
    /// # Errors
    /// [`TunError`] where the kernel refuses.
    pub fn set_default_route(&self, by: DefaultRoute) -> Result<(), TunError> {
        self.add_route(None, by).map_err(self.failed("cannot set the default route"))
    }

    /// Sends what is for `network`, of which the prefix has this length, by a router on this interface, which must be
    /// up.
    ///
    /// # Errors
    /// [`TunError`] where the kernel refuses.
    pub fn set_route(&self, network: (IpAddr, u8), router: IpAddr) -> Result<(), TunError> {
        let advise = |mut error: TunError| {
            error.remedy =
                format!("To set it: sudo ip route add {}/{} via {router} dev {}", network.0, network.1, self.name);
            error
        };
        let refused = self.failed("cannot set a route");
        self.add_route(Some(network), DefaultRoute::Gateway(router)).map_err(refused).map_err(advise)
    }

    fn add_route(&self, to: Option<(IpAddr, u8)>, by: DefaultRoute) -> Result<(), Errno> {
        let index = self.index().map_err(|_| Errno::NODEV)?;
        let ask = || {
            let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
            let kernel = SocketAddrNetlink::new(0, 0);
            rustix::net::sendto(&socket, &request(to, by, index), SendFlags::empty(), &kernel)?;
            let mut answer = [0; 1024];
            let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
            answered(answer.get(..length).unwrap_or_default())
        };
        ask()
    }

    /// Whether what is for `network`, of which the prefix has this length, goes by this interface. Anybody may ask.
    #[must_use]
    pub fn has_route(&self, (network, prefix): (IpAddr, u8)) -> bool {
        let file = if network.is_ipv4() { "route" } else { "ipv6_route" };
        let known = std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        known.lines().any(|line| is_way(line, &self.name, (network, prefix)).unwrap_or(false))
    }
}

/// Whether a line of `/proc/net/route` or, of IPv6, `/proc/net/ipv6_route` leads to a network by the interface called
/// `name`. `None` where it says something else.
fn is_way(line: &str, name: &str, (network, prefix): (IpAddr, u8)) -> Option<bool> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match (network, words.as_slice()) {
        // Interface, destination, gateway, flags, two counts, metric, mask; addresses as the machine has their octets.
        (IpAddr::V4(network), [by, to, _, _, _, _, _, mask, ..]) => {
            let bits = |text: &str| Some(u32::from_be_bytes(u32::from_str_radix(text, 16).ok()?.to_ne_bytes()));
            let (to, mask) = (bits(to)?, bits(mask)?);
            Some(*by == name && mask.leading_ones() <= prefix.into() && network.to_bits() & mask == to)
        }
        // Destination, its prefix, source, its prefix, next hop, metric, two counts, flags, interface.
        (IpAddr::V6(network), [to, length, .., by]) => {
            let (to, length) = (u128::from_str_radix(to, 16).ok()?, u32::from_str_radix(length, 16).ok()?);
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length)).unwrap_or(0);
            Some(*by == name && length <= prefix.into() && network.to_bits() & mask == to)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_its_length_and_the_gateway() {
        let message = request(None, DefaultRoute::Gateway(IpAddr::from([10, 9, 0, 1])), 3);
        assert_eq!(message.len(), 16 + 12 + 8 + 8);
        assert_eq!(message[..4], 44_u32.to_ne_bytes());
        assert_eq!(message[32..36], [10, 9, 0, 1]);
        assert_eq!(message[40..44], 3_u32.to_ne_bytes());
        let message = request(None, DefaultRoute::Gateway("fd00::1".parse().unwrap()), 3);
        assert_eq!(message.len(), 16 + 12 + 20 + 8);
        let message = request(None, DefaultRoute::Interface4, 3);
        assert_eq!((message.len(), message[22]), (16 + 12 + 8, RT_SCOPE_LINK));
        let (network, router) = ((IpAddr::from([10, 2, 0, 0]), 15), IpAddr::from([10, 9, 0, 1]));
        let message = request(Some(network), DefaultRoute::Gateway(router), 3);
        assert_eq!((message.len(), message[17]), (16 + 12 + 8 + 8 + 8, 15));
        assert_eq!((&message[32..36], &message[40..44]), (&[10, 2, 0, 0][..], &[10, 9, 0, 1][..]));
    }

    /// Lines as Linux 6.1 wrote them.
    #[test]
    fn a_way_to_a_network_is_one_to_all_of_it() {
        let ipv4 = if cfg!(target_endian = "little") {
            "k0\t0000020A\tFE00010A\t0003\t0\t0\t0\t0000FEFF\t0\t0\t0"
        } else {
            "k0\t0A020000\t0A0100FE\t0003\t0\t0\t0\tFFFE0000\t0\t0\t0"
        };
        let ipv6 = "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 \
                    00000000000000000000000000000000 00000100 00000001 00000000 00000001       k0";
        for (line, name, to, prefix, is) in [
            (ipv4, "k0", "10.3.0.0", 24, Some(true)),
            (ipv4, "k0", "10.2.0.0", 15, Some(true)),
            (ipv4, "k0", "10.0.0.0", 8, Some(false)),
            (ipv4, "k0", "10.4.0.0", 24, Some(false)),
            (ipv4, "k1", "10.2.0.0", 24, Some(false)),
            ("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask", "k0", "10.2.0.0", 24, None),
            (ipv6, "k0", "fd00::", 64, Some(true)),
            (ipv6, "k0", "fd01::", 64, Some(false)),
        ] {
            assert_eq!(is_way(line, name, (to.parse().unwrap(), prefix)), is, "{line} {to}");
        }
    }

    #[test]
    fn what_the_kernel_answers_is_read_and_nothing_else() {
        let answer = |status: i32| {
            let mut message = vec![0; 16];
            message[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
            message.extend(status.to_ne_bytes());
            answered(&message)
        };
        assert_eq!(answer(0), Ok(()));
        assert_eq!(answer(-1), Err(Errno::PERM));
        assert_eq!(answered(&[]), Err(Errno::BADMSG));
        assert_eq!(answered(&[0; 20]), Err(Errno::BADMSG));
    }
}
