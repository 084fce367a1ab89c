//! What a person types and sees: commands, parameters, editing, and messages of X.29 that change them.

use super::*;

/// Every octet that goes to the terminal, from its coming to its going: CR and LF around signals and before the prompt.
#[test]
fn a_dialogue_of_commands_is_that_of_x28() {
    let config = Config { identification: "KUMIKI PAD".to_owned(), initial: set("6:5,2:0"), ..Config::default() };
    let mut scene = Scene::new(config, None);
    assert_eq!(scene.screen(), "\r\nKUMIKI PAD\r\n*");
    for (typed, shown) in [
        ("stat\r", "\r\nFREE\r\n*"),
        ("par? 1,3,99\r", "\r\nPAR 1:1, 3:126, 99:INV\r\n*"),
        ("set 3:2\r", "\r\n*"),
        ("SET? 4:20, 2:7+", "\r\nPAR 4:20, 2:INV\r\n*"),
        ("set 11:3\r", "\r\nPAR 11:INV\r\n*"),
        ("clr\r", "\r\nCLR ERR\r\n*"),
        ("int\r", "\r\nERR\r\n*"),
        ("nonsense\r", "\r\nERR\r\n*"),
        ("prof 91\r", ""),
    ] {
        scene.types(typed.as_bytes());
        assert_eq!(scene.screen(), shown, "{typed}");
    }
    assert_eq!(*scene.pad().parameters(), Parameters::TRANSPARENT);
    scene.types(b"exit\r");
    assert!(scene.pad().is_over());
}

#[test]
fn commands_are_echoed_and_edited() {
    let mut scene = Scene::new(with("19:2"), None);
    scene.types(b"stax\x7ft\r");
    assert_eq!(scene.screen(), "stax\x08 \x08t\r\r\nFREE\r\n");
    scene.types(b"wrong\x18stat\r");
    assert!(scene.screen().ends_with("stat\r\r\nFREE\r\n"));
    // What was too long is forgotten with the line.
    scene.types(&[b'x'; 300]);
    scene.types(b"\x18stat\r");
    assert!(scene.screen().ends_with("stat\r\r\nFREE\r\n"));
    // A network user identification is not shown, and nothing else is hidden with it.
    scene.types(b"Nsecret-12");
    assert_eq!(scene.screen(), "N12");
    scene.types(b"\x18Nsecret,R\x12");
    assert!(!scene.screen().contains("secret"));
}

#[test]
fn a_call_carries_lines_both_ways_and_is_cleared() {
    let mut scene = Scene::new(with("6:5"), None);
    scene.types(b"R-12345Dhi\r");
    let heard = scene.heard();
    let Some(Indication::Offered(offered)) = heard.last() else {
        panic!("{heard:?}");
    };
    let data = offered.data.as_ref().map(Message::to_vec);
    assert_eq!(data, Some(b"\x01\0\0\0hi".to_vec()));
    assert_eq!(offered.local, Address::from("12345".parse::<Number>().unwrap()));
    let facts = offered.parameters.get::<x25::Call>().unwrap();
    assert!(facts.facilities.charging().reverse);
    let session = offered.provider;
    assert_eq!(scene.pad().state(), State::Connecting);
    let accept = Accept { session, user: PARTY, ..Accept::default() };
    scene.say(Request::Accept(Box::new(accept)));
    assert!(scene.screen().ends_with("\r\nCOM\r\n"));
    scene.types(b"login\rpass");
    assert_eq!(scene.screen(), "login\rpass");
    assert_eq!(scene.told(session), ["data login\\r"]);
    scene.data(session, b"Welcome\r\n");
    assert_eq!(scene.screen(), "Welcome\r\n");
    // What was typed and not forwarded goes ahead of the escape.
    scene.types(b"\x10");
    assert_eq!(scene.screen(), "*");
    assert_eq!(scene.told(session), ["data pass"]);
    scene.types(b"stat\r");
    assert_eq!(scene.screen(), "stat\r\r\nENGAGED\r\n");
    assert_eq!(scene.pad().state(), State::Transfer);
    scene.types(b"\x10clr\r");
    assert!(scene.screen().ends_with("\r\nCLR CONF\r\n*"));
    assert_eq!(scene.told(session), ["aborted: X.25: cleared: DTE originated (00), no additional information (0)"]);
}

