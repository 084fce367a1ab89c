//! What can be set, and what is counted.

use core::net::{IpAddr, SocketAddr};

use kumiki_graph::{Coalesce, Duration};
use kumiki_osi_service::x25::Number;
use kumiki_settings::{BuildError, HasSettings, Key, Reader, Settings};

/// [`Config::timeout`], unless it is set.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A permanent virtual circuit; both ends must know it as the other does.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Permanent {
    /// Its channel here.
    #[setting(skip)]
    pub channel: u16,
    /// What our interface is called.
    #[setting(text = interface, expected = "a name of 1 to 255 ASCII characters", unset = "none", required)]
    pub interface: String,
    /// What the peer's is called.
    #[setting(text = interface, expected = "a name of 1 to 255 ASCII characters", unset = "none", required)]
    pub peer_interface: String,
    /// Its channel there.
    #[setting(with = peer_channel)]
    pub peer_channel: u16,
    /// The host that it is set up to; without one the peer sets it up.
    #[setting(text = host, expected = "a host, such as \"10.0.0.2\" or \"10.0.0.2:1998\"", unset = "none")]
    pub peer: Option<SocketAddr>,
    /// Its window, both ways, as x25's `default_window` has it.
    #[setting(1..=127)]
    pub window: u8,
    /// Base-2 logarithm of the largest packet, both ways.
    #[setting(with = packet)]
    pub packet: u8,
}

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Where numbers that begin so are; the longest beginning counts.
    #[setting(list = route, expected = "a number's beginning and a host, such as \"2342 = 10.0.0.2:1998\"")]
    pub routes: Vec<(Number, SocketAddr)>,
    /// Where calls come in, unless the user says.
    #[setting(text = host, expected = "an address of this host, such as \"0.0.0.0:1998\"", unset = "port 1998 of all addresses")]
    pub listen: Option<SocketAddr>,
    /// Whether calls are made and none are taken.
    ///
    /// A passive open then stands, and nobody comes.
    pub calls_only: bool,
    /// Permanent virtual circuits.
    #[setting(with = permanent)]
    pub permanent: Vec<Permanent>,
    /// What the stream does with small segments while data is unacknowledged: RR and CALL are small.
    #[setting(skip)]
    pub coalesce: Coalesce,
    /// Packets that the user may be handed before it has granted any.
    #[setting(1..=u32::MAX.into())]
    pub receive: u32,
    /// How long a caller may be without a packet, and an answer to a set-up or the peer's end of a connection may take.
    #[setting(positive)]
    pub timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            routes: Vec::new(),
            listen: None,
            calls_only: false,
            permanent: Vec::new(),
            coalesce: Coalesce::Never,
            receive: 16,
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

fn route(text: &str) -> Option<(Number, SocketAddr)> {
    let (number, at) = text.split_once('=')?;
    Some((Number::or_none(number.trim()).ok()?, host(at)?))
}

fn host(text: &str) -> Option<SocketAddr> {
    let host = text.trim();
    let without_port = || Some(SocketAddr::new(host.parse::<IpAddr>().ok()?, kumiki_wire::x25::xot::PORT));
    host.parse().ok().or_else(without_port)
}

/// A name of an interface: RFC 1613 has a length of one octet for them.
fn interface(text: &str) -> Option<String> {
    let fits = text.is_ascii() && (1..=255).contains(&text.len());
    fits.then(|| text.to_owned())
}

fn permanent(circuits: &mut Vec<Permanent>, reader: &Reader<'_>) -> Result<(), BuildError> {
    const ANY: &str = "<channel>";
    reader.tables("permanent", ANY, |name, table| {
        // In a list of settings the name is none.
        let number = if name == ANY { Some(1) } else { name.parse().ok() };
        let channel = number.filter(|it| (1..=4095).contains(it));
        let channel = channel.ok_or_else(|| table.wrong("", &name, "a channel from 1 to 4095"))?;
        let mut circuit = Permanent {
            channel,
            interface: String::new(),
            peer_interface: String::new(),
            peer_channel: channel,
            peer: None,
            window: 2,
            packet: 7,
        };
        circuit.read(table)?;
        circuits.push(circuit);
        Ok(())
    })
}

fn peer_channel(place: &mut u16, reader: &Reader<'_>) -> Result<(), BuildError> {
    let mut channel = None;
    let key = Key::new("peer_channel", "Its channel at the peer's interface.").unset("the same");
    reader.number(&key, 1..=4095, &mut channel)?;
    *place = channel.unwrap_or(*place);
    Ok(())
}

fn packet(logarithm: &mut u8, reader: &Reader<'_>) -> Result<(), BuildError> {
    const MEANING: &str = "Its largest packets, both ways, as x25's `default_packet` has them; a power of two.";
    let mut packet = 1_u16 << *logarithm;
    reader.octets(&Key::new("packet", MEANING), 16..=4096, &mut packet)?;
    if !packet.is_power_of_two() {
        return Err(reader.wrong("packet", &packet, "a power of two"));
    }
    *logarithm = u8::try_from(packet.ilog2()).unwrap_or(*logarithm);
    Ok(())
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets sent.
    pub sent: u64,
    /// Packets handed up.
    pub received: u64,
    /// Connections closed for what was in them.
    pub malformed: u64,
    /// Permanent circuits that were set up.
    pub set_up: u64,
    /// Set-ups refused, by either end.
    pub refused: u64,
}
