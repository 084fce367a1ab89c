//! A capture that is written while its graph runs, for real time: nothing is kept.

use std::collections::BTreeMap;
use std::io::Write;

use kumiki_graph::{AccessPoint, Graph};
use kumiki_pcapng::{CaptureError, InterfaceId, PcapNg};

use crate::{Content, Form, Writer};

/// The capture of one graph's device.
pub struct Stream<W: Write> {
    file: PcapNg<W>,
    interfaces: BTreeMap<AccessPoint, (InterfaceId, Form)>,
    writer: Writer,
}

impl<W: Write> Stream<W> {
    /// Puts on record what crosses the access point between `upper`, of the kind `kind`, and the device `lower`, and
    /// begins a capture of it in `out`, of each packet the first `snaplen` octets, or all where that is 0.
    ///
    /// # Errors
    /// [`CaptureError`] where `out` refuses.
    pub fn new(
        graph: &mut Graph,
        (upper, kind): (&str, &str),
        lower: &str,
        (out, snaplen): (W, u32),
    ) -> Result<Self, CaptureError> {
        let mut file = PcapNg::new(out)?;
        let mut interfaces = BTreeMap::new();
        tap(graph, (upper, kind), lower, (&mut file, lower, snaplen), &mut interfaces)?;
        Ok(Self { file, interfaces, writer: Writer::new(snaplen) })
    }

    /// As [`Stream::new`], of several access points: each of a node above, its kind, and what is below. The interfaces
    /// of the capture are called as the nodes above.
    ///
    /// # Errors
    /// As [`Stream::new`].
    pub fn several(
        graph: &mut Graph,
        taps: &[(&str, &str, &str)],
        (out, snaplen): (W, u32),
    ) -> Result<Self, CaptureError> {
        let mut file = PcapNg::new(out)?;
        let mut interfaces = BTreeMap::new();
        for (upper, kind, lower) in taps {
            tap(graph, (upper, kind), lower, (&mut file, upper, snaplen), &mut interfaces)?;
        }
        Ok(Self { file, interfaces, writer: Writer::new(snaplen) })
    }

    /// Writes what has crossed since this was last called.
    ///
    /// # Errors
    /// [`CaptureError`] where the file refuses.
    pub fn take_from(&mut self, graph: &mut Graph) -> Result<(), CaptureError> {
        for tapped in graph.take_tapped() {
            if let Some(place) = self.interfaces.get(&tapped.access_point) {
                self.writer.write(&mut self.file, *place, &tapped)?;
            }
        }
        Ok(())
    }

    /// Ends the capture; hands its file back, flushed.
    ///
    /// # Errors
    /// [`CaptureError`] where the file refuses.
    pub fn finish(self) -> Result<W, CaptureError> {
        self.file.finish()
    }
}

/// Puts the access point between `upper` and `lower` on record, as the interface `name` of `file`, which has the first
/// `snaplen` octets of each packet.
fn tap<W: Write>(
    graph: &mut Graph,
    (upper, kind): (&str, &str),
    lower: &str,
    (file, name, snaplen): (&mut PcapNg<W>, &str, u32),
    interfaces: &mut BTreeMap<AccessPoint, (InterfaceId, Form)>,
) -> Result<(), CaptureError> {
    let form = match Content::between(kind, lower) {
        // Without records there is no channel to see yet.
        Content::Llc => Form::Llc,
        Content::Datagram => Form::Datagram,
        Content::Ethernet => Form::Ethernet,
        Content::Fddi => Form::Fddi,
        Content::Ppp => Form::Ppp,
        Content::Mapos => Form::Mapos,
        Content::Lapb => Form::Lapb,
        Content::Payload(dissector) => Form::Tagged(dissector),
    };
    let found: Vec<AccessPoint> = graph
        .access_points()
        .filter(|(_, above, below)| (*above, *below) == (upper, lower))
        .map(|(access_point, _, _)| access_point)
        .collect();
    for access_point in found {
        graph.tap(access_point);
        let id = file.add_interface(name, form.link_type(), snaplen)?;
        interfaces.insert(access_point, (id, form));
    }
    Ok(())
}
