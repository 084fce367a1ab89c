//! Octets: pages and messages that share them, sums, CRCs and generated content.
//!
//! | read | for |
//! |---|---|
//! | [`Message`] | headers in one small buffer, content elsewhere: paper 2's cluster |
//! | [`Page`], [`Slice`] | where content lives |
//! | [`Sum`] | the Internet checksum's one's complement sum, in parts that can be put together and taken apart |
//! | [`crc`] | the CRCs of AAL5, ATM, X.25 and PPP |
//! | [`Pattern`] | content that nobody has written anywhere yet |
//!
//! No protocol, no time and no I/O.

pub mod crc;
mod message;
mod page;
pub mod pattern;
mod slice;
pub mod sum;
mod weighted;

pub use message::{Checksum, Message, Meta, Short};
pub use page::Page;
pub use pattern::Pattern;
pub use slice::{Lease, Slice};
pub use sum::Sum;
