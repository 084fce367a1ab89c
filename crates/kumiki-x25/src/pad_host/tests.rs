//! The host's own; what it does with a PAD is in [`crate::pad`]'s tests.

use super::*;

#[test]
fn nothing_is_set_where_nobody_calls() {
    let mut host = PadHost::new(Config::default());
    assert!(!host.set(&[(2, 0)]) && !host.read(&[]));
    assert_eq!((host.caller(), host.ended(), host.told().len()), (None, None, 0));
}
