//! DIAG packets, and how often they are sent.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P15 (dead keys) and P35 |
//! | Left out | keys beyond the last 64 that were answered: a peer that uses more is answered as often as the overall rate allows |

use std::collections::VecDeque;

use kumiki_graph::{Address, Context, Instant};
use kumiki_octets::Message;
use kumiki_wire::xtp::{Diagnosis, Format, Header, Key};

use super::config::Config;
use super::context::Ctx;
use super::packet::{DataPrefix, Path, transmit};
use kumiki_graph::{Bucket, Rate};

/// How many keys are remembered.
const REMEMBERED: usize = 64;

/// How often DIAG packets may be sent.
#[derive(Debug)]
pub(crate) struct Limiter {
    overall: Bucket,
    lately: VecDeque<(Address, Key, Instant)>,
}

impl Limiter {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            overall: Bucket::new(Rate { per_second: config.diag_rate, burst: config.diag_rate.clamp(1, 50) }),
            lately: VecDeque::new(),
        }
    }

    /// Whether `key` of `peer` may be answered now: once in `interval`, and not too many keys.
    pub(crate) fn allow(&mut self, peer: Address, key: Key, config: &Config, cx: &mut Context<'_>) -> bool {
        let now = cx.now();
        let interval = config.diag_interval;
        while let Some((_, _, at)) = self.lately.front()
            && now.saturating_since(*at) >= interval
        {
            self.lately.pop_front();
        }
        let known = |it: &(Address, Key, Instant)| (it.0, it.1) == (peer, key);
        if self.lately.iter().any(known) || !self.overall.take(now) {
            return false;
        }
        if self.lately.len() >= REMEMBERED {
            self.lately.pop_front();
        }
        self.lately.push_back((peer, key, now));
        true
    }
}

/// Sends a DIAG about the context that the peer knows by `key`.
pub(crate) fn send(path: &Path, key: Key, diagnosis: Diagnosis, ctx: &mut Ctx<'_, '_>) {
    if !ctx.shared.diagnoses.allow(path.remote.into(), key, &ctx.shared.config, ctx.cx) {
        return;
    }
    ctx.shared.counters.diag_sent += 1;
    let header = Header { key, format: Format::Diag, ..Header::default() };
    let mut octets = [0; 8];
    diagnosis.emit(&mut octets);
    let text = Message::from_octets(diagnosis.why().as_bytes());
    transmit(path, header, &DataPrefix::Octets(&octets), text, ctx.cx);
}
