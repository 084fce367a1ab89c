//! Values of rows by their names: what a table or a figure may show.

use std::collections::BTreeMap;

use super::{HALF_WIDTH, Parameter, RAW, Row, WARM_UP};
use crate::experiment::{Limit, OF_NODE, unit_of_counter};
use crate::stats::Summary;

/// The name of a value of a row: a field (`jain`), one of several by name (`completion_ms.p99`, `held.send buffer`), of
/// a queue (`queues.line.a.mean`) or a counter (`counters.line.a_drops`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueName(String);

/// Between which numbers a value of that name is, whatever was measured; nothing where there is no such end.
pub(crate) fn bounds(name: &str) -> Option<(f64, f64)> {
    match name.split('.').next()? {
        "jain" | "held" => Some((0.0, 1.0)),
        LOST => Some((0.0, 100.0)),
        _ => None,
    }
}

/// That intervals of these go further than a value of that name can, where they do, as half of their width beside the
/// mean has it.
pub(crate) fn beyond<'a>(name: &str, mut summaries: impl Iterator<Item = &'a Summary>) -> Option<String> {
    let (low, high) = bounds(name)?;
    let is_beyond = |it: &Summary| it.half_width.is_some_and(|half| it.mean - half < low || it.mean + half > high);
    summaries
        .any(is_beyond)
        .then(|| format!("no {name} is below {low} or above {high}: where +- leads there, the interval ends at that"))
}

/// The names of times.
pub(crate) const QUANTILES: [&str; 6] = ["mean", "min", "p50", "p95", "p99", "max"];

/// What rows have of a queue.
pub(crate) const QUEUE_PARTS: [&str; 5] = ["mean", "p50", "p95", "p99", "max"];

/// What is shown where nothing else is asked for.
const GOODPUT: &str = "goodput_mbps";

/// What is shown of echoes alone, which bring no goodput: it is there however few are answered.
pub(crate) const LOST: &str = "lost_percent";

/// The beginning of the names of counters of messages that a node dropped; behind it stands the reason.
pub(crate) const DROPPED: &str = "dropped, ";

/// Whether a layer that has `counts` may come to have this counter as well: a node of a graph counts what it dropped
/// for a reason once it has. Lines, switches, adapters and CPUs have all of theirs from the beginning.
pub(crate) fn may_come(counts: &BTreeMap<String, u64>, counter: &str) -> bool {
    counter.starts_with(DROPPED) && counts.contains_key(OF_NODE)
}

impl Default for ValueName {
    fn default() -> Self {
        Self(GOODPUT.to_owned())
    }
}

impl ValueName {
    /// `text` as a name; `None` where no row has a value that could be called so.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_field = Self::fields().iter().any(|field| field == text);
        let is_one_of = || {
            let (map, name) = text.split_once('.')?;
            let row = Row::default();
            let is_map = row.maps().iter().any(|(known, _)| *known == map);
            Some(match map {
                "queues" | "counters" => name.contains('.'),
                "held" => true,
                _ => is_map && QUANTILES.contains(&name),
            })
        };
        (is_field || is_one_of().unwrap_or(false)).then(|| Self(text.to_owned()))
    }

    /// Fields that may be shown, and how the others are written.
    #[must_use]
    pub fn known() -> Vec<String> {
        let mut known = Self::fields();
        known.extend(
            ["round_trip_ms.mean", "delay_ms.p99", "completion_ms.p99", "queues.LINE.END.mean", "counters.LAYER.NAME"]
                .map(str::to_owned),
        );
        known
    }

    /// The fields that are numbers and say how it went.
    fn fields() -> Vec<String> {
        const SHOWN: [&str; 14] = [
            GOODPUT,
            "octets",
            "measured_s",
            "completions",
            "longest_gap_s",
            LOST,
            "limit_mbps",
            "jain",
            "segments_sent",
            "retransmissions",
            "timeouts",
            RAW,
            WARM_UP,
            HALF_WIDTH,
        ];
        SHOWN.map(str::to_owned).to_vec()
    }

    /// Whether it is what is shown where nothing else is asked for.
    #[must_use]
    pub fn is_goodput(&self) -> bool {
        self.0 == GOODPUT
    }

    /// What it is called, in words.
    #[must_use]
    pub fn label(&self) -> String {
        let name = self.0.strip_prefix("queues.").map_or_else(|| self.0.clone(), |queue| format!("queue {queue}"));
        let name = name.strip_prefix("counters.").map_or_else(|| name.clone(), str::to_owned);
        let (field, part) = match name.split_once('.') {
            Some((field, part)) if self.0.starts_with(field) => (field.to_owned(), format!(", {part}")),
            _ => (name, String::new()),
        };
        let field = ["_mbps", "_ms", "_s", "_percent"]
            .iter()
            .find_map(|unit| field.strip_suffix(unit))
            .map_or_else(|| field.clone(), str::to_owned);
        format!("{}{part}", field.replace('_', " "))
    }

    /// Its unit; empty for none.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        let field = self.field();
        match field {
            // Those of a switch for cells are called by their ports, those of lines by a letter.
            "queues" if self.0.rsplit('.').nth(1).is_some_and(|port| port.parse::<u32>().is_ok()) => "cells",
            "queues" => "frames",
            "octets" => "octets",
            "counters" => {
                let counter = self.0.split_once('.').and_then(|(_, rest)| rest.rsplit_once('.'));
                counter.and_then(|(place, name)| unit_of_counter(place, name)).unwrap_or("")
            }
            _ if field.ends_with("_mbps") => "Mb/s",
            _ if field.ends_with("_ms") => "ms",
            _ if field.ends_with("_s") => "s",
            _ if field.ends_with("_percent") => "%",
            _ => "",
        }
    }

    /// As a file writes it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The field of the row that it is, or is one of.
    #[must_use]
    pub fn field(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }

    /// Why a run has none although it might have, in words.
    #[must_use]
    pub(crate) fn why_not(&self) -> &'static str {
        match self.field() {
            LOST => "of nothing that was sent while it was measured is it known yet whether it is lost",
            "delay_ms" => "no datagram arrived while it was measured",
            "completions" | "completion_ms" | "with_opening_ms" => "nothing came to its end while it was measured",
            "round_trip_ms" => "no round trip was measured",
            "longest_gap_s" => "nothing arrived while it was measured",
            "jain" => "nothing was written while it was measured",
            "limit_mbps" => "what the lines allow here is not known",
            "queues" | "counters" => "nothing was counted there",
            HALF_WIDTH => "its batches have none",
            RAW => "nothing was measured of a load with `times`",
            WARM_UP => "no end of a warm-up was looked for",
            _ => "no connection of TCP was there while it was measured",
        }
    }
}

