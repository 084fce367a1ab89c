//! Programs whose measurement begins, and the connections below them.

use std::collections::BTreeMap;

use kumiki_graph::Address;
use kumiki_inet::tcp::Tcp;
use kumiki_sim::{HostId, World};

use super::load::Load;
use crate::workload::{Ping, RpcClient, Sink, UdpSink, UdpSource};

/// Tells the programs of `loads`, and TCP on their hosts, that what was so far is not measured. They go on as they
/// would.
pub(super) fn begin(world: &mut World, hosts: &BTreeMap<String, HostId>, loads: &BTreeMap<String, Load>) {
    let now = world.now();
    for load in loads.values().filter(|load| !load.is_measured_whole()) {
        // What each peer of a reader of datagrams had sent. Who writes comes first.
        let mut sent: BTreeMap<Address, u64> = BTreeMap::new();
        for (host, node) in load.from.iter().chain(&load.to) {
            let Some(host) = hosts.get(host).and_then(|id| world.host_mut(*id)) else {
                continue;
            };
            let nodes: Vec<String> = host.graph.accounts().map(|(name, _)| name.to_owned()).collect();
            for name in nodes {
                let tcp = host.graph.node(&name).and_then(|node| host.graph.protocol_mut::<Tcp>(node));
                tcp.into_iter().for_each(Tcp::measure_from_here);
            }
            let Some(node) = host.graph.node(node) else {
                continue;
            };
            if let Some(sink) = host.graph.protocol_mut::<Sink>(node) {
                sink.measure_from(now);
            } else if let Some(source) = host.graph.protocol_mut::<UdpSource>(node) {
                source.begin_measurement();
                sent.extend(source.sent().map(|it| (it.local, it.before)));
            } else if let Some(sink) = host.graph.protocol_mut::<UdpSink>(node) {
                sink.measure_from(now, sent.clone());
            } else if let Some(ping) = host.graph.protocol_mut::<Ping>(node) {
                ping.measure_from(now);
            } else if let Some(client) = host.graph.protocol_mut::<RpcClient>(node) {
                client.measure_from(now);
            }
        }
    }
}
