//! What a daemon is told: what it asks for, what it agrees to, how long it waits.

use core::fmt;
use core::net::Ipv4Addr;

use kumiki_graph::Duration;
use kumiki_settings::{BuildError, HasSettings, Key, Reader, Settings, Word};
use kumiki_wire::ppp::ppp::DEFAULT_MRU;
use kumiki_wire::ppp::ppp::ipv6cp::InterfaceIdentifier;

use super::automaton;
use super::misbehave::Script;

/// The least MRU that is asked for or agreed to: below it even what is negotiated does not fit.
pub const LEAST_MRU: u16 = 128;
/// Octets of a name or a secret at most: PAP counts them in one octet.
pub const MAX_NAME: usize = 255;

/// A way to say who one is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// By a password in clear (RFC 1334).
    Pap,
    /// By a hash of a secret and a challenge, MD5 (RFC 1994).
    Chap,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pap => "PAP",
            Self::Chap => "CHAP with MD5",
        })
    }
}

/// Which methods may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Word)]
pub enum Methods {
    /// None at all.
    None,
    /// PAP alone.
    Pap,
    /// CHAP alone.
    Chap,
    /// CHAP, and PAP where the peer will not have CHAP.
    Either,
}

impl Methods {
    /// Whether `method` is among them.
    #[must_use]
    pub const fn allow(self, method: Method) -> bool {
        matches!((self, method), (Self::Either, _) | (Self::Pap, Method::Pap) | (Self::Chap, Method::Chap))
    }

    /// The one to begin with.
    #[must_use]
    pub const fn first(self) -> Option<Method> {
        match self {
            Self::None => None,
            Self::Pap => Some(Method::Pap),
            Self::Chap | Self::Either => Some(Method::Chap),
        }
    }
}

impl fmt::Display for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "nothing",
            Self::Pap => "PAP",
            Self::Chap => "CHAP with MD5",
            Self::Either => "CHAP with MD5, or PAP",
        })
    }
}

/// A name and the secret (for PAP the password) that goes with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// Whose.
    pub name: String,
    /// 1 to 255 octets.
    pub secret: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret of {:?}", self.name)
    }
}

/// What is negotiated for IPv4 (RFC 1332).
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Ipv4 {
    /// Our address; 0.0.0.0: the peer is to give us one.
    #[setting(text, expected = "an IPv4 address")]
    pub local: Ipv4Addr,
    /// Whether the peer may give us another one than `local`.
    pub accept_local: bool,
    /// The peer's address, which it is given where it asks for one; 0.0.0.0: what it says is taken.
    #[setting(text, expected = "an IPv4 address")]
    pub remote: Ipv4Addr,
    /// Whether the peer may have another one than `remote`.
    pub accept_remote: bool,
    /// Whether the peer is asked for its name servers (RFC 1877).
    pub ask_dns: bool,
    /// The name servers that a peer is told which asks for them: the first and the second.
    #[setting(with = dns)]
    pub dns: [Option<Ipv4Addr>; 2],
}

impl Default for Ipv4 {
    /// The peer knows both addresses.
    fn default() -> Self {
        Self {
            local: Ipv4Addr::UNSPECIFIED,
            accept_local: false,
            remote: Ipv4Addr::UNSPECIFIED,
            accept_remote: false,
            ask_dns: false,
            dns: [None; 2],
        }
    }
}

/// What is negotiated for IPv6 (RFC 5072).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Settings)]
pub struct Ipv6 {
    /// Our interface identifier.
    #[setting(text = identifier, expected = "16 hexadecimal digits such as \"0000:0000:0000:0001\"", unset = "random")]
    pub identifier: Option<InterfaceIdentifier>,
}

/// How the quality of the link is watched (RFC 1989).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Quality {
    /// How often the peer is to report the quality of the link, at least (RFC 1989).
    ///
    /// Counted in 1/100 s; `None`: it is not asked.
    #[setting(name = "lqr_period", least = Duration::from_millis(10), unset = "never")]
    pub period: Option<Duration>,
    /// Whether we report the quality of the link to a peer that asks for it.
    #[setting(name = "lqr")]
    pub report: bool,
    /// So many of the last `lqr_of` periods must have been good, or the link is closed; 0: it is not.
    #[setting(name = "lqr_good", 0..=MOST_PERIODS.into())]
    pub good: u32,
    /// Periods that are looked at.
    #[setting(name = "lqr_of", 1..=MOST_PERIODS.into())]
    pub of: u32,
    /// Percent of the packets that may be lost in a good period, each way.
    #[setting(name = "lqr_loss", 0..=100)]
    pub loss_percent: u32,
}

