//! The program's own network: namespaces, and in them a TUN device of which this process holds the other end.
//!
//! | read | for |
//! |---|---|
//! | this file | the parent: starts the child, gets the device, says when the program may begin, and passes signals on |
//! | `inside.rs` | the child, which becomes the program |
//! | `network.rs` | what the child's network is to be |
//! | `groups.rs`, `inhabitants.rs`, `connections.rs` | whether something of a process group, or in a network, is left: processes, and connections |
//! | `handover.rs` | what they tell each other |
//! | `remedy.rs` | what to type where there is no namespace or device |
//!
//! | | |
//! |---|---|
//! | Namespaces | of network and mounts; one of users around them unless this is root with the right to do without |
//! | User | the same number inside, and the same files: one line in `uid_map`, one in `gid_map`. No other user is known inside, so `sudo` and its like do not work there |
//! | Addresses | those of the `Network`; behind a single path [`OWN_4`], [`OWN_6`], and the way out is [`GATEWAY_4`], [`GATEWAY_6`] |
//! | Left out | several programs in one network, one that is there already, a view of `/sys` of its own |

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use kumiki_io::Tun;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, waitid};

mod connections;
mod groups;
mod handover;
mod inhabitants;
mod inside;
mod network;
mod remedy;
#[cfg(test)]
mod tests;

pub(crate) use connections::Connections;
pub(crate) use groups::is_any_left_of;
use handover::Kind;
pub(crate) use inhabitants::InhabitedNetwork;
pub(crate) use inside::not_begun;
pub(crate) use network::{Files, Network, ReplacedFile};

/// The program's address: of the networks for benchmarks (RFC 2544), of which no host that it wants to reach has one.
pub const OWN_4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// The way out, and this host as the program sees it.
pub const GATEWAY_4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Of the network on which the two are.
const PREFIX_4: u8 = 30;
/// The program's address of IPv6: a unique local one (RFC 4193).
pub const OWN_6: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x756d, 0x696b, 0, 0, 0, 0, 2);
/// The way out by IPv6, and this host as the program sees it.
pub const GATEWAY_6: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x756d, 0x696b, 0, 0, 0, 0, 1);
const PREFIX_6: u8 = 126;

/// The program finds the gateway's address in this variable of its environment.
pub const VARIABLE: &str = "KUMIKI_GATEWAY";

/// The status with which a run ends that failed by itself, as `env`, `timeout` and `docker` have it: a program has
/// others.
pub const FAILED: u8 = 125;

/// The interface in the program's network.
const DEVICE: &str = "kumiki0";

/// Where programs look for resolvers.
pub(crate) const RESOLVER: &str = "/etc/resolv.conf";

/// The hidden command by which the child is started: the arguments that are given to [`become_program`] stand behind
/// it.
pub const INSIDE: &str = "link-inside";

/// Becomes the program of `kumiki link`: what the binary does for the command [`INSIDE`]. Comes back where that failed,
/// with the exit status and what to say on standard error, if anything.
#[must_use]
pub fn become_program(arguments: &[OsString]) -> (u8, String) {
    inside::become_program(arguments)
}

/// The program, before it begins. Where it is dropped, the child ends.
pub(crate) struct Namespace {
    child: Child,
    id: Pid,
    process: OwnedFd,
    network: InhabitedNetwork,
    connections: Connections,
    socket: OwnedFd,
}

/// The program, running.
pub(crate) struct Program(Child);

/// Sees a program end, and leaves it to be waited for.
pub(crate) struct ExitWatcher(Pid);

/// Passes signals on to a program.
pub(crate) struct SignalForwarder {
    id: Pid,
    process: OwnedFd,
}

impl Namespace {
    /// Starts this binary once more as the child. No thread need have begun: the child is a process of its own.
    ///
    /// # Errors
    /// What failed, and what to type.
    pub(crate) fn begin(
        program: &[OsString],
        network: &Network,
        files: &Files,
        input: BorrowedFd<'_>,
    ) -> Result<(Self, Tun), String> {
        let mtu = network.mtu;
        let (kept, replaced) = files.make()?;
        let order = inside::Order { network: network.clone(), replaced, program: program.to_vec() };
        let said = |what: &'static str| move |why: io::Error| format!("{what}: {why}");
        let (socket, far) = handover::pair().map_err(said("no socket"))?;
        let itself = std::env::current_exe().map_err(said("this program does not find itself"))?;
        let mut child = Command::new(itself)
            .arg(INSIDE)
            .args(order.arguments())
            .stdin(Stdio::from(far))
            .spawn()
            .map_err(said("this program does not start itself"))?;
        let told = handover::tell(&socket, Kind::Input, "", Some(input)).map_err(|why| why.to_string());
        let got = told.and_then(|()| {
            let network = heard(&socket, Kind::Network)?;
            let files = connections::FILES.map(|_| heard_maybe(&socket, Kind::Connections));
            let connections = Connections::new(files.into_iter().flatten());
            Ok((network, heard(&socket, Kind::Device)?, connections))
        });
        // The files have their places by now, and no need of names.
        drop(kept);
        let adopted =
            got.and_then(|(network, device, connections)| Ok((adopt(&child, (network, device), mtu)?, connections)));
        let failed = match adopted {
            Ok(((id, process, network, tun), connections)) => {
                return Ok((Self { child, id, process, network, connections, socket }, tun));
            }
            Err(why) => why,
        };
        let _ = child.kill();
        let _ = child.wait();
        Err(failed)
    }

