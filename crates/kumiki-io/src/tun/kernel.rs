//! The kernel's end of a device, and how it is configured.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

use rustix::event::Timespec;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::control::{
    IFF_UP, Request, Request6, SIOCGIFADDR, SIOCGIFFLAGS, SIOCGIFINDEX, SIOCGIFMTU, SIOCGIFNETMASK, SIOCSIFADDR,
    SIOCSIFDSTADDR, SIOCSIFFLAGS, SIOCSIFMTU, SIOCSIFNETMASK, SIOCSIFTXQLEN, control, request, set_address,
    set_ipv6_address, set_octets,
};
use super::{Layer, MAX_NAME, TunError};

/// The kernel's end of a device: what `ip addr` and `ip link` set.
#[derive(Clone, Debug)]
pub struct KernelEnd {
    pub(super) layer: Layer,
    pub(super) name: String,
    /// Which of its addresses is meant, beside the first.
    pub(super) number: Option<usize>,
}

impl KernelEnd {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The loopback interface of the network namespace that this runs in.
    #[must_use]
    pub fn loopback() -> Self {
        Self { layer: Layer::Ip, name: "lo".to_owned(), number: None }
    }

    /// The same interface for another address of IPv4, its `number`th, which it has beside the first.
    #[must_use]
    pub fn for_another_address(&self, number: usize) -> Self {
        Self { number: Some(number), ..self.clone() }
    }

    pub(super) fn failed(&self, what: &'static str) -> impl Fn(Errno) -> TunError {
        move |why| {
            let remedy = match why {
                Errno::PERM => "This takes CAP_NET_ADMIN: be root",
                _ => "",
            };
            TunError::new((self.layer, &self.name), what, why, remedy.to_owned())
        }
    }

    fn socket(&self, family: AddressFamily) -> Result<OwnedFd, TunError> {
        rustix::net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .map_err(self.failed("cannot ask for a socket to configure it"))
    }

    fn request(&self) -> Result<Request, TunError> {
        let wrong = || self.failed("the name cannot be one")(Errno::INVAL);
        let mut made = request(&self.name).ok_or_else(wrong)?;
        if let Some(number) = self.number {
            // A name of an interface has no colon; behind one stands which of its addresses is meant (netdevice(7)).
            let label = format!("{}:{number}", self.name);
            let place = made.name.get_mut(..label.len()).filter(|_| label.len() <= MAX_NAME).ok_or_else(wrong)?;
            place.copy_from_slice(label.as_bytes());
        }
        Ok(made)
    }

    /// The number that the kernel gave it.
    pub(super) fn index(&self) -> Result<u32, TunError> {
        let socket = self.socket(AddressFamily::INET)?;
        let mut asked = self.request()?;
        control::<SIOCGIFINDEX>(&socket, &mut asked).map_err(self.failed("cannot find the interface"))?;
        let [a, b, c, d, ..] = asked.value;
        Ok(u32::from_ne_bytes([a, b, c, d]))
    }

    /// Sets the largest datagram that the kernel sends, in octets.
    ///
    /// # Errors
    /// [`TunError`] where the kernel refuses.
    pub fn set_mtu(&self, mtu: u16) -> Result<(), TunError> {
        let socket = self.socket(AddressFamily::INET)?;
        let mut asked = self.request()?;
        set_octets(&mut asked.value, 0, u32::from(mtu).to_ne_bytes());
        control::<SIOCSIFMTU>(&socket, &mut asked).map_err(self.failed("cannot set the kernel's MTU"))
    }

    /// Sets how many packets, or super-segments, may wait in the kernel for us to read them, on each queue of the
    /// device; the kernel drops more.
    ///
    /// # Errors
    /// [`TunError`] where the kernel refuses.
    pub fn set_queue(&self, packets: u16) -> Result<(), TunError> {
        let socket = self.socket(AddressFamily::INET)?;
        let mut asked = self.request()?;
        set_octets(&mut asked.value, 0, u32::from(packets).to_ne_bytes());
        control::<SIOCSIFTXQLEN>(&socket, &mut asked)
            .map_err(self.failed("cannot set the length of the kernel's queue"))
    }

