//! Octets: pages and messages that share them, sums, CRCs and generated content.
//!
//! | read | for |
//! |---|---|
//! | [`Message`] | headers in one small buffer, content elsewhere: paper 2's cluster |
//! | [`Page`], [`Slice`] | where content lives |
//! | [`Beginning`] | how a message begins, to show somebody |
//! | [`Gathering`] | a message that comes in pieces, in memory in proportion to it |
//! | [`Outgoing`] | the octets of a stream that wait to be sent, or to be retransmitted |
//! | [`budget`] | what callers may take together, and who is refused first |
//! | [`Sum`] | the Internet checksum's one's complement sum, in parts that can be put together and taken apart |
//! | [`crc`] | the CRCs of AAL5, ATM, X.25 and PPP |
//! | [`hdlc`] | octet stuffing and unstuffing |
//! | [`bit_stuffing`] | the same of bit-synchronous lines |
//! | [`scramble`] | the scramblers of SONET/SDH and of its payload |
//! | [`bip`] | the parities of SONET/SDH |
//! | [`Payload`] | what may carry a message |
//! | [`Numbering`] | what the numbers in a field of a header stand for |
//! | [`Number`] | the digits of a subscriber's number |
//! | [`Pattern`] | content that nobody has written anywhere yet |
//!
//! No protocol, no time and no I/O.
//!
//! ```
//! use kumiki_octets::{Message, Short};
//!
//! let mut message = Message::from_octets(b"content");
//! let kept = message.clone();                     // the content is there once
//! message.push_octets(&[0x45, 7]);                // a header goes in front of it; nothing is moved
//! assert_eq!(message.front(2), Ok(&[0x45, 7][..]));
//! message.pop(2)?;                                // and is taken off by whoever has read it
//!
//! let first = message.split_to(4)?;               // cutting copies nothing either
//! assert_eq!((first.to_vec(), message.to_vec()), (b"cont".to_vec(), b"ent".to_vec()));
//! assert_eq!(message.pop(4), Err(Short { need: 4, have: 3 }));
//! assert_eq!(kept.to_vec(), b"content");
//! # Ok::<(), Short>(())
//! ```

pub mod address;
#[cfg(all(test, not(loom)))]
mod arbitrary;
mod beginning;
pub mod bip;
pub mod bit_stuffing;
pub mod budget;
pub mod crc;
mod form;
mod gathering;
pub mod hdlc;
mod message;
pub mod number;
mod numbering;
mod on_demand;
mod outgoing;
mod page;
pub mod pattern;
mod payload;
pub mod scramble;
mod short;
mod short_queue;
mod slice;
pub mod sum;
pub mod text;
mod vc;
mod weighted;

pub use address::{Address, AddressKind, AddressType};
pub use beginning::Beginning;
pub use budget::{Account, Budget, Claim};
pub use form::Form;
pub use gathering::{Gathering, NotGathered};
pub use message::{Checksum, FreeMessages, Message, Meta};
pub use number::Number;
pub use numbering::Numbering;
pub use on_demand::{Blank, OnDemand};
pub use outgoing::Outgoing;
pub use page::{Page, keep_free};
pub use pattern::Pattern;
pub use payload::Payload;
pub use short::Short;
pub use short_queue::ShortQueue;
pub use slice::{Lease, Slice};
pub use sum::Sum;
pub use vc::Vc;
