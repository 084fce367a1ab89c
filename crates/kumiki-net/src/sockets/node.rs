//! The program on top of a host's layers: its sockets.
//!
//! | | |
//! |---|---|
//! | Specification | the sockets of POSIX, as tokio shows them |
//! | Above | nothing: those who have sockets share the table with it |
//! | Below | TCP and UDP, for each version of IP that the host has |
//! | Left out | urgent data as anything but what it is in the stream (RFC 6093) |

use std::sync::Arc;

use kumiki_graph::{
    Above, Below, Context, Handle, Indication, Instant, Protocol, Request, Service, Shape, TimerSlot, Token,
};

use super::table::Table;
use crate::stack::Shared;

/// The timer of flows that are idle; the driver's token is the default one.
const IDLE: Token = Token { session: Handle { index: u32::MAX, generation: u32::MAX }, kind: 1 };

/// The node: see the module.
#[derive(Debug)]
pub(crate) struct Node {
    shared: Arc<Shared>,
    timer: TimerSlot,
    /// When it expires.
    due: Option<Instant>,
}

impl Node {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, timer: TimerSlot::default(), due: None }
    }

    /// Hands down what the sockets have left for it.
    fn hand_down(&mut self, cx: &mut Context<'_>) {
        let shared = Arc::clone(&self.shared);
        let mut table = shared.lock();
        table.has_rung = false;
        self.settle(&mut table, cx);
        let woken = core::mem::take(&mut table.effects.woken);
        drop(table);
        shared.wake(woken);
    }

    /// Hands down what is there, and looks which flows are over.
    fn settle(&mut self, table: &mut Table, cx: &mut Context<'_>) {
        while let Some((below, request)) = table.effects.requests.pop_front() {
            cx.down(below, request);
        }
        table.all_taken();
        if let Some(next) = table.pass_time(cx.now())
            && self.due.is_none_or(|due| next < due)
        {
            cx.set_timer(&mut self.timer, IDLE, next);
            self.due = Some(next);
        }
    }
}

impl Protocol for Node {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::STREAM, Service::UNIT_DATA], below: (1, 4), ..Shape::default() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.hand_down(cx);
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        let shared = Arc::clone(&self.shared);
        let mut table = shared.lock();
        table.pass_time(cx.now());
        table.heard(from, indication);
        self.settle(&mut table, cx);
        let woken = core::mem::take(&mut table.effects.woken);
        drop(table);
        shared.wake(woken);
    }

    // The driver lets it look.
    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == IDLE {
            self.due = None;
        }
        self.hand_down(cx);
    }

    // Nobody stands above.
    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
}
