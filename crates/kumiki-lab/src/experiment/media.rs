//! From the lines and switches of a scenario to media in the world.

use kumiki_wire::atm::cell::Vc;
use std::collections::BTreeMap;

use kumiki_graph::{DeviceId, Duration, Instant};
use kumiki_link::atm::{self, Aal34, Adaptation, OutputConfig, PortVc, Sar, SarConfig, Slots, sar};
use kumiki_link::sonet::{Level, LineConfig, OctetClock, Section, SectionConfig, Trouble, Troubled};
use kumiki_link::{
    Carrier, Discipline, DropTail, Hold, Impaired, Impairment, Loss, MarkFrom, Rate, Serial, SerialConfig, Wire,
};
use kumiki_sim::{ElementId, HostId, Plug, World};
use kumiki_wire::ppp::hdlc::{BitFraming, FcsKind, Framing};

use super::fault::{Fault, fault, quantity, unknown};
use super::hosts::kind_of;
use super::protocols::channel;
use super::switched::exchange;
use crate::limit::AAL34;
use crate::quantity;
use crate::scenario::{Host, Impair, Link, Scenario, Switch};

/// What the ends of a line can be.
pub(super) struct Ends<'a> {
    /// Hosts and their devices by name.
    pub(super) hosts: &'a BTreeMap<String, (HostId, BTreeMap<String, DeviceId>)>,
    /// The plugs of switches, by `switch.port`.
    pub(super) switches: &'a BTreeMap<String, Plug>,
    /// Whether the hosts' adapters sum on the fly, by host.
    pub(super) checksum_units: &'a BTreeMap<String, bool>,
    /// Seed of all random numbers.
    pub(super) seed: u64,
}

/// The names of media that carry cells, and what they carry.
const ATM: [(&str, Rate); 6] = [
    ("oc3c-atm", Rate::OC3C),
    ("oc12c-atm", Rate::OC12C),
    ("oc48c-atm", Rate::OC48C),
    ("ds3", Rate::DS3),
    ("ds3-plcp", Rate::DS3_PLCP),
    ("taxi-140", Rate::TAXI_140),
];

/// The names of media that carry frames, and what they carry.
const FRAMES: [(&str, Rate); 3] = [("oc3c", Rate::OC3C), ("oc12c", Rate::OC12C), ("oc48c", Rate::OC48C)];

/// The names of media that carry HDLC-like frames in the payload of SONET/SDH.
const POS: [(&str, Level); 4] = [
    ("oc3c-pos", Level::Sts3c),
    ("oc12c-pos", Level::Sts12c),
    ("oc48c-pos", Level::Sts48c),
    ("oc192c-pos", Level::Sts192c),
];

/// The medium that carries HDLC frames bit by bit at a rate that is set.
const SYNCHRONOUS: &str = "synchronous";

/// The names of media of that kind with rates of their own.
const SYNC: [(&str, Rate); 2] =
    [("sync-64k", Rate::bits_per_second(64_000)), ("sync-2m", Rate::bits_per_second(2_000_000))];

/// Whether `medium` carries HDLC frames bit by bit.
pub(super) fn is_synchronous(medium: &str) -> bool {
    medium == SYNCHRONOUS || SYNC.iter().any(|(name, _)| *name == medium)
}

/// The rate of cells on `medium`, if it carries cells.
#[must_use]
pub(super) fn cell_rate(medium: &str) -> Option<Rate> {
    ATM.iter().find(|(name, _)| *name == medium).map(|(_, rate)| *rate)
}

/// Puts the lines of `scenario` into `world`.
///
/// # Errors
/// A [`Fault`] whose path begins at the top of the scenario.
pub(super) fn add_links(scenario: &Scenario, ends: &Ends<'_>, world: &mut World) -> Result<(), Fault> {
    for (name, link) in &scenario.link {
        add_link(name, link, scenario, ends, world).map_err(|fault| fault.under(&["link", name]))?;
    }
    judge_devices(scenario)
}

