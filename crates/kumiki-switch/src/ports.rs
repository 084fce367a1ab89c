//! The layers of a port, and the device that they stand on.

use core::net::SocketAddr;

use kumiki_graph::{Duration, Protocol, Service};
use kumiki_io::tun;
use kumiki_io::{
    Line, Packets, RealClock, RealDevice, Records, RemoteEnd, Sockets, SocketsConfig, Tun, TunConfig, Udp,
};

use super::callers::Callers;
use super::config::{Kind, Port, PortCarrier};
use kumiki_config::{ConfigError, settings};
use kumiki_live::{LiveError, system};
use kumiki_settings::{LowerLayers, NodeKinds, Settings};

/// The most octets of a call that wait for a peer that does not read: two packets of the largest size.
pub(super) const HELD: usize = 8 << 10;
/// The most octets of a call that are read before its packets are taken.
pub(super) const RECEIVE_BUFFER: u32 = 8 << 10;

/// The largest packet of X.25 with its header, and some more: what TAP and TUN devices carry.
const MTU: u16 = 4200;

/// A node of a port's: its name, its kind and itself. The uppermost comes first, and each stands on the next.
pub(super) type Layer = (String, &'static str, Box<dyn Protocol>);

/// The device of a port: its name, what it speaks, and itself.
pub(super) struct Device {
    pub(super) name: String,
    pub(super) service: Service,
    pub(super) device: Box<dyn RealDevice>,
    /// Where calls come in.
    pub(super) listens: Option<SocketAddr>,
}

/// What sees callers of all ports come.
pub(super) struct Gate<'a> {
    pub(super) callers: &'a Callers,
    /// How long they may be without a call.
    pub(super) begin: Duration,
    pub(super) clock: RealClock,
}

/// `value` under `key`, where the file does not say.
fn unless(table: &mut toml::Table, key: &str, value: impl Into<toml::Value>) {
    table.entry(key.to_owned()).or_insert_with(|| value.into());
}

/// What a port is made of: X.25's own, and Ethernet below LAPB.
const KINDS: NodeKinds = NodeKinds::new(&[kumiki_inet::kinds::KINDS, kumiki_x25::kinds::KINDS]);

/// The nodes of a port. `listens` is where its device listens, if that is known already; over XOT a caller may be
/// without a packet for `timeout`, unless the port says.
///
/// # Errors
/// A [`ConfigError`] whose path leads to the setting.
pub(super) fn nodes(port: &Port, listens: Option<SocketAddr>, timeout: Duration) -> Result<Vec<Layer>, ConfigError> {
    let mut layers: Vec<Layer> = Vec::new();
    let lower = |what: &str| format!("{}.{what}", port.name);
    let mut x25 = port.x25.clone();
    // A switch is a network, so its interfaces are those of a DCE unless one leads to another network.
    unless(&mut x25, "role", "dce");
    let over = match &port.kind {
        Kind::Xot { .. } => "circuits",
        Kind::Lapb { .. } => "link",
        Kind::Tun(_) | Kind::Packets(_) => "frames",
    };
    if let Some(other) = x25.get("over").filter(|it| it.as_str() != Some(over)) {
        let why = format!("{other} is not what a port of this kind is over");
        return Err(ConfigError::at(["port", &port.name, "x25", "over"], why).expected(format!("nothing, or {over:?}")));
    }
    unless(&mut x25, "over", over);
    if over != "link" && x25.contains_key("idle") {
        let why = "a port of this kind has no link that could be ended and asked for again";
        return Err(ConfigError::at(["port", &port.name, "x25", "idle"], why)
            .expected("this with kind \"lapb\", and nothing here"));
    }
    let mut add = |name: String, kind: &'static str, table: &toml::Table, below: &str| {
        let key = if kind == "eth" { "on" } else { kind };
        let known = KINDS.settings(kind, &Settings::new());
        let place = LowerLayers { below: &[below], mtu: None };
        let node = settings::build(table, &known, |read| KINDS.build(kind, read, place))
            .map_err(|fault| fault.under(&["port", &port.name, key]))?;
        layers.push((name, kind, node));
        Ok::<(), ConfigError>(())
    };
    let device = lower("device");
    match &port.kind {
        Kind::Xot { listen, hosts, .. } => {
            add(port.name.clone(), "x25", &x25, &lower("xot"))?;
            let mut xot = port.xot.clone();
            let routes: Vec<toml::Value> =
                hosts.iter().map(|(number, host)| format!("{number} = {host}").into()).collect();
            unless(&mut xot, "routes", routes);
            unless(&mut xot, "timeout", format!("{} ns", timeout.as_nanos()));
            match listens.or(*listen) {
                Some(listen) => unless(&mut xot, "listen", listen.to_string()),
                None => unless(&mut xot, "calls_only", true),
            }
            add(lower("xot"), "xot", &xot, &device)?;
        }
        Kind::Lapb { ethernet, .. } => {
            add(port.name.clone(), "x25", &x25, &lower("lapb"))?;
            let mut lapb = port.lapb.clone();
            unless(&mut lapb, "role", "dce");
            let none = toml::Table::new();
            if *ethernet {
                // An Ethernet has 1500 octets, two of them for the length.
                unless(&mut lapb, "information", "1495 B");
                add(lower("lapb"), "lapb", &lapb, &lower("lapb_ether"))?;
                add(lower("lapb_ether"), "lapb_ether", &none, &lower("eth"))?;
                let mut eth = toml::Table::new();
                unless(&mut eth, "address", "02:58:2e:32:35:01");
                add(lower("eth"), "eth", &eth, &device)?;
            } else {
                add(lower("lapb"), "lapb", &lapb, &device)?;
            }
        }
        Kind::Tun(_) => {
            add(port.name.clone(), "x25", &x25, &lower("x25_iface"))?;
            let none = toml::Table::new();
            add(lower("x25_iface"), "x25_iface", &none, &device)?;
        }
        Kind::Packets(_) => add(port.name.clone(), "x25", &x25, &device)?,
    }
    Ok(layers)
}

