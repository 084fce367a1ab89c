//! The child: makes its namespaces, hands the device out, and becomes the program.
//!
//! It is a process of its own that has begun a moment ago, for a namespace for users can be made by a process with one
//! thread only.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kumiki_io::namespace::leave_host;
use kumiki_io::tun::{DefaultRoute, KernelEnd, Layer};
use kumiki_io::{Packets, Tun, TunConfig, TunError};
use rustix::mount::MountPropagationFlags;
use rustix::process::Signal;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::connections;
use super::handover::{self, Kind};
use super::network::HOSTS;
use super::remedy::{Facts, Step, remedy};
use super::{DEVICE, Network, RESOLVER, ReplacedFile};

/// The status of a shell for a program that is not there, and for one that cannot be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// The files that may be replaced, in the order of the arguments.
const REPLACED: [&str; 2] = [RESOLVER, HOSTS];

/// What the child is told when it is started: its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Order {
    pub(super) network: Network,
    /// What takes the place of which file.
    pub(super) replaced: Vec<ReplacedFile>,
    /// The program and its arguments.
    pub(super) program: Vec<OsString>,
}

impl Order {
    /// The network, as JSON; what takes the place of each file, or nothing; the program and its arguments.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let network = serde_json::to_string(&self.network).unwrap_or_default();
        let replaced = REPLACED.iter().map(|path| {
            let found = self.replaced.iter().find(|it| it.path == *path);
            found.map_or_else(OsString::new, |it| it.by.as_os_str().to_owned())
        });
        [OsString::from(network)].into_iter().chain(replaced).chain(self.program.iter().cloned()).collect()
    }

    fn parse(arguments: &[OsString]) -> Option<Self> {
        let (network, rest) = arguments.split_first()?;
        let (files, program) = rest.split_at_checked(REPLACED.len())?;
        let network = serde_json::from_str(network.to_str()?).ok()?;
        let replaced = REPLACED.into_iter().zip(files).filter(|(_, by)| !by.is_empty());
        let replaced = replaced.map(|(path, by)| ReplacedFile { by: PathBuf::from(by), path }).collect();
        (!program.is_empty()).then(|| Self { network, replaced, program: program.to_vec() })
    }
}

/// What the child could not do, as the parent prints it.
type SetupFailure = String;

fn refused(step: Step, what: &str, why: &io::Error) -> SetupFailure {
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
        let said = |why: io::Error| why.to_string();
        let network = fs::File::open("/proc/self/ns/net").map_err(|why| format!("/proc/self/ns/net: {why}"))?;
        handover::tell(&socket, Kind::Network, "", Some(network.as_fd())).map_err(said)?;
        for path in connections::FILES {
            let file = fs::File::open(path).ok();
            let descriptor = file.as_ref().map(fs::File::as_fd);
            handover::tell(&socket, Kind::Connections, path, descriptor).map_err(said)?;
        }
        handover::tell(&socket, Kind::Device, DEVICE, Some(device.as_fd())).map_err(said)
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
    execute(&order)
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
fn prepare(order: &Order) -> Result<Tun, SetupFailure> {
    if order.network.own_group {
        rustix::process::setpgid(None, None).map_err(|why| format!("no process group: {why}"))?;
    }
    separate(!order.replaced.is_empty())?;
    for ReplacedFile { by, path } in &order.replaced {
        rustix::mount::mount_bind(by, *path).map_err(|why| {
            let step = if *path == RESOLVER { Step::Resolver } else { Step::Hosts };
            refused(step, &format!("cannot put a file in the place of {path}"), &why.into())
        })?;
    }
    let config = TunConfig { layer: Layer::Ip, mtu: order.network.mtu, packets: Packets::Any };
    let tun = Tun::open_as(DEVICE, config).map_err(|why| of_device(&why))?;
    configure(&tun, &order.network).map_err(|why| of_device(&why))?;
    Ok(tun)
}

fn of_device(why: &TunError) -> SetupFailure {
    let step = if why.what == "cannot open /dev/net/tun" { Step::Open } else { Step::Configure };
    refused(step, why.what, &why.why)
}

/// Leaves the network, the mounts and, where that takes it, the users of the host. `mounts` says whether something is
/// to be mounted.
fn separate(mounts: bool) -> Result<(), SetupFailure> {
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
    // Whoever maps a group may not drop another one, which could be the one that is kept from a file
    // (user_namespaces(7)).
    said("/proc/self/setgroups", "deny".to_owned())?;
    said("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    said("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))
}

