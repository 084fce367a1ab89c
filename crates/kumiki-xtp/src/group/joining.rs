//! Groups on a host: who listens to which, calls to them, and what has begun before we heard of it.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P37 and P38 |
//! | Left out | leaving a group below before what is left of its contexts is forgotten |

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;

use kumiki_graph::{Below, Context, Handle, Manage, Request};
use kumiki_wire::xtp::Options;

use crate::Xtp;
use crate::context::{ContextParameters, Ctx, Endpoint};
use crate::packet::{Arrived, Body};
use crate::table::Entry;

use super::IgnoredSenders;

/// The groups that contexts and passive opens of ours are in.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    members: BTreeMap<IpAddr, u32>,
    pub(crate) deaf: IgnoredSenders,
}

impl Xtp {
    /// Somebody here wants what is sent to `group`.
    pub(crate) fn join_group(&mut self, group: IpAddr, cx: &mut Context<'_>) {
        let members = self.groups.members.entry(group).or_default();
        *members += 1;
        if *members == 1 {
            manage(group, true, cx);
        }
    }

    /// One of them wants it no longer.
    pub(crate) fn leave_group(&mut self, group: IpAddr, cx: &mut Context<'_>) {
        let Some(members) = self.groups.members.get_mut(&group) else {
            return;
        };
        *members -= 1;
        if *members == 0 {
            self.groups.members.remove(&group);
            manage(group, false, cx);
        }
    }

    /// A packet for a group that belongs to no context: what has begun can be joined (P38).
    pub(crate) fn overheard(&mut self, packet: Arrived, cx: &mut Context<'_>) -> bool {
        let key = packet.header.key;
        let of_a_stream = packet.has(Options::MULTI)
            && packet.group
            && !packet.has(Options::END)
            && !key.is_returned()
            && matches!(packet.body, Body::Data { .. } | Body::Control { .. });
        if !of_a_stream {
            return false;
        }
        let name = (packet.source, key.own());
        let groups = self.table.groups_heard(packet.destination);
        let now = cx.now();
        let deaf = &mut self.groups.deaf;
        let wants = groups.into_iter().find(|(at, _)| deaf.hears(name, at.port(), now));
        let Some((at, listener)) = wants else {
            return false;
        };
        let Some(found) = self.table.listener(listener) else {
            return false;
        };
        let from = packet.source.ip();
        // Of whom only the MAC address is known, nobody can say that it is the wanted one.
        let other = |it: SocketAddr| from != Some(it.ip());
        if found.waiting >= found.backlog || found.remote.is_some_and(other) {
            return false;
        }
        self.begin_late(at, listener, packet, cx);
        true
    }

    /// A context that asks to join.
    fn begin_late(&mut self, group: SocketAddr, listener: Handle, packet: Arrived, cx: &mut Context<'_>) {
        // Who is only known by a MAC address hears us by the group, and says who it is.
        let unknown = IpAddr::from(Ipv4Addr::UNSPECIFIED);
        let remote = SocketAddr::new(packet.source.ip().unwrap_or(unknown), 0);
        let Some(handle) = self.begin_receiving((group, remote), listener, &packet, true, cx) else {
            cx.drop("no room for a context");
            return;
        };
        self.with(handle, cx, |it, ctx| {
            if it.on_packet(packet, ctx).is_ok() {
                it.answer_in_slot(false, ctx);
            } else {
                it.end(None, ctx);
            }
        });
    }

    /// A context that receives what `remote` sends to `group`, with a place in the backlog.
    pub(crate) fn begin_receiving(
        &mut self,
        (group, remote): (SocketAddr, SocketAddr),
        listener: Handle,
        packet: &Arrived,
        late: bool,
        cx: &mut Context<'_>,
    ) -> Option<Handle> {
        if late && self.shared.memory.is_spent(self.shared.config.memory) {
            self.shared.counters.out_of_memory += 1;
            return None;
        }
        let handle = self.make_room(cx)?;
        let found = self.table.listener(listener)?;
        found.waiting += 1;
        let (above, user, quality) = (found.above, found.user, found.quality);
        let own = self.shared.config.address;
        let mut ctx = Ctx { cx, shared: &mut self.shared };
        let begin = ContextParameters {
            handle,
            above,
            user,
            local: group,
            remote,
            quality: &quality,
            unit: 0,
            passive: true,
            theirs: packet.header.options,
        };
        let mut endpoint = Endpoint::new(&begin, &mut ctx);
        endpoint.listener = Some(listener);
        endpoint.via = Some(packet.source);
        endpoint.peer = Some(packet.header.key.own());
        endpoint.become_receiver(group, late, own);
        // What is echoed begins here, wherever the numbers of the transmitter are by now.
        endpoint.answering.echo = packet.header.sync;
        if remote.ip().is_unspecified() {
            endpoint.path.remote = group.ip();
        }
        let to = endpoint.path.remote.into();
        self.table.fill(handle, Entry::Context(Box::new(endpoint)));
        self.join_group(group.ip(), cx);
        self.unrouted.push(handle);
        cx.down(Below(0), Request::Manage(Box::new(Manage::Route { to })));
        Some(handle)
    }
}

fn manage(group: IpAddr, member: bool, cx: &mut Context<'_>) {
    let group = group.into();
    let manage = Manage::Group { group, member };
    cx.down(Below(0), Request::Manage(Box::new(manage)));
}
