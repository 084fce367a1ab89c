//! The child: makes its namespaces, hands the device out, and becomes the program.
//!
//! It is a process of its own that has begun a moment ago, for a namespace for users can be made by a process with one thread only.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kumiki_io::namespace::leave_host;
use kumiki_io::tun::{KernelEnd, Layer};
use kumiki_io::{Packets, Tun, TunConfig, TunError};
use rustix::mount::MountPropagationFlags;
use rustix::process::Signal;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::handover::{self, Kind};
use super::remedy::{Facts, Step, remedy};
use super::{DEVICE, GATEWAY_4, GATEWAY_6, OWN_4, OWN_6, PREFIX_4, PREFIX_6, RESOLVER, VARIABLE};

/// The status of a shell for a program that is not there, and for one that cannot be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// What the child is told when it is started: its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Order {
    pub(super) mtu: u16,
    /// Whether the host can reach others by IPv6.
    pub(super) has_ipv6: bool,
    /// What takes the place of `/etc/resolv.conf`.
    pub(super) resolver: Option<PathBuf>,
    /// The program and its arguments.
    pub(super) program: Vec<OsString>,
}

impl Order {
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let resolver = self.resolver.as_deref().map_or_else(OsString::new, |path| path.as_os_str().to_owned());
        let ipv6 = if self.has_ipv6 { "6" } else { "4" };
        let front = [OsString::from(self.mtu.to_string()), OsString::from(ipv6), resolver];
        front.into_iter().chain(self.program.iter().cloned()).collect()
    }

    fn parse(arguments: &[OsString]) -> Option<Self> {
        let [mtu, ipv6, resolver, program @ ..] = arguments else {
            return None;
        };
        let resolver = (!resolver.is_empty()).then(|| PathBuf::from(resolver));
        let mtu = mtu.to_str()?.parse().ok()?;
        (!program.is_empty()).then(|| Self { mtu, has_ipv6: ipv6 == "6", resolver, program: program.to_vec() })
    }
}

/// What the child could not do, as the parent prints it.
type Refused = String;

fn refused(step: Step, what: &str, why: &io::Error) -> Refused {
    let remedy = remedy(step, why, Facts::found());
    let gap = if remedy.is_empty() { "" } else { ". " };
    format!("{what}: {why}{gap}{remedy}")
}

/// Becomes the program, or says why not. Returns the exit status, and what is to be said where the parent does not.
pub(super) fn become_program(arguments: &[OsString]) -> (u8, String) {
    let Some(order) = Order::parse(arguments) else {
        return (super::FAILED, "this command is for `kumiki link` alone".to_owned());
    };
    let socket = match take_input() {
        Ok(socket) => socket,
        Err(why) => return (super::FAILED, format!("this command is for `kumiki link` alone: {why}")),
    };
    let handed = prepare(&order).and_then(|device| {
        handover::tell(&socket, Kind::Device, DEVICE, Some(device.as_fd())).map_err(|why| why.to_string())
    });
    if let Err(why) = handed {
        // It says so itself; where it has gone, nobody listens.
        let _ = handover::tell(&socket, Kind::Failed, &why, None);
        return (super::FAILED, String::new());
    }
    // Without its network the program is of no use. From here on, for the parent may end at any time.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    match handover::hear(&socket) {
        Ok(Some(told)) if told.kind == Kind::Go => {}
        // The parent has ended.
        _ => return (super::FAILED, String::new()),
    }
    drop(socket);
    execute(&order.program)
}

/// The socket, which was the standard input, and in its place the standard input of the parent.
fn take_input() -> io::Result<OwnedFd> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let told = handover::hear(&socket)?.filter(|told| told.kind == Kind::Input);
    let input = told.and_then(|told| told.descriptor).ok_or_else(|| io::Error::other("no standard input came"))?;
    rustix::stdio::dup2_stdin(&input)?;
    Ok(socket)
}

