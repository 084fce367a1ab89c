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

pub mod abr;
mod analyser;
mod checksum_unit;
mod line;
pub mod sar;
mod slots;
mod switch;

pub use abr::AbrConfig;
pub use analyser::{Analyser, Flow};
pub use checksum_unit::ChecksumUnit;
pub use sar::aal34::Aal34;
pub use sar::{Adaptation, Sar, SarConfig};
pub use slots::Slots;
pub use switch::{CellCount, Erica, Feedback, OutputConfig, PortVc, Switch};
