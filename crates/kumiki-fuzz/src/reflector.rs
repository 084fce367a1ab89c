//! A program on UDP that sends every datagram back to where it came from.

use core::net::SocketAddr;

use kumiki_graph::{Above, Address, Below, Context, Indication, Mode, Open, Protocol, Request, Service, Shape, Unit};

/// The program; its port is 7.
pub(crate) struct Reflector {
    version_6: bool,
}

impl Reflector {
    pub(crate) const fn new(version_6: bool) -> Self {
        Self { version_6 }
    }
}

impl Protocol for Reflector {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::UNIT_DATA], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let any = if self.version_6 { "[::]:7" } else { "0.0.0.0:7" };
        let open = Open {
            mode: Mode::Passive { backlog: 0 },
            local: Address::from(any.parse::<SocketAddr>().unwrap()),
            ..Open::default()
        };
        cx.down(Below(0), Request::Open(Box::new(open)));
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            let back = Unit { source: unit.destination, destination: unit.source, ..Unit::of(unit.data) };
            cx.down(Below(0), Request::Unit(Box::new(back)));
        }
    }
}
