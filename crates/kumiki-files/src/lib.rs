//! Files over OSI: FTAM, the file services of MMS, and their users.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`.
//!
//! | layer | protocols |
//! |---|---|
//! | users | [`file_user`] and [`filestore`] of FTAM, [`mms_files`] of MMS |
//! | their nodes | [`node`] |
//! | application | [`ftam`], [`mms`] |

pub mod file_user;
pub mod filestore;
pub mod ftam;
pub mod mms;
pub mod mms_files;
pub mod node;

#[cfg(test)]
mod test_cut;
