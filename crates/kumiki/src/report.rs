//! What a live run prints: one line as each connection ends and one at the end, as text or as JSON Lines.

use core::fmt::Write as _;

use kumiki_graph::{Address, Duration, Instant, Reason, Token};
use serde_json::json;

use kumiki_lab::workload::Ping;
use kumiki_lab::workload::ping::Echoes;
use kumiki_lab::workload::talker::{Ending, Talk, Talker};
use kumiki_live::{LiveOutcome, OutputFormat, Watcher};

#[cfg(test)]
mod tests;

/// Watches a program, prints what it did and says when it is done.
pub(crate) struct Printer<'a> {
    form: OutputFormat,
    /// How many connections must end; `None`: go on for ever.
    connections: Option<usize>,
    /// When a ping that is not answered is given up.
    ping_timeout: Duration,
    print: &'a mut dyn FnMut(&str),
    listening: bool,
    /// Which connections have been told of, by number.
    told: Vec<bool>,
    octets: u64,
    aborted: usize,
    /// What is to be said of the first of them.
    first_abort: Option<String>,
    refused: Option<String>,
    echoes: Option<Echoes>,
    waits_since: Option<Instant>,
    /// Since when no echo has been answered; or since when that was said.
    silent_since: Option<Instant>,
    /// No answer is waited for any more.
    is_stopped: bool,
}

impl<'a> Printer<'a> {
    /// Prints by `print`, a line each time. The program is done when so many `connections` have ended.
    #[must_use]
    pub(crate) fn new(form: OutputFormat, connections: Option<usize>, print: &'a mut dyn FnMut(&str)) -> Self {
        Self {
            form,
            connections,
            ping_timeout: Duration::from_secs(2),
            print,
            listening: false,
            told: Vec::new(),
            octets: 0,
            aborted: 0,
            first_abort: None,
            refused: None,
            echoes: None,
            waits_since: None,
            silent_since: None,
            is_stopped: false,
        }
    }

    /// What is to be said of the connections that ended otherwise than in order and by our wish: how many, and why the
    /// first of them did; `None` where none did.
    #[must_use]
    pub(crate) fn aborted(&self) -> Option<String> {
        let first = self.first_abort.as_ref()?;
        Some(match self.aborted {
            1 => first.clone(),
            n => format!("{n} connections were aborted; {first}"),
        })
    }

    /// Why the program could not do its work at all.
    #[must_use]
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// What became of the echoes, where the program was a [`Ping`].
    #[must_use]
    pub(crate) const fn echoes(&self) -> Option<Echoes> {
        self.echoes
    }

    fn tell(&mut self, number: usize, talk: &Talk, hashed: bool) {
        let begun = talk.opened.unwrap_or(Instant::ZERO);
        let (end, how) = match talk.ending.clone() {
            Some(Ending::Closed(at)) => (at, Ok(())),
            Some(Ending::Aborted(at, reason)) => (at, Err(reason)),
            None => return,
        };
        if let Err(reason) = &how
            && *reason != Reason::User
        {
            self.aborted += 1;
            let remote = talk.remote;
            let number = number + 1;
            self.first_abort
                .get_or_insert_with(|| format!("connection {number}, with {remote}, was aborted: {reason}"));
        }
        // Of what was handed to the stack nobody knows how much arrived where the connection was aborted.
        let (handed, octets) = match how {
            Ok(()) => ("sent", talk.sent.max(talk.received)),
            Err(_) => ("handed to the stack", talk.received),
        };
        self.octets += talk.sent + talk.received;
        let took = end.saturating_since(begun).as_secs_f64();
        let mbps = megabits(octets, took);
        let line = match self.form {
            OutputFormat::Json => json!({
                "event": "connection",
                "number": number + 1,
                "local": talk.local.to_string(),
                "remote": talk.remote.to_string(),
                "sent": talk.sent,
                "sent_sha256": hashed.then(|| talk.sent_hash().to_string()),
                "received": talk.received,
                "received_sha256": hashed.then(|| talk.received_hash().to_string()),
                "ended": if how.is_ok() { "closed" } else { "aborted" },
                "reason": how.err().map(|reason| reason.to_string()),
                "seconds": took,
                "mbps": mbps,
            })
            .to_string(),
            OutputFormat::Text => {
                let mut line = format!("{}: {} with {}", number + 1, talk.local, talk.remote);
                for (octets, what, hash) in
                    [(talk.sent, handed, talk.sent_hash()), (talk.received, "received", talk.received_hash())]
                {
                    if octets > 0 {
                        let _ = write!(line, "\n   {what} {octets} B");
                        if hashed {
                            let _ = write!(line, ", sha256 {hash}");
                        }
                    }
                }
                let _ = match how {
                    Ok(()) => write!(line, "\n   closed in order after {took:.3} s"),
                    Err(reason) => write!(line, "\n   aborted after {took:.3} s: {reason}"),
                };
                if octets > 0 {
                    let _ = write!(line, ", {mbps:.1} Mb/s");
                }
                line
            }
        };
        (self.print)(&line);
    }

