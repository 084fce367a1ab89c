//! What each counter of a row means, and of what it is a number: `docs/counters.md` is made from here.

use crate::rows::DROPPED;

/// Counters of one kind of place.
#[derive(Clone, Copy, Debug)]
pub struct CounterGroup {
    /// What counts, as a heading.
    pub of: &'static str,
    /// Where it stands in a row, with the parts of the name that differ in capitals.
    pub place: &'static str,
    /// The counters.
    pub counters: &'static [CounterMeaning],
}

/// A counter.
#[derive(Clone, Copy, Debug)]
pub struct CounterMeaning {
    /// Its name; of a line without `a_` or `b_`, which say whose direction it is.
    pub name: &'static str,
    /// What it is a number of.
    pub unit: &'static str,
    /// Which of these.
    pub meaning: &'static str,
}

const fn of(name: &'static str, unit: &'static str, meaning: &'static str) -> CounterMeaning {
    CounterMeaning { name, unit, meaning }
}

/// The counters of all places.
pub const COUNTERS: [CounterGroup; 16] = [
    CounterGroup { of: "Every node of a host", place: "`counters.HOST.NODE`", counters: &NODE },
    CounterGroup {
        of: "TCP",
        place: "`counters.HOST.NODE` of kind `tcp`, over all of its connections",
        counters: &TCP,
    },
    CounterGroup { of: "XTP", place: "`counters.HOST.NODE` of kind `xtp`, over all of its contexts", counters: &XTP },
    CounterGroup {
        of: "Readers of RTP",
        place: "`counters.HOST.NODE` of the program, over all of its streams",
        counters: &RTP,
    },
    CounterGroup { of: "Adapters", place: "`counters.HOST.DEVICE`", counters: &ADAPTER },
    CounterGroup {
        of: "Memory",
        place: "`counters.HOST.send memory` and `counters.HOST.receive memory`",
        counters: &MEMORY,
    },
    CounterGroup { of: "CPUs", place: "`counters.HOST.CPU`", counters: &CPU },
    CounterGroup { of: "Lines with frames", place: "`counters.LINE`, `a_` and `b_` in front", counters: &LINE },
    CounterGroup {
        of: "SONET/SDH lines of which all octets are made",
        place: "`counters.LINE`, `a_` and `b_` in front, beside those of lines with frames",
        counters: &SECTION,
    },
    CounterGroup {
        of: "What a line does to its packets or cells",
        place: "`counters.LINE to END`, `a_` in front",
        counters: &IMPAIRED,
    },
    CounterGroup { of: "Adapters on lines with cells", place: "`counters.HOST.DEVICE SAR`", counters: &SAR },
    CounterGroup { of: "Lines with cells", place: "`counters.LINE`", counters: &CELLS },
    CounterGroup {
        of: "ATM switches",
        place: "`counters.SWITCH` over all ports, and `counters.SWITCH.PORT`",
        counters: &ATM_SWITCH,
    },
    CounterGroup {
        of: "Rings",
        place: "`counters.RING` over all stations, and `counters.RING.HOST` of each",
        counters: &RING,
    },
    CounterGroup { of: "Ethernet switches", place: "`counters.SWITCH`", counters: &SWITCH },
    CounterGroup { of: "Telephone exchanges", place: "`counters.SWITCH`", counters: &EXCHANGE },
];

const NODE: [CounterMeaning; 13] = [
    of("messages_down", "messages", "requests from above with data"),
    of("octets_down", "octets", "the data in these"),
    of("messages_up", "messages", "indications from below with data"),
    of("octets_up", "octets", "the data in these, with the headers of layers above"),
    of("copied_octets", "octets", "copied from one place in memory to another"),
    of("summed_octets", "octets", "read for a checksum"),
    of("timers", "times", "a timer ran out"),
    of("calls", "times", "a program wrote or read"),
    of("wakes", "times", "it was woken because pages had come free"),
    of("session_switches", "times", "the process of another session went on"),
    of("mapped_pages", "pages", "that had to be mapped"),
    of("busy_us", "microseconds", "of the CPU that the profile prices what it did at"),
    of("dropped, REASON", "messages", "thrown away for that reason, which stands in the name"),
];

