//! Scripts that read like traces: what goes to a TCP and when, what must come from it and when.
//!
//! | | |
//! |---|---|
//! | Notation | [`notation`], read by [`parse()`]; `docs/scripts.md` tells it to people |
//! | In virtual time | [`run`]: our stack on IP, tolerance zero |
//! | Against Linux | [`against_linux`]: Linux's sockets, behind a TUN device in a network namespace |
//! | Left out | UDP; fragments; segments that arrive together before a stack settles; several stacks in one script |
//!
//! The judge knows sequence numbers, checksums and content of both directions, and nothing of how a TCP should behave:
//! that is what the lines of the script say.

use std::io;
use std::path::{Path, PathBuf};

mod cursor;
pub mod header;
mod judge;
#[cfg(target_os = "linux")]
mod linux;
pub mod notation;
mod packet;
mod parse;
mod subject;
#[cfg(test)]
mod tests;
mod user;
mod virtual_time;

use kumiki_graph::Duration;
use kumiki_pcapng::{CaptureError, Direction, LinkType, Packet, PcapNg};

pub use cursor::ScriptError;
pub use header::{Header, Linux};
pub use judge::{Failure, LinePacket, ScriptOutcome};
pub use parse::parse;

use judge::{Judge, Strictness};
use kumiki_config::ConfigError;
use kumiki_config::refusal::{self, Access};

/// How the names of scripts end.
pub const ENDING: &str = "script";

/// A script.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    /// Its file, for what is said of it.
    pub file: String,
    /// The settings.
    pub header: Header,
    /// The lines that say something.
    pub lines: Vec<notation::Line>,
}

impl Script {
    /// Whether anything could be otherwise than it expects.
    #[must_use]
    pub fn expects(&self) -> bool {
        self.lines.iter().any(|line| match line.event {
            notation::Event::Out(_) | notation::Event::Hear(_) | notation::Event::See(_) | notation::Event::Silence => {
                true
            }
            notation::Event::In(_) | notation::Event::Icmp(_) | notation::Event::Call(_) | notation::Event::Fresh => {
                false
            }
        })
    }
}

/// The scripts among `paths`: files, and what is in folders, by name.
///
/// # Errors
/// What cannot be read.
pub fn find(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            walk(path, &mut found)?;
        } else {
            found.push(path.clone());
        }
    }
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let read = || folder.read_dir()?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<PathBuf>>>();
    let mut entries = read().map_err(|why| {
        io::Error::new(why.kind(), format!("{}: {}", folder.display(), refusal::words(folder, &why, Access::Read)))
    })?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == ENDING) {
            found.push(path);
        }
    }
    Ok(())
}

/// Holds our stack in virtual time against `script`; with `record` it is only written down what the stack does.
///
/// # Errors
/// A setting is wrong.
pub fn run(script: &Script, record: bool) -> Result<ScriptOutcome, ConfigError> {
    let stack = virtual_time::Virtual::new(&script.header)?;
    let strict =
        Strictness { tolerance: Duration::ZERO, windows: true, push: true, quick_acks: false, resets: true, record };
    Ok(Judge::new(script, stack, strict).run())
}

/// Holds Linux's TCP against `script`, in the network namespace of this process, which should be one made for this:
/// kernel settings are changed, and a TUN device is made. `None` where the script says that it does not apply.
/// `tolerance` is how much earlier or later things may be, in place of what the script says: on a machine of which
/// nobody knows how busy it is, order and contents can be judged and times cannot.
///
/// # Errors
/// Says what could not be had.
#[cfg(target_os = "linux")]
pub fn against_linux(
    script: &Script,
    record: bool,
    tolerance: Option<std::time::Duration>,
) -> Result<Option<ScriptOutcome>, String> {
    let Linux::Yes(same) = &script.header.linux else {
        return Ok(None);
    };
    let subject = linux::Kernel::new(&script.header, same)?;
    let strict = Strictness {
        tolerance: tolerance.map_or_else(
            || same.tolerance(),
            |it| Duration::from_nanos(u64::try_from(it.as_nanos()).unwrap_or(u64::MAX)),
        ),
        windows: same.window,
        push: same.push,
        quick_acks: same.quick_acks,
        resets: same.resets,
        record,
    };
    Ok(Some(Judge::new(script, subject, strict).run()))
}

/// As elsewhere there is no Linux.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn against_linux(_: &Script, _: bool, _: Option<std::time::Duration>) -> Result<Option<ScriptOutcome>, String> {
    Err("this is not Linux".to_owned())
}

/// Writes what crossed the line as pcapng, of each packet the first `snaplen` octets, or all where that is 0.
///
/// # Errors
/// [`CaptureError`] where `out` refuses.
pub fn pcapng<W: io::Write>(crossed: &[LinePacket], snaplen: u32, out: W) -> Result<W, CaptureError> {
    let mut file = PcapNg::new(out)?;
    let line = file.add_interface("line", LinkType::RawIp, snaplen)?;
    for crossed in crossed {
        file.write_packet(
            line,
            &Packet {
                at_ns: crossed.at.as_nanos(),
                octets: &crossed.octets,
                original_len: crossed.octets.len(),
                direction: Some(if crossed.inward { Direction::Inbound } else { Direction::Outbound }),
                comment: None,
            },
        )?;
    }
    file.finish()
}
