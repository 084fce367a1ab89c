//! What lies between the two hosts.

use kumiki_graph::{Address, DeviceId, Rng};
use kumiki_link::atm::{Sar, SarConfig, Slots, sar};
use kumiki_link::{Carrier, DropTail, Element, Impaired, Impairment, Rate, Serial, SerialConfig, Wire};
use kumiki_sim::{HostId, Plug, World};
use kumiki_wire::atm::cell::Vc;
use kumiki_wire::inet::llc_snap;

use super::case::{Case, Stack};
use super::tap::{Shared, Tap};

mod control_forger;
mod flood;
pub(super) mod gateway;
mod window_shrinker;

use flood::FloodSource;
use gateway::Gateway;
use window_shrinker::WindowShrinker;

/// The virtual channel where there is ATM.
pub(super) const VC: Address = Vc { vpi: 0, vci: 100 }.address();

/// Ports of what stands before a host: toward the host, and toward the line.
const HOST: usize = 0;
const LINE: usize = 1;

/// Where a host is plugged in, and the judge of what crosses there.
pub(super) struct Plugged<'a> {
    pub(super) host: HostId,
    pub(super) device: DeviceId,
    pub(super) shared: &'a Shared,
    /// The port that it may listen at.
    pub(super) port: u16,
}

/// Near host, tap, third parties before it, weather toward it, line, and the same on the way to the far host.
pub(super) fn connect(case: &Case, world: &mut World, ends: [Plugged<'_>; 2]) {
    let line = &case.line;
    let [near_rate, far_rate] = line.rates;
    let middle: [Plug; 2] = if case.stack == Stack::Cells {
        let wire = world.add_element("line", Box::new(Wire::new(line.propagation)));
        [Plug::Port(wire, 0), Plug::Port(wire, 1)]
    } else {
        let config = |rate| SerialConfig {
            carrier: Carrier::Plain { rate: Rate::bits_per_second(rate), overhead: 7 },
            propagation: line.propagation,
            say_sent: false,
        };
        let mut serial = Serial::new(config(near_rate), DropTail::octets(line.queue));
        serial.set_config(1, config(far_rate));
        let serial = world.add_element("line", Box::new(serial));
        [Plug::Port(serial, 0), Plug::Port(serial, 1)]
    };
    for (number, (end, plug)) in ends.iter().zip(middle).enumerate() {
        let mut plug = plug;
        // What the other end sends is spoilt just before it comes out of the line.
        let [near_sends, far_sends] = &line.weather;
        let weather = if number == 0 { far_sends } else { near_sends };
        if *weather != Impairment::default() {
            let seed = case.seed ^ (0x5eed_0000 + number as u64);
            let element = Impaired::new(weather.clone(), Impairment::default(), seed);
            let element = world.add_element("weather", Box::new(element));
            world.plug(plug, Plug::Port(element, 0));
            plug = Plug::Port(element, 1);
        }
        if case.stack == Stack::Cells {
            let config = SarConfig {
                queue: usize::try_from(line.queue).unwrap_or(usize::MAX),
                say_sent: false,
                ..SarConfig::new(Slots::new(Rate::bits_per_second(near_rate)))
            };
            let adapter = world.add_element("adapter", Box::new(Sar::new(config)));
            world.plug(plug, Plug::Port(adapter, sar::LINE));
            plug = Plug::Port(adapter, sar::HOST);
        }
        for (name, element) in before_host(case, number, end) {
            let element = world.add_element(name, element);
            world.plug(plug, Plug::Port(element, LINE));
            plug = Plug::Port(element, HOST);
        }
        world.plug(plug, Plug::Device(end.host, end.device));
    }
}

/// What stands between host `number` and its end of the line, outermost first: third parties, and the tap.
fn before_host(case: &Case, number: usize, end: &Plugged<'_>) -> Vec<(&'static str, Box<dyn Element>)> {
    let mut elements: Vec<(&'static str, Box<dyn Element>)> = Vec::new();
    let Some(plan) = case.ends.get(number) else {
        return elements;
    };
    if number == 0 && plan.by_gateway {
        elements.push(("gateway", Box::new(Gateway::default())));
    }
    let often = case.line.squeeze.get(1 - number).copied().unwrap_or(0);
    if often > 0 {
        let at = if case.stack == Stack::Ip { 0 } else { llc_snap::LEN };
        let rng = Rng::new(case.seed, 252 + number as u64);
        elements.push(("squeeze", Box::new(WindowShrinker::new(at, often, rng))));
    }
    if let Some(flood) = plan.strangers {
        let address = if case.stack == Stack::Ip { Address::NONE } else { VC };
        let strangers = FloodSource::new(case, flood, (number, end.port), address);
        elements.push(("strangers", Box::new(strangers)));
    }
    elements.push(("tap", Box::new(Tap::new(end.shared))));
    // What is made up is for the host alone.
    if let Some(plan) = case.line.liars.get(number).copied().flatten() {
        let rng = Rng::new(case.seed, 250 + number as u64);
        elements.push(("liar", Box::new(control_forger::ControlForger::new(plan, rng))));
    }
    elements
}
