//! Hosts on an Ethernet that all hear each other: one sends to a group over XTP, the others receive, one of them from
//! the middle on. Over IP, IPv6, and XTP's own Ethernet type with and without VNET. tshark must find nothing wrong with
//! what crosses; skipped where there is no tshark.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test: what fails stops it"
)]

use std::net::{IpAddr, SocketAddr};

use kumiki_graph::{
    Accept, Address, DeviceId, Duration, Handle, Indication, Key, Membership, Mode, NodeId, Notice, Open, Request,
};
use kumiki_octets::{Message, Pattern};
use kumiki_stack::{LowerLayers, Settings, Value, build};

#[path = "../../kumiki-wire/tests/judge/mod.rs"]
#[allow(dead_code, reason = "shared with another crate's tests")]
mod judge;

use judge::link_type;
use kumiki_testkit::bench::Bench;

/// Octets that are sent.
const LEN: usize = 200_000;

struct Station {
    bench: Bench,
    line: DeviceId,
    user: NodeId,
    session: Option<Handle>,
    credit: u64,
    received: Vec<u8>,
    begins: usize,
    closed: bool,
}

struct Lan {
    stations: Vec<Station>,
    frames: Vec<Vec<u8>>,
    group: SocketAddr,
}

fn add(bench: &mut Bench, kind: &str, below: &[&str], settings: &Settings) {
    let place = LowerLayers { below, mtu: None };
    let node = build(kind, settings, place).unwrap();
    bench.boxed(kind, below, node);
}

fn station(stack: &str, n: u8) -> Station {
    let mut bench = Bench::seeded(n.into());
    let line = bench.device("line");
    let eth = Settings::new().with("address", format!("02:00:00:00:00:0{n}").as_str());
    let own = if stack == "ipv6" { format!("fd00::{n}") } else { format!("10.0.0.{n}") };
    let list = |it: &str| Value::List(vec![it.into()]);
    let arp = Settings::new().with("addresses", list(&own));
    add(&mut bench, "eth", &["line"], &eth);
    let below = match stack {
        "ip" => {
            add(&mut bench, "arp", &["eth"], &arp);
            let ip = Settings::new().with("address", format!("{own}/24").as_str()).with("neighbours", "below");
            add(&mut bench, "ip", &["arp"], &ip);
            "ip"
        }
        "ipv6" => {
            let ip = Settings::new().with("address", format!("{own}/64").as_str()).with("neighbours", "discover");
            add(&mut bench, "ipv6", &["eth"], &ip);
            "ipv6"
        }
        "vnet" => {
            add(&mut bench, "arp", &["eth"], &arp);
            let vnet = Settings::new().with("addresses", list(&format!("{own}/24")));
            add(&mut bench, "vnet", &["arp"], &vnet);
            "vnet"
        }
        _ => {
            add(&mut bench, "arp", &["eth"], &arp);
            "arp"
        }
    };
    let mut xtp = Settings::new().with("min_receivers", 2).with("rate", 200_000).with("burst", 5000);
    if stack == "arp" {
        xtp = xtp.with("address", own.as_str());
    }
    add(&mut bench, "xtp", &[below], &xtp);
    let user = bench.user("user", "xtp", &[Key::Only]);
    bench.start();
    Station { bench, line, user, session: None, credit: 0, received: Vec::new(), begins: 0, closed: false }
}

impl Station {
    fn open(&mut self, mode: Mode, local: Address, remote: Address) {
        let open = Open { mode, local, remote, ..Open::default() };
        self.bench.say(self.user, Request::Open(Box::new(open)));
    }

    fn listen(&mut self, group: SocketAddr) {
        self.open(Mode::Passive { backlog: 1 }, group.into(), Address::NONE);
    }

    fn look(&mut self) {
        for heard in self.bench.heard(self.user) {
            match heard {
                Indication::Opened(opened) if !opened.remote.is_none() => {
                    self.session = Some(opened.provider);
                }
                Indication::Offered(offered) => {
                    self.session = Some(offered.provider);
                    let accept = Accept { session: offered.provider, ..Accept::default() };
                    self.bench.say(self.user, Request::Accept(Box::new(accept)));
                }
                Indication::Credit { credit, .. } => self.credit += credit.octets,
                Indication::Data { data, .. } => self.received.extend(data.to_vec()),
                Indication::Notice { notice: Notice::Member(member), .. } => {
                    if let Membership::Begins(at) = *member {
                        self.begins = usize::try_from(at).unwrap();
                    }
                }
                Indication::Closed { .. } => self.closed = true,
                Indication::Aborted { reason, .. } => panic!("{reason}"),
                _ => {}
            }
        }
    }
}

