//! The frame check sequence of HDLC-like frames, of PPP, MAPOS and Cisco's framing: 16 or 32 bits, at the end and low
//! octet first.

use kumiki_octets::crc::{Fcs16, Fcs32};

use crate::packet::Value;
use crate::reading::Reading;

/// The length of the sequence at the end of `frame`, for where nothing says which of the two a line has; `None` where
/// neither comes out right. At least two octets are before it.
pub(crate) fn right_len(frame: &[u8]) -> Option<usize> {
    let (mut fcs32, mut fcs16) = (Fcs32::new(), Fcs16::new());
    fcs32.update(frame);
    fcs16.update(frame);
    match frame.len() {
        6.. if fcs32.is_valid() => Some(4),
        4.. if fcs16.is_valid() => Some(2),
        _ => None,
    }
}

/// Checks the FCS of an HDLC frame where the capture says that it has one (RFC 1662 appendix C); gives the end of what
/// is before it. Whoever knows of an FCS leaves its length in `fcs_len`.
pub(super) fn check(reading: &mut Reading<'_>) -> usize {
    let fcs_len = core::mem::take(&mut reading.around.fcs_len);
    let total = reading.total();
    let end = total.saturating_sub(fcs_len);
    if fcs_len == 0 {
        return total;
    }
    let covered = reading.part(0, end);
    let name = "frame check sequence";
    let at = reading.part(end, fcs_len);
    // The octet of the lowest powers comes first.
    let (found, right) = match *at {
        [a, b] if fcs_len == 2 => {
            let mut fcs = Fcs16::new();
            fcs.update(covered);
            (u16::from_le_bytes([a, b]).into(), fcs.finish().into())
        }
        [a, b, c, d] if fcs_len == 4 => {
            let mut fcs = Fcs32::new();
            fcs.update(covered);
            (u32::from_le_bytes([a, b, c, d]), fcs.finish())
        }
        // Cut off by the capture, or of a length that no FCS of PPP has.
        _ => return end,
    };
    let digits = 2 * fcs_len;
    let value = Value::Hex(found.into(), digits);
    if found == right {
        reading.named(name, end, fcs_len, value, "right");
    } else {
        let meant = format!("wrong, {right:#0w$x} would be right", w = digits + 2);
        reading.named(name, end, fcs_len, value, meant);
        reading.bad(format!("{name} is {found:#0w$x}, the octets give {right:#0w$x}", w = digits + 2));
    }
    end
}
