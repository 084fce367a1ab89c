//! Octets that nobody reads: what stops, what waits, and what is lost at the end of a call.

use super::*;

/// A terminal that reads nothing, at a PAD whose host reads nothing either.
fn unread(list: &str) -> (Scene, Handle) {
    let mut scene = Scene::built(with(list), None, true);
    scene.types(b"12345\r\0");
    let session = scene.answer();
    assert_eq!(scene.pad().state(), State::Transfer);
    scene.takes = false;
    (scene, session)
}

#[test]
fn what_takes_no_credit_takes_no_memory_without_end() {
    for list in ["7:4,2:0", "7:8,6:5,2:0"] {
        let (mut scene, _) = unread(list);
        for _ in 0..500 {
            scene.types(&[0xff, 0xf3].repeat(10));
        }
        assert_eq!(scene.pad().counters().breaks, 5000);
        assert!(scene.pad().outgoing.len() <= MOST_WAITING + 1);
        assert!(scene.pad().printer.len() <= MOST_PRINTED + 3);
    }
    let (mut scene, session) = unread("2:0");
    scene.message(session, &[2, 21, 1]);
    for _ in 0..60 {
        scene.types(&[b'C'; 100]);
    }
    assert_eq!(scene.pad().counters().parity_errors, 6000);
    assert_eq!(scene.pad().printer.len(), MOST_PRINTED);
    let (mut scene, session) = unread("2:0");
    let reason = Reason::peer(x25::Cause::Packet(x25::PacketCause::by_dte(CauseField::Reset, 1)));
    for _ in 0..500 {
        scene.say(Request::Reset { session, reason: reason.clone() });
    }
    assert!(scene.pad().printer.len() <= MOST_PRINTED + 100);
}

#[test]
fn the_recall_character_typed_twice_is_data() {
    let (mut scene, session) = Scene::called("2:0");
    scene.types(b"\x10\x10\r");
    assert_eq!(scene.told(session), ["data \\x10", "data \\r"]);
    assert_eq!(scene.pad().state(), State::Transfer);
}

#[test]
fn output_waits_while_a_command_is_typed() {
    let (mut scene, session) = Scene::called("2:0");
    scene.types(b"\x10st");
    scene.data(session, b"late");
    assert_eq!(scene.screen(), "");
    scene.types(b"at\r");
    assert_eq!(scene.screen(), "ENGAGED\r\nlate");
}

#[test]
fn x_off_stops_the_output_and_x_on_starts_it() {
    let (mut scene, session) = Scene::called("2:0");
    scene.types(b"\x13");
    scene.data(session, b"held");
    assert_eq!(scene.screen(), "");
    scene.types(b"\x11");
    assert_eq!(scene.screen(), "held");
}

#[test]
fn a_page_waits_for_its_reader() {
    let (mut scene, session) = Scene::called("22:2,2:0");
    scene.data(session, b"1\r\n2\r\n3\r\n");
    assert_eq!(scene.screen(), "1\r\n2\r\nPAGE\r\n");
    scene.types(b"\x11");
    assert_eq!(scene.screen(), "\r\n3\r\n");
}

#[test]
fn parity_is_checked_and_made() {
    let (mut scene, session) = Scene::called("2:0,3:2");
    scene.message(session, &[2, 21, 3]);
    // A is even with bit 8 at 0, C with it at 1, and CR has three ones.
    scene.types(&[b'A', b'C' | 0x80, b'C', 0x8d]);
    assert_eq!(scene.told(session), ["data AC\\r"]);
    assert_eq!(scene.pad().counters().parity_errors, 1);
    scene.screen.clear();
    scene.data(session, b"C");
    assert_eq!(scene.screen, [b'C' | 0x80]);
}

