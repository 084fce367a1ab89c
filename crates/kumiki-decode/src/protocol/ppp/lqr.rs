//! Link quality reports of PPP.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::ppp::lqr`] |
//! | Found | PPP protocol c025 |
//! | Left out | what two reports together say of the losses |

use kumiki_wire::ppp::ppp::{lqr::Report, protocol};

use crate::key::Key;
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
    reading.fields(0, report.fields());
    if report.peer_in_lqrs == 0 {
        reading.meaning("PeerInLQRs", "LastOut... say nothing yet");
    }
    reading.padding(len);
}
