//! LAPB over Ethernet: one frame of LAPB in each frame of Ethernet, as Linux's `lapbether` has it.
//!
//! | | |
//! |---|---|
//! | Specification | none but Linux, `drivers/net/wan/lapbether.c`, and Wireshark's dissector of it: EtherType 6000, a length of two octets, little-endian, then the LAPB frame without flags and frame check sequence; to all stations |
//! | Above | one user, LAPB: whole frames of the link |
//! | Below | Ethernet (`kumiki_inet::eth`) |
//! | Left out | several links on one Ethernet: its two stations are the two ends of the link |

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitRequest,
};
use kumiki_wire::inet::ethernet::MacAddr;

#[cfg(test)]
mod tests;

/// Its EtherType: DEC's, "unassigned".
pub const ETHER_TYPE: u16 = 0x6000;

/// Octets in front of a frame of LAPB.
const HEADER: usize = 2;

/// The layer.
#[derive(Debug, Default)]
pub struct LapbEther;

impl Protocol for LapbEther {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA],
            below: (1, 1),
            keys: vec![Key::of(kumiki_wire::numbering::ETHER_TYPE, ETHER_TYPE)],
        }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        let Some(request) = request.of_unit_data() else {
            return cx.drop("an Ethernet has no sessions");
        };
        match request {
            UnitRequest::Unit(mut unit) => {
                let Ok(length) = u16::try_from(unit.data.len()) else {
                    return cx.drop("frame longer than any");
                };
                unit.data.push_header(HEADER).copy_from_slice(&length.to_le_bytes());
                unit.destination = Address::from(MacAddr::BROADCAST);
                cx.down(Below(0), Request::Unit(unit));
            }
            UnitRequest::Manage(manage) => {
                if let Manage::Limits = *manage {
                    cx.down(Below(0), Request::Manage(manage));
                } else {
                    cx.drop("nothing to manage here");
                }
            }
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let Some(indication) = indication.of_unit_data() else {
            return cx.drop("an Ethernet has no sessions");
        };
        match indication {
            UnitIndication::Unit(unit) => {
                let mut data = unit.data;
                let mut header = [0; HEADER];
                let length = usize::from(if data.copy_to(0, &mut header) { u16::from_le_bytes(header) } else { 0 });
                if length == 0 || data.len() < HEADER + length || data.pop(HEADER).is_err() {
                    return cx.drop("frame with a length that it has not");
                }
                // What is behind is the padding of Ethernet.
                data.truncate(length);
                cx.up(Above(0), Indication::Unit(Box::new(Unit::of(data))));
            }
            UnitIndication::Credit(credit) => {
                let session = kumiki_graph::Handle::default();
                cx.up(Above(0), Indication::Credit { session, credit });
            }
            UnitIndication::Report(report) => {
                let report = if let Report::Limits { unit, burst } = *report {
                    Report::Limits { unit: unit.saturating_sub(2), burst }
                } else {
                    *report
                };
                cx.up(Above(0), Indication::Report(Box::new(report)));
            }
        }
    }
}
