//! Against recorded exchanges of lwIP: what its server said is said to us, and what its client said is what we must
//! say.

use kumiki_graph::Duration;
use kumiki_wire::ppp::ppp::control::{Packet, code};
use kumiki_wire::ppp::ppp::{Header, protocol};

use crate::ppp::{self, Ppp};
use crate::ppp_daemon::{Config, Phase, PppDaemon};
use kumiki_testkit::bench::{Bench, hex};

const PAP: &str = include_str!("../../../../kumiki-wire/tests/exchanges/lwip-pap.txt");
const CHAP: &str = include_str!("../../../../kumiki-wire/tests/exchanges/lwip-chap.txt");

/// The recording as sender and frame, up to where the client ends the link.
fn lines(text: &str) -> impl Iterator<Item = (&str, Vec<u8>)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.map(|(who, octets)| (who, hex(octets))).take_while(|(_, frame)| !frame.starts_with(&hex("ff03c02105")))
}

/// Protocol, code and the types of options.
fn shape(frame: &[u8]) -> (u16, u8, Vec<u8>) {
    let (header, len) = Header::parse(frame).unwrap();
    let (packet, _) = Packet::parse(&frame[len..]).unwrap();
    let kinds = packet.options().flatten().map(|item| item.kind).collect();
    (header.protocol, packet.code, kinds)
}

/// Plays `text` up to the first frame of `until`; whether the daemon has got so far.
fn play(text: &str, until: Option<u16>) -> Phase {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("ppp", &["line"], Ppp::new(ppp::Config::default()));
    let config = Config {
        accm: Some(0),
        pfc: true,
        acfc: true,
        name: "kumiki".to_owned(),
        secret: Some("secret".to_owned()),
        ..Config::default()
    };
    let daemon = bench.node("daemon", &["ppp"], PppDaemon::new(config).unwrap());
    bench.start();
    // All that we have said, and that of it which lwIP has not said yet.
    let (mut all, mut sent) = (Vec::new(), Vec::new());
    for (who, frame) in lines(text) {
        let (header, len) = Header::parse(&frame).unwrap();
        if Some(header.protocol) == until || header.protocol == protocol::IPV6 {
            break;
        }
        let out = bench.sent_octets();
        all.extend(out.clone());
        sent.extend(out);
        if who == "server" {
            let mut frame = frame;
            // It agreed to the client's random numbers; to us it agrees to ours.
            if frame[len] == code::CONFIGURE_ACK && [protocol::LCP, protocol::IPV6CP].contains(&header.protocol) {
                let asked = all.iter().rev().find(|own: &&Vec<u8>| {
                    let (number, code, _) = shape(own);
                    number == header.protocol && code == code::CONFIGURE_REQUEST
                });
                frame.clone_from(asked.unwrap());
                frame[len] = code::CONFIGURE_ACK;
            }
            bench.octets(line, &frame);
            bench.pass(Duration::from_millis(1));
            continue;
        }
        let is_random =
            frame[len] == code::CONFIGURE_REQUEST && [protocol::LCP, protocol::IPV6CP].contains(&header.protocol);
        let found = sent.iter().position(|own| if is_random { shape(own) == shape(&frame) } else { *own == frame });
        let found = found.unwrap_or_else(|| {
            panic!("lwIP said {frame:02x?}, and we have said {sent:02x?}");
        });
        sent.remove(found);
    }
    let daemon: &mut PppDaemon = bench.graph.protocol_mut(daemon).unwrap();
    daemon.phase()
}

#[test]
fn we_say_to_lwips_server_what_lwips_client_says() {
    assert_eq!(play(PAP, None), Phase::Network);
    // Behind CHAP lwIP agreed on compressed headers, which we do not do.
    assert_eq!(play(CHAP, Some(protocol::IPCP)), Phase::Network);
}
