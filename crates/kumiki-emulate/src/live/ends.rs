//! What the real hosts are.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd as _;

use kumiki_config::refusal;
use kumiki_io::tun::Layer;
use kumiki_io::{Packets, RealClock, RealDevice, Tun, TunConfig, TunError};
use kumiki_lab::experiment::RealHost;

use super::programs::PendingProgram;
use super::serial::Serial;
use super::{VARIABLE, sockets};
use crate::gateway::{GatewayThread, Places};
use crate::namespace::{Files, Namespace, Network};
use crate::watched::{Capture, WatchedDevice};
use crate::{EmulateError, failed, hop};

/// The address of a host by which others know it.
pub(super) fn first_address(host: &RealHost) -> Option<IpAddr> {
    host.addresses.first().map(|(address, _)| *address)
}

/// What the real hosts are, opened.
pub(super) struct Ends {
    attached: Option<String>,
    pub(super) devices: Vec<Box<dyn RealDevice>>,
    pub(super) programs: Vec<PendingProgram>,
    pub(super) gateways: Vec<GatewayThread>,
    pub(super) serials: Vec<Serial>,
}

impl Ends {
    /// None yet; the program of the host `attached` gets the standard input.
    pub(super) fn new(attached: Option<String>) -> Self {
        let (devices, programs, gateways, serials) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { attached, devices, programs, gateways, serials }
    }

    /// Captures what crosses each.
    pub(super) fn watch(&mut self, capture: &Capture) {
        let devices = core::mem::take(&mut self.devices).into_iter().enumerate();
        let watched = devices.map(|(number, device)| -> Box<dyn RealDevice> {
            Box::new(WatchedDevice::whole(device, number, capture.clone()))
        });
        self.devices = watched.collect();
    }

    /// Opens the next one, in a network in which the hosts have the addresses `known`. Of a gateway it is said whether
    /// it leads to this machine's loopback interface, and how much memory it may have.
    ///
    /// # Errors
    /// What cannot be had.
    pub(super) fn open(
        &mut self,
        (number, host): (usize, &RealHost),
        files: &Files,
        known: &[IpAddr],
        (loopback, memory): (bool, u64),
        clock: RealClock,
        say: &(impl Fn(&str) + Clone + Send + Sync + 'static),
    ) -> Result<(), EmulateError> {
        let said = |why: String| EmulateError::new(refusal::unnumbered(&format!("host {}: {why}", host.name)));
        let RealHost { name, real, addresses, mtu, behind: _, power: _ } = host;
        if let Some(command) = &real.run {
            let is_attached = self.attached.as_ref() == Some(name);
            let network = Network {
                mtu: *mtu,
                addresses: addresses.clone(),
                routers: Vec::new(),
                all_behind: true,
                variable: (VARIABLE.to_owned(), name.clone()),
                own_group: !is_attached,
            };
            let words: Vec<OsString> = command.words().into_iter().map(OsString::from).collect();
            let none = File::open("/dev/null").map_err(|why| said(format!("/dev/null: {why}")))?;
            let input = io::stdin();
            let input = if is_attached { input.as_fd() } else { none.as_fd() };
            let (namespace, tun) = Namespace::begin(&words, &network, files, input).map_err(said)?;
            let start = real.start().map_err(|fault| said(fault.to_string()))?;
            self.programs.push(PendingProgram {
                host: number,
                namespace,
                start,
                background: real.background,
                is_attached,
            });
            self.devices.push(Box::new(tun));
        } else if let Some(interface) = &real.tun {
            self.devices.push(Box::new(open_tun((interface, Layer::Ip), host, say).map_err(said)?));
        } else if let Some(interface) = &real.tap {
            self.devices.push(Box::new(open_tun((interface, Layer::Ethernet), host, say).map_err(said)?));
        } else if let Some(socket) = &real.frames {
            self.devices.push(sockets::open(socket).map_err(|why| said(format!("frames {socket:?}: {why}")))?);
        } else if let Some(line) = &real.serial {
            let started = Serial::start(line, host, known, clock, say.clone());
            let (serial, device) = started.map_err(|why| said(format!("serial {line:?}: {why}")))?;
            self.serials.push(serial);
            self.devices.push(device);
        } else {
            let [near, far] = hop::pair(*mtu, clock).map_err(failed("no descriptor to wait with"))?;
            let own: Vec<IpAddr> = addresses.iter().map(|(address, _)| *address).collect();
            let emulated = known.iter().copied().filter(|it| !own.contains(it)).collect();
            let places = Places::of_host(loopback, own, emulated);
            let serving = GatewayThread::start(Box::new(far), (*mtu, memory), places, say.clone());
            self.gateways.push(serving.map_err(failed("the gateway"))?);
            self.devices.push(Box::new(near));
        }
        Ok(())
    }
}

/// The network interface of this machine that is the host, with the host's addresses and routes where it may be given
/// them.
fn open_tun((interface, layer): (&str, Layer), host: &RealHost, say: &impl Fn(&str)) -> Result<Tun, String> {
    // On a line there are no super-segments.
    let packets = if layer == Layer::Ip { Packets::Any } else { Packets::Plain };
    let config = TunConfig { layer, mtu: host.mtu, packets };
    let tun = Tun::open_as(interface, config).map_err(|why| why.to_string())?;
    let kernel = tun.kernel();
    let said = |why: TunError| say(&format!("host {}: {why}", host.name));
    match addressed(&tun, host) {
        // Whoever has made it for this user has set it up too, or does so now.
        Err(why) if why.why.kind() == io::ErrorKind::PermissionDenied => {
            if !kernel.is_as(&host.addresses, host.mtu) {
                said(why);
            }
        }
        done => done.map_err(|why| why.to_string())?,
    }
    for &(network, prefix, router) in &host.behind {
        match kernel.set_route((network, prefix), router) {
            // Another way there, or none, is for whoever has this machine to judge.
            Err(why) if !kernel.has_route((network, prefix)) => said(why),
            _ => {}
        }
    }
    Ok(tun)
}

fn addressed(tun: &Tun, host: &RealHost) -> Result<(), TunError> {
    let (ipv4, ipv6): (Vec<_>, Vec<_>) = host.addresses.iter().partition(|(address, _)| address.is_ipv4());
    for (number, (address, prefix)) in ipv4.into_iter().enumerate() {
        match number {
            0 => tun.configure_kernel(address, prefix, host.mtu)?,
            _ => tun.kernel().for_another_address(number).set_address(address, prefix, None)?,
        }
    }
    ipv6.into_iter().try_for_each(|(address, prefix)| tun.configure_kernel(address, prefix, host.mtu))
}
