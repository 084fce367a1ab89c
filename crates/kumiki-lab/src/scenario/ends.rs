//! The ends of loads: from what a file says to a node of its own for each.
//!
//! An end is written as `host.node`. A star stands for all members of a group (`s*.app`), and three things save writing
//! nodes that only a load needs:
//!
//! - A node of the graph that is a layer (`a.tcp`) gets a program on it.
//! - A host alone (`a`) is its one layer that the kind of load stands on: TCP or XTP for streams, UDP for datagrams,
//!   ICMP for echoes. Where it has none, that layer is put on its one IP.
//! - A program's node that another load has already gets another one beside it, on the same layers.
//!
//! Nodes that are made so are called as the load is. Readers on one transport get ports of their own, from 5001 on.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, Host, Nodes, Scenario, Workload, groups};
use kumiki_config::error::ConfigError;

/// The port of the first reader on a transport; ttcp's own.
const FIRST_PORT: u16 = 5001;

/// For each kind of load the kinds of layers it stands on, the first of which is made where a host alone is named and
/// has none.
const STANDS_ON: [(&str, &[&str]); 6] = [
    ("netperf", &["tcp", "xtp"]),
    ("ttcp", &["tcp", "xtp"]),
    ("rpc", &["tcp"]),
    ("udp", &["udp"]),
    ("rtp", &["udp"]),
    ("ping", &["icmp"]),
];

/// The kinds of layers that tell their users apart by ports.
const WITH_PORTS: [&str; 3] = ["tcp", "udp", "xtp"];

/// The kind of load that has no program at its other end.
pub(super) const PING: &str = "ping";

/// The kind of load of which nothing runs.
const LIMIT: &str = "limit";

/// Gives each end of each load a node of its own, and each reader a port.
pub(super) fn settle(scenario: &mut Scenario) -> Result<(), ConfigError> {
    let names: Vec<String> = scenario.load.keys().cloned().collect();
    let mut taken = BTreeSet::new();
    for name in &names {
        // What no load is called is told by who checks the scenario.
        let known = scenario.load.get(name).filter(|load| Workload::KINDS.contains(&load.kind.as_str()));
        let Some(mut load) = known.cloned() else {
            continue;
        };
        let kind = load.kind.clone();
        for (key, ends) in [("from", &mut load.from), ("to", &mut load.to)] {
            *ends = all_of(ends, &scenario.host).map_err(|fault| fault.under(&["load", name, key]))?;
        }
        let writes: BTreeSet<&String> = load.from.0.iter().collect();
        if let Some(end) = load.to.0.iter().find(|end| writes.contains(end)) {
            let fault = ConfigError::at(["load", name, "to"], format!("{end:?} writes, and cannot read as well"));
            return Err(fault.expected("another host, or another program"));
        }
        for (key, ends) in [("from", &mut load.from), ("to", &mut load.to)] {
            let under = |fault: ConfigError| fault.under(&["load", name, key]);
            let at = End { load: name, kind: &kind, key };
            for end in &mut ends.0 {
                *end = at.node(end, scenario, &mut taken).map_err(under)?;
            }
        }
        if let Some(own) = scenario.load.get_mut(name) {
            *own = load;
        }
    }
    ports(scenario)?;
    files(scenario)
}

/// Of something that is said of the layer `layer` of the host `name`, which lacks it: that loads put one there where
/// they need it, and none does. Nothing of layers that no load makes.
pub(super) fn not_needed(scenario: &Scenario, name: &str, layer: &str) -> Option<ConfigError> {
    STANDS_ON.iter().find(|(_, layers)| layers.first() == Some(&layer))?;
    let host = scenario.host.get(name)?;
    if host.graph.as_ref()?.nodes().into_iter().any(|node| host.kind_of(node) == layer) {
        return None;
    }
    let group = name.trim_end_matches(|it: char| it.is_ascii_digit());
    let has_it = |host: &Host| host.graph.as_ref().is_some_and(|graph| graph.nodes().contains(&layer));
    let others = scenario.host.iter().filter(|(other, _)| groups::is_member(other, group));
    let others: Vec<&str> = others.filter(|(_, host)| has_it(host)).map(|(other, _)| other.as_str()).collect();
    let lacks = format!("{name} has no {layer:?}, since no load needs one there");
    let fault = |problem: String| ConfigError::at(["host", name, layer], problem);
    let Some(other) = others.first().filter(|_| groups::is_member(name, group)) else {
        return Some(fault(lacks).expected(format!("a load that does, or a graph with {layer:?}")));
    };
    let problem = format!("{lacks}; of the group {group} it is at {}", others.join(", "));
    Some(fault(problem).expected(format!("it at those alone, such as host.{other}.{layer}, or a graph with {layer:?}")))
}

