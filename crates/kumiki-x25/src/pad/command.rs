//! PAD command signals: what a person types at a PAD (X.28 clause 3.5).
//!
//! Letters may be small or large, and blanks and DEL do not count but in call user data. The words of the extended
//! dialogue (X.28 clause 5) are understood at any time, as the standard lets networks do.
//!
//! **Selection.** Facilities with commas between them and a hyphen behind them, the address, then `D` or `P` and up to
//! 12 characters of user data, as in `R,G12-26245890040D?`. Before `D` or `P` an asterisk may stand, as older networks
//! had it.

use kumiki_osi_service::x25::{Charging, Facilities, Facility, FastSelect, Nui, Number, code};
use kumiki_wire::x25::x29::MOST_USER_DATA;

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Command {
    /// Nothing.
    Empty,
    /// `STAT`: is there a call?
    Status,
    /// `CLR`: clear the call.
    Clear,
    /// `ICLR`: ask the other end to clear it.
    Invite,
    /// `RESET`.
    Reset,
    /// `INT`: send an interrupt.
    Interrupt,
    /// `BREAK`: as if a break had come.
    Break,
    /// `PAR?`, of these parameters or of all.
    Read(Vec<u8>),
    /// `SET`; without a parameter nothing is set.
    Set(Vec<(u8, u8)>),
    /// `SET?`.
    SetAndRead(Vec<(u8, u8)>),
    /// `RPAR?`: of the PAD at the other end.
    RemoteRead(Vec<u8>),
    /// `RSET?`: at the other end.
    RemoteSet(Vec<(u8, u8)>),
    /// `PROF`: the profile of this number.
    Profile(u8),
    /// An address: call it.
    Select(Box<Selection>),
    /// `HELP`.
    Help,
    /// `EXIT`: the terminal wants no more. Not of X.28, where one hangs up.
    Exit,
}

/// Whom to call, and how.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Selection {
    pub(super) called: Number,
    pub(super) facilities: Facilities,
    /// The user's part of the call user data.
    pub(super) data: Vec<u8>,
}

/// Words and what stands for each, longer ones before those that they begin with.
const WORDS: [(&str, Word); 29] = [
    ("STATUS", Word::Status),
    ("STAT", Word::Status),
    ("CLEAR", Word::Clear),
    ("CLR", Word::Clear),
    ("ICLEAR", Word::Invite),
    ("ICLR", Word::Invite),
    ("RESET", Word::Reset),
    ("INTERRUPT", Word::Interrupt),
    ("INT", Word::Interrupt),
    ("BREAK", Word::Break),
    ("RPARAMETER?", Word::RemoteRead),
    ("RPAR?", Word::RemoteRead),
    ("RREAD", Word::RemoteRead),
    ("RSETREAD", Word::RemoteSet),
    ("RSET?", Word::RemoteSet),
    ("RSET", Word::RemoteSet),
    ("PARAMETER?", Word::Read),
    ("PARAMETER", Word::Read),
    ("PAR?", Word::Read),
    ("PAR", Word::Read),
    ("READ", Word::Read),
    ("SETREAD", Word::SetAndRead),
    ("SET?", Word::SetAndRead),
    ("SET", Word::Set),
    ("PROFILE", Word::Profile),
    ("PROF", Word::Profile),
    ("HELP", Word::Help),
    ("EXIT", Word::Exit),
    ("QUIT", Word::Exit),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Status,
    Clear,
    Invite,
    Reset,
    Interrupt,
    Break,
    Read,
    Set,
    SetAndRead,
    RemoteRead,
    RemoteSet,
    Profile,
    Help,
    Exit,
}

/// What `line` says, which has no end any more; `None` where it is no command.
pub(super) fn parse(line: &[u8]) -> Option<Command> {
    let text: String = line
        .iter()
        .filter(|octet| !matches!(octet, b' ' | 0x7f))
        .map(|octet| char::from(octet.to_ascii_uppercase()))
        .collect();
    if text.is_empty() {
        return Some(Command::Empty);
    }
    for (name, word) in WORDS {
        // `RESETX` is no command, and `SET2:0` is one.
        if let Some(rest) = text.strip_prefix(name)
            && !rest.starts_with(|c: char| c.is_ascii_alphabetic())
        {
            return of_word(word, rest);
        }
    }
    selection(line).map(|it| Command::Select(Box::new(it)))
}

