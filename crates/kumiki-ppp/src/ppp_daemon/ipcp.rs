//! What the options of IPCP mean to us (RFC 1332 section 3, RFC 1877).

use core::net::Ipv4Addr;
use std::collections::BTreeSet;

use kumiki_graph::{Address, Rng};
use kumiki_wire::ppp::ppp::control::Item;
use kumiki_wire::ppp::ppp::ipcp::{Opt, Server, kind};
use kumiki_wire::ppp::ppp::protocol;

use super::config::Ipv4;
use super::lcp::say;
use super::log::End;
use super::machine::{Actions, MachineAction, Negotiator, OptionVerdict, option};

const NONE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const SERVERS: [Server; 2] = [Server::PrimaryDns, Server::SecondaryDns];

/// The options of IPCP.
#[derive(Debug)]
pub(super) struct Ipcp {
    config: Ipv4,
    /// Our address as it is asked for; `None`: the peer rejected it.
    local: Option<Ipv4Addr>,
    /// The name servers as they are asked for.
    servers: [Option<Ipv4Addr>; 2],
    heard: Option<Ipv4Addr>,
    theirs: Option<Ipv4Addr>,
    /// Whether the peer has been reminded of its address.
    has_reminded: bool,
}

fn octets(opt: Opt<'_>) -> Vec<u8> {
    option(opt.len(), |out| opt.emit(out))
}

fn some(address: Ipv4Addr) -> Option<Ipv4Addr> {
    Some(address).filter(|address| *address != NONE)
}

fn known(address: Option<Ipv4Addr>) -> Address {
    address.map_or(Address::NONE, Address::from)
}

impl Ipcp {
    pub(super) fn new(config: Ipv4) -> Self {
        Self { config, local: None, servers: [None; 2], heard: None, theirs: None, has_reminded: false }
    }

    /// Both addresses, while IPCP is Opened. One that the peer would not speak of is what is configured.
    pub(super) fn addresses(&self) -> (Address, Address) {
        let local = self.local.and_then(some).or_else(|| some(self.config.local));
        let remote = self.theirs.and_then(some).or_else(|| some(self.config.remote));
        (known(local), known(remote))
    }

    /// The name servers that the peer told.
    pub(super) fn servers(&self) -> [Option<Ipv4Addr>; 2] {
        self.servers.map(|server| server.and_then(some))
    }

    fn judge_address(&mut self, opt: Opt<'_>, address: Ipv4Addr, acts: &mut Actions) -> OptionVerdict {
        let (remote, is_free) = (self.config.remote, self.config.accept_remote);
        let is_host = !address.is_broadcast() && !address.is_multicast();
        if address == NONE && remote == NONE {
            say(acts, format!("we refuse {opt}: we have no address to give"));
            return OptionVerdict::Reject;
        }
        let ours = self.local.and_then(some);
        if address != NONE && is_host && ours != Some(address) && (remote == NONE || address == remote || is_free) {
            self.heard = Some(address);
            return OptionVerdict::Ack;
        }
        if remote == NONE {
            say(acts, format!("we refuse {opt}: it cannot be the peer's"));
            return OptionVerdict::Reject;
        }
        if address != NONE {
            say(acts, format!("we refuse {opt}: the peer is to be {remote}"));
        }
        OptionVerdict::Nak(octets(Opt::Address(remote)))
    }

    fn judge_server(&self, server: Server, asked: Ipv4Addr, acts: &mut Actions) -> OptionVerdict {
        let given =
            SERVERS.iter().zip(self.config.dns).find(|(own, _)| **own == server).and_then(|(_, address)| address);
        match given {
            Some(address) if address == asked => OptionVerdict::Ack,
            Some(address) => OptionVerdict::Nak(octets(Opt::Server(server, address))),
            None => {
                let opt = Opt::Server(server, asked);
                say(acts, format!("we refuse {opt}: we know of no such server"));
                OptionVerdict::Reject
            }
        }
    }
}

impl Negotiator for Ipcp {
    const PROTOCOL: u16 = protocol::IPCP;

    fn begin(&mut self, _: &mut Rng) {
        self.local = Some(self.config.local);
        self.servers = [self.config.ask_dns.then_some(NONE); 2];
        self.theirs = None;
        self.has_reminded = false;
    }

