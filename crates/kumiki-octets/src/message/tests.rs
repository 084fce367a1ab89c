use proptest::prelude::*;

use super::*;

/// One step on a message and on the plain octets that it must agree with.
#[derive(Clone, Debug)]
enum Step {
    Push(Vec<u8>),
    PushOctets(Vec<u8>),
    Append(Vec<u8>),
    AppendPattern(u64, usize),
    Pop(usize),
    Truncate(usize),
    Front(usize),
    SplitAndJoin(usize),
    Share(usize, usize),
    Flip(usize),
    Sum,
    SumBehind(usize),
    AppendBehind(Vec<u8>, Vec<u8>, usize),
    TakeSlices,
}

/// Miri is some hundred times slower, and what it looks at depends on the steps: it has messages a tenth as long.
const PART: usize = if cfg!(miri) { 10 } else { 1 };

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let octets = || crate::arbitrary::octets(0..60 / PART);
    let step = prop_oneof![
        octets().prop_map(Step::Push),
        octets().prop_map(Step::PushOctets),
        crate::arbitrary::octets(0..300 / PART).prop_map(Step::Append),
        (any::<u32>(), 0..5000 / PART).prop_map(|(at, len)| Step::AppendPattern(at.into(), len)),
        (0..400 / PART).prop_map(Step::Pop),
        (0..6000 / PART).prop_map(Step::Truncate),
        (0..300 / PART).prop_map(Step::Front),
        (0..6000 / PART).prop_map(Step::SplitAndJoin),
        (0..3000 / PART, 0..3000 / PART).prop_map(|(from, len)| Step::Share(from, len)),
        (0..20_000 / PART).prop_map(Step::Flip),
        Just(Step::Sum),
        (0..400 / PART).prop_map(Step::SumBehind),
        (octets(), octets(), 0..130 / PART).prop_map(|(head, body, n)| Step::AppendBehind(head, body, n)),
        Just(Step::TakeSlices),
    ];
    prop::collection::vec(step, 1..30)
}

