//! What the SYNs of a connection agree on, whatever becomes of them.

use kumiki_graph::{Address, Mode, Quality, Request};
use kumiki_wire::inet::EcnUse;
use kumiki_wire::inet::IpQuality;
use kumiki_wire::inet::ipv4::Ecn as Codepoint;
use kumiki_wire::inet::tcp::accecn::{AccEcn, Order};
use kumiki_wire::inet::tcp::{Flags, Header};

use super::super::pair::*;
use super::{ace, between, marks, modes, seen, with};
use crate::tcp::Config;
use crate::tcp::config::SynCookies;

const USES: [EcnUse; 4] = [EcnUse::Off, EcnUse::Passive, EcnUse::Classic, EcnUse::Accurate];

/// RFC 3168 section 6.1.1; RFC 9768 section 3.1.2, table 2.
#[test]
fn both_ends_agree_on_the_best_that_both_know() {
    for a in USES {
        for b in USES {
            let pair = between(a, b).connected();
            let expected = match (a, b) {
                (EcnUse::Off | EcnUse::Passive, _) | (_, EcnUse::Off) => (0, 0),
                (EcnUse::Accurate, EcnUse::Accurate | EcnUse::Passive) => (0, 1),
                (EcnUse::Classic, _) | (EcnUse::Accurate, EcnUse::Classic) => (1, 0),
            };
            for host in [A, B] {
                assert_eq!(modes(&pair, host), expected, "{a:?} calls {b:?}");
            }
        }
    }
}

/// The user of a connection may choose otherwise than the configuration.
#[test]
fn each_open_has_its_own_choice() {
    let quality =
        |ecn| Quality { special: IpQuality { ecn: Some(ecn), ..IpQuality::NONE }.into(), ..Quality::default() };
    for (ecn, expected) in [(EcnUse::Off, (0, 0)), (EcnUse::Classic, (1, 0)), (EcnUse::Accurate, (0, 1))] {
        let mut pair = between(EcnUse::Off, EcnUse::Classic);
        let listen = open(Mode::Passive { backlog: 5 }, Address::NONE, PORT);
        let call = open(Mode::Active, address(B, PORT), 0);
        for (host, mut request, ecn) in [(B, listen, EcnUse::Passive), (A, call, ecn)] {
            if let Request::Open(open) = &mut request {
                open.quality = quality(ecn);
            }
            pair.ask(host, vec![request]);
        }
        pair.run_for(ms(300));
        assert_eq!((modes(&pair, A), modes(&pair, B)), (expected, expected));
    }
}

/// RFC 3168 section 6.1.1.1, RFC 9768 section 3.1.4.1.
#[test]
fn a_syn_that_is_not_answered_asks_twice_and_then_no_more() {
    for (ecn, asking) in [(EcnUse::Classic, 0b011), (EcnUse::Accurate, 0b111)] {
        let config = with(ecn);
        let mut pair = Pair::with_rule(config.clone(), config, move |packet| {
            // Somebody on the way does not let such SYNs pass.
            if packet.has(Flags::SYN) && ace(packet) > 1 { Vec::new() } else { vec![ms(10)] }
        });
        pair.listen(B, 5);
        pair.call(A);
        pair.run_for(ms(10_000));
        assert!(pair.app(A).session.is_some(), "{ecn:?}");
        let syns: Vec<u16> = pair.log.iter().filter(|it| it.from == A).map(ace).collect();
        assert_eq!(syns[..3], [asking, asking, 0], "{ecn:?}");
        pair.write(A, &numbered(3000));
        pair.run_for(ms(300));
        assert_eq!(pair.app(B).received.len(), 3000);
        assert_eq!((modes(&pair, A), modes(&pair, B)), ((0, 0), (0, 0)));
        assert_eq!(pair.counters(A).ect_sent, 0);
    }
}

