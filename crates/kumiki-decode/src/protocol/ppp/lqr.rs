//! Link quality reports of PPP.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::ppp::lqr`] |
//! | Found | PPP protocol c025 |
//! | Left out | what two reports together say of the losses |

use kumiki_wire::ppp::ppp::{lqr::Report, protocol};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "lqr",
    title: "link quality reports of PPP",
    claims: &[Key::PppProtocol(protocol::LQR)],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    let (report, len) = header!(reading, Report::parse(reading.octets()));
    for (place, (name, word)) in report.words().into_iter().enumerate() {
        let value = if place == 0 { Value::Hex(word.into(), 8) } else { word.into() };
        let meant = if name == "PeerInLQRs" && word == 0 { "LastOut... say nothing yet" } else { "" };
        reading.named(name, 4 * place, 4, value, meant);
    }
    reading.padding(len);
}