impl Default for Quality {
    /// Reports are sent where they are asked for, and nothing is done about what they say.
    fn default() -> Self {
        Self { period: None, report: true, good: 0, of: 5, loss_percent: 20 }
    }
}

/// What can be set. The defaults are those of the standards; for a terminal line set `accm`, `pfc` and `acfc` as well.
#[derive(Clone, PartialEq, Eq, Settings)]
pub struct Config {
    /// The most octets of a datagram that the peer may send; asked for where it is not 1500.
    #[setting(LEAST_MRU.into()..=65535, octets)]
    pub mru: u16,
    /// Asynchronous lines: the control characters that the peer is to escape, bit n for octet n; without it the line is
    /// synchronous.
    ///
    /// Then the option is not asked for.
    #[setting(text = accm, expected = "8 hexadecimal digits such as \"000a0000\"", unset = "none")]
    pub accm: Option<u32>,
    /// Whether a magic number is asked for, by which loops are found.
    pub magic: bool,
    /// Whether protocols in one octet are taken, and sent to a peer that takes them.
    pub pfc: bool,
    /// Whether frames without address and control are taken, and sent to a peer that takes them.
    pub acfc: bool,
    /// Bits of the check sequence that the line uses by itself.
    #[setting(words = SEQUENCES)]
    pub fcs: u8,
    /// Bits of the check sequence that the peer is asked to use towards us.
    #[setting(text = sequence, expected = "\"16\" or \"32\"", unset = "none")]
    pub ask_fcs: Option<u8>,

    /// How the peer must say who it is; "either" is CHAP, or else PAP.
    #[setting(word)]
    pub auth: Methods,
    /// The secret of a peer that may come in, where `auth` asks.
    #[setting(pairs = secret, any = "<name>", expected = "text of 1 to 255 octets")]
    pub secrets: Vec<Secret>,
    /// Our own name.
    #[setting(text, expected = "text of 1 to 255 octets")]
    pub name: String,
    /// Our own secret towards the peer; without it we do not say who we are.
    #[setting(text, expected = "text of 1 to 255 octets", unset = "none")]
    pub secret: Option<String>,
    /// How we say who we are, where there is a secret.
    #[setting(word)]
    pub prove: Methods,
    /// How often a peer that has come in by CHAP is asked again.
    #[setting(positive, unset = "never")]
    pub rechallenge: Option<Duration>,

    /// IPv4; `None`: the peer is told that there is none.
    #[setting(with = ipv4)]
    pub ipv4: Option<Ipv4>,
    /// IPv6; `None`: the peer is told that there is none.
    #[setting(with = ipv6)]
    pub ipv6: Option<Ipv6>,

    /// How often the peer is asked for an echo.
    #[setting(positive, unset = "never")]
    pub echo_interval: Option<Duration>,
    /// Echoes that do not come, in a row, after which the link is closed; 0: it is not.
    #[setting(0..=65535)]
    pub echo_failure: u32,
    /// Reports of what the line loses.
    #[setting(flatten)]
    pub quality: Quality,
    /// What the peer is told of us when the link has come up, for people (RFC 1570).
    #[setting(text, expected = "text of 1492 octets at most", unset = "nothing")]
    pub identification: Option<String>,
    /// How long the link stays up before it is closed; the peer is told (Time-Remaining, RFC 1570).
    #[setting(positive, unset = "without limit")]
    pub session: Option<Duration>,

    /// How long an answer may take before a request is retransmitted.
    #[setting(positive)]
    pub restart: Duration,
    /// The same at first; it doubles up to `restart`.
    #[setting(positive)]
    pub restart_first: Duration,
    /// Configure-Requests, and requests of authentication, without an answer after which a peer is given up.
    #[setting(1..=65535)]
    pub max_configure: u32,
    /// Naks after which an option is rejected, and after which one of ours is given up.
    #[setting(1..=65535)]
    pub max_failure: u32,
    /// Terminate-Requests without an answer after which the link is over.
    #[setting(1..=65535)]
    pub max_terminate: u32,
    /// Whether a peer that does not answer is waited for.
    pub passive: bool,
    /// Whether the link is tried again after it has ended or the line was lost, but for an end that was asked for.
    pub persist: bool,
    /// How long after an end it is tried again.
    ///
    /// So long, too, a network protocol rests that the peer does not answer.
    #[setting(positive)]
    pub retry: Duration,
    /// What is done wrong on purpose.
    #[setting(with = script)]
    pub script: Option<Script>,
}

