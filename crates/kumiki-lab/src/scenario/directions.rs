//! The two directions of a line by the hosts at its ends.
//!
//! Rows call what the first of a line's `ends` sends `a`, and what the second sends `b`. A scenario may name the host
//! or the switch that sends: of a line with `ends = ["client.l0", "server.l0"]` the queue `queues.line.client.p95` is
//! `queues.line.a.p95`, and the counter `counters.line.client_drops` is `counters.line.a_drops`.

use super::Scenario;

/// The ends of a line.
pub(crate) type Ends = [String; 2];

/// Puts the letters of rows in the place of the hosts in what `[report]` and `[[claim]]` ask for.
pub(super) fn settle(scenario: &mut Scenario) {
    let links = &scenario.link;
    let of = |line: &str| links.get(line).map(|link| &link.ends);
    let asked = scenario.claim.iter_mut().map(|claim| &mut claim.value);
    for value in asked.chain([&mut scenario.report.value]) {
        if let Some(named) = value.as_deref().and_then(|text| lettered(text, &of)) {
            *value = Some(named);
        }
    }
}

/// The name of a value with a letter in the place of a host; nothing where it has no host, or one that is at both ends.
pub(crate) fn lettered<'a>(text: &str, ends: &impl Fn(&str) -> Option<&'a Ends>) -> Option<String> {
    if let Some(rest) = text.strip_prefix("queues.") {
        let (queue, part) = rest.rsplit_once('.')?;
        let (line, host) = queue.rsplit_once('.')?;
        let letter = letter(ends(line)?, |owner| owner == host)?;
        return Some(format!("queues.{line}.{letter}.{part}"));
    }
    let (line, counter) = text.strip_prefix("counters.")?.rsplit_once('.')?;
    let own = |owner: &str| Some(counter.strip_prefix(owner)?.strip_prefix('_')?.to_owned());
    let ends = ends(line)?;
    let letter = letter(ends, |owner| own(owner).is_some())?;
    let rest = ends.iter().find_map(|end| own(crate::topology::place(end)))?;
    Some(format!("counters.{line}.{letter}_{rest}"))
}

/// The name of a queue with the host or switch that sends in the place of a letter; nothing of what has none, and where
/// that is not what [`lettered`] reads.
pub(crate) fn sending<'a>(queue: &str, ends: impl Fn(&str) -> Option<&'a Ends>) -> Option<String> {
    let (line, name) = queue.rsplit_once('.')?;
    let ends = ends(line)?;
    let owners = ends.iter().map(|end| crate::topology::place(end));
    let mut own = owners.filter(|owner| letter(ends, |other| other == *owner).is_some_and(|it| name == it.to_string()));
    own.next().map(|owner| format!("{line}.{owner}"))
}

/// The letter of the end that belongs to whom `is_meant` says, where that is one of the two.
fn letter(ends: &Ends, is_meant: impl Fn(&str) -> bool) -> Option<char> {
    // The letters themselves say what rows say, whoever is called so.
    if is_meant("a") || is_meant("b") {
        return None;
    }
    match ends.each_ref().map(|end| is_meant(crate::topology::place(end))) {
        [true, false] => Some('a'),
        [false, true] => Some('b'),
        [true, true] | [false, false] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_stands_for_the_direction_in_which_it_sends() {
        let link = |ends: [&str; 2]| ends.map(str::to_owned);
        let line = link(["client.l0", "b.l0"]);
        let same = link(["b.l0", "b.l1"]);
        let of = |name: &str| match name {
            "line" => Some(&line),
            "same" => Some(&same),
            _ => None,
        };
        for (text, wanted) in [
            ("queues.line.client.p95", Some("queues.line.a.p95")),
            ("counters.line.client_drops", Some("counters.line.a_drops")),
            // `b` is the second end, and here its host as well.
            ("queues.line.b.p95", None),
            ("counters.line.b_drops", None),
            ("queues.same.b.p95", None),
            ("queues.other.client.p95", None),
            ("queues.line", None),
            ("counters.client.tcp.timeouts", None),
            ("goodput_mbps", None),
        ] {
            assert_eq!(lettered(text, &of).as_deref(), wanted, "{text}");
        }
        for (queue, wanted) in
            [("line.a", Some("line.client")), ("line.b", None), ("same.a", None), ("other.a", None), ("line", None)]
        {
            assert_eq!(sending(queue, of).as_deref(), wanted, "{queue}");
        }
    }
}
