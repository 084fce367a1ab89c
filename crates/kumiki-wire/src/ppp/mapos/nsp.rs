//! Node Switch Protocol: how a node is told its address.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2173 section 4; RFC 2175 section 4 for 16 bits |
//! | Sent to | requests to the control processor of the local switch, assignments to the address that they assign |
//! | Left out | when what is sent: 5, 30 and 90 seconds are the protocol's |

use core::fmt;

use super::{Address, Meaning, Width};
use crate::{Malformed, put};

/// Octets of a packet.
pub const LEN: usize = 8;

/// What a packet is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// 1: which address do I have? Also tells the switch that the node is there.
    Request,
    /// 2: the answer.
    Assignment,
    /// 3: the switch cannot assign an address.
    Reject,
}

impl From<Command> for u32 {
    fn from(command: Command) -> Self {
        match command {
            Command::Request => 1,
            Command::Assignment => 2,
            Command::Reject => 3,
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "address request",
            Self::Assignment => "address assignment",
            Self::Reject => "reject",
        })
    }
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// What it is about.
    pub command: Command,
    /// The address field as it stands. In a request it should be 0 and is ignored, in a reject it is undefined.
    pub address: u32,
}

impl Header {
    /// What a node asks.
    pub const REQUEST: Self = Self { command: Command::Request, address: 0 };
    /// What a switch answers that has no address to give.
    pub const REJECT: Self = Self { command: Command::Reject, address: 0 };

    /// What a switch answers, or a node that is asked because there is no switch ([`Address::without_switch`]).
    #[must_use]
    pub fn assignment(address: Address) -> Self {
        Self { command: Command::Assignment, address: u32::from(address) }
    }

    /// The address that is assigned; `None` where the packet is no assignment, or of what no node can have.
    #[must_use]
    pub fn assigned(&self, width: Width) -> Option<Address> {
        let address = Address::new(width, self.address)?;
        let node = matches!(address.meaning(), Meaning::Node { .. });
        (self.command == Command::Assignment && node).then_some(address)
    }

    /// Reads a packet; also gives its length.
    ///
    /// # Errors
    /// The packet is not all there, or the command is none of the three.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(&[c0, c1, c2, c3, a0, a1, a2, a3]) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "NSP", need: LEN, have: front.len() });
        };
        let command = match u32::from_be_bytes([c0, c1, c2, c3]) {
            1 => Command::Request,
            2 => Command::Assignment,
            3 => Command::Reject,
            other => {
                return Err(Malformed::Field {
                    protocol: "NSP",
                    field: "command",
                    found: u64::from(other),
                    expected: "1 (address request), 2 (address assignment) or 3 (reject)",
                });
            }
        };
        let header = Self { command, address: u32::from_be_bytes([a0, a1, a2, a3]) };
        Ok((header, LEN))
    }

    /// Octets that [`Header::emit`] writes: always 8.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 8 octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        let out = &mut out;
        put(out, u32::from(self.command).to_be_bytes());
        put(out, self.address.to_be_bytes());
    }
}

impl fmt::Display for Header {
    /// For example `NSP address assignment 0x23`; the address only there, for elsewhere it says nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NSP {}", self.command)?;
        match self.command {
            Command::Assignment => write!(f, " {:#04x}", self.address),
            Command::Request | Command::Reject => Ok(()),
        }
    }
}