    /// Sets the kernel's address and the length of its prefix, and for IPv4 that of the one host behind the device. Of
    /// IPv6 it is one address more.
    ///
    /// # Errors
    /// [`TunError`] where the kernel refuses.
    pub fn set_address(&self, address: IpAddr, prefix: u8, peer: Option<Ipv4Addr>) -> Result<(), TunError> {
        let refused = self.failed("cannot set the kernel's address");
        match address {
            IpAddr::V4(address) => {
                let socket = self.socket(AddressFamily::INET)?;
                let mut asked = self.request()?;
                set_address(&mut asked.value, address);
                control::<SIOCSIFADDR>(&socket, &mut asked).map_err(refused)?;
                if let Some(peer) = peer {
                    let mut asked = self.request()?;
                    set_address(&mut asked.value, peer);
                    control::<SIOCSIFDSTADDR>(&socket, &mut asked)
                        .map_err(self.failed("cannot set the peer's address"))?;
                }
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix.into()));
                let mut asked = self.request()?;
                set_address(&mut asked.value, Ipv4Addr::from(mask.unwrap_or(0)));
                control::<SIOCSIFNETMASK>(&socket, &mut asked).map_err(self.failed("cannot set the kernel's netmask"))
            }
            IpAddr::V6(address) => {
                let socket = self.socket(AddressFamily::INET6)?;
                let index = i32::try_from(self.index()?).unwrap_or(i32::MAX);
                let mut asked = Request6 { address: address.octets(), prefix: prefix.into(), index };
                set_ipv6_address(&socket, &mut asked).map_err(refused)
            }
        }
    }

    /// Whether it is up and has these addresses, each with the length of its prefix, and this MTU: then there is
    /// nothing that could be set. Anybody may ask.
    #[must_use]
    pub fn is_as(&self, addresses: &[(IpAddr, u8)], mtu: u16) -> bool {
        let (ipv4, ipv6): (Vec<_>, Vec<_>) = addresses.iter().partition(|(address, _)| address.is_ipv4());
        let is_set = || {
            let [low, high, ..] = self.asked::<SIOCGIFFLAGS>()?;
            let [a, b, c, d, ..] = self.asked::<SIOCGIFMTU>()?;
            Some(u16::from_ne_bytes([low, high]) & IFF_UP != 0 && u32::from_ne_bytes([a, b, c, d]) == mtu.into())
        };
        let has_ipv4 = |(number, (address, prefix)): (usize, (IpAddr, u8))| {
            let end = if number == 0 { self.clone() } else { self.for_another_address(number) };
            let [_, _, _, _, a, b, c, d, ..] = end.asked::<SIOCGIFADDR>()?;
            let [_, _, _, _, e, f, g, h, ..] = end.asked::<SIOCGIFNETMASK>()?;
            Some(
                address == IpAddr::from([a, b, c, d])
                    && u32::from_be_bytes([e, f, g, h]).leading_ones() == prefix.into(),
            )
        };
        let known = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
        let has_ipv6 = |(address, prefix): (IpAddr, u8)| {
            let IpAddr::V6(address) = address else { return false };
            let (address, prefix) = (format!("{:032x}", address.to_bits()), format!("{prefix:02x}"));
            known.lines().any(|line| {
                // Address, index, length of the prefix, scope, flags, name.
                let words: Vec<&str> = line.split_whitespace().collect();
                matches!(words.as_slice(), [at, _, length, _, _, name] if *at == address && *length == prefix && *name == self.name)
            })
        };
        is_set() == Some(true)
            && ipv4.into_iter().enumerate().all(|it| has_ipv4(it) == Some(true))
            && ipv6.into_iter().all(has_ipv6)
    }

    /// What the kernel answers to a question that anybody may ask.
    fn asked<const OPCODE: rustix::ioctl::Opcode>(&self) -> Option<[u8; 24]> {
        let socket = self.socket(AddressFamily::INET).ok()?;
        let mut asked = self.request().ok()?;
        control::<OPCODE>(&socket, &mut asked).ok()?;
        Some(asked.value)
    }

    /// Keeps the kernel from making an address of IPv6 for the link by itself, where it can be kept from it.
    pub fn leave_link_local_to_us(&self) {
        // 1: none (Documentation/networking/ip-sysctl.rst, addr_gen_mode). There is no such file where there is no
        // IPv6.
        let path = format!("/proc/sys/net/ipv6/conf/{}/addr_gen_mode", self.name);
        let _ = std::fs::write(path, "1");
    }

    /// Brings the kernel's end up or down. Down it loses its addresses of IPv6.
    ///
    /// # Errors
    /// [`TunError`] where the kernel refuses.
    pub fn set_up(&self, up: bool) -> Result<(), TunError> {
        let socket = self.socket(AddressFamily::INET)?;
        let mut asked = self.request()?;
        control::<SIOCGIFFLAGS>(&socket, &mut asked).map_err(self.failed("cannot read its flags"))?;
        let [low, high, ..] = asked.value;
        let flags = u16::from_ne_bytes([low, high]);
        let flags = if up { flags | IFF_UP } else { flags & !IFF_UP };
        let mut asked = self.request()?;
        set_octets(&mut asked.value, 0, flags.to_ne_bytes());
        let what = if up { "cannot bring it up" } else { "cannot bring it down" };
        control::<SIOCSIFFLAGS>(&socket, &mut asked).map_err(self.failed(what))
    }
}

/// Waits until the kernel uses an address of IPv6: at once as a rule, and later where other work keeps it from that.
/// Where it takes longer than some seconds, what comes first is lost as on any line.
pub(super) fn wait_for(address: Ipv6Addr) {
    let millisecond = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    for _ in 0..3000 {
        if is_used(address).unwrap_or(true) {
            return;
        }
        let _ = rustix::event::poll(&mut [], Some(&millisecond));
    }
}

/// Whether the kernel has found that nobody else has `address`, and has made its route to itself, without which it
/// takes nothing that is sent there. In the namespace of this thread, which may be another one than that of the
/// process.
pub(super) fn is_used(address: Ipv6Addr) -> io::Result<bool> {
    fn flags(word: Option<&&str>) -> u32 {
        word.and_then(|word| u32::from_str_radix(word, 16).ok()).unwrap_or(0)
    }
    /// `IFA_F_TENTATIVE` of linux/if_addr.h.
    const TENTATIVE: u32 = 0x40;
    /// `RTF_LOCAL` of linux/ipv6_route.h.
    const LOCAL: u32 = 0x8000_0000;
    let written = format!("{:032x}", address.to_bits());
    let has = |file: &str, is_it: fn(&[&str]) -> bool| {
        let all = std::fs::read_to_string(format!("/proc/thread-self/net/{file}"))?;
        let mut lines = all.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        Ok::<_, io::Error>(lines.any(|words| words.first() == Some(&written.as_str()) && is_it(&words)))
    };
    // Address, index, length of the prefix, scope, flags, name.
    let is_settled = has("if_inet6", |words| flags(words.get(4)) & TENTATIVE == 0)?;
    // Destination and source with their lengths, next hop, metric, two counts, flags, name.
    Ok(is_settled && has("ipv6_route", |words| words.get(1) == Some(&"80") && flags(words.get(8)) & LOCAL != 0)?)
}
