//! TUN and TAP devices of Linux: a network interface whose packets, or Ethernet frames, a program reads and writes.
//!
//! | | |
//! |---|---|
//! | Specification | Linux, `Documentation/networking/tuntap.rst`; the `ioctl` requests of `tun(4)` and `netdevice(7)` |
//! | Packets of TUN | IPv4 and IPv6 datagrams without any header in front (`IFF_TUN`, `IFF_NO_PI`), one per read and write |
//! | Frames of TAP | Ethernet frames from the destination address on, without frame check sequence (`IFF_TAP`, `IFF_NO_PI`) |
//! | Left out | `IFF_VNET_HDR` (super-segments and checksums left to the kernel), several queues |
//!
//! The device lives as long as the program that made it, unless it was made before and made to last (`ip tuntap add`). To make
//! one, or to give the kernel's end an address, takes `CAP_NET_ADMIN` in the network namespace; to use one that lasts does not,
//! where its owner is the user.
//!
//! Written here rather than taken from a crate: what is needed is one `open`, one `ioctl` and six requests to configure the
//! interface. The crates for TUN devices bring the same calls for seven operating systems, and an asynchronous runtime or a
//! netlink library with them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kumiki_graph::Address;
use kumiki_octets::{Message, Page};
use rustix::event::Timespec;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::device::{Arrival, Descriptors, RealDevice, Sent};

const CLONE_DEVICE: &str = "/dev/net/tun";

/// Longest name of an interface: `IFNAMSIZ` less the NUL at its end.
pub const MAX_NAME: usize = 15;

// Requests: linux/if_tun.h, `_IOW('T', 202, int)`, and linux/sockios.h.
const TUNSETIFF: Opcode = 0x4004_54ca;
// `_IOW('T', 205, int)`, of which the argument is the number itself.
const TUNSETLINK: Opcode = 0x4004_54cd;
const SIOCGIFFLAGS: Opcode = 0x8913;
const SIOCSIFFLAGS: Opcode = 0x8914;
const SIOCSIFADDR: Opcode = 0x8916;
const SIOCSIFDSTADDR: Opcode = 0x8918;
const SIOCSIFNETMASK: Opcode = 0x891c;
const SIOCSIFMTU: Opcode = 0x8922;
const SIOCGIFINDEX: Opcode = 0x8933;

// Flags: linux/if_tun.h and linux/if.h.
const IFF_TUN: u16 = 0x0001;
const IFF_TAP: u16 = 0x0002;
const IFF_NO_PI: u16 = 0x1000;
const IFF_UP: u16 = 0x0001;

/// `ARPHRD_X25` of linux/if_arp.h: an interface of X.25.
const X25: usize = 271;

/// `AF_INET` of `struct sockaddr_in`.
const INET: u16 = 2;

/// `struct ifreq`: the interface's name, and a union of which every member used here fits into 24 octets.
#[repr(C, align(8))]
struct Request {
    name: [u8; MAX_NAME + 1],
    value: [u8; 24],
}

/// `struct in6_ifreq`, for [`SIOCSIFADDR`] on a socket of IPv6.
#[repr(C)]
struct Request6 {
    address: [u8; 16],
    prefix: u32,
    index: i32,
}

/// What an Ethernet frame has around its payload: two addresses, a type, and perhaps a VLAN tag of IEEE 802.1Q and one of 802.1ad.
const ETHERNET: usize = 14 + 2 * 4;

/// What crosses a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// TUN: datagrams of IP.
    Ip,
    /// TAP: Ethernet frames.
    Ethernet,
}

impl Layer {
    const fn flag(self) -> u16 {
        match self {
            Self::Ip => IFF_TUN,
            Self::Ethernet => IFF_TAP,
        }
    }

    /// As `ip tuntap` has it.
    const fn mode(self) -> &'static str {
        match self {
            Self::Ip => "tun",
            Self::Ethernet => "tap",
        }
    }

    /// As people write it.
    const fn name(self) -> &'static str {
        match self {
            Self::Ip => "TUN",
            Self::Ethernet => "TAP",
        }
    }
}

