//! The requests to the kernel that a device takes, and the structures in them.

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Opcode, Setter, Updater, ioctl};

use super::MAX_NAME;

// Requests: linux/if_tun.h, `_IOW('T', 202, int)`, and linux/sockios.h.
pub(super) const TUNSETIFF: Opcode = 0x4004_54ca;
// `_IOR('T', 210, unsigned int)`, of which the argument is a pointer to a `struct ifreq` all the same.
const TUNGETIFF: Opcode = 0x8004_54d2;
// `_IOW('T', 205, int)`, of which the argument is the number itself.
const TUNSETLINK: Opcode = 0x4004_54cd;
// `_IOW('T', 208, unsigned int)`, likewise.
const TUNSETOFFLOAD: Opcode = 0x4004_54d0;
// `_IOW('T', 216, int)`, of which the argument is a pointer to the number.
const TUNSETVNETHDRSZ: Opcode = 0x4004_54d8;
pub(super) const SIOCGIFFLAGS: Opcode = 0x8913;
pub(super) const SIOCSIFFLAGS: Opcode = 0x8914;
pub(super) const SIOCGIFADDR: Opcode = 0x8915;
pub(super) const SIOCSIFADDR: Opcode = 0x8916;
pub(super) const SIOCSIFDSTADDR: Opcode = 0x8918;
pub(super) const SIOCGIFNETMASK: Opcode = 0x891b;
pub(super) const SIOCSIFNETMASK: Opcode = 0x891c;
pub(super) const SIOCGIFMTU: Opcode = 0x8921;
pub(super) const SIOCSIFMTU: Opcode = 0x8922;
pub(super) const SIOCGIFINDEX: Opcode = 0x8933;
pub(super) const SIOCSIFTXQLEN: Opcode = 0x8943;

// Flags: linux/if_tun.h and linux/if.h.
pub(super) const IFF_TUN: u16 = 0x0001;
pub(super) const IFF_TAP: u16 = 0x0002;
pub(super) const IFF_MULTI_QUEUE: u16 = 0x0100;
pub(super) const IFF_NO_PI: u16 = 0x1000;
pub(super) const IFF_VNET_HDR: u16 = 0x4000;
pub(super) const IFF_UP: u16 = 0x0001;

/// `ARPHRD_X25` of linux/if_arp.h: an interface of X.25.
pub(super) const X25: usize = 271;

/// `AF_INET` of `struct sockaddr_in`.
const INET: u16 = 2;

/// `struct ifreq`: the interface's name, and a union of which every member used here fits into 24 octets.
#[repr(C, align(8))]
pub(super) struct Request {
    pub(super) name: [u8; MAX_NAME + 1],
    pub(super) value: [u8; 24],
}

/// `struct in6_ifreq`, for [`SIOCSIFADDR`] on a socket of IPv6.
#[repr(C)]
pub(super) struct Request6 {
    pub(super) address: [u8; 16],
    pub(super) prefix: u32,
    pub(super) index: i32,
}

/// A request for the interface `name`; `None` where that can be no name (as `dev_valid_name` of Linux has it).
pub(super) fn request(name: &str) -> Option<Request> {
    let octets = name.as_bytes();
    let fits = (1..=MAX_NAME).contains(&octets.len());
    let clean = !octets.iter().any(|octet| octet.is_ascii_whitespace() || matches!(octet, b'/' | b':' | b'%' | 0));
    if !fits || !clean || matches!(name, "." | "..") {
        return None;
    }
    let mut request = Request { name: [0; MAX_NAME + 1], value: [0; 24] };
    for (to, from) in request.name.iter_mut().zip(octets) {
        *to = *from;
    }
    Some(request)
}

pub(super) fn set_octets<const N: usize>(value: &mut [u8; 24], at: usize, octets: [u8; N]) {
    for (to, from) in value.iter_mut().skip(at).zip(octets) {
        *to = from;
    }
}

/// `struct sockaddr_in`: family, port (0), address.
pub(super) fn set_address(value: &mut [u8; 24], address: Ipv4Addr) {
    set_octets(value, 0, INET.to_ne_bytes());
    set_octets(value, 4, address.octets());
}

