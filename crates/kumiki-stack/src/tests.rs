use kumiki_graph::{Duration, Graph, Service};

use super::*;

fn here<'a>() -> LowerLayers<'a> {
    LowerLayers { below: &["llc"], mtu: None }
}

fn said(kind: &str, settings: &Settings) -> String {
    match build(kind, settings, here()) {
        Ok(_) => panic!("{kind} was built"),
        Err(error) => error.to_string(),
    }
}

fn interface() -> Settings {
    Settings::new().with("address", "10.0.0.1/24")
}

fn list_of<const N: usize>(values: [impl Into<Value>; N]) -> Value {
    Value::List(values.into_iter().map(Into::into).collect())
}

#[test]
fn every_kind_is_built_by_its_name_and_the_names_are_in_order() {
    let names: Vec<&str> = kinds().collect();
    assert!(names.is_sorted());
    for kind in names {
        let settings = match kind {
            "ip" => interface(),
            "arp" | "atm_arp" | "mapos" => Settings::new().with("addresses", list_of(["10.0.0.1"])),
            "sim_ether" => Settings::new().with("address", "10.0.0.1:7000"),
            "eth" | "fddi" => Settings::new().with("address", "02:00:00:00:00:01"),
            "vnet" => Settings::new().with("addresses", list_of(["10.0.0.1/24"])),
            _ => Settings::new(),
        };
        assert!(build(kind, &settings, here()).is_ok(), "{kind}");
    }
}

