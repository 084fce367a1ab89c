//! The configuration of a switch: a file in TOML.
//!
//! | table | what it says |
//! |---|---|
//! | `[port.NAME]` | an interface: `kind`, what it is on, and settings of its layers as `docs/settings.md` lists them |
//! | `[[route]]` | where calls go whose called address begins so |
//! | `[[circuit]]` | two channels that are one permanent virtual circuit |
//! | `[switch]` | `most` calls; `retry`, after which an end of a permanent circuit is asked for again |

use core::net::{IpAddr, SocketAddr};
use core::str::FromStr;
use std::collections::BTreeMap;
use std::net::ToSocketAddrs as _;

use kumiki_graph::Duration;
use kumiki_io::Opening;
use kumiki_io::sockets::plain;
use kumiki_osi_service::x25::Number;
use kumiki_x25::x25_switch::{self, CircuitEnd, Rewrite, Route};
use kumiki_x25::xot::DEFAULT_TIMEOUT;
use serde::Deserialize;

use kumiki_config::ConfigError;
use kumiki_config::quantity;
use kumiki_config::tree::{Node, Source};
use kumiki_live::Network;

/// The port of XOT.
const XOT: u16 = 1998;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    switch: Option<General>,
    port: BTreeMap<String, PortTable>,
    #[serde(default)]
    route: Vec<RouteTable>,
    #[serde(default)]
    circuit: Vec<CircuitTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct General {
    most: Option<u32>,
    retry: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PortTable {
    kind: String,
    listen: Option<String>,
    peers: Option<Vec<String>>,
    host: Option<String>,
    #[serde(default)]
    hosts: BTreeMap<String, String>,
    on: Option<String>,
    frames: Option<String>,
    #[serde(default)]
    x25: toml::Table,
    #[serde(default)]
    lapb: toml::Table,
    #[serde(default)]
    xot: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteTable {
    called: String,
    to: Vec<String>,
    #[serde(default)]
    from: Vec<String>,
    #[serde(default)]
    user_data: String,
    #[serde(default)]
    strip: u8,
    #[serde(default)]
    prepend: String,
    #[serde(default)]
    calling_strip: u8,
    #[serde(default)]
    calling_prepend: String,
    #[serde(default)]
    back: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CircuitTable {
    a: String,
    b: String,
}

/// What carries LAPB or packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum PortCarrier {
    /// A TAP device of this name: Ethernet.
    Tap(String),
    /// A TUN device of this name.
    Tun(String),
    /// Datagrams, from our address to that one.
    Udp(SocketAddr, SocketAddr),
    /// A line.
    Line(Opening),
}

impl FromStr for PortCarrier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        match word {
            "tap" if !rest.is_empty() => Ok(Self::Tap(rest.to_owned())),
            "tun" if !rest.is_empty() => Ok(Self::Tun(rest.to_owned())),
            "udp" => {
                let ends = rest.split_once(',');
                let ends = ends.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                let (local, remote) = ends.ok_or("these are no two addresses")?;
                Ok(Self::Udp(local, remote))
            }
            _ => text.parse().map(Self::Line),
        }
    }
}

/// A port's lower layers.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    /// XOT.
    Xot {
        /// Where calls come in.
        listen: Option<SocketAddr>,
        /// Who may call; all, unless it says.
        peers: Option<Vec<Network>>,
        /// Where numbers that begin so are.
        hosts: Vec<(Number, SocketAddr)>,
    },
    /// LAPB.
    Lapb {
        /// What carries it.
        on: PortCarrier,
        /// Whether each frame of it is in one of Ethernet.
        ethernet: bool,
    },
    /// The kernel's packet layer, by a TUN device.
    Tun(String),
    /// Packets as records on a line.
    Packets(Opening),
}

/// An interface.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Port {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) x25: toml::Table,
    pub(super) lapb: toml::Table,
    pub(super) xot: toml::Table,
}

impl Port {
    /// Who may call by it, where not all may.
    pub(super) fn peers(&self) -> Option<&[Network]> {
        match &self.kind {
            Kind::Xot { peers, .. } => peers.as_deref(),
            Kind::Lapb { .. } | Kind::Tun(_) | Kind::Packets(_) => None,
        }
    }

    /// Whether anybody can be called by it.
    fn calls(&self) -> bool {
        match &self.kind {
            Kind::Xot { hosts, .. } => !hosts.is_empty() || self.xot.contains_key("routes"),
            Kind::Lapb { .. } | Kind::Tun(_) | Kind::Packets(_) => true,
        }
    }

    /// Whether everybody may call by it who reaches it.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Xot { listen: Some(_), peers: None, .. })
    }
}

/// A configuration that makes sense.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    pub(super) ports: Vec<Port>,
    pub(super) switch: x25_switch::Config,
}

