//! What differs from run to run of a host: prices that are drawn again for each.
//!
//! Machines do the same work in other times on another day: where pages and cache lines come to lie, what else wakes
//! up. A profile may say by how much, so that the least and the greatest of several runs mean something. All that one
//! entry names is longer or shorter by the same factor, whose logarithm has a normal distribution around 0, as where
//! many small causes multiply: half as long is as likely as twice as long.

use core::hash::Hasher as _;
use std::collections::BTreeMap;

use kumiki_graph::Rng;
use kumiki_settings::Keys;
use serde::Deserialize;
use siphasher::sip::SipHasher13;

use super::load::Picoseconds;
use super::{Profile, Sourced};
use crate::scenario::ConfigError;
use kumiki_config::quantity::{Share, parse};

/// Prices that differ from run to run, together.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Variation {
    /// Which: `price.NODE.WORK`, `transfer.wait`, `transfer.wait_octet`, `cpu.NAME.switch`.
    #[key(is = "a list of prices", example = "[\"price.tcp.push\"]")]
    pub of: Vec<String>,
    /// By how much: the standard deviation of the logarithm of the factor, and so about that of the price as a share of
    /// it.
    #[key(is = "a share, at most 100 %", example = "\"10 %\"")]
    pub spread: Share,
    /// Why so.
    #[key(is = "a text", example = "\"assumed\"")]
    pub from: String,
}

impl Profile {
    /// As the host called `host` is in the run with `seed`.
    #[must_use]
    pub fn drawn(&self, seed: u64, host: &str) -> Self {
        let mut drawn = self.clone();
        for (name, variation) in &self.variation {
            let factor = libm::exp(variation.spread.as_f64() * normal(seed, host, name));
            for path in &variation.of {
                // Prices and what waits for each octet are read in picoseconds, other times in nanoseconds.
                let is_fine = path.starts_with("price.") || path.ends_with("wait_octet");
                if let Some(price) = drawn.sourced(path) {
                    scale(price, factor, is_fine);
                }
            }
        }
        drawn.variation = BTreeMap::new();
        drawn
    }

    /// What `path` means, where there is such a price.
    fn sourced(&mut self, path: &str) -> Option<&mut Sourced> {
        match *path.split('.').collect::<Vec<_>>() {
            ["price", node, work] => self.price.get_mut(node)?.get_mut(work),
            ["transfer", "wait"] => self.transfer.wait.as_mut(),
            ["transfer", "wait_octet"] => self.transfer.wait_octet.as_mut(),
            ["cpu", cpu, "switch"] => self.cpu.get_mut(cpu).map(|cpu| &mut cpu.switch),
            _ => None,
        }
    }
}

/// Every entry is of prices that there are, of each at most one.
pub(super) fn check(profile: &Profile) -> Result<(), ConfigError> {
    let mut known = profile.clone();
    let mut seen: Vec<&String> = Vec::new();
    for (name, variation) in &profile.variation {
        let at = |key| ["variation", name.as_str(), key];
        if variation.spread > Share::ONE {
            let fault = ConfigError::at(at("spread"), "a spread this wide leaves no price at all");
            return Err(fault.found(variation.spread.to_string()).expected("at most 100 %"));
        }
        if variation.from.trim().is_empty() {
            let fault = ConfigError::at(at("from"), "a variation must say where it comes from");
            return Err(fault.expected("a source, \"fitted: ...\" or \"assumed: ...\""));
        }
        for (number, path) in variation.of.iter().enumerate() {
            let number = number.to_string();
            let place = ["variation", name, "of", &number];
            if known.sourced(path).is_none() {
                let fault = ConfigError::at(place, format!("there is no price {path:?} in this profile"));
                return Err(fault.expected("price.NODE.WORK, transfer.wait, transfer.wait_octet or cpu.NAME.switch"));
            }
            if seen.contains(&path) {
                return Err(ConfigError::at(place, format!("{path:?} varies already")));
            }
            seen.push(path);
        }
    }
    Ok(())
}

/// A number that `seed` and both names decide, from the normal distribution of mean 0 and deviation 1 (Box and Muller,
/// 1958).
fn normal(seed: u64, host: &str, name: &str) -> f64 {
    const DOMAIN: u64 = u64::from_be_bytes(*b"a host's");
    let mut hasher = SipHasher13::new_with_keys(seed, DOMAIN);
    hasher.write(host.as_bytes());
    hasher.write(&[0]);
    hasher.write(name.as_bytes());
    let mut rng = Rng::new(hasher.finish(), 0);
    // Above 0, so that there is a logarithm. libm gives the same on every machine.
    let (distance, angle) = (1.0 - rng.unit(), rng.unit());
    libm::sqrt(-2.0 * libm::log(distance)) * libm::cos(core::f64::consts::TAU * angle)
}

/// Makes a price `factor` times as long, to the picosecond where it is `fine`, else to the nanosecond.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no price is near 2^53 ps, nor below zero"
)]
fn scale(price: &mut Sourced, factor: f64, fine: bool) {
    let Ok(picoseconds) = parse::<Picoseconds>(&price.value) else {
        return;
    };
    let scaled = picoseconds.count() as f64 * factor;
    price.value = if fine {
        format!("{} ps", libm::round(scaled) as u64)
    } else {
        format!("{} ns", libm::round(scaled / 1e3) as u64)
    };
}
