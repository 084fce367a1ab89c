//! What both adaptation layers do alike.

use kumiki_graph::{DeviceId, Indication, NodeId, Report};
use kumiki_octets::{Checksum, Meta, Sum};
use kumiki_testkit::bench::Bench;

use super::*;
use crate::aal5::Aal5;
use crate::aal34::Aal34;

/// A layer between a device and a user.
pub(crate) struct Stack {
    pub(crate) bench: Bench,
    pub(crate) sar: DeviceId,
    pub(crate) user: NodeId,
}

impl Stack {
    /// `layer` takes SDUs of 9188 octets if it is of the usual configuration.
    pub(crate) fn of<P: CommonPart>(layer: Convergence<P>) -> Self {
        let mut bench = Bench::new();
        let sar = bench.device("sar");
        bench.node("layer", &["sar"], layer);
        let user = bench.user("user", "layer", &[]);
        bench.start();
        Self { bench, sar, user }
    }

    pub(crate) fn layer<P: CommonPart>(&self) -> &Convergence<P> {
        let node = self.bench.graph.node("layer").unwrap();
        self.bench.graph.protocol(node).unwrap()
    }

    /// The PDU of `sdu`.
    pub(crate) fn pdu(&mut self, sdu: &[u8]) -> Vec<u8> {
        self.bench.send(self.user, Unit::of(Message::from_octets(sdu)));
        self.bench.sent_octets().remove(0)
    }

    /// What the user is told where the device carries so much and bursts of 8.
    pub(crate) fn limits(&mut self, pdus: &[u32]) -> Vec<(u32, u32)> {
        for &unit in pdus {
            let limits = Report::Limits { unit, burst: 8 };
            self.bench.indicate(self.sar, Indication::Report(Box::new(limits)));
        }
        let limits = |report| {
            let Report::Limits { unit, burst } = report else { panic!("{report:?}") };
            (unit, burst)
        };
        self.bench.reports(self.user).into_iter().map(limits).collect()
    }
}

fn too_long_goes_neither_way<P: CommonPart>() {
    let mut big = Stack::of(Convergence::<P>::new(Config { max_sdu: 100 }));
    let mut small = Stack::of(Convergence::<P>::new(Config { max_sdu: 99 }));
    let pdu = big.pdu(&[1; 100]);
    small.bench.octets(small.sar, &pdu);
    small.bench.send(small.user, Unit::of(Message::from_octets(&[1; 100])));
    small.bench.send(small.user, Unit::of(Message::new()));
    assert!(small.bench.heard(small.user).is_empty() && small.bench.sent().is_empty());
    let counters = small.layer::<P>().counters();
    assert_eq!((counters.malformed, counters.refused), (1, 2));
}

#[test]
fn what_is_too_long_goes_neither_way() {
    too_long_goes_neither_way::<crate::aal5::Trailer>();
    too_long_goes_neither_way::<crate::aal34::Envelope>();
}

#[test]
fn a_checksum_left_to_the_device_is_completed_and_super_segments_are_refused() {
    for (mut stack, header) in [(Stack::of(Aal5::default()), 0), (Stack::of(Aal34::default()), 4)] {
        let mut expected: Vec<u8> = (0..60).collect();
        let mut message = Message::from_octets(&expected);
        let start = 20;
        message.meta_mut().checksum = Checksum::Partial { start, field: 16 };
        let sum = Sum::of(&expected[20..]).checksum();
        expected[36..38].copy_from_slice(&sum.to_be_bytes());
        stack.bench.send(stack.user, Unit::of(message.clone()));
        let sent = stack.bench.sent();
        assert_eq!(sent[0].1.data.to_vec()[header..header + 60], expected);
        assert_eq!(sent[0].1.data.meta().checksum, Checksum::Unknown);
        *message.meta_mut() = Meta { segment_size: 10, header_len: 40, ..Meta::default() };
        stack.bench.send(stack.user, Unit::of(message));
        assert!(stack.bench.sent().is_empty());
    }
}

#[test]
fn limits_are_those_of_an_sdu() {
    let aal5 = Stack::of(Aal5::default()).limits(&[4800, 100, 65568]);
    assert_eq!(aal5, [(4792, 1), (88, 1), (9188, 1)]);
    let aal34 = Stack::of(Aal34::default()).limits(&[4800, 103, 7, 65568]);
    assert_eq!(aal34, [(4792, 1), (92, 1), (0, 1), (9188, 1)]);
}