impl Config {
    /// The most calls.
    #[must_use]
    pub const fn most(&self) -> u32 {
        self.switch.max_calls
    }
}

const KINDS: [&str; 4] = ["xot", "lapb", "tun", "packets"];

/// Reads the text of `file`, and builds everything once to see whether it can be.
///
/// # Errors
/// A [`ConfigError`] with line, key and value.
pub fn parse(file: &str, text: &str) -> Result<Config, ConfigError> {
    let root = Node::parse(text).map_err(|fault| fault.in_file(file))?;
    let source = Source::new(file, &root);
    let read: File = source.read(&root, &[]).map_err(|fault| source.locate(fault))?;
    let config = understand(read).map_err(|fault| source.locate(fault))?;
    for port in &config.ports {
        super::ports::nodes(port, None, DEFAULT_TIMEOUT).map_err(|fault| source.locate(fault))?;
    }
    super::circuits::check(&config).map_err(|fault| source.locate(fault))?;
    listeners(&config.ports).map_err(|fault| source.locate(fault))?;
    Ok(config)
}

/// Whether no two ports listen at one place: the second could not begin.
fn listeners(ports: &[Port]) -> Result<(), ConfigError> {
    let at = |port: &Port| match &port.kind {
        Kind::Xot { listen, .. } => listen.filter(|at| at.port() != 0),
        Kind::Lapb { .. } | Kind::Tun(_) | Kind::Packets(_) => None,
    };
    for (number, port) in ports.iter().enumerate() {
        let Some(own) = at(port) else {
            continue;
        };
        let others = ports.iter().take(number);
        let other = others.filter_map(|it| Some((it, at(it)?))).find(|(_, other)| collide(own, *other));
        if let Some((other, at)) = other {
            let why = format!("port {:?} listens at {at}, where this one would", other.name);
            return Err(ConfigError::at(["port", &port.name, "listen"], why).expected("another address or port"));
        }
    }
    Ok(())
}

/// Whether the operating system lets one of two listen alone: the unspecified address is all, and that of IPv6 those of
/// IPv4 too.
fn collide(a: SocketAddr, b: SocketAddr) -> bool {
    let (a, b) = (plain(a), plain(b));
    let covers = |all: IpAddr, one: IpAddr| all.is_unspecified() && (all.is_ipv6() || one.is_ipv4());
    a.port() == b.port() && (a.ip() == b.ip() || covers(a.ip(), b.ip()) || covers(b.ip(), a.ip()))
}

fn understand(file: File) -> Result<Config, ConfigError> {
    let mut ports = Vec::new();
    for (name, table) in file.port {
        let port = port(&name, table).map_err(|fault| fault.under(&["port", &name]))?;
        ports.push(port);
    }
    if ports.is_empty() {
        return Err(ConfigError::at(["port"], "there is no port").expected("a table [port.NAME] for each"));
    }
    let names: Vec<String> = ports.iter().map(|port| port.name.clone()).collect();
    let mut routes = Vec::new();
    for (number, table) in file.route.into_iter().enumerate() {
        let number = number.to_string();
        let route = route(table, &ports, &names).map_err(|fault| fault.under(&["route", &number]))?;
        routes.push(route);
    }
    let mut circuits = Vec::new();
    for (number, table) in file.circuit.into_iter().enumerate() {
        let number = number.to_string();
        let place =
            |key: &str, text: &str| place(text, &names).map_err(|fault| fault.under(&["circuit", &number, key]));
        circuits.push([place("a", &table.a)?, place("b", &table.b)?]);
    }
    let mut switch = x25_switch::Config {
        routes,
        circuits,
        always_up: ports
            .iter()
            .filter(|port| matches!(port.kind, Kind::Xot { .. }))
            .map(|port| port.name.clone())
            .collect(),
        ..x25_switch::Config::default()
    };
    if let Some(general) = file.switch {
        switch.max_calls = general.most.unwrap_or(switch.max_calls);
        if let Some(text) = general.retry {
            switch.retry = quantity_at(&["switch", "retry"], &text)?;
        }
        if switch.retry.is_zero() || switch.max_calls == 0 {
            return Err(ConfigError::at(["switch"], "`most` or `retry` is 0").expected("more than that"));
        }
    }
    Ok(Config { ports, switch })
}

fn quantity_at(path: &[&str], text: &str) -> Result<Duration, ConfigError> {
    quantity::parse(text).map_err(|why| ConfigError::quantity(path, &why))
}

fn read_as<T: FromStr>(key: &str, text: &str, expected: &str) -> Result<T, ConfigError> {
    let wrong = |_| ConfigError::at([key], format!("invalid value {text:?}")).expected(expected);
    text.parse().map_err(wrong)
}

