//! Settings as they are typed, and what they make.

use kumiki_graph::{Above, Below, Context, Indication, Request, Service, Shape};
use kumiki_stack::KINDS;

use super::*;

/// A program that does nothing.
struct Nobody;

impl Protocol for Nobody {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, _: Indication, _: &mut Context<'_>) {}
}

fn refused(sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let mut stack = Stack::tun(KINDS, "source", Transport::Tcp, "10.9.0.2/24", 1500, "k0");
    let built = stack.set(&sets).and_then(|()| stack.build(Box::new(Nobody), 1).map(|_| ()));
    built.expect_err("refused").to_string()
}

#[test]
fn settings_have_the_names_and_units_of_scenarios() {
    let mut stack = Stack::tun(KINDS, "source", Transport::Tcp, "10.9.0.2/24", 1500, "k0");
    let sets = ["tcp.sack=false", "tcp.rto.minimum=1 s", "tcp.mss=\"1000 B\"", "ip.ttl=9"];
    stack.set(&sets.map(str::to_owned)).unwrap();
    stack.build(Box::new(Nobody), 1).unwrap();
}

#[test]
fn the_version_of_ip_is_that_of_the_address() {
    let mut stack = Stack::tun(KINDS, "source", Transport::Tcp, "fd00:9::2/64", 1500, "k0");
    stack.set(&["ipv6.hop_limit=9".to_owned()]).unwrap();
    assert!(stack.set(&["ip.ttl=9".to_owned()]).is_err());
    stack.build(Box::new(Nobody), 1).unwrap();
}

#[test]
fn a_wrong_setting_is_answered_with_what_would_be_right() {
    for (sets, part) in [
        (&["tcp.sak=false"][..], "--set tcp.sak=false: tcp.sak: unknown setting"),
        (&["tcp.sack=maybe"], "true or false"),
        (&["tpc.sack=false"], "did you mean \"tcp\"?"),
        (&["sack=false"], "such as tcp.sack=false"),
        (&["tcp.sack"], "expected NAME=VALUE"),
        (&["tcp.sack.x=1", "tcp.sack=1"], "tcp.sack"),
        (&["tcp.sack=1", "tcp.sack.x=1"], "\"sack\" is no table"),
        (&["tcp.mss=1461 B"], "at most 1460 B"),
        (&["ip.address=10.9.0.2"], "10.0.0.1/24"),
    ] {
        let said = refused(sets);
        assert!(said.contains(part), "{sets:?}: {said}");
    }
}

#[test]
fn what_goes_wrong_is_read_as_in_a_scenario() {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    assert_eq!(impair(&[]).unwrap(), None);
    let given = texts(&["loss=5%", "reorder=0.02", "reorder_by=2 ms", "toward=linux"]);
    let read = impair(&given).unwrap().unwrap();
    assert_eq!((read.any.loss, read.reorder), (0.05, 0.02));
    let [to_linux, to_kumiki] = read.toward(ENDS).unwrap();
    assert_ne!(to_linux, kumiki_link::Impairment::default());
    assert_eq!(to_kumiki, kumiki_link::Impairment::default());
    for (given, part) in [
        (texts(&["lose=0.05"]), "unknown setting of impair \"lose\"; did you mean \"loss\"?"),
        (texts(&["loss=many"]), "expected a share"),
        (texts(&["reorder=0.1"]), "a time of at least 1 ns beside `reorder`"),
        (texts(&["loss=5"]), "a number from 0 to 1"),
    ] {
        let said = impair(&given).expect_err("refused").to_string();
        assert!(said.contains(part), "{said}");
    }
    let read = impair(&texts(&["toward=windows"])).unwrap().unwrap();
    let said = read.toward(ENDS).expect_err("refused").to_string();
    assert!(said.contains("one of linux, kumiki"), "{said}");
}

#[test]
fn an_address_has_a_prefix() {
    let network: Network = "10.9.0.1/24".parse().unwrap();
    assert_eq!(network.to_string(), "10.9.0.1/24");
    let network: Network = "fd00:9::1/64".parse().unwrap();
    assert_eq!(network.to_string(), "fd00:9::1/64");
    for wrong in ["10.9.0.1", "10.9.0.1/33", "10.9.0/24", "/24", "", "fd00::1/129"] {
        assert!(wrong.parse::<Network>().is_err(), "{wrong}");
    }
}

/// A station of an Ethernet in datagrams, or why there can be none.
fn station(program: &str, transport: Transport, local: &str) -> Result<Stack, String> {
    let socket = SimEther { local: local.parse().unwrap(), stations: Vec::new(), via: None };
    let address = "192.168.3.1/24".parse().unwrap();
    let stack = Stack::sim_ether(KINDS, program, transport, address, 9000, &socket);
    stack.map_err(|fault| fault.to_string())
}

#[test]
fn a_socket_that_can_be_no_station_is_refused_with_what_could() {
    for local in ["127.0.0.1:7001", "127.0.0.1:0", "0.0.0.0:7000"] {
        let why = station("ttcp", Transport::Xtp, local).unwrap_err();
        assert!(why.starts_with("--sim-ether") && why.contains(local), "{why}");
        assert!(why.contains("even port"), "{why}");
    }
    assert!(station("ttcp", Transport::Xtp, "127.0.0.1:7000").is_ok());
}

#[test]
fn an_ethernet_beyond_this_machine_must_be_meant() {
    let socket = |local: &str, station: &str, via: Option<&str>| SimEther {
        local: local.parse().unwrap(),
        stations: vec![station.parse().unwrap()],
        via: via.map(|it| it.parse().unwrap()),
    };
    let (near, far) = ("127.0.0.1:7000", "10.0.0.1:7000");
    assert!(socket(near, near, Some(near)).keep_to_loopback().is_ok());
    for (option, socket) in [
        ("--sim-ether", socket(far, near, None)),
        ("--station", socket(near, far, None)),
        ("--via", socket(near, near, Some(far))),
    ] {
        let why = socket.keep_to_loopback().unwrap_err().to_string();
        assert!(why.starts_with(option) && why.contains(far), "{why}");
        assert!(why.contains("--beyond-loopback"), "{why}");
    }
}

#[test]
fn a_ping_over_an_ethernet_stands_on_ip_whatever_the_transport() {
    let ping = |transport| station("ping", transport, "127.0.0.1:7000").unwrap();
    assert_eq!(ping(Transport::Xtp), ping(Transport::Tcp));
}

#[test]
fn networks_are_compared_by_their_prefixes() {
    let cases = [
        ("10.1.2.3", "10.1.0.0/16", true),
        ("10.2.2.3", "10.1.0.0/16", false),
        ("::ffff:10.1.2.3", "10.1.2.3/32", true),
        ("10.1.2.3", "0.0.0.0/0", true),
        ("fd00::1", "fd00::/64", true),
        ("fd01::1", "fd00::/64", false),
        ("fd01::1", "::/0", true),
        ("fd01::1", "0.0.0.0/0", false),
    ];
    for (address, network, wanted) in cases {
        let found = network.parse::<Network>().unwrap().contains(address.parse().unwrap());
        assert_eq!(found, wanted, "{address} {network}");
    }
}