const TCP: [CounterMeaning; 32] = [
    of("segments_sent", "segments", "sent, of any kind, retransmissions among them"),
    of("segments_received", "segments", "received and found intact"),
    of("retransmissions", "segments", "retransmitted, for whatever reason"),
    of("fast_retransmits", "times", "fast retransmit was entered"),
    of(
        "rack_lost",
        "octets",
        "that RACK took for lost (RFC 8985, section 6.2); those of a retransmission that was lost count each time",
    ),
    of(
        "loss_probes",
        "segments",
        "sent as tail loss probes (RFC 8985, section 7.3), be they new data or the last segment again",
    ),
    of("probes_repaired", "losses", "that a tail loss probe repaired by itself (section 7.4.2)"),
    of("too_bigs", "reports", "of a link too narrow for what was in flight (ICMP)"),
    of("path_probes", "segments", "sent as probes of the path's MTU (RFC 4821)"),
    of("path_probes_lost", "segments", "of these that were lost and nothing else was"),
    of("black_holes", "times", "the MSS was lowered because nothing arrived"),
    of("spurious_recoveries", "times", "a fast recovery turned out to have been for nothing, and was undone"),
    of("spurious_timeouts", "times", "a time-out turned out to have been for nothing, and was undone"),
    of("timeouts", "times", "the retransmission timer ran out"),
    of("duplicate_acks", "acknowledgments", "received a second time"),
    of("new_acks", "acknowledgments", "received of something new"),
    of(
        "flight_at_acks",
        "octets",
        "in flight when these came, all together; divided by their number it is the window that was used",
    ),
    of("segments_acknowledged", "segments", "with data in order that were acknowledged, by whichever segment"),
    of("acknowledgment_wait_us", "microseconds", "that these waited for it, all together"),
    of("acks_by_timer", "acknowledgments", "without data, sent because the timer of delayed ones ran out"),
    of("acks_by_data", "acknowledgments", "without data, sent because enough had come"),
    of("window_updates", "acknowledgments", "without data, sent to move the window and for nothing else"),
    of("window_probes", "segments", "sent as probes of a closed window"),
    of("overrides", "times", "the timer of silly window avoidance overrode it"),
    of("buffers_grown", "times", "a send or receive buffer was made larger"),
    of("out_of_memory", "segments", "dropped because all connections together hold as much as they may"),
    of("out_of_order", "segments", "with data that came ahead of their turn"),
    of("bad_checksums", "segments", "dropped for their checksum"),
    of("ce_received", "segments", "that came marked with CE (ECN)"),
    of("ecn_echoes", "acknowledgments", "that told of marks"),
    of("ecn_reductions", "times", "the congestion window was reduced for marks"),
    of("ecn_disabled", "connections", "that gave ECN up, because something changes its fields on the way"),
];

const XTP: [CounterMeaning; 23] = [
    of("data_sent", "packets", "DATA sent, retransmissions too"),
    of("data_received", "packets", "DATA received"),
    of("control_sent", "packets", "of control sent, of all kinds"),
    of("control_received", "packets", "of control received, of all kinds"),
    of("ecntl_sent", "packets", "ECNTL sent"),
    of("jcntl_sent", "packets", "JCNTL sent"),
    of("sreq_sent", "packets", "sent that ask for an answer (SREQ)"),
    of("samples", "round trips", "measured"),
    of("repeated", "packets", "of these that asked once more because an answer was late"),
    of("handshakes", "times", "a synchronizing handshake began: WTIMER had expired"),
    of("probes", "packets", "that asked a peer which allowed nothing more"),
    of("retransmitted", "packets", "of data, retransmitted"),
    of("duplicates", "packets", "of data that brought nothing new"),
    of("no_room", "packets", "of data for which there was no room"),
    of("out_of_memory", "packets", "of data, and calls, dropped because all contexts together hold too much"),
    of("passed_over", "octets", "that were passed over, since the peer does not send again what is lost"),
    of("malformed", "packets", "dropped: not XTP, or not intact"),
    of("lies", "packets", "dropped: they say what cannot be true"),
    of("strays", "packets", "dropped: not addressed to this host"),
    of("joined", "receivers", "that joined a transmission"),
    of("joined_late", "receivers", "of these, behind octets that they do not get"),
    of("left", "receivers", "that went before the end"),
    of(
        "put_out",
        "receivers",
        "of these that did not answer, allowed nothing, got nowhere, or said what cannot be true",
    ),
];

