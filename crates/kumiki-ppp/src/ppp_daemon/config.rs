//! What a daemon is told: what it asks for, what it agrees to, how long it waits.

use core::fmt;
use core::net::Ipv4Addr;

use kumiki_graph::Duration;
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ipv4 {
    /// Our address; unspecified: the peer is to give us one.
    pub local: Ipv4Addr,
    /// Whether the peer may give us another one than that.
    pub accept_local: bool,
    /// The peer's address, which it is given where it asks for one; unspecified: what it says is taken.
    pub remote: Ipv4Addr,
    /// Whether the peer may have another one than that.
    pub accept_remote: bool,
    /// Whether the peer is asked for its name servers (RFC 1877).
    pub ask_dns: bool,
    /// The name servers that a peer is told which asks for them: the first and the second.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ipv6 {
    /// Our identifier; `None`: a random one.
    pub identifier: Option<InterfaceIdentifier>,
}

/// How the quality of the link is watched (RFC 1989).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quality {
    /// How often the peer is to send reports, at least; `None`: it is not asked. Counted in 1/100 s.
    pub period: Option<Duration>,
    /// Whether we send reports to a peer that asks for them.
    pub report: bool,
    /// So many of the last `of` periods must have been good, or the link is closed; 0: it never is.
    pub good: u32,
    /// See [`Quality::good`].
    pub of: u32,
    /// In a good period at most this part of the packets is lost in each direction, in percent.
    pub loss_percent: u32,
}

impl Default for Quality {
    /// Reports are sent where they are asked for, and nothing is done about what they say.
    fn default() -> Self {
        Self { period: None, report: true, good: 0, of: 5, loss_percent: 20 }
    }
}

/// What can be set. The defaults are those of the standards; for a terminal line set `accm`, `pfc` and `acfc` as well.
#[derive(Clone, PartialEq, Eq)]
pub struct Config {
    /// The most octets that we take behind the protocol field; asked for where it is not 1500. [`LEAST_MRU`] to 65535.
    pub mru: u16,
    /// Asynchronous lines: the control characters that the peer is to escape, bit n for octet n. `None`: the line is
    /// synchronous, and the option is not asked for.
    pub accm: Option<u32>,
    /// Whether a magic number is asked for, by which loops are found.
    pub magic: bool,
    /// Whether we take, and send where the peer takes them, protocols in one octet.
    pub pfc: bool,
    /// Whether we take, and send where the peer takes them, frames without address and control.
    pub acfc: bool,
    /// Bits of the check sequence that the line uses by itself: 16 or 32.
    pub fcs: u8,
    /// Bits of the check sequence that the peer is asked to use towards us: 16 or 32; `None`: it is not asked.
    pub ask_fcs: Option<u8>,

    /// By which method the peer must say who it is.
    pub auth: Methods,
    /// Who may come in, where `auth` asks.
    pub secrets: Vec<Secret>,
    /// Our own name.
    pub name: String,
    /// Our own secret towards the peer; `None`: we do not say who we are.
    pub secret: Option<String>,
    /// By which methods we say who we are, where there is a secret.
    pub prove: Methods,
    /// How often the peer is challenged anew after it has come in by CHAP; `None`: never.
    pub rechallenge: Option<Duration>,

    /// IPv4; `None`: the peer is told that there is none.
    pub ipv4: Option<Ipv4>,
    /// IPv6; `None`: the peer is told that there is none.
    pub ipv6: Option<Ipv6>,

    /// How often the peer is asked for an echo; `None`: never.
    pub echo_interval: Option<Duration>,
    /// So many echoes that do not come in a row end the link; 0: none do.
    pub echo_failure: u32,
    /// Reports of what the line loses.
    pub quality: Quality,
    /// Sent to the peer when LCP is Opened (RFC 1570); text that is shown to people.
    pub identification: Option<String>,
    /// The link is closed so long after it has come up; the peer is told (Time-Remaining, RFC 1570).
    pub session: Option<Duration>,

    /// The Restart timer: how long an answer may take.
    pub restart: Duration,
    /// The Restart timer at first; it doubles up to `restart`.
    pub restart_first: Duration,
    /// Configure-Requests, and requests of authentication, sent without an answer.
    pub max_configure: u32,
    /// Configure-Naks sent before what is not agreed to is rejected; also Naks heard before an option is given up.
    pub max_failure: u32,
    /// Terminate-Requests sent without an answer.
    pub max_terminate: u32,
    /// Whether a peer that does not answer is waited for.
    pub passive: bool,
    /// Whether the link is tried again after it has ended or the line was lost, but for an end that was asked for.
    pub persist: bool,
    /// How long after an end it is tried again; so long, too, a network protocol rests that the peer does not answer.
    pub retry: Duration,
    /// What is done wrong on purpose.
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
        "auth asks the peer who it is, and secrets is empty: nobody could come in; name who may, with their secret"
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

    /// The automaton of a network protocol. One that the peer does not answer is tried again after `retry`, so that nothing is gained by
    /// waiting for it.
    pub(super) fn of_network(&self) -> automaton::Config {
        automaton::Config { passive: false, ..self.of_link() }
    }
}
