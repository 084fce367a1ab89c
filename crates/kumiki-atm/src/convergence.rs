//! The common part convergence sublayers of AAL5 and AAL3/4, as far as they are alike: an SDU becomes a PDU, and back.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.363.5 and I.363.3 (recalled), message mode |
//! | Above | [`crate::aal5`], [`crate::aal34`] |
//! | Below | nothing: there is no node here |
//! | Left out | all that hangs on how headers and trailers look, and on which errors they show |
//!
//! Both have one user, stand on one device that carries their PDUs as cells, and refuse SDUs that are empty, too long, or
//! several in one piece.

use kumiki_graph::{Above, Context, Indication, Key, Report, Service, Shape, Work};
use kumiki_octets::Message;
use kumiki_settings::Settings;

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

impl Config {
    /// Whether an SDU can be sent; else its drop is counted. A checksum that a device was to fill in is completed: it covers all up to the end, where
    /// the trailer comes now, and AAL5's CRC covers it.
    pub(crate) fn admit(&self, sdu: &mut Message, cx: &mut Context<'_>) -> bool {
        let single = sdu.meta().segment_size == 0;
        let fits = single && (1..=usize::from(self.max_sdu)).contains(&sdu.len());
        if fits {
            cx.charge(Work::Sum, sdu.complete_checksum() as u64);
        } else {
            cx.drop("SDU too long, empty or a super-segment");
        }
        fits
    }

    /// Turns limits that a device tells into those of our user: `sdu` gives the longest SDU for a longest PDU.
    pub(crate) fn limit(&self, told: &mut Indication, sdu: impl FnOnce(usize) -> usize) {
        if let Indication::Report(report) = told
            && let Report::Limits { unit, burst } = &mut **report
        {
            let pdu = usize::try_from(*unit).unwrap_or(usize::MAX);
            let sdu = u32::try_from(sdu(pdu)).unwrap_or(0);
            // Every SDU needs a trailer of its own.
            (*unit, *burst) = (sdu.min(self.max_sdu.into()), 1);
        }
    }
}

/// What such a layer offers and needs.
pub(crate) fn shape() -> Shape {
    Shape {
        offers: Some(Service::UNIT_DATA),
        needs: &[Service::FRAME, Service::UNIT_DATA],
        below: (1, 1),
        keys: vec![Key::Only],
    }
}

/// Takes the one user of `layer`.
pub(crate) fn bind(layer: &str, above: Above) -> Result<(), String> {
    if above == Above(0) {
        Ok(())
    } else {
        Err(format!("{layer} cannot tell users apart and has one already; LLC/SNAP can"))
    }
}