const RTP: [CounterMeaning; 5] = [
    of("expected", "packets", "by their numbers, up to the highest that came"),
    of("received", "packets", "that came"),
    of("lost", "packets", "expected, less those that came (RFC 3550, appendix A.3)"),
    of("late", "packets", "that came after they were to be played (`playout`)"),
    of(
        "jitter_us",
        "microseconds",
        "the interarrival jitter of RFC 3550, section 6.4.1, as it is at the end; of several streams the largest",
    ),
];

const ADAPTER: [CounterMeaning; 5] = [
    of("sent", "packets", "handed to the line"),
    of("received", "packets", "handed to the host"),
    of("dropped, queue full", "packets", "for which the adapter's queue had no room"),
    of("dropped, no page", "packets", "for which the host had no memory"),
    of("queue_high_water", "packets", "the most that ever waited there, since the start"),
];

const MEMORY: [CounterMeaning; 3] = [
    of("clusters", "clusters", "that there are"),
    of("high_water", "pages", "the most ever in use, since the start"),
    of("refusals", "times", "nothing was left for who asked"),
];

const CPU: [CounterMeaning; 3] = [
    of("busy_us", "microseconds", "in which it worked"),
    of("switches", "times", "it went from one task to another"),
    of("interrupts", "interrupts", "that it took"),
];

const LINE: [CounterMeaning; 10] = [
    of("frames", "frames", "put on the line"),
    of("octets", "octets", "of the line that these took, with preamble, flags, stuffing and checksum"),
    of("drops", "frames", "given up: the queue had no room, or was to stay short"),
    of(
        "group_drops",
        "frames",
        "of the drops of an Ethernet switch, those to groups of stations, as requests of ARP are: it has a copy of each for every port",
    ),
    of("marks", "frames", "marked for congestion (ECN CE)"),
    of("busy_ns", "nanoseconds", "in which the line carried them; a frame counts whole when it begins"),
    of("strangers", "units", "that are no frames"),
    of(
        "overlimit",
        "frames",
        "of the drops, those for want of room: the others are the control law's (`codel`, `pie`, `fq-codel`)",
    ),
    of("new_flows", "times", "a flow became a new one (`fq-codel`)"),
    of("sparse_frames", "frames", "sent while their flow was a new one (`fq-codel`)"),
];

const SECTION: [CounterMeaning; 18] = [
    of("line_frames", "frames of SONET/SDH", "received in frame"),
    of("out_of_frame", "times", "the receiver fell out of frame"),
    of("b1_errors", "bits", "of B1 that were wrong"),
    of("b2_errors", "bits", "of B2 that were wrong"),
    of("b3_errors", "bits", "of B3 that were wrong"),
    of("line_rei", "errors", "that the far end found with B2 (REI-L)"),
    of("path_rei", "errors", "that the far end found with B3 (REI-P)"),
    of("positive", "times", "a pointer moved by positive justification"),
    of("negative", "times", "a pointer moved by negative justification"),
    of("doubtful_pointers", "pointers", "that were invalid, or not believed yet"),
    of("new_pointers", "pointers", "to a new place"),
    of("alarms", "alarms", "raised"),
    of("delivered", "frames", "HDLC-like ones that were found and are intact"),
    of("bad_fcs", "frames", "with a wrong checksum"),
    of("aborts", "frames", "that ended with an abort"),
    of("runts", "frames", "that are too short to be one"),
    of("oversize", "frames", "that are too long"),
    of("wrong_bits", "bits", "that the line turned over"),
];

