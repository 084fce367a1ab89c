//! A year of one TCP connection, in virtual time, with no tolerance.
//!
//! The script that it is held against is written here from what the standards say: an idle peer is asked every two
//! hours (RFC 9293 section 3.8.4) and now and then answers only the last of the questions; talks change TS.Recent, and
//! so do answers; both clocks go round seven times, and half round while nobody says anything for forty days (RFC 7323
//! section 5.5); segments of the sequence space's last time around come with timestamps that are up to 24 days old, and
//! change nothing (section 5.3). At the end TIME-WAIT lasts its minute.

#![allow(clippy::unwrap_used, reason = "a test: what fails stops it")]

use std::fmt::Write as _;

use kumiki_graph::Rng;

/// All times here are in milliseconds, the tick of both timestamp clocks.
const SECOND: u64 = 1000;
const DAY: u64 = 86_400 * SECOND;
const YEAR: u64 = 365 * DAY;

/// After so long without a word the stack asks, and again after each [`INTERVAL`].
const IDLE: u64 = 7200 * SECOND;
const INTERVAL: u64 = 75 * SECOND;

/// The peer answers at last the ninth question.
const UNANSWERED: u64 = 8;

/// How long an answer is in flight.
const ANSWER: u64 = 30;

/// Longer than TS.Recent says anything for.
const SILENCE: u64 = 40 * DAY;

const TIME_WAIT: u64 = 60 * SECOND;

const HEADER: &str = "[tcp]\nwindow_scaling = false\nsack = false\n---\n";

/// A timestamp at a time, of a clock that begins with `first`.
fn clock(first: u64, now: u64) -> u32 {
    u32::try_from((first + now) % (1 << 32)).unwrap()
}

fn peers(now: u64) -> u32 {
    clock(4_000_000_000, now)
}

fn ours(now: u64) -> u32 {
    clock(1000, now)
}

/// The script, and what is known of the connection while it is written.
struct Year {
    text: String,
    rng: Rng,
    now: u64,
    /// The next octet of the peer and of ours.
    theirs: u64,
    mine: u64,
    /// TS.Recent, and our last timestamp that the peer has seen.
    recent: u32,
    echo: u32,
    talks: u32,
    questions: u32,
    refused: u32,
}

impl Year {
    fn line(&mut self, event: &str) {
        let (seconds, rest) = (self.now / SECOND, self.now % SECOND);
        let _ = writeln!(self.text, "{seconds}.{rest:03} {event}");
    }

    /// A segment of the peer's, which is believed.
    fn comes(&mut self, flags: &str, len: u64) {
        let (from, to, ack) = (self.theirs, self.theirs + len, self.mine);
        let (value, echo) = (peers(self.now), self.echo);
        self.line(&format!("< {flags} {from}:{to}({len}) ack {ack} <nop,nop,TS val {value} ecr {echo}>"));
        (self.theirs, self.recent) = (to, value);
    }

    /// A segment of ours, from `from` on.
    fn goes(&mut self, flags: &str, from: u64, len: u64) {
        let (to, ack) = (from + len, self.theirs);
        let (value, echo) = (ours(self.now), self.recent);
        self.line(&format!("> {flags} {from}:{to}({len}) ack {ack} <nop,nop,TS val {value} ecr {echo}>"));
        self.echo = value;
    }

    fn begin(&mut self) {
        let (theirs, mine) = (peers(0), ours(0));
        self.line("listen");
        self.line(&format!("< S 0:0(0) <mss 1460,nop,nop,TS val {theirs} ecr 0>"));
        self.line(&format!("> S. 0:0(0) ack 1 <mss 1460,nop,nop,TS val {mine} ecr {theirs}>"));
        self.echo = mine;
        self.now += ANSWER;
        self.comes(".", 0);
        self.line("accept");
        self.asks(true);
    }

