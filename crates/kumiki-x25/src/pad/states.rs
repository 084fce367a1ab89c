//! The states of the interface between a terminal and a PAD (X.28 figures 1 and 2), and what leads from one to the
//! next.
//!
//! | state of X.28 | here |
//! |---|---|
//! | 1 to 4, active link to service ready | left out: the line's speed is nobody's concern; a terminal that is there is at 5 |
//! | 5 PAD waiting | [`State::Waiting`] |
//! | 6 PAD command | [`State::Command`], and [`State::InCall`] while there is a call |
//! | 7 connection in progress | [`State::Connecting`] |
//! | 8 service signals | passed through at once |
//! | 9 data transfer | [`State::Transfer`] |
//! | 10 waiting for command | [`State::Escaped`] |

/// Where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No call, and no command begun.
    Waiting,
    /// A command is being typed; there is no call.
    Command,
    /// A call was asked for.
    Connecting,
    /// A call stands, and characters are data.
    Transfer,
    /// A call stands, and the next character begins a command.
    Escaped,
    /// A call stands, and a command is being typed.
    InCall,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// The first character of a command.
    Character,
    /// A command has been dealt with, or there was none.
    Answered,
    /// A command asks for a call.
    Selected,
    /// The call stands, or one that came was taken.
    Connected,
    /// The call is over, whoever ended it.
    Cleared,
    /// The recall character, or a break that escapes.
    Recalled,
}

/// The state after `event`; `None` where it cannot happen or changes nothing.
pub(super) const fn next(state: State, event: Event) -> Option<State> {
    use State as S;
    const NO: Option<State> = None;
    //                      Waiting                Command                Connecting           Transfer             Escaped              InCall
    let row = match event {
        Event::Character => [Some(S::Command), NO, NO, NO, Some(S::InCall), NO],
        Event::Answered => [NO, Some(S::Waiting), NO, NO, Some(S::Transfer), Some(S::Transfer)],
        Event::Selected => [Some(S::Connecting), Some(S::Connecting), NO, NO, NO, NO],
        Event::Connected => [Some(S::Transfer), Some(S::Transfer), Some(S::Transfer), NO, NO, NO],
        Event::Cleared => [NO, NO, Some(S::Waiting), Some(S::Waiting), Some(S::Waiting), Some(S::Waiting)],
        Event::Recalled => [NO, NO, NO, Some(S::Escaped), NO, NO],
    };
    let [waiting, command, connecting, transfer, escaped, in_call] = row;
    match state {
        S::Waiting => waiting,
        S::Command => command,
        S::Connecting => connecting,
        S::Transfer => transfer,
        S::Escaped => escaped,
        S::InCall => in_call,
    }
}