/// RFC 3168 section 6.1.1: who has sent a SYN without must not set ECT. RFC 9768 section 3.1.4.1: an accurate client
/// may.
#[test]
fn after_a_plain_syn_a_late_answer_to_an_asking_one_still_counts() {
    for (ecn, ect) in [(EcnUse::Classic, 0), (EcnUse::Accurate, 3)] {
        let config = with(ecn);
        let mut pair = Pair::with_rule(config.clone(), config, move |packet| {
            match (packet.from, packet.has(Flags::SYN)) {
                // The first SYN,ACK is slow, and all others are lost.
                (B, true) if packet.at.as_nanos() < 500_000_000 => vec![ms(3_900)],
                (B, true) => Vec::new(),
                _ => vec![ms(10)],
            }
        });
        pair.listen(B, 5);
        pair.call(A);
        pair.run_for(ms(5_000));
        assert!(pair.app(A).session.is_some(), "{ecn:?}");
        assert!(seen(&pair, A, 0, ace).contains(&0), "a SYN without");
        pair.write(A, &numbered(3000));
        pair.run_for(ms(1000));
        assert_eq!(pair.app(B).received.len(), 3000);
        assert_eq!(pair.counters(A).ect_sent, ect, "{ecn:?}");
        // The server has received a SYN without, and never sets it (RFC 9768 section 3.1.5).
        pair.write(B, &numbered(3000));
        pair.run_for(ms(1000));
        assert_eq!(pair.app(A).received.len(), 3000);
        assert_eq!(pair.counters(B).ect_sent, 0, "{ecn:?}");
    }
}

/// RFC 3168 section 6.1.1; RFC 9768 section 2.5: a classic caller cannot learn that its SYN was marked.
#[test]
fn a_classic_syn_that_comes_marked_is_answered_without_ecn() {
    for codepoint in [Codepoint::Ce, Codepoint::Ect0, Codepoint::Ect1] {
        let mut pair = between(EcnUse::Classic, EcnUse::Passive).by(move |packet| packet.ecn = codepoint).connected();
        pair.write(A, &numbered(3000));
        pair.run_for(ms(300));
        assert_eq!((modes(&pair, A), modes(&pair, B)), ((0, 0), (0, 0)));
        assert_eq!(pair.app(B).received.len(), 3000);
    }
}

/// RFC 9768 sections 3.1.1, 3.2.1, 3.2.2.1 and 3.2.3.2.1.
#[test]
fn an_accurate_handshake_tells_how_both_syns_came() {
    for (syn, code) in
        [(Codepoint::NotEct, 0b010), (Codepoint::Ect1, 0b011), (Codepoint::Ect0, 0b100), (Codepoint::Ce, 0b110)]
    {
        for (syn_ack, acknowledgment) in
            [(Codepoint::NotEct, 0b010), (Codepoint::Ect1, 0b011), (Codepoint::Ect0, 0b100), (Codepoint::Ce, 0b110)]
        {
            let mut pair = between(EcnUse::Accurate, EcnUse::Passive)
                .by(move |packet| {
                    if packet.has(Flags::SYN) {
                        packet.ecn = if packet.from == A { syn } else { syn_ack };
                    }
                })
                .connected();
            assert_eq!(seen(&pair, A, 0, ace), [0b111, acknowledgment]);
            assert_eq!(seen(&pair, B, 0, ace), [code]);
            let option = |host: usize, n: usize| seen(&pair, host, 0, |it| it.header.options.accecn)[n];
            let first = AccEcn::new(Order::Zero, 3, 1, 0, 1);
            assert_eq!(option(A, 0), None, "never on a SYN");
            assert_eq!((option(B, 0), option(A, 1)), (Some(first), Some(first)));
            // An ECN field that was changed on the way is none to be used (section 3.2.2.3).
            pair.write(A, &numbered(3000));
            pair.write(B, &numbered(3000));
            pair.run_for(ms(500));
            let uses = |codepoint| if codepoint == Codepoint::NotEct { 3 } else { 0 };
            assert_eq!(pair.counters(A).ect_sent, uses(syn));
            assert_eq!(pair.counters(B).ect_sent, uses(syn_ack));
            // The mark of the SYN,ACK is counted at both ends, that of the SYN at none (section 3.2.2.2).
            let marked = 5 + u32::from(syn_ack == Codepoint::Ce);
            assert_eq!(pair.tcp(A).counted_marks(), [(marked, 5)]);
            assert_eq!(pair.tcp(B).counted_marks(), [(5, marked)]);
            assert_eq!(pair.counters(A).ecn_reductions, 0);
        }
    }
}

