//! Who the ends are.

use kumiki_wire::ppp::ppp::{Header, chap, pap, protocol};

use super::link::{DELAY, LineFate, Link};
use super::negotiation::{SECOND, against, pair};
use crate::ppp_daemon::misbehave::Script;
use crate::ppp_daemon::{Config, End, Method, Methods, Phase, Secret, chap_md5};
use kumiki_testkit::bench::hex;

/// Both ends know each other's secret; `near` asks by `near`, `far` by `far`.
pub(super) fn secretive(near: Methods, far: Methods) -> [Config; 2] {
    let asks = [near, far];
    let names = ["near", "far"];
    let mut ends = pair();
    for (end, config) in ends.iter_mut().enumerate() {
        config.auth = asks[end];
        config.name = names[end].to_owned();
        config.secret = Some(format!("secret of {}", names[end]));
        config.secrets =
            vec![Secret { name: names[1 - end].to_owned(), secret: format!("secret of {}", names[1 - end]) }];
    }
    ends
}

fn is_up(link: &mut Link) -> bool {
    link.end(0).phase() == Phase::Network && link.end(1).phase() == Phase::Network
}

/// Recorded exchanges: link.md, 1.4; the first one is of pppd.
#[test]
fn the_hash_of_chap_is_that_of_other_implementations() {
    let challenge = hex("5fdd03f885bd62f7e53a1f9b44306a1bba");
    let hash = hex("392bd78beab9d489102f094ee2fe6f86");
    assert_eq!(chap_md5(0xd1, b"secret", &challenge).to_vec(), hash);
    let challenge = hex("000102030405060708090a0b0c0d0e0f");
    let hash = hex("740e86463bda3a4d7017d6e0fba0699d");
    assert_eq!(chap_md5(1, b"secret", &challenge).to_vec(), hash);
}

#[test]
fn each_end_asks_in_its_own_way_and_both_come_in() {
    use Methods::{Chap, Either, None, Pap};
    for near in [None, Pap, Chap, Either] {
        for far in [None, Pap, Chap, Either] {
            let mut link = Link::new(secretive(near, far));
            link.pass(SECOND);
            assert!(is_up(&mut link), "{near} {far}\n{}", link.transcript());
            let name = (near != None).then_some(&b"far"[..]);
            assert_eq!(link.end(0).peer_name(), name);
            assert!(link.carries(0, &[0x45, 1]));
            let text = link.transcript();
            assert!(!text.contains("secret of"), "a secret is in the log: {text}");
        }
    }
}

#[test]
fn a_wrong_secret_keeps_the_peer_out_and_it_is_told() {
    for (method, asks) in [(Method::Pap, Methods::Pap), (Method::Chap, Methods::Chap)] {
        let [near, mut far] = secretive(asks, Methods::None);
        far.secret = Some("wrong".to_owned());
        let mut link = Link::new([near, far]);
        link.pass(SECOND * 10);
        let words = link.transcript();
        let name = b"far".to_vec();
        assert_eq!(link.ended(0), Some(End::NotLetIn { name }), "{method}\n{words}");
        let message = b"unknown name or wrong secret".to_vec();
        assert_eq!(link.ended(1), Some(End::Refused { message }), "{method}\n{words}");
        let text = link.ended(1).unwrap().to_string();
        assert_eq!(text, "authentication failed: \"unknown name or wrong secret\"");
        assert_eq!(link.count(0, "phase Network"), 0, "{words}");
    }
}

#[test]
fn an_unknown_name_and_our_own_name_are_kept_out() {
    for name in ["nobody", "near"] {
        let [mut near, mut far] = secretive(Methods::Chap, Methods::None);
        far.name = name.to_owned();
        // A peer with our own name answers our own challenge with our own secret: it may be a reflection.
        near.secrets.push(Secret { name: "near".to_owned(), secret: "secret of far".to_owned() });
        let mut link = Link::new([near, far]);
        link.pass(SECOND * 10);
        let name = name.as_bytes().to_vec();
        assert_eq!(link.ended(0), Some(End::NotLetIn { name }), "{}", link.transcript());
    }
}

