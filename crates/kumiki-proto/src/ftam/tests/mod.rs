//! What is agreed on, and what is allowed when.

mod negotiation;
mod order;