/// `ends` with the members of groups in the place of stars.
fn all_of(ends: &Nodes, hosts: &BTreeMap<String, Host>) -> Result<Nodes, ConfigError> {
    let mut all = Vec::new();
    for end in &ends.0 {
        let (host, node) = end.split_once('.').map_or((end.as_str(), None), |(host, node)| (host, Some(node)));
        let Some(group) = host.strip_suffix('*') else {
            all.push(end.clone());
            continue;
        };
        let members = hosts.keys().filter_map(|name| Some((groups::number(name, group)?, name)));
        let members: BTreeMap<u32, &String> = members.collect();
        if members.is_empty() {
            let problem = format!("no host is called {group:?} and a number");
            return Err(ConfigError::new(problem).expected("a host with `count`, which stands for so many"));
        }
        all.extend(members.values().map(|host| match node {
            Some(node) => format!("{host}.{node}"),
            None => (*host).clone(),
        }));
    }
    let mut seen = BTreeSet::new();
    match all.iter().find(|end| !seen.insert(*end)) {
        Some(twice) => Err(ConfigError::new(format!("{twice:?} is there twice"))),
        None => Ok(Nodes(all)),
    }
}

/// An end of a load.
struct End<'a> {
    load: &'a str,
    kind: &'a str,
    key: &'a str,
}

impl End<'_> {
    /// The node for `end`, made where that must be.
    fn node(&self, end: &str, scenario: &mut Scenario, taken: &mut BTreeSet<String>) -> Result<String, ConfigError> {
        let (name, node) = end.split_once('.').map_or((end, None), |(host, node)| (host, Some(node)));
        // What is not there is told by who checks the scenario.
        let Some(host) = scenario.host.get_mut(name).filter(|host| host.graph.is_some()) else {
            return Ok(end.to_owned());
        };
        let answers = self.kind == PING && self.key == "to";
        let below = match node {
            None => vec![self.layer(name, host)?],
            Some(_) if answers || self.kind == LIMIT => return Ok(end.to_owned()),
            Some(node) if !host.graph.as_ref().is_some_and(|graph| graph.nodes().contains(&node)) => {
                return Ok(end.to_owned());
            }
            Some(node) if is_layer(host, node) => vec![node.to_owned()],
            Some(_) if taken.insert(end.to_owned()) => return Ok(end.to_owned()),
            Some(node) => below(host, node),
        };
        if answers {
            return Ok(format!("{name}.{}", below.first().map_or("", String::as_str)));
        }
        let own = free_name(host, self.load);
        // What a profile says of programs it says by the names that they have there.
        let kind = node.filter(|node| !is_layer(host, node)).map(|node| host.kind_of(node).to_owned());
        // A load may be called as a protocol is, and is none.
        let kind = kind.or_else(|| Some(if self.kind == "udp" { "datagrams" } else { self.kind }.to_owned()));
        add(host, &own, below);
        if let Some(kind) = kind.filter(|kind| *kind != own) {
            host.kind.insert(own.clone(), kind);
        }
        let end = format!("{name}.{own}");
        taken.insert(end.clone());
        Ok(end)
    }

    /// The layer of `host`, called `name`, that the load stands on.
    fn layer(&self, name: &str, host: &mut Host) -> Result<String, ConfigError> {
        let known = STANDS_ON.iter().find(|(kind, _)| *kind == self.kind);
        let Some((_, kinds)) = known else {
            return Err(ConfigError::new("a host alone").expected("\"host.node\""));
        };
        let (wanted, ip) = (of_kind(host, kinds), of_kind(host, &["ip"]));
        let tell = |layers: &[String]| {
            layers.iter().map(|layer| format!("\"{name}.{layer}\"")).collect::<Vec<_>>().join(" or ")
        };
        match (wanted.as_slice(), ip.as_slice(), kinds) {
            ([only], ..) => Ok(only.clone()),
            ([], [ip], [kind, ..]) => {
                let own = free_name(host, kind);
                add(host, &own, vec![ip.clone()]);
                if own != *kind {
                    host.kind.insert(own.clone(), (*kind).to_owned());
                }
                Ok(own)
            }
            ([], ..) => {
                let problem = format!("host {name} has no layer {} and not one `ip` to put it on", kinds.join(" or "));
                Err(ConfigError::new(problem).expected("\"host.node\""))
            }
            (several, ..) => {
                Err(ConfigError::new(format!("host {name} has several layers for it")).expected(tell(several)))
            }
        }
    }
}

