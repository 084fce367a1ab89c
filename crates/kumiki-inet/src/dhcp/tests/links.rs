//! A host on two links, on each of which it has a client, and servers that the test is.

use super::*;

/// By what a link is told from the other: the last octet but two of its addresses, and the last one of its station.
const LINKS: [u8; 2] = [0, 1];

const fn station(link: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, LINKS[link]])
}

/// A message of a client: on which link it went, from where to where.
type Sent = (usize, Ipv4Addr, Ipv4Addr, Header);

struct Links {
    bench: Bench,
    media: [DeviceId; 2],
    user: NodeId,
}

impl Links {
    fn new() -> Self {
        let mut bench = Bench::new();
        let media = [0, 1].map(|link| {
            let [medium, eth, arp] = ["medium", "eth", "arp"].map(|it| format!("{it}{link}"));
            let device = bench.device(&medium);
            bench.node(&eth, &[&medium], Eth::new(eth::Config::new(station(link))).unwrap());
            let probing = arp::Probing::QUICK;
            let later = arp::Config { addresses: Vec::new(), told_later: true, probing, ..arp::Config::new(NONE) };
            bench.node(&arp, &[&eth], Arp::new(later).unwrap());
            device
        });
        let on = |arp: &str| ip::Interface { neighbours: ip::Neighbours::Below, ..ip::Interface::negotiated(arp) };
        let config = ip::Config { interfaces: vec![on("arp0"), on("arp1")], ..ip::Config::host(on("arp0")) };
        bench.node("ip", &["arp0", "arp1"], Ip::new(config).unwrap());
        bench.node("udp", &["ip"], Udp::new(udp::Config::default()));
        for link in 0..2 {
            let config = Config { interface: link, ..Config::new(station(link)) };
            bench.node(&format!("dhcp{link}"), &["udp"], Dhcp::new(Config { startup: quick().startup, ..config }));
        }
        let user = bench.user("user", "udp", &[]);
        bench.start();
        Self { bench, media, user }
    }

    fn states(&self) -> [State; 2] {
        [0, 1].map(|link| {
            let node = self.bench.graph.node(&format!("dhcp{link}")).unwrap();
            self.bench.graph.protocol::<Dhcp>(node).unwrap().state()
        })
    }

    /// Lets a frame come on a link.
    fn frame(&mut self, link: usize, to: MacAddr, kind: u16, octets: &[u8]) {
        let frame = [&to.0[..], &OTHER.0, &kind.to_be_bytes(), octets].concat();
        self.bench.octets(self.media[link], &frame);
    }

    /// The datagrams that have been sent, with their frames; servers, whose addresses end with 1, answer who asks where
    /// they are.
    fn datagrams(&mut self) -> Vec<(usize, Vec<u8>)> {
        let mut datagrams = Vec::new();
        loop {
            let units = self.bench.sent();
            if units.is_empty() {
                return datagrams;
            }
            for (device, unit) in units {
                let link = self.media.iter().position(|it| *it == device).unwrap();
                let octets = unit.data.to_vec();
                if octets[12..14] != [8, 6] {
                    datagrams.push((link, octets));
                    continue;
                }
                let (asked, _) = arp_header(&octets[14..]);
                if asked.op == Operation::Request && asked.tpa.octets()[3] == 1 {
                    let said = ArpHeader { tha: station(link), ..arp_of(Operation::Reply, asked.tpa, asked.spa) };
                    let mut octets = vec![0; ARP_LEN];
                    said.emit(&mut octets);
                    self.frame(link, station(link), ethernet::ethertype::ARP, &octets);
                }
            }
        }
    }

    /// The messages that have been sent.
    fn sent(&mut self) -> Vec<Sent> {
        let parsed = |(link, octets): (usize, Vec<u8>)| {
            let (ip, at) = ipv4::Header::parse(&octets[14..], octets.len() - 14).unwrap();
            let (header, _) = Header::parse(&octets[14 + at + 8..]).unwrap();
            (link, ip.source, ip.destination, header)
        };
        self.datagrams().into_iter().map(parsed).collect()
    }

    /// Lets so much time pass; what was sent.
    fn pass(&mut self, time: Duration) -> Vec<Sent> {
        let end = self.bench.now + time;
        let mut all = self.sent();
        while let Some(due) = self.bench.graph.next_timer().filter(|due| *due <= end) {
            self.bench.pass(due.saturating_since(self.bench.now));
            all.extend(self.sent());
        }
        self.bench.pass(end.saturating_since(self.bench.now));
        all
    }

    /// What the server on `link` says to all there.
    fn say(&mut self, link: usize, header: &Header) {
        let mut data = vec![0; header.len()];
        header.emit(&mut data);
        let length = u16::try_from(data.len() + 8).unwrap();
        let udp = [&[0, 67, 0, 68][..], &length.to_be_bytes(), &[0, 0], &data].concat();
        let source = header.options.server.unwrap();
        let ip = ipv4::Header {
            protocol: 17,
            source,
            destination: ALL,
            total_length: length + 20,
            ..ipv4::Header::default()
        };
        let mut octets = vec![0; ip.len()];
        ip.emit_summed(&mut octets);
        octets.extend(udp);
        self.frame(link, MacAddr::BROADCAST, ethernet::ethertype::IPV4, &octets);
    }

    /// The one message of the client on `link`, among what was sent.
    fn one(link: usize, sent: &[Sent], kind: Kind) -> Header {
        let own: Vec<&Sent> = sent.iter().filter(|it| it.0 == link).collect();
        let [(.., header)] = own[..] else { panic!("{own:?}") };
        assert_eq!((header.options.kind, header.chaddr), (kind, station(link)));
        header.clone()
    }