const IMPAIRED: [CounterMeaning; 9] = [
    of("units", "frames or cells", "that came"),
    of("lost", "frames or cells", "of these that were lost (`loss`, `loss_burst`)"),
    of("duplicated", "frames or cells", "that came out twice (`duplicate`)"),
    of("marked", "frames", "marked with CE (`mark`)"),
    of("corrupted", "frames or cells", "with bits turned over"),
    of("held", "frames or cells", "held back behind later ones (`reorder`)"),
    of("hec_corrected", "cells", "whose header was set right by its checksum"),
    of("hec_dropped", "cells", "dropped for their header's checksum"),
    of("misled", "cells", "whose header is now another good one"),
];

const SAR: [CounterMeaning; 30] = [
    of("pdus_out", "PDUs", "sent"),
    of("cells_out", "cells", "put on the line"),
    of("refused", "packets", "that found the queue full, had no channel or cannot be sent"),
    of("cells_in", "cells", "that came"),
    of("cells_in_vain", "cells", "that came of PDUs that were not delivered (AAL5)"),
    of("pdus_in", "PDUs", "delivered"),
    of("crc", "PDUs", "dropped for their CRC (AAL5)"),
    of("length", "PDUs", "dropped for a wrong length, mostly since a cell was lost"),
    of("cpi", "PDUs", "dropped for their CPI"),
    of("abort", "PDUs", "that the sender gave up"),
    of("oversize", "PDUs", "longer than allowed"),
    of("timeout", "PDUs", "that stood still in reassembly for too long"),
    of("no_context", "cells", "dropped because too many PDUs were in reassembly"),
    of("sar_crc", "cells", "dropped for their CRC (AAL3/4)"),
    of("sar_length", "cells", "with a length that such a segment cannot have (AAL3/4)"),
    of("stray", "cells", "that belong to no PDU in reassembly (AAL3/4)"),
    of("sequence", "PDUs", "of which a cell is missing or too many (AAL3/4)"),
    of("unfinished", "PDUs", "whose successor began under their MID (AAL3/4)"),
    of("tag", "PDUs", "whose ends do not belong together (AAL3/4)"),
    of("ba_size", "PDUs", "longer than they had promised (AAL3/4)"),
    of("alignment", "PDUs", "with a wrong alignment field (AAL3/4)"),
    of("strangers", "units", "that do not belong at their port"),
    of("busy_ns", "nanoseconds", "that the slots took in which a cell went"),
    of("rm_forward", "RM cells", "sent forward (ABR)"),
    of("rm_backward", "RM cells", "sent back (ABR)"),
    of("rm_out_of_rate", "RM cells", "sent out of rate (ABR)"),
    of("rm_in", "RM cells", "that came (ABR)"),
    of("rm_congested", "RM cells", "of these that came back with CI (ABR)"),
    of("rm_overwritten", "RM cells", "that came before the one before them had been sent back (ABR)"),
    of("rm_wrong", "RM cells", "damaged, or of another protocol (ABR)"),
];

const CELLS: [CounterMeaning; 4] = [
    of("forward", "cells", "from the first of the line's ends to the second"),
    of("backward", "cells", "from the second to the first"),
    of("cells", "cells", "seen, `a_` or `b_` in front"),
    of("pdus", "PDUs", "whose last cell was seen, `a_` or `b_` in front"),
];

const ATM_SWITCH: [CounterMeaning; 11] = [
    of("cells_in", "cells", "that came"),
    of("cells_out", "cells", "that left"),
    of("unknown", "cells", "of no connection"),
    of("drops", "cells", "dropped for any of the next three reasons"),
    of("overflow", "cells", "for which the queue had no room"),
    of("epd", "cells", "of packets that were dropped whole before the queue was full (early packet discard)"),
    of("ppd", "cells", "of packets of which a cell had been dropped (partial packet discard)"),
    of("efci", "cells", "marked with EFCI"),
    of("busy_ns", "nanoseconds", "that the slots took in which a cell went"),
    of("rm", "RM cells", "that came, where sources of ABR are told something"),
    of("rm_marked", "RM cells", "of these that told sources to slow down"),
];

