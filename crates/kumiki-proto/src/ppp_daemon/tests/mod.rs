mod authentication;
mod automaton;
mod exchanges;
mod link;
mod negotiation;
mod quality;
mod scripts;
mod storm;
