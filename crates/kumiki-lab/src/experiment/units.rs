//! What became of datagrams.

use std::collections::BTreeMap;

use kumiki_octets::text::counted;
use kumiki_sim::{HostId, World};

use super::flows::{STOPPED, matched, progress};
use super::load::Load;
use super::measure::{lossy, program};
use crate::workload::rtp::Jitter;
use crate::workload::{UdpSink, UdpSource};

/// What became of datagrams, all sessions together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Units {
    /// Sent.
    pub sent: u64,
    /// Received, duplicates not counted; the first may have left before it was measured.
    pub received: u64,
    /// How many of them had left before that.
    pub left_before: u64,
    /// Of those that were sent while it was measured: overtaken by later ones and not received, or sent before and in a
    /// silence at the end that is longer than their way and every earlier one, or, where none was ever received, longer
    /// than a second. So it is never more than what was sent.
    pub lost: u64,
    /// Received once more.
    pub duplicated: u64,
    /// Received after later ones.
    pub reordered: u64,
    /// Of streams of RTP, how well they could be played.
    pub playing: Option<Playing>,
}

/// How well streams of RTP could be played.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Playing {
    /// Packets that came too late to be played.
    pub late: u64,
    /// The interarrival jitter after each packet that was measured; of several streams all packets together.
    pub jitter: Jitter,
}

impl core::fmt::Display for Units {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { sent, received, left_before, lost, duplicated, reordered, playing } = self;
        match (sent, received, lost) {
            // They may all be in flight.
            (1.., 0, 0) => write!(f, "{datagrams} sent, none received", datagrams = counted(*sent, "datagram"))?,
            _ => {
                write!(f, "{datagrams} sent, {received} received", datagrams = counted(*sent, "datagram"))?;
                if *left_before > 0 {
                    write!(f, " ({left_before} of them had left before)")?;
                }
                write!(f, ", {lost} lost")?;
                // Of those that were sent, so that what is told adds up.
                match sent.saturating_sub(received.saturating_sub(*left_before)).saturating_sub(*lost) {
                    0 => {}
                    unknown => write!(f, ", {unknown} in flight or not missed yet")?,
                }
            }
        }
        if duplicated + reordered > 0 {
            write!(f, ", {duplicated} duplicated, {reordered} reordered")?;
        }
        if let Some(Playing { late, jitter }) = playing {
            let [mean, largest] = [jitter.mean(), jitter.largest].map(|it| it.as_secs_f64() * 1e3);
            write!(f, ", {late} too late to be played, jitter {mean:.3} ms on average and {largest:.3} ms at most")?;
        }
        Ok(())
    }
}

impl core::ops::AddAssign for Units {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.left_before += other.left_before;
        self.lost = self.lost.saturating_add(other.lost);
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.playing = match (self.playing, other.playing) {
            (Some(own), Some(more)) => {
                Some(Playing { late: own.late.saturating_add(more.late), jitter: own.jitter.with(more.jitter) })
            }
            (own, more) => own.or(more),
        };
    }
}

impl Units {
    /// How many of those that were sent are lost, as a part of one; nothing where none was.
    #[must_use]
    pub fn lost_share(&self) -> Option<f64> {
        (self.sent > 0).then(|| lossy(self.lost) / lossy(self.sent))
    }

    /// Without what was so `earlier`. What is lost and how packets jitter is that of the measured time anyway.
    pub(super) const fn since(self, earlier: Self) -> Self {
        Self {
            sent: self.sent - earlier.sent,
            received: self.received - earlier.received,
            left_before: self.left_before.saturating_sub(earlier.received),
            lost: self.lost,
            duplicated: self.duplicated - earlier.duplicated,
            reordered: self.reordered - earlier.reordered,
            playing: match (self.playing, earlier.playing) {
                (Some(own), Some(before)) => {
                    Some(Playing { late: own.late.saturating_sub(before.late), jitter: own.jitter })
                }
                (own, _) => own,
            },
        }
    }

    pub(super) fn of(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Self {
        let sources = load.from.iter().filter_map(|from| program::<UdpSource>(world, hosts, from));
        let mut all = Self { sent: sources.flat_map(UdpSource::sent).map(|sent| sent.units).sum(), ..Self::default() };
        let sinks = || load.to.iter().filter_map(|to| program::<UdpSink>(world, hosts, to));
        for heard in sinks().flat_map(UdpSink::receptions) {
            let own = Playing { late: heard.late(), jitter: heard.jitter() };
            all += Self { playing: Some(own), ..Self::default() };
        }
        for received in sinks().flat_map(UdpSink::received) {
            all.received += received.units;
            all.left_before += received.units - received.units_measured;
            all.lost = all.lost.saturating_add(received.lost_measured);
            all.duplicated += received.duplicated;
            all.reordered += received.reordered;
        }
        all.lost = all.lost.saturating_add(unheard(world, hosts, load));
        all
    }
}

/// Datagrams of `load` that left while it was measured, that nothing has overtaken and that are lost all the same:
/// their reader has heard nothing for longer than it ever did, and longer than one was ever in flight; or nothing at
/// all, a second and more after the first was sent. Where nothing was heard, what waits in media may be all of it, and
/// is not lost.
fn unheard(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> u64 {
    let sinks = progress(world, hosts, load);
    let sources = load.from.iter().filter_map(|from| program::<UdpSource>(world, hosts, from));
    let sent = sources.flat_map(UdpSource::sent);
    let mut has_heard = true;
    let unheard = matched(world, hosts, load, &sinks).into_iter().zip(sent).map(|(session, sent)| {
        let heard = session.place.and_then(|(reader, number)| {
            let sink = load.to.get(reader).and_then(|to| program::<UdpSink>(world, hosts, to))?;
            let received = sink.received().nth(number)?;
            let way = sink.delays().nth(number)?.most().unwrap_or_default();
            Some((received.last?, received.gaps.longest + way, received.units, received.lost))
        });
        let since = |at| world.now().saturating_since(at);
        let (is_silent, came) = match heard {
            Some((last, longest, units, lost)) => (since(last) > longest, units + lost),
            None => {
                has_heard = false;
                (sent.first.is_some_and(|first| since(first) > STOPPED), 0)
            }
        };
        if is_silent { sent.units.saturating_sub(came.max(sent.before)) } else { 0 }
    });
    let unheard: u64 = unheard.sum();
    if has_heard { unheard } else { unheard.saturating_sub(world.waiting()) }
}
