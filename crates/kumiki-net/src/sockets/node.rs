//! The program on top of a host's layers: its sockets.
//!
//! | | |
//! |---|---|
//! | Specification | the sockets of POSIX, as tokio shows them |
//! | Above | nothing: those who have sockets share the table with it |
//! | Below | TCP and UDP, for each version of IP that the host has |
//! | Left out | urgent data as anything but what it is in the stream (RFC 6093) |

use std::sync::Arc;

use kumiki_graph::{Above, Below, Context, Indication, Protocol, Request, Service, Shape, Token};

use crate::stack::Shared;

/// The node: see the module.
#[derive(Debug)]
pub(crate) struct Node(pub(crate) Arc<Shared>);

impl Node {
    /// Hands down what the sockets have left for it.
    fn hand_down(&self, cx: &mut Context<'_>) {
        let mut table = self.0.lock();
        table.has_rung = false;
        while let Some((below, request)) = table.effects.requests.pop_front() {
            cx.down(below, request);
        }
    }
}

impl Protocol for Node {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::STREAM, Service::UNIT_DATA], below: (1, 4), ..Shape::default() }
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        let mut table = self.0.lock();
        table.heard(from, indication);
        while let Some((below, request)) = table.effects.requests.pop_front() {
            cx.down(below, request);
        }
        let woken = core::mem::take(&mut table.effects.woken);
        drop(table);
        self.0.wake(woken);
    }

    // The driver lets it look.
    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        self.hand_down(cx);
    }

    // Nobody stands above.
    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
}
