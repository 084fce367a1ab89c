//! What lies between the two hosts.

use kumiki_graph::DeviceId;
use kumiki_link::atm::{Sar, SarConfig, Slots, sar};
use kumiki_link::{DropTail, Element, Impaired, Impairment, Rate, Serial, SerialConfig, Wire};
use kumiki_sim::{HostId, Plug, World};

use super::case::{Case, Stack};
use super::tap::{Shared, Tap};

/// Where a host is plugged in, and the judge of what crosses there.
pub(super) struct Plugged<'a> {
    pub(super) host: HostId,
    pub(super) device: DeviceId,
    pub(super) shared: &'a Shared,
}

/// Near host, tap, weather toward it, line, weather toward the far host, tap, far host.
pub(super) fn connect(case: &Case, world: &mut World, ends: [Plugged<'_>; 2]) {
    let line = &case.line;
    let [near_rate, far_rate] = line.rates;
    let middle: [Plug; 2] = if case.stack == Stack::Cells {
        let wire = world.add_element("line", Box::new(Wire::new(line.propagation)));
        [Plug::Port(wire, 0), Plug::Port(wire, 1)]
    } else {
        let config = |rate| SerialConfig {
            rate: Rate::bits_per_second(rate),
            overhead: 7,
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
        let tap: Box<dyn Element> = Box::new(Tap::new(case.stack, end.shared));
        let tap = world.add_element("tap", tap);
        world.plug(plug, Plug::Port(tap, 1));
        world.plug(Plug::Port(tap, 0), Plug::Device(end.host, end.device));
    }
}
