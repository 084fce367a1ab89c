//! Addresses of sockets, as C has them.

use core::ffi::c_void;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;

use crate::memory;

/// Octets of `sockaddr_in` and of `sockaddr_in6`.
const V4: usize = 16;
const V6: usize = 28;

/// The address that `len` octets at `from` are.
pub(crate) fn read(from: *const c_void, len: u32) -> Result<SocketAddr, Errno> {
    let len = usize::try_from(len).map_err(|_| Errno::INVAL)?;
    let octets = memory::read(from, len.min(V6))?;
    let [f0, f1, p0, p1, rest @ ..] = &*octets else {
        return Err(Errno::INVAL);
    };
    let port = u16::from_be_bytes([*p0, *p1]);
    let ip = match libc::c_int::from(u16::from_ne_bytes([*f0, *f1])) {
        libc::AF_INET => {
            let (ip, _) = rest.split_first_chunk::<4>().ok_or(Errno::INVAL)?;
            IpAddr::V4(Ipv4Addr::from(*ip))
        }
        libc::AF_INET6 => {
            let ip = rest.get(4..20).and_then(|it| <[u8; 16]>::try_from(it).ok()).ok_or(Errno::INVAL)?;
            IpAddr::V6(Ipv6Addr::from(ip))
        }
        _ => return Err(Errno::AFNOSUPPORT),
    };
    Ok(SocketAddr::new(ip, port))
}

fn octets_of(address: SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut octets = u16::try_from(family).unwrap_or_default().to_ne_bytes().to_vec();
    octets.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => {
            octets.extend(ip.octets());
            octets.resize(V4, 0);
        }
        IpAddr::V6(ip) => {
            octets.extend([0; 4]);
            octets.extend(ip.octets());
            octets.resize(V6, 0);
        }
    }
    octets
}

/// Puts `address` at `to`, as much as the number at `len` says that there is room for, and its length there. Where `to`
/// is null nobody wants it.
pub(crate) fn write(to: *mut c_void, len: *mut c_void, address: SocketAddr) -> Result<(), Errno> {
    if to.is_null() {
        return Ok(());
    }
    let room = usize::try_from(memory::number(len)?).map_err(|_| Errno::INVAL)?;
    let octets = octets_of(address);
    memory::write(to, octets.get(..room).unwrap_or(&octets))?;
    let whole = libc::c_int::try_from(octets.len()).unwrap_or_default();
    memory::write(len, &whole.to_ne_bytes())
}