proptest! {
    #[test]
    fn a_message_agrees_with_plain_octets(steps in steps()) {
        let (mut message, mut plain) = (Message::new(), Vec::new());
        for step in steps {
            match step {
                Step::Push(header) => {
                    message.push(header.len()).copy_from_slice(&header);
                    plain.splice(0..0, header);
                }
                Step::PushOctets(header) => {
                    prop_assert_eq!(&*message.push_octets(&header), &header[..]);
                    plain.splice(0..0, header);
                }
                Step::SumBehind(n) => {
                    let sum = message.sum_behind(n).ok();
                    prop_assert_eq!(sum, plain.get(n..).map(Sum::of));
                }
                Step::AppendBehind(head, body, n) => {
                    let mut next = Message::from_octets(&body);
                    next.push_octets(&head);
                    let octets = [head, body].concat();
                    let added = message.append_behind(next, n);
                    prop_assert_eq!(added.is_ok(), n <= octets.len());
                    plain.extend(octets.get(n..).unwrap_or_default());
                }
                Step::TakeSlices => {
                    let head = message.len() - message.slices().iter().map(Slice::len).sum::<usize>();
                    let mut content = Message::new();
                    for slice in message.take_slices() {
                        content.append_slice(slice);
                    }
                    prop_assert_eq!(message.to_vec(), &plain[..head]);
                    prop_assert_eq!(content.to_vec(), &plain[head..]);
                    message.append(content);
                }
                Step::Append(octets) => {
                    message.append_octets(&octets);
                    plain.extend(octets);
                }
                Step::AppendPattern(at, len) => {
                    message.append(Message::generated(Pattern::Counter, at, len));
                    let mut octets = vec![0; len];
                    Pattern::Counter.fill(at, &mut octets);
                    plain.extend(octets);
                }
                Step::Pop(n) => {
                    prop_assert_eq!(message.pop(n).is_ok(), n <= plain.len());
                    if n <= plain.len() {
                        plain.drain(..n);
                    }
                }
                Step::Truncate(len) => {
                    message.truncate(len);
                    plain.truncate(len);
                }
                Step::Front(n) => {
                    prop_assert_eq!(message.front(n).ok(), plain.get(..n));
                }
                Step::SplitAndJoin(n) => {
                    if let Ok(mut front) = message.split_to(n) {
                        prop_assert_eq!(front.to_vec(), &plain[..n]);
                        front.append(message);
                        message = front;
                    }
                }
                Step::Share(from, len) => {
                    let part = message.share(from, len).ok().map(|part| part.to_vec());
                    prop_assert_eq!(part.as_deref(), plain.get(from..from + len));
                }
                Step::Flip(bit) => {
                    let other = message.clone();
                    prop_assert_eq!(message.flip_bit(bit), bit / 8 < plain.len());
                    prop_assert_eq!(other.to_vec(), &plain[..]);
                    if let Some(octet) = plain.get_mut(bit / 8) {
                        *octet ^= 0x80 >> (bit % 8);
                    }
                }
                Step::Sum => prop_assert_eq!(message.sum(), Sum::of(&plain)),
            }
            prop_assert_eq!(message.len(), plain.len());
            prop_assert_eq!(message.to_vec(), &plain[..]);
        }
        prop_assert_eq!(message.sum(), Sum::of(&plain));
    }

    #[test]
    fn a_sum_taken_by_a_device_stays_true_as_headers_and_trailers_go(
        octets in crate::arbitrary::octets(100..400), front in 0..50_usize, back in 0..50_usize,
    ) {
        let mut message = Message::from_octets(&octets);
        message.meta_mut().checksum = Checksum::Sum(Sum::of(&octets));
        message.truncate(octets.len() - back);
        let _ = message.front(front).map(<[u8]>::len);
        message.pop(front).unwrap();
        prop_assert_eq!(message.meta().checksum, Checksum::Sum(Sum::of(&octets[front..octets.len() - back])));
    }
}

#[test]
fn a_sum_taken_by_a_device_says_nothing_of_a_message_that_has_grown() {
    let summed = || {
        let mut message = Message::from_octets(&[1; 100]);
        message.meta_mut().checksum = Checksum::Sum(Sum::of(&[1; 100]));
        message
    };
    let (mut in_front, mut behind, mut joined) = (summed(), summed(), summed());
    in_front.push_header(20).fill(7);
    behind.append_octets(&[7; 20]);
    joined.append(summed());
    for message in [in_front, behind, joined] {
        assert_eq!(message.meta().checksum, Checksum::Unknown);
    }
}

#[test]
fn a_lease_ends_with_the_last_part_of_the_content() {
    let lease: Lease = std::sync::Arc::new(());
    let mut message = Message::generated(Pattern::Zeros, 0, 8192);
    message.set_lease(Some(&lease));
    let part = message.split_to(100).unwrap();
    let mut sent = part.clone();
    sent.set_lease(None);
    drop(message);
    assert_eq!(std::sync::Arc::strong_count(&lease), 2);
    drop(part);
    assert_eq!(std::sync::Arc::strong_count(&lease), 1);
    drop(sent);
}

