//! What can be set, and what is counted.

use kumiki_graph::Duration;
use kumiki_osi_service::x25::{Facilities, Flow, Modulo, Nui, Number};

/// Which side of the interface this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// The DTE.
    #[default]
    Dte,
    /// The DCE, or a DTE that plays its part towards another.
    Dce,
}

/// What the packet layer stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Over {
    /// One link, asked for and kept: LAPB.
    #[default]
    Link,
    /// Whole packets as units, on something that loses none and keeps them in order.
    Frames,
    /// A connection for each virtual circuit: XOT.
    Circuits,
}

/// Which logical channels are for what. A range whose first is 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranges {
    /// Permanent virtual circuits: 1 to this; 0: none.
    pub permanent: u16,
    /// One-way incoming, as the DTE sees it: LIC to HIC.
    pub incoming: (u16, u16),
    /// Two-way: LTC to HTC.
    pub two_way: (u16, u16),
    /// One-way outgoing, as the DTE sees it: LOC to HOC.
    pub outgoing: (u16, u16),
}

/// What a channel is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Channel {
    Permanent,
    /// Calls of the DCE.
    Incoming,
    TwoWay,
    /// Calls of the DTE.
    Outgoing,
    Unassigned,
}

impl Ranges {
    pub(super) const fn of(&self, channel: u16) -> Channel {
        const fn within(channel: u16, (first, last): (u16, u16)) -> bool {
            first > 0 && first <= channel && channel <= last
        }
        if within(channel, (1, self.permanent)) {
            Channel::Permanent
        } else if within(channel, self.incoming) {
            Channel::Incoming
        } else if within(channel, self.two_way) {
            Channel::TwoWay
        } else if within(channel, self.outgoing) {
            Channel::Outgoing
        } else {
            Channel::Unassigned
        }
    }
}

/// What can be set. Times and counts are those of ISO 8208; a DCE has T10 to T13 in the place of T20 to T23.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// What is below.
    pub over: Over,
    /// Which side this is; `None`: found out by the restart, as two DTEs do (ISO 8208 clause 4.5).
    pub role: Option<Role>,
    /// Our own address, the calling one of our calls where the user names none.
    pub address: Number,
    /// Calls to addresses that begin with this are taken, and calls that name nobody; others are not for us, whoever listens.
    pub answers: Number,
    /// Modulus of packet numbers.
    pub modulo: Modulo,
    /// The channels.
    pub ranges: Ranges,
    /// What holds where nothing is negotiated.
    pub default: Flow,
    /// The largest packets and windows that we ask for and agree to.
    pub wanted: Flow,
    /// Messages that a user has room for, where it does not say; `None`: the window.
    pub receive: Option<u32>,
    /// Data packets that are acknowledged at once when so many have been taken; `None`: half the window, rounded up.
    pub acknowledge: Option<u8>,
    /// Whether a lost packet is asked for by REJ, instead of resetting the channel. Both ends must have it.
    pub reject: bool,
    /// Whether a DCE tells of packets on channels that nobody has by DIAGNOSTIC.
    pub diagnose: bool,
    /// T20: RESTART is sent again.
    pub t20: Duration,
    /// T21: a call that is not answered is cleared.
    pub t21: Duration,
    /// T22: RESET is sent again.
    pub t22: Duration,
    /// T23: CLEAR is sent again.
    pub t23: Duration,
    /// T24: how long an acknowledgment waits.
    pub t24: Duration,
    /// T25: data that is not acknowledged resets the channel; zero: never.
    pub t25: Duration,
    /// T26: an interrupt that is not confirmed resets the channel.
    pub t26: Duration,
    /// T27: REJ is sent again.
    pub t27: Duration,
    /// R20: how often RESTART is repeated before the link is given up and set up anew.
    pub r20: u8,
    /// R22: how often RESET is repeated before the call is cleared.
    pub r22: u8,
    /// R23: how often CLEAR is repeated before the channel is left alone until the next restart.
    pub r23: u8,
    /// R27: how often REJ is repeated before the channel is reset.
    pub r27: u8,
    /// After so long a link that ended is asked for again.
    pub reopen: Duration,
    /// A link that costs: it is asked for when there is a call to make, and ended after so long without a call. Zero: it is asked
    /// for at once, and kept.
    pub idle: Duration,
    /// What our calls ask for beside packets and windows, where the user's facilities say nothing of it.
    pub facilities: Facilities,
    /// The network user identification of our calls, where the user's facilities have none.
    pub nui: Option<Nui>,
    /// Whose calls are taken: those with one of these network user identifications; all, where there are none.
    pub users: Vec<Nui>,
}

