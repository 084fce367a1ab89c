//! The parameters of a PAD: what a terminal and the host that it calls can set of the machine between them.
//!
//! | | |
//! |---|---|
//! | Specification | X.3 (1988) clauses 2 and 3 for the parameters, X.28 table 1 for the two standard profiles, X.29 table 3 for why one was not set. Recalled; names, ranges and profiles were compared with a public implementation that cites X.3 (03/2000) and X.28 (12/97), and with the tables in manuals of Digi and HP |
//! | Used by | `kumiki_wire::x25::x29`, `kumiki_x25::pad`, `kumiki_x25::pad_host` |
//! | Left out | parameters 23 to 30 of later editions (size of the input field, extended forwarding and echo masks, display of interrupts): no source says what they do; values above 5 of parameter 6 (formats of networks, the extended dialogue's languages) |

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// How many parameters there are.
pub const COUNT: usize = 22;

/// A parameter, by its number in X.3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Parameter {
    /// The character that leads from data transfer to commands: 0 none, 1 DLE (Ctrl-P), 32 to 126 that character.
    Recall = 1,
    /// Whether what is typed is shown: 0 no, 1 yes, 32 to 126 this character in the place of each graphic one.
    Echo = 2,
    /// Which characters send what was typed: a sum of 1 letters and digits, 2 CR, 4 ESC BEL ENQ ACK, 8 DEL CAN DC2, 16
    /// ETX EOT, 32 HT LF VT FF, 64 all other control characters.
    Forward = 3,
    /// After how many twentieths of a second without a character it is sent; 0: never.
    Idle = 4,
    /// Whether the PAD stops the terminal by X-OFF: 0 no, 1 in data transfer, 2 while commands are typed too.
    Device = 5,
    /// What the PAD tells the terminal: a sum of 1 service signals and 4 the prompt.
    Signals = 6,
    /// What a break does: a sum of 1 interrupt, 2 reset, 4 indication of break, 8 escape to commands, 16 discard
    /// output.
    Break = 7,
    /// What comes from the host is thrown away: 0 no, 1 yes.
    Discard = 8,
    /// How many NULs follow a CR to the terminal.
    CrPadding = 9,
    /// After how many graphic characters a line to the terminal is folded; 0: never.
    Fold = 10,
    /// The terminal's speed, read only: 14 is 9600 bit/s.
    Speed = 11,
    /// Whether the terminal stops the PAD by X-OFF: 0 no, 1 yes.
    Flow = 12,
    /// Where a LF is put behind a CR: a sum of 1 in what the host sends, 2 in what the terminal sends, 4 in the echo.
    LfInsertion = 13,
    /// How many NULs follow a LF to the terminal.
    LfPadding = 14,
    /// Whether what was typed can be edited in data transfer: 0 no, 1 yes.
    Edit = 15,
    /// The character that deletes the last one, 0 to 127.
    CharacterDelete = 16,
    /// The character that deletes the line, 0 to 127.
    LineDelete = 17,
    /// The character that shows the line, 0 to 127.
    LineDisplay = 18,
    /// How editing is shown: 0 not at all, 1 for printers, 2 for screens, 8 or 32 to 126 this character for each one
    /// deleted.
    EditSignals = 19,
    /// Which characters are not shown though the echo is on: a sum of 1 CR, 2 LF, 4 VT HT FF, 8 BEL BS, 16 ESC ENQ,
    /// 32 ACK NAK STX SOH EOT ETB ETX, 64 those that edit, 128 all other control characters and DEL.
    EchoMask = 20,
    /// What is done with bit 8: 0 it is data, or a sum of 1 parity is checked and 2 parity is made.
    Parity = 21,
    /// After how many LFs the PAD waits for the reader; 0: never.
    Page = 22,
}