/// Addresses, routes, and what the kernel says by itself.
fn configure(tun: &Tun, network: &Network) -> Result<(), TunError> {
    KernelEnd::loopback().set_up(true)?;
    let end = tun.kernel();
    // What the kernel sends unasked would draw from the path's seed at times that nobody fixes.
    end.leave_link_local_to_us();
    let has_ipv6 = Path::new("/proc/sys/net/ipv6").exists();
    let (ipv4, ipv6): (Vec<_>, Vec<_>) = network.addresses.iter().partition(|(address, _)| address.is_ipv4());
    for (number, (address, prefix)) in ipv4.into_iter().enumerate() {
        if number == 0 {
            tun.configure_kernel(address, prefix, network.mtu)?;
        } else {
            end.for_another_address(number).set_address(address, prefix, None)?;
        }
    }
    // It may be switched off, which the host then has in common with the program.
    let set = |&(address, prefix): &(IpAddr, u8)| tun.configure_kernel(address, prefix, network.mtu).is_ok();
    let has_ipv6 = has_ipv6 && ipv6.iter().all(set);
    for route in network.routes() {
        let is_ipv4 = matches!(route, DefaultRoute::Interface4 | DefaultRoute::Gateway(IpAddr::V4(_)));
        if is_ipv4 || has_ipv6 {
            end.set_default_route(route)?;
        }
    }
    let write = |path: &str, text: &str| {
        // Where the kernel has none of it, things are as before.
        let _ = fs::write(path, text);
    };
    // Errors of ICMP about what the program sends come from its own address, where who stands for its host sends them.
    write(&format!("/proc/sys/net/ipv4/conf/{DEVICE}/accept_local"), "1");
    write(&format!("/proc/sys/net/ipv4/conf/{DEVICE}/rp_filter"), "0");
    // Servers may have ports that elsewhere take rights.
    write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    // Programs may then send echo requests without rights; where the kernel has none of it, they need them as before.
    let group = rustix::process::getegid().as_raw();
    write("/proc/sys/net/ipv4/ping_group_range", &format!("{group} {group}"));
    Ok(())
}

/// Becomes the program; comes back where that fails.
fn execute(order: &Order) -> (u8, String) {
    let Some((name, arguments)) = order.program.split_first() else {
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
    let (variable, value) = &order.network.variable;
    let why = Command::new(name).args(arguments).env(variable, value).exec();
    not_begun(name, &why)
}

/// The status of a shell for a program that does not begin, and what to say.
pub(crate) fn not_begun(name: &OsStr, why: &io::Error) -> (u8, String) {
    let status = if why.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    (status, format!("{}: {why}", Path::new(name).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let order = Order {
            network: Network::of_link(1400),
            replaced: vec![ReplacedFile { by: PathBuf::from("/tmp/a b"), path: HOSTS }],
            program: ["echo", "--", "-n"].map(OsString::from).to_vec(),
        };
        assert_eq!(Order::parse(&order.arguments()), Some(order.clone()));
        let order = Order { replaced: Vec::new(), ..order };
        assert_eq!(Order::parse(&order.arguments()), Some(order));
        for wrong in [vec![], vec!["{}", "", ""], vec!["{}", "", "", "echo"]] {
            let wrong: Vec<OsString> = wrong.into_iter().map(OsString::from).collect();
            assert_eq!(Order::parse(&wrong), None);
        }
    }
}
