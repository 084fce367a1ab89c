//! What the options of IPV6CP mean to us (RFC 5072 section 4).

use std::collections::BTreeSet;

use kumiki_graph::{Address, Rng};
use kumiki_wire::ppp::ppp::control::Item;
use kumiki_wire::ppp::ppp::ipv6cp::{InterfaceIdentifier, Opt, kind};
use kumiki_wire::ppp::ppp::protocol;

use super::config::Ipv6;
use super::lcp::say;
use super::log::End;
use super::machine::{Actions, MachineAction, Negotiator, OptionVerdict, option};

const NONE: InterfaceIdentifier = InterfaceIdentifier::NONE;
/// The "u" bit of the first octet: not of an EUI-64 that is unique in the world.
const UNIVERSAL: u8 = 0x02;

/// The options of IPV6CP.
#[derive(Debug)]
pub(super) struct Ipv6cp {
    config: Ipv6,
    /// Ours as it is asked for.
    local: InterfaceIdentifier,
    /// Whether it is asked for at all.
    asks: bool,
    heard: InterfaceIdentifier,
    theirs: InterfaceIdentifier,
    /// What the last Nak that we sent suggested.
    nakked: InterfaceIdentifier,
    has_reminded: bool,
}

fn octets(opt: Opt<'_>) -> Vec<u8> {
    option(opt.len(), |out| opt.emit(out))
}

fn address(identifier: InterfaceIdentifier) -> Address {
    if identifier.is_none() { Address::NONE } else { Address::from(identifier.link_local()) }
}

impl Ipv6cp {
    pub(super) const fn new(config: Ipv6) -> Self {
        Self { config, local: NONE, asks: true, heard: NONE, theirs: NONE, nakked: NONE, has_reminded: false }
    }

    /// The link-local addresses of both ends, while IPV6CP is Opened.
    pub(super) fn addresses(&self) -> (Address, Address) {
        (address(self.local), address(self.theirs))
    }

    /// A random identifier that neither end has.
    fn fresh(&self, rng: &mut Rng) -> InterfaceIdentifier {
        let used = [NONE, self.local, self.nakked];
        let draws = [rng.next_u64(), rng.next_u64(), rng.next_u64()].map(|draw| {
            let [first, rest @ ..] = draw.to_be_bytes();
            let [b, c, d, e, f, g, h] = rest;
            InterfaceIdentifier([first & !UNIVERSAL, b, c, d, e, f, g, h])
        });
        let fresh = draws.into_iter().find(|draw| !used.contains(draw));
        fresh.unwrap_or(InterfaceIdentifier([0, 0, 0, 0, 0, 0, 0, 1]))
    }
}

impl Negotiator for Ipv6cp {
    const PROTOCOL: u16 = protocol::IPV6CP;

    fn begin(&mut self, rng: &mut Rng) {
        // Ours stays from one negotiation to the next, so that addresses made of it do.
        self.local = match self.config.identifier {
            Some(identifier) => identifier,
            None if self.local.is_none() => self.fresh(rng),
            None => self.local,
        };
        self.asks = true;
        self.theirs = NONE;
        self.has_reminded = false;
    }

    fn wishes(&self) -> Vec<u8> {
        if self.asks { octets(Opt::InterfaceIdentifier(self.local)) } else { Vec::new() }
    }

    fn hear(&mut self) {
        self.heard = NONE;
    }

    fn judge(&mut self, item: Item<'_>, rng: &mut Rng, acts: &mut Actions) -> OptionVerdict {
        let opt = Opt::of(item);
        match opt {
            Opt::InterfaceIdentifier(identifier) => {
                // Ours is never zero, so that the case of two zeros does not come up.
                if !identifier.is_none() && identifier != self.local {
                    self.heard = identifier;
                    return OptionVerdict::Ack;
                }
                if !identifier.is_none() {
                    say(acts, format!("we refuse {opt}: it is our own"));
                }
                self.nakked = self.fresh(rng);
                OptionVerdict::Nak(octets(Opt::InterfaceIdentifier(self.nakked)))
            }
            Opt::Compression { .. } | Opt::Other(_) => {
                say(acts, format!("we refuse {opt}: we do not compress"));
                OptionVerdict::Reject
            }
        }
    }

    fn right(&self, kind: u8) -> Option<Vec<u8>> {
        // Any other than ours would do; this one differs in a bit.
        let [front @ .., last] = self.local.0;
        let [a, b, c, d, e, f, g] = front;
        let other = InterfaceIdentifier([a & !UNIVERSAL, b, c, d, e, f, g, last ^ 1]);
        (kind == kind::INTERFACE_IDENTIFIER && !other.is_none()).then(|| octets(Opt::InterfaceIdentifier(other)))
    }

    /// RFC 5072 section 4.1: the option is needed; who is reminded in vain does not have it.
    fn missing(&mut self, seen: &BTreeSet<u8>) -> Vec<u8> {
        if seen.contains(&kind::INTERFACE_IDENTIFIER) || core::mem::replace(&mut self.has_reminded, true) {
            return Vec::new();
        }
        self.right(kind::INTERFACE_IDENTIFIER).unwrap_or_default()
    }

    fn commit(&mut self) {
        self.theirs = self.heard;
    }

    fn nakked(&mut self, item: Item<'_>, asked: bool, rng: &mut Rng, acts: &mut Actions) {
        let Opt::InterfaceIdentifier(identifier) = Opt::of(item) else {
            return;
        };
        if !asked {
            return;
        }
        let own = Opt::InterfaceIdentifier(self.local);
        let other = Opt::InterfaceIdentifier(identifier);
        say(acts, format!("the peer will not have {own}; it would take {other}"));
        let is_new = !identifier.is_none() && identifier != self.nakked;
        self.local = if is_new { identifier } else { self.fresh(rng) };
    }

    fn rejected(&mut self, kind: u8, acts: &mut Actions) {
        let name = if kind == kind::INTERFACE_IDENTIFIER {
            self.asks = false;
            // Without an identifier there is no address on the link.
            let end = End::Pointless { protocol: "IPV6CP", why: "the peer negotiates no interface identifier" };
            acts.push(MachineAction::Fail(protocol::IPV6CP, end));
            "addr"
        } else {
            "what we did not ask for"
        };
        say(acts, format!("the peer rejects {name}: it cannot be negotiated"));
    }
}
