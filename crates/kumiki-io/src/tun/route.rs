//! The route of what has no other: what `ip route add default` sets.
//!
//! | | |
//! |---|---|
//! | Specification | Linux, `rtnetlink(7)`: one request (`RTM_NEWROUTE`), and the answer to it |
//! | Left out | every other route, tables, metrics |

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

/// The request: all that has no other route goes by the interface with this index.
fn request(by: DefaultRoute, index: u32) -> Vec<u8> {
    let (family, scope) = match by {
        DefaultRoute::Gateway(IpAddr::V4(_)) => (AF_INET, RT_SCOPE_UNIVERSE),
        DefaultRoute::Interface4 => (AF_INET, RT_SCOPE_LINK),
        DefaultRoute::Gateway(IpAddr::V6(_)) | DefaultRoute::Interface6 => (AF_INET6, RT_SCOPE_UNIVERSE),
    };
    let mut body = vec![family, 0, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, scope, RTN_UNICAST, 0, 0, 0, 0];
    match by {
        DefaultRoute::Gateway(IpAddr::V4(address)) => attribute(&mut body, RTA_GATEWAY, &address.octets()),
        DefaultRoute::Gateway(IpAddr::V6(address)) => attribute(&mut body, RTA_GATEWAY, &address.octets()),
        DefaultRoute::Interface4 | DefaultRoute::Interface6 => {}
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
        let refused = self.failed("cannot set the default route");
        let index = self.index()?;
        let ask = || {
            let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
            let kernel = SocketAddrNetlink::new(0, 0);
            rustix::net::sendto(&socket, &request(by, index), SendFlags::empty(), &kernel)?;
            let mut answer = [0; 1024];
            let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
            answered(answer.get(..length).unwrap_or_default())
        };
        ask().map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_its_length_and_the_gateway() {
        let message = request(DefaultRoute::Gateway(IpAddr::from([10, 9, 0, 1])), 3);
        assert_eq!(message.len(), 16 + 12 + 8 + 8);
        assert_eq!(message[..4], 44_u32.to_ne_bytes());
        assert_eq!(message[32..36], [10, 9, 0, 1]);
        assert_eq!(message[40..44], 3_u32.to_ne_bytes());
        let message = request(DefaultRoute::Gateway("fd00::1".parse().unwrap()), 3);
        assert_eq!(message.len(), 16 + 12 + 20 + 8);
        let message = request(DefaultRoute::Interface4, 3);
        assert_eq!((message.len(), message[22]), (16 + 12 + 8, RT_SCOPE_LINK));
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
