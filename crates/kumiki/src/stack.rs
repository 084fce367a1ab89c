//! `kumiki stack`: from the command line to [`kumiki_net::rings`].

use std::io::ErrorKind;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use kumiki_config::quantity::Octets;
use kumiki_lab::scenario::ConfigError;
use kumiki_live::Network;
use kumiki_net::host::{HostConfig, HostDriver, NullDevice, RealDevice};
use kumiki_net::rings::{Limits, StackServer};

use crate::commands::{Stop, lines_shown, unwritable};
use crate::live::option;

/// `kumiki stack`.
#[derive(Args, Debug)]
#[command(after_help = "\
Programs attach with `kumiki_net::rings::RemoteStack::connect(PATH)` and have tokio's sockets, or std's, over this stack (docs/sockets.md). One that crashes
harms no other. Names are looked up by this host's resolver. It runs until a signal ends it; the socket that it leaves is replaced by the next.

Examples:

  kumiki stack --at stack.sock --addr 10.9.0.2/24                                        programs among themselves; takes no rights
  kumiki stack --at stack.sock --addr 10.9.0.2/24 --tun k0 --linux 10.9.0.1/24           and with Linux, at the other end of a TUN device")]
pub(crate) struct StackArgs {
    /// The Unix socket by which programs come, which is made here
    #[arg(long, value_name = "PATH")]
    at: PathBuf,
    /// An address of the stack, such as 10.9.0.2/24 or fd00:9::2/64; one of IPv4 at most
    #[arg(long, value_name = "ADDRESS/PREFIX", required = true)]
    addr: Vec<Network>,
    /// The TUN device, which is made where there is none; without it programs reach each other alone
    #[arg(long, value_name = "NAME", value_parser = kumiki_live::interface)]
    tun: Option<String>,
    /// Give Linux this address at its end of the device, such as 10.9.0.1/24, and bring the device up
    #[arg(long, value_name = "ADDRESS/PREFIX", requires = "tun")]
    linux: Option<Network>,
    /// A router at the other end of the device, such as 10.9.0.1: it gets what is for other networks; may be given for
    /// each version of IP
    #[arg(long, value_name = "ADDRESS", requires = "tun")]
    via: Vec<IpAddr>,
    /// The largest datagram, in octets
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(68..))]
    mtu: u16,
    /// One packet at a time crosses the TUN device, each with its checksum
    #[arg(long, requires = "tun")]
    single_packets: bool,
    /// Rights of the socket, as chmod has them: whoever may write to it may use the stack
    #[arg(long, value_name = "OCTAL", default_value = "600", value_parser = rights)]
    mode: u32,
    /// Programs at one time
    #[arg(long, default_value_t = Limits::default().programs, value_parser = some)]
    programs: usize,
    /// Sockets of each
    #[arg(long, default_value_t = Limits::default().sockets, value_parser = some)]
    sockets: usize,
    /// The most memory that all connections and datagrams may hold: new connections are reset beyond it, and datagrams
    /// dropped
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    memory: String,
}

fn rights(text: &str) -> Result<u32, String> {
    let rights = u32::from_str_radix(text, 8).ok().filter(|rights| *rights <= 0o777);
    rights.ok_or_else(|| "expected three octal digits, such as 600 or 660".to_owned())
}

/// A stack for nobody, or without sockets, would refuse all who come.
fn some(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "expected a whole number from 1".to_owned())
}

/// Asks the resolver of this host.
fn resolve(name: &str) -> std::io::Result<Vec<IpAddr>> {
    Ok((name, 0).to_socket_addrs()?.map(|it| it.ip()).collect())
}

pub(crate) fn run(args: &StackArgs) -> Result<(), Stop> {
    let memory: Octets = option("--memory", &args.memory)?;
    if args.addr.iter().filter(|it| it.address.is_ipv4()).count() > 1 {
        return Err(ConfigError::at(["--addr"], "two addresses of IPv4").expected("one, and any of IPv6").into());
    }
    let device: Box<dyn RealDevice> = match &args.tun {
        None => Box::new(NullDevice),
        Some(name) => kumiki_live::open_tun(name, args.mtu, args.linux, !args.single_packets)
            .map_err(|why| Stop::Failed(format!("--tun {name}: {why}")))?,
    };
    let addresses: Vec<IpAddr> = args.addr.iter().map(|it| it.address).collect();
    let prefix = |is_v4| args.addr.iter().find(|it| it.address.is_ipv4() == is_v4).map_or(0, |it| it.prefix);
    let config = HostConfig::new(addresses)
        .prefixes(prefix(true), prefix(false))
        .mtu(args.mtu)
        .memory(memory.count())
        .notices(|text| tell!("kumiki: {}", lines_shown(text)))
        .resolver(Arc::new(resolve));
    let config = args.via.iter().fold(config, |config, router| config.router(*router));
    let mut limits = Limits::default();
    (limits.programs, limits.sockets) = (args.programs, args.sockets);
    let failed = |why: std::io::Error| Stop::Failed(why.to_string());
    let driver = HostDriver::new(device, &config).map_err(failed)?;
    StackServer::run(driver, &args.at, args.mode, limits).map_err(|why| {
        use ErrorKind::{AddrInUse, NotADirectory, NotFound, PermissionDenied};
        if matches!(why.kind(), NotFound | NotADirectory | PermissionDenied | AddrInUse) {
            return unwritable("--at", &args.at, &why);
        }
        Stop::Failed(format!("--at {}: {why}", args.at.display()))
    })
}
