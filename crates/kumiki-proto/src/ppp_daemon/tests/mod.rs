mod automaton;
mod link;
mod negotiation;
