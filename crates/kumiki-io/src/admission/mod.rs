//! Admission control: which callers of a server are taken, and whose passwords are looked at and answered.
//!
//! | | |
//! |---|---|
//! | Who is one | an address of IPv4 or a /64 of IPv6 is a *host*, a /24 of IPv4 or a /48 of IPv6 a *network* ([`Prefix`]); an IPv4 address inside IPv6 is that of IPv4 |
//! | Places | [`Places`]: callers that are not known yet have places of their own, so that those who are known never lack one for them. As these fill, callers are dropped early and at random, first those of the network that has most here and had most that came to nothing; among equals the one that has got nowhere for longest makes room for who comes |
//! | Passwords | [`Tries`]: a budget of answers to wrong passwords by network and by the name of a user, which comes back with time; a right password is never refused for what others have tried |
//! | Memory | bounded: what has the least penalty makes room. Nothing here takes longer than the logarithm of what is kept |
//! | Time, randomness | arguments |
//! | Left out | anything that outlives the program; networks that are trusted |
//!
//! The figures are those of programs that have stood in public for long: OpenSSH's `MaxStartups start:rate:full`,
//! `PerSourceMaxStartups`, `PerSourceNetBlockSize` and `PerSourcePenalties` (`sshd_config(5)`).

mod ledger;
mod places;
mod prefix;
mod tries;

#[cfg(test)]
mod model;

pub use places::{Admission, CallerLimit, LimitReached, Limits, Places, Step};
pub use prefix::Prefix;
pub use tries::{LoginReply, Ticket, Tries};
