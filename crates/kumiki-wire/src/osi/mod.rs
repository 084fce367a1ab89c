//! OSI: TPKT and transport class 0, session, presentation with BER, ACSE.

pub mod acse;
pub mod ber;
pub mod cotp;
pub mod presentation;
pub mod session;
pub mod tpkt;

use kumiki_octets::Message;

/// `header` in front of `message`, whose content stays where it is.
pub(crate) fn in_front(header: &[u8], mut message: Message) -> Message {
    if header.len() <= 128 {
        message.push_octets(header);
        return message;
    }
    let mut whole = Message::from_octets(header);
    whole.append(message);
    whole
}
