//! TCP on IP on ATMARP on LLC/SNAP: a transfer from one host to the other over one circuit, read by tshark; skipped
//! where there is no tshark.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use core::net::Ipv4Addr;
use kumiki_wire::atm::cell::Vc;
use std::net::SocketAddr;

use kumiki_atm::atm_arp::{self, AtmArp};
use kumiki_atm::llc_snap::{self, LlcSnap};
use kumiki_graph::{
    Accept, Address, Credit, DeviceId, Duration, Handle, Indication, Key, Mode, NodeId, Open, Request, Unit,
};
use kumiki_inet::ip::{self, Ip, Neighbours};
use kumiki_inet::tcp::{Tcp, defaults};
use kumiki_octets::{Message, Pattern};

#[path = "../../kumiki-wire/tests/judge/mod.rs"]
#[allow(dead_code, reason = "shared with another crate's tests")]
mod judge;

use judge::link_type;
use kumiki_testkit::bench::Bench;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const VC: Address = Vc { vpi: 0, vci: 100 }.address();
const OCTETS: usize = 60_000;

fn host(own: Ipv4Addr) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::seeded(u64::from(own.to_bits()));
    let atm = bench.device("atm");
    bench.node("llc_snap", &["atm"], LlcSnap::new(llc_snap::Config::default()));
    let arp = AtmArp::new(atm_arp::Config::new(own, vec![VC])).unwrap();
    bench.node("atm_arp", &["llc_snap"], arp);
    let ip = ip::Config::host(ip::Interface {
        mtu: 9180,
        neighbours: Neighbours::Below,
        ..ip::Interface::new("atm_arp", own, 24)
    });
    bench.node("ip", &["atm_arp"], Ip::new(ip).unwrap());
    let mut tcp = defaults::modern();
    tcp.address = own.into();
    bench.node("tcp", &["ip"], Tcp::new(tcp));
    let user = bench.user("user", "tcp", &[Key::Only]);
    bench.start();
    (bench, atm, user)
}

struct Line {
    hosts: [(Bench, DeviceId, NodeId); 2],
    frames: Vec<Vec<u8>>,
}

impl Line {
    /// Carries frames and lets time pass until neither has anything to say for a second.
    fn settle(&mut self) {
        for _ in 0..100 {
            let mut moved = false;
            for from in [0, 1] {
                for (_, unit) in self.hosts[from].0.sent() {
                    moved = true;
                    self.frames.push(unit.data.to_vec());
                    let (to, atm, _) = &mut self.hosts[1 - from];
                    let unit = Unit { source: VC, destination: Address::NONE, ..unit };
                    to.receive(*atm, unit);
                }
            }
            if !moved {
                for (host, ..) in &mut self.hosts {
                    host.pass(Duration::from_millis(10));
                }
            }
        }
    }

    fn say(&mut self, host: usize, request: Request) -> Vec<Indication> {
        let (bench, _, user) = &mut self.hosts[host];
        bench.say(*user, request);
        self.settle();
        self.heard(host)
    }

    fn heard(&mut self, host: usize) -> Vec<Indication> {
        let (bench, _, user) = &mut self.hosts[host];
        bench.heard(*user)
    }
}

fn socket(address: Ipv4Addr, port: u16) -> Address {
    Address::from(SocketAddr::from((address, port)))
}

#[test]
fn a_transfer_is_whole_and_tshark_finds_nothing_to_remark() {
    let hosts = [host(A), host(B)];
    let mut line = Line { hosts, frames: Vec::new() };
    line.settle();
    let listen = Open { mode: Mode::Passive { backlog: 1 }, local: socket(B, 5001), ..Open::default() };
    line.say(1, Request::Open(Box::new(listen)));
    let call = Open { remote: socket(B, 5001), ..Open::default() };
    let confirmed = line.say(0, Request::Open(Box::new(call)));
    let Some(Indication::Opened(opened)) = confirmed.first() else { panic!("{confirmed:?}") };
    // 9180 less the headers of IP and TCP with timestamps.
    assert_eq!(opened.unit, 9128);
    let offered = line.heard(1);
    let Some(Indication::Offered(offered)) = offered.first() else { panic!("{offered:?}") };
    let accept = Accept { session: offered.provider, user: Handle::default(), ..Accept::default() };
    line.say(1, Request::Accept(Box::new(accept)));
    let data = Message::generated(Pattern::Counter, 0, OCTETS);
    line.say(0, Request::Data { session: opened.provider, data, end: true });
    let session = opened.provider;
    line.say(0, Request::Release { session, data: None });
    let mut arrived = Message::new();
    let mut released = false;
    for _ in 0..20 {
        let mut credit = 0;
        for indication in line.heard(1) {
            if let Indication::Data { data, .. } = indication {
                credit += data.len() as u64;
                arrived.append(data);
            } else if let Indication::Released { .. } = indication {
                released = true;
            }
        }
        let session = offered.provider;
        let credit = Credit::octets(credit);
        let (bench, _, user) = &mut line.hosts[1];
        bench.say(*user, Request::Credit { session, credit });
        line.settle();
    }
    assert!(released);
    assert_eq!(arrived, Message::generated(Pattern::Counter, 0, OCTETS));
    approve(&line.frames);
}

fn approve(frames: &[Vec<u8>]) {
    let fields = ["frame.protocols", "ip.checksum.status", "tcp.checksum.status", "ip.flags.df", "_ws.malformed"];
    let link = link_type::ATM_RFC1483;
    let Some(rows) = judge::fields("tcp_on_atm", link, frames, &fields) else {
        return;
    };
    let mut segments = 0;
    for row in rows {
        assert_eq!(row[4], "", "{row:?}");
        if row[0].contains("tcp") {
            segments += 1;
            assert_eq!(row[1..4], ["1", "1", "1"], "{row:?}");
        }
    }
    assert!(segments > OCTETS / 9128);
}
