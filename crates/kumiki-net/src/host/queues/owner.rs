//! Which of the stacks of a host a packet is for.

use core::hash::Hasher as _;
use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use kumiki_graph::Rng;
use kumiki_link::{Flow, FlowKeys};
use kumiki_wire::inet::ipv4::protocol;
use siphasher::sip::SipHasher13;

use super::ports::BoundPorts;

/// The stack that has the UDP sockets, and the groups that they are in.
const OF_SOCKETS: usize = 0;

/// The rule: the same for all stacks of a host.
#[derive(Debug)]
pub(in crate::host) struct Owner {
    stacks: usize,
    /// Nobody outside foretells whose a flow is, so nobody can give all to one.
    key: [u64; 2],
    /// Flows of UDP between ports that nobody has bound are somebody's, too.
    is_gateway: bool,
    udp: Arc<BoundPorts>,
}

impl Owner {
    pub(in crate::host) fn new(stacks: usize, is_gateway: bool, udp: Arc<BoundPorts>, rng: &mut Rng) -> Self {
        Self { stacks, key: [rng.next_u64(), rng.next_u64()], is_gateway, udp }
    }

    /// Whose connection it is that we have between these.
    pub(in crate::host) fn of_pair(&self, local: SocketAddr, remote: SocketAddr) -> usize {
        let [k0, k1] = self.key;
        let mut hasher = SipHasher13::new_with_keys(k0, k1);
        for end in [local, remote] {
            match end.ip().to_canonical() {
                IpAddr::V4(it) => hasher.write(&it.octets()),
                IpAddr::V6(it) => hasher.write(&it.octets()),
            }
            hasher.write(&end.port().to_be_bytes());
        }
        self.part(hasher.finish())
    }

    /// Whose a packet is that came by the queue of the stack `here`; fragments of one packet have one owner, who may
    /// have to hand them on.
    pub(super) fn of(&self, sight: &FlowKeys, here: usize) -> usize {
        let FlowKeys { flow, fragment, about } = sight;
        if let Some(it) = fragment {
            return self.of_fragments(flow, it.identification);
        }
        match about {
            // What an error is about was sent by its owner.
            Some(it) => self.of_flow(&reversed(it), here),
            None => self.of_flow(flow, here),
        }
    }

    /// Whose a whole packet of `flow` is.
    pub(super) fn of_flow(&self, flow: &Flow, here: usize) -> usize {
        let &Flow { source, destination, protocol, ports: [from, to] } = flow;
        let pair = || self.of_pair(SocketAddr::new(destination, to), SocketAddr::new(source, from));
        match protocol {
            protocol::TCP => pair(),
            protocol::UDP if self.udp.has(to) => OF_SOCKETS,
            protocol::UDP if self.is_gateway => pair(),
            // Who is in which group is known where the sockets are.
            _ if destination.is_multicast() => OF_SOCKETS,
            // Any stack answers an echo, and says that nobody has a port.
            _ => here,
        }
    }

    fn of_fragments(&self, flow: &Flow, identification: u32) -> usize {
        let end = |ip, bits: u32| {
            let [high, low, ..] = (bits << 16).to_be_bytes();
            SocketAddr::new(ip, u16::from_be_bytes([high, low]))
        };
        self.of_pair(end(flow.source, identification), end(flow.destination, identification >> 16))
    }

    /// An even part of all hashes for each (Lemire, "Fast random integer generation in an interval", section 3).
    fn part(&self, hash: u64) -> usize {
        let stacks = u128::try_from(self.stacks).unwrap_or(1);
        usize::try_from((u128::from(hash) * stacks) >> 64).unwrap_or(0)
    }
}

const fn reversed(flow: &Flow) -> Flow {
    let &Flow { source, destination, protocol, ports: [from, to] } = flow;
    Flow { source: destination, destination: source, protocol, ports: [to, from] }
}