impl Parameter {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; COUNT] = [
        Self::Recall,
        Self::Echo,
        Self::Forward,
        Self::Idle,
        Self::Device,
        Self::Signals,
        Self::Break,
        Self::Discard,
        Self::CrPadding,
        Self::Fold,
        Self::Speed,
        Self::Flow,
        Self::LfInsertion,
        Self::LfPadding,
        Self::Edit,
        Self::CharacterDelete,
        Self::LineDelete,
        Self::LineDisplay,
        Self::EditSignals,
        Self::EchoMask,
        Self::Parity,
        Self::Page,
    ];

    /// The parameter of this number.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        let at = usize::from(number).checked_sub(1)?;
        Self::ALL.get(at).copied()
    }

    /// Its number, 1 to 22.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// What X.3 calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recall => "PAD recall using a character",
            Self::Echo => "echo",
            Self::Forward => "selection of data forwarding characters",
            Self::Idle => "selection of idle timer delay",
            Self::Device => "ancillary device control",
            Self::Signals => "control of PAD service signals",
            Self::Break => "operation on receipt of break signal",
            Self::Discard => "discard output",
            Self::CrPadding => "padding after carriage return",
            Self::Fold => "line folding",
            Self::Speed => "binary speed",
            Self::Flow => "flow control of the PAD",
            Self::LfInsertion => "linefeed insertion after carriage return",
            Self::LfPadding => "padding after linefeed",
            Self::Edit => "editing",
            Self::CharacterDelete => "character delete",
            Self::LineDelete => "line delete",
            Self::LineDisplay => "line display",
            Self::EditSignals => "editing PAD service signals",
            Self::EchoMask => "echo mask",
            Self::Parity => "parity treatment",
            Self::Page => "page wait",
        }
    }

    /// Whether it can have this value.
    #[must_use]
    pub const fn accepts(self, value: u8) -> bool {
        match self {
            Self::Recall | Self::Echo => matches!(value, 0 | 1 | 32..=126),
            Self::Forward | Self::CharacterDelete | Self::LineDelete | Self::LineDisplay => value <= 127,
            Self::Device => value <= 2,
            Self::Signals => matches!(value, 0 | 1 | 4 | 5),
            Self::Break => value <= 31,
            Self::Discard | Self::Flow | Self::Edit => value <= 1,
            Self::Speed => value <= 18,
            Self::LfInsertion => value <= 7,
            Self::EditSignals => matches!(value, 0 | 1 | 2 | 8 | 32..=126),
            Self::Parity => value <= 3,
            Self::Idle | Self::CrPadding | Self::Fold | Self::LfPadding | Self::EchoMask | Self::Page => true,
        }
    }
}

/// Why a parameter was not set or read, as X.29 table 3 numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[repr(u8)]
pub enum NotSet {
    /// Nothing more is known.
    #[error("not set, without a reason")]
    Unknown = 0,
    /// There is no such parameter here.
    #[error("there is no such parameter; they are 1 to {COUNT}")]
    Reference = 1,
    /// The parameter cannot have that value.
    #[error("the parameter has no such value")]
    Value = 2,
    /// The parameter cannot have another value than it has.
    #[error("the parameter cannot be changed")]
    Fixed = 3,
    /// The parameter can only be read.
    #[error("the parameter can only be read")]
    ReadOnly = 4,
    /// It stands behind a separator of parameters of networks that is not known here.
    #[error("the parameter is one of a network that is not known here")]
    Separator = 5,
}

impl NotSet {
    /// Its number on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// What a number on the wire says; one that is not known says nothing.
    #[must_use]
    pub const fn of(code: u8) -> Self {
        match code {
            1 => Self::Reference,
            2 => Self::Value,
            3 => Self::Fixed,
            4 => Self::ReadOnly,
            5 => Self::Separator,
            _ => Self::Unknown,
        }
    }
}

/// A value for each parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Parameters([u8; COUNT]);

impl Parameters {
    /// The simple standard profile (90): a person types lines and sees them.
    pub const SIMPLE: Self = Self([1, 1, 126, 0, 1, 1, 2, 0, 0, 0, 14, 1, 0, 0, 0, 127, 24, 18, 1, 0, 0, 0]);
    /// The transparent standard profile (91): nothing is shown, changed or taken out, and what is typed leaves after a
    /// second.
    pub const TRANSPARENT: Self = Self([0, 0, 0, 20, 0, 0, 2, 0, 0, 0, 14, 0, 0, 0, 0, 127, 24, 18, 1, 0, 0, 0]);

    /// The standard profile of this number.
    #[must_use]
    pub const fn profile(number: u8) -> Option<Self> {
        match number {
            90 => Some(Self::SIMPLE),
            91 => Some(Self::TRANSPARENT),
            _ => None,
        }
    }

    /// The value of a parameter.
    #[must_use]
    pub fn of(&self, parameter: Parameter) -> u8 {
        let at = usize::from(parameter.number()).wrapping_sub(1);
        self.0.get(at).copied().unwrap_or_default()
    }

    /// Sets a parameter, whatever it is and whatever the value.
    pub fn put(&mut self, parameter: Parameter, value: u8) {
        let at = usize::from(parameter.number()).wrapping_sub(1);
        if let Some(place) = self.0.get_mut(at) {
            *place = value;
        }
    }

