//! A network of somebody else's making between the hosts: of routers, switches and lines, which decide themselves when
//! something arrives, and what.

use core::net::IpAddr;

use kumiki_graph::Instant;
use kumiki_inet::tcp;
use kumiki_octets::Message;

use super::net::{Net, SimError};

/// What stands between the hosts of a [`Net`]; see [`Net::with`]. Hosts are known by their places in what that is
/// given.
///
/// It is told of times in order, and asked for what has come to hosts and for its next deadline after each of them.
pub trait NetworkModel: Send {
    /// Lets everything happen until `now`.
    fn pass(&mut self, now: Instant);

    /// `host` sends `packet`, a datagram of IP, at the time that it was told last.
    fn send(&mut self, host: usize, packet: Message);

    /// The next packet that has come to a host, and which one.
    fn arrived(&mut self) -> Option<(usize, Message)>;

    /// When something happens in it next by itself.
    fn next_deadline(&mut self) -> Option<Instant>;

    /// Why it does not go on, if it does not: the run ends with it.
    fn failure(&self) -> Option<String>;
}

/// A host at the edge of a network of somebody else's making.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostBetween {
    /// Its name.
    pub name: String,
    /// Its addresses. Of several of IPv4 all are its own, and what says no other comes from the first.
    pub addresses: Vec<IpAddr>,
    /// The longest packet that it sends, in octets.
    pub mtu: u16,
    /// Whether every destination is its own that comes to it: see [`crate::gateway`].
    pub is_gateway: bool,
}

impl Net {
    /// A network of these hosts and no others, with `between` in the place of what there is otherwise: how far it is
    /// from one to another, and what gets there, is for `between` to say. Beside its hosts these names are `known`,
    /// each with its addresses. `tcp` is that of all hosts, as [`Net::set_tcp`] takes it.
    ///
    /// All else is as in other networks: hosts crash, are cut off from each other by [`Net::partition`] (whatever way
    /// there is between them), have [links](super::Link) of their own before what is between; [rules](Net::rule) see
    /// what hosts send. [`Net::digest`] and [`Net::packets`] are of what these hosts send. [`Net::set_latency`] and
    /// [`Host::set_latency_to`](super::Host::set_latency_to) mean nothing in it.
    ///
    /// # Errors
    /// [`SimError::Host`] where a host cannot be, as [`Net::host_at`] says.
    pub fn with(
        seed: u64,
        between: Box<dyn NetworkModel>,
        hosts: impl IntoIterator<Item = HostBetween>,
        known: impl IntoIterator<Item = (String, Vec<IpAddr>)>,
        tcp: Option<tcp::Config>,
    ) -> Result<Self, SimError> {
        let net = Self::new(seed);
        if let Some(tcp) = tcp {
            net.set_tcp(tcp);
        }
        for HostBetween { name, addresses, mtu, is_gateway } in hosts {
            net.add_host(&name, addresses, (mtu.into(), is_gateway))?;
        }
        for (name, addresses) in known {
            net.know(&name, addresses);
        }
        net.0.cloud.lock().between = Some(between);
        net.0.has_between.set(true);
        Ok(net)
    }
}
