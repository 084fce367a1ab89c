//! What can be set, and what is counted.

use kumiki_graph::Duration;
use kumiki_settings::{BuildError, Key, Reader, Settings, Word};
use kumiki_wire::x25::lapb::{Modulo, address};

/// Which end of the line this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum Role {
    /// The DTE: address A.
    #[default]
    Dte,
    /// The DCE: address B.
    Dce,
}

impl Role {
    /// The address of our responses and of commands to us.
    #[must_use]
    pub const fn own(self) -> u8 {
        match self {
            Self::Dte => address::A,
            Self::Dce => address::B,
        }
    }

    /// The address of the peer's responses and of commands to it.
    #[must_use]
    pub const fn peer(self) -> u8 {
        match self {
            Self::Dte => address::B,
            Self::Dce => address::A,
        }
    }
}

fn extended(modulo: &mut Modulo, reader: &Reader<'_>) -> Result<(), BuildError> {
    let key = Key::new("extended", "Whether frames are numbered modulo 128 (SABME) and not 8 (SABM).");
    is_extended(&key, modulo, reader)
}

/// The modulus, by whether it is 128.
pub(crate) fn is_extended(key: &Key, modulo: &mut Modulo, reader: &Reader<'_>) -> Result<(), BuildError> {
    let mut extended = *modulo == Modulo::Extended;
    reader.boolean(key, &mut extended)?;
    *modulo = if extended { Modulo::Extended } else { Modulo::Eight };
    Ok(())
}

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Which end of the line this is: dte has address A, dce address B.
    #[setting(word)]
    pub role: Role,
    /// Modulo 8 (SABM) or 128 (SABME); both ends must have the same.
    #[setting(with = extended)]
    pub modulo: Modulo,
    /// I frames that may be sent without acknowledgment; at most 7 without `extended`.
    #[setting(1..=127)]
    pub k: u8,
    /// The most octets of information in a frame: N1 less address, control and check sequence.
    #[setting(1..=65_535, octets)]
    pub information: u32,
    /// T1: after so long without the answer wanted something is done again.
    #[setting(positive)]
    pub t1: Duration,
    /// T2: how long an acknowledgment waits for a frame to travel with; less than T1.
    pub t2: Duration,
    /// T3: after so long without a frame from the peer it is polled; 0: never.
    pub t3: Duration,
    /// N2: how often something is tried before it is given up.
    #[setting(1..=255)]
    pub n2: u8,
    /// I frames that are acknowledged at once when so many have come, without waiting for T2.
    ///
    /// `None`: half the window, rounded up.
    #[setting(1..=127, unset = "half of `k`")]
    pub acknowledge: Option<u8>,
    /// Whether the I frame that fills the window polls, so that a peer with a long T2 answers at once.
    pub poll: bool,
    /// Frames that the user has room for, where it does not say.
    #[setting(1..=u32::MAX.into())]
    pub receive: u32,
}

impl Default for Config {
    /// Modulo 8 with a window of 7, room for 2048 octets of a packet's user data, and Linux's T1, T2 shortened.
    fn default() -> Self {
        Self {
            role: Role::Dte,
            modulo: Modulo::Eight,
            k: 7,
            information: 2052,
            t1: Duration::from_secs(3),
            t2: Duration::from_millis(200),
            t3: Duration::from_secs(60),
            n2: 10,
            acknowledge: None,
            poll: true,
            receive: 16,
        }
    }
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The window is not one of the modulus.
    #[error("a window of {0} frames; expected 1 to {1}")]
    Window(u8, u8),
    /// Something of which there must be some.
    #[error("LAPB has 0 as {0}, expected more")]
    Nothing(&'static str),
    /// The peer would repeat what is only not acknowledged yet.
    #[error("T2 is {0}, expected less than T1, {1}")]
    T2(Duration, Duration),
}

impl Config {
    /// Whether this can be.
    ///
    /// # Errors
    /// [`ConfigError`] says what is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        let most = self.modulo.most();
        if !(1..=most).contains(&self.k) {
            return Err(ConfigError::Window(self.k, most));
        }
        for (what, none) in [
            ("T1", self.t1.is_zero()),
            ("N2", self.n2 == 0),
            ("information", self.information == 0),
            ("receive", self.receive == 0),
            ("acknowledge", self.acknowledge == Some(0)),
        ] {
            if none {
                return Err(ConfigError::Nothing(what));
            }
        }
        if self.t2 >= self.t1 {
            return Err(ConfigError::T2(self.t2, self.t1));
        }
        Ok(())
    }

    /// Frames after which an acknowledgment waits no longer.
    #[must_use]
    pub fn acknowledge_after(&self) -> u8 {
        self.acknowledge.unwrap_or_else(|| self.k.div_ceil(2)).clamp(1, self.k.max(1))
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// I frames sent, each time.
    pub i_sent: u64,
    /// I frames among them that had been sent before.
    pub i_again: u64,
    /// I frames whose information went up.
    pub i_received: u64,
    /// I frames that were out of sequence.
    pub out_of_sequence: u64,
    /// I frames that found our user without room.
    pub busy_discarded: u64,
    /// RR sent.
    pub rr_sent: u64,
    /// RNR sent.
    pub rnr_sent: u64,
    /// REJ sent.
    pub rej_sent: u64,
    /// RR received.
    pub rr_received: u64,
    /// RNR received.
    pub rnr_received: u64,
    /// REJ received.
    pub rej_received: u64,
    /// SABM or SABME sent.
    pub sabm_sent: u64,
    /// FRMR sent.
    pub frmr_sent: u64,
    /// FRMR received.
    pub frmr_received: u64,
    /// Times that T1 expired.
    pub t1_expired: u64,
    /// Links set up.
    pub established: u64,
    /// Resets of a link that was set up, by either end.
    pub resets: u64,
    /// Frames dropped: too short, or of an address that is none of the two.
    pub invalid: u64,
    /// Frames that meant nothing in the phase that the link was in.
    pub ignored: u64,
}
