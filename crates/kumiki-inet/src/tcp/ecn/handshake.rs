//! Which kind of feedback the SYNs of a connection agree on.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 3168 section 6.1.1; RFC 9768 sections 3.1 and 3.2.2.1, tables 2 to 4 |
//! | Left out | ECT on SYNs (RFC 5562, RFC 8311); the retry without ECN after a reset (RFC 3168 section 6.1.1.1); remembering which peers do not answer such SYNs |

use kumiki_wire::inet::EcnUse;
use kumiki_wire::inet::ipv4::Ecn as Codepoint;
use kumiki_wire::inet::tcp::Flags;

/// How often a SYN asks before it does no more (RFC 9768 section 3.1.4.1; RFC 3168 section 6.1.1.1 leaves it open).
pub(crate) const ASKS: u32 = 2;

/// What both ends of a connection do, the same in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Feedback {
    /// Nothing.
    #[default]
    None,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// AE, CWR and ECE as a number, AE the highest bit; later in the connection that is the ACE field.
pub(crate) fn ace(flags: Flags) -> u8 {
    u8::try_from(flags.bits() >> 6 & 7).unwrap_or(0)
}

/// AE, CWR and ECE from the low bits of a number.
pub(crate) fn flags(ace: u32) -> Flags {
    Flags::from_bits(u16::try_from(ace & 7).unwrap_or(0) << 6)
}

/// What a SYN that is sent asks for.
pub(crate) const fn asking(wish: EcnUse) -> (Feedback, Flags) {
    match wish {
        EcnUse::Off | EcnUse::Passive => (Feedback::None, Flags::NONE),
        EcnUse::Classic => (Feedback::Classic, Flags::ECE.with(Flags::CWR)),
        EcnUse::Accurate => (Feedback::Accurate, Flags::AE.with(Flags::CWR).with(Flags::ECE)),
    }
}

/// What is agreed to with who sent a SYN with these flags, which arrived with `arrived` in its IP header.
///
/// A classic caller may not mark its SYN and cannot be told that somebody else has: there ECN would not be safe.
pub(crate) fn asked(wish: EcnUse, flags: Flags, arrived: Codepoint) -> Feedback {
    let classic = if arrived == Codepoint::NotEct { Feedback::Classic } else { Feedback::None };
    match (wish, kind(flags)) {
        (EcnUse::Off, _) | (_, Feedback::None) => Feedback::None,
        (EcnUse::Passive | EcnUse::Accurate, Feedback::Classic) => classic,
        // RFC 9768 section 3.1.3: also the combinations that are kept for later.
        (EcnUse::Passive | EcnUse::Accurate, Feedback::Accurate) => Feedback::Accurate,
        (EcnUse::Classic, _) if flags.contains(Flags::ECE | Flags::CWR) => classic,
        (EcnUse::Classic, _) => Feedback::None,
    }
}

/// What a SYN with these flags asks for, to who knows all there is.
fn kind(flags: Flags) -> Feedback {
    match ace(flags) {
        0 => Feedback::None,
        0b011 => Feedback::Classic,
        _ => Feedback::Accurate,
    }
}

/// What a SYN,ACK with these flags agrees to, where `asked` was asked for (table 2).
pub(crate) fn answered(asked: Feedback, flags: Flags) -> Feedback {
    match asked {
        Feedback::None => Feedback::None,
        Feedback::Classic if flags.contains(Flags::ECE) && !flags.contains(Flags::CWR) => Feedback::Classic,
        Feedback::Classic => Feedback::None,
        Feedback::Accurate => match ace(flags) {
            // A server that sends back what came is none.
            0b000 | 0b111 => Feedback::None,
            0b001 => Feedback::Classic,
            _ => Feedback::Accurate,
        },
    }
}

/// The handshake encoding of a codepoint that arrived (table 3).
pub(crate) fn reflection(arrived: Codepoint) -> Flags {
    flags(match arrived {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    })
}

