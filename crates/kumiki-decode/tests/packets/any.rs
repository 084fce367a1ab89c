//! No octets make a dissector panic, and what is shown of them stays within what was there.

use kumiki_decode::capture::Link;
use kumiki_decode::{Decoder, Registry, show};
use proptest::prelude::*;

use kumiki_wire::inet::icmpv6::Message;

use super::arrange::{cells, cells34, ethernet, icmp6, pdu, plain, plain6, record, tcp, udp};

fn within(layer: &'static str, octets: &[u8], total: usize) -> Result<(), TestCaseError> {
    let mut decoder = Decoder::new();
    for number in 1..3 {
        let mut seen = record(number, Link::Named(layer), octets);
        seen.original_len = total;
        let packet = decoder.decode(&seen);
        let total = total.max(octets.len());
        for layer in packet.layers.iter().filter(|layer| layer.buffer == 0) {
            prop_assert!(layer.offset <= total);
        }
        for rest in packet.rest.iter().filter(|rest| rest.buffer == 0) {
            prop_assert!(rest.octets.len() <= rest.length);
            let found = octets.get(rest.offset.min(octets.len())..).unwrap_or_default();
            prop_assert!(found.starts_with(&rest.octets));
        }
        let line = show::line(&seen, &packet, None);
        prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        let _ = show::tree(&seen, &packet, None);
        let json = show::json(&seen, &packet);
        prop_assert!(json.len() > 2);
    }
    let _ = decoder.unfinished();
    Ok(())
}

proptest! {
    #[test]
    fn any_octets_can_be_read_as_any_layer(octets: Vec<u8>, which: prop::sample::Index, more in 0usize..9000) {
        let all: Vec<&str> = Registry::new().all().map(|one| one.name).collect();
        let layer = all[which.index(all.len())];
        within(layer, &octets, octets.len() + more)?;
    }

    #[test]
    fn any_damage_can_be_read(
        which in 0usize..8, places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: prop::sample::Index,
    ) {
        let datagram = plain(17, &udp(&[1; 60]));
        let segment = plain(6, &tcp(Default::default(), b"data"));
        let (layer, mut octets) = match which {
            0 => ("ethernet", ethernet(0x0800, &segment)),
            1 => ("ip", segment),
            2 => ("cells", cells(100, &pdu(&datagram)).concat()),
            3 => ("aal5", pdu(&datagram)),
            4 => ("ip", plain6(0, &[&[58, 0, 5, 2, 0, 0, 1, 0][..], &icmp6(Message::RouterSolicitation, &[1, 1, 2, 0, 0, 0, 0, 1])].concat())),
            5 => ("aal34-cell", cells34(100, 3, &datagram)[0][5..].to_vec()),
            6 => ("mapos", [&[1, 3, 0xfe, 5, 2, 1, 0, 0][..], &[0, 2, 0, 0, 0, 0, 0, 0x41, 0, 0, 0, 0xe0, 0, 0, 0, 0, 0, 0, 0, 17].repeat(5)].concat()),
            _ => ("erf", [&[0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 0, 164, 0, 0, 0, 148, 0, 0, 6, 64][..], &pdu(&datagram)].concat()),
        };
        let total = octets.len();
        for (place, value) in places {
            let at = place.index(octets.len());
            octets[at] = value;
        }
        octets.truncate(cut.index(2 * total));
        within(layer, &octets, total)?;
    }
}
