//! A program that does nothing: it stands in a graph from which this run's load uses another.

use kumiki_graph::{Above, Below, Context, Indication, Protocol, Request, Service, Shape};

/// The names of programs that a graph may have without the load using them.
pub const NAMES: [&str; 7] = ["ttcp", "netperf", "xtp_test", "tcp_test", "ftam_user", "ftam_keeper", "blocks"];

/// The program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle;

impl Protocol for Idle {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::STREAM, Service::CONNECTION, Service::UNIT_DATA],
            below: (1, 1),
            keys: Vec::new(),
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a program has no user");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        // That a line is up is told to all.
        if !matches!(indication, Indication::Report(_)) {
            cx.drop("the program is idle");
        }
    }
}
