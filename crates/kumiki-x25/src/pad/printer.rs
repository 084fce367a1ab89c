//! What goes to the terminal: padding, folding, page wait, parity.

use std::collections::VecDeque;

use kumiki_osi_service::x25::pad::{Parameter, Parameters};

const CR: u8 = 0x0d;
const LF: u8 = 0x0a;

/// Characters on their way to the terminal, as the parameters want them.
#[derive(Debug, Default)]
pub(super) struct Printer {
    out: VecDeque<u8>,
    /// X-ON or X-OFF for the terminal, ahead of all else and of its own X-OFF.
    urgent: Option<u8>,
    /// Graphic characters on the line.
    column: u8,
    /// LFs of data since the page began.
    lines: u8,
    /// What went last was a CR and a LF.
    is_fresh: bool,
    last: u8,
    /// The terminal has said X-OFF.
    pub(super) is_stopped: bool,
    /// A page is full.
    pub(super) is_paused: bool,
}

impl Printer {
    /// Octets that wait.
    pub(super) fn len(&self) -> usize {
        self.out.len() + usize::from(self.urgent.is_some())
    }

    /// Whether data may go on: no page is full and nobody said X-OFF.
    pub(super) const fn goes(&self) -> bool {
        !self.is_stopped && !self.is_paused
    }

    /// Whether the terminal is at the beginning of a new line.
    pub(super) const fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// One character of an echo or a service signal, with what the parameters put behind it.
    pub(super) fn put(&mut self, octet: u8, parameters: &Parameters) {
        let fold = parameters.of(Parameter::Fold);
        let is_graphic = octet & 0x7f >= 0x20 && octet & 0x7f != 0x7f;
        if is_graphic && fold > 0 && self.column >= fold {
            self.raw(CR, parameters);
            self.raw(LF, parameters);
        }
        self.raw(octet, parameters);
        if is_graphic {
            self.column = self.column.saturating_add(1);
        } else if octet == 0x08 {
            self.column = self.column.saturating_sub(1);
        }
    }

    fn raw(&mut self, octet: u8, parameters: &Parameters) {
        self.push(octet, parameters);
        let padding = match octet {
            CR => {
                self.column = 0;
                Parameter::CrPadding
            }
            LF => Parameter::LfPadding,
            _ => {
                self.is_fresh = false;
                self.last = octet;
                return;
            }
        };
        self.is_fresh = octet == LF && self.last == CR;
        self.last = octet;
        for _ in 0..parameters.of(padding) {
            self.push(0, parameters);
        }
    }

    fn push(&mut self, octet: u8, parameters: &Parameters) {
        let octet = if parameters.of(Parameter::Parity) & 2 == 0 { octet } else { even(octet) };
        self.out.push_back(octet);
    }

    /// One character of data from the network. True where a page is full with it.
    pub(super) fn data(&mut self, octet: u8, parameters: &Parameters) -> bool {
        self.put(octet, parameters);
        if octet == CR && parameters.of(Parameter::LfInsertion) & 1 != 0 {
            self.put(LF, parameters);
        }
        let page = parameters.of(Parameter::Page);
        if page > 0 && self.last == LF && matches!(octet, CR | LF) {
            self.lines = self.lines.saturating_add(1);
            return self.lines >= page;
        }
        false
    }

    /// A new page begins.
    pub(super) const fn new_page(&mut self) {
        self.lines = 0;
        self.is_paused = false;
    }

    /// A control character for the terminal itself, ahead of all that waits and in place of one that has not gone yet.
    pub(super) const fn urgent(&mut self, octet: u8) {
        self.urgent = Some(octet);
    }

    /// Up to `most` octets to send.
    pub(super) fn take(&mut self, most: usize) -> Vec<u8> {
        if most == 0 {
            return Vec::new();
        }
        let mut taken: Vec<u8> = self.urgent.take().into_iter().collect();
        if !self.is_stopped {
            let count = self.out.len().min(most - taken.len());
            taken.extend(self.out.drain(..count));
        }
        taken
    }

    /// What waits is thrown away.
    pub(super) fn discard(&mut self) {
        self.out.clear();
        self.urgent = None;
    }
}

/// `octet` with bit 8 such that the number of ones is even.
pub(super) const fn even(octet: u8) -> u8 {
    let low = octet & 0x7f;
    if low.count_ones().is_multiple_of(2) { low } else { low | 0x80 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(list: &str, data: &[u8]) -> Vec<u8> {
        let mut parameters = Parameters::TRANSPARENT;
        let list: kumiki_osi_service::x25::pad::List = list.parse().unwrap();
        for (number, value) in list.0 {
            parameters.set(number, value).unwrap();
        }
        let mut printer = Printer::default();
        for octet in data {
            let _ = printer.data(*octet, &parameters);
        }
        printer.take(usize::MAX)
    }

    #[test]
    fn the_parameters_shape_what_is_printed() {
        assert_eq!(printed("9:2,14:1", b"a\r\nb"), b"a\r\0\0\n\0b");
        assert_eq!(printed("10:3", b"abcdefg\rhijk"), b"abc\r\ndef\r\ng\rhij\r\nk");
        assert_eq!(printed("13:1", b"a\rb"), b"a\r\nb");
        assert_eq!(printed("13:4", b"a\rb"), b"a\rb");
        assert_eq!(printed("21:2", b"AC"), [b'A', b'C' | 0x80]);
    }

    #[test]
    fn what_is_urgent_goes_first_and_the_later_holds() {
        let mut printer = Printer::default();
        printer.put(b'a', &Parameters::TRANSPARENT);
        printer.urgent(0x13);
        printer.urgent(0x11);
        printer.is_stopped = true;
        assert_eq!(printer.len(), 2);
        assert_eq!(printer.take(0), b"");
        assert_eq!(printer.take(9), b"\x11");
        printer.is_stopped = false;
        printer.urgent(0x13);
        assert_eq!(printer.take(1), b"\x13");
        assert_eq!(printer.take(1), b"a");
    }
}
