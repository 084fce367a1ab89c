//! Hosts whose addresses come and go.

use core::net::IpAddr;
use std::io;

use super::host::{Host, wrong_address};
use super::link::Link;

impl Host {
    /// One more address, from now on: what is sent there comes here, and the [name](super::Net::host) has it too.
    ///
    /// What that means to sockets says [`StackLine`](crate::StackLine). A host that is down has it when it starts
    /// again; what is restarted keeps the addresses that it had last.
    ///
    /// # Errors
    /// `AlreadyExists` where this host has it, `AddrInUse` where another one of the network has; `InvalidInput` what
    /// cannot be a host's; `Unsupported` where the host was made without an address of this version of IP, of a
    /// gateway, and in a [network of somebody else's making](super::Net::with), which knows where each address is.
    pub fn add_address(&self, address: IpAddr) -> io::Result<()> {
        self.check_moving()?;
        if let Some(why) = wrong_address(&[address]) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let other = self.others().into_iter().find(|it| it.addresses().contains(&address));
        if let Some(other) = other {
            let text = format!("{address} is the address of `{}`", other.name());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        if self.is_down() {
            self.check_version(address)?;
            if self.addresses().contains(&address) {
                let text = format!("{address} is an address of this host already");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
        } else {
            self.stack().line(0).add_address(address, 0)?;
        }
        self.with(|it| it.addresses.push(address));
        self.prepare();
        self.net.0.cloud.lock().add(address, self.number);
        self.tell_names();
        Ok(())
    }

    /// It has this address no longer: what is on its way there is lost.
    ///
    /// # Errors
    /// `AddrNotAvailable` where it has not; `Unsupported` as [`Host::add_address`].
    pub fn remove_address(&self, address: IpAddr) -> io::Result<()> {
        self.check_moving()?;
        if !self.addresses().contains(&address) {
            let text = format!("{address} is no address of `{}`", self.name());
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text));
        }
        if !self.is_down() {
            self.stack().line(0).remove_address(address)?;
        }
        self.with(|it| it.addresses.retain(|own| *own != address));
        self.prepare();
        self.net.0.cloud.lock().remove(address);
        self.tell_names();
        Ok(())
    }

    /// It moves to another network: has these addresses and no others from now on, and this line, where that is another
    /// one too.
    ///
    /// Connections from an address that has gone stay, and nothing gets through on them: they wait for it to come back,
    /// and give up when TCP does. Listeners at all addresses have callers at the new ones.
    /// `phone.move_to(["10.0.0.7".parse()?], &lte)` is a phone that leaves a building.
    ///
    /// # Errors
    /// As [`Host::add_address`], but for addresses that stay. Nothing has changed then.
    pub fn move_to<'a>(&self, addresses: impl Into<Vec<IpAddr>>, link: impl Into<Option<&'a Link>>) -> io::Result<()> {
        let (addresses, before) = (addresses.into(), self.addresses());
        self.check_moving()?;
        if let Some(why) = wrong_address(&addresses) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        addresses.iter().try_for_each(|it| self.check_version(*it))?;
        let mut added = Vec::new();
        for address in addresses.iter().filter(|it| !before.contains(it)) {
            if let Err(error) = self.add_address(*address) {
                added.into_iter().try_for_each(|it| self.remove_address(it))?;
                return Err(error);
            }
            added.push(*address);
        }
        before.into_iter().filter(|it| !addresses.contains(it)).try_for_each(|it| self.remove_address(it))?;
        if let Some(link) = link.into() {
            self.set_link(link);
        }
        Ok(())
    }

    fn check_moving(&self) -> io::Result<()> {
        let why = if self.net.0.has_between.get() {
            "what is between the hosts of this network knows where each address is"
        } else if self.with(|it| it.is_gateway) {
            "a gateway has every address: what it has of its own is said when it is made"
        } else {
            return Ok(());
        };
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("`{}`: {why}", self.name())))
    }

    /// Whether it has IP of the version of `address`.
    fn check_version(&self, address: IpAddr) -> io::Result<()> {
        let [v4, v6] = self.with(|it| it.versions);
        if if address.is_ipv4() { v4 } else { v6 } {
            return Ok(());
        }
        let version = if address.is_ipv4() { 4 } else { 6 };
        let text = format!("`{}` was made without an address of IPv{version}, and gets none", self.name());
        Err(io::Error::new(io::ErrorKind::Unsupported, text))
    }

    /// What is down begins with the addresses that it has then.
    fn prepare(&self) {
        if self.is_down() {
            self.build_again();
        }
    }

    fn tell_names(&self) {
        self.net.know(&self.name(), self.addresses());
        self.net.clock().bell.change();
    }
}
