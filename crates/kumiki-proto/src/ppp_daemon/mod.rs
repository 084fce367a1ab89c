//! PPP: what the two ends of a link agree on before it carries anything.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1661 section 4 |
//! | Above | LCP and the network control protocols, each with an [`Automaton`](automaton::Automaton) of its own |
//! | Below | nothing: the automaton sends no packets, it says which to send |
//! | Left out | the protocols that run it: there is no node yet |

pub mod automaton;
#[cfg(test)]
mod tests;
