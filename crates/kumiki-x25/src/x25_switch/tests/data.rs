//! Data, interrupts and resets of calls that stand.

use proptest::prelude::*;

use super::*;

#[test]
fn interrupts_are_confirmed_from_end_to_end_and_none_is_lost() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    for octet in 0..50 {
        net.interrupt(0, octet);
    }
    net.interrupt(1, 99);
    let all: Vec<Vec<u8>> = (0..50).map(|octet| vec![octet]).collect();
    assert_eq!(net.dtes[1].interrupts, all);
    assert_eq!(net.dtes[0].interrupts, [[99]]);
    assert_eq!(net.protocol().counters().interrupts, 51);
}

#[test]
fn a_reset_goes_through_with_its_cause_and_nothing_old_comes_after_it() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    net.dtes[1].takes = false;
    for octet in 0..10 {
        net.send(0, &[octet], true, false, false);
    }
    let before = net.dtes[1].got.len();
    assert!(before < 10);
    net.reset(0, 0, 55);
    let [reason] = net.dtes[1].resets.as_slice() else {
        panic!("{:?}", net.dtes[1].resets);
    };
    assert_eq!(told(reason.clone()), (0, 55));
    net.dtes[1].takes = true;
    net.send(0, b"new", true, false, false);
    net.send(1, b"back", true, false, false);
    assert_eq!(net.dtes[1].got[before..], [(b"new".to_vec(), true, false, false)]);
    assert_eq!(net.dtes[0].got, [(b"back".to_vec(), true, false, false)]);
    assert!(net.events().iter().any(|it| matches!(it, CallEvent::Reset { by, diagnostic: 55, .. } if by == "a")));
}

/// The ends are told cause and diagnostic; a log has room for what was wrong.
#[test]
fn what_an_end_broke_is_told_to_the_log() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    net.held = Some(1);
    net.send(0, b"to be seen on which channel", true, false, false);
    let [(_, unit)] = &core::mem::take(&mut net.kept)[..] else { panic!("one packet") };
    let Some(&[format, channel, _]) = unit.data.to_vec().first_chunk() else { panic!("a header") };
    let [_, switch] = net.dtes[1].line;
    // P(S) is 7, which is not in the window; what is in it is a user's.
    net.bench.octets(switch, &[&[format, channel, 0x0e][..], b"secret"].concat());
    net.held = None;
    net.run();
    let events = net.events();
    let [.., CallEvent::Reset { by, found: Some(found), .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(
        (by.as_str(), found.to_string()),
        ("b", format!("X.25: the peer broke the protocol: invalid P(S) (octets {format:02x} {channel:02x} 0e ...)"))
    );
}

#[test]
fn an_interrupt_in_the_middle_of_a_reset_waits_for_its_end() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    let both = [0, 1].map(|n| net.dtes[n].session.unwrap());
    // The reset does not get to the other end, and the interrupt comes behind it.
    net.held = Some(1);
    let (session, reason) = (both[0], Reason::User);
    net.say(0, Request::Reset { session, reason });
    net.interrupt(0, 7);
    let resets = net.kept.iter().filter(|(_, unit)| unit.data.to_vec()[2] == 0x1b);
    assert_eq!((resets.count(), net.kept.len()), (1, 1));
    net.held = None;
    for (to, unit) in core::mem::take(&mut net.kept) {
        net.bench.receive(to, unit);
    }
    net.run();
    assert_eq!(net.dtes[1].interrupts, [[7]]);
    net.interrupt(0, 8);
    assert_eq!(net.dtes[1].interrupts, [[7], [8]]);
}

#[test]
fn who_does_not_read_stops_who_sends_and_little_waits_between() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    net.dtes[1].takes = false;
    let mut sent = 0_u8;
    for _ in 0..20 {
        while net.dtes[0].credit > 0 {
            net.send(0, &[sent], true, false, false);
            sent += 1;
        }
        net.pass(Duration::from_secs(1));
    }
    // What both interfaces have windows for at each end, and the user's own seven.
    assert!((7..=40).contains(&sent), "{sent}");
    net.dtes[1].takes = true;
    net.take(1);
    net.pass(Duration::from_secs(5));
    let all: Vec<ReceivedData> = (0..sent).map(|octet| (vec![octet], true, false, false)).collect();
    assert_eq!(net.dtes[1].got, all);
    assert!(net.dtes[0].credit > 0);
}

