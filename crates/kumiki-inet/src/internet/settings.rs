//! What settings of both versions of IP, and of VNET, say that no single field shows.

use core::str::FromStr;
use kumiki_octets::Vc;

use kumiki_graph::{Address, Rate};
use kumiki_settings::{BuildError, Key, Reader, Value};

use super::route::Bits;
use super::{Route, RouteTarget};

/// A network, or an address and its network: "10.0.0.1/24".
pub(crate) fn network<A: FromStr + Bits>(text: &str) -> Option<(A, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let prefix = prefix.parse().ok().filter(|&prefix| prefix <= A::LEN)?;
    Some((address.parse().ok()?, prefix))
}

/// The interfaces, each in a table under the name of its layer below. One that is the only one needs no table of its
/// own: its settings, `own`, stand beside those of the node.
pub(crate) fn interfaces<I>(
    reader: &Reader<'_>,
    below: &[&str],
    own: &[&'static str],
    read: impl Fn(&str, &Reader<'_>) -> Result<I, BuildError>,
) -> Result<Vec<I>, BuildError> {
    let mut interfaces = Vec::new();
    reader.tables("interface", "<below>", |below, table| {
        interfaces.push(read(below, table)?);
        Ok(())
    })?;
    let here = own.iter().filter(|key| reader.is_set(key)).count();
    if here > 0 || interfaces.is_empty() || reader.lists() {
        let below = below.first().copied().unwrap_or_default();
        interfaces.insert(0, read(below, reader)?);
    }
    Ok(interfaces)
}

/// The routes, by their networks, `any` standing for all of a version.
pub(crate) fn routes<A: FromStr + Bits>(
    reader: &Reader<'_>,
    below: &[&str],
    expected: &'static str,
    any: A,
) -> Result<Vec<Route<A>>, BuildError> {
    const MEANING: &str = "Which router leads to a network, or by which layer below its hosts are reached straight.";
    let mut routes = Vec::new();
    let route = |to: &str, via: &str| {
        let (network, prefix) = if to == "default" { (any, 0) } else { network(to)? };
        let by_name = || below.contains(&via).then(|| RouteTarget::Interface(via.to_owned()));
        let via = via.parse().ok().map(RouteTarget::Gateway).or_else(by_name)?;
        Some(Route { network, prefix, via })
    };
    reader.pairs(&Key::new("routes", MEANING), "<network>", expected, route, &mut routes)?;
    Ok(routes)
}

/// Who knows the link addresses of next hops: one of the words that `word` understands, or a table of circuits.
pub(crate) fn neighbours<A: FromStr, N: Default>(
    reader: &Reader<'_>,
    (meaning, expected, circuits): (&'static str, &'static str, &'static str),
    word: impl FnOnce(&str) -> Option<N>,
    table: impl FnOnce(Vec<(A, Address)>) -> N,
) -> Result<N, BuildError> {
    const KEY: &str = "neighbours";
    const CIRCUITS: Key = Key::new(KEY, "The circuits of next hops, where `neighbours` is a table.");
    let (mut known, mut pairs) = (None, Vec::new());
    let found = reader.peek(KEY);
    let is_table = matches!(found, Some(Value::Table(_)));
    if !is_table {
        reader.maybe_text(&Key::new(KEY, meaning).unset("one"), expected, word, &mut known)?;
    }
    // Where it is not set: for the list of settings.
    if is_table || found.is_none() {
        let pair = |address: &str, vc: &str| address.parse().ok().zip(Vc::circuit(vc));
        reader.pairs(&CIRCUITS, "<address>", circuits, pair, &mut pairs)?;
    }
    Ok(if is_table { table(pairs) } else { known.unwrap_or_default() })
}

/// How many ICMP errors are sent.
pub(crate) fn errors(rate: &mut Rate, reader: &Reader<'_>) -> Result<(), BuildError> {
    const MOST: u64 = 1_000_000_000;
    reader.table("errors", |table| {
        let key = Key::new("per_second", "ICMP errors sent each second in the long run; 0: none.");
        table.number(&key, 0..=MOST, &mut rate.per_second)?;
        table.number(&Key::new("burst", "ICMP errors sent at once."), 0..=MOST, &mut rate.burst)
    })
}
