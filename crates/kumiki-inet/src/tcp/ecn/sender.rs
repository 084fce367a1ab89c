//! Accurate ECN as a data sender: how many of our packets were marked, as far as the peer's counters tell.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9768 sections 3.2.2.2 to 3.2.3.2.5, appendices A.1 and A.2; s.cep, s.ceb, s.e0b and s.e1b as there |
//! | Differs | the estimate of wraps is used only while acknowledgments cover few segments, as appendix A.2.1 allows; then by the simplest formula |
//! | Left out | taking an estimate back that later acknowledgments show to be wrong; testing again whether a path that mangles has been mended |

use kumiki_wire::inet::ipv4::Ecn as Codepoint;
use kumiki_wire::inet::tcp::accecn::AccEcn;
use kumiki_wire::inet::tcp::{Flags, Seq};

use super::handshake;

/// Segments for each acknowledgment, on average, above which the ACE field is taken as it is (appendix A.2.1: well
/// below 8).
const STRETCHED: u32 = 4;
/// The average is kept in such parts.
const PARTS: u32 = 64;
/// Rounds at the beginning in which not every packet can have met congestion (section 3.2.2.3).
const ROUNDS: u8 = 4;

/// What an acknowledgment says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnAck {
    pub(crate) flags: Flags,
    pub(crate) option: Option<AccEcn>,
    /// It acknowledges our SYN and nothing behind it, and is nothing else.
    pub(crate) of_syn: bool,
    /// Octets that it shows to have arrived for the first time.
    pub(crate) delivered: u32,
    /// TSval, where there are timestamps.
    pub(crate) ts_val: Option<u32>,
    pub(crate) smss: u32,
    /// SND.UNA and SND.NXT.
    pub(crate) una: Seq,
    pub(crate) nxt: Seq,
}

/// What is made of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EcnFeedback {
    /// Nothing new.
    Nothing,
    /// So many more packets were marked.
    Marks(u32),
    /// The feedback cannot be right: no more ECT.
    Mangled,
}

/// The counters of the data sender.
#[derive(Debug)]
pub(crate) struct Sender {
    cep: u32,
    /// s.e0b, s.ceb, s.e1b.
    bytes: [u32; 3],
    /// Options do not tell what they should.
    ignored: bool,
    /// No feedback has come yet since the handshake.
    first: bool,
    /// The segment being looked at was part of the handshake.
    skip: bool,
    /// The ACE field with which our SYN,ACK was acknowledged: how it arrived, and no counter.
    reflection: Option<u32>,
    ts_latest: Option<u32>,
    /// Segments for each acknowledgment, in [`PARTS`].
    average: u32,
    /// s.cep when the last option came, and whether the ACE field may have wrapped since.
    cep_then: u32,
    wrapped: bool,
    /// Rounds so far, and where the present one ends; no more counted once a packet came unmarked.
    rounds: u8,
    round_end: Option<Seq>,
    unmarked: bool,
}

impl Sender {
    pub(crate) const fn new() -> Self {
        Self {
            cep: 5,
            bytes: super::receiver::Receiver::INITIAL,
            ignored: false,
            first: true,
            skip: false,
            reflection: None,
            ts_latest: None,
            average: 0,
            cep_then: 5,
            wrapped: false,
            rounds: 0,
            round_end: None,
            unmarked: false,
        }
    }

    /// Server: the acknowledgment of the SYN,ACK, which carries no data. `None` where the ACE field is zero: there is
    /// no feedback. Else what the SYN,ACK arrived with (table 4).
    pub(crate) fn on_handshake_ack(&mut self, flags: Flags) -> Option<Codepoint> {
        self.skip = true;
        if handshake::ace(flags) == 0 {
            return None;
        }
        self.reflection = Some(handshake::ace(flags).into());
        let arrived = handshake::reflected(flags).unwrap_or(Codepoint::NotEct);
        if arrived == Codepoint::Ce {
            self.cep = 6;
            self.cep_then = 6;
        }
        Some(arrived)
    }

    /// The first segment in which an option can be came, with it or without (section 3.2.3.2.4). Without, the ACE field
    /// alone counts until there is one (section 3.2.3.2.3).
    pub(crate) fn on_first_option(&mut self, option: Option<AccEcn>) {
        self.ignored = option.is_some_and(|option| [option.ee0b(), option.ee1b()].contains(&Some(0)));
    }

