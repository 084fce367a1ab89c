//! TUN and TAP devices of Linux: a network interface whose packets, or Ethernet frames, a program reads and writes.
//!
//! | | |
//! |---|---|
//! | Specification | Linux, `Documentation/networking/tuntap.rst`; the `ioctl` requests of `tun(4)` and `netdevice(7)` |
//! | Packets of TUN | IPv4 and IPv6 datagrams (`IFF_TUN`, `IFF_NO_PI`), one per read and write |
//! | Frames of TAP | Ethernet frames from the destination address on, without frame check sequence (`IFF_TAP`, `IFF_NO_PI`) |
//! | In front of both | unless they are to be [`Packets::Plain`], the header of a virtual network card (`IFF_VNET_HDR`, [`kumiki_link::offload::virtio`]) |
//! | Several queues | each is a device ([`Tun::open_queues`], `IFF_MULTI_QUEUE`) |
//! | Left out | choosing the queue of a packet by a program (`TUNSETSTEERINGEBPF`), which takes rights that the rest does not; super-segments of UDP that are written: no layer makes them |
//!
//! # Super-segments
//!
//! With that header one read or write moves up to 64 KiB of a TCP connection, and nobody sums what never was on a wire.
//! What is read so says in its [`Meta`](kumiki_octets::Meta) how it is cut, and that its checksum is yet to be written
//! ([`Checksum::Partial`](kumiki_octets::Checksum::Partial)): TCP and UDP do not verify such a sum, as there is none,
//! and who passes the packet on to where others could harm it completes it ([`kumiki_link::offload::cut()`]; the
//! executor does). Many datagrams of UDP that the kernel hands over as one are cut here. What the kernel does not take
//! in one piece it gets in packets, from then on.
//!
//! The device lives as long as the program that made it, unless it was made before and made to last (`ip tuntap add`).
//! To make one, or to give the kernel's end an address, takes `CAP_NET_ADMIN` in the network namespace; to use one that
//! lasts does not, where its owner is the user.
//!
//! Written here rather than taken from a crate: what is needed is one `open`, one `ioctl` and six requests to configure
//! the interface. The crates for TUN devices bring the same calls for seven operating systems, and an asynchronous
//! runtime or a netlink library with them.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kumiki_graph::Address;
use kumiki_octets::{Message, Page};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

mod control;
mod kernel;
mod route;
mod virtio;

use crate::device::{Arrival, Descriptors, RealDevice, Sent};
use control::{
    IFF_MULTI_QUEUE, IFF_NO_PI, IFF_TAP, IFF_TUN, IFF_VNET_HDR, TUNSETIFF, X25, control, opened_as, request, set_link,
    set_octets,
};
pub use kernel::KernelEnd;
pub use route::DefaultRoute;
use virtio::Virtio;

const CLONE_DEVICE: &str = "/dev/net/tun";

/// How many packets may wait for us in the kernel. A device has 500 by itself; a thousand connections that begin
/// together send ten each (RFC 6928), and what does not fit is lost, retransmitted, and from then on sent in single
/// packets. They wait for nothing but this process.
const QUEUE: u16 = 10_000;

/// Longest name of an interface: `IFNAMSIZ` less the NUL at its end.
pub const MAX_NAME: usize = 15;

/// Whether an interface can be called `name`.
///
/// # Errors
/// A sentence that says what would be right.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_one = request(name).is_some();
    is_one.then_some(()).ok_or_else(|| format!("`{name}` can be no name of an interface: a {NAMES}"))
}

/// What names of interfaces are.
const NAMES: &str = "name has 1 to 15 octets, and no slash, colon, percent sign or blank";

/// What an Ethernet frame has around its payload: two addresses, a type, and perhaps a VLAN tag of IEEE 802.1Q and one
/// of 802.1ad.
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

    /// The most octets of a packet.
    fn most(self, mtu: u16) -> usize {
        match self {
            Self::Ip => usize::from(mtu),
            Self::Ethernet => usize::from(mtu) + ETHERNET,
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

/// What crosses a device at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Packets {
    /// Super-segments too, and checksums that are yet to be written, where the kernel knows how.
    #[default]
    Any,
    /// Packets alone, each as it would be on a line: for who looks at each of them.
    Plain,
}

/// How a device is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TunConfig {
    /// What crosses it.
    pub layer: Layer,
    /// The most octets of a datagram, of TAP those of a frame's payload; of plain packets that are longer the rest is
    /// not read.
    pub mtu: u16,
    /// What crosses it at once.
    pub packets: Packets,
}

