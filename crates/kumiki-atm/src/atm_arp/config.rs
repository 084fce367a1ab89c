//! What can be set, and what is wrong with settings that cannot be.

use core::net::Ipv4Addr;
use kumiki_wire::atm::cell::Vc;

use kumiki_graph::{Address, Duration};
use kumiki_settings::Settings;
use kumiki_wire::atm::atm_arp::Address as AtmAddress;
use thiserror::Error;

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Our own addresses in the subnet.
    #[setting(list, expected = "an IPv4 address", required = "a list of our own IPv4 addresses")]
    pub addresses: Vec<Ipv4Addr>,
    /// Our ATM address, null where circuits are permanent and nobody needs it.
    #[setting(skip)]
    pub atm_address: AtmAddress,
    /// The permanent circuits whose peers are asked for (InATMARP).
    ///
    /// Each is a [`Vc`].
    #[setting(list = Vc::circuit, expected = "a circuit \"vpi/vci\" such as \"0/100\"")]
    pub circuits: Vec<Address>,
    /// Next hops that are known without asking.
    #[setting(pairs = known, any = "<address>", expected = "a circuit \"vpi/vci\" such as \"0/100\", under the IPv4 address of its peer")]
    pub known: Vec<(Ipv4Addr, Address)>,
    /// How long what was learned is good: at most 15 minutes (RFC 2225 section 8.5.1).
    #[setting(positive)]
    pub timeout: Duration,
    /// How often a circuit whose peer is not known is asked.
    #[setting(positive)]
    pub retry: Duration,
    /// Datagrams that may wait for their next hop.
    #[setting(0..=65535)]
    pub queue: usize,
    /// How long a datagram may wait for its next hop.
    pub max_wait: Duration,
}

impl Config {
    /// Our one address, and the circuits on which peers are to be found.
    #[must_use]
    pub fn new(address: Ipv4Addr, circuits: Vec<Address>) -> Self {
        Self {
            addresses: vec![address],
            atm_address: AtmAddress::NULL,
            circuits,
            known: Vec::new(),
            timeout: Duration::from_secs(15 * 60),
            retry: Duration::from_secs(5),
            queue: 64,
            max_wait: Duration::from_secs(10),
        }
    }
}

/// An address and its circuit.
fn known(address: &str, vc: &str) -> Option<(Ipv4Addr, Address)> {
    address.parse().ok().zip(Vc::circuit(vc))
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// Nobody could be told who we are.
    #[error("ATMARP has no address of its own; it needs one to answer with")]
    NoAddress,
    /// A circuit that is none.
    #[error("ATMARP is to use `{found}` as a circuit, expected a VPI and a VCI")]
    NotACircuit {
        /// What stands in its place.
        found: Address,
    },
    /// A circuit twice.
    #[error("ATMARP has the circuit {found} twice")]
    Twice {
        /// The circuit.
        found: Address,
    },
    /// A time that cannot be.
    #[error("ATMARP's {what} is {found}, expected {expected}")]
    Time {
        /// Which time.
        what: &'static str,
        /// What it is.
        found: Duration,
        /// What it may be.
        expected: &'static str,
    },
}

/// Looks for what cannot be.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    if config.addresses.is_empty() {
        return Err(ConfigError::NoAddress);
    }
    let known = config.known.iter().map(|&(_, vc)| vc);
    let is_circuit = |vc: &Address| vc.get::<Vc>().is_some();
    if let Some(found) = config.circuits.iter().copied().chain(known).find(|vc| !is_circuit(vc)) {
        return Err(ConfigError::NotACircuit { found });
    }
    for (number, &found) in config.circuits.iter().enumerate() {
        if config.circuits.iter().take(number).any(|&it| it == found) {
            return Err(ConfigError::Twice { found });
        }
    }
    let longest = Duration::from_secs(15 * 60);
    if config.timeout > longest || config.timeout.is_zero() {
        return Err(ConfigError::Time {
            what: "timeout",
            found: config.timeout,
            expected: "at most 15 minutes (RFC 2225 section 8.5.1)",
        });
    }
    if config.retry.is_zero() {
        return Err(ConfigError::Time { what: "retry", found: config.retry, expected: "more than nothing" });
    }
    Ok(())
}
