//! Linux on top of a link: a TUN device whose kernel's end has the addresses that are agreed on.

use kumiki_graph::Address;
use kumiki_io::RealDevice;
use kumiki_live::LiveError;

/// The kernel's end of the TUN device, which has the addresses of the link.
#[cfg(target_os = "linux")]
pub(crate) struct Kernel {
    end: kumiki_io::KernelEnd,
    mtu: u16,
    ipv6: Option<Address>,
}

#[cfg(target_os = "linux")]
impl Kernel {
    pub(crate) fn open(name: &str, mtu: u16) -> Result<(Box<dyn RealDevice>, Self), LiveError> {
        // Each packet is a frame on the line.
        let (layer, packets) = (kumiki_io::tun::Layer::Ip, kumiki_io::Packets::Plain);
        let opened = kumiki_io::Tun::open_as(name, kumiki_io::TunConfig { layer, mtu, packets });
        let tun = opened.map_err(|why| LiveError::Line(why.to_string()))?;
        let end = tun.kernel();
        end.leave_link_local_to_us();
        let kernel = Self { end, mtu, ipv6: None };
        Ok((Box::new(tun), kernel))
    }

    /// Sets what is agreed on now.
    pub(crate) fn follow(
        &mut self,
        mtu: u32,
        ipv4: Option<(Address, Address)>,
        ipv6: Option<(Address, Address)>,
    ) -> Result<(), LiveError> {
        let said = |why: kumiki_io::TunError| LiveError::Line(why.to_string());
        if ipv4.is_none() && ipv6.is_none() {
            self.ipv6 = None;
            return self.end.set_up(false).map_err(said);
        }
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX).min(self.mtu);
        self.end.set_mtu(mtu).map_err(said)?;
        if let Some((local, remote)) = ipv4
            && let Some(local) = local.ip()
        {
            self.end.set_address(local, 32, remote.get()).map_err(said)?;
        }
        self.end.set_up(true).map_err(said)?;
        if let Some((address, _)) = ipv6
            && let Some(local) = address.ip()
            && self.ipv6 != Some(address)
        {
            self.ipv6 = Some(address);
            self.end.set_address(local, 64, None).map_err(said)?;
        }
        Ok(())
    }
}

/// TUN devices are Linux's: there is none here.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Kernel;

#[cfg(not(target_os = "linux"))]
impl Kernel {
    pub(crate) fn open(name: &str, mtu: u16) -> Result<(Box<dyn RealDevice>, Self), LiveError> {
        match kumiki_live::open_tun(name, mtu, None, false) {
            Ok(device) => Ok((device, Self)),
            Err(why) => Err(LiveError::Line(why.to_string())),
        }
    }

    pub(crate) fn follow(
        &mut self,
        _: u32,
        _: Option<(Address, Address)>,
        _: Option<(Address, Address)>,
    ) -> Result<(), LiveError> {
        Ok(())
    }
}
