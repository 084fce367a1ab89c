//! Who sends first: the emission queue.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P28 |
//!
//! Where nothing but windows and rates of their own hold contexts back, each sends what it may, and the order among
//! those that something happened to in one batch is that of their priorities. Where the layer below grants credit, or
//! all contexts together have a rate, they queue for it: the one with the smallest `sort` sends a packet, those of one
//! priority in turn, and those without SORT come after all that have it.

use std::collections::BTreeMap;

use kumiki_graph::{Context, Credit, Handle, Instant, RateLimit, TimerSlot};

use super::config::Config;
use super::output::Emission;
use super::rate::Credit as RateCredit;
use super::timers::Timer;
use super::{TOTAL, Xtp};

/// Behind all that have a priority.
const NONE: u32 = 1 << 16;

/// Contexts that have something to send and wait for their turn.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: BTreeMap<(u32, u64), Handle>,
    turns: u64,
    /// Packets that the layer below takes; `None`: it has granted nothing and takes all.
    credit: Option<u64>,
    total: Option<RateCredit>,
    timer: TimerSlot,
}

impl Queue {
    pub(crate) fn new(config: &Config) -> Self {
        let total = (config.total_rate > 0 && config.total_burst > 0).then(|| {
            let mut total = RateCredit::default();
            total.limit(Some(RateLimit { octets_per_second: config.total_rate, burst: config.total_burst }));
            total
        });
        Self { waiting: BTreeMap::new(), turns: 0, credit: None, total, timer: TimerSlot::default() }
    }

    /// Whether anything but contexts' own limits holds packets back.
    pub(crate) const fn is_limited(&self) -> bool {
        self.credit.is_some() || self.total.is_some()
    }

    /// The layer below takes more packets.
    pub(crate) fn grant(&mut self, credit: Credit) {
        if credit.messages > 0 {
            let credit = u64::from(credit.messages);
            self.credit = Some(self.credit.unwrap_or(0).saturating_add(credit));
        }
    }

    /// When a packet of `octets` may leave, if not now. `Err`: when the layer below says so.
    fn wait(&mut self, octets: u64, now: Instant) -> Result<Option<Instant>, ()> {
        if self.credit == Some(0) {
            return Err(());
        }
        Ok(self.total.as_mut().and_then(|total| total.wait(octets, now)))
    }

    fn on_sent(&mut self, octets: u64) {
        if let Some(credit) = &mut self.credit {
            *credit = credit.saturating_sub(1);
        }
        if let Some(total) = &mut self.total {
            total.on_sent(octets);
        }
    }
}

impl Xtp {
    /// The smaller goes first.
    pub(super) fn priority(&mut self, handle: Handle) -> u32 {
        let context = self.table.context(handle);
        let sort = context.and_then(|it| it.modes.priority);
        sort.map_or(NONE, u32::from)
    }

    /// Puts a context that has something to send into the queue.
    pub(super) fn enqueue(&mut self, handle: Handle) {
        let priority = self.priority(handle);
        let Some(context) = self.table.context(handle) else {
            return;
        };
        if context.wants_to_send() && !core::mem::replace(&mut context.queued, true) {
            self.queue.turns += 1;
            let turn = self.queue.turns;
            self.queue.waiting.insert((priority, turn), handle);
        }
    }

    /// Lets those in the queue send, a packet at a time, for as long as packets may leave.
    pub(super) fn serve(&mut self, cx: &mut Context<'_>) {
        while let Some((&place, &handle)) = self.queue.waiting.first_key_value() {
            let Some(context) = self.table.context(handle) else {
                self.queue.waiting.remove(&place);
                continue;
            };
            let octets = context.next_octets();
            match self.queue.wait(octets, cx.now()) {
                Err(()) => break,
                Ok(Some(at)) => {
                    cx.set_timer(&mut self.queue.timer, TOTAL, at);
                    break;
                }
                Ok(None) => {}
            }
            self.queue.waiting.remove(&place);
            let mut sent = false;
            self.with(handle, cx, |it, ctx| {
                it.queued = false;
                it.dirty = true;
                match it.emit(ctx) {
                    Emission::Sent => sent = true,
                    Emission::Rate(at) => it.timers.set(Timer::Rate, at, ctx.cx),
                    Emission::Nothing | Emission::Alloc | Emission::Window | Emission::Stranger => {}
                }
            });
            if sent {
                self.queue.on_sent(octets);
                self.enqueue(handle);
            }
        }
    }
}
