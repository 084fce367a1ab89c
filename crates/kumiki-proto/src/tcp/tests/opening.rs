//! The handshake.

use super::pair::*;

#[test]
fn a_handshake_is_three_segments() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(
        pair.taken_log(),
        [
            "0.000 a S 0:0(0) win 64000",
            "0.010 b S. 0:0(0) ack 1 win 64000",
            "0.020 a . 1:1(0) ack 1 win 64000",
        ]
    );
    assert_eq!(pair.app(A).heard, ["opened"]);
    assert_eq!(pair.app(B).heard, ["offered"]);
}

#[test]
fn data_goes_both_ways_and_both_ends_close() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, &numbered(2500));
    pair.write(B, &numbered(700));
    pair.run_for(ms(500));
    assert_eq!(pair.app(B).received, numbered(2500));
    assert_eq!(pair.app(A).received, numbered(700));
    pair.release(A);
    pair.run_for(ms(100));
    pair.release(B);
    pair.run_for(ms(100));
    for line in pair.taken_log() {
        println!("{line}");
    }
    assert_eq!(pair.app(A).heard, ["opened", "released", "closed"]);
    assert_eq!(pair.app(B).heard, ["offered", "released", "closed"]);
    assert_eq!(
        (pair.tcp(A).connections(), pair.tcp(B).connections()),
        (1, 0)
    );
    pair.run_for(ms(60_000));
    assert_eq!(pair.tcp(A).connections(), 0);
}
