//! Sums of messages, as layers and devices share the work.

use kumiki_graph::{Context, Work};
use kumiki_octets::{Checksum, Message, Sum};

/// Does what the device would have done for a checksum, since it will see the datagram only in pieces.
pub(crate) fn complete_checksum(datagram: &mut Message, cx: &mut Context<'_>) {
    cx.charge(Work::Sum, datagram.complete_checksum() as u64);
}

/// Whether the octets of `data`, their checksum field among them, have a sum that is right behind `pseudo`.
pub(crate) fn is_intact(data: &mut Message, pseudo: Sum, cx: &mut Context<'_>) -> bool {
    let sum = match data.meta().checksum {
        // One that nobody has written yet was on no line.
        Checksum::Verified | Checksum::Partial { .. } => return true,
        Checksum::Sum(sum) => sum,
        Checksum::Unknown => {
            cx.charge(Work::Sum, data.unsummed() as u64);
            data.sum()
        }
    };
    pseudo.plus(sum).is_valid()
}