#[test]
fn what_the_host_said_last_is_shown_before_the_clearing() {
    let (mut scene, session) = Scene::called("2:0");
    scene.data(session, b"bye\r\n");
    let (reason, data) = (Reason::User, None);
    scene.say(Request::Abort { session, reason, data });
    let screen = scene.screen();
    assert!(screen.starts_with("bye\r\nCLR DTE C:0 D:"), "{screen:?}");
    assert_eq!(scene.pad().state(), State::Waiting);
}

#[test]
fn a_call_that_nobody_takes_says_why() {
    let mut scene = Scene::new(with("2:0"), None);
    scene.types(b"1\r");
    let heard = scene.heard();
    let Some(Indication::Offered(offered)) = heard.last() else {
        panic!("{heard:?}");
    };
    let told = x25::PacketCause { what: CauseField::Clear, cause: x25::cause::BUSY, diagnostic: 0 };
    let (session, data) = (offered.provider, None);
    let reason = Reason::peer(x25::Cause::Packet(told));
    scene.say(Request::Abort { session, reason: reason.clone(), data });
    assert_eq!(scene.screen(), "\r\nCLR OCC C:1 D:0\r\n");
    assert_eq!(scene.pad().outcome().why, Some(reason));
    // While a call is made, the recall character gives it up.
    scene.types(b"2\r\x10");
    assert_eq!(scene.screen(), "CLR CONF\r\n");
    assert_eq!(scene.pad().state(), State::Waiting);
}

#[test]
fn the_host_sets_and_reads_parameters() {
    let (mut scene, session) = Scene::called("");
    scene.message(session, &[2, 2, 0]);
    scene.types(b"password\r");
    assert_eq!(scene.screen(), "");
    assert_eq!(scene.told(session), ["data password\\r"]);
    scene.message(session, &[6, 2, 1, 99, 0]);
    scene.message(session, &[4, 2, 0, 11, 0]);
    assert_eq!(scene.told(session), ["parameter indication 2:1, 99:1 not set", "parameter indication 2:1, 11:14"]);
    // Set tells only what went wrong; and behind a separator nothing is known.
    scene.message(session, &[2, 3, 2, 2, 9, 0, 33, 3, 0]);
    assert_eq!(scene.told(session), ["parameter indication 2:2 not set, 0:5 not set, 3:5 not set"]);
    assert_eq!(scene.pad().parameters().of(Parameter::Forward), 2);
    scene.message(session, &[4]);
    let all = scene.told(session).pop().unwrap();
    assert!(all.starts_with("parameter indication 1:1, 2:1, 3:2"), "{all}");
    // Without parameters all are as they were.
    scene.message(session, &[2]);
    assert_eq!(*scene.pad().parameters(), Parameters::SIMPLE);
}

#[test]
fn what_is_no_message_is_answered_by_an_error() {
    let (mut scene, session) = Scene::called("");
    for (octets, answer) in [
        (&[0x50, 1][..], "error: message code not recognised (message code 80)"),
        (&[2, 2], "error: parameter field incorrect or incompatible with the message code (message code 2)"),
        (&[0, 1, 1], "error: parameter indication that was not asked for (message code 0)"),
        (&[7, 1, 0x10, 0], "error: reselection not authorised (message code 7)"),
    ] {
        scene.message(session, octets);
        assert_eq!(scene.told(session), [answer]);
    }
    scene.message(session, &[5, 0x50]);
    scene.message(session, &[5, 1, 2, 3]);
    scene.message(session, &[2; 300]);
    assert_eq!(scene.told(session), ["error: message too long (message code 2)"]);
}

#[test]
fn an_invitation_clears_behind_the_data() {
    let (mut scene, session) = Scene::called("2:0");
    scene.data(session, b"the end\r\n");
    scene.message(session, &[1]);
    assert_eq!(scene.screen(), "the end\r\nCLR PAD\r\n");
    assert_eq!(scene.told(session).len(), 1);
    assert_eq!(scene.pad().state(), State::Waiting);
}