/// RFC 9768 section 3.2.2.1: before data, an acknowledgment without.
#[test]
fn a_client_with_data_acknowledges_the_syn_ack_by_itself_first() {
    let mut pair = between(EcnUse::Accurate, EcnUse::Accurate);
    pair.listen(B, 5);
    pair.app(A).outbox.push_back(kumiki_octets::Message::from_octets(&numbered(100)));
    pair.call(A);
    pair.run_for(ms(300));
    let sent = seen(&pair, A, 0, |it| (it.len(), ace(it)));
    assert_eq!(sent[..3], [(0, 0b111), (0, 0b010), (100, 5)]);
    assert_eq!(pair.app(B).received.len(), 100);
    // The first data shows the option again, for that acknowledgment is not delivered reliably (section 3.2.3.2.1).
    assert!(seen(&pair, A, 0, |it| it.header.options.accecn.is_some())[2]);
}

/// RFC 9768 section 3.2.2.1: a SYN,ACK that comes again is told of again.
#[test]
fn a_syn_ack_that_comes_again_is_acknowledged_with_how_it_came() {
    let mut pair = Pair::with_rule(with(EcnUse::Accurate), with(EcnUse::Accurate), |packet| {
        if packet.from == B && packet.has(Flags::SYN) { vec![ms(10), ms(300)] } else { vec![ms(10)] }
    })
    .by(|packet| {
        if packet.from == B && packet.has(Flags::SYN) {
            packet.ecn = Codepoint::Ect0;
        }
    })
    .connected();
    assert_eq!(seen(&pair, A, 0, ace), [0b111, 0b100, 0b100]);
    pair.write(A, &numbered(1000));
    pair.run_for(ms(300));
    assert_eq!(pair.app(B).received.len(), 1000);
    assert_eq!(pair.tcp(B).counted_marks(), [(5, 5)]);
}

/// RFC 9768 section 3.2.2.2: what tells how the SYN,ACK arrived is no counter when it is told again, though data is
/// in flight.
#[test]
fn a_second_acknowledgment_of_the_syn_ack_tells_of_no_marks() {
    let config = || Config { timestamps: true, ..with(EcnUse::Accurate) };
    let mut pair = Pair::with_rule(config(), config(), |packet| {
        if packet.from == B && packet.has(Flags::SYN) { vec![ms(10), ms(12)] } else { vec![ms(10)] }
    });
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(31));
    pair.write(B, &numbered(1000));
    pair.run_for(ms(300));
    assert_eq!(seen(&pair, A, 0, ace)[..3], [0b111, 0b010, 0b010]);
    assert_eq!(pair.app(A).received.len(), 1000);
    assert_eq!(pair.tcp(B).counted_marks(), [(5, 5)]);
    assert_eq!(pair.counters(B).ecn_reductions, 0);
}

/// RFC 9768 section 3.2.3.2.2.
#[test]
fn a_syn_ack_that_is_not_answered_loses_its_option_and_then_its_flags() {
    let mut count = 0;
    let mut pair = Pair::with_rule(with(EcnUse::Accurate), with(EcnUse::Accurate), move |packet| {
        if packet.from == B && packet.has(Flags::SYN) {
            count += 1;
            if count <= 2 {
                return Vec::new();
            }
        }
        vec![ms(10)]
    });
    pair.listen(B, 5);
    // A's own SYNs come late, so that it is B's timer that sends again.
    pair.call(A);
    pair.run_for(ms(10_000));
    let answers = seen(&pair, B, 0, |it| (it.has(Flags::SYN), ace(it), it.header.options.accecn.is_some()));
    assert_eq!(answers[0], (true, 0b010, true));
    assert_eq!(answers[1], (true, 0b010, false));
    assert!(pair.app(A).session.is_some());
    pair.write(A, &numbered(5000));
    pair.write(B, &numbered(5000));
    pair.run_for(ms(1000));
    assert_eq!(pair.app(B).received.len(), 5000);
    assert_eq!(pair.app(A).received.len(), 5000);
}

