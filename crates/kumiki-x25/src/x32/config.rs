//! What can be set, and what is counted.

use kumiki_graph::Duration;
use kumiki_octets::Number;
use kumiki_settings::Settings;

use crate::lapb;

/// Which end of the link we are: X.32 has two ways to say so (section 5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// By what we are, whoever calls.
    Fixed(lapb::Role),
    /// By the call: who calls has the DTE's address.
    ByCall,
}

impl Side {
    /// Our end of a circuit for which we have called, or not.
    #[must_use]
    pub const fn role(self, calling: bool) -> lapb::Role {
        match self {
            Self::Fixed(role) => role,
            Self::ByCall if calling => lapb::Role::Dte,
            Self::ByCall => lapb::Role::Dce,
        }
    }
}

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Whom it calls when a link is wanted; without it only calls that come are answered.
    #[setting(text = number, expected = "1 to 15 digits, such as \"12345\"", unset = "none")]
    pub number: Option<Number>,
    /// Who may call; anybody, where nobody is named.
    ///
    /// Then also who does not tell.
    #[setting(list = number, expected = "1 to 15 digits, such as \"12345\"")]
    pub callers: Vec<Number>,
    /// Whether callers are refused, and called back at their number in `callers`.
    pub call_back: bool,
    /// So long after clearing it calls back.
    pub call_back_after: Duration,
    /// How long it waits to be called back when its call was refused; 0: it is not called back.
    pub call_back_within: Duration,
    /// Which end of the link this is; call: who calls is the DTE.
    #[setting(words = SIDES, name = "role")]
    pub side: Side,
    /// How long a call may take until it is answered.
    ///
    /// And an answer of ours until the circuit stands.
    #[setting(positive)]
    pub call_timeout: Duration,
    /// How often a call that has failed is made again.
    #[setting(0..=255)]
    pub redials: u8,
    /// The wait before a call that has failed is made again; it doubles each time.
    ///
    /// Up to a quarter of it is added by chance.
    #[setting(positive)]
    pub redial_after: Duration,
    /// The longest such wait.
    #[setting(positive)]
    pub max_redial: Duration,
    /// After so long without an I frame the circuit is cleared; 0: never.
    pub idle: Duration,
    /// How long a circuit may stand until identification, a node of an embedder's, has admitted the other end; 0: there
    /// is none.
    pub identify: Duration,
}

impl Default for Config {
    /// Answers anybody, and calls nobody; patient for a minute, three more attempts after 5 s to 60 s, and idle for two
    /// minutes at most.
    fn default() -> Self {
        Self {
            number: None,
            callers: Vec::new(),
            call_back: false,
            call_back_after: Duration::from_secs(2),
            call_back_within: Duration::ZERO,
            side: Side::ByCall,
            call_timeout: Duration::from_secs(60),
            redials: 3,
            redial_after: Duration::from_secs(5),
            max_redial: Duration::from_secs(60),
            idle: Duration::from_secs(120),
            identify: Duration::ZERO,
        }
    }
}

/// The words for which end of the link this is.
const SIDES: [(&str, Side); 3] =
    [("call", Side::ByCall), ("dte", Side::Fixed(lapb::Role::Dte)), ("dce", Side::Fixed(lapb::Role::Dce))];

fn number(text: &str) -> Option<Number> {
    text.parse().ok().filter(|number: &Number| !number.is_empty())
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A number without digits.
    #[error("a number to call or to be called by has no digits, expected some")]
    NoDigits,
    /// Nobody can be called back.
    #[error("callers are to be called back and none is named; expected their numbers")]
    NobodyToCallBack,
    /// A time that would be over at once.
    #[error("{0} is 0, expected more")]
    Nothing(&'static str),
    /// The waits would become shorter.
    #[error("the longest wait before a call is made again is {0}, expected at least the first, {1}")]
    Most(Duration, Duration),
}

impl Config {
    /// Whether this can be.
    ///
    /// # Errors
    /// [`ConfigError`] says what is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.number.iter().chain(&self.callers).any(Number::is_empty) {
            return Err(ConfigError::NoDigits);
        }
        if self.call_back && self.callers.is_empty() {
            return Err(ConfigError::NobodyToCallBack);
        }
        for (what, time) in
            [("the timeout of a call", self.call_timeout), ("the wait before a call is made again", self.redial_after)]
        {
            if time.is_zero() {
                return Err(ConfigError::Nothing(what));
            }
        }
        if self.max_redial < self.redial_after {
            return Err(ConfigError::Most(self.max_redial, self.redial_after));
        }
        Ok(())
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Calls made.
    pub dialled: u64,
    /// Calls among them that had failed before.
    pub redialled: u64,
    /// Calls among them that call somebody back.
    pub called_back: u64,
    /// Calls that have failed: busy, no answer, refused.
    pub failed: u64,
    /// Times that it was given up to call.
    pub given_up: u64,
    /// Calls taken.
    pub answered: u64,
    /// Calls refused of those who may not call.
    pub foreign: u64,
    /// Circuits that came to stand.
    pub connected: u64,
    /// Circuits cleared because no information passed for long.
    pub idle: u64,
    /// Circuits cleared because identification did not admit the other end, or not in time.
    pub not_admitted: u64,
    /// Circuits that were cleared under the link by the other end or the network.
    pub lost: u64,
    /// XID frames handed to identification.
    pub xid_received: u64,
    /// XID frames that identification has sent.
    pub xid_sent: u64,
    /// Frames that found no circuit, or one that is not admitted yet.
    pub dropped: u64,
}
