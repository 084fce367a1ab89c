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

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Protocol, Report, Request, Service, Shape, Unit, UnitRequest, Work,
};
use kumiki_octets::Message;
use kumiki_settings::Settings;

#[cfg(test)]
pub(crate) mod tests;

const ABOVE: Above = Above(0);
const BELOW: Below = Below(0);

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

/// What happened to SDUs. Faults of PDUs are counted by their [`CommonPart`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// SDUs sent.
    pub sent: u64,
    /// SDUs handed to the user.
    pub received: u64,
    /// SDUs not sent: longer than allowed, empty, or a super-segment.
    pub refused: u64,
    /// PDUs dropped: their SDU is longer than allowed.
    pub oversize: u64,
}

/// The layer, with the common part `P`.
#[derive(Debug, Default)]
pub struct Convergence<P> {
    config: Config,
    counters: Counters,
    part: P,
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
        &self.counters
    }

    /// The common part, which counts its faults.
    #[must_use]
    pub const fn part(&self) -> &P {
        &self.part
    }

    fn send(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let single = unit.data.meta().segment_size == 0;
        if !single || !(1..=usize::from(self.config.max_sdu)).contains(&unit.data.len()) {
            self.counters.refused += 1;
            return cx.drop("SDU too long, empty or a super-segment");
        }
        // A checksum that a device was to fill in covers all up to the end, where the trailer comes now; and AAL5's CRC covers it.
        cx.charge(Work::Sum, unit.data.complete_checksum() as u64);
        let Some(pdu) = self.part.pdu(unit.data, unit.destination, cx) else {
            self.counters.refused += 1;
            return cx.drop("SDU too long or empty");
        };
        unit.data = pdu;
        self.counters.sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        unit.data = match self.part.sdu(unit.data, cx) {
            Ok(sdu) => sdu,
            Err(why) => return cx.drop(why),
        };
        if unit.data.len() > usize::from(self.config.max_sdu) {
            self.counters.oversize += 1;
            return cx.drop("SDU longer than allowed");
        }
        self.counters.received += 1;
        cx.up(ABOVE, Indication::Unit(unit));
    }
}

impl<P: CommonPart> Protocol for Convergence<P> {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::FRAME, Service::UNIT_DATA],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        if above == ABOVE {
            Ok(())
        } else {
            Err(format!("{} cannot tell users apart and has one already; LLC/SNAP can", P::NAME))
        }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(unit, cx),
            Some(UnitRequest::Manage(manage)) => cx.down(BELOW, Request::Manage(manage)),
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, mut indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            return self.receive(unit, cx);
        }
        if let Indication::Report(report) = &mut indication
            && let Report::Limits { unit, burst } = &mut **report
        {
            let sdu = P::longest_sdu(usize::try_from(*unit).unwrap_or(usize::MAX));
            let sdu = u32::try_from(sdu).unwrap_or(0);
            // Every SDU needs a trailer of its own.
            (*unit, *burst) = (sdu.min(self.config.max_sdu.into()), 1);
        }
        cx.up(ABOVE, indication);
    }
}