#[test]
fn a_stack_of_classical_ip_is_put_together() {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    graph.add_device("atm0", Service::UNIT_DATA).unwrap();
    let neighbours = Settings::new().with("10.0.0.2", "0/100");
    let llc = interface().with("mtu", Value::Octets(9180)).with("neighbours", neighbours);
    let reassembly = Settings::new().with("timeout", Duration::from_secs(30)).with("octets", Value::Octets(1 << 20));
    let ip = Settings::new()
        .with("interface", Settings::new().with("llc", llc))
        .with("routes", Settings::new().with("default", "10.0.0.2"))
        .with("reassembly", reassembly)
        .with("ttl", 32);
    let tcp = Settings::new().with("defaults", "bsd43").with("mss", Value::Octets(9140));
    for (name, kind, settings) in [
        ("llc", "llc_snap", Settings::new()),
        ("ip", "ip", ip),
        ("udp", "udp", Settings::new().with("checksum", false)),
        ("tcp", "tcp", tcp),
    ] {
        let place = LowerLayers { below: &["llc"], mtu: Some(9180) };
        graph.add_node(name, task, build(kind, &settings, place).unwrap()).unwrap();
    }
    graph.connect("llc", "atm0").unwrap();
    graph.connect("ip", "llc").unwrap();
    graph.connect("udp", "ip").unwrap();
    graph.connect("tcp", "ip").unwrap();
    graph.start(kumiki_graph::Instant::ZERO).unwrap();
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    let none = Settings::new();
    let one = |key: &str, value: Value| Settings::new().with(key, value);
    let with = |key: &str, value: Value| interface().with(key, value);
    let octets = Value::Octets;
    let cases: Vec<(&str, Settings, &str)> = vec![
        ("llcsnap", none.clone(), "there is no protocol `llcsnap` (is `llc_snap` meant?); there are `aal34`, `aal5`"),
        ("smtp", none.clone(), "there is no protocol `smtp`; there are"),
        (
            "udp",
            one("chekcsum", true.into()),
            "`udp` has no setting `chekcsum` (is `checksum` meant?); it has `checksum`",
        ),
        ("udp", one("checksum", 1.into()), "`udp.checksum` is 1; it must be true or false"),
        ("llc_snap", one("vc", "0.100".into()), "`llc_snap.vc` is \"0.100\"; it must be a circuit \"vpi/vci\""),
        ("llc_snap", one("vc", "4096/1".into()), "must be a circuit"),
        ("vnet", none.clone(), "`vnet.addresses` is not set; it must be a list of our addresses there"),
        (
            "vnet",
            one("addresses", list_of(["10.0.0.1/33"])),
            "it must be a list, each an IP address and the length of its prefix",
        ),
        ("ip", none.clone(), "`ip.address` is not set; it must be an IPv4 address and the length"),
        ("ip", one("adress", "10.0.0.1/24".into()), "no setting `adress` (is `address` meant?)"),
        ("ip", with("address", "10.0.0.1".into()), "`ip.address` is \"10.0.0.1\""),
        ("ip", with("address", "10.0.0.1/33".into()), "prefix, 0 to 32"),
        ("ip", with("mtu", octets(60)), "`ip.mtu` is 60 B; it must be a size from 68 B to 65535 B"),
        ("ip", with("ttl", 256.into()), "a number from 1 to 255"),
        ("ip", with("mttu", octets(1500)), "(is `mtu` meant?)"),
        (
            "ip",
            one("interface", one("llc", one("mtu", octets(1500)).into()).into()),
            "`ip.interface.llc.address` is not set",
        ),
        (
            "ip",
            with("routes", one("default", "eth".into()).into()),
            "`ip.routes.default` is \"eth\"; it must be a router's IPv4 address",
        ),
        ("ip", with("routes", one("default", "10.1.0.1".into()).into()), "no interface is on a network with 10.1.0.1"),
        ("ip", with("neighbours", one("10.0.0.2", "x".into()).into()), "`ip.neighbours.10.0.0.2` is \"x\""),
        (
            "atm_arp",
            one("addresses", list_of(["10.0.0.1"])).with("timeout", "1 h"),
            "`atm_arp.timeout` is \"1 h\"; it must be a time",
        ),
        (
            "atm_arp",
            one("addresses", list_of(["10.0.0.1"])).with("timeout", Duration::from_secs(901)),
            "at most 15 minutes",
        ),
        ("tcp", one("mss", octets(0)), "a size from 1 B to 65535 B"),
        ("tcp", one("mss", octets(65536)), "a size from 1 B to 65535 B"),
        ("tcp", one("mss", 1460.into()), "`tcp.mss` is 1460; it must be a size"),
        ("tcp", one("receive_buffer", octets((1 << 30) + 1)), "a size from 1 B to 1 GiB"),
        (
            "tcp",
            one("defaults", "bsd44".into()),
            "`tcp.defaults` is \"bsd44\" (is `bsd43` meant?); it must be one of `modern`",
        ),
        (
            "tcp",
            one("rto", one("minimum", Duration::from_secs(121).into()).into()),
            "`tcp.rto.minimum` is 121 s; it must be at most the maximum of 120 s",
        ),
        (
            "tcp",
            one("window_update", one("share", Value::Share(1_010_000_000_000)).into()),
            "`tcp.window_update.share` is 101 %; it must be a share from 0 % to 100 %",
        ),
        (
            "tcp",
            one("window_update", one("share", Value::Share(5_000_000_000)).into()),
            "`tcp.window_update.share` is a part of a per cent; it must be a whole number of per cent",
        ),
    ];
    for (kind, settings, expected) in cases {
        let said = said(kind, &settings);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn an_mss_that_ip_cannot_carry_is_refused_with_what_would_fit() {
    let tcp = |mss| {
        let place = LowerLayers { below: &["ip"], mtu: Some(1500) };
        build("tcp", &Settings::new().with("mss", Value::Octets(mss)), place)
    };
    assert!(tcp(1460).is_ok());
    let Err(error) = tcp(1461) else {
        panic!("it was built");
    };
    assert_eq!(
        error.to_string(),
        "`tcp.mss` is 1461 B; it must be at most 1460 B with IP's mtu of 1500 B; 1461 B need an mtu of 1501 B"
    );
}

#[test]
fn settings_are_listed_with_their_places_and_defaults() {
    let ip = settings("ip", &Settings::new());
    let default = |list: &[Setting], path: &[&str]| {
        let found = list.iter().find(|setting| setting.is_at(path));
        found.unwrap_or_else(|| panic!("{path:?}")).default.clone()
    };
    assert_eq!(default(&ip, &["mtu"]), "1500 B");
    assert_eq!(default(&ip, &["interface", "llc", "mtu"]), "1500 B");
    assert_eq!(default(&ip, &["neighbours", "10.0.0.1"]), "none");
    assert_eq!(default(&ip, &["reassembly", "timeout"]), "60 s");
    let modern = settings("tcp", &Settings::new());
    assert_eq!(default(&modern, &["receive_buffer"]), "512 KiB");
    let bsd = settings("tcp", &Settings::new().with("defaults", "bsd43"));
    assert_eq!(default(&bsd, &["receive_buffer"]), "4 KiB");
    assert_eq!(default(&bsd, &["rto", "initial"]), "6 s");
    // A host interface decides nothing, and what only puts an octet or two in front has nothing to set.
    let plain = ["hif", "lapb_ether", "raw_ip", "x25_iface"];
    for kind in kinds().filter(|kind| !plain.contains(kind)) {
        assert!(!settings(kind, &Settings::new()).is_empty(), "{kind}");
    }
    assert!(settings("nothing", &Settings::new()).is_empty());
}

#[test]
fn permanent_circuits_of_xot_are_tables_by_their_channel() {
    let circuit = Settings::new()
        .with("interface", "Serial0")
        .with("peer_interface", "Serial1")
        .with("peer_channel", 4)
        .with("peer", "10.0.0.2")
        .with("window", 3)
        .with("packet", Value::Octets(256));
    let xot =
        |channel: &str, circuit: Settings| Settings::new().with("permanent", Settings::new().with(channel, circuit));
    assert!(build("xot", &xot("3", circuit.clone()), here()).is_ok());
    let odd = circuit.clone().with("packet", Value::Octets(100));
    assert!(said("xot", &xot("3", odd)).contains("permanent.3.packet"));
    assert!(said("xot", &xot("0", circuit)).contains("a channel from 1 to 4095"));
    let nameless = Settings::new().with("interface", "Serial0");
    let why = said("xot", &xot("3", nameless));
    assert!(why.contains("permanent.3.peer_interface"), "{why}");
}
