//! A queue of a device, as the stack has it whose it is: what came by it for another goes there, and what others have
//! handed over comes with the rest.

use std::io;
use std::sync::Arc;

use kumiki_graph::{Address, Request};
use kumiki_io::{Arrival, Descriptors, RealDevice, Sent};
use kumiki_link::FlowKeys;
use kumiki_octets::Message;

use super::fragments::Fragments;
use super::mailbox::{Mailbox, QueuedPacket};
use super::owner::Owner;

/// So many packets that are for others are handed over in one go, before the stack has a turn again.
const IN_ONE_GO: usize = 256;

/// The queue of one stack.
pub(in crate::host) struct Edge {
    queue: Box<dyn RealDevice>,
    /// The number of the stack.
    here: usize,
    owner: Arc<Owner>,
    /// One for each stack.
    mailboxes: Arc<[Mailbox]>,
    fragments: Fragments,
    /// Mail and queue have turns, so that neither makes the other wait for ever.
    mail_is_next: bool,
}

impl Edge {
    pub(in crate::host) fn new(
        queue: Box<dyn RealDevice>,
        here: usize,
        owner: Arc<Owner>,
        mailboxes: Arc<[Mailbox]>,
    ) -> Self {
        Self { queue, here, owner, mailboxes, fragments: Fragments::default(), mail_is_next: false }
    }

    fn leave(&self, whose: usize, mail: QueuedPacket) {
        if let Some(mailbox) = self.mailboxes.get(whose) {
            mailbox.leave(mail);
        }
    }

    /// The next packet that others have handed over.
    fn mail(&mut self) -> Option<Message> {
        loop {
            match self.mailboxes.get(self.here)?.take()? {
                QueuedPacket::Own(packet) => return Some(packet),
                QueuedPacket::Fragment(fragment) => {
                    if let Some(own) = FlowKeys::of(&fragment).and_then(|sight| self.sort(&sight, fragment)) {
                        return Some(own);
                    }
                }
            }
        }
    }

    /// A packet came by our queue: it comes back where it is ours.
    fn judge(&mut self, packet: Message) -> Option<Message> {
        let Some(sight) = FlowKeys::of(&packet) else {
            return Some(packet);
        };
        let whose = self.owner.of(&sight, self.here);
        if sight.fragment.is_some() && whose == self.here {
            return self.sort(&sight, packet);
        }
        if whose == self.here {
            return Some(packet);
        }
        let mail = if sight.fragment.is_some() { QueuedPacket::Fragment(packet) } else { QueuedPacket::Own(packet) };
        self.leave(whose, mail);
        None
    }

    /// A fragment came of a packet for which we find out whose it is: one that is ours comes back, others wait in our
    /// own mailbox.
    fn sort(&mut self, sight: &FlowKeys, fragment: Message) -> Option<Message> {
        let mut own = None;
        let Self { here, owner, mailboxes, fragments, .. } = self;
        fragments.take(sight, fragment, |flow, fragment| {
            let whose = owner.of_flow(&flow, *here);
            if whose == *here && own.is_none() {
                own = Some(fragment);
            } else if let Some(mailbox) = mailboxes.get(whose) {
                mailbox.leave(QueuedPacket::Own(fragment));
            }
        });
        own
    }
}

impl RealDevice for Edge {
    fn descriptors(&self) -> Descriptors<'_> {
        self.queue.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        for _ in 0..IN_ONE_GO {
            self.mail_is_next ^= true;
            if self.mail_is_next
                && let Some(packet) = self.mail()
            {
                return Ok(Some(Arrival::of(packet)));
            }
            match self.queue.receive()? {
                Some(Arrival::Unit { data, source, waited }) => {
                    if let Some(data) = self.judge(data) {
                        return Ok(Some(Arrival::Unit { data, source, waited }));
                    }
                }
                Some(other) => return Ok(Some(other)),
                None => return Ok(self.mail().map(Arrival::of)),
            }
        }
        Ok(Some(Arrival::NoUnit))
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        self.queue.send(packet, to)
    }

    fn grant(&mut self, octets: u64) {
        self.queue.grant(octets);
    }

    fn request(&mut self, request: Request) -> io::Result<()> {
        self.queue.request(request)
    }

    fn takes_super_segments(&self) -> bool {
        self.queue.takes_super_segments()
    }

    fn tells_waits(&self) -> bool {
        self.queue.tells_waits()
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.queue.flush()
    }
}