/// RFC 9768 section 3.1.5.
#[test]
fn a_second_syn_that_asks_for_something_else_ends_the_call() {
    let syn = |pair: &Pair, flags| Header { flags: Flags::SYN | flags, ..pair.header(A) };
    for second in [Flags::ECE | Flags::CWR, Flags::NONE] {
        let mut pair = Pair::with_rule(with(EcnUse::Accurate), with(EcnUse::Passive), |packet| {
            if packet.from == B { Vec::new() } else { vec![ms(10)] }
        });
        pair.listen(B, 5);
        pair.call(A);
        // A SYN that comes again sooner has no answer.
        pair.run_for(ms(600));
        let skip = pair.log.len();
        let header = syn(&pair, second);
        pair.inject(B, header, b"");
        let answers = seen(&pair, B, skip, |it| (it.has(Flags::RST), ace(it)));
        let expected = if second == Flags::NONE { (false, 0b010) } else { (true, 0) };
        assert_eq!(answers, [expected]);
    }
}

/// RFC 9768 section 5.1, and classic feedback by a timestamp as Linux has it.
#[test]
fn cookies_remember_what_was_agreed_on() {
    for (a, timestamps, expected) in [
        (EcnUse::Accurate, true, (0, 1)),
        (EcnUse::Accurate, false, (0, 1)),
        (EcnUse::Classic, true, (1, 0)),
        (EcnUse::Classic, false, (0, 0)),
        (EcnUse::Off, true, (0, 0)),
    ] {
        let config = |ecn| Config { timestamps, syn_cookies: SynCookies::Always, ..with(ecn) };
        let mut pair = Pair::new(config(a), config(EcnUse::Passive), ms(10))
            // With timestamps a segment has 988 octets.
            .by(marks(&[3000, 2964]))
            .connected();
        pair.write(A, &numbered(10_000));
        pair.run_for(ms(500));
        assert_eq!(pair.app(B).received.len(), 10_000);
        assert_eq!((modes(&pair, A), modes(&pair, B)), (expected, expected));
        let reactions = u64::from(expected != (0, 0));
        assert_eq!(pair.counters(A).ecn_reductions, reactions, "{a:?}");
    }
}

/// RFC 9768 section 3.1.2, simultaneous open.
#[test]
fn two_ends_that_call_each_other_agree_too() {
    for (a, b, expected) in [
        (EcnUse::Accurate, EcnUse::Accurate, (0, 1)),
        (EcnUse::Classic, EcnUse::Classic, (1, 0)),
        (EcnUse::Off, EcnUse::Off, (0, 0)),
    ] {
        let mut pair = between(a, b).by(marks(&[2000]));
        for host in [A, B] {
            let call = open(Mode::Active, address(1 - host, PORT), PORT);
            pair.app(host).todo.push(call);
        }
        pair.ask(A, Vec::new());
        pair.ask(B, Vec::new());
        pair.run_for(ms(300));
        assert_eq!((modes(&pair, A), modes(&pair, B)), (expected, expected));
        pair.write(A, &numbered(10_000));
        pair.run_for(ms(500));
        assert_eq!(pair.app(B).received.len(), 10_000);
        assert_eq!(pair.counters(A).ecn_reductions, u64::from(expected != (0, 0)));
    }
}

/// The shortest link that IPv4 goes over (RFC 791 section 3.2) has room for 28 octets of options.
#[test]
fn a_syn_ack_that_would_be_too_long_goes_without_its_option() {
    let accurate = || Config { timestamps: true, window_scaling: true, ..with(EcnUse::Accurate) };
    for together in [false, true] {
        let most = IP + 48;
        let mut pair = Pair::seeded(accurate(), accurate(), 1, most, Box::new(|_| vec![ms(10)]));
        if together {
            for host in [A, B] {
                let call = open(Mode::Active, address(1 - host, PORT), PORT);
                pair.app(host).todo.push(call);
                pair.ask(host, Vec::new());
            }
            pair.run_for(ms(300));
        } else {
            pair = pair.connected();
        }
        assert_eq!((modes(&pair, A), modes(&pair, B)), ((0, 1), (0, 1)));
        pair.write(A, &numbered(200));
        pair.run_for(ms(2000));
        assert_eq!(pair.app(B).received, numbered(200));
        assert!(pair.log.iter().all(|packet| packet.size <= most));
    }
}
