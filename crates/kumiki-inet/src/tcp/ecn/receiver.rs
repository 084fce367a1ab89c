//! Accurate ECN as a data receiver: what has arrived with which codepoint, and when and how the peer is told.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9768 sections 3.2, 3.2.2.5.1 and 3.2.3; r.cep, r.ceb, r.e0b and r.e1b as there |
//! | Left out | an option in segments that data fills up to the MSS (the ACE field is always there) |

use kumiki_wire::inet::ipv4::Ecn as Codepoint;
use kumiki_wire::inet::tcp::accecn::{AccEcn, Order};
use kumiki_wire::inet::tcp::options::{MAX_LEN, Options};

/// CE marks since the last acknowledgment that make one due: with data unacknowledged, and without (section 3.2.2.5.1).
const MARKS: u32 = 2;
const MARKS_WITHOUT_DATA: u32 = 3;
/// With so many an acknowledgment goes ahead of the end of the batch; seven is the most that the ACE field can count.
const MOST_MARKS: u32 = 5;

/// Acknowledgments with an option whose data came again: so many, and half of all, mean that somebody drops them.
const REAPPEARED: u32 = 3;

/// What came in one segment, or in several that the device put together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) codepoint: Codepoint,
    /// Segments.
    pub(crate) count: u32,
    /// Octets of text.
    pub(crate) octets: u32,
}

/// The counters of the data receiver.
#[derive(Debug)]
pub(crate) struct Receiver {
    cep: u32,
    /// r.e0b, r.ceb, r.e1b.
    bytes: [u32; 3],
    /// The same, as the last option told them.
    told: [u32; 3],
    /// The last packet was marked CE.
    marked: bool,
    /// CE marks since the last acknowledgment.
    marks: u32,
    /// An option should go with the next segment, whatever it has to tell.
    due: bool,
    /// No options are sent.
    silent: bool,
    /// Acknowledgments of data with an option, and data that came again after one.
    with_option: u32,
    reappeared: u32,
    /// The last acknowledgment had an option.
    last_had: bool,
    /// The ECN field of the SYN,ACK, which the next pure acknowledgment tells.
    pub(crate) handshake: Option<Codepoint>,
}

impl Receiver {
    pub(crate) const INITIAL: [u32; 3] = [1, 0, 1];

    pub(crate) const fn new() -> Self {
        Self {
            cep: 5,
            bytes: Self::INITIAL,
            told: Self::INITIAL,
            marked: false,
            marks: 0,
            due: false,
            silent: false,
            with_option: 0,
            reappeared: 0,
            last_had: false,
            handshake: None,
        }
    }

    /// The SYN,ACK came with `codepoint`. However often it comes, one CE counts (section 3.2.2.2).
    pub(crate) fn on_syn_ack(&mut self, codepoint: Codepoint) {
        self.handshake = Some(codepoint);
        if codepoint == Codepoint::Ce && self.cep == 5 {
            self.cep = 6;
        }
    }

    /// An acceptable packet came. Returns whether that is to be acknowledged at once; `owing`: something is not
    /// acknowledged yet, this packet's text included.
    pub(crate) fn on_packet(&mut self, arrived: Arrived, owing: bool) -> bool {
        let at = match arrived.codepoint {
            Codepoint::NotEct => None,
            Codepoint::Ect0 => Some(0),
            Codepoint::Ce => Some(1),
            Codepoint::Ect1 => Some(2),
        };
        if let Some(bytes) = at.and_then(|at: usize| self.bytes.get_mut(at)) {
            *bytes = bytes.wrapping_add(arrived.octets);
        }
        let ce = arrived.codepoint == Codepoint::Ce;
        let change = ce && !self.marked && arrived.octets > 0;
        self.marked = ce;
        if !ce {
            return false;
        }
        self.cep = self.cep.wrapping_add(arrived.count);
        self.marks = self.marks.saturating_add(arrived.count);
        let most = if owing { MARKS } else { MARKS_WITHOUT_DATA };
        change || self.marks >= most
    }

    /// Whether one more mark might be more than the ACE field can tell.
    pub(crate) const fn is_full(&self) -> bool {
        self.marks >= MOST_MARKS
    }

    /// The ACE field.
    pub(crate) const fn ace(&self) -> u32 {
        self.cep
    }