    /// The value of the parameter of this number.
    ///
    /// # Errors
    /// There is none.
    pub fn read(&self, number: u8) -> Result<u8, NotSet> {
        let parameter = Parameter::of(number).ok_or(NotSet::Reference)?;
        Ok(self.of(parameter))
    }

    /// Sets the parameter of this number.
    ///
    /// # Errors
    /// There is none, it cannot be set, or it has no such value. To set what can only be read to what it is already is
    /// no error.
    pub fn set(&mut self, number: u8, value: u8) -> Result<(), NotSet> {
        let parameter = Parameter::of(number).ok_or(NotSet::Reference)?;
        if parameter == Parameter::Speed && value != self.of(parameter) {
            return Err(NotSet::ReadOnly);
        }
        if !parameter.accepts(value) {
            return Err(NotSet::Value);
        }
        self.put(parameter, value);
        Ok(())
    }

    /// All numbers and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        Parameter::ALL.iter().map(|parameter| (parameter.number(), self.of(*parameter)))
    }
}

impl Default for Parameters {
    /// The simple standard profile.
    fn default() -> Self {
        Self::SIMPLE
    }
}

impl fmt::Display for Parameters {
    /// As a PAD tells them: `1:1, 2:1, 3:126` and so on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (number, value)) in self.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{number}:{value}")?;
        }
        Ok(())
    }
}

/// What is wrong with a list of parameters as a person writes it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadList {
    /// Not a list of numbers.
    #[error("\"{0}\" is no parameter with its value; \"2:0,3:2\" is how they are written")]
    Form(String),
    /// A parameter that cannot be set so.
    #[error("parameter {number}: {why} ({value})")]
    NotSet {
        /// Its number.
        number: u8,
        /// The value.
        value: u8,
        /// Why not.
        why: NotSet,
    },
}

/// Some parameters and the values that they are to have: `2:0,3:2`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct List(pub Vec<(u8, u8)>);

impl FromStr for List {
    type Err = BadList;

    fn from_str(text: &str) -> Result<Self, BadList> {
        let mut list = Vec::new();
        let mut scratch = Parameters::SIMPLE;
        for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let pair = part
                .split_once(':')
                .and_then(|(number, value)| Some((number.trim().parse().ok()?, value.trim().parse().ok()?)));
            let (number, value) = pair.ok_or_else(|| BadList::Form(part.to_owned()))?;
            scratch.set(number, value).map_err(|why| BadList::NotSet { number, value, why })?;
            list.push((number, value));
        }
        Ok(Self(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profiles_are_those_of_x28_and_can_be_set() {
        assert_eq!(
            Parameters::SIMPLE.to_string(),
            "1:1, 2:1, 3:126, 4:0, 5:1, 6:1, 7:2, 8:0, 9:0, 10:0, 11:14, 12:1, 13:0, 14:0, 15:0, 16:127, 17:24, 18:18, 19:1, 20:0, 21:0, 22:0"
        );
        for profile in [90, 91] {
            let profile = Parameters::profile(profile).unwrap();
            let mut parameters = Parameters::SIMPLE;
            for (number, value) in profile.iter() {
                assert_eq!(parameters.set(number, value), Ok(()), "{number}");
            }
        }
    }

    #[test]
    fn a_parameter_has_its_number() {
        for (number, parameter) in (1..).zip(Parameter::ALL) {
            assert_eq!(parameter.number(), number);
            assert_eq!(Parameter::of(number), Some(parameter));
        }
        assert_eq!((Parameter::of(0), Parameter::of(23)), (None, None));
    }

    #[test]
    fn what_cannot_be_set_says_why() {
        let mut parameters = Parameters::SIMPLE;
        assert_eq!(parameters.set(99, 0), Err(NotSet::Reference));
        assert_eq!(parameters.set(2, 7), Err(NotSet::Value));
        assert_eq!(parameters.set(11, 3), Err(NotSet::ReadOnly));
        assert_eq!(parameters.set(11, 14), Ok(()));
        assert_eq!("2:0, 3:2".parse(), Ok(List(vec![(2, 0), (3, 2)])));
        let bad = |text: &str| text.parse::<List>().unwrap_err().to_string();
        assert_eq!(bad("2:7"), "parameter 2: the parameter has no such value (7)");
        assert!(bad("echo").contains("\"2:0,3:2\" is how they are written"));
    }
}
