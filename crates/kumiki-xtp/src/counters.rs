//! What an XTP counts.

/// What happened. Packets and octets of data, in a fixed order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Contexts that users opened.
    pub opened: u64,
    /// Contexts that peers called, offered to users.
    pub offered: u64,
    /// Contexts that ended in order.
    pub closed: u64,
    /// Contexts that ended otherwise.
    pub aborted: u64,
    /// Of these: the peer had not answered, or allowed nothing, for too long.
    pub timed_out: u64,
    /// FIRST packets sent, repeated ones too.
    pub first_sent: u64,
    /// DATA packets sent, those retransmitted too.
    pub data_sent: u64,
    /// Octets of data sent in both, those retransmitted too.
    pub octets_sent: u64,
    /// Packets of data retransmitted.
    pub retransmitted: u64,
    /// Octets retransmitted.
    pub octets_retransmitted: u64,
    /// CNTL packets sent.
    pub cntl_sent: u64,
    /// ECNTL packets sent.
    pub ecntl_sent: u64,
    /// TCNTL packets sent.
    pub tcntl_sent: u64,
    /// JCNTL packets sent.
    pub jcntl_sent: u64,
    /// DIAG packets sent.
    pub diag_sent: u64,
    /// Questions asked (SREQ).
    pub sreq_sent: u64,
    /// Round trips measured.
    pub samples: u64,
    /// Of the questions: asked once more because an answer was late.
    pub repeated: u64,
    /// Synchronizing handshakes begun: WTIMER had expired.
    pub handshakes: u64,
    /// Questions to a peer that allowed nothing more.
    pub probes: u64,
    /// FIRST packets received.
    pub first_received: u64,
    /// DATA packets received.
    pub data_received: u64,
    /// Octets of data received in both, duplicates too.
    pub octets_received: u64,
    /// Control packets received, of all kinds.
    pub control_received: u64,
    /// DIAG packets received.
    pub diag_received: u64,
    /// Questions received.
    pub sreq_received: u64,
    /// Packets of data that brought nothing new.
    pub duplicates: u64,
    /// Packets of data for which there was no room.
    pub no_room: u64,
    /// Packets of data and calls that were dropped because all contexts together hold too much.
    pub out_of_memory: u64,
    /// Octets that were passed over, since the peer does not send again what is lost.
    pub passed_over: u64,
    /// Packets dropped: not XTP, or not intact.
    pub malformed: u64,
    /// Packets dropped: they say what cannot be true.
    pub lies: u64,
    /// Packets dropped: not addressed to this host.
    pub strays: u64,
    /// Calls refused, and who would join a transmission.
    pub refused: u64,
    /// Receivers that joined transmissions.
    pub joined: u64,
    /// Of these: after octets that they do not get.
    pub joined_late: u64,
    /// Receivers that are gone before the end, for whatever reason.
    pub left: u64,
    /// Of these: they did not answer, allowed nothing, got nowhere, or said what cannot be true.
    pub put_out: u64,
}

impl Counters {
    /// Control packets sent, of all kinds.
    #[must_use]
    pub const fn control_sent(&self) -> u64 {
        self.cntl_sent + self.ecntl_sent + self.tcntl_sent + self.jcntl_sent
    }
}
