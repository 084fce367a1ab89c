//! One transport connection: what was agreed on, what waits to be sent, what has come of a TSDU.

use std::collections::VecDeque;

use kumiki_graph::Address;
use kumiki_octets::{Gathering, Message};
use kumiki_osi_service::Association;
use kumiki_osi_service::Selector;
use kumiki_wire::osi::cotp::{self, Data};

use super::states::State;
use crate::layer::Ends;

#[derive(Debug)]
pub struct Connection {
    pub(super) ends: Ends<State>,
    /// The network's addresses, of a connection that was offered.
    pub(super) local: Address,
    pub(super) remote: Address,
    /// Our reference and the peer's.
    pub(super) src_ref: u16,
    pub(super) dst_ref: u16,
    /// TSAP-IDs, as this side calls or was called.
    pub(super) called: Option<Selector>,
    pub(super) calling: Option<Selector>,
    /// The most octets of a TPDU, once it is agreed on; before, what the network's default is.
    pub(super) tpdu_size: usize,
    /// What the user says to other layers, while the network connection does not stand.
    pub(super) association: Option<Box<Association>>,
    /// TPDUs that the network takes now.
    pub(super) room: u32,
    /// CR or CC, while the network has not taken it.
    pub(super) first: Option<Message>,
    /// TSDUs, of which none, or only a part, has gone.
    pub(super) waiting: VecDeque<Message>,
    /// A part of a TSDU that its user has not ended.
    pub(super) partial: Message,
    /// TSDUs that the user may hand over.
    pub(super) granted: u32,
    /// TSDUs that the user would take.
    pub(super) wanted: u32,
    /// The TPDU that is coming, where the network hands it up in parts.
    pub(super) part: Message,
    /// The TSDU that is coming.
    pub(super) gathered: Gathering,
    /// The most octets that it may have.
    pub(super) longest: u32,
    /// What is complete and waits for the user.
    pub(super) complete: VecDeque<Message>,
    /// TPDUs that the network may be granted and was not.
    pub(super) owed: u32,
}

impl Connection {
    pub(super) fn new(ends: Ends<State>, src_ref: u16) -> Self {
        Self {
            ends,
            local: Address::NONE,
            remote: Address::NONE,
            src_ref,
            dst_ref: 0,
            called: None,
            calling: None,
            tpdu_size: cotp::DEFAULT_SIZE,
            association: None,
            room: 0,
            first: None,
            waiting: VecDeque::new(),
            partial: Message::new(),
            granted: 0,
            wanted: 0,
            part: Message::new(),
            gathered: Gathering::default(),
            longest: u32::MAX,
            complete: VecDeque::new(),
            owed: 0,
        }
    }

    /// Octets of user data in a TPDU.
    pub(super) const fn piece(&self) -> usize {
        self.tpdu_size.saturating_sub(cotp::DATA_LEN)
    }

    /// The next TPDU, if something waits.
    pub(super) fn next_out(&mut self) -> Option<Message> {
        if self.first.is_some() {
            return self.first.take();
        }
        let piece = self.piece();
        let first = self.waiting.front_mut()?;
        let (mut data, eot) =
            if first.len() > piece { (first.split_to(piece).ok()?, false) } else { (self.waiting.pop_front()?, true) };
        Data { eot }.emit(data.push_header(cotp::DATA_LEN));
        Some(data)
    }
}
