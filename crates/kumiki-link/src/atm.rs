//! ATM: cells, their slots, adapters, switches and an analyser.
//!
//! A line is a row of [`Slots`]; cells cross it in [`crate::CellRun`]s. Two adapters through a switch:
//!
//! ```
//! use kumiki_graph::Duration;
//! use kumiki_link::atm::{OutputConfig, PortVc, Sar, SarConfig, Slots, Switch, sar};
//! use kumiki_link::{Element, Rate, Wire};
//!
//! let slots = Slots::new(Rate::OC3C);
//! let adapters = [(); 2].map(|()| Sar::new(SarConfig::new(slots)));
//! let wires = [(); 2].map(|()| Wire::new(Duration::from_micros(5)));
//! let mut switch = Switch::new(Duration::from_micros(10), &[OutputConfig::new(slots, 256); 2]);
//! let vc = |port, vci| PortVc { port, vpi: 0, vci };
//! assert!(switch.connect_both(vc(0, 100), vc(1, 100)));
//! // Then plug: host - sar::HOST, sar::LINE - wire 0, wire 1 - switch 0; the same again to switch 1.
//! # let _ = (adapters, wires, sar::HOST, sar::LINE, switch.counters());
//! ```

#[cfg(feature = "atm")]
pub mod abr;
#[cfg(feature = "atm")]
mod analyser;
#[cfg(feature = "atm")]
mod checksum_unit;
#[cfg(feature = "atm")]
mod line;
#[cfg(feature = "atm")]
pub mod sar;
mod slots;
#[cfg(feature = "atm")]
mod switch;

#[cfg(feature = "atm")]
pub use abr::AbrConfig;
#[cfg(feature = "atm")]
pub use analyser::{Analyser, Flow};
#[cfg(feature = "atm")]
pub use checksum_unit::ChecksumUnit;
#[cfg(feature = "atm")]
pub use sar::aal34::Aal34;
#[cfg(feature = "atm")]
pub use sar::{Adaptation, Sar, SarConfig};
pub use slots::Slots;
#[cfg(feature = "atm")]
pub use switch::{CellCount, Erica, Feedback, OutputConfig, PortVc, Switch};
