//! XTP against XTP over a wire that does what the test says, and against packets from nowhere.

mod attacks;
mod calls;
mod closing;
mod errors;
mod flow;
mod pair;
mod random;
