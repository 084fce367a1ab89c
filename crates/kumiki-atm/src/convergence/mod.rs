//! The common part convergence sublayer of AAL5 and of AAL3/4: an SDU becomes a PDU, and back.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.363.5 and I.363.3 (recalled), message mode |
//! | Above | one user: LLC/SNAP, VC multiplexing |
//! | Below | one device that carries PDUs as cells |
//! | Left out | how a PDU looks, and which errors it shows: a [`CommonPart`], in [`crate::aal5`] and [`crate::aal34`] |
//!
//! SDUs that are empty, too long, or several in one piece are refused.

use core::fmt::Debug;

use kumiki_graph::encapsulation::{Counters, Dropped, Encapsulation, Limits, Parsed, State};
use kumiki_graph::{Above, Address, Context, Key, Manage, Service, Unit, Work};
use kumiki_octets::Message;
use kumiki_settings::Settings;

#[cfg(test)]
pub(crate) mod tests;

const USER: Above = Above(0);

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// The longest SDU that is sent or taken.
    #[setting(1..=65535, octets)]
    pub max_sdu: u16,
}

impl Default for Config {
    /// 9188 octets: an IP datagram of RFC 1626's MTU and its LLC/SNAP header.
    fn default() -> Self {
        Self { max_sdu: 9188 }
    }
}

/// What one adaptation layer puts around an SDU.
pub trait CommonPart: Default + Debug + Send + 'static {
    /// What the layer is called.
    const NAME: &'static str;

    /// Wraps an SDU for the channel `to`; none where it has no room for the SDU.
    fn pdu(&mut self, sdu: Message, to: Address, cx: &mut Context<'_>) -> Option<Message>;

    /// Unwraps an SDU.
    ///
    /// # Errors
    /// Why it is none; it has been counted.
    fn sdu(&mut self, pdu: Message, cx: &mut Context<'_>) -> Result<Message, &'static str>;

    /// The longest SDU whose PDU has at most `pdu` octets.
    fn longest_sdu(pdu: usize) -> usize;
}

/// The layer, with the common part `P`.
#[derive(Debug, Default)]
pub struct Convergence<P> {
    config: Config,
    part: P,
    state: State,
}

impl<P: CommonPart> Convergence<P> {
    /// A layer as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.state.counters
    }

    /// The common part, which counts its faults.
    #[must_use]
    pub const fn part(&self) -> &P {
        &self.part
    }
}

impl<P: CommonPart> Encapsulation for Convergence<P> {
    const NEEDS: &'static [Service] = &[Service::FRAME, Service::UNIT_DATA];
    const PASSES_UP: bool = true;

    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    fn admit(&mut self, user: Above, _: &[Key]) -> Result<(), String> {
        if user == USER {
            Ok(())
        } else {
            Err(format!("{} cannot tell users apart and has one already; LLC/SNAP can", P::NAME))
        }
    }

    fn pass_down(_: &Manage) -> Result<(), &'static str> {
        Ok(())
    }

    fn limits(&self, _: Above, below: Limits) -> Limits {
        let sdu = P::longest_sdu(usize::try_from(below.unit).unwrap_or(usize::MAX));
        // Every SDU needs a trailer of its own.
        Limits { unit: u32::try_from(sdu).unwrap_or(0).min(self.config.max_sdu.into()), burst: 1 }
    }

    #[inline]
    fn emit(&mut self, _: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) -> Result<Box<Unit>, &'static str> {
        let single = unit.data.meta().segment_size == 0;
        if !single || !(1..=usize::from(self.config.max_sdu)).contains(&unit.data.len()) {
            return Err("SDU too long, empty or a super-segment");
        }
        // A checksum that a device was to fill in covers all up to the end, where the trailer comes now; and AAL5's CRC
        // covers it.
        cx.charge(Work::Sum, unit.data.complete_checksum() as u64);
        unit.data = self.part.pdu(unit.data, unit.destination, cx).ok_or("SDU too long or empty")?;
        Ok(unit)
    }

    #[inline]
    fn parse(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) -> Parsed {
        unit.data = self.part.sdu(unit.data, cx).map_err(Dropped::Malformed)?;
        if unit.data.len() > usize::from(self.config.max_sdu) {
            return Err(Dropped::Malformed("SDU longer than allowed"));
        }
        Ok((USER, unit))
    }
}
