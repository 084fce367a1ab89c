//! PAP and CHAP: who the end of a PPP link is.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::ppp::pap`], [`kumiki_wire::ppp::ppp::chap`] |
//! | Found | PPP protocols c023 and c223 |
//! | Left out | whether a password or a response is right; EAP |
//!
//! A password of PAP is shown among the fields, as it lies there in clear, and not in the line of the packet.

use kumiki_wire::ppp::ppp::control::{Header, LEN};
use kumiki_wire::ppp::ppp::{chap, pap, protocol};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::ppp::ppp_control::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const PAP: Dissector = Dissector {
    name: "pap",
    title: "password authentication of PPP",
    claims: &[Key::PppProtocol(protocol::PAP)],
    dissect: password,
};

pub(in crate::protocol) const CHAP: Dissector = Dissector {
    name: "chap",
    title: "challenge handshake authentication of PPP",
    claims: &[Key::PppProtocol(protocol::CHAP)],
    dissect: challenge,
};

/// Octets of a response by MD5.
const MD5_LEN: usize = 16;

/// A text with one octet of length in front; gives where the next one begins.
fn counted(reading: &mut Reading<'_>, at: usize, names: [&'static str; 2], text: &[u8]) -> usize {
    let [length, name] = names;
    let len = text.len();
    reading.field(length, at, 1, u64_of(len));
    reading.field(name, at + 1, len, Value::text(text.escape_ascii()));
    at + 1 + len
}

fn u64_of(len: usize) -> Value {
    Value::Number(u64::try_from(len).unwrap_or(u64::MAX))
}

fn password(reading: &mut Reading<'_>) {
    let name = |code| match code {
        pap::code::REQUEST => Some("Authenticate-Request"),
        pap::code::ACK => Some("Authenticate-Ack"),
        pap::code::NAK => Some("Authenticate-Nak"),
        _ => None,
    };
    let Some((header, data)) = header(reading, name) else {
        return;
    };
    let Header { code, identifier, .. } = header;
    let message = match pap::Message::read(code, data) {
        Ok(message) => message,
        Err(why) => {
            reading.header_len(LEN);
            return reading.malformed_at(LEN, &why);
        }
    };
    let packet = pap::Packet { identifier, message };
    reading.summary(packet);
    // What the capture cut off says nothing.
    let whole = data.len() == header.data_len();
    if whole {
        crate::protocol::emitted!(reading, packet);
    }
    match message {
        pap::Message::Request { peer_id, password } => {
            let at = counted(reading, LEN, ["peer-id-length", "peer-id"], peer_id);
            counted(reading, at, ["passwd-length", "password"], password);
        }
        pap::Message::Ack { message } | pap::Message::Nak { message } => match message {
            Some(message) => {
                counted(reading, LEN, ["msg-length", "message"], message);
            }
            None if !whole => {}
            None => reading.bad("msg-length is missing, RFC 1334 section 2.2.2 wants it even if it is 0"),
        },
    }
}

fn challenge(reading: &mut Reading<'_>) {
    let name = |code| match code {
        chap::code::CHALLENGE => Some("Challenge"),
        chap::code::RESPONSE => Some("Response"),
        chap::code::SUCCESS => Some("Success"),
        chap::code::FAILURE => Some("Failure"),
        _ => None,
    };
    let Some((header, data)) = header(reading, name) else {
        return;
    };
    let Header { code, identifier, .. } = header;
    let message = match chap::Message::read(code, data) {
        Ok(message) => message,
        Err(why) => {
            reading.header_len(LEN);
            return reading.malformed_at(LEN, &why);
        }
    };
    let packet = chap::Packet { identifier, message };
    reading.summary(packet);
    // What the capture cut off says nothing.
    let whole = data.len() == header.data_len();
    if whole {
        crate::protocol::emitted!(reading, packet);
    }
    match message {
        chap::Message::Challenge { value, name } | chap::Message::Response { value, name } => {
            reading.field("value-size", LEN, 1, u64_of(value.len()));
            reading.field("value", LEN + 1, value.len(), value);
            let at = LEN + 1 + value.len();
            reading.field("name", at, name.len(), Value::text(name.escape_ascii()));
            if name.is_empty() && whole {
                reading.bad("the name is empty, RFC 1994 section 4.1 wants one octet at least");
            }
        }
        chap::Message::Success { message } | chap::Message::Failure { message } => {
            if !message.is_empty() {
                reading.field("message", LEN, message.len(), Value::text(message.escape_ascii()));
            }
        }
    }
    if let chap::Message::Response { value, .. } = message
        && value.len() != MD5_LEN
    {
        let len = value.len();
        reading.note(format!("a response of {len} octets: MD5 gives {MD5_LEN}"));
    }
}
