//! What does not need a peer; `crates/kumiki/tests/program/ppp` has peers.

use kumiki_wire::numbering::PPP_PROTOCOL;
use std::collections::VecDeque;
use std::io;

use kumiki_graph::{Address, Report};
use kumiki_io::{Arrival, Descriptors, Sent};
use kumiki_octets::Message;

use super::*;

/// A device that gives what is in it, and takes one message.
struct MemoryDevice(VecDeque<Arrival>, bool);

impl RealDevice for MemoryDevice {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::default()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        Ok(self.0.pop_front())
    }

    fn send(&mut self, _: &Message, _: Address) -> io::Result<Sent> {
        let full = core::mem::replace(&mut self.1, true);
        Ok(if full { Sent::Full } else { Sent::Taken })
    }
}

#[test]
fn octets_are_kept_by_direction_and_in_order_with_times() {
    let prefix = std::env::temp_dir().join(format!("kumiki-record-{}", std::process::id()));
    let came = [Arrival::Up, Arrival::of(Message::from_octets(b"came"))];
    let shelf = Box::new(MemoryDevice(came.into(), false));
    let mut recorded = Recorded::new(shelf, &prefix).unwrap();
    assert!(matches!(recorded.receive(), Ok(Some(Arrival::Up))));
    recorded.send(&Message::from_octets(b"went!"), Address::NONE).unwrap();
    // What finds no room is offered again, and kept then.
    let full = recorded.send(&Message::from_octets(b"again"), Address::NONE).unwrap();
    assert_eq!(full, Sent::Full);
    recorded.receive().unwrap();
    drop(recorded);
    let file = |ending: &str| {
        let path = format!("{}{ending}", prefix.display());
        let octets = std::fs::read(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        octets
    };
    assert_eq!(file(".sent"), b"went!");
    assert_eq!(file(".received"), b"came");
    let both = file(".pppdump");
    // The time when it began, in seconds; then what pppd writes: sent, received, each with its length.
    assert_eq!(both[0], 7);
    let rest = &both[5..];
    assert!(rest.ends_with(b"\x02\x00\x04came"), "{rest:?}");
    assert!(rest.windows(8).any(|it| it == b"\x01\x00\x05went!"), "{rest:?}");
}

#[test]
fn a_record_that_cannot_be_made_names_its_file() {
    let shelf = Box::new(MemoryDevice(VecDeque::new(), false));
    let refused = Recorded::new(shelf, Path::new("/nowhere/at/all"));
    let why = refused.err().unwrap().to_string();
    assert!(why.starts_with("--record: /nowhere/at/all.sent: "), "{why}");
}

fn options() -> Options {
    Options {
        line: Opening::Pty,
        persist: false,
        daemon: Config::default(),
        mtu: 1500,
        set: Vec::new(),
        pcap: None,
        snaplen: 0,
        record: None,
        verbose: false,
        form: OutputFormat::Json,
        #[cfg(target_os = "linux")]
        sandbox: kumiki_live::sandbox::Sandbox::none(),
    }
}

fn refused(options: &Options) -> String {
    let run = run(options, User::nothing(), &mut |_| {});
    let why = run.expect_err("refused");
    assert!(matches!(why, LiveError::Input(_) | LiveError::Place { .. }), "{why}");
    why.to_string()
}

#[test]
fn what_cannot_be_is_refused_before_a_line_is_opened() {
    let mut wrong = options();
    wrong.line = Opening::Connect("/nowhere".into());
    wrong.set = vec!["hdlc.opening_flags=no".to_owned()];
    assert!(refused(&wrong).contains("unknown setting \"opening_flags\""));
    wrong.set = vec!["tcp.sack=false".to_owned()];
    // There is no TCP on this link.
    assert!(refused(&wrong).contains("unknown layer \"tcp\""));
    wrong.set.clear();
    wrong.daemon.mru = 20;
    assert!(refused(&wrong).contains("mru"));
    wrong.daemon.mru = 1500;
    wrong.pcap = Some("/nowhere/at/all".into());
    assert!(refused(&wrong).contains("--pcap /nowhere/at/all: there is no directory /nowhere"));
}

#[test]
fn an_end_is_as_asked_where_somebody_asked_and_the_link_was_up() {
    let summary = |end: End, is_up: bool| {
        let ends = (Address::NONE, Address::NONE);
        Summary {
            end,
            program: None,
            interrupted: false,
            agreed: None,
            ipv4: is_up.then_some(ends),
            ipv6: None,
            peer_name: None,
            traffic: Traffic::default(),
            elapsed: Duration::ZERO,
        }
    };
    let finished = || End::PeerFinished { message: b"bye".to_vec() };
    for (end, is_up, outcome) in [
        (End::Asked, false, LinkOutcome::AsAsked),
        (finished(), true, LinkOutcome::AsAsked),
        (finished(), false, LinkOutcome::NoAgreement),
        (End::NeverAnswered { requests: 10 }, false, LinkOutcome::NoAgreement),
        (End::WillNotSayWho, false, LinkOutcome::NotAuthenticated),
        (End::LineDown, true, LinkOutcome::Lost),
        (End::LoopedBack, false, LinkOutcome::LoopedBack),
    ] {
        let summary = summary(end, is_up);
        assert_eq!(summary.outcome(), outcome, "{}", summary.end);
        let mut said = Vec::new();
        let mut say = |line: &str| said.push(line.to_owned());
        Narrator::new(OutputFormat::Json, false, &mut say).end(&summary);
        Narrator::new(OutputFormat::Text, false, &mut say).end(&summary);
        let json: serde_json::Value = serde_json::from_str(&said[0]).unwrap();
        assert_eq!(json["why"], summary.end.to_string());
        assert!(said[1].contains(&summary.end.to_string()), "{}", said[1]);
    }
}

#[test]
fn a_peer_cannot_fill_the_log_with_what_we_refuse() {
    use kumiki_ppp::ppp_daemon::{Kind, Line};

    for form in [OutputFormat::Text, OutputFormat::Json] {
        let mut said = Vec::new();
        let mut say = |line: &str| said.push(line.to_owned());
        let mut narrator = Narrator::new(form, false, &mut say);
        // So many options in four seconds, and one state among them.
        for number in 0..280_000_u64 {
            let at = Instant::from_nanos(number * 14_000);
            let text = format!("we do not know option {number} of LCP");
            narrator.line(&Line { at, kind: Kind::Refusal, text });
            narrator.due(at, false);
        }
        let at = Instant::from_nanos(4_000_000_000);
        narrator.line(&Line { at, kind: Kind::State, text: "LCP is Opened".to_owned() });
        narrator.due(at, true);
        let state = said.iter().filter(|line| line.contains("LCP is Opened")).count();
        assert_eq!((state, said.len() < 110), (1, true), "{}", said.len());
        let of_refusals = said.iter().filter(|line| line.contains("we do not know"));
        let counted: u64 = of_refusals
            .map(|line| {
                let (_, more) = line.split_once("(and ").unwrap_or(("", "0 "));
                1 + more.split(' ').next().unwrap().parse::<u64>().unwrap()
            })
            .sum();
        assert_eq!(counted, 280_000);
        let is_json = |line: &String| serde_json::from_str::<serde_json::Value>(line).is_ok();
        assert!(form == OutputFormat::Text || said.iter().all(is_json));
    }
}

/// Between two devices: what comes from the kernel goes to PPP under its version's protocol.
#[test]
fn a_relay_sorts_datagrams_by_their_version() {
    use kumiki_graph::{Indication, Key, Request, Service, Unit, UnitOptions};

    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    let link = graph.add_device("ppp", Service::UNIT_DATA).unwrap();
    let tun = graph.add_device("tun", Service::UNIT_DATA).unwrap();
    graph.add_node("relay", task, Box::new(Relay)).unwrap();
    graph.connect("relay", "ppp").unwrap();
    graph.connect("relay", "tun").unwrap();
    let now = Instant::ZERO;
    graph.start(now).unwrap();
    for octets in [&[0x45, 1][..], &[0x60, 2], &[0x10, 3], &[]] {
        let unit = Unit::of(Message::from_octets(octets));
        graph.input(now, tun, Indication::Unit(Box::new(unit)));
    }
    // The last has come under the other version's number.
    for (number, octets) in [(0x0021, [0x45, 4]), (0x0057, [0x60, 5]), (0x0021, [0x60, 6])] {
        let options = UnitOptions { under: Some(Key::of(PPP_PROTOCOL, number)), ..UnitOptions::NONE };
        let back = Unit { options, ..Unit::of(Message::from_octets(&octets)) };
        graph.input(now, link, Indication::Unit(Box::new(back)));
    }
    graph.input(now, link, Indication::Report(Box::new(Report::Down)));
    while graph.waiting(task).is_some() {
        graph.run(task, now, 100);
    }
    let out = core::iter::from_fn(|| graph.output());
    let out: Vec<_> = out
        .map(|output| {
            let Request::Unit(unit) = output.request else {
                panic!("not a unit");
            };
            (output.device, unit.options.under, unit.data.to_vec())
        })
        .collect();
    let under = |number| Some(Key::of(PPP_PROTOCOL, number));
    assert_eq!(
        out,
        [
            (link, under(0x0021), vec![0x45, 1]),
            (link, under(0x0057), vec![0x60, 2]),
            (tun, None, vec![0x45, 4]),
            (tun, None, vec![0x60, 5]),
        ]
    );
}