#[test]
fn methods_are_bargained_for() {
    // The far end does PAP alone; near asks for CHAP first.
    let [near, mut far] = secretive(Methods::Either, Methods::None);
    far.prove = Methods::Pap;
    let mut link = Link::new([near, far.clone()]);
    link.pass(SECOND);
    let words = link.transcript();
    assert!(is_up(&mut link), "{words}");
    assert!(link.says(0, "the peer will not use CHAP with MD5; it would use auth pap"), "{words}");
    assert!(link.says(1, "we refuse auth chap MD5: we can do PAP"), "{words}");

    // Near insists on CHAP.
    let [near, _] = secretive(Methods::Chap, Methods::None);
    let mut link = Link::new([near, far]);
    link.pass(SECOND * 10);
    assert_eq!(link.ended(0), Some(End::WillNotSayWho), "{}", link.transcript());

    // A peer that cannot say who it is at all is not let in.
    let [near, mut far] = secretive(Methods::Either, Methods::None);
    far.secret = None;
    let mut link = Link::new([near, far]);
    link.pass(SECOND * 10);
    assert_eq!(link.ended(0), Some(End::WillNotSayWho));
    assert!(link.says(1, "we have no secret"), "{}", link.transcript());
}

#[test]
fn what_is_lost_is_said_again() {
    for script in [
        "drop 2 of PAP AuthReq\ndrop 2 of CHAP Response",
        "ignore 2 of PAP AuthAck\nignore 2 of CHAP Success",
        "ignore 2 of CHAP Challenge",
    ] {
        for asks in [Methods::Pap, Methods::Chap] {
            let [near, mut far] = secretive(asks, Methods::None);
            far.script = Some(Script::parse(script).unwrap());
            let mut link = Link::new([near, far]);
            link.pass(SECOND * 30);
            // RFC 1994 section 4.1: near goes on after its Success; far, which has not heard it, is not asked again and
            // gives up later. That is the standard's gap for CHAP, and why Success may be repeated.
            if script.contains("Success") && asks == Methods::Chap {
                assert_eq!(link.end(0).phase(), Phase::Network);
                continue;
            }
            assert!(is_up(&mut link), "{script} {asks}\n{}", link.transcript());
        }
    }
}

#[test]
fn who_says_nothing_is_given_up() {
    for (script, peer) in [("drop PAP any\ndrop CHAP any", true), ("ignore PAP any", true)] {
        for asks in [Methods::Pap, Methods::Chap] {
            if script.starts_with("ignore") && asks == Methods::Chap {
                continue;
            }
            let [near, mut far] = secretive(asks, Methods::None);
            far.script = Some(Script::parse(script).unwrap());
            let mut link = Link::new([near, far]);
            link.pass(SECOND * 60);
            let words = link.transcript();
            if script.starts_with("ignore") {
                // It was let in and never heard so.
                assert_eq!(link.ended(1), Some(End::NeverSaidWho { peer: false }), "{words}");
                assert!(link.count(1, "sent PAP AuthReq") <= 10);
            } else {
                assert_eq!(link.ended(0), Some(End::NeverSaidWho { peer }), "{words}");
            }
        }
    }
}

#[test]
fn a_peer_is_challenged_again_while_the_link_runs() {
    let [mut near, far] = secretive(Methods::Chap, Methods::None);
    near.rechallenge = Some(SECOND * 10);
    let mut link = Link::new([near.clone(), far.clone()]);
    link.pass(SECOND * 35);
    assert!(is_up(&mut link));
    assert_eq!(link.count(0, "sent CHAP Challenge"), 4, "{}", link.transcript());
    // Another identifier and value each time.
    let mut seen = std::collections::BTreeSet::new();
    for (_, frame) in &link.frames {
        let (header, len) = Header::parse(frame).unwrap();
        if header.protocol == protocol::CHAP {
            let (packet, _) = chap::Packet::parse(&frame[len..]).unwrap();
            if let chap::Message::Challenge { value, .. } = packet.message {
                assert!(seen.insert(value.to_vec()));
                assert!(seen.insert(vec![packet.identifier]));
            }
        }
    }
    // One that no longer answers is put out.
    let mut far = far;
    far.script = Some(Script::parse("then when IPCP opened\nignore CHAP Challenge").unwrap());
    let mut link = Link::new([near, far]);
    link.pass(SECOND * 60);
    assert_eq!(link.ended(0), Some(End::NeverSaidWho { peer: true }), "{}", link.transcript());
}