fn add_link(name: &str, link: &Link, scenario: &Scenario, ends: &Ends<'_>, world: &mut World) -> Result<(), Fault> {
    let propagation = time("propagation", link.propagation.as_ref())?;
    let cells = cell_rate(&link.medium);
    let line = if cells.is_some() {
        let frames = [
            "rate",
            "framing_octets",
            "fcs",
            "flags",
            "octet_exact",
            "scrambled",
            "bit_errors",
            "outages",
            "queue_frames",
            "mark_frames",
        ];
        no_use(link, &frames)?;
        world.add_element(name, Box::new(Wire::new(propagation)))
    } else {
        let config = SerialConfig { carrier: carrier(link)?, propagation, say_sent: true };
        let queue = link.queue_frames.map_or(DropTail::UNLIMITED, |frames| DropTail::frames(frames.into()));
        let discipline = || -> Box<dyn Discipline> {
            match link.mark_frames {
                None => Box::new(queue),
                Some(frames) => Box::new(MarkFrom { room: queue, frames: frames.into() }),
            }
        };
        if let Some(switched) = &link.switched {
            if link.mark_frames.is_some() {
                let problem = "frames of a link are no packets of IP's";
                return Err(fault(&["mark_frames"], problem));
            }
            let exchange = exchange(link, switched, (config, queue)).map_err(|fault| fault.under(&["switched"]))?;
            let line = world.add_element(name, Box::new(exchange));
            return plug_ends(name, link, (line, None), scenario, ends, world);
        }
        let queues = [discipline(), discipline()];
        let seed = seed_of(ends.seed, name, 2);
        match section(link, config, seed)? {
            Some((config, outages)) => {
                let [from_0, from_1] = queues;
                let mut line = Section::with_disciplines(config, from_0, from_1);
                for port in 0..2 {
                    line.spoil(port, link.bit_errors.unwrap_or(0.0), &outages);
                }
                world.add_element(name, Box::new(line))
            }
            None => {
                let [from_0, from_1] = queues;
                let line = Serial::with_disciplines(config, from_0, from_1);
                world.add_element(name, Box::new(line))
            }
        }
    };
    plug_ends(name, link, (line, cells), scenario, ends, world)
}

/// Plugs the two ends of `line` in; it carries cells at a rate, or frames.
fn plug_ends(
    name: &str,
    link: &Link,
    (line, cells): (ElementId, Option<Rate>),
    scenario: &Scenario,
    ends: &Ends<'_>,
    world: &mut World,
) -> Result<(), Fault> {
    for (port, end) in link.ends.iter().enumerate() {
        let plug = match cells {
            Some(rate) => cell_end(end, rate, scenario, ends, world)?,
            None => frame_end(end, ends)?,
        };
        let impair = link.impair.as_ref();
        let impair = impair.filter(|it| it.toward.as_ref().is_none_or(|toward| toward == end));
        let Some(impair) = impair else {
            world.plug(Plug::Port(line, port), plug);
            continue;
        };
        // What has come through the line is impaired just before its end, so that the other way is untouched: there
        // the line's own queue is next.
        let mut impairment = impairment(impair, cells.is_some()).map_err(|it| it.under(&["impair"]))?;
        impairment.checked = is_synchronous(&link.medium);
        let seed = seed_of(ends.seed, name, port);
        let element = Impaired::new(impairment, Impairment::default(), seed);
        let element = world.add_element(&format!("{name} to {end}"), Box::new(element));
        world.plug(Plug::Port(line, port), Plug::Port(element, 0));
        world.plug(Plug::Port(element, 1), plug);
    }
    Ok(())
}

