//! What goes to transport: SPDUs in order, each when transport has room for it.
//!
//! Transport counts TSDUs, and an SPDU of the session's own is one as data is. So what transport takes is kept here,
//! and the user is told of it only as far as it has not been told before: otherwise every synchronisation point would
//! be a message of credit too many. An SSDU that is cut takes as many as it has parts, and what is behind it waits.
//!
//! A peer that makes this side answer and does not read the answers is not read either, from [`MOST_WAITING`] on.

use crate::tp0::Longest;
use kumiki_wire::osi::session::{Abort, Enclosed, Enclosure, Spdu, transport};

use super::connection::Collision;
use super::*;

/// So many SPDUs may wait for transport before the peer's wait, too. No protocol above has as many in progress.
pub(super) const MOST_WAITING: usize = 256;

/// What waits for room.
#[derive(Debug)]
pub(super) enum QueuedSend {
    /// A TSDU.
    Tsdu(Message),
    /// What is left of an SSDU that is cut, and whether this is its begin.
    Cut { rest: Message, begin: bool },
}

impl Connection {
    /// The next TSDU, if something waits.
    fn next_tsdu(&mut self) -> Option<Message> {
        let most = self.segment.unwrap_or(usize::MAX);
        match self.waiting.pop_front()? {
            QueuedSend::Tsdu(tsdu) => Some(tsdu),
            QueuedSend::Cut { mut rest, begin } => {
                let part = rest.split_to(rest.len().min(most)).unwrap_or_default();
                let end = rest.is_empty();
                if !end {
                    let begin = false;
                    self.waiting.push_front(QueuedSend::Cut { rest, begin });
                }
                let data = Enclosed { enclosure: Some(Enclosure { begin, end }), data: Some(part) };
                // Its parameters are few, and its user information has no length: it is never too long.
                Some(Spdu::Data(data).into_tsdu().unwrap_or_default())
            }
        }
    }

    /// Whether the user may send data.
    fn may_send(&self) -> bool {
        matches!(self.ends.state, State::Data | State::WaitReleaseResponse) && self.collision == Collision::None
    }

    /// The connection stands: transport takes from here on whatever its longest TSDU is.
    pub(super) fn lift_limit(&self, cx: &mut Context<'_>) {
        self.ends.say(Special::new(Longest(u32::MAX)), cx);
    }

    /// Hands transport what it takes, tells the user what room that leaves, and transport what may come.
    pub(super) fn flow(&mut self, cx: &mut Context<'_>) {
        while self.room > 0
            && let Some(data) = self.next_tsdu()
        {
            self.room -= 1;
            self.ends.hand_down(data, cx);
        }
        let messages = self.room.saturating_sub(self.granted);
        if self.may_send() && self.waiting.is_empty() && messages > 0 {
            self.granted += messages;
            self.ends.let_send(Credit::messages(messages), cx);
        }
        if self.waiting.len() < MOST_WAITING && self.owed > 0 {
            let messages = core::mem::take(&mut self.owed);
            self.ends.let_come(Credit::messages(messages), cx);
        }
    }

    /// Puts an SSDU behind what waits: whole, or to be cut where the peer wants it cut.
    pub(super) fn put_data(&mut self, data: Message) {
        let whole = self.segment.is_none_or(|most| data.len() <= most);
        self.waiting.push_back(if whole {
            let spdu = Spdu::Data(Enclosed::whole(data));
            QueuedSend::Tsdu(spdu.into_tsdu().unwrap_or_default())
        } else {
            let (rest, begin) = (data, true);
            QueuedSend::Cut { rest, begin }
        });
    }
}

impl Session {
    /// Sends an SPDU; false where its user data is too long for its length field: then the session ends, and the user
    /// is told so. Version 2 could cut it, which nobody was seen to do.
    pub(super) fn send(&mut self, own: Handle, spdu: Spdu, cx: &mut Context<'_>) -> bool {
        let Some(connection) = self.connection(own) else {
            return false;
        };
        match spdu.into_tsdu() {
            Ok(tsdu) => {
                connection.waiting.push_back(QueuedSend::Tsdu(tsdu));
                connection.flow(cx);
                true
            }
            Err(_) => {
                cx.drop("user data too long for its SPDU");
                self.give_up(own, transport::RESTRICTION, Reason::NoResources, cx);
                false
            }
        }
    }

    /// AB of this layer's own, with `item` for a reason, and the user is told.
    pub(super) fn give_up(&mut self, own: Handle, item: u8, why: Reason, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let knows = connection.knows();
        let (above, user) = (connection.ends.above, connection.ends.user);
        // Reflect parameter values: 9 octets of what the session entity likes to say.
        let reflect =
            why.as_violation().map_or_else(Vec::new, |it| it.beginning.octets().iter().take(9).copied().collect());
        let ab = Abort { transport: Some(transport::RELEASE | item), reflect, ..Abort::default() };
        self.last_word(own, Spdu::Abort(ab), cx);
        if knows {
            tell_aborted(above, user, why, None, cx);
        }
    }

    /// An SPDU behind which nothing comes, in place of all that waits: the peer is to end the transport connection.
    pub(super) fn last_word(&mut self, own: Handle, spdu: Spdu, cx: &mut Context<'_>) {
        if let Some(connection) = self.connection(own) {
            connection.waiting.clear();
            connection.ends.state = State::WaitTransportEnd;
        }
        self.wait(own, self.config.timeout, cx);
        self.send(own, spdu, cx);
    }
}
