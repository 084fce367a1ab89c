use kumiki_wire::inet::ipv4::Ecn;

use super::*;
use crate::queue::testing::{Rig, at, packet};
use crate::{Codel, CodelConfig};

/// The flow of a test is its source port; each has a queue of its own.
fn by_port(frame: &Message, _: [u64; 2]) -> u64 {
    let mut port = [0; 2];
    assert!(frame.copy_to(20, &mut port));
    u16::from_be_bytes(port).into()
}

const TEST: fn() -> FqCodelConfig = || FqCodelConfig { classify: by_port, ..FqCodelConfig::default() };

fn rig(config: FqCodelConfig) -> Rig<FqCodel> {
    Rig::new(FqCodel::new(config, 1))
}

fn fill(rig: &mut Rig<FqCodel>, flow: u16, len: u16, count: usize) {
    for _ in 0..count {
        rig.offer(at(0), flow, len, Ecn::NotEct);
    }
}

/// The flows of the next packets, at one instant.
fn flows(rig: &mut Rig<FqCodel>, count: usize) -> Vec<u16> {
    (0..count).filter_map(|_| rig.next(at(1))).map(|(_, flow, _)| flow).collect()
}

#[test]
fn a_new_flow_goes_before_those_that_have_had_their_turn() {
    let mut rig = rig(TEST());
    fill(&mut rig, 1, 1500, 10);
    // 1514 - 1500 octets are left, so that one more goes.
    assert_eq!(flows(&mut rig, 3), [1, 1, 1]);
    fill(&mut rig, 2, 100, 2);
    assert_eq!(flows(&mut rig, 4), [2, 2, 1, 1]);
    assert_eq!((rig.counter("new_flows"), rig.counter("sparse_frames")), (2, 4));
}

#[test]
fn flows_share_octets_whatever_their_packets() {
    let mut rig = rig(TEST());
    fill(&mut rig, 1, 1500, 400);
    fill(&mut rig, 2, 300, 2000);
    fill(&mut rig, 3, 777, 800);
    let mut octets = [0_u32; 3];
    for flow in flows(&mut rig, 1500) {
        octets[usize::from(flow) - 1] += [1500, 300, 777][usize::from(flow) - 1];
    }
    // Each is at most a quantum and a packet ahead.
    let (least, most) = (octets.iter().min().unwrap(), octets.iter().max().unwrap());
    assert!(most - least <= 1514 + 1500, "{octets:?}");
}

/// RFC 8290 section 8.
#[test]
fn a_flow_that_empties_and_comes_back_does_not_starve_the_others() {
    let mut rig = rig(TEST());
    fill(&mut rig, 1, 1500, 50);
    let mut served = [0, 0];
    for _ in 0..60 {
        let flow = rig.next(at(1)).unwrap().1;
        served[usize::from(flow) - 1] += 1;
        // It comes when its queue has just been found empty.
        if flow == 1 {
            fill(&mut rig, 2, 1500, 1);
        }
    }
    assert!(served[0] >= 30, "{served:?}");
    // It has not left the lists, and was new once.
    assert_eq!(rig.counter("new_flows"), 2);
}

#[test]
fn beyond_the_limit_half_of_the_longest_queue_goes_from_its_head() {
    let limit = DropTail { frames: 20, octets: u64::MAX };
    let mut rig = rig(FqCodelConfig { limit, ..TEST() });
    // Longer in packets, not in octets.
    fill(&mut rig, 1, 100, 12);
    fill(&mut rig, 2, 1500, 8);
    assert_eq!(rig.lost(), []);
    fill(&mut rig, 1, 100, 1);
    assert_eq!((rig.lost(), rig.counter("overlimit")), (vec![12, 13, 14, 15], 4));
    assert_eq!(rig.queue.frames(), 17);
    // And 64 at most.
    let limit = DropTail { frames: 199, octets: u64::MAX };
    let mut rig = self::rig(FqCodelConfig { limit, ..TEST() });
    fill(&mut rig, 3, 100, 200);
    assert_eq!(rig.lost(), (0..64).collect::<Vec<_>>());
}

