//! What can be set, and what is counted.

use kumiki_graph::Duration;
use kumiki_osi_service::x25::{Facilities, Flow, Modulo, Nui, Number};
use kumiki_settings::{BuildError, Key, Reader, Settings, Word};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum PacketCarrier {
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
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// What is below: one link (LAPB), whole packets as frames, or a connection for each circuit (XOT).
    #[setting(word)]
    pub over: PacketCarrier,
    /// Which side of the interface this is; either: found out by the restart, as two DTEs do (ISO 8208 clause 4.5).
    #[setting(words = SIDES)]
    pub role: Option<Role>,
    /// Our own address, the calling one of our calls where the user names none.
    #[setting(text = own_address, expected = "1 to 15 digits, such as \"12345\"", unset = "none")]
    pub address: Number,
    /// Calls to addresses that begin with this are taken, and calls that name nobody; others are not for us, whoever
    /// listens.
    #[setting(skip)]
    pub answers: Number,
    /// Modulus of packet numbers.
    #[setting(with = extended)]
    pub modulo: Modulo,
    /// The channels.
    #[setting(with = channels)]
    pub ranges: Ranges,
    /// What holds where nothing is negotiated.
    #[setting(with = default_flow)]
    pub default: Flow,
    /// The largest packets and windows that we ask for and agree to.
    #[setting(with = wanted_flow)]
    pub wanted: Flow,
    /// Messages that a user has room for, where it does not say.
    #[setting(1..=u32::MAX.into(), unset = "the window")]
    pub receive: Option<u32>,
    /// Data packets that are acknowledged at once when so many have been taken.
    ///
    /// `None`: half the window, rounded up.
    #[setting(1..=127, unset = "half of the window")]
    pub acknowledge: Option<u8>,
    /// Whether a lost packet is asked for by REJ instead of resetting the channel; both ends must have it.
    pub reject: bool,
    /// Whether a DCE tells by DIAGNOSTIC of packets on channels that nobody has.
    pub diagnose: bool,
    /// T20, of a DCE T10: RESTART is retransmitted.
    #[setting(positive)]
    pub t20: Duration,
    /// T21, of a DCE T11: a call that is not answered is cleared.
    #[setting(positive)]
    pub t21: Duration,
    /// T22, of a DCE T12: RESET is retransmitted.
    #[setting(positive)]
    pub t22: Duration,
    /// T23, of a DCE T13: CLEAR is retransmitted.
    #[setting(positive)]
    pub t23: Duration,
    /// T24: how long an acknowledgment waits.
    pub t24: Duration,
    /// T25: data that is not acknowledged resets the channel; 0: never.
    pub t25: Duration,
    /// T26: an interrupt that is not confirmed resets the channel.
    #[setting(positive)]
    pub t26: Duration,
    /// T27: REJ is retransmitted.
    #[setting(positive)]
    pub t27: Duration,
    /// How often RESTART is repeated before the link is set up again (R20).
    #[setting(0..=255)]
    pub r20: u8,
    /// How often RESET is repeated before the call is cleared (R22).
    #[setting(0..=255)]
    pub r22: u8,
    /// How often CLEAR is repeated before the channel is left alone until the next restart (R23).
    #[setting(0..=255)]
    pub r23: u8,
    /// How often REJ is repeated before the channel is reset (R27).
    #[setting(0..=255)]
    pub r27: u8,
    /// After so long a link that ended is asked for again.
    #[setting(positive)]
    pub reopen: Duration,
    /// The link is asked for when there is a call to make, and ended after so long without one; 0: it is kept.
    ///
    /// For links that cost.
    pub idle: Duration,
    /// What our calls ask for beside packets and windows, where the user's facilities say nothing of it.
    #[setting(skip)]
    pub facilities: Facilities,
    /// The network user identification of our calls (facility C6), where the user gives none.
    #[setting(with = nui)]
    pub nui: Option<Nui>,
    /// Whose calls are taken: those with one of these network user identifications; all, where there are none.
    #[setting(with = users)]
    pub users: Vec<Nui>,
}

