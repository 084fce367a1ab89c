//! A case in words.

use core::fmt::{self, Display, Write as _};

use kumiki_graph::{Coalesce, Duration};
use kumiki_link::{Hold, Impairment, Loss};

use kumiki_inet::tcp::defaults;
use kumiki_xtp as xtp;

use super::case::{AbortTime, Case, ControlForgery, End, Finish, Line, Opening, Reading, Stack, Version, Writing};

impl Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Case {}", self.seed)?;
        let version = match self.version {
            Version::Four => 4,
            Version::Six => 6,
        };
        let stack = match self.stack {
            Stack::Ip => "in frames; nothing but the Internet checksum protects it",
            Stack::Aal5 => "over LLC/SNAP over AAL5 in software, a PDU to a frame; CRC-32 protects it",
            Stack::Cells => "over LLC/SNAP over AAL5 in the adapter, in cells",
            Stack::Ethernet => "in frames of Ethernet, without IP",
            Stack::Fddi => "in frames of FDDI, without IP",
        };
        let name = self.transport.name().to_uppercase();
        if self.stack.has_ip() {
            writeln!(f, "  {name} on IPv{version} {stack}")?;
        } else {
            writeln!(f, "  {name} {stack}")?;
        }
        line(f, &self.line, self.stack)?;
        let [near, far] = &self.ends;
        end(f, "near", near)?;
        end(f, "far", far)
    }
}

fn line(f: &mut fmt::Formatter<'_>, line: &Line, stack: Stack) -> fmt::Result {
    let [near, far] = line.rates;
    write!(f, "  the line carries {near} b/s")?;
    if near != far {
        write!(f, " from the near end and {far} b/s from the far one")?;
    }
    write!(f, ", takes {} from end to end", line.propagation)?;
    match (line.queue, stack) {
        (u64::MAX, _) => writeln!(f, ", and queues everything")?,
        (n, Stack::Cells) => writeln!(f, ", and queues at most {n} PDUs")?,
        (n, _) => writeln!(f, ", and queues at most {n} octets")?,
    }
    for (end, often) in ["near", "far"].into_iter().zip(line.squeeze) {
        if often > 0 {
            writeln!(f, "  {often} of 1024 windows that the {end} end tells are smaller when they come")?;
        }
    }
    for (end, liar) in ["near", "far"].into_iter().zip(line.liars) {
        if let Some(ControlForgery { often, knows_keys }) = liar {
            let keys = if knows_keys { "right" } else { "wrong" };
            writeln!(
                f,
                "  somebody makes up control packets to the {end} end under {keys} keys, with {often} of 1024 that pass"
            )?;
        }
    }
    let [near, far] = &line.weather;
    if near == far {
        writeln!(f, "  what either end sends {}", weather(near))
    } else {
        writeln!(f, "  what the near end sends {}", weather(near))?;
        writeln!(f, "  what the far end sends {}", weather(far))
    }
}

fn weather(it: &Impairment) -> String {
    let mut parts = Vec::new();
    match it.loss {
        Loss::None => {}
        Loss::Independent(p) => parts.push(format!("is lost with probability {p:.6}")),
        Loss::Gilbert { to_bad, to_good, bad, .. } => parts.push(format!(
            "is lost in bursts (into one with probability {to_bad:.6}, out of it {to_good:.3}, lost in it {bad:.3})"
        )),
    }
    if it.duplicate > 0.0 {
        parts.push(format!("comes twice with probability {:.6}", it.duplicate));
    }
    if it.mark > 0.0 {
        parts.push(format!("is marked for congestion with probability {:.6}", it.mark));
    }
    if it.corrupt > 0.0 {
        let more = if it.corrupt_again > 0.0 { ", or two" } else { "" };
        parts.push(format!("has a wrong bit{more} with probability {:.6}", it.corrupt));
    }
    if !it.jitter.is_zero() {
        parts.push(format!("comes up to {} later", it.jitter));
    }
    match it.hold {
        Some((p, Hold::Time(time))) => {
            parts.push(format!("is held back for {time} with probability {p:.6}"));
        }
        Some((p, Hold::Followers(n, time))) => {
            parts.push(format!("is held back with probability {p:.6} until {n} others have passed, or {time}"));
        }
        None => {}
    }
    for (from, until) in &it.down {
        parts.push(format!("is lost from {from} s to {until} s"));
    }
    if parts.is_empty() { "comes as it was sent".to_owned() } else { parts.join(", ") }
}

