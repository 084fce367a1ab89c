//! Process groups that have lost their leaders.
//!
//! | | |
//! |---|---|
//! | Specification | `/proc/PID/stat`: `proc_pid_stat(5)` |

use std::fs;

use rustix::process::Pid;

/// Whether a process runs in one of `groups`; one that has ended and is to be waited for does not.
pub(crate) fn is_any_left_of(groups: &[Pid]) -> bool {
    if groups.is_empty() {
        return false;
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut stats = processes.filter_map(|process| {
        let is_process = process.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        // It may have ended meanwhile.
        is_process.then(|| fs::read(process.path().join("stat")).ok()).flatten()
    });
    stats.any(|stat| running_in(&String::from_utf8_lossy(&stat)).is_some_and(|group| groups.contains(&group)))
}

/// The group of a process of which `stat` tells, where it has not ended.
fn running_in(stat: &str) -> Option<Pid> {
    // The name of the program may have blanks and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let (state, _, group) = (words.next()?, words.next()?, words.next()?);
    if ["Z", "X"].contains(&state) {
        return None;
    }
    Pid::from_raw(group.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_its_group_until_it_has_ended() {
        let group = Pid::from_raw(77);
        assert_eq!(running_in("78 (a) S (b) S 1 77 70 0 -1 4194560"), group);
        assert_eq!(running_in("78 (a) Z 1 77 70 0 -1 4194560"), None);
        for cut in ["", "78 (a", "78 (a) S", "78 (a) S 1", "78 (a) S 1 x"] {
            assert_eq!(running_in(cut), None, "{cut}");
        }
    }

    #[test]
    fn the_own_group_runs() {
        assert!(is_any_left_of(&[rustix::process::getpgrp()]));
        assert!(!is_any_left_of(&[]));
    }
}
