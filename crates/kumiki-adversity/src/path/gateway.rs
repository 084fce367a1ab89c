//! A gateway that source routes go by.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 791 section 3.1 (loose source and record route); RFC 1122 section 3.2.1.8 |
//! | Why here | our routers refuse what has a source route to follow, as most do now (RFC 7126 section 4.3) |
//! | Left out | strict routes; telling anybody of what cannot go on |
//!
//! What is for the gateway goes on to the next address of its route, in whose place it leaves its own. Everything else
//! passes.

use core::net::Ipv4Addr;

use kumiki_graph::Instant;
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::{Checksum, Message};
use kumiki_wire::inet::ipv4::options::kind;
use kumiki_wire::inet::ipv4::{self, Options};

use super::{HOST, LINE};

/// Its address.
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 254);

/// Stands before the host that calls.
#[derive(Default)]
pub(super) struct Gateway {
    forwarded: u64,
}

impl Element for Gateway {
    fn offer(&mut self, _: Instant, port: usize, mut unit: Unit, out: &mut Outlet) {
        if let Unit::Frame { data, .. } = &mut unit {
            self.forwarded += u64::from(forward(data));
        }
        out.put(HOST + LINE - port, unit);
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn poll(&mut self, _: Instant, _: &mut Outlet) {}

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("forwarded", self.forwarded)]
    }
}

/// The address that a datagram with these options goes to in the end, where its route is not at its end.
pub(crate) fn last_hop(options: &Options) -> Option<Ipv4Addr> {
    let (_, option) = route(options)?;
    let (&[_, length, pointer], hops) = option.split_first_chunk::<3>()?;
    let last = hops.last_chunk::<4>()?;
    (pointer <= length).then(|| (*last).into())
}

/// The loose source route among `options`, and where it begins in them.
fn route(options: &Options) -> Option<(usize, Vec<u8>)> {
    let mut at = 0;
    for option in options.items().map_while(Result::ok) {
        if option.kind == kind::LOOSE_SOURCE_ROUTE {
            return Some((at, option.octets.to_vec()));
        }
        at += option.octets.len();
    }
    None
}

/// Sends a datagram for the gateway on; whether it was one.
fn forward(datagram: &mut Message) -> bool {
    let mut octets = [0; ipv4::MAX_LEN];
    let have = datagram.len().min(octets.len());
    let Some(front) = octets.get_mut(..have) else {
        return false;
    };
    if !datagram.copy_to(0, front) {
        return false;
    }
    // What is damaged is for others to throw away.
    let Ok((mut header, len)) = ipv4::Header::parse(front, datagram.len()) else {
        return false;
    };
    if header.destination != ADDRESS {
        return false;
    }
    let Some((next, options)) = step(&header.options) else {
        return false;
    };
    (header.destination, header.options) = (next, options);
    header.time_to_live = header.time_to_live.saturating_sub(1);
    if datagram.pop_header(len).is_err() {
        return false;
    }
    header.emit_summed(datagram.push_header(len));
    // What was known covered the old header too.
    if matches!(datagram.meta().checksum, Checksum::Sum(_)) {
        datagram.meta_mut().checksum = Checksum::Unknown;
    }
    true
}

/// The next address of a route, and the options with our own in its place.
fn step(options: &Options) -> Option<(Ipv4Addr, Options)> {
    let (at, mut option) = route(options)?;
    let &[_, length, pointer, ..] = option.as_slice() else {
        return None;
    };
    if pointer > length {
        return None;
    }
    // The pointer counts from 1.
    let place = option.get_mut(usize::from(pointer).checked_sub(1)?..)?.first_chunk_mut::<4>()?;
    let next = Ipv4Addr::from(core::mem::replace(place, ADDRESS.octets()));
    *option.get_mut(2)? = pointer.checked_add(4)?;
    let mut octets = options.as_octets().to_vec();
    octets.get_mut(at..at + option.len())?.copy_from_slice(&option);
    Some((next, Options::new(&octets)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(destination: Ipv4Addr, option: &[u8]) -> Message {
        let options = Options::new(option).unwrap();
        let header = ipv4::Header {
            total_length: 20 + u16::try_from(options.len()).unwrap(),
            destination,
            options,
            ..ipv4::Header::default()
        };
        let mut data = Message::new();
        header.emit_summed(data.push(header.len()));
        data
    }

    /// RFC 791: the pointer is relative to this option, and its smallest legal value is 4; the recorded address takes
    /// the place of the source address just used.
    #[test]
    fn a_datagram_goes_on_to_the_next_address_and_leaves_the_gateways() {
        let mut data = datagram(ADDRESS, &[131, 7, 4, 10, 0, 0, 2]);
        assert_eq!(last_hop(&Options::new(&[131, 7, 4, 10, 0, 0, 2]).unwrap()), Some([10, 0, 0, 2].into()));
        assert!(forward(&mut data));
        let expected = ipv4::Header {
            time_to_live: 63,
            ..ipv4::Header::parse(&datagram([10, 0, 0, 2].into(), &[131, 7, 8, 10, 0, 0, 254]).to_vec(), 28).unwrap().0
        };
        let mut octets = [0; 28];
        expected.emit_summed(&mut octets);
        assert_eq!(data.to_vec(), octets);
        assert!(!forward(&mut data), "it is for nobody here any more");
        assert_eq!(last_hop(&expected.options), None);
    }

    #[test]
    fn what_has_no_route_to_follow_is_let_be() {
        for option in [&[][..], &[131, 7, 8, 10, 0, 0, 2], &[131, 6, 4, 10, 0, 0], &[1, 7, 7, 4]] {
            let mut data = datagram(ADDRESS, option);
            let before = data.to_vec();
            assert!(!forward(&mut data));
            assert_eq!(data.to_vec(), before);
        }
    }
}
