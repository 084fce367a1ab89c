#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers in tests are small"
)]

mod addresses;
mod attacks;
mod calls;
mod closing;
mod ecn;
mod loss;
mod opening;
mod pair;
mod patience;
mod random;
mod recovery;
mod small;
mod standard;
mod urgent;
mod windows;