fn of_word(word: Word, rest: &str) -> Option<Command> {
    let alone = |command| rest.is_empty().then_some(command);
    match word {
        Word::Status => alone(Command::Status),
        Word::Clear => alone(Command::Clear),
        Word::Invite => alone(Command::Invite),
        Word::Reset => alone(Command::Reset),
        Word::Interrupt => alone(Command::Interrupt),
        Word::Break => alone(Command::Break),
        Word::Help => Some(Command::Help),
        Word::Exit => alone(Command::Exit),
        Word::Read => numbers(rest).map(Command::Read),
        Word::RemoteRead => numbers(rest).map(Command::RemoteRead),
        Word::Set => pairs(rest).map(Command::Set),
        Word::SetAndRead => pairs(rest).map(Command::SetAndRead),
        Word::RemoteSet => pairs(rest).map(Command::RemoteSet),
        Word::Profile => rest.parse().ok().map(Command::Profile),
    }
}

fn numbers(list: &str) -> Option<Vec<u8>> {
    if list.is_empty() {
        return Some(Vec::new());
    }
    list.split(',').map(|number| number.parse().ok()).collect()
}

fn pairs(list: &str) -> Option<Vec<(u8, u8)>> {
    if list.is_empty() {
        return None;
    }
    let pair = |text: &str| {
        let (number, value) = text.split_once(':')?;
        Some((number.parse().ok()?, value.parse().ok()?))
    };
    list.split(',').map(pair).collect()
}

fn selection(line: &[u8]) -> Option<Selection> {
    let blank = |octet: &u8| matches!(octet, b' ' | 0x7f);
    let begin = line.iter().position(|octet| !blank(octet))?;
    let mut rest = line.get(begin..)?;
    for word in ["CALL", "C"] {
        if let Some((front, behind)) = rest.split_at_checked(word.len())
            && front.eq_ignore_ascii_case(word.as_bytes())
            && behind.first().is_some_and(blank)
        {
            rest = behind;
            break;
        }
    }
    let mut facilities = Facilities::default();
    if let Some(hyphen) = rest.iter().position(|octet| *octet == b'-') {
        let (block, behind) = rest.split_at_checked(hyphen)?;
        // A hyphen in user data is none of ours.
        if block.iter().find(|octet| !blank(octet))?.is_ascii_alphabetic() {
            for part in block.split(|octet| *octet == b',') {
                facility(part, &mut facilities)?;
            }
            rest = behind.get(1..)?;
        }
    }
    let end = rest.iter().position(|octet| !octet.is_ascii_digit() && !blank(octet)).unwrap_or(rest.len());
    let (address, mut behind) = rest.split_at_checked(end)?;
    let digits = address.iter().filter(|octet| !blank(octet));
    let called = Number::from_digits(digits.map(|octet| octet - b'0')).ok()?;
    if called.is_empty() {
        return None;
    }
    if let [b'*', more @ ..] = behind {
        behind = more;
    }
    let data = match behind {
        [] => &[][..],
        [b'D' | b'd' | b'P' | b'p', data @ ..] => data,
        _ => return None,
    };
    let has_fast_select = facilities.charging().fast_select != FastSelect::None;
    let most = if has_fast_select { MOST_USER_DATA.1 } else { MOST_USER_DATA.0 };
    if data.len() > most {
        return None;
    }
    Some(Selection { called, facilities, data: data.to_vec() })
}

