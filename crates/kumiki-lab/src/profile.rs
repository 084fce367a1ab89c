//! Profiles: what the work of a host costs, as data with provenance.
//!
//! A scenario names a profile in `profiles/` of this repository, which are compiled in, or one of the user's by a path.
//! `zero`, which has no CPU cost, is no file. A profile is read and checked as a whole, [`load`]: every value has its
//! unit and says where it comes from, prices are of work that is counted, tasks are on CPUs that there are.
//!
//! Prices may have fractions of a nanosecond (`46.1 ns`), as they are per octet; they are kept in picoseconds.

use std::collections::BTreeMap;

use kumiki_graph::Duration;
use kumiki_settings::Keys;
use serde::Deserialize;

use kumiki_config::quantity::{Invalid, Octets, Share, parse};

mod builtin;
mod load;
mod own;
#[cfg(test)]
mod tests;
mod variation;

pub use load::{ZERO, load, names, parse as parse_text};
pub use variation::Variation;

/// A price list and what it stands on. All prices carry where they come from.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// A profile from which all is taken that is not given here, key by key.
    #[key(is = "a name or a path", default = "none", example = "\"atm-board\"")]
    pub like: Option<String>,
    /// One line: which machine.
    #[key(is = "a text", example = "\"A workstation of 1995\"")]
    pub title: String,
    /// What a reader should know of how the numbers were found.
    #[key(is = "a text", example = "\"From the paper.\"")]
    pub about: String,
    /// The printed values that prices were fitted to, in words.
    #[serde(default)]
    #[key(is = "a list of texts", default = "none", example = "[\"figure 6, 8 KiB: 10.6 Mb/s\"]")]
    pub fit_points: Vec<String>,
    /// The prices that were fitted to them, by name or in words.
    #[serde(default)]
    #[key(is = "a list of texts", default = "none", example = "[\"tcp.push\"]")]
    pub fit_parameters: Vec<String>,
    /// The CPUs, `[cpu.NAME]`, below; in the order of their names they are numbered from 0.
    #[serde(default)]
    #[key(
        is = "a table of CPUs",
        default = "one",
        example = "{ main = { switch = { value = \"46.1 ns\", from = \"assumed: as table 2 has it\" } } }"
    )]
    pub cpu: BTreeMap<String, Cpu>,
    /// The tasks, `[task.NAME]`, below. Nodes that no task names run together in one called `host`, on the first CPU.
    #[serde(default)]
    #[key(
        is = "a table of tasks",
        default = "one task for all",
        example = "{ upper = { nodes = [\"tcp\"], from = \"section 3\" } }"
    )]
    pub task: BTreeMap<String, Task>,
    /// What a kind of work costs in a node, by its name or kind: `push`, `pop`, `expire`, `send`, `deliver`, `copy`,
    /// `sum`, `wake`, `call`, `switch`, `map`, `octet`; of `copy`, `sum` and `octet` for each octet.
    #[serde(default)]
    #[key(
        is = "a table of tables of sourced times",
        default = "nothing",
        example = "{ tcp = { sum = { value = \"46.1 ns\", from = \"assumed: as table 2 has it\" } } }"
    )]
    pub price: BTreeMap<String, BTreeMap<String, Sourced>>,
    /// What all adapters of the host are like, `[adapter]`, below.
    #[serde(default)]
    #[key(is = "a table", default = "free", example = "{ queue = 64 }")]
    pub adapter: Adapter,
    /// The memories of a modelled board, `[memory.send]` and `[memory.receive]`, below.
    #[serde(default)]
    #[key(
        is = "a table of memories",
        default = "without end",
        example = "{ send = { page = { value = \"64 B\", from = \"paper 2\" }, cluster = 64, size = { value = \"1 MiB\", from = \"paper 2\" }, hand_out = \"free\", wake_up = \"one\" } }"
    )]
    pub memory: BTreeMap<String, Memory>,
    /// How programs' data gets into and out of the stack, `[transfer]`, below.
    #[serde(default)]
    #[key(is = "a table", default = "none", example = "{ copies = 1 }")]
    pub transfer: Transfer,
    /// Which prices differ from run to run, `[variation.NAME]`, below.
    #[serde(default)]
    #[key(
        is = "a table of variations",
        default = "none",
        example = "{ caches = { of = [\"price.tcp.push\"], spread = \"10 %\", from = \"assumed\" } }"
    )]
    pub variation: BTreeMap<String, Variation>,
}

/// A value and where it comes from: a source, `fitted: ...`, or `assumed: ...`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Sourced {
    /// The value with its unit.
    #[key(is = "a time or a size", example = "\"46.1 ns\"")]
    pub value: String,
    /// Where it comes from: a source, `fitted: ...`, or `assumed: ...`.
    #[key(is = "a text", example = "\"assumed: as table 2 has it\"")]
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
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// What changing from one task to another takes.
    #[key(is = "a sourced time", example = "{ value = \"46.1 ns\", from = \"assumed: as table 2 has it\" }")]
    pub switch: Sourced,
}

