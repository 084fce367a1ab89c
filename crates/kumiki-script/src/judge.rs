//! Holds a stack against a script, line by line.

use std::collections::VecDeque;

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::Flags;

use super::Script;
use super::notation::{Connection, Event, EventTime, Line, Marks, Number, Opt, Options, Seconds, Segment};
use super::packet::Packets;
use super::subject::Subject;

/// How a stack does what a script does not say, or not then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The script.
    pub file: String,
    /// The line that is not met, or before which something comes that no line expects.
    pub line: usize,
    /// What is wrong, and both in the notation.
    pub what: String,
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// A packet that crossed the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinePacket {
    /// When.
    pub at: Instant,
    /// Whether it went to the stack.
    pub inward: bool,
    /// The packet.
    pub octets: Vec<u8>,
}

/// What came of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScriptOutcome {
    /// Where the stack did something else.
    pub failure: Option<Failure>,
    /// What crossed the line.
    pub crossed: Vec<LinePacket>,
    /// The script with what the stack did, where that was asked for.
    pub recorded: Vec<String>,
}

/// How exactly a stack has to do what is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Strictness {
    /// How much earlier or later.
    pub(super) tolerance: Duration,
    /// Whether windows and shift counts count.
    pub(super) windows: bool,
    /// Whether PSH counts.
    pub(super) push: bool,
    /// Whether pure acknowledgments may come before they are due, and others beside them.
    pub(super) quick_acks: bool,
    /// Whether RSTs have to come.
    pub(super) resets: bool,
    /// Print what happens, and compare nothing.
    pub(super) record: bool,
}

/// So much further is looked for a segment that did not come, to say when it does.
const BEYOND: Duration = Duration::from_secs(1000);

pub(super) struct Judge<'a, S> {
    script: &'a Script,
    subject: S,
    strict: Strictness,
    packets: Packets,
    outcome: ScriptOutcome,
    /// What came and was not looked at yet.
    waiting: VecDeque<(Instant, Vec<u8>)>,
    /// Pure acknowledgments that came before they were due.
    early: Vec<(Connection, Segment)>,
    /// The script's time of the line before.
    last: Duration,
    /// How much later than in the script things are, in real time.
    slip: Duration,
    /// The time of the last line that was recorded.
    recorded: Duration,
}

type CheckResult = Result<(), String>;

impl<'a, S: Subject> Judge<'a, S> {
    pub(super) fn new(script: &'a Script, subject: S, strict: Strictness) -> Self {
        Self {
            script,
            subject,
            strict,
            packets: Packets::new(script.header.v6, script.header.peer_isn),
            outcome: ScriptOutcome::default(),
            waiting: VecDeque::new(),
            early: Vec::new(),
            last: Duration::ZERO,
            slip: Duration::ZERO,
            recorded: Duration::ZERO,
        }
    }

    pub(super) fn run(mut self) -> ScriptOutcome {
        let script = self.script;
        let mut number = 0;
        for line in &script.lines {
            number = line.number;
            let time = match line.time.moment {
                EventTime::At(time) => time,
                EventTime::After(time) => self.last + time,
            };
            let met = self.line(line, time);
            self.last = self.last.max(time);
            if let Err(what) = met {
                return self.failed(line.number, what);
            }
        }
        let at = self.instant(self.last);
        let met = self.subject.run_until(at).and_then(|()| self.take_all(at)).and_then(|()| self.nothing_more());
        match met {
            Ok(()) => self.outcome,
            Err(what) => self.failed(number, format!("after the last line: {what}")),
        }
    }

    fn failed(mut self, line: usize, what: String) -> ScriptOutcome {
        self.outcome.failure = Some(Failure { file: self.script.file.clone(), line, what });
        self.outcome
    }

    /// The script's time as the stack's.
    fn instant(&self, time: Duration) -> Instant {
        Instant::ZERO + time + self.slip
    }

    /// The stack's time as the script's.
    fn written(&self, at: Instant) -> Duration {
        at.saturating_since(Instant::ZERO).saturating_sub(self.slip)
    }

