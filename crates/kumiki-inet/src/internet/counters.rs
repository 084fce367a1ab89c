//! What happened.

/// What happened, under the names of RFC 4293.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Datagrams received, those in error too.
    pub in_receives: u64,
    /// Dropped: a header or a length wrong, or an option that asked for it.
    pub in_hdr_errors: u64,
    /// Dropped: an address that must not be, or that is not ours.
    pub in_addr_errors: u64,
    /// Dropped: no user for the protocol.
    pub in_unknown_protos: u64,
    /// Handed to users, after reassembly.
    pub in_delivers: u64,
    /// Forwarded.
    pub forw_datagrams: u64,
    /// Units that users gave us.
    pub out_requests: u64,
    /// Dropped on the way out, though nothing was wrong: a source not ours, no link address, too long.
    pub out_discards: u64,
    /// Dropped: no route.
    pub out_no_routes: u64,
    /// Fragments received.
    pub reasm_reqds: u64,
    /// Datagrams put together.
    pub reasm_oks: u64,
    /// Datagrams given up: too late, too many, overlapping or not fitting together.
    pub reasm_fails: u64,
    /// Datagrams fragmented.
    pub frag_oks: u64,
    /// Datagrams that needed it and must not be.
    pub frag_fails: u64,
    /// Fragments made.
    pub frag_creates: u64,
    /// ICMP errors sent.
    pub icmp_out_errors: u64,
    /// ICMP errors not sent to keep the rate.
    pub icmp_out_limited: u64,
    /// ICMP errors received and understood.
    pub icmp_in_errors: u64,
}