/// Refuses what is given of `keys`: this medium has it fixed.
fn no_use(link: &Link, keys: &[&str]) -> Result<(), Fault> {
    let given = [
        ("rate", link.rate.is_some()),
        ("framing_octets", link.framing_octets.is_some()),
        ("fcs", link.fcs.is_some()),
        ("flags", link.flags.is_some()),
        ("octet_exact", link.octet_exact.is_some()),
        ("scrambled", link.scrambled.is_some()),
        ("bit_errors", link.bit_errors.is_some()),
        ("outages", !link.outages.is_empty()),
        ("queue_frames", link.queue_frames.is_some()),
        ("mark_frames", link.mark_frames.is_some()),
    ];
    let stray = given.iter().find(|(key, given)| *given && keys.contains(key));
    match stray {
        Some((key, _)) => Err(fault(&[key], format!("{} is what it is; only other media have this", link.medium))),
        None => Ok(()),
    }
}

pub(super) fn time(key: &str, text: Option<&String>) -> Result<Duration, Fault> {
    text.map_or(Ok(Duration::ZERO), |text| quantity(&[key], text))
}

/// As [`super::impairments`].
pub(super) fn impairments(impair: &Impair, ends: [&str; 2]) -> Result<[Impairment; 2], Fault> {
    crate::scenario::check_impair(impair, &ends)?;
    let impairment = impairment(impair, false)?;
    Ok(ends.map(|end| match &impair.toward {
        Some(toward) if toward != end => Impairment::default(),
        Some(_) | None => impairment.clone(),
    }))
}

/// What goes wrong, by frames or by `cells`.
pub(super) fn impairment(impair: &Impair, cells: bool) -> Result<Impairment, Fault> {
    let hold = time("reorder_by", impair.reorder_by.as_ref())?;
    if impair.reorder > 0.0 {
        if cells {
            let problem = "an ATM connection keeps the order of its cells";
            return Err(fault(&["reorder"], problem));
        }
        if hold.is_zero() {
            let problem = "frames that are held back for no time stay in order";
            return Err(fault(&["reorder"], problem).expected("`reorder_by` beside it"));
        }
    }
    if impair.mark > 0.0 && cells {
        let problem = "a cell has no room for a mark of IP's";
        return Err(fault(&["mark"], problem));
    }
    Ok(Impairment {
        mark: impair.mark,
        loss: if impair.loss > 0.0 { Loss::Independent(impair.loss) } else { Loss::None },
        duplicate: impair.duplicate,
        corrupt: impair.corrupt,
        delay: time("delay", impair.delay.as_ref())?,
        jitter: time("jitter", impair.jitter.as_ref())?,
        hold: (impair.reorder > 0.0).then_some((impair.reorder, Hold::Time(hold))),
        ..Impairment::default()
    })
}

