//! A capture of one host that is kept while its run goes on, in a file, so that memory does not grow with the run.
//!
//! | | |
//! |---|---|
//! | Specification | none: what is kept is read by nobody else, and the capture that is made of it is that of [`cut`](super::cut) |
//! | Why not the capture itself | whether PDUs with LLC have virtual channels, which the head of a capture says and each record shows, is known when all have been seen |
//! | The file | has no name, so that a run that ends early leaves nothing; only its owner could open it |
//! | Left out | several hosts in one capture |
//!
//! Hosts do things before their time has come: records come in order of what was done first, and are put in order of
//! time here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek as _, Write};
use std::path::Path;
use std::sync::Arc;

use kumiki_graph::{AccessPoint, Address, Instant, Tapped};
use kumiki_pcapng::{CaptureError, Packet, PcapNg, sunatm};

use super::trace::{Connection, TraceError, write_csv};
use super::{Captured, Content, Form, Tap, Writer, channel, comment, direction};

/// What a record in the file begins with: when it was, at which interface, what is so of it, why it was thrown away,
/// how long it was, and how many octets follow.
const HEAD: usize = 8 + 4 + 1 + 2 + 8 + 4;
const DOWN: u8 = 1;
/// A virtual channel stands before it.
const CHANNEL: u8 = 2;

/// So many octets are read or written at once.
const AT_ONCE: usize = 1 << 16;

/// A capture in the making.
#[derive(Debug)]
pub struct Spool {
    interfaces: BTreeMap<AccessPoint, usize>,
    writer: Writer,
    /// What is not in order yet, since something from before may come.
    waiting: Vec<Tapped>,
    store: Store,
    plan: Plan,
}

#[derive(Debug)]
enum Store {
    Memory(Vec<u8>),
    File(BufWriter<File>),
}

/// What is to be known beside the records, to make a capture of them.
#[derive(Debug)]
struct Plan {
    host: String,
    snaplen: u32,
    /// Each with whether virtual channels were seen.
    taps: Vec<(Tap, bool)>,
    /// Why records were thrown away.
    reasons: Vec<&'static str>,
}

/// The records of a capture, in a file.
#[derive(Debug)]
pub struct Spooled {
    plan: Plan,
    file: File,
}

/// What is to be in a file.
#[derive(Clone, Debug)]
pub enum Contents {
    /// These octets.
    Octets(Vec<u8>),
    /// The capture of these records.
    Spooled(Arc<Spooled>),
    /// These traces, as CSV.
    Traces(Arc<Vec<Connection>>),
}