#[test]
fn reselection_makes_the_other_call_where_it_is_allowed() {
    let config = Config { reselection: true, ..with("2:0") };
    let mut scene = Scene::new(config, None);
    scene.types(b"1\r");
    let session = scene.answer();
    scene.screen();
    scene.message(session, &[7, 3, 0x67, 0x80, 0, b'x']);
    assert_eq!(scene.screen(), "TRANSFER\r\n");
    let heard = scene.heard();
    let Some(Indication::Offered(offered)) = heard.last() else {
        panic!("{heard:?}");
    };
    assert_eq!(offered.local, Address::from("678".parse::<Number>().unwrap()));
    let data = offered.data.as_ref().map(Message::to_vec);
    assert_eq!(data, Some(b"\x01\0\0\0x".to_vec()));
}

#[test]
fn the_idle_timer_counts_twentieths_of_a_second() {
    let (mut scene, session) = Scene::called("3:0,4:3,2:0");
    scene.types(b"a");
    scene.pass(Duration::from_millis(100));
    scene.types(b"b");
    scene.pass(Duration::from_millis(140));
    assert_eq!(scene.told(session), [""; 0]);
    scene.pass(Duration::from_millis(20));
    assert_eq!(scene.told(session), ["data ab"]);
    // A packet that is full does not wait.
    scene.types(&[b'x'; 130]);
    assert_eq!(scene.told(session), [format!("data {}", "x".repeat(128))]);
}

#[test]
fn each_forwarding_set_sends_its_characters() {
    for (bit, sends, keeps) in [
        (1, &b"aZ9"[..], &b"\r !"[..]),
        (2, b"\r", b"\n1"),
        (4, b"\x1b\x07\x05\x06", b"\r"),
        (8, b"\x7f\x18\x12", b"\x1b"),
        (16, b"\x03\x04", b"\t"),
        (32, b"\t\n\x0b\x0c", b"\r"),
        (64, b"\x01\x1f", b"\r\t\x03"),
    ] {
        let (mut scene, session) = Scene::called(&format!("1:0,2:0,3:{bit},12:0,6:0"));
        for octet in sends {
            scene.types(&[*octet]);
            assert_eq!(scene.told(session).len(), 1, "{bit} {octet}");
        }
        for octet in keeps {
            scene.types(&[*octet]);
            assert_eq!(scene.told(session), [""; 0], "{bit} {octet}");
        }
    }
}

#[test]
fn a_line_is_edited_before_it_leaves() {
    let (mut scene, session) = Scene::called("15:1,3:2,19:2,4:1");
    scene.types(b"helpo\x7f\x7flo");
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.told(session), [""; 0]);
    scene.types(b"\r");
    assert_eq!(scene.told(session), ["data hello\\r"]);
    assert_eq!(scene.screen(), "helpo\x08 \x08\x08 \x08lo\r");
    scene.types(b"no\x18yes\x12");
    assert_eq!(scene.screen(), "no\x08 \x08\x08 \x08yes\r\nyes");
    scene.types(b"\r");
    assert_eq!(scene.told(session), ["data yes\\r"]);
}

#[test]
fn echo_and_line_feeds_are_as_the_parameters_have_them() {
    let (mut scene, session) = Scene::called("13:6,20:64,3:2");
    scene.types(b"ab\r");
    assert_eq!(scene.screen(), "ab\r\n");
    assert_eq!(scene.told(session), ["data ab\\r\\n"]);
    let (mut scene, _) = Scene::called("2:42,20:1");
    scene.types(b"pin\r");
    assert_eq!(scene.screen(), "***");
}

#[test]
fn a_break_does_what_parameter_7_says() {
    let (mut scene, session) = Scene::called("7:21,2:0");
    scene.types(b"some\x10break\r");
    assert_eq!(scene.told(session), ["interrupt [0]", "data some", "indication of break 8:1"]);
    scene.screen();
    // Output is thrown away until the host says that it knows.
    scene.data(session, b"old");
    scene.message(session, &[2, 8, 0]);
    scene.data(session, b"new");
    assert_eq!(scene.screen(), "new");
    assert_eq!(scene.pad().counters().discarded, 3);
    let (mut scene, session) = Scene::called("7:2,2:0");
    scene.types(b"\x10break\r");
    assert_eq!(scene.told(session).len(), 1);
}