/// A peer that answers each response once more, right after the first.
#[test]
fn answers_are_repeated_and_do_not_change() {
    let mut link = Link::new(secretive(Methods::Pap, Methods::None));
    link.pass(SECOND);
    assert!(is_up(&mut link));
    link.frames.clear();
    // RFC 1334 section 2.2.1: after the phase a request has the same answer, though the password is wrong now.
    let mut request = hex("ff03c023");
    let message = pap::Message::Request { peer_id: b"far", password: b"wrong" };
    let packet = pap::Packet { identifier: 77, message };
    let mut octets = vec![0; packet.len()];
    packet.emit(&mut octets);
    request.extend(octets);
    link.octets(0, &request);
    link.pass(DELAY * 2);
    let ack = link.frames.first().map(|(_, frame)| frame[..6].to_vec());
    assert_eq!(ack, Some(hex("ff03c023 024d")));
    assert!(is_up(&mut link));

    // RFC 1994 section 4.1: nor does a second response to the same challenge find out more.
    let seen = std::rc::Rc::new(core::cell::RefCell::new(Vec::new()));
    let kept = seen.clone();
    let way: LineFate = Box::new(move |from, frame| {
        if from == 1 && frame.starts_with(&hex("ff03c223 02")) {
            let mut last = frame.clone();
            let end = last.len() - 4;
            last[end - 10] ^= 1;
            kept.borrow_mut().push(last.clone());
            return vec![(0, frame), (0, last)];
        }
        vec![(1 - from, frame)]
    });
    let mut link = Link::over(secretive(Methods::Chap, Methods::None), way);
    link.pass(SECOND);
    assert!(is_up(&mut link), "{}", link.transcript());
    assert_eq!(seen.borrow().len(), 1);
    assert_eq!(link.count(0, "sent CHAP Success"), 2);
}

/// RFC 1994 section 1: where both directions have one secret, a peer that hands our challenge back would get the answer
/// to it from us.
#[test]
fn our_own_challenge_is_not_answered() {
    let mut ends = secretive(Methods::Chap, Methods::Chap);
    for end in &mut ends {
        end.secret = Some("one for both".to_owned());
        for entry in &mut end.secrets {
            entry.secret = "one for both".to_owned();
        }
    }
    // What the near end asks comes back to it, and the far end hears nothing of it.
    let way: LineFate = Box::new(|from, frame| {
        let is_challenge = frame.starts_with(&hex("ff03c223 01"));
        match (from, is_challenge) {
            (0, true) => vec![(0, frame)],
            (1, true) => Vec::new(),
            _ => vec![(1 - from, frame)],
        }
    });
    let mut link = Link::over(ends, way);
    link.pass(SECOND * 5);
    assert_eq!(link.count(0, "sent CHAP Response"), 0, "{}", link.transcript());
    assert_eq!(link.ended(0), Some(End::LoopedBack));
}

#[test]
fn nobody_passes_before_both_ends_know_each_other() {
    let [near, mut far] = secretive(Methods::Pap, Methods::None);
    far.script = Some(
        Script::parse("drop PAP AuthReq\nsend IPCP ConfReq 03060a000002 after 100ms\nsend raw ff03002145 after 100ms")
            .unwrap(),
    );
    let mut link = Link::new([near, far]);
    link.pass(SECOND);
    assert_eq!(link.end(0).phase(), Phase::Authenticate);
    assert_eq!(link.count(0, "sent IPCP"), 0, "{}", link.transcript());
    assert_eq!(link.count(0, "sent LCP ProtRej"), 0);
    assert!(!link.carries(0, &[0x45, 1]));
    let mut plain = Link::new(against("send CHAP Challenge 10000102030405060708090a0b0c0d0e0f after 100ms"));
    plain.pass(SECOND);
    // What nobody agreed to is not answered.
    assert_eq!(plain.count(0, "sent CHAP"), 0);
}
