//! Between a PPP link and a TUN device: datagrams as they are, each under the protocol that its version says.

use kumiki_graph::{
    Above, Below, Context, Indication, Key, Protocol, Request, Service, Shape, Unit, UnitIndication, UnitOptions,
};
use kumiki_wire::numbering::PPP_PROTOCOL;
use kumiki_wire::ppp::ppp::protocol;

/// The PPP driver.
const LINK: Below = Below(0);
/// The TUN device.
const KERNEL: Below = Below(1);

/// The node; it stands on the PPP driver and on the TUN device, in this order.
#[derive(Debug, Default)]
pub(super) struct Relay;

impl Protocol for Relay {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::UNIT_DATA],
            below: (2, 2),
            keys: vec![Key::of(PPP_PROTOCOL, protocol::IPV4), Key::of(PPP_PROTOCOL, protocol::IPV6)],
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        // What else is said, the owner asks the daemon for.
        let Some(UnitIndication::Unit(mut unit)) = indication.of_unit_data() else {
            return;
        };
        let version = unit.data.front_at_least(1).first().map(|octet| octet >> 4);
        let number = match version {
            Some(4) => protocol::IPV4,
            Some(6) => protocol::IPV6,
            _ => {
                cx.drop("no datagram");
                return;
            }
        };
        if from == LINK {
            // A datagram under the other version's number has not been agreed on (RFC 1661 section 3.5).
            if unit.options.under == Some(Key::of(PPP_PROTOCOL, number)) {
                cx.down(KERNEL, Request::Unit(Box::new(Unit::of(unit.data))));
            } else {
                cx.drop("datagram of another protocol");
            }
            return;
        }
        let unit = Unit {
            options: UnitOptions { under: Some(Key::of(PPP_PROTOCOL, number)), ..UnitOptions::NONE },
            ..Unit::of(unit.data)
        };
        cx.down(LINK, Request::Unit(Box::new(unit)));
    }
}