/// A seed for one end of a line: the same for the same names, whatever else is in the scenario.
pub(super) fn seed_of(seed: u64, name: &str, port: usize) -> u64 {
    // FNV-1a, for it is short; the generator behind spreads the bits.
    let mut mixed = seed ^ 0xcbf2_9ce4_8422_2325;
    for octet in name.bytes().chain([if port == 0 { b'0' } else { b'1' }]) {
        mixed = (mixed ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mixed
}

/// What can be set of a device that sends cells.
const DEVICE_KEYS: [&str; 2] = ["aal", "interleave"];

/// The settings of a device that sends cells.
#[derive(Clone, Copy, Debug, Default)]
struct Cells {
    adaptation: Adaptation,
    /// Whether the cells of its virtual channels are sent in turn.
    interleave: bool,
}

impl Cells {
    /// Those of the device at `end`; of none where no device is there.
    fn of(end: &str, hosts: &BTreeMap<String, Host>) -> Result<Self, Fault> {
        let found = end.split_once('.').and_then(|(host, device)| Some((hosts.get(host)?, device)));
        let Some((host, device)) = found else {
            return Ok(Self::default());
        };
        let setting = |key| host.settings.get(device).and_then(|it| it.get(key));
        let interleave = match setting("interleave") {
            None => false,
            Some(toml::Value::Boolean(yes)) => *yes,
            Some(_) => {
                return Err(fault(&["interleave"], "this is no answer").expected("true or false"));
            }
        };
        let adaptation = match setting("aal") {
            None | Some(toml::Value::Integer(5)) => Adaptation::Aal5,
            Some(toml::Value::String(aal)) if aal == "5" => Adaptation::Aal5,
            Some(toml::Value::String(aal)) if aal == AAL34 => {
                Adaptation::Aal34(Aal34 { cpcs: !stands_on(host, "aal34", device), ..Aal34::WHOLE })
            }
            Some(_) => {
                let problem = "there is no such adaptation layer";
                return Err(fault(&["aal"], problem).expected("\"5\" or \"3/4\""));
            }
        };
        Ok(Self { adaptation, interleave })
    }
}

/// Whether a node of kind `kind` stands on `device`.
fn stands_on(host: &Host, kind: &str, device: &str) -> bool {
    let Some(graph) = &host.graph else {
        return false;
    };
    let mut nodes = graph.nodes().into_iter();
    nodes.any(|node| kind_of(host, node) == kind && graph.below(node).contains(&device))
}

/// Settings of devices: those of devices that send cells.
fn judge_devices(scenario: &Scenario) -> Result<(), Fault> {
    for (name, host) in &scenario.host {
        let devices = host.graph.as_ref().map(|graph| graph.devices());
        for device in devices.unwrap_or_default() {
            let end = format!("{name}.{device}");
            let path = ["host", name, device];
            let set = Cells::of(&end, &scenario.host).map_err(|fault| fault.under(&path))?;
            if set.adaptation != Adaptation::Aal5 {
                judge_discard(scenario)?;
            }
            let settings = host.settings.get(device).into_iter().flatten();
            let link = scenario.link.values().find(|link| link.ends.contains(&end));
            let cells = link.is_some_and(|link| cell_rate(&link.medium).is_some());
            for (key, _) in settings {
                if !DEVICE_KEYS.contains(&key.as_str()) {
                    let path = ["host", name, device, key];
                    return Err(unknown(&path, "setting of a device", key, &DEVICE_KEYS));
                }
                if !cells {
                    let path = ["host", name, device, key];
                    return Err(fault(&path, "there are no cells on the line of this device"));
                }
            }
        }
    }
    Ok(())
}

/// EPD and PPD find the ends of PDUs by AAL5's mark. On a channel of AAL3/4, which has none, the first cell lost would
/// stop it for good.
fn judge_discard(scenario: &Scenario) -> Result<(), Fault> {
    for (name, switch) in &scenario.switch {
        if switch.discard.as_ref().is_some_and(|it| it != "tail") {
            let problem = "a switch sees where PDUs of AAL5 end, and here is a device with AAL3/4";
            return Err(fault(&["switch", name, "discard"], problem).expected("\"tail\""));
        }
    }
    Ok(())
}

/// A line of SONET/SDH octet by octet and when it has no signal, where that is wanted.
fn section(link: &Link, config: SerialConfig, seed: u64) -> Result<Option<(SectionConfig, Vec<Trouble>)>, Fault> {
    let spoilt = link.bit_errors.is_some() || !link.outages.is_empty();
    let Carrier::Sonet { clock, framing } = config.carrier else {
        return Ok(None);
    };
    if spoilt && link.octet_exact == Some(false) {
        let problem = "only a line that is run octet by octet can have wrong bits or no signal";
        return Err(fault(&["octet_exact"], problem).expected("true"));
    }
    if link.bit_errors.is_some_and(|rate| !(0.0..1.0).contains(&rate)) {
        return Err(fault(&["bit_errors"], "not a probability").expected("from 0 to below 1, such as 1e-6"));
    }
    let outages = link.outages.iter().map(|text| outage(text));
    let outages: Vec<Trouble> = outages.collect::<Result<_, _>>()?;
    if !spoilt && link.octet_exact != Some(true) {
        return Ok(None);
    }
    let end = LineConfig::ppp(clock.level(), link.scrambled.unwrap_or(true));
    let config = SectionConfig {
        clock,
        framing,
        propagation: config.propagation,
        say_sent: config.say_sent,
        ends: [end, end],
        seed,
        ..SectionConfig::ppp(clock.level())
    };
    Ok(Some((config, outages)))
}

/// `"2 s .. 2.5 s"`.
fn outage(text: &str) -> Result<Trouble, Fault> {
    let path = ["outages"];
    let ends = text.split_once("..");
    let (from, until) = ends.ok_or_else(|| {
        fault(&path, format!("\"{text}\" is no stretch of time")).expected("such as \"2 s .. 2.5 s\"")
    })?;
    let at = |text: &str| -> Result<Instant, Fault> {
        let after: Duration = quantity(&path, text.trim())?;
        Ok(Instant::ZERO + after)
    };
    let (from, until) = (at(from)?, at(until)?);
    if until <= from {
        let problem = format!("\"{text}\" ends before it begins");
        return Err(fault(&path, problem).expected("such as \"2 s .. 2.5 s\""));
    }
    Ok(Trouble { from, until, what: Troubled::NoSignal })
}

/// What carries the frames of a line without cells.
fn carrier(link: &Link) -> Result<Carrier, Fault> {
    if is_synchronous(&link.medium) {
        return synchronous(link);
    }
    let Some((_, level)) = POS.iter().find(|(name, _)| *name == link.medium) else {
        let framed = ["fcs", "flags", "octet_exact", "scrambled", "bit_errors", "outages"];
        no_use(link, &framed)?;
        return Ok(Carrier::Plain { rate: frame_rate(link)?, overhead: link.framing_octets.unwrap_or(0) });
    };
    no_use(link, &["rate", "framing_octets"])?;
    Ok(Carrier::Sonet {
        clock: OctetClock::new(*level),
        framing: Framing {
            fcs: check_sequence(link, FcsKind::Fcs32)?,
            opening_flag: opening_flag(link)?,
            ..Framing::default()
        },
    })
}

/// A line that carries HDLC frames bit by bit.
fn synchronous(link: &Link) -> Result<Carrier, Fault> {
    no_use(link, &["framing_octets", "octet_exact", "scrambled", "bit_errors", "outages"])?;
    let framing = BitFraming { fcs: check_sequence(link, FcsKind::Fcs16)?, opening_flag: opening_flag(link)? };
    let named = SYNC.iter().find(|(name, _)| *name == link.medium);
    let rate = match named {
        Some((_, rate)) => {
            no_use(link, &["rate"])?;
            *rate
        }
        None => given_rate(link)?,
    };
    Ok(Carrier::Synchronous { rate, framing })
}

fn check_sequence(link: &Link, usual: FcsKind) -> Result<FcsKind, Fault> {
    match link.fcs {
        None => Ok(usual),
        Some(32) => Ok(FcsKind::Fcs32),
        Some(16) => Ok(FcsKind::Fcs16),
        Some(bits) => {
            let problem = format!("no frame check sequence has {bits} bits");
            Err(fault(&["fcs"], problem).expected("16 or 32"))
        }
    }
}

fn opening_flag(link: &Link) -> Result<bool, Fault> {
    match link.flags {
        None | Some(1) => Ok(false),
        Some(2) => Ok(true),
        Some(flags) => {
            let problem = format!("there are not {flags} flags between two frames");
            Err(fault(&["flags"], problem).expected("1 or 2"))
        }
    }
}

/// The rate that a line must be given.
fn given_rate(link: &Link) -> Result<Rate, Fault> {
    let text = link.rate.as_deref().ok_or_else(|| {
        let problem = format!("a {} line needs a `rate`", link.medium);
        fault(&["medium"], problem)
    })?;
    let rate: quantity::Rate = quantity(&["rate"], text)?;
    if rate.bits_per_second() == 0 {
        return Err(fault(&["rate"], "nothing would ever arrive"));
    }
    Ok(Rate::bits_per_second(rate.bits_per_second()))
}

fn frame_rate(link: &Link) -> Result<Rate, Fault> {
    if let Some((_, rate)) = FRAMES.iter().find(|(name, _)| *name == link.medium) {
        no_use(link, &["rate"])?;
        return Ok(*rate);
    }
    if link.medium == "point-to-point" {
        return given_rate(link);
    }
    let known = ATM
        .iter()
        .chain(&FRAMES)
        .map(|(name, _)| *name)
        .chain(POS.iter().map(|(name, _)| *name))
        .chain(SYNC.iter().map(|(name, _)| *name))
        .chain([SYNCHRONOUS, "point-to-point"]);
    Err(unknown(&["medium"], "medium", &link.medium, &known.collect::<Vec<_>>()))
}

/// The device of a host that `end` names.
pub(super) fn device(end: &str, ends: &Ends<'_>) -> Result<Plug, Fault> {
    let names =
        || ends.hosts.iter().flat_map(|(host, (_, devices))| devices.keys().map(move |d| format!("{host}.{d}")));
    let found = end.split_once('.').and_then(|(host, device)| {
        let (id, devices) = ends.hosts.get(host)?;
        Some(Plug::Device(*id, *devices.get(device)?))
    });
    found.ok_or_else(|| {
        let known: Vec<String> = names().chain(ends.switches.keys().cloned()).collect();
        unknown(&["ends"], "end", end, &known.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

fn frame_end(end: &str, ends: &Ends<'_>) -> Result<Plug, Fault> {
    if ends.switches.contains_key(end) {
        return Err(fault(&["ends"], format!("`{end}` is a port of an ATM switch, and this line carries no cells")));
    }
    device(end, ends)
}

/// A switch's port, or a host's device with the segmentation hardware that it needs.
fn cell_end(end: &str, rate: Rate, scenario: &Scenario, ends: &Ends<'_>, world: &mut World) -> Result<Plug, Fault> {
    if let Some(plug) = ends.switches.get(end) {
        return Ok(*plug);
    }
    let device = device(end, ends)?;
    let host = end.split_once('.').map_or(end, |(host, _)| host);
    // Where they cannot be read the settings of devices are refused later, at their own place.
    let cells = Cells::of(end, &scenario.host).unwrap_or_default();
    let config = SarConfig {
        checksum_unit: ends.checksum_units.get(host).copied().unwrap_or(false),
        adaptation: cells.adaptation,
        interleave: cells.interleave,
        ..SarConfig::new(Slots::new(rate))
    };
    let element = world.add_element(&format!("{end} SAR"), Box::new(Sar::new(config)));
    world.plug(device, Plug::Port(element, sar::HOST));
    Ok(Plug::Port(element, sar::LINE))
}

/// Puts the switches of `scenario` into `world`; their plugs by `switch.port`.
///
/// # Errors
/// A [`Fault`] whose path begins at the top of the scenario.
pub(super) fn add_switches(scenario: &Scenario, world: &mut World) -> Result<BTreeMap<String, Plug>, Fault> {
    let mut plugs = BTreeMap::new();
    for (name, spec) in &scenario.switch {
        let switch = build_switch(name, spec, scenario).map_err(|fault| fault.under(&["switch", name]))?;
        let element = world.add_element(name, Box::new(switch));
        for port in 0..spec.ports {
            plugs.insert(format!("{name}.{port}"), Plug::Port(element, port));
        }
    }
    Ok(plugs)
}

/// The most ports of a switch: more than any had, and few enough to have memory for each.
const MOST_PORTS: usize = 65536;

/// The medium of the line that ends on `port` of the switch `name`; `None` where none does.
fn medium_of<'a>(name: &str, port: usize, scenario: &'a Scenario) -> Option<&'a str> {
    let end = format!("{name}.{port}");
    let mut links = scenario.link.values();
    links.find(|link| link.ends.contains(&end)).map(|link| link.medium.as_str())
}

fn build_switch(name: &str, spec: &Switch, scenario: &Scenario) -> Result<atm::Switch, Fault> {
    if spec.ports > MOST_PORTS {
        let problem = format!("no switch has {} ports", spec.ports);
        return Err(fault(&["ports"], problem).expected(format!("at most {MOST_PORTS}")));
    }
    let own = spec.medium.as_deref();
    let rate_of = |medium: &str| {
        cell_rate(medium).ok_or_else(|| {
            let known: Vec<&str> = ATM.iter().map(|(name, _)| *name).collect();
            unknown(&["medium"], "medium with cells", medium, &known)
        })
    };
    let rate = rate_of(own.unwrap_or("oc3c-atm"))?;
    let latency = match spec.latency.as_str() {
        "" => Duration::ZERO,
        text => quantity(&["latency"], text)?,
    };
    let queue = u64::from(spec.queue_cells);
    let mut output = OutputConfig::new(Slots::new(rate), queue);
    match spec.discard.as_deref().unwrap_or("tail") {
        "tail" => {}
        "ppd" => output.ppd = true,
        // Romanow and Floyd: the threshold must leave room for the PDUs that are let in; half the queue is assumed.
        "epd" => (output.ppd, output.epd) = (true, Some(queue / 2)),
        other => {
            return Err(unknown(&["discard"], "way to discard", other, &["tail", "ppd", "epd"]));
        }
    }
    let mut outputs = vec![output; spec.ports];
    for (port, output) in outputs.iter_mut().enumerate() {
        // A port sends as its line does. A line that carries no cells is refused where it is plugged in.
        let medium = medium_of(name, port, scenario);
        if let Some(medium) = medium.filter(|medium| cell_rate(medium).is_some()) {
            if own.is_some_and(|own| own != medium) {
                let problem = format!("the line at port {port} is {medium}");
                return Err(fault(&["medium"], problem)
                    .expected("none, or that of all its lines: each port sends as its line does"));
            }
            output.slots = Slots::new(rate_of(medium)?);
        }
    }
    let mut switch = atm::Switch::new(latency, &outputs);
    for text in &spec.channels {
        connect(&mut switch, text, spec.ports)?;
    }
    Ok(switch)
}

/// `port vpi/vci -> port vpi/vci`, or with `<->` both ways.
fn connect(switch: &mut atm::Switch, text: &str, ports: usize) -> Result<(), Fault> {
    let fault = |why: &str| {
        let form = "write \"port vpi/vci <-> port vpi/vci\", as in \"0 0/100 <-> 1 0/100\"";
        fault(&["channels"], format!("\"{text}\": {why}; {form}"))
    };
    let (both, ends) = match text.split_once("<->") {
        Some(ends) => (true, Some(ends)),
        None => (false, text.split_once("->")),
    };
    let (from, to) = ends.ok_or_else(|| fault("no `->` and no `<->`"))?;
    let end = |text: &str| {
        let (port, vc) = text.trim().split_once(' ')?;
        let port: usize = port.parse().ok().filter(|port| *port < ports)?;
        let Vc { vpi, vci } = channel(&[], vc.trim()).ok()?.get()?;
        Some(PortVc { port, vpi, vci })
    };
    let (Some(from), Some(to)) = (end(from), end(to)) else {
        return Err(fault(&format!("an end is no channel of ports 0 to {}", ports.saturating_sub(1))));
    };
    let added = if both { switch.connect_both(from, to) } else { switch.connect(from, to) };
    if added { Ok(()) } else { Err(fault("it is there twice")) }
}