/// A task.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The CPU's name.
    #[key(is = "a name", default = "the first one", example = "\"main\"")]
    pub cpu: Option<String>,
    /// Higher runs first.
    #[serde(default)]
    #[key(is = "a whole number", default = "0", example = "2")]
    pub priority: i32,
    /// Inputs handled before it settles.
    #[serde(default = "one")]
    #[key(is = "a number", default = "1", example = "8")]
    pub batch: usize,
    /// The kinds of nodes that run in it.
    #[key(is = "a list of kinds", example = "[\"tcp\", \"ip\"]")]
    pub nodes: Vec<String>,
    /// Why so.
    #[key(is = "a text", example = "\"section 3\"")]
    pub from: String,
}

/// Adapters.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Keys)]
#[serde(deny_unknown_fields, default)]
pub struct Adapter {
    /// How DMA for a PDU to send begins: `chained`, or `single`.
    #[key(is = "a word", default = "`chained`", example = "\"single\"")]
    pub commands: Option<String>,
    /// With `chained`: from the end of one PDU to the start of the next.
    #[key(
        is = "a sourced time",
        default = "nothing",
        example = "{ value = \"46.1 ns\", from = \"assumed: as table 2 has it\" }"
    )]
    pub fetch: Option<Sourced>,
    /// With `single`: what starting the DMA for each PDU takes of the CPU.
    #[key(
        is = "a sourced time",
        default = "nothing",
        example = "{ value = \"46.1 ns\", from = \"assumed: as table 2 has it\" }"
    )]
    pub start: Option<Sourced>,
    /// How received PDUs are told of: `deferred`, or each by an `interrupt`.
    #[key(is = "a word", default = "`deferred`", example = "\"interrupt\"")]
    pub notice: Option<String>,
    /// What an interrupt takes of the CPU.
    #[key(
        is = "a sourced time",
        default = "nothing",
        example = "{ value = \"46.1 ns\", from = \"assumed: as table 2 has it\" }"
    )]
    pub interrupt: Option<Sourced>,
    /// PDUs that may wait to be sent.
    #[key(is = "a number", default = "without end", example = "64")]
    pub queue: Option<u32>,
    /// Whether it sums each received PDU on the fly, per VC (paper 2).
    #[key(default = "false", example = "true")]
    pub checksum_unit: bool,
}

/// A memory of a modelled board.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// A page.
    #[key(is = "a sourced size", example = "{ value = \"64 B\", from = \"paper 2\" }")]
    pub page: Sourced,
    /// Pages in a cluster.
    #[key(is = "a number", example = "64")]
    pub cluster: u32,
    /// All the memory there is.
    #[key(is = "a sourced size", example = "{ value = \"1 MiB\", from = \"paper 2\" }")]
    pub size: Sourced,
    /// How clusters are handed out: `free` or `cyclic`.
    #[key(is = "a word", example = "\"free\"")]
    pub hand_out: String,
    /// Who is woken when there is room: `one` or `all`.
    #[key(is = "a word", example = "\"one\"")]
    pub wake_up: String,
    /// A session may hold at most this share of what is free (dynamic threshold), in whole per cents.
    #[key(is = "a share", default = "all", example = "\"50 %\"")]
    pub share: Option<Share>,
}

impl Memory {
    /// Its `share` in per cent, where that is a whole number and more than nothing.
    pub(crate) fn percent(&self) -> Option<u32> {
        let parts = self.share?.parts_per_trillion();
        let percent = parts.checked_div(10_000_000_000).filter(|percent| percent * 10_000_000_000 == parts)?;
        u32::try_from(percent).ok().filter(|percent| (1..=100).contains(percent))
    }
}

/// How programs' data gets into and out of the stack.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Keys)]
#[serde(deny_unknown_fields, default)]
pub struct Transfer {
    /// How often the CPU copies each octet, each way.
    #[key(is = "a number", default = "0", example = "1")]
    pub copies: u64,
    /// Whether the sum is taken by hardware while data is moved in.
    #[key(default = "false", example = "true")]
    pub summed: bool,
    /// The largest piece of memory that is kept ready; larger ones are mapped page by page.
    #[key(is = "a number of octets", default = "all are ready", example = "4096")]
    pub ready_page: Option<u32>,
    /// Time off the CPU after each message before the program writes the next.
    #[key(
        is = "a sourced time",
        default = "nothing",
        example = "{ value = \"46.1 ns\", from = \"assumed: as table 2 has it\" }"
    )]
    pub wait: Option<Sourced>,
    /// The same for each octet of the message.
    #[key(
        is = "a sourced time",
        default = "nothing",
        example = "{ value = \"46.1 ns\", from = \"assumed: as table 2 has it\" }"
    )]
    pub wait_octet: Option<Sourced>,
}

const fn one() -> usize {
    1
}