#[test]
fn what_is_kept_is_copied_out_of_pages_that_are_much_larger() {
    // As a device reads it: all in a page of the largest size.
    let page = Page::build(9000, |octets| octets.fill(7));
    let part = |len: usize| {
        let mut part = Message::from_page(page.clone());
        part.truncate(len);
        part
    };
    for len in [1, 16, 17, 300, 2047, 5000, 7000] {
        let mut kept = part(len);
        kept.meta_mut().segment_size = 9;
        assert_eq!(kept.fit(), len, "{len}");
        assert!(kept.held() <= 2 * len + SLACK, "{len}: {}", kept.held());
        assert_eq!(kept.to_vec(), vec![7; len]);
        assert_eq!((kept.meta().segment_size, kept.fit()), (9, 0));
    }
    // What fills its page well stays, and so do what takes no memory and what has a lease.
    let mut kept = part(9000);
    assert_eq!((kept.fit(), kept.to_vec().len()), (0, 9000));
    assert_eq!(Message::generated(Pattern::Counter, 5, 1).fit(), 0);
    let lease: Lease = std::sync::Arc::new(());
    let mut kept = part(1);
    kept.set_lease(Some(&lease));
    assert_eq!((kept.fit(), kept.is_leased()), (0, true));
    // Many small pieces are as bad as large pages.
    let mut kept = Message::new();
    for n in 0..1000_usize {
        kept.append_octets(&[n.to_le_bytes()[0]]);
    }
    assert_eq!((kept.fit(), kept.slices().len()), (1000, 1));
}

#[test]
fn splitting_and_joining_again_leaves_one_slice() {
    let mut message = Message::from_page(Page::build(5000, |room| room.fill(7)));
    let mut front = message.split_to(1234).unwrap();
    front.append(message);
    assert_eq!(front.slices().len(), 1);
}

#[test]
fn what_is_written_to_the_front_is_written_to_this_message_alone() {
    let page = Page::build(4, |room| room.copy_from_slice(&[1, 2, 3, 4]));
    let other = Message::from_page(page.clone());
    let mut message = Message::from_page(page);
    message.meta_mut().checksum = Checksum::Sum(message.sum());
    message.front_mut(2).unwrap()[1] = 9;
    assert_eq!(message.to_vec(), [1, 9, 3, 4]);
    assert_eq!(other.to_vec(), [1, 2, 3, 4]);
    assert_eq!(message.meta().checksum, Checksum::Unknown);
    assert_eq!(message.sum(), Sum::of(&[1, 9, 3, 4]));
    assert_eq!(message.front_mut(5), Err(Short { need: 5, have: 4 }));
}

#[test]
fn what_a_device_is_told_moves_with_the_headers_below() {
    let mut message = Message::from_octets(&[0; 100]);
    *message.meta_mut() =
        Meta { segment_size: 20, header_len: 20, ace: false, checksum: Checksum::Partial { start: 0, field: 16 } };
    let before = *message.meta();
    message.push_header(20).fill(1);
    assert_eq!(message.meta().header_len, 40);
    let start = 20;
    assert_eq!(message.meta().checksum, Checksum::Partial { start, field: 16 });
    message.pop_header(20).unwrap();
    assert_eq!(*message.meta(), before);
}

#[test]
fn the_content_of_a_pattern_goes_on_past_its_last_position() {
    let mut octets = [0; 5000];
    Pattern::Counter.fill(u64::MAX - 9, &mut octets);
    let mut message = Message::generated(Pattern::Counter, u64::MAX - 9, octets.len());
    assert_eq!(message.to_vec(), octets);
    let mut front = message.split_to(4000).unwrap();
    front.append(message);
    assert_eq!((front.slices().len(), front.to_vec()), (1, octets.to_vec()));
    let mut part = [0; 20];
    assert!(front.copy_to(20, &mut part));
    assert_eq!(part, octets[20..40]);
}

#[test]
fn a_page_cut_into_pieces_and_joined_again_is_not_lost() {
    let step = if cfg!(miri) { 300 } else { 7 };
    let page = Page::build(60_000, |room| room.fill(3));
    let at = page.octets().as_ptr();
    let mut rest = Message::from_page(page);
    let mut joined = Message::new();
    while let Ok(piece) = rest.split_to(step.min(rest.len()).max(1)) {
        joined.append(piece);
    }
    assert_eq!((joined.len(), joined.slices().len()), (60_000, 1));
    drop((rest, joined));
    // The last holder gave it back, and the next page of its size is it.
    assert_eq!(Page::build(60_000, |_| ()).octets().as_ptr(), at);
}