impl Row {
    /// What the row has under a name: of its fields, of what is varied, or of what holds several values
    /// ([`ValueName`]).
    #[must_use]
    pub fn cell(&self, name: &str) -> Option<Parameter> {
        if let Some(parameter) = self.parameter(name) {
            return Some(parameter.clone());
        }
        if let Some((_, value)) = self.fields().into_iter().find(|(field, _)| *field == name) {
            return value;
        }
        match name {
            "paper" => self.paper.map(|paper| Parameter::Count(paper.into())),
            "figure" => Some(Parameter::Text(self.figure.clone())),
            "series" => Some(Parameter::Text(self.series.clone())),
            "version" => Some(Parameter::Text(self.version.clone())),
            _ => self.value(&ValueName::new(name)?).map(Parameter::Number),
        }
    }

    /// The value of that name, where the row has one.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "what is shown needs no more than 53 bits")]
    pub fn value(&self, name: &ValueName) -> Option<f64> {
        let text = name.name();
        let count = |count: u64| count as f64;
        if let Some((map, rest)) = text.split_once('.') {
            return match map {
                "queues" => {
                    let (queue, part) = rest.rsplit_once('.')?;
                    self.queues.get(queue)?.get(part).copied()
                }
                "counters" => {
                    let (layer, counter) = rest.rsplit_once('.')?;
                    let counts = self.counters.get(layer)?;
                    counts.get(counter).copied().or_else(|| may_come(counts, counter).then_some(0)).map(count)
                }
                // Parts of one, of which those that are nothing are not written.
                "held" => {
                    let part = self.held.get(rest).copied();
                    part.or_else(|| {
                        (!self.held.is_empty() && Limit::ALL.iter().any(|it| it.name() == rest)).then_some(0.0)
                    })
                }
                _ => self.maps().into_iter().find(|(known, _)| *known == map)?.1.get(rest).copied(),
            };
        }
        let field = || self.fields().into_iter().find(|(field, _)| *field == text)?.1;
        let said = [RAW, WARM_UP, HALF_WIDTH].contains(&text).then(|| self.parameter(text).cloned()).flatten();
        match said.or_else(field)? {
            Parameter::Number(number) => Some(number),
            Parameter::Count(number) => Some(count(number)),
            Parameter::Switch(_) | Parameter::Text(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names_and_told_in_words() {
        let one = |name: &str, value: f64| BTreeMap::from([(name.to_owned(), value)]);
        let row = Row {
            goodput_mbps: 9.5,
            jain: Some(0.9),
            retransmissions: Some(3),
            lost_percent: Some(12.5),
            completion_ms: one("p99", 40.0),
            queues: BTreeMap::from(
                [("line.a", 2.5), ("sw.0", 7.0)].map(|(of, mean)| (of.to_owned(), one("mean", mean))),
            ),
            counters: BTreeMap::from(
                [("line", "a_drops"), ("a.ip", "messages_down"), ("a.l0", "dropped, no page")]
                    .map(|(layer, counter)| (layer.to_owned(), BTreeMap::from([(counter.to_owned(), 7)]))),
            ),
            held: one("send buffer", 0.5),
            ..Row::default()
        };
        for (name, value, label, unit) in [
            ("goodput_mbps", 9.5, "goodput", "Mb/s"),
            ("jain", 0.9, "jain", ""),
            ("retransmissions", 3.0, "retransmissions", ""),
            ("lost_percent", 12.5, "lost", "%"),
            ("completion_ms.p99", 40.0, "completion, p99", "ms"),
            ("queues.line.a.mean", 2.5, "queue line.a.mean", "frames"),
            ("queues.sw.0.mean", 7.0, "queue sw.0.mean", "cells"),
            ("counters.line.a_drops", 7.0, "line.a drops", "frames"),
            ("held.send buffer", 0.5, "held, send buffer", ""),
            ("held.pacing", 0.0, "held, pacing", ""),
            ("counters.a.ip.dropped, no route", 0.0, "a.ip.dropped, no route", "messages"),
        ] {
            let known = ValueName::new(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((row.value(&known), known.label().as_str(), known.unit()), (Some(value), label, unit), "{name}");
        }
        for none in [
            "delay_ms.mean",
            "held.nothing",
            "counters.line.a_drop",
            "counters.line.dropped, queue full",
            "counters.a.l0.dropped, no pages",
        ] {
            assert_eq!(row.value(&ValueName::new(none).unwrap()), None, "{none}");
        }
        for name in ["", "goodput", "delay_ms", "delay_ms.p98", "queues.line", "seed", "bound_by", "held"] {
            assert_eq!(ValueName::new(name), None, "{name}");
        }
    }
}
