//! The two ends of a delay generator: how they are written, and the devices that they become.

use core::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use kumiki_io::{RealDevice, RemoteEnd, Udp};

use kumiki_live::Network;

/// One end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// A TUN device: packets of IP.
    Tun(Interface),
    /// A TAP device: Ethernet frames.
    Tap(Interface),
    /// A UDP socket: one datagram is one unit.
    Udp {
        /// Its address.
        local: SocketAddr,
        /// The peer; `None`: whoever sends the first datagram.
        remote: Option<SocketAddr>,
    },
}

/// A network interface of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name; it is made where there is none.
    pub name: String,
    /// What its MTU is set to; `None`: it stays as it is.
    pub mtu: Option<u16>,
    /// The address that the kernel gets at its end.
    pub address: Option<Network>,
    /// Whether it is brought up.
    pub up: bool,
}

const FORMS: &str = "write tun:NAME, tap:NAME or udp:PORT, such as tun:d0,mtu=9000 or udp:5001,127.0.0.1:5002";

impl core::str::FromStr for End {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').ok_or_else(|| format!("`{text}` is no end; {FORMS}"))?;
        match kind {
            "tun" => Interface::parse(rest).map(Self::Tun),
            "tap" => Interface::parse(rest).map(Self::Tap),
            "udp" => {
                let (local, remote) = match rest.split_once(',') {
                    Some((local, remote)) => (local, Some(socket(remote)?)),
                    None => (rest, None),
                };
                let local = socket(local)?;
                if let Some(remote) = remote.filter(|it| it.is_ipv4() != local.is_ipv4()) {
                    return Err(format!(
                        "{local} and {remote} are of different versions of IP; write two of one version"
                    ));
                }
                if remote.is_some_and(|remote| remote.port() == 0) {
                    return Err("port 0 is no remote port; leave the remote address out to learn it".to_owned());
                }
                Ok(Self::Udp { local, remote })
            }
            _ => Err(format!("`{kind}` is no kind of end; {FORMS}")),
        }
    }
}

/// Whether only one socket can have both addresses: that of no interface is on all of them.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    let is_of_all = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.is_ipv4() == other.is_ipv4() && (one.ip() == other.ip() || is_of_all)
}

/// `PORT`, on the loopback interface, or `ADDRESS:PORT`.
fn socket(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().ok();
    let loopback = port.map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    loopback.or_else(|| text.parse().ok()).ok_or_else(|| {
        format!("`{text}` is no address of a socket; write a port, such as 5001, or an address and a port, such as 127.0.0.1:5001 or [::1]:5001")
    })
}

impl Interface {
    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let mut interface =
            Self { name: parts.next().unwrap_or_default().to_owned(), mtu: None, address: None, up: false };
        #[cfg(target_os = "linux")]
        kumiki_io::tun::check_name(&interface.name)?;
        for part in parts {
            match part.split_once('=') {
                Some(("mtu", mtu)) => {
                    let mtu = mtu.parse().ok().filter(|mtu| *mtu >= 68);
                    interface.mtu =
                        Some(mtu.ok_or_else(|| format!("`{part}`: an MTU is a number of octets from 68 to 65535"))?);
                }
                Some(("addr", address)) => {
                    interface.address = Some(address.parse().map_err(|why| format!("`{part}`: {why}"))?);
                    interface.up = true;
                }
                None if part == "up" => interface.up = true,
                _ => {
                    return Err(format!(
                        "`{part}` is nothing that an interface has; there are mtu=9000, addr=10.9.0.1/24 and up"
                    ));
                }
            }
        }
        Ok(interface)
    }
}

impl End {
    /// Refuses sockets that others than this machine can reach.
    ///
    /// # Errors
    /// A sentence that says which, and what to do.
    pub fn keep_to_loopback(&self) -> Result<(), String> {
        let Self::Udp { local, remote } = self else {
            return Ok(());
        };
        let beyond = [Some(*local), *remote].into_iter().flatten();
        match beyond.into_iter().find(|it| !it.ip().is_loopback()) {
            Some(address) => Err(format!(
                "{address} is not on the loopback interface: others could send through this machine; add --beyond-loopback where that is meant"
            )),
            None => Ok(()),
        }
    }

    /// Refuses two ends of which only one can be opened.
    ///
    /// # Errors
    /// A sentence that says why.
    pub fn beside(&self, other: &Self) -> Result<(), String> {
        match (self, other) {
            (Self::Tun(one) | Self::Tap(one), Self::Tun(two) | Self::Tap(two)) if one.name == two.name => {
                Err(format!("both ends are the interface {}; give each a name of its own", one.name))
            }
            (Self::Udp { local: one, .. }, Self::Udp { local: two, .. }) if one.port() != 0 && is_same(*one, *two) => {
                Err(format!("both ends are the socket {two}; give each a port of its own"))
            }
            _ => Ok(()),
        }
    }

    /// Opens it, and says what it has become where that was not known before.
    ///
    /// # Errors
    /// What went wrong, and what would help.
    pub fn open(&self) -> Result<(Box<dyn RealDevice>, String), String> {
        match self {
            Self::Tun(interface) => Ok((interface.open(false)?, self.to_string())),
            Self::Tap(interface) => Ok((interface.open(true)?, self.to_string())),
            Self::Udp { local, remote } => {
                let far = remote.map_or(RemoteEnd::First, RemoteEnd::Given);
                let mut udp = Udp::open(*local, far).map_err(|why| why.to_string())?;
                udp.tell_waits();
                let local = udp.local();
                let opened = Self::Udp { local, remote: *remote };
                Ok((Box::new(udp), opened.to_string()))
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl Interface {
    fn open(&self, tap: bool) -> Result<Box<dyn RealDevice>, String> {
        use kumiki_io::tun::Layer;
        use kumiki_io::{Packets, Tun, TunConfig};
        let layer = if tap { Layer::Ethernet } else { Layer::Ip };
        // The kernel's MTU may be set while this runs: the longest packet can always be read. What happens on the way
        // happens to packets.
        let config = TunConfig { layer, mtu: u16::MAX, packets: Packets::Plain };
        let tun = Tun::open_as(&self.name, config).map_err(|why| why.to_string())?;
        let end = tun.kernel();
        let set = || {
            if let Some(mtu) = self.mtu {
                end.set_mtu(mtu)?;
            }
            if let Some(Network { address, prefix }) = self.address {
                end.set_address(address, prefix, None)?;
            }
            if self.up {
                end.set_up(true)?;
            }
            Ok(())
        };
        set().map_err(|why: kumiki_io::TunError| why.to_string())?;
        Ok(Box::new(tun))
    }
}

#[cfg(not(target_os = "linux"))]
impl Interface {
    fn open(&self, _: bool) -> Result<Box<dyn RealDevice>, String> {
        Err(format!("{}: only Linux has TUN and TAP devices", self.name))
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(mtu) = self.mtu {
            write!(f, ",mtu={mtu}")?;
        }
        if let Some(address) = self.address {
            write!(f, ",addr={address}")?;
        } else if self.up {
            f.write_str(",up")?;
        }
        Ok(())
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tun(interface) => write!(f, "tun:{interface}"),
            Self::Tap(interface) => write!(f, "tap:{interface}"),
            Self::Udp { local, remote: Some(remote) } => write!(f, "udp:{local},{remote}"),
            Self::Udp { local, remote: None } => write!(f, "udp:{local}"),
        }
    }
}
