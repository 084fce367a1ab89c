//! tshark reads what the OSI stack sends, from LAPB and TPKT to FTAM: nothing malformed, and the fields that were
//! meant.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

mod association;
mod bench;
mod packets;
