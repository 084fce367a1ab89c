//! How far a transfer by FTAM is, for another run.

use std::io;
use std::path::PathBuf;

use kumiki_lab::live::osi::Secured;

/// Octets between checkpoints that are noted: what comes before one has to be on the disk, and that takes time.
const NOTED_EVERY: u64 = 8 << 20;

/// A note of how far a transfer by FTAM is.
pub(super) struct Note {
    path: PathBuf,
    /// What is transferred, and how: it is gone on with for the same only.
    of: String,
    /// Behind this octet the next one is worth writing.
    next: u64,
}

impl Note {
    pub(super) fn new(path: PathBuf, of: String) -> Self {
        let next = 0;
        Self { path, of, next }
    }

    pub(super) fn read(&self) -> Option<Secured> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let mut words = text.splitn(4, ' ');
        let at = Secured {
            activity: words.next()?.parse().ok()?,
            point: words.next()?.parse().ok()?,
            offset: words.next()?.parse().ok()?,
        };
        let of = words.next()?.strip_suffix('\n')?;
        (of == self.of).then_some(at)
    }

    /// Writes it where it is due and `secure` has done what is needed before. That it is not written, or not removed, costs time and nothing else.
    pub(super) fn keep(&mut self, at: Option<Secured>, secure: impl FnOnce() -> io::Result<()>) {
        let Some(at) = at else {
            let _ = std::fs::remove_file(&self.path);
            self.next = 0;
            return;
        };
        if at.offset < self.next {
            return;
        }
        let text = format!("{} {} {} {}\n", at.activity, at.point, at.offset, self.of);
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let done = secure()
            .and_then(|()| std::fs::write(&new, text))
            .and_then(|()| std::fs::rename(&new, &self.path));
        if done.is_ok() {
            self.next = at.offset.saturating_add(NOTED_EVERY);
        }
    }
}
