//! Why a load had no connection at all, or its file did not come to its end: in words, with what would be right.

use std::collections::BTreeMap;

use kumiki_files::file_user::{Failure, Layer};
use kumiki_graph::{Instant, Reason};
use kumiki_sim::{HostId, World};

use super::flows;
use super::lines::Lines;
use super::load::Load;
use super::measure::Unconnected;
use super::path::Crossed;
use super::power::Power;
use crate::quantity::in_seconds;
use crate::topology::HopKind;
use crate::workload::{FileUser, Source};

/// What a load needs and did not have at an instant.
#[derive(Debug)]
pub(super) struct Gone {
    /// In words, with since when.
    what: String,
    /// What would be right.
    expected: &'static str,
}

impl Gone {
    /// What `load` lacked when its `user` failed, or by `now` where that did not: the power of a host, or else a line.
    ///
    /// A user that was told why it failed knows better than who looks at hosts and lines.
    pub(super) fn of(
        (hosts, lines, power): (&BTreeMap<String, HostId>, &Lines, &Power),
        world: &World,
        load: &Load,
        user: &FileUser,
    ) -> Option<Self> {
        if user.failure().is_some_and(|it| it.layer != Layer::Network || !it.transient || it.is_abort) {
            return None;
        }
        let given_up = || flows::file_given_up(world, hosts, load).map(|(at, _)| at);
        let at = user.over().or_else(given_up).unwrap_or_else(|| world.now());
        let from = |since: Instant| in_seconds(since.saturating_since(Instant::ZERO));
        let host =
            load.hosts_on_the_way().find_map(|host| Some((host, power.down_since(world, *hosts.get(host)?, at)?)));
        if let Some((host, since)) = host {
            let what = format!("host.{host} had no power from {} on", from(since));
            let expected = "an event later than that, or power again for a host between the two";
            return Some(Self { what, expected });
        }
        let (Crossed { line, way, .. }, what, since) = lines.missing(load, at)?;
        let (section, expected) = match way {
            HopKind::Ring => ("ring", "that it is up again while there is time"),
            HopKind::FromA | HopKind::FromB => ("link", "that it is up again, with a rate, while there is time"),
        };
        Some(Self { what: format!("{section}.{line} {what} from {} on", from(since)), expected })
    }
}

/// How far the file of `user` had come, and why no further.
pub(super) fn unfinished(user: &FileUser, gone: Option<&Gone>) -> String {
    let (moved, file) = (user.moved(), user.file());
    let far = if user.opened().is_none() {
        "there was no association".to_owned()
    } else if moved == file {
        format!("all {file} octets were moved, but it was not closed")
    } else {
        format!("{moved} of {file} octets were moved")
    };
    match (user.failure(), gone) {
        (None, None) => format!("{far} when the time was over; `duration` gives it more"),
        (Some(failure), None) => format!("{far}: {failure}"),
        (None, Some(Gone { what, expected })) => format!("{far}: {what}; expected {expected}"),
        (Some(failure), Some(Gone { what, expected })) => {
            let failure = Failure { remedy: String::new(), ..failure };
            format!("{far}: {failure}, and {what}; expected {expected}")
        }
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