    /// Says what has been answered since the last look, and once a second that nothing is.
    fn tell_echoes(&mut self, echoes: &Echoes, now: Instant) {
        let before = self.echoes.unwrap_or_default();
        let took = echoes.sum.saturating_sub(before.sum).as_secs_f64() * 1e3;
        let line = match (echoes.answered - before.answered, echoes.errors - before.errors) {
            (1, _) => format!("echo {}: {took:.3} ms", echoes.answered),
            (0, 0) => {
                let open = echoes.sent.saturating_sub(echoes.answered + echoes.errors);
                if open == 0 {
                    self.silent_since = None;
                    return;
                }
                if now.saturating_since(*self.silent_since.get_or_insert(now)) < Duration::from_secs(1) {
                    return;
                }
                format!("no answer so far to {open} of {} echoes", echoes.sent)
            }
            (0, errors) => format!("an error for {errors} of {} echoes", echoes.sent),
            (several, _) => format!("{several} echoes: {:.3} ms on average", took / f64_of(several)),
        };
        self.silent_since = Some(now);
        (self.print)(&line);
    }

    fn listens(&mut self, at: Address) {
        let line = match self.form {
            OutputFormat::Json => json!({ "event": "listening", "local": at.to_string() }).to_string(),
            OutputFormat::Text => format!("listening on {at}; Ctrl-C ends"),
        };
        (self.print)(&line);
    }

    /// Prints what the run did as a whole.
    pub(crate) fn end(&mut self, outcome: &LiveOutcome) {
        let cpu = outcome.cpu.as_secs_f64();
        let per_gib = cpu / (f64_of(self.octets) / f64::from(1_u32 << 30));
        let device = outcome.device;
        let line = match self.form {
            OutputFormat::Json => json!({
                "event": "end",
                "interrupted": outcome.interrupted,
                "seconds": outcome.elapsed.as_secs_f64(),
                "cpu_seconds": cpu,
                "octets": self.octets,
                "packets_received": device.received,
                "batches": device.batches,
                "packets_sent": device.sent,
                "super_segments_received": device.super_received,
                "super_segments_sent": device.super_sent,
                "packets_waited": device.waited,
                "packets_overflowed": device.overflowed,
                "packets_refused": device.refused,
                "line": outcome.impaired.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect::<serde_json::Map<_, _>>(),
            })
            .to_string(),
            OutputFormat::Text => {
                let mut line = format!(
                    "{}{:.3} s, CPU {cpu:.3} s",
                    if outcome.interrupted { "interrupted after " } else { "" },
                    outcome.elapsed.as_secs_f64()
                );
                if self.octets > 0 {
                    let _ = write!(line, " ({per_gib:.3} s/GiB)");
                }
                let _ = write!(
                    line,
                    "; packets received {} in {} batches, sent {}",
                    device.received, device.batches, device.sent
                );
                for (count, what) in [
                    (device.super_received, "super-segments received"),
                    (device.super_sent, "super-segments sent"),
                    (device.waited, "waited for room"),
                    (device.overflowed, "dropped for want of room"),
                    (device.refused, "refused by the device: is it up?"),
                ] {
                    if count > 0 {
                        let _ = write!(line, ", {count} {what}");
                    }
                }
                let done = outcome.impaired.iter().filter(|(_, count)| *count > 0);
                let done: Vec<String> = done.map(|(name, count)| format!("{name} {count}")).collect();
                if !done.is_empty() {
                    let _ = write!(line, "\nline, from the device (a) and from the stack (b): {}", done.join(", "));
                }
                line
            }
        };
        (self.print)(&line);
    }
}

impl Watcher<Talker> for Printer<'_> {
    fn look(&mut self, program: &Talker, _: Instant) -> bool {
        if !self.listening
            && let Some(at) = program.listens()
        {
            self.listening = true;
            self.listens(at);
        }
        if let Some(reason) = program.refused() {
            self.refused = Some(format!("it may not listen: {reason}"));
            return true;
        }
        let ended = program.ended();
        if ended > self.told.iter().filter(|told| **told).count() {
            for (number, talk) in program.talks().enumerate() {
                if self.told.len() <= number {
                    self.told.push(false);
                }
                if talk.ending.is_some()
                    && let Some(told) = self.told.get_mut(number)
                    && !core::mem::replace(told, true)
                {
                    self.tell(number, talk, program.hashes());
                }
            }
        }
        self.connections.is_some_and(|all| ended >= all)
    }

    fn stop(&mut self, program: &mut Talker, why: Reason) -> Option<Token> {
        program.stop(why);
        Some(Talker::WAKE)
    }
}

impl Watcher<Ping> for Printer<'_> {
    fn look(&mut self, program: &Ping, now: Instant) -> bool {
        let echoes = program.echoes();
        if self.form == OutputFormat::Text {
            self.tell_echoes(&echoes, now);
        }
        if self.echoes != Some(echoes) {
            self.echoes = Some(echoes);
            self.waits_since = Some(now);
        }
        let waited = self.waits_since.map_or(Duration::ZERO, |since| now.saturating_since(since));
        let done = program.is_done() || self.is_stopped || (program.has_asked_all() && waited > self.ping_timeout);
        if done {
            let line = match self.form {
                OutputFormat::Json => json!({
                    "event": "ping",
                    "sent": echoes.sent,
                    "answered": echoes.answered,
                    "errors": echoes.errors,
                    "stray": echoes.stray,
                    "wrong": echoes.wrong,
                })
                .to_string(),
                OutputFormat::Text => echoes.to_string(),
            };
            (self.print)(&line);
        }
        done
    }

    fn stop(&mut self, _: &mut Ping, _: Reason) -> Option<Token> {
        self.is_stopped = true;
        None
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people, rounded to a few digits")]
const fn f64_of(count: u64) -> f64 {
    count as f64
}

fn megabits(octets: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { f64_of(octets) * 8.0 / 1e6 / seconds } else { 0.0 }
}
