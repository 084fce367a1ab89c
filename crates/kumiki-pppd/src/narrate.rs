//! What a link tells as it goes and at its end, as text or as JSON Lines.
//!
//! A peer decides how often something is refused and how often a state changes, so of such lines there are [`BURST`] of
//! a kind at once, then one a second, with the number of those that were left out. Packets, which are told where
//! somebody asks for them, are all told.

use core::fmt::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use kumiki_graph::{Address, Instant};
use kumiki_io::Opening;
use kumiki_wire::ppp::ppp::Text;
use serde_json::json;

use super::{Agreement, Kind, LinkOutcome, Summary, program_words};
use kumiki_live::OutputFormat;
use kumiki_live::throttle::Throttle;

/// So many lines of a kind are told at once: those of some negotiations.
const BURST: u64 = 100;

/// Tells.
pub(super) struct Narrator<'a> {
    form: OutputFormat,
    verbose: bool,
    throttle: Throttle<Kind>,
    say: &'a mut dyn FnMut(&str),
}

/// Ours and the peer's, where there are any.
fn pair(addresses: (Address, Address)) -> String {
    format!("{} with {}", addresses.0, addresses.1)
}

impl<'a> Narrator<'a> {
    pub(super) fn new(form: OutputFormat, verbose: bool, say: &'a mut dyn FnMut(&str)) -> Self {
        Self { form, verbose, throttle: Throttle::with_burst(BURST), say }
    }

    /// A pseudo terminal has been made for the peer.
    pub(super) fn terminal(&mut self, name: &str) {
        let line = match self.form {
            OutputFormat::Json => json!({ "event": "terminal", "name": name }).to_string(),
            OutputFormat::Text => format!("the peer's end of the line is {name}"),
        };
        (self.say)(&line);
    }

    /// Nobody is there yet.
    pub(super) fn waits(&mut self, line: &Opening) {
        let line = match self.form {
            OutputFormat::Json => json!({ "event": "waiting", "line": line.to_string() }).to_string(),
            OutputFormat::Text => format!("waiting for a peer on {line}; Ctrl-C ends"),
        };
        (self.say)(&line);
    }

    /// A line of the daemon's log.
    pub(super) fn line(&mut self, line: &kumiki_ppp::ppp_daemon::Line) {
        let text = line.to_string();
        let text = match line.kind {
            Kind::Sent | Kind::Received => self.verbose.then_some(text),
            Kind::State | Kind::Refusal | Kind::Note => self.throttle.tell(line.kind, text, line.at),
        };
        if let Some(text) = text {
            self.log(line.at, line.kind, &text);
        }
    }

    /// What was left out of the log and may be told now; at the end, all.
    pub(super) fn due(&mut self, now: Instant, is_end: bool) {
        for (kind, text) in self.throttle.due_of_kinds(now, is_end) {
            self.log(now, kind, &text);
        }
    }

    fn log(&mut self, at: Instant, kind: Kind, line: &str) {
        let at = at.saturating_since(Instant::ZERO).as_secs_f64();
        let kind = match kind {
            Kind::Sent => "sent",
            Kind::Received => "received",
            Kind::State => "state",
            Kind::Refusal => "refusal",
            Kind::Note => "note",
        };
        let text = match self.form {
            OutputFormat::Json => json!({ "event": "log", "at": at, "kind": kind, "text": line }).to_string(),
            OutputFormat::Text => format!("{at:9.3} {line}"),
        };
        (self.say)(&text);
    }

    /// The program of the line has ended, and another may be started.
    pub(super) fn program(&mut self, now: Instant, status: ExitStatus) {
        let at = now.saturating_since(Instant::ZERO).as_secs_f64();
        let words = program_words(status);
        let text = match self.form {
            OutputFormat::Json => json!({ "event": "log", "at": at, "kind": "note", "text": words }).to_string(),
            OutputFormat::Text => format!("{at:9.3} {words}"),
        };
        (self.say)(&text);
    }

    /// What may pass has changed.
    pub(super) fn networks(
        &mut self,
        now: Instant,
        ipv4: Option<(Address, Address)>,
        ipv6: Option<(Address, Address)>,
    ) {
        let at = now.saturating_since(Instant::ZERO).as_secs_f64();
        let text = match self.form {
            OutputFormat::Json => {
                let ends = |pair: Option<(Address, Address)>| {
                    pair.map(|(local, remote)| json!([local.to_string(), remote.to_string()]))
                };
                json!({ "event": "networks", "at": at, "ipv4": ends(ipv4), "ipv6": ends(ipv6) }).to_string()
            }
            // The log has said so.
            OutputFormat::Text => return,
        };
        (self.say)(&text);
    }

