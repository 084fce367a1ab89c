//! Which connections packets are of, and where each of them is seen.

use std::collections::BTreeMap;

use kumiki_decode::capture::Time;
use kumiki_decode::{Packet, Record};

use super::segment::{Connection, Segment};
use super::{PageLimits, unfolding};

/// Where a connection is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CapturePoint {
    /// The number of the file.
    pub(super) file: usize,
    /// The interface in it.
    pub(super) interface: u32,
}

/// What is seen of a connection at one place.
#[derive(Debug, Default)]
pub(super) struct ConnectionView {
    /// The access point.
    pub(super) name: String,
    /// Its first packets.
    pub(super) segments: Vec<Segment>,
    /// The first of those, as they unfold.
    pub(super) packets: Vec<(String, String)>,
    /// How many there are, as far as it was looked.
    pub(super) count: usize,
    /// Layers of the first one.
    pub(super) layers: usize,
}

/// A connection, at all places at which its first packet was seen first.
#[derive(Debug)]
pub(super) struct SeenConnection {
    first: Option<Time>,
    places: BTreeMap<CapturePoint, ConnectionView>,
}

impl SeenConnection {
    /// Of places that saw it at the same time, that with the most layers.
    pub(super) fn best(self) -> Option<(CapturePoint, ConnectionView)> {
        self.places.into_iter().min_by_key(|(place, seen)| (core::cmp::Reverse(seen.layers), *place))
    }
}

/// Looks for the first connections of a run.
#[derive(Debug)]
pub(super) struct Watch {
    room: PageLimits,
    /// Which connection of `found` is which.
    numbers: BTreeMap<Connection, usize>,
    found: Vec<SeenConnection>,
    /// When the last packet was seen.
    now: Option<Time>,
    /// Whether there are connections for which there is no room.
    pub(super) others: bool,
}

impl Watch {
    pub(super) const fn new(room: PageLimits) -> Self {
        Self { room, numbers: BTreeMap::new(), found: Vec::new(), now: None, others: false }
    }

    /// The connections, in the order in which they were seen first.
    pub(super) fn found(self) -> Vec<SeenConnection> {
        self.found
    }

    /// Whether what `file` still has may be shown. Packets are to be seen in the order of time.
    pub(super) fn wants(&self, file: usize) -> bool {
        let (drawn, _) = self.room.of_each(self.room.flows);
        self.found.len() < self.room.flows
            || self.found.iter().any(|known| {
                known.first >= self.now
                    || known.places.iter().any(|(place, seen)| place.file == file && seen.count <= drawn)
            })
    }

    pub(super) fn see(&mut self, file: usize, record: &Record, packet: &Packet, start: Option<Time>) {
        self.now = record.time;
        let Some((connection, segment)) = Segment::of(record, packet) else {
            return;
        };
        let place = CapturePoint { file, interface: record.interface };
        let PageLimits { segments, packets, .. } = self.room;
        let Some(seen) = self.at(connection, place, || ConnectionView {
            name: record.interface_name.clone().unwrap_or_default(),
            layers: packet.layers.len(),
            ..ConnectionView::default()
        }) else {
            return;
        };
        if seen.packets.len() < packets {
            seen.packets.push(unfolding(record, packet, start));
        }
        seen.count += 1;
        if seen.segments.len() < segments {
            seen.segments.push(segment);
        }
    }

    /// What is seen of a connection at that place, which begins with `first`; nothing where the connection is not to be
    /// shown, or not as it is seen there.
    fn at(
        &mut self,
        connection: Connection,
        place: CapturePoint,
        first: impl FnOnce() -> ConnectionView,
    ) -> Option<&mut ConnectionView> {
        let number = match self.numbers.get(&connection) {
            Some(number) => *number,
            None if self.found.len() == self.room.flows => {
                self.others = true;
                return None;
            }
            None => {
                self.numbers.insert(connection, self.found.len());
                self.found.push(SeenConnection { first: self.now, places: BTreeMap::new() });
                self.found.len().saturating_sub(1)
            }
        };
        let known = self.found.get_mut(number)?;
        if known.first != self.now && !known.places.contains_key(&place) {
            return None;
        }
        Some(known.places.entry(place).or_insert_with(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: PageLimits = PageLimits { flows: 2, segments: 8, packets: 2, records: 100 };

    fn connection(port: u16) -> Connection {
        Connection(([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 5001).into())
    }

    /// A packet of the connection at that time, seen there below so many layers.
    fn see(watch: &mut Watch, at: i128, port: u16, place: (usize, u32), layers: usize) {
        watch.now = Some(Time(at));
        let place = CapturePoint { file: place.0, interface: place.1 };
        if let Some(seen) = watch.at(connection(port), place, || ConnectionView { layers, ..ConnectionView::default() })
        {
            seen.count += 1;
        }
    }

    #[test]
    fn no_more_is_read_than_is_shown() {
        let mut watch = Watch::new(ROOM);
        see(&mut watch, 1, 1, (0, 0), 2);
        see(&mut watch, 1, 2, (1, 0), 2);
        see(&mut watch, 2, 1, (2, 0), 2);
        // The far end saw nothing first; the two ends that did are read until there is one more packet than is drawn of
        // each.
        assert_eq!([0, 1, 2].map(|file| watch.wants(file)), [true, true, false]);
        for at in 3..7 {
            see(&mut watch, at, 1, (0, 0), 2);
        }
        assert_eq!([0, 1, 2].map(|file| watch.wants(file)), [false, true, false]);
        assert!(!watch.others);
        see(&mut watch, 8, 3, (1, 0), 2);
        assert!(watch.others);
        let places =
            watch.found().into_iter().filter_map(SeenConnection::best).map(|(place, seen)| (place.file, seen.count));
        assert_eq!(places.collect::<Vec<_>>(), [(0, 5), (1, 1)]);
    }

    /// Until there are as many connections as are shown, another may begin anywhere.
    #[test]
    fn all_is_read_where_there_are_few_connections() {
        let mut watch = Watch::new(ROOM);
        for at in 1..20 {
            see(&mut watch, at, 1, (0, 0), 2);
        }
        assert!(watch.wants(0) && watch.wants(7));
    }

    #[test]
    fn a_connection_is_seen_where_it_was_first_and_has_the_most_layers() {
        let mut watch = Watch::new(ROOM);
        see(&mut watch, 5, 1, (0, 0), 1);
        see(&mut watch, 5, 1, (0, 1), 2);
        see(&mut watch, 5, 1, (1, 0), 2);
        see(&mut watch, 6, 1, (2, 0), 9);
        let place = watch.found().remove(0).best().unwrap().0;
        assert_eq!(place, CapturePoint { file: 0, interface: 1 });
    }
}
