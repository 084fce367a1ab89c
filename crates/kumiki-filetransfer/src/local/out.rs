//! Standard output, and what is written to as that is.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::osi::{Message, Secured, Sink};
use kumiki_live::refusal::{self, Access};
use sha2::{Digest as _, Sha256};

use super::newlines::CrlfToLf;
use super::{Receipt, path_shown};

/// Standard output, and what is written to as that is.
pub struct StandardOutput {
    to: Box<dyn io::Write + Send>,
    name: String,
    written: u64,
    /// The checksum of what was written.
    digest: Sha256,
    /// All of the file comes once more, and perhaps it is another one.
    again: Option<OutputComparison>,
    /// What makes CR LF to LF, where it is to be.
    localiser: Option<CrlfToLf>,
    receipt: Receipt,
}

/// How far what comes once more was compared with what was written, and its checksum up to there.
#[derive(Default)]
struct OutputComparison {
    compared: u64,
    digest: Sha256,
}

impl StandardOutput {
    /// Standard output.
    pub fn standard() -> Self {
        Self {
            to: Box::new(io::stdout()),
            name: "standard output".to_owned(),
            written: 0,
            digest: Sha256::new(),
            again: None,
            localiser: None,
            receipt: Receipt::default(),
        }
    }

    /// What is at `path` and is no file.
    ///
    /// # Errors
    /// It cannot be written to, and why.
    pub fn open(path: &Path) -> Result<(Self, Receipt), String> {
        let name = path_shown(path);
        let opened = std::fs::metadata(path).and_then(|it| -> io::Result<Box<dyn io::Write + Send>> {
            if it.file_type().is_socket() {
                return Ok(Box::new(UnixStream::connect(path)?));
            }
            Ok(Box::new(OpenOptions::new().write(true).open(path)?))
        });
        let to = opened.map_err(|why| format!("{name}: {}", refusal::words(path, &why, Access::Write)))?;
        let receipt = Receipt::default();
        let out = Self {
            to,
            name,
            written: 0,
            digest: Sha256::new(),
            again: None,
            localiser: None,
            receipt: receipt.clone(),
        };
        Ok((out, receipt))
    }

    /// Ends lines as they end here.
    pub fn with_newlines(mut self, is_text: bool) -> Self {
        self.localiser = is_text.then(CrlfToLf::default);
        self
    }

    fn said(&self, why: impl core::fmt::Display) -> String {
        format!("{}: {why}", self.name)
    }

    /// Takes into account what comes once more of a file that is started over, and judges it as soon as all that was
    /// written has come.
    fn compare(&mut self, offset: u64, data: &Message) -> Result<(), String> {
        let Some(again) = self.again.as_mut() else {
            return Ok(());
        };
        // Behind a checkpoint some of it comes a third time.
        let skipped = again.compared.saturating_sub(offset);
        let mut skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let mut left = usize::try_from(self.written - again.compared).unwrap_or(usize::MAX);
        data.for_each(|octets| {
            let (seen, octets) = octets.split_at_checked(skipped).unwrap_or((octets, &[]));
            skipped -= seen.len();
            let (these, _) = octets.split_at_checked(left).unwrap_or((octets, &[]));
            again.digest.update(these);
            left -= these.len();
            again.compared = again.compared.saturating_add(these.len() as u64);
        });
        if again.compared < self.written {
            return Ok(());
        }
        self.judge()
    }

    /// Whether what has come once more is what was written.
    fn judge(&mut self) -> Result<(), String> {
        let Some(again) = self.again.take() else {
            return Ok(());
        };
        if again.compared == self.written && again.digest.finalize() == self.digest.clone().finalize() {
            return Ok(());
        }
        Err(self.said(format!(
            "the file has changed at the responder, and {} bytes of the one before are written already; fetch it once more, to a file",
            self.written
        )))
    }
}

impl Sink for StandardOutput {
    fn write(&mut self, offset: u64, mut data: Message) -> Result<(), String> {
        let gap = "what comes does not follow what came";
        self.compare(offset, &data)?;
        // Behind a checkpoint some of it comes once more, of the same file.
        let again = self.written.checked_sub(offset);
        let again = again.ok_or_else(|| self.said(gap))?;
        let again = usize::try_from(again).unwrap_or(usize::MAX);
        let again = data.pop(again.min(data.len()));
        again.map_err(|_| self.said(gap))?;
        let mut done = Ok(());
        data.for_each(|octets| {
            if done.is_ok() {
                self.digest.update(octets);
                done = match &mut self.localiser {
                    Some(localiser) => {
                        let mut local = Vec::with_capacity(octets.len());
                        localiser.take(octets, &mut local);
                        self.to.write_all(&local)
                    }
                    None => self.to.write_all(octets),
                };
            }
        });
        self.written = self.written.saturating_add(data.len() as u64);
        done.map_err(|why| self.said(why))
    }

    fn finish(&mut self) -> Result<(), String> {
        self.judge()?;
        let mut rest = Vec::new();
        if let Some(localiser) = &mut self.localiser {
            localiser.end(&mut rest);
        }
        let done = self.to.write_all(&rest).and_then(|()| self.to.flush());
        done.map_err(|why| self.said(why))?;
        let size = self.written;
        self.receipt.with(|it| {
            it.size = size;
            it.is_there = true;
        });
        Ok(())
    }

    fn secured(&mut self, at: Option<Secured>) {
        if at.is_none() && self.written > 0 {
            self.again = Some(OutputComparison::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_compared_with_what_comes_again() {
        let again = |parts: &[(u64, &[u8])]| {
            let (mut out, receipt) = StandardOutput::open(Path::new("/dev/null")).unwrap();
            out.write(0, Message::from_octets(b"abcd")).unwrap();
            out.secured(None);
            for &(offset, octets) in parts {
                out.write(offset, Message::from_octets(octets))?;
            }
            out.finish().map(|()| receipt.read().size)
        };
        assert_eq!(again(&[(0, b"abc"), (3, b"def")]), Ok(6));
        assert_eq!(again(&[(0, b"abcd")]), Ok(4));
        // Behind a checkpoint.
        assert_eq!(again(&[(0, b"abc"), (1, b"bcdef")]), Ok(6));
        assert_eq!(again(&[(0, b"abc"), (0, b"a"), (1, b"bcdef")]), Ok(6));
        for other in [&[(0, &b"abXdef"[..])][..], &[(0, b"abc")], &[]] {
            let why = again(other).unwrap_err();
            assert!(why.contains("4 bytes of the one before"), "{why}");
        }
    }
}
