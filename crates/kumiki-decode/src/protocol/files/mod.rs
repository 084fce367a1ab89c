//! Files over OSI.

pub(in crate::protocol) mod ftam;
pub(in crate::protocol) mod mms;
