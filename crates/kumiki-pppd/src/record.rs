//! A line whose octets are kept: a device before a device.
//!
//! | file | holds |
//! |---|---|
//! | `PREFIX.sent` | the octets that we sent, and nothing else: `kumiki decode` finds the frames |
//! | `PREFIX.received` | the same of what came |
//! | `PREFIX.pppdump` | both with times, to 0.1 s, as pppd's option `record` writes them: `pppdump` and Wireshark read it |
//!
//! The layout of the last was taken from what those programs read: a tag octet, then for octets sent (1) and received
//! (2) their number in two octets and themselves, for time 7 with seconds since 1970 in four, and 5 or 6 with tenths of
//! a second that have passed, in four octets or one.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use kumiki_graph::{Address, Instant};
use kumiki_io::{Arrival, Clock as _, Descriptors, RealClock, RealDevice, Sent};
use kumiki_live::private;
use kumiki_octets::Message;

const SENT: u8 = 1;
const RECEIVED: u8 = 2;
const LONG_STEP: u8 = 5;
const SHORT_STEP: u8 = 6;
const TIME: u8 = 7;
/// Nanoseconds of a step.
const STEP: u64 = 100_000_000;

/// One file being written.
struct RecordFile {
    path: PathBuf,
    file: BufWriter<File>,
}

impl RecordFile {
    fn create(prefix: &Path, ending: &str) -> io::Result<Self> {
        let mut path = prefix.as_os_str().to_owned();
        path.push(ending);
        let path = PathBuf::from(path);
        let file = private::create(&path).map_err(|why| named(&path, &why))?;
        let file = BufWriter::new(file);
        Ok(Self { path, file })
    }

    fn write(&mut self, octets: &[u8]) -> io::Result<()> {
        self.file.write_all(octets).map_err(|why| named(&self.path, &why))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|why| named(&self.path, &why))
    }
}

fn named(path: &Path, why: &io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("--record: {}: {why}", path.display()))
}

/// A device and the files in which its octets are kept.
pub(super) struct Recorded {
    device: Box<dyn RealDevice>,
    sent: RecordFile,
    received: RecordFile,
    both: RecordFile,
    clock: RealClock,
    /// The time that the reader of `both` has come to.
    told: Instant,
}

impl Recorded {
    /// Keeps what crosses `device` in files whose names begin with `prefix`; older ones are replaced.
    ///
    /// # Errors
    /// Where a file cannot be made; the error names it.
    pub(super) fn new(device: Box<dyn RealDevice>, prefix: &Path) -> io::Result<Self> {
        let mut recorded = Self {
            device,
            sent: RecordFile::create(prefix, ".sent")?,
            received: RecordFile::create(prefix, ".received")?,
            both: RecordFile::create(prefix, ".pppdump")?,
            clock: RealClock::start(),
            told: Instant::ZERO,
        };
        let began = kumiki_io::clock::seconds_since_1970();
        let began = u32::try_from(began).unwrap_or(u32::MAX);
        recorded.both.write(&[TIME])?;
        recorded.both.write(&began.to_be_bytes())?;
        Ok(recorded)
    }

    fn keep(&mut self, way: u8, data: &Message) -> io::Result<()> {
        let passed = self.clock.now().saturating_since(self.told).as_nanos() / STEP;
        if passed > 0 {
            self.told += kumiki_graph::Duration::from_nanos(passed * STEP);
            match u8::try_from(passed) {
                Ok(passed) => self.both.write(&[SHORT_STEP, passed])?,
                Err(_) => {
                    self.both.write(&[LONG_STEP])?;
                    let passed = u32::try_from(passed).unwrap_or(u32::MAX);
                    self.both.write(&passed.to_be_bytes())?;
                }
            }
        }
        let octets = data.to_vec();
        let alone = if way == SENT { &mut self.sent } else { &mut self.received };
        alone.write(&octets)?;
        for piece in octets.chunks(u16::MAX.into()) {
            let len = u16::try_from(piece.len()).unwrap_or(u16::MAX);
            self.both.write(&[way])?;
            self.both.write(&len.to_be_bytes())?;
            self.both.write(piece)?;
        }
        Ok(())
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // Buffers write what they hold; that it failed has been said by what came before, or nobody can be told.
        for out in [&mut self.sent, &mut self.received, &mut self.both] {
            let _ = out.flush();
        }
    }
}

impl RealDevice for Recorded {
    fn descriptors(&self) -> Descriptors<'_> {
        self.device.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let arrival = self.device.receive()?;
        if let Some(Arrival::Unit { data, .. }) = &arrival {
            self.keep(RECEIVED, data)?;
        }
        Ok(arrival)
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        let sent = self.device.send(packet, to)?;
        if sent == Sent::Taken {
            self.keep(SENT, packet)?;
        }
        Ok(sent)
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.device.flush()
    }
}
