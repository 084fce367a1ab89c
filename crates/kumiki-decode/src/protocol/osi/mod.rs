//! OSI up to the association.

pub(in crate::protocol) mod acse;
pub(in crate::protocol) mod cotp;
pub(in crate::protocol) mod presentation;
pub(in crate::protocol) mod session;
pub(in crate::protocol) mod tpkt;
