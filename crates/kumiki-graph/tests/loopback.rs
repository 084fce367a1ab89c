//! Two users above one node.

use kumiki_graph::loopback::{Config, Loopback};
use kumiki_graph::{Accept, Credit, Handle, Indication, Mode, Open, Reason, Request};
use kumiki_octets::Message;
use kumiki_testkit::bench::Bench;

const A: Handle = Handle { index: 1, generation: 1 };
const B: Handle = Handle { index: 2, generation: 1 };

#[test]
fn a_call_reaches_who_listens_and_credit_is_the_receivers() {
    let mut bench = Bench::new();
    bench.node("loopback", &[], Loopback::new(Config { window: 2 }));
    let caller = bench.user("caller", "loopback", &[]);
    let called = bench.user("called", "loopback", &[]);
    bench.start();
    let open = |mode, user| Request::Open(Box::new(Open { user, mode, ..Open::default() }));
    bench.say(caller, open(Mode::Active, A));
    assert!(matches!(bench.heard(caller)[..], [Indication::Aborted { reason: Reason::Refused, .. }]));
    bench.say(called, open(Mode::Passive { backlog: 1 }, B));
    bench.say(caller, open(Mode::Active, A));
    let heard = bench.heard(called);
    let [Indication::Opened(_), Indication::Offered(offered)] = &heard[..] else {
        panic!("{heard:?}");
    };
    let accept = Accept { session: offered.provider, user: B, ..Accept::default() };
    bench.say(called, Request::Accept(Box::new(accept)));
    let heard = bench.heard(caller);
    let [Indication::Opened(opened), Indication::Credit { credit, .. }] = &heard[..] else {
        panic!("{heard:?}");
    };
    assert_eq!(credit.messages, 2);
    let (session, end) = (opened.provider, true);
    let data = Message::from_octets(b"there");
    bench.say(caller, Request::Data { session, data, end });
    let (session, credit) = (offered.provider, Credit::messages(1));
    bench.say(called, Request::Credit { session, credit });
    assert!(matches!(bench.heard(caller)[..], [Indication::Credit { credit: Credit { messages: 1, .. }, .. }]));
    let (reason, data) = (Reason::User, None);
    bench.say(called, Request::Abort { session, reason, data });
    assert!(matches!(bench.heard(caller)[..], [Indication::Aborted { .. }]));
    let heard = bench.heard(called);
    assert!(matches!(heard[..], [Indication::Credit { .. }, Indication::Data { .. }]));
}
