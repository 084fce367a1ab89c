//! What leaves a graph: to which plug it goes, and what that sets off.

use kumiki_graph::{Address, DeviceId, Indication, Instant, Manage, Output, Report, Request};
use kumiki_link::Unit;
use kumiki_link::offload::{self, is_packet};
use kumiki_octets::Message;

use super::{Executor, Failure, Plug, RealId};
use crate::clock::Clock;
use crate::device::Sent;

impl<C: Clock> Executor<C> {
    /// What the graph `number` hands down to a device at `now`.
    pub(super) fn hand_down(&mut self, number: usize, output: Output, now: Instant) {
        let Output { device, request, .. } = output;
        match request {
            Request::Unit(unit) => self.send(number, device, unit.data, unit.destination),
            Request::Manage(manage) => match *manage {
                Manage::Limits => self.tell_limits(number, device, now),
                // A device knows no routes and can tell nobody anything.
                Manage::Route { .. }
                | Manage::Refuse { .. }
                | Manage::Session { .. }
                | Manage::Advise { .. }
                | Manage::Group { .. }
                | Manage::Narrow { .. }
                | Manage::Special(_) => {}
            },
            Request::Credit { .. }
            | Request::Open(_)
            | Request::Accept(_)
            | Request::Cancel { .. }
            | Request::Data { .. }
            | Request::Special { .. }
            | Request::Expedited { .. }
            | Request::Release { .. }
            | Request::Abort { .. }
            | Request::Reset { .. } => self.ask(number, device, request),
        }
    }

    /// Hands a primitive of a session to the device of the machine that `device` is joined to. What is between them
    /// takes none.
    fn ask(&mut self, number: usize, device: DeviceId, request: Request) {
        let wires = self.hosts.get(number).map(|host| &host.wires);
        let plug = wires.and_then(|wires| wires.get(device.0).copied().flatten());
        if let Some(Plug::Real(RealId(number))) = plug
            && let Some(real) = self.real.get_mut(number)
            && let Err(why) = real.device.request(request)
        {
            self.failure.get_or_insert(Failure::Device(RealId(number), why));
        }
    }

    fn tell_limits(&mut self, number: usize, device: DeviceId, now: Instant) {
        let Some(host) = self.hosts.get_mut(number) else {
            return;
        };
        let config = host.devices.get(device.0).copied().unwrap_or_default();
        let limits = Report::Limits { unit: config.mtu, burst: config.burst };
        let report = Indication::Report(Box::new(limits));
        host.graph.input(now, device, report);
    }

    fn send(&mut self, number: usize, device: DeviceId, mut data: Message, address: Address) {
        // What has left a host no longer occupies its memory.
        data.set_lease(None);
        let Some(host) = self.hosts.get(number) else {
            return;
        };
        let plug = host.wires.get(device.0).copied().flatten();
        match plug {
            Some(plug) if is_packet(&data) || self.takes_super_segments(plug) => {
                let unit = Unit::Frame { data, address };
                self.send_frame(plug, unit);
            }
            Some(plug) => self.send_train(plug, data, address),
            None => self.counters.unplugged += 1,
        }
    }

    /// Lets `unit` go by `plug`: straight into a medium, where nothing else is on its way.
    fn send_frame(&mut self, plug: Plug, unit: Unit) {
        match plug {
            Plug::Port(element, port) if self.in_flight.is_empty() => {
                if let Some(medium) = self.media.get_mut(element.0) {
                    medium.element.offer(self.media_time, port, unit, &mut self.outlet);
                    self.collect(element.0);
                }
            }
            Plug::Port(..) | Plug::Device(..) | Plug::Link(_) | Plug::Real(_) => self.in_flight.push_back((plug, unit)),
        }
    }

    /// Whether what is behind `plug` cuts and sums by itself.
    fn takes_super_segments(&self, plug: Plug) -> bool {
        let Plug::Real(RealId(number)) = plug else {
            return false;
        };
        self.real.get(number).is_some_and(|real| real.device.takes_super_segments())
    }

    /// Cuts a super-segment, and completes what was left to the device. Its packets go straight into the medium where
    /// nothing is on its way there.
    fn send_train(&mut self, plug: Plug, data: Message, address: Address) {
        let medium = match plug {
            Plug::Port(element, port) if self.in_flight.is_empty() => {
                let medium = self.media.get_mut(element.0);
                medium.map(|medium| (medium, element.0, port))
            }
            Plug::Port(..) | Plug::Device(..) | Plug::Link(_) | Plug::Real(_) => None,
        };
        let cut = if let Some((medium, number, port)) = medium {
            let (at, out) = (self.media_time, &mut self.outlet);
            let cut = offload::cut(data, |data| {
                let unit = Unit::Frame { data, address };
                medium.element.offer(at, port, unit, out);
            });
            self.collect(number);
            cut
        } else {
            offload::cut(data, |data| {
                let unit = Unit::Frame { data, address };
                self.in_flight.push_back((plug, unit));
            })
        };
        self.counters.not_frames += u64::from(!cut);
    }

    /// Brings everything that is in flight where it goes, and what that sets off in the media.
    pub(super) fn carry(&mut self) {
        while let Some((plug, unit)) = self.in_flight.pop_front() {
            match plug {
                Plug::Device(graph, device) => {
                    if let Some(host) = self.hosts.get_mut(graph.0) {
                        self.merging |= host.receive(self.media_time, device, unit, &mut self.counters);
                    }
                }
                Plug::Port(element, port) => {
                    if let Some(medium) = self.media.get_mut(element.0) {
                        medium.element.offer(self.media_time, port, unit, &mut self.outlet);
                        self.collect(element.0);
                    }
                }
                Plug::Link(link) => {
                    if let Some((end, _)) = self.links.get(link.0) {
                        end.send(self.media_time, unit);
                    }
                }
                Plug::Real(RealId(number)) => self.write(number, unit),
            }
        }
        if core::mem::take(&mut self.merging) {
            for host in &mut self.hosts {
                host.flush(self.media_time);
            }
        }
    }

    /// Hands a packet to the device `number` of the machine, behind those that wait already.
    fn write(&mut self, number: usize, unit: Unit) {
        let Unit::Frame { data, address } = unit else {
            self.counters.not_frames += 1;
            return;
        };
        let most = self.pace.queue;
        let Some(real) = self.real.get_mut(number) else {
            return;
        };
        let sent = if real.waiting.is_empty() { real.device.send(&data, address) } else { Ok(Sent::Full) };
        match sent {
            Ok(Sent::Full) if real.waiting_packets < most => real.wait(data, address),
            Ok(Sent::Full) => real.overflows(&data),
            Ok(sent) => real.count(sent, &data),
            Err(why) => {
                self.failure.get_or_insert(Failure::Device(RealId(number), why));
            }
        }
    }
}
