//! The programs of one load, made from what it says.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::collections::BTreeMap;

use kumiki_graph::{Address, Duration, Quality};
use kumiki_octets::Pattern;
use kumiki_octets::text::counted;

use super::super::fault::{ConfigError, quantity, unknown};
use super::super::load::{Kind, Load};
use super::super::protocols::COALESCE;
use super::addresses::at_port;
use super::{Programs, RTP, TSAP_PORT, drawn, octets, time, wrong};
use crate::profile::{self, Profile};
use crate::scenario::Workload;
use crate::workload::rpc::HEADER_LEN as HEADER;
use crate::workload::rtp::{self, Media};
use crate::workload::udp_source::{Bursts, HEADER_LEN, time as sending};
use crate::workload::{
    FileConfig, FileDirection, FileKeeper, FileKeeperConfig, FileUser, FileUserConfig, Opening, Ping, PingConfig,
    RpcClient, RpcClientConfig, RpcServer, RpcServerConfig, Sink, SinkConfig, Source, SourceConfig, Transfer, UdpSink,
    UdpSinkConfig, UdpSource, UdpSourceConfig, Wait,
};
use kumiki_config::quantity::{self, Distribution, Octets};

/// The payload type of MPEG-2 transport streams (RFC 3551).
const MP2T: u8 = 33;

/// How long after the first packet of RTP has come it is played, unless given.
const PLAYOUT: Duration = Duration::from_millis(100);

/// All that programs are made from.
pub(super) struct Setup<'a> {
    pub(super) workload: &'a Workload,
    pub(super) load: &'a Load,
    pub(super) profiles: &'a BTreeMap<String, Profile>,
    pub(super) message: u32,
    pub(super) pattern: Pattern,
    pub(super) opening: Opening,
    /// Of the hosts that write: of IP, of X.25, or none where the stack has none. Without ports.
    pub(super) locals: Vec<Address>,
    /// The readers of each writer.
    pub(super) peers: Vec<Vec<Address>>,
    /// Where they listen, if they have ports.
    pub(super) port: u16,
}

/// A writing program.
struct Writer<'a> {
    place: &'a (String, String),
    local: Address,
    peers: &'a [Address],
    opening: Opening,
}

/// An address of IP.
fn ip(key: &str, address: &Address) -> Result<IpAddr, ConfigError> {
    address.ip().ok_or_else(|| wrong(key, "this load goes over IP, and here is none"))
}

