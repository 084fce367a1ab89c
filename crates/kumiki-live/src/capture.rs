//! The capture of a graph while it runs: what [`kumiki_capture`] writes of it, in a file for its owner alone.

use std::path::Path;

use kumiki_capture::Stream;
use kumiki_graph::Graph;
use kumiki_pcapng::CaptureError;

use crate::private::{CaptureBudget, PrivateCapture};

/// A capture in flight. That it cannot be written ends it and nothing else ([`CaptureBudget::remark`]).
pub struct Capture {
    stream: Stream<PrivateCapture>,
    budget: CaptureBudget,
}

impl Capture {
    /// Begins one in a file, which `open` makes a capture of; an older file is replaced. None where captures may have
    /// no more octets.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn begin(
        path: &Path,
        budget: &CaptureBudget,
        open: impl FnOnce(PrivateCapture) -> Result<Stream<PrivateCapture>, CaptureError>,
    ) -> Result<Option<Self>, CaptureError> {
        let Some(file) = PrivateCapture::create(path, budget)? else {
            return Ok(None);
        };
        Ok(Some(Self { stream: open(file)?, budget: budget.clone() }))
    }

    /// Writes what has crossed since this was last called. It is to be called also when it has ended, for a graph keeps
    /// what nobody takes.
    pub fn take_from(&mut self, graph: &mut Graph) {
        if let Err(why) = self.stream.take_from(graph) {
            self.budget.end(&why.to_string());
        }
    }

    /// Writes what is left.
    pub fn finish(self) {
        if let Err(why) = self.stream.finish() {
            self.budget.end(&why.to_string());
        }
    }
}
