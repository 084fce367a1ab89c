//! The plain loops: what somebody writes who follows the standard's words.

/// RFC 1662, section 4.2, to send.
pub(super) fn stuff(octets: &[u8], out: &mut Vec<u8>) {
    for octet in octets {
        if matches!(octet, 0x7D | 0x7E) {
            out.push(0x7D);
            out.push(octet ^ 0x20);
        } else {
            out.push(*octet);
        }
    }
}

/// What that would append.
pub(super) fn stuffed_len(octets: &[u8]) -> usize {
    let mut len = 0;
    for octet in octets {
        len += if matches!(octet, 0x7D | 0x7E) { 2 } else { 1 };
    }
    len
}

/// RFC 1662, section 4.2, to receive, up to a flag.
pub(super) fn unstuff(octets: &[u8], out: &mut Vec<u8>) {
    let mut escape = false;
    for octet in octets {
        match octet {
            0x7E => return,
            0x7D if !escape => escape = true,
            octet if escape => {
                out.push(octet ^ 0x20);
                escape = false;
            }
            octet => out.push(*octet),
        }
    }
}

/// x^43 + 1, bit by bit: the register holds what was sent.
pub(super) fn scramble(register: &mut u64, octets: &mut [u8]) {
    for octet in octets {
        let mut out = 0;
        for bit in (0..8).rev() {
            let sent = u64::from(*octet >> bit & 1) ^ (*register >> 42 & 1);
            *register = *register << 1 | sent;
            out = out << 1 | u8::from(sent == 1);
        }
        *octet = out;
    }
}

/// The same to receive.
pub(super) fn descramble(register: &mut u64, octets: &mut [u8]) {
    for octet in octets {
        let mut out = 0;
        for bit in (0..8).rev() {
            let came = u64::from(*octet >> bit & 1);
            out = out << 1 | u8::from(came ^ (*register >> 42 & 1) == 1);
            *register = *register << 1 | came;
        }
        *octet = out;
    }
}

/// 1 + x^6 + x^7, bit by bit, from its beginning.
pub(super) fn scramble_frame(octets: &mut [u8]) {
    let mut register = 0x7F_u8;
    for octet in octets {
        for bit in (0..8).rev() {
            let (oldest, next) = (register >> 6 & 1, register >> 5 & 1);
            *octet ^= oldest << bit;
            register = register << 1 | (oldest ^ next);
        }
    }
}

/// An exclusive or of all.
pub(super) fn bip8(octets: &[u8]) -> u8 {
    octets.iter().fold(0, |parity, octet| parity ^ octet)
}

/// The octets of N signals in turn.
pub(super) fn interleaved(parities: &mut [u8], octets: &[u8]) {
    for group in octets.chunks(parities.len()) {
        for (parity, octet) in parities.iter_mut().zip(group) {
            *parity ^= octet;
        }
    }
}

/// RFC 1662, appendix C.2, bit by bit.
pub(super) fn fcs16(octets: &[u8]) -> u16 {
    let mut register = u16::MAX;
    for octet in octets {
        register ^= u16::from(*octet);
        for _ in 0..8 {
            register = (register >> 1) ^ if register & 1 == 1 { 0x8408 } else { 0 };
        }
    }
    !register
}

/// RFC 1662, appendix C.3, bit by bit.
pub(super) fn fcs32(octets: &[u8]) -> u32 {
    let mut register = u32::MAX;
    for octet in octets {
        register ^= u32::from(*octet);
        for _ in 0..8 {
            register = (register >> 1) ^ if register & 1 == 1 { 0xEDB8_8320 } else { 0 };
        }
    }
    !register
}

#[cfg(test)]
mod tests {
    use kumiki_octets::Pattern;
    use kumiki_octets::bip::{Bip8, Interleaved};
    use kumiki_octets::crc::{Fcs16, Fcs32};
    use kumiki_octets::hdlc::{self, Accm, Unstuffer};
    use kumiki_octets::scramble::{self, Descrambler, Scrambler};

    use super::*;

    #[test]
    fn the_plain_loops_do_what_the_kernels_do() {
        let mut octets = vec![0; 5000];
        Pattern::Random { seed: 3 }.fill(0, &mut octets);
        let (mut plain, mut stuffed) = (Vec::new(), Vec::new());
        stuff(&octets, &mut plain);
        hdlc::stuff(&octets, Accm::NONE, &mut stuffed);
        assert_eq!(plain, stuffed);
        assert_eq!(stuffed_len(&octets), stuffed.len());
        let (mut plain, mut back) = (Vec::new(), Vec::new());
        unstuff(&stuffed, &mut plain);
        Unstuffer::new().unstuff(&stuffed, Accm::NONE, usize::MAX, &mut back);
        assert_eq!((&plain, &back), (&octets, &octets));

        let (mut plain, mut kernel) = (octets.clone(), octets.clone());
        scramble(&mut 5, &mut plain);
        Scrambler::new(5).scramble(&mut kernel);
        assert_eq!(plain, kernel);
        descramble(&mut 5, &mut plain);
        Descrambler::new(5).descramble(&mut kernel);
        assert_eq!(plain, kernel);
        scramble_frame(&mut plain);
        scramble::frame(0, &mut kernel);
        assert_eq!(plain, kernel);

        let (mut parity, mut fcs_16, mut fcs_32) = (Bip8::new(), Fcs16::new(), Fcs32::new());
        parity.update(&octets);
        fcs_16.update(&octets);
        fcs_32.update(&octets);
        assert_eq!(bip8(&octets), parity.value());
        assert_eq!(fcs16(&octets), fcs_16.finish());
        assert_eq!(fcs32(&octets), fcs_32.finish());
        let (mut plain, mut kernel) = (vec![0; 48], Interleaved::new(48).unwrap());
        interleaved(&mut plain, &octets);
        kernel.update(&octets);
        assert_eq!(plain, kernel.values().collect::<Vec<u8>>());
    }
}
