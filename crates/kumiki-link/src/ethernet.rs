//! Ethernet: a switch that learns where stations are.
//!
//! The lines between it and its stations are [`crate::Serial`] lines, and what waits for a port waits at that end of
//! the port's line:
//!
//! ```
//! use kumiki_link::ethernet::{Switch, SwitchConfig};
//! use kumiki_link::{Carrier, DropTail, Element, Rate, Serial, SerialConfig};
//!
//! let switch = Switch::new(SwitchConfig::new(3));
//! // Preamble, check sequence and the gap between frames are 24 octets.
//! let carrier = Carrier::Plain { rate: Rate::bits_per_second(1_000_000_000), overhead: 24 };
//! let config = SerialConfig { carrier, propagation: Default::default(), say_sent: true };
//! let lines = [(); 3].map(|()| {
//!     Serial::with_disciplines(config, DropTail::UNLIMITED.queue(), DropTail::frames(64).queue())
//! });
//! // Then plug: station - line 0, line 1 - switch 0; and so on.
//! # let _ = (lines, switch.counters());
//! ```

mod addresses;
mod switch;

pub use switch::{MOST_FRAME, Switch, SwitchConfig};