#[test]
fn a_reset_is_told_and_empties_the_call() {
    let (mut scene, session) = Scene::called("2:0,3:0");
    scene.types(b"lost");
    let told = x25::PacketCause::by_dte(CauseField::Reset, 250);
    let reason = Reason::peer(x25::Cause::Packet(told));
    scene.say(Request::Reset { session, reason: reason.clone() });
    assert_eq!(scene.screen(), "RESET DTE C:0 D:250\r\n");
    scene.heard();
    scene.types(b"\x10reset\r");
    assert_eq!(scene.told(session).len(), 1);
    scene.say(Request::Reset { session, reason });
    scene.types(b"on\x10");
    assert_eq!(scene.told(session), ["data on"]);
}

#[test]
fn a_terminal_that_does_not_read_closes_the_window() {
    let (mut scene, session) = Scene::called("2:0");
    scene.takes = false;
    let mut credit = 2_u32;
    let mut sent = 0;
    scene.heard();
    while credit > 0 && sent < 1000 {
        scene.data(session, &[b'x'; 128]);
        scene.pass(Duration::from_secs(1));
        credit -= 1;
        sent += 1;
        for heard in scene.heard() {
            if let Indication::Credit { credit: more, .. } = heard {
                credit += more.messages;
            }
        }
    }
    // 4000 octets of the terminal's, 1024 of the printer's, two packets here, two in the packet layers.
    assert!(sent < 50, "{sent}");
    assert!(scene.pad().printer.len() <= MOST_PRINTED + 1);
}

#[test]
fn a_host_that_does_not_read_stops_the_terminal() {
    let (mut scene, _) = Scene::called("2:0,3:2");
    let mut typed = 0_u64;
    while scene.granted > 100 {
        scene.types(&[b'y'; 100]);
        typed += 100;
        assert!(typed < 100_000);
    }
    assert!(typed < 6000, "{typed}");
    assert_eq!(scene.screen.iter().filter(|it| **it == 0x13).count(), 1);
    assert!(scene.pad().held() <= 4096);
}

#[test]
fn a_selection_may_be_made_for_the_terminal() {
    let config = Config { call: Some("12345".to_owned()), once: true, ..with("2:0") };
    let mut scene = Scene::new(config.clone(), None);
    // It is typed while the call is made, and waits for it.
    scene.types(b"early\r");
    let session = scene.answer();
    assert_eq!(scene.told(session), ["data early\\r"]);
    // The end of the terminal's side; two seconds of silence later the call is cleared.
    let down = Indication::Report(Box::new(Report::Down));
    scene.bench.indicate(scene.tty, down);
    scene.run();
    scene.pass(Duration::from_millis(1900));
    assert!(!scene.pad().is_over());
    scene.pass(Duration::from_millis(200));
    assert!(scene.pad().is_over());
    assert!(scene.pad().outcome().stood);
    let wrong = Config { call: Some("stat".to_owned()), ..config };
    let scene = Scene::new(wrong, None);
    assert!(scene.pad().is_over() && scene.pad().outcome().is_bad);
}

/// The end of the terminal's side, while the terminal reads nothing of what the host says.
fn full_until_now(drains: bool) -> (Scene, Handle, usize) {
    let config = Config { drains, ..with("2:0") };
    let mut scene = Scene::new(config, None);
    scene.types(b"12345\r");
    let session = scene.answer();
    scene.screen();
    scene.takes = false;
    scene.heard();
    let (mut credit, mut sent) = (2, 0);
    while credit > 0 {
        scene.data(session, &[b'x'; 128]);
        (credit, sent) = (credit - 1, sent + 128);
        for heard in scene.heard() {
            if let Indication::Credit { credit: more, .. } = heard {
                credit += more.messages;
            }
        }
    }
    // More than the 4000 that the terminal takes and the 1024 of the printer.
    assert!((5100..10_000).contains(&sent), "{sent}");
    let down = Indication::Report(Box::new(Report::Down));
    scene.bench.indicate(scene.tty, down);
    scene.run();
    (scene, session, sent)
}

/// The same, a minute later.
fn full(drains: bool) -> (Scene, Handle, usize) {
    let (mut scene, session, sent) = full_until_now(drains);
    scene.pass(Duration::from_secs(60));
    (scene, session, sent)
}

