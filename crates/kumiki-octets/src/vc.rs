//! ATM virtual channels, as addresses.

use core::fmt;

use crate::address::{self, Address, AddressKind, AddressType};

/// A virtual channel of a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Vc {
    /// Virtual path identifier, 0 to 4095.
    pub vpi: u16,
    /// Virtual channel identifier.
    pub vci: u16,
}

/// Virtual channels.
static VC: AddressKind = AddressKind { name: "ATM virtual channel", write: address::write_as::<Vc> };

impl Vc {
    /// This channel, as an address.
    #[must_use]
    pub const fn address(self) -> Address {
        let ([a, b], [c, d]) = (self.vpi.to_be_bytes(), self.vci.to_be_bytes());
        Address::new(&VC, [a, b, c, d])
    }

    /// The address of the channel that is written `vpi/vci`, such as `0/100`, if that is one.
    #[must_use]
    pub fn circuit(text: &str) -> Option<Address> {
        let (vpi, vci) = text.split_once('/')?;
        let vpi = vpi.trim().parse().ok().filter(|&vpi| vpi <= 4095)?;
        let vci = vci.trim().parse().ok()?;
        Some(Self { vpi, vci }.address())
    }
}

impl AddressType for Vc {
    const KIND: &'static AddressKind = &VC;

    fn to_address(self) -> Address {
        self.address()
    }

    fn of_octets(octets: &[u8]) -> Option<Self> {
        let [a, b, c, d] = *octets.first_chunk()?;
        Some(Self { vpi: u16::from_be_bytes([a, b]), vci: u16::from_be_bytes([c, d]) })
    }
}

/// For example `VC 0/100`.
impl fmt::Display for Vc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VC {}/{}", self.vpi, self.vci)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circuit_is_two_numbers() {
        let circuit = Vc::circuit("4095/65535").unwrap();
        assert_eq!(
            (circuit.get(), circuit.to_string()),
            (Some(Vc { vpi: 4095, vci: 65_535 }), "VC 4095/65535".to_owned())
        );
        for wrong in ["", "0", "4096/1", "0/65536", "-1/3", "a/b"] {
            assert_eq!(Vc::circuit(wrong), None, "{wrong}");
        }
    }
}
