//! From a node's settings in a scenario to a protocol.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use kumiki_graph::{Address, Coalesce, Duration, Protocol};
use kumiki_proto::tcp::config::{AckRule, AckTimer, Beat, HalfWindow, Rounding, WindowUpdate};
use kumiki_proto::tcp::congestion::{Algorithm, InitialWindow};
use kumiki_proto::{ip, llc_snap, tcp};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::fault::{Fault, fault, quantity, unknown};
use crate::quantity::Octets;

/// The kinds of nodes that a graph may have, beside the programs at the top.
pub const KINDS: [&str; 3] = ["tcp", "ip", "llc_snap"];

/// What a node needs to know of its place.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The names of the layers below, in order.
    pub below: &'a [String],
    /// Keep traces of connections.
    pub trace: bool,
}

/// Builds a node of kind `kind`.
///
/// # Errors
/// A [`Fault`] whose path begins at the node.
pub fn build(
    kind: &str,
    settings: &toml::Table,
    place: Place<'_>,
) -> Result<Box<dyn Protocol>, Fault> {
    Ok(match kind {
        "tcp" => Box::new(tcp::Tcp::new(tcp_config(settings, place)?)),
        "ip" => {
            let config = ip_config(settings, place)?;
            let built = ip::Ip::new(config).map_err(|error| fault(&[], error.to_string()))?;
            Box::new(built)
        }
        "llc_snap" => Box::new(llc_snap::LlcSnap::new(llc_config(settings)?)),
        other => return Err(unknown(&[], "kind of node", other, &KINDS)),
    })
}

/// Reads `settings` as a `T`; unknown and ill-typed keys are faults.
fn read<T: DeserializeOwned>(settings: &toml::Table) -> Result<T, Fault> {
    settings
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| {
            let message = error.message().to_owned();
            let key = settings
                .keys()
                .find(|key| message.contains(&format!("`{key}`")));
            fault(
                &key.map(String::as_str).into_iter().collect::<Vec<_>>(),
                message,
            )
        })
}

fn octets(key: &str, text: &str) -> Result<u32, Fault> {
    let octets: Octets = quantity(&[key], text)?;
    u32::try_from(octets.count())
        .map_err(|_| fault(&[key], format!("{key} = \"{text}\": more than 4 GiB")))
}

fn choice<T>(key: &str, text: &str, what: &str, known: &[(&str, T)]) -> Result<T, Fault>
where
    T: Copy,
{
    let found = known
        .iter()
        .find(|(name, _)| *name == text)
        .map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        unknown(&[key], what, text, &names)
    })
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct LlcSettings {
    vc: Option<String>,
}

fn llc_config(settings: &toml::Table) -> Result<llc_snap::Config, Fault> {
    let settings: LlcSettings = read(settings)?;
    let vc = settings
        .vc
        .map(|text| channel(&["vc"], &text))
        .transpose()?;
    Ok(llc_snap::Config {
        vc: vc.unwrap_or_default(),
    })
}

/// `vpi/vci`.
///
/// # Errors
/// A [`Fault`] at `path`.
pub fn channel(path: &[&str], text: &str) -> Result<Address, Fault> {
    let parsed = text.split_once('/').and_then(|(vpi, vci)| {
        let vpi: u16 = vpi.trim().parse().ok().filter(|vpi| *vpi < 4096)?;
        Some(Address::Vc {
            vpi,
            vci: vci.trim().parse().ok()?,
        })
    });
    parsed.ok_or_else(|| {
        fault(
            path,
            format!("\"{text}\" is no channel; write vpi/vci, as in \"0/100\""),
        )
    })
}

/// The IPv4 interface of a host: what the programs on it need to know.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct IpSettings {
    address: String,
    mtu: Option<String>,
    neighbours: BTreeMap<String, String>,
    ttl: Option<u8>,
    forwarding: bool,
    interface: BTreeMap<String, InterfaceSettings>,
    routes: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct InterfaceSettings {
    address: String,
    mtu: Option<String>,
    neighbours: BTreeMap<String, String>,
}