    /// The next segment should carry an option, so that it is known whether options arrive (section 3.2.3.2.1).
    pub(crate) const fn show_option(&mut self) {
        self.due = true;
    }

    /// A segment with an acknowledgment was sent.
    pub(crate) const fn on_acknowledged(&mut self, with_option: bool, of_data: bool) {
        self.marks = 0;
        self.last_had = with_option;
        if with_option && of_data {
            self.with_option = self.with_option.saturating_add(1);
        }
    }

    /// Data that had been acknowledged came again (section 3.2.3.2.2).
    pub(crate) const fn on_copy(&mut self) {
        if !self.last_had {
            return;
        }
        self.reappeared = self.reappeared.saturating_add(1);
        self.last_had = false;
        if self.reappeared >= REAPPEARED && self.reappeared >= self.with_option.div_ceil(2) {
            self.silent = true;
        }
    }

    /// Whether options are still sent.
    #[cfg(test)]
    pub(crate) const fn is_silent(&self) -> bool {
        self.silent
    }

    /// The option for a segment whose other options are `options`, of which the SACK blocks may give way but for two;
    /// all options together may have `room` octets.
    pub(crate) fn option(&mut self, options: &Options, room: usize) -> Option<AccEcn> {
        let news = self.bytes != self.told;
        if self.silent || !(self.due || news) {
            return None;
        }
        let [e0b, ceb, e1b] = self.bytes;
        let differ = |than: &[u32; 3]| {
            let [d0, dc, d1] = [0, 1, 2].map(|at: usize| self.bytes.get(at) != than.get(at));
            (d0, dc, d1)
        };
        let (ever_0, ever_c, ever_1) = differ(&Self::INITIAL);
        let (new_0, new_c, new_1) = differ(&self.told);
        // The counter that never changed comes last and is left out; where none has, all are shown.
        let order = if ever_1 && !ever_0 { Order::One } else { Order::Zero };
        let length = |first, ce, last| match (first, ce, last) {
            (_, _, true) => 3,
            (_, true, _) => 2,
            (true, ..) => 1,
            _ => 0,
        };
        let (wanted, needed) = match order {
            Order::Zero => (length(ever_0, ever_c, ever_1), length(new_0, new_c, new_1)),
            Order::One => (length(ever_1, ever_c, ever_0), length(new_1, new_c, new_0)),
        };
        let wanted = if wanted == 0 { AccEcn::FIELDS } else { wanted };
        let blocks = options.sack.len().min(2);
        let fits = |used: &usize| {
            let with = Options { accecn: Some(AccEcn::new(order, *used, e0b, ceb, e1b)), ..*options };
            with.sack_room() >= blocks && with.len() <= room.min(MAX_LEN)
        };
        let used = (needed..=wanted).rev().find(fits)?;
        self.due = false;
        self.told = self.bytes;
        Some(AccEcn::new(order, used, e0b, ceb, e1b))
    }
}

/// The option of a SYN,ACK, for which nothing has been counted: both counters that are not zero at first can be checked
/// by who gets it.
pub(crate) fn first_option() -> AccEcn {
    let [e0b, ceb, e1b] = Receiver::INITIAL;
    AccEcn::new(Order::Zero, AccEcn::FIELDS, e0b, ceb, e1b)
}

#[cfg(test)]
mod tests {
    use kumiki_wire::inet::tcp::{SackBlock, SackBlocks};

    use super::*;

    const fn packet(codepoint: Codepoint, octets: u32) -> Arrived {
        Arrived { codepoint, count: 1, octets }
    }

    fn shown(option: Option<AccEcn>) -> String {
        option.map_or_else(|| "none".to_owned(), |option| option.to_string())
    }

