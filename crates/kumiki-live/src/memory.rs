//! How much memory callers may take of this process, and what the machine lets it have.
//!
//! Whoever serves strangers makes one [`Budget`] ([`Memory::budget`]). It is what was asked for, or less where the
//! process itself is bounded: by its address space (`ulimit -v`) or by the cgroup that it is in. So callers are refused
//! before an allocation fails, which would end the program and all that it serves.
//!
//! **What a caller costs.** A thread and a graph by themselves ([`COMES`]), and what buffers both ways can hold once it
//! is let in ([`STANDS`]). What a peer has layers put together is claimed beside that. Address space is counted in
//! stacks ([`STACK`]) as well, so these have a size of their own.
//!
//! **Left out**: memory of the kernel, such as buffers of sockets, which a cgroup counts too: `RESERVE` is for that,
//! for the program itself and for what the allocator keeps.

use core::fmt;
use std::path::{Path, PathBuf};

pub use kumiki_octets::Budget;
use rustix::process::{Resource, getrlimit};

/// What callers may have together where nobody says otherwise, in octets.
pub const USUAL: u64 = 128 << 20;
/// What a caller costs that has no association yet.
pub const COMES: u64 = 256 << 10;
/// What one costs beside that when it has one. Callers that ask without end for the shortest answers, and read none,
/// were measured: an answer of 40 octets takes a KiB as long as the layers have it, and as many are handled together as
/// [`kumiki_io::stream::HELD`] has room for.
pub const STANDS: u64 = 1280 << 10;
const _: () = assert!(kumiki_io::stream::HELD as u64 / 40 * 1024 <= STANDS);
/// The stack of a thread that serves one.
pub const STACK: usize = 512 << 10;
/// How many free pages of each size such a thread keeps.
pub const FREE_PAGES: usize = 2;
/// Of what the process may have, so much is not for callers.
const RESERVE: u64 = 12 << 20;
/// With less than this nobody can be served.
pub const LEAST: u64 = 4 * (COMES + STANDS);

/// A limit of the process, and where it is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Limit {
    /// What may be added to what there is now, in octets.
    left: u64,
    /// What it counts of a caller is more than what the caller touches: address space, in which all of a stack counts.
    is_space: bool,
    name: &'static str,
}

/// There is too little memory for anybody to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLittle {
    has: u64,
    name: &'static str,
}

impl fmt::Display for TooLittle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { has, name } = self;
        write!(f, "{name} leaves callers {} KiB of memory, and the least is {} KiB: allow more", has >> 10, LEAST >> 10)
    }
}

impl core::error::Error for TooLittle {}

/// A budget, and what is to be said of it.
#[derive(Debug)]
pub struct Memory {
    /// The budget.
    pub budget: Budget,
    /// That it is less than was asked for, and why.
    pub remark: Option<String>,
}

impl Memory {
    /// A budget of `wanted` octets, or of what the process may have.
    ///
    /// # Errors
    /// [`TooLittle`].
    pub fn budget(wanted: u64) -> Result<Self, TooLittle> {
        one_arena();
        let limits = [address_space(), cgroup()];
        Self::within(wanted, limits.into_iter().flatten())
    }

    fn within(wanted: u64, limits: impl Iterator<Item = Limit>) -> Result<Self, TooLittle> {
        let (mut most, mut by) = (wanted, "--memory");
        for limit in limits {
            let room = room(limit);
            if room < most {
                (most, by) = (room, limit.name);
            }
        }
        if most < LEAST {
            return Err(TooLittle { has: most, name: by });
        }
        let remark = (most < wanted).then(|| {
            let (has, wanted) = (most >> 20, wanted >> 20);
            format!("callers may have {has} MiB of memory and not {wanted}, for {by} leaves no more")
        });
        Ok(Self { budget: Budget::new(most), remark })
    }
}

/// What the connections of a stack of our own may hold, where this process is bounded: half of what is left, for octets
/// lie in pages that are larger.
pub fn of_connections() -> Option<u64> {
    held_within([address_space(), cgroup()].into_iter().flatten())
}

fn held_within(limits: impl Iterator<Item = Limit>) -> Option<u64> {
    limits.map(|limit| limit.left.saturating_sub(RESERVE) / 2).min()
}

/// What of a limit is for callers. The allocator needs a quarter to put things in; and where address space is counted,
/// a caller that costs the budget [`COMES`] takes its whole stack beside that.
const fn room(limit: Limit) -> u64 {
    let left = limit.left.saturating_sub(RESERVE);
    let left = left / 4 * 3;
    if limit.is_space {
        let stack = STACK as u64;
        left / (COMES + stack) * COMES
    } else {
        left
    }
}