/// `address/prefix`.
fn network(key: &str, text: &str) -> Result<(Ipv4Addr, u8), Fault> {
    let parsed = text.split_once('/').and_then(|(address, prefix)| {
        Some((
            address.parse().ok()?,
            prefix.parse().ok().filter(|prefix| *prefix <= 32)?,
        ))
    });
    parsed.ok_or_else(|| {
        let problem = format!(
            "{key} = \"{text}\": no IPv4 address with its prefix; write as in \"10.0.0.1/24\""
        );
        fault(&[key], problem)
    })
}

/// The address of the first interface that `settings` of an `ip` node name.
///
/// # Errors
/// A [`Fault`] where there is none.
pub fn address(settings: &toml::Table) -> Result<Ipv4Addr, Fault> {
    let settings: IpSettings = read(settings)?;
    let first = settings
        .interface
        .into_values()
        .next()
        .map(|interface| interface.address);
    network("address", &first.unwrap_or(settings.address)).map(|(address, _)| address)
}

fn ip_config(settings: &toml::Table, place: Place<'_>) -> Result<ip::Config, Fault> {
    let mut settings: IpSettings = read(settings)?;
    if settings.interface.is_empty() {
        let only = InterfaceSettings {
            address: core::mem::take(&mut settings.address),
            mtu: settings.mtu.take(),
            neighbours: core::mem::take(&mut settings.neighbours),
        };
        let below = place.below.first().cloned().unwrap_or_default();
        settings.interface.insert(below, only);
    }
    let interfaces = settings
        .interface
        .iter()
        .map(|(below, interface)| interface_config(below, interface));
    let mut config = ip::Config {
        interfaces: interfaces.collect::<Result<_, _>>()?,
        ..ip::Config::default()
    };
    config.forwarding = settings.forwarding;
    config.ttl = settings.ttl.unwrap_or(config.ttl);
    for (to, gateway) in &settings.routes {
        let (network, prefix) = network("routes", to)?;
        let gateway = gateway
            .parse()
            .map_err(|_| fault(&["routes", to], format!("\"{gateway}\" is no IPv4 address")))?;
        config.routes.push(ip::Route {
            network,
            prefix,
            via: ip::Via::Gateway(gateway),
        });
    }
    Ok(config)
}