impl Spool {
    /// For what the taps of `host` see, of each PDU no more than the first `snaplen` octets, or all where that is 0; in
    /// memory, or in a file on the file system of `directory`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn new(host: &Captured, snaplen: u32, directory: Option<&Path>) -> io::Result<Self> {
        let store = match directory {
            Some(directory) => Store::File(BufWriter::with_capacity(AT_ONCE, nameless(directory)?)),
            None => Store::Memory(Vec::new()),
        };
        let taps = host.taps.values().map(|tap| (tap.clone(), false)).collect();
        Ok(Self {
            interfaces: host.taps.keys().copied().zip(0..).collect(),
            writer: Writer::new(snaplen),
            waiting: Vec::new(),
            store,
            plan: Plan { host: host.host.clone(), snaplen, taps, reasons: Vec::new() },
        })
    }

    /// Keeps what was `seen`, where nothing more comes from before `until`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn take(&mut self, seen: Vec<Tapped>, until: Instant) -> io::Result<()> {
        self.waiting.extend(seen);
        // Those of one instant keep their order.
        self.waiting.sort_by_key(|tapped| tapped.at);
        let settled = self.waiting.partition_point(|tapped| tapped.at < until);
        let mut waiting = core::mem::take(&mut self.waiting);
        for tapped in waiting.drain(..settled) {
            self.write(&tapped)?;
        }
        self.waiting = waiting;
        Ok(())
    }

    fn write(&mut self, tapped: &Tapped) -> io::Result<()> {
        let Self { interfaces, writer, store, plan, .. } = self;
        let place = interfaces.get(&tapped.access_point).copied();
        let Some((place, (tap, has_channels))) = place.and_then(|place| Some((place, plan.taps.get_mut(place)?)))
        else {
            return Ok(());
        };
        let has_channel = tap.content == Content::Llc && channel(tapped) != Address::NONE;
        *has_channels |= has_channel;
        let whole = writer.lay(Form::with(tap.content, || has_channel), tapped);
        let reason = match tapped.dropped {
            None => 0,
            Some(reason) => 1 + plan.reason(reason),
        };
        let flags = (u8::from(tapped.down) * DOWN) | (u8::from(has_channel) * CHANNEL);
        let long = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let out: &mut dyn Write = match store {
            Store::Memory(octets) => octets,
            Store::File(file) => file,
        };
        out.write_all(&tapped.at.as_nanos().to_le_bytes())?;
        out.write_all(&u32::try_from(place).map_err(long)?.to_le_bytes())?;
        out.write_all(&[flags])?;
        out.write_all(&u16::try_from(reason).map_err(long)?.to_le_bytes())?;
        out.write_all(&(whole as u64).to_le_bytes())?;
        out.write_all(&u32::try_from(writer.octets().len()).map_err(long)?.to_le_bytes())?;
        out.write_all(writer.octets())
    }

    /// What makes a capture of all.
    ///
    /// # Errors
    /// [`CaptureError`] where the file system refuses, or a PDU has 2 GiB or more.
    pub fn finish(mut self) -> Result<Contents, CaptureError> {
        for tapped in core::mem::take(&mut self.waiting) {
            self.write(&tapped)?;
        }
        match self.store {
            Store::Memory(octets) => Ok(Contents::Octets(self.plan.write(octets.as_slice(), Vec::new())?)),
            Store::File(file) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                Ok(Contents::Spooled(Arc::new(Spooled { plan: self.plan, file })))
            }
        }
    }
}

impl Plan {
    /// The number of a reason, from 0.
    fn reason(&mut self, reason: &'static str) -> usize {
        self.reasons.iter().position(|it| *it == reason).unwrap_or_else(|| {
            self.reasons.push(reason);
            self.reasons.len() - 1
        })
    }

    /// Makes a capture of `records`.
    fn write<W: Write>(&self, mut records: impl Read, out: W) -> Result<W, CaptureError> {
        let mut file = PcapNg::new(out)?;
        let mut interfaces = Vec::new();
        for (tap, has_channels) in &self.taps {
            let form = Form::with(tap.content, || *has_channels);
            let id = file.add_interface(&tap.name(&self.host), form.link_type(), self.snaplen)?;
            interfaces.push((id, form));
        }
        let mut octets = Vec::new();
        while let Some(record) = Record::read(&mut records, &mut octets)? {
            let Some((interface, form)) = interfaces.get(record.place).copied() else {
                continue;
            };
            let direction = direction(record.flags & DOWN != 0);
            let mut original_len = record.whole;
            if form == Form::Channel && record.flags & CHANNEL == 0 {
                // Others at this interface have a channel, so there stands one before each.
                let none = sunatm(direction, 0, 0);
                octets.splice(..0, none);
                original_len = original_len.saturating_add(none.len());
            }
            let reason = record.reason.checked_sub(1).and_then(|place| self.reasons.get(place)).copied();
            let comment = reason.map(comment);
            let packet = Packet {
                at_ns: record.at_ns,
                octets: &octets,
                original_len,
                direction: Some(direction),
                comment: comment.as_deref(),
            };
            file.write_packet(interface, &packet)?;
        }
        file.finish()
    }
}

