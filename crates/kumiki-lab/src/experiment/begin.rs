//! Programs whose measurement begins.

use std::collections::BTreeMap;

use kumiki_sim::{HostId, World};

use super::programs::Load;
use crate::workload::{RpcClient, Sink, UdpSink};

/// Tells the programs of `loads` that what was so far is not measured. They go on as they would.
pub(super) fn begin(world: &mut World, hosts: &BTreeMap<String, HostId>, loads: &BTreeMap<String, Load>) {
    let now = world.now();
    for load in loads.values().filter(|load| !load.is_measured_whole()) {
        for (host, node) in load.from.iter().chain(&load.to) {
            let Some(host) = hosts.get(host).and_then(|id| world.host_mut(*id)) else {
                continue;
            };
            let Some(node) = host.graph.node(node) else {
                continue;
            };
            if let Some(sink) = host.graph.protocol_mut::<Sink>(node) {
                sink.measure_from(now);
            } else if let Some(sink) = host.graph.protocol_mut::<UdpSink>(node) {
                sink.measure_from(now);
            } else if let Some(client) = host.graph.protocol_mut::<RpcClient>(node) {
                client.measure_from(now);
            }
        }
    }
}