#[test]
fn octets_have_a_limit_too() {
    let limit = DropTail { frames: u64::MAX, octets: 10_000 };
    let mut rig = rig(FqCodelConfig { limit, ..TEST() });
    fill(&mut rig, 1, 1000, 4);
    fill(&mut rig, 2, 1500, 4);
    assert_eq!(rig.lost(), []);
    fill(&mut rig, 1, 1000, 1);
    // Two of four.
    assert_eq!((rig.lost(), rig.queue.octets()), (vec![4, 5], 8000));
}

/// Each flow has a control law of its own: the one that waits too long loses, and the others do not.
#[test]
fn only_the_flow_that_builds_a_queue_loses() {
    let mut rig = rig(TEST());
    let mut lost = Vec::new();
    for ms in 0..1000 {
        for _ in 0..2 {
            rig.offer(at(ms), 1, 1000, Ecn::NotEct);
        }
        if ms % 10 == 0 {
            rig.offer(at(ms), 2, 100, Ecn::NotEct);
        }
        let (_, flow, _) = rig.next(at(ms)).unwrap();
        // A packet of a flow that rests goes at the next chance but one: the big one's turn is over after two.
        assert!(flow == 1 || ms % 10 <= 2, "{ms}");
        lost.extend(rig.lost());
    }
    assert!(lost.len() > 10, "{lost:?}");
    let of_flow_2: Vec<u64> = (0..100).map(|n| 20 * n + n + 2).collect();
    assert!(lost.iter().all(|number| !of_flow_2.contains(number)), "{lost:?}");
}

/// RFC 8290 section 1.3.
#[test]
fn one_queue_is_a_codel() {
    let mut fq = rig(FqCodelConfig { flows: 1, ..FqCodelConfig::default() });
    let mut codel = Rig::new(Codel::new(CodelConfig::default()));
    for ms in 0..3000 {
        for flow in 0..2 {
            let ecn = if ms % 3 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            // Twice the rate of the line for a while, then half.
            if ms % 1000 < 600 || flow == 0 && ms % 2 == 0 {
                fq.offer(at(ms), flow, 1000, ecn);
                codel.offer(at(ms), flow, 1000, ecn);
            }
        }
        assert_eq!(fq.next(at(ms)), codel.next(at(ms)), "{ms}");
        assert_eq!((fq.lost(), fq.marks), (codel.lost(), codel.marks), "{ms}");
    }
    assert!(fq.drops > 10 && fq.marks > 10, "{} {}", fq.drops, fq.marks);
}

#[test]
fn another_discipline_takes_all_in_the_order_in_which_it_came() {
    let mut rig = rig(TEST());
    for flow in [3, 1, 2, 1, 3] {
        fill(&mut rig, flow, 500, 1);
    }
    let mut heir = FqCodel::new(TEST(), 1);
    heir.hold(rig.queue.take_all());
    assert_eq!((rig.queue.frames(), rig.queue.octets(), heir.frames(), heir.octets()), (0, 0, 5, 2500));
    assert_eq!(rig.next(at(1)), None);
    let numbers = heir.take_all().into_iter().map(|frame| frame.number);
    assert_eq!(numbers.collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

/// RFC 8290 section 5.3: of 100 flows and 1024 queues, a flow is alone in its queue with 90.78 %.
#[test]
fn flows_spread_over_queues_as_chance_would_have_it() {
    let mut alone = 0;
    for seed in 0..100 {
        let fq = FqCodel::new(FqCodelConfig::default(), seed);
        let queues: Vec<usize> = (0..100).map(|flow| fq.classify(&packet(flow, 100, Ecn::NotEct))).collect();
        alone += queues.iter().filter(|own| queues.iter().filter(|it| it == own).count() == 1).count();
    }
    // Of 10,000; four standard deviations are some 1.2 % of independent draws, and pairs are lost together.
    assert!((8_900..=9_250).contains(&alone), "{alone}");
}

#[test]
fn a_seed_fixes_the_queues_and_another_has_others() {
    let queues = |seed| {
        let fq = FqCodel::new(FqCodelConfig::default(), seed);
        (0..50).map(|flow| fq.classify(&packet(flow, 100, Ecn::NotEct))).collect::<Vec<_>>()
    };
    assert_eq!(queues(1), queues(1));
    assert_ne!(queues(1), queues(2));
}
