//! What others call what a scenario has, so that a message can say which is meant.

/// A name that somebody may try, and the one that is here. It counts where the latter is among what is accepted.
const ALSO_CALLED: [(&str, &str); 112] = [
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
    ("stream", "netperf"),
    ("window", "socket_buffer"),
    ("window", "receive_buffer"),
    ("window_size", "socket_buffer"),
    ("window_size", "receive_buffer"),
    ("rwnd", "receive_buffer"),
    ("rcvbuf", "receive_buffer"),
    ("recv_buffer", "receive_buffer"),
    ("sndbuf", "send_buffer"),
    ("buffer", "socket_buffer"),
    ("buffer", "receive_buffer"),
    ("buffer_size", "socket_buffer"),
    ("socket_buffer", "receive_buffer"),
    ("cwnd", "initial_window"),
    ("congestion_control", "congestion"),
    ("congestion_algorithm", "congestion"),
    ("cca", "congestion"),
    ("cc", "congestion"),
    ("algorithm", "congestion"),
    ("variant", "congestion"),
    ("nagle", "coalesce"),
    ("nodelay", "coalesce"),
    ("delayed_acks", "delayed_ack"),
    ("qdisc", "queue"),
    ("aqm", "queue"),
    ("discipline", "queue"),
    ("packet_loss", "loss"),
    ("loss_rate", "loss"),
    ("plr", "loss"),
    ("rtt", "propagation"),
    ("ber", "corrupt"),
    ("flows", "sessions"),
    ("connections", "sessions"),
    ("streams", "sessions"),
    ("parallel", "sessions"),
    ("between", "ends"),
    ("endpoints", "ends"),
    ("nodes", "ends"),
    ("hosts", "ends"),
    ("connects", "ends"),
    ("peers", "ends"),
    ("src", "from"),
    ("source", "from"),
    ("sender", "from"),
    ("client", "from"),
    ("dst", "to"),
    ("destination", "to"),
    ("receiver", "to"),
    ("server", "to"),
    ("every", "interval"),
    ("period", "interval"),
    ("peak", "rate"),
    ("packet_size", "message"),
    ("segment_size", "mss"),
    ("gateway", "routes"),
    ("varies", "vary"),
    ("variables", "vary"),
    ("workload", "load"),
    ("beside", "load"),
    ("traffic", "load"),
    ("tcp", "netperf"),
    ("throughput", "goodput_mbps"),
    ("bandwidth", "goodput_mbps"),
    ("y", "value"),
    ("columns", "series"),
    ("pos", "oc3c-pos"),
    ("sonet", "oc3c-pos"),
    ("sdh", "oc3c-pos"),
    ("atm", "oc3c-atm"),
    ("cellular", "trace"),
    ("lte", "trace"),
    ("mahimahi", "trace"),
    ("icmp", "ping"),
    ("echo", "ping"),
    ("state", "up"),
    ("fairness", "jain"),
    ("block", "message"),
    ("down", "up"),
    ("ftp", "ftam"),
    ("ipv4", "ip"),
];

/// Congestion controls that others have, as they are written and as they are called.
const OTHER_CONTROLS: [(&str, &str); 14] = [
    ("bbr", "BBR"),
    ("bbr2", "BBR"),
    ("bbr3", "BBR"),
    ("bic", "BIC"),
    ("dctcp", "DCTCP"),
    ("highspeed", "HighSpeed TCP"),
    ("htcp", "H-TCP"),
    ("hybla", "Hybla"),
    ("illinois", "Illinois"),
    ("ledbat", "LEDBAT"),
    ("prague", "Prague"),
    ("vegas", "Vegas"),
    ("veno", "Veno"),
    ("westwood", "Westwood"),
];

/// How a congestion control is called that others have under this name.
pub fn other_control(typed: &str) -> Option<&'static str> {
    OTHER_CONTROLS.iter().find(|(name, _)| name.eq_ignore_ascii_case(typed)).map(|(_, called)| *called)
}

/// Shorter words begin or end too much.
const SHORTEST: usize = 4;

/// What may be meant by what is called `typed` elsewhere.
pub fn meant_by(typed: &str) -> impl Iterator<Item = &'static str> {
    ALSO_CALLED.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(typed)).map(|(_, meant)| *meant)
}

/// What is called `typed` elsewhere, of `known`.
pub fn also_called<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    meant_by(typed).find_map(|meant| known.iter().find(|name| **name == meant).copied())
}

/// What is called elsewhere by a name of which `typed` is a slip, of `known`.
pub fn nearly_called<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let is_slip = |name: &str| name.len() > SHORTEST && strsim::osa_distance(name, typed) == 1;
    let meant = ALSO_CALLED.iter().filter(|(name, _)| is_slip(name)).map(|(_, meant)| *meant);
    meant.into_iter().find_map(|meant| known.iter().find(|name| **name == meant).copied())
}

/// The member of a group that is written with its number in brackets, as lists have it: `r0` for `r[0]`.
pub fn member<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let (group, number) = typed.strip_suffix(']')?.split_once('[')?;
    known.iter().find(|name| name.strip_prefix(group) == Some(number)).copied()
}

/// What is meant, with what else may be: the number of runs is given, or it follows from how sure one wants to be.
pub fn with_others(meant: &str) -> String {
    let text = match meant {
        "repeat" => "repeat = { runs = 5 }, or confidence = { level = \"95 %\", width = \"5 %\" }",
        one => one,
    };
    text.to_owned()
}

/// The only one of `known` that begins or ends with `typed`.
pub fn longer<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut longer = known.iter().filter(|name| name.starts_with(typed) || name.ends_with(typed));
    match (longer.next(), longer.next()) {
        (Some(only), None) if typed.chars().count() >= SHORTEST => Some(only),
        _ => None,
    }
}

/// The longest of `known` to which `typed` adds a word, such as a unit: `rate` for `rate_mbps`.
pub fn shorter<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let is_begun = |name: &&&str| typed.strip_prefix(**name).is_some_and(|rest| rest.starts_with(['_', '-']));
    known.iter().filter(is_begun).max_by_key(|name| name.len()).copied()
}

#[cfg(test)]
mod tests {
    use crate::nearest;

    #[test]
    fn what_others_call_it_is_known() {
        let known = ["interval", "rate", "ends", "message"];
        for (typed, meant) in [
            ("every", "interval"),
            ("period", "interval"),
            ("peak", "rate"),
            ("between", "ends"),
            ("endpoints", "ends"),
            ("nodes", "ends"),
            ("hosts", "ends"),
            ("connects", "ends"),
            ("peers", "ends"),
        ] {
            assert_eq!(super::also_called(typed, &known), Some(meant), "{typed}");
        }
    }

    #[test]
    fn what_is_meant_is_found_by_other_names_and_by_parts() {
        let known = ["newreno", "cubic", "rate", "propagation", "goodput_mbps", "a", "b", "s1"];
        for (typed, meant) in [
            ("reno", Some("newreno")),
            ("Cubik", None),
            ("cubik", Some("cubic")),
            ("delay", Some("propagation")),
            ("bandwidth", Some("rate")),
            ("goodput", Some("goodput_mbps")),
            ("mbps", Some("goodput_mbps")),
            ("rate_mbps", Some("rate")),
            ("ratembps", None),
            ("s[1]", Some("s1")),
            ("s[2]", None),
            // Another letter in the place of the only one is another name.
            ("c", None),
            ("troughput", Some("goodput_mbps")),
            ("bandwith", Some("rate")),
            ("fifo", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
    }
}
