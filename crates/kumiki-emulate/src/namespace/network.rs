//! What a program's network is to be: addresses, routes, and which files say so.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use kumiki_io::tun::DefaultRoute;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::{GATEWAY_4, GATEWAY_6, OWN_4, OWN_6, PREFIX_4, PREFIX_6, RESOLVER, VARIABLE};

/// Where programs look for the addresses of hosts first.
pub(crate) const HOSTS: &str = "/etc/hosts";

/// What the child is told of its network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Network {
    /// The most octets of a packet.
    pub(crate) mtu: u16,
    /// Its addresses, each with the length of its prefix. What is IPv6 is left out where the kernel has none.
    pub(crate) addresses: Vec<(IpAddr, u8)>,
    /// The routers of what has no other route, one of a version.
    pub(crate) routers: Vec<IpAddr>,
    /// Whether what has no other route goes by the interface, for the versions of the addresses.
    pub(crate) all_behind: bool,
    /// What the program's environment has beside.
    pub(crate) variable: (String, String),
    /// Whether the program leads a process group of its own: then keys of the terminal do not reach it, and signals
    /// reach all that it has started.
    pub(crate) own_group: bool,
}

impl Network {
    /// That of a program behind a single path.
    pub(crate) fn of_link(mtu: u16) -> Self {
        let ipv6 = has_ipv6().then_some(IpAddr::V6(GATEWAY_6));
        Self {
            mtu,
            addresses: vec![(IpAddr::V4(OWN_4), PREFIX_4), (IpAddr::V6(OWN_6), PREFIX_6)],
            routers: [IpAddr::V4(GATEWAY_4)].into_iter().chain(ipv6).collect(),
            all_behind: false,
            variable: (VARIABLE.to_owned(), GATEWAY_4.to_string()),
            own_group: false,
        }
    }

    /// Its default routes.
    pub(super) fn routes(&self) -> Vec<DefaultRoute> {
        let has = |version: fn(&IpAddr) -> bool| self.all_behind && self.addresses.iter().any(|(it, _)| version(it));
        let by_router = self.routers.iter().map(|router| DefaultRoute::Gateway(*router));
        let straight = [
            has(IpAddr::is_ipv4).then_some(DefaultRoute::Interface4),
            has(IpAddr::is_ipv6).then_some(DefaultRoute::Interface6),
        ];
        by_router.chain(straight.into_iter().flatten()).collect()
    }
}

/// A file in the place of another one, for the program alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReplacedFile {
    /// The one that is there in its place.
    pub(crate) by: PathBuf,
    /// The one that cannot be seen.
    pub(crate) path: &'static str,
}

/// The files of which the program sees others; one that is not there is none that could be replaced.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Files {
    /// The resolver that `/etc/resolv.conf` names.
    pub(crate) resolver: Option<IpAddr>,
    /// What stands in `/etc/hosts` in front of the rest.
    pub(crate) hosts: Option<String>,
}

impl Files {
    /// Makes them. They are there as long as the first of the results.
    pub(super) fn make(&self) -> Result<(Vec<NamedTempFile>, Vec<ReplacedFile>), String> {
        let resolver =
            self.resolver.map(|by| (RESOLVER, Box::new(move |text: &str| resolver_text(by, text)) as Change));
        let hosts =
            self.hosts.clone().map(|front| (HOSTS, Box::new(move |text: &str| format!("{front}{text}")) as Change));
        let (mut kept, mut replaced) = (Vec::new(), Vec::new());
        for (path, change) in resolver.into_iter().chain(hosts) {
            let Ok(text) = std::fs::read_to_string(path) else {
                continue;
            };
            let file =
                made(&change(&text)).map_err(|why| format!("a file in {}: {why}", std::env::temp_dir().display()))?;
            replaced.push(ReplacedFile { by: file.path().to_owned(), path });
            kept.push(file);
        }
        Ok((kept, replaced))
    }
}

/// From what a file says to what it is to say.
type Change = Box<dyn Fn(&str) -> String>;

fn made(text: &str) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("kumiki-")?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(Permissions::from_mode(0o644))?;
    Ok(file)
}

/// What `/etc/resolv.conf` says, with another resolver.
pub(super) fn resolver_text(resolver: IpAddr, host: &str) -> String {
    let kept = host.lines().filter(|line| {
        let first = line.split_whitespace().next();
        first.is_some_and(|word| ["search", "domain", "options", "sortlist"].contains(&word))
    });
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    format!("nameserver {resolver}\n{kept}")
}

/// Whether this host has a default route of IPv6, by an interface other than the loopback.
fn has_ipv6() -> bool {
    let routes = std::fs::read_to_string(Path::new("/proc/net/ipv6_route")).unwrap_or_default();
    routes.lines().any(is_default_route)
}

/// A line of `/proc/net/ipv6_route`: destination, its prefix, source, its prefix, next hop, metric, two counts, flags,
/// interface.
pub(super) fn is_default_route(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let everywhere = "0".repeat(32);
    matches!(words.as_slice(), [to, "00", _, _, _, _, _, _, _, by] if *to == everywhere && *by != "lo")
}
