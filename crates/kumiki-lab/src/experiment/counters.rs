//! What every part of the world counted, as result rows have it.

use std::collections::BTreeMap;

use kumiki_graph::{Account, Pool};
use kumiki_inet::tcp::Tcp;
use kumiki_sim::{Host, World};
use kumiki_xtp::Xtp;

use crate::rows::{Counters, DROPPED};
use crate::workload::UdpSink;
use crate::workload::rtp::Reception;

mod meanings;

pub use meanings::{COUNTERS, CounterGroup, CounterMeaning, unit_of_counter};

/// What every node of a graph counts, and nothing else does.
pub(crate) const OF_NODE: &str = "messages_down";

/// What is known of streams of RTP.
const RTP_EXPECTED: &str = "expected";
const RTP_RECEIVED: &str = "received";
const RTP_LOST: &str = "lost";

/// All counters, by `host.part`, by the medium's name, or by that and the number of a port.
pub(super) fn of(world: &World) -> Counters {
    let mut all = Counters::new();
    for host in world.replaced().chain(world.hosts()) {
        let mut add = |part: &str, counts: BTreeMap<String, u64>| {
            join(all.entry(format!("{}.{part}", host.name)).or_default(), counts);
        };
        for (node, account) in host.graph.accounts() {
            let mut counts = of_account(&account);
            counts.extend(of_tcp(host, node));
            counts.extend(of_xtp(host, node));
            counts.extend(of_rtp(host, node));
            add(node, counts);
        }
        for (device, adapter) in host.adapters() {
            add(
                device,
                named([
                    ("sent", adapter.sent),
                    ("received", adapter.received),
                    ("dropped, queue full", adapter.queue_full),
                    ("dropped, no page", adapter.no_page),
                    ("queue_high_water", adapter.queue_high_water as u64),
                ]),
            );
        }
        for (pool, name) in [(Pool::Send, "send memory"), (Pool::Receive, "receive memory")] {
            if let Some(ledger) = host.graph.ledger_ref(pool) {
                add(
                    name,
                    named([
                        ("clusters", ledger.pages().clusters.into()),
                        ("high_water", ledger.high_water as u64),
                        ("refusals", ledger.refusals),
                    ]),
                );
            }
        }
        for (cpu, counters) in host.cpus() {
            add(
                cpu,
                named([
                    ("busy_us", counters.busy.as_nanos() / 1_000),
                    ("switches", counters.switches),
                    ("interrupts", counters.interrupts),
                ]),
            );
        }
    }
    for (medium, counters) in world.media() {
        let counts = counters.into_iter().map(|(name, count)| (name.to_owned(), count));
        all.insert(medium.to_owned(), counts.collect());
    }
    for (medium, port, counters) in world.ports() {
        let counts = counters.into_iter().map(|(name, count)| (name.to_owned(), count));
        all.insert(format!("{medium}.{port}"), counts.collect());
    }
    all
}

/// What is no count, such as a highest value.
const NO_COUNTS: [&str; 6] =
    ["jitter_us", "queue_high_water", "high_water", "clusters", "longest_rotation_ns", "ttrt_ns"];

/// Adds what a part counted to what it had counted before its host started over.
fn join(all: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (name, count) in more {
        let is_count = !NO_COUNTS.contains(&name.as_str());
        let own = all.entry(name).or_default();
        *own = if is_count { own.saturating_add(count) } else { count.max(*own) };
    }
}

/// What was counted between two moments. What is no count, such as a highest value, is that of the second.
pub(super) fn since(before: &Counters, after: &Counters) -> Counters {
    let part = |(place, counts): (&String, &BTreeMap<String, u64>)| {
        let earlier = before.get(place);
        let count = |(name, count): (&String, &u64)| {
            let earlier = earlier.and_then(|counts| counts.get(name)).filter(|_| !NO_COUNTS.contains(&name.as_str()));
            // What a switch promised ahead it may take back.
            (name.clone(), count.saturating_sub(earlier.copied().unwrap_or(0)))
        };
        let mut counts: BTreeMap<String, u64> = counts.iter().map(count).collect();
        // What was overtaken is lost until it comes, so what was lost is no count: it follows from what are (RFC 3550,
        // A.3).
        if let (Some(expected), Some(received)) = (counts.get(RTP_EXPECTED), counts.get(RTP_RECEIVED)) {
            counts.insert(RTP_LOST.to_owned(), expected.saturating_sub(*received));
        }
        (place.clone(), counts)
    };
    after.iter().map(part).collect()
}

fn named<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.map(|(name, count)| (name.to_owned(), count)).into()
}

fn of_account(account: &Account) -> BTreeMap<String, u64> {
    let mut counts = named([
        (OF_NODE, account.down.messages),
        ("octets_down", account.down.octets),
        ("messages_up", account.up.messages),
        ("octets_up", account.up.octets),
        ("copied_octets", account.copied),
        ("summed_octets", account.summed),
        ("timers", account.timers),
        ("calls", account.calls),
        ("wakes", account.wakes),
        ("session_switches", account.switches),
        ("mapped_pages", account.mapped),
        ("busy_us", account.busy.as_nanos() / 1_000),
    ]);
    let drops = account.drops.iter();
    counts.extend(drops.map(|(reason, count)| (format!("{DROPPED}{reason}"), *count)));
    counts
}

