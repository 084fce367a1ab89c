//! What has crossed, for people and for programs.

use core::fmt::Write as _;

use kumiki_graph::Duration;
use kumiki_io::Clock;
use kumiki_octets::text::counted;
use serde_json::{Map, Value, json};

use super::engine::{Engine, HostTraffic};

fn hosts<C: Clock>(engine: &Engine<C>) -> impl Iterator<Item = (&str, &HostTraffic)> {
    engine.world().real().iter().map(|host| host.name.as_str()).zip(engine.crossed())
}

/// The counters of lines and switches that have counted something.
fn media<C: Clock>(engine: &Engine<C>) -> impl Iterator<Item = (&str, Vec<(&'static str, u64)>)> {
    let counted = engine.world().media().map(|(name, mut counters)| {
        counters.retain(|(_, count)| *count > 0);
        (name, counters)
    });
    counted.filter(|(_, counters)| !counters.is_empty())
}

/// In lines for people.
pub(super) fn as_text<C: Clock>(engine: &Engine<C>) -> String {
    let mut text = String::new();
    for (name, HostTraffic { sent, got, lost, late }) in hosts(engine) {
        let _ = writeln!(
            text,
            "{name}: sent {packets}, got {got}, late {}",
            late.text(),
            packets = counted(*sent, "packet")
        );
        if *lost > 0 {
            let why = "its kernel did not take them in time, or it has no network any more";
            let _ = writeln!(text, "    {lost} for it were lost on this machine: {why}");
        }
    }
    for (name, counters) in media(engine) {
        let counted: Vec<String> = counters.iter().map(|(what, count)| format!("{what} {count}")).collect();
        let _ = writeln!(text, "{name}: {}", counted.join(", "));
    }
    text
}

/// As one line of JSON.
pub(super) fn as_json<C: Clock>(engine: &Engine<C>) -> String {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let hosts: Map<String, Value> = hosts(engine)
        .map(|(name, HostTraffic { sent, got, lost, late })| {
            let late = json!({ "mean": ms(late.mean()), "p99": ms(late.quantile(990)), "max": ms(late.most()) });
            (name.to_owned(), json!({ "sent": sent, "got": got, "lost": lost, "late_ms": late }))
        })
        .collect();
    let media: Map<String, Value> = media(engine)
        .map(|(name, counters)| {
            let counters = counters.into_iter().map(|(what, count)| (what.to_owned(), count.into()));
            (name.to_owned(), counters.collect::<Map<_, Value>>().into())
        })
        .collect();
    json!({ "event": "stats", "hosts": hosts, "media": media }).to_string()
}