/// Makes the namespaces and what is in them.
fn prepare(order: &Order) -> Result<Tun, Refused> {
    separate(order.resolver.is_some())?;
    let resolved = order.resolver.as_deref().map_or(Ok(()), |path| {
        rustix::mount::mount_bind(path, RESOLVER).map_err(|why| {
            refused(Step::Resolver, &format!("cannot put a file in the place of {RESOLVER}"), &why.into())
        })
    });
    resolved?;
    let config = TunConfig { layer: Layer::Ip, mtu: order.mtu, packets: Packets::Any };
    let tun = Tun::open_as(DEVICE, config).map_err(|why| of_device(&why))?;
    configure(&tun, order).map_err(|why| of_device(&why))?;
    Ok(tun)
}

fn of_device(why: &TunError) -> Refused {
    let step = if why.what == "cannot open /dev/net/tun" { Step::Open } else { Step::Configure };
    refused(step, why.what, &why.why)
}

/// Leaves the network, the mounts and, where that takes it, the users of the host. `mounts` says whether something is to be mounted.
fn separate(mounts: bool) -> Result<(), Refused> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    // With the rights of root it needs no namespace for users: containers forbid that rather than the others.
    if user.is_root() && leave_host(false).is_ok() {
        if !mounts {
            return Ok(());
        }
        // What is mounted here is not mounted outside.
        let away = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        return rustix::mount::mount_change("/", away)
            .map_err(|why| refused(Step::Resolver, "cannot keep mounts to itself", &why.into()));
    }
    leave_host(true).map_err(|why| refused(Step::Namespaces, "no namespaces", &why))?;
    let said = |path: &str, text: String| {
        fs::write(path, text).map_err(|why| refused(Step::Users, &format!("cannot write {path}"), &why))
    };
    // Whoever maps a group may not drop another one, which could be the one that is kept from a file (user_namespaces(7)).
    said("/proc/self/setgroups", "deny".to_owned())?;
    said("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    said("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))
}

/// Addresses, routes, and what the kernel says by itself.
fn configure(tun: &Tun, order: &Order) -> Result<(), TunError> {
    KernelEnd::loopback().set_up(true)?;
    let end = tun.kernel();
    // What the kernel sends unasked would draw from the path's seed at times that nobody fixes.
    end.leave_link_local_to_us();
    tun.configure_kernel(IpAddr::V4(OWN_4), PREFIX_4, order.mtu)?;
    end.set_default_route(IpAddr::V4(GATEWAY_4))?;
    if Path::new("/proc/sys/net/ipv6").exists() {
        let ipv6 = tun.configure_kernel(IpAddr::V6(OWN_6), PREFIX_6, order.mtu);
        // It may be switched off, which the host then has in common with the program.
        if ipv6.is_ok() && order.has_ipv6 {
            end.set_default_route(IpAddr::V6(GATEWAY_6))?;
        }
    }
    // Programs may then send echo requests without rights; where the kernel has none of it, they need them as before.
    let group = rustix::process::getegid().as_raw();
    let _ = fs::write("/proc/sys/net/ipv4/ping_group_range", format!("{group} {group}"));
    Ok(())
}

/// Becomes the program; comes back where that fails.
fn execute(program: &[OsString]) -> (u8, String) {
    let Some((name, arguments)) = program.split_first() else {
        return (super::FAILED, "no program".to_owned());
    };
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    // Rights in namespaces of one's own are none that the program had. Root keeps those that it came with.
    if !rustix::process::geteuid().is_root()
        && let Err(why) = rustix::thread::set_capabilities(None, sets)
    {
        return (super::FAILED, format!("cannot give up rights: {why}"));
    }
    let why = Command::new(name).args(arguments).env(VARIABLE, GATEWAY_4.to_string()).exec();
    let status = if why.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    (status, format!("{}: {why}", Path::new(name).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let order = Order {
            mtu: 1400,
            has_ipv6: true,
            resolver: Some(PathBuf::from("/tmp/a b")),
            program: ["echo", "--", "-n"].map(OsString::from).to_vec(),
        };
        assert_eq!(Order::parse(&order.arguments()), Some(order.clone()));
        let order = Order { resolver: None, has_ipv6: false, ..order };
        assert_eq!(Order::parse(&order.arguments()), Some(order));
        for wrong in [vec![], vec!["1500", "4", ""], vec!["many", "4", "", "echo"]] {
            let wrong: Vec<OsString> = wrong.into_iter().map(OsString::from).collect();
            assert_eq!(Order::parse(&wrong), None);
        }
    }
}
