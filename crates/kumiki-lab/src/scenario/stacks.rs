//! That layers stand on what they can stand on, as far as everybody knows it: what else fits on what is told by who
//! builds them.

use super::{Graph, Host, Scenario, Workload, nearest};
use kumiki_config::error::ConfigError;

/// The kinds of layers that speak to others by what is below them.
const NEED_MORE: [&str; 6] = ["tcp", "udp", "icmp", "xtp", "ip", "ipv6"];

/// The kinds of layers that carry transports.
const NETWORK: [&str; 2] = ["ip", "ipv6"];

/// The kinds of layers that stand on these.
const TRANSPORT: [&str; 3] = ["tcp", "udp", "icmp"];

/// Looks at all graphs, before nodes and addresses are given out by them.
pub(super) fn check(scenario: &Scenario) -> Result<(), ConfigError> {
    scenario.host.iter().try_for_each(|(name, host)| of_host(name, host))
}

fn of_host(name: &str, host: &Host) -> Result<(), ConfigError> {
    let Some(graph) = &host.graph else {
        return Ok(());
    };
    let path = ["host", name, "graph"];
    for upper in graph.nodes() {
        for lower in graph.below(upper) {
            let (kind, below) = (host.kind_of(upper), host.kind_of(lower));
            if NETWORK.contains(&kind) && TRANSPORT.contains(&below) {
                let problem = format!("{upper} stands on {lower}, and it is the other way round");
                return Err(ConfigError::at(path, problem).expected(format!("{lower} above {upper}, the device last")));
            }
            if TRANSPORT.contains(&kind) && TRANSPORT.contains(&below) {
                let problem = format!("{upper} stands on {lower}, and each of them stands on an ip of its own accord");
                return Err(ConfigError::at(path, problem).expected(format!(
                    "one of them above the ip, or a table: {{ {upper} = [\"ip\"], {lower} = [\"ip\"], ip = [\"l0\"] }}"
                )));
            }
        }
    }
    // What is neither a device nor a program is a layer.
    let carries = |node: &str| graph.nodes().into_iter().any(|upper| graph.below(upper).contains(&node));
    let layers = graph.nodes().into_iter().filter(|node| !graph.below(node).is_empty() && carries(node));
    let known: Vec<&str> = kumiki_stack::kinds().collect();
    // What is like none of them may be a device in the wrong place, which is told elsewhere.
    let is_slip =
        |kind: &&str| !known.contains(kind) && !Workload::KINDS.contains(kind) && nearest(kind, &known).is_some();
    if let Some(kind) = layers.map(|node| host.kind_of(node)).find(is_slip) {
        return Err(ConfigError::unknown(path, "kind of layer", kind, &known));
    }
    let last = graph.devices().into_iter().find(|node| NEED_MORE.contains(&host.kind_of(node)));
    let Some(last) = last else {
        return Ok(());
    };
    let example = match graph {
        Graph::Chain(names) => format!("{:?}", [names.as_slice(), &["l0".to_owned()]].concat()),
        Graph::Below(_) => format!("{last} = [\"l0\"]"),
    };
    let problem = format!("nothing is below {last}, and a graph ends with a device");
    Err(ConfigError::at(path, problem).expected(format!("a name of your own for one, on which a link ends: {example}")))
}
