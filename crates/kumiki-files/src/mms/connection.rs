//! One association: its variables, the services in progress, and what waits to be sent.

use kumiki_graph::Special;
use kumiki_osi_service::presentation::PData;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Context, Credit};
use kumiki_octets::Message;
use kumiki_osi::layer::Ends;
use kumiki_osi_service::mms::{Initiate, Pdu, Service};
use kumiki_osi_service::presentation::{ContextId, Value};

use super::states::State;

/// So many PDUs may wait to be sent before the peer's wait, too: a peer that asks and does not take the answers is not
/// heard any more.
pub(super) const MOST_WAITING: usize = 64;

/// What waits for its turn.
#[derive(Debug)]
pub(super) enum QueuedSend {
    /// A PDU; with the number of the service that is over when it has left.
    Pdu(Message, Option<u32>),
    /// A-RELEASE.
    Release,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) ends: Ends<State>,
    /// Whether this side has called.
    pub(super) calls: bool,
    /// The context of MMS.
    pub(super) context: ContextId,
    /// What was agreed; before that, what was proposed.
    pub(super) agreed: Initiate,
    /// What this side answers.
    pub(super) ours: kumiki_osi_service::mms::Services,
    /// Services that this side has asked for.
    pub(super) asked: BTreeMap<u32, Service>,
    /// Services that the peer has asked for.
    pub(super) pending: BTreeMap<u32, Service>,
    pub(super) out: VecDeque<QueuedSend>,
    /// Values that presentation takes.
    pub(super) room: u32,
    /// Values that presentation may be granted and was not, because too much waits.
    pub(super) owed: u32,
}

impl Connection {
    /// The most services that this side may have asked for at a time.
    pub(super) fn most_asked(&self) -> usize {
        let most =
            if self.calls { self.agreed.max_serv_outstanding_calling } else { self.agreed.max_serv_outstanding_called };
        usize::try_from(most).unwrap_or(0)
    }

    /// The same of the peer.
    pub(super) fn most_pending(&self) -> usize {
        let most =
            if self.calls { self.agreed.max_serv_outstanding_called } else { self.agreed.max_serv_outstanding_calling };
        usize::try_from(most).unwrap_or(0)
    }

    /// The longest PDU.
    pub(super) fn longest(&self) -> usize {
        let longest = self.agreed.local_detail.unwrap_or(i64::MAX);
        usize::try_from(longest).unwrap_or(usize::MAX)
    }

    /// Something for the user.
    pub(super) fn tell(&self, pdu: Pdu, cx: &mut Context<'_>) {
        self.ends.tell(Special::new(pdu), cx);
    }

    /// The user may ask for so many more.
    pub(super) fn grant(&self, messages: u32, cx: &mut Context<'_>) {
        if messages > 0 {
            self.ends.let_send(Credit::messages(messages), cx);
        }
    }

    /// Puts a PDU behind what waits.
    pub(super) fn put(&mut self, pdu: Pdu, over: Option<u32>) {
        self.out.push_back(QueuedSend::Pdu(kumiki_wire::files::mms::emit(pdu), over));
    }

    /// Hands down what there is room for.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>) {
        while let Some(next) = self.out.pop_front() {
            match next {
                QueuedSend::Pdu(data, over) => {
                    if self.room == 0 {
                        self.out.push_front(QueuedSend::Pdu(data, over));
                        break;
                    }
                    self.room -= 1;
                    if let Some(invoke) = over {
                        self.pending.remove(&invoke);
                    }
                    let context = self.context;
                    let values = core::iter::once(Value { context, data }).collect();
                    self.ends.say(Special::new(PData(values)), cx);
                }
                QueuedSend::Release => self.ends.release(None, cx),
            }
        }
        if self.owed > 0 && self.out.len() < MOST_WAITING {
            let owed = core::mem::take(&mut self.owed);
            self.ends.let_come(Credit::messages(owed), cx);
        }
    }

    /// Values of the peer were taken.
    pub(super) fn took(&mut self, messages: u32, cx: &mut Context<'_>) {
        if self.out.len() >= MOST_WAITING {
            self.owed = self.owed.saturating_add(messages);
        } else {
            self.ends.let_come(Credit::messages(messages), cx);
        }
    }
}
