//! Calls to the terminal, and a host with a program behind it.

use proptest::prelude::*;

use super::*;

#[test]
fn a_call_is_taken_at_the_terminal() {
    let config = Config { answer: Some(Number::NONE), ..with("2:0") };
    let mut scene = Scene::new(config, None);
    let call = |data: &[u8]| {
        Request::Open(Box::new(Open {
            user: PARTY,
            local: Address::from("777".parse::<Number>().unwrap()),
            remote: Address::from("1".parse::<Number>().unwrap()),
            data: Some(Message::from_octets(data)),
            ..Open::default()
        }))
    };
    scene.say(call(&[3, 1, 1, 0]));
    assert!(scene.told(PARTY)[0].starts_with("aborted: X.25: cleared: DTE originated"));
    scene.say(call(&[1, 0, 0, 0]));
    assert_eq!(scene.screen(), "\r\n777 COM\r\n");
    assert_eq!(scene.pad().state(), State::Transfer);
    // A second one finds it engaged.
    scene.heard();
    let mut second = call(&[1, 0, 0, 0]);
    if let Request::Open(open) = &mut second {
        open.user = handle(41, 1);
    }
    scene.say(second);
    assert!(scene.told(PARTY)[0].contains("DTE resource constraint"));
}

#[test]
fn a_program_speaks_to_a_person_at_a_pad() {
    let mut scene = Scene::new(with("2:1,6:5"), Some(pad_host::Config::default()));
    let program = scene.program.unwrap();
    scene.types(b"12345\r");
    assert!(scene.screen().ends_with("COM\r\n"));
    // The host has switched the echo off.
    scene.types(b"root\r");
    scene.pass(Duration::from_millis(100));
    assert_eq!(scene.screen(), "");
    assert_eq!(scene.said, b"root\r");
    scene.bench.octets(program, b"# ");
    scene.run();
    assert_eq!(scene.screen(), "# ");
    scene.types(b"\x10break\r");
    assert_eq!(scene.said, b"root\r\x03");
    scene.screen();
    scene.bench.octets(program, b"still there");
    scene.run();
    assert_eq!(scene.screen(), "still there");
    // The program ends.
    scene.bench.octets(program, b"bye\r\n");
    let down = Indication::Report(Box::new(Report::Down));
    scene.bench.indicate(program, down);
    scene.run();
    assert_eq!(scene.screen(), "bye\r\nCLR PAD\r\n*");
}

/// A PAD whose terminal has called, and a host with a program; the host's node.
fn at_a_program(config: pad_host::Config) -> (Scene, NodeId) {
    let mut scene = Scene::new(with("2:1,6:5"), Some(config));
    scene.types(b"12345\r");
    let host = scene.bench.graph.node("host").unwrap();
    (scene, host)
}

fn host(scene: &mut Scene, node: NodeId) -> &mut PadHost {
    scene.bench.graph.protocol_mut(node).unwrap()
}

fn wake(scene: &mut Scene, node: NodeId, token: Token) {
    let now = scene.bench.now;
    scene.bench.graph.wake(now, node, token);
    scene.pass(Duration::from_millis(1));
}

#[test]
fn an_invitation_of_the_pad_is_followed_when_the_program_has_had_what_came_before() {
    let (mut scene, _) = at_a_program(pad_host::Config::default());
    scene.types(b"the end\r");
    scene.bench.octets(scene.program.unwrap(), b"bye\r\n");
    scene.run();
    scene.screen();
    scene.types(b"\x10iclr\r");
    assert_eq!(scene.said, b"the end\r");
    let screen = scene.screen();
    assert!(screen.ends_with("CLR DTE C:0 D:0\r\n*"), "{screen:?}");
    // A program that reads no more, and one that never ends, keep nobody.
    let (mut scene, node) = at_a_program(pad_host::Config::default());
    scene.types(&[b'x'; 3990]);
    scene.types(b"\r\x10iclr\r");
    for _ in 0..100 {
        scene.bench.octets(scene.program.unwrap(), b"y");
        scene.pass(Duration::from_millis(120));
    }
    let screen = scene.screen();
    assert!(screen.contains("CLR DTE C:0 D:0"), "{screen:?}");
    assert_eq!(host(&mut scene, node).counters().errors, 0);
}

#[test]
fn a_call_waits_for_a_place_and_is_cleared_where_there_is_none() {
    for takes in [true, false] {
        let config = pad_host::Config { asks: true, ..pad_host::Config::default() };
        let (mut scene, node) = at_a_program(config);
        assert!(!scene.screen().contains("COM"));
        assert!(host(&mut scene, node).calling().is_some());
        host(&mut scene, node).answer(takes);
        assert!(host(&mut scene, node).calling().is_none());
        wake(&mut scene, node, PadHost::WAKE);
        let screen = scene.screen();
        assert!(screen.contains(if takes { "COM" } else { "CLR DTE C:0 D:163" }), "{screen:?}");
        let refusal = if takes { None } else { Some(diagnostic::RESOURCES) };
        assert_eq!(host(&mut scene, node).refusal(), refusal);
    }
}

#[test]
fn a_host_and_a_pad_that_end_clear_their_call() {
    let (mut scene, node) = at_a_program(pad_host::Config::default());
    scene.screen();
    host(&mut scene, node).close();
    wake(&mut scene, node, PadHost::WAKE);
    assert_eq!(scene.screen(), "CLR DTE C:0 D:162\r\n*");
    assert!(host(&mut scene, node).ended().is_some());
    // Another call is none any more.
    scene.types(b"12345\r");
    assert!(scene.screen().contains("CLR DTE C:0 D:162"));
    let (mut scene, node) = at_a_program(pad_host::Config::default());
    let pad = scene.pad;
    assert!(scene.bench.graph.protocol_mut::<Pad>(pad).unwrap().close());
    wake(&mut scene, pad, Pad::CLOSE);
    assert!(scene.screen().ends_with("CLR CONF\r\n") && scene.pad().is_over());
    assert!(host(&mut scene, node).ended().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is typed and whatever the host says, nothing panics and nothing grows without end.
    #[test]
    fn any_conversation_stays_within_bounds(
        steps in prop::collection::vec(
            (0_u8..4, prop::collection::vec(any::<u8>(), 0..40)), 0..60
        ),
    ) {
        let (mut scene, session) = Scene::called("");
        for (kind, octets) in steps {
            match kind {
                0 => scene.types(&octets),
                1 => scene.data(session, &octets),
                2 => scene.message(session, &octets),
                _ => {
                    scene.pass(Duration::from_millis(200));
                    let _ = scene.heard();
                    scene.took(session);
                }
            }
            prop_assert!(scene.pad().held() <= 4096 + 128);
            prop_assert!(scene.pad().outgoing.len() <= MOST_WAITING + 4);
        }
    }
}

#[test]
fn a_host_that_is_short_of_memory_clears_a_call_and_says_so() {
    let mut scene = Scene::new(Config::default(), Some(pad_host::Config::default()));
    let budget = kumiki_octets::Budget::new(1 << 20);
    let own = budget.account(0).unwrap();
    scene.bench.graph.set_budget(own);
    let other = budget.account(0).unwrap();
    other.stand(600 << 10).unwrap();
    scene.types(b"12345\r");
    let screen = scene.screen();
    assert!(screen.contains("CLR DTE C:0 D:163"), "{screen:?}");
}
