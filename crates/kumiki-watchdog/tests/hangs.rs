//! This program runs once more with a test that hangs, and looks at what becomes of it.

use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
#[ignore = "it hangs on purpose: `what_hangs_is_named_and_ended` runs it"]
fn hangs() {
    kumiki_watchdog::within(Duration::from_millis(300));
    // A child that keeps our standard output open: who reads that sees its end only where the child is killed too.
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let kept = child.stdin.take();
    child.wait().unwrap();
    drop(kept);
}

#[test]
fn what_hangs_is_named_and_ended() {
    kumiki_watchdog::minute();
    let ran = Command::new(std::env::current_exe().unwrap()).args(["--ignored", "--exact", "hangs"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("test hangs ... FAILED: it hangs"), "{said}");
    assert_eq!(ran.status.code(), Some(101));
}
