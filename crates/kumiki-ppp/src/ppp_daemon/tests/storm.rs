//! Any frames, in any state.

use kumiki_graph::{DeviceId, Duration, Indication, Key, NodeId, Report, Request, Unit};
use kumiki_octets::Message;
use kumiki_wire::numbering::PPP_PROTOCOL;
use kumiki_wire::ppp::ppp::{Compression, Header, protocol};
use proptest::prelude::*;

use crate::ppp::{self, Ppp};
use crate::ppp_daemon::{Config, MAX_LINES, Methods, PppDaemon, Quality, Secret, WAKE};
use kumiki_testkit::bench::Bench;

/// Frames that may go out because of one thing that came: on Opened the identification, the remaining time, a challenge
/// or a request, both network protocols, and an acknowledgment before all that.
const MOST_ANSWERS: usize = 12;

#[derive(Clone, Debug)]
enum Event {
    /// Any octets.
    Noise(Vec<u8>),
    /// A packet with a right length, any identifier and options.
    Packet(u16, u8, u8, Vec<u8>),
    /// The daemon's own last request comes back, as another code.
    Answer(u8),
    /// The same by its place among what was sent.
    Echoed(usize),
    Time(u64),
    Line(bool),
    Close,
}

fn number() -> impl Strategy<Value = u16> {
    prop_oneof![
        8 => Just(protocol::LCP),
        2 => Just(protocol::PAP),
        2 => Just(protocol::CHAP),
        2 => Just(protocol::LQR),
        4 => Just(protocol::IPCP),
        4 => Just(protocol::IPV6CP),
        1 => Just(protocol::IPV4),
        1 => any::<u16>(),
    ]
}

/// Options that mostly are some.
fn options() -> impl Strategy<Value = Vec<u8>> {
    let option = (0..16u8, prop::collection::vec(any::<u8>(), 0..8)).prop_map(|(kind, value)| {
        let length = u8::try_from(value.len() + 2).unwrap();
        let mut octets = vec![kind, length];
        octets.extend(value);
        octets
    });
    prop::collection::vec(option, 0..5).prop_map(|options| options.concat())
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Event::Noise),
        8 => (number(), 0..15u8, 0..6u8, options()).prop_map(|(p, c, i, o)| Event::Packet(p, c, i, o)),
        8 => (2..5u8).prop_map(Event::Answer),
        2 => any::<usize>().prop_map(Event::Echoed),
        4 => (0..5_000u64).prop_map(Event::Time),
        1 => any::<bool>().prop_map(Event::Line),
        1 => Just(Event::Close),
    ]
}

fn config(which: u8) -> Config {
    let mut config = Config {
        mru: 1400,
        accm: Some(0),
        pfc: true,
        acfc: true,
        persist: which & 1 != 0,
        passive: which & 2 != 0,
        ..Config::default()
    };
    if which & 4 != 0 {
        config.auth = Methods::Either;
        config.secrets = vec![Secret { name: "a".to_owned(), secret: "b".to_owned() }];
        config.secret = Some("c".to_owned());
        config.rechallenge = Some(Duration::from_secs(1));
    }
    if which & 8 != 0 {
        config.echo_interval = Some(Duration::from_secs(1));
        config.quality = Quality { period: Some(Duration::from_secs(1)), good: 1, of: 3, ..Quality::default() };
        config.ask_fcs = Some(32);
        config.session = Some(Duration::from_secs(60));
        config.identification = Some("kumiki".to_owned());
    }
    config
}

struct Storm {
    bench: Bench,
    line: DeviceId,
    daemon: NodeId,
    user: NodeId,
    sent: Vec<Vec<u8>>,
}

impl Storm {
    fn new(config: Config) -> Self {
        let mut bench = Bench::new();
        let line = bench.device("line");
        bench.node("ppp", &["line"], Ppp::new(ppp::Config::default()));
        let user = bench.user("ip", "ppp", &[Key::of(PPP_PROTOCOL, 0x0021), Key::of(PPP_PROTOCOL, 0x0057)]);
        let daemon = bench.node("daemon", &["ppp"], PppDaemon::new(config).unwrap());
        bench.start();
        let sent = bench.sent_octets();
        Self { bench, line, daemon, user, sent }
    }