const RING: [CounterMeaning; 15] = [
    of("frames", "frames", "sent"),
    of("octets", "octets", "of the ring that these took"),
    of("drops", "frames", "given up, or malformed"),
    of("marks", "frames", "marked for congestion (ECN CE)"),
    of("busy_ns", "nanoseconds", "in which anybody sent; of a station, in which it did"),
    of("tokens", "tokens", "held"),
    of("late", "tokens", "passed on though there were frames: they had come late"),
    of("longest_rotation_ns", "nanoseconds", "the longest between two tokens at one station, since the start"),
    of("ttrt_ns", "nanoseconds", "the target token rotation time"),
    of("copied", "frames", "that came back copied by their receiver"),
    of("unknown", "frames", "that came back with an address that no station has"),
    of("strangers", "units", "that are no frames"),
    of("overlimit", "frames", "as of lines with frames"),
    of("new_flows", "times", "as of lines with frames"),
    of("sparse_frames", "frames", "as of lines with frames"),
];

const SWITCH: [CounterMeaning; 15] = [
    of("frames_in", "frames", "that came"),
    of("forwarded", "frames", "of these that went to one port"),
    of("flooded", "frames", "that went to all other ports"),
    of("filtered", "frames", "whose destination is at the port that they came by"),
    of("reserved", "frames", "for the switch itself"),
    of("short", "frames", "too short"),
    of("long", "frames", "too long"),
    of("no_station", "frames", "from what is the address of no station"),
    of("copies", "frames", "that left"),
    of("dropped", "frames", "for which the line of their port had no room"),
    of("learned", "stations", "that became known"),
    of("moved", "stations", "that were then found at another port"),
    of("aged", "stations", "forgotten after a silence"),
    of("table_full", "frames", "from stations for which the table had no room"),
    of("strangers", "units", "that are no frames"),
];

const EXCHANGE: [CounterMeaning; 13] = [
    of("calls", "calls", "that came"),
    of("connected", "calls", "that were answered"),
    of("busy", "calls", "to who was busy"),
    of("no_answer", "calls", "without an answer"),
    of("refused", "calls", "that were refused"),
    of("unobtainable", "calls", "to an unassigned number"),
    of("abandoned", "calls", "that the caller gave up"),
    of("cleared", "calls", "that the network cleared"),
    of("frames", "frames", "delivered"),
    of("octets", "octets", "in these"),
    of("lost", "frames", "for which no circuit stood long enough"),
    of("stood_ns", "nanoseconds", "that circuits stood, all together"),
    of("strangers", "units", "that are neither frames nor calls, and calls that cannot be where they come"),
];

/// What the counter `name` of `place` is a number of; `None` of a name that nothing counts under.
#[must_use]
pub fn unit_of_counter(place: &str, name: &str) -> Option<&'static str> {
    if name.starts_with(DROPPED) && !ADAPTER.iter().any(|counter| counter.name == name) {
        return Some("messages");
    }
    let is_port = place.rsplit('.').next().is_some_and(|port| port.parse::<u32>().is_ok());
    let is_of_host = place.contains('.') && !place.contains(TO) && !is_port;
    let bare = name.strip_prefix("a_").or_else(|| name.strip_prefix("b_")).unwrap_or(name);
    let is_own = |group: &&CounterGroup| match group.of {
        "ATM switches" if is_port => true,
        "What a line does to its packets or cells" => place.contains(TO),
        _ => !is_port && !place.contains(TO) && group.place.starts_with("`counters.HOST") == is_of_host,
    };
    let find = |name: &str| {
        let counters = COUNTERS.iter().filter(is_own).flat_map(|group| group.counters);
        counters.into_iter().find(|counter| counter.name == name)
    };
    // A station of a ring is called as a node of a host might be.
    let of_station = || RING.iter().find(|counter| is_of_host && counter.name == name);
    find(name).or_else(|| find(bare)).or_else(of_station).map(|counter| counter.unit)
}

/// Between the name of a line and the end towards which it impairs.
const TO: &str = " to ";
