//! What others call what a scenario has, so that a message can say which is meant.

/// A name that somebody may try, and the one that is here. It counts where the latter is among what is accepted.
const ALSO_CALLED: [(&str, &str); 32] = [
    ("sweep", "vary"),
    ("matrix", "vary"),
    ("grid", "vary"),
    ("parameters", "vary"),
    ("delay", "propagation"),
    ("latency", "propagation"),
    ("bandwidth", "rate"),
    ("capacity", "rate"),
    ("speed", "rate"),
    ("buffer", "queue_frames"),
    ("queue_length", "queue_frames"),
    ("queue_size", "queue_frames"),
    ("queue_limit", "queue_frames"),
    ("queue_packets", "queue_frames"),
    ("packets", "queue_frames"),
    ("time", "duration"),
    ("length", "duration"),
    ("runs", "repeat"),
    ("seeds", "repeat"),
    ("repetitions", "repeat"),
    ("trials", "repeat"),
    ("reno", "newreno"),
    ("fifo", "drop-tail"),
    ("fq", "fq-codel"),
    ("ethernet", "point-to-point"),
    ("p2p", "point-to-point"),
    ("wire", "point-to-point"),
    ("iperf", "netperf"),
    ("iperf3", "netperf"),
    ("bulk", "netperf"),
    ("http", "rpc"),
    ("cbr", "udp"),
];

/// Shorter words begin or end too much.
const SHORTEST: usize = 4;

/// What is called `typed` elsewhere, of `known`.
pub(super) fn also_called<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let meant = ALSO_CALLED.iter().filter(|(name, _)| name.eq_ignore_ascii_case(typed)).map(|(_, meant)| *meant);
    meant.into_iter().find_map(|meant| known.iter().find(|name| **name == meant).copied())
}

/// What is meant, with what else may be: the number of runs is given, or it follows from how sure one wants to be.
pub(super) fn with_others(meant: &str) -> String {
    let text = match meant {
        "repeat" => "repeat = { runs = 5 }, or confidence = { level = \"95 %\", width = \"5 %\" }",
        one => one,
    };
    text.to_owned()
}

/// The only one of `known` that begins or ends with `typed`.
pub(super) fn longer<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut longer = known.iter().filter(|name| name.starts_with(typed) || name.ends_with(typed));
    match (longer.next(), longer.next()) {
        (Some(only), None) if typed.chars().count() >= SHORTEST => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::nearest;

    #[test]
    fn what_is_meant_is_found_by_other_names_and_by_parts() {
        let known = ["newreno", "cubic", "rate", "propagation", "goodput_mbps", "a", "b"];
        for (typed, meant) in [
            ("reno", Some("newreno")),
            ("Cubik", None),
            ("cubik", Some("cubic")),
            ("delay", Some("propagation")),
            ("bandwidth", Some("rate")),
            ("goodput", Some("goodput_mbps")),
            ("mbps", Some("goodput_mbps")),
            // Another letter in the place of the only one is another name.
            ("c", None),
            ("fifo", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
    }
}