    /// An acceptable segment with an ACK came; the counters move unless another one has been here that was sent later.
    pub(crate) fn on_ack(&mut self, told: &EcnAck) -> EcnFeedback {
        if core::mem::take(&mut self.skip) {
            self.ts_latest = told.ts_val;
            return EcnFeedback::Nothing;
        }
        let later = match (told.ts_val, self.ts_latest) {
            (Some(value), Some(latest)) => Seq(value).gt(Seq(latest)),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if told.delivered == 0 && !later {
            return EcnFeedback::Nothing;
        }
        if later || told.ts_val.is_some_and(|_| told.delivered > 0) {
            let newest = |value: u32| match self.ts_latest {
                Some(latest) if Seq(latest).gt(Seq(value)) => latest,
                _ => value,
            };
            self.ts_latest = told.ts_val.map(newest);
        }
        let ace = u32::from(handshake::ace(told.flags));
        if told.of_syn && self.reflection == Some(ace) {
            // A SYN,ACK that came again was acknowledged again in the same way: the test that section 3.2.2.2 allows.
            return EcnFeedback::Nothing;
        }
        if core::mem::replace(&mut self.first, false) && ace == 0 {
            return EcnFeedback::Mangled;
        }
        let packets = told.delivered.div_ceil(told.smss.max(1));
        let d_cep = ace.wrapping_sub(self.cep) & 7;
        let option = told.option.filter(|_| !self.ignored);
        let d_ceb = option.and_then(|option| self.take_option(option));
        let marks = self.safest(d_cep, packets, d_ceb, told.smss);
        self.wrapped |= packets > 7;
        self.average = self.average - self.average / 8 + packets * (PARTS / 8);
        self.cep = self.cep.wrapping_add(marks);
        if let Some(d_ceb) = d_ceb {
            // Section 3.2.3.2.5: octets were marked, and no packet was.
            let contradicts = d_ceb > 0 && self.cep == self.cep_then && !self.wrapped;
            self.cep_then = self.cep;
            self.wrapped = false;
            if contradicts {
                return EcnFeedback::Mangled;
            }
        }
        if self.is_continuous(marks, packets, told) {
            return EcnFeedback::Mangled;
        }
        if marks > 0 { EcnFeedback::Marks(marks) } else { EcnFeedback::Nothing }
    }

    /// Appendix A.1. How many more octets arrived with CE, where the option tells.
    fn take_option(&mut self, option: AccEcn) -> Option<u32> {
        let told = [option.ee0b(), option.eceb(), option.ee1b()];
        let mut moved = [None; 3];
        for ((counter, told), moved) in self.bytes.iter_mut().zip(told).zip(&mut moved) {
            if let Some(told) = told {
                let more = told.wrapping_sub(*counter) & AccEcn::MASK;
                *counter = counter.wrapping_add(more);
                *moved = Some(more);
            }
        }
        let [_, d_ceb, _] = moved;
        // A counter that is left out has never changed.
        match d_ceb {
            None if self.bytes.get(1) == Some(&0) => Some(0),
            told => told,
        }
    }

    /// Appendix A.2: the ACE field may have gone round while acknowledgments were lost.
    const fn safest(&self, d_cep: u32, packets: u32, d_ceb: Option<u32>, smss: u32) -> u32 {
        if packets <= d_cep || self.average > STRETCHED * PARTS {
            return d_cep;
        }
        let safer = packets - (packets - d_cep) % 8;
        match d_ceb {
            // Section A.2.2: as many marked octets as fit so few packets, and too few for so many.
            Some(d_ceb) if d_ceb <= smss * d_cep && d_ceb / max(safer, 1) < smss / 2 => d_cep,
            _ => safer,
        }
    }

    /// Section 3.2.2.3: every packet of the first rounds was marked, which is no congestion.
    fn is_continuous(&mut self, marks: u32, packets: u32, told: &EcnAck) -> bool {
        self.unmarked |= marks < packets;
        if self.unmarked || packets == 0 {
            return false;
        }
        if self.round_end.is_none_or(|end| told.una.geq(end)) {
            self.round_end = Some(told.nxt);
            self.rounds = self.rounds.saturating_add(1);
        }
        self.rounds > ROUNDS
    }

    /// s.cep and s.ceb.
    #[cfg(test)]
    pub(crate) const fn counted(&self) -> (u32, u32) {
        let [_, ceb, _] = self.bytes;
        (self.cep, ceb)
    }
}

const fn max(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use kumiki_wire::inet::tcp::accecn::Order;

    use super::*;

    fn told(ace: u32, delivered: u32, ceb: Option<u32>) -> EcnAck {
        EcnAck {
            flags: Flags::ACK | handshake::flags(ace),
            option: ceb.map(|ceb| AccEcn::new(Order::Zero, 2, 1, ceb, 1)),
            of_syn: false,
            delivered,
            ts_val: None,
            smss: 1000,
            una: Seq(delivered),
            nxt: Seq(1 << 20),
        }
    }

    /// The examples of RFC 9768 appendix A.2.1.
    #[test]
    fn a_counter_that_may_have_gone_round_is_taken_to_have() {
        let mut it = Sender::new();
        assert_eq!(it.on_ack(&told(5 + 2, 9000, None)), EcnFeedback::Marks(2));
        let mut it = Sender::new();
        assert_eq!(it.on_ack(&told(5 + 2, 10_000, None)), EcnFeedback::Marks(10));
        // Short of full segments: the counter is right (section 3.2.2.5.2).
        let mut it = Sender::new();
        assert_eq!(it.on_ack(&told(5 + 2, 500, None)), EcnFeedback::Marks(2));
        // Where each acknowledgment is for many segments, nothing has been lost.
        let mut it = Sender::new();
        for _ in 0..20 {
            it.on_ack(&told(5, 5000, None));
        }
        assert_eq!(it.on_ack(&told(5, 16_000, None)), EcnFeedback::Nothing);
    }

    /// The examples of RFC 9768 appendix A.2.2, with its MSS of 1460.
    #[test]
    fn octets_tell_whether_the_counter_went_round() {
        for (d_cep, packets, d_ceb, expected) in [(0, 8, 1460, 8), (2, 10, 1460, 2), (7, 15, 10_200, 7)] {
            let it = Sender::new();
            assert_eq!(it.safest(d_cep, packets, Some(d_ceb), 1460), expected);
        }
    }

    /// The example of RFC 9768 appendix A.1.
    #[test]
    fn counters_of_24_bits_go_round() {
        let mut it = Sender::new();
        it.bytes = [1, 33_554_433, 1];
        assert_eq!(it.take_option(AccEcn::new(Order::Zero, 2, 1, 1461, 0)), Some(1460));
        assert_eq!(it.counted().1, 33_555_893);
    }

    /// RFC 9768 section 3.2.2.2: what has been superseded tells nothing.
    #[test]
    fn a_late_acknowledgment_winds_nothing_back() {
        let mut it = Sender::new();
        it.on_ack(&told(7, 2000, None));
        assert_eq!(it.on_ack(&told(6, 0, None)), EcnFeedback::Nothing);
        assert_eq!(it.on_ack(&told(7, 1000, None)), EcnFeedback::Nothing);
        // By its timestamp one that acknowledges nothing can be newer.
        let mut it = Sender::new();
        let at = |ts, ace, delivered| EcnAck { ts_val: Some(ts), ..told(ace, delivered, None) };
        it.on_ack(&at(10, 6, 1000));
        assert_eq!(it.on_ack(&at(9, 5, 0)), EcnFeedback::Nothing);
        assert_eq!(it.on_ack(&at(10, 7, 0)), EcnFeedback::Nothing);
        assert_eq!(it.on_ack(&at(11, 7, 0)), EcnFeedback::Marks(1));
    }

    /// RFC 9768 sections 3.2.2.3, 3.2.2.4 and 3.2.3.2.5.
    #[test]
    fn feedback_that_cannot_be_is_noticed() {
        let mut zeroed = Sender::new();
        assert_eq!(zeroed.on_ack(&told(0, 1000, None)), EcnFeedback::Mangled);
        let mut contradicts = Sender::new();
        assert_eq!(contradicts.on_ack(&told(5, 2000, Some(1000))), EcnFeedback::Mangled);
        let mut continuous = Sender::new();
        let mut last = EcnFeedback::Nothing;
        for round in 1..=5_u32 {
            last = continuous.on_ack(&EcnAck {
                una: Seq(1000 * round),
                nxt: Seq(1000 * round + 1000),
                ..told(5 + round, 1000, None)
            });
        }
        assert_eq!(last, EcnFeedback::Mangled);
        // Zero is right after three marks.
        let mut fine = Sender::new();
        fine.on_ack(&told(7, 2000, None));
        assert_eq!(fine.on_ack(&told(0, 2000, None)), EcnFeedback::Marks(1));
    }

    /// RFC 9768 section 3.2.3.2.4.
    #[test]
    fn options_that_begin_with_zeros_are_not_heeded() {
        for (option, ignored) in [
            (AccEcn::new(Order::Zero, 3, 1, 0, 1), false),
            (AccEcn::new(Order::Zero, 1, 0, 0, 1), true),
            (AccEcn::new(Order::One, 3, 1, 0, 0), true),
            (AccEcn::new(Order::One, 0, 0, 0, 0), false),
        ] {
            let mut it = Sender::new();
            it.on_first_option(Some(option));
            assert_eq!(it.ignored, ignored, "{option}");
        }
    }

    proptest::proptest! {
        /// Whatever is marked and however acknowledgments are spaced, nothing is forgotten as long as each tells of at
        /// most seven packets.
        #[test]
        fn no_mark_is_lost(runs in proptest::collection::vec((0u32..=7, 0u32..=7), 1..200)) {
            let (mut it, mut cep, mut heard) = (Sender::new(), 5u32, 0);
            it.first = false;
            it.unmarked = true;
            for (packets, marked) in runs {
                let marked = marked.min(packets);
                cep += marked;
                match it.on_ack(&told(cep, 1000 * packets, None)) {
                    EcnFeedback::Marks(marks) => heard += marks,
                    EcnFeedback::Nothing => {}
                    EcnFeedback::Mangled => panic!("nothing was mangled"),
                }
            }
            proptest::prop_assert_eq!(heard, cep - 5);
            proptest::prop_assert_eq!(it.counted().0, cep);
        }
    }
}