/// Opens the device of a port.
///
/// # Errors
/// [`LiveError`], which names the port and says what would help.
pub(super) fn device(port: &Port, gate: &Gate<'_>) -> Result<Device, LiveError> {
    let said = |why: &dyn core::fmt::Display| LiveError::Line(format!("port {}: {why}", port.name));
    let mut listens = None;
    let (service, device): (Service, Box<dyn RealDevice>) = match &port.kind {
        Kind::Xot { listen, .. } => {
            let sockets =
                Sockets::new(SocketsConfig { held: HELD, receive_buffer: RECEIVE_BUFFER, ..SocketsConfig::default() });
            let mut sockets = sockets.map_err(system(format!("port {}", port.name)))?;
            if let Some(listen) = listen {
                listens = Some(sockets.bind(*listen).map_err(|why| said(&why))?);
            }
            let door = gate.callers.door(port, sockets, gate.clock);
            (Service::STREAM, Box::new(door))
        }
        Kind::Lapb { on, .. } => {
            let device: Box<dyn RealDevice> = match on {
                PortCarrier::Tap(name) => {
                    let config = TunConfig { layer: tun::Layer::Ethernet, mtu: MTU, packets: Packets::Plain };
                    let tap = Tun::open_as(name, config).map_err(|why| said(&why))?;
                    // Where it may not be brought up, whoever made it has done that.
                    let _ = tap.kernel().set_up(true);
                    Box::new(tap)
                }
                PortCarrier::Udp(local, remote) => {
                    Box::new(Udp::open(*local, RemoteEnd::Given(*remote)).map_err(|why| said(&why))?)
                }
                PortCarrier::Line(line) => {
                    let line = Line::open(line, true).map_err(|why| said(&why))?;
                    Box::new(Records::new(line))
                }
                PortCarrier::Tun(name) => return Err(said(&format!("tun:{name} carries no LAPB"))),
            };
            (Service::UNIT_DATA, device)
        }
        Kind::Tun(name) => {
            let tun = Tun::open_x25(name, MTU).map_err(|why| said(&why))?;
            let _ = tun.kernel().set_up(true);
            (Service::UNIT_DATA, Box::new(tun))
        }
        Kind::Packets(line) => {
            let line = Line::open(line, true).map_err(|why| said(&why))?;
            (Service::UNIT_DATA, Box::new(Records::new(line)))
        }
    };
    Ok(Device { name: format!("{}.device", port.name), service, device, listens })
}
