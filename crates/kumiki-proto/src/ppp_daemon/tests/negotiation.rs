use core::net::Ipv4Addr;

use kumiki_graph::{Address, Duration};

use super::link::Link;
use crate::ppp_daemon::automaton::State;
use crate::ppp_daemon::{Config, End, Ipv4, Phase};

pub(super) fn addressed(local: [u8; 4], remote: [u8; 4]) -> Config {
    Config {
        ipv4: Some(Ipv4 {
            local: local.into(),
            remote: remote.into(),
            ..Ipv4::default()
        }),
        ..Config::default()
    }
}

pub(super) fn pair() -> [Config; 2] {
    [
        addressed([10, 0, 0, 1], [10, 0, 0, 2]),
        addressed([0; 4], [0; 4]),
    ]
}

pub(super) const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_link_comes_up_with_addresses_and_carries_datagrams() {
    let mut link = Link::new(pair());
    link.pass(SECOND);
    println!("{}", link.transcript());
    for end in 0..2 {
        assert_eq!(link.end(end).phase(), Phase::Network);
        assert_eq!(link.end(end).lcp_state(), State::Opened);
    }
    let (near, far) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let (near, far) = (Address::Ip4(near), Address::Ip4(far));
    assert_eq!(link.end(0).network(0x0021), Some((near, far)));
    assert_eq!(link.end(1).network(0x0021), Some((far, near)));
    let (ours, theirs) = link.end(0).network(0x0057).unwrap();
    assert_eq!(link.end(1).network(0x0057), Some((theirs, ours)));
    assert!(link.carries(0, &[0x45, 1]) && link.carries(1, &[0x45, 2]));
    link.close(0);
    link.pass(SECOND * 10);
    println!("{}", link.transcript());
    assert_eq!(link.ended(0), Some(End::Asked));
    let message = b"it was asked to end".to_vec();
    assert_eq!(link.ended(1), Some(End::PeerFinished { message }));
    assert!(!link.carries(0, &[0x45, 1]));
}