/// What is left of the address space of this process.
fn address_space() -> Option<Limit> {
    let most = getrlimit(Resource::As).current?;
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Limit {
        left: most.saturating_sub(kib.saturating_mul(1024)),
        is_space: true,
        name: "the limit of address space (ulimit -v)",
    })
}

/// What is left to the cgroup of this process, or to the one above it that has the least left.
fn cgroup() -> Option<Limit> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let left = left_in(&own, Path::new("/sys/fs/cgroup"))?;
    Some(Limit { left, is_space: false, name: "the cgroup's limit of memory" })
}

/// The same of what /proc/self/cgroup says, in the hierarchies that are mounted below `mounts`: version 2, which may
/// have a place beside those of version 1, and the controller `memory` of version 1 (cgroups(7)).
fn left_in(own: &str, mounts: &Path) -> Option<u64> {
    let two = ("memory.max", "memory.current");
    let one = ("memory.limit_in_bytes", "memory.usage_in_bytes");
    let places = own.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(":/")?;
        let is_memory = controllers.split(',').any(|it| it == "memory");
        match controllers {
            "" => Some((vec![mounts.to_owned(), mounts.join("unified")], path, two)),
            _ if is_memory => Some((vec![mounts.join("memory")], path, one)),
            _ => None,
        }
    });
    let number = |path: PathBuf| -> Option<u64> { std::fs::read_to_string(path).ok()?.trim().parse().ok() };
    let mut least = None;
    for (roots, path, (most, used)) in places {
        for root in roots {
            let whole = root.join(path);
            let all = whole.ancestors().take_while(|it| it.starts_with(&root));
            let left = all.filter_map(|it| {
                let most = number(it.join(most))?;
                Some(most.saturating_sub(number(it.join(used))?))
            });
            least = left.chain(least).min();
        }
    }
    least
}

/// Has all threads take memory from one place: each one's own would be 64 MiB of address space, whatever it needs.
fn one_arena() {
    if getrlimit(Resource::As).current.is_some() {
        kumiki_io::allocator::use_one_arena();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(left: u64, is_space: bool) -> Limit {
        Limit { left, is_space, name: "a limit" }
    }

    #[test]
    fn a_limit_of_the_process_lowers_the_budget_and_is_told() {
        let within = |limits: &[Limit]| Memory::within(USUAL, limits.iter().copied());
        let free = within(&[limit(u64::MAX, false)]).unwrap();
        assert_eq!((free.budget.most(), free.remark), (USUAL, None));
        let less = within(&[limit(u64::MAX, false), limit(60 << 20, false)]).unwrap();
        assert_eq!(less.budget.most(), 36 << 20);
        assert_eq!(less.remark.unwrap(), "callers may have 36 MiB of memory and not 128, for a limit leaves no more");
        // Of address space a stack counts whole: with what is left all callers that fit the budget have theirs.
        let space = within(&[limit(60 << 20, true)]).unwrap();
        let callers = space.budget.most() / COMES;
        assert!(callers * (COMES + STACK as u64) <= (60 << 20) - RESERVE);
        let why = within(&[limit(RESERVE, false)]).unwrap_err();
        assert_eq!(why.to_string(), "a limit leaves callers 0 KiB of memory, and the least is 6144 KiB: allow more");
    }

    #[test]
    fn connections_may_hold_half_of_what_is_left() {
        assert_eq!(held_within([].into_iter()), None);
        let limits = [limit(112 << 20, true), limit(212 << 20, false)];
        assert_eq!(held_within(limits.into_iter()), Some(50 << 20));
        assert_eq!(held_within([limit(1, true)].into_iter()), Some(0));
    }

    #[test]
    fn the_tightest_cgroup_on_the_way_to_the_root_counts_whatever_its_version() {
        let temp = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = temp.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("a/memory.max", "1000\n");
        write("a/memory.current", "300\n");
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "200\n");
        assert_eq!(left_in("0::/a/b\n", temp.path()), Some(700));
        assert_eq!(left_in("0::/c\n", temp.path()), None);
        write("memory/x/memory.limit_in_bytes", "500\n");
        write("memory/x/memory.usage_in_bytes", "600\n");
        let both = "5:cpu,cpuacct:/x\n4:memory:/x/y\n0::/a\n";
        assert_eq!(left_in(both, temp.path()), Some(0));
        assert_eq!(left_in("4:memory:/\n0::/a\n", temp.path()), Some(700));
    }
}
