//! What a host's sockets are doing.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use kumiki_inet::tcp::Tcp;

use super::Host;
use crate::sockets::{Phase, Socket};

/// Which transport a socket is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetstatEntry {
    /// Of which transport.
    pub transport: Transport,
    /// Octets that have come and were not read; of a listener, connections that were not accepted.
    pub unread: usize,
    /// The local address.
    pub local: SocketAddr,
    /// The peer's.
    pub peer: Option<SocketAddr>,
    /// The state, as RFC 9293 section 3.3.2 names it; UDP has none.
    pub state: Option<&'static str>,
}

/// What the sockets of a host are doing, in the order in which they were made; last the connections that no socket has
/// any more.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Netstat(pub Vec<NetstatEntry>);

impl Netstat {
    pub(super) fn of(host: &Host) -> Self {
        let (mut states, mut calls) = (BTreeMap::new(), BTreeMap::new());
        let (id, stack) = host.with(|it| (it.id, it.stack.clone()));
        if let Some(host) = host.net.0.world.borrow().host(id) {
            for tcp in ["tcp", "tcp6"].into_iter().filter_map(|name| host.graph.find::<Tcp>(name)) {
                states.extend(tcp.snapshots().map(|(local, remote, it)| ((local, remote), it.state)));
                calls.extend(tcp.calls().map(|(user, local)| ((user.index, user.generation), local)));
            }
        }
        let mut table = stack.0.lock();
        let mut entries = Vec::new();
        for handle in table.sockets.handles() {
            match table.sockets.get(handle) {
                Some(Socket::Stream(it)) => {
                    // The socket hears of its own address with the answer to its call.
                    let called_from = calls.get(&(handle.index, handle.generation));
                    let local = called_from.copied().filter(|_| it.phase == Phase::Calling).unwrap_or(it.local);
                    let state = states.remove(&(local, it.remote));
                    let state = state.or_else(|| (it.phase == Phase::Calling).then_some("SYN-SENT"));
                    // What TCP has forgotten is over, whoever still holds its socket.
                    entries.extend(state.map(|state| NetstatEntry {
                        transport: Transport::Tcp,
                        unread: it.unread(),
                        local: it.shown(local),
                        peer: Some(it.shown(it.remote)),
                        state: Some(state),
                    }));
                }
                Some(Socket::Listener(it)) => entries.push(NetstatEntry {
                    transport: Transport::Tcp,
                    unread: it.ready.len(),
                    local: it.local(),
                    peer: None,
                    state: Some("LISTEN"),
                }),
                Some(Socket::Datagrams(it)) => entries.push(NetstatEntry {
                    transport: Transport::Udp,
                    unread: it.unread(),
                    local: it.local(),
                    peer: it.remote.map(|remote| it.shown(remote)),
                    state: None,
                }),
                Some(Socket::Gateway | Socket::Offer(_) | Socket::Flow(_)) | None => {}
            }
        }
        entries.extend(states.into_iter().map(|((local, peer), state)| NetstatEntry {
            transport: Transport::Tcp,
            unread: 0,
            local,
            peer: Some(peer),
            state: Some(state),
        }));
        Self(entries)
    }

    /// How many connections are in this state, such as `"ESTABLISHED"`.
    #[must_use]
    pub fn in_state(&self, state: &str) -> usize {
        self.0.iter().filter(|it| it.state == Some(state)).count()
    }

    /// Those with this address of the peer.
    pub fn with_peer(&self, peer: IpAddr) -> impl Iterator<Item = &NetstatEntry> {
        self.0.iter().filter(move |it| it.peer.is_some_and(|it| it.ip() == peer))
    }
}

impl fmt::Display for Netstat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Proto Recv-Q Local Address            Foreign Address          State")?;
        for it in &self.0 {
            let transport = match it.transport {
                Transport::Tcp => "tcp",
                Transport::Udp => "udp",
            };
            let peer = it.peer.map_or_else(|| "*:*".to_owned(), |it| it.to_string());
            let (local, state) = (it.local.to_string(), it.state.unwrap_or_default());
            let line = format!("{transport:<5} {:>6} {local:<24} {peer:<24} {state}", it.unread);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
