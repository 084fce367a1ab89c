//! What is agreed on at the beginning.

use core::fmt;

use super::Service;

/// How many bits a list of services has on the wire.
const LISTED: u32 = 85;

/// Services that somebody answers: bit `n` is service `n`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Services(pub u128);

impl Services {
    /// None.
    pub const NONE: Self = Self(0);

    /// So many bits, and a zero for each service that is not there: what is written.
    pub const LISTED: u32 = LISTED;

    /// Those of `services`.
    #[must_use]
    pub const fn of(services: &[Service]) -> Self {
        let mut bits = 0;
        let mut rest = services;
        while let [first, behind @ ..] = rest {
            bits |= 1_u128 << first.0;
            rest = behind;
        }
        Self(bits)
    }

    /// Whether `service` is among them.
    #[must_use]
    pub const fn has(self, service: Service) -> bool {
        service.0 < 128 && self.0 >> service.0 & 1 == 1
    }
}

impl fmt::Display for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for number in 0..128 {
            let service = Service(number);
            if self.has(service) {
                write!(f, "{before}{service}")?;
                before = ", ";
            }
        }
        if before.is_empty() {
            f.write_str("no services")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Conformance building blocks of parameters: bit `n` of the word is bit `n` of the list.
pub mod parameters {
    /// `str1`: arrays.
    pub const STR1: u64 = 1 << 0;
    /// `str2`: structures.
    pub const STR2: u64 = 1 << 1;
    /// `vnam`: variables by name.
    pub const VNAM: u64 = 1 << 2;
    /// `valt`: alternate access.
    pub const VALT: u64 = 1 << 3;
    /// `vlis`: lists of variables.
    pub const VLIS: u64 = 1 << 7;
    /// So many bits are written.
    pub const LISTED: u32 = 11;
}

/// Initiate, request and response: what is proposed, and what is agreed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Initiate {
    /// Local detail: the longest PDU in octets; none where it is not said.
    pub local_detail: Option<i64>,
    /// The most confirmed services that the caller may have asked for at a time.
    pub max_serv_outstanding_calling: i64,
    /// The same of who is called.
    pub max_serv_outstanding_called: i64,
    /// How deep data may be nested; none where it is not said.
    pub data_structure_nesting_level: Option<i64>,
    /// The version: 1.
    pub version: i64,
    /// Of [`parameters`].
    pub parameter_cbb: u64,
    /// What the side that says so answers.
    pub services_supported: Services,
}
