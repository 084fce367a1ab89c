//! What is agreed on, and what is allowed when; and two ends over the whole stack.

mod conversation;
mod faults;
mod negotiation;
mod order;
mod pair;
mod transfer;
mod wrong;
