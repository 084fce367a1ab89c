//! The headers of a packet are walked along (RFC 8200 section 4), to what it carries or to a fragment.

use kumiki_graph::{Context, Unit};
use kumiki_octets::{Checksum, Message};
use kumiki_wire::Malformed;
use kumiki_wire::inet::icmpv6::{kind, parameter};
use kumiki_wire::inet::ipv6::extension::{Chain, Extension, FRAGMENT_LEN, Fragment, Unknown};
use kumiki_wire::inet::ipv6::{self, Header, next_header};

use super::family::OriginalDatagram;
use super::{Ip, MAX_HEADERS};
use crate::internet::IcmpError;

/// Octets that are gathered at first to look for the end of the headers.
const FRONT: usize = 128;

/// Where a walk along the headers has led.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Walk {
    /// To what the packet carries: its number, where it begins, and where the field stands that has the number.
    Upper(u8, usize, usize),
    /// To a fragment header, and where it stands.
    Fragment(Fragment, usize),
    /// To something for which the packet is to be dropped.
    Drop(&'static str),
    /// As `Drop`, and its source is to be told: code and pointer.
    Problem(u8, usize),
    /// The octets that were gathered are too few.
    Short,
}

/// What to do about the options in `extension`, where that is not to go on.
fn options(extension: &Extension<'_>, group: bool) -> Option<Walk> {
    for option in extension.options() {
        let Ok(option) = option else {
            return Some(Walk::Drop("option malformed"));
        };
        // None is known here, but for padding.
        match option.unknown() {
            Unknown::Skip => {}
            Unknown::Discard => return Some(Walk::Drop("option that asks for it")),
            Unknown::TellUnlessGroup if group => {
                return Some(Walk::Drop("option that asks for it"));
            }
            Unknown::Tell | Unknown::TellUnlessGroup => {
                return Some(Walk::Problem(parameter::OPTION, option.at));
            }
        }
    }
    None
}

/// Walks along the headers of a packet for us, which `group` says was sent to a group; `front` lies together.
fn walk(header: &Header, group: bool, front: &[u8]) -> Walk {
    let mut chain = Chain::new(header, front);
    for extension in chain.by_ref() {
        let extension = match extension {
            Ok(extension) => extension,
            Err(Malformed::Short { .. }) => return Walk::Short,
            Err(_) => return Walk::Drop("too many extension headers"),
        };
        let stop = match extension.kind {
            next_header::HOP_BY_HOP if extension.at != ipv6::LEN => {
                Some(Walk::Problem(parameter::NEXT_HEADER, extension.field))
            }
            next_header::HOP_BY_HOP | next_header::DESTINATION => options(&extension, group),
            next_header::ROUTING => extension
                .routing()
                .filter(|(_, left)| *left > 0)
                .map(|_| Walk::Problem(parameter::FIELD, extension.at + 2)),
            _ => match extension.fragment() {
                Some(fragment) if fragment.is_atomic() => None,
                Some(fragment) => {
                    return Walk::Fragment(fragment, extension.at);
                }
                None => None,
            },
        };
        if let Some(stop) = stop {
            return stop;
        }
    }
    let (protocol, at, field) = chain.upper();
    Walk::Upper(protocol, at, field)
}

/// Whether a fragment, whose header stands at `at` in `front`, has all headers if it is the first (RFC 7112).
fn has_all_headers(header: &Header, fragment: Fragment, at: usize, front: &[u8]) -> bool {
    if fragment.offset != 0 {
        return true;
    }
    let mut chain = Chain::new(header, front);
    let complete = chain.by_ref().all(|it| it.is_ok());
    let (_, end, _) = chain.upper();
    complete && end >= at + FRAGMENT_LEN && end < front.len()
}

