//! What a TCP counts.

/// Counts since the start, over all connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Octets of text sent, each time they were sent.
    pub octets_sent: u64,
    /// Segments received and found intact.
    pub segments_received: u64,
    /// Octets of text delivered in order.
    pub octets_received: u64,
    /// Segments dropped for their checksum.
    pub bad_checksums: u64,
    /// Segments dropped because their header cannot be, or did not come over IPv4, or to a group.
    pub malformed: u64,
    /// Connections that reached ESTABLISHED.
    pub established: u64,
    /// Connections that left TIME-WAIT early to make room.
    pub time_waits_cut: u64,
    /// SYN cookies sent.
    pub cookies_sent: u64,
    /// SYN cookies that came back and were good.
    pub cookies_returned: u64,
    /// Calls, or the last segments of handshakes, dropped because as many wait as may.
    pub backlog_full: u64,
    /// Segments retransmitted, for whatever reason.
    pub retransmissions: u64,
    /// Times that fast retransmit was entered.
    pub fast_retransmits: u64,
    /// Octets that RACK marked lost (RFC 8985 section 6.2), those of lost retransmissions each time.
    pub rack_lost: u64,
    /// Tail loss probes sent (RFC 8985 section 7.3), be they new data or the last segment again.
    pub loss_probes: u64,
    /// Losses that a tail loss probe repaired by itself (section 7.4.2).
    pub probes_repaired: u64,
    /// Reports of a link too narrow for what was in flight.
    pub too_bigs: u64,
    /// Probes of the path sent (RFC 4821).
    pub path_probes: u64,
    /// Of these, such that were lost by themselves.
    pub path_probes_lost: u64,
    /// Times that the MSS was lowered because nothing arrived.
    pub black_holes: u64,
    /// Fast recoveries that turned out to have been for nothing and were undone.
    pub spurious_recoveries: u64,
    /// Time-outs that turned out to have been for nothing and were undone.
    pub spurious_timeouts: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Duplicate acknowledgments received.
    pub duplicate_acks: u64,
    /// Acknowledgments received of something new.
    pub new_acks: u64,
    /// Octets that were in flight when these came, all together. Divided by their number it is the window that was
    /// really used.
    pub flight_at_acks: u64,
    /// Segments with text in order that were acknowledged, by whichever segment.
    pub segments_acknowledged: u64,
    /// How long these waited for that, all together, in microseconds.
    pub acknowledgment_wait_us: u64,
    /// Pure acknowledgments sent because the delayed acknowledgment timer expired.
    pub acks_by_timer: u64,
    /// Pure acknowledgments sent because enough data had come.
    pub acks_by_data: u64,
    /// Pure acknowledgments sent only to move the window.
    pub window_updates: u64,
    /// Pure acknowledgments sent for any other reason.
    pub acks_other: u64,
    /// Questions to idle peers sent.
    pub keep_alives: u64,
    /// Probes of a closed window sent.
    pub window_probes: u64,
    /// Times silly window avoidance was overridden by its timer.
    pub overrides: u64,
    /// Times a segment was held back to keep the pace.
    pub paced: u64,
    /// Times a send or receive buffer was made larger.
    pub buffers_grown: u64,
    /// Segments dropped because all connections hold as much as they may: SYNs, and text in its turn or ahead of it.
    pub out_of_memory: u64,
    /// Segments with text that came ahead of their turn.
    pub out_of_order: u64,
    /// Segments of which all text had come before.
    pub duplicates: u64,
    /// Segments refused by PAWS (RFC 7323 section 5).
    pub paws_rejected: u64,
    /// Segments outside the window, and challenges.
    pub unacceptable: u64,
    /// Of these, such that were not answered, for the limits of RFC 5961 section 7.
    pub challenges_spared: u64,
    /// Connections with classic feedback of congestion marks (RFC 3168).
    pub ecn_classic: u64,
    /// Connections with accurate feedback (RFC 9768).
    pub ecn_accurate: u64,
    /// Segments sent with ECT; a super-segment is one.
    pub ect_sent: u64,
    /// Acceptable segments that came marked with CE.
    pub ce_received: u64,
    /// Acknowledgments that told of marks.
    pub ecn_echoes: u64,
    /// Times the window was reduced for them.
    pub ecn_reductions: u64,
    /// Segments sent with CWR, where that is no counter.
    pub cwr_sent: u64,
    /// Connections that ceased to send ECT because something changes ECN fields on the way.
    pub ecn_disabled: u64,
    /// Resets sent.
    pub resets_sent: u64,
    /// Resets accepted.
    pub resets_received: u64,
    /// Connections given up because the peer stopped answering.
    pub timed_out: u64,
    /// Octets a user sent beyond its credit.
    pub over_credit: u64,
}