/// Why there is no device: which, what went wrong, what to do.
#[derive(Debug, thiserror::Error)]
#[error("{} device `{name}`: {what}: {why}{}{remedy}", layer.name(), if remedy.is_empty() { "" } else { ". " })]
pub struct TunError {
    /// Which kind of device.
    pub layer: Layer,
    /// Its name.
    pub name: String,
    /// What was tried.
    pub what: &'static str,
    /// What the kernel said.
    pub why: io::Error,
    /// What would help; empty where that is not known.
    pub remedy: String,
}

impl TunError {
    fn new((layer, name): (Layer, &str), what: &'static str, why: Errno, remedy: String) -> Self {
        Self { layer, name: name.to_owned(), what, why: why.into(), remedy }
    }
}

/// A TUN or TAP device, not the kernel's end of it but ours.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    layer: Layer,
    name: String,
    /// The most octets of one read.
    most: usize,
    /// Where a packet is put together that is not in one piece.
    packet: Vec<u8>,
}

impl Tun {
    /// Opens the TUN device called `name`, which is made where there is none. Of packets of more than `mtu` octets the rest is not
    /// read.
    ///
    /// # Errors
    /// [`TunError`] where the name cannot be one, there is no `/dev/net/tun`, or the kernel refuses.
    pub fn open(name: &str, mtu: u16) -> Result<Self, TunError> {
        Self::open_layer(Layer::Ip, name, mtu)
    }

