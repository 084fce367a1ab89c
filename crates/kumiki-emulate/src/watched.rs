//! Devices that are watched: what crosses one may be captured, and what no router forwards may end there.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_config::refusal;
use kumiki_graph::{Address, Request};
use kumiki_io::{Arrival, Clock as _, Descriptors, RealClock, RealDevice, Sent};
use kumiki_link::offload;
use kumiki_live::private;
use kumiki_octets::Message;
use kumiki_pcapng::{CaptureError, Direction, InterfaceId, LinkType, Packet, PcapNg};

use crate::EmulateError;

/// A capture of several devices, each of which is an interface of it.
#[derive(Clone)]
pub(crate) struct Capture(Arc<Mutex<Writing>>);

struct Writing {
    /// `None` once it has ended.
    file: Option<PcapNg<BufWriter<File>>>,
    /// In the order of the devices.
    interfaces: Vec<InterfaceId>,
    clock: RealClock,
    /// Why it has ended before the run.
    failed: Option<CaptureError>,
}

impl Capture {
    /// Begins one at `path`, which only its owner may read, of devices with these names; of each packet the first
    /// `snaplen` octets, or all where that is 0.
    ///
    /// # Errors
    /// What `--pcap` is answered with.
    pub(crate) fn create<'a>(
        (path, snaplen): (&Path, u32),
        devices: impl IntoIterator<Item = (&'a str, LinkType)>,
        clock: RealClock,
    ) -> Result<Self, EmulateError> {
        let file = private::create(path).map_err(|why| EmulateError::of_place("--pcap", path, &why))?;
        Self::begin((file, snaplen), devices, clock).map_err(|why| {
            if let CaptureError::Io(why) = &why {
                return EmulateError::of_place("--pcap", path, why);
            }
            EmulateError::new(format!("--pcap {}: {why}", path.display()))
        })
    }

    fn begin<'a>(
        (file, snaplen): (File, u32),
        devices: impl IntoIterator<Item = (&'a str, LinkType)>,
        clock: RealClock,
    ) -> Result<Self, CaptureError> {
        let mut file = PcapNg::new(BufWriter::new(file))?;
        let interfaces = devices.into_iter().map(|(name, link)| file.add_interface(name, link, snaplen));
        let interfaces = interfaces.collect::<Result<_, _>>()?;
        let writing = Writing { file: Some(file), interfaces, clock, failed: None };
        Ok(Self(Arc::new(Mutex::new(writing))))
    }

    /// Writes a packet, or those of a super-segment, as on a line.
    fn write(&self, device: usize, direction: Direction, unit: &Message) {
        let mut writing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at_ns = writing.clock.now().as_nanos();
        let Writing { file, interfaces, failed, .. } = &mut *writing;
        let Some(interface) = interfaces.get(device).copied() else {
            return;
        };
        offload::cut(unit.clone(), |packet| {
            let Some(into) = file else {
                return;
            };
            let octets = packet.to_vec();
            let (original_len, direction) = (octets.len(), Some(direction));
            let packet = Packet { at_ns, octets: &octets, original_len, direction, comment: None };
            if let Err(why) = into.write_packet(interface, &packet) {
                // The program goes on; what is missing is said at the end.
                *file = None;
                *failed = Some(why);
            }
        });
    }

    /// Ends it; what comes later is not in it.
    ///
    /// # Errors
    /// Why it is not complete.
    pub(crate) fn finish(&self) -> Result<(), EmulateError> {
        let mut writing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = match writing.failed.take() {
            Some(why) => Err(why),
            None => writing.file.take().map_or(Ok(()), |file| file.finish().map(drop)),
        };
        ended.map_err(|why| EmulateError::new(refusal::unnumbered(&format!("--pcap: {why}"))))
    }
}

/// A device that is watched.
pub(crate) struct WatchedDevice {
    device: Box<dyn RealDevice>,
    /// Which one it is of the capture.
    number: usize,
    capture: Option<Capture>,
    /// Whether what no router forwards ends here.
    forwards: bool,
}

impl WatchedDevice {
    /// One that a router stands behind, which is the path: what stays on its link ends here.
    pub(crate) fn at_router(device: Box<dyn RealDevice>, number: usize, capture: Option<Capture>) -> Self {
        Self { device, number, capture, forwards: true }
    }

    /// One of which all is handed on.
    pub(crate) fn whole(device: Box<dyn RealDevice>, number: usize, capture: Capture) -> Self {
        Self { device, number, capture: Some(capture), forwards: false }
    }

    fn see(&self, direction: Direction, packet: &Message) {
        if let Some(capture) = &self.capture {
            capture.write(self.number, direction, packet);
        }
    }
}