struct Record {
    at_ns: u64,
    place: usize,
    flags: u8,
    reason: usize,
    whole: usize,
}

impl Record {
    /// The next, with its octets in the place of what is in `octets`; none at the end.
    fn read(from: &mut impl Read, octets: &mut Vec<u8>) -> io::Result<Option<Self>> {
        octets.clear();
        if from.by_ref().take(HEAD as u64).read_to_end(octets)? == 0 {
            return Ok(None);
        }
        let mut head = octets.as_slice();
        let at_ns = u64::from_le_bytes(next(&mut head)?);
        let place = u32::from_le_bytes(next(&mut head)?) as usize;
        let [flags] = next(&mut head)?;
        let reason = usize::from(u16::from_le_bytes(next(&mut head)?));
        let whole = usize::try_from(u64::from_le_bytes(next(&mut head)?)).unwrap_or(usize::MAX);
        let kept = u32::from_le_bytes(next(&mut head)?) as usize;
        octets.clear();
        if from.by_ref().take(kept as u64).read_to_end(octets)? < kept {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(Self { at_ns, place, flags, reason, whole }))
    }
}

/// The first octets of `from`, which has the rest then.
fn next<const N: usize>(from: &mut &[u8]) -> io::Result<[u8; N]> {
    let (first, rest) = from.split_first_chunk().ok_or(io::ErrorKind::UnexpectedEof)?;
    *from = rest;
    Ok(*first)
}

impl Contents {
    /// Writes all of it.
    ///
    /// # Errors
    /// Those of `out`, and of the file in which a capture waits.
    pub fn write_to<W: Write>(&self, mut out: W) -> io::Result<()> {
        match self {
            Self::Octets(octets) => out.write_all(octets),
            Self::Traces(connections) => {
                let mut out = BufWriter::with_capacity(AT_ONCE, out);
                write_csv(connections, &mut out).map_err(refused)?;
                out.flush()
            }
            Self::Spooled(spooled) => {
                let mut file = &spooled.file;
                file.rewind()?;
                let records = BufReader::with_capacity(AT_ONCE, file);
                let written = spooled.plan.write(records, BufWriter::with_capacity(AT_ONCE, out));
                match written {
                    Ok(_) => Ok(()),
                    Err(CaptureError::Io(why)) => Err(why),
                    Err(why) => Err(io::Error::other(why)),
                }
            }
        }
    }

    /// All of it, in memory.
    ///
    /// # Errors
    /// Those of the file in which a capture waits.
    pub fn into_octets(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Octets(octets) => Ok(octets),
            Self::Spooled(_) | Self::Traces(_) => {
                let mut octets = Vec::new();
                self.write_to(&mut octets)?;
                Ok(octets)
            }
        }
    }
}

impl From<Vec<u8>> for Contents {
    fn from(octets: Vec<u8>) -> Self {
        Self::Octets(octets)
    }
}

/// Captures in files are equal where they are the same.
impl PartialEq for Contents {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Octets(one), Self::Octets(other)) => one == other,
            (Self::Spooled(one), Self::Spooled(other)) => Arc::ptr_eq(one, other),
            (Self::Traces(one), Self::Traces(other)) => one == other,
            (Self::Octets(_) | Self::Spooled(_) | Self::Traces(_), _) => false,
        }
    }
}

/// Why rows could not be written: what the file system said, where it did.
fn refused(why: TraceError) -> io::Error {
    match why {
        TraceError::Csv(why) => {
            let said = why.to_string();
            if let csv::ErrorKind::Io(source) = why.into_kind() { source } else { io::Error::other(said) }
        }
        TraceError::Json(why) => why.into(),
    }
}

/// A file without a name on the file system of `directory`.
#[cfg(not(target_family = "wasm"))]
fn nameless(directory: &Path) -> io::Result<File> {
    tempfile::tempfile_in(directory)
}

#[cfg(target_family = "wasm")]
fn nameless(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