impl Default for Config {
    /// A DTE on a link, with channels 1 to 32 both ways, that asks for packets of 1024 and windows of 7.
    fn default() -> Self {
        Self {
            over: Over::Link,
            role: Some(Role::Dte),
            address: Number::NONE,
            answers: Number::NONE,
            modulo: Modulo::Eight,
            ranges: Ranges { permanent: 0, incoming: (0, 0), two_way: (1, 32), outgoing: (0, 0) },
            default: Flow::DEFAULT,
            wanted: Flow { packet_out: 1024, packet_in: 1024, window_out: 7, window_in: 7, ..Flow::DEFAULT },
            receive: None,
            acknowledge: None,
            reject: false,
            diagnose: true,
            t20: Duration::from_secs(180),
            t21: Duration::from_secs(200),
            t22: Duration::from_secs(180),
            t23: Duration::from_secs(180),
            t24: Duration::from_millis(200),
            t25: Duration::from_secs(200),
            t26: Duration::from_secs(180),
            t27: Duration::from_secs(60),
            r20: 1,
            r22: 1,
            r23: 1,
            r27: 1,
            reopen: Duration::from_secs(5),
            idle: Duration::ZERO,
            facilities: Facilities::default(),
            nui: None,
            users: Vec::new(),
        }
    }
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not a packet size.
    #[error("packets of {0} octets; expected a power of two from 16 to 4096")]
    Packet(u16),
    /// Not a window of the modulus.
    #[error("a window of {0} packets; expected 1 to {1}")]
    Window(u8, u8),
    /// The ranges overlap, are not in order, or go beyond 4095.
    #[error("channels {0} to {1} are out of order: permanent, incoming, two-way, outgoing, up to 4095")]
    Ranges(u16, u16),
    /// Permanent circuits need their link at all times.
    #[error("there are permanent virtual circuits, and the link is to be ended when idle; expected one or the other")]
    PermanentIdle,
    /// A timer that would expire at once.
    #[error("{0} is 0, expected more")]
    Nothing(&'static str),
}

impl Config {
    /// Whether this can be.
    ///
    /// # Errors
    /// [`ConfigError`] says what is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        let most = self.modulo.most();
        for flow in [self.default, self.wanted] {
            for packet in [flow.packet_out, flow.packet_in] {
                if !packet.is_power_of_two() || !(16..=4096).contains(&packet) {
                    return Err(ConfigError::Packet(packet));
                }
            }
            for window in [flow.window_out, flow.window_in] {
                if !(1..=most).contains(&window) {
                    return Err(ConfigError::Window(window, most));
                }
            }
        }
        let ranges = &self.ranges;
        let mut behind = ranges.permanent;
        if behind > 4095 {
            return Err(ConfigError::Ranges(1, behind));
        }
        for (first, last) in [ranges.incoming, ranges.two_way, ranges.outgoing] {
            if first == 0 {
                continue;
            }
            if first <= behind || last < first || last > 4095 {
                return Err(ConfigError::Ranges(first, last));
            }
            behind = last;
        }
        if ranges.permanent > 0 && !self.idle.is_zero() {
            return Err(ConfigError::PermanentIdle);
        }
        for (name, none) in [
            ("T20", self.t20.is_zero()),
            ("T21", self.t21.is_zero()),
            ("T22", self.t22.is_zero()),
            ("T23", self.t23.is_zero()),
            ("T26", self.t26.is_zero()),
            ("T27", self.t27.is_zero()),
            ("reopen", self.reopen.is_zero()),
            ("acknowledge", self.acknowledge == Some(0)),
            ("receive", self.receive == Some(0)),
        ] {
            if none {
                return Err(ConfigError::Nothing(name));
            }
        }
        Ok(())
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets sent, of all kinds.
    pub sent: u64,
    /// Packets received, of all kinds.
    pub received: u64,
    /// DATA packets sent.
    pub data_sent: u64,
    /// DATA packets among them that had been sent before.
    pub data_again: u64,
    /// DATA packets that were in sequence.
    pub data_received: u64,
    /// Calls made.
    pub calls_out: u64,
    /// Calls that came.
    pub calls_in: u64,
    /// Calls cleared, by either side.
    pub clears: u64,
    /// Channels reset, by either side.
    pub resets: u64,
    /// Restarts, by either side.
    pub restarts: u64,
    /// Interrupts sent.
    pub interrupts_sent: u64,
    /// Interrupts received.
    pub interrupts_received: u64,
    /// Packets that were no packets, or were not allowed where they came.
    pub errors: u64,
    /// Packets dropped because what they belonged to is being cleared, reset or restarted.
    pub discarded: u64,
    /// DIAGNOSTIC packets received.
    pub diagnostics: u64,
    /// Timers that expired with something not answered.
    pub timeouts: u64,
    /// Calls cleared because their network user identification was missing or unknown.
    pub unidentified: u64,
    /// Links ended because there was no call for long.
    pub links_ended: u64,
}