    /// The server on `link` answers `discover` with `address` until that is used.
    fn bind(&mut self, link: usize, discover: &Header, (server, address): (Ipv4Addr, Ipv4Addr)) {
        let says = |asked: &Header, kind| {
            let mut said = Header { yiaddr: address, ..answer(asked, kind) };
            (said.options.server, said.options.routers) = (Some(server), vec![server]);
            said
        };
        self.say(link, &says(discover, Kind::Offer));
        let sent = self.sent();
        let request = Self::one(link, &sent, Kind::Request);
        assert_eq!((sent[0].1, sent[0].2), (NONE, ALL), "whatever the host has on other links");
        self.say(link, &says(&request, Kind::Ack));
        self.pass(SECOND);
        assert_eq!(self.states()[link], State::Bound);
    }

    /// By which link a datagram to `to` leaves, and from where.
    fn way(&mut self, to: Ipv4Addr) -> (usize, Ipv4Addr) {
        let open = Open { mode: Mode::Passive { backlog: 0 }, ..Open::default() };
        self.bench.say(self.user, Request::Open(Box::new(open)));
        let heard = self.bench.heard(self.user);
        let Some(Indication::Opened(opened)) = heard.last() else { panic!("{heard:?}") };
        let unit = Unit {
            destination: Address::from(SocketAddr::V4(SocketAddrV4::new(to, 9))),
            session: Some(opened.provider),
            ..Unit::of(Message::from_octets(&[0; 300]))
        };
        self.bench.send(self.user, unit);
        let sent = self.datagrams();
        let [(link, octets)] = &sent[..] else { panic!("{sent:?}") };
        (*link, Ipv4Addr::new(octets[26], octets[27], octets[28], octets[29]))
    }
}

/// The server on a link, and what it gives.
fn given(link: usize) -> (Ipv4Addr, Ipv4Addr) {
    let at = |last| Ipv4Addr::new(10, LINKS[link], 0, last);
    (at(1), at(77))
}

#[test]
fn each_link_has_an_address_of_a_server_of_its_own() {
    let mut links = Links::new();
    let sent = links.pass(SECOND * 2);
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent.iter().all(|it| (it.1, it.2) == (NONE, ALL)));
    let [first, second] = [0, 1].map(|link| Links::one(link, &sent, Kind::Discover));
    assert_ne!(first.xid, second.xid);
    // What comes on the other link is not for it, whatever it says.
    links.say(0, &answer(&second, Kind::Offer));
    assert!(links.sent().is_empty());
    assert_eq!(links.states(), [State::Selecting; 2]);
    links.bind(1, &second, given(1));
    assert_eq!(links.states(), [State::Selecting, State::Bound]);
    assert_eq!(links.way(Ipv4Addr::new(192, 0, 2, 9)), (1, given(1).1));
    links.bind(0, &first, given(0));
    // Of two ways to everywhere that of the first link is taken, whichever server was faster.
    assert_eq!(links.way(Ipv4Addr::new(192, 0, 2, 9)), (0, given(0).1));
    assert_eq!(links.way(given(1).0), (1, given(1).1));
    // What a link has ends with it alone.
    links.bench.indicate(links.media[0], Indication::Report(Box::new(Report::Down)));
    assert_eq!(links.way(Ipv4Addr::new(192, 0, 2, 9)), (1, given(1).1));
    links.bench.indicate(links.media[0], Indication::Report(Box::new(Report::Up)));
    let sent = links.pass(SECOND);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(Links::one(0, &sent, Kind::Request).options.requested, Some(given(0).1));
    assert_eq!(links.states(), [State::Rebooting, State::Bound]);
}

#[test]
fn more_time_is_asked_on_the_link_that_the_address_is_of_and_all_is_given_back_there() {
    // As two routers for homes, which all have the same network.
    let server = Ipv4Addr::new(10, 0, 0, 1);
    let own = [77, 78].map(|last| Ipv4Addr::new(10, 0, 0, last));
    let mut links = Links::new();
    let sent = links.pass(SECOND * 2);
    for link in [1, 0] {
        links.bind(link, &Links::one(link, &sent, Kind::Discover), (server, own[link]));
    }
    // T1 of an hour is half of it.
    let sent = links.pass(SECOND * 1801);
    assert_eq!(sent.len(), 2, "{sent:?}");
    for link in [0, 1] {
        assert_eq!(Links::one(link, &sent, Kind::Request).ciaddr, own[link]);
    }
    assert!(sent.iter().all(|it| (it.1, it.2) == (own[it.0], server)), "{sent:?}");
    links.bench.say(links.user, Request::Manage(Box::new(Manage::special(GiveBack))));
    let sent = links.sent();
    for link in [0, 1] {
        assert_eq!(Links::one(link, &sent, Kind::Release).ciaddr, own[link]);
    }
    assert_eq!(links.pass(SECOND * 3600), []);
}

#[test]
fn an_address_that_the_host_has_on_another_link_is_declined() {
    // Two routers for homes that both begin with the same address.
    let (server, own) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 77));
    let mut links = Links::new();
    let sent = links.pass(SECOND * 2);
    let [first, second] = [0, 1].map(|link| Links::one(link, &sent, Kind::Discover));
    links.bind(0, &first, (server, own));
    let says = |asked: &Header, kind| {
        let mut said = Header { yiaddr: own, ..answer(asked, kind) };
        said.options.server = Some(server);
        said
    };
    links.say(1, &says(&second, Kind::Offer));
    let request = Links::one(1, &links.sent(), Kind::Request);
    links.say(1, &says(&request, Kind::Ack));
    let sent = links.pass(SECOND);
    assert_eq!(Links::one(1, &sent, Kind::Decline).options.requested, Some(own));
    assert_eq!(links.states(), [State::Bound, State::Init]);
    assert_eq!(links.way(server), (0, own));
}