/// Whether a packet stays on its link: no router forwards to groups of one link (RFC 4291 section 2.7, RFC 5771 section
/// 4), nor what has no sender. Kernels send such by themselves, and it would draw from the path's seed at times that
/// nobody fixes.
fn stays_on_link(packet: &Message) -> bool {
    let mut header = [0; 40];
    let long = packet.copy_to(0, &mut header);
    let mut short = [0; 20];
    if !packet.copy_to(0, &mut short) {
        return false;
    }
    let address = |from: usize| -> Option<IpAddr> {
        if header[0] >> 4 == 6 && long {
            let octets: [u8; 16] = header.get(from..from + 16)?.try_into().ok()?;
            Some(octets.into())
        } else {
            let octets: [u8; 4] = short.get(from..from + 4)?.try_into().ok()?;
            Some(octets.into())
        }
    };
    let (source, destination) = match short[0] >> 4 {
        4 => (address(12), address(16)),
        6 if long => (address(8), address(24)),
        _ => return false,
    };
    let to_link = destination.is_some_and(|it| match it {
        IpAddr::V4(it) => it.octets().starts_with(&[224, 0, 0]) || it.is_broadcast(),
        IpAddr::V6(it) => it.is_multicast() && it.octets().get(1).is_some_and(|scope| scope & 0xf <= 2),
    });
    to_link || source.is_some_and(|it| it.is_unspecified())
}

/// So many packets that stay on the link are passed over in one call: the path has other things to do.
const MOST_SKIPPED: usize = 64;

impl RealDevice for WatchedDevice {
    fn descriptors(&self) -> Descriptors<'_> {
        self.device.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        for _ in 0..MOST_SKIPPED {
            let arrival = self.device.receive()?;
            if let Some(Arrival::Unit { data, .. }) = &arrival {
                if self.forwards && stays_on_link(data) {
                    continue;
                }
                // Whoever is behind the device has sent it.
                self.see(Direction::Outbound, data);
            }
            return Ok(arrival);
        }
        Ok(Some(Arrival::NoUnit))
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        let sent = self.device.send(packet, to)?;
        if sent == Sent::Taken {
            self.see(Direction::Inbound, packet);
        }
        Ok(sent)
    }

    fn grant(&mut self, octets: u64) {
        self.device.grant(octets);
    }

    fn request(&mut self, request: Request) -> io::Result<()> {
        self.device.request(request)
    }

    fn takes_super_segments(&self) -> bool {
        self.device.takes_super_segments()
    }

    fn tells_waits(&self) -> bool {
        self.device.tells_waits()
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.device.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop;

    fn ipv4(source: [u8; 4], destination: [u8; 4]) -> Message {
        let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend(source);
        packet.extend(destination);
        Message::from_octets(&packet)
    }

    fn ipv6(source: &str, destination: &str) -> Message {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, 59, 1];
        for address in [source, destination] {
            let address: std::net::Ipv6Addr = address.parse().unwrap();
            packet.extend(address.octets());
        }
        Message::from_octets(&packet)
    }

    #[test]
    fn what_is_for_one_link_goes_no_further() {
        for (packet, stays) in [
            (ipv4([198, 18, 0, 2], [192, 0, 2, 1]), false),
            (ipv4([198, 18, 0, 2], [224, 0, 0, 22]), true),
            (ipv4([198, 18, 0, 2], [239, 1, 2, 3]), false),
            (ipv4([198, 18, 0, 2], [255; 4]), true),
            (ipv4([0; 4], [192, 0, 2, 1]), true),
            (ipv6("fd00::2", "2001:db8::1"), false),
            (ipv6("fe80::2", "ff02::2"), true),
            (ipv6("fd00::2", "ff05::2"), false),
            (ipv6("::", "ff02::16"), true),
            (Message::from_octets(&[0x45]), false),
            (Message::from_octets(&[0x60; 30]), false),
        ] {
            assert_eq!(stays_on_link(&packet), stays, "{packet:?}");
        }
    }

    #[test]
    fn a_capture_has_what_crossed_either_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("both.pcapng");
        let ends = [("program", LinkType::RawIp), ("gateway", LinkType::RawIp)];
        let capture = Capture::create((&path, 0), ends, RealClock::start()).unwrap();
        let [near, mut far] = hop::pair(1500, RealClock::start()).unwrap();
        let mut watched = WatchedDevice::at_router(Box::new(near), 1, Some(capture.clone()));
        let packet = ipv4([198, 18, 0, 2], [192, 0, 2, 1]);
        far.send(&ipv4([0; 4], [255; 4]), Address::NONE).unwrap();
        far.send(&packet, Address::NONE).unwrap();
        assert!(
            matches!(watched.receive().unwrap(), Some(Arrival::Unit { data, .. }) if data.to_vec() == packet.to_vec())
        );
        watched.send(&packet, Address::NONE).unwrap();
        capture.finish().unwrap();
        watched.send(&packet, Address::NONE).unwrap();
        let octets = std::fs::read(&path).unwrap();
        let times = octets.windows(20).filter(|window| *window == packet.to_vec()).count();
        assert_eq!(times, 2);
    }

    #[test]
    fn of_packets_that_are_cut_the_length_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cut.pcapng");
        let capture = Capture::create((&path, 8), [("program", LinkType::RawIp)], RealClock::start()).unwrap();
        let packet = ipv4([198, 18, 0, 2], [192, 0, 2, 1]);
        capture.write(0, Direction::Outbound, &packet);
        capture.finish().unwrap();
        let octets = std::fs::read(&path).unwrap();
        // A block has the length that was kept, that on the medium, and what was kept.
        let mut kept = [8_u32.to_le_bytes(), 20_u32.to_le_bytes()].concat();
        kept.extend(&packet.to_vec()[..8]);
        assert!(octets.windows(kept.len()).any(|window| window == kept));
        assert!(!octets.windows(9).any(|window| window == &packet.to_vec()[..9]));
    }
}