impl Setup<'_> {
    /// The programs of the load.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys of the load.
    pub(super) fn programs(&self) -> Result<Programs, ConfigError> {
        let mut programs = Programs::default();
        match self.load.kind {
            Kind::Stream => self.stream(&mut programs)?,
            Kind::File => self.file(&mut programs)?,
            Kind::Units => self.units(&mut programs)?,
            Kind::Ping => self.ping(&mut programs)?,
            Kind::Rpc => self.rpc(&mut programs)?,
        }
        Ok(programs)
    }

    fn transfer(&self, host: &str) -> Transfer {
        self.profiles.get(host).map(|profile| transfer(&profile.transfer)).unwrap_or_default()
    }

    /// The writers: their number, place and address, whom they call, and when their first session begins.
    fn writers(&self) -> impl Iterator<Item = Writer<'_>> {
        let places = self.load.from.iter().zip(&self.locals).enumerate();
        places.map(|(number, (place, local))| {
            let earlier = u64::try_from(number).unwrap_or(u64::MAX).saturating_mul(self.workload.sessions.into());
            let (start, is_one_of_several) = match self.opening.stagger {
                // One row of sessions over all writers.
                Distribution::Constant(stagger) => {
                    let before = Duration::from_nanos(stagger.as_nanos().saturating_mul(earlier));
                    (self.opening.start + before, false)
                }
                Distribution::Exponential(_) | Distribution::Uniform(..) | Distribution::Pareto(..) => {
                    (self.opening.start, self.load.from.len() > 1)
                }
            };
            Writer {
                place,
                local: *local,
                peers: self.peers.get(number).map(Vec::as_slice).unwrap_or_default(),
                opening: Opening { start, is_one_of_several, ..self.opening },
            }
        })
    }

    const fn any(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), self.port)
    }

    /// What the reading program listens on: all that there is.
    fn listening(&self) -> Address {
        match self.locals.first().and_then(Address::ip) {
            Some(_) => self.any().into(),
            None => Address::NONE,
        }
    }

    /// How many may call a reader at once.
    fn backlog(&self) -> u32 {
        let writers = u32::try_from(self.load.from.len()).unwrap_or(u32::MAX);
        self.workload.sessions.saturating_mul(writers).max(1)
    }

    fn stream(&self, programs: &mut Programs) -> Result<(), ConfigError> {
        let (workload, load) = (self.workload, self.load);
        let quality = quality(workload)?;
        let size = drawn::<Octets>("size", workload.size.as_ref())?;
        for writer in self.writers() {
            let source = Source::new(SourceConfig {
                local: match writer.local.ip() {
                    Some(ip) => Address::from(SocketAddr::new(ip, 0)),
                    None => Address::NONE,
                },
                peers: writer.peers.iter().map(|peer| at_port(*peer, self.port)).collect(),
                sessions: workload.sessions,
                busy: workload.busy.unwrap_or(workload.sessions),
                message: self.message,
                count: workload.count.filter(|_| load.until_done),
                size,
                pattern: self.pattern,
                opening: writer.opening,
                quality,
                transfer: self.transfer(&writer.place.0),
            });
            let bell = load.bell.as_ref().map(|bell| bell.at(&writer.place.0));
            let source = source.ringing(bell, load.sender_clock);
            programs.0.insert(writer.place.clone(), Box::new(source));
        }
        let read = workload.read.as_ref().map(|read| octets("read", read)).transpose()?;
        for to in &load.to {
            let sink = Sink::new(SinkConfig {
                local: self.listening(),
                backlog: self.backlog(),
                read: read.unwrap_or(self.message),
                expect: Some(self.pattern),
                quality,
                transfer: self.transfer(&to.0),
            });
            let sink = sink.ringing(load.bell.clone().filter(|_| !load.sender_clock));
            programs.0.insert(to.clone(), Box::new(sink));
        }
        Ok(())
    }

    fn file(&self, programs: &mut Programs) -> Result<(), ConfigError> {
        let (workload, load) = (self.workload, self.load);
        let ([from], [local]) = (load.from.as_slice(), self.locals.as_slice()) else {
            return Err(wrong("from", "a file comes from one host"));
        };
        let (Some([peer]), [to]) = (self.peers.first().map(Vec::as_slice), load.to.as_slice()) else {
            return Err(wrong("to", "a file goes to one host"));
        };
        if workload.sessions != 1 {
            return Err(wrong("sessions", "a file goes over one association"));
        }
        let missing = || wrong("kind", "ftam moves a file; give its size as `file`");
        let len = workload.file.as_ref().ok_or_else(missing)?;
        let len: Octets = quantity(&["file"], len)?;
        let way = match workload.way.as_deref() {
            None | Some("put") => FileDirection::Put,
            Some("get") => FileDirection::Get,
            Some(other) => {
                let path = ["way"];
                return Err(unknown(&path, "way", other, &["put", "get"]));
            }
        };
        let file = FileConfig { way, len: len.count(), element: self.message, pattern: self.pattern };
        // The data goes from `from` to `to`; who asks for that is the writer of a put and the reader of a get.
        let (asking, keeping, remote) = match way {
            FileDirection::Put => (from, to, *peer),
            FileDirection::Get => (to, from, *local),
        };
        let user = FileUser::new(FileUserConfig {
            remote: at_port(remote, TSAP_PORT),
            file,
            opening: self.opening,
            transfer: self.transfer(&asking.0),
        });
        let user = user.ringing(load.bell.clone());
        programs.0.insert(asking.clone(), Box::new(user));
        let keeper = FileKeeper::new(FileKeeperConfig { file, transfer: self.transfer(&keeping.0) });
        programs.0.insert(keeping.clone(), Box::new(keeper));
        Ok(())
    }

    fn units(&self, programs: &mut Programs) -> Result<(), ConfigError> {
        let (workload, load) = (self.workload, self.load);
        let media = self.media()?;
        self.check_datagram(media)?;
        let rate = self.rate()?;
        let poisson = match workload.arrivals.as_deref().unwrap_or("periodic") {
            "periodic" => false,
            "poisson" => true,
            other => return Err(unknown(&["arrivals"], "kind of arrivals", other, &["periodic", "poisson"])),
        };
        let bursts = self.bursts(rate, media)?;
        for writer in self.writers() {
            let peers = writer.peers.iter().map(|peer| Ok(SocketAddr::new(ip("to", peer)?, self.port)));
            let source = UdpSource::new(UdpSourceConfig {
                local: SocketAddr::new(ip("from", &writer.local)?, 0),
                peers: peers.collect::<Result<_, _>>()?,
                sessions: workload.sessions,
                message: self.message,
                count: workload.count,
                bits_per_second: rate.bits_per_second(),
                poisson,
                bursts,
                media,
                pattern: self.pattern,
                opening: writer.opening,
                transfer: self.transfer(&writer.place.0),
            });
            programs.0.insert(writer.place.clone(), Box::new(source));
        }
        for to in &load.to {
            let sink = UdpSink::new(UdpSinkConfig {
                local: self.any(),
                expect: Some(self.pattern),
                media,
                transfer: self.transfer(&to.0),
            });
            programs.0.insert(to.clone(), Box::new(sink));
        }
        Ok(())
    }

    /// A datagram has room for what counts it, be it the last one of a frame.
    fn check_datagram(&self, media: Option<Media>) -> Result<(), ConfigError> {
        let number = u32::try_from(HEADER_LEN).unwrap_or(u32::MAX) + media.map_or(0, |_| rtp::LEN);
        let most = kumiki_inet::udp::MAX_DATA;
        if !(number..=most).contains(&self.message) {
            let problem =
                format!("{}, the number and the time of each datagram included", counted(self.message, "octet"));
            return Err(wrong("message", problem).expected(format!("{number} B to {most} B")));
        }
        if let Some(frame) = media.and_then(|media| media.frame)
            && (1..number).contains(&(frame % self.message))
        {
            let problem =
                format!("of {octets} the last packet has {}", frame % self.message, octets = counted(frame, "octet"));
            return Err(wrong("frame", problem).expected(format!("none, or at least {number}, beyond whole messages")));
        }
        Ok(())
    }

    /// How fast datagrams are sent.
    fn rate(&self) -> Result<quantity::Rate, ConfigError> {
        let Workload { kind, rate, .. } = self.workload;
        let missing =
            || wrong("kind", format!("{kind} sends at a constant rate; give `rate`, such as rate = \"10 Mb/s\""));
        let rate: quantity::Rate = quantity(&["rate"], rate.as_ref().ok_or_else(missing)?)?;
        if rate.bits_per_second() == 0 {
            return Err(wrong("rate", "nothing would ever be sent"));
        }
        Ok(rate)
    }

    /// Times of sending and of silence, where this load of datagrams has such.
    fn bursts(&self, rate: quantity::Rate, media: Option<Media>) -> Result<Option<Bursts>, ConfigError> {
        /// So many bursts may begin and end from one datagram to the next: each is drawn, though nothing leaves in most
        /// of them.
        const MOST: u64 = 1000;
        let drawn = |key: &'static str, text: Option<&String>| drawn::<Duration>(key, text);
        let Workload { on, off, .. } = self.workload;
        let bursts = match (drawn("on", on.as_ref())?, drawn("off", off.as_ref())?) {
            (Some(on), Some(off)) => Bursts { on, off },
            (None, None) => return Ok(None),
            (Some(_), None) => return Err(wrong("on", "bursts without a time between them; give `off`")),
            (None, Some(_)) => return Err(wrong("off", "times of silence without those of sending; give `on`")),
        };
        let octets = media.and_then(|media| media.frame).map_or(self.message, |frame| frame.max(self.message));
        let gap = sending(octets.into(), rate.bits_per_second());
        let least = Duration::from_nanos(gap.as_nanos().div_ceil(MOST).max(1));
        if bursts.on.mean() < least {
            let what = if octets == self.message { "datagram" } else { "frame" };
            let problem = format!(
                "bursts of {} on average, where {gap} of sending are from one {what} to the next",
                bursts.on.mean()
            );
            return Err(wrong("on", problem).expected(format!("at least {least} on average")));
        }
        Ok(Some(bursts))
    }

    /// What packets of RTP are of, where this load sends such.
    fn media(&self) -> Result<Option<Media>, ConfigError> {
        let workload = self.workload;
        if workload.kind != RTP {
            return Ok(None);
        }
        let payload_type = workload.payload_type.unwrap_or(MP2T);
        if payload_type > 127 || (72..=76).contains(&payload_type) {
            let problem = format!("{payload_type} is no payload type of RTP");
            return Err(wrong("payload_type", problem).expected("0 to 127, but for 72 to 76, which RTCP uses"));
        }
        let frame = workload.frame.as_ref().map(|text| octets("frame", text)).transpose()?;
        if frame == Some(0) {
            return Err(wrong("frame", "a frame has at least one octet"));
        }
        let playout = workload.playout.as_ref().map(|text| quantity(&["playout"], text)).transpose()?;
        Ok(Some(Media { payload_type, frame, playout: playout.unwrap_or(PLAYOUT) }))
    }

    fn rpc(&self, programs: &mut Programs) -> Result<(), ConfigError> {
        let workload = self.workload;
        if self.message < HEADER {
            let problem = format!("{}, the length of the response included", counted(self.message, "octet"));
            return Err(wrong("message", problem).expected(format!("at least {HEADER} B")));
        }
        let quality = quality(workload)?;
        let request = Octets::new(self.message.into());
        let response = drawn("response", workload.response.as_ref())?.unwrap_or(Distribution::Constant(request));
        let none = Distribution::Constant(Duration::ZERO);
        for writer in self.writers() {
            let client = RpcClient::new(RpcClientConfig {
                local: SocketAddr::new(ip("from", &writer.local)?, 0).into(),
                peers: writer.peers.iter().map(|peer| at_port(*peer, self.port)).collect(),
                sessions: workload.sessions,
                request: self.message,
                response,
                think: drawn("think", workload.think.as_ref())?.unwrap_or(none),
                count: workload.count,
                pattern: self.pattern,
                opening: writer.opening,
                quality,
                transfer: self.transfer(&writer.place.0),
            });
            programs.0.insert(writer.place.clone(), Box::new(client));
        }
        for to in &self.load.to {
            let server = RpcServer::new(RpcServerConfig {
                local: self.listening(),
                backlog: self.backlog(),
                request: self.message,
                pattern: self.pattern,
                quality,
                transfer: self.transfer(&to.0),
            });
            programs.0.insert(to.clone(), Box::new(server));
        }
        Ok(())
    }

    fn ping(&self, programs: &mut Programs) -> Result<(), ConfigError> {
        let workload = self.workload;
        if workload.sessions != 1 {
            return Err(wrong("sessions", "one ping asks one host"));
        }
        const MOST: u32 = 65535 - 20 - 8;
        if self.message > MOST {
            return Err(
                wrong("message", "an echo with so much data fits no datagram").expected(format!("at most {MOST} B"))
            );
        }
        let interval = time("interval", workload.interval.as_ref())?;
        if workload.interval.is_some() && interval.is_zero() {
            return Err(wrong("interval", "no time from one echo to the next"));
        }
        for writer in self.writers() {
            let [peer] = writer.peers else {
                return Err(wrong("to", "one ping asks one host"));
            };
            let ping = Ping::new(PingConfig {
                peer: ip("to", peer)?,
                data: self.message,
                count: workload.count,
                interval: if interval.is_zero() { Duration::from_secs(1) } else { interval },
                pattern: self.pattern,
                opening: writer.opening,
                transfer: self.transfer(&writer.place.0),
            });
            programs.0.insert(writer.place.clone(), Box::new(ping));
        }
        Ok(())
    }
}

