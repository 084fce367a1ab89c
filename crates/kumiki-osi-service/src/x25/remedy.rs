//! What helps where a call was not to be had, or was lost: for a person who reads an error.

use super::{CauseField, PacketCause, cause, diagnostic};

/// How the users of a program write what a call has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallOptions {
    /// What is called: "number".
    pub called: &'static str,
    /// Where our own address is said.
    pub calling: &'static str,
    /// Where the sizes of packets and windows are said.
    pub sizes: &'static str,
    /// What to look at where the other end takes no calls with this user data, such as "check cud".
    pub user_data: &'static str,
    /// What asks for reverse charging.
    pub reverse: &'static str,
    /// What asks for fast select; nothing where no call of the program has it.
    pub fast_select: Option<&'static str>,
    /// What chooses a transit network; nothing where none can be chosen.
    pub transit: Option<&'static str>,
    /// What to do where somebody finds the protocol broken, such as "take a capture and report it".
    pub capture: &'static str,
}

/// What to do about a call of a program with these options.
#[must_use]
pub fn remedy(told: PacketCause, options: &CallOptions) -> String {
    if told.what != CauseField::Clear {
        return "the circuit or the interface was reset: try again".to_owned();
    }
    if told.is_by_dte() { of_dte(told.diagnostic, options) } else { of_network(told.cause, options) }
}

/// What was called has cleared.
fn of_dte(code: u8, options: &CallOptions) -> String {
    let CallOptions { called, user_data, .. } = options;
    match code {
        diagnostic::RESOURCES => "the host takes no more calls now: try later".to_owned(),
        diagnostic::CALL | diagnostic::INCOMPATIBLE_DATA | diagnostic::UNRECOGNISED_PROTOCOL => {
            format!("who was called takes no calls with this user data: {user_data}")
        }
        diagnostic::TIMER_CALL => "who was called did not answer in time: try again".to_owned(),
        _ => format!("who was called has cleared: check the {called}, and look into its log"),
    }
}

/// A network has cleared.
fn of_network(cause: u8, options: &CallOptions) -> String {
    let CallOptions { called, calling, sizes, reverse, capture, .. } = options;
    match (cause, options.fast_select, options.transit) {
        (cause::BUSY, ..) => "the host has no channel free: try later".to_owned(),
        (cause::FACILITY, ..) => {
            format!("leave facilities out, or ask the network which it has; packet and window size are {sizes}")
        }
        (cause::CLEAR_CONGESTION, ..) => "the network is congested: try later".to_owned(),
        (cause::CLEAR_OUT_OF_ORDER | cause::ABSENT, ..) => {
            "the host or its line is down: try later, or ask whoever runs it".to_owned()
        }
        (cause::BARRED, ..) => {
            format!("the network does not let this address call that one: check {calling} and closed user groups")
        }
        (cause::NOT_OBTAINABLE, ..) => format!("the network does not know the {called}: check it"),
        (cause::CLEAR_REMOTE, ..) => format!("the host broke the protocol of X.25: {capture}"),
        (cause::CLEAR_LOCAL, ..) => format!("the network finds fault with what this end sent: {capture}"),
        (cause::RPOA, _, Some(transit)) => format!("the transit network is down: choose another with {transit}"),
        (cause::RPOA, _, None) => "the transit network is down: try later".to_owned(),
        (cause::REVERSE, ..) => format!("the host does not pay for calls: leave {reverse} out"),
        (cause::CLEAR_INCOMPATIBLE, ..) => format!("the host does not take such calls: check the {called}"),
        (cause::FAST_SELECT, Some(option), _) => format!("the host takes no fast select: leave {option} out"),
        _ => format!("ask the network what the cause means; check the {called} and the facilities"),
    }
}
