//! What Linux's packet layer says to an interface of X.25: one octet, and perhaps a packet.
//!
//! | | |
//! |---|---|
//! | Specification | Linux, `Documentation/networking/x25-iface.rst`: 00 and a packet is data; 01 asks for the link, and says that it stands; 02 ends it, and says that it has ended; 03 sets parameters |
//! | Above | one user, the packet layer over whole packets ([`crate::x25::PacketCarrier::Frames`]): up and down are those of the link |
//! | Below | an interface of the kernel whose hardware type is X.25 (a TUN device, `kumiki_io::tun`), one unit for each of its packets |
//! | Left out | parameters, which are not answered; sending before the kernel has asked for the link, and asking for it ourselves |
//!
//! The kernel asks for the link when it has something to send or the interface comes up, and we always have one.

use kumiki_graph::{
    Above, Below, Context, Handle, Indication, Key, Manage, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitRequest,
};
use kumiki_octets::Message;

#[cfg(test)]
mod tests;

/// What the octet says.
mod kind {
    pub(super) const DATA: u8 = 0;
    pub(super) const CONNECT: u8 = 1;
    pub(super) const DISCONNECT: u8 = 2;
    pub(super) const PARAMETERS: u8 = 3;
}

/// The layer.
#[derive(Debug, Default)]
pub struct X25Iface {
    /// The kernel has asked for the link.
    is_up: bool,
}

impl X25Iface {
    fn say(kind: u8, cx: &mut Context<'_>) {
        let unit = Unit::of(Message::from_octets(&[kind]));
        cx.down(Below(0), Request::Unit(Box::new(unit)));
    }

    fn tell(&mut self, is_up: bool, cx: &mut Context<'_>) {
        let report = if is_up { Report::Up } else { Report::Down };
        if core::mem::replace(&mut self.is_up, is_up) && is_up {
            // It starts over: what stood before stands no longer.
            cx.up(Above(0), Indication::Report(Box::new(Report::Down)));
        }
        cx.up(Above(0), Indication::Report(Box::new(report)));
    }
}

impl Protocol for X25Iface {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        let Some(request) = request.of_unit_data() else {
            return cx.drop("an interface has no sessions");
        };
        match request {
            UnitRequest::Unit(_) if !self.is_up => {
                cx.drop("packet before the kernel has asked for the link");
                // So the packet layer does not wait for an answer to its RESTART, and starts over with Up.
                cx.up(Above(0), Indication::Report(Box::new(Report::Down)));
            }
            UnitRequest::Unit(mut unit) => {
                unit.data.push_octets(&[kind::DATA]);
                cx.down(Below(0), Request::Unit(unit));
            }
            UnitRequest::Manage(manage) => {
                if let Manage::Limits = *manage {
                    cx.down(Below(0), Request::Manage(manage));
                } else {
                    cx.drop("nothing to manage here");
                }
            }
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let Some(indication) = indication.of_unit_data() else {
            return cx.drop("an interface has no sessions");
        };
        match indication {
            UnitIndication::Unit(unit) => {
                let mut data = unit.data;
                let mut first = [0];
                if !data.copy_to(0, &mut first) || data.pop(1).is_err() {
                    return cx.drop("nothing at all");
                }
                match first {
                    [kind::DATA] if self.is_up => {
                        cx.up(Above(0), Indication::Unit(Box::new(Unit::of(data))));
                    }
                    [kind::DATA] => cx.drop("packet of a link that does not stand"),
                    [kind::CONNECT] => {
                        Self::say(kind::CONNECT, cx);
                        self.tell(true, cx);
                    }
                    [kind::DISCONNECT] => {
                        Self::say(kind::DISCONNECT, cx);
                        self.tell(false, cx);
                    }
                    [kind::PARAMETERS] => cx.drop("parameters, which are not taken"),
                    _ => cx.drop("an octet that says nothing known"),
                }
            }
            UnitIndication::Credit(credit) => {
                let session = Handle::default();
                cx.up(Above(0), Indication::Credit { session, credit });
            }
            UnitIndication::Report(report) => match *report {
                Report::Down if self.is_up => self.tell(false, cx),
                // The link is up when the kernel asks for it.
                Report::Up | Report::Down => {}
                Report::Limits { unit, burst } => {
                    let unit = unit.saturating_sub(1);
                    let report = Report::Limits { unit, burst };
                    cx.up(Above(0), Indication::Report(Box::new(report)));
                }
                Report::Route { .. } | Report::Unreachable { .. } | Report::Special(_) => {}
            },
        }
    }
}
