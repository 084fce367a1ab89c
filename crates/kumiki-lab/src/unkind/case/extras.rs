//! What a seed decides beyond the rest: parts of the standard that most connections do without.
//!
//! Each has draws of its own, so that one more changes nothing else of a seed: it gets a function here, a stream, and a line
//! in [`extras`].

use kumiki_graph::KeepAlive;
use kumiki_proto::tcp::config::SynCookies;

use super::End;
use super::dice::{Dice, ms, s};

/// The first stream of these draws; those before belong to the line and the ends.
const FIRST: u64 = 16;

/// Draws what is not drawn elsewhere.
pub(super) fn extras(seed: u64, ends: [&mut End; 2]) {
    for (number, end) in (0..).zip(ends) {
        let dice = |what: u64| Dice::new(seed, FIRST + 2 * what + number);
        listener(&mut dice(0), end);
        keep_alive(&mut dice(1), end);
        urgent(&mut dice(2), end);
        user_timeout(&mut dice(3), end);
    }
}

/// Cookies as under a flood, where no call is kept until it is answered, and a listener without them.
fn listener(dice: &mut Dice, end: &mut End) {
    if dice.one_in(4) {
        let rules = [SynCookies::Always, SynCookies::Never];
        end.tcp.syn_cookies = dice.pick(&rules, SynCookies::WhenFull);
    }
}

fn keep_alive(dice: &mut Dice, end: &mut End) {
    end.tcp.keep_alive = dice.one_in(8);
    end.tcp.keep_alive_times = KeepAlive {
        idle: dice.time(ms(10), s(100)),
        interval: dice.time(s(1), s(100)),
        count: dice.narrow(2, 16),
    };
}

/// Some writes, or all of them, are urgent.
fn urgent(dice: &mut Dice, end: &mut End) {
    end.writing.urgent = dice.one_in(8).then(|| dice.narrow(1, 64));
}

/// The peer is told how long the user waits, and may be heard on it (RFC 5482).
fn user_timeout(dice: &mut Dice, end: &mut End) {
    if dice.one_in(8) {
        end.tcp.user_timeout_option = true;
        end.tcp.user_timeout = dice.one_in(2).then(|| dice.time(s(10), s(600)));
        end.tcp.user_timeout_least = dice.time(s(10), s(200));
    }
}
