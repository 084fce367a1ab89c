//! The settings of MAPOS: the driver, the end node, the switch.

use core::net::Ipv4Addr;

use kumiki_graph::Duration;
use kumiki_wire::ppp::mapos::{Address, MAX_INFORMATION, Subnet, Width};

use super::kinds::{ADDRESS, Built, address};
use super::reader::Reader;
use super::{BuildError, Place};
use kumiki_ppp::mapos::{self, Mapos};
use kumiki_ppp::mapos_switch::{self, MaposSwitch};
use kumiki_ppp::sdh::{self, Sdh};

/// The words for [`Width`].
const WIDTHS: [(&str, Width); 2] = [("mapos", Width::Eight), ("mapos16", Width::Sixteen)];
const SOME: Duration = Duration::from_nanos(1);
const HDLC: &str = "an HDLC address such as \"0x23\", of MAPOS 16 such as \"0x5007\"";

fn hdlc(text: &str) -> Option<Address> {
    text.parse().ok()
}

fn width(settings: &Reader<'_>, width: &mut Width) -> Result<(), BuildError> {
    const MEANING: &str = "which MAPOS: addresses of 8 bits (RFC 2171) or of 16 (RFC 2175)";
    settings.word("version", MEANING, &WIDTHS, width)
}

pub(super) fn sdh(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = sdh::Config::default();
    width(settings, &mut config.width)?;
    config.address = settings.text(
        "address",
        "our MAPOS address, where no switch is to be asked for it",
        HDLC,
        "asked for (NSP)",
        hdlc,
    )?;
    settings.octets(
        "mtu",
        "the most octets of information in a frame",
        1..=MAX_INFORMATION.try_into().unwrap_or(u64::MAX),
        &mut config.mtu,
    )?;
    settings.table("nsp", |table| {
        table.time(
            "retry",
            "from a request for our address without an answer to the next",
            SOME,
            &mut config.nsp.retry,
        )?;
        table.time(
            "verify",
            "from a request that was answered to the next, by which the switch knows that we are there",
            SOME,
            &mut config.nsp.verify,
        )
    })?;
    settings.time(
        "hold",
        "how long a protocol that PPP has stopped to pass stays PPP's, where MAPOS may have it too",
        Duration::ZERO,
        &mut config.hold,
    )?;
    let node = Sdh::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

pub(super) fn mapos(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = mapos::Config::new(Ipv4Addr::UNSPECIFIED);
    config.addresses = settings.texts("addresses", "our own IP addresses on the link", ADDRESS, address)?;
    config.known =
        settings.pairs("known", "<address>", "next hops that are known without asking", HDLC, |next_hop, at| {
            Some((address(next_hop)?, hdlc(at)?))
        })?;
    settings.time("timeout", "how long what was learned is good", SOME, &mut config.timeout)?;
    settings.number(
        "tries",
        "requests, one a second, after which what waits for a next hop is given up",
        1..=255,
        &mut config.tries,
    )?;
    settings.number("entries", "next hops that are known or asked for at a time", 1..=65535, &mut config.entries)?;
    settings.number("unknown", "next hops among them that are asked for", 1..=65535, &mut config.unknown)?;
    settings.number("queue", "datagrams that may wait for one next hop", 0..=65535, &mut config.queue)?;
    settings.table("unarp", |table| {
        table.number(
            "count",
            "UNARPs sent when the port has come up (RFC 2176 section 3.3)",
            0..=255,
            &mut config.unarps,
        )?;
        table.time("interval", "from one of them to the next", SOME, &mut config.unarp_interval)
    })?;
    if config.addresses.is_empty() {
        return Err(settings.missing("addresses", "a list of our own IPv4 addresses"));
    }
    let node = Mapos::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

pub(super) fn mapos_switch(settings: &Reader<'_>, place: Place<'_>) -> Built {
    let mut version = Width::Eight;
    width(settings, &mut version)?;
    let (mut switch_bits, mut number) = (0_u8, 0_u16);
    settings.number(
        "switch_bits",
        "how many bits of an address are the switch number, the same in all switches; 5 at most, of MAPOS 16 12",
        0..=12,
        &mut switch_bits,
    )?;
    settings.number("number", "our switch number, another one than that of any other switch", 0..=4095, &mut number)?;
    let subnet = Subnet::new(version, switch_bits)
        .ok_or_else(|| settings.wrong("switch_bits", &switch_bits, "0 to 5 in version \"mapos\""))?;
    let mut config = mapos_switch::Config::new(subnet, number);
    let numbers = settings.pairs(
        "ports",
        "<below>",
        "the number of a port, by the name of its line; others are numbered 3, 5, 7 in order",
        "an odd number such as \"0x09\" for a layer below",
        |below, number| {
            let number = u16::from_str_radix(number.strip_prefix("0x")?, 16).ok()?;
            let known = place.below.contains(&below);
            known.then(|| (below.to_owned(), number))
        },
    )?;
    config.ports = numbers.into_iter().collect();
    settings.number("cost", "what a route costs more for having come by one of our lines", 1..=15, &mut config.cost)?;
    settings.number("routes", "routes that are kept, our own among them", 1..=65535, &mut config.routes)?;
    settings.maybe_time(
        "shutdown",
        "how long after the start the switch says that nothing can be reached by it, and is silent from then on",
        Duration::ZERO,
        &mut config.shutdown,
        "never",
    )?;
    settings.table("timers", |table| timers(table, &mut config.timers))?;
    let node = MaposSwitch::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn timers(settings: &Reader<'_>, timers: &mut mapos_switch::Timers) -> Result<(), BuildError> {
    for (key, meaning, least, place) in [
        (
            "full_update",
            "from one update of the whole table to the next (FULL_UPDATE_TIME)",
            SOME,
            &mut timers.full_update,
        ),
        (
            "expiration",
            "how long a route is believed without an update (EXPIRATION_TIMER)",
            SOME,
            &mut timers.expiration,
        ),
        ("gc", "how long a route that has ended is advertised as unreachable (GC_TIMER)", SOME, &mut timers.gc),
        (
            "forward_delay",
            "how long a port must have been confirmed before broadcasts go through it (FORWARD_DELAY_TIMER)",
            Duration::ZERO,
            &mut timers.forward_delay,
        ),
        (
            "port_expiration",
            "how long a switch downstream is believed without a confirmation (PORT_EXPIRATION_TIMER)",
            SOME,
            &mut timers.port_expiration,
        ),
        ("node", "how long a node is believed to be there without a request (RFC 2173)", SOME, &mut timers.node),
        (
            "triggered",
            "the least time between two triggered updates, and between two answers to one neighbour",
            Duration::ZERO,
            &mut timers.triggered,
        ),
    ] {
        settings.time(key, meaning, least, place)?;
    }
    Ok(())
}
