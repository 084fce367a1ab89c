//! XTP against XTP over a wire that does what the test says, and against packets from nowhere.

#![allow(
    clippy::cast_possible_truncation,
    clippy::wildcard_enum_match_arm,
    reason = "numbers in tests are small, and other packets and requests are no matter of theirs"
)]

mod attacks;
mod calls;
mod closing;
mod errors;
mod flow;
mod groups;
mod groups_attacks;
mod groups_random;
mod pair;
mod peers;
mod random;
mod refused;
mod strangers;
