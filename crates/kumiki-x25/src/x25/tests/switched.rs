//! What switched circuits want of a packet layer: links that end when idle, and callers that are identified.

use kumiki_osi_service::x25::{CauseField, Nui};

use super::*;

fn nui(text: &str) -> Nui {
    Nui::new(text.as_bytes())
}

/// A call of somebody with this identification to a DCE that takes calls of "me/secret".
fn identified(own: Option<&str>) -> Wire {
    let a = Config { nui: own.map(nui), ..frames() };
    let b = Config { users: vec![nui("other"), nui("me/secret")], ..dce(&frames()) };
    let mut wire = pair(a, b);
    wire.say(B, listen(""));
    wire.say(A, call("12345"));
    wire.pass(ms(10));
    wire
}

fn cleared(cause: u8, diagnostic: u8) -> Reason {
    let what = CauseField::Clear;
    Reason::peer(x25::Cause::Packet(x25::PacketCause { what, cause, diagnostic }))
}

#[test]
fn a_call_with_a_known_identification_is_taken() {
    let wire = identified(Some("me/secret"));
    assert!(wire.session(A).is_some() && wire.session(B).is_some());
    let call = sent(&wire, A).into_iter().find(|it| it[2] == 0x0b).unwrap();
    // Facility C6, nine octets.
    let place = call.windows(2).position(|it| it == [0xc6, 9]).unwrap();
    assert_eq!(call[place + 2..place + 11], *b"me/secret");
}

#[test]
fn a_call_with_a_wrong_identification_or_none_is_barred() {
    for own in [Some("me/secre"), Some("me/secret2"), Some("ME/SECRET"), None] {
        let mut wire = identified(own);
        let told = cleared(cause::BARRED, diagnostic::NUI);
        assert_eq!(wire.aborted(A), Some(told), "{own:?}");
        assert_eq!(wire.offers(B), 0);
        assert_eq!(wire.node::<X25>("x25 b").counters().unidentified, 1);
    }
}

#[test]
fn a_dte_that_identifies_its_callers_says_that_a_dte_has_cleared() {
    let b = Config { users: vec![nui("me")], role: Some(Role::Dte), ..frames() };
    let mut wire = pair(dce(&frames()), b);
    wire.say(B, listen(""));
    wire.say(A, call("12345"));
    wire.pass(ms(10));
    assert_eq!(wire.aborted(A), Some(cleared(cause::DTE, diagnostic::NUI)));
}

#[test]
fn an_identification_is_printed_nowhere() {
    let config = Config { nui: Some(nui("hush")), users: vec![nui("hush")], ..Config::default() };
    let mut facilities = Facilities::default();
    facilities.set(Facility::User(nui("hush")));
    let printed = format!("{config:?} {facilities:?} {:?}", X25::new(config.clone()));
    assert!(printed.contains("Nui(4 octets)"));
    assert!(!printed.contains("hush") && !printed.contains("104, 117, 115, 104"));
}

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Packet layers on LAPB that end their links after this time without a call.
fn on_demand(a: Duration, b: Duration) -> Wire {
    on_demand_as([Some(Role::Dte), Some(Role::Dce)], a, b)
}

fn on_demand_as(roles: [Option<Role>; 2], a: Duration, b: Duration) -> Wire {
    let [role_a, role_b] = roles;
    let mut wire = Wire::new(ms(1));
    for (end, idle, lapb_role, role) in [(A, a, lapb::Role::Dte, role_a), (B, b, lapb::Role::Dce, role_b)] {
        wire.device(end);
        let config = lapb::Config { role: lapb_role, ..lapb::Config::default() };
        wire.add(&end.name("lapb"), &[&end.name("line")], Lapb::new(config).unwrap());
        let config = Config { role, idle, ..Config::default() };
        wire.add(&end.name("x25"), &[&end.name("lapb")], X25::new(config).unwrap());
        wire.user(end, &end.name("x25"));
    }
    wire.start();
    wire.say(B, listen(""));
    wire
}

