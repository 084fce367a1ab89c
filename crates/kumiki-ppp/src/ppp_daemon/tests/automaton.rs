use std::collections::VecDeque;

use kumiki_graph::Duration;

use crate::ppp_daemon::automaton::{Action, Automaton, Config, Event, Illegal, Restart, State, Step};

fn opened(config: Config) -> Automaton {
    let mut automaton = Automaton::new(config);
    for event in [Event::Open, Event::Up, Event::RcrPlus, Event::Rca] {
        automaton.on(event).unwrap();
    }
    assert_eq!(automaton.state(), State::Opened);
    automaton
}

fn actions(step: &Step) -> &[Action] {
    &step.actions
}

#[test]
fn a_link_opens_and_closes_in_the_order_of_the_standard() {
    let mut automaton = Automaton::new(Config::default());
    let mut all = Vec::new();
    let events =
        [Event::Open, Event::Up, Event::Rca, Event::RcrPlus, Event::Rxr, Event::Close, Event::Rta, Event::Down];
    for event in events {
        let step = automaton.on(event).unwrap();
        all.extend_from_slice(actions(&step));
    }
    use Action::{Sca, Scr, Ser, Str, Tld, Tlf, Tls, Tlu};
    assert_eq!(all, [Tls, Scr, Sca, Tlu, Ser, Tld, Str, Tlf]);
    assert_eq!(automaton.state(), State::Initial);
}

/// Two ends whose packets cross on a line: what one sends the other gets, all options are acceptable.
#[test]
fn two_ends_that_start_together_both_open() {
    let mut ends = [Automaton::new(Config::default()), Automaton::new(Config::default())];
    let mut line: VecDeque<(usize, Event)> = VecDeque::new();
    for to in 0..2 {
        line.extend([(to, Event::Open), (to, Event::Up)]);
    }
    let mut up = [false; 2];
    while let Some((at, event)) = line.pop_front() {
        let step = ends[at].on(event).unwrap();
        for action in step.actions {
            if action == Action::Scr {
                line.push_back((1 - at, Event::RcrPlus));
            } else if action == Action::Sca {
                line.push_back((1 - at, Event::Rca));
            } else if action == Action::Tlu {
                up[at] = true;
            } else {
                assert_eq!(action, Action::Tls);
            }
        }
    }
    assert_eq!(up, [true, true]);
}

#[test]
fn requests_to_a_silent_peer_come_to_an_end() {
    let config = Config {
        restart: Duration::from_millis(100),
        restart_most: Duration::from_millis(350),
        max_configure: 4,
        ..Config::default()
    };
    let mut automaton = Automaton::new(config);
    automaton.on(Event::Open).unwrap();
    let mut waits = Vec::new();
    let mut step = automaton.on(Event::Up).unwrap();
    while let Restart::Start(wait) = step.restart {
        assert_eq!(actions(&step), [Action::Scr]);
        waits.push(wait.as_nanos() / 1_000_000);
        step = automaton.expire().unwrap();
    }
    // Max-Configure requests, the first included; the wait doubles up to the configured value.
    assert_eq!(waits, [100, 200, 350, 350]);
    assert_eq!((actions(&step), step.restart), (&[Action::Tlf][..], Restart::Stop));
    assert_eq!(automaton.state(), State::Stopped);
    // Who calls later is answered, with a full count again.
    let step = automaton.on(Event::RcrPlus).unwrap();
    assert_eq!(actions(&step), [Action::Scr, Action::Sca]);
    assert_eq!(step.restart, Restart::Start(config.restart));
}

#[test]
fn with_the_passive_option_the_lower_layer_is_kept() {
    let config = Config { passive: true, max_configure: 1, ..Config::default() };
    let mut automaton = Automaton::new(config);
    automaton.on(Event::Open).unwrap();
    automaton.on(Event::Up).unwrap();
    let step = automaton.expire().unwrap();
    assert_eq!((actions(&step), automaton.state()), (&[][..], State::Stopped));
}

#[test]
fn terminate_requests_are_sent_as_often_as_is_said() {
    let mut automaton = opened(Config::default());
    let step = automaton.on(Event::Close).unwrap();
    assert_eq!(actions(&step), [Action::Tld, Action::Str]);
    assert_eq!(actions(&automaton.expire().unwrap()), [Action::Str]);
    let step = automaton.expire().unwrap();
    assert_eq!((actions(&step), step.restart), (&[Action::Tlf][..], Restart::Stop));
    assert_eq!(automaton.state(), State::Closed);
}

#[test]
fn who_is_terminated_waits_once_so_that_the_peer_sees_the_answer() {
    let mut automaton = opened(Config::default());
    let step = automaton.on(Event::Rtr).unwrap();
    assert_eq!(actions(&step), [Action::Tld, Action::Sta]);
    assert_eq!(step.restart, Restart::Start(Config::default().restart));
    let step = automaton.expire().unwrap();
    assert_eq!((actions(&step), automaton.state()), (&[Action::Tlf][..], State::Stopped));
}

#[test]
fn open_again_renegotiates_where_that_is_wanted() {
    let mut automaton = opened(Config::default());
    assert_eq!(actions(&automaton.on(Event::Open).unwrap()), []);
    let config = Config { restartable: true, ..Config::default() };
    let mut automaton = opened(config);
    let step = automaton.on(Event::Open).unwrap();
    assert_eq!(actions(&step), [Action::Tld, Action::Scr]);
    assert_eq!(automaton.state(), State::ReqSent);
}

#[test]
fn an_acknowledgment_out_of_step_begins_again_and_says_so() {
    let mut automaton = opened(Config::default());
    let step = automaton.on(Event::Rca).unwrap();
    assert!(step.crossed);
    assert_eq!(actions(&step), [Action::Tld, Action::Scr]);
    assert_eq!(automaton.state(), State::ReqSent);
}

#[test]
fn what_cannot_occur_changes_nothing() {
    let mut automaton = opened(Config::default());
    let (event, state) = (Event::Up, State::Opened);
    assert_eq!(automaton.on(event), Err(Illegal { event, state }));
    assert_eq!(automaton.expire().map_err(|illegal| illegal.state), Err(state));
    assert_eq!(automaton.state(), state);
}