    fn line(&mut self, line: &Line, time: Duration) -> CheckResult {
        let connection = line.connection;
        let compares = !self.strict.record;
        match &line.event {
            Event::Out(segment) if !self.strict.resets && segment.flags.contains(Flags::RST) => return Ok(()),
            Event::Out(segment) if compares => return self.expect(line, time, segment),
            Event::Hear(hear) if compares => {
                let at = self.instant(time);
                let late = self.lateness(line, time);
                let heard = self.subject.hears(connection, *hear, at, at + late);
                return heard
                    .map_err(|got| format!("not heard\n  expected  {} {hear}\n  got       {got}", Seconds(time)));
            }
            Event::See(sights) if compares => {
                let at = self.instant(time);
                self.subject.run_until(at)?;
                for see in sights {
                    self.subject.sees(connection, *see, at).map_err(|got| {
                        format!("the state is another\n  expected  {} ? {see}\n  got       {got}", Seconds(time))
                    })?;
                }
                return Ok(());
            }
            Event::Out(_) | Event::Hear(_) | Event::See(_) => return Ok(()),
            Event::In(_) | Event::Icmp(_) | Event::Call(_) | Event::Silence | Event::Fresh => {}
        }
        let at = self.instant(time);
        self.subject.run_until(at)?;
        self.take_all(at)?;
        self.nothing_more()?;
        if self.strict.record {
            self.record(time, connection, line.event.clone());
        }
        match &line.event {
            Event::In(segment) => {
                let packet = self.packets.segment(connection, segment);
                self.inject(at, packet)
            }
            Event::Icmp(icmp) => {
                let packet = self.packets.icmp(connection, icmp)?;
                self.inject(at, packet)
            }
            Event::Call(call) => {
                let called = self.subject.call(connection, *call);
                called.map_err(|why| format!("\"{call}\" cannot be: {why}"))
            }
            Event::Fresh => {
                self.packets.forget(connection);
                self.subject.forget(connection);
                Ok(())
            }
            Event::Silence | Event::Out(_) | Event::Hear(_) | Event::See(_) => Ok(()),
        }
    }

    /// How much later than at `time` a line may be met.
    fn lateness(&self, line: &Line, time: Duration) -> Duration {
        if self.strict.tolerance.is_zero() {
            // In virtual time it is then and not at another time.
            return Duration::ZERO;
        }
        // Linux's timers are late by up to an eighth of what they wait.
        let wait = time.saturating_sub(self.last);
        let eighth = Duration::from_nanos(wait.as_nanos() / 8);
        let said = line.time.late.unwrap_or(Duration::ZERO);
        said.max(self.strict.tolerance + eighth)
    }

    fn inject(&mut self, at: Instant, octets: Vec<u8>) -> CheckResult {
        let injected = self.subject.inject(&octets);
        let inward = true;
        self.outcome.crossed.push(LinePacket { at, inward, octets });
        injected
    }

    /// Takes what the stack has sent by `at`.
    fn take_all(&mut self, at: Instant) -> CheckResult {
        while let Some(packet) = self.next(at)? {
            self.waiting.push_back(packet);
        }
        Ok(())
    }

    /// The next packet by `until`.
    fn next(&mut self, until: Instant) -> Result<Option<(Instant, Vec<u8>)>, String> {
        let next = self.subject.next_packet(until)?;
        if let Some((at, octets)) = &next {
            self.outcome.crossed.push(LinePacket { at: *at, inward: false, octets: octets.clone() });
        }
        Ok(next)
    }

    /// What came must have been expected.
    fn nothing_more(&mut self) -> CheckResult {
        while let Some((at, octets)) = self.waiting.pop_front() {
            let Some((connection, mut segment)) = self.packets.read(&octets)? else {
                continue;
            };
            if self.strict.record {
                segment.marks = Marks::default();
                self.retell(connection, &mut segment, None);
                self.record(self.written(at), connection, Event::Out(segment));
                continue;
            }
            self.retell(connection, &mut segment, None);
            segment.marks = Marks::default();
            if self.strict.quick_acks && is_pure_ack(&segment) {
                self.early.push((connection, segment));
                continue;
            }
            return Err(format!(
                "before this line the stack sent what no line expects\n  got       {} {}> {segment}",
                Seconds(self.written(at)),
                at_sign(connection),
            ));
        }
        if self.strict.record {
            return Ok(());
        }
        match self.subject.mishap() {
            Some(what) => Err(format!("before this line something ended or went wrong that no line speaks of: {what}")),
            None => Ok(()),
        }
    }

