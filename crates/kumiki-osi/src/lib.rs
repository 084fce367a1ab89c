//! OSI from RFC 1006 to the association: what FTAM and MMS stand on.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`.
//!
//! | layer | protocols |
//! |---|---|
//! | application | [`acse`] |
//! | presentation, session | [`presentation`], [`session`] |
//! | transport | [`tp0`] over [`tpkt`], or over a packet layer of X.25 |
//! | all of them but [`tpkt`] | [`layer`]: what is the same in each; [`entries`]: connections and listeners by handle |

pub mod acse;
pub mod entries;
pub mod layer;
pub mod presentation;
pub mod session;
pub mod tp0;
pub mod tpkt;