    /// RFC 9768 section 3.2.3.3: both of its examples of the simple scheme.
    #[test]
    fn an_option_has_the_counters_that_have_ever_changed() {
        let mut it = Receiver::new();
        assert_eq!(shown(it.option(&Options::NONE, 40)), "none");
        it.on_packet(packet(Codepoint::Ect0, 1000), true);
        assert_eq!(shown(it.option(&Options::NONE, 40)), "ECN e0b 1001");
        assert_eq!(shown(it.option(&Options::NONE, 40)), "none", "nothing new");
        it.on_packet(packet(Codepoint::Ce, 500), true);
        assert_eq!(shown(it.option(&Options::NONE, 40)), "ECN e0b 1001 ceb 500");
        it.on_packet(packet(Codepoint::Ect0, 9), true);
        assert_eq!(shown(it.option(&Options::NONE, 40)), "ECN e0b 1010 ceb 500");
        let mut it = Receiver::new();
        it.on_packet(packet(Codepoint::Ce, 500), true);
        assert_eq!(shown(it.option(&Options::NONE, 40)), "ECN e0b 1 ceb 500");
        it.on_packet(packet(Codepoint::Ect1, 70), true);
        assert_eq!(shown(it.option(&Options::NONE, 40)), "ECN e1b 71 ceb 500");
        it.on_packet(packet(Codepoint::NotEct, 70), true);
        assert_eq!(shown(it.option(&Options::NONE, 40)), "none");
    }

    /// RFC 9768 section 3.2.3.3, necessary option length; SACK has precedence.
    #[test]
    fn where_room_is_short_only_what_did_not_change_is_left_out() {
        let block =
            |n: u32| SackBlock { left: kumiki_wire::inet::tcp::Seq(n), right: kumiki_wire::inet::tcp::Seq(n + 1) };
        let with_blocks = |n: u32| Options {
            timestamps: Some((1, 2)),
            sack: SackBlocks::from_slice(&(0..n).map(block).collect::<Vec<_>>()),
            ..Options::NONE
        };
        let all = || {
            let mut it = Receiver::new();
            for codepoint in [Codepoint::Ect0, Codepoint::Ce, Codepoint::Ect1] {
                it.on_packet(packet(codepoint, 100), true);
            }
            it
        };
        let mut it = all();
        assert_eq!(shown(it.option(&with_blocks(1), 40)), "ECN e0b 101 ceb 100 e1b 101");
        let mut it = all();
        assert_eq!(shown(it.option(&with_blocks(3), 40)), "none", "all have changed");
        let _ = it.option(&Options::NONE, 40);
        it.on_packet(packet(Codepoint::Ce, 7), true);
        assert_eq!(shown(it.option(&with_blocks(3), 40)), "ECN e0b 101 ceb 107");
        it.on_packet(packet(Codepoint::Ect0, 1), true);
        assert_eq!(shown(it.option(&with_blocks(0), 20)), "ECN e0b 102 ceb 107");
        it.on_packet(packet(Codepoint::Ect0, 1), true);
        assert_eq!(shown(it.option(&with_blocks(0), 12)), "none");
    }

    /// RFC 9768 section 3.2.2.5.1.
    #[test]
    fn changes_and_every_few_marks_are_acknowledged_at_once() {
        let mut it = Receiver::new();
        assert!(!it.on_packet(packet(Codepoint::Ect0, 1000), true));
        assert!(it.on_packet(packet(Codepoint::Ce, 1000), true), "a change");
        it.on_acknowledged(true, true);
        assert!(!it.on_packet(packet(Codepoint::Ce, 1000), true));
        assert!(it.on_packet(packet(Codepoint::Ce, 1000), true), "two marks");
        it.on_acknowledged(true, true);
        assert!(!it.on_packet(packet(Codepoint::Ect0, 1000), true));
        // Acknowledgments that are marked: three, and a change of them is none of data.
        assert!(!it.on_packet(packet(Codepoint::Ce, 0), false));
        assert!(!it.on_packet(packet(Codepoint::Ce, 0), false));
        assert!(it.on_packet(packet(Codepoint::Ce, 0), false));
        assert_eq!(it.ace(), 5 + 6);
    }

    #[test]
    fn a_path_that_drops_options_is_found_out() {
        let mut it = Receiver::new();
        for _ in 0..2 {
            it.on_acknowledged(true, true);
            it.on_copy();
            it.on_acknowledged(false, false);
            it.on_copy();
            assert!(!it.is_silent());
        }
        it.on_acknowledged(true, true);
        it.on_copy();
        assert!(it.is_silent());
        let mut it = Receiver::new();
        for n in 0..100 {
            it.on_acknowledged(true, true);
            if n % 5 == 0 {
                it.on_copy();
            }
        }
        assert!(!it.is_silent(), "acknowledgments are lost now and then");
    }
}
