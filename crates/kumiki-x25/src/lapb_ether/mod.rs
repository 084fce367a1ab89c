//! LAPB over Ethernet: one frame of LAPB in each frame of Ethernet, as Linux's `lapbether` has it.
//!
//! | | |
//! |---|---|
//! | Specification | none but Linux, `drivers/net/wan/lapbether.c`, and Wireshark's dissector of it: EtherType 6000, a length of two octets, little-endian, then the LAPB frame without flags and frame check sequence; to all stations |
//! | Above | one user, LAPB: whole frames of the link |
//! | Below | Ethernet (`kumiki_inet::eth`) |
//! | Left out | several links on one Ethernet: its two stations are the two ends of the link |

use kumiki_graph::encapsulation::{Counters, Dropped, Encapsulation, Limits, Parsed, State};
use kumiki_graph::{Above, Address, Context, Key, Manage, Service, Unit};
use kumiki_wire::inet::ethernet::MacAddr;

#[cfg(test)]
mod tests;

/// Its EtherType: DEC's, "unassigned".
pub const ETHER_TYPE: u16 = 0x6000;

/// Octets in front of a frame of LAPB.
const HEADER: usize = 2;

/// The layer.
#[derive(Debug, Default)]
pub struct LapbEther(State);

impl LapbEther {
    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.0.counters
    }
}

impl Encapsulation for LapbEther {
    const KEYS: &'static [Key] = &[Key::of(kumiki_wire::numbering::ETHER_TYPE, ETHER_TYPE)];
    const NEEDS: &'static [Service] = &[Service::UNIT_DATA];
    const PASSES_UP: bool = true;

    fn state(&mut self) -> &mut State {
        &mut self.0
    }

    fn admit(&mut self, _: Above, _: &[Key]) -> Result<(), String> {
        Ok(())
    }

    fn pass_down(manage: &Manage) -> Result<(), &'static str> {
        if let Manage::Limits = manage { Ok(()) } else { Err("nothing to manage here") }
    }

    fn limits(&self, _: Above, below: Limits) -> Limits {
        below.behind(HEADER)
    }

    fn emit(&mut self, _: Above, mut unit: Box<Unit>, _: &mut Context<'_>) -> Result<Box<Unit>, &'static str> {
        let length = u16::try_from(unit.data.len()).map_err(|_| "frame longer than any")?;
        unit.data.push_header(HEADER).copy_from_slice(&length.to_le_bytes());
        unit.destination = Address::from(MacAddr::BROADCAST);
        Ok(unit)
    }

    fn parse(&mut self, unit: Box<Unit>, _: &mut Context<'_>) -> Parsed {
        let mut data = unit.data;
        let mut header = [0; HEADER];
        let length = usize::from(if data.copy_to(0, &mut header) { u16::from_le_bytes(header) } else { 0 });
        if length == 0 || data.len() < HEADER + length || data.pop(HEADER).is_err() {
            return Err(Dropped::Malformed("length field exceeds the frame"));
        }
        // What is behind is the padding of Ethernet.
        data.truncate(length);
        Ok((Above(0), Box::new(Unit::of(data))))
    }
}
