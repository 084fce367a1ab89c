//! The pointer interpreter of a receiver.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T G.783 annex on pointer detection, G.707 section 8 (recalled) |
//! | Left out | the concatenation indications behind the first pair, which are not looked at; the SS bits, which a receiver may ignore (RFC 2171, appendix A) |
//!
//! A frame's H1 and H2 say one of: where the envelope is, as before; that it moves (most of five bits inverted); that
//! it is somewhere else from now on (new data); all ones, that somebody before had no signal. All else is invalid and
//! changes nothing, unless it comes three times alike, which is a new place, or eight times in a row, when the pointer
//! is lost.

use kumiki_wire::ppp::sdh::{Justification, POINTERS, Pointer};

/// Frames in a row with the same pointer after which it is believed.
const NEW: u8 = 3;
/// Frames in a row with all ones after which they are an alarm.
const AIS: u8 = 3;
/// Frames in a row with invalid pointers, or with new data, after which the pointer is lost.
const LOST: u8 = 8;

/// What is known of the pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nothing yet.
    Unknown,
    /// Where the envelope begins.
    Normal(u16),
    /// It was known, or should be, and is not (LOP).
    Lost,
    /// All ones come (AIS-P).
    Ais,
}

/// What a frame's pointer lets happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// The envelope goes on.
    Stay,
    /// It moves.
    Move(Justification),
    /// It begins at this pointer from here on.
    Begin(u16),
    /// The pointer is invalid, or a first of a new kind; the envelope goes on.
    Doubt,
    /// The envelope cannot be found from here on.
    Lose,
}

#[derive(Clone, Debug)]
pub(super) struct Interpreter {
    state: State,
    /// The last pointer that was not the present one, and how often it has come in a row.
    other: (u16, u8),
    invalid: u8,
    new_data: u8,
    ones: u8,
}

impl Interpreter {
    pub(super) const fn new() -> Self {
        Self { state: State::Unknown, other: (0, 0), invalid: 0, new_data: 0, ones: 0 }
    }

    pub(super) const fn state(&self) -> State {
        self.state
    }

    /// Whether nothing is in doubt.
    pub(super) const fn is_steady(&self) -> bool {
        matches!(self.state, State::Normal(_)) && self.invalid == 0 && self.new_data == 0 && self.ones == 0
    }

    /// Takes the first H1 and H2 of a frame.
    pub(super) fn take(&mut self, octets: [u8; 2]) -> Action {
        if octets == Pointer::AIS {
            self.other = (0, 0);
            self.invalid = 0;
            self.new_data = 0;
            self.ones = self.ones.saturating_add(1).min(AIS);
            if self.ones == AIS && self.state != State::Ais {
                self.state = State::Ais;
                return Action::Lose;
            }
            return Action::Doubt;
        }
        self.ones = 0;
        let pointer = Pointer::parse(octets);
        let valid = pointer.value < POINTERS;
        if pointer.new_data == Some(true) && valid {
            return self.new_data(pointer.value);
        }
        self.new_data = 0;
        let State::Normal(present) = self.state else {
            return self.elsewhere(pointer, valid);
        };
        if pointer.new_data != Some(false) {
            return self.invalid();
        }
        if pointer.value == present {
            self.invalid = 0;
            self.other = (0, 0);
            return Action::Stay;
        }
        if let Some(which) = pointer.justification(present) {
            self.invalid = 0;
            self.other = (0, 0);
            self.state = State::Normal(match which {
                Justification::Positive => (present + 1) % POINTERS,
                Justification::Negative => (present + POINTERS - 1) % POINTERS,
            });
            return Action::Move(which);
        }
        self.elsewhere(pointer, valid)
    }

    /// A pointer that says that it is new.
    fn new_data(&mut self, value: u16) -> Action {
        self.new_data = self.new_data.saturating_add(1).min(LOST);
        self.other = (0, 0);
        self.invalid = 0;
        if self.new_data == LOST {
            return self.lose();
        }
        match self.state {
            // What has been lost is found by three pointers without the flag.
            State::Lost | State::Unknown => Action::Doubt,
            State::Normal(_) | State::Ais => {
                self.state = State::Normal(value);
                Action::Begin(value)
            }
        }
    }

    /// A pointer to another place than where the envelope is.
    fn elsewhere(&mut self, pointer: Pointer, valid: bool) -> Action {
        if !valid || pointer.new_data != Some(false) {
            return self.invalid();
        }
        let (value, times) = self.other;
        let times = if value == pointer.value { times } else { 0 } + 1;
        if times == NEW {
            self.other = (0, 0);
            self.invalid = 0;
            self.state = State::Normal(pointer.value);
            return Action::Begin(pointer.value);
        }
        let kept = (pointer.value, times);
        let action = self.invalid();
        self.other = kept;
        action
    }

    fn invalid(&mut self) -> Action {
        self.other = (0, 0);
        self.invalid = self.invalid.saturating_add(1).min(LOST);
        if self.invalid == LOST {
            return self.lose();
        }
        Action::Doubt
    }

    fn lose(&mut self) -> Action {
        if self.state == State::Lost {
            return Action::Doubt;
        }
        self.state = State::Lost;
        Action::Lose
    }
}
