//! What comes before a session: callers, cookies, text with a SYN.

use kumiki_graph::Request;
use kumiki_wire::inet::tcp::{Flags, Seq};

use super::pair::*;
use crate::tcp::config::SynCookies;
use crate::tcp::{Config, defaults};

fn listening(config: Config) -> Pair {
    let mut pair = Pair::new(plain(), config, ms(10));
    pair.listen(B, 5);
    pair
}

/// Sequence number of B's SYN,ACK.
fn called(pair: &mut Pair, text: &[u8]) -> u32 {
    pair.first = [None; 2];
    pair.inject(B, from_caller(Flags::SYN, 100, 0), text);
    let answer = pair.log.last().unwrap().header;
    assert_eq!(answer.flags, Flags::SYN | Flags::ACK);
    assert_eq!(answer.ack, Seq(101));
    pair.first = [None; 2];
    answer.seq.0
}

#[test]
fn text_with_a_syn_is_kept_until_the_handshake_is_done() {
    let mut pair = listening(plain());
    let iss = called(&mut pair, b"early ");
    assert!(pair.app(B).received.is_empty());
    pair.inject(B, from_caller(Flags::ACK, 107, iss + 1), b"bird");
    assert_eq!(pair.app(B).heard, ["offered"]);
    assert_eq!(pair.app(B).received, b"early bird");
    assert_eq!(pair.log.last().unwrap().header.ack, Seq(111));
    // Also where the caller sends all of it again, and with a FIN.
    let mut pair = listening(plain());
    pair.inject(B, from_caller(Flags::SYN | Flags::FIN, 100, 0), b"all");
    let iss = pair.log.last().unwrap().header.seq.0;
    pair.first = [None; 2];
    pair.inject(B, from_caller(Flags::ACK, 101, iss + 1), b"all");
    assert_eq!(pair.app(B).received, b"all");
    assert_eq!(pair.app(B).heard, ["offered", "released"]);
}

#[test]
fn a_caller_is_challenged_with_a_window_by_the_scale_that_both_offer() {
    let scaling = Config { window_scaling: true, receive_buffer: 1_000_000, ..plain() };
    // Units of 16; only SYNs have windows without a scale (RFC 7323 section 2.2).
    for (config, offered, told) in
        [(scaling.clone(), Some(3), 65_535 / 16), (scaling, None, 65_535), (plain(), Some(3), 64_000)]
    {
        let mut pair = listening(config);
        let mut syn = from_caller(Flags::SYN, 100, 0);
        syn.options.window_scale = offered;
        pair.inject(B, syn, b"");
        let iss = pair.log.last().unwrap().header.seq.0;
        pair.first = [None; 2];
        pair.inject(B, from_caller(Flags::ACK, 99_999_999, iss + 1), b"x");
        let challenge = pair.log.last().unwrap().header;
        assert_eq!((challenge.flags, challenge.window), (Flags::ACK, told));
    }
}

// RFC 9293: MUST-11
#[test]
fn a_reset_in_syn_received_leads_back_to_listen() {
    let mut pair = listening(plain());
    called(&mut pair, b"");
    assert_eq!(pair.tcp(B).half_open(), 1);
    // Only exactly at the left edge (RFC 5961 section 3.2).
    pair.inject(B, from_caller(Flags::RST, 102, 0), b"");
    pair.inject(B, from_caller(Flags::RST, 99_999_999, 0), b"");
    assert_eq!(pair.tcp(B).half_open(), 1);
    pair.inject(B, from_caller(Flags::RST, 101, 0), b"");
    assert_eq!(pair.tcp(B).half_open(), 0);
    assert!(pair.app(B).heard.is_empty());
    let iss = called(&mut pair, b"");
    pair.inject(B, from_caller(Flags::ACK, 101, iss + 1), b"");
    assert_eq!(pair.app(B).heard, ["offered"]);
}

#[test]
fn a_syn_in_the_window_of_syn_received_leads_back_to_listen_and_the_same_syn_is_answered_again() {
    let mut pair = listening(plain());
    let iss = called(&mut pair, b"");
    assert_eq!(called(&mut pair, b""), iss);
    pair.inject(B, from_caller(Flags::SYN, 150, 0), b"");
    assert_eq!(pair.tcp(B).half_open(), 0);
}

#[test]
fn a_wrong_acknowledgment_in_syn_received_is_reset_and_the_right_one_still_counts() {
    let mut pair = listening(plain());
    let iss = called(&mut pair, b"");
    for wrong in [0, 2, 77_777] {
        pair.first = [None; 2];
        pair.inject(B, from_caller(Flags::ACK, 101, iss.wrapping_add(wrong)), b"");
        let answer = pair.log.last().unwrap().header;
        assert_eq!(answer.flags, Flags::RST);
        assert_eq!(answer.seq.0, iss.wrapping_add(wrong));
    }
    pair.first = [None; 2];
    pair.inject(B, from_caller(Flags::ACK, 101, iss + 1), b"hello");
    assert_eq!(pair.app(B).received, b"hello");
}