#[test]
fn a_link_is_set_up_for_a_call_and_ended_when_there_has_been_none_for_long() {
    let mut wire = on_demand(secs(20), secs(60));
    wire.pass(secs(600));
    assert!(wire.log().is_empty());
    wire.say(A, call("12345"));
    wire.pass(secs(1));
    let session = wire.session(A).unwrap();
    // However long the call lasts.
    wire.pass(secs(600));
    assert!(wire.session(B).is_some());
    wire.say(A, abort(session));
    wire.pass(ms(19_990));
    assert_eq!(wire.node::<X25>("x25 a").counters().links_ended, 0);
    // 20 s after the clearing was confirmed, 2 ms later.
    wire.pass(ms(20));
    assert_eq!(wire.node::<X25>("x25 a").counters().links_ended, 1);
    // DISC and UA, and nothing more.
    assert_eq!((last(&wire, A), last(&wire, B)), (hex("01 53"), hex("01 73")));
    let frames = wire.log().len();
    wire.pass(secs(600));
    assert_eq!(wire.log().len(), frames);
    // And once more, from the other side.
    wire.say(A, listen(""));
    wire.say(B, call("999"));
    wire.pass(secs(1));
    assert!(wire.session(A).is_some() && wire.session(B).is_some());
}

#[test]
fn a_call_waits_for_the_line_and_is_refused_when_that_is_not_to_be_had() {
    let mut wire = on_demand(secs(20), secs(20));
    wire.report(A, Report::Down);
    wire.say(A, call("12345"));
    wire.pass(secs(190));
    assert!(wire.log().is_empty() && wire.aborted(A).is_none());
    wire.report(A, Report::Up);
    wire.pass(secs(1));
    assert!(wire.session(A).is_some());
    // The circuit is cleared: so is the call. Then the number is busy.
    wire.report(A, Report::Down);
    wire.report(B, Report::Down);
    assert_eq!(wire.aborted(A), Some(Reason::Down));
    wire.say(A, call("12345"));
    wire.report(A, Report::Down);
    assert_eq!(wire.aborted(A), Some(Reason::Down));
    let frames = wire.log().len();
    wire.pass(secs(600));
    assert_eq!(wire.log().len(), frames);
}

#[test]
fn permanent_circuits_keep_their_link() {
    let config = Config {
        idle: secs(1),
        ranges: Ranges { permanent: 1, two_way: (2, 9), ..Config::default().ranges },
        ..Config::default()
    };
    assert_eq!(config.check(), Err(ConfigError::PermanentIdle));
}

/// What one has been on an earlier link says nothing of the next.
#[test]
fn two_dtes_find_out_again_who_is_the_dce_on_each_link() {
    let mut wire = on_demand_as([None, None], secs(20), secs(60));
    wire.say(A, listen(""));
    for caller in [A, B, A] {
        wire.say(caller, call("12345"));
        // They restart at once, and one waits up to a sixteenth of T20.
        wire.pass(secs(20));
        let session = wire.session(caller).unwrap();
        assert!(wire.session(caller.other()).is_some());
        assert_eq!((wire.aborted(A), wire.aborted(B)), (None, None));
        wire.say(caller, abort(session));
        wire.pass(secs(100));
        // That of the peer's user.
        wire.aborted(caller.other());
    }
}

#[test]
fn a_circuit_is_said_to_hold_what_its_larger_windows_can() {
    let held = |config| X25::new(config).unwrap().held();
    assert_eq!(held(Config::default()), 2 * 7 * 1024);
    let wanted = Flow { packet_out: 4096, window_out: 127, window_in: 1, modulo: Modulo::Extended, ..Flow::DEFAULT };
    assert_eq!(held(Config { wanted, modulo: Modulo::Extended, ..Config::default() }), 127 * 4096 + 128);
    let default = Flow { packet_in: 2048, window_in: 5, ..Flow::DEFAULT };
    assert_eq!(held(Config { wanted: Flow::DEFAULT, default, ..Config::default() }), 5 * 2048 + 2 * 128);
}
