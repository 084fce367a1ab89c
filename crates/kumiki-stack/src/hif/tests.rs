//! Two programs above, and a loopback below.

use kumiki_graph::{Handle, Mode, Open, Opened};

use super::*;
use kumiki_graph::loopback::{self, Loopback};
use kumiki_testkit::bench::Bench;

#[test]
fn programs_are_told_apart_by_their_access_points() {
    let mut bench = Bench::new();
    bench.node("loopback", &[], Loopback::new(loopback::Config::default()));
    bench.node("hif", &["loopback"], Hif);
    let first = bench.user("first", "hif", &[]);
    let second = bench.user("second", "hif", &[]);
    bench.start();
    // The same name on both sides, which is nobody's business but theirs.
    let user = Handle { index: 1, generation: 1 };
    let open = |mode| Request::Open(Box::new(Open { user, mode, ..Open::default() }));
    bench.say(second, open(Mode::Passive { backlog: 1 }));
    bench.say(first, open(Mode::Active));
    assert_eq!(bench.heard(first).len(), 0);
    let heard = bench.heard(second);
    let [Indication::Opened(opened), Indication::Offered(_)] = &heard[..] else {
        panic!("{heard:?}");
    };
    let Opened { user: its, .. } = **opened;
    assert_eq!(its, user);
}