/// One facility request: `N` and an identification, `R` reverse charging, `F` fast select, `Q` fast select with a
/// restricted answer, `G` and two or four digits of a closed user group, `T` and four digits of a transit network.
fn facility(part: &[u8], facilities: &mut Facilities) -> Option<()> {
    let text: Vec<u8> = part.iter().copied().filter(|it| *it != b' ').collect();
    let (letter, value) = text.split_first()?;
    let charging = facilities.charging();
    let facility = match (letter.to_ascii_uppercase(), value) {
        (b'N', [_, ..]) => Facility::User(Nui::new(value)),
        (b'R', []) => Facility::Charging(Charging { reverse: true, ..charging }),
        (b'F', []) => Facility::Charging(Charging { fast_select: FastSelect::Unrestricted, ..charging }),
        (b'Q', []) => Facility::Charging(Charging { fast_select: FastSelect::Restricted, ..charging }),
        (b'G', &[a, b]) => Facility::ClosedGroup(packed(a, b)?),
        (b'G', &[a, b, c, d]) => {
            Facility::Other { code: code::CLOSED_GROUP_EXTENDED, value: vec![packed(a, b)?, packed(c, d)?] }
        }
        (b'T', &[a, b, c, d]) => Facility::Other { code: code::RPOA, value: vec![packed(a, b)?, packed(c, d)?] },
        _ => return None,
    };
    if matches!(facility, Facility::Charging(_)) {
        facilities.set(facility);
    } else {
        facilities.0.push(facility);
    }
    Some(())
}

/// Two decimal digits in an octet.
fn packed(a: u8, b: u8) -> Option<u8> {
    let digit = |octet: u8| octet.is_ascii_digit().then(|| octet - b'0');
    Some(digit(a)? << 4 | digit(b)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(line: &str) -> Option<Command> {
        parse(line.as_bytes())
    }

    /// Lines as manuals print them: Solaris X.25's, Digi's and X.28's own examples.
    #[test]
    fn commands_are_those_of_the_manuals() {
        for (line, command) in [
            ("", Command::Empty),
            (" stat", Command::Status),
            ("CLR", Command::Clear),
            ("clear", Command::Clear),
            ("ICLR", Command::Invite),
            ("RESET", Command::Reset),
            ("int", Command::Interrupt),
            ("PAR?", Command::Read(vec![])),
            ("par? 3", Command::Read(vec![3])),
            ("RPAR? 1, 3, 5", Command::RemoteRead(vec![1, 3, 5])),
            ("set 2:1, 10:7, 13:4", Command::Set(vec![(2, 1), (10, 7), (13, 4)])),
            ("SET?2:0,3:2", Command::SetAndRead(vec![(2, 0), (3, 2)])),
            ("rset? 2:1", Command::RemoteSet(vec![(2, 1)])),
            ("PROF 90", Command::Profile(90)),
            ("prof91", Command::Profile(91)),
        ] {
            assert_eq!(said(line), Some(command), "{line}");
        }
        for line in ["RESETS", "SET", "SET 2", "PAR? x", "PROF", "HALLO", "CLR 1"] {
            assert_eq!(said(line), None, "{line}");
        }
    }

    #[test]
    fn a_selection_has_facilities_an_address_and_user_data() {
        let Some(Command::Select(it)) = said("NUSER,R,G12-26245890040Dab c") else {
            panic!();
        };
        assert_eq!(it.called.to_string(), "26245890040");
        assert_eq!(it.data, b"ab c");
        let charging = Charging { reverse: true, ..Charging::default() };
        assert_eq!(
            it.facilities.0,
            [Facility::User(Nui::new(b"USER")), Facility::Charging(charging), Facility::ClosedGroup(0x12),]
        );
        for (line, called, data) in [
            ("call 73741100", "73741100", ""),
            ("c 737411", "737411", ""),
            ("737 411", "737411", ""),
            ("12345*Dlogin", "12345", "login"),
            ("12345Px-y", "12345", "x-y"),
        ] {
            let Some(Command::Select(it)) = said(line) else {
                panic!("{line}");
            };
            assert_eq!((it.called.to_string().as_str(), it.data.as_slice()), (called, data.as_bytes()));
        }
        for line in ["R-", "X-123", "G1-123", "123x", "1234567890123456", "12D0123456789012"] {
            assert_eq!(said(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_a_command_or_none(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&line);
        }
    }
}