impl fmt::Debug for Config {
    /// Without the secret, and without most else.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("name", &self.name)
            .field("auth", &self.auth)
            .field("ipv4", &self.ipv4)
            .field("ipv6", &self.ipv6)
            .finish_non_exhaustive()
    }
}

impl Default for Config {
    fn default() -> Self {
        let standard = automaton::Config::default();
        Self {
            mru: DEFAULT_MRU,
            accm: None,
            magic: true,
            pfc: false,
            acfc: false,
            fcs: 16,
            ask_fcs: None,
            auth: Methods::None,
            secrets: Vec::new(),
            name: "kumiki".to_owned(),
            secret: None,
            prove: Methods::Either,
            rechallenge: None,
            ipv4: Some(Ipv4::default()),
            ipv6: Some(Ipv6::default()),
            echo_interval: None,
            echo_failure: 4,
            quality: Quality::default(),
            identification: None,
            session: None,
            restart: standard.restart,
            restart_first: standard.restart,
            max_configure: standard.max_configure,
            max_failure: 5,
            max_terminate: standard.max_terminate,
            passive: false,
            persist: false,
            retry: Duration::from_secs(10),
            script: None,
        }
    }
}

/// The words for the bits of a check sequence.
const SEQUENCES: [(&str, u8); 2] = [("16", 16), ("32", 32)];

fn sequence(text: &str) -> Option<u8> {
    SEQUENCES.iter().find(|(name, _)| *name == text).map(|(_, bits)| *bits)
}

/// Control characters: bit n for octet n.
fn accm(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// 16 hexadecimal digits, colons between them as one likes.
fn identifier(text: &str) -> Option<InterfaceIdentifier> {
    let digits: String = text.chars().filter(|digit| *digit != ':').collect();
    let word = u64::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 16)?;
    Some(InterfaceIdentifier(word.to_be_bytes()))
}

fn secret(name: &str, secret: &str) -> Option<Secret> {
    Some(Secret { name: name.to_owned(), secret: secret.to_owned() })
}

fn ipv4(place: &mut Option<Ipv4>, reader: &Reader<'_>) -> Result<(), BuildError> {
    negotiated(&Key::new("ipv4", "Whether IPv4 is negotiated."), place, reader)
}

fn ipv6(place: &mut Option<Ipv6>, reader: &Reader<'_>) -> Result<(), BuildError> {
    negotiated(&Key::new("ipv6", "Whether IPv6 is negotiated."), place, reader)
}

fn negotiated<T: HasSettings + Default>(
    key: &Key,
    place: &mut Option<T>,
    reader: &Reader<'_>,
) -> Result<(), BuildError> {
    let mut wanted = place.is_some();
    reader.boolean(key, &mut wanted)?;
    let mut config = place.take().unwrap_or_default();
    config.read(reader)?;
    *place = wanted.then_some(config);
    Ok(())
}

fn dns(place: &mut [Option<Ipv4Addr>; 2], reader: &Reader<'_>) -> Result<(), BuildError> {
    let key = Key::new("dns", "Name servers that a peer is told which asks for them, two at most.");
    let mut servers = Vec::new();
    reader.list(&key, "an IPv4 address", |text| text.parse().ok(), &mut servers)?;
    if servers.len() > 2 {
        return Err(reader.wrong("dns", &format!("{} name servers", servers.len()), "one or two"));
    }
    *place = [servers.first().copied(), servers.get(1).copied()];
    Ok(())
}

fn script(place: &mut Option<Script>, reader: &Reader<'_>) -> Result<(), BuildError> {
    let key = Key::new("script", "What is done wrong on purpose, as docs/ppp.md has it.").unset("nothing");
    let mut why = None;
    let parse = |text: &str| Script::parse(text).map_err(|error| why = Some(error)).ok();
    let read = reader.maybe_text(&key, "rules, one on a line", parse, place);
    match why {
        Some(error) => Err(BuildError::refused(&format!("script, {error}"))),
        None => read,
    }
}

