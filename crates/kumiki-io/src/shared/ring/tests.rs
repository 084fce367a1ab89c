//! A ring against a queue, against another thread, and against another side that does what it likes. `./check` runs
//! these under Miri, too.

#![expect(clippy::cast_possible_truncation, reason = "octets of numbers")]

use std::collections::VecDeque;
use std::thread;

use proptest::prelude::*;

use super::*;

const CAPACITY: usize = 64;

type Words = Box<[AtomicU64]>;

fn memory(capacity: usize) -> Arc<Words> {
    Arc::new((0..CONTROL + capacity).map(|_| AtomicU64::new(0)).collect())
}

fn ends(memory: &Arc<Words>) -> (Sender<Words>, Receiver<Words>) {
    let capacity = memory.len() - CONTROL;
    (Sender::new(Arc::clone(memory), 0, capacity), Receiver::new(Arc::clone(memory), 0, capacity))
}

/// Octets, as a message in pieces of so many.
fn message(octets: &[u8], piece: usize) -> Message {
    let mut message = Message::new();
    octets.chunks(piece).for_each(|piece| message.append_octets(piece));
    message
}

#[derive(Clone, Debug)]
enum Step {
    Send { kind: u8, fields: Vec<u64>, octets: Vec<u8>, piece: usize },
    Receive,
    Sleep,
    Wait,
}

