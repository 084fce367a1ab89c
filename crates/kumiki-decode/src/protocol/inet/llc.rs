//! LLC of IEEE 802.2, all of it that is not SNAP's or ISO's datagrams.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::llc`] |
//! | Found | where [`crate::protocol::atm::llc_snap`] finds other access points or another control field |
//! | Left out | the fields of FRMR; type 3, whose control fields are shown as unnumbered ones without a name |

use kumiki_wire::inet::llc::{Control, Header, Supervisory, XID_CLASS_1, function, sap};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "llc", title: "LLC of IEEE 802.2", claims: &[], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let (header, len) = header!(reading, Header::parse(reading.octets()));
    let Header { dsap, ssap, response, control } = header;
    reading.named("dsap", 0, 1, Value::Hex(dsap.into(), 2), sap_name(dsap));
    reading.named("ssap", 1, 1, Value::Hex(ssap.into(), 2), sap_name(ssap));
    reading.field("response", 1, 1, response);
    let inside = reading.total().saturating_sub(len);
    let octet = reading.part(2, 1).first().copied().unwrap_or_default();
    reading.named("control", 2, 1, Value::Hex(octet.into(), 2), control);
    match control {
        Control::Unnumbered { function, poll } => {
            reading.field("poll/final", 2, 1, poll);
            unnumbered(reading, header, function, inside);
        }
        Control::Information { ns, nr, poll } => {
            reading.stays();
            reading.field("n(s)", 2, 1, ns);
            reading.field("n(r)", 3, 1, nr);
            reading.field("poll/final", 3, 1, poll);
            reading.follow(&[Key::Sap(dsap)], len, inside);
        }
        Control::Supervisory { kind, nr, poll, .. } => {
            reading.field("n(r)", 3, 1, nr);
            reading.field("poll/final", 3, 1, poll);
            if kind == Supervisory::Reserved {
                reading.bad("a supervisory frame of a kind that is reserved");
            }
            reading.padding(len);
        }
    }
}

fn unnumbered(reading: &mut Reading<'_>, header: Header, function: u8, inside: usize) {
    let len = header.len();
    let poll = matches!(header.control, Control::Unnumbered { poll: true, .. });
    match function {
        function::UI => {
            if header.response || poll {
                // RFC 1390, "Elements of Procedure".
                reading.bad("UI that is a response or polls, and is ignored");
            } else if header.dsap == sap::SNAP {
                reading.bad("the SAP of SNAP in one place only");
            }
            reading.follow(&[Key::Sap(header.dsap)], len, inside);
        }
        function::XID => {
            let [format, classes, window] = XID_CLASS_1;
            let found: Option<&[u8; 3]> = reading.part(len, 3).first_chunk();
            let Some(&[xid_format, xid_classes, xid_window]) = found else {
                if reading.octets().len() == reading.total() {
                    reading.bad("XID without its information of three octets");
                }
                return;
            };
            let meaning = if xid_format == format { "basic" } else { "" };
            let value = Value::Hex(xid_format.into(), 2);
            reading.named("xid format", len, 1, value, meaning);
            let meaning = match xid_classes & 0x1f {
                it if it == classes => "class I: type 1",
                2 => "type 2",
                3 => "class II: types 1 and 2",
                _ => "",
            };
            let value = Value::Hex(xid_classes.into(), 2);
            reading.named("xid classes", len + 1, 1, value, meaning);
            reading.field("xid window", len + 2, 1, xid_window >> 1);
            if xid_classes == classes && xid_window != window {
                reading.note("a station of class I has no window");
            }
            reading.padding(len + 3);
        }
        function::TEST => reading.rest(len, inside, "to be sent back"),
        function::FRMR => reading.rest(len, inside, "no decoder for what a frame reject says"),
        function::DM | function::DISC | function::UA | function::SABME => reading.padding(len),
        _ => {
            reading.note("no function of types 1 and 2");
            reading.rest(len, inside, "no decoder for this function");
        }
    }
}

const fn sap_name(number: u8) -> &'static str {
    match number {
        sap::NULL => "null",
        sap::IP => "IP",
        sap::SPANNING_TREE => "spanning tree",
        sap::SNAP => "SNAP",
        sap::NETWARE => "NetWare",
        sap::NETBIOS => "NetBIOS",
        sap::ISO => "ISO network layer",
        sap::GLOBAL => "global",
        _ => "",
    }
}