    fn daemon(&mut self) -> &mut PppDaemon {
        self.bench.graph.protocol_mut(self.daemon).unwrap()
    }

    fn frame(&mut self, number: u16, information: &[u8]) {
        let header = Header::new(number, Compression::NONE);
        let mut frame = vec![0; header.len()];
        header.emit(&mut frame);
        frame.extend(information);
        let line = self.line;
        self.bench.octets(line, &frame);
    }

    fn on(&mut self, event: Event) {
        match event {
            Event::Noise(octets) => {
                let line = self.line;
                self.bench.octets(line, &octets);
            }
            Event::Packet(number, code, identifier, data) => {
                let [high, low] = u16::try_from(data.len() + 4).unwrap().to_be_bytes();
                let mut packet = vec![code, identifier, high, low];
                packet.extend(data);
                self.frame(number, &packet);
            }
            Event::Answer(code) => {
                let request = self.sent.iter().rev().find(|frame| frame.get(4) == Some(&1)).cloned();
                if let Some(mut frame) = request {
                    frame[4] = code;
                    let line = self.line;
                    self.bench.octets(line, &frame);
                }
            }
            Event::Echoed(at) => {
                if let Some(frame) = self.sent.get(at % self.sent.len().max(1)).cloned() {
                    let line = self.line;
                    self.bench.octets(line, &frame);
                }
            }
            Event::Time(ms) => self.bench.pass(Duration::from_millis(ms)),
            Event::Line(is_up) => {
                let report = if is_up { Report::Up } else { Report::Down };
                let line = self.line;
                self.bench.indicate(line, Indication::Report(Box::new(report)));
            }
            Event::Close => {
                self.daemon().close();
                let (now, node) = (self.bench.now, self.daemon);
                self.bench.graph.wake(now, node, WAKE);
                self.bench.pass(Duration::ZERO);
            }
        }
    }

    /// The driver writes what the daemon says that was agreed on, and nothing passes that it did not let.
    fn judge(&mut self) {
        let passes = self.daemon().network(protocol::IPV4).is_some();
        let agreement = self.daemon().agreement();
        assert!(agreement.is_some() || !passes);
        let user = self.user;
        let unit = Unit::of(Message::from_octets(&[0x45; 30]));
        self.bench.say(user, Request::Unit(Box::new(unit)));
        let frames = self.bench.sent_octets();
        assert_eq!(frames.len(), usize::from(passes));
        if let (Some(frame), Some(agreed)) = (frames.first(), agreement) {
            let (header, _) = Header::parse(frame).unwrap();
            let Compression { acfc, pfc } = header.compression;
            assert_eq!((acfc, pfc), (agreed.acfc, agreed.pfc));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_that_comes_breaks_a_daemon_or_makes_it_talk_without_end(
        which in 0..16u8,
        events in prop::collection::vec(event(), 1..80),
    ) {
        let mut storm = Storm::new(config(which));
        for event in events {
            let is_time = matches!(event, Event::Time(_));
            storm.on(event);
            let out = storm.bench.sent_octets();
            prop_assert!(is_time || out.len() <= MOST_ANSWERS, "{out:02x?}");
            for frame in &out {
                let (header, _) = Header::parse(frame).unwrap();
                prop_assert_eq!(header.compression, Compression::NONE);
            }
            storm.sent.extend(out);
            storm.judge();
        }
        prop_assert!(storm.daemon().take_log().len() <= MAX_LINES + 1);
        // Left alone, a daemon that does not persist comes to rest, or to a link that stays.
        storm.bench.pass(Duration::from_secs(4_000));
        let _ = storm.bench.sent_octets();
        storm.judge();
    }
}