/// Makes one of the requests above.
#[expect(unsafe_code, reason = "a request is a number and a pointer to the kernel")]
pub(super) fn control<const OPCODE: Opcode>(file: &OwnedFd, request: &mut Request) -> Result<(), Errno> {
    const {
        assert!(
            OPCODE == TUNSETIFF
                || OPCODE == TUNGETIFF
                || OPCODE == SIOCGIFFLAGS
                || OPCODE == SIOCSIFFLAGS
                || OPCODE == SIOCGIFADDR
                || OPCODE == SIOCSIFADDR
                || OPCODE == SIOCSIFDSTADDR
                || OPCODE == SIOCGIFNETMASK
                || OPCODE == SIOCSIFNETMASK
                || OPCODE == SIOCGIFMTU
                || OPCODE == SIOCSIFMTU
                || OPCODE == SIOCGIFINDEX
                || OPCODE == SIOCSIFTXQLEN
        );
    }
    // SAFETY: every request that the assertion above lets through takes a pointer to a `struct ifreq` and reads or
    // writes within it. `Request` has its size (40 octets where pointers have 64 bits, and no less than its 32
    // elsewhere) and the alignment of its strictest member, is plain octets of which every value is valid, and is
    // borrowed for the whole call.
    unsafe { ioctl(file, Updater::<OPCODE, Request>::new(request)) }
}

/// The name of an open device, and the flags with which it was opened.
pub(super) fn opened_as(file: &OwnedFd) -> Result<(String, u16), Errno> {
    let mut request = Request { name: [0; MAX_NAME + 1], value: [0; 24] };
    control::<TUNGETIFF>(file, &mut request)?;
    let name = request.name.split(|octet| *octet == 0).next().unwrap_or_default();
    let flags = request.value.first_chunk().map_or(0, |octets| u16::from_ne_bytes(*octets));
    Ok((String::from_utf8_lossy(name).into_owned(), flags))
}

/// [`SIOCSIFADDR`] on `socket`, which is one of IPv6.
#[expect(unsafe_code, reason = "a request is a number and a pointer to the kernel")]
pub(super) fn set_ipv6_address(socket: &OwnedFd, request: &mut Request6) -> Result<(), Errno> {
    // SAFETY: on a socket of IPv6 this request takes a pointer to a `struct in6_ifreq`, whose layout `Request6` has,
    // and reads it. On any other socket it would take a `struct ifreq`, which is longer: the only caller opens one of
    // IPv6 before.
    unsafe { ioctl(socket, Updater::<SIOCSIFADDR, Request6>::new(request)) }
}

/// [`TUNSETOFFLOAD`]: what the kernel need not do before it hands over a packet.
#[expect(unsafe_code, reason = "a request is a number and an argument")]
pub(super) fn set_offload(file: &OwnedFd, offloads: usize) -> Result<(), Errno> {
    // SAFETY: this request takes its argument by value, and neither reads nor writes memory of ours; on a file that is
    // no TUN device it is refused.
    unsafe { ioctl(file, IntegerSetter::<TUNSETOFFLOAD>::new_usize(offloads)) }
}

/// [`TUNSETVNETHDRSZ`]: how many octets stand in front of each packet.
#[expect(unsafe_code, reason = "a request is a number and a pointer to the kernel")]
pub(super) fn set_header_len(file: &OwnedFd, octets: i32) -> Result<(), Errno> {
    // SAFETY: this request takes a pointer to an `int` and reads it; it is borrowed for the whole call.
    unsafe { ioctl(file, Setter::<TUNSETVNETHDRSZ, i32>::new(octets)) }
}

/// [`TUNSETLINK`]: the hardware type that the interface has from now on.
#[expect(unsafe_code, reason = "a request is a number and an argument")]
pub(super) fn set_link(file: &OwnedFd, link: usize) -> Result<(), Errno> {
    // SAFETY: this request takes its argument by value, and neither reads nor writes memory of ours; on a file that is
    // no TUN device it is refused.
    unsafe { ioctl(file, IntegerSetter::<TUNSETLINK>::new_usize(link)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_interface_can_have_makes_no_request() {
        assert!(request("sixteen-letters-").is_none());
        assert!(request("fifteen-letters").is_some());
    }

    #[test]
    fn an_address_stands_where_the_kernel_reads_it() {
        let mut value = [0; 24];
        set_address(&mut value, Ipv4Addr::new(10, 9, 0, 1));
        let [low, high, _, _, rest @ ..] = value;
        assert_eq!(u16::from_ne_bytes([low, high]), INET);
        assert_eq!(rest[..4], [10, 9, 0, 1]);
    }
}