#[test]
fn callers_are_refused_when_the_passive_open_ends() {
    let mut pair = listening(plain());
    called(&mut pair, b"");
    let session = pair.app(B).listener.unwrap();
    let data = None;
    pair.ask(B, vec![Request::Release { session, data }]);
    assert_eq!(pair.tcp(B).half_open(), 0);
    assert!(pair.log.last().unwrap().has(Flags::RST));
}

#[test]
fn a_caller_that_never_answers_is_forgotten_after_three_minutes() {
    let mut pair = listening(plain());
    pair.forge(B, 9, from_caller(Flags::SYN, 100, 0), b"");
    pair.run_for(ms(180_000));
    assert_eq!(pair.tcp(B).half_open(), 1);
    pair.run_for(ms(180_000));
    assert_eq!((pair.tcp(B).half_open(), pair.strays), (0, 1 + 7));
}

#[test]
fn a_cookie_opens_a_connection_with_all_that_was_offered() {
    let always = |config: Config| Config { syn_cookies: SynCookies::Always, ..config };
    for (config, options) in [(defaults::modern(), true), (plain(), false)] {
        let mut pair = Pair::new(config.clone(), always(config), ms(10)).connected();
        assert_eq!(pair.tcp(B).half_open(), 0);
        assert_eq!(pair.counters(B).cookies_sent, 1);
        assert_eq!(pair.counters(B).cookies_returned, 1);
        for host in [A, B] {
            pair.write(host, &numbered(300_000));
        }
        pair.run_for(ms(10_000));
        assert_eq!(pair.app(A).received, numbered(300_000));
        assert_eq!(pair.app(B).received, numbered(300_000));
        let last = pair.log.last().unwrap().header;
        assert_eq!(last.options.timestamps.is_some(), options);
        assert_eq!(pair.counters(A).retransmissions, 0);
    }
    // Without timestamps there is no place for shift count and SACK, and none is offered.
    let without = Config { timestamps: false, ..defaults::modern() };
    let mut pair = Pair::new(without.clone(), always(without), ms(10)).connected();
    let answer = pair.log[1].header.options;
    assert!(answer.window_scale.is_none() && !answer.sack_permitted);
    pair.write(A, &numbered(300_000));
    pair.run_for(ms(10_000));
    assert_eq!(pair.app(B).received, numbered(300_000));
}

#[test]
fn the_first_text_may_bring_a_cookie_back_where_the_acknowledgment_is_lost() {
    let config = Config { syn_cookies: SynCookies::Always, ..plain() };
    let mut pair =
        Pair::with_rule(plain(), config, |packet| if packet.number == 2 { Vec::new() } else { vec![ms(10)] });
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(100));
    assert!(pair.app(B).heard.is_empty());
    pair.write(A, b"hello");
    pair.run_for(ms(100));
    assert_eq!(pair.app(B).received, b"hello");
}

#[test]
fn text_behind_lost_text_does_not_end_what_a_cookie_can_still_begin() {
    let config = Config { syn_cookies: SynCookies::Always, ..plain() };
    // The acknowledgment and the first text are lost.
    let mut pair = Pair::with_rule(plain(), config, |packet| match packet.number {
        2 | 3 => Vec::new(),
        _ => vec![ms(10)],
    });
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(100));
    pair.write(A, &numbered(3000));
    pair.run_for(ms(5_000));
    assert_eq!(pair.app(B).received, numbered(3000));
    assert_eq!(pair.counters(B).resets_sent, 0);
}

#[test]
fn a_cookie_that_comes_back_when_memory_is_spent_opens_nothing_until_there_is_some() {
    let config = Config { syn_cookies: SynCookies::Always, memory: 16 * 1024, ..plain() };
    let mut pair = listening(config);
    pair.app(A).idle = true;
    let iss = called(&mut pair, b"");
    pair.call(A);
    pair.run_for(ms(100));
    pair.write(B, &numbered(100_000));
    pair.run_for(ms(1_000));
    pair.first = [None; 2];
    let back = from_caller(Flags::ACK, 101, iss + 1);
    let before = pair.counters(B).out_of_memory;
    pair.inject(B, back, b"");
    assert_eq!((pair.tcp(B).connections(), pair.counters(B).out_of_memory), (1, before + 1));
    for _ in 0..10 {
        pair.take(A, 64_000);
        pair.run_for(ms(100));
    }
    pair.first = [None; 2];
    pair.inject(B, back, b"");
    assert_eq!((pair.tcp(B).connections(), pair.counters(B).resets_sent), (2, 0));
}

#[test]
fn an_acknowledgment_that_brings_no_cookie_is_reset() {
    let config = Config { syn_cookies: SynCookies::Always, ..plain() };
    let mut pair = listening(config);
    let iss = called(&mut pair, b"");
    pair.inject(B, from_caller(Flags::ACK, 101, iss + 0x12_3456), b"");
    assert_eq!(pair.log.last().unwrap().header.flags, Flags::RST);
    // An old one either.
    pair.run_for(ms(128_000));
    pair.first = [None; 2];
    pair.inject(B, from_caller(Flags::ACK, 101, iss + 1), b"");
    assert_eq!(pair.log.last().unwrap().header.flags, Flags::RST);
    assert_eq!(pair.tcp(B).connections(), 0);
}
