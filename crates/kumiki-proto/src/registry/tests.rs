use kumiki_graph::{Graph, Service};

use super::*;

fn said(kind: &str, settings: &Settings) -> String {
    match build(kind, settings) {
        Ok(_) => panic!("{kind} was built"),
        Err(error) => error.to_string(),
    }
}

fn interface() -> Settings {
    Settings::new()
        .with("below", "llc")
        .with("address", "10.0.0.1/24")
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
            "atm_arp" => Settings::new().with("addresses", list_of(["10.0.0.1"])),
            _ => Settings::new(),
        };
        assert!(build(kind, &settings).is_ok(), "{kind}");
    }
}

#[test]
fn a_stack_of_classical_ip_is_put_together() {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    graph.add_device("atm0", Service::UnitData).unwrap();
    let neighbours = Settings::new().with("10.0.0.2", "0/100");
    let ip = Settings::new()
        .with(
            "interfaces",
            list_of([Value::Table(
                interface()
                    .with("mtu", "9180 B")
                    .with("neighbours", Value::Table(neighbours)),
            )]),
        )
        .with(
            "routes",
            list_of([Value::Table(
                Settings::new()
                    .with("to", "default")
                    .with("via", "10.0.0.2"),
            )]),
        )
        .with(
            "reassembly",
            Value::Table(
                Settings::new()
                    .with("timeout", "30 s")
                    .with("octets", "1 MiB"),
            ),
        )
        .with("ttl", 32);
    for (name, kind, settings) in [
        ("llc", "llc_snap", Settings::new()),
        ("ip", "ip", ip),
        ("udp", "udp", Settings::new().with("checksum", false)),
    ] {
        graph
            .add_node(name, task, build(kind, &settings).unwrap())
            .unwrap();
    }
    graph.connect("llc", "atm0").unwrap();
    graph.connect("ip", "llc").unwrap();
    graph.connect("udp", "ip").unwrap();
    graph.start(kumiki_graph::Instant::ZERO).unwrap();
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    let none = Settings::new();
    let with = |key: &str, value: Value| interface().with(key, value);
    let cases: [(&str, Settings, &str); 16] = [
        (
            "llcsnap",
            none.clone(),
            "there is no protocol `llcsnap` (is `llc_snap` meant?); there are `aal5`, `atm_arp`",
        ),
        (
            "smtp",
            none.clone(),
            "there is no protocol `smtp`; there are",
        ),
        (
            "udp",
            none.clone().with("chekcsum", true),
            "`udp` has no setting `chekcsum` (is `checksum` meant?); it has `checksum`",
        ),
        (
            "udp",
            none.clone().with("checksum", 1),
            "`udp.checksum` is 1; it must be true or false",
        ),
        (
            "llc_snap",
            none.clone().with("vc", "0.100"),
            "`llc_snap.vc` is \"0.100\"; it must be a circuit such as \"0/100\"",
        ),
        (
            "llc_snap",
            none.clone().with("vc", "4096/1"),
            "must be a circuit",
        ),
        ("ip", none.clone(), "`ip`: IP has no interface"),
        (
            "ip",
            none.clone().with("below", "llc"),
            "`ip.address` is not set; it must be an address and the length",
        ),
        (
            "ip",
            with("address", "10.0.0.1".into()),
            "`ip.address` is \"10.0.0.1\"",
        ),
        (
            "ip",
            with("mtu", 60.into()),
            "`ip.mtu` is 60; it must be a size such as \"9180 B\" or \"64 KiB\", 68 B to 65535 B",
        ),
        ("ip", with("ttl", 256.into()), "a number from 1 to 255"),
        ("ip", with("mttu", 1500.into()), "(is `mtu` meant?)"),
        (
            "ip",
            with(
                "routes",
                list_of([Value::Table(none.clone().with("to", "default"))]),
            ),
            "`ip.routes[0].via` is not set",
        ),
        (
            "ip",
            with(
                "routes",
                list_of([Value::Table(
                    none.clone().with("to", "default").with("via", "10.1.0.1"),
                )]),
            ),
            "no interface is on a network with 10.1.0.1",
        ),
        (
            "ip",
            with(
                "neighbours",
                Value::Table(none.clone().with("10.0.0.2", "x")),
            ),
            "`ip.neighbours.10.0.0.2` is \"x\"",
        ),
        (
            "atm_arp",
            none.clone()
                .with("addresses", list_of(["10.0.0.1"]))
                .with("timeout", "1 h"),
            "`atm_arp.timeout` is \"1 h\"; it must be a time",
        ),
    ];
    for (kind, settings, expected) in cases {
        let said = said(kind, &settings);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn times_and_sizes_are_read_with_their_units() {
    let atm_arp = |timeout: Value| {
        let settings = Settings::new()
            .with("addresses", list_of(["10.0.0.1"]))
            .with("timeout", timeout);
        build("atm_arp", &settings).is_ok()
    };
    for good in ["15 min", "900 s", "900000ms", "1 ns"] {
        assert!(atm_arp(good.into()), "{good}");
    }
    assert!(atm_arp(Duration::from_secs(5).into()));
    for bad in [
        "16 min",
        "s",
        "5",
        "1.5 s",
        "99999999999999999999 s",
        "-1 s",
    ] {
        assert!(!atm_arp(bad.into()), "{bad}");
    }
    assert!(
        build(
            "aal5",
            &Settings::new().with("max_sdu", Value::Octets(9188))
        )
        .is_ok()
    );
    assert!(build("aal5", &Settings::new().with("max_sdu", "64 KiB")).is_err());
}