/// What one side sends: its length, Q and D.
fn messages() -> impl Strategy<Value = Vec<(usize, bool, bool)>> {
    prop::collection::vec((0_usize..700, any::<bool>(), any::<bool>()), 0..12)
}

/// The messages that packets are parts of, by Q.
fn joined(packets: &[ReceivedData]) -> Vec<(Vec<u8>, bool)> {
    let mut all = Vec::new();
    let mut message = Vec::new();
    for (data, end, qualified, _) in packets {
        message.extend_from_slice(data);
        if *end {
            all.push((core::mem::take(&mut message), *qualified));
        }
    }
    assert!(message.is_empty(), "a message has no end");
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever windows and packet sizes the two interfaces have, and however slowly each end reads: what went in comes
    /// out.
    #[test]
    fn what_goes_in_comes_out(
        sent in [messages(), messages()],
        packets in [4_u32..11, 4_u32..11],
        windows in [1_u8..8, 1_u8..8],
        lazy in [any::<bool>(), any::<bool>()],
        split in 1_usize..300,
        delivery in any::<bool>(),
    ) {
        let config = Config { routes: vec![route("2", &["b"])], ..Config::default() };
        let mut net = Net::new(config, |n, config| {
            let (packet, window) = (1 << packets[n % 2], windows[n % 2]);
            (config.wanted.packet_out, config.wanted.packet_in) = (packet, packet);
            (config.wanted.window_out, config.wanted.window_in) = (window, window);
        });
        net.set_up(0, 1, x25::Call { delivery, ..x25::Call::default() });
        for n in [0, 1] {
            net.dtes[n].takes = !lazy[n];
        }
        // Parts of messages as they are handed down: a message is one after the other.
        let mut waiting: [Vec<ReceivedData>; 2] = [Vec::new(), Vec::new()];
        let mut asked = [0_u32; 2];
        for n in [0, 1] {
            for (number, (length, qualified, wants)) in sent[n].iter().enumerate() {
                let octets: Vec<u8> = (0..*length).map(|at| u8::try_from((at * 7 + number) % 251).unwrap()).collect();
                let wants = *wants && delivery;
                let mut parts: Vec<&[u8]> = octets.chunks(split).collect();
                if parts.is_empty() {
                    parts.push(&[]);
                }
                let last = parts.len() - 1;
                for (at, part) in parts.into_iter().enumerate() {
                    let end = at == last;
                    // Now and then also in the middle of a message.
                    let wants = wants && (end || at % 3 == 1);
                    asked[n] += u32::from(wants);
                    waiting[n].push((part.to_vec(), end, *qualified, wants));
                }
            }
            waiting[n].reverse();
        }
        for turn in 0..4000 {
            for n in [0, 1] {
                while net.dtes[n].credit > 0 && let Some((part, end, qualified, wants)) = waiting[n].pop() {
                    net.send(n, &part, end, qualified, wants);
                }
                if turn % 3 == n && net.dtes[n].held > 0 {
                    net.take(n);
                    net.run();
                }
            }
            net.pass(Duration::from_millis(100));
            let done = waiting.iter().all(Vec::is_empty) && net.dtes.iter().all(|dte| dte.held == 0);
            if done && net.dtes[0].confirmed + net.dtes[1].confirmed == asked[0] + asked[1] {
                break;
            }
        }
        for n in [0, 1] {
            prop_assert!(net.dtes[n].ended.is_none() && net.dtes[n].resets.is_empty());
            let wanted: Vec<(Vec<u8>, bool)> = sent[n].iter().enumerate().map(|(number, (length, qualified, _))| {
                ((0..*length).map(|at| u8::try_from((at * 7 + number) % 251).unwrap()).collect(), *qualified)
            }).collect();
            prop_assert_eq!(joined(&net.dtes[1 - n].got), wanted);
            prop_assert_eq!(net.dtes[n].confirmed, asked[n]);
        }
    }
}