#[test]
fn a_terminal_that_reads_late_loses_nothing_at_its_end() {
    let (mut scene, session, sent) = full(true);
    assert!(scene.told(session).is_empty());
    scene.takes = true;
    let (grip, credit) = (Handle::default(), Credit::octets(100_000));
    let more = Indication::Credit { session: grip, credit };
    scene.bench.indicate(scene.tty, more);
    scene.run();
    // Silence is counted from what was shown last.
    scene.pass(Duration::from_millis(1900));
    assert_eq!(scene.screen(), "x".repeat(sent));
    assert!(scene.told(session).is_empty());
    scene.pass(Duration::from_millis(200));
    assert_eq!(scene.screen(), "\r\nCLR CONF\r\n");
    assert_eq!(scene.told(session).len(), 1);
}

#[test]
fn a_terminal_that_has_vanished_is_not_waited_for() {
    let (mut scene, session, _) = full(false);
    assert_eq!(scene.told(session).len(), 1);
    assert!(scene.pad().is_over());
    // Nor where the host ends the call.
    let (mut scene, session, _) = full_until_now(false);
    let (reason, data) = (Reason::User, None);
    scene.say(Request::Abort { session, reason, data });
    assert!(scene.pad().is_over());
}

#[test]
fn output_goes_on_where_the_host_takes_x_off_away() {
    let (mut scene, session) = Scene::called("2:0,12:1");
    scene.types(b"\x13");
    let set = x29::Message::Set(vec![x29::Pair::new(12, 0)]);
    scene.message(session, &set.to_vec());
    scene.data(session, b"later");
    assert_eq!(scene.screen(), "later");
}

#[test]
fn no_host_makes_octets_of_a_stream_stop_it() {
    let config = Config { initial: set("2:0,3:0,5:0,6:0,12:0"), is_stream: true, ..Config::default() };
    let mut scene = Scene::new(config, None);
    scene.types(b"12345\r");
    let session = scene.answer();
    scene.screen();
    scene.heard();
    let pairs = [(5, 1), (4, 1), (12, 1)].map(|(number, value)| x29::Pair::new(number, value));
    let message = x29::Message::SetAndRead(pairs.to_vec());
    scene.message(session, &message.to_vec());
    // In the place of a value that is not set stands why.
    let told = scene.told(session);
    assert_eq!(told, ["parameter indication 5:2 not set, 4:1, 12:2 not set"]);
    scene.types(b"a\x13b");
    scene.data(session, b"output");
    assert_eq!(scene.screen(), "output");
    scene.pass(Duration::from_millis(60));
    assert!(scene.told(session).contains(&"data a\\x13b".to_owned()));
}

#[test]
fn what_is_typed_after_the_end_of_a_call_does_not_keep_it() {
    let (mut scene, session) = Scene::called("2:0,12:1");
    scene.types(b"\x13");
    scene.data(session, b"bye");
    let (reason, data) = (Reason::User, None);
    scene.say(Request::Abort { session, reason, data });
    // More packets than may wait for credit.
    scene.types(&b"\r".repeat(MOST_WAITING + 1));
    scene.types(b"\x11");
    assert!(scene.screen().starts_with("bye\r\nCLR"));
    assert_eq!(scene.pad().state(), State::Waiting);
}

#[test]
fn a_terminal_that_has_ended_is_stopped_no_more() {
    let (mut scene, session) = Scene::called("22:1,2:0");
    scene.types(b"\x13");
    scene.data(session, b"1\r\n2\r\n");
    assert_eq!(scene.screen(), "");
    let down = Indication::Report(Box::new(Report::Down));
    scene.bench.indicate(scene.tty, down);
    scene.run();
    assert_eq!(scene.screen(), "1\r\n2\r\n");
    scene.pass(Duration::from_secs(3));
    assert!(scene.pad().is_over());
}
