//! Orderly and disorderly ends.

use kumiki_wire::tcp::{Flags, Seq};

use super::pair::*;

#[test]
fn both_ends_may_close_at_once() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    pair.release(A);
    pair.release(B);
    pair.run_for(ms(100));
    assert_eq!(
        pair.taken_log(),
        [
            "0.500 a F. 1:1(0) ack 1 win 64000",
            "0.500 b F. 1:1(0) ack 1 win 64000",
            "0.510 a . 2:2(0) ack 2 win 63999",
            "0.510 b . 2:2(0) ack 2 win 63999",
        ]
    );
    for host in [A, B] {
        assert!(
            pair.app(host)
                .heard
                .ends_with(&["released".into(), "closed".into()])
        );
        assert_eq!(pair.tcp(host).connections(), 1);
    }
    pair.run_for(ms(61_000));
    assert_eq!(
        (pair.tcp(A).connections(), pair.tcp(B).connections()),
        (0, 0)
    );
}

#[test]
fn after_a_half_close_the_other_direction_goes_on() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, b"question");
    pair.release(A);
    pair.run_for(ms(50));
    assert_eq!(pair.app(B).heard, ["offered", "released"]);
    pair.write(B, &numbered(5000));
    pair.run_for(ms(500));
    assert_eq!(pair.app(A).received, numbered(5000));
    pair.release(B);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["opened", "released", "closed"]);
    assert_eq!(pair.app(B).heard, ["offered", "released", "closed"]);
}

#[test]
fn a_closed_port_answers_with_a_reset() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["aborted: Refused"]);
    let reset = &pair.log[1];
    assert_eq!(reset.header.flags, Flags::RST | Flags::ACK);
    assert_eq!(reset.header.seq, Seq(0));
    assert_eq!(reset.header.ack, pair.log[0].header.seq + 1);
    assert_eq!(pair.tcp(A).connections(), 0);
}

#[test]
fn an_abort_resets_the_peer() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, &numbered(100));
    pair.abort(A);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["opened"]);
    assert_eq!(pair.app(B).heard, ["offered", "aborted: Reset"]);
    assert_eq!(
        (pair.tcp(A).connections(), pair.tcp(B).connections()),
        (0, 0)
    );
}

#[test]
fn a_reset_counts_only_at_the_left_edge_of_the_window() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    let mut reset = pair.header(B);
    reset.flags = Flags::RST;
    reset.seq = Seq(2);
    pair.inject(A, reset, b"");
    assert_eq!(pair.taken_log(), ["0.500 a . 1:1(0) ack 1 win 64000"]);
    reset.seq = Seq(70_000);
    pair.inject(A, reset, b"");
    assert!(pair.taken_log().is_empty() && !pair.app(A).over);
    reset.seq = Seq(1);
    pair.inject(A, reset, b"");
    assert_eq!(pair.app(A).heard, ["opened", "aborted: Reset"]);
}

#[test]
fn a_syn_in_a_synchronized_state_is_challenged() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    let mut syn = pair.header(A);
    syn.flags = Flags::SYN;
    syn.seq = Seq(9);
    pair.inject(B, syn, b"");
    assert_eq!(pair.taken_log(), ["0.500 b . 1:1(0) ack 1 win 64000"]);
    assert!(!pair.app(B).over);
}
