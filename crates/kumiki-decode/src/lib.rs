//! Captures to packets, layers and fields, with what is wrong in them.
//!
//! | read | for |
//! |---|---|
//! | [`Capture`] | files: pcap, pcapng, ERF, hexadecimal text, raw octets; one record at a time |
//! | [`Decoder`] | a record to a [`Packet`]: layers, fields, remarks, octets that were not understood |
//! | [`Registry`], [`Dissector`] | who reads what, and by which numbers it is found |
//! | [`protocol`] | one file for each protocol; where another is added |
//! | [`reassembly`] | AAL5 PDUs from cells and datagrams from fragments, in bounded memory |
//! | [`show`] | packets as lines, as trees, as JSON |
//!
//! Headers are read by the codecs of `kumiki-wire`. What a codec refuses is shown as far as it can be read, and each
//! header is written again by its codec and compared with the wire, because our stacks must not change what they pass
//! on unseen ([`Layer::verbatim`](packet::Layer::verbatim)).
//!
//! Nothing here panics, whatever the octets. No clock, no network, no files: whoever calls brings a [`std::io::Read`].

pub mod capture;
mod decoder;
mod key;
pub mod packet;
pub mod protocol;
mod reading;
pub mod reassembly;
mod registry;
pub mod show;

pub use capture::{Capture, Format, FormatHint, Record, Unreadable};
pub use decoder::Decoder;
pub use key::{Circuit, Ends, Key};
pub use packet::Packet;
pub use reading::{PacketContext, Reading};
pub use registry::{Dissector, Registry};
