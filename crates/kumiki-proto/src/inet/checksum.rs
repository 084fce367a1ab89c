//! Sums of messages, as layers and devices share the work.

use kumiki_graph::{Context, Work};
use kumiki_octets::{Checksum, Message, Sum};

/// The longest headers of IP that are put to the front again after a sum has been completed.
const FRONT: usize = 60;

/// Does what the device would have done for a checksum, since it will see the datagram only in pieces.
pub(crate) fn complete_checksum(datagram: &mut Message, cx: &mut Context<'_>) {
    let Checksum::Partial { start, field } = datagram.meta().checksum else {
        return;
    };
    let start = usize::from(start);
    let at = start + usize::from(field);
    datagram.meta_mut().checksum = Checksum::Unknown;
    let Ok(mut front) = datagram.split_to(start) else {
        return;
    };
    cx.charge(Work::Sum, datagram.unsummed() as u64);
    let checksum = datagram.sum().checksum();
    let checksum = if checksum == 0 { 0xffff } else { checksum };
    if let Ok(between) = datagram.split_to(at - start)
        && datagram.pop(2).is_ok()
    {
        front.append(between);
        front.append_octets(&checksum.to_be_bytes());
    }
    front.append(core::mem::take(datagram));
    *datagram = front;
    // The header goes back to where it can be taken off.
    let _ = datagram.front(FRONT.min(start)).map(<[u8]>::len);
}

/// Whether the octets of `data`, their checksum field among them, have a sum that is right behind `pseudo`.
pub(crate) fn is_intact(data: &mut Message, pseudo: Sum, cx: &mut Context<'_>) -> bool {
    let sum = match data.meta().checksum {
        Checksum::Verified => return true,
        Checksum::Sum(sum) => sum,
        Checksum::Unknown | Checksum::Partial { .. } => {
            cx.charge(Work::Sum, data.unsummed() as u64);
            data.sum()
        }
    };
    pseudo.plus(sum).is_valid()
}
