//! From a line that is switched to an exchange in the world.

use kumiki_graph::{Duration, Instant};
use kumiki_link::{DropTail, Exchange, ExchangeConfig, SerialConfig};

use super::fault::{Fault, fault, quantity};
use super::media::{is_synchronous, time};
use crate::scenario::{Link, Switched};

/// The exchange between the ends of a line that is switched.
pub(super) fn exchange(
    link: &Link,
    switched: &Switched,
    (line, queue): (SerialConfig, DropTail),
) -> Result<Exchange, Fault> {
    if !is_synchronous(&link.medium) {
        let problem = format!("a line of medium {} is not switched", link.medium);
        return Err(fault(&[], problem).expected("sync-64k, sync-2m or synchronous"));
    }
    let usual = ExchangeConfig::new(line);
    let or = |key, text: &Option<String>, usual| match text {
        Some(_) => time(key, text.as_ref()),
        None => Ok(usual),
    };
    let clears = switched.clears.iter().map(|text| {
        let after: Duration = quantity(&["clears"], text)?;
        Ok(Instant::ZERO + after)
    });
    let config = ExchangeConfig {
        queue,
        setup: or("setup", &switched.setup, usual.setup)?,
        ring: or("ring", &switched.ring, usual.ring)?,
        release: or("release", &switched.release, usual.release)?,
        tells_caller: switched.tells_caller.unwrap_or(usual.tells_caller),
        clears: clears.collect::<Result<_, Fault>>()?,
        ..usual
    };
    let numbers = switched.numbers.iter().map(|text| {
        let problem = |error: &dyn core::fmt::Display| fault(&["numbers"], error.to_string());
        text.parse().map_err(|error| problem(&error))
    });
    let numbers = numbers.collect::<Result<_, Fault>>()?;
    Exchange::new(config, numbers).map_err(|error| fault(&["numbers"], error.to_string()))
}
