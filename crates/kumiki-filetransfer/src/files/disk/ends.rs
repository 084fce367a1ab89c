//! All the ends that a piece of work on a disk can come to.
//!
//! Every call that it makes is taken: power is lost before it, or it fails, once or from there on, in each of the ways
//! below. Each time all is looked at that can be on the disk if power is lost then, and what is there if it is not.
//! Nothing is drawn at random, so there is no bound but that of the work.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::simulated::Picture;
use super::{Crash, Errno, Failure, Simulated};

/// How calls fail.
const FAILURES: [Failure; 3] = [Failure::Error(Errno::IO), Failure::Error(Errno::NOSPC), Failure::Short];

/// What judges an end: the disk as it is found at the next start, what the work said, and how it came to that.
type Judge<'a, T> = &'a dyn Fn(&Simulated, &T, &dyn Fn() -> String);

/// Ends that were judged, and how many there were in all.
struct Ends<'a, T> {
    judge: Judge<'a, T>,
    /// The same disk after the same words needs no second judgment.
    seen: RefCell<BTreeSet<(Picture, T)>>,
    count: u64,
}

impl<T: Ord + Clone> Ends<'_, T> {
    fn judge(&mut self, disk: &Simulated, said: &T, how: &dyn Fn() -> String) {
        self.count += 1;
        if self.seen.borrow_mut().insert((disk.picture(), said.clone())) {
            (self.judge)(disk, said, how);
        }
    }

    /// Power is lost now.
    fn crashes(&mut self, disk: &Simulated, said: &T, how: &dyn Fn() -> String) {
        for Crash { disk, lost } in disk.crashes() {
            self.judge(&disk, said, &|| format!("{}, then power was lost, and {lost}", how()));
        }
    }
}

/// Does `work` on copies of what `prepared` gives, and has each end judged. Gives how many ends there were.
pub fn every_end<T: Ord + Clone>(
    prepared: &dyn Fn() -> Simulated,
    work: &dyn Fn(&Simulated) -> T,
    judge: Judge<'_, T>,
) -> u64 {
    let mut ends = Ends { judge, seen: RefCell::default(), count: 0 };
    let whole = prepared().copy();
    let said = work(&whole);
    let how = || "nothing failed".to_owned();
    ends.judge(&whole.copy(), &said, &how);
    ends.crashes(&whole, &said, &how);
    for call in 1..=whole.calls() {
        let disk = prepared().copy();
        disk.stop_at(call);
        let said = work(&disk);
        ends.crashes(&disk, &said, &|| format!("call {call} was not made"));
        for failure in FAILURES {
            for only in [true, false] {
                let disk = prepared().copy();
                disk.fail_at(call, only, failure);
                let said = work(&disk);
                let times = if only { "once" } else { "from there on" };
                let how = || format!("call {call} failed {times} with {failure:?}");
                // The program is started again; or the machine is.
                ends.judge(&disk.copy(), &said, &how);
                ends.crashes(&disk, &said, &how);
            }
        }
    }
    ends.count
}