    /// The link has ended.
    pub(super) fn end(&mut self, summary: &Summary) {
        let text = match self.form {
            OutputFormat::Json => json(summary).to_string(),
            OutputFormat::Text => text(summary),
        };
        (self.say)(&text);
    }
}

fn agreed(agreed: &Agreement) -> String {
    let mut text = format!("MRU {} to the peer and {} to us", agreed.peer_mru, agreed.mru);
    let _ = write!(
        text,
        "; ACCM {:08x} to the peer and {:08x} to us; FCS {} and {}",
        agreed.send_accm, agreed.receive_accm, agreed.send_fcs, agreed.receive_fcs
    );
    for (is, what) in [(agreed.acfc, "address and control left out"), (agreed.pfc, "short protocol numbers")] {
        if is {
            let _ = write!(text, "; {what} to the peer");
        }
    }
    text
}

fn text(summary: &Summary) -> String {
    let (line, driver) = (summary.traffic.line, summary.traffic.driver);
    let mut text = format!("ended after {:.3} s: {}", summary.elapsed.as_secs_f64(), summary.why());
    if let Some(agreement) = &summary.agreed {
        let _ = write!(text, "\nagreed: {}", agreed(agreement));
    }
    for (what, ends) in [("IPv4", summary.ipv4), ("IPv6", summary.ipv6)] {
        if let Some(ends) = ends {
            let _ = write!(text, "\n{what}: {}", pair(ends));
        }
    }
    if let Some(name) = &summary.peer_name {
        let _ = write!(text, "\nthe peer came in as {}", Text(name));
    }
    let _ = write!(
        text,
        "\nhanded down {} datagrams, sent {} frames, {} octets; received {} datagrams, {} frames, {} octets",
        driver.sent, line.sent, line.line_sent, driver.received, line.received, line.line_received
    );
    for (count, why) in [(summary.traffic.overflowed, "no room in the line"), (summary.traffic.refused, "no line")] {
        if count > 0 {
            let _ = write!(text, "\nframes not sent, for there was {why}: {count}");
        }
    }
    let damaged = [
        (line.bad_fcs, "with a wrong check sequence"),
        (line.aborts, "aborted"),
        (line.runts, "too short"),
        (line.oversize, "too long"),
    ];
    let damaged: Vec<String> =
        damaged.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if !damaged.is_empty() {
        let _ = write!(text, "\nframes damaged: {}", damaged.join(", "));
    }
    text
}

fn json(summary: &Summary) -> serde_json::Value {
    let (line, driver) = (summary.traffic.line, summary.traffic.driver);
    let ends =
        |pair: Option<(Address, Address)>| pair.map(|(local, remote)| json!([local.to_string(), remote.to_string()]));
    let agreed = summary.agreed.map(|agreed| {
        json!({
            "peer_mru": agreed.peer_mru,
            "mru": agreed.mru,
            "send_accm": agreed.send_accm,
            "receive_accm": agreed.receive_accm,
            "acfc": agreed.acfc,
            "pfc": agreed.pfc,
            "send_fcs": agreed.send_fcs,
            "receive_fcs": agreed.receive_fcs,
        })
    });
    json!({
        "event": "end",
        "seconds": summary.elapsed.as_secs_f64(),
        "outcome": match summary.outcome() {
            LinkOutcome::AsAsked => "as asked",
            LinkOutcome::NoAgreement => "no agreement",
            LinkOutcome::NotAuthenticated => "not authenticated",
            LinkOutcome::Lost => "lost",
            LinkOutcome::LoopedBack => "looped back",
        },
        "why": summary.why(),
        "program_status": summary.program.and_then(|status| status.code()),
        "program_signal": summary.program.and_then(|status| status.signal()),
        "interrupted": summary.interrupted,
        "agreed": agreed,
        "ipv4": ends(summary.ipv4),
        "ipv6": ends(summary.ipv6),
        "peer_name": summary.peer_name.as_ref().map(|name| String::from_utf8_lossy(name)),
        "opened": summary.traffic.daemon.opened,
        "datagrams_sent": driver.sent,
        "datagrams_received": driver.received,
        "datagrams_refused": driver.refused,
        "frames_sent": line.sent,
        "frames_received": line.received,
        "octets_sent": line.line_sent,
        "frames_overflowed": summary.traffic.overflowed,
        "frames_refused": summary.traffic.refused,
        "octets_received": line.line_received,
        "bad_fcs": line.bad_fcs,
        "aborts": line.aborts,
        "runts": line.runts,
        "oversize": line.oversize,
        "skipped": line.skipped,
    })
}