    /// Lets the program begin.
    ///
    /// # Errors
    /// Where it has ended already.
    pub(crate) fn go(self) -> Result<Program, String> {
        let Self { mut child, socket, .. } = self;
        match handover::tell(&socket, Kind::Go, "", None) {
            Ok(()) => Ok(Program(child)),
            Err(why) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("the program does not begin: {why}"))
            }
        }
    }

    /// The network that it has.
    pub(crate) fn network(&self) -> InhabitedNetwork {
        self.network.clone()
    }

    /// The connections there.
    pub(crate) fn connections(&self) -> Connections {
        self.connections.clone()
    }

    /// Passes signals on, from another thread: to the program from its beginning on, and to the child before.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub(crate) fn passing(&self) -> io::Result<SignalForwarder> {
        Ok(SignalForwarder { id: self.id, process: self.process.try_clone()? })
    }
}

/// A child by its number and as a descriptor.
fn process(child: &Child) -> Result<(Pid, OwnedFd), String> {
    let id = number(child).ok_or_else(|| "a process without a number".to_owned())?;
    let process = rustix::process::pidfd_open(id, PidfdFlags::empty())
        .map_err(|why| format!("the program's process: {why}; it takes Linux 5.3"))?;
    Ok((id, process))
}

fn number(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// The descriptor that comes next from the child, which is to be of this kind.
fn heard(socket: &OwnedFd, kind: Kind) -> Result<OwnedFd, String> {
    let told = handover::hear(socket).map_err(|why| why.to_string())?;
    let told = told.ok_or_else(|| "it ended before it had a network".to_owned())?;
    told.descriptor.filter(|_| told.kind == kind).ok_or(told.text)
}

/// The same of one that may not be there.
fn heard_maybe(socket: &OwnedFd, kind: Kind) -> Option<OwnedFd> {
    handover::hear(socket).ok()?.filter(|told| told.kind == kind)?.descriptor
}

/// The child's process, by its number and as a descriptor, and the network and the device that it has handed out.
fn adopt(
    child: &Child,
    (network, device): (OwnedFd, OwnedFd),
    mtu: u16,
) -> Result<(Pid, OwnedFd, InhabitedNetwork, Tun), String> {
    let (id, process) = process(child)?;
    let network = InhabitedNetwork::new(network).map_err(|why| format!("the network: {why}"))?;
    let tun = Tun::adopt(device, mtu).map_err(|why| format!("the device: {why}"))?;
    Ok((id, process, network, tun))
}

impl Program {
    /// One that has this process's network.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// For another thread, which is to see its end; `None` where it has no number.
    pub(crate) fn seen(&self) -> Option<ExitWatcher> {
        number(&self.0).map(ExitWatcher)
    }

    /// Waits for its end. Returns its exit status as shells have it: 128 and the number of the signal that has ended
    /// it.
    ///
    /// # Errors
    /// Where somebody else has waited for it.
    pub(crate) fn wait(mut self) -> io::Result<u8> {
        self.0.wait().map(|ended| status(ended.code(), ended.signal()))
    }
}

impl ExitWatcher {
    /// Waits for its end, as [`Program::wait`] does, which is still to be done: until then its number is its own.
    ///
    /// # Errors
    /// Where somebody else has waited for it.
    pub(crate) fn wait(self) -> io::Result<u8> {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.0), how))?;
        let ended = ended.ok_or_else(|| io::Error::other("it has not ended"))?;
        Ok(status(ended.exit_status(), ended.terminating_signal()))
    }
}

impl SignalForwarder {
    /// Passes signals on to `program`.
    ///
    /// # Errors
    /// What failed.
    pub(crate) fn to(program: &Program) -> Result<Self, String> {
        let (id, process) = process(&program.0)?;
        Ok(Self { id, process })
    }

    /// The number of the program, and of its group if it leads one.
    pub(crate) const fn id(&self) -> Pid {
        self.id
    }

    /// The same to all processes of its group, which it leads. That it has not been waited for is for the caller to
    /// know.
    pub(crate) fn pass_to_group(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = rustix::process::kill_process_group(self.id, signal);
        }
    }

    /// A program that has ended gets none.
    pub(crate) fn pass(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = rustix::process::pidfd_send_signal(&self.process, signal);
        }
    }

    /// Whether a key of the terminal reaches it as it does this process.
    pub(crate) fn is_in_our_group(&self) -> bool {
        rustix::process::getpgid(Some(self.id)).is_ok_and(|group| group == rustix::process::getpgrp())
    }
}

/// The exit status of a shell for a program that has ended with `code`, or by `signal`.
fn status(code: Option<i32>, signal: Option<i32>) -> u8 {
    let by_signal = signal.map(|signal| 128 + signal);
    let status = code.or(by_signal).unwrap_or_else(|| FAILED.into());
    u8::try_from(status).unwrap_or(u8::MAX)
}
