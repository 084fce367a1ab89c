//! IP that stands for a host whose own IP is elsewhere.

use super::*;

const KERNEL: &str = "kernel";

/// IP on the devices `eth`, where the network is, and `kernel`, where the host is.
fn stand_in(change: impl FnOnce(&mut Config)) -> (Bench, DeviceId, DeviceId) {
    let mut config = Config { host: Some(KERNEL.to_owned()), ..host(1500) };
    change(&mut config);
    let mut bench = Bench::new();
    let (eth, kernel) = (bench.device("eth"), bench.device(KERNEL));
    bench.node("ip", &["eth", KERNEL], Ip::new(config).unwrap());
    bench.start();
    bench.requests();
    (bench, eth, kernel)
}

fn from_host(change: impl FnOnce(&mut Header), data: &[u8]) -> Vec<u8> {
    datagram(
        |header| {
            (header.source, header.destination) = (A, B);
            change(header);
        },
        data,
    )
}

/// What was sent, and by which device.
fn sent(bench: &mut Bench) -> Vec<(DeviceId, Vec<u8>)> {
    bench.sent().into_iter().map(|(device, unit)| (device, unit.data.to_vec())).collect()
}

#[test]
fn what_the_host_sends_leaves_as_it_is() {
    let (mut bench, eth, kernel) = stand_in(|_| {});
    // A last hop, a fragment, an option: none of it is for IP here.
    let options = Options::new(&[1, 1, 1, 0]).unwrap();
    let datagrams = [
        from_host(|header| header.time_to_live = 1, &[1, 2, 3]),
        from_host(|header| (header.more_fragments, header.identification) = (true, 7), &[0; 8]),
        from_host(|header| header.options = options, &[4]),
        from_host(|header| header.destination = Ipv4Addr::BROADCAST, &[5]),
        from_host(|header| header.destination = Ipv4Addr::new(239, 1, 2, 3), &[6]),
    ];
    for octets in datagrams {
        bench.octets(kernel, &octets);
        assert_eq!(sent(&mut bench), [(eth, octets)]);
    }
}

#[test]
fn what_is_for_the_host_goes_there_as_it_came() {
    let (mut bench, eth, kernel) = stand_in(|_| {});
    let datagrams = [
        datagram(|header| header.time_to_live = 1, &[1, 2, 3]),
        // Nobody puts fragments together here, and a protocol that nobody knows is the host's affair.
        datagram(|header| (header.fragment_offset, header.identification) = (3, 7), &[0; 8]),
        datagram(|header| header.protocol = 253, &[4]),
        datagram(|header| header.destination = Ipv4Addr::new(10, 0, 0, 255), &[5]),
        datagram(|header| header.destination = Ipv4Addr::new(224, 0, 0, 251), &[6]),
    ];
    for octets in datagrams {
        bench.octets(eth, &octets);
        assert_eq!(sent(&mut bench), [(kernel, octets)]);
    }
    // What is for others is not, unless all is.
    let other = datagram(|header| header.destination = Ipv4Addr::new(10, 0, 0, 3), &[7]);
    bench.octets(eth, &other);
    assert!(bench.sent().is_empty());
    let (mut bench, eth, kernel) = stand_in(|config| config.any_destination = true);
    bench.octets(eth, &other);
    assert_eq!(sent(&mut bench), [(kernel, other)]);
}

#[test]
fn what_cannot_leave_is_told_to_the_host() {
    let (mut bench, eth, kernel) = stand_in(|_| {});
    bench.octets(kernel, &from_host(|header| header.destination = Ipv4Addr::new(192, 0, 2, 1), &[1; 8]));
    let told = sent(&mut bench);
    let [(device, octets)] = told.as_slice() else { panic!("{told:?}") };
    let (header, icmp) = parsed(octets);
    assert_eq!((*device, header.destination, header.protocol), (kernel, A, 1));
    assert_eq!(icmp[..2], [3, 0]);
    // Too long for the network: as a router of its own would say.
    let whole = |header: &mut Header| header.dont_fragment = true;
    bench.octets(kernel, &from_host(whole, &[1; 2000]));
    let told = sent(&mut bench);
    let (_, icmp) = parsed(&told[0].1);
    assert_eq!((told[0].0, icmp[0], icmp[1], icmp[6..8].to_vec()), (kernel, 3, 4, vec![0x05, 0xdc]));
    // In pieces, where it may be.
    bench.octets(kernel, &from_host(|_| {}, &[1; 2000]));
    let pieces = sent(&mut bench);
    assert_eq!(
        pieces.iter().map(|(device, octets)| (*device, octets.len())).collect::<Vec<_>>(),
        [(eth, 1500), (eth, 540)]
    );
}

#[test]
fn a_router_with_a_host_behind_it_forwards_what_is_for_others() {
    let (mut bench, eth, kernel) = stand_in(|config| config.forwarding = true);
    let octets = datagram(|header| header.destination = Ipv4Addr::new(10, 0, 0, 3), &[7]);
    bench.octets(eth, &octets);
    let forwarded = sent(&mut bench);
    let (header, _) = parsed(&forwarded[0].1);
    assert_eq!((forwarded[0].0, header.time_to_live), (eth, 63));
    bench.octets(eth, &datagram(|_| {}, &[1]));
    assert_eq!(sent(&mut bench)[0].0, kernel);
}

proptest! {
    #[test]
    fn no_octets_of_either_side_make_it_panic(octets: Vec<u8>, is_host: bool) {
        let (mut bench, eth, kernel) = stand_in(|_| {});
        let device = if is_host { kernel } else { eth };
        bench.octets(device, &octets);
        bench.octets(device, &datagram(|header| header.protocol = 1, &octets));
        bench.octets(device, &from_host(|header| header.protocol = 1, &octets));
    }
}