/// A configuration that cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The MRU is below [`LEAST_MRU`].
    #[error("mru is {0}; it must be {LEAST_MRU} or more")]
    Mru(u16),
    /// No such check sequence.
    #[error("a check sequence of {0} bits; there are those of 16 and 32")]
    Fcs(u8),
    /// Somebody must say who they are, and nobody may come in.
    #[error(
        "auth asks the peer who it is, and secrets is empty, so no peer could authenticate: list those that may, with their secrets"
    )]
    NobodyMayComeIn,
    /// A name or secret is too long or, for secrets, empty.
    #[error("{what} has {len} octets; 1 to {MAX_NAME} are right")]
    Name {
        /// Which.
        what: &'static str,
        /// Its octets.
        len: usize,
    },
    /// A time or a count that must be more than zero is not.
    #[error("{0} is zero; it must be more")]
    Zero(&'static str),
    /// More good periods wanted than are looked at.
    #[error("{good} of {of} periods cannot be good; at most {of} of at most {most} can be asked for")]
    Periods {
        /// Good ones.
        good: u32,
        /// Of so many.
        of: u32,
        /// At most.
        most: u32,
    },
    /// The identifier zero stands for none.
    #[error("the interface identifier is zero, which means none; leave it out for a random one")]
    Identifier,
    /// Text longer than every implementation takes.
    #[error("identification has {0} octets; at most 1492 go into a packet that every peer takes")]
    Identification(usize),
}

/// Periods that are remembered at most.
const MOST_PERIODS: u32 = 1000;

impl Config {
    /// Whether it can be.
    ///
    /// # Errors
    /// What cannot, and what would be right.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.mru < LEAST_MRU {
            return Err(ConfigError::Mru(self.mru));
        }
        let wrong_fcs = [Some(self.fcs), self.ask_fcs].into_iter().flatten().find(|bits| ![16, 32].contains(bits));
        if let Some(bits) = wrong_fcs {
            return Err(ConfigError::Fcs(bits));
        }
        if self.auth != Methods::None && self.secrets.is_empty() {
            return Err(ConfigError::NobodyMayComeIn);
        }
        let own = [("name", Some(&self.name)), ("secret", self.secret.as_ref())];
        let others = self
            .secrets
            .iter()
            .flat_map(|entry| [("a name in secrets", Some(&entry.name)), ("a secret", Some(&entry.secret))]);
        for (what, text) in own.into_iter().chain(others) {
            let len = text.map_or(1, String::len);
            if len == 0 || len > MAX_NAME {
                return Err(ConfigError::Name { what, len });
            }
        }
        let periods = [
            ("restart", Some(self.restart)),
            ("restart_first", Some(self.restart_first)),
            ("retry", Some(self.retry)),
            ("rechallenge", self.rechallenge),
            ("echo_interval", self.echo_interval),
            ("session", self.session),
        ];
        if let Some((what, _)) = periods.iter().find(|(_, time)| time.is_some_and(Duration::is_zero)) {
            return Err(ConfigError::Zero(what));
        }
        // The option counts in 1/100 s, and 0 has a meaning of its own there.
        let hundredth = Duration::from_millis(10);
        if self.quality.period.is_some_and(|period| period < hundredth) {
            return Err(ConfigError::Zero("lqr_period, in 1/100 s,"));
        }
        let counts = [
            ("max_configure", self.max_configure),
            ("max_failure", self.max_failure),
            ("max_terminate", self.max_terminate),
        ];
        if let Some((what, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(ConfigError::Zero(what));
        }
        let Quality { good, of, .. } = self.quality;
        if good > of || of > MOST_PERIODS {
            let most = MOST_PERIODS;
            return Err(ConfigError::Periods { good, of, most });
        }
        if let Some(ipv6) = &self.ipv6
            && ipv6.identifier == Some(InterfaceIdentifier::NONE)
        {
            return Err(ConfigError::Identifier);
        }
        match self.identification.as_ref().map(String::len) {
            Some(len) if len > 1492 => Err(ConfigError::Identification(len)),
            _ => Ok(()),
        }
    }

    /// The automaton of LCP.
    pub(super) fn of_link(&self) -> automaton::Config {
        automaton::Config {
            restart: self.restart_first.min(self.restart),
            restart_most: self.restart,
            max_terminate: self.max_terminate,
            max_configure: self.max_configure,
            passive: self.passive,
            restartable: true,
        }
    }

    /// The automaton of a network protocol. One that the peer does not answer is tried again after `retry`, so that
    /// nothing is gained by waiting for it.
    pub(super) fn of_network(&self) -> automaton::Config {
        automaton::Config { passive: false, ..self.of_link() }
    }
}