    fn record(&mut self, time: Duration, connection: Connection, event: Event) {
        let line = Line {
            number: 0,
            time: super::notation::Time { moment: EventTime::After(time.saturating_sub(self.recorded)), late: None },
            connection,
            event,
        };
        self.recorded = time;
        self.outcome.recorded.push(line.to_string());
    }

    /// A segment of the stack as the script would say it: its clock is another one.
    fn retell(&mut self, connection: Connection, got: &mut Segment, expected: Option<u32>) {
        let Options::List(list) = &mut got.options else {
            return;
        };
        for option in list {
            if let Opt::Timestamps(Number::Is(val), _) = option {
                if !self.packets.knows_clock(connection) {
                    let written = expected.unwrap_or(RECORDED_CLOCK);
                    self.packets.set_clock(connection, written, *val);
                }
                *val = self.packets.written(connection, *val);
            }
        }
    }

    /// The next segment must be this one, and at this time.
    fn expect(&mut self, line: &Line, time: Duration, expected: &Segment) -> CheckResult {
        let exact = self.strict.tolerance.is_zero();
        let late = self.lateness(line, time);
        let due = self.instant(time);
        let shown = |time: Duration, connection: Connection, segment: &Segment| {
            let mut tokens = vec![format!("{} {}>", Seconds(time), at_sign(connection))];
            tokens.extend(segment.tokens());
            tokens
        };
        let wanted = shown(time, line.connection, expected);
        let pure = self.strict.quick_acks && is_pure_ack(expected);
        if pure {
            // Timestamps aside, which tell when it was.
            let came = self.early.iter().position(|(connection, early)| {
                *connection == line.connection && (early.seq, early.ack) == (expected.seq, expected.ack)
            });
            if let Some(at) = came {
                self.early.remove(at);
                return Ok(());
            }
        }
        let (at, connection, mut got) = loop {
            let next = match self.waiting.pop_front() {
                Some(packet) => Some(packet),
                None => self.next(due + late)?,
            };
            let Some((at, octets)) = next else {
                return Err(self.missing(&wanted.join(" "), due + late));
            };
            let Some((connection, segment)) = self.packets.read(&octets)? else {
                continue;
            };
            let other = segment.ack != expected.ack || !is_pure_ack(expected);
            if self.strict.quick_acks && is_pure_ack(&segment) && other {
                self.early.push((connection, segment));
                continue;
            }
            break (at, connection, segment);
        };
        let written = |segment: &Segment| match &segment.options {
            Options::Any => None,
            Options::List(list) => list.iter().find_map(|it| match it {
                Opt::Timestamps(Number::Is(val), _) => Some(*val),
                Opt::Timestamps(Number::Any, _)
                | Opt::End
                | Opt::Nop
                | Opt::Mss(_)
                | Opt::WindowScale(_)
                | Opt::SackOk
                | Opt::Sack(_)
                | Opt::UserTimeout(..)
                | Opt::AccEcn(_)
                | Opt::Hex(_) => None,
            }),
        };
        let val = written(expected);
        let raw = written(&got);
        if val.is_some() || matches!(expected.options, Options::List(_)) {
            self.retell(connection, &mut got, val);
        }
        self.allow(&mut got, expected, at.saturating_since(due));
        if let (Some(val), Some(raw)) = (val, raw) {
            self.packets.set_clock(connection, val, raw);
        }
        let early = due.saturating_since(at);
        let in_time = early <= self.strict.tolerance && at <= due + late;
        if in_time && connection == line.connection && got == *expected {
            if !exact {
                self.slip = at.saturating_since(Instant::ZERO).saturating_sub(time);
            }
            return Ok(());
        }
        let came = if in_time { time } else { self.written(at) };
        let got = shown(came, connection, &got);
        let what = match (in_time, wanted.get(1..) == got.get(1..)) {
            (false, true) => "the segment came at another time",
            (true, _) => "the segment is another one",
            (false, false) => "the segment is another one, and came at another time",
        };
        Err(format!("{what}\n{}", compared(&wanted, &got)))
    }