impl Ip {
    /// Looks at the hop-by-hop options of a packet to be forwarded; whether it may.
    pub(super) fn pass_hop(&mut self, about: &OriginalDatagram, packet: &Message, cx: &mut Context<'_>) -> bool {
        let mut seen = packet.clone();
        let front = seen.front_at_least(MAX_HEADERS);
        let first = Chain::new(&about.header, front).next();
        let stop = match first {
            Some(Ok(extension)) => options(&extension, about.group),
            Some(Err(_)) => Some(Walk::Drop("extension header cut short")),
            None => None,
        };
        if let Some(stop) = stop {
            self.stop(about, stop, packet, cx);
        }
        stop.is_none()
    }

    /// Drops a packet for what a walk has met, and tells its source if it is to be told.
    fn stop(&mut self, about: &OriginalDatagram, walk: Walk, packet: &Message, cx: &mut Context<'_>) {
        self.counters.in_hdr_errors += 1;
        match walk {
            Walk::Drop(why) => cx.drop(why),
            Walk::Problem(code, at) => {
                cx.drop("header with a problem");
                self.error(about, IcmpError::Parameter(code, u32::try_from(at).unwrap_or(0)), packet, cx);
            }
            Walk::Short | Walk::Upper(..) | Walk::Fragment(..) => {
                cx.drop("extension header cut short");
            }
        }
    }

    /// Takes the packet for us in `unit`, which begins with its header.
    pub(super) fn take_ours(&mut self, about: &OriginalDatagram, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let packet = &mut unit.data;
        let header = &about.header;
        let group = header.destination.is_multicast();
        let mut walked = if Chain::knows(header.next_header) {
            walk(header, group, packet.front_at_least(FRONT))
        } else {
            Walk::Upper(header.next_header, ipv6::LEN, ipv6::NEXT_HEADER_OFFSET)
        };
        if walked == Walk::Short {
            walked = walk(header, group, packet.front_at_least(MAX_HEADERS));
        }
        match walked {
            Walk::Upper(protocol, at, field) => {
                self.deliver(about, (protocol, at, field), unit, cx);
            }
            Walk::Fragment(..) if about.reassembled => {
                self.stop(about, Walk::Drop("fragment in a fragment"), packet, cx);
            }
            Walk::Fragment(fragment, at) => {
                // What a device summed covers single fragments: of no use for the whole.
                packet.meta_mut().checksum = Checksum::Unknown;
                let front = packet.front_at_least((at + FRAGMENT_LEN + 1).max(FRONT));
                let complete = has_all_headers(header, fragment, at, front)
                    || has_all_headers(header, fragment, at, packet.front_at_least(MAX_HEADERS));
                if complete {
                    self.take_fragment(about, fragment, at, unit, cx);
                } else {
                    let problem = Walk::Problem(parameter::INCOMPLETE, 0);
                    self.stop(about, problem, packet, cx);
                }
            }
            Walk::Drop(_) | Walk::Problem(..) | Walk::Short => {
                self.stop(about, walked, packet, cx);
            }
        }
    }

    /// Hands what a whole packet carries to its user: its number, where it begins, and where the field stands that has
    /// the number.
    fn deliver(
        &mut self,
        about: &OriginalDatagram,
        (protocol, at, field): (u8, usize, usize),
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) {
        if protocol == next_header::ICMPV6 {
            let mut first = [0];
            let _ = unit.data.copy_to(at, &mut first);
            let [kind] = first;
            let discovery = (kind::ROUTER_SOLICITATION..=kind::REDIRECT).contains(&kind);
            if kind < 128 || discovery {
                // The headers were read, so they are there.
                let _ = unit.data.pop_header(at);
                if discovery {
                    self.discover(about, unit.data, cx);
                } else {
                    self.hear_error(&about.header, unit.data, cx);
                }
                return;
            }
        }
        if let Err(unit) = self.hand_up(about, (protocol, at), unit, cx) {
            if protocol == next_header::NONE {
                return;
            }
            self.counters.in_unknown_protos += 1;
            cx.drop("no user for the next header");
            if protocol != next_header::ICMPV6 {
                let trouble = IcmpError::Parameter(parameter::NEXT_HEADER, u32::try_from(field).unwrap_or(0));
                self.error(about, trouble, &unit.data, cx);
            }
        }
    }
}