/// An address, with XOT's port where it has none.
fn local(key: &str, text: &str) -> Result<SocketAddr, ConfigError> {
    let ip = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, XOT));
    ip.or_else(|_| read_as(key, text, "an address of this host, such as \"0.0.0.0:1998\""))
}

/// A host by name or address, with XOT's port where it says none.
fn host(path: &[&str], text: &str) -> Result<SocketAddr, ConfigError> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let found = match text.parse::<IpAddr>() {
        Ok(ip) => return Ok(SocketAddr::new(ip, XOT)),
        Err(_) if text.contains(':') => text.to_socket_addrs(),
        Err(_) => (text, XOT).to_socket_addrs(),
    };
    let address = found.ok().and_then(|mut all| all.next());
    address.ok_or_else(|| {
        ConfigError::at(path, format!("{text:?} has no address"))
            .expected("a host, such as \"192.0.2.7\" or \"router.example:1998\"")
    })
}

fn port(name: &str, table: PortTable) -> Result<Port, ConfigError> {
    let clean = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    // The switch itself is a layer of that name.
    if name.is_empty() || name == "switch" || !name.chars().all(clean) {
        let why = format!("{name:?} cannot be a port's name");
        return Err(ConfigError::new(why).expected("letters, digits, - and _, and not \"switch\""));
    }
    let only = |key: &str, is_there: bool, kinds: &str| {
        if is_there {
            let why = format!("a port of kind {:?} has none", table.kind);
            return Err(ConfigError::at([key], why).expected(format!("this with kind {kinds}")));
        }
        Ok(())
    };
    let is = |kind: &str| table.kind == kind;
    if !KINDS.contains(&table.kind.as_str()) {
        return Err(ConfigError::unknown(["kind"], "kind of port", &table.kind, &KINDS));
    }
    only("listen", table.listen.is_some() && !is("xot"), "xot")?;
    only("peers", table.peers.is_some() && !is("xot"), "xot")?;
    only("host", table.host.is_some() && !is("xot"), "xot")?;
    only("hosts", !table.hosts.is_empty() && !is("xot"), "xot")?;
    only("xot", !table.xot.is_empty() && !is("xot"), "xot")?;
    only("lapb", !table.lapb.is_empty() && !is("lapb"), "lapb")?;
    only("frames", table.frames.is_some() && !is("lapb"), "lapb")?;
    only("on", table.on.is_some() && is("xot"), "lapb, tun or packets")?;
    let kind = if is("xot") { xot(&table)? } else { on(&table)? };
    Ok(Port { name: name.to_owned(), kind, x25: table.x25, lapb: table.lapb, xot: table.xot })
}

fn xot(table: &PortTable) -> Result<Kind, ConfigError> {
    let listen = table.listen.as_deref().map(|text| local("listen", text));
    let mut hosts = Vec::new();
    for (number, text) in &table.hosts {
        let prefix = Number::or_none(number).map_err(|why| {
            ConfigError::at(["hosts", number], format!("{number:?} is not a number: {why}"))
                .expected("the beginning of a number, such as \"2342\"")
        })?;
        hosts.push((prefix, host(&["hosts", number], text)?));
    }
    if let Some(text) = &table.host {
        hosts.push((Number::NONE, host(&["host"], text)?));
    }
    if hosts.is_empty() && listen.is_none() {
        return Err(
            ConfigError::new("no call can go out by it, and none can come in").expected("`listen`, `host` or `hosts`")
        );
    }
    let peers = table.peers.as_deref().map(peers).transpose()?;
    if peers.is_some() && listen.is_none() {
        return Err(ConfigError::at(["peers"], "no call can come in by this port")
            .expected("`listen` beside it, or no `peers`"));
    }
    Ok(Kind::Xot { listen: listen.transpose()?, peers, hosts })
}

/// Who may call.
fn peers(texts: &[String]) -> Result<Vec<Network>, ConfigError> {
    // Whoever has taken the last one out wants nobody, or everybody: that is not for us to say.
    if texts.is_empty() {
        return Err(ConfigError::at(["peers"], "this lets no caller in").expected(
            "addresses and networks, such as \"192.0.2.0/24\"; to let none in leave `listen` out, to let all in `peers`",
        ));
    }
    let peers = texts.iter().zip(0..).map(|(text, number): (_, u32)| {
        let whole =
            text.parse::<IpAddr>().map(|address| Network { address, prefix: if address.is_ipv4() { 32 } else { 128 } });
        whole.or_else(|_| {
            text.parse().map_err(|_| {
                ConfigError::at(["peers", &number.to_string()], format!("{text:?} is not a network"))
                    .expected("an address, or one with a prefix, such as \"192.0.2.0/24\"")
            })
        })
    });
    peers.collect()
}