fn quality(workload: &Workload) -> Result<Quality, ConfigError> {
    let buffer = workload.socket_buffer.as_ref().map(|text| {
        let octets = quantity::<Octets>(&["socket_buffer"], text)?.count();
        u32::try_from(octets).ok().filter(|octets| (1..=1 << 30).contains(octets)).ok_or_else(|| {
            let problem = format!("{octets} for a window (RFC 7323 section 2.3)", octets = counted(octets, "octet"));
            wrong("socket_buffer", problem).expected("1 B to 1 GiB")
        })
    });
    let buffer = buffer.transpose()?;
    let coalesce = workload.coalesce.as_ref().map(|text| {
        let found = COALESCE.iter().find(|(name, _)| name == text).map(|(_, value)| *value);
        let names: Vec<&str> = COALESCE.iter().map(|(name, _)| *name).collect();
        found.ok_or_else(|| unknown(&["coalesce"], "way to treat small segments", text, &names))
    });
    Ok(Quality { send_buffer: buffer, receive_buffer: buffer, coalesce: coalesce.transpose()?, ..Quality::default() })
}

/// A price that was checked when its profile was read.
fn price(sourced: Option<&profile::Sourced>) -> Duration {
    sourced.and_then(|it| it.duration().ok()).unwrap_or_default()
}

fn transfer(transfer: &profile::Transfer) -> Transfer {
    Transfer {
        copies: transfer.copies,
        summed: transfer.summed,
        ready_page: transfer.ready_page,
        wait: Wait {
            message: price(transfer.wait.as_ref()),
            octet_ps: transfer.wait_octet.as_ref().and_then(|it| it.picoseconds().ok()).unwrap_or(0),
        },
    }
}