fn step() -> impl Strategy<Value = Step> {
    // A value of its own for each octet would take most of the time.
    let octets = prop_oneof![0..40_usize, 300..400_usize].prop_perturb(|len, mut random| {
        let mut octets = vec![0; len];
        random.fill_bytes(&mut octets);
        octets
    });
    let send = (any::<u8>(), prop::collection::vec(any::<u64>(), 0..9), octets, 1..20_usize);
    prop_oneof![
        3 => send.prop_map(|(kind, fields, octets, piece)| Step::Send { kind, fields, octets, piece }),
        3 => Just(Step::Receive),
        1 => Just(Step::Sleep),
        1 => Just(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn a_ring_is_a_queue_with_room_for_its_capacity(
        steps in prop::collection::vec(step(), 0..if cfg!(miri) { 10 } else { 200 }),
    ) {
        let memory = memory(CAPACITY);
        let (mut sender, mut receiver) = ends(&memory);
        let mut model = VecDeque::new();
        let (mut is_asleep, mut waits) = (false, false);
        let used = |model: &VecDeque<(u8, Vec<u64>, Vec<u8>)>| {
            model.iter().map(|(_, fields, octets)| words(fields.len(), octets.len())).sum::<usize>()
        };
        for step in steps {
            match step {
                Step::Send { kind, fields, octets, piece } => {
                    let data = message(&octets, piece);
                    let record = Record { kind, fields: &fields, data: Some(&data) };
                    let fits = used(&model) + words(fields.len(), octets.len()) <= CAPACITY;
                    prop_assert_eq!(sender.send(&record), Ok(fits));
                    if fits {
                        model.push_back((kind, fields, octets));
                        prop_assert_eq!(sender.must_ring(), core::mem::take(&mut is_asleep));
                    }
                }
                Step::Receive => {
                    let received = receiver.receive().unwrap().map(|it| (it.kind, it.fields().to_vec(), it.data.to_vec()));
                    let is_there = received.is_some();
                    prop_assert_eq!(received, model.pop_front());
                    if is_there {
                        prop_assert_eq!(receiver.must_ring(), core::mem::take(&mut waits));
                    }
                }
                Step::Sleep => {
                    is_asleep = model.is_empty();
                    prop_assert_eq!(receiver.sleep(), Ok(is_asleep));
                }
                Step::Wait => {
                    let record = Record { kind: 0, fields: &[0; 8], data: None };
                    prop_assert_eq!(sender.wait(&record), Ok(used(&model) + 9 <= CAPACITY));
                    waits = true;
                }
            }
        }
    }

    /// Whatever stands in the memory, each side stays within it and comes to an end.
    #[test]
    fn nonsense_is_taken_or_refused(
        seed in any::<[u64; 4]>(),
        nonsense in prop::collection::vec((0..CONTROL + CAPACITY, any::<u64>()), 0..if cfg!(miri) { 15 } else { 200 }),
    ) {
        let memory = memory(CAPACITY);
        let (mut sender, mut receiver) = ends(&memory);
        let data = message(&[7; 20], 3);
        for (place, word) in nonsense {
            // Small numbers and such as are there are what gets far.
            let near = receiver.received.wrapping_add(word % 9);
            let value = match word % 4 {
                0 => word,
                1 => near,
                2 => header((word >> 8) as u8, (word >> 16) as u8 % 40, (word >> 24) as u32 % 200, near),
                _ => seed[place % 4],
            };
            memory[place].store(value, Ordering::Relaxed);
            let before = (sender.sent, receiver.received);
            if sender.send(&Record { kind: 1, fields: &[2], data: Some(&data) }) != Ok(true) {
                prop_assert_eq!(sender.sent, before.0);
            }
            if let Ok(Some(record)) = receiver.receive() {
                prop_assert!(record.fields().len() <= MOST_FIELDS && record.data.len() <= CAPACITY * 8);
                prop_assert!(receiver.received - before.1 <= CAPACITY as u64);
            } else {
                prop_assert_eq!(receiver.received, before.1);
            }
        }
    }
}

#[test]
fn what_cannot_be_breaks_the_ring() {
    let check = |break_it: &dyn Fn(&Words)| {
        let memory = memory(CAPACITY);
        let (mut sender, mut receiver) = ends(&memory);
        assert_eq!(sender.send(&Record { kind: 1, fields: &[2, 3], data: None }), Ok(true));
        break_it(&memory);
        (
            sender.send(&Record { kind: 1, fields: &[0; 32], data: Some(&message(&[0; 240], 50)) }),
            receiver.receive().map(|it| it.is_some()),
        )
    };
    let whole = check(&|_| {});
    assert_eq!(whole, (Ok(false), Ok(true)));
    // A position of the receiver beyond what was sent, or before what it was.
    for position in [4, u64::MAX] {
        assert!(check(&|memory| memory[RECEIVED].store(position, Ordering::Relaxed)).0.is_err(), "{position}");
    }
    // One of the sender that is further than there is memory, or behind.
    for position in [CAPACITY as u64 + 1, u64::MAX] {
        assert!(check(&|memory| memory[SENT].store(position, Ordering::Relaxed)).1.is_err(), "{position}");
    }
    // A record of another number, with too many words or octets, or with more than was sent.
    for first in [header(1, 2, 0, 1), header(1, 33, 0, 0), header(1, 2, 1 << 20, 0), header(1, 2, 1, 0)] {
        assert!(check(&|memory| memory[CONTROL].store(first, Ordering::Relaxed)).1.is_err(), "{first:x}");
    }
}

/// Both sides in threads that sleep and wait as processes do: a wake-up that is lost would let them stand for ever.
#[test]
fn nothing_is_lost_between_threads_and_nobody_sleeps_on() {
    const RECORDS: u64 = if cfg!(miri) { 20 } else { 20_000 };
    if !cfg!(miri) {
        kumiki_watchdog::minute();
    }
    let memory = memory(CAPACITY);
    let (mut sender, mut receiver) = ends(&memory);
    let (to_receiver, of_receiver) = std::sync::mpsc::channel();
    let (to_sender, of_sender) = std::sync::mpsc::channel();
    let octets = |n: u64| vec![n as u8; (n * 37 % 300) as usize];
    let sending = thread::spawn(move || {
        for n in 0..RECORDS {
            let data = message(&octets(n), 11);
            let record = Record { kind: n as u8, fields: &[n], data: Some(&data) };
            while !sender.send(&record).unwrap() {
                if !sender.wait(&record).unwrap() {
                    of_sender.recv().unwrap();
                }
            }
            if sender.must_ring() {
                to_receiver.send(()).unwrap();
            }
        }
    });
    let mut n = 0;
    while n < RECORDS {
        if let Some(record) = receiver.receive().unwrap() {
            assert_eq!((record.kind, record.fields(), record.data.to_vec()), (n as u8, &[n][..], octets(n)));
            n += 1;
            if receiver.must_ring() {
                // It may have all that it wanted.
                let _ = to_sender.send(());
            }
        } else if receiver.sleep().unwrap() {
            of_receiver.recv().unwrap();
        }
    }
    sending.join().unwrap();
}