fn on(table: &PortTable) -> Result<Kind, ConfigError> {
    const LAPB: &str = "\"tap:NAME\", \"udp:LOCAL,REMOTE\", or a line such as \"listen:PATH\"";
    const PACKETS: &str = "a line such as \"listen:PATH\", \"unix:PATH\" or \"tty:PATH\"";
    let expected = match table.kind.as_str() {
        "lapb" => LAPB,
        "tun" => "\"tun:NAME\"",
        _ => PACKETS,
    };
    let Some(text) = &table.on else {
        return Err(ConfigError::new("the key \"on\" is missing").expected(expected));
    };
    let wrong = |why: &str| ConfigError::at(["on"], why.to_owned()).expected(expected);
    let on: PortCarrier = text.parse().map_err(|why: String| wrong(&why))?;
    match (table.kind.as_str(), on) {
        ("lapb", PortCarrier::Line(line)) if table.frames.as_deref() != Some("ethernet") => {
            Ok(Kind::Lapb { on: PortCarrier::Line(line), ethernet: false })
        }
        ("lapb", on @ (PortCarrier::Tap(_) | PortCarrier::Udp(..))) => {
            let is_tap = matches!(on, PortCarrier::Tap(_));
            let ethernet = match table.frames.as_deref() {
                None => is_tap,
                Some("ethernet") => true,
                Some("bare") if !is_tap => false,
                Some(other) => {
                    let why = format!("{other:?} is not what is in these frames");
                    let right = if is_tap { "\"ethernet\"" } else { "\"ethernet\" or \"bare\"" };
                    return Err(ConfigError::at(["frames"], why).expected(right));
                }
            };
            Ok(Kind::Lapb { on, ethernet })
        }
        ("tun", PortCarrier::Tun(name)) => Ok(Kind::Tun(name)),
        ("packets", PortCarrier::Line(line)) => Ok(Kind::Packets(line)),
        (kind, _) => Err(wrong(&format!("{text:?} carries no port of kind {kind:?}"))),
    }
}

fn known(key: &str, number: usize, name: &str, names: &[String]) -> Result<(), ConfigError> {
    if names.iter().any(|it| it == name) {
        return Ok(());
    }
    let path = [key.to_owned(), number.to_string()];
    Err(ConfigError::unknown(path, "port", name, names))
}

fn digits(key: &str, text: &str) -> Result<Number, ConfigError> {
    Number::or_none(text).map_err(|_| {
        ConfigError::at([key], format!("{text:?} is not a number"))
            .expected("up to 15 digits, such as \"2342\"; none at all is every number")
    })
}

fn route(table: RouteTable, ports: &[Port], names: &[String]) -> Result<Route, ConfigError> {
    for (key, list) in [("to", &table.to), ("from", &table.from)] {
        for (number, name) in list.iter().enumerate() {
            known(key, number, name, names)?;
        }
    }
    for (number, name) in table.to.iter().enumerate() {
        if let Some(port) = ports.iter().find(|port| port.name == *name && !port.calls()) {
            let why = format!("no call goes out by port {:?}, which only listens", port.name);
            let path = ["to".to_owned(), number.to_string()];
            return Err(ConfigError::at(path, why).expected("a port with `host` or `hosts`, or these there"));
        }
    }
    if table.to.is_empty() {
        return Err(ConfigError::at(["to"], "a route to nowhere").expected("the names of ports"));
    }
    Ok(Route {
        prefix: digits("called", &table.called)?,
        from: table.from,
        user_data: octets(&table.user_data).ok_or_else(|| {
            let why = format!("{:?} is not hexadecimal", table.user_data);
            ConfigError::at(["user_data"], why).expected("pairs of digits, such as \"01000000\"")
        })?,
        to: table.to,
        called: Rewrite { strip: table.strip, prepend: digits("prepend", &table.prepend)? },
        calling: Rewrite { strip: table.calling_strip, prepend: digits("calling_prepend", &table.calling_prepend)? },
        back: table.back,
    })
}

fn octets(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|it| !it.is_whitespace())
        .map(|it| it.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits.filter(|it| it.len() % 2 == 0)?;
    let pair = |pair: &[u8]| match *pair {
        [a, b] => Some(a << 4 | b),
        _ => None,
    };
    digits.chunks(2).map(pair).collect()
}

fn place(text: &str, names: &[String]) -> Result<CircuitEnd, ConfigError> {
    let wrong = || {
        ConfigError::new(format!("{text:?} names no channel of a port"))
            .expected("a port and a channel from 1 to 4095, such as \"paris:1\"")
    };
    let (port, channel) = text.rsplit_once(':').ok_or_else(wrong)?;
    if !names.iter().any(|it| it == port) {
        return Err(ConfigError::unknown(core::iter::empty::<&str>(), "port", port, names));
    }
    let channel = channel.parse().ok().filter(|it| (1..=4095).contains(it));
    Ok(CircuitEnd { port: port.to_owned(), channel: channel.ok_or_else(wrong)? })
}
