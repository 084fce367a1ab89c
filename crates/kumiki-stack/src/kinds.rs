//! The kinds of nodes of all families, and those that are of none.

use kumiki_graph::loopback::{self, Loopback};
use kumiki_graph::pipe::{self, Pipe};
use kumiki_settings::{Key, LowerLayers, NodeKind, NodeKinds, NodeResult, Reader, node};

use crate::hif::Hif;
use crate::lif::{self, Lif};

/// Every kind that there is.
pub const KINDS: NodeKinds = NodeKinds::new(&[
    OWN,
    kumiki_atm::kinds::KINDS,
    kumiki_files::kinds::KINDS,
    kumiki_inet::kinds::KINDS,
    kumiki_osi::kinds::KINDS,
    kumiki_ppp::kinds::KINDS,
    kumiki_x25::kinds::KINDS,
    kumiki_xtp::kinds::KINDS,
]);

/// The graph's own, and the interfaces of a board.
const OWN: &[NodeKind] = &[
    ("hif", |_, _| Ok(Box::new(Hif))),
    ("lif", |reader, _| node(reader, lif::Config::default(), Lif::new)),
    ("loopback", loopback),
    ("pipe", pipe),
];

// The graph's own nodes say themselves nothing of settings, of which the graph knows nothing.

fn loopback(reader: &Reader<'_>, _: LowerLayers<'_>) -> NodeResult {
    let mut config = loopback::Config::default();
    let key = Key::new("window", "How many messages may be sent before the receiver has granted any.");
    reader.number(&key, 1..=1024, &mut config.window)?;
    Ok(Box::new(Loopback::new(config)))
}

fn pipe(reader: &Reader<'_>, _: LowerLayers<'_>) -> NodeResult {
    let mut config = pipe::Config::default();
    let key = Key::new("receive_buffer", "What the device may read before the user has taken anything.");
    reader.octets(&key, 1..=u32::MAX.into(), &mut config.receive_buffer)?;
    Ok(Box::new(Pipe::new(config)))
}