/// A TUN or TAP device, not the kernel's end of it but ours.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    layer: Layer,
    name: String,
    /// The most octets of a plain packet.
    most: usize,
    /// What is in front of packets, if something is.
    virtio: Option<Virtio>,
    /// Why there is nothing, though there should be.
    plain: Option<io::Error>,
    /// Where a packet is put together that is in too many pieces.
    packet: Vec<u8>,
}

impl Tun {
    /// Opens the TUN device called `name`, which is made where there is none; super-segments cross it where the kernel
    /// knows how.
    ///
    /// # Errors
    /// [`TunError`] where the name cannot be one, there is no `/dev/net/tun`, or the kernel refuses.
    pub fn open(name: &str, mtu: u16) -> Result<Self, TunError> {
        Self::open_as(name, TunConfig { layer: Layer::Ip, mtu, packets: Packets::Any })
    }

    /// As [`Tun::open`] for a TAP device; `mtu` counts the payload of a frame.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_tap(name: &str, mtu: u16) -> Result<Self, TunError> {
        Self::open_as(name, TunConfig { layer: Layer::Ethernet, mtu, packets: Packets::Any })
    }

    /// As [`Tun::open`], and has the kernel take the interface for one of X.25 (`ARPHRD_X25`): its packets begin with
    /// an octet that says what they are (`Documentation/networking/x25-iface.rst`). It must be down for that.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_x25(name: &str, mtu: u16) -> Result<Self, TunError> {
        let tun = Self::open_as(name, TunConfig { layer: Layer::Ip, mtu, packets: Packets::Plain })?;
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

    /// As [`Tun::open`], as `config` says.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_as(name: &str, config: TunConfig) -> Result<Self, TunError> {
        Self::attach(name, config, 0)
    }

    /// As [`Tun::open`], with so many queues, 1 at least: each is a device of its own for whoever reads and writes it,
    /// and all are one to the kernel. What belongs to one flow it hands to the queue from which that was written last;
    /// until one was, and three seconds after that, it chooses.
    ///
    /// A device that lasts must have been made for several (`ip tuntap add ... multi_queue`).
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_queues(name: &str, mtu: u16, queues: usize) -> Result<Vec<Self>, TunError> {
        Self::open_queues_as(name, TunConfig { layer: Layer::Ip, mtu, packets: Packets::Any }, queues)
    }

    /// As [`Tun::open_queues`], as `config` says.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_queues_as(name: &str, config: TunConfig, queues: usize) -> Result<Vec<Self>, TunError> {
        let several = if queues > 1 { IFF_MULTI_QUEUE } else { 0 };
        let first = Self::attach(name, config, several)?;
        // What the kernel has not granted the first is not asked for again: all have the same in front of their
        // packets.
        let packets = if first.virtio.is_some() { Packets::Any } else { Packets::Plain };
        let mut all = vec![first];
        for _ in 1..queues {
            all.push(Self::attach(name, TunConfig { packets, ..config }, several)?);
        }
        Ok(all)
    }

    /// Opens the device, or one more queue of it, with these flags beside those of `config`.
    fn attach(name: &str, config: TunConfig, several: u16) -> Result<Self, TunError> {
        let TunConfig { layer, mtu, packets } = config;
        let (device, mode, kind) = ((layer, name), layer.mode(), layer.name());
        let mut request = request(name)
            .ok_or_else(|| TunError::new(device, "the name cannot be one", Errno::INVAL, format!("A {NAMES}")))?;
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
        let mut attach = |flags: u16| {
            set_octets(&mut request.value, 0, (layer.flag() | IFF_NO_PI | several | flags).to_ne_bytes());
            control::<TUNSETIFF>(&file, &mut request)
        };
        let mut plain = None;
        let with_header = match packets {
            // A kernel that does not know the flag says no more than that; what else is wrong is found below.
            Packets::Any => attach(IFF_VNET_HDR).map_err(|why| plain = Some(why.into())).is_ok(),
            Packets::Plain => false,
        };
        let attached = if with_header { Ok(()) } else { attach(0) };
        attached.map_err(|why| {
            let remedy = match why {
                Errno::PERM => format!("This takes CAP_NET_ADMIN: be root, or have it made once: sudo ip tuntap add {name} mode {mode} user \"$USER\""),
                Errno::BUSY => "Another program has it open".to_owned(),
                Errno::INVAL if several != 0 => format!("There is an interface of this name that is no {kind} device, or one of one queue; one that lasts is made for several by: sudo ip tuntap add {name} mode {mode} multi_queue user \"$USER\""),
                Errno::INVAL => format!("There is an interface of this name that is no {kind} device, or one with other flags"),
                Errno::TOOBIG => "The kernel has no more queues for it: 256 at most".to_owned(),
                _ => String::new(),
            };
            TunError::new(device, "the kernel does not make or give it", why, remedy)
        })?;
        let virtio = if with_header {
            let begun = Virtio::begin(&file);
            Some(begun.map_err(|why| {
                TunError::new(device, "cannot agree on what is in front of packets", why, String::new())
            })?)
        } else {
            // A device that lasts has what its last user took.
            let _ = control::set_offload(&file, 0);
            None
        };
        Ok(Self { file, layer, name: name.to_owned(), most: layer.most(mtu), virtio, plain, packet: Vec::new() })
    }

    /// A device that another process has opened and handed over; `mtu` is as in [`TunConfig::mtu`]. What else it is the
    /// kernel knows.
    ///
    /// # Errors
    /// Where it is no such device, or cannot be told not to wait.
    pub fn adopt(file: OwnedFd, mtu: u16) -> io::Result<Self> {
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags | OFlags::NONBLOCK)?;
        let (name, flags) = opened_as(&file)?;
        let layer = if flags & IFF_TAP == 0 { Layer::Ip } else { Layer::Ethernet };
        // Settled once more with what this process knows of.
        let virtio = if flags & IFF_VNET_HDR == 0 { None } else { Some(Virtio::begin(&file)?) };
        Ok(Self { file, layer, name, most: layer.most(mtu), virtio, plain: None, packet: Vec::new() })
    }

    /// Why packets cross it one by one though super-segments were asked for, where that is so.
    #[must_use]
    pub const fn plain_because(&self) -> Option<&io::Error> {
        self.plain.as_ref()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel's end of the device.
    #[must_use]
    pub fn kernel(&self) -> KernelEnd {
        KernelEnd { layer: self.layer, name: self.name.clone(), number: None }
    }

    /// Gives the kernel's end an address and the length of its prefix, an MTU, and, for root, a queue of 10,000
    /// packets, and brings it up.
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
        // Whoever is root in a namespace of their own alone may not, and has the kernel's 500.
        let _ = end.set_queue(QUEUE);
        end.set_address(address, prefix, None).map_err(advise)?;
        end.set_up(true).map_err(advise)?;
        if let IpAddr::V6(address) = address {
            kernel::wait_for(address);
        }
        Ok(())
    }
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

    fn takes_super_segments(&self) -> bool {
        self.virtio.is_some()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        if let Some(virtio) = &mut self.virtio {
            return Ok(virtio.receive(&self.file)?.map(Arrival::of));
        }
        let mut result = Ok(0);
        // Pages are recycled: building one that is then not used costs little.
        let page = Page::build(self.most, |octets| {
            result = rustix::io::retry_on_intr(|| rustix::io::read(&self.file, &mut *octets));
        });
        match result {
            Ok(0) | Err(Errno::AGAIN) => Ok(None),
            Ok(read) => Ok(Some(Arrival::of(begun(page, read)))),
            Err(why) => Err(why.into()),
        }
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        match &mut self.virtio {
            Some(virtio) => virtio.send(&self.file, packet, &mut self.packet),
            None => became(virtio::write(&self.file, &[], packet, &mut self.packet)),
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        match &mut self.virtio {
            Some(virtio) => virtio.flush(&self.file, &mut self.packet),
            None => Ok(false),
        }
    }
}

/// The first `len` octets of `page`.
fn begun(page: Page, len: usize) -> Message {
    // A small packet must not hold on to a page for a large one.
    if len < page.len() / 2 {
        return Message::from_octets(page.octets().get(..len).unwrap_or_default());
    }
    let mut message = Message::from_page(page);
    message.truncate(len);
    message
}

/// What became of a packet that was written.
fn became(written: Result<(), Errno>) -> io::Result<Sent> {
    match written {
        Ok(()) => Ok(Sent::Taken),
        Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => Ok(Sent::Full),
        // EIO: the interface is down. EINVAL: no datagram.
        Err(Errno::IO | Errno::INVAL | Errno::MSGSIZE) => Ok(Sent::Refused),
        Err(why) => Err(why.into()),
    }
}

#[cfg(test)]
mod tests;