/// What a handshake encoding says (table 4); `None` of what has no meaning yet.
pub(crate) fn reflected(flags: Flags) -> Option<Codepoint> {
    match ace(flags) {
        0b010 => Some(Codepoint::NotEct),
        0b011 => Some(Codepoint::Ect1),
        0b100 => Some(Codepoint::Ect0),
        0b110 => Some(Codepoint::Ce),
        _ => None,
    }
}

/// The answering side of a handshake that is not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Answering {
    /// The mode, which no later SYN changes (RFC 9768 section 3.1.5).
    pub(crate) feedback: Feedback,
    /// In the IP header of the latest SYN.
    arrived: u8,
    /// A SYN or SYN,ACK without any of the flags was received or sent after the mode was entered.
    pub(crate) plain: bool,
    /// SYN,ACKs that seem not to have arrived.
    unanswered: u8,
}

impl Answering {
    /// To the first SYN.
    pub(crate) fn new(wish: EcnUse, flags: Flags, arrived: Codepoint) -> Self {
        Self { feedback: asked(wish, flags, arrived), arrived: arrived.bits(), ..Self::default() }
    }

    /// Mode `feedback` was found out from what came back of a handshake that was not kept.
    pub(crate) fn recalled(feedback: Feedback) -> Self {
        Self { feedback, ..Self::default() }
    }

    /// The SYN came again, maybe with other flags; false where no mode can serve both, and the connection must be reset
    /// (section 3.1.5).
    pub(crate) fn on_syn_again(&mut self, flags: Flags, arrived: Codepoint, wish: EcnUse) -> bool {
        if self.feedback == Feedback::None {
            return true;
        }
        self.arrived = arrived.bits();
        let knows_both = wish != EcnUse::Classic;
        match kind(flags) {
            Feedback::None => self.plain = true,
            other if other != self.feedback && knows_both => return false,
            Feedback::Classic | Feedback::Accurate => {}
        }
        // Section 3.2.3.2.2: whatever drops our answer may do so for its option.
        self.unanswered = self.unanswered.max(1);
        true
    }

    /// The SYN,ACK was not answered in time.
    pub(crate) const fn on_timeout(&mut self) {
        self.unanswered = self.unanswered.saturating_add(1);
        self.plain |= matches!(self.feedback, Feedback::Accurate) && self.unanswered > 1;
    }

    /// AE, CWR and ECE of the SYN,ACK.
    pub(crate) fn flags(&self) -> Flags {
        match self.feedback {
            Feedback::None => Flags::NONE,
            Feedback::Classic if self.plain => Flags::NONE,
            Feedback::Classic => Flags::ECE,
            Feedback::Accurate if self.unanswered > 1 => Flags::NONE,
            Feedback::Accurate => reflection(Codepoint::from_bits(self.arrived)),
        }
    }

    /// The same flags of an acknowledgment by itself: what is counted is what it was at first.
    pub(crate) fn acknowledgment(&self) -> Flags {
        match self.feedback {
            Feedback::None | Feedback::Classic => Flags::NONE,
            Feedback::Accurate => flags(5),
        }
    }

