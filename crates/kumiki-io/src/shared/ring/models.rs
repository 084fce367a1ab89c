//! Small programs with a ring, run by loom in every order in which their two sides may meet.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p kumiki-io --lib --target-dir target/loom ring::models`; `./check` does so.

use loom::sync::Arc as Shared;
use loom::sync::atomic::AtomicBool;
use loom::thread;

use super::*;

fn memory() -> Arc<Box<[AtomicU64]>> {
    Arc::new((0..CONTROL + 4).map(|_| AtomicU64::new(0)).collect())
}

const fn record(fields: &[u64]) -> Record<'_> {
    Record { kind: 1, fields, data: None }
}

#[test]
fn what_is_received_is_what_was_sent() {
    loom::model(|| {
        let memory = memory();
        let mut receiver = Receiver::new(Arc::clone(&memory), 0, 4);
        let sending = thread::spawn(move || {
            let mut sender = Sender::new(memory, 0, 4);
            // The third has room only where the first has been received, and stands in its place.
            (1..4).filter(|n| sender.send(&record(&[*n])).unwrap()).count() as u64
        });
        let mut received = 0;
        for _ in 0..2 {
            if let Some(it) = receiver.receive().unwrap() {
                received += 1;
                assert_eq!(it.fields(), [received]);
            }
        }
        let sent = sending.join().unwrap();
        while let Some(it) = receiver.receive().unwrap() {
            received += 1;
            assert_eq!(it.fields(), [received]);
        }
        assert_eq!(received, sent);
    });
}

/// Who goes to sleep sees the record, or whoever has sent it sees that he sleeps.
#[test]
fn who_sleeps_is_woken() {
    loom::model(|| {
        let memory = memory();
        let rung = Shared::new(AtomicBool::new(false));
        let mut receiver = Receiver::new(Arc::clone(&memory), 0, 4);
        let bell = Shared::clone(&rung);
        let sending = thread::spawn(move || {
            let mut sender = Sender::new(memory, 0, 4);
            assert!(sender.send(&record(&[1])).unwrap());
            if sender.must_ring() {
                bell.store(true, Ordering::Relaxed);
            }
        });
        let sleeps = receiver.receive().unwrap().is_none() && receiver.sleep().unwrap();
        sending.join().unwrap();
        assert!(!sleeps || rung.load(Ordering::Relaxed), "nobody wakes it");
    });
}

/// And who waits for room.
#[test]
fn who_waits_for_room_is_woken() {
    loom::model(|| {
        let memory = memory();
        let rung = Shared::new(AtomicBool::new(false));
        let mut sender = Sender::new(Arc::clone(&memory), 0, 4);
        assert!(sender.send(&record(&[1, 2, 3])).unwrap());
        let bell = Shared::clone(&rung);
        let receiving = thread::spawn(move || {
            let mut receiver = Receiver::new(memory, 0, 4);
            assert!(receiver.receive().unwrap().is_some());
            if receiver.must_ring() {
                bell.store(true, Ordering::Relaxed);
            }
        });
        let next = record(&[4]);
        let waits = !sender.send(&next).unwrap() && !sender.wait(&next).unwrap();
        receiving.join().unwrap();
        assert!(!waits || rung.load(Ordering::Relaxed), "nobody wakes it");
    });
}