    /// As [`Tun::open`] for a TAP device; `mtu` counts the payload of a frame.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_tap(name: &str, mtu: u16) -> Result<Self, TunError> {
        Self::open_layer(Layer::Ethernet, name, mtu)
    }

    /// As [`Tun::open`], and has the kernel take the interface for one of X.25 (`ARPHRD_X25`): its packets begin with an octet that says what
    /// they are (`Documentation/networking/x25-iface.rst`). It must be down for that.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_x25(name: &str, mtu: u16) -> Result<Self, TunError> {
        let tun = Self::open_layer(Layer::Ip, name, mtu)?;
        set_link(&tun.file, X25).map_err(|why| {
            let remedy = match why {
                Errno::BUSY => {
                    format!("It is up: sudo ip link set {name} down, and up again once this runs")
                }
                _ => String::new(),
            };
            TunError::new((Layer::Ip, name), "cannot make it one of X.25", why, remedy)
        })?;
        Ok(tun)
    }

    fn open_layer(layer: Layer, name: &str, mtu: u16) -> Result<Self, TunError> {
        let (device, mode, kind) = ((layer, name), layer.mode(), layer.name());
        let mut request = request(name).ok_or_else(|| {
            let remedy = format!("a name has 1 to {MAX_NAME} octets and no slash or blank");
            TunError::new(device, "the name cannot be one", Errno::INVAL, remedy)
        })?;
        let file = rustix::fs::open(
            CLONE_DEVICE,
            OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|why| {
            let remedy = match why {
                Errno::NOENT => "Load the driver: modprobe tun. In a container, give it the device: --device /dev/net/tun".to_owned(),
                Errno::ACCESS | Errno::PERM => format!("Be root, or have the device made for you: sudo ip tuntap add {name} mode {mode} user \"$USER\", and sudo chmod a+rw {CLONE_DEVICE}"),
                _ => String::new(),
            };
            TunError::new(device, "cannot open /dev/net/tun", why, remedy)
        })?;
        set_octets(&mut request.value, 0, (layer.flag() | IFF_NO_PI).to_ne_bytes());
        control::<TUNSETIFF>(&file, &mut request).map_err(|why| {
            let remedy = match why {
                Errno::PERM => format!("This takes CAP_NET_ADMIN: be root, or have it made once: sudo ip tuntap add {name} mode {mode} user \"$USER\""),
                Errno::BUSY => "Another program has it open".to_owned(),
                Errno::INVAL => format!("There is an interface of this name that is no {kind} device, or one with other flags"),
                _ => String::new(),
            };
            TunError::new(device, "the kernel does not make or give it", why, remedy)
        })?;
        Ok(Self {
            file,
            layer,
            name: name.to_owned(),
            most: match layer {
                Layer::Ip => usize::from(mtu),
                Layer::Ethernet => usize::from(mtu) + ETHERNET,
            },
            packet: Vec::new(),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel's end of the device.
    #[must_use]
    pub fn kernel(&self) -> KernelEnd {
        KernelEnd { layer: self.layer, name: self.name.clone() }
    }

    /// Gives the kernel's end an address and the length of its prefix, an MTU, and brings it up.
    ///
    /// # Errors
    /// [`TunError`] where the kernel refuses.
    pub fn configure_kernel(&self, address: IpAddr, prefix: u8, mtu: u16) -> Result<(), TunError> {
        let end = self.kernel();
        let advise = |mut error: TunError| {
            if error.why.kind() == io::ErrorKind::PermissionDenied {
                error.remedy = format!(
                    "This takes CAP_NET_ADMIN: be root, or type sudo ip addr add {address}/{prefix} dev {0} && sudo ip link set {0} mtu {mtu} up",
                    self.name
                );
            }
            error
        };
        end.set_mtu(mtu).map_err(advise)?;
        end.set_address(address, prefix, None).map_err(advise)?;
        end.set_up(true).map_err(advise)?;
        if let IpAddr::V6(address) = address {
            wait_for(address);
        }
        Ok(())
    }
}

/// The kernel's end of a device: what `ip addr` and `ip link` set.
#[derive(Clone, Debug)]
pub struct KernelEnd {
    layer: Layer,
    name: String,
}

impl KernelEnd {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn failed(&self, what: &'static str) -> impl Fn(Errno) -> TunError {
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
        request(&self.name).ok_or_else(|| self.failed("the name cannot be one")(Errno::INVAL))
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

    /// Sets the kernel's address and the length of its prefix, and for IPv4 that of the one host behind the device. Of IPv6 it is
    /// one address more.
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
                let mut asked = self.request()?;
                control::<SIOCGIFINDEX>(&socket, &mut asked).map_err(&refused)?;
                let [a, b, c, d, ..] = asked.value;
                let mut asked = Request6 {
                    address: address.octets(),
                    prefix: prefix.into(),
                    index: i32::from_ne_bytes([a, b, c, d]),
                };
                set_ipv6_address(&socket, &mut asked).map_err(refused)
            }
        }
    }

    /// Keeps the kernel from making an address of IPv6 for the link by itself, where it can be kept from it.
    pub fn leave_link_local_to_us(&self) {
        // 1: none (Documentation/networking/ip-sysctl.rst, addr_gen_mode). There is no such file where there is no IPv6.
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

/// Waits until the kernel uses an address of IPv6, which it does once it has found that there is nobody to ask for duplicates.
/// Where it takes long, what comes first is lost as on any line.
fn wait_for(address: Ipv6Addr) {
    /// `IFA_F_TENTATIVE` of linux/if_addr.h.
    const TENTATIVE: u32 = 0x40;
    let millisecond = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    let written = format!("{:032x}", address.to_bits());
    for _ in 0..200 {
        let all = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
        let mut lines = all.lines().map(str::split_whitespace);
        let flags = lines.find_map(|mut words| {
            let it_is = words.next() == Some(written.as_str());
            words.nth(3).filter(|_| it_is)
        });
        let flags = flags.and_then(|flags| u32::from_str_radix(flags, 16).ok());
        if flags.is_none_or(|flags| flags & TENTATIVE == 0) {
            return;
        }
        let _ = rustix::event::poll(&mut [], Some(&millisecond));
    }
}

/// A request for the interface `name`; `None` where that can be no name (as `dev_valid_name` of Linux has it).
fn request(name: &str) -> Option<Request> {
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

fn set_octets<const N: usize>(value: &mut [u8; 24], at: usize, octets: [u8; N]) {
    for (to, from) in value.iter_mut().skip(at).zip(octets) {
        *to = from;
    }
}

/// `struct sockaddr_in`: family, port (0), address.
fn set_address(value: &mut [u8; 24], address: Ipv4Addr) {
    set_octets(value, 0, INET.to_ne_bytes());
    set_octets(value, 4, address.octets());
}

/// Makes one of the requests above.
#[expect(unsafe_code, reason = "a request is a number and a pointer to the kernel")]
fn control<const OPCODE: Opcode>(file: &OwnedFd, request: &mut Request) -> Result<(), Errno> {
    const {
        assert!(
            OPCODE == TUNSETIFF
                || OPCODE == SIOCGIFFLAGS
                || OPCODE == SIOCSIFFLAGS
                || OPCODE == SIOCSIFADDR
                || OPCODE == SIOCSIFDSTADDR
                || OPCODE == SIOCSIFNETMASK
                || OPCODE == SIOCSIFMTU
                || OPCODE == SIOCGIFINDEX
        );
    }
    // SAFETY: every request that the assertion above lets through takes a pointer to a `struct ifreq` and reads or writes
    // within it. `Request` has its size (40 octets where pointers have 64 bits, and no less than its 32 elsewhere) and the
    // alignment of its strictest member, is plain octets of which every value is valid, and is borrowed for the whole call.
    unsafe { ioctl(file, Updater::<OPCODE, Request>::new(request)) }
}

/// [`SIOCSIFADDR`] on `socket`, which is one of IPv6.
#[expect(unsafe_code, reason = "a request is a number and a pointer to the kernel")]
fn set_ipv6_address(socket: &OwnedFd, request: &mut Request6) -> Result<(), Errno> {
    // SAFETY: on a socket of IPv6 this request takes a pointer to a `struct in6_ifreq`, whose layout `Request6` has, and reads
    // it. On any other socket it would take a `struct ifreq`, which is longer: the only caller opens one of IPv6 before.
    unsafe { ioctl(socket, Updater::<SIOCSIFADDR, Request6>::new(request)) }
}

/// [`TUNSETLINK`]: the hardware type that the interface has from now on.
#[expect(unsafe_code, reason = "a request is a number and an argument")]
fn set_link(file: &OwnedFd, link: usize) -> Result<(), Errno> {
    // SAFETY: this request takes its argument by value, and neither reads nor writes memory of ours; on a file that is no TUN device it is refused.
    unsafe { ioctl(file, IntegerSetter::<TUNSETLINK>::new_usize(link)) }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl RealDevice for Tun {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::both(self.file.as_fd())
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let mut result = Ok(0);
        // Pages are recycled: building one that is then not used costs little.
        let page = Page::build(self.most, |octets| {
            result = rustix::io::retry_on_intr(|| rustix::io::read(&self.file, &mut *octets));
        });
        match result {
            Ok(0) | Err(Errno::AGAIN) => Ok(None),
            Ok(read) => {
                let octets = page.octets().get(..read).unwrap_or_default();
                // A small packet must not hold on to a page for a large one.
                let message = if read < self.most / 2 {
                    Message::from_octets(octets)
                } else {
                    let mut message = Message::from_page(page);
                    message.truncate(read);
                    message
                };
                Ok(Some(Arrival::of(message)))
            }
            Err(why) => Err(why.into()),
        }
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        self.packet.clear();
        packet.for_each(|octets| self.packet.extend_from_slice(octets));
        match rustix::io::retry_on_intr(|| rustix::io::write(&self.file, &self.packet)) {
            Ok(_) => Ok(Sent::Taken),
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => Ok(Sent::Full),
            // EIO: the interface is down. EINVAL: no datagram.
            Err(Errno::IO | Errno::INVAL | Errno::MSGSIZE) => Ok(Sent::Refused),
            Err(why) => Err(why.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_interface_can_have_are_refused_before_anything_is_opened() {
        for name in ["", ".", "..", "a b", "a/b", "a:1", "k%d", "sixteen-letters-"] {
            let error = Tun::open(name, 1500).unwrap_err().to_string();
            assert!(error.contains("the name cannot be one"), "{error}");
            assert!(error.contains("1 to 15 octets"), "{error}");
        }
        assert!(request("fifteen-letters").is_some());
    }

    #[test]
    fn an_interface_that_is_no_tun_device_is_refused_with_its_name() {
        // Without a driver or the right to use it the error comes earlier, and names the device as well.
        let error = Tun::open("lo", 1500).unwrap_err().to_string();
        assert!(error.starts_with("TUN device `lo`: "), "{error}");
        let error = Tun::open_tap("lo", 1500).unwrap_err().to_string();
        assert!(error.starts_with("TAP device `lo`: "), "{error}");
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