    /// What to say of a segment that did not come.
    fn missing(&mut self, wanted: &str, until: Instant) -> String {
        let mut text = format!("the segment did not come\n  expected  {wanted}\n");
        let beyond = if self.strict.tolerance.is_zero() { until + BEYOND } else { until };
        let next = self.next(beyond).ok().flatten();
        let next = next.and_then(|(at, octets)| {
            let (connection, mut segment) = self.packets.read(&octets).ok()??;
            self.retell(connection, &mut segment, None);
            segment.marks = Marks::default();
            let time = Seconds(self.written(at));
            Some(format!("{time} {}> {segment}", at_sign(connection)))
        });
        match next {
            Some(next) => text.push_str(&format!("  next is   {next}")),
            None if self.strict.tolerance.is_zero() => {
                text.push_str(&format!("  nothing came in {} s after that either", Seconds(BEYOND)));
            }
            None => text.push_str("  nothing came"),
        }
        if let Some(what) = self.subject.mishap() {
            text.push_str(&format!("\n  {what}"));
        }
        text
    }

    /// Makes `got` as vague as `expected` is, and as this run allows.
    fn allow(&self, got: &mut Segment, expected: &Segment, late: Duration) {
        let (marks, wanted) = (&mut got.marks, &expected.marks);
        marks.ttl = wanted.ttl.and(marks.ttl);
        marks.tos = wanted.tos.and(marks.tos);
        marks.ecn = wanted.ecn.and(marks.ecn);
        marks.df = wanted.df.and(marks.df);
        if !self.strict.push {
            let push = expected.flags.contains(Flags::PSH);
            let flags = got.flags.without(Flags::PSH);
            got.flags = if push { flags | Flags::PSH } else { flags };
        }
        if expected.window.is_none() || !self.strict.windows {
            got.window = expected.window;
        }
        let (Options::List(got), Options::List(expected)) = (&mut got.options, &expected.options) else {
            got.options = Options::Any;
            return;
        };
        for (got, expected) in got.iter_mut().zip(expected) {
            match (got, expected) {
                (Opt::Mss(got), Opt::Mss(Number::Any)) => *got = Number::Any,
                (Opt::WindowScale(got), Opt::WindowScale(wanted)) if *wanted == Number::Any || !self.strict.windows => {
                    *got = *wanted;
                }
                (Opt::Timestamps(val, ecr), Opt::Timestamps(val_wanted, ecr_wanted)) => {
                    if val_wanted.allows(*val) || self.is_near(*val, *val_wanted, late) {
                        *val = *val_wanted;
                    }
                    if ecr_wanted.allows(*ecr) {
                        *ecr = *ecr_wanted;
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether a TSval is as near to another one as the time allows; a tick is a millisecond.
    fn is_near(&self, got: Number, wanted: Number, late: Duration) -> bool {
        let apart = got.sent().wrapping_sub(wanted.sent()).cast_signed();
        let most = (self.strict.tolerance + self.slip + late).as_millis();
        !self.strict.tolerance.is_zero() && u64::from(apart.unsigned_abs()) <= most + 10
    }
}

/// What a stack's first TSval is called where no line says so.
const RECORDED_CLOCK: u32 = 1000;

/// Whether it does nothing but acknowledge.
fn is_pure_ack(segment: &Segment) -> bool {
    segment.len == 0 && segment.flags == Flags::ACK
}

fn at_sign(connection: Connection) -> String {
    if connection == 1 { String::new() } else { format!("@{connection} ") }
}

/// Both, one below the other, and marks under what differs in the second.
fn compared(wanted: &[String], got: &[String]) -> String {
    let mut marks = String::new();
    let mut any = false;
    for (index, token) in got.iter().enumerate() {
        let differs = wanted.get(index) != Some(token);
        any |= differs;
        let mark = if differs { "^" } else { " " };
        marks.push_str(&mark.repeat(token.chars().count()));
        marks.push(' ');
    }
    if !any {
        marks.push('^');
    }
    format!("  expected  {}\n  got       {}\n            {}", wanted.join(" "), got.join(" "), marks.trim_end())
}
