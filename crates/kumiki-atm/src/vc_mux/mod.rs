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

use kumiki_graph::encapsulation::{Counters, Dropped, Encapsulation, Limits, Parsed, State};
use kumiki_graph::{Above, Address, Context, Key, Manage, Unit};
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

/// The layer.
#[derive(Debug, Default)]
pub struct VcMux {
    config: Config,
    state: State,
}

const USER: Above = Above(0);

impl VcMux {
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
}

impl Encapsulation for VcMux {
    const PASSES_UP: bool = true;

    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    fn admit(&mut self, user: Above, _: &[Key]) -> Result<(), String> {
        if user == USER {
            Ok(())
        } else {
            Err("a VC-multiplexed channel carries one protocol and has it already".to_owned())
        }
    }

    fn pass_down(_: &Manage) -> Result<(), &'static str> {
        Ok(())
    }

    fn limits(&self, _: Above, below: Limits) -> Limits {
        below
    }

    #[inline]
    fn emit(&mut self, _: Above, mut unit: Box<Unit>, _: &mut Context<'_>) -> Result<Box<Unit>, &'static str> {
        unit.destination = self.config.vc;
        Ok(unit)
    }

    #[inline]
    fn parse(&mut self, unit: Box<Unit>, _: &mut Context<'_>) -> Parsed {
        let other = unit.source != Address::NONE && unit.source != self.config.vc;
        if other && self.config.vc != Address::NONE {
            return Err(Dropped::OtherStation("other VC"));
        }
        Ok((USER, unit))
    }
}