impl Lan {
    /// A millisecond passes; frames that were sent in it have arrived at its end.
    fn step(&mut self) {
        let mut frames = Vec::new();
        for (from, station) in self.stations.iter_mut().enumerate() {
            station.bench.pass(Duration::from_millis(1));
            let sent = station.bench.sent_octets();
            frames.extend(sent.into_iter().map(|frame| (from, frame)));
        }
        for (from, frame) in frames {
            let others = self.stations.iter_mut().enumerate();
            for (_, station) in others.filter(|it| it.0 != from) {
                station.bench.octets(station.line, &frame);
            }
            self.frames.push(frame);
        }
        for station in &mut self.stations {
            station.look();
        }
    }
}

fn run(stack: &str) -> Lan {
    let group: IpAddr = if stack == "ipv6" { "ff05::1234".parse().unwrap() } else { "239.1.2.3".parse().unwrap() };
    let mut lan = Lan {
        stations: (1..=4).map(|n| station(stack, n)).collect(),
        frames: Vec::new(),
        group: SocketAddr::new(group, 5001),
    };
    // IPv6 looks first whether its addresses are its own alone.
    for _ in 0..5000 {
        lan.step();
    }
    let group = lan.group;
    for station in &mut lan.stations[1..3] {
        station.listen(group);
    }
    lan.stations[0].open(Mode::Active, Address::NONE, group.into());
    let mut written = 0;
    for now in 0..20_000 {
        lan.step();
        let first = &mut lan.stations[0];
        let len = (LEN - written).min(usize::try_from(first.credit).unwrap());
        if let Some(session) = first.session
            && len > 0
        {
            let data = Message::generated(Pattern::Counter, written as u64, len);
            let end = false;
            first.credit = 0;
            written += len;
            let user = first.user;
            first.bench.say(user, Request::Data { session, data, end });
            if written == LEN {
                let data = None;
                first.bench.say(user, Request::Release { session, data });
            }
        }
        if now == 500 {
            lan.stations[3].listen(group);
        }
        if lan.stations.iter().all(|it| it.closed) {
            break;
        }
    }
    lan
}

#[test]
fn a_group_on_a_lan_hears_all_over_ip_ipv6_and_ethernet_and_tshark_finds_nothing_wrong() {
    for stack in ["ip", "ipv6", "vnet", "arp"] {
        let lan = run(stack);
        let expected = Message::generated(Pattern::Counter, 0, LEN).to_vec();
        for (n, station) in lan.stations.iter().enumerate() {
            assert!(station.closed, "{stack} {n}");
            if n > 0 {
                assert_eq!(station.begins > 0, n == 3, "{stack} {n}");
                assert!(station.received == expected[station.begins..], "{stack} {n}");
            }
        }
        if matches!(stack, "ip" | "ipv6") {
            is_well_formed(stack, &lan.frames);
        }
    }
}

/// What tshark says of each packet of XTP.
fn is_well_formed(stack: &str, frames: &[Vec<u8>]) {
    let fields = [
        "xtp.checksum.status",
        "xtp.cmd.options.multi",
        "xtp.cmd.ptype.pformat",
        "xtp.key",
        "eth.dst",
        "_ws.malformed",
    ];
    let ethernet = link_type::ETHERNET;
    let name = format!("xtp-groups-{stack}");
    let Some(rows) = judge::fields(&name, ethernet, frames, &fields) else {
        return;
    };
    let rows: Vec<_> = rows.iter().filter(|row| !row[0].is_empty()).collect();
    assert!(rows.len() > 150, "{} packets", rows.len());
    let mut formats = std::collections::BTreeSet::new();
    for row in rows {
        assert_eq!((row[0].as_str(), row[1].as_str()), ("1", "1"), "{row:?}");
        assert_eq!(row[5], "", "{row:?}");
        formats.insert(row[2].clone());
        let to_group = row[4].starts_with("01:00:5e") || row[4].starts_with("33:33");
        let returned = row[3].starts_with("0x8");
        assert_eq!(to_group, !returned, "{row:?}");
    }
    let formats: Vec<_> = formats.into_iter().collect();
    assert_eq!(formats, ["0", "1", "2", "7"]);
}