fn end(f: &mut fmt::Formatter<'_>, name: &str, end: &End) -> fmt::Result {
    write!(f, "  the {name} end ")?;
    match end.opening {
        Opening::Calls { after } => {
            let way = if end.by_gateway { ", by a source route" } else { "" };
            writeln!(f, "calls{}{way}", later(after))?;
        }
        Opening::Listens { after, accepts_after, refuses, stays } => {
            write!(f, "listens{}", later(after))?;
            if refuses {
                writeln!(f, " and refuses")?;
            } else {
                let stays = if stays { "" } else { ", then listens no more" };
                writeln!(f, " and accepts{}{stays}", later(accepts_after))?;
            }
        }
    }
    if let Some(flood) = end.strangers {
        writeln!(
            f,
            "    {} strangers call{}, each {} later, and say no more; there is room for {}",
            flood.calls,
            later(flood.after),
            flood.every,
            end.tcp.half_open
        )?;
    }
    writeln!(f, "    {}", writing(&end.writing))?;
    writeln!(f, "    {}", reading(end.reading))?;
    writeln!(f, "    {}", finish(end.finish))?;
    match end.abort {
        None => {}
        Some(AbortTime::Written(n)) => writeln!(f, "    aborts when {n} octets are written")?,
        Some(AbortTime::Received(n)) => writeln!(f, "    aborts when {n} octets have come")?,
        Some(AbortTime::Time(after)) => writeln!(f, "    aborts{}", later(after))?,
    }
    write!(f, "    MTU {}", end.mtu)?;
    if end.batch > 1 {
        write!(f, ", takes {} inputs at a time", end.batch)?;
    }
    if let Some(clusters) = end.clusters {
        write!(f, ", has {clusters} clusters of send memory")?;
    }
    for (what, asked) in [("send", end.quality.send_buffer), ("receive", end.quality.receive_buffer)] {
        if let Some(octets) = asked {
            write!(f, ", asks for a {what} buffer of {octets}")?;
        }
    }
    if let Some(rule) = end.quality.coalesce {
        let name = match rule {
            Coalesce::Never => "no coalescing",
            Coalesce::Nagle => "Nagle",
            Coalesce::Minshall => "Minshall",
        };
        write!(f, ", asks for {name}")?;
    }
    writeln!(f)?;
    match &end.xtp {
        Some(xtp) => {
            let asked = differences(&end.quality, &kumiki_graph::Quality::default());
            writeln!(f, "    the program asks for the defaults{asked}")?;
            let differ = differences(&**xtp, &xtp::Config::default());
            writeln!(f, "    XTP as by default{differ}")
        }
        None => {
            let profile = match end.profile {
                "bsd43" => defaults::bsd43(),
                "solaris23" => defaults::solaris23(),
                _ => defaults::modern(),
            };
            let differ = differences(&end.tcp, &profile);
            writeln!(f, "    TCP as {}{differ}", end.profile)
        }
    }
}

fn later(after: Duration) -> String {
    if after.is_zero() { " at once".to_owned() } else { format!(" after {after}") }
}

fn writing(it: &Writing) -> String {
    if it.total == 0 {
        return "writes nothing".to_owned();
    }
    let (least, most) = it.piece;
    let mut text = format!("writes {} octets in pieces of ", it.total);
    let _ = if least == most { write!(text, "{most}") } else { write!(text, "{least} to {most}") };
    if let Some((every, time)) = it.pause {
        let _ = write!(text, ", with a pause of {time} after each {every}");
    }
    if let Some(every) = it.urgent {
        let _ = write!(text, ", of which one in {every} is urgent");
    }
    if let Some(every) = it.tagged {
        let _ = write!(text, ", of which one in {every} has a tag");
    }
    if !it.messages {
        text.push_str(", which are no messages");
    }
    text.push_str(if it.stored { ", as real octets" } else { ", as content by position" });
    text
}

fn reading(it: Reading) -> String {
    match it {
        Reading::AtOnce => "reads at once".to_owned(),
        Reading::Late(time) => format!("reads all of it {time} late"),
        Reading::Bits(octets, time) => format!("reads at most {octets} octets each {time}"),
        Reading::Pauses(after, time) => {
            format!("reads at once, but for a pause of {time} when {after} octets have come")
        }
    }
}

fn finish(it: Finish) -> String {
    match it {
        Finish::Written => "closes when all is written".to_owned(),
        Finish::AfterPeer => "closes when all is written and the peer has closed".to_owned(),
        Finish::Later(time) => format!("closes {time} after all is written"),
        Finish::At(time) => format!("closes{}, whatever is left", later(time)),
    }
}

/// What of `ours` is not as in `theirs`, by the names of the fields.
fn differences<T: fmt::Debug>(ours: &T, theirs: &T) -> String {
    let fields = |config: &T| -> Vec<String> {
        let text = format!("{config:#?}");
        // The derived form has one field to a line at the outermost level; deeper ones are joined to it.
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines() {
            let depth = line.len() - line.trim_start().len();
            if depth == 4 && !line.trim_start().starts_with(['}', ')']) {
                lines.push(line.trim().to_owned());
            } else if depth >= 4
                && let Some(last) = lines.last_mut()
            {
                last.push(' ');
                last.push_str(line.trim());
            }
        }
        lines
    };
    let ours = fields(ours);
    let theirs = fields(theirs);
    let mut text = String::new();
    for (ours, _) in ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs) {
        let _ = write!(text, "\n      {}", ours.trim_end_matches(','));
    }
    if text.is_empty() { text } else { format!(", but{text}") }
}