fn interface_config(below: &str, settings: &InterfaceSettings) -> Result<ip::Interface, Fault> {
    let (address, prefix) = network("address", &settings.address)?;
    let mut interface = ip::Interface::new(below, address, prefix);
    if let Some(mtu) = &settings.mtu {
        interface.mtu = octets("mtu", mtu)?;
    }
    let neighbour = |(address, vc): (&String, &String)| {
        let hop = address.parse().map_err(|_| {
            fault(
                &["neighbours", address],
                format!("\"{address}\" is no IPv4 address"),
            )
        })?;
        Ok((hop, channel(&["neighbours", address], vc)?))
    };
    if !settings.neighbours.is_empty() {
        let table = settings
            .neighbours
            .iter()
            .map(neighbour)
            .collect::<Result<_, Fault>>()?;
        interface.neighbours = ip::Neighbours::Table(table);
    }
    Ok(interface)
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct TcpSettings {
    defaults: Option<String>,
    mss: Option<String>,
    send_buffer: Option<String>,
    receive_buffer: Option<String>,
    low_water: Option<String>,
    send_granularity: Option<String>,
    timestamps: Option<bool>,
    window_scaling: Option<bool>,
    sack: Option<bool>,
    congestion: Option<String>,
    initial_window_segments: Option<u32>,
    coalesce: Option<String>,
    half_window: Option<String>,
    rounding: Option<String>,
    window_update: Option<UpdateSettings>,
    ack: Option<AckSettings>,
    delayed_ack: Option<String>,
    delayed_ack_heartbeat: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateSettings {
    segments: u32,
    percent: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AckSettings {
    every: u32,
    count_small: bool,
}

/// The words for [`Coalesce`].
pub const COALESCE: [(&str, Coalesce); 3] = [
    ("never", Coalesce::Never),
    ("nagle", Coalesce::Nagle),
    ("minshall", Coalesce::Minshall),
];

fn tcp_config(settings: &toml::Table, place: Place<'_>) -> Result<tcp::Config, Fault> {
    let settings: TcpSettings = read(settings)?;
    let name = settings.defaults.as_deref().unwrap_or("modern");
    let mut config = tcp::defaults::named(name).ok_or_else(|| {
        unknown(
            &["defaults"],
            "profile of defaults",
            name,
            &tcp::defaults::NAMES,
        )
    })?;
    config.trace = place.trace;
    if let Some(mss) = &settings.mss {
        let mss = octets("mss", mss)?;
        config.mss = Some(
            u16::try_from(mss)
                .ok()
                .filter(|mss| *mss > 0)
                .ok_or_else(|| {
                    fault(
                        &["mss"],
                        format!("{mss} octets; TCP's MSS is 1 to 65535 (RFC 9293 section 3.7.1)"),
                    )
                })?,
        );
    }
    buffers(&settings, &mut config)?;
    switches(&settings, &mut config)?;
    acknowledging(&settings, &mut config)?;
    Ok(config)
}

fn buffers(settings: &TcpSettings, config: &mut tcp::Config) -> Result<(), Fault> {
    let sizes = [
        (
            "send_buffer",
            &settings.send_buffer,
            &mut config.send_buffer,
        ),
        (
            "receive_buffer",
            &settings.receive_buffer,
            &mut config.receive_buffer,
        ),
        ("low_water", &settings.low_water, &mut config.low_water),
        (
            "send_granularity",
            &settings.send_granularity,
            &mut config.send_granularity,
        ),
    ];
    for (key, text, place) in sizes {
        if let Some(text) = text {
            *place = octets(key, text)?;
        }
    }
    if config.receive_buffer > 1 << 30 {
        let problem = format!(
            "{} octets; a window is at most 2^30 octets (RFC 7323 section 2.3)",
            config.receive_buffer
        );
        return Err(fault(&["receive_buffer"], problem));
    }
    Ok(())
}

fn switches(settings: &TcpSettings, config: &mut tcp::Config) -> Result<(), Fault> {
    config.timestamps = settings.timestamps.unwrap_or(config.timestamps);
    config.window_scaling = settings.window_scaling.unwrap_or(config.window_scaling);
    config.sack = settings.sack.unwrap_or(config.sack);
    if let Some(text) = &settings.congestion {
        let known = [
            ("newreno", Algorithm::NewReno),
            ("cubic", Algorithm::Cubic),
            ("fixed", Algorithm::Fixed),
        ];
        config.congestion = choice("congestion", text, "congestion control", &known)?;
    }
    if let Some(segments) = settings.initial_window_segments {
        config.initial_window = InitialWindow::Segments(segments);
    }
    if let Some(text) = &settings.coalesce {
        config.coalesce = choice("coalesce", text, "way to treat small segments", &COALESCE)?;
    }
    if let Some(text) = &settings.half_window {
        let known = [
            ("off", HalfWindow::Off),
            ("rfc", HalfWindow::Rfc),
            ("always", HalfWindow::Always),
        ];
        config.half_window = choice("half_window", text, "half-window rule", &known)?;
    }
    if let Some(text) = &settings.rounding {
        let known = [
            ("exact", Rounding::Exact),
            ("up", Rounding::Up),
            ("down", Rounding::Down),
        ];
        config.rounding = choice("rounding", text, "rounding", &known)?;
    }
    Ok(())
}

fn acknowledging(settings: &TcpSettings, config: &mut tcp::Config) -> Result<(), Fault> {
    if let Some(update) = &settings.window_update {
        config.window_update = WindowUpdate {
            segments: update.segments,
            percent: update.percent,
        };
    }
    if let Some(ack) = &settings.ack {
        config.ack = AckRule {
            every: ack.every,
            count_small: ack.count_small,
        };
    }
    if let Some(text) = &settings.delayed_ack {
        let delay: Duration = quantity(&["delayed_ack"], text)?;
        config.ack_timer = AckTimer::Timeout(delay);
    }
    if let Some(text) = &settings.delayed_ack_heartbeat {
        let period: Duration = quantity(&["delayed_ack_heartbeat"], text)?;
        config.ack_timer = AckTimer::Heartbeat(Beat {
            period,
            phase: None,
        });
    }
    Ok(())
}
