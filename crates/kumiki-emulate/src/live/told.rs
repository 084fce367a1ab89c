//! What has crossed, for people and for programs.

use core::fmt::Write as _;
use core::net::IpAddr;

use kumiki_graph::Duration;
use kumiki_io::Clock;
use kumiki_octets::text::counted;
use serde_json::{Map, Value, json};

use super::engine::{Engine, HostTraffic};

/// More hosts are not named at the beginning.
const MOST_HOSTS: usize = 12;

/// Who is where, in one line.
pub(super) fn addresses(known: &[(String, IpAddr)]) -> String {
    let mut hosts: Vec<(&str, String)> = Vec::new();
    for (name, address) in known {
        match hosts.last_mut() {
            Some((last, all)) if *last == name => {
                let _ = write!(all, " {address}");
            }
            _ => hosts.push((name, address.to_string())),
        }
    }
    let more = hosts.len().saturating_sub(MOST_HOSTS);
    let named = hosts.iter().take(MOST_HOSTS).map(|(name, all)| format!("{name} {all}"));
    let more = (more > 0).then(|| format!("and {more} more, which `kumiki graph` shows"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_hosts_are_named_with_their_addresses() {
        let at = |name: &str, address: &str| (name.to_owned(), address.parse::<IpAddr>().unwrap());
        let known = [at("a", "10.0.0.1"), at("r", "10.0.0.254"), at("r", "fd00::1")];
        assert_eq!(addresses(&known), "a 10.0.0.1, r 10.0.0.254 fd00::1");
        let many: Vec<_> = (1..=14).map(|number| at(&format!("h{number}"), &format!("10.0.0.{number}"))).collect();
        let said = addresses(&many);
        assert!(said.ends_with("h12 10.0.0.12, and 2 more, which `kumiki graph` shows"), "{said}");
    }
}