    fn asks(&mut self, asks: bool) {
        self.line(if asks { "set keepalive 7200 75 9" } else { "set keepalive off" });
    }

    fn talk(&mut self) {
        self.comes("P.", 100);
        self.line("read 100");
        self.line("write 50");
        self.goes("P.", self.mine, 50);
        self.mine += 50;
        self.now += ANSWER;
        self.comes(".", 0);
        self.talks += 1;
    }

    /// A segment that had been in flight while all sequence numbers were used once.
    fn old_duplicate(&mut self) {
        self.now += 1 + self.rng.below(SECOND);
        let age = 1 + self.rng.below((1 << 31) - 1);
        let value = self.recent.wrapping_sub(u32::try_from(age).unwrap());
        let (from, ack, echo) = (self.theirs, self.mine, ours(self.now));
        let to = from + 100;
        self.line(&format!("< {{other}} P. {from}:{to}(100) ack {ack} <nop,nop,TS val {value} ecr {echo}>"));
        self.goes(".", self.mine, 0);
        self.line("readable 0");
        self.refused += 1;
    }

    /// The stack asks at `due`, and is answered in the end.
    fn questions(&mut self, due: u64) {
        self.now = due;
        let unanswered = if self.rng.chance(0.02) { self.rng.below(UNANSWERED + 1) } else { 0 };
        for number in 0..=unanswered {
            if number > 0 {
                self.now += INTERVAL;
            }
            self.goes(".", self.mine - 1, 0);
            self.questions += 1;
        }
        self.now += ANSWER;
        self.comes(".", 0);
    }

    fn end(&mut self) {
        self.now += ANSWER;
        self.line("shutdown");
        self.goes("F.", self.mine, 0);
        self.mine += 1;
        self.now += ANSWER;
        self.comes("F.", 0);
        self.theirs += 1;
        self.goes(".", self.mine, 0);
        self.now += TIME_WAIT - 1;
        self.line("? connections 1");
        self.now += 1;
        self.line("? connections 0");
    }

    /// The whole of it.
    fn written(seed: u64) -> Self {
        let mut year = Self {
            text: HEADER.to_owned(),
            rng: Rng::new(seed, 0),
            now: 0,
            theirs: 1,
            mine: 1,
            recent: 0,
            echo: 0,
            talks: 0,
            questions: 0,
            refused: 0,
        };
        year.begin();
        // What a refused segment shows is no sign of life.
        let mut heard = year.now;
        let mut silences = (1..3).map(|third| third * YEAR / 3).peekable();
        while year.now < YEAR {
            let pause = 1 + year.rng.below(3 * DAY);
            let until = year.now + pause;
            while heard + IDLE < until && year.now < YEAR {
                year.questions(heard + IDLE);
                heard = year.now;
            }
            year.now = (heard + 1 + pause % IDLE).max(year.now + 1);
            if silences.next_if(|at| *at < year.now).is_some() {
                year.asks(false);
                year.now += SILENCE;
                year.talk();
                year.now += ANSWER;
                year.asks(true);
                heard = year.now - ANSWER;
                continue;
            }
            if year.now >= heard + IDLE {
                continue;
            }
            year.talk();
            heard = year.now;
            if year.rng.chance(0.5) {
                year.old_duplicate();
            }
        }
        year.end();
        year
    }
}

#[test]
fn a_year_goes_as_the_standards_say() {
    for seed in 0..3 {
        let year = Year::written(seed);
        let counts = (year.talks, year.questions, year.refused);
        assert!(counts.0 > 100 && counts.1 > 2000 && counts.2 > 50, "{counts:?}");
        let script = kumiki_script::parse(&format!("year {seed}"), &year.text);
        let script = script.unwrap_or_else(|wrong| panic!("{wrong}"));
        let outcome = kumiki_script::run(&script, false).unwrap();
        let failure = outcome.failure.map(|failure| failure.to_string());
        assert_eq!(failure, None, "seed {seed}");
    }
}
