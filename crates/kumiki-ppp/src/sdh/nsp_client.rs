//! The node's side of the Node Switch Protocol: how the driver comes to its address.

use kumiki_graph::{Context, Duration, Instant, TimerSlot, Token};
use kumiki_settings::Settings;
use kumiki_wire::ppp::mapos::{Address, Width, nsp};

use super::{frame, transmit};

/// What can be set of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Timers {
    /// From a request for our address without an answer to the next (RFC 2173 section 4.1).
    #[setting(positive)]
    pub retry: Duration,
    /// From a request that was answered to the next, by which the switch knows that we are there.
    #[setting(positive)]
    pub verify: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        Self { retry: Duration::from_secs(5), verify: Duration::from_secs(30) }
    }
}

/// Asks, and knows what was answered.
#[derive(Debug)]
pub(super) struct Client {
    timers: Timers,
    width: Width,
    /// When the last request left.
    asked: Instant,
    /// Whether the address was confirmed since the line came up.
    confirmed: bool,
    /// What was assigned last.
    own: Option<Address>,
    timer: TimerSlot,
}

impl Client {
    pub(super) fn new(width: Width, timers: Timers) -> Self {
        Self { timers, width, asked: Instant::ZERO, confirmed: false, own: None, timer: TimerSlot::default() }
    }

    /// Our address.
    pub(super) const fn own(&self) -> Option<Address> {
        self.own
    }

    /// Sends a request, and will do so again.
    pub(super) fn ask(&mut self, cx: &mut Context<'_>) {
        self.asked = cx.now();
        let next = self.asked + self.timers.retry;
        cx.set_timer(&mut self.timer, Token::default(), next);
        let to = Address::local_control(self.width);
        transmit(frame::nsp(to, nsp::Header::REQUEST), cx);
    }

    /// An address is assigned; whether it is another one, or the first since the line came up.
    pub(super) fn assign(&mut self, own: Address, cx: &mut Context<'_>) -> bool {
        let news = self.own != Some(own) || !self.confirmed;
        (self.own, self.confirmed) = (Some(own), true);
        let next = (self.asked + self.timers.verify).max(cx.now());
        cx.set_timer(&mut self.timer, Token::default(), next);
        news
    }

    /// The line is down: nobody is asked until it is up again. The address is kept, to be verified then.
    pub(super) fn cut(&mut self, cx: &mut Context<'_>) {
        self.confirmed = false;
        cx.clear_timer(&mut self.timer);
    }
}
