//! By which way segments go: the gateways of a source route, and past a layer that has stepped out of their path.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.9.2.1 |
//! | Left out | resets without a connection, which go as IP routes them |
//!
//! All other IP options are IP's; no layer passes them up.

use kumiki_graph::AccessPoint;
use kumiki_wire::inet::SourceRoute;

use super::segment::{Segment, SegmentPath};
use super::session::{Ctx, Session};

/// By which way the segments of one connection go.
#[derive(Debug, Default)]
pub(crate) struct Route {
    pub(crate) gateways: Option<Box<SourceRoute>>,
    /// The user said so (MUST-51), and nothing that comes changes it (MUST-52).
    chosen: bool,
    /// The largest text of a segment that both ends can take, before options.
    pub(crate) text: u32,
    /// The layer below adds nothing, and has said how to send past it.
    pub(crate) bypass: Option<AccessPoint>,
}

impl Route {
    /// How the segments go.
    pub(crate) fn by(&self) -> SegmentPath<'_> {
        SegmentPath { route: self.gateways.as_deref(), bypass: self.bypass }
    }

    /// Octets of the IP option.
    pub(crate) fn option_octets(&self) -> u32 {
        option_octets(self.gateways.as_deref())
    }
}

/// Octets of the IP option that names `route`.
pub(crate) fn option_octets(route: Option<&SourceRoute>) -> u32 {
    let gateways = route.map_or(0, |route| route.gateways.len());
    // Three octets, and four for each gateway; the first is the datagram's destination, which is then the last.
    if gateways == 0 {
        return 0;
    }
    u32::try_from((3 + 4 * gateways).next_multiple_of(4)).unwrap_or(40)
}

impl Session {
    /// The user names the route (MUST-51).
    pub(crate) fn choose_route(&mut self, route: Box<SourceRoute>) {
        self.route.gateways = Some(route);
        self.route.chosen = true;
    }

    /// A segment of this connection came by a source route: its way back is ours (MUST-53), and a later one takes the
    /// place of an earlier (SHLD-24).
    pub(super) fn learn_route(&mut self, segment: &Segment, ctx: &Ctx<'_, '_>) {
        if segment.route.is_none()
            || self.route.chosen
            || !ctx.shared.config.return_routes
            || segment.route == self.route.gateways
        {
            return;
        }
        self.route.gateways.clone_from(&segment.route);
        if self.route.text > 0 {
            self.set_mss(self.route.text);
        }
    }
}
