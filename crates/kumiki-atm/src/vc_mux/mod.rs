//! VC multiplexing: one protocol per virtual channel, and no octets to say which.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2684 section 6, routed PDUs |
//! | Above | one user |
//! | Below | AAL5, or a device that does AAL5 itself |
//! | Left out | bridged PDUs and their padding; credit |
//!
//! A layer without a header: it only knows its channel.

use kumiki_graph::{Above, Address, Below, Context, Indication, Key, Protocol, Request, Service, Shape};
use kumiki_octets::Vc;
use kumiki_settings::Settings;

#[cfg(test)]
mod tests;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Settings)]
pub struct Config {
    /// The one circuit that all is sent on, where the layer above names none.
    ///
    /// [`Address::NONE`] where the device has only one.
    #[setting(text = Vc::circuit, expected = "a circuit \"vpi/vci\" such as \"0/100\"", unset = "none")]
    pub vc: Address,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Units sent.
    pub sent: u64,
    /// Units handed to the user.
    pub received: u64,
    /// Units dropped: from another channel.
    pub other_vc: u64,
}

/// The layer.
#[derive(Debug, Default)]
pub struct VcMux {
    config: Config,
    counters: Counters,
}

impl VcMux {
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
}

impl Protocol for VcMux {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        if above == Above(0) {
            Ok(())
        } else {
            Err("a VC-multiplexed channel carries one protocol and has it already".to_owned())
        }
    }

    fn push(&mut self, _: Above, mut request: Request, cx: &mut Context<'_>) {
        if let Request::Unit(unit) = &mut request {
            unit.destination = self.config.vc;
            self.counters.sent += 1;
        }
        cx.down(Below(0), request);
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = &indication {
            let other = unit.source != Address::NONE && unit.source != self.config.vc;
            if other && self.config.vc != Address::NONE {
                self.counters.other_vc += 1;
                cx.drop("other VC");
                return;
            }
            self.counters.received += 1;
        }
        cx.up(Above(0), indication);
    }
}
