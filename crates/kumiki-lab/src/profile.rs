//! Profiles: what the work of a host costs, as data with provenance.
//!
//! A scenario names a profile in `profiles/` of this repository, which are compiled in, or one of the user's by a path. `zero`,
//! which has no CPU cost, is no file. A profile is read and checked as a whole, [`load`]: every value has its unit and
//! says where it comes from, prices are of work that is counted, tasks are on CPUs that there are.
//!
//! Prices may have fractions of a nanosecond (`46.1 ns`), as they are per octet; they are kept in picoseconds.

use std::collections::BTreeMap;

use kumiki_graph::Duration;
use serde::Deserialize;

use crate::quantity::{Invalid, Octets, parse};

mod builtin;
mod load;
mod own;
#[cfg(test)]
mod tests;
mod variation;

pub use load::{ZERO, load, names, parse as parse_text};
pub use variation::Variation;

/// A price list and what it stands on. All prices carry where they come from.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Takes everything not given here from this other profile, key by key.
    pub like: Option<String>,
    /// One line: which machine.
    pub title: String,
    /// What a reader should know of how the numbers were found.
    pub about: String,
    /// The printed values that parameters were fitted to, in words.
    #[serde(default)]
    pub fit_points: Vec<String>,
    /// The parameters fitted to them, in words.
    #[serde(default)]
    pub fit_parameters: Vec<String>,
    /// The CPUs by name; in the order of their names they are numbered from 0.
    #[serde(default)]
    pub cpu: BTreeMap<String, Cpu>,
    /// The tasks by name. Nodes that no task names run together in one called `host`, on the first CPU.
    #[serde(default)]
    pub task: BTreeMap<String, Task>,
    /// Prices by node, then by kind of work ([`kumiki_graph::Work::name`]).
    #[serde(default)]
    pub price: BTreeMap<String, BTreeMap<String, Sourced>>,
    /// What all adapters of the host are like.
    #[serde(default)]
    pub adapter: Adapter,
    /// The memories of a modelled board: `send`, `receive`.
    #[serde(default)]
    pub memory: BTreeMap<String, Memory>,
    /// How programs' data gets into and out of the stack.
    #[serde(default)]
    pub transfer: Transfer,
    /// Which prices differ from run to run, by a name for those that differ together.
    #[serde(default)]
    pub variation: BTreeMap<String, Variation>,
}

/// A value and where it comes from: a source, `fitted: ...`, or `assumed: ...`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced {
    /// The value with its unit.
    pub value: String,
    /// Where it comes from.
    pub from: String,
}

impl Sourced {
    /// The value as a time in whole nanoseconds.
    ///
    /// # Errors
    ///
    /// [`Invalid`] where it is none; [`load`] has refused that where a time is meant.
    pub fn duration(&self) -> Result<Duration, Invalid> {
        parse(&self.value)
    }

    /// The value as a time in picoseconds, as [`kumiki_graph::Prices`] has it.
    ///
    /// # Errors
    ///
    /// [`Invalid`] where it is none; [`load`] has refused that for prices.
    pub fn picoseconds(&self) -> Result<u64, Invalid> {
        parse::<load::Picoseconds>(&self.value).map(load::Picoseconds::count)
    }

    /// The value as a size.
    ///
    /// # Errors
    ///
    /// [`Invalid`] where it is none; [`load`] has refused that where a size is meant.
    pub fn octets(&self) -> Result<Octets, Invalid> {
        parse(&self.value)
    }
}

/// A CPU.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// What changing from one task to another takes.
    pub switch: Sourced,
}

/// A task.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The CPU's name; the first one unless given.
    pub cpu: Option<String>,
    /// Higher runs first.
    #[serde(default)]
    pub priority: i32,
    /// Inputs handled before it settles.
    #[serde(default = "one")]
    pub batch: usize,
    /// The kinds of nodes that run in it.
    pub nodes: Vec<String>,
    /// Why so.
    pub from: String,
}

/// Adapters.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Adapter {
    /// How DMA for a PDU to send begins: `chained` (the default) or `single`.
    pub commands: Option<String>,
    /// Chained: time from the end of one PDU to the start of the next.
    pub fetch: Option<Sourced>,
    /// Single: the CPU time that starting the DMA for each PDU takes.
    pub start: Option<Sourced>,
    /// How received PDUs are told of: `deferred` (the default), or each by an `interrupt`.
    pub notice: Option<String>,
    /// CPU time of an interrupt.
    pub interrupt: Option<Sourced>,
    /// PDUs that may wait to be sent.
    pub queue: Option<u32>,
    /// Sums each received PDU on the fly, per VC (paper 2).
    pub checksum_unit: bool,
}

/// A memory of a modelled board.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Octets in a page.
    pub page: Sourced,
    /// Pages in a cluster.
    pub cluster: u32,
    /// All the memory there is.
    pub size: Sourced,
    /// `free` or `cyclic`.
    pub hand_out: String,
    /// `one` or `all`.
    pub wake_up: String,
    /// A session may hold at most this many per cent of what is free (dynamic threshold); without it, all.
    pub share_percent: Option<u32>,
}

/// How programs' data gets into and out of the stack.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Transfer {
    /// How often the CPU copies each octet, each way.
    pub copies: u64,
    /// The sum is taken by hardware while data is moved in.
    pub summed: bool,
    /// The largest piece of memory that is kept ready, in octets; larger ones are mapped page by page.
    pub ready_page: Option<u32>,
    /// Time off the CPU after each message before the program writes the next.
    pub wait: Option<Sourced>,
    /// The same for each octet of the message.
    pub wait_octet: Option<Sourced>,
}

const fn one() -> usize {
    1
}