/// What came of streams of RTP, all of a node together; of jitter the greatest.
fn of_rtp(host: &Host, node: &str) -> Vec<(String, u64)> {
    let sink = host.graph.node(node).and_then(|node| host.graph.protocol::<UdpSink>(node));
    let all: Vec<&Reception> = sink.into_iter().flat_map(UdpSink::receptions).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let sum = |of: fn(&Reception) -> u64| all.iter().map(|it| of(it)).sum();
    [
        (RTP_EXPECTED, sum(Reception::expected)),
        (RTP_RECEIVED, sum(Reception::received)),
        (RTP_LOST, sum(Reception::lost)),
        ("late", sum(Reception::late)),
        ("jitter_us", all.iter().map(|it| it.jitter_us()).max().unwrap_or(0)),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .into()
}

fn of_xtp(host: &Host, node: &str) -> Vec<(String, u64)> {
    let xtp = host.graph.node(node).and_then(|node| host.graph.protocol::<Xtp>(node));
    let Some(counters) = xtp.map(Xtp::counters) else {
        return Vec::new();
    };
    [
        ("data_sent", counters.data_sent),
        ("data_received", counters.data_received),
        ("control_sent", counters.control_sent()),
        ("control_received", counters.control_received),
        ("ecntl_sent", counters.ecntl_sent),
        ("jcntl_sent", counters.jcntl_sent),
        ("sreq_sent", counters.sreq_sent),
        ("samples", counters.samples),
        ("repeated", counters.repeated),
        ("handshakes", counters.handshakes),
        ("probes", counters.probes),
        ("retransmitted", counters.retransmitted),
        ("duplicates", counters.duplicates),
        ("no_room", counters.no_room),
        ("out_of_memory", counters.out_of_memory),
        ("passed_over", counters.passed_over),
        ("malformed", counters.malformed),
        ("lies", counters.lies),
        ("strays", counters.strays),
        ("joined", counters.joined),
        ("joined_late", counters.joined_late),
        ("left", counters.left),
        ("put_out", counters.put_out),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .into()
}

fn of_tcp(host: &Host, node: &str) -> Vec<(String, u64)> {
    let tcp = host.graph.node(node).and_then(|node| host.graph.protocol::<Tcp>(node));
    let Some(counters) = tcp.map(Tcp::counters) else {
        return Vec::new();
    };
    let list = [
        ("segments_sent", counters.segments_sent),
        ("segments_received", counters.segments_received),
        ("retransmissions", counters.retransmissions),
        ("fast_retransmits", counters.fast_retransmits),
        ("rack_lost", counters.rack_lost),
        ("loss_probes", counters.loss_probes),
        ("probes_repaired", counters.probes_repaired),
        ("too_bigs", counters.too_bigs),
        ("path_probes", counters.path_probes),
        ("path_probes_lost", counters.path_probes_lost),
        ("black_holes", counters.black_holes),
        ("spurious_recoveries", counters.spurious_recoveries),
        ("spurious_timeouts", counters.spurious_timeouts),
        ("timeouts", counters.timeouts),
        ("duplicate_acks", counters.duplicate_acks),
        ("new_acks", counters.new_acks),
        ("flight_at_acks", counters.flight_at_acks),
        ("segments_acknowledged", counters.segments_acknowledged),
        ("acknowledgment_wait_us", counters.acknowledgment_wait_us),
        ("acks_by_timer", counters.acks_by_timer),
        ("acks_by_data", counters.acks_by_data),
        ("window_updates", counters.window_updates),
        ("window_probes", counters.window_probes),
        ("overrides", counters.overrides),
        ("buffers_grown", counters.buffers_grown),
        ("out_of_memory", counters.out_of_memory),
        ("out_of_order", counters.out_of_order),
        ("bad_checksums", counters.bad_checksums),
        ("ce_received", counters.ce_received),
        ("ecn_echoes", counters.ecn_echoes),
        ("ecn_reductions", counters.ecn_reductions),
        ("ecn_disabled", counters.ecn_disabled),
    ];
    list.map(|(name, count)| (name.to_owned(), count)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_stream_are_lost_by_what_was_expected_and_came_meanwhile() {
        let counted = |counts: [(&str, u64); 3]| Counters::from([("b.sink".to_owned(), named(counts))]);
        // Before: number 1 came first, then 0, which nobody expected any more, and 2.
        let before = counted([(RTP_EXPECTED, 2), (RTP_RECEIVED, 3), (RTP_LOST, 0)]);
        let after = counted([(RTP_EXPECTED, 12), (RTP_RECEIVED, 9), (RTP_LOST, 3)]);
        let meanwhile = counted([(RTP_EXPECTED, 10), (RTP_RECEIVED, 6), (RTP_LOST, 4)]);
        assert_eq!(since(&before, &after), meanwhile);
    }
}