impl Default for Config {
    /// A DTE on a link, with channels 1 to 32 both ways, that asks for packets of 1024 and windows of 7.
    fn default() -> Self {
        Self {
            over: PacketCarrier::Link,
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

/// The words for the side of the interface.
const SIDES: [(&str, Option<Role>); 3] = [("dte", Some(Role::Dte)), ("dce", Some(Role::Dce)), ("either", None)];

fn own_address(text: &str) -> Option<Number> {
    Number::or_none(text).ok()
}

fn extended(modulo: &mut Modulo, reader: &Reader<'_>) -> Result<(), BuildError> {
    let key = Key::new("extended", "Whether packets are numbered modulo 128 and not 8.");
    crate::lapb::config::is_extended(&key, modulo, reader)
}

fn channels(ranges: &mut Ranges, reader: &Reader<'_>) -> Result<(), BuildError> {
    for (key, meaning, place) in [
        ("permanent", "Channels 1 to this are permanent virtual circuits.", &mut ranges.permanent),
        (
            "first_incoming",
            "LIC, the first channel for calls of the DCE alone; 0: there are none.",
            &mut ranges.incoming.0,
        ),
        ("last_incoming", "HIC, the last one.", &mut ranges.incoming.1),
        ("first_two_way", "LTC, the first channel for calls of both; 0: there are none.", &mut ranges.two_way.0),
        ("last_two_way", "HTC, the last one.", &mut ranges.two_way.1),
        (
            "first_outgoing",
            "LOC, the first channel for calls of the DTE alone; 0: there are none.",
            &mut ranges.outgoing.0,
        ),
        ("last_outgoing", "HOC, the last one.", &mut ranges.outgoing.1),
    ] {
        reader.number(&Key::new(key, meaning), 0..=4095, place)?;
    }
    Ok(())
}

fn wanted_flow(wanted: &mut Flow, reader: &Reader<'_>) -> Result<(), BuildError> {
    const PACKET: &str = "The largest packets that are asked for and agreed to, a power of two.";
    const WINDOW: &str = "The largest windows that are asked for and agreed to; at most 7 without `extended`.";
    both_ways(wanted, reader, Key::new("packet", PACKET), Key::new("window", WINDOW))
}

fn default_flow(default: &mut Flow, reader: &Reader<'_>) -> Result<(), BuildError> {
    const PACKET: &str = "The packets of permanent circuits and of calls in which nothing is said of them.";
    const WINDOW: &str = "The windows of permanent circuits and of calls in which nothing is said of them.";
    both_ways(default, reader, Key::new("default_packet", PACKET), Key::new("default_window", WINDOW))
}

fn both_ways(flow: &mut Flow, reader: &Reader<'_>, packet: Key, window: Key) -> Result<(), BuildError> {
    reader.octets(&packet, 16..=4096, &mut flow.packet_out)?;
    reader.number(&window, 1..=127, &mut flow.window_out)?;
    (flow.packet_in, flow.window_in) = (flow.packet_out, flow.window_out);
    Ok(())
}

const NUI: &str = "1 to 255 octets of text";

fn nui(place: &mut Option<Nui>, reader: &Reader<'_>) -> Result<(), BuildError> {
    let key = Key::new("nui", "The network user identification of our calls (facility C6), where the user gives none.");
    let mut text = None;
    reader.maybe_text(&key, NUI, |text| Some(text.to_owned()), &mut text)?;
    *place = text.map(|text| nui_of(reader, "nui", &text)).transpose()?;
    Ok(())
}

fn users(place: &mut Vec<Nui>, reader: &Reader<'_>) -> Result<(), BuildError> {
    const MEANING: &str =
        "Whose calls are taken: those with one of these network user identifications; all, where there are none.";
    let mut texts: Vec<String> = Vec::new();
    reader.list(&Key::new("users", MEANING), NUI, |text| Some(text.to_owned()), &mut texts)?;
    *place = texts.iter().map(|text| nui_of(reader, "users", text)).collect::<Result<_, _>>()?;
    Ok(())
}

/// An error tells how long it is and not what it is.
fn nui_of(reader: &Reader<'_>, key: &str, text: &str) -> Result<Nui, BuildError> {
    if (1..=255).contains(&text.len()) {
        Ok(Nui::new(text.as_bytes()))
    } else {
        Err(reader.wrong(key, &format!("{} octets", text.len()), NUI))
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