    fn wishes(&self) -> Vec<u8> {
        let address = self.local.map(Opt::Address);
        let servers = SERVERS.iter().zip(self.servers);
        let servers = servers.filter_map(|(server, address)| Some(Opt::Server(*server, address?)));
        address.into_iter().chain(servers).flat_map(octets).collect()
    }

    fn hear(&mut self) {
        self.heard = None;
    }

    fn judge(&mut self, item: Item<'_>, _: &mut Rng, acts: &mut Actions) -> OptionVerdict {
        let opt = Opt::of(item);
        match opt {
            Opt::Address(address) => self.judge_address(opt, address, acts),
            Opt::Server(server @ (Server::PrimaryDns | Server::SecondaryDns), asked) => {
                self.judge_server(server, asked, acts)
            }
            // RFC 1332 section 3.1: deprecated; IP-Address is to be used.
            Opt::Addresses { .. } => {
                say(acts, format!("we refuse {opt}: addr is to be used"));
                OptionVerdict::Reject
            }
            Opt::VanJacobson { .. } | Opt::Compression { .. } => {
                say(acts, format!("we refuse {opt}: we do not compress"));
                OptionVerdict::Reject
            }
            Opt::Server(Server::PrimaryNbns | Server::SecondaryNbns, _) | Opt::Other(_) => {
                say(acts, format!("we refuse {opt}: we know of no such thing"));
                OptionVerdict::Reject
            }
        }
    }

    fn right(&self, kind: u8) -> Option<Vec<u8>> {
        (kind == kind::ADDRESS).then(|| octets(Opt::Address(self.config.remote)))
    }

    /// RFC 1332 section 3.3: where the peer's address matters and it does not say it. Once: it may have none.
    fn missing(&mut self, seen: &BTreeSet<u8>) -> Vec<u8> {
        let is_needed = self.config.remote != NONE && !self.config.accept_remote;
        if !is_needed || seen.contains(&kind::ADDRESS) || core::mem::replace(&mut self.has_reminded, true) {
            return Vec::new();
        }
        octets(Opt::Address(self.config.remote))
    }

    fn commit(&mut self) {
        self.theirs = self.heard;
    }

    fn nakked(&mut self, item: Item<'_>, asked: bool, _: &mut Rng, acts: &mut Actions) {
        let opt = Opt::of(item);
        match opt {
            Opt::Address(address) if asked => {
                let own = self.local.unwrap_or(NONE);
                let is_free = self.config.local == NONE || self.config.accept_local;
                let is_host = !address.is_broadcast() && !address.is_multicast();
                if own != NONE {
                    let text = format!("the peer will not have addr {own}; it would take {address}");
                    say(acts, text);
                }
                if is_free && is_host {
                    self.local = Some(address);
                }
            }
            Opt::Server(server, address) if asked => {
                let own = SERVERS.iter().zip(&mut self.servers);
                for (_, place) in own.filter(|(own, _)| **own == server) {
                    *place = Some(address);
                }
            }
            // What the peer would like to be asked for is nothing that we need.
            Opt::Address(_)
            | Opt::Server(..)
            | Opt::Addresses { .. }
            | Opt::VanJacobson { .. }
            | Opt::Compression { .. }
            | Opt::Other(_) => {}
        }
    }

    fn rejected(&mut self, kind: u8, acts: &mut Actions) {
        let name = match kind {
            kind::ADDRESS => {
                self.local = None;
                if self.config.local == NONE {
                    let end =
                        End::Pointless { protocol: "IPCP", why: "we have no address, and the peer gives us none" };
                    acts.push(MachineAction::Fail(protocol::IPCP, end));
                }
                "addr"
            }
            kind::PRIMARY_DNS | kind::SECONDARY_DNS => {
                let [first, second] = &mut self.servers;
                if kind == kind::PRIMARY_DNS {
                    *first = None;
                } else {
                    *second = None;
                }
                "ms-dns"
            }
            _ => "what we did not ask for",
        };
        say(acts, format!("the peer rejects {name}: it cannot be negotiated"));
    }
}