    /// Whether the SYN,ACK carries an AccECN option.
    pub(crate) const fn has_option(&self) -> bool {
        matches!(self.feedback, Feedback::Accurate) && self.unanswered == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 2 of RFC 9768, from both ends.
    #[test]
    fn the_table_of_negotiations_is_that_of_the_standard() {
        let wants = [EcnUse::Accurate, EcnUse::Classic, EcnUse::Off];
        let expected = [
            // An accurate host A, with B accurate, classic, none; then a classic A; then none.
            [Feedback::Accurate, Feedback::Classic, Feedback::None],
            [Feedback::Classic, Feedback::Classic, Feedback::None],
            [Feedback::None; 3],
        ];
        for (a, expected) in wants.into_iter().zip(expected) {
            for (b, expected) in wants.into_iter().zip(expected) {
                let (asks, syn) = asking(a);
                let b = Answering::new(b, syn, Codepoint::NotEct);
                assert_eq!(b.feedback, expected);
                assert_eq!(answered(asks, b.flags()), expected);
            }
        }
        // Who only answers does as the accurate one.
        let (_, syn) = asking(EcnUse::Accurate);
        let b = Answering::new(EcnUse::Passive, syn, Codepoint::NotEct);
        assert_eq!(b.feedback, Feedback::Accurate);
    }

    /// RFC 9768 sections 3.1.2 (broken) and 3.1.3 (forward compatibility).
    #[test]
    fn strange_combinations_have_their_answers() {
        for (bits, expected) in [
            (0b000, Feedback::None),
            (0b001, Feedback::Classic),
            (0b010, Feedback::Accurate),
            (0b011, Feedback::Accurate),
            (0b100, Feedback::Accurate),
            (0b101, Feedback::Accurate),
            (0b110, Feedback::Accurate),
            (0b111, Feedback::None),
        ] {
            assert_eq!(answered(Feedback::Accurate, flags(bits)), expected);
        }
        for bits in [0b001, 0b010, 0b100, 0b101, 0b110, 0b111] {
            let asked = asked(EcnUse::Passive, flags(bits), Codepoint::NotEct);
            assert_eq!(asked, Feedback::Accurate, "{bits:03b}");
        }
        // RFC 3168 section 6.1.1.2: a server that sends the reserved bits back.
        let reflecting = Flags::ECE | Flags::CWR;
        assert_eq!(answered(Feedback::Classic, reflecting), Feedback::None);
    }

    #[test]
    fn a_codepoint_that_is_reflected_is_read_again() {
        for bits in 0..4 {
            let arrived = Codepoint::from_bits(bits);
            assert_eq!(reflected(reflection(arrived)), Some(arrived));
        }
        for unused in [0b000, 0b001, 0b101, 0b111] {
            assert_eq!(reflected(flags(unused)), None);
        }
    }

    /// RFC 9768 section 3.2.3.2.2: first the option goes, then the flags.
    #[test]
    fn an_answer_that_is_not_heard_is_made_plainer() {
        let (_, syn) = asking(EcnUse::Accurate);
        let mut answering = Answering::new(EcnUse::Accurate, syn, Codepoint::Ect0);
        assert!(answering.has_option());
        assert_eq!(ace(answering.flags()), 0b100);
        answering.on_timeout();
        assert!(!answering.has_option() && !answering.plain);
        assert_eq!(ace(answering.flags()), 0b100);
        answering.on_timeout();
        assert!(answering.plain && answering.feedback == Feedback::Accurate);
        assert_eq!(ace(answering.flags()), 0);
    }

    /// RFC 9768 section 3.1.5.
    #[test]
    fn a_second_syn_changes_no_mode() {
        let (_, accurate) = asking(EcnUse::Accurate);
        let (_, classic) = asking(EcnUse::Classic);
        let wish = EcnUse::Passive;
        let begin = |syn| Answering::new(wish, syn, Codepoint::NotEct);
        let mut it = begin(accurate);
        assert!(it.on_syn_again(Flags::NONE, Codepoint::Ce, wish) && it.plain);
        assert_eq!(ace(it.flags()), 0b110, "the latest SYN is told of");
        assert!(!it.on_syn_again(classic, Codepoint::NotEct, wish));
        assert!(!begin(classic).on_syn_again(accurate, Codepoint::NotEct, wish));
        let mut none = begin(Flags::NONE);
        assert!(none.on_syn_again(accurate, Codepoint::NotEct, wish));
        assert_eq!(none.flags(), Flags::NONE);
        let mut it = begin(classic);
        assert!(it.on_syn_again(Flags::NONE, Codepoint::NotEct, wish) && it.plain);
        assert_eq!(it.flags(), Flags::NONE);
    }
}
