//! What this machine needs for a transfer, with rivals measured in the same run.
//!
//! | | |
//! |---|---|
//! | `tcp` | both ends of TCP in one thread, against smoltcp: CPU seconds per GiB |
//! | `sim` | worlds in virtual time, against ns-3: CPU seconds for each world and each packet |
//! | `kernels` | stuffing, scrambling, parity and frame check sequences, against plain loops and a copy: octets in each second |
//! | `osi` | a file over seven layers, in process and over RFC 1006, against a bare connection: Gbit/s |
//! | `net` | calls of 64 octets and of hyper over sockets in a simulation, against turmoil-net: CPU time of a call |
//! | `rings` | a program and its stack in two processes, beside the same in one: CPU seconds per GiB, time of an exchange |
//! | `tun` | one end of TCP over a TUN device with Linux as the peer, against smoltcp and a bare end: CPU seconds per GiB |
//! | `tun-queues` | many connections of one host over one queue of it and over several: CPU seconds, and by the clock |
//! | `tun-paced` | exchanges of 64 octets at a given rate over a TUN device, against smoltcp and a bare end: how long each takes |
//! | `link` | a program behind `kumiki link`: Gbit/s, lateness, and transfer times beside virtual time and Linux |
//! | `delay` | how exact `kumiki delay` is, against a forwarder that sleeps: lateness |
//! | Measured | CPU time of this process, user and system, from the opening of the last connection to the last octet read |
//! | Left out | but for `tun`, `tun-queues`, `tun-paced`, `link`, `delay` and `osi` over RFC 1006: real devices, more than one thread, wall-clock time |
//!
//! No result decides whether a change passes.

mod delay;
mod emulated;
mod kernels;
mod link;
mod load;
mod net;
mod osi;
mod ours;
mod programs;
mod rings;
mod rival;
mod show;
mod sim;
mod tcp;
mod tun;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Measures what this machine needs for a transfer, rivals in the same run.
#[derive(Parser, Debug)]
#[command(name = "kumiki-bench", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// TCP with itself in one thread, against smoltcp with itself
    Tcp(Tcp),
    /// The simulator against ns-3
    Sim(sim::Comparison),
    /// The kernels for octets: stuffing, scrambling, parity, frame check sequences
    Kernels(kernels::Kernels),
    /// A file over seven layers of OSI, in process and over RFC 1006
    Osi(osi::Osi),
    /// Calls over sockets in a simulation, against turmoil-net
    Net(net::Calls),
    /// A program and its stack in two processes, beside the same in one
    Rings(rings::Rings),
    /// The stack's process
    #[command(hide = true)]
    RingsStack(rings::StackParameters),
    /// One end of TCP over a TUN device with Linux as the peer: sudo unshare --net kumiki-bench tun
    Tun(tun::OverTun),
    /// Many connections over a TUN device, of a host on one core and on several: sudo unshare --net kumiki-bench
    /// tun-queues
    TunQueues(tun::Queues),
    /// Exchanges at a given rate over a TUN device, how long each takes, against smoltcp: sudo unshare --net
    /// kumiki-bench tun-paced
    TunPaced(tun::Paced),
    /// Linux's end of these
    #[command(hide = true)]
    TunPeer(tun::PeerParameters),
    /// A program behind `kumiki link`: how much the path carries, how late, and how long transfers take
    Link(emulated::Emulated),
    /// The program behind the path, and its server
    #[command(hide = true)]
    LinkPeer(emulated::PeerParameters),
    /// One run of the path
    #[command(hide = true)]
    LinkOne(emulated::OneParameters),
    /// The same path between two interfaces of Linux
    #[command(hide = true)]
    LinkLinux(emulated::LinuxParameters),
    /// How exact a delay of `kumiki delay` is, against a forwarder that sleeps
    Delay(delay::Exactness),
    /// One run of the simulator, printed as JSON
    #[command(hide = true)]
    SimOne(sim::Parameters),
}

/// What to measure, and how to show it.
#[derive(Args, Debug)]
struct Tcp {
    /// Fewer octets, fewer runs and fewer cases
    #[arg(long)]
    quick: bool,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
    /// Runs of each case, of which the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only this MTU, in octets
    #[arg(long)]
    mtu: Option<usize>,
    /// Only so many connections
    #[arg(long)]
    sessions: Option<u32>,
    /// Only ours: for a profiler
    #[arg(long)]
    alone: bool,
    /// Only exchanges of small messages, or only one-way transfers
    #[arg(long, value_parser = ["exchanges", "octets"])]
    only: Option<String>,
}

/// The process that becomes the program behind a path, where this is it.
fn inside() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().filter(|first| first == kumiki_emulate::INSIDE)?;
    let (status, why) = kumiki_emulate::become_program(&arguments.collect::<Vec<_>>());
    if !why.is_empty() {
        eprintln!("{why}");
    }
    Some(ExitCode::from(status))
}

fn main() -> ExitCode {
    if let Some(status) = inside() {
        return status;
    }
    let done = match Cli::parse().command {
        Command::Tcp(what) => tcp::measure(&what),
        Command::Sim(comparison) => sim::compare(&comparison),
        Command::Kernels(what) => kernels::measure(&what),
        Command::Osi(what) => osi::measure(&what),
        Command::Net(what) => net::measure(&what),
        Command::Rings(what) => rings::measure(&what),
        Command::RingsStack(parameters) => rings::be_stack(&parameters),
        Command::Tun(what) => tun::measure(&what),
        Command::TunQueues(what) => tun::measure_queues(&what),
        Command::TunPaced(what) => tun::measure_paced(&what),
        Command::TunPeer(parameters) => tun::be_peer(&parameters),
        Command::Link(what) => emulated::measure(&what),
        Command::LinkPeer(parameters) => emulated::be_peer(&parameters),
        Command::LinkOne(parameters) => emulated::be_one(&parameters),
        Command::LinkLinux(parameters) => emulated::be_linux(&parameters),
        Command::Delay(what) => delay::measure(&what),
        Command::SimOne(parameters) => sim::one(&parameters),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
