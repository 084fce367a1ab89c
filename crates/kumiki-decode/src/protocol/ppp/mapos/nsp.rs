//! Node Switch Protocol.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::mapos::nsp`] |
//! | Found | MAPOS protocol FE03 |

use kumiki_wire::ppp::mapos::nsp::{Command, Header};
use kumiki_wire::ppp::mapos::{Address, protocol};

use super::{header, hex, meaning, sent_elsewhere, width};
use crate::key::Key;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(crate) const DISSECTOR: Dissector = Dissector {
    name: "mapos-nsp",
    title: "MAPOS Node Switch Protocol",
    claims: &[Key::MaposProtocol(protocol::NSP)],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    let (header, len) = header!(reading, Header::parse(reading.octets()));
    let address = header.address;
    let width = width(reading, address);
    reading.named("command", 0, 4, u32::from(header.command), header.command);
    let who = match header.command {
        Command::Assignment => meaning(width, address),
        Command::Request | Command::Reject => String::new(),
    };
    reading.named("address", 4, 4, hex(address, 8), who);
    match header.command {
        Command::Request => {
            if address != 0 {
                reading.note("the address of a request should be 0 (RFC 2173 section 4.2)");
            }
            if let Some(elsewhere) = sent_elsewhere(reading, Address::local_control) {
                reading.bad(format!(
                    "a request goes to the control processor of the local switch, not to {elsewhere:#04x}"
                ));
            }
        }
        Command::Assignment => match header.assigned(width) {
            None => reading.bad(format!("{address:#04x} is assigned, which no node can have")),
            Some(assigned) => {
                if let Some(elsewhere) = sent_elsewhere(reading, |_| assigned) {
                    reading.bad(format!(
                        "{assigned} is assigned in a frame to {elsewhere:#04x}; RFC 2173 section 4.1 wants it sent to the address assigned"
                    ));
                }
            }
        },
        Command::Reject => {}
    }
    reading.padding(len);
}