/// Whether `node` is a protocol's, and no program's.
fn is_layer(host: &Host, node: &str) -> bool {
    let kind = host.kind_of(node);
    kumiki_stack::kinds().any(|known| known == kind)
}

/// The layers of `host` of one of these kinds, by name.
fn of_kind(host: &Host, kinds: &[&str]) -> Vec<String> {
    let nodes = host.graph.as_ref().map(Graph::nodes).unwrap_or_default();
    let is_one = |node: &&str| kinds.contains(&host.kind_of(node));
    nodes.into_iter().filter(is_one).map(str::to_owned).collect()
}

fn below(host: &Host, node: &str) -> Vec<String> {
    let layers = host.graph.as_ref().map(|graph| graph.below(node)).unwrap_or_default();
    layers.into_iter().map(str::to_owned).collect()
}

/// `wanted`, or that with a number behind it, where a node is called so already, or is the usual name of what else
/// counts something at a host.
fn free_name(host: &Host, wanted: &str) -> String {
    let nodes = host.graph.as_ref().map(Graph::nodes).unwrap_or_default();
    let numbered = (2_u32..).map(|number| format!("{wanted}-{number}"));
    let mut names = core::iter::once(wanted.to_owned()).chain(numbered);
    let is_free = |name: &String| !nodes.contains(&name.as_str()) && name != "cpu";
    names.find(is_free).unwrap_or_default()
}

/// Puts the node `name` on the layers `below`.
fn add(host: &mut Host, name: &str, below: Vec<String>) {
    let Some(graph) = &mut host.graph else {
        return;
    };
    match graph {
        Graph::Chain(chain) if chain.first() == below.first() && below.len() == 1 => chain.insert(0, name.to_owned()),
        Graph::Chain(chain) => {
            let pairs = chain.iter().zip(chain.iter().skip(1));
            let mut all: BTreeMap<String, Vec<String>> =
                pairs.map(|(upper, lower)| (upper.clone(), vec![lower.clone()])).collect();
            all.insert(name.to_owned(), below);
            *graph = Graph::Below(all);
        }
        Graph::Below(all) => drop(all.insert(name.to_owned(), below)),
    }
}

/// Gives each load a port that no other reader on the same transport has.
fn ports(scenario: &mut Scenario) -> Result<(), ConfigError> {
    let Scenario { host: hosts, load: loads, .. } = scenario;
    let mut taken: BTreeSet<(String, u16)> = BTreeSet::new();
    // Those that are given come first.
    let mut names: Vec<String> = loads.keys().cloned().collect();
    names.sort_by_key(|name| loads.get(name).is_none_or(|load| load.port.is_none()));
    for name in names {
        let Some(load) = loads.get_mut(&name).filter(|load| load.kind != LIMIT && load.kind != PING) else {
            continue;
        };
        // Several readers of one load on one transport are refused elsewhere.
        let transports: BTreeSet<String> = load.to.0.iter().filter_map(|to| transport(hosts, to)).collect();
        let has_ports = |transport: &String| {
            let (host, node) = transport.split_once('.').unwrap_or_default();
            hosts.get(host).is_some_and(|host| WITH_PORTS.contains(&host.kind_of(node)))
        };
        // Where there are none, all are the same one.
        let slot = |transport: &String, port| (transport.clone(), if has_ports(transport) { port } else { 0 });
        let is_free = |port: &u16| !transports.iter().any(|it| taken.contains(&slot(it, *port)));
        let first = load.port.unwrap_or(FIRST_PORT);
        let last = load.port.unwrap_or(u16::MAX);
        let Some(port) = (first..=last).find(is_free) else {
            let (key, expected) =
                if load.port.is_some() { ("port", "another port") } else { ("to", "a transport for each") };
            let problem = "another load's reader listens on the same port of the same transport";
            return Err(ConfigError::at(["load", &name, key], problem).expected(expected));
        };
        taken.extend(transports.iter().map(|transport| slot(transport, port)));
        load.port = Some(port);
    }
    Ok(())
}

