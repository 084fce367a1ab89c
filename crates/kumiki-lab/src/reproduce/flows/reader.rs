//! Several captures, read together in the order of time.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use kumiki_decode::capture::Time;
use kumiki_decode::{Capture, Decoder, FormatHint, Packet, Record, Registry};

/// The captures of a run. What cannot be read ends there.
pub(super) struct Readers(Vec<Option<Reader>>);

struct Reader {
    capture: Capture<BufReader<File>>,
    decoder: Decoder,
    /// When the first packet was seen.
    start: Option<Time>,
    next: Option<Record>,
}

impl Reader {
    fn open(file: &Path) -> Option<Self> {
        let octets = File::open(file).ok()?;
        let mut capture = Capture::open(BufReader::new(octets), FormatHint::default(), &Registry::new()).ok()?;
        let next = capture.next_record().ok()?;
        let start = next.as_ref().and_then(|record| record.time);
        Some(Self { capture, decoder: Decoder::new(), start, next })
    }
}

impl Readers {
    pub(super) fn open(files: &[PathBuf]) -> Self {
        Self(files.iter().map(|file| Reader::open(file)).collect())
    }

    /// The earliest packet that was not given yet, of those files that are wanted, and which file it is of.
    pub(super) fn next(&mut self, is_wanted: impl Fn(usize) -> bool) -> Option<(usize, Record)> {
        let left = self.0.iter().enumerate().filter_map(|(file, reader)| Some((file, reader.as_ref()?.next.as_ref()?)));
        let wanted = left.filter(|(file, _)| is_wanted(*file));
        let (file, _) = wanted.min_by_key(|(file, record)| (record.time, *file))?;
        let reader = self.0.get_mut(file)?.as_mut()?;
        let next = reader.capture.next_record().ok().flatten();
        reader.start = reader.start.or_else(|| next.as_ref()?.time);
        Some((file, core::mem::replace(&mut reader.next, next)?))
    }

    pub(super) fn decode(&mut self, file: usize, record: &Record) -> Packet {
        let reader = self.0.get_mut(file).and_then(Option::as_mut);
        reader.map_or_else(Packet::default, |reader| reader.decoder.decode(record))
    }

    pub(super) fn start(&self, file: usize) -> Option<Time> {
        self.0.get(file)?.as_ref()?.start
    }

    /// Whether some of them have packets that were not given.
    pub(super) fn have_more(&self) -> bool {
        self.0.iter().flatten().any(|reader| reader.next.is_some())
    }
}
