//! The host interface of a board: what its program says goes to the protocols on the board, and back, as it is.
//!
//! | | |
//! |---|---|
//! | Specification | none: paper 4's task HIF |
//! | Above | programs of the host, told apart by their access points |
//! | Below | the uppermost protocol on the board |
//! | Left out | the bus between host and board, which is prices: octets are moved by DMA or by a CPU, as a profile has it |
//!
//! It decides nothing. It is a node of its own so that crossing from host to board is a task, with a price, as it is on
//! the board.

use kumiki_graph::{Above, Below, Context, Indication, Protocol, Request, Service, Shape};

#[cfg(test)]
mod tests;

/// The interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hif;

impl Protocol for Hif {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::CONNECTION), needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn passes_users_through(&self) -> bool {
        true
    }

    fn push(&mut self, Above(user): Above, request: Request, cx: &mut Context<'_>) {
        cx.down(Below(user), request);
    }

    fn pop(&mut self, Below(user): Below, indication: Indication, cx: &mut Context<'_>) {
        cx.up(Above(user), indication);
    }
}