/// Who is asked for files listens on one port (RFC 1006), on which another `tpkt` of the same TCP cannot.
fn files(scenario: &Scenario) -> Result<(), ConfigError> {
    let mut listening: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for (name, load) in scenario.load.iter().filter(|(_, load)| load.kind == "ftam") {
        let (key, asked) = if load.way.as_deref() == Some("get") { ("from", &load.from) } else { ("to", &load.to) };
        for (host_name, node) in asked.0.iter().filter_map(|end| end.split_once('.')) {
            let Some((host, graph)) = scenario.host.get(host_name).and_then(|host| Some((host, host.graph.as_ref()?)))
            else {
                continue;
            };
            let (mut nodes, mut seen) = (vec![node], BTreeSet::from([node]));
            while let Some(node) = nodes.pop() {
                let below = graph.below(node);
                if host.kind_of(node) != "tpkt" {
                    nodes.extend(below.into_iter().filter(|it| seen.insert(*it)));
                    continue;
                }
                for tcp in below {
                    let other = *listening.entry((host_name, tcp)).or_insert(node);
                    if other != node {
                        let problem =
                            format!("{node} would listen on the port of {host_name}.{tcp} on which {other} does (102)");
                        let fault = ConfigError::at(["load", name, key], problem);
                        return Err(fault.expected(format!("a program above {other}, or a TCP below {node} alone")));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The layer right below the node `end`, as `host.node`.
fn transport(hosts: &BTreeMap<String, Host>, end: &str) -> Option<String> {
    let (host, node) = end.split_once('.')?;
    let below = hosts.get(host)?.graph.as_ref()?.below(node);
    Some(format!("{host}.{}", below.first()?))
}

#[cfg(test)]
mod tests {
    use crate::scenario::groups::tests::read;
    use crate::scenario::{Graph, Scenario};

    const TWO: &str = r#"
title = "Two"
host.a = { graph = ["app", "tcp", "ip", "l0"] }
host.b = { like = "a" }
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "1 Mb/s" }
load.bulk = { kind = "netperf", from = "a.app", to = "b.app", message = "8 KiB" }
run.duration = "1 s"
"#;

    fn with(load: &str) -> Result<Scenario, String> {
        read(&format!("{TWO}load.more = {{ {load}, message = \"100 B\" }}"), &[])
    }

    fn graph(scenario: &Scenario, host: &str) -> Vec<(String, String)> {
        let graph = scenario.host[host].graph.as_ref().unwrap();
        let pairs = graph.nodes().into_iter().flat_map(|node| graph.below(node).into_iter().map(move |it| (node, it)));
        let mut pairs: Vec<_> = pairs.map(|(upper, lower)| (upper.to_owned(), lower.to_owned())).collect();
        pairs.sort();
        pairs
    }

    #[test]
    fn a_second_load_on_a_node_gets_one_beside_it_and_a_port_of_its_own() {
        let scenario = with("kind = \"netperf\", from = \"a.app\", to = \"b.app\"").unwrap();
        let (bulk, more) = (&scenario.load["bulk"], &scenario.load["more"]);
        assert_eq!((more.from.0[0].as_str(), more.to.0[0].as_str()), ("a.more", "b.more"));
        assert_eq!((bulk.port, more.port), (Some(5001), Some(5002)));
        let pairs = [("app", "tcp"), ("ip", "l0"), ("more", "tcp"), ("tcp", "ip")];
        assert_eq!(graph(&scenario, "a"), pairs.map(|(upper, lower)| (upper.to_owned(), lower.to_owned())));
        // What a profile says of `app` holds for it too.
        assert_eq!(scenario.host["a"].kind["more"], "app");
    }

    #[test]
    fn a_host_alone_is_the_layer_that_the_load_stands_on() {
        for (kind, layer) in [("netperf", "tcp"), ("udp\", rate = \"1 Mb/s", "udp"), ("ping", "icmp")] {
            let scenario = with(&format!("kind = \"{kind}\", from = \"b\", to = \"a\"")).unwrap();
            assert_eq!(scenario.load["more"].from.0, ["b.more"]);
            let below = scenario.host["b"].graph.as_ref().map(|graph| graph.below("more"));
            assert_eq!(below, Some(vec![layer]), "{kind}");
            let answers = scenario.host["a"].graph.as_ref().map(Graph::nodes).unwrap_or_default();
            assert!(answers.contains(&layer), "{answers:?}");
        }
    }

    #[test]
    fn two_of_rfc_1006_on_one_tcp_cannot_both_be_asked_for_files() {
        let stack = |user: &str, number: u8| {
            let layers = [user, "ftam", "acse", "presentation", "session", "tp0", "tpkt"];
            let names = layers.map(|layer| format!("{layer}{number}"));
            let below = names[1..].iter().map(String::as_str).chain(["tcp"]);
            let graph: Vec<String> =
                names.iter().zip(below).map(|(own, below)| format!("{own} = [\"{below}\"]")).collect();
            let kinds: Vec<String> =
                names.iter().zip(layers).map(|(own, kind)| format!("{own} = \"{kind}\"")).collect();
            (graph.join(", "), kinds.join(", "))
        };
        let host = |user: &str| {
            let ((one, one_kind), (two, two_kind)) = (stack(user, 1), stack(user, 2));
            format!(
                "{{ graph = {{ {one}, {two}, tcp = [\"ip\"], ip = [\"l0\"] }}, kind = {{ {one_kind}, {two_kind} }} }}"
            )
        };
        let text = |other: &str| {
            format!(
                r#"
title = "Files"
host.a = {a}
host.b = {b}
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "1 Mb/s" }}
load.one = {{ kind = "ftam", from = "a.ftam_user1", to = "b.ftam_keeper1", message = "8 kB", file = "1 MB" }}
{other}
run.duration = "1 s"
"#,
                a = host("ftam_user"),
                b = host("ftam_keeper")
            )
        };
        read(&text(""), &[]).unwrap();
        let put = r#"load.two = { kind = "ftam", from = "a.ftam_user2", to = "b.ftam_keeper2", message = "8 kB", file = "1 MB" }"#;
        let refused = read(&text(put), &[]).unwrap_err();
        let words = "load.two.to = \"b.ftam_keeper2\": tpkt2 would listen on the port of b.tcp on which tpkt1 does (102); expected";
        assert!(refused.contains(words), "{refused}");
    }

    #[test]
    fn ends_that_mean_nothing_or_too_much_are_refused() {
        for (load, words) in [
            (
                "kind = \"ftam\", from = \"a\", to = \"b\"",
                "load.more.from = \"a\": a host alone; expected \"host.node\"",
            ),
            ("kind = \"netperf\", from = \"c\", to = \"b\"", "load.more.from = \"c\""),
            (
                "kind = \"netperf\", from = [\"a.app\", \"b.app\"], to = [\"a\", \"b\", \"a.ip\"]",
                "3 readers for 2 writers",
            ),
        ] {
            let found = with(load).unwrap_err();
            assert!(found.contains(words), "{found}");
        }
        let own = "kind = \"netperf\", port = 5001, from = \"a\", to = \"b\"";
        assert_eq!(with(own).unwrap().load["bulk"].port, Some(5002), "what is given comes first");
        let text =
            format!("{TWO}load.more = {{ {own}, message = \"1 B\" }}").replace("b.app\"", "b.app\", port = 5001");
        let found = read(&text, &[]).unwrap_err();
        assert!(found.contains("load.more.port = 5001: another load's reader listens on the same port"), "{found}");
    }
    #[test]
    fn a_layer_that_no_load_needs_is_told_as_that() {
        let text = r#"
title = "Two of three"
host.s = { count = 3, graph = ["ip", "l0"] }
host.r.graph = { ip = ["l0", "l1", "l2"] }
host.r.ip.forwarding = true
link.in = { count = 3, ends = ["s${i}", "r.l${i}"], medium = "point-to-point", rate = "1 Mb/s" }
load.bulk = { kind = "netperf", from = "s0", to = "s1", message = "8 KiB" }
run.duration = "1 s"
"#;
        assert!(read(text, &["host.s0.tcp.ecn=off"]).is_ok());
        let found = read(text, &["host.s.tcp.ecn=off"]).unwrap_err();
        let of_group = "host.s2.tcp: s2 has no \"tcp\", since no load needs one there; of the group s it is at s0, s1; expected it at those alone, such as host.s0.tcp, or a graph with \"tcp\"";
        assert!(found.contains(of_group), "{found}");
        let found = read(text, &["host.r.udp.queue=3"]).unwrap_err();
        let alone = "host.r.udp: r has no \"udp\", since no load needs one there; expected a load that does, or a graph with \"udp\"";
        assert!(found.contains(alone), "{found}");
        // One of another name is there.
        let found = read(
            &TWO.replace("\"tcp\"", "\"t\"")
                .replace("b = {", "b = { kind.t = \"tcp\", tcp.ecn = \"off\",")
                .replace("a = {", "a = { kind.t = \"tcp\","),
            &[],
        )
        .unwrap_err();
        assert!(found.contains("unknown layer \"tcp\""), "{found}");
    }
}
