//! Why a load had no connection at all, or its file did not come to its end: in words, with what would be right.

use std::collections::BTreeMap;

use kumiki_graph::{Instant, Reason};
use kumiki_sim::{HostId, World};

use super::load::Load;
use super::measure::Unconnected;
use crate::quantity::in_seconds;
use crate::workload::{FileUser, Source};

/// What of what a load needs was there no more at the end, in words: hosts with their power, and the lines in `missing`.
pub(super) fn gone(
    (world, hosts): (&World, &BTreeMap<String, HostId>),
    load: &Load,
    missing: &[String],
) -> Option<String> {
    let down = load.hosts_on_the_way().find_map(|host| Some((host, world.down_since(*hosts.get(host)?)?)));
    let power = down.map(|(host, since)| {
        let since = in_seconds(since.saturating_since(Instant::ZERO));
        format!("host.{host} had no power from {since} on; expected an event later than that, or power again for a host between the two")
    });
    power.or_else(|| {
        let line = missing.first()?;
        Some(format!(
            "link.{line} was not there at the end; expected that it is up again, with a rate, while there is time"
        ))
    })
}

/// How far the file of `user` had come, and why no further.
pub(super) fn unfinished(user: &FileUser, why: Option<String>) -> String {
    let (moved, file) = (user.moved(), user.file());
    match why {
        Some(why) if user.opened().is_none() => format!("there was no association: {why}"),
        Some(why) => format!("{moved} of {file} octets were moved: {why}"),
        None if user.opened().is_none() => {
            "there was no association when the time was over; `duration` gives it more".to_owned()
        }
        None if moved == file => format!(
            "all {file} octets were moved, but it was not closed when the time was over; `duration` gives it more"
        ),
        None => format!("{moved} of {file} octets were moved when the time was over; `duration` gives it more"),
    }
}

/// Why `load` has never had a connection, where it has had none: what kept the first of its writers.
pub(super) fn unconnected(
    (world, hosts): (&World, &BTreeMap<String, HostId>),
    load: &Load,
    sources: &[(usize, &Source)],
) -> Option<Unconnected> {
    let mut all = sources.iter().map(|(number, source)| {
        let (host, _) = load.from.get(*number)?;
        let failed = hosts.get(host).and_then(|id| world.down_since(*id));
        never_connected(host, source, (failed, world.now()))
    });
    let first = all.next()??;
    all.all(|other| other.is_some()).then_some(first)
}

/// Why `source` on `host`, whose power failed at some time if it did, has never had a connection by the `end`, where it has had none.
fn never_connected(host: &str, source: &Source, (failed, end): (Option<Instant>, Instant)) -> Option<Unconnected> {
    if source.sent().count() == 0 || source.sent().any(|sent| sent.opened.is_some()) {
        return None;
    }
    let peer = source.peer()?;
    let peer = peer.socket().map_or_else(|| peer.to_string(), |at| at.ip().to_string());
    let reason = source.sent().find_map(|sent| sent.aborted);
    let silent = reason.is_none();
    let why = match reason {
        Some(Reason::Unreachable(_)) => format!("{host} has no route to {peer}"),
        Some(why) => format!("{host} called {peer}: {why}"),
        None if failed.is_some() => format!("{host} lost its power before {peer} answered"),
        None if source.sent().all(|sent| sent.called.is_none_or(|called| called >= end)) => {
            format!("{host} was not to call {peer} before the end")
        }
        None => format!("{host} called {peer}, and nobody answered until the end"),
    };
    Some(Unconnected { why, silent })
}
